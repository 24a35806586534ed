//! A filter while it is typed.

use qdissect::filter::{Filter, candidates, completion, names};
use serde_json::json;
use std::sync::OnceLock;
use wasm_bindgen::prelude::*;

/// Most names that are offered.
const MOST: usize = 12;

/// What is known of a filter that is typed, as JSON: what is wrong with it and where, or null; the names that the word before the
/// cursor may become; and what completes it as far as they agree. Places are those of JavaScript, in units of UTF-16.
#[wasm_bindgen]
pub fn typed(text: &str, cursor: usize) -> String {
    static NAMES: OnceLock<Vec<String>> = OnceLock::new();
    let names = NAMES.get_or_init(names);
    let before = text.get(..byte(text, cursor)).unwrap_or_default();
    let place = |at| unit(text, at);
    let wrong = Filter::parse(text)
        .err()
        .map(|e| json!({ "what": e.what, "start": place(e.at.start), "end": place(e.at.end) }));
    let offered = candidates(before, names, MOST);
    json!({ "wrong": wrong, "names": offered, "rest": completion(before, names) }).to_string()
}

/// The offset in bytes of an offset in units of UTF-16.
fn byte(text: &str, unit: usize) -> usize {
    let mut units = 0;
    let at = text.char_indices().find(|(_, c)| {
        units += c.len_utf16();
        units > unit
    });
    at.map_or(text.len(), |(at, _)| at)
}

/// The offset in units of UTF-16 of an offset in bytes.
fn unit(text: &str, byte: usize) -> usize {
    text.char_indices().take_while(|(at, _)| *at < byte).map(|(_, c)| c.len_utf16()).sum()
}
