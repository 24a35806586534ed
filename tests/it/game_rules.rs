//! Findings of the rules for game queries in cases that their examples do not contain.

use crate::kit::play::{
    CLIENTS, Collected, MS, ReportedPacket, S, SERVER_ADDR, START, c, foreign, lines, play_surrounded, s,
    udp_frame,
};
use qdissect::check::Finding;
use qdissect::contract::Context;
use qdissect::decode::{Tree, Value};
use qdissect::pipeline::Options;
use qdissect::protocols::{Direction, Id, Level};
use qdissect::rule::hex;

const INFO: &str = "ffffffff 54 'Source Engine Query' 00";
const INFO_REPLY: &str = "ffffffff 49 11 'A' 00 'b' 00 'c' 00 'd' 00 f000 01 08 00 'dl' 00 01 '1' 00 80 8769";
const CHALLENGE: &str = "ffffffff 41 c3192a4b";
const MAGIC: &str = "00ffff00fefefefefdfdfdfd12345678";
const HANDSHAKE: &str = "fefd09 01020304";
const HANDSHAKE_REPLY: &str = "09 01020304 '9513307' 00";
const FULL_STAT: &str = "fefd00 01020304 0091295b ffffff01";

/// Plays datagrams of client and server in turn, 10 ms apart, long after the start of the capture.
fn talk(turns: &[&str]) -> Collected<true> {
    let sides = [c, s];
    play_surrounded(
        &(0..).zip(turns).map(|(n, text)| sides[n % 2](n as i64 * 10 * MS, text)).collect::<Vec<_>>(),
    )
}

/// The broken rules, without those about sizes and address proofs.
fn rules(collected: &Collected<true>) -> Vec<&'static str> {
    let about = |rule: &&str| !rule.contains("-SEC-") && !rule.starts_with("GEN-");
    collected.findings().map(|f| f.rule.id).filter(about).collect()
}

/// The rules that the last datagram breaks, with the bytes.
fn marks(turns: &[&str]) -> Vec<(&'static str, Option<String>, u16, u16)> {
    let collected = talk(turns);
    let last = collected.packets.last().expect("it was claimed");
    let about = |rule: &str| !rule.contains("-SEC-") && !rule.starts_with("GEN-");
    let findings = last.findings.iter().filter(|f| about(f.rule.id));
    let mark = |f: &Finding| {
        let span = f.span.expect("it stands on bytes");
        (f.rule.id, f.path(), span.start, span.end)
    };
    findings.map(mark).collect()
}

#[test]
fn no_challenge_follows_a_damaged_text() {
    let damaged = "ffffffff 54 'Source Engine Query!' 00 01020304";
    assert_eq!(marks(&[INFO, CHALLENGE, damaged]), [("A2S-REQ-001", Some("query".into()), 5, 25)]);
    let foreign = &format!("{INFO} 01020304");
    assert_eq!(marks(&[INFO, CHALLENGE, foreign]), [("A2S-CHL-005", None, 25, 29)]);
}

#[test]
fn missing_parts_are_reported_despite_other_answers() {
    let (list, part) = ("ffffffff 56 c3192a4b", "feffffff 07000000 02 00 0f00 ffffffff 45 0100 'alpha'");
    let begun = [INFO, CHALLENGE, list, part];
    let [alone, more] =
        [&begun[..], &[&begun[..], &[INFO, INFO_REPLY]].concat()].map(|turns| rules(&talk(turns)));
    assert_eq!((&alone[..], &more[..]), (&["A2S-SPL-002"][..], &["A2S-SPL-002"][..]));
}

#[test]
fn a_type_of_the_other_direction_is_reported_but_text_is_not() {
    for (from_server, wrong, word) in [
        (false, "ffffffff 6d 00", "ffffffff 'motd 1'"),
        (false, "ffffffff 6a", "ffffffff 'join'"),
        (true, "ffffffff 69", "ffffffff 'idle 1'"),
    ] {
        let begun = [INFO, INFO_REPLY, INFO];
        let before = if from_server { &begun[..] } else { &begun[..2] };
        let rules_of =
            |last: &str| marks(&[before, &[last]].concat()).into_iter().map(|mark| mark.0).collect();
        let [wrong, word]: [Vec<_>; 2] = [wrong, word].map(rules_of);
        assert_eq!((wrong, word), (vec!["A2S-HDR-001"], vec![]), "{from_server}");
    }
}

#[test]
fn more_than_twenty_answers_within_any_second_are_a_flood() {
    let (ask, answer) = ("ffffffff 'getstatus'", r"ffffffff 'statusResponse' 0a '\sv_hostname\Lab' 0a");
    let poll = |at: i64| [c(at * MS, ask), s((at + 1) * MS, answer)];
    let floods = |times: &[i64]| {
        let collected = play_surrounded(&times.iter().flat_map(|at| poll(*at)).collect::<Vec<_>>());
        collected.findings().filter(|f| f.rule.id == "Q3-SEC-002").count()
    };
    let spaced =
        |from: i64, gap: i64, count: i64| (0..count).map(move |n| from + n * gap).collect::<Vec<_>>();
    assert_eq!([50, 51].map(|gap| floods(&spaced(0, gap, 21))), [1, 0]);
    // The second begins with another number than one that continues the first answer.
    assert_eq!(floods(&[vec![0], spaced(900, 10, 21)].concat()), 1);
    assert_eq!(floods(&[vec![0], spaced(900, 10, 20)].concat()), 0);
}

#[test]
fn numbers_may_have_more_than_32_bits() {
    let pong = |players: &str| {
        let text = format!("MCPE;A;649;1.20;{players};8;");
        format!("1c {:016x} {:016x} {MAGIC} {:04x} '{text}'", 1, 7, text.len())
    };
    let status = |n: &str| format!(r"ffffffff 'infoResponse' 0a '\hostname\L\map\m\sv_maxclients\{n}'");
    let response = |n: &str| format!(r"'\hostname\L\maxplayers\{n}\queryid\7.1\final\'");
    let ping = format!("01 {:016x} {MAGIC} {:016x}", 1, 2);
    for (ask, answer, rule) in [
        (ping.as_str(), &pong as &dyn Fn(&str) -> String, "RAK-MOT-002"),
        ("ffffffff 'getinfo'", &status, "Q3-INF-006"),
        (r"'\status\'", &response, "GS1-RSP-004"),
    ] {
        for number in ["0", "-7", "2147483648", "-99999999999"] {
            assert_eq!(marks(&[ask, &answer(number)]), [], "{number}");
        }
        for text in ["one", "1.5", "-", ""] {
            assert_eq!(marks(&[ask, &answer(text)])[0].0, rule, "{text}");
        }
    }
    // A query id has 32 bits.
    let collected = talk(&[r"'\status\'", r"'\hostname\L\queryid\4294967295.1\final\'"]);
    assert_eq!(rules(&collected), [""; 0]);
}

#[test]
fn errors_in_a_status_mark_their_bytes() {
    let ping = format!("01 {:016x} {MAGIC} {:016x}", 1, 2);
    let marks = |text: &str| {
        marks(&[&ping, &format!("1c {:016x} {:016x} {MAGIC} {:04x} '{text}'", 1, 7, text.len())])
    };
    let at = |rule, field: &str, start, end| (rule, Some(field.to_owned()), start, end);
    assert_eq!(
        marks("MCPE;A;649;1.20;one;8x;7;"),
        [at("RAK-MOT-002", "players", 51, 54), at("RAK-MOT-002", "max_players", 55, 57)]
    );
    assert_eq!(
        marks("MCPE;A;649;1.20;9;8;6;"),
        [at("RAK-MOT-004", "max_players", 53, 54), at("RAK-MOT-005", "server_uid", 55, 56)]
    );
    assert_eq!(marks("MCPE;A;649;1.20;9"), [at("RAK-MOT-001", "status", 35, 52)]);
}

#[test]
fn a_repeated_part_number_is_reported_after_the_answer_is_complete() {
    let part = |n: u8, last: bool, value: &str| {
        let number = n | if last { 0x80 } else { 0 };
        format!("00 01020304 'splitnum' 00 {number:02x} 01 'player_' 00 {n:02x} '{value}' 00 00 00")
    };
    let mut raw_frames = vec![c(0, HANDSHAKE), s(MS, HANDSHAKE_REPLY), c(2 * MS, FULL_STAT)];
    raw_frames.extend((0..64).map(|n| s((3 + i64::from(n)) * MS, &part(n, n == 63, "Ann"))));
    raw_frames.push(s(80 * MS, &part(62, false, "Bob")));
    assert_eq!(rules(&play_surrounded(&raw_frames)), ["GS3-SPL-003"]);
}

#[test]
fn a_long_gamespy_1_request_is_confirmed_by_its_answer() {
    let answer = r"'\echo\aaaa\queryid\7.1\final\'";
    for length in [64, 65, 200] {
        let collected = talk(&[&format!(r"'\echo\{}'", "a".repeat(length - 6)), answer]);
        assert_eq!((rules(&collected), collected.packets.len()), (vec![], 2), "{length}");
    }
}

#[test]
fn a_request_of_gamespy_3_may_have_a_body_of_any_length() {
    let level = |length: usize| {
        let bytes = [&[0xfe, 0xfd, 0][..], &vec![7; length - 3]].concat();
        Id::Gamespy3.probe(&bytes, length, [40_000, 29_900]).map(|probe| probe.level)
    };
    // A request of ten bytes is one of GameSpy 2.
    let low = Some(Level::Low);
    assert_eq!([7, 8, 9, 10, 11, 12, 13, 16].map(level), [None, low, low, None, low, low, low, None]);
}

#[test]
fn every_server_names_itself_by_the_usual_key() {
    let answer = |name: &str| {
        format!(
            "00 01020304 'splitnum' 00 80 00 '{name}' 00 'Lab' 00 'numplayers' 00 '1' 00 'maxplayers' 00 '8' 00 00"
        )
    };
    assert_eq!(rules(&talk(&[HANDSHAKE, HANDSHAKE_REPLY, FULL_STAT, &answer("hostname")])), [""; 0]);
    assert_eq!(
        rules(&talk(&[HANDSHAKE, HANDSHAKE_REPLY, FULL_STAT, &answer("p1073741827")])),
        ["GS3-KEY-003"]
    );
}

#[test]
fn the_modification_is_the_game_if_there_is_no_other_key() {
    let game = |variables: &str| {
        let bytes =
            hex(&format!(r"ffffffff 'infoResponse' 0a '\hostname\L\map\m\sv_maxclients\8{variables}'"));
        let message = Id::Quake3.info().messages.iter().position(|m| m.name == "info_response");
        let cx = Context::of(message.expect("it is declared") as u8, Direction::S2c);
        let decoded = Id::Quake3.dissect(&bytes, &cx, &mut Tree::default());
        let facts = decoded.facts().expect("it is sound");
        facts.game.and_then(Value::text).map(|text| text.into_owned())
    };
    assert_eq!(game(""), None);
    assert_eq!(game(r"\game\cpma").as_deref(), Some("cpma"));
    assert_eq!(game(r"\gamename\baseq3\fs_game\cpma").as_deref(), Some("baseq3"));
    assert_eq!(game(r"\fs_game\cpma\gamename\baseq3").as_deref(), Some("baseq3"));
}

#[test]
fn several_requests_are_answered_with_the_session_id_of_the_handshake() {
    let ask = |id: u32| format!("fefd00 {id:08x} 0091295b ffffff01");
    let answer = "00 01020304 'splitnum' 00 80 00 'hostname' 00 'Lab' 00 'numplayers' 00 '1' 00 'maxplayers' 00 '8' 00 00";
    let collected = play_surrounded(&[
        c(0, HANDSHAKE),
        s(MS, HANDSHAKE_REPLY),
        c(2 * MS, &ask(5)),
        c(3 * MS, &ask(6)),
        s(4 * MS, answer),
        s(5 * MS, &answer.replace("'1'", "'2'")),
    ]);
    let answered: Vec<_> =
        collected.exchanges.iter().map(|(e, _)| (e.request_frame, e.response_frame)).collect();
    assert_eq!(answered, [(2, Some(3)), (4, Some(6)), (5, Some(7))]);
    // The first of them was given up.
    let collected = play_surrounded(&[
        c(0, HANDSHAKE),
        s(MS, HANDSHAKE_REPLY),
        c(2 * MS, &ask(5)),
        c(S, &ask(6)),
        s(S + MS, answer),
    ]);
    let answered: Vec<_> =
        collected.exchanges.iter().map(|(e, _)| (e.request_frame, e.response_frame)).collect();
    assert_eq!(answered, [(2, Some(3)), (5, Some(6)), (4, None)]);
}

#[test]
fn a_retransmitted_request_stays_open() {
    let (first, second) = ("fefd00 'CORY' ff0000", "fefd00 'CORY' 00ff00");
    let list = "00 'CORY' 'hostname' 00 'Lab' 00 'numplayers' 00 '1' 00 'maxplayers' 00 '8' 00 00";
    let table = "00 'CORY' 0001 'player_' 00 00 'Ann' 00";
    for again in [&[c(300 * MS, first)][..], &[c(290 * MS, second), c(300 * MS, first)]] {
        let end = [c(310 * MS, second), s(320 * MS, list), s(330 * MS, table)];
        let collected = play_surrounded(&[&[c(0, first)], again, &end].concat());
        assert_eq!(rules(&collected), [""; 0], "{}", again.len());
    }
}

#[test]
fn only_the_first_answer_of_a_host_to_a_broadcast_counts() {
    let (client, all, host) = (([10, 0, 0, 5], 50_000), ([10, 0, 0, 255], 19_132), ([10, 0, 0, 7], 19_132));
    let ping = |at| udp_frame(START + at, client, all, &hex(&format!("01 {:016x} {MAGIC} {:016x}", 1, 2)));
    let pong = |at, data: &str| {
        udp_frame(START + at, host, client, &hex(&format!("1c {:016x} {:016x} {MAGIC} '{data}'", 1, 7)))
    };
    let collected = play_surrounded(&[ping(0), pong(MS, "x"), pong(2 * MS, "y"), ping(S), pong(S + MS, "y")]);
    let rules_by_packet: Vec<_> = collected.packets.iter().map(|p| p.rules()).collect();
    assert_eq!(rules_by_packet[2..4], [vec!["RAK-TXN-005"], vec!["RAK-TXN-006"]]);
    assert_eq!(
        collected.exchanges.iter().map(|(e, _)| e.response_frames().len()).collect::<Vec<_>>(),
        [1, 1]
    );
}

#[test]
fn passwords_in_quotes_and_in_other_commands_are_hidden() {
    let answer = r"ffffffff 'statusResponse' 0a '\sv_hostname\Lab' 0a";
    for (word, shown) in [
        ("rcon hunter2 status", "status"),
        (r#"rcon "my hunter2" status"#, "status"),
        (r#"rcon "my hunter2"#, ""),
        ("rcon x rcon_password hunter2", ""),
        (r#"connect "\name\Ann\password\hunter2""#, "connect"),
        (r#"connect "\name\Ann""#, "connect"),
        (r#"print' 0a '"rcon_password" is:"hunter2^7"' 0a '"#, "print_response"),
        ("print' 0a 'Bad rconpassword.' 0a '", "bad rconpassword."),
    ] {
        let [ask, last] = ["ffffffff 'getstatus'".to_owned(), format!("ffffffff '{word}'")];
        let last = if word.starts_with("print") { s(S, &last) } else { c(S, &last) };
        let raw_frames = [c(0, &ask), s(MS, answer), last, foreign(START + 60 * S)];
        let records = |secrets| {
            let options = Options { secrets, ..Options::default() };
            lines(options, &raw_frames).to_lowercase()
        };
        let hex: String = b"hunter2".iter().map(|b| format!("{b:02x}")).collect();
        let leaks = |records: &str| records.contains("hunter2") || records.contains(&hex);
        assert!(!leaks(&records(false)) && records(false).contains(shown), "{word}");
        assert_eq!(leaks(&records(true)), word.contains("hunter2"), "{word}");
    }
}

#[test]
fn refused_passwords_are_counted_once_in_any_order() {
    const HEADER: &str = "'SAMP' c000020a 611e 'x'";
    let command = c(MS, &format!("{HEADER} 0100 'p' 0300 'cmd'"));
    let refused = |at| s(at, &format!("{HEADER} 1600 'Invalid RCON password.'"));
    let collected = play_surrounded(&[refused(0), command, refused(2 * MS), refused(3 * MS)]);
    let guessed = |p: &&ReportedPacket| p.rules().contains(&"SAMP-SEC-003");
    let frames: Vec<_> = collected.packets.iter().filter(guessed).map(|p| p.frame).collect();
    assert_eq!(frames, [5], "the first frame is the start of the capture");
}

#[test]
fn tokens_of_teeworlds_belong_to_an_address_and_a_time() {
    let token = [c(0, "040000 ffffffff 05 1a2b3c4d 00*508"), s(10 * MS, "040000 1a2b3c4d 05 55667788")];
    let asked = |pause, token: &str, from: usize| {
        let payload = hex(&format!("21 {token} 0a0b0c0d ffffffff 'gie3' 05"));
        udp_frame(START + pause, CLIENTS[from], SERVER_ADDR, &payload)
    };
    let broken = |request| {
        let collected = play_surrounded(&[&token[..], &[request]].concat());
        rules(&collected).contains(&"TW-TOK-002")
    };
    assert!(broken(asked(S, "01020304", 0)));
    assert!(broken(asked(15 * S, "01020304", 0)));
    assert!(!broken(asked(17 * S, "01020304", 0)), "the token is too old to say anything");
    assert!(!broken(asked(S, "55667788", 0)));
    assert!(!broken(asked(S, "01020304", 1)), "the server has issued no token to this address");
}

#[test]
fn parts_of_an_extended_answer_may_come_in_any_order() {
    const ASK: &str = "7865 0102 0000 ffffffff 'gie3' 05";
    const FIRST: &str = "ff*10 'iext' '66053' 00 'v' 00 'n' 00 'm' 00 '7' 00 '9' 00 'g' 00 '0' 00 '3' 00 '64' 00 '3' 00 '64' 00 00 \
         'Ann' 00 00 '-1' 00 '1' 00 '1' 00 00";
    const SECOND: &str = "ff*10 'iex+' '66053' 00 '1' 00 00 'Bob' 00 00 '-1' 00 '1' 00 '1' 00 00";
    const THIRD: &str = "ff*10 'iex+' '66053' 00 '2' 00 00 'Cid' 00 00 '-1' 00 '1' 00 '1' 00 00";
    for order in [[FIRST, SECOND, THIRD], [THIRD, FIRST, SECOND], [SECOND, THIRD, FIRST]] {
        assert_eq!(rules(&talk_to(ASK, &order)), [""; 0], "{order:?}");
    }
    for order in [[FIRST, SECOND], [SECOND, THIRD], [THIRD, FIRST]] {
        assert_eq!(rules(&talk_to(ASK, &order)), ["TW-PRT-001"], "{order:?}");
    }
    let copied = [FIRST, SECOND, SECOND, THIRD];
    assert_eq!(rules(&talk_to(ASK, &copied)), ["TW-TXN-004"]);
    let other = "7865 0202 0000 ffffffff 'gie3' 05";
    assert!(rules(&talk_to(other, &[FIRST, SECOND, THIRD])).contains(&"TW-TXN-005"));
}

#[test]
fn parts_of_an_extended_answer_that_are_cut_list_more_than_is_captured() {
    let player = |name: &str| format!("'{name}' 00 00 '-1' 00 '1' 00 '1' 00 00");
    let first = format!(
        "ff*10 'iext' '66053' 00 'v' 00 'n' 00 'm' 00 '7' 00 '9' 00 'g' 00 '0' 00 '6' 00 '64' 00 '6' 00 '64' 00 00 {}",
        ["Ann", "Bob", "Zoë", "Dan"].map(player).concat()
    );
    let second = format!("ff*10 'iex+' '66053' 00 '1' 00 00 {}", ["Eve", "Fay"].map(player).concat());
    let whole = [c(0, "7865 0102 0000 ffffffff 'gie3' 05"), s(10 * MS, &first), s(20 * MS, &second)];
    for (at, longest) in [(1, hex(&first).len()), (2, hex(&second).len())] {
        for captured in 15..longest {
            let mut frames = whole.to_vec();
            frames[at].bytes.truncate(42 + captured);
            let collected = play_surrounded(&frames);
            let broken: Vec<_> = rules(&collected).into_iter().filter(|id| id.starts_with("TW-")).collect();
            assert_eq!(broken, [""; 0], "{captured} bytes captured of answer {at}");
            frames.swap(1, 2);
            let times = [frames[1].time, frames[2].time];
            (frames[1].time, frames[2].time) = (times[1], times[0]);
            let collected = play_surrounded(&frames);
            let broken: Vec<_> = rules(&collected).into_iter().filter(|id| id.starts_with("TW-")).collect();
            assert_eq!(
                broken, [""; 0],
                "{captured} bytes captured of answer {at}, which came in another order"
            );
        }
    }
}

/// Plays a request and its answers, 10 ms apart.
fn talk_to(request: &str, answers: &[&str]) -> Collected<true> {
    let answers = (1..).zip(answers).map(|(n, answer)| s(n * 10 * MS, answer));
    play_surrounded(&std::iter::once(c(0, request)).chain(answers).collect::<Vec<_>>())
}

#[test]
fn every_answer_of_samp_may_be_too_long_and_every_dialect_cut() {
    let long = "'SAMP' c000020a 611e 'x'";
    let collected =
        talk(&[&format!("{long} 0100 'p' 0300 'cmd'"), &format!("{long} 4000 '{}'", "x".repeat(64))]);
    assert!(collected.frame(3).rules().contains(&"SAMP-SEC-001"));
    let info = "'MP04' 7f000001 611e 'i' 00*12 01 0000 3200 01000000 'A' 01000000 'g' 01000000 'l'";
    let collected = talk(&["'VCMP' 7f000001 611e 'i'", info, "'VCMP' 7f000001 611e"]);
    assert_eq!(rules(&collected), ["SAMP-HDR-002", "SAMP-HDR-001"]);
}

#[test]
fn findings_before_an_empty_length_are_not_its_symptoms() {
    let answer = "'EYE1' 04 'mta' 05 'none' 02 'A' 02 'g' 02 'M' 04 '1.6' 02 '0' 02 '0' 02 '8' 02 'a' 00";
    let collected = talk(&["'s'", answer]);
    let counts = collected.findings().filter(|f| f.counts()).map(|f| f.rule.id);
    let counts: Vec<_> =
        counts.filter(|rule| rule.starts_with("ASE-I") || rule.starts_with("ASE-ST")).collect();
    assert_eq!(counts, ["ASE-INF-002", "ASE-STR-001"]);
}

#[test]
fn wrong_answers_to_ase_requests_are_reported() {
    const OK: &str = "'EYE1' 04 'mta' 06 '22003' 02 'A' 02 'g' 02 'M' 04 '1.6' 02 '0' 02 '0' 02 '8' 01";
    for packet in ["'hello'", "'EYE'", &OK.replace("EYE", "eye"), "00ff12"] {
        let collected = talk(&["'s'", OK, "'s'", packet]);
        let last = collected.frame(5);
        assert_eq!((last.message, last.rules()), ("unknown", vec!["ASE-HDR-001"]), "{packet}");
        let silence = collected.findings().find(|f| f.rule.id == "ASE-TXN-002").expect("nothing answers");
        assert!(!silence.counts(), "{packet}");
    }
    // Without an open request it is other traffic, and a version may be sent twice.
    assert_eq!(talk(&["'s'", OK, "'z'", "'hello'"]).packets.len(), 2);
    let twice =
        play_surrounded(&[c(0, "'s'"), s(MS, OK), c(S, "'v'"), s(S + MS, "'1.6'"), s(S + 2 * MS, "'1.6'")]);
    assert_eq!(rules(&twice), ["ASE-TXN-004"]);
}

#[test]
fn truncated_titanfall_answers_have_no_utf_8_errors() {
    let ask = "ffffffff 4d 03 00*1194";
    let answer = |name: &str| format!("ffffffff 4e 03 01 02 ffffffff 0e02 0100000000000000 {name}");
    let rules_of = |name: &str| rules(&talk(&[ask, &answer(name)]));
    assert_eq!(rules_of("'Andr' c3"), ["TTF-RSP-002"], "a letter of two bytes is cut");
    assert_eq!(rules_of("'Andr' c3 00 'w'"), ["TTF-STR-001", "TTF-RSP-002"]);
    let whole = answer(
        "'A' 00 'w' 00 's' 00 9790 'PC' 00 '0' 00 01000000 'd' 00 01 3c 'm' 00 02 0100 00 0807 0700 3200 ff 00*8",
    );
    let versionless = talk(&[ask, &whole, "ffffffff 4d", &whole]);
    assert!(!rules(&versionless).contains(&"TTF-TXN-005"), "{:?}", rules(&versionless));
}
