//! The query of San Andreas Multiplayer, open.mp and Vice City Multiplayer. Little-endian.
//!
//! ```text
//! header      'SAMP' │ address 4 │ port u16 │ opcode             both ways; the answer copies it from the request
//! i           password u8 │ players u16 │ max_players u16 │ server_name │ game_mode │ language: u32 length │ text
//! r           rule_count u16 │ { key │ value: u8 length │ text }
//! c           player_count u16 │ { name: u8 length │ text │ score i32 }
//! d           player_count u16 │ { id u8 │ name: u8 length │ text │ score i32 │ ping u32 }
//! p           nonce u32, in the request, too
//! x           request: u16 length │ password │ u16 length │ command; answers: u16 length │ line
//! o           discord_link │ light_banner_url │ dark_banner_url │ logo_url: u32 length │ text
//! ```
//!
//! Oddities: all requests except p and x consist of the header only, and answers repeat nothing else of their request. The
//! address is the one that the client knows. Each line of the console is an answer of its own, and nothing marks the last one.
//! Vice City has 'VCMP' in requests, 'MP04' in answers, a version of 12 bytes in front of i, and names alone in c.

mod answering;
mod layouts;

use super::prelude::*;
use super::sources::gamedig;
use crate::net::Endpoint;
use std::net::{SocketAddr, SocketAddrV4};

const SAMP: &[u8] = b"SAMP";
/// Vice City's letters in requests, and in answers.
const VCMP: &[u8] = b"VCMP";
const MP04: &[u8] = b"MP04";
const PORT_AT: usize = 8;
const OPCODE_AT: usize = 10;
const HEADER_LEN: usize = 11;
/// Address and port in a header.
const ADDRESS_AT: Span = Span { start: 4, end: 10 };
/// The number of a ping.
const NONCE_AT: Span = Span { start: 11, end: 15 };
/// The header after the letters, and the number of a ping.
const NUMBERED_HEADER: std::ops::Range<usize> = 4..15;
/// Length of Vice City's version in bytes.
const VERSION_LEN: usize = 12;
/// The answer of a server to a wrong password, and the number of such answers that count as guessing.
const REFUSAL: &[u8] = b"Invalid RCON password.";
const GUESSES: usize = 3;
/// Maximum number of addresses with refused passwords that are remembered.
const MAX_REFUSED: usize = 4096;

const SPEC: &str = "https://open.mp/docs/tutorials/QueryMechanism";
const fn docs(section: &'static str) -> Cite {
    Cite { doc: "open.mp, Query Mechanism", section, url: SPEC }
}
const fn server(section: &'static str) -> Cite {
    Cite { doc: "open.mp", section, url: "https://github.com/openmultiplayer/open.mp" }
}
const QUERY: Cite = server("Server/Components/LegacyNetwork/Query/query.cpp");
const GAMEDIG: Cite = gamedig("protocols/samp.js");

const ASK: rule::Step = C("'SAMP' c000020a 611e 'i'");
const OK: rule::Step = S("'SAMP' c000020a 611e 'i' 00 0100 3200 01000000 'A' 01000000 'g' 01000000 'l'");

fields! {
    /// Four letters that mark the query.
    QUERY_MAGIC = "magic": Text public;
    /// What speaks the query, where that is not SA-MP: vcmp.
    VARIANT = "variant": Named;
    /// Address and port of the server as the client knows them; the answer copies them.
    ADDRESS = "address": Text;
    /// What is asked: i info, r rules, c players, d players with more, p ping, x remote console, o links.
    OPCODE = "opcode": Text public;
    /// Version of a Vice City server.
    SERVER_VERSION = "version": Text => Version;
    /// The server wants a password of players.
    PASSWORD = "password": Bool;
    /// Players now.
    PLAYERS = "players": Uint => Players;
    /// Players at most.
    MOST_PLAYERS = "max_players": Uint => MaxPlayers;
    /// Name of the server.
    SERVER_NAME = "server_name": Text => ServerName;
    /// Mode of the game.
    GAME_MODE = "game_mode": Text => Game;
    /// Language; name of the map before SA-MP 0.3.7.
    LANGUAGE = "language": Text;
    /// Rules in the list that follows.
    RULE_COUNT = "rule_count": Uint;
    /// Rules of the server.
    RULE_LIST = "rules": List;
    /// One of them.
    RULE = "rules[]": Group;
    /// Its name.
    RULE_KEY = "rules[].key": Text public;
    /// Its value.
    RULE_VALUE = "rules[].value": Text;
    /// Players in the list that follows.
    PLAYER_COUNT = "player_count": Uint;
    /// Players.
    PLAYER_LIST = "player_list": List;
    /// One of them.
    PLAYER = "player_list[]": Group;
    /// Number of the player.
    PLAYER_ID = "player_list[].id": Uint;
    /// Name.
    PLAYER_NAME = "player_list[].name": Text personal;
    /// Score.
    PLAYER_SCORE = "player_list[].score": Int;
    /// Ping in milliseconds.
    PLAYER_PING = "player_list[].ping": Uint volatile;
    /// Number of the client's choice, which the answer repeats.
    NONCE = "nonce": Uint volatile token;
    /// Length of the password in bytes.
    PASSWORD_LENGTH = "password_length": Uint;
    /// Password of the remote console; hidden without --show-secrets.
    RCON_PASSWORD = "rcon_password": Text personal;
    /// What the console is to do.
    COMMAND = "command": Text;
    /// A line that the console says.
    LINE = "text": Text;
    /// Address of the server's Discord.
    DISCORD_LINK = "discord_link": Text;
    /// Banner for light pages.
    LIGHT_BANNER = "light_banner_url": Text;
    /// Banner for dark pages.
    DARK_BANNER = "dark_banner_url": Text;
    /// Logo.
    LOGO = "logo_url": Text;
    /// What follows an opcode that nobody knows.
    PAYLOAD = "payload": Bytes;
    /// Bytes after the end of the message.
    SURPLUS = "surplus": Bytes;
}

rules! {
    /// Letters, address, port and opcode are eleven bytes.
    HDR_001 = "SAMP-HDR-001" Error "datagram ends inside its header" {
        cite: docs("Header"),
        examples: [Example::of(&[ASK, OK, C("'SAMP' c000020a 611e")])],
    }
    /// Servers answer nothing to a request with another opcode.
    REQ_001 = "SAMP-REQ-001" Error "opcode is not known" {
        cite: docs("Opcodes"),
        examples: [Example::on(7777, &[C("'SAMP' c000020a 611e 'z'")])],
    }
    /// open.mp answers these requests only where they are the header alone.
    REQ_002 = "SAMP-REQ-002" Warning "bytes follow the header of a request" {
        cite: QUERY,
        examples: [Example::of(&[ASK, OK, C("'SAMP' c000020a 611e 'i' 00")])],
    }
    /// open.mp answers 15 bytes and nothing else.
    REQ_003 = "SAMP-REQ-003" Error "ping has not exactly four bytes of its own" {
        cite: QUERY,
        examples: [Example::of(&[ASK, OK, C("'SAMP' c000020a 611e 'p' 0102")])],
    }
    /// Password and command fill the rest of the datagram.
    REQ_004 = "SAMP-REQ-004" Error "length of password or command does not fit" {
        cite: QUERY,
        examples: [Example::on(7777, &[C("'SAMP' c000020a 611e 'x' 0200 'pp' 0900 'cmd'")])],
    }
    /// Clients that trust lengths and counts read beyond the end, and some give up.
    RSP_001 = "SAMP-RSP-001" Error "answer ends inside a field" {
        cite: docs("Opcodes"),
        examples: [
            Example::of(&[ASK, S("'SAMP' c000020a 611e 'i' 00 0100 3200 00000000")]),
            Example::of(&[ASK, OK, C("'SAMP' c000020a 611e 'r'"), S("'SAMP' c000020a 611e 'r' 0200 01 'k' 01 'v'")]),
        ],
    }
    /// Some clients read on and make players or rules of it.
    RSP_002 = "SAMP-RSP-002" Warning "bytes follow the answer" {
        cite: docs("Opcodes"),
        examples: [Example::of(&[ASK, S("'SAMP' c000020a 611e 'i' 00 0100 3200 01000000 'A' 01000000 'g' 01000000 'l' 00")])],
    }
    /// 0 says that there is none, 1 that there is one.
    INF_001 = "SAMP-INF-001" Warning "password is neither 0 nor 1" {
        cite: docs("Opcode i"),
        examples: [Example::of(&[ASK, S("'SAMP' c000020a 611e 'i' 02 0100 3200 01000000 'A' 01000000 'g' 01000000 'l'")])],
    }
    /// open.mp takes bots off the places, but not off the players.
    INF_002 = "SAMP-INF-002" Note "more players than places" {
        cite: QUERY,
        examples: [Example::of(&[ASK, S("'SAMP' c000020a 611e 'i' 00 3c00 3200 01000000 'A' 01000000 'g' 01000000 'l'")])],
    }
    /// Their lengths say where texts end. Clients show the zero, or lose what is behind it.
    STR_001 = "SAMP-STR-001" Note "text has a zero byte" {
        cite: QUERY,
        per_server: true,
        examples: [
            Example::of(&[ASK, S("'SAMP' c000020a 611e 'i' 00 0100 3200 02000000 'A' 00 01000000 'g' 01000000 'l'")]),
            Example::of(&[ASK, OK, C("'SAMP' c000020a 611e 'r'"), S("'SAMP' c000020a 611e 'r' 0100 02 'k' 00 01 'v'")]),
        ],
    }
    /// Whoever sees it may use the console as well.
    SEC_002 = "SAMP-SEC-002" Warning "password of the remote console travels in cleartext" {
        cite: docs("Opcode x"),
        side: Client,
        examples: [Example::on(7777, &[C("'SAMP' c000020a 611e 'x' 0200 'pp' 0300 'cmd'")])],
    }
}

rules! {
    list EXCHANGE_RULES;
    /// Servers copy the six bytes and do not look at them. Proxies and forwarded ports make them differ.
    HDR_002 = "SAMP-HDR-002" Note "header names another address than the server's" {
        cite: docs("Header"),
        per_server: true,
        examples: [Example::of(&[C("'SAMP' 7f000001 611e 'i'")])],
    }
    /// Answers repeat the header of a request. None of this client is outstanding with these eleven bytes: it was sent before the
    /// capture, or was answered already.
    TXN_001: UNSOLICITED = "SAMP-TXN-001" {
        cite: docs("Header"),
        examples: [
            Example::of(&[OK]),
            // Which of two pings it would belong to is unknown.
            Example::on(7777, &[
                C("'SAMP' c000020a 611e 'p' 01020304"), C("'SAMP' c000020a 611e 'p' 05060708"),
                S("'SAMP' c000020a 611e 'p' 01020305"),
            ]),
        ],
    }
    /// A server sends a ping back as it is, with the four bytes of the client's choice.
    TXN_002 = "SAMP-TXN-002" Error "answer repeats another number than the ping's" {
        cite: QUERY,
        examples: [Example::on(7777, &[C("'SAMP' c000020a 611e 'p' 01020304"), S("'SAMP' c000020a 611e 'p' 01020305")])],
    }
    /// The answer window is two seconds. To c, d, x and o servers may be silent: then it is a note.
    TXN_003: UNANSWERED = "SAMP-TXN-003" { cite: GAMEDIG, examples: [Example::of(&[ASK])] }
    /// Later than the answer window of two seconds, within the late window.
    TXN_004: LATE = "SAMP-TXN-004" {
        cite: GAMEDIG,
        examples: [Example::of(&[ASK, Wait(2500), OK])],
    }
    /// The same answer again, and no request is open: UDP duplicated it. Lines of the console may be the same.
    TXN_005: COPY = "SAMP-TXN-005" {
        cite: docs("Header"),
        examples: [Example::of(&[ASK, OK, OK])],
    }
    /// Eleven bytes with a forged source address bring a victim that much more: nothing proves the client's address.
    SEC_001 = "SAMP-SEC-001" Note "answer is more than three times its request" {
        cite: QUERY,
        per_server: true,
        ratio: true,
        examples: [Example::of(&[
            ASK,
            S("'SAMP' c000020a 611e 'i' 00 0100 3200 10000000 'A long host name' 01000000 'g' 01000000 'l'"),
        ])],
    }
    /// A server has refused passwords of one address three times: somebody guesses. Said at the third.
    SEC_003 = "SAMP-SEC-003" Warning "password of the remote console was refused three times" {
        cite: QUERY,
        side: Client,
        examples: [Example::on(7777, &[
            C("'SAMP' c000020a 611e 'x' 0100 'a' 0300 'cmd'"), S("'SAMP' c000020a 611e 'x' 1600 'Invalid RCON password.'"),
            C("'SAMP' c000020a 611e 'x' 0100 'b' 0300 'cmd'"), S("'SAMP' c000020a 611e 'x' 1600 'Invalid RCON password.'"),
            C("'SAMP' c000020a 611e 'x' 0100 'c' 0300 'cmd'"), S("'SAMP' c000020a 611e 'x' 1600 'Invalid RCON password.'"),
        ])],
    }
}

static HEADER_ENDS: Ends = Ends::new(&HDR_001, &HDR_001, &SURPLUS);
static REQUEST_ENDS: Ends = Ends::new(&REQ_002, &REQ_002, &SURPLUS);
static PING_ENDS: Ends = Ends::new(&REQ_003, &REQ_003, &SURPLUS);
static RCON_ENDS: Ends = Ends::new(&REQ_004, &REQ_004, &SURPLUS);
static ANSWER_ENDS: Ends = Ends::new(&RSP_001, &RSP_002, &SURPLUS);

/// Opcodes in the order of their messages. Each opcode has a request and an answer.
const OPCODES: &[u8] = b"ircdpxo";
/// The links in open.mp's answer to o.
static LINKS: [&Field; 4] = [&DISCORD_LINK, &LIGHT_BANNER, &DARK_BANNER, &LOGO];

messages! {
    INFO_REQUEST = Message::request("info_request", 0, &[asks(b"i")]).keyed(header);
    INFO_RESPONSE = Message::response("info_response", 0, &[answers(b"i")]).keyed(header);
    RULES_REQUEST = Message::request("rules_request", 0, &[asks(b"r")]).keyed(header);
    RULES_RESPONSE = Message::response("rules_response", 0, &[answers(b"r")]).keyed(header);
    CLIENT_LIST_REQUEST = Message::request("client_list_request", 1, &[asks(b"c")]).keyed(header);
    CLIENT_LIST_RESPONSE = Message::response("client_list_response", 1, &[answers(b"c")]).keyed(header);
    DETAILED_PLAYERS_REQUEST = Message::request("detailed_players_request", 1, &[asks(b"d")]).keyed(header);
    DETAILED_PLAYERS_RESPONSE = Message::response("detailed_players_response", 1, &[answers(b"d")]).keyed(header);
    PING_REQUEST = Message::request("ping_request", 2, &[asks(b"p")]).keyed(header_and_nonce);
    PING_RESPONSE = Message::response("ping_response", 2, &[answers(b"p")]).keyed(header_and_nonce);
    RCON_REQUEST = Message::request("rcon_request", 3, &[asks(b"x")]).keyed(header);
    RCON_RESPONSE = Message::response("rcon_response", 3, &[answers(b"x")]).keyed(header);
    EXTRA_INFO_REQUEST = Message::request("extra_info_request", 1, &[asks(b"o")]).keyed(header);
    EXTRA_INFO_RESPONSE = Message::response("extra_info_response", 1, &[answers(b"o")]).keyed(header);
    UNKNOWN = Message::named("unknown").formed(&[Form::of(b"").after(&[SAMP, VCMP, MP04]).known()]);
}
/// A form for known conversations. In others, length and header decide the direction.
const fn asks(opcode: &'static [u8]) -> Form {
    Form::of(b"").after(&[SAMP, VCMP]).and(OPCODE_AT, opcode).known()
}
const fn answers(opcode: &'static [u8]) -> Form {
    Form::of(b"").after(&[SAMP, MP04]).and(OPCODE_AT, opcode).known()
}

const PAIRED: StepRules = StepRules {
    unsolicited: Some(&TXN_001),
    late: Some(&TXN_004),
    copy: Some(&TXN_005),
    larger: Some((3, &SEC_001)),
    ..StepRules::new(&TXN_003)
};
/// A step whose key is the same in every request. Each answer belongs to one request.
const QUERIED: StepInfo =
    StepInfo { reuses_keys: true, keyless: true, ..StepInfo::keyed("query", 14, PAIRED) };

/// SA-MP's query.
#[derive(Debug)]
pub struct Samp;

impl Protocol for Samp {
    /// The frames in which a server first refused passwords from an address; 0 for those to come.
    type Memory = Bounded<(Endpoint, Endpoint), [u64; GUESSES], MAX_REFUSED>;

    const INFO: Info = Info {
        known_as: &[("sa-mp", 0), ("openmp", 0)],
        ports: &[7777, 8192],
        first: &[Form::of(b"").after(&[SAMP, VCMP, MP04]).length(OPCODE_AT, usize::MAX)],
        messages: MESSAGES,
        steps: &[
            QUERIED,
            StepInfo { may_be_silent: true, ..QUERIED },
            StepInfo {
                shown_key: ShownKey::Bytes(11, |p| p.get(NUMBERED_HEADER)),
                reuses_keys: true,
                keyless: true,
                ..StepInfo::keyed(
                    "ping",
                    16,
                    StepRules { other_than_only: Some(&TXN_002), key_at: Some(NONCE_AT), ..PAIRED },
                )
            },
            StepInfo {
                reuses_keys: true,
                may_be_silent: true,
                lines: true,
                ..StepInfo::keyed("rcon", 14, StepRules { copy: None, ..PAIRED })
            },
        ],
        fields: &[FIELDS],
        rules: &[RULES],
        exchange_rules: EXCHANGE_RULES,
        causes: &[
            (Relation::Request, &[&REQ_002], &[&TXN_003]),
            (Relation::Instead, &[&TXN_002], &[&TXN_003]),
        ],
        layouts: layouts::LAYOUTS,
        suspicious: &[&STR_001],
        replies: answering::REPLIES,
        samples: &[
            Example::of(&[
                ASK,
                OK,
                C("'SAMP' c000020a 611e 'r'"),
                S("'SAMP' c000020a 611e 'r' 0100 07 'version' 03 '0.3'"),
                C("'SAMP' c000020a 611e 'c'"),
                S("'SAMP' c000020a 611e 'c' 0100 03 'Ann' ffffffff"),
                C("'SAMP' c000020a 611e 'd'"),
                S("'SAMP' c000020a 611e 'd' 0100 07 03 'Ann' 05000000 15000000"),
                C("'SAMP' c000020a 611e 'p' 01020304"),
                S("'SAMP' c000020a 611e 'p' 01020304"),
                C("'SAMP' c000020a 611e 'x' 0200 'pp' 0300 'cmd'"),
                S("'SAMP' c000020a 611e 'x' 0300 'one'"),
                C("'SAMP' c000020a 611e 'o'"),
                S("'SAMP' c000020a 611e 'o' 01000000 'a' 00000000 01000000 'c' 00000000"),
            ]),
            Example::of(&[
                C("'VCMP' c000020a 611e 'i'"),
                S(
                    "'MP04' c000020a 611e 'i' '04rel006abcd' 01 0000 3200 01000000 'A' 01000000 'g' 01000000 'l'",
                ),
                C("'VCMP' c000020a 611e 'c'"),
                S("'MP04' c000020a 611e 'c' 0200 03 'Ann' 03 'Bob'"),
            ]),
        ],
        is_public: |nodes, at, payload| {
            nodes.get(at).is_some_and(|node| node.value_span().of(payload).ends_with(REFUSAL))
        },
        ..Info::of("samp", "SA-MP and open.mp query", SPEC, &HEADER_ENDS)
    };

    fn ask(ask: &Ask<'_>) -> Option<Vec<u8>> {
        let opcode = if ask.all { b"irc".get(ask.answered) } else { b"i".get(ask.answered) }?;
        let address = ask.server.unwrap_or(SocketAddrV4::new([0; 4].into(), 0));
        Some([SAMP, &address.ip().octets(), &address.port().to_le_bytes(), &[*opcode]].concat())
    }

    fn probe(p: &[u8], wire_len: usize, ports: [u16; 2]) -> Option<Probe> {
        let magic = p.get(..4).filter(|magic| [SAMP, VCMP, MP04].contains(magic))?;
        let header_port = u16::from_le_bytes(*p.get(PORT_AT..)?.first_chunk()?);
        let opcode = p.get(OPCODE_AT).and_then(|op| OPCODES.iter().position(|known| known == op));
        let message = |at: u8, level| Some(MESSAGES.get(usize::from(at))?.probe(at, p, level));
        let Some(opcode) = opcode else {
            let level = if ports.contains(&header_port) { Level::Medium } else { Level::Low };
            return if magic == SAMP { message(UNKNOWN, level) } else { None };
        };
        let request = (opcode as u8).saturating_mul(2);
        match is_answer(p, wire_len, magic, ports.map(|port| port == header_port)) {
            Some(answer) => message(request.saturating_add(answer.into()), Level::High),
            None => message(request, Level::High).map(|g| Probe { role: Role::MaybeRequest, ..g }),
        }
    }

    fn decode<S: FieldSink>(c: &mut Cursor<'_, '_, S>, cx: Context) -> Result<(), Fault> {
        let magic = c.text(&QUERY_MAGIC, text(4))?.0;
        if magic != SAMP {
            c.derived(&VARIANT, Value::Named(1, Some("vcmp")));
        }
        c.field_as(&ADDRESS, array, |bytes| Value::Address(socket(bytes)))?;
        let opcode = c.text(&OPCODE, text(1))?.0;
        if cx.message == UNKNOWN {
            c.compare(
                &REQ_001,
                || OPCODES.iter().any(|known| opcode == [*known]),
                || Compared::new(Str(opcode), "i, r, c, d, p or x"),
            );
            return c.ignored(&PAYLOAD);
        }
        c.check(&REQ_001, || true);
        let kind = OPCODES.get(usize::from(cx.message / 2)).copied().unwrap_or_default();
        let asks = cx.message.is_multiple_of(2);
        // A console message that is not a line of output may be a request with a password.
        c.mask_unless(cx.secrets || kind != b'x' || !asks && is_line(c.ahead()));
        if asks { request(c, kind) } else { answer(c, kind, magic) }
    }

    fn observe(refused: &mut Self::Memory, seen: &Observation<'_>, raised: &mut Raised) {
        let p = seen.datagram.payload;
        let header_address = p.get(4..HEADER_LEN).and_then(<[u8]>::first_chunk).map(|bytes| socket(*bytes));
        if let (Some(header_address), SocketAddr::V4(server)) = (header_address, seen.server.socket_addr())
            && header_address != server
        {
            raised.add_values(&HDR_002, Some(ADDRESS_AT), Compared::new(header_address, server));
        }
        if seen.probe.message == RCON_RESPONSE && p.ends_with(REFUSAL) {
            let (pair, frame) = ((seen.server, seen.client.host()), seen.datagram.frame);
            let frames = refused.get_or_insert(pair, [0; GUESSES]);
            // An answer before its request in the file is observed twice.
            let slot = frames.iter_mut().find(|known| [0, frame].contains(*known));
            slot.into_iter().for_each(|known| *known = frame);
            if frames.last() == Some(&frame) {
                raised.add(&SEC_003);
            }
        }
    }
}

/// The key that ties an answer to its request: the header after the letters.
fn header(p: &[u8]) -> Option<u64> {
    number_at::<4, 7>(p)
}

/// The same key, together with the number after the header.
fn header_and_nonce(p: &[u8]) -> Option<u64> {
    p.get(NUMBERED_HEADER).map(hashed)
}

/// The address in a header.
fn socket([a, b, c, d, low, high]: [u8; 6]) -> SocketAddrV4 {
    SocketAddrV4::new([a, b, c, d].into(), u16::from_le_bytes([low, high]))
}

/// Whether a message is an answer, judged by its letters, its length, and whether the header contains the port of its source or
/// destination; `None` if only the conversation can tell.
fn is_answer(
    p: &[u8],
    wire_len: usize,
    magic: &[u8],
    [has_source, has_destination]: [bool; 2],
) -> Option<bool> {
    let from_server = (has_source != has_destination).then_some(has_source);
    let body = p.get(HEADER_LEN..).unwrap_or_default();
    match p.get(OPCODE_AT) {
        _ if magic != SAMP => Some(magic == MP04),
        Some(b'p') => from_server,
        Some(b'x') => from_server.or_else(|| Some(is_line(body))),
        _ => Some(wire_len > HEADER_LEN && from_server != Some(false)),
    }
}

/// Whether the rest of a datagram is exactly one line of the console.
fn is_line(body: &[u8]) -> bool {
    body.split_first_chunk()
        .is_some_and(|(length, line)| usize::from(u16::from_le_bytes(*length)) == line.len())
}

fn request<S: FieldSink>(c: &mut Cursor<'_, '_, S>, kind: u8) -> Result<(), Fault> {
    c.check(&SEC_002, || true);
    match kind {
        b'p' => {
            c.ends(&PING_ENDS);
            c.field(&NONCE, le_u32).map(drop)
        }
        b'x' => {
            c.about(Some(&RCON_PASSWORD));
            c.check_at(&SEC_002, c.whole(), || false);
            c.ends(&RCON_ENDS);
            let length = c.field(&PASSWORD_LENGTH, le_u16)?;
            c.secret_text(&RCON_PASSWORD, text(length.into()))?;
            c.text(&COMMAND, string16).map(drop)
        }
        _ => {
            c.ends(&REQUEST_ENDS);
            Ok(())
        }
    }
}

fn answer<S: FieldSink>(c: &mut Cursor<'_, '_, S>, kind: u8, magic: &[u8]) -> Result<(), Fault> {
    c.ends(&ANSWER_ENDS);
    match kind {
        b'i' => info(c, magic),
        b'r' => c.counted(&RULE_COUNT, le_u16, [&RULE_LIST, &RULE], rule_of_server),
        b'c' if magic == MP04 && are_names(c.ahead()) => {
            c.counted(&PLAYER_COUNT, le_u16, [&PLAYER_LIST, &PLAYER], |c| {
                c.text(&PLAYER_NAME, string8).map(drop)
            })
        }
        b'c' => c.counted(&PLAYER_COUNT, le_u16, [&PLAYER_LIST, &PLAYER], player),
        b'd' => c.counted(&PLAYER_COUNT, le_u16, [&PLAYER_LIST, &PLAYER], |c| {
            c.field(&PLAYER_ID, byte)?;
            player(c)?;
            c.field(&PLAYER_PING, le_u32).map(drop)
        }),
        b'p' => c.field(&NONCE, le_u32).map(drop),
        b'x' => c.secret_text(&LINE, string16).map(drop),
        _ => LINKS.iter().try_for_each(|link| c.text(link, string32).map(drop)),
    }
}

fn info<S: FieldSink>(c: &mut Cursor<'_, '_, S>, magic: &[u8]) -> Result<(), Fault> {
    if magic == MP04 {
        c.padded(&SERVER_VERSION, VERSION_LEN)?;
    }
    let password = c.field_as(&PASSWORD, byte, |password| Value::Bool(password != 0))?;
    c.compare(&INF_001, || password <= 1, || Compared::new(password, "0 or 1"));
    let players = c.field(&PLAYERS, le_u16)?;
    let most = c.field(&MOST_PLAYERS, le_u16)?;
    c.compare(&INF_002, || players <= most, || Compared::new(players, ComparedValue::AtMost(most.into())));
    [&SERVER_NAME, &GAME_MODE, &LANGUAGE].into_iter().try_for_each(|field| {
        let text = c.text(field, string32)?;
        c.check_no_zero(&STR_001, text);
        Ok(())
    })
}

fn rule_of_server<S: FieldSink>(c: &mut Cursor<'_, '_, S>) -> Result<(), Fault> {
    let key = c.text(&RULE_KEY, string8)?;
    c.check_no_zero(&STR_001, key);
    let value = c.text(&RULE_VALUE, string8)?;
    c.check_no_zero(&STR_001, value);
    c.store_fact(&[(b"version", Fact::Version), (b"mapname", Fact::Map)], key, value);
    Ok(())
}

/// Whether a list of players consists of names only, up to its end.
fn are_names(list: &[u8]) -> bool {
    let Some((&[low, high], mut names)) = list.split_first_chunk() else { return false };
    for _ in 0..u16::from_le_bytes([low, high]) {
        let Some((length, rest)) = names.split_first() else { return false };
        let Some(next) = rest.get(usize::from(*length)..) else { return false };
        names = next;
    }
    names.is_empty()
}

fn player<S: FieldSink>(c: &mut Cursor<'_, '_, S>) -> Result<(), Fault> {
    c.text(&PLAYER_NAME, string8)?;
    c.field(&PLAYER_SCORE, le_i32).map(drop)
}
