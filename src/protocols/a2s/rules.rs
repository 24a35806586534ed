//! What A2S demands, with the conversations that break it.

use crate::protocols::prelude::*;

pub(super) const SPEC: &str = "https://developer.valvesoftware.com/wiki/Server_queries";
const fn vdc(section: &'static str) -> Cite {
    Cite { doc: "Valve Developer Community, Server queries", section, url: SPEC }
}
const fn gamedig(section: &'static str) -> Cite {
    Cite { doc: "node-gamedig", section, url: "https://github.com/gamedig/node-gamedig" }
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
pub(super) const PLAY: rule::Step = S("ffffffff 44 01 00 'n' 00 01000000 00007042");
pub(super) const RULE: rule::Step = S("ffffffff 45 0100 'k' 00 '1' 00");
/// An answer in three parts, and its middle and end in that order.
pub(super) const PART0: rule::Step = S("feffffff 07000000 03 00 0f00 ffffffff 45 0400 'alpha' 00 '1' 00");
pub(super) const PART1: rule::Step = S("feffffff 07000000 03 01 0f00 'beta' 00 '2' 00 'gamma' 00 '3' 00");
pub(super) const PART2: rule::Step = S("feffffff 07000000 03 02 0f00 'delta' 00 '4' 00");
/// 38 bytes of an answer with two rules, compressed: a part without a size, and one with another checksum.
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
    /// flag.
    INF_006 = "A2S-INF-006" Note "INFO is in an old form, or without an extra data flag" {
        cite: vdc("A2S_INFO, Obsolete GoldSource Response"),
        per_server: true,
        examples: [
            Example::of(&[IQ, S("ffffffff 49 11 'A' 00 'b' 00 'c' 00 'd' 00 f000 01 08 00 'dl' 00 01 '1' 00")]),
            Example::of(&[IQ, S("ffffffff 6d '10.0.0.1:27015' 00 'A' 00 'b' 00 'c' 00 'd' 00 01 08 2f 'dl' 00 00 01 00")]),
        ],
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
    /// Somebody joined between the two, players are hidden or made up, or the list ends at 255.
    PLY_004 = "A2S-PLY-004" Note "number of players differs from that of INFO" {
        cite: vdc("A2S_PLAYER, Response format"),
        examples: [Example::of(&[
            IQ, INFO, PQ0, CH, PQ,
            S("ffffffff 44 02 00 'n' 00 01000000 00007042 00 'm' 00 00000000 0000a040"),
        ])],
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
    /// Steam's packets have 1400 bytes. Longer ones travel in fragments of IP, of which any may be lost.
    SPL_008 = "A2S-SPL-008" Note "answer of more than 1400 bytes comes in one datagram" {
        cite: vdc("Protocol"),
        per_server: true,
        examples: [Example::of(&[RQ0, CH, RQ, S("ffffffff 45 0100 'k0' 00 76*1422 00")])],
    }
    /// A server never speaks first: the request was sent before the capture, or somebody answers what was never asked. Where many
    /// servers do so, an address is the victim of a reflection.
    TXN_001 = "A2S-TXN-001" Error "answer without a request" {
        cite: vdc("Protocol"),
        needs_past: true,
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
    TXN_004 = "A2S-TXN-004" Note "answer came after the time-out" {
        cite: gamedig("protocols/valve.js"),
        examples: [Example::of(&[IQ, Wait(3200), INFO])],
    }
    /// The same bytes with no request open: UDP duplicated them, or the server answers twice, as dproto does.
    TXN_005 = "A2S-TXN-005" Note "answer arrived twice" {
        cite: vdc("Protocol"),
        side: Path,
        examples: [Example::of(&[IQ, INFO, INFO])],
    }
    /// Somebody forges answers, two servers share an address, or a proxy is at fault.
    TXN_006 = "A2S-TXN-006" Warning "second answer differs from the first" {
        cite: vdc("Protocol"),
        examples: [Example::of(&[IQ, INFO, S("ffffffff 49 11 'A' 00 'b' 00 'c' 00 'd' 00 f000 07 08 00 'dl' 00 01 '1' 00 80 8769")])],
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
    /// Engines send 0 or 1, whether there is one. A plugin that sends the text gives it to everyone. It is masked here.
    SEC_005 = "A2S-SEC-005" Warning "rule shows a password" {
        cite: vdc("A2S_RULES, Response format"),
        examples: [Example::of(&[RQ0, CH, RQ, S("ffffffff 45 0100 'sv_password' 00 'hunter2' 00")])],
    }
}
