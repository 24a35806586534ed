//! `qdissect summary`, `stats` and `report`, which print at the end: their arguments and their execution.

use super::accepted::Accepted;
use super::choices::{Colour, Format, ROW_FORMATS, SECTIONS, STATS_FORMATS, TopArgs};
use super::common_args::Common;
use super::config::Config;
use super::diagnostics::{Done, refuse};
use super::inputs::Inputs;
use super::output::Target;
use super::save::read_all;
use super::terminal::{self, wrap};
use super::value_parsers::timeout;
use crate::page::{self, Page};
use crate::pipeline::Options;
use crate::report::screen::{self, Screen};
use crate::report::summary::{self, Summary};
use crate::report::{Layout, Output, Totals, server_rows};
use crate::stats::{self, Section, Stats};
use crate::verdict::{Check, Entry};
use clap::Args;
use std::io::{self, BufWriter, Write};
use std::num::NonZeroUsize;

/// `qdissect summary`
#[derive(Debug, Args)]
pub struct SummaryArgs {
    /// Output format
    #[arg(short = 'T', long, value_parser = ROW_FORMATS, default_value = "table", value_name = "FMT")]
    pub format: Format,
    #[command(flatten)]
    pub rows: TopArgs,
    /// When to use colours
    #[arg(long, value_enum, default_value_t = Colour::Auto, value_name = "WHEN")]
    pub color: Colour,
    #[command(flatten)]
    pub common: Common,
}

/// Reads the inputs and writes the summary.
pub fn summarise(to: &mut Target, args: &SummaryArgs, options: Options, inputs: Inputs) -> io::Result<Done> {
    let (mut summary, common) = (Summary::default(), &args.common);
    let (totals, code) = read_all(common, options, inputs, &mut summary)?;
    let screen = args.rows.of(terminal::screen(args.color, common));
    write_summary(to, (args.format, None), screen, common, &summary, &totals)?;
    Ok((code, totals.files))
}

/// Writes a summary as records, as rows, in a `layout` if the user chose one, or as a screen.
pub fn write_summary(
    to: &mut Target,
    (format, layout): (Format, Option<Layout>),
    screen: Screen,
    common: &Common,
    summary: &Summary,
    totals: &Totals,
) -> io::Result<()> {
    match format {
        Format::Records(form) => summary::records(&mut Output::new(to, form, false), summary, totals),
        _ if totals.files == 0 => Ok(()), // nothing was read, and that has been reported
        Format::Rows(style) => {
            server_rows(to, layout.unwrap_or(Layout::of(style)), summary.captures.only(), summary.servers())
        }
        Format::Text | Format::Tree => {
            screen::write(&mut terminal::wrap(to, common), screen, summary, totals)
        }
    }
}

/// `qdissect stats`
#[derive(Debug, Args)]
pub struct StatsArgs {
    /// Output format
    #[arg(short = 'T', long, value_parser = STATS_FORMATS, default_value = "table", value_name = "FMT")]
    pub format: Format,
    /// Only these sections, separated by commas
    #[arg(long, value_parser = SECTIONS, value_name = "SECTION,...", value_delimiter = ',')]
    pub only: Vec<Section>,
    /// Length of an interval of the series, e.g. 500ms, 1m; chosen for some 20 to 60 rows unless given
    #[arg(long, value_name = "DUR", value_parser = timeout)]
    pub interval: Option<i64>,
    /// Only the first N rows of each table [default: 20 on a terminal, 200 elsewhere]
    #[arg(long, value_name = "N")]
    pub top: Option<NonZeroUsize>,
    /// When to use colours
    #[arg(long, value_enum, default_value_t = Colour::Auto, value_name = "WHEN")]
    pub color: Colour,
    #[command(flatten)]
    pub common: Common,
}

impl StatsArgs {
    /// The requested sections, each once, in the order in which they are shown.
    fn sections(&self) -> Vec<Section> {
        Section::ALL.iter().copied().filter(|s| self.only.is_empty() || self.only.contains(s)).collect()
    }

    /// What is wrong with the arguments, if anything.
    pub fn contradiction(&self) -> Option<&'static str> {
        (matches!(self.format, Format::Rows(_)) && self.sections().len() != 1).then_some(
            "CSV holds one table: name one section, for example --only losses. There are times, endpoints, \
             hierarchy, series, amplification and losses.",
        )
    }
}

/// Reads the inputs and writes the statistics.
pub fn stats(to: &mut Target, args: &StatsArgs, options: Options, inputs: Inputs) -> io::Result<Done> {
    let sections = args.sections();
    let mut stats = Stats::new(args.interval);
    let (totals, code) = read_all(&args.common, options, inputs, &mut stats)?;
    match (args.format, sections.as_slice()) {
        (Format::Records(form), sections) => {
            stats::records(&mut Output::new(to, form, false), &stats, &totals, sections)?;
        }
        _ if totals.files == 0 => {} // nothing was read, and that has been reported
        (Format::Rows(_), [section]) => stats::csv(to, &stats, *section)?,
        (_, sections) => {
            let screen = terminal::screen(args.color, &args.common);
            let screen = Screen { top: args.top.map(NonZeroUsize::get).or(screen.top), ..screen };
            stats::write(&mut wrap(to, &args.common), screen, &stats, &totals, sections)?;
        }
    }
    Ok((code, totals.files))
}

/// `qdissect report`
#[derive(Debug, Args)]
pub struct ReportArgs {
    #[command(flatten)]
    pub common: Common,
}

impl ReportArgs {
    /// What is wrong with the arguments, if anything.
    pub fn contradiction(&self) -> Option<&'static str> {
        terminal::is_result_on_terminal(&self.common).then_some(
            "The report is a page of HTML: name a file for it with --output, for example --output report.html, or \
             see it with `qdissect view`.",
        )
    }
}

/// Reads the inputs and writes the page.
pub fn report(
    to: &mut Target,
    args: &ReportArgs,
    config: &Config,
    options: Options,
    inputs: Inputs,
) -> io::Result<Done> {
    let mut accepted = match Accepted::open(config, None, false) {
        Ok(accepted) => accepted,
        Err(e) => return Ok(refuse(&e)),
    };
    let judge = |entry: &mut Entry, _: &str| {
        accepted.excuse(entry);
        Ok(())
    };
    let mut page = Page::new(Check::new(options.policy.clone(), judge), &options);
    let (totals, code) = read_all(&args.common, options, inputs, &mut page)?;
    let (verdict, gathered) = page.verdict(totals)?;
    let files = verdict.totals.files;
    if files > 0 {
        let mut out = BufWriter::new(to);
        page::write(&mut out, &gathered, &verdict)?;
        out.flush()?;
    }
    Ok((code, files))
}
