//! RakNet's unconnected ping, by which Minecraft Bedrock servers and others are listed. Big-endian throughout.
//!
//! ```text
//! ping    01 or 02 │ time u64 │ magic 16 │ client_guid u64
//! pong    1c │ time u64 │ server_guid u64 │ magic 16 │ offline data
//! Bedrock                                              status_length u16 │ status
//! status  edition;name;protocol;version;players;max_players;server_uid;level;mode;mode id;port;port;…
//!         MCCPP;variant;name                                                                              2013
//! magic   00ffff00 fefefefe fdfdfdfd 12345678
//! ```
//!
//! Oddities: `time` is opaque, and some clients never change it. A backslash makes the semicolon behind it a part of the text,
//! but some servers send backslashes as they are. 02 is answered only while the server accepts connections. Any
//! number of servers answer a ping to a broadcast address, each from its own address. The port is shared with the game, whose
//! other packets are not handled here.

mod answering;
mod layouts;

use super::prelude::*;
use super::sources::gamedig;
use crate::decode::Escapes;

pub(crate) const MAGIC: &[u8] = b"\x00\xff\xff\x00\xfe\xfe\xfe\xfe\xfd\xfd\xfd\xfd\x12\x34\x56\x78";
/// Offsets of the magic, which follows id and times.
const PING_MAGIC_AT: usize = 9;
const PONG_MAGIC_AT: usize = 17;
/// Minimum number of equal bytes in a damaged magic, and in a cut one. Fewer prove nothing.
const AGREEING: usize = 12;
const LEAST_MAGIC: usize = 8;
/// RakNet does not send offline data of this length in bytes, or longer.
const TOO_LONG: usize = 400;
/// Length in bytes of a status that consists of its first part.
const LEAST_STATUS: usize = 4;
/// Minimum number of parts in a status.
const LEAST_PARTS: usize = 6;
/// How a status begins, unless its length and its parts show that it is one. The last one has a form of its own.
const EDITIONS: [&[u8]; 3] = [b"MCPE;", b"MCEE;", ALPHA];
const STATUS_EDITIONS: [&[u8]; 2] = [b"MCPE;", b"MCEE;"];
const ALPHA: &[u8] = b"MCCPP;";

const SPEC: &str = "https://github.com/facebookarchive/RakNet";
const fn raknet(section: &'static str) -> Cite {
    Cite { doc: "RakNet", section, url: SPEC }
}
const fn wiki(section: &'static str) -> Cite {
    Cite { doc: "wiki.vg, Raknet Protocol", section, url: "https://wiki.vg/Raknet_Protocol" }
}
const GAMEDIG: Cite = gamedig("protocols/minecraftbedrock.js");
const POCKETMINE: Cite = Cite {
    doc: "PocketMine-MP",
    section: "issue 153, a backslash at the end of the name",
    url: "https://github.com/pmmp/PocketMine-MP/issues/153",
};
const POCKET_EDITION: Cite = Cite {
    doc: "wiki.vg, Pocket Edition Protocol",
    section: "Unconnected Pong",
    url: "https://wiki.vg/Pocket_Edition_Protocol_Documentation",
};

const ASK: rule::Step = C("01 0000000000000001 00ffff00fefefefefdfdfdfd12345678 0000000000000002");
const OK: rule::Step = S("1c 0000000000000001 1122334455667788 00ffff00fefefefefdfdfdfd12345678 \
     0014 'MCPE;A;649;1.20;1;8;'");

fields! {
    /// 1 ping, 2 ping that is answered only while there is room, 28 pong, 5 to 8 and 25 opening of a connection.
    MESSAGE_ID = "message_id": Uint;
    /// The client's time, which the pong repeats: milliseconds by intent, anything in fact.
    TIME = "time": Uint64 volatile;
    /// Sixteen fixed bytes that mark messages outside a connection.
    OFFLINE_MAGIC = "magic": Bytes public;
    /// Number the client chose for itself.
    CLIENT_GUID = "client_guid": Uint64 token;
    /// Number the server chose for itself.
    SERVER_GUID = "server_guid": Uint64 token;
    /// Bedrock: length of the status in bytes.
    STATUS_LENGTH = "status_length": Uint;
    /// Bedrock: what the server says about itself, in parts between semicolons; `§` and a character change the colour.
    STATUS = "status": Text;
    /// MCPE, MCEE for the Education Edition, or MCCPP for the first Pocket Editions.
    EDITION = "edition": Text => Game;
    /// MCCPP: `Demo`, or another word of the server's choice.
    VARIANT = "variant": Text public;
    /// Name of the server, its first line.
    SERVER_NAME = "server_name": Text => ServerName;
    /// Version of the game's protocol.
    PROTOCOL_VERSION = "protocol_version": Dynamic;
    /// Version of the game.
    VERSION = "version": Text => Version;
    /// Players now.
    PLAYERS = "players": Dynamic => Players;
    /// Players at most.
    MOST_PLAYERS = "max_players": Dynamic => MaxPlayers;
    /// The server's number once more, as text; it may be negative.
    SERVER_UID = "server_uid": Text token;
    /// Name of the world, or the second line of the name.
    LEVEL_NAME = "level_name": Text => Map;
    /// Mode of the game by name.
    GAME_MODE = "game_mode": Text public;
    /// The same by number.
    GAME_MODE_ID = "game_mode_id": Dynamic;
    /// Port for IPv4.
    PORT_IPV4 = "port_ipv4": Dynamic;
    /// Port for IPv6; 0 or −1 where there is none.
    PORT_IPV6 = "port_ipv6": Dynamic;
    /// Further parts.
    EXTRA = "extra": List;
    /// One of them.
    EXTRA_PART = "extra[]": Text;
    /// What another game's server says about itself.
    OFFLINE_DATA = "offline_data_hex": Bytes;
    /// The rest of a message that is no ping or pong.
    PAYLOAD = "payload": Bytes;
    /// Bytes after the end of the message; no client reads them.
    IGNORED = "ignored": Bytes;
}

rules! {
    /// The sixteen bytes tell a message from a packet of the game: what lacks them is dropped, and clients refuse such a pong.
    HDR_001 = "RAK-HDR-001" Error "offline magic is damaged" {
        cite: raknet("Source/RakPeer.cpp, ProcessOfflineNetworkPacket"),
        examples: [
            Example::of(&[ASK, OK, Wait(1000), C("01 0000000000000002 00ffff00fefefefefdfdfdfd12345679 0000000000000002")]),
            Example::of(&[ASK, S("1c 0000000000000001 1122334455667788 00ffff00fefefefefdfdfdfd12345679 0014 'MCPE;A;649;1.20;1;8;'")]),
        ],
    }
    /// A ping has id, time and magic at least; what is shorter is dropped.
    PNG_001 = "RAK-PNG-001" Error "ping ends inside the magic" {
        cite: raknet("Source/RakPeer.cpp, ProcessOfflineNetworkPacket"),
        examples: [Example::of(&[ASK, OK, Wait(1000), C("01 0000000000000002 00ffff00fefefefe")])],
    }
    /// The documents say 33 bytes; RakNet itself is content with 25.
    PNG_002 = "RAK-PNG-002" Warning "ping lacks the client's number" {
        cite: wiki("Unconnected Ping"),
        examples: [Example::of(&[C("01 0000000000000001 00ffff00fefefefefdfdfdfd12345678"), OK])],
    }
    /// A pong has id, time, the server's number and magic: 33 bytes.
    PON_001 = "RAK-PON-001" Error "pong ends before or inside the magic" {
        cite: raknet("Source/RakPeer.cpp, ProcessOfflineNetworkPacket"),
        examples: [Example::of(&[ASK, S("1c 0000000000000001 1122334455667788 00ffff")])],
    }
    /// Clients that trust the length read too little or beyond the end, and some give up.
    PON_002 = "RAK-PON-002" Error "length of the status is missing or wrong" {
        cite: wiki("Unconnected Pong"),
        examples: [
            Example::of(&[ASK, S("1c 0000000000000001 1122334455667788 00ffff00fefefefefdfdfdfd12345678 0015 'MCPE;A;649;1.20;1;8;'")]),
            Example::of(&[ASK, S("1c 0000000000000001 1122334455667788 00ffff00fefefefefdfdfdfd12345678 'MCPE;A;649;1.20;1;8;'")]),
        ],
    }
    /// RakNet takes fewer than 400 bytes for a pong when it sends one.
    PON_003 = "RAK-PON-003" Warning "offline data has 400 bytes or more" {
        cite: raknet("Source/RakNetDefines.h, MAX_OFFLINE_DATA_LENGTH"),
        examples: [Example::of(&[ASK, S("1c 0000000000000001 1122334455667788 00ffff00fefefefefdfdfdfd12345678 78*400")])],
    }
    /// Clients look for a status behind a length of 16 bits: here something else is in front of it, or its length and its parts do
    /// not show that it is one. They show a server without a name.
    PON_004 = "RAK-PON-004" Note "a status of Bedrock is not where clients read it" {
        cite: wiki("Unconnected Pong"),
        per_server: true,
        examples: [Example::of(&[ASK, S("1c 0000000000000001 1122334455667788 00ffff00fefefefefdfdfdfd12345678 14 'MCPE;A;649;1.20;1;8;'")])],
    }
    /// Edition, name, protocol, version, players and maximum: clients give up where one is missing.
    MOT_001 = "RAK-MOT-001" Error "status has fewer than six parts" {
        cite: GAMEDIG,
        examples: [Example::of(&[ASK, S("1c 0000000000000001 1122334455667788 00ffff00fefefefefdfdfdfd12345678 0011 'MCPE;A;649;1.20;1'")])],
    }
    /// Protocol version, players and maximum are numbers to every client.
    MOT_002 = "RAK-MOT-002" Error "number in the status is none" {
        cite: GAMEDIG,
        examples: [Example::of(&[ASK, S("1c 0000000000000001 1122334455667788 00ffff00fefefefefdfdfdfd12345678 0016 'MCPE;A;649;1.20;one;8;'")])],
    }
    /// The documents say UTF-8; clients show replacement characters.
    MOT_003 = "RAK-MOT-003" Warning "status is not valid UTF-8" {
        cite: wiki("Unconnected Pong"),
        examples: [Example::of(&[ASK, S("1c 0000000000000001 1122334455667788 00ffff00fefefefefdfdfdfd12345678 0015 'MCPE;' fffe ';649;1.20;1;8;'")])],
    }
    /// Networks behind a proxy report what they like.
    MOT_004 = "RAK-MOT-004" Note "more players than places" {
        cite: GAMEDIG,
        examples: [Example::of(&[ASK, S("1c 0000000000000001 1122334455667788 00ffff00fefefefefdfdfdfd12345678 0014 'MCPE;A;649;1.20;9;8;'")])],
    }
    /// The documents call them the same; many servers do not.
    MOT_005 = "RAK-MOT-005" Note "number of the server differs between header and status" {
        cite: wiki("Unconnected Pong"),
        per_server: true,
        examples: [Example::of(&[ASK, S("1c 0000000000000001 0000000000000005 00ffff00fefefefefdfdfdfd12345678 0016 'MCPE;A;649;1.20;1;8;7;'")])],
    }
    /// The game takes a semicolon behind a backslash for text. A name that ends with a backslash so swallows the separator behind
    /// it: here such a status is read by its other parts, the game shows them shifted. Clients that split at every semicolon
    /// misread the former.
    MOT_006 = "RAK-MOT-006" Note "backslash stands in front of a semicolon" {
        cite: POCKETMINE,
        per_server: true,
        examples: [
            Example::of(&[ASK, S(r"1c 0000000000000001 1122334455667788 00ffff00fefefefefdfdfdfd12345678 0017 'MCPE;A\;B;649;1.20;1;8;'")]),
            Example::of(&[ASK, S(r"1c 0000000000000001 1122334455667788 00ffff00fefefefefdfdfdfd12345678 0015 'MCPE;A\;649;1.20;1;8;'")]),
        ],
    }
    /// It says edition, a word and the name, and nothing of versions and players. Servers for the Pocket Edition of 2013 answer so.
    MOT_007 = "RAK-MOT-007" Note "status is in the form of the first Pocket Editions" {
        cite: POCKET_EDITION,
        per_server: true,
        examples: [Example::of(&[ASK, S("1c 0000000000000001 1122334455667788 00ffff00fefefefefdfdfdfd12345678 000e 'MCCPP;Demo;Lab'")])],
    }
    /// Its length says where the status ends. Clients show the zero, or what is behind it is lost: it ends a text in C, and is every
    /// second byte of UTF-16.
    MOT_008 = "RAK-MOT-008" Note "status has a zero byte" {
        cite: wiki("Data types"),
        per_server: true,
        examples: [Example::of(&[ASK, S("1c 0000000000000001 1122334455667788 00ffff00fefefefefdfdfdfd12345678 0015 'MCPE;A;649;1.20;1;8;' 00")])],
    }
}

rules! {
    list EXCHANGE_RULES;
    /// No ping of this client is outstanding: it was sent before the capture, or somebody answers what was never asked.
    TXN_001 = "RAK-TXN-001" Error "pong without a ping" {
        cite: raknet("Source/RakPeer.cpp, ProcessOfflineNetworkPacket"),
        needs_past: true,
        examples: [
            Example::of(&[OK]),
            // Which of two pings it would belong to is unknown.
            Example::of(&[
                ASK, C("01 0000000000000002 00ffff00fefefefefdfdfdfd12345678 0000000000000002"),
                S("1c 0000000000000007 1122334455667788 00ffff00fefefefefdfdfdfd12345678 0014 'MCPE;A;649;1.20;1;8;'"),
            ]),
        ],
    }
    /// The time is copied from the ping; clients ignore a pong with another one.
    TXN_002 = "RAK-TXN-002" Error "pong repeats another time than the ping's" {
        cite: raknet("Source/RakPeer.cpp, ProcessOfflineNetworkPacket"),
        examples: [Example::of(&[ASK, S("1c 0000000000000007 1122334455667788 00ffff00fefefefefdfdfdfd12345678 0014 'MCPE;A;649;1.20;1;8;'")])],
    }
    /// The answer window is two seconds. Message 2 may stay without an answer, and so may a broadcast.
    TXN_003: UNANSWERED = "RAK-TXN-003" { cite: GAMEDIG, examples: [Example::of(&[ASK])] }
    /// Later than the answer window of two seconds, within the late window.
    TXN_004: LATE = "RAK-TXN-004" {
        cite: GAMEDIG,
        examples: [Example::of(&[ASK, Wait(2500), OK])],
    }
    /// A second pong with a time already answered: UDP duplicated it.
    TXN_005: COPY = "RAK-TXN-005" {
        cite: raknet("Source/RakPeer.cpp, ProcessOfflineNetworkPacket"),
        examples: [Example::of(&[ASK, OK, OK])],
    }
    /// Then only order tells which ping a pong belongs to. Some clients always send the same.
    TXN_006 = "RAK-TXN-006" Note "time is used again after its answer" {
        cite: GAMEDIG,
        examples: [
            Example::of(&[ASK, OK, Wait(1000), ASK]),
            // The two kinds of ping have the same pong.
            Example::of(&[
                ASK, OK, Wait(1000), C("02 0000000000000001 00ffff00fefefefefdfdfdfd12345678 0000000000000002"),
            ]),
        ],
    }
    /// 33 bytes with a forged source address bring a victim that much more: nothing proves the client's address.
    SEC_001 = "RAK-SEC-001" Note "pong is more than three times its ping" {
        cite: raknet("Source/RakPeer.cpp, ProcessOfflineNetworkPacket"),
        per_server: true,
        ratio: true,
        examples: [Example::of(&[ASK, S("1c 0000000000000001 1122334455667788 00ffff00fefefefefdfdfdfd12345678 0051 'MCPE;' 41*60 ';649;1.20;1;8;'")])],
    }
}

static PING_ENDS: Ends = Ends::new(&PNG_001, &PON_002, &IGNORED);
static GUID_ENDS: Ends = Ends::new(&PNG_002, &PON_002, &IGNORED);
static PONG_ENDS: Ends = Ends::new(&PON_001, &PON_002, &IGNORED);

messages! {
    PING = Message::request("unconnected_ping", 0, &[
        Form::of(&[0x01]).and(PING_MAGIC_AT, MAGIC),
    ]).keyed(number_at::<1, 8>);
    PING_IF_OPEN = Message::request("unconnected_ping_open_connections", 1, &[
        Form::of(&[0x02]).and(PING_MAGIC_AT, MAGIC),
    ]).keyed(number_at::<1, 8>);
    PONG = Message::response("unconnected_pong", 0, &[
        Form::of(&[0x1c]).and(PONG_MAGIC_AT, MAGIC),
    ]).keyed(number_at::<1, 8>).also(&[1]);
    OPEN_1 = Message::label("open_connection_request_1", Direction::C2s, &[Form::of(&[0x05]).and(1, MAGIC)]);
    REPLY_1 = Message::label("open_connection_reply_1", Direction::S2c, &[Form::of(&[0x06]).and(1, MAGIC)]);
    OPEN_2 = Message::label("open_connection_request_2", Direction::C2s, &[Form::of(&[0x07]).and(1, MAGIC)]);
    REPLY_2 = Message::label("open_connection_reply_2", Direction::S2c, &[Form::of(&[0x08]).and(1, MAGIC)]);
    REFUSAL = Message::label("incompatible_protocol_version", Direction::S2c, &[Form::of(&[0x19]).and(2, MAGIC)]);
    UNKNOWN = Message::named("unknown");
}

const PINGED: StepRules = StepRules {
    unsolicited: Some(&TXN_001),
    other_than_only: Some(&TXN_002),
    late: Some(&TXN_004),
    copy: Some(&TXN_005),
    larger: Some((3, &SEC_001)),
    key_at: Some(Span { start: 1, end: 9 }),
    ..StepRules::new(&TXN_003)
};

/// RakNet's unconnected ping.
#[derive(Debug)]
pub struct Raknet;

impl Protocol for Raknet {
    type Memory = ();

    const COLOURS: Option<Colours> = Some(Colours::Sections);

    fn ask(ask: &Ask<'_>) -> Option<Vec<u8>> {
        let ping = || [&[1, 0, 0, 0, 0, 0, 0, 0, 1][..], MAGIC, &ask.random.to_be_bytes()].concat();
        (ask.answered == 0).then(ping)
    }

    const INFO: Info = Info {
        known_as: &[("bedrock", 0), ("minecraft-bedrock", 0)],
        ports: &[19132, 19133],
        first: &[
            Form::of(b"").after(&[b"\x01", b"\x02"]).length(PING_MAGIC_AT + LEAST_MAGIC, usize::MAX),
            Form::of(b"\x1c").length(PONG_MAGIC_AT + LEAST_MAGIC, usize::MAX),
        ],
        messages: MESSAGES,
        steps: &[
            StepInfo { once: true, ..StepInfo::keyed("ping", 16, PINGED) },
            StepInfo { once: true, ..StepInfo::keyed("ping", 16, StepRules { unanswered: None, ..PINGED }) },
        ],
        fields: &[FIELDS],
        rules: &[RULES],
        exchange_rules: EXCHANGE_RULES,
        causes: &[
            (Relation::Same, &[&PON_002], &[&MOT_001, &MOT_002, &MOT_003]),
            (Relation::Request, &[&PNG_002], &[&TXN_003]),
            (Relation::Instead, &[&TXN_002], &[&TXN_003]),
        ],
        layouts: layouts::LAYOUTS,
        suspicious: &[&TXN_002, &PON_004, &MOT_008],
        replies: answering::REPLIES,
        samples: &[Example::of(&[ASK, OK])],
        ..Info::of("raknet", "RakNet unconnected ping", SPEC, &PING_ENDS)
    };

    #[inline]
    fn probe(p: &[u8], wire_len: usize, _ports: [u16; 2]) -> Option<Probe> {
        recognise::<Self>(p, wire_len).or_else(|| damaged(p, Level::Medium, LEAST_MAGIC))
    }

    fn probe_known(p: &[u8], wire_len: usize, known: Known<'_>) -> Option<Probe> {
        if let Some(probe) = recognise_known::<Self>(p, wire_len, known) {
            return Some(probe);
        }
        if known.level < Level::Medium {
            return None;
        }
        // Anything else on this port belongs to the game. A message may end before its magic.
        let answers = p.first() == Some(&0x1c);
        damaged(p, Level::Medium, 0).filter(|_| answers == (known.direction == Direction::S2c))
    }

    fn decode<S: FieldSink>(c: &mut Cursor<'_, '_, S>, cx: Context) -> Result<(), Fault> {
        if cx.message > PONG {
            if !c.rest().is_empty() {
                c.field(&MESSAGE_ID, byte)?;
            }
            return c.ignored(&PAYLOAD);
        }
        if cx.message == PONG {
            c.ends(&PONG_ENDS);
        }
        c.field(&MESSAGE_ID, byte)?;
        c.field(&TIME, be_u64)?;
        if cx.message == PONG {
            let guid = c.field(&SERVER_GUID, be_u64)?;
            magic(c)?;
            return offline_data(c, guid);
        }
        magic(c)?;
        c.ends(&GUID_ENDS);
        c.field(&CLIENT_GUID, be_u64)?;
        c.ignored(&IGNORED)
    }

    fn observe(_: &mut (), seen: &Observation<'_>, raised: &mut Raised) {
        if matches!(seen.pairing, Pairing::Asked { reused: true, .. }) {
            raised.add(&TXN_006);
        }
    }
}

/// Recognises a ping or pong whose magic is damaged, or that ends inside or shortly before its magic.
#[cold]
fn damaged(p: &[u8], level: Level, least: usize) -> Option<Probe> {
    let (message, at) = match p.first()? {
        0x01 => (PING, PING_MAGIC_AT),
        0x02 => (PING_IF_OPEN, PING_MAGIC_AT),
        0x1c => (PONG, PONG_MAGIC_AT),
        _ => return None,
    };
    let found = p.get(at..).unwrap_or_default();
    let agreeing = found.iter().zip(MAGIC).filter(|(a, b)| a == b).count();
    let whole = found.len() >= MAGIC.len();
    let magic_agrees =
        if whole { agreeing >= AGREEING } else { agreeing == found.len() && agreeing >= least };
    let probe = MESSAGES.get(usize::from(message))?.probe(message, p, level);
    match probe.key {
        Some(_) => magic_agrees.then_some(probe),
        // The message ends before its time.
        None => (magic_agrees && least == 0).then_some(Probe { message: UNKNOWN, ..probe.as_stray() }),
    }
}

/// Whether the payload is a ping or pong, judged by its sixteen fixed bytes. A ping's time may look like the header of an SQP
/// answer.
pub(crate) fn is_ping_or_pong(p: &[u8]) -> bool {
    let at = match p.first() {
        Some(1 | 2) => PING_MAGIC_AT,
        Some(0x1c) => PONG_MAGIC_AT,
        _ => return false,
    };
    p.get(at..).is_some_and(|rest| rest.starts_with(MAGIC))
}

fn magic<S: FieldSink>(c: &mut Cursor<'_, '_, S>) -> Result<(), Fault> {
    let magic = c.field(&OFFLINE_MAGIC, bytes(MAGIC.len()))?;
    c.compare(&HDR_001, || magic == MAGIC, || Compared::new(magic, "the magic bytes of RakNet"));
    Ok(())
}

/// Reads the server's description of itself.
fn offline_data<S: FieldSink>(c: &mut Cursor<'_, '_, S>, guid: u64) -> Result<(), Fault> {
    let data = c.ahead();
    let (at, len, cut) = (c.to_end(), c.wire_len().saturating_sub(usize::from(c.offset())), c.is_cut());
    let bedrock =
        |text: Option<&[u8]>| text.is_some_and(|t| EDITIONS.iter().any(|edition| t.starts_with(edition)));
    let announced = data.first_chunk().map(|length| usize::from(u16::from_be_bytes(*length)));
    // A status that is cut inside its first part counts as well, if its length is that of one.
    let may_be_cut = announced.is_some_and(|announced| (LEAST_STATUS..TOO_LONG).contains(&announced));
    let is_cut_bedrock = may_be_cut
        && data
            .get(2..)
            .is_some_and(|t| !t.is_empty() && EDITIONS.iter().any(|edition| edition.starts_with(t)));
    let exact = announced.and_then(|n| n.checked_add(2)) == Some(len);
    let parts = data.iter().filter(|b| **b == b';').count();
    let behind_length =
        is_cut_bedrock || bedrock(data.get(2..)) || exact && parts >= LEAST_PARTS.saturating_sub(1);
    if behind_length {
        c.field(&STATUS_LENGTH, be_u16)?;
        c.compare(
            &PON_002,
            || exact || cut,
            || {
                Compared::new(
                    announced.map_or(ComparedValue::Nothing, ComparedValue::from),
                    ComparedValue::Following(len.saturating_sub(2) as u64),
                )
            },
        );
    }
    const MOST: i64 = TOO_LONG as i64 - 1;
    c.about(None);
    c.compare_at(
        &PON_003,
        at,
        || len < TOO_LONG,
        || Compared::new(ComparedValue::Bytes(len as u64), ComparedValue::AtMost(MOST)),
    );
    if !behind_length && !bedrock(Some(data)) {
        c.ignored(&OFFLINE_DATA)?;
        let has_edition = |edition: &[u8]| memchr::memmem::find(data, edition).is_some();
        c.check_at(&PON_004, at, || !STATUS_EDITIONS.iter().any(|edition| has_edition(edition)));
        return Ok(());
    }
    c.check(&PON_004, || true);
    let text = c.field(&STATUS, remaining)?;
    let begin = data.get(..2).unwrap_or(data);
    c.compare(&PON_002, || behind_length, || Compared::new(ComparedValue::raw(begin), "a length"));
    c.check(&MOT_003, || true);
    if !cut {
        c.check_utf8(&MOT_003, text);
    }
    c.check_no_zero(&MOT_008, text);
    match text.0 {
        _ if cut => {}
        text if text.starts_with(ALPHA) => alpha_status(c, text),
        text => status(c, text, guid),
    }
    Ok(())
}

/// The parts of a status. If `escapes`, a semicolon behind a backslash belongs to a part.
fn parts_of(text: &[u8], escapes: bool) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest?;
        let end = memchr::memchr_iter(b';', text).find(|at| !escapes || !is_escaped(text, *at));
        let (part, behind) = end.map_or((text, None), |end| {
            let (part, behind) = text.split_at_checked(end).unwrap_or((text, b""));
            (part, behind.get(1..))
        });
        rest = behind;
        Some(part)
    })
}
fn is_escaped(text: &[u8], at: usize) -> bool {
    at.checked_sub(1).and_then(|before| text.get(before)) == Some(&b'\\')
}

/// Whether the parts that every client takes for numbers are some.
fn has_numbers(text: &[u8], escapes: bool) -> bool {
    let parts = parts_of(text, escapes).take(LEAST_PARTS).enumerate();
    parts.filter(|(at, part)| [2, 4, 5].contains(at) && Str(part).is_integer()).count() == 3
}

/// A text without the backslashes in front of its semicolons.
fn unescaped(text: Str<'_>) -> Value<'_> {
    if text.0.contains(&b';') { Value::Escaped(text.0, Escapes::Semicolons, None) } else { text.into() }
}

/// Reports the parts of a status of the first Pocket Editions.
fn alpha_status<'a, S: FieldSink>(c: &mut Cursor<'a, '_, S>, text: &'a [u8]) {
    let mut parts = text.splitn(3, |b| *b == b';');
    for field in [&EDITION, &VARIANT, &SERVER_NAME] {
        if let Some(part) = parts.next() {
            c.part(field, part, Str::into);
        }
    }
    c.about(Some(&STATUS));
    c.check(&MOT_007, || false);
}

/// Reports the parts of the status.
fn status<'a, S: FieldSink>(c: &mut Cursor<'a, '_, S>, text: &'a [u8], guid: u64) {
    const PARTS: [&Field; 12] = [
        &EDITION,
        &SERVER_NAME,
        &PROTOCOL_VERSION,
        &VERSION,
        &PLAYERS,
        &MOST_PLAYERS,
        &SERVER_UID,
        &LEVEL_NAME,
        &GAME_MODE,
        &GAME_MODE_ID,
        &PORT_IPV4,
        &PORT_IPV6,
    ];
    let has_escapes = memchr::memmem::find(text, b"\\;").is_some();
    let escapes = has_escapes && (has_numbers(text, true) || !has_numbers(text, false));
    // An empty part at the end does not count.
    let ending = if escapes && text.ends_with(b"\\;") { None } else { text.strip_suffix(b";") };
    let text = ending.unwrap_or(text);
    let parts = || parts_of(text, escapes);
    let number = |n: usize| parts().nth(n).map(Str).and_then(Str::decimal);
    for (field, part) in PARTS.into_iter().zip(parts()) {
        let shown = if field.kind == FieldKind::Dynamic { Str::decimal_or_text } else { unescaped };
        let at = c.part(field, part, shown);
        let must_be_number = [&PROTOCOL_VERSION, &PLAYERS, &MOST_PLAYERS].contains(&field);
        let players_fit = || number(4).zip(number(5)).is_none_or(|(players, most)| players <= most);
        c.about(Some(field));
        c.compare_at(
            &MOT_002,
            at,
            || !must_be_number || Str(part).is_integer(),
            || Compared::new(part, "a number"),
        );
        c.compare_at(
            &MOT_004,
            at,
            || field != &MOST_PLAYERS || players_fit(),
            || {
                Compared::new(
                    part,
                    number(4)
                        .map_or(ComparedValue::Nothing, |players| ComparedValue::AtLeast(players.into())),
                )
            },
        );
        c.compare_at(
            &MOT_005,
            at,
            || field != &SERVER_UID || is_guid(part, guid),
            || Compared::new(part, "the GUID"),
        );
    }
    c.about(Some(&STATUS));
    if parts().count() > PARTS.len() {
        let at = c.last();
        c.derived_in(&EXTRA, Shape::List, at, |c| {
            parts().skip(PARTS.len()).for_each(|part| {
                c.part(&EXTRA_PART, part, unescaped);
            });
        });
    }
    c.compare(
        &MOT_001,
        || parts().count() >= LEAST_PARTS,
        || Compared::new(parts().count(), ComparedValue::AtLeast(LEAST_PARTS as i64)),
    );
    c.check(&MOT_006, || !has_escapes);
    c.check(&MOT_007, || true);
}

/// Whether a text is the GUID of the server, signed or unsigned. Empty and invalid texts do not contradict it.
fn is_guid(text: &[u8], guid: u64) -> bool {
    let text = std::str::from_utf8(text).unwrap_or_default();
    text.is_empty() || text.parse::<i64>().map_or(text.parse().ok(), |uid| Some(uid as u64)) == Some(guid)
}
