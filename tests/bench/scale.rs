//! Measures how time and memory depend on the length of a capture, and the effect of hostile captures.

use crate::generate::{Kind, Plan};
use crate::measure::Figures;
use crate::sets::BenchCapture;
use crate::table::{mib, per_packet, spread};
use crate::work::run_self;
use std::io;
use std::path::Path;

/// Number of packets of the capture that the others are compared with.
const BASE: u64 = 1_000_000;
const LONG: [u64; 2] = [10_000_000, 40_000_000];
/// Number of runs of the first capture for each run of another one.
const RUNS: usize = 5;
/// Clients of one packet each, at a rate at which the tables cannot keep up.
const CLIENTS: u64 = 10_000_000;
const FLOOD_RATE: u64 = 1_000_000;
/// Three packets on average for each server: a million of them.
const SERVER_PACKETS: u64 = 3_000_000;

/// Measures the summary of each capture in turn with that of the shortest, and prints a Markdown table. Besides the shortest,
/// only one capture at a time is kept in `dir`.
pub fn scale(rounds: usize, dir: &Path) -> io::Result<()> {
    let base = BenchCapture::new("query", &Plan::new(Kind::Query, BASE), dir)?;
    let query = LONG.map(|packets| ("query", Plan::new(Kind::Query, packets)));
    let clients = Plan { rate: FLOOD_RATE, ..Plan::new(Kind::Clients, CLIENTS) };
    let hostile = [
        ("a client for each packet", clients),
        ("a server for each exchange", Plan::new(Kind::Servers, SERVER_PACKETS)),
    ];
    println!(
        "| capture | packets | file MiB | wall ns/packet | cpu ns/packet | × first, cpu | peak MiB | counted |"
    );
    println!("|---|--:|--:|--:|--:|--:|--:|---|");
    let first: Vec<_> = (0..rounds).map(|_| middle(&base)).collect::<io::Result<_>>()?;
    print(&base, &first, &first);
    for (name, plan) in query.into_iter().chain(hostile) {
        let set = BenchCapture::new(name, &plan, dir)?;
        let (mut runs, mut base_runs) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            base_runs.push(middle(&base)?);
            runs.push(run_self("summary", &set)?);
        }
        print(&set, &runs, &base_runs);
        set.remove()?;
    }
    println!(
        "\n{rounds} rounds, each beside the middle one of {RUNS} runs of the first capture; medians. Ratios: median (least to \
        greatest)."
    );
    Ok(())
}

/// Measures the first capture. It takes only a quarter of a second, so the median of several runs is used.
fn middle(set: &BenchCapture) -> io::Result<(Figures, String)> {
    let mut runs: Vec<_> = (0..RUNS).map(|_| run_self("summary", set)).collect::<io::Result<_>>()?;
    runs.sort_by_key(|(run, _)| run.cpu_ns);
    Ok(runs.swap_remove(RUNS / 2))
}

/// A row; `compared_with` holds the runs of the first capture, in the same rounds.
fn print(set: &BenchCapture, runs: &[(Figures, String)], base_runs: &[(Figures, String)]) {
    // Processor time depends less on other load.
    let cpu = |(run, _): &(Figures, String)| run.cpu_ns as f64 / run.packets as f64;
    let [_, wall, _] = spread(runs.iter().map(|(run, _)| run.wall_ns as f64).collect());
    let [_, each, _] = spread(runs.iter().map(cpu).collect());
    let ratios = runs.iter().zip(base_runs).map(|(run, base)| cpu(run) / cpu(base)).collect();
    let [least, ratio, greatest] = spread(ratios);
    let [.., peak] = spread(runs.iter().map(|(run, _)| mib(run)).collect());
    let counted = runs.last().map_or("", |(_, line)| line);
    let counted: Vec<&str> =
        counted.split_whitespace().skip_while(|word| !word.starts_with("evicted")).collect();
    println!(
        "| {} | {} | {:.0} | {:.0} | {each:.0} | {ratio:.2} ({least:.2} to {greatest:.2}) | {peak:.1} | {} |",
        set.name,
        set.packets,
        set.bytes as f64 / (1024.0 * 1024.0),
        per_packet(wall, set),
        counted.join(", ")
    );
}
