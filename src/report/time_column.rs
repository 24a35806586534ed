//! The time column of lines, in the forms that tshark's `-t` has.

use super::format::{push_decimals, push_fraction};
use crate::by_frame::ByFrame;
use crate::capture::{Interface, Time};
use crate::line::Line;
use crate::net::DropReason;
use jiff::Timestamp;
use jiff::tz::TimeZone;

/// Most frames for which the time of the frame before is remembered; as many as frames whose headers are.
const MAX_BEFORE: usize = 16_384;
/// Decimals of the time stamps of an interface that is not described at the beginning of the file.
const USUAL: u8 = 6;
const SECOND: i64 = 1_000_000_000;

/// The point from which a time is counted, or the format of a date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeBase {
    /// A `strftime` format up to the second; the fraction follows.
    Absolute(&'static str),
    /// Since the captured frame before.
    Captured,
    /// Since 1970.
    Epoch,
    /// Since the first frame.
    Relative,
}

/// The words of `-t`, each with its meaning and its form.
pub const TIME_FORMATS: [(&str, &str, TimeBase); 6] = [
    ("r", "since the first frame", TimeBase::Relative),
    ("ad", "date and time of day, local", TimeBase::Absolute("%Y-%m-%d %H:%M:%S")),
    ("d", "since the captured frame before", TimeBase::Captured),
    ("e", "seconds since 1970", TimeBase::Epoch),
    ("u", "time of day, UTC", TimeBase::Absolute("%H:%M:%S")),
    ("ud", "the same with the date", TimeBase::Absolute("%Y-%m-%d %H:%M:%S")),
];

/// A form of times.
#[derive(Clone, Debug)]
pub struct TimeFormat {
    base: TimeBase,
    zone: TimeZone,
    /// Number of decimals; `None` for as many as the capture has.
    decimals: Option<u8>,
}

impl Default for TimeFormat {
    /// Seconds since the first frame, with six decimals.
    fn default() -> TimeFormat {
        TimeFormat { base: TimeBase::Relative, zone: TimeZone::UTC, decimals: Some(6) }
    }
}

impl TimeFormat {
    /// The form for a word of [`TIME_FORMATS`]. After the word may stand a point and the number of decimals, 0 to 9; otherwise
    /// there are as many as the capture has. `local` is asked for the time zone where one is needed.
    pub fn parse(text: &str, local: impl FnOnce() -> TimeZone) -> Option<TimeFormat> {
        let (word, decimals) = match text.split_once('.') {
            None | Some((_, "")) => (text.trim_end_matches('.'), None),
            Some((word, digit)) => {
                let one = digit.len() == 1 && digit.bytes().all(|b| b.is_ascii_digit());
                (word, Some(digit.parse().ok().filter(|_| one)?))
            }
        };
        let (_, _, base) = *TIME_FORMATS.iter().find(|(known, ..)| *known == word)?;
        let zone = if word.starts_with('a') { local() } else { TimeZone::UTC };
        Some(TimeFormat { base, zone, decimals })
    }

    /// Whether it must be shown frames, too.
    pub fn needs_frames(&self) -> bool {
        self.base == TimeBase::Captured
    }
}

/// What times need of a file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Origin<'a> {
    /// Its first time stamp.
    pub first: Time,
    /// Decimals of the interfaces described at its beginning.
    pub interfaces: &'a [u8],
}

/// Decimals of the time stamps of each interface.
pub(super) fn decimals(interfaces: &[Interface]) -> Vec<u8> {
    interfaces.iter().map(|i| i.decimals).collect()
}

/// Writes the times of packets, one after the other.
#[derive(Debug)]
pub(super) struct TimeColumn {
    format: TimeFormat,
    /// Time of the frame read last.
    captured: Time,
    /// For each frame, the time of the frame before it.
    before: ByFrame<Time>,
    /// The second written last, and its text.
    second: Option<(i64, String)>,
}

impl TimeColumn {
    pub fn new(format: TimeFormat) -> TimeColumn {
        TimeColumn { format, captured: Time::UNKNOWN, before: ByFrame::default(), second: None }
    }

    /// A file begins.
    pub fn begin_file(&mut self) {
        self.captured = Time::UNKNOWN;
    }

    /// Takes a frame, which may hold a datagram that is reported later.
    pub fn note_frame<D>(&mut self, frame: u64, time: Time, parsed: &Result<D, DropReason>) {
        let before = if self.captured == Time::UNKNOWN { time } else { self.captured };
        self.captured = time;
        if DropReason::may_hold_datagram(parsed) {
            if self.before.len() >= MAX_BEFORE {
                self.before.pop();
            }
            self.before.push(frame, before);
        }
    }

    /// Columns that a time takes.
    pub fn width(&self) -> usize {
        match self.format.decimals {
            Some(0..=6) => 12,
            _ => 15,
        }
    }

    /// Appends the time of a packet; where it cannot be known, appends nothing and returns `None`.
    pub fn push(
        &mut self,
        line: &mut Line,
        frame: u64,
        time: Time,
        interface: u32,
        origin: Origin<'_>,
    ) -> Option<()> {
        let own = || origin.interfaces.get(interface as usize).copied().unwrap_or(USUAL);
        let decimals = usize::from(self.format.decimals.unwrap_or_else(own));
        let nanos = time.nanos()?;
        let from = match self.format.base {
            TimeBase::Absolute(format) => {
                self.absolute(line, nanos, format, decimals);
                return Some(());
            }
            TimeBase::Epoch => Time::from_nanos(0),
            TimeBase::Relative => origin.first,
            TimeBase::Captured => *self.before.get(frame)?,
        };
        push_decimals(line, time.since(from)?, decimals);
        Some(())
    }

    fn absolute(&mut self, line: &mut Line, nanos: i64, format: &str, decimals: usize) {
        let (second, fraction) = (nanos.div_euclid(SECOND), nanos.rem_euclid(SECOND));
        if self.second.as_ref().is_none_or(|(known, _)| *known != second) {
            // Any i64 of nanoseconds is within what the calendar covers.
            let stamp = Timestamp::from_second(second).unwrap_or_default();
            let text = stamp.to_zoned(self.format.zone.clone()).strftime(format).to_string();
            self.second = Some((second, text));
        }
        let text = self.second.as_ref().map(|(_, text)| text.as_str()).unwrap_or_default();
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
            let mut said = None;
            let text = Line::text(|line| said = self.push(line, frame, time, interface, origin));
            said.map(|()| text)
        }
    }

    fn told(word: &str) -> String {
        let first = Time::from_nanos(STAMP - 1_500_000_000);
        let origin = Origin { first, interfaces: &[6, 9] };
        times(word).text(7, Time::from_nanos(STAMP), 1, origin).unwrap_or_default()
    }

    #[test]
    fn every_word_has_its_form() {
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
            assert_eq!(told(word), text, "{word}");
        }
        assert!(TIME_FORMATS.iter().all(|(word, ..)| TimeFormat::parse(word, eastern).is_some()));
        for wrong in ["", ".", "x", "ud.10", "ud.x", "e.-1", "E", "r.+1", "ad.3.4"] {
            assert!(TimeFormat::parse(wrong, eastern).is_none(), "{wrong}");
        }
    }

    #[test]
    fn the_captures_own_precision_is_kept() {
        let origin = Origin { first: Time::from_nanos(0), interfaces: &[6, 9, 0] };
        let mut times = times("r");
        let mut text =
            |interface| times.text(1, Time::from_nanos(-1_234_567_891), interface, origin).unwrap();
        assert_eq!([0, 1, 2, 3].map(&mut text), ["-1.234567", "-1.234567891", "-1", "-1.234567"]);
    }

    #[test]
    fn deltas_go_by_the_frame_before() {
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
    fn the_oldest_frames_are_forgotten() {
        let mut d = times("d");
        for frame in 1..=MAX_BEFORE as u64 + 1 {
            d.note_frame(frame, Time::from_nanos(0), &Ok(()));
        }
        let origin = Origin { first: Time::UNKNOWN, interfaces: &[] };
        assert_eq!(d.text(1, Time::from_nanos(0), 0, origin), None);
        assert!(d.text(2, Time::from_nanos(0), 0, origin).is_some());
    }
}
