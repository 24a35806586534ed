//! Response times in the steps of a histogram.

/// The upper bounds of the steps, in nanoseconds, and in seconds as labels. A time that equals a bound is in its step.
pub const BOUNDS: [(i64, &str); 10] = [
    (1_000_000, "0.001"),
    (5_000_000, "0.005"),
    (10_000_000, "0.01"),
    (25_000_000, "0.025"),
    (50_000_000, "0.05"),
    (100_000_000, "0.1"),
    (250_000_000, "0.25"),
    (500_000_000, "0.5"),
    (1_000_000_000, "1.0"),
    (2_500_000_000, "2.5"),
];

/// Number of response times in each step; longer times are in the last one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Steps {
    counts: [u64; BOUNDS.len() + 1],
    /// Sum of the times in nanoseconds.
    sum: i128,
}

impl Steps {
    /// Counts a time in nanoseconds. A negative one, of a capture out of order, counts as none.
    pub fn count(&mut self, nanos: i64) {
        let nanos = nanos.max(0);
        let at = BOUNDS.partition_point(|(bound, _)| *bound < nanos);
        if let Some(count) = self.counts.get_mut(at) {
            *count += 1;
        }
        self.sum += i128::from(nanos);
    }

    /// Adds the times of others.
    pub fn add(&mut self, other: &Steps) {
        self.counts.iter_mut().zip(other.counts).for_each(|(count, more)| *count += more);
        self.sum += other.sum;
    }

    /// The label of each bound, and how many times do not exceed it.
    pub fn up_to(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let labels = BOUNDS.iter().map(|(_, label)| *label).chain(["+Inf"]);
        let mut total = 0;
        labels.zip(self.counts).map(move |(label, count)| {
            total += count;
            (label, total)
        })
    }

    /// The number of times.
    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The sum of the times in seconds.
    pub fn seconds(&self) -> f64 {
        self.sum as f64 / 1e9
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_that_equals_a_bound_does_not_exceed_it() {
        let mut steps = Steps::default();
        for nanos in [-7, 0, 1_000_000, 1_000_001, 2_500_000_000, 2_500_000_001, i64::MAX] {
            steps.count(nanos);
        }
        let up_to: Vec<_> = steps.up_to().collect();
        assert_eq!(up_to[..2], [("0.001", 3), ("0.005", 4)]);
        assert_eq!(up_to[9..], [("2.5", 5), ("+Inf", 7)]);
        let mut twice = steps;
        twice.add(&steps);
        assert_eq!((steps.total(), twice.total()), (7, 14));
        assert!((twice.seconds() - 2.0 * steps.seconds()).abs() < 1e-6);
    }

    #[test]
    fn labels_are_the_bounds_in_seconds() {
        for (nanos, label) in BOUNDS {
            assert_eq!(label.parse::<f64>(), Ok(nanos as f64 / 1e9));
        }
        assert!(BOUNDS.is_sorted());
    }
}
