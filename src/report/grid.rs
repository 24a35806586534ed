//! Tables for people: a row is one line, and what is cut ends with `…`. Here is decided which columns give way on a narrow
//! screen; everything else is laid out by the table.

use super::grouped_count;
use super::terminal::{DIM, Screen, shortened, style};
use crate::rule::Severity;
use anstyle::Style;
use comfy_table::{CellAlignment, ColumnConstraint, Row, Table, Width, presets};
use std::io::{self, Write};
use unicode_width::UnicodeWidthStr;

/// Blanks between two columns, and where a table would have to cut cells otherwise.
const GAPS: [usize; 2] = [2, 1];

/// Width to which the address of a server is cut at most: an IPv4 address with its port is never cut.
pub(crate) const LEAST_ADDRESS: usize = 21;
/// Width to which a name is cut at most.
pub(crate) const LEAST_NAME: usize = 8;

/// How a column behaves where the screen is too narrow for the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fit {
    /// It is always there, and whole.
    Whole,
    /// Its cells are cut to no less than this width.
    Cut(usize),
    /// As `Cut`, but what is cut is the middle: an address keeps its port.
    Address(usize),
    /// It is there only where all before it have room.
    Spare,
}

/// A column of a table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column {
    /// The heading, of one or several lines.
    pub head: &'static str,
    /// Whether its cells are aligned to the right, as numbers are.
    pub is_number: bool,
    /// How it behaves on a narrow screen.
    pub fit: Fit,
}

impl Column {
    /// A column of words.
    pub(crate) const fn text(head: &'static str, fit: Fit) -> Column {
        Column { head, is_number: false, fit }
    }

    /// A column of numbers.
    pub(crate) const fn number(head: &'static str, fit: Fit) -> Column {
        Column { head, is_number: true, fit }
    }

    fn head_width(&self) -> usize {
        self.head.lines().map(UnicodeWidthStr::width).max().unwrap_or(0)
    }

    /// The text of a cell for a column of this width, marked for its colour.
    fn text_of(&self, screen: Screen, (text, severity): &Cell, width: usize) -> String {
        let mark = SEVERITY_MARKS.iter().find(|(of, _)| screen.colour && Some(*of) == *severity);
        match mark {
            Some((_, mark)) => format!("{mark}{text}{END_MARK}"),
            None if matches!(self.fit, Fit::Address(_)) => shortened(text, width),
            None => text.clone(),
        }
    }
}

/// A cell: a text without line breaks, and its colour if it is about a severity.
pub(crate) type Cell = (String, Option<Severity>);

/// Marks before words that are coloured after the table is laid out. They have no width, and no text from the network
/// contains them.
const SEVERITY_MARKS: [(Severity, char); 3] =
    [(Severity::Error, '\u{2061}'), (Severity::Warning, '\u{2062}'), (Severity::Note, '\u{2063}')];
/// The mark after such words.
const END_MARK: char = '\u{2064}';

/// A table.
#[derive(Debug)]
pub(crate) struct Grid {
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
}

impl Grid {
    /// A table without rows.
    pub(crate) fn new(columns: Vec<Column>) -> Grid {
        Grid { columns, rows: vec![] }
    }

    /// Adds a row with a cell for each column.
    pub(crate) fn add(&mut self, cells: Vec<Cell>) {
        self.rows.push(cells);
    }

    /// Adds a row of cells without colours.
    pub(crate) fn add_plain(&mut self, cells: impl IntoIterator<Item = String>) {
        self.add(cells.into_iter().map(|cell| (cell, None)).collect());
    }

    /// Writes the heading and a line for each row, without trailing blanks.
    pub(crate) fn write(&self, out: &mut dyn Write, screen: Screen) -> io::Result<()> {
        let (widths, gap) = self.layout(screen.width.into());
        let shown = self.columns.iter().zip(&widths).filter(|(_, width)| **width > 0);
        let height = shown.map(|(column, _)| column.head.lines().count()).max().unwrap_or(0);
        for (at, line) in self.table(screen, height, &widths, gap).lines().enumerate() {
            let line = line.trim_end();
            match at < height {
                true => writeln!(out, "{}", screen.paint(DIM, line))?,
                false => writeln!(out, "{}", coloured(line))?,
            }
        }
        Ok(())
    }

    /// The heading, which has one line, and a line for each row.
    #[cfg(feature = "tui")]
    pub(crate) fn lines(&self, screen: Screen) -> Vec<String> {
        let mut text = vec![];
        // Nothing fails in memory.
        let _ = self.write(&mut text, screen);
        String::from_utf8_lossy(&text).lines().map(str::to_owned).collect()
    }

    /// The table with the columns that have room. Cells end with `…` where they are cut.
    fn table(&self, screen: Screen, height: usize, widths: &[usize], gap: usize) -> Table {
        let mut table = Table::new();
        table.load_style(presets::NOTHING).set_truncation_indicator("…");
        // Headings of few lines stand at the bottom.
        table.set_header(
            self.columns.iter().map(|c| "\n".repeat(height.saturating_sub(c.head.lines().count())) + c.head),
        );
        for cells in &self.rows {
            let cells = cells.iter().zip(self.columns.iter().zip(widths));
            let mut row =
                Row::from(cells.map(|(cell, (column, width))| column.text_of(screen, cell, *width)));
            row.max_height(1);
            table.add_row(row);
        }
        for (in_table, (column, width)) in table.column_iter_mut().zip(self.columns.iter().zip(widths)) {
            let with_gap = u16::try_from(width + gap).unwrap_or(u16::MAX);
            in_table.set_padding((0, gap as u16)).set_constraint(match width {
                0 => ColumnConstraint::Hidden,
                _ => ColumnConstraint::Absolute(Width::Fixed(with_gap)),
            });
            if column.is_number {
                in_table.set_cell_alignment(CellAlignment::Right);
            }
        }
        table
    }

    /// The width of each column, with 0 for those that are left out, and the gap between two.
    fn layout(&self, room: usize) -> (Vec<usize>, usize) {
        let cells = |at: usize| self.rows.iter().filter_map(move |row| row.get(at)).map(|(text, _)| text);
        let natural: Vec<_> = self
            .columns
            .iter()
            .enumerate()
            .map(|(at, c)| cells(at).map(|text| text.width()).max().unwrap_or(0).max(c.head_width()))
            .collect();
        let mut widths = natural.clone();
        for (width, _) in widths.iter_mut().zip(&self.columns).filter(|(_, c)| c.fit == Fit::Spare) {
            *width = 0;
        }
        let gap = GAPS.into_iter().find(|gap| sum(&widths, *gap) <= room).unwrap_or(GAPS[1]);
        self.cut(&mut widths, room, gap);
        for (at, _) in self.columns.iter().enumerate().filter(|(_, c)| c.fit == Fit::Spare) {
            widths[at] = natural[at];
            if sum(&widths, gap) > room || cells(at).all(|text| text.is_empty() || text == "-") {
                widths[at] = 0;
            }
        }
        (widths, gap)
    }

    /// Cuts columns until the table fits, always the widest of those that may become narrower.
    fn cut(&self, widths: &mut [usize], room: usize, gap: usize) {
        while sum(widths, gap) > room {
            let narrower = self.columns.iter().zip(widths.iter_mut()).filter_map(|(column, width)| {
                matches!(column.fit, Fit::Cut(least) | Fit::Address(least) if *width > least).then_some(width)
            });
            let Some(widest) = narrower.max_by_key(|width| **width) else { return };
            *widest -= 1;
        }
    }
}

/// Replaces the marks in a line by the colours of their severities.
fn coloured(line: &str) -> String {
    if !line.contains(END_MARK) {
        return line.to_owned();
    }
    let mut line = line.replace(END_MARK, &Style::new().bold().render_reset().to_string());
    for (severity, mark) in SEVERITY_MARKS {
        line = line.replace(mark, &style(severity).to_string());
    }
    line
}

/// The width of a line with columns of these widths.
fn sum(widths: &[usize], gap: usize) -> usize {
    widths.iter().filter(|w| **w > 0).map(|width| width + gap).sum::<usize>().saturating_sub(gap)
}

/// Writes how many rows a table leaves out, if any.
pub(super) fn write_rest(out: &mut dyn Write, screen: Screen, rows: usize, what: &str) -> io::Result<()> {
    match rows.saturating_sub(screen.rows()) {
        0 => Ok(()),
        n => writeln!(out, "and {} more; --top {rows} shows all", grouped_count(n as u64, what)),
    }
}

/// A duration in three digits: `2.55 ms`, `17.1 ms`, `115 ms`.
pub(crate) fn brief(nanos: i64) -> String {
    let size = nanos.unsigned_abs() as f64;
    let (unit, name) = match size {
        ..1e6 => (1e3, "µs"),
        ..1e9 => (1e6, "ms"),
        _ => (1e9, "s"),
    };
    let decimals = match size / unit {
        ..10.0 => 2,
        ..100.0 => 1,
        _ => 0,
    };
    format!("{:.decimals$} {name}", nanos as f64 / unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(width: u16) -> Vec<String> {
        let mut grid = Grid::new(vec![
            Column::text("server", Fit::Address(21)),
            Column::text("name", Fit::Cut(5)),
            Column::number("on the\nwire", Fit::Whole),
            Column::text("map", Fit::Spare),
            Column::text("version", Fit::Spare),
        ]);
        grid.add_plain(["192.0.2.1:9000", "サーバー of the lab", "1,024", "Harbour", "-"].map(str::to_owned));
        grid.add_plain(["[2001:db8:1:2:3:4:5:6]:27015", "-", "7", "-", "-"].map(str::to_owned));
        let mut out = vec![];
        grid.write(&mut out, Screen { width, ..Screen::default() }).expect("memory takes everything");
        String::from_utf8(out).expect("UTF-8").lines().map(str::to_owned).collect()
    }

    #[test]
    fn a_row_is_one_line_of_at_most_the_width_and_says_what_is_cut() {
        for width in 34..90 {
            let lines = lines(width);
            assert!(lines.iter().all(|line| line.width() <= width.into()), "{width}: {lines:#?}");
            assert_eq!(lines.len(), 4, "two lines of headings, two rows");
            assert!(lines[3].contains(":27015 "), "a port is never cut: {lines:#?}");
            assert!(lines[2].contains("lab") || lines[2].contains('…'), "{lines:#?}");
        }
    }

    #[test]
    fn spare_columns_come_with_room_if_they_say_anything() {
        assert!(!lines(56)[1].contains("map"));
        assert!(lines(66)[1].ends_with("map"), "{:#?}", lines(66));
        assert!(!lines(200)[1].contains("version"), "every cell of it is empty");
    }

    #[test]
    fn what_is_cut_keeps_its_port() {
        assert_eq!(shortened("192.0.2.1:9000", 14), "192.0.2.1:9000");
        assert_eq!(shortened("192.0.2.123:9000", 14), "….0.2.123:9000");
        assert_eq!(shortened("[2001:db8::1]:9000", 14), "…:db8::1]:9000");
        assert_eq!(shortened("サーバ:9000", 8), "サーバ:…");
        assert_eq!(shortened("no address at all", 5), "no a…");
    }

    #[test]
    fn durations_have_three_digits() {
        for (nanos, text) in [
            (999, "1.00 µs"),
            (2_547_100, "2.55 ms"),
            (17_101_737, "17.1 ms"),
            (-115_616_830, "-116 ms"),
            (1_412_600_000, "1.41 s"),
        ] {
            assert_eq!(brief(nanos), text);
        }
    }
}
