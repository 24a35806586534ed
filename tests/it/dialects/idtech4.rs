//! The games of idTech 4: whose layout an answer has, and what it belongs to.

use super::{packets, rules};
use crate::kit::play::{Collected, MS, RawFrame, S, c, play_surrounded, s};
use qdissect::decode::Tree;
use qdissect::exchange::Outcome;
use qdissect::protocols::{Context, Direction, Id};
use qdissect::rule::hex;
use serde_json::{Value, json};

const NEEDED: &str = "'si_name' 00 'Lab' 00 'si_map' 00 'm' 00 'si_maxPlayers' 00 '4' 00 0000";
/// What Quake Wars has behind its players.
const STATE: &str = "07000000 00 042a0500 02 00 01";

/// The answer to a request with four bytes.
fn answer(text: &str) -> Value {
    let turns = [(hex("ffff 'getInfo' 00 'PiNG'"), hex(&format!("ffff 'infoResponse' 00 'PiNG' {text}")))];
    let [(ask, answer)] = &turns;
    packets(&[(ask, &[answer])]).pop().expect("it is claimed")
}

/// The same of Quake Wars, whose size is right.
fn sized(protocol: &str, text: &str) -> Value {
    let size: String = (hex(text).len() as u32).to_le_bytes().map(|byte| format!("{byte:02x}")).concat();
    answer(&format!("'PoNg' {protocol} {size} {text}"))
}

#[test]
fn the_protocol_tells_the_game_and_its_players() {
    let ann = "00 2800 803e0000 'Ann' 00";
    for (protocol, player, game) in [
        ("29000100", ann.to_owned(), "doom3"),
        ("29000180", ann.to_owned(), "doom3"),
        ("55000200", format!("{ann} '[X]' 00"), "quake4"),
        ("01000300", ann.to_owned(), "prey"),
        ("01000400", ann.to_owned(), "prey"),
    ] {
        let packet = answer(&format!("{protocol} {NEEDED} {player} 20 07000000"));
        let fields = &packet["fields"];
        assert_eq!((rules(&packet), &fields["dialect"]), (vec![], &json!(game)), "{protocol}");
        assert_eq!(
            (&fields["players"][0]["name"], &fields["players"][0]["ping"]),
            (&json!("Ann"), &json!(40))
        );
        assert_eq!(fields["os_mask"], json!(7));
    }
    assert_eq!(answer(&format!("29000180 {NEEDED} 20 07000000"))["fields"]["protocol"], json!("1.41"));
    for (protocol, player) in [
        ("15000a00", "00 1e00 'Ann' 00 01 '[X]' 00 01"),
        ("01000b00", "00 1e00 'Ann' 00 01 '[X]' 00 01"),
        ("13000a00", "00 1e00 401f0000 'Ann' 00 01 '[X]' 00 01"),
        ("11000a00", "00 1e00 401f0000 'Ann' 00 01 '[X]' 00 01"),
        ("10000a00", "00 1e00 401f0000 'Ann' 00 01"),
    ] {
        let packet = sized(protocol, &format!("{NEEDED} {player} 20 {STATE}"));
        let fields = &packet["fields"];
        assert_eq!((rules(&packet), &fields["dialect"]), (vec![], &json!("etqw")), "{protocol}");
        assert_eq!(
            [&fields["players"][0]["bot"], &fields["interested_clients"]],
            [&json!(1); 2],
            "{protocol}"
        );
    }
    let shifted = sized("0a000d00", &format!("{NEEDED} 20 {STATE}"));
    assert_eq!(rules(&shifted), ["D3-PLR-003"]);
}

#[test]
fn other_protocols_show_their_game_by_their_players() {
    for (players, game) in [
        ("00 2800 803e0000 'Ann' 00 01 '[X]' 00 00 00 2900 803e0000 'Bob' 00 00 00 01 10", "wolfenstein"),
        ("10", "wolfenstein"),
        ("00 2800 803e0000 'Ann' 00 03 2900 803e0000 'Bob' 00 20", "doom3"),
        ("00 2800 803e0000 'Ann' 00 '[X]' 00 20", "quake4"),
    ] {
        let packet = answer(&format!("03000700 {NEEDED} {players} 01000000"));
        assert_eq!((rules(&packet), &packet["fields"]["dialect"]), (vec![], &json!(game)), "{players}");
    }
    let broken = answer(&format!("03000700 {NEEDED} 00 2800 803e0000 'Ann' 01000000"));
    assert_eq!((rules(&broken), &broken["fields"]["dialect"]), (vec!["D3-PLR-001"], &json!("wolfenstein")));
}

#[test]
fn the_table_of_servers_has_the_name_of_the_map() {
    let pairs = "'SI_NAME' 00 '^1Lab' 00 'si_map' 00 'maps/refinery.entities' 00 'si_maxPlayers' 00 '4' 00 \
                 'gamename' 00 'baseETQW-1' 00 0000";
    let payload = hex(&format!("ffff 'infoResponse' 00 'PiNG' 29000100 {pairs} 20 07000000"));
    let messages = Id::Doom3.info().messages;
    let message = messages.iter().position(|m| m.name == "info_response").expect("it has one") as u8;
    let decoded = Id::Doom3.dissect(&payload, &Context::of(message, Direction::S2c), &mut Tree::default());
    let facts = decoded.facts().expect("it is whole");
    let texts = [facts.server_name, facts.map, facts.game].map(|value| value.and_then(|value| value.text()));
    assert_eq!(texts, [Some("Lab".into()), Some("refinery".into()), Some("baseETQW-1".into())]);
    assert_eq!(facts.player_counts(), Some((0, 4)));
}

#[test]
fn what_mods_say_of_players_is_no_fault_if_the_size_is_right() {
    let extended = |stats: &str, more: u32| {
        let text = format!("{NEEDED} 20 {STATE} {stats}");
        let size = (hex(&text).len() as u32 + more).to_le_bytes().map(|byte| format!("{byte:02x}")).concat();
        let ask = hex("ffff 'getInfoEx' 00 'PiNGPoNg'");
        let answer = hex(&format!("ffff 'infoExResponse' 00 'PiNGPoNg' 15000a00 {size} {text}"));
        packets(&[(&ask, &[&answer])]).pop().expect("it is claimed")
    };
    let stats = "00 0000c03f 'gdf' 00 01000000 02000000 20";
    let packet = extended(stats, 0);
    assert_eq!(
        packet["fields"]["stats"],
        json!([{ "id": 0, "xp": 1.5, "team": "gdf", "kills": 1, "deaths": 2 }])
    );
    assert_eq!(rules(&packet), [""; 0]);
    let other = extended("00 0000c03f 'gdf' 00 0100", 0);
    assert_eq!((rules(&other), other["fields"]["stats"].clone()), (vec![], Value::Null));
    assert!(other["fields"]["other_stats"].is_string());
    assert_eq!(rules(&extended("00 0000c03f 'gdf' 00 0100", 7)), ["D3-RSP-002", "D3-PLR-001"]);
}

/// Frames of a request and of its answer, and how the exchange ended.
type Ended = (u64, Option<u64>, Outcome);

/// The exchanges, and the rules that datagrams and exchanges break.
fn outcome(frames: &[RawFrame]) -> (Vec<Ended>, Vec<&'static str>) {
    let collected: Collected<true> = play_surrounded(frames);
    let mut exchanges: Vec<_> =
        collected.exchanges.iter().map(|(e, _)| (e.request_frame, e.response_frame, e.outcome)).collect();
    exchanges.sort_unstable_by_key(|(frame, ..)| *frame);
    let broken = collected.findings().map(|f| f.rule.id).filter(|id| !id.starts_with("GEN-"));
    (exchanges, broken.collect())
}

fn repeats(bytes: &str) -> String {
    format!("ffff 'infoResponse' 00 {bytes} 29000100 {NEEDED} 20 07000000")
}

#[test]
fn an_answer_to_a_short_request_has_bytes_that_nobody_sent() {
    use Outcome::{Answered, Unanswered};
    let (short, long) = (c(0, "ffff 'getInfo' 00 000000"), c(MS, "ffff 'getInfo' 00 'PiNG'"));
    let stale = |at| s(at, &repeats("000000ba"));
    let own = |at| s(at, &repeats("'PiNG'"));
    // Frame 1 begins the capture.
    let alone = outcome(&[short.clone(), stale(2 * MS)]);
    assert_eq!(alone, (vec![(2, Some(3), Answered)], vec!["D3-REQ-002"]));
    for answers in [[own(3 * MS), stale(4 * MS)], [stale(3 * MS), own(4 * MS)]] {
        let both = outcome(&[&[short.clone(), long.clone()], &answers[..]].concat());
        let expected: Vec<u64> = both.0.iter().filter_map(|(_, answer, _)| *answer).collect();
        assert_eq!((both.0.len(), expected.len(), both.1), (2, 2, vec!["D3-REQ-002"]), "{:?}", both.0);
    }
    let other = outcome(&[long.clone(), stale(2 * MS)]);
    assert_eq!(other, (vec![(2, None, Unanswered)], vec!["D3-TXN-005", "D3-TXN-002"]));
    // Each answer belongs to the request whose bytes it repeats.
    let two = [c(0, "ffff 'getInfo' 00 'aaaa'"), c(MS, "ffff 'getInfo' 00 'bbbb'")];
    let swapped = [s(2 * MS, &repeats("'bbbb'")), s(3 * MS, &repeats("'aaaa'"))];
    let both = outcome(&[two, swapped].concat());
    assert_eq!(both, (vec![(2, Some(5), Answered), (3, Some(4), Answered)], vec![]));
}

#[test]
fn an_answer_without_its_four_bytes_answers_only_if_the_capture_has_cut_it() {
    let ask = c(0, "ffff 'getInfo' 00 'PiNG'");
    let ended = outcome(&[ask.clone(), s(MS, "ffff 'infoResponse' 00 'PiN'")]);
    assert_eq!(ended, (vec![(2, None, Outcome::Unanswered)], vec!["D3-RSP-001", "D3-TXN-002"]));
    let mut cut = s(MS, &repeats("'PiNG'"));
    cut.bytes.truncate(42 + 17);
    assert_eq!(outcome(&[ask, cut]), (vec![(2, Some(3), Outcome::Answered)], vec![]));
}

#[test]
fn the_second_half_of_eight_bytes_is_compared_where_it_was_sent() {
    let broken = |asked: &str, repeated: &str| {
        let answer =
            format!("ffff 'infoResponse' 00 'PiNG' {repeated} 15000a00 34000000 {NEEDED} 20 {STATE}");
        outcome(&[c(0, &format!("ffff 'getInfo' 00 'PiNG' {asked}")), s(MS, &answer)]).1
    };
    assert_eq!(broken("'PoNg'", "'PoNg'"), [""; 0]);
    assert_eq!(broken("'PoNg'", "ffffffff"), ["D3-TXN-006"]);
    assert_eq!(broken("00", "ffffffff"), [""; 0]);
    assert_eq!(broken("00000000", "00000000"), [""; 0]);
}

#[test]
fn all_datagrams_of_a_list_belong_to_its_request() {
    let list = |at, server: &str| s(at, &format!("ffff 'servers' 00 {server}"));
    let frames = [
        c(0, "ffff 'getServers' 00 29000100 00 00"),
        list(MS, "c0000201 026c"),
        list(2 * MS, "c0000202 026c"),
        list(3 * MS, "c0000202 026c"),
        list(S, ""),
    ];
    let (exchanges, broken) = outcome(&frames);
    assert_eq!((exchanges.len(), broken), (1, vec!["D3-TXN-004"]));
}
