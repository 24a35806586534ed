//! What is known of a conversation lasts: between the polls of a patient client, until a slow answer, and for a second
//! answer as for the first.

use crate::kit::play::{
    CLIENTS, Collected, END, H1, H2, ID, IDR, MS, OK, POLL, QI, S, START, STATE, Shot, c, foreign, play,
    report, s, shot,
};
use qdissect::exchange::{Outcome, Pairing};
use qdissect::pipeline::Options;
use qdissect::protocols::Level;
use qdissect::rule::hex;

/// Frames, messages and broken rules, with foreign datagrams far before and behind.
fn told(shots: &[Shot]) -> Vec<(u64, &'static str, Vec<&'static str>)> {
    let all = [&[foreign(START - 30 * S)], shots, &[foreign(START + 600 * S)]].concat();
    let (heard, totals) = report(Options::default(), Collected::<true>::default(), &all);
    assert_eq!((totals.evicted, totals.memory_forgotten), (0, 0));
    heard.packets.iter().map(|p| (p.frame, p.message, p.rules())).collect()
}

const SQP: [(i64, bool, &str); 4] = [(0, true, H1), (MS, false, H2), (2 * MS, true, QI), (3 * MS, false, OK)];

fn sqp() -> Vec<Shot> {
    SQP.map(|(at, asks, text)| if asks { c(at, text) } else { s(at, text) }).to_vec()
}

#[test]
fn a_fault_is_told_up_to_a_minute_after_the_last_datagram() {
    let fault = |frame| (frame, "unknown", vec!["SQP-HDR-002"]);
    for pause in [5_200 * MS, 30 * S, 60 * S] {
        let shots = [&sqp()[..], &[c(pause, "02 00000000")]].concat();
        assert_eq!(told(&shots)[4..], [fault(6)], "{pause} ns");
    }
    let late = [&sqp()[..], &[c(60 * S + 10 * MS, "02 00000000")]].concat();
    assert_eq!(told(&late).len(), 4);
    // Each datagram counts.
    let each = [&sqp()[..], &[30, 80, 130].map(|at| c(at * S, "02 00000000"))].concat();
    assert_eq!(told(&each)[4..], [6, 7, 8].map(fault));
    // Whatever else passes, as long as there is room.
    let end = |n: i64| ([10, 0, (n >> 8) as u8, n as u8], 9);
    let others = (0..4_000).flat_map(|n| {
        let at = START + 10 * S + n * MS;
        [shot(at, end(n), END, &hex(POLL)), shot(at + MS / 2, END, end(n), &hex(STATE))]
    });
    let busy: Vec<_> = sqp().into_iter().chain(others).chain([c(50 * S, "02 00000000")]).collect();
    assert_eq!(told(&busy).last(), Some(&fault(8_006)));
}

#[test]
fn who_polls_every_thirty_seconds_is_judged_like_others() {
    let unanswered = (0..22).map(|n| c(n * 30 * S, &POLL.replace("ef", &format!("{n:02x}"))));
    let all: Vec<_> = [foreign(START - 30 * S)].into_iter().chain(unanswered).collect();
    let (heard, _) = play(&all);
    let too_many: Vec<_> =
        heard.packets.iter().filter(|p| p.rules().contains(&"SFQ-TXN-009")).map(|p| p.frame).collect();
    assert_eq!(too_many, [22], "more than twenty in a row, and said once");
}

#[test]
fn who_was_never_certain_is_not_known_for_long() {
    let shots = [c(0, H1), c(30 * S, "02 80902348"), s(30 * S + MS, "02 80902348")];
    let (heard, _) = play(&[&shots[..], &[foreign(START + 60 * S)]].concat());
    assert_eq!(heard.packets.len(), 1);
}

#[test]
fn a_slow_answer_promotes_its_request_too() {
    for (pause, rules) in
        [(900 * MS, vec![]), (1_500 * MS, vec!["SQP-TXN-016"]), (5 * S, vec!["SQP-TXN-016"])]
    {
        let shots = [c(0, H1), s(pause, H2)];
        let pair = [(2, "challenge_request", vec![]), (3, "challenge_response", rules)];
        assert_eq!(told(&shots), pair, "{pause} ns");
        // Whatever passes meanwhile.
        let between = (1..9).map(|n| foreign(START + n * pause / 10));
        let shots: Vec<_> = [c(0, H1)].into_iter().chain(between).chain([s(pause, H2)]).collect();
        assert_eq!(told(&shots).len(), 2, "{pause} ns");
    }
    let (heard, totals) = play(&[c(0, H1), s(1_500 * MS, H2), foreign(START + 60 * S)]);
    assert_eq!((heard.exchanges[0].0.outcome, totals.late), (Outcome::Late, 1));
    assert!(heard.packets.iter().all(|p| p.level == Level::Medium));
}

/// SQP: a token of 0 makes the challenge response equal to its request.
#[test]
fn zeros_answer_a_challenge_of_another_client_of_a_known_server() {
    let at = |ms: i64| START + ms * MS;
    let zeros = [shot(at(100), CLIENTS[1], END, &hex(H1)), shot(at(101), END, CLIENTS[1], &hex(H1))];
    let pair = [(6, "challenge_request", vec![]), (7, "challenge_response", vec!["SQP-RSP-002"])];
    assert_eq!(told(&[&sqp()[..], &zeros].concat())[4..], pair);
    // Nobody asked.
    assert_eq!(told(&[&sqp()[..], &zeros[1..]].concat()).len(), 4);
}

#[test]
fn a_request_that_waited_on_and_had_to_leave_is_counted_when_it_is_answered() {
    let end = |n: u32| ([10, 0, (n >> 8) as u8, n as u8], 9);
    for (others, answered, counted) in [(16_000, true, 0), (17_000, false, 0), (17_000, true, 1)] {
        let mut shots = vec![c(0, H1)];
        shots.extend((0..others).map(|n| shot(START + 1_200 * MS, end(n), END, &hex(POLL))));
        shots.extend(answered.then(|| s(1_500 * MS, H2)));
        let (_, totals) = play(&shots);
        assert_eq!(totals.waiting_overflow, counted, "{others} behind it");
    }
}

#[test]
fn a_number_sign_in_place_of_the_end_is_told_wherever_a_datagram_ends_with_it() {
    let part = "6964656e74 23";
    let told = |shots: &[Shot]| -> Vec<_> {
        let (heard, _) = play(&[shots, &[foreign(START + 60 * S)]].concat());
        heard.packets.iter().map(|p| p.rules()).filter(|rules| rules.contains(&"GQP-FRM-005")).collect()
    };
    let goes_on = [c(0, part), c(MS, "696679 04"), s(2 * MS, IDR)];
    assert_eq!(told(&goes_on), [vec!["GQP-FRM-003", "GQP-FRM-005"]]);
    // Nobody goes on with it: it never ends, either.
    let alone = [vec!["GQP-FRM-005", "GQP-FRM-001"]];
    assert_eq!(told(&[c(0, ID), s(MS, IDR), c(2 * MS, part)]), alone);
    assert_eq!(told(&[c(0, part), c(MS, ID), s(2 * MS, IDR)]), alone);
    assert_eq!(told(&[c(0, "6964656e74696679 23"), s(MS, IDR)]), alone);
    assert_eq!(told(&[c(0, "6563686f 1e 61 23 04"), s(MS, "3130 6563686f 1e 11 61 23 04")]), [[""; 0]; 0]);
}

#[test]
fn a_second_short_answer_of_the_old_protocol_is_one_like_the_first() {
    let (poll, state) = ("0000 efcdab8967452301", "0100 efcdab8967452301 03");
    let (heard, _) = play(&[c(0, poll), s(MS, state), s(2 * MS, state), foreign(START + 60 * S)]);
    let answers: Vec<_> = heard.packets.iter().skip(1).map(|p| (p.message, p.level)).collect();
    assert_eq!(answers, [("legacy_state_response", Level::High); 2]);
    assert!(
        matches!(heard.frame(3).pairing, Pairing::DuplicateResponse { of: 2, .. }),
        "{:?}",
        heard.frame(3)
    );
    // The next poll and its answer, too, and whoever else is asked.
    let other = shot(START + 3 * MS, CLIENTS[1], END, &hex(poll));
    let (heard, _) =
        play(&[c(0, poll), s(MS, state), other, shot(START + 4 * MS, END, CLIENTS[1], &hex(state))]);
    assert_eq!(heard.frame(4).message, "legacy_state_response");
}
