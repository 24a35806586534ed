//! Writes JSON and NDJSON through a buffer.

use crate::text::escape::terminal_safe_json;
use crate::text::line::Line;
use serde::Serialize;
use std::io::{self, Write};

/// Number of bytes that are buffered before they are written.
const BUFFER: usize = 64 * 1024;

/// The line before each object in [`Form::Bulk`]. `create` is the only operation that data streams accept, too.
const INDEX: &[u8] = b"{\"create\":{\"_index\":\"qdissect\"}}\n";

/// The form of the records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// One object per line.
    Ndjson,
    /// An array of objects.
    Json,
    /// One object per line, each after a line that makes Elasticsearch's bulk API index it.
    Bulk,
}

/// Buffers objects, one per line, and writes them in large pieces or one by one.
pub struct Output<W: Write> {
    out: W,
    form: Form,
    flush: bool,
    /// The buffer.
    pub(super) line: Line,
    first: bool,
}

impl<W: Write> Output<W> {
    /// Writes objects in `form` to `out`, with `flush` each at once.
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

    /// Writes a complete object.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn value(&mut self, value: &impl Serialize) -> io::Result<()> {
        self.text(&terminal_safe_json(value))
    }

    /// Writes a complete object that is already serialised.
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
