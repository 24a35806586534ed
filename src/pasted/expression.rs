//! Joins the strings of one expression, which are one datagram.
//!
//! ```text
//!  b"\xff\xff" b"TSource"      "ffff" + "54"      "\xff" . "T"  (PHP)      "\255" .. "T"  (Lua)
//!  b"\xff" * 4 + b"T"          "\xff" x 4 . "T"  (Perl)                    b"".join([b"\xff", b"T"])
//! ```

use super::digits::ReadResult;
use super::{Form, MAX_PIECE, Parsed, digits, pattern, string};
use crate::text::escape::from_hex;
use regex::Regex;
use std::sync::LazyLock;

/// How the lines above a string continue in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Above {
    /// A bracket is open, or an operator is at the end.
    pub is_open: bool,
    /// The strings of a list are joined.
    pub joins: bool,
}

/// The text between two strings of an expression, and the prefix letters of the second one: blanks, comments and at
/// most one operator.
static BETWEEN: LazyLock<Regex> = LazyLock::new(|| {
    let gap = r"(?:[ \t\r\n\\]|//[^\n]{0,300}\n|#[^\n]{0,300}\n|--[^\n]{0,300}\n|/\*[^\n*]{0,300}\*/)*";
    pattern(&format!(
        r#"^(?<gap>{gap}(?<operator>\+\+?|\.\.?|&(?: _)?|<>|\^|\|\||~|,)?{gap})(?:(?:[bBrRuUcCxXLE]{{0,2}}|u8|\$|@)["'`]|chr\()"#
    ))
});
/// How often a string is repeated.
static TIMES: LazyLock<Regex> = LazyLock::new(|| pattern(r"^\s*(?:\*|x)\s*(?<times>[0-9]{1,4})\b"));
/// A byte as the argument of a function.
static CHR: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^chr\((?:0x(?<hex>[0-9a-fA-F]{1,2})|(?<decimal>[0-9]{1,3}))\)"));
/// An operand that is no string, after an operator and before one.
static AFTER: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^\s*(?:\+|\.\.|<>|&)\s*[A-Za-z_$]|^\s+\.\s+[A-Za-z_$]"));
static BEFORE: LazyLock<Regex> = LazyLock::new(|| pattern(r"[\w)\]>]\s*(?:\+|\.\.?|<>)\s*[bBrRuUcC]{0,2}$"));

/// A string of an expression.
struct Part<'a> {
    before: &'a str,
    /// The string with its quotes, and all after it; a function's byte.
    input: &'a str,
    body: &'a str,
    after: &'a str,
    times: usize,
    byte: Option<u8>,
}

/// Parses the string at the beginning of `input` and the strings that continue it; `None` if it is ordinary text.
pub fn read<'a>(before: &'a str, input: &'a str, above: Above) -> Option<ReadResult<'a>> {
    string::prefix(before)?;
    let first = part(before, input)?;
    let joins = above.joins || joins(before);
    let is_open = above.is_open || !string::is_bytes(before) || before.contains(['(', '=']);
    let (mut parts, mut length) = (vec![first], 0usize);
    while let Some(last) = parts.last()
        && length <= MAX_PIECE.saturating_mul(4)
        && let Some(next) = next(last.after, is_open, joins)
    {
        length = length.saturating_add(next.body.len().saturating_mul(next.times));
        parts.push(next);
    }
    let is_single = matches!(&*parts, [part] if part.times == 1);
    let result = if is_single { None } else { joined(before, &parts) };
    let (mut parsed, form, after) = result.or_else(|| string::read_one(before, input))?;
    if form == Form::String || form == Form::Hex {
        if BEFORE.is_match(before.get(before.len().saturating_sub(64)..).unwrap_or_default()) {
            let message =
                "Before this text the expression has something that is no text; its bytes are left out.";
            parsed.complaints.add(input, message);
        }
        if AFTER.is_match(after) {
            let message =
                "Here the expression goes on with something that is no text; its bytes are left out.";
            parsed.complaints.add(after, message);
        }
    }
    Some((parsed, form, after))
}

/// Whether the text before strings joins the elements of a list or the arguments of a function.
pub fn joins(text: &str) -> bool {
    let text = text.trim_end_matches(['b', 'B', 'r']).trim_end();
    let call = text.trim_end_matches(['[', '(', '{', '!', '&', ' ']);
    call.len() < text.len() && ["join", "concat"].iter().any(|name| call.ends_with(name))
}

fn part<'a>(before: &'a str, input: &'a str) -> Option<Part<'a>> {
    let (body, after) = string::quoted(input)?;
    let (times, after) = repeated(after);
    Some(Part { before, input, body, after, times, byte: None })
}

/// How often a string before this text is repeated, and the text after that.
fn repeated(after: &str) -> (usize, &str) {
    let repetition = TIMES.captures(after).and_then(|parts| {
        let times = parts.name("times")?.as_str().parse().ok()?;
        Some((times, after.get(parts.get(0)?.end()..)?))
    });
    repetition.unwrap_or((1, after))
}

/// The next string of the expression after a string.
fn next(after: &str, is_open: bool, joins: bool) -> Option<Part<'_>> {
    let parts = BETWEEN.captures(after)?;
    let (gap, whole) = (parts.name("gap")?.as_str(), parts.get(0)?.as_str());
    let operator = parts.name("operator").map_or("", |operator| operator.as_str());
    let has_blank_line =
        gap.lines().skip(1).any(|line| line.trim().is_empty()) && gap.matches('\n').count() > 1;
    let is_joined =
        operator != "," && !operator.is_empty() || gap.contains('\\') || is_open || !gap.contains('\n');
    if has_blank_line || !is_joined || operator == "," && !joins {
        return None;
    }
    if whole.ends_with('(') {
        let input = after.get(gap.len()..)?;
        let call = CHR.captures(input)?;
        let byte = match (call.name("hex"), call.name("decimal")) {
            (Some(hex), _) => u8::from_str_radix(hex.as_str(), 16).ok()?,
            (_, decimal) => decimal?.as_str().parse().ok()?,
        };
        let (times, after) = repeated(input.get(call.get(0)?.end()..)?);
        return Some(Part { before: gap, input, body: "", after, times, byte: Some(byte) });
    }
    let (before, input) = after.split_at_checked(whole.len().saturating_sub(1))?;
    part(before, input)
}

/// The bytes of several strings.
fn joined<'a>(before: &str, parts: &[Part<'a>]) -> Option<ReadResult<'a>> {
    let after = parts.last()?.after;
    let bodies = || parts.iter().map(|part| part.body);
    let hint = string::hint(before, after);
    let are_escaped = bodies().any(string::has_escape) || parts.iter().any(|part| part.byte.is_some());
    if hint.is_none() && are_escaped {
        let mut parsed = Parsed::default();
        for part in parts {
            let read = string::unescape(part.body);
            parsed.complaints.append(read.complaints);
            let room = MAX_PIECE.saturating_add(1).saturating_sub(parsed.bytes.len());
            let bytes = read.bytes.into_iter().chain(part.byte);
            let bytes: Vec<u8> = bytes.collect();
            let length = bytes.len().saturating_mul(part.times).min(room);
            parsed.bytes.extend(bytes.iter().cycle().take(length));
        }
        return Some((parsed, Form::String, after));
    }
    if parts.iter().any(|part| part.times != 1) {
        return None;
    }
    let text: String = bodies().collect();
    if hint == Some(Form::Base64) {
        return Some((string::base64(&text).map(detached)?, Form::Base64, after));
    }
    let pure = text.strip_prefix("0x").unwrap_or(&text);
    if super::is_hex(pure) && (hint == Some(Form::Hex) || pure.len() >= 8) {
        let mut parsed = Parsed { bytes: from_hex(pure).collect(), ..Parsed::default() };
        if !pure.len().is_multiple_of(2)
            && let Some(last) = parts.iter().rev().find(|part| !part.body.is_empty())
        {
            let at = last.body.get(last.body.len().saturating_sub(1)..).unwrap_or_default();
            digits::odd(&mut parsed.complaints, at, pure.len());
        }
        return Some((parsed, Form::Hex, after));
    }
    // Strings of which each is read by itself.
    let mut all = Parsed::default();
    let mut form = None;
    for part in parts {
        let (parsed, part_form, _) = string::read_one(part.before, part.input)?;
        if *form.get_or_insert(part_form) != part_form {
            return None;
        }
        all.bytes.extend(parsed.bytes);
        all.complaints.append(parsed.complaints);
    }
    Some((all, form?, after))
}

/// The bytes without complaints, which point into a text of their own.
fn detached<'a>(parsed: Parsed<'_>) -> Parsed<'a> {
    Parsed { bytes: parsed.bytes, ..Parsed::default() }
}
