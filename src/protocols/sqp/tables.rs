//! The chunks with tables and measurements: players, teams, metrics.
//!
//! ```text
//! PlayerInfo, TeamInfo   records u16 │ fields u8 │ fields × (name string │ type u8) │ records × fields × value
//! Metrics                count u8 │ count × float32
//! ```
//!
//! The current document reserves these chunks; the older one and go-svrquery define them. A table
//! without records may end after the count.

use super::chunks::{CHK_004, CHK_005, STR_001, chunk, text};
use super::samples::*;
use super::server_rules::{DYN_003, DYN_004, checked, ends, named_type, type_code, whole};
use crate::decode::wire::*;
use crate::decode::{Cursor, Ends, Fault, Field, FieldSink, Repeats, Str, fields};
use crate::rule::{Cite, Example, Step::*, rules};

/// Most metrics that go-svrquery reads, and that the game server hosting SDK sends.
const MOST_METRICS: [u8; 2] = [25, 10];

fields! {
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
    PLAYER_FIELD_NAME = "player_info.fields[].name": Text;
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
    TEAM_FIELD_NAME = "team_info.fields[].name": Text;
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
    METRIC = "metrics[]": Float32;
    /// Bytes of the chunk behind its last metric.
    METRICS_SURPLUS = "metrics_surplus": Bytes;
}

rules! {
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
    /// Ends of the head, of strings and of other values.
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

/// A PlayerInfo or TeamInfo chunk; `counted` is the number of records that the answer named before.
pub(super) fn decode<S: FieldSink>(
    c: &mut Cursor<'_, '_, S>,
    f: &'static TableFields,
    counted: Option<u16>,
) -> Result<(), Fault> {
    let body = |c: &mut Cursor<'_, '_, S>| {
        let mut begun = 0;
        let table = table(c, f, counted, &mut begun);
        if table.is_err() {
            c.apart(|c| without(c, [f.fields, f.records], begun));
        }
        table
    };
    chunk(c, f.length, &f.ends[0], |c| c.group(f.table, |c| body(c)))
}

/// The inside of a table; `begun` counts its lists as they begin.
fn table<S: FieldSink>(
    c: &mut Cursor<'_, '_, S>,
    f: &'static TableFields,
    counted: Option<u16>,
    begun: &mut usize,
) -> Result<(), Fault> {
    let count = c.field(f.count, be_u16)?;
    if let Some(counted) = counted {
        c.check(&TAB_006, || counted == count);
    }
    let mut width = 0;
    if count > 0 || !c.rest().is_empty() {
        width = c.field(f.field_count, byte)?;
        c.check(&TAB_005, || count > 0 || width == 0);
        c.require(&TAB_002, count == 0 || width > 0)?;
    }
    *begun = 1;
    let columns = columns(c, f, width)?;
    *begun = 2;
    records(c, f, count, (width, columns))?;
    c.ends(&f.ends[2]);
    Ok(())
}

/// Names and types of the fields; returns their bytes.
fn columns<'a, S: FieldSink>(
    c: &mut Cursor<'a, '_, S>,
    f: &'static TableFields,
    width: u8,
) -> Result<&'a [u8], Fault> {
    let [field, name, kind] = f.field;
    let mut seen = Repeats::default();
    let column = |c: &mut Cursor<'a, '_, S>| {
        c.ends(&f.ends[0]);
        whole(c, name)?;
        c.group(field, |c| {
            let name = text(c, name)?;
            c.check(&TAB_004, || !seen.repeats(name.0));
            type_code(c, kind).map(drop)
        })
    };
    c.list(f.fields, |_, done| done < width.into(), column)
}

/// The records: values in the order of the columns, which are given as their number and bytes.
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
            return Err(c.short(&TAB_003));
        }
        let mut columns = columns;
        let value = |c: &mut Cursor<'a, '_, S>| {
            let (rest, (_, code)) = named_type(columns).unwrap_or((&[], (Str(&[]), 0)));
            columns = rest;
            checked(c, f.value, code, [in_text, elsewhere])
        };
        c.list(f.record, |_, done| done < width.into(), value).map(drop)
    };
    c.list(f.records, |_, done| done < count, record).map(drop)
}

/// A table that ended early has the lists that had not begun, too: they are empty.
#[cold]
#[inline(never)]
fn without<S: FieldSink>(c: &mut Cursor<'_, '_, S>, lists: [&'static Field; 2], begun: usize) {
    for list in lists.into_iter().skip(begun) {
        let _ = c.list(list, |_, _| false, |_| Ok(())); // nothing in it can fail
    }
}

/// The Metrics chunk.
pub(super) fn metrics<S: FieldSink>(c: &mut Cursor<'_, '_, S>) -> Result<(), Fault> {
    chunk(c, &METRICS_LENGTH, &COUNT, |c| {
        let count = c.field(&METRICS_COUNT, byte)?;
        let [readable, usual] = MOST_METRICS;
        c.check(&MET_002, || count <= readable);
        c.check(&MET_003, || count <= usual || count > readable);
        let metric = |c: &mut Cursor<'_, '_, S>| {
            let v = c.field(&METRIC, be_f32)?;
            c.check(&DYN_004, || v.is_finite());
            Ok(())
        };
        c.list(&METRICS, |_, done| done < count.into(), metric).map(drop)
    })
}
