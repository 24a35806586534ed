//! Limits of remembered causes, and the symptoms of forgotten ones.

use super::{S, SERVER_ADDR, at_minimum_memory, host, poll, totals};
use crate::kit::play::{RawFrame, START, foreign, udp_frame};
use qdissect::rule::hex;

#[test]
fn missing_answers_have_no_cause_if_it_was_forgotten_and_that_is_counted() {
    let limit = at_minimum_memory(8_192);
    for extra in [0, 10] {
        // A poll with an extra byte, which is not answered.
        let wrong = |n| udp_frame(START, (host(n), 9), SERVER_ADDR, &[&poll(n)[..], &[0xff]].concat());
        let mut frames: Vec<_> = (0..limit + extra).map(wrong).collect();
        frames.push(foreign(START + 60 * S));
        let (collected, totals) = totals(&frames);
        let silences = collected.exchanges.iter().flat_map(|(_, findings)| findings);
        let explained = silences.clone().filter(|finding| finding.caused_by.is_some()).count();
        assert_eq!((silences.count(), explained), ((limit + extra) as usize, limit as usize));
        assert_eq!(totals.memory_forgotten, u64::from(extra));
    }
}

#[test]
fn requests_sent_again_that_are_forgotten_are_counted() {
    for (requests, forgotten) in [(at_minimum_memory(8_192), 0), (at_minimum_memory(8_192) + 1, 1)] {
        let sent = |time: i64| {
            (0..requests).map(move |n| udp_frame(START + time, (host(n), 9), SERVER_ADDR, &poll(n)))
        };
        let mut frames: Vec<_> = sent(0).chain(sent(S)).collect();
        frames.push(foreign(START + 60 * S));
        let (collected, totals) = totals(&frames);
        assert_eq!(totals.memory_forgotten, forgotten);
        // The number of transmissions is still known, but not the times of forgotten ones.
        assert_eq!((totals.retransmissions, collected.silent.len()), (u64::from(requests), 0));
    }
}

#[test]
fn candidates_beyond_the_limit_are_not_listed() {
    for (endpoints, listed) in [(4_096, 4_096), (4_097, 4_096)] {
        let sent = |port| {
            (0..endpoints).map(move |n| udp_frame(START, ([192, 0, 2, 1], port), (host(n), 9), &[0; 5]))
        };
        let mut frames: Vec<_> = sent(1).chain(sent(2)).collect();
        frames.push(foreign(START + 60 * S));
        assert_eq!(totals(&frames).1.candidates.len(), listed);
    }
}

/// A challenge, its answer, a query and an answer that ends inside a text.
fn broken(n: u32) -> [RawFrame; 4] {
    let (client, token) = ((host(n), 9), format!("{:08x}", n + 1));
    let rest = "0001 00 00 0012 0000000e 0001 0008 0141 ff62 0163 0164 1e61";
    [
        udp_frame(START, client, SERVER_ADDR, &hex("00 00000000")),
        udp_frame(START, SERVER_ADDR, client, &hex(&format!("00 {token}"))),
        udp_frame(START, client, SERVER_ADDR, &hex(&format!("01 {token} 0001 01"))),
        udp_frame(START, SERVER_ADDR, client, &hex(&format!("01 {token} {rest}"))),
    ]
}

#[test]
fn broken_answers_that_are_forgotten_explain_nothing_and_are_counted() {
    for (answers, forgotten) in [(at_minimum_memory(4_096), 0), (at_minimum_memory(4_096) + 1, 1)] {
        let mut frames: Vec<_> = (0..answers).flat_map(broken).collect();
        // The consequence of a broken answer: a query with a wrong token.
        frames.extend(
            [0, answers - 1]
                .map(|n| udp_frame(START, (host(n), 9), SERVER_ADDR, &hex("01 7fffffff 0001 01"))),
        );
        let (collected, totals) = totals(&frames);
        let caused = |query: u32| {
            let packet = collected.frame(u64::from(4 * answers + query));
            let finding = packet.findings.iter().find(|finding| finding.rule.id == "SQP-TXN-001");
            finding.expect("the token is another").caused_by.map(|cause| cause.frame)
        };
        assert_eq!([caused(1), caused(2)], [(forgotten == 0).then_some(4), Some(u64::from(4 * answers))]);
        assert_eq!(totals.memory_forgotten, forgotten);
    }
}
