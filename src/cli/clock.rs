//! The current time and date.

use crate::capture::Time;
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use std::time::{SystemTime, UNIX_EPOCH};

/// The current time.
pub fn now() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Time::from_wide(i128::try_from(since.as_nanos()).unwrap_or(i128::MAX))
}

/// Today's date in UTC.
pub fn today() -> Date {
    Timestamp::now().to_zoned(TimeZone::UTC).date()
}
