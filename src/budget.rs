//! How much may be remembered.

/// How much may be remembered, in MiB: what `--memory` says.
///
/// The bounds of tables are named as they are with 64 MiB, and are as many times larger or smaller as there is more memory or
/// less. No table takes memory before it needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget(u32);

impl Budget {
    /// Where nothing else is said, in MiB.
    pub const DEFAULT_MIB: u32 = 64;
    /// The most that can be said, in MiB.
    pub const MOST_MIB: u32 = 16_384;

    /// So many MiB, from 1 to [`Budget::MOST_MIB`].
    pub fn mib(mib: u32) -> Budget {
        Budget(mib.clamp(1, Budget::MOST_MIB))
    }

    /// How much a table may hold that holds `most` with 64 MiB; at least one.
    pub fn of(self, most: usize) -> usize {
        (most.saturating_mul(self.0 as usize) / Budget::DEFAULT_MIB as usize).max(1)
    }
}

impl Default for Budget {
    fn default() -> Budget {
        Budget(Budget::DEFAULT_MIB)
    }
}

/// Of protocols that remember nothing.
impl From<Budget> for () {
    fn from(_: Budget) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_grow_and_shrink_with_the_memory_and_are_never_nothing() {
        let shares = |mib| [1, 64, 8_192].map(|most| Budget::mib(mib).of(most));
        assert_eq!(shares(64), [1, 64, 8_192]);
        assert_eq!(shares(1), [1, 1, 128]);
        assert_eq!(shares(256), [4, 256, 32_768]);
        assert_eq!((shares(0), shares(u32::MAX)), (shares(1), shares(Budget::MOST_MIB)));
        assert_eq!(Budget::default(), Budget::mib(64));
    }
}
