//! The answers to a stat request: keys and values, columns of players and teams, and the basic form.

use super::*;
use crate::protocols::gamespy::{Keys, keys};

pub(super) fn full<S: FieldSink>(c: &mut Cursor<'_, '_, S>, asked: Option<u32>) -> Result<(), Fault> {
    c.ends(&SPLIT_ENDS);
    let rest = c.rest();
    let cut_off = c.is_cut() && !rest.is_empty() && b"splitnum\0".starts_with(rest);
    let other = other_header(rest);
    let splits = cut_off || rest.starts_with(b"splitnum\0") || other.is_some();
    if !splits {
        check_unnumbered(c, asked, SPLITS);
        keys(c, &KEYS_AND_VALUES, true)?;
        return c.ignored(&IGNORED);
    }
    let word = c.text(&SPLIT, until(b"\0"))?;
    c.compare(&SPL_004, || other.is_none(), || Compared::new(word, "splitnum"));
    if other == Some(Header::Zeros) {
        c.skip(&[0; HEADER_WORD]);
    }
    c.skip(b"\0");
    let part = c.field(&PART_BYTE, byte)?;
    let last = part & 0x80 != 0 || other == Some(Header::Zeros);
    c.derived(&PACKET_NUMBER, Value::Uint(u32::from(part & 0x7f)));
    c.derived(&LAST_PACKET, Value::Bool(last));
    let mut kind = c.field(&SECTION, byte)?;
    let whole_answer = asked.is_some_and(|asked| asked & (WHOLE | Context::UNPAIRED) == WHOLE);
    let strict = last && !c.is_cut();
    if kind == 0 {
        let list = if part & 0x7f == 0 { &KEYS_AND_VALUES } else { &REST_OF_KEYS };
        keys(c, list, strict || whole_answer)?;
        if whole_answer {
            return players(c);
        }
        let Some(&next) = c.rest().first() else { return Ok(()) };
        kind = next;
        c.ends(&COLUMN_ENDS);
        if [1, 2].contains(&next) {
            c.skip(&[next]);
        }
    }
    c.ends(&COLUMN_ENDS);
    if ![1, 2].contains(&kind) {
        return if strict { Err(c.stop_here(&COL_001)) } else { c.ignored(&IGNORED) };
    }
    columns(c, kind, strict)
}

/// Checks an answer without a part number: its request must not have all of these bits.
fn check_unnumbered<S: FieldSink>(c: &mut Cursor<'_, '_, S>, asked: Option<u32>, bits: u32) {
    let asked = asked.filter(|asked| asked & Context::UNPAIRED == 0);
    let wrong = asked.is_some_and(|asked| asked & bits == bits) && !c.is_cut();
    c.about(None);
    c.check_at(&SPL_001, c.to_end(), || !wrong);
}

/// The list ends with an empty key, unless it continues in another part.
const KEYS_AND_VALUES: Keys = Keys {
    list: &KEYS,
    pair: &PAIR,
    key: &KEY,
    value: &VALUE,
    duplicate: &KEY_002,
    not_a_number: Some(&KEY_004),
    unterminated: &KEY_001,
    incomplete: Some(&KEY_003),
    cut_key: Some((&CUT_KEY, &KEY_005)),
    zero: Some(&KEY_006),
};
/// The rest of a list, in a part that is not the first.
const REST_OF_KEYS: Keys = Keys { incomplete: None, ..KEYS_AND_VALUES };

/// Reads the players in the form of Just Cause 2.
fn players<S: FieldSink>(c: &mut Cursor<'_, '_, S>) -> Result<(), Fault> {
    if c.rest().is_empty() {
        return Ok(());
    }
    c.ends(&COLUMN_ENDS);
    c.counted(&PLAYER_COUNT, be_u16, [&PLAYERS, &PLAYER], |c| {
        c.terminated(&NAME, b"\0")?;
        c.terminated(&STEAM_ID, b"\0")?;
        c.field(&PING, be_u16).map(drop)
    })?;
    c.ignored(&IGNORED)
}

/// Reads columns of players and teams. The empty name after the last one may be missing.
fn columns<S: FieldSink>(c: &mut Cursor<'_, '_, S>, kind: u8, strict: bool) -> Result<(), Fault> {
    let (mut kind, mut open, mut missing_name, mut after_section) = (kind, false, false, true);
    let mut next = |c: &mut Cursor<'_, '_, S>, kind: &mut u8| loop {
        match *c.rest() {
            [0, 1 | 2, ..] | [0] => {
                after_section = false;
                c.skip(b"\0");
            }
            [section @ (1 | 2), ..] => {
                missing_name |= std::mem::replace(&mut after_section, true);
                *kind = section;
                c.skip(&[section]);
            }
            // A name must follow the number of a section, even if it is empty.
            [] | [0, ..] => {
                missing_name |= after_section || !c.rest().is_empty();
                return false;
            }
            _ => {
                after_section = false;
                return true;
            }
        }
    };
    let has_columns = next(c, &mut kind);
    c.repeat(&COLUMNS, has_columns, |c| {
        open = c.group(&COLUMN, |c| column(c, kind))?;
        Ok(next(c, &mut kind))
    })?;
    let malformed = open || missing_name;
    c.check(&COL_001, || !malformed || !strict);
    c.ignored(&IGNORED)
}

/// Reads a column; returns whether it has no end.
fn column<S: FieldSink>(c: &mut Cursor<'_, '_, S>, kind: u8) -> Result<bool, Fault> {
    c.text(&COLUMN_NAME, until(b"\0"))?;
    c.derived(&COLUMN_SECTION, Value::Uint(kind.into()));
    if !c.skip(b"\0") || c.rest().is_empty() {
        return Ok(true);
    }
    c.field(&FIRST_INDEX, byte)?;
    let mut open = true;
    let mut empty = zeros(c, &mut open);
    let has_values = empty > 0 || open && !c.rest().is_empty();
    c.repeat(&VALUES, has_values, |c| {
        c.text(&COLUMN_VALUE, until(b"\0"))?;
        let ended = c.skip(b"\0");
        empty = match empty.checked_sub(1) {
            Some(left) if left > 0 => left,
            _ => zeros(c, &mut open),
        };
        Ok(empty > 0 || open && ended && !c.rest().is_empty())
    })?;
    if !open {
        c.skip(b"\0");
    }
    Ok(open)
}

/// The number of empty values that the zeros at this position stand for. Sets whether the column is still open after them.
fn zeros<S: FieldSink>(c: &Cursor<'_, '_, S>, open: &mut bool) -> usize {
    let rest = c.rest();
    let count = rest.iter().take_while(|b| **b == 0).count();
    let behind = rest.get(count..).unwrap_or_default();
    let name = behind.split(|b| *b == 0).next().unwrap_or_default();
    let is_suffixed = name.len() > 1 && (name.ends_with(b"_") || name.ends_with(b"_t"));
    // If the capture cut the text after the zeros, it is more likely a name than a value.
    let cut_off = c.is_cut() && name.len() == behind.len();
    let is_name = (is_suffixed || cut_off) && name.first().is_some_and(|first| *first > 2);
    *open = count == 0 || !behind.is_empty() && !is_name && !matches!(behind, [1 | 2, ..]);
    match behind {
        _ if count == 0 || *open => count,
        _ if is_name => count.saturating_sub(1),
        _ => count.saturating_sub(2),
    }
}

pub(super) fn basic<S: FieldSink>(c: &mut Cursor<'_, '_, S>, asked: Option<u32>) -> Result<(), Fault> {
    // Minecraft takes any request of eleven bytes for one of this form, whatever its bits.
    check_unnumbered(c, asked, SPLITS | CARRIES);
    c.ends(&BASIC_ENDS);
    match name_with_zeros(c.rest()).filter(|_| !c.is_cut()) {
        Some(length) => {
            c.text(&HOSTNAME, text(length))?;
            c.check(&KEY_006, || false);
            c.expect(b"\0")?;
        }
        None => drop(c.terminated(&HOSTNAME, b"\0")?),
    }
    for field in [&GAMETYPE, &MAP, &NUMPLAYERS, &MAXPLAYERS] {
        c.terminated(field, b"\0")?;
    }
    c.field(&HOSTPORT, le_u16)?;
    c.terminated(&HOSTIP, b"\0")?;
    c.ignored(&IGNORED)
}
