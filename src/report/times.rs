//! Response times in bounded memory. Count, extremes and mean are exact; quantiles are accurate to one percent.

/// Maximum response time in quantiles, in nanoseconds: a minute. Longer times count as a minute there.
pub const MAX_KEPT: i64 = 60_000_000_000;
/// Number of buckets for each power of two from which on a bucket is wider than a unit.
const BUCKETS_PER_POWER: usize = 128;

/// Response times of a server or a step. Quantiles are multiples of `UNIT` nanoseconds, which is more than 0.
#[derive(Clone, Debug, Default)]
pub struct Times<const UNIT: i64> {
    count: u64,
    sum: i128,
    /// Shortest and longest in nanoseconds.
    extremes: Option<(i64, i64)>,
    /// Number of times in each [bucket]; empty if no quantiles are wanted.
    buckets: Vec<u32>,
}

impl<const UNIT: i64> Times<UNIT> {
    /// Adds a time in nanoseconds. `with_quantiles` allows memory for quantiles, about 10 KiB. Returns whether the
    /// memory was allocated by this call.
    #[inline]
    pub fn add(&mut self, nanos: i64, with_quantiles: bool) -> bool {
        self.count += 1;
        self.sum += i128::from(nanos);
        let (low, high) = self.extremes.unwrap_or((nanos, nanos));
        self.extremes = Some((low.min(nanos), high.max(nanos)));
        let is_first = with_quantiles && self.buckets.is_empty();
        if is_first || !self.buckets.is_empty() {
            self.count_unit(Self::units(nanos));
        }
        is_first
    }

    /// Adds times that were summed elsewhere, without counting them in the quantiles.
    pub(super) fn add_summed(&mut self, count: u64, sum: i64, (low, high): (i64, i64)) {
        if count > 0 {
            let extremes = Some((low, high));
            self.absorb(&Times { count, sum: sum.into(), extremes, buckets: vec![] });
        }
    }

    /// Converts a time to whole units for the quantiles.
    #[inline]
    pub(super) fn units(nanos: i64) -> u64 {
        (nanos.clamp(0, MAX_KEPT) / UNIT) as u64
    }

    /// Counts times in the quantiles that were summed elsewhere.
    pub(super) fn count_units<'a>(&mut self, units: impl IntoIterator<Item = &'a u32>) {
        for units in units {
            self.count_unit(u64::from(*units));
        }
    }

    /// Counts a time in the quantiles.
    #[inline]
    fn count_unit(&mut self, units: u64) {
        let at = bucket(units);
        match self.buckets.get_mut(at) {
            Some(count) => *count = count.saturating_add(1),
            None => self.grow(at),
        }
    }

    /// Grows the buckets up to `at`, and counts the first time in it.
    #[cold]
    #[inline(never)]
    fn grow(&mut self, at: usize) {
        let len = (at / BUCKETS_PER_POWER + 1) * BUCKETS_PER_POWER;
        self.buckets.reserve_exact(len - self.buckets.len());
        self.buckets.resize(len, 0);
        self.buckets[at] = 1;
    }

    /// Adds the count, sum and extremes of other times.
    pub fn absorb(&mut self, other: &Self) {
        self.count += other.count;
        self.sum += other.sum;
        self.extremes = match (self.extremes, other.extremes) {
            (Some(a), Some(b)) => Some((a.0.min(b.0), a.1.max(b.1))),
            (a, b) => a.or(b),
        };
    }

    /// The number of times.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Shortest and longest time in nanoseconds; negative if time stamps are out of order.
    pub fn extremes(&self) -> Option<(i64, i64)> {
        self.extremes
    }

    /// The mean in nanoseconds.
    pub fn mean(&self) -> Option<i64> {
        let count = i128::from(self.count);
        self.sum.checked_div(count).and_then(|mean| i64::try_from(mean).ok())
    }

    /// The response time in nanoseconds that a share of the answers, more than 0 and at most 1, does not exceed. It is
    /// accurate to one percent or one unit, and exact at the extremes. `None` if no quantiles were wanted.
    pub fn quantile(&self, share: f64) -> Option<i64> {
        let (low, high) = self.extremes?;
        let total: u64 = self.buckets.iter().map(|&count| u64::from(count)).sum();
        let mut remaining = ((share * total as f64).ceil() as u64).max(1);
        let at = self.buckets.iter().position(|&count| {
            let is_reached = remaining <= count.into();
            remaining = remaining.saturating_sub(count.into());
            is_reached
        })?;
        Some((longest_in(at) as i64).saturating_mul(UNIT).clamp(low, high))
    }
}

/// The bucket of a time in units. Each time up to 255 units has its own bucket; the width of later buckets is at most a
/// 128th of their times.
#[inline(always)]
fn bucket(units: u64) -> usize {
    let power = (units | 0xff).ilog2() - BUCKETS_PER_POWER.ilog2();
    power as usize * BUCKETS_PER_POWER + (units >> power) as usize
}

/// The longest time in a bucket, in units.
fn longest_in(bucket: usize) -> u64 {
    let power = (bucket / BUCKETS_PER_POWER).saturating_sub(1);
    (((bucket - power * BUCKETS_PER_POWER + 1) as u64) << power) - 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::Histogram;

    #[test]
    fn quantiles_equal_those_of_an_hdr_histogram_of_two_digits() {
        let mut theirs = Histogram::<u32>::new(2).expect("two digits are possible");
        let mut ours = Times::<1>::default();
        let mut random = 88_172_645_463_325_252_u64;
        for n in 0..20_000 {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            // All powers of two up to a minute, and the neighbours of each.
            let units =
                if n % 8 == 0 { (1 << (n / 8 % 36)) - 1 + n as u64 % 3 } else { random >> (28 + n % 36) };
            let units = units.min(MAX_KEPT as u64);
            theirs.record(units).expect("it grows");
            ours.add(units as i64, true);
            assert_eq!(longest_in(bucket(units)), theirs.highest_equivalent(units));
            if n % 500 < 3 {
                let (low, high) = ours.extremes().expect("there are some");
                for share in [0.001, 0.1, 0.5, 0.9, 0.99, 0.999, 1.0] {
                    let expected = (theirs.value_at_quantile(share) as i64).clamp(low, high);
                    assert_eq!(ours.quantile(share), Some(expected), "{share} of {n}");
                }
            }
        }
    }

    #[test]
    fn quantiles_are_accurate_to_one_percent_and_the_rest_is_exact() {
        let mut times = Times::<100>::default();
        let mut all: Vec<i64> = (1..=1_000).map(|i| i * i * 1_000).collect(); // 1 µs to 1 s
        for &time in &all {
            times.add(time, true);
        }
        all.sort_unstable();
        assert_eq!((times.count(), times.extremes()), (1_000, Some((1_000, 1_000_000_000))));
        assert_eq!(times.mean(), Some(all.iter().sum::<i64>() / 1_000));
        for (share, rank) in [(0.5, 500), (0.9, 900), (0.99, 990), (1.0, 1_000)] {
            let (exact, found) = (all[rank - 1], times.quantile(share).unwrap());
            assert!((found - exact).abs() * 100 <= exact, "{share}: {found} for {exact}");
        }
    }

    #[test]
    fn clamps_quantiles_of_negative_and_very_long_times() {
        let mut times = Times::<100>::default();
        assert_eq!((times.mean(), times.quantile(0.5)), (None, None));
        assert!(times.add(-5, true) && !times.add(i64::MAX, true));
        assert_eq!(times.extremes(), Some((-5, i64::MAX)));
        assert_eq!(times.quantile(0.5), Some(0), "it is counted as none");
        let longest = times.quantile(1.0).unwrap();
        assert!((MAX_KEPT..=MAX_KEPT / 100 * 101).contains(&longest), "{longest}");
    }

    #[test]
    fn has_no_quantiles_without_memory() {
        let mut times = Times::<1>::default();
        assert!(!times.add(7, false));
        assert_eq!((times.quantile(0.5), times.extremes(), times.mean()), (None, Some((7, 7)), Some(7)));
        let mut all = Times::<1>::default();
        all.absorb(&times);
        assert_eq!((all.count(), all.extremes()), (1, Some((7, 7))));
    }
}
