//! The arguments of `generate`, as clap defines them.

use crate::cli::choices::SHELLS;
use crate::schema;
use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};
use clap_complete::Shell;
use std::path::PathBuf;

/// `qdissect generate`
#[derive(Debug, Subcommand)]
pub enum GenerateCommand {
    /// A script that completes options and values in a shell
    Completions(CompletionsArgs),
    /// The manual for `man`: one page for everything, or a page for each subcommand
    Man(ManArgs),
    /// A JSON Schema of what -T json and -T ndjson write
    Schema(SchemaArgs),
}

/// `qdissect generate completions`
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_parser = SHELLS, value_name = "SHELL")]
    pub shell: Shell,
}

/// `qdissect generate man`
#[derive(Debug, Args)]
pub struct ManArgs {
    /// Write a page for each subcommand to this directory, which is made if it is not there
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
}

/// `qdissect generate schema`
#[derive(Debug, Args)]
pub struct SchemaArgs {
    /// Only one type of records; `array` is what -T json writes. Else one record of any type
    #[arg(value_name = "RECORD", value_parser = PossibleValuesParser::new(schema::names()))]
    pub record: Option<String>,
}
