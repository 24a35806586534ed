//! The reasons why a frame holds no datagram, and counts of them.

/// Why a frame holds no datagram that can be read.
///
/// A frame has one reason: the first that parsing meets. An IP header's protocol is checked before its lengths, so a
/// damaged TCP segment counts as TCP, and [`DropReason::Fragment`] counts fragments that reassembly could use, not
/// fragments of TCP segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DropReason {
    /// The link type is not read.
    UnknownLink,
    /// The link header is damaged: the frame was shorter on the wire, or it has more tags than any real one.
    BadLink,
    /// Not IP: ARP, LLDP, spanning tree, another ethertype or address family.
    NotIp,
    /// MPLS labels with something else behind them than IP or Ethernet.
    Mpls,
    /// A fragment of a UDP datagram or of a tunnel's packet, the first one or a later one.
    Fragment,
    /// A GRE packet of another version, or with contents other than IP or Ethernet. Where [`parse`](super::parse)
    /// gives this reason: any packet that may hold another packet, and any frame of a link type that holds whole frames.
    Tunnel,
    /// GTP-U version 1 (3GPP TS 29.281) with something else inside than IP, or with damaged extension headers.
    GtpU,
    /// IPv6 in Teredo (RFC 4380), a tunnel that is not followed.
    Teredo,
    /// A packet nested in more tunnels than are followed.
    TooDeep,
    /// TCP.
    Tcp,
    /// ICMP or ICMPv6; the message may quote a datagram.
    Icmp,
    /// Any other IP protocol.
    OtherProtocol,
    /// The IP header contradicts itself or the frame: version, header length, total length, extension headers.
    BadIp,
    /// The UDP length is below the 8 bytes of the UDP header (0 is) or beyond the IP payload.
    BadUdpLength,
    /// The snap length or a mirror port cut the frame before the end of the UDP header.
    HeadersCut,
}

impl DropReason {
    /// Whether a frame may hold a datagram, directly or after decapsulation or reassembly.
    pub fn may_hold_datagram<D>(parsed: &Result<D, DropReason>) -> bool {
        matches!(parsed, Ok(_) | Err(DropReason::Tunnel | DropReason::Fragment))
    }

    /// Whether the contents of a frame are unknown: it is damaged, cut, in a form that is not read, or a fragment whose
    /// other fragments are missing.
    pub const fn is_opaque(self) -> bool {
        use DropReason::{BadUdpLength, Icmp, NotIp, OtherProtocol, Tcp};
        !matches!(self, NotIp | Tcp | Icmp | OtherProtocol | BadUdpLength)
    }

    /// Every reason, in the order of parsing.
    pub fn all() -> impl Iterator<Item = DropReason> {
        REASONS.iter().map(|&(reason, ..)| reason)
    }

    /// The key of this reason in records: stable, `snake_case`.
    pub fn name(self) -> &'static str {
        self.name_and_text().0
    }

    /// The dropped frames or packets in words: a plural that follows a number.
    pub fn text(self) -> &'static str {
        self.name_and_text().1
    }

    fn name_and_text(self) -> (&'static str, &'static str) {
        let known = REASONS.iter().find(|(reason, ..)| *reason == self);
        known.map_or(("", ""), |&(_, name, text)| (name, text))
    }
}

/// Every reason in the order of parsing, its name, and its text.
const REASONS: [(DropReason, &str, &str); 15] = [
    (DropReason::UnknownLink, "unknown_link_type", "frames of link types that are not read"),
    (DropReason::BadLink, "bad_link_header", "frames with damaged link headers"),
    (DropReason::NotIp, "not_ip", "frames without IP"),
    (DropReason::Mpls, "mpls", "MPLS frames without IP"),
    (DropReason::Fragment, "ip_fragment", "IP fragments"),
    (DropReason::Tunnel, "tunnel", "tunnelled packets of unknown kinds"),
    (DropReason::GtpU, "gtp_u", "packets in GTP-U other than IP"),
    (DropReason::Teredo, "teredo", "packets in Teredo"),
    (DropReason::TooDeep, "tunnels_too_deep", "packets in too many tunnels"),
    (DropReason::Tcp, "tcp", "TCP segments"),
    (DropReason::Icmp, "icmp", "ICMP messages"),
    (DropReason::OtherProtocol, "other_ip_protocol", "packets of other IP protocols"),
    (DropReason::BadIp, "bad_ip_header", "packets with damaged IP headers"),
    (DropReason::BadUdpLength, "bad_udp_length", "UDP datagrams with wrong lengths"),
    (DropReason::HeadersCut, "headers_cut", "frames cut within their headers"),
];

/// How many frames were dropped for each reason.
#[derive(Clone, Debug, Default)]
pub struct DropCounts {
    counts: [u64; REASONS.len()],
}

impl DropCounts {
    /// Counts one frame.
    #[inline]
    pub fn add(&mut self, reason: DropReason) {
        if let Some(count) = self.counts.get_mut(reason as usize) {
            *count = count.saturating_add(1);
        }
    }

    /// Takes one count back, because the frame has turned out to hold a datagram.
    pub fn take_back(&mut self, reason: DropReason) {
        if let Some(count) = self.counts.get_mut(reason as usize) {
            *count = count.saturating_sub(1);
        }
    }

    /// Frames dropped for this reason.
    pub fn get(&self, reason: DropReason) -> u64 {
        self.counts.get(reason as usize).copied().unwrap_or(0)
    }

    /// Frames dropped altogether.
    pub fn total(&self) -> u64 {
        self.counts.iter().fold(0, |sum, &count| sum.saturating_add(count))
    }

    /// The reasons that occurred and their counts, in the order of [`DropReason::all`].
    pub fn iter(&self) -> impl Iterator<Item = (DropReason, u64)> {
        DropReason::all().map(|reason| (reason, self.get(reason))).filter(|&(_, count)| count > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn all_holds_every_reason_at_its_own_index() {
        for (index, reason) in DropReason::all().enumerate() {
            assert_eq!(reason as usize, index, "{reason:?}");
        }
        assert_eq!(DropReason::HeadersCut as usize + 1, REASONS.len(), "HeadersCut is the last variant");
    }

    #[test]
    fn names_are_distinct_snake_case_and_texts_distinct() {
        let names: HashSet<_> = DropReason::all().map(|r| r.name()).collect();
        let texts: HashSet<_> = DropReason::all().map(|r| r.text()).collect();
        assert_eq!(names.len(), REASONS.len());
        assert_eq!(texts.len(), REASONS.len());
        for name in names {
            assert!(name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'), "{name}");
        }
    }

    #[test]
    fn counts_each_reason_for_itself() {
        let mut counts = DropCounts::default();
        assert_eq!(counts.iter().count(), 0);
        for _ in 0..3 {
            counts.add(DropReason::Tcp);
        }
        counts.add(DropReason::NotIp);
        assert_eq!(counts.get(DropReason::Tcp), 3);
        assert_eq!(counts.get(DropReason::Icmp), 0);
        assert_eq!(counts.total(), 4);
        assert_eq!(counts.iter().collect::<Vec<_>>(), [(DropReason::NotIp, 1), (DropReason::Tcp, 3)]);
    }
}
