//! Gathers the rows of a table into batches.

use super::{BATCH, Column as Declared, Kind};
use crate::capture::Time;
use crate::net::Endpoint;
use crate::report::push_ip;
use crate::text::line::Line;
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
    /// The index of the text of each row.
    rows: Vec<i32>,
    texts: StringBuilder,
    /// The index of each text, by its hash.
    indices: HashTable<i32>,
    hasher: DefaultHashBuilder,
    /// The index of words of the program, by their address.
    words: ArrayVec<(&'static str, i32), 8>,
}

impl Labels {
    fn push(&mut self, text: &str) {
        let index = self.index_of(text);
        self.rows.push(index);
    }

    /// Appends a word of the program, which is looked up by its address.
    fn push_word(&mut self, word: &'static str) {
        let known = self.words.iter().find(|(known, _)| std::ptr::eq(*known, word)).map(|(_, index)| *index);
        let index = known.unwrap_or_else(|| {
            let index = self.index_of(word);
            let _ = self.words.try_push((word, index)); // without room, the word is looked up by its hash each time
            index
        });
        self.rows.push(index);
    }

    /// The index of a text, which is added if it is new.
    fn index_of(&mut self, text: &str) -> i32 {
        let Labels { texts, indices, hasher, .. } = self;
        let hash = hasher.hash_one(text.as_bytes());
        if let Some(index) = indices.find(hash, |index| text_at(texts, *index) == text.as_bytes()) {
            return *index;
        }
        let index = indices.len() as i32; // no more than rows in a batch
        texts.append_value(text);
        indices.insert_unique(hash, index, |index| hasher.hash_one(text_at(texts, *index)));
        index
    }
}

/// The text with this index.
fn text_at(texts: &StringBuilder, index: i32) -> &[u8] {
    let ends = texts.offsets_slice().get(index as usize..).and_then(<[i32]>::first_chunk);
    ends.and_then(|&[start, end]| texts.values_slice().get(start as usize..end as usize)).unwrap_or_default()
}

/// A count as the tables hold it: signed.
pub(super) fn signed(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

/// Takes the cells, and leaves room for the rows of the next batch.
fn take_cells<T>(cells: &mut Vec<T>) -> Vec<T> {
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
    /// Which cells are not null, for a nullable column.
    validity: Option<NullBufferBuilder>,
    /// Number of cells since the last null, which `validity` does not count yet.
    valid_run: usize,
}

impl Column {
    fn new(kind: Kind, nullable: bool) -> Column {
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
        Column { cells, validity: nullable.then(|| NullBufferBuilder::new(BATCH)), valid_run: 0 }
    }

    /// Records whether the next cell is not null.
    #[inline(always)]
    fn set_validity(&mut self, is_valid: bool) {
        self.valid_run += 1;
        if !is_valid && let Some(validity) = &mut self.validity {
            validity.append_n_non_nulls(take(&mut self.valid_run) - 1);
            validity.append_null();
        }
    }

    fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        let valid_run = take(&mut self.valid_run);
        let validity = self.validity.as_mut().and_then(|validity| {
            validity.append_n_non_nulls(valid_run);
            validity.finish()
        });
        Ok(match &mut self.cells {
            Cells::Int32(cells) => Arc::new(Int32Array::try_new(take_cells(cells).into(), validity)?),
            Cells::Int64(cells) => Arc::new(Int64Array::try_new(take_cells(cells).into(), validity)?),
            Cells::Bool(cells) => Arc::new(BooleanArray::from(take_cells(cells))),
            Cells::Text(cells) => Arc::new(cells.finish()),
            Cells::Label(cells) => {
                let Labels { rows, texts, indices, words, .. } = cells;
                indices.clear();
                words.clear();
                let rows = Int32Array::try_new(take_cells(rows).into(), validity)?;
                Arc::new(DictionaryArray::<Int32Type>::try_new(rows, Arc::new(texts.finish()))?)
            }
            Cells::Micros(cells) => {
                let cells = TimestampMicrosecondArray::try_new(take_cells(cells).into(), validity)?;
                Arc::new(cells.with_timezone("UTC"))
            }
            Cells::Numbers(cells) => Arc::new(cells.finish()),
            Cells::Texts(cells) => Arc::new(cells.finish()),
            Cells::Bytes(cells) => Arc::new(cells.finish()),
        })
    }
}

/// The rows of a table that have not been passed on. Cells are pushed in the order of the columns; a cell of a wrong type is
/// left out, and then the batch cannot be made.
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
            Kind::Time => [Some((Kind::Time, column.nullable)), Some((Kind::Int64, column.nullable))],
            kind => [Some((kind, column.nullable)), None],
        });
        let columns = kinds.flatten().map(|(kind, nullable)| Column::new(kind, nullable)).collect();
        Rows { schema, columns, next: 0, len: 0, line: Line::default() }
    }

    /// The cells of the next column, to which the caller adds a cell. `is_valid` says whether it is not null.
    #[inline(always)]
    fn next_cells(&mut self, is_valid: bool) -> &mut Cells {
        let at = self.next;
        self.len += usize::from(at == 0);
        self.next = if at + 1 == self.columns.len() { 0 } else { at + 1 };
        let column = &mut self.columns[at];
        column.set_validity(is_valid);
        &mut column.cells
    }

    /// Appends both cells of a time.
    pub fn time(&mut self, time: Time) {
        let nanos = time.nanos();
        if let Cells::Micros(cells) = self.next_cells(nanos.is_some()) {
            cells.push(nanos.unwrap_or_default().div_euclid(1_000));
        }
        self.number(nanos);
    }

    #[inline(always)]
    pub fn number(&mut self, n: impl Into<Option<i64>>) {
        let n = n.into();
        match self.next_cells(n.is_some()) {
            Cells::Int64(cells) => cells.push(n.unwrap_or_default()),
            // All these numbers are ports, or bounded in another way.
            Cells::Int32(cells) => cells.push(n.map_or(0, |n| i32::try_from(n).unwrap_or(i32::MAX))),
            _ => {}
        }
    }

    pub fn count(&mut self, n: u64) {
        self.number(signed(n));
    }

    pub fn boolean(&mut self, value: bool) {
        if let Cells::Bool(cells) = self.next_cells(true) {
            cells.push(value);
        }
    }

    pub fn text<'a>(&mut self, text: impl Into<Option<&'a str>>) {
        let text = text.into();
        match (self.next_cells(text.is_some()), text) {
            (Cells::Text(cells), text) => cells.append_option(text),
            (Cells::Label(cells), Some(text)) => cells.push(text),
            (Cells::Label(cells), None) => cells.rows.push(0),
            _ => {}
        }
    }

    /// Appends a word of the program.
    pub fn word(&mut self, word: impl Into<Option<&'static str>>) {
        let word = word.into();
        match (self.next_cells(word.is_some()), word) {
            (Cells::Label(cells), Some(word)) => cells.push_word(word),
            (Cells::Label(cells), None) => cells.rows.push(0),
            _ => {}
        }
    }

    /// Appends a text that `write` formats.
    pub fn formatted(&mut self, write: impl FnOnce(&mut Line)) {
        let mut line = take(&mut self.line);
        line.clear();
        write(&mut line);
        // It is always UTF-8: addresses, digits, and formatted text.
        self.text(str::from_utf8(&line).unwrap_or_default());
        self.line = line;
    }

    /// Appends the address and the port.
    pub fn endpoint(&mut self, e: Endpoint) {
        self.formatted(|line| push_ip(line, e));
        self.number(i64::from(e.port()));
    }

    pub fn numbers(&mut self, numbers: impl Iterator<Item = i64>) {
        if let Cells::Numbers(cells) = self.next_cells(true) {
            numbers.for_each(|n| cells.values().append_value(n));
            cells.append(true);
        }
    }

    pub fn texts(&mut self, texts: &[String]) {
        if let Cells::Texts(cells) = self.next_cells(true) {
            texts.iter().for_each(|text| cells.values().append_value(text));
            cells.append(true);
        }
    }

    pub fn bytes(&mut self, bytes: &[u8]) {
        if let Cells::Bytes(cells) = self.next_cells(true) {
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

    /// Rows with `columns` columns of a kind.
    fn rows(columns: usize, kind: Kind, arrow: &DataType) -> Rows {
        let fields = (0..columns).map(|n| Field::new(n.to_string(), arrow.clone(), true)).collect::<Vec<_>>();
        let columns = (0..columns).map(|_| Column::new(kind, true)).collect();
        Rows { schema: Arc::new(Schema::new(fields)), columns, next: 0, len: 0, line: Line::default() }
    }

    #[test]
    fn a_batch_has_each_label_once() {
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
    fn a_cell_of_a_wrong_type_is_an_error() {
        let mut rows = rows(2, Kind::Int64, &DataType::Int64);
        rows.text("one");
        rows.number(2);
        assert!(rows.take(true).is_err());
    }
}
