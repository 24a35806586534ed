//! The state of the screens, and what keys and the mouse do to it.

use super::frames::Frames;
use super::gather::lock;
use super::input::Input;
use super::keys::{Action, action};
use super::listing::{Kind, Listing, Target};
use super::overlay::{Overlay, ServerJob};
use super::packets::{COLUMNS, Packets, Pane};
use super::reading::{Plan, Reading};
use super::save::save;
use super::search::{Search, Wanted};
use super::theme::Theme;
use crate::exchange::Pairing;
use crate::filter::{FilterError, names};
use crate::net::Endpoint;
use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind};
use ratatui::layout::Rect;
use std::path::PathBuf;

/// The screens, in the order of their numbers.
pub const SCREENS: [&str; 6] = ["Packets", "Servers", "Exchanges", "Findings", "Statistics", "Unclaimed"];

/// What the loop is to do after an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    Draw,
    Quit,
    Suspend,
    Redraw,
}

/// What the keys go to.
#[derive(Debug, Default)]
pub enum Mode {
    /// The screen.
    #[default]
    Screen,
    /// The filter, and what is wrong with it.
    Filter(Input, Option<FilterError>),
    /// What to search for.
    Search(Input),
    /// The choice of columns, and the selected one.
    Columns(usize),
    /// Text above the screen.
    Overlay(Overlay),
}

/// Where the panes were drawn last, for the mouse.
#[derive(Clone, Copy, Debug, Default)]
pub struct Areas {
    /// The line with the names of the screens.
    pub tabs: Rect,
    /// The lines of the list, without its heading.
    pub list: Rect,
    /// The tree.
    pub tree: Rect,
    /// The bytes.
    pub bytes: Rect,
}

/// The state of the screens.
pub struct App {
    plan: Plan,
    /// What is being read, or has been.
    pub reading: Reading,
    /// Reads frames again.
    pub frames: Frames,
    /// Colours.
    pub theme: Theme,
    /// The screen, by its number.
    pub screen: usize,
    /// The screen of packets.
    pub packets: Packets,
    /// The other screens.
    pub listings: [Listing; 5],
    /// The filter in use.
    pub filter: String,
    /// Whether datagrams that no protocol claims are listed.
    pub all: bool,
    /// What the keys go to.
    pub mode: Mode,
    /// A sentence for the last line, and whether it is about a mistake.
    pub message: Option<(String, bool)>,
    /// Names that a filter may use.
    pub names: Vec<String>,
    /// The search that runs, or the last one.
    pub search: Option<Search>,
    server: Option<ServerJob>,
    /// Text that the terminal is to put on the clipboard.
    pub clipboard: Option<String>,
    /// Where the panes are.
    pub areas: Areas,
    /// The share of the list in the height of the screen of packets, in percent.
    pub share: u16,
    /// The width that listings have.
    pub width: u16,
    /// Number of packets, when the screen was drawn last.
    pub length: usize,
}

impl App {
    /// Begins to read, with this filter and with or without unclaimed datagrams.
    pub fn new(plan: Plan, theme: Theme, filter: String, all: bool) -> App {
        let reading = Reading::begin(&plan, &filter, all);
        let frames = Frames::new(plan.pipes.clone(), plan.spool_to_read(), plan.options.clone());
        let kinds = [Kind::Servers, Kind::Exchanges, Kind::Findings, Kind::Statistics, Kind::Unclaimed];
        let mut packets = Packets::new();
        packets.follows = plan.common.follow;
        App {
            reading,
            frames,
            theme,
            screen: 0,
            packets,
            listings: kinds.map(Listing::new),
            filter,
            all,
            mode: Mode::Screen,
            message: None,
            names: names(),
            search: None,
            server: None,
            clipboard: None,
            areas: Areas::default(),
            share: 45,
            width: 80,
            length: 0,
            plan,
        }
    }

    /// Takes notice of what has been read since. Returns whether anything is still going on.
    pub fn tick(&mut self) -> bool {
        self.length = lock(&self.reading.shared.index).rows().len();
        if self.packets.follows {
            self.packets.cursor.act(Action::End, self.length);
        }
        self.search_on();
        if let Some(found) = self.server.as_mut().and_then(ServerJob::take) {
            (self.server, self.message) = (None, None);
            self.mode = Mode::Overlay(found);
        }
        if let Some(listing) = self.screen.checked_sub(1).and_then(|at| self.listings.get_mut(at)) {
            listing.update(&self.reading.shared, self.width);
        } else {
            self.packets.cursor.fit(self.length);
            self.packets.open(&self.reading.shared, &mut self.frames, self.all);
        }
        !self.reading.is_done() || self.server.is_some() || self.search.as_ref().is_some_and(Search::runs)
    }

    /// Reads the captures again, with another filter or with other datagrams.
    pub(super) fn read_again(&mut self) {
        // The thread of the reading before ends first: both may use the same spool.
        let idle = Reading::idle();
        drop(std::mem::replace(&mut self.reading, idle));
        self.reading = Reading::begin(&self.plan, &self.filter, self.all);
        self.frames.reset();
        self.packets.reset();
        self.search = None;
        self.listings.iter_mut().for_each(Listing::reset);
    }

    pub(super) fn say(&mut self, text: impl Into<String>) {
        self.message = Some((text.into(), false));
    }

    pub(super) fn complain(&mut self, text: impl Into<String>) {
        self.message = Some((text.into(), true));
    }

    /// Does what an event asks for.
    pub fn handle(&mut self, event: &Event) -> Next {
        match event {
            Event::Key(key) if key.kind != KeyEventKind::Release => self.key(key),
            Event::Mouse(mouse) => {
                self.mouse(mouse);
                Next::Draw
            }
            Event::Paste(text) => {
                if let Mode::Filter(input, _) | Mode::Search(input) = &mut self.mode {
                    input.insert(text);
                }
                self.check_filter();
                Next::Draw
            }
            Event::Resize(..) => Next::Redraw,
            _ => Next::Draw,
        }
    }

    fn key(&mut self, key: &KeyEvent) -> Next {
        self.message = None;
        // These work everywhere.
        match action(key) {
            Some(Action::Quit) if key.code != KeyCode::Char('q') => return Next::Quit,
            Some(Action::Suspend) => return Next::Suspend,
            Some(Action::Redraw) => return Next::Redraw,
            _ => {}
        }
        match &self.mode {
            Mode::Filter(..) => self.key_in_filter(key),
            Mode::Search(_) => self.key_in_search(key),
            Mode::Columns(at) => self.key_in_columns(*at, key),
            Mode::Overlay(_) => self.key_in_overlay(key),
            Mode::Screen => match action(key) {
                Some(Action::Quit) => return Next::Quit,
                Some(action) => self.act(action),
                None => {}
            },
        }
        Next::Draw
    }

    fn key_in_columns(&mut self, at: usize, key: &KeyEvent) {
        match action(key) {
            Some(Action::Up) => self.mode = Mode::Columns(at.saturating_sub(1)),
            Some(Action::Down) => self.mode = Mode::Columns((at + 1).min(COLUMNS.len() - 1)),
            Some(Action::PageDown | Action::Mark) => self.packets.columns[at] ^= true,
            Some(Action::Back | Action::Enter | Action::Columns | Action::Quit) => self.mode = Mode::Screen,
            _ => {}
        }
    }

    fn key_in_overlay(&mut self, key: &KeyEvent) {
        let Mode::Overlay(overlay) = &mut self.mode else { return };
        match action(key) {
            Some(Action::Back | Action::Quit | Action::Help | Action::Enter) => self.mode = Mode::Screen,
            Some(action) => {
                overlay.act(action);
            }
            None => {}
        }
    }

    pub(super) fn act(&mut self, action: Action) {
        match action {
            Action::Screen(at) => self.screen = at,
            Action::NextScreen => self.screen = (self.screen + 1) % SCREENS.len(),
            Action::PreviousScreen => self.screen = (self.screen + SCREENS.len() - 1) % SCREENS.len(),
            Action::Help => self.mode = Mode::Overlay(Overlay::help()),
            Action::Filter => {
                self.mode = Mode::Filter(Input::of(&self.filter), None);
                self.check_filter();
            }
            Action::Search => self.mode = Mode::Search(Input::default()),
            Action::SearchNext | Action::SearchPrevious => self.search_again(action == Action::SearchNext),
            Action::NextFinding | Action::PreviousFinding => {
                self.begin_search(Wanted::Finding, action == Action::NextFinding);
            }
            Action::All => {
                self.all = !self.all;
                self.say(if self.all { "With unclaimed datagrams." } else { "Without unclaimed datagrams." });
                self.read_again();
            }
            Action::Save => self.save(),
            Action::Back => self.back(),
            Action::Columns => (self.screen, self.mode) = (0, Mode::Columns(0)),
            _ if self.screen == 0 => self.act_on_packets(action),
            _ => self.act_on_listing(action),
        }
    }

    /// One step back towards the list of packets.
    fn back(&mut self) {
        if self.search.as_ref().is_some_and(Search::runs) || self.server.is_some() {
            (self.search, self.server) = (None, None);
            return self.say("Given up.");
        }
        match (self.screen, self.packets.pane) {
            (0, Pane::Bytes) => self.packets.pane = Pane::Tree,
            (0, _) => self.packets.pane = Pane::List,
            _ => self.screen = 0,
        }
    }

    fn act_on_packets(&mut self, action: Action) {
        let pane = self.packets.pane;
        match action {
            Action::Enter | Action::OtherPane => {
                self.packets.pane = match pane {
                    Pane::List => Pane::Tree,
                    Pane::Tree => Pane::Bytes,
                    Pane::Bytes if action == Action::OtherPane => Pane::List,
                    Pane::Bytes => Pane::Bytes,
                };
            }
            Action::Taller => self.share = (self.share + 5).min(80),
            Action::Smaller => self.share = self.share.saturating_sub(5).max(20),
            Action::Mark => {
                self.packets.toggle_mark(lock(&self.reading.shared.index).rows());
                self.packets.cursor.act(Action::Down, self.length);
            }
            Action::Answer => self.go_to_answer(),
            Action::FilterByField => match self.packets.field_filter() {
                Some(filter) => {
                    let filter = match self.filter.as_str() {
                        "" => filter,
                        before => format!("({before}) && {filter}"),
                    };
                    self.mode = Mode::Filter(Input::of(&filter), None);
                    self.check_filter();
                }
                None => {
                    self.complain("No field is selected: Enter goes to the tree, and the arrows to a field.")
                }
            },
            Action::CopyValue | Action::CopyField | Action::CopyHex | Action::CopyFilter => self.copy(action),
            _ => {
                self.packets.act(action, self.length);
            }
        }
    }

    fn copy(&mut self, action: Action) {
        let line = self.packets.line();
        let text = match action {
            Action::CopyValue => line.and_then(|line| line.value.clone()),
            Action::CopyField => line.map(|line| line.text.clone()),
            Action::CopyHex => self.packets.field_bytes(),
            _ => self.packets.field_filter(),
        };
        match text {
            Some(text) => {
                self.say(format!("Copied: {text}"));
                self.clipboard = Some(text);
            }
            None => self.complain("There is nothing to copy: select a field in the tree."),
        }
    }

    /// From a request to the first packet of its exchange that follows, and from an answer to its request.
    fn go_to_answer(&mut self) {
        let index = lock(&self.reading.shared.index);
        let Some(row) = index.rows().get(self.packets.cursor.at).copied() else { return };
        let request = match row.pairing() {
            Pairing::Answered(answer) => index.of_frame(answer.request_frame),
            _ => None,
        };
        let board = lock(&self.reading.shared.board);
        let of_request = |e: &&crate::exchange::Exchange| e.request_frame == row.frame;
        let answer = board.exchanges.0.iter().find(of_request).and_then(|e| e.response_frame);
        let found = request.or_else(|| index.of_frame(answer?));
        drop((index, board));
        match found {
            Some(row) => self.go_to_row(row),
            None => self.complain("No other packet of its exchange is listed."),
        }
    }

    pub(super) fn go_to_row(&mut self, row: usize) {
        self.screen = 0;
        self.packets.follows = false;
        self.packets.cursor.go_to(row, self.length);
    }

    fn act_on_listing(&mut self, action: Action) {
        let Some(listing) = self.screen.checked_sub(1).and_then(|at| self.listings.get_mut(at)) else {
            return;
        };
        if action != Action::Enter {
            return listing.act(action);
        }
        match listing.target() {
            Target::None => {}
            Target::Frame(frame) => {
                let row = lock(&self.reading.shared.index).of_frame(frame);
                match row {
                    Some(row) => self.go_to_row(row),
                    None => self.complain("Its packet is not listed."),
                }
            }
            Target::Server(server) => self.show_server(server),
        }
    }

    fn show_server(&mut self, server: Endpoint) {
        self.say(format!("Reading what there is about {server} ..."));
        let index = lock(&self.reading.shared.index);
        let pipe =
            |path: &PathBuf| self.plan.pipes.iter().find(|(of, _)| of == path).map(|(_, pipe)| pipe.clone());
        let paths = (0..index.files()).filter_map(|file| index.path(file));
        let captures = paths.map(|path| (path.clone(), pipe(&path))).collect();
        drop(index);
        self.server = Some(ServerJob::begin(self.plan.options.clone(), captures, server, self.width));
    }

    fn save(&mut self) {
        let Some(path) = self.save_to() else {
            return self
                .complain("There is no file to save to: -w FILE names it when the program is started.");
        };
        let marks = &self.packets.marks;
        match save(&self.reading.shared, &self.plan.pipes, marks, &path) {
            Ok(text) => self.say(text),
            Err(text) => self.complain(text),
        }
    }

    fn save_to(&self) -> Option<PathBuf> {
        self.plan.common.write.clone()
    }
}
