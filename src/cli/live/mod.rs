//! `qdissect live`: shows packets as a capture program captures them.

pub mod args;
#[cfg(target_os = "linux")]
pub mod confine;
mod interfaces;
mod messages;
#[cfg(unix)]
mod pipes;
mod program;
mod records;
mod session;
#[cfg(any(windows, test))]
mod threads;
mod top;

use super::choices::Format;
use super::common_args::Common;
#[cfg(feature = "tui")]
use super::config::Config;
use super::diagnostics::{Done, FAILED, OK, error, not_writable, note, refuse, warning};
use super::job::{Job, ReadsCaptures};
use super::metrics::Endpoint;
use super::output::Target;
use super::overview::write_summary;
use super::read::QUIET;
use super::system::display_devices;
#[cfg(feature = "tui")]
use super::tui::Live;
use super::{columns, interrupt, read, terminal};
use crate::capture::{ErrorKind, Source};
use crate::filter::Columns;
use crate::pipeline::{Options, Pipeline, Stopped};
use crate::report::metrics::{Beside, SharedMetrics};
use crate::report::screen::Screen;
use crate::report::summary::Summary;
use crate::report::{Layout, Report, Style, Totals};
use crate::stats::Top;
use crate::text::escape::escaped;
use args::LiveArgs;
#[cfg(target_os = "linux")]
use confine::Confinement;
use program::Program;
use records::Records;
use session::{Ended, Session, Shared};
use std::cell::RefCell;
use std::io::{self, Write};
use top::{Refresh, Shown};

impl ReadsCaptures for LiveArgs {
    fn common(&self) -> &Common {
        &self.common
    }

    fn common_mut(&mut self) -> &mut Common {
        &mut self.common
    }

    fn is_live(&self) -> bool {
        true
    }

    fn all(&self) -> bool {
        self.all
    }

    fn prints_meanwhile(&self) -> bool {
        true
    }

    fn columns(&self) -> Result<Option<(Columns, Layout)>, String> {
        if self.summary && self.format == Format::Rows(Style::Plain) {
            return Err(
                "-T fields is for packets; name another format for --summary, for example csv.".into()
            );
        }
        self.columns.columns_and_layout(self.format)
    }

    fn writes_ndjson(&self) -> bool {
        self.format.is_ndjson()
    }

    fn run(&self, to: &mut Target, job: Job) -> io::Result<Done> {
        live(to, self, job)
    }
}

/// Captures and shows packets, or lists the interfaces.
///
/// # Errors
/// When the result cannot be written.
fn live(to: &mut Target, args: &LiveArgs, Job { columns, options, config, .. }: Job) -> io::Result<Done> {
    // Not every build has screens to configure.
    let _ = &config;
    let program = match args.check().and_then(|()| Program::find().ok_or_else(messages::nothing_installed)) {
        Ok(program) => program,
        Err(e) => return Ok(refuse(&e)),
    };
    if args.list_interfaces {
        return match interfaces::list(&program) {
            Ok(lines) => {
                lines.iter().try_for_each(|line| writeln!(to, "{}", display_devices(line)))?;
                Ok((OK, 1))
            }
            Err(e) => Ok(refuse(&e)),
        };
    }
    if let Some(wrong) = args.detail.format_conflict(args.format) {
        return Ok(refuse(&wrong));
    }
    #[cfg(feature = "tui")]
    let screens = match args.tui.then(Live::new).transpose() {
        Ok(screens) => screens,
        Err(e) => return Ok(refuse(&e)),
    };
    let metrics = args.metrics.map(|_| SharedMetrics::default());
    let session = match start(&program, args, to, metrics.clone()) {
        Ok(session) => Shared::new(session),
        Err(e) => return Ok(refuse(&e)),
    };
    let capture = Capture { program, args, shared: session, metrics };
    #[cfg(feature = "tui")]
    if let Some(screens) = screens {
        return capture.walk(screens, options, &config);
    }
    let done = capture.show(to, options, columns);
    // If writing the result failed, the packets captured until then are saved all the same.
    let unsaved = if done.is_err() { capture.shared.session().finish().unsaved } else { None };
    match (done, unsaved) {
        (Err(e), Some(unsaved)) => {
            if e.kind() != io::ErrorKind::BrokenPipe {
                not_writable(&args.common, &e);
            }
            Ok(refuse(&unsaved))
        }
        (done, _) => done,
    }
}

/// Starts the capture program. The socket for metrics is bound before rights are given up; its thread starts after that, so that it
/// has no more of them.
fn start(
    program: &Program,
    args: &LiveArgs,
    to: &Target,
    metrics: Option<SharedMetrics>,
) -> Result<Session, String> {
    let command = program.capture(args)?;
    let records = Records::new(args.common.write.clone(), args.common.count)?;
    let (interfaces, name) = (args.interface.join(","), program.kind.name());
    let greeting = format!("Capturing on {} with {name}; Ctrl-C ends it.", escaped(&interfaces));
    let quiet = args.common.quiet;
    let greeting = Some(greeting).filter(|_| !quiet);
    let endpoint = args.metrics.map(Endpoint::bind).transpose()?;
    // On other systems no rights are given up.
    #[cfg(not(target_os = "linux"))]
    let _ = to;
    #[cfg(target_os = "linux")]
    let confinement = Confinement::plan(&args.common, to)?;
    #[cfg(target_os = "linux")]
    confinement.iter().for_each(Confinement::begin);
    let on_start = move || {
        greeting.into_iter().for_each(|greeting| note(&greeting));
        #[cfg(target_os = "linux")]
        confinement.into_iter().for_each(Confinement::enter);
        if let (Some(endpoint), Some(metrics)) = (endpoint, metrics) {
            let text = move |syntax| metrics.exposition().text(syntax);
            if let Err(e) = endpoint.serve(quiet, text) {
                warning(&format_args!("Metrics are not served, for the system has no thread for them: {e}."));
            }
        }
    };
    interrupt::finish_first();
    Session::start(program, command, records, args.autostop, Box::new(on_start))
}

/// A running capture and its arguments.
struct Capture<'a> {
    program: Program,
    args: &'a LiveArgs,
    shared: Shared,
    metrics: Option<SharedMetrics>,
}

impl Capture<'_> {
    /// Shows the capture in the format that the user asked for.
    fn show(
        &self,
        to: &mut Target,
        options: Options,
        columns: Option<(Columns, Layout)>,
    ) -> io::Result<Done> {
        let (args, common) = (self.args, &self.args.common);
        if args.summary {
            let mut summary = Summary::default();
            let (totals, code) = self.run(options, &mut summary)?;
            let format = (args.format, columns.map(|(_, layout)| layout));
            let screen = self.screen();
            write_summary(to, format, screen, common, &summary, &totals)?;
            return Ok((code, totals.files));
        }
        if args.shows_top() {
            return self.top(to, options);
        }
        if let Some(columns) = columns {
            return columns::write(to, columns, common, true, |rows| self.report(options, rows));
        }
        let mut report = args.detail.report(to, args.format, common, &options, [true, false]);
        self.report(options, &mut *report)
    }

    /// The screen that tables are written for.
    fn screen(&self) -> Screen {
        let screen = terminal::screen(self.args.detail.color, &self.args.common);
        self.args.order.of(screen, self.args.top.flatten())
    }

    /// Shows the busiest servers once a second.
    fn top(&self, to: &mut Target, options: Options) -> io::Result<Done> {
        let is_screen = terminal::is_result_on_terminal(&self.args.common);
        let top = RefCell::new(Top::default());
        let mut refresh = Refresh::new(&top, to, self.screen(), is_screen);
        let mut tick = || {
            if !refresh.tick() {
                self.shared.session().end();
            }
        };
        let (totals, code) = self.run_with(options, &mut Shown(&top), &mut tick)?;
        refresh.finish()?;
        Ok((code, totals.files))
    }

    /// Shows the capture on the screens of `tui` until the user ends it.
    #[cfg(feature = "tui")]
    fn walk(&self, screens: Live, options: Options, config: &Config) -> io::Result<Done> {
        let (args, name) = (self.args, self.args.interface.join(","));
        let input = Box::new(self.shared.clone());
        let shown = screens.show(&name, input, (&args.common, options, args.all, args.detail.color), config);
        let mut session = self.shared.session();
        if matches!(shown, Ok(Some(_))) {
            session.end();
        }
        let ended = session.finish();
        drop(session);
        let wrong = ended.unsaved.clone().or_else(|| (!ended.planned).then(|| self.unexpected_end(&ended)));
        let code = shown?;
        Ok(match wrong {
            Some(wrong) => refuse(&wrong),
            None => (code.unwrap_or(OK), 1),
        })
    }

    fn report(&self, options: Options, report: &mut dyn Report) -> io::Result<Done> {
        self.run(options, report).map(|(totals, code)| (code, totals.files))
    }

    /// Reads the whole capture into one report, through the display filter if there is one.
    fn run(&self, options: Options, report: &mut dyn Report) -> io::Result<(Totals, u8)> {
        self.run_with(options, report, &mut || {})
    }

    /// The same, and calls `tick` several times a second.
    fn run_with(
        &self,
        options: Options,
        report: &mut dyn Report,
        tick: &mut dyn FnMut(),
    ) -> io::Result<(Totals, u8)> {
        let (common, secrets) = (&self.args.common, options.secrets);
        let mut both;
        let report = match &self.metrics {
            Some(metrics) => {
                both = Beside::new(report, metrics.clone());
                &mut both as &mut dyn Report
            }
            None => report,
        };
        read::read_filtered(common, secrets, report, |report| self.read(options, report, tick))
    }

    /// Reads the capture to its end, and calls `tick` several times a second.
    fn read(
        &self,
        options: Options,
        report: &mut dyn Report,
        tick: &mut dyn FnMut(),
    ) -> io::Result<(Totals, u8)> {
        // The session itself stops after `count` packets. The pipeline must not, so that what follows them is read as well.
        let mut pipeline = Pipeline::new(Options { count: None, ..options }, report);
        let name = self.args.interface.join(",");
        let quiet = QUIET + self.program.delay();
        let source = Source::from_reader(name.as_str(), Box::new(self.shared.clone()));
        let mut reached = |time| {
            self.shared.session().reached(time);
            tick();
        };
        let read = source
            .map_err(Stopped::Capture)
            .and_then(|mut source| pipeline.follow(&mut source, &name, quiet, &mut reached));
        let read_error = match read {
            Ok(()) => None,
            Err(Stopped::Report(e)) => return Err(e),
            Err(Stopped::Capture(e)) => Some(e),
        };
        let ended = self.shared.session().finish();
        let ended_normally = ended.planned || ended.status.is_some_and(|status| status.success());
        let wrong = match read_error {
            // Not an error of the data: nothing arrived, or only part of a record. The program's messages say why.
            Some(e) if !matches!(e.kind(), ErrorKind::NotACapture | ErrorKind::CutShort) => {
                Some(format!("{name}: {e}."))
            }
            Some(_) if ended.planned => None,
            // The program had not ended: the error is in what it sent.
            Some(e) if ended.stopped => Some(format!("{name}: {e}.")),
            _ if !ended_normally => Some(self.unexpected_end(&ended)),
            Some(e) => Some(format!("{name}: {e}.")),
            None => None,
        };
        let wrong = ended.unsaved.clone().or(wrong);
        let complete = wrong.is_none();
        pipeline.set_dropped(ended.messages.dropped);
        let totals = pipeline.finish(complete)?;
        if let Some(wrong) = wrong {
            error(&wrong);
        }
        self.print_totals(&ended, &totals);
        let code = match interrupt::caught() {
            _ if !complete => FAILED,
            Some(interrupt::TERMINATED) => interrupt::TERMINATED,
            _ => OK,
        };
        Ok((totals, code))
    }

    fn unexpected_end(&self, ended: &Ended) -> String {
        let interfaces = || interfaces::list(&self.program).unwrap_or_default();
        messages::unexpected_end(
            &self.program,
            &ended.messages.lines,
            ended.status,
            &self.args.interface,
            interfaces,
        )
    }

    /// Prints the last line: how many packets there were, and how many are missing.
    fn print_totals(&self, ended: &Ended, totals: &Totals) {
        let dropped = ended.messages.dropped;
        if totals.files == 0 || self.args.common.quiet && dropped.unwrap_or(0) == 0 {
            return;
        }
        let dropped = match dropped {
            Some(dropped) => format!("dropped {dropped}"),
            None => format!("{} did not say how many it dropped", self.program.kind.name()),
        };
        let incomplete = match ended.incomplete {
            0 => String::new(),
            bytes => format!("; {bytes} bytes of a record that is not whole were left out"),
        };
        let name = self.args.interface.join(",");
        let packets = totals.all().packets;
        note(&format_args!("{packets} packets captured on {}, {dropped}{incomplete}.", escaped(&name)));
    }
}
