//! The totals of a run.

use super::{SilentServer, grouped_count};
use crate::capture::{CaptureInfo, Time};
use crate::check::{Counts, Finding};
use crate::conversation::NONE;
use crate::exchange::{Exchange, Outcome};
use crate::net::{DropCounts, Endpoint, FragmentCounts};
use crate::protocols::Id;
use crate::report::terms;
use crate::text::digits::grouped;
use hashbrown::HashMap;
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt;

/// Maximum number of candidates listed; further candidates are only counted.
pub const MAX_LISTED: usize = 10;
/// Maximum number of unreadable inputs remembered; further inputs are only reported when they occur.
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

/// The remark if no server answers.
pub const ONE_WAY: &str = "The capture holds no answer of anybody: one direction may be missing.";

/// The remark if anything was forgotten for want of room.
pub const MORE_MEMORY: &str =
    "More is remembered with --memory, in MiB; 64 are the default, and bounds grow with it.";

/// Counts over all files of a run.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    /// Whether every input was read to its end.
    pub complete: bool,
    /// Whether an incomplete run is accepted, because the only problem is truncated captures and the user allows them.
    pub accepted: bool,
    /// The first [`MAX_UNREAD`] inputs that could not be read, or not to their end.
    pub unread: Vec<Unread>,
    /// Files read.
    pub files: u64,
    /// Whether the times of files overlap, so that each was read on its own.
    pub overlap: bool,
    /// Frames read.
    pub packets: u64,
    /// Packets dropped by the captures; `None` if no capture reports drops.
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
    /// Datagrams sent by servers, whether or not they answer a request. They show that the capture has both directions.
    pub by_servers: u64,
    /// Exchanges answered in time.
    pub answered: u64,
    /// Those of the answered exchanges whose answer is no message.
    pub unreadable: u64,
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
    /// The [provisional](Finding::provisional) ones among them, by index of the server and address of the rule about it.
    /// The table of servers bounds their number.
    pub(crate) provisional: HashMap<(u32, usize), Counts>,
    /// Those among them that become notes where only one direction of a server's traffic was captured, by server. The
    /// table of servers bounds their number.
    pub(crate) past_dependent: HashMap<(Endpoint, Id), Counts>,
    /// Servers with findings that are judged at the end of the input, which the report does not receive: they answered
    /// nothing, or nothing but challenges, or were captured in one direction only.
    pub judged_later: u64,
    /// Open requests and conversations forgotten for want of room.
    pub evicted: u64,
    /// Pending datagrams that were released before their conversation could confirm them.
    pub waiting_overflow: u64,
    /// Conversations whose server did not fit into the table.
    pub servers_refused: u64,
    /// Entries of cross-packet rules forgotten for want of room.
    pub memory_forgotten: u64,
    /// Compressed messages that were not unpacked, because those before had unpacked to too much.
    pub not_unpacked: u64,
    /// Servers of which only answers were seen, because the captures lack their requests.
    pub one_sided: Vec<(Endpoint, Id)>,
    /// Endpoints that received possible requests and answered none; only if the report wants silent servers.
    pub candidates: Vec<Candidate>,
    /// Counts of IP fragments.
    pub fragments: FragmentCounts,
    /// Frames that repeat the datagram of an earlier frame of the capture.
    pub duplicate_frames: u64,
    /// Datagrams whose path through tunnels has no number of its own.
    pub tunnels_unnamed: u64,
    /// Link types seen, in order.
    pub links: Vec<u16>,
    /// Lowest and highest time stamp.
    pub span: Option<(Time, Time)>,
    /// The totals before filtering, if these are the totals after filtering.
    pub unfiltered: Option<Box<Totals>>,
}

/// An endpoint that received possible requests of a protocol and answered none of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The endpoint.
    pub server: Endpoint,
    /// The protocol of the possible requests.
    pub protocol: Id,
    /// Datagrams sent to the endpoint.
    pub datagrams: u64,
    /// Datagrams refused by an ICMP error.
    pub refused: u64,
    /// Datagrams whose answer window was still open when the capture ended.
    pub undecided: u64,
}

impl fmt::Display for Candidate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Candidate { server, protocol, datagrams, refused, undecided } = *self;
        let (datagrams, name) = (grouped_count(datagrams, "datagram"), protocol.info().name);
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

impl Candidate {
    /// What it is, and the option that makes requests of its datagrams.
    pub fn advice(&self) -> String {
        format!("{self}; -d udp.port=={},{} decides it", self.server.port(), self.protocol.info().name)
    }
}

impl Totals {
    /// Whether the run is incomplete and that is not accepted.
    pub fn failed(&self) -> bool {
        !self.complete && !self.accepted
    }

    /// Whether anything was forgotten that more memory would have kept.
    pub fn crowded(&self) -> bool {
        self.evicted + self.servers_refused + self.memory_forgotten > 0
    }

    #[inline]
    pub(crate) fn add_frame(&mut self, time: Time) {
        self.packets += 1;
        match &mut self.span {
            // Frames are mostly in chronological order.
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

    /// Whether there were several requests to servers, or possible requests to endpoints, and none of these has sent or
    /// refused anything.
    pub fn one_way(&self) -> bool {
        let all = self.all();
        let from_servers = all.by_servers + all.refused;
        let was_asked = all.unanswered + all.undecided > 1 || !all.candidates.is_empty();
        from_servers == 0 && was_asked && all.candidates.iter().all(|c| c.refused == 0)
    }

    /// The candidates with the most datagrams, and the number of the others.
    pub fn candidates(&self) -> (&[Candidate], u64) {
        let (listed, more) = self.candidates.split_at(self.candidates.len().min(MAX_LISTED));
        (listed, more.len() as u64)
    }

    /// Remarks on the listed candidates, and one on the others.
    pub fn candidate_remarks(&self) -> Vec<String> {
        let (listed, more) = self.candidates();
        let mut remarks: Vec<_> = listed.iter().map(Candidate::advice).collect();
        remarks.extend(
            (more > 0).then(|| format!("and the same of {}", grouped_count(more, "further endpoint"))),
        );
        remarks
    }

    /// The totals before filtering.
    pub fn all(&self) -> &Totals {
        self.unfiltered.as_deref().unwrap_or(self)
    }

    /// A count, with the count before filtering if there is a filter: `3`, `3 of 108`.
    pub fn number(&self, number: impl Fn(&Totals) -> u64) -> String {
        self.unfiltered.as_ref().map_or_else(
            || grouped(number(self)),
            |all| format!("{} of {}", grouped(number(self)), grouped(number(all))),
        )
    }

    /// A count with its noun, and the count before filtering if there is a filter: `3 packets`, `3 of 108 packets`.
    pub fn part(&self, what: &str, number: impl Fn(&Totals) -> u64) -> String {
        match &self.unfiltered {
            None => grouped_count(number(self), what),
            Some(all) => format!("{} of {}", grouped(number(self)), grouped_count(number(all), what)),
        }
    }

    /// The amount of query traffic: `97 datagrams of query traffic in 108 packets`.
    pub fn traffic(&self) -> String {
        let (datagrams, packets) =
            (self.part("datagram", |t| t.recognised), self.part("packet", |t| t.packets));
        format!("{datagrams} of query traffic in {packets}")
    }

    #[inline]
    pub(crate) fn add_exchange(&mut self, e: &Exchange) {
        self.exchanges += 1;
        self.retransmissions += u64::from(e.retransmissions);
        match e.outcome {
            Outcome::Answered => {
                self.answered += 1;
                self.unreadable += u64::from(e.unreadable && e.answer == Some(e.protocol.info().unknown()));
            }
            Outcome::Late => self.late += 1,
            Outcome::Unanswered => self.unanswered += 1,
            Outcome::Undecided => self.undecided += 1,
            Outcome::Refused => self.refused += 1,
        }
    }

    /// Counts the findings about an exchange.
    pub(crate) fn add_findings(&mut self, e: &Exchange, findings: &[Finding]) {
        let server = (e.server_index, e.server, e.protocol);
        findings.iter().for_each(|finding| self.add_finding(server, finding));
    }

    /// Counts a finding about that server, given its index, too.
    pub(crate) fn add_finding(&mut self, (server, endpoint, id): (u32, Endpoint, Id), finding: &Finding) {
        self.findings.add_finding(finding);
        if finding.depends_on_past() && server != NONE {
            self.past_dependent.entry((endpoint, id)).or_default().add_finding(finding);
        }
        if let Some(rule) = finding.provisional {
            self.provisional.entry((server, rule.address())).or_default().add_finding(finding);
        }
    }

    /// Makes notes of the findings that depend on what was not captured of these servers. No further file continues the
    /// files read.
    /// If these are not to change, the servers are only counted.
    pub(crate) fn add_one_sided(&mut self, servers: &[(Endpoint, Id)], changes: bool) {
        let counts = std::mem::take(&mut self.past_dependent);
        for counts in servers.iter().filter_map(|server| counts.get(server)) {
            if changes {
                self.findings.demote(counts);
            } else {
                self.judged_later += 1;
            }
        }
    }

    /// Counts servers that answered nothing instead of the symptoms of that. No further file continues the files read.
    pub(crate) fn add_silent_servers(&mut self, servers: &[SilentServer]) {
        for SilentServer { exchange, finding, .. } in servers {
            let symptoms = self.provisional.get(&(exchange.server_index, finding.rule.address())).copied();
            self.findings.take_back(&symptoms.unwrap_or_default());
            self.findings.add_finding(finding);
        }
        self.provisional.clear();
    }
}
