//! Streams of batches that a thread produces while Python consumes them.

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use pyo3_arrow::PyRecordBatchReader;
use std::io;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;

/// Maximum number of batches waiting in the channel.
const CHANNEL_SIZE: usize = 2;

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

/// Sends a batch; fails if the stream has been dropped.
pub type SendBatch<'s> = dyn FnMut(RecordBatch) -> io::Result<()> + 's;

/// Returns a stream of the batches that `produce` sends. If `produce` fails, its message is the last item of the stream.
pub fn stream_batches(
    schema: SchemaRef,
    produce: impl FnOnce(&mut SendBatch<'_>) -> Result<(), String> + Send + 'static,
) -> PyRecordBatchReader {
    let (sender, batches) = sync_channel(CHANNEL_SIZE);
    thread::spawn(move || {
        let send = |batch| sender.send(Ok(batch)).map_err(|_| io::ErrorKind::BrokenPipe.into());
        if let Err(why) = produce(&mut { send }) {
            // This fails if the stream has been dropped, which is also why `produce` failed.
            let _ = sender.send(Err(ArrowError::ExternalError(why.into())));
        }
    });
    PyRecordBatchReader::new(Box::new(Stream { schema, batches }))
}
