//! The layers around a datagram for people: frame, link, IP, UDP.
//!
//! A datagram may be reported long after its frame is gone. So the facts shown about a frame's headers, but no bytes,
//! are kept when the frame is read, for a bounded number of frames.

use super::Place;
use crate::bounded::ByFrame;
use crate::capture::{self, Frame, Time, link_name};
use crate::filter::FrameFacts;
use crate::net::{self, Datagram, DropReason};
use crate::text::escape::escaped;
use crate::text::timestamps::stamp;
use std::fmt::Write;
use std::net::IpAddr;
use std::rc::Rc;

/// Maximum number of frames whose headers are remembered. It is much greater than the number of pending datagrams,
/// because frames of other datagrams pass in the meantime.
pub const MAX_FRAME_HEADERS: usize = 16_384;
/// LINKTYPE_ETHERNET.
const ETHERNET: u16 = 1;
/// The indentation of a level of the tree.
pub(super) const INDENT: &str = "    ";

/// The lines of a layer: its summary, then its details.
pub(super) type Layer = Vec<String>;

/// The headers of a frame.
#[derive(Debug)]
pub(super) struct FrameHeader {
    facts: FrameFacts,
    link: u16,
    interface: Option<Rc<str>>,
    outer_ip: Option<OuterIp>,
}

/// The parts of the outermost IP header that are not in [`FrameFacts`].
#[derive(Debug)]
struct OuterIp {
    src: IpAddr,
    dst: IpAddr,
    /// IPv4: the checksum, and whether it is correct.
    checksum: Option<(u16, bool)>,
}

/// Headers of the latest frames that may contain a datagram, by frame number.
#[derive(Debug, Default)]
pub(super) struct FrameHeaders {
    by_frame: ByFrame<FrameHeader>,
    /// Names of the file's interfaces, escaped.
    interface_names: Vec<Option<Rc<str>>>,
}

impl FrameHeaders {
    /// Begins a file.
    pub fn begin_file(&mut self, facts: &capture::CaptureInfo) {
        let name = |i: &capture::Interface| i.name.as_deref().map(|name| Rc::from(escaped(name)));
        self.interface_names = facts.interfaces.iter().map(name).collect();
    }

    /// Remembers the headers of a frame.
    pub fn remember(&mut self, frame: &Frame<'_>, parsed: &Result<Datagram<'_>, DropReason>) {
        if !DropReason::may_hold_datagram(parsed) {
            return;
        }
        if self.by_frame.len() >= MAX_FRAME_HEADERS {
            self.by_frame.pop();
        }
        let interface = self.interface_names.get(frame.interface as usize).cloned().flatten();
        let outer_ip = net::ip_packet(frame).and_then(outer_ip);
        let header = FrameHeader { facts: FrameFacts::of(frame), link: frame.link, interface, outer_ip };
        self.by_frame.push(frame.number, header);
    }

    /// The headers of a frame with this number in the run; `None` if they are forgotten.
    pub fn find(&self, frame: u64) -> Option<&FrameHeader> {
        self.by_frame.get(frame)
    }
}

fn outer_ip(packet: &[u8]) -> Option<OuterIp> {
    match packet.first()? >> 4 {
        4 => {
            let (fixed_header, options_and_payload) = packet.split_first_chunk::<20>()?;
            let [first, .., c0, c1, s0, s1, s2, s3, d0, d1, d2, d3] = *fixed_header;
            let options =
                options_and_payload.get(..usize::from(first & 0xf).saturating_mul(4).saturating_sub(20));
            let checksum = options.map(|o| {
                (u16::from_be_bytes([c0, c1]), has_valid_checksum(&[fixed_header.as_slice(), o].concat()))
            });
            Some(OuterIp { src: [s0, s1, s2, s3].into(), dst: [d0, d1, d2, d3].into(), checksum })
        }
        6 => {
            let (src, rest) = packet.get(8..)?.split_first_chunk::<16>()?;
            Some(OuterIp { src: (*src).into(), dst: (*rest.first_chunk::<16>()?).into(), checksum: None })
        }
        _ => None,
    }
}

/// Whether the checksum of an IPv4 header is correct: the words must add up to 0xffff (RFC 791, section 3.1).
fn has_valid_checksum(header: &[u8]) -> bool {
    let words = header.as_chunks::<2>().0.iter().map(|w| u32::from(u16::from_be_bytes(*w)));
    let sum: u32 = words.sum(); // at most 30 words
    let folded = (sum & 0xffff) + (sum >> 16);
    (folded & 0xffff) + (folded >> 16) == 0xffff
}

/// The frame layer. Without remembered headers, it has only the facts of the datagram.
pub(super) fn frame(header: Option<&FrameHeader>, d: &Datagram<'_>, place: Place, first: Time) -> Layer {
    let time = match stamp(d.time) {
        unknown if unknown.is_empty() => "Time: unknown".to_owned(),
        time => format!("Time: {time}"),
    };
    let since = d.time.since(first).map(|ns| {
        let (sign, us) = (if ns < 0 { "-" } else { "" }, ns.unsigned_abs() / 1000);
        format!("[Time since the first frame: {sign}{}.{:06} s]", us / 1_000_000, us % 1_000_000)
    });
    let number = place.frame;
    let Some(header) = header else {
        let forgotten = "[The headers of this frame are no longer remembered]".to_owned();
        let lines = [Some(format!("Frame {number}")), Some(time), since, Some(forgotten)];
        return lines.into_iter().flatten().collect();
    };
    let FrameFacts { wire_len, cap_len, interface, .. } = header.facts;
    let mut summary =
        format!("Frame {number}: {wire_len} bytes on wire, {cap_len} captured, interface {interface}");
    if let Some(name) = &header.interface {
        let _ = write!(summary, " ({name})");
    }
    let link = format!("Link type: {} ({})", link_name(header.link), header.link);
    [Some(summary), Some(time), since, Some(link)].into_iter().flatten().collect()
}

/// The link header and its VLAN tags.
pub(super) fn link(header: &FrameHeader) -> Vec<Layer> {
    let mut out = vec![];
    if let Some(e) = header.facts.ethernet {
        let summary = format!("Ethernet, Src: {}, Dst: {}", mac(e.src), mac(e.dst));
        let kind = e.kind.map(|kind| format!("Type: {kind:#06x}"));
        out.push([Some(summary), kind].into_iter().flatten().collect());
    } else if header.link != ETHERNET {
        out.push(vec![format!("Link: {}", link_name(header.link))]);
    }
    out.extend(header.facts.vlans.iter().map(|id| vec![format!("802.1Q Virtual LAN, ID: {id}")]));
    out
}

fn mac(address: [u8; 6]) -> String {
    address.map(|b| format!("{b:02x}")).join(":")
}

/// The outermost IP header of the frame.
pub(super) fn ip(header: &FrameHeader) -> Option<Layer> {
    let (ip, outer_ip) = (header.facts.ip?, header.outer_ip.as_ref()?);
    let summary =
        format!("Internet Protocol Version {}, Src: {}, Dst: {}", ip.version, outer_ip.src, outer_ip.dst);
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
    layer.extend(outer_ip.checksum.map(|(checksum, is_valid)| {
        let validity = if is_valid { "correct" } else { "incorrect" };
        format!("Header Checksum: {checksum:#06x} [{validity}]")
    }));
    Some(layer)
}

/// An IP protocol number, with its name if the protocol can carry query traffic.
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

/// The innermost IP header of a datagram from a tunnel. Only its addresses are known.
pub(super) fn inner_ip(d: &Datagram<'_>) -> Layer {
    let (src, dst) = (d.src.ip(), d.dst.ip());
    let version = if d.src.octets().is_some() { 4 } else { 6 };
    vec![format!("Internet Protocol Version {version}, Src: {src}, Dst: {dst}")]
}

/// The UDP header.
pub(super) fn udp(d: &Datagram<'_>) -> Layer {
    let summary = format!("User Datagram Protocol, Src Port: {}, Dst Port: {}", d.src.port(), d.dst.port());
    let checksum = match (d.checksum, d.checksum_holds()) {
        (0, _) => "Checksum: none [the sender made none]".to_owned(),
        (checksum, Some(true)) => format!("Checksum: {checksum:#06x} [correct]"),
        (checksum, Some(false)) => format!("Checksum: {checksum:#06x} [incorrect]"),
        (checksum, None) => format!("Checksum: {checksum:#06x} [unverified]"),
    };
    let (wire, cut) = (d.wire_len(), d.cut);
    let payload = match cut {
        0 => format!("UDP payload: {wire} bytes"),
        _ => format!("UDP payload: {wire} bytes, {} captured", d.payload.len()),
    };
    vec![summary, format!("Length: {}", wire.saturating_add(8)), checksum, payload]
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
    fn verifies_ipv4_checksums() {
        assert_eq!(outer_ip(&HEADER).and_then(|o| o.checksum), Some((0xb861, true)));
        let mut wrong = HEADER;
        wrong[8] = 0x3f;
        assert_eq!(outer_ip(&wrong).and_then(|o| o.checksum), Some((0xb861, false)));
        // The capture cut off the options, so the checksum cannot be verified.
        wrong[0] = 0x46;
        assert_eq!(outer_ip(&wrong).map(|o| o.checksum), Some(None));
    }

    #[test]
    fn forgets_the_oldest_frames_and_ignores_frames_without_datagrams() {
        let mut headers = FrameHeaders::default();
        let fragment = Err(DropReason::Fragment);
        headers.remember(&packet(1, &HEADER), &Err(DropReason::Tcp));
        assert!(headers.find(1).is_none());
        for number in 2..=MAX_FRAME_HEADERS as u64 + 2 {
            headers.remember(&packet(number, &HEADER), &fragment);
        }
        assert!(headers.find(2).is_none());
        assert!(headers.find(3).is_some() && headers.find(MAX_FRAME_HEADERS as u64 + 2).is_some());
    }
}
