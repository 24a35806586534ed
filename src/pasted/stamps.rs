//! Time stamps before bytes.
//!
//! ```text
//!  2026-11-20T10:32:02.380Z    2026-11-20 10:32:02,380    10:32:02.614506    1795170722.614506
//! ```

use crate::capture::Time;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

/// A time stamp at the beginning of a text, perhaps in brackets, and how long it is.
pub fn time(text: &str) -> Option<(Time, usize)> {
    let open = text.strip_prefix(['[', '(']);
    let body = open.unwrap_or(text);
    let (time, len) = date_and_time(body).or_else(|| epoch(body))?;
    let rest = body.get(len..)?;
    match (open, rest.chars().next()) {
        (Some(_), Some(']' | ')')) => Some((time, len.saturating_add(2))),
        (None, None) => Some((time, len)),
        (None, Some(c)) if c.is_whitespace() => Some((time, len)),
        _ => None,
    }
}

/// A number of so many digits at the beginning of a text, and what follows.
fn number(text: &str, digits: usize) -> Option<(i64, &str)> {
    let (number, rest) = text.split_at_checked(digits)?;
    let all = number.bytes().all(|b| b.is_ascii_digit());
    all.then(|| number.parse().ok()).flatten().map(|n| (n, rest))
}

/// Digits behind a point or comma as nanoseconds, and what follows.
fn fraction(text: &str) -> (i64, &str) {
    let Some(digits) = text.strip_prefix(['.', ',']) else { return (0, text) };
    let len = digits.bytes().take_while(u8::is_ascii_digit).count();
    let (number, rest) = digits.split_at(len);
    if len == 0 {
        return (0, text);
    }
    let nine: String = number.chars().chain("000000000".chars()).take(9).collect();
    (nine.parse().unwrap_or(0), rest)
}

/// `2026-11-20 10:32:02.38`, with `T` and a zone perhaps, or the time of day alone.
fn date_and_time(text: &str) -> Option<(Time, usize)> {
    let date = || {
        let (year, rest) = number(text, 4)?;
        let (month, rest) = number(rest.strip_prefix(['-', '/'])?, 2)?;
        let (day, rest) = number(rest.strip_prefix(['-', '/'])?, 2)?;
        Some(((year, month, day), rest.strip_prefix(['T', ' '])?))
    };
    let (day, rest) = date().unwrap_or(((1970, 1, 1), text));
    let (hour, rest) = number(rest, 2)?;
    let (minute, rest) = number(rest.strip_prefix(':')?, 2)?;
    let (second, rest) = number(rest.strip_prefix(':')?, 2)?;
    let (nanos, rest) = fraction(rest);
    let (zone, rest) = zone(rest);
    let short = |n: i64| i8::try_from(n).ok();
    let nanos = i32::try_from(nanos).ok()?;
    let year = i16::try_from(day.0).ok()?;
    let at = DateTime::new(
        year,
        short(day.1)?,
        short(day.2)?,
        short(hour)?,
        short(minute)?,
        short(second)?,
        nanos,
    );
    let stamp = TimeZone::UTC.to_timestamp(at.ok()?).ok()?;
    let nanos = stamp.as_nanosecond().saturating_sub(i128::from(zone).saturating_mul(1_000_000_000));
    Some((Time::from_wide(nanos), text.len().saturating_sub(rest.len())))
}

/// Seconds that a zone is ahead of UTC, and what follows it.
fn zone(text: &str) -> (i64, &str) {
    if let Some(rest) = text.strip_prefix('Z') {
        return (0, rest);
    }
    let ahead = || {
        let sign = if text.starts_with('-') { -1 } else { 1 };
        let (hours, rest) = number(text.strip_prefix(['+', '-'])?, 2)?;
        let (minutes, rest) = number(rest.strip_prefix(':').unwrap_or(rest), 2)?;
        let seconds = hours.checked_mul(3600)?.checked_add(minutes.checked_mul(60)?)?;
        Some((seconds.checked_mul(sign)?, rest))
    };
    ahead().unwrap_or((0, text))
}

/// `1763634720.614506`: seconds since 1970, with a fraction.
fn epoch(text: &str) -> Option<(Time, usize)> {
    let (seconds, rest) = number(text, 10)?;
    let (nanos, after) = fraction(rest);
    if after.len() == rest.len() {
        return None;
    }
    let nanos = seconds.checked_mul(1_000_000_000)?.checked_add(nanos)?;
    Some((Time::from_nanos(nanos), text.len().saturating_sub(after.len())))
}

#[cfg(test)]
#[allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::arithmetic_side_effects)]
mod tests {
    use super::*;

    #[test]
    fn time_stamps_of_all_kinds() {
        let nanos = |text: &str| time(text).and_then(|(t, len)| Some((t.nanos()?, len)));
        let at = 1_795_170_722_380_000_000;
        for text in [
            "2026-11-20T10:32:02.380Z",
            "2026-11-20 10:32:02.380",
            "[2026-11-20 10:32:02,380]",
            "2026-11-20T11:32:02.380+01:00",
            "1795170722.380",
        ] {
            assert_eq!(nanos(text), Some((at, text.len())), "{text}");
        }
        assert_eq!(nanos("10:32:02"), Some((37_922_000_000_000, 8)));
        for text in ["10:32:02:01", "2026-13-40 10:32:02", "99:99:99", "d5:f6:00", "1795170722", "\u{e9}"] {
            assert_eq!(nanos(text), None, "{text}");
        }
    }
}
