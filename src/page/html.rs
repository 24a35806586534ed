//! Writes the page: the template with its placeholders filled in.

use super::data::Data;
use super::table::{self, Table, escaped};
use super::{Gathered, table::MAX_ROWS};
use crate::escape::harmless;
use crate::report::{MORE_MEMORY, count, dropped_remark};
use crate::verdict::Verdict;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::io::{self, Write};

const TEMPLATE: &str = include_str!("page.html");
const STYLE: &str = concat!(include_str!("base.css"), include_str!("style.css"));
/// In the order in which they refer to each other.
const SCRIPT: &str = concat!(
    include_str!("script/text.js"),
    include_str!("script/filter.js"),
    include_str!("script/draw.js"),
    include_str!("script/hex.js"),
    include_str!("script/table.js"),
    include_str!("script/page.js"),
);

/// Writes the page of a run.
///
/// # Errors
/// When it cannot be written.
pub fn write(out: &mut dyn Write, gathered: &Gathered, verdict: &Verdict) -> io::Result<()> {
    let data = Data::of(gathered, verdict);
    let mut rest = TEMPLATE;
    while let Some((before, after)) = rest.split_once("{{") {
        let Some((name, behind)) = after.split_once("}}") else { break };
        out.write_all(before.as_bytes())?;
        out.write_all(part(name, &data, verdict).as_bytes())?;
        rest = behind;
    }
    out.write_all(rest.as_bytes())
}

/// The content for a placeholder of the template.
fn part(name: &str, data: &Data, verdict: &Verdict) -> String {
    match name {
        "title" => title(data),
        "policy" => policy(),
        "style" => STYLE.to_owned(),
        "script" => SCRIPT.to_owned(),
        "data" => embedded(data),
        "lead" => lead(data, verdict),
        "tiles" => tiles(data),
        "notes" => notes(data, verdict),
        "version" => env!("CARGO_PKG_VERSION").to_owned(),
        name => {
            table::ALL.iter().find(|t| t.name == name).map_or(String::new(), |table| section(table, data))
        }
    }
}

/// The name of the only capture, or the number of captures.
fn title(data: &Data) -> String {
    match data.rows("capture") {
        [only] => escaped(only["file"].as_str().unwrap_or_default()),
        _ => count(data.summary["files"].as_u64().unwrap_or(0), "capture"),
    }
}

/// The content security policy. Nothing may be loaded, and only the script of this page may run: a name that got past the
/// escaping would do nothing.
fn policy() -> String {
    let hash = |text: &str| STANDARD.encode(Sha256::digest(text));
    format!(
        "default-src 'none'; script-src 'sha256-{}'; style-src 'sha256-{}'; base-uri 'none'; form-action 'none'",
        hash(SCRIPT),
        hash(STYLE)
    )
}

/// The data as JSON, escaped so that nothing in it ends the element or begins another.
fn embedded(data: &Data) -> String {
    let mut all = data.json();
    all["columns"] = table::columns();
    let json = harmless(&all);
    json.replace('&', "\\u0026").replace('<', "\\u003c").replace('>', "\\u003e")
}

/// The first sentences: how much traffic there is, from when, and whether anything could not be read.
fn lead(data: &Data, verdict: &Verdict) -> String {
    let summary = &data.summary;
    let span = ["first_time", "last_time"].map(|key| summary[key].as_str().unwrap_or_default().get(..19));
    let when = match span {
        [Some(first), Some(last)] => {
            format!(", {} to {} UTC", first.replace('T', " "), last.replace('T', " "))
        }
        _ => String::new(),
    };
    let incomplete = match verdict.totals.complete {
        true => "",
        false => " <strong>Incomplete: not everything could be read.</strong>",
    };
    format!("{}{when}.{incomplete}", escaped(&verdict.totals.traffic()))
}

/// The most important numbers, each with its name.
fn tiles(data: &Data) -> String {
    let summary = &data.summary;
    let counts = &summary["finding_counts"];
    let servers = data.rows("server").len() as u64 + data.left_out["server"].as_u64().unwrap_or(0);
    let of = |value: &Value| value.as_u64().unwrap_or(0);
    let outcome = |key: &str| of(&summary[key]);
    let tiles = [
        ("servers", "servers", servers, ""),
        ("exchanges", "exchanges", outcome("exchanges"), ""),
        ("answered", "answered", outcome("answered"), ""),
        ("late", "late", outcome("late"), "warning"),
        ("unanswered", "unanswered", outcome("unanswered"), "error"),
        ("refused", "refused", outcome("refused"), "error"),
        ("undecided", "undecided", outcome("undecided"), "note"),
        ("error", "errors", of(&counts["error"]), "error"),
        ("warning", "warnings", of(&counts["warning"]), "warning"),
        ("note", "notes", of(&counts["note"]), "note"),
    ];
    let tile = |(key, what, n, class): (&str, &str, u64, &str)| {
        let class = if n > 0 { class } else { "" };
        format!("<div class=\"tile {class}\" data-number=\"{key}\"><dt>{what}</dt><dd>{n}</dd></div>")
    };
    tiles.map(tile).concat()
}

/// A table, with the number of rows shown and the number of rows left out.
fn section(table: &Table, data: &Data) -> String {
    let rows = data.rows(table.name);
    let more = data.left_out[table.name].as_u64().unwrap_or(0);
    let left_out = match more {
        0 => String::new(),
        _ => {
            let more = count(more, &format!("further {}", table.what));
            format!("<p class=\"more\">Not on this page: {more}.</p>")
        }
    };
    match (rows.is_empty(), more) {
        (true, 0) => return format!("<p class=\"none\">There are no {}s.</p>", table.what),
        (true, _) => return left_out,
        (false, _) => {}
    }
    let mut caption = count(rows.len() as u64, table.what);
    if rows.len() > MAX_ROWS {
        caption = format!("The first {MAX_ROWS} of {caption}; the script shows all");
    }
    // The element scrolls, so the keyboard must reach it.
    let label = format!("tabindex=\"0\" role=\"region\" aria-label=\"Table of {}s\"", table.what);
    format!("<div class=\"scroll\" {label}>{}</div>{left_out}", table.html(&caption, rows))
}

/// Remarks that belong to no table.
fn notes(data: &Data, verdict: &Verdict) -> String {
    let totals = &verdict.totals;
    let mut notes = data.notes.clone();
    notes.extend(dropped_remark(totals));
    let (candidates, more) = totals.candidates();
    notes.extend(candidates.iter().map(ToString::to_string));
    notes.extend((more > 0).then(|| format!("and the same of {}", count(more, "further endpoint"))));
    notes.extend(totals.crowded().then(|| MORE_MEMORY.to_owned()));
    notes.extend(totals.unread.iter().map(|unread| format!("{}: {}", unread.file, unread.why)));
    let items: String = notes.iter().map(|note| format!("<li>{}</li>", escaped(note))).collect();
    if items.is_empty() { items } else { format!("<ul class=\"notes\">{items}</ul>") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_of_the_template_has_a_part() {
        let data = Data::default();
        let verdict = crate::verdict::Check::new(Default::default(), |_, _| Ok(()));
        let verdict = verdict.verdict(Default::default()).expect("nothing is written");
        let places = TEMPLATE.split("{{").skip(1).map(|rest| rest.split_once("}}").expect("it ends").0);
        for place in places.filter(|place| *place != "notes") {
            assert!(!part(place, &data, &verdict).is_empty(), "{place}");
        }
    }

    #[test]
    fn without_data_it_is_small() {
        let size = TEMPLATE.len() + STYLE.len() + SCRIPT.len();
        assert!(size < 300_000, "{size} bytes");
    }
}
