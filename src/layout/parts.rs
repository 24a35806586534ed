//! Reads the parts of a layout: constants, numbers, lists, and lengths with what they count.

use super::numbers::{fits, signed, value, write_number};
use super::reader::Reader;
use super::{Change, Kind, Length, Number, Part, Sized};

/// Elements of a list at most.
const MAX_ELEMENTS: u64 = 5000;

impl Reader<'_> {
    /// Reads parts one after the other.
    pub fn parts(&mut self, parts: &'static [Part]) -> Option<()> {
        parts.iter().try_for_each(|part| self.part(part))
    }

    fn part(&mut self, part: &'static Part) -> Option<()> {
        match part {
            Part::Const(name, bytes) => self.constant(name, bytes, false),
            Part::ConstNumber(name, bytes) => self.constant(name, bytes, true),
            Part::Token(name, width, order, known) => self.token(name, *width, *order, *known),
            Part::Number(number) => self.number_part(number),
            Part::Text(name) => self.text(name),
            Part::TextAs(name, form, encoding) => self.text_as(name, *form, *encoding),
            Part::Texts(names) => self.texts_part(names),
            Part::Sized(sized) => self.sized(sized),
            Part::Count(name, width, parts) => self.counted(name, *width, parts),
            Part::Rest(parts) => self.rest_part(parts),
            Part::Custom(read) => read(self),
        }
    }

    fn number_part(&mut self, number: &'static Number) -> Option<()> {
        let Number { name, group, width, kind, accepts } = *number;
        if kind == Kind::Float {
            return self.copy_float(name).map(drop);
        }
        let read = self.raw_number(name, group, width)?;
        let (n, own) = read.unwrap_or((0, width));
        let value = if kind == Kind::Signed { signed(n, own) } else { n as i64 };
        if !accepts(value) {
            return None;
        }
        self.keep(name, value);
        if kind == Kind::Signed {
            write_number(&mut self.out, value as u64, width, self.layout.order);
            return (signed(value as u64, width) == value).then_some(());
        }
        self.write_number(n, width)
    }

    fn constant(&mut self, name: &str, bytes: &'static [u8], is_number: bool) -> Option<()> {
        if self.misses(name) {
            self.write(bytes);
            return Some(());
        }
        let (width, place) = self.width([name, name], bytes.len());
        if let Some(place) = place {
            let (read, order) = (self.take(width)?, self.order(name));
            self.mark(place);
            (value(read, order) == value(bytes, self.layout.order)).then_some(())?;
            self.write(bytes);
            return Some(());
        }
        let read = self.take(bytes.len())?;
        let swapped = is_number && self.order(name) != self.layout.order;
        let is_same = if swapped { read.iter().rev().eq(bytes) } else { read == bytes };
        if swapped {
            self.mark_swap();
        }
        if !is_same {
            let first = read.first().copied()?;
            let most = if self.layout.sized { 5 } else { 2 };
            if name == "terminator" && first == 0 && self.varies("terminator_zero", "") {
            } else if name == "type"
                && first < most
                && let Some(place) = self.find(|v| v.change == Change::Type)
            {
                self.mark(place);
            } else {
                return None;
            }
        }
        self.write(bytes);
        Some(())
    }

    fn counted(&mut self, name: &'static str, width: usize, parts: &'static [Part]) -> Option<()> {
        let read = self.raw_number(name, "", width)?;
        self.is_header = false;
        let (n, _) = read.filter(|(n, _)| *n <= MAX_ELEMENTS)?;
        self.keep(name, n as i64);
        self.write_number(n, width)?;
        (0..n).try_for_each(|_| self.parts(parts))
    }

    fn rest_part(&mut self, parts: &'static [Part]) -> Option<()> {
        let counted = match self.varies("extra_field", "count") {
            true => Some(self.take_number("count", 2)?),
            false => None,
        };
        let mut n = 0u64;
        while self.at < self.end {
            let before = self.at;
            self.parts(parts)?;
            n = n.saturating_add(1);
            if self.at == before {
                return None;
            }
        }
        counted.is_none_or(|counted| counted == n && n > 0).then_some(())
    }

    /// Reads a length and what it counts.
    pub fn sized(&mut self, sized: &'static Sized) -> Option<()> {
        let Sized { name, width, fill, parts } = *sized;
        let mode = self.set.iter().enumerate().find_map(|(i, v)| match v.change {
            Change::Length(length) if v.field == name => Some((i, length)),
            _ => None,
        });
        let read = self.raw_number(name, "", width)?;
        if let (Some((_, behind)), true) = (self.padding(), fill) {
            if behind {
                self.take(self.at.wrapping_neg() & 3)?;
            }
            self.is_header = false;
        }
        let left = self.end.saturating_sub(self.at);
        let mut size = match read {
            Some((n, _)) => Some(i64::try_from(n).ok()?),
            None => None,
        };
        if let Some((place, mode)) = mode {
            let n = size?;
            let own = read.map_or(width, |(_, own)| own) as i64;
            let chunks = i64::from((self.expected.asked.unwrap_or(1) & 31).count_ones());
            size = match mode {
                Length::Header => Some(n.checked_sub(self.at as i64)?),
                Length::Itself => Some(n.checked_sub(own)?),
                Length::NoChunkLengths => Some(n.checked_add(chunks.checked_mul(4)?)?),
                Length::Zero if n == 0 => None,
                Length::Zero => return None,
            };
            self.mark(place);
        }
        let outer = self.end;
        if let Some(size) = size {
            let size = usize::try_from(size).ok().filter(|size| *size <= left)?;
            self.end = self.at.saturating_add(size);
        }
        let hole = self.out.len();
        self.write([0; 8].get(..width)?);
        let start = self.out.len();
        self.parts(parts)?;
        let is_zeros = || self.find(|v| v.change == Change::Zeros).is_some();
        if size.is_some() && self.at != self.end || size.is_none() && fill && self.at != outer && !is_zeros()
        {
            return None;
        }
        self.end = outer;
        let written = self.out.len().saturating_sub(start) as u64;
        fits(written, width).then_some(())?;
        let mut length = vec![];
        write_number(&mut length, written, width, self.layout.order);
        self.out.get_mut(hole..start)?.copy_from_slice(&length);
        Some(())
    }
}
