//! Replaces texts by others of the same length: each letter by another one of its kind, as the key and the whole text decide.

use super::key::{Key, Kind, Numbers};
use std::net::Ipv4Addr;

/// How much of a text is replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strength {
    /// All letters and digits; there are several ways, by number.
    Everything(u8),
    /// Letters and addresses; other digits stay, for what is counted or compared.
    Letters,
}

/// Ways to replace everything that are tried.
pub const WAYS: u8 = 4;

/// Replaces texts.
pub struct Texts {
    key: Key,
}

impl Texts {
    /// Replaces with this key.
    pub fn new(key: Key) -> Texts {
        Texts { key }
    }

    fn numbers(&self, strength: Strength, text: &[u8]) -> Numbers {
        let way = if let Strength::Everything(way) = strength { way } else { 0 };
        self.key.numbers((Kind::Text, way), text)
    }

    /// The text in another one's place, which has as many bytes. Text that claims to be UTF-8 stays as far UTF-8 as it was.
    pub fn bytes(&self, strength: Strength, text: &[u8]) -> Vec<u8> {
        let mut numbers = self.numbers(strength, text);
        let mut out = Vec::with_capacity(text.len());
        for chunk in text.utf8_chunks() {
            self.valid(strength, chunk.valid(), &mut numbers, &mut out);
            // These bytes occur nowhere in UTF-8, and are letters where a character is a byte.
            let mut broken = |byte: &u8| if *byte < 0xa0 { *byte } else { 0xf8 | numbers.below(8) as u8 };
            out.extend(chunk.invalid().iter().map(&mut broken));
        }
        out
    }

    /// The same for bytes in which there may be text. ff is none, but begins messages, and stays.
    pub fn opaque(&self, strength: Strength, bytes: &[u8]) -> Vec<u8> {
        let mut other = self.bytes(strength, bytes);
        let marks = other.iter_mut().zip(bytes).filter(|(_, from)| **from == 0xff);
        marks.for_each(|(to, from)| *to = *from);
        other
    }

    /// The same for a text with one byte per character.
    pub fn latin1(&self, strength: Strength, text: &[u8]) -> Vec<u8> {
        let mut numbers = self.numbers(strength, text);
        let mut letter = |byte: &u8| match byte {
            0xa0.. => 0xc0 | numbers.below(0x40) as u8,
            _ => ascii(strength, *byte, &mut numbers),
        };
        text.iter().map(&mut letter).collect()
    }

    /// The same for a text in UTF-16, little-endian.
    pub fn utf16(&self, strength: Strength, text: &[u8]) -> Vec<u8> {
        let mut numbers = self.numbers(strength, text);
        let (units, odd) = text.as_chunks::<2>();
        let unit = |unit: &[u8; 2]| {
            let unit = u16::from_le_bytes(*unit);
            let other = match unit {
                0..0x80 => ascii(strength, unit as u8, &mut numbers).into(),
                0xdc00..0xe000 => 0xdc00 | numbers.below(0x100) as u16,
                _ => char::from_u32(unit.into()).map_or(unit, |c| character(c, &mut numbers) as u16),
            };
            other.to_le_bytes()
        };
        units.iter().flat_map(unit).chain(odd.iter().copied()).collect()
    }

    fn valid(&self, strength: Strength, text: &str, numbers: &mut Numbers, out: &mut Vec<u8>) {
        let mut at: usize = 0;
        while let Some((rest, c)) = text.get(at..).and_then(|rest| Some((rest, rest.chars().next()?))) {
            let before = at.checked_sub(1).and_then(|before| text.as_bytes().get(before));
            let follows_number = before.is_some_and(|byte| byte.is_ascii_digit() || *byte == b'.');
            let taken = if let Some(kept) = kept(rest) {
                out.extend_from_slice(kept.as_bytes());
                kept.len()
            } else if let Some((dotted, address)) = dotted(rest, c).filter(|_| !follows_number) {
                let port = rest.get(dotted.len()..).map_or("", port);
                self.address(address, dotted.as_bytes(), out);
                out.extend_from_slice(port.as_bytes());
                dotted.len().saturating_add(port.len())
            } else {
                let other = match u8::try_from(c) {
                    Ok(byte @ ..0x80) => ascii(strength, byte, numbers).into(),
                    _ => character(c, numbers),
                };
                out.extend_from_slice(other.encode_utf8(&mut [0; 4]).as_bytes());
                c.len_utf8()
            };
            at = at.saturating_add(taken);
        }
    }

    /// An address of IPv4 in as many characters.
    fn address(&self, address: Ipv4Addr, text: &[u8], out: &mut Vec<u8>) {
        if address.is_unspecified() || address.is_loopback() || address.is_broadcast() {
            out.extend_from_slice(text);
            return;
        }
        let mut numbers = self.key.numbers((Kind::Address, 2), &address.octets());
        for (at, octet) in text.split(|byte| *byte == b'.').enumerate() {
            if at > 0 {
                out.push(b'.');
            }
            let other = match octet.len() {
                1 => numbers.below(10),
                2 => numbers.below(90).saturating_add(10),
                _ => numbers.below(156).saturating_add(100),
            };
            out.extend_from_slice(other.to_string().as_bytes());
        }
    }
}

/// What stays at the start of a text: a colour, or an escape.
fn kept(text: &str) -> Option<&str> {
    let length = match text.as_bytes() {
        [b'^', b'0'..=b'9', ..] => 2,
        [b'\\', next, ..] if b"ntrux0\\\"'/".contains(next) => 2,
        [0x1b, _, _, _, ..] => 4,
        [0xc2, 0xa7, next, ..] if next.is_ascii() => 3,
        _ => return None,
    };
    text.get(..length)
}

/// An address at the start of a text, whose first character is given: as it stands there, and itself.
fn dotted(text: &str, first: char) -> Option<(&str, Ipv4Addr)> {
    if !first.is_ascii_digit() {
        return None;
    }
    let dotted = text.split(|c: char| !c.is_ascii_digit() && c != '.').next()?;
    Some((dotted, dotted.parse().ok()?))
}

/// A colon and a port at the start of a text, behind an address.
fn port(text: &str) -> &str {
    let digits = text.bytes().skip(1).take_while(u8::is_ascii_digit).count();
    let length = if text.starts_with(':') { digits.saturating_add(1) } else { 0 };
    text.get(..length).unwrap_or_default()
}

fn ascii(strength: Strength, byte: u8, numbers: &mut Numbers) -> u8 {
    let mut of = |first: u8, count| first.saturating_add(numbers.below(count) as u8);
    match byte {
        b'a'..=b'z' => of(b'a', 26),
        b'A'..=b'Z' => of(b'A', 26),
        b'0'..=b'9' if strength != Strength::Letters => of(b'0', 10),
        _ => byte,
    }
}

/// A character in the place of another one that is not ASCII, with as many bytes.
fn character(c: char, numbers: &mut Numbers) -> char {
    let stays = c.is_control()
        || c.is_whitespace()
        || matches!(c, '\u{ad}' | '\u{200b}'..='\u{206f}' | '\u{e000}'..='\u{f8ff}' | '\u{feff}' | '\u{fff0}'..='\u{ffff}');
    let (first, count) = match (c.len_utf8(), c.is_alphabetic()) {
        _ if stays => return c,
        (2, true) => ('\u{e0}', 23), // à to ö
        (2, false) => ('\u{a1}', 12),
        (3, true) => ('\u{4e00}', 0x5000),
        (3, false) => ('\u{2600}', 0x100),
        (_, true) => ('\u{20000}', 0xa000),
        (_, false) => ('\u{1f300}', 0x300),
    };
    char::from_u32(u32::from(first).saturating_add(numbers.below(count))).unwrap_or(c)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn replaced(text: &str) -> String {
        String::from_utf8(Texts::new(Key::of("test")).bytes(Strength::Everything(0), text.as_bytes()))
            .unwrap()
    }

    fn kinds(text: &str) -> Vec<u8> {
        let kind = |c: char| match c {
            'a'..='z' => b'a',
            'A'..='Z' => b'A',
            '0'..='9' => b'0',
            _ => b'.',
        };
        text.chars().map(kind).collect()
    }

    #[test]
    fn a_text_keeps_its_form_and_none_of_its_letters() {
        let name = "Camp Wőlf #1 🏕 [EU]";
        let other = replaced(name);
        assert_eq!(kinds(&other), kinds(name));
        assert_eq!(other.len(), name.len());
        assert!(!["Camp", "lf", "🏕", "EU", "ő"].iter().any(|part| other.contains(part)), "{other}");
        assert_eq!(replaced(name), other);
    }

    #[test]
    fn colours_and_escapes_stay() {
        let other = replaced("^1Wolf\\n§cPack");
        assert!(other.starts_with("^1") && other.contains("\\n") && other.contains("§c"), "{other}");
    }

    #[test]
    fn an_address_becomes_another_one_wherever_it_stands() {
        let address = |text: &str| -> Ipv4Addr {
            text.split(' ').find_map(|word| word.trim_end_matches(":27015").parse().ok()).unwrap()
        };
        let (first, second) = (replaced("at 203.0.113.9 now"), replaced("203.0.113.9:27015 full"));
        assert_eq!(address(&first), address(&second));
        assert_ne!(address(&first), Ipv4Addr::new(203, 0, 113, 9));
        assert_eq!(first.len(), "at 203.0.113.9 now".len());
        assert_eq!(replaced("127.0.0.1"), "127.0.0.1");
    }

    #[test]
    fn utf16_and_latin1_keep_their_length_and_form() {
        let texts = Texts::new(Key::of("test"));
        let wide: Vec<u8> = "Söl🏕".encode_utf16().flat_map(u16::to_le_bytes).collect();
        let other = texts.utf16(Strength::Everything(0), &wide);
        assert_eq!(other.len(), wide.len());
        let (units, _) = other.as_chunks::<2>();
        let text: String = char::decode_utf16(units.iter().map(|unit| u16::from_le_bytes(*unit)))
            .map(Result::unwrap)
            .collect();
        assert_ne!(text, "Söl🏕");
        assert_eq!(text.chars().count(), 4);
        let narrow = texts.latin1(Strength::Everything(0), b"S\xf6l #1");
        assert_eq!((narrow.len(), narrow.get(3), narrow.get(4)), (6, Some(&b' '), Some(&b'#')));
    }

    #[test]
    fn the_mark_of_a_message_stays_among_bytes() {
        let other = Texts::new(Key::of("test")).opaque(Strength::Everything(0), b"\xff\xff\xff\xffIname");
        assert!(other.starts_with(b"\xff\xff\xff\xff") && !other.ends_with(b"name"), "{other:?}");
    }

    #[test]
    fn digits_stay_where_only_letters_are_replaced() {
        let other = Texts::new(Key::of("test")).bytes(Strength::Letters, b"v1.25 beta");
        assert_eq!(other.get(1..6).unwrap(), b"1.25 ");
        assert_ne!(other.get(6..).unwrap(), b"beta");
    }

    proptest! {
        #[test]
        fn length_and_validity_stay(text: Vec<u8>, way in 0..WAYS) {
            let other = Texts::new(Key::of("test")).bytes(Strength::Everything(way), &text);
            prop_assert_eq!(other.len(), text.len());
            prop_assert_eq!(std::str::from_utf8(&other).is_ok(), std::str::from_utf8(&text).is_ok());
            let first = |text: &[u8]| std::str::from_utf8(text).map_or_else(|e| e.valid_up_to(), str::len);
            prop_assert_eq!(first(&other), first(&text));
        }
    }
}
