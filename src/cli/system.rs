//! What the systems do each in their own way: names and identity of files, and standard streams.

use qdissect::escape::escaped;
use std::borrow::Cow;
use std::fs::{self, File, Metadata};
use std::io;
use std::path::Path;

/// A path as text. Results have slashes on every system, so that a name in a report is the same everywhere.
pub fn text(path: &Path) -> Cow<'_, str> {
    let text = path.to_string_lossy();
    if cfg!(windows) { text.replace('\\', "/").into() } else { text }
}

/// A file name as text that is harmless for terminals.
pub fn name(path: &Path) -> String {
    escaped(&text(path)).into_owned()
}

/// The metadata of the file at a path. Windows is not asked about what it keeps names for: to ask about a pipe is to open it,
/// and it can be opened only once.
pub fn metadata(path: &Path) -> io::Result<Metadata> {
    if is_reserved(path) { Err(io::ErrorKind::Unsupported.into()) } else { fs::metadata(path) }
}

/// Whether Windows keeps the name for a device or a pipe: `NUL`, `\\.\pipe\capture`.
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
pub struct Node(u64, u64);

impl Node {
    /// The identity and the metadata of the file at a path.
    pub fn at(path: &Path) -> Option<(Node, Metadata)> {
        let data = metadata(path).ok().filter(Metadata::is_file)?;
        Some((Node::found(path, &data)?, data))
    }

    #[cfg(unix)]
    fn found(_: &Path, data: &Metadata) -> Option<Node> {
        use std::os::unix::fs::MetadataExt;
        Some(Node(data.dev(), data.ino()))
    }

    #[cfg(windows)]
    fn found(path: &Path, _: &Metadata) -> Option<Node> {
        Node::of(&File::open(path).ok()?)
    }

    /// The identity of an open file; pipes and devices have none.
    #[cfg(unix)]
    pub fn of(file: &File) -> Option<Node> {
        let data = file.metadata().ok().filter(Metadata::is_file)?;
        Node::found(Path::new(""), &data)
    }

    #[cfg(windows)]
    pub fn of(file: &File) -> Option<Node> {
        use winapi_util::file::{information, typ};
        let it = information(file).ok().filter(|_| typ(file).is_ok_and(|it| it.is_disk()))?;
        Some(Node(it.volume_serial_number(), it.file_index()))
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
pub fn stdin_waits() -> bool {
    use rustix::fs::FileType;
    let kind = rustix::fs::fstat(io::stdin()).map(|it| FileType::from_raw_mode(it.st_mode));
    matches!(kind, Ok(FileType::Fifo | FileType::Socket | FileType::RegularFile))
}

/// The terminals of Git for Windows are pipes.
#[cfg(windows)]
pub fn stdin_waits() -> bool {
    let kind = winapi_util::file::typ(io::stdin());
    kind.is_ok_and(|it| it.is_disk() || it.is_pipe()) && !io::IsTerminal::is_terminal(&io::stdin())
}

/// Whether the terminal takes escape sequences for what they are.
#[cfg(unix)]
pub fn obeys_escapes() -> bool {
    true
}

/// A console of Windows has to be told first.
#[cfg(windows)]
pub fn obeys_escapes() -> bool {
    use winapi_util::console::Console;
    let mut consoles = [Console::stdout(), Console::stderr()].into_iter().flatten();
    consoles.any(|mut console| console.set_virtual_terminal_processing(true).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_windows_keeps_for_devices_and_pipes_are_known() {
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
    fn a_copy_is_another_file_and_another_name_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("a"), "a").unwrap();
        fs::copy(path("a"), path("copy")).unwrap();
        fs::hard_link(path("a"), path("b")).unwrap();
        let times = fs::FileTimes::new().set_modified(path("a").metadata().unwrap().modified().unwrap());
        File::options().write(true).open(path("copy")).unwrap().set_times(times).unwrap();
        let node = |name: &str| Node::at(&path(name)).unwrap().0;
        assert_eq!(node("a"), node("b"));
        assert_ne!(node("a"), node("copy"));
        assert_eq!(Node::of(&File::open(path("a")).unwrap()), Some(node("a")));
        assert!(Node::at(folder.path()).is_none());
    }
}
