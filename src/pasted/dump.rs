//! Rows with an offset, bytes, and perhaps the same bytes as characters; and how rows make up a datagram.
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
//! The characters follow two blanks or more after the last byte. They may look like hex digits, so they are told by
//! that gap and by the length of the rest, which is never greater than the number of bytes. Where blanks were lost,
//! the next offset tells how many bytes the row had.

use super::{Found, MAX_PIECE, Unread, is_hex, pattern, shown};
use crate::escape::from_hex;
use crate::report::count;
use nom::Offset;
use regex::Regex;
use std::sync::LazyLock;

/// Bytes of a full row of Wireshark's "Follow UDP stream".
const FULL_ROW: usize = 16;

/// Longest row in bytes whose characters are told from bytes although there is no gap before them.
const LONGEST_ROW: usize = 64;

/// The offset at the beginning of a line.
static OFFSET: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r"^(?<indent>\s*)(?<frame>[\[|│] ?)?(?<zero>0x)?(?<offset>[0-9a-fA-F]{4,16})",
        r"(?:[\]|│]|h?(?: <[^<>]{1,80}>)?(?<colon>:?))(?<rest>\s.*)?$",
    ))
});
/// A word and the gap before it.
static WORD: LazyLock<Regex> = LazyLock::new(|| pattern(r"(\s+)(\S+)"));

/// A row as it is written.
#[derive(Debug)]
pub struct Row<'a> {
    /// The digits of the offset.
    pub offset: &'a str,
    /// A colon follows the offset, or `0x` precedes it, so it certainly is an offset, and in hex.
    pub certain: bool,
    /// The offset is one that rows of sixteen bytes have, or an address, and a gap follows it.
    placed: bool,
    /// `0x` precedes the offset, as in the output of tcpdump.
    prefixed: bool,
    /// The row is indented.
    pub indented: bool,
    /// Its words are octal, decimal or binary, as plain `od`, `hexdump -d` and `xxd -b` print them.
    pub is_other_base: bool,
    /// Number of bytes in its first word.
    word: u64,
    /// Its bytes.
    pub found: Found<'a>,
}

/// Reads a row with an offset, if the line looks like one.
pub fn row(line: &str) -> Option<Row<'_>> {
    let head = OFFSET.captures(line)?;
    let has = |name| head.name(name).is_some_and(|part| !part.is_empty());
    let (offset, rest) = (head.name("offset")?.as_str(), head.name("rest")?.as_str());
    let (colon, prefixed, indented) = (has("colon"), has("zero"), has("indent"));
    let first = rest.split_whitespace().next()?;
    // `0x00000000  ffff ffff` of radare2; after one blank it is more likely a list of numbers.
    let wide = rest.starts_with("  ");
    let certain = colon || prefixed && offset.len() >= 8 && wide && first.len() <= 4 && is_hex(first);
    let first = first.strip_prefix("0x").unwrap_or(first);
    let decimal = matches!(first.len(), 3 | 5 | 6) && first.bytes().all(|b| b.is_ascii_digit());
    let is_other_base = !certain && offset.len() == 7 && decimal || colon && is_binary(rest);
    // Without a colon, a word of four digits is more likely data than an offset before words.
    let bytes = first.len() == 2 || matches!((offset.len(), first.len()), (6 | 7, 4 | 8 | 16));
    if !(certain || is_other_base || bytes && is_hex(first)) || prefixed && !certain {
        return None;
    }
    let place = u64::from_str_radix(offset, 16).ok().filter(|_| wide && first.len() == 2);
    // Debuggers print addresses, of sixteen digits.
    let address = offset.len() == 16 && place.is_some();
    let placed =
        address || offset.starts_with('0') && place.is_some_and(|at| at.is_multiple_of(16) && at < 1 << 16);
    let (found, word) = (bytes_behind(rest, certain, has("frame")), first.len() as u64 / 2);
    Some(Row { offset, certain, placed, prefixed: prefixed && colon, indented, is_other_base, word, found })
}

/// Whether a line names the columns of the dump below it, as HxD and PowerShell print them: `Offset 00 01 02 …`.
pub fn is_ruler(line: &str, below: &str) -> bool {
    let words = line.split_whitespace().skip_while(|word| !word.contains(|c: char| c.is_ascii_digit()));
    let numbers = words.map_while(|word| u8::from_str_radix(word, 16).ok());
    let drawn = |line: &str| line.trim().is_empty() || line.trim_start().starts_with(['-', '+']);
    let first = || below.lines().find(|line| !drawn(line));
    numbers.zip(0..).take_while(|(number, column)| number == column).take(8).count() == 8
        && first().and_then(row).is_some_and(|row| row.offset.bytes().all(|b| b == b'0'))
}

/// Whether the words behind an offset are bytes in binary, as `xxd -b` prints them: there are not more characters than words.
fn is_binary(rest: &str) -> bool {
    let binary = |word: &str| word.len() == 8 && word.bytes().all(|b| matches!(b, b'0' | b'1'));
    let words = rest.split_whitespace().take_while(|word| binary(word)).count();
    let characters = rest.split_whitespace().skip(words).map(|part| part.chars().count());
    (1..=words).contains(&characters.fold(0, usize::saturating_add))
}

/// The offset of a line that is only an offset, like the last line of `hexdump` and `od`.
pub fn end(line: &str) -> Option<&str> {
    let head = OFFSET.captures(line)?;
    let offset = head.name("offset").filter(|offset| offset.len() >= 6)?.as_str();
    let alone = head.name("rest").is_none_or(|rest| rest.as_str().trim().is_empty());
    (alone && head.name("zero").is_none() && !line.contains(':')).then_some(offset)
}

/// Reads the bytes after an offset. Where no colon follows the offset, words have their low byte first. In a `framed` row, a
/// stroke may stand before the ninth byte.
fn bytes_behind(rest: &str, certain: bool, framed: bool) -> Found<'_> {
    let mut found = Found::default();
    let mut first = None;
    for (_, [gap, word]) in WORD.captures_iter(rest).map(|word| word.extract()) {
        // gdb marks each byte as hex, and puts tabs between them.
        let marked = word.strip_prefix("0x");
        let word = marked.unwrap_or(word);
        let (first_gap, digits) = *first.get_or_insert((gap, word.len()));
        let swap = !certain && digits > 2;
        let read = found.bytes.len();
        if framed && read == 8 && matches!(word, "|" | "┊") {
            continue;
        }
        // Counted only where blanks or other characters stand: a row may be as long as the text.
        let left = || rest.get(rest.offset(word)..).unwrap_or_default().trim_end().chars().count();
        // `hexdump -x` has several blanks before each word.
        let even = swap && word.len() == 4 && is_hex(word) && gap == first_gap;
        let wide = !even && marked.is_none() && (gap.chars().count() > 1 || gap.contains('\t'));
        // The gap in the middle of a row, before its ninth byte.
        let eighth = word.len() == 2 && read.is_multiple_of(8) && read < 32 && gap.chars().count() <= 3;
        let middle = wide && eighth && (left() > read || !certain && gap == "  ");
        // Characters after a single blank, as long as the bytes before them.
        let narrow = digits == 2 && word.len() > 2 && read <= LONGEST_ROW && is_hex(word) && left() == read;
        if (wide || narrow) && read > 0 && !middle {
            characters(&mut found, rest.get(rest.offset(word)..).unwrap_or_default(), digits / 2);
            break;
        }
        if !(is_hex(word) && word.len().is_multiple_of(2) && (word.len() <= 16 || certain)) {
            strange(&mut found, word, left());
            break;
        }
        found.bytes.extend(from_hex(word));
        if swap && let Some(last) = found.bytes.get_mut(read..) {
            last.reverse();
        }
    }
    found
}

/// Complains about what stands in the place of the characters, if it cannot be the characters of the bytes before it. `group`
/// is the number of bytes in a word.
fn characters<'a>(found: &mut Found<'a>, text: &'a str, group: usize) {
    let (word, shown) = (text.split_whitespace().next().unwrap_or_default(), text.trim_end());
    if is_hex(word)
        && word.len() == group.saturating_mul(2).max(2)
        && shown.chars().count() > found.bytes.len()
    {
        let what =
            "More digits stand behind this gap than there are characters. The rest of the row is left out.";
        return found.unread.add(text, what);
    }
    let agree = |bytes: &mut dyn Iterator<Item = &u8>| {
        let graphic = |c: u8| c.is_ascii_graphic() && c != b'.';
        // Blanks at the beginning are part of the gap.
        bytes
            .skip_while(|b| **b == b' ')
            .zip(shown.bytes())
            .all(|(b, c)| *b == c || !graphic(*b) || !graphic(c))
    };
    let mut swapped = found.bytes.chunks(group.max(1)).flat_map(|word| word.iter().rev());
    if group >= 2 && !agree(&mut found.bytes.iter()) && agree(&mut swapped) {
        let what = "The characters show that the words of this row have their low byte first, as `xxd -e` prints them";
        found.unread.add(text, format!("{what}: print the bytes with `xxd`."));
    }
}

/// Complains about a word, unless it begins the characters; `left` is the number of characters from there to the end
/// of the row.
fn strange<'a>(found: &mut Found<'a>, word: &'a str, left: usize) {
    let read = found.bytes.len();
    let marked = word.starts_with(['|', '│', '>', '<', '[', '#']);
    let characters = marked || read > 0 && (left <= read && left > 2 || read >= 16);
    if characters && !(is_hex(word) && word.len() < 4 && read < 16) {
        return;
    }
    let what = match is_hex(word) {
        true => format!("An odd number of hex digits, {}, stands here; every byte needs two", word.len()),
        false => {
            format!("Hex digits or two blanks before the characters were expected here, not {}", shown(word))
        }
    };
    found.unread.add(word, format!("{what}. The rest of the row is left out."));
}

/// A row of the current dump.
#[derive(Debug)]
struct Placed<'a> {
    offset: &'a str,
    /// Index of its first byte in all bytes read.
    begin: usize,
    /// A `*` follows: the row is repeated up to the next offset.
    repeats: bool,
}

/// The rows that have made up a datagram so far.
#[derive(Debug)]
pub struct Dump<'a> {
    rows: Vec<Placed<'a>>,
    certain: bool,
    /// Number of bytes in a word.
    word: u64,
    /// It is from tcpdump, which shows packets with their headers.
    pub packets: bool,
    /// Its rows are indented.
    pub indented: bool,
}

impl<'a> Dump<'a> {
    /// Begins a dump with this row; `None` if the row is more likely plain data. A row from the middle of a dump is
    /// told from data only by its offset and what is around it, or counts as one where `forced`.
    pub fn begin(row: &Row<'_>, forced: bool) -> Option<Dump<'a>> {
        let zero = row.offset.bytes().all(|b| b == b'0');
        let is_dump = zero || row.certain || row.placed || forced || row.offset.len() == 7;
        let (certain, packets, indented) = (row.certain, row.prefixed, row.indented);
        is_dump.then_some(Dump { rows: vec![], certain, word: row.word, packets, indented })
    }

    /// Whether an offset is greater than that of the last row; otherwise it begins another dump.
    pub fn is_behind(&self, offset: &str) -> bool {
        let value = |offset| u64::from_str_radix(offset, 16).unwrap_or(0);
        self.rows.last().is_none_or(|last| value(offset) > value(last.offset))
    }

    /// Adds a row, or the end of the dump, after `read` bytes.
    pub fn add(&mut self, offset: &'a str, read: usize) {
        self.rows.push(Placed { offset, begin: read, repeats: false });
    }

    /// Notes a `*` after the last row.
    pub fn repeat(&mut self) {
        self.rows.iter_mut().next_back().into_iter().for_each(|last| last.repeats = true);
    }

    /// Whether the last row is incomplete, when `read` bytes have been read.
    pub fn is_short(&self, read: usize) -> bool {
        self.rows.last().is_some_and(|last| read.saturating_sub(last.begin) < FULL_ROW)
    }

    /// The offsets as numbers, in the base that fits the lengths of the rows best: that of `hexdump`, `od` or `od -A
    /// d`, with preference in this order.
    fn offsets(&self) -> Vec<u64> {
        let values = |radix: &u32| {
            let rows = self.rows.iter();
            rows.map(|row| u64::from_str_radix(row.offset, *radix).ok()).collect::<Option<Vec<_>>>()
        };
        let wrong = |values: &Vec<u64>| {
            let steps = values.windows(2).zip(self.rows.windows(2)).map(|pair| match pair {
                ([from, to], [row, next]) if !row.repeats => {
                    let (step, read) = (to.wrapping_sub(*from), next.begin.saturating_sub(row.begin) as u64);
                    // The last word is filled up.
                    if (1..self.word).contains(&read.wrapping_sub(step)) { 0 } else { step.abs_diff(read) }
                }
                _ => 0,
            });
            steps.fold(0u64, u64::saturating_add)
        };
        // Only `od` has other bases, and always seven digits there.
        let od = self.rows.iter().all(|row| row.offset.len() == 7);
        let bases: &[u32] = if self.certain || !od { &[16] } else { &[16, 8, 10] };
        bases.iter().filter_map(values).min_by_key(wrong).unwrap_or_default()
    }

    /// The datagram in these rows: its bytes up to the first missing row, and the number of bytes missing after
    /// them.
    pub fn assemble(&self, read: &[u8], is_stream: bool, unread: &mut Unread<'a>) -> (Vec<u8>, u64) {
        let offsets = self.offsets();
        let (mut bytes, mut missing) = (vec![], 0u64);
        // What is beyond the longest datagram is an address in memory, or a place in a file.
        if let (Some(base @ 1..=0xffff), Some(row), false) = (offsets.first(), self.rows.first(), is_stream) {
            let what = "offset 0 was expected. The bytes before it are taken as not there.";
            unread.add(row.offset, format!("The dump begins at offset {base:#x}; {what}"));
        }
        let step = |i: usize| offsets.get(i.checked_add(1)?)?.checked_sub(*offsets.get(i)?);
        let width = step(0).filter(|_| self.rows.first().is_some_and(|row| !row.repeats));
        for (i, row) in self.rows.iter().enumerate() {
            let next = self.rows.get(i.saturating_add(1));
            let own = read.get(row.begin..next.map_or(read.len(), |next| next.begin)).unwrap_or_default();
            let length = step(i).unwrap_or(width.unwrap_or(u64::MAX).min(own.len() as u64));
            if missing > 0 {
                missing = missing.saturating_add(length);
                continue;
            }
            let wanted = usize::try_from(length).unwrap_or(usize::MAX);
            // Two characters that look like digits are taken for a byte, and `hexdump` and `od` fill the last word up.
            let excess = own.len().saturating_sub(wanted);
            let explained = excess.saturating_mul(2) <= wanted || excess < 8 && !self.certain;
            if !explained && step(i).is_some() {
                let (has, room) = (count(own.len() as u64, "byte"), count(length, "byte"));
                let what = format!(
                    "This row has {has}, and the next offset leaves room for {room}; the rest is left out."
                );
                unread.add(row.offset, what);
            }
            bytes.extend_from_slice(own.get(..wanted).unwrap_or(own));
            let ahead = wanted.saturating_sub(own.len());
            if row.repeats && ahead <= MAX_PIECE {
                let room = MAX_PIECE.saturating_sub(bytes.len());
                bytes.extend(own.iter().cycle().take(ahead.min(room)));
            } else if let Some(next) = next.filter(|_| ahead > 0) {
                missing = ahead as u64;
                let what = "What follows is taken as not captured, up to the end of the dump.";
                let gap = count(missing, "byte");
                unread.add(next.offset, format!("Missing before this offset: {gap}. {what}"));
            }
        }
        (bytes, missing)
    }
}
