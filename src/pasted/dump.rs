//! A dump under way: where its next row must begin, and what it means if that begins elsewhere.

use super::rows::Row;

/// Bases of offsets, the likeliest first: `hexdump`, `od`, `od -A d`.
const RADICES: [u32; 3] = [16, 8, 10];
/// Most bytes that a `*` may stand for: more than fits into a datagram is no dump of one.
const MAX_REPEATED: u64 = super::MAX_PIECE as u64;

/// Rows with offsets that have made up a datagram so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dump {
    /// Offset of its first byte.
    base: u64,
    /// Base of its offsets, once a row has shown it.
    radix: Option<u32>,
    /// Offset of its last row.
    last: u64,
    /// Bytes of every row but the last, once there are two.
    width: Option<u64>,
    /// A `*` was the last row: it repeats the one before.
    repeats: bool,
    /// It is tcpdump's, which shows packets with their headers.
    pub packets: bool,
    /// Its rows are indented.
    pub indented: bool,
    /// A row was missing: what follows cannot be placed.
    pub broken: bool,
}

/// What a row is to the dump under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// It goes on where the last one ended.
    Next,
    /// It goes on, and the last row had only so many bytes: what was read behind them were characters.
    Shorter(usize),
    /// The row before the last one is repeated so often before it, for so many bytes in all.
    Repeated(usize),
    /// So many bytes are missing before it.
    Gap(u64),
    /// It begins another dump.
    New,
}

/// The offset that a row begins a dump with; `None` if it is more likely data.
pub fn begin(row: &Row<'_>, forced: bool) -> Option<Dump> {
    let base = u64::from_str_radix(row.offset, 16).ok()?;
    // A row in the middle of a dump cannot be told from data, unless a colon stands there or digits are seven.
    if !(base == 0 || row.certain || forced || row.offset.len() == 7) {
        return None;
    }
    let radix = row.certain.then_some(16);
    Some(Dump {
        base,
        radix,
        last: base,
        width: None,
        repeats: false,
        packets: row.prefixed,
        indented: row.indented,
        broken: false,
    })
}

impl Dump {
    /// Offset of the first byte.
    pub fn base(&self) -> u64 {
        self.base
    }

    /// Values that an offset may have.
    fn values(&self, offset: &str, certain: bool) -> impl Iterator<Item = (u32, u64)> {
        let known = self.radix;
        let radices = RADICES.into_iter().filter(move |r| match known {
            Some(known) => *r == known,
            None => *r == 16 || !certain,
        });
        radices.filter_map(move |r| Some((r, u64::from_str_radix(offset, r).ok()?)))
    }

    /// Where an offset lies, with `read` bytes read so far.
    pub fn place(&mut self, offset: &str, certain: bool, read: usize) -> Place {
        let next = self.base.saturating_add(read as u64);
        let values: Vec<_> = self.values(offset, certain).collect();
        if let Some(&(radix, value)) = values.iter().find(|&&(_, value)| value == next) {
            self.radix = self.radix.or(Some(radix)).filter(|_| value > 9 || self.radix.is_some());
            return Place::Next;
        }
        let within = |v: u64| v > self.last && v < next;
        if let Some(&(_, value)) = values.iter().find(|&&(_, value)| within(value)) {
            return Place::Shorter(usize::try_from(value.saturating_sub(self.base)).unwrap_or(read));
        }
        match values.first() {
            Some(&(_, value)) if value > next => {
                let ahead = value.saturating_sub(next);
                match usize::try_from(ahead) {
                    Ok(bytes) if self.repeats && ahead <= MAX_REPEATED => Place::Repeated(bytes),
                    _ => Place::Gap(ahead),
                }
            }
            _ => Place::New,
        }
    }

    /// A `*` stands below the last row.
    pub fn repeat(&mut self) {
        self.repeats = true;
    }

    /// The offset of the last row in the bytes read so far.
    pub fn last_row(&self) -> usize {
        usize::try_from(self.last.saturating_sub(self.base)).unwrap_or(usize::MAX)
    }

    /// A row begins behind `read` bytes; gives how many bytes it may have.
    pub fn row(&mut self, read: usize) -> usize {
        let at = self.base.saturating_add(read as u64);
        if at > self.last && !self.repeats {
            self.width = self.width.or(Some(at.saturating_sub(self.last)));
        }
        self.repeats = false;
        self.last = at;
        self.width.and_then(|w| usize::try_from(w).ok()).unwrap_or(usize::MAX)
    }
}

#[cfg(test)]
#[allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::arithmetic_side_effects)]
mod tests {
    use super::super::rows::row;
    use super::*;

    fn dump(line: &str) -> Dump {
        begin(&row(line).expect("a row"), false).expect("a dump")
    }

    #[test]
    fn the_base_of_offsets_is_seen_at_the_second_row() {
        for (second, radix) in [("0000010", 16), ("0000020", 8), ("0000016", 10)] {
            let mut dump = dump("0000000 d5 f6");
            assert_eq!((dump.place(second, false, 16), dump.radix), (Place::Next, Some(radix)), "{second}");
        }
        let mut dump = dump("00000000: d5f6");
        assert_eq!(dump.place("00000020", true, 16), Place::Gap(16));
    }

    #[test]
    fn rows_that_are_elsewhere_are_gaps_repetitions_or_other_dumps() {
        let mut dump = dump("00000000  d5 f6");
        dump.row(16);
        assert_eq!(dump.place("00000030", true, 32), Place::Gap(16));
        assert_eq!(dump.place("00000000", true, 32), Place::New);
        assert_eq!(dump.place("00000010", true, 32), Place::New, "the last row again");
        assert_eq!(dump.place("00000018", true, 32), Place::Shorter(0x18));
        dump.repeat();
        assert_eq!(dump.place("00000030", true, 32), Place::Repeated(16));
        assert_eq!(dump.place("ffffffffffffffff", true, 32), Place::Gap(u64::MAX - 32));
    }

    #[test]
    fn a_dump_begins_at_0_or_with_a_colon() {
        let begins = |line: &str, forced| begin(&row(line).expect("a row"), forced).map(|d| d.base);
        assert_eq!(begins("0010  d5 f6", false), None);
        assert_eq!(begins("0010  d5 f6", true), Some(16));
        assert_eq!(begins("0010: d5 f6", false), Some(16));
        assert_eq!(begins("0000  d5 f6", false), Some(0));
    }
}
