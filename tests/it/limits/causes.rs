//! What is remembered of causes, and what their symptoms are where that is forgotten.

use super::{END, S, host, least, poll, totals};
use crate::kit::play::{START, Shot, foreign, shot};
use qdissect::rule::hex;

#[test]
fn causes_that_are_forgotten_leave_silence_to_stand_for_itself_and_are_counted() {
    let most = least(8_192);
    for more in [0, 10] {
        // A poll with a byte too many, which nobody answers.
        let wrong = |n| shot(START, (host(n), 9), END, &[&poll(n)[..], &[0xff]].concat());
        let mut shots: Vec<_> = (0..most + more).map(wrong).collect();
        shots.push(foreign(START + 60 * S));
        let (heard, totals) = totals(&shots);
        let silences = heard.exchanges.iter().flat_map(|(_, findings)| findings);
        let explained = silences.clone().filter(|finding| finding.caused_by.is_some()).count();
        assert_eq!((silences.count(), explained), ((most + more) as usize, most as usize));
        assert_eq!(totals.memory_forgotten, u64::from(more));
    }
}

#[test]
fn requests_sent_again_that_are_forgotten_are_counted() {
    for (requests, forgotten) in [(least(8_192), 0), (least(8_192) + 1, 1)] {
        let sent = |time: i64| (0..requests).map(move |n| shot(START + time, (host(n), 9), END, &poll(n)));
        let mut shots: Vec<_> = sent(0).chain(sent(S)).collect();
        shots.push(foreign(START + 60 * S));
        let (heard, totals) = totals(&shots);
        assert_eq!(totals.memory_forgotten, forgotten);
        // How often each was sent is known all the same; but not when, of those forgotten.
        assert_eq!((totals.retransmissions, heard.silent.len()), (u64::from(requests), 0));
    }
}

#[test]
fn further_endpoints_that_could_be_servers_are_not_told() {
    for (endpoints, told) in [(4_096, 4_096), (4_097, 4_096)] {
        let sent =
            |port| (0..endpoints).map(move |n| shot(START, ([192, 0, 2, 1], port), (host(n), 9), &[0; 5]));
        let mut shots: Vec<_> = sent(1).chain(sent(2)).collect();
        shots.push(foreign(START + 60 * S));
        assert_eq!(totals(&shots).1.candidates.len(), told);
    }
}

/// A challenge, its answer, a query and an answer that breaks off in a text.
fn broken(n: u32) -> [Shot; 4] {
    let (client, token) = ((host(n), 9), format!("{:08x}", n + 1));
    let rest = "0001 00 00 0012 0000000e 0001 0008 0141 ff62 0163 0164 1e61";
    [
        shot(START, client, END, &hex("00 00000000")),
        shot(START, END, client, &hex(&format!("00 {token}"))),
        shot(START, client, END, &hex(&format!("01 {token} 0001 01"))),
        shot(START, END, client, &hex(&format!("01 {token} {rest}"))),
    ]
}

#[test]
fn broken_answers_that_are_forgotten_explain_nothing_and_are_counted() {
    for (answers, forgotten) in [(least(4_096), 0), (least(4_096) + 1, 1)] {
        let mut shots: Vec<_> = (0..answers).flat_map(broken).collect();
        // What follows from a broken answer: a query with something else for a token.
        shots.extend([0, answers - 1].map(|n| shot(START, (host(n), 9), END, &hex("01 7fffffff 0001 01"))));
        let (heard, totals) = totals(&shots);
        let caused = |query: u32| {
            let packet = heard.frame(u64::from(4 * answers + query));
            let finding = packet.findings.iter().find(|finding| finding.rule.id == "SQP-TXN-001");
            finding.expect("the token is another").caused_by.map(|cause| cause.frame)
        };
        assert_eq!([caused(1), caused(2)], [(forgotten == 0).then_some(4), Some(u64::from(4 * answers))]);
        assert_eq!(totals.memory_forgotten, forgotten);
    }
}
