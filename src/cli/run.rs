//! Runs a subcommand over its inputs and determines the exit code.

use super::args::Reading;
use super::check;
#[cfg(target_os = "linux")]
use super::check::CheckArgs;
#[cfg(target_os = "linux")]
use super::choices::CheckFormat;
use super::config::Config;
use super::diagnostics::{error, warning};
use super::dump;
use super::exchanges;
use super::export;
use super::inputs::{self, Inputs};
use super::interrupt;
use super::outcome::{Done, FAILED, OK, not_writable};
use super::output::Target;
use super::output_conflict;
use super::progress;
use super::report;
#[cfg(target_os = "linux")]
use super::sandbox::{self, Allowed};
use super::save;
use super::settings;
use super::stats;
use super::summary;
use super::value_parsers::Expression;
use crate::filter::Columns;
use crate::pipeline::Options;
use crate::report::Layout;
use std::io;
#[cfg(target_os = "linux")]
use std::path::{Path, PathBuf};

/// The job of a subcommand, once all arguments have been checked.
pub struct Job {
    /// The configuration.
    pub config: Config,
    /// Columns that the user chose, and their layout.
    pub chosen: Option<(Columns, Layout)>,
    /// Options for the pipeline.
    pub options: Options,
    /// The inputs to read.
    pub inputs: Inputs,
}

/// Runs a subcommand; returns the exit code. `given` tells whether an option was given on the command line.
pub fn run(command: &mut Reading, given: &dyn Fn(&str) -> bool) -> u8 {
    let job = match prepare(command, given) {
        Ok(job) => job,
        Err(why) => {
            error(&why);
            return FAILED;
        }
    };
    let command = &*command;
    if !command.is_live() {
        progress::begin(command.common(), command.prints_meanwhile());
    }
    finish(command, job)
}

/// Reads the inputs and writes the result; returns the exit code.
pub fn finish(command: &Reading, mut job: Job) -> u8 {
    let common = command.common();
    #[cfg(target_os = "linux")]
    if !matches!(command, Reading::Live(_)) {
        sandbox::read_files(common, &job.inputs, own_files(command));
    }
    job.inputs.order(common.save.write.is_none());
    let target =
        if save::silences(common) { Ok(Target::Nowhere) } else { Target::open(common.output.as_deref()) };
    let mut target = match target {
        Ok(target) => target,
        Err(e) => return not_writable(common, &e),
    };
    let read = read(&mut target, command, job);
    match read.and_then(|(code, files)| target.complete(files > 0).map(|()| code)) {
        Ok(code) => code,
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => OK,
        Err(e) => not_writable(common, &e),
    }
}

/// The files that only this subcommand reads or writes.
#[cfg(target_os = "linux")]
fn own_files(command: &Reading) -> Allowed {
    match command {
        Reading::Check(check) => {
            Allowed { read: check.baseline.iter().cloned().collect(), write: reports(check), signals: false }
        }
        Reading::Export(export) => Allowed { write: export.folders(), ..Allowed::default() },
        _ => Allowed::default(),
    }
}

/// The further files that `check` writes.
#[cfg(target_os = "linux")]
fn reports(check: &CheckArgs) -> Vec<PathBuf> {
    let baseline = check.baseline.iter().filter(|_| check.update_baseline);
    let mut write: Vec<_> = check
        .report
        .iter()
        .map(|(_, path)| path)
        .chain(baseline)
        .flat_map(|path| sandbox::places(path))
        .collect();
    if check.format == CheckFormat::Github
        && let Some(summary) = std::env::var_os("GITHUB_STEP_SUMMARY")
    {
        write.extend(sandbox::places(Path::new(&summary)));
    }
    write
}

/// Loads the configuration and checks all arguments before anything is read or written.
///
/// # Errors
/// A sentence that says what is wrong.
fn prepare(command: &mut Reading, given: &dyn Fn(&str) -> bool) -> Result<Job, String> {
    let config = configure(command, given)?;
    if let Err(e) = interrupt::watch() {
        warning(&format_args!("Ctrl-C will end it without a summary, for signals cannot be caught: {e}."));
    }
    if !command.is_live() {
        inputs::complete(command.common_mut())?;
    }
    let common = command.common();
    let chosen = chosen_columns(command)?;
    let options = settings::pipeline_options(common, command.all())?;
    let inputs = Inputs::find(common.files.iter().chain(&common.read), common.follow);
    if let Some(conflict) = output_conflict::refusal(command, common, &inputs, &config) {
        return Err(conflict);
    }
    if let Reading::Export(export) = command {
        export.prepare()?;
    }
    Ok(Job { config, chosen, options, inputs })
}

/// Reads the inputs and writes the result to `to`.
fn read(to: &mut Target, command: &Reading, job: Job) -> io::Result<Done> {
    let Job { config, chosen, options, inputs } = job;
    match command {
        Reading::Check(a) => check::check(to, a, &config, options, inputs),
        #[cfg(unix)]
        Reading::Live(a) => super::live::live(to, a, options, chosen),
        Reading::Stats(a) => stats::stats(to, a, options, inputs),
        Reading::Export(a) => export::export(to, a, options, inputs),
        Reading::Report(a) => report::report(to, a, &config, options, inputs),
        Reading::Summary(a) => summary::summarise(to, a, options, inputs),
        Reading::Dump(a) => dump::dump(to, a, options, chosen, inputs),
        Reading::Exchanges(a) => exchanges::exchanges(to, a, options, inputs),
    }
}

/// The columns that the user asks for, if the output has any.
///
/// # Errors
/// What is wrong with the filter, or which arguments contradict each other.
pub fn chosen_columns(command: &Reading) -> Result<Option<(Columns, Layout)>, String> {
    if let Some(complaint) = command.common().display_filter.as_ref().and_then(Expression::complaint) {
        return Err(complaint);
    }
    match command {
        Reading::Dump(a) => a.columns.chosen(a.format),
        #[cfg(unix)]
        Reading::Live(a) => a.chosen(),
        Reading::Check(a) if a.update_baseline && a.common.display_filter.is_some() => {
            Err("--update-baseline would drop what -Y leaves out; update the baseline without a filter."
                .into())
        }
        Reading::Stats(a) => a.contradiction().map_or(Ok(None), |wrong| Err(wrong.to_owned())),
        Reading::Report(a) => a.contradiction().map_or(Ok(None), |wrong| Err(wrong.to_owned())),
        _ => Ok(None),
    }
}

/// Loads the configuration and fills in settings that are missing on the command line.
pub fn configure(command: &mut Reading, given: &dyn Fn(&str) -> bool) -> Result<Config, String> {
    let common = command.common_mut();
    let config = settings::load(common, given)?;
    if let Reading::Check(check) = command
        && let Some(fail_on) = config.fail_on.filter(|_| !given("fail_on"))
    {
        check.fail_on = fail_on;
    }
    Ok(config)
}
