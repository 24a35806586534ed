//! Compares the parser with etherparse: frames that etherparse builds, and the same frames damaged.

use super::craft::{frame, hold};
use etherparse::{
    IpAuthHeader, IpFragOffset, IpHeaders, IpNumber, Ipv4Extensions, Ipv4Header, Ipv6Extensions,
    Ipv6FragmentHeader, Ipv6Header, Ipv6RawExtHeader, Ipv6RoutingExtensions, LaxNetSlice, LaxSlicedPacket,
    LinkExtSlice, LinuxSllPacketType, NetSlice, PacketBuilder, SlicedPacket, TransportSlice, VlanId,
};
use proptest::prelude::*;
use qdissect::net::{DropReason, parse};
use std::net::{IpAddr, SocketAddr};

const RAW: u16 = 101;
const ETHERNET: u16 = 1;
const SLL: u16 = 113;

/// A link header that etherparse can build.
#[derive(Clone, Copy, Debug)]
enum Link {
    Ethernet,
    Vlan,
    DoubleVlan,
    Sll,
    Raw,
}

/// The contents of the IP packet.
#[derive(Clone, Copy, Debug)]
enum Transport {
    Udp,
    Tcp,
    Other(u8),
}

/// The values that both parsers must find in a frame: source, destination, the payload's offset and the payload.
type Found = (SocketAddr, SocketAddr, usize, Vec<u8>);

fn links() -> impl Strategy<Value = Link> {
    prop::sample::select(vec![Link::Ethernet, Link::Vlan, Link::DoubleVlan, Link::Sll, Link::Raw])
}

fn transports() -> impl Strategy<Value = Transport> {
    // Without the extension headers that etherparse builds: it panics when their contents are not given.
    let others = vec![1, 2, 4, 41, 47, 50, 58, 59, 132, 135, 139, 140];
    prop_oneof![
        6 => Just(Transport::Udp),
        1 => Just(Transport::Tcp),
        1 => prop::sample::select(others).prop_map(Transport::Other),
    ]
}

/// IPv4 headers, some of them with options or an authentication header.
fn v4_headers() -> impl Strategy<Value = IpHeaders> {
    let options = prop_oneof![2 => Just(0_usize), 1 => 0_usize..=10];
    (any::<([u8; 4], [u8; 4], bool)>(), options, prop::option::weighted(0.2, auths())).prop_map(
        |((source, destination, dont_fragment), words, auth)| {
            let options = vec![1; words * 4].as_slice().try_into().unwrap();
            let header = Ipv4Header { source, destination, dont_fragment, options, ..Ipv4Header::default() };
            IpHeaders::Ipv4(header, Ipv4Extensions { auth })
        },
    )
}

fn auths() -> impl Strategy<Value = IpAuthHeader> {
    (0_usize..6).prop_map(|words| IpAuthHeader::new(IpNumber(0), 1, 2, &vec![3; words * 4]).unwrap())
}

fn raw_extensions() -> impl Strategy<Value = Ipv6RawExtHeader> {
    (0_usize..5).prop_map(|units| Ipv6RawExtHeader::new_raw(IpNumber(0), &vec![0; 6 + units * 8]).unwrap())
}

/// IPv6 headers, with some of the extension headers that etherparse can build.
fn v6_headers() -> impl Strategy<Value = IpHeaders> {
    let maybe = || prop::option::weighted(0.3, raw_extensions());
    let chain = (maybe(), maybe(), maybe(), maybe(), prop::option::weighted(0.2, auths()), any::<bool>());
    (any::<([u8; 16], [u8; 16])>(), chain).prop_map(|((source, destination), chain)| {
        let (hop_by_hop_options, destination_options, routing, last, auth, atomic) = chain;
        let fragment = atomic.then_some(Ipv6FragmentHeader {
            next_header: IpNumber(0),
            fragment_offset: IpFragOffset::ZERO,
            more_fragments: false,
            identification: 9,
        });
        let routing =
            routing.map(|routing| Ipv6RoutingExtensions { routing, final_destination_options: last });
        let extensions = Ipv6Extensions { hop_by_hop_options, destination_options, routing, fragment, auth };
        IpHeaders::Ipv6(Ipv6Header { source, destination, ..Ipv6Header::default() }, extensions)
    })
}

fn headers() -> impl Strategy<Value = IpHeaders> {
    prop_oneof![v4_headers(), v6_headers()]
}

/// The frame as etherparse builds it, and its link type.
fn build(link: Link, ip: IpHeaders, transport: Transport, payload: &[u8]) -> (u16, Vec<u8>) {
    let ethernet = || PacketBuilder::ethernet2([2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]);
    let vlan = |id| VlanId::try_new(id).unwrap();
    let (link, step) = match link {
        Link::Ethernet => (ETHERNET, ethernet().ip(ip)),
        Link::Vlan => (ETHERNET, ethernet().single_vlan(vlan(5)).ip(ip)),
        Link::DoubleVlan => (ETHERNET, ethernet().double_vlan(vlan(5), vlan(4000)).ip(ip)),
        Link::Sll => (SLL, PacketBuilder::linux_sll(LinuxSllPacketType::OUTGOING, 6, [2; 8]).ip(ip)),
        Link::Raw => (RAW, PacketBuilder::ip(ip)),
    };
    let mut bytes = vec![];
    match transport {
        Transport::Udp => step.udp(40_000, 7777).write(&mut bytes, payload).unwrap(),
        Transport::Tcp => step.tcp(40_000, 7777, 1, 2).write(&mut bytes, payload).unwrap(),
        Transport::Other(number) => step.write(&mut bytes, IpNumber(number), payload).unwrap(),
    }
    (link, bytes)
}

/// The result of `parse`.
fn ours(link: u16, bytes: &[u8]) -> Result<Found, DropReason> {
    let frame = frame(link, bytes);
    let datagram = parse(&frame)?;
    hold(&frame, &datagram);
    let offset = (datagram.at - frame.at) as usize;
    Ok((datagram.src.socket_addr(), datagram.dst.socket_addr(), offset, datagram.payload.to_vec()))
}

/// The layers as etherparse sees them; `None` where it reports an error.
fn strict(link: u16, bytes: &[u8]) -> Option<SlicedPacket<'_>> {
    match link {
        ETHERNET => SlicedPacket::from_ethernet(bytes).ok(),
        SLL => SlicedPacket::from_linux_sll(bytes).ok(),
        _ => SlicedPacket::from_ip(bytes).ok(),
    }
}

/// The result of etherparse; `None` unless it is a UDP segment whose length field agrees with etherparse.
fn theirs(sliced: &SlicedPacket<'_>, bytes: &[u8]) -> Option<Found> {
    let Some(TransportSlice::Udp(udp)) = &sliced.transport else { return None };
    if usize::from(udp.length()) != udp.slice().len() {
        return None;
    }
    let (src, dst): (IpAddr, IpAddr) = match sliced.net.as_ref()? {
        NetSlice::Ipv4(ip) => (ip.header().source_addr().into(), ip.header().destination_addr().into()),
        NetSlice::Ipv6(ip) => (ip.header().source_addr().into(), ip.header().destination_addr().into()),
        NetSlice::Arp(_) => return None,
    };
    let offset = udp.payload().as_ptr() as usize - bytes.as_ptr() as usize;
    let ends = ((src, udp.source_port()).into(), (dst, udp.destination_port()).into());
    Some((ends.0, ends.1, offset, udp.payload().to_vec()))
}

/// The reason for which `parse` drops, on purpose, a frame that etherparse reads.
fn only_theirs(sliced: &SlicedPacket<'_>) -> Option<DropReason> {
    // etherparse follows MACsec that is not encrypted; here it is not IP.
    if sliced.link_exts.iter().any(|ext| matches!(ext, LinkExtSlice::Macsec(_))) {
        return Some(DropReason::NotIp);
    }
    // With a payload length of zero before extension headers, the packet reaches to the end of the frame for
    // etherparse; here only before UDP.
    match &sliced.net {
        Some(NetSlice::Ipv6(ip)) if ip.header().payload_length() == 0 => Some(DropReason::BadIp),
        _ => None,
    }
}

/// Whether `parse` reads, on purpose, a frame that etherparse does not.
fn only_ours(link: u16, bytes: &[u8]) -> bool {
    let lax = match link {
        ETHERNET => LaxSlicedPacket::from_ethernet(bytes).ok(),
        _ => LaxSlicedPacket::from_ip(bytes).ok(),
    };
    match lax.and_then(|lax| lax.net) {
        // Packets with a total length of zero, from segmentation offload; packets that go on beyond the frame.
        Some(LaxNetSlice::Ipv4(ip)) => ip.header().total_len() == 0 || ip.payload().incomplete,
        // Mobility, HIP and SHIM6 headers.
        Some(LaxNetSlice::Ipv6(ip)) => {
            ip.payload().incomplete || matches!(ip.payload().ip_number.0, 135 | 139 | 140)
        }
        Some(LaxNetSlice::Arp(_)) => false,
        // LLC/SNAP, a tag of type 9200, more than three tags: etherparse stops before IP.
        None => link == ETHERNET,
    }
}

/// Damage to a frame: positions and new values, mostly values that have a meaning in headers.
fn damage() -> impl Strategy<Value = Vec<(prop::sample::Index, u8)>> {
    let notable = vec![
        0, 1, 4, 6, 8, 17, 20, 28, 41, 43, 44, 47, 51, 60, 135, 0x20, 0x40, 0x45, 0x46, 0x4f, 0x60, 0x81,
        0x86, 0x88, 0xa8, 0x91, 0x92, 0xdd, 0xe5, 0xff,
    ];
    let byte = prop_oneof![prop::sample::select(notable), any::<u8>()];
    prop::collection::vec((any::<prop::sample::Index>(), byte), 1..5)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn built_frames_are_read_alike(
        link in links(),
        ip in headers(),
        transport in transports(),
        payload in prop::collection::vec(any::<u8>(), 0..80),
        padding in 0_usize..20,
    ) {
        let (link, mut bytes) = build(link, ip, transport, &payload);
        bytes.resize(bytes.len() + padding, 0xee);
        match transport {
            Transport::Udp => {
                let expected = theirs(&strict(link, &bytes).unwrap(), &bytes);
                prop_assert_eq!(&expected.as_ref().unwrap().3, &payload);
                prop_assert_eq!(ours(link, &bytes).ok(), expected);
            }
            Transport::Tcp => prop_assert_eq!(ours(link, &bytes), Err(DropReason::Tcp)),
            // Extension headers that etherparse does not know: only the checks for every datagram apply.
            Transport::Other(135 | 139 | 140) => drop(ours(link, &bytes)),
            Transport::Other(number) => {
                let reason = match number {
                    1 | 58 => DropReason::Icmp,
                    4 | 41 | 47 => DropReason::Tunnel,
                    _ => DropReason::OtherProtocol,
                };
                prop_assert_eq!(ours(link, &bytes), Err(reason));
            }
        }
    }

    #[test]
    fn damaged_frames_are_read_alike(
        link in links(),
        ip in headers(),
        transport in transports(),
        payload in prop::collection::vec(any::<u8>(), 0..40),
        damage in damage(),
    ) {
        let (link, mut bytes) = build(link, ip, transport, &payload);
        for (index, byte) in damage {
            let at = index.index(bytes.len());
            bytes[at] = byte;
        }
        let ours = ours(link, &bytes);
        let strict = strict(link, &bytes);
        match strict.as_ref().and_then(|sliced| theirs(sliced, &bytes)) {
            Some(theirs) => match (ours, only_theirs(strict.as_ref().unwrap())) {
                (Err(reason), Some(expected)) => prop_assert_eq!(reason, expected),
                (ours, _) => prop_assert_eq!(ours, Ok(theirs)),
            },
            // etherparse's reader of cooked captures knows fewer interface types.
            None if link != SLL => prop_assert!(ours.is_err() || only_ours(link, &bytes), "{ours:?}"),
            None => {}
        }
    }
}
