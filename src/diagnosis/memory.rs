//! How many searches a run makes, and what it has found so far.

use super::{Attempt, Case, Examined, Reason};
use hashbrown::HashMap;

/// Searches for each server, message and first broken rule at most. Further messages are read only as the ones before them
/// were.
pub const MAX_SEARCHES_EACH: u32 = 3;
/// Searches for each message and first broken rule, of any server, that find nothing, before it is searched no more: what
/// explains none of so many servers explains the next one neither.
pub const MAX_FRUITLESS: u32 = 4;
/// Searches at most, all together, and bytes of the messages that are searched.
pub const MAX_SEARCHES: u32 = 1000;
/// See [`MAX_SEARCHES`].
pub const MAX_SEARCHED_BYTES: usize = 1 << 20;

/// The index of the server, the message, and the identifier of the first broken rule.
type Kind = (u32, u8, u8, &'static str);

/// What was found for one kind of message.
#[derive(Debug, Default)]
struct Found {
    searches: u32,
    /// What the messages of this kind are read with so far; `None` if that differs.
    attempt: Option<Attempt>,
    differs: bool,
}

/// What the run has found so far.
#[derive(Debug, Default)]
pub struct Diagnoses {
    found: HashMap<Kind, Found>,
    /// Searches that found nothing, by message and first broken rule, unless one has found something.
    fruitless: HashMap<(u8, u8, &'static str), u32>,
    searches: u32,
    searched_bytes: usize,
    untried: u64,
}

impl Diagnoses {
    /// Number of searches, and of broken messages that were not examined: too many came before them, or they are too long.
    #[cfg(test)]
    pub fn counts(&self) -> (u32, u64) {
        (self.searches, self.untried)
    }

    /// Examines a message of that server.
    #[cold]
    #[inline(never)]
    pub fn examine(&mut self, server: u32, case: &Case<'_>, reason: Reason) -> Examined {
        if case.id.info().layouts.is_empty() {
            return Examined::Untried;
        }
        let rule = reason.rule.map_or("", |rule| rule.id);
        let kind = (server, case.id as u8, case.context.message, rule);
        let known = self.found.get(&kind);
        let searches = known.map_or(0, |found| found.searches);
        let is_known = searches >= MAX_SEARCHES_EACH;
        let of_message = (case.id as u8, case.context.message, rule);
        let is_spent = self.searches >= MAX_SEARCHES
            || self.searched_bytes >= MAX_SEARCHED_BYTES
            || self.fruitless.get(&of_message).is_some_and(|searches| *searches >= MAX_FRUITLESS);
        if case.bytes.len() > super::MAX_BYTES || !is_known && is_spent {
            self.untried = self.untried.saturating_add(1);
            return Examined::Untried;
        }
        if is_known {
            let attempt = known.filter(|found| !found.differs).and_then(|found| found.attempt.as_ref());
            let Some(attempt) = attempt else {
                self.untried = self.untried.saturating_add(1);
                return Examined::Untried;
            };
            let read = case.read_as(attempt);
            return read.map_or(Examined::Unexplained, |bytes| explained(case, attempt, &bytes));
        }
        self.searches = self.searches.saturating_add(1);
        self.searched_bytes = self.searched_bytes.saturating_add(case.bytes.len());
        let result = case.search(reason.rule.is_some());
        let found = self.found.entry(kind).or_default();
        found.searches = found.searches.saturating_add(1);
        let same = match (&found.attempt, &result) {
            (Some(before), Some((now, _))) => before.names() == now.names(),
            (None, None) => true,
            (None, Some(_)) => found.searches == 1,
            (Some(_), None) => false,
        };
        found.differs |= !same;
        let fruitless = self.fruitless.entry(of_message).or_default();
        let Some((attempt, bytes)) = result else {
            *fruitless = fruitless.saturating_add(1);
            return Examined::Unexplained;
        };
        *fruitless = 0;
        let examined = explained(case, &attempt, &bytes);
        found.attempt.get_or_insert(attempt);
        examined
    }
}

fn explained(case: &Case<'_>, attempt: &Attempt, rewritten: &[u8]) -> Examined {
    Examined::Explained(Box::new(case.diagnosis(attempt, rewritten)))
}
