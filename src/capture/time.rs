//! Points in capture time, and the time stamps of pcapng: a 64-bit count of units since 1970, plus a number of seconds.
//!
//! ```text
//!  if_tsresol   0 0 0 0 0 1 1 0   unit = 10^-6 s   (the value when the option is absent)
//!               1 0 0 1 0 1 0 0   unit = 2^-20 s
//!               ^ base: 0 ten, 1 two
//!  if_tsoffset  i64, whole seconds to add
//! ```
//! draft-ietf-opsawg-pcapng, section 4.2.

use std::time::{SystemTime, UNIX_EPOCH};

/// Nanoseconds in a second.
pub const SECOND: i64 = 1_000_000_000;

/// Nanoseconds since 1970-01-01T00:00:00Z, or unknown: Simple Packet Blocks carry no time stamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(i64);

impl Default for Time {
    fn default() -> Time {
        Time::UNKNOWN
    }
}

impl Time {
    /// No time stamp. Sorts before every known time.
    pub const UNKNOWN: Time = Time(i64::MIN);

    /// From nanoseconds since 1970; times outside 1678..2262 are pinned to those ends.
    pub const fn from_nanos(nanos: i64) -> Time {
        if nanos == i64::MIN { Time(i64::MIN + 1) } else { Time(nanos) }
    }

    /// From nanoseconds in 128 bits, pinned to the range of `Time`.
    pub fn from_wide(nanos: i128) -> Time {
        Time::from_nanos(nanos.clamp(i64::MIN.into(), i64::MAX.into()) as i64)
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

    /// Whether this is at most `nanos` before or after another time. Also holds where both are unknown, so that no more than
    /// a subtraction is needed.
    #[inline(always)]
    pub(crate) const fn is_within(self, other: Time, nanos: u64) -> bool {
        self.0.wrapping_sub(other.0).wrapping_add(nanos as i64) as u64 <= nanos.saturating_mul(2)
    }

    /// This time moved by `nanos`; unknown stays unknown.
    pub const fn plus(self, nanos: i64) -> Time {
        match self.nanos() {
            Some(t) => Time::from_nanos(t.saturating_add(nanos)),
            None => Time::UNKNOWN,
        }
    }
}

/// A time before 1970 is taken for its beginning.
impl From<SystemTime> for Time {
    fn from(time: SystemTime) -> Time {
        let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
        Time::from_wide(i128::try_from(since.as_nanos()).unwrap_or(i128::MAX))
    }
}

/// How an interface counts time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    /// Counts below this are converted to nanoseconds by `scale` and `shift` without overflow; 0 where the unit is
    /// not a whole number of nanoseconds.
    below: u64,
    /// Nanoseconds per unit.
    scale: i64,
    /// Nanoseconds to add.
    shift: i64,
    /// `if_tsresol`.
    resolution: u8,
    /// `if_tsoffset`.
    offset: i64,
}

impl Clock {
    /// From `if_tsresol` and `if_tsoffset` (seconds).
    pub(super) fn new(resolution: u8, offset: i64) -> Clock {
        let scale = 9u32.checked_sub(resolution.into()).map_or(0, |power| 10i64.saturating_pow(power));
        let shift = offset.checked_mul(SECOND);
        let below = match shift {
            Some(shift) => i64::MAX.saturating_sub(shift.max(0)).checked_div(scale).unwrap_or(0),
            None => 0,
        };
        let shift = shift.unwrap_or(0);
        Clock { below: below.unsigned_abs(), scale, shift, resolution, offset }
    }

    /// The time after `count` units. Fractions of a nanosecond are dropped.
    #[inline]
    pub(super) fn time(&self, count: u64) -> Time {
        if count < self.below {
            Time::from_nanos((count as i64).wrapping_mul(self.scale).wrapping_add(self.shift))
        } else {
            self.time_in_128_bits(count)
        }
    }

    /// The time for any unit and offset: a count times 10^9 needs 94 bits.
    #[cold]
    fn time_in_128_bits(&self, count: u64) -> Time {
        let scaled = i128::from(count).saturating_mul(SECOND.into());
        let exponent = u32::from(self.resolution & 0x7f);
        let nanos = if self.resolution & 0x80 != 0 {
            scaled.checked_shr(exponent).unwrap_or(0)
        } else {
            // 10^39 does not fit, and the quotient is 0 long before that.
            10i128.checked_pow(exponent).and_then(|units| scaled.checked_div(units)).unwrap_or(0)
        };
        Time::from_wide(nanos.saturating_add(i128::from(self.offset).saturating_mul(SECOND.into())))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::arithmetic_side_effects)]
    use super::*;
    use proptest::prelude::*;

    /// As [`Clock::time`], but computed in two steps: floor(count / units), and floor of the rest.
    fn reference_time(resolution: u8, offset: i64, count: u64) -> Time {
        let (whole, part) = if resolution & 0x80 != 0 {
            let power = u32::from(resolution & 0x7f);
            let whole = (count as u128) >> power;
            (whole, (((count as u128) - (whole << power.min(64))) * 1_000_000_000) >> power)
        } else if resolution < 20 {
            let units = 10u128.pow(resolution.into());
            (count as u128 / units, count as u128 % units * 1_000_000_000 / units)
        } else {
            let units = 10u128.checked_pow(resolution.into()).unwrap_or(u128::MAX);
            (0, count as u128 * 1_000_000_000 / units)
        };
        Time::from_wide((whole as i128 + offset as i128) * 1_000_000_000 + part as i128)
    }

    #[test]
    fn known_times() {
        let at = |resolution, offset, count| Clock::new(resolution, offset).time(count).nanos();
        assert_eq!(at(6, 0, 1_700_000_000_123_456), Some(1_700_000_000_123_456_000));
        assert_eq!(at(9, 0, 1_700_000_000_123_456_789), Some(1_700_000_000_123_456_789));
        assert_eq!(at(0, -1, 0), Some(-1_000_000_000));
        assert_eq!(at(0x80 | 10, 0, 1024 + 512), Some(1_500_000_000));
        assert_eq!(at(12, 0, 1_999), Some(1), "a picosecond is dropped, not rounded");
        assert_eq!(at(0, 0, u64::MAX), Some(i64::MAX), "pinned to the end of what fits");
        assert_eq!(at(6, i64::MIN, 0), Some(i64::MIN + 1));
    }

    proptest! {
        #[test]
        fn agrees_with_fractions(resolution: u8, offset in prop_oneof![-10_000i64..10_000, any::<i64>()], count: u64) {
            prop_assert_eq!(Clock::new(resolution, offset).time(count), reference_time(resolution, offset, count));
        }

        #[test]
        fn agrees_with_fractions_in_our_age(resolution in 0u8..10, offset in -100_000i64..100_000, seconds in 0u64..4_000_000_000, part: u64) {
            let units = 10u64.pow(resolution.into());
            let count = seconds * units + part % units;
            prop_assert_eq!(Clock::new(resolution, offset).time(count), reference_time(resolution, offset, count));
        }
    }
}
