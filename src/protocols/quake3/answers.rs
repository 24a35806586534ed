//! The answers: info strings, lines of players, and the line of Quake 2.

use super::*;

const DIALECTS: [&str; 5] = ["quake3", "quake2", "quakeworld", "hexenworld", "mohaa"];
const QUAKE2: usize = 1;
const QUAKEWORLD: usize = 2;

pub(super) fn response<S: FieldSink>(
    c: &mut Cursor<'_, '_, S>,
    message: u8,
    prefix: usize,
    has_direction_byte: bool,
) -> Result<(), Fault> {
    const WORDS: [(&[u8], usize); 5] = [
        (b"statusResponse", 0),
        (b"infoResponse", 0),
        (b"print", QUAKE2),
        (b"info", QUAKE2),
        (b"n", QUAKEWORLD),
    ];
    let may_be = |(word, _): &&(&[u8], usize)| c.rest().starts_with(word) || word.starts_with(c.rest());
    let found = WORDS.iter().find(may_be).filter(|(word, _)| c.rest().len() >= word.len());
    let Some(&(word, family)) = found else { return Err(c.ended_early()) };
    c.text(&WORD, text(word.len()))?;
    let dialect = match (family, prefix) {
        (0, _) if has_direction_byte => 4,
        (QUAKEWORLD, 5) => 3,
        _ => family,
    };
    c.derived(&DIALECT, Value::Named(dialect as u32, DIALECTS.get(dialect).copied()));
    if family != QUAKEWORLD {
        c.expect(b"\n")?;
    }
    if word == b"info" {
        return quake2_info(c);
    }
    let status = message == STATUS_RESPONSE;
    let has_info = c.rest().first() == Some(&b'\\');
    let mut stated = 0;
    let begins = has_info || family == QUAKEWORLD || c.may_continue();
    let next = c.rest().first().map_or(ComparedValue::Bytes(0), |byte| ComparedValue::byte(*byte));
    c.require_that(&INF_001, begins, || Compared::new(next, ComparedValue::byte(b'\\')))?;
    if has_info {
        stated = info(c, status)?;
    } else {
        c.list(&INFO, |_, _| false, |_| Ok(()))?;
    }
    if status { status_body(c, [family == QUAKEWORLD, has_info]) } else { info_body(c, stated) }
}

/// The facts about the server that variables state.
const FACT_KEYS: [(&[u8], Fact); 14] = [
    (b"sv_hostname", Fact::ServerName),
    (b"hostname", Fact::ServerName),
    (b"mapname", Fact::Map),
    (b"map", Fact::Map),
    (b"gamename", Fact::Game),
    // The modification, which may be the only hint at the game.
    (b"game", Fact::Mode),
    (b"fs_game", Fact::Mode),
    (b"version", Fact::Version),
    (b"*version", Fact::Version),
    (b"shortversion", Fact::Version),
    (b"iv", Fact::Version),
    (b"sv_maxclients", Fact::MaxPlayers),
    (b"maxclients", Fact::MaxPlayers),
    (b"clients", Fact::Players),
];
/// Variables that are numbers.
const COUNTS: [&[u8]; 4] = [b"clients", b"sv_maxclients", b"maxclients", b"protocol"];
/// The facts that every info response must state, each with its key.
const NEEDED: [(Fact, &str); 3] =
    [(Fact::ServerName, "hostname"), (Fact::Map, "mapname"), (Fact::MaxPlayers, "sv_maxclients")];

/// Reads variables, and returns a bit for each [`Fact`] that they state.
fn info<S: FieldSink>(c: &mut Cursor<'_, '_, S>, status: bool) -> Result<u32, Fault> {
    let (mut stated, mut seen) = (0, Repeats::default());
    let mut seen_in_second = Repeats::default();
    // FiveM's second info string is reported together with the first, and states nothing about the server.
    let second = c.ahead().windows(2).position(|two| two == b"\n\\").filter(|_| status);
    let second = second.and_then(|at| c.rest().get(at.saturating_add(2)..)).unwrap_or_default();
    let second = second.split(|b| *b == 0).next().unwrap_or_default();
    let mut second_pairs = pairs(second.strip_suffix(b"\n").unwrap_or(second)).peekable();
    let mut has_variable = c.skip(b"\\");
    c.repeat(&INFO, has_variable || second_pairs.peek().is_some(), |c| {
        if has_variable {
            has_variable = variable(c, &mut stated, &mut seen)?;
        } else if let Some((key, value)) = second_pairs.next() {
            c.group(&VARIABLE, |c| {
                further_variable(c, [key, value], &mut seen_in_second);
                Ok(())
            })?;
        }
        Ok(has_variable || second_pairs.peek().is_some())
    })?;
    Ok(stated)
}

/// Reports a variable that follows the players, and checks it like those before them.
fn further_variable<'a, S: FieldSink>(
    c: &mut Cursor<'a, '_, S>,
    [key, value]: [&'a [u8]; 2],
    seen: &mut Repeats<'a>,
) {
    let cut = c.is_cut();
    let at = c.part(&KEY, key, Str::utf8_or_latin1);
    c.about(Some(&KEY));
    c.compare_at(
        &INF_003,
        at,
        || cut || !key.is_empty(),
        || Compared::new(ComparedValue::from(&b""[..]), "a name"),
    );
    c.compare_at(
        &INF_004,
        at,
        || cut || key.is_empty() || !seen.repeats(key),
        || Compared::new(key, "each name once"),
    );
    let at = c.part(&VALUE, value, Str::utf8_or_latin1);
    c.about(Some(&VALUE));
    c.compare_at(
        &INF_006,
        at,
        || cut || Str(value).is_integer() || !COUNTS.contains(&key),
        || Compared::new(value, "a number"),
    );
}

/// Reads a variable; returns whether another one follows.
fn variable<'a, S: FieldSink>(
    c: &mut Cursor<'a, '_, S>,
    stated: &mut u32,
    seen: &mut Repeats<'a>,
) -> Result<bool, Fault> {
    c.group(&VARIABLE, |c| {
        let key = c.text(&KEY, until(END))?;
        let whole = !c.may_continue();
        c.compare(
            &INF_003,
            || !whole || !key.0.is_empty(),
            || Compared::new(ComparedValue::from(&b""[..]), "a name"),
        );
        c.compare(
            &INF_004,
            || !whole || key.0.is_empty() || !seen.repeats(key.0),
            || Compared::new(key, "each name once"),
        );
        // A variable that the capture cut is assumed to have a value.
        let valued = c.skip(b"\\") || c.is_cut();
        c.check(&INF_002, || valued);
        if !valued {
            return Ok(false);
        }
        let value = c.text(&VALUE, value)?;
        let whole = !c.may_continue();
        c.compare(
            &INF_006,
            || !whole || value.is_integer() || !COUNTS.contains(&key.0),
            || Compared::new(value, "a number"),
        );
        // Engines compare names without case.
        let mut keys = FACT_KEYS.iter().map(|(name, _)| Str(name));
        let known_key = keys.find(|known| known.0.eq_ignore_ascii_case(key.0)).unwrap_or(key);
        *stated |= c.store_fact(&FACT_KEYS, known_key, value);
        Ok(c.skip(b"\\"))
    })
}

/// The bytes that end a key or a value.
const END: &[u8] = b"\\\n\0";

/// A value. A carriage return in front of the line feed belongs to the end of the line.
fn value(i: &[u8]) -> Wire<'_, Str<'_>> {
    let (rest, found) = until(END)(i)?;
    let value = found.0.strip_suffix(b"\r").filter(|_| rest.starts_with(b"\n")).unwrap_or(found.0);
    text(value.len())(i)
}

/// Reads the rest of an info response after the variables.
fn info_body<S: FieldSink>(c: &mut Cursor<'_, '_, S>, stated: u32) -> Result<(), Fault> {
    let cut = c.is_cut();
    let lacks = || NEEDED.iter().find(|(fact, _)| stated & fact.bit() == 0);
    c.compare_whole(
        &INF_005,
        || cut || lacks().is_none(),
        || Compared::new("nothing", lacks().map_or("", |(_, key)| *key)),
    );
    c.ignored(&IGNORED)
}

/// Reads the players and the rest of a status response.
fn status_body<S: FieldSink>(
    c: &mut Cursor<'_, '_, S>,
    [quakeworld, has_info]: [bool; 2],
) -> Result<(), Fault> {
    c.skip(b"\r");
    let mut ended = c.skip(b"\n") || !has_info;
    skip_lines(c);
    let (mut count, has_players) = (0u32, is_player(c));
    c.groups([&PLAYERS, &PLAYER], has_players, |c| {
        count = count.saturating_add(1);
        player(c, quakeworld)?;
        ended = c.skip(b"\n");
        skip_lines(c);
        Ok(is_player(c))
    })?;
    let cut = c.is_cut();
    c.check(&RSP_002, || ended || cut);
    c.facts.players = c.facts.players.or(if cut { None } else { Some(count) });
    if c.rest().first() == Some(&b'\\') {
        let more = c.text(&MORE_INFO, until(b"\0"))?;
        c.check(&INF_002, || cut || more.0.iter().filter(|b| **b == b'\\').count() % 2 == 0);
    }
    c.ignored(&IGNORED)
}

/// Skips empty lines, and QuakeWorld's lines about servers for spectators.
fn skip_lines<S: FieldSink>(c: &mut Cursor<'_, '_, S>) {
    loop {
        let text = line(c.rest());
        let empty = text.trim_ascii().is_empty() && c.rest().get(text.len()) == Some(&b'\n');
        if !empty && !text.starts_with(QTV) {
            return;
        }
        c.skip(text);
        c.skip(b"\n");
    }
}

/// Whether a player's line follows.
fn is_player<S: FieldSink>(c: &Cursor<'_, '_, S>) -> bool {
    c.rest().first().is_some_and(|next| !b"\\\0".contains(next))
}

/// The tokens of a line, each with whether it is quoted.
pub(super) type Tokens<'a> = ArrayVec<(bool, &'a [u8]), MAX_TOKENS>;

/// Splits a line into tokens; `None` if a quote is not closed or there are too many tokens.
pub(super) fn tokens(line: &[u8]) -> Option<Tokens<'_>> {
    let (mut out, mut rest) = (Tokens::new(), line.trim_ascii_start());
    while let Some(&first) = rest.first() {
        let quoted = first == b'"';
        let inside = rest.get(usize::from(quoted)..)?;
        // A name may contain quotes. A quote ends it only at the end of the line or before another token.
        let ends = |at: &usize| match inside.get(*at..) {
            Some([b'"', behind @ ..]) if quoted => {
                let next = behind.trim_ascii_start().first();
                next.is_none_or(|b| {
                    behind.first() == Some(&b' ') && (b.is_ascii_digit() || b"-\"".contains(b))
                })
            }
            Some([b, ..]) => !quoted && b.is_ascii_whitespace(),
            _ => !quoted,
        };
        let (token, behind) = inside.split_at((0..=inside.len()).find(ends)?);
        out.try_push((quoted, token)).ok()?;
        rest = behind.get(usize::from(quoted)..)?.trim_ascii_start();
    }
    Some(out)
}

/// The fields of a player's line, each with whether it is quoted. All fields up to the name are required; the others are
/// optional.
type Layout = &'static [(bool, &'static Field)];
const QUAKEWORLD_LAYOUT: Layout = &[
    (false, &USER_ID),
    (false, &SCORE),
    (false, &TIME),
    (false, &PING),
    (true, &NAME),
    (true, &SKIN),
    (false, &TOP_COLOR),
    (false, &BOTTOM_COLOR),
    (true, &TEAM),
];
const LAYOUTS: [Layout; 2] = [
    &[(false, &SCORE), (false, &PING), (true, &NAME), (true, &ADDRESS), (false, &TEAM)],
    &[(false, &SCORE), (false, &PING), (false, &TEAM), (true, &NAME), (true, &ADDRESS)],
];

/// The fields of the tokens of a player's line, in their order; further tokens have none. `None` if it is not a player's line.
pub(super) fn layout(tokens: &Tokens<'_>, quakeworld: bool) -> Option<ArrayVec<&'static Field, 10>> {
    let name = tokens.iter().position(|(quoted, _)| *quoted)?;
    let layouts = if quakeworld { &[QUAKEWORLD_LAYOUT][..] } else { &LAYOUTS };
    let mut layout = layouts.iter().find(|l| l.iter().position(|(quoted, _)| *quoted) == Some(name))?.iter();
    let fields =
        tokens.iter().map_while(|(quoted, _)| layout.find(|(field_quoted, _)| field_quoted == quoted));
    Some(fields.map(|(_, field)| *field).collect())
}

fn player<S: FieldSink>(c: &mut Cursor<'_, '_, S>, quakeworld: bool) -> Result<(), Fault> {
    let found = tokens(line(c.rest()));
    let Some((tokens, fields)) = found.and_then(|t| layout(&t, quakeworld).map(|fields| (t, fields))) else {
        c.text(&LINE, until(b"\n\0"))?;
        let cut = c.is_cut() && c.rest().is_empty();
        let found = line(c.rest());
        c.compare(
            &PLR_001,
            || cut,
            || Compared::new(ComparedValue::Bytes(found.len() as u64), "a line of a player"),
        );
        return Ok(());
    };
    c.check(&PLR_001, || true);
    c.skip_all(BLANKS);
    let (named, extra) = tokens.split_at(fields.len().min(tokens.len()));
    for (field, part) in fields.iter().zip(named) {
        token(c, field, *part)?;
    }
    let mut extra = extra.iter().copied();
    let count = extra.len() as u16;
    if count > 0 {
        let part =
            |c: &mut Cursor<'_, '_, S>| extra.next().map_or(Ok(()), |part| token(c, &EXTRA_PART, part));
        c.list(&EXTRA, |_, done| done < count, part)?;
    }
    Ok(())
}

/// Reads a token with its quotes and the spaces around it.
fn token<S: FieldSink>(
    c: &mut Cursor<'_, '_, S>,
    field: &'static Field,
    (quoted, part): (bool, &[u8]),
) -> Result<(), Fault> {
    c.skip(if quoted { b"\"" } else { b"" });
    c.text(field, text(part.len()))?;
    c.skip(if quoted { b"\"" } else { b"" });
    c.skip_all(BLANKS);
    Ok(())
}

/// The length of the name in Quake 2's line, if map, players and maximum follow it.
pub(super) fn quake2_name_len(line: &[u8]) -> Option<usize> {
    let slash = line.iter().rposition(|b| *b == b'/')?;
    let is_number = |text: &[u8]| Str(text.trim_ascii()).decimal().is_some();
    let before = line.get(..slash)?;
    let clients = before.iter().rposition(|b| *b == b' ')?;
    let has_counts = is_number(before.get(clients..)?) && is_number(line.get(slash.saturating_add(1)..)?);
    let map_end = before.get(..clients)?.trim_ascii_end().len();
    let name_end = before.get(..map_end)?.iter().rposition(|b| *b == b' ')?;
    let name = before.get(..name_end)?.trim_ascii_end().len();
    has_counts.then_some(name)
}

/// Reads Quake 2's line, which is formatted as `%16s %8s %2i/%2i`.
fn quake2_info<S: FieldSink>(c: &mut Cursor<'_, '_, S>) -> Result<(), Fault> {
    c.skip_all(b" ");
    let line = line(c.rest());
    let Some(name_len) = quake2_name_len(line) else {
        c.text(&TEXT, until(b"\n\0"))?;
        return c.ignored(&IGNORED);
    };
    c.text(&HOSTNAME, text(name_len))?;
    const PARTS: [(&[u8], &Field, &[u8]); 3] =
        [(b"", &MAP, b" \n\0"), (b"", &CLIENTS, b"/\n\0"), (b"/", &MOST_CLIENTS, b" \n\0")];
    for (before, field, ends) in PARTS {
        c.skip(before);
        c.skip_all(b" ");
        c.text(field, until(ends))?;
    }
    c.ignored(&IGNORED)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::arithmetic_side_effects)]
mod tests {
    use super::*;

    #[test]
    fn rejects_a_player_line_with_too_many_tokens() {
        let line = |parts: usize| "5 ".repeat(parts - 1) + "\"Ann\"";
        assert_eq!(tokens(line(MAX_TOKENS).as_bytes()).map(|all| all.len()), Some(MAX_TOKENS));
        assert!(tokens(line(MAX_TOKENS + 1).as_bytes()).is_none());
    }

    #[test]
    fn a_name_may_hold_quotes() {
        let parts = tokens(br#"-2 0 "B"ob" 3"#).unwrap();
        assert_eq!(parts.as_slice(), [(false, &b"-2"[..]), (false, b"0"), (true, b"B\"ob"), (false, b"3")]);
        assert!(tokens(br#"5 48 "Ann"#).is_none());
    }
}
