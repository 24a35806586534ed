//! Runs a subcommand over its inputs and maps what happened to an exit code.

use super::args::{Reading, SummaryArgs};
use super::check;
use super::choices::{Colour, ProfileName};
use super::columns;
use super::common_args::{Common, RuleArgs};
use super::config::Config;
use super::diagnostics::{error, note, warning};
use super::export;
use super::inputs::{self, Inputs};
use super::interrupt;
use super::outcome::{Done, FAILED, OK, not_writable};
use super::output::Target;
use super::output_conflict;
use super::progress;
use super::save::{self, read_all, read_to_end};
use super::stats;
use super::terminal::{self, name};
use super::values::no_rule;
use crate::check::{Policy, Profile, Unknown};
use crate::classify::Choice;
use crate::contract::Budget;
use crate::filter::Columns;
use crate::pipeline::Options;
use crate::report::screen::{self, Screen};
use crate::report::summary::{self, Summary};
use crate::report::{ExchangeRows, Exchanges, Form, Layout, Lister, Output, Records, Totals, server_rows};
use std::io;

/// What a subcommand is to do, once everything that the user has given makes sense.
pub struct Job {
    /// The configuration.
    pub config: Config,
    /// Columns of the user's own choice, and how they are set apart.
    pub chosen: Option<(Columns, Layout)>,
    /// What is asked of the pipeline.
    pub options: Options,
    /// What is read.
    pub inputs: Inputs,
}

/// Runs a subcommand; returns the exit code. `given` says whether an option stands on the command line.
pub fn run(command: &mut Reading, given: &dyn Fn(&str) -> bool) -> u8 {
    let job = match prepare(command, given) {
        Ok(job) => job,
        Err(why) => {
            error(&why);
            return FAILED;
        }
    };
    let command = &*command;
    progress::begin(command);
    finish(command, job)
}

/// Reads what there is to read and writes the result; returns the exit code.
pub fn finish(command: &Reading, mut job: Job) -> u8 {
    let common = command.common();
    #[cfg(target_os = "linux")]
    if !matches!(command, Reading::Live(_)) {
        super::sandbox::read_files(command, &job.inputs);
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

/// Takes in the configuration and looks at everything that is given, before anything is read or written.
///
/// # Errors
/// What is wrong with it, as a sentence.
fn prepare(command: &mut Reading, given: &dyn Fn(&str) -> bool) -> Result<Job, String> {
    let config = configure(command, given)?;
    if let Err(e) = interrupt::watch() {
        warning(&format_args!("Ctrl-C will end it without a summary, for signals cannot be caught: {e}."));
    }
    if !command.is_live() {
        inputs::complete(command.common_mut())?;
    }
    let common = command.common();
    let chosen = columns::asked(command)?;
    let options = choose(common, command.all())?;
    let inputs = Inputs::find(common.files.iter().chain(&common.read), common.follow);
    if let Some(conflict) = output_conflict::refusal(command, common, &inputs) {
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
    let common = command.common();
    let (quiet, flush) = (common.quiet, common.line_buffered || common.follow);
    let many = inputs.list.len() > 1 || common.follow;
    match command {
        Reading::Check(a) => check::check(to, a, &config, options, inputs),
        #[cfg(unix)]
        Reading::Live(a) => super::live::live(to, a, options, chosen),
        Reading::Stats(a) => stats::stats(to, a, options, inputs),
        Reading::Export(a) => export::export(to, a, options, inputs),
        Reading::Report(a) => super::report::report(to, a, &config, options, inputs),
        Reading::Summary(a) => summarise(to, a, options, inputs),
        Reading::Dump(a) if a.detail.wanted(a.format) => super::detail::detail(to, a, options, inputs),
        Reading::Dump(a) => match (chosen, a.format.form()) {
            (Some(chosen), _) => {
                let mut rows = columns::fields(to, chosen, common, flush);
                let done = read_to_end(common, options, inputs, &mut rows)?;
                columns::remark(&rows);
                Ok(done)
            }
            (None, Some(form)) => {
                let records = Records::new(Output::new(to, form, flush), true, quiet);
                let records = records.with_secrets(common.show_secrets);
                read_to_end(common, options, inputs, &mut records.with_bytes(a.detail.hex))
            }
            (None, None) => {
                let screen = terminal::lines(a.detail.color, common);
                let mut lister = Lister::new(to, flush, quiet, many).timed(a.detail.when.clone()).fit(screen);
                read_to_end(common, options, inputs, &mut lister)
            }
        },
        Reading::Exchanges(a) => match (a.format.layout(), a.format.form()) {
            (Some(layout), _) => {
                read_to_end(common, options, inputs, &mut ExchangeRows::new(to, layout, flush, quiet))
            }
            (None, Some(form)) => read_to_end(
                common,
                options,
                inputs,
                &mut Records::new(Output::new(to, form, flush), false, quiet),
            ),
            (None, None) => {
                let screen = terminal::lines(Colour::Never, common);
                read_to_end(common, options, inputs, &mut Exchanges::new(to, flush, quiet, many).fit(screen))
            }
        },
    }
}

/// Reads the configuration and fills in what the command line leaves open.
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

/// Reads the configuration and fills in what the options leave open; no `--output` is left that means standard output.
pub fn load(common: &mut Common, given: &dyn Fn(&str) -> bool) -> Result<Config, String> {
    // A dash is standard output, as in -w.
    common.output.take_if(|path| save::to_stdout(path));
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

fn summarise(to: &mut Target, args: &SummaryArgs, options: Options, inputs: Inputs) -> io::Result<Done> {
    let (mut summary, common) = (Summary::default(), &args.common);
    let (totals, code) = read_all(common, options, inputs, &mut summary)?;
    let screen = args.rows.of(terminal::screen(args.color, common));
    write_summary(to, (args.format.form(), args.format.layout()), screen, common, &summary, &totals)?;
    Ok((code, totals.files))
}

/// Writes a summary as records, as rows or as a screen.
pub fn write_summary(
    to: &mut Target,
    (form, layout): (Option<Form>, Option<Layout>),
    screen: Screen,
    common: &Common,
    summary: &Summary,
    totals: &Totals,
) -> io::Result<()> {
    match (form, layout) {
        (Some(form), _) => summary::records(&mut Output::new(to, form, false), summary, totals),
        _ if totals.files == 0 => Ok(()), // nothing was read, and that has been said
        (None, Some(layout)) => server_rows::rows(to, layout, summary),
        (None, None) => screen::write(&mut terminal::wrap(to, common), screen, summary, totals),
    }
}

/// Severities as the user wants them: profile first, then levels, then what is left out.
fn policy(rules: &RuleArgs) -> Result<Policy, Unknown> {
    let mut policy = Policy::new(match rules.profile {
        ProfileName::Strict => Profile::Strict,
        ProfileName::Default => Profile::Default,
        ProfileName::Lenient => Profile::Lenient,
    });
    rules.level.iter().try_for_each(|(name, severity)| policy.level(name, *severity))?;
    policy.select(&rules.select)?;
    rules.ignore.iter().try_for_each(|name| policy.level(name, None))?;
    Ok(policy)
}

/// What the command line asks of the pipeline.
///
/// # Errors
/// A sentence, where it names a rule that is none.
pub fn choose(common: &Common, all: bool) -> Result<Options, String> {
    options(common, all).map_err(|unknown| no_rule(&unknown.name))
}

/// The same with the name of a rule that is none.
pub fn options(common: &Common, all: bool) -> Result<Options, Unknown> {
    let mut choice = Choice { pins: common.decode_as.clone(), ..Choice::default() };
    if !common.protocol.is_empty() {
        choice.protocols = Choice::only(&common.protocol);
    }
    Ok(Options {
        choice,
        timeout: common.timeout,
        min_confidence: common.min_confidence.into(),
        all,
        secrets: common.show_secrets,
        policy: policy(&common.rules)?,
        count: common.count,
        per_file: common.per_file,
        budget: Budget::mib(common.memory),
        watched: None,
    })
}
