//! The mods of Arma 3 and DayZ, in chunks that are rules.

use super::{last, rules};
use qdissect::rule::hex;
use serde_json::{Value, json};

/// The message in chunks of so many bytes, as rules in front of another one.
fn chunks(message: &[u8], size: usize) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut escaped = vec![];
    for byte in message {
        match byte {
            1 => escaped.extend([1, 1]),
            0 => escaped.extend([1, 2]),
            255 => escaped.extend([1, 3]),
            other => escaped.push(*other),
        }
    }
    let total = escaped.len().div_ceil(size) as u8;
    (1..).zip(escaped.chunks(size)).map(|(number, chunk)| (vec![number, total], chunk.to_vec())).collect()
}

/// The packet with these rules and one more.
fn answer(mut pairs: Vec<(Vec<u8>, Vec<u8>)>) -> Value {
    pairs.push((b"island".to_vec(), b"lab".to_vec()));
    let mut payload = hex("ffffffff 45");
    payload.extend((pairs.len() as u16).to_le_bytes());
    for (key, value) in pairs {
        payload.extend([&key[..], b"\0", &value, b"\0"].concat());
    }
    last(&[(&hex("ffffffff 56 c3192a4b"), &[&payload])])
}

fn counted(text: &str) -> Vec<u8> {
    [&[text.len() as u8][..], text.as_bytes()].concat()
}

fn one_mod(hash: u32, kind: u8, id: u64, name: &str) -> Vec<u8> {
    let id = id.to_le_bytes();
    [&hash.to_le_bytes()[..], &[kind], &id[..usize::from(kind & 15)], &counted(name)].concat()
}

/// DayZ's message with two mods, one of them with a long id.
fn dayz() -> Vec<u8> {
    let mods = [one_mod(0x0100_ff01, 4, 1_559_212_036, "Mod A"), one_mod(2, 8, 1 << 40, "Zoé's mod\u{1}")];
    [&hex("02 00 0000 02")[..], &mods.concat(), &[1], &counted("lab1"), &counted("of the lab")].concat()
}

#[test]
fn mods_are_read_wherever_the_chunks_are_cut() {
    let expected = json!({
        "version": 2, "flags": 0, "dlcs": [],
        "mods": [
            { "hash": 0x0100_ff01, "is_dlc": false, "id": "1559212036", "name": "Mod A" },
            { "hash": 2, "is_dlc": false, "id": "1099511627776", "name": "Zoé's mod\u{1}" },
        ],
        "signatures": ["lab1"], "description": "of the lab",
    });
    for size in 1..=90 {
        let packet = answer(chunks(&dayz(), size));
        assert_eq!(packet["fields"]["server_browser"], expected, "{size}");
        assert_eq!(rules(&packet), ["A2S-RUL-003"], "{size}");
        let keys = packet["fields"]["rules"].as_array().expect("a list");
        assert_eq!(
            (keys[0]["key"].as_str().map(str::len), &keys.last().unwrap()["key"]),
            (Some(2), &json!("island"))
        );
    }
}

#[test]
fn arma_has_a_difficulty_and_dlcs_with_hashes() {
    let mods = [one_mod(7, 0x13, 1_042_220, "Far Side"), one_mod(8, 1, 0, "@local")];
    let message =
        [&hex("03 00 1001 db01 01020304 ffffffff 02")[..], &mods.concat(), &hex("02 01 'a' 01 'b'")].concat();
    let packet = answer(chunks(&message, 20));
    assert_eq!(rules(&packet), ["A2S-RUL-003"]);
    let expected = json!({
        "version": 3, "flags": 0, "difficulty": "custom", "ai_level": 3, "flight_model": 1, "third_person": true,
        "crosshair": true,
        "dlcs": [{ "name": "Apex", "hash": 0x0403_0201 }, { "name": "Tac-Ops", "hash": 0xffff_ffff_u32 }],
        "mods": [
            { "hash": 7, "is_dlc": true, "id": "1042220", "name": "Far Side" },
            { "hash": 8, "is_dlc": false, "id": "0", "name": "@local" },
        ],
        "signatures": ["a", "b"],
    });
    assert_eq!(packet["fields"]["server_browser"], expected);
    // Version 2 with a difficulty, and lists that were left out.
    for (message, difficulty, mods) in [
        ("02 00 0000 0201 01 07000000 01 05 01 'M' 00", json!("veteran"), 1),
        ("03 03 0000 0000", json!("recruit"), 0),
        ("02 03 0000", Value::Null, 0),
    ] {
        let packet = answer(chunks(&hex(message), 9));
        let browser = &packet["fields"]["server_browser"];
        assert_eq!((rules(&packet), &browser["difficulty"]), (vec!["A2S-RUL-003"], &difficulty), "{message}");
        assert_eq!(browser["mods"].as_array().map_or(0, Vec::len), mods, "{message}");
    }
}

#[test]
fn chunks_that_lie_are_read_as_far_as_they_go() {
    let whole = chunks(&dayz(), 16);
    let names = |packet: &Value| {
        let mods = packet["fields"]["server_browser"]["mods"].as_array().cloned().unwrap_or_default();
        mods.iter().filter_map(|one| Some(one["name"].as_str()?.to_owned())).collect::<Vec<_>>()
    };
    let without = |number: usize| {
        whole.iter().enumerate().filter(|(n, _)| *n != number).map(|(_, c)| c.clone()).collect()
    };
    let (mut last_missing, mut none): (Vec<_>, _) = (without(whole.len() - 1), without(0));
    assert_eq!(names(&answer(last_missing.clone())), ["Mod A", "Zoé's mod\u{1}"]);
    for broken in [&mut last_missing, &mut none, &mut without(2), &mut whole.iter().rev().cloned().collect()]
    {
        assert_eq!(rules(&answer(std::mem::take(broken))), ["A2S-RUL-003", "A2S-RUL-004"]);
    }
    let messages = [
        "02 00 0000 ff",
        "02 00 ffff",
        "03",
        "02 00 0000 01 00000000 0f",
        "02 00 0000 00 ff 'a'",
        "02 00 0000 00 00 00 'x'",
        "02 00 0000 01 00000000 04 01020304 ff 'a'",
    ];
    for message in messages {
        assert_eq!(rules(&answer(chunks(&hex(message), 200))), ["A2S-RUL-003", "A2S-RUL-004"], "{message}");
    }
    // Damaged escapes, and 255 chunks with the largest counts.
    for value in ["02 01", "02 0105", "02 0102 0102 0102 0102 0102 0104"] {
        assert_eq!(rules(&answer(vec![(vec![1, 1], hex(value))])), ["A2S-RUL-003", "A2S-RUL-004"], "{value}");
    }
    let many =
        (1..=255).map(|number| (vec![number, 255], vec![if number == 1 { 2 } else { 254 }; 120])).collect();
    let packet = answer(many);
    assert_eq!(packet["message"], "rules_response");
    // Another message of another version is left alone.
    assert_eq!(rules(&answer(chunks(&hex("fe 00 'abc'"), 3))), ["A2S-RUL-003"]);
}

#[test]
fn damaged_names_have_their_bytes_beside_them() {
    let message =
        [&hex("02 00 0000 01 00000000 04 01020304 03 'A' ff 00")[..], &hex("01 02 'k' ff")].concat();
    let browser = &answer(chunks(&message, 5))["fields"]["server_browser"];
    assert_eq!(
        (&browser["mods"][0]["name"], &browser["mods"][0]["name_hex"]),
        (&json!("A\u{fffd}\0"), &json!("41ff00"))
    );
    assert_eq!(
        (&browser["signatures"], &browser["signatures_hex"]),
        (&json!(["k\u{fffd}"]), &json!(["6bff"]))
    );
}
