//! Finds bytes among words, as in lines of logs: `12:00 DEBUG sent 25 bytes: ff ff … to the server`.
//!
//! A run is a series of words of the same length with the same text between them. Numbers, times, addresses and
//! identifiers are no runs.

use super::{Complaints, Parsed, digits, pattern};
use nom::Offset;
use regex::Regex;
use std::sync::LazyLock;

/// Minimum number of bytes of a run, and of one in a line that says that bytes follow.
const MIN_RUN: usize = 5;
const MIN_HINTED_RUN: usize = 4;
/// Minimum number of bytes of a run without blanks, unless it begins as the messages of many protocols do.
const MIN_STREAM: usize = 12;
const PREFIXES: [&str; 3] = ["ffffffff", "feffffff", "fefd"];
/// Nouns before digits that are no message.
const OTHER_DIGITS: &[&str] = &[
    "commit",
    "hash",
    "sha",
    "sha1",
    "sha256",
    "md5",
    "crc",
    "crc32",
    "token",
    "id",
    "key",
    "checksum",
    "digest",
    "revision",
    "version",
    "uuid",
    "guid",
    "cookie",
    "build",
    "challenge",
    "address",
    "pointer",
    "at",
    "session",
    "mac",
];
/// Words of two letters, which are otherwise more likely damaged bytes.
const SHORT_WORDS: &[&str] = &[
    "to", "of", "in", "by", "is", "at", "on", "or", "as", "it", "ok", "we", "my", "no", "so", "rx", "tx",
    "vs", "us", "if", "up", "go", "he", "me", "do",
];

/// A word with letters or digits.
static WORD: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?:0[xX]|\\x)?[^\W_][\w']*"));

/// The bytes that a line contains among words.
#[derive(Debug)]
pub struct Run<'a> {
    pub before: &'a str,
    pub after: &'a str,
    pub parsed: Parsed<'a>,
}

/// A series of words that could be bytes.
#[derive(Clone, Copy, Debug)]
struct Series {
    start: usize,
    end: usize,
    /// Number of words, and of digits in each; words of eight and more digits count as eight.
    words: usize,
    digits: usize,
    /// The character between the words.
    between: char,
    /// Part of an identifier such as a UUID.
    is_id: bool,
}

/// Finds the run with which a line begins, or else its last one. `is_hinted` says that the text announces bytes. Other
/// runs become complaints.
pub fn find(line: &str, is_hinted: bool) -> Option<Run<'_>> {
    let min = if is_hinted || line.contains("byte") { MIN_HINTED_RUN } else { MIN_RUN };
    let mut runs: Vec<Series> = series(line);
    runs.retain(|run| is_run(line, run, min));
    let leads =
        runs.first().filter(|first| line.get(..first.start).is_some_and(|before| before.trim().is_empty()));
    let chosen = *leads.or(runs.last())?;
    let text = line.get(chosen.start..chosen.end)?;
    let (before, after) = (line.get(..chosen.start)?, line.get(chosen.end..)?);
    let mut parsed = digits::read(text)?;
    let mut after = after;
    // `… 79 00 25 bytes` counts the bytes before it.
    let count = text.get(text.len().saturating_sub(2)..).unwrap_or_default();
    if chosen.digits == 2
        && after.trim_start().starts_with("byte")
        && count.parse().is_ok_and(|count: usize| count.saturating_add(1) == parsed.bytes.len())
    {
        parsed.bytes.pop();
        after = line.get(chosen.start..)?.get(text.len().saturating_sub(2)..)?;
    }
    if !continues_in_words(after) || !precedes_in_words(before, is_hinted) {
        return None;
    }
    for run in runs.iter().filter(|run| run.start != chosen.start) {
        let message =
            "These digits are not read, for others stand in the same line: write each datagram in a line.";
        parsed.complaints.add(line.get(run.start..).unwrap_or_default(), message);
    }
    if ["...", "…"].iter().any(|cut| after.trim_start().starts_with(cut)) {
        let message = "The digits are cut here. What follows is taken as not captured.";
        parsed.complaints.add(after.trim_start(), message);
        parsed.missing = 1;
    }
    lost_bytes(after, &mut parsed.complaints);
    Some(Run { before, after, parsed })
}

/// The series of a line.
fn series(line: &str) -> Vec<Series> {
    let mut all: Vec<Series> = vec![];
    let mut end_of_word = 0;
    for word in WORD.find_iter(line) {
        let text = word.as_str();
        let bare =
            text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")).or_else(|| text.strip_prefix("\\x"));
        let bare = bare.unwrap_or(text);
        let (length, gap) = (bare.len(), line.get(end_of_word..word.start()).unwrap_or_default());
        let was_adjacent = end_of_word > 0;
        end_of_word = word.end();
        if !super::is_hex(bare) || !(matches!(length, 2 | 4) || length >= 8 && length.is_multiple_of(2)) {
            if let Some(last) =
                all.last_mut().filter(|last| gap == "-" && last.end == word.start().saturating_sub(1))
            {
                last.is_id = true;
            }
            continue;
        }
        let between = gap.trim_matches(' ').chars().next().unwrap_or(' ');
        let digits = length.min(8);
        match all.last_mut() {
            Some(last)
                if was_adjacent
                    && last.end.saturating_add(gap.len()) == word.start()
                    && last.digits == digits
                    && gap.chars().all(|c| " \t,:;-".contains(c))
                    && gap.len() <= 4
                    && (last.words == 1 || last.between == between) =>
            {
                (last.end, last.words, last.between) = (word.end(), last.words.saturating_add(1), between);
            }
            last => {
                let is_id = gap == "-"
                    && last.is_some_and(|last| {
                        let is_joined = last.end.saturating_add(1) == word.start();
                        last.is_id |= is_joined;
                        is_joined
                    });
                let (start, end) = (word.start(), word.end());
                all.push(Series { start, end, words: 1, digits, between: ' ', is_id });
            }
        }
    }
    all
}

/// Whether a series is a run of bytes.
fn is_run(line: &str, run: &Series, min: usize) -> bool {
    let text = line.get(run.start..run.end).unwrap_or_default();
    let digits = text.bytes().filter(u8::is_ascii_hexdigit).count();
    let has_digit =
        text.bytes().any(|b| b.is_ascii_digit()) || text.bytes().all(|b| matches!(b, b'f' | b'F' | b' '));
    // Numbers of two digits are rather counts, unless some begin with zero.
    let is_hex = text.bytes().any(|b| b.is_ascii_alphabetic()) || text.contains("00");
    let is_first = line.get(..run.start).is_some_and(|before| before.trim().is_empty());
    let has_prefix = PREFIXES
        .iter()
        .any(|prefix| text.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix)));
    let is_mac = run.words == 6 && run.digits == 2 && matches!(run.between, ':' | '-');
    let is_time = run.words == 3 && run.between == ':';
    let before = line.get(..run.start).unwrap_or_default().trim_end_matches(|c: char| !c.is_alphanumeric());
    let noun = before.rsplit(|c: char| !c.is_alphanumeric()).next().unwrap_or_default().to_ascii_lowercase();
    let is_other = run.words == 1 && OTHER_DIGITS.contains(&&*noun);
    let min_digits = match (run.words, run.digits) {
        (1, _) if is_first || has_prefix => MIN_RUN.saturating_mul(2),
        (1, _) if min == MIN_HINTED_RUN => min.saturating_mul(2),
        (1, _) => MIN_STREAM.saturating_mul(2),
        _ => min.saturating_mul(2),
    };
    digits >= min_digits && has_digit && is_hex && !is_mac && !is_time && !is_other && !run.is_id
}

/// Whether the text after bytes consists of words, and not of a damaged byte first.
fn continues_in_words(after: &str) -> bool {
    let text = after.trim_start_matches([' ', '\t', ',', ';', '-', '|']);
    let Some(first) = text.split_whitespace().next() else { return true };
    let is_letters = first.bytes().all(|b| b.is_ascii_alphabetic());
    let has_vowel = first.bytes().any(|b| b"aeiouyAEIOUY".contains(&b));
    let is_count = first.bytes().all(|b| b.is_ascii_digit())
        && text.get(first.len()..).is_some_and(|rest| rest.trim_start().starts_with("byte"));
    match first.len() {
        _ if is_count => true,
        1 => !first.bytes().all(|b| b.is_ascii_alphanumeric()),
        2 if is_letters => SHORT_WORDS.contains(&&*first.to_ascii_lowercase()),
        _ => {
            is_letters && has_vowel
                || !first.starts_with(|c: char| c.is_ascii_alphanumeric())
                || first.contains(|c: char| "=:.([{,'/<-".contains(c)) && !first.starts_with("0x")
        }
    }
}

/// Whether the text before bytes is words: a single word without a mark in front of a few bytes may be damage.
fn precedes_in_words(before: &str, is_hinted: bool) -> bool {
    let last = before.split_whitespace().next_back().unwrap_or_default();
    let is_damaged = last.len() <= 2
        && last.bytes().all(|b| b.is_ascii_alphanumeric())
        && last.bytes().any(|b| b.is_ascii_hexdigit())
        && !SHORT_WORDS.contains(&&*last.to_ascii_lowercase());
    is_hinted || !is_damaged
}

/// Adds a complaint about digits among the words after bytes.
fn lost_bytes<'a>(after: &'a str, complaints: &mut Complaints<'a>) {
    let lost = series(after)
        .into_iter()
        .find(|run| run.words >= 2 && run.digits == 2 && !run.is_id && run.between == ' ');
    if let Some(at) = lost.and_then(|run| after.get(run.start..)) {
        complaints.add(at, "These digits are not read, for words stand before them.");
    }
}

/// A word that was meant as a byte in C's notation, but is none: `0xfg`.
pub fn damaged_byte(line: &str) -> Option<&str> {
    let is_damaged = |word: &&str| {
        let digits = word.strip_prefix("0x").or_else(|| word.strip_prefix("0X"));
        digits.is_some_and(|digits| matches!(digits.len(), 1 | 2) && !super::is_hex(digits))
    };
    line.split(|c: char| !c.is_alphanumeric()).find(is_damaged).filter(|word| line.offset(word) < line.len())
}
