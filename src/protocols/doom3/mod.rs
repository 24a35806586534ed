//! The query of idTech 4: Doom 3, Quake 4, Prey, Enemy Territory: Quake Wars and Wolfenstein, and id's list of servers.
//! Little-endian.
//!
//! ```text
//! every message  ff ff │ word │ 00
//! getInfo        up to eight bytes that the answer repeats; getInfoEx (Quake Wars): the same
//! infoResponse   echo 4 │ protocol: minor u16 │ major u16 │ pairs │ players │ os_mask u32
//!   Quake Wars   echo 8 │ protocol │ size u32 │ pairs │ players │ os_mask u32 │ ranked u8 │ time_left i32 │ game_state u8 │
//!                server_type u8 │ 0: interested_clients u8; 1: viewers u32 │ max_viewers u32
//! infoExResponse the same │ { id u8 │ xp f32 │ team │ kills u32 │ deaths u32 } 20
//! pairs          { key │ 00 │ value │ 00 } 00 00
//! players        { id u8 │ ping i16 │ the fields of a layout } 20; Wolfenstein 10
//! getServers     version u32 │ game │ [ player │ clan: Quake 4 ] │ filter u8
//! servers        { address 4 │ port u16 }
//! rcon           password │ command                                print: opcode u32 │ text
//! ```
//!
//! Oddities: a server reads four or eight bytes behind the word whatever the request has, and repeats 255 for each that is not there.
//! Nothing says which game answers but its protocol, and nothing whether the eight bytes and the size of Quake Wars are there but
//! where its protocol stands.

mod answering;
mod answers;

use super::prelude::*;
use super::sources::gamedig;
use answers::{EXTENDED_BODY, INFO_BODY, info, is_sized, text};

/// The bytes that begin every message.
const MARK: &[u8] = b"\xff\xff";
/// Least number of bytes that a server repeats.
const ECHO: usize = 4;
/// Major version of Quake 4, whose clients ask for players and clans, too.
const QUAKE4: u32 = 2;
/// Bits of the major version in a number of 32 bits, without that of a modified game.
const MAJOR: u32 = 0x7fff;

const SPEC: &str = "https://github.com/dhewm/dhewm3";
const fn dhewm3(section: &'static str) -> Cite {
    Cite { doc: "dhewm3", section, url: SPEC }
}
const SERVER: Cite = dhewm3("neo/framework/async/AsyncServer.cpp");
const CLIENT: Cite = dhewm3("neo/framework/async/AsyncClient.cpp");
const MESSAGES_OF_BITS: Cite = dhewm3("neo/idlib/BitMsg.cpp");
const FORUM: Cite = Cite { doc: "Splash Damage forum", section: "Quake Wars master server", url: "" };
const QSTAT: Cite =
    Cite { doc: "qstat", section: "doom3.c", url: "https://github.com/Unity-Technologies/qstat" };
const GAMEDIG: Cite = gamedig("protocols/doom3.js");
const TIMEOUT: Cite = gamedig("protocols/core.js, socketTimeout");

const ASK: rule::Step = C("ffff 'getInfo' 00 'PiNG'");
const OK: rule::Step =
    S("ffff 'infoResponse' 00 'PiNG' 29000100 'si_name' 00 'Lab' 00 'si_map' 00 'game/mp/d3dm1' 00 \
     'si_maxPlayers' 00 '4' 00 0000 20 07000000");
const ASK_EIGHT: rule::Step = C("ffff 'getInfo' 00 'PiNGPoNg'");

fields! {
    /// Two bytes of 255, which mark messages outside a game.
    PREFIX = "prefix": Bytes public;
    /// What the message is.
    WORD = "word": Text public;
    /// Four bytes of the client's choice, which the answer repeats, as a number.
    CHALLENGE = "challenge": Uint volatile token;
    /// Four more, which only Quake Wars repeats.
    CHALLENGE2 = "challenge2": Uint volatile token;
    /// Fewer than four bytes in their place.
    SHORT_CHALLENGE = "short_challenge": Bytes volatile token;
    /// Protocol of the game: major and minor version.
    PROTOCOL = "protocol": Text => Version;
    /// The game was modified by a third party.
    THIRD_PARTY = "third_party": Bool;
    /// Quake Wars: number of bytes behind it.
    SIZE = "size": Uint;
    /// Whose layout the answer has: doom3, quake4, prey, etqw, wolfenstein.
    DIALECT = "dialect": Named;
    /// Variables of the server, in the order of the wire.
    INFO_LIST = "info": List;
    /// A variable.
    VARIABLE = "info[]": Group;
    /// Its name, in letters of any case.
    KEY = "info[].key": Text public;
    /// Its value.
    VALUE = "info[].value": Text;
    /// Who plays; in Quake Wars also who watches.
    PLAYER_LIST = "players": List;
    /// One of them.
    PLAYER = "players[]": Group;
    /// Number of the player's place.
    PLAYER_ID = "players[].id": Uint;
    /// Round trip in milliseconds; 0 for a bot.
    PLAYER_PING = "players[].ping": Int volatile;
    /// Bytes a second that the player wants at most.
    RATE = "players[].rate": Uint;
    /// Name, in which `^` and a character change the colour.
    NAME = "players[].name": Text personal;
    /// Quake Wars, Wolfenstein: 0 if the clan stands before the name, 1 if behind it.
    CLAN_POSITION = "players[].clan_position": Uint;
    /// Clan.
    CLAN = "players[].clan": Text personal;
    /// 1 for a bot.
    BOT = "players[].bot": Uint;
    /// What follows the variables in 13.9 and 13.10, whose bot flags have one bit.
    SHIFTED = "shifted_players": Bytes;
    /// Systems whose clients can play; all bits where the server does not say.
    OS_MASK = "os_mask": Uint, Labels::Bits(&["windows", "linux", "macos"]);
    /// 1 if the game counts for the ranks.
    RANKED = "ranked": Uint;
    /// Time left in the game, in milliseconds.
    TIME_LEFT = "time_left": Int volatile;
    /// State of the game.
    GAME_STATE = "game_state": Uint, Labels::Bits(&["warm-up", "running", "review", "loading", "second round"]);
    /// Kind of the server.
    SERVER_TYPE = "server_type": Uint, Labels::FromZero(&["game", "tv"]);
    /// Clients that wait for a place.
    INTERESTED = "interested_clients": Uint;
    /// Who watches a server that shows a game.
    VIEWERS = "viewers": Uint;
    /// How many may watch.
    MAX_VIEWERS = "max_viewers": Uint;
    /// Quake Wars: what players have done.
    STATS = "stats": List;
    /// One of them.
    STAT = "stats[]": Group;
    /// Number of the player's place.
    STAT_ID = "stats[].id": Uint;
    /// Experience.
    XP = "stats[].xp": Float32;
    /// Name of the team.
    TEAM = "stats[].team": Text;
    /// Enemies killed.
    KILLS = "stats[].kills": Uint;
    /// How often the player was killed.
    DEATHS = "stats[].deaths": Uint;
    /// The same in another form, as mods have it.
    OTHER_STATS = "other_stats": Bytes;
    /// Protocol whose servers are asked for: major version in the upper 16 bits, minor in the lower; bit 31 for a modified game.
    VERSION = "version": Uint;
    /// Mod whose servers are asked for.
    GAME = "game": Text;
    /// Quake 4: player who is searched for.
    PLAYER_WANTED = "player": Text;
    /// Quake 4: clan that is searched for.
    CLAN_WANTED = "clan": Text personal;
    /// What servers are to have: bits for password, players and others.
    FILTER = "filter": Uint;
    /// Servers that the master knows.
    SERVER_LIST = "servers": List;
    /// One of them.
    LISTED = "servers[]": Text;
    /// Password of the remote console; masked unless --show-secrets is given.
    PASSWORD = "password": Text personal;
    /// Command for the remote console; or the word of a message that is no query.
    COMMAND = "command": Text;
    /// Kind of a text that the server prints.
    OPCODE = "opcode": Uint;
    /// Text for the console.
    TEXT = "text": Text;
    /// Bytes that nobody reads.
    IGNORED = "ignored": Bytes;
    /// Bytes after the end of the message.
    SURPLUS = "surplus": Bytes;
}

rules! {
    /// Servers take what does not begin with two bytes of 255 for a packet of a game, and do not answer.
    HDR_001 = "D3-HDR-001" Error "query begins with fewer than two bytes of 255" {
        cite: dhewm3("neo/framework/async/AsyncServer.cpp, idAsyncServer::ProcessMessage"),
        examples: [Example::of(&[ASK, OK, Wait(500), C("ff 'getInfo' 00 'PiNG'")])],
    }
    /// Servers compare words without case, but every known client writes them as they are.
    REQ_001 = "D3-REQ-001" Note "word of a request is in another case" {
        cite: dhewm3("neo/framework/async/AsyncServer.cpp, idAsyncServer::ConnectionlessMessage"),
        examples: [Example::of(&[C("ffff 'getinfo' 00 'PiNG'"), OK])],
    }
    /// Servers read four bytes all the same, and repeat 255 for each that is not there. Requests for servers have fields of their own
    /// there, which a master reads in the same way.
    REQ_002 = "D3-REQ-002" Note "fewer than four bytes follow the word" {
        cite: MESSAGES_OF_BITS,
        examples: [
            Example::of(&[C("ffff 'getInfo' 00 000000"), S(
                "ffff 'infoResponse' 00 ffffffff 29000100 'si_name' 00 'Lab' 00 'si_map' 00 'game/mp/d3dm1' 00 \
                 'si_maxPlayers' 00 '4' 00 0000 20 07000000",
            )]),
            Example::on(27650, &[C("ffff 'getServers' 00 29000100"), S("ffff 'servers' 00 c0000201 026c")]),
        ],
    }
    /// Clients drop it, or say that it is too short. What ends inside the variables or the players breaks other rules.
    RSP_001 = "D3-RSP-001" Error "answer ends inside a field" {
        cite: CLIENT,
        examples: [
            Example::of(&[ASK, S("ffff 'infoResponse' 00 'PiNG' 290001")]),
            Example::of(&[ASK, OK, Wait(500), ASK, S(
                "ffff 'infoResponse' 00 'PiNG' 29000100 'si_name' 00 'Lab' 00 'si_map' 00 'game/mp/d3dm1' 00 \
                 'si_maxPlayers' 00 '4' 00 0000 20 0700",
            )]),
        ],
    }
    /// Quake Wars counts the bytes behind the size, and all servers that were recorded count them right.
    RSP_002 = "D3-RSP-002" Error "size is not the number of bytes behind it" {
        cite: FORUM,
        examples: [Example::of(&[ASK_EIGHT, S(
            "ffff 'infoResponse' 00 'PiNGPoNg' 15000a00 63000000 'si_name' 00 'Lab' 00 'si_map' 00 'game/mp/d3dm1' 00 \
             'si_maxPlayers' 00 '4' 00 0000 20 07000000 00 042a0500 02 00 01",
        )])],
    }
    /// Servers end there. Most clients do not look.
    RSP_003 = "D3-RSP-003" Warning "bytes follow the last field" {
        cite: GAMEDIG,
        examples: [Example::of(&[ASK, S(
            "ffff 'infoResponse' 00 'PiNG' 29000100 'si_name' 00 'Lab' 00 'si_map' 00 'game/mp/d3dm1' 00 \
             'si_maxPlayers' 00 '4' 00 0000 20 07000000 000000",
        )])],
    }
    /// It travels as IP fragments, and does not arrive where these are dropped. Quake Wars sends up to 2,063 bytes.
    RSP_004 = "D3-RSP-004" Note "answer is larger than 1472 bytes" {
        cite: SERVER,
        examples: [Example::of(&[ASK, S(
            "ffff 'infoResponse' 00 'PiNG' 29000100 'si_name' 00 'Lab' 00 'si_map' 00 'game/mp/d3dm1' 00 \
             'si_maxPlayers' 00 '4' 00 'si_motd' 00 6d*1400 00 0000 20 07000000",
        )])],
    }
    /// Each variable has a name and a value with a zero behind each, and two zeros end them all.
    DIC_001 = "D3-DIC-001" Error "variables have no end" {
        cite: dhewm3("neo/idlib/BitMsg.cpp, idBitMsg::ReadDeltaDict"),
        examples: [Example::of(&[ASK, S(
            "ffff 'infoResponse' 00 'PiNG' 29000100 'si_name' 00 'Lab' 00 'si_map' 00 'game/mp/d3dm1' 00 'si_maxPlayers' 00 '4'",
        )])],
    }
    /// Some clients stop at an empty name, others only where name and value are empty: they read what follows differently.
    DIC_002 = "D3-DIC-002" Warning "name of a variable is empty" {
        cite: GAMEDIG,
        examples: [Example::of(&[ASK, S(
            "ffff 'infoResponse' 00 'PiNG' 29000100 'si_name' 00 'Lab' 00 'si_map' 00 'game/mp/d3dm1' 00 \
             'si_maxPlayers' 00 '4' 00 00 'x' 00 0000 20 07000000",
        )])],
    }
    /// Names are the same in letters of any case. Clients take the last value.
    DIC_003 = "D3-DIC-003" Note "variable is given twice" {
        cite: dhewm3("neo/idlib/Dict.h"),
        examples: [Example::of(&[ASK, S(
            "ffff 'infoResponse' 00 'PiNG' 29000100 'si_name' 00 'Lab' 00 'si_map' 00 'game/mp/d3dm1' 00 \
             'si_maxPlayers' 00 '4' 00 'SI_NAME' 00 'Two' 00 0000 20 07000000",
        )])],
    }
    /// `si_name`, `si_map` and `si_maxPlayers`: every server sends them, and clients have nothing to show without them.
    DIC_004 = "D3-DIC-004" Warning "name, map or maximum of players is not given" {
        cite: CLIENT,
        examples: [Example::of(&[ASK, S(
            "ffff 'infoResponse' 00 'PiNG' 29000100 'si_name' 00 'Lab' 00 'si_map' 00 'game/mp/d3dm1' 00 0000 20 07000000",
        )])],
    }
    /// Every client converts `si_maxPlayers` to a number, and gets 0 or nothing.
    DIC_005 = "D3-DIC-005" Warning "maximum of players is not a decimal integer" {
        cite: GAMEDIG,
        examples: [Example::of(&[ASK, S(
            "ffff 'infoResponse' 00 'PiNG' 29000100 'si_name' 00 'Lab' 00 'si_map' 00 'game/mp/d3dm1' 00 \
             'si_maxPlayers' 00 'four' 00 0000 20 07000000",
        )])],
    }
    /// A place of 32 ends the players, of 16 in Wolfenstein. Clients try several layouts, and give up if none fits.
    PLR_001 = "D3-PLR-001" Error "players have no end" {
        cite: GAMEDIG,
        examples: [
            Example::of(&[ASK, S(
                "ffff 'infoResponse' 00 'PiNG' 29000100 'si_name' 00 'Lab' 00 'si_map' 00 'game/mp/d3dm1' 00 \
                 'si_maxPlayers' 00 '4' 00 0000 00 2800 803e0000",
            )]),
            Example::of(&[ASK_EIGHT, OK, Wait(500), ASK_EIGHT, S(
                "ffff 'infoResponse' 00 'PiNGPoNg' 15000a00 40000000 'si_name' 00 'Lab' 00 'si_map' 00 'game/mp/d3dm1' 00 \
                 'si_maxPlayers' 00 '4' 00 0000",
            )]),
        ],
    }
    /// Places are numbered from 0 to 31. Clients take a list whose numbers do not rise for another layout, and give up.
    PLR_002 = "D3-PLR-002" Warning "places of players do not rise" {
        cite: GAMEDIG,
        examples: [Example::of(&[ASK, S(
            "ffff 'infoResponse' 00 'PiNG' 29000100 'si_name' 00 'Lab' 00 'si_map' 00 'game/mp/d3dm1' 00 'si_maxPlayers' 00 '4' 00 0000 \
             03 2800 803e0000 'Ann' 00 03 2800 803e0000 'Bob' 00 20 07000000",
        )])],
    }
    /// The flag of a bot has one bit in protocols 13.9 and 13.10, so that all that follows is shifted. It is not read.
    PLR_003 = "D3-PLR-003" Note "players are not read" {
        cite: QSTAT,
        examples: [Example::of(&[ASK_EIGHT, S(
            "ffff 'infoResponse' 00 'PiNGPoNg' 0a000d00 40000000 'si_name' 00 'Lab' 00 'si_map' 00 'game/mp/d3dm1' 00 \
             'si_maxPlayers' 00 '4' 00 0000 20 07000000 00 042a0500 02 00 01",
        )])],
    }
    /// Quake Wars lists those who watch, too, so that this may be no fault.
    PLR_004 = "D3-PLR-004" Note "more players than places" {
        cite: CLIENT,
        examples: [Example::of(&[ASK, S(
            "ffff 'infoResponse' 00 'PiNG' 29000100 'si_name' 00 'Lab' 00 'si_map' 00 'game/mp/d3dm1' 00 'si_maxPlayers' 00 '1' 00 0000 \
             00 2800 803e0000 'Ann' 00 01 2800 803e0000 'Bob' 00 20 07000000",
        )])],
    }
    /// dhewm3 always sends it, and Quake Wars does where the server is not pure: it tells what runs there.
    OSM_001 = "D3-OSM-001" Note "all systems can play" {
        cite: SERVER,
        per_server: true,
        examples: [Example::of(&[ASK, S(
            "ffff 'infoResponse' 00 'PiNG' 29000100 'si_name' 00 'Lab' 00 'si_map' 00 'game/mp/d3dm1' 00 \
             'si_maxPlayers' 00 '4' 00 0000 20 ffffffff",
        )])],
    }
    /// Servers have six bytes each. Clients read beyond the end, or refuse the list.
    SRV_001 = "D3-SRV-001" Error "list of servers ends inside one" {
        cite: dhewm3("neo/framework/async/AsyncClient.cpp, idAsyncClient::ProcessServersListMessage"),
        examples: [Example::on(27650, &[
            C("ffff 'getServers' 00 29000100 00 00"), S("ffff 'servers' 00 c0000201 026c 07"),
        ])],
    }
    /// Everyone on the path reads the password, and who has it controls the server.
    SEC_002 = "D3-SEC-002" Warning "rcon sends its password in clear text" {
        cite: dhewm3("neo/framework/async/AsyncServer.cpp, idAsyncServer::ProcessRemoteConsoleMessage"),
        side: Client,
        examples: [Example::of(&[
            ASK, OK, Wait(500), C("ffff 'rcon' 00 'secret' 00 'status' 00"), S("ffff 'print' 00 02000000 'ok' 0a00"),
        ])],
    }
}

rules! {
    list EXCHANGE_RULES;
    /// No request of its kind is outstanding: it was sent before the capture, or somebody answers what was never asked.
    TXN_001: UNSOLICITED = "D3-TXN-001" {
        cite: SERVER,
        examples: [Example::of(&[OK])],
    }
    /// The answer window is two seconds. A server without a map is silent, as it is to a word that it does not know.
    TXN_002: UNANSWERED = "D3-TXN-002" { cite: TIMEOUT, examples: [Example::of(&[ASK])] }
    /// Later than the answer window of two seconds, within the late window.
    TXN_003: LATE = "D3-TXN-003" { cite: TIMEOUT, examples: [Example::of(&[ASK, Wait(2500), OK])] }
    /// A byte-identical answer to a request already answered: UDP duplicated it.
    TXN_004: COPY = "D3-TXN-004" { cite: SERVER, examples: [Example::of(&[ASK, OK, OK])] }
    /// Servers repeat the first four bytes behind the word. Clients drop an answer with others.
    TXN_005 = "D3-TXN-005" Error "answer repeats four bytes that no open request has" {
        cite: SERVER,
        examples: [Example::of(&[ASK, S(
            "ffff 'infoResponse' 00 'Xxxx' 29000100 'si_name' 00 'Lab' 00 'si_map' 00 'game/mp/d3dm1' 00 \
             'si_maxPlayers' 00 '4' 00 0000 20 07000000",
        )])],
    }
    /// Quake Wars repeats all eight bytes. Older clients send four and compare no more.
    TXN_006 = "D3-TXN-006" Note "answer repeats only half of eight bytes" {
        cite: FORUM,
        per_server: true,
        examples: [Example::of(&[ASK_EIGHT, S(
            "ffff 'infoResponse' 00 'PiNG' ffffffff 15000a00 40000000 'si_name' 00 'Lab' 00 'si_map' 00 'game/mp/d3dm1' 00 \
             'si_maxPlayers' 00 '4' 00 0000 20 07000000 00 042a0500 02 00 01",
        )])],
    }
    /// 14 to 19 bytes with a forged source address bring a victim 387 to 2,063: nothing proves the client's address.
    SEC_001 = "D3-SEC-001" Note "answer is more than ten times its request" {
        cite: SERVER,
        per_server: true,
        ratio: true,
        examples: [Example::of(&[ASK, S(
            "ffff 'infoResponse' 00 'PiNG' 29000100 'si_name' 00 'Lab' 00 'si_map' 00 'game/mp/d3dm1' 00 \
             'si_maxPlayers' 00 '4' 00 'si_motd' 00 6d*120 00 0000 20 07000000",
        )])],
    }
}

static REQUEST_ENDS: Ends = Ends::new(&REQ_002, &REQ_002, &IGNORED);
static ANSWER_ENDS: Ends = Ends::new(&RSP_001, &RSP_003, &SURPLUS);
static VARIABLE_ENDS: Ends = Ends::new(&DIC_001, &DIC_001, &SURPLUS);
static PLAYER_ENDS: Ends = Ends::new(&PLR_001, &PLR_001, &SURPLUS);
static LIST_ENDS: Ends = Ends::new(&SRV_001, &SRV_001, &SURPLUS);

/// Steps, in the order of their declaration.
const INFO: u8 = 0;
const EXTENDED: u8 = 1;
const SERVERS: u8 = 2;
const CONSOLE: u8 = 3;

messages! {
    INFO_REQUEST = Message::request("info_request", INFO, &[Form::of(b"\xff\xffgetInfo").word(b"\0").caseless()])
        .keyed(number_at::<10, ECHO>).remembers(second_half);
    EXTENDED_REQUEST = Message::request("infoex_request", EXTENDED, &[
        Form::of(b"\xff\xffgetInfoEx").word(b"\0").caseless(),
    ]).keyed(number_at::<12, ECHO>).remembers(second_half);
    INFO_RESPONSE = Message::response("info_response", INFO, &[
        Form::of(b"\xff\xffinfoResponse\0"),
        Form::of(MARK).when(|p| is_cut(p, b"infoResponse\0")).awaited(),
    ])
        .keyed(number_at::<INFO_BODY, ECHO>);
    EXTENDED_RESPONSE = Message::response("infoex_response", EXTENDED, &[
        Form::of(b"\xff\xffinfoExResponse\0"),
        Form::of(MARK).when(|p| is_cut(p, b"infoExResponse\0")).awaited(),
    ])
        .keyed(number_at::<EXTENDED_BODY, ECHO>);
    SERVERS_REQUEST = Message::request("servers_request", SERVERS, &[
        Form::of(b"\xff\xffgetServers").word(b"\0").caseless(),
    ]);
    SERVERS_RESPONSE = Message::response("servers_response", SERVERS, &[Form::of(b"\xff\xffservers\0")])
        .lists(&LISTED);
    HEARTBEAT = Message::label("heartbeat", Direction::C2s, &[Form::of(b"\xff\xffheartbeat\0").length(12, 12)])
        .beats(|_| None);
    RCON_REQUEST = Message::request("rcon_request", CONSOLE, &[Form::of(b"\xff\xffrcon\0").known()]);
    PRINT_RESPONSE = Message::response("print_response", CONSOLE, &[Form::of(b"\xff\xffprint\0").known()]);
    // Any other word in a known conversation.
    OOB = Message::named("oob");
    UNKNOWN = Message::named("unknown");
}

/// The words of requests.
const WORDS: [&[u8]; 3] = [b"getInfo", b"getInfoEx", b"getServers"];
/// Letters that the words of both answers have in common.
const DISTINCT: usize = 4;
/// Least number of letters in a word.
const LEAST_LETTERS: usize = 3;

const ANSWERED: StepRules = StepRules {
    unsolicited: Some(&TXN_001),
    other_key: Some(&TXN_005),
    late: Some(&TXN_003),
    copy: Some(&TXN_004),
    larger: Some((10, &SEC_001)),
    ..StepRules::new(&TXN_002)
};
const ASKED: StepInfo =
    StepInfo { keyless: true, fills_keys: true, reuses_keys: true, ..StepInfo::keyed("info", 8, ANSWERED) };

/// The query of idTech 4.
#[derive(Debug)]
pub struct Doom3;

impl Protocol for Doom3 {
    type Memory = ();

    const COLOURS: Option<Colours> = Some(Colours::Carets);

    const INFO: Info = Info {
        known_as: &[("quake4", 28004), ("prey", 27719), ("etqw", 27733), ("wolfenstein", 27758)],
        ports: &[27666, 28004, 27719, 27733, 27758, 27650],
        messages: MESSAGES,
        steps: &[
            ASKED,
            StepInfo { name: "infoex", ..ASKED },
            StepInfo {
                open_ended: true,
                ..StepInfo::ordered("servers", StepRules { other_key: None, ..ANSWERED })
            },
            StepInfo {
                lines: true,
                ..StepInfo::ordered("rcon", StepRules { late: Some(&TXN_003), ..StepRules::new(&TXN_002) })
            },
        ],
        fields: &[FIELDS],
        rules: &[RULES],
        exchange_rules: EXCHANGE_RULES,
        causes: &[
            (Relation::Same, &[&RSP_001], &[&DIC_004, &RSP_002]),
            (Relation::Same, &[&RSP_002], &[&RSP_001, &RSP_003, &DIC_001, &DIC_004, &PLR_001]),
            (Relation::Same, &[&DIC_001], &[&PLR_001, &DIC_004, &DIC_005, &RSP_001, &RSP_002]),
            (Relation::Same, &[&PLR_001], &[&RSP_001, &RSP_002, &RSP_003]),
            (Relation::Instead, &[&TXN_005], &[&TXN_002]),
        ],
        replies: answering::REPLIES,
        samples: &[
            Example::of(&[
                C("ffff 'getInfo' 00 'PiNGPoNg' 00"),
                S(
                    "ffff 'infoResponse' 00 'PiNG' 29000100 'si_name' 00 '^1Lab' 00 'si_map' 00 'game/mp/d3dm1' 00 \
                   'si_maxPlayers' 00 '4' 00 'si_version' 00 'DOOM 1.3.1' 00 'gamename' 00 'baseDOOM-1' 00 0000 \
                   00 2800 803e0000 'Ann' 00 01 0000 803e0000 'Bob' 00 20 07000000",
                ),
                C("ffff 'rcon' 00 'pp' 00 'status' 00"),
                S("ffff 'print' 00 02000000 'ok' 0a00"),
            ]),
            Example::on(
                27733,
                &[
                    ASK_EIGHT,
                    S(
                        "ffff 'infoResponse' 00 'PiNGPoNg' 15000a00 67000000 'si_name' 00 'Lab' 00 'si_map' 00 \
                       'maps/refinery.entities' 00 'si_maxPlayers' 00 '4' 00 0000 00 1e00 'Tee' 00 01 '[C]' 00 00 \
                       05 2800 'Bot' 00 00 00 01 20 07000000 00 042a0500 02 01 03000000 40000000",
                    ),
                    C("ffff 'getInfoEx' 00 'PiNGPoNg'"),
                    S(
                        "ffff 'infoExResponse' 00 'PiNGPoNg' 15000a00 52000000 'si_name' 00 'Lab' 00 'si_map' 00 \
                       'game/mp/d3dm1' 00 'si_maxPlayers' 00 '4' 00 0000 20 07000000 00 042a0500 02 00 01 \
                       00 0000c03f 'gdf' 00 01000000 02000000 20",
                    ),
                ],
            ),
            Example::on(
                28004,
                &[
                    C("ffff 'getInfo' 00 'ogsq' 00"),
                    S(
                        "ffff 'infoResponse' 00 'ogsq' 55000200 'si_name' 00 'Lab' 00 'si_map' 00 'mp/q4dm2' 00 \
                       'si_maxPlayers' 00 '4' 00 0000 00 2800 803e0000 'Ann' 00 '[X]' 00 20 07000000",
                    ),
                ],
            ),
            Example::on(
                27650,
                &[
                    C("ffff 'getServers' 00 55000200 'q4mp' 00 'Ann' 00 '[X]' 00 02"),
                    S("ffff 'servers' 00 c0000201 646d c0000202 0a6c"),
                ],
            ),
        ],
        ..Info::of("doom3", "Doom 3 and idTech 4 query", SPEC, &ANSWER_ENDS)
    };

    /// The request that all games answer; with `all` also that of Quake Wars, if the server is one.
    fn ask(ask: &Ask<'_>) -> Option<Vec<u8>> {
        let is_etqw = || ask.first.get(INFO_BODY..).is_some_and(is_sized);
        let word: &[u8] = match ask.answered {
            0 => b"getInfo\0",
            1 if ask.all && is_etqw() => b"getInfoEx\0",
            _ => return None,
        };
        Some([MARK, word, &ask.random.to_le_bytes()].concat())
    }

    fn probe(p: &[u8], wire_len: usize, _: [u16; 2]) -> Option<Probe> {
        recognise::<Self>(p, wire_len).map(|probe| answering(probe, p, wire_len))
    }

    fn probe_known(p: &[u8], wire_len: usize, known: Known<'_>) -> Option<Probe> {
        let claimed = recognise_known::<Self>(p, wire_len, known).map(|probe| answering(probe, p, wire_len));
        claimed.or_else(|| match (prefix(p), known.direction) {
            (2, _) if is_word(word(p)) => Self::INFO.stray(OOB, p, known),
            (0 | 1, Direction::C2s) if WORDS.contains(&word(p)) => Self::INFO.stray(UNKNOWN, p, known),
            _ => None,
        })
    }

    fn decode<S: FieldSink>(c: &mut Cursor<'_, '_, S>, cx: Context) -> Result<(), Fault> {
        if cx.message == UNKNOWN {
            return misprefixed(c);
        }
        c.field(&PREFIX, bytes(MARK.len()))?;
        c.check(&HDR_001, || true);
        c.check(&SEC_002, || true);
        if cx.message == OOB {
            c.text(&COMMAND, until(b"\0"))?;
            c.skip(b"\0");
            // A client that connects sends the password of the game.
            c.hide_password(cx.secrets);
            return c.ignored(&IGNORED);
        }
        let word = c.text(&WORD, until(b"\0"))?;
        if [INFO_REQUEST, EXTENDED_REQUEST, SERVERS_REQUEST].contains(&cx.message) {
            let own = WORDS.iter().find(|own| own.eq_ignore_ascii_case(word.0)).copied().unwrap_or(word.0);
            c.compare(&REQ_001, || word.0 == own, || Compared::new(word, ComparedValue::from(own)));
            c.ends(&REQUEST_ENDS);
        }
        c.skip(b"\0");
        match cx.message {
            INFO_REQUEST | EXTENDED_REQUEST => info_request(c),
            SERVERS_REQUEST => servers_request(c),
            INFO_RESPONSE | EXTENDED_RESPONSE => info(c, cx.message == EXTENDED_RESPONSE),
            SERVERS_RESPONSE => {
                c.ends(&LIST_ENDS);
                c.list(
                    &SERVER_LIST,
                    |c, _| !c.rest().is_empty(),
                    |c| c.field_as(&LISTED, le_address, Value::Address).map(drop),
                )
                .map(drop)
            }
            RCON_REQUEST => {
                c.mask_unless(cx.secrets);
                c.secret_text(&PASSWORD, until(b"\0"))?;
                c.check(&SEC_002, || false);
                c.skip(b"\0");
                // It may set another password.
                c.hide_password(cx.secrets);
                c.secret_text(&COMMAND, until(b"\0"))?;
                c.skip(b"\0");
                c.ignored(&IGNORED)
            }
            PRINT_RESPONSE => {
                if c.wire_len_of(c.rest()) >= size_of::<u32>() {
                    c.field(&OPCODE, le_u32)?;
                }
                c.hide_password(cx.secrets);
                c.secret_text(&TEXT, until(b"\0"))?;
                c.skip(b"\0");
                c.ignored(&IGNORED)
            }
            _ => c.ignored(&IGNORED),
        }
    }

    fn observe(_: &mut (), seen: &Observation<'_>, raised: &mut Raised) {
        let (INFO_RESPONSE | EXTENDED_RESPONSE, Pairing::Answered(answer)) =
            (seen.probe.message, seen.pairing)
        else {
            return;
        };
        let at = if seen.probe.message == INFO_RESPONSE { INFO_BODY } else { EXTENDED_BODY };
        let body = seen.datagram.payload.get(at..).unwrap_or_default();
        let Some(repeated) = read_at(body, ECHO, le_u32).filter(|_| is_sized(body)) else { return };
        if ![0, repeated.wrapping_add(1)].contains(&answer.asked) {
            let start = at.saturating_add(ECHO) as u16;
            let at = Span { start, end: start.saturating_add(ECHO as u16) };
            raised.add_values(&TXN_006, Some(at), Compared::new(repeated, answer.asked.wrapping_sub(1)));
        }
    }
}

// --- Recognising

/// Number of bytes of 255 in front of the word.
fn prefix(p: &[u8]) -> usize {
    p.iter().take(MARK.len()).take_while(|byte| **byte == 0xff).count()
}

/// The word behind the prefix.
fn word(p: &[u8]) -> &[u8] {
    p.get(prefix(p)..).and_then(|rest| rest.split(|byte| *byte == 0).next()).unwrap_or_default()
}

/// Whether this may be the word of a message.
fn is_word(text: &[u8]) -> bool {
    text.len() >= LEAST_LETTERS && text.iter().all(u8::is_ascii_alphabetic)
}

/// Whether the payload ends inside this word, which is distinct by then.
fn is_cut(p: &[u8], word: &[u8]) -> bool {
    let text = p.get(MARK.len()..).unwrap_or_default();
    text.len() > DISTINCT && word.starts_with(text)
}

/// An answer that ends before the bytes that it repeats answers nothing, unless only the capture has cut it.
fn answering(probe: Probe, p: &[u8], wire_len: usize) -> Probe {
    let repeats = [INFO_RESPONSE, EXTENDED_RESPONSE].contains(&probe.message);
    if repeats && probe.key.is_none() && p.len() >= wire_len { probe.as_stray() } else { probe }
}

/// The second four bytes behind the word of a request, and one more, for 0 is no state.
fn second_half(p: &[u8]) -> u32 {
    let body = p.iter().position(|byte| *byte == 0).and_then(|end| p.get(end.saturating_add(1)..));
    body.and_then(|body| read_at(body, ECHO, le_u32)).map_or(0, |half| half.wrapping_add(1))
}

// --- Decoding requests

/// Reads a query behind a prefix that is too short or missing.
fn misprefixed<S: FieldSink>(c: &mut Cursor<'_, '_, S>) -> Result<(), Fault> {
    let prefix = prefix(c.rest());
    if prefix > 0 {
        c.field(&PREFIX, bytes(prefix))?;
    }
    let at = Span { start: 0, end: c.whole().end.min(prefix.max(1) as u16) };
    let marks = |number: usize| ComparedValue::Bytes(number as u64);
    c.compare_at(&HDR_001, at, || false, || Compared::new(marks(prefix), marks(MARK.len())));
    c.text(&WORD, until(b"\0"))?;
    c.skip(b"\0");
    c.ignored(&IGNORED)
}

fn info_request<S: FieldSink>(c: &mut Cursor<'_, '_, S>) -> Result<(), Fault> {
    let behind = c.wire_len_of(c.rest());
    c.compare_whole(
        &REQ_002,
        || behind >= ECHO,
        || Compared::new(ComparedValue::Bytes(behind as u64), ComparedValue::AtLeast(ECHO as i64)),
    );
    if behind < ECHO {
        return c.ignored(&SHORT_CHALLENGE);
    }
    c.field(&CHALLENGE, le_u32)?;
    if c.wire_len_of(c.rest()) >= ECHO {
        c.field(&CHALLENGE2, le_u32)?;
    }
    c.ignored(&IGNORED)
}

fn servers_request<S: FieldSink>(c: &mut Cursor<'_, '_, S>) -> Result<(), Fault> {
    wanted(c).map_err(|fault| Fault { values: Compared::new("nothing", "a field"), ..fault })?;
    c.ignored(&IGNORED)
}

/// Reads which servers are asked for.
fn wanted<S: FieldSink>(c: &mut Cursor<'_, '_, S>) -> Result<(), Fault> {
    let version = c.field(&VERSION, le_u32)?;
    text(c, &GAME)?;
    if version >> 16 & MAJOR == QUAKE4 {
        text(c, &PLAYER_WANTED)?;
        text(c, &CLAN_WANTED)?;
    }
    c.field(&FILTER, byte).map(drop)
}
