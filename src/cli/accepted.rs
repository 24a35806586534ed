//! The findings that the user has accepted, by reasons in the configuration or by the baseline of `check`.

use super::baseline::Baseline;
use super::config::Config;
use super::diagnostics::error_text;
use super::output;
use super::system::display_name;
use crate::check::matches;
use crate::verdict::{Entry, Excuse, MAX_FINDINGS, Verdict};
use std::path::{Path, PathBuf};

/// The excused rules and the baseline of a run.
#[derive(Debug)]
pub struct Accepted {
    /// Rules or their beginnings, each with the reason.
    excused: Vec<(String, String)>,
    baseline: Option<(PathBuf, Baseline)>,
    update: bool,
    /// How many findings the updated baseline accepts that the old one did not.
    new_findings: u64,
    /// How many findings of the baseline are now excused by a rule in the configuration. The updated baseline leaves them out.
    now_excused: usize,
}

impl Accepted {
    /// Takes the excused rules from a configuration, and loads a baseline. With `update` the baseline need not
    /// exist yet, and every finding is added to it.
    ///
    /// # Errors
    /// A sentence that begins with the name of the baseline and the place of the error.
    pub fn open(config: &Config, path: Option<&Path>, update: bool) -> Result<Accepted, String> {
        let load = |path: &Path| {
            let baseline = if update { Baseline::load_if_there(path) } else { Baseline::load(path) };
            baseline.map(|baseline| (path.to_owned(), baseline))
        };
        let baseline = path.map(load).transpose()?;
        Ok(Accepted { excused: config.excused.clone(), baseline, update, new_findings: 0, now_excused: 0 })
    }

    /// Excuses a finding if it is accepted. The baseline is consulted even if the rule is excused, so that it records which of
    /// its entries were found again. An excused rule takes precedence, because it has a reason.
    pub fn excuse(&mut self, entry: &mut Entry) {
        // A symptom does not fail the check and needs no excuse.
        if !entry.finding.counts() {
            return;
        }
        let suppression = self.excused.iter().filter(|(name, _)| matches(name, entry.rule()));
        let suppression = suppression
            .max_by_key(|(name, _)| name.len())
            .map(|(_, reason)| Excuse::Suppressed(reason.clone()));
        let mut baseline_excuse = self.baseline.as_mut().and_then(|(_, baseline)| baseline.excuse(entry));
        if self.update && suppression.is_none() && baseline_excuse.is_none() {
            baseline_excuse = Some(Excuse::Baseline);
            self.new_findings += 1;
        }
        self.now_excused += usize::from(suppression.is_some() && baseline_excuse.is_some());
        entry.excused = suppression.or(baseline_excuse);
    }

    /// Rewrites the baseline if that was asked for, and returns the message to print at the end. `all_inputs_read` says whether
    /// every input could be read. `fully_checked` says whether a rule was applied to all of the traffic: if not, a finding that
    /// is missing may be in the part that was left out.
    ///
    /// # Errors
    /// A sentence that says why the baseline was not written.
    pub fn finish(
        &self,
        verdict: &Verdict,
        all_inputs_read: bool,
        fully_checked: &dyn Fn(&str) -> bool,
    ) -> Result<Option<String>, String> {
        let Some((path, baseline)) = &self.baseline else { return Ok(None) };
        let (name, (stale, kept)) = (display_name(path), baseline.missing(fully_checked));
        if !self.update {
            let message = format!("{name}: Known findings that were not found: {stale}.");
            return Ok(Some(message).filter(|_| stale > 0));
        }
        let not_written = |why: &str| format!("{name}: The baseline was not written: {why}.");
        if !all_inputs_read {
            return Err(not_written("not every input was read to its end"));
        }
        if verdict.more_findings > 0 && verdict.findings.len() >= MAX_FINDINGS {
            return Err(not_written(&format!(
                "there are more findings than the {MAX_FINDINGS} that are kept"
            )));
        }
        output::write(path, baseline.update(&verdict.findings, fully_checked).as_bytes())
            .map_err(|e| not_written(&error_text(&e)))?;
        let (new_findings, dropped) = (self.new_findings, stale + self.now_excused);
        let mut message =
            format!("{name}: The baseline was written; new findings: {new_findings}, dropped: {dropped}");
        if kept > 0 {
            message += &format!(", kept because this run could not find all of their kind: {kept}");
        }
        Ok(Some(message + "."))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests_recordings::{THERE, example};
    use super::super::text::Text;
    use super::*;

    fn config(text: &str) -> Config {
        Config::read(&Text::new("q.toml", text)).unwrap()
    }

    /// Checks the example of a rule and returns the accepted findings and the verdict.
    fn run(config: &Config, path: &Path, update: bool, id: &str) -> (Accepted, Verdict) {
        let mut accepted = Accepted::open(config, Some(path), update).unwrap();
        let mut verdict = THERE.check(example(id), |entry| accepted.excuse(entry));
        verdict.totals.files = 1;
        (accepted, verdict)
    }

    #[test]
    fn a_baseline_is_written_and_applied_and_missing_findings_are_counted() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("base.json");
        let nothing = Config::default();
        assert!(Accepted::open(&nothing, Some(&path), false).is_err(), "it is not there yet");
        let (accepted, verdict) = run(&nothing, &path, true, "SQP-TXN-009");
        assert_eq!(verdict.counts.total(), 0, "what is known from now on does not fail this run either");
        let message = accepted.finish(&verdict, true, &|_| true).unwrap().unwrap();
        assert!(
            message.ends_with("base.json: The baseline was written; new findings: 1, dropped: 0."),
            "{message:?}"
        );
        let (accepted, verdict) = run(&nothing, &path, false, "SQP-TXN-009");
        assert_eq!((accepted.finish(&verdict, true, &|_| true), verdict.counts.total()), (Ok(None), 0));
        let (accepted, verdict) = run(&nothing, &path, false, "SQP-TXN-004");
        assert!(verdict.counts.total() > 0);
        let message = accepted.finish(&verdict, true, &|_| true).unwrap().unwrap();
        assert!(message.ends_with("base.json: Known findings that were not found: 1."), "{message:?}");
        assert_eq!(accepted.finish(&verdict, false, &|_| false), Ok(None), "the rest may hold it");
        let (accepted, verdict) = run(&nothing, &path, true, "SQP-TXN-004");
        assert!(accepted.finish(&verdict, true, &|_| true).unwrap().unwrap().ends_with("dropped: 1."));
        assert!(!std::fs::read_to_string(&path).unwrap().contains("SQP-TXN-009"));
    }

    #[test]
    fn a_baseline_is_not_written_if_inputs_or_findings_are_incomplete() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("base.json");
        let (accepted, mut verdict) = run(&Config::default(), &path, true, "SQP-TXN-009");
        assert!(
            accepted.finish(&verdict, false, &|_| false).unwrap_err().contains("not every input was read")
        );
        let one = verdict.findings.clone();
        verdict.findings = vec![one[0].clone(); MAX_FINDINGS];
        verdict.more_findings = 3;
        assert!(
            accepted.finish(&verdict, true, &|_| true).unwrap_err().contains("more findings than the 50000")
        );
        assert!(!path.exists());
        verdict.findings = one; // now `more` is only about findings of one datagram, which do not stop the update
        let elsewhere = folder.path().join("none/base.json");
        let accepted = Accepted::open(&Config::default(), Some(&elsewhere), true).unwrap();
        assert!(
            accepted
                .finish(&verdict, true, &|_| true)
                .unwrap_err()
                .contains("none/base.json: The baseline was not written: ")
        );
    }

    #[test]
    fn an_excused_rule_takes_precedence_over_the_baseline_and_a_longer_name_over_a_shorter_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("base.json");
        let (accepted, verdict) = run(&Config::default(), &path, true, "SQP-TXN-009");
        accepted.finish(&verdict, true, &|_| true).unwrap();
        let config = config("[ignore]\nSQP-TXN-009 = \"lab\"\nSQP = \"old\"\nSKY-JSN-001 = \"other\"");
        let (accepted, verdict) = run(&config, &path, false, "SQP-TXN-009");
        let excused: Vec<_> = verdict.findings.iter().map(|e| e.excused.clone()).collect();
        assert_eq!(excused, [Some(Excuse::Suppressed("lab".into()))]);
        assert_eq!(accepted.finish(&verdict, true, &|_| true), Ok(None));
        let (accepted, verdict) = run(&config, &path, true, "SQP-TXN-009");
        let message = accepted.finish(&verdict, true, &|_| true).unwrap().unwrap();
        assert!(message.ends_with("new findings: 0, dropped: 1."), "{message}");
        std::fs::remove_file(&path).unwrap();
        let (accepted, verdict) = run(&config, &path, true, "SQP-TXN-009");
        assert!(accepted.finish(&verdict, true, &|_| true).unwrap().unwrap().contains("new findings: 0,"));
        assert!(!std::fs::read_to_string(&path).unwrap().contains("SQP-TXN-009"), "the reason is enough");
    }
}
