//! `qdissect ask`: sends a server the requests of a client, and dissects or judges the answers.

pub mod addresses;
mod answer;
mod args;
mod auto;
mod client;
pub mod link;
mod probe;
mod watch;

pub use args::AskArgs;
use args::ProbeMode;

use super::check::{CheckArgs, FINDINGS};
use super::choices::{CheckFormat, DUMP_FORMATS, Format, shown};
use super::common_args::Common;
use super::config::Config;
use super::diagnostics::{OK, error, error_text, note, stdout_exit_code};
use super::dump::DumpArgs;
use super::inputs::Inputs;
use super::job::{Job, ReadsCaptures};
use super::output::{self, is_stdout, overwrite_conflict};
use super::system::display_name;
use super::value_parsers::Whom;
use super::{interrupt, run, save};
use crate::capture::{CaptureInfo, Source, Time, Writer};
use crate::net::OwnedFrame;
use crate::pipeline::Options;
use crate::protocols::{Ask, Id};
use crate::report::{Shown, count};
use crate::text::escape::quoted;
use addresses::addresses;
use clap::ValueEnum;
pub use client::to_duration;
use client::{Conversation, Pace};
use std::collections::BTreeSet;
use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::path::Path;

/// Exit code: no server answered.
const NO_ANSWER: u8 = 3;
/// Runs `qdissect ask` and returns the exit code. `is_given` tells whether an option was given on the command line.
///
/// # Errors
/// A sentence that says why the server cannot be asked.
pub fn run(args: &AskArgs, is_given: &dyn Fn(&str) -> bool) -> Result<u8, String> {
    let (id, port) = match args.proto {
        Whom::Auto => return auto::run(args),
        Whom::Protocol(id, port) => (id, port),
    };
    if args.probe == Some(ProbeMode::List) {
        let written = io::stdout().write_all(probe::list(id)?.as_bytes());
        return Ok(stdout_exit_code(written));
    }
    let first_request =
        Ask { answered: 0, silences: 0, all: args.all, random: 0, server: None, first: &[], latest: &[] };
    if id.ask(&first_request).is_none() {
        return Err(format!("{} cannot be asked yet; capture what a client asks.", id.info().name));
    }
    if let Some(every) = args.watch {
        return watch::run(args, (id, port), every, is_given);
    }
    let name = args.only_server()?;
    let servers = addresses(name, id, port)?;
    let tested_server = args.probe.map(|mode| probe::fit(mode, id, &servers)).transpose()?;
    let (reading, config) = configured(args, id, &servers, is_given)?;
    if let Some(output_conflict) = output_conflict(args, &*reading, &config) {
        return Err(output_conflict);
    }
    let columns = run::chosen_columns(&*reading)?;
    let mut options = run::pipeline_options(reading.common(), true)?;
    let _ = interrupt::watch();
    interrupt::finish_first();
    let (server, conversation, probed) = match tested_server {
        Some(server) => {
            probe::leave_silence_to_rows(&mut options.policy, id)?;
            let tested = probe::run(args, id, server).map_err(|e| cannot_be_asked(server, &e))?;
            (server, tested.conversation, tested.rows)
        }
        None => {
            let (server, conversation) = ask_in_turn(name, id, &Pace::of(args), &servers, &options)?;
            (server, conversation, vec![])
        }
    };
    options.policy.asked_server = Some(server.into());
    let capture = |until| capture_file(&conversation, until).map_err(|e| e.to_string());
    if let Some(path) = &args.write {
        // A request without an answer is judged by the time until the capture ends.
        let until =
            Some(conversation.end).filter(|_| conversation.answered == 0 || conversation.lacks_answer);
        output::write(path, &capture(until)?).map_err(|e| {
            format!("The capture cannot be written to \"{}\": {}.", display_name(path), error_text(&e))
        })?;
    }
    let source = Source::in_memory(server.to_string(), capture(None)?);
    let inputs = Inputs::of(Path::new(&server.to_string()), source);
    let options = Options { watched: Some(conversation.end), ..options };
    let tests = args.probe.map(|_| probe::lines(&probed));
    let heading = if is_text(args) {
        let parts: Vec<_> =
            answer::line(id, &conversation.frames, &options).into_iter().chain(tests).collect();
        (!parts.is_empty()).then(|| parts.join("\n"))
    } else {
        tests.iter().for_each(|lines| note(lines));
        None
    };
    let code = run::finish(&*reading, Job { config, columns, options, inputs, heading, probed });
    if conversation.left_out > 0 {
        let many = count(conversation.left_out, "further datagram");
        note(&format!("{server} sent {many}, for which there was no room: nothing is said of them."));
    }
    if let Some(signal) = interrupt::caught() {
        return Ok(signal);
    }
    if conversation.answered == 0 {
        error(&no_answer_message(server, &conversation));
        return Ok(if code == OK && !args.check { NO_ANSWER } else { code });
    }
    if conversation.lacks_answer && (!args.check || code == OK && args.fail_on.is_some()) {
        error(&format!("{server} did not answer everything that every client asks."));
        return Ok(match code {
            OK if args.check => FINDINGS,
            OK => NO_ANSWER,
            code => code,
        });
    }
    if args.check && conversation.unclaimed > 0 {
        let (many, name) = (count(conversation.unclaimed, "datagram"), id.info().name);
        note(&format!("{server} also sent {many} that cannot be {name}: without --check they are shown."));
    }
    Ok(code)
}

/// The subcommand whose output `ask` has, and the configuration. The ports of the servers and the timeout of `ask` take precedence
/// over those of the configuration.
fn configured(
    args: &AskArgs,
    id: Id,
    servers: &[SocketAddr],
    is_given: &dyn Fn(&str) -> bool,
) -> Result<(Box<dyn ReadsCaptures>, Config), String> {
    let mut reading = reading(args, id)?;
    let common = reading.common_mut();
    let ports: BTreeSet<_> = servers.iter().map(SocketAddr::port).collect();
    common.decode_as.extend(ports.into_iter().map(|port| (port, id)));
    common.timeout = Some(args.timeout);
    let config = run::configure(&mut *reading, is_given)?;
    Ok((reading, config))
}

fn cannot_be_asked(server: SocketAddr, e: &io::Error) -> String {
    format!("{server} cannot be asked: {e}.")
}

/// Asks one address after another until one answers. If none does, the result is that of the first address that could be asked.
fn ask_in_turn(
    name: &str,
    id: Id,
    pace: &Pace<'_>,
    servers: &[SocketAddr],
    options: &Options,
) -> Result<(SocketAddr, Conversation), String> {
    let mut first_failure = Err(format!("The host {} is not known: it has no address.", quoted(name)));
    for &server in servers {
        let result = client::ask_server(id, pace, server, options);
        let result =
            result.map(|conversation| (server, conversation)).map_err(|e| cannot_be_asked(server, &e));
        let answered = matches!(&result, Ok((_, conversation)) if conversation.answered > 0);
        if answered || interrupt::caught().is_some() {
            return result;
        }
        if servers.len() > 1 {
            note(
                &result
                    .as_ref()
                    .map_or_else(String::clone, |(_, conversation)| no_answer_message(server, conversation)),
            );
        }
        if first_failure.is_err() {
            first_failure = result;
        }
    }
    first_failure
}

/// The error message if capture and result would overwrite each other or something else.
fn output_conflict(args: &AskArgs, reading: &dyn ReadsCaptures, config: &Config) -> Option<String> {
    let common = reading.common();
    let mut written = run::output_files(reading, common);
    match args.write.as_deref() {
        Some(path) if is_stdout(path) => return Some(run::NEEDS_FILE.to_owned()),
        path => written.extend(path.map(|path| ("-w", path))),
    }
    overwrite_conflict(&written, common.output.is_none(), &[], config)
}

/// Why there is no answer, if an ICMP error says so.
const REFUSED: &str = "; ICMP says that nothing listens there";

fn no_answer_message(server: SocketAddr, conversation: &Conversation) -> String {
    let why = match (conversation.frames.len() - conversation.sent) as u64 {
        0 if conversation.refused => REFUSED.to_owned(),
        0 => String::new(),
        n => format!("; {} received, but no answer", count(n, "datagram")),
    };
    format!("{server} did not answer: {} sent{why}.", count(conversation.sent as u64, "datagram"))
}

/// The arguments of `dump` or `check` that correspond to those of `ask`.
fn reading(args: &AskArgs, id: Id) -> Result<Box<dyn ReadsCaptures>, String> {
    let wrong = |format: &str| {
        let other = if args.check { "goes without --check" } else { "needs --check" };
        format!("-T {format} {other}.")
    };
    let common = Common {
        rules: args.rules.clone(),
        configuration: args.configuration.clone(),
        output: args.output.clone(),
        quiet: args.quiet,
        ..Common::default()
    };
    let format = args.format.as_deref();
    if args.check || args.probe.is_some() {
        let format = format.map(|name| CheckFormat::from_str(name, false).map_err(|_| wrong(name)));
        let format = format.transpose()?.unwrap_or(CheckFormat::Table);
        let (report, fail_on, show, color) =
            (args.report.clone(), args.fail_on, shown(args.show), args.color);
        return Ok(Box::new(CheckArgs { format, report, fail_on, show, color, ..CheckArgs::of(common) }));
    }
    let format = format.map(|name| DUMP_FORMATS.find(name).ok_or_else(|| wrong(name))).transpose()?;
    let mut dump = DumpArgs { all: true, ..DumpArgs::of(common, format.unwrap_or(Format::Tree)) };
    // The headers below the protocol are this machine's own and of no interest.
    if dump.format == Format::Tree {
        dump.detail.only = vec![Shown::Query(id)];
    }
    (dump.detail.hex, dump.detail.color) = (args.hex, args.color);
    Ok(Box::new(dump))
}

/// Whether the output is for people, so that the answer in one line may stand above it.
fn is_text(args: &AskArgs) -> bool {
    let text = |name: &str| ["tree", "text", "table"].contains(&name);
    !args.quiet && args.format.as_deref().is_none_or(text)
}

/// Writes the conversation as a capture file, which ends with an empty frame of the time `until`.
fn capture_file(conversation: &Conversation, until: Option<Time>) -> io::Result<Vec<u8>> {
    let mut writer = Writer::new(vec![], save::APPLICATION)?;
    let last = until.map(OwnedFrame::placeholder);
    for (number, frame) in (1..).zip(conversation.frames.iter().chain(&last)) {
        writer.frame::<&str>(0, &CaptureInfo::default(), &frame.frame(number), &[])?;
    }
    writer.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Args, FromArgMatches};
    use std::net::UdpSocket;
    use std::thread;

    #[test]
    fn the_first_address_that_answers_is_used() {
        let [closed, silent, sound] = [(); 3].map(|()| UdpSocket::bind("127.0.0.1:0").unwrap());
        let [no, mute, yes] = [&closed, &silent, &sound].map(|socket| socket.local_addr().unwrap());
        drop(closed);
        thread::spawn(move || {
            let mut ping = [0; 12];
            while let Ok((12, from)) = sound.recv_from(&mut ping) {
                let pong = [&[0, 1, 4, 0], &ping[4..], &[0, 0, 0, 3, 0, 0, 0, 9, 0, 1, 0, 0]].concat();
                sound.send_to(&pong, from).unwrap();
            }
        });
        let command = AskArgs::augment_args(clap::Command::new("ask"));
        let given = command.get_matches_from(["ask", "mumble", "name", "--timeout", "100ms"]);
        let args = AskArgs::from_arg_matches(&given).unwrap();
        let ask = |servers: &[SocketAddr]| {
            let (server, conversation) =
                ask_in_turn("name", Id::Mumble, &Pace::of(&args), servers, &Options::default()).unwrap();
            (server, conversation.answered)
        };
        assert_eq!(ask(&[no, mute, yes, no]), (yes, 1));
        assert_eq!(ask(&[mute, no]), (mute, 0));
        // Sending to the broadcast address fails without SO_BROADCAST.
        let never = SocketAddr::from(([255, 255, 255, 255], 1));
        assert_eq!(ask(&[never, yes]), (yes, 1));
        assert!(
            ask_in_turn("name", Id::Mumble, &Pace::of(&args), &[never], &Options::default())
                .unwrap_err()
                .contains("cannot be asked")
        );
    }
}
