//! `qdissect summary`: its arguments and its execution.

use super::choices::{Colour, Format, ROW_FORMATS, TopArgs};
use super::common_args::Common;
use super::inputs::Inputs;
use super::outcome::Done;
use super::output::Target;
use super::save::read_all;
use super::terminal;
use crate::pipeline::Options;
use crate::report::screen::{self, Screen};
use crate::report::summary::{self, Summary};
use crate::report::{Layout, Output, Totals, server_rows};
use clap::Args;
use std::io;

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
        Format::Rows(style) => server_rows::rows(to, layout.unwrap_or(Layout::of(style)), summary),
        Format::Text | Format::Tree => {
            screen::write(&mut terminal::wrap(to, common), screen, summary, totals)
        }
    }
}
