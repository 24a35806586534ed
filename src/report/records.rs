//! JSON and NDJSON records, one object per line. Their text is assembled by hand in a single buffer.

use super::format::{push_endpoint, push_key, push_seconds};
use super::output::Output;
use super::prebuilt::Prebuilt;
use super::recent_frames::FragmentFrames;
use super::secrets::{harmless_part, in_payload, in_unclaimed};
use super::{CaptureRecord, Files, Place, Report, Totals, Wants};
use crate::capture::{CaptureInfo, Comments};
use crate::check::{Cause, Finding, Packet};
use crate::classify::looks_like::looks_like;
use crate::decode::{AnyListener, ComparedValue, Json, push_text};
use crate::exchange::{Exchange, Pairing};
use crate::filter::masked;
use crate::net::{Datagram, Tunnel};
use crate::text::digits::{push, push_u64};
use crate::text::escape::terminal_safe_json;
use crate::text::line::Line;
use crate::text::timestamps::Stamps;
use hashbrown::HashMap;
use std::collections::VecDeque;
use std::io::{self, Write};
use std::ops::Range;

/// Writes records of captures, packets, exchanges and the summary.
pub struct Records<W: Write> {
    out: Output<W>,
    /// Whether packets are written in addition to exchanges.
    packets: bool,
    /// Whether only captures and the summary are written.
    quiet: bool,
    files: Files,
    prebuilt: Prebuilt,
    /// `capture` records that are pending until the records of earlier files are written.
    pending_captures: VecDeque<String>,
    stamps: Stamps,
    /// Lists of tunnels as JSON, by number.
    tunnels: HashMap<u16, String>,
    /// Frames of the fragments of reassembled datagrams, by the frame with which each datagram is reported.
    fragments: FragmentFrames,
    /// The captures' comments on packets.
    comments: Comments,
    /// Whether passwords are shown in bytes.
    secrets: bool,
    /// Whether all bytes of each payload are written.
    bytes: bool,
    /// The range of packets to write.
    range: Range<u64>,
    /// Number of packets so far.
    packet_count: u64,
}

/// Maximum number of bytes shown of a datagram that no protocol claims.
const MAX_PAYLOAD: usize = 64;
/// Length of the longest IP address.
const ADDRESS_CHARS: usize = 39;

impl<W: Write> Records<W> {
    /// Writes records to `out`, with `packets` including a record for each packet. With `quiet`, writes only the
    /// records of captures and the summary.
    pub fn new(out: Output<W>, packets: bool, quiet: bool) -> Self {
        Records {
            out,
            packets,
            quiet,
            files: Files::default(),
            prebuilt: Prebuilt::default(),
            pending_captures: VecDeque::new(),
            stamps: Stamps::default(),
            tunnels: HashMap::new(),
            fragments: FragmentFrames::default(),
            comments: Comments::default(),
            secrets: false,
            bytes: false,
            range: 0..u64::MAX,
            packet_count: 0,
        }
    }

    /// Limits the records to a range of the packets that would be written, counted from 0, and to the exchanges that
    /// close in the meantime.
    pub fn with_range(mut self, range: Range<u64>) -> Self {
        self.range = range;
        self
    }

    /// Whether to write the next packet.
    #[inline]
    fn wants_packet(&mut self) -> bool {
        let wanted = self.range.contains(&self.packet_count);
        self.packet_count += 1;
        wanted && self.packets && !self.quiet
    }

    /// Sets whether to write all bytes of each payload. By default, only the first bytes of unclaimed datagrams are
    /// written.
    pub fn with_bytes(mut self, bytes: bool) -> Self {
        self.bytes = bytes;
        self
    }

    /// Sets whether to show passwords in bytes. By default, they are masked, and the first bytes of an unclaimed
    /// datagram end before them.
    pub fn with_secrets(mut self, secrets: bool) -> Self {
        self.secrets = secrets;
        self
    }

    /// The place of a frame. Writes the pending `capture` records up to its file first.
    #[inline]
    fn place(&mut self, frame: u64) -> io::Result<Place> {
        let place = self.files.place(frame);
        if !self.pending_captures.is_empty() {
            self.write_captures_up_to(place.file)?;
        }
        Ok(place)
    }

    /// Writes the pending `capture` records of the files up to `file`.
    #[cold]
    fn write_captures_up_to(&mut self, file: usize) -> io::Result<()> {
        while self.files.len().saturating_sub(self.pending_captures.len()) <= file
            && let Some(capture) = self.pending_captures.pop_front()
        {
            self.out.text(&capture)?;
        }
        Ok(())
    }

    /// Appends the name of a file, if it is not the file of the record.
    #[inline]
    fn push_other_file(&mut self, key: &str, file: usize, record_file: usize) {
        if file != record_file {
            push(&mut self.out.line, format_args!(",\"{key}\":"));
            self.prebuilt.push_name(&mut self.out.line, file);
        }
    }

    /// Begins the record of a datagram.
    fn begin_packet(&mut self, d: &Datagram<'_>) -> io::Result<Place> {
        let place = self.place(d.frame)?;
        self.out.begin();
        let line = &mut self.out.line;
        self.prebuilt.push_packet(line, place.file);
        push_u64(line, place.frame);
        line.add(b",\"time\":");
        self.stamps.push_json(line, d.time);
        line.add(b",\"src\":\"");
        push_endpoint(line, d.src);
        line.add(b"\",\"dst\":\"");
        push_endpoint(line, d.dst);
        line.push(b'"');
        if d.tunnel != 0 {
            self.encapsulation(d.tunnel);
        }
        if d.at >= Datagram::NOT_IN_FILE {
            self.fragments(d);
        }
        if let Some(comments) = self.comments.of(d.frame) {
            self.comment(&comments);
        }
        Ok(place)
    }

    /// Appends the frames of a datagram's fragments.
    #[cold]
    fn fragments(&mut self, d: &Datagram<'_>) {
        let pieces = self.fragments.fragments_of(d);
        if pieces.is_empty() {
            return;
        }
        let frames: Vec<_> = pieces.iter().map(|&piece| self.files.place(piece).frame.to_string()).collect();
        push(&mut self.out.line, format_args!(",\"fragments\":[{}]", frames.join(",")));
    }

    /// Appends the capture's comments on the packet.
    #[cold]
    fn comment(&mut self, comments: &[Box<str>]) {
        let line = &mut self.out.line;
        line.add(b",\"comment\":[");
        for (i, text) in comments.iter().enumerate() {
            if i > 0 {
                line.push(b',');
            }
            push_text(line, text.as_bytes());
        }
        line.push(b']');
    }

    #[cold]
    fn encapsulation(&mut self, tunnel: u16) {
        let names = self.tunnels.get(&tunnel).map_or("", String::as_str);
        push(&mut self.out.line, format_args!(",\"encapsulation\":[{names}]"));
    }

    /// Appends the keys derived from pairing, and the captured length.
    fn pairing(&mut self, d: &Datagram<'_>, pairing: &Pairing, place: Place) {
        let line = &mut self.out.line;
        if let Some(exchange) = pairing.exchange() {
            line.add(b",\"exchange\":");
            push_u64(line, exchange);
        }
        match pairing {
            Pairing::Answered(answer) => {
                let request_place = self.files.place(answer.request_frame);
                line.add(b",\"request_frame\":");
                push_u64(line, request_place.frame);
                self.push_other_file("request_file", request_place.file, place.file);
                let line = &mut self.out.line;
                line.add(b",\"response_time\":");
                push_seconds(line, answer.response_time);
            }
            Pairing::Retransmission { part: false, .. } => line.add(b",\"retransmission\":true"),
            Pairing::DuplicateResponse { of, .. } | Pairing::DuplicateFrame { of, .. } => {
                line.add(b",\"duplicate_of\":");
                let original = self.files.place(*of);
                push_u64(line, original.frame);
                self.push_other_file("duplicate_file", original.file, place.file);
            }
            _ => {}
        }
        captured(&mut self.out.line, d);
    }
}

/// Appends the captured length if bytes are missing.
fn captured(line: &mut Line, d: &Datagram<'_>) {
    if d.cut > 0 {
        line.add(b",\"captured_length\":");
        push_u64(line, d.payload.len() as u64);
    }
}

impl<W: Write> Report for Records<W> {
    fn listener(&self) -> AnyListener {
        AnyListener::Json(Json::default())
    }

    fn wants(&self) -> Wants {
        Wants { ordered: true, shown_keys: true, diagnosis: self.packets, ..Wants::default() }
    }

    fn comments(&mut self, comments: &Comments) {
        self.comments = comments.clone();
    }

    fn packet(&mut self, p: &Packet<'_>) -> io::Result<()> {
        if !self.wants_packet() {
            return Ok(());
        }
        let place = self.begin_packet(p.datagram)?;
        let line = &mut self.out.line;
        self.prebuilt.push_message(line, p.id, p.message, p.direction, p.level);
        push_u64(line, p.datagram.wire_len() as u64);
        if self.bytes {
            let secrets = if self.secrets { vec![] } else { in_payload(p) };
            push(line, format_args!(",\"payload\":\"{}\"", masked(p.datagram.payload, &secrets, 0)));
        }
        line.add(b",\"fields\":");
        line.extend_from_slice(p.object().unwrap_or(b"{}"));
        self.pairing(p.datagram, p.pairing, place);
        self.findings(p.findings, place);
        if p.more_findings > 0 {
            self.out.line.add(b",\"more_findings\":");
            push_u64(&mut self.out.line, u64::from(p.more_findings));
        }
        if let Some(diagnosis) = p.diagnosis() {
            self.out.line.add(b",\"diagnosis\":");
            self.out.line.extend_from_slice(terminal_safe_json(&diagnosis.record()).as_bytes());
        }
        self.out.line.push(b'}');
        self.out.end()
    }

    fn unclaimed(&mut self, d: &Datagram<'_>) -> io::Result<()> {
        if !self.wants_packet() {
            return Ok(());
        }
        self.begin_packet(d)?;
        let line = &mut self.out.line;
        line.add(b",\"protocol\":null,\"message\":null,\"confidence\":null,\"payload_length\":");
        push_u64(line, d.wire_len() as u64);
        captured(line, d);
        line.add(b",\"payload\":\"");
        let secrets = if self.secrets || !self.bytes { vec![] } else { in_unclaimed(d) };
        let shown = match (self.bytes, self.secrets) {
            (true, _) => d.payload,
            (false, true) => d.payload.get(..MAX_PAYLOAD).unwrap_or(d.payload),
            (false, false) => harmless_part(d, MAX_PAYLOAD),
        };
        push(line, format_args!("{}", masked(shown, &secrets, 0)));
        match looks_like(d.payload, [d.src.port(), d.dst.port()]) {
            Some(name) => push(line, format_args!("\",\"looks_like\":\"{name}\"}}")),
            None => line.add(b"\",\"looks_like\":null}"),
        }
        self.out.end()
    }

    fn exchange(&mut self, e: &Exchange, findings: &[Finding]) -> io::Result<()> {
        if self.quiet || !(self.range.start..=self.range.end).contains(&self.packet_count) {
            return Ok(());
        }
        // An exchange belongs to the file of its answer or, without an answer, of its request.
        let request_place = self.place(e.request_frame)?;
        let place = match e.response_frames() {
            [first, ..] => self.place(*first)?,
            [] => request_place,
        };
        self.out.begin();
        let line = &mut self.out.line;
        line.add(b"{\"type\":\"exchange\",\"id\":");
        push_u64(line, e.id);
        line.add(b",\"file\":");
        self.prebuilt.push_name(line, place.file);
        self.prebuilt.push_step(line, e);
        let client = push_endpoint(line, e.client);
        line.add(b"\",\"server\":\"");
        let server = push_endpoint(line, e.server);
        line.add(b"\",\"key\":");
        match (&e.shown_key, e.key) {
            (Some(key), _) => _ = push_text(line, key.as_bytes()),
            (None, Some(key)) => {
                line.push(b'"');
                push_key(line, key, e.protocol.info().steps[usize::from(e.step)].key_digits);
                line.push(b'"');
            }
            (None, None) => line.add(b"null"),
        }
        for (ip, address, port, end) in [
            (b",\"client_ip\":\"", client, b"\",\"client_port\":", e.client),
            (b",\"server_ip\":\"", server, b"\",\"server_port\":", e.server),
        ] {
            line.add(ip);
            line.add_again::<ADDRESS_CHARS>(address);
            line.add(port);
            push_u64(line, end.port().into());
        }
        line.add(b",\"request_time\":");
        self.stamps.push_json(line, e.request_time);
        line.add(b",\"request_frame\":");
        push_u64(line, request_place.frame);
        self.push_other_file("request_file", request_place.file, place.file);
        self.out.line.add(b",\"response_frames\":[");
        self.response_frames(e, place);
        let line = &mut self.out.line;
        line.add(b",\"outcome\":\"");
        line.extend_from_slice(e.outcome.name().as_bytes());
        if let Some(answer) = e.answer_name(self.prebuilt.has_several_answers(e)) {
            line.add(b"\",\"answer\":\"");
            line.extend_from_slice(answer.as_bytes());
        }
        line.add(b"\",\"response_time\":");
        push_seconds(line, e.response_time);
        line.add(b",\"request_bytes\":");
        push_u64(line, e.request_bytes);
        line.add(b",\"response_bytes\":");
        push_u64(line, e.response_bytes);
        line.add(b",\"confidence\":\"");
        line.add_few(e.level.name().as_bytes());
        line.push(b'"');
        if let Some(reason) = e.reason {
            push(line, format_args!(",\"reason\":\"{reason}\""));
        }
        if e.retransmissions > 0 {
            push(line, format_args!(",\"retransmissions\":{}", e.retransmissions));
        }
        self.findings(findings, place);
        self.out.line.push(b'}');
        self.out.end()
    }

    fn file(&mut self, name: &str, facts: &CaptureInfo, before: u64) -> io::Result<()> {
        let mut json = Line::default();
        push_text(&mut json, name.as_bytes());
        self.prebuilt.begin_file(&json);
        self.files.begin(before);
        self.pending_captures.push_back(terminal_safe_json(&CaptureRecord::new(name, facts)));
        // Pending datagrams may belong to earlier files, if there are any and if datagrams are written at all.
        if self.files.len() == 1 || self.quiet { self.write_captures_up_to(usize::MAX) } else { Ok(()) }
    }

    fn reassembled(&mut self, frame: u64, pieces: &[u64]) {
        self.fragments.insert(frame, pieces);
    }

    fn tunnels(&mut self, number: u16, path: &[Tunnel]) {
        let names: Vec<_> = path.iter().map(|tunnel| format!("\"{tunnel}\"")).collect();
        self.tunnels.insert(number, names.join(","));
    }

    fn finish(&mut self, totals: &Totals) -> io::Result<()> {
        self.write_captures_up_to(usize::MAX)?;
        self.out.value(&totals.record())?;
        self.out.finish()
    }
}

impl<W: Write> Records<W> {
    /// Appends the numbers of the response frames, and the file of each if they are in several files.
    fn response_frames(&mut self, e: &Exchange, place: Place) {
        let mut has_other_files = false;
        for (i, &frame) in e.response_frames().iter().enumerate() {
            if i > 0 {
                self.out.line.push(b',');
            }
            let response_place = self.files.place(frame);
            push_u64(&mut self.out.line, response_place.frame);
            has_other_files |= response_place.file != place.file;
        }
        self.out.line.push(b']');
        if has_other_files {
            self.response_files(e);
        }
    }

    #[cold]
    #[inline(never)]
    fn response_files(&mut self, e: &Exchange) {
        let line = &mut self.out.line;
        line.add(b",\"response_files\":[");
        for (i, &frame) in e.response_frames().iter().enumerate() {
            if i > 0 {
                line.push(b',');
            }
            self.prebuilt.push_name(line, self.files.place(frame).file);
        }
        line.push(b']');
    }

    #[inline]
    fn findings(&mut self, findings: &[Finding], place: Place) {
        if findings.is_empty() {
            return self.out.line.add(b",\"findings\":[]");
        }
        self.some_findings(findings, place);
    }

    #[inline(never)]
    fn some_findings(&mut self, findings: &[Finding], place: Place) {
        self.out.line.add(b",\"findings\":[");
        for (i, f) in findings.iter().enumerate() {
            if i > 0 {
                self.out.line.push(b',');
            }
            push_finding(&mut self.out.line, f);
            if let Some(Cause { rule, frame }) = f.caused_by {
                let cause_place = self.files.place(frame);
                let line = &mut self.out.line;
                push(
                    line,
                    format_args!(",\"caused_by\":{{\"rule\":\"{}\",\"frame\":{}", rule.id, cause_place.frame),
                );
                self.push_other_file("file", cause_place.file, place.file);
                self.out.line.push(b'}');
            }
            self.out.line.push(b'}');
        }
        self.out.line.push(b']');
    }
}

/// Appends a finding without its cause and the closing brace.
fn push_finding(line: &mut Line, f: &Finding) {
    push(
        line,
        format_args!("{{\"rule\":\"{}\",\"severity\":\"{}\",\"field\":", f.rule.id, f.severity.name()),
    );
    match f.path() {
        Some(path) => push(line, format_args!("\"{path}\"")),
        None => line.add(b"null"),
    }
    match f.span {
        Some(span) => push(line, format_args!(",\"start\":{},\"end\":{}", span.start, span.end)),
        None => line.add(b",\"start\":null,\"end\":null"),
    }
    line.add(b",\"message\":");
    push_text(line, f.to_string().as_bytes());
    push_told(line, b",\"found\":", f.found());
    push_told(line, b",\"expected\":", f.expected());
}

/// Appends a key and a value, null where there is nothing to say.
fn push_told<const N: usize>(line: &mut Line, key: &[u8; N], told: Option<ComparedValue>) {
    line.add(key);
    match told {
        Some(told) => drop(push_text(line, told.to_string().as_bytes())),
        None => line.add(b"null"),
    }
}

/// The records of the exchanges and, with `packets`, of the packets that `feed` reports.
#[cfg(feature = "cli")]
pub(crate) fn records_of(
    packets: bool,
    feed: impl FnOnce(&mut Records<&mut Vec<u8>>) -> io::Result<()>,
) -> Vec<serde_json::Value> {
    lines_of(packets, feed).iter().filter_map(|line| serde_json::from_str(line.get()).ok()).collect()
}

/// The same as JSON text.
#[cfg(feature = "page")]
pub(crate) fn lines_of(
    packets: bool,
    feed: impl FnOnce(&mut Records<&mut Vec<u8>>) -> io::Result<()>,
) -> Vec<Box<serde_json::value::RawValue>> {
    let mut text = vec![];
    let mut records = Records::new(Output::new(&mut text, super::Form::Ndjson, false), packets, false);
    if feed(&mut records).is_err() {
        return vec![]; // writing to memory cannot fail
    }
    drop(records);
    let is_wanted = |line: &&[u8]| {
        [br#"{"type":"packet""#.as_slice(), br#"{"type":"exchange""#].iter().any(|it| line.starts_with(it))
    };
    let lines = text.split(|byte| *byte == b'\n').filter(is_wanted);
    lines.filter_map(|line| serde_json::from_slice(line).ok()).collect()
}
