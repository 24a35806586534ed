//! Text pages, wrapped to the width of the terminal and coloured if that is wanted.

use crate::check::Finding;
use crate::cli::terminal::wrapped as broken;
use crate::decode::Tree;
pub use crate::report::screen::{BOLD, DIM, style};
use crate::report::screen::{Screen, wrapped};
use crate::text::escape::truncated;
use crate::text::markdown::paragraph;
use anstyle::Style;
use unicode_width::UnicodeWidthStr;

/// Maximum width of text in columns; longer lines are hard to read.
const WIDEST: u16 = 100;

/// A text that grows line by line.
pub struct Page {
    text: String,
    screen: Screen,
}

impl Page {
    /// Creates an empty page of the given width in columns.
    pub fn new(width: u16, colour: bool) -> Page {
        Page { text: String::new(), screen: Screen { width: width.min(WIDEST), colour, ..Screen::default() } }
    }

    /// The whole text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// A piece of a line, styled if colours are wanted.
    pub fn paint(&self, style: Style, text: &str) -> String {
        self.screen.paint(style, text)
    }

    /// Appends a line, broken between words where it is wider than the page.
    pub fn line(&mut self, line: &str) {
        self.text.push_str(&broken(line.trim_end(), self.screen.width.into()));
        self.text.push('\n');
    }

    /// Appends a line, cut at the width of the page.
    pub fn cut_line(&mut self, line: &str) {
        self.line(&truncated(line, self.screen.width.into()));
    }

    /// Appends an empty line, unless the page is empty.
    pub fn gap(&mut self) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
    }

    /// Appends a tree of fields: bytes, field and value.
    pub fn tree(&mut self, tree: &Tree, payload: &[u8]) {
        // The broken rules at the end of the tree are left out, because they are shown as findings.
        let text = tree.render(payload);
        text.lines().take(tree.nodes().len()).for_each(|line| self.cut_line(&format!("      {line}")));
    }

    /// Appends a finding in the columns of a tree: the bytes, then what is wrong with them. `mark` precedes it.
    pub fn finding(&mut self, mark: &str, f: &Finding) {
        let bytes = f.span.map(|s| format!("{:4}..{:<4}", s.start, s.end)).unwrap_or_default();
        // If bytes are missing, the finding's text names the field itself.
        let path = f.path().filter(|_| f.needs == 0).map(|p| format!(" {p}:")).unwrap_or_default();
        let id = self.paint(style(f.severity), &format!("{}[{}]", f.severity.name(), f.rule.id));
        let why = match f.caused_by {
            Some(cause) => format!("caused by {} in frame {}", cause.rule.id, cause.frame),
            None => format!("at fault: {}", f.fault.name()),
        };
        let why = self.paint(DIM, &format!("({why})"));
        self.line(&format!("   {mark:<2} {bytes:<10} ^ {id}{path} {f} {why}"));
    }

    /// Appends text of any length after a head. Further lines are indented by the width of the head, which must not contain
    /// styles because they would count.
    pub fn wrapped(&mut self, head: &str, text: &str) {
        self.wrapped_at(head, head.width(), text);
    }

    /// Like [`wrapped`](Page::wrapped), for a head that may contain styles and takes `indent` columns.
    pub fn wrapped_at(&mut self, head: &str, indent: usize, text: &str) {
        let lines = wrapped(&paragraph(text), usize::from(self.screen.width).saturating_sub(indent), 0);
        for (at, line) in lines.iter().enumerate() {
            self.line(&if at == 0 { format!("{head}{line}") } else { format!("{:indent$}{line}", "") });
        }
    }
}

/// The text that a function writes on a page of the usual width, without colours.
#[cfg(test)]
pub fn written(write: impl FnOnce(&mut Page)) -> String {
    let mut page = Page::new(100, false);
    write(&mut page);
    page.text().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_wrapped_after_its_head_without_losing_words() {
        let mut page = Page::new(20, false);
        page.wrapped("  é: ", "one two  three\nfour anoverlongwordofmany five");
        let expected = "  é: one two three\n     four\n     anoverlongwordofmany\n     five\n";
        assert_eq!(page.text(), expected);
    }

    #[test]
    fn text_is_coloured_only_if_wanted() {
        assert_eq!(Page::new(80, false).paint(BOLD, "x"), "x");
        assert!(Page::new(80, true).paint(BOLD, "x").starts_with("\x1b["));
    }

    #[test]
    fn gaps_are_between_lines_and_lines_have_no_trailing_spaces() {
        let mut page = Page::new(80, false);
        page.gap();
        page.line("a  ");
        page.gap();
        page.line("b");
        assert_eq!(page.text(), "a\n\nb\n");
    }

    #[test]
    fn long_lines_are_cut_at_the_width() {
        let mut page = Page::new(5, false);
        page.cut_line("äbcde");
        page.cut_line("äbcdef");
        page.cut_line("サーバー");
        assert_eq!(page.text(), "äbcde\näbcd…\nサー…\n");
    }
}
