//! Interruption by Ctrl-C or SIGTERM: reading ends, and what was read is finished. A second signal ends the process.

use std::fs::File;
use std::io::{self, Read};

/// Exit codes from here on say which signal ended the reading.
const SIGNALS: u8 = 128;

/// Exit code after SIGTERM.
#[cfg(unix)]
pub const TERMINATED: u8 = SIGNALS + 15;

/// Whether an exit code says that a signal ended the reading.
pub fn is_signal(code: u8) -> bool {
    code > SIGNALS
}

#[cfg(unix)]
mod signals {
    use crate::cli::interrupt::SIGNALS;
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::io::Errno;
    use signal_hook::consts::{SIGINT, SIGTERM, SIGXFSZ};
    use signal_hook::flag;
    use std::io;
    use std::os::fd::AsFd;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    use std::sync::{Arc, LazyLock};
    use std::time::Duration;

    /// The signal that has come, or 0.
    static CAUGHT: LazyLock<Arc<AtomicUsize>> = LazyLock::new(Arc::default);
    /// The next signal ends the process: there is nothing to finish yet, or one has come before.
    static AT_ONCE: LazyLock<Arc<AtomicBool>> = LazyLock::new(|| Arc::new(AtomicBool::new(true)));
    /// They are caught already.
    static WATCHING: AtomicBool = AtomicBool::new(false);

    /// From now on signals are caught. A further call changes nothing: handlers would only pile up.
    ///
    /// # Errors
    /// When the system does not allow that.
    pub fn watch() -> io::Result<()> {
        if WATCHING.swap(true, Ordering::SeqCst) {
            return Ok(());
        }
        for signal in [SIGINT, SIGTERM] {
            let code = i32::from(SIGNALS) + signal;
            flag::register_conditional_shutdown(signal, code, AT_ONCE.clone())?;
            flag::register(signal, AT_ONCE.clone())?;
            flag::register_usize(signal, CAUGHT.clone(), usize::try_from(code).unwrap_or_default())?;
        }
        // A file above the limit of `ulimit -f` is then an error of its writing, and no end without a word.
        flag::register(SIGXFSZ, Arc::default())?;
        Ok(())
    }

    /// From now on there is something to finish.
    pub fn finish_first() {
        if caught().is_none() {
            AT_ONCE.store(false, Ordering::SeqCst);
        }
    }

    /// The exit code of the signal that has come.
    pub fn caught() -> Option<u8> {
        u8::try_from(CAUGHT.load(Ordering::SeqCst)).ok().filter(|&code| code != 0)
    }

    /// Waits for `input` to have something to read, or its end; `false` when `most` passes or a signal
    /// comes before.
    pub fn wait(input: &impl AsFd, most: Duration) -> io::Result<bool> {
        let time = Timespec::try_from(most).map_err(io::Error::other)?;
        match poll(&mut [PollFd::new(input, PollFlags::IN)], Some(&time)) {
            Ok(ready) => Ok(ready > 0),
            Err(Errno::INTR) => Ok(false),
            Err(e) => Err(e.into()),
        }
    }
}

#[cfg(unix)]
pub use signals::{caught, finish_first, wait, watch};

/// Signals do what they do.
#[cfg(not(unix))]
mod no_signals {
    pub fn watch() -> std::io::Result<()> {
        Ok(())
    }
    pub fn finish_first() {}
    pub fn caught() -> Option<u8> {
        None
    }
}

#[cfg(not(unix))]
pub use no_signals::{caught, finish_first, watch};

/// An input that a signal ends, also while nothing comes.
struct Stoppable {
    input: File,
    /// A pipe or a device: reading may have to wait.
    waits: bool,
}

/// Makes a signal end `input`: reading it then fails.
pub fn stoppable(input: File) -> Box<dyn Read + Send> {
    finish_first();
    let waits = !input.metadata().is_ok_and(|it| it.is_file());
    Box::new(Stoppable { input, waits })
}

/// Standard input, likewise.
///
/// # Errors
/// When there is none.
#[cfg(unix)]
pub fn stdin() -> io::Result<Box<dyn Read + Send>> {
    use std::os::fd::AsFd;
    Ok(stoppable(File::from(io::stdin().as_fd().try_clone_to_owned()?)))
}

#[cfg(not(unix))]
pub fn stdin() -> io::Result<Box<dyn Read + Send>> {
    Ok(Box::new(io::stdin()))
}

impl Stoppable {
    /// Waits for something to read, no longer than until a signal comes.
    #[cfg(unix)]
    fn wait(&self) -> io::Result<()> {
        // A signal that comes just before the wait is seen after it: so it must end.
        const LONGEST: std::time::Duration = std::time::Duration::from_millis(250);
        while self.waits && caught().is_none() && !wait(&self.input, LONGEST)? {}
        Ok(())
    }

    #[cfg(not(unix))]
    fn wait(&self) -> io::Result<()> {
        let _ = self.waits;
        Ok(())
    }
}

impl Read for Stoppable {
    fn read(&mut self, space: &mut [u8]) -> io::Result<usize> {
        self.wait()?;
        match caught() {
            Some(_) => Err(io::Error::other("a signal ended the reading")),
            None => self.input.read(space),
        }
    }
}
