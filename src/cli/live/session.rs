//! The running capture program as an input: reads its pipe, saves what it reads, and stops the program.
//!
//! ```text
//!  Running ── signal, -a ──> Lingering ── packets under way ──> Stopped ── too long ──> Killed ── too long ──> over
//!     │                                     have arrived        (SIGINT)              (SIGKILL)
//!     └── the pipe ends ──> over                                   └── the pipe ends ──> over
//! ```

use super::messages::{self, Listener, Messages};
#[cfg(unix)]
use super::pipes::Pipes;
use super::program::{self, Pipe, Program, Stop};
use super::records::Records;
#[cfg(windows)]
use super::threads::Pipes;
use crate::capture::Time;
use crate::cli::clock::now;
use crate::cli::interrupt;
use crate::cli::read::QUIET;
use std::io::{self, Read};
use std::process::{Child, Command, ExitStatus};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long a packet may take from the interface to the pipe, in addition to the program's own delay.
const UNDER_WAY: Duration = Duration::from_millis(100);
/// How long to wait at most for packets that were captured before the end but have not been read yet.
const BACKLOG: Duration = Duration::from_secs(5);
/// How long the program may pause on a busy machine while it still has packets.
const PAUSE: Duration = Duration::from_secs(1);
/// How long the program may take to end after SIGINT.
const GRACE: Duration = Duration::from_secs(3);
/// How long to wait for the end of its pipe after it has been killed. Another process may hold the pipe open.
const KILL_GRACE: Duration = Duration::from_millis(500);

/// How often to look whether the program has ended.
const POLL: Duration = Duration::from_millis(10);

/// The state of the capture program.
#[derive(Clone, Copy, Debug)]
enum Phase {
    Running,
    /// The capture ended at this point in time and this time of day. Packets captured before that are still read.
    Lingering(Instant, Time),
    /// SIGINT was sent; the program is killed at this time.
    Stopped(Instant),
    /// SIGKILL was sent; reading stops at this time.
    Killed(Instant),
}

/// A running capture.
pub struct Session {
    /// How long a packet may take to arrive.
    delay: Duration,
    child: Child,
    pipes: Pipes,
    listener: Listener,
    records: Records,
    phase: Phase,
    until: Option<Instant>,
    /// When the last bytes arrived.
    last: Instant,
    /// Capture time up to which everything has been read.
    reached: Time,
    /// Called when the first bytes have arrived, before they are parsed.
    on_start: Option<OnStart>,
    is_over: bool,
}

/// Called when the first bytes of a capture have arrived.
pub type OnStart = Box<dyn FnOnce() + Send>;

/// How a capture ended.
#[derive(Debug)]
pub struct Ended {
    /// Whether it ended as planned: by a signal, after a time, or after a number of packets.
    pub planned: bool,
    /// Whether the program was stopped and did not end by itself.
    pub stopped: bool,
    /// How the program ended.
    pub status: Option<ExitStatus>,
    /// The program's messages.
    pub messages: Messages,
    /// Number of bytes of an incomplete last record.
    pub incomplete: usize,
    /// Why not everything was saved.
    pub unsaved: Option<String>,
}

impl Session {
    /// Starts the program.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn start(
        program: &Program,
        command: Command,
        records: Records,
        max_duration: Option<Duration>,
        on_start: OnStart,
    ) -> Result<Session, String> {
        let mut child = program::start(command).map_err(|e| messages::not_started(program, &e))?;
        let Some(pipes) = Pipes::of(&mut child) else {
            return Err("The capture program has no output.".into());
        };
        Ok(Session {
            delay: program.delay() + UNDER_WAY,
            child,
            pipes,
            listener: Listener::default(),
            records,
            phase: Phase::Running,
            until: max_duration.map(|max_duration| Instant::now() + max_duration),
            last: Instant::now(),
            reached: Time::UNKNOWN,
            on_start: Some(on_start),
            is_over: false,
        })
    }

    /// Moves from phase to phase as time passes; returns when to check again.
    fn update_phase(&mut self) -> Option<Instant> {
        loop {
            let now = Instant::now();
            let until = match self.phase {
                Phase::Running => {
                    let is_over =
                        self.until.is_some_and(|until| now >= until) || self.records.failed.is_some();
                    if !is_over && interrupt::caught().is_none() {
                        return self.until;
                    }
                    self.linger();
                    continue;
                }
                Phase::Lingering(since, end) => self.linger_deadline(since, end),
                Phase::Stopped(until) | Phase::Killed(until) => until,
            };
            if now < until {
                return Some(until);
            }
            self.phase = match self.phase {
                Phase::Running | Phase::Lingering(..) => {
                    Stop::Politely.send(&mut self.child);
                    Phase::Stopped(Instant::now() + GRACE)
                }
                Phase::Stopped(_) => {
                    Stop::AtOnce.send(&mut self.child);
                    Phase::Killed(Instant::now() + KILL_GRACE)
                }
                Phase::Killed(_) => {
                    self.is_over = true;
                    return None;
                }
            };
        }
    }

    /// Ends the capture as planned.
    pub fn end(&mut self) {
        self.linger();
    }

    /// Ends the capture. Packets captured before may still be on their way.
    fn linger(&mut self) {
        if matches!(self.phase, Phase::Running) {
            self.phase = Phase::Lingering(Instant::now(), now());
        }
    }

    /// Until when to leave the program running after the capture ended at `since`, which is the time of day `end`.
    fn linger_deadline(&self, since: Instant, end: Time) -> Instant {
        let least = since + self.delay;
        if self.reached >= end {
            return least;
        }
        // If packets still arrived after the end, more may follow.
        let pause = if self.last > since { PAUSE } else { self.delay };
        least.max((self.last + pause).min(since + BACKLOG))
    }

    /// Records that everything captured until `time` has been read.
    pub fn reached(&mut self, time: Time) {
        self.reached = time;
    }

    /// Reads available bytes. After a while without any it returns [`Interrupted`](io::ErrorKind::Interrupted).
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let next = self.update_phase();
        if self.is_over {
            return Ok(0);
        }
        if !self.wait_for_packets(Duration::ZERO)? {
            self.records.flush();
            let max_wait =
                next.map_or(QUIET, |next| next.saturating_duration_since(Instant::now()).min(QUIET));
            if !self.wait_for_packets(max_wait)? {
                return Err(io::ErrorKind::Interrupted.into());
            }
        }
        let length = self.pipes.read(Pipe::Packets, buffer)?;
        self.last = Instant::now();
        if let Some(on_start) = self.on_start.take_if(|_| length > 0) {
            on_start();
        }
        let pass = self.records.pass(buffer.get(..length).unwrap_or_default());
        self.is_over = length == 0 || pass < length;
        Ok(pass)
    }

    /// Waits until the pipe of packets has data or ends, and reads messages meanwhile. Returns `false` if `max_wait` passes or a
    /// signal arrives before that.
    fn wait_for_packets(&mut self, max_wait: Duration) -> io::Result<bool> {
        let until = Instant::now() + max_wait;
        loop {
            let [packets, messages] = self.pipes.wait(until.saturating_duration_since(Instant::now()))?;
            if messages {
                self.listen();
            }
            if packets || !messages || Instant::now() >= until {
                return Ok(packets);
            }
        }
    }

    /// Reads the messages that are there.
    fn listen(&mut self) {
        let mut buffer = [0; 4096];
        let length = self.pipes.read(Pipe::Messages, &mut buffer).unwrap_or_default();
        self.listener.hear(buffer.get(..length).unwrap_or_default());
    }

    /// The messages of the program, which has ended. Another process may hold its standard error open, so the wait for the end of
    /// that is limited.
    fn last_messages(&mut self) -> Messages {
        let until = Instant::now() + KILL_GRACE;
        self.pipes.close(Pipe::Packets);
        while self.pipes.is_open(Pipe::Messages) {
            let left = until.saturating_duration_since(Instant::now());
            match self.pipes.wait(left) {
                Ok([_, true]) => self.listen(),
                Ok(_) if !left.is_zero() => {}
                _ => break,
            }
        }
        self.listener.finish()
    }

    /// Stops the program if it is still running, waits for its end, and writes the remaining records.
    pub fn finish(&mut self) -> Ended {
        let limit_reached = self.records.limit_reached();
        let planned = limit_reached || interrupt::caught().is_some() || !matches!(self.phase, Phase::Running);
        self.records.flush();
        let incomplete = self.records.incomplete_length();
        if limit_reached {
            self.linger(); // it stops at the same number, and its last messages are worth a short wait
        }
        let status = self.wait();
        let messages = self.last_messages();
        let stopped = matches!(self.phase, Phase::Stopped(_) | Phase::Killed(_));
        Ended { planned, stopped, status, messages, incomplete, unsaved: self.records.failed.clone() }
    }

    /// Waits for the program to end. Reads its pipes meanwhile, because it could block on a full one.
    fn wait(&mut self) -> Option<ExitStatus> {
        self.is_over = false;
        let mut buffer = vec![0; 64 * 1024];
        loop {
            if let Ok(Some(status)) = self.child.try_wait() {
                return Some(status);
            }
            self.linger(); // its pipe has ended but the program has not, or reading stopped early
            self.update_phase();
            if self.is_over {
                return None;
            }
            if matches!(self.wait_for_packets(POLL), Ok(true)) {
                let _ = self.pipes.read(Pipe::Packets, &mut buffer);
            }
        }
    }
}

impl Drop for Session {
    /// Stops the program, so that it does not outlive the run.
    fn drop(&mut self) {
        if !matches!(self.child.try_wait(), Ok(Some(_))) {
            Stop::Politely.send(&mut self.child);
            self.wait();
        }
    }
}

/// A session that is shared between the parser, which reads it, and the code that finishes it.
#[derive(Clone)]
pub struct Shared(Arc<Mutex<Session>>);

impl Shared {
    /// Shares a session.
    pub fn new(session: Session) -> Shared {
        Shared(Arc::new(Mutex::new(session)))
    }

    /// The session.
    pub fn session(&self) -> MutexGuard<'_, Session> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Read for Shared {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.session().read(buffer)
    }
}
