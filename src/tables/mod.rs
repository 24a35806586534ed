//! The results of a run over captures as Arrow tables, for DuckDB, Polars, pandas and Spark.
//!
//! ```text
//!  Report ──> report.rs ──rows──> rows.rs ──batches──> the `Take` function: Parquet files, a stream for Python
//!                                 the columns are declared here
//!  frames ──frames.rs──> batches, and back, for shards of captures
//! ```

mod captures;
pub mod frames;
mod report;
mod rows;
pub mod shards;

pub use captures::file_id;
pub use report::{Tables, Take};

use arrow_schema::{DataType, Field, Schema, TimeUnit};
use std::collections::HashMap;
use std::sync::Arc;

/// Version of the columns: later ones only add columns that may be null.
pub const SCHEMA: &str = "qdissect/1";

/// Rows that are gathered before they are passed on as a batch.
pub const BATCH: usize = 8_192;

/// A table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Table {
    /// A row for each input.
    Captures,
    /// A row for each datagram of a protocol.
    Messages,
    /// A row for each exchange.
    Exchanges,
    /// A row for each finding.
    Findings,
    /// A row for each server.
    Servers,
}

/// The type of a column. All integers are signed, for Spark has no others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// 32 bits.
    Int32,
    /// 64 bits.
    Int64,
    /// Yes or no.
    Bool,
    /// Text.
    Text,
    /// Text of few different values: an index into a dictionary.
    Label,
    /// A point in time: microseconds in UTC, and in a further column, named with `_ns` at the end, nanoseconds since 1970.
    Time,
    /// A list of 64-bit integers.
    Numbers,
    /// A list of texts.
    Texts,
    /// Bytes.
    Bytes,
}

/// A column.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// Its type.
    pub kind: Kind,
    /// Whether it may be null.
    pub nullable: bool,
    /// The unit: `ns`, `bytes`; empty where there is none.
    pub unit: &'static str,
    /// Its meaning.
    pub meaning: &'static str,
}

const fn column(name: &'static str, kind: Kind, meaning: &'static str) -> Column {
    Column { name, kind, nullable: false, unit: "", meaning }
}

impl Column {
    const fn or_null(self) -> Column {
        Column { nullable: true, ..self }
    }
    const fn in_unit(self, unit: &'static str) -> Column {
        Column { unit, ..self }
    }

    /// The column as Arrow's columns: two for a time.
    fn fields(&self) -> Vec<Field> {
        let text = || DataType::Utf8;
        let list = |of| DataType::List(Arc::new(Field::new("element", of, false)));
        let field = |name: &str, kind, unit: &str| {
            let unit = Some(("unit".to_owned(), unit.to_owned())).filter(|(_, unit)| !unit.is_empty());
            let meaning = ("comment".to_owned(), self.meaning.to_owned());
            let metadata: HashMap<_, _> = [meaning].into_iter().chain(unit).collect();
            Field::new(name, kind, self.nullable).with_metadata(metadata)
        };
        let kind = match self.kind {
            Kind::Int32 => DataType::Int32,
            Kind::Int64 => DataType::Int64,
            Kind::Bool => DataType::Boolean,
            Kind::Text => text(),
            Kind::Label => DataType::Dictionary(Box::new(DataType::Int32), Box::new(text())),
            Kind::Numbers => list(DataType::Int64),
            Kind::Texts => list(text()),
            Kind::Bytes => DataType::Binary,
            Kind::Time => {
                let micros = DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
                let nanos = format!("{}_ns", self.name);
                return vec![field(self.name, micros, ""), field(&nanos, DataType::Int64, "ns")];
            }
        };
        vec![field(self.name, kind, self.unit)]
    }
}

impl Table {
    /// Every table; `captures` comes last, so that a reader who sees it sees the other tables complete.
    pub const ALL: [Table; 5] =
        [Table::Messages, Table::Exchanges, Table::Findings, Table::Servers, Table::Captures];

    /// Its name and its columns.
    const fn declared(self) -> (&'static str, &'static [Column]) {
        match self {
            Table::Captures => ("captures", CAPTURES),
            Table::Messages => ("messages", MESSAGES),
            Table::Exchanges => ("exchanges", EXCHANGES),
            Table::Findings => ("findings", FINDINGS),
            Table::Servers => ("servers", SERVERS),
        }
    }

    /// Its name.
    pub const fn name(self) -> &'static str {
        self.declared().0
    }

    /// The table with this name.
    pub fn by_name(name: &str) -> Option<Table> {
        Table::ALL.into_iter().find(|table| table.name() == name)
    }

    /// Its columns, in order.
    pub const fn columns(self) -> &'static [Column] {
        self.declared().1
    }

    /// Its columns as an Arrow schema.
    pub fn schema(self) -> Arc<Schema> {
        let fields: Vec<_> = self.columns().iter().flat_map(Column::fields).collect();
        let version = HashMap::from([("qdissect".to_owned(), SCHEMA.to_owned())]);
        Arc::new(Schema::new(fields).with_metadata(version))
    }
}

const FILE_ID: Column = column("file_id", Kind::Int64, "A hash of the capture's URI.");
const FRAME: Column = column("frame", Kind::Int64, "Number of the frame in its capture, from 1.");
const TIME: Column = column("time", Kind::Time, "Time stamp of the frame.").or_null();
const PROTOCOL: Column = column("protocol", Kind::Label, "The protocol.");
const CLIENT_IP: Column = column("client_ip", Kind::Label, "Address of who asks.");
const CLIENT_PORT: Column = column("client_port", Kind::Int32, "Port of who asks.");
const SERVER_IP: Column = column("server_ip", Kind::Label, "Address of who answers.");
const SERVER_PORT: Column = column("server_port", Kind::Int32, "Port of who answers.");
const CONFIDENCE: Column = column("confidence", Kind::Label, "How sure the recognition is.");
const SERVER_NAME: Column = column("server_name", Kind::Text, "Name that the server gives itself.").or_null();
const GAME: Column = column("game", Kind::Label, "Game, its type or mode.").or_null();
const MAP: Column = column("map", Kind::Label, "Map, level or world.").or_null();
const VERSION: Column = column("version", Kind::Label, "Version, as text.").or_null();
const PLAYERS: Column = column("players", Kind::Int64, "Players now.").or_null();
const MOST_PLAYERS: Column = column("max_players", Kind::Int64, "Players at most.").or_null();
const STATE: Column = column("state", Kind::Label, "State of the server.").or_null();
const EXCHANGE_FILE: Column =
    column("exchange_file_id", Kind::Int64, "Key of its exchange: file of the request.").or_null();
const EXCHANGE_FRAME: Column =
    column("exchange_frame", Kind::Int64, "Key of its exchange: frame of the request.").or_null();

const CAPTURES: &[Column] = &[
    FILE_ID,
    column("uri", Kind::Text, "The capture's name as a URI; `-` is standard input."),
    column("sensor", Kind::Label, "Who captured, where the caller says so.").or_null(),
    column("seq", Kind::Int64, "Number of the capture in its run, from 0."),
    column("format", Kind::Label, "`pcap` or `pcapng`; null where it could not be opened.").or_null(),
    column("compression", Kind::Label, "How the file is compressed.").or_null(),
    column("links", Kind::Texts, "Link types."),
    column("snaplen", Kind::Int64, "Snap length of the first interface.").in_unit("bytes").or_null(),
    column("application", Kind::Text, "Program that captured, where the capture says so.").or_null(),
    column("comment", Kind::Text, "Comment on the capture.").or_null(),
    column("os", Kind::Text, "Operating system that captured.").or_null(),
    column("hardware", Kind::Text, "Hardware that captured.").or_null(),
    column("first_time", Kind::Time, "Lowest time stamp.").or_null(),
    column("last_time", Kind::Time, "Highest time stamp.").or_null(),
    column("packets", Kind::Int64, "Frames."),
    column("udp", Kind::Int64, "UDP datagrams among them."),
    column("recognised", Kind::Int64, "Datagrams that a protocol claims."),
    column("dropped", Kind::Int64, "Packets lost on the way into the capture, where it says so.").or_null(),
    column("complete", Kind::Bool, "It was read to its end."),
    column("error", Kind::Text, "What is wrong with it.").or_null(),
    column("program_version", Kind::Label, "Version of qdissect."),
    column("options", Kind::Text, "Options of the run that change what is found."),
];

const MESSAGES: &[Column] = &[
    FILE_ID,
    FRAME,
    TIME,
    column("src_ip", Kind::Label, "Address of the sender."),
    column("src_port", Kind::Int32, "Port of the sender."),
    column("dst_ip", Kind::Label, "Address of the receiver."),
    column("dst_port", Kind::Int32, "Port of the receiver."),
    PROTOCOL,
    column("message", Kind::Label, "The message."),
    column("direction", Kind::Label, "`c2s` or `s2c`."),
    CONFIDENCE,
    column("payload_length", Kind::Int64, "Bytes of the UDP payload on the wire.").in_unit("bytes"),
    column("captured_length", Kind::Int64, "Those that were captured.").in_unit("bytes"),
    EXCHANGE_FILE,
    EXCHANGE_FRAME,
    column("response_time_ns", Kind::Int64, "Of an answer, the time since its request.")
        .in_unit("ns")
        .or_null(),
    column("duplicate_of_file_id", Kind::Int64, "Of a copy, the file of the first one.").or_null(),
    column("duplicate_of", Kind::Int64, "Of a copy, the frame of the first one.").or_null(),
    column("encapsulation", Kind::Texts, "Tunnels it came through, the outermost first."),
    SERVER_NAME,
    GAME,
    MAP,
    VERSION,
    PLAYERS,
    MOST_PLAYERS,
    STATE,
    column("fields", Kind::Text, "All fields as JSON, with `--fields`.").or_null(),
];

const EXCHANGES: &[Column] = &[
    column("id", Kind::Int64, "Number of the exchange in this run."),
    PROTOCOL,
    column("step", Kind::Label, "Kind of question."),
    column("key", Kind::Text, "What ties answer to request; null where order does.").or_null(),
    CLIENT_IP,
    CLIENT_PORT,
    SERVER_IP,
    SERVER_PORT,
    column("request_time", Kind::Time, "Time stamp of the request.").or_null(),
    column("request_frame", Kind::Int64, "Key: frame of the request."),
    column("request_file_id", Kind::Int64, "Key: file of the request."),
    column(
        "response_frames",
        Kind::Numbers,
        "Frames of the answer, in the file of the first one or later ones.",
    ),
    column("response_file_id", Kind::Int64, "File of the answer.").or_null(),
    column("outcome", Kind::Label, "`answered`, `late`, `unanswered`, `undecided` or `refused`."),
    column("answer", Kind::Label, "The message that answered, if several are possible.").or_null(),
    column("response_time_ns", Kind::Int64, "Time from request to answer.").in_unit("ns").or_null(),
    column("request_bytes", Kind::Int64, "UDP payload of the request on the wire.").in_unit("bytes"),
    column("response_bytes", Kind::Int64, "UDP payload of the answer on the wire.").in_unit("bytes"),
    CONFIDENCE,
    column("reason", Kind::Label, "What the ICMP error said that refused it.").or_null(),
    column("retransmissions", Kind::Int64, "How often the request was repeated."),
];

const FINDINGS: &[Column] = &[
    FILE_ID,
    FRAME,
    TIME,
    column("rule", Kind::Label, "Id of the rule."),
    column("severity", Kind::Label, "`error`, `warning` or `note`."),
    column("fault", Kind::Label, "`client`, `server`, `path` or `capture`."),
    CONFIDENCE,
    PROTOCOL,
    CLIENT_IP,
    CLIENT_PORT,
    SERVER_IP,
    SERVER_PORT,
    column("field", Kind::Label, "Path of the field.").or_null(),
    column("start", Kind::Int32, "First byte of the UDP payload that it is about.").or_null(),
    column("end", Kind::Int32, "The byte behind the last one.").or_null(),
    column("message", Kind::Text, "What is wrong."),
    column("found", Kind::Text, "The value that is there, where the finding is about one.").or_null(),
    column("expected", Kind::Text, "The value that should be there.").or_null(),
    column("caused_by_rule", Kind::Label, "The finding that made this one happen: it counts nowhere.")
        .or_null(),
    column("caused_by_file_id", Kind::Int64, "File of that.").or_null(),
    column("caused_by_frame", Kind::Int64, "Frame of that.").or_null(),
    EXCHANGE_FILE,
    EXCHANGE_FRAME,
    column("diagnosis", Kind::Text, "What would make the message fit, if all broken ones of its kind agree.")
        .or_null(),
];

const SERVERS: &[Column] = &[
    SERVER_IP,
    SERVER_PORT,
    column("translated_to", Kind::Text, "The endpoint behind it, where its host translates addresses.")
        .or_null(),
    PROTOCOL,
    SERVER_NAME,
    GAME,
    MAP,
    VERSION,
    PLAYERS,
    MOST_PLAYERS,
    STATE,
    column("requests", Kind::Int64, "Requests to it."),
    column("answered", Kind::Int64, "Those answered in time."),
    column("late", Kind::Int64, "Those answered after the window."),
    column("unanswered", Kind::Int64, "Those not answered."),
    column("undecided", Kind::Int64, "Those open where the captures end."),
    column("refused", Kind::Int64, "Those that an ICMP error refused."),
    column("response_time_min_ns", Kind::Int64, "Shortest response time.").in_unit("ns").or_null(),
    column(
        "response_time_median_ns",
        Kind::Int64,
        "Median, to one percent; null beyond the 1,024th server with response times.",
    )
    .in_unit("ns")
    .or_null(),
    column("response_time_p99_ns", Kind::Int64, "The time that 99 of 100 do not exceed, likewise.")
        .in_unit("ns")
        .or_null(),
    column("response_time_max_ns", Kind::Int64, "Longest response time.").in_unit("ns").or_null(),
    column("errors", Kind::Int64, "Findings in its conversations: errors."),
    column("warnings", Kind::Int64, "Warnings."),
    column("notes", Kind::Int64, "Notes."),
];
