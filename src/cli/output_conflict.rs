//! Detects outputs that would overwrite an input or another output.

use super::args::Reading;
use super::common_args::Common;
use super::inputs::{Input, Inputs};
use super::output::{folder, to_stdout};
use super::save::{Mark, node};
use super::terminal::name;
use std::fs::{self, Metadata};
use std::io;
use std::path::Path;

/// The reason why results cannot be written as asked: something would be overwritten.
pub fn refusal(command: &Reading, common: &Common, inputs: &Inputs) -> Option<String> {
    if common.save.write.as_deref().is_some_and(to_stdout) {
        #[cfg(unix)]
        if let Reading::Live(_) = command {
            return Some("-w needs a file; standard output is for the result.".into());
        }
        let sentence = "With -w -, standard output is the capture: name a file for the result with --output, \
                        or leave the result out with -q.";
        if common.output.is_none() && !common.quiet {
            return Some(sentence.to_owned());
        }
    }
    let written = written(command, common);
    let printed = common.output.is_none() || common.save.write.as_deref().is_some_and(to_stdout);
    let printed = printed.then(|| regular(&io::stdout())).flatten();
    let read = regular(&io::stdin());
    for (at, (option, path)) in written.iter().enumerate() {
        if let Some((other, _)) = written.iter().take(at).find(|(_, other)| same(path, other)) {
            let path = name(path);
            return Some(format!(
                "\"{path}\" is to hold two things, that of {other} and that of {option}: name two files."
            ));
        }
        if printed.as_ref().is_some_and(|out| is(path, out)) {
            let path = name(path);
            return Some(format!(
                "\"{path}\" is to hold two things, that of {option} and standard output: name two files."
            ));
        }
        let overwritten = |input: &&Input| match to_stdout(&input.path) {
            true => read.as_ref().is_some_and(|from| is(path, from)),
            false => same(path, &input.path),
        };
        if let Some(input) = inputs.list.iter().find(overwritten) {
            let input = name(&input.path);
            return Some(format!("{option} would overwrite the input \"{input}\": name another file."));
        }
    }
    None
}

/// The files that will be written, each with the option that names it.
fn written<'a>(command: &'a Reading, common: &'a Common) -> Vec<(&'static str, &'a Path)> {
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
