//! A line of hex digits: with or without blanks, `0x`, `\x`, colons, commas, dashes.

use super::{MAX_COMPLAINTS, MAX_PIECE, Wrong, is_hex, nibble};

/// Characters that may stand between bytes.
const SEPARATORS: &[char] = &[' ', '\t', ',', ';', ':', '-', '|', '\u{a0}'];

/// The bytes of a line.
#[derive(Debug, PartialEq, Eq)]
pub struct Plain {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// What could not be read.
    pub wrong: Vec<Wrong>,
    /// The line ends with a comma, a colon or a backslash: it goes on.
    pub goes_on: bool,
}

/// A word between separators, and where it begins in the line.
fn words(line: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0usize;
    line.split(SEPARATORS).filter_map(move |word| {
        let begin = at;
        let separator =
            line.get(begin.saturating_add(word.len())..)?.chars().next().map_or(0, char::len_utf8);
        at = begin.saturating_add(word.len()).saturating_add(separator);
        Some((begin, word)).filter(|(_, word)| !word.is_empty() && *word != "\\")
    })
}

/// The digits of a word, and whether it said that they are hex.
fn digits(word: &str) -> (&str, bool) {
    let marked = ["0x", "0X", "\\x"].iter().find_map(|mark| word.strip_prefix(mark));
    let suffixed = || word.strip_suffix(['h', 'H']).filter(|digits| digits.len() == 2);
    match marked.or_else(suffixed) {
        Some(digits) => (digits, true),
        None => (word, false),
    }
}

/// Reads a line of digits; `None` if it is something else.
pub fn read(line: &str) -> Option<Plain> {
    let mut plain =
        Plain { bytes: vec![], wrong: vec![], goes_on: line.trim_end().ends_with([',', ':', '\\']) };
    let mut any = false;
    for (at, word) in words(line) {
        // `\xd5\xf6` is one word of several bytes.
        if word.starts_with("\\x") && word.matches("\\x").count() > 1 {
            let each: Option<Vec<u8>> = word.split("\\x").skip(1).map(single).collect();
            plain.bytes.extend(each?);
            any = true;
            continue;
        }
        let (digits, marked) = digits(word);
        if !is_hex(digits) {
            return None;
        }
        any = true;
        add(&mut plain, line, at, digits, marked);
    }
    any.then_some(plain)
}

/// A byte in two digits.
fn single(digits: &str) -> Option<u8> {
    let &[high, low] = digits.as_bytes() else { return None };
    Some(nibble(high)? << 4 | nibble(low)?)
}

fn add(plain: &mut Plain, line: &str, at: usize, digits: &str, marked: bool) {
    let (pairs, rest) = digits.as_bytes().as_chunks::<2>();
    match (pairs, rest) {
        // `0x0` is a whole byte, as in C.
        ([], [digit]) if marked => plain.bytes.extend(nibble(*digit)),
        (pairs, rest) => {
            plain
                .bytes
                .extend(pairs.iter().filter_map(|[high, low]| Some(nibble(*high)? << 4 | nibble(*low)?)));
            if !rest.is_empty() && plain.wrong.len() <= MAX_COMPLAINTS {
                let end = at.saturating_add(digits.len()).saturating_sub(1);
                let digits = digits.len();
                plain.wrong.push(Wrong::at(
                    line,
                    end,
                    format!(
                        "An odd number of hex digits, {digits}, stands here; every byte needs two. The last one is left out."
                    ),
                ));
            }
        }
    }
}

/// A line that was meant as digits: at least half of its words are bytes. Gives what stands before the first word
/// that is none, and the complaint.
pub fn damaged(line: &str) -> Option<Plain> {
    let all: Vec<_> = words(line).take(MAX_PIECE).collect();
    let is_byte = |word: &str| {
        let (digits, _) = digits(word);
        is_hex(digits) && digits.len().is_multiple_of(2)
    };
    let sound = all.iter().filter(|(_, word)| is_byte(word)).count();
    let (at, bad) = all.iter().find(|(_, word)| !is_byte(word))?;
    // `02:00:5e:00:53:01 > 02:00:5e:00:53:10, ethertype IPv4`: two ends, as `tcpdump -e` has them.
    if matches!(*bad, ">" | "<" | "=>" | "<=" | "→" | "←") {
        return None;
    }
    let half_digits = || {
        let hex = bad.bytes().filter(u8::is_ascii_hexdigit).count();
        all.len() == 1 && bad.len() >= 8 && hex.saturating_mul(10) >= bad.len().saturating_mul(9)
    };
    if !(sound >= 3 && sound.saturating_mul(2) >= all.len() || half_digits()) {
        return None;
    }
    // `DEBUG` is a word, and `de` no byte.
    let is_word = bad.len() > 2 && bad.bytes().all(|b| b.is_ascii_alphabetic());
    let sane = if is_word { 0 } else { bad.bytes().take_while(u8::is_ascii_hexdigit).count() & !1 };
    let end = at.saturating_add(sane);
    let mut plain =
        line.get(..end).and_then(read).unwrap_or(Plain { bytes: vec![], wrong: vec![], goes_on: false });
    let strange = bad.get(sane..).unwrap_or_default();
    let shown: String = strange.chars().take(12).collect();
    plain.wrong.push(Wrong::at(
        line,
        end,
        format!(
            "Two hex digits were expected here, not {}. The rest of the line is left out.",
            crate::report::quoted(&shown)
        ),
    ));
    Some(plain)
}

#[cfg(test)]
#[allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::arithmetic_side_effects)]
mod tests {
    use super::*;

    fn bytes(line: &str) -> Option<Vec<u8>> {
        read(line).filter(|plain| plain.wrong.is_empty()).map(|plain| plain.bytes)
    }

    #[test]
    fn digits_are_read_however_they_are_separated() {
        for line in [
            "d5f600",
            "D5 F6 00",
            "d5f6 00",
            "0xd5, 0xf6, 0x0",
            "0xd5f600",
            "d5:f6:00",
            "d5-f6-00",
            "\\xd5\\xf6\\x00",
            "\\xd5 \\xf6 \\x00",
            "  d5,f6,00,",
            "D5h F6h 00h",
            "d5|f6|00",
        ] {
            assert_eq!(bytes(line), Some(vec![0xd5, 0xf6, 0]), "{line}");
        }
        assert!(read("0xd5,").unwrap().goes_on);
    }

    #[test]
    fn words_are_no_digits() {
        for line in ["", "  ", "hello", "d5 f6 or so", "a\u{e9}", "\\xd5\\n"] {
            assert_eq!(read(line), None, "{line}");
        }
    }

    #[test]
    fn an_odd_number_of_digits_is_said_with_its_place() {
        let plain = read("d5 f60 01").unwrap();
        assert_eq!(plain.bytes, [0xd5, 0xf6, 1]);
        assert_eq!(plain.wrong[0].column, 5);
        assert!(plain.wrong[0].what.starts_with("An odd number of hex digits, 3,"));
    }

    #[test]
    fn a_damaged_line_gives_what_stands_before_the_damage() {
        let plain = damaged("d5 f6 00 0g 01").unwrap();
        assert_eq!((plain.bytes, plain.wrong[0].column), (vec![0xd5, 0xf6, 0], 9));
        assert!(plain.wrong[0].what.contains("not \"0g\""), "{}", plain.wrong[0].what);
        let stream = damaged("d5f60001zzd5f60001d5f60001d5f60001").unwrap();
        assert_eq!((stream.bytes, stream.wrong[0].column), (vec![0xd5, 0xf6, 0, 1], 8));
        assert!(damaged("DEBUG d5 f6 00 01").unwrap().bytes.is_empty());
        assert_eq!(damaged("This is what I get:"), None);
        assert_eq!(damaged("a bad day to add 10 20"), None);
        assert_eq!(damaged("02:00:5e:00:53:01 > 02:00:5e:00:53:10, ethertype IPv4 (0x0800)"), None);
    }
}
