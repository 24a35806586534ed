//! A datagram of one of the protocols, as reports and filters see it.

use crate::check::Finding;
use crate::contract::{Context, Decoded, Direction, Level, Pairing, Piece, Raised, Whole};
use crate::decode::{Facts, Heard, Listener};
use crate::net::Datagram;
use crate::protocols::Id;

/// A datagram of one of the protocols, with everything that is known of it.
#[derive(Debug)]
pub struct Packet<'a, S> {
    /// The datagram.
    pub datagram: &'a Datagram<'a>,
    /// The bytes that its fields and findings speak of: its payload, or the message that it and other parts make.
    pub bytes: &'a [u8],
    /// What it is a part of.
    pub piece: Option<&'a Piece>,
    /// Its protocol.
    pub id: Id,
    /// Index into the protocol's messages.
    pub message: u8,
    /// Index into the protocol's steps, where it asks or answers.
    pub step: u8,
    /// Which way it travels.
    pub direction: Direction,
    /// How sure the recognition is.
    pub level: Level,
    /// Index of its server, or [`crate::conversation::NONE`].
    pub server_index: u32,
    /// What it is to its exchange.
    pub pairing: &'a Pairing,
    /// What the message says about its server, or where decoding stopped.
    pub decoded: &'a Decoded<'a>,
    /// What the report's own listener heard.
    pub sink: &'a S,
    /// Rules that it breaks by what went before it, whatever the user makes of them.
    pub raised: &'a Raised,
    /// The rules it breaks.
    pub findings: &'a [Finding],
    /// Further ones that were only counted.
    pub more_findings: u32,
}

impl<S> Packet<'_, S> {
    /// Name of the message.
    pub fn message_name(&self) -> &'static str {
        self.id.info().message_name(self.message)
    }

    /// What it says about its server, if it could be decoded and says anything.
    pub fn facts(&self) -> Option<&Facts<'_>> {
        self.decoded.as_ref().ok().filter(|facts| !facts.is_empty())
    }

    /// The same for a report that listens otherwise.
    #[cfg(feature = "page")]
    pub(crate) fn heard_by<'b, T>(&'b self, sink: &'b T) -> Packet<'b, T> {
        let Packet { datagram, id, message, step, direction, level, server_index, pairing, .. } = *self;
        let Packet { raised, decoded, findings, more_findings, bytes, piece, .. } = *self;
        Packet {
            datagram,
            id,
            message,
            step,
            direction,
            level,
            server_index,
            pairing,
            raised,
            decoded,
            sink,
            findings,
            more_findings,
            bytes,
            piece,
        }
    }

    /// What is known where it is decoded once more. `secrets` says whether passwords may be shown.
    fn context(&self, secrets: bool) -> Context {
        let Packet { message, direction, pairing, datagram, .. } = *self;
        let (asked, continues) = (pairing.asked(), pairing.continues());
        let missing = self.whole().map_or(datagram.cut as usize, Whole::missing);
        let layout = self.piece.map(|piece| piece.split.layout);
        Context { message, direction, asked, missing, continues, layout, secrets }
    }

    /// The message that it and other parts make.
    pub fn whole(&self) -> Option<&Whole> {
        self.piece?.whole.as_ref()
    }

    /// Decodes it once more into a tree, with passwords or without.
    pub(crate) fn hear(&self, secrets: bool, heard: &mut Heard) {
        heard.begin();
        if let Some(piece) = self.piece {
            piece.tell(self.id.info(), heard);
        }
        // What stops decoding is a finding of the packet already; the fields before it count.
        let _ = self.id.dissect(self.bytes, &self.context(secrets), heard);
    }

    /// Where a byte of it stands in the capture; `None` where it was put together.
    pub fn file_offset(&self, at: u16) -> Option<u64> {
        self.datagram.file_offset(at).filter(|_| self.whole().is_none())
    }
}
