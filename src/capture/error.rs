//! Why reading a capture ended early.

use std::path::{Path, PathBuf};
use std::{fmt, io};

/// The kind of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The operating system could not open or read it.
    Io,
    /// It is not a capture, or its format is not supported: there are no frames.
    NotACapture,
    /// It ends inside a record. The frames before it have been delivered.
    CutShort,
    /// A record contradicts itself or the format. The frames before it have been delivered.
    Damaged,
}

/// Why reading a capture ended early. Displayed as a clause without the file name and without a full stop;
/// [`path`](Self::path) has the name.
#[derive(Debug)]
pub struct Error(Box<Inner>);

#[derive(Debug)]
struct Inner {
    kind: ErrorKind,
    at: Option<u64>,
    text: String,
    cause: Option<io::Error>,
    path: PathBuf,
}

impl Error {
    /// Which of the four kinds of error it is.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Offset in bytes of the record that could not be read, or of the failed read; `None` where nothing of the
    /// capture could be read.
    pub fn offset(&self) -> Option<u64> {
        self.0.at
    }

    /// The name under which the capture was opened.
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    #[cold]
    fn new(kind: ErrorKind, at: Option<u64>, text: String, cause: Option<io::Error>) -> Error {
        Error(Box::new(Inner { kind, at, text, cause, path: PathBuf::new() }))
    }

    pub(super) fn not_a_capture(text: impl Into<String>) -> Error {
        Error::new(ErrorKind::NotACapture, None, text.into(), None)
    }

    pub(super) fn unopened(cause: io::Error) -> Error {
        Error::new(ErrorKind::Io, None, format!("the capture cannot be opened: {cause}"), Some(cause))
    }

    /// The reading error `cause` at byte `at`; if it wraps an [`Error`], that one.
    #[cold]
    pub(super) fn io(at: u64, cause: io::Error) -> Error {
        let cause = match cause.downcast() {
            Ok(error) => return error,
            Err(cause) => cause,
        };
        let text = format!("the capture cannot be read on from byte {at}: {cause}");
        Error::new(ErrorKind::Io, Some(at), text, Some(cause))
    }

    /// `what` starts at byte `at`, and its last `missing` bytes are not there.
    pub(super) fn cut(what: &str, at: u64, announced: u64, missing: u64) -> Error {
        let are = if missing == 1 { "is" } else { "are" };
        let text = format!(
            "the capture is cut short: the {what} at byte {at} announces {announced} bytes and {missing} {are} missing"
        );
        Error::new(ErrorKind::CutShort, Some(at), text, None)
    }

    /// `what` starts at byte `at`, and the input ends after `present` bytes of its head.
    pub(super) fn cut_head(what: &str, at: u64, present: u64, head: u64) -> Error {
        let text = format!(
            "the capture is cut short: of the head of the {what} at byte {at} there are {present} of {head} bytes"
        );
        Error::new(ErrorKind::CutShort, Some(at), text, None)
    }

    /// `what` starts at byte `at`; `text` says what is wrong with it.
    pub(super) fn damaged(what: &str, at: u64, text: impl fmt::Display) -> Error {
        let text = format!("the capture is damaged: the {what} at byte {at} {text}; reading ends there");
        Error::new(ErrorKind::Damaged, Some(at), text, None)
    }

    /// A stream of `packing` ends too early at byte `at` of the file, after `given` decompressed bytes.
    pub(super) fn packing_cut(packing: &str, at: u64, given: u64) -> Error {
        let text = format!(
            "the capture is cut short: its {packing} stream ends at byte {at} and is not complete; \
             {given} bytes could be decompressed"
        );
        Error::new(ErrorKind::CutShort, Some(given), text, None)
    }

    /// A stream of `packing` is damaged at byte `at` of the file, after `given` decompressed bytes; `text` says how.
    pub(super) fn packing_damaged(packing: &str, at: u64, given: u64, text: &str) -> Error {
        let text = format!(
            "the capture is damaged: its {packing} stream {text}, at byte {at}; \
             {given} bytes could be decompressed"
        );
        Error::new(ErrorKind::Damaged, Some(given), text, None)
    }

    /// A stream that is not supported though nothing is wrong with it; `command` decompresses it.
    pub(super) fn packing_refused([name, command]: [&str; 2], at: u64, given: u64, text: &str) -> Error {
        let text = format!(
            "the capture cannot be read on: its {name} stream {text}, at byte {at}; decompress it on the way, \
             with `{command} | qdissect -`"
        );
        let kind = if given == 0 { ErrorKind::NotACapture } else { ErrorKind::Damaged };
        Error::new(kind, Some(given).filter(|&given| given > 0), text, None)
    }

    /// Sets the name of the capture.
    pub(super) fn with_path(mut self, path: &Path) -> Error {
        self.0.path = path.to_owned();
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.text)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.cause.as_ref().map(|cause| cause as _)
    }
}
