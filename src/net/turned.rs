//! Why a frame holds no datagram for us, and how often.

/// Why a frame holds no datagram for us.
///
/// A frame has one reason: the first that the walk meets, and the walk looks at an IP header's protocol before
/// its lengths. So a damaged TCP segment counts as TCP, and [`Turned::Fragment`] counts what reassembly
/// could bring back, not the pieces of TCP segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Turned {
    /// The link type is none of those the walk knows.
    UnknownLink,
    /// The link header is damaged: the frame was shorter on the wire, or it has more tags than any real one.
    BadLink,
    /// Something else than IP: ARP, LLDP, spanning tree, another ethertype or address family.
    NotIp,
    /// MPLS labels, which are not followed.
    Mpls,
    /// A piece of a fragmented UDP datagram or tunnel's packet, the first one or a later one.
    Fragment,
    /// A GRE packet of another version or with something else inside than IP or Ethernet. Of [`peel`](super::peel):
    /// any packet that may hold another one.
    Tunnel,
    /// A user's packet in GTP-U version 1 (3GPP TS 29.281), a tunnel that is not followed.
    GtpU,
    /// IPv6 in Teredo (RFC 4380), a tunnel that is not followed.
    Teredo,
    /// A packet in more tunnels than are followed.
    TooDeep,
    /// TCP.
    Tcp,
    /// ICMP and ICMPv6, which may quote a datagram of ours.
    Icmp,
    /// Any other IP protocol.
    OtherProtocol,
    /// The IP header contradicts itself or the frame: version, header length, total length, extension headers.
    BadIp,
    /// The UDP length is below the 8 bytes of the UDP header (0 is) or beyond the IP payload.
    BadUdpLength,
    /// The snap length cut the frame before the end of the UDP header.
    HeadersCut,
}

impl Turned {
    /// Whether a datagram may be told of a frame, now or when it has been opened or put together.
    pub fn may_tell<D>(peeled: &Result<D, Turned>) -> bool {
        matches!(peeled, Ok(_) | Err(Turned::Tunnel | Turned::Fragment))
    }

    /// Every reason, in the order of the walk.
    pub const ALL: &[Turned] = &[
        Turned::UnknownLink,
        Turned::BadLink,
        Turned::NotIp,
        Turned::Mpls,
        Turned::Fragment,
        Turned::Tunnel,
        Turned::GtpU,
        Turned::Teredo,
        Turned::TooDeep,
        Turned::Tcp,
        Turned::Icmp,
        Turned::OtherProtocol,
        Turned::BadIp,
        Turned::BadUdpLength,
        Turned::HeadersCut,
    ];

    /// The key of this reason in records: stable, `snake_case`.
    pub const fn name(self) -> &'static str {
        match self {
            Turned::UnknownLink => "unknown_link_type",
            Turned::BadLink => "bad_link_header",
            Turned::NotIp => "not_ip",
            Turned::Mpls => "mpls",
            Turned::Fragment => "ip_fragment",
            Turned::Tunnel => "tunnel",
            Turned::GtpU => "gtp_u",
            Turned::Teredo => "teredo",
            Turned::TooDeep => "tunnels_too_deep",
            Turned::Tcp => "tcp",
            Turned::Icmp => "icmp",
            Turned::OtherProtocol => "other_ip_protocol",
            Turned::BadIp => "bad_ip_header",
            Turned::BadUdpLength => "bad_udp_length",
            Turned::HeadersCut => "headers_cut",
        }
    }

    /// What was turned away, for people: a plural that follows a number.
    pub const fn text(self) -> &'static str {
        match self {
            Turned::UnknownLink => "frames of link types that are not read",
            Turned::BadLink => "frames with damaged link headers",
            Turned::NotIp => "frames without IP",
            Turned::Mpls => "MPLS frames",
            Turned::Fragment => "IP fragments",
            Turned::Tunnel => "tunnelled packets of unknown kinds",
            Turned::GtpU => "packets in GTP-U",
            Turned::Teredo => "packets in Teredo",
            Turned::TooDeep => "packets in too many tunnels",
            Turned::Tcp => "TCP segments",
            Turned::Icmp => "ICMP messages",
            Turned::OtherProtocol => "packets of other IP protocols",
            Turned::BadIp => "packets with damaged IP headers",
            Turned::BadUdpLength => "UDP datagrams with wrong lengths",
            Turned::HeadersCut => "frames cut within their headers",
        }
    }
}

/// How many frames were turned away for each reason.
#[derive(Clone, Debug, Default)]
pub struct TurnedCounts {
    counts: [u64; Turned::ALL.len()],
}

impl TurnedCounts {
    /// Counts one frame.
    #[inline]
    pub fn add(&mut self, reason: Turned) {
        if let Some(count) = self.counts.get_mut(reason as usize) {
            *count = count.saturating_add(1);
        }
    }

    /// A frame has turned out to hold a datagram after all.
    pub fn take_back(&mut self, reason: Turned) {
        if let Some(count) = self.counts.get_mut(reason as usize) {
            *count = count.saturating_sub(1);
        }
    }

    /// Frames turned away for this reason.
    pub fn get(&self, reason: Turned) -> u64 {
        self.counts.get(reason as usize).copied().unwrap_or(0)
    }

    /// Frames turned away altogether.
    pub fn total(&self) -> u64 {
        self.counts.iter().fold(0, |sum, &count| sum.saturating_add(count))
    }

    /// The reasons that occurred and their counts, in the order of [`Turned::ALL`].
    pub fn iter(&self) -> impl Iterator<Item = (Turned, u64)> {
        Turned::ALL.iter().map(|&reason| (reason, self.get(reason))).filter(|&(_, count)| count > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn all_holds_every_reason_at_its_own_index() {
        for (index, &reason) in Turned::ALL.iter().enumerate() {
            assert_eq!(reason as usize, index, "{reason:?}");
        }
        assert_eq!(Turned::HeadersCut as usize + 1, Turned::ALL.len(), "HeadersCut is the last variant");
    }

    #[test]
    fn names_are_distinct_snake_case_and_texts_distinct() {
        let names: HashSet<_> = Turned::ALL.iter().map(|r| r.name()).collect();
        let texts: HashSet<_> = Turned::ALL.iter().map(|r| r.text()).collect();
        assert_eq!(names.len(), Turned::ALL.len());
        assert_eq!(texts.len(), Turned::ALL.len());
        for name in names {
            assert!(name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'), "{name}");
        }
    }

    #[test]
    fn counts_each_reason_for_itself() {
        let mut counts = TurnedCounts::default();
        assert_eq!(counts.iter().count(), 0);
        for _ in 0..3 {
            counts.add(Turned::Tcp);
        }
        counts.add(Turned::NotIp);
        assert_eq!(counts.get(Turned::Tcp), 3);
        assert_eq!(counts.get(Turned::Icmp), 0);
        assert_eq!(counts.total(), 4);
        assert_eq!(counts.iter().collect::<Vec<_>>(), [(Turned::NotIp, 1), (Turned::Tcp, 3)]);
    }
}
