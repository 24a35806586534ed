//! Handles Ctrl-C, SIGTERM and SIGHUP: the program stops reading and finishes with what it has read. A second signal ends the process.

use super::system;
use std::fs::File;
use std::io::{self, Read};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};

/// Exit codes above this one are this number plus that of the signal that ended the reading.
const SIGNALS: u8 = 128;

/// Exit code after SIGTERM, which Windows does not have.
pub const TERMINATED: u8 = SIGNALS + 15;

/// Exit code after SIGHUP: the terminal is gone.
#[cfg(feature = "tui")]
pub const HUNG_UP: u8 = SIGNALS + 1;

/// Whether an exit code means that a signal ended the reading.
pub fn is_signal(code: u8) -> bool {
    code > SIGNALS
}

/// The exit code of the signal that has arrived, or 0.
static CAUGHT: LazyLock<Arc<AtomicUsize>> = LazyLock::new(Arc::default);
/// Whether the next signal ends the process at once: before there is anything to finish, and after the first signal.
static AT_ONCE: LazyLock<Arc<AtomicBool>> = LazyLock::new(|| Arc::new(AtomicBool::new(true)));
/// Whether the handlers have been installed.
static WATCHING: AtomicBool = AtomicBool::new(false);

/// Installs the signal handlers. Further calls do nothing, because handlers would pile up.
///
/// # Errors
/// When the system refuses to install them.
pub fn watch() -> io::Result<()> {
    if WATCHING.swap(true, Ordering::SeqCst) { Ok(()) } else { install() }
}

#[cfg(unix)]
fn install() -> io::Result<()> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
    use signal_hook::flag;
    let hangup = Some(SIGHUP).filter(|signal| !is_ignored(*signal));
    for signal in [SIGINT, SIGTERM].into_iter().chain(hangup) {
        let code = i32::from(SIGNALS) + signal;
        flag::register_conditional_shutdown(signal, code, AT_ONCE.clone())?;
        flag::register(signal, AT_ONCE.clone())?;
        flag::register_usize(signal, CAUGHT.clone(), usize::try_from(code).unwrap_or_default())?;
    }
    // With a handler, a file that exceeds the limit of `ulimit -f` causes a write error instead of a silent end.
    flag::register(SIGXFSZ, Arc::default())?;
    Ok(())
}

/// Whether the process was started with a signal ignored, as `nohup` does: then it stays so. Where the system does not tell,
/// it counts as ignored.
#[cfg(unix)]
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|digits| u64::from_str_radix(digits.trim(), 16).ok());
    mask.is_none_or(|mask| mask >> (signal - 1) & 1 == 1)
}

/// Ctrl-C and Ctrl-Break, with the exit code of the signal elsewhere.
#[cfg(windows)]
fn install() -> io::Result<()> {
    const INTERRUPTED: u8 = SIGNALS + 2;
    let handler = || {
        if AT_ONCE.swap(true, Ordering::SeqCst) {
            std::process::exit(INTERRUPTED.into());
        }
        CAUGHT.store(INTERRUPTED.into(), Ordering::SeqCst);
    };
    ctrlc::set_handler(handler).map_err(io::Error::other)
}

/// From now on, the first signal lets the program finish its work.
pub fn finish_first() {
    if caught().is_none() {
        AT_ONCE.store(false, Ordering::SeqCst);
    }
}

/// The exit code of the signal that has arrived, if any.
pub fn caught() -> Option<u8> {
    u8::try_from(CAUGHT.load(Ordering::SeqCst)).ok().filter(|&code| code != 0)
}

/// Waits until `input` has data or ends. Returns `false` if `max_wait` passes or a signal arrives before that.
#[cfg(unix)]
pub fn wait(input: &impl std::os::fd::AsFd, max_wait: std::time::Duration) -> io::Result<bool> {
    wait_for_one(&[input.as_fd()], max_wait).map(|ready| ready.contains(&true))
}

/// Waits until one of the inputs has data or ends, and returns which of them do. Returns early if `max_wait` passes or a signal
/// arrives.
#[cfg(unix)]
pub fn wait_for_one(
    inputs: &[std::os::fd::BorrowedFd<'_>],
    max_wait: std::time::Duration,
) -> io::Result<Vec<bool>> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let time = Timespec::try_from(max_wait).map_err(io::Error::other)?;
    let mut polled: Vec<_> = inputs.iter().map(|input| PollFd::new(input, PollFlags::IN)).collect();
    match poll(&mut polled, Some(&time)) {
        Ok(_) => Ok(polled.iter().map(|it| !it.revents().is_empty()).collect()),
        Err(rustix::io::Errno::INTR) => Ok(vec![false; inputs.len()]),
        Err(e) => Err(e.into()),
    }
}

/// An input whose reading fails after a signal, even while it waits for data.
struct Stoppable {
    input: File,
    /// Whether reading may have to wait, as with a pipe or a device.
    waits: bool,
}

/// Wraps `input` so that reading fails after a signal.
pub fn stoppable(input: File) -> Box<dyn Read + Send> {
    finish_first();
    let waits = !input.metadata().is_ok_and(|it| it.is_file());
    Box::new(Stoppable { input, waits })
}

/// Standard input, wrapped in the same way.
///
/// # Errors
/// When there is no standard input.
pub fn stdin() -> io::Result<Box<dyn Read + Send>> {
    Ok(stoppable(system::file(&io::stdin())?))
}

impl Stoppable {
    /// Waits for data, but only until a signal arrives.
    #[cfg(unix)]
    fn wait(&self) -> io::Result<()> {
        // A signal that arrives just before the wait does not interrupt it, so the wait must be short.
        const LONGEST: std::time::Duration = std::time::Duration::from_millis(250);
        while self.waits && caught().is_none() && !wait(&self.input, LONGEST)? {}
        Ok(())
    }

    /// Pipes on Windows cannot be waited for. The program that writes to the pipe gets the signal, too, and closes it.
    #[cfg(not(unix))]
    fn wait(&self) -> io::Result<()> {
        let _ = self.waits;
        Ok(())
    }
}

impl Read for Stoppable {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.wait()?;
        match caught() {
            Some(_) => Err(io::Error::other("a signal ended the reading")),
            None => self.input.read(buffer),
        }
    }
}
