//! `qdissect ask --watch`: asks servers again and again, one line each time, and serves metrics of what they answer.

use super::addresses::addresses;
use super::client::{Conversation, Pace, ask_server, to_duration};
use super::link::sleep_until;
use super::{NO_ANSWER, answer, cannot_be_asked, configured, no_answer_message};
use crate::cli::ask::AskArgs;
use crate::cli::clock::now;
use crate::cli::diagnostics::{OK, error};
use crate::cli::hex::play;
use crate::cli::metrics::Endpoint;
use crate::cli::{interrupt, run};
use crate::pipeline::Options;
use crate::protocols::{Id, Level};
use crate::report::metrics::{Exposition, Metrics};
use crate::text::escape::quoted;
use crate::text::timestamps::stamp;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Most servers that are asked at the same time, each by a thread.
const MAX_TARGETS: usize = 100;

/// Asks every `every` nanoseconds, with `-c` as often as that says. Returns 0 if the last answers of all came, else 3.
///
/// # Errors
/// A sentence that says why a server cannot be asked.
pub fn run(
    args: &AskArgs,
    (id, port): (Id, Option<u16>),
    every: i64,
    is_given: &dyn Fn(&str) -> bool,
) -> Result<u8, String> {
    let targets = targets(&args.server, id, port)?;
    let (reading, _) = configured(args, id, &targets, is_given)?;
    let endpoint = args.metrics.map(Endpoint::bind).transpose()?;
    let _ = interrupt::watch();
    interrupt::finish_first();
    let watch = Watch {
        id,
        options: run::pipeline_options(reading.common(), true)?,
        pace: Pace { count: 1, ..Pace::of(args) },
        every: to_duration(every),
        rounds: is_given("count").then_some(args.count),
        alone: targets.len() == 1,
        is_over: AtomicBool::new(false),
        exposition: Arc::default(),
    };
    if let Some(endpoint) = endpoint {
        let exposition = watch.exposition.clone();
        let text = move |syntax| exposition.lock().unwrap_or_else(PoisonError::into_inner).text(syntax);
        endpoint.serve(args.quiet, text).map_err(|e| format!("Metrics cannot be served: {e}."))?;
    }
    let codes = watch.targets(&targets)?;
    Ok(interrupt::caught().unwrap_or(codes.into_iter().max().unwrap_or(OK)))
}

/// The addresses of the servers that are named, each once.
fn targets(names: &[String], id: Id, port: Option<u16>) -> Result<Vec<SocketAddr>, String> {
    if names.len() > MAX_TARGETS {
        let many = names.len();
        return Err(format!(
            "--watch asks up to {MAX_TARGETS} servers, and these are {many}: use several runs."
        ));
    }
    let mut targets = vec![];
    for name in names {
        let known = addresses(name, id, port)?;
        let first = known.first().ok_or_else(|| format!("The host {} has no address.", quoted(name)))?;
        if !targets.contains(first) {
            targets.push(*first);
        }
    }
    Ok(targets)
}

/// What the threads of all targets share.
struct Watch {
    id: Id,
    options: Options,
    pace: Pace<'static>,
    every: Duration,
    /// How often each is asked, if not until the end.
    rounds: Option<u16>,
    /// There is one target, so that a failure of its first round ends everything: nothing can be asked there.
    alone: bool,
    /// Nobody reads the lines any more, or a thread could not be started.
    is_over: AtomicBool,
    exposition: Arc<Mutex<Exposition>>,
}

impl Watch {
    /// Asks all servers at the same time until the end. Returns the exit code of the last round of each.
    fn targets(&self, targets: &[SocketAddr]) -> Result<Vec<u8>, String> {
        thread::scope(|scope| {
            let begin = |target: &SocketAddr| {
                let target = *target;
                let begun = thread::Builder::new().spawn_scoped(scope, move || self.target(target));
                begun.map_err(|e| {
                    self.is_over.store(true, Relaxed);
                    cannot_be_asked(target, &e)
                })
            };
            let asked: Vec<_> = targets.iter().map(begin).collect();
            asked.into_iter().map(|thread| thread?.join().unwrap_or(Ok(NO_ANSWER))).collect()
        })
    }

    /// Asks a server until the end. Returns the exit code of the last round.
    fn target(&self, server: SocketAddr) -> Result<u8, String> {
        let (mut next, mut rounds, mut code) = (Instant::now(), 0, OK);
        while !self.ends() && self.rounds.is_none_or(|most| rounds < most) {
            sleep_until(next);
            if self.ends() {
                break;
            }
            next += self.every;
            rounds = rounds.saturating_add(1);
            let time = now();
            let asked = ask_server(self.id, &self.pace, server, &self.options);
            let asked = asked.map_err(|e| cannot_be_asked(server, &e));
            if self.alone && rounds == 1 {
                asked.as_ref().map_err(Clone::clone)?;
            }
            let answered = asked.and_then(|asked| self.judge(server, &asked));
            code = if answered.is_ok() { OK } else { NO_ANSWER };
            let line = answered.unwrap_or_else(|why| why);
            let mut out = io::stdout().lock();
            if writeln!(out, "{} {line}", stamp(time)).and_then(|()| out.flush()).is_err() {
                self.is_over.store(true, Relaxed);
                return Ok(OK);
            }
        }
        Ok(code)
    }

    fn ends(&self) -> bool {
        interrupt::caught().is_some() || self.is_over.load(Relaxed)
    }

    /// The line of a conversation, which is counted, too; as an error if something was not answered.
    fn judge(&self, server: SocketAddr, asked: &Conversation) -> Result<String, String> {
        self.count(server, asked);
        let answered = asked.answered > 0 && !asked.lacks_answer;
        let line = answer::line(self.id, &asked.frames, &self.options).filter(|_| answered);
        line.ok_or_else(|| match asked.answered {
            0 => no_answer_message(server, asked),
            _ => format!("{server} did not answer everything that every client asks."),
        })
    }

    /// Adds a conversation to the metrics.
    fn count(&self, server: SocketAddr, asked: &Conversation) {
        let mut options = Options {
            min_confidence: Level::Low,
            watched: Some(asked.end),
            all: false,
            ..self.options.clone()
        };
        options.policy.asked_server = Some(server.into());
        let mut metrics = Metrics::default();
        match play(("", &asked.frames, true), options, &mut metrics) {
            Ok(_) => {
                let exposition = metrics.exposition();
                self.exposition.lock().unwrap_or_else(PoisonError::into_inner).add(exposition);
            }
            Err(e) => error(&format_args!("What {server} answered is not counted: {e}.")),
        }
    }
}
