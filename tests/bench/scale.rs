//! How time and memory go with the length of a capture, and what hostile ones do to them.

use crate::generate::{Kind, Plan};
use crate::measure::Figures;
use crate::sets::Set;
use crate::table::{mib, per_packet, spread};
use crate::work::own;
use std::io;
use std::path::Path;

/// What the others are compared with.
const BASE: u64 = 1_000_000;
const LONG: [u64; 2] = [10_000_000, 40_000_000];
/// Runs of the first capture beside each of another one.
const RUNS: usize = 5;
/// Clients of one packet each, at a rate at which the tables cannot keep up.
const CLIENTS: u64 = 10_000_000;
const FLOOD_RATE: u64 = 1_000_000;
/// Three packets on average for each server: a million of them.
const SERVER_PACKETS: u64 = 3_000_000;

/// Measures the summary of each capture in turn with that of the shortest, and prints a Markdown table. One capture
/// lies in `dir` at a time, beside the shortest.
pub fn scale(rounds: usize, dir: &Path) -> io::Result<()> {
    let base = Set::new("query", &Plan::new(Kind::Query, BASE), dir)?;
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
        let set = Set::new(name, &plan, dir)?;
        let (mut runs, mut beside) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            beside.push(middle(&base)?);
            runs.push(own("summary", &set)?);
        }
        print(&set, &runs, &beside);
        set.remove()?;
    }
    println!(
        "\n{rounds} rounds, each beside the middle one of {RUNS} runs of the first capture; medians. Ratios: median (least to \
        greatest)."
    );
    Ok(())
}

/// The first capture takes a quarter of a second, which is soon disturbed: the middle one of some runs.
fn middle(set: &Set) -> io::Result<(Figures, String)> {
    let mut runs: Vec<_> = (0..RUNS).map(|_| own("summary", set)).collect::<io::Result<_>>()?;
    runs.sort_by_key(|(run, _)| run.cpu_ns);
    Ok(runs.swap_remove(RUNS / 2))
}

/// A row; `beside` holds the runs of the first capture, in the same rounds.
fn print(set: &Set, runs: &[(Figures, String)], beside: &[(Figures, String)]) {
    // Processor time: neighbours change it less.
    let cpu = |(run, _): &(Figures, String)| run.cpu_ns as f64 / run.packets as f64;
    let [_, wall, _] = spread(runs.iter().map(|(run, _)| run.wall_ns as f64).collect());
    let [_, each, _] = spread(runs.iter().map(cpu).collect());
    let ratios = runs.iter().zip(beside).map(|(run, base)| cpu(run) / cpu(base)).collect();
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
