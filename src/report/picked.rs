//! Keeps one packet as JSON for a page: the lines of its tree, its bytes, and its findings.

use super::outline::OutlineLine;
use super::{AnyListener, Files, Opened, Report, StandIns, Wants};
use crate::capture::{CaptureInfo, Comments, Frame, Time};
use crate::check::{Finding, Packet};
use crate::diagnosis::Diagnosis;
use crate::net::{Datagram, DropReason, Tunnel};
use crate::rule::Severity;
use crate::text::escape::terminal_safe_json;
use serde_json::{Value as Json, json};
use std::io;

/// A report of one packet, which keeps it as JSON.
pub struct Picked {
    opened: Opened,
    files: Files,
    found: Option<Json>,
}

impl Picked {
    /// An empty report. `stand_ins` are what is made up of frames.
    pub fn new(stand_ins: StandIns) -> Picked {
        Picked { opened: Opened::new(false).with_stand_ins(stand_ins), files: Files::default(), found: None }
    }

    /// The packet as JSON. `lines` are those of `dump -V -x`, each with its level; its name, value and place are the line in three
    /// parts. `bytes` are hex digits, passwords masked, and `marks` has a character for each byte, the initial of the worst
    /// severity of the findings about it. The text contains no characters that hide or reverse text.
    pub fn json(&self) -> Option<String> {
        self.found.as_ref().map(terminal_safe_json)
    }

    /// A filter for the field of a line.
    pub fn filter(&self, line: usize) -> Option<String> {
        self.opened.outline.get(line)?.filter(self.opened.protocol?)
    }

    fn finding(&self, f: &Finding) -> Json {
        json!({
            "rule": f.rule.id, "severity": f.severity.name(), "message": f.to_string(),
            "start": f.span.map(|span| span.start), "end": f.span.map(|span| span.end),
            "caused_by": f.caused_by.map(|cause| json!({
                "rule": cause.rule.id, "frame": self.files.place(cause.frame).frame,
            })),
        })
    }

    fn keep(&mut self, frame: u64, message: Option<&str>, findings: &[Finding], help: Option<String>) {
        let Opened { outline, bytes, joined, cut, protocol, .. } = &self.opened;
        let digits =
            bytes.iter().map(|cell| cell.value.map_or("**".to_owned(), |byte| format!("{byte:02x}")));
        let mark = |severity| match severity {
            None => ' ',
            Some(Severity::Note) => 'n',
            Some(Severity::Warning) => 'w',
            Some(Severity::Error) => 'e',
        };
        self.found = Some(json!({
            "frame": self.files.place(frame).frame,
            "protocol": protocol.map(|id| id.info().title), "message": message, "joined": joined, "missing": cut,
            "bytes": digits.collect::<String>(),
            "marks": bytes.iter().map(|cell| mark(cell.severity)).collect::<String>(),
            "lines": outline.iter().map(line).collect::<Vec<_>>(),
            "findings": findings.iter().map(|f| self.finding(f)).collect::<Vec<_>>(),
            "help": help,
        }));
    }
}

fn line(line: &OutlineLine) -> Json {
    let [name, value, place] = line.parts();
    json!({
        "level": line.level, "name": name, "value": value, "place": place,
        "start": line.span.map(|span| span.start), "end": line.span.map(|span| span.end),
        "severity": line.severity.map(Severity::name),
    })
}

impl Report for Picked {
    fn listener(&self) -> AnyListener {
        self.opened.listener()
    }

    fn wants(&self) -> Wants {
        self.opened.wants()
    }

    fn comments(&mut self, comments: &Comments) {
        self.opened.comments(comments);
    }

    fn frame(&mut self, frame: &Frame<'_>, parsed: &Result<Datagram<'_>, DropReason>) {
        self.opened.frame(frame, parsed);
    }

    fn file(&mut self, name: &str, facts: &CaptureInfo, before: u64) -> io::Result<()> {
        self.files.begin(before);
        self.opened.file(name, facts, before)
    }

    fn first_frame(&mut self, time: Time) {
        self.opened.first_frame(time);
    }

    fn tunnels(&mut self, number: u16, path: &[Tunnel]) {
        self.opened.tunnels(number, path);
    }

    fn reassembled(&mut self, frame: u64, pieces: &[u64]) {
        self.opened.reassembled(frame, pieces);
    }

    fn packet(&mut self, p: &Packet<'_>) -> io::Result<()> {
        self.opened.packet(p)?;
        let help = p.diagnosis().map(Diagnosis::to_string);
        self.keep(p.datagram.frame, Some(p.message_name()), p.findings, help);
        Ok(())
    }

    fn unclaimed(&mut self, d: &Datagram<'_>) -> io::Result<()> {
        self.opened.unclaimed(d)?;
        self.keep(d.frame, None, &[], None);
        Ok(())
    }
}
