//! Whether bytes are a whole packet or frame, with headers before the datagram.
//!
//! ```text
//!  offset of the IP header   0 raw     4 BSD loopback     14 Ethernet, 4 more a tag     16 SLL     20 SLL2
//! ```
//!
//! A payload could look like a packet by chance, so a length or checksum must agree, unless the text is of a tool
//! that shows packets.

/// LINKTYPE_RAW: the packet begins with its IP header.
pub const RAW: u16 = 101;
/// LINKTYPE_NULL, LINKTYPE_ETHERNET, LINKTYPE_LINUX_SLL, LINKTYPE_LINUX_SLL2.
const NULL: u16 = 0;
const ETHERNET: u16 = 1;
const SLL: u16 = 113;
const SLL2: u16 = 276;

const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
const ARP: u16 = 0x0806;
const TAGS: [u16; 2] = [0x8100, 0x88a8];

/// Link type and length on the wire in bytes of a packet; `None` where the bytes are a payload.
///
/// `likely`: whoever wrote them shows packets.
pub fn headers(bytes: &[u8], likely: bool) -> Option<(u16, u32)> {
    let raw = ip(bytes, 0, likely).map(|wire| (RAW, wire));
    let loopback = || {
        let family = bytes.first_chunk::<4>()?;
        let families = [2, 24, 28, 30].map(u32::to_le_bytes);
        let known = families.iter().any(|f| f == family || f.iter().rev().eq(family.iter()));
        if known { ip(bytes, 4, likely).map(|wire| (NULL, wire)) } else { None }
    };
    raw.or_else(|| ethernet(bytes, likely))
        .or_else(|| typed(bytes, 14, 16, likely).map(|wire| (SLL, wire)))
        .or_else(|| typed(bytes, 0, 20, likely).map(|wire| (SLL2, wire)))
        .or_else(loopback)
}

fn word(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().map(|b| u16::from_be_bytes(*b))
}

fn ethernet(bytes: &[u8], likely: bool) -> Option<(u16, u32)> {
    let tag = word(bytes, 12).filter(|kind| TAGS.contains(kind)).map_or(0, |_| 4);
    let kind = word(bytes, 12usize.saturating_add(tag))?;
    let body = 14usize.saturating_add(tag);
    // Hardware Ethernet, protocol IPv4, and the lengths of their addresses.
    if kind == ARP && bytes.get(body..).is_some_and(|b| b.starts_with(&[0, 1, 8, 0, 6, 4])) {
        return Some((ETHERNET, u32::try_from(bytes.len()).ok()?));
    }
    typed(bytes, 12usize.saturating_add(tag), body, likely).map(|wire| (ETHERNET, wire))
}

/// A packet behind a header that names its type.
fn typed(bytes: &[u8], kind: usize, body: usize, likely: bool) -> Option<u32> {
    let version = match word(bytes, kind)? {
        IPV4 => 4,
        IPV6 => 6,
        _ => return None,
    };
    (bytes.get(body)? >> 4 == version).then(|| ip(bytes, body, likely)).flatten()
}

/// Length on the wire of a frame whose IP header stands at `at`.
fn ip(bytes: &[u8], at: usize, likely: bool) -> Option<u32> {
    let packet = bytes.get(at..)?;
    let (total, sure) = match packet.first()? >> 4 {
        4 => v4(packet)?,
        6 => {
            let length = usize::from(word(packet, 4)?).saturating_add(40);
            let known = [0, 6, 17, 43, 44, 58, 60].contains(packet.get(6)?);
            (length, known && length == packet.len() && packet.len() > 40)
        }
        _ => return None,
    };
    let wire = at.saturating_add(total).max(bytes.len());
    (likely || sure).then_some(u32::try_from(wire).ok()?)
}

/// Total length of an IPv4 packet, and whether its header proves to be one.
fn v4(packet: &[u8]) -> Option<(usize, bool)> {
    let header = usize::from(packet.first()? & 15).checked_mul(4).filter(|len| *len >= 20)?;
    let total = usize::from(word(packet, 2)?);
    let words = packet.get(..header)?.as_chunks::<2>().0;
    let sum: u32 = words.iter().map(|w| u32::from(u16::from_be_bytes(*w))).fold(0, u32::saturating_add);
    let folded = (sum & 0xffff).saturating_add(sum >> 16);
    // A network card may be the one to compute it.
    let left_to_card = word(packet, 10)? == 0 && total == packet.len() && *packet.get(9)? == 17;
    (total >= header).then_some((total, folded == 0xffff || left_to_card))
}

#[cfg(test)]
#[allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::arithmetic_side_effects)]
mod tests {
    use super::*;
    use crate::rule::hex;

    /// An SQP challenge from 198.51.100.21:56417 to 192.0.2.10:7777.
    const PACKET: &str = "45000021 47344000 39110e45 c6336415 c000020a dc611e61 000d18be 0000000000";

    #[test]
    fn packets_are_known_behind_every_header() {
        for (link, before) in [
            (RAW, ""),
            (NULL, "02000000"),
            (ETHERNET, "02005e005310 02005e005301 0800"),
            (ETHERNET, "02005e005310 02005e005301 8100 0007 0800"),
            (SLL, "0000 0001 0006 020000000001 0000 0800"),
            (SLL2, "0800 0000 00000003 0001 00 06 0200000000010000"),
        ] {
            let bytes = hex(&format!("{before} {PACKET}"));
            assert_eq!(headers(&bytes, false), Some((link, bytes.len() as u32)), "{link}");
        }
    }

    #[test]
    fn a_packet_may_be_cut_or_padded() {
        let mut bytes = hex(PACKET);
        bytes.extend([0; 13]);
        assert_eq!(headers(&bytes, false), Some((RAW, 46)));
        assert_eq!(headers(&bytes[..30], false), Some((RAW, 33)));
    }

    #[test]
    fn payloads_are_no_packets_unless_a_tool_says_so() {
        assert_eq!(headers(&hex("d5f60001a59c4384f146df0801"), true), None);
        let mut strange = hex(PACKET);
        strange[10] ^= 1;
        assert_eq!(headers(&strange, false), None);
        assert_eq!(headers(&strange, true), Some((RAW, 33)));
        assert_eq!(headers(&[], true), None);
        assert_eq!(headers(&[0x45; 19], true), None);
    }

    #[test]
    fn other_frames_are_frames() {
        let arp = hex("ffffffffffff 02005e005310 0806 0001 0800 06 04 0001");
        assert_eq!(headers(&arp, false), Some((ETHERNET, arp.len() as u32)));
    }
}
