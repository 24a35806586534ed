//! What servers answer: INFO in both forms, PLAYER and RULES.

use super::ends;
use super::rules::*;
use crate::decode::zero_ended;
use crate::protocols::prelude::*;
use nom::Parser;
use nom::combinator::{cond, verify};

fields! {
    /// Version of the network protocol: 17 Source, 48 GoldSrc.
    PROTOCOL = "protocol": Uint;
    /// What the server takes for its address.
    ADDRESS = "address": Text;
    /// Name of the server.
    NAME = "name": Text => ServerName;
    /// Map.
    MAP = "map": Text => Map;
    /// Directory of the game.
    FOLDER = "folder": Text;
    /// Description of the game.
    GAME = "game": Text => Game;
    /// Steam application id, 0 where it has more than 16 bits.
    APP_ID = "app_id": Uint;
    /// In INFO the number of players, in PLAYER a list of them.
    PLAYERS = "players": Dynamic => Players;
    /// A player.
    PLAYER = "players[]": Group;
    /// Number of the player, 0 for all in most games.
    INDEX = "players[].index": Uint;
    /// Name; empty while connecting, or where it is withheld.
    PLAYER_NAME = "players[].name": Text;
    /// Score.
    SCORE = "players[].score": Int;
    /// Time on the server in seconds; −1 for bots.
    DURATION = "players[].duration": Float32;
    /// The Ship: deaths.
    DEATHS = "players[].deaths": Int;
    /// The Ship: money.
    MONEY = "players[].money": Int;
    /// Places for players.
    MAX_PLAYERS = "max_players": Uint => MaxPlayers;
    /// Bots; Source counts them among the players.
    BOTS = "bots": Uint;
    /// Letter of the server's type.
    SERVER_TYPE = "server_type": Text;
    /// What it stands for.
    SERVER_TYPE_NAME = "server_type_name": Named;
    /// Letter of the system that it runs on.
    ENVIRONMENT = "environment": Text;
    /// What it stands for.
    ENVIRONMENT_NAME = "environment_name": Named;
    /// Whether it asks for a password.
    VISIBILITY = "visibility": Uint, Labels::FromZero(&["open", "password"]);
    /// Whether it is secured by VAC.
    VAC = "vac": Uint, Labels::FromZero(&["no", "yes"]);
    /// The Ship's own fields.
    SHIP = "ship": Group;
    /// Mode of the game.
    SHIP_MODE = "ship.mode": Uint, Labels::FromZero(&["hunt", "elimination", "duel", "deathmatch", "VIP team", "team elimination"]);
    /// Witnesses that it takes to be arrested.
    SHIP_WITNESSES = "ship.witnesses": Uint;
    /// Time until that, in seconds.
    SHIP_DURATION = "ship.duration": Uint;
    /// Version of the game.
    VERSION = "version": Text => Version;
    /// Extra data flag: which fields follow.
    EDF = "edf": Uint;
    /// Port of the game.
    PORT = "port": Uint;
    /// Steam id of the server.
    STEAM_ID = "steam_id": Uint64;
    /// Port of SourceTV.
    STV_PORT = "stv_port": Uint;
    /// Name of SourceTV.
    STV_NAME = "stv_name": Text;
    /// Tags, by custom with commas between them.
    KEYWORDS = "keywords": Text;
    /// Steam application id in its lower 24 bits.
    GAME_ID = "game_id": Uint64;
    /// Whether the game is a modification of Half-Life.
    IS_MOD = "is_mod": Uint;
    /// That modification.
    MOD = "mod": Group;
    /// Its page.
    MOD_LINK = "mod.link": Text;
    /// Where it is downloaded.
    MOD_DOWNLOAD_LINK = "mod.download_link": Text;
    /// A zero.
    MOD_ZERO = "mod.zero": Uint;
    /// Its version.
    MOD_VERSION = "mod.version": Uint;
    /// Its size in bytes.
    MOD_SIZE = "mod.size": Uint;
    /// 1 where it is for several players only.
    MOD_TYPE = "mod.type": Uint;
    /// Whether it has a library of its own.
    MOD_OWN_DLL = "mod.own_dll": Uint;
    /// How many players or rules follow.
    COUNT = "count": Uint;
    /// What The Ship says of all players, behind the list.
    SHIP_PLAYERS = "ship_players": Bytes;
    /// Rules, in the order of the wire.
    RULES_LIST = "rules": List;
    /// A rule.
    RULE_ITEM = "rules[]": Group;
    /// Its name.
    KEY = "rules[].key": Text;
    /// Its value.
    VALUE = "rules[].value": Text;
}

pub(super) static INFO_ENDS: Ends = ends(&INF_001, &RSP_001);
static PLAYER_ENDS: Ends = ends(&PLY_001, &RSP_001);
static RULE_ENDS: Ends = ends(&RUL_001, &RSP_001);

/// What the bits of the extra data flag announce, in the order of the wire.
const EXTRA: [(u8, &Field); 6] = [
    (0x80, &PORT),
    (0x10, &STEAM_ID),
    (0x40, &STV_PORT),
    (0x40, &STV_NAME),
    (0x20, &KEYWORDS),
    (0x01, &GAME_ID),
];
/// The Ship's application id.
const THE_SHIP: u16 = 2400;

// --- How sure answers are by their bytes alone

/// Reads so many of these, or fewer where it ends: how many, and what follows them.
fn most<'a, T>(read: fn(&'a [u8]) -> Wire<'a, T>, count: usize, mut rest: &'a [u8]) -> (usize, &'a [u8]) {
    let mut found = 0usize;
    while found < count
        && let Ok((behind, _)) = read(rest)
    {
        (found, rest) = (found.saturating_add(1), behind);
    }
    (found, rest)
}
fn row(i: &[u8]) -> Wire<'_, ()> {
    (byte, zero_ended, bytes(8)).map(drop).parse(i)
}
fn pair(i: &[u8]) -> Wire<'_, (Str<'_>, Str<'_>)> {
    (zero_ended, zero_ended).parse(i)
}
/// Type and environment.
fn letters(i: &[u8]) -> Wire<'_, (u8, u8)> {
    let known = |(server, system): &(u8, u8)| is_type(*server) && is_environment(*system);
    verify((byte, byte), known).parse(i)
}

fn is_type(letter: u8) -> bool {
    letter == 0 || b"dlp".contains(&letter.to_ascii_lowercase())
}
fn is_environment(letter: u8) -> bool {
    b"lwmo".contains(&letter.to_ascii_lowercase())
}

/// How sure an INFO answer is.
pub(super) fn info_level(p: &[u8]) -> Option<Level> {
    match most(zero_ended, 4, p.get(6..)?) {
        (0, _) => None,
        (1, _) => Some(Level::Low),
        (4, rest) if info_ends(rest).is_ok_and(|(rest, ())| rest.is_empty()) => Some(Level::High),
        _ => Some(Level::Medium),
    }
}
fn info_ends(i: &[u8]) -> Wire<'_, ()> {
    let (i, (app_id, _, _, _)) = (le_u16, bytes(3), letters, bytes(2)).parse(i)?;
    let (i, _) = (cond(app_id == THE_SHIP, bytes(3)), zero_ended).parse(i)?;
    let (&flag, mut i) = i.split_first().unwrap_or((&0, i));
    for (_, field) in EXTRA.iter().filter(|(bit, _)| flag & bit != 0) {
        (i, _) = match field.kind {
            FieldKind::Text => zero_ended.map(drop).parse(i)?,
            FieldKind::Uint => le_u16.map(drop).parse(i)?,
            _ => le_u64.map(drop).parse(i)?,
        };
    }
    Ok((i, ()))
}

/// How sure an INFO answer of GoldSrc's old form is: it begins with host and port.
pub(super) fn goldsrc_level(p: &[u8]) -> Option<Level> {
    let (rest, address) = zero_ended(p.get(5..)?).ok()?;
    let colon = address.0.iter().rposition(|byte| *byte == b':')?;
    let (host, port) = address.0.split_at_checked(colon)?;
    let digits = port.get(1..).is_some_and(|port| !port.is_empty() && port.iter().all(u8::is_ascii_digit));
    if host.is_empty() || !digits {
        return None;
    }
    match most(zero_ended, 4, rest) {
        (4, rest) if goldsrc_ends(rest).is_ok_and(|(rest, _)| rest.len() <= 1) => Some(Level::High),
        (2.., _) => Some(Level::Medium),
        _ => None,
    }
}
fn goldsrc_ends(i: &[u8]) -> Wire<'_, u8> {
    let (i, (_, _, _, is_mod)) = (bytes(3), letters, byte, byte).parse(i)?;
    let (i, _) = cond(is_mod == 1, (pair, bytes(11))).parse(i)?;
    byte(i)
}

/// How sure a PLAYER answer is.
pub(super) fn players_level(p: &[u8]) -> Option<Level> {
    let (rest, count) = byte.map(usize::from).parse(p.get(5..)?).ok()?;
    let (rows, rest) = most(row, count, rest);
    list_level(count, rows, rest.is_empty() || Some(rest.len()) == count.checked_mul(8))
}
/// How sure a RULES answer is.
pub(super) fn rules_level(p: &[u8]) -> Option<Level> {
    let (rest, count) = le_u16.map(usize::from).parse(p.get(5..)?).ok()?;
    let (pairs, rest) = most(pair, count, rest);
    list_level(count, pairs, rest.is_empty())
}
fn list_level(count: usize, whole: usize, ended: bool) -> Option<Level> {
    match whole {
        0 => (count == 0 && ended).then_some(Level::Low),
        _ if whole < count => Some(Level::Low),
        _ => ended.then_some(Level::High),
    }
}

/// How many players INFO says there are, in either form.
pub(super) fn players_of_info(p: &[u8]) -> Option<u8> {
    let (at, texts, skip) = if p.get(4) == Some(&0x6d) { (5, 5, 0) } else { (6, 4, 2) };
    let (found, rest) = most(zero_ended, texts, p.get(at..)?);
    rest.get(skip).copied().filter(|_| found == texts)
}

// --- Decoding

/// Reads a text that a zero ends.
fn text<'a, S: FieldSink>(
    c: &mut Cursor<'a, '_, S>,
    field: &'static Field,
    early: &'static Rule,
) -> Result<Str<'a>, Fault> {
    let text = c.fact(field, until(b"\0"))?;
    c.expect(b"\0", early)?;
    if !c.is_cut() || !c.rest().is_empty() {
        c.check_text(text, &STR_001, &STR_002);
    }
    Ok(text)
}

/// Reads a letter, and says what it stands for.
fn letter<S: FieldSink>(
    c: &mut Cursor<'_, '_, S>,
    field: &'static Field,
    name: &'static Field,
    names: &[(u8, &'static str)],
) -> Result<u8, Fault> {
    let letter = c.words(field, crate::decode::wire::text(1))?.0.first().copied().unwrap_or(0);
    if let Some((_, said)) = names.iter().find(|(its, _)| *its == letter.to_ascii_lowercase()) {
        c.derived(name, Value::Named(letter.into(), Some(said)));
    }
    Ok(letter)
}
const TYPES: &[(u8, &str)] = &[(b'd', "dedicated"), (b'l', "listen"), (b'p', "proxy")];
const SYSTEMS: &[(u8, &str)] = &[(b'l', "linux"), (b'w', "windows"), (b'm', "macos"), (b'o', "macos")];

/// Players, places and, if they follow at once, bots.
fn counts<S: FieldSink>(c: &mut Cursor<'_, '_, S>) -> Result<u8, Fault> {
    let players = c.fact(&PLAYERS, byte)?;
    let most = c.fact(&MAX_PLAYERS, byte)?;
    c.check(&INF_004, || most == 0 || players <= most);
    Ok(players)
}

/// Type, environment and visibility.
fn kinds<S: FieldSink>(c: &mut Cursor<'_, '_, S>) -> Result<(), Fault> {
    let server = letter(c, &SERVER_TYPE, &SERVER_TYPE_NAME, TYPES)?;
    c.check(&INF_003, || is_type(server));
    let system = letter(c, &ENVIRONMENT, &ENVIRONMENT_NAME, SYSTEMS)?;
    c.check(&INF_003, || is_environment(system));
    flag(c, &VISIBILITY)
}
fn flag<S: FieldSink>(c: &mut Cursor<'_, '_, S>, field: &'static Field) -> Result<(), Fault> {
    let value = c.field(field, byte)?;
    c.check(&INF_003, || value <= 1);
    Ok(())
}

/// Name, map, folder and game.
fn names<S: FieldSink>(c: &mut Cursor<'_, '_, S>) -> Result<(), Fault> {
    [&NAME, &MAP, &FOLDER, &GAME].into_iter().try_for_each(|field| text(c, field, &INF_001).map(drop))
}

pub(super) fn info<S: FieldSink>(c: &mut Cursor<'_, '_, S>) -> Result<(), Fault> {
    c.field(&PROTOCOL, byte)?;
    names(c)?;
    let app_id = c.field(&APP_ID, le_u16)?;
    let players = counts(c)?;
    let bots = c.field(&BOTS, byte)?;
    c.check(&INF_004, || bots <= players);
    kinds(c)?;
    flag(c, &VAC)?;
    if app_id == THE_SHIP {
        c.group(&SHIP, |c| {
            let fields = [&SHIP_MODE, &SHIP_WITNESSES, &SHIP_DURATION];
            fields.into_iter().try_for_each(|field| c.field(field, byte).map(drop))
        })?;
    }
    text(c, &VERSION, &INF_001)?;
    let old = c.rest().is_empty() && !c.is_cut();
    let at = c.whole();
    c.check_at(&INF_006, at, || !old);
    if old { Ok(()) } else { extra(c, app_id) }
}

/// What the extra data flag announces.
fn extra<S: FieldSink>(c: &mut Cursor<'_, '_, S>, app_id: u16) -> Result<(), Fault> {
    let flag = c.field(&EDF, byte)?;
    c.check(&INF_002, || flag & 0x0e == 0);
    for (_, field) in EXTRA.into_iter().filter(|(bit, _)| flag & bit != 0) {
        match field.kind {
            FieldKind::Text => drop(text(c, field, &INF_001)?),
            FieldKind::Uint => drop(c.field(field, le_u16)?),
            _ => {
                let id = c.field(field, le_u64)?;
                let other = field == &GAME_ID && app_id != 0 && app_id != id as u16;
                c.check(&INF_005, || !other);
            }
        }
    }
    Ok(())
}

pub(super) fn goldsrc_info<S: FieldSink>(c: &mut Cursor<'_, '_, S>) -> Result<(), Fault> {
    let at = c.whole();
    c.check_at(&INF_006, at, || false);
    text(c, &ADDRESS, &INF_001)?;
    names(c)?;
    let players = counts(c)?;
    c.field(&PROTOCOL, byte)?;
    kinds(c)?;
    let is_mod = c.field(&IS_MOD, byte)?;
    if is_mod == 1 {
        c.group(&MOD, |c| {
            text(c, &MOD_LINK, &INF_001)?;
            text(c, &MOD_DOWNLOAD_LINK, &INF_001)?;
            c.field(&MOD_ZERO, byte)?;
            c.field(&MOD_VERSION, le_u32)?;
            c.field(&MOD_SIZE, le_u32)?;
            c.field(&MOD_TYPE, byte)?;
            c.field(&MOD_OWN_DLL, byte).map(drop)
        })?;
    }
    flag(c, &VAC)?;
    // HLTV ends here.
    if c.rest().is_empty() && !c.is_cut() {
        return Ok(());
    }
    let bots = c.field(&BOTS, byte)?;
    c.check(&INF_004, || bots <= players);
    Ok(())
}

pub(super) fn players<S: FieldSink>(c: &mut Cursor<'_, '_, S>) -> Result<(), Fault> {
    c.ends(&PLAYER_ENDS);
    let count = c.field(&COUNT, byte)?;
    // The Ship's part stands behind the list, and is told with its players.
    let (rows, behind) = most(row, count.into(), c.rest());
    let is_ship = rows == usize::from(count) && behind.len() == rows.saturating_mul(8);
    let ship = if is_ship { behind } else { &[] };
    let mut extras = ship.chunks_exact(4);
    let mut named = count == 0;
    c.list(
        &PLAYERS,
        |_, done| done < count.into(),
        |c| {
            if row(c.rest()).is_err() {
                c.about(Some(&PLAYERS));
                return Err(c.short(&PLY_001));
            }
            c.group(&PLAYER, |c| {
                c.field(&INDEX, byte)?;
                named |= !text(c, &PLAYER_NAME, &PLY_001)?.0.is_empty();
                c.field(&SCORE, le_i32)?;
                let duration = c.field(&DURATION, le_f32)?;
                c.check(&PLY_002, || duration.is_finite());
                for (field, extra) in [&DEATHS, &MONEY].into_iter().zip(extras.by_ref().take(2)) {
                    let value = extra.first_chunk().map_or(0, |bytes| i32::from_le_bytes(*bytes));
                    c.derived(field, Value::Int(value));
                }
                Ok(())
            })
        },
    )?;
    c.check_whole(&PLY_003, || named);
    if !ship.is_empty() {
        c.field(&SHIP_PLAYERS, bytes(ship.len()))?;
    }
    Ok(())
}

/// Whether the list begins with all chunks of a binary message, whose names are number and total.
fn is_binary(rules: &[u8]) -> bool {
    let mut rest = rules;
    let mut keys = std::iter::from_fn(|| {
        let (behind, (key, _)) = pair(rest).ok()?;
        rest = behind;
        Some(key.0)
    });
    let Some(&[first, total]) = keys.next() else { return false };
    first == 1 && total > 0 && (2..=total).all(|number| keys.next() == Some(&[number, total]))
}

/// Whether a value says no more than whether there is a password.
fn is_harmless(value: &[u8]) -> bool {
    const FLAGS: [&[u8]; 11] =
        [b"", b"0", b"1", b"true", b"false", b"yes", b"no", b"y", b"n", b"none", b"protected"];
    FLAGS.iter().any(|flag| flag.eq_ignore_ascii_case(value)) || value.iter().all(|byte| *byte == b'*')
}

/// Whether a password may stand in these bytes.
pub(super) fn may_show_password(bytes: &[u8]) -> bool {
    bytes.windows(8).any(|word| word.eq_ignore_ascii_case(b"password"))
}

pub(super) fn rules<S: FieldSink>(c: &mut Cursor<'_, '_, S>, secrets: bool) -> Result<(), Fault> {
    c.ends(&RULE_ENDS);
    let count = c.field(&COUNT, le_u16)?;
    let binary = is_binary(c.rest());
    let at = c.to_end();
    c.check_at(&RUL_003, at, || !binary);
    c.secret(secrets || !may_show_password(c.rest()));
    let mut seen = Repeats::default();
    c.list(
        &RULES_LIST,
        |_, done| done < count,
        |c| {
            if pair(c.rest()).is_err() {
                c.about(Some(&RULES_LIST));
                return Err(c.short(&RUL_001));
            }
            c.group(&RULE_ITEM, |c| {
                let key = c.field(&KEY, until(b"\0"))?;
                c.check(&RUL_002, || !seen.repeats(key.0));
                judge(c, key, binary);
                c.skip(b"\0");
                let shows = may_show_password(key.0)
                    && !is_harmless(c.rest().split(|byte| *byte == 0).next().unwrap_or_default());
                let value = c.field_as(&VALUE, until(b"\0"), |value| {
                    if shows && !secrets { Value::Secret(FieldKind::Text) } else { value.into() }
                })?;
                c.check(&SEC_005, || !shows);
                judge(c, value, binary);
                c.skip(b"\0");
                Ok(())
            })
        },
    )
    .map(drop)
}

fn judge<S: FieldSink>(c: &mut Cursor<'_, '_, S>, text: Str<'_>, binary: bool) {
    if !binary {
        c.check_text(text, &STR_001, &STR_002);
    }
}
