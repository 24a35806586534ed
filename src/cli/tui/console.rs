//! The terminal: taken over at the start, and given back as it was however the program ends.

#[cfg(unix)]
use crate::cli::system;
use crossterm::cursor::{Hide, Show};
use crossterm::event::{
    DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture,
};
use crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode};
use crossterm::{execute, terminal};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
#[cfg(unix)]
use rustix::event::{PollFd, PollFlags, Timespec, poll};
#[cfg(unix)]
use rustix::io::Errno;
#[cfg(unix)]
use std::fs::File;
#[cfg(unix)]
use std::io::IsTerminal;
use std::io::{self, Stdout};
use std::panic;
use std::time::Duration;

/// The terminal, as long as this value lives.
pub struct Console {
    /// Where the screens are drawn.
    pub terminal: Terminal<CrosstermBackend<Stdout>>,
    /// Where its keys come from.
    #[cfg(unix)]
    keys: File,
}

/// What became of waiting for keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waited {
    /// There may be keys, or nothing has come.
    Over,
    /// The terminal is gone.
    Gone,
}

impl Console {
    /// Takes the terminal over.
    ///
    /// # Errors
    /// When it is none, or cannot be used.
    pub fn enter() -> io::Result<Console> {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |what| {
            give_back();
            before(what);
        }));
        #[cfg(unix)]
        let keys = match io::stdin().is_terminal() {
            true => system::file(&io::stdin())?,
            false => File::open("/dev/tty")?,
        };
        take()?;
        Ok(Console {
            terminal: Terminal::new(CrosstermBackend::new(io::stdout()))?,
            #[cfg(unix)]
            keys,
        })
    }

    /// Waits for keys, but no longer than `most`. crossterm must not be asked once the terminal is gone: it would read the end of
    /// its input again and again.
    ///
    /// # Errors
    /// When the system cannot wait.
    #[cfg(unix)]
    pub fn wait(&self, most: Duration) -> io::Result<Waited> {
        let time = Timespec::try_from(most).map_err(io::Error::other)?;
        let mut keys = [PollFd::new(&self.keys, PollFlags::IN)];
        match poll(&mut keys, Some(&time)) {
            Ok(_) if keys[0].revents().intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL) => {
                Ok(Waited::Gone)
            }
            // A signal may say that the terminal has another size.
            Ok(_) | Err(Errno::INTR) => Ok(Waited::Over),
            Err(e) => Err(e.into()),
        }
    }

    /// Waits for keys, but no longer than `most`.
    ///
    /// # Errors
    /// When the system cannot wait.
    #[cfg(not(unix))]
    pub fn wait(&self, most: Duration) -> io::Result<Waited> {
        crossterm::event::poll(most).map(|_| Waited::Over)
    }

    /// Gives the terminal back, stops the process until the shell continues it, and takes the terminal over again.
    ///
    /// # Errors
    /// When the terminal cannot be taken over again.
    pub fn suspend(&mut self) -> io::Result<()> {
        give_back();
        #[cfg(unix)]
        let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::TSTP);
        take()?;
        self.redraw()
    }

    /// Draws everything again, whatever the terminal shows.
    ///
    /// # Errors
    /// When the terminal cannot be written to.
    pub fn redraw(&mut self) -> io::Result<()> {
        let (width, height) = terminal::size()?;
        self.terminal.resize(ratatui::layout::Rect::new(0, 0, width, height))?;
        self.terminal.clear()
    }
}

impl Drop for Console {
    fn drop(&mut self) {
        give_back();
    }
}

fn take() -> io::Result<()> {
    enable_raw_mode()?;
    execute!(io::stdout(), EnterAlternateScreen, EnableMouseCapture, EnableBracketedPaste, Hide)
}

fn give_back() {
    let _ = execute!(io::stdout(), DisableBracketedPaste, DisableMouseCapture, LeaveAlternateScreen, Show);
    let _ = disable_raw_mode();
}
