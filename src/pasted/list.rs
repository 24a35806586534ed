//! Lists of numbers as in source code and program output, and the first literal of a line. A literal may span lines.

use super::{Form, Found, MAX_PIECE, digits, pattern, shown, string};
use crate::report::count;
use digits::Read;
use regex::Regex;
use std::sync::LazyLock;

/// Longest comment within a list in bytes, without its marks: a longer one is read as words of the list.
const MAX_COMMENT: usize = 4096;

/// Text between the words of a list: blanks, separators, a cast, the place of the next one as JavaScript and PHP print it, and
/// a note that bytes were left out.
static BETWEEN: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r#"^(?:[\s,;]+|\([^)]{0,14}\)|"[0-9]{1,5}"\s*:|[0-9]{1,5}\s*=>|\.\.\.\s*(?<more>[0-9]*)[^\]}\n]*)"#,
    )
});
/// Node's `<Buffer d5 f6 00 ... 12 more bytes>`, and `<d5 f6 00 01>` in its arrays.
static BUFFER: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r"^<(?:Buffer(?<bytes>(?:[ \t]+[0-9a-fA-F]{2})+)|(?<bare>[0-9a-fA-F]{2}(?: [0-9a-fA-F]{2}){3,}))",
        r"[ \t]*(?<cut>\.\.\. *(?<more>[0-9]+)[^>\n]*)?>?",
    ))
});
/// What strace prints behind a string of which it left out the rest: `..., 65535, 0, NULL, NULL) = 44`.
static LEFT_OUT: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^\.\.\.(?:[^\n]*\) += +(?<length>[0-9]{1,5})\b)?"));

/// A character in quotes: `'T'`, `b'\n'`, `'\xff'`.
static CHARACTER: LazyLock<Regex> = LazyLock::new(|| pattern(r"^b?'(?:[^\\'\n]|\\[^\n][0-9a-fA-F]{0,4})'"));

/// A literal of the text.
#[derive(Debug)]
pub struct Literal<'a> {
    pub found: Found<'a>,
    pub form: Form,
    /// The text before it on its line.
    pub before: &'a str,
    /// The text after it.
    pub behind: &'a str,
}

/// The first literal that begins in `line`, the first line of `text`; it may end on a later line.
pub fn find<'a>(line: &'a str, text: &'a str) -> Option<Literal<'a>> {
    line.char_indices().find_map(|(at, c)| {
        let (before, here) = text.split_at_checked(at)?;
        let (found, form, behind) = match c {
            '<' => buffer(here).or_else(|| list(before, here, "<<", &[">>"]))?,
            '(' if is_array(before) => list(before, here, "(", &[")"])?,
            '[' | '{' => list(before, here, here.get(..1)?, &["]", "}"])?,
            '"' | '\'' | '`' => quoted(before, here)?,
            _ => return None,
        };
        Some(Literal { found, form, before, behind })
    })
}

fn buffer(here: &str) -> Option<Read<'_>> {
    let parts = BUFFER.captures(here)?;
    let (whole, behind) = here.split_at_checked(parts.get(0)?.end())?;
    // Other text than a byte or the end of the line is damage, not the end of the buffer.
    if !whole.ends_with('>') && !behind.is_empty() && !behind.starts_with(['\r', '\n', '<']) {
        return None;
    }
    let mut found = digits::read(parts.name("bytes").or(parts.name("bare"))?.as_str())?;
    if let (Some(cut), Some(more)) = (parts.name("cut"), parts.name("more")) {
        leave_out(&mut found, cut.as_str(), more.as_str().parse().unwrap_or(0), NODE);
    }
    Some((found, Form::Array, behind))
}

/// A program that leaves out bytes, and what prints all of them.
const NODE: [&str; 2] = ["Node", "buffer.toString(\"hex\")"];
const STRACE: [&str; 2] = ["strace", "strace -s 65535"];

/// Notes that the program which printed the bytes left some out.
fn leave_out<'a>(found: &mut Found<'a>, here: &'a str, missing: u32, [program, all]: [&str; 2]) {
    found.missing = missing;
    if missing > 0 {
        let bytes = count(missing.into(), "byte");
        let what =
            format!("{program} left out {bytes} here; `{all}` prints all. They are taken as not captured.");
        found.unread.add(here, what);
    }
}

/// A text in quotes, and how many bytes strace left out behind it: at least one, if it does not say so.
fn quoted<'a>(before: &str, here: &'a str) -> Option<Read<'a>> {
    let (mut found, form, behind) = string::read(before, here)?;
    if let Some(rest) = LEFT_OUT.captures(behind).filter(|_| form == Form::String) {
        let length = rest.name("length").and_then(|length| length.as_str().parse().ok()).unwrap_or(0);
        let missing = usize::saturating_sub(length, found.bytes.len()).max(1);
        leave_out(&mut found, behind, u32::try_from(missing).unwrap_or(u32::MAX), STRACE);
    }
    Some((found, form, behind))
}

/// Length of a comment at the beginning of a text; `None` if there is no comment, or it does not end.
fn comment(text: &str) -> Option<usize> {
    let (mark, close) =
        [("/*", "*/"), ("//", "\n"), ("#", "\n")].into_iter().find(|(mark, _)| text.starts_with(mark))?;
    let body = text.as_bytes().get(mark.len()..)?;
    let near = body.get(..body.len().min(MAX_COMMENT.saturating_add(close.len())))?;
    let end = memchr::memmem::find(near, close.as_bytes())?;
    Some(end.saturating_add(mark.len()).saturating_add(close.len()))
}

/// Whether a function that makes an array has its arguments here: `byteArrayOf(`, `PackedByteArray(`, `array(`.
fn is_array(before: &str) -> bool {
    let before = before.to_ascii_lowercase();
    before.ends_with("array") || before.ends_with("arrayof")
}

/// Reads the numbers in the brackets at the beginning of `here`.
fn list<'a>(before: &str, here: &'a str, open: &str, close: &[&str]) -> Option<Read<'a>> {
    let (mut words, mut commas, mut cut) = (vec![], false, None);
    let mut rest = here.strip_prefix(open)?;
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
            cut = between.name("more").map(|more| (rest, more.as_str())).or(cut);
            rest = rest.get(whole.end()..)?;
        } else {
            let ends = |c: char| c.is_whitespace() || ",;]}([{)>".contains(c);
            let word =
                CHARACTER.find(rest).map(|found| found.as_str()).or_else(|| rest.split(ends).next())?;
            // If another list begins, or the first word is not a number, this is not a list.
            if word.is_empty() || words.is_empty() && value(word, 16).is_none() {
                return None;
            }
            // One more word than fits is kept, so that the excess is noticed.
            if words.len() <= MAX_PIECE {
                words.push(word);
            }
            rest = rest.get(word.len()..)?;
        }
    };
    let marked = words.iter().any(|word| word.starts_with("0x") || word.starts_with("0X"));
    let subscript = before.ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ']');
    // `pkt1[60]`, `[5]byte{…}` and `[13]` are not data; up to three words of letters alone are names.
    let names =
        words.len() < 4 && !words.iter().any(|word| word.contains(|c: char| c.is_ascii_digit() || c == '\''));
    let radix = radix(&words);
    let sound = words.iter().filter(|word| value(word, radix).is_some()).count();
    // Go prints bytes without commas.
    let bare = words.len() < 4 || words.iter().any(|word| !matches!(value(word, radix), Some(0..=255)));
    let one = words.len() == 1 && subscript || !commas && !marked && (bare || subscript);
    if one || names || sound.saturating_mul(2) <= words.len() {
        return None;
    }
    let mut found = Found::default();
    for word in words {
        match value(word, radix) {
            Some(byte @ -128..=255) => found.bytes.extend(byte.to_le_bytes().first()),
            _ => {
                let what = "A byte was expected here, a number from 0 to 255, not";
                found.unread.add(word, format!("{what} {}. It is left out.", shown(word)));
            }
        }
    }
    if let Some((here, more)) = cut {
        leave_out(&mut found, here, more.parse().unwrap_or(0), NODE);
    }
    if closed.is_none() {
        let what = "The list that begins here has no closing bracket; it is read to the end of the text.";
        found.unread.add(here, what);
    }
    Some((found, Form::Array, rest.get(closed.map_or(0, |end| end.len())..)?))
}

/// A word as a number in this base, unless its prefix names another; or as a character.
fn value(word: &str, radix: u32) -> Option<i64> {
    let suffixes = ["u8", "U8", "u", "U", "i8", "L", ".toByte"];
    let word = suffixes.iter().find_map(|s| word.strip_suffix(s)).unwrap_or(word);
    if let Some((_, body)) = word.strip_suffix('\'').and_then(|word| word.split_once('\'')) {
        return string::character(body).map(i64::from);
    }
    let number =
        |digits: &str, radix| i64::from_str_radix(digits, radix).ok().filter(|_| !digits.starts_with('+'));
    let own = [("0x", 16), ("0X", 16), ("0b", 2), ("0o", 8)];
    own.into_iter()
        .find_map(|(mark, radix)| number(word.strip_prefix(mark)?, radix))
        .or_else(|| number(word, radix))
}

/// The base of numbers without a prefix: 16 where all have at most two digits and one has a letter, or where all
/// have two digits and one begins with 0; else 10.
fn radix(words: &[&str]) -> u32 {
    let bare = || words.iter().filter(|word| !word.starts_with("0x") && !word.starts_with("0X"));
    let letters = bare().any(|word| word.len() <= 2 && word.bytes().any(|b| b.is_ascii_alphabetic()));
    let zeros = bare().all(|word| word.len() == 2) && bare().any(|word| word.starts_with('0'));
    let fits = bare().all(|word| word.len() <= 2 && value(word, 16).is_some());
    if fits && (letters || zeros) { 16 } else { 10 }
}
