//! The inputs: files and the contents of directories, each once, ordered by their first time stamps.

use super::common_args::Common;
use super::diagnostics::{error, warning};
use super::progress::{Meter, Metered};
use super::system::{self, stdin_may_be_capture};
use super::value_parsers::expression;
use super::{interrupt, wildcards};
use crate::capture::{Error, Source, Time};
use crate::filter::Filter;
use crate::report::{MAX_UNREAD, Unread};
use crate::text::escape::{escaped, quoted};
use hashbrown::HashSet;
use std::ffi::OsStr;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use walkdir::WalkDir;

/// File extensions of captures in directories. Digits may follow, as tcpdump and dumpcap number rotated files.
const ENDINGS: [&str; 5] = ["pcap", "pcapng", "cap", "dmp", "ntar"];
/// Extensions of compressed captures, which follow those above.
const COMPRESSED: [&str; 6] = ["gz", "zst", "lz4", "xz", "bz2", "zstd"];

/// The function that opens inputs.
pub type Open<'a> = &'a mut dyn FnMut(&Path) -> Result<Source, Error>;

/// One input.
#[derive(Debug)]
pub struct Input {
    /// The path as it was named or found.
    pub path: PathBuf,
    /// The result of opening it, if it cannot be opened twice. Boxed, because there may be a million inputs.
    opened: Option<Box<Result<Source, Error>>>,
}

/// The inputs of a run.
#[derive(Debug, Default)]
pub struct Inputs {
    /// The inputs in reading order.
    pub list: Vec<Input>,
    /// Named inputs that cannot be searched or contain no capture. This has been reported to the user.
    pub unread: Vec<Unread>,
    known_paths: HashSet<PathBuf>,
}

impl Inputs {
    /// Finds the named inputs. A file that is named or found twice counts once. Directories may be empty if new files are
    /// expected in them (`expects_files`).
    pub fn find<'a>(named: impl Iterator<Item = &'a PathBuf>, expects_files: bool) -> Inputs {
        let mut inputs = Inputs::default();
        for path in named {
            if !wildcards::has_wildcards(path) {
                inputs.add_path(path.clone(), expects_files);
                continue;
            }
            let found = wildcards::expand(path);
            if found.is_empty() && !expects_files {
                let why = "there is no file with such a name".to_owned();
                inputs.report_unread(system::path_text(path).into_owned(), why);
            }
            found.into_iter().for_each(|path| inputs.add_path(path, expects_files));
        }
        inputs
    }

    /// Adds a file, or the captures in a directory.
    fn add_path(&mut self, path: PathBuf, expects_files: bool) {
        if system::metadata(&path).is_ok_and(|it| it.is_dir()) {
            self.add_directory(&path, expects_files);
        } else {
            self.add(path);
        }
    }

    /// A single input that is open already.
    pub fn of(path: &Path, opened: Result<Source, Error>) -> Inputs {
        let input = Input { path: path.to_owned(), opened: Some(Box::new(opened)) };
        Inputs { list: vec![input], ..Inputs::default() }
    }

    fn add(&mut self, path: PathBuf) {
        let real = match system::is_reserved(&path) {
            true => path.clone(),
            false => std::fs::canonicalize(&path).unwrap_or_else(|_| path.clone()),
        };
        if self.known_paths.insert(real) {
            self.list.push(Input { path, opened: None });
        }
    }

    /// Adds the captures in a directory and its subdirectories.
    fn add_directory(&mut self, directory: &Path, expects_files: bool) {
        let mut found_any = false;
        for entry in WalkDir::new(directory).follow_links(true).sort_by_file_name() {
            match entry {
                Ok(entry) if entry.file_type().is_file() && is_capture(entry.file_name()) => {
                    if system::is_on_disk(entry.path()) {
                        found_any = true;
                        self.add(entry.into_path());
                    } else if !expects_files {
                        skip(entry.path(), "it is no regular file of a disk");
                    }
                }
                Ok(entry)
                    if !entry.file_type().is_dir() && is_capture(entry.file_name()) && !expects_files =>
                {
                    skip(
                        entry.path(),
                        "it is a device, a socket or a FIFO: only a FIFO that is named is read",
                    );
                }
                Ok(_) => {}
                // A link to a parent directory, whose files are read already.
                Err(e) if e.loop_ancestor().is_some() => {}
                // A dangling link, unless its name is that of a capture.
                Err(e) if is_dangling(&e) && !e.path().and_then(Path::file_name).is_some_and(is_capture) => {}
                // The file was removed meanwhile.
                Err(e)
                    if expects_files && e.io_error().is_some_and(|e| e.kind() == io::ErrorKind::NotFound) => {
                }
                Err(e) => {
                    let path = system::path_text(e.path().unwrap_or(directory)).into_owned();
                    let why = e.io_error().map_or_else(|| e.to_string(), io::Error::to_string);
                    self.report_unread(path, format!("it cannot be looked into: {why}"));
                }
            }
        }
        if !found_any && !expects_files {
            let why = "there is no capture in the directory: files with names such as a.pcap, a.pcapng.gz or a.pcap3 \
                       are looked for";
            self.report_unread(system::path_text(directory).into_owned(), why.to_owned());
        }
    }

    /// Reports an error about an input, and remembers it for the reports.
    fn report_unread(&mut self, file: String, why: String) {
        error(&format_args!("{}: {why}.", escaped(&file)));
        if self.unread.len() < MAX_UNREAD {
            self.unread.push(Unread { file, why });
        }
    }

    /// Orders several inputs by their first time stamps. Those without one come last, as named. The time stamp of a pipe is
    /// only known if it may be opened now (`pipes`), because a pipe cannot be opened twice.
    pub fn order(&mut self, pipes: bool) {
        if self.list.len() < 2 {
            return;
        }
        let mut timed: Vec<_> =
            self.list.drain(..).map(|mut input| (input.first_time(pipes), input)).collect();
        timed.sort_by_key(|(time, _)| (*time == Time::UNKNOWN, *time));
        self.list.extend(timed.into_iter().map(|(_, input)| input));
    }
}

impl Input {
    /// The first time stamp of the input. A pipe stays open; a file is closed again, because there may be thousands of them.
    fn first_time(&mut self, pipes: bool) -> Time {
        let file = system::metadata(&self.path).is_ok_and(|data| data.is_file());
        if !file && !pipes {
            return Time::UNKNOWN;
        }
        let mut opened = open(&self.path);
        let time = opened.as_mut().map_or(Time::UNKNOWN, Source::next_time);
        if !file {
            self.opened = Some(Box::new(opened));
        }
        time
    }

    /// Opens the input with `open`, unless it is open already.
    ///
    /// # Errors
    /// Those of `open`.
    pub fn open(&mut self, open: Open<'_>) -> Result<Source, Error> {
        self.opened.take().map_or_else(|| open(&self.path), |opened| *opened)
    }
}

/// Opens an input.
pub fn open(path: &Path) -> Result<Source, Error> {
    let meter = Meter::new(path);
    let frames = meter.as_ref().map(Meter::frames);
    let metered = |input: Box<dyn Read + Send>| -> Box<dyn Read + Send> {
        match meter {
            Some(meter) => Box::new(Metered::new(input, meter)),
            None => input,
        }
    };
    let mut source = match path.to_str() {
        // If waiting for standard input is not possible, it can still be read.
        Some("-") => {
            let stdin = interrupt::stdin().unwrap_or_else(|_| Box::new(io::stdin()));
            Source::from_reader("-", metered(stdin))
        }
        _ => Source::open_through(path, |file| metered(interrupt::stoppable(file))),
    }?;
    if let Some(frames) = frames {
        source.count_into(frames);
    }
    Ok(source)
}

/// Completes the inputs: the last word may be the filter, and if no input is named, standard input is read if it may be a
/// capture.
///
/// # Errors
/// A sentence, if the arguments contradict each other.
pub fn complete_inputs(common: &mut Common) -> Result<(), String> {
    take_trailing_filter(common)?;
    if common.files.is_empty() && common.read.is_empty() && stdin_may_be_capture() {
        common.files.push("-".into());
    }
    Ok(())
}

/// Whether a word holds what is very rare in file names, and common in filters.
pub fn looks_like_filter(word: &str) -> bool {
    [" ", "==", "&&", "||"].iter().any(|part| word.contains(part))
}

/// Takes the last word as the filter if it is not a file and looks like a filter, as tshark does.
///
/// # Errors
/// A sentence, if there is a filter already.
fn take_trailing_filter(common: &mut Common) -> Result<(), String> {
    let Some(word) = common.files.last().and_then(|path| path.to_str()) else { return Ok(()) };
    let path = Path::new(word);
    if word == "-" || system::metadata(path).is_ok() {
        return Ok(());
    }
    let Ok(filter) = expression(word);
    // The name of a capture may contain spaces, too, and paths on Windows begin with a letter.
    let is_named = path.is_absolute() || path.file_name().is_some_and(is_capture);
    if is_named && filter.filter().is_none() {
        return Ok(());
    }
    let captures = common.files.len() > 1 || !common.read.is_empty() || stdin_may_be_capture();
    // A filter may also be wrong, and its errors are reported. It begins with a letter or a digit, unlike a path that begins with
    // a slash or a dot, and it contains strings that are very rare in file names.
    let first_word = word.trim_start_matches(['!', '(']).split(|c: char| !c.is_ascii_alphanumeric()).next();
    let first_word = first_word.filter(|field| !field.is_empty());
    let looks_like_filter = looks_like_filter(word);
    let is_filter = filter.filter().is_some()
        || first_word.is_some_and(|field| Filter::parse(field).is_ok()) && path.file_name().is_some();
    if !(looks_like_filter && (first_word.is_some() || is_filter) || is_filter && captures) {
        return Ok(());
    }
    if common.display_filter.is_some() {
        let word = quoted(word);
        return Err(format!("There are two filters, that of -Y and {word}: join them with && behind -Y."));
    }
    common.files.pop();
    common.display_filter = Some(filter);
    Ok(())
}

/// Says that an entry of a directory is not read. It is no failure: nobody named it.
fn skip(path: &Path, why: &str) {
    warning(&format_args!("{} is skipped, for {why}.", system::display_name(path)));
}

/// Whether a directory entry is a link to itself or to something that does not exist.
fn is_dangling(e: &walkdir::Error) -> bool {
    let Some(path) = e.path() else { return false };
    path.is_symlink() && path.metadata().is_err_and(|e| e.kind() != io::ErrorKind::PermissionDenied)
}

/// Whether a file in a directory is a capture, judged by its name: `a.pcap`, `a.pcap12`, `a.pcap.1`, `a.pcapng.gz`.
pub fn is_capture(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    if name.starts_with('.') {
        return false;
    }
    let mut parts = name.rsplit('.').map(str::to_ascii_lowercase).peekable();
    parts.next_if(|part| COMPRESSED.contains(&part.as_str()));
    parts.next_if(|part| part.bytes().all(|b| b.is_ascii_digit()));
    let ending = parts.next().unwrap_or_default();
    parts.peek().is_some() && ENDINGS.contains(&ending.trim_end_matches(|c: char| c.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn captures_are_recognised_by_their_names() {
        for name in ["a.pcap", "A.PCAPNG", "a.b.cap", "a.pcap12", "a.pcap.1", "a.pcap.1.gz", "a.pcapng.zst"] {
            assert!(is_capture(name.as_ref()), "{name}");
        }
        for name in ["pcap", ".a.pcap", "a.gz", "a.txt", "a.pcap.txt", "a.12", "notes.md", "a.pcapx"] {
            assert!(!is_capture(name.as_ref()), "{name}");
        }
    }
}
