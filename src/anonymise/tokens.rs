//! Replaces challenge tokens and cookies, so that what was equal stays equal.

use super::key::{Key, Kind};
use memchr::memmem;
use std::ops::Range;

/// Replaces tokens byte by byte: the upper half of each byte stays, and 0 and ff stay, for what is none or all.
pub struct Tokens {
    key: Key,
    bytes: [u8; 256],
    /// The latest tokens, and what they became, each in a place that its bytes choose: damaged messages hold them where no field
    /// says so.
    latest: [Option<(Token, Token)>; MAX_LATEST],
}

/// Most tokens that are remembered.
pub const MAX_LATEST: usize = 64;

/// A token of four or eight bytes, and its length.
type Token = ([u8; 8], usize);

impl Tokens {
    /// Replaces with this key.
    pub fn new(key: Key) -> Tokens {
        let mut bytes = [0; 256];
        for (byte, to) in (0u8..=255).zip(&mut bytes) {
            *to = byte;
        }
        let (rows, _) = bytes.as_chunks_mut::<16>();
        for (upper, row) in (0u8..).zip(rows) {
            let mut numbers = key.numbers((Kind::Token, 0), &[upper]);
            // All but 00 in the first row, and ff in the last, in another order (Fisher and Yates).
            let (first, end) = (u32::from(upper == 0), if upper == 15 { 15 } else { 16u32 });
            for at in (first.saturating_add(1)..end).rev() {
                let with = first.saturating_add(numbers.below(at.saturating_sub(first).saturating_add(1)));
                row.swap(at as usize, with as usize);
            }
        }
        Tokens { key, bytes, latest: [None; MAX_LATEST] }
    }

    /// Replaces the bytes of a token.
    pub fn replace(&self, token: &mut [u8]) {
        let other = |byte: u8| self.bytes.get(usize::from(byte)).copied().unwrap_or(byte);
        token.iter_mut().for_each(|byte| *byte = other(*byte));
    }

    /// Remembers a token, and what it became.
    pub fn remember(&mut self, from: &[u8], to: &[u8]) {
        let token = |bytes: &[u8]| {
            let mut token = [0; 8];
            token.get_mut(..bytes.len())?.copy_from_slice(bytes);
            Some((token, bytes.len()))
        };
        let is_token = from.len() >= 4 && from.iter().any(|byte| ![0, 0xff].contains(byte));
        let place = from.iter().fold(0usize, |sum, byte| sum.wrapping_mul(31).wrapping_add((*byte).into()));
        if let (Some(from), Some(to), Some(latest)) =
            (token(from), token(to), self.latest.get_mut(place % MAX_LATEST).filter(|_| is_token))
        {
            *latest = Some((from, to));
        }
    }

    /// Replaces the tokens that bytes hold by what they became, in bytes that stand for them.
    pub fn replace_within(&self, original: &[u8], other: &mut [u8]) {
        let mut done: Vec<Range<usize>> = vec![];
        for ((from, length), (to, _)) in self.latest.iter().flatten() {
            let Some(at) = memmem::find(original, from.get(..*length).unwrap_or_default()) else { continue };
            let range = at..at.saturating_add(*length);
            if done.iter().any(|other| other.start < range.end && range.start < other.end) {
                continue;
            }
            let place = other.get_mut(range.clone()).unwrap_or_default();
            done.push(range);
            place.iter_mut().zip(to).for_each(|(to, from)| *to = *from);
        }
    }

    /// The number in another one's place, for tokens that are sent as decimal digits, too: it has the same sign and as many digits,
    /// and fits into 32 or 64 bits if that one does. Numbers of one digit and the largest ones stay.
    pub fn number(&self, number: i128) -> i128 {
        let sizes = |number: i128| {
            [i32::try_from(number).is_ok(), i64::try_from(number).is_ok(), u64::try_from(number).is_ok()]
        };
        let is_special =
            [i32::MAX.into(), u32::MAX.into(), i64::MAX.into(), i128::from(u64::MAX)].contains(&number);
        if number.unsigned_abs() < 10 || is_special {
            return number;
        }
        let mut other = self.digits(number);
        while sizes(other) != sizes(number) {
            other = self.digits(other);
        }
        other
    }

    /// A permutation of the numbers with the same sign and as many digits.
    fn digits(&self, number: i128) -> i128 {
        let text = number.unsigned_abs().to_string();
        let (sign, length) = (number.signum(), text.len());
        let mut numbers = self.key.numbers((Kind::Token, 1), &[length as u8, sign as u8]);
        let mut other: i128 = 0;
        for (at, digit) in text.bytes().enumerate() {
            // The first digit is not 0.
            let (lowest, count) = if at == 0 { (1, 9) } else { (0, 10) };
            let digit = u32::from(digit.wrapping_sub(b'0')).saturating_sub(lowest);
            let digit = digit.saturating_add(numbers.below(count)).checked_rem(count).unwrap_or(0);
            other = other.wrapping_mul(10).wrapping_add(digit.saturating_add(lowest).into());
        }
        other.wrapping_mul(sign)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn tokens() -> Tokens {
        Tokens::new(Key::of("test"))
    }

    #[test]
    fn every_byte_becomes_another_one_of_its_half() {
        let all = tokens();
        let others: BTreeSet<u8> = all.bytes.iter().copied().collect();
        assert_eq!(others.len(), 256);
        assert!((0..=255).zip(&all.bytes).all(|(byte, other): (u8, &u8)| byte >> 4 == other >> 4));
        assert_eq!([all.bytes[0], all.bytes[255]], [0, 255]);
        assert!((0..=255).zip(&all.bytes).filter(|(byte, other): &(u8, &u8)| byte == *other).count() < 64);
    }

    #[test]
    fn none_and_all_stay() {
        let mut token = [0, 0, 0, 0, 255, 255, 255, 255];
        tokens().replace(&mut token);
        assert_eq!(token, [0, 0, 0, 0, 255, 255, 255, 255]);
        let stays = [-1, 0, 7, u64::MAX.into()];
        assert_eq!(stays.map(|number| tokens().number(number)), stays);
    }

    #[test]
    fn a_token_is_known_again_among_other_bytes() {
        let mut all = tokens();
        all.remember(b"\x00\x91\x29\x5b", b"\x00\x67\xea\x38");
        let replaced = |original: &[u8]| {
            let mut other = original.to_vec();
            all.replace_within(original, &mut other);
            other
        };
        assert_eq!(replaced(b"\x00\x00\x91\x29\x5b\xff"), b"\x00\x00\x67\xea\x38\xff");
        assert_eq!(replaced(b"\x91\x29\x5b"), b"\x91\x29\x5b");
    }

    #[test]
    fn no_more_than_so_many_tokens_are_remembered() {
        let mut all = tokens();
        (0..1000u32).for_each(|number| all.remember(&number.to_be_bytes(), &[1, 2, 3, 4]));
        assert_eq!(all.latest.iter().flatten().count(), MAX_LATEST);
    }

    proptest! {
        #[test]
        fn large_numbers_stay_within_64_bits(number: u64) {
            prop_assert!(u64::try_from(tokens().number(number.into())).is_ok());
        }

        #[test]
        fn numbers_keep_their_length_and_differ(a: i32, b: i32) {
            let [c, d] = [a, b].map(|number| tokens().number(number.into()));
            prop_assert!(i32::try_from(c).is_ok());
            prop_assert_eq!(c.to_string().len(), a.to_string().len());
            prop_assert_eq!(a == b, c == d);
        }
    }
}
