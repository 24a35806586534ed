//! The current time, and the zone of local time.

use super::system;
use crate::capture::Time;
use crate::text::escape::quoted;
use jiff::tz::TimeZone;
use std::path::Path;
use std::time::{Instant, SystemTime};

/// The current time.
pub fn now() -> Time {
    SystemTime::now().into()
}

/// The time in a capture that is still growing: its latest time stamp, and what has passed since that came.
#[derive(Clone, Copy, Debug)]
pub struct CaptureClock {
    latest: Time,
    since: Instant,
}

impl Default for CaptureClock {
    fn default() -> Self {
        CaptureClock { latest: Time::UNKNOWN, since: Instant::now() }
    }
}

impl CaptureClock {
    /// The time at the moment, where `latest` is the latest time stamp.
    pub fn now(&mut self, latest: Time) -> Time {
        if latest != self.latest {
            *self = CaptureClock { latest, since: Instant::now() };
        }
        let passed = self.since.elapsed().as_nanos();
        latest.plus(i64::try_from(passed).unwrap_or(i64::MAX))
    }
}

/// The most bytes of a file that `TZ` names; those of the system have 4 KiB at most.
const MAX_ZONE_FILE: u64 = 1 << 20;

/// The zone of local time. A file that `TZ` names is looked at first: a device has no end.
///
/// # Errors
/// A sentence, if that is no file of a zone.
pub fn local_zone() -> Result<TimeZone, String> {
    let named = std::env::var_os("TZ").unwrap_or_default();
    let text = named.to_string_lossy();
    let path = Path::new(text.strip_prefix(':').unwrap_or(&text));
    if let Ok(data) = std::fs::metadata(path)
        && !(data.is_file() && data.len() <= MAX_ZONE_FILE && system::is_on_disk(path))
    {
        return Err(format!(
            "TZ names {}, which is no file of a time zone: unset it, or name a zone, as in TZ=Europe/Berlin.",
            quoted(&text)
        ));
    }
    Ok(TimeZone::system())
}
