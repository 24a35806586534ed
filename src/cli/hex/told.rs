//! Datagrams for people: everything there is to say of each.

use crate::cli::show::page::{DIM, Page};
use qdissect::capture::Time;
use qdissect::check::Finding;
use qdissect::decode::{Heard, Tree};
use qdissect::exchange::Exchange;
use qdissect::net::{Datagram, Shot, Turned, peel};
use qdissect::report::screen::Screen;
use qdissect::report::{Lister, Packet, Report, Totals};
use std::collections::VecDeque;
use std::io::{self, Write};

/// Bytes shown of a datagram that nobody claims.
const MAX_BYTES: usize = 16;

/// Everything of each datagram: its line, fields, findings.
pub struct Told<W: Write> {
    lister: Lister<W>,
    screen: Screen,
    /// Frames without a datagram that are still to be told, by number.
    others: VecDeque<(u64, Turned)>,
    any: bool,
}

impl<W: Write> Told<W> {
    /// Tells of these frames to `out`.
    pub fn new(out: W, screen: Screen, shots: &[Shot]) -> Self {
        let numbered = (1..).zip(shots);
        let others = numbered.filter_map(|(n, shot)| Some((n, peel(&shot.frame(n)).err()?))).collect();
        Told { lister: Lister::new(out, false, false, false), screen, others, any: false }
    }

    fn page(&self) -> Page {
        Page::new(self.screen.width, self.screen.colour)
    }

    /// What stands before the datagram of a frame: the frames without one, and an empty line.
    fn until(&mut self, frame: u64) -> io::Result<()> {
        while let Some(&(number, turned)) = self.others.front().filter(|(n, _)| *n < frame) {
            self.others.pop_front();
            self.gap()?;
            let what = turned.name().replace('_', " ");
            self.lister.line(&format!("{number:>5} no UDP datagram: {what}"))?;
        }
        if frame == u64::MAX { Ok(()) } else { self.gap() }
    }

    fn gap(&mut self) -> io::Result<()> {
        if std::mem::replace(&mut self.any, true) { self.lister.line("") } else { Ok(()) }
    }

    fn write(&mut self, page: &Page) -> io::Result<()> {
        page.text().lines().try_for_each(|line| self.lister.line(line))
    }
}

impl<W: Write> Report for Told<W> {
    type Sink = Heard;
    const ORDERED: bool = true;

    fn packet(&mut self, p: &Packet<'_, Heard>) -> io::Result<()> {
        self.until(p.datagram.frame)?;
        self.lister.show(p)?;
        let mut page = self.page();
        let mut tree = Tree::default();
        p.sink.tree.replay(p.datagram.payload, &mut tree);
        page.tree(&tree, p.datagram.payload);
        p.findings.iter().for_each(|f| page.finding("", f));
        self.write(&page)
    }

    fn unclaimed(&mut self, d: &Datagram<'_>) -> io::Result<()> {
        self.until(d.frame)?;
        self.lister.unclaimed(d)?;
        let hex: String = d.payload.iter().take(MAX_BYTES).map(|b| format!("{b:02x}")).collect();
        let more = if d.payload.len() > MAX_BYTES { "…" } else { "" };
        let page = self.page();
        let why = page.paint(DIM, "(no protocol is recognised)");
        self.lister.line(&format!("      {hex}{more} {why}"))
    }

    fn exchange(&mut self, e: &Exchange, findings: &[Finding]) -> io::Result<()> {
        if findings.is_empty() {
            return Ok(());
        }
        let info = e.protocol.info();
        let step = info.steps.get(e.step as usize).map_or("-", |step| step.name);
        let mut page = self.page();
        let (frame, outcome) = (e.request_frame, e.outcome.name());
        page.line(&format!("exchange: {} {step}, asked in frame {frame}: {outcome}", info.name));
        findings.iter().for_each(|f| page.finding("", f));
        self.gap()?;
        self.write(&page)
    }

    fn first_frame(&mut self, time: Time) {
        self.lister.first_frame(time);
    }

    fn finish(&mut self, totals: &Totals) -> io::Result<()> {
        self.until(u64::MAX)?;
        self.lister.finish(totals)
    }
}
