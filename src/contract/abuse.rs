//! The numbers of a finding about abuse: floods of a forged address, and challenges that nobody uses.

use crate::net::Endpoint;
use std::fmt;

/// The numbers of a finding about abuse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Abuse {
    /// Challenges that a client never uses.
    Unused(Unused),
    /// Answers to an address that has proven nothing.
    Flood(Flood),
}

/// Challenges that a client never uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unused {
    /// Number of challenges.
    pub challenges: u32,
    /// Milliseconds from the request after the first of them to the request after the last.
    pub millis: u32,
    /// How the challenge comes back instead, if it does.
    pub mistake: Option<Mistake>,
}

/// How a client returns a challenge wrongly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mistake {
    /// With its bytes in reverse order.
    Swapped,
    /// As text.
    Text,
}

/// Answers to an address that has proven nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flood {
    /// The address, without a port.
    pub client: Endpoint,
    /// Number of answers.
    pub answers: u64,
    /// Most answers within a second.
    pub peak: u32,
    /// Number of ports of the address that got them, and whether there are more.
    pub ports: (u16, bool),
    /// Bytes of the requests and of the answers on the wire, from the IP header on.
    pub wire: [u64; 2],
}

impl fmt::Display for Abuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Abuse::Unused(unused) => unused.fmt(f),
            Abuse::Flood(flood) => flood.fmt(f),
        }
    }
}

impl fmt::Display for Unused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Unused { challenges, millis, mistake } = *self;
        write!(f, "{challenges} challenges within {:.1} s", f64::from(millis) / 1e3)?;
        f.write_str(match mistake {
            Some(Mistake::Swapped) => "; the challenge comes back with its bytes swapped",
            Some(Mistake::Text) => "; the challenge comes back as text",
            None => "; or its address is forged, and it never got one",
        })
    }
}

impl fmt::Display for Flood {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Flood { client, answers, peak, ports: (ports, more), wire: [asked, sent] } = *self;
        let factor = sent as f64 / asked.max(1) as f64;
        let (plus, s) = (if more { "+" } else { "" }, if ports == 1 { "" } else { "s" });
        write!(f, "{answers} to {} on {ports}{plus} port{s}, {peak} in the busiest second, ", client.ip())?;
        write!(f, "{factor:.1} times the bytes of their requests on the wire")
    }
}
