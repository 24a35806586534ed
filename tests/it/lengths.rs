//! Messages that end too early, or too late: each length that is wrong is said, and what there is stands in the records.

use crate::kit::play::{
    Collected, H1, H2, POLL, QI, S, START, STATE, c, everything, foreign, lines, play, report, s,
};
use qdissect::check::Finding;
use qdissect::rule::hex;
use serde_json::{Value, json};

/// Plays datagrams of client and server in turn, each 10 ms behind the one before; what is found in the last one.
fn found(turns: &[&str]) -> Vec<Finding> {
    let heard: Collected<true> = report(everything(), Collected::default(), &shots(turns)).0;
    let last = heard.packets.into_iter().last().expect("it was claimed").findings;
    last.into_iter().filter(|f| !f.rule.id.contains("-SEC-") && !f.rule.id.starts_with("GEN-")).collect()
}

fn shots(turns: &[&str]) -> Vec<crate::kit::play::Shot> {
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

/// The fields of the last one.
fn fields(turns: &[&str]) -> Value {
    let text = lines(everything(), &shots(turns));
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
    of(&[H1, H2, &query, &answer])
}

#[test]
fn what_follows_a_body_is_said_also_where_the_body_cannot_be_read() {
    // 46 bytes; PacketLength announces sixteen of them.
    let info = "0000001f 0001 0008 054142434445 054142434445 054142434445 06414243444546 1e61";
    let short = format!("01 80902348 0001 00 00 0005 {info}");
    assert_eq!(hex(&short).len(), 46);
    assert_eq!(
        places(&[H1, H2, QI, &short]),
        [
            ("SQP-CHK-002", 11, 15, None),
            ("SQP-RSP-008", 16, 46, None),
            ("SQP-CHK-005", 15, 16, Some("SQP-CHK-002"))
        ]
    );
    // A chunk too short for its fields, and a byte behind the body.
    let chunk = "00000008 0001 0008 0141 0162 0163 0164 1e61";
    let behind = |more: &str| format!("01 80902348 0001 00 00 0012 {chunk} {more}");
    let broken = ("SQP-CHK-005", 23, 23, None);
    assert_eq!(places(&[H1, H2, QI, &behind("ee")]), [("SQP-RSP-008", 29, 30, None), broken]);
    assert_eq!(places(&[H1, H2, QI, &behind("")]), [broken]);
    // And one that announces more than there is.
    let long = format!("01 80902348 0001 00 00 001d {chunk}");
    assert_eq!(
        places(&[H1, H2, QI, &long]),
        [("SQP-RSP-007", 9, 11, None), ("SQP-CHK-005", 23, 23, Some("SQP-RSP-007"))]
    );
}

#[test]
fn tables_have_fields_and_records_however_early_they_end() {
    let name = json!({ "name": "n", "type": "byte" });
    let cases = [
        // One record without fields, and a table that ends in its head.
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
fn a_rule_that_is_cut_is_none_until_its_key_is_there() {
    let whole = json!({ "key": "a", "type": "byte", "value": 7 });
    let of = |chunk: &str| with("02", chunk, |turns| (fields(turns)["server_rules"].clone(), rules(turns)));
    assert_eq!(of("00000006 016100 07 0562"), (json!([whole]), vec!["SQP-STR-001"]));
    assert_eq!(of("00000001 05"), (json!([]), vec!["SQP-STR-001"]));
    assert_eq!(of("00000006 016100 07 0162"), (json!([whole, { "key": "b" }]), vec!["SQP-RUL-001"]));
    let typed = json!({ "key": "b", "type": "ushort" });
    assert_eq!(of("00000008 016100 07 016201 00"), (json!([whole, typed]), vec!["SQP-DYN-003"]));
    // What is wrong is marked where it was.
    let marked = with("02", "00000006 016100 07 0562", |turns| found(turns)[0].path());
    assert_eq!(marked.as_deref(), Some("server_rules[1].key"));
}

#[test]
fn players_are_counted_only_in_a_chunk_that_is_known_to_be_theirs() {
    let info = "0000000e 0003 0008 0141 0162 0163 0164 1e61";
    let (one, rule) = ("00000007 0001 01 016e00 05", "00000004 016b0001");
    let two = format!("{info} {one}");
    assert_eq!(with("05", &two, rules), ["SQP-TAB-006"]);
    // With the rules between them; without them the table can be nothing else.
    assert_eq!(with("07", &format!("{info} {rule} {one}"), rules), ["SQP-TAB-006"]);
    assert_eq!(with("07", &two, rules), ["SQP-TAB-006", "SQP-TXN-011"]);
    // It may be that of the teams, and which it is where nobody knows what was asked, is guessed.
    assert_eq!(with("0d", &two, rules), ["SQP-CHK-007", "SQP-TXN-011"]);
    let [_, unasked] = answer("05", &two);
    let alone = [foreign(START), s(30 * S, &unasked)];
    let heard = play(&alone).0.packets[0].rules();
    assert!(heard.contains(&"SQP-CHK-006") && !heard.contains(&"SQP-TAB-006"), "{heard:?}");
    // Nor is it where the chunks are no choice of those that were asked for.
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
    // A poll in its cookie, and behind it.
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
fn what_the_capture_cut_has_lost_nothing() {
    let mut cut = shots(&[POLL, STATE]);
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
    // Two bytes stand before the terminator, and half an entry is none.
    let cut = |at| vec![("SFQ-RSP-004", at, at + 3, None)];
    assert_eq!(of("03", "001100 010100 030501"), (2, cut(32)));
    assert_eq!(of("ff", "001100 010100 030501"), (2, cut(32)));
    assert_eq!(of("01", "030501"), (0, cut(26)));
    // The same bytes with more behind them are one.
    assert_eq!(of("01", "030501 0100 41 01"), (1, vec![]));
    // Nor is such a one compared with what the server said before: its version would have gone back.
    let again = |text: &str| text.replace("efcdab89", "02000000");
    let (first, second) = (state("01", "030502 0100 41 01"), again(&state("01", "030501")));
    assert_eq!(rules(&[POLL, &first, &again(POLL), &second]), ["SFQ-RSP-004"]);
}

#[test]
fn no_name_takes_the_terminator() {
    let state = |rest: &str| format!("d5f6 01 01 efcdab8967452301 02 7a960500 0000000000000000 00 {rest}");
    let of = |rest: &str| places(&[POLL, &state(rest)]);
    // One that counts the terminator in, and one that is nothing else.
    assert_eq!(of("0400 466162 01"), [("SFQ-RSP-005", 26, 32, None)]);
    assert_eq!(of("0100 01"), [("SFQ-RSP-005", 26, 29, None)]);
    // Without a terminator the name is whole.
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

/// It keeps a path through a NAT open.
#[test]
fn an_empty_datagram_is_no_query_that_was_cut() {
    const TOLD: &str =
        "93000000 06000000 302e31312e32 01000000 0a000000 010000 00000000 02000000 02000000 000001";
    let claimed = |turns: &[&str]| play(&shots(turns)).0.packets.len();
    assert_eq!(claimed(&["feffffff", TOLD, "fe"]), 3);
    assert_eq!(claimed(&["feffffff", TOLD, ""]), 2);
}
