//! Holds findings about requests without an answer, while their server has answered none: at the end they may turn out to
//! be symptoms of a silent server.

use super::Entry;
use crate::capture::CaptureInfo;
use crate::check::Cause;
use crate::conversation::NONE;
use crate::exchange::{Exchange, Outcome};
use crate::general::{GEN_004, GEN_009};
use crate::rule::Severity;

use hashbrown::HashMap;

/// Most remarks that are made once for each server; and most findings that wait for the end, when it is known which servers
/// were captured with one side only, and which answer nothing. Further findings are judged at once, as if both sides had
/// been captured, and as if there were answers.
pub(super) const MAX_REMARKS: usize = 50_000;

/// The findings that wait, and the servers that have answered.
#[derive(Debug, Default)]
pub(super) struct Unheard {
    /// Whether each server has answered, by index; the table of servers bounds it.
    answer: Vec<bool>,
    /// At most [`MAX_REMARKS`] findings, as many as wait for other reasons.
    waiting: Vec<Entry>,
    /// Number of further findings, which were reported at once.
    more: u64,
    /// Number of findings reported at once where a server answered nothing.
    pub hasty: u64,
}

impl Unheard {
    /// Notes how an exchange has ended.
    #[inline]
    pub fn see(&mut self, e: &Exchange) {
        if e.server_index == NONE || e.elsewhere || !matches!(e.outcome, Outcome::Answered | Outcome::Late) {
            return;
        }
        let at = e.server_index as usize;
        if self.answer.len() <= at {
            self.answer.resize(at + 1, false);
        }
        self.answer[at] = true;
    }

    /// Holds a finding about an exchange with that server, or returns it, to be reported at once.
    pub fn hold(&mut self, server: u32, entry: Entry) -> Option<Entry> {
        let silence = entry.protocol.info().is_silence(entry.rule()) || entry.rule() == &GEN_004;
        let answers = server == NONE || self.answer.get(server as usize).is_some_and(|answers| *answers);
        if !silence || answers {
            return Some(entry);
        }
        if self.waiting.len() >= MAX_REMARKS {
            self.more += 1;
            return Some(entry);
        }
        self.waiting.push(entry);
        None
    }

    /// No further file continues what has been read so far: returns all findings held. A finding whose server is silent
    /// becomes a symptom of that, but an error that explains why its request was not answered stays its cause.
    pub fn take(&mut self, silent: &[Entry], files: &[(String, CaptureInfo)]) -> Vec<Entry> {
        self.answer.clear();
        let more = std::mem::take(&mut self.more);
        self.hasty += if silent.is_empty() { 0 } else { more };
        let silent: HashMap<_, _> =
            silent.iter().map(|e| ((e.server, e.protocol), (e.file, e.frame))).collect();
        let mut held = std::mem::take(&mut self.waiting);
        for entry in &mut held {
            let faulty = entry.finding.caused_by.is_some_and(|cause| cause.rule.severity == Severity::Error);
            if let Some(&(file, frame)) = silent.get(&(entry.server, entry.protocol)).filter(|_| !faulty) {
                entry.finding.caused_by = Some(Cause { rule: &GEN_009, frame });
                let elsewhere = files.get(file).filter(|_| file != entry.file);
                entry.cause_file = elsewhere.map(|(name, _)| (file, name.as_str().into()));
            }
        }
        held
    }
}

#[cfg(test)]
mod tests {
    use super::super::collect::tests::entry;
    use super::*;

    #[test]
    fn missing_answers_beyond_those_that_wait_are_told_at_once_and_counted() {
        let mut unheard = Unheard::default();
        for _ in 0..MAX_REMARKS {
            assert!(unheard.hold(1, entry(1)).is_none());
        }
        assert!(unheard.hold(1, entry(1)).is_some());
        let mut silent = entry(1);
        silent.finding.rule = &GEN_009;
        let told = unheard.take(&[silent], &[]);
        let linked = told.iter().filter(|e| e.finding.caused_by.is_some_and(|cause| cause.rule == &GEN_009));
        assert_eq!((told.len(), linked.count()), (MAX_REMARKS, MAX_REMARKS));
        assert_eq!(unheard.hasty, 1);
        assert!(unheard.hold(1, entry(1)).is_none(), "there is room again");
        unheard.more = 1;
        unheard.take(&[], &[]);
        assert_eq!(unheard.hasty, 1, "nobody was silent");
    }
}
