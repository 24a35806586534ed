//! The layers around a datagram, for people: frame, link, IP, UDP.
//!
//! A datagram may be reported long after its frame has gone. What is shown of a frame's headers is therefore kept when the
//! frame is read: small facts, not bytes, of a bounded number of frames.

use super::Place;
use crate::by_frame::ByFrame;
use crate::capture::{self, Frame, Time, link_name};
use crate::escape::shown;
use crate::filter::FrameFacts;
use crate::net::{self, Datagram, DropReason};
use crate::timestamps::stamp;
use std::fmt::Write;
use std::net::IpAddr;
use std::rc::Rc;

/// Most frames whose headers are remembered: many more than the datagrams that may wait to be reported, for the frames of
/// other datagrams pass meanwhile.
pub const MAX_HEADS: usize = 16_384;
/// LINKTYPE_ETHERNET.
const ETHERNET: u16 = 1;
/// The indentation of a level of the tree.
pub(super) const INDENT: &str = "    ";

/// The lines of a layer: its summary, then its details.
pub(super) type Layer = Vec<String>;

/// What is kept of a frame.
#[derive(Debug)]
pub(super) struct Head {
    facts: FrameFacts,
    link: u16,
    interface: Option<Rc<str>>,
    outer: Option<Outer>,
}

/// The outermost IP header, without what [`FrameFacts`] hold of it.
#[derive(Debug)]
struct Outer {
    src: IpAddr,
    dst: IpAddr,
    /// IPv4: the checksum, and whether it is right.
    sum: Option<(u16, bool)>,
}

/// Headers of the latest frames that may hold a datagram, by number.
#[derive(Debug, Default)]
pub(super) struct Heads {
    heads: ByFrame<Head>,
    /// Names of the file's interfaces, escaped.
    names: Vec<Option<Rc<str>>>,
}

impl Heads {
    /// A file begins.
    pub fn file(&mut self, facts: &capture::CaptureInfo) {
        let name = |i: &capture::Interface| i.name.as_deref().map(|name| Rc::from(shown(name)));
        self.names = facts.interfaces.iter().map(name).collect();
    }

    /// Remembers a frame.
    pub fn see(&mut self, frame: &Frame<'_>, parsed: &Result<Datagram<'_>, DropReason>) {
        if !DropReason::may_hold_datagram(parsed) {
            return;
        }
        if self.heads.len() >= MAX_HEADS {
            self.heads.pop();
        }
        let interface = self.names.get(frame.interface as usize).cloned().flatten();
        let outer = net::ip_packet(frame).and_then(outer);
        let head = Head { facts: FrameFacts::of(frame), link: frame.link, interface, outer };
        self.heads.push(frame.number, head);
    }

    /// A frame by its number in the run; `None` where it is forgotten.
    pub fn find(&self, frame: u64) -> Option<&Head> {
        self.heads.get(frame)
    }
}

fn outer(packet: &[u8]) -> Option<Outer> {
    match packet.first()? >> 4 {
        4 => {
            let (head, rest) = packet.split_first_chunk::<20>()?;
            let [first, .., c0, c1, s0, s1, s2, s3, d0, d1, d2, d3] = *head;
            let options = rest.get(..usize::from(first & 0xf).saturating_mul(4).saturating_sub(20));
            let sum =
                options.map(|o| (u16::from_be_bytes([c0, c1]), adds_up(&[head.as_slice(), o].concat())));
            Some(Outer { src: [s0, s1, s2, s3].into(), dst: [d0, d1, d2, d3].into(), sum })
        }
        6 => {
            let (src, rest) = packet.get(8..)?.split_first_chunk::<16>()?;
            Some(Outer { src: (*src).into(), dst: (*rest.first_chunk::<16>()?).into(), sum: None })
        }
        _ => None,
    }
}

/// Whether the checksum of an IPv4 header is right: the words must add up to 0xffff (RFC 791, section 3.1).
fn adds_up(header: &[u8]) -> bool {
    let words = header.as_chunks::<2>().0.iter().map(|w| u32::from(u16::from_be_bytes(*w)));
    let sum: u32 = words.sum(); // at most 30 words
    let folded = (sum & 0xffff) + (sum >> 16);
    (folded & 0xffff) + (folded >> 16) == 0xffff
}

/// The frame, as far as it is remembered.
pub(super) fn frame(head: Option<&Head>, d: &Datagram<'_>, place: Place, first: Time) -> Layer {
    let time = match stamp(d.time) {
        unknown if unknown.is_empty() => "Time: unknown".to_owned(),
        time => format!("Time: {time}"),
    };
    let since = d.time.since(first).map(|ns| {
        let (sign, us) = (if ns < 0 { "-" } else { "" }, ns.unsigned_abs() / 1000);
        format!("[Time since the first frame: {sign}{}.{:06} s]", us / 1_000_000, us % 1_000_000)
    });
    let number = place.frame;
    let Some(head) = head else {
        let forgotten = "[The headers of this frame are no longer remembered]".to_owned();
        let lines = [Some(format!("Frame {number}")), Some(time), since, Some(forgotten)];
        return lines.into_iter().flatten().collect();
    };
    let FrameFacts { wire_len, cap_len, interface, .. } = head.facts;
    let mut summary =
        format!("Frame {number}: {wire_len} bytes on wire, {cap_len} captured, interface {interface}");
    if let Some(name) = &head.interface {
        let _ = write!(summary, " ({name})");
    }
    let link = format!("Link type: {} ({})", link_name(head.link), head.link);
    [Some(summary), Some(time), since, Some(link)].into_iter().flatten().collect()
}

/// The link header and its VLAN tags.
pub(super) fn link(head: &Head) -> Vec<Layer> {
    let mut out = vec![];
    if let Some(e) = head.facts.ethernet {
        let summary = format!("Ethernet, Src: {}, Dst: {}", mac(e.src), mac(e.dst));
        let kind = e.kind.map(|kind| format!("Type: {kind:#06x}"));
        out.push([Some(summary), kind].into_iter().flatten().collect());
    } else if head.link != ETHERNET {
        out.push(vec![format!("Link: {}", link_name(head.link))]);
    }
    out.extend(head.facts.vlans.iter().map(|id| vec![format!("802.1Q Virtual LAN, ID: {id}")]));
    out
}

fn mac(address: [u8; 6]) -> String {
    address.map(|b| format!("{b:02x}")).join(":")
}

/// The IP header of the frame, the outermost one.
pub(super) fn ip(head: &Head) -> Option<Layer> {
    let (ip, outer) = (head.facts.ip?, head.outer.as_ref()?);
    let summary = format!("Internet Protocol Version {}, Src: {}, Dst: {}", ip.version, outer.src, outer.dst);
    let mut layer = vec![summary];
    if ip.version == 6 {
        layer.extend([
            format!("Payload Length: {}", ip.len),
            format!("Next Header: {}", protocol(ip.proto)),
            format!("Hop Limit: {}", ip.ttl),
        ]);
        return Some(layer);
    }
    layer.extend([
        format!("Total Length: {}", ip.len),
        format!("Identification: {:#06x} ({})", ip.id, ip.id),
        format!("Time to Live: {}", ip.ttl),
        format!("Protocol: {}", protocol(ip.proto)),
    ]);
    layer.extend(outer.sum.map(|(sum, holds)| {
        let verdict = if holds { "correct" } else { "incorrect" };
        format!("Header Checksum: {sum:#06x} [{verdict}]")
    }));
    Some(layer)
}

/// Number of the protocol in an IP packet, with a name for protocols in which query traffic may lie.
fn protocol(number: u8) -> String {
    let name = match number {
        0 => "hop-by-hop options",
        4 => "IPv4",
        17 => "UDP",
        41 => "IPv6",
        43 => "routing",
        44 => "fragment",
        47 => "GRE",
        60 => "destination options",
        _ => return number.to_string(),
    };
    format!("{number} ({name})")
}

/// The innermost IP header of a datagram from a tunnel, of which only the addresses are known.
pub(super) fn inner_ip(d: &Datagram<'_>) -> Layer {
    let (src, dst) = (d.src.ip(), d.dst.ip());
    let version = if d.src.octets().is_some() { 4 } else { 6 };
    vec![format!("Internet Protocol Version {version}, Src: {src}, Dst: {dst}")]
}

/// The UDP header.
pub(super) fn udp(d: &Datagram<'_>) -> Layer {
    let summary = format!("User Datagram Protocol, Src Port: {}, Dst Port: {}", d.src.port(), d.dst.port());
    let sum = match (d.checksum, d.checksum_holds()) {
        (0, _) => "Checksum: none [the sender made none]".to_owned(),
        (sum, Some(true)) => format!("Checksum: {sum:#06x} [correct]"),
        (sum, Some(false)) => format!("Checksum: {sum:#06x} [incorrect]"),
        (sum, None) => format!("Checksum: {sum:#06x} [unverified]"),
    };
    let (wire, cut) = (d.wire_len(), d.cut);
    let payload = match cut {
        0 => format!("UDP payload: {wire} bytes"),
        _ => format!("UDP payload: {wire} bytes, {} captured", d.payload.len()),
    };
    vec![summary, format!("Length: {}", wire.saturating_add(8)), sum, payload]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(number: u64, bytes: &[u8]) -> Frame<'_> {
        let wire_len = bytes.len() as u32;
        Frame { number, time: Time::UNKNOWN, link: 101, interface: 0, at: 0, wire_len, bytes }
    }

    /// The IPv4 header that textbooks use as an example: its checksum is b861.
    const HEADER: [u8; 20] =
        [0x45, 0, 0, 0x73, 0, 0, 0x40, 0, 0x40, 0x11, 0xb8, 0x61, 0xc0, 0xa8, 0, 1, 0xc0, 0xa8, 0, 0xc7];

    #[test]
    fn an_ipv4_checksum_holds_or_does_not() {
        assert_eq!(outer(&HEADER).and_then(|o| o.sum), Some((0xb861, true)));
        let mut wrong = HEADER;
        wrong[8] = 0x3f;
        assert_eq!(outer(&wrong).and_then(|o| o.sum), Some((0xb861, false)));
        // The capture cut off the options, so the checksum cannot be verified.
        wrong[0] = 0x46;
        assert_eq!(outer(&wrong).map(|o| o.sum), Some(None));
    }

    #[test]
    fn the_oldest_frames_are_forgotten_and_others_never_remembered() {
        let mut heads = Heads::default();
        let ok = Err(DropReason::Fragment);
        heads.see(&packet(1, &HEADER), &Err(DropReason::Tcp));
        assert!(heads.find(1).is_none());
        for number in 2..=MAX_HEADS as u64 + 2 {
            heads.see(&packet(number, &HEADER), &ok);
        }
        assert!(heads.find(2).is_none());
        assert!(heads.find(3).is_some() && heads.find(MAX_HEADS as u64 + 2).is_some());
    }
}
