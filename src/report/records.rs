//! JSON and NDJSON records, one object a line, written by hand into one buffer a line.

use super::stamp::{Stamps, push_seconds};
use super::{Packet, Report, Totals};
use crate::capture::{Facts, Interface, link_name};
use crate::check::{Cause, Finding};
use crate::decode::{Json, push, push_text, push_u64};
use crate::exchange::{Exchange, Pairing};
use crate::net::{Datagram, Endpoint};
use serde_json::{Value, json};
use std::io::{self, Write};

/// How much is gathered before it is written, in bytes.
const BUFFER: usize = 64 * 1024;

/// Which form the records take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// One object a line.
    Ndjson,
    /// The same objects as one array.
    Json,
}

/// Objects on their way out, one a line: gathered, and written in large pieces or one by one.
pub struct Output<W: Write> {
    out: W,
    form: Form,
    flush: bool,
    line: Vec<u8>,
    first: bool,
}

impl<W: Write> Output<W> {
    /// Objects in `form` to `out`; `flush` hands every one on at once.
    pub fn new(out: W, form: Form, flush: bool) -> Self {
        Output { out, form, flush, line: Vec::with_capacity(BUFFER * 2), first: true }
    }

    /// What stands before an object.
    fn begin(&mut self) {
        if self.form == Form::Json {
            self.line.extend_from_slice(if self.first { b"[" } else { b",\n" });
            self.first = false;
        }
    }

    fn end(&mut self) -> io::Result<()> {
        if self.form == Form::Ndjson {
            self.line.push(b'\n');
        }
        if self.flush || self.line.len() >= BUFFER { self.write() } else { Ok(()) }
    }

    fn write(&mut self) -> io::Result<()> {
        self.out.write_all(&self.line)?;
        self.line.clear();
        self.out.flush()
    }

    /// Writes a whole object.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn value(&mut self, value: &Value) -> io::Result<()> {
        self.begin();
        self.line.extend_from_slice(super::harmless(value).as_bytes());
        self.end()
    }

    /// Writes what stands behind the last object.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn finish(&mut self) -> io::Result<()> {
        if self.form == Form::Json {
            self.line.extend_from_slice(if self.first { b"[]\n" } else { b"]\n" });
        }
        self.write()
    }
}

/// The `capture` record.
pub fn capture_record(name: &str, facts: &Facts) -> Value {
    let links: Vec<_> = facts.links.iter().map(|&l| link_name(l)).collect();
    json!({
        "type": "capture", "file": name, "format": facts.format, "compression": null, "links": links,
        "snaplen": facts.snaplen, "application": facts.application, "comment": facts.comment,
        "os": facts.os, "hardware": facts.hardware,
        "interfaces": facts.interfaces.iter().map(interface_record).collect::<Vec<_>>(),
    })
}

/// An interface in it.
fn interface_record(interface: &Interface) -> Value {
    let Interface { link, snaplen, name, .. } = interface;
    let mut record = json!({ "name": name, "link": link_name(*link), "snaplen": snaplen });
    for (key, text) in [("description", &interface.description), ("comment", &interface.comment)] {
        if let Some(text) = text {
            record[key] = text.as_str().into();
        }
    }
    record
}

/// Writes records of captures, packets, exchanges and the summary.
pub struct Records<W: Write> {
    out: Output<W>,
    /// Also packets; otherwise only exchanges.
    packets: bool,
    /// Only captures and the summary.
    quiet: bool,
    file: Vec<u8>,
    stamps: Stamps,
}

impl<W: Write> Records<W> {
    /// Records to `out`; with or without one for each packet, and none but of captures and the summary
    /// when quiet.
    pub fn new(out: Output<W>, packets: bool, quiet: bool) -> Self {
        Records { out, packets, quiet, file: b"null".to_vec(), stamps: Stamps::default() }
    }

    /// What every record of a datagram begins with.
    fn head(&mut self, d: &Datagram<'_>) {
        self.out.begin();
        let line = &mut self.out.line;
        line.extend_from_slice(b"{\"type\":\"packet\",\"file\":");
        line.extend_from_slice(&self.file);
        line.extend_from_slice(b",\"frame\":");
        push_u64(line, d.frame);
        line.extend_from_slice(b",\"time\":");
        self.stamps.push_json(line, d.time);
        line.extend_from_slice(b",\"src\":\"");
        push_endpoint(line, d.src);
        line.extend_from_slice(b"\",\"dst\":\"");
        push_endpoint(line, d.dst);
        line.push(b'"');
    }

    /// What follows from pairing.
    fn pairing(&mut self, d: &Datagram<'_>, pairing: &Pairing) {
        let line = &mut self.out.line;
        if let Some(exchange) = pairing.exchange() {
            line.extend_from_slice(b",\"exchange\":");
            push_u64(line, exchange);
        }
        match pairing {
            Pairing::Answered(answer) => {
                line.extend_from_slice(b",\"request_frame\":");
                push_u64(line, answer.request_frame);
                line.extend_from_slice(b",\"response_time\":");
                push_seconds(line, answer.response_time);
            }
            Pairing::Again { part: false, .. } => line.extend_from_slice(b",\"retransmission\":true"),
            Pairing::Copy { of, .. } => {
                line.extend_from_slice(b",\"duplicate_of\":");
                push_u64(line, *of);
            }
            _ => {}
        }
        if d.cut > 0 {
            line.extend_from_slice(b",\"captured_length\":");
            push_u64(line, d.payload.len() as u64);
        }
    }
}

impl<W: Write> Report for Records<W> {
    type Sink = Json;
    const ORDERED: bool = true;

    fn packet(&mut self, p: &Packet<'_, Json>) -> io::Result<()> {
        if !self.packets || self.quiet {
            return Ok(());
        }
        self.head(p.datagram);
        let line = &mut self.out.line;
        for (key, value) in [
            (",\"protocol\":\"", p.id.info().name),
            ("\",\"message\":\"", p.message_name()),
            ("\",\"direction\":\"", p.direction.name()),
            ("\",\"confidence\":\"", p.level.name()),
        ] {
            line.extend_from_slice(key.as_bytes());
            line.extend_from_slice(value.as_bytes());
        }
        line.extend_from_slice(b"\",\"payload_length\":");
        push_u64(line, p.datagram.wire_len() as u64);
        line.extend_from_slice(b",\"fields\":");
        line.extend_from_slice(p.sink.object());
        self.pairing(p.datagram, p.pairing);
        push_findings(&mut self.out.line, p.findings);
        if p.more_findings > 0 {
            self.out.line.extend_from_slice(b",\"more_findings\":");
            push_u64(&mut self.out.line, u64::from(p.more_findings));
        }
        self.out.line.push(b'}');
        self.out.end()
    }

    fn unclaimed(&mut self, d: &Datagram<'_>) -> io::Result<()> {
        if !self.packets || self.quiet {
            return Ok(());
        }
        self.head(d);
        let line = &mut self.out.line;
        line.extend_from_slice(
            b",\"protocol\":null,\"message\":null,\"confidence\":null,\"payload_length\":",
        );
        push_u64(line, d.wire_len() as u64);
        line.push(b'}');
        self.out.end()
    }

    fn exchange(&mut self, e: &Exchange, findings: &[Finding]) -> io::Result<()> {
        if self.quiet {
            return Ok(());
        }
        self.out.begin();
        let line = &mut self.out.line;
        let info = e.protocol.info();
        let step = &info.steps[e.step as usize];
        line.extend_from_slice(b"{\"type\":\"exchange\",\"id\":");
        push_u64(line, e.id);
        line.extend_from_slice(b",\"file\":");
        line.extend_from_slice(&self.file);
        push(line, format_args!(",\"protocol\":\"{}\",\"step\":\"{}\",\"client\":\"", info.name, step.name));
        push_endpoint(line, e.client);
        line.extend_from_slice(b"\",\"server\":\"");
        push_endpoint(line, e.server);
        line.extend_from_slice(b"\",\"key\":");
        match e.key {
            Some(key) => push(line, format_args!("\"0x{key:0width$x}\"", width = step.key_digits)),
            None => line.extend_from_slice(b"null"),
        }
        line.extend_from_slice(b",\"request_frame\":");
        push_u64(line, e.request_frame);
        line.extend_from_slice(b",\"response_frames\":[");
        push_frames(line, e);
        push(line, format_args!("],\"outcome\":\"{}\",\"response_time\":", e.outcome.name()));
        push_seconds(line, e.response_time);
        push(
            line,
            format_args!(",\"request_bytes\":{},\"response_bytes\":{}", e.request_bytes, e.response_bytes),
        );
        if let Some(reason) = e.reason {
            push(line, format_args!(",\"reason\":\"{reason}\""));
        }
        if e.retransmissions > 0 {
            push(line, format_args!(",\"retransmissions\":{}", e.retransmissions));
        }
        push_findings(line, findings);
        line.push(b'}');
        self.out.end()
    }

    fn file(&mut self, name: &str, facts: &Facts) -> io::Result<()> {
        self.file.clear();
        push_text(&mut self.file, name.as_bytes());
        self.out.value(&capture_record(name, facts))
    }

    fn finish(&mut self, totals: &Totals) -> io::Result<()> {
        self.out.value(&totals.record())?;
        self.out.finish()
    }
}

fn push_frames(line: &mut Vec<u8>, e: &Exchange) {
    for (i, &frame) in e.response_frames().iter().enumerate() {
        if i > 0 {
            line.push(b',');
        }
        push_u64(line, frame);
    }
}

fn push_findings(line: &mut Vec<u8>, findings: &[Finding]) {
    line.extend_from_slice(b",\"findings\":[");
    for (i, f) in findings.iter().enumerate() {
        if i > 0 {
            line.push(b',');
        }
        push(
            line,
            format_args!("{{\"rule\":\"{}\",\"severity\":\"{}\",\"field\":", f.rule.id, f.severity.name()),
        );
        match f.path() {
            Some(path) => push(line, format_args!("\"{path}\"")),
            None => line.extend_from_slice(b"null"),
        }
        match f.span {
            Some(span) => push(line, format_args!(",\"start\":{},\"end\":{}", span.start, span.end)),
            None => line.extend_from_slice(b",\"start\":null,\"end\":null"),
        }
        line.extend_from_slice(b",\"message\":");
        push_text(line, f.to_string().as_bytes());
        if let Some(cause) = f.caused_by {
            let Cause { rule, frame } = cause;
            push(line, format_args!(",\"caused_by\":{{\"rule\":\"{}\",\"frame\":{frame}}}", rule.id));
        }
        line.push(b'}');
    }
    line.push(b']');
}

/// Appends `192.0.2.1:7777` or `[2001:db8::1]:7777`.
fn push_endpoint(line: &mut Vec<u8>, e: Endpoint) {
    let Some(octets) = e.octets() else { return push(line, format_args!("{e}")) };
    let mut text = [0u8; 16]; // 255.255.255.255:
    let mut len = 0;
    let mut put = |byte: u8| {
        text[len] = byte;
        len += 1;
    };
    for (octet, end) in octets.into_iter().zip(*b"...:") {
        if octet >= 100 {
            put(b'0' + octet / 100);
        }
        if octet >= 10 {
            put(b'0' + octet / 10 % 10);
        }
        put(b'0' + octet % 10);
        put(end);
    }
    line.extend_from_slice(&text[..len]);
    push_u64(line, u64::from(e.port()));
}
