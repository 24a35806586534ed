//! Datagrams that the capture holds twice, as mirrored ports show them: a copy says what the first one says, and breaks
//! nothing by itself.

use crate::kit::play::{
    CLIENTS, Collected, END, End, H1, H2, MS, OK, POLL, PORT, QI, S, START, STATE, Shot, c, everything,
    foreign, lines, play, s, shot,
};
use qdissect::exchange::Pairing;
use qdissect::general::GEN_008;
use qdissect::rule::hex;
use serde_json::Value;

/// Each datagram twice, a tenth of a millisecond apart, with an IP identification of its own; foreign ones far before
/// and behind.
fn mirrored(shots: &[Shot]) -> Vec<Shot> {
    const IP_ID: std::ops::Range<usize> = 18..20;
    let mut all = vec![foreign(START - 60 * S)];
    for (id, shot) in (7_u16..).zip(shots) {
        let mut shot = shot.clone();
        shot.bytes[IP_ID].copy_from_slice(&id.to_be_bytes());
        let copy = Shot { time: shot.time + MS / 10, ..shot.clone() };
        all.extend([shot, copy]);
    }
    all.push(foreign(START + 60 * S));
    all
}

/// Plays them so. Of every pair the first frame is even, and its copy is held to be no more than that.
fn hear(shots: &[Shot]) -> Collected<true> {
    let all = mirrored(shots);
    let (heard, _) = play(&all);
    for copy in heard.packets.iter().filter(|p| p.frame % 2 == 1) {
        let first = heard.frame(copy.frame - 1);
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
    assert_eq!(packets.len(), 2 * shots.len());
    for pair in packets.chunks(2) {
        assert_eq!(pair[0]["fields"], pair[1]["fields"]);
    }
    heard
}

#[test]
fn of_an_answer_that_nobody_asked_for_once_is_enough() {
    let heard = hear(&[s(0, H2)]);
    assert_eq!(heard.frame(2).rules(), ["SQP-TXN-005"]);
}

#[test]
fn what_an_open_request_explains_is_read_so_in_the_copy_too() {
    let reply = "21000000 93000000 02000000 4100 03000000 302e31 00000000 01000000 04000000 7b007d00";
    let heard = hear(&[c(0, "feffffff"), s(10 * MS, reply)]);
    assert_eq!((heard.frame(4).message, heard.frame(5).message), ("status_response", "status_response"));
}

#[test]
fn chunks_of_an_answer_that_is_none_are_those_that_were_asked_in_the_copy_too() {
    // The token is another one than the query's, and the issued one.
    let metrics = "01 11111111 0001 00 00 0009 00000005 01 3f800000";
    let heard = hear(&[c(0, H1), s(10 * MS, H2), c(20 * MS, "01 80902348 0002 10"), s(30 * MS, metrics)]);
    assert!(heard.frame(8).rules().contains(&"SQP-TXN-004"), "{:?}", heard.frame(8).rules());
    // A second answer names no chunks either.
    let other = metrics.replace("11111111", "80902348");
    let second = other.replace("3f80", "4080");
    let query = "01 80902348 0002 10";
    let heard = hear(&[c(0, H1), s(10 * MS, H2), c(20 * MS, query), s(30 * MS, &other), s(40 * MS, &second)]);
    assert_eq!(heard.frame(10).rules(), ["SQP-TXN-014"]);
}

#[test]
fn parts_of_a_message_are_parts_in_their_copies_too() {
    let answer = s(20 * MS, "3130 6563686f 1e 11 6f6e652074776f 04");
    let heard = hear(&[c(0, "6563686f 1e 6f6e6520"), c(10 * MS, "74776f 04"), answer]);
    assert_eq!([2, 4].map(|frame| heard.frame(frame).message), ["fragment", "request"]);
    let parts = ["3130 6563686f 1e 11 6f6e6520", "74776f 04"];
    let heard = hear(&[c(0, "6563686f 1e 6f6e652074776f 04"), s(10 * MS, parts[0]), s(11 * MS, parts[1])]);
    assert_eq!([4, 6].map(|frame| heard.frame(frame).message), ["fragment", "response"]);
}

/// An answer that names the game.
const NAMED: &str = "3130 6964656e74696679 1e 12 67616d656e616d65 1f 7574 04";

/// A datagram between the server and another client.
fn of_another(time: i64, text: &str, asks: bool) -> Shot {
    let (from, to) = if asks { (CLIENTS[1], END) } else { (END, CLIENTS[1]) };
    shot(START + time, from, to, &hex(text))
}

#[test]
fn the_copy_of_what_nobody_recognises_makes_its_conversation_no_more_doubtful() {
    let mut shots =
        vec![c(0, "6964656e74696679 04"), s(10 * MS, NAMED), of_another(S, "6964656e74696679 05", true)];
    let unread = (1..=4).map(|n| of_another(S + n * MS, &format!("1b{n:02x}324a 1e 06 04"), false));
    shots.extend(unread);
    shots.push(of_another(S + 30 * MS, "3130 61757468 1e 51 1b5b324a 04", false));
    let (heard, _) = play(&mirrored(&shots));
    let answer = heard.frame(16);
    assert_eq!((answer.message, &answer.rules()[..]), ("response", &["GQP-REC-001", "GQP-CHR-001"][..]));
}

#[test]
fn the_copy_of_a_damaged_request_makes_its_conversation_no_more_doubtful() {
    let heard = hear(&[
        c(0, "6964656e74696679 04"),
        s(10 * MS, NAMED),
        of_another(S, "6964656e7469667b 04", true),
        of_another(S + 10 * MS, NAMED, false),
        of_another(2 * S, "01 7a6c6962 06 7801 01 0800 f7ff 6964656e74696679 0ee0035d 04", true),
        of_another(2 * S + 10 * MS, "3430", false),
    ]);
    assert_eq!(heard.frame(12).rules(), ["GQP-FRM-001"]);
}

#[test]
fn a_conversation_may_end_between_a_datagram_and_its_copy() {
    let request = c(0, "6563686f 1e 6f6e65 04");
    let late = s(10 * S, "3130 6563686f 1e 11 6f6e65 04");
    let heard = hear(&[request, late]);
    assert_eq!(heard.exchanges.len(), 1);
}

/// A capture on the host that translates addresses has each datagram with both of them.
#[test]
fn a_token_that_passes_an_address_translation_was_issued_once() {
    let round = |behind: i64| {
        let both = |time: i64, text: &str, sends: bool| {
            let ends = |client: End| if sends { (client, END) } else { (END, client) };
            let seen = |time, client| {
                let (from, to) = ends(client);
                shot(START + time, from, to, &hex(text))
            };
            [seen(time, CLIENTS[0]), seen(time + behind, CLIENTS[1])]
        };
        let steps = [(0, H1, true), (10 * MS, H2, false), (20 * MS, QI, true), (30 * MS, OK, false)];
        let shots: Vec<_> =
            steps.into_iter().flat_map(|(time, text, sends)| both(time, text, sends)).collect();
        let (heard, _) = play(&[&[foreign(START - 60 * S)], &shots[..], &[foreign(START + 60 * S)]].concat());
        heard.packets.iter().flat_map(|p| p.rules()).collect::<Vec<_>>()
    };
    assert!(round(MS / 10).is_empty());
    assert_eq!(round(2 * MS), ["SQP-TXN-015"]);
}

/// A bridge of a host that translates both addresses shows an answer when only its receiver's is translated back.
#[test]
fn an_answer_that_is_half_translated_is_a_copy() {
    let (node, public) = (CLIENTS[1], ([192, 0, 2, 99], PORT));
    // On Linux's "any" interface, version 1.
    let seen = |id: u8, time: i64, from: End, to: End, text: &str| {
        let mut shot = shot(START + time, from, to, &hex(text));
        shot.bytes[19] = id;
        let kind = u8::from(from.0 != CLIENTS[0].0) * 4;
        let cooked = [0, kind, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0, 8, 0];
        let bytes = [&cooked, &shot.bytes[14..]].concat();
        Shot { link: 113, wire_len: bytes.len() as u32, bytes, ..shot }
    };
    let (mut shots, mut id) = (vec![foreign(START - 60 * S)], 0);
    for (time, question, answer) in [(0, H1, H2), (20 * MS, QI, OK)] {
        let at = |micros: i64| time + micros * MS / 1000;
        id += 2;
        shots.extend([
            seen(id, at(0), CLIENTS[0], public, question),
            seen(id, at(50), node, END, question),
            seen(id + 1, at(300), END, node, answer),
            seen(id + 1, at(320), END, CLIENTS[0], answer),
            seen(id + 1, at(330), public, CLIENTS[0], answer),
        ]);
    }
    shots.push(foreign(START + 60 * S));
    let (heard, _) = play(&shots);
    let rules: Vec<_> = heard.packets.iter().map(|p| p.rules()).filter(|rules| !rules.is_empty()).collect();
    assert_eq!(rules, [[GEN_008.id]; 2]);
    let answered = |frame: u64| heard.exchanges.iter().any(|(e, _)| e.response_frame == Some(frame));
    assert!([4, 6, 9, 11].into_iter().all(answered), "{:?}", heard.exchanges);
}

/// What two clients seem to send, or to get, within a millisecond, may be one datagram on both sides of an address translation.
#[test]
fn what_passes_an_address_translation_is_of_one_client() {
    let query = "ffffffff 54 536f7572636520456e67696e6520517565727900";
    let issued = "ffffffff 41 c3192a4b";
    for (question, answer, rule) in [(query, issued, "A2S-SEC-003"), (POLL, STATE, "SFQ-TXN-006")] {
        let round = |behind: i64| {
            let both = |time: i64, text: &str, sends: bool| {
                [(0, CLIENTS[0]), (behind, CLIENTS[1])].map(|(later, client)| {
                    let (from, to) = if sends { (client, END) } else { (END, client) };
                    shot(START + time + later, from, to, &hex(text))
                })
            };
            let shots = [both(0, question, true), both(10 * MS, answer, false)].concat();
            let (heard, _) =
                play(&[&[foreign(START - 60 * S)], &shots[..], &[foreign(START + 60 * S)]].concat());
            heard.packets.iter().any(|p| p.rules().contains(&rule))
        };
        assert!(!round(MS / 10), "{rule}");
        assert!(round(2 * MS), "{rule}");
    }
}
