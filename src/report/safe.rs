//! Text in cells that a spreadsheet reads.

use super::shown;
use std::borrow::Cow;
use std::fmt;

/// Text as a field of CSV (RFC 4180): quoted where needed, escaped as on screens, and with an apostrophe in front
/// where a spreadsheet would take it for a formula.
#[derive(Clone, Copy, Debug)]
pub struct Safe<'a>(pub &'a str);

impl fmt::Display for Safe<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&quoted_cell(&guarded(self.0), ','))
    }
}

/// Text escaped as on screens, with an apostrophe in front where a spreadsheet would take it for a formula.
pub fn guarded(text: &str) -> Cow<'_, str> {
    let formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let text = shown(text);
    if formula { Cow::Owned(format!("'{text}")) } else { text }
}

/// A cell of one line in quotes, if it needs them between such separators.
pub fn quoted_cell(text: &str, separator: char) -> Cow<'_, str> {
    if text.contains([separator, '"']) {
        Cow::Owned(format!("\"{}\"", text.replace('"', "\"\"")))
    } else {
        Cow::Borrowed(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spreadsheet_sees_no_formula_and_a_terminal_no_command() {
        for (text, safe) in [
            ("plain", "plain"),
            ("=1+1", "'=1+1"),
            ("+1", "'+1"),
            ("-1", "'-1"),
            ("@a", "'@a"),
            ("\tx", "'\\tx"),
            ("\rx", "'\\rx"),
            ("=\"a\",b", "\"'=\"\"a\"\",b\""),
            ("a\r\nb", "a\\r\\nb"),
            ("\x1b[2J", "\\x1b[2J"),
        ] {
            assert_eq!(Safe(text).to_string(), safe);
        }
    }
}
