//! Shows packets to people as they come: one line each, in fixed columns.

use super::format::{left, push_duration, push_number, right};
use super::line_buffer::Lines;
#[cfg(feature = "page")]
use super::terminal::{Fitted, GiveWay, Screen};
use super::time_column::{Origin, TimeColumn, TimeFormat};
use super::{Place, Report, Totals, Wants};
use crate::capture::{self, Frame, Time};
use crate::decode::{Facts, Value, Version, push, push_u64};
use crate::escape::{quoted, short};
use crate::exchange::Pairing;
use crate::line::Line;
use crate::looks_like::looks_like;
use crate::net::{Datagram, DropReason, Tunnel};
use crate::packet::Packet;
use crate::protocols::Level;
use hashbrown::HashMap;
use std::io::{self, Write};

/// Longest text of a server shown in a line, in columns.
const MAX_TEXT: usize = 40;

/// Packets, one line each, with columns like tshark's: number, time (see [`TimeFormat`]), source, destination, protocol, length,
/// and what the message says.
pub struct Lister<W: Write> {
    pub(super) lines: Lines<W>,
    /// Tunnels of datagrams, by their number.
    pub(super) tunnels: HashMap<u16, String>,
    times: TimeColumn,
}

impl<W: Write> Lister<W> {
    /// Writes lines to `out`, each at once or in large pieces; none at all when quiet. `heads` puts a line with the name of
    /// a file before its lines.
    pub fn new(out: W, flush: bool, quiet: bool, heads: bool) -> Self {
        let lines = Lines::new(out, flush, quiet, heads);
        Lister { lines, tunnels: HashMap::new(), times: TimeColumn::new(TimeFormat::default()) }
    }

    /// Sets the form of times. A form that [needs frames](TimeFormat::needs_frames) must be [shown](Self::note_frame) them, which this
    /// report by itself does not do.
    pub fn timed(mut self, format: TimeFormat) -> Self {
        self.times = TimeColumn::new(format);
        self
    }

    /// Makes lines fit a terminal: columns are as wide as their cells, and no line is wider than the screen.
    #[cfg(feature = "page")]
    pub fn fit(mut self, screen: Option<Screen>) -> Self {
        // Length and protocol give way first, then both addresses by turns, the second with its arrow.
        const GIVE_WAY: &[GiveWay] =
            &[(5, 0), (4, 4), (4, 0), (2, 18), (3, 20), (2, 16), (3, 18), (2, 13), (3, 15), (2, 8), (3, 10)];
        if let Some(screen) = screen {
            let columns = vec![true, true, true, false, false, true];
            self.lines.fit(Fitted::new(screen, columns, GIVE_WAY));
        }
        self
    }

    /// Takes a frame, whose datagram may be shown later.
    pub fn note_frame(&mut self, frame: &Frame<'_>, parsed: &Result<Datagram<'_>, DropReason>) {
        self.times.note_frame(frame.number, frame.time, parsed);
    }

    /// Writes a further line, below that of a datagram.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn line(&mut self, text: &str) -> io::Result<()> {
        self.lines.text.extend_from_slice(text.as_bytes());
        self.lines.end()
    }

    fn head(&mut self, d: &Datagram<'_>, protocol: &str) -> io::Result<Place> {
        let place = self.lines.place(d.frame)?;
        push_number(&mut self.lines.text, place.frame, 5);
        self.lines.mark(None);
        let file = self.lines.named.get(place.file);
        let (first, interfaces) = file.map_or((Time::UNKNOWN, &[][..]), |f| (f.first, &f.decimals));
        let origin = Origin { first, interfaces };
        let text = &mut self.lines.text;
        text.push(b' ');
        let from = text.len();
        if self.times.push(text, d.frame, d.time, d.interface(), origin).is_none() {
            text.push(b'-');
        }
        right(text, from, self.times.width());
        self.lines.mark(None);
        self.lines.text.push(b' ');
        self.lines.ends([d.src, d.dst]);
        let text = &mut self.lines.text;
        text.push(b' ');
        let from = text.len();
        text.extend_from_slice(protocol.as_bytes());
        left(text, from, 12);
        self.lines.mark(None);
        let text = &mut self.lines.text;
        text.push(b' ');
        push_number(text, d.wire_len() as u64, 4);
        self.lines.mark(None);
        self.lines.text.push(b' ');
        Ok(place)
    }

    /// Appends the tunnels that a datagram came through, the outermost first.
    fn way(&mut self, d: &Datagram<'_>) {
        if let Some(names) = self.tunnels.get(&d.tunnel) {
            let _ = write!(self.lines.text, " [in {names}]");
        }
    }

    /// Writes the line of a datagram, for any listener.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn show(&mut self, p: &Packet<'_>) -> io::Result<()> {
        if self.lines.quiet {
            return Ok(());
        }
        let here = self.head(p.datagram, p.id.info().name)?;
        let text = &mut self.lines.text;
        text.extend_from_slice(p.message_name().as_bytes());
        self.lines.mark(None);
        let text = &mut self.lines.text;
        if let Some(facts) = p.facts() {
            push_facts(text, facts);
        }
        match p.pairing {
            Pairing::Answered(a) => {
                self.lines.push_other(" [answer to ", a.request_frame, here.file);
                let text = &mut self.lines.text;
                if let Some(time) = a.response_time {
                    text.add(b" in ");
                    push_duration(text, time);
                }
                text.push(b']');
            }
            Pairing::DuplicateResponse { of, .. } | Pairing::DuplicateFrame { of, .. } => {
                self.lines.push_other(" [copy of ", *of, here.file);
                self.lines.text.push(b']');
            }
            Pairing::Retransmission { part: false, .. } => text.add(b" [retransmission]"),
            Pairing::Unsolicited { .. } => text.add(b" [not asked for]"),
            _ => {}
        }
        let text = &mut self.lines.text;
        if p.level < Level::High {
            push(text, format_args!(" ({} confidence)", p.level.name()));
        }
        self.way(p.datagram);
        self.lines.mark(None);
        for f in p.findings {
            push(&mut self.lines.text, format_args!(" {}:{}", f.rule.id, f.severity.name()));
            self.lines.mark(Some(f.severity));
        }
        self.lines.end()
    }
}

impl<W: Write> Report for Lister<W> {
    fn wants(&self) -> Wants {
        Wants { ordered: true, ..Wants::default() }
    }

    fn packet(&mut self, p: &Packet<'_>) -> io::Result<()> {
        self.show(p)
    }

    fn unclaimed(&mut self, d: &Datagram<'_>) -> io::Result<()> {
        if self.lines.quiet {
            return Ok(());
        }
        self.head(d, "udp")?;
        match looks_like(d.payload, [d.src.port(), d.dst.port()]) {
            Some(name) => push(&mut self.lines.text, format_args!("looks like {name}")),
            None => self.lines.text.push(b'-'),
        }
        self.lines.mark(None);
        self.way(d);
        self.lines.mark(None);
        self.lines.end()
    }

    fn file(&mut self, name: &str, facts: &capture::CaptureInfo, before: u64) -> io::Result<()> {
        self.times.begin_file();
        self.lines.file(name, facts, before)
    }

    fn first_frame(&mut self, time: Time) {
        if let Some(file) = self.lines.named.last_mut() {
            file.first = time;
        }
    }

    fn tunnels(&mut self, number: u16, path: &[Tunnel]) {
        let names: Vec<_> = path.iter().map(Tunnel::to_string).collect();
        self.tunnels.insert(number, names.join(", "));
    }

    fn finish(&mut self, totals: &Totals) -> io::Result<()> {
        self.lines.finish(totals)
    }
}

/// Appends what a message says about its server, in quotes and escaped.
fn push_facts(line: &mut Line, facts: &Facts<'_>) {
    for said in [facts.server_name, facts.game].into_iter().flatten() {
        push_said(line, said);
    }
    match facts.version {
        Some(Version::Text(version)) => push_said(line, version),
        Some(Version::Number(n)) => {
            line.push(b' ');
            push_u64(line, n);
        }
        None => {}
    }
    if let Some(state) = facts.state {
        line.push(b' ');
        line.extend_from_slice(state.as_bytes());
    }
    if let Some((now, most)) = facts.places() {
        line.push(b' ');
        push_u64(line, now.into());
        line.push(b'/');
        push_u64(line, most.into());
    }
}

/// Appends a text of the server, in quotes and escaped.
fn push_said(line: &mut Line, said: Value<'_>) {
    let plain = |b: &u8| matches!(b, b' '..=b'~') && !matches!(b, b'"' | b'\\' | b'#');
    line.push(b' ');
    match said {
        Value::Text(bytes) if bytes.len() <= MAX_TEXT && bytes.iter().all(plain) => {
            line.push(b'"');
            line.extend_from_slice(bytes);
            line.push(b'"');
        }
        _ => {
            let text = quoted(&short(&said.text().unwrap_or_default(), MAX_TEXT));
            line.extend_from_slice(text.as_bytes());
        }
    }
}
