//! Diagnosis: what would make a broken message fit.
//!
//! A message that breaks rules is read again with declared variations: numbers in the other byte order, other lengths of
//! texts, a header that is counted. If exactly one reading fits, it is the diagnosis.
//!
//! ```text
//! Layout + Variations ──> Reader ──the message as it should have been──> Id::dissect_to(Notes) ──nothing broken──> Diagnosis
//! crate::layout               search                                         judge
//! ```
//!
//! The decoder stays the one truth: a wrong layout can lose a diagnosis, and never make one that the rules would not
//! accept. Nothing here runs for a message without a reason.

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic, clippy::arithmetic_side_effects)]

mod json;
mod judge;
mod memory;
mod search;
#[cfg(test)]
mod tests;
mod words;

pub use json::DiagnosisRecord;
pub use judge::{is_reason, reason};
pub use memory::Diagnoses;
pub use search::Attempt;

use crate::contract::{Context, Direction};
use crate::decode::Notes;
use crate::layout::{Expected, Layout, Reader};
use crate::protocols::Id;
use crate::rule::Rule;

/// Bytes of a message at most.
pub const MAX_BYTES: usize = 16 << 10;
/// Messages that are judged for one search at most.
pub const MAX_JUDGED: usize = 64;

/// Why a message is examined.
#[derive(Clone, Copy, Debug)]
pub struct Reason {
    /// The first rule that it breaks; `None` if it is only unknown.
    pub rule: Option<&'static Rule>,
}

/// What would make a broken message fit.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagnosis {
    /// Names of the variations, in alphabetical order.
    pub variations: Vec<String>,
    /// `everything fits if numbers are little-endian`.
    pub help: String,
    /// What the specification says instead.
    pub says: &'static str,
    /// The section that says it.
    pub section: &'static str,
    /// The facts of the message as it should have been, as people read them.
    pub facts: String,
    /// The fields of the message as it should have been, an object in JSON.
    pub reading: Vec<u8>,
    /// It explains one value only, so that one message proves little.
    pub weak: bool,
}

/// What the search came to for one message.
#[derive(Debug, Default)]
pub enum Examined {
    /// Nothing is wrong with its bytes.
    #[default]
    Clean,
    /// It is broken, and was not searched: it is cut or a part, or there were too many before it.
    Untried,
    /// It is broken, and nothing makes it fit.
    Unexplained,
    /// It is broken, and this makes it fit.
    Explained(Box<Diagnosis>),
}

impl Examined {
    /// The diagnosis, if there is one.
    pub fn diagnosis(&self) -> Option<&Diagnosis> {
        if let Examined::Explained(diagnosis) = self { Some(diagnosis) } else { None }
    }
}

/// A message that may have a diagnosis.
#[derive(Clone, Copy, Debug)]
pub struct Case<'a> {
    /// Its protocol.
    pub id: Id,
    /// Its bytes.
    pub bytes: &'a [u8],
    /// The context of its decoder.
    pub context: Context,
    /// What is known about it.
    pub expected: Expected,
    /// The step of its request, where that is known.
    pub step: Option<u8>,
}

impl Case<'_> {
    /// The layouts that it may have.
    fn layouts(&self) -> impl Iterator<Item = &'static Layout> + use<'_> {
        let is_answer = self.context.direction == Direction::S2c;
        self.id.info().layouts.iter().filter(move |layout| {
            let asked = match (is_answer, self.step) {
                (true, Some(step)) => layout.step.is_none_or(|own| own == step),
                (true, None) => layout.message == self.context.message,
                (false, _) => true,
            };
            layout.answer == is_answer && asked && !(layout.needs_issued && self.expected.issued.is_none())
        })
    }

    /// The context in which the rewritten message is judged.
    fn context_of(&self, layout: &Layout) -> Context {
        let asked = self.expected.asked.or(self.context.asked);
        Context { message: layout.message, missing: 0, asked, ..self.context }
    }

    /// Searches for the one reading that fits.
    #[cold]
    #[inline(never)]
    pub fn search(&self, has_rule: bool) -> Option<(Attempt, Vec<u8>)> {
        let mut notes = Notes::default();
        let mut judged = 0usize;
        for layout in self.layouts() {
            let mut declared = Reader::new(self.bytes, layout, &[], self.expected);
            if !has_rule && declared.read().is_some() && (layout.plausible)(&declared) {
                return None;
            }
            let context = self.context_of(layout);
            let mut accepted = vec![];
            for (bytes, fits) in search::search(self.bytes, layout, self.expected) {
                let Some(attempt) = search::commonest(fits).filter(|_| bytes != self.bytes) else { continue };
                judged = judged.saturating_add(1);
                if judged > MAX_JUDGED {
                    return None;
                }
                if judge::accepts(self.id, &bytes, &context, &mut notes) {
                    accepted.push((attempt, bytes));
                }
            }
            if !accepted.is_empty() {
                let only = accepted.len() == 1;
                return accepted.pop().filter(|_| only);
            }
        }
        None
    }

    /// Reads the message with known variations only.
    pub fn read_as(&self, attempt: &Attempt) -> Option<Vec<u8>> {
        let context = self.context_of(attempt.layout);
        let mut fits = attempt.read(self.bytes, self.expected);
        let (bytes, strong) = fits.pop().filter(|_| fits.is_empty())?;
        let fits =
            strong && bytes != self.bytes && judge::accepts(self.id, &bytes, &context, &mut Notes::default());
        fits.then_some(bytes)
    }

    /// The diagnosis of a message that is rewritten.
    pub fn diagnosis(&self, attempt: &Attempt, rewritten: &[u8]) -> Diagnosis {
        let context = self.context_of(attempt.layout);
        let decoded = self.id.dissect(rewritten, &context, &mut crate::decode::Skip);
        let (says, section) = words::says(attempt);
        let facts = decoded
            .facts()
            .map_or(String::new(), |facts| words::facts(facts, attempt.layout, rewritten, self.expected));
        Diagnosis {
            variations: attempt.names(),
            help: words::help(attempt),
            says,
            section,
            facts,
            reading: judge::fields(self.id, rewritten, &context),
            weak: attempt.set.iter().all(|v| v.weak) && attempt.whole.is_none(),
        }
    }
}
