//! Reads values that repeat what is known: tokens, cookies, session ids.

use super::numbers::write_number;
use super::reader::Reader;
use super::{Change, Known, Order, Token};

impl Reader<'_> {
    pub(super) fn token(&mut self, name: &str, width: usize, order: Order, known: Known) -> Option<()> {
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
