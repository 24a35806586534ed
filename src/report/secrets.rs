//! Finds the passwords in a payload, for code that shows its bytes.

use crate::classify::candidates_by_first_byte;
use crate::decode::{Span, Tree};
use crate::net::Datagram;
use crate::packet::Packet;
use crate::protocols::{Context, Direction, Known, Level, Probe};

/// Passwords that a decoder found and masked.
pub(super) fn in_tree(tree: &Tree) -> Vec<Span> {
    tree.nodes().iter().filter(|node| node.is_secret()).map(|node| node.at).collect()
}

/// Passwords in [the bytes](Packet::bytes) of a packet, found by decoding it once more.
pub(crate) fn in_packet(packet: &Packet<'_>) -> Vec<Span> {
    let mut tree = Tree::default();
    packet.decode_again(false, &mut tree);
    in_tree(&tree)
}

/// Passwords in the payload of a packet's datagram. A datagram that completes a message is read as a part of it.
pub(super) fn in_payload(packet: &Packet<'_>) -> Vec<Span> {
    if packet.whole().is_some() { in_unclaimed(packet.datagram) } else { in_packet(packet) }
}

/// The first bytes of a payload that no protocol claims, as far as they may be shown: at most `most`, and only up to a
/// password.
pub(super) fn harmless_part<'a>(d: &Datagram<'a>, most: usize) -> &'a [u8] {
    let secret = in_unclaimed(d).iter().map(|span| usize::from(span.start)).min();
    d.payload.get(..secret.unwrap_or(most).min(most)).unwrap_or(d.payload)
}

/// Passwords in a datagram that no protocol claims, as decoders find them if they read it as if its conversation spoke
/// their protocol: the datagram may be of a protocol that the user left out, or a damaged message.
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
            // An error is a fault of the datagram; the fields read before it count.
            let _ = id.dissect(d.payload, &context, &mut tree);
            out.extend(in_tree(&tree));
        }
    }
    out
}
