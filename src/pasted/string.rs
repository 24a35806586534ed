//! Quoted text with escapes, digits or base64.
//!
//! ```text
//!  \xHH  two hex digits      \OOO  one to three octal digits      \uHHHH  a byte of Latin-1
//!  \DDD  in Lua one to three decimal digits      |HH HH|  hex in the text, as in rules of Snort
//!  \n \r \t \a \b \f \v \e   \\  \'  \"  \`  \?  \/
//! ```

use super::digits::Read;
use super::{Form, Found, MAX_PIECE, digits, pattern, shown};
use base64::Engine;
use base64::prelude::BASE64_STANDARD_NO_PAD;
use regex::{Captures, Regex};
use std::sync::LazyLock;

/// The fewest characters that count as base64 where that is not requested: shorter texts are words.
const FEWEST: usize = 8;

/// A text in quotes, which ends on the same line.
static QUOTED: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r#"^(?:"((?:[^"\\\n]|\\[^\n])*)"|'((?:[^'\\\n]|\\[^\n])*)'|`((?:[^`\\\n]|\\[^\n])*)`)"#)
});
/// The text between two strings of one expression, and the letters before the second one.
static BETWEEN: LazyLock<Regex> = LazyLock::new(|| pattern(r#"^([ \t\r\n\\+]*)([bBrR]{0,2})["']"#));
/// Decimal escapes, as in Lua: those that no program prints in octal, also where all have three digits, and how the messages of
/// many protocols begin.
static IN_DECIMAL: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r"^(?:[^\\]|\\.)*?\\(?:[1-9]?[89]|[12][0-9][89])|^\\255\\255\\255\\255|^\\254\\253",
        r"|^(?:[^\\]|\\[0-2][0-9]{2})*\\0(?:[0-9][89]|[89][0-9])(?:[^\\]|\\[0-2][0-9]{2})*$",
    ))
});
static DECIMAL: LazyLock<Regex> = LazyLock::new(|| pattern(r"^\\(?<decimal>[0-9]{1,3})"));
static ESCAPE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r#"^\\(?:[xX](?<hex>[0-9a-fA-F]{2})|x\{(?<braced>[0-9a-fA-F]{2})\}|u(?<unicode>[0-9a-fA-F]{4})|(?<octal>[0-7]{1,3})|(?<one>[nrtabfve\\'"`?/]))"#,
    )
});

/// Reads the string at the beginning of `here`, and the strings that continue it; `None` if it is ordinary text.
pub fn read<'a>(before: &str, here: &'a str) -> Option<Read<'a>> {
    let (mut found, form, mut behind) = one(before, here).or_else(|| before_escapes(before, here))?;
    let in_code = !is_bytes(before) || before.contains(['(', '=']);
    while found.bytes.len() <= MAX_PIECE
        && let Some((gap, next)) = next(behind)
        && let lines = gap.matches('\n').count()
        && (lines == 0 || lines == 1 && (in_code || gap.contains(['\\', '+'])))
        && let Some((further, _, end)) =
            one(gap, next).filter(|(_, other, _)| *other == form).or_else(|| plain(next, form))
    {
        found.bytes.extend(further.bytes);
        found.unread.append(further.unread);
        behind = end;
    }
    Some((found, form, behind))
}

/// The text in quotes at the beginning of `here` as it stands, to go with strings with escapes.
fn plain(here: &str, form: Form) -> Option<Read<'_>> {
    let (body, behind) = quoted(here).filter(|_| form == Form::String)?;
    Some((unescape(body), form, behind))
}

/// The same, if a string with escapes continues it: `"SAMP" "\x7f\0"`.
fn before_escapes<'a>(before: &str, here: &'a str) -> Option<Read<'a>> {
    prefix(before)?;
    let found = plain(here, Form::String)?;
    let (gap, next) = next(found.2)?;
    let near = gap.matches('\n').count() <= 1;
    (near && quoted(next)?.0.contains('\\')).then_some(found)
}

/// The text between the quotes at the beginning of `here`, and the text after them.
fn quoted(here: &str) -> Option<(&str, &str)> {
    let parts = QUOTED.captures(here)?;
    Some((parts.iter().skip(1).flatten().next()?.as_str(), here.get(parts.get(0)?.end()..)?))
}

/// The text between a string and the next one of the same expression, and that next string.
fn next(behind: &str) -> Option<(&str, &str)> {
    let parts = BETWEEN.captures(behind)?;
    behind.split_at_checked(parts.get(2)?.end())
}

/// The letters directly before a quote, if the quote can open a string: an apostrophe within a word cannot.
fn prefix(before: &str) -> Option<String> {
    let letters = before.chars().rev().take_while(|c| c.is_alphanumeric() || *c == '_').take(3);
    let letters = letters.collect::<String>().to_ascii_lowercase();
    (matches!(letters.as_str(), "" | "b" | "br" | "rb" | "u" | "c" | "x") && !before.ends_with('\\'))
        .then_some(letters)
}

/// Whether a `b` precedes the quote: bytes, as in Python and Rust.
fn is_bytes(before: &str) -> bool {
    prefix(before).is_some_and(|letters| letters.contains('b'))
}

/// Reads one text in quotes.
fn one<'a>(before: &str, here: &'a str) -> Option<Read<'a>> {
    prefix(before)?;
    let is_bytes = is_bytes(before);
    let (body, behind) = quoted(here)?;
    let call = before.trim_end_matches(['b', 'B']).trim_end_matches(['(', ' ']);
    let coding: String = behind.chars().take(12).collect();
    let says =
        |names: &[&str], word: &str| names.iter().any(|name| call.ends_with(name)) || coding.contains(word);
    let sound = |fewest| digits::read(body).filter(|f| f.unread.kept.is_empty() && f.bytes.len() >= fewest);
    if says(&["hex", "HexString", "unhexlify"], "hex") {
        return Some((digits::read(body)?, Form::Hex, behind));
    }
    if says(&["b64decode", "atob", "Base64String"], "base64") {
        return Some((base64(body)?, Form::Base64, behind));
    }
    // PostgreSQL's `\xd5f60001`.
    let one_escape = !is_bytes && body.len() > 8 && body.rfind('\\') == Some(0);
    if body.contains('\\') && !(one_escape && sound(4).is_some()) {
        return Some((unescape(body), Form::String, behind));
    }
    if let Some(found) = between_pipes(body) {
        return Some((found, Form::String, behind));
    }
    if let Some(found) = sound(if is_bytes { 4 } else { 2 }) {
        return Some((found, Form::Hex, behind));
    }
    if is_bytes {
        return Some((unescape(body), Form::String, behind));
    }
    is_base64(body).then(|| Some((base64(body)?, Form::Base64, behind))).flatten()
}

/// The bytes of a text with hex between pipes, as in rules of Snort and Suricata: `|ff ff ff ff|getinfo|0a|`.
fn between_pipes(body: &str) -> Option<Found<'_>> {
    let mut found = Found::default();
    let parts: Vec<_> = body.split('|').collect();
    if parts.len() < 3 || parts.len().is_multiple_of(2) {
        return None;
    }
    for (part, is_hex) in parts.into_iter().zip([false, true].into_iter().cycle()) {
        match is_hex {
            true => found.bytes.extend(digits::read(part).filter(|f| f.unread.kept.is_empty())?.bytes),
            false => found.bytes.extend(part.bytes()),
        }
    }
    Some(found)
}

/// Reads a line of escapes without quotes, or from the quote that is never closed.
pub fn bare(line: &str) -> Option<Found<'_>> {
    let body = line.trim();
    if let Some((before, text)) = body.split_once(['"', '\'', '`'])
        && prefix(before).is_some()
        && text.contains("\\x")
    {
        let mut found = unescape(text);
        let here = body.get(before.len()..).unwrap_or_default();
        let what = "The text that begins here has no closing quote; it is read to the end of the line.";
        found.unread.add(here, what);
        return Some(found);
    }
    ((body.starts_with("\\0") || body.contains("\\x")) && !body.contains(' ')).then(|| unescape(body))
}

/// The byte of a character as it stands in quotes.
pub fn character(body: &str) -> Option<u8> {
    let Found { bytes, unread, .. } = unescape(body);
    <[u8; 1]>::try_from(bytes).ok().filter(|_| unread.kept.is_empty()).map(|[byte]| byte)
}

/// The bytes of a text with escapes.
fn unescape(body: &str) -> Found<'_> {
    let mut found = Found::default();
    let mut rest = body;
    let (in_hex, escapes) = (body.contains("\\x"), if is_decimal(body) { &*DECIMAL } else { &*ESCAPE });
    while let Some((text, escape)) = rest.find('\\').and_then(|at| rest.split_at_checked(at)) {
        found.bytes.extend(text.bytes());
        let parts = escapes.captures(escape).or_else(|| ESCAPE.captures(escape));
        let octal = parts.as_ref().and_then(|parts| parts.name("octal")).map_or("", |octal| octal.as_str());
        if in_hex && octal.len() > 1 && octal.starts_with('0') && octal != "000" {
            let what =
                "is read as one byte in octal, as in C; where \\0 is a byte of its own, write \\x00 instead.";
            found.unread.add(escape, format!("\"\\{octal}\" {what}"));
        }
        let length = match parts.as_ref().and_then(|parts| Some((byte(parts)?, parts.get(0)?.end()))) {
            Some((byte, length)) => {
                found.bytes.push(byte);
                length
            }
            None => {
                let shown = shown(escape.get(..6).unwrap_or(escape));
                let what = "The backslash is left out.";
                found
                    .unread
                    .add(escape, format!("An escape such as \\x0a was expected here, not {shown}. {what}"));
                1
            }
        };
        rest = escape.get(length..).unwrap_or_default();
    }
    found.bytes.extend(rest.bytes());
    found
}

/// Whether the escapes of a text are in decimal, as in Lua.
fn is_decimal(body: &str) -> bool {
    IN_DECIMAL.is_match(body) && !body.contains("\\x")
}

/// The byte that an escape stands for.
fn byte(parts: &Captures<'_>) -> Option<u8> {
    for (name, radix) in [("hex", 16), ("braced", 16), ("unicode", 16), ("octal", 8), ("decimal", 10)] {
        if let Some(digits) = parts.name(name) {
            return u32::from_str_radix(digits.as_str(), radix).ok()?.try_into().ok();
        }
    }
    Some(match *parts.name("one")?.as_str().as_bytes().first()? {
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'a' => 7,
        b'b' => 8,
        b'f' => 12,
        b'v' => 11,
        b'e' => 27,
        itself => itself,
    })
}

/// The bytes of base64 in either alphabet, RFC 4648 sections 4 and 5; `None` where the text is not base64: other
/// characters, an impossible length, bits after the end.
pub fn base64(text: &str) -> Option<Found<'_>> {
    let body = text.trim_end_matches('=');
    let padded = body.len() < text.len();
    let fits = !padded || text.len().is_multiple_of(4) && body.len().saturating_add(2) >= text.len();
    let body = Some(body).filter(|body| fits && !body.is_empty())?.replace('-', "+").replace('_', "/");
    Some(Found { bytes: BASE64_STANDARD_NO_PAD.decode(body).ok()?, ..Found::default() })
}

/// Whether a text begins as base64 of bytes that begin with `ff ff ff ff`, as the messages of many protocols do: `/////1RT`.
pub fn is_prefixed(text: &str) -> bool {
    let bits = |c: char| matches!(c, 'w'..='z' | '0'..='9' | '+' | '-' | '/' | '_');
    let rest = text.strip_prefix("/////").or_else(|| text.strip_prefix("_____"));
    rest.is_some_and(|rest| rest.starts_with(bits) && rest.contains(|c: char| c.is_ascii_alphanumeric()))
}

/// Whether a text looks more like base64 than like a word: long enough, and padded or of mixed characters.
pub fn is_base64(text: &str) -> bool {
    let body = text.trim_end_matches('=');
    let lower = body.bytes().any(|b| b.is_ascii_lowercase());
    let digits = body.bytes().any(|b| b.is_ascii_digit() || b"+/".contains(&b));
    let capitals = body.as_bytes().windows(3).any(|w| w.iter().all(u8::is_ascii_uppercase));
    let mixed = lower && (capitals || digits && body.bytes().skip(1).any(|b| b.is_ascii_uppercase()));
    let upper = body.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit());
    let likely = body.len() < text.len()
        || is_prefixed(text)
        || mixed && (text.len().is_multiple_of(4) || digits && text.len() >= 16)
        || text.len() >= 24 && (mixed || upper);
    text.len() >= FEWEST && likely && base64(text).is_some()
}
