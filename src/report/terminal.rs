//! The screen: its width, its colours, and how tables are laid out on it.

use crate::rule::Severity;
use anstyle::{AnsiColor, Style};
use comfy_table::{ContentArrangement, LineStyle, Table, presets};
use std::io::{self, Write};

/// Most rows of a table; the worst come first.
pub(crate) const MAX_ROWS: usize = 200;

/// Properties of the screen.
#[derive(Clone, Copy, Debug, Default)]
pub struct Screen {
    /// Number of columns.
    pub width: u16,
    /// Whether to write colours.
    pub colour: bool,
    /// Whether to draw bars with ASCII characters only.
    pub ascii: bool,
    /// Most rows of a table, where the user sets it.
    pub top: Option<usize>,
    /// How rows are ordered.
    pub sort: Sort,
}

/// What decides the order of servers and rules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sort {
    /// The worst findings first.
    #[default]
    Findings,
    /// The most requests, or findings, first.
    Count,
    /// The longest median of response times first; of rules, the rule found first.
    Time,
    /// The most requests without an answer in time first.
    Loss,
    /// By names of servers, and numbers of rules.
    Name,
}

/// Stand before words that get a colour once the table is laid out: they have no width, and no text from the network
/// contains them.
const MARKS: [(Severity, char); 3] =
    [(Severity::Error, '\u{2061}'), (Severity::Warning, '\u{2062}'), (Severity::Note, '\u{2063}')];
/// Stands after such words.
const END: char = '\u{2064}';

impl Screen {
    pub(crate) fn paint(&self, style: Style, text: &str) -> String {
        if self.colour { format!("{style}{text}{style:#}") } else { text.to_owned() }
    }

    /// Most rows of a table.
    pub(crate) fn rows(&self) -> usize {
        self.top.unwrap_or(MAX_ROWS)
    }

    /// A word in a table, in the colour of a severity.
    pub(super) fn mark(&self, severity: Severity, word: &str) -> String {
        match MARKS.iter().find(|(of, _)| self.colour && *of == severity) {
            Some((_, mark)) => format!("{mark}{word}{END}"),
            None => word.to_owned(),
        }
    }

    /// Prints a table after an empty line, without the blanks that fill its rows.
    pub(crate) fn print(&self, out: &mut dyn Write, table: &Table) -> io::Result<()> {
        let mut text = table.to_string();
        if self.colour {
            for (severity, mark) in MARKS {
                text = text.replace(mark, &style(severity).to_string());
            }
            text = text.replace(END, &Style::new().bold().render_reset().to_string());
        }
        writeln!(out)?;
        text.lines().try_for_each(|line| writeln!(out, "{}", line.trim_end()))
    }

    /// A table with a line under its header, and with `between` also under each row, for rows of several lines.
    pub(crate) fn table(&self, between: bool) -> Table {
        let mut table = Table::new();
        let style = presets::UTF8_HORIZONTAL_ONLY;
        table.load_style(if between { style } else { style.row_separator(LineStyle::none()) });
        table.set_content_arrangement(ContentArrangement::Dynamic).set_width(self.width);
        table
    }
}

/// The style of titles.
pub(crate) const BOLD: Style = Style::new().bold();

/// The colour of a severity.
pub fn style(severity: Severity) -> Style {
    match severity {
        Severity::Error => AnsiColor::Red.on_default().bold(),
        Severity::Warning => AnsiColor::Yellow.on_default().bold(),
        Severity::Note => AnsiColor::BrightBlue.on_default(),
    }
}
