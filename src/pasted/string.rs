//! Parses quoted text with escapes, digits or base64.
//!
//! ```text
//!  \xHH  two hex digits      \OOO  one to three octal digits      \uHHHH  a byte of Latin-1
//!  \DDD  in Lua one to three decimal digits      |HH HH|  hex in the text, as in rules of Snort
//!  \n \r \t \a \b \f \v \e   \\  \'  \"  \`  \?  \/
//! ```

use super::digits::ReadResult;
use super::{Form, Parsed, digits, pattern, shown};
use base64::Engine;
use base64::prelude::BASE64_STANDARD_NO_PAD;
use regex::{Captures, Regex};
use std::sync::LazyLock;

/// Minimum number of characters that count as base64 unless base64 is requested. Shorter texts are words.
const MIN_BASE64: usize = 8;

/// A text in quotes on one line.
static QUOTED: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r#"^(?:"((?:[^"\\\n]|\\(?:\r?\n|[^\n]))*)"|'((?:[^'\\\n]|\\(?:\r?\n|[^\n]))*)'|`((?:[^`\\\n]|\\(?:\r?\n|[^\n]))*)`)"#,
    )
});
/// Evidence of decimal escapes, as in Lua: values that are invalid or unusual in octal, also if all escapes have three
/// digits, and the first bytes of the messages of many protocols.
static IN_DECIMAL: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r"^(?:[^\\]|\\.)*?\\(?:[1-9]?[89]|[12][0-9][89])|^\\255\\255\\255\\255|^\\254\\253",
        r"|^(?:[^\\]|\\[0-2][0-9]{2})*\\0(?:[0-9][89]|[89][0-9])(?:[^\\]|\\[0-2][0-9]{2})*$",
    ))
});
static BARE_HEX: LazyLock<Regex> = LazyLock::new(|| pattern(r"^\\(?<hex>[0-9a-fA-F]{2})"));
static DECIMAL: LazyLock<Regex> = LazyLock::new(|| pattern(r"^\\(?<decimal>[0-9]{1,3})"));
static ESCAPE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r#"^\\(?:[xX](?<hex>[0-9a-fA-F]{2})|x\{(?<braced>[0-9a-fA-F]{2})\}|u(?<unicode>[0-9a-fA-F]{4})|u\{(?<point>[0-9a-fA-F]{1,4})\}|(?<octal>[0-7]{1,3})|(?<one>[nrtabfve\\'"`?/]))"#,
    )
});

/// The text between the quotes at the beginning of `input`, and the text after them.
pub fn quoted(input: &str) -> Option<(&str, &str)> {
    let parts = QUOTED.captures(input)?;
    Some((parts.iter().skip(1).flatten().next()?.as_str(), input.get(parts.get(0)?.end()..)?))
}

/// The letters directly before a quote, if the quote can open a string; an apostrophe within a word cannot.
pub fn prefix(before: &str) -> Option<String> {
    let letters = before.chars().rev().take_while(|c| c.is_alphanumeric() || *c == '_').take(3);
    let letters = letters.collect::<String>().to_ascii_lowercase();
    (matches!(letters.as_str(), "" | "b" | "br" | "rb" | "u" | "c" | "x" | "e" | "l")
        && !before.ends_with('\\'))
    .then_some(letters)
}

/// Whether the prefix `b` marks bytes, as in Python and Rust.
pub fn is_bytes(before: &str) -> bool {
    prefix(before).is_some_and(|letters| letters.contains('b'))
}

/// Parses a single text in quotes.
pub fn read_one<'a>(before: &str, input: &'a str) -> Option<ReadResult<'a>> {
    prefix(before)?;
    let is_bytes = is_bytes(before);
    let (body, after) = quoted(input)?;
    let hex_bytes = |min| digits::read(body).filter(|f| f.complaints.list.is_empty() && f.bytes.len() >= min);
    match hint(before, after) {
        Some(Form::Hex) => return Some((digits::read(body)?, Form::Hex, after)),
        Some(_) => return Some((base64(body)?, Form::Base64, after)),
        None => {}
    }
    // PostgreSQL prints `\xd5f60001`.
    let has_one_escape = !is_bytes && body.len() > 8 && body.rfind('\\') == Some(0);
    if let Some(digits) =
        body.strip_prefix(r"\\x").filter(|digits| digits.len() >= 8 && super::is_hex(digits))
    {
        return Some((digits::read(digits)?, Form::Hex, after));
    }
    if has_escape(body) && !(has_one_escape && hex_bytes(4).is_some()) {
        return Some((unescape(body), Form::String, after));
    }
    if let Some(parsed) = between_pipes(body) {
        return Some((parsed, Form::String, after));
    }
    if let Some(parsed) = hex_bytes(if is_bytes { 4 } else { 2 }) {
        return Some((parsed, Form::Hex, after));
    }
    if is_bytes {
        return Some((unescape(body), Form::String, after));
    }
    is_base64(body).then(|| Some((base64(body)?, Form::Base64, after))).flatten()
}

/// Whether a text has an escape; a backslash at the end of a line only continues it.
pub fn has_escape(body: &str) -> bool {
    body.split('\\').skip(1).any(|rest| !rest.starts_with(['\n', '\r']))
}

/// The form of a string according to the call around it: `bytes.fromhex("…")`, `Buffer.from("…", "base64")`.
pub fn hint(before: &str, after: &str) -> Option<Form> {
    let call = before.trim_end_matches(['b', 'B']).trim_end_matches(['(', ' ']);
    let suffix: String = after.chars().take(12).collect();
    let has_hint =
        |names: &[&str], word: &str| names.iter().any(|name| call.ends_with(name)) || suffix.contains(word);
    if has_hint(&["hex", "HexString", "unhexlify", "hex2bin"], "hex") {
        return Some(Form::Hex);
    }
    has_hint(&["b64decode", "atob", "Base64String"], "base64").then_some(Form::Base64)
}

/// Parses text with hex between pipes, as in rules of Snort and Suricata: `|ff ff ff ff|getinfo|0a|`.
fn between_pipes(body: &str) -> Option<Parsed<'_>> {
    let mut parsed = Parsed::default();
    let parts: Vec<_> = body.split('|').collect();
    if parts.len() < 3 || parts.len().is_multiple_of(2) {
        return None;
    }
    for (part, is_hex) in parts.into_iter().zip([false, true].into_iter().cycle()) {
        match is_hex {
            true => parsed.bytes.extend(digits::read(part).filter(|f| f.complaints.list.is_empty())?.bytes),
            false => parsed.bytes.extend(part.bytes()),
        }
    }
    Some(parsed)
}

/// Parses a line of escapes without quotes, or from an unclosed quote to its end.
pub fn read_unquoted(line: &str) -> Option<Parsed<'_>> {
    let body = line.trim();
    if let Some((before, text)) = body.split_once(['"', '\'', '`'])
        && prefix(before).is_some()
        && text.contains("\\x")
    {
        let mut parsed = unescape(text);
        let input = body.get(before.len()..).unwrap_or_default();
        let message = "The text that begins here has no closing quote; it is read to the end of the line.";
        parsed.complaints.add(input, message);
        return Some(parsed);
    }
    ((body.starts_with("\\0") || body.contains("\\x")) && !body.contains(' ')).then(|| unescape(body))
}

/// The byte of a character literal.
pub fn character(body: &str) -> Option<u8> {
    let Parsed { bytes, complaints, .. } = unescape(body);
    <[u8; 1]>::try_from(bytes).ok().filter(|_| complaints.list.is_empty()).map(|[byte]| byte)
}

/// The bytes of a text with escapes.
pub fn unescape(body: &str) -> Parsed<'_> {
    let mut parsed = Parsed::default();
    let mut rest = body;
    let is_bare_hex = is_bare_hex(body);
    let escapes = match is_decimal(body) {
        _ if is_bare_hex => &*BARE_HEX,
        true => &*DECIMAL,
        false => &*ESCAPE,
    };
    let has_hex_escapes = body.contains("\\x");
    while let Some((text, escape)) = rest.find('\\').and_then(|at| rest.split_at_checked(at)) {
        parsed.bytes.extend(text.bytes());
        // A backslash at the end of a line continues the string on the next one.
        if let Some(below) = escape.strip_prefix("\\\r\n").or_else(|| escape.strip_prefix("\\\n")) {
            rest = below.trim_start_matches([' ', '\t']);
            continue;
        }
        let parts = escapes.captures(escape).or_else(|| ESCAPE.captures(escape));
        let octal = parts.as_ref().and_then(|parts| parts.name("octal")).map_or("", |octal| octal.as_str());
        if has_hex_escapes && octal.len() > 1 && octal.starts_with('0') && octal != "000" {
            let message =
                "is read as one byte in octal, as in C; where \\0 is a byte of its own, write \\x00 instead.";
            parsed.complaints.add(escape, format!("\"\\{octal}\" {message}"));
        }
        let length = match parts.as_ref().and_then(|parts| Some((byte(parts)?, parts.get(0)?.end()))) {
            Some((byte, length)) => {
                parsed.bytes.push(byte);
                length
            }
            None => {
                let shown = shown(escape.get(..6).unwrap_or(escape));
                let message = "The backslash is left out.";
                parsed.complaints.add(
                    escape,
                    format!("An escape such as \\x0a was expected here, not {shown}. {message}"),
                );
                1
            }
        };
        rest = escape.get(length..).unwrap_or_default();
    }
    parsed.bytes.extend(rest.bytes());
    parsed
}

/// Whether the escapes of a text are two hex digits each, without `x`, as in LDAP and LLVM.
fn is_bare_hex(body: &str) -> bool {
    let escapes = || body.split('\\').skip(1);
    let digits = |escape: &str| escape.get(..2).filter(|digits| super::is_hex(digits)).map(str::to_owned);
    let has_letter = || {
        let letter = |escape: &str| escape.bytes().take(2).any(|b| matches!(b, b'c'..=b'f' | b'C'..=b'F'));
        escapes().filter(|escape| letter(escape)).take(2).count() == 2
    };
    has_letter() && escapes().all(|escape| digits(escape).is_some())
}

/// Whether the escapes of a text are in decimal, as in Lua.
fn is_decimal(body: &str) -> bool {
    IN_DECIMAL.is_match(body) && !body.contains("\\x")
}

/// The byte that an escape stands for.
fn byte(parts: &Captures<'_>) -> Option<u8> {
    for (name, radix) in
        [("hex", 16), ("braced", 16), ("unicode", 16), ("point", 16), ("octal", 8), ("decimal", 10)]
    {
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

/// Decodes base64 in either alphabet (RFC 4648 sections 4 and 5); `None` if the text has other characters, an
/// impossible length, or bits after the end.
pub fn base64(text: &str) -> Option<Parsed<'_>> {
    let body = text.trim_end_matches('=');
    let is_padded = body.len() < text.len();
    let fits_padding =
        !is_padded || text.len().is_multiple_of(4) && body.len().saturating_add(2) >= text.len();
    let body =
        Some(body).filter(|body| fits_padding && !body.is_empty())?.replace('-', "+").replace('_', "/");
    Some(Parsed { bytes: BASE64_STANDARD_NO_PAD.decode(body).ok()?, ..Parsed::default() })
}

/// Decodes base64 of which the end is missing; `None` if the text is more likely a word.
pub fn cut_base64(text: &str) -> Option<Parsed<'_>> {
    let is_alphabet = |b: u8| b.is_ascii_alphanumeric() || b"+/-_".contains(&b);
    let is_cut = text.len() % 4 == 1 && text.len() > MIN_BASE64 && text.bytes().all(is_alphabet);
    let whole = text.get(..text.len().saturating_sub(1)).filter(|whole| is_cut && is_base64(whole))?;
    let mut parsed = base64(whole)?;
    let message =
        "Base64 ends here within a group of four characters, so it is cut. The last character is left out.";
    parsed.complaints.add(text.get(whole.len()..).unwrap_or_default(), message);
    Some(parsed)
}

/// Whether a text looks like base64 of a message that begins with `ff ff ff ff`, as in many protocols: `/////1RT`.
pub fn is_prefixed(text: &str) -> bool {
    let has_top_bits = |c: char| matches!(c, 'w'..='z' | '0'..='9' | '+' | '-' | '/' | '_');
    let rest = text.strip_prefix("/////").or_else(|| text.strip_prefix("_____"));
    rest.is_some_and(|rest| {
        rest.starts_with(has_top_bits) && rest.contains(|c: char| c.is_ascii_alphanumeric())
    })
}

/// Whether a text is more likely base64 than a word: long enough, and padded or with mixed characters.
pub fn is_base64(text: &str) -> bool {
    let body = text.trim_end_matches('=');
    let has_lower = body.bytes().any(|b| b.is_ascii_lowercase());
    let has_digit = body.bytes().any(|b| b.is_ascii_digit() || b"+/".contains(&b));
    let has_capitals = body.as_bytes().windows(3).any(|w| w.iter().all(u8::is_ascii_uppercase));
    let is_mixed =
        has_lower && (has_capitals || has_digit && body.bytes().skip(1).any(|b| b.is_ascii_uppercase()));
    let is_upper = body.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit());
    let is_likely = body.len() < text.len()
        || is_prefixed(text)
        || is_mixed && (text.len().is_multiple_of(4) || has_digit && text.len() >= 16)
        || text.len() >= 24 && (is_mixed || is_upper);
    text.len() >= MIN_BASE64 && is_likely && base64(text).is_some()
}
