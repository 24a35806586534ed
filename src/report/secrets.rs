//! Finds passwords in payloads, for code that shows their bytes.

use crate::check::Packet;
use crate::classify::candidates_by_first_byte;
use crate::decode::{Span, Tree};
use crate::net::Datagram;
use crate::protocols::{Context, Direction, Known, Level, Probe};

/// The passwords that a decoder has masked in a tree.
pub(super) fn in_tree(tree: &Tree) -> Vec<Span> {
    tree.nodes().iter().filter(|node| node.is_secret()).map(|node| node.at).collect()
}

/// The passwords in [the bytes](Packet::bytes) of a packet, found by decoding it once more.
pub(crate) fn in_packet(packet: &Packet<'_>) -> Vec<Span> {
    let mut tree = Tree::default();
    packet.decode_again(false, &mut tree);
    in_tree(&tree)
}

/// The passwords in the payload of a packet's datagram. A datagram that completes a message is decoded as a part of it.
pub(super) fn in_payload(packet: &Packet<'_>) -> Vec<Span> {
    if packet.whole().is_some() { in_unclaimed(packet.datagram) } else { in_packet(packet) }
}

/// The first bytes of an unclaimed datagram that may be shown: at most `max`, ending before a password.
pub(super) fn harmless_part<'a>(d: &Datagram<'a>, max: usize) -> &'a [u8] {
    let secret = in_unclaimed(d).iter().map(|span| usize::from(span.start)).min();
    d.payload.get(..secret.unwrap_or(max).min(max)).unwrap_or(d.payload)
}

/// The passwords in an unclaimed datagram, which may belong to a protocol that the user disabled, or be damaged. Every
/// matching decoder reads it as if its conversation used the protocol.
pub(super) fn in_unclaimed(d: &Datagram<'_>) -> Vec<Span> {
    let (len, ports) = (d.wire_len(), [d.src.port(), d.dst.port()]);
    let mut out = vec![];
    for id in candidates_by_first_byte(d.payload.first()) {
        for direction in [Direction::C2s, Direction::S2c] {
            let known = Known { open: true, pinned: true, ..Known::of(direction, Level::High) };
            let probe = id.probe(d.payload, len, ports).or_else(|| id.probe_known(d.payload, len, known));
            let Some(Probe { message, .. }) = probe else { continue };
            let context = Context { missing: d.cut as usize, ..Context::of(message, direction) };
            let mut tree = Tree::default();
            // The datagram may be invalid. Fields decoded before the error count.
            let _ = id.dissect(d.payload, &context, &mut tree);
            out.extend(in_tree(&tree));
        }
    }
    out
}
