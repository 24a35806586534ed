//! The screen: width, colours, and the layout of tables and lines. Each column of lines is as wide as its cells, and no
//! line is wider than the screen.

use crate::rule::Severity;
use crate::text::escape::truncated;
use crate::text::line::Line;
use anstyle::{AnsiColor, Style};
use unicode_width::UnicodeWidthStr;

/// Maximum number of rows in a table; the worst come first.
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
    /// Maximum number of rows in a table, if the user sets it.
    pub top: Option<usize>,
    /// The order of rows.
    pub sort: Sort,
    /// The least severity of the rules in a table; those below share a line.
    pub show: Option<Severity>,
}

/// The order of servers and rules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sort {
    /// The worst findings first.
    #[default]
    Findings,
    /// The most requests or findings first.
    Count,
    /// Servers with the longest median response time first, and rules in the order found.
    Time,
    /// The most requests without an answer in time first.
    Loss,
    /// By name of the server or number of the rule.
    Name,
}

impl Screen {
    /// A text in this style, if colours are enabled.
    pub fn paint(&self, style: Style, text: &str) -> String {
        if self.colour { format!("{style}{text}{style:#}") } else { text.to_owned() }
    }

    /// Maximum number of rows in a table.
    pub(crate) fn rows(&self) -> usize {
        self.top.unwrap_or(MAX_ROWS)
    }
}

/// The style of titles.
pub const BOLD: Style = Style::new().bold();
/// The style of less important text.
pub const DIM: Style = Style::new().dimmed();

/// Wraps a text between words to at most `width` columns. All lines but the first are indented. A word that is longer
/// has its own line.
pub fn wrapped(text: &str, width: usize, indent: usize) -> Vec<String> {
    let mut lines = vec![];
    let (mut line, mut columns) = (String::new(), 0);
    for word in text.split(' ') {
        let (has_words, word_width) = (!line.trim_start().is_empty(), word.width());
        if has_words && columns + 1 + word_width > width {
            lines.push(std::mem::replace(&mut line, " ".repeat(indent)));
            columns = indent;
        } else if has_words {
            line.push(' ');
            columns += 1;
        }
        line.push_str(word);
        columns += word_width;
    }
    lines.push(line);
    lines
}

/// Cuts a text to a width. What ends with a port keeps it, and both ends of its address: half an address is a hint, half
/// a port is wrong.
pub(crate) fn shortened(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let port = text.rfind(':').filter(|at| {
        let digits = text.get(at + 1..).unwrap_or_default();
        (1..=5).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit())
    });
    match port.map(|at| text.split_at(at)) {
        // An address may have an arrow before it, and all of its characters take one column.
        Some((address, port))
            if port.len() + 3 <= width && address.chars().all(|c| c.is_ascii() || c == '→') =>
        {
            let (room, all) = (width - port.len() - 1, address.chars().count());
            // The end of an address tells more than its beginning, which neighbours share.
            let kept = match room {
                _ if address.starts_with('→') => "→ ".chars().count(),
                ..9 => 0,
                _ => room / 3,
            };
            let first = address.chars().take(kept);
            let last = address.chars().skip(all.saturating_sub(room - kept));
            first.chain(['…']).chain(last).chain(port.chars()).collect()
        }
        _ => truncated(text, width),
    }
}

/// The text cut to a width between words. A word that is quoted may be cut anywhere, because it comes from the network and
/// may be long.
fn whole_words(text: &str, width: usize) -> String {
    let cut = truncated(text, width);
    let Some(kept) = cut.strip_suffix('…').filter(|kept| text.len() > kept.len()) else { return cut };
    let is_between = text.get(kept.len()..).is_some_and(|rest| rest.starts_with(' '));
    match kept.rfind(' ') {
        _ if is_between => cut,
        Some(end) => format!("{}…", kept.get(..end).unwrap_or_default().trim_end()),
        None if text.starts_with('"') => cut,
        None => "…".to_owned(),
    }
}

/// The rule of a finding that is shown as `RULE:severity`, with an ellipsis for the rest.
fn without_severity(finding: &str) -> String {
    finding.split_once(':').map_or_else(|| finding.to_owned(), |(rule, _)| format!("{rule}…"))
}

/// The colour of a severity.
pub fn style(severity: Severity) -> Style {
    match severity {
        Severity::Error => AnsiColor::Red.on_default().bold(),
        Severity::Warning => AnsiColor::Yellow.on_default().bold(),
        Severity::Note => AnsiColor::BrightBlue.on_default(),
    }
}

/// Maximum number of lines that are gathered to determine common widths of their columns.
const GATHERED_LINES: usize = 200;
/// Minimum width of the text after the columns, without and with findings.
const MIN_REST: [usize; 2] = [12, 28];
/// Minimum width of the first words after the columns.
const MIN_WORDS: usize = 10;
/// The width of words that is worth cutting the last column that gives way.
const LEAST_WORDS: usize = 8;
/// Minimum width of the middle words. They are omitted if there is less room.
const MIN_MIDDLE: usize = 4;

/// The index of a column, and the minimum width to which it may be cut if a line is too long. With a minimum width of
/// 0, the column is left out. The last of several gives way only where hardly any words would have room.
pub(super) type GiveWay = (usize, usize);

/// Lines that are pending until the widths of their columns are known.
#[derive(Debug)]
pub(super) struct Fitted {
    screen: Screen,
    /// Whether the cells of each column are right-aligned.
    columns: Vec<bool>,
    /// Columns that are cut or left out, the least important first.
    give_way: &'static [GiveWay],
    /// Ends of the cells in the current line, with a severity for cells that are findings.
    marks: Vec<(usize, Option<Severity>)>,
    rows: Vec<Row>,
    /// Width of each column.
    widths: Vec<usize>,
    /// Width of the text after the columns.
    rest_width: usize,
}

#[derive(Debug)]
enum Row {
    /// A line without cells, which is not changed.
    Plain(String),
    /// One cell for each column, then the first words, the middle words, and findings.
    Cells(Vec<(String, Option<Severity>)>),
}

impl Fitted {
    pub fn new(screen: Screen, columns: Vec<bool>, give_way: &'static [GiveWay]) -> Fitted {
        let widths = vec![0; columns.len()];
        Fitted { screen, columns, give_way, marks: vec![], rows: vec![], widths, rest_width: 0 }
    }

    /// Sets least widths of columns, and leaves room for findings: lines that are shown as they come do not jump.
    pub fn steady(mut self, widths: &[usize]) -> Fitted {
        self.widths = widths.to_vec();
        self.rest_width = MIN_REST[1];
        self
    }

    /// Marks the end of a cell.
    pub fn mark_cell_end(&mut self, at: usize, severity: Option<Severity>) {
        self.marks.push((at, severity));
    }

    /// Adds a line, split into cells at the marked ends.
    pub fn take(&mut self, line: &[u8]) {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
        if self.marks.is_empty() {
            return self.rows.push(Row::Plain(String::from_utf8_lossy(line).trim_end().to_owned()));
        }
        let mut start = 0;
        let cells = self.marks.drain(..).map(|(end, severity)| {
            let cell = text(line.get(start..end).unwrap_or_default());
            start = end;
            (cell, severity)
        });
        let cells: Vec<_> = cells.collect();
        let columns = self.columns.len();
        for (width, (cell, _)) in self.widths.iter_mut().zip(&cells) {
            *width = (*width).max(cell.width());
        }
        let has_findings = cells.iter().any(|(_, severity)| severity.is_some());
        let first_words_width = cells.get(columns).map_or(0, |(words, _)| words.width());
        self.rest_width = self.rest_width.max(first_words_width.min(MIN_REST[0])).max(if has_findings {
            MIN_REST[1]
        } else {
            0
        });
        self.rows.push(Row::Cells(cells));
    }

    /// Columns of the terminal.
    pub fn width(&self) -> usize {
        self.screen.width.into()
    }

    /// Whether enough lines are pending to lay them out.
    pub fn is_full(&self) -> bool {
        self.rows.len() >= GATHERED_LINES
    }

    /// Lays out the pending lines and appends them to `out`.
    pub fn lay_out(&mut self, out: &mut Line) {
        let widths = self.fitted_widths();
        for row in std::mem::take(&mut self.rows) {
            match row {
                Row::Plain(line) => out.extend_from_slice(line.as_bytes()),
                Row::Cells(cells) => out.extend_from_slice(self.line(&cells, &widths).trim_end().as_bytes()),
            }
            out.push(b'\n');
        }
    }

    /// The widths of the columns, reduced if the screen is too narrow.
    fn fitted_widths(&self) -> Vec<usize> {
        let mut widths = self.widths.clone();
        for (at, &(column, min)) in self.give_way.iter().enumerate() {
            let is_last = at > 0 && at + 1 == self.give_way.len();
            let rest_width = if is_last { self.rest_width.min(LEAST_WORDS) } else { self.rest_width };
            let needed: usize = widths.iter().map(|width| width + usize::from(*width > 0)).sum();
            let excess = (needed + rest_width).saturating_sub(self.screen.width.into());
            if let Some(width) = widths.get_mut(column).filter(|_| excess > 0) {
                *width = if min == 0 { 0 } else { width.saturating_sub(excess).max(min.min(*width)) };
            }
        }
        widths
    }

    fn line(&self, cells: &[(String, Option<Severity>)], widths: &[usize]) -> String {
        let mut line = String::new();
        for ((is_right_aligned, width), (cell, _)) in
            self.columns.iter().zip(widths).zip(cells).filter(|((_, w), _)| **w > 0)
        {
            let cell = shortened(cell, *width);
            let blanks = " ".repeat(width.saturating_sub(cell.width()));
            let (before, after) =
                if *is_right_aligned { (blanks, String::new()) } else { (String::new(), blanks) };
            line.extend([&before, &cell, &after, " "]);
        }
        let room = usize::from(self.screen.width).saturating_sub(line.width());
        let rest = cells.get(self.columns.len()..).unwrap_or_default();
        line + &self.rest_of_line(rest, room)
    }

    /// The text after the columns: the first words, the middle words where there is room, and as many findings as fit.
    fn rest_of_line(&self, cells: &[(String, Option<Severity>)], room: usize) -> String {
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
        let findings_width: usize = findings.iter().map(|(cell, _)| cell.width() + 1).sum();
        // The name of a message goes before the severity of its first finding and before further findings.
        let least_findings = findings.first().map_or(0, |(cell, _)| 1 + without_severity(cell).width());
        let first = truncated(&first, room.saturating_sub(least_findings).max(MIN_WORDS).min(room));
        let mut room_left = room.saturating_sub(first.width());
        let middle = match room_left.saturating_sub(findings_width + 1) {
            _ if middle.is_empty() => String::new(),
            ..MIN_MIDDLE => String::new(),
            room => format!(" {}", whole_words(&middle, room)),
        };
        room_left = room_left.saturating_sub(middle.width());
        let mut rest = first + &middle;
        for (at, (cell, severity)) in findings.iter().enumerate() {
            // An ellipsis after the last finding shown indicates further findings.
            let ellipsis_room = if at + 1 < findings.len() { 2 } else { 0 };
            let fits = room_left > cell.width() + ellipsis_room;
            let shown = match without_severity(cell) {
                _ if fits => cell.to_string(),
                rule if at > 0 && room_left <= rule.width() => "…".to_owned(),
                rule => truncated(&rule, room_left.saturating_sub(1)),
            };
            if room_left > 1 {
                rest.push(' ');
                rest.push_str(&self.screen.paint(style(*severity), &shown));
            }
            room_left = if fits { room_left.saturating_sub(cell.width() + 1) } else { 0 };
        }
        rest
    }
}

#[cfg(test)]
mod tests {
    use super::super::Totals;
    use super::super::screen::MAX_CELL;
    use super::super::server::{Server, ServerFacts};
    use super::super::summary::Summary;
    use super::*;
    use crate::capture::{CaptureInfo, Interface};
    use crate::net::Endpoint;
    use crate::protocols::Id;

    const GIVE_WAY: &[GiveWay] = &[(2, 4), (2, 0), (1, 5)];

    /// Lays out rows. In `rows`, cells are separated by bars, and findings begin with an exclamation mark.
    fn fitted(width: u16, rows: &[&str]) -> Vec<String> {
        let mut fitted =
            Fitted::new(Screen { width, ..Screen::default() }, vec![true, false, false], GIVE_WAY);
        for row in rows {
            let mut line = vec![];
            for cell in row.split('|') {
                line.extend_from_slice(cell.trim_start_matches('!').as_bytes());
                fitted.mark_cell_end(line.len(), cell.starts_with('!').then_some(Severity::Error));
            }
            fitted.take(&line);
        }
        Line::text(|out| fitted.lay_out(out)).lines().map(str::to_owned).collect()
    }

    #[test]
    fn columns_are_as_wide_as_their_cells() {
        let lines = fitted(60, &["1| ab|protocol|hello|more", "23|abcdef|p|there||!A:error"]);
        assert_eq!(lines, [" 1 ab     protocol hello more", "23 abcdef p        there A:error"]);
    }

    #[test]
    fn cuts_and_then_omits_the_least_important_columns() {
        let row = "1|address|protocol|a message|details of it";
        assert_eq!(fitted(40, &[row]), ["1 address protocol a message details of…"]);
        assert_eq!(fitted(29, &[row]), ["1 address protocol a message"]);
        assert_eq!(fitted(25, &[row]), ["1 address prot… a message"]);
        assert_eq!(fitted(17, &[row]), ["1 addre… a messa…"], "the last keeps more than the words");
    }

    #[test]
    fn lines_fit_the_screen_and_keep_findings() {
        let rows =
            ["1|サーバー|protocol|a long message of many words|details|!SQP-STR-002:error|!GEN-007:error"];
        for width in 20..90 {
            let lines = fitted(width, &rows);
            assert!(lines[0].width() <= width.into(), "{width}: {}", lines[0]);
            assert!(width < 45 || lines[0].contains("SQP-STR-002"), "{width}: {}", lines[0]);
        }
        assert!(fitted(62, &rows)[0].ends_with("words SQP-STR-002…"), "{:?}", fitted(62, &rows));
        assert!(fitted(80, &rows)[0].ends_with("GEN-007:error"), "{:?}", fitted(80, &rows));
    }

    #[test]
    fn words_are_not_cut_within() {
        let row =
            ["1|to|sqp|query_response|\"EU West\" (medium confidence)|!SQP-STR-002:error|!GEN-007:error"];
        for (width, wanted) in [
            (80, "1 to sqp query_response \"EU West\" (medium… SQP-STR-002:error GEN-007:error"),
            (60, "1 to sqp query_response \"EU… SQP-STR-002:error GEN-007:error"),
            (52, "1 to sqp query_response SQP-STR-002:error GEN-007…"),
            (46, "1 to sqp query_response SQP-STR-002:error …"),
            (40, "1 to sqp query_response SQP-STR-002…"),
        ] {
            assert_eq!(fitted(width, &row), [wanted], "{width}");
        }
        assert_eq!(whole_words("[answer to 3]", 9), "[answer…");
        assert_eq!(whole_words("[answer to 3]", 8), "[answer…");
        assert_eq!(whole_words("[answer to 3]", 6), "…");
        assert_eq!(whole_words("\"Lengthy\"", 6), "\"Leng…");
        assert_eq!(whole_words("fits", 4), "fits");
    }

    /// The summary of a capture with this number of interfaces and a server with this name and address.
    fn screen(interfaces: usize, name: &str, endpoint: Endpoint) -> String {
        let mut summary = Summary::default();
        let interface = |n| {
            let mut interface = Interface::default();
            interface.name = Some(format!("if{n}"));
            interface
        };
        let facts =
            CaptureInfo { interfaces: (0..interfaces).map(interface).collect(), ..CaptureInfo::default() };
        summary.captures.begin("a", &facts, 0);
        let facts = ServerFacts { server_name: Some(name.as_bytes().into()), ..ServerFacts::default() };
        summary.servers.push(Some(Server { facts, ..Server::new(endpoint, Id::Sqp) }));
        let mut out = vec![];
        let screen = Screen { width: 300, colour: false, ..Screen::default() };
        super::super::screen::write(&mut out, screen, &summary, &Totals::default())
            .expect("memory takes everything");
        String::from_utf8(out).expect("UTF-8")
    }

    #[test]
    fn truncates_names_of_interfaces_and_servers_visibly() {
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
}
