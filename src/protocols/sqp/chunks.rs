//! The body of a QueryResponse: which chunks it holds, and ServerInfo.
//!
//! ```text
//! body         chunk × answered bits, in ascending order of RequestedChunks' bits
//! chunk        length u32 │ that many bytes
//! ServerInfo   current_players u16 │ max_players u16 │ server_name │ game_type │ build_id │ map │ port u16
//! string       length u8 │ UTF-8, no terminator
//! ```
//!
//! A chunk carries no tag: only the request says what it is, see `choice`.

use super::choice::{Choice, choose, surplus_is_chunks};
use super::exchange::{TXN_011, TXN_012, TXN_017};
use super::header::{PACKET_SURPLUS, opaque};
use super::samples::*;
use super::server_rules;
use super::tables::{self, PLAYERS, TEAM};
use crate::decode::wire::*;
use crate::decode::{Cursor, Ends, Facts, Fault, Field, FieldSink, Str, Version, fields};
use crate::rule::{Example, Step::*, rules};

/// Bits of RequestedChunks.
pub(super) const SERVER_INFO: u8 = 0x01;
/// See [`SERVER_INFO`].
pub(super) const SERVER_RULES: u8 = 0x02;
/// See [`SERVER_INFO`].
pub(super) const PLAYER_INFO: u8 = 0x04;
/// See [`SERVER_INFO`].
pub(super) const TEAM_INFO: u8 = 0x08;
/// See [`SERVER_INFO`].
pub(super) const METRICS: u8 = 0x10;
/// All bits that name a chunk.
pub(super) const KNOWN: u8 = 0x1f;

fields! {
    /// Bytes of the ServerInfo chunk after this field.
    SERVER_INFO_LENGTH = "server_info_length": Uint;
    /// Basic information about the server.
    INFO = "server_info": Group;
    /// Players now on the server.
    CURRENT_PLAYERS = "server_info.current_players": Uint;
    /// The most players it takes.
    MAX_PLAYERS = "server_info.max_players": Uint;
    /// Name of the server.
    SERVER_NAME = "server_info.server_name": Text;
    /// Name or type of the game.
    GAME_TYPE = "server_info.game_type": Text;
    /// Version or build of the server.
    BUILD_ID = "server_info.build_id": Text;
    /// The map being played.
    MAP = "server_info.map": Text;
    /// The port by which players connect; not the query port.
    PORT = "server_info.port": Uint;
    /// Bytes of the chunk behind its last known field.
    INFO_SURPLUS = "info_surplus": Bytes;
}

rules! {
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
    /// The chunk is shorter than CurrentPlayers and MaxPlayers.
    INF_001 = "SQP-INF-001" Error "ServerInfo ends inside its player counts" {
        cite: unity("ServerInfo response format"),
        examples: [Example::of(&[H1, H2, QI, S("01 80902348 0001 00 00 0007 00000003 000100")])],
    }
    /// The chunk ends before the two bytes of Port.
    INF_002 = "SQP-INF-002" Error "ServerInfo ends inside its port" {
        cite: unity("ServerInfo response format"),
        examples: [Example::of(&[H1, H2, QI, S("01 80902348 0001 00 00 0011 0000000d 0001000801410162016301641e")])],
    }
    /// CurrentPlayers is greater than MaxPlayers: the counters are swapped, stale, or count spectators.
    INF_003 = "SQP-INF-003" Warning "more players than the maximum" {
        cite: unity("ServerInfo response format"),
        examples: [Example::of(&[H1, H2, QI, S("01 80902348 0001 00 00 0012 0000000e 0009000801410162016301641e61")])],
    }
    /// Browsers show the server as full or hide it.
    INF_004 = "SQP-INF-004" Note "maximum of players is 0" {
        cite: unity("ServerInfo response format"),
        per_server: true,
        examples: [Example::of(&[H1, H2, QI, S("01 80902348 0001 00 00 0012 0000000e 0000000001410162016301641e61")])],
    }
    /// The Unity SDK leaves it 0 unless the game sets it; clients cannot connect by it.
    INF_005 = "SQP-INF-005" Note "game port is 0" {
        cite: unity("ServerInfo response format"),
        per_server: true,
        examples: [Example::of(&[H1, H2, QI, S("01 80902348 0001 00 00 0012 0000000e 0001000801410162016301640000")])],
    }
    /// Browsers have nothing to show for this server but its address.
    INF_006 = "SQP-INF-006" Note "server name is empty" {
        cite: unity("ServerInfo response format"),
        per_server: true,
        examples: [Example::of(&[H1, H2, QI, S("01 80902348 0001 00 00 0011 0000000d 00010008000162016301641e61")])],
    }
}

pub(super) static BODY: Ends = Ends::new(&CHK_001, &CHK_003, &PACKET_SURPLUS);
/// What is left are chunks that were not requested.
static MORE_CHUNKS: Ends = Ends::new(&CHK_001, &TXN_017, &PACKET_SURPLUS);
static COUNTS: Ends =
    Ends { early: &INF_001, early_inside: &CHK_005, late: &CHK_004, surplus: &INFO_SURPLUS };
static TEXTS: Ends = Ends { early: &STR_001, early_inside: &CHK_005, late: &CHK_004, surplus: &INFO_SURPLUS };
static LAST: Ends = Ends { early: &INF_002, early_inside: &CHK_005, late: &CHK_004, surplus: &INFO_SURPLUS };

/// Decodes the body of an answer to a request for the chunks in `asked`.
#[inline(always)]
pub(super) fn decode<S: FieldSink>(c: &mut Cursor<'_, '_, S>, asked: Option<u32>) -> Result<(), Fault> {
    let asked = asked.map(|a| a as u8 & KNOWN);
    let choice = match asked {
        // Nothing to choose.
        Some(SERVER_INFO) if !c.rest().is_empty() => Some(Choice { kinds: SERVER_INFO, asked, known: true }),
        _ => c.apart(|c| choose(c, asked)),
    };
    match choice {
        Some(choice) => chosen(c, choice),
        None => opaque(c),
    }
}

/// Decodes the chosen chunks and says what is missing.
#[inline(always)]
fn chosen<S: FieldSink>(c: &mut Cursor<'_, '_, S>, choice: Choice) -> Result<(), Fault> {
    let Choice { kinds: mask, asked, known } = choice;
    let whole = c.to_end();
    chunks(c, (mask, known))?;
    if S::RULES && !c.rest().is_empty() && !c.is_cut() && asked.is_some() {
        c.check(&TXN_017, || true);
        if c.apart(|c| surplus_is_chunks(c, mask)) {
            c.ends(&MORE_CHUNKS);
        }
    }
    let missing = asked.unwrap_or(mask) & !mask;
    if missing != 0 {
        c.about(None);
        c.check_at(&TXN_012, whole, || missing & SERVER_INFO == 0);
        c.check_at(&TXN_011, whole, || missing & SERVER_INFO != 0);
    }
    Ok(())
}

/// The chunks of these kinds; two that count the same are compared where the kinds are known.
#[inline(always)]
pub(super) fn chunks<S: FieldSink>(
    c: &mut Cursor<'_, '_, S>,
    (mask, known): (u8, bool),
) -> Result<(), Fault> {
    let players = match mask & SERVER_INFO {
        0 => None,
        _ => Some(chunk(c, &SERVER_INFO_LENGTH, &COUNTS, server_info)?),
    };
    match mask & !SERVER_INFO {
        0 => Ok(()),
        others => c.apart(|c| optional(c, others, players.filter(|_| known))),
    }
}

#[inline(never)]
fn optional<S: FieldSink>(c: &mut Cursor<'_, '_, S>, mask: u8, players: Option<u16>) -> Result<(), Fault> {
    if mask & SERVER_RULES != 0 {
        server_rules::decode(c)?;
    }
    if mask & PLAYER_INFO != 0 {
        tables::decode(c, &PLAYERS, players)?;
    }
    if mask & TEAM_INFO != 0 {
        tables::decode(c, &TEAM, None)?;
    }
    if mask & METRICS != 0 {
        tables::metrics(c)?;
    }
    Ok(())
}

/// One chunk: its length, then `body` on exactly that many bytes.
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

/// The ServerInfo chunk; returns how many players it counts.
#[inline(always)]
fn server_info<S: FieldSink>(c: &mut Cursor<'_, '_, S>) -> Result<u16, Fault> {
    c.group(&INFO, |c| {
        let current_players = c.field(&CURRENT_PLAYERS, be_u16)?;
        let max_players = c.field(&MAX_PLAYERS, be_u16)?;
        c.check(&INF_003, || current_players <= max_players || max_players == 0);
        c.check(&INF_004, || max_players != 0);
        c.ends(&TEXTS);
        let server_name = text(c, &SERVER_NAME)?;
        c.check(&INF_006, || !server_name.0.is_empty());
        let (game_type, build_id) = (text(c, &GAME_TYPE)?, text(c, &BUILD_ID)?);
        let map = text(c, &MAP)?;
        c.ends(&LAST);
        let port = c.field(&PORT, be_u16)?;
        c.check(&INF_005, || port != 0);
        *c.facts = Facts {
            server_name: Some(server_name.into()),
            game: Some(game_type.into()),
            map: Some(map.into()),
            version: (!build_id.0.is_empty()).then_some(Version::Text(build_id.into())),
            players: Some(current_players.into()),
            max_players: Some(max_players.into()),
            state: None,
        };
        Ok(current_players)
    })
}

/// A string, and the rules about every string.
#[inline(always)]
pub(super) fn text<'a, S: FieldSink>(
    c: &mut Cursor<'a, '_, S>,
    field: &'static Field,
) -> Result<Str<'a>, Fault> {
    let text = c.field(field, string8)?;
    text_rules(c, text);
    Ok(text)
}

#[inline(always)]
pub(super) fn text_rules<S: FieldSink>(c: &mut Cursor<'_, '_, S>, text: Str<'_>) {
    c.check(&STR_003, || text.0.len() < 255);
    c.check_text(text, &STR_002, &STR_004);
}
