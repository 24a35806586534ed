//! Suppressions: findings that the user knows and that are not to fail the check, each with a reason, some with an expiry date.

use super::pattern;
use super::text::{Text, absent};
use super::values::{Key, Value, Wrong, rule, string, wrong};
use crate::check::matches;
use crate::decode::SHARED_FIELDS;
use crate::escape::quoted;
use crate::protocols::Id;
use crate::verdict::{Entry, Excuse};
use jiff::civil::Date;
use std::net::SocketAddr;
use toml::de::{DeTable, DeValue};

const KEYS: &[&str] = &["rule", "reason", "until", "server", "file", "fingerprint", "field"];

/// One `[[suppress]]` entry. It applies to findings of the named rules that match all its other keys.
#[derive(Clone, Debug, Default)]
pub struct Suppression {
    /// `FILE:LINE` of the entry.
    place: String,
    rule: String,
    reason: String,
    /// The last day on which it applies.
    until: Option<Date>,
    server: Option<SocketAddr>,
    file: Option<String>,
    fingerprint: Option<String>,
    field: Option<String>,
}

impl Suppression {
    /// Parses one entry. `table` is the content of `value`.
    pub(super) fn read(value: &Value<'_>, table: &DeTable<'_>, text: &Text) -> Result<Suppression, Wrong> {
        let mut s = Suppression { place: text.line(value.span().start), ..Suppression::default() };
        for (key, value) in table {
            match key.get_ref().as_ref() {
                "rule" => s.rule = rule(value, string(value, "SQP-TXN-010")?)?,
                "reason" => s.reason = reason(value)?,
                "until" => s.until = Some(date(value)?),
                "server" => s.server = Some(server(value)?),
                "file" => s.file = Some(file(value)?),
                "fingerprint" => s.fingerprint = Some(fingerprint(value)?),
                "field" => s.field = Some(field(value)?),
                other => return Err(unknown(key, other)),
            }
        }
        for (key, read) in [("rule", &s.rule), ("reason", &s.reason)] {
            if read.is_empty() {
                return Err(wrong(value, format!("A suppression needs a {key}, and this one has none.")));
            }
        }
        Ok(s)
    }

    /// Whether it applies to a finding in the capture named `file`.
    fn means(&self, entry: &Entry, file: &str) -> bool {
        matches(&self.rule, entry.rule())
            && self.server.is_none_or(|server| server == entry.server.socket_addr())
            && self
                .fingerprint
                .as_ref()
                .is_none_or(|fingerprint| *fingerprint == entry.fingerprint.to_string())
            && self.file.as_ref().is_none_or(|pattern| pattern::names(pattern, file))
            && self.field.as_ref().is_none_or(|field| speaks_of(entry, field))
    }
}

fn unknown(key: &Key<'_>, name: &str) -> Wrong {
    wrong(key, absent("key", name, KEYS))
}

fn reason(value: &Value<'_>) -> Result<String, Wrong> {
    match string(value, "known fault of version 1.2")?.trim() {
        "" => Err(wrong(value, "The reason is empty; say why the finding is of no concern.".to_owned())),
        reason => Ok(reason.to_owned()),
    }
}

/// Parses a date, given as a string or as a TOML date.
fn date(value: &Value<'_>) -> Result<Date, Wrong> {
    let text = match value.get_ref() {
        DeValue::Datetime(own) => own.to_string(),
        _ => string(value, "2026-12-31")?.to_owned(),
    };
    let date = text.parse().ok().filter(|date: &Date| date.to_string() == text);
    date.ok_or_else(|| wrong(value, format!("{} is no date such as 2026-12-31.", quoted(&text))))
}

fn server(value: &Value<'_>) -> Result<SocketAddr, Wrong> {
    let text = string(value, "192.0.2.1:7777")?;
    let scoped = |server: &SocketAddr| matches!(server, SocketAddr::V6(v6) if v6.scope_id() != 0);
    let server = text.parse().ok().filter(|server| !scoped(server));
    server.ok_or_else(|| {
        let example = "such as 192.0.2.1:7777 or [2001:db8::1]:7777";
        wrong(value, format!("{} is no address with a port {example}.", quoted(text)))
    })
}

fn file(value: &Value<'_>) -> Result<String, Wrong> {
    match string(value, "nightly-*.pcapng")? {
        "" => Err(wrong(value, "No capture has an empty name.".to_owned())),
        pattern => Ok(pattern.to_owned()),
    }
}

fn fingerprint(value: &Value<'_>) -> Result<String, Wrong> {
    let text = string(value, "00a1b2c3d4e5f607:1")?.to_ascii_lowercase();
    if is_fingerprint(&text) {
        return Ok(text);
    }
    Err(wrong(value, format!("{} is no fingerprint such as 00a1b2c3d4e5f607:1.", quoted(&text))))
}

/// Whether a text has the form of a fingerprint: sixteen lower-case hex digits, a colon, and a number from 1.
pub(super) fn is_fingerprint(text: &str) -> bool {
    let Some((hash, number)) = text.split_once(':') else { return false };
    let hex = hash.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    hex && hash.len() == 16 && !number.starts_with(['0', '+']) && number.parse::<u32>().is_ok()
}

fn field(value: &Value<'_>) -> Result<String, Wrong> {
    let text = string(value, "server_info.server_name")?;
    let own = Id::ALL.iter().flat_map(|id| id.info().fields.iter().copied().flatten());
    let known: Vec<_> = SHARED_FIELDS.iter().chain(own).map(|field| field.name).collect();
    if known.iter().any(|name| bare(name) == bare(text)) {
        return Ok(text.to_owned());
    }
    Err(wrong(value, absent("field", text, &known)))
}

/// A path without its indices.
fn bare(path: &str) -> String {
    path.split('[').map(|part| part.split_once(']').map_or(part, |(_, rest)| rest)).collect()
}

/// Whether a finding is about a field. A path without indices matches any element of a list.
fn speaks_of(entry: &Entry, wanted: &str) -> bool {
    let Some(field) = entry.finding.field else { return false };
    entry.finding.path().is_some_and(|path| path == wanted)
        || !wanted.replace("[]", "").contains('[') && bare(field.name) == bare(wanted)
}

/// The suppressions of a configuration, and whether they were used.
#[derive(Debug, Default)]
pub struct Suppressions {
    list: Vec<State>,
}

#[derive(Debug)]
struct State {
    what: Suppression,
    expired: bool,
    used: bool,
}

impl Suppressions {
    /// The suppressions of a configuration, as they apply on that day.
    pub fn new(list: &[Suppression], today: Date) -> Suppressions {
        let state = |what: &Suppression| State {
            what: what.clone(),
            expired: what.until.is_some_and(|until| today > until),
            used: false,
        };
        Suppressions { list: list.iter().map(state).collect() }
    }

    /// Returns the excuse for a finding, if a suppression applies to it. `file` is the capture's name. A symptom does not fail
    /// the check and needs no excuse.
    pub fn excuse(&mut self, entry: &Entry, file: &str) -> Option<Excuse> {
        if !entry.finding.counts() {
            return None;
        }
        let mut excuse = None;
        for state in self.list.iter_mut().filter(|s| !s.expired && s.what.means(entry, file)) {
            state.used = true;
            excuse.get_or_insert_with(|| Excuse::Suppressed(state.what.reason.clone()));
        }
        excuse
    }

    /// The messages to print after all inputs have been read: about suppressions that have expired, and those that no finding
    /// needed. `sought` tells whether every finding of a rule was looked for.
    pub fn complaints(&self, sought: &dyn Fn(&str) -> bool) -> Vec<String> {
        let needless =
            |name: &str| crate::protocols::rules().any(|rule| matches(name, rule) && sought(rule.id));
        let said = self.list.iter().filter_map(|State { what, expired, used }| {
            let Suppression { place, rule, until, .. } = what;
            match until.filter(|_| *expired) {
                Some(until) => {
                    Some(format!("{place}: The suppression of {rule} was for the time until {until}, and no longer applies."))
                }
                None if !used && needless(rule) => Some(format!("{place}: The suppression of {rule} matches no finding.")),
                None => None,
            }
        });
        said.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::config::Config;
    use super::super::recordings::{HERE, Recording, example};
    use super::*;

    const DAY: Date = jiff::civil::date(2026, 6, 30);

    fn config(keys: &str) -> Result<Config, String> {
        Config::read(&Text::new("q.toml", &format!("[[suppress]]\n{keys}\n")))
    }

    fn suppressions(keys: &str, today: Date) -> Suppressions {
        Suppressions::new(&config(keys).unwrap().suppress, today)
    }

    /// The finding of a rule's first example.
    fn entry(recording: &Recording, id: &str) -> Entry {
        let verdict = recording.check(example(id), |_| {});
        verdict.findings.into_iter().find(|e| e.rule().id == id).unwrap()
    }

    #[test]
    fn a_suppression_excuses_with_its_reason_and_is_used() {
        let mut list = suppressions("rule = \"sqp-txn\"\nreason = \" lab \"", DAY);
        assert_eq!(list.complaints(&|_| true), ["q.toml:1: The suppression of sqp-txn matches no finding."]);
        assert_eq!(list.excuse(&entry(&HERE, "SQP-STR-002"), "a.pcap"), None);
        assert_eq!(list.complaints(&|_| true).len(), 1);
        let excuse = list.excuse(&entry(&HERE, "SQP-TXN-004"), "a.pcap");
        assert_eq!(excuse, Some(Excuse::Suppressed("lab".into())));
        assert!(list.complaints(&|_| true).is_empty());
    }

    #[test]
    fn everything_named_must_agree() {
        let e = entry(&HERE, "SQP-STR-002");
        let fingerprint = e.fingerprint.to_string().to_uppercase();
        let path = e.finding.path().unwrap();
        let excused = |key: &str, value: &str| {
            let keys = format!("rule = \"SQP-STR\"\nreason = \"lab\"\n{key} = \"{value}\"");
            suppressions(&keys, DAY).excuse(&e, "captures/nightly-12.pcap").is_some()
        };
        assert!(excused("server", "192.0.2.10:27100"));
        assert!(!excused("server", "192.0.2.10:27101") && !excused("server", "192.0.2.11:27100"));
        assert!(excused("fingerprint", &fingerprint));
        assert!(!excused("fingerprint", "00a1b2c3d4e5f607:1"));
        assert!(excused("file", "nightly-??.pcap") && excused("file", "./captures/*"));
        assert!(!excused("file", "nightly-?.pcap") && !excused("file", "other/*"));
        assert!(excused("field", &path));
        assert!(!excused("field", "token"));
        let mut other_rule = suppressions("rule = \"SQP-TXN\"\nreason = \"lab\"\nfield = \"token\"", DAY);
        assert_eq!(other_rule.excuse(&e, "a.pcap"), None);
    }

    #[test]
    fn a_path_without_indices_means_every_element() {
        let e = entry(&HERE, "GQP-CHR-002");
        let (path, name) = (e.finding.path().unwrap(), e.finding.field.unwrap().name);
        assert!(path.contains("[0]"), "{path} is in a list");
        for wanted in [path.clone(), name.to_owned(), bare(name)] {
            assert!(speaks_of(&e, &wanted), "{wanted}");
        }
        assert!(!speaks_of(&e, &path.replace("[0]", "[1]")));
    }

    #[test]
    fn a_symptom_needs_no_excuse() {
        let mut e = entry(&HERE, "SQP-TXN-004");
        e.finding.caused_by = Some(crate::check::Cause { rule: e.rule(), frame: 1 });
        let mut list = suppressions("rule = \"SQP\"\nreason = \"lab\"", DAY);
        assert_eq!(list.excuse(&e, "a.pcap"), None);
        assert_eq!(list.complaints(&|_| true).len(), 1, "it is not used");
    }

    #[test]
    fn a_suppression_expires_after_its_day() {
        let e = entry(&HERE, "SQP-TXN-004");
        for until in ["\"2026-06-30\"", "2026-06-30"] {
            let keys = format!("rule = \"SQP\"\nreason = \"lab\"\nuntil = {until}");
            let mut list = suppressions(&keys, DAY);
            assert!(list.excuse(&e, "a.pcap").is_some() && list.complaints(&|_| true).is_empty());
            let mut list = suppressions(&keys, DAY.tomorrow().unwrap());
            assert_eq!(list.excuse(&e, "a.pcap"), None);
            let said =
                "q.toml:1: The suppression of SQP was for the time until 2026-06-30, and no longer applies.";
            assert_eq!(list.complaints(&|_| true), [said]);
        }
    }

    #[test]
    fn of_several_the_first_excuses_and_all_are_used() {
        let both =
            "rule = \"SQP\"\nreason = \"first\"\n[[suppress]]\nrule = \"SQP-TXN\"\nreason = \"second\"";
        let mut list = suppressions(both, DAY);
        assert_eq!(list.complaints(&|_| true)[1], "q.toml:4: The suppression of SQP-TXN matches no finding.");
        let excuse = list.excuse(&entry(&HERE, "SQP-TXN-004"), "a.pcap");
        assert_eq!((excuse, list.complaints(&|_| true).len()), (Some(Excuse::Suppressed("first".into())), 0));
    }

    #[test]
    fn mistakes_are_said_with_their_place() {
        let cases = [
            ("rule = \"SQP\"", "1:1: A suppression needs a reason, and this one has none."),
            ("reason = \"lab\"", "1:1: A suppression needs a rule, and this one has none."),
            (
                "rule = \"SQP\"\nreason = \" \"",
                "3:10: The reason is empty; say why the finding is of no concern.",
            ),
            ("rule = \"SQP-TXN-04\"", "2:8: There is no rule \"SQP-TXN-04\"; did you mean SQP-TXN-004?"),
            ("untill = \"2026-01-01\"", "2:1: There is no key \"untill\"; did you mean until?"),
            ("until = \"2026-02-30\"", "2:9: \"2026-02-30\" is no date such as 2026-12-31."),
            ("until = \"2026-02-03T00:00\"", "2:9: \"2026-02-03T00:00\" is no date such as 2026-12-31."),
            ("until = 2026-02-03T00:00:00", "2:9: \"2026-02-03T00:00:00\" is no date such as 2026-12-31."),
            ("until = 12:00:00", "2:9: \"12:00:00\" is no date such as 2026-12-31."),
            ("until = 2026", "2:9: This must be a string such as \"2026-12-31\"; it is of type integer."),
            (
                "server = \"192.0.2.1\"",
                "2:10: \"192.0.2.1\" is no address with a port such as 192.0.2.1:7777 or [2001:db8::1]:7777.",
            ),
            (
                "server = \"[fe80::1%3]:1\"",
                "2:10: \"[fe80::1%3]:1\" is no address with a port such as 192.0.2.1:7777 or [2001:db8::1]:7777.",
            ),
            ("file = \"\"", "2:8: No capture has an empty name."),
            ("fingerprint = \"00a1\"", "2:15: \"00a1\" is no fingerprint such as 00a1b2c3d4e5f607:1."),
            (
                "field = \"server_info.server_nam\"",
                "2:9: There is no field \"server_info.server_nam\"; did you mean server_info.server_name?",
            ),
        ];
        for (keys, wanted) in cases {
            assert_eq!(config(keys).unwrap_err(), format!("q.toml:{wanted}"), "{keys}");
        }
    }

    #[test]
    fn every_key_is_known() {
        for key in KEYS {
            assert!(!config(&format!("{key} = 1")).unwrap_err().contains("There is no key"), "{key}");
        }
    }

    #[test]
    fn fingerprints_have_one_form() {
        assert!(is_fingerprint("00a1b2c3d4e5f607:1") && is_fingerprint("00a1b2c3d4e5f607:4294967295"));
        for text in
            ["", ":", "00a1b2c3d4e5f607", "00a1b2c3d4e5f607:", "00a1b2c3d4e5f607:0", "00a1b2c3d4e5f607:+1"]
        {
            assert!(!is_fingerprint(text), "{text}");
        }
        for text in
            ["00a1b2c3d4e5f60:1", "00A1b2c3d4e5f607:1", "00a1b2c3d4e5f607:01", "00a1b2c3d4e5f607:4294967296"]
        {
            assert!(!is_fingerprint(text), "{text}");
        }
    }
}
