//! The reply, in both of its layouts.
//!
//! ```text
//! current  header i32 = 147 │ server_name_length i32 │ server_name UTF-16LE │ version_length i32
//!          │ version UTF-8 │ players i32 │ max_players i32 │ config_length i32 │ config UTF-16LE
//! legacy   header i32 = 147 │ version_length i32 │ version UTF-8 │ players i32 │ max_players i32
//!          │ 3 × bool │ 3 × i32 │ 3 × bool
//! ```
//!
//! A reply with a length in front of its header, or with a big-endian header, is decoded as well.
//!
//! Lengths of strings are ambiguous: the page does not name their unit, and for the version the server itself counts characters
//! instead of bytes. Bytes are tried first. Another unit is used only if all fields then end exactly where the datagram ends.

use super::config::{self, *};
use crate::decode::{Version, utf16};
use crate::protocols::prelude::*;

/// Header of a reply.
pub(super) const REPLY: i32 = 147;
/// The header of a reply with its bytes swapped.
pub(super) const SWAPPED: i32 = REPLY.swap_bytes();
/// First integer of an RCON answer.
pub(super) const CALLBACK: i32 = 130;

pub(super) static FIXED: Ends = Ends::new(&RSP_002, &RSP_004, &SURPLUS);

// --- Finding the layout of a reply by its lengths, before it is decoded

/// Length of a legacy reply after its version in bytes: players, max_players, and 18 bytes of configuration.
const LEGACY_TAIL: usize = 26;
/// Maximum length of a version that is recognised, in bytes.
const LONGEST_VERSION: usize = 32;

/// The lengths that count UTF-16 units instead of bytes, one bit each.
type Units = u8;
const NAME: Units = 1;
const VERSION_TEXT: Units = 2;
const CONFIG_TEXT: Units = 4;

/// The layout of a reply after its header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layout {
    /// Name, version, players, configuration as text.
    Current(Units),
    /// Before April 2023: version, players, configuration as numbers.
    Legacy,
}

/// All lengths count bytes.
const BYTES: Units = 0;

/// The other combinations, the more likely ones first.
const OTHERS: [Units; 7] = [
    NAME,
    VERSION_TEXT,
    NAME | CONFIG_TEXT,
    CONFIG_TEXT,
    NAME | VERSION_TEXT,
    VERSION_TEXT | CONFIG_TEXT,
    NAME | VERSION_TEXT | CONFIG_TEXT,
];

/// Determines the layout of the bytes after the header. `missing` bytes at the end were not captured.
fn layout_of(rest: &[u8], missing: usize) -> Layout {
    if bytes_left(rest, missing, BYTES) == Some(0) {
        return Layout::Current(BYTES);
    }
    if is_legacy(rest) {
        return Layout::Legacy;
    }
    let fits = |units: &Units| bytes_left(rest, missing, *units) == Some(0);
    Layout::Current(OTHERS.into_iter().find(fits).unwrap_or(BYTES))
}

/// Whether the bytes after the header are exactly one reply.
pub(super) fn is_exact(rest: &[u8]) -> bool {
    let legacy = || is_legacy(rest) && short_version(rest).is_some_and(|(_, tail)| tail.len() == LEGACY_TAIL);
    bytes_left(rest, 0, BYTES) == Some(0) || legacy()
}

/// The number of bytes left after the last string of a current reply; `None` if a length is negative or exceeds the datagram.
/// `missing` bytes were not captured; they belong to that string or follow it.
fn bytes_left(rest: &[u8], missing: usize, units: Units) -> Option<usize> {
    let counts = |field| units & field != 0;
    let utf16 = |n: usize, field| n.checked_mul(if counts(field) { 2 } else { 1 });
    let version = |n, text: &[u8]| if counts(VERSION_TEXT) { utf8_of_units(text, n) } else { Some(n) };
    let rest = behind_string(rest, |n, _| utf16(n, NAME))?;
    let rest = behind_string(rest, version)?;
    let (length, rest) = length(rest.get(8..)?)?;
    rest.len().saturating_add(missing).checked_sub(utf16(length, CONFIG_TEXT)?)
}

/// The bytes after a length and its string, whose size in bytes `size` computes.
fn behind_string(rest: &[u8], size: impl FnOnce(usize, &[u8]) -> Option<usize>) -> Option<&[u8]> {
    let (length, text) = length(rest)?;
    text.get(size(length, text)?..)
}

/// A non-negative length, and the bytes after it.
fn length(rest: &[u8]) -> Option<(usize, &[u8])> {
    let (length, rest) = rest.split_first_chunk::<4>()?;
    Some((usize::try_from(i32::from_le_bytes(*length)).ok()?, rest))
}

/// The number of UTF-8 bytes that form this many UTF-16 units; `None` if they are invalid or too few.
fn utf8_of_units(text: &[u8], units: usize) -> Option<usize> {
    // A UTF-16 unit takes at most three bytes in UTF-8.
    let text = text.get(..units.saturating_mul(3)).unwrap_or(text);
    let valid = text.utf8_chunks().next().map_or("", |chunk| chunk.valid());
    let (mut bytes, mut counted) = (0usize, 0usize);
    for c in valid.chars() {
        if counted >= units {
            break;
        }
        counted = counted.saturating_add(c.len_utf16());
        bytes = bytes.saturating_add(c.len_utf8());
    }
    (counted == units).then_some(bytes)
}

/// Whether this is a legacy reply, which begins with its version. Read as a name, "0.11.2" would be three Chinese characters.
fn is_legacy(rest: &[u8]) -> bool {
    short_version(rest).is_some_and(|(text, _)| !text.is_empty() && is_version(text))
}

/// The string at the start, if it is short, and the bytes after it.
fn short_version(rest: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, text) = rest.split_first_chunk::<4>()?;
    let length = usize::try_from(i32::from_le_bytes(*length)).ok().filter(|n| *n <= LONGEST_VERSION)?;
    text.split_at_checked(length)
}

/// Whether the text consists of digits and dots.
fn is_version(text: &[u8]) -> bool {
    !text.is_empty() && text.iter().all(|b| b.is_ascii_digit() || *b == b'.')
}

// --- Strings: UTF-16LE or UTF-8 after a signed length

rules! {
    list STRING_RULES;
    /// Lengths are signed, but a string cannot be shorter than nothing: the published client throws.
    STR_001 = "SKY-STR-001" Error "string length is negative" {
        cite: wiki("Reply format"),
        examples: [
            Example::of(&[RQ, S("93000000 ffffffff")]),
        ],
    }
    /// Its length announces more bytes than there are.
    STR_002 = "SKY-STR-002" Error "string runs past the end of the datagram" {
        cite: wiki("Reply format"),
        examples: [
            Example::of(&[RQ, S("93000000 64000000 4100")]),
        ],
    }
    /// Every unit of UTF-16 takes two bytes, and the server counts bytes.
    STR_003 = "SKY-STR-003" Error "UTF-16 string has an odd number of bytes" {
        cite: server("Packet.cs, WriteUnicodeString"),
        examples: [
            Example::of(&[RQ, S("93000000 03000000 410042 06000000 302e31332e32 02000000 0a000000 7a000000 7b00270070006c0061\
               00790065007200730027003a005b00270041006e006e0027002c00270042006f00620027005d002c002700650078\
               00700065007200690065006e006300650027003a0027005300740061006c006b006500720027002c002700700076\
               00700027003a002700540072007500650027007d00")]),
        ],
    }
    /// Half a character: it is shown as U+FFFD, and its bytes beside it.
    STR_004 = "SKY-STR-004" Error "UTF-16 string has an unpaired surrogate" {
        cite: wiki("Reply format"),
        examples: [
            Example::of(&[RQ, S("93000000 02000000 00d8 03000000 302e31 00000000 01000000 66000000 7b00270070006c006100790065\
               007200730027003a005b005d002c00270065007800700065007200690065006e006300650027003a002700500069\
               006c006700720069006d0027002c00270070007600700027003a002700460061006c007300650027007d00")]),
        ],
    }
    /// It is shown with U+FFFD, and its bytes beside it.
    STR_005 = "SKY-STR-005" Error "version is not valid UTF-8" {
        cite: wiki("Reply format"),
        examples: [
            Example::of(&[RQ, S("93000000 02000000 4100 03000000 302eff 00000000 01000000 66000000 7b00270070006c006100790065\
               007200730027003a005b005d002c00270065007800700065007200690065006e006300650027003a002700500069\
               006c006700720069006d0027002c00270070007600700027003a002700460061006c007300650027007d00")]),
        ],
    }
    /// With the length in bytes the reply cannot be read; with the length in UTF-16 units it ends exactly where
    /// the datagram ends. The published client takes the value for bytes.
    STR_006 = "SKY-STR-006" Error "string length counts characters instead of bytes" {
        cite: wiki("C# Example"),
        examples: [
            Example::of(&[RQ, S("93000000 04000000 430061006d007000 03000000 302e31 00000000 01000000 66000000 7b00270070006c\
               006100790065007200730027003a005b005d002c00270065007800700065007200690065006e006300650027003a\
               002700500069006c006700720069006d0027002c00270070007600700027003a002700460061006c007300650027\
               007d00")]),
        ],
    }
    /// The published server writes none, and clients show it as a character.
    STR_007 = "SKY-STR-007" Warning "string begins with a byte-order mark" {
        cite: wiki("Reply format"),
        examples: [
            Example::of(&[RQ, S("93000000 04000000 fffe4100 03000000 302e31 00000000 01000000 66000000 7b00270070006c00610079\
               0065007200730027003a005b005d002c00270065007800700065007200690065006e006300650027003a00270050\
               0069006c006700720069006d0027002c00270070007600700027003a002700460061006c007300650027007d00")]),
        ],
    }
    /// NUL included: usually the terminator of a C string, counted in by mistake.
    STR_008 = "SKY-STR-008" Warning "string contains a control character" {
        cite: wiki("Reply format"),
        examples: [
            Example::of(&[RQ, S("93000000 04000000 41000000 03000000 302e31 00000000 01000000 66000000 7b00270070006c00610079\
               0065007200730027003a005b005d002c00270065007800700065007200690065006e006300650027003a00270050\
               0069006c006700720069006d0027002c00270070007600700027003a002700460061006c007300650027007d00")]),
        ],
    }
    /// The server writes the number of characters in front of bytes. With a character beyond ASCII in the
    /// version all later fields shift.
    STR_009 = "SKY-STR-009" Error "version length counts UTF-16 units of a text in UTF-8" {
        cite: server("Packet.cs, Write(string)"),
        examples: [
            Example::of(&[RQ, S("93000000 08000000 430061006d007000 07000000 302e31332e32c3a9 02000000 0a000000 7a000000 \
               7b00270070006c006100790065007200730027003a005b00270041006e006e0027002c00270042006f0062002700\
               5d002c00270065007800700065007200690065006e006300650027003a0027005300740061006c006b0065007200\
               27002c00270070007600700027003a002700540072007500650027007d00")]),
        ],
    }
}

/// Inside a string.
pub(super) static STRING: Ends = Ends::new(&STR_002, &RSP_004, &SURPLUS);

/// Size of the length in front of a string, in bytes.
pub(super) const LENGTH: u16 = 4;

/// Reads a UTF-16LE string after its length, which counts bytes, or UTF-16 units if `units` says so.
fn utf16_text<'a, S: FieldSink>(
    c: &mut Cursor<'a, '_, S>,
    [length, text]: [&'static Field; 2],
    units: bool,
) -> Result<&'a [u8], Fault> {
    let claimed = c.field(length, le_i32)?;
    c.require_that(&STR_001, claimed >= 0, || Compared::new(claimed, ComparedValue::AtLeast(0)))?;
    let claimed = claimed as usize;
    let len = if units { claimed.saturating_mul(2) } else { claimed };
    c.ends(&STRING);
    let bytes = c.text_after_length(LENGTH, text, bytes(len), Value::Utf16)?;
    c.ends(&FIXED);
    c.compare(&STR_006, || !units, || Compared::new(claimed, len));
    c.compare(&STR_003, || bytes.len().is_multiple_of(2), || Compared::new(bytes.len(), "an even number"));
    let whole = bytes.as_chunks::<2>().0.as_flattened();
    check_units(c, &STR_004, whole, |unit| unit.is_err(), "a surrogate pair");
    let start = c.offset_of(bytes);
    let mark = Span { start, end: start.saturating_add(2) };
    c.compare_at(
        &STR_007,
        mark,
        || !bytes.starts_with(&[0xff, 0xfe]),
        || Compared::new(ComparedValue::Hex(0xfffe, 4), "no byte-order mark"),
    );
    let is_control = |unit: &Unit| unit.as_ref().is_ok_and(|c| c.is_control());
    check_units(c, &STR_008, whole, is_control, "no control character");
    Ok(bytes)
}

/// A character of UTF-16, or half of one.
type Unit = Result<char, std::char::DecodeUtf16Error>;

/// Checks that no character of a text is wrong; the first one that is wrong is marked alone.
fn check_units<'a, S: FieldSink>(
    c: &mut Cursor<'a, '_, S>,
    rule: &'static Rule,
    text: &'a [u8],
    is_wrong: impl Fn(&Unit) -> bool,
    expected: &'static str,
) {
    let wrong = if S::RULES { first_unit(text, is_wrong) } else { None };
    let at = wrong.map_or(c.last(), |(at, len, _)| {
        let start = c.offset_of(text).saturating_add(at);
        Span { start, end: start.saturating_add(len) }
    });
    let found = wrong.map_or(ComparedValue::Nothing, |(.., code)| ComparedValue::Hex(code.into(), 4));
    c.compare_at(rule, at, || wrong.is_none(), || Compared::new(found, expected));
}

/// Offset, length and code of the first wrong character.
fn first_unit(text: &[u8], is_wrong: impl Fn(&Unit) -> bool) -> Option<(u16, u16, u32)> {
    let mut at = 0u16;
    for unit in utf16(text) {
        let len = if unit.as_ref().is_ok_and(|c| c.len_utf16() == 2) { 4 } else { 2 };
        if is_wrong(&unit) {
            let code = unit.map_or_else(|lone| lone.unpaired_surrogate().into(), u32::from);
            return Some((at, len, code));
        }
        at = at.saturating_add(len);
    }
    None
}

// --- The reply

/// Maximum UDP payload that most paths carry in one piece, in bytes.
const ONE_PIECE: usize = 1472;

fields! {
    list REPLY_FIELDS;
    /// Length of what follows it, which only packets of the game have.
    LENGTH_PREFIX = "length_prefix": Int;
    /// 147 in a reply, 130 in an answer of RCON.
    HEADER = "header": Int, Labels::Pairs(&[(REPLY, "status response"), (CALLBACK, "RCON response")]);
    /// Layout of the reply: current, or legacy for the one of before April 2023.
    LAYOUT = "layout": Named;
    /// Length of the name in bytes.
    SERVER_NAME_LENGTH = "server_name_length": Int;
    /// Name of the server.
    SERVER_NAME = "server_name": Text personal;
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
    list REPLY_RULES;
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

static LAYOUTS: [&str; 2] = ["current", "legacy"];

pub(super) fn reply<S: FieldSink>(c: &mut Cursor<'_, '_, S>) -> Result<(), Fault> {
    let wire_len = c.wire_len();
    c.compare_whole(
        &RSP_007,
        || wire_len <= ONE_PIECE,
        || Compared::new(ComparedValue::Bytes(wire_len as u64), ComparedValue::AtMost(ONE_PIECE as i64)),
    );
    if has_prefix(c.rest(), wire_len) {
        c.field(&LENGTH_PREFIX, le_i32)?;
        c.compare(&RSP_006, || false, || Compared::new("length and header", "the header"));
    }
    let header = c.field(&HEADER, le_i32)?;
    c.check(&RSP_006, || true);
    c.require_that(&RSP_001, header == REPLY || header == SWAPPED, || {
        Compared::new(
            ComparedValue::Hex((header as u32).into(), 8),
            ComparedValue::Hex((REPLY as u32).into(), 8),
        )
    })?;
    // Either the header alone is big-endian, or everything; the lengths show which.
    c.require_that(&RSP_003, header == REPLY || is_exact(c.rest()), || {
        Compared::new(
            ComparedValue::Hex((header as u32).into(), 8),
            ComparedValue::Hex((REPLY as u32).into(), 8),
        )
    })?;
    c.compare(
        &RSP_003,
        || header == REPLY,
        || {
            Compared::new(
                ComparedValue::Hex((header as u32).into(), 8),
                ComparedValue::Hex((REPLY as u32).into(), 8),
            )
        },
    );
    let layout = layout_of(c.rest(), wire_len.saturating_sub(usize::from(c.whole().end)));
    let number = u32::from(layout == Layout::Legacy);
    c.derived(&LAYOUT, Value::Named(number, LAYOUTS.get(number as usize).copied()));
    c.compare_whole(&RSP_005, || layout != Layout::Legacy, || Compared::new("legacy", "current"));
    match layout {
        Layout::Current(units) => current(c, units),
        Layout::Legacy => legacy(c),
    }
}

/// Whether the length field of game packets precedes a reply's header.
pub(super) fn has_prefix(p: &[u8], wire_len: usize) -> bool {
    let (Some(length), Some(header)) = (int(p, 0), int(p, 4)) else { return false };
    header == REPLY && usize::try_from(length).is_ok_and(|n| n.saturating_add(4) == wire_len)
}

fn current<S: FieldSink>(c: &mut Cursor<'_, '_, S>, units: Units) -> Result<(), Fault> {
    let name = utf16_text(c, [&SERVER_NAME_LENGTH, &SERVER_NAME], units & NAME != 0)?;
    c.facts.server_name = Some(Value::Utf16(name));
    version(c, units & VERSION_TEXT != 0)?;
    let players = players(c)?;
    let config = utf16_text(c, [&CONFIG_LENGTH, &CONFIG], units & CONFIG_TEXT != 0)?;
    config::decode(c, config, players);
    Ok(())
}

fn legacy<S: FieldSink>(c: &mut Cursor<'_, '_, S>) -> Result<(), Fault> {
    version(c, false)?;
    players(c)?;
    [&FAST_CONSUMPTION, &DUPPED_SPAWNS, &DUPPED_CONTAINERS]
        .into_iter()
        .try_for_each(|field| boolean(c, field))?;
    let modes = [&PLAYERS_SPAWN_TYPE, &FIRE_SYNC, &CHEATS_MODE];
    modes.into_iter().try_for_each(|field| c.field(field, le_i32).map(drop))?;
    [&CHECK_MODS_VALIDATION, &SAVE_SCAM_PROTECTION, &PVP].into_iter().try_for_each(|field| boolean(c, field))
}

/// Reads a boolean; as in .NET, any byte but 0 is true.
fn boolean<S: FieldSink>(c: &mut Cursor<'_, '_, S>, field: &'static Field) -> Result<(), Fault> {
    c.field_as(field, byte, |b| Value::Bool(b != 0)).map(drop)
}

/// Reads the version after its length, which counts bytes, or UTF-16 units if `units` says so.
fn version<S: FieldSink>(c: &mut Cursor<'_, '_, S>, units: bool) -> Result<(), Fault> {
    let length = c.field(&VERSION_LENGTH, le_i32)?;
    c.require_that(&STR_001, length >= 0, || Compared::new(length, ComparedValue::AtLeast(0)))?;
    let claimed = length as usize;
    let length = claimed;
    let length = if units { utf8_of_units(c.rest(), length).unwrap_or(length) } else { length };
    c.ends(&STRING);
    let version = c.text_after_length(LENGTH, &VERSION, text(length), Value::from)?;
    c.ends(&FIXED);
    c.compare(&STR_009, || !units, || Compared::new(claimed, length));
    c.check_utf8(&STR_005, version);
    c.compare(
        &VAL_003,
        || is_version(version.0) || !version.is_utf8(),
        || Compared::new(version, "a version such as 1.2.3"),
    );
    c.facts.version = Some(Version::Text(version.into()));
    Ok(())
}

/// Reads both numbers of players; returns the current one.
fn players<S: FieldSink>(c: &mut Cursor<'_, '_, S>) -> Result<i32, Fault> {
    let players = c.field(&PLAYERS, le_i32)?;
    c.check_number(&VAL_001, players, ComparedValue::AtLeast(0));
    let at = c.last();
    let most = c.field(&MAX_PLAYERS, le_i32)?;
    c.check_number(&VAL_001, most, ComparedValue::AtLeast(0));
    c.about(Some(&PLAYERS));
    // One additional slot is the operator's.
    c.compare_at(
        &VAL_002,
        at,
        || most < 0 || players <= most.saturating_add(1),
        || Compared::new(players, ComparedValue::AtMost(i64::from(most).saturating_add(1))),
    );
    (c.facts.players, c.facts.max_players) = (u32::try_from(players).ok(), u32::try_from(most).ok());
    Ok(players)
}

/// Reads a little-endian integer at an offset.
pub(super) fn int(p: &[u8], at: usize) -> Option<i32> {
    p.get(at..)?.first_chunk().map(|b| i32::from_le_bytes(*b))
}

#[cfg(test)]
#[allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::arithmetic_side_effects)]
mod tests {
    use super::*;
    use crate::rule::hex;

    #[test]
    fn utf16_units_are_assumed_only_if_all_fields_then_end_exactly() {
        let bytes = hex("02000000 4100 03000000 302e31 00000000 01000000 04000000 7b007d00");
        assert_eq!(layout_of(&bytes, 0), Layout::Current(BYTES));
        let name = hex("01000000 4100 03000000 302e31 00000000 01000000 04000000 7b007d00");
        assert_eq!(layout_of(&name, 0), Layout::Current(NAME));
        let version = hex("02000000 4100 02000000 31c3a9 00000000 01000000 04000000 7b007d00");
        assert_eq!(layout_of(&version, 0), Layout::Current(VERSION_TEXT));
        let long = hex("02000000 4100 03000000 302e31 00000000 01000000 04000000 7b007d0000");
        assert_eq!(layout_of(&long, 0), Layout::Current(BYTES));
        assert!(is_exact(&bytes) && !is_exact(&name) && !is_exact(&long));
    }

    #[test]
    fn the_layout_of_a_cut_reply_follows_from_its_lengths() {
        let name = hex("01000000 4100 03000000 302e31 00000000 01000000 04000000 7b007d00");
        for missing in 0..=4 {
            let cut = &name[..name.len() - missing];
            assert_eq!(layout_of(cut, missing), Layout::Current(NAME), "{missing}");
        }
        assert_eq!(layout_of(&name[..name.len() - 5], 5), Layout::Current(BYTES), "the last length is cut");
        assert_eq!(layout_of(&name, 1), Layout::Current(BYTES), "it ends elsewhere");
    }

    #[test]
    fn a_reply_that_begins_with_a_version_is_legacy() {
        let legacy =
            hex("06000000 302e31312e32 01000000 0a000000 01 00 00 00000000 02000000 02000000 00 00 01");
        assert_eq!(layout_of(&legacy, 0), Layout::Legacy);
        assert!(is_exact(&legacy) && !is_exact(&legacy[..30]));
        assert_eq!(layout_of(&legacy[..30], 0), Layout::Legacy, "also when it is cut");
    }

    #[test]
    fn utf16_units_are_counted_in_utf8() {
        assert_eq!(utf8_of_units("é".as_bytes(), 1), Some(2));
        assert_eq!(utf8_of_units("🏕x".as_bytes(), 2), Some(4));
        assert_eq!(utf8_of_units("🏕x".as_bytes(), 1), None, "half a character");
        assert_eq!(utf8_of_units(b"a\xff", 2), None);
        assert_eq!(utf8_of_units(b"", 0), Some(0));
    }
}
