//! Why reading a capture stopped early.

use crate::capture;
use std::{fmt, io};

/// Why reading stopped before the end of the input.
#[derive(Debug)]
pub enum Stopped {
    /// The capture is damaged, cut short, or cannot be read.
    Capture(capture::Error),
    /// The report could not be written.
    Report(io::Error),
}

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stopped::Capture(e) => e.fmt(f),
            Stopped::Report(e) => e.fmt(f),
        }
    }
}

impl std::error::Error for Stopped {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Stopped::Capture(e) => e.source(),
            Stopped::Report(e) => e.source(),
        }
    }
}

impl From<capture::Error> for Stopped {
    fn from(e: capture::Error) -> Self {
        Stopped::Capture(e)
    }
}

impl From<io::Error> for Stopped {
    fn from(e: io::Error) -> Self {
        Stopped::Report(e)
    }
}
