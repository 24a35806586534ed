//! `qdissect tui`: packets, servers, exchanges and findings to walk through on a terminal.
//!
//! ```text
//! a thread    Source ──> Pipeline ──> Gatherer ──> Index, Board      reading.rs, gather.rs
//!                                                     │
//! the loop    keys, mouse ──> App ──> draw <──────────┘              app.rs, draw.rs
//!                              └──> Frames: reads a frame again      frames.rs
//! ```
//! A new filter reads the captures again, so that every screen shows what the other subcommands would print with it.

mod acting;
mod app;
mod console;
mod cursor;
mod draw;
mod exchanges;
mod frames;
mod gather;
mod input;
mod keys;
mod ladder;
mod listing;
mod mouse;
mod overlay;
mod packets;
mod paint;
#[cfg(test)]
mod pictures;
mod pipe;
mod reading;
mod save;
mod search;
#[cfg(test)]
mod tests;
mod theme;
mod typing;
mod windows;

use super::choices::Colour;
use super::common_args::Common;
use super::config::Config;
use super::diagnostics::{Done, FAILED, OK, error, refuse};
use super::inputs::{Input, Inputs};
use super::interrupt;
use super::job::{Job, ReadsCaptures};
use super::output::{Target, is_stdout};
use super::run::NEEDS_FILE;
#[cfg(target_os = "linux")]
use super::sandbox::{Allowed, writable_paths};
use super::system::display_name;
use super::terminal::coloured;
use super::value_parsers::Expression;
use crate::capture::Source;
use crate::pipeline::Options;
use app::{App, Next};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use clap::Args;
use console::{Console, Waited};
use crossterm::event;
use pipe::Pipe;
use reading::Plan;
use std::cell::OnceCell;
use std::fs::File;
use std::io::{self, IsTerminal, Read, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use theme::Theme;

/// `qdissect tui`
#[derive(Debug, Args)]
pub struct TuiArgs {
    /// Also the datagrams that no protocol claims
    #[arg(long)]
    pub all: bool,
    /// Most packets in the list, which takes 64 bytes for each
    #[arg(long, value_name = "N", default_value_t = ROWS, value_parser = rows)]
    pub rows: usize,
    /// When to use colours
    #[arg(long, value_enum, default_value_t = Colour::Auto, value_name = "WHEN")]
    pub color: Colour,
    #[command(flatten)]
    pub common: Common,
    #[arg(skip)]
    files: OnceCell<Files>,
}

fn rows(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|n: &usize| (1..=u32::MAX as usize).contains(n));
    number.ok_or_else(|| "the number of packets is from 1 to 4294967295".to_owned())
}

/// Temporary files, which must be made before the process restricts itself.
#[derive(Debug)]
struct Files {
    pipes: Vec<(PathBuf, Arc<Pipe>)>,
    spool: Option<File>,
}

impl Files {
    fn new(common: &Common) -> io::Result<Files> {
        let once = common.files.iter().chain(&common.read).filter(|path| Pipe::is_needed(path));
        let pipes = once.map(|path| Ok((path.clone(), Arc::new(Pipe::new()?)))).collect::<io::Result<_>>()?;
        // Elsewhere, whoever reads it would move the position of the thread that writes it.
        let spool = if cfg!(unix) { Some(tempfile::tempfile()?) } else { None };
        Ok(Files { pipes, spool })
    }
}

impl Files {
    /// What is wrong with the first input, if none can be read: then there is nothing to show.
    fn none_opens(&self, inputs: &Inputs) -> Option<String> {
        let mut wrong = None;
        for Input { path, .. } in &inputs.list {
            if self.pipes.iter().any(|(of, _)| of == path) {
                return None;
            }
            match Source::open(path) {
                Ok(_) => return None,
                Err(e) => wrong = wrong.or_else(|| Some(format!("{}: {e}.", display_name(path)))),
            }
        }
        wrong
    }
}

/// Wait for a key while something changes, and while nothing does.
const BUSY: Duration = Duration::from_millis(30);
const QUIET: Duration = Duration::from_millis(250);

impl ReadsCaptures for TuiArgs {
    fn common(&self) -> &Common {
        &self.common
    }

    fn common_mut(&mut self) -> &mut Common {
        &mut self.common
    }

    fn all(&self) -> bool {
        self.all
    }

    fn prepare(&self) -> Result<(), String> {
        if !io::stdout().is_terminal() {
            return Err(
                "`tui` needs a terminal: `qdissect dump` prints packets into files and pipes.".to_owned()
            );
        }
        if self.common.write.as_deref().is_some_and(is_stdout) {
            return Err(NEEDS_FILE.to_owned());
        }
        if self.common.output.is_some() {
            return Err(
                "--output is for results that are printed: -w FILE names where `w` saves packets.".to_owned()
            );
        }
        let files = Files::new(&self.common)
            .map_err(|e| format!("A temporary file cannot be made: {e}. TMPDIR names another folder."))?;
        // It is set once.
        let _ = self.files.set(files);
        Ok(())
    }

    #[cfg(target_os = "linux")]
    fn allowed(&self) -> Allowed {
        let write = self.common.write.iter().flat_map(|path| writable_paths(path)).collect();
        Allowed { write, terminal: true, ..Allowed::default() }
    }

    fn run(&self, _: &mut Target, job: Job) -> io::Result<Done> {
        if job.inputs.list.is_empty() && !self.common.follow {
            if job.inputs.unread.is_empty() {
                error(&"No capture is named. Name a file, a directory, or - for standard input.");
            }
            return Ok((FAILED, 0));
        }
        let Some(files) = self.files.get() else { return Ok((FAILED, 0)) };
        if let Some(why) = files.none_opens(&job.inputs).filter(|_| !self.common.follow) {
            return Ok(refuse(&why));
        }
        files.pipes.iter().for_each(|(path, pipe)| pipe.begin(path));
        let plan = Plan {
            common: self.common.clone(),
            options: job.options,
            pipes: files.pipes.clone(),
            spool: files.spool.as_ref().and_then(|spool| spool.try_clone().ok()),
            rows: self.rows,
        };
        show(plan, self.all, self.color, &job.config).map(|code| (code, 1))
    }
}

/// Most packets in the list, unless the user says otherwise.
const ROWS: usize = 50_000_000;

/// A running capture that `live --tui` shows.
pub struct Live {
    pipe: Arc<Pipe>,
}

impl Live {
    /// Makes the temporary file that it needs.
    ///
    /// # Errors
    /// A sentence.
    pub fn new() -> Result<Live, String> {
        if !io::stdout().is_terminal() {
            return Err(
                "--tui needs a terminal: `live` without it prints packets into files and pipes.".to_owned()
            );
        }
        Ok(Live {
            pipe: Arc::new(Pipe::new().map_err(|e| format!("A temporary file cannot be made: {e}."))?),
        })
    }

    /// Shows what comes from a capture program, until the user ends it; returns the exit code. Its first bytes are read by this
    /// thread, which gives up its rights then. Returns `None` if there are none.
    ///
    /// # Errors
    /// When the terminal cannot be used.
    pub fn show(
        self,
        name: &str,
        mut input: Box<dyn Read + Send>,
        args: (&Common, Options, bool, Colour),
        config: &Config,
    ) -> io::Result<Option<u8>> {
        let (common, options, all, colour) = args;
        let mut first = vec![0; 64 << 10];
        let length = loop {
            match input.read(&mut first) {
                Err(e) if e.kind() == io::ErrorKind::Interrupted && interrupt::caught().is_none() => {}
                read => break read.unwrap_or(0),
            }
        };
        if length == 0 {
            return Ok(None);
        }
        self.pipe.append(&first[..length])?;
        self.pipe.begin_with(move || Ok(input));
        let path = PathBuf::from(name);
        // The capture program saves everything and counts the packets itself.
        let common = Common { files: vec![path.clone()], write: None, follow: true, ..common.clone() };
        let options = Options { count: None, ..options };
        let plan = Plan { common, options, pipes: vec![(path, self.pipe)], spool: None, rows: ROWS };
        show(plan, all, colour, config).map(Some)
    }
}

/// Shows what there is to read until the user or a signal ends it; returns the exit code.
fn show(plan: Plan, all: bool, colour: Colour, config: &Config) -> io::Result<u8> {
    let filter = plan.common.display_filter.as_ref().map_or("", Expression::text).to_owned();
    let theme = Theme { colour: coloured(colour, true) };
    let mut console = match Console::enter() {
        Ok(console) => console,
        Err(e) => return Ok(refuse(&format_args!("The terminal cannot be used: {e}.")).0),
    };
    interrupt::finish_first();
    let mut app = App::new(plan, theme, filter, all);
    config.list_columns.iter().for_each(|columns| app.packets.choose_columns(columns));
    walk(&mut console, &mut app)
}

/// Draws and waits for keys until the user or a signal ends it; returns the exit code.
fn walk(console: &mut Console, app: &mut App) -> io::Result<u8> {
    loop {
        console.terminal.draw(|frame| draw::draw(app, frame))?;
        if let Some(text) = app.clipboard.take() {
            copy(&text)?;
        }
        if let Some(signal) = interrupt::caught() {
            return Ok(signal);
        }
        if console.wait(if app.tick() { BUSY } else { QUIET })? == Waited::Gone {
            return Ok(interrupt::HUNG_UP);
        }
        // All that wait are handled before the next picture: a held key must not lag behind.
        while event::poll(Duration::ZERO)? {
            match app.handle(&event::read()?) {
                Next::Draw => {}
                Next::Quit => return Ok(OK),
                Next::Suspend => console.suspend()?,
                Next::Redraw => console.redraw()?,
            }
        }
    }
}

/// Puts a text on the clipboard of the terminal, also through ssh (OSC 52, as xterm's control sequences list it).
fn copy(text: &str) -> io::Result<()> {
    let mut out = io::stdout();
    write!(out, "\x1b]52;c;{}\x07", STANDARD.encode(text))?;
    out.flush()
}
