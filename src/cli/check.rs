//! `qdissect check`: reads and checks the captures, writes the reports, and determines the exit code.

use super::accepted::Accepted;
use super::choices::{CheckFormat, Colour, FAIL_ON, FailOn, JUNIT_STYLES, SARIF_STYLES, SHOWN, Shown};
use super::common_args::Common;
use super::config::Config;
use super::diagnostics::{Done, FAILED, OK, error, error_text, note, refuse};
use super::job::{Job, ReadsCaptures};
use super::output::Target;
#[cfg(target_os = "linux")]
use super::sandbox::{Allowed, writable_paths};
use super::save::read_all;
use super::value_parsers::{self, protocol, report};
use super::{interrupt, system, terminal};
use crate::filter::Columns;
use crate::page::{self, Gathered, Page};
use crate::protocols::Id;
use crate::report::screen::Screen;
use crate::report::{Candidate, Layout, ONE_WAY, Totals, count, limits};
use crate::rule::Severity;
use crate::text::escape::terminal_safe_json;
use crate::verdict::{self, Check, Entry, FindingRecord, JunitStyle, Outcome, SarifStyle, Verdict};
use clap::Args;
use hashbrown::HashSet;
use std::fs::OpenOptions;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Size of the output buffer in bytes.
const BUFFER: usize = 64 * 1024;
/// Exit code: something was found that makes the check fail.
pub const FINDINGS: u8 = 1;
const NO_TRAFFIC: u8 = 3;

/// `qdissect check`
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// Output format
    #[arg(short = 'T', long, value_enum, default_value_t = CheckFormat::Table, value_name = "FMT")]
    pub format: CheckFormat,
    /// A further report in a file; may be repeated
    #[arg(long, value_name = "FMT=PATH", value_parser = report)]
    pub report: Vec<(CheckFormat, PathBuf)>,
    /// What makes the check fail, with exit code 1
    #[arg(long, value_parser = FAIL_ON, default_value = "error", value_name = "SEVERITY")]
    pub fail_on: FailOn,
    /// The least severity that is listed; what is below is counted by rule [default: warning, and never above
    /// --fail-on; json, ndjson, csv and html list everything]
    #[arg(long, value_parser = SHOWN, value_name = "SEVERITY,...", value_delimiter = ',')]
    pub show: Vec<Shown>,
    /// Fail, with exit code 3, unless there is traffic of these protocols
    #[arg(long, value_name = "PROTO,...", value_delimiter = ',', value_parser = value_parsers::PROTOCOL)]
    pub require: Vec<Id>,
    /// Fail, with exit code 3, unless that share of a protocol's rules was checked
    #[arg(long, value_name = "PROTO=N%", value_parser = coverage)]
    pub require_coverage: Vec<(Id, f64)>,
    /// Location style in SARIF; default `github` if GITHUB_ACTIONS is true
    #[arg(long, value_parser = SARIF_STYLES, value_name = "STYLE")]
    pub sarif_style: Option<SarifStyle>,
    /// Which attributes JUnit reports have
    #[arg(long, value_parser = JUNIT_STYLES, default_value = "common", value_name = "STYLE")]
    pub junit_style: JunitStyle,
    /// Do not fail if there is no query traffic
    #[arg(long)]
    pub allow_empty: bool,
    /// Known findings, by fingerprint: they are shown as such and do not fail the check
    #[arg(long, value_name = "FILE")]
    pub baseline: Option<PathBuf>,
    /// Make everything that is found now known to the baseline; the reasons in it are kept
    #[arg(long, requires = "baseline")]
    pub update_baseline: bool,
    /// When to use colours
    #[arg(long, value_enum, default_value_t = Colour::Auto, value_name = "WHEN")]
    pub color: Colour,
    #[command(flatten)]
    pub common: Common,
}

impl CheckArgs {
    /// The arguments with the values that options have if they are not given.
    pub fn of(common: Common) -> CheckArgs {
        CheckArgs {
            format: CheckFormat::Table,
            report: vec![],
            fail_on: Some(Severity::Error),
            show: vec![],
            require: vec![],
            require_coverage: vec![],
            sarif_style: None,
            junit_style: JunitStyle::Common,
            allow_empty: false,
            baseline: None,
            update_baseline: false,
            color: Colour::Auto,
            common,
        }
    }
}

impl ReadsCaptures for CheckArgs {
    fn common(&self) -> &Common {
        &self.common
    }

    fn common_mut(&mut self) -> &mut Common {
        &mut self.common
    }

    fn prints_meanwhile(&self) -> bool {
        self.writes_ndjson()
    }

    fn configure(&mut self, config: &Config, is_given: &dyn Fn(&str) -> bool) {
        if let Some(fail_on) = config.fail_on.filter(|_| !is_given("fail_on")) {
            self.fail_on = fail_on;
        }
    }

    fn columns(&self) -> Result<Option<(Columns, Layout)>, String> {
        if self.update_baseline && self.common.display_filter.is_some() {
            return Err(
                "--update-baseline would drop what -Y leaves out; update the baseline without a filter."
                    .to_owned(),
            );
        }
        Ok(None)
    }

    fn output_files(&self) -> Vec<(&'static str, &Path)> {
        let baseline = self.baseline.as_deref().map(|path| ("--baseline", path));
        let reports = self.report.iter().map(|(_, path)| ("--report", path.as_path()));
        baseline.into_iter().chain(reports).collect()
    }

    #[cfg(target_os = "linux")]
    fn allowed(&self) -> Allowed {
        let baseline = self.baseline.iter().filter(|_| self.update_baseline);
        let reports = self.report.iter().map(|(_, path)| path);
        let mut write: Vec<_> = reports.chain(baseline).flat_map(|path| writable_paths(path)).collect();
        if self.format == CheckFormat::Github
            && let Some(summary) = std::env::var_os("GITHUB_STEP_SUMMARY")
        {
            write.extend(writable_paths(Path::new(&summary)));
        }
        Allowed { read: self.baseline.iter().cloned().collect(), write, ..Allowed::default() }
    }

    fn writes_ndjson(&self) -> bool {
        self.format == CheckFormat::Ndjson
    }

    fn run(&self, to: &mut Target, job: Job) -> io::Result<Done> {
        check(to, self, job)
    }
}

/// Parses a protocol and the required coverage of its rules in percent.
fn coverage(text: &str) -> Result<(Id, f64), String> {
    let wrong = || format!("\"{text}\" is not of the form PROTO=N%, for example sqp=60%.");
    let (name, percent) = text.split_once('=').ok_or_else(wrong)?;
    let percent: f64 = percent.trim().trim_end_matches('%').parse().map_err(|_| wrong())?;
    if !(0.0..=100.0).contains(&percent) {
        return Err(format!("{percent} is no percentage: a number from 0 to 100."));
    }
    Ok((protocol(name.trim())?, percent))
}

/// Runs the check: writes the result to `to` and further reports to their files.
fn check(to: &mut Target, args: &CheckArgs, job: Job) -> io::Result<Done> {
    let Job { config, options, inputs, probed, .. } = job;
    let streams_findings = args.format == CheckFormat::Ndjson && !args.common.quiet;
    let mut accepted = match Accepted::open(&config, args.baseline.as_deref(), args.update_baseline) {
        Ok(accepted) => accepted,
        Err(e) => return Ok(refuse(&e)),
    };
    let mut to = StopAfterError { out: to, error: None };
    let (mut judged, code) = {
        let mut out = BufWriter::with_capacity(BUFFER, &mut to);
        let judge = |entry: &mut Entry, file: &str| {
            accepted.excuse(entry);
            if streams_findings && entry.finding.severity >= least_severity(args, CheckFormat::Ndjson) {
                let line = terminal_safe_json(&FindingRecord::new(file, entry)) + "\n";
                out.write_all(line.as_bytes())?;
                if args.common.line_buffered {
                    out.flush()?;
                }
            }
            Ok(())
        };
        let mut report = Check::new(options.policy.clone(), judge);
        let judged = if writes(args, &[CheckFormat::Html]) {
            let mut page = Page::new(report, &options);
            let (totals, code) = read_all(&args.common, options, inputs, &mut page)?;
            let (verdict, gathered) = page.verdict(totals)?;
            (Judged { verdict, page: Some(gathered) }, code)
        } else {
            let (totals, code) = read_all(&args.common, options, inputs, &mut report)?;
            (Judged { verdict: report.verdict(totals)?, page: None }, code)
        };
        out.flush()?;
        judged
    };
    judged.verdict.add_probed(probed);
    let reports_written = write_all(&mut to, &mut judged, args)?;
    let verdict = judged.verdict;
    let has_enough_traffic = has_enough_traffic(args, &verdict);
    let partly_checked = partly_checked_rules(&verdict, &args.common);
    let fully_checked = |rule: &str| code == OK && has_enough_traffic && !partly_checked.contains(rule);
    let baseline_saved = match accepted.finish(&verdict, code == OK, &fully_checked) {
        Ok(messages) => {
            messages.iter().for_each(|what| note(what));
            true
        }
        Err(e) => {
            error(&e);
            false
        }
    };
    print_limits(&verdict.totals);
    if writes(args, &[CheckFormat::Csv, CheckFormat::Gitlab]) {
        // These formats have no field for findings that are not listed.
        verdict.unlisted().iter().for_each(|what| note(&format_args!("{what}.")));
    }
    let code = match () {
        () if !(reports_written && baseline_saved) => FAILED,
        () if code == FAILED || interrupt::is_signal(code) => code,
        () if args.fail_on.is_some_and(|limit| verdict.fails(limit)) => FINDINGS,
        () if !has_enough_traffic => NO_TRAFFIC,
        () => code,
    };
    // The error is returned only now, after the reports have been written. At least one file is counted, because a run that could
    // read nothing has a result, too.
    to.error.map_or(Ok((code, verdict.totals.files.max(1))), Err)
}

/// The rules that were not applied to all of their traffic, so that findings may have been missed: rules that are switched off,
/// and all rules if part of the traffic was left out.
fn partly_checked_rules(verdict: &Verdict, common: &Common) -> HashSet<&'static str> {
    let totals = verdict.totals.all();
    let stopped = common.count.is_some_and(|limit| totals.packets >= limit);
    let part = common.display_filter.is_some() || stopped || !totals.complete || has_evictions(totals);
    let chosen = |rule| match Id::of_rule(rule) {
        _ if common.protocol.is_empty() => true,
        Some(id) => common.protocol.contains(&id),
        None => false,
    };
    let partly_checked = verdict.rules.iter().filter(|r| part || r.severity.is_none() || !chosen(r.rule));
    partly_checked.map(|r| r.rule.id).collect()
}

/// Whether findings may be missing or wrong because a limit made the checker forget or leave out something.
fn has_evictions(totals: &Totals) -> bool {
    totals.crowded() || totals.waiting_overflow > 0 || totals.not_unpacked > 0
}

/// Prints notes about limits that may make findings wrong, whatever the format of the result: data that was forgotten to save
/// memory, and servers of which the capture contains only the answers.
fn print_limits(totals: &Totals) {
    if has_evictions(totals) || !totals.one_sided.is_empty() {
        limits(totals).iter().for_each(|remark| note(remark));
    }
}

/// The verdict, and the data for an HTML page if one is to be written.
struct Judged {
    verdict: Verdict,
    page: Option<Gathered>,
}

/// Whether the result or a report has one of these formats.
fn writes(args: &CheckArgs, formats: &[CheckFormat]) -> bool {
    args.report.iter().map(|(format, _)| format).chain([&args.format]).any(|format| formats.contains(format))
}

/// Writes the result, GitHub's job summary and the further reports. Prints an error for each summary or report that cannot be
/// written, and returns whether all of them were.
fn write_all(to: &mut impl Write, judged: &mut Judged, args: &CheckArgs) -> io::Result<bool> {
    let mut out = BufWriter::with_capacity(BUFFER, to);
    write_report(&mut out, args.format, judged, args, false)?;
    out.flush()?;
    let mut all = true;
    judged.verdict.show = least_severity(args, CheckFormat::Markdown);
    if args.format == CheckFormat::Github
        && let Err(e) = step_summary(&judged.verdict)
    {
        error(&format_args!("The job summary cannot be written: {}.", error_text(&e)));
        all = false;
    }
    for (format, path) in &args.report {
        if let Err(e) = write_file(*format, path, judged, args) {
            let name = system::display_name(path);
            error(&format_args!("The report cannot be written to \"{name}\": {}.", error_text(&e)));
            all = false;
        }
    }
    Ok(all)
}

/// Whether there was as much traffic as the options demand. Prints what is missing.
fn has_enough_traffic(args: &CheckArgs, verdict: &Verdict) -> bool {
    let mut missing = vec![];
    let applied = verdict.rules.iter().any(|r| r.outcome != Outcome::NotApplicable);
    match () {
        () if verdict.totals.files == 0 => {}
        () if verdict.totals.all().recognised == 0 => {
            missing.extend(no_traffic(&verdict.totals, &input_description(args, false)))
        }
        () if verdict.protocols.is_empty() => {
            missing.push("None of the query traffic in the input passes the filter.".to_owned());
        }
        () if !applied => {
            let names: Vec<_> = verdict.protocols.iter().map(|id| id.info().name).collect();
            let names = names.join(", ");
            missing.push(format!(
                "No rule that --select and --ignore leave is for what the input holds, which is {names}."
            ));
        }
        () => {}
    }
    for id in &args.require {
        if !verdict.protocols.contains(id) {
            missing.push(format!(
                "There is no traffic of {} in {}.",
                id.info().name,
                input_description(args, true)
            ));
        }
    }
    for (id, percent) in &args.require_coverage {
        let share = verdict.coverage(*id).unwrap_or(0.0);
        if share < *percent {
            let share = (share * 10.0).floor() / 10.0;
            missing.push(format!(
                "{share:.1} % of the rules of {} were checked, less than {percent} %.",
                id.info().name
            ));
        }
    }
    if !args.allow_empty {
        missing.iter().for_each(|what| error(what));
    }
    missing.is_empty() || args.allow_empty
}

/// Describes the checked packets: the input, or what the options that select packets leave of it. `filtered` says whether the
/// filter is one of them.
fn input_description(args: &CheckArgs, filtered: bool) -> String {
    let Common { display_filter, protocol, count, .. } = &args.common;
    let filtered = filtered && display_filter.is_some();
    let chosen = [("-Y", filtered), ("--protocol", !protocol.is_empty()), ("-c", count.is_some())];
    let chosen: Vec<_> = chosen.iter().filter(|(_, given)| *given).map(|(option, _)| *option).collect();
    match chosen.as_slice() {
        [] => "the input".to_owned(),
        [one] => format!("what {one} leaves of the input"),
        all => format!("what {} leave of the input", all.join(" and ")),
    }
}

/// The messages for a run in which nothing was recognised: that there is no query traffic, or which candidates there are.
fn no_traffic(totals: &Totals, input_description: &str) -> Vec<String> {
    let candidate_text =
        |c: &Candidate| format!("There is no certain query traffic in the input, but {}.", c.advice());
    let (listed, more) = totals.candidates();
    let mut messages: Vec<_> = listed.iter().map(candidate_text).collect();
    if !messages.is_empty() && totals.one_way() {
        messages.push(ONE_WAY.to_owned());
    }
    match more {
        0 if messages.is_empty() => messages
            .push(format!("There is no query traffic in {input_description}{}.", unread_frames_text(totals))),
        0 => {}
        n => messages.push(format!("The same may be true of {}.", count(n, "further endpoint"))),
    }
    messages
}

/// A clause that names the frames that may contain query traffic but could not be decoded; empty if there are none.
fn unread_frames_text(totals: &Totals) -> String {
    let frames = totals.all().not_datagrams.iter().filter(|(why, _)| why.is_opaque());
    let frames: Vec<_> = frames.map(|(why, n)| format!("{} ({n})", why.text())).collect();
    if frames.is_empty() {
        String::new()
    } else {
        format!(", except in what was not read: {}", frames.join(", "))
    }
}

/// The least severity that a report lists. Findings that fail the check are always listed, and the formats for programs list
/// everything.
fn least_severity(args: &CheckArgs, format: CheckFormat) -> Severity {
    let fail_level = args.fail_on.unwrap_or(Severity::Error);
    let severity = |shown: &Shown| match shown {
        Shown::Least(severity) => Some(*severity),
        Shown::Known => None,
    };
    match (args.show.iter().filter_map(severity).min(), format) {
        (Some(show), _) => fail_level.min(show),
        (None, CheckFormat::Json | CheckFormat::Ndjson | CheckFormat::Csv | CheckFormat::Html) => {
            Severity::Note
        }
        (None, _) => fail_level.min(Severity::Warning),
    }
}

/// Writes a report: the result, or a `further` one in a file, which is complete whatever the result leaves out.
fn write_report(
    mut out: &mut dyn Write,
    format: CheckFormat,
    judged: &mut Judged,
    args: &CheckArgs,
    further: bool,
) -> io::Result<()> {
    let Judged { verdict, page } = judged;
    verdict.show = least_severity(args, format);
    verdict.show_known = args.show.contains(&Shown::Known);
    let quiet = args.common.quiet && !further;
    match format {
        CheckFormat::Table if further => {
            let screen = Screen { width: u16::MAX, ..Screen::default() };
            verdict::table(&mut out, verdict, screen, quiet)
        }
        CheckFormat::Table => {
            let screen = terminal::line_screen(args.color, &args.common);
            let mut out = terminal::wrap(&mut out, &args.common);
            verdict::table(&mut out, verdict, screen, quiet)?;
            out.flush()
        }
        CheckFormat::Concise => verdict::concise(out, verdict, quiet),
        CheckFormat::Json => verdict::json(out, verdict, quiet),
        CheckFormat::Ndjson => {
            if further {
                verdict
                    .finding_records()
                    .try_for_each(|finding| writeln!(out, "{}", terminal_safe_json(&finding)))?;
            }
            verdict::ndjson(out, verdict)
        }
        CheckFormat::Csv => verdict::csv(out, verdict),
        CheckFormat::Sarif => verdict::sarif(out, verdict, sarif_style(args)),
        CheckFormat::Junit => verdict::junit(out, verdict, args.junit_style, args.fail_on),
        CheckFormat::Github => verdict::github(out, verdict),
        CheckFormat::Gitlab => verdict::gitlab(out, verdict),
        CheckFormat::Markdown => verdict::markdown(out, verdict),
        CheckFormat::Html => page.as_ref().map_or(Ok(()), |gathered| page::write(out, gathered, verdict)),
    }
}

fn sarif_style(args: &CheckArgs) -> SarifStyle {
    let on_github = std::env::var_os("GITHUB_ACTIONS").is_some_and(|v| v == "true");
    args.sarif_style.unwrap_or(if on_github { SarifStyle::Github } else { SarifStyle::Spec })
}

/// Appends the job summary to the file that a GitHub runner names. Used if the format is that of workflow commands.
fn step_summary(verdict: &Verdict) -> io::Result<()> {
    let Some(path) = std::env::var_os("GITHUB_STEP_SUMMARY").filter(|p| !p.is_empty()) else { return Ok(()) };
    let mut file = OpenOptions::new().append(true).create(true).open(path)?;
    file.write_all(verdict::step_summary(verdict).as_bytes())
}

/// Writes a further report to a temporary file and renames it.
fn write_file(format: CheckFormat, path: &Path, judged: &mut Judged, args: &CheckArgs) -> io::Result<()> {
    let mut file = Target::open(Some(path))?;
    let mut target = BufWriter::new(&mut file);
    write_report(&mut target, format, judged, args, true)?;
    target.flush()?;
    drop(target);
    file.complete(true)
}

/// A writer that discards everything after the first error and still reports success, so that the check goes on and the other
/// reports are written.
struct StopAfterError<'a> {
    /// Discards everything after the first error, because a later flush of standard output would fail again.
    out: &'a mut Target,
    /// The first error; `None` if the reader only closed the pipe.
    error: Option<io::Error>,
}

impl StopAfterError<'_> {
    fn print(&mut self, print: impl FnOnce(&mut Target) -> io::Result<()>) {
        if let Err(e) = print(self.out) {
            *self.out = Target::sink();
            self.error = Some(e).filter(|e| e.kind() != io::ErrorKind::BrokenPipe);
        }
    }
}

impl Write for StopAfterError<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.print(|out| out.write_all(bytes));
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        self.print(Target::flush);
        Ok(())
    }
}
