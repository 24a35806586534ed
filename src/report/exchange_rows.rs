//! Exchanges as rows of CSV and TSV.

use super::format::push_seconds;
use super::rows::{Layout, Rows};
use super::{Files, Report, Totals, Wants};
use crate::capture;
use crate::check::Finding;
use crate::escape::escaped;
use crate::exchange::Exchange;
use crate::line::Line;
use crate::timestamps::stamp;
use std::io::{self, Write};

/// The columns, named like the keys of the records if they have one.
const COLUMNS: &str = "file,id,client,server,client_ip,client_port,server_ip,server_port,protocol,step,key,request_file,\
                       request_frame,request_time,outcome,response_time,request_bytes,response_bytes,retransmissions,\
                       response_file,response_frames,reason,rule";

/// Writes a row for each exchange.
pub struct ExchangeRows<W: Write> {
    rows: Rows<W>,
    files: Files,
    names: Vec<Box<str>>,
}

impl<W: Write> ExchangeRows<W> {
    /// Writes rows to `out`, with `flush` each at once, otherwise in large pieces. Writes no rows if `quiet`.
    pub fn new(out: W, layout: Layout, flush: bool, quiet: bool) -> Self {
        let rows = Rows::new(out, layout, [flush, quiet], COLUMNS.split(','));
        ExchangeRows { rows, files: Files::default(), names: vec![] }
    }

    /// The name of a frame's file, and the frame's number in it.
    fn place(&self, frame: u64) -> (String, String) {
        let place = self.files.place(frame);
        let name = self.names.get(place.file).map_or("", |name| name);
        (self.rows.layout.text(name), place.frame.to_string())
    }
}

impl<W: Write> Report for ExchangeRows<W> {
    fn wants(&self) -> Wants {
        Wants { shown_keys: true, ..Wants::default() }
    }

    fn exchange(&mut self, e: &Exchange, findings: &[Finding]) -> io::Result<()> {
        if self.rows.quiet {
            return Ok(());
        }
        let info = e.protocol.info();
        let (step, digits) = info.steps.get(usize::from(e.step)).map_or(("", 0), |s| (s.name, s.key_digits));
        let (request_file, request_frame) = self.place(e.request_frame);
        let responses: Vec<_> = e.response_frames().iter().map(|&frame| self.place(frame)).collect();
        let response_file = responses.first().map_or(String::new(), |(name, _)| name.clone());
        let frames: Vec<_> = responses.into_iter().map(|(_, frame)| frame).collect();
        let rules: Vec<_> = findings.iter().map(|f| f.rule.id).collect();
        let file = if response_file.is_empty() { request_file.clone() } else { response_file.clone() };
        let endpoints = [e.client, e.server].map(|end| (end.ip().to_string(), end.port().to_string()));
        let [(client_ip, client_port), (server_ip, server_port)] = endpoints;
        let cells = [
            file,
            e.id.to_string(),
            e.client.to_string(),
            e.server.to_string(),
            client_ip,
            client_port,
            server_ip,
            server_port,
            info.name.to_owned(),
            step.to_owned(),
            match (&e.shown_key, e.key) {
                (Some(key), _) => self.rows.layout.text(key),
                (None, Some(key)) => format!("0x{key:0digits$x}"),
                (None, None) => String::new(),
            },
            request_file,
            request_frame,
            stamp(e.request_time),
            e.outcome.name().to_owned(),
            e.response_time.map_or(String::new(), |time| Line::text(|out| push_seconds(out, Some(time)))),
            e.request_bytes.to_string(),
            e.response_bytes.to_string(),
            e.retransmissions.to_string(),
            response_file,
            frames.join(" "),
            escaped(e.reason.unwrap_or_default()).into_owned(),
            rules.join(" "),
        ];
        self.rows.push(cells.into_iter())
    }

    fn file(&mut self, name: &str, _: &capture::CaptureInfo, before: u64) -> io::Result<()> {
        self.files.begin(before);
        self.names.push(name.into());
        Ok(())
    }

    fn finish(&mut self, totals: &Totals) -> io::Result<()> {
        self.rows.finish(totals)
    }
}
