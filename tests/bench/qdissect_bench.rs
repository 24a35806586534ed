//! Whole-process benchmark: generates captures, measures the product, the floor and other tools, and compares the product with
//! limits.

mod args;
mod capture;
mod check;
mod datagrams;
mod foreign;
mod frames;
mod gate;
mod generate;
mod hostile;
mod judge;
mod measure;
mod product;
mod random;
mod run;
mod scale;
mod sets;
mod table;
mod walk;
mod work;

use args::{Arguments, wrong};
use generate::{Kind, Plan};
use qdissect::report::Totals;
use std::fs::File;
use std::hint::black_box;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "\
cargo bench --bench qdissect_bench -- SUBCOMMAND
  gen KIND PACKETS FILE   make a capture; KIND is query, mixed, game, clients (all spoofed) or servers (each once)
      [--pcapng] [--be] [--ns] [--vlan] [--snaplen BYTES] [--loss PERCENT] [--retries PERCENT]
      [--rate PACKETS_PER_SECOND] [--servers N] [--seed N]
  walk FILE               walk the records of a capture and nothing else, the floor
  summary FILE            summarise a capture
  verdict FILE            judge a capture, as `qdissect check` does
  ndjson FILE             write a capture as NDJSON to nowhere
  text FILE               write a line for each datagram to nowhere, as `qdissect dump` does
  exchanges FILE          write a line for each exchange to nowhere
  stats FILE              gather all statistics of a capture
  summary-2, verdict-2, ndjson-2, text-2, exchanges-2, stats-2 FILE
                          the same with a thread that reads ahead
  run [--packets N] [--rounds N] [--dir DIR] [--beside 'PROGRAM ARGUMENT… FILE']
                          measure all of these and other tools in turn; prints a Markdown table
  memory [--dir DIR]      peak memory at 1 M and 10 M packets; prints a Markdown table
  scale [--rounds N] [--dir DIR]
                          time and memory at 1 M, 10 M and 40 M packets, and of hostile captures; needs 5 GB
  gate [--update] [--limits FILE] [--program FILE] [--dir DIR]
                          instructions and peak memory of target/release/qdissect, held against tests/bench/limits.json
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
        "summary" => product(arguments, product::summary::<1>),
        "verdict" => product(arguments, product::verdict::<1>),
        "ndjson" => product(arguments, product::ndjson::<1>),
        "text" => product(arguments, product::text::<1>),
        "exchanges" => product(arguments, product::exchanges::<1>),
        "stats" => product(arguments, product::stats::<1>),
        "summary-2" => product(arguments, product::summary::<2>),
        "verdict-2" => product(arguments, product::verdict::<2>),
        "ndjson-2" => product(arguments, product::ndjson::<2>),
        "text-2" => product(arguments, product::text::<2>),
        "exchanges-2" => product(arguments, product::exchanges::<2>),
        "stats-2" => product(arguments, product::stats::<2>),
        "run" => run(arguments),
        "memory" => memory(arguments),
        "scale" => scale(arguments),
        "gate" => gate(arguments),
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
    let retries: Option<f64> = arguments.option("--retries")?;
    let rate = arguments.option("--rate")?;
    let servers = arguments.option("--servers")?;
    let seed = arguments.option("--seed")?;
    let kind = match arguments.word::<String>("KIND")?.as_str() {
        "query" => Kind::Query,
        "mixed" => Kind::Mixed,
        "game" => Kind::Game,
        "clients" => Kind::Clients,
        "servers" => Kind::Servers,
        other => {
            let kinds = "query, mixed, game, clients or servers";
            return Err(wrong(format!("{other:?} is no kind of capture: it is {kinds}.")));
        }
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
    let millionths = |percent: f64| (percent * 10_000.0).round() as u32;
    plan.loss = loss.map_or(plan.loss, millionths);
    plan.retries = retries.map_or(plan.retries, millionths);
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

/// Prints the figures of a run and the counts of what was forgotten.
fn product(mut arguments: Arguments, work: fn(&Path) -> io::Result<Totals>) -> io::Result<()> {
    let file: PathBuf = arguments.word("FILE")?;
    arguments.finish()?;
    let mut run_totals = None;
    let figures = measure::measure(&file, |path| {
        let totals = work(path)?;
        let packets = totals.packets;
        run_totals = Some(totals);
        Ok(packets)
    })?;
    let Totals { evicted, servers_refused, waiting_overflow, memory_forgotten, .. } =
        run_totals.unwrap_or_default();
    println!(
        "{figures} evicted={evicted} servers_refused={servers_refused} waiting_overflow={waiting_overflow} \
         memory_forgotten={memory_forgotten}"
    );
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
    let beside: Option<String> = arguments.option("--beside")?;
    let dir = directory(&mut arguments)?;
    arguments.finish()?;
    if packets == 0 || rounds == 0 {
        return Err(wrong("--packets and --rounds are at least 1.".to_owned()));
    }
    run::run(packets, rounds, &dir, beside.as_deref().map(work::Work::named))
}

fn memory(mut arguments: Arguments) -> io::Result<()> {
    let dir = directory(&mut arguments)?;
    arguments.finish()?;
    run::memory(&dir)
}

fn scale(mut arguments: Arguments) -> io::Result<()> {
    let rounds = arguments.option("--rounds")?.unwrap_or(3);
    let dir = directory(&mut arguments)?;
    arguments.finish()?;
    if rounds == 0 {
        return Err(wrong("--rounds is at least 1.".to_owned()));
    }
    scale::scale(rounds, &dir)
}

fn gate(mut arguments: Arguments) -> io::Result<()> {
    let update = arguments.flag("--update");
    let limits = arguments.option("--limits")?.unwrap_or_else(|| PathBuf::from("tests/bench/limits.json"));
    let program = arguments.option("--program")?.unwrap_or_else(|| PathBuf::from("target/release/qdissect"));
    let dir = directory(&mut arguments)?.join("gate");
    arguments.finish()?;
    gate::gate(&program, update, &limits, &dir)
}

fn directory(arguments: &mut Arguments) -> io::Result<PathBuf> {
    Ok(arguments.option("--dir")?.unwrap_or_else(|| PathBuf::from("target/bench")))
}
