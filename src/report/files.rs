//! Maps frames to files, and the record of a file.
//!
//! Conversations continue across rotated files, so frames are numbered across all files of a run. Output shows the file
//! and the number of the frame in it, like Wireshark.

use crate::capture::{self, CaptureInfo, MAX_LISTED_INTERFACES, link_name};
use crate::report::terms;
use schemars::JsonSchema;
use serde::Serialize;
use std::borrow::Cow;

/// Maximum number of files whose names and facts are kept; further files are only counted.
const MAX_FACTS: usize = 1_000;

/// The files of a run, in the order read.
#[derive(Clone, Debug, Default)]
pub struct Files {
    /// Number of frames before each file.
    before: Vec<u64>,
}

/// The place of a frame: its file, and its number in the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// Index of the file, in the order read.
    pub file: usize,
    /// Number of the frame in the file, counted from 1.
    pub frame: u64,
}

impl Files {
    /// Begins a file, after `before` frames in the files before it.
    pub fn begin(&mut self, before: u64) {
        self.before.push(before);
    }

    /// The number of frames before each file.
    pub fn before(&self) -> impl Iterator<Item = u64> {
        self.before.iter().copied()
    }

    /// The number of files.
    pub fn len(&self) -> usize {
        self.before.len()
    }

    /// Whether there is no file.
    pub fn is_empty(&self) -> bool {
        self.before.is_empty()
    }

    /// The place of a frame with this number in the run.
    #[inline]
    pub fn place(&self, frame: u64) -> Place {
        match self.before.split_last() {
            Some((&last, earlier)) if frame > last => Place { file: earlier.len(), frame: frame - last },
            _ => self.earlier(frame),
        }
    }

    #[cold]
    fn earlier(&self, frame: u64) -> Place {
        let file = self.before.partition_point(|&before| before < frame).saturating_sub(1);
        let before = self.before.get(file).copied().unwrap_or(0);
        Place { file, frame: frame.saturating_sub(before) }
    }
}

/// Captures and the facts about each.
#[derive(Debug, Default)]
pub struct Captures {
    /// Names and facts, in the order read.
    pub list: Vec<(String, CaptureInfo)>,
    /// Maps frames to files.
    pub files: Files,
}

impl Captures {
    /// Begins a file, after `before` frames in the files before it.
    pub fn begin(&mut self, name: &str, facts: &CaptureInfo, before: u64) {
        self.files.begin(before);
        if self.list.len() < MAX_FACTS {
            self.list.push((name.to_owned(), facts.clone()));
        }
    }

    /// Name of the only file; `None` if there are several, because totals cover all files.
    pub fn only(&self) -> Option<&str> {
        match self.list.as_slice() {
            [(name, _)] => Some(name),
            _ => None,
        }
    }

    /// Name of a file; `None` beyond the limit.
    pub fn name(&self, file: usize) -> Option<&str> {
        self.list.get(file).map(|(name, _)| name.as_str())
    }
}

/// A capture: one for each file.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "type", rename = "capture", deny_unknown_fields)]
pub struct CaptureRecord<'a> {
    file: terms::File<&'a str>,
    #[schemars(extend("enum" = ["pcap", "pcapng", "hex"]))]
    format: &'static str,
    compression: Option<terms::Compression<&'static str>>,
    links: Vec<terms::Link<Cow<'static, str>>>,
    snaplen: Option<u32>,
    application: Option<&'a str>,
    comment: Option<&'a str>,
    os: Option<&'a str>,
    hardware: Option<&'a str>,
    #[schemars(length(max = MAX_LISTED_INTERFACES))]
    interfaces: Vec<Interface<'a>>,
}

/// An interface that it was made on.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "capture.interface", deny_unknown_fields)]
struct Interface<'a> {
    name: Option<&'a str>,
    link: terms::Link<Cow<'static, str>>,
    snaplen: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    description: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    comment: Option<&'a str>,
}

impl<'a> CaptureRecord<'a> {
    /// The record of a capture of this name.
    pub fn new(name: &'a str, info: &'a CaptureInfo) -> CaptureRecord<'a> {
        CaptureRecord {
            file: terms::File(name),
            format: info.format,
            compression: info.compression.map(terms::Compression),
            links: info.links.iter().map(|&link| terms::Link(link_name(link))).collect(),
            snaplen: info.snaplen,
            application: info.application.as_deref(),
            comment: info.comment.as_deref(),
            os: info.os.as_deref(),
            hardware: info.hardware.as_deref(),
            interfaces: info.interfaces.iter().map(Interface::new).collect(),
        }
    }
}

impl<'a> Interface<'a> {
    fn new(interface: &'a capture::Interface) -> Interface<'a> {
        Interface {
            name: interface.name.as_deref(),
            link: terms::Link(link_name(interface.link)),
            snaplen: interface.snaplen,
            description: interface.description.as_deref(),
            comment: interface.comment.as_deref(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_frames_within_their_file() {
        let mut files = Files::default();
        assert_eq!(files.place(7), Place { file: 0, frame: 7 }, "frames that come from no file");
        for before in [0, 10, 10, 25] {
            files.begin(before);
        }
        for (frame, file, number) in [(1, 0, 1), (10, 0, 10), (11, 2, 1), (25, 2, 15), (26, 3, 1)] {
            assert_eq!(files.place(frame), Place { file, frame: number }, "{frame}");
        }
    }

    #[test]
    fn files_beyond_the_limit_have_no_name_but_frame_numbers() {
        let mut captures = Captures::default();
        (0..=MAX_FACTS as u64).for_each(|n| captures.begin(&n.to_string(), &CaptureInfo::default(), 10 * n));
        assert_eq!((captures.list.len(), captures.files.len()), (1_000, 1_001));
        assert_eq!([999, 1_000].map(|file| captures.name(file)), [Some("999"), None]);
        assert_eq!(captures.files.place(10_003), Place { file: 1_000, frame: 3 });
    }
}
