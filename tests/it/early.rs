//! Answers that stand before their requests in the file: with their parts, with copies, and of another kind than asked for.

use crate::kit::play::{
    Addr, CLIENTS, Collected, GQP_IDENTIFY, GQP_IDENTIFY_REPLY, MS, POLL, RawFrame, S, SERVER, START, STATE,
    play_surrounded, udp_frame,
};
use qdissect::exchange::{Outcome, Pairing};
use qdissect::rule::hex;

/// A datagram of the client or the server, so many milliseconds after the start.
type Sent = (bool, i64, &'static str);

fn c(ms: i64, text: &'static str) -> Sent {
    (true, ms, text)
}
fn s(ms: i64, text: &'static str) -> Sent {
    (false, ms, text)
}

/// Plays datagrams between the first client and a port of the server, in this order.
fn at_port(port: u16, sent: &[Sent]) -> Collected<true> {
    let server: Addr = (SERVER, port);
    let frame = |&(asks, ms, text): &Sent| -> RawFrame {
        let [from, to] = if asks { [CLIENTS[0], server] } else { [server, CLIENTS[0]] };
        udp_frame(START + S + ms * MS, from, to, &hex(text))
    };
    play_surrounded(&sent.iter().map(frame).collect::<Vec<_>>())
}

/// The frames of request and answers of every exchange, in the order of their requests.
fn pairs(collected: &Collected<true>) -> Vec<(u64, Vec<u64>)> {
    let mut pairs: Vec<_> =
        collected.exchanges.iter().map(|(e, _)| (e.request_frame, e.response_frames().to_vec())).collect();
    pairs.sort();
    pairs
}

/// Rules that are broken, but for those about amplification and about the order of parts, and those of servers without challenge.
fn rules(collected: &Collected<true>) -> Vec<&'static str> {
    let ids = collected.findings().map(|f| f.rule.id);
    ids.filter(|id| !id.contains("-SEC-") && !["GEN-007", "UN2-TXN-005", "A2S-SPL-003"].contains(id))
        .collect()
}

/// Protocol and port, what comes before, the request, and the parts of its answer.
type InParts = (&'static str, u16, &'static [Sent], &'static str, &'static [&'static str]);

/// Answers in parts.
const IN_PARTS: &[InParts] = &[
    (
        "a2s",
        27_015,
        &[(true, -900, "ffffffff 56 ffffffff"), (false, -890, "ffffffff 41 0a0b0c0d")],
        "ffffffff 56 0a0b0c0d",
        &[
            "feffffff 01000000 03 00 0800 ffffffff 45 0100 6b",
            "feffffff 01000000 03 01 0800 6565 6565 6565 6565",
            "feffffff 01000000 03 02 0800 00 76 00",
        ],
    ),
    (
        "gamespy1",
        7_778,
        &[],
        r"'\status\'",
        &[
            r"'\gamename\ut\hostname\Lab\numplayers\1\maxplayers\8\queryid\7.1'",
            r"'\player_0\Ann\queryid\7.2'",
            r"'\player_1\Bob\queryid\7.3\final\'",
        ],
    ),
    (
        "gamespy3",
        6_500,
        &[(true, -900, "fefd09 01020304"), (false, -890, "09 01020304 '9513307' 00")],
        "fefd00 01020304 0091295b ffffff01",
        &[
            "00 01020304 'splitnum' 00 00 00 'hostname' 00 'Lab' 00 'numplayers' 00 '1' 00 'maxplayers' 00 '8' 00 00",
            "00 01020304 'splitnum' 00 01 01 'player_' 00 00 'Ann' 00 00 00",
            "00 01020304 'splitnum' 00 82 02 'team_t' 00 00 'Red' 00 00 00",
        ],
    ),
    (
        "unreal2",
        7_778,
        &[],
        "7900000001",
        &[
            "8000000001 02 'k' 00 02 'v' 00",
            "8000000001 02 'l' 00 02 'w' 00",
            "8000000001 02 'm' 00 02 'x' 00",
        ],
    ),
    (
        // What does not end like a message is one only in a known conversation.
        "gqp",
        28_902,
        &[(true, -900, GQP_IDENTIFY), (false, -890, GQP_IDENTIFY_REPLY)],
        GQP_IDENTIFY,
        &[
            "3130 6964656e74696679 1e 12 67616d656e",
            "616d65 1f 7574 1e 12 67616d65766572",
            "1f 343332 1e 12 6e6574766572 1f 343332 04",
        ],
    ),
];

#[test]
fn all_parts_before_their_request_are_paired() {
    for &(protocol, port, before, request, parts) in IN_PARTS {
        for early in 0..=parts.len() {
            let mut sent = before.to_vec();
            sent.extend(parts[..early].iter().zip(2..).map(|(part, ms)| s(ms, part)));
            sent.push(c(0, request));
            sent.extend(parts[early..].iter().zip(2 + early as i64..).map(|(part, ms)| s(ms, part)));
            let collected = at_port(port, &sent);
            // One frame stands before the conversation.
            let first = before.len() as u64 + 2;
            let asked = first + early as u64;
            let answers: Vec<u64> =
                (first..=first + parts.len() as u64).filter(|frame| *frame != asked).collect();
            assert_eq!(
                pairs(&collected).last(),
                Some(&(asked, answers)),
                "{protocol}, {early} before: {collected:#?}"
            );
            let found = rules(&collected);
            assert!(found.iter().all(|id| *id == "GQP-FRM-003"), "{protocol}, {early} before: {found:?}");
            assert!(collected.unclaimed.len() == 2, "{protocol}, {early} before");
        }
    }
}

#[test]
fn lines_of_a_console_before_their_command_are_paired() {
    let collected = at_port(
        7_777,
        &[
            s(2, "'SAMP' c000020a 611e 'x' 0300 'one'"),
            s(3, "'SAMP' c000020a 611e 'x' 0300 'two'"),
            c(0, "'SAMP' c000020a 611e 'x' 0200 'pp' 0300 'cmd'"),
            s(4, "'SAMP' c000020a 611e 'x' 0300 'six'"),
        ],
    );
    let asked = |frame| collected.frame(frame).pairing.request_frame(frame);
    assert_eq!([2, 3, 5].map(asked), [Some(4); 3], "{collected:#?}");
}

/// Whole answers by a key or by order: protocol, port, request and answer.
const WHOLE: &[(&str, u16, &str, &str)] = &[
    ("satisfactory", 7_777, POLL, STATE),
    ("gqp", 28_902, GQP_IDENTIFY, GQP_IDENTIFY_REPLY),
    (
        "a2s",
        27_015,
        "ffffffff 54 'Source Engine Query' 00",
        "ffffffff 49 11 'A' 00 'b' 00 'c' 00 'd' 00 f000 01 08 00 'dl' 00 01 '1' 00 80 8769",
    ),
    (
        "gamespy2",
        2_302,
        "fefd00 'CORY' ff0000",
        "00 'CORY' 'hostname' 00 'Lab' 00 'numplayers' 00 '1' 00 'maxplayers' 00 '8' 00 00",
    ),
    (
        "quake3",
        27_960,
        "ffffffff 'getstatus'",
        r"ffffffff 'statusResponse' 0a '\sv_hostname\Lab\sv_maxclients\8\protocol\68\mapname\q3dm17' 0a",
    ),
    ("mumble", 64_738, "00000000 0000000000000001", "00 010505 0000000000000001 00000001 00000032 00011940"),
    (
        "samp",
        7_777,
        "'SAMP' c000020a 611e 'i'",
        "'SAMP' c000020a 611e 'i' 00 0100 3200 01000000 'A' 01000000 'g' 01000000 'l'",
    ),
];

#[test]
fn an_answer_and_its_copy_before_the_request_are_an_answer_and_a_copy() {
    for &(protocol, port, request, answer) in WHOLE {
        let collected = at_port(port, &[s(1, answer), s(2, answer), c(0, request)]);
        assert_eq!(pairs(&collected), [(4, vec![2])], "{protocol}");
        let copy = collected.frame(3).pairing;
        assert!(
            matches!(copy, Pairing::DuplicateResponse { of: 2, request_frame: 4, .. }),
            "{protocol}: {copy:?}"
        );
        let found = rules(&collected);
        assert!(matches!(found[..], [id] if id.contains("-TXN-")), "{protocol}: {found:?}");
    }
}

#[test]
fn an_answer_like_the_one_before_may_stand_before_its_request() {
    // A client that polls gets the same bytes each time; the second answer is no copy of the first.
    for &(protocol, port, request, answer) in WHOLE {
        let polls = [c(0, request), s(10, answer), s(2_010, answer), c(2_000, request)];
        let collected = at_port(port, &polls);
        assert_eq!(pairs(&collected), [(2, vec![3]), (5, vec![4])], "{protocol}: {collected:#?}");
        let found: Vec<_> = rules(&collected).into_iter().filter(|id| *id != "SFQ-REQ-003").collect();
        assert_eq!(found, [""; 0], "{protocol}");
        // Without that request, it is a copy.
        let collected = at_port(port, &polls[..3]);
        let copy = collected.frame(4).pairing;
        assert!(matches!(copy, Pairing::DuplicateResponse { of: 3, .. }), "{protocol}: {copy:?}");
    }
}

#[test]
fn a_challenge_before_a_request_of_another_step_answers_it() {
    const CHALLENGE: &str = "ffffffff 41 0a0b0c0d";
    for (asks, again) in [
        ("ffffffff 54 'Source Engine Query' 00", "ffffffff 54 'Source Engine Query' 00 0a0b0c0d"),
        ("ffffffff 55 ffffffff", "ffffffff 55 0a0b0c0d"),
        ("ffffffff 56 00000000", "ffffffff 56 0a0b0c0d"),
        ("ffffffff 57", "ffffffff 55 0a0b0c0d"),
    ] {
        let collected = at_port(27_015, &[s(2, CHALLENGE), c(0, asks), c(20, again)]);
        assert_eq!(pairs(&collected), [(3, vec![2]), (4, vec![])], "{asks}");
        assert!(!rules(&collected).contains(&"A2S-TXN-001"), "{asks}");
        // It issued the challenge that the client sends back, so it does not answer that request.
        let collected = at_port(27_015, &[s(2, CHALLENGE), c(4, again)]);
        assert_eq!(pairs(&collected), [(3, vec![])], "{asks}");
    }
}

#[test]
fn a_challenge_belongs_to_the_latest_request_that_waits_for_one() {
    const ASK: &str = "ffffffff 55 ffffffff";
    const CHALLENGE: &str = "ffffffff 41 0a0b0c0d";
    const AGAIN: &str = "ffffffff 55 0a0b0c0d";
    const PLAYERS: &str = "ffffffff 44 01 00 'Ann' 00 05000000 00002041";
    // Asked twice within a quarter of a second: the server does not give the list away.
    let collected =
        at_port(27_015, &[c(0, ASK), c(100, ASK), s(120, CHALLENGE), c(130, AGAIN), s(150, PLAYERS)]);
    assert_eq!(collected.frame(4).pairing.request_frame(4), Some(3));
    assert!(collected.findings().all(|f| f.rule.id != "A2S-SEC-002"), "{collected:#?}");
    // An older request, whose window is over, does not get it.
    let info = "ffffffff 54 'Source Engine Query' 00";
    let collected = at_port(27_015, &[c(0, ASK), c(3_500, info), s(3_520, CHALLENGE)]);
    assert_eq!(collected.frame(4).pairing.request_frame(4), Some(3));
    // Without a challenge, a list is given away.
    let collected = at_port(27_015, &[c(0, ASK), s(20, PLAYERS)]);
    assert!(collected.findings().any(|f| f.rule.id == "A2S-SEC-002"));
}

#[test]
fn a_second_answer_counts_as_one_until_the_late_window_ends() {
    let info = |name| {
        format!("ffffffff 49 11 '{name}' 00 'b' 00 'c' 00 'd' 00 f000 01 08 00 'dl' 00 01 '1' 00 80 8769")
    };
    for (seconds, rule) in [(6, "A2S-TXN-006"), (14, "A2S-TXN-006"), (16, "A2S-TXN-001")] {
        let server = (SERVER, 27_015);
        let frames = [
            udp_frame(START, CLIENTS[0], server, &hex("ffffffff 54 'Source Engine Query' 00")),
            udp_frame(START + 20 * MS, server, CLIENTS[0], &hex(&info("A"))),
            udp_frame(START + seconds * S, server, CLIENTS[0], &hex(&info("B"))),
        ];
        let collected = play_surrounded(&frames);
        assert_eq!(collected.frame(4).rules(), [rule], "{seconds} s");
        assert_eq!(pairs(&collected), [(2, vec![3])], "{seconds} s");
    }
}

#[test]
fn parts_in_a_layout_that_only_the_first_one_proves_may_come_in_reverse() {
    // Headers without a size, as of Counter-Strike: Source, and of GoldSrc.
    let layouts = [
        ["feffffff 01000000 02 01 6b 00 76 00", "feffffff 01000000 02 00 ffffffff 45 0200 6a 00 69 00"],
        ["feffffff 01000000 12 6b 00 76 00", "feffffff 01000000 02 ffffffff 45 0200 6a 00 69 00"],
        [
            "feffffff 01000000 02 01 0a00 6b 00 76 00",
            "feffffff 01000000 02 00 0a00 ffffffff 45 0200 6a 00 69 00",
        ],
    ];
    for [second, first] in layouts {
        let asks =
            [c(0, "ffffffff 56 ffffffff"), s(10, "ffffffff 41 0a0b0c0d"), c(20, "ffffffff 56 0a0b0c0d")];
        let collected = at_port(27_015, &[&asks[..], &[s(30, second), s(40, first)]].concat());
        assert_eq!(collected.frame(6).message, "rules_response", "{second}: {collected:#?}");
        let errors: Vec<_> = rules(&collected).into_iter().filter(|id| *id != "A2S-SPL-007").collect();
        assert_eq!(errors, [""; 0], "{second}");
        assert_eq!(collected.exchanges.iter().filter(|(e, _)| e.outcome == Outcome::Answered).count(), 2);
    }
}

#[test]
fn an_answer_to_no_request_of_its_own_names_none() {
    let cases = [
        (
            "fefd00 'CORY' ff0000",
            "00 'CORY' 'hostname' 00 '",
            "' 00 'numplayers' 00 '1' 00 'maxplayers' 00 '8' 00 00",
        ),
        ("fefd09 01020304", "09 01020304 '951330", "' 00"),
    ];
    for (request, before, after) in cases {
        let frame = |ms: i64, asks: bool, text: &str| {
            let [from, to] = if asks { [CLIENTS[0], (SERVER, 2_302)] } else { [(SERVER, 2_302), CLIENTS[0]] };
            udp_frame(START + ms * MS, from, to, &hex(text))
        };
        let [one, two] = ["1", "2"].map(|middle| [before, middle, after].concat());
        let collected =
            play_surrounded(&[frame(0, true, request), frame(10, false, &one), frame(20, false, &two)]);
        let second = collected.frame(4);
        assert!(second.rules().iter().any(|id| id.ends_with("-TXN-001")), "{second:?}");
        assert_eq!((second.pairing.request_frame(4), second.pairing.exchange()), (None, None), "{request}");
        // A request that was sent twice may be answered twice.
        let twice = [
            frame(0, true, request),
            frame(1, true, request),
            frame(10, false, &one),
            frame(20, false, &two),
        ];
        let collected = play_surrounded(&twice);
        assert!(collected.frame(5).rules().iter().all(|id| !id.ends_with("-TXN-001")), "{request}");
    }
}
