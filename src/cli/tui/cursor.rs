//! The selected line of a list, and which lines are on the screen.

use super::keys::Action;

/// A position in a list that may grow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cursor {
    /// The selected line.
    pub at: usize,
    /// The first line on the screen.
    pub top: usize,
    /// Number of lines on the screen, as they were drawn last.
    pub height: usize,
    /// The next drawing decides what is on the screen.
    is_new: bool,
}

impl Cursor {
    /// Moves it in a list of `len` lines, and returns whether the key is one that moves it.
    pub fn act(&mut self, action: Action, len: usize) -> bool {
        let page = self.height.saturating_sub(1).max(1);
        self.at = match action {
            Action::Up => self.at.saturating_sub(1),
            Action::Down => self.at.saturating_add(1),
            Action::PageUp => self.at.saturating_sub(page),
            Action::PageDown => self.at.saturating_add(page),
            Action::Home => 0,
            Action::End => usize::MAX,
            _ => return false,
        };
        self.fit(len);
        true
    }

    /// Keeps it inside a list of `len` lines, and on the screen.
    pub fn fit(&mut self, len: usize) {
        self.at = self.at.min(len.saturating_sub(1));
        self.top = self.top.min(len.saturating_sub(self.height)).min(self.at);
        if self.height > 0 && self.at >= self.top + self.height {
            self.top = self.at + 1 - self.height;
        }
    }

    /// Draws a list of `len` lines into `height` lines of the screen: the range of those that are visible.
    pub fn visible(&mut self, len: usize, height: usize) -> std::ops::Range<usize> {
        self.height = height;
        if std::mem::take(&mut self.is_new) {
            self.top = if self.at < height { 0 } else { self.at - height / 2 };
        }
        self.fit(len);
        self.top..len.min(self.top + height)
    }

    /// Selects a line of a new list: it is drawn in the middle of the screen, unless it is on the first page.
    pub fn begin_at(&mut self, at: usize) {
        *self = Cursor { at, top: 0, height: self.height, is_new: true };
    }

    /// Selects a line, in the middle of the screen if it was not on it.
    pub fn go_to(&mut self, at: usize, len: usize) {
        self.at = at;
        if at < self.top || at >= self.top + self.height {
            self.top = at.saturating_sub(self.height / 2);
        }
        self.fit(len);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_stays_inside_the_list_and_on_the_screen() {
        let mut cursor = Cursor::default();
        assert_eq!(cursor.visible(100, 10), 0..10);
        for (action, at, top) in [
            (Action::Down, 1, 0),
            (Action::PageDown, 10, 1),
            (Action::End, 99, 90),
            (Action::Down, 99, 90),
            (Action::Up, 98, 90),
            (Action::PageUp, 89, 89),
            (Action::Home, 0, 0),
            (Action::Up, 0, 0),
        ] {
            assert!(cursor.act(action, 100));
            assert_eq!((cursor.at, cursor.top), (at, top), "{action:?}");
        }
        cursor.go_to(50, 100);
        assert_eq!((cursor.at, cursor.top), (50, 45));
        assert_eq!(cursor.visible(3, 10), 0..3, "the list has become shorter");
        cursor.begin_at(9);
        assert_eq!(cursor.visible(20, 10), 0..10);
        cursor.begin_at(10);
        assert_eq!(cursor.visible(20, 8), 6..14, "the height is that of the drawing");
        assert!(!cursor.act(Action::Enter, 3));
    }

    #[test]
    fn an_empty_list_has_no_lines() {
        let mut cursor = Cursor::default();
        assert_eq!(cursor.visible(0, 10), 0..0);
        assert!(cursor.act(Action::End, 0) && cursor.at == 0);
        assert_eq!(cursor.visible(5, 0), 0..0, "no room");
    }
}
