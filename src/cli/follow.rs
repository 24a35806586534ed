//! `--follow`: reads files that grow, and directories that get new files.

use super::diagnostics::note;
use super::inputs::{Input, Inputs, open};
use super::interrupt;
use super::system::{self, FileId, display_name};
use super::wildcards;
use crate::capture::{Error, Source};
use flate2::Crc;
use hashbrown::{HashMap, HashSet};
use std::fs::{File, Metadata};
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime};

/// Pause between two reads when no new data has come.
const PAUSE: Duration = Duration::from_millis(100);
/// Time between two checks whether the file was replaced or a newer one exists.
const CHECK_INTERVAL: Duration = Duration::from_millis(500);

/// Maximum number of files remembered, some 200 bytes each. Beyond it, files that no longer exist are forgotten, because a ring
/// of files may be followed for years. A forgotten file that comes back is read again.
const MAX_REMEMBERED: usize = 65_536;

/// The followed paths, and the files that have been read.
#[derive(Clone, Debug)]
pub struct Follow {
    paths: Vec<PathBuf>,
    /// Files that have been read.
    read_files: HashMap<FileId, FollowedFile>,
    /// With more files than this, those that no longer exist are forgotten.
    forget_above: usize,
}

impl Follow {
    /// Starts following; no file has been read yet.
    pub fn new(paths: Vec<PathBuf>) -> Follow {
        Follow { paths, read_files: HashMap::new(), forget_above: MAX_REMEMBERED }
    }

    /// Opens the last of the existing files. Reading it does not end at its current end, but when the file has been replaced or
    /// a newer one exists.
    ///
    /// # Errors
    /// As [`Source::open`].
    pub fn open(&mut self, input: &mut Input) -> Result<Source, Error> {
        let followed = FollowedFile::default();
        self.read_files.extend(FileId::at(&input.path).map(|(id, _)| (id, followed.clone())));
        let (path, follow) = (input.path.clone(), self.clone());
        let growing = |file: File| -> Box<dyn Read + Send> {
            interrupt::finish_first();
            let id = FileId::of(&file);
            Box::new(Growing { file, path, id, follow, followed, at_end: false, last_check: Instant::now() })
        };
        match is_file(&input.path) {
            true => Source::open_through(&input.path, growing),
            false => input.open(&mut open),
        }
    }

    /// Records that a file has been read to its end.
    pub fn mark_read(&mut self, path: &Path) {
        self.read_files
            .extend(FileId::at(path).map(|(id, data)| (id, FollowedFile::whole_file(path, &data))));
        if self.read_files.len() > self.forget_above {
            self.forget();
        }
    }

    /// Forgets the files that no longer exist.
    fn forget(&mut self) {
        let found = Inputs::find(self.paths.iter(), true).list;
        let existing: HashSet<_> =
            found.iter().filter_map(|input| Some(FileId::at(&input.path)?.0)).collect();
        self.read_files.retain(|id, _| existing.contains(id));
        // If many files still exist, the limit grows, so that this does not happen again after every file.
        self.forget_above = self.forget_above.max(2 * self.read_files.len());
    }

    /// Waits for new files and returns them in order. Returns nothing after a signal, or if no new file can come.
    pub fn wait_for_files(&mut self) -> Vec<Input> {
        while interrupt::caught().is_none() && self.paths.iter().any(|path| may_appear(path)) {
            let new = self.new_files();
            if !new.is_empty() {
                return new;
            }
            sleep(PAUSE);
        }
        vec![]
    }

    fn new_files(&self) -> Vec<Input> {
        let mut inputs = Inputs::find(self.paths.iter(), true);
        inputs.list.retain(|input| {
            let path = &input.path;
            FileId::at(path).is_some_and(|(id, data)| {
                self.read_files.get(&id).is_none_or(|followed| followed.has_changed(path, &data))
            })
        });
        inputs.order(false);
        inputs.list
    }
}

/// Whether a new file can come at a named path.
fn may_appear(path: &Path) -> bool {
    path.is_dir() || is_file(path) || wildcards::has_wildcards(path)
}

fn is_file(path: &Path) -> bool {
    system::metadata(path).is_ok_and(|data| data.is_file())
}

/// A file that may grow.
struct Growing {
    file: File,
    path: PathBuf,
    id: Option<FileId>,
    follow: Follow,
    /// The part that has been read.
    followed: FollowedFile,
    /// Whether no more will be written to it.
    at_end: bool,
    last_check: Instant,
}

impl Growing {
    /// Whether the file was renamed or rewritten, or a newer one exists.
    fn is_over(&mut self) -> bool {
        if self.last_check.elapsed() < CHECK_INTERVAL {
            return false;
        }
        self.last_check = Instant::now();
        let current = FileId::at(&self.path);
        let replaced = current.as_ref().is_some_and(|(id, _)| Some(*id) != self.id);
        let rewritten =
            !replaced && current.is_some_and(|(_, data)| self.followed.has_changed(&self.path, &data));
        if rewritten {
            let name = display_name(&self.path);
            note(&format_args!("{name}: it was begun anew, and is read from its beginning."));
        }
        replaced || rewritten || !self.follow.new_files().is_empty()
    }
}

impl Read for Growing {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.file.read(buffer)?;
        self.followed.record(buffer.get(..length).unwrap_or_default());
        if length > 0 || self.at_end || interrupt::caught().is_some() {
            return Ok(length);
        }
        // Sets `at_end` but does not end the reading yet: data written just before must still be read.
        self.at_end = self.is_over();
        if !self.at_end {
            sleep(PAUSE);
        }
        Err(ErrorKind::Interrupted.into())
    }
}

/// How many of the first bytes identify a file. It must include the time of the first packet, which in pcapng follows the
/// descriptions of program and interfaces, which are the same in all files of a ring.
const MAX_HEAD: u32 = 4096;

/// The part of a file that was read; clones share it.
#[derive(Clone, Debug, Default)]
pub struct FollowedFile(Arc<Mutex<ReadState>>);

/// The first bytes of the file, and how far it was read.
#[derive(Debug, Default)]
struct ReadState {
    bytes: u64,
    /// Checksum and number of the file's first bytes.
    head: Crc,
    /// Length and modification time when the file was last found unchanged.
    last_seen: Option<(u64, Option<SystemTime>)>,
}

impl FollowedFile {
    /// Marks everything that the file contains now as read.
    pub fn whole_file(path: &Path, data: &Metadata) -> FollowedFile {
        let followed = FollowedFile::default();
        followed.get().head = head(path, MAX_HEAD);
        followed.get().bytes = data.len();
        followed
    }

    /// Records that further bytes have been read.
    pub fn record(&self, bytes: &[u8]) {
        let mut read = self.get();
        add(&mut read.head, bytes);
        read.bytes = read.bytes.saturating_add(bytes.len() as u64);
    }

    /// Whether the file at this path, which has this metadata, is another one than the file that was read, or was rewritten.
    pub fn has_changed(&self, path: &Path, data: &Metadata) -> bool {
        let mut read = self.get();
        let now = Some((data.len(), data.modified().ok()));
        if read.last_seen == now {
            return false; // not modified since
        }
        let current = head(path, read.head.amount());
        let same_head = (current.amount(), current.sum()) == (read.head.amount(), read.head.sum());
        let changed = data.len() < read.bytes || !same_head;
        if !changed {
            read.last_seen = now;
        }
        changed
    }

    fn get(&self) -> MutexGuard<'_, ReadState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Adds the bytes that follow to the first bytes of a file, up to [`MAX_HEAD`].
fn add(head: &mut Crc, bytes: &[u8]) {
    let room = MAX_HEAD.saturating_sub(head.amount()) as usize;
    head.update(bytes.get(..room).unwrap_or(bytes));
}

/// The first bytes of a file, or fewer if it is shorter or cannot be read.
fn head(path: &Path, limit: u32) -> Crc {
    let (mut bytes, mut head) = (vec![], Crc::new());
    let file = File::open(path).map(|file| file.take(limit.into()));
    let _ = file.and_then(|mut file| file.read_to_end(&mut bytes));
    add(&mut head, &bytes);
    head
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn missing_files_are_forgotten_above_the_limit() {
        let folder = tempfile::tempdir().unwrap();
        let path = |n: u32| folder.path().join(format!("{n}.pcap"));
        let mut follow = Follow::new(vec![folder.path().to_owned()]);
        assert_eq!(follow.forget_above, 65_536);
        follow.forget_above = 4;
        let read = |follow: &mut Follow, n| {
            fs::write(path(n), n.to_string()).unwrap();
            follow.mark_read(&path(n));
        };
        (1..=4).for_each(|n| read(&mut follow, n));
        // Renamed instead of removed, so that their inode numbers are not reused.
        (1..=3).for_each(|n| fs::rename(path(n), folder.path().join(format!("{n}.old"))).unwrap());
        assert_eq!(follow.read_files.len(), 4);
        read(&mut follow, 5);
        assert_eq!((follow.read_files.len(), follow.forget_above), (2, 4));
        assert!(follow.new_files().is_empty(), "what is there has been read");
        (6..=8).for_each(|n| read(&mut follow, n));
        assert_eq!((follow.read_files.len(), follow.forget_above), (5, 10), "all of them are there");
        fs::rename(folder.path().join("1.old"), path(1)).unwrap();
        let new = follow.new_files();
        assert!(new.len() == 1 && new[0].path == path(1), "{new:?}");
    }

    #[test]
    fn a_file_has_changed_if_it_is_shorter_or_its_first_bytes_differ() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let write = |text: &str| {
            fs::write(&path, text).unwrap();
            fs::metadata(&path).unwrap()
        };
        let data = write("head and a packet");
        let (all, some) = (FollowedFile::whole_file(&path, &data), FollowedFile::default());
        some.record(b"head");
        some.record(b" and a");
        assert!(!all.has_changed(&path, &data) && !some.has_changed(&path, &data));
        let data = write("head and a packet and one more");
        assert!(!all.has_changed(&path, &data) && !some.has_changed(&path, &data));
        let data = write("head and a");
        assert!(all.has_changed(&path, &data) && !some.has_changed(&path, &data));
        let data = write("head of another capture, and it is longer");
        assert!(all.has_changed(&path, &data) && some.has_changed(&path, &data));
        // The files of a ring begin alike, and a new one may get the inode number of one that was deleted.
        let begin = "the same program, the same interfaces ".repeat(20);
        let data = write(&(begin.clone() + "first packet"));
        let all = FollowedFile::whole_file(&path, &data);
        assert!(!all.has_changed(&path, &data));
        let data = write(&(begin + "packet of another file"));
        assert!(all.has_changed(&path, &data));
    }

    #[test]
    fn only_the_first_bytes_are_hashed() {
        let followed = FollowedFile::default();
        followed.record(&[1; 4000]);
        followed.record(&[2; 4000]);
        let (read, mut head) = (followed.get(), Crc::new());
        head.update(&[[1; 4000], [2; 4000]].concat()[..4096]);
        assert_eq!((read.head.amount(), read.bytes), (MAX_HEAD, 8000));
        assert_eq!(read.head.sum(), head.sum());
    }
}
