//! Between the capture program and the parser: counts whole records, saves them, and knows where `-c` ends.
//!
//! ```text
//!  held:  [ whole records, to be written | part of a record ]
//!         0                          whole
//! ```

use crate::capture::{Cut, Cutter};
use crate::cli::outcome::why;
use crate::cli::output::folder;
use crate::report::shown;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Whole records are written at the latest when there are so many bytes of them,
const MOST: usize = 256 * 1024;
/// or when the last writing is that long ago.
const LATEST: Duration = Duration::from_secs(1);

/// Sees every byte that the parser sees.
#[derive(Debug)]
pub struct Records {
    cutter: Cutter,
    /// Where they are saved. The file is made when there is something to save: a capture that cannot begin harms none.
    path: Option<PathBuf>,
    file: Option<File>,
    /// Bytes in the file, all of them of whole records.
    written: u64,
    /// How many packets may pass.
    limit: Option<u64>,
    held: Vec<u8>,
    whole: usize,
    /// Packets seen whole.
    packets: u64,
    /// The bytes can no longer be told apart.
    damaged: bool,
    /// Why nothing is saved any more.
    pub failed: Option<String>,
    last: Instant,
}

impl Records {
    /// Saves to `path`, and lets `limit` packets pass.
    ///
    /// # Errors
    /// When no file can be made there.
    pub fn new(path: Option<PathBuf>, limit: Option<u64>) -> Result<Records, String> {
        if let Some(path) = &path {
            let there = match fs::metadata(folder(path)) {
                Ok(it) if !it.is_dir() => Err(io::ErrorKind::NotADirectory.into()),
                Ok(_) if path.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
                other => other.map(drop),
            };
            there.map_err(|e| not_saved(path, &e))?;
        }
        Ok(Records {
            cutter: Cutter::default(),
            path,
            file: None,
            written: 0,
            limit,
            held: vec![],
            whole: 0,
            packets: 0,
            damaged: false,
            failed: None,
            last: Instant::now(),
        })
    }

    /// Takes in what has been read. Gives how many bytes of it may pass: fewer than all where the capture
    /// has as many packets as it should have.
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
        if self.whole >= MOST || self.last.elapsed() >= LATEST {
            self.flush();
        }
        pass
    }

    /// Writes the whole records that are held.
    pub fn flush(&mut self) {
        self.last = Instant::now();
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
            // Only whole records, also on a full disk; a device has no length to go back to.
            let _ = file.set_len(self.written);
            return Err(not_saved(path, &e));
        }
        self.written += records.len() as u64;
        Ok(())
    }

    /// Whether as many packets have passed as there should be.
    pub fn is_enough(&self) -> bool {
        self.limit.is_some_and(|limit| self.packets >= limit)
    }

    /// Bytes of a record whose end has not come.
    pub fn part(&self) -> usize {
        self.held.len() - self.whole
    }
}

fn not_saved(path: &Path, e: &io::Error) -> String {
    format!("The capture cannot be saved to \"{}\": {}.", shown(&path.to_string_lossy()), why(e))
}
