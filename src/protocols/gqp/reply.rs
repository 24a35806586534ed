//! Replies of a response.
//!
//! ```text
//! reply   digit digit name RS data        data    ACK, or record { RS record }
//! record  DC1 text                        a text
//!         DC2 name US value               a pair
//!         DC3 item { US item }            an array
//!         DC4 label { US item }           an array with a label
//! ```
//!
//! The draft's own examples have records without a mark, and STX for DC1: both are read as they are meant.

use super::grammar::*;
use super::message::Around;
use super::samples::*;
use super::strings::{CHR_001, CHR_002, CHR_003, CHR_004, EVERYWHERE, Forbidden, string};
use crate::decode::wire::*;
use crate::decode::{Cursor, Fault, FieldSink, Labels, Span, Value, fields};
use crate::rule::{Example, Step::*, rules};

fields! {
    /// Status: 10 OK, 20 and above what went wrong.
    STATUS = "commands[].status": Uint, Labels::Pairs(&STATUSES);
    /// The same by name.
    STATUS_NAME = "commands[].status_name": Named;
    /// Records of the reply.
    RECORDS = "commands[].records": List;
    /// One record.
    RECORD = "commands[].records[]": Group;
    /// The reply holds nothing but ACK.
    ACKNOWLEDGED = "commands[].records[].ack": Bool;
    /// The record as sent, where it has no mark of the grammar.
    RAW = "commands[].records[].raw": Text;
    /// Kind of the record, by its mark.
    TYPE = "commands[].records[].type": Named;
    /// Values of the record.
    VALUES = "commands[].records[].values": List;
    /// One value.
    VALUE = "commands[].records[].values[]": Text;
}

rules! {
    /// A reply begins with the status, two ASCII digits.
    RSP_001 = "GQP-RSP-001" Error "reply does not begin with two digits" {
        cite: draft("Grammar, STATUS-CODE"),
        examples: [Example::of(&[IDQ, S("6964656e74696679 1e 06 04")])],
    }
    /// Known are 10, 20 to 23, 30 to 32, 40 and 41.
    RSP_002 = "GQP-RSP-002" Warning "status is not in the table" {
        cite: draft("Status Codes"),
        examples: [Example::of(&[IDQ, S("3939 6964656e74696679 1e 06 04")])],
    }
    /// RS stands between the name and the data, even where the data is ACK.
    RSP_003 = "GQP-RSP-003" Error "no RS behind the name of the command" {
        cite: draft("Grammar, COMMAND-REPLY"),
        examples: [Example::of(&[IDQ, S("3330 6964656e74696679 04")])],
    }
    /// The first byte has the value of a status, where its two digits belong.
    RSP_004 = "GQP-RSP-004" Error "status is written in binary" {
        cite: draft("Grammar, STATUS-CODE"),
        examples: [Example::of(&[IDQ, S("0a 6964656e74696679 1e 06 04")])],
    }
    /// Data is ACK or at least one record, and a record begins with its mark.
    RSP_005 = "GQP-RSP-005" Error "data or record is empty" {
        cite: draft("Grammar, DATA"),
        examples: [Example::of(&[IDQ, S("3130 6964656e74696679 1e 04")])],
    }
    /// The draft's second example shows such a reply. Only its position tells which command it answers.
    RSP_006 = "GQP-RSP-006" Note "reply does not name its command" {
        cite: draft("Example queries"),
        examples: [Example::of(&[IDQ, IDR, C("6e6f7065 04"), S("3230 1e 06 04")])],
    }
    /// The draft's examples print a blank there to be readable; the grammar has none.
    RSP_007 = "GQP-RSP-007" Warning "blank between status and name" {
        cite: draft("Example queries"),
        examples: [Example::of(&[EQ, S("3130 20 6563686f 1e 11 6869 04")])],
    }
    /// The answer to identify holds gamename, gamever and netver.
    RSP_008 = "GQP-RSP-008" Warning "identify lacks gamename, gamever or netver" {
        cite: draft("Required commands, identify"),
        examples: [Example::of(&[IDQ, S("3130 6964656e74696679 1e 12 67616d656e616d65 1f 7574 04")])],
    }
    /// ACK stands for a reply without data, so it is alone.
    RSP_009 = "GQP-RSP-009" Error "ACK stands beside other data" {
        cite: draft("Grammar, DATA"),
        examples: [Example::of(&[IDQ, S("3331 6964656e74696679 1e 06 1e 11 78 04")])],
    }
    /// The grammar demands the mark, but the draft's own identify leaves it out. With one US it is read as
    /// a pair, else as text.
    REC_001 = "GQP-REC-001" Warning "record has no mark" {
        cite: draft("Example queries"),
        lenient: Note,
        examples: [Example::of(&[IDQ, S("3130 6964656e74696679 1e 67616d656e616d65 1f 7574 1e 67616d65766572 1f 343332 1e 6e6574766572 1f 343332 04")])],
    }
    /// The grammar says DC1, the draft's examples STX. It is read as text.
    REC_002 = "GQP-REC-002" Warning "record is marked with STX" {
        cite: draft("Example queries"),
        lenient: Note,
        examples: [Example::of(&[EQ, S("3130 6563686f 1e 02 6869 04")])],
    }
    /// DC1 marks one string; several are an array, marked with DC3.
    REC_003 = "GQP-REC-003" Error "text has more than one value" {
        cite: draft("Grammar, RECORD"),
        examples: [Example::of(&[EQ, S("3130 6563686f 1e 11 68 1f 69 04")])],
    }
    /// DC2 marks a name and its value, with one US between them.
    REC_004 = "GQP-REC-004" Error "pair has not exactly two values" {
        cite: draft("Grammar, RECORD"),
        examples: [Example::of(&[IDQ, S("3130 6964656e74696679 1e 12 67616d656e616d65 04")])],
    }
    /// DC4 marks a label and the elements behind it; here is the label only.
    REC_005 = "GQP-REC-005" Note "labelled array is empty" {
        cite: draft("Grammar, RECORD"),
        examples: [Example::of(&[EQ, S("3130 6563686f 1e 14 6869 04")])],
    }
    /// A mark is neither printable nor a separator: it begins a record, or is out of place.
    REC_006 = "GQP-REC-006" Error "mark of a record stands inside a record" {
        cite: draft("Grammar, RECORD"),
        examples: [Example::of(&[EQ, S("3130 6563686f 1e 11 68 12 69 04")])],
    }
}

static STATUSES: [(i32, &str); 10] = [
    (10, "OK"),
    (20, "Unknown command"),
    (21, "Unsupported feature"),
    (22, "Incorrect number of arguments"),
    (23, "Invalid argument"),
    (30, "Disabled"),
    (31, "Temporarily unavailable"),
    (32, "Unauthorised"),
    (40, "Unsupported encoding"),
    (41, "Decode error"),
];

static TYPES: [&str; 4] = ["text", "pair", "array", "labeled_array"];

/// What a string inside a record breaks.
static INSIDE: [Forbidden; 6] = [
    (&REC_006, |b| matches!(b, DC1..=DC4)),
    (&RSP_009, |b| b == ACK),
    (&CHR_001, |b| b < 0x20 && !matches!(b, DC1..=DC4 | ACK | STX | ETX | DLE | ETB)),
    (&CHR_002, |b| b >= 0x80),
    (&CHR_003, |b| b == 0x7f),
    (&CHR_004, |b| matches!(b, STX | ETX | DLE | ETB)),
];

pub(super) fn decode<S: FieldSink>(c: &mut Cursor<'_, '_, S>, around: Around) -> Result<(), Fault> {
    let start = c.offset();
    let status = read_status(c, around)?;
    let separator = if status.is_none() { around.separator(c.rest()) } else { 0 };
    let blanks = c.rest().get(separator..).unwrap_or_default();
    let blanks = blanks.iter().take_while(|b| **b == b' ').count();
    let before = separator.saturating_add(blanks);
    // Of a reply begun in the datagram before, this is the rest of anything.
    let rules: &[Forbidden] = if around.continues { &[] } else { &EVERYWHERE };
    let name = string(c, &super::request::NAME, before, &[GS, RS, US, EOT], rules)?;
    c.check(&RSP_007, || blanks == 0 || around.continues);
    let whole = !around.continues && !around.open;
    c.check(&RSP_006, || !name.is_empty() || status.is_none() || !whole);
    let at = Span { start, end: c.offset() };
    let data = matches!(c.rest().first(), Some(&RS));
    c.check_at(&RSP_003, at, || data || !whole);
    let mut seen = 0u8;
    records(c, around, &mut seen)?;
    let at = Span { start, end: c.offset() };
    c.about(Some(&RECORDS));
    let lacking = status == Some(10) && name == b"identify" && seen != ALL_NAMES;
    c.check_at(&RSP_008, at, || !lacking || !whole || !data);
    Ok(())
}

/// The names that identify must give, one bit each.
static NAMES: [&str; 3] = ["gamename", "gamever", "netver"];
const ALL_NAMES: u8 = 0b111;

/// The status, if the reply begins with one.
fn read_status<S: FieldSink>(c: &mut Cursor<'_, '_, S>, around: Around) -> Result<Option<u8>, Fault> {
    if around.continues {
        return Ok(None); // it stood in the datagram before
    }
    let before = around.separator(c.rest());
    let reply = until(c.rest().get(before..).unwrap_or_default(), &[GS]).0;
    let binary = matches!(reply.first(), Some(0x0a | 0x14..=0x16));
    let Some(status) = status(reply).or(reply.first().copied().filter(|_| binary)) else {
        let start = c.offset().saturating_add(before as u16);
        let shown = reply.len().min(2) as u16;
        c.about(Some(&STATUS));
        let cut = around.open && reply.len() < 2;
        c.check_at(&RSP_001, Span { start, end: start.saturating_add(shown) }, || cut);
        return Ok(None);
    };
    let digits = if binary { 1 } else { 2 };
    let value = |_: &[u8]| Value::Uint(u32::from(status));
    c.field_as(&STATUS, bytes(before.saturating_add(digits)), value)?;
    let name = STATUSES.iter().find(|(s, _)| *s == i32::from(status)).map(|(_, name)| *name);
    c.derived(&STATUS_NAME, Value::Named(u32::from(status), name));
    c.check(&RSP_004, || !binary);
    c.check(&RSP_002, || name.is_some());
    Ok(Some(status))
}

/// The records; which names of identify are among them is marked in `seen`.
fn records<S: FieldSink>(c: &mut Cursor<'_, '_, S>, around: Around, seen: &mut u8) -> Result<(), Fault> {
    let mut count = 0u16;
    c.list(
        &RECORDS,
        |c, done| match c.rest().first() {
            Some(&RS) => true,
            // The rest of a name cut in two, or of a reply without RS.
            Some(&US) => done == 0,
            _ => false,
        },
        |c| {
            let inside = c.rest().get(1..).unwrap_or_default();
            let record = until(inside, &[GS, RS, EOT]).0;
            let more = inside.get(record.len()).is_some_and(|b| *b == RS);
            // What the beginning or the end of the datagram cut is not judged.
            let cut = around.open && record.len() == inside.len() || around.continues && count == 0;
            let alone = count == 0 && !more;
            count = count.saturating_add(1);
            c.group(&RECORD, |c| decode_record(c, Piece { record, cut, alone }, seen))
        },
    )?;
    Ok(())
}

/// One record, without the separator in front of it.
#[derive(Clone, Copy)]
struct Piece<'a> {
    record: &'a [u8],
    cut: bool,
    alone: bool,
}

fn decode_record<S: FieldSink>(c: &mut Cursor<'_, '_, S>, p: Piece<'_>, seen: &mut u8) -> Result<(), Fault> {
    let Piece { record, cut, alone } = p;
    let (mark, kind) = match record.first() {
        None => {
            c.field_as(&RAW, bytes(1), |_| Value::Latin1(&[]))?;
            c.check(&RSP_005, || cut);
            return Ok(());
        }
        Some(&ACK) => {
            c.field_as(&ACKNOWLEDGED, bytes(2), |_| Value::Bool(true))?;
            c.check(&RSP_009, || alone && record.len() == 1);
            if record.len() > 1 {
                string(c, &RAW, 0, &[GS, RS, EOT], &INSIDE)?;
            }
            return Ok(());
        }
        Some(mark @ &(DC1..=DC4)) => (Some(*mark), mark.saturating_sub(DC1)),
        Some(&STX) => (Some(STX), 0),
        Some(_) => (None, u8::from(record.iter().filter(|b| **b == US).count() == 1)),
    };
    let name = TYPES.get(usize::from(kind)).copied();
    if matches!(mark, None | Some(STX)) {
        let start = c.offset().saturating_add(1);
        let at = Span { start, end: start.saturating_add(record.len() as u16) };
        c.derived_at(&RAW, at, Value::Latin1(record));
        c.about(Some(&RAW));
        c.check_at(if mark.is_none() { &REC_001 } else { &REC_002 }, at, || cut && mark.is_none());
    }
    match mark {
        Some(mark) => drop(c.field_as(&TYPE, bytes(2), |_| Value::Named(u32::from(mark), name))?),
        None => c.derived(&TYPE, Value::Named(0, name)),
    }
    let start = c.offset();
    let (values, first) = values(c, usize::from(mark.is_none()))?;
    let at = Span { start, end: c.offset() };
    c.about(Some(&VALUES));
    c.check_at(&REC_003, at, || mark != Some(DC1) || values == 1);
    c.check_at(&REC_004, at, || mark != Some(DC2) || values == 2 || cut);
    c.check_at(&REC_005, at, || mark != Some(DC4) || values > 1 || cut);
    let named = NAMES.iter().position(|n| n.as_bytes() == first).filter(|_| kind == 1);
    *seen |= named.map_or(0, |bit| 1 << bit);
    Ok(())
}

/// The values of a record behind `before` bytes; gives their number and the first of them.
fn values<'a, S: FieldSink>(c: &mut Cursor<'a, '_, S>, before: usize) -> Result<(u16, &'a [u8]), Fault> {
    let (mut count, mut first) = (0u16, &[][..]);
    c.list(
        &VALUES,
        |c, done| done == 0 || c.rest().first() == Some(&US),
        |c| {
            let before = if count == 0 { before } else { 1 };
            let value = string(c, &VALUE, before, &[GS, RS, US, EOT], &INSIDE)?;
            if count == 0 {
                first = value;
            }
            count = count.saturating_add(1);
            Ok(())
        },
    )?;
    Ok((count, first))
}
