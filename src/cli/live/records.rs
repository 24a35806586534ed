//! Passes bytes from the capture program to the parser. Counts and saves complete records, and stops the capture after the number
//! of packets given by `-c`.
//!
//! ```text
//!  buffer:  [ complete records, to be written | part of a record ]
//!           0                    complete_length
//! ```

use crate::capture::{Cut, Cutter};
use crate::cli::diagnostics::error_text;
use crate::cli::output::folder;
use crate::text::escape::escaped;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Complete records are written when the buffer has this many bytes of them,
const WRITE_SIZE: usize = 256 * 1024;
/// or when the last write was this long ago.
const WRITE_INTERVAL: Duration = Duration::from_secs(1);

/// Counts and saves the records in the bytes that pass to the parser.
#[derive(Debug, Default)]
pub struct Records {
    cutter: Cutter,
    /// Where records are saved. The file is created only when there is a record, so that a capture that fails to start
    /// overwrites nothing.
    path: Option<PathBuf>,
    file: Option<File>,
    /// Number of bytes in the file, which contains only complete records.
    written: u64,
    /// Maximum number of packets.
    limit: Option<u64>,
    buffer: Vec<u8>,
    complete_length: usize,
    /// Number of whole packets so far.
    packets: u64,
    /// Whether the records can no longer be told apart because the data is damaged.
    damaged: bool,
    /// Why saving has stopped.
    pub failed: Option<String>,
    /// When records were written last, or the capture began.
    last_write: Option<Instant>,
}

impl Records {
    /// Saves to `path` and lets `limit` packets pass.
    ///
    /// # Errors
    /// When no file can be created there.
    pub fn new(path: Option<PathBuf>, limit: Option<u64>) -> Result<Records, String> {
        if let Some(path) = &path {
            let folder_check = match fs::metadata(folder(path)) {
                Ok(it) if !it.is_dir() => Err(io::ErrorKind::NotADirectory.into()),
                Ok(_) if path.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
                other => other.map(drop),
            };
            folder_check.map_err(|e| not_saved(path, &e))?;
        }
        Ok(Records { path, limit, last_write: Some(Instant::now()), ..Records::default() })
    }

    /// Takes bytes that have been read, and returns how many of them are passed on. It is fewer than all of them when the maximum
    /// number of packets is reached.
    pub fn pass(&mut self, bytes: &[u8]) -> usize {
        if self.damaged || self.failed.is_some() {
            return bytes.len();
        }
        self.buffer.extend_from_slice(bytes);
        let mut pass = bytes.len();
        loop {
            match self.cutter.next(self.buffer.get(self.complete_length..).unwrap_or_default()) {
                Cut::Part => break,
                Cut::Damaged => {
                    self.damaged = true;
                    break;
                }
                Cut::Packet(_) if self.limit_reached() => {
                    pass = pass.saturating_sub(self.incomplete_length());
                    self.buffer.truncate(self.complete_length);
                    break;
                }
                Cut::Packet(len) => {
                    self.packets += 1;
                    self.complete_length += len;
                }
                Cut::Other(len) => self.complete_length += len,
            }
        }
        if self.complete_length >= WRITE_SIZE
            || self.last_write.is_some_and(|last_write| last_write.elapsed() >= WRITE_INTERVAL)
        {
            self.flush();
        }
        pass
    }

    /// Writes the complete records in the buffer.
    pub fn flush(&mut self) {
        self.last_write = Some(Instant::now());
        if self.complete_length > 0 && self.failed.is_none() {
            self.failed = self.write().err();
        }
        self.buffer.drain(..self.complete_length);
        self.complete_length = 0;
    }

    fn write(&mut self) -> Result<(), String> {
        let (Some(path), Some(records)) = (&self.path, self.buffer.get(..self.complete_length)) else {
            return Ok(());
        };
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
    pub fn limit_reached(&self) -> bool {
        self.limit.is_some_and(|limit| self.packets >= limit)
    }

    /// Number of bytes of an incomplete record.
    pub fn incomplete_length(&self) -> usize {
        self.buffer.len() - self.complete_length
    }
}

fn not_saved(path: &Path, e: &io::Error) -> String {
    format!("The capture cannot be saved to \"{}\": {}.", escaped(&path.to_string_lossy()), error_text(e))
}
