//! The running capture program as an input: reads its pipe, saves what it reads, and stops the program.
//!
//! ```text
//!  Running ── signal, -a ──> Lingering ── packets under way ──> Told ── too long ──> Killed ── too long ──> over
//!     │                                     have arrived       (SIGINT)             (SIGKILL)
//!     └── the pipe ends ──> over                                  └── the pipe ends ──> over
//! ```

use super::advice;
use super::program::Program;
use super::said::{Listening, Said};
use super::saver::Saver;
use super::stop;
use qdissect::capture::Time;
use rustix::process::{Pid, Signal, kill_process_group};
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStderr, ChildStdout, Command, ExitStatus};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

pub use super::read::QUIET;
/// How long packets may be under way from the interface to the pipe, besides what the program needs.
const UNDER_WAY: Duration = Duration::from_millis(100);
/// How long to wait at most for what was captured before the end and has not been read yet.
const BACKLOG: Duration = Duration::from_secs(5);
/// How long the program may pause, on a busy machine, while it still has packets.
const PAUSE: Duration = Duration::from_secs(1);
/// How long the program may take to end when it has been told to.
const GRACE: Duration = Duration::from_secs(3);
/// How long its pipe may stay open when it has been killed: another process may hold it.
const LAST: Duration = Duration::from_millis(500);

/// What becomes of the capture program.
#[derive(Clone, Copy, Debug)]
enum Phase {
    Running,
    /// Since that point in time it is to be told, when everything captured until that time of day has been
    /// read.
    Lingering(Instant, Time),
    /// It is to be killed at that time.
    Told(Instant),
    /// Its pipe is to be left at that time.
    Killed(Instant),
}

/// A capture under way.
pub struct Session {
    /// How long packets may be under way.
    delay: Duration,
    child: Child,
    out: ChildStdout,
    /// What the program says, until somebody listens.
    err: Option<ChildStderr>,
    listening: Option<Listening>,
    saver: Saver,
    phase: Phase,
    until: Option<Instant>,
    /// When the last bytes came.
    last: Instant,
    /// Capture time of the last of them.
    reached: Time,
    /// Done when the first bytes have come, before they are parsed.
    begun: Option<Begun>,
    ended: bool,
}

/// What is to be done when a capture has begun.
pub type Begun = Box<dyn FnOnce() + Send>;

/// How a capture ended.
#[derive(Debug)]
pub struct Ended {
    /// It was to end: by a signal, a time or a number of packets.
    pub asked: bool,
    /// It did not end by itself.
    pub told: bool,
    /// How the program ended.
    pub status: Option<ExitStatus>,
    /// What it said.
    pub said: Said,
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
        saver: Saver,
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
            err: Some(err),
            listening: None,
            saver,
            phase: Phase::Running,
            until: most.map(|most| Instant::now() + most),
            last: Instant::now(),
            reached: Time::UNKNOWN,
            begun: Some(begun),
            ended: false,
        })
    }

    /// Goes from phase to phase as time passes; gives when to look again.
    fn steer(&mut self) -> Option<Instant> {
        loop {
            let now = Instant::now();
            match self.phase {
                Phase::Running => {
                    let over = self.until.is_some_and(|until| now >= until) || self.saver.failed().is_some();
                    if !(over || stop::caught().is_some()) {
                        return self.until;
                    }
                    self.linger();
                }
                Phase::Told(until) | Phase::Killed(until) if now < until => return Some(until),
                Phase::Lingering(since, end) => match self.lingers(since, end) {
                    until if now < until => return Some(until),
                    _ => self.tell(),
                },
                Phase::Told(_) => self.kill(),
                Phase::Killed(_) => {
                    self.ended = true;
                    return None;
                }
            }
        }
    }

    /// The capture is over; what was captured may still be under way.
    fn linger(&mut self) {
        let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let end = Time::from_wide(i128::try_from(time.as_nanos()).unwrap_or(i128::MAX));
        self.phase = Phase::Lingering(Instant::now(), end);
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

    fn tell(&mut self) {
        self.signal(Signal::INT);
        self.phase = Phase::Told(Instant::now() + GRACE);
    }

    fn kill(&mut self) {
        self.signal(Signal::KILL);
        self.phase = Phase::Killed(Instant::now() + LAST);
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
        if self.ended {
            return Ok(0);
        }
        if !stop::wait(&self.out, Duration::ZERO)? {
            self.saver.flush();
            let most = next.map_or(QUIET, |next| next.saturating_duration_since(Instant::now()).min(QUIET));
            if !stop::wait(&self.out, most)? {
                return Err(io::ErrorKind::Interrupted.into());
            }
        }
        let got = self.out.read(space)?;
        self.ended = got == 0;
        self.last = Instant::now();
        if let Some(begun) = self.begun.take_if(|_| got > 0) {
            begun();
            self.listen();
        }
        let pass = self.saver.feed(space.get(..got).unwrap_or_default());
        self.ended |= pass < got;
        Ok(pass)
    }

    /// Begins to listen. Not before rights are given up: a thread would keep those it began with.
    fn listen(&mut self) {
        if let Some(err) = self.err.take() {
            self.listening = Some(Listening::new(err));
        }
    }

    /// Stops the program if it still runs, waits for its end, and writes what is left to write.
    pub fn finish(&mut self) -> Ended {
        self.listen();
        let enough = self.saver.is_enough();
        let asked = enough || stop::caught().is_some() || !matches!(self.phase, Phase::Running);
        self.saver.flush();
        let part = self.saver.part();
        if enough && matches!(self.phase, Phase::Running) {
            // It has the same number to stop at; what it says then is worth a moment.
            self.linger();
        }
        let status = self.wait();
        let said = self.listening.as_ref().map(|listening| listening.finish(LAST)).unwrap_or_default();
        let told = matches!(self.phase, Phase::Told(_) | Phase::Killed(_));
        Ended { asked, told, status, said, part, unsaved: self.saver.failed().map(str::to_owned) }
    }

    /// Waits for the program to end, reading its pipe so that it can.
    fn wait(&mut self) -> Option<ExitStatus> {
        self.ended = false;
        let mut space = vec![0; 64 * 1024];
        let mut open = true;
        loop {
            if let Ok(Some(status)) = self.child.try_wait() {
                return Some(status);
            }
            if matches!(self.phase, Phase::Running) {
                // Its pipe has ended and it has not, or nobody wants to read on.
                self.linger();
            }
            self.steer();
            if self.ended {
                return None;
            }
            let pause = Duration::from_millis(10);
            match open && matches!(stop::wait(&self.out, pause), Ok(true)) {
                true => open = matches!(self.out.read(&mut space), Ok(1..)),
                false if open => {}
                false => std::thread::sleep(pause),
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

/// The parser's end of a capture under way.
#[derive(Clone)]
pub struct Feed(Arc<Mutex<Session>>);

impl Feed {
    /// Shares a session between the reader and whoever finishes it.
    pub fn new(session: Session) -> Feed {
        Feed(Arc::new(Mutex::new(session)))
    }

    /// The session.
    pub fn session(&self) -> MutexGuard<'_, Session> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Read for Feed {
    fn read(&mut self, space: &mut [u8]) -> io::Result<usize> {
        self.session().read(space)
    }
}
