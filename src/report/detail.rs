//! Shows everything about each packet to people: its layers and fields as a tree, its bytes, and why it was recognised as
//! it was.

use super::explain::{Explain, Teller};
use super::layers::{self, Heads, INDENT, Layer};
use super::payload::{self, Bytes, FieldStyle};
use super::recent_frames::Joined;
use super::{Lister, Place, Report, TimeFormat, Wants, duration, secrets};
use crate::capture::{self, Comments, Frame, Time};
use crate::check::Finding;
use crate::decode::{AnyListener, Tree};
use crate::escape::shown;
use crate::exchange::{Exchange, Pairing};
use crate::net::{Datagram, DropReason};
use crate::packet::Packet;
use crate::protocols::{Direction, Id};
use std::io::{self, Write};

/// A layer whose details can be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// The frame.
    Frame,
    /// The link header.
    Eth,
    /// IP headers.
    Ip,
    /// The UDP header.
    Udp,
    /// A query protocol.
    Query(Id),
}

impl Shown {
    /// The layer with this name: `frame`, `eth`, `ip`, `udp`, or the name of a protocol.
    pub fn by_name(name: &str) -> Option<Shown> {
        Some(match name {
            "frame" => Shown::Frame,
            "eth" => Shown::Eth,
            "ip" => Shown::Ip,
            "udp" => Shown::Udp,
            _ => Shown::Query(Id::by_name(name)?),
        })
    }
}

/// How much is shown of each packet.
#[derive(Clone, Debug, Default)]
pub struct Detail {
    /// The tree of layers and fields instead of a line.
    pub tree: bool,
    /// Layers whose details are shown in the tree; empty for all of them.
    pub only: Vec<Shown>,
    /// The bytes of the payload.
    pub hex: bool,
    /// Whether to explain why each packet was recognised as it was, and what happened in each exchange.
    pub explain: Option<Explain>,
    /// Whether to write colours.
    pub colour: bool,
    /// Whether to show passwords, also in datagrams that no protocol claims.
    pub secrets: bool,
    /// No packets, only the counts at the end.
    pub quiet: bool,
    /// The form of the times in lines.
    pub time_format: TimeFormat,
}

impl Detail {
    /// Whether the details of a layer are wanted.
    fn opens(&self, layer: Shown) -> bool {
        self.only.is_empty() || self.only.contains(&layer)
    }

    fn field_style(&self) -> FieldStyle {
        FieldStyle { bytes: self.hex, colour: self.colour }
    }
}

/// Packets with details, streaming: a line or a tree each, then the bytes, then an empty line.
pub struct Details<W: Write> {
    lister: Lister<W>,
    detail: Detail,
    heads: Heads,
    teller: Option<Teller>,
    /// Frames of the fragments of reassembled datagrams, by the frame with which a datagram is reported.
    joined: Joined,
    comments: Comments,
}

impl<W: Write> Details<W> {
    /// Writes details to `out`, each packet at once (`flush`) or in large pieces. `heads` puts a line with the name of a
    /// file before its packets.
    pub fn new(out: W, flush: bool, heads: bool, detail: Detail) -> Self {
        let lister = Lister::new(out, flush, detail.quiet, heads).timed(detail.time_format.clone());
        let teller = detail.explain.clone().map(Teller::new);
        Details {
            lister,
            detail,
            heads: Heads::default(),
            teller,
            joined: Joined::default(),
            comments: Comments::default(),
        }
    }

    /// Appends a layer, with its details if they are wanted.
    fn layer(&self, out: &mut String, which: Shown, layer: Layer) {
        let lines = if self.detail.opens(which) { layer.len() } else { 1 };
        layer.iter().take(lines).enumerate().for_each(|(at, line)| push(out, at.min(1), line));
    }

    /// Appends the layers from the frame to UDP.
    fn layers(&self, out: &mut String, d: &Datagram<'_>, here: Place) {
        let head = self.heads.find(d.frame);
        let first = self.lister.lines.named.get(here.file).map_or(Time::UNKNOWN, |file| file.first);
        let mut frame = layers::frame(head, d, here, first);
        let said = self.comments.of(d.frame);
        let said = said.iter().flat_map(|said| said.iter());
        frame.extend(said.map(|text| format!("[Packet comment: {}]", shown(text))));
        self.layer(out, Shown::Frame, frame);
        let link = head.map(layers::link).unwrap_or_default();
        link.into_iter().for_each(|layer| self.layer(out, Shown::Eth, layer));
        let outer = head.and_then(layers::ip);
        if d.tunnel != 0 || outer.is_none() {
            outer.into_iter().for_each(|layer| self.layer(out, Shown::Ip, layer));
            let tunnel = self.lister.tunnels.get(&d.tunnel).map(|names| format!("[Encapsulation: {names}]"));
            tunnel.into_iter().for_each(|line| push(out, 0, &line));
            self.layer(out, Shown::Ip, self.joined(layers::inner_ip(d), d, here));
        } else {
            outer.into_iter().for_each(|layer| self.layer(out, Shown::Ip, self.joined(layer, d, here)));
        }
        self.layer(out, Shown::Udp, layers::udp(d));
    }

    /// Adds the frames of the fragments from which a datagram was reassembled to a layer.
    fn joined(&self, mut layer: Layer, d: &Datagram<'_>, here: Place) -> Layer {
        let pieces = self.joined.of(d);
        if !pieces.is_empty() {
            let frames: Vec<_> =
                pieces.iter().map(|&frame| self.lister.lines.other(frame, here.file)).collect();
            layer.push(format!("[Fragments: {}]", frames.join(", ")));
        }
        layer
    }

    /// Appends the message: its line, fields, findings, and what follows from other packets.
    fn message(&self, out: &mut String, p: &Packet<'_>, here: Place) {
        let info = p.id.info();
        let way = match p.direction {
            Direction::C2s => "client to server",
            Direction::S2c => "server to client",
        };
        let (message, level) = (p.message_name(), p.level.name());
        push(out, 0, &format!("{} ({}), {message}, {way}, {level} confidence", info.title, info.name));
        if !self.detail.opens(Shown::Query(p.id)) {
            return;
        }
        let name = |frame| self.lister.lines.other(frame, here.file);
        let field_style = self.detail.field_style();
        let lines = p.tree().map(|tree| payload::fields(tree, p.bytes, p.findings, field_style, &name));
        lines.iter().flatten().for_each(|line| push(out, 1, line));
        if p.more_findings > 0 {
            push(out, 1, &format!("[Further findings: {}]", p.more_findings));
        }
        pairing(p.pairing, &name).iter().for_each(|line| push(out, 1, line));
    }

    /// Appends the bytes of a payload, passwords masked.
    fn bytes(&self, out: &mut String, d: &Datagram<'_>, told: Option<&Packet<'_>>) {
        if !self.detail.hex {
            return;
        }
        let mut bytes = Bytes::new(told.map_or(d.payload, |p| p.bytes));
        match told {
            Some(p) => {
                bytes.mark(p.findings);
                bytes.hide(&p.tree().map_or_else(|| secrets::in_packet(p), secrets::in_tree));
            }
            None if !self.detail.secrets => bytes.hide(&secrets::in_unclaimed(d)),
            None => {}
        }
        if self.detail.tree {
            out.push('\n');
        }
        if let Some(whole) = told.and_then(Packet::whole) {
            let mut part = Bytes::new(d.payload);
            if !self.detail.secrets {
                part.hide(&secrets::in_unclaimed(d));
            }
            part.write(out, self.detail.colour);
            out.push_str(&format!("[Joined message: {} bytes]\n", whole.length));
        }
        bytes.write(out, self.detail.colour);
        if d.cut > 0 {
            out.push_str(&format!("[{} more bytes were not captured]\n", d.cut));
        }
    }

    /// Writes the text of a packet; an empty line separates it from the next.
    fn write(&mut self, mut text: String) -> io::Result<()> {
        if self.detail.tree || self.detail.hex {
            text.push('\n');
        }
        match text.strip_suffix('\n') {
            Some(text) => self.lister.line(text),
            None => Ok(()), // nothing but the packet's line
        }
    }

    fn explained(&self, out: &mut String, sentences: &[String]) {
        sentences.iter().for_each(|sentence| push(out, 1, &format!("[{sentence}]")));
    }
}

impl<W: Write> Report for Details<W> {
    fn listener(&self) -> AnyListener {
        AnyListener::Tree(Tree::default())
    }

    /// The lines need what is told of files, tunnels and the first frame, and write the counts at the end.
    fn inner(&mut self) -> Option<&mut dyn Report> {
        Some(&mut self.lister)
    }

    fn wants(&self) -> Wants {
        Wants { ordered: true, frames: true, ..Wants::default() }
    }

    fn comments(&mut self, comments: &Comments) {
        self.comments = comments.clone();
    }

    fn frame(&mut self, frame: &Frame<'_>, parsed: &Result<Datagram<'_>, DropReason>) {
        if self.detail.tree && !self.detail.quiet {
            self.heads.see(frame, parsed);
        } else if self.detail.time_format.needs_frames() {
            self.lister.note_frame(frame, parsed);
        }
    }

    /// A packet that a filter left out may still explain exchanges that follow.
    fn packet_left_out(&mut self, p: &Packet<'_>) {
        if let Some(teller) = &mut self.teller {
            teller.see(p);
        }
    }

    fn packet(&mut self, p: &Packet<'_>) -> io::Result<()> {
        if self.detail.quiet {
            return Ok(());
        }
        let here = self.lister.lines.place(p.datagram.frame)?;
        let mut out = String::new();
        if self.detail.tree {
            self.layers(&mut out, p.datagram, here);
            self.message(&mut out, p, here);
        } else {
            self.lister.show(p)?;
        }
        if let Some(teller) = &mut self.teller {
            teller.see(p);
        }
        if let Some(teller) = &self.teller {
            let name = |frame| self.lister.lines.other(frame, here.file);
            self.explained(&mut out, &teller.packet(p, &name));
        }
        self.bytes(&mut out, p.datagram, Some(p));
        self.write(out)
    }

    fn unclaimed(&mut self, d: &Datagram<'_>) -> io::Result<()> {
        if self.detail.quiet {
            return Ok(());
        }
        let here = self.lister.lines.place(d.frame)?;
        let mut out = String::new();
        if self.detail.tree {
            self.layers(&mut out, d, here);
        } else {
            self.lister.unclaimed(d)?;
        }
        if let Some(teller) = &self.teller {
            self.explained(&mut out, &teller.unclaimed(d));
        }
        self.bytes(&mut out, d, None);
        self.write(out)
    }

    fn exchange(&mut self, e: &Exchange, findings: &[Finding]) -> io::Result<()> {
        if self.detail.quiet || self.teller.is_none() && (findings.is_empty() || !self.detail.tree) {
            return Ok(());
        }
        let here = self.lister.lines.place(e.response_frame.unwrap_or(e.request_frame))?;
        let name = |frame| self.lister.lines.other(frame, here.file);
        let mut out = String::new();
        match &self.teller {
            Some(teller) => push(&mut out, 0, &teller.exchange(e, &name)),
            None => {
                let (id, frame, outcome) = (e.id, name(e.request_frame), e.outcome.name());
                let protocol = e.protocol.info().name;
                push(&mut out, 0, &format!("Exchange {id}, {protocol}, asked in frame {frame}: {outcome}"));
            }
        }
        let line = |f| payload::finding_line(f, false, self.detail.colour, &name);
        findings.iter().for_each(|f| push(&mut out, 1, &line(f)));
        self.write(out)
    }

    fn file(&mut self, name: &str, facts: &capture::CaptureInfo, before: u64) -> io::Result<()> {
        self.heads.file(facts);
        self.lister.file(name, facts, before)
    }

    fn reassembled(&mut self, frame: u64, pieces: &[u64]) {
        self.joined.note(frame, pieces);
    }
}

/// Appends a line, indented by so many levels.
fn push(out: &mut String, level: usize, line: &str) {
    out.push_str(&INDENT.repeat(level));
    out.push_str(line);
    out.push('\n');
}

/// What other packets tell about a packet, in square brackets, as tshark shows what it derives itself.
fn pairing(pairing: &Pairing, name: &dyn Fn(u64) -> String) -> Vec<String> {
    let mut out: Vec<String> = vec![];
    out.extend(pairing.exchange().map(|id| format!("[Exchange: {id}]")));
    match pairing {
        Pairing::Answered(a) => {
            out.push(format!("[Response to: {}]", name(a.request_frame)));
            let late = if a.late { ", late" } else { "" };
            out.extend(a.response_time.map(|t| format!("[Response time: {}{late}]", duration(t))));
            if a.second {
                out.push("[A second, different answer]".into());
            }
        }
        Pairing::Asked { answered_by: Some(frame), .. } => {
            out.push(format!("[Response in: {}]", name(*frame)));
        }
        Pairing::Retransmission { part: false, .. } => out.push("[Retransmission]".into()),
        Pairing::DuplicateResponse { of, .. } | Pairing::DuplicateFrame { of, .. } => {
            out.push(format!("[Duplicate of: {}]", name(*of)))
        }
        Pairing::Unsolicited { .. } => out.push("[Not asked for]".into()),
        _ => {}
    }
    out
}
