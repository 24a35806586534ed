//! The records of servers and of broken rules, and servers as rows of CSV and TSV.

use super::server::{Broken, Server};
use super::server_text::ServerText;
use super::{Captures, Layout};
use crate::check::Counts;
use crate::report::terms;
use crate::text::timestamps::seconds;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;
use std::io::{self, Write};

/// The columns of servers. [`server_rows`] derives the values of those that are no keys of the records.
const COLUMNS: &str = "file,server,translated_to,protocol,server_name,game,map,version,players,max_players,state,requests,answered,late,\
                       unanswered,undecided,refused,response_time_min,response_time_median,response_time_p99,\
                       response_time_max,errors,warnings,notes";

/// Writes a header row and a row for each server. `file` is the name of the only capture.
///
/// # Errors
/// When they cannot be written.
pub fn server_rows<'a>(
    out: &mut dyn Write,
    layout: Layout,
    file: Option<&str>,
    servers: impl Iterator<Item = &'a Server>,
) -> io::Result<()> {
    let mut text = String::new();
    layout.push_header(&mut text, COLUMNS.split(','));
    for server in servers {
        let mut record = json!(ServerRecord::new(server));
        record["file"] = file.into();
        for key in ["min", "median", "p99", "max"] {
            record[format!("response_time_{key}")] = record["response_time"][key].clone();
        }
        for key in ["error", "warning", "note"] {
            record[format!("{key}s")] = record["finding_counts"][key].clone();
        }
        layout.record(&mut text, COLUMNS, &record);
    }
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// A server, with what it said of itself last: what summary writes.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "type", rename = "server", deny_unknown_fields)]
pub struct ServerRecord {
    server: terms::Endpoint<String>,
    protocol: terms::Protocol<&'static str>,
    server_name: Option<String>,
    game: Option<String>,
    map: Option<String>,
    version: Option<Version>,
    players: Option<u32>,
    max_players: Option<u32>,
    state: Option<&'static str>,
    requests: u64,
    answered: u64,
    late: u64,
    unanswered: u64,
    undecided: u64,
    refused: u64,
    response_time: Option<ResponseTimes>,
    finding_counts: Counts,
    #[serde(skip_serializing_if = "Option::is_none")]
    translated_to: Option<terms::Endpoint<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "terms::Hex<()>")]
    server_name_hex: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "terms::Hex<()>")]
    game_hex: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "terms::Hex<()>")]
    map_hex: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "terms::Hex<()>")]
    version_hex: Option<String>,
}

/// Text, or a number.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
enum Version {
    Text(String),
    Number(u64),
}

/// Response times in seconds; no quantiles are known beyond the first 1,024 servers.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "server.response_time", deny_unknown_fields)]
struct ResponseTimes {
    min: f64,
    median: Option<f64>,
    p99: Option<f64>,
    max: f64,
}

impl ServerRecord {
    /// The record of a server.
    pub fn new(s: &Server) -> ServerRecord {
        let facts = &s.facts;
        let quantile = |q: f64| s.times.quantile(q).map(seconds);
        let times = |(low, high)| ResponseTimes {
            min: seconds(low),
            median: quantile(0.5),
            p99: quantile(0.99),
            max: seconds(high),
        };
        ServerRecord {
            server: terms::Endpoint(s.endpoint.to_string()),
            protocol: terms::Protocol(s.id.info().name),
            server_name: text(&facts.server_name),
            game: text(&facts.game),
            map: text(&facts.map),
            version: text(&facts.version).map(Version::Text).or(facts.build.map(Version::Number)),
            players: facts.players.map(|(current, _)| current),
            max_players: facts.players.map(|(_, max)| max),
            state: facts.state,
            requests: s.requests,
            answered: s.answered,
            late: s.late,
            unanswered: s.unanswered,
            undecided: s.undecided,
            refused: s.refused,
            response_time: s.times.extremes().map(times),
            finding_counts: s.findings,
            translated_to: s.inner.map(|inner| terms::Endpoint(inner.to_string())),
            server_name_hex: damaged(&facts.server_name),
            game_hex: damaged(&facts.game),
            map_hex: damaged(&facts.map),
            version_hex: damaged(&facts.version),
        }
    }
}

fn text(text: &Option<ServerText>) -> Option<String> {
    text.as_ref().map(|text| text.text().into_owned())
}

fn damaged(text: &Option<ServerText>) -> Option<String> {
    text.as_ref().and_then(ServerText::damaged_hex)
}

/// A rule that was broken: what summary writes.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "type", rename = "rule", deny_unknown_fields)]
pub struct BrokenRecord<'a> {
    id: terms::RuleId<&'static str>,
    title: &'static str,
    #[schemars(range(min = 1))]
    count: u64,
    finding_counts: Counts,
    file: Option<terms::File<&'a str>>,
    first_frame: terms::Number<u64>,
}

impl Broken {
    /// Its record.
    pub(super) fn record<'a>(&self, files: &'a Captures) -> BrokenRecord<'a> {
        BrokenRecord {
            id: terms::RuleId(self.rule.id),
            title: self.rule.title,
            count: self.counts.total(),
            finding_counts: self.counts,
            file: files.name(self.first.file).map(terms::File),
            first_frame: terms::Number(self.first.frame),
        }
    }
}
