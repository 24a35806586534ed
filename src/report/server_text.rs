//! Stores texts sent by servers in bounded memory.

use crate::decode::{Value as Text, utf16};
use crate::text::escape::{damaged_hex, to_hex};
use std::borrow::Cow;

/// Maximum length in bytes of a server's name, game or version.
const MAX_TEXT: usize = 256;

/// A text sent by a server, truncated to [`MAX_TEXT`] bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ServerText {
    /// UTF-8, possibly damaged, unless `is_utf16`.
    bytes: Vec<u8>,
    /// The bytes are UTF-16 as sent, because it is damaged and cannot be converted.
    is_utf16: bool,
}

impl ServerText {
    /// The text, with U+FFFD for damaged parts.
    pub fn text(&self) -> Cow<'_, str> {
        match self.is_utf16 {
            true => utf16(&self.bytes).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect(),
            false => String::from_utf8_lossy(&self.bytes),
        }
    }

    /// The bytes as hex digits, if the text is damaged.
    pub fn damaged_hex(&self) -> Option<String> {
        if self.is_utf16 { Some(to_hex(&self.bytes)) } else { damaged_hex(&self.bytes) }
    }

    #[inline(never)]
    fn set(&mut self, text: Text<'_>) {
        self.bytes.clear();
        self.is_utf16 = false;
        match text {
            Text::Text(bytes) => self.bytes.extend_from_slice(bounded(bytes)),
            Text::Utf16(bytes) if utf16(bytes).any(|c| c.is_err()) => {
                self.is_utf16 = true;
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

    /// Appends converted text of an encoding other than UTF-8.
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
        ServerText { bytes: utf8.to_vec(), is_utf16: false }
    }
}

/// Stores a text if it has changed, reusing the memory of the old one.
#[inline(always)]
pub(crate) fn update_text(kept: &mut Option<ServerText>, text: Option<Text<'_>>) {
    let Some(text) = text else { return };
    // Servers nearly always send the same text again.
    if let (Text::Text(bytes), Some(kept)) = (text, &kept)
        && kept.bytes == bytes
        && !kept.is_utf16
    {
        return;
    }
    kept.get_or_insert_default().set(text);
}

/// Truncates a text between two characters to at most [`MAX_TEXT`] bytes.
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
        let mut kept_text = None;
        update_text(&mut kept_text, Some(text));
        kept_text.expect("there is a text")
    }

    /// The stored part of a valid text.
    fn kept_text(text: Text<'_>) -> String {
        let kept_text = server_text(text);
        assert_eq!(kept_text.damaged_hex(), None, "no character is cut in two");
        kept_text.text().into_owned()
    }

    #[test]
    fn keeps_the_bytes_of_damaged_texts_in_every_encoding() {
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
    fn truncates_texts_between_characters() {
        let long = "a".repeat(MAX_TEXT);
        assert_eq!(kept_text(Text::Text(long.as_bytes())), long);
        assert_eq!(kept_text(Text::Text(format!("{long}b").as_bytes())), long);
        let prefix = "a".repeat(MAX_TEXT - 1);
        let utf16: Vec<u8> = format!("{prefix}\u{e9}").encode_utf16().flat_map(u16::to_le_bytes).collect();
        let latin1 = [prefix.as_bytes(), &[0xe9]].concat();
        let utf8 = format!("{prefix}\u{e9}");
        for text in [Text::Text(utf8.as_bytes()), Text::Utf16(&utf16), Text::Latin1(&latin1)] {
            assert_eq!(kept_text(text), prefix, "the last character has two bytes, and room for one");
        }
        let utf16: Vec<u8> = long.encode_utf16().flat_map(u16::to_le_bytes).collect();
        for text in [Text::Utf16(&utf16), Text::Latin1(long.as_bytes())] {
            assert_eq!(kept_text(text), long);
        }
    }
}
