//! Findings about intact, truncated and damaged conversations in the query protocols of GameSpy and Quake.

use crate::kit::feed::samples;
use crate::kit::play::{
    Collected, MS, RawFrame, S, SERVER_ADDR, c, example_frames, play, play_surrounded, s,
};
use qdissect::contract::Context;
use qdissect::decode::{Tree, Value};
use qdissect::protocols::{Direction, Id};
use qdissect::rule::{Severity, hex};
use std::collections::BTreeSet;

const HANDSHAKE: &str = "fefd09 01020304";
const HANDSHAKE_REPLY: &str = "09 01020304 '9513307' 00";
const FULL_STAT: &str = "fefd00 01020304 0091295b ffffff01";
const FULL_STAT_REPLY: &str = "00 01020304 'splitnum' 00 80 00 'hostname' 00 'Lab' 00 'numplayers' 00 '1' 00 'maxplayers' 00 '8' 00 00 \
                  01 'player_' 00 00 'Ann' 00 00 00 02 00";
const BASIC_STAT: &str = "fefd00 01020304 0091295b";
const BASIC_STAT_REPLY: &str = "00 01020304 'Lab' 00 'SMP' 00 'world' 00 '1' 00 '20' 00 dd63 '127.0.0.1' 00";

const KEYS: &str = "fefd00 'CORY' ff0000";
const LIST: &str = "00 'CORY' 'hostname' 00 'Lab' 00 'numplayers' 00 '1' 00 'maxplayers' 00 '8' 00 00";
const TABLES: &str = "fefd00 'CORX' 00ffff";
const TWO: &str = "00 'CORX' 0001 'player_' 00 'score_' 00 00 'Ann' 00 '5' 00 0001 'team_t' 00 00 'Red' 00";

/// Plays requests and answers in turn, a millisecond apart, long after the start of the capture.
fn talk(turns: &[[&str; 2]]) -> Collected<true> {
    let turn = |(at, [ask, answer]): (i64, &[&str; 2])| [c(at * MS, ask), s(at * MS + MS / 2, answer)];
    play_surrounded(&(1..).zip(turns).flat_map(turn).collect::<Vec<_>>())
}

/// Message and broken rules of each claimed datagram.
fn messages_and_rules(collected: &Collected<true>) -> Vec<(&'static str, Vec<&'static str>)> {
    collected.packets.iter().map(|p| (p.message, p.rules())).collect()
}

/// The rules that datagrams and exchanges break.
fn rules(collected: &Collected<true>) -> Vec<&'static str> {
    collected.findings().map(|f| f.rule.id).collect()
}

#[test]
fn gamespy_3_proves_the_address_with_the_challenge_it_carries() {
    // The challenge itself is larger than its request, but the answer to a query needs a valid challenge.
    for stat in [[FULL_STAT, FULL_STAT_REPLY], [BASIC_STAT, BASIC_STAT_REPLY]] {
        let collected = talk(&[[HANDSHAKE, HANDSHAKE_REPLY], stat]);
        assert_eq!(
            (collected.frame(3).rules(), rules(&collected)),
            (vec!["GEN-007"], vec!["GEN-007"]),
            "{stat:?}"
        );
    }
    // The challenge was issued before the capture.
    assert_eq!(rules(&talk(&[[FULL_STAT, &FULL_STAT_REPLY.replace("'Lab'", "'Lab' 21*120")]])), [""; 0]);
    // Without a challenge or with a wrong one, the address is not proven.
    assert_eq!(rules(&talk(&[["fefd00 01020304 ffffff01", FULL_STAT_REPLY]])), ["GEN-007"]);
    let wrong = talk(&[[HANDSHAKE, HANDSHAKE_REPLY], ["fefd00 01020304 00000007 ffffff01", FULL_STAT_REPLY]]);
    assert_eq!(rules(&wrong), ["GEN-007", "GS3-TXN-005", "GS3-SEC-001"]);
    // The challenge before the last one was issued to the same address.
    let earlier = talk(&[
        [HANDSHAKE, HANDSHAKE_REPLY],
        [HANDSHAKE, "09 01020304 '7' 00"],
        [FULL_STAT, FULL_STAT_REPLY],
    ]);
    assert_eq!(rules(&earlier), ["GEN-007", "GS3-TXN-005"]);
}

#[test]
fn a_gamespy_3_challenge_may_look_like_a_selector() {
    let issued = "09 01020304 '-200' 00";
    let collected = talk(&[[HANDSHAKE, issued], ["fefd00 01020304 ffffff38", BASIC_STAT_REPLY]]);
    assert_eq!(rules(&collected), ["GEN-007"]);
    // Another value is no selector, and the server should not have answered.
    let collected = talk(&[[HANDSHAKE, issued], ["fefd00 01020304 ffffff01", FULL_STAT_REPLY]]);
    assert_eq!(rules(&collected), ["GEN-007", "GS3-SEC-001"]);
}

#[test]
fn weak_answers_are_claimed_only_while_a_request_is_open() {
    let packets = ["00*20", "00 0102030405060708", "00 'game state' 00", "09 'abcdefgh'", "00 ffffffffff"];
    let frames = |asks: [&str; 2], open: &[&str]| {
        let begun = [c(0, asks[0]), s(MS, asks[1])].into_iter().chain(open.iter().map(|ask| c(S, ask)));
        begun.chain((1001..).zip(packets).map(|(at, packet)| s(at * MS, packet))).collect::<Vec<_>>()
    };
    for (asks, open) in [([FULL_STAT, FULL_STAT_REPLY], "fefd09 01020304"), ([KEYS, LIST], TABLES)] {
        let collected = play_surrounded(&frames(asks, &[]));
        assert_eq!(messages_and_rules(&collected)[2..], [const { ("unknown", vec![]) }; 5], "{asks:?}");
        let collected = play_surrounded(&frames(asks, &[open]));
        assert!(
            messages_and_rules(&collected)[3..]
                .iter()
                .any(|(message, rules)| *message != "unknown" && !rules.is_empty())
        );
    }
    // For another client of a known server they are not claimed.
    let mut other_client = frames([FULL_STAT, FULL_STAT_REPLY], &[]);
    other_client[2..].iter_mut().for_each(|frame| frame.bytes[30..34].copy_from_slice(&[203, 0, 113, 9]));
    assert_eq!(play_surrounded(&other_client).packets.len(), 2);
}

#[test]
fn copies_of_answers_are_recognised_by_their_bytes() {
    let plain = FULL_STAT_REPLY
        .replace("'splitnum' 00 80 00", "")
        .replace("01 'player_' 00 00 'Ann' 00 00 00 02 00", "");
    let whole = "fefd00 01020304 0091295b ffffff00";
    let (sections, three) =
        ("fefd00 'CORX' ffffff", format!("{} {}", LIST.replace("CORY", "CORX"), &TWO[9..]));
    let copied = [
        (sections, three.as_str(), "GS2-TXN-004"),
        (BASIC_STAT, BASIC_STAT_REPLY, "GS3-TXN-004"),
        (whole, &plain, "GS3-TXN-004"),
        (TABLES, TWO, "GS2-TXN-004"),
        ("fefd00 'CORX' 00ff00", "00 'CORX' 000000", "GS2-TXN-004"),
        (KEYS, LIST, "GS2-TXN-004"),
    ];
    for (ask, answer, copy) in copied {
        let collected = play_surrounded(&[c(0, ask), s(MS, answer), s(2 * MS, answer)]);
        assert_eq!(collected.frame(4).rules(), [copy], "{answer}");
    }
}

#[test]
fn an_answer_may_have_the_id_of_any_recent_request() {
    let ids = ["'AAAA'", "'BBBB'", "'CCCC'"];
    let asks = ids.map(|id| c(S, &format!("fefd00 {id} 00ff00")));
    let answers = ids.map(|id| s(S + MS, &format!("00 {id} 000000")));
    let known = [c(0, KEYS), s(MS, LIST)];
    let collected = play_surrounded(&[&known[..], &asks, &answers].concat());
    assert_eq!(messages_and_rules(&collected)[5..], [const { ("query_response", vec![]) }; 3]);
    assert_eq!(rules(&collected), ["GEN-007"]);
}

#[test]
fn short_text_is_not_a_gamespy_2_answer_with_another_id() {
    let last = |packet: &str| {
        let collected = play_surrounded(&[c(0, KEYS), s(MS, LIST), c(S, KEYS), s(S + MS, packet)]);
        messages_and_rules(&collected).pop().expect("it was claimed")
    };
    assert_eq!(last("00 9a307665 767c4530"), ("unknown", vec![]));
    assert_eq!(last(&LIST.replace("CORY", "XXXX")).1, ["GS2-TXN-001"]);
}

#[test]
fn game_traffic_is_not_taken_for_a_damaged_answer() {
    // RakNet's connected ping, a RakNet frame, and bytes that begin like text or a number.
    let traffic =
        ["00 62092e014a42e64b", "00 8d53f1c2 91b4e3f0", "09 cee37f9f 700178421e19704d", "5c 7ccd9bbe4e1e95"];
    let asks = [
        ["fefd09 01020304", HANDSHAKE_REPLY],
        ["fefd00 'CORY' ff0000", LIST],
        [r"'\status\'", r"'\numplayers\1\queryid\7.1\final\'"],
    ];
    for [ask, answer] in asks {
        for packet in traffic {
            let collected = play_surrounded(&[c(0, ask), s(MS, answer), c(S, ask), s(S + MS, packet)]);
            let own_rules: Vec<_> =
                rules(&collected).into_iter().filter(|rule| !rule.starts_with("GEN")).collect();
            assert!(own_rules.is_empty(), "{ask} {packet}: {own_rules:?}");
            assert!(rules(&collected).contains(&"GEN-010"), "nothing shows that it is of a game");
            let collected = play_surrounded(&[
                c(0, ask),
                s(MS, answer),
                c(S, packet),
                c(2 * S, ask),
                s(2 * S + MS, answer),
            ]);
            assert_eq!(
                (collected.frame(4).message, collected.frame(4).rules()),
                ("unknown", vec![]),
                "{ask} {packet}"
            );
        }
    }
    // With the id of the request, or with a number at the end, it is an answer.
    let damaged =
        [("00 01020304 9d53f1c2", "GS3-SPL-001"), ("09 81efbfbd 020304 '9513307' 00", "GS3-TXN-007")];
    for (answer, rule) in damaged {
        let ask = if answer.starts_with("00") { FULL_STAT } else { "fefd09 81020304" };
        let collected =
            play_surrounded(&[c(0, HANDSHAKE), s(MS, HANDSHAKE_REPLY), c(S, ask), s(S + MS, answer)]);
        assert!(rules(&collected).contains(&rule), "{answer}: {:?}", rules(&collected));
    }
}

#[test]
fn a_request_after_the_window_is_not_a_retransmission() {
    let polls = [("fefd00 01020304 ffffff01", FULL_STAT_REPLY, "GS3-TXN-002"), (KEYS, LIST, "GS2-TXN-002")];
    for (ask, answer, rule) in polls {
        let collected = play_surrounded(&[c(0, ask), c(5 * S, ask), s(5 * S + 20 * MS, answer)]);
        assert!(rules(&collected).contains(&rule), "{ask}");
        let answered: Vec<_> =
            collected.exchanges.iter().map(|(e, _)| (e.request_frame, e.response_time)).collect();
        assert_eq!(answered, [(3, Some(20 * MS)), (2, None)], "{ask}");
        // Inside the window it is the same request.
        let collected = play_surrounded(&[c(0, ask), c(S, ask), s(S + 20 * MS, answer)]);
        assert_eq!(collected.exchanges.len(), 1, "{ask}");
    }
}

#[test]
fn players_with_the_old_info_are_not_a_copy_of_earlier_players() {
    let (info, old) = (
        "ffffffff 'TSource Engine Query' 00",
        "ffffffff 'm10.0.0.1:27015' 00 'A' 00 'b' 00 'c' 00 'd' 00 01 08 2f 'dl' 00 01 00 00",
    );
    let new = "ffffffff 49 30 'A' 00 'b' 00 'c' 00 'd' 00 0a00 01 08 00 'dl' 00 01 '1' 00 80 8769";
    let (players, list) = ("ffffffff 55 c3192a4b", "ffffffff 44 01 00 'n' 00 01000000 00007042");
    let frames =
        [c(0, players), s(MS, list), c(S, info), s(S + MS, old), s(S + 2 * MS, list), s(S + 3 * MS, new)];
    let collected = play_surrounded(&frames);
    assert!(!rules(&collected).contains(&"A2S-TXN-005"), "{:?}", rules(&collected));
    // A repetition after its own request is a copy.
    let frames = [c(0, info), s(MS, old), c(S, players), s(S + MS, list), s(S + 2 * MS, list)];
    assert!(rules(&play_surrounded(&frames)).contains(&"A2S-TXN-005"));
}

/// The frames truncated to a snap length.
fn snapped(frames: &[RawFrame], length: usize) -> Vec<RawFrame> {
    let cut = |frame: &RawFrame| RawFrame {
        bytes: frame.bytes[..length.min(frame.bytes.len())].to_vec(),
        ..frame.clone()
    };
    frames.iter().map(cut).collect()
}

#[test]
fn truncated_packets_break_no_rule() {
    let broken = |frames: &[RawFrame]| {
        let collected = play(frames).0;
        // The truncated bytes may have announced a command.
        let own_findings = collected.findings().filter(|f| !f.rule.is_shared() && f.rule.id != "GQP-REQ-004");
        own_findings.map(|f| f.rule.id).collect::<BTreeSet<_>>()
    };
    let mut wrong = vec![];
    for (id, sample) in samples() {
        let frames = example_frames(sample);
        let whole = broken(&frames);
        for length in 60..300 {
            let more: Vec<_> = broken(&snapped(&frames, length)).difference(&whole).copied().collect();
            wrong.extend((!more.is_empty()).then_some((id, length, more)));
        }
    }
    assert_eq!(wrong, []);
}

#[test]
fn an_unnumbered_part_belongs_to_the_current_answer() {
    let first = r"'\gamename\ut\hostname\Lab\numplayers\1\maxplayers\8\queryid\7.1'";
    let others = [r"'\player_0\Ann\team_0\1\frags_0\12\queryid\7.2'", r"'\timelimit\15\queryid\7.3\final\'"];
    let ask = c(0, r"'\status\'");
    for cut in 0..3 {
        let mut frames = vec![ask.clone(), s(MS, first), s(2 * MS, others[0]), s(3 * MS, others[1])];
        let length = frames[cut + 1].bytes.len() - 15;
        frames[cut + 1].bytes.truncate(length);
        let collected = play_surrounded(&frames);
        let notes = collected.findings().filter(|f| f.severity > Severity::Note);
        assert_eq!(notes.map(|f| f.rule.id).collect::<Vec<_>>(), [""; 0], "part {cut}");
        assert_eq!(collected.exchanges[0].0.response_parts, [3, 4, 5], "part {cut}");
    }
    // The next answer begins with the game.
    let cut = |frame: RawFrame| RawFrame { bytes: frame.bytes[..80].to_vec(), ..frame };
    let polls = (0..3).flat_map(|n| [c(n * S, r"'\status\'"), cut(s(n * S + MS, first))]);
    assert!(!rules(&play_surrounded(&polls.collect::<Vec<_>>())).contains(&"GS1-TXN-002"));
}

/// The frames with another client and this port of the server.
fn elsewhere(frames: &[RawFrame], port: u16) -> Vec<RawFrame> {
    let moved = |frame: &RawFrame| {
        let mut frame = frame.clone();
        let [address, at] = if frame.bytes[30..34] == SERVER_ADDR.0 { [26, 34] } else { [30, 36] };
        frame.bytes[address..address + 4].copy_from_slice(&[203, 0, 113, 9]);
        frame.bytes[at..at + 2].copy_from_slice(&port.to_be_bytes());
        frame
    };
    frames.iter().map(moved).collect()
}

#[test]
fn traffic_with_master_servers_is_that_of_masters() {
    // The server sends a heartbeat; the master server asks for proof and gets it.
    let announced = [
        s(S, r"'\heartbeat\27100\gamename\ut\final\'"),
        c(S + MS, r"'\secure\ABCDEF'"),
        s(S + 2 * MS, r"'\validate\abcdef\final\'"),
        s(2 * S, r"'\heartbeat\27100\gamename\ut\statechanged\1'"),
        s(3 * S, "03 01020304 'localip0' 00 '192.0.2.10' 00 00 00"),
        c(3 * S + MS, "fefd01 01020304 'ABCDEF' 00"),
        s(4 * S, "09 00000000 'ut3pc' 00"),
        c(4 * S + MS, "fefd09 00000000"),
    ];
    // Proofs that nobody asked for in a query, and messages of another kind, are nobody's.
    let of_masters = ["heartbeat", "heartbeat", "heartbeat", "available_request", "available_response"];
    let claimed = |frames: &[RawFrame]| -> Vec<_> {
        play_surrounded(frames).packets.iter().map(|p| (p.id.info().name, p.message)).collect()
    };
    let masters = of_masters.map(|message| ("masters", message));
    assert_eq!(claimed(&elsewhere(&announced, 27_900)), masters);
    // The same from the port of a known server.
    let asked = [
        c(0, r"'\status\'"),
        s(MS, r"'\gamename\ut\hostname\Lab\numplayers\1\maxplayers\8\queryid\7.1\final\'"),
    ];
    let both = [&[("gamespy1", "request"), ("gamespy1", "response")][..], &masters].concat();
    assert_eq!(claimed(&[&asked[..], &elsewhere(&announced, 27_900)].concat()), both);
    // A client may ask for the proof, too.
    let proof = [c(S, r"'\secure\ABCDEF'"), s(S + MS, r"'\validate\abcdef\queryid\8.1\final\'")];
    let collected = play_surrounded(&[asked, proof].concat());
    assert_eq!(messages_and_rules(&collected)[2..], [("request", vec![]), ("response", vec![])]);
}

/// An answer to Quake 3's `getstatus`.
fn status(answer: &str) -> String {
    format!("ffffffff 'statusResponse' 0a {answer}")
}

/// The rules that such an answer breaks.
fn broken_by_status(answer: &str) -> Vec<&'static str> {
    let collected = talk(&[["ffffffff 'getstatus'", &status(answer)]]);
    assert_eq!(messages_and_rules(&collected)[1].0, "status_response", "{answer}");
    let mut rules = collected.frame(3).rules();
    rules.retain(|rule| !["GEN-007", "Q3-SEC-001"].contains(rule));
    rules
}

/// The server name and the numbers of players in an answer.
fn stated(id: Id, message: &str, answer: &str) -> (String, [Option<u32>; 2]) {
    let message = id.info().messages.iter().position(|m| m.name == message).expect("it is declared");
    let (bytes, mut collected) = (hex(answer), Tree::default());
    let cx = Context::of(message as u8, Direction::S2c);
    let decoded = id.dissect(&bytes, &cx, &mut collected);
    let facts = decoded.facts().expect("it is sound");
    let name = facts.server_name.and_then(Value::text).unwrap_or_default().into_owned();
    (name, [facts.players, facts.max_players])
}

#[test]
fn keys_of_gamespy_3_may_go_on_in_another_part() {
    let first = "00 01020304 'splitnum' 00 00 00 'hostname' 00 'Lab' 00 'numplayers' 00 '1' 00 'maxpl' 00";
    let second = "00 01020304 'splitnum' 00 81 00 'maxplayers' 00 '8' 00 00";
    let parts = [c(3 * S, FULL_STAT), s(3 * S + MS, first), s(3 * S + 2 * MS, second)];
    let collected =
        play_surrounded(&[&[c(2 * S, HANDSHAKE), s(2 * S + MS, HANDSHAKE_REPLY)], &parts[..]].concat());
    assert_eq!(rules(&collected), ["GEN-007", "GS3-KEY-005"]);
    // It is late, but no contradiction.
    let late = play_surrounded(
        &[&[c(2 * S, HANDSHAKE), s(2 * S + MS, HANDSHAKE_REPLY)], &parts[..2], &[s(6 * S, second)]].concat(),
    );
    assert_eq!(rules(&late), ["GEN-007", "GS3-KEY-005", "GS3-SPL-002"]);
    // A repeated request may be answered twice.
    let again = [c(0, KEYS), c(S / 2, KEYS), s(S, LIST), s(S + MS, &LIST.replace("'1'", "'2'"))];
    assert_eq!(rules(&play_surrounded(&again)), ["GEN-007"]);
}

#[test]
fn digits_that_may_go_on_are_no_challenge() {
    let (bytes, mut collected) = (hex("09 01020304 '95'"), Tree::default());
    let message = Id::Gamespy3.info().messages.iter().position(|m| m.name == "challenge_response");
    let cx = Context::of(message.expect("it is declared") as u8, Direction::S2c);
    assert_eq!(Id::Gamespy3.dissect(&bytes, &Context { missing: 6, ..cx }, &mut collected).fault, None);
    assert!(collected.render(&bytes).contains("challenge_text"), "{}", collected.render(&bytes));
}

#[test]
fn rules_and_players_of_unreal_2_are_two_messages() {
    let (listed, players) = ("80000000 01 02 'k' 00 02 'v' 00", "80000000 02");
    let frames = [c(0, "79000000 03"), s(MS, listed), s(2 * MS, players)];
    assert!(!rules(&play_surrounded(&frames)).contains(&"UN2-TXN-005"));
    let more = [&frames[..], &[s(3 * MS, &listed.replace('k', "l"))]].concat();
    assert!(rules(&play_surrounded(&more)).contains(&"UN2-TXN-005"));
}

#[test]
fn server_names_have_no_colours_and_rust_tags_have_numbers() {
    let quake = status(r"'\sv_hostname\^1Lab ^x0f8One\clients\1\sv_maxclients\8' 0a");
    let minecraft = FULL_STAT_REPLY.replace("'Lab'", "a7 '6Lab ' a7 'r' 'One'");
    let bedrock = |name: &str| format!("1c {:032x} 00ffff00fefefefefdfdfdfd12345678 {name}", 1);
    let bedrock = bedrock("001d 'MCPE;' c2a7 '6Lab ' c2a7 'r' 'One;1;1;1;8;;w'");
    let info = |folder: &str, tags: &str| {
        let head = format!("ffffffff 49 11 'Lab One' 00 'b' 00 '{folder}' 00 'd' 00");
        format!("{head} 0000 56 3f 00 'dl' 00 01 '1' 00 20 '{tags}' 00")
    };
    for (id, message, answer, counts) in [
        (Id::Quake3, "status_response", quake, [1, 8]),
        (Id::Gamespy3, "full_stat_response", minecraft, [1, 8]),
        (Id::Raknet, "unconnected_pong", bedrock, [1, 8]),
        (Id::A2s, "info_response", info("rust", "mp575,cp547,v2336"), [547, 575]),
        (Id::A2s, "info_response", info("rust", "cp547,v2336"), [86, 63]),
        (Id::A2s, "info_response", info("valve", "mp575,cp547"), [86, 63]),
    ] {
        let expected = ("Lab One".to_owned(), counts.map(Some));
        assert_eq!(stated(id, message, &answer), expected, "{answer}");
    }
}

#[test]
fn fivem_has_a_second_info_string_after_the_players() {
    let first = r#"'\sv_hostname\Lab\mapname\m\sv_maxclients\8' 0a '0 0 "Ann"' 0a"#;
    // A variable may be in both, and a value may have several lines.
    let sound = format!(r"{first} '\sv_hostname\Other\sv_maxclients\64\clients\32\text\one' 0a 'two\tags\a'");
    assert_eq!(broken_by_status(&sound), [""; 0]);
    let expected = ("Lab".to_owned(), [Some(1), Some(8)]);
    for answer in [first, &sound] {
        assert_eq!(stated(Id::Quake3, "status_response", &status(answer)), expected);
    }
    for (more, rule) in [
        (r"'\a\b\\x'", "Q3-INF-003"),
        (r"'\a\b\a\c'", "Q3-INF-004"),
        (r"'\clients\many'", "Q3-INF-006"),
        (r"'\a\b\c'", "Q3-INF-002"),
    ] {
        assert_eq!(broken_by_status(&format!("{first} {more}")), [rule]);
    }
}

#[test]
fn quake_3_lines_may_end_with_crlf_and_have_extra_spaces() {
    let info = r"'\sv_hostname\Lab\sv_maxclients\8'";
    let expected = ("Lab".to_owned(), [Some(2), Some(8)]);
    for lines in [
        r#"0a '5 48 "Ann"' 0a '5 48 "Bob" 2' 0a"#,
        r#"0d0a '5 48 "Ann"' 0d0a '5 48 "Bob" 2' 0d0a 0d0a"#,
        r#"0a0a '5' 09 '48  "Ann"' 09 0a '  5 48 "Bob" 2 ' 0a ' ' 0a"#,
    ] {
        let answer = format!("{info} {lines}");
        assert_eq!(broken_by_status(&answer), [""; 0], "{lines}");
        assert_eq!(stated(Id::Quake3, "status_response", &status(&answer)), expected, "{lines}");
    }
}

#[test]
fn names_of_variables_are_compared_without_case() {
    let answer =
        r"ffffffff 'infoResponse' 0a '\challenge\abc\HostName\Lab\MapName\m\Clients\1\SV_MaxClients\8'";
    let collected = talk(&[["ffffffff 'getinfo  abc'", answer]]);
    assert_eq!((collected.frame(2).rules(), collected.frame(3).rules()), (vec![], vec!["GEN-007"]));
    assert_eq!(stated(Id::Quake3, "info_response", answer), ("Lab".to_owned(), [Some(1), Some(8)]));
}

#[test]
fn an_empty_quake_world_server_answers_a_players_request() {
    for answer in
        ["ffffffff 'n' 00", "ffffffff 'n' 0a 00", "ffffffff 'n' 'qtv 1 \"x\" \"1@a:28000\" 4' 0a 00"]
    {
        let collected = talk(&[["ffffffff 'status 34'", answer]]);
        assert_eq!(
            (messages_and_rules(&collected)[1].0, collected.exchanges.len()),
            ("status_response", 1),
            "{answer}"
        );
        assert!(!rules(&collected).iter().any(|rule| rule.starts_with("Q3-")), "{answer}");
        assert_eq!(stated(Id::Quake3, "status_response", answer).1, [Some(0), None]);
    }
    assert!(play_surrounded(&[s(0, "ffffffff 'n' 00")]).packets.is_empty());
}

#[test]
fn quake_world_console_output_answers_only_the_command() {
    let lab = [
        "ffffffff 'status 23'",
        r#"ffffffff 'n\hostname\Lab\map\dm6' 0a '7 12 3 45 "Ann" "base" 4 11' 0a00"#,
    ];
    for printed in ["'host:  Lab' 0a", "'5 players' 0a", "'-5' 0a 00", "0a 00", "00"] {
        let printed = format!("ffffffff 'n' {printed}");
        // A long text comes in several datagrams.
        let collected = play_surrounded(&[
            c(0, lab[0]),
            s(MS, lab[1]),
            c(2 * MS, "ffffffff 'rcon sesame status'"),
            s(3 * MS, &printed),
            s(4 * MS, "ffffffff 'n7 more' 0a"),
        ]);
        assert_eq!(
            messages_and_rules(&collected)[3..],
            [("print_response", vec![]), ("print_response", vec![])],
            "{printed}"
        );
        assert!(!rules(&collected).contains(&"Q3-TXN-002"), "{printed}");
    }
}

#[test]
fn a_second_info_response_does_not_answer_the_status_request_behind_it() {
    let info = r"ffffffff 'infoResponse' 0a '\hostname\Lab\mapname\m\sv_maxclients\8'";
    let (asks_info, asks_status) = ("ffffffff 'getinfo' 0a", "ffffffff 'getstatus' 0a");
    let status = r"ffffffff 'statusResponse' 0a '\sv_hostname\Lab' 0a";
    let end = [c(7 * S, asks_status), s(7 * S + MS, status)];
    // The datagram was duplicated.
    let doubled =
        [c(0, asks_info), s(2 * MS, info), c(4 * MS, asks_status), s(6 * MS, info), s(8 * MS, status)];
    // The first request was only slow, and repeated.
    let slow = [
        c(0, asks_info),
        c(2 * S, asks_info),
        s(3 * S, info),
        c(3 * S + MS, asks_status),
        s(4 * S, info),
        s(5 * S, status),
    ];
    for (frames, rule) in [(&doubled[..], "Q3-TXN-004"), (&slow[..], "Q3-TXN-003")] {
        let collected = play_surrounded(&[frames, &end].concat());
        let broken_rules: Vec<_> =
            rules(&collected).into_iter().filter(|rule| rule.starts_with("Q3-TXN")).collect();
        assert_eq!(broken_rules, [rule]);
    }
    // As the status response, the datagram has other bytes.
    let instead =
        [c(0, asks_info), s(2 * MS, info), c(4 * MS, asks_status), s(6 * MS, &format!("{info} 0a"))];
    assert!(rules(&play_surrounded(&instead)).contains(&"Q3-TXN-007"));
}

#[test]
fn ten_bytes_of_255_are_a_query_of_teeworlds() {
    let talk =
        play_surrounded(&[c(0, "ffffffff 'getinfo'"), c(MS, "ff*10 'gief'"), c(2 * MS, "ff*10 'gie'")]);
    let claimed: Vec<_> = talk.packets.iter().map(|p| (p.id, p.message)).collect();
    assert_eq!(claimed, [(Id::Quake3, "getinfo_request"), (Id::Teeworlds, "info4_request")]);
}

#[test]
fn basic_answers_are_recognised_by_their_numbers_with_any_server_name() {
    for name in ["''", "'map'", "'gamename'", "'Lab'"] {
        let answer = BASIC_STAT_REPLY.replace("'Lab'", name);
        let collected = talk(&[[HANDSHAKE, HANDSHAKE_REPLY], [BASIC_STAT, &answer]]);
        assert_eq!(
            (messages_and_rules(&collected)[3].clone(), rules(&collected)),
            (("basic_stat_response", vec![]), vec!["GEN-007"])
        );
        // For a request for everything it has another meaning.
        let collected = talk(&[[HANDSHAKE, HANDSHAKE_REPLY], [FULL_STAT, &answer]]);
        assert_eq!(messages_and_rules(&collected)[3], ("basic_stat_response", vec!["GS3-SPL-001"]));
    }
    // Without a challenge the request is the same as for Minecraft.
    assert_eq!(rules(&talk(&[["fefd00 01020304 ffffff01", BASIC_STAT_REPLY]])), ["GEN-007"]);
}

#[test]
fn ut3_has_name_and_map_in_numbered_settings() {
    let keys = "'hostname' 00 'host' 00 'numplayers' 00 '3' 00 'maxplayers' 00 '8' 00 'mapname' 00 'p1073741825=DM' 00 \
                'p1073741825' 00 'DM' 00 'p1073741827' 00";
    let answer = |name: &str| format!("00 01020304 'splitnum' 00 80 00 {keys} {name} 00 00 01 00 02 00");
    let name = |name: &str| stated(Id::Gamespy3, "full_stat_response", &answer(name));
    assert_eq!(name("'Lab'"), ("Lab".to_owned(), [Some(3), Some(8)]));
    assert_eq!(name("").0, "host");
}

#[test]
fn gamespy_2_answers_match_requests_that_share_one_id() {
    const PLAYERS: &str = "fefd00 'CORY' 00ff00";
    const TEAMS: &str = "fefd00 'CORY' 0000ff";
    const ANN: &str = "00 'CORY' 0001 'player_' 00 00 'Ann' 00";
    const RED: &str = "00 'CORY' 0001 'team_t' 00 00 'Red' 00";
    let outcomes = |collected: &Collected<true>| {
        let mut all: Vec<_> =
            collected.exchanges.iter().map(|(e, _)| (e.request_frame, e.response_frame)).collect();
        all.sort_unstable();
        all
    };
    // The keys were requested twice, so they arrive again after the client has requested the players.
    let another = LIST.replace("'1'", "'2'");
    for (again, copies) in [(LIST, &["GS2-TXN-004"][..]), (&another, &[])] {
        let collected = play_surrounded(&[
            c(0, KEYS),
            c(S, KEYS),
            s(1_200 * MS, LIST),
            c(1_201 * MS, PLAYERS),
            s(1_202 * MS, again),
            s(1_240 * MS, ANN),
            c(1_241 * MS, TEAMS),
            s(1_280 * MS, RED),
        ]);
        assert_eq!(outcomes(&collected), [(2, Some(4)), (5, Some(7)), (8, Some(9))], "{collected:#?}");
        let serious: Vec<_> = rules(&collected).into_iter().filter(|rule| !rule.starts_with("GEN")).collect();
        assert_eq!(serious, copies, "{collected:#?}");
    }
    // Requests in a row may be answered in another order.
    let collected = play_surrounded(&[
        c(0, KEYS),
        c(MS, PLAYERS),
        c(2 * MS, TEAMS),
        s(40 * MS, RED),
        s(41 * MS, ANN),
        s(42 * MS, LIST),
    ]);
    assert_eq!(outcomes(&collected), [(2, Some(7)), (3, Some(6)), (4, Some(5))], "{collected:#?}");
    assert_eq!(rules(&collected), ["GEN-007"], "{collected:#?}");
}
