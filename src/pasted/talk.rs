//! A conversation of what was pasted: frames with addresses, directions and times.

use super::{Mark, Piece};
use crate::capture::Time;
use crate::classify;
use crate::net::{Datagram, Endpoint, OwnedFrame};
use crate::protocols::Role;

/// Between two datagrams of which the second has no time stamp, in nanoseconds.
const STEP: i64 = 1_000_000;
/// The client where the text names none: 192.0.2.1 and 2001:db8::1, of the ranges for documentation.
const CLIENT: [u8; 4] = [192, 0, 2, 1];
/// The server likewise.
const SERVER: [u8; 4] = [198, 51, 100, 1];
const CLIENT_V6: [u8; 16] = [0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
const SERVER_V6: [u8; 16] = [0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2];
const CLIENT_PORT: u16 = 40_000;

/// Between whom it is said, where the text does not tell.
#[derive(Clone, Copy, Debug)]
pub struct Ends {
    /// UDP port of the server.
    pub port: u16,
    /// Recognisers that are asked which way a datagram goes, one bit each in registry order.
    pub protocols: u32,
}

impl Default for Ends {
    fn default() -> Self {
        Ends { port: 7777, protocols: u32::MAX }
    }
}

/// A frame for each piece, in order.
///
/// A piece with headers of its own stays as it is. Others get headers: the ends that the text names, or else made-up
/// ones. Who sent it is what the text says, or else what the bytes look like; what neither tells is taken to
/// answer what stands before it. Time goes on by a millisecond where there is no stamp.
pub fn shots(pieces: &[Piece], ends: Ends) -> Vec<OwnedFrame> {
    let turned = is_server_side(pieces, ends);
    let mut time = start(pieces);
    let mut before = None;
    let mut shots = vec![];
    for piece in pieces {
        time = piece.head.time.unwrap_or(time.plus(STEP));
        let asks = match piece.head.mark {
            Some(Mark::ToServer) => true,
            Some(Mark::FromServer) => false,
            Some(Mark::Sent) => !turned,
            Some(Mark::Received) => turned,
            None => asks(piece, ends).unwrap_or(!before.unwrap_or(false)),
        };
        shots.push(match piece.packet {
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
    shots
}

/// A step before the first piece, so far before the first stamp as there are pieces before it.
fn start(pieces: &[Piece]) -> Time {
    let stamped = pieces.iter().enumerate().find_map(|(i, p)| Some((i, p.head.time?)));
    let (before, first) = stamped.unwrap_or((0, Time::from_nanos(0)));
    let steps = i64::try_from(before).unwrap_or(0).saturating_add(1);
    first.plus(STEP.saturating_mul(steps).saturating_neg())
}

/// The two ends of a piece without headers, sender first.
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

/// Whether a piece asks, by its looks; `None` if they do not tell.
fn asks(piece: &Piece, ends: Ends) -> Option<bool> {
    let [src, dst] = between(piece, true, ends.port);
    let (frame, time, at, checksum) = (0, Time::UNKNOWN, 0, 0);
    let (cut, origin, partial, ip_id, tunnel) = (piece.missing, 0, false, 0, 0);
    let payload = &piece.bytes;
    let d = Datagram { frame, time, src, dst, at, cut, origin, partial, checksum, ip_id, tunnel, payload };
    match classify::glance(&d, ends.protocols)?.1.role {
        Role::Request | Role::RequestPart | Role::MaybeRequest => Some(true),
        Role::Response | Role::ResponsePart | Role::MaybeResponse => Some(false),
        Role::Stray => None,
    }
}

/// Whether "sent" means sent by the server: the first datagram that is surely an answer, or surely a request, tells.
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

#[cfg(test)]
#[allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::arithmetic_side_effects)]
mod tests {
    use super::super::{Form, Head};
    use super::*;
    use crate::net::parse;
    use crate::rule::hex;

    const POLL: &str = "d5f60001 a59c4384f146df08 01";
    const STATE: &str = "d5f60101 a59c4384f146df08 03 e5650600 0000000000000000 00 0100 41 01";

    fn piece(mark: Option<Mark>, payload: &str) -> Piece {
        let head = Head { mark, ..Head::default() };
        Piece { bytes: hex(payload), missing: 0, head, line: 1, form: Form::Hex, packet: None }
    }

    /// Ports that the datagrams come from.
    fn from(pieces: &[Piece]) -> Vec<u16> {
        let shots = shots(pieces, Ends::default());
        shots.iter().map(|shot| parse(&shot.frame(1)).expect("a datagram").src.port()).collect()
    }

    #[test]
    fn the_text_decides_the_direction_and_then_the_looks() {
        let marked = [piece(Some(Mark::ToServer), "00"), piece(Some(Mark::FromServer), "00")];
        assert_eq!(from(&marked), [40_000, 7777]);
        assert_eq!(from(&[piece(None, STATE), piece(None, POLL)]), [7777, 40_000]);
        assert_eq!(from(&[piece(None, POLL), piece(None, "ffff")]), [40_000, 7777], "it answers");
    }

    #[test]
    fn sent_may_mean_by_the_server() {
        let [sent, received] = [Some(Mark::Sent), Some(Mark::Received)];
        assert_eq!(from(&[piece(sent, POLL), piece(received, STATE)]), [40_000, 7777]);
        assert_eq!(from(&[piece(received, POLL), piece(sent, STATE)]), [40_000, 7777]);
        assert_eq!(from(&[piece(sent, "ffff"), piece(received, "ffff")]), [40_000, 7777]);
    }

    #[test]
    fn time_goes_on_from_the_stamps() {
        let mut pieces = [piece(None, POLL), piece(None, STATE), piece(None, POLL), piece(None, STATE)];
        let times = |pieces: &[Piece]| {
            let shots = shots(pieces, Ends::default());
            shots.iter().map(|s| s.time.nanos().expect("known") / STEP).collect::<Vec<_>>()
        };
        assert_eq!(times(&pieces), [0, 1, 2, 3]);
        pieces[2].head.time = Some(Time::from_nanos(500 * STEP));
        assert_eq!(times(&pieces), [498, 499, 500, 501]);
    }

    #[test]
    fn ends_that_the_text_names_are_kept() {
        let server = Endpoint::v6([0x20; 16], 9000);
        let mut asked = piece(Some(Mark::ToServer), POLL);
        asked.head.dst = Some(server);
        let shot = shots(&[asked], Ends::default()).remove(0);
        let d = shot.frame(1);
        let d = parse(&d).expect("a datagram");
        assert_eq!((d.dst, d.src.to_string().as_str()), (server, "[2001:db8::1]:40000"));
    }
}
