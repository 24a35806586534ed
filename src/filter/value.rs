//! Values of packets, values of expressions, and their comparison.

use crate::check::within;
use regex::bytes::Regex;
use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;
use std::net::IpAddr;
use std::ops::Range;

/// A value of a packet.
#[derive(Clone, Debug)]
pub(super) enum Datum<'a> {
    /// A group, list or layer without a value of its own.
    Present,
    /// A password that must not be shown. It exists, but cannot be compared.
    Hidden,
    Int(i128),
    Float(f32),
    Bool(bool),
    /// Text as sent: UTF-8, possibly damaged.
    Text(Cow<'a, [u8]>),
    Bytes(Cow<'a, [u8]>),
    Named(u32, Option<&'static str>),
    Ip(IpAddr),
    Nanos(i64),
    /// Position in a list of words.
    Rank(u8),
    /// A finding's rule.
    Finding(&'static str),
}

/// A number of an expression.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Number {
    /// The value, if it is a whole number.
    pub int: Option<i128>,
    /// Nearest double.
    pub float: f64,
    /// The value in billionths.
    pub nanos: i128,
}

/// A value of an expression.
#[derive(Clone, Debug)]
pub(super) enum Constant {
    Number(Number),
    Bool(bool),
    /// Text, or bytes.
    Bytes(Vec<u8>),
    /// An address and a mask. It matches addresses that are equal in the bits of the mask; IPv4 uses the lowest 32
    /// bits.
    Network(IpAddr, u128),
    Rank(u8),
    /// Prefix of a rule's identifier.
    Group(String),
    Pattern(Regex),
}

impl Constant {
    /// Whether this value is greater than another value of the expression.
    pub fn is_above(&self, other: &Constant) -> bool {
        match (self, other) {
            (Constant::Number(a), Constant::Number(b)) => a.nanos > b.nanos,
            (Constant::Bytes(a), Constant::Bytes(b)) => a > b,
            (Constant::Network(a, _), Constant::Network(b, _)) => a > b,
            (Constant::Rank(a), Constant::Rank(b)) => a > b,
            _ => false,
        }
    }
}

impl Datum<'_> {
    /// Compares with a value of the expression; `None` where the two have no order.
    pub fn compare(&self, constant: &Constant) -> Option<Ordering> {
        match (self, constant) {
            (Datum::Int(_) | Datum::Named(..) | Datum::Bool(_), Constant::Number(n)) => {
                compare_int(self.int()?, n)
            }
            // Round the number to 32 bits, the precision of the field's values.
            (Datum::Float(v), Constant::Number(n)) => v.partial_cmp(&(n.float as f32)),
            (Datum::Nanos(v), Constant::Number(n)) => Some(i128::from(*v).cmp(&n.nanos)),
            // Each message announces the type of such a field: one may send as text what another sends as a number.
            (Datum::Text(v), Constant::Number(n)) => match str::from_utf8(v).ok()?.parse() {
                Ok(v) => compare_int(v, n),
                Err(_) => str::from_utf8(v).ok()?.parse::<f64>().ok()?.partial_cmp(&n.float),
            },
            (Datum::Int(v), Constant::Bytes(c)) => Some(v.cmp(&str::from_utf8(c).ok()?.parse().ok()?)),
            (Datum::Bool(v), Constant::Bool(c)) => Some(v.cmp(c)),
            (Datum::Int(v), Constant::Bool(c)) => Some(v.cmp(&i128::from(*c))),
            (Datum::Text(v) | Datum::Bytes(v), Constant::Bytes(c)) => Some(v.as_ref().cmp(c.as_slice())),
            (Datum::Named(_, Some(name)), Constant::Bytes(c)) => Some(name.as_bytes().cmp(c)),
            (Datum::Ip(v), Constant::Network(ip, mask)) => Some((bits(*v) & mask).cmp(&(bits(*ip) & mask))),
            (Datum::Rank(v), Constant::Rank(c)) => Some(v.cmp(c)),
            (Datum::Finding(rule), Constant::Group(group)) => {
                Some(if within(rule, group) { Ordering::Equal } else { Ordering::Less })
            }
            _ => None,
        }
    }

    /// Compares with another value of the packet.
    pub fn compare_with(&self, other: &Datum<'_>) -> Option<Ordering> {
        match (self, other) {
            (Datum::Float(a), Datum::Float(b)) => a.partial_cmp(b),
            (Datum::Ip(a), Datum::Ip(b)) => Some(a.cmp(b)),
            (Datum::Nanos(a), Datum::Nanos(b)) => Some(a.cmp(b)),
            (Datum::Rank(a), Datum::Rank(b)) => Some(a.cmp(b)),
            _ => match (self.int(), other.int()) {
                (Some(a), Some(b)) => Some(a.cmp(&b)),
                (Some(a), None) => other.float().and_then(|b| (a as f64).partial_cmp(&b)),
                (None, Some(b)) => self.float().and_then(|a| a.partial_cmp(&(b as f64))),
                (None, None) => None,
            }
            .or_else(|| Some(self.text()?.cmp(other.text()?))),
        }
    }

    fn int(&self) -> Option<i128> {
        match self {
            Datum::Int(v) => Some(*v),
            Datum::Bool(v) => Some(i128::from(*v)),
            Datum::Named(v, _) => Some(i128::from(*v)),
            _ => None,
        }
    }

    fn float(&self) -> Option<f64> {
        match self {
            Datum::Float(v) => Some(f64::from(*v)),
            _ => None,
        }
    }

    /// The bytes of a text or of raw bytes.
    pub fn text(&self) -> Option<&[u8]> {
        match self {
            Datum::Text(v) | Datum::Bytes(v) => Some(v),
            Datum::Named(_, name) => name.map(str::as_bytes),
            Datum::Finding(rule) => Some(rule.as_bytes()),
            _ => None,
        }
    }

    /// The bytes that slices and `len` apply to. Addresses have bytes, too.
    pub fn bytes(&self) -> Option<Cow<'_, [u8]>> {
        match self {
            Datum::Ip(IpAddr::V4(ip)) => Some(Cow::Owned(ip.octets().to_vec())),
            Datum::Ip(IpAddr::V6(ip)) => Some(Cow::Owned(ip.octets().to_vec())),
            other => other.text().map(Cow::Borrowed),
        }
    }

    /// The value as text, for `string`.
    pub fn string(&self, words: &[&str]) -> Option<String> {
        Some(match self {
            Datum::Int(v) => v.to_string(),
            Datum::Float(v) => format!("{v:?}"),
            Datum::Bool(v) => v.to_string(),
            Datum::Ip(ip) => ip.to_string(),
            Datum::Nanos(v) => {
                let (sign, v) = (if *v < 0 { "-" } else { "" }, v.unsigned_abs());
                format!("{sign}{}.{:09}", v / 1_000_000_000, v % 1_000_000_000)
            }
            Datum::Rank(at) => (*words.get(usize::from(*at))?).to_owned(),
            Datum::Named(v, name) => name.map_or_else(|| v.to_string(), str::to_owned),
            Datum::Bytes(mac) if mac.len() == 6 => {
                mac.iter().map(|b| format!("{b:02x}")).collect::<Vec<_>>().join(":")
            }
            Datum::Text(v) => String::from_utf8_lossy(v).into_owned(),
            Datum::Bytes(_) | Datum::Present | Datum::Hidden | Datum::Finding(_) => return None,
        })
    }
}

/// The bits of an address as a number.
fn bits(ip: IpAddr) -> u128 {
    match ip {
        IpAddr::V4(ip) => ip.to_bits().into(),
        IpAddr::V6(ip) => ip.to_bits(),
    }
}

fn compare_int(v: i128, number: &Number) -> Option<Ordering> {
    match number.int {
        Some(int) => Some(v.cmp(&int)),
        None => (v as f64).partial_cmp(&number.float),
    }
}

/// Whether `whole` contains `part`. Everything contains an empty part.
pub(super) fn contains(whole: &[u8], part: &[u8]) -> bool {
    memchr::memmem::find(whole, part).is_some()
}

/// A range of bytes; negative offsets count from the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cut {
    /// First byte.
    pub from: i32,
    /// End of the range.
    pub until: Until,
}

/// The end of a [`Cut`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Until {
    /// After this number of bytes.
    Length(i32),
    /// After the byte at this offset.
    Through(i32),
    /// At the end of the field.
    End,
}

impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.until {
            Until::Length(length) => write!(f, "{}:{length}", self.from),
            Until::Through(last) => write!(f, "{}-{last}", self.from),
            Until::End => write!(f, "{}:", self.from),
        }
    }
}

/// The bytes of a slice. A range that begins or ends outside the value gives no bytes.
pub(super) fn cut(bytes: &[u8], cuts: &[Cut]) -> Vec<u8> {
    let parts = cuts.iter().filter_map(|cut| bytes.get(range(*cut, bytes.len())?));
    parts.flatten().copied().collect()
}

fn range(cut: Cut, len: usize) -> Option<Range<usize>> {
    let from_end = |at: i32| match usize::try_from(at) {
        Ok(at) => Some(at),
        Err(_) => len.checked_sub(usize::try_from(at.unsigned_abs()).ok()?),
    };
    let start = from_end(cut.from)?;
    let end = match cut.until {
        Until::Length(length) => start.checked_add(usize::try_from(length).ok()?)?,
        Until::Through(last) => from_end(last)?.checked_add(1)?,
        Until::End => len,
    };
    (start <= end && end <= len).then_some(start..end)
}

#[cfg(test)]
#[allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::arithmetic_side_effects)]
mod tests {
    use super::*;

    #[test]
    fn slices_count_from_both_ends_and_never_leave_the_field() {
        let cut = |from, until| cut(b"abcdef", &[Cut { from, until }]);
        assert_eq!(cut(2, Until::Length(3)), b"cde");
        assert_eq!(cut(2, Until::Through(3)), b"cd");
        assert_eq!(cut(4, Until::End), b"ef");
        assert_eq!(cut(-2, Until::End), b"ef");
        assert_eq!(cut(-3, Until::Length(1)), b"d");
        assert_eq!(cut(1, Until::Through(-2)), b"bcde");
        assert_eq!(cut(6, Until::End), b"");
        for (from, until) in [
            (4, Until::Length(3)),
            (7, Until::End),
            (-7, Until::End),
            (0, Until::Through(6)),
            (3, Until::Through(-4)),
            (i32::MIN, Until::Through(i32::MIN)),
            (i32::MAX, Until::Length(i32::MAX)),
        ] {
            assert_eq!(cut(from, until), b"", "{from} {until:?}");
        }
    }

    #[test]
    fn values_compare_according_to_their_types() {
        let number = |int: Option<i128>, float: f64| Number { int, float, nanos: (float * 1e9) as i128 };
        let is = |datum: Datum<'_>, constant: Constant| datum.compare(&constant);
        assert_eq!(is(Datum::Float(0.1), Constant::Number(number(None, 0.1))), Some(Ordering::Equal));
        assert_eq!(is(Datum::Float(f32::NAN), Constant::Number(number(Some(0), 0.0))), None);
        assert_eq!(is(Datum::Int(3), Constant::Number(number(None, 2.5))), Some(Ordering::Greater));
        assert_eq!(
            is(Datum::Nanos(3_576_000), Constant::Number(number(None, 0.003576))),
            Some(Ordering::Equal)
        );
        assert_eq!(is(Datum::Hidden, Constant::Bytes(vec![])), None, "nobody guesses a password");
        assert_eq!(Datum::Int(3).compare_with(&Datum::Float(2.5)), Some(Ordering::Greater));
        assert_eq!(Datum::Float(2.5).compare_with(&Datum::Int(3)), Some(Ordering::Less));
        assert_eq!(
            Datum::Named(2, Some("idle")).compare_with(&Datum::Text(Cow::Borrowed(b"idle"))),
            Some(Ordering::Equal)
        );
        assert_eq!(Datum::Named(2, None).compare_with(&Datum::Int(2)), Some(Ordering::Equal));
    }
}
