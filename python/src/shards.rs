//! Captures judged in shards, each by a separate process.

use crate::stream_batches::stream_batches;
use crate::{Table, collect_batches, filter_of, options, table_of, value_error};
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use pyo3_arrow::{PyRecordBatchReader, PySchema, PyTable};
use qdissect::capture::Source;
use qdissect::filter::Filter;
use qdissect::pipeline::Options;
use qdissect::report::{Filtered, Report};
use qdissect::tables::shards::{Judge, Scan, Shards};
use qdissect::tables::{Tables, Take, frames as rows};
use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::path::PathBuf;

type Pair = (IpAddr, IpAddr);

fn pairs(pairs: Vec<Pair>) -> impl Iterator<Item = [IpAddr; 2]> {
    pairs.into_iter().map(|(a, b)| [a, b])
}

fn sorted_pairs<'p>(pairs: impl IntoIterator<Item = &'p [IpAddr; 2]>) -> Vec<(String, String)> {
    let mut pairs: Vec<_> = pairs.into_iter().map(|[a, b]| (a.to_string(), b.to_string())).collect();
    pairs.sort_unstable();
    pairs
}

/// Who asks whom in one capture: a dictionary of frames, their number; asked, pairs of the hosts of a server and a client;
/// around, pairs of the hosts of a server and of a tunnel's end. A capture that cannot be opened has none.
///
/// >>> import qdissect
/// >>> scan = qdissect.scan("captures/demo.pcapng")
/// >>> scan["frames"], len(scan["asked"])
/// (108, 12)
#[pyfunction]
#[pyo3(signature = (path, *, protocols = None))]
pub fn scan(py: Python<'_>, path: PathBuf, protocols: Option<Vec<String>>) -> PyResult<Bound<'_, PyDict>> {
    let options = options(protocols)?;
    let scan = py.detach(|| Source::open(&path).ok().map(|mut source| Scan::of(&mut source, &options)));
    let found = PyDict::new(py);
    if let Some(Scan { forgotten: 1.., .. }) = scan {
        return Err(PyOSError::new_err(format!(
            "{}: more than {} pairs of hosts ask each other; read it as one run.",
            path.display(),
            qdissect::tables::shards::MAX_PAIRS
        )));
    }
    found.set_item("frames", scan.as_ref().map_or(0, |scan| scan.frames))?;
    found.set_item("asked", scan.as_ref().map(|scan| sorted_pairs(&scan.asked)).unwrap_or_default())?;
    found
        .set_item("around", scan.as_ref().map(|scan| sorted_pairs(&scan.tunnel_ends)).unwrap_or_default())?;
    Ok(found)
}

/// The shard of each host of a server, of what all scans found: a dictionary.
///
/// >>> import qdissect
/// >>> qdissect.deal([("192.0.2.1", "198.51.100.7"), ("192.0.2.2", "192.0.2.1")], [], 16)
/// {'192.0.2.1': 0, '192.0.2.2': 0}
#[pyfunction]
pub fn deal(asked: Vec<Pair>, around: Vec<Pair>, shards: u32) -> BTreeMap<String, u32> {
    let shards = Shards::new(pairs(asked), pairs(around), shards);
    shards.hosts().map(|(host, shard)| (host.to_string(), shard)).collect()
}

/// The frames of one capture with the shards that they are for, as a stream of batches; before it stand so many frames in other
/// captures. What cannot be read ends it. Sorted by file, frame and kind, the rows of a shard are what judge takes.
///
/// >>> import pyarrow, qdissect
/// >>> scan = qdissect.scan("captures/demo.pcapng")
/// >>> hosts = qdissect.deal(scan["asked"], scan["around"], 2)
/// >>> table = pyarrow.table(qdissect.frames("captures/demo.pcapng", hosts, 2))
/// >>> table.num_rows, table["kind"].to_pylist()[:4]
/// (107, [0, 0, 1, 1])
#[pyfunction]
#[pyo3(signature = (path, hosts, shards, *, before = 0))]
pub fn frames(path: PathBuf, hosts: HashMap<IpAddr, u32>, shards: u32, before: u64) -> PyRecordBatchReader {
    let hosts = Shards::dealt(hosts, shards);
    stream_batches(rows::schema(), move |send| {
        let Ok(mut source) = Source::open(&path) else { return Ok(()) };
        // Errors of a capture are in the table of captures.
        let _ = rows::frames(&mut source, &path.to_string_lossy(), &hosts, before, send);
        Ok(())
    })
}

/// The schema of what frames gives.
#[pyfunction]
pub fn frames_schema() -> PySchema {
    PySchema::new(rows::schema())
}

/// A table of what the frames of one shard hold, as read makes one of captures: all but "captures", which no shard knows.
#[pyfunction]
#[pyo3(signature = (frames, table, *, fields = false, display_filter = None, protocols = None))]
pub fn judge(
    py: Python<'_>,
    frames: PyRecordBatchReader,
    table: &str,
    fields: bool,
    display_filter: Option<&str>,
    protocols: Option<Vec<String>>,
) -> PyResult<PyTable> {
    let table = table_of(table)?;
    if table == Table::Captures {
        return Err(value_error(
            "A shard has frames of captures, and cannot tell of these: read them one by one.",
        ));
    }
    let judging = Judging { options: options(protocols)?, filter: filter_of(display_filter)?, frames };
    let run = |take: Box<Take<'_>>| judging.run(&mut Tables::new(&[table], fields, "{}", take));
    let batches = py.detach(|| collect_batches(run)).map_err(PyOSError::new_err)?;
    PyTable::try_new(batches, table.schema())
}

struct Judging {
    options: Options,
    filter: Option<Filter>,
    frames: PyRecordBatchReader,
}

impl Judging {
    fn run(self, report: &mut dyn Report) -> Result<(), String> {
        match self.filter.clone() {
            None => self.judge_frames(report),
            Some(filter) => {
                let secrets = self.options.secrets;
                self.judge_frames(&mut Filtered::new(filter, secrets, report))
            }
        }
    }

    fn judge_frames(self, report: &mut dyn Report) -> Result<(), String> {
        let mut judge = Judge::new(self.options, report);
        for batch in self.frames.into_reader().map_err(|e| e.to_string())? {
            let batch = batch.map_err(|e| e.to_string())?;
            rows::judge(&mut judge, &batch).map_err(|e| e.to_string())?;
        }
        judge.finish().map(drop).map_err(|e| e.to_string())
    }
}
