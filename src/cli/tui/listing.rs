//! The lines of the screens other than the list of packets, and what opens when one is chosen.

use super::cursor::Cursor;
use super::frames::Cells;
use super::gather::{Board, Shared, lock};
use super::keys::Action;
use crate::browse::Index;
use crate::capture::{SECOND, Time};
use crate::check::Finding;
use crate::exchange::Exchange;
use crate::net::Endpoint;
use crate::report::screen::{Screen, Sort, server_lines};
use crate::report::{Exchanges, Report, Totals, unclaimed_lines};
use crate::rule::Severity;
use crate::stats::{self, Section};
use crate::text::escape::truncated;
use std::io;
use std::sync::atomic::Ordering;
use std::time::Instant;
use unicode_width::UnicodeWidthStr;

/// What opens when a line is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// Nothing.
    None,
    /// The packet of a frame, by its number in the run.
    Frame(u64),
    /// The screen of a server.
    Server(Endpoint),
}

/// A line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Its text.
    pub text: String,
    /// The severity that it is about.
    pub severity: Option<Severity>,
    /// What it opens.
    pub target: Target,
}

impl Line {
    fn plain(text: String) -> Line {
        Line { text, severity: None, target: Target::None }
    }
}

/// The kinds of listings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Servers,
    Exchanges,
    Findings,
    Statistics,
    Unclaimed,
    Top,
}

/// The lines of a screen.
#[derive(Debug)]
pub struct Listing {
    kind: Kind,
    /// The heading, which does not move; empty where there is none.
    pub head: String,
    /// The lines.
    pub lines: Vec<Line>,
    /// The selected line.
    pub cursor: Cursor,
    /// How far it is scrolled to the right.
    pub shift: usize,
    /// What it was made of: the version of the board, the width, and the second if it shows a moment.
    made_of: Option<(u64, u16, i64)>,
    /// While captures are read it is not made again before: making it takes no more than a tenth of the time.
    not_before: Option<Instant>,
}

impl Listing {
    /// An empty listing.
    pub fn new(kind: Kind) -> Listing {
        Listing {
            kind,
            head: String::new(),
            lines: vec![],
            cursor: Cursor::default(),
            shift: 0,
            made_of: None,
            not_before: None,
        }
    }

    /// Forgets what it was made of: the captures are read again.
    pub fn reset(&mut self) {
        (self.made_of, self.not_before) = (None, None);
    }

    /// Makes the lines again if anything has changed. `now` is the time in the capture.
    pub fn update(&mut self, shared: &Shared, width: u16, now: Time) {
        let version = lock(&shared.board).version;
        let (is_done, began) = (shared.done.load(Ordering::Acquire), Instant::now());
        let made_of = match self.kind {
            // What comes within a second is shown at its end.
            Kind::Top if !is_done => (0, width, now.nanos().unwrap_or(0) / SECOND),
            _ => (version, width, 0),
        };
        let is_early = !is_done && self.not_before.is_some_and(|due| began < due);
        let same_width = self.made_of.is_some_and(|(_, of, _)| of == width);
        if self.made_of == Some(made_of) || is_early && same_width {
            return;
        }
        self.made_of = Some(made_of);
        let screen = Screen {
            // A blank stands before each line.
            width: width.saturating_sub(1).max(60),
            top: Some(usize::MAX),
            sort: Sort::default(),
            ..Screen::default()
        };
        let (head, lines) = match self.kind {
            Kind::Servers => servers(&mut lock(&shared.board), screen),
            Kind::Exchanges => exchanges(&lock(&shared.index), &lock(&shared.board), width),
            Kind::Findings => findings(&lock(&shared.index), &lock(&shared.board)),
            Kind::Statistics => (String::new(), statistics(&mut lock(&shared.board), screen)),
            Kind::Unclaimed => unclaimed(&lock(&shared.board), screen),
            Kind::Top => top(&lock(&shared.board), screen, now),
        };
        (self.head, self.lines) = (head, lines);
        self.not_before = Some(Instant::now() + 9 * began.elapsed());
        self.cursor.fit(self.lines.len());
    }

    /// The text for a listing without lines.
    pub fn nothing(&self) -> &'static str {
        match self.kind {
            Kind::Servers => "There are no servers.",
            Kind::Exchanges => "There are no exchanges.",
            Kind::Findings => "There are no findings.",
            Kind::Statistics => "There are no statistics.",
            Kind::Unclaimed => "There is no unclaimed traffic.",
            Kind::Top => "No server was asked in the last ten seconds.",
        }
    }

    /// Moves within it.
    pub fn act(&mut self, action: Action) {
        match action {
            Action::Left => self.shift = self.shift.saturating_sub(8),
            Action::Right => self.shift = (self.shift + 8).min(512),
            _ => drop(self.cursor.act(action, self.lines.len())),
        }
    }

    /// What the selected line opens.
    pub fn target(&self) -> Target {
        self.lines.get(self.cursor.at).map_or(Target::None, |line| line.target)
    }
}

fn servers(board: &mut Board, screen: Screen) -> (String, Vec<Line>) {
    let totals = board.totals.clone().unwrap_or_default();
    // Moves what has been counted since to the servers.
    let _ = board.summary.finish(&totals);
    let (head, lines) = server_lines(screen, &board.summary);
    let line = |(server, text)| Line { target: Target::Server(server), ..Line::plain(text) };
    (head, lines.into_iter().map(line).collect())
}

fn top(board: &Board, screen: Screen, now: Time) -> (String, Vec<Line>) {
    let (head, lines) = board.top.lines(Screen { sort: Sort::Count, ..screen }, now);
    let line = |(server, text)| Line { target: Target::Server(server), ..Line::plain(text) };
    (head, lines.into_iter().map(line).collect())
}

fn unclaimed(board: &Board, screen: Screen) -> (String, Vec<Line>) {
    let mut lines = unclaimed_lines(screen, &board.summary).into_iter();
    (lines.next().unwrap_or_default(), lines.map(Line::plain).collect())
}

fn statistics(board: &mut Board, screen: Screen) -> Vec<Line> {
    let totals: Totals = board.totals.clone().unwrap_or_default();
    let _ = board.stats.finish(&totals);
    let sections =
        [Section::Series, Section::Times, Section::Clients, Section::Amplification, Section::Losses];
    let mut text = vec![];
    // Nothing fails in memory.
    let screen = Screen { top: Some(ROWS_OF_TABLE), ..screen };
    let _ = stats::write_tables(&mut text, screen, &board.stats, &sections);
    String::from_utf8_lossy(&text).lines().skip(1).map(|line| Line::plain(line.to_owned())).collect()
}

/// Most rows of a table of statistics.
const ROWS_OF_TABLE: usize = 100;

/// Gives the cells of each exchange in turn, so that those of one are kept at a time.
fn each_exchange(index: &Index, board: &Board, take: &mut dyn FnMut(&Exchange, &Cells)) {
    let mut report = Exchanges::new(io::sink(), false, false, false).keep_cells();
    // Nothing fails in memory.
    let _ = index.introduce_captures(index.files(), &mut report);
    for e in board.exchanges.iter() {
        let _ = report.exchange(&e, &[]);
        let cells = report.take_cells().into_iter();
        take(
            &e,
            &cells.map(|(text, severity)| (text.trim_start_matches("→ ").to_owned(), severity)).collect(),
        );
    }
}

fn exchanges(index: &Index, board: &Board, width: u16) -> (String, Vec<Line>) {
    let mut aligned = Aligned::new(Exchanges::<io::Sink>::titles().map(str::to_owned).collect());
    each_exchange(index, board, &mut |_, cells| aligned.measure(cells));
    if aligned.head().width() >= width.into() {
        // As in `qdissect exchanges`, the key is the first to go.
        aligned.leave_out("key");
    }
    let mut lines = vec![];
    each_exchange(index, board, &mut |e, cells| {
        let target = Target::Frame(e.request_frame);
        lines.push(Line { text: aligned.line(cells), severity: None, target });
    });
    let more = board.exchanges.more;
    lines.extend((more > 0).then(|| Line::plain(format!("and {more} more, for which there is no room"))));
    (aligned.head(), lines)
}

/// The number of a frame in its file, and before it that of the file if there are several.
pub fn frame_text(index: &Index, frame: u64) -> String {
    let place = index.place(frame);
    match index.files() > 1 {
        true => format!("{}:{}", place.file + 1, place.frame),
        false => place.frame.to_string(),
    }
}

/// Most findings in the list.
const MAX_FINDINGS: usize = 65_536;

fn findings(index: &Index, board: &Board) -> (String, Vec<Line>) {
    let rows = index.rows();
    let mut all: Vec<(u64, &Finding)> = vec![];
    let mut number = 0;
    // The worst first, as many as there is room for.
    for severity in Severity::ALL {
        let of_packets = index.all_findings().filter_map(|(row, f)| Some((rows.get(row)?.frame, f)));
        let of_exchanges = board.findings.iter().map(|(frame, finding)| (*frame, finding));
        let of_severity = of_packets.chain(of_exchanges).filter(|(_, f)| f.severity == *severity);
        let room = MAX_FINDINGS.saturating_sub(all.len());
        let from = all.len();
        for found in of_severity {
            number += 1;
            if all.len() < from + room {
                all.push(found);
            }
        }
    }
    all.sort_by_key(|(frame, f)| (std::cmp::Reverse(f.severity), f.rule.id, *frame));
    let cells: Vec<Cells> = all
        .iter()
        .map(|(frame, f)| {
            let frame = frame_text(index, *frame);
            let path = f.path().map(|path| format!("{path}: ")).unwrap_or_default();
            let cause =
                f.caused_by.map(|cause| format!(" (caused by {})", cause.rule.id)).unwrap_or_default();
            let message = format!("{path}{f}{cause}");
            [f.severity.name().to_owned(), f.rule.id.to_owned(), frame, f.fault.name().to_owned(), message]
                .map(|cell| (cell, None))
                .into()
        })
        .collect();
    let titles = ["severity", "rule", "frame", "at fault", "what"].map(str::to_owned);
    let (head, texts) = aligned(titles.into(), &cells);
    let line = |((frame, finding), text): (&(u64, &Finding), String)| Line {
        text,
        severity: Some(finding.severity),
        target: Target::Frame(*frame),
    };
    let more = number - all.len();
    let rest = (more > 0).then(|| Line::plain(format!("and {more} more, for which there is no room")));
    (head, all.iter().zip(texts).map(line).chain(rest).collect())
}

/// Widest cell that others in its column are aligned to.
const WIDEST: usize = 48;

/// Columns as wide as their cells; those of numbers are aligned to the right.
struct Aligned {
    columns: Vec<Aligning>,
}

/// A column.
struct Aligning {
    title: String,
    width: usize,
    /// Every cell so far is a number, and there is one.
    is_number: Option<bool>,
    is_left_out: bool,
}

impl Aligned {
    fn new(titles: Vec<String>) -> Aligned {
        let column = |title: String| {
            let width = title.width();
            Aligning { title, width, is_number: None, is_left_out: false }
        };
        Aligned { columns: titles.into_iter().map(column).collect() }
    }

    /// Makes room for the cells of a row.
    fn measure(&mut self, row: &Cells) {
        for (column, (text, _)) in self.columns.iter_mut().zip(row) {
            column.width = column.width.max(text.width().min(WIDEST));
            let starts_so = text.starts_with(|c: char| c.is_ascii_digit()) && !text.contains([':', 'x']);
            column.is_number = Some(column.is_number.unwrap_or(true) && (starts_so || text == "-"));
        }
    }

    fn leave_out(&mut self, title: &str) {
        self.columns.iter_mut().filter(|column| column.title == title).for_each(|it| it.is_left_out = true);
    }

    fn head(&self) -> String {
        self.joined(&mut self.columns.iter().map(|column| column.title.as_str()))
    }

    fn line(&self, row: &Cells) -> String {
        self.joined(&mut row.iter().map(|(text, _)| text.as_str()))
    }

    fn joined(&self, cells: &mut dyn Iterator<Item = &str>) -> String {
        let last = self.columns.len().saturating_sub(1);
        let mut text = String::new();
        let shown = self.columns.iter().zip(cells).enumerate().filter(|(_, (column, _))| !column.is_left_out);
        for (at, (column, cell)) in shown {
            let cell = if at == last { cell.to_owned() } else { truncated(cell, column.width) };
            let blanks = " ".repeat(column.width.saturating_sub(cell.width()));
            match (column.is_number == Some(true), at == last) {
                (true, _) => text.extend([blanks.as_str(), &cell]),
                (false, true) => text.push_str(&cell),
                (false, false) => text.extend([cell.as_str(), &blanks]),
            }
            text.push_str("  ");
        }
        text.trim_end().to_owned()
    }
}

/// A heading and rows in aligned columns.
fn aligned(titles: Vec<String>, rows: &[Cells]) -> (String, Vec<String>) {
    let mut aligned = Aligned::new(titles);
    rows.iter().for_each(|row| aligned.measure(row));
    (aligned.head(), rows.iter().map(|row| aligned.line(row)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::general::GEN_001;

    #[test]
    fn columns_are_as_wide_as_their_cells() {
        let row = |cells: [&str; 3]| cells.map(|cell| (cell.to_owned(), None)).into();
        let titles = ["n", "name", "what"].map(str::to_owned);
        let rows: Vec<Cells> = vec![row(["7", "a", "first"]), row(["12", "longer", "second"])];
        let (head, lines) = aligned(titles.into(), &rows);
        assert_eq!(head, " n  name    what");
        assert_eq!(lines, [" 7  a       first", "12  longer  second"]);
        assert_eq!(aligned(vec!["n".to_owned()], &[]), ("n".to_owned(), vec![]));
    }

    #[test]
    fn findings_without_room_are_counted() {
        let finding = |severity| (7, Finding { severity, ..Finding::of_exchange(&GEN_001) });
        let mut findings = vec![finding(Severity::Note); MAX_FINDINGS];
        findings.extend([finding(Severity::Error); 3]);
        let board = Board { findings, ..Board::default() };
        let (_, lines) = super::findings(&Index::new(1), &board);
        assert_eq!(lines.len(), MAX_FINDINGS + 1);
        assert!(lines[..3].iter().all(|line| line.severity == Some(Severity::Error)), "the worst come first");
        assert_eq!(lines.last().unwrap().text, "and 3 more, for which there is no room");
    }
}
