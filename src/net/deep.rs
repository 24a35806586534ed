//! The long way from a frame to its datagram: through tunnels, and to what ICMP errors quote.
//!
//! ```text
//!  frame ─link─> IP packet ─> what it carries ─┬─ UDP ──────────────────────────> datagram
//!                    ▲                         ├─ ICMP ─────────────────────────> the datagram it quotes
//!                    │                         ├─ a fragment ─> fragments.rs ───> the packet, once it is whole
//!                    └── ethertype ── inner ───┴─ IP, GRE, or UDP to a tunnel's port
//! ```
//!
//! One loop, [`MAX_DEPTH`] rounds at most. Each round narrows the frame to what the tunnel holds, so that
//! every layer reads a packet in a tunnel as it reads one on the wire.

use super::carried::Carried;
use super::fragment_header::{Header, Key};
use super::fragment_set::Packet;
use super::fragments::{FragmentCounts, Fragments};
use super::gre::{self, Inner};
use super::path::{MAX_DEPTH, Path, Tunnels};
use super::{Datagram, Quote, Turned, carried, ethertype, ip, link, overlay, quote, udp};
use crate::capture::{Frame, Time};

/// What the long way leads to.
#[derive(Clone, Copy, Debug)]
pub enum Inside<'a> {
    /// A datagram.
    Datagram(Datagram<'a>),
    /// An ICMP message, and the datagram that it quotes if it is an error that quotes one.
    Icmp(Option<Quote<'a>>),
}

/// What the long way leads to, and what is known of it.
#[derive(Debug)]
pub struct Opened<'a> {
    /// The datagram or ICMP message.
    pub inside: Inside<'a>,
    /// What [`Datagram::tunnel`] stands for.
    pub tunnels: &'a Tunnels,
    /// Frames of the packet that it was put together from, as many as are remembered; empty for one frame.
    pub pieces: &'a [u64],
}

/// Follows frames where [`peel`](super::peel) stops; remembers which tunnels it met, and fragments until their packet
/// is whole.
#[derive(Debug, Default)]
pub struct Deep {
    tunnels: Tunnels,
    fragments: Fragments,
    /// The packet that was put together or given up last.
    packet: Option<Packet>,
}

/// Where a walk ends.
enum End<'a> {
    Inside(Inside<'a>),
    Piece(Carried<'a>, Header),
}

impl Deep {
    /// The tunnels met so far.
    pub fn tunnels(&self) -> &Tunnels {
        &self.tunnels
    }

    /// What became of fragments so far.
    pub fn fragments(&self) -> &FragmentCounts {
        self.fragments.counts()
    }

    /// Capture time has come that far: fragments are waited for from there, whatever their time stamps say.
    pub fn reach(&mut self, clock: Time) {
        self.fragments.advance(clock);
    }

    /// Takes the innermost datagram out of a frame. Time and memory are bounded, whatever the frame holds.
    ///
    /// The fragment that makes a packet whole gives its datagram; what [`given_up`](Self::given_up) has to give goes
    /// before.
    ///
    /// # Errors
    ///
    /// The first reason met on the way, see [`Turned`].
    #[cold]
    #[inline(never)]
    pub fn open<'a>(&'a mut self, frame: &Frame<'a>) -> Result<Opened<'a>, Turned> {
        let mut path = Path::new();
        match walk(Carried::of(frame, link::packet(frame)?)?, &mut path)? {
            End::Inside(inside) => {
                let inside = finished(&mut self.tunnels, inside, frame, &path);
                Ok(Opened { inside, tunnels: &self.tunnels, pieces: &[] })
            }
            End::Piece(carried, header) => {
                let packet = join(&mut self.fragments, &mut self.tunnels, &carried, header, &path)?;
                self.keep(packet);
                self.whole(frame, path)
            }
        }
    }

    /// What the packet put together last leads to. In a tunnel it may be a fragment of another one.
    fn whole<'a>(&'a mut self, frame: &Frame<'_>, mut path: Path) -> Result<Opened<'a>, Turned> {
        for _ in 0..MAX_DEPTH {
            let before = path.clone();
            let packet = self.packet.as_ref().ok_or(Turned::Fragment)?;
            let packet = match walk(Carried::of_packet(frame, packet)?, &mut path)? {
                End::Inside(_) => return self.told(frame, before),
                End::Piece(carried, header) => {
                    join(&mut self.fragments, &mut self.tunnels, &carried, header, &path)?
                }
            };
            self.keep(packet);
        }
        Err(Turned::TooDeep)
    }

    /// Keeps a packet while its datagram is looked at.
    fn keep(&mut self, packet: Packet) {
        if let Some(done) = self.packet.replace(packet) {
            self.fragments.recycle(done);
        }
    }

    /// Whether fragments wait for others.
    #[inline(always)]
    pub fn waits(&self) -> bool {
        !self.fragments.is_empty()
    }

    /// The next datagram of which fragments are missing, and whose time is up at capture time `clock`; with `all`,
    /// whose file has ended. Its frame is that of its beginning.
    #[cold]
    #[inline(never)]
    pub fn given_up(&mut self, clock: Time, all: bool) -> Option<Opened<'_>> {
        loop {
            let packet = if all { self.fragments.finish() } else { self.fragments.given_up(clock) }?;
            let (first, tunnel, whole) = (packet.first, packet.tunnel, packet.whole);
            self.keep(packet);
            let frame = Frame {
                number: first.frame,
                time: first.time,
                link: 0,
                interface: 0,
                at: Datagram::NOWHERE,
                wire_len: 0,
                bytes: &[],
            };
            let path: Path = self.tunnels.path(tunnel).iter().copied().collect();
            // In a tunnel it may be a fragment itself: nothing can be made of half a fragment.
            if self.told(&frame, path.clone()).is_ok() {
                let mut opened = self.told(&frame, path).ok()?;
                if let Inside::Datagram(d) = &mut opened.inside {
                    d.partial = d.cut > 0 && !whole;
                }
                return Some(opened);
            }
        }
    }

    /// What the packet put together last leads to.
    fn told<'a>(&'a mut self, frame: &Frame<'_>, mut path: Path) -> Result<Opened<'a>, Turned> {
        let packet = self.packet.as_ref().ok_or(Turned::Fragment)?;
        match walk(Carried::of_packet(frame, packet)?, &mut path)? {
            End::Inside(inside) => {
                let inside = finished(&mut self.tunnels, inside, frame, &path);
                Ok(Opened { inside, tunnels: &self.tunnels, pieces: &packet.frames })
            }
            End::Piece(..) => Err(Turned::TooDeep),
        }
    }
}

/// From what an IP packet carries through all tunnels, up to a datagram, an ICMP message or a fragment.
fn walk<'a>(mut carried: Carried<'a>, path: &mut Path) -> Result<End<'a>, Turned> {
    loop {
        if let Some(header) = carried.piece {
            return Ok(End::Piece(carried, header));
        }
        let inner = match carried.protocol {
            ip::ICMP | ip::ICMPV6 => return Ok(End::Inside(Inside::Icmp(quote::of(&carried)))),
            ip::UDP => {
                let datagram = carried.datagram(true)?;
                match in_datagram(&carried.frame, &datagram) {
                    Some(inner) => inner?,
                    None => return Ok(End::Inside(Inside::Datagram(datagram))),
                }
            }
            _ => gre::inner(&carried)?,
        };
        if path.len() >= MAX_DEPTH {
            return Err(Turned::TooDeep);
        }
        path.push(inner.tunnel);
        let packet = ethertype::behind(inner.frame, inner.kind, inner.frame.bytes)?;
        carried = Carried::of(&inner.frame, packet)?;
    }
}

/// Takes a fragment in; gives its packet, if it is whole now.
fn join(
    fragments: &mut Fragments,
    tunnels: &mut Tunnels,
    carried: &Carried<'_>,
    header: Header,
    path: &Path,
) -> Result<Packet, Turned> {
    let key = Key { tunnel: tunnels.number(path), ..header.key };
    fragments.add(&carried.as_piece(Header { key, ..header })).ok_or(Turned::Fragment)
}

/// A datagram with what only the way to it tells.
fn finished<'a>(tunnels: &mut Tunnels, inside: Inside<'a>, frame: &Frame<'_>, path: &Path) -> Inside<'a> {
    match inside {
        Inside::Datagram(datagram) => {
            let (origin, tunnel) = (link::origin(frame), tunnels.number(path));
            Inside::Datagram(Datagram { origin, tunnel, ..datagram })
        }
        icmp => icmp,
    }
}

/// The packet in a datagram; `None` where it is a datagram like any other.
fn in_datagram<'a>(frame: &Frame<'a>, datagram: &Datagram<'a>) -> Option<Result<Inner<'a>, Turned>> {
    let (src, dst) = (datagram.src.port(), datagram.dst.port());
    if !udp::is_tunnel(src, dst) {
        return None;
    }
    // What was captured of the payload ends the frame, once the frame is narrowed to the datagram.
    let length = datagram.payload.len();
    let header = usize::try_from(datagram.at.saturating_sub(frame.at)).unwrap_or(usize::MAX);
    let segment = frame.bytes.get(..header.saturating_add(length)).unwrap_or(frame.bytes);
    let narrow = carried::narrow(&Frame { bytes: segment, ..*frame }, datagram.payload, datagram.wire_len());
    overlay::inner(&narrow, src, dst)
}
