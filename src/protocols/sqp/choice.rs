//! Which chunks the body of an answer holds.
//!
//! A chunk carries no tag: only the request says what it is. Where fewer chunks came than were asked
//! for, the subsets of the request's bits are tried; where the request is unknown, all of them.

use super::chunks::{CHK_006, CHK_007, INFO, KNOWN, SERVER_INFO, chunks};
use super::exchange::TXN_017;
use crate::decode::{Cursor, FieldSink, Fit, Violation};
use crate::general::GEN_001;
use crate::rule::Severity;

/// Which chunks a body is decoded as, and which were asked for as far as that matters then.
pub(super) struct Choice {
    pub kinds: u8,
    pub asked: Option<u8>,
    /// The request and the number of chunks leave no other kinds; else they are guessed.
    pub known: bool,
}

/// Chooses the kinds of the chunks; `None` where nothing is known of them.
#[inline(never)]
pub(super) fn choose<S: FieldSink>(c: &mut Cursor<'_, '_, S>, asked: Option<u8>) -> Option<Choice> {
    match asked {
        // One chunk, or none.
        Some(mask) if mask.count_ones() <= 1 => {
            let mask = if c.rest().is_empty() && !c.is_cut() { 0 } else { mask };
            Some(meant(c, asked, mask))
        }
        _ => search(c, asked),
    }
}

/// What was asked for, or rather `kinds` of it.
fn meant<S: FieldSink>(c: &mut Cursor<'_, '_, S>, asked: Option<u8>, kinds: u8) -> Choice {
    if kinds & SERVER_INFO == 0 {
        without_info(c, asked, kinds)
    } else {
        Choice { kinds, asked, known: true }
    }
}

/// How many chunks there are is certain, for their lengths are on the wire; so only choices of that size
/// can fit, and a choice of all that was asked needs no trial.
fn search<S: FieldSink>(c: &mut Cursor<'_, '_, S>, asked: Option<u8>) -> Option<Choice> {
    let mask = asked.unwrap_or(KNOWN);
    let count = if c.is_cut() { None } else { chunk_count(c.rest()) };
    if asked.is_some() && count.is_none_or(|n| n >= mask.count_ones()) {
        if c.is_cut()
            && let Some(kinds) = fewer_of_cut(c, mask)
        {
            return Some(Choice { kinds, asked: None, known: false });
        }
        return Some(meant(c, asked, mask));
    }
    let mut fits = candidates(mask, count.unwrap_or(0)).filter(|&m| fits(c, m));
    let (first, second) = (fits.next(), fits.next());
    let whole = c.to_end();
    c.about(None);
    if asked.is_none() {
        c.check_at(&CHK_006, whole, || false);
    }
    match first {
        Some(kinds) => {
            c.check_at(&CHK_007, whole, || second.is_none());
            Some(Choice { kinds, asked, known: asked.is_some() && second.is_none() })
        }
        // The request says what it should have been; without it, guessing would blame the innocent.
        None => asked.map(|mask| Choice { known: false, ..meant(c, asked, mask) }),
    }
}

/// Of a body that the capture cut: fewer kinds than were asked for, if only they can be read up to the cut with nothing
/// wrong but what is wrong with ServerInfo, which is always answered. What else is missing, nobody knows.
#[cold]
fn fewer_of_cut<S: FieldSink>(c: &Cursor<'_, '_, S>, mask: u8) -> Option<u8> {
    // Whether decoding comes as far as the cut, and what is wrong on the way.
    let tried = |m: u8| {
        let (mut wrong, mut reached) = (Wrong::default(), false);
        c.trial(&mut wrong, |c| {
            let out = chunks(c, (m, true));
            reached = out.as_ref().map_or_else(|fault| fault.rule == &GEN_001, |_| c.rest().is_empty());
            out
        });
        (reached && !wrong.fit.misfit, wrong.warnings)
    };
    if tried(mask).0 {
        return None;
    }
    let info = mask & SERVER_INFO;
    let (_, warnings) = tried(info);
    let fewer = (1..mask.count_ones()).rev().flat_map(|size| candidates(mask, size));
    fewer.filter(|m| m & SERVER_INFO == info).find(|&m| tried(m) == (true, warnings))
}

/// A trial that counts warnings, too.
#[derive(Default)]
struct Wrong {
    fit: Fit,
    warnings: u32,
}

impl FieldSink for Wrong {
    fn violation(&mut self, v: Violation) {
        self.warnings = self.warnings.saturating_add(u32::from(v.rule.severity == Severity::Warning));
        self.fit.violation(v);
    }
}

/// How many whole chunks the body holds; `None` if their lengths do not end where the body does.
fn chunk_count(mut body: &[u8]) -> Option<u32> {
    let mut count = 0u32;
    while !body.is_empty() {
        let (length, rest) = body.split_first_chunk()?;
        body = rest.get(u32::from_be_bytes(*length) as usize..)?;
        count = count.saturating_add(1);
    }
    Some(count)
}

/// The subsets of `mask` with `size` bits: those with ServerInfo first, then by lower bits.
fn candidates(mask: u8, size: u32) -> impl Iterator<Item = u8> {
    let with = |info: u8| (0..=KNOWN).filter(move |m| m & SERVER_INFO == info);
    with(SERVER_INFO).chain(with(0)).filter(move |&m| m & !mask == 0 && m.count_ones() == size)
}

fn fits<S: FieldSink>(c: &Cursor<'_, '_, S>, mask: u8) -> bool {
    let mut fit = Fit::default();
    c.trial(&mut fit, |c| chunks(c, (mask, true))) && !fit.misfit
}

/// For a body of which ServerInfo was not requested: it may be there all the same.
fn without_info<S: FieldSink>(c: &mut Cursor<'_, '_, S>, asked: Option<u8>, mask: u8) -> Choice {
    let count = if c.is_cut() { None } else { chunk_count(c.rest()) };
    let with_info = |&m: &u8| m & SERVER_INFO != 0 && fits(c, m);
    let kinds = candidates(mask | SERVER_INFO, count.unwrap_or(0)).find(with_info);
    let Some(kinds) = kinds.filter(|_| !fits(c, mask)) else {
        return Choice { kinds: mask, asked, known: true };
    };
    let whole = c.to_end();
    c.about(Some(&INFO));
    c.check_at(&TXN_017, whole, || false);
    Choice { kinds, asked, known: false }
}

/// Whether what is left behind the requested chunks is more than padding, and decodes exactly as others.
#[cold]
pub(super) fn surplus_is_chunks<S: FieldSink>(c: &Cursor<'_, '_, S>, mask: u8) -> bool {
    let count = chunk_count(c.rest()).filter(|_| c.rest().len() > 4);
    count.is_some_and(|n| candidates(KNOWN & !mask, n).any(|m| fits(c, m)))
}
