//! Output targets: standard output, or a file that appears only when it is complete; and which outputs would overwrite an
//! input, the configuration or another output.

use super::config::Config;
use super::system::{self, FileId, display_name};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// Maximum number of links that are followed one after another, as in Linux, because there may be a circle of links.
const MAX_LINKS: u32 = 40;

/// An open output.
pub struct Target {
    place: Place,
    /// The records that it lets pass, if not all.
    chosen: Option<ChosenRecords>,
}

/// Where an output goes.
enum Place {
    /// Standard output, or a FIFO or a device, which must not be replaced by a file.
    Stream(Box<dyn Write + Send>),
    /// A temporary file, and its final name.
    File(NamedTempFile, PathBuf),
}

/// Lets pass the lines of NDJSON that are records of some types.
struct ChosenRecords {
    /// How these lines begin.
    beginnings: Vec<Vec<u8>>,
    /// A line whose end has not been written yet.
    line: Vec<u8>,
}

impl Target {
    /// Discards the output.
    pub fn sink() -> Target {
        Target::to(Place::Stream(Box::new(io::sink())))
    }

    /// Opens standard output, or a temporary file beside `path`.
    ///
    /// # Errors
    /// When the file cannot be created.
    pub fn open(path: Option<&Path>) -> io::Result<Target> {
        let Some(path) = path else { return Ok(Target::to(Place::Stream(Box::new(io::stdout())))) };
        if is_device(path) {
            let device = File::options().write(true).open(path)?;
            return Ok(Target::to(Place::Stream(Box::new(device))));
        }
        let path = resolve_links(path);
        if path.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        let folder = folder(&path);
        fs::metadata(folder)?;
        Ok(Target::to(Place::File(temporary_file(folder, &path)?, path)))
    }

    fn to(place: Place) -> Target {
        Target { place, chosen: None }
    }

    /// The same, for lines of NDJSON of which only records of these types are written; without types, all.
    pub fn for_records(mut self, types: &[String]) -> Target {
        let beginning = |name: &String| format!("{{\"type\":\"{name}\"").into_bytes();
        let beginnings: Vec<_> = types.iter().map(beginning).collect();
        self.chosen = (!types.is_empty()).then_some(ChosenRecords { beginnings, line: vec![] });
        self
    }

    /// The temporary file and its final name, if the output is a file.
    pub fn file(&self) -> Option<(&NamedTempFile, &Path)> {
        match &self.place {
            Place::Stream(_) => None,
            Place::File(file, path) => Some((file, path)),
        }
    }

    /// Gives the file its final name. If it would contain no capture, the existing file is kept instead, because it is worth
    /// more.
    ///
    /// # Errors
    /// When it cannot be renamed.
    pub fn complete(mut self, has_capture: bool) -> io::Result<()> {
        self.flush()?;
        match self.place {
            Place::File(file, path) if has_capture => {
                file.as_file().sync_all()?;
                file.persist(path).map(drop).map_err(|e| e.error)
            }
            Place::Stream(_) | Place::File(..) => Ok(()),
        }
    }
}

impl ChosenRecords {
    /// Takes bytes, and appends the lines that end in them and pass to `out`.
    fn pass(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(piece);
            if piece.ends_with(b"\n") {
                if self.beginnings.iter().any(|beginning| self.line.starts_with(beginning)) {
                    out.extend_from_slice(&self.line);
                }
                self.line.clear();
            }
        }
    }
}

impl Write for Place {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Place::Stream(out) => out.write(bytes),
            Place::File(file, _) => file.write(bytes),
        }
    }
    fn flush(&mut self) -> io::Result<()> {
        match self {
            Place::Stream(out) => out.flush(),
            Place::File(file, _) => file.flush(),
        }
    }
}

impl Write for Target {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(chosen) = &mut self.chosen else { return self.place.write(bytes) };
        let mut passed = vec![];
        chosen.pass(bytes, &mut passed);
        self.place.write_all(&passed)?;
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        self.place.flush()
    }
}

/// Writes a file through a temporary one.
///
/// # Errors
/// When it cannot be written.
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut target = Target::open(Some(path))?;
    target.write_all(bytes)?;
    target.complete(true)
}

/// Whether results are written to the existing file instead of replacing it: a FIFO, a device, or a name such as `/dev/stdout`,
/// which must stay even if it leads to a regular file.
pub fn is_device(path: &Path) -> bool {
    let special =
        ["/dev", "/dev/fd"].iter().any(|it| folder(path) == Path::new(it)) || path.starts_with("/proc");
    let existing = || fs::metadata(path).is_ok_and(|it| !it.is_dir() && (special || !it.is_file()));
    system::is_reserved(path) || existing()
}

/// Whether the name of an output stands for standard output.
pub fn is_stdout(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// The file that a path leads to after following links, whether it exists or not. Results replace this file, and the links stay.
pub fn resolve_links(path: &Path) -> PathBuf {
    let mut path = path.to_owned();
    for _ in 0..MAX_LINKS {
        let Ok(to) = fs::read_link(&path) else { break };
        path = folder(&path).join(to);
    }
    path
}

/// The directory of a file.
pub fn folder(path: &Path) -> &Path {
    path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Creates the temporary file for a result, with the permissions of the file that it will replace, or with those of any new file.
#[cfg_attr(not(unix), expect(unused_variables, reason = "other systems have no such permissions"))]
fn temporary_file(folder: &Path, path: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".qdissect-");
    // The default for temporary files would be private; the system applies the user's umask.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let file = builder.tempfile_in(folder)?;
    #[cfg(unix)]
    if let Ok(replaced) = fs::metadata(path) {
        file.as_file().set_permissions(replaced.permissions())?;
    }
    Ok(file)
}

/// Identifies a version of a file, to detect later changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileVersion {
    len: u64,
    modified: Option<std::time::SystemTime>,
    node: FileId,
}

impl FileVersion {
    /// The current version of the file at a path.
    pub fn at(path: &Path) -> Option<FileVersion> {
        let (node, data) = FileId::at(path)?;
        Some(FileVersion { len: data.len(), modified: data.modified().ok(), node })
    }
}

/// The error message if one of the files `written`, each with the option that names it, would replace another of them, the file
/// that standard output is redirected to (if something is `printed`), an input (`read`) or the configuration.
pub fn overwrite_conflict(
    written: &[(&str, &Path)],
    printed: bool,
    read: &[&Path],
    config: &Config,
) -> Option<String> {
    let printed = printed.then(|| regular_file(system::file(&io::stdout()))).flatten();
    let stdin = regular_file(system::file(&io::stdin()));
    let inputs = read.iter().map(|path| ("input", *path));
    let read: Vec<_> = inputs.chain(config.path.as_deref().map(|path| ("configuration", path))).collect();
    for (at, (option, path)) in written.iter().enumerate() {
        let conflict = |other: &str| {
            let path = display_name(path);
            format!("\"{path}\" is to hold two things, that of {other}: name two files.")
        };
        if let Some((other, _)) = written.iter().take(at).find(|(_, other)| is_same_file(path, other)) {
            return Some(conflict(&format!("{other} and that of {option}")));
        }
        if printed.is_some_and(|out| is_file(path, out)) {
            return Some(conflict(&format!("{option} and standard output")));
        }
        let replaced = |(what, from): &&(&str, &Path)| match *what == "input" && is_stdout(from) {
            true => stdin.is_some_and(|from| is_file(path, from)),
            false => is_same_file(path, from),
        };
        if let Some((what, from)) = read.iter().find(replaced) {
            let from = display_name(from);
            return Some(format!("{option} would overwrite the {what} \"{from}\": name another file."));
        }
    }
    None
}

/// The regular file that a standard stream is redirected to or from.
fn regular_file(stream: io::Result<File>) -> Option<FileId> {
    stream.ok().as_ref().and_then(FileId::of)
}

/// Whether a path names this file.
fn is_file(path: &Path, file: FileId) -> bool {
    FileId::at(path).is_some_and(|(node, _)| node == file)
}

/// Whether two paths name the same file, existing or not. A FIFO or a device may be used twice.
fn is_same_file(a: &Path, b: &Path) -> bool {
    match (system::metadata(a), system::metadata(b)) {
        (Ok(_), Ok(_)) => FileId::at(a).is_some_and(|(a, _)| is_file(b, a)),
        (Err(_), Err(_)) if !system::is_reserved(a) => {
            let place = |path: &Path| {
                let path = resolve_links(path);
                Some((fs::canonicalize(folder(&path)).ok()?, path.file_name()?.to_owned()))
            };
            a == b || place(a).is_some_and(|a| place(b) == Some(a))
        }
        _ => false,
    }
}
