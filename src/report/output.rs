//! Writes JSON and NDJSON: objects are gathered in one buffer.

use crate::escape::harmless;
use crate::line::Line;
use serde::Serialize;
use std::io::{self, Write};

/// How much is gathered before it is written, in bytes.
const BUFFER: usize = 64 * 1024;

/// The line before each object in [`Form::Bulk`]; data streams, too, take `create`, and no other operation.
const INDEX: &[u8] = b"{\"create\":{\"_index\":\"qdissect\"}}\n";

/// The form of the records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// One object a line.
    Ndjson,
    /// The same objects as one array.
    Json,
    /// One object a line, and before each a line that tells Elasticsearch's bulk interface to index it.
    Bulk,
}

/// Gathers objects, one a line, and writes them in large pieces or one by one.
pub struct Output<W: Write> {
    out: W,
    form: Form,
    flush: bool,
    /// The gathered text.
    pub(super) line: Line,
    first: bool,
}

impl<W: Write> Output<W> {
    /// Writes objects in `form` to `out`; `flush` writes each object at once.
    pub fn new(out: W, form: Form, flush: bool) -> Self {
        Output { out, form, flush, line: Line::with_capacity(BUFFER * 2), first: true }
    }

    /// Begins an object.
    pub(super) fn begin(&mut self) {
        match self.form {
            Form::Ndjson => {}
            Form::Json => {
                self.line.extend_from_slice(if self.first { b"[" } else { b",\n" });
                self.first = false;
            }
            Form::Bulk => self.line.extend_from_slice(INDEX),
        }
    }

    pub(super) fn end(&mut self) -> io::Result<()> {
        if self.form != Form::Json {
            self.line.push(b'\n');
        }
        if self.flush || self.line.len() >= BUFFER { self.write() } else { Ok(()) }
    }

    fn write(&mut self) -> io::Result<()> {
        self.out.write_all(&self.line)?;
        self.line.clear();
        self.out.flush()
    }

    /// Writes a whole object.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn value(&mut self, value: &impl Serialize) -> io::Result<()> {
        self.text(&harmless(value))
    }

    /// Writes a whole object that is text already.
    pub(super) fn text(&mut self, json: &str) -> io::Result<()> {
        self.begin();
        self.line.extend_from_slice(json.as_bytes());
        self.end()
    }

    /// Writes the end of the output, after the last object.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn finish(&mut self) -> io::Result<()> {
        if self.form == Form::Json {
            self.line.extend_from_slice(if self.first { b"[]\n" } else { b"]\n" });
        }
        self.write()
    }
}
