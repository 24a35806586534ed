//! The grammar, as far as recognition and comparison need it: commands and replies as they appear in the payload, strings, and
//! the control codes that strings must not contain. It also contains the datagrams that all examples share.

use crate::decode::wire::Stop;
use crate::protocols::prelude::{
    C, Cite, Compared, ComparedValue, Cursor, Example, Fault, Field, FieldSink, Rule, S, Span, Step, Value,
    rules,
};

/// The draft in the wiki's archive.
pub(super) const SPEC: &str = "https://github.com/DarklightGames/unrealwiki";

pub(super) const fn draft(section: &'static str) -> Cite {
    Cite { doc: "GQP draft", section, url: SPEC }
}

/// `identify` and its answer.
pub(super) const IDQ: Step = C("6964656e74696679 04");
pub(super) const IDR: Step =
    S("3130 6964656e74696679 1e 12 67616d656e616d65 1f 7574 1e 12 67616d65766572 1f 343332 \
     1e 12 6e6574766572 1f 343332 04");

/// `echo` with the argument "hi".
pub(super) const EQ: Step = C("6563686f 1e 6869 04");

/// `auth` as "bob" with the password "pw", and the challenge string "xyz".
pub(super) const AQ: Step = C("61757468 1e 626f62 1f 7077 04");
pub(super) const AR: Step = S("3130 61757468 1e 11 78797a 04");

pub(super) const SAMPLES: &[Example] = &[
    Example::of(&[IDQ, IDR]),
    // Two commands in one message, and two replies in one.
    Example::of(&[
        C("6563686f 1e 746869732074657874 1d 6563686f 1e 6d6f72652074657874 04"),
        S("3130 6563686f 1e 11 746869732074657874 1d 3130 6563686f 1e 11 6d6f72652074657874 04"),
    ]),
    // A client may use the extensions that a server announces.
    Example::of(&[
        C("657874656e73696f6e73 04"),
        S("3130 657874656e73696f6e73 1e 13 706c6179657273 1f 72756c6573 04"),
        C("706c6179657273 04"),
        S("3130 706c6179657273 1e 14 726564 1f 416e6e 1f 426f62 1e 14 626c7565 1f 5a6f65 04"),
    ]),
    // A login: the client returns the string from auth with challenge.
    Example::of(&[AQ, AR, C("6368616c6c656e6765 1e 78797a 04"), S("3130 6368616c6c656e6765 1e 06 04")]),
    // A command that the admin has disabled.
    Example::of(&[C("6563686f 04"), S("3330 6563686f 1e 06 04")]),
];

// --- Commands and replies

/// Control codes.
pub(super) const SOH: u8 = 0x01;
pub(super) const STX: u8 = 0x02;
pub(super) const ETX: u8 = 0x03;
pub(super) const EOT: u8 = 0x04;
pub(super) const ACK: u8 = 0x06;
pub(super) const DLE: u8 = 0x10;
pub(super) const DC1: u8 = 0x11;
pub(super) const DC2: u8 = 0x12;
pub(super) const DC4: u8 = 0x14;
pub(super) const ETB: u8 = 0x17;
pub(super) const GS: u8 = 0x1d;
pub(super) const RS: u8 = 0x1e;
pub(super) const US: u8 = 0x1f;

/// A command that every server should know, and its number of arguments.
#[derive(Debug)]
pub(super) struct Required {
    pub name: &'static str,
    /// `None` if it takes any number.
    pub arguments: Option<usize>,
}

pub(super) static REQUIRED: [Required; 5] = [
    Required { name: "identify", arguments: Some(0) },
    Required { name: "echo", arguments: None },
    Required { name: "auth", arguments: Some(2) },
    Required { name: "challenge", arguments: Some(1) },
    Required { name: "extensions", arguments: Some(0) },
];

/// Finds a required command by its name.
pub(super) fn required(name: &[u8]) -> Option<&'static Required> {
    REQUIRED.iter().find(|r| r.name.as_bytes() == name)
}

/// Whether a string may contain a byte. Bytes beyond ASCII are tolerated.
pub(super) const fn is_printable(b: u8) -> bool {
    b >= 0x20 && b != 0x7f
}

/// Whether a string contains only such bytes.
pub(super) fn is_string(text: &[u8]) -> bool {
    text.iter().all(|b| is_printable(*b))
}

/// Splits the text before the first of these bytes.
pub(super) fn split_before<'a>(text: &'a [u8], ends: &[u8]) -> (&'a [u8], &'a [u8]) {
    let at = text.iter().position(|b| ends.contains(b)).unwrap_or(text.len());
    text.split_at_checked(at).unwrap_or((text, &[]))
}

/// The body of a message: the bytes before EOT.
pub(super) fn body(payload: &[u8]) -> &[u8] {
    split_before(payload, &[EOT]).0
}

/// A piece of a message, and its offset in the payload.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece<'a> {
    pub text: &'a [u8],
    pub at: usize,
}

impl Piece<'_> {
    /// Whether the piece is encoded by itself. Then neither it nor the rest of the message can be read.
    pub fn is_encoded(&self) -> bool {
        self.text.first() == Some(&SOH)
    }
}

/// The name of the encoding at the beginning of a message, and the bytes after it; `None` if the message has no encoding.
pub(super) fn encoding(payload: &[u8]) -> Option<(&[u8], &[u8])> {
    payload.strip_prefix(&[SOH]).map(|rest| split_before(rest, &[ACK, EOT]))
}

/// The commands or replies of a message, which GS separates.
pub(super) fn pieces(payload: &[u8]) -> impl Iterator<Item = Piece<'_>> {
    let mut at = 0usize;
    body(payload).split(|b| *b == GS).map(move |text| {
        let piece = Piece { text, at };
        at = at.saturating_add(text.len()).saturating_add(1);
        piece
    })
}

/// Name and arguments of a command. A second RS is treated as US.
#[derive(Clone, Copy, Debug)]
pub(super) struct Command<'a> {
    pub name: &'a [u8],
    /// Arguments, including the first separator.
    arguments: &'a [u8],
}

impl<'a> Command<'a> {
    pub fn of(piece: &'a [u8]) -> Command<'a> {
        let (name, arguments) = split_before(piece, &[RS, US]);
        Command { name, arguments }
    }

    pub fn arguments(self) -> impl Iterator<Item = &'a [u8]> {
        self.arguments.split(|b| matches!(*b, RS | US)).skip(1)
    }

    /// Whether RS comes first and only once, and no string contains control codes.
    pub fn is_clean(&self) -> bool {
        let tail = self.arguments.get(1..).unwrap_or_default();
        is_string(self.name) && self.arguments.first() != Some(&US) && tail.split(|b| *b == US).all(is_string)
    }
}

/// Status, name and data of a reply.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reply<'a> {
    /// The number that two digits form.
    pub status: Option<u8>,
    pub name: &'a [u8],
    /// The data after RS; `None` if there is no RS.
    data: Option<&'a [u8]>,
}

impl<'a> Reply<'a> {
    pub fn of(piece: &'a [u8]) -> Reply<'a> {
        let status = status(piece);
        let rest = if status.is_some() { piece.get(2..).unwrap_or_default() } else { piece };
        let (name, data) = split_before(rest, &[RS]);
        Reply { status, name: name.trim_ascii_start(), data: data.split_first().map(|(_, data)| data) }
    }

    /// The values of all records, without marks. ACK has no values.
    pub fn values(&self) -> impl Iterator<Item = &'a [u8]> {
        let values = |record: &'a [u8]| {
            let values = match record.split_first() {
                Some((&ACK, [])) => return None,
                Some((&(STX | DC1..=DC4), values)) => values,
                _ => record,
            };
            Some(values.split(|b| *b == US))
        };
        let data = self.data.filter(|data| !data.is_empty());
        data.into_iter().flat_map(|data| data.split(|b| *b == RS)).filter_map(values).flatten()
    }

    /// Whether it has a status, RS, and a mark in its first record.
    pub fn is_marked(&self) -> bool {
        self.status.is_some() && self.data.is_some_and(|d| matches!(d.first(), Some(&(ACK | DC1..=DC4))))
    }
}

/// The value that a reply to identify gives for a name, in Latin-1.
pub(super) fn identity<'a>(payload: &'a [u8], name: &str) -> Option<&'a [u8]> {
    let mut replies = pieces(payload).map(|piece| Reply::of(piece.text));
    let identify = replies.find(|r| r.status == Some(10) && r.name == b"identify")?;
    let mut values = identify.values();
    values.find(|v| *v == name.as_bytes())?;
    values.next()
}

/// The status at the start of a reply: two ASCII digits.
pub(super) fn status(reply: &[u8]) -> Option<u8> {
    match *reply {
        [tens @ b'0'..=b'9', ones @ b'0'..=b'9', ..] => {
            let digit = |d: u8| d.wrapping_sub(b'0');
            Some(digit(tens).wrapping_mul(10).wrapping_add(digit(ones)))
        }
        _ => None,
    }
}

// --- Strings

rules! {
    /// NUL, TAB, LF and the like, or a code that means something elsewhere. The author wants no zero
    /// bytes: a string holds printable characters only.
    CHR_001 = "GQP-CHR-001" Error "string contains a control character" {
        cite: draft("Grammar, STRING"),
        examples: [Example::of(&[C("6563686f 1e 610062 04")])],
    }
    /// The grammar speaks of the ASCII table, its author of "plain 8bit ASCII". Bytes beyond ASCII are
    /// shown as Latin-1.
    CHR_002 = "GQP-CHR-002" Note "string contains a byte beyond ASCII" {
        cite: draft("Discussion"),
        strict: Warning,
        examples: [Example::of(&[C("6563686f 1e 636166e9 04")])],
    }
    /// It is a control code, though not one of the first 32.
    CHR_003 = "GQP-CHR-003" Warning "string contains DEL" {
        cite: draft("Grammar, STRING"),
        examples: [Example::of(&[C("6563686f 1e 617f 04")])],
    }
    /// The draft lists STX, ETX, DLE and ETB as control codes, but no rule of its grammar uses them.
    CHR_004 = "GQP-CHR-004" Warning "string contains a listed control code that the grammar does not use" {
        cite: draft("Reference, ASCII Table"),
        examples: [Example::of(&[C("6563686f 1e 6103 04")])],
    }
}

/// A rule, and whether a byte breaks it.
pub(super) type Forbidden = (&'static Rule, fn(u8) -> bool);

/// The bytes that no string may contain, whatever it is for.
pub(super) static EVERYWHERE: [Forbidden; 4] = [
    (&CHR_001, |b| b < 0x20 && !is_unused(b)),
    (&CHR_002, |b| b >= 0x80),
    (&CHR_003, |b| b == 0x7f),
    (&CHR_004, is_unused),
];

fn is_unused(b: u8) -> bool {
    matches!(b, STX | ETX | DLE | ETB)
}

/// Reads and checks a string up to one of `ends`. `before` bytes in front of it are separators and marks that belong to it.
pub(super) fn string<'a, S: FieldSink>(
    c: &mut Cursor<'a, '_, S>,
    field: &'static Field,
    before: usize,
    ends: &[u8],
    rules: &[Forbidden],
) -> Result<&'a [u8], Fault> {
    let text = c.field_as(field, text(before, ends), Value::Latin1)?;
    if S::COVERAGE {
        rules.iter().for_each(|(rule, _)| c.check(rule, || true));
    }
    if S::RULES && !text.iter().all(|b| matches!(b, 0x20..=0x7e)) {
        let start = c.last().end.saturating_sub(text.len() as u16);
        for (rule, wrong) in rules {
            if let Some(i) = text.iter().position(|b| wrong(*b)) {
                let start = start.saturating_add(i as u16);
                c.compare_at(
                    rule,
                    Span { start, end: start.saturating_add(1) },
                    || false,
                    || {
                        Compared::new(
                            ComparedValue::byte(text.get(i).copied().unwrap_or_default()),
                            "printable ASCII",
                        )
                    },
                );
            }
        }
    }
    Ok(text)
}

/// A nom parser: skips `before` bytes and takes the text before one of `ends`, or before an ETB at the end of the datagram,
/// which separates blocks.
fn text<'a>(before: usize, ends: &[u8]) -> impl Fn(&'a [u8]) -> nom::IResult<&'a [u8], &'a [u8], Stop> {
    move |input| {
        let Some(rest) = input.get(before..) else { return Err(nom::Err::Error(Stop::Short(before as u32))) };
        let (mut text, mut rest) = split_before(rest, ends);
        if let (true, Some((&ETB, kept))) = (rest.is_empty(), text.split_last()) {
            rest = text.get(kept.len()..).unwrap_or_default();
            text = kept;
        }
        Ok((rest, text))
    }
}

#[cfg(test)]
#[allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::arithmetic_side_effects)]
mod tests {
    use super::*;

    fn strings<'a>(all: impl Iterator<Item = &'a [u8]>) -> Vec<&'a str> {
        all.map(|s| std::str::from_utf8(s).unwrap()).collect()
    }

    #[test]
    fn splits_commands_and_arguments() {
        let found: Vec<_> =
            pieces(b"echo\x1ea\x1f\x1db\x04rest").map(|p| (p.at, Command::of(p.text))).collect();
        assert_eq!(found.len(), 2);
        assert_eq!(
            (found[0].0, found[0].1.name, found[1].0, found[1].1.name),
            (0, &b"echo"[..], 8, &b"b"[..])
        );
        assert_eq!(strings(found[0].1.arguments()), ["a", ""]);
        assert_eq!(strings(Command::of(b"identify\x1e").arguments()), [""]);
        assert_eq!(Command::of(b"identify").arguments().count(), 0);
        assert!(Command::of(b"echo\x1ea\x1fb").is_clean());
        assert!(!Command::of(b"echo\x1fa").is_clean() && !Command::of(b"echo\x1ea\x1eb").is_clean());
        assert_eq!(pieces(b"\x04").count(), 1, "an empty command is one");
    }

    #[test]
    fn splits_replies_into_status_name_and_values() {
        let reply = Reply::of(b"10identify\x1e\x12gamename\x1fut\x1e\x11x");
        assert_eq!((reply.status, reply.name), (Some(10), &b"identify"[..]));
        assert_eq!(strings(reply.values()), ["gamename", "ut", "x"]);
        assert!(reply.is_marked());
        assert_eq!(Reply::of(b"30auth\x1e\x06").values().count(), 0);
        assert_eq!(Reply::of(b"10echo\x1e").values().count(), 0);
        assert_eq!(strings(Reply::of(b"10 echo\x1e\x02hi").values()), ["hi"]);
        assert_eq!((Reply::of(b"echo").status, Reply::of(b"echo").name), (None, &b"echo"[..]));
    }
}
