//! Lines of hex digits: with or without blanks, `0x`, `\x`, colons, commas, dashes.

use super::{Complaints, Form, MAX_PIECE, Parsed, is_hex, shown};
use crate::text::escape::from_hex;
use nom::Offset;

/// The parsed bytes, their form, and the text after them.
pub type ReadResult<'a> = (Parsed<'a>, Form, &'a str);

/// Characters allowed between bytes.
const SEPARATORS: &[char] = &[' ', '\t', ',', ';', ':', '-', '|', '\u{a0}'];
/// Maximum length in bytes of a line that is searched for characters after its bytes.
const MAX_LINE: usize = 512;
/// Markers that begin a comment.
const COMMENTS: [&str; 5] = ["#", "//", "/*", ";", "--"];
const ARROWS: [&str; 6] = [">", "<", "=>", "<=", "→", "←"];

/// The words between separators.
fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(SEPARATORS).flat_map(|word| word.split("\\x")).filter(|word| !word.is_empty() && *word != "\\")
}

/// The digits of a word, and whether it is marked as hex, as in `0xd5` and `D5h`.
fn digits(word: &str) -> Option<(&str, bool)> {
    let prefixed = word.strip_prefix("0x").or_else(|| word.strip_prefix("0X"));
    let suffixed = || word.strip_suffix(['h', 'H']).filter(|digits| digits.len() == 2);
    let marked = prefixed.or_else(suffixed);
    Some((marked.unwrap_or(word), marked.is_some())).filter(|(digits, _)| is_hex(digits))
}

/// Adds a complaint about the last of an odd number of digits.
pub fn odd<'a>(complaints: &mut Complaints<'a>, last_digit: &'a str, count: usize) {
    let message = "stands here; every byte needs two. The last one is left out.";
    complaints.add(last_digit, format!("An odd number of hex digits, {count}, {message}"));
}

/// Parses a line of digits; `None` if the line contains anything else.
pub fn read(line: &str) -> Option<Parsed<'_>> {
    // An escape without digits is damage.
    if line.contains("\\x")
        && line.split("\\x").skip(1).any(|escape| !escape.starts_with(|c: char| c.is_ascii_hexdigit()))
    {
        return None;
    }
    let mut parsed = Parsed::default();
    let mut has_digits = false;
    for word in words(line) {
        let (digits, is_marked) = digits(word)?;
        has_digits = true;
        match digits.as_bytes() {
            // `0x0` is a complete byte, as in C.
            [_] if is_marked => parsed.bytes.extend(u8::from_str_radix(digits, 16).ok()),
            all_digits => {
                parsed.bytes.extend(from_hex(digits));
                if let (false, Some((last_at, _))) =
                    (all_digits.len().is_multiple_of(2), digits.char_indices().next_back())
                {
                    odd(&mut parsed.complaints, digits.get(last_at..).unwrap_or_default(), all_digits.len());
                }
            }
        }
    }
    has_digits.then_some(parsed)
}

/// Parses a line of digits. A comment may follow, or the same bytes as characters, as in the output of `ngrep -x`.
/// `None` for any other line.
pub fn read_commented(line: &str) -> Option<Parsed<'_>> {
    read(line).or_else(|| read(before_comment(line)?)).or_else(|| before_characters(line))
}

/// At least four bytes, followed by two or more blanks and the same bytes as characters.
fn before_characters(line: &str) -> Option<Parsed<'_>> {
    let gaps = Some(line)
        .filter(|line| line.len() <= MAX_LINE)?
        .match_indices("  ")
        .filter_map(|(at, _)| line.split_at_checked(at));
    let mut rows = gaps.filter_map(|(before, after)| Some((read(before)?, after)));
    rows.find_map(|(parsed, after)| {
        // The first characters may be blanks themselves, and trailing blanks may be missing.
        let blanks = parsed.bytes.iter().take_while(|b| **b == b' ').count();
        let gap = after.chars().take_while(|c| *c == ' ').count().checked_sub(blanks)?;
        let mut characters = after.chars().skip(gap);
        let agrees = parsed.bytes.iter().all(|b| match characters.next().unwrap_or(' ') {
            '.' => true,
            c => matches!(b, b' '..=b'~') && c == char::from(*b),
        });
        (parsed.bytes.len() >= 4 && gap >= 2 && agrees && characters.all(|c| c == ' ')).then_some(parsed)
    })
}

/// Whether nothing separates the digits of a line.
pub fn is_stream(line: &str) -> bool {
    words(line).nth(1).is_none()
}

/// Whether the end of a line of digits shows that the next line continues it.
pub fn is_continued(line: &str) -> bool {
    line.trim_end().ends_with([',', ':', '\\'])
}

/// Whether a text is a comment.
pub fn is_comment(text: &str) -> bool {
    let text = text.trim_start();
    // `--data` is an option of a program, and `#define` a line of C.
    let is_other = text.starts_with("#define ")
        || text.strip_prefix("--").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_lowercase()));
    !is_other && COMMENTS.iter().any(|mark| text.starts_with(mark))
}

/// The text before a comment that follows a blank; `None` if there is none.
fn before_comment(line: &str) -> Option<&str> {
    let at = ["#", "//", "/*", ";"].iter().filter_map(|mark| line.find(mark)).min()?;
    line.get(..at).filter(|before| before.ends_with([' ', '\t']))
}

/// Parses a line of damaged digits: at least three and at least half of its words are bytes, or nearly all characters
/// of its only word are digits. Returns the bytes before the first error, and a complaint about it.
pub fn read_damaged(line: &str) -> Option<Parsed<'_>> {
    let all_words: Vec<_> = words(line).take(MAX_PIECE).collect();
    let is_byte = |word: &&&str| digits(word).is_some_and(|(digits, _)| digits.len().is_multiple_of(2));
    let byte_words = all_words.iter().filter(is_byte).count();
    let bad_word = *all_words.iter().find(|word| !is_byte(word))?;
    let hex_digits = bad_word.bytes().filter(u8::is_ascii_hexdigit).count();
    let is_stream = all_words.len() == 1
        && bad_word.len() >= 8
        && hex_digits.saturating_mul(10) >= bad_word.len().saturating_mul(9);
    // `02:00:5e:00:53:01 > 02:00:5e:00:53:10, ethertype IPv4` names two addresses, as in the output of `tcpdump -e`.
    if ARROWS.contains(&bad_word)
        || !(is_stream || byte_words >= 3 && byte_words.saturating_mul(2) >= all_words.len())
    {
        return None;
    }
    // `DEBUG` is a word, and its `de` is not a byte.
    let is_word = bad_word.len() > 2 && bad_word.bytes().all(|b| b.is_ascii_alphabetic());
    let readable_len =
        if is_word { 0 } else { bad_word.bytes().take_while(u8::is_ascii_hexdigit).count() & !1 };
    let unreadable = bad_word.get(readable_len..).unwrap_or_default();
    let mut parsed = line.get(..line.offset(unreadable)).and_then(read).unwrap_or_default();
    let message = format!(
        "Two hex digits were expected here, not {}. The rest of the line is left out.",
        shown(unreadable)
    );
    parsed.complaints.add(unreadable, message);
    Some(parsed)
}
