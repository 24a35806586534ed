//! Shows packets to people as they come, one line each, in fixed columns.

use super::format::{align_right, pad_right, push_duration, push_number};
use super::line_buffer::Lines;
use super::stand_ins::{StandIn, StandIns};
#[cfg(feature = "page")]
use super::terminal::{Fitted, GiveWay, Screen};
use super::time_column::{Origin, TimeColumn, TimeFormat};
use super::{Place, Report, Totals, Wants};
use crate::capture::{self, Frame, Time};
use crate::check::Packet;
use crate::classify::looks_like::looks_like;
use crate::decode::{Facts, Value, Version};
use crate::exchange::Pairing;
use crate::net::{Datagram, DropReason, Endpoint, Tunnel};
use crate::protocols::Level;
#[cfg(feature = "page")]
use crate::rule::Severity;
use crate::text::digits::{push, push_u64};
use crate::text::escape::{quoted, truncated};
use crate::text::line::Line;
use hashbrown::HashMap;
use std::io::{self, Write};

/// Maximum width in columns of a server's text in a line.
const MAX_TEXT: usize = 40;

/// Packets, one line each, with columns like tshark's: number, time (see [`TimeFormat`]), source, destination,
/// protocol, length, and the content of the message.
pub struct Lister<W: Write> {
    pub(super) lines: Lines<W>,
    /// Names of the tunnels of datagrams, by number.
    pub(super) tunnels: HashMap<u16, String>,
    times: TimeColumn,
    /// What is made up of frames from pasted bytes.
    pub(super) stand_ins: StandIns,
}

impl<W: Write> Lister<W> {
    /// Writes lines to `out`, with `flush` each at once, otherwise in large pieces. Writes no lines if `quiet`.
    /// `file_names` writes a line with the name of each file before its lines.
    pub fn new(out: W, flush: bool, quiet: bool, file_names: bool) -> Self {
        let lines = Lines::new(out, flush, quiet, file_names);
        Lister {
            lines,
            tunnels: HashMap::new(),
            times: TimeColumn::new(TimeFormat::default()),
            stand_ins: StandIns::default(),
        }
    }

    /// Sets the format of times. For a format that [needs frames](TimeFormat::needs_frames), the caller must
    /// [provide](Self::note_frame) them; this report does not request them.
    pub fn with_time_format(mut self, format: TimeFormat) -> Self {
        self.times = TimeColumn::new(format);
        self
    }

    /// Shows words for what is made up of the frames.
    pub fn with_stand_ins(mut self, stand_ins: StandIns) -> Self {
        if stand_ins.is_everything() {
            self.lines.width = "client".len();
        }
        self.stand_ins = stand_ins;
        self
    }

    /// Fits lines to a terminal: columns are as wide as their cells, and no line is wider than the screen.
    #[cfg(feature = "page")]
    pub fn fit(mut self, screen: Option<Screen>) -> Self {
        // The length gives way first, then both addresses alternately, the second with its arrow. Both keep their ports,
        // and the protocol stays.
        const GIVE_WAY: &[GiveWay] =
            &[(5, 0), (2, 18), (3, 20), (2, 16), (3, 18), (2, 13), (3, 15), (2, 10), (3, 12), (4, 4)];
        // Of number, time, two IPv4 addresses with ports, protocol and length.
        const USUAL: &[usize] = &[5, 10, 21, 23, 12, 4];
        if let Some(screen) = screen {
            let columns = vec![true, true, true, false, false, true];
            let fitted = Fitted::new(screen, columns, GIVE_WAY);
            self.lines.fit_to(if self.lines.is_flushed() { fitted.steady(USUAL) } else { fitted });
        }
        self
    }

    /// Keeps the cells of the last line for [`Lister::take_cells`] instead of writing lines.
    #[cfg(feature = "page")]
    pub fn keep_cells(mut self) -> Self {
        self.lines.keep_cells();
        self
    }

    /// The cells of the last line, each with its severity if it is a finding: number, time, source, destination, protocol,
    /// length, message, facts, findings.
    #[cfg(feature = "page")]
    pub fn take_cells(&mut self) -> Vec<(String, Option<Severity>)> {
        self.lines.take_cells()
    }

    /// Notes the time of a frame whose datagram may be shown later.
    pub fn note_frame(&mut self, frame: &Frame<'_>, parsed: &Result<Datagram<'_>, DropReason>) {
        self.times.note_frame(frame.number, frame.time, parsed);
    }

    /// Writes a further line below that of a datagram.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn line(&mut self, text: &str) -> io::Result<()> {
        self.lines.text.extend_from_slice(text.as_bytes());
        self.lines.end_line()
    }

    fn begin_line(&mut self, d: &Datagram<'_>, protocol: &str) -> io::Result<Place> {
        let place = self.lines.place(d.frame)?;
        push_number(&mut self.lines.text, place.frame, 5);
        self.lines.mark_cell_end(None);
        let file = self.lines.file_infos.get(place.file);
        let (first, interfaces) = file.map_or((Time::UNKNOWN, &[][..]), |f| (f.first, &f.decimals));
        let origin = Origin { first, interfaces };
        let stand_in = self.stand_ins.of(d.frame);
        if stand_in != StandIn::default() {
            self.push_stand_in(d, stand_in);
            return self.end_of_head(d, protocol, place);
        }
        let text = &mut self.lines.text;
        text.push(b' ');
        let start = text.len();
        if self.times.push(text, d.frame, d.time, d.interface(), origin).is_none() {
            text.push(b'-');
        }
        align_right(text, start, self.times.width());
        self.lines.mark_cell_end(None);
        self.lines.text.push(b' ');
        self.lines.push_endpoints([d.src, d.dst]);
        self.end_of_head(d, protocol, place)
    }

    /// Appends the endpoints of a datagram, with words for those that are made up, and no time.
    #[cold]
    fn push_stand_in(&mut self, d: &Datagram<'_>, StandIn { ends: [from, to], .. }: StandIn) {
        self.lines.text.push(b' ');
        let push = |end: Endpoint, word: Option<&'static str>| {
            move |text: &mut Line| {
                text.extend_from_slice(word.map_or_else(|| end.to_string(), str::to_owned).as_bytes())
            }
        };
        self.lines.push_ends(push(d.src, from), push(d.dst, to));
    }

    /// Appends the protocol and the length of a datagram.
    fn end_of_head(&mut self, d: &Datagram<'_>, protocol: &str, place: Place) -> io::Result<Place> {
        let text = &mut self.lines.text;
        text.push(b' ');
        let start = text.len();
        text.extend_from_slice(protocol.as_bytes());
        pad_right(text, start, 12);
        self.lines.mark_cell_end(None);
        let text = &mut self.lines.text;
        text.push(b' ');
        push_number(text, d.wire_len() as u64, 4);
        self.lines.mark_cell_end(None);
        self.lines.text.push(b' ');
        Ok(place)
    }

    /// Appends the tunnels of a datagram, the outermost first.
    fn push_tunnels(&mut self, d: &Datagram<'_>) {
        if let Some(names) = self.tunnels.get(&d.tunnel) {
            let _ = write!(self.lines.text, " [in {names}]");
        }
    }

    /// Writes the line of a packet, for any listener.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn show(&mut self, p: &Packet<'_>) -> io::Result<()> {
        if self.lines.quiet {
            return Ok(());
        }
        let place = self.begin_line(p.datagram, p.id.info().name)?;
        let text = &mut self.lines.text;
        text.extend_from_slice(p.message_name().as_bytes());
        self.lines.mark_cell_end(None);
        let text = &mut self.lines.text;
        if let Some(facts) = p.facts() {
            push_facts(text, facts);
        }
        if p.listing().is_some() {
            push_listing(text, p);
        }
        match p.pairing {
            Pairing::Answered(a) => {
                self.lines.push_frame_name(" [answer to ", a.request_frame, place.file);
                let text = &mut self.lines.text;
                let is_made_up = self.stand_ins.of(p.datagram.frame).time;
                if let Some(time) = a.response_time.filter(|_| !is_made_up) {
                    text.add(b" in ");
                    push_duration(text, time);
                }
                text.push(b']');
            }
            Pairing::DuplicateResponse { of, .. } | Pairing::DuplicateFrame { of, .. } => {
                self.lines.push_frame_name(" [copy of ", *of, place.file);
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
        self.push_tunnels(p.datagram);
        self.lines.mark_cell_end(None);
        for f in p.findings {
            push(&mut self.lines.text, format_args!(" {}:{}", f.rule.id, f.severity.name()));
            self.lines.mark_cell_end(Some(f.severity));
        }
        self.lines.end_line()
    }
}

/// Appends what a packet says of game servers.
#[cold]
fn push_listing(text: &mut Line, p: &Packet<'_>) {
    if let Some(server) = p.told_server() {
        push(text, format_args!(" [heartbeat of {server}]"));
    }
    match *p.listed_servers() {
        [] => {}
        [one] => push(text, format_args!(" [lists {one}]")),
        [first, ref others @ ..] => push(text, format_args!(" [lists {first} and {} more]", others.len())),
    }
}

/// Columns before the line of a diagnosis.
const HELP_MARGIN: usize = 6;

impl<W: Write> Report for Lister<W> {
    fn wants(&self) -> Wants {
        Wants { ordered: true, diagnosis: !self.lines.quiet, ..Wants::default() }
    }

    fn packet(&mut self, p: &Packet<'_>) -> io::Result<()> {
        self.show(p)?;
        let Some(diagnosis) = p.diagnosis().filter(|_| !self.lines.quiet) else { return Ok(()) };
        let lines = self.lines.wrapped(diagnosis.help_line(), HELP_MARGIN);
        lines.iter().try_for_each(|line| self.line(&format!("{:HELP_MARGIN$}{line}", "")))
    }

    fn unclaimed(&mut self, d: &Datagram<'_>) -> io::Result<()> {
        if self.lines.quiet {
            return Ok(());
        }
        self.begin_line(d, "udp")?;
        match looks_like(d.payload, [d.src.port(), d.dst.port()]) {
            Some(name) => push(&mut self.lines.text, format_args!("looks like {name}")),
            None => self.lines.text.push(b'-'),
        }
        self.lines.mark_cell_end(None);
        self.push_tunnels(d);
        self.lines.mark_cell_end(None);
        self.lines.end_line()
    }

    fn file(&mut self, name: &str, facts: &capture::CaptureInfo, before: u64) -> io::Result<()> {
        self.times.begin_file();
        self.lines.begin_file(name, facts, before)
    }

    fn first_frame(&mut self, time: Time) {
        if let Some(file) = self.lines.file_infos.last_mut() {
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

/// Appends the facts that a message states about its server, with texts quoted and escaped.
fn push_facts(line: &mut Line, facts: &Facts<'_>) {
    for value in [facts.server_name, facts.game].into_iter().flatten() {
        push_text(line, value);
    }
    match facts.version {
        Some(Version::Text(version)) => push_text(line, version),
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
    if let Some((now, max)) = facts.player_counts() {
        line.push(b' ');
        push_u64(line, now.into());
        line.push(b'/');
        push_u64(line, max.into());
    }
}

/// Appends a text of the server, quoted and escaped.
fn push_text(line: &mut Line, value: Value<'_>) {
    let plain = |b: &u8| matches!(b, b' '..=b'~') && !matches!(b, b'"' | b'\\' | b'#');
    line.push(b' ');
    match value {
        Value::Text(bytes) if bytes.len() <= MAX_TEXT && bytes.iter().all(plain) => {
            line.push(b'"');
            line.extend_from_slice(bytes);
            line.push(b'"');
        }
        _ => {
            let text = quoted(&truncated(&value.text().unwrap_or_default(), MAX_TEXT));
            line.extend_from_slice(text.as_bytes());
        }
    }
}
