//! The values that options accept, each with its name and its help.

use crate::check::Profile;
use crate::protocols::Level;
use crate::report::screen::{Screen, Sort};
use crate::report::{Form, Style};
use crate::rule::Severity;
use crate::stats::Section;
use crate::text::escape::quoted;
use crate::verdict::{JunitStyle, SarifStyle};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::error::Error;
use clap::{Arg, Args, Command, ValueEnum};
use clap_complete::Shell;
use std::ffi::OsStr;
use std::num::NonZeroUsize;

/// A value parser: names, their values, and their help.
#[derive(Clone, Copy)]
pub struct Choices<T: 'static>(&'static [(&'static str, T, &'static str)]);

impl<T: Copy> Choices<T> {
    /// The value of a name.
    pub fn find(self, name: &str) -> Option<T> {
        self.0.iter().find(|(known, ..)| *known == name).map(|&(_, value, _)| value)
    }

    /// All names.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        self.0.iter().map(|(name, ..)| *name)
    }
}

impl<T: Copy + Send + Sync + 'static> TypedValueParser for Choices<T> {
    type Value = T;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<T, Error> {
        let known = PossibleValuesParser::new(self.names());
        let name = known.parse_ref(command, arg, value)?;
        self.find(&name).ok_or_else(|| Error::new(clap::error::ErrorKind::InvalidValue))
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.0.iter().map(|(name, _, help)| PossibleValue::new(*name).help(*help))))
    }
}

/// `--profile`
pub const PROFILES: Choices<Profile> = Choices(&[
    ("strict", Profile::Strict, "Some dialects and habits are warnings"),
    ("default", Profile::Default, "The severities of the rules"),
    ("lenient", Profile::Lenient, "What every real server does is a note"),
]);

/// What makes a check fail; `None` is nothing.
pub type FailOn = Option<Severity>;

/// `--fail-on`
pub const FAIL_ON: Choices<FailOn> = Choices(&[
    ("error", Some(Severity::Error), "Errors"),
    ("warning", Some(Severity::Warning), "Warnings and errors"),
    ("note", Some(Severity::Note), "Any finding"),
    ("never", None, "Nothing"),
]);

/// `--show`
pub const SHOW: Choices<Severity> = Choices(&[
    ("error", Severity::Error, "Errors"),
    ("warning", Severity::Warning, "Warnings and errors"),
    ("note", Severity::Note, "Everything"),
]);

/// What the table of `check` lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// Findings of at least this severity.
    Least(Severity),
    /// All details of findings that a baseline or a suppression excuses.
    Known,
}

/// What `check` lists for a least severity that may be given.
pub fn shown(least: Option<Severity>) -> Vec<Shown> {
    least.map(Shown::Least).into_iter().collect()
}

/// `--show` of `check`
pub const SHOWN: Choices<Shown> = Choices(&[
    ("error", Shown::Least(Severity::Error), "Errors"),
    ("warning", Shown::Least(Severity::Warning), "Warnings and errors"),
    ("note", Shown::Least(Severity::Note), "Everything"),
    ("known", Shown::Known, "Known and suppressed findings with all details, not in a line each"),
]);

/// `--min-confidence`
pub const CONFIDENCE: Choices<Level> = Choices(&[
    ("low", Level::Low, "Everything that could be it"),
    ("medium", Level::Medium, "Several signs agree"),
    ("high", Level::High, "Chance is out of the question"),
]);

/// `--sarif-style`
pub const SARIF_STYLES: Choices<SarifStyle> = Choices(&[
    ("spec", SarifStyle::Spec, "As the specification says for binary files: places in bytes"),
    ("github", SarifStyle::Github, "As GitHub's code scanning needs it: places in lines, all the first"),
]);

/// `--junit-style`
pub const JUNIT_STYLES: Choices<JunitStyle> = Choices(&[
    ("common", JunitStyle::Common, "What most readers take"),
    ("jenkins", JunitStyle::Jenkins, "Only what Jenkins' schema knows"),
]);

/// `--only` of `stats`
pub const SECTIONS: Choices<Section> = Choices(&[
    ("times", Section::Times, "Response times"),
    ("endpoints", Section::Endpoints, "Servers and clients"),
    ("hierarchy", Section::Hierarchy, "Frames and bytes by protocol"),
    ("series", Section::Series, "Queries and answers over time"),
    ("amplification", Section::Amplification, "What servers send for what they get"),
    ("losses", Section::Losses, "Losses and retransmissions"),
    ("listings", Section::Listings, "Which servers masters list, and which tell them of themselves"),
    ("clients", Section::Clients, "Who asks how much, at which rate; only if it is named"),
]);

/// `--tables`
pub const TABLES: Choices<&str> = Choices(&[
    ("captures", "captures", "A row for each input"),
    ("messages", "messages", "A row for each datagram of a protocol"),
    ("exchanges", "exchanges", "A row for each exchange"),
    ("findings", "findings", "A row for each finding"),
    ("servers", "servers", "A row for each server"),
]);

/// The shells that there are completions for.
pub const SHELLS: Choices<Shell> = Choices(&[
    ("bash", Shell::Bash, "Bash"),
    ("zsh", Shell::Zsh, "Zsh"),
    ("fish", Shell::Fish, "Fish"),
    ("powershell", Shell::PowerShell, "PowerShell"),
    ("elvish", Shell::Elvish, "Elvish"),
]);

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

/// `-T` of every other subcommand; each has some of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Lines or tables for people.
    Text,
    /// A tree of layers and fields a packet.
    Tree,
    Records(Form),
    Rows(Style),
    /// Metrics, only of `summary`.
    Metrics,
}

const JSON: (&str, Format, &str) = ("json", Format::Records(Form::Json), "One array of records");
const NDJSON: (&str, Format, &str) = ("ndjson", Format::Records(Form::Ndjson), "One record a line");
const CSV: (&str, Format, &str) =
    ("csv", Format::Rows(Style::Csv), "Comma-separated values, with a row of names");
const TSV: (&str, Format, &str) = ("tsv", Format::Rows(Style::Tsv), "The same with tabs");
const TABLE: (&str, Format, &str) = ("table", Format::Text, "For people");

/// `-T` of `rule` and `protocol`
pub const TABLE_FORMATS: Choices<Format> = Choices(&[TABLE, JSON, NDJSON]);

/// `-T` of `server`
pub const SERVER_FORMATS: Choices<Format> = Choices(&[TABLE, JSON, NDJSON]);

/// `-T` of `exchanges`
pub const ROW_FORMATS: Choices<Format> = Choices(&[TABLE, JSON, NDJSON, CSV, TSV]);

/// `-T` of `summary`
pub const SUMMARY_FORMATS: Choices<Format> = Choices(&[
    TABLE,
    JSON,
    NDJSON,
    CSV,
    TSV,
    (
        "openmetrics",
        Format::Metrics,
        "Metrics for Prometheus, also through node_exporter's textfile collector",
    ),
]);

/// `-T` of `stats`
pub const STATS_FORMATS: Choices<Format> = Choices(&[
    TABLE,
    JSON,
    NDJSON,
    ("csv", Format::Rows(Style::Csv), "One section as comma-separated values, with a row of names"),
]);

/// `-T` of `dump` and `live`
pub const DUMP_FORMATS: Choices<Format> = Choices(&[
    ("text", Format::Text, "One line a packet"),
    ("tree", Format::Tree, "A tree of layers and fields a packet, as -V"),
    JSON,
    NDJSON,
    ("ek", Format::Records(Form::Bulk), "The same for Elasticsearch's bulk interface"),
    ("fields", Format::Rows(Style::Plain), "The fields named with -e, as tshark writes them"),
    CSV,
    TSV,
]);

/// `-T` of `hex`
pub const HEX_FORMATS: Choices<Format> = Choices(&[
    ("text", Format::Text, "The line of `dump`, fields and findings of each datagram"),
    ("tree", Format::Tree, "The tree of each datagram, as -V"),
    ("json", Format::Records(Form::Json), "One array of records, as `dump` has them"),
    NDJSON,
]);

impl Format {
    /// Whether it is one record a line.
    pub fn is_ndjson(self) -> bool {
        self == Format::Records(Form::Ndjson)
    }

    /// The form of the records, if it has records.
    pub fn form(self) -> Option<Form> {
        match self {
            Format::Records(form) => Some(form),
            _ => None,
        }
    }
}

/// `--annotate`
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Annotate {
    /// Findings
    Findings,
    /// Findings, and the fields of each message
    Fields,
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

/// Parses a number of things of which there is at least one.
pub fn positive(text: &str) -> Result<NonZeroUsize, String> {
    text.parse().map_err(|_| format!("{} is not a count: write a number from 1.", quoted(text)))
}

/// Which rows tables of servers and rules show, and in which order.
#[derive(Clone, Debug, Args)]
pub struct TopArgs {
    /// Only the first N rows of each table [default: 20 on a terminal, 200 elsewhere]
    #[arg(long, value_name = "N", value_parser = positive, allow_negative_numbers = true)]
    pub top: Option<NonZeroUsize>,
    #[command(flatten)]
    pub order: OrderArgs,
}

/// The order of rows, and the least severity of those that are shown.
#[derive(Clone, Debug, Args)]
pub struct OrderArgs {
    /// Order of servers and rules
    #[arg(long, value_parser = SORTS, default_value = "findings", value_name = "KEY")]
    pub sort: Sort,
    /// The least severity of rules that have rows; those below share a line [default: warning]
    #[arg(long, value_parser = SHOW, value_name = "SEVERITY")]
    pub show: Option<Severity>,
}

/// `--sort`
const SORTS: Choices<Sort> = Choices(&[
    ("findings", Sort::Findings, "The worst findings first"),
    ("count", Sort::Count, "The most requests, or findings"),
    ("time", Sort::Time, "The slowest server; of rules what was found first"),
    ("loss", Sort::Loss, "The most requests without an answer in time"),
    ("name", Sort::Name, "Names of servers, numbers of rules"),
]);

impl TopArgs {
    /// The given screen with these options for rows applied.
    pub fn of(&self, screen: Screen) -> Screen {
        self.order.of(screen, self.top)
    }
}

impl OrderArgs {
    /// The given screen with these options applied, and with at most `top` rows.
    pub fn of(&self, screen: Screen, top: Option<NonZeroUsize>) -> Screen {
        let top = top.map(NonZeroUsize::get).or(screen.top);
        Screen { top, sort: self.sort, show: self.show, ..screen }
    }
}
