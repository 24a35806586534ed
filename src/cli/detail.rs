//! `qdissect dump` with details: what asks for them, and how they are run.

use super::args::{Colour, DumpArgs, DumpFormat, protocol};
use super::inputs::Inputs;
use super::output::Target;
use super::run::{Done, FAILED, how, read_all};
use super::say;
use clap::Args;
use qdissect::exchange::Windows;
use qdissect::pipeline::Options;
use qdissect::report::{Detail, Details, Explain, Shown};
use std::io;

/// What `dump` tells of each packet beyond its line.
#[derive(Debug, Args)]
pub struct DetailArgs {
    /// The tree of layers and fields of each packet, as -T tree
    #[arg(short = 'V')]
    pub tree: bool,
    /// As -V, but with the details of these alone: frame, eth, ip, udp, or protocols by name
    #[arg(short = 'O', value_name = "PROTO,...", value_delimiter = ',', value_parser = layer)]
    pub only: Vec<Shown>,
    /// The payload of each packet as hex and text, what is wrong in it marked
    #[arg(short = 'x')]
    pub hex: bool,
    /// Why each datagram was classified so, and what happened in each exchange
    #[arg(long)]
    pub explain: bool,
    /// When to use colours in details
    #[arg(long, value_enum, default_value_t = Colour::Auto, value_name = "WHEN")]
    pub color: Colour,
}

impl DetailArgs {
    /// The option that asks for more than a line, if there is one.
    pub fn asked(&self) -> Option<&'static str> {
        let Self { tree, only, hex, explain, .. } = self;
        let given = [(*tree, "-V"), (!only.is_empty(), "-O"), (*hex, "-x"), (*explain, "--explain")];
        given.iter().find(|(given, _)| *given).map(|(_, name)| *name)
    }
}

impl DumpArgs {
    /// Whether more is to be told of each packet than fits on a line.
    pub fn detailed(&self) -> bool {
        self.format == DumpFormat::Tree || self.detail.asked().is_some()
    }
}

fn layer(text: &str) -> Result<Shown, String> {
    Shown::by_name(text).ok_or_else(|| {
        let wrong = protocol(text).err().unwrap_or_default();
        format!("{} Also frame, eth, ip, udp.", wrong.trim_end())
    })
}

/// Runs it.
pub fn detail(to: &mut Target, args: &DumpArgs, options: Options, inputs: Inputs) -> io::Result<Done> {
    let asked = &args.detail;
    if !matches!(args.format, DumpFormat::Text | DumpFormat::Tree) {
        let name = asked.asked().unwrap_or_default();
        say(&format_args!(
            "qdissect: {name} shapes text for people, and goes with -T text or -T tree only. Leave out {name} or -T.\n"
        ));
        return Ok((FAILED, 0));
    }
    let common = &args.common;
    let windows = Windows::new(options.timeout);
    let detail = Detail {
        tree: args.format == DumpFormat::Tree || asked.tree || !asked.only.is_empty(),
        only: asked.only.clone(),
        hex: asked.hex,
        explain: asked.explain.then(|| Explain { choice: options.choice.clone(), windows }),
        colour: how(asked.color, common).colour,
        secrets: options.secrets,
        quiet: common.quiet,
    };
    let many = inputs.list.len() > 1;
    let report = Details::new(to, common.line_buffered, many, detail);
    read_all(common, options, inputs, report).map(|(_, totals, code)| (code, totals.files))
}
