//! Frames of any link type: the short way to their datagrams, and the long one through tunnels and fragments.
//!
//! ```text
//! frames: link type u8, of the list below │ time u8, 1/100 s │ length u16 big-endian │ bytes │ not captured u8
//! ```

use super::input::Input;
use crate::kit::play::{START, Shot, everything, frame};
use crate::kit::records::hold;
use qdissect::capture::{Frame, Time};
use qdissect::net::{
    Content, Datagram, Decapsulated, Decapsulator, DropReason, MAX_DEPTH, MAX_FRAMES, parse,
};

const MS: i64 = 1_000_000;
/// Most frames of an input.
const MOST: usize = 64;

/// Link types: every one that is read, and some that are not.
pub const LINKS: &[u16] = &[
    1, 101, 0, 113, 276, 105, 127, 228, 229, 12, 14, 9, 50, 51, 104, 108, 10, 107, 119, 163, 192, 239, 149,
    253, 182, 109, 251, 147, 220, 249, 1234,
];

/// The frames of an input.
fn shots(mut input: Input<'_>) -> Vec<Shot> {
    let (mut time, mut shots) = (START, vec![]);
    while !input.is_empty() && shots.len() < MOST {
        let (link, step, length) = (input.pick(LINKS), input.byte(), usize::from(input.word()));
        let bytes = input.take(length).to_vec();
        time += i64::from(step) * 10 * MS;
        let wire_len = bytes.len() as u32 + u32::from(input.byte());
        shots.push(Shot { time, link, wire_len, bytes });
    }
    shots
}

/// The input that makes this frame of it; `None` for a link type that is not in the list.
pub fn seed(frame: &Frame<'_>) -> Option<Vec<u8>> {
    let link = LINKS.iter().position(|link| *link == frame.link)?;
    let missing = (frame.wire_len as usize).saturating_sub(frame.bytes.len()).min(255);
    let mut seed = vec![link as u8, 1];
    seed.extend((frame.bytes.len() as u16).to_be_bytes());
    seed.extend(frame.bytes.iter().take(usize::from(u16::MAX)));
    seed.push(missing as u8);
    Some(seed)
}

/// A datagram lies in its frame, where it says.
fn lies_in(frame: &Frame<'_>, d: &Datagram<'_>) {
    let start = d.at.checked_sub(frame.at).expect("the payload does not stand before its frame") as usize;
    let there = frame.bytes.get(start..start + d.payload.len());
    assert_eq!(there, Some(d.payload), "the payload stands elsewhere");
    assert!(d.wire_len() <= 65_535, "{d:?}");
}

/// What the long way found keeps to its bounds.
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

/// Whether the two ways found the same.
fn agree(short: &Result<Datagram<'_>, DropReason>, long: &Result<Decapsulated<'_>, DropReason>) {
    let told = |d: &Datagram<'_>| (d.src, d.dst, d.at, d.cut, d.checksum, d.ip_id, d.payload.to_vec());
    match (short, long) {
        (Err(DropReason::Tunnel | DropReason::Fragment | DropReason::Icmp), _) => {}
        (Err(short), Err(long)) => assert_eq!(short, long, "the two ways give different reasons"),
        (Ok(short), Ok(Decapsulated { content: Content::Datagram(long), .. })) => {
            assert_eq!(told(short), told(long), "the two ways lead to different datagrams");
        }
        _ => panic!("one way leads to {short:?}, the other to {long:?}"),
    }
}

/// Walks both ways, and then through the pipeline.
pub fn walk(bytes: &[u8]) {
    let shots = shots(Input::new(bytes));
    let (mut deep, mut latest) = (Decapsulator::default(), Time::from_nanos(START));
    for (i, shot) in shots.iter().enumerate() {
        let frame = frame(shot, i as u64 + 1, 24);
        latest = latest.max(frame.time);
        while let Some(opened) = deep.next_expired(latest, false) {
            bounded(&opened);
        }
        let short = parse(&frame);
        short.iter().for_each(|d| lies_in(&frame, d));
        let long = deep.decapsulate(&frame);
        long.iter().for_each(bounded);
        agree(&short, &long);
    }
    while let Some(opened) = deep.next_expired(latest, true) {
        bounded(&opened);
    }
    let counts = deep.fragments();
    assert!(counts.reassembled + counts.begun + counts.headless <= counts.seen, "{counts:?}");
    hold(everything(), &shots, false);
}
