//! Keeps texts that servers send, in bounded memory.

use crate::decode::{Value as Text, utf16};
use crate::escape::{damaged_hex, to_hex};
use std::borrow::Cow;

/// Longest name, game or version kept of a server, in bytes.
const MAX_TEXT: usize = 256;

/// A text that a server sent, cut to [`MAX_TEXT`] bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ServerText {
    /// UTF-8, which may be damaged, unless `wide`.
    bytes: Vec<u8>,
    /// The bytes are UTF-16 as it was sent. It is kept so only where it is damaged.
    wide: bool,
}

impl ServerText {
    /// The text, with U+FFFD for what is damaged.
    pub fn text(&self) -> Cow<'_, str> {
        match self.wide {
            true => utf16(&self.bytes).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect(),
            false => String::from_utf8_lossy(&self.bytes),
        }
    }

    /// Its bytes as hex digits, where it is damaged.
    pub fn damaged_hex(&self) -> Option<String> {
        if self.wide { Some(to_hex(&self.bytes)) } else { damaged_hex(&self.bytes) }
    }

    #[inline(never)]
    fn set(&mut self, text: Text<'_>) {
        self.bytes.clear();
        self.wide = false;
        match text {
            Text::Text(bytes) => self.bytes.extend_from_slice(bounded(bytes)),
            Text::Utf16(bytes) if utf16(bytes).any(|c| c.is_err()) => {
                self.wide = true;
                self.bytes.extend_from_slice(bytes.get(..MAX_TEXT).unwrap_or(bytes));
            }
            Text::Utf16(bytes) => self.set_chars(utf16(bytes).flatten()),
            Text::Latin1(bytes) => self.set_chars(bytes.iter().map(|&b| b as char)),
            Text::Coloured(bytes, colours) => match std::str::from_utf8(bytes) {
                Ok(text) => self.set_chars(colours.strip(text.chars())),
                Err(_) => self.set_chars(colours.strip(bytes.iter().map(|&b| b as char))),
            },
            other => self.set_chars(other.text().unwrap_or_default().chars()),
        }
    }

    /// Takes a text that is not UTF-8 on the wire, converted to UTF-8.
    fn set_chars(&mut self, chars: impl Iterator<Item = char>) {
        for c in chars {
            let mut utf8 = [0; 4];
            let c = c.encode_utf8(&mut utf8);
            if self.bytes.len() + c.len() > MAX_TEXT {
                break;
            }
            self.bytes.extend_from_slice(c.as_bytes());
        }
    }
}

#[cfg(test)]
impl From<&[u8]> for ServerText {
    fn from(utf8: &[u8]) -> ServerText {
        ServerText { bytes: utf8.to_vec(), wide: false }
    }
}

/// Keeps a text if it is new; the memory of the old one is used again.
#[inline(always)]
pub(crate) fn update_text(kept: &mut Option<ServerText>, text: Option<Text<'_>>) {
    let Some(text) = text else { return };
    // Nearly always a server says what it said before.
    if let (Text::Text(bytes), Some(kept)) = (text, &kept)
        && kept.bytes == bytes
        && !kept.wide
    {
        return;
    }
    kept.get_or_insert_default().set(text);
}

/// The first bytes of a text, at most [`MAX_TEXT`], cut between two characters.
fn bounded(text: &[u8]) -> &[u8] {
    let within = |at: &usize| text.get(*at).is_none_or(|b| b & 0xc0 != 0x80);
    match text.len() {
        0..=MAX_TEXT => text,
        _ => &text[..(MAX_TEXT - 3..=MAX_TEXT).rev().find(within).unwrap_or(MAX_TEXT)],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server_text(text: Text<'_>) -> ServerText {
        let mut kept = None;
        update_text(&mut kept, Some(text));
        kept.expect("there is a text")
    }

    /// What is kept of a sound text.
    fn kept(text: Text<'_>) -> String {
        let kept = server_text(text);
        assert_eq!(kept.damaged_hex(), None, "no character is cut in two");
        kept.text().into_owned()
    }

    #[test]
    fn bytes_of_damaged_texts_are_kept_in_every_encoding() {
        for (text, shown, hex) in [
            (Text::Text(b"a\xff"), "a\u{fffd}", Some("61ff")),
            (Text::Utf16(b"a\0\0\xd8b\0"), "a\u{fffd}b", Some("610000d86200")),
            (Text::Utf16(b"a\0b"), "a\u{fffd}", Some("610062")),
            (Text::Utf16(b"a\0"), "a", None),
            (Text::Latin1(b"a\xff"), "aÿ", None),
        ] {
            let server_text = server_text(text);
            assert_eq!((&*server_text.text(), server_text.damaged_hex().as_deref()), (shown, hex));
        }
        let long = server_text(Text::Utf16(&[[0xd8; 2]; 200].concat()));
        assert_eq!((long.damaged_hex().map(|hex| hex.len()), long.text().chars().count()), (Some(512), 128));
        let mut kept = Some(server_text(Text::Utf16(b"\0\xd8")));
        update_text(&mut kept, Some(Text::Text(b"\0\xd8")));
        assert_eq!(kept, Some(server_text(Text::Text(b"\0\xd8"))), "it is another text");
    }

    #[test]
    fn texts_of_servers_are_cut_between_characters() {
        let long = "a".repeat(MAX_TEXT);
        assert_eq!(kept(Text::Text(long.as_bytes())), long);
        assert_eq!(kept(Text::Text(format!("{long}b").as_bytes())), long);
        let most = "a".repeat(MAX_TEXT - 1);
        let utf16: Vec<u8> = format!("{most}\u{e9}").encode_utf16().flat_map(u16::to_le_bytes).collect();
        let latin1 = [most.as_bytes(), &[0xe9]].concat();
        let utf8 = format!("{most}\u{e9}");
        for text in [Text::Text(utf8.as_bytes()), Text::Utf16(&utf16), Text::Latin1(&latin1)] {
            assert_eq!(kept(text), most, "the last character has two bytes, and room for one");
        }
        let utf16: Vec<u8> = long.encode_utf16().flat_map(u16::to_le_bytes).collect();
        for text in [Text::Utf16(&utf16), Text::Latin1(long.as_bytes())] {
            assert_eq!(kept(text), long);
        }
    }
}
