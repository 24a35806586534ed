//! What differs between operating systems: names and identity of files, standard streams, and terminals.

use crate::text::escape::escaped;
use std::borrow::Cow;
use std::fs::{self, File, Metadata};
use std::io;
use std::path::Path;

/// A path as text. Results have slashes on every system, so that a name in a report is the same everywhere.
pub fn path_text(path: &Path) -> Cow<'_, str> {
    let text = path.to_string_lossy();
    if cfg!(windows) { text.replace('\\', "/").into() } else { text }
}

/// A file name as text that is harmless for terminals.
pub fn display_name(path: &Path) -> String {
    escaped(&path_text(path)).into_owned()
}

/// Text with names of devices that is harmless for terminals. Those of Windows have backslashes, which are shown as they are typed.
pub fn display_devices(text: &str) -> Cow<'_, str> {
    let text = escaped(text);
    if cfg!(windows) { text.replace(r"\\", r"\").into() } else { text }
}

/// The metadata of the file at a path. Fails for reserved names on Windows: asking for the metadata of a pipe opens it, and it
/// can be opened only once.
pub fn metadata(path: &Path) -> io::Result<Metadata> {
    if is_reserved(path) { Err(io::ErrorKind::Unsupported.into()) } else { fs::metadata(path) }
}

/// Whether a regular file is on a file system that keeps files: those of the kernel look regular, but may have no end.
#[cfg(target_os = "linux")]
pub fn is_on_disk(path: &Path) -> bool {
    /// The numbers of `/proc`, `/sys`, `debugfs`, `tracefs`, `securityfs`, `bpf`, and of control groups (statfs(2)).
    const OF_THE_KERNEL: [u64; 8] =
        [0x9fa0, 0x6265_6572, 0x6462_6720, 0x7472_6163, 0x7363_6673, 0xcafe_4a11, 0x0027_e0eb, 0x6367_7270];
    let kind = rustix::fs::statfs(path).map(|system| system.f_type as u64 & 0xffff_ffff);
    kind.map_or(true, |kind| !OF_THE_KERNEL.contains(&kind))
}

/// Other systems have no such files, or do not show them as regular ones.
#[cfg(not(target_os = "linux"))]
pub fn is_on_disk(_: &Path) -> bool {
    true
}

/// Whether the name is reserved on Windows for a device or a pipe: `NUL`, `\\.\pipe\capture`.
pub fn is_reserved(path: &Path) -> bool {
    cfg!(windows) && is_reserved_name(&path.to_string_lossy())
}

fn is_reserved_name(name: &str) -> bool {
    let name = name.replace('/', "\\").to_ascii_uppercase();
    let bare = [r"\\.\", r"\\?\"].iter().find_map(|prefix| name.strip_prefix(prefix));
    let is_pipe = bare.is_some_and(|name| name.starts_with(r"PIPE\"));
    let device = bare.unwrap_or(&name).trim_end_matches(':');
    let is_port = device.len() == 4 && device.ends_with(|c: char| c.is_ascii_digit());
    let is_port = is_port && ["COM", "LPT"].iter().any(|port| device.starts_with(port));
    is_pipe || is_port || ["NUL", "CON", "CONIN$", "CONOUT$", "AUX", "PRN"].contains(&device)
}

/// Identifies a file independently of its name: by its device, and its number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FileId(u64, u64);

impl FileId {
    /// The identity and the metadata of the file at a path.
    pub fn at(path: &Path) -> Option<(FileId, Metadata)> {
        let data = metadata(path).ok().filter(Metadata::is_file)?;
        Some((FileId::found(path, &data)?, data))
    }

    #[cfg(unix)]
    fn found(_: &Path, data: &Metadata) -> Option<FileId> {
        use std::os::unix::fs::MetadataExt;
        Some(FileId(data.dev(), data.ino()))
    }

    #[cfg(windows)]
    fn found(path: &Path, _: &Metadata) -> Option<FileId> {
        FileId::of(&File::open(path).ok()?)
    }

    /// The identity of an open file; pipes and devices have none.
    #[cfg(unix)]
    pub fn of(file: &File) -> Option<FileId> {
        let data = file.metadata().ok().filter(Metadata::is_file)?;
        FileId::found(Path::new(""), &data)
    }

    #[cfg(windows)]
    pub fn of(file: &File) -> Option<FileId> {
        use winapi_util::file::{information, typ};
        let it = information(file).ok().filter(|_| typ(file).is_ok_and(|it| it.is_disk()))?;
        Some(FileId(it.volume_serial_number(), it.file_index()))
    }
}

/// A standard stream as a file.
#[cfg(unix)]
pub fn file(stream: &impl std::os::fd::AsFd) -> io::Result<File> {
    Ok(stream.as_fd().try_clone_to_owned()?.into())
}

#[cfg(windows)]
pub fn file(stream: &impl std::os::windows::io::AsHandle) -> io::Result<File> {
    Ok(stream.as_handle().try_clone_to_owned()?.into())
}

/// Whether standard input may be a capture: a pipe, a socket or a file, but not a terminal or the device that is always empty.
#[cfg(unix)]
pub fn stdin_may_be_capture() -> bool {
    use rustix::fs::FileType;
    let kind = rustix::fs::fstat(io::stdin()).map(|it| FileType::from_raw_mode(it.st_mode));
    matches!(kind, Ok(FileType::Fifo | FileType::Socket | FileType::RegularFile))
}

/// Terminals of Git for Windows are pipes, so pipes are checked for being terminals.
#[cfg(windows)]
pub fn stdin_may_be_capture() -> bool {
    let kind = winapi_util::file::typ(io::stdin());
    kind.is_ok_and(|it| it.is_disk() || it.is_pipe()) && !io::IsTerminal::is_terminal(&io::stdin())
}

/// Whether the terminal interprets escape sequences.
#[cfg(unix)]
pub fn supports_escapes() -> bool {
    true
}

/// On Windows this has to be switched on first.
#[cfg(windows)]
pub fn supports_escapes() -> bool {
    use winapi_util::console::Console;
    let mut consoles = [Console::stdout(), Console::stderr()].into_iter().flatten();
    consoles.any(|mut console| console.set_virtual_terminal_processing(true).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reserved_names_of_windows_are_recognised() {
        for name in [
            "NUL",
            "nul",
            "nul:",
            "CON",
            "com1",
            "LPT9:",
            r"\\.\pipe\a",
            "//./pipe/a b",
            r"\\?\PIPE\x",
            r"\\.\NUL",
        ] {
            assert!(is_reserved_name(name), "{name}");
        }
        for name in [
            "null",
            "a.pcap",
            "con.pcap",
            r"pipe\a",
            r"C:\nul.pcap",
            r"\\server\share\nul",
            "COM",
            "COMX",
            "",
        ] {
            assert!(!is_reserved_name(name), "{name}");
        }
    }

    #[test]
    fn a_copy_has_another_id_and_a_hard_link_has_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("a"), "a").unwrap();
        fs::copy(path("a"), path("copy")).unwrap();
        fs::hard_link(path("a"), path("b")).unwrap();
        let times = fs::FileTimes::new().set_modified(path("a").metadata().unwrap().modified().unwrap());
        File::options().write(true).open(path("copy")).unwrap().set_times(times).unwrap();
        let id = |name: &str| FileId::at(&path(name)).unwrap().0;
        assert_eq!(id("a"), id("b"));
        assert_ne!(id("a"), id("copy"));
        assert_eq!(FileId::of(&File::open(path("a")).unwrap()), Some(id("a")));
        assert!(FileId::at(folder.path()).is_none());
    }
}
