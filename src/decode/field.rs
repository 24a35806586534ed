//! Fields: they are declared once; decoders, listeners and filters refer to the declaration.

use super::key::{Key, key};
use super::labels::Labels;
use super::{Colours, Escapes, Fact, Str, utf16};
use std::borrow::Cow;
use std::net::{Ipv6Addr, SocketAddr, SocketAddrV4};

/// Half-open byte range inside one UDP payload (at most 65,535 bytes, so `u16` is enough).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// First byte.
    pub start: u16,
    /// One past the last byte.
    pub end: u16,
}

impl Span {
    /// The bytes of the span; empty where `payload` does not have them all.
    pub fn of(self, payload: &[u8]) -> &[u8] {
        payload.get(self.start as usize..self.end as usize).unwrap_or_default()
    }
}

/// A declared field, with all that help, documentation, filters and records need.
#[derive(Debug)]
pub struct Field {
    /// Path from the message, in the words of the specification: `server_info.port`. `[]` stands for the index in a
    /// list: `sub_states[].version`.
    pub name: &'static str,
    /// Last part of the path, without `[]`: the key in JSON.
    pub key: &'static str,
    /// Type of its values.
    pub kind: FieldKind,
    /// Its meaning.
    pub about: &'static str,
    /// Names of its values, for people; records contain only the number.
    pub labels: Labels,
    /// The fact about the server that it states.
    pub fact: Option<Fact>,
    /// Its values belong to one request or one moment, as tokens, cookies, round trips and the time of play do: two answers of
    /// the same server differ in them.
    pub volatile: bool,
    /// Its values are words of the protocol, names of its variables, or versions: they say nothing of people and hosts, and stay
    /// when a capture is anonymised.
    pub public: bool,
    /// Its values are names of people, or what they say of themselves, or passwords: they never stay when a capture is anonymised. A
    /// server's name is known by its fact.
    pub personal: bool,
    /// Its values are numbers that mean nothing but are sent back, as tokens and cookies, or that identify a server. When a capture is
    /// anonymised, equal ones stay equal.
    pub token: bool,
    /// The key as it is written in a JSON object.
    pub(super) json: Key,
}

impl Field {
    /// A field without names for its values.
    pub(crate) const fn new(name: &'static str, kind: FieldKind, about: &'static str) -> Field {
        let key = key(name);
        Field {
            name,
            key,
            kind,
            about,
            labels: Labels::None,
            fact: None,
            volatile: false,
            public: false,
            personal: false,
            token: false,
            json: Key::new(key),
        }
    }

    /// The same field, which states this fact about the server.
    pub(crate) const fn with_fact(mut self, fact: Fact) -> Field {
        self.fact = Some(fact);
        self
    }

    /// The same field, whose values belong to one request or one moment.
    pub(crate) const fn volatile(mut self) -> Field {
        self.volatile = true;
        self
    }

    /// The same field, whose values say nothing of people and hosts.
    pub(crate) const fn public(mut self) -> Field {
        self.public = true;
        self
    }

    /// The same field, whose values never stay.
    pub(crate) const fn personal(mut self) -> Field {
        self.personal = true;
        self
    }

    /// The same field, whose values are only compared.
    pub(crate) const fn token(mut self) -> Field {
        self.token = true;
        self
    }
}

impl PartialEq for Field {
    fn eq(&self, other: &Field) -> bool {
        std::ptr::eq(self, other)
    }
}

/// Type of a field's values, and so its form in JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldKind {
    /// Unsigned integer of at most 32 bits: a number.
    Uint,
    /// Unsigned integer of 64 bits: a decimal string, because a double cannot hold it.
    Uint64,
    /// Signed integer of at most 32 bits: a number.
    Int,
    /// Signed integer of 64 bits: a decimal string, because a double cannot hold it.
    Int64,
    /// Yes or no: a boolean.
    Bool,
    /// 32-bit float: a number, or "NaN", "Infinity", "-Infinity".
    Float32,
    /// Text: a string.
    Text,
    /// An integer shown by its name: a string, or the number where it has no name.
    Named,
    /// Names of the bits that are set: a list of strings.
    Names,
    /// Raw bytes: a string of hex digits.
    Bytes,
    /// A type that the message itself announces.
    Dynamic,
    /// Fields with a common name: an object.
    Group,
    /// Repeated elements: a list.
    List,
}

/// A field's value, borrowed from the payload.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// At most 32 bits, unsigned.
    Uint(u32),
    /// 64 bits, unsigned.
    Uint64(u64),
    /// At most 32 bits, signed.
    Int(i32),
    /// 64 bits, signed.
    Int64(i64),
    /// Yes or no.
    Bool(bool),
    /// 32-bit float.
    Float32(f32),
    /// Text that claims to be UTF-8.
    Text(&'a [u8]),
    /// Text in UTF-16, little-endian.
    Utf16(&'a [u8]),
    /// Text with one byte per character.
    Latin1(&'a [u8]),
    /// Text in UTF-8 or with one byte per character, without its colour marks.
    Coloured(&'a [u8], Colours),
    /// Text in UTF-8 with escapes, and without its colour marks where it has such.
    Escaped(&'a [u8], Escapes, Option<Colours>),
    /// Text that claims to be UTF-8, a blank, and a number: `official 146`.
    Numbered(&'a [u8], i32),
    /// A version of three bytes: `1.3.4`.
    Dotted([u8; 3]),
    /// Two numbers with a character between them, as text: `1.41`.
    Pair([u16; 2], char),
    /// Address and port, as text.
    Address(SocketAddrV4),
    /// Address of IPv6, or of IPv4 mapped into it, and a port, big-endian, as text.
    MappedAddress([u8; 18]),
    /// An integer that has names; `None` where this value has none.
    Named(u32, Option<&'static str>),
    /// The names of the bits set in a value, lowest bit first.
    Names(&'static [&'static str], u32),
    /// Raw bytes.
    Bytes(&'a [u8]),
    /// A value of that kind that must not be shown: a password.
    Secret(FieldKind),
}

// Facts about a server hold several values, and are moved for every datagram.
const _: () = assert!(size_of::<Value<'_>>() <= 24);

/// Text shown instead of a secret. It does not reveal the secret's length.
pub const SECRET: &str = "********";

impl<'a> Value<'a> {
    /// The text of a textual value; `None` for any other value. Invalid sequences become U+FFFD.
    pub fn text(self) -> Option<Cow<'a, str>> {
        Some(match self {
            Value::Text(bytes) => Str(bytes).to_text(),
            Value::Utf16(bytes) => utf16(bytes).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect(),
            Value::Latin1(bytes) => bytes.iter().map(|&b| b as char).collect(),
            Value::Coloured(bytes, colours) => {
                let latin1 = || colours.strip(bytes.iter().map(|&b| b as char)).collect();
                std::str::from_utf8(bytes).map_or_else(|_| latin1(), |t| colours.strip(t.chars()).collect())
            }
            Value::Escaped(bytes, escapes, colours) => {
                let bytes = escapes.unescape(bytes);
                let text = Str(&bytes).to_text();
                match colours {
                    Some(colours) => colours.strip(text.chars()).collect(),
                    None => text.into_owned().into(),
                }
            }
            Value::Numbered(bytes, number) => format!("{} {number}", Str(bytes).to_text()).into(),
            Value::Dotted([major, minor, patch]) => format!("{major}.{minor}.{patch}").into(),
            Value::Pair([first, second], between) => format!("{first}{between}{second}").into(),
            Value::Address(address) => address.to_string().into(),
            Value::MappedAddress(bytes) => socket(bytes).to_string().into(),
            _ => return None,
        })
    }

    /// The address and port that it is.
    pub fn socket(self) -> Option<SocketAddr> {
        match self {
            Value::Address(address) => Some(address.into()),
            Value::MappedAddress(bytes) => Some(socket(bytes)),
            _ => None,
        }
    }

    /// The kind of field that this value belongs to.
    pub fn kind(&self) -> FieldKind {
        match self {
            Value::Uint(_) => FieldKind::Uint,
            Value::Uint64(_) => FieldKind::Uint64,
            Value::Int(_) => FieldKind::Int,
            Value::Int64(_) => FieldKind::Int64,
            Value::Bool(_) => FieldKind::Bool,
            Value::Float32(_) => FieldKind::Float32,
            Value::Text(_) | Value::Utf16(_) | Value::Latin1(_) | Value::Coloured(..) => FieldKind::Text,
            Value::Escaped(..) | Value::Numbered(..) | Value::Dotted(_) | Value::Pair(..) => FieldKind::Text,
            Value::Address(_) | Value::MappedAddress(_) => FieldKind::Text,
            Value::Named(..) => FieldKind::Named,
            Value::Names(..) => FieldKind::Names,
            Value::Bytes(_) => FieldKind::Bytes,
            Value::Secret(kind) => *kind,
        }
    }
}

/// The address and the port in 18 bytes, those of IPv4 as such.
fn socket(bytes: [u8; 18]) -> SocketAddr {
    let [address @ .., high, low] = bytes;
    SocketAddr::new(Ipv6Addr::from(address).to_canonical(), u16::from_be_bytes([high, low]))
}

impl From<u8> for Value<'_> {
    #[inline(always)]
    fn from(v: u8) -> Self {
        Value::Uint(v as u32)
    }
}
impl From<u16> for Value<'_> {
    #[inline(always)]
    fn from(v: u16) -> Self {
        Value::Uint(v as u32)
    }
}
impl From<u32> for Value<'_> {
    #[inline(always)]
    fn from(v: u32) -> Self {
        Value::Uint(v)
    }
}
impl From<u64> for Value<'_> {
    #[inline(always)]
    fn from(v: u64) -> Self {
        Value::Uint64(v)
    }
}
impl From<i32> for Value<'_> {
    #[inline(always)]
    fn from(v: i32) -> Self {
        Value::Int(v)
    }
}
impl From<i64> for Value<'_> {
    #[inline(always)]
    fn from(v: i64) -> Self {
        Value::Int64(v)
    }
}
impl From<f32> for Value<'_> {
    #[inline(always)]
    fn from(v: f32) -> Self {
        Value::Float32(v)
    }
}
impl<'a> From<Str<'a>> for Value<'a> {
    #[inline(always)]
    fn from(v: Str<'a>) -> Self {
        Value::Text(v.0)
    }
}
impl From<bool> for Value<'_> {
    #[inline(always)]
    fn from(v: bool) -> Self {
        Value::Bool(v)
    }
}
impl<'a> From<&'a [u8]> for Value<'a> {
    #[inline(always)]
    fn from(v: &'a [u8]) -> Self {
        Value::Bytes(v)
    }
}

/// Indices in the lists on the way to a field, the outermost first.
pub type Index = [u16; 3];

/// The field's path with its indices filled in: `player_info.records[3][0]`.
pub fn path(field: &Field, index: Index) -> String {
    let mut out = String::with_capacity(field.name.len().saturating_add(8));
    let mut index = index.iter();
    for (i, part) in field.name.split("[]").enumerate() {
        if i > 0 {
            let n = index.next().copied().unwrap_or_default();
            out.push_str(&format!("[{n}]"));
        }
        out.push_str(part);
    }
    out
}

/// Declares fields and, from the same text, their list: `FIELDS`, or the name given by `list NAME;` where a file has
/// several lists. After the kind, a declaration may have marks, such as `volatile`, `public`, `personal` and `token`, the names of the field's values, and the fact
/// that it states about the server. Help and `docs/fields.md` show the doc comment of the field.
macro_rules! fields {
    (list $LIST:ident; $($(#[doc = $about:expr])+ $NAME:ident = $name:literal: $kind:ident $($mark:ident)* $(, $labels:expr)? $(=> $fact:ident)?;)*) => {
        $($(#[doc = $about])+ pub static $NAME: $crate::decode::Field = $crate::decode::Field::new(
            $name,
            $crate::decode::FieldKind::$kind,
            concat!($($about, "\n"),+),
        )$(.$mark())*$(.labelled($labels))?$(.with_fact($crate::decode::Fact::$fact))?;)*
        /// These fields, in order.
        pub static $LIST: &[&$crate::decode::Field] = &[$(&$NAME),*];
    };
    ($($fields:tt)*) => {
        $crate::decode::fields! { list FIELDS; $($fields)* }
    };
}
pub(crate) use fields;

/// Every kind of field, plain ones first: its name, and its form in JSON.
#[cfg(feature = "cli")]
pub const KINDS: [(FieldKind, &str, &str); 13] = [
    (FieldKind::Uint, "uint", "number"),
    (FieldKind::Uint64, "uint64", "string of decimal digits, for a double cannot hold it"),
    (FieldKind::Int, "int", "number"),
    (FieldKind::Int64, "int64", "string of decimal digits, as uint64"),
    (FieldKind::Bool, "bool", "true or false"),
    (FieldKind::Float32, "float32", "number, or \"NaN\", \"Infinity\", \"-Infinity\""),
    (FieldKind::Text, "text", "string"),
    (FieldKind::Named, "name", "string; the number where it has no name"),
    (FieldKind::Names, "names", "list of strings"),
    (FieldKind::Bytes, "bytes", "string of hex digits"),
    (FieldKind::Dynamic, "dynamic", "as the type that the message announces"),
    (FieldKind::Group, "group", "object"),
    (FieldKind::List, "list", "list"),
];

/// Name of a kind of field, and its form in JSON.
#[cfg(feature = "cli")]
pub fn kind_names(kind: FieldKind) -> (&'static str, &'static str) {
    KINDS.iter().find(|(known, ..)| *known == kind).map_or(("", ""), |(_, name, json)| (name, json))
}

#[cfg(test)]
#[allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::arithmetic_side_effects)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_both_families_are_text() {
        let text = |hex: &str| {
            let bytes = crate::rule::hex(hex);
            Value::MappedAddress(bytes.try_into().unwrap()).text().unwrap().into_owned()
        };
        assert_eq!(text("00*10 ffff c0000201 206f"), "192.0.2.1:8303");
        assert_eq!(text("20010db8 00*11 05 206f"), "[2001:db8::5]:8303");
    }

    #[test]
    fn path_fills_indices_in_order() {
        fields! {
            /// A value.
            RECORD = "player_info.records[][]": Dynamic;
        }
        assert_eq!(FIELDS.len(), 1);
        assert_eq!(path(&RECORD, [3, 0, 0]), "player_info.records[3][0]");
    }

    #[test]
    fn utf16_with_lone_surrogates_and_odd_lengths_is_damaged() {
        let read =
            |bytes: &'static [u8]| (Value::Utf16(bytes).text().unwrap(), utf16(bytes).all(|c| c.is_ok()));
        assert_eq!(read(&[0x41, 0]), ("A".into(), true));
        assert_eq!(read(&[0x3c, 0xd8, 0xd5, 0xdf]), ("🏕".into(), true));
        assert_eq!(read(&[0, 0xd8]), ("\u{fffd}".into(), false));
        assert_eq!(read(&[0x41, 0, 0x42]), ("A\u{fffd}".into(), false));
        assert_eq!(read(&[0x3c, 0xd8, 0x42]), ("\u{fffd}\u{fffd}".into(), false));
    }
}
