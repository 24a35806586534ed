//! Quoted text with escapes, and what may stand in quotes instead: digits or base64.
//!
//! ```text
//!  \xHH  two hex digits      \OOO  one to three octal digits      \uHHHH  a byte of Latin-1
//!  \n \r \t \a \b \f \v \e   \\  \'  \"  \`                       anything else stands for itself
//! ```

use super::{Form, MAX_COMPLAINTS, base64, indent, nibble, plain};

/// A text in quotes.
#[derive(Debug, PartialEq, Eq)]
pub struct Quoted {
    /// Where the opening quote stands.
    pub open: usize,
    /// Where the text behind the closing quote begins.
    pub end: usize,
    /// A `b` stands before it: bytes, as in Python and Rust.
    pub is_bytes: bool,
}

impl Quoted {
    fn body<'a>(&self, text: &'a str) -> &'a str {
        text.get(self.open.saturating_add(1)..self.end.saturating_sub(1)).unwrap_or_default()
    }
}

/// The text that a quote at `open` opens, if it is one that opens: an apostrophe within a word is none. It ends on
/// its line.
pub fn quoted(text: &str, open: usize) -> Option<Quoted> {
    let quote = text.get(open..)?.chars().next()?;
    let before = text.get(..open)?;
    if before.ends_with('\\') {
        return None;
    }
    let letters = before.chars().rev().take_while(|c| c.is_alphanumeric() || *c == '_').take(3).count();
    let prefix: String = before.chars().rev().take(letters).collect::<String>().to_ascii_lowercase();
    let is_bytes = matches!(prefix.as_str(), "b" | "br" | "rb");
    if letters > 0 && !is_bytes && prefix != "u" && prefix != "c" {
        return None;
    }
    let mut escaped = false;
    for (i, c) in text.get(open..)?.char_indices().skip(1) {
        match c {
            '\n' => return None,
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => {
                let end = open.saturating_add(i).saturating_add(1);
                return Some(Quoted { open, end, is_bytes });
            }
            _ => {}
        }
    }
    None
}

/// Bytes, how they are written, and what is wrong with them: places in the text.
pub type Decoded = (Vec<u8>, Form, Vec<(usize, String)>);

/// What a quoted text stands for; `None` if it is just text.
pub fn decode(text: &str, quoted: &Quoted) -> Option<Decoded> {
    let body = quoted.body(text);
    let begin = quoted.open.saturating_add(1);
    let (before, after) = (text.get(..quoted.open)?, text.get(quoted.end..)?);
    let call = before.trim_end_matches(['b', 'B']).trim_end_matches(['(', ' ']);
    let says = |names: &[&str]| names.iter().any(|name| call.ends_with(name));
    let coding = after.get(..12.min(after.len())).unwrap_or_default();
    let hex = || {
        let plain = plain::read(body)?;
        let wrong = plain.wrong.into_iter().map(|w| (begin.saturating_add(w.column), w.what)).collect();
        Some((plain.bytes, Form::Hex, wrong))
    };
    let of_base64 = || Some((base64::decode(body)?, Form::Base64, vec![]));
    if says(&["hex", "HexString", "unhexlify"]) || coding.contains("hex") {
        return hex();
    }
    if says(&["b64decode", "atob", "Base64String"]) || coding.contains("base64") {
        return of_base64();
    }
    let sound_hex = || hex().filter(|(bytes, _, wrong)| wrong.is_empty() && bytes.len() >= 2);
    if body.contains('\\') {
        return Some(unescape(body, begin));
    }
    if let Some(found) = sound_hex().filter(|(bytes, ..)| !quoted.is_bytes || bytes.len() >= 4) {
        return Some(found);
    }
    if quoted.is_bytes {
        return Some(unescape(body, begin));
    }
    base64::is_likely(body).then(of_base64).flatten()
}

/// A line of escapes without quotes.
pub fn bare(line: &str) -> Option<Decoded> {
    let body = line.trim();
    let escapes = body.starts_with("\\x") || body.starts_with("\\0") || body.contains("\\x");
    (escapes && !body.contains(' ')).then(|| unescape(body, indent(line)))
}

/// Takes the escapes out of a text that begins at byte `at`.
pub fn unescape(body: &str, at: usize) -> Decoded {
    let (mut out, mut wrong) = (vec![], vec![]);
    let mut rest = body;
    while let Some(c) = rest.chars().next() {
        let len = if c == '\\' {
            match escape(rest.get(1..).unwrap_or_default()) {
                Some((byte, len)) => {
                    out.push(byte);
                    len.saturating_add(1)
                }
                None if wrong.len() > MAX_COMPLAINTS => 1,
                None => {
                    let place = at.saturating_add(body.len().saturating_sub(rest.len()));
                    let shown: String = rest.chars().take(6).collect();
                    let shown = crate::report::quoted(&shown);
                    wrong.push((
                        place,
                        format!("An escape such as \\x0a was expected here, not {shown}. The backslash is left out."),
                    ));
                    1
                }
            }
        } else {
            out.extend(c.encode_utf8(&mut [0; 4]).bytes());
            c.len_utf8()
        };
        rest = rest.get(len..).unwrap_or_default();
    }
    (out, Form::String, wrong)
}

/// The byte of an escape whose backslash is gone, and how long it is.
fn escape(text: &str) -> Option<(u8, usize)> {
    let bytes = text.as_bytes();
    let simple = |byte: u8| Some((byte, 1));
    match *bytes.first()? {
        b'x' | b'X' => match *bytes.get(1..3)? {
            [high, low] => Some((nibble(high)? << 4 | nibble(low)?, 3)),
            _ => None,
        },
        b'u' => {
            let value = u32::from_str_radix(text.get(1..5)?, 16).ok()?;
            Some((u8::try_from(value).ok()?, 5))
        }
        b'0'..=b'7' => {
            let len = bytes.iter().take(3).take_while(|b| (b'0'..=b'7').contains(b)).count();
            let value = u32::from_str_radix(text.get(..len)?, 8).ok()?;
            Some((u8::try_from(value).ok()?, len))
        }
        b'n' => simple(b'\n'),
        b'r' => simple(b'\r'),
        b't' => simple(b'\t'),
        b'a' => simple(7),
        b'b' => simple(8),
        b'f' => simple(12),
        b'v' => simple(11),
        b'e' => simple(27),
        byte @ (b'\\' | b'\'' | b'"' | b'`' | b'?' | b'/') => simple(byte),
        _ => None,
    }
}

#[cfg(test)]
#[allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::arithmetic_side_effects)]
mod tests {
    use super::*;

    fn bytes(text: &str) -> Option<Vec<u8>> {
        let open = text.find(['"', '\''])?;
        decode(text, &quoted(text, open)?).filter(|(.., wrong)| wrong.is_empty()).map(|(bytes, ..)| bytes)
    }

    #[test]
    fn escapes_of_several_languages() {
        assert_eq!(bytes(r#"b'\xd5\xf6\x00ab'"#), Some(b"\xd5\xf6\0ab".to_vec()));
        assert_eq!(bytes(r#""\0\12\177\e\n\\\"""#), Some(vec![0, 10, 127, 27, 10, b'\\', b'"']));
        assert_eq!(bytes(r#""\u00d5""#), Some(vec![0xd5]));
        assert_eq!(bytes("b'status'"), Some(b"status".to_vec()));
        assert_eq!(bytes(r#"b"\x69'\x04""#), Some(vec![0x69, b'\'', 4]));
    }

    #[test]
    fn digits_and_base64_in_quotes() {
        for text in [
            "bytes.fromhex('d5 f6 00')",
            "\"d5f600\"",
            "Buffer.from('d5f600', 'hex')",
            "unhexlify(b'd5f600')",
        ] {
            assert_eq!(bytes(text), Some(vec![0xd5, 0xf6, 0]), "{text}");
        }
        assert_eq!(bytes("atob('1fYA')"), Some(vec![0xd5, 0xf6, 0]));
        assert_eq!(bytes("Buffer.from('1fYA', 'base64')"), Some(vec![0xd5, 0xf6, 0]));
    }

    #[test]
    fn text_is_no_data() {
        for text in ["\"name\"", "'it is'", "don't do 'that", "\"be\"", "\"\""] {
            assert_eq!(bytes(text), None, "{text}");
        }
    }

    #[test]
    fn an_unknown_escape_is_said() {
        let (bytes, _, wrong) = unescape(r"a\q\xg0", 10);
        assert_eq!(bytes, b"aqxg0");
        assert_eq!(wrong.iter().map(|w| w.0).collect::<Vec<_>>(), [11, 13]);
    }
}
