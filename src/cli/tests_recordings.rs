//! Two recordings of the conversations of examples, for tests. They differ in addresses, ports, tokens and times.

use crate::capture::Time;
use crate::check::Policy;
use crate::net::{Endpoint, OwnedFrame};
use crate::pipeline::{Options, Pipeline};
use crate::protocols::Level;
use crate::rule::{Example, hex};
use crate::schema::example::Act;
use crate::verdict::{Check, Entry, Verdict};

const MS: i64 = 1_000_000;

/// An address and a UDP port.
type Addr = ([u8; 4], u16);

/// The endpoints, times and tokens of a recording.
#[derive(Clone, Copy, Debug)]
pub struct Recording {
    /// The server; an example may name another port.
    pub server: Addr,
    clients: [Addr; 2],
    /// Start in nanoseconds since 1970.
    start: i64,
    /// Time between two steps in nanoseconds.
    step: i64,
    /// Number of frames before the conversation.
    before: u64,
    /// Tokens, cookies and challenges of the examples in hex, each with its replacement.
    tokens: &'static [(&'static str, &'static str)],
}

/// The recording with the values of the examples.
pub const HERE: Recording = Recording {
    server: ([192, 0, 2, 10], 27_100),
    clients: [([198, 51, 100, 7], 40_001), ([203, 0, 113, 9], 40_002)],
    start: 1_767_225_600_000 * MS,
    step: 10 * MS,
    before: 1,
    tokens: &[],
};

/// Another recording, made on another day at another place.
pub const THERE: Recording = Recording {
    server: ([198, 51, 100, 77], 31_337),
    clients: [([192, 0, 2, 3], 50_123), ([192, 0, 2, 4], 50_999)],
    start: 1_798_761_600_123 * MS,
    step: 7 * MS,
    before: 12,
    tokens: &[
        ("80902348", "1badcafe"),
        ("efcdab8967452301", "8877665544332211"),
        ("78797a", "717273"), // "xyz"
    ],
};

impl Recording {
    /// The verdict of `check`; `judge` is called for every entry.
    pub fn check(&self, example: &Example, mut judge: impl FnMut(&mut Entry)) -> Verdict {
        let mut report = Check::new(Policy::default(), |entry: &mut Entry, _: &str| {
            judge(entry);
            Ok(())
        });
        let options = Options { min_confidence: Level::Low, ..Options::default() };
        let mut pipeline = Pipeline::new(options, &mut report);
        let frames = self.frames(example);
        for (number, frame) in (1..).zip(&frames) {
            pipeline.frame(&frame.frame(number)).expect("nothing is written");
        }
        let totals = pipeline.finish(true).expect("nothing is written");
        report.verdict(totals).expect("nothing is written")
    }

    /// Fingerprints of all findings that count.
    pub fn fingerprints(&self, example: &Example) -> Vec<String> {
        let verdict = self.check(example, |_| {});
        verdict.findings.iter().filter(|e| e.counts()).map(|e| e.fingerprint.to_string()).collect()
    }

    /// The frames of the conversation, with empty frames long before and long after it.
    fn frames(&self, example: &Example) -> Vec<OwnedFrame> {
        let server = (self.server.0, example.server_port.unwrap_or(self.server.1));
        let early = if example.at_start { 0 } else { self.before };
        let empty = |time| OwnedFrame::empty(Time::from_nanos(time));
        let mut frames = vec![empty(self.start - 30_000 * MS); early as usize];
        let mut time = self.start;
        for step in example.steps {
            let (direction, client, payload) = match Act::of(step) {
                Act::Send { direction, client, payload } => (direction, client, payload),
                Act::Wait(ms) => {
                    time += i64::from(ms) * MS;
                    continue;
                }
                Act::Frame(..) | Act::Copy => unreachable!("whole frames have addresses of their own"),
            };
            let [from, to] = direction.order([self.clients[client], server]);
            let replace = |text: String, (old, new): &(&str, &str)| text.replace(old, new);
            let payload = hex(&self.tokens.iter().fold(payload.to_owned(), replace));
            let [from, to] = [from, to].map(|(ip, port)| Endpoint::v4(ip, port));
            frames.push(OwnedFrame::udp(Time::from_nanos(time), from, to, &payload, 0));
            time += self.step;
        }
        frames.push(empty(time + 120_000 * MS));
        frames
    }
}

/// The first example of a rule.
pub fn example(id: &str) -> &'static Example {
    let rule = crate::protocols::rules().find(|rule| rule.id == id);
    rule.and_then(|rule| rule.examples.first()).expect("there is such a rule")
}
