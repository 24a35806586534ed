//! `qdissect ask`: sends a server the requests of a client, and dissects or judges the answers.

mod client;

use super::check::CheckArgs;
use super::choices::{CheckFormat, Colour, DUMP_FORMATS, FAIL_ON, FailOn, Format, SHOW, shown};
use super::common_args::{Common, ConfigurationArgs, RuleArgs};
use super::config::Config;
use super::diagnostics::{OK, error, error_text, note};
use super::dump::DumpArgs;
use super::inputs::Inputs;
use super::job::{Job, ReadsCaptures};
use super::output::{self, is_stdout, overwrite_conflict};
use super::system::display_name;
use super::value_parsers::{self, check_formats, report, timeout};
use super::{interrupt, run, save};
use crate::capture::{CaptureInfo, Source, Writer};
use crate::net::Endpoint;
use crate::pipeline::Options;
use crate::protocols::{Ask, Id};
use crate::report::{Shown, count};
use crate::rule::Severity;
use crate::text::escape::{escaped, quoted};
use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum};
use client::Conversation;
use std::io::{self, Cursor};
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};

/// Exit code: no server answered.
const NO_ANSWER: u8 = 3;
/// Maximum number of addresses of a name that are asked in turn.
const MAX_ADDRESSES: usize = 8;

/// Runs `qdissect ask` and returns the exit code. `is_given` tells whether an option was given on the command line.
///
/// # Errors
/// A sentence that says why the server cannot be asked.
pub fn run(args: &AskArgs, is_given: &dyn Fn(&str) -> bool) -> Result<u8, String> {
    let first_request =
        Ask { answered: 0, silences: 0, all: args.all, random: 0, server: None, first: &[], latest: &[] };
    if args.proto.ask(&first_request).is_none() {
        return Err(format!("{} cannot be asked yet; capture what a client asks.", args.proto.info().name));
    }
    let servers = addresses(&args.server, args.proto)?;
    let mut reading = reading(args)?;
    // The server's pin and the timeout of `ask` take precedence over those of a configuration.
    let common = reading.common_mut();
    common.decode_as.extend(servers.first().map(|server| (server.port(), args.proto)));
    common.timeout = Some(args.timeout);
    let config = run::configure(&mut *reading, is_given)?;
    if let Some(output_conflict) = output_conflict(args, &*reading, &config) {
        return Err(output_conflict);
    }
    let columns = run::chosen_columns(&*reading)?;
    let options = run::pipeline_options(reading.common(), true)?;
    let _ = interrupt::watch();
    interrupt::finish_first();
    let (server, conversation) = ask_in_turn(args, &servers, &options)?;
    let capture = capture_file(&conversation).map_err(|e| e.to_string())?;
    if let Some(path) = &args.write {
        output::write(path, &capture).map_err(|e| {
            format!("The capture cannot be written to \"{}\": {}.", display_name(path), error_text(&e))
        })?;
    }
    let source = Source::from_reader(server.to_string(), Box::new(Cursor::new(capture)));
    let inputs = Inputs::of(Path::new(&server.to_string()), source);
    let options = Options { watched: Some(conversation.end), ..options };
    let code = run::finish(&*reading, Job { config, columns, options, inputs });
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
    if conversation.lacks_answer && !args.check {
        error(&format!("{server} did not answer everything that every client asks."));
        return Ok(if code == OK { NO_ANSWER } else { code });
    }
    if args.check && conversation.unclaimed > 0 {
        let (many, name) = (count(conversation.unclaimed, "datagram"), args.proto.info().name);
        note(&format!("{server} also sent {many} that cannot be {name}: without --check they are shown."));
    }
    Ok(code)
}

/// Asks one address after another until one answers. If none does, the result is that of the first address that could be asked.
fn ask_in_turn(
    args: &AskArgs,
    servers: &[SocketAddr],
    options: &Options,
) -> Result<(SocketAddr, Conversation), String> {
    let mut first_failure =
        Err(format!("The host {} is not known: it has no address.", quoted(&args.server)));
    for &server in servers {
        let result = client::ask_server(args, server, options);
        let result = result
            .map(|conversation| (server, conversation))
            .map_err(|e| format!("{server} cannot be asked: {e}."));
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

fn no_answer_message(server: SocketAddr, conversation: &Conversation) -> String {
    let why = match (conversation.frames.len() - conversation.sent) as u64 {
        0 if conversation.refused => "; ICMP says that nothing listens there".to_owned(),
        0 => String::new(),
        n => format!("; {} received, but no answer", count(n, "datagram")),
    };
    format!("{server} did not answer: {} sent{why}.", count(conversation.sent as u64, "datagram"))
}

/// Resolves a server's name to its addresses. Without a port, the protocol's default port is used.
fn addresses(text: &str, id: Id) -> Result<Vec<SocketAddr>, String> {
    let (host, port) = match text.rsplit_once(':') {
        // More than one colon outside of brackets: an IPv6 address without a port.
        Some((host, _)) if host.contains(':') && !host.ends_with(']') => (text, None),
        Some((host, port)) => (host, Some(port)),
        None => (text, None),
    };
    let port = match (port, id.info().ports) {
        (Some(port), _) => port.parse().map_err(|_| {
            format!("{} in {} is no UDP port: write a number from 1 to 65535.", quoted(port), quoted(text))
        })?,
        (None, [port, ..]) => *port,
        (None, []) => {
            let name = id.info().name;
            let host = escaped(text);
            return Err(format!(
                "{name} has no port of its own: name one, as in `qdissect ask {name} {host}:9000`."
            ));
        }
    };
    let host = host.trim_start_matches('[').trim_end_matches(']');
    if port == 0 {
        return Err("Nobody listens on port 0: write a number from 1 to 65535.".to_owned());
    }
    let known = (host, port).to_socket_addrs();
    let known = known.map_err(|e| format!("The host {} is not known: {e}.", quoted(host)))?;
    let known: Vec<_> = known.take(MAX_ADDRESSES).collect();
    if let Some(address) = known.iter().find(|address| Endpoint::from(**address).is_group()) {
        let kind = if address.ip().is_multicast() { "a multicast" } else { "a broadcast" };
        return Err(format!(
            "{} is {kind} address, which many hosts may answer: name one server.",
            address.ip()
        ));
    }
    Ok(known)
}

/// The arguments of `dump` or `check` that correspond to those of `ask`.
fn reading(args: &AskArgs) -> Result<Box<dyn ReadsCaptures>, String> {
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
    if args.check {
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
        dump.detail.only = vec![Shown::Query(args.proto)];
    }
    (dump.detail.hex, dump.detail.color) = (args.hex, args.color);
    Ok(Box::new(dump))
}

/// Writes the conversation as a capture file.
fn capture_file(conversation: &Conversation) -> io::Result<Vec<u8>> {
    let mut writer = Writer::new(vec![], save::APPLICATION)?;
    for (number, frame) in (1..).zip(&conversation.frames) {
        writer.frame::<&str>(0, &CaptureInfo::default(), &frame.frame(number), &[])?;
    }
    writer.finish()
}

/// `qdissect ask`
#[derive(Debug, Args)]
pub struct AskArgs {
    /// The protocol that the server is asked in
    #[arg(value_name = "PROTO", value_parser = value_parsers::PROTOCOL)]
    pub proto: Id,
    /// The server; without a port the protocol's own, if it has one
    #[arg(value_name = "HOST[:PORT]")]
    pub server: String,
    /// Ask for everything there is, not only for what every client wants
    #[arg(long)]
    pub all: bool,
    /// Ask N times
    #[arg(short = 'c', value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub count: u16,
    /// From one time to the next, at least 100ms
    #[arg(long, value_name = "DUR", default_value = "1s", value_parser = timeout)]
    pub interval: i64,
    /// How long to wait for an answer; a request is sent up to three times
    #[arg(long, value_name = "DUR", default_value = "1s", value_parser = timeout)]
    pub timeout: i64,
    /// Judge what comes back, as `check` does, with its exit code
    #[arg(long)]
    pub check: bool,
    /// Output format: that of `dump`, or with --check that of `check` [default: tree, or table]
    #[arg(short = 'T', long, value_name = "FMT", value_parser = formats())]
    pub format: Option<String>,
    /// With --check: a further report in a file; may be repeated
    #[arg(long, value_name = "FMT=PATH", value_parser = report, requires = "check")]
    pub report: Vec<(CheckFormat, PathBuf)>,
    /// With --check: what makes it fail, with exit code 1
    #[arg(long, value_parser = FAIL_ON, default_value = "error", value_name = "SEVERITY", requires = "check")]
    pub fail_on: FailOn,
    /// With --check: the least severity that is listed
    #[arg(long, value_parser = SHOW, value_name = "SEVERITY", requires = "check")]
    pub show: Option<Severity>,
    /// The payload of each packet as hex and text, what is wrong in it marked
    #[arg(short = 'x')]
    pub hex: bool,
    /// Save the packets sent and received to a pcapng file
    #[arg(short = 'w', long, value_name = "FILE")]
    pub write: Option<PathBuf>,
    #[command(flatten)]
    pub rules: RuleArgs,
    #[command(flatten)]
    pub configuration: ConfigurationArgs,
    /// Write the result to a file, aside first, and renamed when it is complete
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// No packets and findings, only the counts at the end
    #[arg(short = 'q')]
    pub quiet: bool,
    /// When to use colours
    #[arg(long, value_enum, default_value_t = Colour::Auto, value_name = "WHEN")]
    pub color: Colour,
}

/// The names of the formats of `dump` and `check`, without the one that needs columns.
fn formats() -> PossibleValuesParser {
    let dump = DUMP_FORMATS.names().filter(|name| *name != "fields").map(str::to_owned);
    let mut all: Vec<_> = dump.chain(check_formats()).collect();
    all.sort();
    all.dedup();
    PossibleValuesParser::new(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::FromArgMatches;
    use std::net::UdpSocket;
    use std::thread;

    #[test]
    fn servers_without_a_port_get_the_default_of_the_protocol() {
        let found = |text, id| addresses(text, id).map(|all| all[0].to_string());
        assert_eq!(found("127.0.0.1:9000", Id::Sqp), Ok("127.0.0.1:9000".into()));
        assert_eq!(found("127.0.0.1", Id::Satisfactory), Ok("127.0.0.1:7777".into()));
        assert_eq!(found("[::1]:9000", Id::Sqp), Ok("[::1]:9000".into()));
        assert_eq!(found("::1", Id::Satisfactory), Ok("[::1]:7777".into()));
        assert_eq!(found("[::1]", Id::Satisfactory), Ok("[::1]:7777".into()));
        let message = found("127.0.0.1", Id::Sqp).unwrap_err();
        assert!(
            message.contains("sqp has no port of its own") && message.contains("127.0.0.1:9000"),
            "{message}"
        );
        for text in ["127.0.0.1:x", "127.0.0.1:70000", "127.0.0.1:0"] {
            assert!(found(text, Id::Sqp).unwrap_err().contains("from 1 to 65535"), "{text}");
        }
        assert!(found("no such host:1", Id::Sqp).unwrap_err().contains("is not known"));
        for (text, kind) in [
            ("224.0.0.251:9", "multicast"),
            ("239.255.255.250", "multicast"),
            ("[ff02::1]:9000", "multicast"),
            ("255.255.255.255:1", "broadcast"),
            ("192.0.2.255", "broadcast"),
        ] {
            assert!(found(text, Id::Satisfactory).unwrap_err().contains(kind), "{text}");
        }
    }

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
            let (server, conversation) = ask_in_turn(&args, servers, &Options::default()).unwrap();
            (server, conversation.answered)
        };
        assert_eq!(ask(&[no, mute, yes, no]), (yes, 1));
        assert_eq!(ask(&[mute, no]), (mute, 0));
        // Sending to the broadcast address fails without SO_BROADCAST.
        let never = SocketAddr::from(([255, 255, 255, 255], 1));
        assert_eq!(ask(&[never, yes]), (yes, 1));
        assert!(ask_in_turn(&args, &[never], &Options::default()).unwrap_err().contains("cannot be asked"));
    }
}
