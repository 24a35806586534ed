//! Keeps one packet as people see it: the lines of its tree, and its bytes.

use super::detail::{Detail, Details};
use super::outline::{ByteCell, Outline};
use super::payload::Bytes;
use super::{Report, StandIns, Wants, secrets};
use crate::capture::{CaptureInfo, Comments, Frame, Time};
use crate::check::Packet;
use crate::decode::{AnyListener, Tree};
use crate::net::{Datagram, DropReason, Tunnel};
use crate::protocols::Id;
use std::io;

/// A report of one packet, which keeps its tree and its bytes as `dump -V -x` shows them.
pub struct Opened {
    details: Details<io::Sink>,
    secrets: bool,
    /// The lines of its tree.
    pub outline: Outline,
    /// The bytes that its fields refer to: its payload, or the message that it completes together with other parts.
    pub bytes: Vec<ByteCell>,
    /// The bytes are those of a message that was joined from several datagrams.
    pub joined: bool,
    /// Number of bytes that the capture left out.
    pub cut: u32,
    /// Its protocol, if one claims it.
    pub protocol: Option<Id>,
}

impl Opened {
    /// An empty report. `secrets` says whether passwords may be shown.
    pub fn new(secrets: bool) -> Opened {
        let detail = Detail { tree: true, hex: true, secrets, ..Detail::default() };
        Opened {
            details: Details::new(io::sink(), false, false, detail),
            secrets,
            outline: vec![],
            bytes: vec![],
            joined: false,
            cut: 0,
            protocol: None,
        }
    }

    /// The same, with words for what is made up of frames.
    pub fn with_stand_ins(self, stand_ins: StandIns) -> Opened {
        let detail = Detail { tree: true, hex: true, secrets: self.secrets, stand_ins, ..Detail::default() };
        Opened { details: Details::new(io::sink(), false, false, detail), ..self }
    }

    fn keep_bytes(&mut self, bytes: &Bytes<'_>, cut: u32) {
        self.bytes = bytes.cells().collect();
        self.cut = cut;
    }
}

impl Report for Opened {
    fn listener(&self) -> AnyListener {
        AnyListener::Tree(Tree::default())
    }

    fn wants(&self) -> Wants {
        self.details.wants()
    }

    fn comments(&mut self, comments: &Comments) {
        self.details.comments(comments);
    }

    fn frame(&mut self, frame: &Frame<'_>, parsed: &Result<Datagram<'_>, DropReason>) {
        self.details.frame(frame, parsed);
    }

    fn packet(&mut self, p: &Packet<'_>) -> io::Result<()> {
        let place = self.details.place(p.datagram.frame)?;
        self.outline = self.details.outline(p, place);
        let mut bytes = Bytes::new(p.bytes);
        bytes.mark(p.findings);
        bytes.hide(&p.tree().map_or_else(|| secrets::in_packet(p), secrets::in_tree));
        self.keep_bytes(&bytes, p.datagram.cut);
        (self.joined, self.protocol) = (p.whole().is_some(), Some(p.id));
        Ok(())
    }

    fn unclaimed(&mut self, d: &Datagram<'_>) -> io::Result<()> {
        let place = self.details.place(d.frame)?;
        self.outline = self.details.unclaimed_outline(d, place);
        let mut bytes = Bytes::new(d.payload);
        if !self.secrets {
            bytes.hide(&secrets::in_unclaimed(d));
        }
        self.keep_bytes(&bytes, d.cut);
        Ok(())
    }

    fn file(&mut self, name: &str, facts: &CaptureInfo, before: u64) -> io::Result<()> {
        self.details.file(name, facts, before)
    }

    fn tunnels(&mut self, number: u16, path: &[Tunnel]) {
        self.details.tunnels(number, path);
    }

    fn reassembled(&mut self, frame: u64, pieces: &[u64]) {
        self.details.reassembled(frame, pieces);
    }

    fn first_frame(&mut self, time: Time) {
        self.details.first_frame(time);
    }
}
