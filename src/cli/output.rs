//! Output targets: standard output, or a file that appears only when it is complete.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// An open output.
pub enum Target {
    /// Standard output.
    Stdout(io::Stdout),
    /// A FIFO or a device, which must not be replaced by a file.
    Device(File),
    /// Output is discarded.
    Nowhere,
    /// A temporary file, and its final name.
    File(NamedTempFile, PathBuf),
}

impl Target {
    /// Opens standard output, or a temporary file beside `path`.
    ///
    /// # Errors
    /// When the file cannot be created.
    pub fn open(path: Option<&Path>) -> io::Result<Target> {
        let Some(path) = path else { return Ok(Target::Stdout(io::stdout())) };
        if is_device(path) {
            return Ok(Target::Device(File::options().write(true).open(path)?));
        }
        // The target of a link is replaced, and the link stays.
        let real = path.is_symlink().then(|| fs::canonicalize(path).ok()).flatten();
        let path = real.unwrap_or_else(|| path.to_owned());
        let folder = folder(&path);
        fs::metadata(folder)?;
        Ok(Target::File(aside(folder, &path)?, path))
    }

    /// Gives the file its final name. If it would contain no capture, the existing file is kept instead, because it is worth
    /// more.
    ///
    /// # Errors
    /// When it cannot be renamed.
    pub fn complete(self, any: bool) -> io::Result<()> {
        match self {
            Target::File(..) if !any => Ok(()),
            Target::Stdout(mut out) => out.flush(),
            Target::Device(mut out) => out.flush(),
            Target::Nowhere => Ok(()),
            Target::File(file, path) => {
                file.as_file().sync_all()?;
                file.persist(path).map(drop).map_err(|e| e.error)
            }
        }
    }
}

/// Whether results are written to the existing file instead of replacing it: a FIFO, a device, or a name such as `/dev/stdout`,
/// which must stay even if it leads to a regular file.
pub fn is_device(path: &Path) -> bool {
    let special =
        ["/dev", "/dev/fd"].iter().any(|it| folder(path) == Path::new(it)) || path.starts_with("/proc");
    fs::metadata(path).is_ok_and(|it| !it.is_dir() && (special || !it.is_file()))
}

/// Whether the name of an output stands for standard output.
pub fn to_stdout(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// The directory of a file.
pub fn folder(path: &Path) -> &Path {
    path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Creates the temporary file for a result, with the permissions of the file that it will replace, or with those of any new file.
fn aside(folder: &Path, path: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".qdissect-");
    // Temporary files would be private; the system takes away what the user's mask forbids.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let file = builder.tempfile_in(folder)?;
    #[cfg(unix)]
    if let Ok(replaced) = fs::metadata(path) {
        file.as_file().set_permissions(replaced.permissions())?;
    }
    Ok(file)
}

impl Write for Target {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Target::Stdout(out) => out.write(bytes),
            Target::Device(out) => out.write(bytes),
            Target::Nowhere => Ok(bytes.len()),
            Target::File(file, _) => file.write(bytes),
        }
    }
    fn flush(&mut self) -> io::Result<()> {
        match self {
            Target::Stdout(out) => out.flush(),
            Target::Device(out) => out.flush(),
            Target::Nowhere => Ok(()),
            Target::File(file, _) => file.flush(),
        }
    }
}
