//! What the rules for the queries of games say in cases that their examples do not show.

use crate::kit::play::{Collected, MS, S, START, Shot, c, foreign, lines, play, s, shot};
use qdissect::contract::Context;
use qdissect::decode::{Heard, Value};
use qdissect::pipeline::Options;
use qdissect::protocols::{Direction, Id};
use qdissect::rule::hex;

const MAGIC: &str = "00ffff00fefefefefdfdfdfd12345678";
const HS: &str = "fefd09 01020304";
const HR: &str = "09 01020304 '9513307' 00";

fn hear(shots: &[Shot]) -> Collected<true> {
    play(&[&[foreign(START - 30 * S)], shots, &[foreign(START + 120 * S)]].concat()).0
}

/// The broken rules, without what is said of sizes and of proofs.
fn rules(heard: &Collected<true>) -> Vec<&'static str> {
    let about = |rule: &&str| !rule.contains("-SEC-") && !rule.starts_with("GEN-");
    heard.findings().map(|f| f.rule.id).filter(about).collect()
}

#[test]
fn more_than_twenty_answers_within_any_second_are_a_flood() {
    let (ask, answer) = ("ffffffff 'getstatus'", r"ffffffff 'statusResponse' 0a '\sv_hostname\Lab' 0a");
    let poll = |at: i64| [c(at * MS, ask), s((at + 1) * MS, answer)];
    let floods = |times: &[i64]| {
        let heard = hear(&times.iter().flat_map(|at| poll(*at)).collect::<Vec<_>>());
        heard.findings().filter(|f| f.rule.id == "Q3-SEC-002").count()
    };
    let spaced =
        |from: i64, gap: i64, count: i64| (0..count).map(move |n| from + n * gap).collect::<Vec<_>>();
    assert_eq!([50, 51].map(|gap| floods(&spaced(0, gap, 21))), [1, 0]);
    // The second begins with none that a count from the first answer would begin with.
    assert_eq!(floods(&[vec![0], spaced(900, 10, 21)].concat()), 1);
    assert_eq!(floods(&[vec![0], spaced(900, 10, 20)].concat()), 0);
}

#[test]
fn a_modification_is_the_game_where_nothing_else_tells_it() {
    let game = |variables: &str| {
        let bytes =
            hex(&format!(r"ffffffff 'infoResponse' 0a '\hostname\L\map\m\sv_maxclients\8{variables}'"));
        let message = Id::Quake3.info().messages.iter().position(|m| m.name == "info_response");
        let cx = Context::of(message.expect("it is declared") as u8, Direction::S2c);
        let decoded = Id::Quake3.dissect(&bytes, &cx, &mut Heard::default());
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
    let heard = hear(&[
        c(0, HS),
        s(MS, HR),
        c(2 * MS, &ask(5)),
        c(3 * MS, &ask(6)),
        s(4 * MS, answer),
        s(5 * MS, &answer.replace("'1'", "'2'")),
    ]);
    let answered: Vec<_> = heard.exchanges.iter().map(|(e, _)| (e.request_frame, e.response_frame)).collect();
    assert_eq!(answered, [(2, Some(3)), (4, Some(6)), (5, Some(7))]);
    // The first of them was given up.
    let heard = hear(&[c(0, HS), s(MS, HR), c(2 * MS, &ask(5)), c(S, &ask(6)), s(S + MS, answer)]);
    let answered: Vec<_> = heard.exchanges.iter().map(|(e, _)| (e.request_frame, e.response_frame)).collect();
    assert_eq!(answered, [(2, Some(3)), (5, Some(6)), (4, None)]);
}

#[test]
fn a_request_that_is_sent_again_is_not_given_up() {
    let (first, second) = ("fefd00 'CORY' ff0000", "fefd00 'CORY' 00ff00");
    let list = "00 'CORY' 'hostname' 00 'Lab' 00 'numplayers' 00 '1' 00 'maxplayers' 00 '8' 00 00";
    let table = "00 'CORY' 0001 'player_' 00 00 'Ann' 00";
    for again in [&[c(300 * MS, first)][..], &[c(290 * MS, second), c(300 * MS, first)]] {
        let end = [c(310 * MS, second), s(320 * MS, list), s(330 * MS, table)];
        let heard = hear(&[&[c(0, first)], again, &end].concat());
        assert_eq!(rules(&heard), [""; 0], "{}", again.len());
    }
}

#[test]
fn of_one_host_only_the_first_answer_to_a_broadcast_counts() {
    let (client, all, host) = (([10, 0, 0, 5], 50_000), ([10, 0, 0, 255], 19_132), ([10, 0, 0, 7], 19_132));
    let ping = |at| shot(START + at, client, all, &hex(&format!("01 {:016x} {MAGIC} {:016x}", 1, 2)));
    let pong = |at, data: &str| {
        shot(START + at, host, client, &hex(&format!("1c {:016x} {:016x} {MAGIC} '{data}'", 1, 7)))
    };
    let heard = hear(&[ping(0), pong(MS, "x"), pong(2 * MS, "y"), ping(S), pong(S + MS, "y")]);
    let told: Vec<_> = heard.packets.iter().map(|p| p.rules()).collect();
    assert_eq!(told[2..4], [vec!["RAK-TXN-005"], vec!["RAK-TXN-006"]]);
    assert_eq!(heard.exchanges.iter().map(|(e, _)| e.response_frames().len()).collect::<Vec<_>>(), [1, 1]);
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
    ] {
        let [ask, last] = ["ffffffff 'getstatus'".to_owned(), format!("ffffffff '{word}'")];
        let shots = [c(0, &ask), s(MS, answer), c(S, &last), foreign(START + 60 * S)];
        let told = |secrets| {
            let options = Options { secrets, ..Options::default() };
            lines(options, &shots).to_lowercase()
        };
        let hex: String = b"hunter2".iter().map(|b| format!("{b:02x}")).collect();
        let leaks = |told: &str| told.contains("hunter2") || told.contains(&hex);
        assert!(!leaks(&told(false)) && told(false).contains(shown), "{word}");
        assert_eq!(leaks(&told(true)), word.contains("hunter2"), "{word}");
    }
}
