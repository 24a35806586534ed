//! Parses lines of bytes in decimal, signed as Java prints them or not, and in octal with three digits each.

use super::{Complaints, Parsed, pattern, shown};
use regex::Regex;
use std::sync::LazyLock;

/// Minimum number of numbers in a line.
const MIN_NUMBERS: usize = 4;

/// At least five decimal numbers with commas between them, within a line.
static WITHIN: LazyLock<Regex> = LazyLock::new(|| pattern(r"-?[0-9]{1,3}(?:\s*,\s*-?[0-9]{1,3}){4,}"));

/// Parses a line that consists of such numbers; `None` for any other line, and for numbers that could be hex.
///
/// With `is_certain`, the lines above are decimal, so numbers of two digits are, too.
pub fn read(line: &str, is_certain: bool) -> Option<Parsed<'_>> {
    let line = line.trim();
    let is_separator = |c: char| c.is_whitespace() || c == ',' || c == ';';
    // An address has four numbers with points between them.
    let has_points = !line.contains(is_separator) && line.matches('.').count() > MIN_NUMBERS;
    let is_between = |c: char| is_separator(c) || has_points && c == '.';
    let words = || line.split(is_between).filter(|word| !word.is_empty());
    let is_number = |word: &str| {
        let digits = word.strip_prefix('-').unwrap_or(word);
        (1..=3).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit())
    };
    if !line.starts_with(['-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9']) || !words().all(is_number) {
        return None;
    }
    let has_three_digits = words().any(|word| word.len() == 3);
    let is_signed = words().any(|word| word.starts_with('-'));
    let all_single = || words().all(|word| word.len() == 1);
    let has_comma_and_blank = line.contains(", ");
    let has_single = || words().any(|word| word.len() == 1);
    let has_padding = words().any(|word| word.len() == 2 && word.starts_with('0'));
    let is_decimal =
        has_three_digits || is_signed || all_single() || has_comma_and_blank && has_single() && !has_padding;
    if !(is_certain || words().nth(MIN_NUMBERS.saturating_sub(1)).is_some() && is_decimal) {
        return None;
    }
    let is_octal = words().all(|word| word.len() == 3 && word.bytes().all(|b| b < b'8'))
        && words().any(|word| word > "255");
    let mut parsed = Parsed::default();
    let (mut numbers, mut wrong) = (0usize, 0usize);
    for word in words() {
        numbers = numbers.saturating_add(1);
        match i16::from_str_radix(word, if is_octal { 8 } else { 10 }) {
            Ok(byte @ -128..=255) => parsed.bytes.extend(byte.to_le_bytes().first()),
            _ => {
                wrong = wrong.saturating_add(1);
                not_a_byte(&mut parsed.complaints, word);
            }
        }
    }
    (wrong.saturating_mul(2) < numbers).then_some(parsed)
}

/// Adds a complaint about a number that is no byte.
pub fn not_a_byte<'a>(complaints: &mut Complaints<'a>, word: &'a str) {
    let message = "A byte was expected here, a number from 0 to 255, not";
    complaints.add(word, format!("{message} {}. It is left out.", shown(word)));
}

/// Parses numbers within a line, as in `pack('C*', 255, 255, 255, 255, 105)`. Returns the text from them on, too.
pub fn find(line: &str) -> Option<(&str, Parsed<'_>)> {
    let numbers = WITHIN.find(line)?;
    Some((line.get(numbers.start()..)?, read(numbers.as_str(), false)?))
}
