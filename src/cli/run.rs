//! Runs a subcommand over its inputs and determines the exit code.

use super::common_args::{Common, RuleArgs};
use super::config::Config;
use super::diagnostics::{OK, not_writable, note, unless_closed, warning};
use super::inputs::{self, Inputs};
use super::job::{Job, ReadsCaptures};
use super::output::{Target, is_stdout, overwrite_conflict};
#[cfg(target_os = "linux")]
use super::sandbox;
use super::system::display_name;
use super::value_parsers::{Expression, unknown_rule};
use super::{interrupt, progress, save};
use crate::check::{Policy, Unknown};
use crate::classify::Choice;
use crate::contract::Budget;
use crate::filter::Columns;
use crate::pipeline::Options;
use crate::report::Layout;
use std::io::{self, Write};
use std::path::Path;

/// Runs a subcommand; returns the exit code. `is_given` tells whether an option was given on the command line.
///
/// # Errors
/// A sentence that says what is wrong with the arguments.
pub fn run(mut command: Box<dyn ReadsCaptures>, is_given: &dyn Fn(&str) -> bool) -> Result<u8, String> {
    let job = prepare(&mut *command, is_given)?;
    let command = &*command;
    if !command.is_live() {
        progress::begin(command.common(), command.prints_meanwhile());
    }
    Ok(finish(command, job))
}

/// Reads the inputs and writes the result; returns the exit code.
pub fn finish(command: &dyn ReadsCaptures, mut job: Job) -> u8 {
    let common = command.common();
    #[cfg(target_os = "linux")]
    if !command.is_live() {
        sandbox::read_files(common, &job.inputs, command.allowed());
    }
    job.inputs.order(common.write.is_none());
    let target =
        if save::hides_result(common) { Ok(Target::sink()) } else { Target::open(common.output.as_deref()) };
    let mut target = match target {
        Ok(target) => target.for_records(&common.records),
        Err(e) => return not_writable(common, &e),
    };
    let heading = job.heading.take().map_or(Ok(()), |heading| writeln!(target, "{heading}"));
    let read = heading.and_then(|()| command.run(&mut target, job));
    match read.and_then(|(code, files)| unless_closed(target.complete(files > 0)).map(|()| code)) {
        Ok(code) => code,
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => OK,
        Err(e) => not_writable(common, &e),
    }
}

/// Loads the configuration and checks all arguments before anything is read or written.
///
/// # Errors
/// A sentence that says what is wrong.
fn prepare(command: &mut dyn ReadsCaptures, is_given: &dyn Fn(&str) -> bool) -> Result<Job, String> {
    let config = configure(command, is_given)?;
    if let Err(e) = interrupt::watch() {
        warning(&format_args!("Ctrl-C will end it without a summary, for signals cannot be caught: {e}."));
    }
    if !command.is_live() {
        inputs::complete_inputs(command.common_mut())?;
    }
    let common = command.common();
    let columns = chosen_columns(command)?;
    let options = pipeline_options(common, command.all())?;
    let inputs = Inputs::find(common.files.iter().chain(&common.read), common.follow);
    if let Some(conflict) = output_conflict(command, common, &inputs, &config) {
        return Err(conflict);
    }
    check_records(command)?;
    command.prepare()?;
    Ok(Job { config, columns, options, inputs, heading: None, probed: vec![] })
}

/// Checks that the result has records if some of them are chosen.
///
/// # Errors
/// A sentence that says what is wrong.
pub fn check_records(command: &dyn ReadsCaptures) -> Result<(), String> {
    if command.common().records.is_empty() || command.writes_ndjson() {
        return Ok(());
    }
    Err("--records chooses among the lines of -T ndjson: give that, too.".to_owned())
}

/// The error message if `live` or `ask` is to write the capture to standard output.
pub const NEEDS_FILE: &str = "-w needs a file; standard output is for the result.";

/// The error message if the outputs would overwrite an input or each other, or if capture and result would both go to standard
/// output.
pub fn output_conflict(
    command: &dyn ReadsCaptures,
    common: &Common,
    inputs: &Inputs,
    config: &Config,
) -> Option<String> {
    let to_pipe = common.write.as_deref().is_some_and(is_stdout);
    if to_pipe {
        if command.is_live() {
            return Some(NEEDS_FILE.into());
        }
        let sentence = "With -w -, standard output is the capture: name a file for the result with --output, \
                        or leave the result out with -q.";
        if common.output.is_none() && !common.quiet && !command.result_is_capture() {
            return Some(sentence.to_owned());
        }
    }
    let prints_result = common.output.is_none() || to_pipe;
    let read: Vec<_> = inputs.list.iter().map(|input| input.path.as_path()).collect();
    overwrite_conflict(&output_files(command, common), prints_result, &read, config)
}

/// The files that will be written, each with the option that names it.
pub fn output_files<'a>(command: &'a dyn ReadsCaptures, common: &'a Common) -> Vec<(&'static str, &'a Path)> {
    let capture = common.write.as_deref().filter(|path| !is_stdout(path));
    let saved = capture.map(|path| ("-w", path)).into_iter();
    let mut output_files: Vec<_> =
        saved.chain(common.output.as_deref().map(|path| ("--output", path))).collect();
    output_files.extend(command.output_files());
    output_files
}

/// The columns that the user asks for, if the output has any.
///
/// # Errors
/// What is wrong with the filter, or which arguments contradict each other.
pub fn chosen_columns(command: &dyn ReadsCaptures) -> Result<Option<(Columns, Layout)>, String> {
    match command.common().display_filter.as_ref().and_then(Expression::error_message) {
        Some(wrong) => Err(wrong),
        None => command.columns(),
    }
}

/// Loads the configuration and fills in settings that are missing on the command line.
pub fn configure(command: &mut dyn ReadsCaptures, is_given: &dyn Fn(&str) -> bool) -> Result<Config, String> {
    let config = load(command.common_mut(), is_given)?;
    command.configure(&config, is_given);
    Ok(config)
}

/// Loads the configuration and fills in settings that are missing on the command line. An `--output` that means standard output
/// is removed.
pub fn load(common: &mut Common, is_given: &dyn Fn(&str) -> bool) -> Result<Config, String> {
    // As with -w, a dash means standard output.
    common.output.take_if(|path| is_stdout(path));
    let nearest = || Config::find(&std::env::current_dir().ok()?);
    let path = match &common.configuration.config {
        None if common.configuration.no_config => None,
        None => nearest(),
        named => named.clone(),
    };
    let Some(path) = path else { return Ok(Config::default()) };
    let config = Config::load(&path)?;
    if !common.quiet {
        note(&format_args!("The configuration is {}.", display_name(&path)));
    }
    config.fill(common, is_given);
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
        policy: policy(&common.rules).map_err(|unknown| unknown_rule(&unknown.name))?,
        count: common.count,
        per_file: common.per_file,
        budget: Budget::mib(common.memory),
        watched: None,
    })
}

/// The severities of the rules: the profile is applied first, then levels, then selected and ignored rules.
fn policy(rules: &RuleArgs) -> Result<Policy, Unknown> {
    let mut policy = Policy::new(rules.profile);
    rules.level.iter().try_for_each(|(name, severity)| policy.set_severity(name, *severity))?;
    policy.select(&rules.select)?;
    rules.ignore.iter().try_for_each(|name| policy.set_severity(name, None))?;
    Ok(policy)
}
