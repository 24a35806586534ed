//! `qdissect exchanges`: its arguments and its execution.

use super::choices::{Colour, Format, ROW_FORMATS};
use super::common_args::Common;
use super::inputs::Inputs;
use super::outcome::Done;
use super::output::Target;
use super::save::read_to_end;
use super::terminal;
use crate::pipeline::Options;
use crate::report::{ExchangeRows, Exchanges, Output, Records};
use clap::Args;
use std::io;

/// `qdissect exchanges`
#[derive(Debug, Args)]
pub struct ExchangesArgs {
    /// Output format
    #[arg(short = 'T', long, value_parser = ROW_FORMATS, default_value = "table", value_name = "FMT")]
    pub format: Format,
    /// Accepted as everywhere; these tables have no colours
    #[arg(long, value_enum, default_value_t = Colour::Auto, value_name = "WHEN")]
    pub color: Colour,
    #[command(flatten)]
    pub common: Common,
}

/// Reads the inputs and writes their exchanges as rows, as records or as a table.
pub fn exchanges(
    to: &mut Target,
    args: &ExchangesArgs,
    options: Options,
    inputs: Inputs,
) -> io::Result<Done> {
    let common = &args.common;
    let (quiet, flush) = (common.quiet, common.line_buffered || common.follow);
    match (args.format.layout(), args.format.form()) {
        (Some(layout), _) => {
            read_to_end(common, options, inputs, &mut ExchangeRows::new(to, layout, flush, quiet))
        }
        (None, Some(form)) => {
            let mut records = Records::new(Output::new(to, form, flush), false, quiet);
            read_to_end(common, options, inputs, &mut records)
        }
        (None, None) => {
            let screen = terminal::lines(Colour::Never, common);
            let many = inputs.list.len() > 1 || common.follow;
            read_to_end(common, options, inputs, &mut Exchanges::new(to, flush, quiet, many).fit(screen))
        }
    }
}
