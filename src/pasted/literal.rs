//! What programs write and print: arrays of numbers, strings with escapes, Node's buffers.
//!
//! A literal may span lines. What stands before it on its line is for [`super::head`]; what follows it is read on.

use super::strings::{self, Quoted};
use super::{Form, MAX_PIECE, plain};

/// Longest comment within a list in bytes, without its marks: what is longer is taken for words of the list.
const MAX_COMMENT: usize = 4096;

/// Bytes that a literal stands for.
#[derive(Debug, PartialEq, Eq)]
pub struct Literal {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// Bytes that followed, and that whoever printed it left out.
    pub missing: u32,
    /// How it is written.
    pub form: Form,
    /// Where it begins in the text, in bytes.
    pub at: usize,
    /// Where it ends.
    pub end: usize,
    /// Places in the text, in bytes, and what is wrong there.
    pub wrong: Vec<(usize, String)>,
}

/// The first literal that begins in `text[from..line_end]`, if there is one; it may end behind that.
pub fn find(text: &str, from: usize, line_end: usize) -> Option<Literal> {
    let line = text.get(from..line_end)?;
    for (i, c) in line.char_indices() {
        let at = from.saturating_add(i);
        let found = match c {
            '<' => buffer(text, at, line_end),
            '[' | '{' => array(text, at),
            '"' | '\'' | '`' => string(text, at, from),
            _ => None,
        };
        if found.is_some() {
            return found;
        }
    }
    None
}

/// `<Buffer d5 f6 00 ... 12 more bytes>`
fn buffer(text: &str, at: usize, line_end: usize) -> Option<Literal> {
    let body_at = at.saturating_add("<Buffer".len());
    text.get(at..body_at).filter(|tag| *tag == "<Buffer")?;
    let body = text.get(body_at..line_end)?;
    let close = body.find(['<', '>']).unwrap_or(body.len());
    let body = body.get(..close)?;
    let (digits, left_out) = body.split_once("...").unwrap_or((body, ""));
    let plain = plain::read(digits)?;
    let mut wrong: Vec<_> =
        plain.wrong.into_iter().map(|w| (body_at.saturating_add(w.column), w.what)).collect();
    let missing = more(left_out);
    if missing > 0 {
        wrong.push((body_at.saturating_add(digits.len()), left_out_by_node(missing)));
    }
    let end = body_at.saturating_add(close).saturating_add(1).min(line_end);
    Some(Literal { bytes: plain.bytes, missing, form: Form::Array, at, end, wrong })
}

/// The number in `12 more bytes`.
fn more(text: &str) -> u32 {
    text.split_whitespace().next().and_then(|n| n.parse().ok()).unwrap_or(0)
}

fn left_out_by_node(missing: u32) -> String {
    format!(
        "Node left out {missing} bytes here; `buffer.toString(\"hex\")` prints all. They are taken as not captured."
    )
}

/// A word of an array, and where it stands.
type Word<'a> = (usize, &'a str);

/// What stands in a pair of brackets.
#[derive(Debug, Default)]
struct Inside<'a> {
    words: Vec<Word<'a>>,
    commas: usize,
    /// The number in `... 12 more items`, and where.
    more: Option<(usize, u32)>,
    end: usize,
    closed: bool,
}

/// The words between the bracket at `open` and the next one; `None` if that opens again, or if it is no list.
fn inside(text: &str, open: usize) -> Option<Inside<'_>> {
    let mut found = Inside::default();
    let mut at = open.saturating_add(1);
    while let Some(rest) = text.get(at..) {
        let Some(c) = rest.chars().next() else { break };
        let step = match c {
            ']' | '}' => {
                found.closed = true;
                found.end = at.saturating_add(1);
                return Some(found);
            }
            '[' | '{' => return None,
            '(' => rest.bytes().take(16).position(|b| b == b')')?.saturating_add(1), // a cast
            ',' | ';' => {
                found.commas = found.commas.saturating_add(1);
                1
            }
            c if c.is_whitespace() => c.len_utf8(),
            _ => match comment(rest) {
                Some(len) => len,
                None if rest.starts_with("...") => {
                    found.more = Some((at, more(rest.get(3..)?)));
                    rest.bytes().take(MAX_COMMENT).position(|b| b"]}\n".contains(&b))?
                }
                None => {
                    let word = rest.split(|c: char| c.is_whitespace() || ",;]}([{".contains(c)).next()?;
                    if found.words.is_empty() && value(word, 16).is_none() {
                        return None;
                    }
                    // One more than fits, so that it is seen not to.
                    if found.words.len() <= MAX_PIECE {
                        found.words.push((at, word));
                    }
                    word.len().max(1)
                }
            },
        };
        at = at.saturating_add(step);
    }
    found.end = text.len();
    Some(found)
}

/// Length of a comment at the beginning of a text; `None` if there is none, or none that ends.
fn comment(text: &str) -> Option<usize> {
    let marks = [("/*", "*/"), ("//", "\n"), ("#", "\n")];
    let (mark, close) = marks.into_iter().find(|(mark, _)| text.starts_with(mark))?;
    let window = text.as_bytes().get(mark.len()..)?;
    let close = close.as_bytes();
    let end = window.windows(close.len()).take(MAX_COMMENT + 1).position(|w| w == close)?;
    Some(end.saturating_add(mark.len()).saturating_add(close.len()))
}

/// A word as a number in that base, unless it says its own.
fn value(word: &str, radix: u32) -> Option<i64> {
    let word = ["u8", "U8", "u", "U", "i8", "L"].iter().find_map(|s| word.strip_suffix(s)).unwrap_or(word);
    let quoted = word.strip_prefix('b').unwrap_or(word);
    if let [b'\'', c, b'\''] = quoted.as_bytes() {
        return Some(i64::from(*c));
    }
    let own = [("0x", 16), ("0X", 16), ("0b", 2), ("0o", 8)];
    let (digits, radix) = own
        .into_iter()
        .find_map(|(mark, radix)| Some((word.strip_prefix(mark)?, radix)))
        .filter(|(digits, radix)| i64::from_str_radix(digits, *radix).is_ok())
        .unwrap_or((word, radix));
    i64::from_str_radix(digits, radix).ok().filter(|_| !digits.starts_with('+'))
}

/// The base of numbers that do not say theirs.
fn radix(words: &[Word<'_>]) -> u32 {
    let hex = |w: &str| w.len() <= 2 && value(w, 16).is_some();
    let letters = |w: &str| w.bytes().any(|b| b.is_ascii_alphabetic());
    let bare: Vec<&str> =
        words.iter().map(|(_, w)| *w).filter(|w| !w.starts_with("0x") && !w.starts_with("0X")).collect();
    let two = bare.iter().all(|w| w.len() == 2);
    let told = bare.iter().any(|w| hex(w) && letters(w)) || two && bare.iter().any(|w| w.starts_with('0'));
    if told && bare.iter().all(|w| hex(w)) { 16 } else { 10 }
}

/// Numbers in brackets.
fn array(text: &str, open: usize) -> Option<Literal> {
    let inside = inside(text, open)?;
    let words = &inside.words;
    let marked = words.iter().any(|(_, w)| w.starts_with("0x") || w.starts_with("0X"));
    let before = text.get(..open)?.chars().next_back();
    let subscript = before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ']');
    // `pkt1[60]`, `[5]byte{…}` and `[13]` are no data; neither is a list with words in it.
    let alone = words.len() == 1 && (subscript || inside.commas == 0 && !marked);
    if words.is_empty() || alone || inside.commas == 0 && !marked {
        return None;
    }
    // Letters alone are names, as far as they go.
    let digits = words.iter().any(|(_, w)| w.bytes().any(|b| b.is_ascii_digit()) || w.contains('\''));
    if !digits && words.len() < 4 {
        return None;
    }
    let radix = radix(words);
    let sound = words.iter().filter(|(_, w)| value(w, radix).is_some()).count();
    if sound.saturating_mul(2) <= words.len() {
        return None;
    }
    let mut literal =
        Literal { bytes: vec![], missing: 0, form: Form::Array, at: open, end: inside.end, wrong: vec![] };
    for (at, word) in words {
        match value(word, radix) {
            Some(v @ -128..=255) => literal.bytes.push(v.to_le_bytes().first().copied().unwrap_or_default()),
            _ => {
                let word: String = word.chars().take(12).collect();
                let word = crate::report::quoted(&word);
                literal.wrong.push((
                    *at,
                    format!("A byte was expected here, a number from 0 to 255, not {word}. It is left out."),
                ));
            }
        }
    }
    if let Some((at, missing)) = inside.more.filter(|(_, missing)| *missing > 0) {
        literal.missing = missing;
        literal.wrong.push((at, left_out_by_node(missing)));
    }
    if !inside.closed {
        let what = "The list that begins here has no closing bracket; it is read to the end of the text.";
        literal.wrong.push((open, what.to_owned()));
    }
    Some(literal)
}

/// A string, and those that follow it and go on with it.
fn string(text: &str, at: usize, line_at: usize) -> Option<Literal> {
    let first = strings::quoted(text, at)?;
    let (bytes, form, wrong) = strings::decode(text, &first)?;
    let mut literal = Literal { bytes, missing: 0, form, at: first.open, end: first.end, wrong };
    let before = text.get(line_at..first.open).unwrap_or_default();
    let in_code = !first.is_bytes || before.contains(['(', '=']);
    while literal.bytes.len() <= MAX_PIECE
        && let Some(next) = next_part(text, literal.end, in_code)
        && let Some((mut bytes, form, mut wrong)) = strings::decode(text, &next)
        && form == literal.form
    {
        literal.bytes.append(&mut bytes);
        literal.wrong.append(&mut wrong);
        literal.end = next.end;
    }
    Some(literal)
}

/// The string that goes on with the one that ends at `from`: beside it, or on the next line of the same expression.
fn next_part(text: &str, from: usize, in_code: bool) -> Option<Quoted> {
    let rest = text.get(from..)?;
    let gap = rest.len().saturating_sub(rest.trim_start_matches([' ', '\t', '\r', '\n', '\\', '+']).len());
    let gap_text = rest.get(..gap)?;
    let told = gap_text.contains(['\\', '+']);
    let lines = gap_text.matches('\n').count();
    if lines > 1 || lines == 1 && !told && !in_code {
        return None;
    }
    let at = from.saturating_add(gap);
    let begins = text.get(at..)?;
    let quote = begins.bytes().take(3).position(|b| b"\"'".contains(&b))?;
    begins.get(..quote)?.bytes().all(|b| b"bBrR".contains(&b)).then_some(())?;
    strings::quoted(text, at.saturating_add(quote))
}

#[cfg(test)]
#[allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::arithmetic_side_effects)]
mod tests {
    use super::*;

    fn found(text: &str) -> Option<(Vec<u8>, usize)> {
        find(text, 0, text.find('\n').unwrap_or(text.len())).map(|l| (l.bytes, l.wrong.len()))
    }

    #[test]
    fn arrays_of_many_languages() {
        let expected = Some((vec![0xd5, 0xf6, 0], 0));
        for text in [
            "unsigned char x[] = {0xd5, 0xf6, 0x00};",
            "unsigned char x[3] = {\n  0xd5, 0xf6,\n  0x0\n};",
            "/* a */ {0xd5, /* .}. */ 0xf6, // ]\n 0x00}",
            "let x: [u8; 3] = [0xd5, 0xf6, 0x00];",
            "x := []byte{0xd5, 0xf6, 0x00}",
            "x := [3]byte{0xd5, 0xf6, 0x00}",
            "new byte[] { 0xD5, 0xF6, 0x00 }",
            "new byte[] { (byte)0xD5, (byte)0xF6, 0x00 }",
            "[213, 246, 0]",
            "[-43, -10, 0]",
            "[d5, f6, 00]",
            "[0xd5u8, 0xf6u8, 0u8]",
            "Uint8Array(3) [ 213, 246, 0 ]",
            "{\"type\":\"Buffer\",\"data\":[213,246,0]}",
            "<Buffer d5 f6 00>",
        ] {
            assert_eq!(found(text), expected, "{text}");
        }
        assert_eq!(found("[01, 02, 10]"), Some((vec![1, 2, 0x10], 0)));
        assert_eq!(found("[1, 2, 10]"), Some((vec![1, 2, 10], 0)));
        assert_eq!(found("{'i', 4}"), Some((vec![b'i', 4], 0)));
    }

    #[test]
    fn brackets_in_prose_and_subscripts_are_no_arrays() {
        for text in [
            "[UDP] 127.0.0.1",
            "[13]",
            "x[60]",
            "[2026-11-20 10:32:02] sent",
            "don't, it's",
            "{ a, b }",
            "[] {}",
        ] {
            assert_eq!(found(text), None, "{text}");
        }
    }

    #[test]
    fn strings_are_joined_where_an_expression_goes_on() {
        assert_eq!(found("\"\\xd5\\xf6\" \\\n\"\\x00\""), Some((vec![0xd5, 0xf6, 0], 0)));
        assert_eq!(found("x = (b'\\xd5'\n     b'\\xf6\\0')"), Some((vec![0xd5, 0xf6, 0], 0)));
        assert_eq!(found("b'\\xd5'\nb'\\xf6'"), Some((vec![0xd5], 0)), "each printed for itself");
    }

    #[test]
    fn a_comment_that_is_too_long_is_words_of_the_list() {
        for [open, close] in [["/*", "*/"], ["//", "\n"], ["#", "\n"]] {
            let list = |len: usize| format!("{{0xd5, {open}{}{close} 0xf6}}", "x".repeat(len));
            assert_eq!(found(&list(MAX_COMMENT)), Some((vec![0xd5, 0xf6], 0)), "{open}");
            let (bytes, wrong) = found(&list(MAX_COMMENT + 1)).unwrap();
            assert!(bytes == [0xd5, 0xf6] && wrong > 0, "{open}: that it is no byte is said");
        }
    }

    #[test]
    fn what_is_no_byte_or_left_out_is_said() {
        let literal = find("[213, 300, 0, 1]", 0, 16).unwrap();
        assert_eq!((literal.bytes, literal.wrong[0].0), (vec![213, 0, 1], 6));
        let literal = find("<Buffer d5 f6 ... 12 more bytes>", 0, 32).unwrap();
        assert_eq!((literal.bytes.len(), literal.missing, literal.wrong.len()), (2, 12, 1));
        let literal = find("{0xd5, 0xf6", 0, 11).unwrap();
        assert!(literal.wrong[0].1.contains("no closing bracket"));
    }
}
