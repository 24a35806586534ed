//! The memory budget.

/// The memory budget in MiB, as `--memory` sets it.
///
/// The bounds of tables are given for 64 MiB, and scale with the budget. No table takes memory before it needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget(u32);

impl Budget {
    /// The default budget, in MiB.
    pub const DEFAULT_MIB: u32 = 64;
    /// The largest budget, in MiB.
    pub const MOST_MIB: u32 = 16_384;

    /// A budget of `mib` MiB, limited to the range from 1 to [`Budget::MOST_MIB`].
    pub fn mib(mib: u32) -> Budget {
        Budget(mib.clamp(1, Budget::MOST_MIB))
    }

    /// The bound of a table that holds `most` entries with 64 MiB; at least one.
    pub fn of(self, most: usize) -> usize {
        (most.saturating_mul(self.0 as usize) / Budget::DEFAULT_MIB as usize).max(1)
    }
}

impl Default for Budget {
    fn default() -> Budget {
        Budget(Budget::DEFAULT_MIB)
    }
}

/// State that is bounded by a budget and counts the entries that it forgets.
pub trait Forgets: From<Budget> {
    /// Number of entries forgotten so far for lack of room.
    fn forgotten(&self) -> u64;
}

/// For protocols without state.
impl From<Budget> for () {
    fn from(_: Budget) {}
}

impl Forgets for () {
    fn forgotten(&self) -> u64 {
        0
    }
}

/// For protocols with two kinds of state.
impl<A: Forgets, B: Forgets> Forgets for (A, B) {
    fn forgotten(&self) -> u64 {
        self.0.forgotten().saturating_add(self.1.forgotten())
    }
}

impl<A: Forgets, B: Forgets> From<Budget> for (A, B) {
    fn from(budget: Budget) -> Self {
        (budget.into(), budget.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_scale_with_the_memory_and_are_at_least_one() {
        let shares = |mib| [1, 64, 8_192].map(|most| Budget::mib(mib).of(most));
        assert_eq!(shares(64), [1, 64, 8_192]);
        assert_eq!(shares(1), [1, 1, 128]);
        assert_eq!(shares(256), [4, 256, 32_768]);
        assert_eq!((shares(0), shares(u32::MAX)), (shares(1), shares(Budget::MOST_MIB)));
        assert_eq!(Budget::default(), Budget::mib(64));
    }
}
