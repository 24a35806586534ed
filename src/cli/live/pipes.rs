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

/// The pipes; `None` once a pipe has ended.
#[derive(Debug)]
pub struct Pipes {
    packets: Option<File>,
    messages: Option<File>,
}

impl Pipes {
    /// Takes the pipes of a program, if it has both.
    pub fn of(child: &mut Child) -> Option<Pipes> {
        let packets = OwnedFd::from(child.stdout.take()?);
        let messages = OwnedFd::from(child.stderr.take()?);
        Some(Pipes { packets: Some(packets.into()), messages: Some(messages.into()) })
    }

    /// Waits until a pipe has data or ends, and returns which do: packets, messages. Returns early if `max_wait` passes or a signal
    /// arrives.
    ///
    /// # Errors
    /// When the system cannot wait.
    pub fn wait(&mut self, max_wait: Duration) -> io::Result<[bool; 2]> {
        let pipes = [&self.packets, &self.messages];
        let inputs: Vec<_> = pipes.into_iter().flatten().map(AsFd::as_fd).collect();
        let mut ready = interrupt::wait_for_one(&inputs, max_wait)?.into_iter();
        Ok(pipes.map(|pipe| pipe.is_some() && ready.next() == Some(true)))
    }

    /// Reads what is there; 0 bytes if the pipe has ended.
    ///
    /// # Errors
    /// When reading fails; the pipe counts as ended then.
    pub fn read(&mut self, pipe: Pipe, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(input) = self.pipe(pipe) else { return Ok(0) };
        let read = input.read(buffer);
        if matches!(read, Ok(0)) || read.as_ref().is_err_and(|e| e.kind() != io::ErrorKind::Interrupted) {
            self.close(pipe);
        }
        read
    }

    /// Whether a pipe has not ended.
    pub fn is_open(&mut self, pipe: Pipe) -> bool {
        self.pipe(pipe).is_some()
    }

    /// Reads no more of a pipe.
    pub fn close(&mut self, pipe: Pipe) {
        *self.pipe(pipe) = None;
    }

    fn pipe(&mut self, pipe: Pipe) -> &mut Option<File> {
        match pipe {
            Pipe::Packets => &mut self.packets,
            Pipe::Messages => &mut self.messages,
        }
    }
}
