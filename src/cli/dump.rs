//! `qdissect dump` and `exchanges`, which print while they read: their arguments and their execution.

use super::choices::{Colour, DUMP_FORMATS, Format, ROW_FORMATS};
use super::columns::{self, ColumnArgs};
use super::common_args::Common;
use super::detail::DetailArgs;
use super::diagnostics::{Done, refuse};
use super::job::{Job, ReadsCaptures};
use super::output::Target;
use super::save::read_list;
use super::terminal;
use crate::filter::Columns;
use crate::report::{ExchangeRows, Exchanges, Layout, Output, Records, Report};
use clap::Args;
use std::io;

/// `qdissect dump`
#[derive(Debug, Args)]
pub struct DumpArgs {
    /// Output format
    #[arg(short = 'T', long, value_parser = DUMP_FORMATS, default_value = "text", value_name = "FMT")]
    pub format: Format,
    #[command(flatten)]
    pub columns: ColumnArgs,
    /// Also the datagrams that no protocol claims
    #[arg(long)]
    pub all: bool,
    #[command(flatten)]
    pub detail: DetailArgs,
    #[command(flatten)]
    pub common: Common,
}

impl DumpArgs {
    /// The arguments with the values that options have if they are not given.
    pub fn of(common: Common, format: Format) -> DumpArgs {
        let (columns, detail) = (ColumnArgs::default(), DetailArgs::default());
        DumpArgs { format, columns, all: false, detail, common }
    }
}

impl ReadsCaptures for DumpArgs {
    fn common(&self) -> &Common {
        &self.common
    }

    fn common_mut(&mut self) -> &mut Common {
        &mut self.common
    }

    fn all(&self) -> bool {
        self.all
    }

    fn prints_meanwhile(&self) -> bool {
        true
    }

    fn columns(&self) -> Result<Option<(Columns, Layout)>, String> {
        self.columns.columns_and_layout(self.format)
    }

    /// Writes packets: in columns if the user has chosen some, or as [`DetailArgs::report`] does.
    fn writes_ndjson(&self) -> bool {
        self.format.is_ndjson()
    }

    fn run(&self, to: &mut Target, Job { columns, options, inputs, .. }: Job) -> io::Result<Done> {
        if let Some(wrong) = self.detail.format_conflict(self.format) {
            return Ok(refuse(&wrong));
        }
        let common = &self.common;
        if let Some(columns) = columns {
            let read = |rows: &mut dyn Report| read_list(common, options, inputs, rows);
            return columns::write(to, columns, common, common.flushes(), read);
        }
        let many_files = inputs.list.len() > 1 || common.follow;
        let mut report =
            self.detail.report(to, self.format, common, &options, [common.flushes(), many_files]);
        read_list(common, options, inputs, &mut *report)
    }
}

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

impl ReadsCaptures for ExchangesArgs {
    fn common(&self) -> &Common {
        &self.common
    }

    fn common_mut(&mut self) -> &mut Common {
        &mut self.common
    }

    fn prints_meanwhile(&self) -> bool {
        true
    }

    /// Writes exchanges as rows, as records or as a table.
    fn writes_ndjson(&self) -> bool {
        self.format.is_ndjson()
    }

    fn run(&self, to: &mut Target, Job { options, inputs, .. }: Job) -> io::Result<Done> {
        let common = &self.common;
        let (quiet, flush) = (common.quiet, common.flushes());
        match self.format {
            Format::Rows(style) => {
                let layout = Layout::of(style);
                read_list(common, options, inputs, &mut ExchangeRows::new(to, layout, flush, quiet))
            }
            Format::Records(form) => {
                let mut records = Records::new(Output::new(to, form, flush), false, quiet);
                read_list(common, options, inputs, &mut records)
            }
            Format::Text | Format::Tree | Format::Metrics => {
                let screen = terminal::fitted_screen(Colour::Never, common);
                let many_files = inputs.list.len() > 1 || common.follow;
                let mut exchanges = Exchanges::new(to, flush, quiet, many_files).fit(screen);
                read_list(common, options, inputs, &mut exchanges)
            }
        }
    }
}
