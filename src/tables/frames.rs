//! Frames as a table, for the way from code that reads captures to code that judges [shards](crate::shards) of them.

use crate::capture::{CaptureInfo, Frame, Source, Time};
use crate::decode::Listener;
use crate::pipeline::Stopped;
use crate::shards::{Judge, Shards};
use arrow_array::builder::{ArrayBuilder, BinaryBuilder, Int32Builder, Int64Builder, StringBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use std::io;
use std::sync::Arc;

/// A file begins: the row has the time stamp of its first frame, and the name of its format in the place of bytes.
const BEGIN: i32 = 0;
/// A frame.
const FRAME: i32 = 1;
/// A file ends, with its highest time stamp.
const END: i32 = 2;

/// A batch is handed on when it has so many rows, or so many bytes of frames.
const MAX_ROWS: usize = 8_192;
const MAX_BYTES: usize = 4 << 20;

/// The columns. Sorted by `file`, `frame` and `kind`, the rows of a shard are in the order in which they are judged.
pub fn schema() -> Arc<Schema> {
    let column = |name: &str, kind: DataType, null: bool, means: &str| {
        let means = [("comment".to_owned(), means.to_owned())];
        Field::new(name, kind, null).with_metadata(means.into())
    };
    let required = |name, kind, means| column(name, kind, false, means);
    Arc::new(Schema::new(vec![
        required("shard", DataType::Int32, "Who judges the row"),
        required("file", DataType::Int64, "Frames in the files before this one"),
        required("frame", DataType::Int64, "Number of the frame, counted through all files"),
        required("kind", DataType::Int32, "0 where a file begins, 1 for a frame, 2 where a file ends"),
        column("time_ns", DataType::Int64, true, "Time stamp in ns since 1970"),
        column("clock_ns", DataType::Int64, true, "Highest time stamp of the file so far, in ns since 1970"),
        required("link", DataType::Int32, "Link type of the interface, LINKTYPE_... of tcpdump.org"),
        required("interface", DataType::Int32, "Number of the interface in the file, from 0"),
        required("wire_length", DataType::Int64, "Bytes on the wire"),
        required("data", DataType::Binary, "Bytes captured"),
        column("name", DataType::Utf8, true, "Name of the file, where it begins"),
    ]))
}

/// Rows that have not been handed on.
struct Rows<'t> {
    ints: [Int32Builder; 4],
    longs: [Int64Builder; 5],
    data: BinaryBuilder,
    name: StringBuilder,
    bytes: usize,
    take: &'t mut dyn FnMut(RecordBatch) -> io::Result<()>,
}

/// A row without its shard.
struct Row<'a> {
    kind: i32,
    before: u64,
    clock: Time,
    name: Option<&'a str>,
    frame: Frame<'a>,
}

impl Rows<'_> {
    fn push(&mut self, shard: u32, row: &Row<'_>) -> io::Result<()> {
        let Row { kind, before, clock, name, frame } = row;
        let int = |n: u32| i32::try_from(n).unwrap_or(i32::MAX);
        let long = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
        for (to, n) in self.ints.iter_mut().zip([int(shard), *kind, frame.link.into(), int(frame.interface)])
        {
            to.append_value(n);
        }
        let (time, clock) = (frame.time.nanos(), clock.nanos());
        let longs = [Some(long(*before)), Some(long(frame.number)), time, clock, Some(frame.wire_len.into())];
        for (to, n) in self.longs.iter_mut().zip(longs) {
            to.append_option(n);
        }
        self.data.append_value(frame.bytes);
        self.name.append_option(*name);
        self.bytes += frame.bytes.len();
        if self.data.len() >= MAX_ROWS || self.bytes >= MAX_BYTES { self.hand_on() } else { Ok(()) }
    }

    fn hand_on(&mut self) -> io::Result<()> {
        self.bytes = 0;
        let [shard, kind, link, interface] = &mut self.ints;
        let [file, frame, time, clock, wire_length] = &mut self.longs;
        let columns: Vec<Arc<dyn Array>> = vec![
            Arc::new(shard.finish()),
            Arc::new(file.finish()),
            Arc::new(frame.finish()),
            Arc::new(kind.finish()),
            Arc::new(time.finish()),
            Arc::new(clock.finish()),
            Arc::new(link.finish()),
            Arc::new(interface.finish()),
            Arc::new(wire_length.finish()),
            Arc::new(self.data.finish()),
            Arc::new(self.name.finish()),
        ];
        (self.take)(RecordBatch::try_new(schema(), columns).map_err(io::Error::other)?)
    }
}

/// Reads a capture, to its end or as far as it goes, and hands on its frames in batches, each frame with the shard that it
/// is for. `before` frames stand in the files before it.
///
/// # Errors
/// The errors of `take`; the errors of the capture, after what could be read has been handed on.
pub fn frames(
    source: &mut Source,
    name: &str,
    shards: &Shards,
    before: u64,
    take: &mut dyn FnMut(RecordBatch) -> io::Result<()>,
) -> Result<(), Stopped> {
    let mut rows = Rows {
        ints: Default::default(),
        longs: Default::default(),
        data: BinaryBuilder::new(),
        name: StringBuilder::new(),
        bytes: 0,
        take,
    };
    source.count_from(before);
    // The format tells whether frames may lack a direction: only those of pcap files may; see `Pipeline::begin_file`.
    let format = source.facts().format;
    let (mut clock, mut last) = (Time::UNKNOWN, None);
    let read = source.each(|frame| {
        let with = |kind, number, bytes| Row {
            kind,
            before,
            clock: clock.max(frame.time),
            name: (kind == BEGIN).then_some(name),
            frame: Frame { number, bytes, ..*frame },
        };
        if last.is_none() {
            let row = with(BEGIN, before, format.as_bytes());
            (0..shards.count()).try_for_each(|shard| rows.push(shard, &row))?;
        }
        if let Some(shard) = shards.of(frame) {
            rows.push(shard, &with(FRAME, frame.number, frame.bytes))?;
        }
        clock = clock.max(frame.time);
        last = Some(frame.number);
        Ok(true)
    });
    if let Some(number) = last {
        let frame = Frame { number, time: clock, link: 0, interface: 0, at: 0, wire_len: 0, bytes: &[] };
        let row = Row { kind: END, before, clock, name: None, frame };
        (0..shards.count()).try_for_each(|shard| rows.push(shard, &row))?;
        rows.hand_on()?;
    }
    read
}

/// Judges the rows of one shard, which come in the order of `file`, `frame` and `kind`.
///
/// # Errors
/// When the report cannot be written, or a batch has other columns than [`schema`].
pub fn judge<S: Listener>(judge: &mut Judge<'_, S>, batch: &RecordBatch) -> Result<(), Stopped> {
    let strange = || io::Error::new(io::ErrorKind::InvalidData, "These rows are not those of frames.");
    let column = |name| batch.column_by_name(name).ok_or_else(strange);
    let longs = |name| column(name)?.as_primitive_opt::<Int64Type>().ok_or_else(strange);
    let ints = |name| column(name)?.as_primitive_opt::<Int32Type>().ok_or_else(strange);
    let [before, numbers, times] = [longs("file")?, longs("frame")?, longs("time_ns")?];
    let [clocks, lengths] = [longs("clock_ns")?, longs("wire_length")?];
    let [kinds, links, interfaces] = [ints("kind")?, ints("link")?, ints("interface")?];
    let data = column("data")?.as_binary_opt::<i32>().ok_or_else(strange)?;
    let names = column("name")?.as_string_opt::<i32>().ok_or_else(strange)?;
    for row in 0..batch.num_rows() {
        let time = |of: &arrow_array::Int64Array| match of.is_null(row) {
            true => Time::UNKNOWN,
            false => Time::from_nanos(of.value(row)),
        };
        let number = u64::try_from(numbers.value(row)).map_err(|_| strange())?;
        let link = u16::try_from(links.value(row)).map_err(|_| strange())?;
        match kinds.value(row) {
            BEGIN => {
                let format = if data.value(row) == b"pcap" { "pcap" } else { "pcapng" };
                let facts = CaptureInfo { format, links: vec![link], ..CaptureInfo::default() };
                let before = u64::try_from(before.value(row)).map_err(|_| strange())?;
                judge.begin(names.value(row), &facts, before, time(times))?;
            }
            FRAME => {
                let frame = Frame {
                    number,
                    time: time(times),
                    link,
                    interface: u32::try_from(interfaces.value(row)).map_err(|_| strange())?,
                    at: 0,
                    wire_len: u32::try_from(lengths.value(row)).map_err(|_| strange())?,
                    bytes: data.value(row),
                };
                judge.frame(&frame, time(clocks))?;
            }
            END => judge.end(&CaptureInfo::default(), number, time(clocks))?,
            _ => return Err(strange().into()),
        }
    }
    Ok(())
}
