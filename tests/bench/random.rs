//! A small random number generator, so that the same seed gives the same file on every platform.

/// SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", 2014).
pub struct Random(u64);

impl Random {
    /// Starts the sequence of this seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `limit`; 0 when `limit` is 0.
    pub fn below(&mut self, limit: u32) -> u32 {
        (((self.bits() >> 32) * u64::from(limit)) >> 32) as u32
    }

    /// True in `parts` of a million draws.
    pub fn chance(&mut self, parts: u32) -> bool {
        self.below(1_000_000) < parts
    }

    /// One of `items`, which must not be empty.
    pub fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len() as u32) as usize]
    }

    /// A response time in nanoseconds, about log-normal: the octave is binomial, the place in it is even.
    /// Half of them lie between 3 and 12 ms, all between 0.5 and 64 ms. Integers only: `exp` differs between
    /// platforms.
    pub fn response_time(&mut self) -> u64 {
        let draw = self.bits();
        let octave = 500_000_u64 << (draw & 0x3f).count_ones();
        octave + ((octave * (draw >> 32)) >> 32)
    }
}
