//! A diagnosis in words.

use super::search::Attempt;
use crate::decode::{Facts, Value, Version};
use crate::layout::{Change, Expected, Layout, Reader};
use crate::text::escape::{quoted, truncated};
use std::fmt::Write;

/// Characters of a text at most.
const MAX_TEXT: usize = 64;

/// `everything fits if numbers are little-endian`.
pub fn help(attempt: &Attempt) -> String {
    let whole = attempt.whole.map(|whole| whole.words.to_owned());
    let each = attempt.set.iter().map(|v| v.words.replace("{}", &format!("`{}`", v.field)));
    let clauses: Vec<String> = whole.into_iter().chain(each).collect();
    format!("everything fits if {}", clauses.join(" and "))
}

/// What the specification says about what is varied: numbers, texts, or the rest.
pub fn says(attempt: &Attempt) -> (&'static str, &'static str) {
    let Layout { says: [numbers, texts, rest], .. } = attempt.layout;
    let is = |fits: fn(Change) -> bool| attempt.set.iter().any(|v| fits(v.change));
    if is(|change| matches!(change, Change::Texts(_) | Change::Nul(_) | Change::Unit | Change::Encoding(_))) {
        return *texts;
    }
    if is(|change| change == Change::Swap) { *numbers } else { *rest }
}

/// `"A" "b" "c" on "d", 1/8, port 7777`: what the message says about its server.
pub fn facts(facts: &Facts<'_>, layout: &'static Layout, bytes: &[u8], expected: Expected) -> String {
    let text = |value: Value<'_>| quoted(&truncated(&value.text().unwrap_or_default(), MAX_TEXT)).to_string();
    let mut words: Vec<String> = [facts.server_name, facts.game].into_iter().flatten().map(text).collect();
    match facts.version {
        Some(Version::Text(version)) => words.push(text(version)),
        Some(Version::Number(n)) => words.push(n.to_string()),
        None => {}
    }
    let mut reader = Reader::new(bytes, layout, &[], expected);
    let read = reader.read().is_some();
    if read && !reader.string("map").is_empty() {
        words.push(format!("on {}", quoted(&truncated(reader.string("map"), MAX_TEXT))));
    }
    let mut out = words.join(" ");
    if let Some((now, max)) = facts.player_counts() {
        let _ = write!(out, "{}{now}/{max}", if out.is_empty() { "" } else { ", " });
    }
    if let Some(port) = reader.number("port").filter(|_| read && !out.is_empty()) {
        let _ = write!(out, ", port {port}");
    }
    out
}
