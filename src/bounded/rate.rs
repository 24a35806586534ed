//! The busiest second of a series of events, whatever their number: the second slides in parts of 1/64 s.

/// A second, in nanoseconds.
const SECOND: i64 = 1_000_000_000;
/// Number of parts of a second in which events are counted.
const PARTS: usize = 64;

/// Events in the parts of the last second, and the most that a second had.
#[derive(Clone, Debug)]
pub struct Rate {
    parts: [u32; PARTS],
    /// Number of the last part since 1970.
    last: i64,
    sum: u32,
    peak: u32,
}

impl Default for Rate {
    fn default() -> Self {
        Rate { parts: [0; PARTS], last: i64::MIN / 2, sum: 0, peak: 0 }
    }
}

impl Rate {
    /// Counts an event at a time in nanoseconds since 1970.
    pub fn add(&mut self, time: i64) {
        let part = time / (SECOND / PARTS as i64);
        // A time stamp before the last one counts with the last one.
        let passed = part.saturating_sub(self.last).clamp(0, PARTS as i64);
        for n in 1..=passed {
            let at = (self.last.max(part - PARTS as i64) + n).rem_euclid(PARTS as i64) as usize;
            self.sum -= std::mem::take(&mut self.parts[at]);
        }
        self.last = self.last.max(part);
        self.parts[self.last.rem_euclid(PARTS as i64) as usize] += 1;
        self.sum += 1;
        self.peak = self.peak.max(self.sum);
    }

    /// Events in the busiest second.
    pub fn peak(&self) -> u32 {
        self.peak
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_slides() {
        let mut rate = Rate::default();
        let start = 1_700_000_000 * SECOND;
        rate.add(start);
        assert_eq!(rate.peak(), 1);
        // One hundred from 0.7 s to 1.2 s: they are in two seconds of the clock.
        (0..100).for_each(|n| rate.add(start + 700_000_000 + n * 5_000_000));
        assert_eq!(rate.peak(), 100);
        (0..20).for_each(|n| rate.add(start + 10 * SECOND + n * 100_000_000));
        assert_eq!((rate.sum, rate.peak()), (10, 100));
        rate.add(start);
        assert_eq!((rate.sum, rate.peak()), (11, 100), "the clock was set back");
    }
}
