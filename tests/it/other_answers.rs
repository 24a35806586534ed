//! Answers of another kind than the one asked for: bytes that are no message, prints, messages behind a wrong prefix, answers
//! of another endpoint, and more answers than one.

use crate::kit::play::{
    Addr, CLIENTS, Collected, MS, POLL, RawFrame, S, SERVER, SERVER_ADDR, START, STATE, c, everything, play,
    play_surrounded, report, s, surrounded, udp_frame,
};
use qdissect::exchange::{Exchange, Outcome};
use qdissect::pipeline::Options;
use qdissect::protocols::{Direction, Id, Level};
use qdissect::rule::hex;
use qdissect::schema::example::Act;

const INFO: &str = "ffffffff 54 'Source Engine Query' 00";
const INFO_ANSWER: &str =
    "ffffffff 49 11 'A' 00 'b' 00 'c' 00 'd' 00 f000 01 08 00 'dl' 00 01 '1' 00 80 8769";
const CHALLENGE: &str = "ffffffff 41 0a0b0c0d";
const BAN: &str = "ffffffff 6c 'Banned by server' 0a00";

/// Bytes that the protocol does not claim as a message of its own; `None` where it claims whatever comes.
fn garbage(id: Id) -> Option<&'static str> {
    match id {
        Id::Ase | Id::Mindustry => None,
        Id::A2s | Id::Titanfall => Some("00*64"),
        _ => Some("ff*8 aa*8"),
    }
}

/// The datagrams of the protocol's first sample, up to the first answer to the last question.
fn sample(id: Id) -> Vec<(Direction, Vec<u8>)> {
    let steps = id.info().samples[0].steps.iter();
    let sent = steps.filter_map(|step| match Act::of(step) {
        Act::Send { direction, payload, .. } => Some((direction, hex(payload))),
        _ => None,
    });
    let mut all: Vec<_> = sent.collect();
    let last = all.iter().rposition(|(direction, _)| *direction == Direction::C2s).expect("it asks");
    all.truncate(last + 2);
    all
}

/// The same as frames, 20 ms apart from `start` on.
fn sample_frames(id: Id, start: i64) -> Vec<RawFrame> {
    let frames = (0..).zip(sample(id)).map(|(n, (direction, payload))| {
        let [from, to] = direction.order([CLIENTS[0], SERVER_ADDR]);
        udp_frame(START + start + n * 20 * MS, from, to, &payload)
    });
    frames.collect()
}

/// Frame of the request, frame of the answer, outcome, response time in ms, and rules of each exchange, in the order of requests.
type Row = (u64, Option<u64>, Outcome, Option<i64>, Vec<&'static str>);
fn exchanges(collected: &Collected<true>) -> Vec<Row> {
    let row = |(e, findings): &(Exchange, Vec<_>)| {
        let rules = findings.iter().map(|f: &qdissect::check::Finding| f.rule.id).collect();
        (e.request_frame, e.response_frame, e.outcome, e.response_time.map(|t| t / MS), rules)
    };
    let mut rows: Vec<_> = collected.exchanges.iter().map(row).collect();
    rows.sort_by_key(|(frame, ..)| *frame);
    rows
}

fn rules(collected: &Collected<true>) -> Vec<&'static str> {
    collected.findings().map(|f| f.rule.id).collect()
}

fn from(time: i64, sender: Addr, text: &str) -> RawFrame {
    udp_frame(START + time, sender, CLIENTS[0], &hex(text))
}

#[test]
fn bytes_that_are_no_message_close_the_request_in_every_protocol() {
    for &id in Id::ALL {
        let has_answer = sample(id).last().is_some_and(|(direction, _)| *direction == Direction::S2c);
        let is_paired = id.info().steps.iter().any(|step| step.rules.unanswered.is_some());
        let Some(garbage) = garbage(id).filter(|_| has_answer && is_paired) else { continue };
        // A sound conversation, then the same with garbage for its last answer, and 100 ms later the same again.
        let mut frames = sample_frames(id, 0);
        let mut asked = sample_frames(id, 30 * S);
        asked.pop();
        let at = 30 * S + 20 * MS * asked.len() as i64;
        let (request, answer) = (frames.len() + asked.len() + 1, frames.len() + asked.len() + 2);
        frames.extend(asked);
        frames.push(s(at, garbage));
        frames.extend(sample_frames(id, at + 100 * MS));
        let collected = play_surrounded(&frames);
        let rows = exchanges(&collected);
        let row =
            rows.iter().find(|row| row.0 == request as u64).unwrap_or_else(|| panic!("{id:?}: {rows:?}"));
        let expected = (request as u64, Some(answer as u64), Outcome::Answered, Some(20), vec!["GEN-010"]);
        assert_eq!(*row, expected, "{id:?}");
        assert!(rows.iter().all(|row| row.2 == Outcome::Answered && row.3 <= Some(40)), "{id:?}: {rows:?}");
        let packet = collected.frame(answer as u64);
        assert_eq!(
            (packet.message, packet.direction, packet.rules()),
            ("unknown", Direction::S2c, vec![]),
            "{id:?}"
        );
        assert_eq!(packet.level, Level::High, "{id:?}: as certain as its conversation");
        assert_eq!(rules(&collected).iter().filter(|rule| **rule == "GEN-010").count(), 1, "{id:?}");
    }
}

#[test]
fn a_real_answer_inside_the_window_takes_the_exchange_and_the_finding_stays() {
    for (wait, answer, outcome) in [(60 * MS, Some(4), "taken"), (3_500 * MS, Some(3), "too late")] {
        let collected = play_surrounded(&[c(0, INFO), s(30 * MS, "00*64"), s(wait, INFO_ANSWER)]);
        let rows = exchanges(&collected);
        assert_eq!((rows[0].1, &rows[0].4), (answer, &vec!["GEN-010"]), "{outcome}");
    }
    // An answer in parts takes it, too.
    let parts = [
        c(0, "ffffffff 56 ffffffff"),
        s(10 * MS, CHALLENGE),
        c(20 * MS, "ffffffff 56 0a0b0c0d"),
        s(30 * MS, "'busy'"),
        s(40 * MS, "feffffff 07000000 02 00 e004 ffffffff 45 0200 'a' 00 '1' 00"),
        s(50 * MS, "feffffff 07000000 02 01 e004 'b' 00 '2' 00"),
    ];
    let collected = play_surrounded(&parts);
    let last = exchanges(&collected).pop().expect("it is told");
    assert_eq!((last.1, last.4), (Some(6), vec!["GEN-010"]));
    assert_eq!(collected.frame(7).message, "rules_response");
    assert!(!rules(&collected).contains(&"A2S-TXN-001"));
}

#[test]
fn a_retry_is_answered_by_its_own_answer() {
    let retries = [
        (INFO, "00*64", INFO_ANSWER),
        (POLL, "ff*20", STATE),
        (
            "feffffff",
            "ff*20",
            "93000000 06000000 302e31312e32 01000000 0a000000 01 00 00 00000000 02000000 02000000 00 00 01",
        ),
    ];
    for (question, garbage, answer) in retries {
        let frames = [c(0, question), s(30 * MS, garbage), c(100 * MS, question), s(130 * MS, answer)];
        let rows = exchanges(&play_surrounded(&frames));
        let times: Vec<_> = rows.iter().map(|row| (row.1, row.3)).collect();
        assert_eq!(times, [(Some(3), Some(30)), (Some(5), Some(30))], "{question}");
    }
}

#[test]
fn game_traffic_at_the_query_port_is_not_accused() {
    let (asks, game) = (c(S, INFO), "05*40");
    let cases: &[(&str, Vec<RawFrame>)] = &[
        (
            "before",
            vec![c(0, INFO), s(MS, INFO_ANSWER), c(500 * MS, game), asks.clone(), s(1_010 * MS, game)],
        ),
        (
            "from the server",
            vec![c(0, INFO), s(MS, INFO_ANSWER), s(500 * MS, game), asks.clone(), s(1_010 * MS, game)],
        ),
        // Only what follows shows that it is a game.
        ("after", vec![asks.clone(), s(1_010 * MS, game), c(1_015 * MS, game), s(1_030 * MS, INFO_ANSWER)]),
        ("unanswered", vec![asks.clone(), s(1_010 * MS, game), c(1_015 * MS, game)]),
        ("two open requests", vec![asks.clone(), c(S + MS, "ffffffff 55 0a0b0c0d"), s(1_010 * MS, game)]),
        ("outside the window", vec![asks.clone(), s(5 * S, game)]),
        ("from another endpoint", vec![asks.clone(), from(1_010 * MS, (SERVER, 9), game)]),
        ("nothing is asked", vec![c(0, INFO), s(MS, INFO_ANSWER), s(S, game)]),
    ];
    for (name, frames) in cases {
        let collected = play_surrounded(frames);
        assert!(!rules(&collected).contains(&"GEN-010"), "{name}: {:?}", rules(&collected));
    }
    let collected = play_surrounded(&cases[3].1);
    assert_eq!(exchanges(&collected)[0].2, Outcome::Unanswered, "the game did not answer it");
}

#[test]
fn clients_are_told_apart_and_an_empty_datagram_is_no_message() {
    let second = |time, text: &str| udp_frame(START + time, CLIENTS[1], SERVER_ADDR, &hex(text));
    let to_second = |time, text: &str| udp_frame(START + time, SERVER_ADDR, CLIENTS[1], &hex(text));
    let frames = [c(0, POLL), second(MS, POLL), s(10 * MS, "ff*9"), to_second(11 * MS, STATE)];
    let rows = exchanges(&play_surrounded(&frames));
    let told: Vec<_> = rows.iter().map(|row| (row.1, row.4.len())).collect();
    assert_eq!(told, [(Some(4), 1), (Some(5), 0)]);
    let ping = "01 0000000000012345 00ffff00fefefefefdfdfdfd12345678 0102030405060708";
    let rows = exchanges(&play_surrounded(&[c(0, ping), s(MS, "")]));
    assert_eq!((rows[0].1, rows[0].4.clone()), (Some(3), vec!["GEN-010"]));
}

#[test]
fn an_uncertain_conversation_accuses_nobody() {
    // Five zeros may be anything: without a second sign they are no query, and what follows is no answer.
    let frames = [c(0, "00 00000000"), s(10 * MS, "ff*20")];
    let (collected, totals) = report(
        Options { all: true, ..Options::default() },
        Collected::<true>::default(),
        &surrounded(&frames),
    );
    assert_eq!((collected.packets.len(), totals.recognised, totals.findings.total()), (0, 0, 0));
    // The handshake that follows shows it.
    let handshake = [
        frames.to_vec(),
        vec![c(100 * MS, "00 00000000"), s(120 * MS, "00 80902348"), c(130 * MS, "01 80902348 0001 01")],
    ];
    let collected = play_surrounded(&handshake.concat());
    let rows = exchanges(&collected);
    assert_eq!((rows[0].1, rows[0].3, &rows[0].4), (Some(3), Some(10), &vec!["GEN-010"]));
    assert_eq!((rows[1].1, rows[1].3), (Some(5), Some(20)));
}

#[test]
fn a_copy_in_the_capture_is_a_copy() {
    let mut answer = s(10 * MS, "00*64");
    answer.bytes[14 + 5] = 7; // identification of the IP packet
    let copy = RawFrame { time: answer.time + 10_000, ..answer.clone() };
    let collected = play_surrounded(&[c(0, INFO), answer, copy, c(S, INFO), s(S + MS, "00*64")]);
    assert_eq!(collected.frame(4).rules(), ["GEN-008"]);
    assert_eq!(rules(&collected).iter().filter(|rule| **rule == "GEN-010").count(), 2);
}

#[test]
fn every_level_of_confidence_counts_alike() {
    let frames = surrounded(&[c(0, INFO), s(30 * MS, "00*64"), c(S, INFO), s(S + MS, INFO_ANSWER)]);
    for min_confidence in [Level::Low, Level::Medium, Level::High] {
        let options = Options { min_confidence, ..everything() };
        let (unordered, totals) = report(options.clone(), Collected::<false>::default(), &frames);
        let (ordered, same) = report(options, Collected::<true>::default(), &frames);
        assert_eq!(
            (totals.recognised, totals.answered, totals.findings),
            (same.recognised, same.answered, same.findings)
        );
        assert_eq!(
            (totals.recognised, totals.answered, totals.findings.error),
            (4, 2, 1),
            "{min_confidence:?}"
        );
        assert_eq!((unordered.packets.len(), ordered.packets.len()), (4, 4));
    }
}

#[test]
fn a_print_answers_any_query_and_is_shown() {
    let questions = [
        INFO,
        "ffffffff 55 ffffffff",
        "ffffffff 56 0a0b0c0d",
        "ffffffff 57",
        "ffffffff 69",
        "ffffffff 'details' 00",
    ];
    for question in questions {
        // Banned in the middle of a conversation.
        let collected =
            play_surrounded(&[c(0, INFO), s(MS, INFO_ANSWER), c(S, question), s(S + 20 * MS, BAN)]);
        assert_eq!(collected.frame(5).message, "print_response", "{question}");
        assert!(collected.frame(5).rules().contains(&"A2S-TXN-007"), "{question}");
        let row = exchanges(&collected).pop().expect("it is told");
        assert_eq!((row.1, row.2, row.3), (Some(5), Outcome::Answered, Some(20)), "{question}");
    }
    let frames = [0, 1, 2].map(|n| [c(n * 5 * S, INFO), s(n * 5 * S + 20 * MS, BAN)]).concat();
    let collected = play_surrounded(&frames);
    assert!(
        collected.silent.is_empty() && exchanges(&collected).iter().all(|row| row.2 == Outcome::Answered)
    );
    // A real answer behind it is no further fault.
    let collected = play_surrounded(&[c(0, INFO), s(MS, BAN), s(2 * MS, INFO_ANSWER)]);
    assert!(!rules(&collected).contains(&"A2S-TXN-001"), "{:?}", rules(&collected));
}

#[test]
fn a_print_that_may_answer_a_command_stays_masked_and_answers_no_query() {
    let rcon = "ffffffff 'rcon 1 \"secret\" status'";
    let print = "ffffffff 6c 'hostname: Lab' 0a00";
    let collected = play_surrounded(&[
        c(0, INFO),
        s(MS, INFO_ANSWER),
        c(S, rcon),
        c(S + MS, INFO),
        s(S + 5 * MS, print),
        s(S + 9 * MS, INFO_ANSWER),
        c(9 * S, INFO),
        s(9 * S + MS, BAN),
    ]);
    assert_eq!((collected.frame(6).message, collected.frame(6).rules()), ("unknown", vec![]));
    assert_eq!(exchanges(&collected)[1].1, Some(7), "its own answer");
    assert_eq!(collected.frame(9).message, "print_response", "the command was long ago");
    // The same for a later command, although a conversation of another protocol may have begun with the first one.
    let collected = play_surrounded(&[
        c(0, INFO),
        s(MS, INFO_ANSWER),
        c(S, rcon),
        c(8 * S, rcon),
        c(8 * S + MS, INFO),
        s(8 * S + 5 * MS, print),
        s(8 * S + 9 * MS, INFO_ANSWER),
    ]);
    assert_eq!((collected.frame(7).message, collected.frame(7).rules()), ("unknown", vec![]));
    assert_eq!(exchanges(&collected)[1].1, Some(8), "its own answer");
}

#[test]
fn a_print_refuses_a_quake_query_and_a_line_of_the_console_does_not() {
    let status = r"ffffffff 'statusResponse' 0a '\sv_hostname\Lab\sv_maxclients\8' 0a";
    for (question, ban) in [
        ("ffffffff 'status'", "ffffffff 'n' 0a 'banned.' 0a"),
        ("ffffffff 'getstatus'", "ffffffff 'print' 0a 'Banned' 0a"),
    ] {
        let collected = play_surrounded(&[c(0, question), s(20 * MS, ban)]);
        assert!(collected.frame(3).rules().contains(&"Q3-TXN-009"), "{question}");
        assert_eq!(exchanges(&collected)[0].1, Some(3), "{question}");
    }
    let line = |time| s(time, "ffffffff 'print' 0a 'map: q3dm17' 0a");
    for command in ["ffffffff 'rcon pw status'", "ffffffff 'connect 1'"] {
        let collected = play_surrounded(&[
            c(0, "ffffffff 'getstatus'"),
            s(MS, status),
            c(S, command),
            line(S + MS),
            c(S + 2 * MS, "ffffffff 'getstatus'"),
            line(S + 3 * MS),
            s(S + 4 * MS, status),
        ]);
        assert!(!rules(&collected).contains(&"Q3-TXN-009"), "{command}");
        let last = exchanges(&collected).pop().expect("it is told");
        assert_eq!(last.1, Some(8), "{command}");
    }
}

#[test]
fn a_message_behind_a_wrong_prefix_is_read() {
    let a2s = &INFO_ANSWER["ffffffff ".len()..];
    let quake = r"'statusResponse' 0a '\sv_hostname\Lab\sv_maxclients\8' 0a";
    let cases = [
        (INFO, format!("ffffffff ffffffff {a2s}"), "A2S-HDR-002", "info_response"),
        (INFO, a2s.to_owned(), "A2S-HDR-002", "info_response"),
        (INFO, format!("ffff {a2s}"), "A2S-HDR-002", "info_response"),
        (INFO, format!("ffffffff {CHALLENGE}"), "A2S-HDR-002", "challenge_response"),
        ("ffffffff 'getstatus'", format!("ffffffff ffffffff {quake}"), "Q3-HDR-002", "status_response"),
        ("ffffffff 'getstatus'", quake.to_owned(), "Q3-HDR-002", "status_response"),
        ("ffffffff 'getstatus'", format!("ff {quake}"), "Q3-HDR-002", "status_response"),
    ];
    for (question, answer, rule, message) in cases {
        let collected = play_surrounded(&[c(0, question), s(20 * MS, &answer)]);
        let packet = collected.frame(3);
        assert!(
            packet.message == message && packet.is_decoded && packet.rules().contains(&rule),
            "{answer}: {packet:?}"
        );
        assert_eq!(exchanges(&collected)[0].1, Some(3), "{answer}");
        assert!(!rules(&collected).contains(&"GEN-010"), "{answer}");
    }
    for (request, rule) in [
        ("ffffffff ffffffff 54 'Source Engine Query' 00", "A2S-HDR-002"),
        ("54 'Source Engine Query' 00", "A2S-HDR-002"),
        ("ffffffff ffffffff 'getstatus'", "Q3-HDR-002"),
    ] {
        let collected = play_surrounded(&[c(0, request)]);
        assert_eq!(collected.frame(2).rules(), [rule], "{request}");
        let caused = collected.exchanges[0].1[0].caused_by.map(|cause| cause.rule.id);
        assert_eq!(caused, Some(rule), "it is why there is no answer");
    }
}

#[test]
fn another_address_of_the_host_answers_in_every_protocol_paired_by_order() {
    let (other_host, other_port) = (([192, 0, 2, 11], SERVER_ADDR.1), (SERVER, 30_000));
    let cases = [
        (INFO, INFO_ANSWER),
        (INFO, CHALLENGE),
        (
            "feffffff",
            "93000000 06000000 302e31312e32 01000000 0a000000 01 00 00 00000000 02000000 02000000 00 00 01",
        ),
        ("ffffffff 'getstatus'", r"ffffffff 'statusResponse' 0a '\sv_hostname\Lab\sv_maxclients\8' 0a"),
        (r"'\basic\'", r"'\gamename\ut\final\\queryid\1.1'"),
    ];
    for (question, answer) in cases {
        for sender in [other_host, other_port] {
            let frames = [c(0, question), from(20 * MS, sender, answer)];
            let (collected, totals) = play(&surrounded(&frames));
            let told = rules(&collected);
            assert!(
                told.contains(&"GEN-006") && !told.iter().any(|rule| rule.ends_with("TXN-001")),
                "{question}: {told:?}"
            );
            assert_eq!(exchanges(&collected)[0].3, Some(20), "{question}");
            assert_eq!(totals.unanswered, 0, "{question}");
        }
        // Neither address nor port is the asked one; or the client has asked the sender, or others, too.
        let stranger = ([192, 0, 2, 11], 30_000);
        let collected = play_surrounded(&[c(0, question), from(20 * MS, stranger, answer)]);
        assert!(!rules(&collected).contains(&"GEN-006"), "{question}");
        let asks_other = udp_frame(START + MS, CLIENTS[0], ([192, 0, 2, 12], SERVER_ADDR.1), &hex(question));
        let collected = play_surrounded(&[c(0, question), asks_other, from(20 * MS, other_host, answer)]);
        assert!(!rules(&collected).contains(&"GEN-006"), "{question}");
    }
}

#[test]
fn the_tenth_answer_is_one_too_many_and_a_copy_is_told_once() {
    for &id in Id::ALL {
        let frames = sample_frames(id, 0);
        let Some(answer) = frames.last().filter(|_| frames.len() > 1) else { continue };
        let copies = (1..30).map(|n| RawFrame { time: answer.time + n * MS, ..answer.clone() });
        let collected = play_surrounded(&[frames.clone(), copies.collect()].concat());
        let Some(asked) = collected.exchanges.iter().map(|(e, _)| e).max_by_key(|e| e.request_frame) else {
            continue;
        };
        let step = &id.info().steps[usize::from(asked.step)];
        let (many, first) = (frames.len() as u64 + 1 + 9, frames.len() as u64 + 2);
        let with = |rule: &str| {
            let told = collected.packets.iter().filter(|p| p.rules().contains(&rule));
            told.map(|p| p.frame).collect::<Vec<_>>()
        };
        if !step.open_ended && !step.lines && asked.response_parts.is_empty() {
            assert_eq!(with("GEN-013"), [many], "{id:?}");
        }
        if let Some(rule) = step.rules.copy.filter(|_| asked.response_parts.is_empty()) {
            assert_eq!(with(rule.id), [first], "{id:?}");
        }
    }
}

#[test]
fn parts_and_the_answers_of_many_hosts_are_not_too_many() {
    let broadcast = udp_frame(START, CLIENTS[0], ([255; 4], SERVER_ADDR.1), &hex(INFO));
    let hosts = (1..30).map(|n| from(i64::from(n) * MS, ([192, 0, 2, n], SERVER_ADDR.1), INFO_ANSWER));
    let collected = play_surrounded(&[vec![broadcast], hosts.collect()].concat());
    assert!(!rules(&collected).contains(&"GEN-013"));
    let asks = [c(0, "ffffffff 56 ffffffff"), s(MS, CHALLENGE), c(2 * MS, "ffffffff 56 0a0b0c0d")].to_vec();
    let parts = (0..12).map(|n| {
        let body = if n == 0 { "ffffffff 45 0100 'k' 00 '" } else { "'" };
        s(i64::from(n) * MS + 10 * MS, &format!("feffffff 07000000 0c {n:02x} 1000 {body}vvvvvvvvvvvv'"))
    });
    let collected = play_surrounded(&[asks, parts.collect()].concat());
    assert!(!rules(&collected).contains(&"GEN-013"));
}
