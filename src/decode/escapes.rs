//! Texts in which some bytes stand for others.

/// How a text is escaped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Escapes {
    /// Minecraft Bedrock: a backslash in front of a semicolon is no part of the text.
    Semicolons,
    /// Arma 3 and DayZ: see [`Chunks`].
    Chunks,
    /// Armagetron: see [`swapped`]. A zero ends the text, which is UTF-8, or else has one byte per character.
    Swapped {
        /// The first byte belongs to what is before the text.
        skips_first: bool,
        /// The last byte belongs to what is behind the text.
        skips_last: bool,
    },
}

impl Escapes {
    /// The bytes that the text stands for, which claim to be UTF-8.
    pub fn unescape(self, text: &[u8]) -> Vec<u8> {
        match self {
            Escapes::Semicolons => {
                let escapes = |at: usize| text.get(at..).is_some_and(|rest| rest.starts_with(b"\\;"));
                text.iter().enumerate().filter(|(at, _)| !escapes(*at)).map(|(_, byte)| *byte).collect()
            }
            Escapes::Chunks => Chunks::new(text).collect(),
            Escapes::Swapped { skips_first, skips_last } => {
                let length = text.len().saturating_sub(skips_last.into());
                let bytes = swapped(text).take(length).skip(skips_first.into());
                let bytes: Vec<u8> = bytes.take_while(|byte| *byte != 0).collect();
                match String::from_utf8(bytes) {
                    Ok(text) => text.into_bytes(),
                    Err(error) => {
                        error.as_bytes().iter().map(|byte| char::from(*byte)).collect::<String>().into_bytes()
                    }
                }
            }
        }
    }
}

/// The bytes of words of two bytes, of which the second one comes first.
pub fn swapped(words: &[u8]) -> impl Iterator<Item = u8> + Clone {
    words.as_chunks::<2>().0.iter().flat_map(|[second, first]| [*first, *second])
}

/// The bytes of a message that is cut into zero-terminated chunks, each with a name of two bytes and a zero in front. Inside
/// a chunk, 01 01 stands for 01, 01 02 for 00, and 01 03 for ff. Begins behind the first name, and ends at a wrong escape.
#[derive(Clone, Copy, Debug)]
pub struct Chunks<'a> {
    rest: &'a [u8],
}

impl<'a> Chunks<'a> {
    /// The bytes of chunks whose first name has been read.
    pub fn new(rest: &'a [u8]) -> Self {
        Chunks { rest }
    }

    /// The chunks that are left.
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Whether no byte is left.
    pub fn is_empty(mut self) -> bool {
        self.raw().is_none()
    }

    /// The next byte of a chunk, as it is sent.
    fn raw(&mut self) -> Option<u8> {
        loop {
            let (byte, rest) = self.rest.split_first()?;
            if *byte != 0 {
                self.rest = rest;
                return Some(*byte);
            }
            self.rest = rest.get(3..).unwrap_or_default();
        }
    }
}

impl Iterator for Chunks<'_> {
    type Item = u8;

    fn next(&mut self) -> Option<u8> {
        match self.raw()? {
            1 => match self.raw() {
                Some(1) => Some(1),
                Some(2) => Some(0),
                Some(3) => Some(0xff),
                _ => {
                    self.rest = &[];
                    None
                }
            },
            byte => Some(byte),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_semicolons_are_escaped_by_backslashes() {
        let unescape = |text: &[u8]| Escapes::Semicolons.unescape(text);
        assert_eq!(unescape(br"A\;B\\;C\D\"), br"A;B\;C\D\");
        assert_eq!(unescape(b""), b"");
    }

    #[test]
    fn words_are_swapped_and_may_belong_to_the_text_in_part() {
        let unescape = |text: &[u8], skips_first, skips_last| {
            String::from_utf8(Escapes::Swapped { skips_first, skips_last }.unescape(text))
        };
        assert_eq!(unescape(b"nUanem\0d", false, true).as_deref(), Ok("Unnamed"));
        assert_eq!(unescape(b"nUanem\0d", true, false).as_deref(), Ok("nnamed"));
        assert_eq!(unescape(b"aC\xe9f", false, false).as_deref(), Ok("Café"));
        assert_eq!(unescape(b"\xbc\xc3", false, false).as_deref(), Ok("ü"));
        assert_eq!(unescape(b"", true, true).as_deref(), Ok(""));
    }

    #[test]
    fn an_escape_may_continue_in_the_next_chunk() {
        let unescape = |text: &[u8]| Escapes::Chunks.unescape(text);
        assert_eq!(unescape(b"a\x01\x01\x01\0\x02\x02\0\x02\x01\x03b"), b"a\x01\0\xffb");
        assert_eq!(unescape(b"a\0\x02\x03\0\0\x03\x03\0b"), b"ab", "a chunk may be empty");
        assert_eq!(unescape(b"a\x01\x04b"), b"a");
        assert_eq!(unescape(b"a\x01"), b"a");
        assert_eq!(unescape(b"a\0\x02"), b"a");
    }
}
