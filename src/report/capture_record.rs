//! The record of a capture.

use crate::capture::{CaptureInfo, Interface, link_name};
use serde_json::{Value, json};

/// The `capture` record.
pub fn capture_record(name: &str, facts: &CaptureInfo) -> Value {
    let links: Vec<_> = facts.links.iter().map(|&l| link_name(l)).collect();
    json!({
        "type": "capture", "file": name, "format": facts.format, "compression": facts.compression, "links": links,
        "snaplen": facts.snaplen, "application": facts.application, "comment": facts.comment,
        "os": facts.os, "hardware": facts.hardware,
        "interfaces": facts.interfaces.iter().map(interface_record).collect::<Vec<_>>(),
    })
}

/// An interface of the capture.
fn interface_record(interface: &Interface) -> Value {
    let Interface { link, snaplen, name, .. } = interface;
    let mut record = json!({ "name": name, "link": link_name(*link), "snaplen": snaplen });
    for (key, text) in [("description", &interface.description), ("comment", &interface.comment)] {
        if let Some(text) = text {
            record[key] = text.as_str().into();
        }
    }
    record
}
