//! `qdissect view`: runs `report` to write the page, and opens it.
//!
//! The page is written by another process, which restricts itself like all commands that read captures and so could not start a
//! browser. This process starts the browser and parses nothing.

use super::common_args::Common;
use super::diagnostics::{FAILED, OK, error, note, stdout_exit_code};
use super::system::display_name;
use clap::Args;
use std::ffi::{OsStr, OsString};
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// `qdissect view`
#[derive(Debug, Args)]
pub struct ViewArgs {
    #[command(flatten)]
    pub common: Common,
}

/// File name of the page in its directory.
const NAME: &str = "report.html";

/// Writes the page, opens it or prints its path, and returns the exit code of `report`. `args` are the program's arguments.
///
/// # Errors
/// A sentence, if there is no place for the page.
pub fn run(command: &ViewArgs, args: Vec<OsString>) -> Result<u8, String> {
    let (page, temporary_folder) = match &command.common.output {
        Some(path) => (path.clone(), None),
        None => {
            let why = |e| format!("The page cannot be written to the folder for temporary files: {e}.");
            let folder = folder().map_err(why)?;
            (folder.join(NAME), Some(folder))
        }
    };
    let code = report(args, temporary_folder.is_some().then_some(page.as_path())).unwrap_or_else(|e| {
        error(&format_args!("`qdissect report` cannot be run: {e}."));
        FAILED
    });
    if !page.is_file() {
        // Nothing could be read, and that has been reported.
        let _ = temporary_folder.map(std::fs::remove_dir);
        return Ok(code);
    }
    // Printed first, because some browsers run until they are closed.
    let print_code = stdout_exit_code(writeln!(io::stdout(), "{}", display_name(&page)));
    if io::stdout().is_terminal()
        && let Err(why) = open(&page)
    {
        note(&format_args!("No browser was opened: {why}."));
    }
    Ok(if print_code == OK { code } else { print_code })
}

/// Creates a directory that only its owner may open.
fn folder() -> io::Result<PathBuf> {
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
    Ok(builder.prefix("qdissect-").tempdir()?.keep())
}

/// Runs `report` with the same arguments. The page is written to `output` if they do not name a file.
fn report(args: Vec<OsString>, output: Option<&Path>) -> io::Result<u8> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("report");
    if let Some(path) = output {
        command.arg("--output").arg(path);
    }
    let status = command.args(args.into_iter().skip(2)).status()?;
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(FAILED))
}

/// Opens the page with the system's default program.
fn open(page: &Path) -> Result<(), String> {
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let unix = cfg!(unix) && !cfg!(target_os = "macos");
    if unix && !["DISPLAY", "WAYLAND_DISPLAY", "BROWSER"].into_iter().any(set) {
        return Err("there is no graphical session".to_owned());
    }
    let (program, first): (&str, &[&str]) = match () {
        // Not `start`, because cmd would take `&` in a path for its own.
        () if cfg!(windows) => ("rundll32", &["url.dll,FileProtocolHandler"]),
        () if unix => ("xdg-open", &[]),
        () => ("open", &[]),
    };
    let mut command = Command::new(program);
    command.args(first.iter().map(OsStr::new)).arg(page);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(_) => Err(format!("{program} could not open the page")),
        Err(e) => Err(format!("{program} cannot be run ({e})")),
    }
}
