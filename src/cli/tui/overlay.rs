//! Text above the screen: the help, and what is known about a server.

use super::cursor::Cursor;
use super::keys::{Action, KEYS, Key};
use super::pipe::Pipe;
use crate::capture::Source;
use crate::case::{self, Case, Gathered};
use crate::net::Endpoint;
use crate::pipeline::{Options, Pipeline};
use crate::report::screen::{Screen, wrapped};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::thread;
use unicode_width::UnicodeWidthStr;

/// Where a line goes on below.
const HANGING: usize = 4;
/// Most columns of the names of a key that stand beside what it does.
const NAMES: usize = 14;

/// Text above the screen.
#[derive(Debug)]
pub struct Overlay {
    /// Its title.
    pub title: String,
    /// Its lines.
    pub lines: Vec<String>,
    /// Their texts may go on below, from this column on.
    indent: usize,
    /// The first line on the screen is that of `cursor.top`, of those that are drawn.
    pub cursor: Cursor,
    /// The lines as they are drawn.
    pub drawn: Vec<String>,
    /// The width that they were made for.
    drawn_width: usize,
}

impl Overlay {
    /// Lines below a title.
    pub fn new(title: String, lines: Vec<String>) -> Overlay {
        Overlay { title, lines, indent: HANGING, cursor: Cursor::default(), drawn: vec![], drawn_width: 0 }
    }

    /// Makes the lines fit into a width: long ones go on below.
    pub fn fit(&mut self, width: usize) {
        if self.drawn_width == width {
            return;
        }
        let indent = self.indent.min(width / 2);
        let wrap = |line: &String| match line.width() <= width {
            true => vec![line.clone()],
            false => wrapped(line, width, indent),
        };
        (self.drawn, self.drawn_width) = (self.lines.iter().flat_map(wrap).collect(), width);
    }

    /// The keys and what they do.
    pub fn help() -> Overlay {
        let names = |key: &Key| key.names.join(", ");
        let widest =
            KEYS.iter().map(|key| names(key).len()).filter(|width| *width <= NAMES).max().unwrap_or(0);
        let lines = KEYS.iter().flat_map(|key| match names(key) {
            // Many names have a line of their own.
            names if names.len() > NAMES => {
                vec![names, format!("{:widest$}  {}", "", key.about)]
            }
            names => vec![format!("{names:widest$}  {}", key.about)],
        });
        let overlay = Overlay::new("Keys (Up, Down: more; Esc: back)".to_owned(), lines.collect());
        Overlay { indent: widest + 2, ..overlay }
    }

    /// Scrolls.
    pub fn act(&mut self, action: Action) -> bool {
        let (len, height) = (self.drawn.len(), self.cursor.height);
        let last = len.saturating_sub(height);
        let page = height.max(1);
        self.cursor.top = match action {
            Action::Up => self.cursor.top.saturating_sub(1),
            Action::Down => self.cursor.top + 1,
            Action::PageUp => self.cursor.top.saturating_sub(page),
            Action::PageDown => self.cursor.top + page,
            Action::Home => 0,
            Action::End => last,
            _ => return false,
        }
        .min(last);
        true
    }
}

/// Paths of captures, and the copies of those that can be read only once.
pub type Captures = Vec<(PathBuf, Option<Arc<Pipe>>)>;

/// Reads what there is about a server.
pub struct ServerJob(Receiver<Overlay>);

impl ServerJob {
    /// Begins to read. `width` is that of the screen.
    pub fn begin(options: Options, captures: Captures, server: Endpoint, width: u16) -> ServerJob {
        let (sender, receiver) = channel();
        thread::spawn(move || {
            let target = case::Target::parse(&server.to_string());
            let mut gathered = Gathered::new(target);
            let mut pipeline = Pipeline::new(options, &mut gathered);
            let mut complete = true;
            for (path, pipe) in captures {
                let opened = match pipe {
                    Some(pipe) => Source::from_reader(&path, Box::new(pipe.so_far())),
                    None => Source::open(&path),
                };
                let read =
                    opened.map(|mut source| pipeline.read(&mut source, &path.to_string_lossy()).is_ok());
                complete &= read.unwrap_or(false);
            }
            let Ok(totals) = pipeline.finish(complete) else { return };
            let mut text = vec![];
            let case = Case::of(&gathered, &totals, "FILE...");
            let screen = Screen { width, ..Screen::default() };
            // Nothing fails in memory; and nobody waits for it if it has been given up.
            let _ = case::write(&mut text, screen, &case, &gathered.captures);
            let lines = String::from_utf8_lossy(&text).lines().map(str::to_owned).collect();
            let _ = sender.send(Overlay::new(format!("Server {server}"), lines));
        });
        ServerJob(receiver)
    }

    /// The result, once it is there.
    pub fn take(&mut self) -> Option<Overlay> {
        match self.0.try_recv() {
            Ok(overlay) => Some(overlay),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => {
                Some(Overlay::new("Server".to_owned(), vec!["It could not be read.".to_owned()]))
            }
        }
    }
}
