//! The screen: its width, its colours, and how tables and lines are laid out on it: each column of lines is as wide as its
//! cells, and no line is wider than the screen.

use crate::escape::short;
use crate::line::Line;
use crate::rule::Severity;
use anstyle::{AnsiColor, Style};
use comfy_table::{ContentArrangement, LineStyle, Table, presets};
use std::io::{self, Write};
use unicode_width::UnicodeWidthStr;

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
    /// A text in a style, if colours are wanted.
    pub fn paint(&self, style: Style, text: &str) -> String {
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
pub const BOLD: Style = Style::new().bold();
/// The style of less important text.
pub const DIM: Style = Style::new().dimmed();

/// A text in lines of at most `width` columns, broken between words; all lines but the first are indented. A longer word
/// has a line of its own.
pub fn wrapped(text: &str, width: usize, indent: usize) -> Vec<String> {
    let mut lines = vec![];
    let (mut line, mut columns) = (String::new(), 0);
    for word in text.split(' ') {
        let (begun, wide) = (!line.trim_start().is_empty(), word.width());
        if begun && columns + 1 + wide > width {
            lines.push(std::mem::replace(&mut line, " ".repeat(indent)));
            columns = indent;
        } else if begun {
            line.push(' ');
            columns += 1;
        }
        line.push_str(word);
        columns += wide;
    }
    lines.push(line);
    lines
}

/// The colour of a severity.
pub fn style(severity: Severity) -> Style {
    match severity {
        Severity::Error => AnsiColor::Red.on_default().bold(),
        Severity::Warning => AnsiColor::Yellow.on_default().bold(),
        Severity::Note => AnsiColor::BrightBlue.on_default(),
    }
}

/// Most lines that are gathered to give their columns common widths.
const GATHERED: usize = 200;
/// Least room for the text after the columns: without findings, and with findings in it.
const REST: [usize; 2] = [12, 28];
/// Least room for the first words after the columns.
const WORDS: usize = 10;
/// Least room for the middle words, below which they are left out.
const MIDDLE: usize = 4;

/// A column by its index, and the least width to which it may be cut where a line is too long. The column is left out where
/// the least width is 0.
pub(super) type GiveWay = (usize, usize);

/// Lines that wait until the widths of their columns are known.
#[derive(Debug)]
pub(super) struct Fitted {
    screen: Screen,
    /// For each column, whether its cells are aligned to the right.
    columns: Vec<bool>,
    /// Columns that are cut or left out, the least important first.
    give_way: &'static [GiveWay],
    /// Ends of the cells of the line that is being written, each with a severity where the cell is a finding.
    marks: Vec<(usize, Option<Severity>)>,
    rows: Vec<Row>,
    /// Width of each column, and of the text after the columns.
    widths: Vec<usize>,
    rest: usize,
}

#[derive(Debug)]
enum Row {
    /// A line without cells, which stays as it is.
    Plain(String),
    /// Cells: one for each column, then the first words, the middle words, and findings.
    Cells(Vec<(String, Option<Severity>)>),
}

impl Fitted {
    pub fn new(screen: Screen, columns: Vec<bool>, give_way: &'static [GiveWay]) -> Fitted {
        let widths = vec![0; columns.len()];
        Fitted { screen, columns, give_way, marks: vec![], rows: vec![], widths, rest: 0 }
    }

    /// Marks the end of a cell.
    pub fn mark(&mut self, at: usize, severity: Option<Severity>) {
        self.marks.push((at, severity));
    }

    /// Takes a line, and splits it into cells where their ends were marked.
    pub fn take(&mut self, line: &[u8]) {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
        if self.marks.is_empty() {
            return self.rows.push(Row::Plain(String::from_utf8_lossy(line).trim_end().to_owned()));
        }
        let mut from = 0;
        let cells = self.marks.drain(..).map(|(end, severity)| {
            let cell = text(line.get(from..end).unwrap_or_default());
            from = end;
            (cell, severity)
        });
        let cells: Vec<_> = cells.collect();
        let columns = self.columns.len();
        for (width, (cell, _)) in self.widths.iter_mut().zip(&cells) {
            *width = (*width).max(cell.width());
        }
        let findings = cells.iter().any(|(_, severity)| severity.is_some());
        let words = cells.get(columns).map_or(0, |(words, _)| words.width());
        self.rest = self.rest.max(words.min(REST[0])).max(if findings { REST[1] } else { 0 });
        self.rows.push(Row::Cells(cells));
    }

    /// Whether enough lines wait to be laid out.
    pub fn is_full(&self) -> bool {
        self.rows.len() >= GATHERED
    }

    /// Lays out the waiting lines and appends them.
    pub fn lay_out(&mut self, out: &mut Line) {
        let widths = self.fitting();
        for row in std::mem::take(&mut self.rows) {
            match row {
                Row::Plain(line) => out.extend_from_slice(line.as_bytes()),
                Row::Cells(cells) => out.extend_from_slice(self.line(&cells, &widths).trim_end().as_bytes()),
            }
            out.push(b'\n');
        }
    }

    /// The widths of the columns, made narrower where the screen lacks room.
    fn fitting(&self) -> Vec<usize> {
        let mut widths = self.widths.clone();
        for &(column, least) in self.give_way {
            let wanted: usize = widths.iter().map(|width| width + usize::from(*width > 0)).sum();
            let beyond = (wanted + self.rest).saturating_sub(self.screen.width.into());
            if let Some(width) = widths.get_mut(column).filter(|_| beyond > 0) {
                *width = if least == 0 { 0 } else { width.saturating_sub(beyond).max(least.min(*width)) };
            }
        }
        widths
    }

    fn line(&self, cells: &[(String, Option<Severity>)], widths: &[usize]) -> String {
        let mut line = String::new();
        for ((at_right, width), (cell, _)) in
            self.columns.iter().zip(widths).zip(cells).filter(|((_, w), _)| **w > 0)
        {
            let cell = short(cell, *width);
            let blanks = " ".repeat(width.saturating_sub(cell.width()));
            let (before, behind) = if *at_right { (blanks, String::new()) } else { (String::new(), blanks) };
            line.extend([&before, &cell, &behind, " "]);
        }
        let room = usize::from(self.screen.width).saturating_sub(line.width());
        let rest = cells.get(self.columns.len()..).unwrap_or_default();
        line + &self.rest(rest, room)
    }

    /// The text after the columns: the first words, the middle words where there is room, and as many findings as fit.
    fn rest(&self, cells: &[(String, Option<Severity>)], room: usize) -> String {
        let words: Vec<_> =
            cells.iter().filter(|(cell, severity)| severity.is_none() && !cell.is_empty()).collect();
        let findings: Vec<_> =
            cells.iter().filter_map(|(cell, severity)| Some((cell, (*severity)?))).collect();
        let [first, middle] = match words.as_slice() {
            [] => [String::new(), String::new()],
            [(first, _), middle @ ..] => {
                let middle: Vec<_> = middle.iter().map(|(cell, _)| cell.as_str()).collect();
                [first.clone(), middle.join(" ")]
            }
        };
        let all: usize = findings.iter().map(|(cell, _)| cell.width() + 1).sum();
        let first = short(&first, room.saturating_sub(all).max(WORDS).min(room));
        let mut left = room.saturating_sub(first.width());
        let middle = match left.saturating_sub(all + 1) {
            _ if middle.is_empty() => String::new(),
            ..MIDDLE => String::new(),
            room => format!(" {}", short(&middle, room)),
        };
        left = left.saturating_sub(middle.width());
        let mut rest = first + &middle;
        for (at, (cell, severity)) in findings.iter().enumerate() {
            // An ellipsis after the last finding shown tells that there are more.
            let further = if at + 1 < findings.len() { 2 } else { 0 };
            let fits = left > cell.width() + further;
            let shown =
                if fits { cell.to_string() } else { short(&format!("{cell}…"), left.saturating_sub(1)) };
            if left > 1 {
                rest.push(' ');
                rest.push_str(&self.screen.paint(style(*severity), &shown));
            }
            left = if fits { left.saturating_sub(cell.width() + 1) } else { 0 };
        }
        rest
    }
}

#[cfg(test)]
mod tests {
    use super::super::Totals;
    use super::super::screen::{MAX_CELL, arrange};
    use super::super::server::{Server, ServerFacts};
    use super::super::summary::Summary;
    use super::*;
    use crate::capture::{CaptureInfo, Interface};
    use crate::escape::shown;
    use crate::net::Endpoint;
    use crate::protocols::Id;

    const GIVE_WAY: &[GiveWay] = &[(2, 4), (2, 0), (1, 5)];

    /// The rows as they are laid out. In `rows`, a bar follows each cell, and findings begin with an exclamation mark.
    fn fitted(width: u16, rows: &[&str]) -> Vec<String> {
        let mut fitted =
            Fitted::new(Screen { width, ..Screen::default() }, vec![true, false, false], GIVE_WAY);
        for row in rows {
            let mut line = vec![];
            for cell in row.split('|') {
                line.extend_from_slice(cell.trim_start_matches('!').as_bytes());
                fitted.mark(line.len(), cell.starts_with('!').then_some(Severity::Error));
            }
            fitted.take(&line);
        }
        Line::text(|out| fitted.lay_out(out)).lines().map(str::to_owned).collect()
    }

    #[test]
    fn columns_are_as_wide_as_what_is_in_them() {
        let lines = fitted(60, &["1| ab|protocol|hello|more", "23|abcdef|p|there||!A:error"]);
        assert_eq!(lines, [" 1 ab     protocol hello more", "23 abcdef p        there A:error"]);
    }

    #[test]
    fn what_is_least_important_is_cut_and_then_left_out() {
        let row = "1|address|protocol|a message|details of it";
        assert_eq!(fitted(40, &[row]), ["1 address protocol a message details of…"]);
        assert_eq!(fitted(29, &[row]), ["1 address protocol a message"]);
        assert_eq!(fitted(25, &[row]), ["1 address prot… a message"]);
        assert_eq!(fitted(17, &[row]), ["1 addr… a message"]);
    }

    #[test]
    fn no_line_is_wider_than_the_screen_and_findings_stay() {
        let rows =
            ["1|サーバー|protocol|a long message of many words|details|!SQP-STR-002:error|!GEN-007:error"];
        for width in 20..90 {
            let lines = fitted(width, &rows);
            assert!(lines[0].width() <= width.into(), "{width}: {}", lines[0]);
            assert!(width < 45 || lines[0].contains("SQP-STR-002"), "{width}: {}", lines[0]);
        }
        assert!(fitted(62, &rows)[0].ends_with("GEN-007:error"), "{:?}", fitted(62, &rows));
    }

    #[test]
    fn wide_characters_and_marks_break_no_column() {
        let names = [
            "サーバー",
            "e\u{301}cole",
            "👨\u{200d}👩\u{200d}👧 family",
            "plain",
            "한국어 서버 한국어 서버 한국어 서버",
        ];
        for width in [60, 80, 100, 140] {
            let screen = Screen { width, colour: false, ..Screen::default() };
            let mut table = screen.table(true);
            table.set_header(["server\nname", "protocol", "requests"]);
            for name in names {
                let name = short(&shown(name), MAX_CELL);
                table.add_row([format!("192.0.2.1:7777\n{name}"), name, "17".to_owned()]);
            }
            arrange(screen, &mut table, 2, 14);
            let text = table.to_string();
            let widths: Vec<_> = text.lines().map(|line| line.width()).collect();
            assert!(widths.iter().all(|w| *w == widths[0] && *w <= usize::from(width)), "{width}:\n{text}");
            assert!(names[0].chars().all(|c| text.contains(c)), "{text}");
        }
    }

    /// The summary of a capture with these interfaces, a server of this name and address, in two lines and a table.
    fn screen(interfaces: usize, name: &str, endpoint: Endpoint) -> String {
        let mut summary = Summary::default();
        let interface = |n| {
            let mut interface = Interface::default();
            interface.name = Some(format!("if{n}"));
            interface
        };
        let facts =
            CaptureInfo { interfaces: (0..interfaces).map(interface).collect(), ..CaptureInfo::default() };
        summary.files.begin("a", &facts, 0);
        let facts = ServerFacts { server_name: Some(name.as_bytes().into()), ..ServerFacts::default() };
        summary.servers.push(Some(Server { facts, ..Server::new(endpoint, Id::Sqp) }));
        let mut out = vec![];
        let how = Screen { width: 300, colour: false, ..Screen::default() };
        super::super::screen::write(&mut out, how, &summary, &Totals::default())
            .expect("memory takes everything");
        String::from_utf8(out).expect("UTF-8")
    }

    #[test]
    fn names_of_interfaces_and_servers_are_cut_and_say_so() {
        let end = Endpoint::v4([192, 0, 2, 1], 7777);
        let all = screen(8, "a", end);
        assert!(all.contains("captured on \"if0\", ") && all.contains(", \"if7\"\n"), "{all}");
        let more = screen(9, "a", end);
        assert!(more.contains(", \"if7\" and others\n"), "{more}");
        let name = "n".repeat(MAX_CELL);
        assert!(screen(0, &name, end).contains(&format!(" {name} ")));
        let cut = screen(0, &(name.clone() + "n"), end);
        assert!(!cut.contains(&name) && cut.contains("nnn… "), "{cut}");
    }

    #[test]
    fn an_address_is_in_one_line_up_to_twenty_four_characters() {
        let lines = |address: &str| {
            let mut table = Screen { width: 80, colour: false, ..Screen::default() }.table(true);
            table.set_header(["server\nname", "protocol\ngame, map, version", "players"]);
            let wide = "w ".repeat(60);
            table.add_row([format!("{address}\n{wide}"), wide.clone(), "17".to_owned()]);
            arrange(Screen { width: 80, colour: false, ..Screen::default() }, &mut table, 2, address.len());
            table.to_string().contains(address)
        };
        assert!(lines("[2001:db8:1:2::34]:27100"), "24 characters");
        assert!(!lines("[2001:db8:1234:5678:9abc:def0:1234:5678]:27100"));
    }
}
