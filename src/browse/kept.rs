//! What opening a packet needs that is neither in its row nor in its frame.

use super::row::Row;
use crate::capture::PacketComments;
use crate::check::Packet;
use crate::contract::Piece;
use crate::diagnosis::Diagnosis;
use crate::exchange::Pairing;
use crate::net::{Datagram, Endpoint};

/// Facts about an odd packet.
#[derive(Debug)]
pub(super) struct Kept {
    /// The datagram, without its payload.
    pub datagram: Datagram<'static>,
    /// The payload, where its frame does not hold it as it is: it came from fragments or through a tunnel.
    pub payload: Option<Vec<u8>>,
    /// See [`Packet::piece`].
    pub piece: Option<Piece>,
    /// See [`Packet::pairing`]; `None` where the row holds all of it.
    pub pairing: Option<Pairing>,
    /// See [`Packet::asked_server`].
    pub asked_server: Option<Endpoint>,
    /// See [`Packet::diagnosis`].
    pub diagnosis: Option<Diagnosis>,
    /// See [`Packet::more_findings`].
    pub more_findings: u32,
    /// Frames of its fragments.
    pub fragments: Vec<u64>,
    /// Comments on its frame.
    pub comments: Option<PacketComments>,
}

impl Kept {
    /// The facts about a datagram that its row does not hold; `None` if there are none. `is_plain` says that its frame holds it as
    /// it is, without a header around all of it.
    pub fn of_datagram(
        d: &Datagram<'_>,
        is_plain: bool,
        fragments: &[u64],
        comments: Option<PacketComments>,
    ) -> Option<Kept> {
        let is_elsewhere = !is_plain || d.tunnel != 0 || d.at >= Datagram::NOT_IN_FILE;
        (is_elsewhere || d.partial || comments.is_some()).then(|| Kept {
            payload: is_elsewhere.then(|| d.payload.to_vec()),
            fragments: fragments.to_vec(),
            comments,
            ..Kept::plain(d)
        })
    }

    /// The facts about a packet that its row does not hold; `is_whole` says that the row holds all of its pairing. `of_datagram`
    /// are those about its datagram.
    pub fn of_packet(p: &Packet<'_>, is_whole: bool, of_datagram: Option<Kept>) -> Option<Kept> {
        let diagnosis = p.diagnosis();
        let is_odd =
            p.piece.is_some() || p.asked_server.is_some() || diagnosis.is_some() || p.more_findings > 0;
        (is_odd || !is_whole || of_datagram.is_some()).then(|| Kept {
            piece: p.piece.cloned(),
            pairing: (!is_whole).then_some(*p.pairing),
            asked_server: p.asked_server,
            diagnosis: diagnosis.cloned(),
            more_findings: p.more_findings,
            ..of_datagram.unwrap_or_else(|| Kept::plain(p.datagram))
        })
    }

    fn plain(d: &Datagram<'_>) -> Kept {
        Kept {
            datagram: Datagram { payload: &[], ..*d },
            payload: None,
            piece: None,
            pairing: None,
            asked_server: None,
            diagnosis: None,
            more_findings: 0,
            fragments: vec![],
            comments: None,
        }
    }

    /// Memory that it takes, in bytes, with its place in the table.
    pub fn size(&self) -> usize {
        let payload = self.payload.as_ref().map_or(0, Vec::len);
        let joined = self.piece.as_ref().map_or(0, Piece::joined_bytes);
        let parts =
            self.piece.as_ref().and_then(|piece| piece.whole.as_ref()).map_or(0, |whole| whole.parts.len());
        let diagnosis = self.diagnosis.as_ref().map_or(0, |d| d.help.len() + d.facts.len() + d.reading.len());
        let frames = size_of::<u64>() * (self.fragments.len() + parts);
        size_of::<Row>() + size_of::<Kept>() + payload + joined + diagnosis + frames
    }
}
