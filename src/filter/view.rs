//! The input of a filter: a borrowed view of all facts about a packet or an exchange.

use super::pick::Pick;
use crate::capture::{Frame, Time};
use crate::check::{Finding, Packet};
use crate::decode::Facts;
use crate::exchange::{Answer, Exchange, Outcome, Pairing};
use crate::net::{self, Datagram, Endpoint, ethertype, link};
use crate::protocols::{Direction, Id, Level};
use arrayvec::ArrayVec;
use etherparse::Ethernet2HeaderSlice;
use std::sync::Arc;

/// The known parts of a packet or an exchange. A part that is `None` or empty is absent, and tests of it fail.
#[derive(Clone, Copy, Debug, Default)]
pub struct View<'a> {
    /// The facts about the frame.
    pub facts: Option<&'a FrameFacts>,
    /// The captured bytes of the frame, where the filter [needs](super::Needs::BYTES) them.
    pub bytes: &'a [u8],
    /// The comments on the frame.
    pub comments: &'a [Box<str>],
    /// Source and destination; for an exchange, client and server.
    pub endpoints: Option<[Endpoint; 2]>,
    /// The datagram.
    pub datagram: Option<&'a Datagram<'a>>,
    /// The protocol that claims the datagram, if any.
    pub protocol: Option<Id>,
    /// Name of the message.
    pub message: Option<&'static str>,
    /// Direction of the message.
    pub direction: Option<Direction>,
    /// Confidence of the recognition.
    pub confidence: Option<Level>,
    /// Findings, that is, broken rules.
    pub findings: &'a [Finding],
    /// Number of the exchange.
    pub exchange: Option<u64>,
    /// Outcome of the exchange. Known for an answer and for a closed exchange, and for a request only once its exchange
    /// has closed.
    pub outcome: Option<Outcome>,
    /// The exchange, where the view is of one that has closed.
    pub closed: Option<&'a Exchange>,
    /// Nanoseconds from request to answer.
    pub response_time: Option<i64>,
    /// The datagram repeats a request.
    pub retransmission: bool,
    /// The datagram is a copy of an answer.
    pub duplicate: bool,
    /// Facts that the message states about its server.
    pub server_facts: Option<&'a Facts<'a>>,
    /// Name of the file.
    pub file: Option<&'a str>,
    /// Values of the declared fields that the filter names.
    pub picked: Option<&'a Pick>,
}

impl<'a> View<'a> {
    /// The view of a datagram that no protocol claims, or that has not been classified yet.
    pub fn of_datagram(datagram: &'a Datagram<'a>) -> View<'a> {
        View { endpoints: Some([datagram.src, datagram.dst]), datagram: Some(datagram), ..View::default() }
    }

    /// The view of a reported packet, without facts, bytes and declared fields.
    pub fn of_packet(packet: &Packet<'a>) -> View<'a> {
        let answer = match packet.pairing {
            Pairing::Answered(answer) => Some(answer),
            _ => None,
        };
        let outcome = |answer: &Answer| if answer.late { Outcome::Late } else { Outcome::Answered };
        View {
            protocol: Some(packet.id),
            message: Some(packet.message_name()),
            direction: Some(packet.direction),
            confidence: Some(packet.level),
            findings: packet.findings,
            exchange: packet.pairing.exchange(),
            outcome: answer.map(outcome),
            response_time: answer.and_then(|answer| answer.response_time),
            retransmission: matches!(packet.pairing, Pairing::Retransmission { part: false, .. }),
            duplicate: matches!(packet.pairing, Pairing::DuplicateResponse { .. }),
            server_facts: packet.decoded.facts(),
            ..View::of_datagram(packet.datagram)
        }
    }

    /// The findings, without remarks already made about the same server.
    pub(super) fn new_findings(&self) -> impl Iterator<Item = &'a Finding> {
        self.findings.iter().filter(|f| !f.repeated)
    }

    /// Capture time of the frame.
    pub(super) fn time(&self) -> Option<Time> {
        self.facts.map(|facts| facts.time).or(self.datagram.map(|datagram| datagram.time))
    }

    /// Client and server, if known. The direction of a packet tells them apart; an exchange stores them in this order.
    pub(super) fn roles(&self) -> Option<[Endpoint; 2]> {
        let exchange_direction =
            (self.datagram.is_none() && self.exchange.is_some()).then_some(Direction::C2s);
        Some(self.direction.or(exchange_direction)?.order(self.endpoints?))
    }

    /// The view of a closed exchange, which has no frame, length or payload.
    pub fn of_exchange(exchange: &'a Exchange, findings: &'a [Finding]) -> View<'a> {
        View {
            endpoints: Some([exchange.client, exchange.server]),
            protocol: Some(exchange.protocol),
            confidence: Some(exchange.level),
            findings,
            exchange: Some(exchange.id),
            outcome: Some(exchange.outcome),
            closed: Some(exchange),
            response_time: exchange.response_time,
            retransmission: exchange.retransmissions > 0,
            ..View::default()
        }
    }
}

/// Maximum number of VLAN tags kept per frame; real frames have at most two.
pub const MAX_TAGS: usize = 8;

/// Ethertypes of the tags that Wireshark shows as `vlan`. It shows the outer tag of a provider bridge as another field.
const TAGS: [u16; 2] = [ethertype::VLAN, ethertype::QINQ_OLD];
/// The smallest ethertype; smaller values are lengths (IEEE 802.3).
const MIN_TYPE: u16 = 1536;

/// Facts about a frame without its bytes. They are small, and collected only if a filter [needs](super::Needs::FACTS)
/// them.
#[derive(Clone, Debug, Default)]
pub struct FrameFacts {
    /// Frame number, counted from 1 in each file.
    pub number: u64,
    /// Capture time.
    pub time: Time,
    /// Length on the wire in bytes.
    pub wire_len: u32,
    /// Captured length in bytes.
    pub cap_len: u32,
    /// Number of the interface; 0 in pcap.
    pub interface: u32,
    /// The Ethernet header, if the frame begins with one.
    pub ethernet: Option<Ethernet>,
    /// VLAN identifiers of 12 bits each, the outermost first.
    pub vlans: ArrayVec<u16, MAX_TAGS>,
    /// The outermost IP header, as far as it was captured.
    pub ip: Option<Ip>,
    /// Time stamp of the first frame of the file.
    pub first: Time,
    /// Time stamp of the previous frame.
    pub before: Time,
    /// Name of the interface, if the capture gives one.
    pub interface_name: Option<Arc<str>>,
    /// The UDP conversation.
    pub stream: Option<Stream>,
}

/// The UDP conversation of a frame, as Wireshark counts it: both directions between two endpoints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stream {
    /// Its number, counted from 0 in each file.
    pub number: u32,
    /// Time stamp of its first datagram.
    pub first: Time,
    /// Time stamp of the datagram before this one; of this one, if it is the first.
    pub before: Time,
}

/// An Ethernet header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ethernet {
    /// Receiver.
    pub dst: [u8; 6],
    /// Sender.
    pub src: [u8; 6],
    /// Ethertype; `None` if the field is a length.
    pub kind: Option<u16>,
}

/// Fields of an IP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ip {
    /// 4 or 6.
    pub version: u8,
    /// Total length (4) or payload length (6) in bytes.
    pub len: u16,
    /// Identification; 0 in IPv6.
    pub id: u16,
    /// Time to live or hop limit.
    pub ttl: u8,
    /// Protocol or next header.
    pub proto: u8,
}

impl FrameFacts {
    /// Collects the facts from the headers of a frame.
    #[cold]
    #[inline(never)]
    pub fn of(frame: &Frame<'_>) -> FrameFacts {
        let mut facts = FrameFacts {
            number: frame.number,
            time: frame.time,
            wire_len: frame.wire_len,
            cap_len: u32::try_from(frame.bytes.len()).unwrap_or(u32::MAX),
            interface: frame.interface,
            ip: net::ip_packet(frame).and_then(ip),
            ..FrameFacts::default()
        };
        let Some(frame) = net::innermost_frame(frame) else { return facts };
        let header = Ethernet2HeaderSlice::from_slice(frame.bytes);
        facts.ethernet = header.ok().filter(|_| frame.link == link::ETHERNET).map(|header| {
            let kind = Some(header.ether_type().0).filter(|kind| *kind >= MIN_TYPE);
            Ethernet { dst: header.destination(), src: header.source(), kind }
        });
        // Length of the link header, and offset of the ethertype in it.
        let (length, at) = match frame.link {
            link::ETHERNET => (14, 12),
            link::SLL => (16, 14),
            link::SLL2 => (20, 0),
            _ => return facts,
        };
        if let Some((header, rest)) = frame.bytes.split_at_checked(length)
            && let Some(kind) = header.get(at..).and_then(<[u8]>::first_chunk)
        {
            facts.tags(u16::from_be_bytes(*kind), rest);
        }
        facts
    }

    /// Wireshark's names of the layers of a frame with a UDP datagram; `query` is the protocol of the payload.
    pub(super) fn protocols(&self, query: Option<&str>) -> String {
        let mut names = vec![];
        if let Some(ethernet) = self.ethernet {
            names.extend(["eth"].into_iter().chain(ethernet.kind.map(|_| "ethertype")));
        }
        self.vlans.iter().for_each(|_| names.extend(["vlan", "ethertype"]));
        names.extend(self.ip.map(|ip| if ip.version == 4 { "ip" } else { "ipv6" }));
        names.extend(["udp", query.unwrap_or("data")]);
        names.join(":")
    }

    fn tags(&mut self, mut kind: u16, mut rest: &[u8]) {
        while TAGS.contains(&kind) || kind == ethertype::QINQ {
            let Some(([c0, c1, t0, t1], inner)) = rest.split_first_chunk::<4>() else { return };
            if kind != ethertype::QINQ
                && self.vlans.try_push(u16::from_be_bytes([*c0, *c1]) & 0x0fff).is_err()
            {
                return;
            }
            (kind, rest) = (u16::from_be_bytes([*t0, *t1]), inner);
        }
    }
}

fn ip(packet: &[u8]) -> Option<Ip> {
    match *packet.first()? >> 4 {
        4 => {
            let [_, _, l0, l1, i0, i1, _, _, ttl, proto] = *packet.first_chunk()?;
            let (len, id) = (u16::from_be_bytes([l0, l1]), u16::from_be_bytes([i0, i1]));
            Some(Ip { version: 4, len, id, ttl, proto })
        }
        6 => {
            let [_, _, _, _, l0, l1, proto, ttl] = *packet.first_chunk()?;
            Some(Ip { version: 6, len: u16::from_be_bytes([l0, l1]), id: 0, ttl, proto })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignores_tags_beyond_the_eighth() {
        let tagged = |tags: u8| {
            let mut bytes = vec![0; 12];
            (1..=tags).for_each(|n| bytes.extend([0x81, 0, 0, n]));
            bytes.extend([0x08, 0]);
            vlans(link::ETHERNET, &bytes)
        };
        assert!(tagged(8).into_iter().eq(1..=8));
        assert!(tagged(9).into_iter().eq(1..=8));
        assert!(tagged(0).is_empty());
    }

    #[test]
    fn reads_tags_of_cooked_captures() {
        let tag = [0, 7, 0x08, 0];
        assert_eq!(vlans(link::SLL, &[&[0; 14][..], &[0x81, 0], &tag].concat())[..], [7]);
        assert_eq!(vlans(link::SLL2, &[&[0x81, 0][..], &[0; 18], &tag].concat())[..], [7]);
    }

    fn vlans(link: u16, bytes: &[u8]) -> ArrayVec<u16, MAX_TAGS> {
        let (number, time, interface, at, wire_len) = (1, Time::UNKNOWN, 0, 0, 60);
        FrameFacts::of(&Frame { number, time, link, interface, at, wire_len, bytes }).vlans
    }
}
