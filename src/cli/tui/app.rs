//! The state of the screens, and what keys and the mouse do to it.

use super::frames::Frames;
use super::gather::lock;
use super::input::Input;
use super::keys::{Action, action};
use super::listing::{Kind, Listing};
use super::overlay::{Overlay, ServerJob};
use super::packets::{COLUMNS, Packets};
use super::reading::{Plan, Reading};
use super::search::Search;
use super::theme::Theme;
use crate::capture::{SECOND, Time};
use crate::cli::clock::CaptureClock;
use crate::filter::{FilterError, names};
use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind};
use ratatui::layout::Rect;

/// The screens, in the order of their numbers.
pub const SCREENS: [&str; 7] =
    ["Packets", "Servers", "Exchanges", "Findings", "Statistics", "Unclaimed", "Top"];

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
    pub(super) plan: Plan,
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
    pub listings: [Listing; 6],
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
    /// Reads about a server.
    pub(super) server: Option<ServerJob>,
    clock: CaptureClock,
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
        let kinds =
            [Kind::Servers, Kind::Exchanges, Kind::Findings, Kind::Statistics, Kind::Unclaimed, Kind::Top];
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
            clock: CaptureClock::default(),
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
        let now = self.now();
        if let Some(listing) = self.screen.checked_sub(1).and_then(|at| self.listings.get_mut(at)) {
            listing.update(&self.reading.shared, self.width, now);
        } else {
            self.packets.cursor.fit(self.length);
            self.packets.open(&self.reading.shared, &mut self.frames, self.all);
        }
        !self.reading.is_done() || self.server.is_some() || self.search.as_ref().is_some_and(Search::runs)
    }

    /// The time in the capture: at its end, when all of its seconds are over.
    fn now(&mut self) -> Time {
        let latest = lock(&self.reading.shared.board).top.latest;
        if self.reading.is_done() { latest.plus(SECOND) } else { self.clock.now(latest) }
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
            Some(Action::Left) => self.packets.resize_column(at, false),
            Some(Action::Right) => self.packets.resize_column(at, true),
            Some(Action::CopyValue) => {
                let text = self.packets.columns_as_toml();
                self.say("Copied: the lines for qdissect.toml.");
                self.clipboard = Some(text);
            }
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
}
