//! The chunks with lists: ServerRules, PlayerInfo, TeamInfo and Metrics. Also contains code that all chunks share.

use super::exchange::*;
use crate::protocols::prelude::*;

fields! {
    list PACKET_FIELDS;
    /// Body of a packet that cannot be read by itself: a later part of a split answer, or chunks
    /// whose request is unknown.
    PACKET_PAYLOAD = "packet_payload": Bytes;
    /// Bytes behind the last chunk, inside the packet length.
    PACKET_SURPLUS = "packet_surplus": Bytes;
}

rules! {
    list CHUNK_RULES;
    /// The request asked for a chunk, and fewer than four bytes are left for its length.
    CHK_001 = "SQP-CHK-001" Error "body ends where a chunk length must start" {
        cite: unity("ServerInfo response format"),
        examples: [Example::of(&[H1, H2, QI, S("01 80902348 0001 00 00 0002 0000")])],
    }
    /// It announces more bytes than the packet length leaves. go-svrquery waits for them until its time is
    /// up.
    CHK_002 = "SQP-CHK-002" Error "chunk length exceeds the body" {
        cite: unity("ServerInfo response format"),
        examples: [Example::of(&[H1, H2, QI, S("01 80902348 0001 00 00 0012 000000c8 0001000801410162016301641e61")])],
    }
    /// They stand inside the packet length. go-svrquery skips them as fields of the future; the C# toolkit
    /// adds a zero byte for each optional chunk.
    CHK_003 = "SQP-CHK-003" Warning "bytes follow the last requested chunk" {
        cite: unity("ServerInfo response format"),
        lenient: Note,
        examples: [Example::of(&[H1, H2, QI, S("01 80902348 0001 00 00 0013 0000000e 0001000801410162016301641e6100")])],
    }
    /// Clients skip the rest as fields of a later version.
    CHK_004 = "SQP-CHK-004" Note "chunk is longer than its known fields" {
        cite: go_svrquery("lib/svrquery/protocol/sqp/query.go"),
        examples: [Example::of(&[H1, H2, QI, S("01 80902348 0001 00 00 0014 00000010 0001000801410162016301641e610102")])],
    }
    /// The datagram has the bytes, but the chunk length is too small for the chunk's own fields.
    CHK_005 = "SQP-CHK-005" Error "fields need more than the chunk length" {
        cite: go_svrquery("lib/svrquery/protocol/sqp/query.go"),
        examples: [Example::of(&[H1, H2, QI, S("01 80902348 0001 00 00 0012 00000008 0001000801410162016301641e61")])],
    }
    /// Chunks carry no tag: only the request says what they are, and it is not in this capture.
    CHK_006 = "SQP-CHK-006" Note "chunk kinds are inferred" {
        cite: go_svrquery("lib/svrquery/protocol/sqp/query.go"),
        examples: [Example::of(&[OK])],
    }
    /// Fewer chunks came than were asked for, and more than one choice of kinds decodes cleanly. The one
    /// with ServerInfo, then with the lower bits, is shown.
    CHK_007 = "SQP-CHK-007" Note "chunk kinds are ambiguous" {
        cite: go_svrquery("lib/svrquery/protocol/sqp/query.go"),
        examples: [Example::of(&[H1, H2, C("01 80902348 0001 0c"), S("01 80902348 0001 00 00 000b 00000007 000101016e0005")])],
    }
    /// The length byte announces more than is left, or there is no length byte.
    STR_001 = "SQP-STR-001" Error "string runs past the end of its chunk" {
        cite: unity("Data types"),
        examples: [Example::of(&[H1, H2, QI, S("01 80902348 0001 00 00 000c 00000008 0001000809616263")])],
    }
    /// Clients such as go-svrquery refuse the whole answer.
    STR_002 = "SQP-STR-002" Error "string is not valid UTF-8" {
        cite: unity("Data types"),
        examples: [Example::of(&[H1, H2, QI, S("01 80902348 0001 00 00 0013 0000000f 0001000802fffe0162016301641e61")])],
    }
    /// The document allows it, but go-svrquery adds 1 to the length in eight bits, gets 0 and misreads the
    /// rest of the chunk. 254 bytes are safe.
    STR_003 = "SQP-STR-003" Note "string is 255 bytes long" {
        cite: unity("Data types"),
        examples: [Example::of(&[H1, H2, QI, S("01809023480001000001100000010c00010008ff 78*255 0162016301641e61")])],
    }
    /// Usually the terminator of a C string, counted in by mistake: strings have a length and no
    /// terminator.
    STR_004 = "SQP-STR-004" Warning "string contains a control character" {
        cite: unity("Data types"),
        examples: [Example::of(&[H1, H2, QI, S("01 80902348 0001 00 00 0013 0000000f 000100080241000162016301641e61")])],
    }
}

/// Reads a chunk: its length, then `body` on exactly that many bytes.
#[inline(always)]
pub(super) fn chunk<'a, S: FieldSink, T>(
    c: &mut Cursor<'a, '_, S>,
    length: &'static Field,
    ends: &'static Ends,
    body: impl FnOnce(&mut Cursor<'a, '_, S>) -> Result<T, Fault>,
) -> Result<T, Fault> {
    let len = c.field(length, be_u32)?;
    c.sized(len as usize, &CHK_002, ends, body)
}

/// Reads a string and checks the rules for all strings.
#[inline(always)]
pub(super) fn string<'a, S: FieldSink>(
    c: &mut Cursor<'a, '_, S>,
    field: &'static Field,
) -> Result<Str<'a>, Fault> {
    let text = c.field(field, string8)?;
    text_rules(c, text);
    Ok(text)
}

#[inline(always)]
pub(super) fn text_rules<S: FieldSink>(c: &mut Cursor<'_, '_, S>, text: Str<'_>) {
    c.compare(
        &STR_003,
        || text.0.len() < 255,
        || Compared::new(ComparedValue::Bytes(text.0.len() as u64), ComparedValue::AtMost(254)),
    );
    c.check_text(text, &STR_002, &STR_004);
}

/// Reads a body as opaque bytes.
pub(super) fn opaque<S: FieldSink>(c: &mut Cursor<'_, '_, S>) -> Result<(), Fault> {
    c.field(&PACKET_PAYLOAD, bytes(c.rest().len())).map(drop)
}

// --- ServerRules
//
// The ServerRules chunk, and the values in it and in the tables.
//
// ```text
// ServerRules   (key string │ type u8 │ value) until the chunk is used up: no count
// value         type 0 byte │ 1 u16 │ 2 u32 │ 3 u64 │ 4 string │ 5 float32
// ```
//
// The current document reserves this chunk; the older one and go-svrquery define it.

fields! {
    list RULE_FIELDS;
    /// Bytes of the ServerRules chunk after this field.
    SERVER_RULES_LENGTH = "server_rules_length": Uint;
    /// Settings of the server, in the order sent; a key may repeat.
    SERVER_RULES = "server_rules": List;
    /// One setting.
    RULE = "server_rules[]": Group;
    /// Its name.
    RULE_KEY = "server_rules[].key": Text public;
    /// Type of its value.
    RULE_TYPE = "server_rules[].type": Named;
    /// Its value.
    RULE_VALUE = "server_rules[].value": Dynamic;
    /// Bytes of the chunk behind its last rule.
    RULES_SURPLUS = "rules_surplus": Bytes;
}

rules! {
    list SERVER_RULES_RULES;
    /// The type of the value should follow every key.
    RUL_001 = "SQP-RUL-001" Error "ServerRules ends after a key" {
        cite: go_svrquery("lib/svrquery/protocol/sqp/query.go"),
        examples: [Example::of(&[H1, H2, C("01 80902348 0001 02"), S("01 80902348 0001 00 00 0008 00000004 036b6579")])],
    }
    /// Clients that keep the rules in a map see only the last one.
    RUL_002 = "SQP-RUL-002" Warning "rule key occurs twice" {
        cite: go_svrquery("lib/svrquery/protocol/sqp/query.go"),
        examples: [Example::of(&[H1, H2, C("01 80902348 0001 02"), S("01 80902348 0001 00 00 000c 00000008 016b0001016b0002")])],
    }
    /// No document gives an empty key a meaning.
    RUL_003 = "SQP-RUL-003" Warning "rule key is empty" {
        cite: go_svrquery("lib/svrquery/protocol/sqp/query.go"),
        examples: [Example::of(&[H1, H2, C("01 80902348 0001 02"), S("01 80902348 0001 00 00 0007 00000003 000001")])],
    }
    /// Types go from 0 (byte) to 5 (float32). The size of anything else is unknown, so the rest of the
    /// chunk cannot be decoded.
    DYN_001 = "SQP-DYN-001" Error "value type is unknown" {
        cite: go_svrquery("lib/svrquery/protocol/sqp/types.go"),
        examples: [Example::of(&[H1, H2, C("01 80902348 0001 02"), S("01 80902348 0001 00 00 0008 00000004 016b0601")])],
    }
    /// Only go-svrquery defines type 5; the Unreal SDK and the C# toolkit stop at 4.
    DYN_002 = "SQP-DYN-002" Note "value is a float32" {
        cite: go_svrquery("lib/svrquery/protocol/sqp/types.go"),
        per_server: true,
        examples: [Example::of(&[H1, H2, C("01 80902348 0001 02"), S("01 80902348 0001 00 00 000b 00000007 016b053fc00000")])],
    }
    /// The type announces more bytes than are left.
    DYN_003 = "SQP-DYN-003" Error "chunk ends inside a value" {
        cite: go_svrquery("lib/svrquery/protocol/sqp/query.go"),
        examples: [Example::of(&[H1, H2, C("01 80902348 0001 02"), S("01 80902348 0001 00 00 0009 00000005 016b020001")])],
    }
    /// JSON has no NaN and no infinity: go-svrquery cannot print such an answer.
    DYN_004 = "SQP-DYN-004" Warning "float is not finite" {
        cite: go_svrquery("lib/svrquery/protocol/sqp/types.go"),
        examples: [Example::of(&[H1, H2, C("01 80902348 0002 10"), S("01 80902348 0001 00 00 0009 00000005 017fc00000")])],
    }
}

static KEY: Ends = ends(&STR_001, &RULES_SURPLUS);
static KIND: Ends = ends(&RUL_001, &RULES_SURPLUS);

const fn ends(early: &'static Rule, surplus: &'static Field) -> Ends {
    Ends { early, early_inside: &CHK_005, late: &CHK_004, surplus }
}

/// Names of the value types, by code.
const TYPES: [&str; 6] = ["byte", "ushort", "uint", "ulong", "string", "float32"];

/// Parses a value of the type with that code.
fn dynamic<'a>(code: u8) -> impl Fn(&'a [u8]) -> Wire<'a, Value<'a>> {
    move |i| match code {
        0 => byte(i).map(|(i, v)| (i, v.into())),
        1 => be_u16(i).map(|(i, v)| (i, v.into())),
        2 => be_u32(i).map(|(i, v)| (i, v.into())),
        3 => be_u64(i).map(|(i, v)| (i, v.into())),
        4 => string8(i).map(|(i, v)| (i, v.into())),
        5 => be_f32(i).map(|(i, v)| (i, v.into())),
        _ => Err(nom::Err::Error(Stop::Wrong)),
    }
}

/// Parses a string and a type code, as in a rule's key or a table's field.
fn named_type(i: &[u8]) -> Wire<'_, (Str<'_>, u8)> {
    let (i, name) = string8(i)?;
    let (i, code) = byte(i)?;
    Ok((i, (name, code)))
}

/// Checks that the name of a list's next element is complete. An incomplete name is read outside of an element, because it
/// does not count as one.
///
/// # Errors
/// As when the name is read.
#[inline(always)]
fn require_name<S: FieldSink>(c: &mut Cursor<'_, '_, S>, name: &'static Field) -> Result<(), Fault> {
    if string8(c.rest()).is_ok() { Ok(()) } else { c.field(name, string8).map(drop) }
}

/// Reads a type code. Nothing after an unknown one can be read.
fn type_code<S: FieldSink>(c: &mut Cursor<'_, '_, S>, field: &'static Field) -> Result<u8, Fault> {
    let show = |code: u8| Value::Named(code as u32, TYPES.get(code as usize).copied());
    let code = c.field_as(field, byte, show)?;
    c.require_that(&DYN_001, (code as usize) < TYPES.len(), || {
        Compared::new(code, ComparedValue::AtMost(TYPES.len().saturating_sub(1) as i64))
    })?;
    c.compare(&DYN_002, || code != 5, || Compared::new(code, "0 to 4"));
    Ok(code)
}

/// Reads a value and checks it. The ends say which rules the end of the chunk breaks inside a text, and inside other values.
fn checked_value<S: FieldSink>(
    c: &mut Cursor<'_, '_, S>,
    field: &'static Field,
    code: u8,
    [in_text, elsewhere]: [&'static Ends; 2],
) -> Result<(), Fault> {
    c.ends(if code == 4 { in_text } else { elsewhere });
    match c.field(field, dynamic(code))? {
        Value::Text(text) => text_rules(c, Str(text)),
        Value::Float32(v) => c.compare(&DYN_004, || v.is_finite(), || Compared::new(v, "a finite number")),
        _ => {}
    }
    Ok(())
}

/// Reads the ServerRules chunk.
pub(super) fn server_rules<S: FieldSink>(c: &mut Cursor<'_, '_, S>) -> Result<(), Fault> {
    static FIXED: Ends = ends(&DYN_003, &RULES_SURPLUS);
    chunk(c, &SERVER_RULES_LENGTH, &KEY, |c| {
        let mut seen = Repeats::default();
        let more = |c: &Cursor<'_, '_, S>, _| !c.rest().is_empty() || c.is_cut();
        c.list(&SERVER_RULES, more, |c| rule(c, &mut seen, &FIXED)).map(drop)
    })
}

fn rule<'a, S: FieldSink>(
    c: &mut Cursor<'a, '_, S>,
    seen: &mut Repeats<'a>,
    value: &'static Ends,
) -> Result<(), Fault> {
    c.ends(&KEY);
    require_name(c, &RULE_KEY)?;
    c.group(&RULE, |c| {
        let key = string(c, &RULE_KEY)?;
        c.compare(&RUL_003, || !key.0.is_empty(), || Compared::new(ComparedValue::from(&b""[..]), "a name"));
        c.compare(&RUL_002, || !seen.repeats(key.0), || Compared::new(key, "each name once"));
        c.ends(&KIND);
        let code = type_code(c, &RULE_TYPE)?;
        checked_value(c, &RULE_VALUE, code, [&KEY, value])
    })
}

// --- Tables
//
// The chunks with tables and measurements: players, teams, metrics.
//
// ```text
// PlayerInfo, TeamInfo   records u16 │ fields u8 │ fields × (name string │ type u8) │ records × fields × value
// Metrics                count u8 │ count × float32
// ```
//
// The current document reserves these chunks; the older one and go-svrquery define them. A table
// without records may end after the count.

/// Maximum number of metrics that go-svrquery reads, and that the game server hosting SDK sends.
const MOST_METRICS: [u8; 2] = [25, 10];

fields! {
    list TABLE_FIELDS;
    /// Bytes of the PlayerInfo chunk after this field.
    PLAYER_INFO_LENGTH = "player_info_length": Uint;
    /// A table of players.
    PLAYER_INFO = "player_info": Group;
    /// How many records follow.
    PLAYER_COUNT = "player_info.record_count": Uint;
    /// How many fields a record has.
    PLAYER_FIELD_COUNT = "player_info.field_count": Uint;
    /// The fields of a record.
    PLAYER_FIELDS = "player_info.fields": List;
    /// One field.
    PLAYER_FIELD = "player_info.fields[]": Group;
    /// Its name.
    PLAYER_FIELD_NAME = "player_info.fields[].name": Text public;
    /// Its type.
    PLAYER_FIELD_TYPE = "player_info.fields[].type": Named;
    /// The records.
    PLAYER_RECORDS = "player_info.records": List;
    /// One record: a value for each field.
    PLAYER_RECORD = "player_info.records[]": List;
    /// One value.
    PLAYER_VALUE = "player_info.records[][]": Dynamic;
    /// Bytes of the chunk behind its last record.
    PLAYER_SURPLUS = "player_surplus": Bytes;
    /// Bytes of the TeamInfo chunk after this field.
    TEAM_INFO_LENGTH = "team_info_length": Uint;
    /// A table of teams.
    TEAM_INFO = "team_info": Group;
    /// How many records follow.
    TEAM_COUNT = "team_info.record_count": Uint;
    /// How many fields a record has.
    TEAM_FIELD_COUNT = "team_info.field_count": Uint;
    /// The fields of a record.
    TEAM_FIELDS = "team_info.fields": List;
    /// One field.
    TEAM_FIELD = "team_info.fields[]": Group;
    /// Its name.
    TEAM_FIELD_NAME = "team_info.fields[].name": Text public;
    /// Its type.
    TEAM_FIELD_TYPE = "team_info.fields[].type": Named;
    /// The records.
    TEAM_RECORDS = "team_info.records": List;
    /// One record: a value for each field.
    TEAM_RECORD = "team_info.records[]": List;
    /// One value.
    TEAM_VALUE = "team_info.records[][]": Dynamic;
    /// Bytes of the chunk behind its last record.
    TEAM_SURPLUS = "team_surplus": Bytes;
    /// Bytes of the Metrics chunk after this field.
    METRICS_LENGTH = "metrics_length": Uint;
    /// How many metrics follow.
    METRICS_COUNT = "metrics_count": Uint;
    /// Measurements, known by their position only.
    METRICS = "metrics": List;
    /// One measurement.
    METRIC = "metrics[]": Float32 volatile;
    /// Bytes of the chunk behind its last metric.
    METRICS_SURPLUS = "metrics_surplus": Bytes;
}

rules! {
    list TABLE_RULES;
    /// The chunk ends inside the count of records, the count of fields or the list of fields.
    TAB_001 = "SQP-TAB-001" Error "table ends inside its head" {
        cite: go_svrquery("lib/svrquery/protocol/sqp/query.go"),
        examples: [Example::of(&[H1, H2, C("01 80902348 0001 04"), S("01 80902348 0001 00 00 0005 00000001 00")])],
    }
    /// Records of no fields take no bytes: their number says nothing. go-svrquery rejects such a table.
    TAB_002 = "SQP-TAB-002" Error "table has records but no fields" {
        cite: go_svrquery("lib/svrquery/protocol/sqp/query.go"),
        examples: [Example::of(&[H1, H2, C("01 80902348 0001 04"), S("01 80902348 0001 00 00 0007 00000003 000100")])],
    }
    /// Fewer records follow than the head announces.
    TAB_003 = "SQP-TAB-003" Error "table ends before its last record" {
        cite: go_svrquery("lib/svrquery/protocol/sqp/query.go"),
        examples: [Example::of(&[H1, H2, C("01 80902348 0001 04"), S("01 80902348 0001 00 00 000b 00000007 000201016e0005")])],
    }
    /// Clients that keep a record in a map see only the last one.
    TAB_004 = "SQP-TAB-004" Warning "two fields of a table have the same name" {
        cite: go_svrquery("lib/svrquery/protocol/sqp/query.go"),
        examples: [Example::of(&[H1, H2, C("01 80902348 0001 08"), S("01 80902348 0001 00 00 000f 0000000b 000102016e00016e000102")])],
    }
    /// Legal; go-svrquery skips the rest of the chunk unread.
    TAB_005 = "SQP-TAB-005" Note "table without records lists fields" {
        cite: go_svrquery("lib/svrquery/protocol/sqp/query.go"),
        examples: [Example::of(&[H1, H2, C("01 80902348 0001 08"), S("01 80902348 0001 00 00 000a 00000006 000001016e00")])],
    }
    /// PlayerInfo and CurrentPlayers of the same answer both count connected players.
    TAB_006 = "SQP-TAB-006" Warning "number of players differs from ServerInfo" {
        cite: go_svrquery("lib/svrquery/protocol/sqp/query.go"),
        examples: [Example::of(&[H1, H2, C("01 80902348 0001 05"), S("01 80902348 0001 00 00 001d 0000000e 0003000801410162016301641e6100000007000101016e0005")])],
    }
    /// It holds fewer than four bytes for each announced metric, or no count. Cut on a boundary, go-
    /// svrquery reads the missing ones as 0.
    MET_001 = "SQP-MET-001" Error "metrics chunk is too short" {
        cite: go_svrquery("lib/svrquery/protocol/sqp/query.go"),
        examples: [Example::of(&[H1, H2, C("01 80902348 0002 10"), S("01 80902348 0001 00 00 0009 00000005 023f800000")])],
    }
    /// go-svrquery reads at most 25 and refuses the whole answer.
    MET_002 = "SQP-MET-002" Error "more than 25 metrics" {
        cite: go_svrquery("lib/svrquery/protocol/sqp/consts.go"),
        examples: [Example::of(&[H1, H2, C("01 80902348 0002 10"), S("018090234800010000006d000000691a 00*104")])],
    }
    /// The game server hosting SDK sends at most 10, go-svrquery reads up to 25.
    MET_003 = "SQP-MET-003" Note "more than 10 metrics" {
        cite: Cite { doc: "Unity game server hosting SDK for Go", section: "server/proto/sqp/metrics_info.go", url: "https://github.com/Unity-Technologies/unity-gaming-services-go-sdk" },
        examples: [Example::of(&[H1, H2, C("01 80902348 0002 10"), S("01809023480001000000310000002d0b 00*44")])],
    }
}

static COUNT: Ends = ends(&MET_001, &METRICS_SURPLUS);

/// The fields and ends of one of the two tables.
pub(super) struct TableFields {
    length: &'static Field,
    table: &'static Field,
    count: &'static Field,
    field_count: &'static Field,
    fields: &'static Field,
    field: [&'static Field; 3],
    records: &'static Field,
    record: &'static Field,
    value: &'static Field,
    /// Ends of the header, of strings and of other values.
    ends: [Ends; 3],
}

const fn table_ends(surplus: &'static Field) -> [Ends; 3] {
    let head = Ends { early: &TAB_001, early_inside: &CHK_005, late: &CHK_004, surplus };
    [head, ends(&STR_001, surplus), ends(&DYN_003, surplus)]
}

pub(super) static PLAYERS: TableFields = TableFields {
    length: &PLAYER_INFO_LENGTH,
    table: &PLAYER_INFO,
    count: &PLAYER_COUNT,
    field_count: &PLAYER_FIELD_COUNT,
    fields: &PLAYER_FIELDS,
    field: [&PLAYER_FIELD, &PLAYER_FIELD_NAME, &PLAYER_FIELD_TYPE],
    records: &PLAYER_RECORDS,
    record: &PLAYER_RECORD,
    value: &PLAYER_VALUE,
    ends: table_ends(&PLAYER_SURPLUS),
};

pub(super) static TEAM: TableFields = TableFields {
    length: &TEAM_INFO_LENGTH,
    table: &TEAM_INFO,
    count: &TEAM_COUNT,
    field_count: &TEAM_FIELD_COUNT,
    fields: &TEAM_FIELDS,
    field: [&TEAM_FIELD, &TEAM_FIELD_NAME, &TEAM_FIELD_TYPE],
    records: &TEAM_RECORDS,
    record: &TEAM_RECORD,
    value: &TEAM_VALUE,
    ends: table_ends(&TEAM_SURPLUS),
};

/// Reads a PlayerInfo or TeamInfo chunk; `stated_count` is the number of records that the answer stated before.
pub(super) fn table_chunk<S: FieldSink>(
    c: &mut Cursor<'_, '_, S>,
    f: &'static TableFields,
    stated_count: Option<u16>,
) -> Result<(), Fault> {
    let body = |c: &mut Cursor<'_, '_, S>| {
        let mut begun = 0;
        let table = table(c, f, stated_count, &mut begun);
        if table.is_err() {
            c.out_of_line(|c| add_empty_lists(c, [f.fields, f.records], begun));
        }
        table
    };
    chunk(c, f.length, &f.ends[0], |c| c.group(f.table, |c| body(c)))
}

/// Reads the content of a table; `begun` counts the lists that have begun.
fn table<S: FieldSink>(
    c: &mut Cursor<'_, '_, S>,
    f: &'static TableFields,
    stated_count: Option<u16>,
    begun: &mut usize,
) -> Result<(), Fault> {
    let count = c.field(f.count, be_u16)?;
    if let Some(stated_count) = stated_count {
        c.compare(&TAB_006, || stated_count == count, || Compared::new(stated_count, count));
    }
    let mut width = 0;
    if count > 0 || !c.rest().is_empty() {
        width = c.field(f.field_count, byte)?;
        c.compare(&TAB_005, || count > 0 || width == 0, || Compared::new(width, 0));
        c.require_that(&TAB_002, count == 0 || width > 0, || Compared::new(0, ComparedValue::AtLeast(1)))?;
    }
    *begun = 1;
    let columns = columns(c, f, width)?;
    *begun = 2;
    records(c, f, count, (width, columns))?;
    c.ends(&f.ends[2]);
    Ok(())
}

/// Reads names and types of the fields; returns their bytes.
fn columns<'a, S: FieldSink>(
    c: &mut Cursor<'a, '_, S>,
    f: &'static TableFields,
    width: u8,
) -> Result<&'a [u8], Fault> {
    let [field, name, kind] = f.field;
    let mut seen = Repeats::default();
    let column = |c: &mut Cursor<'a, '_, S>| {
        c.ends(&f.ends[0]);
        require_name(c, name)?;
        c.group(field, |c| {
            let name = string(c, name)?;
            c.compare(&TAB_004, || !seen.repeats(name.0), || Compared::new(name, "each name once"));
            type_code(c, kind).map(drop)
        })
    };
    c.list(f.fields, |_, done| done < width.into(), column)
}

/// Reads the records: values in the order of the columns, which are given by their number and bytes.
fn records<'a, S: FieldSink>(
    c: &mut Cursor<'a, '_, S>,
    f: &'static TableFields,
    count: u16,
    (width, columns): (u8, &'a [u8]),
) -> Result<(), Fault> {
    let [_, in_text, elsewhere] = &f.ends;
    let record = |c: &mut Cursor<'a, '_, S>| {
        if c.rest().is_empty() {
            c.about(Some(f.record));
            return Err(Fault { values: Compared::new(c.element(), count), ..c.short(&TAB_003) });
        }
        let mut columns = columns;
        let value = |c: &mut Cursor<'a, '_, S>| {
            let (rest, (_, code)) = named_type(columns).unwrap_or((&[], (Str(&[]), 0)));
            columns = rest;
            checked_value(c, f.value, code, [in_text, elsewhere])
        };
        c.list(f.record, |_, done| done < width.into(), value).map(drop)
    };
    c.list(f.records, |_, done| done < count, record)?;
    c.check(&TAB_003, || true);
    Ok(())
}

/// Reports the lists that had not begun when a table ended early as empty.
#[cold]
#[inline(never)]
fn add_empty_lists<S: FieldSink>(c: &mut Cursor<'_, '_, S>, lists: [&'static Field; 2], begun: usize) {
    for list in lists.into_iter().skip(begun) {
        let _ = c.list(list, |_, _| false, |_| Ok(())); // an empty list cannot fail
    }
}

/// Reads the Metrics chunk.
pub(super) fn metrics<S: FieldSink>(c: &mut Cursor<'_, '_, S>) -> Result<(), Fault> {
    chunk(c, &METRICS_LENGTH, &COUNT, |c| {
        let count = c.field(&METRICS_COUNT, byte)?;
        let [readable, usual] = MOST_METRICS;
        c.compare(
            &MET_002,
            || count <= readable,
            || Compared::new(count, ComparedValue::AtMost(readable.into())),
        );
        c.compare(
            &MET_003,
            || count <= usual || count > readable,
            || Compared::new(count, ComparedValue::AtMost(usual.into())),
        );
        let metric = |c: &mut Cursor<'_, '_, S>| {
            let v = c.field(&METRIC, be_f32)?;
            c.compare(&DYN_004, || v.is_finite(), || Compared::new(v, "a finite number"));
            Ok(())
        };
        c.list(&METRICS, |_, done| done < count.into(), metric).map(drop)
    })
}
