//! Measures child processes in turn, so that a busy machine slows all rows alike, and prints tables.

use crate::generate::{Kind, Plan, generate};
use crate::measure::{self, Figures};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Part of the file names: to be raised when the generator makes other bytes of the same plan.
const VINTAGE: u32 = 3;
/// Packets for tools that take seconds for them.
const SMALL: u64 = 200_000;
const MEMORY_SIZES: [u64; 2] = [1_000_000, 10_000_000];
/// How often the memory of another tool is looked at.
const LOOK: Duration = Duration::from_millis(10);
const MIB: f64 = 1024.0 * 1024.0;

const FLOOR: Work = Work::Own("walk");
const SUMMARY: Work = Work::Own("summary");
const VERDICT: Work = Work::Own("verdict");
const NDJSON: Work = Work::Own("ndjson");
/// Selects and copies, without dissection.
const TCPDUMP: Work = Work::Tool("tcpdump", &["-nr", "FILE", "udp", "-w", "/dev/null"]);
const CAPINFOS: Work = Work::Tool("capinfos", &["-c", "FILE"]);
/// The hierarchy of protocols makes tshark dissect; with `-q` alone it would not.
const TSHARK: Work = Work::Tool("tshark", &["-q", "-z", "io,phs", "-r", "FILE"]);

#[derive(Clone, Copy)]
enum Work {
    /// A subcommand of this program.
    Own(&'static str),
    /// Another program and its arguments.
    Tool(&'static str, &'static [&'static str]),
}

struct Set {
    name: &'static str,
    path: PathBuf,
    packets: u64,
    bytes: u64,
}

struct Row {
    /// Which of the sets.
    set: usize,
    work: Work,
    /// One per round, until one fails.
    runs: Vec<Figures>,
    failure: Option<String>,
}

/// Measures `rounds` rounds on captures of `packets` packets kept in `dir`.
pub fn run(packets: u64, rounds: usize, dir: &Path) -> io::Result<()> {
    let mut sets =
        vec![Set::new("query", Kind::Query, packets, dir)?, Set::new("mixed", Kind::Mixed, packets, dir)?];
    let mut plan = vec![(0, FLOOR), (0, SUMMARY), (0, VERDICT), (0, NDJSON), (0, TCPDUMP), (0, CAPINFOS)];
    plan.extend([(1, FLOOR), (1, SUMMARY), (1, TCPDUMP), (1, CAPINFOS)]);
    if TSHARK.is_installed() {
        sets.push(Set::new("query, small", Kind::Query, SMALL, dir)?);
        plan.extend([(2, FLOOR), (2, SUMMARY), (2, NDJSON), (2, TSHARK)]);
    }
    plan.retain(|(_, work)| work.is_installed());
    let mut rows: Vec<Row> = plan.into_iter().map(|(set, work)| Row::new(set, work)).collect();
    for round in 1..=rounds {
        eprintln!("round {round} of {rounds}");
        for row in &mut rows {
            row.measure(&sets[row.set]);
        }
    }
    report(&sets, &rows, rounds);
    Ok(())
}

/// Prints the peak memory of the product at growing sizes, with captures kept in `dir`.
pub fn memory(dir: &Path) -> io::Result<()> {
    println!("| packets | file MiB | what | peak MiB | ns/packet |\n|--:|--:|---|--:|--:|");
    for packets in MEMORY_SIZES {
        let set = Set::new("query", Kind::Query, packets, dir)?;
        for work in [FLOOR, SUMMARY, VERDICT, NDJSON] {
            let mut row = Row::new(0, work);
            row.measure(&set);
            let file = set.bytes as f64 / MIB;
            print!("| {packets} | {file:.0} | {} |", work.name());
            match row.runs.first() {
                Some(run) => println!(" {:.1} | {:.1} |", mib(run), per_packet(run.wall_ns as f64, &set)),
                None => println!(" {} | |", row.failure.unwrap_or_default()),
            }
        }
    }
    Ok(())
}

impl Set {
    /// Makes the capture unless it is there, and reads it once so that it is in the page cache.
    fn new(name: &'static str, kind: Kind, packets: u64, dir: &Path) -> io::Result<Self> {
        let base = if kind == Kind::Query { "query" } else { "mixed" };
        let path = dir.join(format!("{base}-v{VINTAGE}-{packets}.pcap"));
        if !path.exists() {
            eprintln!("making {}", path.display());
            fs::create_dir_all(dir)?;
            // Under another name until it is whole.
            let part = path.with_extension("part");
            generate(File::create(&part)?, &Plan::new(kind, packets))?;
            fs::rename(part, &path)?;
        }
        let bytes = io::copy(&mut File::open(&path)?, &mut io::sink())?;
        Ok(Self { name, path, packets, bytes })
    }
}

impl Row {
    fn new(set: usize, work: Work) -> Self {
        Self { set, work, runs: Vec::new(), failure: None }
    }

    fn measure(&mut self, set: &Set) {
        if self.failure.is_some() {
            return;
        }
        let run = match self.work {
            Work::Own(subcommand) => own(subcommand, set),
            Work::Tool(tool, arguments) => other(tool, arguments, set),
        };
        match run {
            Ok(figures) => self.runs.push(figures),
            Err(error) => self.failure = Some(error.to_string().replace(['\n', '|'], " ")),
        }
    }
}

impl Work {
    fn name(self) -> &'static str {
        match self {
            Self::Own(name) | Self::Tool(name, _) => name,
        }
    }

    fn is_installed(self) -> bool {
        let Self::Tool(tool, _) = self else { return true };
        let output = Command::new(tool).arg("--version").output();
        output.is_ok_and(|output| output.status.success())
    }
}

/// This program as a child, which measures itself, without its start-up.
fn own(subcommand: &str, set: &Set) -> io::Result<Figures> {
    let output = Command::new(std::env::current_exe()?).arg(subcommand).arg(&set.path).output()?;
    if !output.status.success() {
        return Err(io::Error::other(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
    }
    let figures: Figures = String::from_utf8_lossy(&output.stdout).parse()?;
    if figures.packets != set.packets {
        return Err(io::Error::other(format!("{} packets instead of {}", figures.packets, set.packets)));
    }
    Ok(figures)
}

/// Another program, measured from outside, start-up included.
fn other(tool: &str, arguments: &[&str], set: &Set) -> io::Result<Figures> {
    let mut command = Command::new(tool);
    for &argument in arguments {
        if argument == "FILE" {
            command.arg(&set.path)
        } else {
            command.arg(argument)
        };
    }
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let cpu = measure::children();
    let start = Instant::now();
    let mut child = command.spawn()?;
    let process = child.id().to_string();
    let ended = AtomicBool::new(false);
    let (status, wall_ns, peak_kib) = std::thread::scope(|scope| {
        let watch = scope.spawn(|| watch(&process, &ended));
        let status = child.wait();
        let wall_ns = start.elapsed().as_nanos() as u64;
        ended.store(true, Ordering::Relaxed);
        (status, wall_ns, watch.join().unwrap_or(0))
    });
    let status = status?;
    if !status.success() {
        return Err(io::Error::other(format!("{tool} ended with {status}")));
    }
    let cpu_ns = measure::children() - cpu;
    Ok(Figures { packets: set.packets, bytes: set.bytes, wall_ns, cpu_ns, peak_kib })
}

/// Largest resident set of another process, in KiB, looked at now and then until it has ended.
fn watch(process: &str, ended: &AtomicBool) -> u64 {
    let mut peak = 0;
    while !ended.load(Ordering::Relaxed) {
        peak = peak.max(measure::peak(process));
        std::thread::sleep(LOOK);
    }
    peak
}

fn report(sets: &[Set], rows: &[Row], rounds: usize) {
    println!("| capture | what | wall ms | cpu ms | × walk, wall | × walk, cpu | ns/packet | peak MiB |");
    println!("|---|---|--:|--:|--:|--:|--:|--:|");
    for row in rows {
        let set = &sets[row.set];
        print!("| {} | {} |", set.name, row.work.name());
        let floor = rows.iter().find(|other| {
            other.set == row.set && other.work.name() == FLOOR.name() && other.failure.is_none()
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

fn mib(run: &Figures) -> f64 {
    run.peak_kib as f64 / 1024.0
}

fn per_packet(wall_ns: f64, set: &Set) -> f64 {
    wall_ns / set.packets as f64
}

/// Least, median and greatest of at least one value.
fn spread(mut values: Vec<f64>) -> [f64; 3] {
    values.sort_by(f64::total_cmp);
    let [low, high] = [values[(values.len() - 1) / 2], values[values.len() / 2]];
    [values[0], (low + high) / 2.0, values[values.len() - 1]]
}
