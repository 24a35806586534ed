//! Sits between the capture program and the parser: counts and saves whole records, and stops the capture as `-c` demands.
//!
//! ```text
//!  held:  [ whole records, to be written | part of a record ]
//!         0                          whole
//! ```

use crate::cli::diagnostics::why;
use crate::cli::output::folder;
use qdissect::capture::{Cut, Cutter};
use qdissect::escape::escaped;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Whole records are written when this many bytes of them are held,
const MOST: usize = 256 * 1024;
/// or when the last write was this long ago.
const LATEST: Duration = Duration::from_secs(1);

/// Sees every byte on its way to the parser.
#[derive(Debug, Default)]
pub struct Records {
    cutter: Cutter,
    /// Where records are saved. The file is created only when there is a record, so that a capture that fails to start
    /// overwrites nothing.
    path: Option<PathBuf>,
    file: Option<File>,
    /// Number of bytes in the file, all of them in whole records.
    written: u64,
    /// Maximum number of packets.
    limit: Option<u64>,
    held: Vec<u8>,
    whole: usize,
    /// Number of whole packets so far.
    packets: u64,
    /// Whether the records can no longer be told apart because the data is damaged.
    damaged: bool,
    /// Why saving has stopped.
    pub failed: Option<String>,
    /// When records were written last, or the capture began.
    last: Option<Instant>,
}

impl Records {
    /// Saves to `path` and lets `limit` packets pass.
    ///
    /// # Errors
    /// When no file can be created there.
    pub fn new(path: Option<PathBuf>, limit: Option<u64>) -> Result<Records, String> {
        if let Some(path) = &path {
            let there = match fs::metadata(folder(path)) {
                Ok(it) if !it.is_dir() => Err(io::ErrorKind::NotADirectory.into()),
                Ok(_) if path.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
                other => other.map(drop),
            };
            there.map_err(|e| not_saved(path, &e))?;
        }
        Ok(Records { path, limit, last: Some(Instant::now()), ..Records::default() })
    }

    /// Takes bytes that have been read, and returns how many of them may pass on. It is fewer than all when the capture has
    /// reached its number of packets.
    pub fn pass(&mut self, bytes: &[u8]) -> usize {
        if self.damaged || self.failed.is_some() {
            return bytes.len();
        }
        self.held.extend_from_slice(bytes);
        let mut pass = bytes.len();
        loop {
            match self.cutter.next(self.held.get(self.whole..).unwrap_or_default()) {
                Cut::Part => break,
                Cut::Damaged => {
                    self.damaged = true;
                    break;
                }
                Cut::Packet(_) if self.is_enough() => {
                    pass = pass.saturating_sub(self.part());
                    self.held.truncate(self.whole);
                    break;
                }
                Cut::Packet(len) => {
                    self.packets += 1;
                    self.whole += len;
                }
                Cut::Other(len) => self.whole += len,
            }
        }
        if self.whole >= MOST || self.last.is_some_and(|last| last.elapsed() >= LATEST) {
            self.flush();
        }
        pass
    }

    /// Writes the whole records that are held.
    pub fn flush(&mut self) {
        self.last = Some(Instant::now());
        if self.whole > 0 && self.failed.is_none() {
            self.failed = self.write().err();
        }
        self.held.drain(..self.whole);
        self.whole = 0;
    }

    fn write(&mut self) -> Result<(), String> {
        let (Some(path), Some(records)) = (&self.path, self.held.get(..self.whole)) else { return Ok(()) };
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(File::create(path).map_err(|e| not_saved(path, &e))?),
        };
        if let Err(e) = file.write_all(records) {
            // Removes partial records, for example when the disk is full. A device cannot be truncated.
            let _ = file.set_len(self.written);
            return Err(not_saved(path, &e));
        }
        self.written += records.len() as u64;
        Ok(())
    }

    /// Whether the maximum number of packets has passed.
    pub fn is_enough(&self) -> bool {
        self.limit.is_some_and(|limit| self.packets >= limit)
    }

    /// Number of bytes of an incomplete record.
    pub fn part(&self) -> usize {
        self.held.len() - self.whole
    }
}

fn not_saved(path: &Path, e: &io::Error) -> String {
    format!("The capture cannot be saved to \"{}\": {}.", escaped(&path.to_string_lossy()), why(e))
}
