//! Messages that look like others at first sight, and what follows from them: through the whole pipeline.

use crate::kit::play::{
    Addr, CLIENTS, MS, POLL, RawFrame, S, SERVER, SERVER_ADDR, SQP_CHALLENGE, START, STATE, everything,
    lines, play_surrounded, surrounded, udp_frame,
};
use qdissect::exchange::Outcome;
use qdissect::rule::hex;
use serde_json::Value;

/// A conversation of the first client with a port of the server, a datagram each 10 ms; the first byte is its sender.
fn frames(port: u16, sent: &[(char, &str)]) -> Vec<RawFrame> {
    let server: Addr = (SERVER, port);
    let frame = |(n, (from, text)): (i64, &(char, &str))| {
        let [from, to] = if *from == 'c' { [CLIENTS[0], server] } else { [server, CLIENTS[0]] };
        udp_frame(START + n * 10 * MS, from, to, &hex(text))
    };
    (0..).zip(sent).map(frame).collect()
}

/// The records of a type, in order.
fn records(raw_frames: &[RawFrame], kind: &str) -> Vec<Value> {
    let text = lines(everything(), &surrounded(raw_frames));
    let all = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("a line is a record"));
    all.filter(|record| record["type"] == kind).collect()
}

/// Broken rules of one frame, but for what servers earn once.
fn rules(raw_frames: &[RawFrame], frame: u64) -> Vec<&'static str> {
    let collected = play_surrounded(raw_frames);
    let packet = collected.frame(frame);
    packet.findings.iter().filter(|f| !f.rule.per_server).map(|f| f.rule.id).collect()
}

#[test]
fn a_negative_challenge_of_minecraft_is_no_selector() {
    for challenge in [-1, -2, -100, -249, -255, -256_i32] {
        let asks = format!("fefd00 01020304 {:08x}", challenge as u32);
        let answer = "00 01020304 'Lab' 00 'SMP' 00 'world' 00 '1' 00 '20' 00 dd63 '127.0.0.1' 00";
        let issued = format!("09 01020304 '{challenge}' 00");
        let played = frames(25_565, &[('c', "fefd09 01020304"), ('s', &issued), ('c', &asks), ('s', answer)]);
        let packets = records(&played, "packet");
        let request = &packets[3];
        assert_eq!(request["message"], "basic_stat_request", "{challenge}");
        assert_eq!(request["fields"]["challenge"], challenge, "{challenge}");
        assert!(rules(&played, 4).is_empty() && rules(&played, 5).is_empty(), "{challenge}");
    }
    // What was not issued is a selector, if its options are any that clients send.
    let played = frames(6_500, &[('c', "fefd00 01020304 ffffff01")]);
    assert_eq!(records(&played, "packet")[1]["message"], "full_stat_request");
}

#[test]
fn a_challenge_of_gamespy_3_without_an_end_may_have_been_any() {
    let full = "00 01020304 'splitnum' 00 80 00 'hostname' 00 'Lab' 00 'numplayers' 00 '1' 00 'maxplayers' 00 '8' 00 00 \
                01 'player_' 00 00 'Ann' 00 00 00 02 00";
    for cut in ["09 01020304 '95'", "09 01020304"] {
        let asks =
            [('c', "fefd09 01020304"), ('s', cut), ('c', "fefd00 01020304 0091295b ffffff01"), ('s', full)];
        let played = frames(6_500, &asks);
        assert!(rules(&played, 4).is_empty(), "{cut}: {:?}", rules(&played, 4));
        assert!(!rules(&played, 5).contains(&"GS3-SEC-001"), "{cut}");
    }
}

#[test]
fn sqp_with_odd_challenges_is_paired_to_its_end() {
    let query = ('c', "01 dfcdb653 0001 01");
    let answer = "01 dfcdb653 0001 00 00 0012 0000000e 0001 0008 0141 0162 0163 0164 1e61";
    let cases = [
        (["00 00000000 00", "00 dfcdb653 00"], answer, ["SQP-REQ-002", "SQP-RSP-001"], None),
        (["00 00000000 0000", "00 dfcdb653 0000"], answer, ["SQP-REQ-002", "SQP-RSP-001"], None),
        (
            ["00 0000ff00", "00 dfcdb653"],
            "01 dfcdb653 0003 00 00 0012 0000000e 0001 0008 0141 0162 0163 0164 1e61",
            ["SQP-REQ-001", ""],
            Some("SQP-RSP-004"),
        ),
    ];
    for ([asks, issues], answer, broken, at_end) in cases {
        let played = frames(7_779, &[('c', asks), ('s', issues), query, ('s', answer)]);
        let collected = play_surrounded(&played);
        let outcomes: Vec<_> = collected.exchanges.iter().map(|(e, _)| e.outcome).collect();
        assert_eq!(outcomes, [Outcome::Answered; 2], "{asks}: {collected:#?}");
        for (rule, frame) in broken.into_iter().zip(2..).filter(|(rule, _)| !rule.is_empty()) {
            assert_eq!(rules(&played, frame), [rule], "{asks}");
        }
        assert_eq!(rules(&played, 5), at_end.into_iter().collect::<Vec<_>>(), "{asks}");
    }
    // Keep-alives that are not followed by a query are not claimed.
    let collected = play_surrounded(&frames(7_779, &[('c', "00 00000000 00"), ('s', "00 dfcdb653 00")]));
    assert!(collected.packets.is_empty(), "{collected:#?}");
}

#[test]
fn a_server_that_issues_no_token_to_anybody_does_not_check_them() {
    let with_clients = |clients: u8, issues: bool| {
        let mut played = vec![];
        for n in 0..clients {
            let (client, start) = (([198, 51, 100, n], 40_000), START + i64::from(n) * 2 * S);
            let token = format!("a100{n:02x}01");
            let query = format!("01 {token} 0001 01");
            let answer = format!("01 {token} 0001 00 00 0012 0000000e 0001 0008 0141 0162 0163 0164 1e61");
            played.push(udp_frame(start, client, SERVER_ADDR, &hex(SQP_CHALLENGE)));
            if issues && n == 0 {
                played.push(udp_frame(start + MS, SERVER_ADDR, client, &hex(&format!("00 {token}"))));
            }
            played.push(udp_frame(start + 50 * MS, client, SERVER_ADDR, &hex(&query)));
            played.push(udp_frame(start + 70 * MS, SERVER_ADDR, client, &hex(&answer)));
        }
        let collected = play_surrounded(&played);
        let count = |id| collected.findings().filter(|f| f.rule.id == id).count();
        [count("SQP-TXN-002"), count("SQP-SEC-001")]
    };
    assert_eq!(with_clients(1, false), [0, 0], "its token may have been issued out of sight");
    assert_eq!(with_clients(2, false), [1, 1]);
    assert_eq!(with_clients(4, false), [3, 3]);
    assert_eq!(with_clients(4, true), [0, 0], "this server issues tokens");
}

#[test]
fn bytes_like_the_first_letter_of_bedrock_are_offline_data() {
    const MAGIC: &str = "00ffff00fefefefefdfdfdfd12345678";
    let ping = format!("01 0000000000000001 {MAGIC} 0102030405060708");
    let pong = |data: &str| format!("1c 0000000000000001 0102030405060708 {MAGIC} {data}");
    for (data, shown) in
        [("55a5 4d", "offline_data_hex"), ("ffff 'MC'", "offline_data_hex"), ("0060 'MC'", "status")]
    {
        let played = frames(19_132, &[('c', &ping), ('s', &pong(data))]);
        let packets = records(&played, "packet");
        assert!(packets[2]["fields"].get(shown).is_some(), "{data}: {}", packets[2]);
        assert_eq!(rules(&played, 3).is_empty(), shown == "offline_data_hex", "{data}");
    }
}

#[test]
fn keys_of_exchanges_are_what_is_on_the_wire() {
    let cases: [(u16, &str, Value); 9] = [
        (27_960, "ffffffff 'getstatus abc'", "abc".into()),
        (27_960, "ffffffff 'getinfo  12345678901234567890 x' 0a", "12345678901234567890".into()),
        (27_960, r#"ffffffff 'getinfo "\' e9"#, "\"\\é".into()),
        (27_960, "ffffffff 'getstatus'", Value::Null),
        (7_777, "'SAMP' c000020a 611e 'p' 01020304", "0xc000020a611e7001020304".into()),
        (7_777, "'SAMP' c000020a 611e 'i'", "0xc000020a611e69".into()),
        (7_778, "7900000000", "0x00".into()),
        (7_778, "7900000002", "0x02".into()),
        (7_778, "7900000003", "0x03".into()),
    ];
    for (port, request, key) in cases {
        assert_eq!(records(&frames(port, &[('c', request)]), "exchange")[0]["key"], key, "{request}");
    }
}

#[test]
fn an_answer_of_gamespy_1_without_numbers_has_no_last_part() {
    let answer = r"'\gamename\ut\hostname\Lab\numplayers\1\maxplayers\8'";
    let broken = |end: &str| {
        let answer = [answer, end].concat();
        let collected = play_surrounded(&frames(7_778, &[('c', r"'\status\'"), ('s', &answer)]));
        collected.exchanges[0].1.iter().map(|f| f.rule.id).collect::<Vec<_>>()
    };
    assert_eq!(broken(""), ["GS1-TXN-006"]);
    assert_eq!(broken(r"'\final\'"), [""; 0]);
}

#[test]
fn a_cookie_sent_again_is_a_retransmission_whatever_else_the_poll_says() {
    for first in ["d5f6 00 00 efcdab8967452301 01", "0000 efcdab8967452301"] {
        let collected = play_surrounded(&frames(7_777, &[('c', first), ('c', POLL), ('s', STATE)]));
        assert_eq!(collected.exchanges.len(), 1, "{first}");
        let rules = collected.frame(3).rules();
        assert!(rules.contains(&"SFQ-TXN-004"), "{first}: {rules:?}");
        // The answer is compared with the last poll.
        assert!(!collected.frame(4).rules().contains(&"SFQ-TXN-007"), "{first}");
    }
}

#[test]
fn a_control_character_in_a_configuration_is_no_other_fault_of_it() {
    let units = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>();
    let rules_of = |config: &str| {
        let config = units(config);
        let length = (config.len() as u32).to_le_bytes();
        let head = hex("93000000 02000000 4100 06000000 302e31332e32 01000000 0a000000");
        let reply = [&head[..], &length, &config].concat();
        let played = [
            udp_frame(START, CLIENTS[0], SERVER_ADDR, &hex("feffffff")),
            udp_frame(START + 10 * MS, SERVER_ADDR, CLIENTS[0], &reply),
        ];
        let collected = play_surrounded(&played);
        collected.findings().map(|f| f.rule.id).filter(|id| id.starts_with("SKY-JSN")).collect::<Vec<_>>()
    };
    assert_eq!(rules_of("{'players':['A\u{1}n'],'experience':'Stalker'}"), ["SKY-JSN-003"]);
    assert_eq!(rules_of("{'players':['A\u{1}n'],'experience':'Stalker','pvp':'True'}"), [""; 0]);
    assert_eq!(rules_of("{'players':['An"), ["SKY-JSN-002"]);
}

#[test]
fn too_many_polls_without_an_answer_are_reported_once_for_each_server() {
    let poll = |n: i64, client: Addr| {
        let cookie = format!("d5f6 00 01 {:016x} 01", n + 1);
        udp_frame(START + n * 100 * MS, client, SERVER_ADDR, &hex(&cookie))
    };
    let played: Vec<_> = (0..30).flat_map(|n| CLIENTS.map(|client| poll(n, client))).collect();
    let collected = play_surrounded(&played);
    let count = collected.packets.iter().filter(|p| p.rules().contains(&"SFQ-TXN-009")).count();
    assert_eq!(count, 1);
}

#[test]
fn lists_that_are_cut_have_whole_elements_only() {
    let cases = [
        (
            7_777,
            "'SAMP' c000020a 611e 'c'",
            "'SAMP' c000020a 611e 'c' 0200 03 'Ann' 05000000 03 'Bob' 06000000",
            "player_list",
        ),
        (
            7_777,
            "'SAMP' c000020a 611e 'r'",
            "'SAMP' c000020a 611e 'r' 0200 01 'a' 02 'xy' 01 'b' 02 'zz'",
            "rules",
        ),
        (7_778, "7900000001", "8000000001 02 'k' 00 02 'v' 00 02 'l' 00 02 'w' 00", "rules"),
        (
            7_778,
            "7900000002",
            "8000000002 14000000 02 'A' 00 05000000 06000000 01000000 15000000 02 'B' 00 05000000 06000000 01000000",
            "player_list",
        ),
        (
            22_126,
            "73",
            "45594531 04 'mta' 06 '22003' 02 'A' 02 'g' 02 'M' 04 '1.6' 02 '0' 02 '2' 03 '32' 02 'k' 02 'v' 02 'l' 02 'w' \
             01 3f 04 'Ann' 02 't' 01 02 '5' 03 '20' 01 3f 04 'Bob' 02 't' 01 02 '6' 03 '21' 01",
            "player_list",
        ),
        (
            27_015,
            "ffffffff 55 0a0b0c0d",
            "ffffffff 44 02 00 'Ann' 00 05000000 00002041 01 'Bob' 00 06000000 00002041",
            "players",
        ),
    ];
    for (port, request, answer, list) in cases {
        let (whole, server) = (hex(answer), (SERVER, port));
        let mut complete = 0;
        for length in 5..=whole.len() {
            let played = [
                udp_frame(START, CLIENTS[0], server, &hex(request)),
                udp_frame(START + 10 * MS, server, CLIENTS[0], &whole[..length]),
            ];
            let packets = records(&played, "packet");
            let Some(Value::Array(elements)) = packets[2]["fields"].get(list) else { continue };
            let sizes: Vec<_> = elements.iter().map(|e| e.as_object().map_or(0, |e| e.len())).collect();
            assert!(
                sizes.iter().all(|size| *size > 1 && *size == sizes[0]),
                "{answer} up to {length}: {elements:?}"
            );
            complete = elements.len();
        }
        assert_eq!(complete, 2, "{answer}");
    }
}
