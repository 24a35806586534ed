//! Conversations for tests, recorded here or there: with other addresses, ports, tokens and times.

use etherparse::PacketBuilder;
use qdissect::capture::{Frame, Time};
use qdissect::check::Policy;
use qdissect::pipeline::{Options, Pipeline};
use qdissect::protocols::Level;
use qdissect::rule::{Act, Example, hex};
use qdissect::verdict::{Check, Entry, Verdict};

/// LINKTYPE_RAW: the packet begins with its IP header.
const RAW: u16 = 101;
const MS: i64 = 1_000_000;

/// An address and a UDP port.
type End = ([u8; 4], u16);

/// Who talks when, and with which numbers.
#[derive(Clone, Copy, Debug)]
pub struct Recording {
    /// The server; an example may name another port.
    pub server: End,
    clients: [End; 2],
    /// Nanoseconds since 1970.
    start: i64,
    /// Between two steps, in nanoseconds.
    step: i64,
    /// Frames before the conversation.
    before: u64,
    /// Tokens, cookies and challenges of the examples, in hex, and what stands in their place.
    tokens: &'static [(&'static str, &'static str)],
}

/// As the examples have it.
pub const HERE: Recording = Recording {
    server: ([192, 0, 2, 10], 27_100),
    clients: [([198, 51, 100, 7], 40_001), ([203, 0, 113, 9], 40_002)],
    start: 1_767_225_600_000 * MS,
    step: 10 * MS,
    before: 1,
    tokens: &[],
};

/// The same, another day and elsewhere.
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
    /// What `check` makes of it; `judge` sees every entry.
    pub fn check(&self, example: &Example, mut judge: impl FnMut(&mut Entry)) -> Verdict {
        let report = Check::new(Policy::default(), |entry: &mut Entry, _: &str| {
            judge(entry);
            Ok(())
        });
        let options = Options { min_confidence: Level::Low, ..Options::default() };
        let mut pipeline = Pipeline::new(options, report);
        let frames = self.frames(example);
        for (number, (time, bytes)) in (1..).zip(&frames) {
            let (time, wire_len) = (Time::from_nanos(*time), bytes.len() as u32);
            pipeline
                .frame(&Frame { number, time, link: RAW, interface: 0, at: 0, wire_len, bytes })
                .expect("nothing is written");
        }
        let (report, totals) = pipeline.finish(true).expect("nothing is written");
        report.verdict(totals).expect("nothing is written")
    }

    /// Fingerprints of everything found that counts.
    pub fn fingerprints(&self, example: &Example) -> Vec<String> {
        let verdict = self.check(example, |_| {});
        verdict.findings.iter().filter(|e| e.counts()).map(|e| e.fingerprint.to_string()).collect()
    }

    /// Time and bytes of each frame; long before and long after the conversation there are empty ones.
    fn frames(&self, example: &Example) -> Vec<(i64, Vec<u8>)> {
        let server = (self.server.0, example.server_port.unwrap_or(self.server.1));
        let early = if example.at_start { 0 } else { self.before };
        let mut frames = vec![(self.start - 30_000 * MS, vec![]); early as usize];
        let mut time = self.start;
        for step in example.steps {
            let (direction, client, payload) = match step.act() {
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
            let mut bytes = vec![];
            let packet = PacketBuilder::ipv4(from.0, to.0, 64).udp(from.1, to.1);
            packet.write(&mut bytes, &payload).expect("it fits into a packet");
            frames.push((time, bytes));
            time += self.step;
        }
        frames.push((time + 120_000 * MS, vec![]));
        frames
    }
}

/// The first example of a rule.
pub fn example(id: &str) -> &'static Example {
    let rule = qdissect::rule::all().find(|rule| rule.id == id);
    rule.and_then(|rule| rule.examples.first()).expect("there is such a rule")
}
