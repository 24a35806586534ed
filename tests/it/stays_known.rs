//! The state of a conversation is kept: between the polls of a slow client, until a late answer, and for a second answer.

use crate::kit::play::{
    CLIENTS, Collected, GQP_IDENTIFY, GQP_IDENTIFY_REPLY, MS, POLL, RawFrame, S, SERVER_ADDR, SQP_CHALLENGE,
    SQP_CHALLENGE_REPLY, SQP_QUERY, SQP_QUERY_REPLY, START, STATE, c, foreign, play, report, s, surrounded,
    udp_frame,
};
use qdissect::exchange::{Outcome, Pairing};
use qdissect::pipeline::Options;
use qdissect::protocols::Level;
use qdissect::rule::hex;

/// Frames, messages and broken rules, with foreign datagrams long before and after.
fn messages_and_rules(frames: &[RawFrame]) -> Vec<(u64, &'static str, Vec<&'static str>)> {
    let all = [&[foreign(START - 30 * S)], frames, &[foreign(START + 600 * S)]].concat();
    let (collected, totals) = report(Options::default(), Collected::<true>::default(), &all);
    assert_eq!((totals.evicted, totals.memory_forgotten), (0, 0));
    collected.packets.iter().map(|p| (p.frame, p.message, p.rules())).collect()
}

const SQP: [(i64, bool, &str); 4] = [
    (0, true, SQP_CHALLENGE),
    (MS, false, SQP_CHALLENGE_REPLY),
    (2 * MS, true, SQP_QUERY),
    (3 * MS, false, SQP_QUERY_REPLY),
];

fn sqp() -> Vec<RawFrame> {
    SQP.map(|(at, asks, text)| if asks { c(at, text) } else { s(at, text) }).to_vec()
}

#[test]
fn faults_are_reported_up_to_a_minute_after_the_last_datagram() {
    let fault = |frame| (frame, "unknown", vec!["SQP-HDR-002"]);
    for pause in [5_200 * MS, 30 * S, 60 * S] {
        let frames = [&sqp()[..], &[c(pause, "02 00000000")]].concat();
        assert_eq!(messages_and_rules(&frames)[4..], [fault(6)], "{pause} ns");
    }
    let late = [&sqp()[..], &[c(60 * S + 10 * MS, "02 00000000")]].concat();
    assert_eq!(messages_and_rules(&late).len(), 4);
    // Each datagram counts.
    let each = [&sqp()[..], &[30, 80, 130].map(|at| c(at * S, "02 00000000"))].concat();
    assert_eq!(messages_and_rules(&each)[4..], [6, 7, 8].map(fault));
    // With any other traffic, as long as there is room.
    let end = |n: i64| ([10, 0, (n >> 8) as u8, n as u8], 9);
    let others = (0..4_000).flat_map(|n| {
        let at = START + 10 * S + n * MS;
        [
            udp_frame(at, end(n), SERVER_ADDR, &hex(POLL)),
            udp_frame(at + MS / 2, SERVER_ADDR, end(n), &hex(STATE)),
        ]
    });
    let busy: Vec<_> = sqp().into_iter().chain(others).chain([c(50 * S, "02 00000000")]).collect();
    assert_eq!(messages_and_rules(&busy).last(), Some(&fault(8_006)));
}

#[test]
fn clients_that_poll_every_thirty_seconds_are_judged_normally() {
    let unanswered = (0..22).map(|n| c(n * 30 * S, &POLL.replace("ef", &format!("{n:02x}"))));
    let all: Vec<_> = [foreign(START - 30 * S)].into_iter().chain(unanswered).collect();
    let (collected, _) = play(&all);
    let too_many: Vec<_> =
        collected.packets.iter().filter(|p| p.rules().contains(&"SFQ-TXN-009")).map(|p| p.frame).collect();
    assert_eq!(too_many, [22], "more than twenty in a row, and said once");
}

#[test]
fn uncertain_conversations_are_forgotten_soon() {
    let frames = [c(0, SQP_CHALLENGE), c(30 * S, "02 80902348"), s(30 * S + MS, "02 80902348")];
    let (collected, _) = play(&[&frames[..], &[foreign(START + 60 * S)]].concat());
    assert_eq!(collected.packets.len(), 1);
}

#[test]
fn a_late_answer_promotes_its_request() {
    for (pause, rules) in
        [(900 * MS, vec![]), (1_500 * MS, vec!["SQP-TXN-016"]), (5 * S, vec!["SQP-TXN-016"])]
    {
        let frames = [c(0, SQP_CHALLENGE), s(pause, SQP_CHALLENGE_REPLY)];
        let pair = [(2, "challenge_request", vec![]), (3, "challenge_response", rules)];
        assert_eq!(messages_and_rules(&frames), pair, "{pause} ns");
        // With any traffic in between.
        let between = (1..9).map(|n| foreign(START + n * pause / 10));
        let frames: Vec<_> =
            [c(0, SQP_CHALLENGE)].into_iter().chain(between).chain([s(pause, SQP_CHALLENGE_REPLY)]).collect();
        assert_eq!(messages_and_rules(&frames).len(), 2, "{pause} ns");
    }
    let (collected, totals) =
        play(&[c(0, SQP_CHALLENGE), s(1_500 * MS, SQP_CHALLENGE_REPLY), foreign(START + 60 * S)]);
    assert_eq!((collected.exchanges[0].0.outcome, totals.late), (Outcome::Late, 1));
    assert!(collected.packets.iter().all(|p| p.level == Level::Medium));
}

/// SQP: a token of 0 makes the challenge response equal to its request.
#[test]
fn zeros_answer_a_challenge_of_another_client_of_a_known_server() {
    let at = |ms: i64| START + ms * MS;
    let zeros = [
        udp_frame(at(100), CLIENTS[1], SERVER_ADDR, &hex(SQP_CHALLENGE)),
        udp_frame(at(101), SERVER_ADDR, CLIENTS[1], &hex(SQP_CHALLENGE)),
    ];
    let pair = [(6, "challenge_request", vec![]), (7, "challenge_response", vec!["SQP-RSP-002"])];
    assert_eq!(messages_and_rules(&[&sqp()[..], &zeros].concat())[4..], pair);
    // There was no request.
    assert_eq!(messages_and_rules(&[&sqp()[..], &zeros[1..]].concat()).len(), 4);
}

#[test]
fn a_request_that_was_evicted_is_counted_when_it_is_answered() {
    let end = |n: u32| ([10, 0, (n >> 8) as u8, n as u8], 9);
    for (others, answered, counted) in [(16_000, true, 0), (17_000, false, 0), (17_000, true, 1)] {
        let mut frames = vec![c(0, SQP_CHALLENGE)];
        frames.extend((0..others).map(|n| udp_frame(START + 1_200 * MS, end(n), SERVER_ADDR, &hex(POLL))));
        frames.extend(answered.then(|| s(1_500 * MS, SQP_CHALLENGE_REPLY)));
        let (_, totals) = play(&frames);
        assert_eq!(totals.waiting_overflow, counted, "{others} behind it");
    }
}

#[test]
fn a_number_sign_instead_of_the_end_is_always_reported() {
    let part = "6964656e74 23";
    let rules_of = |frames: &[RawFrame]| -> Vec<_> {
        let (collected, _) = play(&[frames, &[foreign(START + 60 * S)]].concat());
        collected.packets.iter().map(|p| p.rules()).filter(|rules| rules.contains(&"GQP-FRM-005")).collect()
    };
    let goes_on = [c(0, part), c(MS, "696679 04"), s(2 * MS, GQP_IDENTIFY_REPLY)];
    assert_eq!(rules_of(&goes_on), [vec!["GQP-FRM-003", "GQP-FRM-005"]]);
    // Nothing continues it, so it has no end.
    let alone = [vec!["GQP-FRM-005", "GQP-FRM-001"]];
    assert_eq!(rules_of(&[c(0, GQP_IDENTIFY), s(MS, GQP_IDENTIFY_REPLY), c(2 * MS, part)]), alone);
    assert_eq!(rules_of(&[c(0, part), c(MS, GQP_IDENTIFY), s(2 * MS, GQP_IDENTIFY_REPLY)]), alone);
    assert_eq!(rules_of(&[c(0, "6964656e74696679 23"), s(MS, GQP_IDENTIFY_REPLY)]), alone);
    assert_eq!(
        rules_of(&[c(0, "6563686f 1e 61 23 04"), s(MS, "3130 6563686f 1e 11 61 23 04")]),
        [[""; 0]; 0]
    );
}

#[test]
fn a_second_short_answer_of_the_old_protocol_is_an_answer() {
    let (poll, state) = ("0000 efcdab8967452301", "0100 efcdab8967452301 03");
    let (collected, _) = play(&[c(0, poll), s(MS, state), s(2 * MS, state), foreign(START + 60 * S)]);
    let answers: Vec<_> = collected.packets.iter().skip(1).map(|p| (p.message, p.level)).collect();
    assert_eq!(answers, [("legacy_state_response", Level::High); 2]);
    assert!(
        matches!(collected.frame(3).pairing, Pairing::DuplicateResponse { of: 2, .. }),
        "{:?}",
        collected.frame(3)
    );
    // The same for the next poll and its answer, and for other servers.
    let other = udp_frame(START + 3 * MS, CLIENTS[1], SERVER_ADDR, &hex(poll));
    let (collected, _) = play(&[
        c(0, poll),
        s(MS, state),
        other,
        udp_frame(START + 4 * MS, SERVER_ADDR, CLIENTS[1], &hex(state)),
    ]);
    assert_eq!(collected.frame(4).message, "legacy_state_response");
}

#[test]
fn an_answer_that_nothing_confirms_waits_a_second_for_its_conversation() {
    let challenge = |time, value: &str| s(time, &format!("ffffffff 41 {value}"));
    let is_shown = |time| {
        // The second one shows no more than the first.
        let frames = [challenge(0, "c3192a4b"), challenge(time, "11111111"), c(time, "ffffffff 55 ffffffff")];
        let (collected, _) = report(Options::default(), Collected::<true>::default(), &surrounded(&frames));
        collected.packets.iter().any(|p| p.frame == 2)
    };
    assert_eq!([S, S + 1].map(is_shown), [true, false]);
}
