//! The datagram that an ICMP error quotes (RFC 792, RFC 4443): it came back, for nobody took it.
//!
//! ```text
//! ICMP    type 3 or 11, ICMPv6 type 1 or 3 │ code │ checksum u16 │ unused u32 │ IP header │ UDP header │ …
//! ```

use super::Endpoint;
use super::carried::Carried;
use super::fragment_header::Ends;
use super::ip::UDP;

/// Bytes of an ICMP error before the packet it quotes.
const HEADER: usize = 8;
const V6_HEADER: usize = 40;

/// A quoted datagram, as far as it is quoted.
#[derive(Clone, Copy, Debug)]
pub struct Quote<'a> {
    /// Who sent it.
    pub src: Endpoint,
    /// Where it did not arrive.
    pub dst: Endpoint,
    /// The beginning of its UDP payload: RFC 792 promises none of it, routers of today much more.
    pub payload: &'a [u8],
    /// Length of the whole payload in bytes, by its UDP header.
    pub wire_len: usize,
    /// What the error says, in the words of the RFCs.
    pub reason: &'static str,
}

/// The datagram that an ICMP message quotes, if it is an error and quotes a UDP datagram.
pub(super) fn of<'a>(icmp: &Carried<'a>) -> Option<Quote<'a>> {
    let (&[kind, code, ..], inner) = icmp.frame.bytes.split_first_chunk::<HEADER>()?;
    match icmp.ends {
        Ends::V4(..) => {
            let reason = reason_v4(kind, code)?;
            let address = |at: usize| inner.get(at..)?.first_chunk::<4>().copied();
            let (src, dst) = (address(12)?, address(16)?);
            let ends = (|port| Endpoint::v4(src, port), |port| Endpoint::v4(dst, port));
            udp(v4_inside(inner)?, ends.0, ends.1, reason)
        }
        Ends::V6(..) => {
            let reason = reason_v6(kind, code)?;
            let address = |at: usize| inner.get(at..)?.first_chunk::<16>().copied();
            let (src, dst) = (address(8)?, address(24)?);
            let ends = (|port| Endpoint::v6(src, port), |port| Endpoint::v6(dst, port));
            udp(v6_inside(inner)?, ends.0, ends.1, reason)
        }
    }
}

/// The UDP segment of an IPv4 packet, unless it is a later fragment.
fn v4_inside(packet: &[u8]) -> Option<&[u8]> {
    let head = packet.first_chunk::<20>()?;
    let header = usize::from(head[0] & 0x0f).saturating_mul(4);
    let first = u16::from_be_bytes([head[6], head[7]]) & 0x1fff == 0;
    let fits = head[0] >> 4 == 4 && header >= 20 && head[9] == UDP && first;
    packet.get(header..).filter(|_| fits)
}

/// The UDP segment of an IPv6 packet without extension headers.
fn v6_inside(packet: &[u8]) -> Option<&[u8]> {
    let fits = packet.first()? >> 4 == 6 && *packet.get(6)? == UDP;
    packet.get(V6_HEADER..).filter(|_| fits)
}

fn udp<'a>(
    segment: &'a [u8],
    src: impl Fn(u16) -> Endpoint,
    dst: impl Fn(u16) -> Endpoint,
    reason: &'static str,
) -> Option<Quote<'a>> {
    let (head, rest) = segment.split_first_chunk::<8>()?;
    let [a, b, c, d, e, f, _, _] = *head;
    let wire_len = usize::from(u16::from_be_bytes([e, f])).checked_sub(8)?;
    let payload = rest.get(..wire_len).unwrap_or(rest);
    Some(Quote {
        src: src(u16::from_be_bytes([a, b])),
        dst: dst(u16::from_be_bytes([c, d])),
        payload,
        wire_len,
        reason,
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
