//! A histogram on a logarithmic scale.

/// Where buckets begin, within a power of ten.
const STEPS: [i64; 3] = [1, 2, 5];
/// Powers of ten: from a microsecond to ten seconds.
const DECADES: usize = 8;
/// Number of buckets: one below a microsecond, and the last one without an end.
const BUCKETS: usize = DECADES * STEPS.len() + 1;

/// Counts by response time in buckets that begin at 1, 2 and 5 times the powers of ten, from 1 µs to 50 s.
#[derive(Clone, Debug)]
pub struct Spread([u64; BUCKETS]);

/// One bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bucket {
    /// Its beginning in nanoseconds; 0 for the first one, which also holds negative times.
    pub from: i64,
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

/// The beginning of a bucket in nanoseconds; `None` after the last bucket.
fn edge(bucket: usize) -> Option<i64> {
    let above = match bucket.checked_sub(1) {
        None => return Some(0),
        Some(above) if above < BUCKETS - 1 => above,
        Some(_) => return None,
    };
    Some(STEPS[above % STEPS.len()] * 1_000 * 10_i64.pow((above / STEPS.len()) as u32))
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
        let bucket = |at| Bucket { from: edge(at).unwrap_or(0), to: edge(at + 1), count: self.0[at] };
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
        assert_eq!(
            found,
            [(0, Some(1_000), 2), (1_000, Some(2_000), 2), (2_000, Some(5_000), 2), (5_000, Some(10_000), 1)]
        );
    }

    #[test]
    fn the_last_bucket_has_no_end_and_gaps_are_kept() {
        let mut spread = Spread::default();
        assert_eq!(spread.buckets(), []);
        [20_000_000_000, i64::MAX].iter().for_each(|&t| spread.add(t));
        let found: Vec<_> = spread.buckets().iter().map(|b| (b.from, b.to, b.count)).collect();
        let s = 1_000_000_000;
        assert_eq!(found, [(20 * s, Some(50 * s), 1), (50 * s, None, 1)]);
        spread.add(3_000_000_000);
        assert_eq!(spread.buckets().iter().map(|b| b.count).collect::<Vec<_>>(), [1, 0, 0, 1, 1]);
    }
}
