//! Reads numbers with variations: their order, their width, and the gaps before them.

use super::reader::Reader;
use super::{Change, Order, Variation};

impl Reader<'_> {
    pub(super) fn align(&mut self, width: usize) -> Option<()> {
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
    pub(super) fn width(&self, names: [&str; 2], declared: usize) -> (usize, Option<usize>) {
        let varied = |(i, v): (usize, &&Variation)| match v.change {
            Change::Width(width) if names.contains(&v.field) && width != declared => Some((width, Some(i))),
            _ => None,
        };
        self.set.iter().enumerate().find_map(varied).unwrap_or((declared, None))
    }

    /// Reads a number; `Some(None)` if it is left out.
    pub(super) fn raw_number(
        &mut self,
        name: &str,
        group: &str,
        declared: usize,
    ) -> Option<Option<(u64, usize)>> {
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
        fits(n, width).then(|| write_number(&mut self.out, n, width, self.layout.order))
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
}

/// The number in bytes of that order; of more than eight, the lowest eight.
pub(super) fn value(bytes: &[u8], order: Order) -> u64 {
    let add = |n: u64, b: &u8| n << 8 | u64::from(*b);
    match order {
        Order::Big => bytes.iter().fold(0, add),
        Order::Little => bytes.iter().rev().fold(0, add),
    }
}

/// Whether a number without a sign has room in so many bytes.
pub(super) fn fits(n: u64, width: usize) -> bool {
    width >= 8 || n >> width.saturating_mul(8) == 0
}

pub(super) fn signed(n: u64, width: usize) -> i64 {
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
