//! Messages that end too early or too late: every wrong length is reported, and existing fields are in the records.

use crate::kit::play::{
    Collected, POLL, S, SQP_CHALLENGE, SQP_CHALLENGE_REPLY, SQP_QUERY, START, STATE, c, everything, foreign,
    lines, play, report, s,
};
use qdissect::check::Finding;
use qdissect::rule::hex;
use serde_json::{Value, json};

/// Plays datagrams of client and server in turn, each 10 ms after the previous one. Returns the findings of the last one.
fn found(turns: &[&str]) -> Vec<Finding> {
    let collected: Collected<true> = report(everything(), Collected::default(), &turn_frames(turns)).0;
    let last = collected.packets.into_iter().last().expect("it was claimed").findings;
    last.into_iter().filter(|f| !f.rule.id.contains("-SEC-") && !f.rule.id.starts_with("GEN-")).collect()
}

fn turn_frames(turns: &[&str]) -> Vec<crate::kit::play::RawFrame> {
    let at = |n: usize| 30 * S + n as i64 * 10_000_000;
    let sent = turns.iter().enumerate();
    let sent = sent.map(|(n, text)| if n % 2 == 0 { c(at(n), text) } else { s(at(n), text) });
    [foreign(START)].into_iter().chain(sent).collect()
}

/// Rule, bytes, and the rule that caused it.
fn places(turns: &[&str]) -> Vec<(&'static str, u16, u16, Option<&'static str>)> {
    let place = |f: Finding| {
        let span = f.span.expect("it stands on bytes");
        (f.rule.id, span.start, span.end, f.caused_by.map(|cause| cause.rule.id))
    };
    found(turns).into_iter().map(place).collect()
}

fn rules(turns: &[&str]) -> Vec<&'static str> {
    places(turns).into_iter().map(|(rule, ..)| rule).collect()
}

/// The fields of the last datagram.
fn fields(turns: &[&str]) -> Value {
    let text = lines(everything(), &turn_frames(turns));
    let mut records = text.lines().map(|line| line.parse::<Value>().expect("a record is JSON"));
    let last = records.rfind(|r| r["type"] == "packet" && !r["protocol"].is_null());
    last.expect("it was claimed")["fields"].clone()
}

/// The answer to a query for these chunks.
fn answer<'a>(query: &'a str, body: &'a str) -> [String; 2] {
    let length = hex(body).len();
    [format!("01 80902348 0001 {query}"), format!("01 80902348 0001 00 00 {length:04x} {body}")]
}

fn with<T>(query: &str, body: &str, of: impl Fn(&[&str]) -> T) -> T {
    let [query, answer] = answer(query, body);
    of(&[SQP_CHALLENGE, SQP_CHALLENGE_REPLY, &query, &answer])
}

#[test]
fn trailing_bytes_are_reported_even_if_the_body_is_invalid() {
    // 46 bytes; PacketLength announces sixteen of them.
    let info = "0000001f 0001 0008 054142434445 054142434445 054142434445 06414243444546 1e61";
    let short = format!("01 80902348 0001 00 00 0005 {info}");
    assert_eq!(hex(&short).len(), 46);
    assert_eq!(
        places(&[SQP_CHALLENGE, SQP_CHALLENGE_REPLY, SQP_QUERY, &short]),
        [
            ("SQP-CHK-002", 11, 15, None),
            ("SQP-RSP-008", 16, 46, None),
            ("SQP-CHK-005", 15, 16, Some("SQP-CHK-002"))
        ]
    );
    // A chunk too short for its fields, and a byte after the body.
    let chunk = "00000008 0001 0008 0141 0162 0163 0164 1e61";
    let behind = |more: &str| format!("01 80902348 0001 00 00 0012 {chunk} {more}");
    let broken = ("SQP-CHK-005", 23, 23, None);
    assert_eq!(
        places(&[SQP_CHALLENGE, SQP_CHALLENGE_REPLY, SQP_QUERY, &behind("ee")]),
        [("SQP-RSP-008", 29, 30, None), broken]
    );
    assert_eq!(places(&[SQP_CHALLENGE, SQP_CHALLENGE_REPLY, SQP_QUERY, &behind("")]), [broken]);
    // And one that announces more bytes than there are.
    let long = format!("01 80902348 0001 00 00 001d {chunk}");
    assert_eq!(
        places(&[SQP_CHALLENGE, SQP_CHALLENGE_REPLY, SQP_QUERY, &long]),
        [("SQP-RSP-007", 9, 11, None), ("SQP-CHK-005", 23, 23, Some("SQP-RSP-007"))]
    );
}

#[test]
fn tables_have_fields_and_records_however_early_they_end() {
    let name = json!({ "name": "n", "type": "byte" });
    let cases = [
        // A record without fields, and a table that ends in its header.
        ("00000003 0001 00", json!([]), json!([])),
        ("00000001 00", json!([]), json!([])),
        ("00000002 0001", json!([]), json!([])),
        // Cut in the second of its fields, and before its records.
        ("00000008 0001 02 016e00 05 6e", json!([name]), json!([])),
        ("00000006 0002 01 016e00", json!([name]), json!([])),
        ("00000007 0002 01 016e00 05", json!([name]), json!([[5]])),
        // None of either.
        ("00000002 0000", json!([]), json!([])),
    ];
    for (query, key) in [("04", "player_info"), ("08", "team_info")] {
        for (table, names, records) in &cases {
            let fields = with(query, table, fields);
            assert_eq!(
                (&fields[key]["fields"], &fields[key]["records"]),
                (names, records),
                "{table}: {fields}"
            );
        }
    }
}

#[test]
fn a_rule_without_its_key_is_not_listed() {
    let whole = json!({ "key": "a", "type": "byte", "value": 7 });
    let of = |chunk: &str| with("02", chunk, |turns| (fields(turns)["server_rules"].clone(), rules(turns)));
    assert_eq!(of("00000006 016100 07 0562"), (json!([whole]), vec!["SQP-STR-001"]));
    assert_eq!(of("00000001 05"), (json!([]), vec!["SQP-STR-001"]));
    // The same where the chunk ends inside its type or value: a half rule is none.
    assert_eq!(of("00000006 016100 07 0162"), (json!([whole]), vec!["SQP-RUL-001"]));
    assert_eq!(of("00000008 016100 07 016201 00"), (json!([whole]), vec!["SQP-DYN-003"]));
    // Errors mark the same bytes.
    let marked = with("02", "00000006 016100 07 0562", |turns| found(turns)[0].path());
    assert_eq!(marked.as_deref(), Some("server_rules[1].key"));
}

#[test]
fn players_are_counted_only_in_player_chunks() {
    let info = "0000000e 0003 0008 0141 0162 0163 0164 1e61";
    let (one, rule) = ("00000007 0001 01 016e00 05", "00000004 016b0001");
    let two = format!("{info} {one}");
    assert_eq!(with("05", &two, rules), ["SQP-TAB-006"]);
    // With the rules between them. Without them the table cannot be anything else.
    assert_eq!(with("07", &format!("{info} {rule} {one}"), rules), ["SQP-TAB-006"]);
    assert_eq!(with("07", &two, rules), ["SQP-TAB-006", "SQP-TXN-011"]);
    // It may be the table of teams. If the request is unknown, this is guessed.
    assert_eq!(with("0d", &two, rules), ["SQP-CHK-007", "SQP-TXN-011"]);
    let [_, unasked] = answer("05", &two);
    let alone = [foreign(START), s(30 * S, &unasked)];
    let collected = play(&alone).0.packets[0].rules();
    assert!(collected.contains(&"SQP-CHK-006") && !collected.contains(&"SQP-TAB-006"), "{collected:?}");
    // Nor if the chunks are not a subset of the requested ones.
    let other = with("0f", &format!("{info} 00000007 0001 01 016e07 05"), rules);
    assert!(!other.contains(&"SQP-TAB-006"), "{other:?}");
}

#[test]
fn a_message_that_was_cut_has_lost_its_terminator_too() {
    let of = |length: usize| {
        let state: String = hex(STATE)[..length].iter().map(|b| format!("{b:02x}")).collect();
        let lost = hex(STATE)[length - 1] != 1;
        (places(&[POLL, &state]), lost)
    };
    let whole = hex(STATE).len();
    for length in 12..whole {
        let (places, lost) = of(length);
        let symptoms: Vec<_> = places.iter().filter(|(rule, ..)| *rule == "SFQ-ENV-005").collect();
        let causes: Vec<_> = places.iter().filter(|(.., cause)| cause.is_none()).collect();
        assert_eq!(causes.len(), 1, "{length}: {places:?}");
        let cause = causes[0].0;
        if cause == "SFQ-ENV-005" {
            assert_eq!(length, whole - 1, "only the terminator is missing");
            continue;
        }
        assert!(matches!(cause, "SFQ-RSP-001" | "SFQ-RSP-004" | "SFQ-RSP-005"), "{length}: {places:?}");
        let end = length as u16;
        let expected = ("SFQ-ENV-005", end - 1, end, Some(cause));
        assert_eq!(symptoms, if lost { vec![&expected] } else { vec![] }, "{length}");
    }
    // A poll that ends inside its cookie, and one that ends after it.
    assert_eq!(
        places(&["d5f6 00 01 efcdab89"]),
        [("SFQ-REQ-001", 4, 8, None), ("SFQ-ENV-005", 7, 8, Some("SFQ-REQ-001"))]
    );
    assert_eq!(
        places(&["d5f6 00 01 efcdab8967452302"]),
        [("SFQ-REQ-001", 12, 12, None), ("SFQ-ENV-005", 11, 12, Some("SFQ-REQ-001"))]
    );
    assert_eq!(rules(&["d5f6 00 01 efcdab8967452301"]), ["SFQ-REQ-001"], "it looks like a terminator");
}

#[test]
fn truncated_packets_have_no_missing_bytes() {
    let mut cut = turn_frames(&[POLL, STATE]);
    cut.last_mut().expect("the answer").bytes.truncate(14 + 20 + 8 + 20);
    let rules = play(&cut).0.frame(3).rules();
    assert!(rules.contains(&"GEN-001") && !rules.contains(&"SFQ-ENV-005"), "{rules:?}");
}

#[test]
fn no_sub_state_takes_the_terminator() {
    let state = |count: &str, rest: &str| {
        format!("d5f6 01 01 efcdab8967452301 02 7a960500 0000000000000000 {count} {rest}")
    };
    let of = |count: &str, rest: &str| {
        let state = state(count, rest);
        let ids = fields(&[POLL, &state])["sub_states"].as_array().expect("a list").len();
        (ids, places(&[POLL, &state]))
    };
    // Two bytes precede the terminator, and half an entry does not count.
    let cut = |at| vec![("SFQ-RSP-004", at, at + 3, None)];
    assert_eq!(of("03", "001100 010100 030501"), (2, cut(32)));
    assert_eq!(of("ff", "001100 010100 030501"), (2, cut(32)));
    assert_eq!(of("01", "030501"), (0, cut(26)));
    // The same bytes followed by others are an entry.
    assert_eq!(of("01", "030501 0100 41 01"), (1, vec![]));
    // Nor is such a message compared with earlier ones of the server, whose version would be higher.
    let again = |text: &str| text.replace("efcdab89", "02000000");
    let (first, second) = (state("01", "030502 0100 41 01"), again(&state("01", "030501")));
    assert_eq!(rules(&[POLL, &first, &again(POLL), &second]), ["SFQ-RSP-004"]);
}

#[test]
fn no_name_takes_the_terminator() {
    let state = |rest: &str| format!("d5f6 01 01 efcdab8967452301 02 7a960500 0000000000000000 00 {rest}");
    let of = |rest: &str| places(&[POLL, &state(rest)]);
    // A length that includes the terminator, and one that is only the terminator.
    assert_eq!(of("0400 466162 01"), [("SFQ-RSP-005", 26, 32, None)]);
    assert_eq!(of("0100 01"), [("SFQ-RSP-005", 26, 29, None)]);
    // Without a terminator the name is complete.
    assert_eq!(of("0300 466162"), [("SFQ-ENV-005", 31, 31, None)]);
    assert_eq!(of("0300 466162 01"), []);
}

#[test]
fn no_fixed_field_takes_the_terminator() {
    // The changelist, and the flags, lack their last byte.
    for (state, start) in [("7a9605 01", 13), ("7a960500 00000000000000 01", 17)] {
        let state = format!("d5f6 01 01 efcdab8967452301 03 {state}");
        let end = hex(&state).len() as u16;
        assert_eq!(places(&[POLL, &state]), [("SFQ-RSP-001", start, end, None)]);
    }
}

#[test]
fn a_finding_names_the_field_whose_bytes_it_marks() {
    const INFO: &str = "ffffffff 54 'Source Engine Query' 00";
    const RULES: &str = "ffffffff 56 c3192a4b";
    let old = "ffffffff 49 11 'A' 00 'b' 00 'c' 00 'd' 00 f000 01 08 00 'dl' 00 01 '1' 00";
    let list = "ffffffff 45 0200 0102 00 fe01 00 0202 00 'x' 00";
    let few = "d5f6 01 01 efcdab8967452301 03 7a960500 0000000000000000 02 001100 0101";
    let named = |turns: &[&str], rule: &str| {
        let found = found(turns).into_iter().find(|f| f.rule.id == rule).expect("it is said");
        (found.path(), found.span.map(|span| (span.start, span.end)))
    };
    let whole = |end| (None, Some((0, end)));
    assert_eq!(named(&[INFO, old], "A2S-INF-006"), whole(25));
    let at = |field: &str, span| (Some(field.to_owned()), Some(span));
    assert_eq!(named(&[RULES, list], "A2S-RUL-003"), at("rules", (7, 18)));
    assert_eq!(named(&[INFO, old, RULES, "feffffff 070000"], "A2S-SPL-001"), at("split", (4, 7)));
    assert_eq!(named(&["ffffffff 54 00*15"], "A2S-REQ-001"), at("query", (5, 20)));
    assert_eq!(named(&[POLL, few], "SFQ-RSP-004"), at("sub_states", (29, 31)));
    assert_eq!(named(&[POLL, "d5f6 01 01"], "SFQ-ENV-001"), at("terminator", (4, 4)));
}

/// Empty datagrams keep a NAT mapping open.
#[test]
fn an_empty_datagram_is_not_a_truncated_query() {
    const INFO_REPLY: &str =
        "93000000 06000000 302e31312e32 01000000 0a000000 010000 00000000 02000000 02000000 000001";
    let claimed = |turns: &[&str]| play(&turn_frames(turns)).0.packets.len();
    assert_eq!(claimed(&["feffffff", INFO_REPLY, "fe"]), 3);
    assert_eq!(claimed(&["feffffff", INFO_REPLY, ""]), 2);
}
