//! Finds one packet by its frame: the fields of its message with their bytes, and its findings.

use super::payload::value;
use super::secrets::{in_tree, in_unclaimed};
use super::{Files, Report, Wants};
use crate::capture::CaptureInfo;
use crate::check::Finding;
use crate::decode::{Heard, Json, Node};
use crate::escape::harmless;
use crate::filter::masked;
use crate::net::Datagram;
use crate::packet::Packet;
use serde_json::{Value, json};
use std::io;

/// A report that waits for the packet of a frame, and ends the reading with it.
pub struct Picked {
    frame: u64,
    files: Files,
    found: Option<Value>,
}

impl Picked {
    /// A report that waits for the packet of a frame, given by its number in the run.
    pub fn new(frame: u64) -> Picked {
        Picked { frame, files: Files::default(), found: None }
    }

    /// What was found, as JSON without characters that hide or turn text: the message, its fields, its bytes as hex digits and its
    /// findings. Passwords are masked.
    pub fn json(&self) -> Option<String> {
        self.found.as_ref().map(harmless)
    }

    /// Keeps the result and stops the reading.
    fn keep(&mut self, found: Value) -> io::Result<()> {
        self.found = Some(found);
        Err(io::ErrorKind::Interrupted.into())
    }

    fn finding(&self, f: &Finding) -> Value {
        json!({
            "rule": f.rule.id, "severity": f.severity.name(), "field": f.path().map(|path| path.to_string()),
            "start": f.span.map(|span| span.start), "end": f.span.map(|span| span.end), "message": f.to_string(),
            "caused_by": f.caused_by.map(|cause| json!({
                "rule": cause.rule.id, "frame": self.files.place(cause.frame).frame,
            })),
        })
    }
}

impl Report for Picked {
    /// The listener of records, for which the decoders are compiled anyway: the one packet is decoded once more.
    type Sink = Json;

    /// The same as for records, so that the packet is reported in the same way.
    fn wants(&self) -> Wants {
        Wants { ordered: true, ..Wants::default() }
    }

    fn file(&mut self, _name: &str, _facts: &CaptureInfo, before: u64) -> io::Result<()> {
        self.files.begin(before);
        Ok(())
    }

    fn packet(&mut self, p: &Packet<'_, Json>) -> io::Result<()> {
        if p.datagram.frame != self.frame {
            return Ok(());
        }
        let mut heard = Heard::default();
        p.hear(false, &mut heard);
        self.keep(json!({
            "protocol": p.id.info().title, "message": p.message_name(),
            "joined": p.whole().is_some(), "missing": p.datagram.cut,
            "bytes": masked(p.bytes, &in_tree(&heard.tree), 0),
            "fields": heard.tree.nodes().iter().map(|node| field(node, p.bytes)).collect::<Vec<_>>(),
            "findings": p.findings.iter().map(|f| self.finding(f)).collect::<Vec<_>>(),
        }))
    }

    fn unclaimed(&mut self, d: &Datagram<'_>) -> io::Result<()> {
        if d.frame != self.frame {
            return Ok(());
        }
        self.keep(json!({
            "protocol": null, "message": null, "joined": false, "missing": d.cut,
            "bytes": masked(d.payload, &in_unclaimed(d), 0), "fields": [], "findings": [],
        }))
    }
}

/// A field: its depth, its name, its value as people read it, and where its bytes are.
fn field(node: &Node, bytes: &[u8]) -> Value {
    json!({
        "depth": node.depth, "name": node.field.key, "value": node.value(bytes).map(|v| value(node, v)),
        "start": node.at.start, "end": node.at.end, "derived": node.derived,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::Source;
    use crate::pipeline::{Options, Pipeline, Stopped};
    use std::path::Path;

    /// What is reported about a frame of the demo capture.
    fn pick(frame: u64) -> Option<Value> {
        let mut source = Source::open(Path::new("captures/demo.pcapng")).expect("a capture");
        let mut picked = Picked::new(frame);
        let mut pipeline = Pipeline::new(Options { all: true, ..Options::default() }, &mut picked);
        let read = pipeline.read(&mut source, "demo");
        drop(pipeline);
        assert_eq!(
            matches!(read, Err(Stopped::Report(_))),
            picked.json().is_some(),
            "it ends with the frame"
        );
        picked.json().map(|json| json.parse().expect("JSON"))
    }

    #[test]
    fn a_packet_is_told_with_its_fields_and_bytes() {
        let found = pick(4).expect("a packet");
        assert_eq!(
            (&found["message"], &found["bytes"]),
            (&json!("challenge_response"), &json!("0095bd447e"))
        );
        let token = json!({ "depth": 0, "name": "token", "value": "2512209022", "start": 1, "end": 5, "derived": false });
        assert_eq!(found["fields"][1], token);
    }

    #[test]
    fn of_a_frame_without_a_datagram_nothing_is_told() {
        assert_eq!(pick(1), None);
        assert_eq!(pick(1_000), None);
    }
}
