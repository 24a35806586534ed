//! The rules of A2S, with conversations that break them, and the answers of servers: INFO in both forms, PLAYER and RULES.

use super::browser;
use crate::decode::zero_ended;
use crate::protocols::prelude::*;
use crate::protocols::sources::gamedig;
use nom::Parser;
use nom::combinator::{cond, verify};

pub(super) const SPEC: &str = "https://developer.valvesoftware.com/wiki/Server_queries";
const fn vdc(section: &'static str) -> Cite {
    Cite { doc: "Valve Developer Community, Server queries", section, url: SPEC }
}
const fn xpaw(section: &'static str) -> Cite {
    Cite { doc: "PHP-Source-Query", section, url: "https://github.com/xPaw/PHP-Source-Query" }
}
const STEAM: Cite = Cite {
    doc: "Steam, changes to A2S_INFO",
    section: "discussion of the A2S_INFO protocol, December 2020",
    url: "https://steamcommunity.com/discussions/forum/14/2974028351344359625/",
};

pub(super) const IQ: rule::Step = C("ffffffff 54 'Source Engine Query' 00");
pub(super) const IQC: rule::Step = C("ffffffff 54 'Source Engine Query' 00 c3192a4b");
pub(super) const PQ0: rule::Step = C("ffffffff 55 ffffffff");
pub(super) const PQ: rule::Step = C("ffffffff 55 c3192a4b");
pub(super) const RQ0: rule::Step = C("ffffffff 56 ffffffff");
pub(super) const RQ: rule::Step = C("ffffffff 56 c3192a4b");
pub(super) const CH: rule::Step = S("ffffffff 41 c3192a4b");
pub(super) const INFO: rule::Step =
    S("ffffffff 49 11 'A' 00 'b' 00 'c' 00 'd' 00 f000 01 08 00 'dl' 00 01 '1' 00 80 8769");
pub(super) const SHORT_INFO: rule::Step =
    S("ffffffff 43 '192.0.2.10:27015' 00 'A' 00 'b' 00 'c' 00 'd' 00 01 08 07");
pub(super) const PLAY: rule::Step = S("ffffffff 44 01 00 'n' 00 01000000 00007042");
pub(super) const RULE: rule::Step = S("ffffffff 45 0100 'k' 00 '1' 00");
/// An answer in three parts: its beginning, middle and end.
pub(super) const PART0: rule::Step = S("feffffff 07000000 03 00 0f00 ffffffff 45 0400 'alpha' 00 '1' 00");
pub(super) const PART1: rule::Step = S("feffffff 07000000 03 01 0f00 'beta' 00 '2' 00 'gamma' 00 '3' 00");
pub(super) const PART2: rule::Step = S("feffffff 07000000 03 02 0f00 'delta' 00 '4' 00");
/// 38 bytes of a compressed answer with two rules: a part without a size, and one with another checksum.
const PACKED: rule::Step = S(
    "feffffff 07000080 01 00 26000000 dc89b121 425a6839314159265359dbb8c4320000134d80c4003c00020036c644000000a00021a08d3401ea14d323131312c017a445a6506cf95faa39c63df4b175291f177245385090dbb8c432",
);

rules! {
    /// Every message has four bytes of 255 and a type. Servers drop anything else without a word; other messages of these engines
    /// are none of ours.
    HDR_001 = "A2S-HDR-001" Warning "no message, or of a type that nobody knows here" {
        cite: vdc("Protocol, Simple response format"),
        examples: [
            Example::of(&[IQ, CH, C("ffffffff")]),
            Example::of(&[IQ, CH, C("ffffffff 5a")]),
        ],
    }
    /// Servers and clients compare the first four bytes and drop the datagram. The message behind the wrong prefix is read all the
    /// same: it answers its request, or explains why that gets no answer.
    HDR_002 = "A2S-HDR-002" Error "message does not begin with exactly four bytes of 255" {
        cite: vdc("Protocol"),
        examples: [
            Example::of(&[IQ, S("ffffffff ffffffff 49114100620063006400f000010800646c00013100808769")]),
            Example::of(&[IQ, S("49114100620063006400f000010800646c00013100808769")]),
            Example::of(&[C("ffffffff ffffffff 54 'Source Engine Query' 00")]),
            Example::of(&[C("54 'Source Engine Query' 00")]),
        ],
    }
    /// The text is a part of the request, and servers compare it: none answers another one. `qstat -hl2s` sends 15 zeros, the form
    /// of 2004.
    REQ_001 = "A2S-REQ-001" Error "text of the request is not Source Engine Query with a zero" {
        cite: vdc("A2S_INFO, Request format"),
        examples: [
            Example::of(&[C("ffffffff 54 'Source Engine Query'")]),
            Example::of(&[C("ffffffff 54 00*15")]),
        ],
    }
    /// It has four bytes always. Some servers answer with a challenge, others not at all.
    REQ_002 = "A2S-REQ-002" Error "challenge of the request is cut" {
        cite: vdc("A2S_PLAYER, Request format"),
        examples: [Example::of(&[IQ, CH, C("ffffffff 55")])],
    }
    /// Filters in front of servers pass requests of the known lengths only. Zeros are padding, which Valve tried in 2020: a note.
    REQ_003 = "A2S-REQ-003" Warning "bytes follow the request" {
        cite: vdc("A2S_INFO, Request format"),
        examples: [Example::of(&[C("ffffffff 54 'Source Engine Query' 00 c3192a4b 01")])],
    }
    /// Asking for a challenge or a ping, and words instead of types: few servers answer them today, and no new client sends them.
    REQ_004 = "A2S-REQ-004" Note "request is obsolete" {
        cite: vdc("A2S_SERVERQUERY_GETCHALLENGE, A2A_PING"),
        per_server: true,
        examples: [
            Example::of(&[C("ffffffff 57"), CH]),
            Example::of(&[C("ffffffff 'details' 00")]),
        ],
    }
    /// It has four bytes always, so the client has nothing to repeat.
    CHL_001 = "A2S-CHL-001" Error "challenge of the answer is cut" {
        cite: vdc("A2S_PLAYER, Challenge response"),
        examples: [Example::of(&[IQ, S("ffffffff 41 c319")])],
    }
    /// Clients read the first four bytes. Where nothing was asked it is the engine's connect handshake, and no message of ours.
    CHL_002 = "A2S-CHL-002" Warning "bytes follow the challenge" {
        cite: vdc("A2S_PLAYER, Challenge response"),
        examples: [Example::of(&[IQ, S("ffffffff 41 c3192a4b 00")])],
    }
    /// In a request these mean that there is none yet, so the client asks for ever, or gives up.
    CHL_003 = "A2S-CHL-003" Warning "challenge of the answer is 0 or −1" {
        cite: vdc("A2S_PLAYER, Request format"),
        examples: [
            Example::of(&[PQ0, S("ffffffff 41 ffffffff")]),
            Example::of(&[PQ0, S("ffffffff 41 00000000")]),
        ],
    }
    /// Clients drop such an answer, or take the bytes for one more player or rule. The Ship's eight bytes a player are none of these.
    RSP_001 = "A2S-RSP-001" Warning "bytes follow the answer" {
        cite: vdc("A2S_INFO, Response format"),
        examples: [
            Example::of(&[IQ, S("ffffffff 49 11 'A' 00 'b' 00 'c' 00 'd' 00 f000 01 08 00 'dl' 00 01 '1' 00 80 8769 00")]),
            Example::of(&[RQ0, CH, RQ, S("ffffffff 45 0100 'k' 00 '1' 00 'x'")]),
        ],
    }
    /// A text has no zero, a number is cut, or a field is missing that the extra data flag announces. Only HLTV's old form lacks the
    /// number of bots.
    INF_001 = "A2S-INF-001" Error "INFO ends inside a field" {
        cite: vdc("A2S_INFO, Response format"),
        examples: [
            Example::of(&[IQ, S("ffffffff 49 11 'A' 00 'b' 00 'c' 00 'd' 00 f000 01 08 00 'd'")]),
            Example::of(&[IQ, S("ffffffff 49 11 'A' 00 'b' 00 'c' 00 'd' 00 f000 01 08 00 'dl' 00 01 '1' 00 80 87")]),
        ],
    }
    /// Five bits are defined. Nobody knows what follows for the others, so everything behind may be misread.
    INF_002 = "A2S-INF-002" Warning "extra data flag has an undefined bit" {
        cite: vdc("A2S_INFO, Extra Data Flag"),
        examples: [Example::of(&[IQ, S("ffffffff 49 11 'A' 00 'b' 00 'c' 00 'd' 00 f000 01 08 00 'dl' 00 01 '1' 00 82 8769")])],
    }
    /// The type is d, l or p, the environment l, w, m or o, in either case; a type of 0 occurs. Visibility and VAC are 0 or 1.
    INF_003 = "A2S-INF-003" Warning "type, environment, visibility or VAC is an unknown value" {
        cite: vdc("A2S_INFO, Response format"),
        examples: [
            Example::of(&[IQ, S("ffffffff 49 11 'A' 00 'b' 00 'c' 00 'd' 00 f000 01 08 00 'xl' 00 01 '1' 00 80 8769")]),
            Example::of(&[IQ, S("ffffffff 49 11 'A' 00 'b' 00 'c' 00 'd' 00 f000 01 08 00 'dl' 02 01 '1' 00 80 8769")]),
        ],
    }
    /// Reserved places, joining players, SourceTV, and counts that do not fit into a byte.
    INF_004 = "A2S-INF-004" Note "more players than places, or more bots than players" {
        cite: vdc("A2S_INFO, Response format"),
        examples: [
            Example::of(&[IQ, S("ffffffff 49 11 'A' 00 'b' 00 'c' 00 'd' 00 f000 09 08 00 'dl' 00 01 '1' 00 80 8769")]),
            Example::of(&[IQ, S("ffffffff 49 11 'A' 00 'b' 00 'c' 00 'd' 00 f000 01 08 02 'dl' 00 01 '1' 00 80 8769")]),
        ],
    }
    /// The short number is the long one cut to 16 bits, and 0 where that does not do.
    INF_005 = "A2S-INF-005" Warning "application id differs from the game id" {
        cite: vdc("A2S_INFO, Extra Data Flag"),
        examples: [Example::of(&[IQ, S("ffffffff 49 11 'A' 00 'b' 00 'c' 00 'd' 00 f000 01 08 00 'dl' 00 01 '1' 00 01 da02000000000000")])],
    }
    /// HLTV and dproto answer in GoldSrc's form of before 2008, the latter with PLAYER and today's form behind it; Xash3D sends no
    /// flag. The short form is the one of 1998, which answers `info`.
    INF_006 = "A2S-INF-006" Note "INFO is in an old form, or without an extra data flag" {
        cite: vdc("A2S_INFO, Obsolete GoldSource Response"),
        per_server: true,
        examples: [
            Example::of(&[IQ, S("ffffffff 49 11 'A' 00 'b' 00 'c' 00 'd' 00 f000 01 08 00 'dl' 00 01 '1' 00")]),
            Example::of(&[IQ, S("ffffffff 6d '10.0.0.1:27015' 00 'A' 00 'b' 00 'c' 00 'd' 00 01 08 2f 'dl' 00 00 01 00")]),
            Example::of(&[C("ffffffff 'info' 00"), SHORT_INFO]),
        ],
    }
    /// The highest byte names a universe: 1 the public one, 0 none in particular, 2 to 5 those of Valve. Another one shows that the
    /// eight bytes are no such number: they are in the other order, or a field before them is missing.
    INF_007 = "A2S-INF-007" Note "steam id is of no universe" {
        cite: Cite {
            doc: "Valve Developer Community",
            section: "SteamID, Format",
            url: "https://developer.valvesoftware.com/wiki/SteamID",
        },
        per_server: true,
        examples: [Example::of(&[IQ, S("ffffffff 49 11 'A' 00 'b' 00 'c' 00 'd' 00 f000 01 08 00 'dl' 00 01 '1' 00 90 8769 0200000001400145")])],
    }
    /// GoldSrc servers with names in other encodings, and names that were cut at a number of bytes. Values of binary lists are not
    /// judged.
    STR_001 = "A2S-STR-001" Warning "text is not valid UTF-8" {
        cite: vdc("Data types"),
        examples: [Example::of(&[IQ, S("ffffffff 49 11 'caf' e9 00 'b' 00 'c' 00 'd' 00 f000 01 08 00 'dl' 00 01 '1' 00 80 8769")])],
    }
    /// A byte of 1 in front sorts a name to the top of lists. Binary lists are not judged.
    STR_002 = "A2S-STR-002" Note "text has a control character" {
        cite: vdc("Data types"),
        examples: [Example::of(&[IQ, S("ffffffff 49 11 01 'A' 00 'b' 00 'c' 00 'd' 00 f000 01 08 00 'dl' 00 01 '1' 00 80 8769")])],
    }
    /// Some clients give up, others show fewer players without a word.
    PLY_001 = "A2S-PLY-001" Error "fewer players than announced" {
        cite: vdc("A2S_PLAYER, Response format"),
        examples: [
            Example::of(&[PQ0, CH, PQ, S("ffffffff 44 02 00 'n' 00 01000000 00007042")]),
            Example::of(&[PQ0, CH, PQ, S("ffffffff 44 01 00 'n' 00 01000000 0000")]),
        ],
    }
    /// Neither a time nor a number of JSON. Negative ones are usual.
    PLY_002 = "A2S-PLY-002" Warning "time of a player is not finite" {
        cite: vdc("A2S_PLAYER, Response format"),
        examples: [Example::of(&[PQ0, CH, PQ, S("ffffffff 44 01 00 'n' 00 01000000 0000c07f")])],
    }
    /// The game withholds them, as Rust and Valheim do: clients show players without names.
    PLY_003 = "A2S-PLY-003" Note "no player has a name" {
        cite: gamedig("protocols/valve.js"),
        per_server: true,
        examples: [Example::of(&[PQ0, CH, PQ, S("ffffffff 44 02 00 00 01000000 00007042 00 00 00000000 0000a040")])],
    }
    /// It is read as a number of another kind: as an integer, in milliseconds, in the other byte order. 0 and negative seconds are
    /// usual.
    PLY_006 = "A2S-PLY-006" Note "time of a player is under a millisecond or over 46 days" {
        cite: Cite {
            doc: "Qfusion",
            section: "pull request 189, times of players in milliseconds",
            url: "https://github.com/Qfusion/qfusion/pull/189",
        },
        per_server: true,
        examples: [
            Example::of(&[PQ0, CH, PQ, S("ffffffff 44 01 00 'n' 00 01000000 100e0000")]),
            Example::of(&[PQ0, CH, PQ, S("ffffffff 44 01 00 'n' 00 01000000 8096984b")]),
        ],
    }
    /// Games send 0 for all, or the place of the player. A server that leaves the number out has the first letter of the name there.
    PLY_007 = "A2S-PLY-007" Note "number of every player is above 32 and above the count" {
        cite: vdc("A2S_PLAYER, Response format"),
        per_server: true,
        examples: [Example::of(&[PQ0, CH, PQ, S("ffffffff 44 01 'Ann' 00 01000000 00007042")])],
    }
    /// The count has one byte, and begins again at 0: so many players are listed as it says, and 256 or a multiple more. Clients
    /// that trust it show the first ones only.
    PLY_005 = "A2S-PLY-005" Note "more than 255 players are counted modulo 256" {
        cite: Cite {
            doc: "python-a2s",
            section: "issue 2, more than 255 players",
            url: "https://github.com/Yepoleb/python-a2s/issues/2",
        },
        per_server: true,
        examples: [Example::of(&[PQ0, CH, PQ, S("ffffffff 44 00 006e000100000000000000*256")])],
    }
    /// Some clients give up, others show fewer rules without a word.
    RUL_001 = "A2S-RUL-001" Error "fewer rules than announced" {
        cite: vdc("A2S_RULES, Response format"),
        examples: [
            Example::of(&[RQ0, CH, RQ, S("ffffffff 45 0200 'k' 00 '1' 00")]),
            Example::of(&[RQ0, CH, RQ, S("ffffffff 45 0100 'k' 00 '1'")]),
        ],
    }
    /// Clients keep rules by their names, so that the last one wins.
    RUL_002 = "A2S-RUL-002" Warning "rule is given twice" {
        cite: xpaw("SourceQuery/SourceQuery.php, GetRules"),
        examples: [Example::of(&[RQ0, CH, RQ, S("ffffffff 45 0200 'k' 00 '1' 00 'k' 00 '2' 00")])],
    }
    /// Arma 3 and DayZ put a message of their own into the values: names are number and total of a chunk, and in the values 01 01
    /// stands for 01, 01 02 for 00, 01 03 for ff.
    RUL_003 = "A2S-RUL-003" Note "rules are chunks of a binary message" {
        cite: Cite {
            doc: "Bohemia Interactive, Arma 3 ServerBrowserProtocol3",
            section: "Escape sequences",
            url: "https://community.bistudio.com/wiki/Arma_3:_ServerBrowserProtocol3",
        },
        per_server: true,
        examples: [Example::of(&[RQ0, CH, RQ, S("ffffffff 45 0200 0102 00 fe01 00 0202 00 'x' 00")])],
    }
    /// It has nine bytes at least, a total above 0 and a number below that.
    SPL_001 = "A2S-SPL-001" Error "header of a part is cut or contradicts itself" {
        cite: vdc("Multi-packet response format"),
        examples: [
            Example::of(&[RQ0, CH, RQ, S("feffffff 070000")]),
            Example::of(&[RQ0, CH, RQ, S("feffffff 07000000 03 05 1400 '12'")]),
        ],
    }
    /// Steam's packets have 1400 bytes. Longer ones travel in fragments of IP, of which any may be lost.
    SPL_008 = "A2S-SPL-008" Note "answer of more than 1400 bytes comes in one datagram" {
        cite: vdc("Protocol"),
        per_server: true,
        examples: [Example::of(&[RQ0, CH, RQ, S("ffffffff 45 0100 'k0' 00 76*1422 00")])],
    }
    /// Engines send 0 or 1, whether there is one. A plugin that sends the text gives it to everyone. It is masked here.
    SEC_005 = "A2S-SEC-005" Warning "rule shows a password" {
        cite: vdc("A2S_RULES, Response format"),
        examples: [Example::of(&[RQ0, CH, RQ, S("ffffffff 45 0100 'sv_password' 00 'hunter2' 00")])],
    }
}

rules! {
    list EXCHANGE_RULES;
    /// A client repeats its request with the value that it got, and is answered. Some give up after three such rounds, others never.
    CHL_004 = "A2S-CHL-004" Error "request with the challenge just issued gets another challenge" {
        cite: vdc("A2S_PLAYER, Request format"),
        examples: [
            Example::of(&[IQ, CH, IQC, CH]),
            Example::of(&[PQ0, CH, PQ, S("ffffffff 41 01020304")]),
        ],
    }
    /// It explains why a challenge comes instead of an answer: values belong to an address, whatever the port, and expire. This one may
    /// have been issued before the capture.
    CHL_005 = "A2S-CHL-005" Note "request carries a challenge that was not issued to its address" {
        cite: vdc("A2S_PLAYER, Request format"),
        examples: [Example::of(&[PQ0, CH, C("ffffffff 55 01020304")])],
    }
    /// Somebody joined between the two, players are hidden or made up, or the list ends at 255.
    PLY_004 = "A2S-PLY-004" Note "number of players differs from that of INFO" {
        cite: vdc("A2S_PLAYER, Response format"),
        examples: [Example::of(&[
            IQ, INFO, PQ0, CH, PQ,
            S("ffffffff 44 02 00 'n' 00 01000000 00007042 00 'm' 00 00000000 0000a040"),
        ])],
    }
    /// Three seconds after the last part others are missing: they were lost, or a filter drops large datagrams. Clients show nothing.
    SPL_002 = "A2S-SPL-002" Warning "parts of the answer are missing" {
        cite: vdc("Multi-packet response format"),
        side: Path,
        examples: [Example::of(&[RQ0, CH, RQ, PART0, PART2])],
    }
    /// UDP keeps no order. Most clients sort; GameQ takes the first part to come for the first.
    SPL_003 = "A2S-SPL-003" Note "part comes out of order or twice" {
        cite: vdc("Multi-packet response format"),
        side: Path,
        examples: [Example::of(&[RQ0, CH, RQ, PART1, PART0, PART2]), Example::of(&[RQ0, CH, RQ, PART0, PART0, PART1, PART2])],
    }
    /// The id names one answer: its parts have one total, and each number once. The server uses ids again too early, or a part is
    /// forged.
    SPL_004 = "A2S-SPL-004" Error "part contradicts another one" {
        cite: vdc("Multi-packet response format"),
        examples: [
            Example::of(&[RQ0, CH, RQ, PART0, S("feffffff 07000000 03 00 0f00 ffffffff 45 0400 'alpha' 00 '1z'"), PART1, PART2]),
            Example::of(&[RQ0, CH, RQ, PART0, S("feffffff 07000000 04 01 0f00 'beta' 00 '2' 00 'gamma' 00 '3' 00")]),
        ],
    }
    /// What was cut is a whole message, with its own four bytes of 255, of type 49, 6d, 44 or 45.
    SPL_005 = "A2S-SPL-005" Error "joined parts are no message" {
        cite: vdc("Multi-packet response format"),
        examples: [Example::of(&[
            RQ0, CH, RQ,
            S("feffffff 07000000 03 00 0f00 ffffffff 58 0400 'alpha' 00 '1' 00"), PART1, PART2,
        ])],
    }
    /// The bzip2 stream is damaged, is not as long as was said, or has another CRC-32. Nothing above 1 MiB is expanded.
    SPL_006 = "A2S-SPL-006" Error "compressed answer cannot be expanded to what was said" {
        cite: vdc("Multi-packet response format"),
        examples: [
            Example::of(&[RQ0, CH, RQ, S("feffffff 07000080 01 00 26000000 01000000 425a6839314159265359dbb8c4320000134d80c4003c00020036c644000000a00021a08d3401ea14d323131312c017a445a6506cf95faa39c63df4b175291f177245385090dbb8c432")]),
            Example::of(&[RQ0, CH, RQ, S("feffffff 07000080 01 00 25000000 dc89b121 425a6839314159265359dbb8c4320000134d80c4003c00020036c644000000a00021a08d3401ea14d323131312c017a445a6506cf95faa39c63df4b175291f177245385090dbb8c432")]),
        ],
    }
    /// GoldSrc's layout, one without a size, the mark of a compressed answer, or an answer in one part. Not every client reads each of
    /// them.
    SPL_007 = "A2S-SPL-007" Note "layout of the parts is not the usual one" {
        cite: xpaw("SourceQuery/BaseSocket.php, ReadInternal"),
        per_server: true,
        examples: [
            Example::of(&[
                RQ0, CH, RQ,
                S("feffffff 07000000 02 ffffffff 45 0400 'alpha' 00 '1' 00 'beta' 00"),
                S("feffffff 07000000 12 '2' 00 'gamma' 00 '3' 00 'delta' 00 '4' 00"),
            ]),
            Example::of(&[RQ0, CH, RQ, PACKED]),
        ],
    }
    /// A server never speaks first: the request was sent before the capture, or somebody answers what was never asked. Where many
    /// servers do so, an address is the victim of a reflection.
    TXN_001: UNSOLICITED = "A2S-TXN-001" {
        cite: vdc("Protocol"),
        examples: [Example::of(&[IQ, INFO, PLAY])],
    }
    /// The answer window is three seconds. Every server that is up answers INFO, with a challenge at least.
    TXN_002 = "A2S-TXN-002" Warning "no answer to INFO in time" {
        cite: gamedig("protocols/valve.js"),
        examples: [Example::of(&[IQ])],
    }
    /// The answer window is three seconds. Healthy servers keep silent, too: not every game has players or rules to tell.
    TXN_003 = "A2S-TXN-003" Note "no answer in time" {
        cite: gamedig("protocols/valve.js"),
        examples: [Example::of(&[PQ0, CH, PQ])],
    }
    /// Later than the answer window of three seconds, within the late window.
    TXN_004: LATE = "A2S-TXN-004" {
        cite: gamedig("protocols/valve.js"),
        examples: [Example::of(&[IQ, Wait(3200), INFO])],
    }
    /// The same bytes with no request open: UDP duplicated them, or the server answers twice, as dproto does.
    TXN_005: COPY = "A2S-TXN-005" {
        cite: vdc("Protocol"),
        examples: [Example::of(&[IQ, INFO, INFO])],
    }
    /// Somebody forges answers, two servers share an address, or a proxy is at fault.
    TXN_006 = "A2S-TXN-006" Warning "second answer differs from the first" {
        cite: vdc("Protocol"),
        examples: [Example::of(&[IQ, INFO, S("ffffffff 49 11 'A' 00 'b' 00 'c' 00 'd' 00 f000 07 08 00 'dl' 00 01 '1' 00 80 8769")])],
    }
    /// The server prints a text where an answer is due: most often it has banned the client, or the client asks too often.
    /// Clients show that it does not answer. A print that may answer a command for the remote console is not shown, and answers
    /// no query.
    TXN_007 = "A2S-TXN-007" Error "request is answered by a print" {
        cite: Cite { doc: "ReHLDS", section: "rehlds/engine/sv_main.cpp, SV_SendBan", url: "https://github.com/rehlds/ReHLDS" },
        examples: [Example::of(&[IQ, S("ffffffff 6c 'Banned by server' 0a00")])],
    }
    /// The challenge is what keeps a forged sender out. Most servers do without it at this place.
    SEC_001 = "A2S-SEC-001" Note "INFO is answered without a challenge" {
        cite: STEAM,
        per_server: true,
        strict: Warning,
        examples: [Example::of(&[IQ, INFO])],
    }
    /// Both need a challenge that the server issued to that address. HLTV and Xash3D never ask for one.
    SEC_002 = "A2S-SEC-002" Warning "PLAYER or RULES is answered without a right challenge" {
        cite: vdc("A2S_PLAYER, Request format"),
        per_server: true,
        unproven: true,
        lenient: Note,
        examples: [
            Example::of(&[PQ0, PLAY]),
            Example::of(&[RQ0, CH, C("ffffffff 56 01020304"), RULE]),
        ],
    }
    /// Then it proves nothing: anyone can ask for it, and use it with a forged address.
    SEC_003 = "A2S-SEC-003" Warning "one challenge is issued to several addresses" {
        cite: vdc("A2S_PLAYER, Challenge response"),
        per_server: true,
        examples: [Example::of(&[IQ, CH, C2("ffffffff 54 'Source Engine Query' 00"), S2("ffffffff 41 c3192a4b")])],
    }
    /// Nothing proves the client's address then, and it gets that much for what was sent in its name.
    SEC_004 = "A2S-SEC-004" Note "answer is more than ten times its request, without a challenge" {
        cite: STEAM,
        per_server: true,
        ratio: true,
        examples: [Example::of(&[IQ, S("ffffffff 49 11 4e*240 00 'b' 00 'c' 00 'd' 00 f000 01 08 00 'dl' 00 01 '1' 00 80 8769")])],
    }
}

fields! {
    list HEADER_FIELDS;
    /// Four bytes before the type: all 255, or one less in a part.
    PREFIX = "prefix": Bytes public;
    /// Type of the message.
    MESSAGE_TYPE = "type": Uint;
    /// What an INFO request says, or the word of an old request.
    QUERY = "query": Text public;
    /// Value that the server issues to an address, and that requests carry; in requests 0 and 4294967295 are none.
    CHALLENGE = "challenge": Uint volatile token;
    /// Up to four bytes behind an obsolete request.
    PADDING = "padding": Bytes public;
    /// What a ping is answered with.
    PING_PAYLOAD = "payload": Text;
    /// What the server prints.
    PRINT_TEXT = "text": Text;
    /// A message of the engine that is no query, or none at all.
    BODY = "body": Bytes;
    /// Bytes after the end of the message.
    SURPLUS = "surplus": Bytes;
}

// --- Answers

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
    FOLDER = "folder": Text public;
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
    PLAYER_NAME = "players[].name": Text personal;
    /// Score.
    SCORE = "players[].score": Int;
    /// Time on the server in seconds; −1 for bots.
    DURATION = "players[].duration": Float32 volatile;
    /// The Ship: deaths.
    DEATHS = "players[].deaths": Int;
    /// The Ship: money.
    MONEY = "players[].money": Int;
    /// Places for players.
    MAX_PLAYERS = "max_players": Uint => MaxPlayers;
    /// Bots; Source counts them among the players.
    BOTS = "bots": Uint;
    /// Letter of the server's type.
    SERVER_TYPE = "server_type": Text public;
    /// What it stands for.
    SERVER_TYPE_NAME = "server_type_name": Named;
    /// Letter of the system that it runs on.
    ENVIRONMENT = "environment": Text public;
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
    STEAM_ID = "steam_id": Uint64 token;
    /// Port of SourceTV.
    STV_PORT = "stv_port": Uint;
    /// Name of SourceTV.
    STV_NAME = "stv_name": Text;
    /// Tags, by custom with commas between them.
    KEYWORDS = "keywords": Text;
    /// Players by the tags of Rust, whose counts may not fit into a byte.
    TAGGED_PLAYERS = "tagged_players": Uint;
    /// Places by the tags of Rust.
    TAGGED_MAX_PLAYERS = "tagged_max_players": Uint;
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
    /// How many players or rules follow; players above 255 are counted modulo 256.
    COUNT = "count": Uint;
    /// HLTV: spectators, where they do not fit into a byte.
    SPECTATORS = "spectators": Uint => Players;
    /// HLTV: places for spectators.
    MAX_SPECTATORS = "max_spectators": Uint => MaxPlayers;
    /// What The Ship says of all players, behind the list.
    SHIP_PLAYERS = "ship_players": Bytes;
    /// Rules, in the order of the wire.
    RULES_LIST = "rules": List;
    /// A rule.
    RULE_ITEM = "rules[]": Group;
    /// Its name.
    KEY = "rules[].key": Text public;
    /// Its value.
    VALUE = "rules[].value": Text;
}

pub(super) static INFO_ENDS: Ends = Ends::new(&INF_001, &RSP_001, &SURPLUS);
static PLAYER_ENDS: Ends = Ends::new(&PLY_001, &RSP_001, &SURPLUS);
static RULE_ENDS: Ends = Ends::new(&RUL_001, &RSP_001, &SURPLUS);

/// The fields that the bits of the extra data flag announce, in wire order.
const EXTRA: [(u8, &Field); 6] = [
    (0x80, &PORT),
    (0x10, &STEAM_ID),
    (0x40, &STV_PORT),
    (0x40, &STV_NAME),
    (0x20, &KEYWORDS),
    (0x01, &GAME_ID),
];
/// The last of Steam's universes, the highest byte of its numbers.
const MOST_UNIVERSE: u64 = 5;
/// Seconds that a player may have been on a server, unless they are 0.
const LEAST_TIME: f32 = 0.001;
const MOST_TIME: f32 = 46.0 * 86_400.0;
/// Places that a server usually has at most, by which it may number its players.
const USUAL_PLACES: u8 = 32;
/// The Ship's application id.
const THE_SHIP: u16 = 2400;

// --- Confidence in answers, judged by their bytes alone

/// Reads up to `count` elements with `read`. Returns the number of elements read, and the bytes after them.
pub(super) fn read_up_to<'a, T>(
    count: usize,
    read: fn(&'a [u8]) -> Wire<'a, T>,
    mut rest: &'a [u8],
) -> (usize, &'a [u8]) {
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
pub(super) fn pair(i: &[u8]) -> Wire<'_, (Str<'_>, Str<'_>)> {
    (zero_ended, zero_ended).parse(i)
}
/// Reads server type and environment, if both letters are known.
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

/// Confidence that the payload is an INFO answer. If it is cut or damaged, a printable name of the map shows that it contains
/// texts.
pub(super) fn info_level(p: &[u8]) -> Option<Level> {
    let texts = p.get(6..)?;
    match read_up_to(4, zero_ended, texts) {
        (0, _) => None,
        (4, rest) if info_tail(rest).is_ok_and(|(rest, ())| rest.is_empty()) => Some(Level::High),
        _ if !super::is_no_console(p) => None,
        _ if pair(texts).is_ok_and(|(_, (_, map))| is_plain(map.0)) => Some(Level::Medium),
        _ => Some(Level::Low),
    }
}
fn is_plain(text: &[u8]) -> bool {
    let text = std::str::from_utf8(text).unwrap_or_default();
    !text.is_empty() && !text.contains(char::is_control)
}
fn info_tail(i: &[u8]) -> Wire<'_, ()> {
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

/// Confidence that the payload is an INFO answer in GoldSrc's old form, which begins with host and port.
pub(super) fn goldsrc_level(p: &[u8]) -> Option<Level> {
    let (rest, address) = zero_ended(p.get(5..)?).ok()?;
    if !is_host_and_port(address.0) {
        return None;
    }
    match read_up_to(4, zero_ended, rest) {
        (4, rest) if goldsrc_tail(rest).is_ok_and(|(rest, _)| rest.len() <= 1) => Some(Level::High),
        (2.., _) => Some(Level::Medium),
        _ => None,
    }
}
fn is_host_and_port(address: &[u8]) -> bool {
    let colon = address.iter().rposition(|byte| *byte == b':').unwrap_or_default();
    let (host, port) = address.split_at_checked(colon).unwrap_or_default();
    let digits = port.get(1..).is_some_and(|port| !port.is_empty() && port.iter().all(u8::is_ascii_digit));
    !host.is_empty() && digits
}
fn goldsrc_tail(i: &[u8]) -> Wire<'_, u8> {
    let (i, (_, _, _, is_mod)) = (bytes(3), letters, byte, byte).parse(i)?;
    let (i, _) = cond(is_mod == 1, (pair, bytes(11))).parse(i)?;
    byte(i)
}

/// Confidence that the payload is an INFO answer in the form of 1998: GoldSrc's old form without what follows the protocol.
pub(super) fn short_level(p: &[u8]) -> Option<Level> {
    let texts = p.get(5..)?;
    let Ok((rest, address)) = zero_ended(texts) else {
        // The address is cut.
        let is_address = |byte: &u8| byte.is_ascii_hexdigit() || b".:".contains(byte);
        return (!texts.is_empty() && texts.iter().all(is_address)).then_some(Level::Medium);
    };
    let is_address = address.0 == b"LOOPBACK" || is_host_and_port(address.0);
    match read_up_to(4, zero_ended, rest) {
        _ if !is_address => None,
        (4, rest) if matches!(rest.len(), 3 | 11) => Some(Level::High),
        _ => Some(Level::Medium),
    }
}

/// Confidence that the payload is a PLAYER answer.
pub(super) fn players_level(p: &[u8]) -> Option<Level> {
    let (rest, count) = byte.map(usize::from).parse(p.get(5..)?).ok()?;
    let (rows, rest) = read_up_to(count, row, rest);
    let ended = rest.is_empty() || Some(rest.len()) == count.checked_mul(8);
    if rows == count && !ended && rows_after_wrap(rest, false) > 0 {
        return Some(Level::High);
    }
    list_level(count, rows, ended)
}
/// The number of players behind as many as the count says, if that is the number modulo 256. In a cut list the last ones are
/// missing.
#[cold]
fn rows_after_wrap(rest: &[u8], cut: bool) -> usize {
    let (rows, rest) = read_up_to(usize::MAX, row, rest);
    let whole = rest.is_empty() && rows % 256 == 0;
    if whole || cut { rows } else { 0 }
}
/// Confidence that the payload is a RULES answer.
pub(super) fn rules_level(p: &[u8]) -> Option<Level> {
    let (rest, count) = le_u16.map(usize::from).parse(p.get(5..)?).ok()?;
    let (pairs, rest) = read_up_to(count, pair, rest);
    list_level(count, pairs, rest.is_empty())
}
fn list_level(count: usize, whole: usize, ended: bool) -> Option<Level> {
    match whole {
        0 => (count == 0 && ended).then_some(Level::Low),
        _ if whole < count => Some(Level::Low),
        _ => ended.then_some(Level::High),
    }
}

/// The number of players that an INFO answer states, in any form.
pub(super) fn players_of_info(p: &[u8], frontlines: bool) -> Option<u8> {
    let (at, texts, skip) = match p.get(4) {
        Some(0x49) if frontlines => (6, 6, 2),
        Some(0x49) => (6, 4, 2),
        _ => (5, 5, 0),
    };
    let (found, rest) = read_up_to(texts, zero_ended, p.get(at..)?);
    rest.get(skip).copied().filter(|_| found == texts)
}

// --- Decoding

/// Reads a zero-terminated text.
pub(super) fn zero_text<'a, S: FieldSink>(
    c: &mut Cursor<'a, '_, S>,
    field: &'static Field,
) -> Result<Str<'a>, Fault> {
    let text = c.field(field, until(b"\0"))?;
    c.expect(b"\0")?;
    if !c.may_continue() {
        c.check_text(text, &STR_001, &STR_002);
    }
    Ok(text)
}

/// Reads a letter, and reports its meaning as another field.
fn letter<S: FieldSink>(
    c: &mut Cursor<'_, '_, S>,
    field: &'static Field,
    name: &'static Field,
    names: &[(u8, &'static str)],
) -> Result<u8, Fault> {
    let letter = c.text(field, crate::decode::wire::text(1))?.0.first().copied().unwrap_or(0);
    if let Some((_, meaning)) = names.iter().find(|(known, _)| *known == letter.to_ascii_lowercase()) {
        c.derived(name, Value::Named(letter.into(), Some(meaning)));
    }
    Ok(letter)
}
const TYPES: &[(u8, &str)] = &[(b'd', "dedicated"), (b'l', "listen"), (b'p', "proxy")];
const SYSTEMS: &[(u8, &str)] = &[(b'l', "linux"), (b'w', "windows"), (b'm', "macos"), (b'o', "macos")];

/// Reads the number of players and the maximum, and returns the former.
pub(super) fn counts<S: FieldSink>(c: &mut Cursor<'_, '_, S>) -> Result<u8, Fault> {
    let players = c.field(&PLAYERS, byte)?;
    let most = c.field(&MAX_PLAYERS, byte)?;
    c.compare(
        &INF_004,
        || most == 0 || players <= most,
        || Compared::new(players, ComparedValue::AtMost(most.into())),
    );
    Ok(players)
}

/// Reads server type, environment and visibility.
pub(super) fn server_kind<S: FieldSink>(c: &mut Cursor<'_, '_, S>) -> Result<(), Fault> {
    let server = letter(c, &SERVER_TYPE, &SERVER_TYPE_NAME, TYPES)?;
    c.compare(
        &INF_003,
        || is_type(server),
        || Compared::new(ComparedValue::byte(server), "a letter of a type of server"),
    );
    let system = letter(c, &ENVIRONMENT, &ENVIRONMENT_NAME, SYSTEMS)?;
    c.compare(
        &INF_003,
        || is_environment(system),
        || Compared::new(ComparedValue::byte(system), "a letter of a system"),
    );
    flag(c, &VISIBILITY)
}
pub(super) fn flag<S: FieldSink>(c: &mut Cursor<'_, '_, S>, field: &'static Field) -> Result<(), Fault> {
    let value = c.field(field, byte)?;
    c.compare(&INF_003, || value <= 1, || Compared::new(value, "0 or 1"));
    Ok(())
}

/// Reads name, map, folder and game, and returns the folder.
fn names<'a, S: FieldSink>(c: &mut Cursor<'a, '_, S>) -> Result<Str<'a>, Fault> {
    zero_text(c, &NAME)?;
    zero_text(c, &MAP)?;
    let folder = zero_text(c, &FOLDER)?;
    zero_text(c, &GAME).map(|_| folder)
}

pub(super) fn info<S: FieldSink>(c: &mut Cursor<'_, '_, S>) -> Result<(), Fault> {
    c.field(&PROTOCOL, byte)?;
    let folder = names(c)?;
    let app_id = c.field(&APP_ID, le_u16)?;
    let players = counts(c)?;
    let bots = c.field(&BOTS, byte)?;
    c.compare(&INF_004, || bots <= players, || Compared::new(bots, ComparedValue::AtMost(players.into())));
    server_kind(c)?;
    flag(c, &VAC)?;
    if app_id == THE_SHIP {
        c.group(&SHIP, |c| {
            let fields = [&SHIP_MODE, &SHIP_WITNESSES, &SHIP_DURATION];
            fields.into_iter().try_for_each(|field| c.field(field, byte).map(drop))
        })?;
    }
    zero_text(c, &VERSION)?;
    let old = c.rest().is_empty() && !c.is_cut();
    c.check_whole(&INF_006, || !old);
    if old { Ok(()) } else { extra(c, app_id, folder) }
}

/// Takes the number of players and the maximum from the tags of Rust, if both are there.
fn rust_tags<S: FieldSink>(c: &mut Cursor<'_, '_, S>, tags: Str<'_>) {
    let number = |prefix: &[u8]| {
        let mut numbers = tags.0.split(|byte| *byte == b',').filter_map(|tag| tag.strip_prefix(prefix));
        numbers.find_map(|digits| Str(digits).count())
    };
    let Some((players, most)) = number(b"cp").zip(number(b"mp")) else { return };
    c.derived(&TAGGED_PLAYERS, Value::Uint(players));
    c.derived(&TAGGED_MAX_PLAYERS, Value::Uint(most));
    (c.facts.players, c.facts.max_players) = (Some(players), Some(most));
}

/// Reads the fields that the extra data flag announces.
fn extra<S: FieldSink>(c: &mut Cursor<'_, '_, S>, app_id: u16, folder: Str<'_>) -> Result<(), Fault> {
    let flag = c.field(&EDF, byte)?;
    c.compare(
        &INF_002,
        || flag & 0x0e == 0,
        || Compared::new(ComparedValue::byte(flag), ComparedValue::byte(flag & !0x0e)),
    );
    c.check(&INF_007, || true);
    for (_, field) in EXTRA.into_iter().filter(|(bit, _)| flag & bit != 0) {
        match field.kind {
            FieldKind::Text => {
                let value = zero_text(c, field)?;
                if field == &KEYWORDS && folder.0 == b"rust" && !c.may_continue() {
                    rust_tags(c, value);
                }
            }
            FieldKind::Uint => drop(c.field(field, le_u16)?),
            _ => {
                let id = c.field(field, le_u64)?;
                if field == &GAME_ID {
                    c.compare(
                        &INF_005,
                        || app_id == 0 || app_id == id as u16,
                        || Compared::new(id as u16, app_id),
                    );
                } else {
                    let universe = id >> 56;
                    let values =
                        || Compared::new(universe as u8, ComparedValue::AtMost(MOST_UNIVERSE as i64));
                    c.compare(&INF_007, || universe <= MOST_UNIVERSE, values);
                }
            }
        }
    }
    Ok(())
}

pub(super) fn goldsrc_info<S: FieldSink>(c: &mut Cursor<'_, '_, S>) -> Result<(), Fault> {
    c.check_whole(&INF_006, || false);
    zero_text(c, &ADDRESS)?;
    names(c)?;
    let players = counts(c)?;
    c.field(&PROTOCOL, byte)?;
    server_kind(c)?;
    let is_mod = c.field(&IS_MOD, byte)?;
    if is_mod == 1 {
        c.group(&MOD, |c| {
            zero_text(c, &MOD_LINK)?;
            zero_text(c, &MOD_DOWNLOAD_LINK)?;
            c.field(&MOD_ZERO, byte)?;
            c.field(&MOD_VERSION, le_u32)?;
            c.field(&MOD_SIZE, le_u32)?;
            c.field(&MOD_TYPE, byte)?;
            c.field(&MOD_OWN_DLL, byte).map(drop)
        })?;
    }
    flag(c, &VAC)?;
    // HLTV's answer ends here.
    if c.rest().is_empty() && !c.is_cut() {
        return Ok(());
    }
    let bots = c.field(&BOTS, byte)?;
    c.compare(&INF_004, || bots <= players, || Compared::new(bots, ComparedValue::AtMost(players.into())));
    Ok(())
}

/// Reads the form of 1998. HLTV appends its true numbers where they do not fit into a byte.
pub(super) fn goldsrc_short_info<S: FieldSink>(c: &mut Cursor<'_, '_, S>) -> Result<(), Fault> {
    c.check_whole(&INF_006, || false);
    zero_text(c, &ADDRESS)?;
    names(c)?;
    counts(c)?;
    c.field(&PROTOCOL, byte)?;
    if c.rest().len() == 8 {
        c.field(&SPECTATORS, le_u32)?;
        c.field(&MAX_SPECTATORS, le_u32)?;
    }
    Ok(())
}

/// Reads a list of players, whose numbers are big-endian if it is Frontlines'.
pub(super) fn players<S: FieldSink>(c: &mut Cursor<'_, '_, S>, frontlines: bool) -> Result<(), Fault> {
    c.ends(&PLAYER_ENDS);
    let count = c.field(&COUNT, byte)?;
    // The Ship's additional fields follow the list, but are reported with its players.
    let (rows, behind) = read_up_to(count.into(), row, c.ahead());
    let extra = rows.saturating_mul(8);
    let is_ship = rows == usize::from(count) && c.wire_len_of(behind) == extra;
    let is_more = rows == usize::from(count) && !is_ship && !behind.is_empty();
    let more = if is_more { rows_after_wrap(behind, c.is_cut()) } else { 0 };
    let expected = if more > 0 && c.is_cut() { u16::MAX } else { rows.saturating_add(more) as u16 };
    let expected = expected.max(count.into());
    c.compare(&PLY_005, || more == 0, || Compared::new(count, rows.saturating_add(more)));
    let mut extras = if is_ship { behind } else { &[] }.as_chunks().0.iter();
    let mut named = expected == 0;
    let mut least_index = u8::MAX;
    let player = |c: &mut Cursor<'_, '_, S>| {
        if row(c.rest()).is_err() {
            c.about(Some(&PLAYERS));
            return Err(Fault { values: Compared::new(rows, count), ..c.ended_early() });
        }
        c.group(&PLAYER, |c| {
            least_index = least_index.min(c.field(&INDEX, byte)?);
            named |= !zero_text(c, &PLAYER_NAME)?.0.is_empty();
            let duration = if frontlines {
                c.field(&SCORE, be_i32)?;
                c.field(&DURATION, be_f32)?
            } else {
                c.field(&SCORE, le_i32)?;
                c.field(&DURATION, le_f32)?
            };
            c.compare(&PLY_002, || duration.is_finite(), || Compared::new(duration, "a finite number"));
            c.compare(&PLY_006, || is_time(duration), || Compared::new(duration, "a time in seconds"));
            for (field, extra) in [&DEATHS, &MONEY].into_iter().zip(extras.by_ref().take(2)) {
                c.derived(field, Value::Int(i32::from_le_bytes(*extra)));
            }
            Ok(())
        })
    };
    c.list(&PLAYERS, |_, done| done < expected, player)?;
    c.check_whole(&PLY_003, || named);
    let most = count.max(USUAL_PLACES);
    let values = || Compared::new(least_index, ComparedValue::AtMost(most.into()));
    c.compare_whole(&PLY_007, || rows == 0 || least_index <= most, values);
    if is_ship && extra > 0 {
        c.field(&SHIP_PLAYERS, bytes(extra))?;
    }
    Ok(())
}

/// Whether a player may have been on the server for so many seconds.
fn is_time(seconds: f32) -> bool {
    seconds == 0.0 || !seconds.is_finite() || (LEAST_TIME..=MOST_TIME).contains(&seconds.abs())
}

/// Whether a value reveals no more than whether there is a password.
fn is_harmless(value: &[u8]) -> bool {
    const FLAGS: [&[u8]; 11] =
        [b"", b"0", b"1", b"true", b"false", b"yes", b"no", b"y", b"n", b"none", b"protected"];
    FLAGS.iter().any(|flag| flag.eq_ignore_ascii_case(value)) || value.iter().all(|byte| *byte == b'*')
}

/// Reads a list of rules, whose count is big-endian if it is Frontlines'.
pub(super) fn rules<'a, S: FieldSink>(
    c: &mut Cursor<'a, '_, S>,
    frontlines: bool,
    secrets: bool,
) -> Result<(), Fault> {
    c.ends(&RULE_ENDS);
    let count = if frontlines { c.field(&COUNT, be_u16)? } else { c.field(&COUNT, le_u16)? };
    let chunks = browser::find(c.ahead(), c.is_cut());
    let binary = chunks.is_some();
    c.about(Some(&RULES_LIST));
    c.check_at(&RUL_003, c.to_end(), || !binary);
    c.hide_password(secrets);
    let mut seen = Repeats::default();
    let rule = |c: &mut Cursor<'a, '_, S>| {
        if pair(c.rest()).is_err() {
            c.about(Some(&RULES_LIST));
            return Err(Fault { values: Compared::new(c.element(), count), ..c.ended_early() });
        }
        c.group(&RULE_ITEM, |c| {
            let key = c.field(&KEY, until(b"\0"))?;
            c.compare(&RUL_002, || !seen.repeats(key.0), || Compared::new(key, "each name once"));
            check_encoding(c, key, binary);
            c.skip(b"\0");
            let shows_password = key.mentions_password()
                && !is_harmless(c.rest().split(|byte| *byte == 0).next().unwrap_or_default());
            let value = c.field_as(&VALUE, until(b"\0"), |value| {
                if shows_password && !secrets { Value::Secret(FieldKind::Text) } else { value.into() }
            })?;
            c.check(&SEC_005, || !shows_password);
            check_encoding(c, value, binary);
            c.skip(b"\0");
            Ok(())
        })
    };
    c.list(&RULES_LIST, |_, done| done < count, rule)?;
    if let Some(chunks) = chunks {
        c.out_of_line(|c| browser::message(c, chunks));
    }
    Ok(())
}

/// Checks the encoding of a text, unless it is part of a binary message.
fn check_encoding<S: FieldSink>(c: &mut Cursor<'_, '_, S>, text: Str<'_>, binary: bool) {
    if !binary {
        c.check_text(text, &STR_001, &STR_002);
    }
}
