//! Text files written by the user, and error messages with places and suggestions.

use super::system::display_name;
use crate::text::escape::quoted;
use crate::text::similar::similar;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Up to this many known names are listed if none is similar.
const LISTED: usize = 32;

/// A text file with its name for error messages.
#[derive(Debug)]
pub struct Text {
    name: String,
    text: String,
}

impl Text {
    /// Reads a text file of at most `limit` bytes.
    ///
    /// # Errors
    /// A sentence that begins with the file's name.
    pub fn read(path: &Path, limit: u64) -> Result<Text, String> {
        let name = display_name(path);
        let mut bytes = vec![];
        let read: io::Result<_> = File::open(path).and_then(|f| f.take(limit + 1).read_to_end(&mut bytes));
        if let Err(e) = read {
            return Err(format!("{name}: The file cannot be read: {e}."));
        }
        if bytes.len() as u64 > limit {
            return Err(format!("{name}: The file is longer than {limit} bytes."));
        }
        Text::of(name, decoded(bytes))
    }

    fn of(name: String, bytes: Vec<u8>) -> Result<Text, String> {
        match String::from_utf8(bytes) {
            Ok(text) => Ok(Text { name, text }),
            Err(e) => {
                let valid_length = e.utf8_error().valid_up_to();
                let text = String::from_utf8_lossy(e.as_bytes().get(..valid_length).unwrap_or_default());
                let before = Text { name, text: text.into_owned() };
                Err(before.at(valid_length, "The text is not UTF-8 from here on."))
            }
        }
    }

    /// A text that is not in a file.
    #[cfg(test)]
    pub fn new(name: &str, text: &str) -> Text {
        Text { name: name.to_owned(), text: text.to_owned() }
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Line and column of a byte offset, both counted from 1, columns in characters.
    fn place(&self, offset: usize) -> (usize, usize) {
        let before = self.text.get(..offset).unwrap_or(&self.text);
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        let column = before.get(line_start..).map_or(0, |line| line.chars().count());
        (before.matches('\n').count() + 1, column + 1)
    }

    /// `FILE:LINE:COLUMN: ` and the message.
    pub fn at(&self, offset: usize, what: &str) -> String {
        let (line, column) = self.place(offset);
        format!("{}:{line}:{column}: {what}", self.name)
    }

    /// The byte offset of a line and column, both counted from 1, the column in bytes.
    pub fn offset(&self, line: usize, column: usize) -> usize {
        let lines = self.text.split_inclusive('\n').take(line.saturating_sub(1));
        let offset = lines.map(str::len).sum::<usize>() + column.saturating_sub(1);
        (0..=offset.min(self.text.len())).rev().find(|&at| self.text.is_char_boundary(at)).unwrap_or(0)
    }
}

/// A text as UTF-8 without byte order mark. It may be UTF-16, as an older PowerShell writes with `>`.
pub fn decoded(mut bytes: Vec<u8>) -> Vec<u8> {
    let utf16 = |unit: fn([u8; 2]) -> u16| {
        let units = bytes.as_chunks::<2>().0.iter().skip(1).map(|pair| unit(*pair));
        char::decode_utf16(units).map(|c| c.unwrap_or('\u{fffd}')).collect::<String>().into_bytes()
    };
    match bytes.as_slice() {
        [0xff, 0xfe, ..] => utf16(u16::from_le_bytes),
        [0xfe, 0xff, ..] => utf16(u16::from_be_bytes),
        [0xef, 0xbb, 0xbf, ..] => bytes.split_off(3),
        _ => bytes,
    }
}

/// The error message for an unknown `name`, with a suggestion or the list of known names.
pub fn unknown_name(thing: &str, name: &str, known: &[&str]) -> String {
    let message = format!("There is no {thing} {}", quoted(name));
    match similar(name, known.iter().copied()) {
        Some(similar) => format!("{message}; did you mean {similar}?"),
        None if known.len() <= LISTED => format!("{message}; known are {}.", known.join(", ")),
        None => format!("{message}."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_count_lines_and_characters_from_one() {
        let text = Text::new("a.toml", "x = 1\r\n\u{e9}\u{e9} = 2\n");
        assert_eq!(text.place(0), (1, 1));
        assert_eq!(text.place(4), (1, 5));
        assert_eq!(text.place(7), (2, 1));
        assert_eq!(text.place(11), (2, 3), "two characters of two bytes each");
        assert_eq!(text.place(1_000), (3, 1), "behind the end");
        assert_eq!(text.at(11, "Bad."), "a.toml:2:3: Bad.");
        assert_eq!((text.offset(1, 5), text.offset(2, 5), text.offset(2, 2)), (4, 11, 7));
        assert_eq!(text.offset(99, 99), text.as_str().len());
    }

    #[test]
    fn invalid_text_is_reported_with_line_and_column() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a\u{202e}.toml");
        let read = |bytes: &[u8]| {
            std::fs::write(&path, bytes).unwrap();
            Text::read(&path, 20).map(|text| text.text).map_err(|e| e.split_once("/a").unwrap().1.to_owned())
        };
        assert_eq!(read(b"\xef\xbb\xbfa = 1"), Ok("a = 1".into()));
        assert_eq!(read(b"\xff\xfea\0 \0=\0 \0\xe9\0"), Ok("a = \u{e9}".into()));
        assert_eq!(read(b"\xfe\xff\0a\0\r\0\n\xd8\0"), Ok("a\r\n\u{fffd}".into()));
        assert_eq!(
            read(b"a = 1\nb\xff"),
            Err("\\u{202e}.toml:2:2: The text is not UTF-8 from here on.".into())
        );
        assert_eq!(read(&[b' '; 20]), Ok(" ".repeat(20)));
        assert_eq!(read(&[b' '; 21]), Err("\\u{202e}.toml: The file is longer than 20 bytes.".into()));
        std::fs::remove_file(&path).unwrap();
        assert!(Text::read(&path, 20).unwrap_err().contains("The file cannot be read: "));
    }

    #[test]
    fn similar_names_are_suggested() {
        let known = ["error", "warning", "note", "off"];
        assert_eq!(similar("Warnign", known), Some("warning"));
        assert_eq!(similar("warn", known), Some("warning"), "it stops short");
        assert_eq!(similar("of", known), Some("off"));
        assert_eq!(similar("fatal", known), None);
        assert_eq!(similar(&"x".repeat(100_000), known), None);
        assert_eq!(
            unknown_name("severity", "eror", &known),
            "There is no severity \"eror\"; did you mean error?"
        );
        assert_eq!(
            unknown_name("severity", "\u{1b}", &known),
            "There is no severity \"\\x1b\"; known are error, warning, note, off."
        );
    }
}
