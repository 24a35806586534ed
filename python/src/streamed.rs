//! Batches that a thread makes while Python takes them.

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use pyo3_arrow::PyRecordBatchReader;
use std::io;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;

/// Batches that wait to be taken.
const WAITING: usize = 2;

struct Stream {
    schema: SchemaRef,
    batches: Receiver<Result<RecordBatch, ArrowError>>,
}

impl Iterator for Stream {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.batches.recv().ok()
    }
}

impl RecordBatchReader for Stream {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}

/// What hands a batch on; it fails where nobody takes it any more.
pub type HandOn<'s> = dyn FnMut(RecordBatch) -> io::Result<()> + 's;

/// A stream of the batches that `make` sends; what it says in the end is an error of the stream.
pub fn streamed(
    schema: SchemaRef,
    make: impl FnOnce(&mut HandOn<'_>) -> Result<(), String> + Send + 'static,
) -> PyRecordBatchReader {
    let (sender, batches) = sync_channel(WAITING);
    thread::spawn(move || {
        let send = |batch| sender.send(Ok(batch)).map_err(|_| io::ErrorKind::BrokenPipe.into());
        if let Err(why) = make(&mut { send }) {
            // Where nobody listens any more, that is why.
            let _ = sender.send(Err(ArrowError::ExternalError(why.into())));
        }
    });
    PyRecordBatchReader::new(Box::new(Stream { schema, batches }))
}
