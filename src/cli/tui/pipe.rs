//! Copies what can be read only once, such as standard input, to a temporary file, so that it can be read again.

use crate::cli::interrupt;
use crate::cli::system;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// Pause between two looks at a pipe without new bytes.
const PAUSE: Duration = Duration::from_millis(20);

/// A copy that grows until its pipe ends.
#[derive(Debug)]
pub struct Pipe {
    /// The copy. Its position is moved by whoever reads, so that it is locked for each access.
    copy: Mutex<File>,
    length: AtomicU64,
    ended: AtomicBool,
    error: Mutex<Option<String>>,
}

impl Pipe {
    /// An empty copy.
    ///
    /// # Errors
    /// When no temporary file can be made.
    pub fn new() -> io::Result<Pipe> {
        Ok(Pipe {
            copy: Mutex::new(tempfile::tempfile()?),
            length: AtomicU64::new(0),
            ended: AtomicBool::new(false),
            error: Mutex::default(),
        })
    }

    /// Whether an input can be read only once.
    pub fn is_needed(path: &Path) -> bool {
        let is_other = || system::metadata(path).is_ok_and(|data| !data.is_file() && !data.is_dir());
        path.as_os_str() == "-" || is_other()
    }

    /// Begins to copy the input of this name.
    pub fn begin(self: &Arc<Self>, path: &Path) {
        let path = path.to_owned();
        self.begin_with(move || match path.to_str() {
            Some("-") => interrupt::stdin(),
            _ => Ok(interrupt::stoppable(File::open(path)?)),
        });
    }

    /// Begins to copy an input, which is opened by the thread that reads it.
    pub fn begin_with(
        self: &Arc<Self>,
        open: impl FnOnce() -> io::Result<Box<dyn Read + Send>> + Send + 'static,
    ) {
        let pipe = self.clone();
        thread::spawn(move || {
            if let Err(e) = open().and_then(|input| pipe.copy_all(input)) {
                *pipe.error.lock().unwrap_or_else(PoisonError::into_inner) = Some(e.to_string());
            }
            pipe.ended.store(true, Ordering::Release);
        });
    }

    fn copy_all(&self, mut input: Box<dyn Read + Send>) -> io::Result<()> {
        let mut buffer = vec![0; 64 << 10];
        loop {
            match input.read(&mut buffer) {
                Ok(0) => return Ok(()),
                Ok(length) => self.append(&buffer[..length])?,
                // Nothing has come for a while.
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
    }

    /// Appends bytes.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn append(&self, bytes: &[u8]) -> io::Result<()> {
        let mut copy = self.copy.lock().unwrap_or_else(PoisonError::into_inner);
        copy.seek(SeekFrom::End(0))?;
        copy.write_all(bytes)?;
        drop(copy);
        self.length.fetch_add(bytes.len() as u64, Ordering::Release);
        Ok(())
    }

    /// Reads bytes of the copy.
    ///
    /// # Errors
    /// When they are not there.
    pub fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let mut copy = self.copy.lock().unwrap_or_else(PoisonError::into_inner);
        copy.seek(SeekFrom::Start(offset))?;
        copy.read_exact(buffer)
    }

    /// Reads what there is of it by now.
    pub fn so_far(self: &Arc<Self>) -> Reader {
        self.reader(Arc::new(AtomicBool::new(true)))
    }

    /// Reads it from its beginning, and waits for what has not come yet, until `cancelled` is set. While nothing comes, it returns
    /// [`Interrupted`](io::ErrorKind::Interrupted) now and then.
    pub fn reader(self: &Arc<Self>, cancelled: Arc<AtomicBool>) -> Reader {
        Reader { pipe: self.clone(), at: 0, cancelled }
    }
}

/// Reads a copy while it grows.
pub struct Reader {
    pipe: Arc<Pipe>,
    at: u64,
    cancelled: Arc<AtomicBool>,
}

impl Read for Reader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let ended = self.pipe.ended.load(Ordering::Acquire);
        let ready = self.pipe.length.load(Ordering::Acquire) - self.at;
        if ready > 0 {
            let length = buffer.len().min(usize::try_from(ready).unwrap_or(usize::MAX));
            self.pipe.read_at(self.at, &mut buffer[..length])?;
            self.at += length as u64;
            return Ok(length);
        }
        if ended {
            let error = self.pipe.error.lock().unwrap_or_else(PoisonError::into_inner).clone();
            return error.map_or(Ok(0), |e| Err(io::Error::other(e)));
        }
        if self.cancelled.load(Ordering::Relaxed) {
            return Ok(0);
        }
        thread::sleep(PAUSE);
        Err(io::ErrorKind::Interrupted.into())
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_is_read_again_while_it_grows() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("fifo");
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        assert!(Pipe::is_needed(&path) && !Pipe::is_needed(folder.path()));
        let pipe = Arc::new(Pipe::new().unwrap());
        pipe.begin(&path);
        let mut writer = File::options().write(true).open(&path).unwrap();
        writer.write_all(b"first").unwrap();
        let mut reader = pipe.reader(Arc::default());
        let mut start = [0; 5];
        reader.read_exact(&mut start).unwrap();
        writer.write_all(b" second").unwrap();
        drop(writer);
        let mut rest = String::new();
        reader.read_to_string(&mut rest).unwrap();
        assert_eq!((&start, rest.as_str()), (b"first", " second"));
        let mut again = String::new();
        pipe.reader(Arc::default()).read_to_string(&mut again).unwrap();
        assert_eq!(again, "first second");
        let cancelled = pipe.read_at(3, &mut [0; 50]);
        assert!(cancelled.is_err(), "beyond its end");
    }
}
