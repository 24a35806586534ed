//! `qdissect ask auto`: asks in every protocol, and says what answered.

use super::addresses::{numbered, parted, resolved};
use super::args::AskArgs;
use super::client::{Conversation, Pace, ask_server, to_duration};
use super::{NO_ANSWER, REFUSED, answer};
use crate::classify::Choice;
use crate::cli::diagnostics::{OK, error};
use crate::cli::interrupt;
use crate::pipeline::Options;
use crate::protocols::{Ask, Id};
use crate::text::escape::quoted;
use std::io::{self, Write};
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::AtomicUsize;
use std::thread;
use std::time::{Duration, Instant};

/// Maximum number of conversations at a time.
const AT_ONCE: usize = 4;
/// Maximum number of datagrams sent in all.
const MAX_SENT: usize = 64;
/// When it stops asking.
const MAX_TIME: Duration = Duration::from_secs(5);
/// Longest wait for an answer: 64 datagrams, four at a time, take less than [`MAX_TIME`].
const MAX_WAIT: Duration = Duration::from_millis(250);

/// Asks, prints a line for each protocol that was answered in, and returns the exit code.
///
/// # Errors
/// A sentence that says why the server cannot be asked, or which option does not go with `auto`.
pub fn run(args: &AskArgs) -> Result<u8, String> {
    let refused = [
        ("--check", args.check),
        ("--probe", args.probe.is_some()),
        ("--watch", args.watch.is_some()),
        ("--all", args.all),
        ("-w", args.write.is_some()),
        ("-T", args.format.is_some()),
        ("--output", args.output.is_some()),
        ("-x", args.hex),
    ];
    if let Some((option, _)) = refused.iter().find(|(_, given)| *given) {
        return Err(format!("{option} needs a protocol: `ask auto` says which, then `ask` it by that name."));
    }
    let server = args.only_server()?;
    let (host, port) = parted(server);
    let port = port.map(|port| numbered(port, server)).transpose()?;
    let servers = resolved(host, port.unwrap_or(1))?;
    let Some(ip) = servers.first().map(SocketAddr::ip) else {
        return Err(format!("The host {} is not known: it has no address.", quoted(host)));
    };
    let _ = interrupt::watch();
    let Asked { lines, sent, refused } = ask_everything(ip, port, to_duration(args.timeout).min(MAX_WAIT));
    if let Some(signal) = interrupt::caught() {
        return Ok(signal);
    }
    let mut out = io::stdout().lock();
    for line in &lines {
        if writeln!(out, "{line}").is_err() {
            return Ok(OK);
        }
    }
    if lines.is_empty() {
        let at = port.map_or(ip.to_string(), |port| SocketAddr::new(ip, port).to_string());
        let why = if refused { REFUSED } else { "" };
        error(&format_args!(
            "{at} did not answer in any protocol: {sent} datagrams sent{why}.{}",
            untried(ip, port)
        ));
        return Ok(NO_ANSWER);
    }
    Ok(OK)
}

/// A sentence that names the protocols in which nothing was asked, because they have no usual port.
fn untried(ip: IpAddr, port: Option<u16>) -> String {
    let tried = candidates(port);
    let names: Vec<_> =
        askable().filter(|id| tried.iter().all(|(other, _)| other != id)).map(|id| id.info().name).collect();
    match names.as_slice() {
        [] => String::new(),
        names => {
            let at = SocketAddr::new(ip, 9000);
            format!(
                " In {} nothing was asked, for they have no usual port: name one, as in {at}.",
                names.join(", ")
            )
        }
    }
}

/// What came of asking.
struct Asked {
    /// A line for each answer.
    lines: Vec<String>,
    /// Number of datagrams sent.
    sent: usize,
    /// Nothing listens on the port that was named.
    refused: bool,
}

/// Asks in turn until something answers.
fn ask_everything(ip: IpAddr, port: Option<u16>, timeout: Duration) -> Asked {
    let (begin, left) = (Instant::now(), AtomicUsize::new(MAX_SENT));
    let (mut lines, mut refused) = (vec![], false);
    let candidates = candidates(port);
    for batch in candidates.chunks(AT_ONCE) {
        if !lines.is_empty() || begin.elapsed() + timeout * 2 > MAX_TIME || interrupt::caught().is_some() {
            break;
        }
        let pace = Pace { all: false, count: 1, interval: timeout, timeout, tries: 1, left: Some(&left) };
        thread::scope(|scope| {
            let asked: Vec<_> = batch
                .iter()
                .map(|&(id, port)| (port, scope.spawn(move || ask_one(id, SocketAddr::new(ip, port), &pace))))
                .collect();
            for (asked_port, thread) in asked {
                let Ok(Some((line, is_refused))) = thread.join() else { continue };
                lines.extend(line);
                refused |= is_refused && port == Some(asked_port);
            }
        });
    }
    Asked { lines, sent: MAX_SENT - left.into_inner(), refused }
}

/// The line of a server that answers in a protocol, and whether an ICMP error came back.
fn ask_one(id: Id, server: SocketAddr, pace: &Pace<'_>) -> Option<(Option<String>, bool)> {
    let choice = Choice { pins: vec![(server.port(), id)], ..Choice::default() };
    let options = Options { choice, ..Options::default() };
    let Conversation { frames, answered, refused, .. } = ask_server(id, pace, server, &options).ok()?;
    Some(((answered > 0).then(|| answer::line(id, &frames, &options)).flatten(), refused))
}

/// The protocols that can be asked.
fn askable() -> impl Iterator<Item = Id> {
    let first =
        Ask { answered: 0, silences: 0, all: false, random: 0, server: None, first: &[], latest: &[] };
    Id::ALL.iter().copied().filter(move |id| id.ask(&first).is_some())
}

/// What is asked, in order: every protocol on the given port, those first that know it; then the usual distances from it, and
/// the ports that the protocols know.
fn candidates(given: Option<u16>) -> Vec<(Id, u16)> {
    let mut all: Vec<(Id, u16)> = vec![];
    if let Some(port) = given {
        all.extend(askable().map(|id| (id, port)));
        all.sort_by_key(|(id, port)| !id.info().ports.contains(port));
        let offsets = askable().flat_map(|id| id.info().offsets.iter().map(move |offset| (id, *offset)));
        all.extend(offsets.filter_map(|(id, offset)| Some((id, port.checked_add(offset)?))));
    }
    // The first port of each before the second of any.
    for at in 0..2 {
        all.extend(askable().filter_map(|id| Some((id, *id.info().ports.get(at)?))));
    }
    let mut seen = std::collections::HashSet::new();
    all.retain(|candidate| seen.insert(*candidate));
    all
}
