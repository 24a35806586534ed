//! What rules say of single datagrams, in cases that their examples do not show.

use crate::kit::play;
use crate::kit::play::{Collected, H1, H2, ID, IDR, MS, POLL, S, Seen, c, foreign, play, s};
use qdissect::rule::{Severity, hex};

/// Ethernet, IPv4 and UDP.
const HEADERS: usize = 14 + 20 + 8;
/// A request for ServerInfo and PlayerInfo.
const QIP: &str = "01 80902348 0001 05";
const ECHO: &str = "6563686f 1e 61 04";

/// What the last of them earns, each 10 ms behind the one before, from client and server in turn. Of the last one so many
/// bytes were captured.
fn cut(turns: &[&str], captured: usize) -> Seen {
    let ms = |n: usize| 30 * S + n as i64 * 10 * MS;
    let mut shots = vec![foreign(play::START)];
    shots.extend(
        turns.iter().enumerate().map(|(n, text)| if n % 2 == 0 { c(ms(n), text) } else { s(ms(n), text) }),
    );
    let last = shots.last_mut().expect("there is one");
    last.bytes.truncate(HEADERS.saturating_add(captured));
    let heard: Collected<true> = play(&shots).0;
    heard.packets.last().expect("it was claimed").clone()
}

fn last(turns: &[&str]) -> Seen {
    cut(turns, usize::MAX)
}

/// The same, by rule, field and bytes, without what is said of sizes.
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
fn notes_that_fill_a_datagram_hide_no_error() {
    // Forty sub states that nobody knows, and a name that is no UTF-8.
    let unknown: String = (8..48).map(|id| format!("{id:02x}0100")).collect();
    let answer =
        format!("d5f6 01 01 efcdab8967452301 02 7a960500 0000000000000000 28 {unknown} 0200 ff61 01");
    let heard = rules(&[POLL, &answer]);
    assert_eq!(heard.iter().filter(|rule| **rule == "SFQ-SUB-001").count(), 31);
    assert_eq!(heard.last(), Some(&"SFQ-RSP-006"));
}

#[test]
fn versions_are_compared_of_sub_states_that_are_understood() {
    let state = |table: &str| {
        format!("d5f6 01 01 efcdab8967452301 01 7a960500 0000000000000000 {table} 0300 466162 01")
    };
    let told = |before: &str, table: &str| {
        let again = |text: &str| text.replace("efcdab89", "02000000");
        rules(&[POLL, &state(before), &again(POLL), &again(&state(table))])
    };
    // Sub states of ten bytes, as the document misprints them.
    let wide = "04 00000000000000000100 01000000000000000200 02000000000000000300 03000000000000000900";
    assert_eq!(told("01 000500", wide), ["SFQ-RSP-008"]);
    assert_eq!(told(wide, wide), ["SFQ-RSP-008"]);
    // Of two with one number the last one counts.
    let twice = "02 000100 000500";
    assert_eq!(told(twice, twice), ["SFQ-SUB-003"]);
    assert_eq!(told("01 000600", twice), ["SFQ-SUB-003", "SFQ-SUB-005"]);
}

#[test]
fn the_terminator_is_no_server_state() {
    let cut = places(&[POLL, "d5f6 01 01 efcdab8967452301 01"]);
    assert_eq!(cut, [("SFQ-RSP-001", Some("server_state".into()), 12, 13)]);
}

#[test]
fn chunks_behind_those_requested_are_said_once() {
    let rest = "00000004 016b0001";
    let more = format!("01 80902348 0001 00 00 001a 0000000e 0001 0008 0141 0162 0163 0164 1e61 {rest}");
    let found = [("SQP-TXN-017", Some("packet_surplus".into()), 29, 37)];
    assert_eq!(places(&[H1, H2, play::QI, &more]), found);
    let padded = "01 80902348 0001 00 00 0013 0000000e 0001 0008 0141 0162 0163 0164 1e61 00";
    assert_eq!(rules(&[H1, H2, play::QI, padded]), ["SQP-CHK-003"]);
}

#[test]
fn a_number_of_players_that_differs_is_marked_where_it_stands() {
    let info = "0000000e 0003 0008 0141 0162 0163 0164 1e61";
    let found = ("SQP-TAB-006", Some("player_info.record_count".into()), 33, 35);
    let answer = |table: &str, length: u8| {
        format!("01 80902348 0001 00 00 00{:02x} {info} 000000{length:02x} {table}", length + 22)
    };
    let whole = places(&[H1, H2, QIP, &answer("0001 01 016e 00 05", 7)]);
    assert_eq!(whole.first(), Some(&found));
    assert_eq!(whole.len(), 1);
    // Also where the table cannot be read to its end.
    let broken = places(&[H1, H2, QIP, &answer("0002 01 016e 00 05", 7)]);
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
        places(&[H1, H2, query, &none]),
        [("SQP-TAB-003", Some("player_info.records[0]".into()), 24, 24)]
    );
    let one = answer(12, "0002 02 016d 00 016e 01 050006");
    assert_eq!(
        places(&[H1, H2, query, &one]),
        [("SQP-TAB-003", Some("player_info.records[1]".into()), 27, 27)]
    );
}

#[test]
fn pvp_is_the_word_that_dotnet_writes() {
    let reply = |pvp: &str| {
        let config = format!("{{'players':[],'experience':'Stalker','pvp':{pvp}}}");
        let units: String = config.encode_utf16().map(|u| format!("{:04x}", u.swap_bytes())).collect();
        let length = (units.len() as u32 / 2).swap_bytes();
        format!("93000000 02000000 4100 03000000 302e31 00000000 0a000000 {length:08x} {units}")
    };
    assert_eq!(rules(&["feffffff", &reply("'True'")]), ["SKY-JSN-001", "SKY-TXN-006"]);
    for other in ["'true'", "'false'", "'TRUE'", "True", "true", "''"] {
        let heard = rules(&["feffffff", &reply(other)]);
        assert_eq!(heard, ["SKY-JSN-001", "SKY-JSN-007", "SKY-TXN-006"], "{other}");
    }
}

#[test]
fn whatever_follows_the_end_of_a_reply_it_is_one() {
    for behind in ["41", "0000", &"00".repeat(64), &"ff".repeat(64)] {
        let reply = format!("3130 6563686f 1e 11 61 04 {behind}");
        assert_eq!(rules(&[ID, IDR, ECHO, &reply]), ["GQP-FRM-002"], "{behind}");
    }
}

#[test]
fn an_encoding_inside_a_message_has_a_name_that_ends() {
    let heard = |text: &str| rules(&[ID, IDR, &format!("6563686f 1e 61 1d {text} 04")]);
    assert_eq!(heard("01 78 06 1d 62"), ["GQP-ENC-002"]);
    assert_eq!(heard("01 78"), ["GQP-ENC-002", "GQP-ENC-001"]);
    assert_eq!(heard("01 06 62"), ["GQP-ENC-002", "GQP-ENC-006"]);
}

#[test]
fn what_is_read_as_text_has_one_value_whatever_its_mark() {
    let told = |record: &str| rules(&[ID, IDR, "6e6f7065 04", &format!("3130 6e6f7065 1e {record} 04")]);
    assert_eq!(told("02 61"), ["GQP-REC-002"]);
    assert_eq!(told("02 61 1f 62"), ["GQP-REC-002", "GQP-REC-003"]);
    assert_eq!(told("61 1f 62"), ["GQP-REC-001"], "a pair");
    assert_eq!(told("61 1f 62 1f 63"), ["GQP-REC-001", "GQP-REC-003"]);
}

#[test]
fn where_the_capture_ends_no_datagram_does() {
    for (last, rule) in [("17", "GQP-CHR-004"), ("23", "")] {
        let reply = format!("3130 6563686f 1e 11 61 {last} 62 04");
        let whole = rules(&[ID, IDR, ECHO, &reply]);
        assert_eq!(whole.contains(&rule), !rule.is_empty(), "{last}");
        let seen = cut(&[ID, IDR, ECHO, &reply], 10);
        assert!(seen.rules().iter().all(|rule| !rule.starts_with("GQP-FRM")), "{last}: {:?}", seen.rules());
    }
}

#[test]
fn an_rs_behind_a_us_in_its_place_is_not_the_second_one() {
    let asked = |arguments: &str| rules(&[ID, IDR, &format!("6563686f {arguments} 04")]);
    assert_eq!(asked("1f 61 1e 62"), ["GQP-REQ-002"]);
    assert_eq!(asked("1f 61 1e 62 1e 63"), ["GQP-REQ-002", "GQP-REQ-003"]);
    assert_eq!(asked("1e 61 1f 62 1e 63"), ["GQP-REQ-003"]);
}

#[test]
fn a_blank_stands_behind_a_status_only_where_there_is_one() {
    assert_eq!(rules(&[ID, IDR, ECHO, "3130 20 6563686f 1e 06 04"])[..1], ["GQP-RSP-007"]);
    assert_eq!(rules(&[ID, IDR, ECHO, "20 6563686f 1e 06 04"]), ["GQP-RSP-001"]);
}

#[test]
fn nothing_is_compared_with_a_command_that_is_encoded() {
    let asked = "6563686f 1e 61 1d 01 78 06 1d 68656c6c6f 1d 04";
    assert_eq!(rules(&[ID, IDR, asked]), ["GQP-ENC-002"]);
    let two = "3130 6563686f 1e 11 61 1d 3330 6563686f 1e 06 04";
    assert_eq!(rules(&[ID, IDR, asked, two]), Vec::<&str>::new());
    // What stands before it is.
    let wrong = "3130 6563686f 1e 11 62 1d 3330 6563686f 1e 06 04";
    assert_eq!(rules(&[ID, IDR, asked, wrong]), ["GQP-TXN-004"]);
    let encoded = "3130 6563686f 1e 11 61 1d 01 78 06 1d 68656c6c6f 1d 04";
    assert_eq!(rules(&[ID, IDR, "6563686f 1e 61 1d 6563686f 04", encoded]), ["GQP-ENC-002"]);
}

#[test]
fn what_has_no_single_quotes_is_not_said_to_have_them() {
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
fn an_answer_with_fewer_chunks_than_asked_may_be_cut() {
    // Everything is asked for, ServerInfo and Metrics come, as go-svrquery's sample server does it.
    let metrics = "00000029 0a 42700000 3e800000 42700000 3e800000 42700000 3e800000 42700000 3e800000 42700000 3e800000";
    let info = "0000000e 0001 0008 0141 0162 0163 0164 1e61";
    let answer = format!("01 80902348 0001 00 00 003f {info} {metrics}");
    let turns = [H1, H2, "01 80902348 0002 1f", &answer];
    assert_eq!(rules(&turns), ["SQP-TXN-010", "SQP-TXN-011"]);
    for captured in 11..74 {
        let seen = cut(&turns, captured);
        let heard = seen.findings.iter().filter(|f| !f.rule.id.starts_with("GEN-"));
        let heard: Vec<_> = heard.map(|f| f.rule.id).filter(|id| !id.starts_with("SQP-SEC-")).collect();
        assert_eq!(heard, ["SQP-TXN-010"], "{captured}");
    }
    // What is wrong with ServerInfo stays wrong.
    let broken = answer.replace("0141", "01ff");
    let seen = cut(&[H1, H2, "01 80902348 0002 1f", &broken], 60);
    assert!(seen.rules().contains(&"SQP-STR-002"));
}

#[test]
fn chunks_that_the_capture_cut_off_a_query_may_be_any() {
    let info = "01 80902348 0001 00 00 0012 0000000e 0001 0008 0141 0162 0163 0164 1e61";
    let pad = "01 80902348 0001 00 00 0013 0000000e 0001 0008 0141 0162 0163 0164 1e61 00";
    let heard = |query: &str, captured: usize, answer: &str| {
        let at = |n: i64| 30 * S + n * 10 * MS;
        let mut shots = vec![foreign(play::START), c(at(0), H1), s(at(1), H2), c(at(2), query)];
        shots[3].bytes.truncate(HEADERS + captured);
        shots.push(s(at(3), answer));
        let heard: Collected<true> = play(&shots).0;
        heard.frame(5).rules()
    };
    for captured in 5..8 {
        assert_eq!(heard("01 80902348 0001 01", captured, info), ["SQP-CHK-006"], "{captured}");
        assert!(!heard("01 80902348 0001 01", captured, pad).contains(&"SQP-CHK-003"), "{captured}");
    }
    // A query that ends there asks for nothing.
    assert_eq!(heard("01 80902348 0001", 7, info), ["SQP-TXN-017"]);
}

#[test]
fn the_end_of_an_encoded_message_may_be_cut_off() {
    let answer = format!("01 677a6970 06 {} 04", "0401".repeat(40));
    assert_eq!(rules(&[ID, IDR, ID, &answer]), ["GQP-ENC-004", "GQP-ENC-003", "GQP-ENC-005"]);
    for captured in 1..80 {
        let heard = cut(&[ID, IDR, ID, &answer], captured).rules();
        let wrong =
            |rule: &&str| matches!(*rule, "GQP-FRM-001" | "GQP-FRM-002" | "GQP-ENC-001" | "GQP-ENC-006");
        assert!(!heard.iter().any(wrong), "{captured}: {heard:?}");
    }
}

#[test]
fn what_the_capture_cut_short_is_said_to_be() {
    let state =
        "d5f6 01 01 efcdab8967452301 03 7a960500 0000000000000000 04 001100010100030500020100 0300 466162 01";
    // Decoding stops before the end: a wrong version of the protocol, a header that announces too much.
    let other = state.replacen("d5f6 01 01", "d5f6 01 02", 1);
    let long = "01 80902348 0001 00 00 ffff 0000000e 0001 0008 0141 0162 0163 0164 1e61";
    let conversations: [&[&str]; 6] = [
        &[POLL, state],
        &[POLL, &other],
        &[H1, H2, QIP, long],
        &[H1, H2, play::QI, "02 80902348 0001 00 00 0012 0000000e 0001 0008 0141 0162 0163 0164 1e61"],
        &[ID, IDR, ECHO, "3030 6563686f 1e 61 04"],
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
fn what_the_capture_cut_off_is_known_by_its_length() {
    // The name counts characters, and the whole ends where its lengths say: so far as these are there, that is known.
    let reply = "93000000 04000000 430061006d007000 03000000 302e31 02000000 0a000000 04000000 7b007d00";
    let (config, whole) = (hex(reply).len() - 4, hex(reply).len());
    let errors = |seen: &Seen| -> Vec<_> {
        let errors = seen.findings.iter().filter(|f| f.severity == Severity::Error);
        errors.map(|f| f.rule.id).collect()
    };
    let all = errors(&last(&["feffffff", reply]));
    for captured in config..whole {
        assert_eq!(errors(&cut(&["feffffff", reply], captured)), all, "{captured}");
    }
    // An answer to an operator, while a query is open.
    let told = "82000000 04000000 6f006b00";
    for captured in 8..=hex(told).len() {
        let seen = cut(&["feffffff", told], captured);
        assert_eq!((seen.message, errors(&seen)), ("rcon_response", vec![]), "{captured}");
    }
}
