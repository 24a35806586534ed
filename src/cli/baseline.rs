//! The baseline: a file with the fingerprints of known findings, kept beside the captures.
//!
//! It contains no frame numbers, times or addresses, so that it stays the same when the conversation is recorded again. It is
//! sorted, so that a diff shows which findings were added and removed.

use super::text::Text;
use crate::text::escape::{escaped, terminal_safe};
use crate::verdict::{Entry, Excuse};
use serde::de::{Deserializer, Error};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::BTreeMap;
use std::path::Path;

/// The version of the format.
const VERSION: u64 = 1;
/// Maximum length of a baseline in bytes. It has room for five times as many findings as a verdict keeps.
const LONGEST: u64 = 64 << 20;

/// The known findings, and which of them were found again.
#[derive(Debug, Default)]
pub struct Baseline {
    /// Known findings by fingerprint.
    known: BTreeMap<String, KnownFinding>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(rename = "version", deserialize_with = "version")]
    _version: (),
    findings: Vec<KnownFinding>,
}

/// A known finding. Severity and message are only for readers of the file. The rule decides whether a missing finding was checked
/// for.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct KnownFinding {
    #[serde(deserialize_with = "fingerprint")]
    fingerprint: String,
    rule: String,
    severity: String,
    message: String,
    #[serde(default)]
    reason: String,
    #[serde(skip)]
    found: bool,
}

fn version<'de, D: Deserializer<'de>>(input: D) -> Result<(), D::Error> {
    match u64::deserialize(input)? {
        VERSION => Ok(()),
        other => {
            Err(Error::custom(format_args!("version {other} of the format is not known, only {VERSION} is")))
        }
    }
}

fn fingerprint<'de, D: Deserializer<'de>>(input: D) -> Result<String, D::Error> {
    let text = String::deserialize(input)?;
    let wrong = || Error::custom(format_args!("\"{text}\" is no fingerprint such as 00a1b2c3d4e5f607:1"));
    if is_fingerprint(&text) { Ok(text) } else { Err(wrong()) }
}

impl Baseline {
    /// Reads a baseline.
    ///
    /// # Errors
    /// A sentence that begins with the file name, followed by line and column if its content is wrong.
    pub fn load(path: &Path) -> Result<Baseline, String> {
        let text = Text::read(path, LONGEST).map_err(|why| match path.try_exists() {
            Ok(false) => format!("{} `--update-baseline` creates it.", why),
            _ => why,
        })?;
        Baseline::read(&text)
    }

    /// Like [`Baseline::load`], but a missing file counts as an empty baseline, because it is about to be written.
    ///
    /// # Errors
    /// As with [`Baseline::load`].
    pub fn load_if_there(path: &Path) -> Result<Baseline, String> {
        match path.try_exists() {
            Ok(false) => Ok(Baseline::default()),
            _ => Baseline::load(path),
        }
    }

    fn read(text: &Text) -> Result<Baseline, String> {
        let file: File = serde_json::from_str(text.as_str()).map_err(|e| {
            let (at, what) = (text.offset(e.line(), e.column()), e.to_string());
            let place = format!(" at line {} column {}", e.line(), e.column());
            let what = what.strip_suffix(&place).unwrap_or(&what);
            text.at(at, &format!("This is no baseline: {}.", escaped(what)))
        })?;
        let mut known: BTreeMap<String, KnownFinding> = BTreeMap::new();
        for finding in file.findings {
            // A merge may leave the same finding twice. The first one with a reason is kept.
            let reason = known.get(&finding.fingerprint).map(|known| known.reason.is_empty());
            if reason.is_none_or(|none| none) {
                known.insert(finding.fingerprint.clone(), finding);
            }
        }
        Ok(Baseline { known })
    }

    /// Returns the excuse for a finding if it is known, and records that it was found.
    pub fn excuse(&mut self, entry: &Entry) -> Option<Excuse> {
        self.known.get_mut(&entry.fingerprint.to_string()).map(|known| {
            known.found = true;
            Excuse::Baseline
        })
    }

    /// How many known findings were not found again: first those of rules that were `fully_checked`, then the others.
    pub fn missing(&self, fully_checked: &dyn Fn(&str) -> bool) -> (usize, usize) {
        let missing = self.known.values().filter(|known| !known.found);
        let (stale, kept): (Vec<_>, Vec<_>) = missing.partition(|known| fully_checked(&known.rule));
        (stale.len(), kept.len())
    }

    /// Returns the text of a new baseline. It contains the findings that fail the check and those that this baseline excused,
    /// with their reasons, and the known findings of rules that were not `fully_checked`; but no symptoms and no findings that the
    /// user suppressed.
    pub fn update(&self, entries: &[Entry], fully_checked: &dyn Fn(&str) -> bool) -> String {
        let found = entries.iter().filter(|e| e.counts() || e.excused == Some(Excuse::Baseline)).map(|e| {
            let fingerprint = e.fingerprint.to_string();
            let known = self.known.get(&fingerprint);
            KnownFinding {
                reason: known.map(|known| known.reason.clone()).unwrap_or_default(),
                // A value in the message may be another one in every capture; the file then need not differ.
                message: known.map_or_else(|| e.text(), |known| known.message.clone()),
                fingerprint,
                rule: e.rule().id.to_owned(),
                severity: e.finding.severity.name().to_owned(),
                found: true,
            }
        });
        let unchecked = self.known.values().filter(|known| !known.found && !fully_checked(&known.rule));
        let mut sorted = BTreeMap::new();
        for known in found.chain(unchecked.cloned()) {
            sorted.entry((known.rule.clone(), known.fingerprint.clone())).or_insert(known);
        }
        let findings: Vec<_> = sorted.into_values().collect();
        let text = format!("{:#}", json!({ "version": VERSION, "findings": findings }));
        text.lines().map(|line| terminal_safe(line) + "\n").collect()
    }
}

/// Whether a text has the form of a fingerprint: sixteen lower-case hex digits, a colon, and a number from 1.
fn is_fingerprint(text: &str) -> bool {
    let Some((hash, number)) = text.split_once(':') else { return false };
    let hex = hash.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    hex && hash.len() == 16 && !number.starts_with(['0', '+']) && number.parse::<u32>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::super::tests_recordings::{HERE, THERE, example};
    use super::*;
    use crate::rule::Step;
    use crate::verdict::Verdict;

    /// Every rule was looked for.
    const EVERY: fn(&str) -> bool = |_| true;

    fn text(baseline: &str) -> Text {
        Text::new("base.json", baseline)
    }

    fn read(baseline: &str) -> Baseline {
        Baseline::read(&text(baseline)).unwrap()
    }

    /// Checks the example of a rule with the baseline.
    fn checked(baseline: &mut Baseline, id: &str) -> Verdict {
        HERE.check(example(id), |entry| entry.excused = baseline.excuse(entry))
    }

    #[test]
    fn the_same_conversation_has_the_same_fingerprints_wherever_it_is_recorded() {
        let whole = |step: &Step| matches!(step, Step::Frame(..));
        let mut compared = 0;
        for rule in crate::protocols::rules() {
            for example in rule.examples.iter().filter(|e| !e.steps.iter().any(whole)) {
                let here = HERE.fingerprints(example);
                // A server whose messages contain its own address reports a second finding elsewhere: the address does not
                // match.
                let there = THERE.fingerprints(example);
                assert!(
                    here.iter().all(|fingerprint| there.contains(fingerprint)),
                    "{}: {here:?}, {there:?}",
                    rule.id
                );
                assert!(!here.is_empty(), "{} is not found", rule.id);
                let mut unique = here.clone();
                unique.sort();
                unique.dedup();
                assert_eq!(unique.len(), here.len(), "{}: two findings share a fingerprint", rule.id);
                compared += 1;
            }
        }
        assert!(compared > 100, "only {compared} examples were compared");
        assert_ne!(HERE.fingerprints(example("SQP-TXN-009")), HERE.fingerprints(example("SQP-TXN-004")));
    }

    #[test]
    fn a_written_baseline_excuses_the_same_findings_in_another_recording() {
        let mut failing = 0;
        let first = HERE.check(example("SQP-STR-002"), |_| failing += 1);
        assert!(failing > 0 && first.counts.total() > 0);
        let written = Baseline::default().update(&first.findings, &EVERY);
        let mut baseline = read(&written);
        assert_eq!(baseline.missing(&EVERY).0, baseline.known.len(), "nothing was found yet");
        let again = THERE.check(example("SQP-STR-002"), |entry| entry.excused = baseline.excuse(entry));
        assert_eq!((again.counts.total(), baseline.missing(&EVERY).0), (0, 0));
        assert_eq!(baseline.update(&again.findings, &EVERY), written, "an update changes nothing");
    }

    #[test]
    fn an_update_keeps_reasons_adds_new_findings_and_drops_missing_ones() {
        let verdict = checked(&mut Baseline::default(), "SQP-TXN-009");
        let written = Baseline::default().update(&verdict.findings, &EVERY);
        assert_eq!(written.matches("\"reason\": \"\"").count(), verdict.findings.len());
        let with_reason =
            written.replacen("\"reason\": \"\"", "\"reason\": \"old \\\"lab\\\" \u{202e} host\"", 1);
        let mut baseline = read(&with_reason);
        let other = checked(&mut baseline, "SQP-TXN-004");
        assert!(other.counts.total() > 0, "this finding is not known");
        assert_eq!(baseline.missing(&EVERY).0, 1);
        let both: Vec<_> = verdict.findings.iter().chain(&other.findings).cloned().collect();
        let updated = baseline.update(&both, &EVERY);
        assert!(updated.contains("\"reason\": \"old \\\"lab\\\" \\u202e host\""), "{updated}");
        assert!(updated.find("SQP-TXN-004") < updated.find("SQP-TXN-009"), "{updated}");
        assert!(!baseline.update(&other.findings, &EVERY).contains("SQP-TXN-009"));
        let fully_checked = |rule: &str| rule != "SQP-TXN-009";
        assert_eq!(baseline.missing(&fully_checked), (0, 1));
        assert_eq!(
            baseline.update(&other.findings, &fully_checked),
            updated,
            "what was not looked for stays as it is"
        );
    }

    #[test]
    fn the_file_is_the_same_whatever_the_order_of_the_findings() {
        let findings = checked(&mut Baseline::default(), "SQP-TXN-012").findings;
        let mut backwards = findings.clone();
        backwards.reverse();
        backwards.extend(findings.clone());
        let written = Baseline::default().update(&findings, &EVERY);
        assert_eq!(Baseline::default().update(&backwards, &EVERY), written);
        let json: serde_json::Value = serde_json::from_str(&written).unwrap();
        assert_eq!(serde_json::to_string_pretty(&json).unwrap() + "\n", written);
        assert_eq!(Baseline::default().update(&[], &EVERY), "{\n  \"version\": 1,\n  \"findings\": []\n}\n");
        assert!(read("{\"version\":1,\"findings\":[]}").known.is_empty());
    }

    #[test]
    fn symptoms_and_suppressed_findings_are_left_out() {
        let mut findings = checked(&mut Baseline::default(), "SQP-TXN-009").findings;
        let mut symptom = findings[0].clone();
        symptom.finding.caused_by = Some(crate::check::Cause { rule: symptom.rule(), frame: 1 });
        let mut baseline = read(&Baseline::default().update(&findings, &EVERY));
        assert_eq!((baseline.excuse(&findings[0]), baseline.missing(&EVERY).0), (Some(Excuse::Baseline), 0));
        findings[0].excused = Some(Excuse::Suppressed("known".into()));
        findings.push(symptom);
        assert_eq!(Baseline::default().update(&findings, &EVERY), Baseline::default().update(&[], &EVERY));
    }

    #[test]
    fn errors_in_a_baseline_are_reported_with_line_and_column() {
        let error_text = |baseline: &str| Baseline::read(&text(baseline)).unwrap_err();
        let finding = |fingerprint: &str, more: &str| {
            format!(
                "{{\"version\": 1, \"findings\": [\n {{\"fingerprint\": \"{fingerprint}\", \"rule\": \"r\", \
                 \"severity\": \"note\", \"message\": \"m\"{more}}}]}}"
            )
        };
        assert!(Baseline::read(&text(&finding("00a1b2c3d4e5f607:1", ""))).is_ok());
        assert_eq!(error_text(""), "base.json:1:1: This is no baseline: EOF while parsing a value.");
        assert!(
            error_text("{\"version\": 1,\n \"findings\": [}")
                .starts_with("base.json:2:15: This is no baseline: ")
        );
        assert_eq!(
            error_text("{\n  \"version\": 2, \"findings\": [{}]}"),
            "base.json:2:14: This is no baseline: version 2 of the format is not known, only 1 is."
        );
        assert!(error_text("{\"findings\": []}").contains("missing field `version`"));
        assert_eq!(
            error_text(&finding("00a1b2c3d4e5\u{202e}", "")),
            "base.json:2:32: This is no baseline: \"00a1b2c3d4e5\\u{202e}\" is no fingerprint such as \
             00a1b2c3d4e5f607:1."
        );
        assert!(
            error_text(&finding("00a1b2c3d4e5f607:1", ", \"\u{202e}\": 1"))
                .contains("unknown field `\\u{202e}`")
        );
    }

    #[test]
    fn a_missing_file_is_an_error_unless_it_is_about_to_be_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("base.json");
        assert!(Baseline::load(&path).unwrap_err().contains("The file cannot be read: "));
        assert_eq!(Baseline::load_if_there(&path).unwrap().known.len(), 0);
        std::fs::write(&path, "{}").unwrap();
        assert!(Baseline::load_if_there(&path).unwrap_err().contains("base.json:1:2: This is no baseline: "));
        assert!(Baseline::load_if_there(folder.path()).unwrap_err().contains("The file cannot be read: "));
    }

    #[test]
    fn the_first_reason_of_a_repeated_finding_is_kept() {
        let block = |reason: &str| {
            format!(
                "{{\"fingerprint\": \"00a1b2c3d4e5f607:1\", \"rule\": \"r\", \"severity\": \"note\", \
                 \"message\": \"m\", \"reason\": \"{reason}\"}}"
            )
        };
        let both =
            format!("{{\"version\": 1, \"findings\": [{}, {}, {}]}}", block(""), block("a"), block("b"));
        let reasons: Vec<_> = read(&both).known.into_values().map(|known| known.reason).collect();
        assert_eq!(reasons, ["a"]);
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
