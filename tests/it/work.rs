//! The work for a datagram stays in proportion to its length: decoders are given their own messages in which something is
//! repeated, and count what they look at.

use crate::bodies::work::{FACTOR, for_each_byte, repeated};
use crate::kit::play::example_frames;
use qdissect::net::parse;
use qdissect::protocols::{Context, Direction, Id, Known, Level};
use std::time::{Duration, Instant};

/// What may stand between the elements of a list, and elements.
const UNITS: [&[u8]; 22] = [
    b"\\",
    b"\0",
    b"\n",
    b";",
    b":",
    b",",
    b"/",
    b"\"",
    b" ",
    b"\x01",
    b"\x1d",
    b"\x1e",
    b"\x1f",
    b"\x04",
    b"[{",
    b"\xff",
    b"a\\",
    b"\\a\\b",
    b"a\0b\0",
    b"\\final\\",
    b"\x01\0",
    b"\x02a\0",
];

/// The payloads of every sample and counter-example of a protocol, and whether the server sent each.
fn payloads(id: Id) -> Vec<(Vec<u8>, Direction)> {
    let info = id.info();
    let rules = info.rules.iter().copied().chain([info.exchange_rules]).flatten();
    let examples = info.samples.iter().chain(rules.flat_map(|rule| rule.examples));
    let mut all = vec![];
    for example in examples {
        for raw_frame in example_frames(example) {
            let frame = crate::kit::play::numbered_frame(&raw_frame, 1, 0);
            let Ok(d) = parse(&frame) else { continue };
            for direction in [Direction::C2s, Direction::S2c] {
                let known = Known { open: true, ..Known::of(direction, Level::High) };
                if id.probe_known(d.payload, d.payload.len(), known).is_some() {
                    all.push((d.payload.to_vec(), direction));
                }
            }
        }
    }
    all.sort_by_key(|(payload, direction)| (payload.clone(), *direction == Direction::S2c));
    all.dedup();
    all
}

/// The largest work for each byte of a payload in which something is repeated at some places.
fn largest(id: Id, places: usize, times: usize) -> Option<(u64, String)> {
    let mut most = (0, String::new());
    for (payload, direction) in payloads(id) {
        let step = (payload.len() / places).max(1);
        for at in (0..=payload.len()).step_by(step) {
            let (head, tail) = payload.split_at(at);
            let own = [2, 9].map(|length| &tail[..tail.len().min(length)]);
            for unit in UNITS.into_iter().chain(own) {
                let long = repeated(head, unit, times / unit.len().max(1), tail);
                let known = Known { open: true, ..Known::of(direction, Level::High) };
                let Some(probe) = id.probe_known(&long, long.len(), known) else { continue };
                let work = for_each_byte(id, &long, &Context::of(probe.message, direction))?;
                if work > most.0 {
                    most = (work, format!("{} with {unit:02x?} at {at} of {payload:02x?}", id.info().name));
                }
            }
        }
    }
    Some(most)
}

#[test]
fn decoders_look_at_each_byte_a_limited_number_of_times() {
    let mut all = 0;
    for id in Id::ALL {
        let Some((most, example)) = largest(*id, 2, 4_000) else { return };
        println!("{}: {most} for each byte: {example}", id.info().name);
        assert!(most <= FACTOR, "{most} steps for each byte: {example}");
        all += most;
    }
    assert!(all > 20, "work is counted: {all}");
}

/// A number of a sequence that looks random.
fn random(state: &mut u64) -> usize {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) as usize
}

/// The least time that probe and decoder of all protocols need for a payload, out of three.
fn time_of(payload: &[u8], direction: Direction) -> Duration {
    let once = || {
        let begun = Instant::now();
        for id in Id::ALL {
            let known = Known { open: true, ..Known::of(direction, Level::High) };
            if let Some(probe) = id.probe_known(payload, payload.len(), known) {
                for_each_byte(*id, payload, &Context::of(probe.message, direction));
            }
        }
        begun.elapsed()
    };
    (0..3).map(|_| once()).min().unwrap_or_default()
}

/// Looks for payloads that take more than in proportion to their length, for as many seconds as `QDISSECT_SECONDS` says, by
/// work and by time: what no building block counts takes time all the same.
#[test]
#[ignore = "it takes as long as it is told"]
fn search_for_superlinear_work() {
    let number =
        |name: &str, usual| std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual);
    let (seconds, mut state) = (number("QDISSECT_SECONDS", 60), number("QDISSECT_SEED", 1));
    let all: Vec<_> = Id::ALL.iter().flat_map(|id| payloads(*id)).collect();
    let (begun, mut tried, mut found, mut worst) = (Instant::now(), 0u64, vec![], 0.0f64);
    while begun.elapsed() < Duration::from_secs(seconds) {
        let (payload, direction) = &all[random(&mut state) % all.len()];
        let (head, tail) = payload.split_at(random(&mut state) % (payload.len() + 1));
        let mut unit = vec![];
        for _ in 0..=random(&mut state) % 3 {
            let piece = match random(&mut state) % 3 {
                0 => UNITS[random(&mut state) % UNITS.len()],
                1 => &tail[..tail.len().min(random(&mut state) % 12)],
                _ => {
                    let other = &all[random(&mut state) % all.len()].0;
                    let from = random(&mut state) % (other.len() + 1);
                    &other[from..other.len().min(from + random(&mut state) % 8)]
                }
            };
            unit.extend(piece);
        }
        if unit.is_empty() {
            continue;
        }
        tried += 1;
        let of = |length: usize| repeated(head, &unit, length / unit.len(), tail);
        let [short, long] = [8_000, 48_000].map(|length| time_of(&of(length), *direction).as_secs_f64());
        let growth = long / short.max(1e-5);
        worst = worst.max(growth);
        if growth > 18.0 && long > 0.01 {
            let again = time_of(&of(48_000), *direction).as_secs_f64()
                / time_of(&of(8_000), *direction).as_secs_f64();
            if again > 15.0 {
                found.push(format!(
                    "{growth:.0} and {again:.0} times, {:.1} ms: {head:02x?} {unit:02x?} {tail:02x?}",
                    long * 1e3
                ));
            }
        }
        for id in Id::ALL {
            let known = Known { open: true, ..Known::of(*direction, Level::High) };
            let long = of(12_000);
            let Some(probe) = id.probe_known(&long, long.len(), known) else { continue };
            let steps = for_each_byte(*id, &long, &Context::of(probe.message, *direction)).unwrap_or(0);
            if steps > FACTOR {
                found.push(format!(
                    "{}: {steps} steps for each byte: {head:02x?} {unit:02x?} {tail:02x?}",
                    id.info().name
                ));
            }
        }
    }
    println!("{tried} payloads, the largest growth {worst:.1} for six times the length");
    assert!(found.is_empty(), "{}", found.join("\n"));
}
