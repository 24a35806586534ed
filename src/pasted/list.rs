//! Parses lists of numbers, as in source code and program output, and finds the first literal of a line. A literal may
//! span several lines.

use super::expression::{self, Above};
use super::{Form, MAX_PIECE, Parsed, decimal, digits, pattern, string};
use crate::report::count;
use digits::ReadResult;
use regex::Regex;
use std::sync::LazyLock;

/// Maximum length in bytes of a comment within a list, without its markers. A longer one is parsed as words of the
/// list.
const MAX_COMMENT: usize = 4096;

/// Text between the words of a list: blanks, separators, a cast, the index of the next word as printed by JavaScript
/// and PHP, and a note about omitted bytes.
static BETWEEN: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r#"^(?:[\s,;]+|\([^)]{0,14}\)|"[0-9]{1,5}"\s*:|[0-9]{1,5}\s*=>|\.\.\.\s*(?<more>[0-9]*)[^\]}\n]*)"#,
    )
});
/// Node's `<Buffer d5 f6 00 ... 12 more bytes>`, and `<d5 f6 00 01>` in Node's arrays.
static BUFFER: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r"^<(?:Buffer(?<bytes>(?:[ \t]+[0-9a-fA-F]{2})+)|(?<bare>[0-9a-fA-F]{2}(?: [0-9a-fA-F]{2}){3,}))",
        r"[ \t]*(?<cut>\.\.\. *(?<more>[0-9]+)[^>\n]*)?>?",
    ))
});
/// The text that strace prints after a truncated string: `..., 65535, 0, NULL, NULL) = 44`.
static LEFT_OUT: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^\.\.\.(?:[^\n]*\) += +(?<length>[0-9]{1,5})\b)?"));

/// A character in quotes: `'T'`, `b'\n'`, `'\xff'`.
static CHARACTER: LazyLock<Regex> = LazyLock::new(|| pattern(r"^b?'(?:[^\\'\n]|\\[^\n][0-9a-fA-F]{0,4})'"));

/// A number in quotes, as Python prints a list of results of `hex`, and a text among the bytes of Erlang.
static NUMBER_IN_QUOTES: LazyLock<Regex> =
    LazyLock::new(|| pattern(r#"^(?:'0x[0-9a-fA-F]{1,2}'|"0x[0-9a-fA-F]{1,2}")"#));
static TEXT: LazyLock<Regex> = LazyLock::new(|| pattern(r#"^"(?:[^"\\\n]|\\[^\n])*""#));

/// A literal in the text.
#[derive(Debug)]
pub struct Literal<'a> {
    pub parsed: Parsed<'a>,
    pub form: Form,
    /// The text before the literal on its line.
    pub before: &'a str,
    /// The text after the literal.
    pub after: &'a str,
}

/// The first literal that begins in `line`, the first line of `text`; it may end on a later line.
pub fn find<'a>(line: &'a str, text: &'a str, above: Above) -> Option<Literal<'a>> {
    line.char_indices().find_map(|(at, c)| {
        let (before, input) = text.split_at_checked(at)?;
        let (parsed, form, rest) = match c {
            '<' => buffer(input).or_else(|| list(before, input, "<<", &[">>"]))?,
            '(' if is_array(before) => list(before, input, "(", &[")"])?,
            '[' | '{' => list(before, input, input.get(..1)?, &["]", "}"])?,
            '"' | '\'' | '`' => quoted(before, input, above)?,
            _ => return None,
        };
        Some(Literal { parsed, form, before, after: rest })
    })
}

fn buffer(input: &str) -> Option<ReadResult<'_>> {
    let parts = BUFFER.captures(input)?;
    let (whole, after) = input.split_at_checked(parts.get(0)?.end())?;
    // Anything but a byte or the end of the line is damage, not the end of the buffer.
    if !whole.ends_with('>') && !after.is_empty() && !after.starts_with(['\r', '\n', '<']) {
        return None;
    }
    let mut parsed = digits::read(parts.name("bytes").or(parts.name("bare"))?.as_str())?;
    if let (Some(cut), Some(more)) = (parts.name("cut"), parts.name("more")) {
        leave_out(&mut parsed, cut.as_str(), more.as_str().parse().unwrap_or(0), NODE);
    }
    Some((parsed, Form::Array, after))
}

/// A program that omits bytes, and the command that prints all of them.
const NODE: [&str; 2] = ["Node", "buffer.toString(\"hex\")"];
const STRACE: [&str; 2] = ["strace", "strace -s 65535"];

/// Records that the program that printed the bytes omitted some.
fn leave_out<'a>(parsed: &mut Parsed<'a>, at: &'a str, missing: u32, [program, all]: [&str; 2]) {
    parsed.missing = missing;
    if missing > 0 {
        let bytes = count(missing.into(), "byte");
        let message =
            format!("{program} left out {bytes} here; `{all}` prints all. They are taken as not captured.");
        parsed.complaints.add(at, message);
    }
}

/// Parses a text in quotes, and the number of bytes that strace omitted after it, at least one if strace does not tell.
fn quoted<'a>(before: &'a str, input: &'a str, above: Above) -> Option<ReadResult<'a>> {
    let (mut parsed, form, after) = expression::read(before, input, above)?;
    if let Some(rest) = LEFT_OUT.captures(after).filter(|_| form == Form::String) {
        let length = rest.name("length").and_then(|length| length.as_str().parse().ok()).unwrap_or(0);
        let missing = usize::saturating_sub(length, parsed.bytes.len()).max(1);
        leave_out(&mut parsed, after, u32::try_from(missing).unwrap_or(u32::MAX), STRACE);
    }
    Some((parsed, form, after))
}

/// Length of a leading comment; `None` if there is no comment or it does not end.
fn comment(text: &str) -> Option<usize> {
    let (mark, close) =
        [("/*", "*/"), ("//", "\n"), ("#", "\n")].into_iter().find(|(mark, _)| text.starts_with(mark))?;
    let body = text.as_bytes().get(mark.len()..)?;
    let near = body.get(..body.len().min(MAX_COMMENT.saturating_add(close.len())))?;
    let end = memchr::memmem::find(near, close.as_bytes())?;
    Some(end.saturating_add(mark.len()).saturating_add(close.len()))
}

/// Whether the text before a bracket names a function that makes an array: `byteArrayOf(`, `PackedByteArray(`,
/// `array(`.
fn is_array(before: &str) -> bool {
    let before = before.to_ascii_lowercase();
    before.ends_with("array") || before.ends_with("arrayof")
}

/// Parses the bracketed numbers at the beginning of `input`.
fn list<'a>(before: &str, input: &'a str, open: &str, close: &[&str]) -> Option<ReadResult<'a>> {
    let (mut words, mut commas, mut omission) = (vec![], false, None);
    let mut rest = input.strip_prefix(open)?;
    let closed = loop {
        let end = close.iter().find(|end| rest.starts_with(**end));
        if rest.is_empty() || end.is_some() {
            break end;
        }
        if let Some(length) = comment(rest) {
            rest = rest.get(length..)?;
        } else if let Some(between) = BETWEEN.captures(rest) {
            let whole = between.get(0)?;
            commas |= whole.as_str().contains([',', ';']) && between.name("more").is_none();
            omission = between.name("more").map(|omitted| (rest, omitted.as_str())).or(omission);
            rest = rest.get(whole.end()..)?;
        } else {
            let is_end = |c: char| c.is_whitespace() || ",;]}([{)>".contains(c);
            let word = CHARACTER
                .find(rest)
                .or_else(|| NUMBER_IN_QUOTES.find(rest))
                .or_else(|| TEXT.find(rest).filter(|_| open == "<<"))
                .map(|character| character.as_str())
                .or_else(|| rest.split(is_end).next())?;
            // A nested list, or a first word that is not a number, shows that this is not a list.
            if word.is_empty() || words.is_empty() && value(word, 16).is_none() {
                return None;
            }
            // Keep one word beyond the limit, so that the excess is detected.
            if words.len() <= MAX_PIECE {
                words.push(word);
            }
            rest = rest.get(word.len()..)?;
        }
    };
    let has_hex_prefix =
        words.iter().any(|word| word.trim_matches(['"', '\'']).starts_with("0x") || word.starts_with("0X"));
    let subscript = before.ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ']');
    // `pkt1[60]`, `[5]byte{…}` and `[13]` are not data. Up to three words of letters only are names.
    let are_names =
        words.len() < 4 && !words.iter().any(|word| word.contains(|c: char| c.is_ascii_digit() || c == '\''));
    let radix = radix(&words);
    let number_count =
        words.iter().filter(|word| word.starts_with('"') || value(word, radix).is_some()).count();
    // Go prints bytes without commas.
    let is_not_bytes =
        words.len() < 4 || words.iter().any(|word| !matches!(value(word, radix), Some(0..=255)));
    let is_index = words.len() == 1 && subscript || !commas && !has_hex_prefix && (is_not_bytes || subscript);
    if is_index || are_names || number_count.saturating_mul(2) <= words.len() {
        return None;
    }
    let mut parsed = Parsed::default();
    for word in words {
        match value(word, radix) {
            Some(byte @ -128..=255) => parsed.bytes.extend(byte.to_le_bytes().first()),
            _ if word.starts_with('"') => {
                let text = string::unescape(word.trim_matches('"'));
                parsed.bytes.extend(text.bytes);
                parsed.complaints.append(text.complaints);
            }
            _ => decimal::not_a_byte(&mut parsed.complaints, word),
        }
    }
    if let Some((at, omitted)) = omission {
        leave_out(&mut parsed, at, omitted.parse().unwrap_or(0), NODE);
    }
    if closed.is_none() {
        let message = "The list that begins here has no closing bracket; it is read to the end of the text.";
        parsed.complaints.add(input, message);
    }
    Some((parsed, Form::Array, rest.get(closed.map_or(0, |end| end.len())..)?))
}

/// The value of a word: a number in this base, unless a prefix names another base, or a character.
fn value(word: &str, radix: u32) -> Option<i64> {
    let suffixes = ["u8", "U8", "u", "U", "i8", "L", ".toByte"];
    let word = suffixes.iter().find_map(|s| word.strip_suffix(s)).unwrap_or(word);
    let word = if NUMBER_IN_QUOTES.is_match(word) { word.trim_matches(['"', '\'']) } else { word };
    if let Some((_, body)) = word.strip_suffix('\'').and_then(|word| word.split_once('\'')) {
        return string::character(body).map(i64::from);
    }
    let number =
        |digits: &str, radix| i64::from_str_radix(digits, radix).ok().filter(|_| !digits.starts_with('+'));
    let prefixes = [("0x", 16), ("0X", 16), ("0b", 2), ("0o", 8)];
    prefixes
        .into_iter()
        .find_map(|(mark, radix)| number(word.strip_prefix(mark)?, radix))
        .or_else(|| number(word, radix))
}

/// The base of numbers without a prefix: 16 if all have at most two digits and one contains a letter, or if all have
/// two digits and one begins with 0; otherwise 10.
fn radix(words: &[&str]) -> u32 {
    let unprefixed = || words.iter().filter(|word| !word.starts_with("0x") && !word.starts_with("0X"));
    let has_letter =
        unprefixed().any(|word| word.len() <= 2 && word.bytes().any(|b| b.is_ascii_alphabetic()));
    let has_leading_zero =
        unprefixed().all(|word| word.len() == 2) && unprefixed().any(|word| word.starts_with('0'));
    let fits_hex = unprefixed().all(|word| word.len() <= 2 && value(word, 16).is_some());
    if fits_hex && (has_letter || has_leading_zero) { 16 } else { 10 }
}
