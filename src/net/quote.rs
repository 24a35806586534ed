//! The datagram that an ICMP error quotes (RFC 792, RFC 4443): it was not delivered, and its beginning was sent
//! back.
//!
//! ```text
//! ICMP    type 3 or 11, ICMPv6 type 1 or 3 │ code │ checksum u16 │ unused u32 │ IP header │ UDP header │ …
//! ```

use super::Datagram;
use super::fragment_header::{self, Header};
use super::header::{self, UDP, V4_HEADER};
use super::ip_payload::IpPayload;
use crate::capture::Frame;

/// Bytes of an ICMP error before the packet it quotes.
const HEADER: usize = 8;

/// A quoted datagram, as far as it is quoted.
#[derive(Clone, Copy, Debug)]
pub struct Quote<'a> {
    /// The datagram, which did not reach its receiver; frame and time are those of the error. Bytes that are not quoted
    /// count as cut: RFC 792 requires none of the payload, but today's routers quote much more.
    pub datagram: Datagram<'a>,
    /// Meaning of the error, in the words of the RFCs.
    pub reason: &'static str,
    /// Its type and code.
    pub kind: [u8; 2],
}

/// The datagram that an ICMP message quotes, if it is an error and quotes a UDP datagram.
pub(super) fn of<'a>(icmp: &IpPayload<'a>) -> Option<Quote<'a>> {
    let (&[kind, code, ..], packet) = icmp.frame.bytes.split_first_chunk::<HEADER>()?;
    let frame = Frame { at: Datagram::NOT_IN_FILE, wire_len: u32::MAX, bytes: packet, ..icmp.frame };
    let (reason, quoted) = if icmp.is_v4() {
        (reason_v4(kind, code)?, v4(frame)?)
    } else {
        (reason_v6(kind, code)?, IpPayload::of(&frame, header::Packet::V6(packet)).ok()?)
    };
    let first = quoted.fragment.is_none_or(|Header { offset, .. }| offset == 0);
    let datagram = quoted.datagram(true).ok().filter(|_| first && quoted.protocol == UDP)?;
    Some(Quote { datagram, reason, kind: [kind, code] })
}

/// An IPv4 packet up to the end of the quote: some systems change the total length before they quote it.
fn v4(frame: Frame<'_>) -> Option<IpPayload<'_>> {
    let head: &[u8; V4_HEADER] = frame.bytes.first_chunk()?;
    let header = usize::from(head[0] & 0x0f).saturating_mul(4);
    let fits = head[0] >> 4 == 4 && header >= V4_HEADER;
    Some(IpPayload {
        frame: Frame { bytes: frame.bytes.get(header..).filter(|_| fits)?, ..frame },
        protocol: head[9],
        hosts: header::v4_hosts(head),
        ip_id: u16::from_be_bytes([head[4], head[5]]),
        ttl: head[8],
        fragment: fragment_header::v4(head),
    })
}

fn reason_v4(kind: u8, code: u8) -> Option<&'static str> {
    Some(match (kind, code) {
        (3, 0) => "net unreachable",
        (3, 1) => "host unreachable",
        (3, 2) => "protocol unreachable",
        (3, 3) => "port unreachable",
        (3, 4) => return None, // too long for a link: path discovery, and the sender tries again
        (3, 9 | 10 | 13) => "administratively prohibited",
        (3, _) => "destination unreachable",
        (11, _) => "time exceeded",
        _ => return None,
    })
}

fn reason_v6(kind: u8, code: u8) -> Option<&'static str> {
    Some(match (kind, code) {
        (1, 0) => "no route to destination",
        (1, 1) => "administratively prohibited",
        (1, 3) => "address unreachable",
        (1, 4) => "port unreachable",
        (1, _) => "destination unreachable",
        (3, _) => "time exceeded",
        _ => return None,
    })
}
