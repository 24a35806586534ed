//! One line a packet, or one line an exchange: streaming, in fixed columns, for people.

use super::{Packet, Report, Totals, duration, quoted, shown};
use crate::capture::{self, Time};
use crate::check::Finding;
use crate::decode::Notes;
use crate::exchange::{Exchange, Pairing};
use crate::net::Datagram;
use crate::protocols::{Facts, Level, Version};
use std::fmt::Write as _;
use std::io::{self, Write};

/// How much is gathered before it is written, in bytes.
const BUFFER: usize = 64 * 1024;
/// Longest text of a server shown in a line, in characters.
const MAX_TEXT: usize = 40;

/// Gathers lines and hands them on in large pieces, or one by one; none but the counts when quiet.
struct Lines<W: Write> {
    out: W,
    text: String,
    flush: bool,
    quiet: bool,
    /// Say which file the lines that follow belong to.
    heads: bool,
    width: Width,
}

impl<W: Write> Lines<W> {
    fn new(out: W, flush: bool, quiet: bool, heads: bool) -> Self {
        Lines { out, text: String::new(), flush, quiet, heads, width: Width(ENDPOINT) }
    }

    fn end(&mut self) -> io::Result<()> {
        self.text.push('\n');
        if self.flush || self.text.len() >= BUFFER { self.write() } else { Ok(()) }
    }
    /// A file begins.
    fn file(&mut self, name: &str) -> io::Result<()> {
        if self.quiet || !self.heads {
            return Ok(());
        }
        let _ = write!(self.text, "== {}", shown(name));
        self.end()
    }

    /// The end: where no lines were wanted, the counts.
    fn finish(&mut self, t: &Totals) -> io::Result<()> {
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

/// Packets, one line each, with the feel of tshark's columns: number, seconds since the first packet of the file,
/// source, destination, protocol, length, and what it says.
pub struct Lister<W: Write> {
    lines: Lines<W>,
    first: Time,
}

/// Columns of an endpoint: room for IPv4, and from the first longer one on for that.
struct Width(usize);

impl Width {
    fn of(&mut self, ends: [&str; 2]) -> usize {
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
        Lister { lines: Lines::new(out, flush, quiet, heads), first: Time::UNKNOWN }
    }

    /// A further line, below that of a datagram.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn line(&mut self, text: &str) -> io::Result<()> {
        self.lines.text.push_str(text);
        self.lines.end()
    }

    fn head(&mut self, d: &Datagram<'_>, protocol: &str) {
        let text = &mut self.lines.text;
        let _ = write!(text, "{:>5} ", d.frame);
        match d.time.since(self.first) {
            Some(t) => {
                let sign = if t < 0 { "-" } else { "" };
                let t = t.unsigned_abs() / 1000;
                let _ = write!(text, "{:>12} ", format!("{sign}{}.{:06}", t / 1_000_000, t % 1_000_000));
            }
            None => text.push_str("           - "),
        }
        let (src, dst) = (d.src.to_string(), d.dst.to_string());
        let width = self.lines.width.of([&src, &dst]);
        let _ = write!(text, "{src:>width$} → {dst:<width$} {protocol:<12} {:>4} ", d.wire_len());
    }

    /// The line of a datagram, whoever listened to it.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn show<S>(&mut self, p: &Packet<'_, S>) -> io::Result<()> {
        if self.lines.quiet {
            return Ok(());
        }
        self.head(p.datagram, p.id.info().name);
        let text = &mut self.lines.text;
        text.push_str(p.message_name());
        if let Ok(facts) = p.decoded {
            push_facts(text, facts);
        }
        match p.pairing {
            Pairing::Answered(a) => {
                let time = a.response_time.map(|t| format!(" in {}", duration(t))).unwrap_or_default();
                let _ = write!(text, " [answer to {}{time}]", a.request_frame);
            }
            Pairing::Copy { of, .. } => {
                let _ = write!(text, " [copy of {of}]");
            }
            Pairing::Again { part: false, .. } => text.push_str(" [retransmission]"),
            Pairing::Unasked { .. } => text.push_str(" [not asked for]"),
            _ => {}
        }
        if p.level < Level::High {
            let _ = write!(text, " ({} confidence)", p.level.name());
        }
        for f in p.findings {
            let _ = write!(text, " {}:{}", f.rule.id, f.severity.name());
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
        self.head(d, "udp");
        self.lines.text.push('-');
        self.lines.end()
    }

    fn file(&mut self, name: &str, _: &capture::Facts) -> io::Result<()> {
        self.lines.file(name)
    }

    fn first_frame(&mut self, time: Time) {
        self.first = time;
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

/// At most `most` characters, with an ellipsis where something was left out.
pub fn short(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most.saturating_sub(1)).chain(['…']).collect()
}

/// Exchanges, one line each.
pub struct Exchanges<W: Write> {
    lines: Lines<W>,
    titled: bool,
}

impl<W: Write> Exchanges<W> {
    /// As [`Lister::new`].
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
        let (client, server) = (e.client.to_string(), e.server.to_string());
        let width = self.lines.width.of([&client, &server]);
        let key = e.key.map_or("-".to_owned(), |k| format!("0x{k:0width$x}", width = step.key_digits));
        let time = e.response_time.map_or("-".to_owned(), duration);
        let answers = e.response_frames().iter().map(|frame| format!(" {frame}"));
        let frames = e.request_frame.to_string() + &answers.collect::<String>();
        let _ = write!(
            text,
            "{:>6} {client:>width$} → {server:<width$} {:<12} {:<9} {key:<18} {:<10} {time:>12} {:>5} {:>5}  {frames}",
            e.id,
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

    fn file(&mut self, name: &str, _: &capture::Facts) -> io::Result<()> {
        self.lines.file(name)
    }

    fn finish(&mut self, totals: &Totals) -> io::Result<()> {
        self.lines.finish(totals)
    }
}
