//! What `-w` and `-b` save: one file, or a row of files of which the last ones are kept.
//!
//! Every file begins with what it needs to be read alone: the file header of pcap, or the section header
//! and interface descriptions of pcapng. Only whole records are written, so that a file is readable
//! whatever ends the run.

use super::live_args::LiveArgs;
use super::run::why;
use super::say;
use jiff::Timestamp;
use qdissect::capture::Piece;
use qdissect::report::shown;
use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Most bytes remembered of what every file begins with; with more than that no further file is begun.
const MAX_HEAD: usize = 1024 * 1024;

/// The files of a capture.
#[derive(Debug)]
pub struct Ring {
    path: PathBuf,
    /// Bytes after which the next file begins.
    size: Option<u64>,
    /// Files kept.
    kept: Option<u32>,
    file: Option<File>,
    name: PathBuf,
    /// Bytes in the file, all of them of whole records.
    written: u64,
    number: u32,
    names: VecDeque<PathBuf>,
    /// What every file begins with.
    head: Vec<u8>,
}

impl Ring {
    /// The files that the user wants; none is made yet, so that a capture that cannot begin harms none.
    ///
    /// # Errors
    /// When no file can be made there.
    pub fn new(args: &LiveArgs) -> Result<Option<Ring>, String> {
        let Some(path) = args.common.save.write.clone() else { return Ok(None) };
        let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let there = match fs::metadata(folder) {
            Ok(it) if !it.is_dir() => Err(io::ErrorKind::NotADirectory.into()),
            Ok(_) if path.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
            other => other.map(drop),
        };
        there.map_err(|e| not_saved(&path, &e))?;
        Ok(Some(Ring {
            path,
            size: args.file_size(),
            kept: args.files_kept(),
            file: None,
            name: PathBuf::new(),
            written: 0,
            number: 0,
            names: VecDeque::new(),
            head: vec![],
        }))
    }

    /// Takes note of a piece that later files may have to begin with.
    pub fn see(&mut self, piece: Piece, bytes: &[u8]) {
        match piece {
            Piece::Start => self.head.clear(),
            Piece::Interface => {}
            Piece::Packet | Piece::Other => return,
        }
        if self.head.len() + bytes.len() <= MAX_HEAD {
            self.head.extend_from_slice(bytes);
        } else if self.size.take().is_some() {
            // No further file could be read alone.
            say(&format_args!(
                "qdissect: The interfaces of the capture are described in more than {MAX_HEAD} bytes, with which every \
                 file of the ring would have to begin: no further file is begun, and all that follows is saved to \
                 the present one.\n"
            ));
        }
    }

    /// Whether a packet belongs into the next file, `waiting` bytes being still to be written to this one.
    pub fn is_full(&self, waiting: u64) -> bool {
        let bytes = self.written + waiting;
        self.size.is_some_and(|size| bytes >= size) && bytes > self.head.len() as u64
    }

    /// Writes whole records.
    ///
    /// # Errors
    /// A sentence. What was written of them is taken back.
    pub fn write(&mut self, records: &[u8]) -> Result<(), String> {
        let written = self.file().and_then(|file| file.write_all(records));
        if let (Err(_), Some(file)) = (&written, &self.file) {
            // Only whole records, also on a full disk; a device has no length to go back to.
            let _ = file.set_len(self.written);
        }
        written.map_err(|e| not_saved(&self.name, &e))?;
        self.written += records.len() as u64;
        Ok(())
    }

    /// Begins the next file with what every file begins with.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub fn next(&mut self) -> Result<(), String> {
        self.file = None;
        let head = std::mem::take(&mut self.head);
        let written = self.write(&head);
        self.head = head;
        written
    }

    /// The open file; the first time a new one is made, and the oldest goes.
    fn file(&mut self) -> io::Result<&mut File> {
        if self.file.is_none() {
            self.number += 1;
            self.name = match self.size {
                Some(_) => numbered(&self.path, self.number, Timestamp::now()),
                None => self.path.clone(),
            };
            self.file = Some(File::create(&self.name)?);
            self.written = 0;
            self.names.push_back(self.name.clone());
            if self.kept.is_some_and(|most| self.names.len() > most as usize)
                && let Some(oldest) = self.names.pop_front()
            {
                fs::remove_file(oldest)?;
            }
            if self.kept.is_none() {
                self.names.clear(); // nobody will ask for them
            }
        }
        self.file.as_mut().ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

/// As dumpcap names them: `NAME_00001_20261120183000.pcapng`; the time is UTC.
fn numbered(path: &Path, number: u32, now: Timestamp) -> PathBuf {
    let mut name: OsString = path.file_stem().unwrap_or_default().to_owned();
    // Five digits, after which the numbers begin anew.
    name.push(format!("_{:05}_{}", number % 100_000, now.strftime("%Y%m%d%H%M%S")));
    if let Some(extension) = path.extension() {
        name.push(".");
        name.push(extension);
    }
    path.with_file_name(name)
}

fn not_saved(path: &Path, e: &io::Error) -> String {
    format!("The capture cannot be saved to \"{}\": {}.", shown(&path.to_string_lossy()), why(e))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_a_ring_are_named_as_dumpcap_names_them() {
        let now = "2026-11-20T18:30:00Z".parse().unwrap();
        let name = |path: &str, number| numbered(Path::new(path), number, now).to_str().unwrap().to_owned();
        assert_eq!(name("a/b.pcapng", 1), "a/b_00001_20261120183000.pcapng");
        assert_eq!(name("b.x.pcap", 100_002), "b.x_00002_20261120183000.pcap");
        assert_eq!(name("b", 7), "b_00007_20261120183000");
    }

    #[test]
    fn a_ring_whose_files_would_begin_with_too_much_has_no_further_file() {
        let ring = || Ring {
            path: PathBuf::new(),
            size: Some(1),
            kept: None,
            file: None,
            name: PathBuf::new(),
            written: 0,
            number: 0,
            names: VecDeque::new(),
            head: vec![],
        };
        for (more, goes_on) in [(0, true), (1, false)] {
            let mut ring = ring();
            ring.see(Piece::Start, &[0; 28]);
            ring.see(Piece::Packet, &[0; 1_000]);
            ring.see(Piece::Interface, &vec![0; MAX_HEAD - 28 + more]);
            assert_eq!(ring.head.len(), if goes_on { MAX_HEAD } else { 28 });
            assert_eq!(ring.is_full(MAX_HEAD as u64 + 1), goes_on);
        }
    }
}
