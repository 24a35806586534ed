//! Formats numbers, addresses and times. The code is written by hand because it runs for every packet.

use crate::net::Endpoint;
use crate::text::digits::{decimal, hex_digits, nine, push, push_u64};
use crate::text::line::Line;
use std::net::IpAddr;
use std::ops::Range;

const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// An octet in decimal, followed by a dot.
#[derive(Clone, Copy)]
struct Octet {
    /// The characters, with the first in the lowest byte.
    text: u64,
    bits: u32,
}

/// The texts of all octets.
static OCTETS: [Octet; 256] = {
    let mut all = [Octet { text: 0, bits: 0 }; 256];
    let mut n = 0;
    while n < 256 {
        let (text, len) = decimal(n as u32);
        let bits = 8 * len as u32;
        all[n] = Octet { text: text | (b'.' as u64) << bits, bits: bits + 8 };
        n += 1;
    }
    all
};

/// Appends `192.0.2.1:7777` or `[2001:db8::1]:7777`. Returns the range of the address in the line.
pub(super) fn push_endpoint(line: &mut Line, e: Endpoint) -> Range<usize> {
    let mut from = line.len();
    let to = match e.octets() {
        Some(octets) => {
            push_v4(line, octets);
            line.len()
        }
        None => {
            line.push(b'[');
            from += 1;
            push_v6(line, e);
            line.push(b']');
            line.len() - 1
        }
    };
    let (text, len) = decimal(e.port().into());
    line.push_first(&(text << 8 | u64::from(b':')).to_le_bytes(), len + 1);
    from..to
}

/// Appends the address without the port: `192.0.2.1`, `2001:db8::1`.
#[cfg(any(test, feature = "tables"))]
pub(crate) fn push_ip(line: &mut Line, e: Endpoint) {
    match e.octets() {
        Some(octets) => push_v4(line, octets),
        None => push_v6(line, e),
    }
}

#[inline]
fn push_v4(line: &mut Line, octets: [u8; 4]) {
    for &[first, second] in octets.as_chunks().0 {
        let (first, second) = (OCTETS[usize::from(first)], OCTETS[usize::from(second)]);
        let text = first.text | second.text << first.bits;
        line.push_first(&text.to_le_bytes(), (first.bits + second.bits) as usize / 8);
    }
    line.pop(); // the last dot
}

/// Appends an IPv6 address (RFC 5952, section 4).
#[inline(never)]
fn push_v6(line: &mut Line, e: Endpoint) {
    let IpAddr::V6(ip) = e.ip() else { return };
    if ip.to_ipv4_mapped().is_some() {
        return push(line, format_args!("{ip}")); // the last 32 bits are written as IPv4
    }
    let (segments, bits) = (ip.segments(), ip.to_bits());
    let gap = longest_gap(&segments);
    let digits = [(bits >> 64) as u64, bits as u64].map(hex_digits);
    let digits = digits.as_flattened().as_chunks().0.iter();
    for (at, (segment, digits)) in segments.into_iter().zip(digits).enumerate() {
        if gap.contains(&at) {
            if at == gap.start {
                line.add(b"::");
            }
            continue;
        }
        let zeros = (segment.leading_zeros() / 4).min(3);
        let (text, len) = (u64::from(u32::from_le_bytes(*digits)) >> (8 * zeros), 4 - zeros as usize);
        match at > 0 && at != gap.end {
            true => line.push_first(&(text << 8 | u64::from(b':')).to_le_bytes(), len + 1),
            false => line.push_first(&text.to_le_bytes(), len),
        }
    }
}

/// The first of the longest runs of zeros; empty if no run has two.
fn longest_gap(segments: &[u16; 8]) -> Range<usize> {
    let (mut longest, mut run) = (0..0, 0..0);
    for (at, segment) in segments.iter().enumerate() {
        run = if *segment == 0 { run.start..at + 1 } else { at + 1..at + 1 };
        if run.len() > longest.len().max(1) {
            longest = run.clone();
        }
    }
    longest
}

/// Appends the key of an exchange: `0x` and at least `digits` hex digits, at most sixteen.
pub(crate) fn push_key(line: &mut Line, key: u64, digits: usize) {
    line.add(b"0x");
    push_hex_digits(line, key, digits);
}

/// Appends at least `digits` hex digits, at most sixteen.
#[inline]
fn push_hex_digits(line: &mut Line, v: u64, digits: usize) {
    let needed = (67 - v.leading_zeros() as usize) / 4;
    let digits = digits.clamp(needed.max(1), 16);
    line.push_first(&hex_digits(v << (64 - 4 * digits)), digits);
}

/// Appends seconds with this number of decimals, at most nine, without rounding. Without decimals, the decimal point is
/// omitted.
pub(super) fn push_decimals(line: &mut Line, nanos: i64, decimals: usize) {
    if nanos < 0 {
        line.push(b'-');
    }
    let nanos = nanos.unsigned_abs();
    push_u64(line, nanos / NANOS_PER_SECOND);
    push_fraction(line, nanos % NANOS_PER_SECOND, decimals);
}

/// Appends a decimal point and the first `decimals` of nine digits; nothing if `decimals` is 0.
pub(super) fn push_fraction(line: &mut Line, nanos: u64, decimals: usize) {
    if decimals > 0 {
        line.push(b'.');
        line.push_first(&nine(nanos as u32).0, decimals);
    }
}

/// Appends a duration in nanoseconds, rounded for people: `3.576 ms`, `12.3 µs`, `1.200 s`.
pub(super) fn push_duration(line: &mut Line, nanos: i64) {
    if nanos < 0 {
        line.push(b'-');
    }
    let n = nanos.unsigned_abs();
    let (step, decimals, unit) = match n {
        0..1_000_000 => (100, 1, " µs"),
        1_000_000..NANOS_PER_SECOND => (1_000, 3, " ms"),
        _ => (1_000_000, 3, " s"),
    };
    // The rounded duration in units of the last decimal.
    let steps = (n + step / 2) / step;
    let scale = 10u64.pow(decimals as u32);
    push_u64(line, steps / scale);
    push_fraction(line, steps % scale * (NANOS_PER_SECOND / scale), decimals);
    line.extend_from_slice(unit.as_bytes());
}

/// Right-aligns the text after `from` in `width` columns. The text is ASCII.
pub(super) fn align_right(line: &mut Line, from: usize, width: usize) {
    let (end, wanted) = (line.len(), from + width);
    if end < wanted {
        pad_right(line, from, width);
        line.copy_within(from..end, from + wanted - end);
        line[from..from + wanted - end].fill(b' ');
    }
}

/// Pads the text after `from` with blanks to `width` columns. The text is ASCII.
pub(super) fn pad_right(line: &mut Line, from: usize, width: usize) {
    while line.len() < from + width {
        line.push(b' ');
    }
}

/// Appends a number in at least `width` columns.
pub(super) fn push_number(line: &mut Line, n: u64, width: usize) {
    let from = line.len();
    push_u64(line, n);
    align_right(line, from, width);
}

/// Appends seconds as a JSON number with as many decimals as necessary, or null.
pub fn push_seconds(out: &mut Line, nanos: Option<i64>) {
    let Some(nanos) = nanos else { return out.add(b"null") };
    let (decimals, wanted) = nine((nanos.unsigned_abs() % NANOS_PER_SECOND) as u32);
    if (0..NANOS_PER_SECOND as i64).contains(&nanos) {
        out.add(b"0.");
    } else {
        push_decimals(out, nanos, 0);
        out.push(b'.');
    }
    out.push_first(&decimals, wanted);
}

/// A duration for people: `3.576 ms`, `12.3 µs`, `1.200 s`.
pub fn duration(nanos: i64) -> String {
    Line::text(|out| push_duration(out, nanos))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(write: impl FnOnce(&mut Line)) -> String {
        Line::text(|line| {
            line.add(b"> ");
            write(line);
        })
    }

    #[test]
    fn durations_are_rounded_and_signed() {
        for (nanos, expected) in [
            (0, "> 0.0 µs"),
            (12_345, "> 12.3 µs"),
            (-999, "> -1.0 µs"),
            (999_960, "> 1000.0 µs"),
            (3_576_400, "> 3.576 ms"),
            (3_576_500, "> 3.577 ms"),
            (999_999_700, "> 1000.000 ms"),
            (1_200_000_000, "> 1.200 s"),
            (i64::MIN, "> -9223372036.855 s"),
        ] {
            assert_eq!(text(|line| push_duration(line, nanos)), expected);
        }
    }

    proptest! {
        #[test]
        fn aligns_numbers_like_the_standard_library(n: u64, width in 0usize..30) {
            prop_assert_eq!(text(|line| push_number(line, n, width)), format!("> {n:>width$}"));
            prop_assert_eq!(text(|line| { push_u64(line, n); pad_right(line, 2, width) }), format!("> {n:<width$}"));
        }

        #[test]
        fn formats_endpoints_like_the_standard_library(ip: [u8; 4], six: [u8; 16], port: u16) {
            for end in [Endpoint::v4(ip, port), Endpoint::v6(six, port)] {
                let ip = end.ip();
                let mut address = 0..0;
                let whole = text(|line| address = push_endpoint(line, end));
                prop_assert_eq!(&whole, &format!("> {end}"));
                prop_assert_eq!(&whole[address], &ip.to_string());
                prop_assert_eq!(text(|line| push_ip(line, end)), format!("> {ip}"));
            }
        }

        #[test]
        fn compresses_zeros_of_addresses_like_the_standard_library(
            segments in prop::array::uniform8(prop_oneof![3 => Just(0u16), 1 => Just(0xffff), 1 => 0u16..0x20, 1 => any::<u16>()]),
        ) {
            let mut six = [0; 16];
            segments.iter().zip(six.chunks_mut(2)).for_each(|(s, two)| two.copy_from_slice(&s.to_be_bytes()));
            let end = Endpoint::v6(six, 7777);
            prop_assert_eq!(text(|line| { push_endpoint(line, end); }), format!("> {end}"));
        }

        #[test]
        fn formats_keys_like_the_standard_library(key: u64, bits in 0u32..64, digits in 0usize..=16) {
            let key = key >> bits;
            prop_assert_eq!(text(|line| push_key(line, key, digits)), format!("> 0x{key:0digits$x}"));
        }

        #[test]
        fn truncates_decimals(nanos: i64, decimals in 0usize..=9) {
            let (sign, n) = (if nanos < 0 { "-" } else { "" }, nanos.unsigned_abs());
            let all = format!("> {sign}{}.{:09}", n / NANOS_PER_SECOND, n % NANOS_PER_SECOND);
            let cut = all.len() - if decimals == 0 { 10 } else { 9 - decimals };
            prop_assert_eq!(text(|line| push_decimals(line, nanos, decimals)), &all[..cut]);
        }
    }

    #[test]
    fn seconds_have_no_more_decimals_than_needed() {
        for (nanos, text) in [
            (3_576_000, "0.003576"),
            (-1_500_000_000, "-1.5"),
            (0, "0.0"),
            (2_000_000_000, "2.0"),
            (1, "0.000000001"),
            (-1_020_304_050, "-1.02030405"),
            (999_999_999, "0.999999999"),
            (100_000_000, "0.1"),
            (10_000_000, "0.01"),
        ] {
            assert_eq!(Line::text(|out| push_seconds(out, Some(nanos))), text);
        }
    }
}
