//! Gathers the rows of a table into batches.

use super::{BATCH, Column as Declared, Kind};
use crate::capture::Time;
use crate::line::Line;
use crate::net::Endpoint;
use crate::report::push_ip;
use arrayvec::ArrayVec;
use arrow_array::builder::{BinaryBuilder, Int64Builder, ListBuilder, NullBufferBuilder, StringBuilder};
use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, BooleanArray, DictionaryArray, Int32Array, Int64Array, RecordBatch, TimestampMicrosecondArray,
};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use hashbrown::{DefaultHashBuilder, HashTable};
use std::hash::BuildHasher;
use std::io;
use std::mem::{replace, take};
use std::sync::Arc;

/// A column of texts with few different values, each of which is kept once.
#[derive(Default)]
struct Labels {
    rows: Vec<i32>,
    texts: StringBuilder,
    /// The index of each text, by its hash.
    known: HashTable<i32>,
    hasher: DefaultHashBuilder,
    /// The index of words of the program, by their address.
    words: ArrayVec<(&'static str, i32), 8>,
}

impl Labels {
    fn push(&mut self, text: &str) {
        let row = self.which(text);
        self.rows.push(row);
    }

    fn push_word(&mut self, word: &'static str) {
        let known = self.words.iter().find(|(known, _)| std::ptr::eq(*known, word)).map(|(_, row)| *row);
        let row = known.unwrap_or_else(|| {
            let row = self.which(word);
            let _ = self.words.try_push((word, row)); // without room it is looked up by its hash each time
            row
        });
        self.rows.push(row);
    }

    fn which(&mut self, text: &str) -> i32 {
        let Labels { texts, known, hasher, .. } = self;
        let hash = hasher.hash_one(text.as_bytes());
        if let Some(row) = known.find(hash, |row| nth(texts, *row) == text.as_bytes()) {
            return *row;
        }
        let row = known.len() as i32; // no more than rows in a batch
        texts.append_value(text);
        known.insert_unique(hash, row, |row| hasher.hash_one(nth(texts, *row)));
        row
    }
}

/// The text with this index.
fn nth(texts: &StringBuilder, row: i32) -> &[u8] {
    let ends = texts.offsets_slice().get(row as usize..).and_then(<[i32]>::first_chunk);
    ends.and_then(|&[start, end]| texts.values_slice().get(start as usize..end as usize)).unwrap_or_default()
}

/// A count as the tables hold it: signed.
pub(super) fn signed(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

/// Takes the cells filled in, and leaves room for the rows of the next batch.
fn all<T>(cells: &mut Vec<T>) -> Vec<T> {
    replace(cells, Vec::with_capacity(BATCH))
}

/// The cells filled into a column; a null cell holds any value.
enum Cells {
    Int32(Vec<i32>),
    Int64(Vec<i64>),
    Bool(Vec<bool>),
    Text(StringBuilder),
    Label(Labels),
    Micros(Vec<i64>),
    Numbers(ListBuilder<Int64Builder>),
    Texts(ListBuilder<StringBuilder>),
    Bytes(BinaryBuilder),
}

/// An Arrow column that is being filled.
struct Column {
    cells: Cells,
    /// Which cells are not null, for a column that may hold nulls.
    held: Option<NullBufferBuilder>,
    /// Number of cells since the last null, which `held` does not count yet.
    run: usize,
}

impl Column {
    fn new(kind: Kind, null: bool) -> Column {
        let element = |of| Arc::new(Field::new("element", of, false));
        let cells = match kind {
            Kind::Int32 => Cells::Int32(Vec::with_capacity(BATCH)),
            Kind::Int64 => Cells::Int64(Vec::with_capacity(BATCH)),
            Kind::Bool => Cells::Bool(Vec::with_capacity(BATCH)),
            Kind::Text => Cells::Text(StringBuilder::new()),
            Kind::Label => Cells::Label(Labels::default()),
            Kind::Time => Cells::Micros(Vec::with_capacity(BATCH)),
            Kind::Numbers => {
                Cells::Numbers(ListBuilder::new(Int64Builder::new()).with_field(element(DataType::Int64)))
            }
            Kind::Texts => {
                Cells::Texts(ListBuilder::new(StringBuilder::new()).with_field(element(DataType::Utf8)))
            }
            Kind::Bytes => Cells::Bytes(BinaryBuilder::new()),
        };
        Column { cells, held: null.then(|| NullBufferBuilder::new(BATCH)), run: 0 }
    }

    /// Notes whether the next cell is not null.
    #[inline(always)]
    fn holds(&mut self, something: bool) {
        self.run += 1;
        if !something && let Some(held) = &mut self.held {
            held.append_n_non_nulls(take(&mut self.run) - 1);
            held.append_null();
        }
    }

    fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        let run = take(&mut self.run);
        let held = self.held.as_mut().and_then(|held| {
            held.append_n_non_nulls(run);
            held.finish()
        });
        Ok(match &mut self.cells {
            Cells::Int32(cells) => Arc::new(Int32Array::try_new(all(cells).into(), held)?),
            Cells::Int64(cells) => Arc::new(Int64Array::try_new(all(cells).into(), held)?),
            Cells::Bool(cells) => Arc::new(BooleanArray::from(all(cells))),
            Cells::Text(cells) => Arc::new(cells.finish()),
            Cells::Label(cells) => {
                let Labels { rows, texts, known, words, .. } = cells;
                known.clear();
                words.clear();
                let rows = Int32Array::try_new(all(rows).into(), held)?;
                Arc::new(DictionaryArray::<Int32Type>::try_new(rows, Arc::new(texts.finish()))?)
            }
            Cells::Micros(cells) => {
                let cells = TimestampMicrosecondArray::try_new(all(cells).into(), held)?;
                Arc::new(cells.with_timezone("UTC"))
            }
            Cells::Numbers(cells) => Arc::new(cells.finish()),
            Cells::Texts(cells) => Arc::new(cells.finish()),
            Cells::Bytes(cells) => Arc::new(cells.finish()),
        })
    }
}

/// The rows of a table that have not been handed on. Cells are pushed in the order of the columns; a cell that its column
/// does not take is left out, and then the batch cannot be made.
pub(super) struct Rows {
    schema: Arc<Schema>,
    columns: Vec<Column>,
    /// The column of the next cell.
    next: usize,
    /// Number of rows, including the row that is being filled.
    len: usize,
    /// A buffer for a text.
    line: Line,
}

impl Rows {
    pub fn new(columns: &[Declared], schema: Arc<Schema>) -> Rows {
        let kinds = columns.iter().flat_map(|column| match column.kind {
            Kind::Time => [Some((Kind::Time, column.null)), Some((Kind::Int64, column.null))],
            kind => [Some((kind, column.null)), None],
        });
        let columns = kinds.flatten().map(|(kind, null)| Column::new(kind, null)).collect();
        Rows { schema, columns, next: 0, len: 0, line: Line::default() }
    }

    /// The cells of the next column, where a cell that is null or not is to be added.
    #[inline(always)]
    fn cell(&mut self, held: bool) -> &mut Cells {
        let at = self.next;
        self.len += usize::from(at == 0);
        self.next = if at + 1 == self.columns.len() { 0 } else { at + 1 };
        let column = &mut self.columns[at];
        column.holds(held);
        &mut column.cells
    }

    /// Appends both cells of a time.
    pub fn time(&mut self, time: Time) {
        let nanos = time.nanos();
        if let Cells::Micros(cells) = self.cell(nanos.is_some()) {
            cells.push(nanos.unwrap_or_default().div_euclid(1_000));
        }
        self.number(nanos);
    }

    #[inline(always)]
    pub fn number(&mut self, n: impl Into<Option<i64>>) {
        let n = n.into();
        match self.cell(n.is_some()) {
            Cells::Int64(cells) => cells.push(n.unwrap_or_default()),
            // All these numbers are ports, or bounded in another way.
            Cells::Int32(cells) => cells.push(n.map_or(0, |n| i32::try_from(n).unwrap_or(i32::MAX))),
            _ => {}
        }
    }

    pub fn count(&mut self, n: u64) {
        self.number(signed(n));
    }

    pub fn yes(&mut self, yes: bool) {
        if let Cells::Bool(cells) = self.cell(true) {
            cells.push(yes);
        }
    }

    pub fn text<'a>(&mut self, text: impl Into<Option<&'a str>>) {
        let text = text.into();
        match (self.cell(text.is_some()), text) {
            (Cells::Text(cells), text) => cells.append_option(text),
            (Cells::Label(cells), Some(text)) => cells.push(text),
            (Cells::Label(cells), None) => cells.rows.push(0),
            _ => {}
        }
    }

    /// Appends a word of the program.
    pub fn word(&mut self, word: impl Into<Option<&'static str>>) {
        let word = word.into();
        match (self.cell(word.is_some()), word) {
            (Cells::Label(cells), Some(word)) => cells.push_word(word),
            (Cells::Label(cells), None) => cells.rows.push(0),
            _ => {}
        }
    }

    /// Appends a text that is written for this cell.
    pub fn written(&mut self, write: impl FnOnce(&mut Line)) {
        let mut line = take(&mut self.line);
        line.clear();
        write(&mut line);
        // It is always UTF-8: addresses, digits, and formatted text.
        self.text(str::from_utf8(&line).unwrap_or_default());
        self.line = line;
    }

    /// Appends the address and the port.
    pub fn endpoint(&mut self, e: Endpoint) {
        self.written(|line| push_ip(line, e));
        self.number(i64::from(e.port()));
    }

    pub fn numbers(&mut self, numbers: impl Iterator<Item = i64>) {
        if let Cells::Numbers(cells) = self.cell(true) {
            numbers.for_each(|n| cells.values().append_value(n));
            cells.append(true);
        }
    }

    pub fn texts(&mut self, texts: &[String]) {
        if let Cells::Texts(cells) = self.cell(true) {
            texts.iter().for_each(|text| cells.values().append_value(text));
            cells.append(true);
        }
    }

    pub fn bytes(&mut self, bytes: &[u8]) {
        if let Cells::Bytes(cells) = self.cell(true) {
            cells.append_value(bytes);
        }
    }

    /// The rows as a batch, if there are enough of them, or any at the end.
    pub fn take(&mut self, end: bool) -> io::Result<Option<RecordBatch>> {
        if self.len < if end { 1 } else { BATCH } {
            return Ok(None);
        }
        self.len = 0;
        let columns = self.columns.iter_mut().map(Column::finish).collect::<Result<_, _>>();
        let batch = columns.and_then(|columns| RecordBatch::try_new(self.schema.clone(), columns));
        batch.map(Some).map_err(io::Error::other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::cast::AsArray;

    /// Rows with so many columns of a kind.
    fn rows(columns: usize, kind: Kind, arrow: &DataType) -> Rows {
        let fields = (0..columns).map(|n| Field::new(n.to_string(), arrow.clone(), true)).collect::<Vec<_>>();
        let columns = (0..columns).map(|_| Column::new(kind, true)).collect();
        Rows { schema: Arc::new(Schema::new(fields)), columns, next: 0, len: 0, line: Line::default() }
    }

    #[test]
    fn labels_stand_once_in_a_batch_whatever_stands_between_them() {
        let label = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
        let mut rows = rows(1, Kind::Label, &label);
        let texts = [None, Some(""), Some("a"), None, Some("a"), Some("b"), Some("a"), Some("")];
        for turn in [0, 1, 2] {
            let texts = texts.iter().copied().cycle().skip(turn).take(8).collect::<Vec<_>>();
            texts.iter().for_each(|text| rows.text(*text));
            let batch = rows.take(true).unwrap().unwrap();
            let labels = batch.column(0).as_dictionary::<Int32Type>();
            let found: Vec<_> =
                labels.downcast_dict::<arrow_array::StringArray>().unwrap().into_iter().collect();
            assert_eq!(found, texts);
            assert_eq!(labels.values().len(), 3);
        }
    }

    #[test]
    fn a_cell_that_its_column_does_not_take_is_an_error() {
        let mut rows = rows(2, Kind::Int64, &DataType::Int64);
        rows.text("one");
        rows.number(2);
        assert!(rows.take(true).is_err());
    }
}
