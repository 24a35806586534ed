//! What the summary and the CI gate run on never touches the heap, once its bounded tables are full.
#![allow(unsafe_code)]

use crate::kit::play;
use crate::kit::play::{Shot, shots};
use qdissect::check::Finding;
use qdissect::check::Policy;
use qdissect::exchange::Exchange;
use qdissect::pipeline::{Options, Pipeline};
use qdissect::protocols::Budget;
use qdissect::protocols::{Id, Level};
use qdissect::report::summary::Summary;
use qdissect::report::{Packet, Report, Totals};
use qdissect::rule::Example;
use qdissect::verdict::Check;
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
    fn packet(&mut self, p: &Packet<'_>) -> io::Result<()> {
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
/// What the tables may take: with little, few rounds fill them.
const MEMORY: u32 = 4;
/// Between two rounds, in nanoseconds: the rounds of one late window fit into the tables.
const ROUND: i64 = 800_000_000;

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
    pipeline: &mut Pipeline<'_>,
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
const WARM_UP: u32 = 2_000;
const MEASURED: u32 = 300;

/// Heap calls of a report in warm tables; the report and the totals.
fn steady<R: Report>(options: Options, mut report: R) -> (u64, R, Totals) {
    let own = |example: &Example| {
        let mut shots = shots(example);
        shots.pop();
        shots.remove(0); // the foreign ones
        shots
    };
    let samples = Id::ALL.iter().flat_map(|id| id.info().samples);
    let mut conversations: Vec<Vec<Shot>> = samples.map(own).collect();
    let per_round: usize = conversations.iter().map(Vec::len).sum();
    let mut pipeline = Pipeline::new(options, &mut report);
    let warm_up = rounds(&mut pipeline, &mut conversations, 1..WARM_UP);
    let steady = rounds(&mut pipeline, &mut conversations, WARM_UP..WARM_UP + MEASURED);
    let totals = pipeline.finish(true).expect("nothing is written");
    println!("heap calls: {warm_up} while warming up, then {steady}; {totals:?}");
    assert!(totals.servers_refused > 0 && totals.memory_forgotten > 0, "the tables are full");
    assert_eq!(totals.recognised, per_round as u64 * u64::from(WARM_UP + MEASURED - 1));
    (steady, report, totals)
}

fn low() -> Options {
    Options { min_confidence: Level::Low, budget: Budget::mib(MEMORY), ..Options::default() }
}

#[test]
fn warm_tables_take_no_memory() {
    let (steady, counts, totals) = steady(low(), Counts::default());
    assert_eq!((counts.packets, counts.exchanges), (totals.recognised, totals.exchanges));
    assert_eq!(steady, 0);
}

#[test]
fn the_summary_takes_no_memory_per_packet() {
    let (steady, summary, totals) = steady(low(), Summary::default());
    let asked: u64 = summary.servers().map(|server| server.requests).sum();
    assert_eq!(asked + summary.untracked, totals.exchanges);
    assert_eq!(steady, 0);
}

#[test]
fn check_takes_no_memory_per_packet_without_findings() {
    // Sound conversations, too, are worth some remarks. What is switched off is checked all the same.
    let mut policy = Policy::default();
    qdissect::protocols::rules().for_each(|rule| policy.set_severity(rule.id, None).expect("it is a rule"));
    let options = Options { policy: policy.clone(), ..low() };
    let (steady, check, totals) = steady(options, Check::new(policy, |_, _| Ok(())));
    assert_eq!(totals.findings.total(), 0);
    let verdict = check.verdict(totals).expect("nothing is written");
    assert!(verdict.totals.recognised > 0);
    assert_eq!(steady, 0);
}
