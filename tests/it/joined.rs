//! Messages that are split into datagrams and joined again, with parts in any order.

use crate::kit::play::{
    self, CLIENTS, Collected, MS, RawFrame, START, everything, foreign, lines, report, udp_frame,
};
use qdissect::exchange::Exchange;
use qdissect::report::{Form, Output, Records};
use qdissect::rule::{Severity, hex};
use serde_json::{Value, json};

const ASK: &str = "ffffffff 56 c3192a4b";
const PARTS: [&str; 3] = [
    "feffffff 07000000 03 00 0f00 ffffffff 45 0400 'alpha' 00 '1' 00",
    "feffffff 07000000 03 01 0f00 'beta' 00 '2' 00 'gamma' 00 '3' 00",
    "feffffff 07000000 03 02 0f00 'delta' 00 '4' 00",
];

/// A RULES request and these answers, each a millisecond after the previous one, then a minute without traffic.
fn answered(answers: &[&str]) -> Vec<RawFrame> {
    let mut raw_frames = vec![foreign(START), play::c(30_000 * MS, ASK)];
    let at = |n: usize| (30_001 + n as i64) * MS;
    raw_frames.extend(answers.iter().enumerate().map(|(n, text)| play::s(at(n), text)));
    raw_frames.push(foreign(START + 90_000 * MS));
    raw_frames
}

fn collected(answers: &[&str]) -> Collected<true> {
    report(everything(), Collected::default(), &answered(answers)).0
}

fn packets(answers: &[&str]) -> Vec<Value> {
    let text = lines(everything(), &answered(answers));
    let records = text.lines().map(|line| line.parse::<Value>().expect("a record is JSON"));
    records.filter(|r| r["type"] == "packet" && r["protocol"] == "a2s").collect()
}

fn rules(answers: &[&str]) -> Vec<Vec<&'static str>> {
    let of = |rules: Vec<&'static str>| rules.into_iter().filter(|id| !id.contains("-SEC-")).collect();
    collected(answers).packets.iter().skip(1).map(|p| of(p.rules())).collect()
}

#[test]
fn the_part_that_completes_a_message_is_the_message() {
    let records = packets(&PARTS);
    let names: Vec<_> = records.iter().map(|r| r["message"].as_str().expect("it has one")).collect();
    assert_eq!(names, ["rules_request", "split", "split", "rules_response"]);
    assert_eq!(
        records[1]["fields"]["split"],
        json!({ "id": 7, "layout": "source", "total": 3, "number": 0, "size": 15, "data": "ffffffff450400616c706861003100" })
    );
    let whole = &records[3]["fields"];
    let split = json!({
        "id": 7, "layout": "source", "total": 3, "number": 2, "size": 15, "parts": [3, 4, 5], "length": 38,
    });
    assert_eq!((&whole["split"], &whole["count"]), (&split, &json!(4)));
    let rule = |n: usize| (whole["rules"][n]["key"].as_str(), whole["rules"][n]["value"].as_str());
    assert_eq!([rule(0), rule(3)], [(Some("alpha"), Some("1")), (Some("delta"), Some("4"))]);
    assert_eq!(records[3]["payload_length"], hex(PARTS[2]).len());
}

#[test]
fn parts_may_come_in_any_order_and_twice() {
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let records = packets(&order.map(|n| PARTS[n]));
        let last = &records[3];
        assert_eq!(
            (&last["message"], &last["fields"]["count"]),
            (&json!("rules_response"), &json!(4)),
            "{order:?}"
        );
        let frames: Vec<_> =
            (0..3).map(|n| 3 + order.iter().position(|part| *part == n).expect("it is there")).collect();
        assert_eq!(last["fields"]["split"]["parts"], json!(frames), "{order:?}");
    }
    let twice = [PARTS[0], PARTS[0], PARTS[1], PARTS[2], PARTS[1]];
    assert_eq!(rules(&twice)[1], ["A2S-SPL-003"], "the first copy of the exchange");
    assert_eq!(rules(&twice)[4], [""; 0], "and no further one");
    let records = packets(&twice);
    assert_eq!([2, 5].map(|n| &records[n]["duplicate_of"]), [&json!(3), &json!(5)]);
    assert_eq!(records[4]["message"], "rules_response");
}

/// All first parts arrive, then all second ones, and so on.
#[test]
fn a_thousand_servers_may_answer_at_once() {
    let server = |n: usize| ([10, 1, (n >> 8) as u8, n as u8], 27015);
    let mut raw_frames: Vec<_> =
        (0..1_000).map(|n| udp_frame(START, CLIENTS[0], server(n), &hex(ASK))).collect();
    for (ms, part) in (1..).zip(PARTS) {
        raw_frames.extend((0..1_000).map(|n| udp_frame(START + ms * MS, server(n), CLIENTS[0], &hex(part))));
    }
    let (collected, totals) = report(everything(), Collected::<false>::default(), &raw_frames);
    let whole = |e: &Exchange| e.response_frames().len() == 3 && e.incomplete.is_none();
    assert_eq!(collected.exchanges.iter().filter(|(e, _)| whole(e)).count(), 1_000);
    assert_eq!((totals.evicted, totals.memory_forgotten), (0, 0));
}

#[test]
fn offsets_of_findings_are_those_of_the_message() {
    // The fourth rule has the name of the first one.
    let last = "feffffff 07000000 03 02 0f00 'alpha' 00 '4' 00";
    let collected = collected(&[PARTS[0], PARTS[1], last]);
    let finding = collected.findings().find(|f| f.rule.id == "A2S-RUL-002").expect("it is said");
    let span = finding.span.expect("it stands on bytes");
    assert_eq!((span.start, span.end), (30, 35), "behind both parts");
}

#[test]
fn consequences_of_a_contradiction_are_its_symptoms() {
    let other = "feffffff 07000000 03 01 0f00 'beta' 00 '2' 00 'gamma' 00 '9' 00";
    let last = "feffffff 07000000 03 02 0f00 'alpha' 00 '4' 00";
    let whole = collected(&[PARTS[0], PARTS[1], other, last]);
    let twice = whole.findings().find(|f| f.rule.id == "A2S-RUL-002").expect("it is said");
    assert_eq!(twice.caused_by.map(|cause| (cause.rule.id, cause.frame)), Some(("A2S-SPL-004", 5)));
    let cut = collected(&[PARTS[0], PARTS[1], other]);
    let missing = cut.findings().find(|f| f.rule.id == "A2S-SPL-002").expect("it is said");
    assert_eq!(missing.caused_by.map(|cause| cause.rule.id), Some("A2S-SPL-004"));
}

#[test]
fn unsolicited_parts_are_reported_once() {
    let mut raw_frames = answered(&PARTS);
    raw_frames.remove(1);
    let collected: Collected<true> = report(everything(), Collected::default(), &raw_frames).0;
    let errors: Vec<_> = collected
        .packets
        .iter()
        .map(|p| p.findings.iter().filter(|f| f.severity == Severity::Error).count())
        .collect();
    assert_eq!(errors, [1, 0, 0], "{collected:#?}");
}

#[test]
fn a_password_is_masked_in_a_part_and_in_the_message() {
    let parts = [
        "feffffff 07000000 02 00 1c00 ffffffff 45 0200 'rcon_password' 00 'hunter2' 00",
        "feffffff 07000000 02 01 1c00 'a' 00 '1' 00",
    ];
    let text: String = packets(&parts).iter().map(Value::to_string).collect();
    assert!(!text.contains("hunter2") && !text.contains("68756e746572"), "{text}");
    assert!(text.contains("A2S-SEC-005") && text.contains("********"), "{text}");
}

#[test]
fn a_password_is_masked_wherever_the_parts_begin_and_end() {
    let message = "ffffffff 45 0200 'a' 00 '1' 00 'rcon_password' 00 'qzxvjwk' 00";
    let digits: String = hex(message).iter().map(|byte| format!("{byte:02x}")).collect();
    for end in 1..digits.len() / 2 {
        let (first, second) = digits.split_at(2 * end);
        let part = |number: u8, body: &str| format!("feffffff 07000000 02 {number:02x} {end:02x}00 {body}");
        let parts = [part(0, first), part(1, second)];
        let mut out = vec![];
        let records = Records::new(Output::new(&mut out, Form::Ndjson, false), true, false);
        report(everything(), records.with_bytes(true), &answered(&[&parts[0], &parts[1]]));
        let text = String::from_utf8(out).expect("records are UTF-8");
        // Letters of it, and their digits.
        for piece in ["qzx", "zxv", "xvj", "vjw", "jwk", "717a78", "7a7876", "78766a", "766a77", "6a776b"] {
            assert!(!text.contains(piece), "{end}, {piece}: {text}");
        }
    }
}

#[test]
fn a_password_is_masked_in_the_bytes_of_a_part_whichever_comes_last() {
    let secret = "feffffff 07000000 02 00 1c00 ffffffff 45 0400 'rcon_password' 00 'hunter2' 00";
    let other = "feffffff 07000000 02 01 1c00 'a' 00 '1' 00 'b' 00 '2' 00 'c' 00 '3' 00";
    for parts in [[secret, other], [other, secret]] {
        let mut out = vec![];
        let records = Records::new(Output::new(&mut out, Form::Ndjson, false), true, false);
        report(everything(), records.with_bytes(true), &answered(&parts));
        let text = String::from_utf8(out).expect("records are UTF-8");
        assert_eq!(text.matches("\"message\":\"rules_response\"").count(), 1, "{text}");
        assert!(!text.contains("68756e74657232"), "{text}");
        // Only possible passwords are masked: the end of the first part may be the name of a rule in the next one.
        assert!(text.contains("\"payload\":\"feffffff0700000002001c00*"), "{text}");
        assert!(text.contains("63003300\""), "{text}");
    }
}

#[test]
fn ids_may_be_used_again_for_the_next_answer() {
    let mut raw_frames = answered(&PARTS);
    let silence = raw_frames.pop().expect("it is there");
    raw_frames.push(play::c(31_000 * MS, ASK));
    raw_frames.extend(PARTS.iter().zip(0..).map(|(text, n)| play::s((31_001 + n) * MS, text)));
    raw_frames.push(silence);
    let text = lines(everything(), &raw_frames);
    assert_eq!(text.matches("\"message\":\"rules_response\"").count(), 2, "{text}");
    assert_eq!(text.matches("\"answer\":\"rules_response\"").count(), 2, "{text}");
}

#[test]
fn parts_captured_before_their_request_answer_it() {
    // One part of the first answer is missing when the client asks again, soon or late, and the server sends the
    // same bytes again.
    for pause in [500, 5_000] {
        let mut raw_frames = answered(&[PARTS[0], PARTS[2]]);
        let silence = raw_frames.pop().expect("it is there");
        raw_frames.push(play::c((30_010 + pause) * MS, ASK));
        raw_frames.extend(PARTS.iter().zip(0..).map(|(text, n)| play::s((30_011 + pause + n) * MS, text)));
        raw_frames.push(silence);
        let collected: Collected<true> = report(everything(), Collected::default(), &raw_frames).0;
        let ends: Vec<_> = collected
            .exchanges
            .iter()
            .map(|(e, findings)| {
                (e.id, e.response_frames().to_vec(), findings.iter().map(|f| f.rule.id).collect::<Vec<_>>())
            })
            .collect();
        assert!(ends.contains(&(1, vec![3, 4], vec!["A2S-SPL-002"])), "{pause}: {ends:?}");
        assert!(ends.contains(&(2, vec![6, 7, 8], vec![])), "{pause}: {ends:?}");
    }
}

#[test]
fn a_wrong_part_number_is_reported_while_other_parts_are_missing() {
    // The third of three parts is number 5.
    let broken_rules = rules(&[PARTS[0], PARTS[1], "feffffff 07000000 03 05 0f00 'delta' 00 '4' 00"]);
    assert_eq!(broken_rules, [vec![], vec![], vec!["A2S-SPL-001"]]);
}

#[test]
fn a_fault_of_the_message_explains_more_than_a_contradicting_part() {
    let info = "ffffffff 49 11 'Lab' 00 'dm' 00 'tf' 00 'TF' 00 b801 01 08 00 64 6c 00 01 '1' 00";
    let parts =
        [format!("feffffff 08000000 02 00 0f00 {info}"), "feffffff 08000000 02 01 0f00 02 ee".to_owned()];
    let other = format!("feffffff 08000000 02 00 0f00 {}", info.replace("'Lab'", "'Lob'"));
    let ask = play::c(30_000 * MS, "ffffffff 54 'Source Engine Query' 00");
    let answers = [&parts[0], &other, &parts[1]];
    let answers = (30_001..).zip(answers).map(|(ms, text)| play::s(ms * MS, text));
    let frames: Vec<_> =
        [foreign(START), ask].into_iter().chain(answers).chain([foreign(START + 90_000 * MS)]).collect();
    let (collected, _) = report(everything(), Collected::<true>::default(), &frames);
    let cause = |rule: &str| {
        let finding = collected.findings().find(|f| f.rule.id == rule).expect("it is reported");
        finding.caused_by.map(|cause| cause.rule.id)
    };
    assert_eq!([cause("A2S-INF-002"), cause("A2S-RSP-001")], [Some("A2S-SPL-004"), Some("A2S-INF-002")]);
}
