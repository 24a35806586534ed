//! The messages.
//!
//! ```text
//! request   [ SOH encoding ACK ] command { GS command } EOT
//! response  [ SOH encoding ACK ] reply { GS reply } EOT
//! command   name [ RS argument { US argument } ]
//! reply     digit digit name RS data        data    ACK, or record { RS record }
//! record    DC1 text                        a text
//!           DC2 name US value               a pair
//!           DC3 item { US item }            an array
//!           DC4 label { US item }           an array with a label
//! ```
//!
//! The draft's own examples contain records without a mark, and STX instead of DC1; both are read as intended. If a message
//! spans several datagrams, each part is decoded by itself. Text that is cut at its start or end is not checked.

use super::grammar::*;
use super::{FRAGMENT, UNKNOWN};
use crate::decode::{Node, Version};
use crate::protocols::prelude::*;
use crate::text::variables;

/// The context of a command or reply in its message.
#[derive(Clone, Copy, Debug)]
struct Around {
    /// Whether it begins the message, so that no separator precedes it.
    first: bool,
    /// Whether it began in an earlier datagram.
    continues: bool,
    /// Whether it ends in a later datagram.
    open: bool,
}

impl Around {
    /// The number of bytes that separate a command or reply at the start of `rest` from the one before.
    fn separator(self, rest: &[u8]) -> usize {
        usize::from(!self.first && rest.first() == Some(&GS))
    }
}

// --- Commands of a request

/// Maximum number of commands in a request that looks normal.
const MANY: usize = 16;

fields! {
    list REQUEST_FIELDS;
    /// Name of the command.
    NAME = "commands[].command": Text public;
    /// Arguments of the command.
    ARGS = "commands[].args": List;
    /// One argument.
    ARG = "commands[].args[]": Text;
}

rules! {
    list REQUEST_RULES;
    /// The grammar allows an empty string, but there is no such command.
    REQ_001 = "GQP-REQ-001" Note "name of the command is empty" {
        cite: draft("Grammar, COMMAND"),
        examples: [Example::of(&[IDQ, IDR, C("04")])],
    }
    /// RS stands before the first argument, US before the others.
    REQ_002 = "GQP-REQ-002" Error "US stands where RS belongs" {
        cite: draft("Grammar, COMMAND"),
        examples: [Example::of(&[C("6563686f 1f 61 04")])],
    }
    /// Arguments behind the first one are separated by US.
    REQ_003 = "GQP-REQ-003" Error "second RS in one command" {
        cite: draft("Grammar, ARGUMENT-LIST"),
        examples: [Example::of(&[C("6563686f 1e 61 1e 62 04")])],
    }
    /// identify and extensions take none, auth two, challenge one. A server may ignore too many.
    REQ_005 = "GQP-REQ-005" Warning "wrong number of arguments" {
        cite: draft("Required commands"),
        examples: [Example::of(&[C("61757468 1e 626f62 04")])],
    }
    /// The draft says nothing about case: names are compared as they are.
    REQ_006 = "GQP-REQ-006" Note "command differs from a required one by case only" {
        cite: draft("Required commands"),
        examples: [Example::of(&[IDQ, IDR, C("4964656e74696679 04")])],
    }
    /// Nothing limits them, and each brings its reply: a small request with a large answer.
    REQ_007 = "GQP-REQ-007" Note "more than 16 commands in one request" {
        cite: draft("Grammar, QUERY"),
        examples: [Example::of(&[C("6964656e746966791d*16 6964656e74696679 04")])],
    }
    /// Everyone on the path reads login and password.
    SEC_001 = "GQP-SEC-001" Warning "login and password are sent in clear text" {
        cite: draft("Required commands, auth"),
        lenient: Note,
        examples: [Example::of(&[AQ])],
    }
}

fn request<S: FieldSink>(c: &mut Cursor<'_, '_, S>, around: Around) -> Result<(), Fault> {
    let before = around.separator(c.rest());
    let start = c.offset();
    let name = string(c, &NAME, before, &[GS, RS, US, EOT], &EVERYWHERE)?;
    let whole = !around.continues && !around.open;
    c.compare(
        &REQ_001,
        || !name.is_empty() || !whole,
        || Compared::new(ComparedValue::from(&b""[..]), "a name"),
    );
    let known = required(name);
    let by_case = |r: &Required| r.name.as_bytes().eq_ignore_ascii_case(name);
    c.compare(
        &REQ_006,
        || known.is_some() || around.continues || !REQUIRED.iter().any(by_case),
        || Compared::new(name, REQUIRED.iter().find(|r| by_case(r)).map_or("", |r| r.name)),
    );
    let arguments = arguments(c, around)?;
    let at = Span { start: start.saturating_add(before as u16), end: c.offset() };
    c.about(Some(&NAME));
    let expected = known.and_then(|k| k.arguments).filter(|_| whole);
    c.compare_at(
        &REQ_005,
        at,
        || expected.is_none_or(|n| n == usize::from(arguments)),
        || Compared::new(arguments, expected.unwrap_or_default()),
    );
    c.check_at(&SEC_001, at, || around.continues || name != b"auth" || arguments == 0);
    Ok(())
}

/// Reads the list of arguments; returns their number.
fn arguments<S: FieldSink>(c: &mut Cursor<'_, '_, S>, around: Around) -> Result<u16, Fault> {
    let (mut count, mut has_rs) = (0u16, false);
    let argument = |c: &mut Cursor<'_, '_, S>| {
        let separator = c.rest().first().copied();
        string(c, &ARG, 1, &[GS, RS, US, EOT], &EVERYWHERE)?;
        c.compare(
            &REQ_002,
            || count > 0 || separator == Some(RS) || around.continues,
            || {
                Compared::new(
                    ComparedValue::Hex(separator.unwrap_or_default().into(), 2),
                    ComparedValue::Hex(RS.into(), 2),
                )
            },
        );
        // If a US takes the place of the first RS, the next RS is the first one.
        c.compare(
            &REQ_003,
            || separator == Some(US) || !has_rs || around.continues,
            || {
                Compared::new(
                    ComparedValue::Hex(separator.unwrap_or_default().into(), 2),
                    ComparedValue::Hex(US.into(), 2),
                )
            },
        );
        has_rs |= separator == Some(RS);
        count = count.saturating_add(1);
        Ok(())
    };
    c.list(&ARGS, |c, _| matches!(c.rest(), [RS | US, ..]), argument)?;
    Ok(count)
}

// --- Replies of a response

fields! {
    list REPLY_FIELDS;
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
    list REPLY_RULES;
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

/// The bytes that a string inside a record must not contain.
static INSIDE: [Forbidden; 6] = [
    (&REC_006, |b| matches!(b, DC1..=DC4)),
    (&RSP_009, |b| b == ACK),
    (&CHR_001, |b| b < 0x20 && !matches!(b, DC1..=DC4 | ACK | STX | ETX | DLE | ETB)),
    (&CHR_002, |b| b >= 0x80),
    (&CHR_003, |b| b == 0x7f),
    (&CHR_004, |b| matches!(b, STX | ETX | DLE | ETB)),
];

fn reply<S: FieldSink>(c: &mut Cursor<'_, '_, S>, around: Around) -> Result<(), Fault> {
    let start = c.offset();
    let status = read_status(c, around)?;
    let separator = if status.is_none() { around.separator(c.rest()) } else { 0 };
    let blanks = c.rest().get(separator..).unwrap_or_default();
    let blanks = blanks.iter().take_while(|b| **b == b' ').count();
    let before = separator.saturating_add(blanks);
    // If the reply began in the previous datagram, this may be any part of it.
    let rules: &[Forbidden] = if around.continues { &[] } else { &EVERYWHERE };
    let name = string(c, &NAME, before, &[GS, RS, US, EOT], rules)?;
    c.compare(
        &RSP_007,
        || blanks == 0 || status.is_none(),
        || Compared::new(ComparedValue::Bytes(blanks as u64), "none"),
    );
    let whole = !around.continues && !around.open;
    c.compare(
        &RSP_006,
        || !name.is_empty() || status.is_none() || !whole,
        || Compared::new(ComparedValue::from(&b""[..]), "a name"),
    );
    let at = Span { start, end: c.offset() };
    let has_data = matches!(c.rest().first(), Some(&RS));
    c.check_at(&RSP_003, at, || has_data || !whole);
    let mut identity = 0u8;
    records(c, around, &mut identity)?;
    let at = Span { start, end: c.offset() };
    c.about(Some(&RECORDS));
    let incomplete = status == Some(10) && name == b"identify" && identity != WHOLE_IDENTITY;
    c.compare_at(
        &RSP_008,
        at,
        || !incomplete || !whole || !has_data,
        || {
            Compared::new(
                ComparedValue::Number(identity.count_ones().into()),
                ComparedValue::Number(IDENTITY.len() as i64),
            )
        },
    );
    Ok(())
}

/// The names that identify must give. Each has a bit.
static IDENTITY: [&str; 3] = ["gamename", "gamever", "netver"];
const WHOLE_IDENTITY: u8 = 0b111;

/// Reads the status, if the reply begins with one.
fn read_status<S: FieldSink>(c: &mut Cursor<'_, '_, S>, around: Around) -> Result<Option<u8>, Fault> {
    if around.continues {
        return Ok(None); // the status was in the previous datagram
    }
    let before = around.separator(c.rest());
    let reply = split_before(c.rest().get(before..).unwrap_or_default(), &[GS]).0;
    let binary = matches!(reply.first(), Some(0x0a | 0x14..=0x16));
    let Some(status) = status(reply).or(reply.first().copied().filter(|_| binary)) else {
        let start = c.offset().saturating_add(before as u16);
        let shown_len = reply.len().min(2) as u16;
        c.about(Some(&STATUS));
        let cut = around.open && reply.len() < 2;
        c.compare_at(
            &RSP_001,
            Span { start, end: start.saturating_add(shown_len) },
            || cut,
            || Compared::new(reply.get(..2).unwrap_or(reply), "two digits"),
        );
        return Ok(None);
    };
    let digits = if binary { 1 } else { 2 };
    let value = |_: &[u8]| Value::Uint(u32::from(status));
    c.field_as(&STATUS, bytes(before.saturating_add(digits)), value)?;
    let name = STATUSES.iter().find(|(s, _)| *s == i32::from(status)).map(|(_, name)| *name);
    c.derived(&STATUS_NAME, Value::Named(u32::from(status), name));
    c.check(&RSP_001, || true);
    c.compare(&RSP_004, || !binary, || Compared::new(ComparedValue::byte(status), "two digits"));
    c.compare(&RSP_002, || name.is_some(), || Compared::new(status, "a status of the draft"));
    Ok(Some(status))
}

/// Reads the records; sets the bits of the [`IDENTITY`] names among them in `identity`.
fn records<S: FieldSink>(c: &mut Cursor<'_, '_, S>, around: Around, identity: &mut u8) -> Result<(), Fault> {
    let mut count = 0u16;
    c.list(
        &RECORDS,
        |c, done| match c.rest().first() {
            Some(&RS) => true,
            // The rest of a name that is cut in two, or of a reply without RS.
            Some(&US) => done == 0,
            _ => false,
        },
        |c| {
            let inside = c.rest().get(1..).unwrap_or_default();
            let bytes = split_before(inside, &[GS, RS, EOT]).0;
            let more = inside.get(bytes.len()).is_some_and(|b| *b == RS);
            // A record that is cut by the start or end of the datagram is not checked.
            let cut = around.open && bytes.len() == inside.len() || around.continues && count == 0;
            let alone = count == 0 && !more;
            count = count.saturating_add(1);
            c.group(&RECORD, |c| decode_record(c, Record { bytes, cut, alone }, identity))
        },
    )?;
    Ok(())
}

/// A record without the separator in front of it.
#[derive(Clone, Copy)]
struct Record<'a> {
    bytes: &'a [u8],
    /// Whether the start or end of the datagram may cut it.
    cut: bool,
    /// Whether it is the only record of its reply.
    alone: bool,
}

fn decode_record<S: FieldSink>(
    c: &mut Cursor<'_, '_, S>,
    record: Record<'_>,
    identity: &mut u8,
) -> Result<(), Fault> {
    let Record { bytes: record, cut, alone } = record;
    let (mark, kind) = match record.first() {
        None => {
            c.field_as(&RAW, bytes(1), |_| Value::Latin1(&[]))?;
            c.compare(&RSP_005, || cut, || Compared::new(ComparedValue::from(&b""[..]), "data"));
            return Ok(());
        }
        Some(&ACK) => {
            c.field_as(&ACKNOWLEDGED, bytes(2), |_| Value::Bool(true))?;
            let found = || {
                if alone {
                    ComparedValue::Bytes(record.len() as u64)
                } else {
                    ComparedValue::Words("one of several records")
                }
            };
            c.compare(&RSP_009, || alone && record.len() == 1, || Compared::new(found(), "ACK alone"));
            if record.len() > 1 {
                string(c, &RAW, 0, &[GS, RS, EOT], &INSIDE)?;
            }
            return Ok(());
        }
        Some(mark @ &(DC1..=DC4)) => (Some(*mark), mark.saturating_sub(DC1)),
        Some(&STX) => (Some(STX), 0),
        Some(_) => (None, u8::from(record.iter().filter(|b| **b == US).count() == 1)),
    };
    c.check(&RSP_005, || true);
    let name = TYPES.get(usize::from(kind)).copied();
    if matches!(mark, None | Some(STX)) {
        let start = c.offset().saturating_add(1);
        let at = Span { start, end: start.saturating_add(record.len() as u16) };
        c.derived_at(&RAW, at, Value::Latin1(record));
        c.about(Some(&RAW));
        c.check_at(&REC_001, at, || mark.is_some() || cut);
        let mark_at = Span { start, end: start.saturating_add(1) };
        c.compare_at(
            &REC_002,
            mark_at,
            || mark.is_none(),
            || Compared::new(ComparedValue::byte(STX), ComparedValue::byte(DC1)),
        );
    } else {
        [&REC_001, &REC_002].into_iter().for_each(|rule| c.check(rule, || true));
    }
    match mark {
        Some(mark) => drop(c.field_as(&TYPE, bytes(2), |_| Value::Named(u32::from(mark), name))?),
        None => c.derived(&TYPE, Value::Named(0, name)),
    }
    let start = c.offset();
    let (values, first) = values(c, usize::from(mark.is_none()))?;
    let at = Span { start, end: c.offset() };
    c.about(Some(&VALUES));
    // The mark of a record that began in the previous datagram is in that datagram.
    c.compare_at(
        &REC_003,
        at,
        || kind != 0 || values == 1 || mark.is_none() && cut,
        || Compared::new(values, 1),
    );
    c.compare_at(&REC_004, at, || mark != Some(DC2) || values == 2 || cut, || Compared::new(values, 2));
    c.compare_at(
        &REC_005,
        at,
        || mark != Some(DC4) || values > 1 || cut,
        || Compared::new(values, ComparedValue::AtLeast(2)),
    );
    let name_bit = IDENTITY.iter().position(|n| n.as_bytes() == first).filter(|_| kind == 1);
    *identity |= name_bit.map_or(0, |bit| 1 << bit);
    Ok(())
}

/// Reads the values of a record after `before` bytes; returns their number and the first value.
fn values<'a, S: FieldSink>(c: &mut Cursor<'a, '_, S>, before: usize) -> Result<(u16, &'a [u8]), Fault> {
    let (mut count, mut first) = (0u16, &[][..]);
    let value = |c: &mut Cursor<'a, '_, S>| {
        let before = if count == 0 { before } else { 1 };
        let value = string(c, &VALUE, before, &[GS, RS, US, EOT], &INSIDE)?;
        if count == 0 {
            first = value;
        }
        count = count.saturating_add(1);
        Ok(())
    };
    c.list(&VALUES, |c, done| done == 0 || c.rest().first() == Some(&US), value)?;
    Ok((count, first))
}

// --- The message as a whole

fields! {
    list FRAME_FIELDS;
    /// Name of the encoding of the body, chosen by who implements it.
    ENCODING = "encoding": Text public;
    /// Body in that encoding.
    ENCODED_BODY = "encoded_body": Bytes;
    /// Its length in bytes.
    ENCODED_BYTES = "encoded_bytes": Uint;
    /// Commands, or replies to them.
    COMMANDS = "commands": List;
    /// One of them.
    COMMAND = "commands[]": Group;
    /// Name of the encoding of a single command.
    COMMAND_ENCODING = "commands[].encoding": Text public;
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
    list FRAME_RULES;
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

pub(super) fn decode<S: FieldSink>(c: &mut Cursor<'_, '_, S>, cx: Context) -> Result<(), Fault> {
    let whole = c.rest();
    if cx.message == UNKNOWN || whole.is_empty() {
        return Err(c.short(&FRM_001));
    }
    if whole.first() == Some(&SOH) && !cx.continues {
        return encoded(c, cx);
    }
    c.check(&ENC_003, || true);
    let ended = whole.contains(&EOT);
    let answers = cx.direction == Direction::S2c;
    let mut count = 0u16;
    let command = |c: &mut Cursor<'_, '_, S>| {
        let last = !c.rest().iter().skip(1).any(|b| *b == GS);
        // A piece that begins with GS is complete at its start.
        let rest = cx.continues && count == 0 && whole.first() != Some(&GS);
        let first = count == 0 && !cx.continues;
        let around = Around { first, continues: rest, open: !ended && last };
        count = count.saturating_add(1);
        c.group(&COMMAND, |c| match c.rest() {
            [GS, SOH, ..] if !first => encoded_command(c),
            [SOH, ..] => encoded_command(c),
            _ => {
                c.check(&ENC_002, || true);
                if answers { reply(c, around) } else { request(c, around) }
            }
        })
    };
    c.list(&COMMANDS, |c, done| done == 0 || c.rest().first() == Some(&GS), command)?;
    if !answers {
        c.about(Some(&COMMANDS));
        c.compare_at(
            &REQ_007,
            c.whole(),
            || usize::from(count) <= MANY,
            || Compared::new(count, ComparedValue::AtMost(MANY as i64)),
        );
    }
    end(c, cx, whole.last() == Some(&b'#'))?;
    if answers && cx.message != FRAGMENT && !cx.continues {
        let identity = |name| identity(whole, name).map(Value::Latin1);
        (c.facts.game, c.facts.version) = (identity("gamename"), identity("gamever").map(Version::Text));
    }
    Ok(())
}

/// Reads the end of the message, or of a part of it.
fn end<S: FieldSink>(c: &mut Cursor<'_, '_, S>, cx: Context, number_sign: bool) -> Result<(), Fault> {
    if c.is_cut() && matches!(c.rest(), [] | [ETB]) {
        return Err(c.short(&FRM_001)); // GEN-001 is reported instead, and the datagram ends elsewhere
    }
    let block = c.rest() == [ETB];
    if block {
        c.field(&BLOCK_END, byte)?;
    }
    c.compare(&FRM_004, || !block, || Compared::new(ComparedValue::byte(ETB), ComparedValue::byte(EOT)));
    if !c.rest().is_empty() {
        c.check(&FRM_003, || true);
        return c.field(&TERMINATOR, byte).map(drop);
    }
    let end = c.offset();
    let last = Span { start: end.saturating_sub(1), end };
    c.about(Some(&COMMANDS));
    let part = cx.message == FRAGMENT;
    if part {
        c.check_at(&FRM_003, last, || false);
    }
    c.compare_at(
        &FRM_005,
        last,
        || !number_sign,
        || Compared::new(ComparedValue::byte(b'#'), ComparedValue::byte(EOT)),
    );
    if part { Ok(()) } else { Err(c.short(&FRM_001)) }
}

/// Reads an encoded message, whose body is opaque.
fn encoded<S: FieldSink>(c: &mut Cursor<'_, '_, S>, cx: Context) -> Result<(), Fault> {
    let encoding = string(c, &ENCODING, 1, &[ACK, EOT], &EVERYWHERE)?;
    let cut = c.is_cut() && c.rest().is_empty();
    let unnamed = || Compared::new(ComparedValue::from(&b""[..]), "a name");
    c.compare(&ENC_006, || cut || !encoding.is_empty(), unnamed);
    let next = c.rest().first().copied();
    c.require_that(&ENC_001, matches!(next, None | Some(ACK)), || behind_name(next))?;
    let body = if c.rest().is_empty() { &[][..] } else { encoded_body(c, &ENCODED_BODY)? };
    c.derived(&ENCODED_BYTES, Value::Uint(body.len() as u32));
    let all = Span { start: 0, end: c.offset() };
    c.check_at(&ENC_003, all, || false);
    end(c, cx, false)
}

/// What stands behind the name of an encoding, and what should.
fn behind_name(found: Option<u8>) -> Compared {
    Compared::new(found.map_or(ComparedValue::Nothing, ComparedValue::byte), ComparedValue::byte(ACK))
}

/// Reads ACK and the encoded bytes up to the last EOT in the datagram.
fn encoded_body<'a, S: FieldSink>(
    c: &mut Cursor<'a, '_, S>,
    field: &'static Field,
) -> Result<&'a [u8], Fault> {
    let inside = c.rest().get(1..).unwrap_or_default();
    // If the capture cut the datagram, its last EOT is missing.
    let last = inside.iter().rposition(|b| *b == EOT).filter(|_| !c.is_cut());
    let length = last.unwrap_or(inside.len());
    let body = c.field_as(field, behind_ack(length), Value::Bytes)?;
    let start = c.last().start.saturating_add(1);
    let inner = body.iter().position(|b| *b == EOT);
    let at = inner.map_or(0, |i| start.saturating_add(i as u16));
    let at = Span { start: at, end: at.saturating_add(1) };
    c.compare_at(&ENC_004, at, || inner.is_none(), || Compared::new(ComparedValue::byte(EOT), "no EOT"));
    Ok(body)
}

/// A nom parser: ACK, then that many bytes.
fn behind_ack<'a>(len: usize) -> impl Fn(&'a [u8]) -> Wire<'a, &'a [u8]> {
    move |i| bytes(len)(byte(i)?.0)
}

/// Reads a command that begins like an encoded message. Everything after it, up to the end, is opaque.
fn encoded_command<S: FieldSink>(c: &mut Cursor<'_, '_, S>) -> Result<(), Fault> {
    let before = if c.rest().first() == Some(&GS) { 2 } else { 1 };
    let encoding = string(c, &COMMAND_ENCODING, before, &[ACK, EOT], &EVERYWHERE)?;
    c.check(&ENC_002, || false);
    let next = c.rest().first().copied();
    let unnamed = || Compared::new(ComparedValue::from(&b""[..]), "a name");
    c.compare(&ENC_006, || next.is_none() || !encoding.is_empty(), unnamed);
    c.compare(&ENC_001, || next != Some(EOT), || behind_name(next));
    if c.rest().first() == Some(&ACK) {
        encoded_body(c, &COMMAND_BODY)?;
    }
    Ok(())
}
/// Whether a value is the name of a variable where it may be one: the first value of several in a record, or the name of an
/// extension that a server announces.
pub fn is_public(nodes: &[Node], at: usize, payload: &[u8]) -> bool {
    let before = nodes.get(..at).unwrap_or_default();
    let is_value =
        |at: Option<usize>| at.and_then(|at| nodes.get(at)).is_some_and(|node| node.field == &VALUE);
    let is_first = before.last().is_some_and(|node| node.field == &VALUES) && is_value(at.checked_add(1));
    let command = before.iter().rfind(|node| node.field == &COMMAND);
    is_value(Some(at))
        && nodes.get(at).is_some_and(|node| variables::is_known(node.value_span().of(payload)))
        && (is_first || command.is_some_and(|node| node.value_span().of(payload) == b"extensions"))
}
