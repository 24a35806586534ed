//! Exchanges as rows of CSV and TSV.

use super::format::push_seconds;
use super::rows::{Layout, Rows};
use super::{Files, Report, Totals, Wants};
use crate::capture;
use crate::check::Finding;
use crate::exchange::Exchange;
use crate::text::escape::escaped;
use crate::text::line::Line;
use crate::text::timestamps::stamp;
use std::io::{self, Write};

/// The columns, named like the keys of the records if they have one, and in their order after `file`, with which all rows
/// begin.
const COLUMNS: &str = "file,id,protocol,step,client,server,key,client_ip,client_port,server_ip,server_port,request_time,\
                       request_frame,request_file,response_frames,response_file,outcome,answer,response_time,\
                       request_bytes,response_bytes,confidence,reason,retransmissions,rule";

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
            info.name.to_owned(),
            e.step_name().to_owned(),
            e.client.to_string(),
            e.server.to_string(),
            self.rows.layout.text(&e.key_text().unwrap_or_default()),
            client_ip,
            client_port,
            server_ip,
            server_port,
            stamp(e.request_time),
            request_frame,
            request_file,
            frames.join(" "),
            response_file,
            e.outcome.name().to_owned(),
            e.answer_name(info.has_several_answers(e.step)).unwrap_or_default().to_owned(),
            e.response_time.map_or(String::new(), |time| Line::text(|out| push_seconds(out, Some(time)))),
            e.request_bytes.to_string(),
            e.response_bytes.to_string(),
            e.level.name().to_owned(),
            escaped(e.reason.unwrap_or_default()).into_owned(),
            e.retransmissions.to_string(),
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
