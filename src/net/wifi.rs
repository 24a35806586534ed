//! Wi-Fi: IEEE 802.11 data frames, and what monitor interfaces put in front of them.
//!
//! ```text
//! radiotap   0 │ pad 1 │ length 2 │ present 4, again while bit 31 is set │ [time 8] │ [flags 1] │ ...   little-endian
//! Prism      message 4 │ length 4 │ ...                                     the byte order of the machine
//! AVS        80 21 10 xx │ length 4 │ ...
//!
//! 802.11     kind 1 │ flags 1 │ duration 2 │ address 6, 6, 6 │ sequence 2 │ [address 6] │ [QoS 2] │ [HT control 4] │ ...
//!            subtype 4, type 2, version 2      order, protected, ..., more fragments, from, to the distribution system
//! ```
//!
//! LLC and SNAP follow. What cannot be read has a reason of its own: encrypted frames, and frames that hold a
//! part of a packet or several (A-MSDU).

use super::link::{Packet, header};
use super::rare::{skip, snapped};
use super::{Turned, on_wire};
use crate::capture::Frame;

const PRISM: u16 = 119;
const RADIOTAP: u16 = 127;
const AVS: u16 = 163;

/// Radiotap's present bits and flags.
const PRESENT_TIME: u32 = 1 << 0;
const PRESENT_FLAGS: u32 = 1 << 1;
const PRESENT_MORE: u32 = 1 << 31;
const FLAG_PADDED: u8 = 0x20;

/// First byte of a frame: version and type of data frames; subtypes with QoS, without data.
const KIND: u8 = 0b0000_1111;
const DATA: u8 = 0b0000_1000;
const SUBTYPE_QOS: u8 = 0x80;
const SUBTYPE_EMPTY: u8 = 0x40;
/// Second byte of a frame.
const TO_AND_FROM: u8 = 0x03;
const MORE_FRAGMENTS: u8 = 0x04;
const PROTECTED: u8 = 0x40;
const ORDER: u8 = 0x80;
/// First byte of QoS control: several packets.
const AGGREGATE: u8 = 0x80;

/// The IP packet of an 802.11 frame, behind a monitor header or bare.
pub(super) fn packet<'a>(frame: &Frame<'a>) -> Result<Packet<'a>, Turned> {
    let (length, padded) = match frame.link {
        RADIOTAP => radiotap(frame)?,
        // Captures of one are found with the other's number; the version tells them apart.
        PRISM | AVS => match header::<8>(frame, frame.bytes)?.0 {
            [0x80, 0x21, 0x10, _, length @ ..] => (u32::from_be_bytes(*length), false),
            [_, _, _, _, length @ ..] if frame.link == PRISM => {
                (u32::from_le_bytes(*length).min(u32::from_be_bytes(*length)), false)
            }
            _ => return Err(Turned::BadLink),
        },
        _ => (0, false),
    };
    data(frame, skip(frame, frame.bytes, length as usize)?, padded)
}

/// Length of a radiotap header, and whether the 802.11 header is padded to words of four bytes.
fn radiotap(frame: &Frame<'_>) -> Result<(u32, bool), Turned> {
    let (head, _) = header::<8>(frame, frame.bytes)?;
    let [0, _, a, b, first @ ..] = *head else { return Err(Turned::BadLink) };
    let length = u16::from_le_bytes([a, b]);
    let inside = frame.bytes.get(..usize::from(length)).unwrap_or(frame.bytes);
    let (words, _) = inside.get(4..).unwrap_or_default().as_chunks::<4>();
    let more = words.iter().take_while(|word| u32::from_le_bytes(**word) & PRESENT_MORE != 0).count();
    let mut at = more.saturating_mul(4).saturating_add(8);
    let present = u32::from_le_bytes(first);
    if present & PRESENT_FLAGS == 0 {
        return Ok((u32::from(length), false));
    }
    if present & PRESENT_TIME != 0 {
        at = at.next_multiple_of(8).saturating_add(8);
    }
    let flags = inside.get(at).copied().unwrap_or(0);
    Ok((u32::from(length), flags & FLAG_PADDED != 0))
}

/// The packet of an 802.11 data frame.
fn data<'a>(frame: &Frame<'a>, bytes: &'a [u8], padded: bool) -> Result<Packet<'a>, Turned> {
    let (&[kind, flags], _) = header::<2>(frame, bytes)?;
    if kind & KIND != DATA || kind & SUBTYPE_EMPTY != 0 {
        return Err(Turned::NotIp);
    }
    if flags & PROTECTED != 0 {
        return Err(Turned::Encrypted);
    }
    let (head, mut rest) = header::<24>(frame, bytes)?;
    if flags & MORE_FRAGMENTS != 0 || head[22] & 0x0f != 0 {
        return Err(Turned::WifiPieces);
    }
    if flags & TO_AND_FROM == TO_AND_FROM {
        rest = header::<6>(frame, rest)?.1;
    }
    if kind & SUBTYPE_QOS != 0 {
        let (qos, behind) = header::<2>(frame, rest)?;
        if qos[0] & AGGREGATE != 0 {
            return Err(Turned::WifiPieces);
        }
        rest = if flags & ORDER != 0 { header::<4>(frame, behind)?.1 } else { behind };
    }
    if padded {
        let length = on_wire(frame, bytes).saturating_sub(on_wire(frame, rest));
        rest = skip(frame, rest, length.next_multiple_of(4).saturating_sub(length))?;
    }
    snapped(frame, rest)
}
