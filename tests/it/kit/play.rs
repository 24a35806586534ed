//! Plays conversations as frames through the real pipeline and collects what it reports. Shared by several test programs, which
//! use different parts of it.
#![allow(dead_code)]

use qdissect::capture::{Frame, Time};
use qdissect::check::Finding;
pub use qdissect::decode::{AnyListener, Tree};
use qdissect::exchange::{Exchange, Pairing};
use qdissect::net::Datagram;
use qdissect::pipeline::{Options, Pipeline};
use qdissect::protocols::{Direction, Id, Level};
use qdissect::report::{Form, Output, Packet, Records, Report, SilentServer, Totals, Wants};
use qdissect::rule::{Example, hex};
use qdissect::schema::example::Act;
use std::io;

/// An address and a UDP port.
pub type Addr = ([u8; 4], u16);

/// The address of the server in every example.
pub const SERVER: [u8; 4] = [192, 0, 2, 10];
/// The server's port if the example names none.
pub const PORT: u16 = 27_100;
/// The clients of the examples.
pub const CLIENTS: [Addr; 2] = [([198, 51, 100, 7], 40_001), ([203, 0, 113, 9], 40_002)];

/// Address and default port of the server.
pub const SERVER_ADDR: Addr = (SERVER, PORT);

/// A millisecond and a second, in nanoseconds.
pub const MS: i64 = 1_000_000;
pub const S: i64 = 1_000 * MS;
/// Time of the first frame in nanoseconds since 1970: 2026-01-01.
pub const START: i64 = 1_767_225_600_000 * MS;
/// Time between two steps of an example.
const STEP: i64 = 10 * MS;
/// Time from the foreign datagram before to the first step, and from the last step to the foreign datagram after: more than the
/// edge of a capture, and more than every window.
const BEFORE: i64 = 30_000 * MS;
const AFTER: i64 = 120_000 * MS;

// SQP: a challenge, its answer, a query for ServerInfo with that token, its answer.
pub const SQP_CHALLENGE: &str = "00 00000000";
pub const SQP_CHALLENGE_REPLY: &str = "00 80902348";
pub const SQP_QUERY: &str = "01 80902348 0001 01";
pub const SQP_QUERY_REPLY: &str = "01 80902348 0001 00 00 0012 0000000e 0001 0008 0141 0162 0163 0164 1e61";

// Satisfactory: a poll and its answer.
pub const POLL: &str = "d5f6 00 01 efcdab8967452301 01";
pub const STATE: &str =
    "d5f6 01 01 efcdab8967452301 03 7a960500 0000000000000000 04 001100 010100 030500 020100 0300 466162 01";

// GQP: `identify` and its answer.
pub const GQP_IDENTIFY: &str = "6964656e74696679 04";
pub const GQP_IDENTIFY_REPLY: &str = "3130 6964656e74696679 1e 12 67616d656e616d65 1f 7574 1e 12 67616d65766572 1f 343332 1e 12 6e6574766572 1f 343332 04";

const ETHERNET: u16 = 1;
/// A DNS query for `example.org`.
const FOREIGN: &str = "1f3a 0100 0001 0000 0000 0000 07 6578616d706c65 03 6f7267 00 0001 0001";

/// A frame that owns its bytes.
#[derive(Clone, Debug)]
pub struct RawFrame {
    /// Nanoseconds since 1970.
    pub time: i64,
    pub link: u16,
    pub wire_len: u32,
    pub bytes: Vec<u8>,
}

/// A datagram in Ethernet, IPv4 and UDP, with correct lengths and IP checksum.
pub fn udp_frame(time: i64, (from, source): Addr, (to, target): Addr, payload: &[u8]) -> RawFrame {
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
    RawFrame { time, link: ETHERNET, wire_len: bytes.len() as u32, bytes }
}

/// The frame with a UDP checksum, which is correct if `added` is 0.
pub fn summed(mut raw_frame: RawFrame, added: u16) -> RawFrame {
    const IP: usize = 14;
    const UDP: usize = IP + 20;
    const CHECKSUM: usize = UDP + 6;
    let words = |bytes: &[u8]| -> u32 {
        let pair = |w: &[u8]| u16::from_be_bytes([w[0], w.get(1).copied().unwrap_or(0)]);
        bytes.chunks(2).map(|w| u32::from(pair(w))).sum()
    };
    // Addresses, protocol and length, then header and payload.
    let length = (raw_frame.bytes.len() - UDP) as u32;
    let sum = words(&raw_frame.bytes[IP + 12..UDP]) + 17 + length + words(&raw_frame.bytes[UDP..]);
    let sum = !((sum & 0xffff) + (sum >> 16)) as u16;
    raw_frame.bytes[CHECKSUM..CHECKSUM + 2].copy_from_slice(&sum.wrapping_add(added).to_be_bytes());
    raw_frame
}

/// The ICMP error about a datagram, one millisecond later; it quotes `payload` bytes of the payload.
pub fn refusal(of: &RawFrame, payload: usize) -> RawFrame {
    let quoted = &of.bytes[14..14 + 28 + payload];
    let length = (28 + quoted.len()) as u16;
    let mut bytes = of.bytes[..14].to_vec();
    bytes.extend([&[0x45, 0], &length.to_be_bytes()[..], &hex("00000000 40010000")].concat());
    bytes.extend([&quoted[16..20], &quoted[12..16], &hex("0303000000000000"), quoted].concat());
    RawFrame { time: of.time + MS, wire_len: bytes.len() as u32, bytes, ..of.clone() }
}

/// A datagram from the first client to the server, `time` nanoseconds after the start.
pub fn c(time: i64, text: &str) -> RawFrame {
    udp_frame(START + time, CLIENTS[0], SERVER_ADDR, &hex(text))
}

/// A datagram from the server to the first client, `time` nanoseconds after the start.
pub fn s(time: i64, text: &str) -> RawFrame {
    udp_frame(START + time, SERVER_ADDR, CLIENTS[0], &hex(text))
}

/// A datagram of another protocol.
pub fn foreign(time: i64) -> RawFrame {
    udp_frame(time, ([192, 0, 2, 200], 53_124), ([192, 0, 2, 53], 53), &hex(FOREIGN))
}

/// The frames of an example, with foreign ones long before and after it.
pub fn example_frames(example: &Example) -> Vec<RawFrame> {
    let server = (SERVER, example.server_port.unwrap_or(PORT));
    let mut frames = if example.at_start { vec![] } else { vec![foreign(START)] };
    let mut time = if example.at_start { START } else { START + BEFORE };
    for step in example.steps {
        let raw_frame = match Act::of(step) {
            Act::Send { direction, client, payload } => {
                let [from, to] = direction.order([CLIENTS[client], server]);
                udp_frame(time, from, to, &hex(payload))
            }
            Act::Frame(link, wire_len, text) => RawFrame { time, link, wire_len, bytes: hex(text) },
            Act::Wait(ms) => {
                time += i64::from(ms) * MS;
                continue;
            }
            Act::Copy => {
                let last = frames.last().expect("something stands before").clone();
                frames.push(RawFrame { time: last.time + MS / 10, ..last });
                continue;
            }
        };
        frames.push(raw_frame);
        time += STEP;
    }
    frames.push(foreign(time + AFTER));
    frames
}

/// A datagram as it was reported.
#[derive(Clone, Debug)]
pub struct ReportedPacket {
    pub frame: u64,
    pub id: Id,
    pub message: &'static str,
    pub direction: Direction,
    pub level: Level,
    pub pairing: Pairing,
    pub findings: Vec<Finding>,
    /// Whether it was decoded to its end.
    pub is_decoded: bool,
}

impl ReportedPacket {
    /// Ids of the broken rules.
    pub fn rules(&self) -> Vec<&'static str> {
        self.findings.iter().map(|f| f.rule.id).collect()
    }
}

/// Collects everything that is reported: in frame order, or as soon as it is known.
#[derive(Debug, Default)]
pub struct Collected<const ORDERED: bool> {
    pub packets: Vec<ReportedPacket>,
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
    /// The reported datagram of a frame.
    pub fn frame(&self, number: u64) -> &ReportedPacket {
        let found = self.packets.iter().find(|p| p.frame == number);
        found.unwrap_or_else(|| panic!("frame {number} was not claimed: {self:#?}"))
    }
}

impl<const ORDERED: bool> Report for Collected<ORDERED> {
    fn listener(&self) -> AnyListener {
        AnyListener::Tree(Tree::default())
    }

    fn wants(&self) -> Wants {
        Wants { ordered: ORDERED, silent_servers: true, shown_keys: true, ..Wants::default() }
    }

    fn packet(&mut self, p: &Packet<'_>) -> io::Result<()> {
        self.packets.push(ReportedPacket {
            frame: p.datagram.frame,
            id: p.id,
            message: p.message_name(),
            direction: p.direction,
            level: p.level,
            pairing: *p.pairing,
            findings: p.findings.to_vec(),
            is_decoded: p.decoded.fault.is_none(),
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
pub fn report<R: Report>(options: Options, mut report: R, frames: &[RawFrame]) -> (R, Totals) {
    let mut pipeline = Pipeline::new(options, &mut report);
    let mut at = 0;
    for (i, raw_frame) in frames.iter().enumerate() {
        pipeline.frame(&numbered_frame(raw_frame, i as u64 + 1, at)).expect("the report takes everything");
        at += raw_frame.bytes.len() as u64;
    }
    let totals = pipeline.finish(true).expect("the report takes everything");
    (report, totals)
}

/// The records of some frames.
pub fn lines(options: Options, frames: &[RawFrame]) -> String {
    let mut out = vec![];
    report(options, Records::new(Output::new(&mut out, Form::Ndjson, false), true, false), frames);
    String::from_utf8(out).expect("records are UTF-8")
}

/// The frame with this number and file offset.
pub fn numbered_frame(raw_frame: &RawFrame, number: u64, at: u64) -> Frame<'_> {
    let RawFrame { time, link, wire_len, ref bytes } = *raw_frame;
    Frame { number, time: Time::from_nanos(time), link, interface: 0, at, wire_len, bytes }
}

/// The frames with foreign ones long before and after them, so that they are not at the start of the capture and two minutes
/// follow without traffic.
pub fn surrounded(frames: &[RawFrame]) -> Vec<RawFrame> {
    [&[foreign(START - 30 * S)], frames, &[foreign(START + 120 * S)]].concat()
}

/// Plays frames with foreign ones long before and after them.
pub fn play_surrounded(frames: &[RawFrame]) -> Collected<true> {
    play(&surrounded(frames)).0
}

/// Plays frames and collects the reports in frame order.
pub fn play(frames: &[RawFrame]) -> (Collected<true>, Totals) {
    report(everything(), Collected::default(), frames)
}
