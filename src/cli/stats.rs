//! `qdissect stats`: its arguments and its execution.

use super::choices::{Colour, Format, SECTIONS, STATS_FORMATS};
use super::common_args::Common;
use super::inputs::Inputs;
use super::outcome::Done;
use super::output::Target;
use super::save::read_all;
use super::terminal::{self, wrap};
use super::value_parsers::timeout;
use crate::pipeline::Options;
use crate::report::Output;
use crate::report::screen::Screen;
use crate::stats::{self, Section, Stats};
use clap::Args;
use std::io;
use std::num::NonZeroUsize;

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
