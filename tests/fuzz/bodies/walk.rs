//! Frames of any link type: parsed directly, and decapsulated from tunnels and fragments.
//!
//! ```text
//! frames: link type u8, of the list below │ time u8, 1/100 s │ length u16 big-endian │ bytes │ not captured u8
//! ```

use super::input::Input;
use crate::kit::play::{RawFrame, START, everything, numbered_frame};
use crate::kit::records::check_records;
use qdissect::capture::{Frame, Time};
use qdissect::net::{
    Content, Datagram, Decapsulated, Decapsulator, DropReason, MAX_DEPTH, MAX_FRAMES, parse,
};

const MS: i64 = 1_000_000;
/// Maximum number of frames of an input.
const MOST: usize = 64;

/// Link types: all supported ones, and some others.
pub const LINKS: &[u16] = &[
    1, 101, 0, 113, 276, 105, 127, 228, 229, 12, 14, 9, 50, 51, 104, 108, 10, 107, 119, 163, 192, 239, 149,
    253, 182, 109, 251, 147, 220, 249, 1234,
];

/// The frames of an input.
fn input_frames(mut input: Input<'_>) -> Vec<RawFrame> {
    let (mut time, mut frames) = (START, vec![]);
    while !input.is_empty() && frames.len() < MOST {
        let (link, step, length) = (input.pick(LINKS), input.byte(), usize::from(input.word()));
        let bytes = input.take(length).to_vec();
        time += i64::from(step) * 10 * MS;
        let wire_len = bytes.len() as u32 + u32::from(input.byte());
        frames.push(RawFrame { time, link, wire_len, bytes });
    }
    frames
}

/// The input for this frame; `None` for a link type that is not in the list.
pub fn seed(frame: &Frame<'_>) -> Option<Vec<u8>> {
    let link = LINKS.iter().position(|link| *link == frame.link)?;
    let missing = (frame.wire_len as usize).saturating_sub(frame.bytes.len()).min(255);
    let mut seed = vec![link as u8, 1];
    seed.extend((frame.bytes.len() as u16).to_be_bytes());
    seed.extend(frame.bytes.iter().take(usize::from(u16::MAX)));
    seed.push(missing as u8);
    Some(seed)
}

/// Checks that a datagram is in its frame at the stated offset.
fn lies_in(frame: &Frame<'_>, d: &Datagram<'_>) {
    let start = d.at.checked_sub(frame.at).expect("the payload does not stand before its frame") as usize;
    let there = frame.bytes.get(start..start + d.payload.len());
    assert_eq!(there, Some(d.payload), "the payload stands elsewhere");
    assert!(d.wire_len() <= 65_535, "{d:?}");
}

/// Checks the limits of a decapsulated frame.
fn bounded(opened: &Decapsulated<'_>) {
    assert!(opened.fragments.len() <= MAX_FRAMES && opened.fragments.is_sorted(), "{:?}", opened.fragments);
    let Content::Datagram(d) = &opened.content else { return };
    assert!(opened.tunnels.path(d.tunnel).len() <= MAX_DEPTH, "{d:?}");
    assert!(d.payload.len() <= 65_535, "{d:?}");
    assert_eq!(
        d.at >= Datagram::NOT_IN_FILE,
        !opened.fragments.is_empty(),
        "{d:?} of {:?}",
        opened.fragments
    );
}

/// Checks that parsing and decapsulation give the same datagram.
fn agree(parsed: &Result<Datagram<'_>, DropReason>, decapsulated: &Result<Decapsulated<'_>, DropReason>) {
    let datagram_key =
        |d: &Datagram<'_>| (d.src, d.dst, d.at, d.cut, d.checksum, d.ip_id, d.ttl, d.payload.to_vec());
    match (parsed, decapsulated) {
        (Err(DropReason::Tunnel | DropReason::Fragment | DropReason::Icmp), _) => {}
        (Err(parsed), Err(decapsulated)) => {
            assert_eq!(parsed, decapsulated, "the two ways give different reasons")
        }
        (Ok(parsed), Ok(Decapsulated { content: Content::Datagram(decapsulated), .. })) => {
            assert_eq!(
                datagram_key(parsed),
                datagram_key(decapsulated),
                "the two ways lead to different datagrams"
            );
        }
        _ => panic!("one way leads to {parsed:?}, the other to {decapsulated:?}"),
    }
}

/// Parses and decapsulates the frames, and runs them through the pipeline.
pub fn walk(bytes: &[u8]) {
    let frames = input_frames(Input::new(bytes));
    let (mut decapsulator, mut latest) = (Decapsulator::default(), Time::from_nanos(START));
    for (i, raw_frame) in frames.iter().enumerate() {
        let frame = numbered_frame(raw_frame, i as u64 + 1, 24);
        latest = latest.max(frame.time);
        while let Some(opened) = decapsulator.next_expired(latest, false) {
            bounded(&opened);
        }
        let parsed = parse(&frame);
        parsed.iter().for_each(|d| lies_in(&frame, d));
        let decapsulated = decapsulator.decapsulate(&frame);
        decapsulated.iter().for_each(bounded);
        agree(&parsed, &decapsulated);
    }
    while let Some(opened) = decapsulator.next_expired(latest, true) {
        bounded(&opened);
    }
    let counts = decapsulator.fragments();
    assert!(counts.reassembled + counts.begun + counts.headless <= counts.seen, "{counts:?}");
    check_records(everything(), &frames, false);
}
