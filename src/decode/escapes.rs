//! Texts in which some bytes stand for others.

/// How a text is escaped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Escapes {
    /// Minecraft Bedrock: a backslash in front of a semicolon is no part of the text.
    Semicolons,
    /// Arma 3 and DayZ: see [`Chunks`].
    Chunks,
}

impl Escapes {
    /// The bytes that the text stands for.
    pub fn unescape(self, text: &[u8]) -> Vec<u8> {
        match self {
            Escapes::Semicolons => {
                let escapes = |at: usize| text.get(at..).is_some_and(|rest| rest.starts_with(b"\\;"));
                text.iter().enumerate().filter(|(at, _)| !escapes(*at)).map(|(_, byte)| *byte).collect()
            }
            Escapes::Chunks => Chunks::new(text).collect(),
        }
    }
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
    fn an_escape_may_continue_in_the_next_chunk() {
        let unescape = |text: &[u8]| Escapes::Chunks.unescape(text);
        assert_eq!(unescape(b"a\x01\x01\x01\0\x02\x02\0\x02\x01\x03b"), b"a\x01\0\xffb");
        assert_eq!(unescape(b"a\0\x02\x03\0\0\x03\x03\0b"), b"ab", "a chunk may be empty");
        assert_eq!(unescape(b"a\x01\x04b"), b"a");
        assert_eq!(unescape(b"a\x01"), b"a");
        assert_eq!(unescape(b"a\0\x02"), b"a");
    }
}
