//! The slow path from a frame to its datagram: through tunnels and fragments, and to the datagram that an ICMP error
//! quotes.
//!
//! ```text
//!  frame ─link─> IP packet ─> IP payload ───┬─ UDP ──────────────────────────> datagram
//!                    ▲                      ├─ ICMP ─────────────────────────> the datagram it quotes
//!                    │                      ├─ a fragment ─> fragments.rs ───> the packet, once it is whole
//!                    └── ethertype ── inner ┴─ IP, GRE, or UDP to a tunnel's port
//! ```
//!
//! One loop with [`MAX_DEPTH`] rounds at most. Each round narrows the frame to the contents of the tunnel, so that
//! every layer reads a packet in a tunnel just like one on the wire.

use super::fragment_header::Fragment;
use super::fragment_set::Packet;
use super::fragments::{FragmentCounts, Fragments};
use super::ip_payload::IpPayload;
use super::tunnels::{MAX_DEPTH, Path, Tunnels};
use super::{Datagram, DropReason, Endpoint, Quote, ethertype, gre, header, link, metadata, overlay, quote};
use crate::capture::{Frame, Time};
use arrayvec::ArrayVec;

/// The innermost content of a frame.
#[derive(Clone, Copy, Debug)]
pub enum Content<'a> {
    /// A datagram.
    Datagram(Datagram<'a>),
    /// An ICMP message, and the datagram that it quotes if it is an error that quotes one.
    Icmp(Option<Quote<'a>>),
}

/// The innermost content of a frame, and the tunnels and fragments it came through.
#[derive(Debug)]
pub struct Decapsulated<'a> {
    /// The datagram or ICMP message.
    pub content: Content<'a>,
    /// The paths that [`Datagram::tunnel`] numbers.
    pub tunnels: &'a Tunnels,
    /// Frames of the fragments that it was reassembled from, as many as are remembered; empty for a single frame.
    pub fragments: &'a [u64],
}

/// Takes over where [`parse`](super::parse) stops; remembers the tunnels it met, and fragments until their packet is
/// complete.
#[derive(Debug, Default)]
pub struct Decapsulator {
    tunnels: Tunnels,
    fragments: Fragments,
    /// The last packet that was reassembled or given up.
    packet: Option<Packet>,
}

/// Result of following tunnels.
enum End<'a> {
    Content(Content<'a>),
    Fragment(Fragment<'a>),
}

impl Decapsulator {
    /// The tunnels met so far.
    pub fn tunnels(&self) -> &Tunnels {
        &self.tunnels
    }

    /// Counts of fragments and packets so far.
    pub fn fragments(&self) -> &FragmentCounts {
        self.fragments.counts()
    }

    /// Moves capture time on to `clock`. The age of fragments counts in capture time, whatever their own time stamps
    /// say.
    pub fn advance(&mut self, clock: Time) {
        self.fragments.advance(clock);
    }

    /// Takes the innermost datagram out of a frame. Time and memory are bounded, whatever the frame holds.
    ///
    /// The datagram of a packet is returned with the fragment that completes it. Before each call, take out the
    /// datagrams of [`next_expired`](Self::next_expired).
    ///
    /// # Errors
    ///
    /// The first reason met on the way, see [`DropReason`].
    #[cold]
    #[inline(never)]
    pub fn decapsulate<'a>(&'a mut self, frame: &Frame<'a>) -> Result<Decapsulated<'a>, DropReason> {
        let mut path = Path::new();
        let (frame, origin) = &metadata::unwrapped(frame)?;
        match follow(IpPayload::of(frame, link::packet(frame)?)?, &mut path, &mut |_| ())? {
            End::Content(content) => {
                let content = with_origin(&mut self.tunnels, content, *origin, &path);
                Ok(Decapsulated { content, tunnels: &self.tunnels, fragments: &[] })
            }
            End::Fragment(fragment) => {
                let packet = add(&mut self.fragments, &mut self.tunnels, fragment, &path, &[])?;
                self.packet = Some(packet);
                self.reassembled(frame, *origin, path)
            }
        }
    }

    /// The content of the last reassembled packet. In a tunnel, that packet may be a fragment of another one.
    fn reassembled<'a>(
        &'a mut self,
        frame: &Frame<'_>,
        origin: u32,
        mut path: Path,
    ) -> Result<Decapsulated<'a>, DropReason> {
        for _ in 0..MAX_DEPTH {
            let before = path.clone();
            let packet = self.packet.as_ref().ok_or(DropReason::Fragment)?;
            let packet = match follow(IpPayload::of_packet(frame, packet)?, &mut path, &mut |_| ())? {
                End::Content(_) => return self.content(frame, origin, before),
                End::Fragment(fragment) => {
                    let others = packet.frames.split_last().map_or(&[][..], |(_, others)| others);
                    add(&mut self.fragments, &mut self.tunnels, fragment, &path, others)?
                }
            };
            self.packet = Some(packet);
        }
        Err(DropReason::TooDeep)
    }

    /// Whether any fragments are pending.
    #[inline(always)]
    pub fn has_pending(&self) -> bool {
        !self.fragments.is_empty()
    }

    /// The next incomplete datagram whose fragments have expired at capture time `clock`; with `all`, because the file
    /// has ended, the next one whatever its age. Its frame is that of its first fragment.
    #[cold]
    #[inline(never)]
    pub fn next_expired(&mut self, clock: Time, all: bool) -> Option<Decapsulated<'_>> {
        loop {
            let packet = self.fragments.next_expired(clock, all)?;
            let (first, whole) = (packet.first, packet.is_whole());
            let frame = Frame { number: first.frame, time: first.time, ..Frame::default() };
            let path: Path = self.tunnels.path(packet.key.tunnel).iter().copied().collect();
            self.packet = Some(packet);
            // In a tunnel the packet may itself be a fragment; an incomplete fragment is useless.
            let origin = link::origin(&frame);
            if self.content(&frame, origin, path.clone()).is_ok() {
                let mut found = self.content(&frame, origin, path).ok()?;
                if let Content::Datagram(d) = &mut found.content {
                    d.partial = !whole;
                }
                return Some(found);
            }
        }
    }

    /// The content of the last reassembled packet, if that is not a fragment.
    fn content<'a>(
        &'a mut self,
        frame: &Frame<'_>,
        origin: u32,
        mut path: Path,
    ) -> Result<Decapsulated<'a>, DropReason> {
        let packet = self.packet.as_ref().ok_or(DropReason::Fragment)?;
        let End::Content(content) = follow(IpPayload::of_packet(frame, packet)?, &mut path, &mut |_| ())?
        else {
            return Err(DropReason::TooDeep);
        };
        let content = with_origin(&mut self.tunnels, content, origin, &path);
        Ok(Decapsulated { content, tunnels: &self.tunnels, fragments: &packet.frames })
    }
}

/// Source and destination of each IP packet in a frame.
pub type PacketHosts = ArrayVec<[Endpoint; 2], { MAX_DEPTH + 2 }>;

/// Source and destination of every IP packet in a frame, the outermost first: through tunnels, up to a fragment, and
/// to the datagram that an ICMP error quotes. Ports are 0 where a packet holds another packet.
#[cold]
#[inline(never)]
pub fn packet_hosts(frame: &Frame<'_>) -> PacketHosts {
    let mut hosts = PacketHosts::new();
    let mut on_packet = |pair| {
        let _ = hosts.try_push(pair); // the capacity suffices for all rounds
    };
    let end = metadata::unwrapped(frame).and_then(|(frame, _)| {
        let payload = IpPayload::of(&frame, link::packet(&frame)?)?;
        follow(payload, &mut Path::new(), &mut on_packet)
    });
    if let Ok(End::Content(Content::Icmp(Some(quote)))) = end {
        let _ = hosts.try_push([quote.datagram.src, quote.datagram.dst]);
    }
    hosts
}

/// Follows the payload of an IP packet through all tunnels, up to a datagram, an ICMP message or a fragment.
fn follow<'a>(
    mut payload: IpPayload<'a>,
    path: &mut Path,
    on_packet: &mut dyn FnMut([Endpoint; 2]),
) -> Result<End<'a>, DropReason> {
    loop {
        on_packet(payload.hosts);
        if let Some(header) = payload.fragment {
            return Ok(End::Fragment(payload.as_fragment(header)));
        }
        let inner = match payload.protocol {
            header::ICMP | header::ICMPV6 => return Ok(End::Content(Content::Icmp(quote::of(&payload)))),
            header::UDP => {
                let d = payload.datagram(true)?;
                let wire_len = u32::try_from(d.wire_len()).unwrap_or(u32::MAX);
                let frame = Frame { at: d.at, wire_len, bytes: d.payload, ..payload.frame };
                match overlay::inner(&frame, d.src.port(), d.dst.port()) {
                    Some(inner) => inner?,
                    None => return Ok(End::Content(Content::Datagram(d))),
                }
            }
            _ => gre::inner(&payload)?,
        };
        if path.len() >= MAX_DEPTH {
            return Err(DropReason::TooDeep);
        }
        path.push(inner.tunnel);
        let packet = ethertype::packet_after(inner.frame, inner.kind, inner.frame.bytes)?;
        payload = IpPayload::of(&inner.frame, packet)?;
    }
}

/// Adds a fragment that came through `path` in its frame and in `others`; returns its packet if that is now complete.
fn add<'a>(
    fragments: &mut Fragments,
    tunnels: &mut Tunnels,
    mut fragment: Fragment<'a>,
    path: &Path,
    others: &'a [u64],
) -> Result<Packet, DropReason> {
    (fragment.header.key.tunnel, fragment.others) = (tunnels.number(path), others);
    fragments.add(&fragment).ok_or(DropReason::Fragment)
}

/// Sets the fields of a datagram that are known only once its path has been followed: origin and tunnel.
fn with_origin<'a>(tunnels: &mut Tunnels, mut content: Content<'a>, origin: u32, path: &Path) -> Content<'a> {
    match &mut content {
        Content::Datagram(d) => (d.origin, d.tunnel) = (origin, tunnels.number(path)),
        Content::Icmp(Some(quote)) => quote.datagram.origin = origin,
        Content::Icmp(None) => {}
    }
    content
}
