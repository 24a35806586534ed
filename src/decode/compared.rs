//! What a finding says about a value: what is there, and what should be. Held without allocation, and written only where
//! somebody reads it.

use std::fmt;
use std::net::SocketAddrV4;

/// Maximum number of bytes of a text from the network in a finding; a longer one ends with `…`.
const MAX_QUOTED: usize = 22;

/// A value in a finding.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Told {
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
#[derive(Clone, Copy, Debug, PartialEq)]
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

impl Told {
    /// Whether a number is what is expected. Words and text admit none.
    #[inline(always)]
    pub fn admits(self, found: i64) -> bool {
        match self {
            Told::Number(n) => found == n,
            Told::Not(n) => found != n,
            Told::AtMost(n) => found <= n,
            Told::AtLeast(n) => found >= n,
            _ => false,
        }
    }

    /// The value, unless there is nothing to say.
    pub fn some(self) -> Option<Told> {
        Some(self).filter(|told| *told != Told::Nothing)
    }

    /// A number in hex digits, as the bytes of it are written.
    pub fn byte(value: u8) -> Told {
        Told::Hex(value.into(), 2)
    }

    /// The bytes of a short value in hex, in the order in which they were sent; text beyond four of them.
    pub fn raw(bytes: &[u8]) -> Told {
        match bytes.len() {
            0 => Told::Nothing,
            n @ 1..=4 => Told::Hex(
                bytes.iter().fold(0, |value: u64, byte| value << 8 | u64::from(*byte)),
                (n as u8).saturating_mul(2),
            ),
            _ => Told::from(bytes),
        }
    }
}

impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = |f: &mut fmt::Formatter<'_>, n: u64| match n {
            1 => f.write_str("1 byte"),
            n => write!(f, "{n} bytes"),
        };
        match *self {
            Told::Nothing => Ok(()),
            Told::Number(n) => write!(f, "{n}"),
            Told::Float(bits) => write!(f, "{}", f32::from_bits(bits)),
            Told::Bytes(n) => bytes(f, n),
            Told::Following(n) => write!(f, "{n}"),
            Told::Sum([a, b]) => {
                bytes(f, u64::from(a).saturating_add(b.into()))?;
                write!(f, " ({a} + {b})")
            }
            Told::Hex(n, digits) => write!(f, "0x{n:0width$x}", width = usize::from(digits)),
            Told::Not(n) => write!(f, "not {n}"),
            Told::AtMost(n) => write!(f, "at most {n}"),
            Told::AtLeast(n) => write!(f, "at least {n}"),
            Told::Nanos(n) => write!(f, "{:.3} s", seconds(n)),
            Told::Address(address) => write!(f, "{address}"),
            Told::Words(words) => f.write_str(words),
            Told::Text(clip) => write!(f, "{clip}"),
        }
    }
}

fn seconds(nanos: i64) -> f64 {
    nanos as f64 / 1e9
}

/// What is there, and what should be.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Compared {
    /// What is there.
    pub found: Told,
    /// What should be there.
    pub expected: Told,
}

impl Compared {
    /// Nothing was compared.
    pub const NOTHING: Compared = Compared { found: Told::Nothing, expected: Told::Nothing };

    /// Two values.
    pub fn new(found: impl Into<Told>, expected: impl Into<Told>) -> Compared {
        Compared { found: found.into(), expected: expected.into() }
    }
}

/// The end of a message: `: 49, expected at most 38`; empty where nothing was compared.
impl fmt::Display for Compared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.found, self.expected) {
            (Told::Nothing, Told::Nothing) => Ok(()),
            (found, Told::Nothing) => write!(f, ": {found}"),
            (Told::Nothing, expected) => write!(f, ": expected {expected}"),
            (found, Told::Following(1)) => write!(f, ": it is {found}, but 1 byte follows"),
            (found, Told::Following(n)) => write!(f, ": it is {found}, but {n} bytes follow"),
            (found, expected) => write!(f, ": {found}, expected {expected}"),
        }
    }
}

macro_rules! numbers {
    ($($number:ty),*) => { $(impl From<$number> for Told {
        #[inline(always)]
        fn from(n: $number) -> Told { Told::Number(n.into()) }
    })* };
}
numbers!(u8, u16, u32, i32, i64);

impl From<usize> for Told {
    #[inline(always)]
    fn from(n: usize) -> Told {
        Told::Number(i64::try_from(n).unwrap_or(i64::MAX))
    }
}
impl From<f32> for Told {
    #[inline(always)]
    fn from(n: f32) -> Told {
        Told::Float(n.to_bits())
    }
}
impl From<SocketAddrV4> for Told {
    fn from(address: SocketAddrV4) -> Told {
        Told::Address(address)
    }
}
impl From<&'static str> for Told {
    #[inline(always)]
    fn from(words: &'static str) -> Told {
        Told::Words(words)
    }
}
impl From<&[u8]> for Told {
    fn from(text: &[u8]) -> Told {
        Told::Text(Clip::new(text))
    }
}
impl From<super::Str<'_>> for Told {
    fn from(text: super::Str<'_>) -> Told {
        Told::from(text.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_values_end_a_message() {
        let text = |found: Told, expected: Told| Compared { found, expected }.to_string();
        assert_eq!(text(9.into(), Told::AtMost(8)), ": 9, expected at most 8");
        assert_eq!(text(49.into(), Told::Following(38)), ": it is 49, but 38 bytes follow");
        assert_eq!(text(Told::Hex(0x0a, 8), Told::Hex(11, 8)), ": 0x0000000a, expected 0x0000000b");
        assert_eq!(text(Told::Sum([16, 11]), Told::Bytes(1)), ": 27 bytes (16 + 11), expected 1 byte");
        assert_eq!(text(Told::Nothing, "a name".into()), ": expected a name");
        assert_eq!(text(Told::byte(0xe9), Told::Nothing), ": 0xe9");
        assert_eq!(Compared::NOTHING.to_string(), "");
    }

    #[test]
    fn text_from_the_network_is_short_and_harmless() {
        assert_eq!(Told::from(&b"sv_host"[..]).to_string(), "'sv_host'");
        let hostile = Told::from("\u{202e}<b>`|[a](b)\"'".as_bytes()).to_string();
        assert!(!hostile.contains(['<', '`', '|', '[', '(', '"', '\u{202e}']), "{hostile}");
        assert_eq!(Told::from(&[b'a'; 22][..]).to_string().len(), 24);
        assert_eq!(Told::from(&[b'a'; 400][..]).to_string(), format!("'{}…'", "a".repeat(22)));
    }

    #[test]
    fn a_number_is_held_to_what_is_expected() {
        assert!(Told::AtMost(2).admits(2) && !Told::AtMost(2).admits(3));
        assert!(Told::Not(0).admits(1) && !Told::Not(0).admits(0));
        assert!(Told::AtLeast(1).admits(1) && !Told::Number(1).admits(2));
        assert_eq!(size_of::<Told>(), 24);
    }
}
