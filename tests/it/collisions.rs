//! Different protocols with the same first bytes: datagrams that look like supported protocols but are not.

use crate::kit::play::{
    CLIENTS, Collected, MS, POLL, RawFrame, ReportedPacket, S, SERVER_ADDR, SQP_CHALLENGE,
    SQP_CHALLENGE_REPLY, SQP_QUERY, SQP_QUERY_REPLY, START, STATE, c, everything, foreign, lines, play,
    report, s, udp_frame,
};
use qdissect::pipeline::Options;
use qdissect::protocols::{Direction, Id, Level};
use qdissect::rule::hex;
use qdissect::schema::example::Act;

/// Conversations of similar protocols: name, request and answer. Most must not be claimed at all. The last column is the
/// confidence with which some may be claimed, because a single datagram has the form of a supported protocol.
const NEIGHBOURS: &[(&str, &str, &str, Option<Level>)] = &[
    ("RakNet connected ping", "00 0000000000012345", "03 0000000000012345 0000000000054321", None),
    ("RakNet connected ping at time 0", "00 0000000000000000", "03 0000000000000000 0000000000000001", None),
    (
        "STUN binding",
        "0001 0000 2112a442 000102030405060708090a0b",
        "0101 000c 2112a442 000102030405060708090a0b 0020 0008 0001 a147 e112a643",
        None,
    ),
    ("WireGuard handshake", "01000000 11223344 aa*140", "02000000 55667788 11223344 bb*80", None),
    ("Unreal 2 answer that cannot be read", "80000000 00 01 41 00", "80000000 00 01 41 00", None),
    ("QuakeWorld's connection", "ffffffff 6c 0a", "ffffffff 6a", None),
    ("QuakeWorld's refusal", "ffffffff 6b 31 32 0a", "ffffffff 6d", None),
    ("Source's handshake", "ffffffff 71 0b0c0d0e 30*8", "ffffffff 41 0a0b0c0d 01000000 aa*20", None),
    (
        "a split game packet of Source",
        "feffffff 01000000 02 00 e004 aa*40",
        "feffffff 01000000 02 00 e004 aa*40",
        None,
    ),
    ("two bytes of 255 and a word", "ffff 'challenge' 00 01", "ffff 'challengeResponse' 00 0a0b0c0d", None),
    ("three bytes with another length", "040000", "0900 01 04 00 01020304", None),
    ("a size that fits, and no packet of OpenTTD", "0600 03 06 0102", "0700 01 04 09 0102", None),
    ("NetQuake", "8000 000c 02 5155414b4500 03", "8000 0010 83 6c6f63616c00 41 00", None),
    ("GameSpy's master server", r"'\heartbeat\27900\gamename\ut'", r"'\secure\ABCDEF'", None),
    ("Satisfactory's game traffic", "5a74 0102030405060708090a0b", "5a74 0102030405060708090a0b", None),
    ("TFTP acknowledgement", "0004 0001", "0003 0002 aa*64", None),
    (
        "DNS with number 0",
        "0000 0100 0001 0000 0000 0000 00 0001 0001",
        "0000 8180 0001 0000 0000 0000 00 0001 0001",
        None,
    ),
    ("keep-alives of four zeros", "00000000", "00000000", None),
    ("keep-alives of five zeros", "00*5", "00*5", Some(Level::Low)),
    ("keep-alives of eight zeros", "00*8", "00*8", None),
    (
        "ten bytes like a poll of version 0",
        "0000 0102030405060708",
        "0100 ff02030405060708 03 7f3b0300 983a",
        None,
    ),
    ("eight bytes of type 1 with another version", "01 11223344 0400 01", "01 11223344", None),
    ("−2 with 64 bits", "feffffffffffffff", "feffffffffffffff", None),
    ("DDNet's words after four bytes", "ffffffff 67696533 00", "ffffffff 696e6633 41 00", None),
    ("a game packet of 151 bytes", "02 00*30", "93000000 05000000 aa*143", None),
    (
        "LiteNetLib connection request",
        "05 0d000000 00000000 8877665544332211 10 aa*16",
        "06 8877665544332211 00 00",
        None,
    ),
    ("syslog", "3c33343e4f637420313120", "3c33343e4f637420313120", None),
    ("SIP", "4f5054494f4e53207369703a612040 0d0a 0d0a", "5349502f322e3020323030204f4b 0d0a 0d0a", None),
    ("a meter's frame from SOH to ETX", "01 5031 02 28303029 03 61", "06", None),
    ("a line that ends with Ctrl-D", "6c73202d6c 04", "66696c65 0a 04", None),
    ("numbers with a record separator", "3132616263 1e 7a 04", "3132616263 1e 7a 04", None),
    ("framed bytes both ways", "01 4142 06 99 04", "01 4344 06 98 04", Some(Level::Low)),
    ("the word echo", "6563686f", "6563686f", Some(Level::Low)),
    ("the line identify", "6964656e746966790a", "323030206f6b0d0a", Some(Level::Low)),
    ("a word, then bytes from SOH", "6368616c6c656e676500", "010203", Some(Level::Low)),
    ("a cookie between SOH and EOT", "01 c4c20641 c1 04", "01 c4c20641 f76150f3", None),
    ("five bytes that come back", "00 5dd97a60", "00 5dd97a60", Some(Level::Low)),
    ("a letter and a word", "'v'", "'1.6'", None),
];

fn conversation(question: &str, answer: &str) -> Vec<RawFrame> {
    vec![
        udp_frame(START, CLIENTS[0], SERVER_ADDR, &hex(question)),
        udp_frame(START + 10 * MS, SERVER_ADDR, CLIENTS[0], &hex(answer)),
        udp_frame(START + 20 * MS, CLIENTS[0], SERVER_ADDR, &hex(question)),
        foreign(START + 60_000 * MS),
    ]
}

#[test]
fn similar_protocols_are_not_claimed() {
    for &(name, question, answer, most) in NEIGHBOURS {
        let (collected, totals) = play(&conversation(question, answer));
        let surest = collected.packets.iter().map(|p| p.level).max();
        assert!(surest <= most, "{name} is claimed: {:#?}", collected.packets);
        assert_eq!(totals.recognised + totals.unclaimed, totals.udp, "{name}");
    }
}

#[test]
fn confidence_is_no_higher_than_that_of_the_conversation() {
    let doubtful = [
        ("text that begins with SAMP", "'SAMPLE one two'", "'SAMPLE two'"),
        ("zeros, as in a ping of Mumble", "00000000 0102030405060708", "00000000 01020304"),
        ("a letter of Titanfall", "ffffffff 4d 03", "ffffffff 4d 55 667788"),
        ("a letter of A2S", "ffffffff 57", "ffffffff 57 0102030405"),
        ("a version of DTLS and a zero", "fefd 00 0a0b0c0d 050607", "fefd 00 0a"),
    ];
    for (name, first, second) in doubtful {
        let (collected, _) = play(&[c(0, first), c(100 * MS, second), foreign(START + 60_000 * MS)]);
        let surest = collected.packets.iter().map(|p| p.level).max();
        assert!(surest <= Some(Level::Low), "{name} is claimed: {:#?}", collected.packets);
    }
}

#[test]
fn foreign_datagrams_to_an_a2s_server_are_not_claimed() {
    // Scanners send requests of many protocols to a host.
    let frames = [
        c(0, "ffffffff 54 'Source Engine Query' 00"),
        s(MS, "ffffffff 49 11 'A' 00 'b' 00 'c' 00 'd' 00 f000 01 08 00 'dl' 00 01 '1' 00 80 8769"),
        udp_frame(
            START + 100 * MS,
            CLIENTS[1],
            SERVER_ADDR,
            &hex("0001 0000 2112a442 000102030405060708090a0b"),
        ),
        foreign(START + 60_000 * MS),
    ];
    let (collected, totals) = play(&frames);
    assert_eq!((collected.packets.len(), totals.unclaimed), (2, 2), "{collected:#?}");
}

#[test]
fn a_handshake_of_teamspeak_may_leave_out_that_it_is_not_encrypted() {
    let begin = |kind: &str| format!("'TS3INIT1' 0065 0000 {kind} 0dd05766 00 5f5916e0 ade76b61 00*8");
    for (kind, message) in [("88", "init_request"), ("08", "init_request"), ("02", "unknown")] {
        let (collected, _) = play(&[c(0, &begin(kind)), foreign(START + 60_000 * MS)]);
        assert_eq!(collected.frame(1).message, message, "{kind}");
    }
}

#[test]
fn zeros_in_random_bytes_do_not_make_an_answer() {
    let noise = "ffffffff 49 8d3f91 00 77e2c41bf0 00 93 00 fe05 00 a9c8d7e6b5a4938271605f4e3d2c1b0a";
    let (collected, _) = play(&[s(0, noise), foreign(START + 60_000 * MS)]);
    assert!(collected.packets.iter().all(|p| p.level <= Level::Low), "{collected:#?}");
}

/// Similar protocols that are supported themselves, with the protocol by which they must be claimed.
const CLAIMED: &[(&str, &str, &str)] = &[
    (
        "raknet",
        "01 0000000000012345 00ffff00fefefefefdfdfdfd12345678 0102030405060708",
        "1c 0000000000012345 0102030405060708 00ffff00fefefefefdfdfdfd12345678 0003 4d4350",
    ),
    // Its time is little-endian, and looks like the header of an SQP query.
    (
        "raknet",
        "01 227a000000000000 00ffff00fefefefefdfdfdfd12345678 0102030405060708",
        "1c 227a000000000000 0102030405060708 00ffff00fefefefefdfdfdfd12345678 0003 4d4350",
    ),
    ("gamespy3", "fefd 09 10203040", "09 10203040 3900"),
    ("a2s", "ffffffff 54 536f7572636520456e67696e6520517565727900", "ffffffff 41 0a0b0c0d"),
    ("a2s", "ffffffff 56 0a0b0c0d", "feffffff 01000000 02 00 0900 ffffffff 45 0100 6b 00"),
    ("samp", "53414d50 c0000202 6969 69", "53414d50 c0000202 6969 69 00 0000 3200"),
    ("titanfall", "ffffffff 4d 01 00*1194", "ffffffff 4e 01 00*30"),
    ("mumble", "00000000 0102030405060708", "00010203 0102030405060708 00000001 00000064 00011170"),
    (
        "teeworlds",
        "ffffffffffffffffffff 'gie3' 05",
        "ffffffffffffffffffff 'inf3' '5' 00 '0.6.4' 00 'A' 00 'b' 00 'c' 00 '0' 00 '0' 00 '8' 00 '0' 00 '8' 00",
    ),
    ("teeworlds", "040000 ffffffff 05 1a2b3c4d 00*508", "040000 1a2b3c4d 05 55667788"),
    (
        "a2s",
        "ffffffff 'FLSQ'",
        "ffffffff 49 02 'A' 00 'b' 00 'c' 00 'FL' 00 'd' 00 '1' 00 1564 01 08 'dw' 00 00 1e 00 01 0708",
    ),
    ("armagetron", "0035 0000 0000 0011", "0033 0000 0011 11b6 0000*16 0011"),
    ("mindustry", "fe01", "03 'Lab' 01 'b' 00000001 00000002 00000092"),
    (
        "doom3",
        "ffff 'getInfo' 00 01020304",
        "ffff 'infoResponse' 00 01020304 29000100 'k' 00 'v' 00 0000 20 07000000",
    ),
    ("doom3", "ffff 'getServers' 00 29000100 00 00", "ffff 'servers' 00"),
    (
        "openttd",
        "030000",
        "2900 01 01 'Lab' 00 '1.10.1' 00 00 00 19 03 01 f82a cd2a 'Random Map' 00 0001 0002 01 01",
    ),
    ("openttd", "030002", "0600 03 04 0000"),
    ("openttd", "1800 09 01 4d470301 00*16", "0400 0a 00"),
    ("openttd", "0400 06 01", "0c00 07 01 0100 c0000209 8b0f"),
    ("gamespy2", "fefd 00 10203040 ffffff", "00 10203040 686f73746e616d65 00 41 00 00"),
    ("gamespy2", "fefd 00 10203040 ffffff", "00 10203040"),
    ("gamespy1", "5c6261736963 5c", "5c67616d656e616d655c7574"),
    ("ase", "73", "45594531 02 61"),
    ("unreal2", "79000000 01", "80000000 01 02 41 00 00"),
    ("quake3", "ffffffff 'getstatus'", r"ffffffff 'statusResponse' 0a '\hostname\Lab' 0a"),
    ("quake3", "ffffffff 'status' 0a", r"ffffffff 'print' 0a '\hostname\Lab' 0a"),
];

#[test]
fn similar_protocols_are_claimed_by_their_own_dissector() {
    for (protocol, question, answer) in CLAIMED {
        let (collected, totals) = play(&conversation(question, answer));
        assert!(
            collected.packets.iter().all(|p| p.id.info().name == *protocol),
            "{protocol}: {collected:#?}"
        );
        assert_eq!((collected.packets.len() as u64, totals.exchanges), (3, 2), "{protocol}: {collected:#?}");
    }
}

#[test]
fn a_query_and_split_answers_share_four_bytes() {
    // Sky Co-op's query, then a Source server that answers in parts: from the server, and longer.
    let frames = [
        udp_frame(START, CLIENTS[0], SERVER_ADDR, &hex("feffffff")),
        udp_frame(START + MS, SERVER_ADDR, CLIENTS[0], &hex("feffffff 01000000 02 00 e004 ffffffff45 aa*40")),
        udp_frame(START + 2 * MS, SERVER_ADDR, CLIENTS[0], &hex("feffffff")),
        foreign(START + 60_000 * MS),
    ];
    let (collected, totals) = play(&frames);
    assert_eq!(
        collected.packets.iter().map(|p| (p.frame, p.message)).collect::<Vec<_>>(),
        [(1, "status_request"), (2, "split"), (3, "unknown")]
    );
    assert_eq!((totals.unclaimed, totals.exchanges), (1, 1));
}

#[test]
fn another_protocol_may_use_the_socket_of_a_query() {
    // Hosts offer A2S beside SQP, and a client may use one socket for both.
    let frames = [
        udp_frame(START, CLIENTS[0], SERVER_ADDR, &hex("00 00000000")),
        udp_frame(START + MS, SERVER_ADDR, CLIENTS[0], &hex("00 80902348")),
        udp_frame(
            START + 2 * MS,
            CLIENTS[0],
            SERVER_ADDR,
            &hex("ffffffff 54 536f7572636520456e67696e6520517565727900"),
        ),
        udp_frame(START + 3 * MS, SERVER_ADDR, CLIENTS[0], &hex("ffffffff 41 0a0b0c0d")),
        foreign(START + 60_000 * MS),
    ];
    let (collected, totals) = play(&frames);
    let identified: Vec<_> = collected.packets.iter().map(|p| (p.id.info().name, p.message)).collect();
    let sqp = [("sqp", "challenge_request"), ("sqp", "challenge_response")];
    assert_eq!(identified, [sqp, [("a2s", "info_request"), ("a2s", "challenge_response")]].concat());
    assert_eq!((totals.unclaimed, totals.answered), (1, 2));
}

#[test]
fn two_protocols_on_one_port_stay_apart() {
    // CoD4X uses A2S and Quake 3 on one port; each conversation is judged by its own datagrams.
    const STATUS: &str = r"ffffffff 'statusResponse' 0a '\sv_hostname\Lab\sv_maxclients\8\protocol\21\gamename\Call of Duty 4' 0a";
    const INFO: &str = "ffffffff 49 11 'A' 00 'b' 00 'c' 00 'd' 00 f000 01 08 00 'dl' 00 01 '1' 00 80 8769";
    let frames = [
        c(0, "ffffffff 54 'Source Engine Query' 00"),
        c(MS, "ffffffff 'getstatus'"),
        s(2 * MS, INFO),
        s(3 * MS, STATUS),
        // It is no query, and it may be a message of the other protocol.
        s(4 * MS, "ffffffff 'disconnect'"),
        foreign(START + 60_000 * MS),
    ];
    let (collected, totals) = play(&frames);
    let identified: Vec<_> =
        collected.packets.iter().take(4).map(|p| (p.id.info().name, p.message)).collect();
    let asked = [("a2s", "info_request"), ("quake3", "getstatus_request")];
    assert_eq!(identified, [asked, [("a2s", "info_response"), ("quake3", "status_response")]].concat());
    assert_eq!(
        (totals.answered, totals.findings.error, totals.findings.warning),
        (2, 0, 0),
        "{collected:#?}"
    );
}

#[test]
fn a_password_length_is_not_taken_for_a_query_type() {
    // Sky Co-op's remote console: four bytes of 255, and a password of 84 bytes.
    let frames = [c(0, &format!("ffffffff 54000000 {}", "70".repeat(84))), foreign(START + 60_000 * MS)];
    let (collected, _) = play(&frames);
    assert!(collected.packets.iter().all(|p| p.id.info().name != "a2s"), "{collected:#?}");
}

#[test]
fn game_traffic_in_parts_is_not_an_answer() {
    let asks = [
        "ffffffff 54 'Source Engine Query' 00",
        "ffffffff 49 11 'A' 00 'b' 00 'c' 00 'd' 00 f000 01 08 00 'dl' 00 01 '1' 00 80 8769",
    ];
    let mut frames = vec![foreign(START - 60 * S), c(0, asks[0]), s(MS, asks[1])];
    // Two packets of two parts each, as Source and as GoldSrc split them.
    let parts = ["0200 1000 aa*16", "0201 1000 aa*9", "02 aa*32", "12 aa*20"];
    for (n, part) in parts.iter().enumerate() {
        let payload = hex(&format!("feffffff {:02x}000000 {part}", n / 2));
        frames.push(udp_frame(START + 10 * S, SERVER_ADDR, CLIENTS[1], &payload));
        frames.push(udp_frame(START + 11 * S, SERVER_ADDR, CLIENTS[0], &payload));
    }
    let (collected, _) = play(&frames);
    let to_players: Vec<_> = collected.packets.iter().filter(|p| p.frame > 3).collect();
    assert!(
        to_players.iter().all(|p| p.frame % 2 == 1),
        "only where there was a query before: {to_players:#?}"
    );
    assert!(to_players.iter().all(|p| p.findings.is_empty()), "{to_players:#?}");
}

#[test]
fn passwords_of_any_length_are_recognised_on_any_socket() {
    let source = [
        "ffffffff 54 'Source Engine Query' 00",
        "ffffffff 49 11 'A' 00 'b' 00 'c' 00 'd' 00 f000 01 08 00 'dl' 00 01 '1' 00 80 8769",
    ];
    for length in 1..=255u8 {
        let password = "70".repeat(length.into());
        let console = format!("ffffffff {length:02x}000000 {password} 0c000000 730074006100740075007300");
        let alone = c(10 * MS, &console);
        let mut cut = alone.clone();
        cut.bytes.truncate(alone.bytes.len() - 14);
        let known = [c(0, source[0]), s(MS, source[1])];
        for before in [&known[..], &[]] {
            let frames = [before, &[alone.clone(), foreign(START + 60_000 * MS)]].concat();
            let last = play(&frames).0.packets.pop().expect("it is claimed");
            assert_eq!((last.id.info().name, last.message), ("skycoop", "rcon_request"), "{length}");
            let frames = [before, &[cut.clone(), foreign(START + 60_000 * MS)]].concat();
            let text = lines(everything(), &frames);
            assert!(!text.contains("ppp") && !text.contains("707070"), "{length}: {text}");
        }
    }
}

#[test]
fn other_engine_messages_are_shown_without_their_text() {
    let asks = "ffffffff 54 'Source Engine Query' 00";
    let frames = [
        c(0, asks),
        s(MS, "ffffffff 41 c3192a4b"),
        c(2 * MS, "ffffffff 'rcon 1 \"hunter2\" status' 0a"),
        s(3 * MS, "ffffffff 6c 'Bad rcon_password.' 0a"),
        c(4 * MS, "00112233445566778899"),
        foreign(START + 60_000 * MS),
    ];
    let (collected, _) = play(&frames);
    let identified: Vec<_> =
        collected.packets.iter().map(|p| (p.frame, p.message, p.findings.len())).collect();
    assert_eq!(identified[2..], [(3, "unknown", 0), (4, "unknown", 0)], "game traffic is not claimed");
}

#[test]
fn queries_with_a_distinctive_start_do_not_join_another_conversation() {
    const MAGIC: &str = "00ffff00fefefefefdfdfdfd12345678";
    let ping = format!("01 0000000000012345 {MAGIC} 0102030405060708");
    let pong = format!("1c 0000000000012345 0102030405060708 {MAGIC} 0003 4d4350");
    let others = [
        ("fefd 09 10203040", "fefd 00 10203040 ffffff01"),
        ("5c7374617475735c", "5c67616d656e616d655c75745c66696e616c5c"),
        ("53414d50 7f000001 611e 69", "53414d50 7f000001 611e 69 00 0100 3200"),
        ("'VCMP' 7f000001 611e 'i'", "'SAMP' 7f000001 611e 'o'"),
        ("'TS3INIT1' 0065 0000 88 0dd05766 00 00*16", "'TS3INIT1' 0065 88 01 00*20"),
        ("79000000 00", "45594531 04 6d7461"),
        (&ping, &pong),
    ];
    for (question, answer) in others {
        let sqp = [
            c(0, SQP_CHALLENGE),
            s(MS, SQP_CHALLENGE_REPLY),
            c(2 * MS, SQP_QUERY),
            s(3 * MS, SQP_QUERY_REPLY),
            c(4 * MS, question),
            s(5 * MS, answer),
        ];
        assert_eq!(claimed_as_the_first(&sqp).len(), 4, "{question}");
        let poll = [c(0, POLL), c(MS, question), s(2 * MS, answer), s(3 * MS, STATE)];
        assert_eq!(claimed_as_the_first(&poll), [(1, "poll"), (4, "state_response")], "{question}");
    }
    // But not every datagram that begins like one.
    let command =
        [c(0, "6964656e74696679 04"), s(MS, "3130 6964656e74696679 1e 06 04"), c(2 * MS, "53414d504c45 04")];
    assert_eq!(claimed(&command)[2..], [(3, "request")]);
    let sqp = [
        c(0, SQP_CHALLENGE),
        s(MS, SQP_CHALLENGE_REPLY),
        c(2 * MS, "5c 80902348 0001 01"),
        c(3 * MS, "fe fd 80902348"),
    ];
    assert_eq!(claimed(&sqp)[2..], [(3, "unknown"), (4, "unknown")]);
}

#[test]
fn a_message_goes_to_the_conversation_that_knows_it() {
    let frames = [
        c(0, SQP_CHALLENGE),
        s(MS, SQP_CHALLENGE_REPLY),
        c(2 * MS, "feffffff"),
        s(3 * MS, "93000000 64000000 4100"),
    ];
    assert_eq!(claimed(&frames)[2..], [(3, "status_request"), (4, "status_response")]);
}

/// The frames and messages of claimed datagrams.
fn claimed(frames: &[RawFrame]) -> Vec<(u64, &'static str)> {
    let (collected, _) = play(&[frames, &[foreign(START + 60_000 * MS)]].concat());
    collected.packets.iter().map(|p| (p.frame, p.message)).collect()
}

/// The frames and messages of datagrams that are claimed by the protocol of the first one.
fn claimed_as_the_first(frames: &[RawFrame]) -> Vec<(u64, &'static str)> {
    let (collected, _) = play(&[frames, &[foreign(START + 60_000 * MS)]].concat());
    let first = collected.packets[0].id;
    collected.packets.iter().filter(|p| p.id == first).map(|p| (p.frame, p.message)).collect()
}

#[test]
fn zeros_are_a_request_in_a_new_conversation() {
    // The first datagram begins like an answer, but its length is wrong.
    let frames = [
        c(0, "01 01000000 0000 0000 aa*15"),
        c(MS, SQP_CHALLENGE),
        s(2 * MS, SQP_CHALLENGE_REPLY),
        c(3 * MS, SQP_QUERY),
        s(4 * MS, SQP_QUERY_REPLY),
    ];
    let messages = ["challenge_request", "challenge_response", "query_request", "query_response"];
    assert_eq!(claimed(&frames)[1..], [2, 3, 4, 5].map(|frame| (frame, messages[frame as usize - 2])));
}

#[test]
fn five_zeros_and_five_bytes_of_another_type_may_be_sqp() {
    let answers = |answer: &str| {
        let (collected, _) = play(&[c(0, SQP_CHALLENGE), s(MS, answer), foreign(START + 60_000 * MS)]);
        assert!(collected.packets.iter().all(|p| p.level == Level::Low), "{answer}");
        collected.packets.iter().map(|p| p.message).collect::<Vec<_>>()
    };
    assert_eq!(answers("02 80902348"), ["challenge_request", "unknown"]);
    assert_eq!(answers("01 80902348"), ["challenge_request", "query_response"]);
    for other in ["02 00000000", "02 809023", "02 80902348 00"] {
        assert_eq!(answers(other), ["challenge_request"], "{other}");
    }
}

#[test]
fn in_a_conversation_everything_is_sqp() {
    let unknown = |frame| (frame, "unknown");
    let others = [
        c(4 * MS, "02 00000000"),
        c(5 * MS, "03 80902348 0001 01"),
        s(6 * MS, &SQP_QUERY_REPLY.replacen("01", "05", 1)),
        c(7 * MS, "84 000000 6000 48 00 aa*20"),
    ];
    let sqp =
        [c(0, SQP_CHALLENGE), s(MS, SQP_CHALLENGE_REPLY), c(2 * MS, SQP_QUERY), s(3 * MS, SQP_QUERY_REPLY)];
    assert_eq!(claimed(&[&sqp[..], &others].concat())[4..], [5, 6, 7, 8].map(unknown));
    // Also instead of an answer.
    let instead = [
        c(0, SQP_CHALLENGE),
        s(MS, SQP_CHALLENGE_REPLY),
        c(2 * MS, SQP_QUERY),
        s(3 * MS, "7b226f6b223a747275657d aa*40"),
    ];
    assert_eq!(claimed(&instead)[3..], [unknown(4)]);
}

#[test]
fn a_source_query_is_not_answered_to_a_poll() {
    let poll = [
        c(0, POLL),
        s(MS, "ffffffff 41 0a0b0c0d"),
        s(2 * MS, "feffffff 01000000 02 00 e004 aa*40"),
        s(3 * MS, STATE),
    ];
    assert_eq!(claimed_as_the_first(&poll), [(1, "poll"), (4, "state_response")]);
}

#[test]
fn bytes_that_end_like_text_are_not_text() {
    let asked = [c(0, "6964656e74696679 04"), s(MS, "3130 6964656e74696679 1e 06 04")];
    let other = |time, payload| udp_frame(START + time, CLIENTS[1], SERVER_ADDR, &hex(payload));
    let foreign = [
        other(S, "0002000800000004"),
        other(S + MS, "01 00000000 0000 0b 6d"),
        c(S + 2 * MS, "01000000 5100 8000 aa*20"),
    ];
    assert_eq!(claimed(&[&asked[..], &foreign].concat()), [(1, "request"), (2, "response")]);
}

#[test]
fn a_server_may_ask_another_one() {
    const OTHER: ([u8; 4], u16) = ([192, 0, 2, 77], 27_100);
    let asks = |time, payload| udp_frame(START + S + time, SERVER_ADDR, OTHER, &hex(payload));
    let answers = |time, payload| udp_frame(START + S + time, OTHER, SERVER_ADDR, &hex(payload));
    let asked = [
        c(0, SQP_CHALLENGE),
        s(MS, SQP_CHALLENGE_REPLY),
        c(2 * MS, SQP_QUERY),
        s(3 * MS, SQP_QUERY_REPLY),
        c(4 * MS, POLL),
        s(5 * MS, STATE),
    ];
    let sqp = [
        asks(0, SQP_CHALLENGE),
        answers(MS, SQP_CHALLENGE_REPLY),
        asks(2 * MS, SQP_QUERY),
        answers(3 * MS, SQP_QUERY_REPLY),
    ];
    let satisfactory = [asks(4 * MS, POLL), answers(5 * MS, STATE)];
    let frames = [&asked[..], &sqp, &satisfactory, &[foreign(START + 60 * S)]].concat();
    let (collected, totals) = play(&frames);
    let asking: Vec<_> = collected.packets.iter().map(|p| p.direction == Direction::C2s).collect();
    assert_eq!(asking, [true, false].repeat(6));
    assert_eq!((totals.answered, totals.findings.error), (6, 0), "{:#?}", collected.packets);
}

/// The datagrams of a protocol's first sample between the first client and the server, from that time on.
fn sample_frames(id: Id, start: i64) -> Vec<RawFrame> {
    let mut frames = vec![];
    for step in id.info().samples[0].steps {
        if let Act::Send { direction, client: 0, payload } = Act::of(step) {
            let [from, to] = direction.order([CLIENTS[0], SERVER_ADDR]);
            frames.push(udp_frame(start + frames.len() as i64 * 10 * MS, from, to, &hex(payload)));
        }
    }
    frames
}

/// Protocol, message and broken rules of a datagram.
type Reading = (&'static str, &'static str, Vec<&'static str>);

/// What is read of each datagram, and how many exchanges are answered. What a server earns once is left
/// out.
fn read(frames: &[RawFrame]) -> (Vec<Reading>, u64) {
    let all = [&[foreign(START - 60 * S)], frames, &[foreign(START + 120 * S)]].concat();
    let (collected, totals) = report(Options::default(), Collected::<true>::default(), &all);
    let rules =
        |p: &ReportedPacket| p.findings.iter().filter(|f| !f.rule.per_server).map(|f| f.rule.id).collect();
    (collected.packets.iter().map(|p| (p.id.info().name, p.message, rules(p))).collect(), totals.answered)
}

#[test]
fn any_protocol_may_follow_any_other_between_the_same_endpoints() {
    for &first in Id::ALL {
        let alone = read(&sample_frames(first, START));
        assert_eq!(alone.0.len(), sample_frames(first, START).len(), "{first:?}");
        // Five zeros to a server of Mumble are a ping of which five bytes have come.
        let differ = |second: &&Id| **second != first && (first, **second) != (Id::Mumble, Id::Sqp);
        for &second in Id::ALL.iter().filter(differ) {
            let after = read(&sample_frames(second, START));
            for pause in [10 * MS, S, 7 * S] {
                let begin = sample_frames(first, START);
                let next = begin.last().expect("a sample has datagrams").time + pause;
                let both = read(&[&begin[..], &sample_frames(second, next)].concat());
                let expected = ([&alone.0[..], &after.0].concat(), alone.1 + after.1);
                assert_eq!(
                    both, expected,
                    "{first:?}, then {second:?} after {pause} ns: is a `known` form of one too wide?"
                );
            }
        }
    }
}

#[test]
fn something_weak_in_a_conversation_stays_its_own_if_nothing_follows() {
    // Five zeros, and a letter and a ping, which begin like other queries, in the conversation of another protocol.
    let status =
        ["ffffffff 'getstatus'", r"ffffffff 'statusResponse' 0a '\sv_hostname\Lab\sv_maxclients\8' 0a"];
    for (weak, claimed) in [(SQP_CHALLENGE, true), ("73", false), ("00000000 0102030405060708", false)] {
        let (packets, answered) = read(&[c(0, status[0]), s(10 * MS, status[1]), c(S, weak)]);
        assert_eq!(packets.get(2), claimed.then_some(&("quake3", "unknown", vec![])), "{weak}");
        assert_eq!(answered, 1, "{weak}");
    }
}

#[test]
fn a_datagram_in_a_conversation_of_another_protocol_is_no_copy_of_itself() {
    let poll = [c(0, POLL), s(MS, STATE), c(S, SQP_CHALLENGE), s(S + MS, SQP_CHALLENGE_REPLY)];
    let (packets, _) =
        read(&[&poll[..], &[c(S + 2 * MS, SQP_QUERY), s(S + 3 * MS, SQP_QUERY_REPLY)]].concat());
    assert!(packets.iter().all(|(_, _, rules)| !rules.contains(&"GEN-008")), "{packets:?}");
}
