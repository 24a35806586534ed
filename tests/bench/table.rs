//! The table of a run: medians, and ratios to the walk in the same round.

use crate::measure::Figures;
use crate::run::Row;
use crate::sets::BenchCapture;
use crate::work::Work;

const WALL: fn(&Figures) -> f64 = |run| run.wall_ns as f64;
const CPU: fn(&Figures) -> f64 = |run| run.cpu_ns as f64;

/// Prints the rows in Markdown; each set's ratios are to its walk, and the summary's also to the program `beside` it.
pub fn report(sets: &[BenchCapture], rows: &[Row], rounds: usize, beside: Option<Work>) {
    println!("| capture | what | wall ms | cpu ms | × walk, wall | × walk, cpu | ns/packet | peak MiB |");
    println!("|---|---|--:|--:|--:|--:|--:|--:|");
    for row in rows {
        let set = &sets[row.set];
        print!("| {} | {} |", set.name, row.work.title());
        match (&row.failure, find(rows, row.set, Work::FLOOR.name())) {
            (None, Some(floor)) => println!("{}", cells(set, row, floor)),
            (failure, _) => println!(" {} | | | | | |", failure.as_deref().unwrap_or("no walk")),
        }
    }
    print_comparisons(sets, rows, beside);
    println!(
        "\n{rounds} rounds, all rows in turn; medians. In the columns with ×, each run is divided by the walk of its"
    );
    println!(
        "own round, or by the run named under `of`: median (least to greatest). Own rows leave start-up out; rows of"
    );
    println!("other tools are whole processes, their processor time in steps of 10 ms.\n");
    for BenchCapture { name, packets, bytes, .. } in sets {
        let each = *bytes as f64 / *packets as f64;
        println!("- {name}: {packets} packets, {bytes} bytes, {each:.1} bytes per packet");
    }
}

/// Prints the ratios of rows to other rows on the same capture.
fn print_comparisons(sets: &[BenchCapture], rows: &[Row], beside: Option<Work>) {
    println!("\n| capture | what | of | × wall | × cpu |\n|---|---|---|--:|--:|");
    for row in rows.iter().filter(|row| row.failure.is_none()) {
        let beside = beside.filter(|_| row.work.name() == Work::SUMMARY.name());
        let Some(of) = row.work.compared_with().or(beside.map(Work::name)) else { continue };
        let Some(base) = find(rows, row.set, of) else { continue };
        let [wall, cpu] = [WALL, CPU].map(|figure| ratios(row, base, figure));
        println!("| {} | {} | {of} | {wall} | {cpu} |", sets[row.set].name, row.work.name());
    }
}

/// The row of that name on a capture, unless it failed.
fn find<'a>(rows: &'a [Row], set: usize, name: &str) -> Option<&'a Row> {
    rows.iter().find(|row| row.set == set && row.work.name() == name && row.failure.is_none())
}

/// Each run divided by the other of its round: median (least to greatest).
fn ratios(row: &Row, base: &Row, figure: fn(&Figures) -> f64) -> String {
    let pairs = row.runs.iter().zip(&base.runs);
    let [least, middle, greatest] = spread(pairs.map(|(run, base)| figure(run) / figure(base)).collect());
    format!("{middle:.2} ({least:.2} to {greatest:.2})")
}

fn cells(set: &BenchCapture, row: &Row, floor: &Row) -> String {
    let figures = |of: fn(&Figures) -> f64| row.runs.iter().map(of).collect();
    let [_, wall_ns, _] = spread(figures(WALL));
    let [_, cpu_ns, _] = spread(figures(CPU));
    let [.., peak] = spread(figures(mib));
    let (wall_ms, cpu_ms, each) = (wall_ns / 1e6, cpu_ns / 1e6, per_packet(wall_ns, set));
    let [wall, cpu] = [WALL, CPU].map(|figure| ratios(row, floor, figure));
    format!(" {wall_ms:.1} | {cpu_ms:.1} | {wall} | {cpu} | {each:.1} | {peak:.1} |")
}

/// Peak memory in MiB.
pub fn mib(run: &Figures) -> f64 {
    run.peak_kib as f64 / 1024.0
}

/// Nanoseconds a packet.
pub fn per_packet(wall_ns: f64, set: &BenchCapture) -> f64 {
    wall_ns / set.packets as f64
}

/// Least, median and greatest of at least one value.
pub fn spread(mut values: Vec<f64>) -> [f64; 3] {
    values.sort_by(f64::total_cmp);
    let [low, high] = [values[(values.len() - 1) / 2], values[values.len() / 2]];
    [values[0], (low + high) / 2.0, values[values.len() - 1]]
}
