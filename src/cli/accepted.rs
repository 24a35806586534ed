//! The findings that the user has accepted, by reasons in the configuration or by the baseline of `check`.

use super::baseline::Baseline;
use super::config::Config;
use super::diagnostics::why;
use super::output;
use super::system::name;
use qdissect::check::matches;
use qdissect::verdict::{Entry, Excuse, MAX_FINDINGS, Verdict};
use std::path::{Path, PathBuf};

/// The excused rules and the baseline of a run.
#[derive(Debug)]
pub struct Accepted {
    /// Rules or their beginnings, each with the reason.
    excused: Vec<(String, String)>,
    baseline: Option<(PathBuf, Baseline)>,
    update: bool,
    /// How many findings the updated baseline accepts that the old one did not.
    new: u64,
    /// How many findings of the baseline have the reason of a rule by now: the updated one leaves them out.
    reasoned: usize,
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
        Ok(Accepted { excused: config.excused.clone(), baseline, update, new: 0, reasoned: 0 })
    }

    /// Excuses a finding if it is accepted. The baseline is asked even if its rule is excused, so that it records which of its
    /// entries are still needed; the reason of a rule takes precedence because it says more.
    pub fn excuse(&mut self, entry: &mut Entry) {
        // A symptom does not fail the check and needs no excuse.
        if !entry.finding.counts() {
            return;
        }
        let own = self.excused.iter().filter(|(name, _)| matches(name, entry.rule()));
        let own =
            own.max_by_key(|(name, _)| name.len()).map(|(_, reason)| Excuse::Suppressed(reason.clone()));
        let mut known = self.baseline.as_mut().and_then(|(_, baseline)| baseline.excuse(entry));
        if self.update && own.is_none() && known.is_none() {
            known = Some(Excuse::Baseline);
            self.new += 1;
        }
        self.reasoned += usize::from(own.is_some() && known.is_some());
        entry.excused = own.or(known);
    }

    /// Rewrites the baseline if that was asked for, and returns the message to print at the end. `sound` says whether every
    /// input could be read, and `sought` whether every finding of a rule was looked for: one that is missing may be in what was
    /// left out.
    ///
    /// # Errors
    /// A sentence that says why the baseline was not written.
    pub fn finish(
        &self,
        verdict: &Verdict,
        sound: bool,
        sought: &dyn Fn(&str) -> bool,
    ) -> Result<Option<String>, String> {
        let Some((path, baseline)) = &self.baseline else { return Ok(None) };
        let (name, (stale, kept)) = (name(path), baseline.missing(sought));
        if !self.update {
            let said = format!("{name}: Known findings that were not found: {stale}.");
            return Ok(Some(said).filter(|_| stale > 0));
        }
        let not = |why: &str| format!("{name}: The baseline was not written: {why}.");
        if !sound {
            return Err(not("not every input was read to its end"));
        }
        if verdict.more_findings > 0 && verdict.findings.len() >= MAX_FINDINGS {
            return Err(not(&format!("there are more findings than the {MAX_FINDINGS} that are kept")));
        }
        output::write(path, baseline.update(&verdict.findings, sought).as_bytes())
            .map_err(|e| not(&why(&e)))?;
        let (new, dropped) = (self.new, stale + self.reasoned);
        let mut news = format!("{name}: The baseline was written; new findings: {new}, dropped: {dropped}");
        if kept > 0 {
            news += &format!(", kept because this run could not find all of their kind: {kept}");
        }
        Ok(Some(news + "."))
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
    fn a_baseline_is_written_used_and_found_stale() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("base.json");
        let nothing = Config::default();
        assert!(Accepted::open(&nothing, Some(&path), false).is_err(), "it is not there yet");
        let (accepted, verdict) = run(&nothing, &path, true, "SQP-TXN-009");
        assert_eq!(verdict.counts.total(), 0, "what is known from now on does not fail this run either");
        let said = accepted.finish(&verdict, true, &|_| true).unwrap().unwrap();
        assert!(
            said.ends_with("base.json: The baseline was written; new findings: 1, dropped: 0."),
            "{said:?}"
        );
        let (accepted, verdict) = run(&nothing, &path, false, "SQP-TXN-009");
        assert_eq!((accepted.finish(&verdict, true, &|_| true), verdict.counts.total()), (Ok(None), 0));
        let (accepted, verdict) = run(&nothing, &path, false, "SQP-TXN-004");
        assert!(verdict.counts.total() > 0);
        let said = accepted.finish(&verdict, true, &|_| true).unwrap().unwrap();
        assert!(said.ends_with("base.json: Known findings that were not found: 1."), "{said:?}");
        assert_eq!(accepted.finish(&verdict, false, &|_| false), Ok(None), "the rest may hold it");
        let (accepted, verdict) = run(&nothing, &path, true, "SQP-TXN-004");
        assert!(accepted.finish(&verdict, true, &|_| true).unwrap().unwrap().ends_with("dropped: 1."));
        assert!(!std::fs::read_to_string(&path).unwrap().contains("SQP-TXN-009"));
    }

    #[test]
    fn a_baseline_is_not_written_from_half_of_what_there_is() {
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
    fn a_reason_goes_before_the_baseline_and_the_most_precise_before_others() {
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
        let said = accepted.finish(&verdict, true, &|_| true).unwrap().unwrap();
        assert!(said.ends_with("new findings: 0, dropped: 1."), "{said}");
        std::fs::remove_file(&path).unwrap();
        let (accepted, verdict) = run(&config, &path, true, "SQP-TXN-009");
        assert!(accepted.finish(&verdict, true, &|_| true).unwrap().unwrap().contains("new findings: 0,"));
        assert!(!std::fs::read_to_string(&path).unwrap().contains("SQP-TXN-009"), "the reason is enough");
    }
}
