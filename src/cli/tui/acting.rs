//! What the keys do on the screens.

use super::app::{App, Mode, SCREENS};
use super::gather::lock;
use super::input::Input;
use super::keys::Action;
use super::ladder::ladder;
use super::listing::Target;
use super::overlay::{Overlay, ServerJob};
use super::packets::Pane;
use super::save::save;
use super::search::{Search, Wanted};
use crate::exchange::{Exchange, Pairing};
use crate::net::Endpoint;
use std::path::PathBuf;

impl App {
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
            Action::Ladder => self.show_ladder(),
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
        let of_request = |e: &Exchange| e.request_frame == row.frame;
        let answer = board.exchanges.iter().find(of_request).and_then(|e| e.response_frame);
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

    /// Shows the ladder of the selected server, or of the client and the server of the selected exchange.
    fn show_ladder(&mut self) {
        let listing = self.screen.checked_sub(1).and_then(|at| self.listings.get(at));
        let target = match listing {
            Some(listing) => listing.target(),
            None => {
                let index = lock(&self.reading.shared.index);
                let row = index.rows().get(self.packets.cursor.at);
                row.map_or(Target::None, |row| Target::Frame(row.frame))
            }
        };
        let (index, board) = (lock(&self.reading.shared.index), lock(&self.reading.shared.board));
        let exchanges = &board.exchanges;
        let (title, lines) = match target {
            Target::Server(server) => {
                let of_server = exchanges.iter().filter(|e| e.server == server);
                (format!("Exchanges with {server}"), ladder(&index, of_server))
            }
            Target::Frame(frame) => {
                let has_frame = |e: &Exchange| e.request_frame == frame || e.response_frame == Some(frame);
                let Some(Exchange { client, server, .. }) = exchanges.iter().find(has_frame) else {
                    drop((index, board));
                    return self.complain("It belongs to no exchange that has ended.");
                };
                let of_both = exchanges.iter().filter(|e| (e.client, e.server) == (client, server));
                (format!("Exchanges of {client} with {server}"), ladder(&index, of_both))
            }
            Target::None => {
                drop((index, board));
                return self.complain("Select a server or an exchange first.");
            }
        };
        drop((index, board));
        self.mode = Mode::Overlay(Overlay::new(title, lines));
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
