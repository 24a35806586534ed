//! The reader: takes the bytes of a message apart by its layout, with variations, and writes the message again as it
//! should have been.

use super::layout::{Kind, Known, Layout, Number, Order, Part, Sized};
use super::variation::{Change, Length, Token, Variation};

/// Elements of a list at most.
const MAX_ELEMENTS: u64 = 5000;

/// What is known about a message from the datagrams before it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Expected {
    /// The key of the request.
    pub key: Option<u64>,
    /// The value that the server issued last to the client.
    pub issued: Option<u32>,
    /// The state of the request, see [`crate::contract::Probe::request_state`].
    pub asked: Option<u32>,
    /// Width of texts in fields of fixed width.
    pub fixed: usize,
    /// The text whose length is cut.
    pub wrapped: &'static str,
}

/// A value that was read.
#[derive(Clone, Debug)]
pub(super) enum Value {
    Number(i64),
    Text(String),
}

/// Reads one message once.
#[derive(Debug)]
pub struct Reader<'a> {
    pub(super) data: &'a [u8],
    pub(super) at: usize,
    pub(super) end: usize,
    pub(super) layout: &'static Layout,
    set: &'a [&'static Variation],
    /// The variations that have changed something, one bit each.
    used: u8,
    /// What is known about the message.
    pub expected: Expected,
    /// The message as it should have been.
    pub(super) out: Vec<u8>,
    values: Vec<(&'static str, Value)>,
    /// The texts in order.
    pub(super) texts: Vec<String>,
    is_header: bool,
    /// A length of 7 bits at a time was longer than one byte.
    pub(super) has_long_text: bool,
}

impl<'a> Reader<'a> {
    /// A reader of that message.
    pub fn new(
        data: &'a [u8],
        layout: &'static Layout,
        set: &'a [&'static Variation],
        expected: Expected,
    ) -> Reader<'a> {
        Reader {
            data,
            at: 0,
            end: data.len(),
            layout,
            set,
            used: 0,
            expected,
            out: vec![],
            values: vec![],
            texts: vec![],
            is_header: true,
            has_long_text: false,
        }
    }

    /// Reads the message to its end; `None` if these variations do not read it.
    pub fn read(&mut self) -> Option<()> {
        self.parts(self.layout.parts)?;
        let tail = self.data.get(self.at..)?;
        let zeros = tail.iter().all(|&b| b == 0);
        let (padded, sized) = (self.padding().is_some(), self.layout.sized);
        if padded && !sized && tail.len() < 4 && zeros {
            self.at = self.data.len();
        }
        let tail = self.data.len().saturating_sub(self.at);
        if let Some(mark) = self.find(|v| v.change == Change::Zeros) {
            let whole_buffer = tail > 2 && [16, 32, 64, 128, 256, 512].contains(&self.data.len());
            if !zeros || tail < 8 && !whole_buffer {
                return None;
            }
            self.mark(mark);
        } else if tail > 0 {
            return None;
        }
        Some(())
    }

    /// Whether each variation has changed something.
    pub fn is_complete(&self) -> bool {
        self.set.iter().enumerate().all(|(i, v)| {
            let at_field = v.change == Change::Swap && !v.field.is_empty();
            let idle_length = v.change == Change::Texts(super::Form::SevenBits)
                && self.layout.form == super::Form::U8
                && !self.has_long_text;
            (at_field || self.used & bit(i) != 0) && !idle_length
        })
    }

    // --- Variations

    /// The place in the set of the variation that fits.
    #[inline]
    pub(super) fn find(&self, fits: impl Fn(&Variation) -> bool) -> Option<usize> {
        self.set.iter().position(|v| fits(v))
    }
    /// The variation at a place in the set.
    pub(super) fn variation(&self, place: usize) -> Option<&'static Variation> {
        self.set.get(place).copied()
    }
    /// Notes that a variation has changed something.
    pub(super) fn mark(&mut self, place: usize) {
        self.used |= bit(place);
    }
    /// Whether the set has a variation of that name, about that field; it is then marked.
    pub fn varies(&mut self, id: &str, field: &str) -> bool {
        let place = self.find(|v| v.id == id && v.field == field);
        place.inspect(|&place| self.mark(place)).is_some()
    }
    /// Whether the set has a variation of that name, about that field.
    pub fn may_vary(&self, id: &str, field: &str) -> bool {
        self.find(|v| v.id == id && v.field == field).is_some()
    }
    /// Whether the form of texts is varied, and not to texts that end with a zero byte.
    pub fn has_other_form(&self) -> bool {
        self.find(|v| matches!(v.change, Change::Texts(form) if form != super::Form::Nul)).is_some()
    }
    /// Whether a width is varied.
    pub fn has_other_width(&self) -> bool {
        self.find(|v| matches!(v.change, Change::Width(_))).is_some()
    }
    fn padding(&self) -> Option<(usize, bool)> {
        let padding = |(i, v): (usize, &&Variation)| match v.change {
            Change::Padding(behind) => Some((i, behind)),
            _ => None,
        };
        self.set.iter().enumerate().find_map(padding)
    }
    /// The place of the variation that swaps all numbers.
    pub(super) fn swaps_all(&self) -> Option<usize> {
        self.find(|v| v.change == Change::Swap && v.field.is_empty())
    }
    /// Whether the number of that name alone is in the other order.
    pub(super) fn swaps_field(&self, name: &str) -> bool {
        let is = |field: &str| field == name || field.strip_suffix("_length") == Some(name);
        self.find(|v| v.change == Change::Swap && !v.field.is_empty() && is(v.field)).is_some()
    }
    fn order(&self, name: &str) -> Order {
        let order = self.layout.order;
        if self.swaps_all().is_some() != self.swaps_field(name) { order.swapped() } else { order }
    }
    fn mark_swap(&mut self) {
        if let Some(place) = self.swaps_all() {
            self.mark(place);
        }
    }
    /// Whether a field or its group is left out; that is then marked.
    pub fn misses(&mut self, name: &str) -> bool {
        let place = self.find(|v| v.change == Change::Missing && v.field == name);
        place.inspect(|&place| self.mark(place)).is_some()
    }

    // --- Values

    /// The first number of that name.
    pub fn number(&self, name: &str) -> Option<i64> {
        self.values.iter().find(|(n, _)| *n == name).and_then(|(_, v)| match v {
            Value::Number(v) => Some(*v),
            Value::Text(_) => None,
        })
    }
    /// The first text of that name; empty if there is none.
    pub fn string(&self, name: &str) -> &str {
        let value = self.values.iter().find(|(n, _)| *n == name).map(|(_, v)| v);
        if let Some(Value::Text(text)) = value { text } else { "" }
    }
    /// Keeps a number, if there is none of that name.
    pub fn keep(&mut self, name: &'static str, value: i64) {
        self.keep_value(name, Value::Number(value));
    }
    pub(super) fn keep_value(&mut self, name: &'static str, value: Value) {
        if !self.values.iter().any(|(n, _)| *n == name) {
            self.values.push((name, value));
        }
    }
    /// The text that was read last.
    pub fn last_text(&self) -> &str {
        self.texts.last().map_or("", String::as_str)
    }

    // --- Bytes

    /// The bytes that are left in the innermost scope.
    pub fn rest(&self) -> &'a [u8] {
        self.data.get(self.at..self.end).unwrap_or_default()
    }
    /// Takes bytes without writing them.
    pub fn take(&mut self, n: usize) -> Option<&'a [u8]> {
        let bytes = self.rest().get(..n)?;
        self.at = self.at.saturating_add(n);
        Some(bytes)
    }
    /// Takes a byte without writing it.
    pub fn byte(&mut self) -> Option<u8> {
        self.take(1)?.first().copied()
    }
    /// Writes bytes.
    pub fn write(&mut self, bytes: &[u8]) {
        self.out.extend_from_slice(bytes);
    }
    /// Takes bytes and writes them.
    pub fn copy(&mut self, n: usize) -> Option<&'a [u8]> {
        let bytes = self.take(n)?;
        self.write(bytes);
        Some(bytes)
    }

    fn align(&mut self, width: usize) -> Option<()> {
        if let (Some((place, _)), true) = (self.padding(), self.is_header && width > 1) {
            let gap = self.at.wrapping_neg() & (width.min(4).next_power_of_two().wrapping_sub(1));
            if gap > 0 {
                self.mark(place);
                if self.take(gap)?.iter().any(|&b| b != 0) {
                    return None;
                }
            }
        }
        Some(())
    }

    /// The width that a field has here, and the place of the variation that changes it.
    fn width(&self, names: [&str; 2], declared: usize) -> (usize, Option<usize>) {
        let varied = |(i, v): (usize, &&Variation)| match v.change {
            Change::Width(width) if names.contains(&v.field) && width != declared => Some((width, Some(i))),
            _ => None,
        };
        self.set.iter().enumerate().find_map(varied).unwrap_or((declared, None))
    }

    /// Reads a number; `Some(None)` if it is left out.
    fn raw_number(&mut self, name: &str, group: &str, declared: usize) -> Option<Option<(u64, usize)>> {
        let (width, place) = self.width([name, group], declared);
        place.into_iter().for_each(|place| self.mark(place));
        self.align(width)?;
        if self.misses(name) || !group.is_empty() && self.misses(group) {
            return Some(None);
        }
        let (bytes, order) = (self.take(width)?, self.order(name));
        if order != self.layout.order && !bytes.iter().eq(bytes.iter().rev()) {
            self.mark_swap();
        }
        Some(Some((value(bytes, order), width)))
    }

    /// Reads a number without a sign and does not write it; 0 if it is left out.
    pub fn take_number(&mut self, name: &'static str, width: usize) -> Option<u64> {
        Some(self.raw_number(name, "", width)?.map_or(0, |(n, _)| n))
    }
    /// Writes a number without a sign.
    pub fn write_number(&mut self, n: u64, width: usize) -> Option<()> {
        let fits = width >= 8 || n >> (width.saturating_mul(8)) == 0;
        fits.then(|| write_number(&mut self.out, n, width, self.layout.order))
    }
    /// Reads a number without a sign and writes it.
    pub fn copy_number(&mut self, name: &'static str, width: usize) -> Option<u64> {
        let n = self.take_number(name, width)?;
        self.write_number(n, width)?;
        Some(n)
    }
    /// Reads a signed number and writes it.
    pub fn copy_signed(&mut self, name: &'static str, width: usize) -> Option<i64> {
        let read = self.raw_number(name, "", width)?;
        let n = read.map_or(0, |(n, width)| signed(n, width));
        let limit = 1i64.checked_shl(width.saturating_mul(8).saturating_sub(1) as u32)?;
        if width < 8 && !(limit.wrapping_neg()..limit).contains(&n) {
            return None;
        }
        write_number(&mut self.out, n as u64, width, self.layout.order);
        Some(n)
    }
    /// Reads a floating-point number and writes it with 32 bits.
    pub fn copy_float(&mut self, name: &'static str) -> Option<f64> {
        let read = self.raw_number(name, "", 4)?;
        let integer = self.varies("integer_for_float", name);
        let mut x = match read {
            None => 0.0,
            Some((n, 4)) if integer => n as f64,
            Some((n, 8)) => f64::from_bits(n),
            Some((n, 4)) => f64::from(f32::from_bits(n as u32)),
            Some(_) => return None,
        };
        if self.varies("milliseconds", name) {
            x /= 1000.0;
        }
        let short = x as f32;
        if x.is_finite() && !short.is_finite() {
            return None;
        }
        write_number(&mut self.out, u64::from(short.to_bits()), 4, self.layout.order);
        Some(x)
    }

    // --- Parts

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

    fn token(&mut self, name: &str, width: usize, order: Order, known: Known) -> Option<()> {
        let number = match known {
            Known::Key => self.expected.key,
            Known::Issued => self.expected.issued.map(u64::from),
            Known::Nothing => None,
        };
        let want = number.map(|n| {
            let mut bytes = vec![];
            write_number(&mut bytes, n, width, order);
            bytes
        });
        let change = self.set.iter().enumerate().find_map(|(i, v)| match v.change {
            Change::Token(token) if want.is_some() || token == Token::Text => Some((i, token)),
            _ => None,
        });
        let read = match (change, &want) {
            (Some((place, Token::Text)), _) => {
                self.mark(place);
                self.decimal(width)?
            }
            (Some((place, Token::Replaced)), Some(want)) => {
                let replaced = through_text(want);
                if replaced == *want || self.take(replaced.len())? != replaced {
                    return None;
                }
                self.mark(place);
                want.clone()
            }
            _ => self.token_bytes(name, width, change, want.as_deref())?,
        };
        if want.as_ref().is_some_and(|want| read != *want) {
            return None;
        }
        if want.is_none() && self.layout.nonzero && read.iter().all(|&b| b == 0) {
            return None;
        }
        self.write(&read);
        Some(())
    }

    fn token_bytes(
        &mut self,
        name: &str,
        width: usize,
        change: Option<(usize, Token)>,
        want: Option<&[u8]>,
    ) -> Option<Vec<u8>> {
        let (own, place) = self.width([name, name], width);
        self.align(own)?;
        let all = self.take(own)?;
        let mut bytes = all.to_vec();
        if let (Some(place), true) = (place, own > width) {
            self.mark(place);
            let (zeros, rest) = match self.order(name) {
                Order::Big => all.split_at_checked(own.saturating_sub(width))?,
                Order::Little => all.split_at_checked(width).map(|(rest, zeros)| (zeros, rest))?,
            };
            zeros.iter().all(|&b| b == 0).then_some(())?;
            bytes = rest.to_vec();
        }
        match (change, want) {
            (Some((place, Token::Swapped)), _) => {
                if bytes.iter().eq(bytes.iter().rev()) {
                    return None;
                }
                bytes.reverse();
                self.mark(place);
            }
            (Some((place, Token::Zero)), Some(want)) => {
                if bytes.iter().any(|&b| b != 0) || want.iter().all(|&b| b == 0) {
                    return None;
                }
                bytes = want.to_vec();
                self.mark(place);
            }
            _ => {}
        }
        Some(bytes)
    }

    /// A number as decimal text, in the bytes that it should have had.
    fn decimal(&mut self, width: usize) -> Option<Vec<u8>> {
        let digits = self.rest().iter().take(10).take_while(|b| b.is_ascii_digit()).count();
        let text = self.take(digits)?;
        let least = if width == 4 { 5 } else { 10 };
        if text.first() == Some(&b'0') || digits < least {
            return None;
        }
        let n = text.iter().fold(0u64, |n, b| n.wrapping_mul(10).wrapping_add(u64::from(b & 15)));
        let mut bytes = vec![];
        (width >= 8 || n >> width.saturating_mul(8) == 0).then_some(())?;
        write_number(&mut bytes, n, width, self.layout.order);
        Some(bytes)
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
        self.write(&[0; 8][..width.min(8)]);
        let start = self.out.len();
        self.parts(parts)?;
        let is_zeros = || self.find(|v| v.change == Change::Zeros).is_some();
        if size.is_some() && self.at != self.end || size.is_none() && fill && self.at != outer && !is_zeros()
        {
            return None;
        }
        self.end = outer;
        let written = self.out.len().saturating_sub(start) as u64;
        (written >> width.saturating_mul(8) == 0).then_some(())?;
        let mut length = vec![];
        write_number(&mut length, written, width, self.layout.order);
        self.out.get_mut(hole..start)?.copy_from_slice(&length);
        Some(())
    }
}

const fn bit(place: usize) -> u8 {
    1 << (place & 7)
}

/// The number in bytes of that order; of more than eight, the lowest eight.
fn value(bytes: &[u8], order: Order) -> u64 {
    let add = |n: u64, b: &u8| n << 8 | u64::from(*b);
    match order {
        Order::Big => bytes.iter().fold(0, add),
        Order::Little => bytes.iter().rev().fold(0, add),
    }
}

fn signed(n: u64, width: usize) -> i64 {
    let unused = 64u32.saturating_sub(width.saturating_mul(8) as u32).min(63);
    ((n << unused) as i64) >> unused
}

/// Appends the lowest bytes of a number.
pub(super) fn write_number(out: &mut Vec<u8>, n: u64, width: usize, order: Order) {
    let bytes = n.to_be_bytes();
    match order {
        Order::Big => out.extend(bytes.iter().skip(8usize.saturating_sub(width))),
        Order::Little => out.extend(bytes.iter().rev().take(width)),
    }
}

/// Bytes as they come out of a text that accepts ASCII only.
fn through_text(bytes: &[u8]) -> Vec<u8> {
    let mut out = vec![];
    for &b in bytes {
        match b {
            0..0x80 => out.push(b),
            _ => out.extend_from_slice("\u{fffd}".as_bytes()),
        }
    }
    out
}
