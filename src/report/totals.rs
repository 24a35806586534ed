//! The totals of a run.

use super::{SilentServer, count};
use crate::capture::{CaptureInfo, Time};
use crate::check::{Counts, Finding};
use crate::exchange::{Exchange, Outcome};
use crate::net::{DropCounts, Endpoint, FragmentCounts};
use crate::protocols::Id;
use crate::terms;
use hashbrown::HashMap;
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt;

/// Most candidates listed; further candidates are only counted.
pub const MAX_LISTED: usize = 10;
/// Most inputs remembered that could not be read; further inputs are only reported as they come.
pub const MAX_UNREAD: usize = 1_000;

/// An input that could not be read, or not to its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "summary.unread", deny_unknown_fields)]
pub struct Unread {
    /// Its name.
    #[schemars(with = "terms::File<()>")]
    pub file: String,
    /// Why: a clause without the name and without a full stop.
    #[serde(rename = "error")]
    pub why: String,
}

/// The remark where no server answers.
pub const ONE_WAY: &str = "The capture holds no answer of anybody: one direction may be missing.";

/// The remark where something was forgotten for want of room.
pub const MORE_MEMORY: &str =
    "More is remembered with --memory, in MiB; 64 are the default, and bounds grow with it.";

/// Counts over all files of a run.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    /// Whether every input was read to its end.
    pub complete: bool,
    /// Where it was not, whether that is accepted: nothing is wrong but that captures are cut short, and they may be.
    pub accepted: bool,
    /// Inputs that could not be read, or not to their end: the first [`MAX_UNREAD`] of them.
    pub unread: Vec<Unread>,
    /// Files read.
    pub files: u64,
    /// Whether files are of the same time, so that each was read for itself.
    pub overlap: bool,
    /// Frames read.
    pub packets: u64,
    /// Packets that were lost on the way into the captures; `None` where no capture gives a number.
    pub dropped: Option<u64>,
    /// UDP datagrams among those read.
    pub udp: u64,
    /// Datagrams that a protocol claims.
    pub recognised: u64,
    /// Datagrams that no protocol claims.
    pub unclaimed: u64,
    /// Frames without a UDP datagram, by reason.
    pub not_datagrams: DropCounts,
    /// Exchanges that have closed.
    pub exchanges: u64,
    /// Datagrams that servers sent, whether they answer a request or not: they show that the capture has both directions.
    pub by_servers: u64,
    /// Exchanges answered in time.
    pub answered: u64,
    /// Exchanges answered after the window.
    pub late: u64,
    /// Exchanges not answered.
    pub unanswered: u64,
    /// Exchanges open when the capture ended.
    pub undecided: u64,
    /// Exchanges refused by an ICMP error.
    pub refused: u64,
    /// Repeated requests.
    pub retransmissions: u64,
    /// Findings by severity.
    pub findings: Counts,
    /// Those of them that are [provisional](Finding::provisional), by the index of their server. The table of servers bounds
    /// their number.
    pub(crate) provisional: HashMap<u32, Counts>,
    /// Open requests and conversations forgotten for want of room.
    pub evicted: u64,
    /// Datagrams that waited and were released before their conversation could confirm them.
    pub waiting_overflow: u64,
    /// Conversations whose server found no place in the table.
    pub servers_refused: u64,
    /// Entries that cross-packet rules forgot for want of room.
    pub memory_forgotten: u64,
    /// Servers of which only answers were seen: their requests are not in the captures.
    pub one_sided: Vec<(Endpoint, Id)>,
    /// Endpoints that were sent what could be requests, and answered none; only from reports that judge silence.
    pub candidates: Vec<Candidate>,
    /// What became of IP fragments.
    pub fragments: FragmentCounts,
    /// Frames that repeat the datagram of an earlier frame of the capture.
    pub duplicate_frames: u64,
    /// Datagrams whose path through tunnels got no number of its own.
    pub tunnels_unnamed: u64,
    /// Link types seen, in order.
    pub links: Vec<u16>,
    /// Lowest and highest time stamp.
    pub span: Option<(Time, Time)>,
    /// The totals of everything, where these are the totals of what passed a filter.
    pub unfiltered: Option<Box<Totals>>,
}

/// An endpoint that was sent what could be requests of a protocol, and answered none of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The endpoint.
    pub server: Endpoint,
    /// The protocol that it may speak.
    pub protocol: Id,
    /// Datagrams sent to it.
    pub datagrams: u64,
    /// Datagrams that an ICMP error refused.
    pub refused: u64,
    /// Datagrams whose answer window was not over when the capture ended.
    pub undecided: u64,
}

impl fmt::Display for Candidate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Candidate { server, protocol, datagrams, refused, undecided } = *self;
        let (datagrams, name) = (count(datagrams, "datagram"), protocol.info().name);
        write!(f, "{datagrams} could be {name} to {server}, never answered")?;
        match (refused, undecided) {
            (0, 0) => Ok(()),
            (0, _) => write!(f, " ({undecided} just before the end of the capture)"),
            (_, 0) => write!(f, " ({refused} refused by ICMP errors)"),
            _ => write!(
                f,
                " ({refused} refused by ICMP errors, {undecided} just before the end of the capture)"
            ),
        }
    }
}

impl Totals {
    /// Whether something could not be read that was to be read.
    pub fn failed(&self) -> bool {
        !self.complete && !self.accepted
    }

    /// Whether something was forgotten that would be remembered with more memory.
    pub fn crowded(&self) -> bool {
        self.evicted + self.servers_refused + self.memory_forgotten > 0
    }

    #[inline]
    pub(crate) fn add_frame(&mut self, time: Time) {
        self.packets += 1;
        match &mut self.span {
            // Frames mostly stand in order of time.
            Some((_, high)) if *high <= time => *high = time,
            _ => self.out_of_order(time),
        }
    }

    #[cold]
    #[inline(never)]
    fn out_of_order(&mut self, time: Time) {
        if time != Time::UNKNOWN {
            let (low, high) = self.span.unwrap_or((time, time));
            self.span = Some((low.min(time), high.max(time)));
        }
    }

    pub(crate) fn add_capture(&mut self, facts: &CaptureInfo) {
        let dropped = [self.dropped, facts.dropped()];
        self.dropped = dropped.into_iter().flatten().reduce(u64::saturating_add);
        for &link in &facts.links {
            if !self.links.contains(&link) {
                self.links.push(link);
            }
        }
    }

    /// Whether a server was asked more than once, or an endpoint may have been asked, and none has sent or refused
    /// anything.
    pub fn one_way(&self) -> bool {
        let all = self.all();
        let heard = all.by_servers + all.refused;
        let asked = all.unanswered + all.undecided > 1 || !all.candidates.is_empty();
        heard == 0 && asked && all.candidates.iter().all(|c| c.refused == 0)
    }

    /// The candidates with the most datagrams, and how many further ones there are.
    pub fn candidates(&self) -> (&[Candidate], u64) {
        let (listed, more) = self.candidates.split_at(self.candidates.len().min(MAX_LISTED));
        (listed, more.len() as u64)
    }

    /// The candidates as remarks, and one on those that are not listed.
    pub fn candidate_remarks(&self) -> Vec<String> {
        let (listed, more) = self.candidates();
        let mut said: Vec<_> = listed.iter().map(ToString::to_string).collect();
        said.extend((more > 0).then(|| format!("and the same of {}", count(more, "further endpoint"))));
        said
    }

    /// The counts of everything, whether a filter has narrowed them or not.
    pub fn all(&self) -> &Totals {
        self.unfiltered.as_deref().unwrap_or(self)
    }

    /// A count, followed by the count of everything where a filter has narrowed it: `3`, `3 of 108`.
    pub fn number(&self, number: impl Fn(&Totals) -> u64) -> String {
        self.unfiltered
            .as_ref()
            .map_or_else(|| number(self).to_string(), |all| format!("{} of {}", number(self), number(all)))
    }

    /// A count with its noun, and the count of everything where a filter has narrowed it: `3 packets`, `3 of 108 packets`.
    pub fn part(&self, what: &str, number: impl Fn(&Totals) -> u64) -> String {
        match &self.unfiltered {
            None => count(number(self), what),
            Some(all) => format!("{} of {}", number(self), count(number(all), what)),
        }
    }

    /// How much query traffic there is: `97 datagrams of query traffic in 108 packets`.
    pub fn traffic(&self) -> String {
        let (seen, packets) = (self.part("datagram", |t| t.recognised), self.part("packet", |t| t.packets));
        format!("{seen} of query traffic in {packets}")
    }

    #[inline]
    pub(crate) fn add_exchange(&mut self, e: &Exchange) {
        self.exchanges += 1;
        self.retransmissions += u64::from(e.retransmissions);
        match e.outcome {
            Outcome::Answered => self.answered += 1,
            Outcome::Late => self.late += 1,
            Outcome::Unanswered => self.unanswered += 1,
            Outcome::Undecided => self.undecided += 1,
            Outcome::Refused => self.refused += 1,
        }
    }

    /// Counts the findings about an exchange.
    pub(crate) fn add_findings(&mut self, e: &Exchange, findings: &[Finding]) {
        for finding in findings {
            self.findings.add_finding(finding);
            if finding.provisional {
                self.provisional.entry(e.server_index).or_default().add_finding(finding);
            }
        }
    }

    /// Counts servers that answered nothing in place of the symptoms of that; no further file continues what was read.
    pub(crate) fn add_silent_servers(&mut self, servers: &[SilentServer]) {
        for silent in servers {
            let symptoms = self.provisional.get(&silent.exchange.server_index).copied();
            self.findings.take_back(&symptoms.unwrap_or_default());
            self.findings.add_finding(&silent.finding);
        }
        self.provisional.clear();
    }
}
