//! What the summary and the CI gate run on never touches the heap, once its bounded tables are full.
#![allow(unsafe_code, clippy::panic)]

#[path = "house/play.rs"]
mod play;

use play::{Shot, shots};
use qdissect::check::Finding;
use qdissect::decode::Notes;
use qdissect::exchange::Exchange;
use qdissect::pipeline::{Options, Pipeline};
use qdissect::protocols::{Id, Level};
use qdissect::report::{Packet, Report};
use qdissect::rule::Example;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::hint::black_box;
use std::io;

struct Counting;

thread_local! {
    /// Heap calls of this thread: the test harness has threads of its own.
    static CALLS: Cell<u64> = const { Cell::new(0) };
}

fn count() {
    let _ = CALLS.try_with(|calls| calls.set(calls.get() + 1)); // none is left at the end of a thread
}

// SAFETY: forwards to `System` unchanged; only counts.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        unsafe { System.alloc(layout) }
    }
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        unsafe { System.realloc(block, layout, size) }
    }
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static HEAP: Counting = Counting;

/// Listens as the summary does: to broken rules, in no order.
#[derive(Default)]
struct Counts {
    packets: u64,
    exchanges: u64,
}

impl Report for Counts {
    type Sink = Notes;
    const ORDERED: bool = false;

    fn packet(&mut self, p: &Packet<'_, Notes>) -> io::Result<()> {
        self.packets += 1;
        black_box(p.findings);
        Ok(())
    }
    fn exchange(&mut self, e: &Exchange, findings: &[Finding]) -> io::Result<()> {
        self.exchanges += 1;
        black_box((e, findings));
        Ok(())
    }
}

/// Where an IPv4 source stands in an Ethernet frame.
const SOURCE: usize = 14 + 12;
const DESTINATION: usize = SOURCE + 4;
/// Between two rounds, in nanoseconds: the rounds of one late window fit into the tables.
const ROUND: i64 = 50_000_000;

/// Sends the frames as from other clients of other servers: both addresses carry the round's number.
fn readdress(shots: &mut [Shot], round: u32) {
    let [_, a, b, c] = round.to_be_bytes();
    for shot in shots {
        // The documentation networks of server and clients become 10.… and 11.….
        for at in [SOURCE, DESTINATION] {
            let network = if shot.bytes[at] == play::SERVER[0] || shot.bytes[at] == 10 { 10 } else { 11 };
            shot.bytes[at..at + 4].copy_from_slice(&[network, a, b, c]);
        }
        shot.time += ROUND;
    }
}

/// Heap calls of some rounds.
fn rounds(
    pipeline: &mut Pipeline<Counts>,
    conversations: &mut [Vec<Shot>],
    numbers: std::ops::Range<u32>,
) -> u64 {
    let before = CALLS.get();
    for round in numbers {
        let all = conversations.len() as u32;
        for (n, shots) in conversations.iter_mut().enumerate() {
            // Each sample has clients and servers of its own.
            readdress(shots, round * all + n as u32);
            for shot in &*shots {
                pipeline.frame(&play::frame(shot, u64::from(round), 0)).expect("nothing is written");
            }
        }
    }
    CALLS.get() - before
}

/// Rounds until every bounded table is full, and some more for what grows behind.
const WARM_UP: u32 = 25_000;
const MEASURED: u32 = 2_000;

#[test]
fn warm_tables_take_no_memory() {
    let own = |example: &Example| {
        let mut shots = shots(example);
        shots.pop();
        shots.remove(0); // the foreign ones
        shots
    };
    let samples = Id::ALL.iter().flat_map(|id| id.info().samples);
    let mut conversations: Vec<Vec<Shot>> = samples.map(own).collect();
    let per_round: usize = conversations.iter().map(Vec::len).sum();
    let options = Options { min_confidence: Level::Low, ..Options::default() };
    let mut pipeline = Pipeline::new(options, Counts::default());
    let warm_up = rounds(&mut pipeline, &mut conversations, 1..WARM_UP);
    let steady = rounds(&mut pipeline, &mut conversations, WARM_UP..WARM_UP + MEASURED);
    let (counts, totals) = pipeline.finish(true).expect("nothing is written");
    println!("heap calls: {warm_up} while warming up, then {steady}; {totals:?}");
    assert_eq!(counts.packets, per_round as u64 * u64::from(WARM_UP + MEASURED - 1));
    assert_eq!(steady, 0, "{steady} heap calls in {} packets", per_round * MEASURED as usize);
}
