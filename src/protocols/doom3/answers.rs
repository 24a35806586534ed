//! The answers: variables, players in the layout of each game, and what Quake Wars adds.

use super::super::prelude::*;
use super::{
    ANSWER_ENDS, BOT, CHALLENGE, CHALLENGE2, CLAN, CLAN_POSITION, DEATHS, DIALECT, DIC_002, DIC_003, DIC_004,
    DIC_005, GAME_STATE, INFO_LIST, INTERESTED, KEY, KILLS, MAJOR, MAX_VIEWERS, NAME, OS_MASK, OSM_001,
    OTHER_STATS, PLAYER, PLAYER_ENDS, PLAYER_ID, PLAYER_LIST, PLAYER_PING, PLR_002, PLR_003, PLR_004,
    PROTOCOL, RANKED, RATE, RSP_002, RSP_004, SERVER_TYPE, SHIFTED, SIZE, STAT, STAT_ID, STATS, TEAM,
    THIRD_PARTY, TIME_LEFT, VALUE, VARIABLE, VARIABLE_ENDS, VIEWERS, XP,
};
use crate::decode::Skip;

/// Where the body of each answer begins.
pub(super) const INFO_BODY: usize = 15;
pub(super) const EXTENDED_BODY: usize = 17;
/// Largest UDP payload that fits an Ethernet frame, in bytes.
const UNFRAGMENTED: usize = 1472;

/// The bit of a modified game in the highest byte of the protocol.
const THIRD_PARTY_BIT: u8 = 0x80;
const DIALECTS: [&str; 5] = ["doom3", "quake4", "prey", "etqw", "wolfenstein"];
/// The place that ends the players; in Wolfenstein another one.
const LAST: u8 = 32;
const LAST_OF_WOLFENSTEIN: u8 = 16;

/// How a game writes its players.
struct Layout {
    /// Index into [`DIALECTS`].
    dialect: u8,
    /// What follows place and ping.
    fields: &'static [&'static Field],
    /// The place that ends them.
    end: u8,
}

const DOOM3: &Layout = &Layout { dialect: 0, fields: &[&RATE, &NAME], end: LAST };
const QUAKE4: &Layout = &Layout { dialect: 1, fields: &[&RATE, &NAME, &CLAN], end: LAST };
const PREY: &Layout = &Layout { dialect: 2, fields: &[&RATE, &NAME], end: LAST };
const ETQW: &Layout = &Layout { dialect: 3, fields: &[&NAME, &CLAN_POSITION, &CLAN, &BOT], end: LAST };
/// Quake Wars before 10.20, and before 10.17.
const ETQW_WITH_RATE: &Layout =
    &Layout { dialect: 3, fields: &[&RATE, &NAME, &CLAN_POSITION, &CLAN, &BOT], end: LAST };
const ETQW_WITHOUT_CLAN: &Layout = &Layout { dialect: 3, fields: &[&RATE, &NAME, &BOT], end: LAST };
const WOLFENSTEIN: &Layout =
    &Layout { dialect: 4, fields: &[&RATE, &NAME, &CLAN_POSITION, &CLAN, &BOT], end: LAST_OF_WOLFENSTEIN };

/// The layout that the protocol, major and minor, shows; `None` where it shows none.
fn layout([major, minor]: [u16; 2], is_sized: bool) -> Option<&'static Layout> {
    match (major, minor) {
        (10, 20..) | (11.., _) if is_sized => Some(ETQW),
        (10, 17..) if is_sized => Some(ETQW_WITH_RATE),
        _ if is_sized => Some(ETQW_WITHOUT_CLAN),
        (1, _) => Some(DOOM3),
        (2, _) => Some(QUAKE4),
        (3 | 4, _) => Some(PREY),
        _ => None,
    }
}

/// Whether the body of an answer has the eight bytes and the size of Quake Wars: there stands its major version, where another answer
/// has the name of a variable, and further the upper half of the size.
pub(super) fn is_sized(body: &[u8]) -> bool {
    let number = |at| read_at(body, at, le_u16);
    number(10).is_some_and(|major| (5..=255).contains(&major)) && number(14).is_none_or(|upper| upper == 0)
}

pub(super) fn info<S: FieldSink>(c: &mut Cursor<'_, '_, S>, is_extended: bool) -> Result<(), Fault> {
    let wire_len = c.wire_len();
    let most = ComparedValue::AtMost(UNFRAGMENTED as i64);
    let length = || Compared::new(ComparedValue::Bytes(wire_len as u64), most);
    c.compare_whole(&RSP_004, || wire_len <= UNFRAGMENTED, length);
    let is_sized = is_sized(c.rest());
    c.field(&CHALLENGE, le_u32)?;
    if is_sized {
        c.field(&CHALLENGE2, le_u32)?;
    }
    let bytes = c.field_as(&PROTOCOL, array, |bytes| Value::Pair(version(bytes), '.'))?;
    if bytes.last().is_some_and(|high| *high & THIRD_PARTY_BIT != 0) {
        c.derived(&THIRD_PARTY, Value::Bool(true));
    }
    let protocol = version(bytes);
    let mut is_whole = true;
    if is_sized {
        let size = c.field(&SIZE, le_u32)?;
        let behind = c.wire_len_of(c.rest()) as u64;
        is_whole = u64::from(size) == behind;
        c.compare(&RSP_002, || is_whole, || Compared::new(size, ComparedValue::Following(behind)));
    }
    let known = layout(protocol, is_sized);
    known.into_iter().for_each(|layout| name_dialect(c, layout));
    variables(c)?;
    let is_shifted = is_sized && matches!(protocol, [13, 9 | 10]);
    c.compare_whole(&PLR_003, || !is_shifted, || Compared::new("flags of one bit", "flags of one byte"));
    if is_shifted {
        return c.ignored(&SHIFTED);
    }
    let layout = known.unwrap_or_else(|| by_structure(c));
    if known.is_none() {
        name_dialect(c, layout);
    }
    let listed = players(c, layout)?;
    let places = c.facts.max_players.unwrap_or(u32::MAX);
    let expected = ComparedValue::AtMost(places.into());
    c.compare_whole(&PLR_004, || u32::from(listed) <= places, || Compared::new(listed, expected));
    c.facts.players = Some(listed.into());
    c.ends(&ANSWER_ENDS);
    let mask = c.field(&OS_MASK, le_u32)?;
    let systems = || Compared::new(ComparedValue::Hex(mask.into(), 8), "the bits of known systems");
    c.compare(&OSM_001, || mask != u32::MAX, systems);
    if !is_sized {
        return Ok(());
    }
    state(c)?;
    if is_extended { stats_or_others(c, is_whole) } else { Ok(()) }
}

/// Major and minor version.
fn version([low, high, major_low, major_high]: [u8; 4]) -> [u16; 2] {
    [u16::from_le_bytes([major_low, major_high]) & MAJOR as u16, u16::from_le_bytes([low, high])]
}

fn name_dialect<S: FieldSink>(c: &mut Cursor<'_, '_, S>, layout: &Layout) {
    let name = DIALECTS.get(usize::from(layout.dialect)).copied();
    c.derived(&DIALECT, Value::Named(layout.dialect.into(), name));
}

/// The layout with which only the mask of systems is left behind the players. What no layout fits is most likely of Wolfenstein, whose
/// protocols nobody has listed.
fn by_structure<S: FieldSink>(c: &Cursor<'_, '_, S>) -> &'static Layout {
    let fits = |layout: &&Layout| {
        c.trial(&mut Skip, |c| {
            players(c, layout)?;
            c.field(&OS_MASK, le_u32)
        })
    };
    [WOLFENSTEIN, DOOM3, QUAKE4].into_iter().find(fits).unwrap_or(WOLFENSTEIN)
}

/// Reads a text and its zero.
pub(super) fn text<'a, S: FieldSink>(
    c: &mut Cursor<'a, '_, S>,
    field: &'static Field,
) -> Result<Str<'a>, Fault> {
    if c.rest().is_empty() {
        c.about(Some(field));
        return Err(c.ended_early());
    }
    let text = c.terminated(field, b"\0")?;
    // Where its zero is missing, the capture has cut it.
    if c.may_continue() && c.last_byte() != Some(0) { Err(c.ended_early()) } else { Ok(text) }
}

// --- Variables

/// The facts about the server that variables state.
const FACT_KEYS: [(&[u8], Fact); 6] = [
    (b"si_name", Fact::ServerName),
    (b"si_map", Fact::Map),
    (b"si_maxPlayers", Fact::MaxPlayers),
    (b"si_version", Fact::Version),
    (b"gamename", Fact::Game),
    // The mod, which may be the only hint at the game.
    (b"fs_game", Fact::Mode),
];
/// The facts that every server states, each with its variable.
const NEEDED: [(Fact, &str); 3] =
    [(Fact::ServerName, "si_name"), (Fact::Map, "si_map"), (Fact::MaxPlayers, "si_maxPlayers")];

fn variables<S: FieldSink>(c: &mut Cursor<'_, '_, S>) -> Result<(), Fault> {
    c.ends(&VARIABLE_ENDS);
    let (mut stated, mut seen) = (0, Repeats::default());
    let more = |c: &Cursor<'_, '_, S>, _| !c.rest().is_empty() && !c.rest().starts_with(b"\0\0");
    c.list(&INFO_LIST, more, |c| c.group(&VARIABLE, |c| variable(c, &mut stated, &mut seen)))?;
    if c.may_continue() {
        return Err(c.ended_early());
    }
    c.expect(b"\0\0")?;
    let lacks = || NEEDED.iter().find(|(fact, _)| stated & fact.bit() == 0);
    c.compare_whole(
        &DIC_004,
        || lacks().is_none(),
        || Compared::new("nothing", lacks().map_or("", |(_, key)| *key)),
    );
    Ok(())
}

fn variable<'a, S: FieldSink>(
    c: &mut Cursor<'a, '_, S>,
    stated: &mut u32,
    seen: &mut Repeats<'a>,
) -> Result<(), Fault> {
    let key = text(c, &KEY)?;
    let is_new = || key.0.is_empty() || !seen.repeats_in_any_case(key.0);
    c.compare(&DIC_003, is_new, || Compared::new(key, "each name once"));
    let value = text(c, &VALUE)?;
    let nothing = ComparedValue::from(&b""[..]);
    c.compare(&DIC_002, || !key.0.is_empty() || value.0.is_empty(), || Compared::new(nothing, "a name"));
    let known = FACT_KEYS.iter().find(|(name, _)| name.eq_ignore_ascii_case(key.0));
    let is_count = known.is_some_and(|(_, fact)| *fact == Fact::MaxPlayers);
    c.compare(&DIC_005, || !is_count || value.is_integer(), || Compared::new(value, "a number"));
    if let Some((name, fact)) = known {
        let value = if *fact == Fact::Map { map_name(value) } else { value };
        *stated |= c.store_fact(&FACT_KEYS, Str(name), value);
    }
    Ok(())
}

/// The name of a map without its folder and its ending.
fn map_name(path: Str<'_>) -> Str<'_> {
    let path = path.0.strip_prefix(b"maps/").unwrap_or(path.0);
    Str(path.strip_suffix(b".entities").unwrap_or(path))
}

// --- Players

/// Reads the players; returns how many there are.
fn players<S: FieldSink>(c: &mut Cursor<'_, '_, S>, layout: &Layout) -> Result<u16, Fault> {
    c.ends(&PLAYER_ENDS);
    let (mut count, mut last) = (0u16, None);
    let more = |c: &Cursor<'_, '_, S>, _| c.rest().first().is_some_and(|id| *id != layout.end);
    c.list(&PLAYER_LIST, more, |c| {
        count = count.saturating_add(1);
        c.group(&PLAYER, |c| player(c, layout, &mut last))
    })?;
    end(c, layout.end)?;
    Ok(count)
}

/// Reads the place that ends a list.
fn end<S: FieldSink>(c: &mut Cursor<'_, '_, S>, place: u8) -> Result<(), Fault> {
    if c.may_continue() { Err(c.ended_early()) } else { c.expect(&[place]) }
}

fn player<S: FieldSink>(
    c: &mut Cursor<'_, '_, S>,
    layout: &Layout,
    last: &mut Option<u8>,
) -> Result<(), Fault> {
    let id = c.field(&PLAYER_ID, byte)?;
    let least = last.replace(id).map_or(0, |last| last.saturating_add(1));
    let (rises, is_numbered) = (id >= least, layout.end == LAST);
    let expected =
        if rises { ComparedValue::AtMost(LAST.into()) } else { ComparedValue::AtLeast(least.into()) };
    c.compare(&PLR_002, || !is_numbered || rises && id < LAST, || Compared::new(id, expected));
    c.field_as(&PLAYER_PING, le_i16, |ping| Value::Int(ping.into()))?;
    for &field in layout.fields {
        match field.kind {
            FieldKind::Text => text(c, field).map(drop)?,
            _ if field == &RATE => c.field(field, le_u32).map(drop)?,
            _ => c.field(field, byte).map(drop)?,
        }
    }
    Ok(())
}

// --- Quake Wars

fn state<S: FieldSink>(c: &mut Cursor<'_, '_, S>) -> Result<(), Fault> {
    c.field(&RANKED, byte)?;
    c.field(&TIME_LEFT, le_i32)?;
    c.field(&GAME_STATE, byte)?;
    match c.field(&SERVER_TYPE, byte)? {
        0 => c.field(&INTERESTED, byte).map(drop),
        1 => {
            c.field(&VIEWERS, le_u32)?;
            c.field(&MAX_VIEWERS, le_u32).map(drop)
        }
        _ => Ok(()),
    }
}

/// Reads what players have done. Mods have other fields there: what is whole, but cannot be read, is theirs.
fn stats_or_others<S: FieldSink>(c: &mut Cursor<'_, '_, S>, is_whole: bool) -> Result<(), Fault> {
    c.ends(&PLAYER_ENDS);
    let is_own = c.trial(&mut Skip, |c| stats(c));
    if !is_own && (is_whole || c.is_cut()) {
        return c.ignored(&OTHER_STATS);
    }
    stats(c)?;
    c.ends(&ANSWER_ENDS);
    Ok(())
}

fn stats<S: FieldSink>(c: &mut Cursor<'_, '_, S>) -> Result<(), Fault> {
    let more = |c: &Cursor<'_, '_, S>, _| c.rest().first().is_some_and(|id| *id != LAST);
    c.list(&STATS, more, |c| {
        c.group(&STAT, |c| {
            c.field(&STAT_ID, byte)?;
            c.field(&XP, le_f32)?;
            text(c, &TEAM)?;
            c.field(&KILLS, le_u32)?;
            c.field(&DEATHS, le_u32).map(drop)
        })
    })?;
    end(c, LAST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_of_the_protocol_tells_whether_there_is_a_size() {
        assert!(is_sized(b"PiNGPoNg\x15\0\x0a\0\x40\0\0\0si_name"));
        assert!(is_sized(b"PiNGPoNg\x15\0\x0a\0\x40\0"), "it is cut");
        assert!(!is_sized(b"PiNG\x29\0\x01\0si_name\0Lab\0"));
        assert!(!is_sized(b"PiNG\x29\0\x01\0\0\0\x20\x07\0\0\0"), "there are no variables");
        assert!(!is_sized(b"PiNG\x29\0"));
    }

    #[test]
    fn protocols_have_layouts() {
        let dialect =
            |version, is_sized| layout(version, is_sized).map(|layout| (layout.dialect, layout.fields.len()));
        for (version, is_sized, expected) in [
            ([1, 41], false, Some((0, 2))),
            ([2, 85], false, Some((1, 3))),
            ([4, 1], false, Some((2, 2))),
            ([10, 21], true, Some((3, 4))),
            ([11, 1], true, Some((3, 4))),
            ([10, 19], true, Some((3, 5))),
            ([10, 16], true, Some((3, 3))),
            ([7, 20], true, Some((3, 3))),
            ([5, 0], false, None),
        ] {
            assert_eq!(dialect(version, is_sized), expected, "{version:?}");
        }
    }
}
