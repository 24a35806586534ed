//! Records without file names, and with frames numbered through all files, so that runs over different files can be compared.

use crate::kit::run::{parsed, qdissect};
use serde_json::Value;
use std::collections::HashMap;

/// The records of `dump -T ndjson`.
#[track_caller]
pub fn dump(args: &[&str], code: i32) -> Vec<Value> {
    let output = qdissect().args(["dump", "--no-config", "-T", "ndjson"]).args(args).output().unwrap();
    parsed(&output, code)
}

/// The number of the last frame of each file, counted through all files; empty for one file.
pub struct LastFrames<'a>(pub &'a [u64]);

impl LastFrames<'_> {
    /// The number of a frame in the run.
    fn number(&self, file: usize, frame: &Value) -> Value {
        let before = file.checked_sub(1).map_or(0, |last| self.0.get(last).copied().unwrap_or(0));
        (frame.as_u64().unwrap() + before).into()
    }
}

/// The records of packets and exchanges, without file names and with frames numbered through all files.
pub fn normalised(records: &[Value], last_frames: &LastFrames<'_>) -> Vec<Value> {
    let mut files = HashMap::new();
    for capture in records.iter().filter(|r| r["type"] == "capture") {
        let next = files.len();
        files.insert(capture["file"].as_str().unwrap(), next);
    }
    let is_packet_or_exchange = |r: &&Value| r["type"] == "packet" || r["type"] == "exchange";
    records
        .iter()
        .filter(is_packet_or_exchange)
        .map(|record| without_files(record.clone(), &files, last_frames))
        .collect()
}

fn without_files(mut record: Value, files: &HashMap<&str, usize>, last_frames: &LastFrames<'_>) -> Value {
    let index = |name: &Value| files[name.as_str().unwrap()];
    let here = index(&record["file"]);
    let other = |record: &Value, key: &str| record.get(key).map_or(here, index);
    let (request_file, first) = (other(&record, "request_file"), other(&record, "duplicate_file"));
    for (key, file) in [("frame", here), ("request_frame", request_file), ("duplicate_of", first)] {
        if record.get(key).is_some() {
            record[key] = last_frames.number(file, &record[key]);
        }
    }
    let several = record.get("response_files").map(|names| names.as_array().unwrap().clone());
    for (i, frame) in record["response_frames"].as_array_mut().into_iter().flatten().enumerate() {
        let file = several.as_ref().map_or(here, |names| index(&names[i]));
        *frame = last_frames.number(file, frame);
    }
    // Parts may be in other files, which the record does not name.
    if let Some(split) = record.pointer_mut("/fields/split").and_then(Value::as_object_mut) {
        split.remove("parts");
    }
    for finding in record["findings"].as_array_mut().into_iter().flatten() {
        if let Some(cause) = finding.get_mut("caused_by") {
            let file = cause.get("file").map_or(here, index);
            cause["frame"] = last_frames.number(file, &cause["frame"]);
            cause.as_object_mut().unwrap().remove("file");
        }
    }
    // The record does not name the files of fragments.
    if let Some(pieces) = record.get("fragments").and_then(Value::as_array).map(Vec::len) {
        record["fragments"] = pieces.into();
    }
    let object = record.as_object_mut().unwrap();
    ["file", "request_file", "response_files", "duplicate_file", "file_offset"]
        .iter()
        .for_each(|key| drop(object.remove(*key)));
    record
}
