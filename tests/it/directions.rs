//! Directions of datagrams: weak signs begin a conversation, strong ones decide its roles, and no datagram keeps a direction that
//! its own bytes contradict. Weak signs alone do not claim a datagram.

use crate::kit::play::{
    CLIENTS, Collected, MS, POLL, RawFrame, S, SERVER_ADDR, SQP_CHALLENGE, SQP_CHALLENGE_REPLY, SQP_QUERY,
    SQP_QUERY_REPLY, START, STATE, c, everything, foreign, play, report, s, surrounded, udp_frame,
};
use crate::kit::records;
use qdissect::classify::Choice;
use qdissect::exchange::{Outcome, Pairing};
use qdissect::net::Endpoint;
use qdissect::pipeline::Options;
use qdissect::protocols::Direction::{self, C2s, S2c};
use qdissect::protocols::{Id, Level};
use qdissect::report::summary::Summary;
use qdissect::rule::hex;

/// Message, direction and broken rules.
type ReportedMessage = (&'static str, Direction, Vec<&'static str>);

/// Plays datagrams ten milliseconds apart, long after the start and long before the end of the capture.
fn play_surrounded(sent: &[(Direction, &str)]) -> Collected<true> {
    let at = |n: usize| 10 * MS * n as i64;
    let one = |(n, (way, text)): (usize, &(Direction, &str))| match way {
        C2s => c(at(n), text),
        S2c => s(at(n), text),
    };
    let frames: Vec<RawFrame> = sent.iter().enumerate().map(one).collect();
    play(&surrounded(&frames)).0
}

fn reported(sent: &[(Direction, &str)]) -> Vec<ReportedMessage> {
    play_surrounded(sent).packets.iter().map(|p| (p.message, p.direction, p.rules())).collect()
}

const TOKEN: &str = "01 11001111 0001 01";
const ANSWER: &str = "01 11001111 0001 00 00 0012 0000000e 0001 0008 0141 0162 0163 0164 1e61";

#[test]
fn a_query_with_token_0_does_not_start_a_conversation() {
    let webex = format!("06 {}", "ab".repeat(41));
    let asks = |time, text: &str| udp_frame(START + time, CLIENTS[0], (SERVER_ADDR.0, 9_000), &hex(text));
    let answers = |time, text: &str| udp_frame(START + time, (SERVER_ADDR.0, 9_000), CLIENTS[0], &hex(text));
    let first = [asks(0, "01 00000000 0000 01"), answers(MS, "02 00000000 b89d01")];
    let more = (2..10).map(|n| if n % 2 == 0 { asks(n * MS, &webex) } else { answers(n * MS, &webex) });
    let frames: Vec<_> = first.into_iter().chain(more).chain([foreign(START + 60 * S)]).collect();
    let (collected, totals) = report(Options::default(), Collected::<true>::default(), &frames);
    assert_eq!((collected.packets.len(), collected.exchanges.len(), totals.findings.error), (0, 0, 0));
    let (collected, _) = play(&frames);
    let weak = (1, "query_request", Level::Low);
    assert_eq!(collected.packets.iter().map(|p| (p.frame, p.message, p.level)).collect::<Vec<_>>(), [weak]);
    // An answer with a correct length is a very strong sign, and so is the token 0 if it was issued.
    let zeros = |text: &str| text.replace("80902348", "00000000");
    let sure =
        |sent: &[(Direction, &str)]| play_surrounded(sent).packets.iter().all(|p| p.level == Level::High);
    assert!(sure(&[(C2s, &zeros(SQP_QUERY)), (S2c, &zeros(SQP_QUERY_REPLY))]));
    assert!(sure(&[(C2s, SQP_CHALLENGE), (S2c, SQP_CHALLENGE), (C2s, &zeros(SQP_QUERY))]));
    assert!(!sure(&[(C2s, &zeros(SQP_QUERY)), (S2c, &zeros(SQP_QUERY_REPLY).replace("0012", "0013"))]));
}

#[test]
fn a_single_answer_with_a_wrong_length_is_not_claimed() {
    // Calls and replies of NFS, DHCP, RADIUS, RIP, PTP and RTP look like this.
    for other in [
        SQP_QUERY_REPLY.replace("0012", "0013"),
        "01 01060039 0000 00 00 8000 00*20".into(),
        "01 c4000014 0000 00 00 0001 aa*30".into(),
    ] {
        assert_eq!(reported(&[(S2c, &other)]), [], "{other}");
        assert_eq!(reported(&[(C2s, &other), (S2c, &other)]), [], "{other}");
        let claimed = [(C2s, SQP_CHALLENGE), (S2c, SQP_CHALLENGE_REPLY), (C2s, SQP_QUERY), (S2c, &other)];
        assert_eq!(reported(&claimed)[3].0, "query_response", "there is a request");
    }
    // The sender of a request is not the server.
    assert_eq!(reported(&[(C2s, SQP_CHALLENGE), (C2s, &SQP_QUERY_REPLY.replace("0012", "0013"))]).len(), 1);
}

#[test]
fn strong_evidence_reverses_the_roles_of_a_weak_conversation() {
    let answered =
        [("query_request", C2s, vec!["SQP-TXN-002"]), ("query_response", S2c, vec!["SQP-SEC-001"])];
    let sent = [(C2s, "00 25000000"), (S2c, "00"), (C2s, TOKEN), (S2c, ANSWER)];
    let first = [("challenge_request", C2s, vec!["SQP-REQ-001"]), ("unknown", S2c, vec!["SQP-HDR-001"])];
    assert_eq!(reported(&sent), [&first[..], &answered].concat());
    // The zeros look like a request that the first datagram answers, until they prove to be the answer.
    let sent = [(C2s, "00 25000000"), (S2c, SQP_CHALLENGE), (C2s, TOKEN), (S2c, ANSWER)];
    let zeros = ("challenge_response", S2c, vec!["SQP-RSP-002"]);
    assert_eq!(reported(&sent), [&[first[0].clone(), zeros][..], &answered].concat());
    let collected = play_surrounded(&sent);
    let ends: Vec<_> = collected.exchanges.iter().map(|(e, _)| (e.request_frame, e.outcome)).collect();
    assert!(ends.contains(&(2, Outcome::Answered)) && ends.len() == 2, "{ends:?}");
    // The datagram that begins like an answer is a truncated query.
    let sent = [(S2c, "00 f73bb132"), (C2s, "01 80902300"), (C2s, "01 f73bb132 0001 01")];
    let cut = ("query_request", C2s, vec!["SQP-REQ-003", "SQP-TXN-001"]);
    let issued = ("challenge_response", S2c, vec!["SQP-TXN-005"]);
    assert_eq!(reported(&sent), [issued, cut, ("query_request", C2s, vec![])]);
}

#[test]
fn an_answer_before_its_request_is_paired_without_later_datagrams() {
    for zeros in ["00", SQP_CHALLENGE, "00*6"] {
        let collected = play_surrounded(&[(S2c, SQP_CHALLENGE_REPLY), (C2s, zeros)]);
        assert_eq!(collected.exchanges.len(), 1, "{zeros}");
        let e = &collected.exchanges[0].0;
        assert_eq!((e.request_frame, e.response_frame, e.level), (3, Some(2), Level::Medium), "{zeros}");
        assert_eq!(
            collected.packets.iter().map(|p| p.level).collect::<Vec<_>>(),
            [Level::Medium; 2],
            "{zeros}"
        );
    }
}

/// The token is pending behind a datagram of another server for longer than the window: its exchange has closed when the last
/// datagram decides the roles.
#[test]
fn a_request_that_is_decided_after_its_exchange_has_closed_keeps_it() {
    let (client, other, server) = (CLIENTS[0], (SERVER_ADDR.0, 27_100), (SERVER_ADDR.0, 7_777));
    let ping = "000000000000000000000001";
    let sent = [
        (0, client, other, ping),
        (0, client, server, "0012345678"),
        (1_985 * MS, client, other, "0180902348000301"),
        (2_000 * MS, client, other, ping),
        (2_003 * MS, client, other, "0180902348000121"),
        (2_014 * MS, server, client, "0180902348000000000a00000006000001016e00"),
        (4_981 * MS, client, server, "53414d50c000020a611e14c2a3d0454a69"),
        (5_000 * MS + 1, server, (client.0, 7_777), "ff*72"),
        (4_996 * MS, server, client, SQP_QUERY_REPLY),
    ];
    let frames: Vec<_> =
        sent.iter().map(|&(time, from, to, text)| udp_frame(START + time, from, to, &hex(text))).collect();
    records::check_records(everything(), &frames, true);
    let (collected, _) = play(&frames);
    let token = collected.packets.iter().find(|p| p.frame == 2).expect("it is reported");
    assert_eq!((token.message, token.direction), ("challenge_request", C2s));
    let of_token = collected.exchanges.iter().filter(|(e, _)| e.request_frame == 2);
    assert_eq!(of_token.map(|(e, _)| e.outcome).collect::<Vec<_>>(), [Outcome::Unanswered]);
}

#[test]
fn a_single_byte_from_the_server_does_not_answer_the_challenge() {
    for zeros in ["00", "0000"] {
        let collected = play_surrounded(&[(C2s, SQP_CHALLENGE), (S2c, zeros), (S2c, SQP_CHALLENGE_REPLY)]);
        let reported: Vec<_> =
            collected.packets.iter().map(|p| (p.message, p.direction, p.rules())).collect();
        let [request, response] = [("challenge_request", C2s), ("challenge_response", S2c)];
        let unknown = ("unknown", S2c, vec!["SQP-HDR-001"]);
        assert_eq!(
            reported,
            [(request.0, request.1, vec![]), unknown.clone(), (response.0, response.1, vec![])]
        );
        assert_eq!(collected.exchanges[0].0.response_frame, Some(4), "{zeros}");
        // Also without any other answer.
        let collected = play_surrounded(&[(C2s, SQP_CHALLENGE), (S2c, zeros), (C2s, TOKEN), (S2c, ANSWER)]);
        let reported: Vec<_> =
            collected.packets.iter().map(|p| (p.message, p.direction, p.rules())).collect();
        assert_eq!(reported[1], unknown);
        let ends: Vec<_> = collected.exchanges.iter().map(|(e, _)| (e.request_frame, e.outcome)).collect();
        assert!(
            ends.contains(&(2, Outcome::Unanswered)) && ends.contains(&(4, Outcome::Answered)),
            "{ends:?}"
        );
    }
}

#[test]
fn the_later_of_two_tokens_captured_before_their_requests_is_used() {
    let issued = ("challenge_response", S2c, vec!["SQP-TXN-005"]);
    let sent = [(S2c, "00 aaaaaaaa"), (S2c, "00 bbbbbbbb"), (C2s, "01 bbbbbbbb 0001 01")];
    assert_eq!(reported(&sent), [issued.clone(), issued, ("query_request", C2s, vec![])]);
}

#[test]
fn a_lone_token_and_a_query_with_it_are_one_conversation() {
    for (query, rule) in [
        ("01 80902348 0001 21", "SQP-REQ-009"),
        ("01 80902348 0003 01", "SQP-REQ-005"),
        ("01 80902348 0100 01", "SQP-REQ-006"),
        ("01 80902348 0001", "SQP-REQ-003"),
        ("01 80902348 0001 01 ff", "SQP-REQ-004"),
    ] {
        let collected = play_surrounded(&[(S2c, SQP_CHALLENGE_REPLY), (C2s, query), (S2c, SQP_QUERY_REPLY)]);
        let seen: Vec<_> = collected.packets.iter().map(|p| (p.message, p.direction, p.level)).collect();
        let messages = [("challenge_response", S2c), ("query_request", C2s), ("query_response", S2c)];
        assert_eq!(seen, messages.map(|(message, way)| (message, way, Level::High)), "{query}");
        assert_eq!(collected.frame(3).rules(), [rule], "{query}");
        assert_eq!(collected.exchanges[0].0.response_frame, Some(4), "{query}");
        // Another token proves nothing.
        let other = play_surrounded(&[(S2c, "00 70902348"), (C2s, query)]);
        assert!(other.packets.iter().all(|p| p.level == Level::Low), "{query}");
    }
}

#[test]
fn a_query_and_its_answer_decide_the_roles_against_weak_signs() {
    let weak = [
        "00",
        SQP_CHALLENGE,
        "00*6",
        "00 25000000",
        SQP_CHALLENGE_REPLY,
        "01 80902300",
        "02 80902348",
        "01 00000000 0000 01",
        "01 11223344 0000 00 00 0099 aa*9",
    ];
    let ways = [C2s, S2c];
    let one = || ways.into_iter().flat_map(|way| weak.map(|text| (way, text)));
    let strong = [(C2s, TOKEN), (S2c, ANSWER)];
    for first in one() {
        for second in one() {
            let collected = play_surrounded(&[&[first, second][..], &strong].concat());
            let [asks, answers] =
                [4, 5].map(|frame| (collected.frame(frame).message, collected.frame(frame).direction));
            let right = (asks, answers) == (("query_request", C2s), ("query_response", S2c));
            assert!(right, "{first:?}, {second:?}: {collected:#?}");
            // Each endpoint keeps its role, whatever it seemed to be at first; a reported pair stays a pair.
            let paired = collected.exchanges.iter().any(|(e, _)| e.client.port() == SERVER_ADDR.1);
            let sides = collected.packets.iter().all(|p| {
                (p.direction == C2s) == ([first, second, strong[0], strong[1]][p.frame as usize - 2].0 == C2s)
            });
            assert!(sides || paired, "{first:?}, {second:?}: {collected:#?}");
        }
    }
}

/// Both endpoints are servers. The answer of the first has no request in the capture, and then the first asks the second.
#[test]
fn server_names_stay_with_their_server_when_roles_are_reversed() {
    // The first answer proves its protocol with medium or high confidence.
    for begins in ["print", "statusResponse"] {
        let [first, second] = [([192, 0, 2, 10], 27_960), ([192, 0, 2, 20], 27_960)];
        let status = |name: &str| {
            let text = format!("{begins}\n\\mapname\\q3dm1\\sv_hostname\\{name}");
            [&[0xff; 4], text.as_bytes()].concat()
        };
        let frames = [
            foreign(START - 30 * S),
            udp_frame(START, first, second, &status("Alpha")),
            udp_frame(START + S, first, second, b"\xff\xff\xff\xffgetstatus\n"),
            udp_frame(START + S + MS, second, first, &status("Beta")),
        ];
        let (summary, _) = report(Options::default(), Summary::default(), &frames);
        let mut servers: Vec<_> = summary
            .servers()
            .map(|s| (s.endpoint, s.facts.server_name.as_ref().map(|name| name.text()), s.requests))
            .collect();
        servers.sort_by_key(|(endpoint, ..)| endpoint.to_string());
        let [first, second] = [first, second].map(|(ip, port)| Endpoint::v4(ip, port));
        let [alpha, beta] = ["Alpha", "Beta"].map(|name| Some(name.into()));
        assert_eq!(servers, [(first, alpha, 0), (second, beta, 1)], "{begins}");
    }
}

#[test]
fn a_pinned_port_may_be_that_of_a_client() {
    let at = |n: usize| START + 10 * MS * n as i64;
    let other = |port: u16| ([192, 0, 2, 20], port);
    for (id, talk) in [
        (Id::Sqp, &[SQP_CHALLENGE, SQP_CHALLENGE_REPLY, SQP_QUERY, SQP_QUERY_REPLY][..]),
        (Id::Satisfactory, &[POLL, STATE]),
    ] {
        for server in [other(9_000), other(SERVER_ADDR.1)] {
            let ways = [[SERVER_ADDR, server], [server, SERVER_ADDR]].into_iter().cycle();
            let sent = talk.iter().zip(ways).enumerate();
            let sent = sent.map(|(n, (text, [from, to]))| udp_frame(at(n), from, to, &hex(text)));
            let frames: Vec<_> = [foreign(START - 30 * S)].into_iter().chain(sent).collect();
            let choice = Choice { pins: vec![(SERVER_ADDR.1, id)], ..Choice::default() };
            let options = Options { choice, ..everything() };
            let (collected, totals) = report(options, Collected::<true>::default(), &frames);
            let reported: Vec<_> = collected.packets.iter().map(|p| p.direction).collect();
            assert_eq!(reported, [C2s, S2c].repeat(talk.len() / 2), "{id:?}");
            assert_eq!((totals.answered, totals.findings.error), (talk.len() as u64 / 2, 0), "{id:?}");
        }
    }
}

/// SA-MP: only the content shows that a datagram is an answer. Here the server of the first request asks as well.
#[test]
fn a_request_keeps_its_client_when_the_other_end_asks() {
    let asks = |time, from, to, opcode: &str| {
        udp_frame(START + time, from, to, &hex(&format!("53414d50 c000020a 611e {opcode}")))
    };
    let frames = [
        foreign(START - 30 * S),
        asks(0, SERVER_ADDR, CLIENTS[0], "70 01020304"),
        asks(300 * MS, CLIENTS[0], SERVER_ADDR, "63"),
        foreign(START + 60 * S),
    ];
    records::check_records(everything(), &frames, true);
    let (collected, _) = play(&frames);
    let [first, second] = [SERVER_ADDR, CLIENTS[0]].map(|(ip, port)| Endpoint::v4(ip, port));
    let mut asked: Vec<_> = collected.exchanges.iter().map(|(e, _)| (e.request_frame, e.client)).collect();
    asked.sort_by_key(|(frame, _)| *frame);
    assert_eq!(asked, [(2, first), (3, second)]);
}

#[test]
fn an_answer_does_not_answer_a_request_of_its_own_sender() {
    let (collected, _) = play(&[s(0, SQP_QUERY_REPLY), s(5 * MS, SQP_QUERY), c(6 * MS, SQP_QUERY_REPLY)]);
    assert!(matches!(collected.frame(1).pairing, Pairing::Unsolicited { .. }), "{collected:#?}");
    assert!(matches!(collected.frame(3).pairing, Pairing::Answered(a) if a.request_frame == 2));
}
