//! Satisfactory: several clients with one cookie, as those have that never change it.

use crate::kit::play::{
    AnyListener, Collected, END, End, MS, POLL, START, STATE, Shot, Tree, everything, foreign, report, shot,
};
use qdissect::report::{Packet, Report, Wants};
use qdissect::rule::hex;
use std::io;

/// With the cookie of one that never changes it.
fn always(text: &str) -> Vec<u8> {
    hex(&text.replace("efcdab8967452301", "0505050505050505"))
}

fn client(number: u8) -> End {
    ([198, 51, 100, number], 40_000)
}

/// A client polls, so many milliseconds after the start.
fn polls(ms: i64, number: u8) -> Shot {
    shot(START + ms * MS, client(number), END, &always(POLL))
}

/// It is answered.
fn told(ms: i64, number: u8) -> Shot {
    shot(START + ms * MS, END, client(number), &always(STATE))
}

/// Keeps the frames and their broken rules, remarks that are made once a server every time.
#[derive(Default)]
struct Told(Vec<(u64, Vec<&'static str>)>);

impl Report for Told {
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
fn frames(shots: &[Shot], rule: &str) -> Vec<u64> {
    let shots = [shots, &[foreign(START + 60_000 * MS)]].concat();
    let (told, _) = report(everything(), Told::default(), &shots);
    told.0.into_iter().filter(|(_, rules)| rules.contains(&rule)).map(|(frame, _)| frame).collect()
}

#[test]
fn who_uses_a_cookie_again_is_told_whoever_used_it_in_between() {
    let mut shots = vec![polls(0, 1), told(10, 1)];
    assert_eq!(frames(&shots, "SFQ-REQ-003"), Vec::<u64>::new());
    shots.extend([polls(500, 2), told(510, 2)]);
    assert_eq!(frames(&shots, "SFQ-REQ-003"), Vec::<u64>::new(), "another client uses it for the first time");
    shots.push(polls(4_000, 1));
    assert_eq!(frames(&shots, "SFQ-REQ-003"), [5]);
}

#[test]
fn an_answer_that_another_poll_overtook_counts_as_one() {
    let shots = [polls(0, 1), polls(5, 2), told(10, 1), polls(4_000, 1)];
    assert_eq!(frames(&shots, "SFQ-REQ-003"), [4]);
}

#[test]
fn a_poll_without_an_answer_in_between_makes_a_cookie_no_fresher() {
    let shots = [polls(0, 1), told(10, 1), polls(500, 1), polls(20_000, 1)];
    assert_eq!(frames(&shots, "SFQ-REQ-003"), [3, 4]);
}

#[test]
fn a_cookie_is_open_elsewhere_as_long_as_anybody_waits_for_its_answer() {
    let shots = [polls(0, 1), polls(5, 2), told(10, 2), polls(20, 3)];
    assert_eq!(frames(&shots, "SFQ-TXN-006"), [2, 4], "the first still waits");
    let shots = [polls(0, 1), polls(5, 2), told(10, 2), told(15, 1), polls(20, 3)];
    assert_eq!(frames(&shots, "SFQ-TXN-006"), [2], "nobody waits");
    let shots = [polls(0, 1), polls(10_001, 2)];
    assert_eq!(frames(&shots, "SFQ-TXN-006"), Vec::<u64>::new(), "nobody waits so long");
    let shots = [polls(0, 1), polls(9_000, 1), polls(10_001, 2), polls(18_000, 3)];
    assert_eq!(frames(&shots, "SFQ-TXN-006"), [3, 4], "but from the last time it was sent");
    let shots = [polls(0, 1), polls(1_000, 2), told(1_010, 2), polls(9_000, 1), polls(18_000, 3)];
    assert_eq!(frames(&shots, "SFQ-TXN-006"), [2, 5], "whoever has sent it in between");
}

#[test]
fn of_nine_that_wait_for_one_cookie_the_oldest_is_forgotten() {
    // All of them poll, all but the first are answered, and one more polls.
    let asked = |others: u8| -> Vec<Shot> {
        let open = (1..=others + 1).map(|n| polls(i64::from(n), n));
        let answers = (2..=others + 1).map(|n| told(100 + i64::from(n), n));
        open.chain(answers).chain([polls(200, others + 2)]).collect()
    };
    assert_eq!(frames(&asked(8), "SFQ-TXN-006").last(), Some(&18), "the first still waits");
    assert_eq!(frames(&asked(9), "SFQ-TXN-006").last(), Some(&10));
}

#[test]
fn a_finding_about_the_cookie_stands_on_its_bytes_in_every_version() {
    let old = |time: i64, number: u8| {
        shot(START + time * MS, client(number), (END.0, 15_777), &hex("0000 0505050505050505"))
    };
    let answer = hex("0100 0505050505050505 03 7f3b0300 983a");
    let old_told = shot(START + 10 * MS, (END.0, 15_777), client(1), &answer);
    let turns: [(Vec<Shot>, _); 2] = [
        (vec![polls(0, 1), told(10, 1), polls(500, 1), polls(510, 2)], (4, 12)),
        (vec![old(0, 1), old_told, old(500, 1), old(510, 2)], (2, 10)),
    ];
    for (shots, cookie) in turns {
        let heard = report(everything(), Collected::<true>::default(), &shots).0;
        let spans = ["SFQ-REQ-003", "SFQ-TXN-006"].map(|rule| {
            let found = heard.findings().find(|f| f.rule.id == rule).expect("it is said");
            found.span.map(|span| (span.start, span.end))
        });
        assert_eq!(spans, [Some(cookie); 2]);
    }
}
