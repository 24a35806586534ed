//! Same first bytes, different protocols: what looks like one of ours and is not.
#![allow(clippy::panic)] // tests fail that way

#[path = "house/play.rs"]
mod play;

use play::{CLIENTS, End, PORT, SERVER, START, Shot, foreign, play, shot};
use qdissect::protocols::Level;
use qdissect::rule::hex;

const MS: i64 = 1_000_000;
const END: End = (SERVER, PORT);

/// Conversations of neighbours on the wire: what the client sends, and what the server answers. Most
/// must not be claimed at all; the last column says which may be, with low confidence, for alone they
/// have one of our shapes.
const NEIGHBOURS: &[(&str, &str, &str, Option<Level>)] = &[
    ("RakNet connected ping", "00 0000000000012345", "03 0000000000012345 0000000000054321", None),
    ("RakNet connected ping at time 0", "00 0000000000000000", "03 0000000000000000 0000000000000001", None),
    (
        "RakNet unconnected ping",
        "01 0000000000012345 00ffff00fefefefefdfdfdfd12345678 0102030405060708",
        "1c 0000000000012345 0102030405060708 00ffff00fefefefefdfdfdfd12345678 0003 4d4350",
        None,
    ),
    (
        "STUN binding",
        "0001 0000 2112a442 000102030405060708090a0b",
        "0101 000c 2112a442 000102030405060708090a0b 0020 0008 0001 a147 e112a643",
        None,
    ),
    ("WireGuard handshake", "01000000 11223344 aa*140", "02000000 55667788 11223344 bb*80", None),
    ("Source INFO", "ffffffff 54 536f7572636520456e67696e6520517565727900", "ffffffff 41 0a0b0c0d", None),
    ("Source split answer", "ffffffff 56 0a0b0c0d", "feffffff 01000000 02 00 e004 ffffffff45", None),
    ("GameSpy 3 handshake", "fefd 09 10203040", "09 10203040 3900", None),
    ("GameSpy 2 query", "fefd 00 10203040 ffffff", "00 10203040 686f73746e616d65 00 41 00 00", None),
    ("GameSpy 2 answer without text", "fefd 00 10203040 ffffff", "00 10203040", Some(Level::Low)),
    ("Unreal 2 query", "79000000 00", "80000000 00 01 41 00", None),
    ("Titanfall", "ffffffff 4d 01 00*1194", "ffffffff 4e 01 00*30", None),
    ("NetQuake", "8000 000c 02 5155414b4500 03", "8000 0010 83 6c6f63616c00 41 00", None),
    (
        "Mumble ping",
        "00000000 0102030405060708",
        "00010203 0102030405060708 00000001 00000064 00011170",
        None,
    ),
    ("GameSpy 1", "5c6261736963 5c", "5c67616d656e616d655c7574", None),
    ("All-Seeing Eye", "73", "45594531 02 61", None),
    ("SA-MP", "53414d50 c0000202 6969 69", "53414d50 c0000202 6969 69 00 0000 3200", None),
    ("Satisfactory's game traffic", "5a74 0102030405060708090a0b", "5a74 0102030405060708090a0b", None),
    ("TFTP acknowledgement", "0004 0001", "0003 0002 aa*64", None),
    (
        "DNS with number 0",
        "0000 0100 0001 0000 0000 0000 00 0001 0001",
        "0000 8180 0001 0000 0000 0000 00 0001 0001",
        None,
    ),
    ("keep-alives of four zeros", "00000000", "00000000", None),
    ("keep-alives of five zeros", "00*5", "00*5", Some(Level::Low)),
    ("keep-alives of eight zeros", "00*8", "00*8", None),
    (
        "ten bytes like a poll of version 0",
        "0000 0102030405060708",
        "0100 ff02030405060708 03 7f3b0300 983a",
        None,
    ),
    ("eight bytes of type 1 with another version", "01 11223344 0400 01", "01 11223344", None),
];

fn conversation(question: &str, answer: &str) -> Vec<Shot> {
    vec![
        shot(START, CLIENTS[0], END, &hex(question)),
        shot(START + 10 * MS, END, CLIENTS[0], &hex(answer)),
        shot(START + 20 * MS, CLIENTS[0], END, &hex(question)),
        foreign(START + 60_000 * MS),
    ]
}

#[test]
fn neighbours_on_the_wire_are_not_claimed() {
    for &(name, question, answer, most) in NEIGHBOURS {
        let (heard, totals) = play(&conversation(question, answer));
        let surest = heard.packets.iter().map(|p| p.level).max();
        assert!(surest <= most, "{name} is claimed: {:#?}", heard.packets);
        assert_eq!(totals.recognised + totals.unclaimed, totals.udp, "{name}");
    }
}

#[test]
fn a_neighbour_may_speak_on_the_socket_of_a_query() {
    // Hosts offer Source queries beside SQP, and a client may use one socket for both.
    let shots = [
        shot(START, CLIENTS[0], END, &hex("00 00000000")),
        shot(START + MS, END, CLIENTS[0], &hex("00 80902348")),
        shot(START + 2 * MS, CLIENTS[0], END, &hex("ffffffff 54 536f7572636520456e67696e6520517565727900")),
        shot(START + 3 * MS, END, CLIENTS[0], &hex("ffffffff 41 0a0b0c0d")),
        foreign(START + 60_000 * MS),
    ];
    let (heard, totals) = play(&shots);
    assert_eq!(
        heard.packets.iter().map(|p| p.message).collect::<Vec<_>>(),
        ["challenge_request", "challenge_response"]
    );
    assert_eq!(totals.unclaimed, 3);
}
