//! What a server says of its game, of its companies, and of its NewGRFs.

use super::super::prelude::*;
use super::{
    BODY, CLIENTS, CLIENTS_MAX, COMPANIES, COMPANIES_MAX, COMPANY, COMPANY_COUNT, COMPANY_ID, COMPANY_NAME,
    COMPANY_PASSWORD, COMPANY_VALUE, DEDICATED, DET_001, GAME_DATE, GRF_COUNT, GRF_GROUP, GRF_ID, GRF_INDEX,
    GRF_LIST, GRF_MD5, GRF_NAME, INCOME, INF_001, INF_002, INF_003, INF_004, INF_005, IS_AI, LANGUAGE,
    MAP_HEIGHT, MAP_NAME, MAP_SET, MAP_WIDTH, MONEY, PASSWORD, PERFORMANCE, REVISION, SCRIPT_NAME,
    SCRIPT_VERSION, SERIALISATION, SERVER_NAME, SPECTATORS, SPECTATORS_MAX, START_DATE, START_YEAR, STATION,
    STATIONS, STR_001, TICKS, VEHICLE, VEHICLES, VERSION,
};

/// The newest version of a game's information.
pub(super) const NEWEST: u8 = 7;
/// The highest number of a climate.
const LAST_CLIMATE: u8 = 3;
/// Least and most tiles on a side of a map.
const SIDES: std::ops::RangeInclusive<u16> = 64..=4096;
/// Kinds of vehicles and of stations.
const KINDS: u16 = 5;
/// How NewGRFs are written.
const WITH_NAMES: u8 = 1;
const BY_NUMBER: u8 = 2;

/// Reads what each version has added, the newest first.
pub(super) fn game<S: FieldSink>(c: &mut Cursor<'_, '_, S>) -> Result<(), Fault> {
    let version = c.field(&VERSION, byte)?;
    let is_known = (1..=NEWEST).contains(&version);
    c.compare(&INF_001, || is_known, || Compared::new(version, "1 to 7"));
    if !is_known {
        return c.ignored(&BODY);
    }
    c.facts.game = Some(Value::Text(b"openttd"));
    if version >= 7 {
        c.field(&TICKS, le_u64)?;
    }
    let form = if version >= 6 { c.field(&SERIALISATION, byte)? } else { 0 };
    if version >= 5 {
        c.field(&SCRIPT_VERSION, le_i32)?;
        string(c, &SCRIPT_NAME)?;
    }
    if version >= 4 {
        c.counted(&GRF_COUNT, byte, [&GRF_LIST, &GRF_GROUP], |c| newgrf(c, form))?;
    }
    if version >= 3 {
        c.field(&GAME_DATE, le_u32)?;
        c.field(&START_DATE, le_u32)?;
    }
    if version >= 2 {
        let most = c.field(&COMPANIES_MAX, byte)?;
        let companies = c.field(&COMPANIES, byte)?;
        c.check_number(&INF_003, companies, ComparedValue::AtMost(most.into()));
        c.field(&SPECTATORS_MAX, byte)?;
    }
    string(c, &SERVER_NAME)?;
    string(c, &REVISION)?;
    if version <= 5 {
        c.field(&LANGUAGE, byte)?;
    }
    flag(c, &PASSWORD)?;
    let most = c.field(&CLIENTS_MAX, byte)?;
    let clients = c.field(&CLIENTS, byte)?;
    c.check_number(&INF_003, clients, ComparedValue::AtMost(most.into()));
    c.field(&SPECTATORS, byte)?;
    if version <= 2 {
        c.field(&GAME_DATE, le_u16)?;
        c.field(&START_DATE, le_u16)?;
    }
    map(c, version)
}

fn map<S: FieldSink>(c: &mut Cursor<'_, '_, S>, version: u8) -> Result<(), Fault> {
    let has_name = version <= 5;
    if has_name {
        string(c, &MAP_NAME)?;
    }
    let sides = [side(c, &MAP_WIDTH)?, side(c, &MAP_HEIGHT)?];
    if !has_name {
        c.facts.map = Some(Value::Pair(sides, '×'));
    }
    let climate = c.field(&MAP_SET, byte)?;
    c.check_number(&INF_004, climate, ComparedValue::AtMost(LAST_CLIMATE.into()));
    flag(c, &DEDICATED)
}

fn side<S: FieldSink>(c: &mut Cursor<'_, '_, S>, field: &'static Field) -> Result<u16, Fault> {
    let tiles = c.field(field, le_u16)?;
    let is_possible = || SIDES.contains(&tiles) && tiles.is_power_of_two();
    c.compare(&INF_005, is_possible, || Compared::new(tiles, "64, 128, 256, 512, 1024, 2048 or 4096"));
    Ok(tiles)
}

fn flag<S: FieldSink>(c: &mut Cursor<'_, '_, S>, field: &'static Field) -> Result<(), Fault> {
    let flag = c.field_as(field, byte, |flag| Value::Bool(flag != 0))?;
    c.compare(&INF_002, || flag <= 1, || Compared::new(flag, "0 or 1"));
    Ok(())
}

/// Reads a text and its zero.
pub(super) fn string<S: FieldSink>(c: &mut Cursor<'_, '_, S>, field: &'static Field) -> Result<(), Fault> {
    if c.rest().is_empty() {
        c.about(Some(field));
        return Err(c.ended_early());
    }
    let text = c.terminated(field, b"\0")?;
    c.check(&STR_001, || true);
    // Where its zero is missing, the last character may be cut.
    if !c.may_continue() {
        c.check_utf8(&STR_001, text);
    }
    Ok(())
}

/// Reads a NewGRF.
pub(super) fn newgrf<S: FieldSink>(c: &mut Cursor<'_, '_, S>, form: u8) -> Result<(), Fault> {
    if form == BY_NUMBER {
        return c.field(&GRF_INDEX, le_u32).map(drop);
    }
    c.field(&GRF_ID, bytes(4))?;
    c.field(&GRF_MD5, bytes(16))?;
    if form == WITH_NAMES { string(c, &GRF_NAME) } else { Ok(()) }
}

pub(super) fn companies<S: FieldSink>(c: &mut Cursor<'_, '_, S>) -> Result<(), Fault> {
    let version = c.field(&VERSION, byte)?;
    let is_read = matches!(version, 5 | 6);
    c.compare(&DET_001, || is_read, || Compared::new(version, "5 or 6"));
    if !is_read {
        return c.ignored(&BODY);
    }
    c.counted(&COMPANY_COUNT, byte, [&COMPANIES, &COMPANY], |c| company(c, version))?;
    // The end of a list that version 5 no longer has.
    if version == 5 && c.rest() == [0] {
        c.skip(b"\0");
    }
    Ok(())
}

fn company<S: FieldSink>(c: &mut Cursor<'_, '_, S>, version: u8) -> Result<(), Fault> {
    c.field(&COMPANY_ID, byte)?;
    string(c, &COMPANY_NAME)?;
    c.field(&START_YEAR, le_u32)?;
    for money in [&COMPANY_VALUE, &MONEY, &INCOME] {
        c.field(money, le_i64)?;
    }
    c.field(&PERFORMANCE, le_u16)?;
    c.field_as(&COMPANY_PASSWORD, byte, |flag| Value::Bool(flag != 0))?;
    for (list, number) in [(&VEHICLES, &VEHICLE), (&STATIONS, &STATION)] {
        c.list(list, |_, kind| kind < KINDS, |c| c.field(number, le_u16).map(drop))?;
    }
    if version >= 6 {
        c.field_as(&IS_AI, byte, |flag| Value::Bool(flag != 0))?;
    }
    Ok(())
}
