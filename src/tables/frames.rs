//! Frames as a table, which code that reads captures sends to code that judges [shards](crate::tables::shards) of them.

use super::rows::Rows;
use super::{Column, Kind, column};
use crate::capture::{CaptureInfo, Frame, Source, Time};
use crate::pipeline::Stopped;
use crate::tables::shards::{Judge, Shards};
use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{Array, RecordBatch};
use arrow_schema::Schema;
use std::io;
use std::sync::Arc;

/// A file begins: the row has the time stamp of its first frame, and the name of its format in the place of bytes.
const BEGIN: i32 = 0;
/// A frame.
const FRAME: i32 = 1;
/// A file ends, with its highest time stamp.
const END: i32 = 2;

/// A batch is passed on when it has enough rows, or this many bytes of frames.
const MAX_BYTES: usize = 4 << 20;

const COLUMNS: &[Column] = &[
    column("shard", Kind::Int32, "Who judges the row"),
    column("file", Kind::Int64, "Frames in the files before this one"),
    column("frame", Kind::Int64, "Number of the frame, counted through all files"),
    column("kind", Kind::Int32, "0 where a file begins, 1 for a frame, 2 where a file ends"),
    column("time_ns", Kind::Int64, "Time stamp in ns since 1970").or_null(),
    column("clock_ns", Kind::Int64, "Highest time stamp of the file so far, in ns since 1970").or_null(),
    column("link", Kind::Int32, "Link type of the interface, LINKTYPE_... of tcpdump.org"),
    column("interface", Kind::Int32, "Number of the interface in the file, from 0"),
    column("wire_length", Kind::Int64, "Bytes on the wire"),
    column("data", Kind::Bytes, "Bytes captured"),
    column("name", Kind::Text, "Name of the file, where it begins").or_null(),
];

/// The columns. Sorted by `file`, `frame` and `kind`, the rows of a shard are in the order in which they are judged.
pub fn schema() -> Arc<Schema> {
    Arc::new(Schema::new(COLUMNS.iter().flat_map(Column::fields).collect::<Vec<_>>()))
}

/// Rows that have not been passed on.
struct Batches<'t> {
    rows: Rows,
    bytes: usize,
    /// Frames in the files before this one.
    before: u64,
    take: &'t mut dyn FnMut(RecordBatch) -> io::Result<()>,
}

impl Batches<'_> {
    /// Adds a row for a shard; `name` is that of a file that begins.
    fn push(
        &mut self,
        shard: u32,
        kind: i32,
        frame: &Frame<'_>,
        clock: Time,
        name: Option<&str>,
    ) -> io::Result<()> {
        let rows = &mut self.rows;
        rows.number(i64::from(shard));
        rows.count(self.before);
        rows.count(frame.number);
        rows.number(i64::from(kind));
        rows.number(frame.time.nanos());
        rows.number(clock.nanos());
        rows.number(i64::from(frame.link));
        rows.number(i64::from(frame.interface));
        rows.number(i64::from(frame.wire_len));
        rows.bytes(frame.bytes);
        rows.text(name);
        self.bytes += frame.bytes.len();
        self.hand_on(self.bytes >= MAX_BYTES)
    }

    /// Hands the rows on if there are enough for a batch, or at the end if there are any.
    fn hand_on(&mut self, end: bool) -> io::Result<()> {
        let Some(batch) = self.rows.take(end)? else { return Ok(()) };
        self.bytes = 0;
        (self.take)(batch)
    }
}

/// Reads a capture, to its end or as far as it goes, and passes on its frames in batches, each frame with its shard. `before` is
/// the number of frames in the files before it.
///
/// # Errors
/// The errors of `take`; the errors of the capture, after what could be read has been passed on.
pub fn frames(
    source: &mut Source,
    name: &str,
    shards: &Shards,
    before: u64,
    take: &mut dyn FnMut(RecordBatch) -> io::Result<()>,
) -> Result<(), Stopped> {
    let mut rows = Batches { rows: Rows::new(COLUMNS, schema()), bytes: 0, before, take };
    source.count_from(before);
    // The format tells whether frames may lack a direction: only those of pcap files may; see `Pipeline::begin_file`.
    let format = source.info().format;
    let (mut clock, mut last) = (Time::UNKNOWN, None);
    let read = source.each(|frame| {
        clock = clock.max(frame.time);
        if last.is_none() {
            let begin = Frame { number: before, bytes: format.as_bytes(), ..*frame };
            (0..shards.count()).try_for_each(|shard| rows.push(shard, BEGIN, &begin, clock, Some(name)))?;
        }
        if let Some(shard) = shards.of(frame) {
            rows.push(shard, FRAME, frame, clock, None)?;
        }
        last = Some(frame.number);
        Ok(true)
    });
    if let Some(number) = last {
        let end = Frame { number, time: clock, ..Frame::default() };
        (0..shards.count()).try_for_each(|shard| rows.push(shard, END, &end, clock, None))?;
        rows.hand_on(true)?;
    }
    read
}

/// Judges the rows of one shard, which come in the order of `file`, `frame` and `kind`.
///
/// # Errors
/// When the report cannot be written, or a batch has other columns than [`schema`].
pub fn judge(judge: &mut Judge<'_>, batch: &RecordBatch) -> io::Result<()> {
    let invalid = || io::Error::new(io::ErrorKind::InvalidData, "These rows are not those of frames.");
    let column = |name| batch.column_by_name(name).ok_or_else(invalid);
    let longs = |name| column(name)?.as_primitive_opt::<Int64Type>().ok_or_else(invalid);
    let ints = |name| column(name)?.as_primitive_opt::<Int32Type>().ok_or_else(invalid);
    let [before, numbers, times] = [longs("file")?, longs("frame")?, longs("time_ns")?];
    let [clocks, lengths] = [longs("clock_ns")?, longs("wire_length")?];
    let [kinds, links, interfaces] = [ints("kind")?, ints("link")?, ints("interface")?];
    let data = column("data")?.as_binary_opt::<i32>().ok_or_else(invalid)?;
    let names = column("name")?.as_string_opt::<i32>().ok_or_else(invalid)?;
    for row in 0..batch.num_rows() {
        let time = |of: &arrow_array::Int64Array| match of.is_null(row) {
            true => Time::UNKNOWN,
            false => Time::from_nanos(of.value(row)),
        };
        let number = u64::try_from(numbers.value(row)).map_err(|_| invalid())?;
        let link = u16::try_from(links.value(row)).map_err(|_| invalid())?;
        match kinds.value(row) {
            BEGIN => {
                let format = if data.value(row) == b"pcap" { "pcap" } else { "pcapng" };
                let facts = CaptureInfo { format, links: vec![link], ..CaptureInfo::default() };
                let before = u64::try_from(before.value(row)).map_err(|_| invalid())?;
                judge.begin(names.value(row), &facts, before, time(times))?;
            }
            FRAME => {
                let frame = Frame {
                    number,
                    time: time(times),
                    link,
                    interface: u32::try_from(interfaces.value(row)).map_err(|_| invalid())?,
                    at: 0,
                    wire_len: u32::try_from(lengths.value(row)).map_err(|_| invalid())?,
                    bytes: data.value(row),
                };
                judge.frame(&frame, time(clocks))?;
            }
            END => judge.end(&CaptureInfo::default(), number, time(clocks))?,
            _ => return Err(invalid()),
        }
    }
    Ok(())
}
