//! The screen of packets: the list, the tree of the selected packet, and its bytes.

use super::cursor::Cursor;
use super::frames::{Cells, Frames};
use super::gather::{Shared, lock};
use super::keys::Action;
use crate::browse::Row;
pub use crate::cli::config::LIST_COLUMNS as COLUMNS;
use crate::cli::config::{ListColumn, WIDEST};
use crate::report::{Opened, OutlineLine};
use hashbrown::{HashMap, HashSet};

/// The parts of the screen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pane {
    #[default]
    List,
    Tree,
    Bytes,
}

/// Bytes in a row.
pub const BYTES_IN_ROW: usize = 16;
/// Width of the pane of bytes: offset, digits, text.
pub const BYTES_WIDTH: u16 = 6 + 3 * BYTES_IN_ROW as u16 + 2 + BYTES_IN_ROW as u16;
/// Columns before the first byte of a row.
pub const OFFSET: u16 = 6;
/// Most lines of the list whose cells are kept.
const MAX_CELLS: usize = 4_096;
/// The state of the screen.
#[derive(Default)]
pub struct Packets {
    /// The selected packet.
    pub cursor: Cursor,
    /// Where the keys go.
    pub pane: Pane,
    /// The list stays at its end while it grows.
    pub follows: bool,
    /// The packet that is open, or why it cannot be shown; with its row.
    pub opened: Option<(usize, Result<Opened, String>)>,
    /// The selected line of the tree, among those that are not folded away.
    pub tree: Cursor,
    /// Lines whose lower lines are folded away.
    folded: HashSet<String>,
    /// The selected byte.
    pub byte: usize,
    /// The rows of bytes on the screen.
    pub rows: Cursor,
    /// Frames of marked packets, by their number in the run.
    pub marks: HashSet<u64>,
    /// Which columns are shown.
    pub columns: [bool; COLUMNS.len()],
    /// Widths of columns, where they are fixed.
    pub widths: [Option<u16>; COLUMNS.len()],
    /// The widths with which the columns were drawn last.
    pub drawn_widths: [usize; COLUMNS.len()],
    /// The list has no room for lengths.
    pub is_narrow: bool,
    /// How far the list is scrolled to the right.
    pub shift: usize,
    /// How far the tree is scrolled to the right.
    pub tree_shift: usize,
    cells: HashMap<usize, Cells>,
}

/// The byte of a row at a column of its pane.
pub fn byte_at(x: u16) -> Option<usize> {
    let digits = x.checked_sub(OFFSET)?;
    let column = usize::from(digits / 3);
    let text = digits.checked_sub(3 * BYTES_IN_ROW as u16 + 2).map(usize::from);
    if column < BYTES_IN_ROW { Some(column) } else { text.filter(|at| *at < BYTES_IN_ROW) }
}

/// The layers, which are folded until somebody looks into them.
const LAYERS: [&str; 6] = ["Frame", "Ethernet", "Link", "802.1Q", "Internet", "User"];

/// What a line of the tree is called, for folding it in every packet.
fn name(line: &OutlineLine) -> String {
    match line.field {
        Some(field) => field.name.to_owned(),
        None => line.text.split([' ', ',', ':']).next().unwrap_or_default().to_owned(),
    }
}

impl Packets {
    /// Nothing selected yet.
    pub fn new() -> Packets {
        let folded = LAYERS.map(str::to_owned).into_iter().collect();
        Packets { folded, columns: [true; COLUMNS.len()], ..Packets::default() }
    }

    /// Shows these columns only, each with its width if that is fixed.
    pub fn choose_columns(&mut self, columns: &[ListColumn]) {
        self.columns = [false; COLUMNS.len()];
        for (column, width) in columns {
            (self.columns[*column], self.widths[*column]) = (true, *width);
        }
    }

    /// Makes a column wider or narrower, and its width fixed. The last column has what is left.
    pub fn resize_column(&mut self, column: usize, wider: bool) {
        if column + 1 < COLUMNS.len() {
            let width =
                self.widths[column].unwrap_or_else(|| self.drawn_widths[column].min(WIDEST.into()) as u16);
            self.widths[column] =
                Some(if wider { width + 1 } else { width.saturating_sub(1) }.clamp(1, WIDEST));
        }
    }

    /// The columns as `qdissect.toml` has them.
    pub fn columns_as_toml(&self) -> String {
        let shown = COLUMNS.iter().zip(&self.widths).zip(&self.columns).filter(|(_, is_shown)| **is_shown);
        let names = shown.map(|(((name, _), width), _)| match width {
            Some(width) => format!("\"{name}:{width}\""),
            None => format!("\"{name}\""),
        });
        format!("[tui]\ncolumns = [{}]\n", names.collect::<Vec<_>>().join(", "))
    }

    /// Forgets what was read: the captures are read again.
    pub fn reset(&mut self) {
        self.cells.clear();
        self.opened = None;
        self.cursor.begin_at(0);
    }

    /// Whether a column is shown.
    pub fn shows(&self, column: usize) -> bool {
        self.columns[column] && !(self.is_narrow && COLUMNS[column].0 == "length")
    }

    /// The cells of a row of the list; `None` while its frame cannot be read.
    pub fn cells(&mut self, shared: &Shared, frames: &mut Frames, row: usize) -> Option<&Cells> {
        if self.cells.len() > MAX_CELLS {
            self.cells.clear();
        }
        if !self.cells.contains_key(&row) {
            let cells = frames.cells(&lock(&shared.index), row)?;
            self.cells.insert(row, cells);
        }
        self.cells.get(&row)
    }

    /// Opens the selected packet, if it is not open yet.
    pub fn open(&mut self, shared: &Shared, frames: &mut Frames, all: bool) {
        let row = self.cursor.at;
        if self.opened.as_ref().is_some_and(|(open, _)| *open == row) {
            return;
        }
        if row >= lock(&shared.index).rows().len() {
            self.opened = None;
            return;
        }
        self.opened = Some((row, frames.open(shared, row, all)));
        self.byte = 0;
        // The first finding, or else the message.
        let lines = self.lines();
        let finding = lines.iter().position(|line| line.severity.is_some());
        let message = || lines.iter().position(|line| line.field.is_some()).unwrap_or(0).saturating_sub(1);
        let at = finding.unwrap_or_else(message);
        self.tree.begin_at(at);
        self.select_by_line();
    }

    /// The packet that is open.
    pub fn packet(&self) -> Option<&Opened> {
        self.opened.as_ref().and_then(|(_, opened)| opened.as_ref().ok())
    }

    /// The lines of the tree that are not folded away.
    pub fn lines(&self) -> Vec<&OutlineLine> {
        let Some(opened) = self.packet() else { return vec![] };
        let mut hidden_below = None;
        let mut lines = vec![];
        for line in &opened.outline {
            if hidden_below.is_some_and(|level| line.level > level) {
                continue;
            }
            hidden_below = self.folded.contains(&name(line)).then_some(line.level);
            lines.push(line);
        }
        lines
    }

    /// Whether lines are below this one, and whether they are folded away.
    pub fn has_lower_lines(&self, line: &OutlineLine) -> (bool, bool) {
        let outline = self.packet().map_or(&[][..], |opened| &opened.outline);
        let at = outline.iter().position(|other| std::ptr::eq(other, line));
        let next = at.and_then(|at| outline.get(at + 1));
        (next.is_some_and(|next| next.level > line.level), self.folded.contains(&name(line)))
    }

    /// The selected line of the tree.
    pub fn line(&self) -> Option<&OutlineLine> {
        self.lines().get(self.tree.at).copied()
    }

    /// The bytes of the field that is selected, in the tree or by one of its bytes.
    pub fn marked_bytes(&self) -> std::ops::Range<usize> {
        match self.line().and_then(|line| line.span) {
            Some(span) => usize::from(span.start)..usize::from(span.end),
            None => 0..0,
        }
    }

    /// A filter for the selected field: its value, or that it is there.
    pub fn field_filter(&self) -> Option<String> {
        self.line()?.filter(self.packet()?.protocol?)
    }

    /// The bytes of the selected field as hex digits, those of passwords masked.
    pub fn field_bytes(&self) -> Option<String> {
        let bytes = self.packet()?.bytes.get(self.marked_bytes()).filter(|bytes| !bytes.is_empty())?;
        Some(bytes.iter().map(|byte| byte.value.map_or("**".to_owned(), |v| format!("{v:02x}"))).collect())
    }

    /// Selects the innermost line about the selected byte.
    fn select_by_byte(&mut self) {
        let byte = self.byte;
        let lines = self.lines();
        let about = |line: &&OutlineLine| {
            line.span.filter(|at| (usize::from(at.start)..usize::from(at.end)).contains(&byte))
        };
        let spans = lines.iter().enumerate().filter(|(_, line)| line.field.is_some());
        let found = spans
            .filter_map(|(at, line)| Some((at, about(line)?)))
            .min_by_key(|(at, span)| (span.end - span.start, std::cmp::Reverse(*at)))
            .map(|(at, _)| at);
        let len = lines.len();
        if let Some(at) = found {
            self.tree.go_to(at, len);
        }
    }

    /// Selects the first byte of the selected line.
    fn select_by_line(&mut self) {
        let bytes = self.marked_bytes();
        if !bytes.is_empty() {
            self.byte = bytes.start;
        }
        self.show_byte();
    }

    fn show_byte(&mut self) {
        let rows = self.packet().map_or(0, |opened| opened.bytes.len().div_ceil(BYTES_IN_ROW));
        self.rows.go_to(self.byte / BYTES_IN_ROW, rows);
    }

    /// Selects a byte by its number.
    pub fn select_byte(&mut self, byte: usize) {
        if self.packet().is_some_and(|opened| byte < opened.bytes.len()) {
            self.byte = byte;
            self.select_by_byte();
            self.show_byte();
        }
    }

    /// Selects a visible line of the tree.
    pub fn select_line(&mut self, at: usize) {
        let len = self.lines().len();
        if at < len {
            self.tree.go_to(at, len);
            self.select_by_line();
        }
    }

    /// Folds or unfolds what is below the selected line.
    pub fn fold(&mut self, is_folded: bool) {
        let Some(line) = self.line().cloned() else { return };
        let has_lower = self.line().is_some_and(|line| self.has_lower_lines(line).0);
        match is_folded {
            false => drop(self.folded.remove(&name(&line))),
            true if has_lower && !self.folded.contains(&name(&line)) => drop(self.folded.insert(name(&line))),
            // Nothing to fold: to the line above it.
            true => {
                let lines = self.lines();
                let before = lines.iter().take(self.tree.at).rposition(|other| other.level < line.level);
                let len = lines.len();
                if let Some(at) = before {
                    self.tree.go_to(at, len);
                }
            }
        }
        self.tree.fit(self.lines().len());
        self.select_by_line();
    }

    /// Does what a key says, if it moves within a pane. `len` is the number of packets.
    pub fn act(&mut self, action: Action, len: usize) -> bool {
        match self.pane {
            Pane::List => self.act_in_list(action, len),
            Pane::Tree => self.act_in_tree(action),
            Pane::Bytes => self.act_in_bytes(action),
        }
    }

    fn act_in_list(&mut self, action: Action, len: usize) -> bool {
        match action {
            Action::Left => self.shift = self.shift.saturating_sub(8),
            Action::Right => self.shift = (self.shift + 8).min(512),
            Action::End => {
                self.follows = true;
                self.cursor.act(action, len);
            }
            _ if self.cursor.act(action, len) => self.follows = false,
            _ => return false,
        }
        true
    }

    fn act_in_tree(&mut self, action: Action) -> bool {
        let len = self.lines().len();
        match action {
            Action::Left if self.tree_shift > 0 => self.tree_shift = self.tree_shift.saturating_sub(8),
            Action::Left => self.fold(true),
            // A line without lines below it is scrolled.
            Action::Right if self.line().is_some_and(|line| !self.has_lower_lines(line).0) => {
                let longest = self.lines().iter().map(|line| line.text.chars().count()).max().unwrap_or(0);
                self.tree_shift = (self.tree_shift + 8).min(longest);
            }
            Action::Right => self.fold(false),
            _ if self.tree.act(action, len) => self.select_by_line(),
            _ => return false,
        }
        true
    }

    fn act_in_bytes(&mut self, action: Action) -> bool {
        let len = self.packet().map_or(0, |opened| opened.bytes.len());
        let page = BYTES_IN_ROW * self.rows.height.max(1);
        self.byte = match action {
            Action::Left => self.byte.saturating_sub(1),
            Action::Right => self.byte + 1,
            Action::Up => self.byte.checked_sub(BYTES_IN_ROW).unwrap_or(self.byte),
            Action::Down if self.byte + BYTES_IN_ROW < len => self.byte + BYTES_IN_ROW,
            Action::Down => self.byte,
            Action::PageUp => self.byte.saturating_sub(page),
            Action::PageDown => self.byte + page,
            Action::Home => 0,
            Action::End => len,
            _ => return false,
        }
        .min(len.saturating_sub(1));
        self.select_by_byte();
        self.show_byte();
        true
    }

    /// Marks the selected packet, or takes its mark away.
    pub fn toggle_mark(&mut self, rows: &[Row]) {
        let Some(row) = rows.get(self.cursor.at) else { return };
        if !self.marks.remove(&row.frame) {
            self.marks.insert(row.frame);
        }
    }
}
