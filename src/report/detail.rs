//! Shows packets to people in full detail: layers and fields as a tree, bytes, and explanations of the recognition.

use super::explain::{Explain, Explainer};
use super::layers::{self, FrameHeaders, Layer};
use super::outline::{self, Outline, push};
use super::payload::{self, Bytes, FieldStyle};
use super::recent_frames::FragmentFrames;
use super::stand_ins::StandIns;
use super::{Lister, Place, Report, TimeFormat, Wants, count, duration, secrets};
use crate::capture::{self, Comments, Frame, Time};
use crate::check::{Finding, Packet};
use crate::decode::{AnyListener, Tree};
use crate::exchange::{Exchange, Pairing};
use crate::net::{Datagram, DropReason};
use crate::protocols::{Direction, Id};
use crate::text::escape::escaped;
use std::io::{self, Write};

/// A layer whose details can be requested.
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

/// The details to show of each packet.
#[derive(Clone, Debug, Default)]
pub struct Detail {
    /// The tree of layers and fields instead of a line.
    pub tree: bool,
    /// Layers whose details are shown in the tree; all layers if empty.
    pub only: Vec<Shown>,
    /// Fields and findings below the line, where there is no tree.
    pub fields: bool,
    /// The bytes of the payload.
    pub hex: bool,
    /// Settings for explaining the recognition of each packet and the course of each exchange; `None` for no
    /// explanations.
    pub explain: Option<Explain>,
    /// Whether to write colours.
    pub colour: bool,
    /// Whether to show passwords, including those in datagrams that no protocol claims.
    pub secrets: bool,
    /// Whether to show only the counts at the end.
    pub quiet: bool,
    /// The format of times in lines.
    pub time_format: TimeFormat,
    /// What is made up of the frames.
    pub stand_ins: StandIns,
}

impl Detail {
    /// Whether to show the details of a layer.
    fn opens(&self, layer: Shown) -> bool {
        self.only.is_empty() || self.only.contains(&layer)
    }

    fn field_style(&self) -> FieldStyle {
        FieldStyle { bytes: self.hex, colour: self.colour }
    }
}

/// Writes packets with details as they come: a line or a tree for each packet, then its bytes, then an empty line.
pub struct Details<W: Write> {
    lister: Lister<W>,
    detail: Detail,
    frame_headers: FrameHeaders,
    explainer: Option<Explainer>,
    /// Frames of the fragments of reassembled datagrams, by the frame with which each datagram is reported.
    fragments: FragmentFrames,
    comments: Comments,
}

impl<W: Write> Details<W> {
    /// Writes details to `out`, with `flush` each packet at once, otherwise in large pieces. `file_names` writes a line
    /// with the name of each file before its packets.
    pub fn new(out: W, flush: bool, file_names: bool, detail: Detail) -> Self {
        let lister = Lister::new(out, flush, detail.quiet, file_names)
            .with_time_format(detail.time_format.clone())
            .with_stand_ins(detail.stand_ins.clone());
        let explainer = detail.explain.clone().map(Explainer::new);
        Details {
            lister,
            detail,
            frame_headers: FrameHeaders::default(),
            explainer,
            fragments: FragmentFrames::default(),
            comments: Comments::default(),
        }
    }

    /// Appends a layer, with its details if they are requested.
    fn layer(&self, out: &mut Outline, shown: Shown, layer: Layer) {
        let line_count = if self.detail.opens(shown) { layer.len() } else { 1 };
        layer
            .into_iter()
            .take(line_count)
            .enumerate()
            .for_each(|(index, line)| push(out, index.min(1), line));
    }

    /// Appends the layers from the frame to UDP.
    fn layers(&self, out: &mut Outline, d: &Datagram<'_>, place: Place) {
        if let Some(ends) = self.detail.stand_ins.ends(d) {
            let (bytes, number) = (count(d.wire_len() as u64, "byte"), place.frame);
            return push(out, 0, format!("Datagram {number}: {bytes}, {ends}"));
        }
        let header = self.frame_headers.find(d.frame);
        let first = self.lister.lines.file_infos.get(place.file).map_or(Time::UNKNOWN, |file| file.first);
        let mut frame = layers::frame(header, d, place, first);
        let comments = self.comments.of(d.frame);
        let comments = comments.iter().flat_map(|comments| comments.iter());
        frame.extend(comments.map(|text| format!("[Packet comment: {}]", escaped(text))));
        self.layer(out, Shown::Frame, frame);
        let link = header.map(layers::link).unwrap_or_default();
        link.into_iter().for_each(|layer| self.layer(out, Shown::Eth, layer));
        let outer = header.and_then(layers::ip);
        if d.tunnel != 0 || outer.is_none() {
            outer.into_iter().for_each(|layer| self.layer(out, Shown::Ip, layer));
            let tunnel = self.lister.tunnels.get(&d.tunnel).map(|names| format!("[Encapsulation: {names}]"));
            tunnel.into_iter().for_each(|line| push(out, 0, line));
            self.layer(out, Shown::Ip, self.fragments(layers::inner_ip(d), d, place));
        } else {
            outer.into_iter().for_each(|layer| self.layer(out, Shown::Ip, self.fragments(layer, d, place)));
        }
        self.layer(out, Shown::Udp, layers::udp(d));
    }

    /// Adds a line with the frames of a datagram's fragments to a layer.
    fn fragments(&self, mut layer: Layer, d: &Datagram<'_>, place: Place) -> Layer {
        let fragment_frames = self.fragments.fragments_of(d);
        if !fragment_frames.is_empty() {
            let frames: Vec<_> = fragment_frames
                .iter()
                .map(|&frame| self.lister.lines.frame_name(frame, place.file))
                .collect();
            layer.push(format!("[Fragments: {}]", frames.join(", ")));
        }
        layer
    }

    /// Appends the message: its line, fields, findings, and facts derived from other packets.
    fn message(&self, out: &mut Outline, p: &Packet<'_>, place: Place) {
        let info = p.id.info();
        let direction = match p.direction {
            Direction::C2s => "client to server",
            Direction::S2c => "server to client",
        };
        let (message, level) = (p.message_name(), p.level.name());
        push(out, 0, format!("{} ({}), {message}, {direction}, {level} confidence", info.title, info.name));
        if !self.detail.opens(Shown::Query(p.id)) {
            return;
        }
        let name = |frame| self.lister.lines.frame_name(frame, place.file);
        let field_style = self.detail.field_style();
        let lines = p
            .tree()
            .map(|tree| payload::outline(tree, p.bytes, (p.findings, p.diagnosis()), field_style, &name));
        out.extend(lines.into_iter().flatten().map(|line| line.below(1)));
        if p.more_findings > 0 {
            push(out, 1, format!("[Further findings: {}]", p.more_findings));
        }
        let is_timed = !self.detail.stand_ins.of(p.datagram.frame).time;
        pairing(p.pairing, is_timed, &name).into_iter().for_each(|line| push(out, 1, line));
    }

    /// Appends the fields of a packet below its line, if they are requested, and its diagnosis.
    fn fields(&self, out: &mut Outline, p: &Packet<'_>, place: Place) {
        let name = |frame| self.lister.lines.frame_name(frame, place.file);
        let style = FieldStyle { bytes: true, colour: self.detail.colour };
        if let Some(diagnosis) = p.diagnosis().filter(|_| !self.detail.fields) {
            push(out, 1, diagnosis.help_line());
        }
        let tree = p.tree().filter(|_| self.detail.fields);
        let lines =
            tree.map(|tree| payload::outline(tree, p.bytes, (p.findings, p.diagnosis()), style, &name));
        out.extend(lines.into_iter().flatten().map(|line| line.below(1)));
    }

    /// Appends the bytes of a payload with passwords masked.
    fn bytes(&self, out: &mut String, d: &Datagram<'_>, packet: Option<&Packet<'_>>) {
        if !self.detail.hex {
            return;
        }
        let mut bytes = Bytes::new(packet.map_or(d.payload, |p| p.bytes));
        match packet {
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
        if let Some(whole) = packet.and_then(Packet::whole) {
            let mut datagram_bytes = Bytes::new(d.payload);
            if !self.detail.secrets {
                datagram_bytes.hide(&secrets::in_unclaimed(d));
            }
            datagram_bytes.write(out, self.detail.colour);
            out.push_str(&format!("[Joined message: {} bytes]\n", whole.length));
        }
        bytes.write(out, self.detail.colour);
        if d.cut > 0 {
            out.push_str(&format!("[{} more bytes were not captured]\n", d.cut));
        }
    }

    /// Writes the text of a packet; an empty line separates it from the next.
    fn write(&mut self, mut text: String) -> io::Result<()> {
        if self.detail.tree || self.detail.hex || self.detail.fields {
            text.push('\n');
        }
        match text.strip_suffix('\n') {
            Some(text) => self.lister.line(text),
            None => Ok(()), // the packet's line is already written
        }
    }

    fn explained(&self, out: &mut Outline, sentences: &[String]) {
        sentences.iter().for_each(|sentence| push(out, 1, format!("[{sentence}]")));
    }

    /// The lines of a packet: its layers and its message, without its bytes.
    pub(super) fn outline(&self, p: &Packet<'_>, place: Place) -> Outline {
        let mut out = vec![];
        self.layers(&mut out, p.datagram, place);
        self.message(&mut out, p, place);
        out
    }

    /// The lines of a datagram that no protocol claims.
    pub(super) fn unclaimed_outline(&self, d: &Datagram<'_>, place: Place) -> Outline {
        let mut out = vec![];
        self.layers(&mut out, d, place);
        out
    }

    /// The place of a frame with this number in the run.
    pub(super) fn place(&mut self, frame: u64) -> io::Result<Place> {
        self.lister.lines.place(frame)
    }
}

impl<W: Write> Report for Details<W> {
    fn listener(&self) -> AnyListener {
        AnyListener::Tree(Tree::default())
    }

    /// The inner report receives files, tunnels and the first frame, which lines need, and writes the counts at the
    /// end.
    fn inner(&mut self) -> Option<&mut dyn Report> {
        Some(&mut self.lister)
    }

    fn wants(&self) -> Wants {
        Wants { ordered: true, frames: true, diagnosis: true, ..Wants::default() }
    }

    fn comments(&mut self, comments: &Comments) {
        self.comments = comments.clone();
    }

    fn frame(&mut self, frame: &Frame<'_>, parsed: &Result<Datagram<'_>, DropReason>) {
        if self.detail.tree && !self.detail.quiet {
            self.frame_headers.remember(frame, parsed);
        } else if self.detail.time_format.needs_frames() {
            self.lister.note_frame(frame, parsed);
        }
    }

    /// A packet left out by a filter may still explain later exchanges.
    fn packet_left_out(&mut self, p: &Packet<'_>) {
        if let Some(explainer) = &mut self.explainer {
            explainer.remember(p);
        }
    }

    fn packet(&mut self, p: &Packet<'_>) -> io::Result<()> {
        if self.detail.quiet {
            return Ok(());
        }
        let place = self.place(p.datagram.frame)?;
        let mut out = vec![];
        if self.detail.tree {
            out = self.outline(p, place);
        } else {
            self.lister.show(p)?;
            self.fields(&mut out, p, place);
        }
        if let Some(explainer) = &mut self.explainer {
            explainer.remember(p);
        }
        if let Some(explainer) = &self.explainer {
            let name = |frame| self.lister.lines.frame_name(frame, place.file);
            self.explained(&mut out, &explainer.packet(p, &name));
        }
        let mut out = outline::text(&out);
        self.bytes(&mut out, p.datagram, Some(p));
        self.write(out)
    }

    fn unclaimed(&mut self, d: &Datagram<'_>) -> io::Result<()> {
        if self.detail.quiet {
            return Ok(());
        }
        let place = self.place(d.frame)?;
        let mut out = vec![];
        if self.detail.tree {
            out = self.unclaimed_outline(d, place);
        } else {
            self.lister.unclaimed(d)?;
        }
        if let Some(explainer) = &self.explainer {
            self.explained(&mut out, &explainer.unclaimed(d));
        }
        let mut out = outline::text(&out);
        self.bytes(&mut out, d, None);
        self.write(out)
    }

    fn exchange(&mut self, e: &Exchange, findings: &[Finding]) -> io::Result<()> {
        if self.detail.quiet
            || self.explainer.is_none() && (findings.is_empty() || !(self.detail.tree || self.detail.fields))
        {
            return Ok(());
        }
        let place = self.lister.lines.place(e.response_frame.unwrap_or(e.request_frame))?;
        let name = |frame| self.lister.lines.frame_name(frame, place.file);
        let mut out = vec![];
        match &self.explainer {
            Some(explainer) if self.detail.stand_ins.of(e.request_frame).time => {
                let timeless = Exchange { response_time: None, ..e.clone() };
                push(&mut out, 0, explainer.exchange(&timeless, &name));
            }
            Some(explainer) => push(&mut out, 0, explainer.exchange(e, &name)),
            None => {
                let (id, frame, outcome) = (e.id, name(e.request_frame), e.outcome.name());
                let protocol = e.protocol.info().name;
                push(&mut out, 0, format!("Exchange {id}, {protocol}, asked in frame {frame}: {outcome}"));
            }
        }
        let line = |f| payload::finding_line(f, false, self.detail.colour, &name);
        findings.iter().for_each(|f| push(&mut out, 1, line(f)));
        self.write(outline::text(&out))
    }

    fn file(&mut self, name: &str, facts: &capture::CaptureInfo, before: u64) -> io::Result<()> {
        self.frame_headers.begin_file(facts);
        self.lister.file(name, facts, before)
    }

    fn reassembled(&mut self, frame: u64, pieces: &[u64]) {
        self.fragments.insert(frame, pieces);
    }
}

/// Lines with facts derived from other packets, with response times if these are not made up, in square brackets, like the generated fields of tshark.
fn pairing(pairing: &Pairing, is_timed: bool, name: &dyn Fn(u64) -> String) -> Vec<String> {
    let mut out: Vec<String> = vec![];
    out.extend(pairing.exchange().map(|id| format!("[Exchange: {id}]")));
    match pairing {
        Pairing::Answered(a) => {
            out.push(format!("[Response to: {}]", name(a.request_frame)));
            let late = if a.late { ", late" } else { "" };
            out.extend(
                a.response_time
                    .filter(|_| is_timed)
                    .map(|t| format!("[Response time: {}{late}]", duration(t))),
            );
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
