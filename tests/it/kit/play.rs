//! Plays conversations as frames through the real pipeline and collects what it reports.
//!
//! Shared by several test programs, each of which uses its part of it.
#![allow(dead_code)]

use qdissect::capture::{Frame, Time};
use qdissect::check::Finding;
pub use qdissect::decode::{AnyListener, Tree};
use qdissect::example::Act;
use qdissect::exchange::{Exchange, Pairing};
use qdissect::net::Datagram;
use qdissect::pipeline::{Options, Pipeline};
use qdissect::protocols::{Direction, Id, Level};
use qdissect::report::{Form, Output, Packet, Records, Report, SilentServer, Totals, Wants};
use qdissect::rule::{Example, hex};
use std::io;

/// An address and a UDP port.
pub type End = ([u8; 4], u16);

/// Where the server of every example is; its port is the example's.
pub const SERVER: [u8; 4] = [192, 0, 2, 10];
/// Its port where the example names none.
pub const PORT: u16 = 27_100;
/// The clients of the examples.
pub const CLIENTS: [End; 2] = [([198, 51, 100, 7], 40_001), ([203, 0, 113, 9], 40_002)];

/// That server's end.
pub const END: End = (SERVER, PORT);

/// A millisecond and a second in nanoseconds.
pub const MS: i64 = 1_000_000;
pub const S: i64 = 1_000 * MS;
/// Time of the first frame in nanoseconds since 1970: 2026-01-01.
pub const START: i64 = 1_767_225_600_000 * MS;
/// Between two steps of an example.
const STEP: i64 = 10 * MS;
/// From the foreign datagram in front to the first step, and from the last step to the one behind:
/// more than what counts as the edge of a capture, and more than every window.
const BEFORE: i64 = 30_000 * MS;
const AFTER: i64 = 120_000 * MS;

// SQP: a challenge, its answer, a query for ServerInfo with that token, its answer.
pub const H1: &str = "00 00000000";
pub const H2: &str = "00 80902348";
pub const QI: &str = "01 80902348 0001 01";
pub const OK: &str = "01 80902348 0001 00 00 0012 0000000e 0001 0008 0141 0162 0163 0164 1e61";

// Satisfactory: a poll and its answer.
pub const POLL: &str = "d5f6 00 01 efcdab8967452301 01";
pub const STATE: &str =
    "d5f6 01 01 efcdab8967452301 03 7a960500 0000000000000000 04 001100 010100 030500 020100 0300 466162 01";

// GQP: `identify` and its answer.
pub const ID: &str = "6964656e74696679 04";
pub const IDR: &str = "3130 6964656e74696679 1e 12 67616d656e616d65 1f 7574 1e 12 67616d65766572 1f 343332 1e 12 6e6574766572 1f 343332 04";

const ETHERNET: u16 = 1;
/// A DNS query for `example.org`.
const FOREIGN: &str = "1f3a 0100 0001 0000 0000 0000 07 6578616d706c65 03 6f7267 00 0001 0001";

/// A frame with memory of its own.
#[derive(Clone, Debug)]
pub struct Shot {
    /// Nanoseconds since 1970.
    pub time: i64,
    pub link: u16,
    pub wire_len: u32,
    pub bytes: Vec<u8>,
}

/// One datagram in Ethernet, IPv4 and UDP, with right lengths and IP checksum.
pub fn shot(time: i64, (from, source): End, (to, target): End, payload: &[u8]) -> Shot {
    let length = payload.len() as u16;
    let mut ip = vec![0x45, 0];
    ip.extend((28 + length).to_be_bytes());
    ip.extend([0, 0, 0x40, 0, 64, 17, 0, 0]);
    ip.extend(from);
    ip.extend(to);
    let sum: u32 = ip.as_chunks::<2>().0.iter().map(|w| u32::from(u16::from_be_bytes(*w))).sum();
    let sum = !((sum & 0xffff) + (sum >> 16)) as u16;
    ip[10..12].copy_from_slice(&sum.to_be_bytes());
    let mut bytes = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0];
    bytes.extend(ip);
    for word in [source, target, 8 + length, 0] {
        bytes.extend(word.to_be_bytes());
    }
    bytes.extend(payload);
    Shot { time, link: ETHERNET, wire_len: bytes.len() as u32, bytes }
}

/// The same frame with a UDP checksum, which is right if nothing is added.
pub fn summed(mut shot: Shot, added: u16) -> Shot {
    const IP: usize = 14;
    const UDP: usize = IP + 20;
    const CHECKSUM: usize = UDP + 6;
    let words = |bytes: &[u8]| -> u32 {
        let pair = |w: &[u8]| u16::from_be_bytes([w[0], w.get(1).copied().unwrap_or(0)]);
        bytes.chunks(2).map(|w| u32::from(pair(w))).sum()
    };
    // Addresses, protocol and length, then header and payload.
    let length = (shot.bytes.len() - UDP) as u32;
    let sum = words(&shot.bytes[IP + 12..UDP]) + 17 + length + words(&shot.bytes[UDP..]);
    let sum = !((sum & 0xffff) + (sum >> 16)) as u16;
    shot.bytes[CHECKSUM..CHECKSUM + 2].copy_from_slice(&sum.wrapping_add(added).to_be_bytes());
    shot
}

/// The ICMP error that refuses a datagram and quotes so many bytes of its payload, a millisecond behind it.
pub fn refusal(of: &Shot, payload: usize) -> Shot {
    let quoted = &of.bytes[14..14 + 28 + payload];
    let length = (28 + quoted.len()) as u16;
    let mut bytes = of.bytes[..14].to_vec();
    bytes.extend([&[0x45, 0], &length.to_be_bytes()[..], &hex("00000000 40010000")].concat());
    bytes.extend([&quoted[16..20], &quoted[12..16], &hex("0303000000000000"), quoted].concat());
    Shot { time: of.time + MS, wire_len: bytes.len() as u32, bytes, ..of.clone() }
}

/// From the first client, so many nanoseconds after the start.
pub fn c(time: i64, text: &str) -> Shot {
    shot(START + time, CLIENTS[0], END, &hex(text))
}

/// To the first client.
pub fn s(time: i64, text: &str) -> Shot {
    shot(START + time, END, CLIENTS[0], &hex(text))
}

/// A datagram that is none of ours.
pub fn foreign(time: i64) -> Shot {
    shot(time, ([192, 0, 2, 200], 53_124), ([192, 0, 2, 53], 53), &hex(FOREIGN))
}

/// The frames of an example, with foreign ones far before and behind it.
pub fn shots(example: &Example) -> Vec<Shot> {
    let server = (SERVER, example.server_port.unwrap_or(PORT));
    let mut shots = if example.at_start { vec![] } else { vec![foreign(START)] };
    let mut time = if example.at_start { START } else { START + BEFORE };
    for step in example.steps {
        let shot = match Act::of(step) {
            Act::Send { direction, client, payload } => {
                let [from, to] = direction.order([CLIENTS[client], server]);
                shot(time, from, to, &hex(payload))
            }
            Act::Frame(link, wire_len, text) => Shot { time, link, wire_len, bytes: hex(text) },
            Act::Wait(ms) => {
                time += i64::from(ms) * MS;
                continue;
            }
            Act::Copy => {
                let last = shots.last().expect("something stands before").clone();
                shots.push(Shot { time: last.time + MS / 10, ..last });
                continue;
            }
        };
        shots.push(shot);
        time += STEP;
    }
    shots.push(foreign(time + AFTER));
    shots
}

/// What was said of a datagram.
#[derive(Clone, Debug)]
pub struct Seen {
    pub frame: u64,
    pub id: Id,
    pub message: &'static str,
    pub direction: Direction,
    pub level: Level,
    pub pairing: Pairing,
    pub findings: Vec<Finding>,
    /// It was decoded to its end.
    pub sound: bool,
}

impl Seen {
    /// Ids of the broken rules.
    pub fn rules(&self) -> Vec<&'static str> {
        self.findings.iter().map(|f| f.rule.id).collect()
    }
}

/// Collects everything; in frame order, or as soon as it is known.
#[derive(Debug, Default)]
pub struct Collected<const ORDERED: bool> {
    pub packets: Vec<Seen>,
    pub exchanges: Vec<(Exchange, Vec<Finding>)>,
    /// Servers that answered nothing.
    pub silent: Vec<SilentServer>,
    /// Frames of the datagrams that no protocol claims.
    pub unclaimed: Vec<u64>,
}

impl<const ORDERED: bool> Collected<ORDERED> {
    /// Every finding: those of the datagrams, then those of the exchanges, then those of servers.
    pub fn findings(&self) -> impl Iterator<Item = &Finding> {
        let of_packets = self.packets.iter().flat_map(|p| &p.findings);
        let of_servers = self.silent.iter().map(|silent| &silent.finding);
        of_packets.chain(self.exchanges.iter().flat_map(|(_, findings)| findings)).chain(of_servers)
    }
    /// What was said of the datagram in a frame.
    pub fn frame(&self, number: u64) -> &Seen {
        let found = self.packets.iter().find(|p| p.frame == number);
        found.unwrap_or_else(|| panic!("frame {number} was not claimed: {self:#?}"))
    }
}

impl<const ORDERED: bool> Report for Collected<ORDERED> {
    fn listener(&self) -> AnyListener {
        AnyListener::Tree(Tree::default())
    }

    fn wants(&self) -> Wants {
        Wants { ordered: ORDERED, silent_servers: true, ..Wants::default() }
    }

    fn packet(&mut self, p: &Packet<'_>) -> io::Result<()> {
        self.packets.push(Seen {
            frame: p.datagram.frame,
            id: p.id,
            message: p.message_name(),
            direction: p.direction,
            level: p.level,
            pairing: *p.pairing,
            findings: p.findings.to_vec(),
            sound: p.decoded.fault.is_none(),
        });
        Ok(())
    }
    fn unclaimed(&mut self, d: &Datagram<'_>) -> io::Result<()> {
        self.unclaimed.push(d.frame);
        Ok(())
    }
    fn exchange(&mut self, e: &Exchange, findings: &[Finding]) -> io::Result<()> {
        self.exchanges.push((e.clone(), findings.to_vec()));
        Ok(())
    }
    fn silent_servers(&mut self, servers: &[SilentServer]) -> io::Result<()> {
        self.silent.extend_from_slice(servers);
        Ok(())
    }
}

/// Options under which everything is shown.
pub fn everything() -> Options {
    Options { min_confidence: Level::Low, all: true, ..Options::default() }
}

/// Plays frames through the pipeline, whatever the report.
pub fn report<R: Report>(options: Options, mut report: R, shots: &[Shot]) -> (R, Totals) {
    let mut pipeline = Pipeline::new(options, &mut report);
    let mut at = 0;
    for (i, shot) in shots.iter().enumerate() {
        pipeline.frame(&frame(shot, i as u64 + 1, at)).expect("the report takes everything");
        at += shot.bytes.len() as u64;
    }
    let totals = pipeline.finish(true).expect("the report takes everything");
    (report, totals)
}

/// The records of some frames.
pub fn lines(options: Options, shots: &[Shot]) -> String {
    let mut out = vec![];
    report(options, Records::new(Output::new(&mut out, Form::Ndjson, false), true, false), shots);
    String::from_utf8(out).expect("records are UTF-8")
}

/// A shot as the frame of that number.
pub fn frame(shot: &Shot, number: u64, at: u64) -> Frame<'_> {
    let Shot { time, link, wire_len, ref bytes } = *shot;
    Frame { number, time: Time::from_nanos(time), link, interface: 0, at, wire_len, bytes }
}

/// The same frames with foreign ones far before and behind them: long after the start of the capture, with two minutes of
/// silence behind.
pub fn surrounded(shots: &[Shot]) -> Vec<Shot> {
    [&[foreign(START - 30 * S)], shots, &[foreign(START + 120 * S)]].concat()
}

/// Plays frames so.
pub fn hear(shots: &[Shot]) -> Collected<true> {
    play(&surrounded(shots)).0
}

/// Plays frames and collects what is said, in frame order.
pub fn play(shots: &[Shot]) -> (Collected<true>, Totals) {
    report(everything(), Collected::default(), shots)
}
