//! Strings, and which control codes must not stand in them.

use super::grammar::*;
use super::samples::*;
use crate::decode::wire::Stop;
use crate::decode::{Cursor, Fault, Field, FieldSink, Span, Value};
use crate::rule::{Example, Rule, Step::*, rules};

rules! {
    /// NUL, TAB, LF and the like, or a code that means something elsewhere. The author wants no zero
    /// bytes: a string holds printable characters only.
    CHR_001 = "GQP-CHR-001" Error "string contains a control character" {
        cite: draft("Grammar, STRING"),
        examples: [Example::of(&[C("6563686f 1e 610062 04")])],
    }
    /// The grammar speaks of the ASCII table, its author of "plain 8bit ASCII". Bytes beyond ASCII are
    /// shown as Latin-1.
    CHR_002 = "GQP-CHR-002" Note "string contains a byte beyond ASCII" {
        cite: draft("Discussion"),
        strict: Warning,
        examples: [Example::of(&[C("6563686f 1e 636166e9 04")])],
    }
    /// It is a control code, though not one of the first 32.
    CHR_003 = "GQP-CHR-003" Warning "string contains DEL" {
        cite: draft("Grammar, STRING"),
        examples: [Example::of(&[C("6563686f 1e 617f 04")])],
    }
    /// The draft lists STX, ETX, DLE and ETB as control codes, but no rule of its grammar uses them.
    CHR_004 = "GQP-CHR-004" Warning "string contains a listed control code that the grammar does not use" {
        cite: draft("Reference, ASCII Table"),
        examples: [Example::of(&[C("6563686f 1e 6103 04")])],
    }
}

/// A rule, and the bytes that break it.
pub(super) type Forbidden = (&'static Rule, fn(u8) -> bool);

/// What one string breaks, whichever it is.
pub(super) static EVERYWHERE: [Forbidden; 4] = [
    (&CHR_001, |b| b < 0x20 && !is_unused(b)),
    (&CHR_002, |b| b >= 0x80),
    (&CHR_003, |b| b == 0x7f),
    (&CHR_004, is_unused),
];

fn is_unused(b: u8) -> bool {
    matches!(b, STX | ETX | DLE | ETB)
}

/// Reads a string up to one of `ends`, behind `before` bytes of separators and marks that belong to it,
/// and checks it.
pub(super) fn string<'a, S: FieldSink>(
    c: &mut Cursor<'a, '_, S>,
    field: &'static Field,
    before: usize,
    ends: &[u8],
    rules: &[Forbidden],
) -> Result<&'a [u8], Fault> {
    let text = c.field_as(field, piece(before, ends), Value::Latin1)?;
    if S::COVERAGE {
        rules.iter().for_each(|(rule, _)| c.check(rule, || true));
    }
    if S::RULES && !text.iter().all(|b| matches!(b, 0x20..=0x7e)) {
        let start = c.last().end.saturating_sub(text.len() as u16);
        for (rule, wrong) in rules {
            if let Some(i) = text.iter().position(|b| wrong(*b)) {
                let start = start.saturating_add(i as u16);
                c.check_at(rule, Span { start, end: start.saturating_add(1) }, || false);
            }
        }
    }
    Ok(text)
}

/// A nom parser: skips `before` bytes and takes what stands before one of `ends`, or before an ETB that
/// ends the datagram, for that one separates blocks.
fn piece<'a>(before: usize, ends: &[u8]) -> impl Fn(&'a [u8]) -> nom::IResult<&'a [u8], &'a [u8], Stop> {
    move |input| {
        let Some(rest) = input.get(before..) else { return Err(nom::Err::Error(Stop::Short(before as u32))) };
        let (mut text, mut rest) = until(rest, ends);
        if let (true, Some((&ETB, kept))) = (rest.is_empty(), text.split_last()) {
            rest = text.get(kept.len()..).unwrap_or_default();
            text = kept;
        }
        Ok((rest, text))
    }
}
