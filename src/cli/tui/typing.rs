//! What is typed: the filter, and what to search for.

use super::app::{App, Mode};
use super::search::{Search, Wanted};
use crate::filter::Filter;
use crossterm::event::{KeyCode, KeyEvent};

impl App {
    pub(super) fn key_in_filter(&mut self, key: &KeyEvent) {
        let Mode::Filter(input, wrong) = &mut self.mode else { return };
        match key.code {
            KeyCode::Esc => self.mode = Mode::Screen,
            KeyCode::Tab => {
                input.complete(&self.names);
                self.check_filter();
            }
            KeyCode::Enter if wrong.is_none() => {
                let text = input.text.trim().to_owned();
                self.mode = Mode::Screen;
                self.set_filter(text);
            }
            KeyCode::Enter => {}
            _ => {
                input.edit(key);
                self.check_filter();
            }
        }
    }

    pub(super) fn check_filter(&mut self) {
        if let Mode::Filter(input, wrong) = &mut self.mode {
            *wrong = Filter::parse(&input.text).err();
        }
    }

    pub(super) fn set_filter(&mut self, filter: String) {
        if filter != self.filter {
            self.filter = filter;
            self.read_again();
        }
        self.screen = 0;
    }

    pub(super) fn key_in_search(&mut self, key: &KeyEvent) {
        let Mode::Search(input) = &mut self.mode else { return };
        match key.code {
            KeyCode::Esc => self.mode = Mode::Screen,
            KeyCode::Enter => {
                let text = input.text.clone();
                self.mode = Mode::Screen;
                match Wanted::parse(&text) {
                    Some(wanted) => self.begin_search(wanted, true),
                    None => self.search = None,
                }
            }
            _ => drop(input.edit(key)),
        }
    }

    pub(super) fn begin_search(&mut self, wanted: Wanted, forward: bool) {
        self.screen = 0;
        self.search = Some(Search::begin(wanted, self.packets.cursor.at, forward));
    }

    pub(super) fn search_on(&mut self) {
        let Some(search) = self.search.as_mut().filter(|search| search.runs()) else { return };
        match search.step(&self.reading.shared, &mut self.frames, self.all) {
            None => {}
            Some(Ok(row)) => {
                self.go_to_row(row);
                let Some(search) = &self.search else { return };
                let wanted = search.wanted.clone();
                self.packets.open(&self.reading.shared, &mut self.frames, self.all);
                let lines = self.packets.lines();
                if let Some(at) = lines.iter().position(|line| wanted.is_in_line(line)) {
                    self.packets.select_line(at);
                }
            }
            Some(Err(text)) => self.complain(text),
        }
    }

    pub(super) fn search_again(&mut self, forward: bool) {
        match self.search.as_ref().map(|search| search.wanted.clone()) {
            Some(wanted) => self.begin_search(wanted, forward),
            None => self.complain("There is nothing to search for: / begins a search."),
        }
    }
}
