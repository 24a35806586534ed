//! The busiest servers, drawn once a second.

use crate::check::{Finding, Packet};
use crate::cli::clock::CaptureClock;
use crate::cli::output::Target;
use crate::exchange::Exchange;
use crate::report::Report;
use crate::report::screen::Screen;
use crate::stats::Top;
use std::cell::RefCell;
use std::io::{self, Write};
use std::time::{Duration, Instant};
use terminal_size::{Height, terminal_size};

/// How often it is drawn.
const PERIOD: Duration = Duration::from_secs(1);
/// To the first line, and clears what is below. The screen is not cleared as a whole, which would flicker.
const HOME: &str = "\x1b[H";
/// Clears the rest of a line.
const CLEAR_LINE: &str = "\x1b[K";
/// Clears everything below.
const CLEAR_BELOW: &str = "\x1b[J";
/// Clears the screen.
const CLEAR: &str = "\x1b[2J";
/// Lines of the screen that are no rows: two headings, what is left out, and the one with the cursor.
const OTHER_LINES: usize = 4;

/// The report that fills the table, while the table is drawn by others.
pub struct Shown<'a>(pub &'a RefCell<Top>);

impl Report for Shown<'_> {
    fn packet(&mut self, packet: &Packet<'_>) -> io::Result<()> {
        self.0.borrow_mut().packet(packet)
    }

    fn exchange(&mut self, exchange: &Exchange, findings: &[Finding]) -> io::Result<()> {
        self.0.borrow_mut().exchange(exchange, findings)
    }
}

/// Draws the table.
pub struct Refresh<'a> {
    top: &'a RefCell<Top>,
    to: &'a mut Target,
    screen: Screen,
    /// It is drawn in place of the one before; elsewhere lines are added.
    is_screen: bool,
    clock: CaptureClock,
    next: Instant,
    drawn: bool,
    failed: Option<io::Error>,
}

impl<'a> Refresh<'a> {
    /// Draws `top` on a screen, or writes lines where there is none.
    pub fn new(top: &'a RefCell<Top>, to: &'a mut Target, screen: Screen, is_screen: bool) -> Refresh<'a> {
        let (clock, next) = (CaptureClock::default(), Instant::now() + PERIOD);
        Refresh { top, to, screen, is_screen, clock, next, drawn: false, failed: None }
    }

    /// Draws the table if it is time to do so. Returns whether that is possible.
    pub fn tick(&mut self) -> bool {
        let now = Instant::now();
        if now >= self.next && self.failed.is_none() {
            // Drawing that takes long is not made up for.
            self.next = (self.next + PERIOD).max(now);
            self.failed = self.draw().err();
        }
        self.failed.is_none()
    }

    /// Draws what has come since.
    ///
    /// # Errors
    /// When it cannot be written, now or before.
    pub fn finish(mut self) -> io::Result<()> {
        match self.failed.take() {
            Some(e) => Err(e),
            None => self.draw(),
        }
    }

    fn draw(&mut self) -> io::Result<()> {
        let top = self.top.borrow();
        let now = self.clock.now(top.latest);
        let mut text = vec![];
        if !self.is_screen {
            top.write_lines(&mut text, self.screen, now)?;
        } else {
            let mut screen = self.screen;
            if let Some((width, Height(height))) = terminal_size() {
                let rows = usize::from(height).saturating_sub(OTHER_LINES).max(1);
                screen.width = width.0;
                screen.top = Some(screen.top.unwrap_or(rows).min(rows));
            }
            top.write(&mut text, screen, now)?;
            text = in_place(&text, !self.drawn);
        }
        self.drawn = true;
        self.to.write_all(&text)?;
        self.to.flush()
    }
}

/// Lines with the sequences that draw them over those before.
fn in_place(lines: &[u8], is_first: bool) -> Vec<u8> {
    let mut out = String::from(if is_first { CLEAR } else { "" });
    out.push_str(HOME);
    for line in String::from_utf8_lossy(lines).lines() {
        out.extend([line, CLEAR_LINE, "\n"]);
    }
    out.push_str(CLEAR_BELOW);
    out.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_drawn_over_those_before() {
        assert_eq!(in_place(b"a\nb\n", true), b"\x1b[2J\x1b[Ha\x1b[K\nb\x1b[K\n\x1b[J");
        assert_eq!(in_place(b"", false), b"\x1b[H\x1b[J");
    }
}
