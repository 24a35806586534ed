//! The columns of the tables: their keys in records and CSV, and their heads on screens.

use super::sheet::{Column, HISTOGRAM};

const fn column(key: &'static str, head: &'static str) -> Column {
    Column { key, head, spare: false }
}

/// A column that narrow screens leave out.
const fn spare(key: &'static str, head: &'static str) -> Column {
    Column { key, head, spare: true }
}

/// Of response times.
pub const TIMES: &[Column] = &[
    column("protocol", "protocol"),
    column("step", "step"),
    column("server", "server"),
    column("count", "answers"),
    column("min", "min"),
    column("median", "median"),
    spare("p90", "p90"),
    column("p99", "p99"),
    column("max", "max"),
    spare("mean", "mean"),
    column(HISTOGRAM, ""),
];

/// Of servers and clients.
pub const ENDPOINTS: &[Column] = &[
    column("role", ""),
    column("endpoint", "endpoint"),
    column("protocol", "protocol"),
    column("server_name", "name"),
    column("datagrams_sent", "sent"),
    column("bytes_sent", "bytes"),
    spare("wire_bytes_sent", "on the\nwire"),
    column("datagrams_received", "got"),
    column("bytes_received", "bytes"),
    spare("wire_bytes_received", "on the\nwire"),
    column("left_out", ""),
];

/// Of layers.
pub const HIERARCHY: &[Column] = &[
    column("name", "protocol"),
    column("path", ""),
    column("frames", "frames"),
    column("bytes", "bytes"),
    column("percent", "% of bytes"),
];

/// Of intervals.
pub const SERIES: &[Column] = &[
    column("start", "from"),
    column("interval", ""),
    column("queries", "queries"),
    column("retransmissions", "repeated"),
    column("answers", "answers"),
    column("unanswered", "unanswered"),
    column("refused", "refused"),
    column("", "queries"),
];

/// Of steps of servers.
pub const AMPLIFICATION: &[Column] = &[
    column("server", "server"),
    column("protocol", ""),
    column("step", ""),
    column("", "step"),
    column("requests", ""),
    spare("request_bytes", "bytes\nin"),
    column("request_wire_bytes", ""),
    column("responses", ""),
    spare("response_bytes", "bytes\nout"),
    column("response_wire_bytes", ""),
    column("ratio", "ratio"),
    column("wire_ratio", "on the\nwire"),
    column("worst_ratio", "worst"),
    column("worst_request_bytes", ""),
    column("worst_response_bytes", ""),
    column("worst_file", ""),
    column("worst_frame", ""),
    column("", "in\nframe"),
    column("without_challenge", "without\nchal-\nlenge"),
    column("copies", ""),
    column("copy_bytes", ""),
    column("unasked", ""),
    column("unasked_bytes", ""),
    spare("", "not\nasked"),
];

/// Of exchanges by server.
pub const LOSSES: &[Column] = &[
    column("server", "server"),
    column("protocol", "protocol"),
    column("requests", "asked"),
    column("answered", "answered"),
    spare("late", "late"),
    column("unanswered", "lost"),
    spare("refused", "re-\nfused"),
    spare("undecided", "open"),
    column("decided", ""),
    column("unanswered_percent", "lost %"),
    column("late_percent", ""),
    column("refused_percent", ""),
    column("retransmissions", "re-\npeated"),
    column("retransmission_percent", ""),
    spare("copies", "copies"),
    column("copy_percent", ""),
];
