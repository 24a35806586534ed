//! Satisfactory: several clients with the same cookie, as of clients that never change it.

use crate::kit::play::{
    Addr, AnyListener, Collected, MS, POLL, RawFrame, SERVER_ADDR, START, STATE, Tree, everything, foreign,
    report, udp_frame,
};
use qdissect::report::{Packet, Report, Wants};
use qdissect::rule::hex;
use std::io;

/// Replaces the cookie by that of a client that never changes it.
fn with_constant_cookie(text: &str) -> Vec<u8> {
    hex(&text.replace("efcdab8967452301", "0505050505050505"))
}

fn client(number: u8) -> Addr {
    ([198, 51, 100, number], 40_000)
}

/// The poll of a client, `ms` milliseconds after the start.
fn polls(ms: i64, number: u8) -> RawFrame {
    udp_frame(START + ms * MS, client(number), SERVER_ADDR, &with_constant_cookie(POLL))
}

/// The answer to the poll of a client.
fn reply(ms: i64, number: u8) -> RawFrame {
    udp_frame(START + ms * MS, SERVER_ADDR, client(number), &with_constant_cookie(STATE))
}

/// Collects the frames and their broken rules, including remarks that are reported once for each server.
#[derive(Default)]
struct CookieCollector(Vec<(u64, Vec<&'static str>)>);

impl Report for CookieCollector {
    fn listener(&self) -> AnyListener {
        AnyListener::Tree(Tree::default())
    }

    fn wants(&self) -> Wants {
        Wants { ordered: true, repeat_remarks: true, ..Wants::default() }
    }

    fn packet(&mut self, p: &Packet<'_>) -> io::Result<()> {
        self.0.push((p.datagram.frame, p.findings.iter().map(|f| f.rule.id).collect()));
        Ok(())
    }
}

/// The frames of the polls that break a rule.
fn frames(raw_frames: &[RawFrame], rule: &str) -> Vec<u64> {
    let raw_frames = [raw_frames, &[foreign(START + 60_000 * MS)]].concat();
    let (collector, _) = report(everything(), CookieCollector::default(), &raw_frames);
    collector.0.into_iter().filter(|(_, rules)| rules.contains(&rule)).map(|(frame, _)| frame).collect()
}

#[test]
fn a_reused_cookie_is_reported_even_if_another_client_used_it_in_between() {
    let mut raw_frames = vec![polls(0, 1), reply(10, 1)];
    assert_eq!(frames(&raw_frames, "SFQ-REQ-003"), Vec::<u64>::new());
    raw_frames.extend([polls(500, 2), reply(510, 2)]);
    assert_eq!(
        frames(&raw_frames, "SFQ-REQ-003"),
        Vec::<u64>::new(),
        "another client uses it for the first time"
    );
    raw_frames.push(polls(4_000, 1));
    assert_eq!(frames(&raw_frames, "SFQ-REQ-003"), [5]);
}

#[test]
fn a_late_answer_to_an_earlier_poll_counts_as_an_answer() {
    let raw_frames = [polls(0, 1), polls(5, 2), reply(10, 1), polls(4_000, 1)];
    assert_eq!(frames(&raw_frames, "SFQ-REQ-003"), [4]);
}

#[test]
fn an_unanswered_poll_does_not_make_a_cookie_fresh() {
    let raw_frames = [polls(0, 1), reply(10, 1), polls(500, 1), polls(20_000, 1)];
    assert_eq!(frames(&raw_frames, "SFQ-REQ-003"), [3, 4]);
}

#[test]
fn a_cookie_is_in_use_while_any_client_waits_for_its_answer() {
    let raw_frames = [polls(0, 1), polls(5, 2), reply(10, 2), polls(20, 3)];
    assert_eq!(frames(&raw_frames, "SFQ-TXN-006"), [2, 4], "the first still waits");
    let raw_frames = [polls(0, 1), polls(5, 2), reply(10, 2), reply(15, 1), polls(20, 3)];
    assert_eq!(frames(&raw_frames, "SFQ-TXN-006"), [2], "nobody waits");
    let raw_frames = [polls(0, 1), polls(10_001, 2)];
    assert_eq!(frames(&raw_frames, "SFQ-TXN-006"), Vec::<u64>::new(), "nobody waits so long");
    let raw_frames = [polls(0, 1), polls(9_000, 1), polls(10_001, 2), polls(18_000, 3)];
    assert_eq!(frames(&raw_frames, "SFQ-TXN-006"), [3, 4], "but from the last time it was sent");
    let raw_frames = [polls(0, 1), polls(1_000, 2), reply(1_010, 2), polls(9_000, 1), polls(18_000, 3)];
    assert_eq!(frames(&raw_frames, "SFQ-TXN-006"), [2, 5], "whoever has sent it in between");
}

#[test]
fn the_oldest_of_nine_clients_of_a_cookie_is_forgotten() {
    // All of them poll, all but the first are answered, and one more polls.
    let asked = |others: u8| -> Vec<RawFrame> {
        let open = (1..=others + 1).map(|n| polls(i64::from(n), n));
        let answers = (2..=others + 1).map(|n| reply(100 + i64::from(n), n));
        open.chain(answers).chain([polls(200, others + 2)]).collect()
    };
    assert_eq!(frames(&asked(8), "SFQ-TXN-006").last(), Some(&18), "the first still waits");
    assert_eq!(frames(&asked(9), "SFQ-TXN-006").last(), Some(&10));
}

#[test]
fn findings_about_cookies_mark_the_cookie_bytes_in_every_version() {
    let old = |time: i64, number: u8| {
        udp_frame(START + time * MS, client(number), (SERVER_ADDR.0, 15_777), &hex("0000 0505050505050505"))
    };
    let answer = hex("0100 0505050505050505 03 7f3b0300 983a");
    let old_told = udp_frame(START + 10 * MS, (SERVER_ADDR.0, 15_777), client(1), &answer);
    let turns: [(Vec<RawFrame>, _); 2] = [
        (vec![polls(0, 1), reply(10, 1), polls(500, 1), polls(510, 2)], (4, 12)),
        (vec![old(0, 1), old_told, old(500, 1), old(510, 2)], (2, 10)),
    ];
    for (raw_frames, cookie) in turns {
        let collected = report(everything(), Collected::<true>::default(), &raw_frames).0;
        let spans = ["SFQ-REQ-003", "SFQ-TXN-006"].map(|rule| {
            let found = collected.findings().find(|f| f.rule.id == rule).expect("it is said");
            found.span.map(|span| (span.start, span.end))
        });
        assert_eq!(spans, [Some(cookie); 2]);
    }
}
