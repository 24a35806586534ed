//! A histogram on a logarithmic scale.

/// Where buckets begin, within a power of ten.
const STEPS: [i64; 3] = [1, 2, 5];
/// Powers of ten: from a microsecond to ten seconds.
const DECADES: usize = 8;
/// Number of buckets: one of negative times, one below a microsecond, and the last one without an end.
const BUCKETS: usize = DECADES * STEPS.len() + 2;

/// Counts by response time in buckets that begin at 1, 2 and 5 times the powers of ten, from 1 µs to 50 s. Times
/// below zero, of clocks that were set back, have a bucket of their own.
#[derive(Clone, Debug)]
pub struct Spread([u64; BUCKETS]);

/// One bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bucket {
    /// Its beginning in nanoseconds; `None` for the one of negative times.
    pub from: Option<i64>,
    /// Its end in nanoseconds, which is not part of it; `None` for the last one.
    pub to: Option<i64>,
    /// Number of response times in it.
    pub count: u64,
}

impl Default for Spread {
    fn default() -> Self {
        Spread([0; BUCKETS])
    }
}

/// The beginning of a bucket in nanoseconds; `None` for the first one, and after the last one.
fn edge(bucket: usize) -> Option<i64> {
    let above = bucket.checked_sub(2).filter(|_| bucket < BUCKETS);
    let from = |above| STEPS[above % STEPS.len()] * 1_000 * 10_i64.pow((above / STEPS.len()) as u32);
    if bucket == 1 { Some(0) } else { above.map(from) }
}

impl Spread {
    /// Counts a time in nanoseconds.
    pub fn add(&mut self, nanos: i64) {
        let bucket = (1..BUCKETS).take_while(|&b| edge(b).is_some_and(|from| from <= nanos)).count();
        self.0[bucket] += 1;
    }

    /// The buckets from the first to the last one that is not empty.
    pub fn buckets(&self) -> Vec<Bucket> {
        let first = self.0.iter().position(|&n| n > 0).unwrap_or(BUCKETS);
        let end = self.0.iter().rposition(|&n| n > 0).map_or(first, |last| last + 1);
        let bucket = |at| Bucket { from: edge(at), to: edge(at + 1), count: self.0[at] };
        (first..end).map(bucket).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_begin_at_one_two_and_five() {
        let mut spread = Spread::default();
        [-3, 999, 1_000, 1_999, 2_000, 4_999, 5_000].iter().for_each(|&t| spread.add(t));
        let found: Vec<_> = spread.buckets().iter().map(|b| (b.from, b.to, b.count)).collect();
        let (none, us) = ((None, Some(0), 1), |n: i64| Some(1_000 * n));
        assert_eq!(
            found,
            [none, (us(0), us(1), 1), (us(1), us(2), 2), (us(2), us(5), 2), (us(5), us(10), 1)]
        );
    }

    #[test]
    fn the_last_bucket_has_no_end_and_gaps_are_kept() {
        let mut spread = Spread::default();
        assert_eq!(spread.buckets(), []);
        [20_000_000_000, i64::MAX].iter().for_each(|&t| spread.add(t));
        let found: Vec<_> = spread.buckets().iter().map(|b| (b.from, b.to, b.count)).collect();
        let s = 1_000_000_000;
        assert_eq!(found, [(Some(20 * s), Some(50 * s), 1), (Some(50 * s), None, 1)]);
        spread.add(3_000_000_000);
        assert_eq!(spread.buckets().iter().map(|b| b.count).collect::<Vec<_>>(), [1, 0, 0, 1, 1]);
    }
}
