//! Forms of answers that no document describes and that games read nevertheless.

mod browser;
mod frontlines;
mod idtech4;
mod openttd;

use crate::kit::play::{CLIENTS, MS, S, SERVER_ADDR, everything, lines, surrounded, udp_frame};
use qdissect::rule::hex;
use serde_json::{Value, json};

/// The packets of a conversation in which each request is followed by its answers, a millisecond apart.
fn packets(turns: &[(&[u8], &[&[u8]])]) -> Vec<Value> {
    let (mut frames, mut at) = (vec![], S);
    for (ask, answers) in turns {
        frames.push(udp_frame(at, CLIENTS[0], SERVER_ADDR, ask));
        for answer in *answers {
            at += MS;
            frames.push(udp_frame(at, SERVER_ADDR, CLIENTS[0], answer));
        }
        at += 10 * MS;
    }
    let text = lines(everything(), &surrounded(&frames));
    let records = text.lines().map(|line| line.parse::<Value>().expect("a record is JSON"));
    records.filter(|r| r["type"] == "packet" && r["protocol"] != Value::Null).collect()
}

/// The last packet of such a conversation.
fn last(turns: &[(&[u8], &[&[u8]])]) -> Value {
    packets(turns).pop().expect("there is a packet")
}

/// The rules that a packet breaks, but for those about security and sizes.
fn rules(packet: &Value) -> Vec<&str> {
    let all = packet["findings"].as_array().expect("a list");
    let ids = all.iter().map(|finding| finding["rule"].as_str().expect("a rule"));
    ids.filter(|id| !id.contains("-SEC-") && !id.starts_with("GEN-")).collect()
}

// --- RakNet

const MAGIC: &str = "00ffff00fefefefefdfdfdfd12345678";

fn pong(status: &str) -> Value {
    let ping = hex(&format!("01 0000000000000001 {MAGIC} 0000000000000002"));
    let mut answer = hex(&format!("1c 0000000000000001 0000000000000007 {MAGIC}"));
    answer.extend((status.len() as u16).to_be_bytes());
    answer.extend(status.as_bytes());
    last(&[(&ping, &[&answer])])
}

#[test]
fn a_semicolon_behind_a_backslash_is_text() {
    let packet = pong(r"MCPE;A\;B\;;649;1.20;3;20;7;C\;D;Survival;1;19132;19133;x\;y;");
    let fields = &packet["fields"];
    assert_eq!(rules(&packet), ["RAK-MOT-006"]);
    assert_eq!((&fields["server_name"], &fields["level_name"]), (&json!("A;B;"), &json!("C;D")));
    assert_eq!(
        [&fields["protocol_version"], &fields["players"], &fields["max_players"], &fields["port_ipv6"]],
        [&json!(649), &json!(3), &json!(20), &json!(19133)]
    );
    assert_eq!(fields["extra"], json!(["x;y"]));
    assert_eq!(fields["status"], json!(r"MCPE;A\;B\;;649;1.20;3;20;7;C\;D;Survival;1;19132;19133;x\;y;"));
    // Another backslash is a character like any other.
    let packet = pong(r"MCPE;A\B\\C;649;1.20;3;20;7;");
    assert_eq!((rules(&packet), &packet["fields"]["server_name"]), (vec![], &json!(r"A\B\\C")));
}

#[test]
fn a_name_may_end_with_a_backslash_where_the_other_parts_show_it() {
    let packet = pong(r"MCPE;Lab\;649;1.20;3;20;7;World\;Survival;1;");
    let fields = &packet["fields"];
    assert_eq!(rules(&packet), ["RAK-MOT-006"]);
    assert_eq!((&fields["server_name"], &fields["level_name"]), (&json!(r"Lab\"), &json!(r"World\")));
    assert_eq!([&fields["protocol_version"], &fields["players"]], [&json!(649), &json!(3)]);
    // Where neither reading has numbers, the game's own is taken.
    let packet = pong(r"MCPE;A\;B;six;1.20;3;20;7;");
    assert_eq!(packet["fields"]["server_name"], "A;B");
    assert_eq!(rules(&packet), ["RAK-MOT-002", "RAK-MOT-006"]);
}

#[test]
fn the_first_pocket_editions_say_no_more_than_a_name() {
    for (status, name) in [("MCCPP;Demo;Lab [2/16] a; b", "Lab [2/16] a; b"), ("MCCPP;MINECON;", "")] {
        let packet = pong(status);
        assert_eq!(rules(&packet), ["RAK-MOT-007"], "{status}");
        assert_eq!(
            (&packet["fields"]["edition"], &packet["fields"]["server_name"]),
            (&json!("MCCPP"), &json!(name))
        );
    }
}

// --- Minecraft's query

const KEYS: &str = "'gametype' 00 'SMP' 00 'game_id' 00 'MINECRAFT' 00 'version' 00 '1.18' 00 'plugins' 00 00 \
     'map' 00 'world' 00 'numplayers' 00 '1' 00 'maxplayers' 00 '20' 00 'hostport' 00 '25565' 00 'hostip' 00 '::' 00 00";
const PLAYERS: &str = "01 'player_' 00 00 'Ann' 00 00";

/// Minecraft's answer with this header, and this value of `hostname`.
fn minecraft(header: &str, name: &str) -> Value {
    let text = format!("00 01020304 {header} 'hostname' 00 {name} 00 {KEYS} {PLAYERS}");
    last(&[
        (&hex("fefd09 01020304"), &[&hex("09 01020304 '9513307' 00")]),
        (&hex("fefd00 01020304 0091295b 00000000"), &[&hex(&text)]),
    ])
}

fn value<'a>(packet: &'a Value, key: &str) -> Option<&'a str> {
    let keys = packet["fields"]["keys"].as_array()?;
    keys.iter().find(|pair| pair["key"] == key)?["value"].as_str()
}

#[test]
fn the_word_in_front_of_minecrafts_answer_may_be_any() {
    for header in ["'GeyserMC' 00 80 00", "'MyServer' 00 80 00", "00*11", "00*9 80 00"] {
        let packet = minecraft(header, "'Lab'");
        assert_eq!((rules(&packet), &packet["message"]), (vec!["GS3-SPL-004"], &json!("full_stat_response")));
        assert_eq!(value(&packet, "hostname"), Some("Lab"), "{header}");
        assert_eq!(packet["fields"]["columns"][0]["values"], json!(["Ann"]), "{header}");
        assert_eq!(packet["fields"]["last_packet"], json!(true), "{header}");
    }
    let packet = minecraft("'splitnum' 00 80 00", "'GeyserMC'");
    assert_eq!((rules(&packet), value(&packet, "hostname")), (vec![], Some("GeyserMC")));
}

#[test]
fn a_value_of_minecraft_ends_where_the_next_key_begins() {
    for (name, shown) in [
        ("00 '*K' d5", "\0*K\u{d5}"),
        ("'L' 00 'b'", "L\0b"),
        ("'L' 00 00 00 'b' 00", "L\0\0\0b\0"),
        ("'player_' 00 00 'Eve' 00", "player_\0\0Eve\0"),
        ("00", "\0"),
        ("'splitnum' 00 80", "splitnum\0\u{80}"),
    ] {
        let packet = minecraft("'splitnum' 00 80 00", name);
        assert_eq!(
            (rules(&packet), value(&packet, "hostname")),
            (vec!["GS3-KEY-006"], Some(shown)),
            "{name}"
        );
        assert_eq!(
            (value(&packet, "gametype"), value(&packet, "hostip")),
            (Some("SMP"), Some("::")),
            "{name}"
        );
        assert_eq!(packet["fields"]["columns"][0]["values"], json!(["Ann"]), "{name}");
    }
    // The short form has no keys, but its end is known.
    for (name, shown) in
        [("'L' 00 'b'", "L\0b"), ("00 00 '*K' 00", "\0\0*K\0"), ("'7' 00 '8' 00 '9'", "7\08\09")]
    {
        let text = format!("00 01020304 {name} 00 'SMP' 00 'world' 00 '1' 00 '20' 00 dd63 '127.0.0.1' 00");
        let shake = [hex("fefd09 01020304"), hex("09 01020304 '9513307' 00")];
        let packet = last(&[(&shake[0], &[&shake[1]]), (&hex("fefd00 01020304 0091295b"), &[&hex(&text)])]);
        assert_eq!(
            (rules(&packet), &packet["message"]),
            (vec!["GS3-KEY-006"], &json!("basic_stat_response"))
        );
        let fields = &packet["fields"];
        assert_eq!((&fields["hostname"], &fields["numplayers"]), (&json!(shown), &json!(1)), "{name}");
    }
    let packet = minecraft("'splitnum' 00 80 00", "'Lab' 00 'own_key' 00 'own value'");
    assert_eq!((rules(&packet), value(&packet, "own_key")), (vec![], Some("own value")));
}

#[test]
fn a_key_that_the_end_of_a_part_cuts_is_no_key() {
    let stat = hex("fefd00 01020304 0091295b ffffff01");
    let first = |end: &str| {
        hex(&format!(
            "00 01020304 'splitnum' 00 00 00 'hostname' 00 'Lab' 00 'numplayers' 00 '1' 00 'maxplayers' 00 '8' 00 {end}"
        ))
    };
    let rest = hex(
        "00 01020304 'splitnum' 00 81 00 'hostport' 00 '16567' 00 00 01 'player_' 00 00 'Ann' 00 00 00 02 00",
    );
    let (ask, challenge) = (hex("fefd09 01020304"), hex("09 01020304 '9513307' 00"));
    for (end, broken, cut) in [
        ("'hostpo' 00", vec!["GS3-KEY-005"], json!("hostpo")),
        ("'hostport'", vec!["GS3-KEY-005"], json!("hostport")),
        ("'hostport' 00 00", vec![], Value::Null),
        ("'hostport' 00 '16' 00", vec![], Value::Null),
        ("", vec![], Value::Null),
    ] {
        let packets = packets(&[(&ask, &[&challenge]), (&stat, &[&first(end), &rest])]);
        let [.., one, two] = &packets[..] else { panic!("{packets:?}") };
        assert_eq!((rules(one), &one["fields"]["cut_key"]), (broken, &cut), "{end}");
        assert!(value(one, "hostpo").is_none(), "{end}");
        assert_eq!((rules(two), value(two, "hostport")), (vec![], Some("16567")), "{end}");
    }
}

// --- A2S

#[test]
fn players_above_255_are_read_where_their_number_has_no_room() {
    let row = hex("00 'n' 00 01000000 00007042");
    let answer = |count: u8, rows: usize| [&hex("ffffffff 44")[..], &[count], &row.repeat(rows)].concat();
    let asked = |answer: &[u8]| {
        let packet = last(&[(&hex("ffffffff 55 c3192a4b"), &[answer])]);
        let shown = packet["fields"]["players"].as_array().map_or(0, Vec::len);
        let broken: Vec<_> =
            rules(&packet).into_iter().filter(|id| *id != "A2S-SPL-008").map(String::from).collect();
        (shown, broken)
    };
    for (count, rows) in [(44, 300), (0, 256), (255, 255 + 256), (1, 1 + 512)] {
        assert_eq!(asked(&answer(count, rows)), (rows, vec!["A2S-PLY-005".into()]), "{rows}");
    }
    assert_eq!(asked(&answer(44, 299)), (44, vec!["A2S-RSP-001".into()]));
    assert_eq!(asked(&answer(255, 255)), (255, vec![]));
}

#[test]
fn the_words_of_1998_are_answered_in_their_own_forms() {
    let texts = "'192.0.2.10:27015' 00 'Lab' 00 'crossfire' 00 'valve' 00 'Half-Life' 00";
    let packet = last(&[(&hex("ffffffff 'info' 00"), &[&hex(&format!("ffffffff 43 {texts} 031007"))])]);
    assert_eq!(
        (&packet["message"], rules(&packet)),
        (&json!("goldsrc_short_info_response"), vec!["A2S-INF-006"])
    );
    let fields = &packet["fields"];
    assert_eq!((&fields["map"], &fields["folder"]), (&json!("crossfire"), &json!("valve")));
    assert_eq!(
        [&fields["players"], &fields["max_players"], &fields["protocol"]],
        [&json!(3), &json!(16), &json!(7)]
    );

    let hltv = hex(&format!("ffffffff 43 {texts} ffff30 2c010000 00040000"));
    let packet = last(&[(&hex("ffffffff 'info' 00"), &[&hltv])]);
    assert_eq!(
        (&packet["fields"]["spectators"], &packet["fields"]["max_spectators"]),
        (&json!(300), &json!(1024))
    );
    // What is cut is recognised by its request, and only with an address.
    let cut = [&hex("ffffffff 'info' 00")[..], &hex("ffffffff 43 '192.0.2.10:27015' 00 'Lab' 00 'cross'")];
    let packet = last(&[(cut[0], &[cut[1]])]);
    assert_eq!(rules(&packet), ["A2S-INF-006", "A2S-INF-001"]);
    let handshake = hex("ffffffff 43 'onnect' 00");
    assert_eq!(last(&[(cut[0], &[&hltv]), (cut[0], &[&handshake])])["message"], "unknown");
    // All the others are answered as their types are.
    for (word, answer, message) in [
        ("'details' 00", format!("ffffffff 6d {texts} 031007 'dl' 00 00 00 00"), "goldsrc_info_response"),
        ("'players' 00", "ffffffff 44 01 00 'n' 00 01000000 00007042".into(), "players_response"),
        ("'rules' 00", "ffffffff 45 0100 'k' 00 '1' 00".into(), "rules_response"),
        ("'ping' 00", "ffffffff 6a 00".into(), "ping_response"),
    ] {
        let packet = last(&[(&hex(&format!("ffffffff {word}")), &[&hex(&answer)])]);
        assert_eq!((&packet["message"], &packet["request_frame"]), (&json!(message), &json!(2)), "{word}");
    }
}

// --- Armagetron

/// A text in words, of which the second byte comes first.
fn swapped(text: &[u8]) -> Vec<u8> {
    let mut padded = text.to_vec();
    padded.resize(text.len().next_multiple_of(2), 0);
    let words = padded.as_chunks::<2>().0.iter().flat_map(|[first, second]| [*second, *first]);
    (text.len() as u16).to_be_bytes().into_iter().chain(words).collect()
}

fn armagetron(name: &[u8], players: u16, names: &[u8]) -> Value {
    let number = |low: u16| [low.to_be_bytes(), [0; 2]].concat();
    let data = [
        number(4534),
        vec![0, 0],
        swapped(name),
        number(players),
        number(0),
        number(17),
        swapped(b"0.2.9\0"),
        number(32),
        swapped(names),
        vec![0; 6],
        vec![0xff; 4],
    ]
    .concat();
    let length = (data.len() as u16 / 2).to_be_bytes();
    last(&[(b"\0\x35\0\0\0\0\0\x11", &[&[&b"\0\x33\0\0"[..], &length, &data, &[0, 0]].concat()])])
}

#[test]
fn words_of_armagetron_make_texts_of_any_length_and_encoding() {
    for (name, text) in [
        (&b"Lab\0"[..], "Lab"),
        (b"Labs\0", "Labs"),
        (b"La\0bs\0", "La"),
        (b"Caf\xe9\0", "Caf\u{e9}"),
        ("S\u{fc}d\0".as_bytes(), "S\u{fc}d"),
        (b"", ""),
    ] {
        let packet = armagetron(name, 0, b"");
        assert_eq!((&packet["fields"]["server_name"], rules(&packet)), (&json!(text), vec![]));
        assert_eq!(packet["fields"].get("server_name_hex"), None, "{text}");
    }
    assert_eq!(rules(&armagetron(b"Lab", 0, b"")), ["ARM-STR-001"]);
}

#[test]
fn players_of_armagetron_are_lines_that_begin_anywhere() {
    for (names, list) in [
        (&b"Ann\n0xff8800Bob\n\0"[..], json!(["Ann", "0xff8800Bob"])),
        (b"A\nBc\n\xdcnal\n\0", json!(["A", "Bc", "\u{dc}nal"])),
        (b"A\n\nB\0", json!(["A", "", "B"])),
        (b"\n\0", json!([""])),
        (b"\0", json!([])),
    ] {
        let count = list.as_array().expect("a list").len() as u16;
        let packet = armagetron(b"Lab\0", count, names);
        assert_eq!((&packet["fields"]["player_list"], rules(&packet)), (&list, vec![]));
    }
    assert_eq!(rules(&armagetron(b"Lab\0", 2, b"Ann\n\0")), ["ARM-INF-001"]);
}

// --- Mindustry

#[test]
fn answers_of_mindustry_end_before_any_line() {
    let begin = "03 'Lab' 0a 'Groundzero' 00000003 0000000c 00000092";
    let lines = ["08 'official'", "01 00000010", "08 'Sector 7'", "05 'Hex 2'", "19a7"];
    let answer = |lines: &[&str]| last(&[(b"\xfe\x01", &[&hex(&format!("{begin} {}", lines.join(" ")))])]);
    for count in 0..=lines.len() {
        let packet = answer(&lines[..count]);
        let has = |key: &str| packet["fields"].get(key).is_some();
        assert_eq!((rules(&packet), &packet["confidence"]), (vec![], &json!("high")), "{count}");
        assert_eq!(
            ["version_type", "player_limit", "description", "mode_name", "port"].map(has),
            [0, 1, 2, 3, 4].map(|line| line < count)
        );
    }
    for cut in [
        "08 'offic",
        "08 'official' 01 0000",
        "08 'official' 01 00000010 08 'Sec",
        "08 'official' 01 00000010 00 00 19",
    ] {
        let cut = if cut.matches('\'').count() % 2 == 1 { format!("{cut}'") } else { cut.to_owned() };
        let packet = answer(&[&cut]);
        assert_eq!((rules(&packet), &packet["confidence"]), (vec!["MDT-RSP-001"], &json!("low")), "{cut}");
    }
}

#[test]
fn another_game_of_the_library_is_not_taken_for_mindustry() {
    for answer in [&b"\x01x"[..], b"\0", b"\xff\xff\xff\xff", b"{\"players\":3}"] {
        let all = packets(&[(b"\xfe\x01", &[answer]), (b"\xfe\x01", &[answer])]);
        assert!(all.iter().all(|packet| packet["confidence"] == "low"), "{all:#?}");
    }
}
