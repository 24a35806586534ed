//! The columns of the tables: their keys in records and CSV, and their heads on screens.

use super::sheet::{Column, HISTOGRAM, Holds};

/// The types of records and the columns of their tables, in the order of the sections.
pub const KINDS: &[(&str, &[Column])] = &[
    ("response_times", TIMES),
    ("endpoint", ENDPOINTS),
    ("hierarchy", HIERARCHY),
    ("interval", SERIES),
    ("amplification", AMPLIFICATION),
    ("loss", LOSSES),
];

const fn column(key: &'static str, head: &'static str, holds: Holds) -> Column {
    Column { key, head, spare: false, holds, null: false }
}

/// A column that narrow screens leave out.
const fn spare(key: &'static str, head: &'static str, holds: Holds) -> Column {
    Column { key, head, spare: true, holds, null: false }
}

impl Column {
    /// The same column, but cells may be empty.
    const fn or_none(self) -> Column {
        Column { null: true, ..self }
    }
}

/// Columns of response times.
pub const TIMES: &[Column] = &[
    column("protocol", "protocol", Holds::Protocol),
    column("step", "step", Holds::Step).or_none(),
    column("server", "server", Holds::Server).or_none(),
    column("count", "answers", Holds::Count),
    column("min", "min", Holds::Seconds).or_none(),
    column("median", "median", Holds::Seconds).or_none(),
    spare("p90", "p90", Holds::Seconds).or_none(),
    column("p99", "p99", Holds::Seconds).or_none(),
    column("max", "max", Holds::Seconds).or_none(),
    spare("mean", "mean", Holds::Seconds).or_none(),
    column(HISTOGRAM, "", Holds::Spread).or_none(),
];

/// Columns of servers and clients.
pub const ENDPOINTS: &[Column] = &[
    column("role", "", Holds::Role),
    column("endpoint", "endpoint", Holds::Endpoint).or_none(),
    column("protocol", "protocol", Holds::Protocol).or_none(),
    column("server_name", "name", Holds::Name).or_none(),
    column("datagrams_sent", "sent", Holds::Count),
    column("bytes_sent", "bytes", Holds::Count),
    spare("wire_bytes_sent", "on the\nwire", Holds::Count),
    column("datagrams_received", "got", Holds::Count),
    column("bytes_received", "bytes", Holds::Count),
    spare("wire_bytes_received", "on the\nwire", Holds::Count),
    column("left_out", "", Holds::Count).or_none(),
];

/// Columns of layers.
pub const HIERARCHY: &[Column] = &[
    column("name", "protocol", Holds::Text),
    column("path", "", Holds::Text),
    column("frames", "frames", Holds::Count),
    column("bytes", "bytes", Holds::Count),
    column("percent", "% of bytes", Holds::Number).or_none(),
];

/// Columns of intervals.
pub const SERIES: &[Column] = &[
    column("start", "from", Holds::Time),
    column("interval", "", Holds::Seconds),
    column("queries", "queries", Holds::Count),
    column("retransmissions", "repeated", Holds::Count),
    column("answers", "answers", Holds::Count),
    column("unanswered", "unanswered", Holds::Count),
    column("refused", "refused", Holds::Count),
    column("response_time_mean", "", Holds::Seconds).or_none(),
    column("response_time_max", "", Holds::Seconds).or_none(),
    column("", "queries", Holds::Shown),
];

/// Columns of amplification, by server and step.
pub const AMPLIFICATION: &[Column] = &[
    column("server", "server", Holds::Server),
    column("protocol", "", Holds::Protocol),
    column("step", "", Holds::Step),
    column("", "step", Holds::Shown),
    column("requests", "", Holds::Count),
    spare("request_bytes", "bytes\nin", Holds::Count),
    column("request_wire_bytes", "", Holds::Count),
    column("responses", "", Holds::Count),
    spare("response_bytes", "bytes\nout", Holds::Count),
    column("response_wire_bytes", "", Holds::Count),
    column("ratio", "ratio", Holds::Number).or_none(),
    column("wire_ratio", "on the\nwire", Holds::Number).or_none(),
    column("worst_ratio", "worst", Holds::Number).or_none(),
    column("worst_request_bytes", "", Holds::Count).or_none(),
    column("worst_response_bytes", "", Holds::Count).or_none(),
    column("worst_file", "", Holds::Text).or_none(),
    column("worst_frame", "", Holds::Count).or_none(),
    column("", "in\nframe", Holds::Shown),
    column("without_challenge", "without\nchal-\nlenge", Holds::Count),
    column("copies", "", Holds::Count),
    column("copy_bytes", "", Holds::Count),
    column("unasked", "", Holds::Count),
    column("unasked_bytes", "", Holds::Count),
    spare("", "not\nasked", Holds::Shown),
];

/// Columns of losses, by server.
pub const LOSSES: &[Column] = &[
    column("server", "server", Holds::Server).or_none(),
    column("protocol", "protocol", Holds::Protocol).or_none(),
    column("requests", "asked", Holds::Count),
    column("answered", "answered", Holds::Count),
    spare("late", "late", Holds::Count),
    column("unanswered", "lost", Holds::Count),
    spare("refused", "re-\nfused", Holds::Count),
    spare("undecided", "open", Holds::Count),
    column("decided", "", Holds::Count),
    column("unanswered_percent", "lost %", Holds::Number).or_none(),
    column("late_percent", "", Holds::Number).or_none(),
    column("refused_percent", "", Holds::Number).or_none(),
    column("retransmissions", "re-\npeated", Holds::Count),
    column("retransmission_percent", "", Holds::Number).or_none(),
    spare("copies", "copies", Holds::Count),
    column("copy_percent", "", Holds::Number).or_none(),
];
