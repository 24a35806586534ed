//! The current time.

use qdissect::capture::Time;
use std::time::SystemTime;

/// The current time.
pub fn now() -> Time {
    SystemTime::now().into()
}
