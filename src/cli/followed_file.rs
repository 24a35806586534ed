//! A followed file: how much of it was read, and whether it is still the same file.
//!
//! Inode numbers are reused, and a program that restarts truncates its file and fills it again. So the length and the first
//! bytes are compared as well; they include the time stamp of the first packet.

use std::fs::{File, Metadata};
use std::io::Read;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

/// How many of the first bytes are remembered: the file header of pcap and the header of its first record, or most of the
/// section header of pcapng.
const MAX_HEAD: usize = 64;

/// The part of a file that was read; clones share it.
#[derive(Clone, Debug, Default)]
pub struct FollowedFile(Arc<Mutex<Begun>>);

/// The first bytes of the file, and how far it was read.
#[derive(Debug, Default)]
struct Begun {
    bytes: u64,
    head: Vec<u8>,
    /// Length and modification time when the file was last found to be the same.
    looked: Option<(u64, Option<SystemTime>)>,
}

impl FollowedFile {
    /// Marks everything that the file contains now as read.
    pub fn all(path: &Path, data: &Metadata) -> FollowedFile {
        let followed = FollowedFile::default();
        followed.note(&head(path, MAX_HEAD));
        followed.get().bytes = data.len();
        followed
    }

    /// Records that further bytes have been read.
    pub fn note(&self, bytes: &[u8]) {
        let mut read = self.get();
        let room = MAX_HEAD.saturating_sub(read.head.len());
        read.head.extend(bytes.iter().take(room));
        read.bytes = read.bytes.saturating_add(bytes.len() as u64);
    }

    /// Whether the file at this path, with this metadata, is another file than the one that was read, or was rewritten.
    pub fn is_other(&self, path: &Path, data: &Metadata) -> bool {
        let mut read = self.get();
        let now = Some((data.len(), data.modified().ok()));
        if read.looked == now {
            return false; // not modified since
        }
        let other = data.len() < read.bytes || head(path, read.head.len()) != read.head;
        if !other {
            read.looked = now;
        }
        other
    }

    fn get(&self) -> MutexGuard<'_, Begun> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The first bytes of a file, or fewer if it is shorter or cannot be read.
fn head(path: &Path, most: usize) -> Vec<u8> {
    let mut bytes = vec![];
    let file = File::open(path).map(|file| file.take(most as u64));
    let _ = file.and_then(|mut file| file.read_to_end(&mut bytes));
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

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
    }

    #[test]
    fn no_more_than_the_first_bytes_are_kept() {
        let followed = FollowedFile::default();
        followed.note(&[1; 50]);
        followed.note(&[2; 50]);
        let read = followed.get();
        assert_eq!((read.head.len(), read.bytes), (MAX_HEAD, 100));
    }
}
