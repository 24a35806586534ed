//! Decoding of what servers say of themselves, in every version.

use super::super::prelude::*;
use super::{
    CLIENT_COUNT, FLAGS, GAME_TYPE, HOSTNAME, INF_001, INF_002, INF_003, MAP, MAP_CRC, MAP_SIZE,
    MOST_CLIENTS, MOST_PLAYERS, OFFSET, PLAYER, PLAYER_CLAN, PLAYER_COUNT, PLAYER_COUNTRY, PLAYER_FLAGS,
    PLAYER_LIST, PLAYER_NAME, PLAYER_PLAYS, PLAYER_RESERVED, PLAYER_SCORE, PLR_001, PROGRESSION, RESERVED,
    SERVER_NAME, SKILL_LEVEL, STR_001, TOKEN, VERSION,
};

/// Most clients that a datagram of 0.6 and older can count, and one of 0.7 or of the list with 64.
const MOST: i32 = 16;
const MOST_64: i32 = 64;

pub(super) fn info<S: FieldSink>(
    c: &mut Cursor<'_, '_, S>,
    word: &[u8],
    is_seven: bool,
) -> Result<(), Fault> {
    let is_old = matches!(word, b"inf2" | b"info");
    let most = match word {
        b"iext" => i32::MAX,
        b"dtsf" => MOST_64,
        _ if is_seven => MOST_64,
        _ => MOST,
    };
    if word != b"info" {
        number(c, &TOKEN, is_seven)?;
    }
    name(c, &VERSION)?;
    name(c, &SERVER_NAME)?;
    if is_seven {
        name(c, &HOSTNAME)?;
    }
    name(c, &MAP)?;
    if word == b"iext" {
        number(c, &MAP_CRC, false)?;
        number(c, &MAP_SIZE, false)?;
    }
    name(c, &GAME_TYPE)?;
    number(c, &FLAGS, is_seven)?;
    if is_old {
        number(c, &PROGRESSION, false)?;
    }
    if is_seven {
        number(c, &SKILL_LEVEL, true)?;
    }
    let playing = count(c, &PLAYER_COUNT, is_seven, None, i32::MAX)?;
    count(c, &MOST_PLAYERS, is_seven, playing, most)?;
    let mut counted = playing;
    if !is_old {
        counted = count(c, &CLIENT_COUNT, is_seven, playing, i32::MAX)?;
        count(c, &MOST_CLIENTS, is_seven, counted, most)?;
    }
    match word {
        b"dtsf" => number(c, &OFFSET, false).map(drop)?,
        b"iext" => name(c, &RESERVED).map(drop)?,
        _ => {}
    }
    let listed = players(c, word, is_seven)?;
    if !matches!(word, b"iext" | b"dtsf") {
        let fits = c.is_cut() || listed == 0 || counted.is_none_or(|counted| counted == i32::from(listed));
        c.about(None);
        c.compare_whole(&PLR_001, || fits, || Compared::new(listed, counted.unwrap_or_default()));
    }
    Ok(())
}

/// Reads a number of players or clients, which is not below `least`, and should not be above `most`.
fn count<S: FieldSink>(
    c: &mut Cursor<'_, '_, S>,
    field: &'static Field,
    is_seven: bool,
    least: Option<i32>,
    most: i32,
) -> Result<Option<i32>, Fault> {
    let value = number(c, field, is_seven)?;
    let (shown, least) = (value.unwrap_or_default(), least.unwrap_or_default().max(0));
    let expected = ComparedValue::AtLeast(least.into());
    c.compare(&INF_002, || value.is_none_or(|value| value >= least), || Compared::new(shown, expected));
    let expected = ComparedValue::AtMost(most.into());
    c.compare(&INF_003, || value.is_none_or(|value| value <= most), || Compared::new(shown, expected));
    Ok(value)
}

/// Reads players up to the end; returns how many there are.
pub(super) fn players<S: FieldSink>(
    c: &mut Cursor<'_, '_, S>,
    word: &[u8],
    is_seven: bool,
) -> Result<u16, Fault> {
    c.all([&PLAYER_LIST, &PLAYER], |c| {
        name(c, &PLAYER_NAME)?;
        if matches!(word, b"inf2" | b"info") {
            return number(c, &PLAYER_SCORE, false).map(drop);
        }
        name(c, &PLAYER_CLAN)?;
        number(c, &PLAYER_COUNTRY, is_seven)?;
        number(c, &PLAYER_SCORE, is_seven)?;
        number(c, if is_seven { &PLAYER_FLAGS } else { &PLAYER_PLAYS }, is_seven)?;
        if word.starts_with(b"iex") { name(c, &PLAYER_RESERVED).map(drop) } else { Ok(()) }
    })
}

/// Reads a text and its zero.
pub(super) fn name<'a, S: FieldSink>(
    c: &mut Cursor<'a, '_, S>,
    field: &'static Field,
) -> Result<Str<'a>, Fault> {
    let text = terminated(c, field)?;
    c.check(&STR_001, || true);
    // Where its zero is missing, the last character may be cut.
    if !c.may_continue() {
        c.check_utf8(&STR_001, text);
    }
    Ok(text)
}

/// Reads a number, packed or in decimal digits; `None` where it is no such number, or too large.
pub(super) fn number<S: FieldSink>(
    c: &mut Cursor<'_, '_, S>,
    field: &'static Field,
    is_seven: bool,
) -> Result<Option<i32>, Fault> {
    if is_seven {
        return c.field(field, packed).map(Some);
    }
    let digits = terminated(c, field)?;
    let whole = !c.may_continue();
    c.compare(&INF_001, || !whole || digits.is_integer(), || Compared::new(digits, "a decimal number"));
    Ok(digits.decimal().filter(|_| whole))
}

fn terminated<'a, S: FieldSink>(c: &mut Cursor<'a, '_, S>, field: &'static Field) -> Result<Str<'a>, Fault> {
    if c.rest().is_empty() {
        c.about(Some(field));
        return Err(c.ended_early());
    }
    c.terminated(field, b"\0")
}
