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
    pub duplicate: &'static Rule,
    /// A value that every client takes for a number is not one.
    pub not_a_number: Option<&'static Rule>,
    /// The empty key at the end is missing.
    pub unterminated: &'static Rule,
    /// Name, players or maximum are missing; `None` if another part of the answer may contain them.
    pub incomplete: Option<&'static Rule>,
    /// The key that the end of a part cut, and that the next part repeats; `None` where there are no parts.
    pub cut_key: Option<(&'static Field, &'static Rule)>,
    /// A value contains a zero; `None` where no server sends such.
    pub zero: Option<&'static Rule>,
}

/// Reads keys and values up to an empty key, and returns whether that was found. If `strict`, it must be there unless the
/// capture cut it, and missing keys are reported.
pub(super) fn keys<S: FieldSink>(
    c: &mut Cursor<'_, '_, S>,
    list: &Keys,
    strict: bool,
) -> Result<bool, Fault> {
    let strict = strict && !c.is_cut();
    let mut is_minecraft = list.zero.is_some() && minecraft::is_list(c.rest());
    let cut_key = list.cut_key.filter(|_| !strict && !c.is_cut());
    let is_more = |rest: &[u8]| !rest.is_empty() && (cut_key.is_none() || !is_cut_key(rest));
    let (mut keys_read, mut ended) = (KeysRead::default(), c.skip(b"\0"));
    let has_pairs = !ended && is_more(c.rest());
    c.groups([list.list, list.pair], has_pairs, |c| {
        let key = c.text(list.key, until(b"\0"))?;
        keys_read.add_key(c, key, list.duplicate);
        if !c.skip(b"\0") {
            return Ok(false);
        }
        let length = if is_minecraft { minecraft::value_len(c.rest()) } else { None };
        is_minecraft = length.is_some();
        let value = match length {
            Some(length) => c.text(list.value, text(length))?,
            None => c.text(list.value, until(b"\0"))?,
        };
        if let Some(rule) = list.zero {
            c.check(rule, || length.is_none() || !value.0.contains(&0));
        }
        let terminated = c.skip(b"\0");
        // What ends a part may be the first half of a value.
        let whole = terminated && (strict || !c.rest().is_empty());
        keys_read.add_value(c, key, value, list.not_a_number.filter(|_| whole));
        ended = terminated && c.skip(b"\0");
        Ok(terminated && !ended && is_more(c.rest()))
    })?;
    if let Some((field, rule)) = list.cut_key {
        let is_cut = cut_key.is_some() && !ended && !c.rest().is_empty();
        if is_cut {
            c.text(field, until(b"\0"))?;
        }
        c.check(rule, || !is_cut);
        if is_cut {
            c.skip(b"\0");
        }
    }
    c.check(list.unterminated, || ended || !strict);
    if let Some(incomplete) = list.incomplete {
        c.about(None);
        c.compare_whole(
            incomplete,
            || !ended || !strict || keys_read.lacks().is_none(),
            || Compared::new("nothing", keys_read.lacks().unwrap_or_default()),
        );
    }
    Ok(ended)
}

/// Whether nothing but a key is left, with or without the zero that ends it.
fn is_cut_key(rest: &[u8]) -> bool {
    rest.iter().position(|b| *b == 0).is_none_or(|end| end.saturating_add(1) == rest.len())
}

/// Minecraft's list, whose values may contain zeros: it sends the lowest byte of each character.
mod minecraft {
    /// The keys of Minecraft's servers.
    const KEYS: [&[u8]; 12] = [
        b"hostname",
        b"gametype",
        b"game_id",
        b"version",
        b"server_engine",
        b"plugins",
        b"map",
        b"numplayers",
        b"maxplayers",
        b"whitelist",
        b"hostip",
        b"hostport",
    ];

    /// Whether the list is one of a Minecraft server.
    pub fn is_list(list: &[u8]) -> bool {
        memchr::memmem::find(list, b"game_id\0MINECRAFT").is_some()
    }

    /// The length of a value: up to the first zero behind which a key or the end of the list stands. `None` if there is no
    /// such zero.
    pub fn value_len(rest: &[u8]) -> Option<usize> {
        memchr::memchr_iter(0, rest).find(|at| rest.get(at.saturating_add(1)..).is_some_and(ends_value))
    }

    fn ends_value(behind: &[u8]) -> bool {
        if let [] | [0] | [0, 0] | [0, 1 | 2, b'a'..=b'z', ..] = behind {
            return true;
        }
        let mut texts = behind.splitn(3, |b| *b == 0);
        let (Some(key), Some(value), Some(_)) = (texts.next(), texts.next(), texts.next()) else {
            return false;
        };
        let is_word =
            key.len() > 1 && key.iter().all(|b| b.is_ascii_lowercase() || b"_0123456789".contains(b));
        KEYS.contains(&key) || is_word && !KEYS.contains(&value)
    }
}

/// The keys of a server that have been read so far.
#[derive(Debug, Default)]
pub(super) struct KeysRead<'a> {
    seen: Repeats<'a>,
    /// Which of [`NEEDED`] are among them.
    has_needed: [bool; 3],
}

/// The facts that keys state.
const FACT_KEYS: [(&[u8], Fact); 12] = [
    (b"hostname", Fact::ServerName),
    // UT3 numbers its settings; its mapname is one value with all of them.
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
const NEEDED: [&str; 3] = ["hostname", "numplayers", "maxplayers"];

impl<'a> KeysRead<'a> {
    /// Records a key that was just read.
    pub fn add_key<S: FieldSink>(
        &mut self,
        c: &mut Cursor<'a, '_, S>,
        key: Str<'a>,
        duplicate: &'static Rule,
    ) {
        let whole = !c.may_continue();
        c.compare(duplicate, || !whole || !self.seen.repeats(key.0), || Compared::new(key, "each name once"));
    }

    /// Records the value of a key that was just read.
    pub fn add_value<S: FieldSink>(
        &mut self,
        c: &mut Cursor<'a, '_, S>,
        key: Str<'a>,
        value: Str<'a>,
        not_a_number: Option<&'static Rule>,
    ) {
        const NUMBERS: [&[u8]; 3] = [b"numplayers", b"maxplayers", b"hostport"];
        if let Some(rule) = not_a_number {
            let whole = !c.may_continue();
            c.compare(
                rule,
                || !whole || value.is_integer() || !NUMBERS.contains(&key.0),
                || Compared::new(value, "a number"),
            );
        }
        c.store_fact(&FACT_KEYS, key, value);
        self.has_needed.iter_mut().zip(NEEDED).for_each(|(has, name)| *has |= name.as_bytes() == key.0);
    }

    /// The first key that every server must state and that is not among those read.
    pub fn lacks(&self) -> Option<&'static str> {
        NEEDED.into_iter().zip(self.has_needed).find(|(_, has)| !has).map(|(name, _)| name)
    }
}

/// Whether an answer is a list of pairs that begins with a lower-case key and ends with an empty one.
pub(super) fn is_list(p: &[u8]) -> bool {
    p.ends_with(&[0, 0]) && begins_with_key(p)
}
/// Whether an answer begins with a lower-case key.
pub(super) fn begins_with_key(p: &[u8]) -> bool {
    let key = p.get(5..).and_then(|list| list.split(|b| *b == 0).next()).unwrap_or_default();
    let is_key = key.len() > 2 && key.iter().all(|b| b.is_ascii_lowercase() || b"_0123456789".contains(b));
    is_key && key != b"splitnum"
}

/// Whether nearly all bytes after the id are text. If no request has the id, this distinguishes a damaged answer from other
/// traffic of the two endpoints.
pub(super) fn is_legible(p: &[u8]) -> bool {
    let body = || p.iter().skip(5).filter(|b| **b != 0);
    let printable = body().filter(|b| matches!(b, b' '..=b'~')).count();
    printable > 0 && printable.saturating_mul(8) >= body().count().saturating_mul(7)
}

/// The request id in a request, and in an answer.
pub(super) const ASKED_ID: KeyOf = number_at::<3, 4>;
pub(super) const ANSWERED_ID: KeyOf = number_at::<1, 4>;
