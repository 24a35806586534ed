//! An index of the packets of a run: a list knows each of them in 64 bytes, and opens one by reading its frame alone.
//!
//! ```text
//! pipeline ──> Indexer (a report) ──> Row          64 bytes a packet
//!                                └──> side tables  findings, and what of odd packets is not in their frame; bounded
//!
//! Row + the bytes of its frame ──> Packet, as the run has reported it ──> any report
//! ```
//! A packet that the side tables had no room for is found by reading the captures again, which [`Row::needs_reading_again`] says.

mod again;
mod findings;
mod indexer;
mod kept;
mod open;
mod overview;
mod row;
mod shown;
mod spool;

pub use again::Until;
pub use indexer::Indexer;
pub use open::{ReadBytes, Unopened};
pub use overview::{FoundRecord, Overview};
pub use row::Row;

use crate::capture::{CaptureInfo, Time};
use crate::check::Finding;
use crate::net::Tunnel;
use crate::report::{Files, Place};
use findings::FindingTable;
use hashbrown::HashMap;
use kept::Kept;
use spool::Memory;
use std::path::PathBuf;

/// Most findings kept, of all packets together; each takes 8 bytes.
pub const MAX_FINDINGS: usize = 1 << 20;
/// Most different findings kept.
pub const MAX_DISTINCT: usize = 32_768;
/// Most bytes kept of packets that are not in one frame, or about which more is known than their row holds.
pub const MAX_KEPT_BYTES: usize = 24 << 20;

/// Offsets from this one on are places in the file of [`Indexer::with_spool`] or in the memory of the index, counted from here.
pub const IN_SPOOL: u64 = 1 << 63;

/// A capture of the run.
#[derive(Debug)]
struct Capture {
    name: String,
    facts: CaptureInfo,
    before: u64,
    first: Time,
}

/// The packets of a run, in the order of their frames.
#[derive(Debug)]
pub struct Index {
    rows: Vec<Row>,
    most: usize,
    /// Number of packets to pass over before the first row, and of those that have been.
    before: u64,
    passed_over: u64,
    /// Number of packets for which there was no room.
    pub left_out: u64,
    /// Number of findings of packets for which there was no room.
    pub more_findings: u64,
    /// Frames of compressed captures, if no file keeps them.
    memory: Memory,
    findings: FindingTable,
    kept: HashMap<u32, Box<Kept>>,
    kept_bytes: usize,
    captures: Vec<Capture>,
    files: Files,
    tunnels: Vec<(u16, Box<[Tunnel]>)>,
    /// Interfaces of frames, each with its link type.
    origins: Vec<(u32, u16)>,
}

impl Index {
    /// An empty index of at most `most` packets; more are only counted.
    pub fn new(most: usize) -> Index {
        Index {
            rows: vec![],
            most: most.min(u32::MAX as usize),
            before: 0,
            passed_over: 0,
            left_out: 0,
            more_findings: 0,
            memory: Memory::default(),
            findings: FindingTable::default(),
            kept: HashMap::new(),
            kept_bytes: 0,
            captures: vec![],
            files: Files::default(),
            tunnels: vec![],
            origins: vec![],
        }
    }

    /// The same, but it begins after so many packets.
    pub fn after(self, before: u64) -> Index {
        Index { before, ..self }
    }

    /// The same, with so many bytes for the frames of compressed captures: it is full when there is no room for another one. For
    /// programs without a file for [`Indexer::with_spool`].
    pub fn with_room_for_frames(self, bytes: usize) -> Index {
        Index { memory: Memory::new(bytes), ..self }
    }

    /// The packets.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// The findings of a packet, as far as there was room for them.
    pub fn findings(&self, row: usize) -> impl Iterator<Item = Finding> {
        let frame = self.rows.get(row).map_or(0, |row| row.frame);
        self.findings.of(row, frame)
    }

    /// All findings kept, each with the index of its row, in the order of the rows. They do not say which frame holds their cause.
    pub fn all_findings(&self) -> impl Iterator<Item = (usize, &Finding)> {
        self.findings.all()
    }

    /// The index of the packet of a frame with this number in the run; `None` if there is none.
    pub fn of_frame(&self, frame: u64) -> Option<usize> {
        self.rows.binary_search_by_key(&frame, |row| row.frame).ok()
    }

    /// The capture of a frame with this number in the run, by index, and its number there.
    pub fn place(&self, frame: u64) -> Place {
        self.files.place(frame)
    }

    /// The frames of the fragments of a packet, by their numbers in the run; empty if it came in one frame.
    pub fn fragments(&self, row: usize) -> &[u64] {
        self.kept.get(&(row as u32)).map_or(&[], |kept| &kept.fragments)
    }

    /// The name of a capture.
    pub fn name(&self, file: usize) -> Option<&str> {
        self.captures.get(file).map(|capture| capture.name.as_str())
    }

    /// The path of a capture.
    pub fn path(&self, file: usize) -> Option<PathBuf> {
        let capture = self.captures.get(file)?;
        Some(capture.facts.strange_name.clone().unwrap_or_else(|| capture.name.clone().into()))
    }

    /// What is known about a capture.
    pub fn facts(&self, file: usize) -> Option<&CaptureInfo> {
        self.captures.get(file).map(|capture| &capture.facts)
    }

    /// The number of captures.
    pub fn files(&self) -> usize {
        self.captures.len()
    }

    /// Memory that it takes, in bytes, without what its tables have reserved ahead.
    pub fn size(&self) -> usize {
        self.rows.len() * size_of::<Row>() + self.findings.size() + self.kept_bytes + self.memory.size()
    }
}
