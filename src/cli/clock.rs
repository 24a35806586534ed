//! The current time.

use qdissect::capture::Time;
use std::time::{SystemTime, UNIX_EPOCH};

/// The current time.
pub fn now() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Time::from_wide(i128::try_from(since.as_nanos()).unwrap_or(i128::MAX))
}
