//! Measures child processes in turn, so that other load slows all rows equally.

use crate::generate::{Kind, Plan};
use crate::measure::Figures;
use crate::sets::BenchCapture;
use crate::table;
use crate::work::Work;
use std::io;
use std::path::Path;

/// Number of packets for slow tools, which take seconds for them.
const SMALL: u64 = 200_000;
/// Number of servers whose tables do not fit into the second-level cache of a core.
pub const MANY_SERVERS: u32 = 13_000;
const MEMORY_SIZES: [u64; 2] = [1_000_000, 10_000_000];
const MIB: f64 = 1024.0 * 1024.0;

/// A program measured on a capture.
pub struct Row {
    /// Index of the capture.
    pub set: usize,
    /// The measured program.
    pub work: Work,
    /// The figures of each round, until one fails.
    pub runs: Vec<Figures>,
    /// The error that ended the rounds.
    pub failure: Option<String>,
}

/// Measures `rounds` rounds on captures of `packets` packets kept in `dir`, another program `beside` them on every capture.
pub fn run(packets: u64, rounds: usize, dir: &Path, beside: Option<Work>) -> io::Result<()> {
    let all: &[&[Work]] = &[&Work::OTHERS, &Work::AHEAD, &Work::READERS];
    let check: &[&[Work]] = &[&[Work::CHECK]];
    let mut plan: Vec<_> = captures(packets, dir)?.into_iter().zip([all, all, &[], &[], check]).collect();
    if Work::DISSECTORS[0].is_installed() {
        let small = BenchCapture::new("query, small", &Plan::new(Kind::Query, SMALL), dir)?;
        plan.push((small, &[&Work::OTHERS, &Work::DISSECTORS]));
    }
    let (mut sets, mut rows) = (vec![], vec![]);
    for (capture, works) in plan {
        let works = [Work::FLOOR, Work::SUMMARY].into_iter().chain(works.concat());
        let installed = works.filter(|work| work.is_installed());
        rows.extend(installed.chain(beside).map(|work| Row::new(sets.len(), work)));
        sets.push(capture);
    }
    for round in 1..=rounds {
        eprintln!("round {round} of {rounds}");
        for row in &mut rows {
            row.measure(&sets[row.set]);
        }
    }
    table::report(&sets, &rows, rounds, beside);
    Ok(())
}

/// The captures that are always measured.
fn captures(packets: u64, dir: &Path) -> io::Result<Vec<BenchCapture>> {
    let query = Plan::new(Kind::Query, packets);
    let mut blocks = query;
    blocks.format.pcapng = true;
    let many = Plan { servers: MANY_SERVERS, ..query };
    Ok(vec![
        BenchCapture::new("query", &query, dir)?,
        BenchCapture::new("mixed", &Plan::new(Kind::Mixed, packets), dir)?,
        BenchCapture::new("game", &Plan::new(Kind::Game, packets), dir)?,
        BenchCapture::new("query, pcapng", &blocks, dir)?,
        BenchCapture::new("query, 13,000 servers", &many, dir)?,
    ])
}

/// Prints the peak memory of the product at growing sizes, with captures kept in `dir`.
pub fn memory(dir: &Path) -> io::Result<()> {
    println!("| packets | file MiB | what | peak MiB | ns/packet |\n|--:|--:|---|--:|--:|");
    for packets in MEMORY_SIZES {
        let set = BenchCapture::new("query", &Plan::new(Kind::Query, packets), dir)?;
        for work in [Work::FLOOR, Work::SUMMARY].into_iter().chain(Work::OTHERS) {
            let mut row = Row::new(0, work);
            row.measure(&set);
            let file = set.bytes as f64 / MIB;
            print!("| {packets} | {file:.0} | {} |", work.name());
            match row.runs.first() {
                Some(run) => {
                    println!(
                        " {:.1} | {:.1} |",
                        table::mib(run),
                        table::per_packet(run.wall_ns as f64, &set)
                    );
                }
                None => println!(" {} | |", row.failure.unwrap_or_default()),
            }
        }
    }
    Ok(())
}

impl Row {
    fn new(set: usize, work: Work) -> Self {
        Self { set, work, runs: Vec::new(), failure: None }
    }

    fn measure(&mut self, set: &BenchCapture) {
        if self.failure.is_some() {
            return;
        }
        match self.work.run(set) {
            Ok(figures) => self.runs.push(figures),
            Err(error) => self.failure = Some(error.to_string().replace(['\n', '|'], " ")),
        }
    }
}
