//! Text output of `hex`: for each datagram a line, its fields and its findings.

use crate::capture::Time;
use crate::check::Finding;
use crate::classify::looks_like::looks_like;
use crate::decode::{AnyListener, Tree};
use crate::exchange::Exchange;
use crate::net::{Datagram, DropReason, OwnedFrame, parse};
use crate::report::screen::{DIM, Screen};
use crate::report::{FieldStyle, Lister, Packet, Report, StandIns, Totals, Wants, fields, finding_line};
use crate::text::escape::to_hex_head;
use std::collections::VecDeque;
use std::io::{self, Write};

/// Maximum number of bytes shown of a datagram that no protocol claims.
const MAX_BYTES: usize = 16;

/// Writes the line of each datagram, its fields and its findings.
pub struct Text<W: Write> {
    lister: Lister<W>,
    screen: Screen,
    /// Frames without a datagram that have not been listed yet, by number.
    dropped: VecDeque<(u64, DropReason)>,
    /// Whether something has been written.
    has_output: bool,
}

impl<W: Write> Text<W> {
    /// Creates a report about these frames that writes to `out`.
    pub fn new(out: W, screen: Screen, frames: &[OwnedFrame], stand_ins: StandIns) -> Self {
        let numbered = (1..).zip(frames);
        let dropped = numbered.filter_map(|(n, frame)| Some((n, parse(&frame.frame(n)).err()?))).collect();
        let lister = Lister::new(out, false, false, false).with_stand_ins(stand_ins);
        Text { lister, screen, dropped, has_output: false }
    }

    /// Writes what comes before the datagram of a frame: a line for each earlier frame without a datagram, and an empty line.
    fn write_preceding(&mut self, frame: u64) -> io::Result<()> {
        while let Some(&(number, reason)) = self.dropped.front().filter(|(n, _)| *n < frame) {
            self.dropped.pop_front();
            self.blank_line()?;
            let what = reason.name().replace('_', " ");
            self.lister.line(&format!("{number:>5} no UDP datagram: {what}"))?;
        }
        if frame == u64::MAX { Ok(()) } else { self.blank_line() }
    }

    fn blank_line(&mut self) -> io::Result<()> {
        if std::mem::replace(&mut self.has_output, true) { self.lister.line("") } else { Ok(()) }
    }

    fn indented(&mut self, line: &str) -> io::Result<()> {
        self.lister.line(&format!("    {line}"))
    }
}

/// A frame number as causes show it. All frames come from the same text, so no file name is needed.
fn number(frame: u64) -> String {
    frame.to_string()
}

impl<W: Write> Report for Text<W> {
    fn listener(&self) -> AnyListener {
        AnyListener::Tree(Tree::default())
    }

    fn wants(&self) -> Wants {
        Wants { ordered: true, diagnosis: true, ..Wants::default() }
    }

    fn packet(&mut self, p: &Packet<'_>) -> io::Result<()> {
        self.write_preceding(p.datagram.frame)?;
        self.lister.show(p)?;
        let manner = FieldStyle { bytes: true, colour: self.screen.colour };
        let lines = p.tree().map(|tree| fields(tree, p.bytes, (p.findings, p.diagnosis()), manner, &number));
        lines.iter().flatten().try_for_each(|line| self.indented(line))
    }

    fn unclaimed(&mut self, d: &Datagram<'_>) -> io::Result<()> {
        self.write_preceding(d.frame)?;
        self.lister.unclaimed(d)?;
        let hex = to_hex_head(d.payload, MAX_BYTES);
        let why = match looks_like(d.payload, [0; 2]) {
            Some(name) => format!("(no protocol is recognised; it looks like {name})"),
            None => "(no protocol is recognised)".to_owned(),
        };
        self.indented(&format!("{hex} {}", self.screen.paint(DIM, &why)))
    }

    fn exchange(&mut self, e: &Exchange, findings: &[Finding]) -> io::Result<()> {
        if findings.is_empty() {
            return Ok(());
        }
        let info = e.protocol.info();
        let step = info.steps.get(e.step as usize).map_or("-", |step| step.name);
        let (frame, outcome) = (e.request_frame, e.outcome.name());
        self.blank_line()?;
        self.lister.line(&format!("exchange: {} {step}, asked in frame {frame}: {outcome}", info.name))?;
        let colour = self.screen.colour;
        findings.iter().try_for_each(|f| self.indented(&finding_line(f, false, colour, &number)))
    }

    fn first_frame(&mut self, time: Time) {
        self.lister.first_frame(time);
    }

    fn finish(&mut self, totals: &Totals) -> io::Result<()> {
        self.write_preceding(u64::MAX)?;
        self.lister.finish(totals)
    }
}
