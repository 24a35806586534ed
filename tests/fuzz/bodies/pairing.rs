//! Requests and answers in any order, compared with a model that knows the role of each datagram.
//!
//! ```text
//! datagrams: what u8 │ who u8 │ pause u8
//! who   03 client   04 server   18 key   20 another text in the answer   40 the answer comes from the other server
//! ```
//! The model searches everything that was sent. It has no tables that could be full, no order, and only the windows that the
//! documentation states.

use super::input::Input;
use crate::kit::play::{Addr, CLIENTS, Collected, RawFrame, ReportedPacket, START, foreign, play, udp_frame};
use qdissect::exchange::{Answer, Exchange, Outcome, Pairing};
use qdissect::report::Totals;
use std::collections::{BTreeMap, BTreeSet};

const MS: i64 = 1_000_000;
/// Maximum number of datagrams of an input, which a conversation can search.
const MOST: usize = 48;
/// Pauses between datagrams in microseconds. No sum of some of them is a window to the microsecond.
const PAUSES: [i64; 6] = [2_100, 17_300, 301_700, 1_203_000, 6_110_000, 13_700_000];
/// How much an answer may precede its request.
const EARLY: i64 = 10 * MS;

/// The kind of exchange that a datagram belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Challenge,
    Query,
    Poll,
}

impl Step {
    /// The times after which an answer is late and after which it is no longer expected, in nanoseconds.
    fn windows(self) -> (i64, i64) {
        if self == Step::Poll { (2000 * MS, 10_000 * MS) } else { (1000 * MS, 5000 * MS) }
    }
}

/// A generated datagram.
#[derive(Clone, Copy, Debug)]
struct Sent {
    time: i64,
    step: Step,
    is_request: bool,
    client: usize,
    server: usize,
    key: u8,
    text: u8,
}

impl Sent {
    /// Whether both datagrams belong to the same request.
    fn is_same_request(&self, other: &Sent) -> bool {
        self.server == other.server && self.matches_ignoring_server(other)
    }

    /// Like [`Sent::is_same_request`], but for any server, because an answer may come from another one.
    fn matches_ignoring_server(&self, other: &Sent) -> bool {
        let ends = |s: &Sent| (s.step, s.client);
        ends(self) == ends(other) && (self.key == other.key || self.step == Step::Challenge)
    }

    fn server(&self) -> Addr {
        let port = if self.step == Step::Poll { 7777 } else { 27_100 };
        ([192, 0, 2, 10 + self.server as u8], port)
    }

    fn payload(&self) -> Vec<u8> {
        let token = [0x80, 0x90, 0x23, self.key];
        let cookie = [self.key, 0xcd, 0xab, 0x89, 0x67, 0x45, 0x23, 0x01];
        match (self.step, self.is_request) {
            (Step::Challenge, true) => vec![0; 5],
            (Step::Challenge, false) => [&[0], &token[..]].concat(),
            (Step::Query, true) => [&[1], &token[..], &[0, 1, 1]].concat(),
            (Step::Query, false) => {
                let info = [0, 8, 1, self.text, 1, b'b', 1, b'c', 1, b'd', 0x1e, 0x61];
                [&[1], &token[..], &[0, 1, 0, 0, 0, 0x12, 0, 0, 0, 0x0e, 0, 1], &info].concat()
            }
            (Step::Poll, true) => [&[0xd5, 0xf6, 0, 1], &cookie[..], &[1]].concat(),
            (Step::Poll, false) => {
                let state =
                    b"\x03\x7a\x96\x05\0\0\0\0\0\0\0\0\0\x04\0\x11\0\x01\x01\0\x03\x05\0\x02\x01\0\x03\0Fa";
                [&[0xd5, 0xf6, 1, 1], &cookie[..], state, &[self.text, 1]].concat()
            }
        }
    }

    fn frame(&self) -> RawFrame {
        let (client, server) = (CLIENTS[self.client], self.server());
        let (from, to) = if self.is_request { (client, server) } else { (server, client) };
        udp_frame(self.time, from, to, &self.payload())
    }
}

/// The datagrams of an input.
fn sent(mut input: Input<'_>) -> Vec<Sent> {
    let (mut time, mut all) = (START, vec![]);
    while !input.is_empty() && all.len() < MOST {
        let what = input.pick(&[
            (Step::Challenge, true),
            (Step::Challenge, false),
            (Step::Query, true),
            (Step::Query, false),
            (Step::Poll, true),
            (Step::Poll, false),
        ]);
        let who = input.byte();
        time += input.pick(&PAUSES) * 1000;
        let (client, elsewhere) = (usize::from(who & 3) % CLIENTS.len(), who & 0x40 != 0 && !what.1);
        let server = usize::from(who >> 2 & 1) ^ usize::from(elsewhere);
        let (key, text) = (who >> 3 & 3, b'A' + (who >> 5 & 1));
        all.push(Sent { time, step: what.0, is_request: what.1, client, server, key, text });
    }
    all
}

/// The sent datagrams, and the reported packets.
struct Model {
    sent: Vec<Sent>,
    packets: BTreeMap<u64, ReportedPacket>,
}

/// Checks that no answer is paired with another request than its own, that an answer is paired with its request if that is open,
/// and that every request ends exactly once with the outcome that its answers imply.
pub fn pairing(bytes: &[u8]) {
    let sent = sent(Input::new(bytes));
    let Some(last) = sent.last() else { return };
    let mut frames: Vec<RawFrame> = sent.iter().map(Sent::frame).collect();
    frames.push(foreign(last.time + 120_000 * MS));
    let (collected, totals) = play(&frames);
    let Collected { packets, exchanges, unclaimed, .. } = collected;
    assert_eq!(unclaimed, [frames.len() as u64], "what was sent is not claimed: {sent:?}");
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
                assert!(sent.is_request, "frame {frame} asks nothing: {all:?}");
                if let Some(early) = answered_by {
                    let answer = self.at(early);
                    let before = sent.time - answer.time;
                    assert!(early < frame && before <= EARLY, "frame {early} answers {frame}: {all:?}");
                    assert!(
                        !answer.is_request && answer.is_same_request(sent),
                        "frame {early} answers {frame}: {all:?}"
                    );
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
                    sent.is_request && sent.is_same_request(first),
                    "frame {frame} asks for something else again: {all:?}"
                );
            }
            Pairing::Answered(answer) => self.answered(frame, &answer),
            Pairing::DuplicateResponse { of, .. } => {
                let first = self.at(of);
                // A poll is answered once; later answers are copies.
                let same = first.matches_ignoring_server(sent)
                    && (sent.step == Step::Poll || first.payload() == sent.payload());
                assert!(!sent.is_request && of < frame && same, "frame {frame} is no copy of {of}: {all:?}");
            }
            Pairing::Nothing | Pairing::DuplicateFrame { .. } | Pairing::Unsolicited { .. } => {
                assert!(!sent.is_request, "frame {frame} asks, and that was not noticed: {all:?}");
            }
        }
        let waits = !sent.is_request && sent.step != Step::Challenge && self.is_awaited(frame);
        let paired = matches!(seen.pairing, Pairing::Answered(_));
        assert!(paired || !waits, "frame {frame} answers nothing: {:?}, {all:?}", seen.pairing);
    }

    /// Whether this is certainly the answer to an open request.
    fn is_awaited(&self, frame: u64) -> bool {
        let answer = self.at(frame);
        let before = &self.sent[..frame as usize - 1];
        let own =
            (1..frame).rev().find(|&own| self.at(own).is_request && self.at(own).is_same_request(answer));
        own.is_some_and(|own| {
            let asked = self.at(own);
            let mut others = before.iter().filter(|s| !s.is_request && s.matches_ignoring_server(answer));
            // It may have been answered with a token that was issued after the request.
            let exchange = self.packets[&own].pairing.exchange();
            let took_another = self.packets.range(..frame).any(|(_, seen)| match seen.pairing {
                Pairing::Answered(a) => a.foreign_key && Some(a.exchange) == exchange,
                _ => false,
            });
            answer.time - asked.time <= answer.step.windows().0
                && !others.any(|s| s.time >= asked.time - EARLY)
                && !took_another
        })
    }

    fn answered(&self, frame: u64, answer: &Answer) {
        let (sent, asked, all) = (self.at(frame), self.at(answer.request_frame), &self.sent);
        let ends =
            asked.step == sent.step && asked.client == sent.client && asked.is_request && !sent.is_request;
        assert!(ends, "frame {frame} is paired with {}: {all:?}", answer.request_frame);
        assert_eq!(asked.server != sent.server, answer.elsewhere, "frame {frame}: {all:?}");
        let own = |s: &&Sent| s.is_request && s.is_same_request(asked);
        let late = sent.step.windows().1;
        let open = |s: &Sent| (-EARLY..=late).contains(&(sent.time - s.time));
        assert!(all.iter().filter(own).any(open), "frame {frame} comes too late: {all:?}");
        if answer.foreign_key {
            let issued = |s: &Sent| s.step == Step::Challenge && !s.is_request && s.client == sent.client;
            assert!(all.iter().any(|s| issued(s) && s.key == sent.key), "nobody issued that: {all:?}");
        } else if sent.step != Step::Challenge {
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
