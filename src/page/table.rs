//! The tables of the page: their columns, and their first rows as HTML. `script/table.js` shows further rows with the same
//! columns.

use crate::report::duration;
use crate::text::escape;
use serde_json::{Value, json};
use std::io::{self, Write};

/// Most rows of a table in the HTML; the script shows the others.
pub const MAX_ROWS: usize = 200;
/// What stands in a cell without a value. Narrow screens leave such cells out.
const NOTHING: &str = "–";
/// Most frames listed in a cell.
const MAX_LISTED: usize = 4;

/// What the cells of a column hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A word or an address.
    Text,
    /// Text from the network, in any script.
    Name,
    /// A sentence from qdissect itself.
    Words,
    /// A whole number.
    Count,
    /// A duration.
    Seconds,
    /// A percentage.
    Percent,
    /// A point in time.
    Time,
    /// Numbers of frames, or words.
    List,
    /// A severity.
    Severity,
    /// The identifier of a rule, with a link to what the page says of it.
    Rule,
    /// The identifier of the rule that the row is about, to which such links lead.
    Target,
    /// Findings by severity.
    Findings,
    /// Number of players; the maximum is in another key.
    Players,
    /// Bytes as hex, and which of them are marked.
    Bytes,
    /// The answers of a server over time, which only the script draws.
    Trace,
}

/// A column: key in the record, heading, and kind of its cells.
pub type Column = (&'static str, &'static str, Kind);

/// A table of the page.
#[derive(Debug)]
pub struct Table {
    /// The name of its rows in the data.
    pub name: &'static str,
    /// The noun for a row; an s after it makes it plural.
    pub noun: &'static str,
    /// The command that lists the rows for which the page has no room.
    pub command: &'static str,
    /// The columns.
    pub columns: &'static [Column],
}

/// Servers.
pub const SERVERS: Table = Table {
    name: "server",
    noun: "server",
    command: "qdissect summary -T csv",
    columns: &[
        ("server", "Server", Kind::Text),
        ("protocol", "Protocol", Kind::Text),
        ("server_name", "Name", Kind::Name),
        ("finding_counts", "Findings", Kind::Findings),
        ("requests", "Requests", Kind::Count),
        ("answered_percent", "Answered", Kind::Percent),
        ("response_time.median", "Median", Kind::Seconds),
        ("response_time.p99", "p99", Kind::Seconds),
        ("trace", "Over time", Kind::Trace),
        ("players", "Players", Kind::Players),
        ("map", "Map", Kind::Name),
        ("game", "Game", Kind::Name),
        ("version", "Version", Kind::Name),
    ],
};

/// Findings.
pub const FINDINGS: Table = Table {
    name: "finding",
    noun: "finding",
    command: "qdissect check -T csv",
    columns: &[
        ("severity", "Severity", Kind::Severity),
        ("rule", "Rule", Kind::Rule),
        ("message", "What", Kind::Words),
        ("server", "Server", Kind::Text),
        ("frame", "Frame", Kind::Count),
        ("field", "Field", Kind::Text),
        ("bytes", "Bytes", Kind::Bytes),
        ("fault", "At fault", Kind::Text),
        ("file", "Capture", Kind::Name),
    ],
};

/// Exchanges.
pub const EXCHANGES: Table = Table {
    name: "exchange",
    noun: "exchange",
    command: "qdissect exchanges",
    columns: &[
        ("id", "No.", Kind::Count),
        ("request_time", "Asked (UTC)", Kind::Time),
        ("client", "Client", Kind::Text),
        ("server", "Server", Kind::Text),
        ("protocol", "Protocol", Kind::Text),
        ("step", "Step", Kind::Text),
        ("outcome", "Outcome", Kind::Text),
        ("reason", "Reason", Kind::Text),
        ("response_time", "Time", Kind::Seconds),
        ("request_bytes", "Bytes out", Kind::Count),
        ("response_bytes", "Bytes in", Kind::Count),
        ("request_frame", "Request", Kind::Count),
        ("response_frames", "Answer", Kind::List),
        ("file", "Capture", Kind::Name),
    ],
};

/// Endpoints whose traffic no protocol claims.
pub const UNCLAIMED: Table = Table {
    name: "unclaimed",
    noun: "unclaimed endpoint",
    command: "qdissect dump --all",
    columns: &[
        ("endpoint", "Endpoint", Kind::Text),
        ("looks_like", "Looks like", Kind::Text),
        ("first_bytes", "First bytes", Kind::Text),
        ("datagrams", "Datagrams", Kind::Count),
        ("bytes", "Bytes", Kind::Count),
    ],
};

/// Who asks how much.
pub const CLIENTS: Table = Table {
    name: "client",
    noun: "client",
    command: "qdissect stats --only clients -T csv",
    columns: &[
        ("client", "Client", Kind::Text),
        ("requests", "Requests", Kind::Count),
        ("share", "Share", Kind::Percent),
        ("peak_rate", "Peak/s", Kind::Count),
        ("mean_rate", "Mean/s", Kind::Count),
        ("servers", "Servers", Kind::Count),
        ("ports", "Ports", Kind::Count),
        ("bytes_sent", "Bytes sent", Kind::Count),
        ("bytes_received", "Bytes got", Kind::Count),
        ("wire_factor", "Factor on the wire", Kind::Count),
        ("proven", "Proven", Kind::Text),
        ("first_time", "First (UTC)", Kind::Time),
        ("last_time", "Last (UTC)", Kind::Time),
    ],
};

/// What servers send for what they get.
pub const AMPLIFICATION: Table = Table {
    name: "amplification",
    noun: "step of a server",
    command: "qdissect stats --only amplification -T csv",
    columns: &[
        ("server", "Server", Kind::Text),
        ("protocol", "Protocol", Kind::Text),
        ("step", "Step", Kind::Text),
        ("request_bytes", "Bytes in", Kind::Count),
        ("response_bytes", "Bytes out", Kind::Count),
        ("ratio", "Ratio", Kind::Count),
        ("wire_ratio", "On the wire", Kind::Count),
        ("worst_ratio", "Worst", Kind::Count),
        ("without_challenge", "Without challenge", Kind::Count),
    ],
};

/// Response times by step.
pub const STEPS: Table = Table {
    name: "response_times",
    noun: "step",
    command: "qdissect stats",
    columns: &[
        ("protocol", "Protocol", Kind::Text),
        ("step", "Step", Kind::Text),
        ("count", "Answers", Kind::Count),
        ("min", "Min", Kind::Seconds),
        ("median", "Median", Kind::Seconds),
        ("p90", "p90", Kind::Seconds),
        ("p99", "p99", Kind::Seconds),
        ("max", "Max", Kind::Seconds),
        ("mean", "Mean", Kind::Seconds),
    ],
};

/// Intervals of time.
pub const INTERVALS: Table = Table {
    name: "interval",
    noun: "interval",
    command: "qdissect stats",
    columns: &[
        ("start", "From (UTC)", Kind::Time),
        ("queries", "Queries", Kind::Count),
        ("retransmissions", "Repeated", Kind::Count),
        ("answers", "Answers", Kind::Count),
        ("unanswered", "Unanswered", Kind::Count),
        ("refused", "Refused", Kind::Count),
        ("response_time_mean", "Mean time", Kind::Seconds),
        ("response_time_max", "Longest", Kind::Seconds),
        ("finding_counts", "Findings", Kind::Findings),
    ],
};

/// Rules that were broken.
pub const RULES: Table = Table {
    name: "rule",
    noun: "broken rule",
    command: "qdissect check -T csv",
    columns: &[
        ("severity", "Severity", Kind::Severity),
        ("id", "Rule", Kind::Target),
        ("title", "What", Kind::Words),
        ("why", "Why it matters", Kind::Words),
        ("count", "Times", Kind::Count),
    ],
};

/// Captures.
pub const CAPTURES: Table = Table {
    name: "capture",
    noun: "capture",
    command: "qdissect summary -T ndjson",
    columns: &[
        ("file", "Capture", Kind::Name),
        ("format", "Format", Kind::Text),
        ("compression", "Compressed", Kind::Text),
        ("links", "Links", Kind::List),
        ("application", "Captured by", Kind::Name),
        ("comment", "Comment", Kind::Name),
    ],
};

/// Every table of the page.
pub const ALL: [&Table; 10] = [
    &SERVERS,
    &FINDINGS,
    &EXCHANGES,
    &UNCLAIMED,
    &CLIENTS,
    &AMPLIFICATION,
    &STEPS,
    &INTERVALS,
    &RULES,
    &CAPTURES,
];

impl Kind {
    /// The name of the kind in the data, and its class in the HTML: that of the variant in lower case.
    fn name(self) -> String {
        format!("{self:?}").to_lowercase()
    }
}

/// The columns of every table for the script, of a page about one or `several` captures.
pub fn columns(several: bool) -> Value {
    let column = |(key, head, kind): &Column| json!([key, head, kind.name()]);
    ALL.iter()
        .map(|table| (table.name, table.columns_shown(several).map(column).collect::<Value>()))
        .collect()
}

/// Text escaped for HTML, between tags or in quotes.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in escape::escaped(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

impl Table {
    /// The columns; of a page about one capture, only the table of captures names it.
    fn columns_shown(&self, several: bool) -> impl Iterator<Item = &Column> {
        let named = several || self.name == CAPTURES.name;
        self.columns.iter().filter(move |(key, ..)| named || *key != "file")
    }

    /// Writes the table with its caption and its first rows.
    pub fn html(
        &self,
        out: &mut dyn Write,
        caption: &str,
        rows: impl Iterator<Item = Value>,
        several: bool,
    ) -> io::Result<()> {
        let (name, noun, caption) = (self.name, self.noun, escaped(caption));
        write!(
            out,
            "<table data-table=\"{name}\" data-what=\"{noun}\"><caption>{caption}</caption><thead><tr>"
        )?;
        for (key, head, kind) in self.columns_shown(several) {
            write!(out, "<th scope=\"col\" class=\"{}\" data-key=\"{key}\">{head}</th>", kind.name())?;
        }
        out.write_all(b"</tr></thead><tbody>")?;
        for row in rows.take(MAX_ROWS) {
            out.write_all(b"<tr>")?;
            for (key, head, kind) in self.columns_shown(several) {
                // Narrow screens show a row as a card, with the heading before each cell.
                let cell = cell(&row, key, *kind);
                let empty = if cell == NOTHING { " empty" } else { "" };
                write!(out, "<td class=\"{}{empty}\" data-head=\"{head}\">{cell}</td>", kind.name())?;
            }
            out.write_all(b"</tr>")?;
        }
        out.write_all(b"</tbody></table>")
    }
}

/// The value of a key; a point in the key leads into an object.
fn value<'a>(row: &'a Value, key: &str) -> &'a Value {
    key.split('.').fold(row, |value, key| &value[key])
}

/// A cell as HTML.
fn cell(row: &Value, key: &str, kind: Kind) -> String {
    let value = value(row, key);
    match (kind, value) {
        (Kind::Trace, _) => String::new(),
        (Kind::Findings, counts) => findings(counts),
        (_, Value::Null) => NOTHING.to_owned(),
        (Kind::Name, value) => format!("<bdi>{}</bdi>", escaped(&plain(value))),
        (Kind::Seconds, value) => duration((value.as_f64().unwrap_or(0.0) * 1e9).round() as i64),
        (Kind::Percent, value) => format!("{value} %"),
        (Kind::Time, value) => escaped(&time(value.as_str().unwrap_or_default())),
        (Kind::List, value) => escaped(&list(value)),
        (Kind::Severity, value) => severity(value.as_str().unwrap_or_default(), None),
        (Kind::Rule, value) => rule(value.as_str().unwrap_or_default()),
        (Kind::Target, value) => rule_target(value.as_str().unwrap_or_default()),
        (Kind::Players, value) => format!("{}/{}", value, row["max_players"]),
        (Kind::Bytes, bytes) => marked(row, bytes),
        (_, value) => escaped(&plain(value)),
    }
}

/// A value as text; a string without the quotes of JSON.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// A time stamp, as `2026-11-20 10:32:02.380`.
fn time(stamp: &str) -> String {
    format!("{} {}", stamp.get(..10).unwrap_or_default(), stamp.get(11..23).unwrap_or_default())
}

fn list(value: &Value) -> String {
    let all = value.as_array().map(Vec::as_slice).unwrap_or_default();
    let words: Vec<_> = all.iter().take(MAX_LISTED).map(plain).collect();
    match all.len().saturating_sub(MAX_LISTED) {
        0 if all.is_empty() => NOTHING.to_owned(),
        0 => words.join(" "),
        more => format!("{} and {more} more", words.join(" ")),
    }
}

/// A severity in its colour and with its mark; with `times`, how often it occurs.
fn severity(name: &str, times: Option<u64>) -> String {
    match times {
        None => format!("<span class=\"is {name}\">{}</span>", escaped(name)),
        Some(n) => {
            let s = if n == 1 { "" } else { "s" };
            format!(
                "<span class=\"is {name}\" title=\"{name}s\">{n}<span class=\"word\"> {name}{s}</span></span>"
            )
        }
    }
}

/// Findings by severity: `1 error 12 notes`.
pub fn findings(counts: &Value) -> String {
    let part = |name: &str| counts[name].as_u64().filter(|n| *n > 0).map(|n| severity(name, Some(n)));
    let all: Vec<_> = ["error", "warning", "note"].into_iter().filter_map(part).collect();
    if all.is_empty() { NOTHING.to_owned() } else { all.join(" ") }
}

fn rule(id: &str) -> String {
    format!("<a href=\"#rule-{0}\">{0}</a>", escaped(id))
}

fn rule_target(id: &str) -> String {
    format!("<span id=\"rule-{0}\">{0}</span>", escaped(id))
}

/// The first bytes of those that a finding marks, as far as they are kept.
fn marked(row: &Value, bytes: &Value) -> String {
    const SHOWN: usize = 8;
    let from = bytes["from"].as_u64().unwrap_or(0);
    let [start, end] =
        ["start", "end"].map(|key| row[key].as_u64().unwrap_or(0).saturating_sub(from) as usize);
    let hex = bytes["hex"].as_str().unwrap_or_default();
    let hex = hex.get(2 * start..hex.len().min(2 * end)).unwrap_or_default();
    if hex.is_empty() {
        return NOTHING.to_owned();
    }
    let pairs: Vec<_> = hex.as_bytes().chunks(2).take(SHOWN).map(String::from_utf8_lossy).collect();
    let more = if hex.len() > 2 * SHOWN { " …" } else { "" };
    format!("<code>{}{more}</code>", pairs.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn html(table: &Table, rows: Vec<Value>) -> String {
        let mut out = vec![];
        table.html(&mut out, "a", rows.into_iter(), false).expect("a vector takes everything");
        String::from_utf8(out).expect("HTML is text")
    }

    #[test]
    fn texts_are_escaped() {
        assert_eq!(escaped("<b a='\"'>&\u{202e}\n"), "&lt;b a=&#39;&quot;&#39;&gt;&amp;\\u{202e}\\n");
        let row = json!({ "server_name": "<script>alert(1)</script>", "players": 3, "max_players": 16 });
        let html = html(&SERVERS, vec![row]);
        assert!(
            html.contains("<bdi>&lt;script&gt;alert(1)&lt;/script&gt;</bdi>") && html.contains(">3/16<"),
            "{html}"
        );
    }

    #[test]
    fn the_html_has_rows_up_to_the_limit() {
        let rows: Vec<_> = (0..MAX_ROWS + 5).map(|n| json!({ "endpoint": n.to_string() })).collect();
        assert_eq!(html(&UNCLAIMED, rows).matches("<tr>").count(), 1 + MAX_ROWS);
    }

    #[test]
    fn at_most_four_frames_are_listed() {
        assert_eq!(list(&json!([1, 2, 3, 4])), "1 2 3 4");
        assert_eq!(list(&json!([1, 2, 3, 4, 5])), "1 2 3 4 and 1 more");
    }

    #[test]
    fn a_finding_shows_the_bytes_that_it_marks() {
        let row = |start, end| json!({ "start": start, "end": end });
        let bytes = json!({ "from": 16, "hex": "000102**0405" });
        assert_eq!(marked(&row(17, 20), &bytes), "<code>01 02 **</code>");
        assert_eq!(marked(&row(21, 40), &bytes), "<code>05</code>");
        assert_eq!(marked(&row(40, 41), &bytes), "–");
    }
}
