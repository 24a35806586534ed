//! A table of typed cells, and its two forms for programs: records and CSV.

use super::histogram::Bucket;
use crate::capture::Time;
use crate::escape::Safe;
use crate::report::said::Said;
use crate::timestamps::{seconds, stamp};
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
    Name(Said),
    /// A name, nested in so many other names.
    Nested(usize, String),
    /// A number of things, or of bytes.
    Count(u64),
    /// A duration in nanoseconds.
    Duration(i64),
    /// A point in time.
    Time(Time),
    /// A ratio.
    Ratio(f64),
    /// A percentage.
    Percent(f64),
    /// A histogram. CSV leaves it out.
    Spread(Vec<Bucket>),
    /// A bar, as a share of the longest from 0 to 1. Only screens have it.
    Bar(f64),
}

impl Cell {
    /// The ratio of a number to `base`; nothing where the base is 0.
    pub fn ratio(part: u64, base: u64) -> Cell {
        if base == 0 { Cell::Nothing } else { Cell::Ratio(part as f64 / base as f64) }
    }

    /// A number as a percentage of `base`; nothing where the base is 0.
    pub fn percent(part: u64, base: u64) -> Cell {
        if base == 0 { Cell::Nothing } else { Cell::Percent(part as f64 * 100.0 / base as f64) }
    }

    /// A duration in nanoseconds that may not be known.
    pub fn duration(nanos: Option<i64>) -> Cell {
        nanos.map_or(Cell::Nothing, Cell::Duration)
    }

    fn json(&self) -> Value {
        match self {
            Cell::Nothing | Cell::All | Cell::Bar(_) => Value::Null,
            Cell::Text(text) | Cell::Nested(_, text) => text.as_str().into(),
            Cell::Name(said) => said.text().into(),
            Cell::Count(n) => (*n).into(),
            Cell::Duration(nanos) => seconds(*nanos).into(),
            Cell::Time(time) => Some(stamp(*time)).filter(|text| !text.is_empty()).into(),
            Cell::Ratio(x) | Cell::Percent(x) => thousandths(*x).into(),
            Cell::Spread(buckets) => buckets.iter().map(bucket).collect(),
        }
    }
}

/// Rounds to three decimals: ratios of sizes of datagrams are no more exact.
fn thousandths(x: f64) -> f64 {
    (x * 1_000.0).round() / 1_000.0
}

fn bucket(b: &Bucket) -> Value {
    json!({ "from": b.from.map(seconds), "to": b.to.map(seconds), "count": b.count })
}

/// The type of the cells of a column, where they are not empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
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
    /// A duration.
    Seconds,
    /// A point in time.
    Time,
    /// A ratio, or a percentage.
    Number,
    /// A histogram.
    Spread,
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
    /// What its cells hold.
    pub holds: Holds,
    /// Whether its cells may be empty.
    pub null: bool,
}

/// A table.
#[derive(Debug)]
pub struct Sheet {
    /// The `type` of its records.
    pub kind: &'static str,
    /// Its title on screens.
    pub title: String,
    /// Its columns.
    pub columns: &'static [Column],
    /// Keys of columns that screens do not show in this table.
    pub hidden: &'static [&'static str],
    /// A cell for each column.
    pub rows: Vec<Vec<Cell>>,
    /// Remarks below it on screens.
    pub notes: Vec<String>,
}

impl Sheet {
    /// The cells of a row whose columns have a key, with their keys.
    fn keyed<'a>(&self, row: &'a [Cell]) -> impl Iterator<Item = (&'static str, &'a Cell)> {
        self.columns.iter().map(|c| c.key).zip(row).filter(|(key, _)| !key.is_empty())
    }

    /// A record for each row.
    pub fn records(&self) -> impl Iterator<Item = Value> {
        self.rows.iter().map(|row| {
            let mut record = Map::new();
            record.insert("type".to_owned(), self.kind.into());
            for (key, cell) in self.keyed(row) {
                record.insert(key.to_owned(), cell.json());
                if let Cell::Name(said) = cell
                    && let Some(hex) = said.damaged_hex()
                {
                    record.insert(format!("{key}_hex"), hex.into());
                }
            }
            record.into()
        })
    }

    /// Writes the names of the columns.
    pub fn csv_head(&self, out: &mut dyn Write) -> io::Result<()> {
        let keys = self.columns.iter().map(|c| c.key).filter(|key| !key.is_empty() && *key != HISTOGRAM);
        write!(out, "file,{}\r\n", keys.collect::<Vec<_>>().join(","))
    }

    /// Writes a line for each row, the name of the capture first.
    pub fn csv(&self, file: &str, out: &mut dyn Write) -> io::Result<()> {
        let file = Safe(file).to_string();
        self.rows.iter().try_for_each(|row| {
            let cells = self.keyed(row).filter(|(key, _)| *key != HISTOGRAM).map(|(_, cell)| field(cell));
            write!(out, "{file},{}\r\n", cells.collect::<Vec<_>>().join(","))
        })
    }
}

/// The key of histograms, which no cell of CSV can hold.
pub const HISTOGRAM: &str = "histogram";

/// A cell in CSV.
fn field(cell: &Cell) -> String {
    match cell {
        Cell::Text(text) | Cell::Nested(_, text) => Safe(text).to_string(),
        Cell::Name(said) => Safe(&said.text()).to_string(),
        cell => match cell.json() {
            Value::Null => String::new(),
            Value::String(text) => Safe(&text).to_string(),
            value => value.to_string(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn column(key: &'static str, holds: Holds) -> Column {
        Column { key, head: "", spare: false, holds, null: true }
    }

    const COLUMNS: &[Column] = &[
        column("name", Holds::Name),
        column("time", Holds::Time),
        column(HISTOGRAM, Holds::Spread),
        column("", Holds::Shown),
    ];

    fn sheet(cells: Vec<Cell>) -> Sheet {
        let (kind, title, hidden, notes) = ("endpoint", String::new(), &[][..], vec![]);
        Sheet { kind, title, columns: COLUMNS, hidden, rows: vec![cells], notes }
    }

    #[test]
    fn numbers_stay_numbers_in_csv_and_nothing_is_empty() {
        let mut out = vec![];
        let row = vec![
            Cell::Name(b"a\xff"[..].into()),
            Cell::Duration(-1_500_000),
            Cell::Spread(vec![]),
            Cell::Bar(1.0),
        ];
        let sheet = sheet(row);
        sheet.csv_head(&mut out).unwrap();
        sheet.csv("a, b", &mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "file,name,time\r\n\"a, b\",a\u{fffd},-0.0015\r\n");
        assert_eq!(field(&Cell::Nothing), "");
    }

    #[test]
    fn a_record_has_the_bytes_of_damaged_text_beside_it() {
        let spread = Cell::Spread(vec![Bucket { from: Some(1_000), to: None, count: 2 }]);
        let sheet =
            sheet(vec![Cell::Name(b"a\xff"[..].into()), Cell::Time(Time::UNKNOWN), spread, Cell::Bar(0.5)]);
        let records: Vec<_> = sheet.records().map(|record| record.to_string()).collect();
        assert_eq!(
            records,
            ["{\"type\":\"endpoint\",\"name\":\"a\u{fffd}\",\"name_hex\":\"61ff\",\"time\":null,\
              \"histogram\":[{\"from\":1e-6,\"to\":null,\"count\":2}]}"]
        );
    }
}
