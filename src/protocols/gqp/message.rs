//! The message as a whole: encoding, commands or replies, end.
//!
//! ```text
//! request   [ SOH encoding ACK ] command { GS command } EOT
//! response  [ SOH encoding ACK ] reply { GS reply } EOT
//! ```
//!
//! Where a message spans datagrams, each part is decoded by itself. What was cut at its start or its
//! end is not judged.

use super::grammar::*;
use super::samples::*;
use super::strings::{EVERYWHERE, string};
use super::{FRAGMENT, UNKNOWN, reply, request};
use crate::decode::wire::*;
use crate::decode::{Cursor, Ends, Fault, Field, FieldSink, Span, Value, Version, fields};
use crate::protocols::{Context, Direction};
use crate::rule::{Example, Step::*, rules};

fields! {
    /// Name of the encoding of the body, chosen by who implements it.
    ENCODING = "encoding": Text;
    /// Body in that encoding.
    ENCODED_BODY = "encoded_body": Bytes;
    /// Its length in bytes.
    ENCODED_BYTES = "encoded_bytes": Uint;
    /// Commands, or replies to them.
    COMMANDS = "commands": List;
    /// One of them.
    COMMAND = "commands[]": Group;
    /// Name of the encoding of a single command.
    COMMAND_ENCODING = "commands[].encoding": Text;
    /// What follows in that encoding.
    COMMAND_BODY = "commands[].encoded_body": Bytes;
    /// ETB (23) at the end of a datagram: more follows.
    BLOCK_END = "block_end": Uint;
    /// EOT (4), the end of the message.
    TERMINATOR = "terminator": Uint;
    /// Bytes behind the end of the message.
    SURPLUS = "surplus": Bytes;
}

rules! {
    /// Every message ends with EOT. No further part came within two seconds.
    FRM_001 = "GQP-FRM-001" Error "message never reaches its end" {
        cite: draft("Grammar"),
        examples: [Example::of(&[C("6964656e74696679")])],
    }
    /// A reader stops at EOT: what follows is lost.
    FRM_002 = "GQP-FRM-002" Error "bytes follow the end of the message" {
        cite: draft("Server response data, discussion of blocks"),
        examples: [Example::of(&[C("6964656e74696679 04 78")])],
    }
    /// The draft allows it, but parts carry no number: a lost or reordered one cannot be seen.
    FRM_003 = "GQP-FRM-003" Warning "message spans several datagrams" {
        cite: draft("Server response data, discussion of blocks"),
        examples: [Example::of(&[C("6964656e74"), C("696679 04"), IDR])],
    }
    /// Proposed in the discussion and refused by the author: the grammar does not have it.
    FRM_004 = "GQP-FRM-004" Warning "datagram ends with ETB as the end of a block" {
        cite: draft("Server response data, discussion of blocks"),
        examples: [Example::of(&[C("6964656e74 17"), C("696679 04"), IDR])],
    }
    /// The draft's table has ETB with the columns for hex and decimal exchanged: 23 is its decimal value,
    /// and hex 23 is a number sign.
    FRM_005 = "GQP-FRM-005" Warning "datagram ends with a number sign in place of ETB" {
        cite: draft("Reference, ASCII Table"),
        examples: [Example::of(&[C("6964656e74 23"), C("696679 04"), IDR])],
    }
    /// SOH opens the name of an encoding, ACK closes it.
    ENC_001 = "GQP-ENC-001" Error "name of the encoding does not end" {
        cite: draft("Grammar, ENCODED"),
        examples: [Example::of(&[C("01 627a697032 04")])],
    }
    /// The grammar has it at the start of a message only, the prose before a command too.
    ENC_002 = "GQP-ENC-002" Warning "encoding begins inside the message" {
        cite: draft("Encoding"),
        examples: [Example::of(&[C("6563686f 1e 61 1d 01 78 06 6563686f 1e 62 04")])],
    }
    /// The choice of the encoding is up to the implementor, so that the body cannot be read here.
    ENC_003 = "GQP-ENC-003" Note "message is encoded" {
        cite: draft("Encoding"),
        examples: [Example::of(&[C("01 627a697032 06 425a6839 04")])],
    }
    /// Data is encoded up to EOT, and binary data may contain it. The last one of the datagram is taken
    /// for the end.
    ENC_004 = "GQP-ENC-004" Warning "encoded body contains the end of the message" {
        cite: draft("Encoding"),
        examples: [Example::of(&[C("01 627a697032 06 425a04 6839 04")])],
    }
    /// A string may be empty, but the name of an encoding that is says nothing.
    ENC_006 = "GQP-ENC-006" Warning "name of the encoding is empty" {
        cite: draft("Encoding"),
        examples: [Example::of(&[IDQ, IDR, C("01 06 78 04")])],
    }
}

pub(super) static ENDS: Ends = Ends::new(&FRM_001, &FRM_002, &SURPLUS);

/// What a command or reply must know of the message around it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Around {
    /// It begins the message: nothing separates it from what is before.
    pub first: bool,
    /// Its beginning stood in an earlier datagram.
    pub continues: bool,
    /// Its end is not in this datagram.
    pub open: bool,
}

impl Around {
    /// Bytes that separate a command or reply, which is the rest of a message, from the one before.
    pub fn separator(self, rest: &[u8]) -> usize {
        usize::from(!self.first && rest.first() == Some(&GS))
    }
}

pub(super) fn decode<S: FieldSink>(c: &mut Cursor<'_, '_, S>, cx: Context) -> Result<(), Fault> {
    let whole = c.rest();
    if cx.message == UNKNOWN || whole.is_empty() {
        return Err(c.short(&FRM_001));
    }
    if whole.first() == Some(&SOH) && !cx.continues {
        return encoded(c, cx);
    }
    let ended = whole.contains(&EOT);
    let answers = cx.direction == Direction::S2c;
    let mut count = 0u16;
    c.list(
        &COMMANDS,
        |c, done| done == 0 || c.rest().first() == Some(&GS),
        |c| {
            let last = !c.rest().iter().skip(1).any(|b| *b == GS);
            // What begins with GS is a whole one.
            let rest = cx.continues && count == 0 && whole.first() != Some(&GS);
            let first = count == 0 && !cx.continues;
            let around = Around { first, continues: rest, open: !ended && last };
            count = count.saturating_add(1);
            c.group(&COMMAND, |c| match c.rest() {
                [GS, SOH, ..] if !first => encoded_command(c),
                [SOH, ..] => encoded_command(c),
                _ if answers => reply::decode(c, around),
                _ => request::decode(c, around),
            })
        },
    )?;
    if !answers {
        c.about(Some(&COMMANDS));
        let all = c.whole();
        c.check_at(&request::REQ_007, all, || usize::from(count) <= request::MANY);
    }
    end(c, cx, whole.last() == Some(&b'#'))?;
    if answers && cx.message != FRAGMENT && !cx.continues {
        let identity = |name| identity(whole, name).map(Value::Latin1);
        (c.facts.game, c.facts.version) = (identity("gamename"), identity("gamever").map(Version::Text));
    }
    Ok(())
}

/// The end of the message, or of a part of it.
fn end<S: FieldSink>(c: &mut Cursor<'_, '_, S>, cx: Context, number_sign: bool) -> Result<(), Fault> {
    if c.is_cut() && c.rest().is_empty() {
        return Err(c.short(&FRM_001)); // GEN-001, rather
    }
    if c.rest() == [ETB] {
        c.field(&BLOCK_END, byte)?;
        c.check(&FRM_004, || false);
    }
    if !c.rest().is_empty() {
        return c.field(&TERMINATOR, byte).map(drop);
    }
    let end = c.offset();
    let last = Span { start: end.saturating_sub(1), end };
    c.about(Some(&COMMANDS));
    let part = cx.message == FRAGMENT;
    if part {
        c.check_at(&FRM_003, last, || false);
    }
    c.check_at(&FRM_005, last, || !number_sign);
    if part { Ok(()) } else { Err(c.short(&FRM_001)) }
}

/// A message in an encoding: its body is opaque.
fn encoded<S: FieldSink>(c: &mut Cursor<'_, '_, S>, cx: Context) -> Result<(), Fault> {
    let encoding = string(c, &ENCODING, 1, &[ACK, EOT], &EVERYWHERE)?;
    let cut = c.is_cut() && c.rest().is_empty();
    c.check(&ENC_006, || cut || !encoding.is_empty());
    c.require(&ENC_001, matches!(c.rest().first(), None | Some(&ACK)))?;
    let body = if c.rest().is_empty() { &[][..] } else { encoded_body(c, &ENCODED_BODY)? };
    c.derived(&ENCODED_BYTES, Value::Uint(body.len() as u32));
    let all = Span { start: 0, end: c.offset() };
    c.check_at(&ENC_003, all, || false);
    end(c, cx, false)
}

/// ACK and the encoded bytes up to the last EOT of the datagram.
fn encoded_body<'a, S: FieldSink>(
    c: &mut Cursor<'a, '_, S>,
    field: &'static Field,
) -> Result<&'a [u8], Fault> {
    let inside = c.rest().get(1..).unwrap_or_default();
    // Where the capture cut it, the last EOT is not there.
    let last = inside.iter().rposition(|b| *b == EOT).filter(|_| !c.is_cut());
    let length = last.unwrap_or(inside.len());
    let body = c.field_as(field, behind_ack(length), Value::Bytes)?;
    c.check(&ENC_004, || !body.contains(&EOT));
    Ok(body)
}

/// A nom parser: ACK, then that many bytes.
fn behind_ack<'a>(len: usize) -> impl Fn(&'a [u8]) -> Wire<'a, &'a [u8]> {
    move |i| bytes(len)(byte(i)?.0)
}

/// A command that begins as an encoded message does: what follows, up to the end, is opaque.
fn encoded_command<S: FieldSink>(c: &mut Cursor<'_, '_, S>) -> Result<(), Fault> {
    let before = if c.rest().first() == Some(&GS) { 2 } else { 1 };
    let encoding = string(c, &COMMAND_ENCODING, before, &[ACK, EOT], &EVERYWHERE)?;
    c.check(&ENC_002, || false);
    let next = c.rest().first();
    c.check(&ENC_006, || next.is_none() || !encoding.is_empty());
    c.check(&ENC_001, || next != Some(&EOT));
    if c.rest().first() == Some(&ACK) {
        encoded_body(c, &COMMAND_BODY)?;
    }
    Ok(())
}
