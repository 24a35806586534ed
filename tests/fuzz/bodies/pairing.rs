//! Requests and answers in any order, against a model that knows what each of them is.
//!
//! ```text
//! datagrams: what u8 │ who u8 │ pause u8
//! who   03 client   04 server   18 key   20 another text in the answer   40 the answer comes from the other server
//! ```
//!
//! The model looks back over everything that was sent; it has no memory that could run full, no order, no windows but
//! those that the documentation states.

use super::input::Input;
use crate::kit::play::{CLIENTS, Collected, End, START, Seen, Shot, foreign, play, shot};
use qdissect::exchange::{Answer, Exchange, Outcome, Pairing};
use qdissect::report::Totals;
use std::collections::{BTreeMap, BTreeSet};

const MS: i64 = 1_000_000;
/// Most datagrams of an input: within what a conversation looks back.
const MOST: usize = 48;
/// Pauses between datagrams in microseconds. No sum of some of them is a window to the microsecond.
const PAUSES: [i64; 6] = [2_100, 17_300, 301_700, 1_203_000, 6_110_000, 13_700_000];
/// An answer may stand that much before its request.
const EARLY: i64 = 10 * MS;

/// What belongs together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Line {
    Challenge,
    Query,
    Poll,
}

impl Line {
    /// Until an answer is late, and until none is expected any more: nanoseconds.
    fn windows(self) -> (i64, i64) {
        if self == Line::Poll { (2000 * MS, 10_000 * MS) } else { (1000 * MS, 5000 * MS) }
    }
}

/// A datagram of ours.
#[derive(Clone, Copy, Debug)]
struct Sent {
    time: i64,
    line: Line,
    asks: bool,
    client: usize,
    server: usize,
    key: u8,
    text: u8,
}

impl Sent {
    /// Whether both speak of the same request.
    fn is_own(&self, other: &Sent) -> bool {
        self.server == other.server && self.is_like(other)
    }

    /// The same, whichever server is meant: an answer may come from another one.
    fn is_like(&self, other: &Sent) -> bool {
        let ends = |s: &Sent| (s.line, s.client);
        ends(self) == ends(other) && (self.key == other.key || self.line == Line::Challenge)
    }

    fn server(&self) -> End {
        let port = if self.line == Line::Poll { 7777 } else { 27_100 };
        ([192, 0, 2, 10 + self.server as u8], port)
    }

    fn payload(&self) -> Vec<u8> {
        let token = [0x80, 0x90, 0x23, self.key];
        let cookie = [self.key, 0xcd, 0xab, 0x89, 0x67, 0x45, 0x23, 0x01];
        match (self.line, self.asks) {
            (Line::Challenge, true) => vec![0; 5],
            (Line::Challenge, false) => [&[0], &token[..]].concat(),
            (Line::Query, true) => [&[1], &token[..], &[0, 1, 1]].concat(),
            (Line::Query, false) => {
                let info = [0, 8, 1, self.text, 1, b'b', 1, b'c', 1, b'd', 0x1e, 0x61];
                [&[1], &token[..], &[0, 1, 0, 0, 0, 0x12, 0, 0, 0, 0x0e, 0, 1], &info].concat()
            }
            (Line::Poll, true) => [&[0xd5, 0xf6, 0, 1], &cookie[..], &[1]].concat(),
            (Line::Poll, false) => {
                let state =
                    b"\x03\x7a\x96\x05\0\0\0\0\0\0\0\0\0\x04\0\x11\0\x01\x01\0\x03\x05\0\x02\x01\0\x03\0Fa";
                [&[0xd5, 0xf6, 1, 1], &cookie[..], state, &[self.text, 1]].concat()
            }
        }
    }

    fn shot(&self) -> Shot {
        let (client, server) = (CLIENTS[self.client], self.server());
        let (from, to) = if self.asks { (client, server) } else { (server, client) };
        shot(self.time, from, to, &self.payload())
    }
}

/// What an input sends.
fn sent(mut input: Input<'_>) -> Vec<Sent> {
    let (mut time, mut all) = (START, vec![]);
    while !input.is_empty() && all.len() < MOST {
        let what = input.pick(&[
            (Line::Challenge, true),
            (Line::Challenge, false),
            (Line::Query, true),
            (Line::Query, false),
            (Line::Poll, true),
            (Line::Poll, false),
        ]);
        let who = input.byte();
        time += input.pick(&PAUSES) * 1000;
        let (client, elsewhere) = (usize::from(who & 3) % CLIENTS.len(), who & 0x40 != 0 && !what.1);
        let server = usize::from(who >> 2 & 1) ^ usize::from(elsewhere);
        let (key, text) = (who >> 3 & 3, b'A' + (who >> 5 & 1));
        all.push(Sent { time, line: what.0, asks: what.1, client, server, key, text });
    }
    all
}

/// Everything sent, and what was heard of it.
struct Model {
    sent: Vec<Sent>,
    packets: BTreeMap<u64, Seen>,
}

/// No answer is paired with a request that is not its own; one whose request is open is paired with it; every request
/// ends exactly once, as the answers to it say.
pub fn pairing(bytes: &[u8]) {
    let sent = sent(Input::new(bytes));
    let Some(last) = sent.last() else { return };
    let mut shots: Vec<Shot> = sent.iter().map(Sent::shot).collect();
    shots.push(foreign(last.time + 120_000 * MS));
    let (heard, totals) = play(&shots);
    let Collected { packets, exchanges, unclaimed, .. } = heard;
    assert_eq!(unclaimed, [shots.len() as u64], "what was sent is not claimed: {sent:?}");
    let model = Model { sent, packets: packets.into_iter().map(|p| (p.frame, p)).collect() };
    for frame in 1..=model.sent.len() as u64 {
        model.packet(frame);
    }
    let exchanges: Vec<Exchange> = exchanges.into_iter().map(|(e, _)| e).collect();
    model.exchanges(&exchanges, &totals);
}

impl Model {
    fn at(&self, frame: u64) -> &Sent {
        &self.sent[frame as usize - 1]
    }

    fn packet(&self, frame: u64) {
        let (sent, seen) = (self.at(frame), &self.packets[&frame]);
        let all = &self.sent;
        match seen.pairing {
            Pairing::Asked { answered_by, .. } => {
                assert!(sent.asks, "frame {frame} asks nothing: {all:?}");
                if let Some(early) = answered_by {
                    let answer = self.at(early);
                    let before = sent.time - answer.time;
                    assert!(early < frame && before <= EARLY, "frame {early} answers {frame}: {all:?}");
                    assert!(!answer.asks && answer.is_own(sent), "frame {early} answers {frame}: {all:?}");
                }
            }
            Pairing::Retransmission { exchange, request_frame, .. } => {
                let first = self.packets.values().find(|p| match p.pairing {
                    Pairing::Asked { exchange: id, .. } => id == exchange,
                    _ => false,
                });
                let first = first.expect("an exchange begins with a request").frame;
                assert_eq!(first, request_frame, "frame {frame} asks again: {all:?}");
                let first = self.at(first);
                assert!(
                    sent.asks && sent.is_own(first),
                    "frame {frame} asks for something else again: {all:?}"
                );
            }
            Pairing::Answered(answer) => self.answered(frame, &answer),
            Pairing::DuplicateResponse { of, .. } => {
                let first = self.at(of);
                // A poll is answered once: whatever comes then is a copy.
                let same =
                    first.is_like(sent) && (sent.line == Line::Poll || first.payload() == sent.payload());
                assert!(!sent.asks && of < frame && same, "frame {frame} is no copy of {of}: {all:?}");
            }
            Pairing::Nothing | Pairing::DuplicateFrame { .. } | Pairing::Unsolicited { .. } => {
                assert!(!sent.asks, "frame {frame} asks, and that was not noticed: {all:?}");
            }
        }
        let waits = !sent.asks && sent.line != Line::Challenge && self.is_awaited(frame);
        let paired = matches!(seen.pairing, Pairing::Answered(_));
        assert!(paired || !waits, "frame {frame} answers nothing: {:?}, {all:?}", seen.pairing);
    }

    /// Whether a request is open whose answer this is, without a doubt.
    fn is_awaited(&self, frame: u64) -> bool {
        let answer = self.at(frame);
        let before = &self.sent[..frame as usize - 1];
        let own = (1..frame).rev().find(|&own| self.at(own).asks && self.at(own).is_own(answer));
        own.is_some_and(|own| {
            let asked = self.at(own);
            let mut others = before.iter().filter(|s| !s.asks && s.is_like(answer));
            // It may have been answered with a token that was issued after it was asked.
            let exchange = self.packets[&own].pairing.exchange();
            let took_another = self.packets.range(..frame).any(|(_, seen)| match seen.pairing {
                Pairing::Answered(a) => a.foreign_key && Some(a.exchange) == exchange,
                _ => false,
            });
            answer.time - asked.time <= answer.line.windows().0
                && !others.any(|s| s.time >= asked.time - EARLY)
                && !took_another
        })
    }

    fn answered(&self, frame: u64, answer: &Answer) {
        let (sent, asked, all) = (self.at(frame), self.at(answer.request_frame), &self.sent);
        let ends = asked.line == sent.line && asked.client == sent.client && asked.asks && !sent.asks;
        assert!(ends, "frame {frame} is paired with {}: {all:?}", answer.request_frame);
        assert_eq!(asked.server != sent.server, answer.elsewhere, "frame {frame}: {all:?}");
        let own = |s: &&Sent| s.asks && s.is_own(asked);
        let late = sent.line.windows().1;
        let open = |s: &Sent| (-EARLY..=late).contains(&(sent.time - s.time));
        assert!(all.iter().filter(own).any(open), "frame {frame} comes too late: {all:?}");
        if answer.foreign_key {
            let issued = |s: &Sent| s.line == Line::Challenge && !s.asks && s.client == sent.client;
            assert!(all.iter().any(|s| issued(s) && s.key == sent.key), "nobody issued that: {all:?}");
        } else if sent.line != Line::Challenge {
            assert_eq!(asked.key, sent.key, "frame {frame} has another key: {all:?}");
        }
        assert_eq!(answer.response_time, Some(sent.time - asked.time), "frame {frame}: {all:?}");
    }

    fn exchanges(&self, exchanges: &[Exchange], totals: &Totals) {
        let all = &self.sent;
        let mut asked: BTreeMap<u64, u64> = BTreeMap::new();
        let mut answers: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
        for (frame, seen) in &self.packets {
            match seen.pairing {
                Pairing::Asked { exchange, answered_by, .. } => {
                    assert_eq!(asked.insert(exchange, *frame), None, "{exchange} begins twice: {all:?}");
                    answers.entry(exchange).or_default().extend(answered_by);
                }
                Pairing::Answered(a) => drop(answers.entry(a.exchange).or_default().insert(*frame)),
                _ => {}
            }
        }
        let ended: BTreeMap<u64, u64> = exchanges.iter().map(|e| (e.id, e.request_frame)).collect();
        assert_eq!(exchanges.len(), ended.len(), "an exchange ends twice: {all:?}");
        assert_eq!(ended, asked, "not every request ends once: {all:?}");
        for e in exchanges {
            let answers = &answers[&e.id];
            let fits = match e.outcome {
                Outcome::Answered | Outcome::Late => e.response_frame.is_some_and(|f| answers.contains(&f)),
                Outcome::Unanswered => answers.is_empty() && e.response_frame.is_none(),
                _ => false,
            };
            assert!(fits, "{e:?} with answers {answers:?}: {all:?}");
        }
        let of = |outcome| exchanges.iter().filter(|e| e.outcome == outcome).count() as u64;
        let counted = (totals.exchanges, totals.answered, totals.late, totals.unanswered);
        let ends = [Outcome::Answered, Outcome::Late, Outcome::Unanswered].map(of);
        assert_eq!(counted, (exchanges.len() as u64, ends[0], ends[1], ends[2]), "{all:?}");
    }
}
