//! `qdissect rule` and `qdissect protocol`: show the declarations, and dissect the examples of rules.

pub mod page;
mod protocol;
mod rule;
mod saved;

use super::choices::{Colour, Format, TABLE_FORMATS};
use super::diagnostics::{OK, stdout_exit_code};
use super::terminal::{coloured, width};
use super::value_parsers::{self, unknown_rule};
use crate::check::{Unknown, matches, rules_named};
use crate::protocols::Id;
use crate::report::Output;
use crate::rule::Rule;
use crate::schema::declared::{ProtocolRecord, RuleRecord};
use clap::{Args, Subcommand};
use page::Page;
use serde::Serialize;
use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;

/// Runs `qdissect rule`; returns the exit code.
///
/// # Errors
/// A sentence, if there is no such rule.
pub fn rule(command: &RuleCommand) -> Result<u8, String> {
    Ok(match command {
        RuleCommand::List { protocol, output } => {
            let chosen: Vec<_> = crate::protocols::rules().filter(|r| belongs(r, protocol)).collect();
            let records = || chosen.iter().map(|r| RuleRecord::new(r)).collect();
            write(output, |page| rule::list(page, &chosen), records)
        }
        RuleCommand::Show { ids, write: write_to, output } => {
            let chosen = find(ids).map_err(|unknown| unknown_rule(&unknown.name))?;
            if let Some(path) = write_to {
                return saved::example(&chosen, path).map(|()| OK);
            }
            let records = || chosen.iter().map(|r| RuleRecord::with_examples(r)).collect();
            write(output, |page| rule::show(page, &chosen), records)
        }
    })
}

/// Runs `qdissect protocol`; returns the exit code.
pub fn protocol(command: &ProtocolCommand) -> u8 {
    match command {
        ProtocolCommand::List { output } => {
            let records = || Id::ALL.iter().map(|id| ProtocolRecord::new(*id)).collect();
            write(output, protocol::list, records)
        }
        ProtocolCommand::Show { names, output } => {
            let records = || names.iter().map(|id| ProtocolRecord::with_fields(*id)).collect();
            write(output, |page| protocol::show(page, names), records)
        }
    }
}

/// Whether a rule belongs to one of these protocols; always true if none is given.
fn belongs(rule: &Rule, protocols: &[Id]) -> bool {
    protocols.is_empty() || Id::of_rule(rule).is_some_and(|id| protocols.contains(&id))
}

/// The rules that match the names, each once, in the order of declaration.
fn find(names: &[String]) -> Result<Vec<&'static Rule>, Unknown> {
    names.iter().try_for_each(|name| rules_named(name).map(drop))?;
    Ok(crate::protocols::rules().filter(|rule| names.iter().any(|name| matches(name, rule))).collect())
}

/// Writes the page, or the records, to standard output; returns the exit code.
fn write<R: Serialize>(
    output: &OutputArgs,
    page: impl FnOnce(&mut Page),
    records: impl FnOnce() -> Vec<R>,
) -> u8 {
    let terminal = io::stdout().is_terminal();
    let written = match output.format.form() {
        None => {
            let mut text = Page::new(width(terminal), coloured(output.color, terminal));
            page(&mut text);
            let mut out = io::stdout();
            out.write_all(text.text().as_bytes()).and_then(|()| out.flush())
        }
        Some(form) => {
            let mut out = Output::new(io::stdout(), form, false);
            records().iter().try_for_each(|record| out.value(record)).and_then(|()| out.finish())
        }
    };
    stdout_exit_code(written)
}

/// `qdissect rule`
#[derive(Debug, Subcommand)]
pub enum RuleCommand {
    /// One line for each rule: number, severity, title
    List {
        /// Only the rules of these protocols, by name, separated by commas
        #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = value_parsers::PROTOCOL)]
        protocol: Vec<Id>,
        #[command(flatten)]
        output: OutputArgs,
    },
    /// Everything about rules: why, by whose word, and their examples dissected
    Show {
        /// Rules, by number or its beginning, in any case: SQP-TXN-004, sqp-txn
        #[arg(value_name = "ID", required = true, value_delimiter = ',', value_parser = value_parsers::EVERY_RULE, hide_possible_values = true)]
        ids: Vec<String>,
        /// Write the first example of the one rule to a pcapng file instead, in which `check` finds it
        #[arg(short = 'w', long, value_name = "FILE")]
        write: Option<PathBuf>,
        #[command(flatten)]
        output: OutputArgs,
    },
}

/// `qdissect protocol`
#[derive(Debug, Subcommand)]
pub enum ProtocolCommand {
    /// One line for each protocol: name, title, ports, number of rules
    List {
        #[command(flatten)]
        output: OutputArgs,
    },
    /// Everything about protocols: ports, steps, messages, fields, signature, source
    Show {
        /// Protocols, by name
        #[arg(value_name = "NAME", required = true, value_delimiter = ',', value_parser = value_parsers::PROTOCOL)]
        names: Vec<Id>,
        #[command(flatten)]
        output: OutputArgs,
    },
}

/// The options for the format of the output.
#[derive(Debug, Args)]
pub struct OutputArgs {
    /// Output format
    #[arg(short = 'T', long, value_parser = TABLE_FORMATS, default_value = "table", value_name = "FMT")]
    pub format: Format,
    /// When to use colours
    #[arg(long, value_enum, default_value_t = Colour::Auto, value_name = "WHEN")]
    pub color: Colour,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(names: &[&str]) -> Result<Vec<&'static str>, String> {
        let names: Vec<String> = names.iter().map(|n| (*n).to_owned()).collect();
        find(&names).map(|rules| rules.iter().map(|r| r.id).collect()).map_err(|e| unknown_rule(&e.name))
    }

    #[test]
    fn rules_are_found_by_prefix_in_any_case_each_once() {
        assert_eq!(ids(&["sqp-txn-004", "SQP-TXN-004", "Gen-001"]).unwrap(), ["GEN-001", "SQP-TXN-004"]);
        let all = ids(&["SQP-TXN"]).unwrap();
        assert!(all.len() > 5 && all.iter().all(|id| id.starts_with("SQP-TXN-")), "{all:?}");
        assert!(ids(&["sqp-txn-004", "SQP-TXN-OO4"]).unwrap_err().contains("did you mean SQP-TXN-004"));
    }

    #[test]
    fn every_rule_has_one_owner_or_none() {
        let of_none = crate::protocols::rules().filter(|r| Id::of_rule(r).is_none()).count();
        let owned: usize = Id::ALL.iter().map(|id| id.rules().count()).sum();
        assert!(of_none > 0);
        assert_eq!(of_none + owned, crate::protocols::rules().count());
        assert_eq!(
            crate::protocols::rules().filter(|r| belongs(r, &[])).count(),
            crate::protocols::rules().count()
        );
        assert_eq!(
            crate::protocols::rules().filter(|r| belongs(r, &[Id::Gqp])).count(),
            Id::Gqp.rules().count()
        );
    }
}
