//! `qdissect ask --watch`: asks again and again, one line each time.

use super::client::{Pace, ask_server, to_duration};
use super::link::sleep_until;
use super::{NO_ANSWER, answer, cannot_be_asked, no_answer_message};
use crate::cli::ask::AskArgs;
use crate::cli::clock::now;
use crate::cli::diagnostics::OK;
use crate::cli::interrupt;
use crate::pipeline::Options;
use crate::protocols::Id;
use crate::text::timestamps::stamp;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::time::Instant;

/// Asks every `every` nanoseconds, with `counted` as often as `-c` says. Returns 0 if the last answer came, else 3.
///
/// # Errors
/// A sentence that says why the server cannot be asked.
pub fn run(
    args: &AskArgs,
    id: Id,
    servers: &[SocketAddr],
    every: i64,
    counted: bool,
    options: &Options,
) -> Result<u8, String> {
    let Some(&server) = servers.first() else { return Err("The host has no address.".to_owned()) };
    let pace = Pace { count: 1, ..Pace::of(args) };
    let (mut next, mut rounds, mut code) = (Instant::now(), 0, OK);
    while interrupt::caught().is_none() && (!counted || rounds < args.count) {
        sleep_until(next);
        if interrupt::caught().is_some() {
            break;
        }
        next += to_duration(every);
        rounds += 1;
        let time = now();
        let asked = ask_server(id, &pace, server, options).map_err(|e| cannot_be_asked(server, &e))?;
        let answered = asked.answered > 0 && !asked.lacks_answer;
        let line = answer::line(id, &asked.frames, options).filter(|_| answered);
        code = if line.is_some() { OK } else { NO_ANSWER };
        let line = line.unwrap_or_else(|| match asked.answered {
            0 => no_answer_message(server, &asked),
            _ => format!("{server} did not answer everything that every client asks."),
        });
        let mut out = io::stdout().lock();
        if writeln!(out, "{} {line}", stamp(time)).and_then(|()| out.flush()).is_err() {
            return Ok(OK);
        }
    }
    Ok(interrupt::caught().unwrap_or(code))
}
