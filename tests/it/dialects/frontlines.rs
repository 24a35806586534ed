//! Frontlines' dialect of A2S.

use crate::kit::play::{CLIENTS, MS, SERVER, everything, lines, surrounded, udp_frame};
use qdissect::rule::hex;
use serde_json::{Value, json};

const FLSQ: &str = "ffffffff 'FLSQ'";
const INFO: &str = "ffffffff 49 02 'Lab' 00 'FL-Boneyard' 00 'FOW' 00 'FL' 00 'Frontlines' 00 '1.3.0' 00 1564 03 20 'dw' 00 00 1e 00 01 0708";
const ASK: &str = "ffffffff 56 4d000000";
const RULES: &str = "ffffffff 45 0002 'FriendlyFire' 00 '0' 00 'Map:0' 00 'FL-Boneyard' 00";

/// The packets of a conversation with a server at that port, 20 ms apart.
fn packets(port: u16, turns: &[(char, &str)]) -> Vec<Value> {
    let mut frames = vec![];
    for (n, (who, payload)) in turns.iter().enumerate() {
        let [from, to] =
            if *who == 'c' { [CLIENTS[0], (SERVER, port)] } else { [(SERVER, port), CLIENTS[0]] };
        frames.push(udp_frame((n as i64 + 1) * 20 * MS, from, to, &hex(payload)));
    }
    let text = lines(everything(), &surrounded(&frames));
    let records = text.lines().map(|line| line.parse::<Value>().expect("a record is JSON"));
    records.filter(|r| r["type"] == "packet" && r["protocol"] != Value::Null).collect()
}

fn rules(packet: &Value) -> Vec<&str> {
    let all = packet["findings"].as_array().expect("a list");
    let ids = all.iter().map(|finding| finding["rule"].as_str().expect("a rule"));
    ids.filter(|id| !id.contains("-SEC-") && !id.starts_with("GEN-")).collect()
}

#[test]
fn lists_have_the_byte_order_of_the_information_of_their_conversation() {
    let players = "ffffffff 44 01 00 'Ann' 00 00000007 42700000";
    let asked =
        [('c', FLSQ), ('s', INFO), ('c', ASK), ('s', RULES), ('c', "ffffffff 55 4d000000"), ('s', players)];
    let packets = packets(27_015, &asked);
    let fields: Vec<_> = packets.iter().map(|packet| &packet["fields"]).collect();
    assert_eq!((&fields[1]["dialect"], &fields[1]["port"]), (&json!("frontlines"), &json!(5476)));
    assert_eq!((&fields[1]["time_left"], &fields[1]["game_mode"]), (&json!(1800), &json!("FL")));
    assert_eq!((&fields[3]["dialect"], &fields[3]["count"]), (&json!("frontlines"), &json!(2)));
    assert_eq!(fields[5]["players"], json!([{ "index": 0, "name": "Ann", "score": 7, "duration": 60.0 }]));
    let broken: Vec<_> = packets.iter().flat_map(rules).collect();
    // The number of players is that of the information, and not one of A2S's bytes.
    assert_eq!(broken, ["A2S-FLQ-001", "A2S-PLY-004"]);
}

#[test]
fn lists_alone_are_of_the_dialect_if_the_port_is_and_nothing_else_fits() {
    let little = "ffffffff 45 0200 'FriendlyFire' 00 '0' 00 'Map:0' 00 'FL-Boneyard' 00";
    for (port, list, dialect, broken) in [
        (5478, RULES, json!("frontlines"), vec!["A2S-FLQ-001"]),
        (5478, little, Value::Null, vec![]),
        (27_015, RULES, Value::Null, vec!["A2S-RUL-001"]),
    ] {
        let packets = packets(port, &[('c', ASK), ('s', list)]);
        assert_eq!(
            (&packets[1]["fields"]["dialect"], rules(&packets[1])),
            (&dialect, broken),
            "{port} {list}"
        );
    }
}

#[test]
fn a_challenge_answers_no_information_request_of_the_dialect() {
    let challenge = "ffffffff 41 4d000000";
    let packets =
        packets(5478, &[('c', "ffffffff 57"), ('s', challenge), ('c', FLSQ), ('s', challenge), ('s', INFO)]);
    assert_eq!(
        (&packets[3]["duplicate_of"], &packets[4]["request_frame"]),
        (&json!(3), &json!(4)),
        "{packets:#?}"
    );
}
