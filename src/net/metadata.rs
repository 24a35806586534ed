//! Link headers that describe how a whole frame was captured, with the frame behind them.
//!
//! ```text
//! NFLOG  family 1 │ 0 │ resource 2 │ attributes: length 2, type 2, value, filled to 4 bytes; type 9 is the IP packet
//! PKTAP  length 4 │ 1 4 │ link type 4 │ interface 24 │ flags 4 │ ... │ frame             little-endian, 108 bytes or more
//! PPI    0 │ flags 1 │ length 2 │ link type 4 │ fields ... │ frame                       little-endian
//! ```
//!
//! NFLOG's lengths and types are in the byte order of the capturing machine. No type is 0 or above 255, so its zero byte
//! tells the order. Apple's systems write PKTAP as link type 149, which others use for what they like: such frames are
//! read if the whole header is right.

use super::header::{header, skip};
use super::ip_payload::{narrow, rest_of};
use super::link::{IPV4, IPV6, NFLOG, PKTAP, PKTAP_USER2, PPI};
use super::{DropReason, ethertype, link};
use crate::capture::Frame;

/// The most such headers within each other that are followed; real frames have one.
pub const MAX_HEADERS: usize = 4;
/// The most attributes of NFLOG that are read; Linux knows about twenty, each of which occurs once.
pub const MAX_ATTRIBUTES: usize = 64;

// Attributes of NFLOG (linux/netfilter/nfnetlink_log.h).
const PACKET_HEADER: u16 = 1;
const INTERFACE_IN: u16 = 4;
const INTERFACE_OUT: u16 = 5;
const PAYLOAD: u16 = 9;
/// Flags in an attribute's type: nested, network byte order.
const ATTRIBUTE_FLAGS: u8 = 0xc0;
const FAMILY_IPV4: u8 = 2;
const FAMILY_IPV6: u8 = 10;

const PKTAP_HEADER: usize = 108;
/// The record holds a packet.
const PKTAP_PACKET: u32 = 1;

/// The frame behind all such headers, and its [origin](link::origin). Other frames are returned as they are.
#[cold]
#[inline(never)]
pub(super) fn unwrapped<'a>(frame: &Frame<'a>) -> Result<(Frame<'a>, u32), DropReason> {
    let (mut frame, mut origin) = (*frame, None);
    for _ in 0..=MAX_HEADERS {
        let (inner, place) = match frame.link {
            NFLOG => nflog(&frame)?,
            PKTAP => pktap(&frame)?,
            // Their own link type where Apple's header is not right.
            PKTAP_USER2 => pktap(&frame).map_err(|_| DropReason::UnknownLink)?,
            PPI => ppi(&frame)?,
            _ => return Ok((frame, origin.unwrap_or_else(|| link::origin(&frame)))),
        };
        origin.get_or_insert(frame.interface << 8 | u32::from(place));
        frame = inner;
    }
    Err(DropReason::BadLink)
}

/// The packet of an NFLOG message, as a frame of its IP version. Its place is the netfilter hook and the lowest bits of the
/// interfaces' numbers: a packet is logged again at another hook.
fn nflog<'a>(frame: &Frame<'a>) -> Result<(Frame<'a>, u8), DropReason> {
    let (&[family, version, ..], mut rest) = header::<4>(frame, frame.bytes)?;
    if version != 0 {
        return Err(DropReason::BadLink);
    }
    let (mut protocol, mut place, mut packet) = (0, 0, None);
    for count in 0..=MAX_ATTRIBUTES {
        if packet.is_some() || rest.is_empty() && super::header::on_wire(frame, rest) == 0 {
            break;
        }
        if count == MAX_ATTRIBUTES {
            return Err(DropReason::BadLink);
        }
        let (head, value) = header::<4>(frame, rest)?;
        let (length, kind) = attribute(*head).ok_or(DropReason::BadLink)?;
        let length = usize::from(length).checked_sub(4).ok_or(DropReason::BadLink)?;
        match (kind, value) {
            (PACKET_HEADER, [high, low, hook, ..]) => {
                protocol = u16::from_be_bytes([*high, *low]);
                place ^= hook & 7;
            }
            (INTERFACE_IN | INTERFACE_OUT, [_, _, _, number, ..]) => place ^= number << 3,
            (PAYLOAD, _) => packet = Some(narrow(frame, value, length)),
            _ => {}
        }
        if packet.is_none() {
            skip(frame, value, length, DropReason::BadLink)?;
            // The last attribute may lack what fills it up.
            rest = value.get(length.next_multiple_of(4)..).unwrap_or_default();
        }
    }
    let link = match (family, protocol) {
        (FAMILY_IPV4, _) | (_, ethertype::IPV4) => IPV4,
        (FAMILY_IPV6, _) | (_, ethertype::IPV6) => IPV6,
        _ => return Err(DropReason::NotIp),
    };
    let packet = packet.ok_or(DropReason::NotIp)?;
    Ok((Frame { link, ..packet }, place))
}

/// Length and type of an attribute, in either byte order.
fn attribute([a, b, c, d]: [u8; 4]) -> Option<(u16, u16)> {
    match [c & !ATTRIBUTE_FLAGS, d & !ATTRIBUTE_FLAGS] {
        [_, 0] if c > 0 => Some((u16::from_le_bytes([a, b]), c.into())),
        [0, _] if d > 0 => Some((u16::from_be_bytes([a, b]), d.into())),
        _ => None,
    }
}

/// The frame behind Apple's header. Its place is the direction, and some bits of the interface's name.
fn pktap<'a>(frame: &Frame<'a>) -> Result<(Frame<'a>, u8), DropReason> {
    let (head, _) = header::<PKTAP_HEADER>(frame, frame.bytes)?;
    let word = |at: usize| head.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |b| u32::from_le_bytes(*b));
    let length = usize::try_from(word(0)).unwrap_or(usize::MAX);
    let link = u16::try_from(word(8)).map_err(|_| DropReason::BadLink)?;
    if length < PKTAP_HEADER {
        return Err(DropReason::BadLink);
    }
    if word(4) != PKTAP_PACKET {
        return Err(DropReason::NotIp);
    }
    let name = head.get(12..36).unwrap_or_default();
    let name = name.iter().fold(0_u8, |sum, byte| sum.wrapping_mul(31).wrapping_add(*byte));
    let place = (word(36) & 3) as u8 | name << 3;
    let rest = skip(frame, frame.bytes, length, DropReason::BadLink)?;
    Ok((Frame { link, ..rest_of(frame, rest) }, place))
}

fn ppi<'a>(frame: &Frame<'a>) -> Result<(Frame<'a>, u8), DropReason> {
    let (&[version, _, low, high, a, b, c, d], _) = header::<8>(frame, frame.bytes)?;
    let length = usize::from(u16::from_le_bytes([low, high]));
    if version != 0 || length < 8 {
        return Err(DropReason::BadLink);
    }
    let link = u16::try_from(u32::from_le_bytes([a, b, c, d])).map_err(|_| DropReason::UnknownLink)?;
    let rest = skip(frame, frame.bytes, length, DropReason::BadLink)?;
    Ok((Frame { link, ..rest_of(frame, rest) }, 0))
}
