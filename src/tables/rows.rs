//! Rows of a table on their way into batches.

use super::{BATCH, Kind, Table};
use crate::capture::Time;
use arrow_array::builder::{
    ArrayBuilder, BooleanBuilder, Int32Builder, Int64Builder, ListBuilder, StringBuilder,
    StringDictionaryBuilder, TimestampMicrosecondBuilder,
};
use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use std::io;
use std::sync::Arc;

/// One of Arrow's columns, being filled.
enum Builder {
    Int32(Int32Builder),
    Int64(Int64Builder),
    Bool(BooleanBuilder),
    Text(StringBuilder),
    Label(StringDictionaryBuilder<Int32Type>),
    Micros(TimestampMicrosecondBuilder),
    Numbers(ListBuilder<Int64Builder>),
    Texts(ListBuilder<StringBuilder>),
}

impl Builder {
    fn new(kind: Kind) -> Builder {
        let element = |of| Arc::new(Field::new("element", of, false));
        match kind {
            Kind::Int32 => Builder::Int32(Int32Builder::new()),
            Kind::Int64 => Builder::Int64(Int64Builder::new()),
            Kind::Bool => Builder::Bool(BooleanBuilder::new()),
            Kind::Text => Builder::Text(StringBuilder::new()),
            Kind::Label => Builder::Label(StringDictionaryBuilder::new()),
            Kind::Time => Builder::Micros(TimestampMicrosecondBuilder::new().with_timezone("UTC")),
            Kind::Numbers => {
                Builder::Numbers(ListBuilder::new(Int64Builder::new()).with_field(element(DataType::Int64)))
            }
            Kind::Texts => {
                Builder::Texts(ListBuilder::new(StringBuilder::new()).with_field(element(DataType::Utf8)))
            }
        }
    }

    fn finish(&mut self) -> ArrayRef {
        match self {
            Builder::Int32(b) => Arc::new(b.finish()),
            Builder::Int64(b) => Arc::new(b.finish()),
            Builder::Bool(b) => Arc::new(b.finish()),
            Builder::Text(b) => Arc::new(b.finish()),
            Builder::Label(b) => Arc::new(b.finish()),
            Builder::Micros(b) => Arc::new(b.finish()),
            Builder::Numbers(b) => Arc::new(b.finish()),
            Builder::Texts(b) => Arc::new(b.finish()),
        }
    }

    fn len(&self) -> usize {
        match self {
            Builder::Int32(b) => b.len(),
            Builder::Int64(b) => b.len(),
            Builder::Bool(b) => b.len(),
            Builder::Text(b) => b.len(),
            Builder::Label(b) => b.len(),
            Builder::Micros(b) => b.len(),
            Builder::Numbers(b) => b.len(),
            Builder::Texts(b) => b.len(),
        }
    }
}

/// The rows of a table that were not handed on yet. Cells are pushed in the order of the columns.
pub(super) struct Rows {
    schema: Arc<Schema>,
    builders: Vec<Builder>,
    /// The column of the next cell.
    next: usize,
}

/// What a cell takes.
pub(super) enum Cell<'a> {
    Nothing,
    Number(i64),
    Bool(bool),
    Text(&'a str),
    Numbers(&'a [i64]),
    Texts(&'a [String]),
}

impl Rows {
    pub fn new(table: Table) -> Rows {
        let kinds = table.columns().iter().flat_map(|column| match column.kind {
            Kind::Time => [Some(Kind::Time), Some(Kind::Int64)],
            kind => [Some(kind), None],
        });
        Rows { schema: table.schema(), builders: kinds.flatten().map(Builder::new).collect(), next: 0 }
    }

    /// The next cell of the row.
    #[inline]
    pub fn push(&mut self, cell: Cell<'_>) -> io::Result<()> {
        let at = self.next;
        self.next = if at + 1 == self.builders.len() { 0 } else { at + 1 };
        match (&mut self.builders[at], cell) {
            (Builder::Int32(b), Cell::Number(n)) => b.append_option(i32::try_from(n).ok()),
            (Builder::Int32(b), Cell::Nothing) => b.append_null(),
            (Builder::Int64(b), Cell::Number(n)) => b.append_value(n),
            (Builder::Int64(b), Cell::Nothing) => b.append_null(),
            (Builder::Bool(b), Cell::Bool(yes)) => b.append_value(yes),
            (Builder::Text(b), Cell::Text(text)) => b.append_value(text),
            (Builder::Text(b), Cell::Nothing) => b.append_null(),
            (Builder::Label(b), Cell::Text(text)) => drop(b.append(text).map_err(io::Error::other)?),
            (Builder::Label(b), Cell::Nothing) => b.append_null(),
            (Builder::Numbers(b), Cell::Numbers(numbers)) => {
                b.values().append_slice(numbers);
                b.append(true);
            }
            (Builder::Texts(b), Cell::Texts(texts)) => {
                texts.iter().for_each(|text| b.values().append_value(text));
                b.append(true);
            }
            (Builder::Micros(_), _) | (_, _) => {
                return Err(io::Error::other(format!("no such cell in {}", self.schema.field(at).name())));
            }
        }
        Ok(())
    }

    /// Both cells of a time.
    pub fn time(&mut self, time: Time) -> io::Result<()> {
        let nanos = time.nanos();
        if let Some(Builder::Micros(b)) = self.builders.get_mut(self.next) {
            b.append_option(nanos.map(|nanos| nanos.div_euclid(1_000)));
            self.next += 1;
        }
        self.push(nanos.map_or(Cell::Nothing, Cell::Number))
    }

    pub fn number(&mut self, n: impl Into<Option<i64>>) -> io::Result<()> {
        self.push(n.into().map_or(Cell::Nothing, Cell::Number))
    }

    pub fn count(&mut self, n: u64) -> io::Result<()> {
        self.push(Cell::Number(i64::try_from(n).unwrap_or(i64::MAX)))
    }

    pub fn text<'a>(&mut self, text: impl Into<Option<&'a str>>) -> io::Result<()> {
        self.push(text.into().map_or(Cell::Nothing, Cell::Text))
    }

    /// How many whole rows there are.
    pub fn len(&self) -> usize {
        self.builders.last().map_or(0, Builder::len)
    }

    /// The rows as a batch, if there are enough of them, or any at the end.
    pub fn take(&mut self, end: bool) -> io::Result<Option<RecordBatch>> {
        if self.len() < if end { 1 } else { BATCH } {
            return Ok(None);
        }
        let columns = self.builders.iter_mut().map(Builder::finish).collect();
        RecordBatch::try_new(self.schema.clone(), columns).map(Some).map_err(io::Error::other)
    }
}
