//! The reply, in both of its layouts.
//!
//! ```text
//! current  header i32 = 147 │ server_name_length i32 │ server_name UTF-16LE │ version_length i32
//!          │ version UTF-8 │ players i32 │ max_players i32 │ config_length i32 │ config UTF-16LE
//! legacy   header i32 = 147 │ version_length i32 │ version UTF-8 │ players i32 │ max_players i32
//!          │ 3 × bool │ 3 × i32 │ 3 × bool
//! ```
//!
//! A reply with a length in front of its header, or with a big-endian header, is decoded too.

use super::config;
use super::layout::{self, Layout, Units, is_version};
use super::rcon::CALLBACK;
use super::samples::*;
use super::strings::{self, STR_001, STR_009, STRING};
use super::{REPLY, SWAPPED};
use crate::decode::wire::*;
use crate::decode::{Cursor, Ends, Fault, Field, FieldSink, Labels, Value, Version, fields};
use crate::rule::{Example, Step::*, rules};

/// Bytes of UDP payload that pass most paths in one piece.
const ONE_PIECE: usize = 1472;

fields! {
    /// Length of what follows it, which only packets of the game have.
    LENGTH_PREFIX = "length_prefix": Int;
    /// 147 in a reply, 130 in an answer of RCON.
    HEADER = "header": Int, Labels::Pairs(&[(REPLY, "status response"), (CALLBACK, "RCON response")]);
    /// Layout of the reply: current, or legacy for the one of before April 2023.
    LAYOUT = "layout": Named;
    /// Length of the name in bytes.
    SERVER_NAME_LENGTH = "server_name_length": Int;
    /// Name of the server.
    SERVER_NAME = "server_name": Text;
    /// Length of the version: UTF-16 units by the server, the same as bytes while it is ASCII.
    VERSION_LENGTH = "version_length": Int;
    /// Version of the mod.
    VERSION = "version": Text;
    /// Players now on the server, operators on RCON included.
    PLAYERS = "players": Int;
    /// Players it has room for; 0 is legal.
    MAX_PLAYERS = "max_players": Int;
    /// Length of the configuration in bytes.
    CONFIG_LENGTH = "config_length": Int;
    /// Configuration: JSON with single quotes.
    CONFIG = "config": Text;
    /// Legacy configuration: clothes and tools wear out faster.
    FAST_CONSUMPTION = "fast_consumption": Bool;
    /// Legacy configuration: every player finds the things lying about.
    DUPPED_SPAWNS = "dupped_spawns": Bool;
    /// Legacy configuration: every player finds the things in containers.
    DUPPED_CONTAINERS = "dupped_containers": Bool;
    /// Legacy configuration: number of the way in which players enter the world.
    PLAYERS_SPAWN_TYPE = "players_spawn_type": Int;
    /// Legacy configuration: number of the way in which fires are shared.
    FIRE_SYNC = "fire_sync": Int;
    /// Legacy configuration: number of the way in which cheats are handled.
    CHEATS_MODE = "cheats_mode": Int;
    /// Legacy configuration: clients must have the same mods.
    CHECK_MODS_VALIDATION = "check_mods_validation": Bool;
    /// Legacy configuration: saved games are protected.
    SAVE_SCAM_PROTECTION = "save_scam_protection": Bool;
    /// Legacy configuration: players can hurt each other.
    PVP = "pvp": Bool;
    /// Bytes behind the end of the message.
    SURPLUS = "surplus": Bytes;
}

rules! {
    /// Usually a packet of the game with its length in front, such as the message that a client of another
    /// version is kicked with. Clients test the header and give up.
    RSP_001 = "SKY-RSP-001" Error "answer to a query has another header than 147" {
        cite: wiki("Reply format"),
        examples: [
            Example::of(&[RQ, S("4a000000 4f000000 42000000 596f75722076657273696f6e206f6620746865206d6f642c2069736e27742073\
               7570706f727465640a486f7374207573696e672076657273696f6e20302e31332e32")]),
        ],
    }
    /// It is cut in the header, a length, the number of players or their maximum.
    RSP_002 = "SKY-RSP-002" Error "reply ends inside an integer" {
        cite: wiki("Reply format"),
        examples: [
            Example::of(&[RQ, S("93000000 0200")]),
            Example::of(&[RQ, S("93000000 02000000 4100 0300")]),
            Example::of(&[RQ, S("93000000 02000000 4100 03000000 302e31 000000")]),
            Example::of(&[RQ, S("93000000 02000000 4100 03000000 302e31 00000000 010000")]),
        ],
    }
    /// The bytes are 00 00 00 93; all integers are little-endian.
    RSP_003 = "SKY-RSP-003" Error "header is written big-endian" {
        cite: wiki("Reply format"),
        examples: [
            Example::of(&[RQ, S("00000093 02000000 4100 03000000 302e31 00000000 01000000 66000000 7b00270070006c006100790065\
               007200730027003a005b005d002c00270065007800700065007200690065006e006300650027003a002700500069\
               006c006700720069006d0027002c00270070007600700027003a002700460061006c007300650027007d00")]),
        ],
    }
    /// The configuration is the last field. Nothing reads what follows it.
    RSP_004 = "SKY-RSP-004" Warning "bytes follow the configuration" {
        cite: wiki("Reply format"),
        examples: [
            Example::of(&[RQ, S("93000000 02000000 4100 03000000 302e31 00000000 01000000 66000000 7b00270070006c006100790065\
               007200730027003a005b005d002c00270065007800700065007200690065006e006300650027003a002700500069\
               006c006700720069006d0027002c00270070007600700027003a002700460061006c007300650027007d00 \
               00")]),
        ],
    }
    /// Mods up to 0.11 sent version, players and a fixed configuration, and neither name nor text.
    RSP_005 = "SKY-RSP-005" Note "reply has the layout of before April 2023" {
        cite: server("history, before \"Query Protocol\""),
        per_server: true,
        examples: [
            Example::of(&[RQ, S("93000000 06000000 302e31312e32 01000000 0a000000 01 00 00 00000000 02000000 02000000 \
               00 00 01")]),
        ],
    }
    /// Unlike packets of the game, the reply has no length in front. Clients test the first
    /// integer for 147.
    RSP_006 = "SKY-RSP-006" Error "reply carries the length prefix of game packets" {
        cite: server("ServerSend.cs, PINGSERVER"),
        examples: [
            Example::of(&[RQ, S("83000000 93000000 02000000 4100 03000000 302e31 00000000 01000000 66000000 7b00270070006c00\
               6100790065007200730027003a005b005d002c00270065007800700065007200690065006e006300650027003a00\
               2700500069006c006700720069006d0027002c00270070007600700027003a002700460061006c00730065002700\
               7d00")]),
        ],
    }
    /// It will be fragmented on most paths. Every character of a name takes two bytes, and nothing limits them.
    RSP_007 = "SKY-RSP-007" Warning "reply is larger than 1472 bytes" {
        cite: wiki("Reply format"),
        examples: [
            Example::of(&[RQ, S("93000000 78050000 4e00*700 03000000 302e31 00000000 01000000 66000000 7b00270070006c00610079\
               0065007200730027003a005b005d002c00270065007800700065007200690065006e006300650027003a00270050\
               0069006c006700720069006d0027002c00270070007600700027003a002700460061006c007300650027007d00")]),
        ],
    }
    /// Players or their maximum: both are signed on the wire only.
    VAL_001 = "SKY-VAL-001" Error "number of players is negative" {
        cite: wiki("Reply format"),
        examples: [
            Example::of(&[RQ, S("93000000 08000000 430061006d007000 06000000 302e31332e32 ffffffff 0a000000 66000000 7b002700\
               70006c006100790065007200730027003a005b005d002c00270065007800700065007200690065006e0063006500\
               27003a002700500069006c006700720069006d0027002c00270070007600700027003a002700460061006c007300\
               650027007d00")]),
        ],
    }
    /// A full server with an operator on RCON counts one more than its maximum; this is more than that.
    VAL_002 = "SKY-VAL-002" Warning "more players than places" {
        cite: server("Server.cs, MaxPlayers"),
        lenient: Note,
        examples: [
            Example::of(&[RQ, S("93000000 08000000 430061006d007000 06000000 302e31332e32 0c000000 0a000000 7a000000 7b002700\
               70006c006100790065007200730027003a005b00270041006e006e0027002c00270042006f00620027005d002c00\
               270065007800700065007200690065006e006300650027003a0027005300740061006c006b006500720027002c00\
               270070007600700027003a002700540072007500650027007d00")]),
        ],
    }
    /// Known versions are digits and dots, like 0.13.2.
    VAL_003 = "SKY-VAL-003" Note "version does not look like one" {
        cite: client("BuildInfo.cs"),
        examples: [
            Example::of(&[RQ, S("93000000 08000000 430061006d007000 03000000 646576 02000000 0a000000 7a000000 7b00270070006c\
               006100790065007200730027003a005b00270041006e006e0027002c00270042006f00620027005d002c00270065\
               007800700065007200690065006e006300650027003a0027005300740061006c006b006500720027002c00270070\
               007600700027003a002700540072007500650027007d00")]),
        ],
    }
}

pub(super) static FIXED: Ends = Ends::new(&RSP_002, &RSP_004, &SURPLUS);

static LAYOUTS: [&str; 2] = ["current", "legacy"];

pub(super) fn decode<S: FieldSink>(c: &mut Cursor<'_, '_, S>) -> Result<(), Fault> {
    let wire_len = c.wire_len();
    c.check_whole(&RSP_007, || wire_len <= ONE_PIECE);
    if has_prefix(c.rest(), wire_len) {
        c.field(&LENGTH_PREFIX, le_i32)?;
        c.check(&RSP_006, || false);
    }
    let header = c.field(&HEADER, le_i32)?;
    c.check(&RSP_006, || true);
    c.require(&RSP_001, header == REPLY || header == SWAPPED)?;
    // Is only the header big-endian, or everything?
    c.require(&RSP_003, header == REPLY || layout::is_exact(c.rest()))?;
    c.check(&RSP_003, || header == REPLY);
    let layout = layout::of(c.rest(), wire_len.saturating_sub(usize::from(c.whole().end)));
    let number = u32::from(layout == Layout::Legacy);
    c.derived(&LAYOUT, Value::Named(number, LAYOUTS.get(number as usize).copied()));
    match layout {
        Layout::Current(units) => current(c, units),
        Layout::Legacy => {
            let all = c.whole();
            c.about(None);
            c.check_at(&RSP_005, all, || false);
            legacy(c)
        }
    }
}

/// Whether the length of a packet of the game stands in front of a reply's header.
pub(super) fn has_prefix(p: &[u8], wire_len: usize) -> bool {
    let (Some(length), Some(header)) = (int(p, 0), int(p, 4)) else { return false };
    header == REPLY && usize::try_from(length).is_ok_and(|n| n.saturating_add(4) == wire_len)
}

fn current<S: FieldSink>(c: &mut Cursor<'_, '_, S>, units: Units) -> Result<(), Fault> {
    let name = strings::utf16(c, [&SERVER_NAME_LENGTH, &SERVER_NAME], units.name)?;
    c.facts.server_name = Some(Value::Utf16(name));
    version(c, units.version)?;
    let players = players(c)?;
    let config = strings::utf16(c, [&CONFIG_LENGTH, &CONFIG], units.config)?;
    config::decode(c, config, players);
    Ok(())
}

fn legacy<S: FieldSink>(c: &mut Cursor<'_, '_, S>) -> Result<(), Fault> {
    version(c, false)?;
    players(c)?;
    [&FAST_CONSUMPTION, &DUPPED_SPAWNS, &DUPPED_CONTAINERS]
        .into_iter()
        .try_for_each(|field| truth(c, field))?;
    let modes = [&PLAYERS_SPAWN_TYPE, &FIRE_SYNC, &CHEATS_MODE];
    modes.into_iter().try_for_each(|field| c.field(field, le_i32).map(drop))?;
    [&CHECK_MODS_VALIDATION, &SAVE_SCAM_PROTECTION, &PVP].into_iter().try_for_each(|field| truth(c, field))
}

/// A byte that .NET takes for true unless it is 0.
fn truth<S: FieldSink>(c: &mut Cursor<'_, '_, S>, field: &'static Field) -> Result<(), Fault> {
    c.field_as(field, byte, |b| Value::Bool(b != 0)).map(drop)
}

/// The version behind its length, which counts bytes, or UTF-16 units if `units` says so.
fn version<S: FieldSink>(c: &mut Cursor<'_, '_, S>, units: bool) -> Result<(), Fault> {
    let length = c.field(&VERSION_LENGTH, le_i32)?;
    c.require(&STR_001, length >= 0)?;
    let length = length as usize;
    let length = if units { layout::utf8_of_units(c.rest(), length).unwrap_or(length) } else { length };
    c.ends(&STRING);
    let version = c.text_behind_length(strings::LENGTH, &VERSION, text(length), Value::from)?;
    c.ends(&FIXED);
    c.check(&STR_009, || !units);
    c.check(&strings::STR_005, || version.is_utf8());
    c.check(&VAL_003, || is_version(version.0) || !version.is_utf8());
    c.facts.version = Some(Version::Text(version.into()));
    Ok(())
}

/// Both numbers of players; returns how many there are.
fn players<S: FieldSink>(c: &mut Cursor<'_, '_, S>) -> Result<i32, Fault> {
    let players = c.field(&PLAYERS, le_i32)?;
    c.check(&VAL_001, || players >= 0);
    let at = c.last();
    let most = c.field(&MAX_PLAYERS, le_i32)?;
    c.check(&VAL_001, || most >= 0);
    c.about(Some(&PLAYERS));
    // One place more is the operator's.
    c.check_at(&VAL_002, at, || most < 0 || players <= most.saturating_add(1));
    (c.facts.players, c.facts.max_players) = (u32::try_from(players).ok(), u32::try_from(most).ok());
    Ok(players)
}

/// An integer of a payload.
pub(super) fn int(p: &[u8], at: usize) -> Option<i32> {
    p.get(at..)?.first_chunk().map(|b| i32::from_le_bytes(*b))
}
