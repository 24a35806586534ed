//! The arguments of `rule` and `protocol`, as clap defines them.

use crate::cli::choices::{Colour, Format, TABLE_FORMATS};
use crate::cli::completion_values;
use crate::protocols::Id;
use clap::{Args, Subcommand};

/// `qdissect rule`
#[derive(Debug, Subcommand)]
pub enum RuleCommand {
    /// One line for each rule: number, severity, title
    List(RuleListArgs),
    /// Everything about rules: why, by whose word, and their examples dissected
    Show(RuleShowArgs),
}

/// `qdissect rule list`
#[derive(Debug, Args)]
pub struct RuleListArgs {
    /// Only the rules of these protocols, by name, separated by commas
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = completion_values::PROTOCOL)]
    pub protocol: Vec<Id>,
    #[command(flatten)]
    pub how: How,
}

/// `qdissect rule show`
#[derive(Debug, Args)]
pub struct RuleShowArgs {
    /// Rules, by number or its beginning, in any case: SQP-TXN-004, sqp-txn
    #[arg(value_name = "ID", required = true, value_delimiter = ',', value_parser = completion_values::EVERY_RULE, hide_possible_values = true)]
    pub ids: Vec<String>,
    #[command(flatten)]
    pub how: How,
}

/// `qdissect protocol`
#[derive(Debug, Subcommand)]
pub enum ProtocolCommand {
    /// One line for each protocol: name, title, ports, number of rules
    List(ProtocolListArgs),
    /// Everything about protocols: ports, steps, messages, fields, signature, source
    Show(ProtocolShowArgs),
}

/// `qdissect protocol list`
#[derive(Debug, Args)]
pub struct ProtocolListArgs {
    #[command(flatten)]
    pub how: How,
}

/// `qdissect protocol show`
#[derive(Debug, Args)]
pub struct ProtocolShowArgs {
    /// Protocols, by name
    #[arg(value_name = "NAME", required = true, value_delimiter = ',', value_parser = completion_values::PROTOCOL)]
    pub names: Vec<Id>,
    #[command(flatten)]
    pub how: How,
}

/// How it is to look.
#[derive(Debug, Args)]
pub struct How {
    /// Output format
    #[arg(short = 'T', long, value_parser = TABLE_FORMATS, default_value = "table", value_name = "FMT")]
    pub format: Format,
    /// When to use colours
    #[arg(long, value_enum, default_value_t = Colour::Auto, value_name = "WHEN")]
    pub color: Colour,
}
