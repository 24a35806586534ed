//! Numbers and flags in few bytes, for entries that are kept by the tens of thousands.

/// A number below 2^48, in six bytes: 2^48 frames would take at least 2^52 bytes of a capture.
///
/// Larger numbers are stored as the largest one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Count([u16; 3]);

impl Count {
    /// The largest number; larger ones are stored as this one.
    const MAX: u64 = (1 << 48) - 1;

    #[inline(always)]
    pub const fn new(n: u64) -> Count {
        let n = if n < Count::MAX { n } else { Count::MAX };
        Count([n as u16, (n >> 16) as u16, (n >> 32) as u16])
    }

    #[inline(always)]
    pub const fn get(self) -> u64 {
        let [low, middle, high] = self.0;
        low as u64 | (middle as u64) << 16 | (high as u64) << 32
    }
}

/// Eight flags, one bit each.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Flags(u8);

impl Flags {
    #[inline(always)]
    pub fn of<const N: usize>(flags: [(u8, bool); N]) -> Flags {
        let mut all = Flags(0);
        for (flag, is_set) in flags {
            all.set(flag, is_set);
        }
        all
    }
    #[inline(always)]
    pub const fn has(self, flag: u8) -> bool {
        self.0 & flag != 0
    }
    /// Whether exactly the flags `expected` are set among the flags `mask`.
    #[inline(always)]
    pub const fn equals_under(self, mask: u8, expected: u8) -> bool {
        self.0 & mask == expected
    }
    #[inline(always)]
    pub const fn set(&mut self, flag: u8, is_set: bool) {
        self.0 = self.0 & !flag | if is_set { flag } else { 0 };
    }
}

/// The numbers of the bits that are set, in rising order.
#[inline(always)]
pub(crate) fn ones(mut bits: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let one = (bits != 0).then(|| bits.trailing_zeros() as usize);
        bits &= bits.wrapping_sub(1);
        one
    })
}

/// A flag for each of many numbers, one bit each; not set for numbers beyond the capacity.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bits(Vec<u64>);

impl Bits {
    /// Makes room for the numbers below `len`.
    #[inline]
    pub fn grow(&mut self, len: usize) {
        if len > self.0.len() * 64 {
            self.0.resize(len.div_ceil(64), 0);
        }
    }
    /// Sets the flag of a number; does nothing beyond the capacity.
    #[inline(always)]
    pub fn set(&mut self, number: usize) {
        if let Some(word) = self.0.get_mut(number / 64) {
            *word |= 1 << (number % 64);
        }
    }
    #[inline(always)]
    pub fn has(&self, number: usize) -> bool {
        self.0.get(number / 64).is_some_and(|word| word >> (number % 64) & 1 == 1)
    }
    /// Clears all flags.
    pub fn clear(&mut self) {
        self.0.fill(0);
    }
    /// The highest number whose flag is set.
    pub fn last(&self) -> Option<usize> {
        let at = self.0.iter().rposition(|word| *word != 0)?;
        Some(at * 64 + self.0[at].ilog2() as usize)
    }
}

/// A set of numbers of one byte, one bit each.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Numbers([u128; 2]);

impl Numbers {
    /// The word and the bit of a number.
    fn place(number: u8) -> (usize, u128) {
        (usize::from(number >> 7), 1 << (number & 127))
    }
    /// Whether a number is in the set.
    pub fn has(&self, number: u8) -> bool {
        let (half, bit) = Numbers::place(number);
        self.0[half] & bit != 0
    }
    /// Adds a number; `false` where it was in the set before.
    pub fn insert(&mut self, number: u8) -> bool {
        let (half, bit) = Numbers::place(number);
        let new = self.0[half] & bit == 0;
        self.0[half] |= bit;
        new
    }
    /// Removes the numbers above `most`.
    pub fn keep_up_to(&mut self, most: u8) {
        let (half, bit) = Numbers::place(most);
        self.0[half] &= bit | (bit - 1);
        self.0[half + 1..].fill(0);
    }
    /// How many there are.
    pub fn len(&self) -> u32 {
        self.0.iter().map(|half| half.count_ones()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_above_the_highest_kept_are_removed() {
        let mut set = Numbers::default();
        assert!([0, 5, 127, 128, 255].into_iter().all(|number| set.insert(number)));
        assert!(!set.insert(128) && set.has(255) && !set.has(254) && set.len() == 5);
        for (most, left) in [(255, 5), (254, 4), (128, 4), (127, 3), (4, 1), (0, 1)] {
            set.keep_up_to(most);
            assert_eq!(set.len(), left, "{most}");
        }
        assert!(set.has(0));
    }

    #[test]
    fn numbers_within_the_capacity_are_remembered() {
        let mut bits = Bits::default();
        bits.set(3);
        assert!(!bits.has(3) && bits.last().is_none());
        bits.grow(65);
        [3, 64, 128].into_iter().for_each(|number| bits.set(number));
        assert_eq!(
            [2, 3, 63, 64, 65, 128].map(|number| bits.has(number)),
            [false, true, false, true, false, false]
        );
        assert_eq!(bits.last(), Some(64));
        bits.grow(1);
        assert!(bits.has(64), "nothing is lost");
        bits.clear();
        assert!(!bits.has(64) && bits.last().is_none());
    }

    #[test]
    fn values_read_back_unchanged() {
        let numbers = [0, 1, 0xff, 0x0102_0304_0506, Count::MAX - 1, Count::MAX];
        assert_eq!(numbers.map(|n| Count::new(n).get()), numbers);
        assert_eq!(Count::new(u64::MAX).get(), Count::MAX);
        let mut flags = Flags::of([(1, true), (2, false), (4, true)]);
        flags.set(4, false);
        flags.set(8, true);
        assert_eq!([1, 2, 4, 8].map(|flag| flags.has(flag)), [true, false, false, true]);
        assert_eq!([1, 3, 9].map(|expected| flags.equals_under(1 | 2 | 8, expected)), [false, false, true]);
    }
}
