//! Points in capture time.

/// Nanoseconds since 1970-01-01T00:00:00Z, or unknown: Simple Packet Blocks carry no time stamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(i64);

impl Time {
    /// No time stamp. Sorts before every known time.
    pub const UNKNOWN: Time = Time(i64::MIN);

    /// From nanoseconds since 1970; times outside 1678..2262 are pinned to those ends.
    pub const fn from_nanos(nanos: i64) -> Time {
        if nanos == i64::MIN { Time(i64::MIN + 1) } else { Time(nanos) }
    }

    /// From nanoseconds in 128 bits, pinned to the range of `Time`.
    pub const fn from_wide(nanos: i128) -> Time {
        if nanos > i64::MAX as i128 {
            Time(i64::MAX)
        } else if nanos <= i64::MIN as i128 {
            Time(i64::MIN + 1)
        } else {
            Time(nanos as i64)
        }
    }

    /// Nanoseconds since 1970; `None` when unknown.
    pub const fn nanos(self) -> Option<i64> {
        if self.0 == i64::MIN { None } else { Some(self.0) }
    }

    /// `self - earlier` in nanoseconds; `None` when either is unknown.
    pub const fn since(self, earlier: Time) -> Option<i64> {
        match (self.nanos(), earlier.nanos()) {
            (Some(a), Some(b)) => Some(a.saturating_sub(b)),
            _ => None,
        }
    }

    /// This time moved by `nanos`; unknown stays unknown.
    pub const fn plus(self, nanos: i64) -> Time {
        match self.nanos() {
            Some(t) => Time::from_nanos(t.saturating_add(nanos)),
            None => Time::UNKNOWN,
        }
    }
}
