//! The requests that a server left without an answer.

use crate::capture::Time;
use std::fmt;

/// The requests to a server that answered none of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Silence {
    /// Number of datagrams, including retransmissions.
    pub requests: u32,
    /// Number of datagrams that an ICMP error refused.
    pub refused: u32,
    /// Only requests that carry the server's challenge count: it gives challenges, and answers none of these.
    pub challenged: bool,
    /// Number of further requests that another endpoint has answered.
    pub elsewhere: u32,
    /// Milliseconds from the first to the last.
    pub millis: u32,
    /// The capture holds no answer from any server.
    pub no_answers: bool,
    /// Name of another protocol in which the same endpoint does answer.
    pub other_protocol: Option<&'static str>,
}

impl Silence {
    /// The silence of a server between these times, given the numbers of its requests, of those that were refused, and
    /// of those that another endpoint answered instead.
    pub fn new(
        requests: [u64; 3],
        (first, last): (Time, Time),
        no_answers: bool,
        other_protocol: Option<&'static str>,
    ) -> Silence {
        let count = |n: u64| u32::try_from(n).unwrap_or(u32::MAX);
        let [requests, refused, elsewhere] = requests.map(count);
        let millis = last.since(first).map_or(0, |nanos| count(nanos.unsigned_abs() / 1_000_000));
        Silence { requests, refused, challenged: false, elsewhere, millis, no_answers, other_protocol }
    }

    /// Whether the capture may lack one direction. An ICMP error shows that both directions are there.
    pub fn is_one_way(&self) -> bool {
        self.no_answers && self.refused == 0
    }
}

impl fmt::Display for Silence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Silence { requests, refused, elsewhere, millis, other_protocol, .. } = *self;
        let kind = if self.challenged { "requests with its challenge" } else { "datagrams" };
        write!(f, "{requests} {kind} in {:.1} s", f64::from(millis) / 1e3)?;
        match refused {
            0 => {}
            all if all == requests => f.write_str(", all refused by ICMP errors")?,
            some => write!(f, ", {some} of them refused by ICMP errors")?,
        }
        if elsewhere > 0 {
            write!(f, "; another endpoint has answered {elsewhere} more")?;
        }
        if let Some(name) = other_protocol {
            write!(f, "; it does answer {name}")?;
        }
        if self.is_one_way() {
            f.write_str("; the capture holds no answer of anybody: one direction may be missing")
        } else {
            Ok(())
        }
    }
}
