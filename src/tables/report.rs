//! Fills the tables while captures are read.

use super::Table;
use super::captures::Capture;
use super::rows::{Rows, signed};
use crate::capture::{CaptureInfo, Frame, Time};
use crate::check::{Finding, Packet};
use crate::contract::Flood;
use crate::decode::{self, AnyListener, Json, Notes, Version};
use crate::exchange::{Exchange, Pairing};
use crate::net::{Datagram, DropReason, Endpoint, Tunnel};
use crate::protocols::Id;
use crate::report::server::Server;
use crate::report::server_text::ServerText;
use crate::report::summary::Summary;
use crate::report::{Files, Report, SilentServer, Totals, Wants};
use crate::text::digits::push;
use crate::verdict::pending::{Found, Pending};
use arrow_array::RecordBatch;
use hashbrown::HashMap;
use std::io;

/// The function that takes the batches of a table. A batch has no more than [`BATCH`](super::BATCH) rows.
pub type Take<'t> = dyn FnMut(Table, RecordBatch) -> io::Result<()> + 't;

/// Fills the tables that are wanted, and passes on their rows in batches.
///
/// Findings are those of `check`. Those that are judged at the end of the input come last.
pub struct Tables<'t> {
    take: Box<Take<'t>>,
    rows: Vec<(Table, Rows)>,
    /// Whether there is a column with all fields of a message.
    fields: bool,
    options: String,
    sensor: Option<String>,
    files: Files,
    captures: Vec<Capture>,
    /// Packets and UDP datagrams of the files read before.
    before: (u64, u64),
    summary: Summary,
    pending: Pending,
    tunnels: HashMap<u16, Vec<String>>,
    /// A buffer for the numbers of a cell.
    numbers: Vec<i64>,
}

impl<'t> Tables<'t> {
    /// Fills these tables. `fields` asks for all fields of each message, and `options` names the options of the run that change
    /// what is found.
    pub fn new(tables: &[Table], fields: bool, options: &str, take: Box<Take<'t>>) -> Tables<'t> {
        let rows = Table::ALL.into_iter().filter(|table| tables.contains(table));
        let rows = rows.map(|table| (table, Rows::new(table.columns(), table.schema())));
        Tables {
            take,
            rows: rows.collect(),
            fields,
            options: options.to_owned(),
            sensor: None,
            files: Files::default(),
            captures: vec![],
            before: (0, 0),
            summary: Summary::default(),
            pending: Pending::default(),
            tunnels: HashMap::new(),
            numbers: vec![],
        }
    }

    /// Names the sensor that made the captures.
    #[must_use]
    pub fn made_by(mut self, sensor: &str) -> Self {
        self.sensor = Some(sensor.to_owned());
        self
    }

    fn wants_table(&self, table: Table) -> bool {
        self.rows.iter().any(|(known, _)| *known == table)
    }

    /// The rows of a table, where it is wanted.
    fn rows(&mut self, table: Table) -> Option<&mut Rows> {
        self.rows.iter_mut().find(|(known, _)| *known == table).map(|(_, rows)| rows)
    }

    /// The key of a frame in the tables: file and number.
    fn key(&self, frame: u64) -> (i64, i64) {
        let place = self.files.place(frame);
        (self.captures.get(place.file).map_or(0, |capture| capture.id), signed(place.frame))
    }

    /// The key of the exchange that a packet belongs to.
    fn exchange_key(&self, p: &Packet<'_>) -> Option<(i64, i64)> {
        p.pairing.request_frame(p.datagram.frame).map(|frame| self.key(frame))
    }

    /// Hands on the rows of a table if there are enough for a batch, or at the end if there are any.
    fn hand_on(&mut self, table: Table, end: bool) -> io::Result<()> {
        let Some(rows) = self.rows(table) else { return Ok(()) };
        match rows.take(end)? {
            Some(batch) => (self.take)(table, batch),
            None => Ok(()),
        }
    }

    fn message(&mut self, p: &Packet<'_>) -> io::Result<()> {
        let d = p.datagram;
        let key = self.key(d.frame);
        let exchange = self.exchange_key(p);
        let copy = match p.pairing {
            Pairing::DuplicateResponse { of, .. } | Pairing::DuplicateFrame { of, .. } => Some(self.key(*of)),
            _ => None,
        };
        let response_time = match p.pairing {
            Pairing::Answered(answer) => answer.response_time,
            _ => None,
        };
        let tunnels = self.tunnels.get(&d.tunnel).cloned().unwrap_or_default();
        let fields = p.object().map(|object| String::from_utf8_lossy(object).into_owned());
        let Some(rows) = self.rows(Table::Messages) else { return Ok(()) };
        key_cells(rows, Some(key));
        rows.time(d.time);
        rows.endpoint(d.src);
        rows.endpoint(d.dst);
        words(rows, [p.id.info().name, p.message_name(), p.direction.name(), p.level.name()]);
        rows.count(d.wire_len() as u64);
        rows.count(d.payload.len() as u64);
        key_cells(rows, exchange);
        rows.number(response_time);
        key_cells(rows, copy);
        rows.texts(&tunnels);
        facts(rows, p.facts().unwrap_or(&decode::Facts::default()));
        rows.text(fields.as_deref());
        self.hand_on(Table::Messages, false)
    }

    /// Adds a finding, which may be judged at the end.
    fn find(&mut self, found: Found) -> io::Result<()> {
        self.pending.hold(found).map_or(Ok(()), |found| self.finding(&found))
    }

    fn finding(&mut self, found: &Found) -> io::Result<()> {
        let f = &found.finding;
        let key = self.key(found.frame);
        let cause = f.caused_by.map(|cause| (cause.rule.id, self.key(cause.frame)));
        let exchange = found.exchange.map(|(_, request)| self.key(request));
        let explained = found.kind.and_then(|kind| self.pending.explained(kind));
        let [level, protocol] = [found.level.name(), found.protocol.info().name];
        let Some(rows) = self.rows(Table::Findings) else { return Ok(()) };
        key_cells(rows, Some(key));
        rows.time(found.time);
        words(rows, [f.rule.id, f.severity.name(), f.fault.name(), level, protocol]);
        rows.endpoint(found.client);
        rows.endpoint(found.server);
        rows.text(f.path().as_deref());
        rows.number(f.span.map(|span| span.start.into()));
        rows.number(f.span.map(|span| span.end.into()));
        rows.formatted(|line| push(line, format_args!("{f}")));
        rows.text(f.found().map(|found| found.to_string()).as_deref());
        rows.text(f.expected().map(|expected| expected.to_string()).as_deref());
        rows.word(cause.map(|(rule, _)| rule));
        key_cells(rows, cause.map(|(_, key)| key));
        key_cells(rows, exchange);
        rows.text(explained.as_ref().map(|explained| explained.diagnosis.cause()).as_deref());
        self.hand_on(Table::Findings, false)
    }

    fn exchange_row(&mut self, e: &Exchange) -> io::Result<()> {
        let request = self.key(e.request_frame);
        let answer_file = e.response_frames().first().map(|&frame| self.key(frame).0);
        let mut frames = std::mem::take(&mut self.numbers);
        frames.extend(e.response_frames().iter().map(|&frame| self.key(frame).1));
        let info = e.protocol.info();
        let Some(rows) = self.rows(Table::Exchanges) else { return Ok(()) };
        rows.count(e.id);
        words(rows, [info.name, e.step_name()]);
        rows.text(e.key_text().as_deref());
        rows.endpoint(e.client);
        rows.endpoint(e.server);
        rows.time(e.request_time);
        rows.number(Some(request.1));
        rows.number(Some(request.0));
        rows.numbers(frames.drain(..));
        rows.number(answer_file);
        rows.word(e.outcome.name());
        rows.word(e.answer_name(info.has_several_answers(e.step)));
        rows.number(e.response_time);
        rows.count(e.request_bytes);
        rows.count(e.response_bytes);
        rows.word(e.level.name());
        rows.word(e.reason);
        rows.count(e.retransmissions.into());
        self.numbers = frames;
        self.hand_on(Table::Exchanges, false)
    }

    fn servers(&mut self) -> io::Result<()> {
        let summary = std::mem::take(&mut self.summary);
        for server in summary.servers() {
            if let Some(rows) = self.rows(Table::Servers) {
                server_row(rows, server);
            }
            self.hand_on(Table::Servers, false)?;
        }
        Ok(())
    }

    /// Adds a row for each input: inputs that were opened, in order, then inputs that could not be opened.
    fn capture_rows(&mut self, totals: &Totals) -> io::Result<()> {
        let mut captures = std::mem::take(&mut self.captures);
        for unread in &totals.unread {
            if !captures.iter().any(|capture| capture.name == unread.file) {
                captures.push(Capture::new(&unread.file, CaptureInfo::default()));
            }
        }
        let (options, sensor) = (std::mem::take(&mut self.options), self.sensor.take());
        for (seq, capture) in captures.iter().enumerate() {
            let error = totals.unread.iter().find(|unread| unread.file == capture.name);
            if let Some(rows) = self.rows(Table::Captures) {
                let error = error.map(|unread| unread.why.as_str());
                capture.row(rows, seq as u64, error, (sensor.as_deref(), &options));
            }
            self.hand_on(Table::Captures, false)?;
        }
        Ok(())
    }
}

impl Report for Tables<'_> {
    fn listener(&self) -> AnyListener {
        if self.fields { AnyListener::Json(Json::default()) } else { AnyListener::Notes(Notes::default()) }
    }

    fn wants(&self) -> Wants {
        // In the order of the records, so that a finding reported once per server is about the same packet.
        Wants {
            ordered: true,
            shown_keys: true,
            silent_servers: true,
            diagnosis: self.wants_table(Table::Findings),
            frames: self.wants_table(Table::Captures),
            ..Wants::default()
        }
    }

    fn file(&mut self, name: &str, facts: &CaptureInfo, before: u64) -> io::Result<()> {
        self.files.begin(before);
        self.captures.push(Capture::new(name, facts.clone()));
        self.summary.file(name, facts, before)
    }

    fn file_read(&mut self, facts: &CaptureInfo, totals: &Totals) {
        let before = std::mem::replace(&mut self.before, (totals.packets, totals.udp));
        if let Some(capture) = self.captures.last_mut() {
            capture.facts = facts.clone();
            capture.packets = totals.packets.saturating_sub(before.0);
            capture.udp = totals.udp.saturating_sub(before.1);
        }
    }

    fn frame(&mut self, frame: &Frame<'_>, _: &Result<Datagram<'_>, DropReason>) {
        if frame.time != Time::UNKNOWN
            && let Some(capture) = self.captures.last_mut()
        {
            let (low, high) = capture.span.unwrap_or((frame.time, frame.time));
            capture.span = Some((low.min(frame.time), high.max(frame.time)));
        }
    }

    fn packet(&mut self, p: &Packet<'_>) -> io::Result<()> {
        let d = p.datagram;
        let place = self.files.place(d.frame);
        if let Some(capture) = self.captures.get_mut(place.file) {
            capture.recognised += 1;
        }
        if self.wants_table(Table::Messages) {
            self.message(p)?;
        }
        self.pending.note(p);
        if !p.findings.is_empty() && self.wants_table(Table::Findings) {
            p.findings.iter().try_for_each(|finding| self.find(Found::in_packet(p, finding)))?;
        }
        if self.wants_table(Table::Servers) { self.summary.packet(p) } else { Ok(()) }
    }

    fn exchange(&mut self, e: &Exchange, findings: &[Finding]) -> io::Result<()> {
        if self.wants_table(Table::Exchanges) {
            self.exchange_row(e)?;
        }
        if !findings.is_empty() && self.wants_table(Table::Findings) {
            let at = (e.request_frame, e.request_time);
            findings.iter().try_for_each(|finding| self.find(Found::of_exchange(e, at, *finding)))?;
        }
        if self.wants_table(Table::Servers) { self.summary.exchange(e, findings) } else { Ok(()) }
    }

    fn floods(&mut self, floods: &[(u64, Flood)]) -> io::Result<()> {
        self.pending.floods(floods).iter().try_for_each(|found| self.finding(found))
    }

    fn silent_servers(&mut self, servers: &[SilentServer]) -> io::Result<()> {
        self.pending.silent_servers(servers).iter().try_for_each(|found| self.finding(found))?;
        if self.wants_table(Table::Servers) { self.summary.silent_servers(servers) } else { Ok(()) }
    }

    fn one_sided(&mut self, servers: &[(Endpoint, Id)]) -> io::Result<()> {
        self.pending.one_sided(servers).iter().try_for_each(|found| self.finding(found))?;
        self.summary.one_sided(servers)
    }

    fn translated(&mut self, outer: Endpoint, inner: Endpoint) {
        self.summary.translated(outer, inner);
    }

    fn tunnels(&mut self, number: u16, path: &[Tunnel]) {
        self.tunnels.insert(number, path.iter().map(Tunnel::to_string).collect());
    }

    fn finish(&mut self, totals: &Totals) -> io::Result<()> {
        self.summary.finish(totals)?;
        self.servers()?;
        self.capture_rows(totals)?;
        Table::ALL.into_iter().try_for_each(|table| self.hand_on(table, true))
    }
}

/// Appends the two cells of a key.
fn key_cells(rows: &mut Rows, key: Option<(i64, i64)>) {
    rows.number(key.map(|(file, _)| file));
    rows.number(key.map(|(_, frame)| frame));
}

/// Appends words of the program.
fn words<const N: usize>(rows: &mut Rows, words: [&'static str; N]) {
    words.into_iter().for_each(|word| rows.word(word));
}

/// Appends the facts that a message states about its server.
fn facts(rows: &mut Rows, facts: &decode::Facts<'_>) {
    let text = |value: Option<decode::Value<'_>>| value.and_then(|v| v.text()).map(|t| t.into_owned());
    let version = match facts.version {
        Some(Version::Text(value)) => text(Some(value)),
        Some(Version::Number(n)) => Some(n.to_string()),
        None => None,
    };
    let [name, game, map] = [facts.server_name, facts.game, facts.map].map(text);
    server_cells(rows, [name, game, map, version], facts.player_counts(), facts.state);
}

/// Appends the cells that describe a server.
fn server_cells(
    rows: &mut Rows,
    texts: [Option<String>; 4],
    players: Option<(u32, u32)>,
    state: Option<&'static str>,
) {
    texts.into_iter().for_each(|text| rows.text(text.as_deref()));
    rows.number(players.map(|(now, _)| now.into()));
    rows.number(players.map(|(_, most)| most.into()));
    rows.word(state);
}

fn server_row(rows: &mut Rows, s: &Server) {
    let text = |t: &Option<ServerText>| t.as_ref().map(|t| t.text().into_owned());
    let version = text(&s.facts.version).or(s.facts.build.map(|n| n.to_string()));
    rows.endpoint(s.endpoint);
    rows.text(s.inner.map(|inner| inner.to_string()).as_deref());
    rows.word(s.id.info().name);
    let [name, game, map] = [&s.facts.server_name, &s.facts.game, &s.facts.map].map(text);
    server_cells(rows, [name, game, map, version], s.facts.players, s.facts.state);
    for n in [s.requests, s.answered, s.late, s.unanswered, s.undecided, s.refused] {
        rows.count(n);
    }
    rows.number(s.times.extremes().map(|(low, _)| low));
    rows.number(s.times.quantile(0.5));
    rows.number(s.times.quantile(0.99));
    rows.number(s.times.extremes().map(|(_, high)| high));
    [s.findings.error, s.findings.warning, s.findings.note].into_iter().for_each(|n| rows.count(n));
}
