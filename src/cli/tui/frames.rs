//! Reads the frames of listed packets again.

use super::gather::{Shared, lock};
use super::pipe::Pipe;
use crate::browse::{IN_SPOOL, Index, Unopened, Until};
use crate::capture::Source;
use crate::pipeline::{Options, Pipeline};
use crate::report::{Lister, Opened, Report, TimeFormat};
use crate::rule::Severity;
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

/// The cells of a line, each with its severity if it is a finding.
pub type Cells = Vec<(String, Option<Severity>)>;

/// Where frames are read again.
#[derive(Debug)]
pub struct Frames {
    pipes: Vec<(PathBuf, Arc<Pipe>)>,
    spool: Option<File>,
    /// The capture read last.
    open: Option<(usize, File)>,
    options: Options,
}

impl Frames {
    /// Frames of captures, of copies of pipes, and of a spool.
    pub fn new(pipes: Vec<(PathBuf, Arc<Pipe>)>, spool: Option<File>, options: Options) -> Frames {
        Frames { pipes, spool, open: None, options }
    }

    /// Forgets which captures are open: others are read from now on.
    pub fn reset(&mut self) {
        self.open = None;
    }

    fn read(&mut self, path: Option<PathBuf>, file: usize, at: u64, buffer: &mut [u8]) -> io::Result<()> {
        if at >= IN_SPOOL {
            let spool = self.spool.as_mut().ok_or(io::ErrorKind::NotFound)?;
            return read_at(spool, at - IN_SPOOL, buffer);
        }
        let path = path.ok_or(io::ErrorKind::NotFound)?;
        if let Some((_, pipe)) = self.pipes.iter().find(|(of, _)| *of == path) {
            return pipe.read_at(at, buffer);
        }
        if self.open.as_ref().is_none_or(|(open, _)| *open != file) {
            self.open = Some((file, File::open(path)?));
        }
        let (_, open) = self.open.as_mut().ok_or(io::ErrorKind::NotFound)?;
        read_at(open, at, buffer)
    }

    /// Reports the packet of a row.
    fn report(&mut self, index: &Index, row: usize, report: &mut dyn Report) -> Result<(), Unopened> {
        let secrets = self.options.secrets;
        index.open(
            row,
            secrets,
            &mut |file, at, buffer| self.read(index.path(file), file, at, buffer),
            report,
        )
    }

    /// The packet of a row in full.
    ///
    /// # Errors
    /// A sentence.
    pub fn open(&mut self, shared: &Shared, row: usize, all: bool) -> Result<Opened, String> {
        let mut opened = Opened::new(self.options.secrets);
        let index = lock(&shared.index);
        match self.report(&index, row, &mut opened) {
            Ok(()) => return Ok(opened),
            Err(Unopened::Again) => {}
            Err(e) => return Err(format!("The packet cannot be shown: {e}.")),
        }
        let frame = index.rows().get(row).map_or(0, |row| row.frame);
        let place = index.place(frame);
        let paths: Vec<_> = (0..=place.file).filter_map(|file| index.path(file)).collect();
        drop(index);
        self.read_again(&paths, frame, all)
    }

    /// Reads the captures again up to a frame.
    fn read_again(&self, paths: &[PathBuf], frame: u64, all: bool) -> Result<Opened, String> {
        let mut opened = Opened::new(self.options.secrets);
        let mut until = Until::new(frame, &mut opened);
        let options = Options { all, ..self.options.clone() };
        let mut pipeline = Pipeline::new(options, &mut until);
        for path in paths {
            let pipe = self.pipes.iter().find(|(of, _)| of == path).map(|(_, pipe)| pipe);
            let source = match pipe {
                Some(pipe) => Source::from_reader(path, Box::new(pipe.so_far())),
                None => Source::open(path),
            };
            let mut source = source.map_err(|e| format!("The packet cannot be shown: {e}."))?;
            if pipeline.read(&mut source, &path.to_string_lossy()).is_err() {
                break; // it has been found, or the rest cannot be read
            }
        }
        let _ = pipeline.finish(true);
        match until.found {
            true => Ok(opened),
            false => Err("The packet cannot be shown: its capture has changed.".to_owned()),
        }
    }

    /// The cells of a packet's line: number, time, source, destination, protocol, length, and what it says.
    pub fn cells(&mut self, index: &Index, row: usize) -> Option<Cells> {
        let mut lister =
            Lister::new(io::sink(), false, false, false).with_time_format(TimeFormat::default()).keep_cells();
        self.report(index, row, &mut lister).ok()?;
        Some(lister.take_cells())
    }
}

/// Reads without moving the position, which the thread that writes shares.
#[cfg(unix)]
fn read_at(file: &mut File, at: u64, buffer: &mut [u8]) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, buffer, at)
}

/// There is no spool on other systems.
#[cfg(not(unix))]
fn read_at(file: &mut File, at: u64, buffer: &mut [u8]) -> io::Result<()> {
    use std::io::{Read, Seek};
    file.seek(io::SeekFrom::Start(at))?;
    file.read_exact(buffer)
}
