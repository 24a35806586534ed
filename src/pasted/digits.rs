//! Lines of hex digits: with or without blanks, `0x`, `\x`, colons, commas, dashes.

use super::{Form, Found, MAX_PIECE, is_hex, shown};
use crate::escape::from_hex;
use nom::Offset;

/// The bytes found, how they are written, and the text after them.
pub type Read<'a> = (Found<'a>, Form, &'a str);

/// Characters allowed between bytes.
const SEPARATORS: &[char] = &[' ', '\t', ',', ';', ':', '-', '|', '\u{a0}'];
/// The longest line, in bytes of text, that is looked at for characters behind its bytes.
const LONGEST: usize = 512;
/// Marks that begin a comment.
const COMMENTS: [&str; 5] = ["#", "//", "/*", ";", "--"];
const ARROWS: [&str; 6] = [">", "<", "=>", "<=", "→", "←"];

/// The words between separators.
fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(SEPARATORS).flat_map(|word| word.split("\\x")).filter(|word| !word.is_empty() && *word != "\\")
}

/// The digits of a word, and whether it is marked as hex: `0xd5`, `D5h`.
fn digits(word: &str) -> Option<(&str, bool)> {
    let prefixed = word.strip_prefix("0x").or_else(|| word.strip_prefix("0X"));
    let suffixed = || word.strip_suffix(['h', 'H']).filter(|digits| digits.len() == 2);
    let marked = prefixed.or_else(suffixed);
    Some((marked.unwrap_or(word), marked.is_some())).filter(|(digits, _)| is_hex(digits))
}

/// Reads a line of digits; `None` if the line is anything else.
pub fn read(line: &str) -> Option<Found<'_>> {
    let mut found = Found::default();
    let mut any = false;
    for word in words(line) {
        let (digits, marked) = digits(word)?;
        any = true;
        match digits.as_bytes() {
            // `0x0` is a whole byte, as in C.
            [_] if marked => found.bytes.extend(u8::from_str_radix(digits, 16).ok()),
            all => {
                found.bytes.extend(from_hex(digits));
                if let (false, Some((last, _))) =
                    (all.len().is_multiple_of(2), digits.char_indices().next_back())
                {
                    let what = "stands here; every byte needs two. The last one is left out.";
                    let here = digits.get(last..).unwrap_or_default();
                    found.unread.add(here, format!("An odd number of hex digits, {}, {what}", all.len()));
                }
            }
        }
    }
    any.then_some(found)
}

/// Reads a line of digits, which a comment may follow, or the same bytes as characters, as in the output of `ngrep -x`; `None`
/// if the line is anything else.
pub fn commented(line: &str) -> Option<Found<'_>> {
    read(line).or_else(|| read(before_comment(line)?)).or_else(|| before_characters(line))
}

/// At least four bytes, if the line ends in the same bytes as characters, behind two blanks or more.
fn before_characters(line: &str) -> Option<Found<'_>> {
    let gaps = Some(line)
        .filter(|line| line.len() <= LONGEST)?
        .match_indices("  ")
        .filter_map(|(at, _)| line.split_at_checked(at));
    let mut rows = gaps.filter_map(|(before, behind)| Some((read(before)?, behind)));
    rows.find_map(|(found, behind)| {
        // The first characters may be blanks, too, and blanks at the end may be missing.
        let blanks = found.bytes.iter().take_while(|b| **b == b' ').count();
        let gap = behind.chars().take_while(|c| *c == ' ').count().checked_sub(blanks)?;
        let mut characters = behind.chars().skip(gap);
        let shown = found.bytes.iter().all(|b| match characters.next().unwrap_or(' ') {
            '.' => true,
            c => matches!(b, b' '..=b'~') && c == char::from(*b),
        });
        (found.bytes.len() >= 4 && gap >= 2 && shown && characters.all(|c| c == ' ')).then_some(found)
    })
}

/// Whether nothing separates the digits of a line.
pub fn is_stream(line: &str) -> bool {
    words(line).nth(1).is_none()
}

/// Whether a line of digits announces that the next line continues it.
pub fn goes_on(line: &str) -> bool {
    line.trim_end().ends_with([',', ':', '\\'])
}

/// Whether a text is a comment.
pub fn is_comment(text: &str) -> bool {
    COMMENTS.iter().any(|mark| text.trim_start().starts_with(mark))
}

/// The text before a comment that follows a blank; `None` if there is none.
fn before_comment(line: &str) -> Option<&str> {
    let at = ["#", "//", "/*", ";"].iter().filter_map(|mark| line.find(mark)).min()?;
    line.get(..at).filter(|before| before.ends_with([' ', '\t']))
}

/// Reads a line that was meant as digits: at least three and half of its words are bytes, or it is a single word and
/// nearly all of it is digits. Returns the bytes before the first bad place, and the complaint.
pub fn damaged(line: &str) -> Option<Found<'_>> {
    let all: Vec<_> = words(line).take(MAX_PIECE).collect();
    let is_byte = |word: &&&str| digits(word).is_some_and(|(digits, _)| digits.len().is_multiple_of(2));
    let sound = all.iter().filter(is_byte).count();
    let bad = *all.iter().find(|word| !is_byte(word))?;
    let hex_digits = bad.bytes().filter(u8::is_ascii_hexdigit).count();
    let stream =
        all.len() == 1 && bad.len() >= 8 && hex_digits.saturating_mul(10) >= bad.len().saturating_mul(9);
    // `02:00:5e:00:53:01 > 02:00:5e:00:53:10, ethertype IPv4` names two addresses, as in the output of `tcpdump -e`.
    if ARROWS.contains(&bad) || !(stream || sound >= 3 && sound.saturating_mul(2) >= all.len()) {
        return None;
    }
    // `DEBUG` is a word, and its `de` is not a byte.
    let is_word = bad.len() > 2 && bad.bytes().all(|b| b.is_ascii_alphabetic());
    let whole = if is_word { 0 } else { bad.bytes().take_while(u8::is_ascii_hexdigit).count() & !1 };
    let strange = bad.get(whole..).unwrap_or_default();
    let mut found = line.get(..line.offset(strange)).and_then(read).unwrap_or_default();
    let what = format!(
        "Two hex digits were expected here, not {}. The rest of the line is left out.",
        shown(strange)
    );
    found.unread.add(strange, what);
    Some(found)
}
