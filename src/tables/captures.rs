//! The captures of a run, as rows of their table.

use super::rows::{Rows, signed};
use crate::capture::{CaptureInfo, Time, link_name};
use crate::verdict::path;
use sha2::{Digest, Sha256};
use std::path::Path;

/// The number of a capture, which every program computes alike: the first eight bytes of the SHA-256 of its URI.
pub fn file_id(uri: &str) -> i64 {
    let digest = Sha256::digest(uri);
    digest.first_chunk().map_or(0, |first| i64::from_be_bytes(*first))
}

/// A capture, and what is known of it so far.
#[derive(Debug, Default)]
pub(super) struct Capture {
    /// Its name as given.
    pub name: String,
    uri: String,
    /// Its number in the tables.
    pub id: i64,
    /// What the capture says of itself.
    pub facts: CaptureInfo,
    /// Frames.
    pub packets: u64,
    /// UDP datagrams among them.
    pub udp: u64,
    /// Those that a protocol claims.
    pub recognised: u64,
    /// Lowest and highest time stamp.
    pub span: Option<(Time, Time)>,
}

impl Capture {
    /// A capture of that name.
    pub fn new(name: &str, facts: CaptureInfo) -> Capture {
        let uri = match name {
            "-" => name.to_owned(),
            name => {
                let absolute = std::path::absolute(name).unwrap_or_else(|_| Path::new(name).to_owned());
                path::uri(path::bytes(&absolute, None))
            }
        };
        Capture { name: name.to_owned(), id: file_id(&uri), uri, facts, ..Capture::default() }
    }

    /// Appends its row.
    pub fn row(
        &self,
        rows: &mut Rows,
        seq: u64,
        error: Option<&str>,
        (sensor, options): (Option<&str>, &str),
    ) {
        let Capture { facts, span, .. } = self;
        let links: Vec<_> = facts.links.iter().map(|&link| link_name(link).to_string()).collect();
        rows.number(self.id);
        rows.text(self.uri.as_str());
        rows.text(sensor);
        rows.count(seq);
        rows.word(Some(facts.format).filter(|format| !format.is_empty()));
        rows.word(facts.compression);
        rows.texts(&links);
        rows.number(facts.snaplen.map(i64::from));
        for text in [&facts.application, &facts.comment, &facts.os, &facts.hardware] {
            rows.text(text.as_deref());
        }
        rows.time(span.map_or(Time::UNKNOWN, |(low, _)| low));
        rows.time(span.map_or(Time::UNKNOWN, |(_, high)| high));
        [self.packets, self.udp, self.recognised].into_iter().for_each(|n| rows.count(n));
        rows.number(facts.dropped().map(signed));
        rows.boolean(error.is_none());
        rows.text(error);
        rows.word(env!("CARGO_PKG_VERSION"));
        rows.text(options);
    }
}
