//! The pipes of the capture program on Windows, where a process cannot wait for two of them: a thread reads each.

use super::program::Pipe;
use std::collections::VecDeque;
use std::io::{self, Read};
#[cfg(windows)]
use std::process::Child;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

/// How many bytes a thread reads at once.
const PART: usize = 64 * 1024;
/// How many parts wait to be taken before the threads stop reading.
const WAITING: usize = 16;
/// How long to wait at once: Ctrl-C does not end the wait.
const LONGEST: Duration = Duration::from_millis(100);

/// What a thread read; nothing at the end of its pipe.
type Part = io::Result<Vec<u8>>;

/// A pipe: what has arrived of it and has not been taken.
#[derive(Debug, Default)]
struct Arrived {
    parts: VecDeque<Part>,
    /// How many bytes of the first part have been taken.
    taken: usize,
    has_ended: bool,
}

impl Arrived {
    /// Adds a part, unless nobody reads the pipe any more.
    fn add(&mut self, part: Part) {
        if !self.has_ended {
            self.parts.push_back(part);
        }
    }
}

/// The pipes.
#[derive(Debug)]
pub struct Pipes {
    parts: Receiver<(Pipe, Part)>,
    packets: Arrived,
    messages: Arrived,
}

impl Pipes {
    /// Takes the pipes of a program, if it has both.
    #[cfg(windows)]
    pub fn of(child: &mut Child) -> Option<Pipes> {
        Some(Pipes::new(child.stdout.take()?, child.stderr.take()?))
    }

    /// Starts to read.
    fn new(packets: impl Read + Send + 'static, messages: impl Read + Send + 'static) -> Pipes {
        let (sender, parts) = sync_channel(WAITING);
        let other = sender.clone();
        thread::spawn(move || forward(Pipe::Packets, packets, &sender));
        thread::spawn(move || forward(Pipe::Messages, messages, &other));
        Pipes { parts, packets: Arrived::default(), messages: Arrived::default() }
    }

    /// Waits until a pipe has data or ends, and returns which do: packets, messages. Returns early if `max_wait` passes.
    ///
    /// # Errors
    /// None; elsewhere the system may be unable to wait.
    pub fn wait(&mut self, max_wait: Duration) -> io::Result<[bool; 2]> {
        let until = Instant::now() + max_wait.min(LONGEST);
        loop {
            let ready = [&self.packets, &self.messages].map(|it| !it.has_ended && !it.parts.is_empty());
            let left = until.saturating_duration_since(Instant::now());
            if ready.contains(&true) || left.is_zero() {
                return Ok(ready);
            }
            match self.parts.recv_timeout(left) {
                Ok((pipe, part)) => self.arrived(pipe).add(part),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => thread::sleep(left),
            }
        }
    }

    /// Reads what is there; 0 bytes if the pipe has ended.
    ///
    /// # Errors
    /// When reading failed; the pipe counts as ended then.
    pub fn read(&mut self, pipe: Pipe, buffer: &mut [u8]) -> io::Result<usize> {
        let arrived = self.arrived(pipe);
        if arrived.has_ended {
            return Ok(0);
        }
        let Some(Ok(part)) = arrived.parts.front() else {
            let ended = arrived.parts.pop_front();
            arrived.has_ended = ended.is_some();
            return ended.map_or(Err(io::ErrorKind::Interrupted.into()), |error| error.map(|_| 0));
        };
        let length = part.get(arrived.taken..).unwrap_or_default().read(buffer)?;
        arrived.taken += length;
        if arrived.taken >= part.len() {
            arrived.has_ended = part.is_empty();
            arrived.parts.pop_front();
            arrived.taken = 0;
        }
        Ok(length)
    }

    /// Whether a pipe has not ended.
    pub fn is_open(&mut self, pipe: Pipe) -> bool {
        !self.arrived(pipe).has_ended
    }

    /// Reads no more of a pipe.
    pub fn close(&mut self, pipe: Pipe) {
        *self.arrived(pipe) = Arrived { has_ended: true, ..Arrived::default() };
    }

    fn arrived(&mut self, pipe: Pipe) -> &mut Arrived {
        match pipe {
            Pipe::Packets => &mut self.packets,
            Pipe::Messages => &mut self.messages,
        }
    }
}

/// Reads a pipe to its end, and sends what is in it.
fn forward(pipe: Pipe, mut input: impl Read, to: &SyncSender<(Pipe, Part)>) {
    let mut buffer = vec![0; PART];
    loop {
        let part = match input.read(&mut buffer) {
            Ok(length) => Ok(buffer.get(..length).unwrap_or_default().to_vec()),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(e) => Err(e),
        };
        let is_last = part.as_ref().map_or(true, Vec::is_empty);
        if to.send((pipe, part)).is_err() || is_last {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Cursor, Write, pipe};

    /// Reads both pipes to their ends, in small pieces; what was read of each.
    fn all(pipes: &mut Pipes) -> [Vec<u8>; 2] {
        let (mut all, mut buffer) = ([vec![], vec![]], [0; 1000]);
        while [Pipe::Packets, Pipe::Messages].iter().any(|pipe| pipes.is_open(*pipe)) {
            let ready = pipes.wait(Duration::from_secs(10)).unwrap();
            for pipe in [Pipe::Packets, Pipe::Messages] {
                if ready[pipe as usize] {
                    let length = pipes.read(pipe, &mut buffer).unwrap();
                    all[pipe as usize].extend_from_slice(&buffer[..length]);
                }
            }
        }
        all
    }

    #[test]
    fn both_pipes_are_read_to_their_ends() {
        let packets: Vec<u8> = (0..PART * 40).map(|it| it.to_le_bytes()[1]).collect();
        let mut pipes = Pipes::new(Cursor::new(packets.clone()), Cursor::new(b"a line\nanother".to_vec()));
        assert_eq!(all(&mut pipes), [packets, b"a line\nanother".to_vec()]);
    }

    #[test]
    fn a_silent_pipe_is_waited_for_no_longer_than_was_asked() {
        let (input, mut output) = pipe().unwrap();
        let mut pipes = Pipes::new(input, Cursor::new(vec![]));
        while pipes.is_open(Pipe::Messages) {
            assert!(!pipes.wait(Duration::from_secs(10)).unwrap()[0]);
            assert_eq!(pipes.read(Pipe::Messages, &mut [0; 9]).unwrap_or_default(), 0);
        }
        assert_eq!(pipes.wait(Duration::from_millis(5)).unwrap(), [false, false]);
        assert_eq!(pipes.read(Pipe::Packets, &mut [0; 9]).unwrap_err().kind(), io::ErrorKind::Interrupted);
        output.write_all(b"late").unwrap();
        drop(output);
        assert_eq!(all(&mut pipes), [b"late".to_vec(), vec![]]);
        assert_eq!(pipes.read(Pipe::Packets, &mut [0; 9]).unwrap(), 0);
    }

    #[test]
    fn a_closed_pipe_is_over() {
        let mut pipes = Pipes::new(Cursor::new(vec![1; PART * 40]), Cursor::new(b"words".to_vec()));
        pipes.close(Pipe::Packets);
        assert!(!pipes.is_open(Pipe::Packets));
        assert_eq!(all(&mut pipes), [vec![], b"words".to_vec()]);
    }
}
