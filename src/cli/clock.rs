//! The current time.

use crate::capture::Time;
use std::time::SystemTime;

/// The current time.
pub fn now() -> Time {
    SystemTime::now().into()
}
