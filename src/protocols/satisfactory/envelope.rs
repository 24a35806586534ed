//! The envelope of every message, and the poll.

use super::exchange::TXN_007;
use super::samples::*;
use super::state::{RSP_001, RSP_004, RSP_005};
use super::{MAGIC, state};
use crate::decode::wire::*;
use crate::decode::{Cursor, Ends, Fault, Field, FieldSink, Labels, Span, fields};
use crate::protocols::{Context, Direction};
use crate::rule::{Example, Rule, Step::*, rules};

fields! {
    /// 0xF6D5 in every message.
    PROTOCOL_MAGIC = "protocol_magic": Uint;
    /// 0 poll, 1 state response.
    MESSAGE_TYPE = "message_type": Uint, Labels::FromZero(&["poll", "state response"]);
    /// 1; 0 in messages from before the game's 1.0.
    PROTOCOL_VERSION = "protocol_version": Uint;
    /// Identifier of the request, copied back; opaque. Clients use a time or a constant.
    COOKIE = "cookie": Uint64;
    /// Bytes before the terminator that belong to no field.
    PAYLOAD_SURPLUS = "payload_surplus": Bytes;
    /// 1, the last byte.
    TERMINATOR = "terminator": Uint;
    /// Bytes behind the end of the message.
    SURPLUS = "surplus": Bytes;
}

rules! {
    /// Magic, type, version and terminator are five bytes. In a known conversation an empty datagram or
    /// half the magic counts too.
    ENV_001 = "SFQ-ENV-001" Error "message is shorter than its envelope" {
        cite: api("Protocol"),
        examples: [Example::of(&[C("d5f6 00 01")])],
    }
    /// Numbers are little-endian, so the message starts with D5 F6. F6 D5 is the same number with its bytes
    /// swapped; anything else stands where the answer to an open poll belongs.
    ENV_002 = "SFQ-ENV-002" Error "magic is not 0xF6D5" {
        cite: api("Protocol"),
        examples: [Example::of(&[C("f6d50001efcdab896745230101")])],
    }
    /// Only polls (0) and state responses (1) exist.
    ENV_003 = "SFQ-ENV-003" Error "message type is neither 0 nor 1" {
        cite: api("Protocol, message types"),
        examples: [Example::of(&[C("d5f6 02 01 efcdab8967452301 01")])],
    }
    /// Version 1 is the current one. Version 0, before the game's 1.0, never had this envelope.
    ENV_004 = "SFQ-ENV-004" Error "protocol version is not 1" {
        cite: api("Protocol"),
        examples: [Example::of(&[C("d5f6 00 02 efcdab8967452301 01")])],
    }
    /// Messages that do not end with 0x01 are discarded: Unreal takes the highest bit set in the last byte
    /// as the end of the data, and refuses a last byte of 0.
    ENV_005 = "SFQ-ENV-005" Error "last byte is not the terminator" {
        cite: api("Protocol"),
        examples: [Example::of(&[C("d5f6 00 01 efcdab8967452301 00")])],
    }
    /// The name is the last field of the payload.
    ENV_006 = "SFQ-ENV-006" Warning "bytes stand between server name and terminator" {
        cite: api("Server State"),
        examples: [Example::of(&[PQ, S("d5f6 01 01 efcdab8967452301 03 7a960500 0000000000000000 04 0011000101000305000201000300466162aa01")])],
    }
    /// Its cookie is incomplete, or the terminator is missing.
    REQ_001 = "SFQ-REQ-001" Error "poll is shorter than 13 bytes" {
        cite: api("Poll Server State"),
        examples: [Example::of(&[C("d5f6 00 01 efcdab8967452301")])],
    }
    /// Bytes stand between cookie and terminator.
    REQ_002 = "SFQ-REQ-002" Warning "poll is longer than 13 bytes" {
        cite: api("Poll Server State"),
        examples: [Example::of(&[C("d5f6 00 01 efcdab8967452301 0001")])],
    }
    /// The cookie should be a unique identifier of the request.
    REQ_004 = "SFQ-REQ-004" Note "cookie is 0" {
        cite: api("Poll Server State"),
        strict: Warning,
        examples: [Example::of(&[C("d5f6 00 01 0000000000000000 01")])],
    }
    /// A state response from the client, or a poll from the server.
    REQ_005 = "SFQ-REQ-005" Error "message type contradicts the direction" {
        cite: api("Protocol, message types"),
        examples: [Example::of(&[PQ, OK, C("d5f6 01 01 efcdab8967452301 037a960500000000000000000004001100010100030500020100030046616201")])],
    }
}

pub(super) static ENVELOPE: Ends = Ends::new(&ENV_001, &ENV_006, &SURPLUS);
static POLL: Ends = Ends::new(&REQ_001, &REQ_002, &SURPLUS);

#[inline(always)]
pub(super) fn decode<S: FieldSink>(c: &mut Cursor<'_, '_, S>, cx: Context) -> Result<(), Fault> {
    let magic = c.field(&PROTOCOL_MAGIC, le_u16)?;
    c.require(&ENV_002, magic == MAGIC)?;
    let kind = c.field(&MESSAGE_TYPE, byte)?;
    c.require(&ENV_003, kind <= 1)?;
    let by_server = cx.direction == Direction::S2c;
    c.check(&REQ_005, || (kind == 1) == by_server);
    let version = c.field(&PROTOCOL_VERSION, byte)?;
    c.check(&ENV_004, || version == 1);
    c.check(&TXN_007, || version == 1 || cx.asked != Some(1) || !by_server);
    if c.rest().is_empty() {
        return Err(c.short(&ENV_001));
    }
    let out = if kind == 1 { state::decode(c) } else { poll(c) };
    out.map_err(|fault| c.apart(|c| cut_short(c, fault)))
}

#[inline(always)]
fn poll<S: FieldSink>(c: &mut Cursor<'_, '_, S>) -> Result<(), Fault> {
    c.ends(&POLL);
    let cookie = c.field(&COOKIE, le_u64)?;
    c.check(&REQ_004, || cookie != 0);
    if c.rest().is_empty() {
        c.about(Some(&TERMINATOR));
        return Err(c.short(&REQ_001));
    }
    terminator(c, &REQ_001, &REQ_002)
}

/// A message that was cut short has lost its terminator, too, unless its last byte looks like one: that is told behind
/// its cause.
#[cold]
#[inline(never)]
fn cut_short<S: FieldSink>(c: &mut Cursor<'_, '_, S>, fault: Fault) -> Fault {
    let whole = c.whole();
    let lost = [&RSP_001, &RSP_004, &RSP_005, &REQ_001].contains(&fault.rule) && c.last_byte() != Some(1);
    if !lost {
        return fault;
    }
    c.tell(fault);
    let at = Span { start: whole.end.saturating_sub(1), ..whole };
    Fault { rule: &ENV_005, at, field: Some(&TERMINATOR), needs: 0 }
}

/// The terminator, which is the last byte. `none` says that there is no byte left for it, `more` that
/// others stand before it.
#[inline(always)]
pub(super) fn terminator<S: FieldSink>(
    c: &mut Cursor<'_, '_, S>,
    none: &'static Rule,
    more: &'static Rule,
) -> Result<(), Fault> {
    let before = c.rest().len().saturating_sub(1);
    if c.is_cut() {
        c.about(Some(&TERMINATOR));
        return Err(c.short(none));
    }
    if c.rest().is_empty() {
        // Everything before it was read, and is told.
        let at = c.to_end();
        c.about(Some(&TERMINATOR));
        c.check_at(none, at, || false);
        return Ok(());
    }
    if before > 0 {
        c.apart(|c| surplus(c, &PAYLOAD_SURPLUS, before, more))?;
    }
    let last = c.field(&TERMINATOR, byte)?;
    c.check(&ENV_005, || last == 1);
    Ok(())
}

#[cold]
fn surplus<S: FieldSink>(
    c: &mut Cursor<'_, '_, S>,
    field: &'static Field,
    len: usize,
    rule: &'static Rule,
) -> Result<(), Fault> {
    c.field(field, bytes(len))?;
    c.check(rule, || false);
    Ok(())
}
