//! Runs a subcommand over its inputs and determines the exit code.

use super::args::Reading;
#[cfg(target_os = "linux")]
use super::check::CheckArgs;
#[cfg(target_os = "linux")]
use super::choices::CheckFormat;
use super::common_args::{Common, RuleArgs};
use super::config::Config;
use super::diagnostics::{Done, OK, not_writable, note, warning};
use super::inputs::{self, Inputs};
use super::output::{Target, overwritten, to_stdout};
#[cfg(target_os = "linux")]
use super::sandbox::{self, Allowed};
use super::system::name;
use super::value_parsers::{Expression, no_rule};
use super::{check, dump, export, interrupt, overview, progress, save};
use qdissect::check::{Policy, Unknown};
use qdissect::classify::Choice;
use qdissect::contract::Budget;
use qdissect::filter::Columns;
use qdissect::pipeline::Options;
use qdissect::report::Layout;
use std::io;
use std::path::Path;
#[cfg(target_os = "linux")]
use std::path::PathBuf;

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
///
/// # Errors
/// A sentence that says what is wrong with the arguments.
pub fn run(command: &mut Reading, given: &dyn Fn(&str) -> bool) -> Result<u8, String> {
    let job = prepare(command, given)?;
    let command = &*command;
    if !command.is_live() {
        progress::begin(command.common(), command.prints_meanwhile());
    }
    Ok(finish(command, job))
}

/// Reads the inputs and writes the result; returns the exit code.
pub fn finish(command: &Reading, mut job: Job) -> u8 {
    let common = command.common();
    #[cfg(target_os = "linux")]
    if !matches!(command, Reading::Live(_)) {
        sandbox::read_files(common, &job.inputs, own_files(command));
    }
    job.inputs.order(common.write.is_none());
    let target =
        if save::silences(common) { Ok(Target::nowhere()) } else { Target::open(common.output.as_deref()) };
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
    let options = pipeline_options(common, command.all())?;
    let inputs = Inputs::find(common.files.iter().chain(&common.read), common.follow);
    if let Some(conflict) = refusal(command, common, &inputs, &config) {
        return Err(conflict);
    }
    if let Reading::Export(export) = command {
        export.prepare()?;
    }
    Ok(Job { config, chosen, options, inputs })
}

/// Where the capture of `live` and `ask` cannot go.
pub const NEEDS_FILE: &str = "-w needs a file; standard output is for the result.";

/// The reason why results cannot be written as asked: something would be overwritten.
pub fn refusal(command: &Reading, common: &Common, inputs: &Inputs, config: &Config) -> Option<String> {
    let to_pipe = common.write.as_deref().is_some_and(to_stdout);
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

/// The files that will be written, each with the option that names it.
pub fn written<'a>(command: &'a Reading, common: &'a Common) -> Vec<(&'static str, &'a Path)> {
    let capture = common.write.as_deref().filter(|path| !to_stdout(path));
    let own = capture.map(|path| ("-w", path)).into_iter();
    let mut written: Vec<_> = own.chain(common.output.as_deref().map(|path| ("--output", path))).collect();
    if let Reading::Check(check) = command {
        written.extend(check.baseline.as_deref().map(|path| ("--baseline", path)));
        written.extend(check.report.iter().map(|(_, path)| ("--report", path.as_path())));
    }
    written
}

/// Reads the inputs and writes the result to `to`.
fn read(to: &mut Target, command: &Reading, job: Job) -> io::Result<Done> {
    let Job { config, chosen, options, inputs } = job;
    match command {
        Reading::Check(a) => check::check(to, a, &config, options, inputs),
        #[cfg(unix)]
        Reading::Live(a) => super::live::live(to, a, options, chosen),
        Reading::Stats(a) => overview::stats(to, a, options, inputs),
        Reading::Export(a) => export::export(to, a, options, inputs),
        Reading::Report(a) => overview::report(to, a, &config, options, inputs),
        Reading::Summary(a) => overview::summarise(to, a, options, inputs),
        Reading::Dump(a) => dump::dump(to, a, options, chosen, inputs),
        Reading::Exchanges(a) => dump::exchanges(to, a, options, inputs),
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
    let config = load(common, given)?;
    if let Reading::Check(check) = command
        && let Some(fail_on) = config.fail_on.filter(|_| !given("fail_on"))
    {
        check.fail_on = fail_on;
    }
    Ok(config)
}

/// Loads the configuration and fills in settings that are missing on the command line. An `--output` that means standard output
/// is removed.
pub fn load(common: &mut Common, given: &dyn Fn(&str) -> bool) -> Result<Config, String> {
    // As with -w, a dash is standard output.
    common.output.take_if(|path| to_stdout(path));
    let nearest = || Config::find(&std::env::current_dir().ok()?);
    let path = match &common.configuration.config {
        None if common.configuration.no_config => None,
        None => nearest(),
        named => named.clone(),
    };
    let Some(path) = path else { return Ok(Config::default()) };
    let config = Config::load(&path)?;
    if !common.quiet {
        note(&format_args!("The configuration is {}.", name(&path)));
    }
    config.fill(common, given);
    Ok(config)
}

/// The options for the pipeline. `all` asks for datagrams that no protocol claims, too.
///
/// # Errors
/// A sentence, if an option names an unknown rule.
pub fn pipeline_options(common: &Common, all: bool) -> Result<Options, String> {
    let mut choice = Choice { pins: common.decode_as.clone(), ..Choice::default() };
    if !common.protocol.is_empty() {
        choice.protocols = Choice::only(&common.protocol);
    }
    Ok(Options {
        choice,
        timeout: common.timeout,
        min_confidence: common.min_confidence,
        all,
        secrets: common.show_secrets,
        policy: policy(&common.rules).map_err(|unknown| no_rule(&unknown.name))?,
        count: common.count,
        per_file: common.per_file,
        budget: Budget::mib(common.memory),
        watched: None,
    })
}

/// The severities that the user wants: the profile comes first, then levels, then ignored rules.
fn policy(rules: &RuleArgs) -> Result<Policy, Unknown> {
    let mut policy = Policy::new(rules.profile);
    rules.level.iter().try_for_each(|(name, severity)| policy.set_severity(name, *severity))?;
    policy.select(&rules.select)?;
    rules.ignore.iter().try_for_each(|name| policy.set_severity(name, None))?;
    Ok(policy)
}
