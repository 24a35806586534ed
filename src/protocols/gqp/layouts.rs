//! The mistakes that servers and clients make with the text of a message.

use super::{EOT, REQUEST, RESPONSE};
use crate::layout::wholes::Whole;
use crate::layout::{Layout, Part, Says};

const SAYS: [Says; 3] = [
    ("GQP is text", "Grammar"),
    ("GQP is ASCII", "Grammar"),
    ("a message of GQP ends with EOT, and its separators are RS and US", "Grammar"),
];
const RS: u8 = 0x1e;
const US: u8 = 0x1f;

pub(super) static LAYOUTS: &[Layout] = &[text(RESPONSE, true), text(REQUEST, false)];

/// A message that is read whole: its variations replace characters.
const fn text(message: u8, answer: bool) -> Layout {
    let parts = &[Part::Custom(|r| r.copy(r.rest().len()).map(drop))];
    Layout { answer, wholes: WHOLES, ..Layout::of(message, SAYS, parts) }
}

const WHOLES: &[&[&Whole]] = &[&[
    &Whole::of("newline_for_end", "the message ends with a line feed instead of EOT", |data| {
        let is_line = data.last() == Some(&b'\n') && !data.contains(&EOT);
        is_line.then(|| [trimmed(data, b"\r\n"), &[EOT]].concat())
    }),
    &Whole::of("trailing_newline", "the line feed behind EOT is left out", |data| without(data, b"\r\n")),
    &Whole::of("trailing_zeros", "the zeros behind EOT are left out", |data| without(data, b"\0")),
    &Whole::of("separators_swapped", "RS and US are swapped", |data| {
        let swap = |b: &u8| match *b {
            RS => US,
            US => RS,
            other => other,
        };
        (data.contains(&RS) && data.contains(&US)).then(|| data.iter().map(swap).collect())
    }),
    &Whole::of("escapes_as_text", "control characters are written as `\\x04`", unescaped),
    &Whole::of("number_for_text@status", "the status is a byte instead of two digits", |data| {
        let (first, rest) = data.split_first()?;
        let is_code = matches!(first, 0x0a | 0x14..=0x16 | 0x1e..=0x20 | 0x28 | 0x29);
        let is_name = rest.first().is_some_and(u8::is_ascii_alphabetic);
        (is_code && is_name).then(|| [format!("{first:02}").as_bytes(), rest].concat())
    }),
    &Whole::of("utf16_le", "texts are UTF-16, little-endian", |data| narrowed(data, 0)),
    &Whole::of("utf16_be", "texts are UTF-16, big-endian", |data| narrowed(data, 1)),
    &Whole::of("codes_decimal_as_hex", "the codes of control characters are decimal, taken for hex", recoded),
]];

fn trimmed<'a>(data: &'a [u8], set: &[u8]) -> &'a [u8] {
    let end = data.iter().rposition(|b| !set.contains(b)).map_or(0, |last| last.saturating_add(1));
    data.get(..end).unwrap_or_default()
}

/// The message without what follows its end.
fn without(data: &[u8], set: &[u8]) -> Option<Vec<u8>> {
    let kept = trimmed(data, set);
    (kept.last() == Some(&EOT) && kept.len() < data.len()).then(|| kept.to_vec())
}

/// Every second byte from `at` on, if the others are 0.
fn narrowed(data: &[u8], at: usize) -> Option<Vec<u8>> {
    let others = data.iter().skip(1usize.saturating_sub(at)).step_by(2);
    let is_wide = data.len().is_multiple_of(2) && others.copied().all(|b| b == 0);
    is_wide.then(|| data.iter().skip(at).step_by(2).copied().collect())
}

fn unescaped(data: &[u8]) -> Option<Vec<u8>> {
    let digit = |b: u8| if b.is_ascii_uppercase() { None } else { (b as char).to_digit(16) };
    data.windows(4).any(|w| w == b"\\x04").then_some(())?;
    let (mut out, mut rest) = (vec![], data);
    while let Some((&first, after)) = rest.split_first() {
        let code = match *rest {
            [b'\\', b'x', high, low, ..] => digit(high).zip(digit(low)),
            _ => None,
        };
        match code {
            Some((high, low)) => {
                out.push((high << 4 | low) as u8);
                rest = rest.get(4..)?;
            }
            None => {
                out.push(first);
                rest = after;
            }
        }
    }
    Some(out)
}

/// The draft names its control characters in hex and in decimal. Whoever takes one for the other writes `0` and CAN
/// before a reply's name, and `1` behind it.
fn recoded(data: &[u8]) -> Option<Vec<u8>> {
    const WRONG: &[u8] = b"0\x18";
    let name_of = |bytes: &[u8]| bytes.iter().take_while(|b| b.is_ascii_lowercase()).count();
    let (digits, name) = data.split_at_checked(2)?;
    let behind = name.get(name_of(name)..)?;
    (digits.iter().all(u8::is_ascii_digit) && name_of(name) > 0 && behind.starts_with(WRONG)).then_some(())?;
    let (mut out, mut rest) = (vec![], data);
    while let Some((&first, after)) = rest.split_first() {
        let field = rest.strip_prefix(WRONG).and_then(|field| field.split_at_checked(name_of(field)));
        match field {
            Some((name, [b'1', tail @ ..])) if !name.is_empty() => {
                out.extend_from_slice(&[RS, 0x12]);
                out.extend_from_slice(name);
                out.push(US);
                rest = tail;
            }
            _ => {
                out.push(first);
                rest = after;
            }
        }
    }
    Some(out)
}
