//! Every form of a record says the same: each key of the schema is a column of rows and of tables, a row of the
//! documentation and, of exchanges, a field of filters; and they have no others. What differs stands here, with the reason.

use crate::kit::run::qdissect;
use qdissect::filter;
use qdissect::schema::schema;
use std::collections::BTreeSet;
use std::fs;

/// A record in all its forms.
struct Record {
    /// Its name, as in `type`, and the heading of its section in `docs/output.md`.
    name: &'static str,
    /// Its name in the schema.
    definition: &'static str,
    /// The command that writes it as rows.
    command: &'static str,
}

const RECORDS: [Record; 3] = [
    Record { name: "exchange", definition: "exchange.any", command: "exchanges" },
    Record { name: "server", definition: "server", command: "summary" },
    Record { name: "finding", definition: "finding", command: "check" },
];

/// What a form lacks: the record, the form, its keys, and why.
const LACKING: &[(&str, &str, &str, &str)] = &[
    ("exchange", "tables", "file client server", "they follow from other columns"),
    ("exchange", "tables", "findings", "they are a table of their own"),
    ("exchange", "filters", "client_ip client_port server_ip server_port", "ip.addr and udp.port have them"),
    (
        "exchange",
        "filters",
        "request_frame request_file response_frames response_files",
        "frame.number and file have them, of packets",
    ),
    ("server", "rows", "server_name_hex game_hex map_hex version_hex", "rows are for people"),
    ("server", "tables", "server_name_hex game_hex map_hex version_hex", "the text has U+FFFD"),
    ("finding", "tables", "file_offset count baseline suppressed", "check alone knows them"),
];

/// What a form has under another name, or in several columns: the record, the form, the key, and these columns.
const RENAMED: &[(&str, &str, &str, &str)] = &[
    ("exchange", "rows", "findings", "rule"),
    ("exchange", "rows", "response_files", "response_file"),
    ("exchange", "tables", "request_file", "request_file_id"),
    ("exchange", "tables", "response_files", "response_file_id"),
    ("exchange", "tables", "response_time", "response_time_ns"),
    ("exchange", "filters", "id", "exchange"),
    ("exchange", "filters", "findings", "finding rule severity"),
    (
        "server",
        "rows",
        "response_time",
        "response_time_min response_time_median response_time_p99 response_time_max",
    ),
    ("server", "rows", "finding_counts", "errors warnings notes"),
    ("server", "tables", "server", "server_ip server_port"),
    (
        "server",
        "tables",
        "response_time",
        "response_time_min_ns response_time_median_ns response_time_p99_ns response_time_max_ns",
    ),
    ("server", "tables", "finding_counts", "errors warnings notes"),
    ("finding", "rows", "baseline", "excused"),
    ("finding", "rows", "suppressed", "excused"),
    ("finding", "tables", "file", "file_id"),
    ("finding", "tables", "server", "server_ip server_port"),
    ("finding", "tables", "client", "client_ip client_port"),
    ("finding", "tables", "exchange", "exchange_file_id exchange_frame"),
    ("finding", "tables", "caused_by", "caused_by_rule caused_by_file_id caused_by_frame"),
];

/// Columns that a form has beyond the keys: the record, the form, the column, and why.
const FURTHER: &[(&str, &str, &str, &str)] =
    &[("server", "rows", "file", "rows of several runs would be hard to tell apart")];

/// The keys of a record, without its type.
fn keys(record: &Record) -> Vec<String> {
    let schema = schema();
    let properties = schema["$defs"][record.definition]["properties"].as_object().expect("an object");
    properties.keys().filter(|key| *key != "type").cloned().collect()
}

/// The columns of its rows.
fn rows(record: &Record) -> Vec<String> {
    let arguments = [record.command, "-T", "csv", "captures/demo.pcapng"];
    let output = qdissect().args(arguments).output().expect("it runs");
    let text = String::from_utf8(output.stdout).expect("it is text");
    text.lines().next().unwrap_or_default().split(',').map(str::to_owned).collect()
}

/// The columns of its table.
#[cfg(feature = "parquet")]
fn tables(record: &Record) -> Vec<String> {
    use qdissect::tables::Table;
    let table = match record.name {
        "exchange" => Table::Exchanges,
        "server" => Table::Servers,
        _ => Table::Findings,
    };
    table.columns().iter().map(|column| column.name.to_owned()).collect()
}

/// The keys that the documentation explains: the first cells of the table in the record's section.
fn documented(record: &Record) -> Vec<String> {
    let page = fs::read_to_string("docs/output.md").expect("the page is there");
    let heading = format!("\n### {}\n", record.name);
    let section = page.split_once(&heading).unwrap_or_else(|| panic!("no section {}", record.name)).1;
    let section = section.split("\n### ").next().unwrap_or_default();
    let cells = section.lines().filter_map(|line| line.strip_prefix("| `")?.split(" | ").next());
    cells
        .flat_map(|cell| cell.split(['`', ',', ' ']))
        .filter(|key| !key.is_empty())
        .map(str::to_owned)
        .collect()
}

fn listed(table: &[(&str, &str, &str, &str)], (record, form): (&str, &str), key: &str) -> bool {
    table.iter().any(|(r, f, keys, _)| (*r, *f) == (record, form) && keys.split(' ').any(|k| k == key))
}

/// The other names that a form has for a key, each time separated by blanks.
fn others(of: (&'static str, &str), key: &str) -> impl Iterator<Item = &'static str> {
    RENAMED.iter().filter(move |(r, f, k, _)| (*r, *f) == of && *k == key).map(|(.., names)| *names)
}

/// How a form differs from the keys of its record: what it lacks, what it has beyond them, and exceptions that are none.
fn differences(record: &Record, form: &str, keys: &[String], columns: &[String]) -> Vec<String> {
    let (of, mut found) = ((record.name, form), vec![]);
    let has = |name: &str| columns.iter().any(|column| column == name);
    for key in keys {
        let under_others = others(of, key).any(|names| names.split(' ').all(has));
        match (has(key) || under_others, listed(LACKING, of, key)) {
            (false, false) => found.push(format!("{}: {form} lack {key}", record.name)),
            (true, true) => found.push(format!("{}: {form} have {key}, an exception says no", record.name)),
            _ => {}
        }
    }
    let names: BTreeSet<_> =
        keys.iter().flat_map(|key| others(of, key)).flat_map(|names| names.split(' ')).collect();
    for column in columns {
        let is_key = keys.contains(column) || names.contains(column.as_str());
        if !is_key && !listed(FURTHER, of, column) {
            found.push(format!("{}: {form} have {column}, which is no key of the record", record.name));
        }
    }
    found
}

#[test]
fn every_form_of_a_record_has_all_of_its_columns() {
    let mut found = vec![];
    for record in &RECORDS {
        let keys = keys(record);
        assert!(keys.len() > 12, "{}: {keys:?}", record.name);
        found.extend(differences(record, "rows", &keys, &rows(record)));
        #[cfg(feature = "parquet")]
        {
            // Times have a further column of nanoseconds.
            let columns: Vec<_> = tables(record);
            found.extend(differences(record, "tables", &keys, &columns));
        }
        let documented = documented(record);
        let missing = keys.iter().filter(|key| !documented.contains(key));
        found.extend(missing.map(|key| format!("{}: docs/output.md does not explain {key}", record.name)));
    }
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn filters_know_every_column_of_an_exchange() {
    let exchange = &RECORDS[0];
    let names: BTreeSet<_> = filter::names().into_iter().collect();
    let known =
        |key: &String| names.contains(key.as_str()) || names.contains(format!("exchange.{key}").as_str());
    let keys = keys(exchange);
    let columns: Vec<_> = keys
        .iter()
        .filter(|key| known(key))
        .cloned()
        .chain(["exchange", "finding", "rule", "severity"].map(str::to_owned))
        .collect();
    let found = differences(exchange, "filters", &keys, &columns);
    assert!(found.is_empty(), "{found:#?}");
}
