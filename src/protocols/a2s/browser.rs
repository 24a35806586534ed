//! The message of Arma 3 and DayZ for their server browsers, in chunks that are values of RULES. Little-endian.
//!
//! ```text
//! rule       number u8 │ total u8 │ 00 │ a piece of the message │ 00        01 01 = 01, 01 02 = 00, 01 03 = ff
//! message    version u8 │ flags u8 │ dlc bits u16 │ [ difficulty u8 │ crosshair u8 ] │ a hash u32 for each dlc bit
//!            │ count u8 │ { mod } │ count u8 │ { length u8 │ signature } │ [ length u8 │ description ]
//! mod        hash u32 │ bit 4 DLC, bits 0 to 3 length of the id, u8 │ id │ length u8 │ name
//! ```
//!
//! Oddities: Arma 3 sends version 3 and has a difficulty, DayZ sends version 2 and has none. A text may begin in one chunk and
//! end in another. What does not fit is left out: flag 1 says so of mods and signatures, flag 2 of signatures.

use super::*;
use crate::decode::{Chunks, Escapes, zero_ended};

const WIKI: Cite = Cite {
    doc: "Bohemia Interactive, Arma 3 ServerBrowserProtocol3",
    section: "Data types",
    url: "https://community.bistudio.com/wiki/Arma_3:_ServerBrowserProtocol3",
};

rules! {
    /// A chunk is missing or out of order, an escape is none, or the message ends before what it announces, or behind that. Clients
    /// show no mods, or wrong ones. What could be read is shown.
    RUL_004 = "A2S-RUL-004" Warning "binary message in the rules is not whole" {
        cite: WIKI,
        examples: [
            Example::of(&[RQ0, CH, RQ, S("ffffffff 45 0100 0102 00 02 0102 0102 0102 0102 0102 00")]),
            Example::of(&[RQ0, CH, RQ, S("ffffffff 45 0100 0101 00 02 0102 0102 0102 02 78563412 04 c4b5ef5c 03 'M' 00")]),
        ],
    }
}

fields! {
    /// What Arma 3 and DayZ tell their server browsers, joined from the values of the rules.
    SERVER_BROWSER = "server_browser": Group;
    /// Version of the message: 3 Arma 3, 2 DayZ.
    BROWSER_VERSION = "server_browser.version": Uint;
    /// Bit 0: mods and signatures did not fit; bit 1: signatures did not.
    FLAGS = "server_browser.flags": Uint;
    /// Arma 3: difficulty.
    DIFFICULTY = "server_browser.difficulty": Named;
    /// Arma 3: skill of the computer's soldiers, from 0 on.
    AI_LEVEL = "server_browser.ai_level": Uint;
    /// Arma 3: bit of the flight model of helicopters; sources differ on which one it means.
    FLIGHT_MODEL = "server_browser.flight_model": Uint;
    /// Arma 3: whether players may look at themselves from outside.
    THIRD_PERSON = "server_browser.third_person": Bool;
    /// Arma 3: whether weapons have a crosshair.
    CROSSHAIR = "server_browser.crosshair": Bool;
    /// DLCs that the server loads.
    DLCS = "server_browser.dlcs": List;
    /// A DLC.
    DLC = "server_browser.dlcs[]": Group;
    /// Its name; the number of its bit where that has none.
    DLC_NAME = "server_browser.dlcs[].name": Named;
    /// Hash of its files.
    DLC_HASH = "server_browser.dlcs[].hash": Uint;
    /// Mods that the server loads, in the order of the wire.
    MODS = "server_browser.mods": List;
    /// A mod.
    MOD_ITEM = "server_browser.mods[]": Group;
    /// Hash of its files.
    MOD_HASH = "server_browser.mods[].hash": Uint;
    /// Whether it is a DLC of another maker than the game's.
    IS_DLC = "server_browser.mods[].is_dlc": Bool;
    /// Its id in Steam's workshop, or Steam's application id of a DLC; 0 where it has none.
    MOD_ID = "server_browser.mods[].id": Uint64;
    /// Its name.
    MOD_NAME = "server_browser.mods[].name": Text personal;
    /// Names of the keys whose signatures the server accepts.
    SIGNATURES = "server_browser.signatures": List;
    /// One of them.
    SIGNATURE = "server_browser.signatures[]": Text;
    /// DayZ: description of the server.
    DESCRIPTION = "server_browser.description": Text personal;
}

const DIFFICULTIES: [&str; 4] = ["recruit", "regular", "veteran", "custom"];
/// DLCs by their bits.
const ARMA: [&str; 13] = [
    "Karts",
    "Marksmen",
    "Helicopters",
    "Zeus",
    "Apex",
    "Jets",
    "Laws of War",
    "Malden",
    "Tac-Ops",
    "Tanks",
    "Contact",
    "Contact (platform)",
    "Art of War",
];
const DAYZ: [&str; 3] = ["Livonia", "Frostline", "Badlands"];
/// Names of chunks begin with a number below the first printable character, other names do not.
const LAST_NUMBER: u8 = 0x1f;
/// Flags of lists that were left out.
const LEFT_OUT: u64 = 3;

/// The chunks at the beginning of a list of rules.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found<'a> {
    /// From the value of the first chunk to the end of that of the last one that follows in order.
    chunks: &'a [u8],
    /// All of them are there, as far as the capture has them.
    whole: bool,
}

/// Finds the chunks of a binary message. The name of a chunk consists of its number and the total.
pub(super) fn find(rules: &[u8], cut: bool) -> Option<Found<'_>> {
    let (_, key) = zero_ended(rules).ok()?;
    let &[first @ 1..=LAST_NUMBER, total] = key.0 else { return None };
    let begins = rules.get(3..)?;
    let (mut rest, mut end, mut next) = (rules, 0, 1u8);
    let mut whole = false;
    while let Ok((value, key)) = zero_ended(rest)
        && let Ok((behind, _)) = zero_ended(value)
        && key.0 == [next, total]
    {
        end = begins.len().saturating_sub(behind.len()).saturating_sub(1);
        whole = next == total;
        if whole {
            break;
        }
        (rest, next) = (behind, next.saturating_add(1));
    }
    let cut_off = cut && zero_ended(rest).map_or(true, |(value, _)| zero_ended(value).is_err());
    let chunks = begins.get(..end)?;
    (first <= total).then_some(Found { chunks, whole: whole || cut_off })
}

/// Reads numbers and texts of the joined message.
#[derive(Clone, Copy)]
struct Reader<'a> {
    chunks: Chunks<'a>,
    /// Offset of the end of the chunks in the payload.
    end: u16,
}

impl<'a> Reader<'a> {
    fn is_empty(self) -> bool {
        self.chunks.is_empty()
    }
    fn offset(&self) -> u16 {
        self.end.saturating_sub(self.chunks.rest().len() as u16)
    }
    /// Where the bytes that are left stand.
    fn to_end(self) -> Span {
        Span { start: self.offset(), end: self.end }
    }
    /// A number of at most eight bytes.
    fn number(&mut self, length: u8) -> Option<(u64, Span)> {
        let start = self.offset();
        let mut bytes = [0; 8];
        for byte in bytes.get_mut(..length.into())? {
            *byte = self.chunks.next()?;
        }
        Some((u64::from_le_bytes(bytes), Span { start, end: self.offset() }))
    }
    fn byte(&mut self) -> Option<u8> {
        self.chunks.next()
    }
    /// A text behind its length, with its escapes.
    fn text(&mut self) -> Option<(&'a [u8], Span)> {
        let length = self.byte()?;
        let (before, start) = (self.chunks.rest(), self.offset());
        for _ in 0..length {
            self.chunks.next()?;
        }
        let end = self.offset();
        Some((before.get(..end.saturating_sub(start).into())?, Span { start, end }))
    }
}

/// Whether the message can be read to its end, with or without a difficulty.
fn fits(mut r: Reader<'_>, has_difficulty: bool) -> bool {
    let read = |r: &mut Reader<'_>| {
        let (flags, dlcs) = (r.number(2)?.0 >> 8, r.number(2)?.0);
        r.number(if has_difficulty { 2 } else { 0 })?;
        (0..dlcs.count_ones()).try_for_each(|_| r.number(4).map(drop))?;
        if flags & LEFT_OUT != 0 && r.is_empty() {
            return Some(());
        }
        for _ in 0..r.byte()? {
            let length = r.number(5)?.0 >> 32 & 0x0f;
            r.number(length as u8)?;
            r.text()?;
        }
        if flags & LEFT_OUT != 0 && r.is_empty() {
            return Some(());
        }
        for _ in 0..r.byte()? {
            r.text()?;
        }
        if r.is_empty() { Some(()) } else { r.text().map(drop) }
    };
    read(&mut r).is_some() && r.is_empty()
}

/// Reports the message in these chunks, which have been read as rules.
pub(super) fn message<'a, S: FieldSink>(c: &mut Cursor<'a, '_, S>, found: Found<'a>) {
    let start = c.offset_of(found.chunks);
    let end = start.saturating_add(found.chunks.len() as u16);
    let mut r = Reader { chunks: Chunks::new(found.chunks), end };
    let at = r.to_end();
    let mut first = r.chunks;
    let Some(version @ 2..=3) = first.next() else {
        c.about(Some(&RULES_LIST));
        return c.check_at(&RUL_004, at, || found.whole);
    };
    // Arma 3 had version 2, too, with a difficulty.
    let has_difficulty =
        if version == 3 { fits(r, true) || !fits(r, false) } else { !fits(r, false) && fits(r, true) };
    let mut read = None;
    c.derived_in(&SERVER_BROWSER, Shape::Group, at, |c| read = content(c, &mut r, has_difficulty));
    let whole = found.whole && (read.is_some() && r.is_empty() || c.is_cut());
    c.about(Some(&SERVER_BROWSER));
    c.check_at(&RUL_004, at, || whole);
}

/// Reports a number, and returns it.
fn number<S: FieldSink>(
    c: &mut Cursor<'_, '_, S>,
    r: &mut Reader<'_>,
    field: &'static Field,
    length: u8,
) -> Option<u64> {
    let (value, at) = r.number(length)?;
    let is_long = field.kind == FieldKind::Uint64;
    c.derived_at(field, at, if is_long { Value::Uint64(value) } else { Value::Uint(value as u32) });
    Some(value)
}

/// Reports a text.
fn text<S: FieldSink>(c: &mut Cursor<'_, '_, S>, r: &mut Reader<'_>, field: &'static Field) -> Option<()> {
    let (bytes, at) = r.text()?;
    c.derived_at(field, at, Value::Escaped(bytes, Escapes::Chunks, None));
    Some(())
}

/// Reports a list of so many elements, as far as they are there.
fn list<S: FieldSink>(
    c: &mut Cursor<'_, '_, S>,
    r: &mut Reader<'_>,
    field: &'static Field,
    count: u8,
    mut item: impl FnMut(&mut Cursor<'_, '_, S>, &mut Reader<'_>) -> Option<()>,
) -> Option<()> {
    let mut read = None;
    c.derived_in(field, Shape::List, r.to_end(), |c| read = (0..count).try_for_each(|_| item(c, r)));
    read
}

fn content<S: FieldSink>(c: &mut Cursor<'_, '_, S>, r: &mut Reader<'_>, has_difficulty: bool) -> Option<()> {
    number(c, r, &BROWSER_VERSION, 1)?;
    let flags = number(c, r, &FLAGS, 1)?;
    let (dlc_bits, dlcs_at) = r.number(2)?;
    if has_difficulty {
        difficulty(c, r)?;
    }
    let names: &[&'static str] = if has_difficulty { &ARMA } else { &DAYZ };
    let mut bits = (0..16u32).filter(|bit| dlc_bits >> bit & 1 == 1);
    list(c, r, &DLCS, dlc_bits.count_ones() as u8, |c, r| {
        let bit = bits.next()?;
        let name = usize::try_from(bit).ok().and_then(|bit| names.get(bit).copied());
        let mut read = None;
        c.derived_in(&DLC, Shape::Group, r.to_end(), |c| {
            c.derived_at(&DLC_NAME, dlcs_at, Value::Named(bit, name));
            read = number(c, r, &DLC_HASH, 4);
        });
        read.map(drop)
    })?;
    if flags & LEFT_OUT != 0 && r.is_empty() {
        return Some(());
    }
    let mods = r.byte()?;
    list(c, r, &MODS, mods, |c, r| {
        let mut read = None;
        c.derived_in(&MOD_ITEM, Shape::Group, r.to_end(), |c| read = one_mod(c, r));
        read
    })?;
    if flags & LEFT_OUT != 0 && r.is_empty() {
        return Some(());
    }
    let signatures = r.byte()?;
    list(c, r, &SIGNATURES, signatures, |c, r| text(c, r, &SIGNATURE))?;
    if r.is_empty() { Some(()) } else { text(c, r, &DESCRIPTION) }
}

fn difficulty<S: FieldSink>(c: &mut Cursor<'_, '_, S>, r: &mut Reader<'_>) -> Option<()> {
    let (bits, at) = r.number(1)?;
    let level = (bits & 7) as u32;
    let name = usize::try_from(level).ok().and_then(|level| DIFFICULTIES.get(level).copied());
    c.derived_at(&DIFFICULTY, at, Value::Named(level, name));
    c.derived_at(&AI_LEVEL, at, Value::Uint((bits >> 3 & 7) as u32));
    c.derived_at(&FLIGHT_MODEL, at, Value::Uint((bits >> 6 & 1) as u32));
    c.derived_at(&THIRD_PERSON, at, Value::Bool(bits >> 7 & 1 == 1));
    let (bits, at) = r.number(1)?;
    c.derived_at(&CROSSHAIR, at, Value::Bool(bits & 1 == 1));
    Some(())
}

fn one_mod<S: FieldSink>(c: &mut Cursor<'_, '_, S>, r: &mut Reader<'_>) -> Option<()> {
    number(c, r, &MOD_HASH, 4)?;
    let (kind, at) = r.number(1)?;
    c.derived_at(&IS_DLC, at, Value::Bool(kind & 0x10 != 0));
    number(c, r, &MOD_ID, (kind & 0x0f) as u8)?;
    text(c, r, &MOD_NAME)
}
