//! The body of a QueryResponse: finding out which chunks it contains, and decoding ServerInfo.
//!
//! ```text
//! body         chunk × answered bits, in ascending order of RequestedChunks' bits
//! chunk        length u32 │ that many bytes
//! ServerInfo   current_players u16 │ max_players u16 │ server_name │ game_type │ build_id │ map │ port u16
//! string       length u8 │ UTF-8, no terminator
//! ```
//!
//! A chunk carries no tag: only the request tells its kind.

use super::exchange::*;
use super::tables::*;
use crate::decode::{Facts, Fit, Version, Violation};
use crate::protocols::prelude::*;
use crate::rule::Severity;
use crate::rule::general::GEN_001;

/// Bit of ServerInfo in RequestedChunks.
const SERVER_INFO: u8 = 0x01;
/// Bit of ServerRules in RequestedChunks.
const SERVER_RULES: u8 = 0x02;
/// Bit of PlayerInfo in RequestedChunks.
const PLAYER_INFO: u8 = 0x04;
/// Bit of TeamInfo in RequestedChunks.
const TEAM_INFO: u8 = 0x08;
/// Bit of Metrics in RequestedChunks.
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
    SERVER_NAME = "server_info.server_name": Text personal;
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
/// For the rest, which consists of chunks that were not requested.
static MORE_CHUNKS: Ends = Ends::new(&CHK_001, &TXN_017, &PACKET_SURPLUS);
static COUNTS: Ends =
    Ends { early: &INF_001, early_inside: &CHK_005, late: &CHK_004, surplus: &INFO_SURPLUS };
static TEXTS: Ends = Ends { early: &STR_001, early_inside: &CHK_005, late: &CHK_004, surplus: &INFO_SURPLUS };
static LAST: Ends = Ends { early: &INF_002, early_inside: &CHK_005, late: &CHK_004, surplus: &INFO_SURPLUS };

/// Decodes the body of an answer to a request for the chunks in `asked`.
#[inline(always)]
pub(super) fn decode<S: FieldSink>(c: &mut Cursor<'_, '_, S>, asked: Option<u32>) -> Result<(), Fault> {
    let asked = asked.map(|a| a as u8 & KNOWN);
    if asked.is_some() {
        c.check(&CHK_006, || true);
    }
    match asked {
        // There is no choice.
        Some(SERVER_INFO) if !c.rest().is_empty() => {
            chunk(c, &SERVER_INFO_LENGTH, &COUNTS, server_info::<S, true>)?;
            check_surplus(c, asked, SERVER_INFO)
        }
        _ => c.out_of_line(|c| chosen(c, asked)),
    }
}

/// Decodes the chunks that are chosen where there is a choice, and reports missing ones.
#[inline(never)]
fn chosen<S: FieldSink>(c: &mut Cursor<'_, '_, S>, asked: Option<u8>) -> Result<(), Fault> {
    let Some(Choice { kinds: mask, asked, is_certain }) = choose(c, asked) else { return opaque(c) };
    let whole = c.to_end();
    chunks(c, (mask, is_certain))?;
    check_surplus(c, asked, mask)?;
    let missing = asked.unwrap_or(mask) & !mask;
    if missing != 0 {
        c.about(None);
        c.compare_at(
            &TXN_012,
            whole,
            || missing & SERVER_INFO == 0,
            || Compared::new(ComparedValue::byte(mask), ComparedValue::byte(asked.unwrap_or(mask))),
        );
        c.compare_at(
            &TXN_011,
            whole,
            || missing & SERVER_INFO != 0,
            || Compared::new(ComparedValue::byte(mask), ComparedValue::byte(asked.unwrap_or(mask))),
        );
    }
    Ok(())
}

/// Examines the bytes after the chunks of these kinds.
#[inline(always)]
fn check_surplus<S: FieldSink>(c: &mut Cursor<'_, '_, S>, asked: Option<u8>, mask: u8) -> Result<(), Fault> {
    if S::RULES && !c.rest().is_empty() && !c.is_cut() && asked.is_some() {
        c.check(&TXN_017, || true);
        if c.out_of_line(|c| surplus_is_chunks(c, mask)) {
            c.ends(&MORE_CHUNKS);
        }
    }
    Ok(())
}

/// Decodes chunks of these kinds. If the kinds are certain, chunks that count the same things are compared.
fn chunks<S: FieldSink>(c: &mut Cursor<'_, '_, S>, (mask, is_certain): (u8, bool)) -> Result<(), Fault> {
    let players = match mask & SERVER_INFO {
        0 => None,
        _ => Some(chunk(c, &SERVER_INFO_LENGTH, &COUNTS, server_info::<S, false>)?),
    };
    let players = players.filter(|_| is_certain);
    if mask & SERVER_RULES != 0 {
        server_rules(c)?;
    }
    if mask & PLAYER_INFO != 0 {
        table_chunk(c, &PLAYERS, players)?;
    }
    if mask & TEAM_INFO != 0 {
        table_chunk(c, &TEAM, None)?;
    }
    if mask & METRICS != 0 {
        metrics(c)?;
    }
    Ok(())
}

/// Decodes the ServerInfo chunk; returns the number of players in it. `ALONE` means that no other chunk was requested: this is
/// the usual case, which has a compiled copy of its own, inlined where it is called.
#[inline(always)]
fn server_info<S: FieldSink, const ALONE: bool>(c: &mut Cursor<'_, '_, S>) -> Result<u16, Fault> {
    c.group(&INFO, |c| {
        let current_players = c.field(&CURRENT_PLAYERS, be_u16)?;
        let max_players = c.field(&MAX_PLAYERS, be_u16)?;
        c.compare(
            &INF_003,
            || current_players <= max_players || max_players == 0,
            || Compared::new(current_players, ComparedValue::AtMost(max_players.into())),
        );
        c.check_number(&INF_004, max_players, ComparedValue::Not(0));
        c.ends(&TEXTS);
        let server_name = string(c, &SERVER_NAME)?;
        c.compare(&INF_006, || !server_name.0.is_empty(), || Compared::new(server_name, "a name"));
        let (game_type, build_id) = (string(c, &GAME_TYPE)?, string(c, &BUILD_ID)?);
        let map = string(c, &MAP)?;
        c.ends(&LAST);
        let port = c.field(&PORT, be_u16)?;
        c.check_number(&INF_005, port, ComparedValue::Not(0));
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

// --- Which chunks an answer contains
//
// A chunk carries no tag: only the request tells its kind. If fewer chunks came than were requested, the subsets of the
// request's bits are tried; if the request is unknown, all subsets.

/// The chunk kinds that a body is decoded as, and the requested kinds, if they are still compared with these.
struct Choice {
    pub kinds: u8,
    pub asked: Option<u8>,
    /// Whether the kinds follow from the request and the number of chunks. Otherwise they are guessed.
    pub is_certain: bool,
}

/// Chooses the kinds of the chunks; `None` if nothing is known about them.
fn choose<S: FieldSink>(c: &mut Cursor<'_, '_, S>, asked: Option<u8>) -> Option<Choice> {
    match asked {
        // At most one chunk was requested.
        Some(mask) if mask.count_ones() <= 1 => {
            let mask = if c.rest().is_empty() && !c.is_cut() { 0 } else { mask };
            Some(requested(c, asked, mask))
        }
        _ => search(c, asked),
    }
}

/// Chooses `kinds`, the requested chunks that are there.
fn requested<S: FieldSink>(c: &mut Cursor<'_, '_, S>, asked: Option<u8>, kinds: u8) -> Choice {
    if kinds & SERVER_INFO == 0 {
        without_info(c, asked, kinds)
    } else {
        Choice { kinds, asked, is_certain: true }
    }
}

/// Searches for kinds that fit. The number of chunks is certain, because their lengths are on the wire: only choices of that
/// size can fit, and if all requested chunks are there, no trial is needed.
fn search<S: FieldSink>(c: &mut Cursor<'_, '_, S>, asked: Option<u8>) -> Option<Choice> {
    let mask = asked.unwrap_or(KNOWN);
    let count = if c.is_cut() { None } else { chunk_count(c.rest()) };
    if asked.is_some() && count.is_none_or(|n| n >= mask.count_ones()) {
        if c.is_cut()
            && let Some(kinds) = subset_in_cut_body(c, mask)
        {
            return Some(Choice { kinds, asked: None, is_certain: false });
        }
        return Some(requested(c, asked, mask));
    }
    let mut fits = candidates(mask, count.unwrap_or(0)).filter(|&m| fits(c, m));
    let (first, second) = (fits.next(), fits.next());
    let whole = c.to_end();
    c.about(None);
    if asked.is_none() {
        c.check_at(&CHK_006, whole, || false);
    }
    match first {
        Some(kinds) => {
            c.check_at(&CHK_007, whole, || second.is_none());
            Some(Choice { kinds, asked, is_certain: asked.is_some() && second.is_none() })
        }
        // The request tells which chunks were due. Without a request, a guess could report errors where there are none.
        None => asked.map(|mask| Choice { is_certain: false, ..requested(c, asked, mask) }),
    }
}

/// For a body that the capture cut: a subset of the requested kinds, if all of them together cannot be read up to the cut, but
/// the subset can, and with the same warnings as ServerInfo alone, which is always answered. Which chunks are missing after the
/// cut is unknown.
#[cold]
fn subset_in_cut_body<S: FieldSink>(c: &Cursor<'_, '_, S>, mask: u8) -> Option<u8> {
    // Whether decoding reaches the cut, and the number of warnings on the way.
    let trial = |m: u8| {
        let (mut counter, mut reached) = (WarningCounter::default(), false);
        c.trial(&mut counter, |c| {
            let out = chunks(c, (m, true));
            reached = out.as_ref().map_or_else(|fault| fault.rule == &GEN_001, |_| c.rest().is_empty());
            out
        });
        (reached && !counter.fit.misfit, counter.warnings)
    };
    if trial(mask).0 {
        return None;
    }
    let info = mask & SERVER_INFO;
    let (_, warnings) = trial(info);
    let subsets = (1..mask.count_ones()).rev().flat_map(|size| candidates(mask, size));
    subsets.filter(|m| m & SERVER_INFO == info).find(|&m| trial(m) == (true, warnings))
}

/// A sink for trials that also counts warnings.
#[derive(Default)]
struct WarningCounter {
    fit: Fit,
    warnings: u32,
}

impl FieldSink for WarningCounter {
    fn violation(&mut self, v: Violation) {
        self.warnings = self.warnings.saturating_add(u32::from(v.rule.severity == Severity::Warning));
        self.fit.violation(v);
    }
}

/// The number of complete chunks in the body; `None` if their lengths do not end where the body ends.
fn chunk_count(mut body: &[u8]) -> Option<u32> {
    let mut count = 0u32;
    while !body.is_empty() {
        let (length, rest) = body.split_first_chunk()?;
        body = rest.get(u32::from_be_bytes(*length) as usize..)?;
        count = count.saturating_add(1);
    }
    Some(count)
}

/// The subsets of `mask` with `size` bits: those with ServerInfo first, then by lower bits.
fn candidates(mask: u8, size: u32) -> impl Iterator<Item = u8> {
    let with = |info: u8| (0..=KNOWN).filter(move |m| m & SERVER_INFO == info);
    with(SERVER_INFO).chain(with(0)).filter(move |&m| m & !mask == 0 && m.count_ones() == size)
}

fn fits<S: FieldSink>(c: &Cursor<'_, '_, S>, mask: u8) -> bool {
    let mut fit = Fit::default();
    c.trial(&mut fit, |c| chunks(c, (mask, true))) && !fit.misfit
}

/// Chooses the kinds of a body for which ServerInfo was not requested. It may contain ServerInfo all the same.
fn without_info<S: FieldSink>(c: &mut Cursor<'_, '_, S>, asked: Option<u8>, mask: u8) -> Choice {
    let count = if c.is_cut() { None } else { chunk_count(c.rest()) };
    let with_info = |&m: &u8| m & SERVER_INFO != 0 && fits(c, m);
    let kinds = candidates(mask | SERVER_INFO, count.unwrap_or(0)).find(with_info);
    let Some(kinds) = kinds.filter(|_| !fits(c, mask)) else {
        return Choice { kinds: mask, asked, is_certain: true };
    };
    c.about(Some(&INFO));
    c.compare_at(
        &TXN_017,
        c.to_end(),
        || false,
        || Compared::new(ComparedValue::byte(mask | SERVER_INFO), ComparedValue::byte(mask)),
    );
    Choice { kinds, asked, is_certain: false }
}

/// Whether the bytes after the requested chunks are more than padding and decode exactly as other chunks.
#[cold]
fn surplus_is_chunks<S: FieldSink>(c: &Cursor<'_, '_, S>, mask: u8) -> bool {
    let count = chunk_count(c.rest()).filter(|_| c.rest().len() > 4);
    count.is_some_and(|n| candidates(KNOWN & !mask, n).any(|m| fits(c, m)))
}
