//! `--follow`: reads files that grow, and directories that get new files.

use super::diagnostics::note;
use super::inputs::{Input, Inputs, open};
use super::interrupt;
use super::system::{self, Node, name};
use super::wildcards;
use flate2::Crc;
use hashbrown::{HashMap, HashSet};
use qdissect::capture::{Error, Source};
use std::fs::{File, Metadata};
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime};

/// Pause between two reads when no new data has come.
const PAUSE: Duration = Duration::from_millis(100);
/// Time between two checks for a newer file.
const LOOK: Duration = Duration::from_millis(500);

/// Maximum number of files remembered, some 200 bytes each. Beyond it, files that no longer exist are forgotten, because a ring
/// of files may be followed for years. A forgotten file that comes back is read again.
const MAX_REMEMBERED: usize = 65_536;

/// The followed paths, and the files that have been read.
#[derive(Clone, Debug)]
pub struct Follow {
    named: Vec<PathBuf>,
    /// Files that have been read.
    read: HashMap<Node, FollowedFile>,
    /// When more files than this are remembered, those that no longer exist are forgotten.
    most: usize,
}

impl Follow {
    /// Starts following; no file has been read yet.
    pub fn new(named: Vec<PathBuf>) -> Follow {
        Follow { named, read: HashMap::new(), most: MAX_REMEMBERED }
    }

    /// Opens the last of the existing files. Reading it does not end at its current end, but when the file has been replaced or
    /// a newer one exists.
    ///
    /// # Errors
    /// As [`Source::open`].
    pub fn open(&mut self, input: &mut Input) -> Result<Source, Error> {
        let followed = FollowedFile::default();
        self.read.extend(Node::at(&input.path).map(|(node, _)| (node, followed.clone())));
        let (path, rest) = (input.path.clone(), self.clone());
        let growing = |file: File| -> Box<dyn Read + Send> {
            interrupt::finish_first();
            let node = Node::of(&file);
            Box::new(Growing { file, path, node, rest, followed, over: false, looked: Instant::now() })
        };
        match is_file(&input.path) {
            true => Source::open_through(&input.path, growing),
            false => input.open(&mut open),
        }
    }

    /// Records that a file has been read to its end.
    pub fn done(&mut self, path: &Path) {
        self.read.extend(Node::at(path).map(|(node, data)| (node, FollowedFile::all(path, &data))));
        if self.read.len() > self.most {
            self.forget();
        }
    }

    /// Forgets the files that no longer exist.
    fn forget(&mut self) {
        let found = Inputs::find(self.named.iter(), true).list;
        let there: HashSet<_> = found.iter().filter_map(|input| Some(Node::at(&input.path)?.0)).collect();
        self.read.retain(|node, _| there.contains(node));
        // If many files still exist, the limit grows, so that this does not happen again after every file.
        self.most = self.most.max(2 * self.read.len());
    }

    /// Waits for new files and returns them in order. Returns nothing after a signal, or if no new file can come.
    pub fn more(&mut self) -> Vec<Input> {
        while interrupt::caught().is_none() && self.named.iter().any(|path| may_come(path)) {
            let new = self.new_files();
            if !new.is_empty() {
                return new;
            }
            sleep(PAUSE);
        }
        vec![]
    }

    fn new_files(&self) -> Vec<Input> {
        let mut inputs = Inputs::find(self.named.iter(), true);
        inputs.list.retain(|input| {
            let path = &input.path;
            Node::at(path).is_some_and(|(node, data)| {
                self.read.get(&node).is_none_or(|followed| followed.is_other(path, &data))
            })
        });
        inputs.order(false);
        inputs.list
    }
}

/// Whether a new file can come at a named path.
fn may_come(path: &Path) -> bool {
    path.is_dir() || is_file(path) || wildcards::any(path)
}

fn is_file(path: &Path) -> bool {
    system::metadata(path).is_ok_and(|data| data.is_file())
}

/// A file that may grow.
struct Growing {
    file: File,
    path: PathBuf,
    node: Option<Node>,
    rest: Follow,
    /// The part that has been read.
    followed: FollowedFile,
    /// Whether no more will be written to it.
    over: bool,
    looked: Instant,
}

impl Growing {
    /// Whether the file was renamed or rewritten, or a newer one exists.
    fn is_over(&mut self) -> bool {
        if self.looked.elapsed() < LOOK {
            return false;
        }
        self.looked = Instant::now();
        let there = Node::at(&self.path);
        let other = there.as_ref().is_some_and(|(node, _)| Some(*node) != self.node);
        let anew = !other && there.is_some_and(|(_, data)| self.followed.is_other(&self.path, &data));
        if anew {
            let name = name(&self.path);
            note(&format_args!("{name}: it was begun anew, and is read from its beginning."));
        }
        other || anew || !self.rest.new_files().is_empty()
    }
}

impl Read for Growing {
    fn read(&mut self, space: &mut [u8]) -> io::Result<usize> {
        let got = self.file.read(space)?;
        self.followed.note(space.get(..got).unwrap_or_default());
        if got > 0 || self.over || interrupt::caught().is_some() {
            return Ok(got);
        }
        // Sets `over` but does not end the reading yet: data written just before must still be read.
        self.over = self.is_over();
        if !self.over {
            sleep(PAUSE);
        }
        Err(ErrorKind::Interrupted.into())
    }
}

/// How many of the first bytes tell a file from another: in pcapng the time of the first packet follows the descriptions of
/// program and interfaces, which all files of a ring have in common.
const MAX_HEAD: u32 = 4096;

/// The part of a file that was read; clones share it.
#[derive(Clone, Debug, Default)]
pub struct FollowedFile(Arc<Mutex<Begun>>);

/// The first bytes of the file, and how far it was read.
#[derive(Debug, Default)]
struct Begun {
    bytes: u64,
    /// Checksum and number of its first bytes.
    head: Crc,
    /// Length and modification time when the file was last found to be the same.
    looked: Option<(u64, Option<SystemTime>)>,
}

impl FollowedFile {
    /// Marks everything that the file contains now as read.
    pub fn all(path: &Path, data: &Metadata) -> FollowedFile {
        let followed = FollowedFile::default();
        followed.get().head = head(path, MAX_HEAD);
        followed.get().bytes = data.len();
        followed
    }

    /// Records that further bytes have been read.
    pub fn note(&self, bytes: &[u8]) {
        let mut read = self.get();
        add(&mut read.head, bytes);
        read.bytes = read.bytes.saturating_add(bytes.len() as u64);
    }

    /// Whether the file at this path, with this metadata, is another file than the one that was read, or was rewritten.
    pub fn is_other(&self, path: &Path, data: &Metadata) -> bool {
        let mut read = self.get();
        let now = Some((data.len(), data.modified().ok()));
        if read.looked == now {
            return false; // not modified since
        }
        let now_there = head(path, read.head.amount());
        let alike = (now_there.amount(), now_there.sum()) == (read.head.amount(), read.head.sum());
        let other = data.len() < read.bytes || !alike;
        if !other {
            read.looked = now;
        }
        other
    }

    fn get(&self) -> MutexGuard<'_, Begun> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Adds the bytes that follow to the first bytes of a file, up to [`MAX_HEAD`].
fn add(head: &mut Crc, bytes: &[u8]) {
    let room = MAX_HEAD.saturating_sub(head.amount()) as usize;
    head.update(bytes.get(..room).unwrap_or(bytes));
}

/// The first bytes of a file, or fewer if it is shorter or cannot be read.
fn head(path: &Path, most: u32) -> Crc {
    let (mut bytes, mut head) = (vec![], Crc::new());
    let file = File::open(path).map(|file| file.take(most.into()));
    let _ = file.and_then(|mut file| file.read_to_end(&mut bytes));
    add(&mut head, &bytes);
    head
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn files_that_are_gone_are_forgotten_when_there_are_many() {
        let folder = tempfile::tempdir().unwrap();
        let path = |n: u32| folder.path().join(format!("{n}.pcap"));
        let mut follow = Follow::new(vec![folder.path().to_owned()]);
        assert_eq!(follow.most, 65_536);
        follow.most = 4;
        let read = |follow: &mut Follow, n| {
            fs::write(path(n), n.to_string()).unwrap();
            follow.done(&path(n));
        };
        (1..=4).for_each(|n| read(&mut follow, n));
        // Renamed instead of removed, so that their inode numbers are not reused.
        (1..=3).for_each(|n| fs::rename(path(n), folder.path().join(format!("{n}.old"))).unwrap());
        assert_eq!(follow.read.len(), 4);
        read(&mut follow, 5);
        assert_eq!((follow.read.len(), follow.most), (2, 4));
        assert!(follow.new_files().is_empty(), "what is there has been read");
        (6..=8).for_each(|n| read(&mut follow, n));
        assert_eq!((follow.read.len(), follow.most), (5, 10), "all of them are there");
        fs::rename(folder.path().join("1.old"), path(1)).unwrap();
        let new = follow.new_files();
        assert!(new.len() == 1 && new[0].path == path(1), "{new:?}");
    }

    #[test]
    fn a_file_is_another_one_when_it_is_shorter_or_begins_otherwise() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let write = |text: &str| {
            fs::write(&path, text).unwrap();
            fs::metadata(&path).unwrap()
        };
        let data = write("head and a packet");
        let (all, some) = (FollowedFile::all(&path, &data), FollowedFile::default());
        some.note(b"head");
        some.note(b" and a");
        assert!(!all.is_other(&path, &data) && !some.is_other(&path, &data));
        let data = write("head and a packet and one more");
        assert!(!all.is_other(&path, &data) && !some.is_other(&path, &data));
        let data = write("head and a");
        assert!(all.is_other(&path, &data) && !some.is_other(&path, &data));
        let data = write("head of another capture, and it is longer");
        assert!(all.is_other(&path, &data) && some.is_other(&path, &data));
        // The files of a ring begin alike, and a new one may get the inode number of one that was deleted.
        let begin = "the same program, the same interfaces ".repeat(20);
        let data = write(&(begin.clone() + "first packet"));
        let all = FollowedFile::all(&path, &data);
        assert!(!all.is_other(&path, &data));
        let data = write(&(begin + "packet of another file"));
        assert!(all.is_other(&path, &data));
    }

    #[test]
    fn no_more_than_the_first_bytes_are_kept() {
        let followed = FollowedFile::default();
        followed.note(&[1; 4000]);
        followed.note(&[2; 4000]);
        let (read, mut head) = (followed.get(), Crc::new());
        head.update(&[[1; 4000], [2; 4000]].concat()[..4096]);
        assert_eq!((read.head.amount(), read.bytes), (MAX_HEAD, 8000));
        assert_eq!(read.head.sum(), head.sum());
    }
}
