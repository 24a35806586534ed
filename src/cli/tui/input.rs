//! A line of text that the user types: a filter, or what to search for.

use crate::filter;
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// A line with a cursor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Input {
    /// The text.
    pub text: String,
    /// Where the next character goes, in bytes.
    pub cursor: usize,
}

impl Input {
    /// A line with this text, and the cursor at its end.
    pub fn of(text: &str) -> Input {
        Input { text: text.to_owned(), cursor: text.len() }
    }

    /// Inserts text at the cursor; a line has no line ends.
    pub fn insert(&mut self, text: &str) {
        let text: String = text.chars().filter(|c| !c.is_control()).collect();
        self.text.insert_str(self.cursor, &text);
        self.cursor += text.len();
    }

    /// Edits the line, and returns whether the key is one that edits.
    pub fn edit(&mut self, key: &KeyEvent) -> bool {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('a') if control => self.cursor = 0,
            KeyCode::Char('e') if control => self.cursor = self.text.len(),
            KeyCode::Char('u') if control => {
                self.text.drain(..self.cursor);
                self.cursor = 0;
            }
            KeyCode::Char('w') if control => {
                let rest = self.text[..self.cursor].trim_end();
                let start = rest.rfind(' ').map_or(0, |at| at + 1);
                self.text.drain(start..self.cursor);
                self.cursor = start;
            }
            KeyCode::Char(_) if control || key.modifiers.contains(KeyModifiers::ALT) => return false,
            KeyCode::Char(c) => self.insert(c.encode_utf8(&mut [0; 4])),
            KeyCode::Backspace => {
                if let Some(c) = self.text[..self.cursor].chars().next_back() {
                    self.cursor -= c.len_utf8();
                    self.text.remove(self.cursor);
                }
            }
            KeyCode::Delete if self.cursor < self.text.len() => {
                self.text.remove(self.cursor);
            }
            KeyCode::Left => {
                self.cursor -= self.text[..self.cursor].chars().next_back().map_or(0, char::len_utf8)
            }
            KeyCode::Right => {
                self.cursor += self.text[self.cursor..].chars().next().map_or(0, char::len_utf8)
            }
            KeyCode::Home => self.cursor = 0,
            KeyCode::End => self.cursor = self.text.len(),
            _ => return false,
        }
        true
    }

    /// The names that the word before the cursor may become, at most `most`.
    pub fn candidates<'a>(&self, names: &'a [String], most: usize) -> Vec<&'a str> {
        filter::candidates(&self.text[..self.cursor], names, most)
    }

    /// Completes the word before the cursor as far as the names agree.
    pub fn complete(&mut self, names: &[String]) {
        let rest = filter::completion(&self.text[..self.cursor], names);
        self.insert(rest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn press(input: &mut Input, code: KeyCode) {
        assert!(input.edit(&KeyEvent::new(code, KeyModifiers::NONE)), "{code:?}");
    }

    #[test]
    fn a_line_is_edited_at_its_cursor() {
        let mut input = Input::of("sqp é");
        press(&mut input, KeyCode::Backspace);
        press(&mut input, KeyCode::Char('a'));
        press(&mut input, KeyCode::Home);
        press(&mut input, KeyCode::Delete);
        press(&mut input, KeyCode::Right);
        press(&mut input, KeyCode::Char('ü'));
        assert_eq!((input.text.as_str(), input.cursor), ("qüp a", 3));
        press(&mut input, KeyCode::Left);
        press(&mut input, KeyCode::End);
        input.insert("\u{1b}[b\n");
        assert_eq!(input.text, "qüp a[b", "no control characters");
        assert!(input.edit(&KeyEvent::new(KeyCode::Char('w'), KeyModifiers::CONTROL)));
        assert_eq!(input.text, "qüp ");
        assert!(!input.edit(&KeyEvent::new(KeyCode::Enter, KeyModifiers::NONE)));
    }

    #[test]
    fn names_are_completed_at_the_cursor() {
        let names: Vec<String> = ["sqp", "sqp.token"].map(str::to_owned).into();
        let mut input = Input::of("s > 3");
        press(&mut input, KeyCode::Home);
        press(&mut input, KeyCode::Right);
        assert_eq!(input.candidates(&names, 9), ["sqp", "sqp.token"]);
        input.complete(&names);
        assert_eq!((input.text.as_str(), input.cursor), ("sqp > 3", 3));
    }
}
