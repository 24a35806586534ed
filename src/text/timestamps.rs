//! Time stamps as text.

use super::digits::nine;
use super::line::Line;
use crate::capture::Time;

const SECOND: i64 = 1_000_000_000;

/// Writes time stamps as RFC 3339 in UTC with nine decimals; remembers the text of the last second.
#[derive(Debug, Default)]
pub struct Stamps {
    second: Option<i64>,
    /// `"2026-11-20T10:32:02.380967000Z"`: the last second, with the nanoseconds of the last time stamp.
    text: [u8; 32],
}

impl Stamps {
    /// Appends a time stamp in quotes, or null where it is unknown.
    #[inline]
    pub fn push_json(&mut self, out: &mut Line, time: Time) {
        let Some(nanos) = time.nanos() else { return out.add(b"null") };
        let (second, fraction) = (nanos.div_euclid(SECOND), nanos.rem_euclid(SECOND));
        if self.second != Some(second) {
            self.set_second(second);
        }
        if let Some(nanos) = self.text[21..].first_chunk_mut() {
            *nanos = nine(fraction as u32).0;
        }
        out.add(&self.text);
    }

    #[cold]
    #[inline(never)]
    fn set_second(&mut self, second: i64) {
        self.second = Some(second);
        // The calendar covers every i64 of nanoseconds, with years of four digits.
        let stamp = jiff::Timestamp::from_second(second).unwrap_or_default();
        let text = format!("\"{}.000000000Z\"", stamp.strftime("%Y-%m-%dT%H:%M:%S"));
        self.text = text.as_bytes().first_chunk().copied().unwrap_or_default();
    }
}

/// Nanoseconds as seconds.
#[cfg(feature = "page")]
pub fn seconds(nanos: i64) -> f64 {
    nanos as f64 / 1e9
}

/// A time stamp as text; empty where it is unknown.
pub fn stamp(time: Time) -> String {
    let quoted = Line::text(|out| Stamps::default().push_json(out, time));
    quoted.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or_default().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_stamps_have_nine_decimals_in_the_whole_range() {
        assert_eq!(stamp(Time::from_nanos(1_795_171_122_380_967_000)), "2026-11-20T10:38:42.380967000Z");
        assert_eq!(stamp(Time::from_nanos(-1)), "1969-12-31T23:59:59.999999999Z");
        assert_eq!(stamp(Time::from_nanos(i64::MAX)), "2262-04-11T23:47:16.854775807Z");
        assert_eq!(stamp(Time::from_nanos(i64::MIN + 1)), "1677-09-21T00:12:43.145224193Z");
    }
}
