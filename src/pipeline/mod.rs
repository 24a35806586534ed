//! The loop, where all stages meet.
//!
//! This half of the work runs in frame order (classify, pair, judge, report). The stages before it (read, parse,
//! probe) hold no state and may run in a thread of their own (`readahead.rs`).

mod attribution;
mod checksums;
mod classification;
mod dedup;
mod deliver;
mod end;
mod follow;
mod options;
mod pending;
mod read;
mod readahead;
mod reorder;
mod silence;
mod slow_path;

use crate::capture::{self, Comments, Frame, Time};
use crate::check::Finding;
use crate::classify::{self, Classifier, Verdict};
use crate::contract::{Issued, Piece, Raised};
use crate::conversation::{Conversation, NONE, Slot};
use crate::decode::{AnyListener, Span};
use crate::exchange::{self, Observation, Pairing, Table, Windows};
use crate::general::{GEN_001, GEN_002, GEN_003};
use crate::net::{self, Datagram, Decapsulator, DropReason};
use crate::protocols::{Direction, Id, Level, Memories, Probe};
use crate::report::{Report, Totals, Wants};
use crate::servers::Servers;
use attribution::Attribution;
use checksums::Checksums;
use dedup::Dedup;
pub use options::Options;
use pending::{Claim, Claimed, MAX_WAIT, Pending, is_part};
use silence::Silences;
use std::io;

/// For this long after the first frame of the capture, in nanoseconds, a conversation may be older than the
/// capture.
const EDGE: i64 = 5_000_000_000;

/// Why reading stopped before the end of the input.
#[derive(Debug)]
pub enum Stopped {
    /// The capture is damaged, cut short, or cannot be read.
    Capture(capture::Error),
    /// The report could not be written.
    Report(io::Error),
}

impl From<capture::Error> for Stopped {
    fn from(e: capture::Error) -> Self {
        Stopped::Capture(e)
    }
}

impl From<io::Error> for Stopped {
    fn from(e: io::Error) -> Self {
        Stopped::Report(e)
    }
}

/// Takes captures through all stages, and gives the results to a report.
pub struct Pipeline<'r> {
    options: Options,
    classifier: Classifier,
    table: Table,
    memories: Memories,
    attribution: Attribution,
    silences: Silences,
    /// [`Totals::by_servers`] in earlier files that the current ones do not continue.
    heard_before: u64,
    checksums: Checksums,
    pending: Pending,
    dedup: Dedup,
    decapsulator: Decapsulator,
    /// The highest number of a tunnel path that the report has been given.
    told: u16,
    totals: Totals,
    report: &'r mut dyn Report,
    wants: Wants,
    comments: Comments,
    listener: AnyListener,
    findings: Vec<Finding>,
    payload: Vec<u8>,
    frame: u64,
    /// Number of frames before the current file.
    file_at: u64,
    /// Number of frames counted before the current file, and of those with an unknown link type among them.
    counted: [u64; 2],
    /// The first time stamp of the current series of files that continue each other, and of the last file.
    first: Time,
    began: Time,
    /// The next frame is the first of its file.
    fresh: bool,
}

impl<'r> Pipeline<'r> {
    /// A pipeline that reports to `report`.
    pub fn new(options: Options, report: &'r mut dyn Report) -> Self {
        let comments = Comments::default();
        report.comments(&comments);
        let windows = Windows::new(options.timeout);
        Pipeline {
            classifier: Classifier::new(options.choice.clone(), options.budget),
            silences: Silences::new(windows.clone(), options.budget),
            heard_before: 0,
            table: Table::new(windows, options.budget),
            memories: Memories::from(options.budget),
            attribution: Attribution::from(options.budget),
            checksums: Checksums::default(),
            pending: Pending::from(options.budget),
            dedup: Dedup::default(),
            decapsulator: Decapsulator::default(),
            told: 0,
            totals: Totals::default(),
            wants: report.wants(),
            listener: report.listener(),
            report,
            comments,
            findings: Vec::with_capacity(64),
            payload: vec![],
            frame: 0,
            file_at: 0,
            counted: [0; 2],
            first: Time::UNKNOWN,
            began: Time::UNKNOWN,
            fresh: true,
            options,
        }
    }

    /// The totals so far.
    pub fn totals(&self) -> &Totals {
        &self.totals
    }

    /// Takes one frame in.
    ///
    /// # Errors
    /// When the report cannot be written.
    pub fn frame(&mut self, frame: &Frame<'_>) -> Result<(), Stopped> {
        self.before(frame.number, frame.time)?;
        let parsed = net::parse(frame);
        if self.wants.frames {
            self.report.frame(frame, &parsed);
        }
        match &parsed {
            Ok(d) => self.take(d)?,
            Err(DropReason::Tunnel | DropReason::Fragment | DropReason::Icmp) => self.decapsulate(*frame)?,
            Err(reason) => self.totals.not_datagrams.add(*reason),
        }
        Ok(self.after()?)
    }

    /// Takes a datagram whose frame the caller has parsed: for queues, proxies and sockets. Its frame counts as one
    /// packet.
    ///
    /// # Errors
    /// When the report cannot be written.
    pub fn datagram(&mut self, datagram: &Datagram<'_>) -> io::Result<()> {
        self.before(datagram.frame, datagram.time)?;
        self.take(datagram)?;
        self.after()
    }

    /// Advances capture time without a frame, and reports what has waited too long by then. For captures in parts,
    /// where the frames of that time are in other parts, and for live captures in which nothing comes.
    ///
    /// # Errors
    /// When the report cannot be written.
    pub fn tick(&mut self, time: Time) -> io::Result<()> {
        self.advance(time)?;
        self.after()
    }

    /// Handles the arrival of a frame, whatever is in it.
    #[inline(always)]
    fn before(&mut self, number: u64, time: Time) -> io::Result<()> {
        self.frame = number;
        self.totals.frame(time);
        if self.fresh {
            self.begin_at(time);
        }
        self.advance(time)
    }

    /// Advances capture time. Pending datagrams and fragments whose time is up are released first, before the
    /// current frame can affect them.
    #[inline(always)]
    fn advance(&mut self, time: Time) -> io::Result<()> {
        let clock = self.table.clock().max(time);
        if !self.pending.is_empty() && !self.pending.first_stays(self.table.changes(), (self.frame, clock)) {
            self.release_pending(clock)?;
        }
        if self.decapsulator.has_pending() {
            self.give_up(clock, false)?;
        }
        self.table.advance(time);
        Ok(())
    }

    /// Notes the time of the first frame of a file.
    #[cold]
    #[inline(never)]
    fn begin_at(&mut self, time: Time) {
        self.fresh = false;
        if self.first == Time::UNKNOWN {
            self.first = time;
        }
        self.began = time;
        self.report.first_frame(time);
    }

    /// Reports what is certain by now.
    #[inline(always)]
    fn after(&mut self) -> io::Result<()> {
        if self.pending.is_empty() {
            return self.deliver_closed();
        }
        self.queue_closed()?;
        match self.pending.first_stays(self.table.changes(), (self.frame, self.table.clock())) {
            true => Ok(()),
            false => self.release_pending(self.table.clock()),
        }
    }

    #[inline(always)]
    fn take(&mut self, d: &Datagram<'_>) -> io::Result<()> {
        self.looked_at(d, classify::probe(d, self.classifier.protocols()))
    }

    #[inline(always)]
    fn looked_at(&mut self, d: &Datagram<'_>, probe: Option<(Id, Probe)>) -> io::Result<()> {
        self.totals.udp += 1;
        let mut verdict = probe.map(|(id, probe)| Verdict::by_bytes(id, probe));
        match &mut verdict {
            Some(v) if self.classifier.contradicts(d, v.id) => verdict = self.classify_unrecognised(d),
            Some(v) => {
                let ours = self.classify(d, v);
                if !ours {
                    verdict = None;
                }
            }
            None if self.classifier.may_know(d) => verdict = self.classify_unrecognised(d),
            None => {}
        }
        match &mut verdict {
            Some(v) => self.claimed(d, v),
            None => self.unclaimed(d),
        }
    }

    /// Takes a part of a message: if the part completes the message, it is reported as that message.
    #[cold]
    #[inline(never)]
    fn joined(&self, piece: &mut Piece, v: &mut Verdict, raised: &mut Raised) {
        piece.broken.into_iter().for_each(|rule| raised.add(rule));
        let Some(whole) = &mut piece.whole else { return };
        let before = self.file_at;
        whole.parts.retain(|frame| *frame > before);
        whole.parts.iter_mut().for_each(|frame| *frame -= before);
        v.probe.message = whole.message;
    }

    fn claimed(&mut self, d: &Datagram<'_>, v: &mut Verdict) -> io::Result<()> {
        if let Some(of) = self.dedup.copy_of(d).or_else(|| self.translated(d, v)) {
            return self.twice(d, v, of);
        }
        v.id.prefetch(&self.memories, v.server(d), &v.probe);
        let slot = self.table.enter(d, v);
        if !self.pending.is_empty() {
            self.pending.touch(slot);
        }
        // By capture time: a clock that is set back makes nothing older than the capture.
        let (now, first) = (self.table.clock(), self.first);
        let near_start = || now.since(first).is_none_or(|t| t < EDGE);
        let before = self.table.conversations.get(slot);
        let of = |c: &Conversation| (c.asked(), c.issued(), c.level);
        let (asked_before, issued, sure_before) = before.map_or((false, None, Level::Hint), of);
        let pairing = &self.table.pair(slot, d, v);
        let mut raised = Raised::default();
        let mut piece = self.table.take_piece();
        if let Some(piece) = &mut piece {
            self.joined(piece, v, &mut raised);
        }
        if d.checksum != 0 && self.checksums.wrong(d) {
            raised.add(&GEN_003);
        }
        if d.cut > 0 {
            raise_cut(d, &mut raised);
        }
        let servers = &mut self.classifier.servers;
        let (mut level, mut edge) = (Level::Hint, false);
        v.server_index = NONE;
        if let Some(c) = self.table.conversations.get_mut(slot) {
            if c.server_index() == NONE {
                learn(c, servers, pairing);
            }
            (v.server_index, level) = (c.server_index(), c.level);
            // A report that wants every finding judges at the end, when it knows better which servers were never
            // asked.
            edge = !asked_before
                && (one_sided(servers, v.server_index, pairing) && !self.wants.every || near_start());
            let seen = seen(c, d, &v.probe, pairing, (piece.as_deref(), edge, issued));
            observe(&mut self.memories, v.id, &seen, &mut raised);
        }
        self.tell_waiting(d, v, slot, pairing, asked_before.then_some(sure_before));
        // Nearly always the datagram can be reported at once.
        let unasked = matches!(pairing, Pairing::Unsolicited { .. });
        let unfinished = is_part(v.probe.role) && v.probe.part.is_none();
        let settled = level >= Level::Medium && v.decided && !unasked && !unfinished;
        if settled && !self.waits_its_turn(v, &raised) {
            let (verdict, raised, piece) = (&*v, &raised, piece.as_deref());
            return self.deliver(d, level, Claimed { verdict, pairing, raised, edge, slot, piece });
        }
        let claim = self.claim(*v, (slot, level), *pairing, raised);
        self.hold(d, Claim { unfinished, edge, piece, ..claim })
    }

    /// The frame that shows an answer with the address of another receiver, if this one has asked for none.
    #[inline(always)]
    fn translated(&mut self, d: &Datagram<'_>, v: &Verdict) -> Option<u64> {
        if !self.dedup.has_several_origins() || v.direction == Direction::C2s {
            return None;
        }
        let asked = v.slot.and_then(|slot| self.table.conversations.get(slot)).is_some_and(|c| c.asked());
        self.dedup.translation_of(d, asked)
    }

    /// Tells those that wait what has come for them. `before` is how sure a conversation that had requests was of its protocol.
    #[inline(always)]
    fn tell_waiting(
        &mut self,
        d: &Datagram<'_>,
        v: &Verdict,
        slot: Slot,
        pairing: &Pairing,
        before: Option<Level>,
    ) {
        match *pairing {
            Pairing::Asked { exchange, answered_by: Some(frame), .. } => {
                self.answered_early(slot, frame, exchange, d, v);
            }
            // An answer from another endpoint confirms another conversation than its request's.
            Pairing::Answered(a)
                if before.is_some_and(|level| level <= Level::Low)
                    && a.response_time > Some(MAX_WAIT)
                    && !a.elsewhere =>
            {
                self.pending.count_missed(a.request_frame);
            }
            Pairing::Retransmission { exchange, part: false, .. } if self.wants.silence => {
                let time = if d.time == Time::UNKNOWN { self.table.clock() } else { d.time };
                self.silences.again(v.id, exchange, time, d.frame);
            }
            _ if pairing.continues() => self.pending.go_on(slot, v.direction),
            _ => {}
        }
    }
}

/// Raises the rule for an incomplete datagram: either fragments are missing, or the snap length has cut it.
/// Decoding may find a more exact place.
#[cold]
fn raise_cut(d: &Datagram<'_>, raised: &mut Raised) {
    let end = u16::try_from(d.payload.len()).unwrap_or(u16::MAX);
    if d.partial { raised.add(&GEN_002) } else { raised.add_at(&GEN_001, Span { start: end, end }) }
}

/// Counts requests and unsolicited answers of a server; returns whether the requests to it are probably missing
/// from the capture.
#[inline]
fn one_sided(servers: &mut Servers, server: u32, pairing: &Pairing) -> bool {
    match pairing {
        Pairing::Asked { .. } => servers.note_request(server),
        Pairing::Unsolicited { .. } => return servers.note_unsolicited(server),
        _ => {}
    }
    false
}

/// Remembers the server of a conversation once that is confirmed, often only by its second datagram.
#[cold]
fn learn(c: &mut Conversation, servers: &mut Servers, pairing: &Pairing) {
    servers.watch(c.server().port());
    if c.level >= Level::Medium && c.decided() && !c.refused() {
        let Some(index) = servers.add(c.server(), c.id) else { return c.refuse() };
        c.set_server_index(index);
        if pairing.exchange().is_some() {
            servers.note_request(index);
        }
    }
}

/// Checks the rules that need more than one datagram.
#[inline(always)]
fn observe(memories: &mut Memories, id: Id, seen: &Observation<'_>, raised: &mut Raised) {
    let step = &id.info().steps[seen.probe.step as usize];
    exchange::observe(step, seen, raised);
    id.observe(memories, seen, raised);
    exchange::observe_shared(step, seen, raised);
}

/// The input of the rules that need more than one datagram.
#[inline(always)]
fn seen<'a>(
    c: &Conversation,
    datagram: &'a Datagram<'a>,
    probe: &'a Probe,
    pairing: &'a Pairing,
    (piece, edge, issued): (Option<&'a Piece>, bool, Option<Issued>),
) -> Observation<'a> {
    let (client, server, unanswered) = (c.client(), c.server(), c.unanswered);
    Observation { datagram, piece, probe, pairing, client, server, unanswered, issued, edge }
}
