//! Reads the inputs into a report, and prints errors about them.

use super::common_args::Common;
use super::diagnostics::{FAILED, OK, error, note, warning};
use super::follow::Follow;
use super::inputs::{Input, Inputs, Open, looks_like_filter};
use super::interrupt;
use super::system::{self, display_name};
use super::value_parsers::Expression;
use crate::capture::{self, ErrorKind, Source};
use crate::filter::Filter;
use crate::pipeline::{Options, Pipeline, Stopped};
use crate::report::{Filtered, MAX_UNREAD, Missed, Report, Totals, Unread, count};
use std::collections::VecDeque;
use std::num::NonZeroUsize;
use std::path::Path;
use std::time::Duration;
use std::{io, thread};

/// After this time without data, packets that are held back for reordering are processed.
pub const QUIET: Duration = Duration::from_millis(200);

/// Files of at least this size in bytes are read ahead by a thread of their own. For compressed files the limit is lower. For
/// smaller files, starting the thread takes longer than it saves.
const LARGE: u64 = 32 << 20;
const LARGE_COMPRESSED: u64 = 2 << 20;

/// The names of the subcommands. [`args`](super::args) has them as well, but it imports this file indirectly.
const SUBCOMMANDS: &[&str] = &[
    "summary",
    "dump",
    "check",
    "exchanges",
    "live",
    "stats",
    "server",
    "diff",
    "reduce",
    "anonymise",
    #[cfg(feature = "tui")]
    "tui",
    "export",
    "report",
    "hex",
    "ask",
    "answer",
    "view",
    "rule",
    "protocol",
    "generate",
];

/// Reads every input into one report, through the display filter if there is one. `open` opens the inputs.
pub fn read_with(
    common: &Common,
    options: Options,
    inputs: Inputs,
    report: &mut dyn Report,
    open: Open<'_>,
) -> io::Result<(Totals, u8)> {
    let secrets = options.secrets;
    read_filtered(common, secrets, report, |report| read_into(common, options, inputs, report, open))
}

/// Reads every input into one report, without a filter.
fn read_into(
    common: &Common,
    options: Options,
    inputs: Inputs,
    report: &mut dyn Report,
    open: Open<'_>,
) -> io::Result<(Totals, u8)> {
    let mut pipeline = Pipeline::new(options, report);
    let (mut code, mut complete) = (OK, true);
    let mut unread = inputs.unread;
    if !unread.is_empty() {
        (code, complete) = (FAILED, false);
    } else if inputs.list.is_empty() && !common.follow {
        error(&"No capture is named. Name a file, a directory, or - for standard input.");
        (code, complete) = (FAILED, false);
    }
    let named = || common.files.iter().chain(&common.read).cloned().collect();
    let mut follow = common.follow.then(|| Follow::new(named()));
    let mut list = VecDeque::from(inputs.list);
    loop {
        let is_enough = common.count.is_some_and(|limit| pipeline.totals().packets >= limit);
        if let Some(follow) = &mut follow
            && list.is_empty()
            && !is_enough
        {
            list.extend(follow.wait_for_files());
        }
        let Some(input) = list.pop_front() else { break };
        let last = list.is_empty();
        let growing = follow.as_mut().map(|f| (f, last));
        let file = system::path_text(&input.path).into_owned();
        if let Err((failed, why)) = read_one(&mut pipeline, input, open, growing, common)? {
            complete = false;
            if unread.len() < MAX_UNREAD {
                unread.push(Unread { file, why });
            }
            if let Some(signal) = interrupt::caught() {
                code = signal;
                break;
            }
            code = code.max(failed);
        }
    }
    pipeline.set_unread(unread, code == OK);
    let totals = pipeline.finish(complete)?;
    if totals.judged_later > 0 {
        note(&format_args!(
            "{} answered nothing, or nothing but challenges, or in one direction only: the summary, `check`, `report` and \
             `export` judge that at the end, and count otherwise.",
            count(totals.judged_later, "server")
        ));
    }
    Ok((totals, code))
}

/// The exit code for an input that was not read to its end, and what is wrong, as a clause.
type Unfinished = (u8, String);

/// Reads one input, and prints an error if it could not be read to its end.
fn read_one(
    pipeline: &mut Pipeline<'_>,
    mut input: Input,
    open: Open<'_>,
    follow: Option<(&mut Follow, bool)>,
    common: &Common,
) -> io::Result<Result<(), Unfinished>> {
    let mut grows = false;
    let opened = match follow {
        Some((follow, true)) => {
            grows = true;
            follow.open(&mut input)
        }
        Some((follow, false)) => {
            follow.mark_read(&input.path);
            input.open(open)
        }
        None => input.open(open),
    };
    let path = &input.path;
    let mut source = match opened {
        Ok(source) => source,
        Err(e) => return Ok(not_opened(path, &e)),
    };
    let file = system::path_text(path);
    let read = match grows {
        true => pipeline.follow(&mut source, &file, QUIET, &mut |_| {}),
        false if threads(common) > 1 && is_large(path, &source) => pipeline.read_ahead(&mut source, &file),
        false => pipeline.read(&mut source, &file),
    };
    match read {
        Ok(()) if grows && interrupt::caught().is_some() => return Ok(interrupted(path)),
        Ok(()) => {}
        Err(Stopped::Report(e)) => return Err(e),
        Err(Stopped::Capture(_)) if interrupt::caught().is_some() => return Ok(interrupted(path)),
        Err(Stopped::Capture(e)) if e.kind() == ErrorKind::CutShort && common.allow_truncated => {
            warning(&format_args!("{}: {e}.", display_name(path)));
            return Ok(Err((OK, e.to_string())));
        }
        Err(Stopped::Capture(e)) => return Ok(report_error(path, e.to_string())),
    }
    Ok(pipeline.why_unreadable(source.info()).map_or(Ok(()), |why| report_error(path, why)))
}

/// The number of threads to use.
fn threads(common: &Common) -> usize {
    let threads = common.threads.or_else(|| thread::available_parallelism().ok());
    threads.map_or(1, NonZeroUsize::get)
}

/// Whether a file is large enough for a thread of its own.
fn is_large(path: &Path, source: &Source) -> bool {
    let large = if source.info().compression.is_some() { LARGE_COMPRESSED } else { LARGE };
    system::metadata(path).is_ok_and(|data| data.is_file() && data.len() >= large)
}

/// Reports that an input cannot be opened, with a hint if it looks like a misplaced subcommand.
fn not_opened(path: &Path, e: &capture::Error) -> Result<(), Unfinished> {
    if interrupt::caught().is_some() {
        return interrupted(path);
    }
    let hint = match () {
        () if is_subcommand_name(path) => "; if the subcommand is meant, it comes first",
        () if is_filter(path) => "; a filter comes last, or behind -Y",
        () if path.as_os_str() == "-" && e.kind() == ErrorKind::NotACapture => {
            "; - is standard input, and a file or a directory can be named in its place"
        }
        () => "",
    };
    report_error(path, format!("{e}{hint}"))
}

/// Whether the name of a missing file is an expression with an operator.
fn is_filter(path: &Path) -> bool {
    let text = path.to_str().filter(|text| looks_like_filter(text));
    text.is_some_and(|text| Filter::parse(text).is_ok() && system::metadata(path).is_err())
}

/// Reports that a signal ended the reading.
fn interrupted(path: &Path) -> Result<(), Unfinished> {
    report_error(path, "the reading was interrupted; what follows is about the part before that".to_owned())
}

/// Whether the name of a missing file is that of a subcommand.
fn is_subcommand_name(path: &Path) -> bool {
    SUBCOMMANDS.iter().any(|name| path.as_os_str() == *name) && !path.exists()
}

/// Reports what is wrong with an input.
fn report_error(path: &Path, what: String) -> Result<(), Unfinished> {
    error(&format_args!("{}: {what}.", display_name(path)));
    Err((FAILED, what))
}

/// Reads into a report through the display filter, if there is one, and warns about headers, values and exchanges that the filter
/// could not take into account. The totals count only what passes it.
pub fn read_filtered(
    common: &Common,
    secrets: bool,
    report: &mut dyn Report,
    read: impl FnOnce(&mut dyn Report) -> io::Result<(Totals, u8)>,
) -> io::Result<(Totals, u8)> {
    let filter = common.display_filter.as_ref().and_then(Expression::filter);
    let Some(filter) = filter else { return read(report) };
    let mut filtered = Filtered::new(filter.clone(), secrets, report);
    let (totals, code) = read(&mut filtered)?;
    warn_missed("The filter", filtered.missed());
    Ok((filtered.narrow(&totals), code))
}

/// Prints warnings about headers, values and exchanges that the `subject`, the filter or the columns, could not take into
/// account.
pub fn warn_missed(subject: &str, missed: Missed) {
    missed.sentences(subject).iter().for_each(|sentence| warning(sentence));
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_names_of_all_subcommands_are_known() {
        let command = super::super::args::Cli::command();
        let names: Vec<_> = command.get_subcommands().map(clap::Command::get_name).collect();
        assert_eq!(names, SUBCOMMANDS);
    }
}
