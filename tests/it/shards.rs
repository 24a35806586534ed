//! Shards together give the same rows as one run in every table, except for numbers that count through a run.

use crate::kit::captures::{further, own};
use crate::kit::frames::{Kept, pcap};
use crate::kit::play::{Addr, MS, POLL, S, SQP_QUERY, SQP_QUERY_REPLY, START, STATE, udp_frame};
use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type, TimestampMicrosecondType};
use arrow_array::{Array, Int32Array, RecordBatch};
use arrow_schema::DataType;
use qdissect::capture::{Frame, Source, Time};
use qdissect::net::Endpoint;
use qdissect::pipeline::{Options, Pipeline};
use qdissect::rule::hex;
use qdissect::tables::shards::{Judge, Scan, Shards};
use qdissect::tables::{Table, Tables, frames};
use std::collections::BTreeMap;
use std::fs;
use std::io::Cursor;
use std::path::PathBuf;
use std::sync::Arc;

/// Captures in which a host answers what another one was asked, or addresses are translated: such hosts share no shard.
const OF_TWO_HOSTS: [&str; 2] = ["captures/server/other_address.pcapng", "captures/server/translated.pcapng"];

/// The captures of the repository without those.
fn of_one_host() -> Vec<PathBuf> {
    own().into_iter().filter(|path| !OF_TWO_HOSTS.iter().any(|name| path.ends_with(name))).collect()
}

/// Names and bytes of captures that are read as one run.
type Inputs = [(String, Vec<u8>)];
/// How often each row is in a table.
type Rows = BTreeMap<(Table, String), i64>;

/// How frames are distributed to shards.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Deal {
    /// By the host of the server.
    Host,
    /// By both endpoints, without knowing which is the server.
    Flow,
    /// By the endpoint of the server.
    Ports,
    /// By the host of the server, without the rows that mark the end of a file.
    NoTime,
}

fn open((name, bytes): &(String, Vec<u8>)) -> Option<Source> {
    Source::from_reader(name, Box::new(Cursor::new(bytes.clone()))).ok()
}

/// One cell as text.
fn cell(column: &dyn Array, row: usize) -> String {
    if column.is_null(row) {
        return "-".to_owned();
    }
    match column.data_type() {
        DataType::Int32 => column.as_primitive::<Int32Type>().value(row).to_string(),
        DataType::Int64 => column.as_primitive::<Int64Type>().value(row).to_string(),
        DataType::Timestamp(..) => column.as_primitive::<TimestampMicrosecondType>().value(row).to_string(),
        DataType::Boolean => column.as_boolean().value(row).to_string(),
        DataType::Utf8 => column.as_string::<i32>().value(row).to_owned(),
        DataType::Dictionary(..) => {
            let column = column.as_dictionary::<Int32Type>();
            cell(column.values(), usize::try_from(column.keys().value(row)).unwrap())
        }
        DataType::List(_) => {
            let list = column.as_list::<i32>().value(row);
            (0..list.len()).map(|at| cell(&list, at) + " ").collect()
        }
        other => panic!("no column is of type {other}"),
    }
}

fn add(rows: &mut Rows, sign: i64, table: Table, batch: &RecordBatch) {
    let schema = batch.schema();
    let of_run = |name: &str| name == "id";
    for row in 0..batch.num_rows() {
        let columns = schema.fields().iter().zip(batch.columns()).filter(|(field, _)| !of_run(field.name()));
        let text: Vec<_> =
            columns.map(|(field, column)| format!("{}={}", field.name(), cell(column, row))).collect();
        // Only a single run can tell.
        let text = text
            .join(" ")
            .replace("; the capture holds no answer of anybody: one direction may be missing", "");
        let count = rows.entry((table, text)).or_default();
        *count += sign;
    }
}

/// Adds the rows of the tables that `feed` fills, counted with this sign.
fn tables(rows: &mut Rows, sign: i64, feed: impl FnOnce(&mut Tables<'_>)) {
    let four = [Table::Messages, Table::Exchanges, Table::Findings, Table::Servers];
    let take = Box::new(|table, batch: RecordBatch| {
        add(rows, sign, table, &batch);
        Ok(())
    });
    feed(&mut Tables::new(&four, true, "{}", take));
}

fn one_run(rows: &mut Rows, inputs: &Inputs) {
    tables(rows, 1, |report| {
        let mut pipeline = Pipeline::new(Options::default(), report);
        for input in inputs {
            let Some(mut source) = open(input) else { continue };
            let _ = pipeline.read(&mut source, &input.0); // some are damaged
        }
        pipeline.finish(true).unwrap();
    });
}

/// The shard of a frame by its endpoints.
fn by_ends(frame: &Frame<'_>, hosts: &Shards, deal: Deal) -> Option<i32> {
    let d = qdissect::net::parse(frame).ok()?;
    let is_counted = |end: &Endpoint| deal == Deal::Flow || hosts.host(end.socket_addr().ip()).is_some();
    let ends = [d.src, d.dst].into_iter().filter(is_counted).flat_map(|end| end.to_string().into_bytes());
    Some(ends.map(i32::from).sum::<i32>() % hosts.count() as i32)
}

/// The frames of all shards in the order of the files, distributed by `deal`.
fn batches(inputs: &Inputs, shards: u32, deal: Deal) -> Vec<RecordBatch> {
    let opened = || inputs.iter().filter_map(|input| Some((input, open(input)?)));
    let scans: Vec<_> = opened().map(|(_, mut source)| Scan::of(&mut source, &Options::default())).collect();
    assert!(scans.iter().all(|scan| scan.forgotten == 0));
    let asked = scans.iter().flat_map(|scan| scan.asked.iter().copied());
    let tunnel_ends = scans.iter().flat_map(|scan| scan.tunnel_ends.iter().copied());
    let hosts = Shards::new(asked, tunnel_ends, shards);
    let (mut batches, mut before) = (vec![], 0);
    for ((input, mut source), scan) in opened().zip(&scans) {
        let mut take = |batch: RecordBatch| {
            batches.push(dealt(&batch, &hosts, deal));
            Ok(())
        };
        let _ = frames::frames(&mut source, &input.0, &hosts, before, &mut take); // some are damaged
        before += scan.frames;
    }
    batches
}

/// Changes the shards of the rows, or removes the rows about time.
fn dealt(batch: &RecordBatch, hosts: &Shards, deal: Deal) -> RecordBatch {
    let (kinds, data) = (batch.column(3).as_primitive::<Int32Type>(), batch.column(9).as_binary::<i32>());
    let shards = batch.column(0).as_primitive::<Int32Type>();
    let other = |row: usize| match (kinds.value(row), deal) {
        (1, Deal::Flow | Deal::Ports) => {
            let bytes = data.value(row);
            let frame = Frame {
                number: 1,
                time: Time::UNKNOWN,
                link: 1,
                interface: 0,
                at: 0,
                wire_len: bytes.len() as u32,
                bytes,
            };
            by_ends(&frame, hosts, deal).unwrap_or(-1)
        }
        (2, Deal::NoTime) => -1,
        _ => shards.value(row),
    };
    let shards: Int32Array = (0..batch.num_rows()).map(other).collect();
    let mut columns = batch.columns().to_vec();
    columns[0] = Arc::new(shards);
    RecordBatch::try_new(batch.schema(), columns).unwrap()
}

fn in_shards(rows: &mut Rows, inputs: &Inputs, shards: u32, deal: Deal) {
    let batches = batches(inputs, shards, deal);
    for shard in 0..shards as i32 {
        tables(rows, -1, |report| {
            let mut judge = Judge::new(Options::default(), report);
            for batch in &batches {
                let shard_numbers = batch.column(0).as_primitive::<Int32Type>();
                for row in (0..batch.num_rows()).filter(|row| shard_numbers.value(*row) == shard) {
                    frames::judge(&mut judge, &batch.slice(row, 1)).unwrap();
                }
            }
            judge.finish().unwrap();
        });
    }
}

/// The rows that only one side has, with positive counts for the single run and negative ones for the shards.
fn difference(inputs: &Inputs, shards: u32, deal: Deal) -> Vec<((Table, String), i64)> {
    let mut rows = Rows::new();
    one_run(&mut rows, inputs);
    in_shards(&mut rows, inputs, shards, deal);
    rows.into_iter().filter(|(_, count)| *count != 0).collect()
}

#[track_caller]
fn equal(inputs: &Inputs, what: &str) {
    for shards in [1, 4, 16] {
        let difference = difference(inputs, shards, Deal::Host);
        assert!(
            difference.is_empty(),
            "{what}, {shards} shards: {:#?}",
            &difference[..difference.len().min(4)]
        );
    }
}

#[test]
fn each_capture_gives_the_same_tables_in_shards() {
    for path in of_one_host().into_iter().chain(further()) {
        let name = path.to_string_lossy().into_owned();
        equal(&[(name.clone(), fs::read(&path).unwrap())], &name);
    }
}

#[test]
fn all_captures_together_give_the_same_tables_in_shards() {
    let all: Vec<_> = of_one_host()
        .iter()
        .map(|path| (path.to_string_lossy().into_owned(), fs::read(path).unwrap()))
        .collect();
    equal(&all, "all captures");
}

/// A deterministic random number generator.
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }
}

/// An ICMP port-unreachable error that quotes a datagram in Ethernet.
fn unreachable(time: i64, asked: &[u8]) -> Kept {
    let quoted = &asked[14..];
    let mut bytes = asked[..14].to_vec();
    bytes.extend([0x45, 0]);
    bytes.extend((28 + quoted.len() as u16).to_be_bytes());
    bytes.extend([0, 0, 0, 0, 64, 1, 0, 0]);
    bytes.extend([&quoted[16..20], &quoted[12..16], &[3, 3, 0, 0, 0, 0, 0, 0], quoted].concat());
    Kept { time, link: 1, wire_len: bytes.len() as u32, bytes }
}

/// The files of a ring buffer, each `seconds` long: many servers and clients, with loss, retransmissions, late, repeated and
/// damaged answers, copies, ICMP errors, and servers that ask each other. `pause` is the longest time between two requests, in
/// microseconds.
fn ring(seed: u64, files: i64, seconds: i64, pause: u64) -> Vec<(String, Vec<u8>)> {
    let mut dice = Dice(seed);
    let mut frames: Vec<Kept> = vec![];
    let mut time = START;
    while time < START + files * seconds * S {
        time += dice.below(pause) as i64 * 1_000;
        let server: Addr = ([10, 1, 0, dice.below(12) as u8], 7777 + dice.below(3) as u16);
        let client: Addr = match dice.below(20) {
            0 => ([10, 1, 0, dice.below(3) as u8], 30_000),
            _ => ([198, 51, 100, dice.below(60) as u8], 40_000 + dice.below(4) as u16),
        };
        let id = dice.below(65_535) as u16 + 1;
        let mut put = |after: i64, from, to, payload: &[u8]| {
            let mut raw_frame = udp_frame(time + after, from, to, payload);
            raw_frame.bytes[18..20].copy_from_slice(&id.to_be_bytes());
            frames.push(Kept {
                time: raw_frame.time,
                link: 1,
                wire_len: raw_frame.wire_len,
                bytes: raw_frame.bytes,
            });
        };
        let luck = dice.below(100);
        let later = match luck {
            0..4 => 1_500 * MS,
            4..6 => 6_000 * MS,
            _ => (1 + dice.below(80) as i64) * MS,
        };
        let satisfactory = server.0[3].is_multiple_of(2);
        let mut answer = if satisfactory { hex(STATE) } else { hex(SQP_QUERY_REPLY) };
        if satisfactory {
            put(0, client, server, &hex(POLL));
        } else {
            put(0, client, server, &hex("00 00000000"));
            put(MS, server, client, &hex("00 80902348"));
            put(2 * MS, client, server, &hex(SQP_QUERY));
        }
        match luck {
            10..14 => continue,
            14..17 => put(1_000 * MS, client, server, &if satisfactory { hex(POLL) } else { hex(SQP_QUERY) }),
            17..20 => answer.truncate(1 + dice.below(answer.len() as u64) as usize),
            20..22 => answer[0] = 0x55,
            _ => {}
        }
        put(2 * MS + later, server, client, &answer);
        match luck {
            22..25 => put(2 * MS + later + 300_000, server, client, &answer),
            25..28 => put(2 * MS + later + 40 * MS, server, client, &answer),
            28..30 => put(2 * MS + later * 2, (server.0, server.1 + 100), client, &answer),
            30..33 => {
                let asked = frames.pop().unwrap().bytes;
                frames.push(unreachable(time + 3 * MS, &udp_frame(0, client, server, &hex(SQP_QUERY)).bytes));
                drop(asked);
            }
            _ => {}
        }
    }
    frames.sort_by_key(|frame| frame.time);
    let file = |at: i64| {
        let file_frames: Vec<_> =
            frames.iter().filter(|f| (f.time - START) / (seconds * S) == at).cloned().collect();
        (!file_frames.is_empty()).then(|| (format!("ring_{at:05}.pcap"), pcap(&file_frames)))
    };
    (0..files).filter_map(file).collect()
}

#[test]
fn rings_of_files_with_faults_of_every_kind() {
    for (seed, pause) in [(1, 40_000), (2, 40_000), (3, 2_000_000), (4, 2_000_000)] {
        equal(&ring(seed, 12, 5, pause), &format!("ring {seed}"));
    }
}

#[test]
fn a_wrong_partition_gives_other_results() {
    for deal in [Deal::Flow, Deal::Ports] {
        assert!(!difference(&ring(7, 12, 5, 40_000), 16, deal).is_empty(), "{deal:?}");
    }
    // A shard needs the time of others only if it has nothing more to judge.
    let sparse = (8..24).map(|seed| ring(seed, 2, 10, 500_000));
    let differ = sparse.filter(|ring| !difference(ring, 16, Deal::NoTime).is_empty()).count();
    assert!(differ > 2, "{differ}");
}
