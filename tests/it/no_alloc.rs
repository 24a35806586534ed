//! The summary and `check` allocate no memory once their bounded tables are full, and what costs little takes little memory.
#![allow(unsafe_code)]

use crate::kit::play::{RawFrame, example_frames};
use crate::kit::{packed, play};
use qdissect::capture::Source;
use qdissect::check::{Finding, Policy};
use qdissect::exchange::Exchange;
use qdissect::page::{self, Page};
use qdissect::pipeline::{Options, Pipeline};
use qdissect::protocols::{Budget, Id, Level};
use qdissect::report::summary::Summary;
use qdissect::report::{Packet, Report, Totals};
use qdissect::rule::Step::S;
use qdissect::rule::{Example, hex};
use qdissect::verdict::Check;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::hint::black_box;
use std::io;

struct Counting;

thread_local! {
    /// Number of allocations by this thread, because the test harness has other threads.
    static CALLS: Cell<u64> = const { Cell::new(0) };
    /// Number of bytes allocated by this thread, whether or not they have been freed.
    static BYTES: Cell<u64> = const { Cell::new(0) };
    /// Number of bytes that this thread has allocated and not freed, which may be negative, and the largest one.
    static HELD: Cell<[i64; 2]> = const { Cell::new([0; 2]) };
}

fn count(size: usize) {
    // None is left at the end of a thread.
    let _ = CALLS.try_with(|calls| calls.set(calls.get() + 1));
    let _ = BYTES.try_with(|bytes| bytes.set(bytes.get() + size as u64));
    hold(size as i64);
}

fn hold(change: i64) {
    let _ = HELD.try_with(|held| {
        let [now, most] = held.get();
        held.set([now + change, most.max(now + change)]);
    });
}

/// The bytes that `work` allocates, and the most that it holds at once.
fn measured(work: impl FnOnce()) -> (u64, u64) {
    let (bytes, [held, _]) = (BYTES.get(), HELD.get());
    HELD.set([held; 2]);
    work();
    (BYTES.get() - bytes, (HELD.get()[1] - held) as u64)
}

// SAFETY: forwards to `System` unchanged; only counts.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        unsafe { System.alloc(layout) }
    }
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size);
        hold(-(layout.size() as i64));
        unsafe { System.realloc(block, layout, size) }
    }
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        hold(-(layout.size() as i64));
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static HEAP: Counting = Counting;

/// A report that listens like the summary: to broken rules, without order.
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

/// Offset of the IPv4 source address in an Ethernet frame.
const SOURCE: usize = 14 + 12;
const DESTINATION: usize = SOURCE + 4;
/// Memory for the tables in MiB: with little memory, few rounds fill them.
const MEMORY: u32 = 4;
/// Time between two rounds, in nanoseconds: the rounds of one late window fit into the tables.
const ROUND: i64 = 800_000_000;

/// Changes the frames to other clients and servers: both addresses contain the number of the round.
fn readdress(frames: &mut [RawFrame], round: u32) {
    let [_, a, b, c] = round.to_be_bytes();
    for raw_frame in frames {
        // The documentation networks of server and clients become 10.… and 11.….
        for at in [SOURCE, DESTINATION] {
            let network =
                if raw_frame.bytes[at] == play::SERVER[0] || raw_frame.bytes[at] == 10 { 10 } else { 11 };
            raw_frame.bytes[at..at + 4].copy_from_slice(&[network, a, b, c]);
        }
        raw_frame.time += ROUND;
    }
}

/// Number of allocations in some rounds.
fn rounds(
    pipeline: &mut Pipeline<'_>,
    conversations: &mut [Vec<RawFrame>],
    numbers: std::ops::Range<u32>,
) -> u64 {
    let before = CALLS.get();
    for round in numbers {
        let all = conversations.len() as u32;
        for (n, frames) in conversations.iter_mut().enumerate() {
            // Each sample has different clients and servers.
            readdress(frames, round * all + n as u32);
            for raw_frame in &*frames {
                pipeline
                    .frame(&play::numbered_frame(raw_frame, u64::from(round), 0))
                    .expect("nothing is written");
            }
        }
    }
    CALLS.get() - before
}

/// Rounds until every bounded table is full, and some more for buffers that grow later.
const WARM_UP: u32 = 2_000;
const MEASURED: u32 = 300;

/// The number of allocations of a report with full tables, with the report and the totals.
fn count_allocations<R: Report>(options: Options, mut report: R) -> (u64, R, Totals) {
    let own = |example: &Example| {
        let mut frames = example_frames(example);
        frames.pop();
        frames.remove(0); // the foreign ones
        frames
    };
    // An answer in several datagrams has a list of its frames, which is memory.
    let is_in_parts = |sample: &Example| sample.steps.windows(2).any(|two| matches!(two, [S(_), S(_)]));
    let samples = Id::ALL.iter().flat_map(|id| id.info().samples).filter(|sample| !is_in_parts(sample));
    let mut conversations: Vec<Vec<RawFrame>> = samples.map(own).collect();
    let per_round: usize = conversations.iter().map(Vec::len).sum();
    let mut pipeline = Pipeline::new(options, &mut report);
    let warm_up = rounds(&mut pipeline, &mut conversations, 1..WARM_UP);
    let count_allocations = rounds(&mut pipeline, &mut conversations, WARM_UP..WARM_UP + MEASURED);
    let totals = pipeline.finish(true).expect("nothing is written");
    println!("heap calls: {warm_up} while warming up, then {count_allocations}; {totals:?}");
    assert!(totals.servers_refused > 0 && totals.memory_forgotten > 0, "the tables are full");
    assert_eq!(totals.recognised, per_round as u64 * u64::from(WARM_UP + MEASURED - 1));
    (count_allocations, report, totals)
}

fn low() -> Options {
    Options { min_confidence: Level::Low, budget: Budget::mib(MEMORY), ..Options::default() }
}

#[test]
fn full_tables_allocate_no_memory() {
    let (count_allocations, counts, totals) = count_allocations(low(), Counts::default());
    assert_eq!((counts.packets, counts.exchanges), (totals.recognised, totals.exchanges));
    assert_eq!(count_allocations, 0);
}

#[test]
fn the_summary_allocates_no_memory_per_packet() {
    let (count_allocations, summary, totals) = count_allocations(low(), Summary::default());
    let asked: u64 = summary.servers().map(|server| server.requests).sum();
    assert_eq!(asked + summary.untracked, totals.exchanges);
    assert_eq!(count_allocations, 0);
}

#[test]
fn check_allocates_no_memory_per_packet_without_findings() {
    // Correct conversations also have some remarks. Rules that are switched off are checked, too.
    let mut policy = Policy::default();
    qdissect::protocols::rules().for_each(|rule| policy.set_severity(rule.id, None).expect("it is a rule"));
    let options = Options { policy: policy.clone(), ..low() };
    let (count_allocations, check, totals) = count_allocations(options, Check::new(policy, |_, _| Ok(())));
    assert_eq!(totals.findings.total(), 0);
    let verdict = check.verdict(totals).expect("nothing is written");
    assert!(verdict.totals.recognised > 0);
    assert_eq!(count_allocations, 0);
}

#[test]
fn empty_members_take_no_tables() {
    let capture = std::fs::read("captures/containers/base.pcap").unwrap();
    let frames = |bytes: Vec<u8>| {
        let mut source = Source::from_reader("memory", Box::new(io::Cursor::new(bytes))).unwrap();
        let mut frames = 0;
        while source.next().unwrap().is_some() {
            frames += 1;
        }
        frames
    };
    for ((name, empty), (_, whole)) in packed::all(&[]).into_iter().zip(packed::all(&capture)) {
        let members = |count| [empty.repeat(count), whole.clone(), empty.repeat(count)].concat();
        let (few, many) = (members(10), members(5_010));
        let (of_few, _) = measured(|| assert_eq!(frames(few), 16));
        let (of_many, _) = measured(|| assert_eq!(frames(many), 16));
        let each = (of_many - of_few) / 10_000;
        assert!(each < 256 << 10, "{name}: {each} bytes for each");
        assert!(name != "bz2" || each < 64, "{name}: {each} bytes for each, of which 23 hold the input");
    }
}

#[test]
fn the_page_is_written_as_it_is_made() {
    // Servers with long names, which JSON and HTML make much longer.
    let name = vec![1; 250];
    let info =
        [&hex("ffffffff 49 11")[..], &name, b"\0b\0c\0d\0", &hex("f000 01 08 00 'dl' 00 01 '1' 00")].concat();
    let mut frames = vec![];
    for n in 0..6_000u32 {
        let [_, a, b, c] = n.to_be_bytes();
        let (server, time) = (([10, a, b, c], 27_015), play::START + i64::from(n) * 1_000_000);
        frames.push(play::udp_frame(
            time,
            play::CLIENTS[0],
            server,
            &hex("ffffffff 'TSource Engine Query' 00"),
        ));
        frames.push(play::udp_frame(time + 1, server, play::CLIENTS[0], &info));
    }
    let options = play::everything();
    let page = Page::new(Check::new(options.policy.clone(), |_, _| Ok(())), &options);
    let (page, totals) = play::report(options, page, &frames);
    let (verdict, gathered) = page.verdict(totals).expect("nothing is written");
    let (mut written, mut length): (Vec<u8>, usize) = (vec![], 0);
    let (_, held) = measured(|| {
        page::write(&mut written, &gathered, &verdict).expect("it is memory");
        length = written.len();
    });
    let text = String::from_utf8_lossy(&written);
    assert!(
        text.contains("Not on this page: 4,000 further servers. <code>qdissect summary -T csv</code>"),
        "{length}"
    );
    // The page itself is among them; beside it there are its rows once, as text.
    assert!(held < 3 * length as u64 + (8 << 20), "{held} bytes for a page of {length}");
}
