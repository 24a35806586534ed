//! One line a packet: streaming, in fixed columns, for people.

use super::when::{Origin, Times, When, decimals};
use super::{Files, Packet, Place, Report, Totals, duration, quoted, short, shown};
use crate::capture::{self, Frame, Time};
use crate::decode::Notes;
use crate::exchange::Pairing;
use crate::net::{Datagram, Tunnel, Turned};
use crate::protocols::{Facts, Level, Version};
use hashbrown::HashMap;
use std::fmt::Write as _;
use std::io::{self, Write};

/// How much is gathered before it is written, in bytes.
const BUFFER: usize = 64 * 1024;
/// Longest text of a server shown in a line, in columns.
const MAX_TEXT: usize = 40;

/// Gathers lines and hands them on in large pieces, or one by one; none but the counts when quiet.
pub(super) struct Lines<W: Write> {
    out: W,
    pub(super) text: String,
    flush: bool,
    pub(super) quiet: bool,
    /// Say which file the lines that follow belong to.
    heads: bool,
    /// The file whose head was written last, and the first whose head was never.
    head: Option<usize>,
    next: usize,
    pub(super) files: Files,
    named: Vec<Named>,
    pub(super) width: Width,
}

/// What lines say about a file.
struct Named {
    /// As it is shown.
    name: Box<str>,
    /// Its first time stamp.
    first: Time,
    /// Decimals of the time stamps of its interfaces.
    decimals: Vec<u8>,
}

impl<W: Write> Lines<W> {
    pub(super) fn new(out: W, flush: bool, quiet: bool, heads: bool) -> Self {
        let (files, named, width) = (Files::default(), vec![], Width(ENDPOINT));
        Lines { out, text: String::new(), flush, quiet, heads, head: None, next: 0, files, named, width }
    }

    /// Ends a line.
    pub(super) fn end(&mut self) -> io::Result<()> {
        self.text.push('\n');
        if self.flush || self.text.len() >= BUFFER { self.write() } else { Ok(()) }
    }

    /// A file begins.
    pub(super) fn file(&mut self, name: &str, facts: &capture::Facts, before: u64) -> io::Result<()> {
        self.files.begin(before);
        let decimals = decimals(&facts.interfaces);
        self.named.push(Named { name: shown(name).into(), first: Time::UNKNOWN, decimals });
        // What waits speaks of earlier files, if there are any.
        if self.files.len() == 1 { self.heads(0) } else { Ok(()) }
    }

    /// The place of a frame; the line that follows is about its file.
    pub(super) fn place(&mut self, frame: u64) -> io::Result<Place> {
        let place = self.files.place(frame);
        if self.head != Some(place.file) {
            self.heads(place.file)?;
        }
        Ok(place)
    }

    /// Says that lines about a file follow, and that there are none about those passed over.
    fn heads(&mut self, file: usize) -> io::Result<()> {
        let from = self.next.min(file);
        self.head = Some(file);
        self.next = self.next.max(file.saturating_add(1));
        if self.quiet || !self.heads {
            return Ok(());
        }
        for Named { name, .. } in self.named.get(from..=file).unwrap_or_default() {
            let _ = writeln!(self.text, "== {name}");
        }
        if self.flush { self.write() } else { Ok(()) }
    }

    /// A frame that may stand in another file than the line.
    pub(super) fn other(&self, frame: u64, here: usize) -> String {
        let place = self.files.place(frame);
        match self.named.get(place.file).filter(|_| place.file != here) {
            Some(Named { name, .. }) => format!("{} of {name}", place.frame),
            None => place.frame.to_string(),
        }
    }

    /// The end: where no lines were wanted, the counts.
    pub(super) fn finish(&mut self, t: &Totals) -> io::Result<()> {
        if self.next < self.files.len() {
            self.heads(self.files.len() - 1)?;
        }
        if self.quiet {
            let _ = writeln!(
                self.text,
                "{} packets, {} datagrams of query traffic, {} exchanges, {} answered, {} findings",
                t.packets,
                t.recognised,
                t.exchanges,
                t.answered + t.late,
                t.findings.total()
            );
        }
        self.write()
    }
    fn write(&mut self) -> io::Result<()> {
        self.out.write_all(self.text.as_bytes())?;
        self.text.clear();
        self.out.flush()
    }
}

/// Packets, one line each, with the feel of tshark's columns: number, time (see [`When`]), source, destination, protocol, length, and what it says.
pub struct Lister<W: Write> {
    lines: Lines<W>,
    /// Ways through tunnels by their number.
    tunnels: HashMap<u16, String>,
    times: Times,
}

/// Columns of an endpoint: room for IPv4, and from the first longer one on for that.
pub(super) struct Width(usize);

impl Width {
    pub(super) fn of(&mut self, ends: [&str; 2]) -> usize {
        self.0 = ends.iter().map(|e| e.len()).fold(self.0, usize::max);
        self.0
    }
}

/// `203.0.113.255:65535` and two more.
const ENDPOINT: usize = 21;

impl<W: Write> Lister<W> {
    /// Lines to `out`, each at once or in large pieces; none at all when quiet. `heads` puts a line with
    /// its name before those of each file.
    pub fn new(out: W, flush: bool, quiet: bool, heads: bool) -> Self {
        let lines = Lines::new(out, flush, quiet, heads);
        Lister { lines, tunnels: HashMap::new(), times: Times::new(When::default()) }
    }

    /// The same with times of another form. What [needs frames](When::needs_frames) must
    /// [see](Self::see) them, which this report by itself does not.
    pub fn timed(mut self, when: When) -> Self {
        self.times = Times::new(when);
        self
    }

    /// A frame passes, of which a datagram may be shown later.
    pub fn see(&mut self, frame: &Frame<'_>, peeled: &Result<Datagram<'_>, Turned>) {
        self.times.see(frame.number, frame.time, peeled.as_ref().err().copied());
    }

    /// A further line, below that of a datagram.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn line(&mut self, text: &str) -> io::Result<()> {
        self.lines.text.push_str(text);
        self.lines.end()
    }

    /// The place of a frame; what is written next is about its file.
    #[cfg(feature = "cli")]
    pub(super) fn place(&mut self, frame: u64) -> io::Result<Place> {
        self.lines.place(frame)
    }

    /// The first time stamp of a file.
    #[cfg(feature = "cli")]
    pub(super) fn first(&self, file: usize) -> Time {
        self.lines.named.get(file).map_or(Time::UNKNOWN, |file| file.first)
    }

    /// The number of a frame, with its file where that is another one than `here`.
    #[cfg(feature = "cli")]
    pub(super) fn other(&self, frame: u64, here: usize) -> String {
        self.lines.other(frame, here)
    }

    /// The tunnels of a datagram, the outermost first.
    #[cfg(feature = "cli")]
    pub(super) fn tunnel(&self, number: u16) -> Option<&str> {
        self.tunnels.get(&number).map(String::as_str)
    }

    fn head(&mut self, d: &Datagram<'_>, protocol: &str) -> io::Result<Place> {
        let place = self.lines.place(d.frame)?;
        let file = self.lines.named.get(place.file);
        let (first, interfaces) = file.map_or((Time::UNKNOWN, &[][..]), |f| (f.first, &f.decimals));
        let origin = Origin { file: place.file, first, interfaces };
        let time = self.times.text(d.frame, d.time, d.interface(), origin);
        let (time, width) = (time.as_deref().unwrap_or("-"), self.times.width());
        let text = &mut self.lines.text;
        let _ = write!(text, "{:>5} {time:>width$} ", place.frame);
        let (src, dst) = (d.src.to_string(), d.dst.to_string());
        let width = self.lines.width.of([&src, &dst]);
        let _ = write!(text, "{src:>width$} → {dst:<width$} {protocol:<12} {:>4} ", d.wire_len());
        Ok(place)
    }

    /// The tunnels that a datagram came through, the outermost first.
    fn way(&mut self, d: &Datagram<'_>) {
        if let Some(names) = self.tunnels.get(&d.tunnel) {
            let _ = write!(self.lines.text, " [in {names}]");
        }
    }

    /// The line of a datagram, whoever listened to it.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn show<S>(&mut self, p: &Packet<'_, S>) -> io::Result<()> {
        if self.lines.quiet {
            return Ok(());
        }
        let here = self.head(p.datagram, p.id.info().name)?;
        let text = &mut self.lines.text;
        text.push_str(p.message_name());
        if let Ok(facts) = p.decoded {
            push_facts(text, facts);
        }
        match p.pairing {
            Pairing::Answered(a) => {
                let time = a.response_time.map(|t| format!(" in {}", duration(t))).unwrap_or_default();
                let asked = self.lines.other(a.request_frame, here.file);
                let _ = write!(self.lines.text, " [answer to {asked}{time}]");
            }
            Pairing::Copy { of, .. } | Pairing::Twice { of } => {
                let first = self.lines.other(*of, here.file);
                let _ = write!(self.lines.text, " [copy of {first}]");
            }
            Pairing::Again { part: false, .. } => text.push_str(" [retransmission]"),
            Pairing::Unasked { .. } => text.push_str(" [not asked for]"),
            _ => {}
        }
        let text = &mut self.lines.text;
        if p.level < Level::High {
            let _ = write!(text, " ({} confidence)", p.level.name());
        }
        self.way(p.datagram);
        for f in p.findings {
            let _ = write!(self.lines.text, " {}:{}", f.rule.id, f.severity.name());
        }
        self.lines.end()
    }
}

impl<W: Write> Report for Lister<W> {
    type Sink = Notes;
    const ORDERED: bool = true;

    fn packet(&mut self, p: &Packet<'_, Notes>) -> io::Result<()> {
        self.show(p)
    }

    fn unclaimed(&mut self, d: &Datagram<'_>) -> io::Result<()> {
        if self.lines.quiet {
            return Ok(());
        }
        self.head(d, "udp")?;
        self.lines.text.push('-');
        self.way(d);
        self.lines.end()
    }

    fn file(&mut self, name: &str, facts: &capture::Facts, before: u64) -> io::Result<()> {
        self.times.file();
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

/// Appends what a message says about its server, in quotes and harmless.
fn push_facts(text: &mut String, facts: &Facts<'_>) {
    for said in [facts.server_name, facts.game].into_iter().flatten() {
        let _ = write!(text, " {}", quoted(&short(&said.text().unwrap_or_default(), MAX_TEXT)));
    }
    match facts.version {
        Some(Version::Text(version)) => {
            let _ = write!(text, " {}", quoted(&short(&version.text().unwrap_or_default(), MAX_TEXT)));
        }
        Some(Version::Number(n)) => {
            let _ = write!(text, " {n}");
        }
        None => {}
    }
    if let Some(state) = facts.state {
        let _ = write!(text, " {state}");
    }
    if let Some((now, most)) = facts.players {
        let _ = write!(text, " {now}/{most}");
    }
}
