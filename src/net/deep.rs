//! The long way from a frame to its datagram: through tunnels, and to what ICMP errors quote.
//!
//! ```text
//!  frame ─link─> IP packet ─> what it carries ─┬─ UDP ──────────────────────────> datagram
//!                    ▲                         ├─ ICMP ─────────────────────────> the datagram it quotes
//!                    │                         ├─ a fragment ───────────────────> Fragment
//!                    └── ethertype ── inner ───┴─ IP, GRE, or UDP to a tunnel's port
//! ```
//!
//! One loop, [`MAX_DEPTH`] rounds at most. Each round narrows the frame to what the tunnel holds, so that
//! every layer reads a packet in a tunnel as it reads one on the wire.

use super::carried::{Carried, Piece};
use super::gre::{self, Inner};
use super::path::{MAX_DEPTH, Path, Tunnels};
use super::{Datagram, Quote, Turned, carried, ethertype, ip, link, overlay, quote, udp};
use crate::capture::Frame;

/// What the long way leads to.
#[derive(Clone, Copy, Debug)]
pub enum Inside<'a> {
    /// A datagram.
    Datagram(Datagram<'a>),
    /// An ICMP message, and the datagram that it quotes if it is an error that quotes one.
    Icmp(Option<Quote<'a>>),
}

/// Follows frames where [`peel`](super::peel) stops; remembers which tunnels it met.
#[derive(Debug, Default)]
pub struct Deep {
    tunnels: Tunnels,
}

impl Deep {
    /// The tunnels met so far.
    pub fn tunnels(&self) -> &Tunnels {
        &self.tunnels
    }

    /// Takes the innermost datagram out of a frame. Time and memory are bounded, whatever the frame holds.
    ///
    /// # Errors
    ///
    /// The first reason met on the way, see [`Turned`].
    #[cold]
    #[inline(never)]
    pub fn open<'a>(&mut self, frame: &Frame<'a>) -> Result<Inside<'a>, Turned> {
        let mut path = Path::new();
        let mut carried = Carried::of(frame, link::packet(frame)?)?;
        loop {
            if let Some(piece) = carried.piece {
                carried = self.piece(&carried, piece)?;
                continue;
            }
            let inner = match carried.protocol {
                ip::ICMP | ip::ICMPV6 => return Ok(Inside::Icmp(quote::of(&carried))),
                ip::UDP => {
                    let datagram = carried.datagram(true)?;
                    match in_datagram(&carried.frame, &datagram) {
                        Some(inner) => inner?,
                        None => return Ok(Inside::Datagram(self.finished(frame, datagram, &path))),
                    }
                }
                _ => gre::inner(&carried)?,
            };
            if path.len() >= MAX_DEPTH {
                return Err(Turned::TooDeep);
            }
            path.push(inner.tunnel);
            let packet = ethertype::behind(&inner.frame, inner.kind, inner.frame.bytes)?;
            carried = Carried::of(&inner.frame, packet)?;
        }
    }

    /// A fragment turns off here: what comes back is what the whole packet carries, once all of it is there.
    fn piece<'a>(&mut self, _carried: &Carried<'a>, _piece: Piece) -> Result<Carried<'a>, Turned> {
        Err(Turned::Fragment)
    }

    /// The datagram with what only the way to it tells.
    fn finished<'a>(&mut self, frame: &Frame<'_>, datagram: Datagram<'a>, path: &Path) -> Datagram<'a> {
        Datagram { origin: link::origin(frame), tunnel: self.tunnels.number(path), ..datagram }
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
