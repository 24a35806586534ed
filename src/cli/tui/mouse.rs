//! The mouse: it chooses screens, lines, fields and bytes, and its wheel scrolls.

use super::app::{App, Areas, Mode};
use super::draw::tab_names;
use super::keys::Action;
use super::packets::{BYTES_IN_ROW, Pane, byte_at};
use crossterm::event::{MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::{Position, Rect};

impl App {
    /// Does what the mouse asks for.
    pub(super) fn mouse(&mut self, mouse: &MouseEvent) {
        let at = Position::new(mouse.column, mouse.row);
        match mouse.kind {
            MouseEventKind::ScrollUp | MouseEventKind::ScrollDown => {
                let action = if mouse.kind == MouseEventKind::ScrollUp { Action::Up } else { Action::Down };
                match &mut self.mode {
                    Mode::Overlay(overlay) => drop(overlay.act(action)),
                    Mode::Screen => {
                        self.focus(at);
                        (0..3).for_each(|_| self.act(action));
                    }
                    _ => {}
                }
            }
            MouseEventKind::Down(MouseButton::Left) if matches!(self.mode, Mode::Screen) => self.click(at),
            MouseEventKind::Down(MouseButton::Left) if matches!(self.mode, Mode::Overlay(_)) => {
                self.mode = Mode::Screen;
            }
            _ => {}
        }
    }

    /// The keys go to the pane below the mouse.
    fn focus(&mut self, at: Position) {
        let panes =
            [(self.areas.list, Pane::List), (self.areas.tree, Pane::Tree), (self.areas.bytes, Pane::Bytes)];
        if let Some((_, pane)) = panes.iter().find(|(area, _)| self.screen == 0 && area.contains(at)) {
            self.packets.pane = *pane;
        }
    }

    fn click(&mut self, at: Position) {
        self.focus(at);
        let line = |area: Rect| usize::from(at.y - area.y);
        let Areas { tabs, list, tree, bytes } = self.areas;
        if tabs.contains(at) {
            let mut x = tabs.x;
            for (screen, name) in tab_names(self.screen, tabs.width).iter().enumerate() {
                let width = name.len() as u16;
                if (x..x + width).contains(&at.x) {
                    self.screen = screen;
                }
                x += width;
            }
        } else if list.contains(at) {
            let cursor = match self.screen.checked_sub(1).and_then(|at| self.listings.get_mut(at)) {
                Some(listing) => &mut listing.cursor,
                None => &mut self.packets.cursor,
            };
            let clicked = cursor.top + line(list);
            let again = cursor.at == clicked;
            cursor.at = clicked;
            self.packets.follows &= self.screen != 0;
            if again && self.screen != 0 {
                self.act(Action::Enter);
            }
        } else if self.screen == 0 && tree.contains(at) {
            self.packets.select_line(self.packets.tree.top + line(tree));
        } else if self.screen == 0 && bytes.contains(at) {
            let row = self.packets.rows.top + line(bytes);
            if let Some(column) = byte_at(at.x - bytes.x) {
                self.packets.select_byte(row * BYTES_IN_ROW + column);
            }
        }
    }
}
