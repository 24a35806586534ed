//! One line an exchange: streaming, in fixed columns, for people.

use super::push::push_number;
use super::text::Lines;
use super::{Report, Totals, duration};
use crate::capture;
use crate::check::Finding;
use crate::decode::Notes;
use crate::exchange::Exchange;
use std::io::{self, Write};

/// Exchanges, one line each.
pub struct Exchanges<W: Write> {
    lines: Lines<W>,
    titled: bool,
}

impl<W: Write> Exchanges<W> {
    /// As [`Lister::new`](super::Lister::new).
    pub fn new(out: W, flush: bool, quiet: bool, heads: bool) -> Self {
        Exchanges { lines: Lines::new(out, flush, quiet, heads), titled: false }
    }
}

impl<W: Write> Report for Exchanges<W> {
    type Sink = Notes;
    const ORDERED: bool = false;

    fn exchange(&mut self, e: &Exchange, _: &[Finding]) -> io::Result<()> {
        if self.lines.quiet {
            return Ok(());
        }
        let asked = self.lines.files.place(e.request_frame);
        let here = match e.response_frames() {
            [first, ..] => self.lines.place(*first)?,
            [] => self.lines.place(e.request_frame)?,
        };
        let answers = e.response_frames().iter().map(|f| format!(" {}", self.lines.files.place(*f).frame));
        let answers: String = answers.collect();
        let asked = match asked.file == here.file {
            true => asked.frame.to_string(),
            false => format!("({})", self.lines.other(e.request_frame, here.file)),
        };
        let text = &mut self.lines.text;
        if !std::mem::replace(&mut self.titled, true) {
            let _ = writeln!(
                text,
                "{:>6} {:>21}   {:<21} {:<12} {:<9} {:<18} {:<10} {:>12} {:>5} {:>5}  frames",
                "id", "client", "server", "protocol", "step", "key", "outcome", "time", "out", "in"
            );
        }
        let info = e.protocol.info();
        let step = &info.steps[e.step as usize];
        let key = e.key.map_or("-".to_owned(), |k| format!("0x{k:0width$x}", width = step.key_digits));
        let time = e.response_time.map_or("-".to_owned(), duration);
        let frames = asked + &answers;
        push_number(text, e.id, 6);
        text.push(b' ');
        self.lines.ends([e.client, e.server]);
        let text = &mut self.lines.text;
        let _ = write!(
            text,
            " {:<12} {:<9} {key:<18} {:<10} {time:>12} {:>5} {:>5}  {frames}",
            info.name,
            step.name,
            e.outcome.name(),
            e.request_bytes,
            e.response_bytes,
        );
        if e.retransmissions > 0 {
            let _ = write!(text, " (repeated {} times)", e.retransmissions);
        }
        self.lines.end()
    }

    fn file(&mut self, name: &str, facts: &capture::Facts, before: u64) -> io::Result<()> {
        self.lines.file(name, facts, before)
    }

    fn finish(&mut self, totals: &Totals) -> io::Result<()> {
        self.lines.finish(totals)
    }
}
