//! The datagrams of a capture as tshark and qdissect see them.

use crate::kit::run::{parsed, qdissect};
use jiff::Timestamp;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

/// The properties of a datagram that are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DatagramSummary {
    /// Time stamp in nanoseconds since 1970; `None` where there is none.
    pub time: Option<i128>,
    /// Length of the payload in bytes.
    pub length: u64,
}

/// Datagrams by frame number.
pub type DatagramsByFrame = BTreeMap<u64, DatagramSummary>;

/// Whether tshark can be run.
pub fn have_tshark() -> bool {
    Command::new("tshark")
        .arg("-v")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|s| s.success())
}

/// Columns of the frames that pass a filter; each cell is the last value of its field. `None` if tshark does not read the file
/// format. Truncated files are read as far as possible.
pub fn columns(path: &Path, filter: &str, fields: &[&str]) -> Option<Vec<Vec<String>>> {
    let mut command = Command::new("tshark");
    // Linux's old port of VXLAN, which tshark no longer knows.
    command.args(["-d", "udp.port==8472,vxlan", "-n", "-Y", filter, "-T", "fields", "-E", "occurrence=l"]);
    for field in fields {
        command.args(["-e", field]);
    }
    let output = command.arg("-r").arg(path).stdin(Stdio::null()).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    // No output and an error: tshark does not read this file format.
    if text.is_empty() && !output.status.success() {
        return None;
    }
    Some(text.lines().map(|line| line.split('\t').map(str::to_owned).collect()).collect())
}

/// Converts seconds as tshark prints them to nanoseconds.
pub fn nanos(seconds: &str) -> Option<i128> {
    let (whole, part) = seconds.split_once('.')?;
    let part: i128 = format!("{part:0<9}").get(..9)?.parse().ok()?;
    let whole_seconds: i128 = whole.parse().ok()?;
    Some(whole_seconds * 1_000_000_000 + if whole.starts_with('-') { -part } else { part })
}

/// The innermost UDP datagram of each frame. Datagrams quoted by ICMP and those whose length contradicts the packet are left out.
pub fn by_tshark(path: &Path) -> Option<DatagramsByFrame> {
    let filter = "udp && !icmp && !icmpv6 && !udp.length.bad && !tcp";
    let rows = columns(path, filter, &["frame.number", "frame.time_epoch", "udp.length"])?;
    let one = |row: &Vec<String>| {
        let [frame, time, length] = row.as_slice() else { return None };
        let length = length.parse::<u64>().ok()?.saturating_sub(8);
        Some((frame.parse().ok()?, DatagramSummary { time: nanos(time), length }))
    };
    Some(rows.iter().filter_map(one).collect())
}

/// The innermost UDP datagrams as qdissect sees them. Incomplete fragmented datagrams are left out.
#[track_caller]
pub fn by_us(path: &Path) -> DatagramsByFrame {
    let mut command = qdissect();
    command.args(["dump", "--no-config", "--all", "--min-confidence", "low", "-T", "ndjson"]).arg(path);
    let output = command.output().unwrap();
    let code = output.status.code().unwrap();
    assert!(code == 0 || code == 2, "{}: {code}", path.display());
    let records = parsed(&output, code);
    let broken = |r: &serde_json::Value| r["findings"].to_string().contains("GEN-002");
    let packets = records.iter().filter(|r| r["type"] == "packet" && !broken(r));
    let one = |r: &serde_json::Value| {
        let time = r["time"].as_str().map(|text| text.parse::<Timestamp>().unwrap().as_nanosecond());
        (
            r["frame"].as_u64().unwrap(),
            DatagramSummary { time, length: r["payload_length"].as_u64().unwrap() },
        )
    };
    packets.map(one).collect()
}
