//! qdissect for Python: captures as Arrow tables, pasted bytes as dictionaries.

mod shards;
mod stream_batches;

use arrow_array::RecordBatch;
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3_arrow::{PyRecordBatchReader, PySchema, PyTable};
use qdissect::capture::{CaptureInfo, Source, Time};
use qdissect::classify::Choice;
use qdissect::filter::Filter;
use qdissect::net::{Datagram, Endpoint};
use qdissect::pasted::MAX_PAYLOAD;
use qdissect::pipeline::{Options, Pipeline, Stopped};
use qdissect::protocols::{Id, Level};
use qdissect::report::{Filtered, Form, Output, Records, Report, Unread};
use qdissect::tables::{Table, Tables, Take, file_id};
use std::io;
use std::path::{Path, PathBuf};
use stream_batches::stream_batches;

fn value_error(message: impl ToString) -> PyErr {
    PyValueError::new_err(message.to_string())
}

/// Finds a table by its name.
fn table_of(name: &str) -> PyResult<Table> {
    let known: Vec<_> = Table::ALL.iter().map(|table| table.name()).collect();
    Table::by_name(name)
        .ok_or_else(|| value_error(format!("There is no table \"{name}\"; there are {}.", known.join(", "))))
}

fn protocol_of(name: &str) -> PyResult<Id> {
    let known: Vec<_> = Id::ALL.iter().map(|id| id.info().name).collect();
    Id::by_name(name).ok_or_else(|| {
        value_error(format!("There is no protocol \"{name}\"; there are {}.", known.join(", ")))
    })
}

/// One path, or the paths of an iterable.
struct Paths(Vec<PathBuf>);

impl<'py> FromPyObject<'_, 'py> for Paths {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Paths> {
        match object.extract() {
            Ok(path) => Ok(Paths(vec![path])),
            Err(_) => object.try_iter()?.map(|path| path?.extract()).collect::<PyResult<_>>().map(Paths),
        }
    }
}

/// The captures to read, and whether an unreadable one is an error.
struct Reading {
    paths: Vec<PathBuf>,
    failfast: bool,
    options: Options,
    filter: Option<Filter>,
}

impl Reading {
    /// Takes the keyword arguments `display_filter`, `protocols` and `mode`.
    fn new(
        paths: Vec<PathBuf>,
        (filter, protocols, mode): (Option<&str>, Option<Vec<String>>, &str),
    ) -> PyResult<Reading> {
        let failfast = match mode {
            "permissive" => false,
            "failfast" => true,
            other => {
                return Err(value_error(format!(
                    "There is no mode \"{other}\"; there are permissive and failfast."
                )));
            }
        };
        Ok(Reading { paths, failfast, options: options(protocols)?, filter: filter_of(filter)? })
    }

    /// Reads the captures. With `failfast` an unreadable capture is an error; otherwise it is passed to the report.
    fn run(&self, report: &mut dyn Report) -> Result<(), String> {
        let mut pipeline = Pipeline::new(self.options.clone(), report);
        let mut unread = vec![];
        for path in &self.paths {
            let file = path.to_string_lossy().into_owned();
            match read_one(&mut pipeline, path, &file) {
                Ok(None) => {}
                Ok(Some(why)) if self.failfast => return Err(format!("{file}: {why}")),
                Ok(Some(why)) => unread.push(Unread { file, why }),
                Err(e) => return Err(e.to_string()),
            }
        }
        let complete = unread.is_empty();
        pipeline.set_unread(unread, false);
        pipeline.finish(complete).map(drop).map_err(|e| e.to_string())
    }

    /// Reads the captures through the filter, if there is one.
    fn run_filtered(&self, report: &mut dyn Report) -> Result<(), String> {
        match &self.filter {
            None => self.run(report),
            Some(filter) => self.run(&mut Filtered::new(filter.clone(), self.options.secrets, report)),
        }
    }
}

/// Reads one capture. Returns the reason if not all of it could be read.
fn read_one(pipeline: &mut Pipeline<'_>, path: &Path, file: &str) -> io::Result<Option<String>> {
    let read = Source::open(path).map_err(Stopped::Capture).and_then(|mut source: Source| {
        pipeline.read(&mut source, file)?;
        Ok(pipeline.why_unreadable(source.info()))
    });
    match read {
        Ok(strange) => Ok(strange),
        Err(Stopped::Capture(e)) => Ok(Some(e.to_string())),
        Err(Stopped::Report(e)) => Err(e),
    }
}

/// The captures to read, and the requested table.
struct TableRequest {
    reading: Reading,
    table: Table,
    fields: bool,
    sensor: Option<String>,
}

impl TableRequest {
    /// Passes the batches of the table to `take`.
    fn run(self, take: Box<Take<'_>>) -> Result<(), String> {
        let mut tables = Tables::new(&[self.table], self.fields, "{}", take);
        if let Some(sensor) = &self.sensor {
            tables = tables.made_by(sensor);
        }
        self.reading.run_filtered(&mut tables)
    }
}

/// The options for the pipeline, from the keyword argument `protocols`.
fn options(protocols: Option<Vec<String>>) -> PyResult<Options> {
    let mut options = Options::default();
    if let Some(names) = protocols {
        let ids = names.iter().map(|name| protocol_of(name)).collect::<PyResult<Vec<_>>>()?;
        options.choice.protocols = Choice::only(&ids);
    }
    Ok(options)
}

fn filter_of(text: Option<&str>) -> PyResult<Option<Filter>> {
    text.map(Filter::parse).transpose().map_err(value_error)
}

/// A table of what captures hold: "messages", "exchanges", "findings", "servers" or "captures".
///
/// What comes back speaks Arrow's C stream interface: pyarrow.table(it), polars.DataFrame(it), and DuckDB's queries by
/// its name take it as it is. A folder or a pattern stands for its captures; a name of nothing raises FileNotFoundError. A
/// capture that cannot be read is a row of "captures" with its error, and of no other table; with mode="failfast" it raises
/// OSError. fields=True adds all fields of each message as JSON, display_filter is one of
/// `-Y`, protocols are the names of those to look for, and the sensor stands in a column of "captures".
///
/// >>> import qdissect
/// >>> exchanges = qdissect.read(["captures/demo.pcapng"], "exchanges")
/// >>> len(exchanges)
/// 51
#[pyfunction]
#[pyo3(signature = (paths, table, *, fields = false, display_filter = None, protocols = None, mode = "permissive", sensor = None))]
#[expect(clippy::too_many_arguments, reason = "keywords of Python")]
fn read(
    py: Python<'_>,
    paths: Paths,
    table: &str,
    fields: bool,
    display_filter: Option<&str>,
    protocols: Option<Vec<String>>,
    mode: &str,
    sensor: Option<String>,
) -> PyResult<PyTable> {
    let reading = Reading::new(paths.0, (display_filter, protocols, mode))?;
    let request = TableRequest { reading, table: table_of(table)?, fields, sensor };
    let schema = request.table.schema();
    let batches = py.detach(|| collect_batches(|take| request.run(take))).map_err(PyOSError::new_err)?;
    PyTable::try_new(batches, schema)
}

/// The same as read, batch by batch while the captures are read: for tables that do not fit into memory.
///
/// >>> import pyarrow, qdissect
/// >>> stream = qdissect.stream(["captures/demo.pcapng"], "exchanges")
/// >>> sum(len(batch) for batch in pyarrow.RecordBatchReader.from_stream(stream))
/// 51
#[pyfunction]
#[pyo3(signature = (paths, table, *, fields = false, display_filter = None, protocols = None, mode = "permissive", sensor = None))]
fn stream(
    paths: Paths,
    table: &str,
    fields: bool,
    display_filter: Option<&str>,
    protocols: Option<Vec<String>>,
    mode: &str,
    sensor: Option<String>,
) -> PyResult<PyRecordBatchReader> {
    let reading = Reading::new(paths.0, (display_filter, protocols, mode))?;
    let request = TableRequest { reading, table: table_of(table)?, fields, sensor };
    let schema = request.table.schema();
    Ok(stream_batches(schema, move |send| request.run(Box::new(|_, batch| send(batch)))))
}

/// Collects the batches that `run` passes on.
fn collect_batches(
    run: impl FnOnce(Box<Take<'_>>) -> Result<(), String>,
) -> Result<Vec<RecordBatch>, String> {
    let mut batches = vec![];
    run(Box::new(|_, batch| {
        batches.push(batch);
        Ok(())
    }))?;
    Ok(batches)
}

/// The schema of a table, with a comment and a unit in the metadata of each column.
#[pyfunction]
fn schema(table: &str) -> PyResult<PySchema> {
    Ok(PySchema::new(table_of(table)?.schema()))
}

/// What one UDP payload of at most 65,507 bytes says, as the record of a packet: a dictionary.
///
/// It is taken for a request, or with response=True for an answer to one that is not there.
///
/// >>> import qdissect
/// >>> qdissect.dissect(bytes.fromhex("d5f60001a59c4384f146df0801"))["fields"]["cookie"]
/// '639307675229985957'
#[pyfunction]
#[pyo3(signature = (payload, *, protocol = None, response = false))]
fn dissect<'py>(
    py: Python<'py>,
    payload: Vec<u8>,
    protocol: Option<&str>,
    response: bool,
) -> PyResult<Bound<'py, PyAny>> {
    if payload.len() > MAX_PAYLOAD {
        return Err(value_error(format!(
            "The payload has {} bytes; UDP carries {MAX_PAYLOAD} at most.",
            payload.len()
        )));
    }
    let ids = protocol.map(protocol_of).transpose()?;
    let record = py.detach(|| packet_record(&payload, ids, response)).map_err(PyOSError::new_err)?;
    py.import("json")?.call_method1("loads", (record,))
}

/// The record of one datagram.
fn packet_record(payload: &[u8], protocol: Option<Id>, response: bool) -> Result<String, String> {
    let port = protocol.and_then(|id| id.info().ports.first().copied()).unwrap_or(9);
    let ends = [Endpoint::v4([192, 0, 2, 1], 50_000), Endpoint::v4([192, 0, 2, 2], port)];
    let [src, dst] = if response { [ends[1], ends[0]] } else { ends };
    let mut options = Options { min_confidence: Level::Low, all: true, ..Options::default() };
    if let Some(id) = protocol {
        options.choice = Choice { protocols: Choice::only(&[id]), pins: vec![(port, id)] };
    }
    let mut out = vec![];
    let mut records = Records::new(Output::new(&mut out, Form::Ndjson, false), true, false);
    let mut pipeline = Pipeline::new(options, &mut records);
    let error_text = |e: io::Error| e.to_string();
    pipeline.begin_file("bytes", &CaptureInfo::default(), Time::UNKNOWN).map_err(error_text)?;
    let datagram = Datagram { frame: 1, time: Time::from_nanos(0), ..Datagram::between(src, dst, payload) };
    pipeline.datagram(&datagram).map_err(error_text)?;
    pipeline.end_file(&CaptureInfo::default());
    pipeline.finish(true).map_err(error_text)?;
    let lines = String::from_utf8(out).map_err(|e| e.to_string())?;
    let packet = lines.lines().find(|line| line.starts_with("{\"type\":\"packet\""));
    packet.map(str::to_owned).ok_or_else(|| "The datagram has no record.".to_owned())
}

/// The number of a capture in the columns file_id, by its URI.
#[pyfunction]
fn key(uri: &str) -> i64 {
    file_id(uri)
}

#[pymodule]
fn _qdissect(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("TABLES", Table::ALL.map(|table| table.name()))?;
    module.add_function(wrap_pyfunction!(read, module)?)?;
    module.add_function(wrap_pyfunction!(stream, module)?)?;
    module.add_function(wrap_pyfunction!(schema, module)?)?;
    module.add_function(wrap_pyfunction!(dissect, module)?)?;
    module.add_function(wrap_pyfunction!(key, module)?)?;
    module.add_function(wrap_pyfunction!(shards::scan, module)?)?;
    module.add_function(wrap_pyfunction!(shards::deal, module)?)?;
    module.add_function(wrap_pyfunction!(shards::frames, module)?)?;
    module.add_function(wrap_pyfunction!(shards::frames_schema, module)?)?;
    module.add_function(wrap_pyfunction!(shards::judge, module)?)
}
