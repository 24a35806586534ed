//! Writes numbers as decimal and hex digits, eight at once.

use super::line::Line;
use std::io::Write;

/// Appends formatted text; writing to memory cannot fail.
pub(crate) fn push(out: &mut Line, text: std::fmt::Arguments<'_>) {
    let _ = out.write_fmt(text);
}

/// A decimal number for people, with a comma between thousands: `1,024`.
pub(crate) fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// 10^8, the smallest number of nine digits.
pub(crate) const TEN_POW_8: u64 = 100_000_000;

/// Appends a decimal number.
#[inline]
pub(crate) fn push_u64(out: &mut Line, v: u64) {
    if v >= TEN_POW_8 { push_long(out, v) } else { push_short(out, v as u32) }
}

/// Appends a number up to 99,999,999.
#[inline]
fn push_short(out: &mut Line, v: u32) {
    let (text, len) = decimal(v);
    out.push_first(&text.to_le_bytes(), len);
}

#[inline(never)]
fn push_long(out: &mut Line, v: u64) {
    let (front, last) = (v / TEN_POW_8, (v % TEN_POW_8) as u32);
    if front < TEN_POW_8 {
        push_short(out, front as u32);
    } else {
        push_short(out, (front / TEN_POW_8) as u32);
        push_eight(out, (front % TEN_POW_8) as u32);
    }
    push_eight(out, last);
}

/// The decimal text of a number up to 99,999,999, the first character in the lowest byte, and its length.
#[inline]
pub(crate) const fn decimal(v: u32) -> (u64, usize) {
    if v < 10 {
        return (b'0' as u64 | v as u64, 1);
    }
    let digits = eight_digits(v);
    // Leading zeros, in bits: eight for each.
    let zeros = digits.trailing_zeros() & 56;
    ((digits | ASCII) >> zeros, 8usize.wrapping_sub(zeros as usize / 8))
}

/// Appends a number below 100,000,000 with all of its eight digits.
#[inline]
fn push_eight(out: &mut Line, v: u32) {
    out.add(&(eight_digits(v) | ASCII).to_le_bytes());
}

/// The nine digits of a number below 1,000,000,000, and how many are left without trailing zeros, at least one.
#[inline]
pub(crate) fn nine(v: u32) -> ([u8; 9], usize) {
    let (first, rest) = (v / 100_000_000, eight_digits(v % 100_000_000));
    let mut text = [b'0'.wrapping_add(first as u8); 9];
    if let Some(eight) = text.last_chunk_mut() {
        *eight = (rest | ASCII).to_le_bytes();
    }
    (text, 9usize.wrapping_sub(rest.leading_zeros() as usize / 8))
}

/// Added to eight digits, turns them into ASCII characters.
const ASCII: u64 = 0x3030_3030_3030_3030;

/// The digits of a number below 100,000,000, one per byte, the first in the lowest byte. The number is split in halves,
/// and each half in the same way, all parts at once.
#[inline]
const fn eight_digits(v: u32) -> u64 {
    let v = v as u64;
    let fours = (v / 10_000) | (v % 10_000) << 32;
    // Divides by 100 and by 10: multiplies by 2^20 / 100 and 2^10 / 10, rounded up, and shifts; exact for so few
    // digits.
    let hundreds = (fours.wrapping_mul(10_486) >> 20) & 0x7f_0000_007f;
    let twos = hundreds | fours.wrapping_sub(hundreds.wrapping_mul(100)) << 16;
    let tens = (twos.wrapping_mul(103) >> 10) & 0x000f_000f_000f_000f;
    tens | twos.wrapping_sub(tens.wrapping_mul(10)) << 8
}

/// The sixteen hex digits of a number.
#[inline]
pub(crate) fn hex_digits(v: u64) -> [u8; 16] {
    let digits = |half: u32| u128::from(eight_hex_digits(half));
    (digits((v >> 32) as u32) | digits(v as u32) << 64).to_le_bytes()
}

/// The text of eight hex digits, the first in the lowest byte; the number is split in halves, and each half in the same
/// way.
#[inline]
const fn eight_hex_digits(v: u32) -> u64 {
    let v = v as u64;
    let fours = v >> 16 | (v & 0xffff) << 32;
    let twos = fours >> 8 & 0xff_0000_00ff | (fours & 0xff_0000_00ff) << 16;
    let digits = twos >> 4 & 0x000f_000f_000f_000f | (twos & 0x000f_000f_000f_000f) << 8;
    // For digits from 10 on, adding 6 sets the bit above the digit.
    let letters = digits.wrapping_add(0x0606_0606_0606_0606) >> 4 & 0x0101_0101_0101_0101;
    (digits | ASCII).wrapping_add(letters.wrapping_mul((b'a' - b'0' - 10) as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_decimal() {
        let powers = (0..20).flat_map(|n| {
            [10u64.pow(n) - 1, 10u64.pow(n), 10u64.pow(n) + 1, u64::saturating_mul(7, 10u64.pow(n))]
        });
        for v in powers.chain(0..100_000).chain([u64::MAX, 1 << 32, 1_234_567_890_123_456_789]) {
            assert_eq!(Line::text(|out| push_u64(out, v)), v.to_string());
        }
    }
}
