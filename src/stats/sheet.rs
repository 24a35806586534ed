//! A table of typed cells, its columns, and its two forms for programs: records and CSV.

use super::Bucket;
use crate::capture::Time;
use crate::report::server_text::ServerText;
use crate::text::escape::CsvText;
use crate::text::timestamps::{seconds, stamp};
use serde_json::{Map, Value, json};
use std::io::{self, Write};

/// The content of a cell.
#[derive(Clone, Debug)]
pub enum Cell {
    /// The value is unknown, or there is none.
    Nothing,
    /// The word for all rows together; null in records.
    All,
    /// A name that qdissect gives, or an address.
    Text(String),
    /// Text from the network.
    Name(ServerText),
    /// A name, and the number of names in which it is nested.
    Nested(usize, String),
    /// A number of things, or of bytes.
    Count(u64),
    /// So many distinct things, and whether there are more.
    AtLeast(u64, bool),
    /// Whether something holds.
    Flag(bool),
    /// A duration in nanoseconds.
    Duration(i64),
    /// A point in time.
    Time(Time),
    /// A ratio, or a percentage.
    Number(f64),
    /// A histogram. CSV leaves it out.
    Histogram(Vec<Bucket>),
    /// A bar, as a share of the longest from 0 to 1. Only screens have it.
    Bar(f64),
}

impl Cell {
    /// The ratio of a number to `base`; nothing if the base is 0.
    pub fn ratio(part: u64, base: u64) -> Cell {
        if base == 0 { Cell::Nothing } else { Cell::Number(part as f64 / base as f64) }
    }

    /// A number as a percentage of `base`; nothing if the base is 0.
    pub fn percent(part: u64, base: u64) -> Cell {
        if base == 0 { Cell::Nothing } else { Cell::Number(part as f64 * 100.0 / base as f64) }
    }

    /// A duration in nanoseconds that may not be known.
    pub fn duration(nanos: Option<i64>) -> Cell {
        nanos.map_or(Cell::Nothing, Cell::Duration)
    }

    fn json(&self) -> Value {
        match self {
            Cell::Nothing | Cell::All | Cell::Bar(_) => Value::Null,
            Cell::Text(text) | Cell::Nested(_, text) => text.as_str().into(),
            Cell::Name(name) => name.text().into(),
            Cell::Count(n) | Cell::AtLeast(n, false) => (*n).into(),
            Cell::AtLeast(n, true) => format!("{n}+").into(),
            Cell::Flag(holds) => (*holds).into(),
            Cell::Duration(nanos) => seconds(*nanos).into(),
            Cell::Time(time) => Some(stamp(*time)).filter(|text| !text.is_empty()).into(),
            Cell::Number(x) => thousandths(*x).into(),
            Cell::Histogram(buckets) => buckets.iter().map(bucket).collect(),
        }
    }
}

/// Rounds to three decimals: ratios of datagram sizes are not more precise.
fn thousandths(x: f64) -> f64 {
    (x * 1_000.0).round() / 1_000.0
}

fn bucket(b: &Bucket) -> Value {
    json!({ "from": b.from.map(seconds), "to": b.to.map(seconds), "count": b.count })
}

/// The type of the cells of a column, where they are not empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CellType {
    /// Name of a protocol.
    Protocol,
    /// Name of a step.
    Step,
    /// Address and port of a server.
    Server,
    /// `server` or `client`.
    Role,
    /// Address and port, or an address alone.
    Endpoint,
    /// A name that qdissect gives, or the name of a file.
    Text,
    /// Text from the network.
    Name,
    /// A number of things, or of bytes.
    Count,
    /// A number of distinct things; text that ends in a plus sign where there are more.
    AtLeast,
    /// Whether something holds.
    Flag,
    /// A duration.
    Seconds,
    /// A point in time.
    Time,
    /// A ratio, or a percentage.
    Number,
    /// A histogram.
    Histogram,
    /// Content for screens alone.
    Shown,
}

/// A column.
#[derive(Debug)]
pub struct Column {
    /// Its key in records and CSV; empty where it is for screens alone.
    pub key: &'static str,
    /// Its heading on screens; empty where it is not shown there.
    pub head: &'static str,
    /// Whether narrow screens leave it out.
    pub spare: bool,
    /// The type of its cells.
    pub cell_type: CellType,
    /// Whether its cells may be empty.
    pub nullable: bool,
}

/// The type of records, and the columns of their table.
#[derive(Debug)]
pub struct Table {
    /// The `type` of the records.
    pub kind: &'static str,
    /// The columns.
    pub columns: &'static [Column],
}

impl Table {
    /// The cells of a row whose columns have a key, with their keys.
    fn keyed<'a>(&self, row: &'a [Cell]) -> impl Iterator<Item = (&'static str, &'a Cell)> {
        self.columns.iter().map(|c| c.key).zip(row).filter(|(key, _)| !key.is_empty())
    }

    /// The record of a row.
    pub fn record(&self, row: &[Cell]) -> Value {
        let mut record = Map::new();
        record.insert("type".to_owned(), self.kind.into());
        for (key, cell) in self.keyed(row) {
            record.insert(key.to_owned(), cell.json());
            if let Cell::Name(name) = cell
                && let Some(hex) = name.damaged_hex()
            {
                record.insert(format!("{key}_hex"), hex.into());
            }
        }
        record.into()
    }
}

/// Every table, in the order of the sections.
pub static TABLES: [&Table; 8] =
    [&TIMES, &ENDPOINTS, &HIERARCHY, &SERIES, &AMPLIFICATION, &LOSSES, &LISTINGS, &CLIENTS];

/// A column of cells that are never empty.
const fn column(key: &'static str, head: &'static str, cell_type: CellType) -> Column {
    Column { key, head, spare: false, cell_type, nullable: false }
}

/// A column that narrow screens leave out.
const fn spare(key: &'static str, head: &'static str, cell_type: CellType) -> Column {
    Column { key, head, spare: true, cell_type, nullable: false }
}

impl Column {
    /// The same column, but cells may be empty.
    const fn or_none(self) -> Column {
        Column { nullable: true, ..self }
    }
}

/// Columns of response times.
pub static TIMES: Table = Table {
    kind: "response_times",
    columns: &[
        column("protocol", "protocol", CellType::Protocol),
        column("step", "step", CellType::Step).or_none(),
        column("server", "server", CellType::Server).or_none(),
        column("count", "answers", CellType::Count),
        column("min", "min", CellType::Seconds).or_none(),
        column("median", "median", CellType::Seconds).or_none(),
        spare("p90", "p90", CellType::Seconds).or_none(),
        column("p99", "p99", CellType::Seconds).or_none(),
        column("max", "max", CellType::Seconds).or_none(),
        spare("mean", "mean", CellType::Seconds).or_none(),
        column(HISTOGRAM, "", CellType::Histogram).or_none(),
    ],
};

/// Columns of servers and clients.
pub static ENDPOINTS: Table = Table {
    kind: "endpoint",
    columns: &[
        column("role", "", CellType::Role),
        column("endpoint", "endpoint", CellType::Endpoint).or_none(),
        column("protocol", "protocol", CellType::Protocol).or_none(),
        column("server_name", "name", CellType::Name).or_none(),
        column("datagrams_sent", "sent", CellType::Count),
        column("bytes_sent", "bytes", CellType::Count),
        spare("wire_bytes_sent", "on the\nwire", CellType::Count),
        column("datagrams_received", "got", CellType::Count),
        column("bytes_received", "bytes", CellType::Count),
        spare("wire_bytes_received", "on the\nwire", CellType::Count),
        column("left_out", "", CellType::Count).or_none(),
    ],
};

/// Columns of layers.
pub static HIERARCHY: Table = Table {
    kind: "hierarchy",
    columns: &[
        column("name", "protocol", CellType::Text),
        column("path", "", CellType::Text),
        column("frames", "frames", CellType::Count),
        column("bytes", "bytes", CellType::Count),
        column("percent", "% of bytes", CellType::Number).or_none(),
    ],
};

/// Columns of intervals.
pub static SERIES: Table = Table {
    kind: "interval",
    columns: &[
        column("start", "from", CellType::Time),
        column("interval", "", CellType::Seconds),
        column("queries", "queries", CellType::Count),
        column("retransmissions", "repeated", CellType::Count),
        column("answers", "answers", CellType::Count),
        column("unanswered", "unanswered", CellType::Count),
        column("refused", "refused", CellType::Count),
        column("response_time_mean", "", CellType::Seconds).or_none(),
        column("response_time_max", "", CellType::Seconds).or_none(),
        column("", "queries", CellType::Shown),
    ],
};

/// Columns of amplification, by server and step.
pub static AMPLIFICATION: Table = Table {
    kind: "amplification",
    columns: &[
        column("server", "server", CellType::Server),
        column("protocol", "", CellType::Protocol),
        column("step", "", CellType::Step),
        column("", "step", CellType::Shown),
        column("requests", "", CellType::Count),
        spare("request_bytes", "bytes\nin", CellType::Count),
        column("request_wire_bytes", "", CellType::Count),
        column("responses", "", CellType::Count),
        spare("response_bytes", "bytes\nout", CellType::Count),
        column("response_wire_bytes", "", CellType::Count),
        column("ratio", "ratio", CellType::Number).or_none(),
        column("wire_ratio", "on the\nwire", CellType::Number).or_none(),
        column("worst_ratio", "worst", CellType::Number).or_none(),
        column("worst_request_bytes", "", CellType::Count).or_none(),
        column("worst_response_bytes", "", CellType::Count).or_none(),
        column("worst_file", "", CellType::Text).or_none(),
        column("worst_frame", "", CellType::Count).or_none(),
        column("", "in\nframe", CellType::Shown),
        column("without_challenge", "without\nchal-\nlenge", CellType::Count),
        column("copies", "", CellType::Count),
        column("copy_bytes", "", CellType::Count),
        column("unasked", "", CellType::Count),
        column("unasked_bytes", "", CellType::Count),
        spare("", "not\nasked", CellType::Shown),
    ],
};

/// Columns of losses, by server.
pub static LOSSES: Table = Table {
    kind: "loss",
    columns: &[
        column("server", "server", CellType::Server).or_none(),
        column("protocol", "protocol", CellType::Protocol).or_none(),
        column("requests", "asked", CellType::Count),
        column("answered", "answered", CellType::Count),
        spare("late", "late", CellType::Count),
        column("unanswered", "lost", CellType::Count),
        spare("refused", "re-\nfused", CellType::Count),
        spare("undecided", "open", CellType::Count),
        column("decided", "", CellType::Count),
        column("unanswered_percent", "lost %", CellType::Number).or_none(),
        column("late_percent", "", CellType::Number).or_none(),
        column("refused_percent", "", CellType::Number).or_none(),
        column("retransmissions", "re-\npeated", CellType::Count),
        column("retransmission_percent", "", CellType::Number).or_none(),
        spare("copies", "copies", CellType::Count),
        column("copy_percent", "", CellType::Number).or_none(),
    ],
};

/// Columns of servers and the masters that list them.
pub static LISTINGS: Table = Table {
    kind: "listing",
    columns: &[
        column("server", "server", CellType::Server),
        column("master", "master", CellType::Server),
        column("protocol", "protocol", CellType::Protocol),
        column("lists", "listed", CellType::Count),
        column("heartbeats", "told", CellType::Count),
        spare("first_time", "first", CellType::Time).or_none(),
        column("last_time", "last", CellType::Time).or_none(),
    ],
};

/// Columns of clients, or of their networks.
pub static CLIENTS: Table = Table {
    kind: "client",
    columns: &[
        column("client", "client", CellType::Text).or_none(),
        column("servers", "servers", CellType::AtLeast).or_none(),
        column("requests", "requests", CellType::Count),
        column("share", "%", CellType::Number).or_none(),
        spare("first_time", "first", CellType::Time).or_none(),
        spare("last_time", "last", CellType::Time).or_none(),
        spare("mean_rate", "mean\n/s", CellType::Number).or_none(),
        column("peak_rate", "peak\n/s", CellType::Count).or_none(),
        column("ports", "ports", CellType::AtLeast).or_none(),
        spare("bytes_sent", "bytes\nsent", CellType::Count),
        spare("bytes_received", "bytes\ngot", CellType::Count),
        column("wire_factor", "on the\nwire", CellType::Number).or_none(),
        column("proven", "proven", CellType::Flag).or_none(),
        column("left_out", "", CellType::Count).or_none(),
    ],
};

/// The rows of a table. A row is made when it is asked for, because few of them are shown.
pub struct Rows<'a> {
    number: usize,
    make: Box<dyn Fn(usize) -> Vec<Cell> + 'a>,
}

impl<'a> Rows<'a> {
    /// A row for each item.
    pub fn of<T: 'a>(items: Vec<T>, make: impl Fn(&T) -> Vec<Cell> + 'a) -> Rows<'a> {
        let number = items.len();
        Rows { number, make: Box::new(move |at| items.get(at).map(&make).unwrap_or_default()) }
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.number
    }

    /// The cells of a row below [`len`](Self::len).
    pub fn row(&self, at: usize) -> Vec<Cell> {
        (self.make)(at)
    }

    /// The rows in order.
    pub fn iter(&self) -> impl Iterator<Item = Vec<Cell>> {
        (0..self.number).map(|at| self.row(at))
    }
}

/// A table.
pub struct Sheet<'a> {
    /// The type of its records, and its columns.
    pub table: &'static Table,
    /// Its title on screens.
    pub title: String,
    /// Keys of columns that screens do not show in this table.
    pub hidden: &'static [&'static str],
    /// A cell for each column.
    pub rows: Rows<'a>,
    /// Remarks below it on screens.
    pub notes: Vec<String>,
}

impl<'a> Sheet<'a> {
    /// A table with all its columns and without remarks.
    pub fn new(table: &'static Table, title: &str, rows: Rows<'a>) -> Sheet<'a> {
        Sheet { table, title: title.to_owned(), hidden: &[], rows, notes: vec![] }
    }

    /// A record for each row.
    pub fn records(&self) -> impl Iterator<Item = Value> {
        self.rows.iter().map(|row| self.table.record(&row))
    }

    /// Writes the names of the columns.
    pub fn csv_head(&self, out: &mut dyn Write) -> io::Result<()> {
        let keys =
            self.table.columns.iter().map(|c| c.key).filter(|key| !key.is_empty() && *key != HISTOGRAM);
        write!(out, "file,{}\r\n", keys.collect::<Vec<_>>().join(","))
    }

    /// Writes a line for each row, the name of the capture first.
    pub fn csv(&self, file: &str, out: &mut dyn Write) -> io::Result<()> {
        let file = CsvText(file).to_string();
        self.rows.iter().try_for_each(|row| {
            let cells =
                self.table.keyed(&row).filter(|(key, _)| *key != HISTOGRAM).map(|(_, cell)| field(cell));
            write!(out, "{file},{}\r\n", cells.collect::<Vec<_>>().join(","))
        })
    }
}

/// The key of histograms, which CSV leaves out.
pub const HISTOGRAM: &str = "histogram";

/// A cell in CSV.
fn field(cell: &Cell) -> String {
    match cell {
        Cell::Text(text) | Cell::Nested(_, text) => CsvText(text).to_string(),
        Cell::Name(name) => CsvText(&name.text()).to_string(),
        cell => match cell.json() {
            Value::Null => String::new(),
            Value::String(text) => CsvText(&text).to_string(),
            value => value.to_string(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static TABLE: Table = Table {
        kind: "endpoint",
        columns: &[
            column("name", "", CellType::Name),
            column("time", "", CellType::Time),
            column(HISTOGRAM, "", CellType::Histogram),
            column("", "", CellType::Shown),
        ],
    };

    #[test]
    fn csv_has_plain_numbers_and_empty_cells_for_nothing() {
        let mut out = vec![];
        let row = vec![
            Cell::Name(b"a\xff"[..].into()),
            Cell::Duration(-1_500_000),
            Cell::Histogram(vec![]),
            Cell::Bar(1.0),
        ];
        let sheet = Sheet::new(&TABLE, "", Rows::of(vec![row], Vec::clone));
        sheet.csv_head(&mut out).unwrap();
        sheet.csv("a, b", &mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "file,name,time\r\n\"a, b\",a\u{fffd},-0.0015\r\n");
        assert_eq!(field(&Cell::Nothing), "");
    }

    #[test]
    fn a_record_has_the_bytes_of_damaged_text_beside_it() {
        let histogram = Cell::Histogram(vec![Bucket { from: Some(1_000), to: None, count: 2 }]);
        let name = Cell::Name(b"a\xff"[..].into());
        let row = vec![name, Cell::Time(Time::UNKNOWN), histogram, Cell::Bar(0.5)];
        let sheet = Sheet::new(&TABLE, "", Rows::of(vec![row], Vec::clone));
        let records: Vec<_> = sheet.records().map(|record| record.to_string()).collect();
        assert_eq!(
            records,
            ["{\"type\":\"endpoint\",\"name\":\"a\u{fffd}\",\"name_hex\":\"61ff\",\"time\":null,\
              \"histogram\":[{\"from\":1e-6,\"to\":null,\"count\":2}]}"]
        );
    }
}
