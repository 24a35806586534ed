//! Code shared by GameSpy's queries: the keys and values that describe a server, and the request ids of versions 2 and 3.

use super::prelude::*;
use crate::contract::KeyOf;

/// The fields of a list of zero-terminated keys and values, and the rules that it may break.
#[derive(Debug)]
pub(super) struct Keys {
    /// The list.
    pub list: &'static Field,
    /// A pair in the list.
    pub pair: &'static Field,
    /// The key of the pair.
    pub key: &'static Field,
    /// The value of the pair.
    pub value: &'static Field,
    /// A key is given twice.
    pub twice: &'static Rule,
    /// A value that every client takes for a number is not one.
    pub number: Option<&'static Rule>,
    /// The empty key at the end is missing.
    pub open: &'static Rule,
    /// Name, players or maximum are missing; `None` where they may stand in another part of the answer.
    pub lacking: Option<&'static Rule>,
}

/// Reads keys and values up to an empty key, and returns whether that was found. If `strict`, it must be there unless the
/// capture cut it, and missing keys are reported.
pub(super) fn keys<S: FieldSink>(c: &mut Cursor<'_, '_, S>, of: &Keys, strict: bool) -> Result<bool, Fault> {
    let strict = strict && !c.is_cut();
    let (mut told, mut ended) = (Told::default(), c.skip(b"\0"));
    let any = !ended && !c.rest().is_empty();
    c.groups([of.list, of.pair], any, |c| {
        let key = c.text(of.key, until(b"\0"))?;
        told.key(c, key, of.twice);
        if !c.skip(b"\0") {
            return Ok(false);
        }
        let value = c.text(of.value, until(b"\0"))?;
        let whole = c.skip(b"\0");
        told.value(c, key, value, of.number.filter(|_| whole));
        ended = whole && c.skip(b"\0");
        Ok(whole && !ended && !c.rest().is_empty())
    })?;
    c.check(of.open, || ended || !strict);
    if let Some(lacking) = of.lacking {
        c.about(None);
        c.check_whole(lacking, || !ended || !strict || told.is_whole());
    }
    Ok(ended)
}

/// The keys of a server that have been read so far.
#[derive(Debug, Default)]
pub(super) struct Told<'a> {
    seen: Repeats<'a>,
    /// Which of [`NEEDED`] were among them.
    needed: [bool; 3],
}

/// The facts that keys state.
const SAYS: [(&[u8], Fact); 12] = [
    (b"hostname", Fact::ServerName),
    // UT3 numbers its settings; its mapname holds all of them in one value.
    (b"p1073741827", Fact::ServerName),
    (b"p1073741825", Fact::Map),
    (b"numplayers", Fact::Players),
    (b"maxplayers", Fact::MaxPlayers),
    (b"gamename", Fact::Game),
    (b"game_id", Fact::Game),
    (b"gametype", Fact::Mode),
    (b"mapname", Fact::Map),
    (b"map", Fact::Map),
    (b"gamever", Fact::Version),
    (b"version", Fact::Version),
];
/// The keys that every server must state.
const NEEDED: [&[u8]; 3] = [b"hostname", b"numplayers", b"maxplayers"];

impl<'a> Told<'a> {
    /// Records a key that was just read.
    pub fn key<S: FieldSink>(&mut self, c: &mut Cursor<'a, '_, S>, key: Str<'a>, twice: &'static Rule) {
        let whole = !c.may_continue();
        c.check(twice, || !whole || !self.seen.repeats(key.0));
    }

    /// Records the value of a key, which was just read.
    pub fn value<S: FieldSink>(
        &mut self,
        c: &mut Cursor<'a, '_, S>,
        key: Str<'a>,
        value: Str<'a>,
        no_number: Option<&'static Rule>,
    ) {
        const NUMBERS: [&[u8]; 3] = [b"numplayers", b"maxplayers", b"hostport"];
        if let Some(rule) = no_number {
            let whole = !c.may_continue();
            c.check(rule, || !whole || value.is_integer() || !NUMBERS.contains(&key.0));
        }
        c.store_fact(&SAYS, key, value);
        self.needed.iter_mut().zip(NEEDED).for_each(|(told, name)| *told |= name == key.0);
    }

    /// Whether name, players and maximum were given.
    pub fn is_whole(&self) -> bool {
        self.needed == [true; 3]
    }
}

/// Whether an answer is a list of pairs that begins with a lower-case key and ends with an empty one.
pub(super) fn is_list(p: &[u8]) -> bool {
    p.ends_with(&[0, 0]) && begins_with_key(p)
}
/// Whether a lower-case key stands first in an answer.
pub(super) fn begins_with_key(p: &[u8]) -> bool {
    let key = p.get(5..).and_then(|list| list.split(|b| *b == 0).next()).unwrap_or_default();
    let named = key.len() > 2 && key.iter().all(|b| b.is_ascii_lowercase() || b"_0123456789".contains(b));
    named && key != b"splitnum"
}

/// Whether what follows the id is nearly all text. Without the id of a request, other traffic of the two ends is no
/// damaged answer.
pub(super) fn is_legible(p: &[u8]) -> bool {
    let body = || p.iter().skip(5).filter(|b| **b != 0);
    let words = body().filter(|b| matches!(b, b' '..=b'~')).count();
    words > 0 && words.saturating_mul(8) >= body().count().saturating_mul(7)
}

/// The request id in a request, and in an answer.
pub(super) const ASKED_ID: KeyOf = number_at::<3, 4>;
pub(super) const ANSWERED_ID: KeyOf = number_at::<1, 4>;
