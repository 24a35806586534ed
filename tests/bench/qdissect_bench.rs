//! Whole-process benchmark: makes captures, measures the product beside the floor and beside other tools.

mod args;
mod capture;
mod check;
mod datagrams;
mod foreign;
mod frames;
mod generate;
mod measure;
mod product;
mod random;
mod run;
mod walk;

use args::{Arguments, wrong};
use generate::{Kind, Plan};
use std::fs::File;
use std::hint::black_box;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "\
cargo bench --bench qdissect_bench -- SUBCOMMAND
  gen KIND PACKETS FILE   make a capture; KIND is query or mixed
      [--pcapng] [--be] [--ns] [--vlan] [--snaplen BYTES] [--loss PERCENT] [--rate PACKETS_PER_SECOND]
      [--servers N] [--seed N]
  walk FILE               walk the records of a capture and nothing else, the floor
  summary FILE            summarise a capture
  verdict FILE            judge a capture, as `qdissect check` does
  ndjson FILE             write a capture as NDJSON to nowhere
  run [--packets N] [--rounds N] [--dir DIR]
                          measure all of these and other tools in turn; prints a Markdown table
  memory [--dir DIR]      peak memory at 1 M and 10 M packets; prints a Markdown table
  check                   test the generator and the walk";

fn main() -> ExitCode {
    let (mut arguments, bench) = Arguments::of_process();
    let Some(subcommand) = arguments.next() else {
        println!("{USAGE}");
        return ExitCode::SUCCESS;
    };
    let result = match subcommand.as_str() {
        "gen" => make(arguments),
        "walk" => measured(arguments, walk_file),
        "summary" => measured(arguments, product::summary),
        "verdict" => measured(arguments, product::verdict),
        "ndjson" => measured(arguments, product::ndjson),
        "run" => run(arguments),
        "memory" => memory(arguments),
        "check" => arguments.finish().and_then(|()| check::check()),
        // `cargo test` hands its name filters to every target; `cargo bench` marks its runs.
        _ if !bench => return ExitCode::SUCCESS,
        _ => Err(wrong(format!("{subcommand:?} is no subcommand.\n{USAGE}"))),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn make(mut arguments: Arguments) -> io::Result<()> {
    let pcapng = arguments.flag("--pcapng");
    let big_endian = arguments.flag("--be");
    let nanoseconds = arguments.flag("--ns");
    let vlan = arguments.flag("--vlan");
    let snap_len = arguments.option("--snaplen")?;
    let loss: Option<f64> = arguments.option("--loss")?;
    let rate = arguments.option("--rate")?;
    let servers = arguments.option("--servers")?;
    let seed = arguments.option("--seed")?;
    let kind = match arguments.word::<String>("KIND")?.as_str() {
        "query" => Kind::Query,
        "mixed" => Kind::Mixed,
        other => return Err(wrong(format!("{other:?} is no kind of capture: it is query or mixed."))),
    };
    let mut plan = Plan::new(kind, arguments.word("PACKETS")?);
    let file: PathBuf = arguments.word("FILE")?;
    arguments.finish()?;
    plan.format.pcapng = pcapng;
    plan.format.big_endian = big_endian;
    plan.format.nanoseconds = nanoseconds;
    plan.format.snap_len = snap_len.unwrap_or(plan.format.snap_len);
    plan.vlan = vlan;
    // Percent to parts of a million.
    plan.loss = loss.map_or(plan.loss, |percent| (percent * 10_000.0).round() as u32);
    plan.rate = rate.unwrap_or(plan.rate);
    plan.servers = servers.unwrap_or(plan.servers);
    plan.seed = seed.unwrap_or(plan.seed);
    if plan.rate == 0
        || !(1..=generate::MAX_SERVERS).contains(&plan.servers)
        || !(1..=262_144).contains(&plan.format.snap_len)
    {
        let ranges = "--rate is at least 1, --servers is 1 to 524288, --snaplen is 1 to 262144.";
        return Err(wrong(ranges.to_owned()));
    }
    generate::generate(File::create(file)?, &plan).map(drop)
}

fn measured(mut arguments: Arguments, work: fn(&Path) -> io::Result<u64>) -> io::Result<()> {
    let file: PathBuf = arguments.word("FILE")?;
    arguments.finish()?;
    println!("{}", measure::measure(&file, work)?);
    Ok(())
}

fn walk_file(path: &Path) -> io::Result<u64> {
    let mut captured = 0;
    let packets = walk::walk(File::open(path)?, |packet| captured += packet.len());
    black_box(captured);
    packets
}

fn run(mut arguments: Arguments) -> io::Result<()> {
    let packets = arguments.option("--packets")?.unwrap_or(1_000_000);
    let rounds = arguments.option("--rounds")?.unwrap_or(7);
    let dir = directory(&mut arguments)?;
    arguments.finish()?;
    if packets == 0 || rounds == 0 {
        return Err(wrong("--packets and --rounds are at least 1.".to_owned()));
    }
    run::run(packets, rounds, &dir)
}

fn memory(mut arguments: Arguments) -> io::Result<()> {
    let dir = directory(&mut arguments)?;
    arguments.finish()?;
    run::memory(&dir)
}

fn directory(arguments: &mut Arguments) -> io::Result<PathBuf> {
    Ok(arguments.option("--dir")?.unwrap_or_else(|| PathBuf::from("target/bench")))
}
