//! The dialect of Frontlines: Fuel of War, whose numbers are big-endian. PLAYER, RULES and the challenge have A2S's types.
//!
//! ```text
//! request    ff ff ff ff │ 'FLSQ'                                                                INFO
//! answer     ff ff ff ff │ 49 │ protocol u8 │ name, map, folder, game_mode, game, version │ port u16 │ players u8
//!            │ max_players u8 │ letters and flags │ average_fps u8 │ round u8 │ max_rounds u8 │ time_left u16
//! ```
//!
//! Oddities: an answer does not show its dialect, its request does. RULES and PLAYER are asked for as in A2S, so the INFO request
//! of their conversation decides; where there was none, a server on the game's port whose count fits in no other order.

use super::answers::{
    FOLDER, GAME, MAP, NAME, PORT as GAME_PORT, PROTOCOL, QUERY, VAC, VERSION, counts, flag, pair,
    read_up_to, server_kind, zero_text,
};
use super::{FRONTLINES, FRONTLINES_IF_IT_FITS, MARK, trailing};
use crate::decode::zero_ended;
use crate::protocols::prelude::*;
use crate::protocols::sources::gamedig;

/// The port at which the game's servers answer.
pub(super) const PORT: u16 = 5478;
/// The INFO request.
pub(super) const ASKS: &[u8] = b"\xff\xff\xff\xffFLSQ";
const WORD: &[u8] = b"FLSQ";
/// The texts of INFO, in wire order.
static TEXTS: [&Field; 6] = [&NAME, &MAP, &FOLDER, &GAME_MODE, &GAME, &VERSION];
/// Bytes of INFO after them.
const NUMBERS_LEN: usize = 13;
/// Nanoseconds within which a second answer to a request counts as one.
const WINDOW: i64 = 3_000_000_000;

const GAMEQ: Cite =
    Cite { doc: "GameQ", section: "src/GameQ/Protocols/Ffow.php", url: "https://github.com/Austinb/GameQ" };

const FLSQ: rule::Step = C("ffffffff 'FLSQ'");
const OK: rule::Step =
    S("ffffffff 49 02 'Lab' 00 'FL-Boneyard' 00 'FOW' 00 'FL' 00 'Frontlines: Fuel of War' 00 '1.3.0' 00 \
     1564 03 20 'dw' 00 00 1e 00 01 0708");
pub(super) const SAMPLE: Example = Example::on(
    PORT,
    &[
        FLSQ,
        OK,
        C("ffffffff 57"),
        S("ffffffff 41 4d000000"),
        C("ffffffff 56 4d000000"),
        S("ffffffff 45 0002 'FriendlyFire' 00 '0' 00 'Map:0' 00 'FL-Boneyard' 00"),
        C("ffffffff 55 4d000000"),
        S("ffffffff 44 01 00 'Ann' 00 00000007 42700000"),
    ],
);

fields! {
    /// Dialect of A2S, where it is one: frontlines.
    DIALECT = "dialect": Named;
    /// Frontlines: mode of the game.
    GAME_MODE = "game_mode": Text public;
    /// Frontlines: frames per second.
    AVERAGE_FPS = "average_fps": Uint volatile;
    /// Frontlines: rounds that have been played.
    ROUND = "round": Uint;
    /// Frontlines: rounds of a match.
    MAX_ROUNDS = "max_rounds": Uint;
    /// Frontlines: what is left of the round, in seconds.
    TIME_LEFT = "time_left": Uint volatile;
}

rules! {
    /// Its numbers are big-endian, and INFO has other fields than A2S. A client that reads it as A2S shows other numbers.
    FLQ_001 = "A2S-FLQ-001" Note "server speaks the dialect of Frontlines" {
        cite: GAMEQ,
        per_server: true,
        examples: [Example::on(PORT, &[FLSQ, OK])],
    }
    /// It is four letters behind the four bytes of 255. No server answers less.
    FLQ_002 = "A2S-FLQ-002" Error "word of the request is not FLSQ" {
        cite: gamedig("protocols/ffow.js"),
        examples: [Example::on(PORT, &[FLSQ, OK, Wait(1000), C("ffffffff 'FLS'")])],
    }
}

/// Whether the answer that differs from an earlier one comes when no server of the dialect would still answer.
pub(super) fn is_over(answer: &Answer) -> bool {
    answer.asked & FRONTLINES != 0 && answer.response_time.is_some_and(|time| time > WINDOW)
}

/// Whether the server that is asked answers in the dialect: its INFO shows it, or the game's port, or silence to A2S's request.
pub(super) fn is_asked(ask: &Ask<'_>) -> bool {
    match ask.answered {
        0 => ask.silences > 1 || ask.server.is_some_and(|server| server.port() == PORT),
        _ => is_info(ask.first),
    }
}

/// INFO; then a challenge and with it PLAYER, and another one for RULES.
pub(super) fn ask(ask: &Ask<'_>) -> Option<Vec<u8>> {
    let challenge = ask.latest.strip_prefix(b"\xff\xff\xff\xff\x41").and_then(|rest| rest.get(..4));
    match (ask.answered, challenge) {
        (0, _) => Some(ASKS.to_vec()),
        _ if !ask.all => None,
        (1 | 3, _) => Some([MARK, b"\x57"].concat()),
        (2, Some(challenge)) => Some([MARK, b"\x55", challenge].concat()),
        (4, Some(challenge)) => Some([MARK, b"\x56", challenge].concat()),
        _ => None,
    }
}

/// Whether the payload is INFO of the dialect.
fn is_info(p: &[u8]) -> bool {
    let texts = p.strip_prefix(b"\xff\xff\xff\xff\x49").and_then(|p| p.get(1..)).unwrap_or_default();
    let (found, rest) = read_up_to(TEXTS.len(), zero_ended, texts);
    found == TEXTS.len() && rest.len() == NUMBERS_LEN
}

/// Whether a list of rules, which begins with its count, is one of the dialect.
pub(super) fn lists<S: FieldSink>(asked: u32, c: &Cursor<'_, '_, S>) -> bool {
    asked & FRONTLINES != 0 || asked & FRONTLINES_IF_IT_FITS != 0 && fits_only_big_endian(c.ahead())
}
fn fits_only_big_endian(list: &[u8]) -> bool {
    let Ok((rest, count)) = be_u16(list) else { return false };
    let fits = |count: u16| {
        let (found, behind) = read_up_to(count.into(), pair, rest);
        found == usize::from(count) && behind.is_empty()
    };
    fits(count) && !fits(count.swap_bytes())
}

pub(super) fn request<S: FieldSink>(c: &mut Cursor<'_, '_, S>) -> Result<(), Fault> {
    let word = c.text(&QUERY, text(c.rest().len().min(WORD.len())))?;
    let right = word.0 == WORD || c.may_continue();
    c.compare(&FLQ_002, || right, || Compared::new(word, "FLSQ"));
    trailing(c)
}

/// Says whether a message is one of the dialect.
pub(super) fn mark<S: FieldSink>(c: &mut Cursor<'_, '_, S>, frontlines: bool) {
    if frontlines {
        c.derived(&DIALECT, Value::Named(1, Some("frontlines")));
    }
    c.check_whole(&FLQ_001, || !frontlines);
}

pub(super) fn info<S: FieldSink>(c: &mut Cursor<'_, '_, S>) -> Result<(), Fault> {
    c.field(&PROTOCOL, byte)?;
    TEXTS.into_iter().try_for_each(|field| zero_text(c, field).map(drop))?;
    c.field(&GAME_PORT, be_u16)?;
    counts(c)?;
    server_kind(c)?;
    flag(c, &VAC)?;
    for field in [&AVERAGE_FPS, &ROUND, &MAX_ROUNDS] {
        c.field(field, byte)?;
    }
    c.field(&TIME_LEFT, be_u16).map(drop)
}
