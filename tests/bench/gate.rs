//! The gate: compares instructions and cache misses per packet and peak memory with `limits.json`. They do not depend on other
//! load of the machine.
//!
//! Instructions and misses are those of `qdissect` itself, as callgrind counts them, on captures of 20,000 and 40,000 packets,
//! with 13,000 servers of 200,000 and 240,000: by then, each server is known. The longer capture begins with the shorter one, so
//! the difference is the cost of the further packets without start-up. The caches are
//! simulated, and the same on every machine. The C library chooses functions such as `memcpy` by the processor, which would
//! change the counts; `GLIBC_TUNABLES` selects the plainest ones everywhere. Crates that choose by the processor, such as memchr,
//! cannot be controlled this way, but none of them is on the measured paths. Hash seeds differ from run to run, by less than a
//! tenth of a percent.

use crate::generate::{Kind, Plan};
use crate::judge::{Compiler, Figure, Limits, UPDATE, Unit};
use crate::run::MANY_SERVERS;
use crate::sets::BenchCapture;
use crate::work;
use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

/// Packets under callgrind.
const COUNTED: [u64; 2] = [20_000, 40_000];
/// The same of a capture with many servers. Before the first of them, each server was asked four times on average.
const COUNTED_OF_MANY: [u64; 2] = [200_000, 240_000];
/// Size, ways and line size of the simulated caches in bytes: those of a common core. The second level is the last one here.
const CACHES: [&str; 4] = ["--cache-sim=yes", "--I1=32768,8,64", "--D1=32768,8,64", "--LL=2097152,16,64"];
/// The figures from callgrind's counts: name, unit, and the events that are added up.
const COUNTED_EVENTS: [(&str, Unit, &[&str]); 3] = [
    ("instructions a packet", Unit::Instructions, &["Ir"]),
    ("first-level code misses a packet", Unit::CodeMisses, &["I1mr"]),
    ("last-level misses a packet", Unit::Misses, &["ILmr", "DLmr", "DLmw"]),
];
/// Packets for peak memory.
const MEMORY_PACKETS: [u64; 2] = [1_000_000, 4_000_000];
/// All processor features by which the C library for x86-64 chooses functions. Unknown names are ignored.
const PLAIN: &str = "glibc.cpu.hwcaps=-AVX,-AVX2,-AVX512F,-AVX512VL,-AVX512BW,-AVX_Fast_Unaligned_Load,-ERMS,\
                     -FSRM,-BMI1,-BMI2,-LZCNT,-MOVBE,-RTM,-SSSE3,-SSE4_1,-SSE4_2";

const SUMMARY: &[&str] = &["summary"];
const CHECK: &[&str] = &["check"];
const NDJSON: &[&str] = &["dump", "-T", "ndjson"];

/// A capture and the subcommand that is measured on it.
struct Counted {
    capture: &'static str,
    plan: Plan,
    packets: [u64; 2],
    works: &'static [&'static [&'static str]],
}

fn counted() -> [Counted; 5] {
    let query = Plan::new(Kind::Query, 0);
    let mut blocks = query;
    blocks.format.pcapng = true;
    let many = Plan { servers: MANY_SERVERS, ..query };
    let (mixed, game) = (Plan::new(Kind::Mixed, 0), Plan::new(Kind::Game, 0));
    [
        Counted { capture: "query", plan: query, packets: COUNTED, works: &[SUMMARY, CHECK, NDJSON] },
        Counted { capture: "mixed", plan: mixed, packets: COUNTED, works: &[SUMMARY] },
        Counted { capture: "game", plan: game, packets: COUNTED, works: &[SUMMARY] },
        Counted { capture: "query, pcapng", plan: blocks, packets: COUNTED, works: &[SUMMARY] },
        Counted { capture: "query, 13,000 servers", plan: many, packets: COUNTED_OF_MANY, works: &[SUMMARY] },
    ]
}

/// Measures a program and compares the figures with the limits, or replaces the limits. Captures are kept in `dir` meanwhile.
pub fn gate(program: &Path, update: bool, limits: &Path, dir: &Path) -> io::Result<()> {
    if !program.is_file() {
        let text = format!("{} is no program. Build it: cargo build --release --locked.", program.display());
        return Err(io::Error::other(text));
    }
    let compiler = compiler()?;
    let unread =
        || io::Error::other(format!("{} holds no limits. See tests/bench/judge.rs.", limits.display()));
    let mut file = Limits::parse(&fs::read_to_string(limits)?).ok_or_else(unread)?;
    let mut figures = counts(program, dir)?;
    if figures.is_empty() {
        let why = "valgrind cannot be run: instructions and cache misses are not counted.";
        if update {
            return Err(io::Error::other(format!("{why} Install it, and try again.")));
        }
        println!("{why}");
    }
    let peaks = peaks(program, dir)?;
    let [_, long] = peaks;
    let name = format!("peak KiB: query, summary, {} packets", MEMORY_PACKETS[1]);
    figures.push(Figure { name, unit: Unit::Memory, value: long });
    if update {
        file.set(&compiler, &figures);
        fs::write(limits, file.text())?;
        println!("{} has new limits for {}.", limits.display(), compiler.name());
        return Ok(());
    }
    let mut verdict = file.judge(&compiler, &figures);
    verdict.compare_growth("peak memory", peaks);
    print!("{}", verdict.text);
    match verdict.failures {
        0 => Ok(()),
        n => {
            Err(io::Error::other(format!("{n} of the figures above are too much. To accept them: {UPDATE}.")))
        }
    }
}

/// The compiler that cargo uses here.
fn compiler() -> io::Result<Compiler> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let answer = Command::new(&rustc).arg("-vV").output()?.stdout;
    let unknown = || io::Error::other(format!("{} -vV does not say what it is.", rustc.to_string_lossy()));
    Compiler::parse(&String::from_utf8_lossy(&answer)).ok_or_else(unknown)
}

/// Instructions and misses a packet; none without valgrind.
fn counts(program: &Path, dir: &Path) -> io::Result<Vec<Figure>> {
    let mut figures = Vec::new();
    let version = Command::new("valgrind").arg("--version").output();
    if !version.is_ok_and(|output| output.status.success()) {
        return Ok(figures);
    }
    for Counted { capture, plan, packets, works } in counted() {
        let [small, large] =
            packets.map(|packets| BenchCapture::new(capture, &Plan { packets, ..plan }, dir));
        let (small, large) = (small?, large?);
        for work in works {
            // Run in parallel, because other load does not change the counts.
            let [small, large] = thread::scope(|both| {
                let small = both.spawn(|| count(program, work, &small));
                let large = count(program, work, &large);
                [small.join().expect("counting does not panic"), large]
            });
            for ((what, unit, _), (small, large)) in
                COUNTED_EVENTS.into_iter().zip(small?.into_iter().zip(large?))
            {
                let value = large.saturating_sub(small) as f64 / (packets[1] - packets[0]) as f64;
                figures.push(Figure { name: format!("{what}: {capture}, {}", work.join(" ")), unit, value });
            }
        }
        small.remove()?;
        large.remove()?;
    }
    Ok(figures)
}

/// The counts of [`COUNTED_EVENTS`] for the whole process.
fn count(program: &Path, work: &[&str], set: &BenchCapture) -> io::Result<[u64; COUNTED_EVENTS.len()]> {
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]).args(CACHES);
    command.arg(program).args(work).arg("--no-config").arg(&set.path);
    command.env("GLIBC_TUNABLES", PLAIN).stdin(Stdio::null()).stdout(Stdio::null());
    let output = command.stderr(Stdio::piped()).spawn()?.wait_with_output()?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    // check ends with 1, because the captures contain damaged answers.
    parse_counts(&stderr).filter(|_| matches!(output.status.code(), Some(0 | 1))).ok_or_else(|| {
        io::Error::other(format!("callgrind counted nothing for {}: {}", work.join(" "), stderr.trim()))
    })
}

/// Parses the last lines of callgrind: the names of the events in one line, their counts in another.
fn parse_counts(stderr: &str) -> Option<[u64; COUNTED_EVENTS.len()]> {
    let words = |key| {
        let (_, words) = stderr.lines().find_map(|line| line.split_once(key))?;
        Some(words.split_whitespace())
    };
    let counts: Vec<(&str, &str)> = words("Events    :")?.zip(words("Collected :")?).collect();
    let mut sums = [0; COUNTED_EVENTS.len()];
    for (sum, (_, _, events)) in sums.iter_mut().zip(COUNTED_EVENTS) {
        for event in events {
            let (_, count) = counts.iter().find(|(name, _)| name == event)?;
            *sum += count.parse::<u64>().ok()?;
        }
    }
    Some(sums)
}

/// Peak memory of a summary in KiB.
fn peaks(program: &Path, dir: &Path) -> io::Result<[f64; 2]> {
    let mut peaks = [0.0; 2];
    for (peak, packets) in peaks.iter_mut().zip(MEMORY_PACKETS) {
        let set = BenchCapture::new("query", &Plan::new(Kind::Query, packets), dir)?;
        *peak = work::run_tool(program, "summary --no-config FILE", &set)?.peak_kib as f64;
        set.remove()?;
    }
    Ok(peaks)
}
