//! Datagrams that are captured twice, as on mirrored ports: a copy is decoded like the original and breaks no rules itself.

use crate::kit::play::{
    Addr, CLIENTS, Collected, MS, POLL, PORT, RawFrame, S, SERVER_ADDR, SQP_CHALLENGE, SQP_CHALLENGE_REPLY,
    SQP_QUERY, SQP_QUERY_REPLY, START, STATE, c, everything, foreign, lines, play, s, udp_frame,
};
use qdissect::exchange::Pairing;
use qdissect::net::Endpoint;
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

/// A poll with that cookie, at that many microseconds, in an IP packet that `change` may change.
fn seen(micros: i64, cookie: u8, change: impl FnOnce(&mut Vec<u8>)) -> RawFrame {
    let payload = [&hex("d5f6 00 01")[..], &[cookie; 8], &[1]].concat();
    let mut frame = udp_frame(START + micros * MS / 1000, CLIENTS[0], SERVER_ADDR, &payload);
    change(&mut frame.bytes);
    frame
}

/// Which of the frames count as copies. They have no IP identification, and are all of one interface.
fn copies(frames: &[RawFrame]) -> Vec<u64> {
    let all = [&[foreign(START - 60 * S)], frames, &[foreign(START + 60 * S)]].concat();
    let (collected, totals) = play(&all);
    let copies = collected.packets.iter().filter(|p| p.rules().contains(&GEN_008.id)).map(|p| p.frame);
    let copies: Vec<_> = copies.collect();
    assert_eq!(totals.duplicate_frames, copies.len() as u64);
    copies
}

#[test]
fn equal_packets_that_follow_each_other_at_once_are_copies() {
    let plain = |micros| seen(micros, 1, |_| ());
    assert_eq!(copies(&[plain(0), plain(10), plain(20)]), [3, 4]);
    assert_eq!(copies(&[plain(0), plain(50)]), [3]);
    assert_eq!(copies(&[plain(0), plain(51)]), [0; 0], "a client that asks again");
    assert_eq!(copies(&[plain(10), plain(0)]), [3], "stamps of two interfaces");
    // Each is compared with the original, so there is no chain.
    assert_eq!(copies(&[plain(0), plain(40), plain(80)]), [3]);
    let five: Vec<_> = (0..5).map(plain).collect();
    assert_eq!(copies(&five), [3, 4, 5], "the fifth is another one");
    assert_eq!(copies(&[plain(0), foreign(START), plain(10)]), [0; 0], "something is between");
    assert_eq!(copies(&[plain(0), seen(5, 2, |_| ()), plain(10)]), [0; 0], "something of ours, too");
    // A second pair of the same kind.
    assert_eq!(copies(&[plain(0), plain(10), seen(20, 2, |_| ()), seen(25, 2, |_| ())]), [3, 5]);
}

#[test]
fn packets_that_differ_in_anything_are_no_copies() {
    let plain = |micros| seen(micros, 1, |_| ());
    let changed = |at: usize, byte: u8| seen(10, 1, |bytes| bytes[at] = byte);
    for (at, byte, what) in [
        (19, 7, "identification"),
        (22, 63, "time to live"),
        (29, 9, "sender"),
        (33, 9, "receiver"),
        (34, 1, "port"),
        (50, 9, "a byte in the middle of the payload"),
    ] {
        assert_eq!(copies(&[plain(0), changed(at, byte)]), [0; 0], "{what}");
    }
    let longer = udp_frame(START + 10, CLIENTS[0], SERVER_ADDR, &[&hex(POLL)[..], &[0]].concat());
    assert_eq!(copies(&[udp_frame(START, CLIENTS[0], SERVER_ADDR, &hex(POLL)), longer]), [0; 0]);
}

/// The same with IPv6, behind a tag that the first capture point did not see, and in a tunnel.
#[test]
fn only_the_ip_packet_must_be_equal() {
    let tag = |bytes: &mut Vec<u8>| drop(bytes.splice(12..12, [0x81, 0, 0, 7]));
    let tagged = |micros| {
        let frame = seen(micros, 1, tag);
        RawFrame { wire_len: frame.bytes.len() as u32, ..frame }
    };
    assert_eq!(copies(&[seen(0, 1, |_| ()), tagged(10)]), [3]);
    let v6 = |micros: i64| {
        let udp = seen(0, 1, |_| ()).bytes.split_off(34);
        let length = [0, udp.len() as u8];
        let bytes = [&[0x60, 0, 0, 0], &length[..], &[17, 64], &[0x20; 16], &[0x30; 16], &udp].concat();
        RawFrame { time: START + micros * MS / 1000, link: 101, wire_len: bytes.len() as u32, bytes }
    };
    assert_eq!(copies(&[v6(0), v6(10), v6(20)]), [3, 4]);
}

#[test]
fn copies_without_identification_are_paired_once() {
    let steps = [(0, POLL, true), (10 * MS, STATE, false), (20 * MS, "d5f6 00 01 0102030405060708 01", true)];
    let mut frames = vec![foreign(START - 60 * S)];
    for (time, text, asks) in steps {
        let frame = if asks { c(time, text) } else { s(time, text) };
        frames.extend((0..3).map(|n| RawFrame { time: frame.time + n * MS / 100, ..frame.clone() }));
    }
    frames.push(foreign(START + 60 * S));
    let (collected, totals) = play(&frames);
    assert_eq!((totals.exchanges, totals.answered, totals.retransmissions), (2, 1, 0));
    assert_eq!(collected.exchanges[0].0.response_frame, Some(5));
}

/// A conversation with a server behind translation, as the host sees it on Linux's "any" interface: each datagram on two
/// interfaces, with the outer and the inner address.
fn behind_translation(id: u8, behind_ttl: u8, micros: i64, rounds: i64) -> Vec<RawFrame> {
    translated(
        [(CLIENTS[0], SERVER_ADDR), (CLIENTS[0], ([172, 17, 0, 2], 9_999))],
        id,
        behind_ttl,
        micros,
        rounds,
    )
}

/// A conversation on a host that translates addresses: each datagram is captured on two interfaces, with client and server
/// before the translation and behind it.
fn translated(
    [before, behind]: [(Addr, Addr); 2],
    id: u8,
    behind_ttl: u8,
    micros: i64,
    rounds: i64,
) -> Vec<RawFrame> {
    let seen = |interface: u8, time: i64, (from, to): (Addr, Addr), ttl: u8, text: &str| {
        let mut frame = udp_frame(START + time, from, to, &hex(text));
        frame.bytes[19] = id;
        frame.bytes[22] = ttl;
        let cooked = [8, 0, 0, 0, 0, 0, 0, interface, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0];
        let bytes = [&cooked, &frame.bytes[14..]].concat();
        RawFrame { link: 276, wire_len: bytes.len() as u32, bytes, ..frame }
    };
    let later = micros * MS / 1000;
    let mut frames = vec![foreign(START - 60 * S)];
    for round in 0..rounds {
        let steps = [
            (0, SQP_CHALLENGE, true),
            (10 * MS, SQP_CHALLENGE_REPLY, false),
            (20 * MS, SQP_QUERY, true),
            (30 * MS, SQP_QUERY_REPLY, false),
        ];
        for (time, text, asks) in steps {
            let (time, turned) = (round * S + time, |(client, server)| (server, client));
            frames.extend(match asks {
                true => [seen(2, time, before, 60, text), seen(3, time + later, behind, behind_ttl, text)],
                false => [
                    seen(3, time, turned(behind), 60, text),
                    seen(2, time + later, turned(before), behind_ttl, text),
                ],
            });
        }
    }
    frames.push(foreign(START + 60 * S));
    frames
}

#[test]
fn a_server_behind_translation_is_one_server() {
    for id in [0, 7] {
        let (collected, totals) = play(&behind_translation(id, 59, 40, 2));
        assert_eq!(
            (totals.exchanges, totals.answered, totals.unclaimed, totals.duplicate_frames),
            (4, 4, 2, 8)
        );
        assert!(
            collected.exchanges.iter().all(|(e, _)| e.server == Endpoint::v4(SERVER_ADDR.0, SERVER_ADDR.1))
        );
        let copies: Vec<_> = collected.packets.iter().filter(|p| p.rules() == [GEN_008.id]).collect();
        // Requests behind the translation, and answers before it, which are copies of later frames.
        let frames: Vec<_> = copies.iter().map(|p| p.frame).collect();
        assert_eq!(frames, [3, 4, 7, 8, 11, 12, 15, 16]);
        for copy in copies {
            let Pairing::DuplicateFrame { of, .. } = copy.pairing else { panic!("{copy:?}") };
            assert_eq!(of, if copy.frame % 4 == 3 { copy.frame - 1 } else { copy.frame + 1 });
        }
    }
    let text = lines(everything(), &behind_translation(7, 59, 40, 1));
    assert!(text.contains(r#""duplicate_of":5"#), "{text}");
}

#[test]
fn a_client_behind_translation_is_one_client() {
    let outer = |port| ([203, 0, 113, 1], port);
    // An address alone is translated, or the port, too, which needs an identification.
    for (id, port) in [(0, CLIENTS[0].1), (7, CLIENTS[0].1), (7, 61_000)] {
        let frames = translated([(CLIENTS[0], SERVER_ADDR), (outer(port), SERVER_ADDR)], id, 59, 40, 2);
        let (collected, totals) = play(&frames);
        assert_eq!(
            (totals.exchanges, totals.answered, totals.unclaimed, totals.duplicate_frames),
            (4, 4, 2, 8),
            "{id}, {port}"
        );
        let client = Endpoint::v4(CLIENTS[0].0, CLIENTS[0].1);
        assert!(collected.exchanges.iter().all(|(e, _)| e.client == client));
        let copies = collected.packets.iter().filter(|p| p.rules() == [GEN_008.id]).map(|p| p.frame);
        assert!(copies.eq([3, 4, 7, 8, 11, 12, 15, 16]));
        // Otherwise it is judged like the other direction.
        let (of_server, _) = play(&behind_translation(id, 59, 40, 2));
        assert!(collected.packets.iter().map(|p| p.rules()).eq(of_server.packets.iter().map(|p| p.rules())));
    }
    // Clients that send the same bytes at the same time.
    let (_, totals) =
        play(&translated([(CLIENTS[0], SERVER_ADDR), (outer(61_000), SERVER_ADDR)], 0, 59, 40, 2));
    assert_eq!((totals.exchanges, totals.duplicate_frames), (8, 0));
}

#[test]
fn what_no_translation_explains_are_two_servers() {
    for (ttl, micros) in [(60, 40), (58, 40), (61, 40), (59, 1_001)] {
        let (_, totals) = play(&behind_translation(0, ttl, micros, 1));
        assert_eq!((totals.exchanges, totals.duplicate_frames), (4, 0), "{ttl}, {micros}");
    }
}

#[test]
fn translations_are_remembered_within_limits() {
    // Sixteen other requests between the two captures of a request.
    for (others, found) in [(15, 1), (16, 0)] {
        let mut frames = behind_translation(0, 59, 900, 1);
        frames.truncate(3);
        let behind = frames.pop().expect("a request");
        let other = |n: u8| {
            let mut frame = frames[1].clone();
            frame.bytes[20 + 20] = n; // the client's port
            RawFrame { time: frame.time + i64::from(n), ..frame }
        };
        let between: Vec<_> = (1..=others).map(other).collect();
        let all = [frames.clone(), between, vec![behind, foreign(START + 60 * S)]].concat();
        let (_, totals) = play(&all);
        assert_eq!(totals.duplicate_frames, found, "{others}");
    }
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
