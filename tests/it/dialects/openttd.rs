//! OpenTTD: versions, and what is read only where a packet of it is expected.

use super::{packets, rules};
use crate::kit::play::{MS, RawFrame, S, c, play_surrounded, s};
use qdissect::rule::hex;
use serde_json::{Value, json};

const ASK: &str = "030000";
const OK: &str = "3100 01 04 00 e83e0b00 b1dc0a00 0f 02 0a 'Lab' 00 '1.10.1' 00 00 00 19 03 01 'Random Map' 00 0001 0002 01 01";

/// A packet with its size in front.
fn packet(kind: u8, body: &str) -> Vec<u8> {
    let body = hex(body);
    let size = (body.len() as u16 + 3).to_le_bytes();
    [&size[..], &[kind], &body].concat()
}

/// The answer to a request of the type before its own.
fn answer(kind: u8, body: &str) -> Value {
    packets(&[(&packet(kind - 1, ""), &[&packet(kind, body)])]).pop().expect("it is claimed")
}

#[test]
fn every_version_has_the_fields_of_those_before_it() {
    let names = "'Lab' 00 '1.10.1' 00";
    let [dates, companies, map] = ["e83e0b00 b1dc0a00", "0f 02 0a", "0001 0002 01 01"];
    let script = "03000000 'NoCarGoal' 00";
    let grf = "4d470301 00*8 0123456789abcdef";
    for (version, body) in [
        (1, format!("01 {names} 01 00 19 03 01 f82a cd2a 'M' 00 {map}")),
        (2, format!("02 {companies} {names} 01 00 19 03 01 f82a cd2a 'M' 00 {map}")),
        (3, format!("03 {dates} {companies} {names} 01 00 19 03 01 'M' 00 {map}")),
        (4, format!("04 01 {grf} {dates} {companies} {names} 01 00 19 03 01 'M' 00 {map}")),
        (5, format!("05 {script} 01 {grf} {dates} {companies} {names} 01 00 19 03 01 'M' 00 {map}")),
        (6, format!("06 01 {script} 01 {grf} 'Trams' 00 {dates} {companies} {names} 00 19 03 01 {map}")),
        (
            7,
            format!(
                "07 15cd5b0700000000 02 {script} 01 05000000 {dates} {companies} {names} 00 19 03 01 {map}"
            ),
        ),
    ] {
        let packet = answer(1, &body);
        let fields = &packet["fields"];
        assert_eq!((rules(&packet), &packet["confidence"]), (vec![], &json!("high")), "{version}");
        assert_eq!(
            [&fields["version"], &fields["clients"], &fields["map_height"]],
            [version, 3, 512].map(|n| json!(n)).each_ref()
        );
        assert_eq!(fields["newgrfs"].as_array().map_or(0, Vec::len), usize::from(version >= 4), "{version}");
    }
}

#[test]
fn money_may_be_negative_and_large() {
    let company = "01 'Ann & Co.' 00 9f070000 0a00000000000000 78ecffffffffffff 00000000000000 80 6400 01 \
                   0100 0200 0300 0400 0500 0500 0400 0300 0200 0100";
    let packet = answer(3, &format!("05 01 {company} 00"));
    let of_company = &packet["fields"]["companies"][0];
    assert_eq!(rules(&packet), [""; 0]);
    assert_eq!(
        [&of_company["value"], &of_company["money"], &of_company["income"]],
        [&json!("10"), &json!("-5000"), &json!("-9223372036854775808")]
    );
    assert_eq!(of_company["stations"], json!([5, 4, 3, 2, 1]));
}

/// Frame, message and broken rules of what is claimed.
fn claimed(frames: &[RawFrame]) -> Vec<(u64, &'static str, Vec<&'static str>)> {
    let collected = play_surrounded(frames);
    let own = |p: &crate::kit::play::ReportedPacket| {
        p.rules().into_iter().filter(|id| !id.starts_with("GEN-") && !id.contains("-SEC-")).collect()
    };
    collected.packets.iter().map(|p| (p.frame, p.message, own(p))).collect()
}

#[test]
fn a_packet_must_state_its_own_length() {
    for (question, answer) in [
        ("040000", OK),
        ("030100", OK),
        ("03000000", OK),
        ("0500 06 01", "0d00 07 01 0100 c0000209 8b0f"),
        ("1800 09 02 4d470301 00*16", "0400 0a 00"),
    ] {
        let alone: Vec<_> = claimed(&[c(0, question)]);
        assert_eq!(alone, [], "{question}");
        let unanswered = claimed(&[s(0, &answer.replacen("3100", "3200", 1))]);
        assert_eq!(unanswered, [], "{answer}");
    }
}

#[test]
fn in_a_known_conversation_a_wrong_size_is_reported() {
    let known = [c(0, ASK), s(MS, OK)];
    let with = |further: &[RawFrame]| claimed(&[&known[..], further].concat()).split_off(2);
    assert_eq!(with(&[c(S, "040000")]), [(4, "find_request", vec!["OTTD-HDR-001"])]);
    assert_eq!(with(&[c(S, "0400 06 02 01")]), [(4, "list_request", vec!["OTTD-HDR-001"])]);
    let late = OK.replacen("3100", "0900", 1);
    assert_eq!(
        with(&[c(S, ASK), s(S + MS, &late)]),
        [(4, "find_request", vec![]), (5, "find_response", vec!["OTTD-HDR-001"])]
    );
    // Nothing is due, it is too long, or its upper byte is another one.
    for other in ["0900 02 04 00", "1100 00 aa*9", "030100"] {
        assert_eq!(with(&[c(S, other)]), [], "{other}");
    }
    assert_eq!(with(&[s(S, &late)]), []);
    assert_eq!(with(&[c(S, "0300 80")]), [(4, "unknown", vec!["OTTD-HDR-002"])]);
}

#[test]
fn an_answer_that_cannot_be_read_to_its_end_needs_a_request() {
    let short =
        "2d00 01 04 00 e83e0b00 b1dc0a00 0f 02 0a 'Lab' 00 '1.10.1' 00 00 00 19 03 01 'Random Map' 00 0001";
    assert_eq!(claimed(&[s(0, short)]), []);
    assert_eq!(
        claimed(&[c(0, ASK), s(MS, short)]),
        [(2, "find_request", vec![]), (3, "find_response", vec!["OTTD-RSP-001"])]
    );
    assert_eq!(claimed(&[c(0, ASK), s(MS, "030001")])[1], (3, "find_response", vec![]));
}

#[test]
fn a_second_copy_of_companies_is_a_copy() {
    let detail = "0500 03 06 00";
    let broken: Vec<_> = claimed(&[c(0, "030002"), s(MS, detail), s(2 * MS, detail)]);
    assert_eq!(broken[2], (4, "detail_response", vec!["OTTD-TXN-004"]));
}
