//! The loop, where all stages meet.
//!
//! The stages of the loop (classify, pair, judge, report) run in frame order. The stages before it (read, parse, probe)
//! hold no state and may run in a separate thread (`readahead.rs`).

mod attribution;
mod checksums;
mod claim;
mod classification;
mod dedup;
mod deliver;
mod end;
mod floods;
mod follow;
mod options;
mod pending;
mod read;
mod readahead;
mod reorder;
mod silence;
mod slow_path;
mod stopped;
mod translation;
mod unused;

use crate::capture::{Comments, Frame, Time};
use crate::check::Finding;
pub use crate::check::{Policy, Profile};
use crate::classify::servers::Servers;
use crate::classify::{self, Classifier, Verdict};
use crate::contract::{Abuse, Issued, Piece, Proof, Raised};
use crate::conversation::{Conversation, NONE, Slot};
use crate::decode::{AnyListener, Compared, ComparedValue, Span};
use crate::diagnosis::Diagnoses;
use crate::exchange::{self, Observation, Pairing, Table, Windows};
use crate::net::{self, Datagram, Decapsulator, DropReason};
use crate::protocols::{Direction, Id, Level, Memories, Probe, Role};
use crate::report::{Report, Totals, Wants};
use crate::rule::general::{GEN_001, GEN_002, GEN_003, GEN_012, GEN_014};
use attribution::Attribution;
use checksums::Checksums;
use claim::{Claim, ClaimRef, Edge, MAX_WAIT, SpareRaised};
use dedup::Dedup;
use floods::Floods;
pub use options::Options;
use pending::{Pending, is_part};
use silence::Silences;
use std::io;
pub use stopped::Stopped;
use translation::Translations;
use unused::UnusedChallenges;

/// For this long after the first frame of the capture, in nanoseconds, a conversation may be older than the capture.
const EDGE: i64 = 5_000_000_000;

/// Runs captures through all stages, and passes the results to a report.
pub struct Pipeline<'r> {
    options: Options,
    classifier: Classifier,
    table: Table,
    protocol_memories: Memories,
    attribution: Attribution,
    silences: Silences,
    unused: UnusedChallenges,
    floods: Floods,
    diagnoses: Diagnoses,
    /// The frames are those of some servers only, so that it cannot be told whether any server answered.
    is_part: bool,
    /// [`Totals::by_servers`] of earlier files that the current ones do not continue.
    earlier_by_servers: u64,
    checksums: Checksums,
    pending: Pending,
    spare_raised: SpareRaised,
    dedup: Dedup,
    translations: Translations,
    decapsulator: Decapsulator,
    /// Number of tunnel paths that have been reported: those up to this number.
    reported_tunnels: u16,
    totals: Totals,
    report: &'r mut dyn Report,
    wants: Wants,
    comments: Comments,
    listener: AnyListener,
    /// The frame of the last datagram that two protocols may claim, and how the second one reads it.
    other_reading: Option<(u64, Verdict)>,
    /// The findings of the current datagram; kept to reuse its memory.
    findings: Vec<Finding>,
    /// The payload of the item released last; kept to reuse its memory.
    payload: Vec<u8>,
    /// Number of the current frame.
    frame: u64,
    /// Number of frames before the current file.
    frames_before_file: u64,
    /// Number of frames counted before the current file, and of those with an unknown link type among them.
    counts_before_file: [u64; 2],
    /// The first time stamp of the current series of files, each of which continues the one before.
    series_start: Time,
    /// The first time stamp of the last file.
    file_start: Time,
    /// The next frame is the first of its file.
    at_file_start: bool,
}

impl<'r> Pipeline<'r> {
    /// A pipeline that reports to `report`.
    pub fn new(options: Options, report: &'r mut dyn Report) -> Self {
        let comments = Comments::default();
        report.comments(&comments);
        let windows = Windows::new(options.timeout);
        let (wants, mut table) = (report.wants(), Table::new(windows.clone(), options.budget));
        table.shows_keys = wants.shown_keys;
        Pipeline {
            classifier: Classifier::new(options.choice.clone(), options.budget),
            silences: Silences::new(windows, options.budget),
            unused: UnusedChallenges::from(options.budget),
            floods: Floods::from(options.budget),
            diagnoses: Diagnoses::default(),
            is_part: false,
            earlier_by_servers: 0,
            table,
            protocol_memories: Memories::from(options.budget),
            attribution: Attribution::from(options.budget),
            checksums: Checksums::default(),
            pending: Pending::from(options.budget),
            spare_raised: SpareRaised::default(),
            dedup: Dedup::default(),
            translations: Translations::from(options.budget),
            decapsulator: Decapsulator::default(),
            reported_tunnels: 0,
            totals: Totals::default(),
            wants,
            listener: report.listener(),
            report,
            comments,
            other_reading: None,
            findings: Vec::with_capacity(64),
            payload: vec![],
            frame: 0,
            frames_before_file: 0,
            counts_before_file: [0; 2],
            series_start: Time::UNKNOWN,
            file_start: Time::UNKNOWN,
            at_file_start: true,
            options,
        }
    }

    /// The totals so far.
    pub fn totals(&self) -> &Totals {
        &self.totals
    }

    /// Processes one frame.
    ///
    /// # Errors
    /// When the report cannot be written.
    pub fn frame(&mut self, frame: &Frame<'_>) -> io::Result<()> {
        self.begin_frame(frame.number, frame.time)?;
        let parsed = net::parse(frame);
        if self.wants.frames {
            self.report.frame(frame, &parsed);
        }
        match &parsed {
            Ok(d) => self.process_datagram(d)?,
            Err(DropReason::Tunnel | DropReason::Fragment | DropReason::Icmp) => self.decapsulate(*frame)?,
            Err(reason) => self.totals.not_datagrams.add(*reason),
        }
        self.end_frame()
    }

    /// Processes a datagram whose frame the caller has parsed: for queues, proxies and sockets. Its frame counts as one
    /// packet. Frames are numbered from 1 on, and [`Datagram::time`] decides which answers are late.
    /// [`begin_file`](Self::begin_file) may be left out: records then name no file.
    ///
    /// # Errors
    /// When the report cannot be written.
    pub fn datagram(&mut self, datagram: &Datagram<'_>) -> io::Result<()> {
        self.begin_frame(datagram.frame, datagram.time)?;
        self.process_datagram(datagram)?;
        self.end_frame()
    }

    /// Advances capture time without a frame, and reports what has waited too long by then. For captures in parts,
    /// where the frames of that time are in other parts, and for live captures in which no packet arrives.
    ///
    /// # Errors
    /// When the report cannot be written.
    pub fn tick(&mut self, time: Time) -> io::Result<()> {
        self.advance(time)?;
        self.end_frame()
    }

    /// Counts a frame and advances capture time, before the frame is examined.
    #[inline(always)]
    fn begin_frame(&mut self, number: u64, time: Time) -> io::Result<()> {
        self.frame = number;
        self.totals.add_frame(time);
        if self.at_file_start {
            self.note_file_start(time);
        }
        self.advance(time)
    }

    /// Advances capture time. Pending datagrams and fragments whose time is up are released first, before the
    /// current frame can affect them.
    #[inline(always)]
    fn advance(&mut self, time: Time) -> io::Result<()> {
        let clock = self.table.clock().max(time);
        if !self.pending.is_empty()
            && !self.pending.first_still_waits(self.table.changes(), (self.frame, clock))
        {
            self.release_pending(clock)?;
        }
        if self.decapsulator.has_pending() {
            self.release_incomplete(clock, false)?;
        }
        self.table.advance(time);
        Ok(())
    }

    /// Notes the time of the first frame of a file.
    #[cold]
    #[inline(never)]
    fn note_file_start(&mut self, time: Time) {
        self.at_file_start = false;
        if self.series_start == Time::UNKNOWN {
            self.series_start = time;
        }
        self.file_start = time;
        self.report.first_frame(time);
    }

    /// Reports, after a frame, what has become certain.
    #[inline(always)]
    fn end_frame(&mut self) -> io::Result<()> {
        if self.pending.is_empty() {
            return self.deliver_closed();
        }
        self.queue_closed()?;
        match self.pending.first_still_waits(self.table.changes(), (self.frame, self.table.clock())) {
            true => Ok(()),
            false => self.release_pending(self.table.clock()),
        }
    }

    #[inline(always)]
    fn process_datagram(&mut self, d: &Datagram<'_>) -> io::Result<()> {
        self.process_probed(d, classify::probe(d, self.classifier.protocols()))
    }

    #[inline(always)]
    fn process_probed(&mut self, d: &Datagram<'_>, probe: Option<(Id, Probe)>) -> io::Result<()> {
        self.totals.udp += 1;
        let mut verdict = probe.map(|(id, probe)| Verdict::by_bytes(id, probe));
        match &mut verdict {
            Some(v) if self.classifier.contradicts(d, v.id) => verdict = self.classify_unrecognised(d),
            Some(v) => {
                let ours = self.classify(d, v);
                if !ours {
                    verdict = self.classify_unfitting(d);
                }
            }
            None if self.classifier.may_know(d) => verdict = self.classify_unrecognised(d),
            None => {}
        }
        match &mut verdict {
            Some(v) => self.process_claimed(d, v),
            None => self.process_unclaimed(d),
        }
    }

    fn process_claimed(&mut self, d: &Datagram<'_>, v: &mut Verdict) -> io::Result<()> {
        if let Some(of) = self.dedup.copy_of(d, v.slot).or_else(|| self.translated(d, v)) {
            return self.process_copy(d, v, of);
        }
        let several_origins = self.dedup.has_several_origins();
        if several_origins && v.direction == Direction::S2c && self.hold_untranslated_answer(d, v)? {
            return Ok(());
        }
        v.id.prefetch(&self.protocol_memories, v.server(d), &v.probe);
        v.id.recall(&self.protocol_memories, d, [v.client(d), v.server(d)], &mut v.probe);
        let slot = self.table.enter(d, v);
        if !self.pending.is_empty() {
            self.pending.note_arrival(slot);
        }
        // In capture time, which never runs back: a clock that is set back makes no conversation older than the capture.
        let (now, start) = (self.table.clock(), self.series_start);
        let near_start = || now.since(start).is_none_or(|t| t < EDGE);
        let conversation = self.table.conversations.get(slot);
        let state_of = |c: &Conversation| (c.asked(), c.issued(), c.level);
        let (asked_before, issued, level_before) = conversation.map_or((false, None, Level::Hint), state_of);
        let pairing = &self.table.pair(slot, d, v);
        if several_origins && v.direction == Direction::S2c {
            self.note_translated_answer(d, pairing);
        }
        let mut raised = Raised::default();
        let mut piece = self.table.take_piece();
        if let Some(piece) = &mut piece {
            apply_piece(piece, v, self.frames_before_file, &mut raised);
        }
        let sum = d.payload_sum();
        if d.checksum != 0 && self.checksums.is_wrong(d, sum) {
            let hex = |sum: u16| ComparedValue::Hex(sum.into(), 4);
            let values = Compared::new(hex(d.checksum), hex(d.right_checksum(sum)));
            raised.add_values(&GEN_003, None, values);
        }
        self.dedup.note_latest(d, slot, sum);
        if d.cut > 0 {
            raise_cut(d, &mut raised);
        }
        let servers = &mut self.classifier.servers;
        let (mut level, mut edge) = (Level::Hint, None);
        v.server_index = NONE;
        if let Some(c) = self.table.conversations.get_mut(slot) {
            if c.server_index() == NONE {
                register_server(c, servers, pairing);
            }
            (v.server_index, level) = (c.server_index(), c.level);
            // A report that receives silent servers decides at the end, when it knows better to which servers no request
            // was captured.
            let is_one_sided = !asked_before && note_one_sided(servers, v.server_index, pairing);
            edge = match asked_before {
                false if near_start() => Some(Edge::Start),
                false if is_one_sided && self.wants.judges_early() => Some(Edge::OneDirection),
                _ => None,
            };
            if v.probe.role != Role::Unreadable {
                let observation =
                    observation(c, d, &v.probe, pairing, (piece.as_deref(), edge.is_some(), issued));
                observe(&mut self.protocol_memories, v.id, &observation, &mut raised);
            }
        }
        let is_unused = issued.is_some_and(|issued| !issued.used);
        let shows_proof = match raised.proof {
            Proof::None => false,
            Proof::Returns => {
                self.note_returned(d, v, slot, pairing);
                false
            }
            Proof::Issues(_) => is_unused || !v.id.pairing_notes_challenges(),
            Proof::Lacks | Proof::Wrong => is_unused,
        };
        if shows_proof || raised.unproven {
            self.note_proof(d, v, slot, pairing, (issued, level), &mut raised);
        }
        self.note_pairing(d, v, slot, pairing, asked_before.then_some(level_before));
        // Nearly always the datagram can be reported at once.
        let unsolicited = matches!(pairing, Pairing::Unsolicited { .. });
        let unfinished = is_part(v.probe.role) && v.probe.part.is_none();
        let doubtful = unsolicited || unfinished || !raised.is_empty() && raised.has(&GEN_012);
        let is_final = level >= Level::Medium && v.decided && !doubtful;
        if is_final && !self.waits_its_turn(v, &raised) {
            if !self.pending.is_empty() {
                let joined = piece.as_deref().and_then(|piece| piece.whole.as_ref());
                self.pass_pending(d.payload.len(), joined.map_or(0, |whole| whole.bytes.len()))?;
            }
            let (verdict, raised, piece, awaited) = (&*v, &raised, piece.as_deref(), None);
            return self.deliver(d, level, ClaimRef { verdict, pairing, awaited, raised, edge, slot, piece });
        }
        // What it waits for may take longer than the exchange whose answer it came instead of stays open.
        let awaited = self.table.awaited(slot, d, v, pairing);
        let other = self.other_reading(d);
        let claim = Claim { other, ..self.new_claim(*v, (slot, level), *pairing, raised) };
        self.hold_or_deliver(d, Claim { awaited, unfinished, edge, piece, ..claim })
    }

    /// Notes that a request returns a challenge.
    #[inline(always)]
    fn note_returned(&mut self, d: &Datagram<'_>, v: &Verdict, slot: Slot, pairing: &Pairing) {
        if !v.id.pairing_notes_challenges() {
            self.table.conversations.get_mut(slot).into_iter().for_each(Conversation::note_returned);
        }
        self.table.mark_returns(slot, pairing);
        let (client, server) = (v.client(d), v.server(d));
        self.unused.note_used((client, server));
        self.floods.note_proven(server, client);
    }

    /// Notes what a datagram shows about challenges: who issues them or never uses them, and who gets answers
    /// without one. `issued` is what the server had issued before it.
    #[inline(never)]
    fn note_proof(
        &mut self,
        d: &Datagram<'_>,
        v: &Verdict,
        slot: Slot,
        pairing: &Pairing,
        (issued, level): (Option<Issued>, Level),
        raised: &mut Raised,
    ) {
        let now = if d.time == Time::UNKNOWN { self.table.clock() } else { d.time };
        let Some(c) = self.table.conversations.get_mut(slot) else { return };
        let ends @ (client, server) = (c.client(), c.server());
        let unused = issued.filter(|issued| !issued.used);
        let noted_by_pairing = v.id.pairing_notes_challenges();
        match raised.proof {
            Proof::Issues(challenge) => {
                if !noted_by_pairing {
                    c.note_issued(challenge);
                }
                if unused.is_some() {
                    self.unused.note_issued(ends, now);
                }
            }
            Proof::Lacks | Proof::Wrong if v.direction == Direction::C2s => {
                if let Some(Issued { value, .. }) = unused
                    && let Some(abuse) = self.unused.note_ignored(ends, now, value, d.payload)
                {
                    raised.add(&GEN_012);
                    raised.abuse = Some(abuse);
                }
            }
            Proof::None | Proof::Returns | Proof::Lacks | Proof::Wrong => {}
        }
        if let Pairing::Answered(answer) = pairing
            && raised.unproven
            && v.id.info().floods.is_none()
            && level >= self.options.min_confidence
            && let Some(flood) = self.floods.note_answer((server, client), d, answer, now)
        {
            raised.add(&GEN_014);
            raised.abuse = Some(Abuse::Flood(flood));
        }
    }

    /// Updates the pending items and retransmissions that a pairing affects. `level_before` is the confidence that the
    /// conversation had before the datagram, if it had requests.
    #[inline(always)]
    fn note_pairing(
        &mut self,
        d: &Datagram<'_>,
        v: &Verdict,
        slot: Slot,
        pairing: &Pairing,
        level_before: Option<Level>,
    ) {
        match *pairing {
            Pairing::Asked { exchange, answered_by: Some(frame), .. } => {
                self.pair_early_answers(slot, frame, exchange, d, v);
            }
            // An answer from another endpoint confirms another conversation than that of its request.
            Pairing::Answered(a)
                if level_before.is_some_and(|level| level <= Level::Low)
                    && a.response_time > Some(MAX_WAIT)
                    && !a.elsewhere =>
            {
                self.pending.count_missed(a.request_frame);
            }
            Pairing::Retransmission { exchange, part: false, .. } => {
                let time = if d.time == Time::UNKNOWN { self.table.clock() } else { d.time };
                self.silences.note_retransmission(v.id, exchange, time, d.frame);
            }
            _ if pairing.continues() => self.pending.continue_message(slot, v.direction, d.frame),
            _ => {}
        }
    }
}

/// Applies the header of a part of a message. A part that completes the message is reported as that message. `earlier`
/// is the number of frames in earlier files.
#[cold]
#[inline(never)]
fn apply_piece(piece: &mut Piece, v: &mut Verdict, earlier: u64, raised: &mut Raised) {
    piece.broken.into_iter().for_each(|rule| raised.add(rule));
    let Some(whole) = &mut piece.whole else { return };
    whole.parts.retain(|frame| *frame > earlier);
    whole.parts.iter_mut().for_each(|frame| *frame -= earlier);
    v.probe.message = whole.message;
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
fn note_one_sided(servers: &mut Servers, server: u32, pairing: &Pairing) -> bool {
    match pairing {
        Pairing::Asked { .. } => servers.note_request(server),
        Pairing::Unsolicited { .. } => return servers.note_unsolicited(server),
        _ => {}
    }
    false
}

/// Adds the server of a conversation to the table of servers once the conversation is confirmed, often only by its
/// second datagram.
#[cold]
fn register_server(c: &mut Conversation, servers: &mut Servers, pairing: &Pairing) {
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
fn observe(memories: &mut Memories, id: Id, observation: &Observation<'_>, raised: &mut Raised) {
    let step = &id.info().steps[observation.probe.step as usize];
    exchange::observe(step, observation, raised);
    id.observe(memories, observation, raised);
    exchange::observe_shared(step, observation, raised);
}

/// The input of the rules that need more than one datagram.
#[inline(always)]
fn observation<'a>(
    c: &Conversation,
    datagram: &'a Datagram<'a>,
    probe: &'a Probe,
    pairing: &'a Pairing,
    (piece, edge, issued): (Option<&'a Piece>, bool, Option<Issued>),
) -> Observation<'a> {
    let (client, server, unanswered) = (c.client(), c.server(), c.unanswered);
    Observation {
        datagram,
        piece,
        probe,
        pairing,
        client,
        server,
        unanswered,
        issued,
        may_predate_capture: edge,
    }
}
