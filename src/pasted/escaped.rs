//! Parses text without quotes in which some bytes are escaped.
//!
//! ```text
//!  \xff\xffTSource Engine Query\x00   \377\377…\000   \ff\ff…\00     escapes of strings
//!  <FF><FF>TSource Engine Query<00>   [FF]…   {FF}…                  less, vim, loggers
//!  M-^?M-^?TSource Engine Query^@                                    cat -v
//!  %FF%FFTSource%20Engine%20Query%00  =FF=FF…   &#xff;&#255;         URLs, mail, HTML
//! ```

use super::{Parsed, pattern, string};
use regex::{Captures, Regex};
use std::sync::LazyLock;

/// An escape at the beginning of a text, or at least three in a row after words.
static BACKSLASHES: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^\\(?:[xX][0-9a-fA-F]|[0-3][0-7]{2}|u00[0-9a-fA-F]{2}|[0-9a-fA-F]{2}\\|0)|(?:\\x[0-9a-fA-F]{2}){3}|(?:\\[0-3][0-7]{2}){3}",
    )
});

/// Notations in which a byte is escaped by itself: the beginning of a text, and an escape.
static NOTATIONS: LazyLock<Vec<(Regex, Regex)>> = LazyLock::new(|| {
    let caret = r"M-\^(?<meta>[?-_])|M-(?<high>[ -~])|\^(?<control>[?-_])";
    let tag = r"<(?:0x)?(?<hex>[0-9a-fA-F]{2})>";
    [
        (format!(r"^(?:{tag}|\^[@-_]\S|M-\^|M-[ -~]M-)"), format!("{tag}|{caret}")),
        (r"^\[[0-9a-fA-F]{2}\]\[[0-9a-fA-F]{2}\]".into(), r"\[(?<hex>[0-9a-fA-F]{2})\]".into()),
        (r"^\{[0-9a-fA-F]{2}\}\{[0-9a-fA-F]{2}\}".into(), r"\{(?<hex>[0-9a-fA-F]{2})\}".into()),
        (r"^(?:%[0-9a-fA-F]{2}){2}|^(?:%00)".into(), "%(?<hex>[0-9a-fA-F]{2})".into()),
        (r"^(?:=[0-9A-F]{2}){2}".into(), "=(?<hex>[0-9A-F]{2})".into()),
        (
            r"^(?:&#x?[0-9a-fA-F]{1,3};){2}".into(),
            r"&#(?:x(?<hex>[0-9a-fA-F]{1,2})|(?<decimal>[0-9]{1,3}));".into(),
        ),
    ]
    .map(|(start, escape): (String, String)| (pattern(&start), pattern(&escape)))
    .into()
});

/// Parses a line, or the part of it from its first escape on; `None` if there is no text with escapes in it.
pub fn read(line: &str) -> Option<(&str, Parsed<'_>)> {
    let line = line.trim();
    if let Some(escape) = BACKSLASHES.find(line) {
        let before = line.get(..escape.start()).unwrap_or_default();
        // Without blanks, what stands before the escapes belongs to them.
        let from = if before.contains(' ') { escape.start() } else { 0 };
        let text = line.get(from..)?;
        return Some((text, string::unescape(text)));
    }
    // A parameter of a URL: `info_hash=%FF%FF`.
    let value = line.split_once("=%").and_then(|(name, _)| line.get(name.len().saturating_add(1)..));
    [Some(line), value].into_iter().flatten().find_map(|text| {
        let (_, escape) = NOTATIONS.iter().find(|(start, _)| start.is_match(text))?;
        Some((text, unescape(text, escape)))
    })
}

/// Whether a text begins with a byte in angle brackets, which is no arrow.
pub fn is_tag(text: &str) -> bool {
    let digits = |from: usize| text.get(from..from.saturating_add(2)).is_some_and(super::is_hex);
    let is_closed = |at: usize| text.get(at..).is_some_and(|rest| rest.starts_with('>'));
    text.starts_with("<0x") && digits(3) && is_closed(5) || text.starts_with('<') && digits(1) && is_closed(3)
}

/// The bytes of a text, with those that `escape` matches replaced.
fn unescape<'a>(text: &'a str, escape: &Regex) -> Parsed<'a> {
    let mut parsed = Parsed::default();
    let mut read_to = 0;
    for parts in escape.captures_iter(text) {
        let Some(whole) = parts.get(0) else { continue };
        parsed.bytes.extend_from_slice(text.get(read_to..whole.start()).unwrap_or_default().as_bytes());
        match byte(&parts) {
            Some(byte) => parsed.bytes.push(byte),
            None => super::decimal::not_a_byte(
                &mut parsed.complaints,
                text.get(whole.range()).unwrap_or_default(),
            ),
        }
        read_to = whole.end();
    }
    parsed.bytes.extend_from_slice(text.get(read_to..).unwrap_or_default().as_bytes());
    parsed
}

/// The byte that an escape stands for.
fn byte(parts: &Captures<'_>) -> Option<u8> {
    let part = |name| Some(parts.name(name)?.as_str());
    let first = |name| part(name)?.bytes().next();
    let control = |c: u8| if c == b'?' { 0x7f } else { c & 0x1f };
    match (part("hex"), part("decimal")) {
        (Some(digits), _) => u8::from_str_radix(digits, 16).ok(),
        (_, Some(digits)) => digits.parse().ok(),
        _ => first("control")
            .map(control)
            .or_else(|| Some(control(first("meta")?) | 0x80))
            .or_else(|| Some(first("high")? | 0x80)),
    }
}
