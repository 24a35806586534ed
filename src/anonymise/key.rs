//! The key of a run, which decides what everything is replaced by.

use sha2::{Digest, Sha256};
use siphasher::sip::SipHasher13;
use std::hash::{BuildHasher, Hasher, RandomState};

/// What is replaced: equal bytes of two kinds are replaced independently of each other.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// Addresses.
    Address,
    /// Texts.
    Text,
    /// Challenge tokens, cookies and other numbers without a meaning.
    Token,
}

/// A key: whoever has it can find out what was replaced by trying.
#[derive(Clone, Copy)]
pub struct Key([u64; 2]);

impl Key {
    /// A key that no other run has.
    pub fn random() -> Key {
        let random = RandomState::new();
        Key([random.hash_one(0), random.hash_one(1)])
    }

    /// The key that a text stands for.
    pub fn of(text: &str) -> Key {
        let digest = Sha256::digest(text.as_bytes());
        let (words, _) = digest.as_chunks::<8>();
        let word = |at: usize| words.get(at).map_or(0, |word| u64::from_le_bytes(*word));
        Key([word(0), word(1)])
    }

    /// Numbers that follow from the key and from what is replaced, in one way of several.
    pub fn numbers(&self, (kind, way): (Kind, u8), replaced: &[u8]) -> Numbers {
        let mut hasher = SipHasher13::new_with_keys(self.0[0], self.0[1]);
        hasher.write_u16((kind as u16) << 8 | u16::from(way));
        hasher.write(replaced);
        Numbers(hasher.finish())
    }
}

const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// A sequence of numbers: `splitmix64`.
#[derive(Clone, Copy, Debug)]
pub struct Numbers(u64);

impl Numbers {
    /// The next number.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        mixed(self.0)
    }

    /// The number after so many others.
    pub fn nth(self, number: u64) -> u64 {
        mixed(self.0.wrapping_add(STEP.wrapping_mul(number.wrapping_add(1))))
    }

    /// The next number below `end`.
    pub fn below(&mut self, end: u32) -> u32 {
        (u128::from(self.next()).wrapping_mul(end.into()) >> 64) as u32
    }
}

fn mixed(state: u64) -> u64 {
    let mut z = state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nth_number_is_the_same_however_it_is_asked_for() {
        let numbers = Key::of("secret").numbers((Kind::Text, 0), b"Camp");
        let mut one_by_one = numbers;
        assert!((0..9).all(|number| one_by_one.next() == numbers.nth(number)));
    }

    #[test]
    fn a_text_is_always_the_same_key_and_a_random_key_never() {
        let first = |key: Key, kind| key.numbers((kind, 0), b"Camp").next();
        assert_eq!(first(Key::of("secret"), Kind::Text), first(Key::of("secret"), Kind::Text));
        assert_ne!(first(Key::of("secret"), Kind::Text), first(Key::of("secrets"), Kind::Text));
        assert_ne!(first(Key::of("secret"), Kind::Text), first(Key::of("secret"), Kind::Token));
        assert_ne!(first(Key::random(), Kind::Text), first(Key::random(), Kind::Text));
    }
}
