//! Generators of test input: samples, examples, damaged messages and random bytes.

use crate::kit::play::{Addr, PORT, RawFrame, SERVER, udp_frame};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use qdissect::protocols::{Direction, Id};
use qdissect::rule::{Example, Rule, Step, hex};
use qdissect::schema::example::Act;
use std::fmt;
use std::sync::LazyLock;

/// The examples of every rule, numbered from 1.
pub fn examples() -> impl Iterator<Item = (&'static Rule, usize, &'static Example)> {
    qdissect::protocols::rules()
        .flat_map(|rule| rule.examples.iter().enumerate().map(move |(i, e)| (rule, i + 1, e)))
}

/// Every sample with its protocol.
pub fn samples() -> impl Iterator<Item = (Id, &'static Example)> {
    Id::ALL.iter().flat_map(|&id| id.info().samples.iter().map(move |s| (id, s)))
}

/// All samples, then all examples.
pub fn conversations() -> impl Iterator<Item = &'static Example> {
    samples().map(|(_, s)| s).chain(examples().map(|(_, _, e)| e))
}

/// Direction and payload of a step; `None` for a pause or a whole frame.
fn sent(step: &Step) -> Option<(Direction, Vec<u8>)> {
    match Act::of(step) {
        Act::Send { direction, payload, .. } => Some((direction, hex(payload))),
        _ => None,
    }
}

/// The distinct payloads of all samples and examples, with their directions.
pub static PAYLOADS: LazyLock<Vec<(Direction, Vec<u8>)>> = LazyLock::new(|| {
    let mut found: Vec<_> = conversations().flat_map(|e| e.steps.iter().filter_map(sent)).collect();
    found.sort_by(|a, b| (a.0.name(), &a.1).cmp(&(b.0.name(), &b.1)));
    found.dedup();
    found
});

/// Request states of each protocol: those of all payloads, and values that no payload has.
pub static REQUEST_STATES: LazyLock<Vec<(Id, u32)>> = LazyLock::new(|| {
    let probes = |bytes: &Vec<u8>| {
        let probe = |id: &Id| id.probe(bytes, bytes.len(), [PORT; 2]).map(|g| (*id, g.request_state));
        Id::ALL.iter().filter_map(probe).collect::<Vec<_>>()
    };
    let mut found: Vec<(Id, u32)> = PAYLOADS.iter().flat_map(|(_, bytes)| probes(bytes)).collect();
    found.extend(
        Id::ALL.iter().flat_map(|id| [0, 1, 0xff, u32::MAX].map(|request_state| (*id, request_state))),
    );
    found.sort();
    found.dedup();
    found
});

/// A request state, or none.
pub fn asked() -> impl Strategy<Value = Option<u32>> {
    let known = any::<Index>().prop_map(|i| REQUEST_STATES[i.index(REQUEST_STATES.len())].1);
    prop::option::of(prop_oneof![4 => known, 1 => any::<u32>()])
}

/// How many bytes the capture left out.
pub fn missing() -> impl Strategy<Value = usize> {
    prop_oneof![3 => Just(0), 1 => 1usize..64, 1 => Just(65_000)]
}

pub fn protocol() -> impl Strategy<Value = Id> {
    any::<Index>().prop_map(|i| Id::ALL[i.index(Id::ALL.len())])
}

pub fn direction() -> impl Strategy<Value = Direction> {
    prop_oneof![Just(Direction::C2s), Just(Direction::S2c)]
}

fn sound() -> impl Strategy<Value = Vec<u8>> {
    any::<Index>().prop_map(|i| PAYLOADS[i.index(PAYLOADS.len())].1.clone())
}

/// Random bytes, or random bytes after a plausible beginning.
pub fn any_bytes() -> impl Strategy<Value = Vec<u8>> {
    let begun = (sound(), 1usize..16, vec(any::<u8>(), 0..100)).prop_map(|(mut bytes, keep, tail)| {
        bytes.truncate(keep);
        bytes.extend(tail);
        bytes
    });
    let firsts: Vec<u8> = Id::ALL.iter().flat_map(|id| id.info().first_bytes()).collect();
    let typed = (prop::sample::select(firsts), vec(any::<u8>(), 0..119)).prop_map(|(first, mut bytes)| {
        bytes.insert(0, first);
        bytes
    });
    prop_oneof![vec(any::<u8>(), 0..120), typed, begun]
}

#[derive(Clone, Debug)]
enum Damage {
    Set(Index, u8),
    Add(Index, u8),
    Cut(Index),
    Extend(Vec<u8>),
    Remove(Index),
    Insert(Index, u8),
    /// Continues from here with the rest of another payload.
    Splice(Index, Vec<u8>, Index),
}

fn damage() -> impl Strategy<Value = Damage> {
    let place = any::<Index>;
    let small = prop_oneof![Just(1u8), Just(255), any::<u8>()];
    prop_oneof![
        3 => (place(), any::<u8>()).prop_map(|(at, to)| Damage::Set(at, to)),
        3 => (place(), small).prop_map(|(at, by)| Damage::Add(at, by)),
        2 => place().prop_map(Damage::Cut),
        1 => vec(any::<u8>(), 1..20).prop_map(Damage::Extend),
        1 => place().prop_map(Damage::Remove),
        1 => (place(), any::<u8>()).prop_map(|(at, byte)| Damage::Insert(at, byte)),
        1 => (place(), sound(), place()).prop_map(|(at, other, from)| Damage::Splice(at, other, from)),
    ]
}

impl Damage {
    fn apply(&self, bytes: &mut Vec<u8>) {
        let place = |i: &Index| i.index(bytes.len().max(1));
        match self {
            Damage::Extend(tail) => bytes.extend(tail),
            Damage::Insert(at, byte) => bytes.insert(place(at), *byte),
            _ if bytes.is_empty() => {}
            Damage::Set(at, to) => {
                let at = place(at);
                bytes[at] = *to;
            }
            Damage::Add(at, by) => {
                let at = place(at);
                bytes[at] = bytes[at].wrapping_add(*by);
            }
            Damage::Cut(at) => bytes.truncate(place(at)),
            Damage::Remove(at) => drop(bytes.remove(place(at))),
            Damage::Splice(at, other, from) => {
                bytes.truncate(place(at));
                bytes.extend(&other[from.index(other.len().max(1)).min(other.len())..]);
            }
        }
    }
}

fn damaged_copy((mut bytes, damages): (Vec<u8>, Vec<Damage>)) -> Vec<u8> {
    damages.iter().for_each(|d| d.apply(&mut bytes));
    bytes
}

/// A sample or example with one to three damages.
pub fn damaged() -> impl Strategy<Value = Vec<u8>> {
    (sound(), vec(damage(), 1..4)).prop_map(damaged_copy)
}

/// Few endpoints, so that unrelated datagrams share conversations.
const CLIENTS: [Addr; 2] = [([198, 51, 100, 1], 40_001), ([198, 51, 100, 2], 7777)];
const SERVERS: [Addr; 2] = [(SERVER, PORT), ([192, 0, 2, 11], 7777)];

/// One datagram of a generated capture.
#[derive(Clone)]
pub struct Move {
    step: i64,
    ends: [Index; 2],
    direction: Direction,
    bytes: Vec<u8>,
    captured: Option<u32>,
}

/// `+10 ms 198.51.100.1:40001 c2s 0080902348`: on one line, because a failing case is a list of them.
impl fmt::Debug for Move {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ((_, client), (_, server)) = self.ends();
        let (step, direction) = (self.step as f64 / 1e6, self.direction.name());
        write!(f, "{step:+} ms, client {client}, server {server}, {direction}, ")?;
        self.bytes.iter().try_for_each(|b| write!(f, "{b:02x}"))?;
        self.captured.map_or(Ok(()), |n| write!(f, ", {n} bytes captured"))
    }
}

impl Move {
    /// Client and server.
    fn ends(&self) -> (Addr, Addr) {
        (*self.ends[0].get(&CLIENTS), *self.ends[1].get(&SERVERS))
    }

    /// Advances `time` and returns the frame of the datagram.
    fn frame(&self, time: &mut i64) -> RawFrame {
        *time += self.step;
        let (client, server) = self.ends();
        let (from, to) = if self.direction == Direction::C2s { (client, server) } else { (server, client) };
        let mut frame = udp_frame(*time, from, to, &self.bytes);
        if let Some(captured) = self.captured {
            frame.bytes.truncate(captured as usize);
        }
        frame
    }
}

/// The frames of a list of moves.
pub fn move_frames(moves: &[Move]) -> Vec<RawFrame> {
    let mut time = crate::kit::play::START;
    moves.iter().map(|m| m.frame(&mut time)).collect()
}

fn one_move(what: impl Strategy<Value = (Direction, Vec<u8>)>, earliest: i64) -> impl Strategy<Value = Move> {
    let step = prop_oneof![
        6 => 0i64..20_000_000,
        2 => 0i64..3_000_000_000,
        1 => earliest..0,
        1 => 3_000_000_000i64..20_000_000_000,
    ];
    let captured = prop_oneof![9 => Just(None), 1 => (40u32..80).prop_map(Some)];
    (step, any::<[Index; 2]>(), what, captured).prop_map(|(step, ends, (direction, bytes), captured)| Move {
        step,
        ends,
        direction,
        bytes,
        captured,
    })
}

/// An intact or damaged message in its direction.
fn right_way() -> impl Strategy<Value = (Direction, Vec<u8>)> {
    let sound = || any::<Index>().prop_map(|i| PAYLOADS[i.index(PAYLOADS.len())].clone());
    let damaged = (sound(), vec(damage(), 1..4))
        .prop_map(|((direction, bytes), damages)| (direction, damaged_copy((bytes, damages))));
    prop_oneof![3 => sound(), 1 => damaged]
}

/// The datagrams of a sample or example between two endpoints.
fn conversation() -> impl Strategy<Value = Vec<Move>> {
    let all: Vec<&Example> = conversations().collect();
    (prop::sample::select(all), any::<[Index; 2]>(), 0i64..400_000_000).prop_map(|(example, ends, step)| {
        let one = |(direction, bytes)| Move { step, ends, direction, bytes, captured: None };
        example.steps.iter().filter_map(sent).map(one).collect()
    })
}

/// A capture of up to some hundred datagrams in which every endpoint keeps its role as client or server.
pub fn orderly() -> impl Strategy<Value = Vec<Move>> {
    let one = one_move(right_way(), -5_000_000);
    let part = prop_oneof![2 => conversation(), 3 => vec(one, 1..4)];
    vec(part, 1..24).prop_map(|parts| parts.concat())
}

/// A capture of any bytes in any direction, with time stamps that jump back.
pub fn wild() -> impl Strategy<Value = Vec<Move>> {
    let odd = (direction(), prop_oneof![damaged(), any_bytes()]);
    let one = one_move(prop_oneof![2 => right_way(), 1 => odd], -2_000_000_000);
    let part = prop_oneof![1 => conversation(), 3 => vec(one, 1..4)];
    vec(part, 1..24).prop_map(|parts| parts.concat())
}
