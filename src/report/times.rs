//! Response times in bounded memory: their number, the ends and the mean are exact, quantiles are within one percent.

use arrayvec::ArrayVec;
use hdrhistogram::Histogram;
use std::borrow::Cow;

/// Longest response time told apart in quantiles, in nanoseconds: a minute. Longer times count as a minute there.
pub const MAX_KEPT: i64 = 60_000_000_000;
/// So many times wait to be put into the histogram together: with hundreds of servers each access goes to slow memory, and
/// the accesses of a batch need not wait for each other.
const BATCH: usize = 8;

/// Response times of one server, or of one step. Quantiles are multiples of `UNIT` nanoseconds, more than 0.
#[derive(Clone, Debug, Default)]
pub struct Times<const UNIT: i64> {
    count: u64,
    sum: i128,
    /// Shortest and longest in nanoseconds.
    ends: Option<(i64, i64)>,
    kept: Option<Histogram<u32>>,
    /// Times that are still to be put into the histogram, in units.
    fresh: ArrayVec<u64, BATCH>,
}

impl<const UNIT: i64> Times<UNIT> {
    /// Adds a time in nanoseconds. `keep` allows memory for the quantiles, some 10 KiB. Returns whether the memory was
    /// taken.
    #[inline]
    pub fn add(&mut self, nanos: i64, keep: bool) -> bool {
        self.count += 1;
        self.sum += i128::from(nanos);
        let (low, high) = self.ends.unwrap_or((nanos, nanos));
        self.ends = Some((low.min(nanos), high.max(nanos)));
        let begin = keep && self.kept.is_none();
        if begin {
            // Two significant digits, a precision that it accepts; it starts small and grows.
            self.kept = Histogram::new(2).ok();
        }
        if let Some(kept) = &mut self.kept {
            self.fresh.push((nanos.clamp(0, MAX_KEPT) / UNIT) as u64);
            if self.fresh.is_full() {
                self.fresh.drain(..).for_each(|units| record(kept, units));
            }
        }
        begin
    }

    /// Takes in times that were added up elsewhere; nothing of them goes to the quantiles.
    pub(super) fn take_in(&mut self, count: u64, sum: i64, (low, high): (i64, i64)) {
        if count > 0 {
            let (ends, kept) = (Some((low, high)), None);
            self.absorb(&Times { count, sum: sum.into(), ends, kept, fresh: ArrayVec::new() });
        }
    }

    /// A time in whole units, for the quantiles.
    pub(super) fn units(nanos: i64) -> u32 {
        (nanos.clamp(0, MAX_KEPT) / UNIT) as u32
    }

    /// Takes in times that were counted elsewhere, for the quantiles.
    #[inline(never)]
    pub(super) fn keep(&mut self, units: &[u32]) {
        if self.kept.is_none() {
            self.kept = Histogram::new(2).ok();
        }
        if let Some(kept) = &mut self.kept {
            units.iter().for_each(|&units| record(kept, units.into()));
        }
    }

    /// The histogram of all times, for quantiles.
    fn all(&self) -> Option<Cow<'_, Histogram<u32>>> {
        let mut all = Cow::Borrowed(self.kept.as_ref()?);
        self.fresh.iter().for_each(|&units| record(all.to_mut(), units));
        Some(all)
    }

    /// Takes in other times, of which only number, ends and sum are left.
    pub fn absorb(&mut self, other: &Self) {
        self.count += other.count;
        self.sum += other.sum;
        self.ends = match (self.ends, other.ends) {
            (Some(a), Some(b)) => Some((a.0.min(b.0), a.1.max(b.1))),
            (a, b) => a.or(b),
        };
    }

    /// The number of times.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Shortest and longest in nanoseconds; negative where time stamps are out of order.
    pub fn ends(&self) -> Option<(i64, i64)> {
        self.ends
    }

    /// The mean in nanoseconds.
    pub fn mean(&self) -> Option<i64> {
        let count = i128::from(self.count);
        self.sum.checked_div(count).and_then(|mean| i64::try_from(mean).ok())
    }

    /// The response time in nanoseconds that a share of the answers, from 0 to 1, does not exceed: within one percent or
    /// the unit, and exact at the ends. `None` where no histogram was kept.
    pub fn quantile(&self, share: f64) -> Option<i64> {
        let (low, high) = self.ends?;
        let units = self.all()?.value_at_quantile(share);
        Some((units as i64).saturating_mul(UNIT).clamp(low, high))
    }
}

#[inline(always)]
fn record(kept: &mut Histogram<u32>, units: u64) {
    let _ = kept.record(units); // it grows by itself, so nothing is out of range
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_within_one_percent_and_the_rest_is_exact() {
        let mut times = Times::<100>::default();
        let mut all: Vec<i64> = (1..=1_000).map(|i| i * i * 1_000).collect(); // 1 µs to 1 s
        for &time in &all {
            times.add(time, true);
        }
        all.sort_unstable();
        assert_eq!((times.count(), times.ends()), (1_000, Some((1_000, 1_000_000_000))));
        assert_eq!(times.mean(), Some(all.iter().sum::<i64>() / 1_000));
        for (share, rank) in [(0.5, 500), (0.9, 900), (0.99, 990), (1.0, 1_000)] {
            let (exact, found) = (all[rank - 1], times.quantile(share).unwrap());
            assert!((found - exact).abs() * 100 <= exact, "{share}: {found} for {exact}");
        }
    }

    #[test]
    fn a_time_before_the_request_or_beyond_a_minute_stays_within_the_ends() {
        let mut times = Times::<100>::default();
        assert_eq!((times.mean(), times.quantile(0.5)), (None, None));
        assert!(times.add(-5, true) && !times.add(i64::MAX, true));
        assert_eq!(times.ends(), Some((-5, i64::MAX)));
        assert_eq!(times.quantile(0.5), Some(0), "it is counted as none");
        let most = times.quantile(1.0).unwrap();
        assert!((MAX_KEPT..=MAX_KEPT / 100 * 101).contains(&most), "{most}");
    }

    #[test]
    fn without_memory_there_are_no_quantiles() {
        let mut times = Times::<1>::default();
        assert!(!times.add(7, false));
        assert_eq!((times.quantile(0.5), times.ends(), times.mean()), (None, Some((7, 7)), Some(7)));
        let mut all = Times::<1>::default();
        all.absorb(&times);
        assert_eq!((all.count(), all.ends()), (1, Some((7, 7))));
    }
}
