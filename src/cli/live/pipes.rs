//! The pipes of the capture program where a process can wait for several inputs. Messages are read along with the packets from the
//! start: a program that says more than its pipe holds would wait, and send no packets. A thread of its own for them would keep the
//! rights of its start.

use super::program::Pipe;
use crate::cli::interrupt;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::process::Child;
use std::time::Duration;

/// The pipes, by [`Pipe`]; `None` once a pipe has ended.
#[derive(Debug)]
pub struct Pipes([Option<File>; 2]);

impl Pipes {
    /// Takes the pipes of a program, if it has both.
    pub fn of(child: &mut Child) -> Option<Pipes> {
        let packets = OwnedFd::from(child.stdout.take()?);
        let messages = OwnedFd::from(child.stderr.take()?);
        Some(Pipes([packets, messages].map(|pipe| Some(pipe.into()))))
    }

    /// Waits until a pipe has data or ends, and returns which do, by [`Pipe`]. Returns early if `max_wait` passes or a signal arrives.
    ///
    /// # Errors
    /// When the system cannot wait.
    pub fn wait(&mut self, max_wait: Duration) -> io::Result<[bool; 2]> {
        let mut ready = [false; 2];
        let open = || self.0.iter().enumerate().filter_map(|(at, pipe)| Some((at, pipe.as_ref()?)));
        let inputs: Vec<_> = open().map(|(_, pipe)| pipe.as_fd()).collect();
        let found = interrupt::wait_for_one(&inputs, max_wait)?;
        for ((at, _), found) in open().zip(found) {
            ready.iter_mut().skip(at).take(1).for_each(|ready| *ready = found);
        }
        Ok(ready)
    }

    /// Reads what is there; 0 bytes if the pipe has ended.
    ///
    /// # Errors
    /// When reading fails; the pipe counts as ended then.
    pub fn read(&mut self, pipe: Pipe, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(input) = self.0.get_mut(pipe as usize).and_then(Option::as_mut) else { return Ok(0) };
        let read = input.read(buffer);
        if matches!(read, Ok(0)) || read.as_ref().is_err_and(|e| e.kind() != io::ErrorKind::Interrupted) {
            self.close(pipe);
        }
        read
    }

    /// Whether a pipe has not ended.
    pub fn is_open(&self, pipe: Pipe) -> bool {
        matches!(self.0.get(pipe as usize), Some(Some(_)))
    }

    /// Reads no more of a pipe.
    pub fn close(&mut self, pipe: Pipe) {
        self.0.iter_mut().skip(pipe as usize).take(1).for_each(|it| *it = None);
    }
}
