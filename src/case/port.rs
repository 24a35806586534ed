//! One port of the server: what it was asked for, and what came of it.

use crate::capture::Time;
use crate::check::{Finding, Packet};
use crate::exchange::{Exchange, Outcome, Outcomes};
use crate::net::Endpoint;
use crate::protocols::{Direction, Id};
use crate::report::Place;
use crate::report::server_text::{ServerText, update_text};
use crate::rule::{Severity, Side};
use hashbrown::HashMap;

/// Most clients counted of a port.
pub const MAX_CLIENTS: usize = 1_024;
/// Most other endpoints named of a port.
pub const MAX_OTHERS: usize = 16;
/// From so many lost requests of a client on, its silence counts.
const MIN_LOST: u64 = 3;
/// Rules about a print in the place of an answer: most often it tells that the client is banned.
const PRINTS: [&str; 2] = ["A2S-TXN-007", "Q3-TXN-009"];

/// What one client asked.
#[derive(Debug)]
pub struct Client {
    /// Its address.
    pub address: Endpoint,
    /// How its requests ended.
    pub counts: Outcomes,
    /// Requests that had no answer, and nothing else explains that.
    lost: u64,
    /// The time of its first request.
    since: Time,
}

/// A rule that was broken at the port.
#[derive(Debug)]
pub struct Broken {
    /// The first finding.
    pub finding: Finding,
    /// How often it was broken.
    pub count: u64,
    /// Where it was broken first.
    pub first: Place,
}

/// One port of the server in one protocol.
#[derive(Debug)]
pub struct Port {
    /// The endpoint.
    pub endpoint: Endpoint,
    /// The protocol.
    pub id: Id,
    /// The address behind it, where its host translates addresses.
    pub inner: Option<Endpoint>,
    /// The name that it gave itself last.
    pub name: Option<ServerText>,
    /// The last numbers of players, and of places.
    pub players: Option<(u32, u32)>,
    /// How requests to it ended.
    pub counts: Outcomes,
    /// Requests answered by a challenge.
    pub challenges: u64,
    /// Requests with a challenge that it had issued, which it did not answer.
    pub challenged_lost: u64,
    /// Its answers without a request in the capture.
    pub unsolicited: u64,
    /// Requests that another endpoint answered.
    pub elsewhere: u64,
    /// The endpoints that answered in its place.
    pub others: Vec<Endpoint>,
    /// The endpoints in whose place it answered.
    pub in_place_of: Vec<Endpoint>,
    /// Requests answered by a print.
    pub prints: u64,
    /// Datagrams that the capture has not whole.
    pub cut: u64,
    /// Who asked, in the order of their first requests.
    pub clients: Vec<Client>,
    /// There are more clients.
    pub more_clients: bool,
    by_client: HashMap<Endpoint, usize>,
    /// The rules that were broken, in the order found.
    pub findings: Vec<Broken>,
    /// Its messages, those of them that clients cannot read, and those that they cannot if nothing is missing before.
    messages: HashMap<u8, [u64; 3]>,
    /// The time of the last request that was answered.
    last_answered: Time,
}

impl Port {
    /// A port without traffic.
    pub fn new(endpoint: Endpoint, id: Id) -> Port {
        Port {
            endpoint,
            id,
            inner: None,
            name: None,
            players: None,
            counts: Outcomes::default(),
            challenges: 0,
            challenged_lost: 0,
            unsolicited: 0,
            elsewhere: 0,
            others: vec![],
            in_place_of: vec![],
            prints: 0,
            cut: 0,
            clients: vec![],
            more_clients: false,
            by_client: HashMap::new(),
            findings: vec![],
            messages: HashMap::new(),
            last_answered: Time::UNKNOWN,
        }
    }

    /// Requests and answers, for the order of ports.
    pub fn weight(&self) -> u64 {
        self.counts.requests + self.unsolicited
    }

    /// Datagrams that answer something, or seem to.
    pub fn answers(&self) -> u64 {
        self.counts.with_answer() + self.unsolicited
    }

    /// Whether answers came that are no challenges.
    pub fn answers_more_than_challenges(&self) -> bool {
        self.counts.with_answer() > self.challenges
    }

    /// Takes the facts of a packet, and whether clients can read it.
    pub fn packet(&mut self, p: &Packet<'_>) {
        self.cut += u64::from(p.datagram.cut > 0);
        if p.direction != Direction::S2c {
            return;
        }
        if let Some(facts) = p.facts() {
            update_text(&mut self.name, facts.server_name);
            self.players = facts.player_counts().or(self.players);
        }
        let tally = self.messages.entry(p.message).or_default();
        let mut stopping = p.findings.iter().filter(|f| stops_clients(f)).peekable();
        let has_some = stopping.peek().is_some();
        let by_itself = stopping.any(|f| !f.depends_on_past());
        tally[0] += 1;
        tally[1] += u64::from(by_itself);
        tally[2] += u64::from(has_some && !by_itself);
        self.prints += u64::from(p.findings.iter().any(|f| PRINTS.contains(&f.rule.id)));
    }

    /// Counts an exchange.
    pub fn exchange(&mut self, e: &Exchange, findings: &[Finding], place: Place) {
        self.counts.add(e.outcome);
        let answered = matches!(e.outcome, Outcome::Answered | Outcome::Late);
        self.challenges +=
            u64::from(answered && e.answer.is_some() && e.answer == e.protocol.info().challenge);
        self.challenged_lost += u64::from(e.returns && e.outcome == Outcome::Unanswered);
        self.elsewhere += u64::from(e.elsewhere);
        self.add_findings(findings, place);
        if answered {
            self.last_answered = self.last_answered.max(e.request_time);
        }
        let explained = findings.iter().any(|finding| finding.caused_by.is_some());
        let Some(client) = self.client(e) else { return };
        client.counts.add(e.outcome);
        client.lost += u64::from(e.outcome == Outcome::Unanswered && !explained);
    }

    /// The row of the client of an exchange, if there is room.
    fn client(&mut self, e: &Exchange) -> Option<&mut Client> {
        let address = e.client.host();
        let at = match self.by_client.get(&address) {
            Some(at) => *at,
            None if self.clients.len() >= MAX_CLIENTS => {
                self.more_clients = true;
                return None;
            }
            None => {
                let (counts, lost, since) = (Outcomes::default(), 0, e.request_time);
                self.clients.push(Client { address, counts, lost, since });
                self.by_client.insert(address, self.clients.len() - 1);
                self.clients.len() - 1
            }
        };
        self.clients.get_mut(at)
    }

    /// Counts findings by rule.
    pub fn add_findings(&mut self, findings: &[Finding], first: Place) {
        for finding in findings.iter().filter(|f| f.counts() && !f.repeated) {
            let same = |b: &&mut Broken| {
                b.finding.rule == finding.rule && b.finding.provisional == finding.provisional
            };
            match self.findings.iter_mut().find(same) {
                Some(broken) => broken.count += 1,
                None => self.findings.push(Broken { finding: *finding, count: 1, first }),
            }
        }
    }

    /// Adds another endpoint to a list, unless it is there or the list is full.
    pub fn note(list: &mut Vec<Endpoint>, other: Endpoint) {
        if list.len() < MAX_OTHERS && !list.contains(&other) {
            list.push(other);
        }
    }

    /// Whether only its answers were captured.
    pub fn is_one_sided(&self) -> bool {
        self.counts.requests == 0 && self.unsolicited > 0 && self.in_place_of.is_empty()
    }

    /// Its clients, those that ask most first.
    pub fn busiest(&self) -> Vec<&Client> {
        let mut all: Vec<_> = self.clients.iter().collect();
        all.sort_by_key(|client| (std::cmp::Reverse(client.counts.requests), client.address));
        all
    }

    /// The first client that gets nothing while others are answered.
    pub fn ignored_client(&self) -> Option<&Client> {
        let is_ignored = |client: &&Client| {
            let answered_later = self.last_answered > client.since;
            client.lost >= MIN_LOST && client.counts.with_answer() == 0 && answered_later
        };
        self.clients.iter().find(is_ignored)
    }

    /// Number of messages of a kind that clients cannot read, and how many there are, where at least half are so.
    pub fn unreadable(&self) -> Option<(u64, u64)> {
        let count = |&[all, broken, with_past]: &[u64; 3]| {
            (all, broken + if self.is_one_sided() { 0 } else { with_past })
        };
        let broken =
            self.messages.values().map(count).filter(|(all, broken)| *broken > 0 && broken * 2 >= *all);
        broken.max().map(|(all, broken)| (broken, all))
    }

    /// The worst finding that stops clients.
    pub fn stopping(&self) -> Option<&Broken> {
        self.findings.iter().filter(|b| stops_clients(&b.finding)).max_by_key(|b| b.count)
    }
}

/// Whether clients cannot use an answer with this finding. What a server gives away stops nobody.
fn stops_clients(f: &Finding) -> bool {
    let about_abuse = f.rule.id.contains("-SEC-");
    f.counts() && f.severity == Severity::Error && f.fault == Side::Server && f.span.is_some() && !about_abuse
}
