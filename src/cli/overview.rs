//! `qdissect summary`, `stats` and `report`, which print at the end: their arguments and their execution.

use super::accepted::Accepted;
use super::choices::{Colour, Format, SECTIONS, STATS_FORMATS, SUMMARY_FORMATS, TopArgs, positive};
use super::common_args::Common;
use super::diagnostics::{Done, refuse};
use super::job::{Job, ReadsCaptures};
use super::output::Target;
use super::save::read_all;
use super::terminal::{self, wrap};
use super::value_parsers::{prefix, timeout};
use crate::filter::Columns;
use crate::page::{self, Page};
use crate::report::metrics::{Metrics, Syntax};
use crate::report::screen::{self, Screen};
use crate::report::summary::{self, Summary};
use crate::report::{Layout, Output, Totals, server_rows};
use crate::stats::{self, Prefix, Section, Stats};
use crate::verdict::{Check, Entry};
use clap::Args;
use std::io::{self, BufWriter, Write};
use std::num::NonZeroUsize;

/// `qdissect summary`
#[derive(Debug, Args)]
pub struct SummaryArgs {
    /// Output format
    #[arg(short = 'T', long, value_parser = SUMMARY_FORMATS, default_value = "table", value_name = "FMT")]
    pub format: Format,
    #[command(flatten)]
    pub rows: TopArgs,
    /// When to use colours
    #[arg(long, value_enum, default_value_t = Colour::Auto, value_name = "WHEN")]
    pub color: Colour,
    #[command(flatten)]
    pub common: Common,
}

impl ReadsCaptures for SummaryArgs {
    fn common(&self) -> &Common {
        &self.common
    }

    fn common_mut(&mut self) -> &mut Common {
        &mut self.common
    }

    fn writes_ndjson(&self) -> bool {
        self.format.is_ndjson()
    }

    fn run(&self, to: &mut Target, Job { options, inputs, .. }: Job) -> io::Result<Done> {
        let common = &self.common;
        if self.format == Format::Metrics {
            let mut metrics = Metrics::default();
            let (totals, code) = read_all(common, options, inputs, &mut metrics)?;
            // Where nothing was read, that has been reported.
            if totals.files > 0 {
                let exposition = metrics.exposition().completed(!totals.failed());
                to.write_all(exposition.text(Syntax::Both).as_bytes())?;
            }
            return Ok((code, totals.files));
        }
        let mut summary = Summary::default();
        let (totals, code) = read_all(common, options, inputs, &mut summary)?;
        let screen = self.rows.of(terminal::screen(self.color, common));
        write_summary(to, (self.format, None), screen, common, &summary, &totals)?;
        Ok((code, totals.files))
    }
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
        Format::Text | Format::Tree | Format::Metrics => {
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
    /// Of `clients`: networks instead of addresses, by the lengths of their prefixes of IPv4 and IPv6, e.g. 24,56
    #[arg(long, value_name = "N,N", value_parser = prefix)]
    pub prefix: Option<Prefix>,
    /// Length of an interval of the series, e.g. 500ms, 1m; chosen for some 20 to 60 rows unless given
    #[arg(long, value_name = "DUR", value_parser = timeout)]
    pub interval: Option<i64>,
    /// Only the first N rows of each table [default: 20 on a terminal, 200 elsewhere]
    #[arg(long, value_name = "N", value_parser = positive, allow_negative_numbers = true)]
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
        let by_default = |s: &Section| self.only.is_empty() && *s != Section::Clients;
        Section::ALL.iter().copied().filter(|s| by_default(s) || self.only.contains(s)).collect()
    }
}

impl ReadsCaptures for StatsArgs {
    fn common(&self) -> &Common {
        &self.common
    }

    fn common_mut(&mut self) -> &mut Common {
        &mut self.common
    }

    /// Statistics count every frame, also those with unclaimed datagrams.
    fn all(&self) -> bool {
        true
    }

    fn columns(&self) -> Result<Option<(Columns, Layout)>, String> {
        if matches!(self.format, Format::Rows(_)) && self.sections().len() != 1 {
            return Err("CSV holds one table: name one section, for example --only losses. There are times, endpoints, \
                        hierarchy, series, amplification, losses, listings and clients."
                .to_owned());
        }
        if self.prefix.is_some() && !self.sections().contains(&Section::Clients) {
            return Err("--prefix is about the table of clients: name it with --only clients.".to_owned());
        }
        Ok(None)
    }

    fn writes_ndjson(&self) -> bool {
        self.format.is_ndjson()
    }

    fn run(&self, to: &mut Target, Job { options, inputs, .. }: Job) -> io::Result<Done> {
        let sections = self.sections();
        let mut stats = Stats::new(self.interval);
        if sections.contains(&Section::Clients) {
            stats = stats.with_clients(self.prefix.unwrap_or(Prefix::NONE));
        }
        let (totals, code) = read_all(&self.common, options, inputs, &mut stats)?;
        match (self.format, sections.as_slice()) {
            (Format::Records(form), sections) => {
                stats::records(&mut Output::new(to, form, false), &stats, &totals, sections)?;
            }
            _ if totals.files == 0 => {} // nothing was read, and that has been reported
            (Format::Rows(_), [section]) => stats::csv(to, &stats, *section)?,
            (_, sections) => {
                let screen = terminal::screen(self.color, &self.common);
                let screen = Screen { top: self.top.map(NonZeroUsize::get).or(screen.top), ..screen };
                stats::write(&mut wrap(to, &self.common), screen, &stats, &totals, sections)?;
            }
        }
        Ok((code, totals.files))
    }
}

/// `qdissect report`
#[derive(Debug, Args)]
pub struct ReportArgs {
    #[command(flatten)]
    pub common: Common,
}

impl ReadsCaptures for ReportArgs {
    fn common(&self) -> &Common {
        &self.common
    }

    fn common_mut(&mut self) -> &mut Common {
        &mut self.common
    }

    fn columns(&self) -> Result<Option<(Columns, Layout)>, String> {
        if terminal::is_result_on_terminal(&self.common) {
            return Err(
                "The report is a page of HTML: name a file for it with --output, for example --output \
                        report.html, or see it with `qdissect view`."
                    .to_owned(),
            );
        }
        Ok(None)
    }

    fn run(&self, to: &mut Target, Job { config, options, inputs, .. }: Job) -> io::Result<Done> {
        let mut accepted = match Accepted::open(&config, None, false) {
            Ok(accepted) => accepted,
            Err(e) => return Ok(refuse(&e)),
        };
        let judge = |entry: &mut Entry, _: &str| {
            accepted.excuse(entry);
            Ok(())
        };
        let mut page = Page::new(Check::new(options.policy.clone(), judge), &options);
        let (totals, code) = read_all(&self.common, options, inputs, &mut page)?;
        let (verdict, gathered) = page.verdict(totals)?;
        let files = verdict.totals.files;
        if files > 0 {
            let mut out = BufWriter::new(to);
            page::write(&mut out, &gathered, &verdict)?;
            out.flush()?;
        }
        Ok((code, files))
    }
}
