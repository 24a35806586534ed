//! The values that options accept.

use crate::protocols::Level;
use crate::report::Form;
use crate::report::screen::{Screen, Sort};
use crate::rule::Severity;
use crate::verdict::{JunitStyle, SarifStyle};
use clap::builder::PossibleValue;
use clap::{Args, ValueEnum};
use std::num::NonZeroUsize;

/// `--profile`
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ProfileName {
    /// Some dialects and habits are warnings
    Strict,
    /// The severities of the rules
    Default,
    /// What every real server does is a note
    Lenient,
}

/// `--fail-on`
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FailOn {
    /// Errors
    Error,
    /// Warnings and errors
    Warning,
    /// Any finding
    Note,
    /// Nothing
    Never,
}

/// `--show`
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Show {
    /// Errors
    Error,
    /// Warnings and errors
    Warning,
    /// Everything
    Note,
}

impl From<Show> for Severity {
    fn from(show: Show) -> Severity {
        match show {
            Show::Error => Severity::Error,
            Show::Warning => Severity::Warning,
            Show::Note => Severity::Note,
        }
    }
}

/// `-T` of `check`, and the formats of `--report`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CheckFormat {
    /// For people: what, where, who, and the source
    Table,
    /// One finding a line
    Concise,
    /// One array of records
    Json,
    /// One record a line
    Ndjson,
    /// Findings as comma-separated values, with a row of names
    Csv,
    /// SARIF 2.1.0, for code scanning
    Sarif,
    /// JUnit XML: a test for each rule
    Junit,
    /// GitHub workflow commands
    Github,
    /// GitLab code quality
    Gitlab,
    /// Markdown, for job summaries
    Markdown,
    /// One page of HTML, as `qdissect report` writes it
    Html,
}

impl ValueEnum for SarifStyle {
    fn value_variants<'a>() -> &'a [SarifStyle] {
        &[SarifStyle::Spec, SarifStyle::Github]
    }
    fn to_possible_value(&self) -> Option<PossibleValue> {
        let (name, help) = match self {
            SarifStyle::Spec => ("spec", "As the specification says for binary files: places in bytes"),
            SarifStyle::Github => {
                ("github", "As GitHub's code scanning needs it: places in lines, all the first")
            }
        };
        Some(PossibleValue::new(name).help(help))
    }
}

impl ValueEnum for JunitStyle {
    fn value_variants<'a>() -> &'a [JunitStyle] {
        &[JunitStyle::Common, JunitStyle::Jenkins]
    }
    fn to_possible_value(&self) -> Option<PossibleValue> {
        let (name, help) = match self {
            JunitStyle::Common => ("common", "What most readers take"),
            JunitStyle::Jenkins => ("jenkins", "Only what Jenkins' schema knows"),
        };
        Some(PossibleValue::new(name).help(help))
    }
}

/// `-T` where the default is a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TableFormat {
    /// For people
    Table,
    /// One array of records
    Json,
    /// One record a line
    Ndjson,
}

/// `-T` of `dump`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DumpFormat {
    /// One line a packet
    Text,
    /// A tree of layers and fields a packet, as -V
    Tree,
    /// One array of records
    Json,
    /// One record a line
    Ndjson,
    /// The same for Elasticsearch's bulk interface
    Ek,
    /// The fields named with -e, as tshark writes them
    Fields,
    /// Comma-separated values, with a row of names
    Csv,
    /// The same with tabs
    Tsv,
}

impl TableFormat {
    /// The format of records, or `None` for a table.
    pub fn form(self) -> Option<Form> {
        match self {
            TableFormat::Table => None,
            TableFormat::Json => Some(Form::Json),
            TableFormat::Ndjson => Some(Form::Ndjson),
        }
    }
}

impl DumpFormat {
    /// The format of records, or `None` for lines of text and for columns.
    pub fn form(self) -> Option<Form> {
        match self {
            DumpFormat::Text | DumpFormat::Tree | DumpFormat::Fields | DumpFormat::Csv | DumpFormat::Tsv => {
                None
            }
            DumpFormat::Json => Some(Form::Json),
            DumpFormat::Ndjson => Some(Form::Ndjson),
            DumpFormat::Ek => Some(Form::Bulk),
        }
    }
}

/// `--color`
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Colour {
    /// On a terminal, unless NO_COLOR is set or TERM is dumb; CLICOLOR_FORCE asks for them elsewhere
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// `--min-confidence`
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Confidence {
    /// Everything that could be it
    Low,
    /// Several signs agree
    Medium,
    /// Chance is out of the question
    High,
}

impl From<Confidence> for Level {
    fn from(c: Confidence) -> Level {
        match c {
            Confidence::Low => Level::Low,
            Confidence::Medium => Level::Medium,
            Confidence::High => Level::High,
        }
    }
}

/// Which rows tables of servers and rules show, and in which order.
#[derive(Clone, Debug, Args)]
pub struct TopArgs {
    /// Only the first N rows of each table [default: 20 on a terminal, 200 elsewhere]
    #[arg(long, value_name = "N")]
    pub top: Option<NonZeroUsize>,
    /// Order of servers and rules
    #[arg(long, value_enum, default_value_t = SortName::Findings, value_name = "KEY")]
    pub sort: SortName,
}

/// `--sort`
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SortName {
    /// The worst findings first
    Findings,
    /// The most requests, or findings
    Count,
    /// The slowest server; of rules what was found first
    Time,
    /// The most requests without an answer in time
    Loss,
    /// Names of servers, numbers of rules
    Name,
}

impl TopArgs {
    /// The given screen with these options for rows applied.
    pub fn of(&self, screen: Screen) -> Screen {
        let sort = match self.sort {
            SortName::Findings => Sort::Findings,
            SortName::Count => Sort::Count,
            SortName::Time => Sort::Time,
            SortName::Loss => Sort::Loss,
            SortName::Name => Sort::Name,
        };
        Screen { top: self.top.map(NonZeroUsize::get).or(screen.top), sort, ..screen }
    }
}
