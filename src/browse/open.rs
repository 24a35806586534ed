//! Opens a packet of an index: reads its frame, decodes it, and reports it as the run did.

use super::kept::Kept;
use super::row::Row;
use super::{IN_SPOOL, Index};
use crate::capture::{Comments, Frame};
use crate::check::{Finding, Message, Packet};
use crate::contract::{Context, Decoded, Raised, Whole};
use crate::decode::{AnyListener, Tree};
use crate::diagnosis::Examined;
use crate::net::{self, Datagram};
use crate::protocols::Id;
use crate::report::Report;
use std::{fmt, io};

/// Why a packet could not be opened.
#[derive(Debug)]
pub enum Unopened {
    /// What it needs was not kept: read the captures again up to its frame.
    Again,
    /// Its frame cannot be read, or is not there any more.
    Unread(io::Error),
}

impl fmt::Display for Unopened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unopened::Again => f.write_str("the captures must be read again for this packet"),
            Unopened::Unread(e) => write!(f, "the frame cannot be read again: {e}"),
        }
    }
}

impl From<io::Error> for Unopened {
    fn from(e: io::Error) -> Self {
        Unopened::Unread(e)
    }
}

/// Reads bytes of a capture: its index, the offset (after decompression), and where the bytes go.
pub type ReadBytes<'a> = &'a mut dyn FnMut(usize, u64, &mut [u8]) -> io::Result<()>;

impl Index {
    /// Reports the packet of a row as the run has reported it, after the captures and its frame. `secrets` says whether passwords
    /// may be shown.
    ///
    /// # Errors
    /// See [`Unopened`].
    pub fn open(
        &self,
        at: usize,
        secrets: bool,
        read: ReadBytes<'_>,
        report: &mut dyn Report,
    ) -> Result<(), Unopened> {
        let row = self.rows.get(at).filter(|row| !row.needs_reading_again()).ok_or(Unopened::Again)?;
        let kept = row.is_kept().then(|| self.kept.get(&(at as u32))).flatten().map(|kept| &**kept);
        self.introduce(row, kept, report)?;
        let place = row.place();
        let mut bytes = vec![0; place.captured as usize];
        match place.at.checked_sub(IN_SPOOL).filter(|_| self.memory.is_used()) {
            Some(at) => self.memory.read(at, &mut bytes)?,
            None => read(self.place(row.frame).file, place.at, &mut bytes)?,
        }
        let (interface, link) = self.origins.get(usize::from(place.origin)).copied().unwrap_or_default();
        let frame = Frame {
            number: row.frame,
            time: row.time,
            link,
            interface,
            at: place.at,
            wire_len: place.wire,
            bytes: &bytes,
        };
        let parsed = net::parse(&frame);
        report.frame(&frame, &parsed);
        let datagram = match (kept, parsed) {
            (Some(Kept { datagram, payload: Some(payload), .. }), _) => Datagram { payload, ..*datagram },
            (Some(kept), Ok(d)) => Datagram { payload: d.payload, ..kept.datagram },
            (None, Ok(d)) => d,
            (_, Err(_)) => return Err(io::Error::other("the capture has changed").into()),
        };
        match row.protocol() {
            None => report.unclaimed(&datagram)?,
            Some(id) => {
                let findings: Vec<Finding> = self.findings(at).collect();
                report_packet(row, (id, kept), &datagram, (&findings, secrets), report)?;
            }
        }
        Ok(())
    }

    /// Reports the first captures, so many of them.
    ///
    /// # Errors
    /// Those of the report.
    pub fn introduce_captures(&self, number: usize, report: &mut dyn Report) -> io::Result<()> {
        for capture in self.captures.iter().take(number) {
            report.file(&capture.name, &capture.facts, capture.before)?;
            report.first_frame(capture.first);
        }
        Ok(())
    }

    /// Reports what comes before a packet: the captures up to its own, its comments, tunnels and fragments.
    fn introduce(&self, row: &Row, kept: Option<&Kept>, report: &mut dyn Report) -> io::Result<()> {
        let comments = kept.and_then(|kept| kept.comments.clone());
        report.comments(&Comments::of_frame(row.frame, comments));
        self.introduce_captures(self.place(row.frame).file + 1, report)?;
        if let Some(kept) = kept {
            let tunnels = self.tunnels.iter().filter(|(number, _)| *number == kept.datagram.tunnel);
            tunnels.for_each(|(number, path)| report.tunnels(*number, path));
            if !kept.fragments.is_empty() {
                report.reassembled(row.frame, &kept.fragments);
            }
        }
        Ok(())
    }
}

fn report_packet(
    row: &Row,
    (id, kept): (Id, Option<&Kept>),
    d: &Datagram<'_>,
    (findings, secrets): (&[Finding], bool),
    report: &mut dyn Report,
) -> io::Result<()> {
    let piece = kept.and_then(|kept| kept.piece.as_ref());
    let pairing = kept.and_then(|kept| kept.pairing).unwrap_or_else(|| row.pairing());
    let bytes = piece.map_or(d.payload, |piece| piece.bytes(d));
    let whole = piece.and_then(|piece| piece.whole.as_ref());
    let context = Context {
        message: row.message(),
        direction: row.direction(),
        asked: pairing.asked(),
        missing: whole.map_or(d.cut as usize, Whole::missing),
        continues: pairing.continues(),
        layout: piece.map(|piece| piece.split.layout),
        secrets,
    };
    let (mut tree, mut decoded) = (Tree::default(), Decoded::default());
    let message = Message { id, piece, unreadable: row.is_unreadable() };
    message.decode(bytes, &context, &mut tree, &mut decoded);
    let diagnosis = kept.and_then(|kept| kept.diagnosis.clone());
    report.packet(&Packet {
        datagram: d,
        bytes,
        piece,
        id,
        message: row.message(),
        step: row.step(),
        direction: row.direction(),
        level: row.level(),
        server_index: row.server(),
        asked_server: kept.and_then(|kept| kept.asked_server),
        pairing: &pairing,
        decoded: &decoded,
        listener: &AnyListener::Tree(tree),
        raised: &Raised::default(),
        findings,
        more_findings: kept.map_or(0, |kept| kept.more_findings),
        examined: &diagnosis.map_or(Examined::Clean, |diagnosis| Examined::Explained(Box::new(diagnosis))),
        unreadable: row.is_unreadable(),
    })
}
