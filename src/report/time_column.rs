//! The time column of lines, in formats of tshark's `-t`.

use super::format::{push_decimals, push_fraction};
use crate::bounded::ByFrame;
use crate::capture::{Interface, SECOND, Time};
use crate::net::DropReason;
use crate::text::line::Line;
use jiff::Timestamp;
use jiff::tz::TimeZone;

/// Maximum number of frames for which the time of the previous frame is remembered, the same as of frames whose headers
/// are.
const MAX_BEFORE: usize = 16_384;
/// Decimals of the time stamps of an interface that is not described at the beginning of the file.
const DEFAULT_DECIMALS: u8 = 6;

/// The origin from which time is counted, or the format of a date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeBase {
    /// A `strftime` format up to the second; the fraction follows.
    Absolute(&'static str),
    /// Since the previous captured frame.
    Captured,
    /// Since 1970.
    Epoch,
    /// Since the first frame.
    Relative,
}

/// The words of `-t`, with description and base.
pub const TIME_FORMATS: [(&str, &str, TimeBase); 6] = [
    ("r", "since the first frame", TimeBase::Relative),
    ("ad", "date and time of day, local", TimeBase::Absolute("%Y-%m-%d %H:%M:%S")),
    ("d", "since the captured frame before", TimeBase::Captured),
    ("e", "seconds since 1970", TimeBase::Epoch),
    ("u", "time of day, UTC", TimeBase::Absolute("%H:%M:%S")),
    ("ud", "the same with the date", TimeBase::Absolute("%Y-%m-%d %H:%M:%S")),
];

/// A format of times.
#[derive(Clone, Debug)]
pub struct TimeFormat {
    base: TimeBase,
    zone: TimeZone,
    /// Number of decimals; `None` for the precision of the capture.
    decimals: Option<u8>,
}

impl Default for TimeFormat {
    /// Seconds since the first frame, with six decimals.
    fn default() -> TimeFormat {
        TimeFormat { base: TimeBase::Relative, zone: TimeZone::UTC, decimals: Some(6) }
    }
}

impl TimeFormat {
    /// Parses a word of [`TIME_FORMATS`]. A dot and the number of decimals, 0 to 9, may follow; the default is the
    /// precision of the capture. `local` is called if the local time zone is needed.
    pub fn parse(text: &str, local: impl FnOnce() -> TimeZone) -> Option<TimeFormat> {
        let (word, decimals) = match text.split_once('.') {
            None | Some((_, "")) => (text.trim_end_matches('.'), None),
            Some((word, digit)) => {
                let is_one_digit = digit.len() == 1 && digit.bytes().all(|b| b.is_ascii_digit());
                (word, Some(digit.parse().ok().filter(|_| is_one_digit)?))
            }
        };
        let (_, _, base) = *TIME_FORMATS.iter().find(|(candidate, ..)| *candidate == word)?;
        let zone = if word.starts_with('a') { local() } else { TimeZone::UTC };
        Some(TimeFormat { base, zone, decimals })
    }

    /// Whether the format needs the times of all frames.
    pub fn needs_frames(&self) -> bool {
        self.base == TimeBase::Captured
    }
}

/// The facts about a file that times need.
#[derive(Clone, Copy, Debug)]
pub(super) struct Origin<'a> {
    /// The first time stamp.
    pub first: Time,
    /// Decimals of the interfaces described at the beginning of the file.
    pub interfaces: &'a [u8],
}

/// Decimals of the time stamps of each interface.
pub(super) fn decimals(interfaces: &[Interface]) -> Vec<u8> {
    interfaces.iter().map(|i| i.decimals).collect()
}

/// Writes the times of packets.
#[derive(Debug)]
pub(super) struct TimeColumn {
    format: TimeFormat,
    /// Time of the latest frame.
    previous_time: Time,
    /// The time of the previous frame, by frame.
    times_before: ByFrame<Time>,
    /// The latest second written, and its text.
    last_second: Option<(i64, String)>,
}

impl TimeColumn {
    pub fn new(format: TimeFormat) -> TimeColumn {
        TimeColumn {
            format,
            previous_time: Time::UNKNOWN,
            times_before: ByFrame::default(),
            last_second: None,
        }
    }

    /// Begins a file.
    pub fn begin_file(&mut self) {
        self.previous_time = Time::UNKNOWN;
    }

    /// Notes the time of a frame, which may contain a datagram that is reported later.
    pub fn note_frame<D>(&mut self, frame: u64, time: Time, parsed: &Result<D, DropReason>) {
        let before = if self.previous_time == Time::UNKNOWN { time } else { self.previous_time };
        self.previous_time = time;
        if DropReason::may_hold_datagram(parsed) {
            if self.times_before.len() >= MAX_BEFORE {
                self.times_before.pop();
            }
            self.times_before.push(frame, before);
        }
    }

    /// Width of the column.
    pub fn width(&self) -> usize {
        match self.format.decimals {
            Some(0..=6) => 12,
            _ => 15,
        }
    }

    /// Appends the time of a packet. If it is unknown, appends nothing and returns `None`.
    pub fn push(
        &mut self,
        line: &mut Line,
        frame: u64,
        time: Time,
        interface: u32,
        origin: Origin<'_>,
    ) -> Option<()> {
        let interface_decimals =
            || origin.interfaces.get(interface as usize).copied().unwrap_or(DEFAULT_DECIMALS);
        let decimals = usize::from(self.format.decimals.unwrap_or_else(interface_decimals));
        let nanos = time.nanos()?;
        let origin_time = match self.format.base {
            TimeBase::Absolute(format) => {
                self.absolute(line, nanos, format, decimals);
                return Some(());
            }
            TimeBase::Epoch => Time::from_nanos(0),
            TimeBase::Relative => origin.first,
            TimeBase::Captured => *self.times_before.get(frame)?,
        };
        push_decimals(line, time.since(origin_time)?, decimals);
        Some(())
    }

    fn absolute(&mut self, line: &mut Line, nanos: i64, format: &str, decimals: usize) {
        let (second, fraction) = (nanos.div_euclid(SECOND), nanos.rem_euclid(SECOND));
        if self.last_second.as_ref().is_none_or(|(last, _)| *last != second) {
            // The calendar covers every i64 of nanoseconds.
            let stamp = Timestamp::from_second(second).unwrap_or_default();
            let text = stamp.to_zoned(self.format.zone.clone()).strftime(format).to_string();
            self.last_second = Some((second, text));
        }
        let text = self.last_second.as_ref().map(|(_, text)| text.as_str()).unwrap_or_default();
        line.extend_from_slice(text.as_bytes());
        push_fraction(line, fraction as u64, decimals);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn eastern() -> TimeZone {
        TimeZone::posix("EST5EDT,M3.2.0,M11.1.0").unwrap()
    }

    fn times(word: &str) -> TimeColumn {
        TimeColumn::new(TimeFormat::parse(word, eastern).unwrap())
    }

    /// 2026-11-20T10:38:42.380967123Z.
    const STAMP: i64 = 1_795_171_122_380_967_123;

    impl TimeColumn {
        fn text(&mut self, frame: u64, time: Time, interface: u32, origin: Origin<'_>) -> Option<String> {
            let mut result = None;
            let text = Line::text(|line| result = self.push(line, frame, time, interface, origin));
            result.map(|()| text)
        }
    }

    fn time_text(word: &str) -> String {
        let first = Time::from_nanos(STAMP - 1_500_000_000);
        let origin = Origin { first, interfaces: &[6, 9] };
        times(word).text(7, Time::from_nanos(STAMP), 1, origin).unwrap_or_default()
    }

    #[test]
    fn formats_times_for_every_word() {
        for (word, text) in [
            ("ad", "2026-11-20 05:38:42.380967123"),
            ("e", "1795171122.380967123"),
            ("r", "1.500000000"),
            ("u", "10:38:42.380967123"),
            ("ud", "2026-11-20 10:38:42.380967123"),
            ("u.3", "10:38:42.380"),
            ("ud.0", "2026-11-20 10:38:42"),
            ("r.", "1.500000000"),
        ] {
            assert_eq!(time_text(word), text, "{word}");
        }
        assert!(TIME_FORMATS.iter().all(|(word, ..)| TimeFormat::parse(word, eastern).is_some()));
        for wrong in ["", ".", "x", "ud.10", "ud.x", "e.-1", "E", "r.+1", "ad.3.4"] {
            assert!(TimeFormat::parse(wrong, eastern).is_none(), "{wrong}");
        }
    }

    #[test]
    fn keeps_the_precision_of_the_capture() {
        let origin = Origin { first: Time::from_nanos(0), interfaces: &[6, 9, 0] };
        let mut times = times("r");
        let mut text =
            |interface| times.text(1, Time::from_nanos(-1_234_567_891), interface, origin).unwrap();
        assert_eq!([0, 1, 2, 3].map(&mut text), ["-1.234567", "-1.234567891", "-1", "-1.234567"]);
    }

    #[test]
    fn deltas_refer_to_the_previous_frame() {
        let at = |ms: i64| Time::from_nanos(ms * 1_000_000);
        let mut d = times("d.3");
        d.begin_file();
        d.note_frame(1, at(1000), &Ok(()));
        d.note_frame(2, at(1010), &Err::<(), _>(DropReason::Tcp));
        d.note_frame(3, at(1015), &Ok(()));
        let origin = Origin { first: at(1000), interfaces: &[] };
        // Datagrams are reported later, and not in order.
        assert_eq!(d.text(3, at(1015), 0, origin).as_deref(), Some("0.005"));
        assert_eq!(d.text(1, at(1000), 0, origin).as_deref(), Some("0.000"));
        assert_eq!(d.text(2, at(1010), 0, origin), None, "there is no datagram in it");
    }

    #[test]
    fn forgets_the_times_of_the_oldest_frames() {
        let mut d = times("d");
        for frame in 1..=MAX_BEFORE as u64 + 1 {
            d.note_frame(frame, Time::from_nanos(0), &Ok(()));
        }
        let origin = Origin { first: Time::UNKNOWN, interfaces: &[] };
        assert_eq!(d.text(1, Time::from_nanos(0), 0, origin), None);
        assert!(d.text(2, Time::from_nanos(0), 0, origin).is_some());
    }
}
