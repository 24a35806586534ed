//! Millions of mutated datagrams of one protocol, streamed into the program as a capture that is never stored.
//!
//! ```text
//! samples, examples, captures ──> scripts ──> talks, taking turns ──(mutated)──> records ──pipe──> qdissect COMMAND -
//! ```
//! `QDISSECT_DATAGRAMS` is their number, `QDISSECT_PROTOCOL` selects one protocol, `QDISSECT_SEED` is the seed.

use super::mutate::edit;
use crate::bench::frames::{Envelope, Transport, write};
use crate::bench::random::Random;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

/// A payload and whether the server sends it.
pub type Line = (bool, Vec<u8>);

/// Number of conversations at once.
const TALKS: u32 = 64;
/// Maximum number of edits of one payload.
const EDITS: u32 = 3;
/// Number of servers: few enough that each has sent its longest name early. With other ports there are more than are remembered.
const SERVERS: u32 = 300;
/// Number of clients: more than are remembered.
const CLIENTS: u32 = 1 << 20;
/// Number of datagrams after which the rate changes.
const PHASE: u64 = 300_000;
/// Header of a pcap file, in nanoseconds, of Ethernet.
pub const FILE_HEAD: &[u8] = b"\x4d\x3c\xb2\xa1\x02\0\x04\0\0\0\0\0\0\0\0\0\0\0\x04\0\x01\0\0\0";
/// 1 January 2026 and a second, in nanoseconds.
const START: u64 = 1_767_225_600 * SECOND;
const SECOND: u64 = 1_000_000_000;
/// Maximum length of a payload.
const LONGEST: usize = 4000;
/// Maximum offset of a payload: after Ethernet, IPv6 and UDP.
const HEADERS: usize = 14 + 40 + 8;

/// A running conversation.
struct Talk {
    script: usize,
    step: usize,
    client: SocketAddr,
    server: SocketAddr,
}

/// Generates the records of the flood.
pub struct Flood {
    scripts: Vec<Vec<Line>>,
    talks: Vec<Talk>,
    random: Random,
    time: u64,
    sent: u64,
    /// The previous frame, which may be repeated or swapped with the next one.
    before: Vec<u8>,
    payload: Vec<u8>,
    frame: Vec<u8>,
}

impl Flood {
    pub fn new(scripts: Vec<Vec<Line>>, seed: u64) -> Flood {
        assert!(scripts.iter().all(|script| !script.is_empty()), "a script says something");
        let mut random = Random::new(seed);
        let talks = (0..TALKS).map(|_| talk(scripts.len(), &mut random)).collect();
        let (before, payload, frame) = (vec![], vec![], vec![]);
        Flood { scripts, talks, random, time: START, sent: 0, before, payload, frame }
    }

    /// Appends the record of the next datagram.
    pub fn next(&mut self, out: &mut Vec<u8>) {
        let again = !self.before.is_empty() && self.random.below(50) == 0;
        if !again {
            self.make();
            // Sometimes two frames are swapped.
            if self.random.below(30) == 0 && !self.before.is_empty() {
                std::mem::swap(&mut self.frame, &mut self.before);
            }
        }
        // Fast enough to fill the tables within the windows, then slow enough for the windows to end.
        self.sent += 1;
        let fast = (self.sent / PHASE).is_multiple_of(2);
        let step = self.random.below(if fast { 5_000 } else { 25_000 });
        self.time += u64::from(match self.random.below(1_000_000) {
            0..2 => 1_000_000_000 + step * 100_000,
            2..200 if !fast => step * 10_000,
            200..20_000 => step * 40,
            _ => step,
        });
        // Clocks of several interfaces differ.
        let back = if self.random.below(1000) == 0 { u64::from(self.random.below(100_000_000)) } else { 0 };
        let time = self.time - back;
        let frame = if again { &self.before } else { &self.frame };
        let snapped = self.random.below(50) == 0 && frame.len() > HEADERS;
        let kept = if snapped {
            HEADERS + self.random.below((frame.len() - HEADERS) as u32) as usize
        } else {
            frame.len()
        };
        for word in [time / SECOND, time % SECOND, kept as u64, frame.len() as u64] {
            out.extend((word as u32).to_le_bytes());
        }
        out.extend(&frame[..kept]);
        if !again {
            std::mem::swap(&mut self.frame, &mut self.before);
        }
    }

    /// Generates the frame of the next datagram.
    fn make(&mut self) {
        let random = &mut self.random;
        let talk_index = random.below(TALKS) as usize;
        let Talk { script, step, client, server } = self.talks[talk_index];
        let (answers, line) = &self.scripts[script][step];
        self.payload.clear();
        self.payload.extend(line);
        if random.below(2) == 0 {
            mutate(&mut self.payload, &self.scripts, random);
        }
        let (mut client, mut server) = (client, server);
        match random.below(100) {
            0..5 => client.set_port(1024 + random.below(60_000) as u16),
            5..15 => server.set_port(1024 + random.below(60_000) as u16),
            15..17 => (client, server) = (server, client),
            _ => {}
        }
        let (source, target) = if *answers { (server, client) } else { (client, server) };
        let envelope =
            Envelope { source, target, transport: Transport::Udp, received: !answers, vlan: false };
        write(&mut self.frame, &envelope, &self.payload);
        let last = step + 1 == self.scripts[script].len();
        let next = &mut self.talks[talk_index];
        // Some conversations restart, some end.
        match random.below(20) {
            0 => next.step = 0,
            1 => *next = talk(self.scripts.len(), random),
            _ if last => *next = talk(self.scripts.len(), random),
            _ => next.step += 1,
        }
    }
}

/// A conversation between new endpoints.
fn talk(scripts: usize, random: &mut Random) -> Talk {
    let (host, guest) = (random.below(SERVERS), random.below(CLIENTS));
    // Every other conversation has a new server.
    let [known, any, own] = [7000 + host % 7, 1024 + random.below(60_000), 1024 + random.below(60_000)];
    let ports = [if random.below(2) == 0 { known } else { any } as u16, own as u16];
    let [server, client] = if host.is_multiple_of(10) {
        let at =
            |network: u128, n: u32| Ipv6Addr::from_bits(0x2001_0db8 << 96 | network << 64 | u128::from(n));
        [SocketAddr::from((at(1, host), ports[0])), SocketAddr::from((at(2, guest), ports[1]))]
    } else {
        let at = |network: u32, n: u32| Ipv4Addr::from_bits(network + n);
        [
            SocketAddr::from((at(0xc612_0000, host), ports[0])),
            SocketAddr::from((at(0x0a00_0000, guest), ports[1])),
        ]
    };
    Talk { script: random.below(scripts as u32) as usize, step: 0, client, server }
}

/// Changes bytes, counts and lengths, cuts or extends the payload, or continues it with the rest of another one.
fn mutate(payload: &mut Vec<u8>, scripts: &[Vec<Line>], random: &mut Random) {
    for _ in 0..=random.below(EDITS) {
        let length = payload.len();
        let at = random.below(length as u32 + 1) as usize;
        match random.below(8) {
            0 => payload.truncate(at),
            1 => {
                let more = random.pick(&[1, 2, 4, 16, 64, 1200]);
                let byte = random.bits() as u8;
                payload.resize((length + more).min(LONGEST), byte);
            }
            2 => {
                let script = &scripts[random.below(scripts.len() as u32) as usize];
                let (_, other) = &script[random.below(script.len() as u32) as usize];
                let from = random.below(other.len() as u32 + 1) as usize;
                payload.truncate(at);
                payload.extend(&other[from..]);
                payload.truncate(LONGEST);
            }
            3 if at + 4 <= length => {
                // A count or length in either byte order: slightly wrong, or the maximum.
                let size = random.pick(&[1, 2, 4]);
                let end = if random.below(2) == 0 { at } else { at + size - 1 };
                match random.below(3) {
                    0 => payload[at..at + size].fill(0xff),
                    1 => payload[end] = payload[end].wrapping_add(1),
                    _ => payload[end] = payload[end].wrapping_sub(1),
                }
            }
            _ => edit(payload, 0..length, random),
        }
    }
}
