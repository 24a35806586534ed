//! One line an exchange: streaming, in fixed columns, for people.

use super::push::{left, push_duration, push_key, push_number, right};
use super::text::Lines;
use super::{Place, Report, Totals};
use crate::capture;
use crate::check::Finding;
use crate::decode::{Notes, push, push_u64};
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

impl<W: Write> Exchanges<W> {
    /// All columns but the last.
    fn what(&mut self, e: &Exchange) {
        let info = e.protocol.info();
        let step = &info.steps[e.step as usize];
        push_number(&mut self.lines.text, e.id, 6);
        self.lines.text.push(b' ');
        self.lines.ends([e.client, e.server]);
        let text = &mut self.lines.text;
        for (word, width) in [(info.name, 12), (step.name, 9)] {
            cell(text, width, |text| text.extend_from_slice(word.as_bytes()));
        }
        cell(text, 18, |text| match e.key {
            Some(key) => push_key(text, key, step.key_digits),
            None => text.push(b'-'),
        });
        cell(text, 10, |text| text.extend_from_slice(e.outcome.name().as_bytes()));
        text.push(b' ');
        let from = text.len();
        match e.response_time {
            Some(time) => push_duration(text, time),
            None => text.push(b'-'),
        }
        // The sign of µs has one column and two bytes.
        let wide = usize::from(text.ends_with("µs".as_bytes()));
        right(text, from, 12 + wide);
        for bytes in [e.request_bytes, e.response_bytes] {
            text.push(b' ');
            push_number(text, bytes, 5);
        }
    }

    /// The frames of an exchange; the line stands among those of the file `here`.
    fn frames(&mut self, e: &Exchange, asked: Place, here: Place) {
        let text = &mut self.lines.text;
        text.extend_from_slice(b"  ");
        if asked.file == here.file {
            push_u64(text, asked.frame);
        } else {
            let other = self.lines.other(e.request_frame, here.file);
            push(&mut self.lines.text, format_args!("({other})"));
        }
        for &frame in e.response_frames() {
            let place = self.lines.files.place(frame);
            self.lines.text.push(b' ');
            push_u64(&mut self.lines.text, place.frame);
        }
    }
}

/// A cell behind a blank, filled up to so many columns.
fn cell(text: &mut Vec<u8>, width: usize, write: impl FnOnce(&mut Vec<u8>)) {
    text.push(b' ');
    let from = text.len();
    write(text);
    left(text, from, width);
}

impl<W: Write> Report for Exchanges<W> {
    type Sink = Notes;

    fn exchange(&mut self, e: &Exchange, _: &[Finding]) -> io::Result<()> {
        if self.lines.quiet {
            return Ok(());
        }
        let asked = self.lines.files.place(e.request_frame);
        let here = match e.response_frames() {
            [first, ..] => self.lines.place(*first)?,
            [] => self.lines.place(e.request_frame)?,
        };
        if !std::mem::replace(&mut self.titled, true) {
            let _ = writeln!(
                self.lines.text,
                "{:>6} {:>21}   {:<21} {:<12} {:<9} {:<18} {:<10} {:>12} {:>5} {:>5}  frames",
                "id", "client", "server", "protocol", "step", "key", "outcome", "time", "out", "in"
            );
        }
        self.what(e);
        self.frames(e, asked, here);
        let text = &mut self.lines.text;
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
