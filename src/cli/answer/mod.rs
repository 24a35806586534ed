//! `qdissect answer`: a server that answers queries, for authors of clients.

mod args;
mod serve;

pub use args::AnswerArgs;

use super::ask::addresses::{numbered, parted};
use super::diagnostics::{OK, note, stdout_exit_code};
use super::interrupt;
use super::system::display_name;
use super::value_parsers::unknown_rule;
use crate::answer::{Replay, Rounds, Server, Settings, faults, has_challenge, is_own, talk};
use crate::capture::Source;
use crate::pipeline::{Options, Pipeline};
use crate::protocols::Id;
use crate::report::count;
use crate::report::server_text::ServerText;
use crate::rule::{Rule, Severity};
use crate::text::escape::quoted;
use crate::verdict::Entry;
use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};

/// Runs `qdissect answer` and returns the exit code.
///
/// # Errors
/// A sentence that says why it cannot answer.
pub fn run(args: &AnswerArgs) -> Result<u8, String> {
    let (id, usual) = args.proto;
    if id.info().replies.is_empty() {
        return Err(format!("{} cannot be asked yet, so that there is nothing to answer.", id.info().name));
    }
    if args.list {
        return Ok(stdout_exit_code(io::stdout().write_all(listed(id).as_bytes())));
    }
    let fault = args.fault.as_deref().map(|name| fault(id, name)).transpose()?;
    let source = args
        .from
        .as_deref()
        .map(|path| Source::open(path).map_err(|e| format!("{}: {e}", display_name(path))));
    let source = source.transpose()?;
    let wanted = wanted(args.listen.as_deref(), id, usual)?;
    let socket = UdpSocket::bind(wanted).map_err(|e| format!("Nothing can listen on {wanted}: {e}."))?;
    let local = socket.local_addr().map_err(|e| e.to_string())?;
    confine(args)?;
    let _ = interrupt::watch();
    interrupt::finish_first();
    let settings = args.settings(local.port());
    check(id, &settings)?;
    let server = Server::new(id, settings, is_own);
    let (server, plays) = match (fault, source) {
        (Some((rule, rounds)), _) => {
            (server.playing(rounds), format!(", but for {}: {}", rule.id, rule.title))
        }
        (None, Some(mut source)) => {
            let (rounds, what) = replayed(id, &mut source, args)?;
            (server.playing(rounds), what)
        }
        (None, None) => (server, String::new()),
    };
    if !args.quiet {
        greet(id, local, &plays);
    }
    let served =
        serve::run(&socket, server, args).map_err(|e| format!("{local} cannot answer any more: {e}."))?;
    if !args.quiet {
        note(&format_args!("{} received, {} sent.", count(served.received, "datagram"), served.sent));
    }
    Ok(interrupt::caught().unwrap_or(OK))
}

/// Where to listen.
fn wanted(listen: Option<&str>, id: Id, usual: Option<u16>) -> Result<SocketAddr, String> {
    let own = usual.or(id.info().ports.first().copied()).unwrap_or(0);
    let Some(text) = listen else { return Ok((Ipv4Addr::LOCALHOST, own).into()) };
    let (host, port) = parted(text);
    let port = match port {
        Some("0") => 0,
        Some(port) => numbered(port, text)?,
        None => own,
    };
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let ip: IpAddr = host.parse().map_err(|_| {
        format!(
            "{} is no address of this machine: write one, as in 127.0.0.1:9000 or [::]:9000.",
            quoted(host)
        )
    })?;
    Ok((ip, port).into())
}

/// The rule of that name, and how it is broken.
fn fault(id: Id, name: &str) -> Result<(&'static Rule, Rounds), String> {
    let is_named = |rule: &&'static Rule| rule.id.eq_ignore_ascii_case(name);
    let Some(rule) = crate::protocols::rules().find(is_named) else { return Err(unknown_rule(name)) };
    let listed = format!("`qdissect answer {} --list` prints those that it can play.", id.info().name);
    match Id::of_rule(rule) {
        Some(of) if of != id => Err(format!("{} is a rule of {}. {listed}", rule.id, of.info().name)),
        _ => match Rounds::breaking(id, rule) {
            Some(rounds) => Ok((rule, rounds)),
            None => Err(format!("{} is not about what a server sends. {listed}", rule.id)),
        },
    }
}

/// The faults that a server can play, one line each.
fn listed(id: Id) -> String {
    faults(id).iter().fold(String::new(), |mut lines, rule| {
        let _ = writeln!(lines, "{:<11}  {:<7}  {}", rule.id, rule.severity.name(), rule.title);
        lines
    })
}

/// Makes sure that right answers are right before anybody asks: a text may have a character that the protocol cannot carry.
fn check(id: Id, settings: &Settings) -> Result<(), String> {
    let mut server = Server::new(id, settings.clone(), is_own);
    let mut conversation = talk::Talk::with(&mut server, settings.port);
    conversation.ask(true).map_err(|e| e.to_string())?;
    let verdict = conversation.verdict().map_err(|e| e.to_string())?;
    // How large answers are, is the protocol's affair.
    let is_of_size = |rule: &Rule| rule.ratio || rule.unproven;
    let is_wrong = |entry: &&Entry| {
        entry.counts() && entry.finding.severity > Severity::Note && !is_of_size(entry.rule())
    };
    let wrong = verdict.findings.iter().find(is_wrong);
    let name = id.info().name;
    if let Some(entry) = wrong {
        return Err(format!(
            "{name} cannot say that, because of {}: {}. Give another name, map, game, version or number of players.",
            entry.rule().id,
            entry.text()
        ));
    }
    let facts = conversation.facts().map_err(|e| e.to_string())?;
    let said = |text: &Option<ServerText>, given: &str| text.as_ref().is_none_or(|text| text.text() == given);
    if !said(&facts.server_name, &settings.name) || !said(&facts.map, &settings.map) {
        return Err(format!("{name} cannot say that name or map as it is: give another one."));
    }
    match facts.players {
        Some(players) if players != (settings.players, settings.max_players) => {
            let (now, most) = players;
            Err(format!("{name} cannot say these numbers of players: clients would see {now} of {most}."))
        }
        _ => Ok(()),
    }
}

/// The conversations of a capture, and what they are.
fn replayed(id: Id, source: &mut Source, args: &AnswerArgs) -> Result<(Rounds, String), String> {
    let name = args.from.as_deref().map(display_name).unwrap_or_default().to_string();
    let mut replay = Replay::of(id);
    let mut pipeline = Pipeline::new(Options::default(), &mut replay);
    let read = pipeline.read(source, &name);
    pipeline.finish(read.is_ok()).map_err(|e| e.to_string())?;
    if let Err(stopped) = read {
        note(&format_args!("{name}: {stopped}"));
    }
    if replay.left_out > 0 {
        let many = count(replay.left_out, "request and answer");
        note(&format_args!("{name}: There was no room for {many}."));
    }
    let (server, rounds) =
        replay.finish().ok_or_else(|| format!("{name}: No server in it answers in {}.", id.info().name))?;
    let what = format!(", as {server} does in {name} ({})", count(rounds.count() as u64, "request"));
    Ok((rounds, what))
}

/// Gives up the rights that answering does not need.
fn confine(args: &AnswerArgs) -> Result<(), String> {
    #[cfg(not(target_os = "linux"))]
    let _ = args;
    #[cfg(target_os = "linux")]
    {
        use super::common_args::Common;
        let common = Common { no_sandbox: args.no_sandbox, quiet: args.quiet, ..Common::default() };
        let to = super::output::Target::open(None).map_err(|e| e.to_string())?;
        let confinement = super::live::confine::Confinement::plan(&common, &to)?;
        confinement.iter().for_each(super::live::confine::Confinement::begin);
        confinement.into_iter().for_each(super::live::confine::Confinement::enter);
    }
    Ok(())
}

/// Says where the server answers, and whom.
fn greet(id: Id, local: SocketAddr, plays: &str) {
    let name = id.info().name;
    note(&format_args!("{local} answers in {name}{plays}. Ctrl-C ends it."));
    if !is_own(local.ip()) && has_challenge(id) {
        note(&format_args!(
            "Other hosts get no more bytes than they have sent until they have returned a challenge."
        ));
    } else if !is_own(local.ip()) {
        note(&format_args!(
            "{name} has no challenge, by which a client proves its address: other hosts get no answer."
        ));
    }
}
