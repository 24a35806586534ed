//! Builds a conversation from pasted pieces: frames with addresses, directions and times.

use super::{Mark, Piece};
use crate::capture::{CaptureInfo, Time};
use crate::classify;
use crate::net::{Endpoint, OwnedFrame, parse};
use crate::protocols::Role;

/// Time between two datagrams where the second has no time stamp, in nanoseconds.
const STEP: i64 = 1_000_000;
/// The client where the text names none: 192.0.2.1 or 2001:db8::1, from the ranges for documentation.
const CLIENT: [u8; 4] = [192, 0, 2, 1];
/// The server where the text names none.
const SERVER: [u8; 4] = [198, 51, 100, 1];
const CLIENT_V6: [u8; 16] = [0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
const SERVER_V6: [u8; 16] = [0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2];
const CLIENT_PORT: u16 = 40_000;

/// What to assume of the endpoints where the text does not name them.
#[derive(Clone, Copy, Debug)]
pub struct Ends {
    /// UDP port of the server.
    pub port: u16,
    /// Recognisers that tell which way a datagram goes, one bit each in registry order.
    pub protocols: u32,
}

impl Default for Ends {
    fn default() -> Self {
        Ends { port: 7777, protocols: u32::MAX }
    }
}

/// A frame for each piece, in order.
///
/// A piece with headers of its own stays as it is. Other pieces get headers: with the endpoints that the text names,
/// or else made-up ones. The direction is taken from the text, or else from the bytes; where neither tells, the
/// piece counts as the answer to a request before it, or as a request. Time advances by a millisecond where there is
/// no time stamp.
pub fn frames(pieces: &[Piece], ends: Ends) -> Vec<OwnedFrame> {
    let turned = is_server_side(pieces, ends);
    let mut time = start(pieces);
    let mut before = None;
    let mut frames = vec![];
    for piece in pieces {
        time = piece.head.time.unwrap_or(time.plus(STEP));
        let asks = match piece.head.mark {
            Some(Mark::ToServer) => true,
            Some(Mark::FromServer) => false,
            Some(Mark::Sent) => !turned,
            Some(Mark::Received) => turned,
            None => asks(piece, ends).unwrap_or(!before.unwrap_or(false)),
        };
        frames.push(match piece.packet {
            Some((link, wire_len)) => OwnedFrame {
                time,
                link,
                wire_len: wire_len.saturating_add(piece.missing),
                bytes: piece.bytes.clone(),
            },
            None => {
                before = Some(asks);
                let [from, to] = between(piece, asks, ends.port);
                OwnedFrame::udp(time, from, to, &piece.bytes, piece.missing)
            }
        });
    }
    frames
}

/// The facts about pasted frames, as about a capture.
pub fn facts(frames: &[OwnedFrame]) -> CaptureInfo {
    let mut links = vec![];
    for frame in frames {
        if !links.contains(&frame.link) {
            links.push(frame.link);
        }
    }
    CaptureInfo { format: "hex", links, ..CaptureInfo::default() }
}

/// The start time, one step before the first piece, calculated back from the first time stamp, one step per piece.
fn start(pieces: &[Piece]) -> Time {
    let stamped = pieces.iter().enumerate().find_map(|(i, p)| Some((i, p.head.time?)));
    let (before, first) = stamped.unwrap_or((0, Time::from_nanos(0)));
    let steps = i64::try_from(before).unwrap_or(0).saturating_add(1);
    first.plus(STEP.saturating_mul(steps).saturating_neg())
}

/// The two endpoints of a piece without headers, sender first.
fn between(piece: &Piece, asks: bool, port: u16) -> [Endpoint; 2] {
    let v6 = [piece.head.src, piece.head.dst].into_iter().flatten().any(|end| end.octets().is_none());
    let (client, server) = if v6 {
        (Endpoint::v6(CLIENT_V6, CLIENT_PORT), Endpoint::v6(SERVER_V6, port))
    } else {
        (Endpoint::v4(CLIENT, CLIENT_PORT), Endpoint::v4(SERVER, port))
    };
    let [from, to] = if asks { [client, server] } else { [server, client] };
    [piece.head.src.unwrap_or(from), piece.head.dst.unwrap_or(to)]
}

/// Whether a piece looks like a request; `None` if its bytes do not tell.
fn asks(piece: &Piece, ends: Ends) -> Option<bool> {
    let [client, server] = between(piece, true, ends.port);
    let made = OwnedFrame::udp(Time::UNKNOWN, client, server, &piece.bytes, piece.missing);
    let frame = made.frame(0);
    match classify::probe(&parse(&frame).ok()?, ends.protocols)?.1.role {
        Role::Request | Role::RequestPart | Role::MaybeRequest => Some(true),
        Role::Response | Role::ResponsePart | Role::MaybeResponse => Some(false),
        Role::Stray => None,
    }
}

/// Whether "sent" means sent by the server: the first marked datagram that is recognised as request or answer
/// decides.
fn is_server_side(pieces: &[Piece], ends: Ends) -> bool {
    pieces
        .iter()
        .find_map(|piece| match piece.head.mark? {
            Mark::Sent => asks(piece, ends).map(|asks| !asks),
            Mark::Received => asks(piece, ends),
            _ => None,
        })
        .unwrap_or(false)
}
