//! Datagrams in tunnels and fragments through the whole pipeline: their records, the limit of different tunnels, errors inside,
//! and time that jumps back.

use crate::kit::play;
use crate::kit::play::{CLIENTS, RawFrame, SERVER, START, udp_frame};
use qdissect::net::MAX_PATHS;
use qdissect::pipeline::Options;
use serde_json::Value;

const OUTER: [([u8; 4], u16); 2] = [([10, 0, 0, 1], 55_555), ([10, 0, 0, 2], 4_789)];
/// A complete challenge request of SQP.
const ASK: &[u8] = &[0; 5];
const ANSWER: &[u8] = &[0, 1, 2, 3, 4];

/// The frame in VXLAN.
fn vxlan(network: u32, inner: &RawFrame) -> RawFrame {
    let [_, a, b, c] = network.to_be_bytes();
    let payload = [&[8, 0, 0, 0, a, b, c, 0][..], &inner.bytes].concat();
    udp_frame(inner.time, OUTER[0], OUTER[1], &payload)
}

/// The records of these frames, including unclaimed datagrams.
fn records(frames: &[RawFrame]) -> Vec<Value> {
    let text = play::lines(Options { all: true, ..Options::default() }, frames);
    text.lines().map(|line| serde_json::from_str(line).expect("a record is JSON")).collect()
}

#[test]
fn pending_datagrams_keep_their_tunnel() {
    let server = (SERVER, 9000);
    let ask = vxlan(42, &udp_frame(START, CLIENTS[0], server, ASK));
    let other = udp_frame(START + 1_000_000, CLIENTS[1], server, b"nothing of ours");
    let answer = vxlan(42, &udp_frame(START + 2_000_000, server, CLIENTS[0], ANSWER));
    let records = records(&[ask, other, answer]);
    let of = |frame: u64| records.iter().find(|r| r["type"] == "packet" && r["frame"] == frame);
    for frame in [1, 3] {
        assert_eq!(of(frame).map(|r| r["encapsulation"].to_string()), Some("[\"vxlan:42\"]".into()));
        assert_eq!(of(frame).map(|r| &r["protocol"]), Some(&"sqp".into()));
    }
    assert_eq!(of(2).map(|r| r.get("encapsulation")), Some(None));
    assert_eq!(records.last().map(|r| &r["udp"]), Some(&3.into()), "the outer datagrams do not count");
}

#[test]
fn further_tunnels_share_a_name_and_are_counted() {
    let inner = udp_frame(START, CLIENTS[0], (SERVER, 9000), b"nothing of ours");
    let frames: Vec<_> = (0..MAX_PATHS as u32 + 2).map(|network| vxlan(network, &inner)).collect();
    let records = records(&frames);
    let named = |at: usize| records[at]["encapsulation"][0].as_str();
    assert_eq!(named(0), Some("vxlan:0"));
    assert_eq!(named(MAX_PATHS - 1), Some(format!("vxlan:{}", MAX_PATHS - 1).as_str()));
    assert_eq!([named(MAX_PATHS), named(MAX_PATHS + 1)], [Some("other"); 2]);
    assert_eq!(records.last().map(|r| &r["tunnels_unnamed"]), Some(&2.into()));
}

#[test]
fn an_error_in_a_tunnel_refuses_the_request_in_it() {
    let server = (SERVER, 9000);
    let ask = udp_frame(START, CLIENTS[0], server, &[1, 1, 2, 3, 4, 0, 1, 1]);
    // Host B to host A: the quoted packet after eight bytes of "port unreachable".
    let mut error = udp_frame(START + 1_000_000, server, CLIENTS[0], &[]);
    error.bytes.truncate(34);
    error.bytes[23] = 1;
    error.bytes.extend([3, 3, 0, 0, 0, 0, 0, 0]);
    error.bytes.extend(&ask.bytes[14..]);
    let length = (error.bytes.len() - 14) as u16;
    error.bytes[16..18].copy_from_slice(&length.to_be_bytes());
    let records = records(&[vxlan(7, &ask), vxlan(7, &error)]);
    let exchange = records.iter().find(|r| r["type"] == "exchange").expect("there is an exchange");
    assert_eq!((&exchange["outcome"], &exchange["reason"]), (&"refused".into(), &"port unreachable".into()));
    assert_eq!(records.last().map(|r| r["not_datagrams"].to_string()), Some("{\"icmp\":1}".into()));
}

/// The frame as two fragments: the UDP header, then the rest.
fn halves(whole: &RawFrame) -> [RawFrame; 2] {
    const IP: usize = 14;
    const DATA: usize = IP + 20;
    const CUT: usize = DATA + 8;
    let part = |flags: [u8; 2], data: &[u8]| {
        let mut bytes = [&whole.bytes[..DATA], data].concat();
        let length = (bytes.len() - IP) as u16;
        bytes[IP + 2..IP + 4].copy_from_slice(&length.to_be_bytes());
        bytes[IP + 4..IP + 8].copy_from_slice(&[0, 7, flags[0], flags[1]]);
        RawFrame { wire_len: bytes.len() as u32, bytes, ..*whole }
    };
    [part([0x20, 0], &whole.bytes[DATA..CUT]), part([0, 1], &whole.bytes[CUT..])]
}

#[test]
fn fragments_are_joined_also_when_the_clock_was_set_back() {
    let server = (SERVER, 9000);
    let ask = |time| udp_frame(time, CLIENTS[0], server, &[1, 1, 2, 3, 4, 0, 1, 1]);
    let [first, rest] = halves(&ask(START));
    // The previous frame is no fragment, and three seconds later.
    let before = udp_frame(START + 3_000_000_000, CLIENTS[1], server, b"nothing of ours");
    let records = records(&[before, first, rest]);
    let joined = records.iter().find(|r| r["protocol"] == "sqp" && r["type"] == "packet");
    let joined = joined.expect("it is put together");
    assert_eq!((&joined["frame"], joined["fragments"].to_string()), (&3.into(), "[2,3]".into()));
    assert_eq!(records.last().map(|r| &r["fragments"]["incomplete"]), Some(&0.into()));
}
