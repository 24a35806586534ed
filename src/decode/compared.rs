//! What a finding says about a value: what is there, and what should be. Held without allocation, and written only where
//! somebody reads it.

use std::fmt;
use std::net::SocketAddrV4;

/// Maximum number of bytes of a text from the network in a finding; a longer one ends with `…`.
const MAX_QUOTED: usize = 22;

/// A value in a finding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ComparedValue {
    /// There is nothing to say.
    #[default]
    Nothing,
    /// A number.
    Number(i64),
    /// The bits of a number with a fraction, so that one that is no number equals itself.
    Float(u32),
    /// A number of bytes.
    Bytes(u64),
    /// So many bytes follow, of those that a length has announced.
    Following(u64),
    /// A number of bytes and what it adds up from.
    Sum([u32; 2]),
    /// A number in so many hex digits.
    Hex(u64, u8),
    /// Anything but this number.
    Not(i64),
    /// At most this number.
    AtMost(i64),
    /// At least this number.
    AtLeast(i64),
    /// A time in nanoseconds, shown in seconds.
    Nanos(i64),
    /// An address and a port.
    Address(SocketAddrV4),
    /// Words of this program.
    Words(&'static str),
    /// Text from the network.
    Text(Clip),
}

/// The first bytes of a text from the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Clip {
    bytes: [u8; MAX_QUOTED],
    /// Length of the text; more than [`MAX_QUOTED`] where it is longer.
    len: u8,
}

impl Clip {
    /// The beginning of a text.
    pub fn new(text: &[u8]) -> Clip {
        let mut bytes = [0; MAX_QUOTED];
        bytes.iter_mut().zip(text).for_each(|(to, from)| *to = *from);
        Clip { bytes, len: text.len().min(MAX_QUOTED.saturating_add(1)) as u8 }
    }
}

/// In quotes; what is neither a letter nor a digit nor harmless in every output is written as `\xNN`.
impl fmt::Display for Clip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("'")?;
        for &byte in self.bytes.iter().take(self.len.into()) {
            if byte.is_ascii_alphanumeric() || b" _-.,;/+".contains(&byte) {
                write!(f, "{}", char::from(byte))?;
            } else {
                write!(f, "\\x{byte:02x}")?;
            }
        }
        f.write_str(if usize::from(self.len) > MAX_QUOTED { "…'" } else { "'" })
    }
}

impl ComparedValue {
    /// Whether a number is what is expected. Words and text admit none.
    #[inline(always)]
    pub fn admits(self, found: i64) -> bool {
        match self {
            ComparedValue::Number(n) => found == n,
            ComparedValue::Not(n) => found != n,
            ComparedValue::AtMost(n) => found <= n,
            ComparedValue::AtLeast(n) => found >= n,
            _ => false,
        }
    }

    /// The value, unless there is nothing to say.
    pub fn some(self) -> Option<ComparedValue> {
        Some(self).filter(|value| *value != ComparedValue::Nothing)
    }

    /// A number in hex digits, as the bytes of it are written.
    pub fn byte(value: u8) -> ComparedValue {
        ComparedValue::Hex(value.into(), 2)
    }

    /// The bytes of a short value in hex, in the order in which they were sent; text beyond four of them.
    pub fn raw(bytes: &[u8]) -> ComparedValue {
        match bytes.len() {
            0 => ComparedValue::Nothing,
            n @ 1..=4 => ComparedValue::Hex(
                bytes.iter().fold(0, |value: u64, byte| value << 8 | u64::from(*byte)),
                (n as u8).saturating_mul(2),
            ),
            _ => ComparedValue::from(bytes),
        }
    }
}

impl fmt::Display for ComparedValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = |f: &mut fmt::Formatter<'_>, n: u64| match n {
            1 => f.write_str("1 byte"),
            n => write!(f, "{n} bytes"),
        };
        match *self {
            ComparedValue::Nothing => Ok(()),
            ComparedValue::Number(n) => write!(f, "{n}"),
            ComparedValue::Float(bits) => write!(f, "{}", f32::from_bits(bits)),
            ComparedValue::Bytes(n) => bytes(f, n),
            ComparedValue::Following(n) => write!(f, "{n}"),
            ComparedValue::Sum([a, b]) => {
                bytes(f, u64::from(a).saturating_add(b.into()))?;
                write!(f, " ({a} + {b})")
            }
            ComparedValue::Hex(n, digits) => write!(f, "0x{n:0width$x}", width = usize::from(digits)),
            ComparedValue::Not(n) => write!(f, "not {n}"),
            ComparedValue::AtMost(n) => write!(f, "at most {n}"),
            ComparedValue::AtLeast(n) => write!(f, "at least {n}"),
            ComparedValue::Nanos(n) => write!(f, "{:.3} s", n as f64 / 1e9),
            ComparedValue::Address(address) => write!(f, "{address}"),
            ComparedValue::Words(words) => f.write_str(words),
            ComparedValue::Text(clip) => write!(f, "{clip}"),
        }
    }
}

/// What is there, and what should be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Compared {
    /// What is there.
    pub found: ComparedValue,
    /// What should be there.
    pub expected: ComparedValue,
}

impl Compared {
    /// Nothing was compared.
    pub const NOTHING: Compared =
        Compared { found: ComparedValue::Nothing, expected: ComparedValue::Nothing };

    /// Two values.
    pub fn new(found: impl Into<ComparedValue>, expected: impl Into<ComparedValue>) -> Compared {
        Compared { found: found.into(), expected: expected.into() }
    }
}

/// The end of a message: `: 49, expected at most 38`; empty where nothing was compared.
impl fmt::Display for Compared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.found, self.expected) {
            (ComparedValue::Nothing, ComparedValue::Nothing) => Ok(()),
            (found, ComparedValue::Nothing) => write!(f, ": {found}"),
            (ComparedValue::Nothing, expected) => write!(f, ": expected {expected}"),
            (found, ComparedValue::Following(1)) => write!(f, ": it is {found}, but 1 byte follows"),
            (found, ComparedValue::Following(n)) => write!(f, ": it is {found}, but {n} bytes follow"),
            (found, expected) => write!(f, ": {found}, expected {expected}"),
        }
    }
}

macro_rules! numbers {
    ($($number:ty),*) => { $(impl From<$number> for ComparedValue {
        #[inline(always)]
        fn from(n: $number) -> ComparedValue { ComparedValue::Number(n.into()) }
    })* };
}
numbers!(u8, u16, u32, i32, i64);

impl From<usize> for ComparedValue {
    #[inline(always)]
    fn from(n: usize) -> ComparedValue {
        ComparedValue::Number(i64::try_from(n).unwrap_or(i64::MAX))
    }
}
impl From<f32> for ComparedValue {
    #[inline(always)]
    fn from(n: f32) -> ComparedValue {
        ComparedValue::Float(n.to_bits())
    }
}
impl From<SocketAddrV4> for ComparedValue {
    fn from(address: SocketAddrV4) -> ComparedValue {
        ComparedValue::Address(address)
    }
}
impl From<&'static str> for ComparedValue {
    #[inline(always)]
    fn from(words: &'static str) -> ComparedValue {
        ComparedValue::Words(words)
    }
}
impl From<&[u8]> for ComparedValue {
    fn from(text: &[u8]) -> ComparedValue {
        ComparedValue::Text(Clip::new(text))
    }
}
impl From<super::Str<'_>> for ComparedValue {
    fn from(text: super::Str<'_>) -> ComparedValue {
        ComparedValue::from(text.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_values_end_a_message() {
        let text = |found: ComparedValue, expected: ComparedValue| Compared { found, expected }.to_string();
        assert_eq!(text(9.into(), ComparedValue::AtMost(8)), ": 9, expected at most 8");
        assert_eq!(text(49.into(), ComparedValue::Following(38)), ": it is 49, but 38 bytes follow");
        assert_eq!(
            text(ComparedValue::Hex(0x0a, 8), ComparedValue::Hex(11, 8)),
            ": 0x0000000a, expected 0x0000000b"
        );
        assert_eq!(
            text(ComparedValue::Sum([16, 11]), ComparedValue::Bytes(1)),
            ": 27 bytes (16 + 11), expected 1 byte"
        );
        assert_eq!(text(ComparedValue::Nothing, "a name".into()), ": expected a name");
        assert_eq!(text(ComparedValue::byte(0xe9), ComparedValue::Nothing), ": 0xe9");
        assert_eq!(Compared::NOTHING.to_string(), "");
    }

    #[test]
    fn text_from_the_network_is_short_and_harmless() {
        assert_eq!(ComparedValue::from(&b"sv_host"[..]).to_string(), "'sv_host'");
        let hostile = ComparedValue::from("\u{202e}<b>`|[a](b)\"'".as_bytes()).to_string();
        assert!(!hostile.contains(['<', '`', '|', '[', '(', '"', '\u{202e}']), "{hostile}");
        assert_eq!(ComparedValue::from(&[b'a'; 22][..]).to_string().len(), 24);
        assert_eq!(ComparedValue::from(&[b'a'; 400][..]).to_string(), format!("'{}…'", "a".repeat(22)));
    }

    #[test]
    fn a_number_is_held_to_what_is_expected() {
        assert!(ComparedValue::AtMost(2).admits(2) && !ComparedValue::AtMost(2).admits(3));
        assert!(ComparedValue::Not(0).admits(1) && !ComparedValue::Not(0).admits(0));
        assert!(ComparedValue::AtLeast(1).admits(1) && !ComparedValue::Number(1).admits(2));
        assert_eq!(size_of::<ComparedValue>(), 24);
    }
}
