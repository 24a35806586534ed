//! What a right server answers.

use super::REQUEST;
use crate::contract::answering::{Reply, Slot::*, bare, decimal};

/// One answer to each message. They are apart by what is asked for, so that requests of one kind are told from others.
pub static REPLIES: &[Reply] = &[
    Reply::to(
        REQUEST,
        &[
            Echo(|p| {
                commands(p).take_while(|command| !is_identify(command)).flat_map(with_separator).collect()
            }),
            Hex("'10identify' 1e 12 'gamename' 1f"),
            Game(bare),
            Hex("1e 12 'gamever' 1f"),
            Version(bare),
            Hex("1e 12 'netver' 1f '1' 1e 12 'hostname' 1f"),
            Name(bare),
            Hex("1e 12 'mapname' 1f"),
            Map(bare),
            Hex("1e 12 'numplayers' 1f"),
            Players(decimal),
            Hex("1e 12 'maxplayers' 1f"),
            MaxPlayers(decimal),
            Echo(behind_identify),
            Hex("04"),
        ],
    )
    .when(|p| is_plain(p) && commands(p).any(is_identify)),
    Reply::to(REQUEST, &[Echo(replies), Hex("04")]).when(|p| is_plain(p) && asks(p, b"extensions")),
    Reply::to(REQUEST, &[Echo(replies), Hex("04")]).when(|p| is_plain(p) && asks(p, b"echo")),
    Reply::to(REQUEST, &[Echo(replies), Hex("04")]).when(|p| is_plain(p) && asks_for_other(p)),
    Reply::to(REQUEST, &[Hex("'40'"), Echo(|p| encoded_name(p).to_vec()), Hex("1e 06 04")])
        .when(|p| p.contains(&EOT) && p.first() == Some(&SOH)),
];

const SOH: u8 = 0x01;
const EOT: u8 = 0x04;
const ACK: u8 = 0x06;
const GS: u8 = 0x1d;
const RS: u8 = 0x1e;
const US: u8 = 0x1f;

/// Whether a message has an end, and no encoding.
fn is_plain(p: &[u8]) -> bool {
    p.contains(&EOT) && p.first() != Some(&SOH)
}

/// The commands of a message, up to its end.
fn commands(p: &[u8]) -> impl Iterator<Item = &[u8]> {
    p.split(|byte| *byte == EOT).next().unwrap_or_default().split(|byte| *byte == GS)
}

/// The name of a command.
fn name(command: &[u8]) -> &[u8] {
    command.split(|byte| [RS, US].contains(byte)).next().unwrap_or_default()
}

fn is_identify(command: &[u8]) -> bool {
    name(command) == b"identify"
}

/// Whether the first command has that name, and none is `identify`.
fn asks(p: &[u8], first: &[u8]) -> bool {
    commands(p).next().is_some_and(|command| name(command) == first) && !commands(p).any(is_identify)
}

fn asks_for_other(p: &[u8]) -> bool {
    !asks(p, b"extensions") && !asks(p, b"echo") && !commands(p).any(is_identify)
}

/// The replies to all commands of a message.
fn replies(p: &[u8]) -> Vec<u8> {
    let all: Vec<_> = commands(p).map(reply).collect();
    all.join(&GS)
}

/// The replies to the commands behind the first `identify`.
fn behind_identify(p: &[u8]) -> Vec<u8> {
    let behind = commands(p).skip_while(|command| !is_identify(command)).skip(1);
    behind.flat_map(|command| [&[GS][..], &reply(command)].concat()).collect()
}

fn with_separator(command: &[u8]) -> Vec<u8> {
    [&reply(command)[..], &[GS]].concat()
}

/// The reply to a command but the first `identify`: `echo` returns its arguments, nobody can log in, and there are no further
/// commands.
fn reply(command: &[u8]) -> Vec<u8> {
    let name = name(command);
    let arguments = command.get(name.len()..).unwrap_or_default();
    let is_in_order = arguments.first().is_none_or(|byte| *byte == RS)
        && !arguments.get(1..).unwrap_or_default().contains(&RS);
    let status: &[u8] = match name {
        b"echo" if !arguments.is_empty() && is_in_order => {
            let texts = arguments.get(1..).unwrap_or_default().split(|byte| *byte == US);
            let records = texts.flat_map(|text| [&[RS, 0x11][..], text].concat());
            return b"10echo".iter().copied().chain(records).collect();
        }
        b"echo" if !is_in_order => b"23",
        b"echo" | b"extensions" => b"10",
        b"auth" | b"challenge" | b"identify" => b"30",
        _ => b"20",
    };
    [status, name, &[RS, ACK]].concat()
}

/// What stands in the place of the first name behind an encoding.
fn encoded_name(p: &[u8]) -> &[u8] {
    let body = p.split(|byte| *byte == ACK).nth(1).unwrap_or_default();
    name(commands(body).next().unwrap_or_default())
}
