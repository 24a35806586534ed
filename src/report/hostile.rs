//! Text from the network never reaches a terminal raw.

use serde_json::Value;
use std::borrow::Cow;

/// Whether a character may do something to a terminal or to the reader: control characters, marks
/// that turn the direction of text, and characters that have no width of their own.
pub fn is_hostile(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e0fff}')
}

/// The name of a file where it begins a line: one that begins with two colons, blanks aside, is a command to a GitHub
/// runner, and gets a `./` in front.
pub fn line_start(name: &str) -> Cow<'_, str> {
    let name = shown(name);
    if name.trim_start().starts_with("::") { Cow::Owned(format!("./{name}")) } else { name }
}

/// The text as it may be shown: hostile characters as `\n`, `\x1b` or `\u{202e}`, a backslash doubled.
pub fn shown(text: &str) -> Cow<'_, str> {
    if !text.chars().any(|c| is_hostile(c) || c == '\\') {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if (c as u32) < 0x100 && is_hostile(c) => out.push_str(&format!("\\x{:02x}", c as u32)),
            c if is_hostile(c) => out.extend(c.escape_unicode()),
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// The text as it may be shown, in quotes that end where the text ends.
pub fn quoted(text: &str) -> String {
    format!("\"{}\"", shown(text).replace('"', "\\\""))
}

/// JSON text in which nothing turns or hides text on a terminal; serde_json leaves characters beyond ASCII
/// alone.
pub fn harmless(record: &Value) -> String {
    let mut out = String::new();
    for c in record.to_string().chars() {
        if !is_hostile(c) {
            out.push(c);
        } else {
            c.encode_utf16(&mut [0; 2]).iter().for_each(|u| out.push_str(&format!("\\u{u:04x}")));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quote_does_not_end_the_quotes() {
        assert_eq!(quoted("a\" [answer to 3]"), "\"a\\\" [answer to 3]\"");
        assert_eq!(quoted("a\\"), "\"a\\\\\"");
    }

    #[test]
    fn nothing_that_moves_a_cursor_or_turns_text_is_left() {
        assert_eq!(shown("\x1b[2J\u{9b}31m"), "\\x1b[2J\\x9b31m");
        assert_eq!(shown("a\u{202e}b\u{200f}"), "a\\u{202e}b\\u{200f}");
        assert_eq!(shown("a\nb\\c"), "a\\nb\\\\c");
        assert_eq!(shown("Zoé ☃ サーバー"), "Zoé ☃ サーバー");
    }
}
