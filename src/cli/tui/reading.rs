//! Reads the captures in a thread, into an index and a board; reads them again when the filter changes.

use super::gather::{Gatherer, Shared, lock};
use super::pipe::Pipe;
use crate::browse::Indexer;
use crate::capture::{Error, Source};
use crate::cli::common_args::Common;
use crate::cli::diagnostics::divert;
use crate::cli::inputs::Inputs;
use crate::cli::interrupt;
use crate::cli::read::read_with;
use crate::cli::value_parsers::expression;
use crate::pipeline::Options;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};

/// What is read, and how.
#[derive(Debug)]
pub struct Plan {
    /// The options of the command line.
    pub common: Common,
    /// The options of the pipeline.
    pub options: Options,
    /// Inputs that can be read only once, with their copies.
    pub pipes: Vec<(PathBuf, Arc<Pipe>)>,
    /// Where frames of compressed captures are kept, so that they need not be decompressed again.
    pub spool: Option<File>,
    /// Most packets that the list may hold.
    pub rows: usize,
}

/// A thread that reads.
#[derive(Debug)]
pub struct Reading {
    /// What it has read so far.
    pub shared: Shared,
    /// Number of bytes that it has read.
    pub bytes: Arc<AtomicU64>,
    cancelled: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
    /// It may wait for a file to grow, and does not notice at once that nobody wants it any more.
    follows: bool,
}

impl Drop for Reading {
    fn drop(&mut self) {
        self.cancelled.store(true, Ordering::Relaxed);
        // The next one may use the same spool.
        if !self.follows {
            let _ = self.thread.take().map(JoinHandle::join);
        }
    }
}

impl Plan {
    /// Another handle of the spool, to read it.
    pub fn spool_to_read(&self) -> Option<File> {
        self.spool.as_ref().and_then(|spool| spool.try_clone().ok())
    }
}

impl Reading {
    /// A reading of nothing.
    pub fn idle() -> Reading {
        Reading {
            shared: Shared::new(0),
            bytes: Arc::default(),
            cancelled: Arc::default(),
            thread: None,
            follows: false,
        }
    }

    /// Begins to read everything that passes the filter, an expression or nothing. With `all`, datagrams that no protocol claims
    /// are listed, too.
    pub fn begin(plan: &Plan, filter: &str, all: bool) -> Reading {
        let shared = Shared::new(plan.rows);
        let (bytes, cancelled) = (Arc::<AtomicU64>::default(), Arc::<AtomicBool>::default());
        let mut common = plan.common.clone();
        common.display_filter = if filter.trim().is_empty() { None } else { expression(filter).ok() };
        let options = Options { all, ..plan.options.clone() };
        let indexer = Indexer::new(shared.index.clone()).with_spool(plan.spool_to_read());
        let gatherer = Gatherer::new(indexer, shared.board.clone(), cancelled.clone());
        let opening =
            Opening { pipes: plan.pipes.clone(), bytes: bytes.clone(), cancelled: cancelled.clone() };
        let reader = shared.clone();
        // A single pipe is read as it comes.
        common.follow |= plan.pipes.len() == 1 && common.files.len() + common.read.len() == 1;
        let follows = plan.common.follow && plan.pipes.is_empty();
        let thread = thread::spawn(move || read(&common, options, gatherer, &reader, &opening));
        Reading { shared, bytes, cancelled, thread: Some(thread), follows }
    }

    /// Whether everything has been read.
    pub fn is_done(&self) -> bool {
        self.shared.done.load(Ordering::Acquire)
    }
}

fn read(common: &Common, options: Options, mut gatherer: Gatherer, shared: &Shared, opening: &Opening) {
    divert(shared.messages.clone());
    let inputs = match opening.pipes.as_slice() {
        // Time passes while nothing comes through it, as in a running capture.
        [(path, _)] if common.follow => Inputs::of(path, opening.open(path)),
        _ => {
            let mut inputs = Inputs::find(common.files.iter().chain(&common.read), common.follow);
            inputs.order(false);
            inputs
        }
    };
    let read = read_with(common, options, inputs, &mut gatherer, &mut |path| opening.open(path));
    match read {
        Ok((totals, _)) => lock(&shared.board).totals = Some(totals),
        Err(e) => lock(&shared.messages).push(format!("error: {e}")),
    }
    lock(&shared.board).version += 1;
    shared.done.store(true, Ordering::Release);
}

/// How inputs are opened.
struct Opening {
    pipes: Vec<(PathBuf, Arc<Pipe>)>,
    bytes: Arc<AtomicU64>,
    cancelled: Arc<AtomicBool>,
}

impl Opening {
    fn open(&self, path: &Path) -> Result<Source, Error> {
        let counted = |input: Box<dyn Read + Send>| -> Box<dyn Read + Send> {
            Box::new(Counted { input, bytes: self.bytes.clone(), cancelled: self.cancelled.clone() })
        };
        match self.pipes.iter().find(|(of, _)| of == path) {
            Some((_, pipe)) => {
                Source::from_reader(path, counted(Box::new(pipe.reader(self.cancelled.clone()))))
            }
            None => Source::open_through(path, |file| counted(interrupt::stoppable(file))),
        }
    }
}

/// Counts what is read, and fails when nobody wants it any more.
struct Counted {
    input: Box<dyn Read + Send>,
    bytes: Arc<AtomicU64>,
    cancelled: Arc<AtomicBool>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.cancelled.load(Ordering::Relaxed) {
            return Err(io::Error::other("the reading was given up"));
        }
        let length = self.input.read(buffer)?;
        self.bytes.fetch_add(length as u64, Ordering::Relaxed);
        Ok(length)
    }
}
