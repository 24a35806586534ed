//! Parses rows with an offset, bytes, and possibly the same bytes as characters, and assembles datagrams from them.
//!
//! ```text
//!  xxd           00000010: a59c 4384 f146 df08 01                   ..C..F...
//!  tcpdump -X       0x0010:  a59c 4384 f146 df08 01                 ..C..F...
//!  hexdump -C    00000010  a5 9c 43 84 f1 46 df 08  01 00 00 00 00  |..C..F.......|
//!  hexdump, -x   0000010 9ca5 8443 46f1 08df 0001                   words of the host, low byte first
//!  od -t x1      0000020 a5 9c 43 84 f1 46 df 08 01                 offsets in octal, with -A in another base
//!  Wireshark     0010  a5 9c 43 84 f1 46 df 08 01                    ..C..F...
//! ```
//!
//! The characters follow the last byte after two or more blanks. They may look like hex digits, so they are recognised
//! by that gap and by the length of the rest, which never exceeds the number of bytes. If blanks were lost, the next
//! offset gives the number of bytes in the row.

use super::{Complaints, MAX_PIECE, Parsed, is_hex, pattern, shown};
use crate::report::count;
use crate::text::escape::from_hex;
use nom::Offset;
use regex::Regex;
use std::sync::LazyLock;

/// Bytes of a full row of Wireshark's "Follow UDP stream".
const FULL_ROW: usize = 16;

/// Maximum number of bytes in a row whose characters are recognised without a gap before them.
const LONGEST_ROW: usize = 64;

/// The offset at the beginning of a line.
static OFFSET: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r"^(?<indent>\s*)(?<frame>[\[|│] ?)?(?<zero>0x)?(?<offset>[0-9a-fA-F]{4,16})",
        r"(?:[\]|│]|h?(?: <[^<>]{1,80}>)?(?<colon>:?))(?<rest>\s.*)?$",
    ))
});
/// An offset of few digits.
static SHORT_OFFSET: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^\s*(?:0x|\+)?(?<offset>[0-9a-fA-F]{1,5}):(?<rest>\s.*)$"));
/// A word and the gap before it.
static WORD: LazyLock<Regex> = LazyLock::new(|| pattern(r"(\s+)(\S+)"));

/// A row of a dump.
#[derive(Debug)]
pub struct Row<'a> {
    /// The digits of the offset.
    pub offset: &'a str,
    /// A colon follows the offset, or `0x` precedes it: it is certainly an offset, in hex.
    pub is_certain: bool,
    /// The offset is a multiple of sixteen or an address, and a gap follows it.
    has_typical_offset: bool,
    /// `0x` precedes the offset, as in the output of tcpdump.
    is_tcpdump: bool,
    /// The row is indented.
    pub is_indented: bool,
    /// The offset has fewer than four digits, or is followed by words of four bytes as `qstat -d` prints them. Its base
    /// is not known.
    pub is_short: bool,
    /// The words are octal, decimal or binary, as in the output of plain `od`, `hexdump -d` and `xxd -b`.
    pub is_other_base: bool,
    /// Number of bytes in the first word.
    word_size: u64,
    /// The bytes of the row.
    pub parsed: Parsed<'a>,
}

/// Parses a row with a short offset and a colon, as in `16: ffffffff 49115175  ....I.Qu`. Only the rows around it tell
/// whether it is one, see [`begins_short`].
pub fn short_row(line: &str) -> Option<Row<'_>> {
    let captures = SHORT_OFFSET.captures(line)?;
    let (offset, rest) = (captures.name("offset")?.as_str(), captures.name("rest")?.as_str());
    let first_word = rest.split_whitespace().next()?;
    if !(is_hex(first_word) && first_word.len().is_multiple_of(2)) {
        return None;
    }
    Some(Row {
        offset,
        is_certain: true,
        has_typical_offset: false,
        is_tcpdump: false,
        is_indented: line.starts_with(char::is_whitespace),
        is_short: true,
        is_other_base: false,
        word_size: first_word.len() as u64 / 2,
        parsed: read_bytes(rest, true, false),
    })
}

/// Whether a row with a short offset begins a dump: it has offset 0, and the row below it continues it, or it is the
/// only one and has words of four bytes.
pub fn begins_short(row: &Row<'_>, below: &str) -> bool {
    let is_zero = row.offset.bytes().all(|b| b == b'0');
    let length = row.parsed.bytes.len() as u64;
    let next = below.lines().next().and_then(short_row).map(|row| row.offset);
    let continues =
        |offset: &str| [10, 16].iter().any(|radix| u64::from_str_radix(offset, *radix) == Ok(length));
    is_zero && (next.is_some_and(continues) || row.is_indented && row.word_size == 4 && row.offset.len() == 1)
}

/// Parses a row with an offset, if the line looks like one.
pub fn row(line: &str) -> Option<Row<'_>> {
    let captures = OFFSET.captures(line)?;
    let has_part = |name| captures.name(name).is_some_and(|part| !part.is_empty());
    let (offset, rest) = (captures.name("offset")?.as_str(), captures.name("rest")?.as_str());
    let (colon, is_prefixed, is_indented) = (has_part("colon"), has_part("zero"), has_part("indent"));
    let first_word = rest.split_whitespace().next()?;
    // radare2 prints `0x00000000  ffff ffff`. With a single blank it is more likely a list of numbers.
    let has_wide_gap = rest.starts_with("  ");
    let is_certain = colon
        || is_prefixed && offset.len() >= 8 && has_wide_gap && first_word.len() <= 4 && is_hex(first_word);
    let first_word = first_word.strip_prefix("0x").unwrap_or(first_word);
    let is_decimal = matches!(first_word.len(), 3 | 5 | 6) && first_word.bytes().all(|b| b.is_ascii_digit());
    let is_other_base = !is_certain && offset.len() == 7 && is_decimal || colon && is_binary(rest);
    // Without a colon, a word of four digits is more likely data than an offset before words.
    let has_byte_words =
        first_word.len() == 2 || matches!((offset.len(), first_word.len()), (6 | 7, 4 | 8 | 16));
    if !(is_certain || is_other_base || has_byte_words && is_hex(first_word)) || is_prefixed && !is_certain {
        return None;
    }
    let offset_value = u64::from_str_radix(offset, 16).ok().filter(|_| has_wide_gap && first_word.len() == 2);
    // Debuggers print addresses of sixteen digits.
    let is_address = offset.len() == 16 && offset_value.is_some();
    let has_typical_offset = is_address
        || offset.starts_with('0') && offset_value.is_some_and(|at| at.is_multiple_of(16) && at < 1 << 16);
    let (parsed, word_size) = (read_bytes(rest, is_certain, has_part("frame")), first_word.len() as u64 / 2);
    Some(Row {
        offset,
        is_certain,
        has_typical_offset,
        is_tcpdump: is_prefixed && colon,
        is_indented,
        is_short: false,
        is_other_base,
        word_size,
        parsed,
    })
}

impl<'a> Row<'a> {
    /// A row of a table, with these digits of its offset.
    pub fn of_table(offset: &'a str, parsed: Parsed<'a>) -> Row<'a> {
        Row {
            offset,
            is_certain: true,
            has_typical_offset: false,
            is_tcpdump: false,
            is_indented: false,
            is_short: true,
            is_other_base: false,
            word_size: 1,
            parsed,
        }
    }
}

/// Whether a line is the column header of a dump, as printed by HxD and PowerShell: `Offset 00 01 02 …`.
pub fn is_column_header(line: &str, below: &str) -> bool {
    let words = line.split_whitespace().skip_while(|word| !word.contains(|c: char| c.is_ascii_digit()));
    let numbers = words.map_while(|word| u8::from_str_radix(word, 16).ok());
    let is_separator = |line: &str| line.trim().is_empty() || line.trim_start().starts_with(['-', '+']);
    let first_row = || below.lines().find(|line| !is_separator(line));
    numbers.zip(0..).take_while(|(number, column)| number == column).take(8).count() == 8
        && first_row().and_then(row).is_some_and(|row| row.offset.bytes().all(|b| b == b'0'))
}

/// Whether the words after an offset are bytes in binary, as printed by `xxd -b`: at most as many characters as words
/// follow.
fn is_binary(rest: &str) -> bool {
    let is_binary = |word: &str| word.len() == 8 && word.bytes().all(|b| matches!(b, b'0' | b'1'));
    let words = rest.split_whitespace().take_while(|word| is_binary(word)).count();
    let characters = rest.split_whitespace().skip(words).map(|part| part.chars().count());
    (1..=words).contains(&characters.fold(0, usize::saturating_add))
}

/// The offset in a line without bytes, such as the last line of `hexdump` and `od`.
pub fn end_offset(line: &str) -> Option<&str> {
    let captures = OFFSET.captures(line)?;
    let offset = captures.name("offset").filter(|offset| offset.len() >= 6)?.as_str();
    let is_alone = captures.name("rest").is_none_or(|rest| rest.as_str().trim().is_empty());
    (is_alone && captures.name("zero").is_none() && !line.contains(':')).then_some(offset)
}

/// Parses the bytes after an offset. If no colon follows the offset, words have their low byte first. In a row with a
/// border, a bar may precede the ninth byte.
fn read_bytes(rest: &str, is_certain: bool, has_border: bool) -> Parsed<'_> {
    let mut parsed = Parsed::default();
    let mut first_word = None;
    for (_, [gap, word]) in WORD.captures_iter(rest).map(|word| word.extract()) {
        // gdb prefixes each byte with `0x` and separates bytes with tabs.
        let without_prefix = word.strip_prefix("0x");
        let word = without_prefix.unwrap_or(word);
        let (first_gap, digits) = *first_word.get_or_insert((gap, word.len()));
        let swaps_bytes = !is_certain && digits > 2;
        let read_len = parsed.bytes.len();
        if has_border && read_len == 8 && matches!(word, "|" | "┊") {
            continue;
        }
        // Count lazily, because a row may be as long as the whole text.
        let chars_left = || rest.get(rest.offset(word)..).unwrap_or_default().trim_end().chars().count();
        // `hexdump -x` prints several blanks before each word.
        let is_even_column = swaps_bytes && word.len() == 4 && is_hex(word) && gap == first_gap;
        let has_wide_gap =
            !is_even_column && without_prefix.is_none() && (gap.chars().count() > 1 || gap.contains('\t'));
        // The gap in the middle of a row, before the ninth byte.
        let is_eighth =
            word.len() == 2 && read_len.is_multiple_of(8) && read_len < 32 && gap.chars().count() <= 3;
        let is_middle = has_wide_gap && is_eighth && (chars_left() > read_len || !is_certain && gap == "  ");
        // Characters after a single blank, as many as the bytes before them.
        let is_text_after_blank = digits == 2
            && word.len() > 2
            && read_len <= LONGEST_ROW
            && is_hex(word)
            && chars_left() == read_len;
        if (has_wide_gap || is_text_after_blank) && read_len > 0 && !is_middle {
            check_characters(&mut parsed, rest.get(rest.offset(word)..).unwrap_or_default(), digits / 2);
            break;
        }
        if !(is_hex(word) && word.len().is_multiple_of(2) && (word.len() <= 16 || is_certain)) {
            let row_rest = rest.get(rest.offset(word)..).unwrap_or_default().trim_end();
            complain_about_word(&mut parsed, word, row_rest);
            break;
        }
        parsed.bytes.extend(from_hex(word));
        if swaps_bytes && let Some(last) = parsed.bytes.get_mut(read_len..) {
            last.reverse();
        }
    }
    parsed
}

/// Adds a complaint if the text in the character column cannot represent the bytes before it. `word_size` is the number
/// of bytes in a word.
fn check_characters<'a>(parsed: &mut Parsed<'a>, text: &'a str, word_size: usize) {
    let (word, characters) = (text.split_whitespace().next().unwrap_or_default(), text.trim_end());
    if is_hex(word)
        && word.len() == word_size.saturating_mul(2).max(2)
        && characters.chars().count() > parsed.bytes.len()
    {
        let message =
            "More digits stand behind this gap than there are characters. The rest of the row is left out.";
        return parsed.complaints.add(text, message);
    }
    let agrees = |bytes: &mut dyn Iterator<Item = &u8>| {
        let is_graphic = |c: u8| c.is_ascii_graphic() && c != b'.';
        // Leading blanks count as part of the gap.
        bytes
            .skip_while(|b| **b == b' ')
            .zip(characters.bytes())
            .all(|(b, c)| *b == c || !is_graphic(*b) || !is_graphic(c))
    };
    let mut swapped = parsed.bytes.chunks(word_size.max(1)).flat_map(|word| word.iter().rev());
    if word_size >= 2 && !agrees(&mut parsed.bytes.iter()) && agrees(&mut swapped) {
        let message = "The characters show that the words of this row have their low byte first, as `xxd -e` prints them";
        parsed.complaints.add(text, format!("{message}: print the bytes with `xxd`."));
    }
}

/// Adds a complaint about a word, unless it begins the character column. `rest` is the text from the word to the end
/// of the row.
fn complain_about_word<'a>(parsed: &mut Parsed<'a>, word: &'a str, rest: &'a str) {
    let chars_left = rest.chars().count();
    let read_len = parsed.bytes.len();
    let has_mark = word.starts_with(['|', '│', '>', '<', '[', '#']);
    let are_characters = read_len > 0
        && chars_left == read_len
        && rest.bytes().zip(&parsed.bytes).all(|(c, b)| c == *b || c == b'.');
    let begins_characters = are_characters
        || has_mark
        || read_len > 0 && (chars_left <= read_len && chars_left > 2 || read_len >= 16);
    if begins_characters && !(is_hex(word) && word.len() < 4 && read_len < 16) {
        return;
    }
    let message = match is_hex(word) {
        true => format!("An odd number of hex digits, {}, stands here; every byte needs two", word.len()),
        false => {
            format!("Hex digits or two blanks before the characters were expected here, not {}", shown(word))
        }
    };
    parsed.complaints.add(word, format!("{message}. The rest of the row is left out."));
}

/// A row of the current dump.
#[derive(Debug)]
struct OffsetRow<'a> {
    offset: &'a str,
    /// Index of the row's first byte among all bytes read.
    start: usize,
    /// A `*` follows, so the row is repeated up to the next offset.
    is_repeated: bool,
}

/// The rows of a datagram read so far.
#[derive(Debug)]
pub struct Dump<'a> {
    rows: Vec<OffsetRow<'a>>,
    is_certain: bool,
    /// The base of the offsets is not known.
    pub is_short: bool,
    /// Number of bytes in a word.
    word_size: u64,
    /// The dump is from tcpdump, which prints packets with their headers.
    pub shows_packets: bool,
    /// The rows are indented.
    pub is_indented: bool,
}

impl<'a> Dump<'a> {
    /// Begins a dump with this row; `None` if the row is more likely plain data. A row from the middle of a dump
    /// differs from data only in its offset and its context. With `is_forced`, any row begins a dump.
    pub fn begin(row: &Row<'_>, is_forced: bool) -> Option<Dump<'a>> {
        let is_zero = row.offset.bytes().all(|b| b == b'0');
        let is_dump =
            is_zero || row.is_certain || row.has_typical_offset || is_forced || row.offset.len() == 7;
        let (is_certain, shows_packets, is_indented) = (row.is_certain, row.is_tcpdump, row.is_indented);
        is_dump.then_some(Dump {
            rows: vec![],
            is_certain,
            is_short: row.is_short,
            word_size: row.word_size,
            shows_packets,
            is_indented,
        })
    }

    /// Whether an offset is greater than that of the last row. If not, it begins another dump.
    pub fn is_behind(&self, offset: &str) -> bool {
        let value = |offset| u64::from_str_radix(offset, 16).unwrap_or(0);
        self.rows.last().is_none_or(|last| value(offset) > value(last.offset))
    }

    /// Adds a row, or the end of the dump, after `read_len` bytes.
    pub fn add(&mut self, offset: &'a str, read_len: usize) {
        self.rows.push(OffsetRow { offset, start: read_len, is_repeated: false });
    }

    /// Records a `*` after the last row.
    pub fn repeat(&mut self) {
        self.rows.iter_mut().next_back().into_iter().for_each(|last| last.is_repeated = true);
    }

    /// Whether the last row is incomplete after `read_len` bytes.
    pub fn is_short(&self, read_len: usize) -> bool {
        self.rows.last().is_some_and(|last| read_len.saturating_sub(last.start) < FULL_ROW)
    }

    /// The offsets as numbers, in the base that fits the lengths of the rows best. Ties prefer the base of `hexdump`,
    /// then of `od`, then of `od -A d`.
    fn offsets(&self) -> Vec<u64> {
        let values = |radix: &u32| {
            let rows = self.rows.iter();
            rows.map(|row| u64::from_str_radix(row.offset, *radix).ok()).collect::<Option<Vec<_>>>()
        };
        let mismatch = |values: &Vec<u64>| {
            let steps = values.windows(2).zip(self.rows.windows(2)).map(|pair| match pair {
                ([from, to], [row, next]) if !row.is_repeated => {
                    let (step, read) = (to.wrapping_sub(*from), next.start.saturating_sub(row.start) as u64);
                    // The last word is padded.
                    if (1..self.word_size).contains(&read.wrapping_sub(step)) {
                        0
                    } else {
                        step.abs_diff(read)
                    }
                }
                _ => 0,
            });
            steps.fold(0u64, u64::saturating_add)
        };
        // Only `od` uses other bases, always with seven digits.
        let is_od = self.rows.iter().all(|row| row.offset.len() == 7);
        let bases: &[u32] = match (self.is_short, self.is_certain || !is_od) {
            (true, _) => &[16, 10],
            (false, true) => &[16],
            (false, false) => &[16, 8, 10],
        };
        bases.iter().filter_map(values).min_by_key(mismatch).unwrap_or_default()
    }

    /// Assembles the datagram: its bytes up to the first missing row, and the number of missing bytes after them.
    pub fn assemble(&self, read: &[u8], is_stream: bool, complaints: &mut Complaints<'a>) -> (Vec<u8>, u64) {
        let offsets = self.offsets();
        let (mut bytes, mut missing) = (vec![], 0u64);
        // An offset beyond the longest datagram is a memory address or a position in a file.
        if let (Some(base @ 1..=0xffff), Some(row), false) = (offsets.first(), self.rows.first(), is_stream) {
            let message = "offset 0 was expected. The bytes before it are taken as not there.";
            complaints.add(row.offset, format!("The dump begins at offset {base:#x}; {message}"));
        }
        let step = |i: usize| offsets.get(i.checked_add(1)?)?.checked_sub(*offsets.get(i)?);
        let first_step = step(0).filter(|_| self.rows.first().is_some_and(|row| !row.is_repeated));
        for (i, row) in self.rows.iter().enumerate() {
            let next = self.rows.get(i.saturating_add(1));
            let row_bytes =
                read.get(row.start..next.map_or(read.len(), |next| next.start)).unwrap_or_default();
            let row_step = step(i).unwrap_or(first_step.unwrap_or(u64::MAX).min(row_bytes.len() as u64));
            if missing > 0 {
                missing = missing.saturating_add(row_step);
                continue;
            }
            let expected_len = usize::try_from(row_step).unwrap_or(usize::MAX);
            // Two characters that look like digits are mistaken for a byte, and `hexdump` and `od` pad the last word.
            let excess = row_bytes.len().saturating_sub(expected_len);
            let is_explained = excess.saturating_mul(2) <= expected_len || excess < 8 && !self.is_certain;
            if !is_explained && step(i).is_some() {
                let (row_len, room) = (count(row_bytes.len() as u64, "byte"), count(row_step, "byte"));
                let message = format!(
                    "This row has {row_len}, and the next offset leaves room for {room}; the rest is left out."
                );
                complaints.add(row.offset, message);
            }
            bytes.extend_from_slice(row_bytes.get(..expected_len).unwrap_or(row_bytes));
            let lacking_len = expected_len.saturating_sub(row_bytes.len());
            if row.is_repeated && lacking_len <= MAX_PIECE {
                let room = MAX_PIECE.saturating_sub(bytes.len());
                bytes.extend(row_bytes.iter().cycle().take(lacking_len.min(room)));
            } else if let Some(next) = next.filter(|_| lacking_len > 0) {
                missing = lacking_len as u64;
                let message = "What follows is taken as not captured, up to the end of the dump.";
                let gap = count(missing, "byte");
                complaints.add(next.offset, format!("Missing before this offset: {gap}. {message}"));
            }
        }
        (bytes, missing)
    }
}
