//! Reads the inputs into a report, and with `-w` writes the recognised packets to a new capture.
//!
//! ```text
//!  first pass    Source ──> Pipeline ──> Recorder ──> the report      frame numbers, findings
//!                  └──> spool: what cannot be read twice
//!  second pass   Source or spool ──> Writer ──> FILE
//! ```
//! It takes two passes, because some datagrams are recognised only after later ones have been seen.

use super::choices::Annotate;
use super::common_args::Common;
use super::diagnostics::{Done, FAILED, OK, error, error_text, note, warning};
use super::inputs::{Inputs, open};
use super::interrupt;
use super::output::{FileVersion, Target, folder, is_stdout};
use super::read::read_with;
use super::system::{self, display_name};
use crate::capture::{self, Comments, Source, Writer};
use crate::pipeline::Options;
use crate::report::{Recorder, Recording, Remarks, Report, Totals, count};
use crate::text::escape::quoted;
use std::fs::{self, File};
use std::io::{self, BufWriter, ErrorKind, Read, Seek, Write};
use std::path::{Path, PathBuf};

/// Size of the output buffer in bytes.
pub const BUFFER: usize = 256 * 1024;
/// The program's name in captures.
pub const APPLICATION: &str = concat!("qdissect ", env!("CARGO_PKG_VERSION"));

/// What is wrong with an input that is read again.
pub const HAS_CHANGED: &str = "has changed since it was read, and no capture was written; run it again";

/// Whether no result can be printed, because the capture goes to standard output.
pub fn hides_result(common: &Common) -> bool {
    common.output.is_none() && common.write.as_deref().is_some_and(is_stdout)
}

/// How to read an input again.
#[derive(Debug)]
pub enum Reopen {
    /// A file, and its version when it was opened.
    File(Option<FileVersion>),
    /// A copy that was made while it was read.
    Copy(File),
}

impl Reopen {
    /// Opens the input again, if it has not changed.
    pub fn open(self, path: &Path) -> Option<Source> {
        match self {
            Reopen::File(version) => {
                let now = FileVersion::at(path);
                // `inputs::open` is not used, because its inputs end at a signal. After a signal the file must still be read again as
                // far as before.
                Source::open(path).ok().filter(|_| now.is_some() && now == version)
            }
            Reopen::Copy(mut copy) => {
                copy.rewind().ok()?;
                Source::from_reader(path, Box::new(copy)).ok()
            }
        }
    }
}

/// The opened inputs, in order.
#[derive(Debug)]
pub struct OpenedInputs {
    /// Directory for copies.
    folder: PathBuf,
    opened: Vec<(PathBuf, Reopen)>,
}

impl OpenedInputs {
    /// None yet; copies are made in this directory.
    pub fn new(folder: PathBuf) -> OpenedInputs {
        OpenedInputs { folder, opened: vec![] }
    }

    /// The inputs, and how to read each again.
    pub fn again(self) -> impl Iterator<Item = (PathBuf, Reopen)> {
        self.opened.into_iter()
    }

    /// Opens an input so that it can be read again later.
    pub fn open(&mut self, path: &Path) -> Result<Source, capture::Error> {
        let stdin = path.as_os_str() == "-";
        let other = |it: fs::Metadata| !it.is_file() && !it.is_dir();
        if stdin || system::is_reserved(path) || fs::metadata(path).is_ok_and(other) {
            return self.open_once(path, stdin);
        }
        let version = FileVersion::at(path);
        let source = open(path)?;
        self.opened.push((path.to_owned(), Reopen::File(version)));
        Ok(source)
    }

    /// Opens an input that can be read only once, and copies it while it is read.
    fn open_once(&mut self, path: &Path, stdin: bool) -> Result<Source, capture::Error> {
        let from = match File::open(path) {
            _ if stdin => interrupt::stdin().unwrap_or_else(|_| Box::new(io::stdin())),
            Ok(file) => interrupt::stoppable(file),
            Err(_) => return open(path), // `open` has the error message
        };
        let copy = tempfile::tempfile_in(&self.folder).and_then(|file| Ok((file.try_clone()?, file)));
        let (to, copy) = match copy {
            Ok((to, copy)) => (Ok(to), Some(copy)),
            Err(e) => (Err(e), None),
        };
        let source = Source::from_reader(path, Box::new(Tee { from, to, folder: self.folder.clone() }))?;
        // Without a copy there is no source either.
        self.opened.extend(copy.map(|copy| (path.to_owned(), Reopen::Copy(copy))));
        Ok(source)
    }
}

/// Copies an input while it is read.
struct Tee {
    from: Box<dyn Read + Send>,
    to: io::Result<File>,
    /// Directory of the copy.
    folder: PathBuf,
}

impl Read for Tee {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let failed = |e: &io::Error| {
            let folder = system::path_text(&self.folder);
            let message =
                format!("the copy that -w needs cannot be made in {}: {}", quoted(&folder), error_text(e));
            let temporary = self.folder == std::env::temp_dir();
            let variable = if cfg!(windows) { "TMP" } else { "TMPDIR" };
            let hint = format!("; the variable {variable} names another folder");
            io::Error::other(message + if temporary { &hint } else { "" })
        };
        let to = self.to.as_mut().map_err(|e| failed(e))?;
        let length = self.from.read(buffer)?;
        to.write_all(buffer.get(..length).unwrap_or_default()).map_err(|e| failed(&e))?;
        Ok(length)
    }
}

/// Reads every input into one report, through the display filter if there is one, and with `-w` writes a capture of what was
/// found.
pub fn read_all(
    common: &Common,
    options: Options,
    inputs: Inputs,
    report: &mut dyn Report,
) -> io::Result<(Totals, u8)> {
    match &common.write {
        Some(path) => read_and_save(path, common, options, inputs, report),
        None => read_with(common, options, inputs, report, &mut open),
    }
}

/// Reads every input into a list of packets or exchanges, which would be empty without a word if `-c` ends before the first of them.
pub fn read_list(
    common: &Common,
    options: Options,
    inputs: Inputs,
    report: &mut dyn Report,
) -> io::Result<Done> {
    let (totals, code) = read_all(common, options, inputs, report)?;
    if let Some(limit) = common.count
        && (totals.recognised, code) == (0, OK)
        && totals.packets > 0
        && !common.quiet
    {
        let frames = count(limit.min(totals.packets), "frame");
        note(&format_args!("The first {frames} hold no query traffic: -c counts all frames, as in tshark."));
    }
    Ok((code, totals.files))
}

/// Reads every input into one report, and writes the packets that reached the report to `path`.
fn read_and_save(
    path: &Path,
    common: &Common,
    options: Options,
    inputs: Inputs,
    report: &mut dyn Report,
) -> io::Result<(Totals, u8)> {
    let to = Some(path).filter(|path| !is_stdout(path));
    let mut target = match Target::open(to) {
        Ok(target) => target,
        Err(e) => {
            report_unwritable(path, &e);
            return Ok((Totals::default(), FAILED));
        }
    };
    let is_file = target.file().is_some();
    let folder = if is_file { folder(path).to_owned() } else { std::env::temp_dir() };
    let mut opened = OpenedInputs::new(folder);
    let remarks = match common.annotate {
        None => Remarks::None,
        Some(Annotate::Findings) => Remarks::Findings,
        Some(Annotate::Fields) => Remarks::Fields { secrets: common.show_secrets },
    };
    let mut recorder = Recorder::new(report, remarks);
    let (totals, code) = read_with(common, options, inputs, &mut recorder, &mut |path| opened.open(path))?;
    let (mut kept, report_error) = recorder.into_parts();
    let written = write(&mut target, opened, &mut kept).and_then(|changed| match changed {
        None => target.complete(totals.files > 0).map(|()| None),
        changed => Ok(changed),
    });
    let code = match written {
        Ok(None) => {
            warn_left_out(&kept);
            code
        }
        Ok(Some(changed)) => {
            error(&format_args!("\"{}\" {HAS_CHANGED}.", display_name(&changed)));
            FAILED
        }
        // The reader of the capture went away.
        Err(e) if to.is_none() && e.kind() == ErrorKind::BrokenPipe => code,
        Err(e) => {
            report_unwritable(path, &e);
            FAILED
        }
    };
    report_error.map_or(Ok((totals, code)), Err)
}

/// The second pass: writes the kept packets of every input, and removes the comments that it writes from `kept`. Returns
/// the input that has changed since the first pass, if one has.
fn write(target: &mut Target, inputs: OpenedInputs, kept: &mut Recording) -> io::Result<Option<PathBuf>> {
    let mut writer = Writer::new(BufWriter::with_capacity(BUFFER, target), APPLICATION)?;
    for (input, ((path, reopening), capture)) in inputs.again().zip(&kept.captures).enumerate() {
        let last = capture.frames.last();
        if last == 0 {
            continue;
        }
        let Some(mut source) = reopening.open(&path) else { return Ok(Some(path)) };
        let original_comments = Comments::default();
        source.comment_into(&original_comments);
        loop {
            let Ok(Some(frame)) = source.next() else { return Ok(Some(path)) };
            if capture.frames.has(frame.number) {
                // The original comments come first.
                let original = original_comments.of(frame.number);
                let original = original.iter().flat_map(|texts| texts.iter()).map(|text| text.to_string());
                let found = kept.comments.remove(&(input, frame.number)).unwrap_or_default();
                let fields = kept.fields.remove(&(input, frame.number));
                let comments: Vec<String> = original.chain(found).chain(fields).collect();
                writer.frame(input, &capture.facts, &frame, &comments)?;
            }
            if frame.number >= last {
                break;
            }
        }
        writer.statistics(input, &capture.facts)?;
    }
    writer.finish()?;
    Ok(None)
}

/// Warns about findings and fields that did not fit into comments.
fn warn_left_out(kept: &Recording) {
    if kept.without_fields > 0 {
        let messages = count(kept.without_fields, "message");
        warning(&format_args!("Comments leave out the fields of {messages} for want of room."));
    }
    let left_out = kept.comments.values().map(|original| original.len() as u64).sum::<u64>() + kept.more;
    if left_out > 0 {
        warning(&format_args!("Comments leave out {} for want of room.", count(left_out, "finding")));
    }
}

/// Reports that a capture cannot be written.
pub fn report_unwritable(path: &Path, e: &io::Error) {
    let to = if is_stdout(path) { "standard output".into() } else { format!("\"{}\"", display_name(path)) };
    error(&format_args!("The capture cannot be written to {to}: {}.", error_text(e)));
}
