//! Errors in an expression and their position.

use crate::text::escape::escaped;
use std::fmt;
use std::ops::Range;
use unicode_width::UnicodeWidthStr;

/// Maximum number of columns shown before the marked part of the expression.
const COLUMNS_BEFORE: usize = 60;
/// Number of columns shown from the start of the marked part.
const COLUMNS_AFTER: usize = 40;

pub(super) type Result<T, E = FilterError> = std::result::Result<T, E>;

/// The byte range of a part of the expression.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TextSpan {
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

impl TextSpan {
    /// A span of `len` bytes that begins at `start`.
    pub fn of(start: usize, len: usize) -> TextSpan {
        TextSpan { start, end: start.saturating_add(len) }
    }

    /// From the start of this span to the end of the other.
    pub fn to(self, other: TextSpan) -> TextSpan {
        TextSpan { start: self.start, end: other.end }
    }

    /// An error about this part of the expression.
    pub fn error<T>(self, message: impl Into<String>) -> Result<T> {
        Err(FilterError::new(self, message))
    }
}

/// An error in an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilterError {
    /// The bytes of the expression that it refers to; empty at the end of the expression.
    pub at: Range<usize>,
    /// One or two full sentences with the problem, the value and the remedy. Safe to print.
    pub what: String,
}

impl FilterError {
    pub(super) fn new(span: TextSpan, message: impl Into<String>) -> FilterError {
        FilterError { at: span.start..span.end, what: message.into() }
    }

    /// Two lines without a final newline: the expression, or the part around the error, and carets below the faulty
    /// part. Safe to print.
    pub fn caret(&self, expression: &str) -> String {
        let split = |offset: usize| {
            let offset =
                (0..=offset.min(expression.len())).rev().find(|&offset| expression.is_char_boundary(offset));
            expression.split_at_checked(offset.unwrap_or(0)).unwrap_or_default()
        };
        let (before, from) = split(self.at.start);
        let marked = split(self.at.end).0.get(before.len()..).unwrap_or_default();
        let skipped = before.chars().count().saturating_sub(COLUMNS_BEFORE);
        let before: String = before.chars().skip(skipped).collect();
        let head = if skipped > 0 { "…" } else { "" };
        let rest: String =
            from.chars().take(COLUMNS_AFTER.max(marked.chars().count().min(COLUMNS_BEFORE))).collect();
        let tail = if rest.len() < from.len() { "…" } else { "" };
        let marked: String = marked.chars().take(COLUMNS_BEFORE).collect();
        let indent = head.width().saturating_add(escaped(&before).width());
        let carets = escaped(&marked).width().max(1);
        format!("{head}{}{}{tail}\n{:indent$}{}", escaped(&before), escaped(&rest), "", "^".repeat(carets))
    }
}

/// The message and the offset of the faulty byte, counted from 1.
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
    fn carets_mark_the_faulty_part() {
        assert_eq!(at(3, 5).caret("a ==bc"), "a ==bc\n   ^^");
        assert_eq!(at(6, 6).caret("a ==bc"), "a ==bc\n      ^", "at the end");
        assert_eq!(at(5, 6).caret("\"é\" x"), "\"é\" x\n    ^", "bytes are no columns");
        assert_eq!(at(3, 4).caret("\"界x"), "\"界x\n ^^", "inside a character: under all of it");
        assert_eq!(at(1, 2).caret("\u{1b}[2J"), "\\x1b[2J\n    ^");
        assert_eq!(at(90, 99).caret("x"), "x\n ^", "beyond the end");
    }

    #[test]
    fn shows_a_long_expression_around_the_faulty_part() {
        let text = "x".repeat(300);
        let caret = at(200, 203).caret(&text);
        assert_eq!(caret, format!("…{}…\n{}^^^", "x".repeat(100), " ".repeat(61)));
    }
}
