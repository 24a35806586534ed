//! Detects outputs that would overwrite an input, the configuration or another output.

use super::args::Reading;
use super::common_args::Common;
use super::config::Config;
use super::inputs::Inputs;
use super::output::{folder, to_stdout};
use super::save::{Mark, node};
use super::terminal::name;
use std::fs::{self, Metadata};
use std::io;
use std::path::Path;

/// Where the capture of `live` and `ask` cannot go.
pub const NEEDS_FILE: &str = "-w needs a file; standard output is for the result.";

/// The reason why results cannot be written as asked: something would be overwritten.
pub fn refusal(command: &Reading, common: &Common, inputs: &Inputs, config: &Config) -> Option<String> {
    let to_pipe = common.save.write.as_deref().is_some_and(to_stdout);
    if to_pipe {
        #[cfg(unix)]
        if let Reading::Live(_) = command {
            return Some(NEEDS_FILE.into());
        }
        let sentence = "With -w -, standard output is the capture: name a file for the result with --output, \
                        or leave the result out with -q.";
        if common.output.is_none() && !common.quiet {
            return Some(sentence.to_owned());
        }
    }
    let printed = common.output.is_none() || to_pipe;
    let read: Vec<_> = inputs.list.iter().map(|input| input.path.as_path()).collect();
    overwritten(&written(command, common), printed, &read, config)
}

/// The reason why the files `written`, each with the option that names it, cannot be written: one would replace another, what is
/// `printed` to a redirected standard output, an input that is `read`, or the configuration.
pub fn overwritten(
    written: &[(&str, &Path)],
    printed: bool,
    read: &[&Path],
    config: &Config,
) -> Option<String> {
    let printed = printed.then(|| regular(&io::stdout())).flatten();
    let stdin = regular(&io::stdin());
    let inputs = read.iter().map(|path| ("input", *path));
    let read: Vec<_> = inputs.chain(config.path.as_deref().map(|path| ("configuration", path))).collect();
    for (at, (option, path)) in written.iter().enumerate() {
        let twice = |other: &str| {
            let path = name(path);
            format!("\"{path}\" is to hold two things, that of {other}: name two files.")
        };
        if let Some((other, _)) = written.iter().take(at).find(|(_, other)| same(path, other)) {
            return Some(twice(&format!("{other} and that of {option}")));
        }
        if printed.as_ref().is_some_and(|out| is(path, out)) {
            return Some(twice(&format!("{option} and standard output")));
        }
        let replaced = |(what, from): &&(&str, &Path)| match *what == "input" && to_stdout(from) {
            true => stdin.as_ref().is_some_and(|from| is(path, from)),
            false => same(path, from),
        };
        if let Some((what, from)) = read.iter().find(replaced) {
            let from = name(from);
            return Some(format!("{option} would overwrite the {what} \"{from}\": name another file."));
        }
    }
    None
}

/// The files that will be written, each with the option that names it.
pub fn written<'a>(command: &'a Reading, common: &'a Common) -> Vec<(&'static str, &'a Path)> {
    let capture = common.save.write.as_deref().filter(|path| !to_stdout(path));
    let own = capture.map(|path| ("-w", path)).into_iter();
    let mut written: Vec<_> = own.chain(common.output.as_deref().map(|path| ("--output", path))).collect();
    if let Reading::Check(check) = command {
        written.extend(check.baseline.as_deref().map(|path| ("--baseline", path)));
        written.extend(check.report.iter().map(|(_, path)| ("--report", path.as_path())));
    }
    written
}

/// The regular file that a standard stream is redirected to or from.
#[cfg(unix)]
fn regular(stream: &impl std::os::fd::AsFd) -> Option<Metadata> {
    let stream = stream.as_fd().try_clone_to_owned().ok()?;
    fs::File::from(stream).metadata().ok().filter(Metadata::is_file)
}

#[cfg(not(unix))]
fn regular<T>(_: &T) -> Option<Metadata> {
    None
}

/// Whether a path names this file.
fn is(path: &Path, file: &Metadata) -> bool {
    fs::metadata(path).is_ok_and(|it| node(&it) == node(file))
}

/// Whether two paths name the same file, existing or not. A FIFO or a device may be used twice.
fn same(a: &Path, b: &Path) -> bool {
    match (fs::metadata(a), fs::metadata(b)) {
        (Ok(a), Ok(b)) => a.is_file() && Mark::of(&a) == Mark::of(&b),
        (Err(_), Err(_)) => {
            let place =
                |path: &Path| Some((fs::canonicalize(folder(path)).ok()?, path.file_name()?.to_owned()));
            a == b || place(a).is_some_and(|a| place(b) == Some(a))
        }
        _ => false,
    }
}
