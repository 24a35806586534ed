//! The datagram that an ICMP error quotes (RFC 792, RFC 4443): it was not delivered, and its beginning was sent
//! back.
//!
//! ```text
//! ICMP    type 3 or 11, ICMPv6 type 1 or 3 │ code │ checksum u16 │ unused u32 │ IP header │ UDP header │ …
//! ```

use super::fragment_header::Addresses;
use super::header::{UDP, V4_HEADER};
use super::ip_payload::IpPayload;
use super::{Endpoint, UDP_HEADER, header};

/// Bytes of an ICMP error before the packet it quotes.
const HEADER: usize = 8;

/// A quoted datagram, as far as it is quoted.
#[derive(Clone, Copy, Debug)]
pub struct Quote<'a> {
    /// Sender.
    pub src: Endpoint,
    /// Receiver, which it did not reach.
    pub dst: Endpoint,
    /// The beginning of its UDP payload: RFC 792 promises none of it, but today's routers quote much more.
    pub payload: &'a [u8],
    /// Length of the whole payload in bytes, by its UDP header.
    pub wire_len: usize,
    /// Meaning of the error, in the words of the RFCs.
    pub reason: &'static str,
}

/// The datagram that an ICMP message quotes, if it is an error and quotes a UDP datagram.
pub(super) fn of<'a>(icmp: &IpPayload<'a>) -> Option<Quote<'a>> {
    let (&[kind, code, ..], packet) = icmp.frame.bytes.split_first_chunk::<HEADER>()?;
    let (reason, addresses, segment) = match icmp.addresses {
        Addresses::V4(..) => {
            let head = packet.first_chunk()?;
            let (src, dst) = header::v4_addresses(head);
            (reason_v4(kind, code)?, Addresses::V4(src, dst), v4_segment(head, packet)?)
        }
        Addresses::V6(..) => {
            // Extension headers are not followed.
            let (head, segment) = packet.split_first_chunk()?;
            let (src, dst) = header::v6_addresses(head);
            let fits = head[0] >> 4 == 6 && head[6] == UDP;
            (reason_v6(kind, code)?, Addresses::V6(src, dst), fits.then_some(segment)?)
        }
    };
    let (&[a, b, c, d, e, f, _, _], rest) = segment.split_first_chunk::<UDP_HEADER>()?;
    let (src, dst) = addresses.endpoints(u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
    let wire_len = usize::from(u16::from_be_bytes([e, f])).checked_sub(UDP_HEADER)?;
    Some(Quote { src, dst, payload: rest.get(..wire_len).unwrap_or(rest), wire_len, reason })
}

/// The UDP segment of an IPv4 packet, unless it is a later fragment.
fn v4_segment<'a>(head: &[u8; V4_HEADER], packet: &'a [u8]) -> Option<&'a [u8]> {
    let header = usize::from(head[0] & 0x0f).saturating_mul(4);
    let first = u16::from_be_bytes([head[6], head[7]]) & 0x1fff == 0;
    let fits = head[0] >> 4 == 4 && header >= V4_HEADER && head[9] == UDP && first;
    packet.get(header..).filter(|_| fits)
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
