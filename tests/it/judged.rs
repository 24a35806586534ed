//! Findings about single datagrams in cases that the rules' examples do not contain.

use crate::kit::play;
use crate::kit::play::{
    Collected, GQP_IDENTIFY, GQP_IDENTIFY_REPLY, MS, POLL, ReportedPacket, S, SQP_CHALLENGE,
    SQP_CHALLENGE_REPLY, c, foreign, play, s,
};
use qdissect::rule::{Severity, hex};

/// Ethernet, IPv4 and UDP.
const HEADERS: usize = 14 + 20 + 8;
/// A request for ServerInfo and PlayerInfo.
const QUERY_PLAYERS: &str = "01 80902348 0001 05";
const ECHO: &str = "6563686f 1e 61 04";

/// Plays datagrams of client and server in turn, 10 ms apart, the last one truncated to `captured` bytes. Returns the report of
/// the last one.
fn cut(turns: &[&str], captured: usize) -> ReportedPacket {
    let ms = |n: usize| 30 * S + n as i64 * 10 * MS;
    let mut frames = vec![foreign(play::START)];
    frames.extend(
        turns.iter().enumerate().map(|(n, text)| if n % 2 == 0 { c(ms(n), text) } else { s(ms(n), text) }),
    );
    let last = frames.last_mut().expect("there is one");
    last.bytes.truncate(HEADERS.saturating_add(captured));
    let collected: Collected<true> = play(&frames).0;
    collected.packets.last().expect("it was claimed").clone()
}

fn last(turns: &[&str]) -> ReportedPacket {
    cut(turns, usize::MAX)
}

/// The findings of the last datagram: rule, field and bytes, without those about sizes.
fn places(turns: &[&str]) -> Vec<(&'static str, Option<String>, u16, u16)> {
    let seen = last(turns);
    let about = |rule: &str| !rule.contains("-SEC-") && !rule.starts_with("GEN-");
    let findings = seen.findings.iter().filter(|f| about(f.rule.id));
    findings
        .map(|f| {
            let span = f.span.expect("it stands on bytes");
            (f.rule.id, f.path(), span.start, span.end)
        })
        .collect()
}

fn rules(turns: &[&str]) -> Vec<&'static str> {
    places(turns).into_iter().map(|(rule, ..)| rule).collect()
}

#[test]
fn many_notes_do_not_hide_an_error() {
    // Forty unknown sub states, and a name that is not UTF-8.
    let unknown: String = (8..48).map(|id| format!("{id:02x}0100")).collect();
    let answer =
        format!("d5f6 01 01 efcdab8967452301 02 7a960500 0000000000000000 28 {unknown} 0200 ff61 01");
    let collected = rules(&[POLL, &answer]);
    assert_eq!(collected.iter().filter(|rule| **rule == "SFQ-SUB-001").count(), 31);
    assert_eq!(collected.last(), Some(&"SFQ-RSP-006"));
}

#[test]
fn versions_of_known_sub_states_are_compared() {
    let state = |table: &str| {
        format!("d5f6 01 01 efcdab8967452301 01 7a960500 0000000000000000 {table} 0300 466162 01")
    };
    let rules_of = |before: &str, table: &str| {
        let again = |text: &str| text.replace("efcdab89", "02000000");
        rules(&[POLL, &state(before), &again(POLL), &again(&state(table))])
    };
    // Sub states of ten bytes, as the document misprints them.
    let wide = "04 00000000000000000100 01000000000000000200 02000000000000000300 03000000000000000900";
    assert_eq!(rules_of("01 000500", wide), ["SFQ-RSP-008"]);
    assert_eq!(rules_of(wide, wide), ["SFQ-RSP-008"]);
    // The last of two entries with the same number counts.
    let twice = "02 000100 000500";
    assert_eq!(rules_of(twice, twice), ["SFQ-SUB-003"]);
    assert_eq!(rules_of("01 000600", twice), ["SFQ-SUB-003", "SFQ-SUB-005"]);
}

#[test]
fn the_terminator_is_no_server_state() {
    let cut = places(&[POLL, "d5f6 01 01 efcdab8967452301 01"]);
    assert_eq!(cut, [("SFQ-RSP-001", Some("server_state".into()), 12, 13)]);
}

#[test]
fn unrequested_chunks_are_reported_once() {
    let rest = "00000004 016b0001";
    let more = format!("01 80902348 0001 00 00 001a 0000000e 0001 0008 0141 0162 0163 0164 1e61 {rest}");
    let found = [("SQP-TXN-017", Some("packet_surplus".into()), 29, 37)];
    assert_eq!(places(&[SQP_CHALLENGE, SQP_CHALLENGE_REPLY, play::SQP_QUERY, &more]), found);
    let padded = "01 80902348 0001 00 00 0013 0000000e 0001 0008 0141 0162 0163 0164 1e61 00";
    assert_eq!(rules(&[SQP_CHALLENGE, SQP_CHALLENGE_REPLY, play::SQP_QUERY, padded]), ["SQP-CHK-003"]);
}

#[test]
fn a_wrong_number_of_players_marks_its_bytes() {
    let info = "0000000e 0003 0008 0141 0162 0163 0164 1e61";
    let found = ("SQP-TAB-006", Some("player_info.record_count".into()), 33, 35);
    let answer = |table: &str, length: u8| {
        format!("01 80902348 0001 00 00 00{:02x} {info} 000000{length:02x} {table}", length + 22)
    };
    let whole =
        places(&[SQP_CHALLENGE, SQP_CHALLENGE_REPLY, QUERY_PLAYERS, &answer("0001 01 016e 00 05", 7)]);
    assert_eq!(whole.first(), Some(&found));
    assert_eq!(whole.len(), 1);
    // Also where the table cannot be read to its end.
    let broken =
        places(&[SQP_CHALLENGE, SQP_CHALLENGE_REPLY, QUERY_PLAYERS, &answer("0002 01 016e 00 05", 7)]);
    assert_eq!(broken, [found, ("SQP-TAB-003", Some("player_info.records[1]".into()), 40, 40)]);
}

#[test]
fn a_record_that_is_missing_is_named() {
    let answer = |length: u8, table: &str| {
        format!("01 80902348 0001 00 00 00{:02x} 000000{length:02x} {table}", length + 4)
    };
    let query = "01 80902348 0001 04";
    let none = answer(9, "0001 02 016d 00 016e 01");
    assert_eq!(
        places(&[SQP_CHALLENGE, SQP_CHALLENGE_REPLY, query, &none]),
        [("SQP-TAB-003", Some("player_info.records[0]".into()), 24, 24)]
    );
    let one = answer(12, "0002 02 016d 00 016e 01 050006");
    assert_eq!(
        places(&[SQP_CHALLENGE, SQP_CHALLENGE_REPLY, query, &one]),
        [("SQP-TAB-003", Some("player_info.records[1]".into()), 27, 27)]
    );
}

#[test]
fn pvp_is_a_boolean_as_dotnet_writes_it() {
    let reply = |pvp: &str| {
        let config = format!("{{'players':[],'experience':'Stalker','pvp':{pvp}}}");
        let units: String = config.encode_utf16().map(|u| format!("{:04x}", u.swap_bytes())).collect();
        let length = (units.len() as u32 / 2).swap_bytes();
        format!("93000000 02000000 4100 03000000 302e31 00000000 0a000000 {length:08x} {units}")
    };
    assert_eq!(rules(&["feffffff", &reply("'True'")]), ["SKY-JSN-001", "SKY-TXN-006"]);
    for other in ["'true'", "'false'", "'TRUE'", "True", "true", "''"] {
        let collected = rules(&["feffffff", &reply(other)]);
        assert_eq!(collected, ["SKY-JSN-001", "SKY-JSN-007", "SKY-TXN-006"], "{other}");
    }
}

#[test]
fn bytes_after_the_end_of_a_reply_do_not_change_its_type() {
    for behind in ["41", "0000", &"00".repeat(64), &"ff".repeat(64)] {
        let reply = format!("3130 6563686f 1e 11 61 04 {behind}");
        assert_eq!(rules(&[GQP_IDENTIFY, GQP_IDENTIFY_REPLY, ECHO, &reply]), ["GQP-FRM-002"], "{behind}");
    }
}

#[test]
fn the_name_of_an_encoding_has_an_end() {
    let collected =
        |text: &str| rules(&[GQP_IDENTIFY, GQP_IDENTIFY_REPLY, &format!("6563686f 1e 61 1d {text} 04")]);
    assert_eq!(collected("01 78 06 1d 62"), ["GQP-ENC-002"]);
    assert_eq!(collected("01 78"), ["GQP-ENC-002", "GQP-ENC-001"]);
    assert_eq!(collected("01 06 62"), ["GQP-ENC-002", "GQP-ENC-006"]);
}

#[test]
fn text_has_one_value_with_any_type_mark() {
    let rules_of = |record: &str| {
        rules(&[GQP_IDENTIFY, GQP_IDENTIFY_REPLY, "6e6f7065 04", &format!("3130 6e6f7065 1e {record} 04")])
    };
    assert_eq!(rules_of("02 61"), ["GQP-REC-002"]);
    assert_eq!(rules_of("02 61 1f 62"), ["GQP-REC-002", "GQP-REC-003"]);
    assert_eq!(rules_of("61 1f 62"), ["GQP-REC-001"], "a pair");
    assert_eq!(rules_of("61 1f 62 1f 63"), ["GQP-REC-001", "GQP-REC-003"]);
}

#[test]
fn truncation_is_not_the_end_of_a_datagram() {
    for (last, rule) in [("17", "GQP-CHR-004"), ("23", "")] {
        let reply = format!("3130 6563686f 1e 11 61 {last} 62 04");
        let whole = rules(&[GQP_IDENTIFY, GQP_IDENTIFY_REPLY, ECHO, &reply]);
        assert_eq!(whole.contains(&rule), !rule.is_empty(), "{last}");
        let seen = cut(&[GQP_IDENTIFY, GQP_IDENTIFY_REPLY, ECHO, &reply], 10);
        assert!(seen.rules().iter().all(|rule| !rule.starts_with("GQP-FRM")), "{last}: {:?}", seen.rules());
    }
}

#[test]
fn a_record_separator_after_a_unit_separator_is_not_a_second_one() {
    let asked =
        |arguments: &str| rules(&[GQP_IDENTIFY, GQP_IDENTIFY_REPLY, &format!("6563686f {arguments} 04")]);
    assert_eq!(asked("1f 61 1e 62"), ["GQP-REQ-002"]);
    assert_eq!(asked("1f 61 1e 62 1e 63"), ["GQP-REQ-002", "GQP-REQ-003"]);
    assert_eq!(asked("1e 61 1f 62 1e 63"), ["GQP-REQ-003"]);
}

#[test]
fn a_space_after_the_status_is_optional() {
    assert_eq!(
        rules(&[GQP_IDENTIFY, GQP_IDENTIFY_REPLY, ECHO, "3130 20 6563686f 1e 06 04"])[..1],
        ["GQP-RSP-007"]
    );
    assert_eq!(rules(&[GQP_IDENTIFY, GQP_IDENTIFY_REPLY, ECHO, "20 6563686f 1e 06 04"]), ["GQP-RSP-001"]);
}

#[test]
fn encoded_commands_are_not_compared() {
    let asked = "6563686f 1e 61 1d 01 78 06 1d 68656c6c6f 1d 04";
    assert_eq!(rules(&[GQP_IDENTIFY, GQP_IDENTIFY_REPLY, asked]), ["GQP-ENC-002"]);
    let two = "3130 6563686f 1e 11 61 1d 3330 6563686f 1e 06 04";
    assert_eq!(rules(&[GQP_IDENTIFY, GQP_IDENTIFY_REPLY, asked, two]), Vec::<&str>::new());
    // Bytes before it are compared.
    let wrong = "3130 6563686f 1e 11 62 1d 3330 6563686f 1e 06 04";
    assert_eq!(rules(&[GQP_IDENTIFY, GQP_IDENTIFY_REPLY, asked, wrong]), ["GQP-TXN-004"]);
    let encoded = "3130 6563686f 1e 11 61 1d 01 78 06 1d 68656c6c6f 1d 04";
    assert_eq!(
        rules(&[GQP_IDENTIFY, GQP_IDENTIFY_REPLY, "6563686f 1e 61 1d 6563686f 04", encoded]),
        ["GQP-ENC-002"]
    );
}

#[test]
fn text_without_single_quotes_has_no_finding_about_them() {
    let reply = |config: &str| {
        let units: String = config.encode_utf16().map(|u| format!("{:04x}", u.swap_bytes())).collect();
        let length = (units.len() as u32 / 2).swap_bytes();
        format!("93000000 02000000 4100 03000000 302e31 00000000 0a000000 {length:08x} {units}")
    };
    let word = reply(r#"{"players":[],"experience":"Stalker","pvp":True}"#);
    assert_eq!(rules(&["feffffff", &word]), ["SKY-JSN-007", "SKY-TXN-006"]);
    let mixed = reply(r#"{"players":[],"experience":'Stalker',"pvp":"True"}"#);
    assert_eq!(rules(&["feffffff", &mixed]), ["SKY-JSN-001", "SKY-TXN-006"]);
}

#[test]
fn a_truncated_answer_may_have_fewer_chunks() {
    // Everything is requested, ServerInfo and Metrics are returned, as by go-svrquery's sample server.
    let metrics = "00000029 0a 42700000 3e800000 42700000 3e800000 42700000 3e800000 42700000 3e800000 42700000 3e800000";
    let info = "0000000e 0001 0008 0141 0162 0163 0164 1e61";
    let answer = format!("01 80902348 0001 00 00 003f {info} {metrics}");
    let turns = [SQP_CHALLENGE, SQP_CHALLENGE_REPLY, "01 80902348 0002 1f", &answer];
    assert_eq!(rules(&turns), ["SQP-TXN-010", "SQP-TXN-011"]);
    for captured in 11..74 {
        let seen = cut(&turns, captured);
        let collected = seen.findings.iter().filter(|f| !f.rule.id.starts_with("GEN-"));
        let collected: Vec<_> =
            collected.map(|f| f.rule.id).filter(|id| !id.starts_with("SQP-SEC-")).collect();
        assert_eq!(collected, ["SQP-TXN-010"], "{captured}");
    }
    // Errors in ServerInfo are still reported.
    let broken = answer.replace("0141", "01ff");
    let seen = cut(&[SQP_CHALLENGE, SQP_CHALLENGE_REPLY, "01 80902348 0002 1f", &broken], 60);
    assert!(seen.rules().contains(&"SQP-STR-002"));
}

#[test]
fn the_chunks_of_a_truncated_query_are_unknown() {
    let info = "01 80902348 0001 00 00 0012 0000000e 0001 0008 0141 0162 0163 0164 1e61";
    let pad = "01 80902348 0001 00 00 0013 0000000e 0001 0008 0141 0162 0163 0164 1e61 00";
    let collected = |query: &str, captured: usize, answer: &str| {
        let at = |n: i64| 30 * S + n * 10 * MS;
        let mut frames = vec![
            foreign(play::START),
            c(at(0), SQP_CHALLENGE),
            s(at(1), SQP_CHALLENGE_REPLY),
            c(at(2), query),
        ];
        frames[3].bytes.truncate(HEADERS + captured);
        frames.push(s(at(3), answer));
        let collected: Collected<true> = play(&frames).0;
        collected.frame(5).rules()
    };
    for captured in 5..8 {
        assert_eq!(collected("01 80902348 0001 01", captured, info), ["SQP-CHK-006"], "{captured}");
        assert!(!collected("01 80902348 0001 01", captured, pad).contains(&"SQP-CHK-003"), "{captured}");
    }
    // A query that ends there requests nothing.
    assert_eq!(collected("01 80902348 0001", 7, info), ["SQP-TXN-017"]);
}

#[test]
fn encoded_messages_may_be_truncated() {
    let answer = format!("01 677a6970 06 {} 04", "0401".repeat(40));
    assert_eq!(
        rules(&[GQP_IDENTIFY, GQP_IDENTIFY_REPLY, GQP_IDENTIFY, &answer]),
        ["GQP-ENC-004", "GQP-ENC-003", "GQP-ENC-005"]
    );
    for captured in 1..80 {
        let collected = cut(&[GQP_IDENTIFY, GQP_IDENTIFY_REPLY, GQP_IDENTIFY, &answer], captured).rules();
        let wrong =
            |rule: &&str| matches!(*rule, "GQP-FRM-001" | "GQP-FRM-002" | "GQP-ENC-001" | "GQP-ENC-006");
        assert!(!collected.iter().any(wrong), "{captured}: {collected:?}");
    }
}

#[test]
fn truncated_packets_are_marked_as_truncated() {
    let state =
        "d5f6 01 01 efcdab8967452301 03 7a960500 0000000000000000 04 001100010100030500020100 0300 466162 01";
    // Decoding stops before the end: a wrong version of the protocol, a header that announces too much.
    let other = state.replacen("d5f6 01 01", "d5f6 01 02", 1);
    let long = "01 80902348 0001 00 00 ffff 0000000e 0001 0008 0141 0162 0163 0164 1e61";
    let conversations: [&[&str]; 6] = [
        &[POLL, state],
        &[POLL, &other],
        &[SQP_CHALLENGE, SQP_CHALLENGE_REPLY, QUERY_PLAYERS, long],
        &[
            SQP_CHALLENGE,
            SQP_CHALLENGE_REPLY,
            play::SQP_QUERY,
            "02 80902348 0001 00 00 0012 0000000e 0001 0008 0141 0162 0163 0164 1e61",
        ],
        &[GQP_IDENTIFY, GQP_IDENTIFY_REPLY, ECHO, "3030 6563686f 1e 61 04"],
        &["feffffff", "93000000 02000000 4100 00000000"],
    ];
    for turns in conversations {
        let (frame, mut claimed) = (turns.len() as u64 + 1, 0);
        let whole = hex(turns[turns.len() - 1]).len();
        for captured in 1..whole {
            let seen = cut(turns, captured);
            if seen.frame == frame {
                claimed += 1;
                let cuts: Vec<_> = seen.findings.iter().filter(|f| f.rule.id == "GEN-001").collect();
                assert!(
                    matches!(cuts[..], [f] if f.span.is_some_and(|s| s.end as usize == captured)),
                    "{turns:?} {captured}: {cuts:?}"
                );
            }
        }
        assert!(claimed > whole / 2, "{turns:?}: {claimed}");
        assert!(!last(turns).rules().contains(&"GEN-001"));
    }
}

#[test]
fn the_wire_length_is_used_for_truncated_packets() {
    // The name counts characters, and the lengths determine the end of the message, as far as they were captured.
    let reply = "93000000 04000000 430061006d007000 03000000 302e31 02000000 0a000000 04000000 7b007d00";
    let (config, whole) = (hex(reply).len() - 4, hex(reply).len());
    let errors = |seen: &ReportedPacket| -> Vec<_> {
        let errors = seen.findings.iter().filter(|f| f.severity == Severity::Error);
        errors.map(|f| f.rule.id).collect()
    };
    let all = errors(&last(&["feffffff", reply]));
    for captured in config..whole {
        assert_eq!(errors(&cut(&["feffffff", reply], captured)), all, "{captured}");
    }
    // An answer to an operator, while a query is open.
    let message = "82000000 04000000 6f006b00";
    for captured in 8..=hex(message).len() {
        let seen = cut(&["feffffff", message], captured);
        assert_eq!((seen.message, errors(&seen)), ("rcon_response", vec![]), "{captured}");
    }
}
