//! `qdissect.toml`: the user's permanent settings, which need not be repeated on the command line.

use super::choices::{CONFIDENCE, Choices, FAIL_ON, FailOn, PROFILES};
use super::common_args::Common;
use super::text::{Text, unknown_name};
use super::value_parsers::{self, unknown_rule};
use crate::check::{Profile, rules_named, within};
use crate::protocols::{Id, Level};
use crate::rule::Severity;
use crate::text::escape::{escaped, quoted};
use std::path::{Path, PathBuf};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Name of the configuration file.
const NAME: &str = "qdissect.toml";
/// Maximum length of a configuration in bytes.
const LONGEST: u64 = 1 << 20;
const KEYS: &[&str] =
    &["profile", "fail-on", "min-confidence", "timeout", "rules", "select", "ignore", "ports", "tui"];
const TUI_KEYS: &[&str] = &["columns"];
/// The columns of the list of packets in `tui`: title, and whether cells are aligned to the right. The last one has what is left
/// of the width.
pub const LIST_COLUMNS: [(&str, bool); 7] = [
    ("frame", true),
    ("time", true),
    ("source", false),
    ("destination", false),
    ("protocol", false),
    ("length", true),
    ("what", false),
];
/// A column by its index in [`LIST_COLUMNS`], and its width if that is fixed.
pub type ListColumn = (usize, Option<u16>);
/// Widest column that can be asked for.
pub const WIDEST: u16 = 200;
/// The error message for a key that earlier versions had.
const NO_SUPPRESS: &str = "[[suppress]] is not known any more: [ignore] excuses a rule with a reason, as in \
                           \"SQP-TXN-010\" = \"until the update\", and `check --baseline` knows single findings.";

/// A configuration. `None` and an empty list mean that a setting is missing.
#[derive(Debug, Default)]
pub struct Config {
    /// The file that holds it.
    pub path: Option<PathBuf>,
    /// `profile`
    pub profile: Option<Profile>,
    /// `fail-on`
    pub fail_on: Option<FailOn>,
    /// `min-confidence`
    pub min_confidence: Option<Level>,
    /// `timeout` in nanoseconds.
    pub timeout: Option<i64>,
    /// `[rules]`: severities of rules; `None` switches a rule off. Groups of rules come before their members.
    pub levels: Vec<(String, Option<Severity>)>,
    /// `select`
    pub select: Vec<String>,
    /// `ignore` as a list: rules that are off.
    pub ignore: Vec<String>,
    /// `[ignore]` as a table: rules whose findings do not fail the check, each with the reason.
    pub excused: Vec<(String, String)>,
    /// `[ports]`: server ports with the protocol they speak.
    pub ports: Vec<(u16, Id)>,
    /// `columns` in `[tui]`.
    pub list_columns: Option<Vec<ListColumn>>,
}

impl Config {
    /// Finds the nearest configuration, from a folder upwards. `from` is an absolute path. A dangling link also counts, so that
    /// it causes an error instead of being ignored, which could change the verdict.
    pub fn find(from: &Path) -> Option<PathBuf> {
        from.ancestors().map(|folder| folder.join(NAME)).find(|path| path.is_file() || path.is_symlink())
    }

    /// Reads a configuration.
    ///
    /// # Errors
    /// A sentence that begins with file, line and column.
    pub fn load(path: &Path) -> Result<Config, String> {
        let config = Config::read(&Text::read(path, LONGEST)?)?;
        Ok(Config { path: Some(path.to_owned()), ..config })
    }

    /// Parses the text of a configuration.
    pub(super) fn read(text: &Text) -> Result<Config, String> {
        let table = DeTable::parse(text.as_str()).map_err(|e| {
            let at = e.span().map_or(text.as_str().len(), |span| span.start);
            text.at(at, &format!("This is not TOML: {}.", e.message()))
        })?;
        Config::of(table.get_ref()).map_err(|wrong| text.at(wrong.at, &wrong.what))
    }

    fn of(table: &DeTable<'_>) -> Result<Config, ConfigError> {
        let mut config = Config::default();
        for (key, value) in table {
            match key.get_ref().as_ref() {
                "profile" => config.profile = Some(choice(value, PROFILES, "profile")?),
                "fail-on" => config.fail_on = Some(choice(value, FAIL_ON, "severity")?),
                "min-confidence" => config.min_confidence = Some(choice(value, CONFIDENCE, "confidence")?),
                "timeout" => config.timeout = Some(timeout(value)?),
                "rules" => config.levels = levels(value)?,
                "select" => config.select = rules(value)?,
                "ignore" if value.get_ref().is_table() => config.excused = excused(value)?,
                "ignore" => config.ignore = rules(value)?,
                "ports" => config.ports = ports(value)?,
                "tui" => config.list_columns = list_columns(value)?,
                "suppress" => return Err(wrong(key, NO_SUPPRESS.to_owned())),
                other => return Err(wrong(key, unknown_name("key", other, KEYS))),
            }
        }
        Ok(config)
    }

    /// Fills in settings that are missing on the command line. `is_given` tells whether an option was given there, by its clap
    /// name; it is called for `profile` and `min_confidence`.
    pub fn fill(&self, common: &mut Common, is_given: &dyn Fn(&str) -> bool) {
        if let Some(profile) = self.profile.filter(|_| !is_given("profile")) {
            common.rules.profile = profile;
        }
        if let Some(confidence) = self.min_confidence.filter(|_| !is_given("min_confidence")) {
            common.min_confidence = confidence;
        }
        common.timeout = common.timeout.or(self.timeout);
        common.decode_as.splice(0..0, self.ports.iter().copied()); // the last pin of a port takes effect
        let rules = &mut common.rules;
        // `--select` overrules an `ignore` or `off` in the file for the same rules or for a group that contains them.
        let overruled = |name: &String| rules.select.iter().any(|chosen| within(chosen, name));
        let ignored: Vec<_> = self.ignore.iter().filter(|name| !overruled(name)).cloned().collect();
        let kept = |level: &&(String, Option<Severity>)| level.1.is_some() || !overruled(&level.0);
        let levels: Vec<_> = self.levels.iter().filter(kept).cloned().collect();
        rules.ignore.extend(ignored);
        rules.level.splice(0..0, levels); // the last level of a rule takes effect
        if rules.select.is_empty() {
            rules.select.clone_from(&self.select);
        }
    }
}

fn rules(value: &Value<'_>) -> Result<Vec<String>, ConfigError> {
    let list = value.get_ref().as_array();
    let list = list.ok_or_else(|| unfit(value, "a list of rules such as [\"SQP-TXN\", \"GEN-007\"]"))?;
    list.iter().map(|name| rule(name, string(name, "SQP-TXN-010")?)).collect()
}

fn timeout(value: &Value<'_>) -> Result<i64, ConfigError> {
    value_parsers::timeout(string(value, "2s")?).map_err(|e| wrong(value, escaped(&e).into_owned()))
}

fn levels(value: &Value<'_>) -> Result<Vec<(String, Option<Severity>)>, ConfigError> {
    let mut levels: Vec<(String, Option<Severity>)> = vec![];
    for (key, value) in table(value, "\"SQP-TXN-010\" = \"warning\"")? {
        let name = rule(key, key.get_ref())?;
        if levels.iter().any(|(known, _)| known.eq_ignore_ascii_case(&name)) {
            return Err(wrong(key, format!("{name} has a severity already; case does not matter.")));
        }
        let severity = value_parsers::severity(string(value, "warning")?).map_err(|e| wrong(value, e))?;
        levels.push((name, severity));
    }
    // A TOML table has no order: sort by length, so that settings for fewer rules come later and take precedence.
    levels.sort_by_key(|(name, _)| name.len());
    Ok(levels)
}

fn ports(value: &Value<'_>) -> Result<Vec<(u16, Id)>, ConfigError> {
    let mut ports: Vec<(u16, Id)> = vec![];
    for (key, value) in table(value, "\"7779\" = \"sqp\"")? {
        let digits = key.get_ref();
        let port = digits.parse().ok().filter(|_| digits.bytes().all(|b| b.is_ascii_digit()));
        let port = port.ok_or_else(|| {
            wrong(key, format!("{} is not a UDP port: a number from 0 to 65535.", quoted(digits)))
        })?;
        if ports.iter().any(|&(known, _)| known == port) {
            return Err(wrong(key, format!("Port {port} has a protocol already.")));
        }
        let id = value_parsers::protocol(string(value, "sqp")?).map_err(|e| wrong(value, e))?;
        ports.push((port, id));
    }
    Ok(ports)
}

fn list_columns(value: &Value<'_>) -> Result<Option<Vec<ListColumn>>, ConfigError> {
    let mut columns = None;
    for (key, value) in table(value, "columns = [\"time\", \"source:24\", \"what\"]")? {
        if key.get_ref() != "columns" {
            return Err(wrong(key, unknown_name("key", key.get_ref(), TUI_KEYS)));
        }
        let list = value.get_ref().as_array();
        let list = list.ok_or_else(|| unfit(value, "a list of columns such as [\"time\", \"source:24\"]"))?;
        columns = Some(list.iter().map(list_column).collect::<Result<_, _>>()?);
    }
    Ok(columns)
}

/// Expects a column of the list, with its width behind a colon if that is fixed.
fn list_column(value: &Value<'_>) -> Result<ListColumn, ConfigError> {
    let text = string(value, "source:24")?;
    let (name, width) = text.split_once(':').map_or((text, None), |(name, width)| (name, Some(width)));
    let names = LIST_COLUMNS.map(|(name, _)| name);
    let column = names.iter().position(|known| *known == name);
    let column = column.ok_or_else(|| wrong(value, unknown_name("column", name, &names)))?;
    let Some(width) = width else { return Ok((column, None)) };
    let width = width.parse().ok().filter(|width| (1..=WIDEST).contains(width));
    let width =
        width.ok_or_else(|| wrong(value, format!("The width of {name} is a number from 1 to {WIDEST}.")))?;
    Ok((column, Some(width)))
}

fn excused(value: &Value<'_>) -> Result<Vec<(String, String)>, ConfigError> {
    let example = "known fault of version 1.2";
    let rules = table(value, "\"SQP-TXN-010\" = \"reason\"")?.iter().map(|(key, value)| {
        let name = rule(key, key.get_ref())?;
        match string(value, example)?.trim() {
            "" => {
                Err(wrong(value, "The reason is empty; say why the findings are of no concern.".to_owned()))
            }
            reason => Ok((name, reason.to_owned())),
        }
    });
    rules.collect()
}

/// An error at a place in the file.
#[derive(Debug)]
struct ConfigError {
    /// Offset in bytes.
    pub at: usize,
    /// The message, as a sentence.
    pub what: String,
}

/// A value or a key with its place.
type Value<'a> = Spanned<DeValue<'a>>;

/// An error at the place of a value or key.
fn wrong<T>(place: &Spanned<T>, what: String) -> ConfigError {
    ConfigError { at: place.span().start, what }
}

/// An error that says what the value should have been.
fn unfit(value: &Value<'_>, wanted: &str) -> ConfigError {
    wrong(value, format!("This must be {wanted}; it is of type {}.", value.get_ref().type_str()))
}

/// Expects a string.
fn string<'v>(value: &'v Value<'_>, example: &str) -> Result<&'v str, ConfigError> {
    value.get_ref().as_str().ok_or_else(|| unfit(value, &format!("a string such as \"{example}\"")))
}

/// Expects the id of a rule or the beginning of several ids.
fn rule<T>(place: &Spanned<T>, name: &str) -> Result<String, ConfigError> {
    rules_named(name).map(|_| name.to_owned()).map_err(|_| wrong(place, unknown_rule(name)))
}

/// Expects a table.
fn table<'v, 'a>(value: &'v Value<'a>, example: &str) -> Result<&'v DeTable<'a>, ConfigError> {
    value.get_ref().as_table().ok_or_else(|| unfit(value, &format!("a table with keys such as {example}")))
}

/// Expects one of the values that a command-line option accepts.
fn choice<T: Copy>(value: &Value<'_>, choices: Choices<T>, thing: &str) -> Result<T, ConfigError> {
    let known: Vec<_> = choices.names().collect();
    let name = string(value, known.first().copied().unwrap_or_default())?;
    choices.find(name).ok_or_else(|| wrong(value, unknown_name(thing, name, &known)))
}

#[cfg(test)]
mod tests {
    use super::super::args::{Cli, Command, Reading};
    use super::*;
    use crate::check::Policy;
    use clap::{CommandFactory, FromArgMatches, parser::ValueSource};

    fn read(config: &str) -> Result<Config, String> {
        Config::read(&Text::new("q.toml", config))
    }

    fn error_text(config: &str) -> String {
        read(config).unwrap_err()
    }

    #[test]
    fn every_key_is_read() {
        let config = read(
            "profile = \"strict\"\nfail-on = \"warning\"\nmin-confidence = \"high\"\ntimeout = \"1s 500ms\"\n\
             select = [\"SQP\", \"gen-007\"]\nignore = [\"SQP-TXN\"]\n[ports]\n7779 = \"sqp\"\n\"15777\" = \"satisfactory\"\n\
             [rules]\nSQP-TXN-010 = \"off\"\nSQP = \"note\"\n\"SQP-TXN\" = \"error\"\n",
        );
        let config = config.unwrap();
        assert_eq!((config.profile, config.fail_on), (Some(Profile::Strict), Some(Some(Severity::Warning))));
        assert_eq!((config.min_confidence, config.timeout), (Some(Level::High), Some(1_500_000_000)));
        assert_eq!(
            (config.select, config.ignore),
            (vec!["SQP".into(), "gen-007".into()], vec!["SQP-TXN".into()])
        );
        assert_eq!(config.ports, [(7779, Id::Sqp), (15777, Id::Satisfactory)]);
        let levels =
            [("SQP", Some(Severity::Note)), ("SQP-TXN", Some(Severity::Error)), ("SQP-TXN-010", None)];
        assert_eq!(config.levels, levels.map(|(name, severity)| (name.to_owned(), severity)));
        let nothing = read("# nothing\n").unwrap();
        assert!(nothing.profile.is_none() && nothing.levels.is_empty() && nothing.excused.is_empty());
        let excused = read("[ignore]\nSQP-TXN-009 = \" lab \"\nSKY = \"old\"\n").unwrap();
        let reasons = [("SQP-TXN-009", "lab"), ("SKY", "old")];
        assert_eq!(excused.excused, reasons.map(|(rule, reason)| (rule.to_owned(), reason.to_owned())));
        assert!(excused.ignore.is_empty());
    }

    #[test]
    fn columns_of_the_list_have_names_and_widths() {
        let columns =
            |text: &str| read(&format!("[tui]\ncolumns = {text}")).map(|config| config.list_columns);
        assert_eq!(columns("[\"time\", \"source:24\"]").unwrap(), Some(vec![(1, None), (2, Some(24))]));
        for (text, what) in [
            ("[\"sauce\"]", "2:12: There is no column \"sauce\"; did you mean source?"),
            ("[\"source:0\"]", "2:12: The width of source is a number from 1 to 200."),
            ("1", "2:11: This must be a list of columns such as"),
        ] {
            let wrong = columns(text).unwrap_err();
            assert!(wrong.contains(what), "{wrong}");
        }
        assert!(
            error_text("[tui]\ncolumn = 1").contains("There is no key \"column\"; did you mean columns?")
        );
    }

    #[test]
    fn every_key_is_known() {
        for key in KEYS {
            assert!(!error_text(&format!("{key} = 1")).contains("There is no key"), "{key}");
        }
    }

    #[test]
    fn errors_are_reported_with_line_and_column() {
        let cases = [
            ("profile = ", "1:11: This is not TOML: string values must be quoted, expected literal string."),
            ("a = 1\na = 2", "2:1: This is not TOML: duplicate key."),
            ("[rules", "1:7: This is not TOML: unclosed table, expected `]`."),
            ("\n profil = \"strict\"", "2:2: There is no key \"profil\"; did you mean profile?"),
            ("fail_on = \"note\"", "1:1: There is no key \"fail_on\"; did you mean fail-on?"),
            (
                "\"\\u001b\" = 1",
                "1:1: There is no key \"\\x1b\"; known are profile, fail-on, min-confidence, timeout, rules, select, ignore, ports, tui.",
            ),
            ("profile = \"strikt\"", "1:11: There is no profile \"strikt\"; did you mean strict?"),
            (
                "fail-on = \"always\"",
                "1:11: There is no severity \"always\"; known are error, warning, note, never.",
            ),
            ("min-confidence = 1", "1:18: This must be a string such as \"low\"; it is of type integer."),
            ("timeout = 2", "1:11: This must be a string such as \"2s\"; it is of type integer."),
            (
                "timeout = \"0s\"",
                "1:11: \"0s\" is not a duration such as 500ms or 2s: it must be more than nothing and less than 292 years.",
            ),
            (
                "select = [\"SQP\",\n  \"SQP-TXN-04\"]",
                "2:3: There is no rule \"SQP-TXN-04\"; did you mean SQP-TXN-004?",
            ),
            ("select = [\"SQP-TNX\"]", "1:11: There is no rule \"SQP-TNX\"; did you mean SQP-TXN?"),
            (
                "ignore = [\"HTTP\\u202e\"]",
                "1:11: There is no rule \"HTTP\\u{202e}\"; `qdissect rule list` shows them all.",
            ),
            (
                "ignore = \"SQP\"",
                "1:10: This must be a list of rules such as [\"SQP-TXN\", \"GEN-007\"]; it is of type string.",
            ),
            ("ignore = [1]", "1:11: This must be a string such as \"SQP-TXN-010\"; it is of type integer."),
            (
                "[rules]\nSQP-TXN-10 = \"note\"",
                "2:1: There is no rule \"SQP-TXN-10\"; did you mean SQP-TXN-010?",
            ),
            ("[rules]\nSQP = \"warn\"", "2:7: There is no severity \"warn\"; did you mean warning?"),
            (
                "[rules]\nSQP = \"note\"\nsqp = \"off\"",
                "3:1: sqp has a severity already; case does not matter.",
            ),
            (
                "rules = 1",
                "1:9: This must be a table with keys such as \"SQP-TXN-010\" = \"warning\"; it is of type integer.",
            ),
            ("[ports]\n70000 = \"sqp\"", "2:1: \"70000\" is not a UDP port: a number from 0 to 65535."),
            ("[ports]\n\"+7\" = \"sqp\"", "2:1: \"+7\" is not a UDP port: a number from 0 to 65535."),
            ("[ports]\n7779 = \"sqp\"\n\"07779\" = \"gqp\"", "3:1: Port 7779 has a protocol already."),
            ("[ports]\n7779 = \"sqq\"", "2:8: There is no protocol \"sqq\"; did you mean sqp?"),
            (
                "[ignore]\nSQP-TXN-04 = \"lab\"",
                "2:1: There is no rule \"SQP-TXN-04\"; did you mean SQP-TXN-004?",
            ),
            ("[ignore]\nSQP = \" \"", "2:7: The reason is empty; say why the findings are of no concern."),
            (
                "ignore = {SQP = 1}",
                "1:17: This must be a string such as \"known fault of version 1.2\"; it is of type integer.",
            ),
            ("[[suppress]]\nrule = \"SQP\"", &format!("1:3: {NO_SUPPRESS}")),
        ];
        for (config, wanted) in cases {
            assert_eq!(error_text(config), format!("q.toml:{wanted}"), "{config}");
        }
    }

    #[test]
    fn the_nearest_file_upwards_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let deep = root.join("a/b/c");
        std::fs::create_dir_all(&deep).unwrap();
        std::fs::create_dir(root.join("a/b").join(NAME)).unwrap(); // a folder of that name is ignored
        std::fs::write(root.join(NAME), "timeout = \"1s\"").unwrap();
        assert_eq!(Config::find(&deep), Some(root.join(NAME)));
        std::fs::write(root.join("a").join(NAME), "timeout = \"3s\"").unwrap();
        let found = Config::find(&deep).unwrap();
        assert_eq!(found, root.join("a").join(NAME));
        assert_eq!(Config::load(&found).unwrap().timeout, Some(3_000_000_000));
        assert!(Config::load(&deep.join(NAME)).unwrap_err().contains("The file cannot be read: "));
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink("nowhere", deep.join(NAME)).unwrap();
            assert_eq!(Config::find(&deep), Some(deep.join(NAME)), "so that somebody hears of it");
        }
    }

    /// The common options of a command line, filled from a configuration.
    fn filled(config: &str, args: &[&str]) -> Common {
        let args = ["qdissect", "dump"].iter().chain(args);
        let matches = Cli::command().try_get_matches_from(args).unwrap();
        let Command::Read(reading) = Cli::from_arg_matches(&matches).unwrap().command else {
            unreachable!("dump reads")
        };
        let Reading::Dump(mut dump) = *reading else { unreachable!("dump was called") };
        let (_, dump_matches) = matches.subcommand().unwrap();
        let given = |option: &str| dump_matches.value_source(option) == Some(ValueSource::CommandLine);
        read(config).unwrap().fill(&mut dump.common, &given);
        dump.common
    }

    #[test]
    fn the_command_line_wins_over_the_file() {
        let config = "profile = \"strict\"\nmin-confidence = \"high\"\ntimeout = \"1s\"\nports = {7 = \"sqp\", 8 = \"gqp\"}";
        let from_file = filled(config, &[]);
        assert_eq!((from_file.rules.profile, from_file.min_confidence), (Profile::Strict, Level::High));
        assert_eq!(
            (from_file.timeout, from_file.decode_as),
            (Some(1_000_000_000), vec![(7, Id::Sqp), (8, Id::Gqp)])
        );
        let args = ["--profile=default", "--min-confidence=medium", "--timeout=2s", "-d", "udp.port==8,sqp"];
        let overridden = filled(config, &args);
        assert_eq!((overridden.rules.profile, overridden.min_confidence), (Profile::Default, Level::Medium));
        assert_eq!(overridden.timeout, Some(2_000_000_000));
        assert_eq!(overridden.decode_as, [(7, Id::Sqp), (8, Id::Gqp), (8, Id::Sqp)], "the last counts");
    }

    /// The severity of a rule; `None` where it is switched off.
    fn severity(config: &str, args: &[&str], id: &str) -> Option<Severity> {
        let rules = filled(config, args).rules;
        let mut policy = Policy::default();
        rules.level.iter().try_for_each(|(name, severity)| policy.set_severity(name, *severity)).unwrap();
        policy.select(&rules.select).unwrap();
        rules.ignore.iter().try_for_each(|name| policy.set_severity(name, None)).unwrap();
        policy.severity(crate::protocols::rules().find(|rule| rule.id == id).unwrap())
    }

    #[test]
    fn longer_rule_names_win_and_the_command_line_wins_over_the_file() {
        let file = "select = [\"SQP\", \"GEN\"]\nignore = [\"SQP-STR\", \"GEN\"]\n\
                    [rules]\nSQP-TXN-009 = \"error\"\nSQP = \"note\"\nSQP-INF = \"off\"";
        let of = |args: &[&str], id: &str| severity(file, args, id);
        assert_eq!(of(&[], "SQP-TXN-009"), Some(Severity::Error), "more precise than SQP");
        assert_eq!(of(&[], "SQP-TXN-004"), Some(Severity::Note));
        assert_eq!(
            (of(&[], "SQP-STR-002"), of(&[], "SQP-INF-003"), of(&[], "SFQ-ENV-005")),
            (None, None, None)
        );
        assert_eq!(of(&["--level=SQP=warning"], "SQP-TXN-009"), Some(Severity::Warning));
        assert_eq!(of(&["--level=SQP-TXN-009=note"], "SQP-TXN-009"), Some(Severity::Note));
        assert_eq!(of(&["--select=SFQ"], "SFQ-ENV-005"), Some(Severity::Error), "instead of the file's");
        assert_eq!(of(&["--select=SFQ"], "SQP-TXN-009"), None);
        assert_eq!(of(&["--select=sqp"], "SQP-STR-002"), None, "the file knows better which of them");
        assert_eq!(of(&["--select=sqp-str-002"], "SQP-STR-002"), Some(Severity::Note), "asked for by name");
        assert_eq!(of(&["--select=SQP-INF"], "SQP-INF-003"), Some(Severity::Note));
        assert_eq!(of(&["--select=SQP-STR-002", "--ignore=SQP-STR"], "SQP-STR-002"), None);
        assert_eq!(of(&["--select=GEN-007"], "GEN-007"), Some(Severity::Note));
        assert!(within("sqp-str-002", "SQP-STR") && within("SQP-STR", "SQP-STR"));
        assert!(!within("SQP-STRX", "SQP-STR") && !within("SQP", "SQP-STR"));
    }
}
