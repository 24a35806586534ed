//! Errors in an expression, and their place.

use crate::escape::shown;
use std::fmt;
use std::ops::Range;
use unicode_width::UnicodeWidthStr;

/// Most columns of the expression that are shown before the marked place.
const BEFORE: usize = 60;
/// Columns shown from the first byte of the marked place on.
const BEHIND: usize = 40;

pub(super) type Result<T, E = FilterError> = std::result::Result<T, E>;

/// The place of a part in the expression, in bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Place {
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

impl Place {
    /// So many bytes from `start` on.
    pub fn of(start: usize, len: usize) -> Place {
        Place { start, end: start.saturating_add(len) }
    }

    /// From the start of this one to the end of the other.
    pub fn to(self, other: Place) -> Place {
        Place { start: self.start, end: other.end }
    }

    /// The error about this place.
    pub fn refuse<T>(self, what: impl Into<String>) -> Result<T> {
        Err(FilterError::new(self, what))
    }
}

/// Why an expression is not a filter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilterError {
    /// The bytes of the expression that it refers to; empty at the end of the expression.
    pub at: Range<usize>,
    /// A full sentence or two: what is wrong, with the value, and the way out. Safe to print.
    pub what: String,
}

impl FilterError {
    pub(super) fn new(at: Place, what: impl Into<String>) -> FilterError {
        FilterError { at: at.start..at.end, what: what.into() }
    }

    /// Two lines without a newline at the end: the expression, or the part of it around the place, and carets under
    /// the faulty part. Safe to print.
    pub fn caret(&self, expression: &str) -> String {
        let split = |at: usize| {
            let at = (0..=at.min(expression.len())).rev().find(|&at| expression.is_char_boundary(at));
            expression.split_at_checked(at.unwrap_or(0)).unwrap_or_default()
        };
        let (before, from) = split(self.at.start);
        let marked = split(self.at.end).0.get(before.len()..).unwrap_or_default();
        let skipped = before.chars().count().saturating_sub(BEFORE);
        let before: String = before.chars().skip(skipped).collect();
        let head = if skipped > 0 { "…" } else { "" };
        let rest: String = from.chars().take(BEHIND.max(marked.chars().count().min(BEFORE))).collect();
        let tail = if rest.len() < from.len() { "…" } else { "" };
        let marked: String = marked.chars().take(BEFORE).collect();
        let indent = head.width().saturating_add(shown(&before).width());
        let carets = shown(&marked).width().max(1);
        format!("{head}{}{}{tail}\n{:indent$}{}", shown(&before), shown(&rest), "", "^".repeat(carets))
    }
}

/// The sentence, and the byte that it refers to, counted from 1.
impl fmt::Display for FilterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "At byte {} of the filter: {}", self.at.start.saturating_add(1), self.what)
    }
}

impl std::error::Error for FilterError {}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(start: usize, end: usize) -> FilterError {
        FilterError { at: start..end, what: "It is wrong.".into() }
    }

    #[test]
    fn the_caret_stands_under_the_place() {
        assert_eq!(at(3, 5).caret("a ==bc"), "a ==bc\n   ^^");
        assert_eq!(at(6, 6).caret("a ==bc"), "a ==bc\n      ^", "at the end");
        assert_eq!(at(5, 6).caret("\"é\" x"), "\"é\" x\n    ^", "bytes are no columns");
        assert_eq!(at(3, 4).caret("\"界x"), "\"界x\n ^^", "inside a character: under all of it");
        assert_eq!(at(1, 2).caret("\u{1b}[2J"), "\\x1b[2J\n    ^");
        assert_eq!(at(90, 99).caret("x"), "x\n ^", "beyond the end");
    }

    #[test]
    fn a_long_expression_is_shown_around_the_place() {
        let text = "x".repeat(300);
        let caret = at(200, 203).caret(&text);
        assert_eq!(caret, format!("…{}…\n{}^^^", "x".repeat(100), " ".repeat(61)));
    }
}
