//! `qdissect report`: its arguments and its execution.

use super::accepted::Accepted;
use super::common_args::Common;
use super::config::Config;
use super::inputs::Inputs;
use super::outcome::{Done, refuse};
use super::output::Target;
use super::save::read_all;
use super::terminal;
use crate::page::{self, Page};
use crate::pipeline::Options;
use crate::verdict::{Check, Entry};
use clap::Args;
use std::io::{self, BufWriter, Write};

/// `qdissect report`
#[derive(Debug, Args)]
pub struct ReportArgs {
    #[command(flatten)]
    pub common: Common,
}

impl ReportArgs {
    /// What is wrong with the arguments, if anything.
    pub fn contradiction(&self) -> Option<&'static str> {
        terminal::is_result_shown(&self.common).then_some(
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
