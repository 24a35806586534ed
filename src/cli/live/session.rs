//! The running capture program as an input: reads its pipe, saves what it reads, and stops the program.
//!
//! ```text
//!  Running ── signal, -a ──> Lingering ── packets under way ──> Stopped ── too long ──> Killed ── too long ──> over
//!     │                                     have arrived        (SIGINT)              (SIGKILL)
//!     └── the pipe ends ──> over                                   └── the pipe ends ──> over
//! ```

use super::advice;
use super::program::Program;
use super::records::Records;
use super::stderr::{Messages, Stderr};
use crate::capture::Time;
use crate::cli::clock::now;
use crate::cli::interrupt;
use crate::cli::read::QUIET;
use rustix::process::{Pid, Signal, kill_process_group};
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStderr, ChildStdout, Command, ExitStatus};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long packets may be under way from the interface to the pipe, besides what the program needs.
const UNDER_WAY: Duration = Duration::from_millis(100);
/// How long to wait at most for what was captured before the end and has not been read yet.
const BACKLOG: Duration = Duration::from_secs(5);
/// How long the program may pause, on a busy machine, while it still has packets.
const PAUSE: Duration = Duration::from_secs(1);
/// How long the program may take to end after SIGINT.
const GRACE: Duration = Duration::from_secs(3);
/// How long its pipe may stay open when it has been killed: another process may hold it.
const LAST: Duration = Duration::from_millis(500);

/// What becomes of the capture program.
#[derive(Clone, Copy, Debug)]
enum Phase {
    Running,
    /// The capture ended at that point in time, which is that time of day: what was captured before is read.
    Lingering(Instant, Time),
    /// It is killed at that time.
    Stopped(Instant),
    /// Its pipe is left at that time.
    Killed(Instant),
}

/// A capture under way.
pub struct Session {
    /// How long packets may be under way.
    delay: Duration,
    child: Child,
    out: ChildStdout,
    /// What the program says, before and after it is listened to.
    err: (Option<ChildStderr>, Option<Stderr>),
    records: Records,
    phase: Phase,
    until: Option<Instant>,
    /// When the last bytes came.
    last: Instant,
    /// Capture time of the last of them.
    reached: Time,
    /// Done when the first bytes have come, before they are parsed.
    begun: Option<Begun>,
    over: bool,
}

/// What is to be done when a capture has begun.
pub type Begun = Box<dyn FnOnce() + Send>;

/// How a capture ended.
#[derive(Debug)]
pub struct Ended {
    /// It was to end: by a signal, a time or a number of packets.
    pub asked: bool,
    /// The program was stopped, and did not end by itself.
    pub stopped: bool,
    /// How the program ended.
    pub status: Option<ExitStatus>,
    /// What it said.
    pub messages: Messages,
    /// Bytes of a last record that is not whole.
    pub part: usize,
    /// Why not everything is saved.
    pub unsaved: Option<String>,
}

impl Session {
    /// Starts the program.
    ///
    /// # Errors
    /// When it cannot be run.
    pub fn start(
        program: &Program,
        mut command: Command,
        records: Records,
        most: Option<Duration>,
        begun: Begun,
    ) -> Result<Session, String> {
        // In a process group of its own Ctrl-C does not reach it, and it ends when it has sent everything.
        let mut child = command.process_group(0).spawn().map_err(|e| advice::not_started(program, &e))?;
        let (Some(out), Some(err)) = (child.stdout.take(), child.stderr.take()) else {
            return Err("The capture program has no output.".into());
        };
        Ok(Session {
            delay: program.delay() + UNDER_WAY,
            child,
            out,
            err: (Some(err), None),
            records,
            phase: Phase::Running,
            until: most.map(|most| Instant::now() + most),
            last: Instant::now(),
            reached: Time::UNKNOWN,
            begun: Some(begun),
            over: false,
        })
    }

    /// Goes from phase to phase as time passes; gives when to look again.
    fn steer(&mut self) -> Option<Instant> {
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
                Phase::Lingering(since, end) => self.lingers(since, end),
                Phase::Stopped(until) | Phase::Killed(until) => until,
            };
            if now < until {
                return Some(until);
            }
            self.phase = match self.phase {
                Phase::Running | Phase::Lingering(..) => {
                    self.signal(Signal::INT);
                    Phase::Stopped(Instant::now() + GRACE)
                }
                Phase::Stopped(_) => {
                    self.signal(Signal::KILL);
                    Phase::Killed(Instant::now() + LAST)
                }
                Phase::Killed(_) => {
                    self.over = true;
                    return None;
                }
            };
        }
    }

    /// The capture is over; what was captured may still be under way.
    fn linger(&mut self) {
        if matches!(self.phase, Phase::Running) {
            self.phase = Phase::Lingering(Instant::now(), now());
        }
    }

    /// Until when the program is left alone, the capture having ended at `since` and the time of day `end`.
    fn lingers(&self, since: Instant, end: Time) -> Instant {
        let least = since + self.delay;
        if self.reached >= end {
            return least;
        }
        // Where packets still came after the end, more of them may be behind.
        let pause = if self.last > since { PAUSE } else { self.delay };
        least.max((self.last + pause).min(since + BACKLOG))
    }

    /// What has been read was captured until then.
    pub fn reached(&mut self, time: Time) {
        self.reached = time;
    }

    /// Sends a signal to the program and what it has started. It has not been waited for, so its number is
    /// its own; that it has ended already is no error.
    fn signal(&self, signal: Signal) {
        if let Some(group) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            let _ = kill_process_group(group, signal);
        }
    }

    /// Reads what there is. Gives up after a while, by [`Interrupted`](io::ErrorKind::Interrupted).
    fn read(&mut self, space: &mut [u8]) -> io::Result<usize> {
        let next = self.steer();
        if self.over {
            return Ok(0);
        }
        if !interrupt::wait(&self.out, Duration::ZERO)? {
            self.records.flush();
            let most = next.map_or(QUIET, |next| next.saturating_duration_since(Instant::now()).min(QUIET));
            if !interrupt::wait(&self.out, most)? {
                return Err(io::ErrorKind::Interrupted.into());
            }
        }
        let got = self.out.read(space)?;
        self.last = Instant::now();
        if let Some(begun) = self.begun.take_if(|_| got > 0) {
            begun();
            self.listen();
        }
        let pass = self.records.pass(space.get(..got).unwrap_or_default());
        self.over = got == 0 || pass < got;
        Ok(pass)
    }

    /// Begins to listen. Not before rights are given up: a thread would keep those it began with.
    fn listen(&mut self) {
        if let Some(err) = self.err.0.take() {
            self.err.1 = Some(Stderr::listen(err));
        }
    }

    /// Stops the program if it still runs, waits for its end, and writes what is left to write.
    pub fn finish(&mut self) -> Ended {
        self.listen();
        let enough = self.records.is_enough();
        let asked = enough || interrupt::caught().is_some() || !matches!(self.phase, Phase::Running);
        self.records.flush();
        let part = self.records.part();
        if enough {
            self.linger(); // it has the same number to stop at, and what it says then is worth a moment
        }
        let status = self.wait();
        let messages = self.err.1.as_ref().map(|err| err.finish(LAST)).unwrap_or_default();
        let stopped = matches!(self.phase, Phase::Stopped(_) | Phase::Killed(_));
        Ended { asked, stopped, status, messages, part, unsaved: self.records.failed.clone() }
    }

    /// Waits for the program to end, reading its pipe so that it can.
    fn wait(&mut self) -> Option<ExitStatus> {
        self.over = false;
        let (mut space, mut open, pause) = (vec![0; 64 * 1024], true, Duration::from_millis(10));
        loop {
            if let Ok(Some(status)) = self.child.try_wait() {
                return Some(status);
            }
            self.linger(); // its pipe has ended and it has not, or nobody wants to read on
            self.steer();
            if self.over {
                return None;
            }
            if !open {
                std::thread::sleep(pause);
            } else if matches!(interrupt::wait(&self.out, pause), Ok(true)) {
                open = matches!(self.out.read(&mut space), Ok(1..));
            }
        }
    }
}

impl Drop for Session {
    /// Whatever ends the run, the program does not outlive it.
    fn drop(&mut self) {
        if !matches!(self.child.try_wait(), Ok(Some(_))) {
            self.signal(Signal::INT);
            self.wait();
        }
    }
}

/// A session that the parser reads and that whoever ends it finishes.
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
    fn read(&mut self, space: &mut [u8]) -> io::Result<usize> {
        self.session().read(space)
    }
}
