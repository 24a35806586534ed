//! Counts queries, answers and losses over time.
//!
//! Only intervals with events take memory, and their number is bounded: a clock that jumps makes a gap, not a million rows.
//! If the user sets no interval, time is cut into short pieces at first, and into longer ones whenever these are too many;
//! the interval of the rows is chosen at the end.

use crate::capture::Time;
use crate::exchange::{Exchange, Outcome};
use hashbrown::HashMap;

const MS: i64 = 1_000_000;
const S: i64 = 1_000 * MS;
const MIN: i64 = 60 * S;
const HOUR: i64 = 60 * MIN;
const DAY: i64 = 24 * HOUR;

/// Most intervals kept where the user sets their length; the events of further intervals are added up.
pub const MAX_INTERVALS: usize = 65_536;
/// Most pieces of time kept where the interval is chosen at the end.
const MAX_PIECES: usize = 8_192;
/// Most rows where the interval is chosen at the end; enough traffic makes at least about a third as many.
pub const MAX_CHOSEN: usize = 60;
/// Most empty intervals shown between others; a longer pause is a gap.
pub const MAX_EMPTY: i64 = 10;

/// Lengths of the pieces in nanoseconds; each is a multiple of the one before it.
const PIECES: [i64; 12] =
    [MS, 10 * MS, 100 * MS, S, 10 * S, MIN, 10 * MIN, HOUR, 6 * HOUR, DAY, 10 * DAY, 100 * DAY];
/// Intervals to choose from, in nanoseconds. Each is a multiple of every piece that is not longer.
#[rustfmt::skip]
const INTERVALS: [i64; 37] = [
    MS, 2 * MS, 5 * MS, 10 * MS, 20 * MS, 50 * MS, 100 * MS, 200 * MS, 500 * MS,
    S, 2 * S, 5 * S, 10 * S, 20 * S, 30 * S, MIN, 2 * MIN, 5 * MIN, 10 * MIN, 30 * MIN,
    HOUR, 2 * HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY, 2 * DAY, 5 * DAY, 10 * DAY, 20 * DAY,
    50 * DAY, 100 * DAY, 200 * DAY, 500 * DAY, 1_000 * DAY, 2_000 * DAY, 5_000 * DAY,
];

/// The events of an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IntervalCounts {
    /// Requests, without repetitions.
    pub queries: u64,
    /// Repetitions of the requests that were made here.
    pub retransmissions: u64,
    /// Answers.
    pub answers: u64,
    /// Requests made here that were not answered.
    pub unanswered: u64,
    /// Requests made here that ICMP errors refused.
    pub refused: u64,
    /// The sum of the response times of the answers in nanoseconds, and the longest of them.
    pub response_time_sum: i128,
    pub longest: Option<i64>,
}

impl IntervalCounts {
    fn add(&mut self, other: &IntervalCounts) {
        self.queries += other.queries;
        self.retransmissions += other.retransmissions;
        self.answers += other.answers;
        self.unanswered += other.unanswered;
        self.refused += other.refused;
        self.response_time_sum += other.response_time_sum;
        self.longest = self.longest.max(other.longest);
    }

    /// The mean of the response times in nanoseconds.
    pub fn mean(&self) -> Option<i64> {
        self.longest?;
        self.response_time_sum.checked_div(self.answers.into()).and_then(|mean| i64::try_from(mean).ok())
    }
}

/// Counts exchanges by pieces of time.
#[derive(Debug)]
pub struct Series {
    /// Length of a piece of time in nanoseconds.
    length: i64,
    /// Whether the user chose the length.
    fixed: bool,
    /// The pieces, by their number since 1970.
    pieces: HashMap<i64, IntervalCounts>,
    /// Events at unknown times.
    pub untimed: IntervalCounts,
    /// Events in intervals beyond [`MAX_INTERVALS`], where the user chose their length.
    pub overflow: IntervalCounts,
}

/// The rows of the table.
#[derive(Debug, Default)]
pub struct Rows {
    /// Length of an interval in nanoseconds.
    pub interval: i64,
    /// Beginnings of the intervals in nanoseconds since 1970, and their events.
    pub rows: Vec<(i64, IntervalCounts)>,
    /// Number of gaps, in which more than [`MAX_EMPTY`] empty intervals were left out.
    pub gaps: u64,
}

impl Series {
    /// An empty series with intervals of `interval` nanoseconds, or of a length that is chosen at the end.
    pub fn new(interval: Option<i64>) -> Series {
        Series {
            length: interval.unwrap_or(PIECES[0]).max(1),
            fixed: interval.is_some(),
            pieces: HashMap::new(),
            untimed: IntervalCounts::default(),
            overflow: IntervalCounts::default(),
        }
    }

    /// Counts an exchange: its request, its outcome, and its answer.
    pub fn add(&mut self, e: &Exchange) {
        let request = IntervalCounts {
            queries: 1,
            retransmissions: u64::from(e.retransmissions),
            unanswered: u64::from(e.outcome == Outcome::Unanswered),
            refused: u64::from(e.outcome == Outcome::Refused),
            ..IntervalCounts::default()
        };
        self.add_at(e.request_time, request);
        if matches!(e.outcome, Outcome::Answered | Outcome::Late) {
            // Without a response time, the time of the answer is unknown: all answers counted in intervals have one.
            let time = e.response_time.map_or(Time::UNKNOWN, |t| e.request_time.plus(t));
            let (response_time_sum, longest) = (e.response_time.unwrap_or(0).into(), e.response_time);
            self.add_at(
                time,
                IntervalCounts { answers: 1, response_time_sum, longest, ..IntervalCounts::default() },
            );
        }
    }

    fn add_at(&mut self, time: Time, counts: IntervalCounts) {
        let Some(nanos) = time.nanos() else { return self.untimed.add(&counts) };
        let most = if self.fixed { MAX_INTERVALS } else { MAX_PIECES };
        if self.pieces.len() >= most && !self.pieces.contains_key(&nanos.div_euclid(self.length)) {
            if self.fixed {
                return self.overflow.add(&counts);
            }
            self.coarsen();
        }
        self.pieces.entry(nanos.div_euclid(self.length)).or_default().add(&counts);
    }

    /// Makes the pieces longer, until their number is at most half of [`MAX_PIECES`].
    #[cold]
    fn coarsen(&mut self) {
        let longer = PIECES.iter().copied().filter(|&piece| piece > self.length);
        for length in longer.collect::<Vec<_>>() {
            (self.pieces, self.length) = (self.merged(length), length);
            if self.pieces.len() <= MAX_PIECES / 2 {
                return;
            }
        }
    }

    /// The pieces merged into longer pieces of `length`, a multiple of the present length.
    fn merged(&self, length: i64) -> HashMap<i64, IntervalCounts> {
        let ratio = (length / self.length).max(1);
        let mut merged = HashMap::<_, IntervalCounts>::new();
        for (at, counts) in &self.pieces {
            merged.entry(at.div_euclid(ratio)).or_default().add(counts);
        }
        merged
    }

    /// The rows: in intervals that the user chose, or in the shortest intervals that make no more than [`MAX_CHOSEN`] rows.
    pub fn rows(&self) -> Rows {
        if self.fixed {
            return with_empty_intervals(self.length, &self.pieces);
        }
        let mut rows = Rows::default();
        for interval in INTERVALS.into_iter().filter(|&interval| interval >= self.length) {
            rows = with_empty_intervals(interval, &self.merged(interval));
            // A gap counts as [`MAX_EMPTY`] rows, because short intervals would hide regular traffic in gaps.
            if rows.rows.len() as i64 + rows.gaps as i64 * MAX_EMPTY <= MAX_CHOSEN as i64 {
                break;
            }
        }
        rows
    }
}

/// The intervals, with the empty ones between them, except in gaps.
fn with_empty_intervals(interval: i64, pieces: &HashMap<i64, IntervalCounts>) -> Rows {
    let mut rows = Rows { interval, ..Rows::default() };
    let mut next = None;
    let mut pieces: Vec<_> = pieces.iter().collect();
    pieces.sort_unstable_by_key(|(at, _)| **at);
    for (&at, counts) in pieces {
        let from = next.unwrap_or(at);
        if at.saturating_sub(from) > MAX_EMPTY {
            rows.gaps += 1;
        } else {
            rows.rows.extend((from..at).map(|at| (at.saturating_mul(interval), IntervalCounts::default())));
        }
        rows.rows.push((at.saturating_mul(interval), *counts));
        next = Some(at.saturating_add(1));
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::Endpoint;
    use crate::protocols::Id;

    fn asked(series: &mut Series, nanos: i64) {
        series.add_at(Time::from_nanos(nanos), IntervalCounts { queries: 1, ..IntervalCounts::default() });
    }

    fn total(rows: &Rows) -> u64 {
        rows.rows.iter().map(|(_, counts)| counts.queries).sum()
    }

    #[test]
    fn every_interval_is_a_multiple_of_its_pieces() {
        for interval in INTERVALS {
            assert!(PIECES.iter().all(|piece| *piece > interval || interval % piece == 0), "{interval}");
        }
        assert!(INTERVALS.is_sorted() && PIECES.windows(2).all(|p| p[1] % p[0] == 0));
    }

    #[test]
    fn steady_traffic_makes_twenty_to_sixty_rows_whatever_the_span() {
        for (span, count) in
            [(2 * S, 1_000), (50 * S, 5_000), (HOUR, 20_000), (5 * DAY, 100_000), (500 * DAY, 100_000)]
        {
            let mut series = Series::new(None);
            (0..count).for_each(|i| asked(&mut series, 1_700_000_000 * S + span / count * i));
            assert!(series.pieces.len() <= MAX_PIECES);
            let rows = series.rows();
            assert!((20..=60).contains(&rows.rows.len()), "{span}: {} rows", rows.rows.len());
            assert_eq!((total(&rows), rows.gaps), (count as u64, 0));
        }
    }

    #[test]
    fn a_clock_that_jumps_makes_a_gap_and_no_rows() {
        let mut series = Series::new(None);
        for i in 0..50 {
            asked(&mut series, 1_700_000_000 * S + i * S);
        }
        for time in [0, i64::MIN + 1, i64::MAX, -1] {
            asked(&mut series, time);
        }
        let rows = series.rows();
        assert!(rows.rows.len() <= MAX_CHOSEN, "{}", rows.rows.len());
        assert_eq!((total(&rows), rows.gaps), (54, 3));
    }

    #[test]
    fn an_interval_has_the_mean_and_the_longest_time_of_its_answers() {
        let mut series = Series::new(Some(S));
        let lost = Exchange::unanswered(1, Id::Sqp, [Endpoint::v4([192, 0, 2, 1], 1); 2]);
        // The last answer comes in the next second.
        for (asked, time) in [(0, 10 * MS), (MS, 30 * MS), (990 * MS, 20 * MS)] {
            let (request_time, response_time) = (Time::from_nanos(asked), Some(time));
            series.add(&Exchange { request_time, response_time, outcome: Outcome::Answered, ..lost.clone() });
        }
        series.add(&Exchange { request_time: Time::from_nanos(0), ..lost });
        let rows = series.rows().rows;
        let found: Vec<_> = rows.iter().map(|(_, tick)| (tick.queries, tick.mean(), tick.longest)).collect();
        assert_eq!(found, [(4, Some(20 * MS), Some(30 * MS)), (0, Some(20 * MS), Some(20 * MS))]);
    }

    #[test]
    fn polls_with_long_pauses_make_no_rows_of_milliseconds() {
        let mut series = Series::new(None);
        for poll in 0..50 {
            [0, 3 * MS].iter().for_each(|later| asked(&mut series, 1_700_000_000 * S + poll * MIN + later));
        }
        let rows = series.rows();
        assert_eq!((rows.interval, rows.rows.len(), rows.gaps, total(&rows)), (MIN, 50, 0, 100));
    }

    #[test]
    fn scattered_times_stay_within_the_limits() {
        let mut series = Series::new(None);
        let mut fixed = Series::new(Some(MS));
        let mut time = 1_i64;
        for _ in 0..100_000 {
            time = time.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            asked(&mut series, time);
            asked(&mut fixed, time);
        }
        assert!(series.pieces.len() <= MAX_PIECES && fixed.pieces.len() <= MAX_INTERVALS);
        assert_eq!(total(&series.rows()), 100_000);
        assert_eq!(total(&fixed.rows()) + fixed.overflow.queries, 100_000);
    }

    #[test]
    fn ten_empty_intervals_are_rows_and_eleven_a_gap() {
        for (empty, expected) in [(10, (12, 0)), (11, (2, 1))] {
            let mut series = Series::new(Some(S));
            [0, (empty + 1) * S].iter().for_each(|&time| asked(&mut series, time));
            assert_eq!((series.rows().rows.len(), series.rows().gaps), expected);
        }
    }

    #[test]
    fn intervals_beyond_the_limit_are_added_up() {
        let mut series = Series::new(Some(S));
        (0..MAX_INTERVALS as i64).for_each(|n| asked(&mut series, n * S));
        assert_eq!((series.pieces.len(), series.overflow.queries), (65_536, 0));
        asked(&mut series, MAX_INTERVALS as i64 * S);
        asked(&mut series, 0);
        assert_eq!((series.pieces.len(), series.overflow.queries), (65_536, 1), "those that are there go on");
    }

    #[test]
    fn a_fixed_interval_is_kept_and_pauses_are_shown() {
        let mut series = Series::new(Some(2 * S));
        [0, S, 7 * S, 100 * S].iter().for_each(|&time| asked(&mut series, time));
        let rows = series.rows();
        let found: Vec<_> = rows.rows.iter().map(|(at, tick)| (at / S, tick.queries)).collect();
        assert_eq!((rows.interval, found), (2 * S, vec![(0, 2), (2, 0), (4, 0), (6, 1), (100, 1)]));
        assert_eq!(rows.gaps, 1);
        series.add_at(Time::UNKNOWN, IntervalCounts { queries: 1, ..IntervalCounts::default() });
        assert_eq!(series.untimed.queries, 1);
    }
}
