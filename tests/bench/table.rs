//! The table of a run: medians, and ratios to the walk of the same round.

use crate::measure::Figures;
use crate::run::Row;
use crate::sets::Set;
use crate::work::Work;

/// Prints the rows in Markdown; each set's ratios are to its walk.
pub fn report(sets: &[Set], rows: &[Row], rounds: usize) {
    println!("| capture | what | wall ms | cpu ms | × walk, wall | × walk, cpu | ns/packet | peak MiB |");
    println!("|---|---|--:|--:|--:|--:|--:|--:|");
    for row in rows {
        let set = &sets[row.set];
        print!("| {} | {} |", set.name, row.work.title());
        let floor = rows.iter().find(|other| {
            other.set == row.set && other.work.name() == Work::FLOOR.name() && other.failure.is_none()
        });
        match (&row.failure, floor) {
            (None, Some(floor)) => println!("{}", cells(set, row, floor)),
            (failure, _) => println!(" {} | | | | | |", failure.as_deref().unwrap_or("no walk")),
        }
    }
    println!(
        "\n{rounds} rounds, all rows in turn; medians. In the columns × walk, each run is divided by the walk of"
    );
    println!(
        "its own round: median (least to greatest). Own rows leave start-up out; rows of other tools are whole"
    );
    println!("processes, their processor time in steps of 10 ms.\n");
    for Set { name, packets, bytes, .. } in sets {
        let each = *bytes as f64 / *packets as f64;
        println!("- {name}: {packets} packets, {bytes} bytes, {each:.1} bytes per packet");
    }
}

fn cells(set: &Set, row: &Row, floor: &Row) -> String {
    let figures = |of: fn(&Figures) -> f64| row.runs.iter().map(of).collect();
    let wall = |run: &Figures| run.wall_ns as f64;
    let cpu = |run: &Figures| run.cpu_ns as f64;
    let ratios = |of: fn(&Figures) -> f64| {
        let pairs = row.runs.iter().zip(&floor.runs);
        let [least, middle, greatest] = spread(pairs.map(|(run, floor)| of(run) / of(floor)).collect());
        format!("{middle:.2} ({least:.2} to {greatest:.2})")
    };
    let [_, wall_ns, _] = spread(figures(wall));
    let [_, cpu_ns, _] = spread(figures(cpu));
    let [.., peak] = spread(figures(mib));
    let (wall_ms, cpu_ms, each) = (wall_ns / 1e6, cpu_ns / 1e6, per_packet(wall_ns, set));
    format!(" {wall_ms:.1} | {cpu_ms:.1} | {} | {} | {each:.1} | {peak:.1} |", ratios(wall), ratios(cpu))
}

/// Peak memory in MiB.
pub fn mib(run: &Figures) -> f64 {
    run.peak_kib as f64 / 1024.0
}

/// Nanoseconds a packet.
pub fn per_packet(wall_ns: f64, set: &Set) -> f64 {
    wall_ns / set.packets as f64
}

/// Least, median and greatest of at least one value.
pub fn spread(mut values: Vec<f64>) -> [f64; 3] {
    values.sort_by(f64::total_cmp);
    let [low, high] = [values[(values.len() - 1) / 2], values[values.len() / 2]];
    [values[0], (low + high) / 2.0, values[values.len() - 1]]
}
