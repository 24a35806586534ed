//! Runs blocks of shell as a reader would: in a checkout, with `qdissect` of this build.

use rustix::process::{Pid, Signal, kill_process_group};
use std::ffi::OsString;
use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use tempfile::{TempDir, tempdir};

/// The files of a checkout that the pages use.
const COPIED: [&str; 6] = ["captures", "docs", "tests/data", "README.md", "CHANGELOG.md", "Cargo.toml"];

/// A copy of the checkout that blocks may write into, removed with this value.
pub struct Checkout {
    folder: TempDir,
    path: OsString,
    /// A block that takes longer waits for something that never comes.
    limit: Duration,
}

/// How a block ended.
#[derive(Debug)]
pub struct Ended {
    /// `None` if it had to be stopped.
    pub status: Option<ExitStatus>,
    pub out: String,
    pub err: String,
}

impl Checkout {
    pub fn new(limit: Duration) -> Self {
        let (root, folder) = (Path::new(env!("CARGO_MANIFEST_DIR")), tempdir().unwrap());
        for name in COPIED {
            copy(&root.join(name), &folder.path().join("checkout").join(name));
        }
        let built = Path::new(env!("CARGO_BIN_EXE_qdissect")).parent().unwrap().to_owned();
        let found = std::env::var_os("PATH").unwrap_or_default();
        let path = std::env::join_paths([built].into_iter().chain(std::env::split_paths(&found))).unwrap();
        Self { folder, path, limit }
    }

    /// The folder that blocks run in.
    pub fn root(&self) -> PathBuf {
        self.folder.path().join("checkout")
    }

    /// Runs a script with `sh -eu`, without standard input.
    pub fn run(&self, script: &str) -> Ended {
        let (out, err) = (self.folder.path().join("out"), self.folder.path().join("err"));
        let mut command = Command::new("sh");
        command.args(["-eu", "-c", script]).current_dir(self.root()).stdin(Stdio::null());
        // Files instead of pipes, so that nothing blocks until it is read.
        command.stdout(File::create(&out).unwrap()).stderr(File::create(&err).unwrap());
        command.env("PATH", &self.path).env("COLUMNS", "100").env("NO_COLOR", "1").env("LC_ALL", "C.UTF-8");
        command.env_remove("GITHUB_ACTIONS").env_remove("GITHUB_STEP_SUMMARY");
        // So that the programs that the shell has started can be stopped with it.
        command.process_group(0);
        let status = wait(&mut command.spawn().unwrap(), self.limit);
        let read = |path: &Path| String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned();
        Ended { status, out: read(&out), err: read(&err) }
    }
}

/// Waits for the end, and kills the process group after the limit.
fn wait(child: &mut Child, limit: Duration) -> Option<ExitStatus> {
    let end = Instant::now() + limit;
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return Some(status);
        }
        if Instant::now() > end {
            kill_process_group(Pid::from_child(child), Signal::KILL).unwrap();
            child.wait().unwrap();
            return None;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn copy(from: &Path, to: &Path) {
    for entry in walkdir::WalkDir::new(from) {
        let entry = entry.unwrap();
        let to = match entry.path().strip_prefix(from).unwrap() {
            name if name.as_os_str().is_empty() => to.to_owned(),
            name => to.join(name),
        };
        if entry.file_type().is_dir() {
            fs::create_dir_all(&to).unwrap();
        } else {
            fs::create_dir_all(to.parent().unwrap()).unwrap();
            fs::copy(entry.path(), &to).unwrap();
        }
    }
}

/// Whether a program is on the path.
pub fn is_there(program: &str) -> bool {
    let found = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&found).any(|folder| folder.join(program).is_file())
}
