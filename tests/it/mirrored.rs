//! Datagrams that are captured twice, as on mirrored ports: a copy is decoded like the original and breaks no rules itself.

use crate::kit::play::{
    Addr, CLIENTS, Collected, MS, POLL, PORT, RawFrame, S, SERVER_ADDR, SQP_CHALLENGE, SQP_CHALLENGE_REPLY,
    SQP_QUERY, SQP_QUERY_REPLY, START, STATE, c, everything, foreign, lines, play, s, udp_frame,
};
use qdissect::exchange::Pairing;
use qdissect::rule::general::GEN_008;
use qdissect::rule::hex;
use serde_json::Value;

/// The frames, each twice with a tenth of a millisecond between and a different IP identification for each pair, with foreign
/// ones long before and after.
fn mirrored(frames: &[RawFrame]) -> Vec<RawFrame> {
    const IP_ID: std::ops::Range<usize> = 18..20;
    let mut all = vec![foreign(START - 60 * S)];
    for (id, raw_frame) in (7_u16..).zip(frames) {
        let mut raw_frame = raw_frame.clone();
        raw_frame.bytes[IP_ID].copy_from_slice(&id.to_be_bytes());
        let copy = RawFrame { time: raw_frame.time + MS / 10, ..raw_frame.clone() };
        all.extend([raw_frame, copy]);
    }
    all.push(foreign(START + 60 * S));
    all
}

/// Plays the mirrored frames. Checks that the second frame of every pair, which has an odd number, is reported as a copy only.
fn play_surrounded(frames: &[RawFrame]) -> Collected<true> {
    let all = mirrored(frames);
    let (collected, _) = play(&all);
    for copy in collected.packets.iter().filter(|p| p.frame % 2 == 1) {
        let first = collected.frame(copy.frame - 1);
        assert_eq!(copy.rules(), [GEN_008.id], "{copy:?}");
        assert_eq!((copy.message, copy.direction), (first.message, first.direction));
        let (Pairing::DuplicateResponse { of, .. } | Pairing::DuplicateFrame { of, .. }) = copy.pairing
        else {
            panic!("{copy:?} is no copy");
        };
        assert_eq!(of, first.frame);
    }
    let records: Vec<Value> =
        lines(everything(), &all).lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    let packets: Vec<_> =
        records.iter().filter(|r| r["type"] == "packet" && !r["protocol"].is_null()).collect();
    assert_eq!(packets.len(), 2 * frames.len());
    for pair in packets.chunks(2) {
        assert_eq!(pair[0]["fields"], pair[1]["fields"]);
    }
    collected
}

#[test]
fn a_mirrored_unsolicited_answer_is_reported_once() {
    let collected = play_surrounded(&[s(0, SQP_CHALLENGE_REPLY)]);
    assert_eq!(collected.frame(2).rules(), ["SQP-TXN-005"]);
}

#[test]
fn copies_are_decoded_with_the_request_of_the_original() {
    let reply = "21000000 93000000 02000000 4100 03000000 302e31 00000000 01000000 04000000 7b007d00";
    let collected = play_surrounded(&[c(0, "feffffff"), s(10 * MS, reply)]);
    assert_eq!(
        (collected.frame(4).message, collected.frame(5).message),
        ("status_response", "status_response")
    );
}

#[test]
fn copies_of_answers_are_decoded_with_the_requested_chunks() {
    // The token differs from that of the query and from the issued one.
    let metrics = "01 11111111 0001 00 00 0009 00000005 01 3f800000";
    let collected = play_surrounded(&[
        c(0, SQP_CHALLENGE),
        s(10 * MS, SQP_CHALLENGE_REPLY),
        c(20 * MS, "01 80902348 0002 10"),
        s(30 * MS, metrics),
    ]);
    assert!(collected.frame(8).rules().contains(&"SQP-TXN-004"), "{:?}", collected.frame(8).rules());
    // A second answer names no chunks either.
    let other = metrics.replace("11111111", "80902348");
    let second = other.replace("3f80", "4080");
    let query = "01 80902348 0002 10";
    let collected = play_surrounded(&[
        c(0, SQP_CHALLENGE),
        s(10 * MS, SQP_CHALLENGE_REPLY),
        c(20 * MS, query),
        s(30 * MS, &other),
        s(40 * MS, &second),
    ]);
    assert_eq!(collected.frame(10).rules(), ["SQP-TXN-014"]);
}

#[test]
fn copies_of_parts_are_parts() {
    let answer = s(20 * MS, "3130 6563686f 1e 11 6f6e652074776f 04");
    let collected = play_surrounded(&[c(0, "6563686f 1e 6f6e6520"), c(10 * MS, "74776f 04"), answer]);
    assert_eq!([2, 4].map(|frame| collected.frame(frame).message), ["fragment", "request"]);
    let parts = ["3130 6563686f 1e 11 6f6e6520", "74776f 04"];
    let collected =
        play_surrounded(&[c(0, "6563686f 1e 6f6e652074776f 04"), s(10 * MS, parts[0]), s(11 * MS, parts[1])]);
    assert_eq!([4, 6].map(|frame| collected.frame(frame).message), ["fragment", "response"]);
}

/// An answer with the name of the game.
const NAMED: &str = "3130 6964656e74696679 1e 12 67616d656e616d65 1f 7574 04";

/// A datagram between the server and another client.
fn of_another(time: i64, text: &str, asks: bool) -> RawFrame {
    let (from, to) = if asks { (CLIENTS[1], SERVER_ADDR) } else { (SERVER_ADDR, CLIENTS[1]) };
    udp_frame(START + time, from, to, &hex(text))
}

#[test]
fn copies_of_unknown_datagrams_do_not_lower_the_confidence() {
    let mut frames =
        vec![c(0, "6964656e74696679 04"), s(10 * MS, NAMED), of_another(S, "6964656e74696679 05", true)];
    let unread = (1..=4).map(|n| of_another(S + n * MS, &format!("1b{n:02x}324a 1e 06 04"), false));
    frames.extend(unread);
    frames.push(of_another(S + 30 * MS, "3130 61757468 1e 51 1b5b324a 04", false));
    let (collected, _) = play(&mirrored(&frames));
    let answer = collected.frame(16);
    assert_eq!((answer.message, &answer.rules()[..]), ("response", &["GQP-REC-001", "GQP-CHR-001"][..]));
}

#[test]
fn copies_of_damaged_requests_do_not_lower_the_confidence() {
    let collected = play_surrounded(&[
        c(0, "6964656e74696679 04"),
        s(10 * MS, NAMED),
        of_another(S, "6964656e7469667b 04", true),
        of_another(S + 10 * MS, NAMED, false),
        of_another(2 * S, "01 7a6c6962 06 7801 01 0800 f7ff 6964656e74696679 0ee0035d 04", true),
        of_another(2 * S + 10 * MS, "3430", false),
    ]);
    assert_eq!(collected.frame(12).rules(), ["GQP-FRM-001"]);
}

#[test]
fn a_conversation_may_end_between_a_datagram_and_its_copy() {
    let request = c(0, "6563686f 1e 6f6e65 04");
    let late = s(10 * S, "3130 6563686f 1e 11 6f6e65 04");
    let collected = play_surrounded(&[request, late]);
    assert_eq!(collected.exchanges.len(), 1);
}

/// A capture on a NAT host contains each datagram with both addresses.
#[test]
fn a_token_captured_on_both_sides_of_nat_was_issued_once() {
    let round = |behind: i64| {
        let both = |time: i64, text: &str, sends: bool| {
            let ends = |client: Addr| if sends { (client, SERVER_ADDR) } else { (SERVER_ADDR, client) };
            let seen = |time, client| {
                let (from, to) = ends(client);
                udp_frame(START + time, from, to, &hex(text))
            };
            [seen(time, CLIENTS[0]), seen(time + behind, CLIENTS[1])]
        };
        let steps = [
            (0, SQP_CHALLENGE, true),
            (10 * MS, SQP_CHALLENGE_REPLY, false),
            (20 * MS, SQP_QUERY, true),
            (30 * MS, SQP_QUERY_REPLY, false),
        ];
        let frames: Vec<_> =
            steps.into_iter().flat_map(|(time, text, sends)| both(time, text, sends)).collect();
        let (collected, _) =
            play(&[&[foreign(START - 60 * S)], &frames[..], &[foreign(START + 60 * S)]].concat());
        collected.packets.iter().flat_map(|p| p.rules()).collect::<Vec<_>>()
    };
    assert!(round(MS / 10).is_empty());
    assert_eq!(round(2 * MS), ["SQP-TXN-015"]);
}

/// A bridge of a host that translates both addresses shows an answer after only the receiver's address is translated back.
#[test]
fn an_answer_with_one_translated_address_is_a_copy() {
    let (node, public) = (CLIENTS[1], ([192, 0, 2, 99], PORT));
    // On Linux's "any" interface, version 1.
    let seen = |id: u8, time: i64, from: Addr, to: Addr, text: &str| {
        let mut raw_frame = udp_frame(START + time, from, to, &hex(text));
        raw_frame.bytes[19] = id;
        let kind = u8::from(from.0 != CLIENTS[0].0) * 4;
        let cooked = [0, kind, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0, 8, 0];
        let bytes = [&cooked, &raw_frame.bytes[14..]].concat();
        RawFrame { link: 113, wire_len: bytes.len() as u32, bytes, ..raw_frame }
    };
    let (mut frames, mut id) = (vec![foreign(START - 60 * S)], 0);
    for (time, question, answer) in
        [(0, SQP_CHALLENGE, SQP_CHALLENGE_REPLY), (20 * MS, SQP_QUERY, SQP_QUERY_REPLY)]
    {
        let at = |micros: i64| time + micros * MS / 1000;
        id += 2;
        frames.extend([
            seen(id, at(0), CLIENTS[0], public, question),
            seen(id, at(50), node, SERVER_ADDR, question),
            seen(id + 1, at(300), SERVER_ADDR, node, answer),
            seen(id + 1, at(320), SERVER_ADDR, CLIENTS[0], answer),
            seen(id + 1, at(330), public, CLIENTS[0], answer),
        ]);
    }
    frames.push(foreign(START + 60 * S));
    let (collected, _) = play(&frames);
    let rules: Vec<_> =
        collected.packets.iter().map(|p| p.rules()).filter(|rules| !rules.is_empty()).collect();
    assert_eq!(rules, [[GEN_008.id]; 2]);
    let answered = |frame: u64| collected.exchanges.iter().any(|(e, _)| e.response_frame == Some(frame));
    assert!([4, 6, 9, 11].into_iter().all(answered), "{:?}", collected.exchanges);
}

/// Datagrams of two clients within a millisecond may be one datagram on both sides of NAT.
#[test]
fn datagrams_on_both_sides_of_nat_belong_to_one_client() {
    let query = "ffffffff 54 536f7572636520456e67696e6520517565727900";
    let issued = "ffffffff 41 c3192a4b";
    for (question, answer, rule) in [(query, issued, "A2S-SEC-003"), (POLL, STATE, "SFQ-TXN-006")] {
        let round = |behind: i64| {
            let both = |time: i64, text: &str, sends: bool| {
                [(0, CLIENTS[0]), (behind, CLIENTS[1])].map(|(later, client)| {
                    let (from, to) = if sends { (client, SERVER_ADDR) } else { (SERVER_ADDR, client) };
                    udp_frame(START + time + later, from, to, &hex(text))
                })
            };
            let frames = [both(0, question, true), both(10 * MS, answer, false)].concat();
            let (collected, _) =
                play(&[&[foreign(START - 60 * S)], &frames[..], &[foreign(START + 60 * S)]].concat());
            collected.packets.iter().any(|p| p.rules().contains(&rule))
        };
        assert!(!round(MS / 10), "{rule}");
        assert!(round(2 * MS), "{rule}");
    }
}
