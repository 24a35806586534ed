//! Causes of missing and broken answers: only datagrams of the same exchange are causes. Datagrams that are not shown have no
//! findings.

use crate::kit::play::{
    CLIENTS, Collected, GQP_IDENTIFY, GQP_IDENTIFY_REPLY, MS, POLL, RawFrame, S, SQP_CHALLENGE,
    SQP_CHALLENGE_REPLY, SQP_QUERY, SQP_QUERY_REPLY, START, STATE, c, everything, foreign, lines,
    play_surrounded, report, s, surrounded, udp_frame,
};
use qdissect::pipeline::Options;
use qdissect::report::{Packet, Report, Wants};
use qdissect::rule::hex;
use std::io;

/// Sky Co-op: a query, and truncated replies.
const SKY_QUERY: &str = "feffffff";
const CUT_REPLY: &str = "93000000 02000000 41000300";
const SINGLE_BYTE: &str = "93";

/// A broken rule, and the rule and the frame of what caused it.
type FindingSummary = (&'static str, Option<(&'static str, u64)>);

/// The findings of exchanges, by the frames of their requests.
fn silences(frames: &[RawFrame]) -> Vec<(u64, FindingSummary)> {
    let collected = play_surrounded(frames);
    let by_frame = collected.exchanges.iter().flat_map(|(e, findings)| {
        let cause = |f: &qdissect::check::Finding| f.caused_by.map(|cause| (cause.rule.id, cause.frame));
        findings.iter().map(move |f| (e.request_frame, (f.rule.id, cause(f))))
    });
    let mut by_frame: Vec<_> = by_frame.collect();
    by_frame.sort_by_key(|(frame, _)| *frame);
    by_frame
}

/// The findings of a datagram and what caused them.
fn findings(collected: &Collected<true>, frame: u64) -> Vec<FindingSummary> {
    let found = collected.frame(frame).findings.iter();
    found.map(|f| (f.rule.id, f.caused_by.map(|cause| (cause.rule.id, cause.frame)))).collect()
}

#[test]
fn an_answer_does_not_explain_the_silence_of_another_query() {
    let silent = silences(&[c(0, SKY_QUERY), c(20 * MS, SKY_QUERY), s(30 * MS, CUT_REPLY)]);
    assert_eq!(silent, [(3, ("SKY-TXN-002", None))]);
    // One byte answers nothing.
    let silent = silences(&[c(0, SKY_QUERY), s(30 * MS, SINGLE_BYTE)]);
    assert_eq!(silent, [(2, ("SKY-TXN-002", Some(("SKY-RSP-002", 3))))]);
}

#[test]
fn a_wrong_answer_explains_the_silence_of_the_open_query() {
    let silent = silences(&[c(0, SKY_QUERY), c(3 * S, SKY_QUERY), s(3 * S + MS, SINGLE_BYTE)]);
    assert_eq!(silent, [(2, ("SKY-TXN-002", None)), (3, ("SKY-TXN-002", Some(("SKY-RSP-002", 4))))]);
}

#[test]
fn the_first_wrong_answer_is_the_cause_for_the_first_open_query() {
    let instead = |frame| Some(("SKY-RSP-002", frame));
    let silent = silences(&[c(0, SKY_QUERY), s(20 * MS, SINGLE_BYTE), s(30 * MS, SINGLE_BYTE)]);
    assert_eq!(silent, [(2, ("SKY-TXN-002", instead(3)))]);
    let silent = silences(&[c(0, SKY_QUERY), c(20 * MS, SKY_QUERY), s(30 * MS, SINGLE_BYTE)]);
    assert_eq!(silent, [(2, ("SKY-TXN-002", instead(4))), (3, ("SKY-TXN-002", None))]);
}

/// What is undecided keeps the datagrams behind it waiting, longer than their exchanges stay open.
#[test]
fn what_came_instead_did_so_whatever_else_waits_in_the_capture() {
    let nothing = foreign(START - MS);
    // The beginning of a GQP command may be answered within ten seconds, an SQP request within five.
    let undecided = udp_frame(START - MS, CLIENTS[1], ([192, 0, 2, 77], 9_000), &hex("6964656e74 23"));
    let its = [
        c(0, SQP_CHALLENGE),
        s(MS, "02 80902348"),
        c(20 * MS, SQP_QUERY),
        s(30 * MS, SQP_QUERY_REPLY),
        foreign(START + 6 * S),
    ];
    for first in [nothing, undecided] {
        let silent = silences(&[&[first][..], &its].concat());
        let its: Vec<_> = silent.into_iter().filter(|(frame, _)| *frame > 2).collect();
        assert_eq!(its, [(3, ("SQP-TXN-009", Some(("SQP-HDR-002", 4))))]);
    }
}

#[test]
fn of_causes_in_several_datagrams_the_earliest_is_named() {
    let (cut, unended) = ("d5f6 01 01 efcdab89 01", "d5f6 00 01 efcdab8967452301 00");
    let silent = silences(&[c(0, POLL), s(MS, cut), c(S, unended)]);
    assert_eq!(silent, [(2, ("SFQ-TXN-003", Some(("SFQ-RSP-001", 3))))]);
    let silent = silences(&[c(0, unended), s(MS, cut), c(S, unended)]);
    assert_eq!(silent, [(2, ("SFQ-TXN-003", Some(("SFQ-ENV-005", 2))))]);
}

#[test]
fn a_fault_of_a_request_explains_more_than_what_is_legal_in_it() {
    let asks = |text: &str| silences(&[c(0, SQP_CHALLENGE), s(MS, SQP_CHALLENGE_REPLY), c(2 * MS, text)]);
    // To ask for players is legal, though many servers answer no such query. The other token is nobody's.
    assert_eq!(asks("01 80902348 0001 04"), [(4, ("SQP-TXN-009", Some(("SQP-REQ-010", 4))))]);
    assert_eq!(asks("01 11111111 0001 04"), [(4, ("SQP-TXN-009", Some(("SQP-TXN-001", 4))))]);
}

#[test]
fn of_the_faults_of_an_answer_the_first_has_symptoms() {
    // A version that nobody speaks, and a surplus, which the client reads as a token.
    let broken = format!("{} ee000000000000", SQP_QUERY_REPLY.replacen("0001", "0003", 1));
    let next = [
        c(S, SQP_CHALLENGE),
        s(S + MS, &SQP_CHALLENGE_REPLY.replace("80", "70")),
        c(S + 2 * MS, "01 ee000000 0001 01"),
    ];
    let heard = play_surrounded(
        &[
            &[c(0, SQP_CHALLENGE), s(MS, SQP_CHALLENGE_REPLY), c(2 * MS, SQP_QUERY), s(3 * MS, &broken)],
            &next[..],
        ]
        .concat(),
    );
    assert_eq!(heard.frame(5).rules(), ["SQP-RSP-004", "SQP-TXN-010", "SQP-RSP-008"]);
    assert_eq!(findings(&heard, 8), [("SQP-TXN-001", Some(("SQP-RSP-004", 5)))]);
}

#[test]
fn of_two_causes_in_one_answer_the_first_is_named() {
    // The packet is longer than the datagram, the chunk longer than the packet, and the numbers of players are cut.
    let cut = "01 80902348 0001 00 00 0012 000000c8 0001";
    let heard = play_surrounded(&[
        c(0, SQP_CHALLENGE),
        s(MS, SQP_CHALLENGE_REPLY),
        c(2 * MS, SQP_QUERY),
        s(3 * MS, cut),
    ]);
    let long = Some(("SQP-RSP-007", 5));
    assert_eq!(findings(&heard, 5), [("SQP-RSP-007", None), ("SQP-CHK-002", long), ("SQP-INF-001", long)]);
}

#[test]
fn a_broken_answer_has_symptoms_until_the_client_has_come_through() {
    let first = [
        c(0, SQP_CHALLENGE),
        s(MS, SQP_CHALLENGE_REPLY),
        c(2 * MS, SQP_QUERY),
        s(3 * MS, &format!("{SQP_QUERY_REPLY} ee")),
    ];
    let wrong = |at, token: &str| {
        let issued = SQP_CHALLENGE_REPLY.replace("8090", token);
        [c(at, SQP_CHALLENGE), s(at + MS, &issued), c(at + 2 * MS, "01 ee000000 0001 01")]
    };
    let heard = play_surrounded(&[&first[..], &wrong(6 * S, "7071"), &wrong(12 * S, "7072")].concat());
    for frame in [8, 11] {
        assert_eq!(findings(&heard, frame)[0], ("SQP-TXN-001", Some(("SQP-RSP-008", 5))), "{frame}");
    }
}

#[test]
fn what_a_reply_has_to_repeat_excuses_no_silence() {
    let silent = silences(&[c(0, GQP_IDENTIFY), s(MS, GQP_IDENTIFY_REPLY), c(S, "636166e9 04")]);
    assert_eq!(silent, [(4, ("GQP-TXN-008", None))]);
}

/// Takes every remark, as `check` does: its frame, its rule, and whether it was made before.
#[derive(Default)]
struct Remarks(Vec<(u64, &'static str, bool)>);

impl Report for Remarks {
    fn wants(&self) -> Wants {
        Wants { repeat_remarks: true, ..Wants::default() }
    }
    fn packet(&mut self, p: &Packet<'_>) -> io::Result<()> {
        let remarks = p.findings.iter().filter(|f| f.rule.per_server && !f.rule.id.starts_with("GEN-"));
        self.0.extend(remarks.map(|f| (p.datagram.frame, f.rule.id, f.repeated)));
        Ok(())
    }
}

#[test]
fn a_remark_is_made_again_only_about_the_same_server() {
    let elsewhere = ([192, 0, 2, 77], 9_000);
    let there = |at, text: &str| udp_frame(START + at, CLIENTS[0], elsewhere, &hex(text));
    let back = |at, text: &str| udp_frame(START + at, elsewhere, CLIENTS[0], &hex(text));
    let players = "01 80902348 0001 04";
    let first = [
        c(0, SQP_CHALLENGE),
        s(MS, SQP_CHALLENGE_REPLY),
        c(2 * MS, players),
        there(S, SQP_CHALLENGE),
        back(S + MS, SQP_CHALLENGE_REPLY),
    ];
    let shots = [&first[..], &[there(S + 2 * MS, players), c(2 * S, players)]].concat();
    let (Remarks(remarks), totals) = report(everything(), Remarks::default(), &surrounded(&shots));
    let expected = [4, 7, 8].map(|frame| (frame, "SQP-REQ-010", frame == 8));
    assert_eq!(remarks, expected);
    assert_eq!(totals.findings.note, 2 + 1, "the last one repeats the first one");
}

/// A symptom counts nowhere, so what it says of a server has not been said yet.
#[test]
fn a_remark_is_made_although_a_symptom_said_the_same_before() {
    // Two players without names, in two parts; the first one comes twice, and differs.
    let parts = [
        "feffffff 07000000 02 00 0f00 ffffffff 44 02 00 00 01000000 00007042",
        "feffffff 07000000 02 00 0f00 ffffffff 44 02 00 00 01000000 00007043",
        "feffffff 07000000 02 01 0f00 00 00 00000000 0000a040",
    ];
    let whole = "ffffffff 44 02 00 00 01000000 00007042 00 00 00000000 0000a040";
    let [ask, challenge, proven] = ["ffffffff 55 ffffffff", "ffffffff 41 c3192a4b", "ffffffff 55 c3192a4b"];
    let asked = |at| [c(at, ask), s(at + MS, challenge), c(at + 2 * MS, proven)];
    let told = (3..).zip(parts).map(|(ms, part)| s(ms * MS, part)).collect::<Vec<_>>();
    let shots = [&asked(0)[..], &told, &asked(5 * S), &[s(5 * S + 3 * MS, whole)]].concat();
    let heard = play_surrounded(&shots);
    assert_eq!(findings(&heard, 7), [("A2S-PLY-003", Some(("A2S-SPL-004", 6)))]);
    assert_eq!(findings(&heard, 11), [("A2S-PLY-003", None)]);
    let (Remarks(remarks), totals) = report(everything(), Remarks::default(), &surrounded(&shots));
    assert_eq!(remarks, [7, 11].map(|frame| (frame, "A2S-PLY-003", false)));
    let (_, ordered) = report(everything(), Collected::<true>::default(), &surrounded(&shots));
    assert_eq!(format!("{:?}", totals.findings), format!("{:?}", ordered.findings));
}

#[test]
fn an_answer_with_a_wrong_token_does_not_explain_an_unanswered_challenge() {
    let wrong = SQP_QUERY_REPLY.replace("80902348", "22222222");
    let answered = [
        c(300 * MS, SQP_CHALLENGE),
        s(310 * MS, SQP_CHALLENGE_REPLY),
        c(320 * MS, SQP_QUERY),
        s(330 * MS, &wrong),
    ];
    let silent = silences(&[&[c(0, SQP_CHALLENGE)], &answered[..]].concat());
    assert_eq!(silent, [(2, ("SQP-TXN-009", None)), (5, ("SQP-TXN-009", Some(("SQP-TXN-004", 6))))]);
}

#[test]
fn an_answer_with_a_truncated_cookie_explains_the_silence_of_an_earlier_poll() {
    let cut = "d5f6 01 01 efcdab89 01";
    let silent = silences(&[c(0, POLL), s(MS, cut)]);
    assert_eq!(silent, [(2, ("SFQ-TXN-003", Some(("SFQ-RSP-001", 3))))]);
    let silent = silences(&[c(0, POLL), s(MS, STATE), s(S, cut), c(S + MS, &POLL.replace("efcd", "0000"))]);
    assert_eq!(silent, [(5, ("SFQ-TXN-003", None))], "the poll came behind it");
    // An answer with the complete cookie of another poll belongs to that poll.
    let silent = silences(&[c(0, POLL), s(MS, "d5f6 01 01 0200000000000000 03 7a01")]);
    assert_eq!(silent, [(2, ("SFQ-TXN-003", None))]);
}

#[test]
fn a_bad_byte_in_an_argument_does_not_explain_one_in_the_reply() {
    let collected =
        play_surrounded(&[c(0, "6563686f 1e 636166e9 04"), s(MS, "3130 6563686f 1e 11 636166e9 04")]);
    assert_eq!(findings(&collected, 2), [("GQP-CHR-002", None)]);
    assert_eq!(findings(&collected, 3), [("GQP-CHR-002", None), ("GEN-007", None)]);
    // The name of a command must be repeated, but not its values.
    let named = [c(S, "636166e9 04"), s(S + MS, "3130 636166e9 1e 11 e9 04")];
    let collected = play_surrounded(&[&[c(0, GQP_IDENTIFY), s(MS, GQP_IDENTIFY_REPLY)], &named[..]].concat());
    assert_eq!(findings(&collected, 5), [("GQP-CHR-002", Some(("GQP-CHR-002", 4))), ("GQP-CHR-002", None)]);
    // Nor is a bad byte in an argument a cause for one in the name.
    let mixed = [c(S, "6563686f 1e e9 04"), s(S + MS, "3130 636166e9 1e 11 e9 04")];
    let collected = play_surrounded(&[&[c(0, GQP_IDENTIFY), s(MS, GQP_IDENTIFY_REPLY)], &mixed[..]].concat());
    assert!(findings(&collected, 5).iter().all(|(_, cause)| cause.is_none()), "{collected:#?}");
}

/// A datagram that is not confirmed in time, followed by a correct conversation of the same endpoints.
fn unconfirmed(first: &str, pause: i64, conversation: &[&str]) -> Vec<RawFrame> {
    let good = conversation.iter().enumerate().map(|(i, text)| {
        let at = pause + i as i64 * MS;
        if i % 2 == 0 { c(at, text) } else { s(at, text) }
    });
    surrounded(&[vec![c(0, first)], good.collect()].concat())
}

#[test]
fn hidden_requests_have_no_findings() {
    let gqp = unconfirmed("6964656e74 23", 11 * S, &[GQP_IDENTIFY, GQP_IDENTIFY_REPLY]);
    let sqp =
        unconfirmed(SQP_CHALLENGE, 6 * S, &[SQP_CHALLENGE, SQP_CHALLENGE_REPLY, SQP_QUERY, SQP_QUERY_REPLY]);
    for (frames, good) in [(gqp, 1), (sqp, 2)] {
        let (collected, totals) = report(Options::default(), Collected::<true>::default(), &frames);
        assert!(collected.packets.iter().all(|p| p.frame > 2), "{collected:#?}");
        let asked: Vec<_> = collected.exchanges.iter().map(|(e, f)| (e.request_frame, f.len())).collect();
        assert!(asked.iter().all(|(frame, findings)| *frame > 2 && *findings == 0), "{asked:?}");
        assert_eq!((totals.exchanges, totals.answered), (good, good));
        let (_, unordered) = report(Options::default(), Collected::<false>::default(), &frames);
        assert_eq!(format!("{unordered:?}"), format!("{totals:?}"));
        let records = lines(Options::default(), &frames);
        let of_it = |r: &serde_json::Value| r["frame"] == 2 || r["request_frame"] == 2;
        assert!(!records.lines().map(|l| l.parse().expect("JSON")).any(|r| of_it(&r)), "{records}");
    }
}

#[test]
fn findings_of_requests_are_on_shown_requests() {
    // While its answer may come, a correct exchange of the same endpoints confirms the datagram that begins like a command.
    for seconds in 1..12 {
        let frames = unconfirmed("6964656e74 23", seconds * S, &[GQP_IDENTIFY, GQP_IDENTIFY_REPLY]);
        let (collected, _) = report(Options::default(), Collected::<true>::default(), &frames);
        let shown = |frame| collected.packets.iter().any(|p| p.frame == frame);
        assert!(
            collected.exchanges.iter().all(|(e, _)| shown(e.request_frame)),
            "{seconds} s: {collected:#?}"
        );
    }
}

#[test]
fn shown_requests_are_reported_when_unanswered() {
    let frames =
        unconfirmed(SQP_CHALLENGE, 6 * S, &[SQP_CHALLENGE, SQP_CHALLENGE_REPLY, SQP_QUERY, SQP_QUERY_REPLY]);
    let (collected, totals) = report(everything(), Collected::<true>::default(), &frames);
    assert_eq!((collected.frame(2).message, totals.exchanges), ("challenge_request", 3));
}

#[test]
fn a_wrong_answer_comes_instead_of_the_oldest_that_is_awaited_then() {
    let explained = |time| {
        let silent = silences(&[c(0, SKY_QUERY), c(20 * MS, SKY_QUERY), s(time, SINGLE_BYTE)]);
        silent.into_iter().find(|(_, (_, cause))| cause.is_some()).map(|(request, _)| request)
    };
    assert_eq!([5 * S, 5 * S + 1].map(explained), [Some(2), Some(3)]);
}

#[test]
fn the_same_fault_in_every_part_of_a_request_is_remembered_once() {
    let known = [c(0, GQP_IDENTIFY), s(MS, GQP_IDENTIFY_REPLY)];
    let part = |n: i64| c(S + n * MS, "636166e9 1d");
    let parts = (0..4).map(part).chain([c(S + 4 * MS, "636166e9 1d 07 1e 17 04")]).collect();
    let silent = silences(&[known.to_vec(), parts].concat());
    assert_eq!(silent, [(4, ("GQP-TXN-008", Some(("GQP-CHR-001", 8))))], "there is room for its cause");
}

#[test]
fn the_symptoms_of_a_broken_answer_have_no_symptoms_themselves() {
    let cause = |packets: &str| {
        let broken = format!("01 80902348 0001 {packets} 0012 0000000f 0001 0008 0141 0162 0163 0164 1e61");
        let collected = play_surrounded(&[
            c(0, SQP_CHALLENGE),
            s(MS, SQP_CHALLENGE_REPLY),
            c(2 * MS, SQP_QUERY),
            s(3 * MS, &broken),
            c(6 * S, SQP_CHALLENGE),
            s(6 * S + MS, &SQP_CHALLENGE_REPLY.replace("8090", "7071")),
            c(6 * S + 2 * MS, "01 ee000000 0001 01"),
        ]);
        findings(&collected, 8)[0]
    };
    assert_eq!(cause("00 00"), ("SQP-TXN-001", Some(("SQP-CHK-002", 5))));
    assert_eq!(cause("00 01"), ("SQP-TXN-001", None), "the rest is in another packet");
}

#[test]
fn a_retransmission_does_not_show_that_a_client_has_come_through() {
    let again = "01 80902348 0001 02";
    let frames = [
        c(0, SQP_CHALLENGE),
        s(MS, SQP_CHALLENGE_REPLY),
        c(2 * MS, SQP_QUERY),
        c(3 * MS, again),
        s(4 * MS, &format!("{SQP_QUERY_REPLY} ee")),
        c(500 * MS, again),
        c(6 * S, SQP_CHALLENGE),
        s(6 * S + MS, &SQP_CHALLENGE_REPLY.replace("8090", "7071")),
        c(6 * S + 2 * MS, "01 ee000000 0001 01"),
    ];
    let heard = play_surrounded(&frames);
    assert_eq!(findings(&heard, 10)[0], ("SQP-TXN-001", Some(("SQP-RSP-008", 6))));
}
