//! The measured runs of the product.

use qdissect::capture::Source;
use qdissect::check::Policy;
use qdissect::pipeline::{Options, Pipeline, Stopped};
use qdissect::report::screen::{self, Screen};
use qdissect::report::summary::Summary;
use qdissect::report::{Exchanges, Form, Lister, Output, Records, Report, Totals};
use qdissect::stats::{self, Section, Stats};
use qdissect::verdict::{self, Check};
use std::io;
use std::path::Path;

/// The screen that tables are written for.
fn wide() -> Screen {
    Screen { width: 100, colour: false, ..Screen::default() }
}

/// Runs the whole summary on the file, including its tables; returns the totals.
pub fn summary<const THREADS: usize>(path: &Path) -> io::Result<Totals> {
    let (summary, totals) = read::<THREADS, _>(path, Summary::default())?;
    screen::write(&mut io::sink(), wide(), &summary, &totals)?;
    Ok(totals)
}

/// Judges the file and prints the verdict to nowhere.
pub fn verdict<const THREADS: usize>(path: &Path) -> io::Result<Totals> {
    let (check, totals) = read::<THREADS, _>(path, Check::new(Policy::default(), |_, _| Ok(())))?;
    let verdict = check.verdict(totals)?;
    verdict::table(&mut io::sink(), &verdict, Screen { width: 100, ..Screen::default() }, false)?;
    Ok(verdict.totals)
}

/// Writes every record of the file as NDJSON to nowhere.
pub fn ndjson<const THREADS: usize>(path: &Path) -> io::Result<Totals> {
    let (_, totals) =
        read::<THREADS, _>(path, Records::new(Output::new(io::sink(), Form::Ndjson, false), true, false))?;
    Ok(totals)
}

/// Writes a line for every datagram to nowhere.
pub fn text<const THREADS: usize>(path: &Path) -> io::Result<Totals> {
    let (_, totals) = read::<THREADS, _>(path, Lister::new(io::sink(), false, false, false))?;
    Ok(totals)
}

/// Writes a line for every exchange to nowhere.
pub fn exchanges<const THREADS: usize>(path: &Path) -> io::Result<Totals> {
    let (_, totals) = read::<THREADS, _>(path, Exchanges::new(io::sink(), false, false, false))?;
    Ok(totals)
}

/// Gathers all statistics of the file and prints them to nowhere.
pub fn stats<const THREADS: usize>(path: &Path) -> io::Result<Totals> {
    // As in the subcommand: frames are counted by what their datagrams are.
    let options = Options { all: true, ..Options::default() };
    let (stats, totals) = read_with::<THREADS, _>(path, options, Stats::new(None))?;
    stats::write(&mut io::sink(), wide(), &stats, &totals, Section::ALL)?;
    Ok(totals)
}

fn read<const THREADS: usize, R: Report>(path: &Path, report: R) -> io::Result<(R, Totals)> {
    read_with::<THREADS, _>(path, Options::default(), report)
}

fn read_with<const THREADS: usize, R: Report>(
    path: &Path,
    options: Options,
    mut report: R,
) -> io::Result<(R, Totals)> {
    let mut source = Source::open(path).map_err(io::Error::other)?;
    let mut pipeline = Pipeline::new(options, &mut report);
    let name = path.to_string_lossy();
    let done = match THREADS {
        1 => pipeline.read(&mut source, &name),
        _ => pipeline.read_ahead(&mut source, &name),
    };
    done.map_err(|stopped| match stopped {
        Stopped::Capture(e) => io::Error::other(e),
        Stopped::Report(e) => e,
    })?;
    let totals = pipeline.finish(true)?;
    Ok((report, totals))
}
