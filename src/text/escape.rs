//! Escapes and shortens text from the network before it is written, so that it never reaches a terminal or a spreadsheet
//! raw.

use serde::Serialize;
use std::borrow::Cow;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Characters beyond Latin-1 that may mislead a reader, in order: those that Unicode lets a program leave out when it shows a
/// text (Default_Ignorable_Code_Point, which has the marks without width, the fillers and most of those that turn text), the
/// separators of lines, format characters that show nothing (Cf without Prepended_Concatenation_Mark), and the Braille
/// pattern without a dot.
const HOSTILE: [(char, char); 18] = [
    ('\u{34f}', '\u{34f}'),
    ('\u{61c}', '\u{61c}'),
    ('\u{115f}', '\u{1160}'),
    ('\u{17b4}', '\u{17b5}'),
    ('\u{180b}', '\u{180f}'),
    ('\u{200b}', '\u{200f}'),
    ('\u{2028}', '\u{202e}'),
    ('\u{2060}', '\u{206f}'),
    ('\u{2800}', '\u{2800}'),
    ('\u{3164}', '\u{3164}'),
    ('\u{fe00}', '\u{fe0f}'),
    ('\u{feff}', '\u{feff}'),
    ('\u{ffa0}', '\u{ffa0}'),
    ('\u{fff0}', '\u{fffb}'),
    ('\u{13430}', '\u{1343f}'),
    ('\u{1bca0}', '\u{1bca3}'),
    ('\u{1d173}', '\u{1d17a}'),
    ('\u{e0000}', '\u{e0fff}'),
];

/// Whether a character may affect a terminal or mislead the reader: control characters, marks that change the direction of
/// text, and characters that nobody sees.
pub fn is_hostile(c: char) -> bool {
    if c < '\u{100}' {
        return c.is_control() || c == '\u{ad}';
    }
    let after = HOSTILE.partition_point(|(first, _)| *first <= c);
    after.checked_sub(1).and_then(|at| HOSTILE.get(at)).is_some_and(|(_, last)| c <= *last)
}

/// Whether a `[` behind this text would complete a command of a CI system, which some look for anywhere in a line: `##[` of
/// GitHub, `##vso[` of Azure Pipelines, `##teamcity[`, and whatever other word there may be.
fn opens_command(before: &str) -> bool {
    before
        .trim_end_matches(|c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_'))
        .ends_with("##")
}

/// Whether GitHub's runners would take a text for a command if it began a line, leading blanks aside; an IPv6 address is
/// no command.
fn begins_command(text: &str) -> bool {
    let text = text.trim_start();
    text.starts_with("::") && !text.chars().all(|c| c.is_ascii_hexdigit() || matches!(c, ':' | '.' | '/'))
}

/// Whether a CI system may find a command in the text, even behind other text.
pub fn holds_command(text: &str) -> bool {
    text.match_indices('[').any(|(at, _)| text.get(..at).is_some_and(opens_command))
}

/// The text with hostile characters escaped, as in `\n`, `\x1b` or `\u{202e}`, and backslashes doubled. No CI system takes
/// it for a command, wherever it is written.
pub fn escaped(text: &str) -> Cow<'_, str> {
    let mut command = begins_command(text);
    if !command && !text.chars().any(|c| is_hostile(c) || c == '\\' || c == '#') {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            ':' if std::mem::take(&mut command) => out.push_str("\\x3a"),
            '[' if opens_command(&out) => out.push_str("\\x5b"),
            c if (c as u32) < 0x100 && is_hostile(c) => out.push_str(&format!("\\x{:02x}", c as u32)),
            c if is_hostile(c) => out.extend(c.escape_unicode()),
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// The escaped text in double quotes; quotes within it are escaped, too.
pub fn quoted(text: &str) -> String {
    format!("\"{}\"", escaped(text).replace('"', "\\\""))
}

/// The bytes of pairs of hex digits; other characters are left out.
pub(crate) fn from_hex(digits: &str) -> impl Iterator<Item = u8> + '_ {
    let digit = |c: u8| char::from(c).to_digit(16);
    let pairs = digits.as_bytes().as_chunks::<2>().0.iter();
    pairs.filter_map(move |[high, low]| u8::try_from(digit(*high)? << 4 | digit(*low)?).ok())
}

/// Bytes as hex digits.
pub fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The first bytes as hex digits, at most `most` bytes; an ellipsis stands for the others.
pub fn to_hex_head(bytes: &[u8], most: usize) -> String {
    match bytes.split_at_checked(most) {
        Some((head, [_, ..])) => to_hex(head) + "…",
        _ => to_hex(bytes),
    }
}

/// The bytes of a text that is not UTF-8, as hex digits; `None` if it is UTF-8. Records have them beside the text, in
/// which U+FFFD replaces invalid bytes.
#[cfg(feature = "page")]
pub fn damaged_hex(text: &[u8]) -> Option<String> {
    std::str::from_utf8(text).is_err().then(|| to_hex(text))
}

/// JSON text in which characters that turn or hide text on a terminal are written as `\u` escapes; serde_json leaves
/// characters beyond ASCII alone.
pub fn terminal_safe_json(record: &impl Serialize) -> String {
    // Writing fails only for keys that are not strings, and no record has such keys.
    terminal_safe(&serde_json::to_string(record).unwrap_or_default())
}

/// As [`terminal_safe_json`], for JSON that is already text.
pub fn terminal_safe(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        if !is_hostile(c) {
            out.push(c);
        } else {
            c.encode_utf16(&mut [0; 2]).iter().for_each(|u| out.push_str(&format!("\\u{u:04x}")));
        }
    }
    out
}

/// Text as a field of CSV (RFC 4180): quoted where needed, escaped as on screens, and with an apostrophe in front
/// where a spreadsheet would take it for a formula.
#[cfg(feature = "page")]
#[derive(Clone, Copy, Debug)]
pub struct CsvText<'a>(pub &'a str);

#[cfg(feature = "page")]
impl std::fmt::Display for CsvText<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&quoted_cell(&formula_safe(self.0), ','))
    }
}

/// Text escaped as on screens, with an apostrophe in front if a spreadsheet would take it for a formula.
pub fn formula_safe(text: &str) -> Cow<'_, str> {
    let formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let text = escaped(text);
    if formula { Cow::Owned(format!("'{text}")) } else { text }
}

/// A cell of one line, in quotes if it holds the separator or a quote.
pub fn quoted_cell(text: &str, separator: char) -> Cow<'_, str> {
    if text.contains([separator, '"']) {
        Cow::Owned(format!("\"{}\"", text.replace('"', "\"\"")))
    } else {
        Cow::Borrowed(text)
    }
}

/// Characters allowed per column: a longer text is cut even if it fits, because combining marks have no width.
const CHARS_PER_COLUMN: usize = 4;

/// The text cut to at most `most` columns of a terminal, with an ellipsis where something was left out. A wide character
/// takes two columns, and a mark stays with its letter.
pub fn truncated(text: &str, most: usize) -> String {
    let max_chars = most.saturating_mul(CHARS_PER_COLUMN);
    // No character has more columns than bytes.
    if text.len() <= most || text.len() <= max_chars && text.width() <= most {
        return text.to_owned();
    }
    let room = most.saturating_sub(1);
    let mut columns = 0;
    let fits = text.chars().take(max_chars).take_while(|c| {
        columns += c.width().unwrap_or(0);
        columns <= room
    });
    fits.chain(['…']).collect()
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
    fn hostile_characters_are_escaped() {
        assert_eq!(escaped("\x1b[2J\u{9b}31m"), "\\x1b[2J\\x9b31m");
        assert_eq!(escaped("a\u{202e}b\u{200f}"), "a\\u{202e}b\\u{200f}");
        assert_eq!(escaped("a\nb\\c"), "a\\nb\\\\c");
        assert_eq!(escaped("Zoé ☃ サーバー"), "Zoé ☃ サーバー");
    }

    #[test]
    fn commands_of_ci_runners_are_escaped() {
        for (text, safe) in [
            ("::error::x", "\\x3a:error::x"),
            (" \u{3000}::x", " \u{3000}\\x3a:x"),
            ("a ::error::x", "a ::error::x"),
            ("::ffff:192.0.2.1", "::ffff:192.0.2.1"),
            ("::1/64", "::1/64"),
            ("a##[error]x", "a##\\x5berror]x"),
            ("###[x]", "###\\x5bx]"),
            ("# [x]", "# [x]"),
            ("##vso[task.setvariable variable=PATH]x", "##vso\\x5btask.setvariable variable=PATH]x"),
            ("a ##teamcity[testFailed]", "a ##teamcity\\x5btestFailed]"),
            ("##other-1.0_x[##[", "##other-1.0_x\\x5b##\\x5b"),
            ("## vso[x]", "## vso[x]"),
            ("#vso[x]##a", "#vso[x]##a"),
        ] {
            assert_eq!(escaped(text), safe);
        }
    }

    #[test]
    fn hostile_characters_are_those_that_unicode_names() {
        let named = r"^[\p{Cc}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}[\p{Cf}--\p{Prepended_Concatenation_Mark}]\u{2800}]$";
        let named = regex::Regex::new(named).expect("the tests have all properties");
        let is_named = |c: char| named.is_match(c.encode_utf8(&mut [0; 4]));
        let others: Vec<_> = ('\0'..=char::MAX).filter(|&c| is_hostile(c) != is_named(c)).collect();
        assert!(others.is_empty(), "{others:?}");
    }

    #[test]
    fn csv_cells_hold_no_formula_and_no_escape_sequence() {
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
            assert_eq!(CsvText(text).to_string(), safe);
        }
    }

    #[test]
    fn longer_text_is_cut_by_columns() {
        for (text, most, expected) in [
            ("abc", 3, "abc"),
            ("abcd", 3, "ab…"),
            ("サーバー", 8, "サーバー"),
            ("サーバー", 7, "サーバ…"),
            ("サーバー", 6, "サー…"),
            ("e\u{301}e\u{301}e\u{301}", 3, "e\u{301}e\u{301}e\u{301}"),
            ("e\u{301}e\u{301}e\u{301}x", 3, "e\u{301}e\u{301}…"),
            ("", 0, ""),
            ("a", 0, "…"),
        ] {
            assert_eq!(truncated(text, most), expected, "{text} {most}");
        }
    }

    #[test]
    fn endless_combining_marks_are_cut() {
        let cut = truncated(&format!("a{}", "\u{301}".repeat(100_000)), 10);
        assert_eq!((cut.chars().count(), cut.width()), (41, 2));
    }
}
