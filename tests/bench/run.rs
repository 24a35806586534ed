//! Measures child processes in turn, so that a busy machine slows all rows alike.

use crate::generate::{Kind, Plan};
use crate::measure::Figures;
use crate::sets::Set;
use crate::table;
use crate::work::Work;
use std::io;
use std::path::Path;

/// Packets for tools that take seconds for them.
const SMALL: u64 = 200_000;
/// So many that what is kept of them takes more than the second-level cache of a core.
const MANY_SERVERS: u32 = 13_000;
const MEMORY_SIZES: [u64; 2] = [1_000_000, 10_000_000];
const MIB: f64 = 1024.0 * 1024.0;

/// Something measured on a capture.
pub struct Row {
    /// Which of the sets.
    pub set: usize,
    /// What is measured.
    pub work: Work,
    /// One per round, until one fails.
    pub runs: Vec<Figures>,
    /// Why there are no more.
    pub failure: Option<String>,
}

/// Measures `rounds` rounds on captures of `packets` packets kept in `dir`.
pub fn run(packets: u64, rounds: usize, dir: &Path) -> io::Result<()> {
    let mut sets = captures(packets, dir)?;
    let base = [Work::FLOOR, Work::SUMMARY];
    let mut plan: Vec<(usize, Work)> = Vec::new();
    let mut add = |set, works: &[Work]| plan.extend(works.iter().map(|&work| (set, work)));
    add(0, &base);
    add(0, &Work::OTHERS);
    add(0, &Work::AHEAD);
    add(0, &Work::READERS);
    add(1, &base);
    add(1, &Work::OTHERS);
    add(1, &Work::AHEAD);
    add(1, &Work::READERS);
    add(2, &base);
    add(3, &base);
    add(3, &[Work::CHECK]);
    if Work::DISSECTORS[0].is_installed() {
        sets.push(Set::new("query, small", &Plan::new(Kind::Query, SMALL), dir)?);
        add(4, &base);
        add(4, &Work::OTHERS);
        add(4, &Work::DISSECTORS);
    }
    plan.retain(|(_, work)| work.is_installed());
    let mut rows: Vec<Row> = plan.into_iter().map(|(set, work)| Row::new(set, work)).collect();
    for round in 1..=rounds {
        eprintln!("round {round} of {rounds}");
        for row in &mut rows {
            row.measure(&sets[row.set]);
        }
    }
    table::report(&sets, &rows, rounds);
    Ok(())
}

/// The captures that are measured whatever tools are installed.
fn captures(packets: u64, dir: &Path) -> io::Result<Vec<Set>> {
    let query = Plan::new(Kind::Query, packets);
    let mut blocks = query;
    blocks.format.pcapng = true;
    let many = Plan { servers: MANY_SERVERS, ..query };
    Ok(vec![
        Set::new("query", &query, dir)?,
        Set::new("mixed", &Plan::new(Kind::Mixed, packets), dir)?,
        Set::new("game", &Plan::new(Kind::Game, packets), dir)?,
        Set::new("query, pcapng", &blocks, dir)?,
        // Names of files do not tell the number of servers.
        Set::new("query, 13,000 servers", &many, &dir.join("13000-servers"))?,
    ])
}

/// Prints the peak memory of the product at growing sizes, with captures kept in `dir`.
pub fn memory(dir: &Path) -> io::Result<()> {
    println!("| packets | file MiB | what | peak MiB | ns/packet |\n|--:|--:|---|--:|--:|");
    for packets in MEMORY_SIZES {
        let set = Set::new("query", &Plan::new(Kind::Query, packets), dir)?;
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

    fn measure(&mut self, set: &Set) {
        if self.failure.is_some() {
            return;
        }
        match self.work.run(set) {
            Ok(figures) => self.runs.push(figures),
            Err(error) => self.failure = Some(error.to_string().replace(['\n', '|'], " ")),
        }
    }
}
