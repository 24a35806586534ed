//! Damaged frames that tshark and qdissect interpret differently. A difference is excused only if one of these reasons is found
//! in the frame.

use super::mutate::blocks;
use qdissect::capture::{ErrorKind, Frame, MAX_FRAME, Time};
use qdissect::net::{Decapsulator, DropReason, ip_packet, parse};
use std::ops::Range;

const ETHERNET: u16 = 1;
const PPP: u16 = 9;
/// Link types with a pseudo header that tshark does not count, and the length of that header.
const PSEUDO: [(u16, u64); 2] = [(123, 4), (204, 1)];
/// Ethertypes of 802.1Q and similar tags.
const TAGS: [[u8; 2]; 4] = [[0x81, 0], [0x88, 0xa8], [0x91, 0], [0x92, 0]];
/// Maximum number of tags that are skipped.
const MAX_TAGS: usize = 8;

/// Lengths above this are implausible to tshark when it guesses the format, in bytes.
const TOO_MUCH: u32 = 128 << 20;

/// Time in nanoseconds, captured length and length on the wire of a frame.
pub type Head = (Option<i128>, u64, u64);

/// A frame in which only one of the two finds a datagram, or both find different ones.
pub struct Disputed<'a> {
    pub frame: Frame<'a>,
    pub ours: bool,
}

type Reason = (&'static str, fn(&Disputed<'_>) -> bool);

const REASONS: &[Reason] = &[
    ("a link type, or a tunnel, that is only counted here", |it| {
        let unread = [DropReason::UnknownLink, DropReason::Mpls, DropReason::GtpU, DropReason::Teredo];
        !it.ours && Decapsulator::default().decapsulate(&it.frame).is_err_and(|why| unread.contains(&why))
    }),
    ("an IPv6 length of 0, as offload leaves it: whole to us", |it| {
        it.ours && it.packet().is_some_and(|(packet, _)| matches!(packet, [0x60..=0x6f, _, _, _, 0, 0, ..]))
    }),
    ("a UDP length of 0: a jumbogram to tshark, damage to us", |it| {
        // What a packet has of UDP without extension headers.
        let length = it.packet().and_then(|(packet, _)| packet.get(44..46));
        !it.ours && length == Some(&[0, 0]) && it.is_dropped(DropReason::BadUdpLength)
    }),
    ("an option goes beyond its extension header: options are nothing to us", |it| {
        it.ours && it.packet().is_some_and(|(packet, _)| is_overrun(packet))
    }),
    ("more tags than we follow", |it| {
        let rest = it.frame.bytes.get(12..).unwrap_or_default();
        let tags = rest.chunks_exact(4).take_while(|tag| TAGS.iter().any(|known| tag.starts_with(known)));
        !it.ours && tags.count() > MAX_TAGS
    }),
    ("an 802.3 length shorter than its packet: nothing to us", |it| {
        let length = it
            .frame
            .bytes
            .get(12..14)
            .map_or(0, |length| usize::from(length[0]) << 8 | usize::from(length[1]));
        let needs = it.packet().map_or(0, |(packet, _)| announced(packet) + 8);
        it.ours && it.frame.link == ETHERNET && length < needs.min(0x600)
    }),
    ("another version, type or code than RFC 2516 (4) has for PPPoE's sessions", |it| {
        let mut words = it.frame.bytes.windows(4);
        !it.ours && words.any(|word| word[..2] == [0x88, 0x64] && word[2..] != [0x11, 0])
    }),
    ("a control byte that RFC 1662 (3.1) would have dropped", |it| {
        !it.ours && it.frame.link == PPP && matches!(it.frame.bytes, [0xff, control, ..] if *control != 3)
    }),
];

impl Disputed<'_> {
    /// The IP packet with the bytes after it, and their length on the wire.
    fn packet(&self) -> Option<(&[u8], usize)> {
        let packet = ip_packet(&self.frame)?;
        Some((packet, packet.len() + (self.frame.wire_len as usize).saturating_sub(self.frame.bytes.len())))
    }

    fn is_dropped(&self, reason: DropReason) -> bool {
        parse(&self.frame).is_err_and(|why| why == reason)
    }
}

/// Length of an IP packet by its header; 0 if it cannot be read.
fn announced(packet: &[u8]) -> usize {
    match packet {
        [0x40..=0x4f, _, high, low, ..] => usize::from(u16::from_be_bytes([*high, *low])),
        [0x60..=0x6f, _, _, _, high, low, ..] => 40 + usize::from(u16::from_be_bytes([*high, *low])),
        _ => 0,
    }
}

/// Whether an IPv6 packet begins with an options header whose options exceed it.
fn is_overrun(packet: &[u8]) -> bool {
    let [0x60..=0x6f, _, _, _, _, _, 0 | 60, rest @ ..] = packet else { return false };
    let Some([_, units, options @ ..]) = rest.get(33..) else { return false };
    let (room, mut at) = (usize::from(*units) * 8 + 6, 0);
    while at < room {
        at += match options.get(at..) {
            Some([0, ..]) => 1,
            Some([_, length, ..]) => 2 + usize::from(*length),
            _ => return false, // cut
        };
    }
    at > room
}

/// The known and accepted reason why the two interpret a frame differently.
pub fn reason(it: &Disputed<'_>) -> Option<&'static str> {
    REASONS.iter().find(|(_, holds)| holds(it)).map(|(reason, _)| *reason)
}

/// Prepares a frame for [`reason`].
pub fn disputed(link: u16, wire_len: u32, bytes: &[u8], ours: bool) -> Disputed<'_> {
    let frame = Frame { number: 1, time: Time::UNKNOWN, link, interface: 0, at: 0, wire_len, bytes };
    Disputed { frame, ours }
}

/// Whether a file has interfaces whose time stamps tshark computes wrongly: with a unit other than micro- or nanoseconds, or with
/// an offset (options 9 and 14).
pub fn is_strange_clock(file: &[u8]) -> bool {
    let interface = |block: &Range<usize>| matches!(file[block.clone()], [1, 0, 0, 0, ..] | [0, 0, 0, 1, ..]);
    let strange = |options: &[u8]| {
        let mut options = options.windows(5);
        options.any(|it| matches!(it, [9, 0, 1, 0, unit] | [0, 9, 0, 1, unit] if ![6, 9].contains(unit)))
    };
    let offset = |options: &[u8]| options.windows(4).any(|it| matches!(it, [14, 0, 8, 0] | [0, 14, 0, 8]));
    blocks(file).iter().filter(|block| interface(block)).any(|block| {
        let options = file[block.clone()].get(16..).unwrap_or_default();
        strange(options) || offset(options)
    })
}

/// Whether the record of a pcap file whose frame begins at `at` has a fraction of a second that is none, which tshark
/// takes for a negative number.
pub fn is_strange_fraction(file: &[u8], at: usize) -> bool {
    let big = matches!(file, [0xa1, 0xb2, ..]);
    let units =
        if matches!(file, [0x4d, 0x3c, ..] | [_, _, 0x3c, 0x4d, ..]) { 1_000_000_000 } else { 1_000_000 };
    // Records of the modified format have a longer header.
    let behind = if matches!(file, [0x34, 0xcd, ..] | [_, _, 0xcd, 0x34, ..]) { 20 } else { 12 };
    let fraction = at.checked_sub(behind).and_then(|start| file.get(start..)?.first_chunk::<4>());
    fraction.is_some_and(|it| if big { u32::from_be_bytes(*it) } else { u32::from_le_bytes(*it) } >= units)
}

/// A pcap file by a walk of its own: time in nanoseconds, captured length and length on the wire of each frame, and why it
/// ends. Only where the head of one of its first three records has a fraction of a second that is none, or a length
/// that is too much or less than the other: by those tshark guesses which of the variants of the format it is, and may
/// then read everything with heads of another length.
pub fn guessed(file: &[u8]) -> Option<(Vec<Head>, Option<ErrorKind>)> {
    let (big, head, unit) = match file {
        [0xd4, 0xc3, 0xb2, 0xa1, ..] => (false, 16, 1_000),
        [0xa1, 0xb2, 0xc3, 0xd4, ..] => (true, 16, 1_000),
        [0x4d, 0x3c, 0xb2, 0xa1, ..] => (false, 16, 1),
        [0xa1, 0xb2, 0x3c, 0x4d, ..] => (true, 16, 1),
        [0x34, 0xcd, 0xb2, 0xa1, ..] => (false, 24, 1_000),
        [0xa1, 0xb2, 0xcd, 0x34, ..] => (true, 24, 1_000),
        _ => return None,
    };
    let less = pseudo(word(big, file.get(20..24)?) as u16);
    let (mut rest, mut frames, mut strange) = (&file[24..], vec![], false);
    let end = loop {
        let Some((record, behind)) = rest.split_at_checked(head) else {
            break (!rest.is_empty()).then_some(ErrorKind::CutShort);
        };
        let [seconds, fraction, captured, wire] = [0, 4, 8, 12].map(|field| word(big, &record[field..]));
        let implausible =
            u64::from(fraction) * unit >= 1_000_000_000 || captured > MAX_FRAME.min(wire) || wire > TOO_MUCH;
        strange |= frames.len() < 3 && implausible;
        if captured > MAX_FRAME {
            break Some(ErrorKind::Damaged);
        }
        let Some((_, next)) = behind.split_at_checked(captured as usize) else {
            break Some(ErrorKind::CutShort);
        };
        let time = i128::from(seconds) * 1_000_000_000 + i128::from(u64::from(fraction) * unit);
        let [captured, wire] = [captured, wire.max(captured)].map(|n| u64::from(n).saturating_sub(less));
        frames.push((Some(time), captured, wire));
        rest = next;
    };
    strange.then_some((frames, end))
}

/// Where the first block of a pcapng file begins of whose options one goes beyond it: tshark gives the file up there, and
/// to us only what that option says is lost.
pub fn overrun(file: &[u8]) -> Option<usize> {
    let mut big = false;
    blocks(file).into_iter().map(|block| (block.start, &file[block])).find_map(|(start, block)| {
        if block.starts_with(b"\x0a\x0d\x0d\x0a") {
            big = block[8] == 0x1a;
        }
        let field =
            |at: usize| block.get(at..).filter(|rest| rest.len() >= 4).map_or(0, |rest| word(big, rest));
        let from = match field(0) {
            0x0a0d_0d0a => 24,
            1 => 16,
            2 | 6 => 28 + (field(20) as usize).next_multiple_of(4),
            5 => 20,
            _ => return None,
        };
        let mut options = block.get(from..block.len() - 4)?;
        while let Some((head, rest)) = options.split_first_chunk::<4>() {
            let [code, length] = [[head[0], head[1]], [head[2], head[3]]]
                .map(|half| if big { u16::from_be_bytes(half) } else { u16::from_le_bytes(half) });
            if code == 0 {
                return None;
            }
            let Some(behind) = rest.get(usize::from(length).next_multiple_of(4)..) else {
                return Some(start);
            };
            options = behind;
        }
        None
    })
}

/// The integer of 32 bits that begins `bytes`, which are at least four.
fn word(big: bool, bytes: &[u8]) -> u32 {
    let field = [bytes[0], bytes[1], bytes[2], bytes[3]];
    if big { u32::from_be_bytes(field) } else { u32::from_le_bytes(field) }
}

/// Bytes of a frame that tshark does not count.
pub fn pseudo(link: u16) -> u64 {
    PSEUDO.iter().find(|(known, _)| *known == link).map_or(0, |(_, length)| *length)
}
