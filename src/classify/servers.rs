//! The table of servers: endpoints whose protocol has been confirmed.

use crate::bounded::hashing::hash_one;
use crate::bounded::packed::Bits;
use crate::contract::Budget;
use crate::net::Endpoint;
use crate::protocols::Id;
use crate::rule::Rule;
use crate::rule::general::RULES;
use hashbrown::{DefaultHashBuilder, HashTable};

/// Most servers remembered with 64 MiB; further ones are counted, and their conversations are judged without the table.
pub const MAX_SERVERS: usize = 16_384;

/// Number of unsolicited answers after which, without any request to the server, the capture is taken to hold only
/// one direction of its traffic.
pub const ONE_SIDED: u32 = 3;

/// Servers by endpoint and protocol, numbered in the order in which they were confirmed.
#[derive(Debug)]
pub struct Servers {
    by_endpoint: HashTable<u32>,
    hasher: DefaultHashBuilder,
    list: Vec<Server>,
    /// The once-per-server rules of each protocol.
    once_per_server: Box<[Vec<&'static Rule>]>,
    /// Servers to which a request was captured.
    with_requests: Bits,
    /// One bit for each UDP port at which a candidate or known server may be.
    watched: Box<[u64; 1024]>,
    refused: u64,
    most: usize,
}

#[derive(Clone, Debug)]
struct Server {
    endpoint: Endpoint,
    id: Id,
    /// It was confirmed in the current files. Servers of earlier files, which these files do not continue, keep their
    /// numbers.
    confirmed: bool,
    /// Number of unsolicited answers.
    unsolicited: u32,
    /// The once-per-server rules that were reported for it, a bit for each.
    reported: u64,
}

impl Default for Servers {
    fn default() -> Self {
        Servers::new(Budget::default())
    }
}

impl Servers {
    /// An empty table; memory is taken as it fills.
    pub fn new(budget: Budget) -> Self {
        Servers {
            most: budget.of(MAX_SERVERS),
            once_per_server: Id::ALL.iter().map(|id| once_per_server_rules(*id)).collect(),
            by_endpoint: HashTable::new(),
            hasher: DefaultHashBuilder::default(),
            list: vec![],
            with_requests: Bits::default(),
            watched: Box::new([0; 1024]),
            refused: 0,
        }
    }

    /// Marks a port: a candidate or known server may be there.
    #[inline]
    pub fn watch(&mut self, port: u16) {
        self.watched[port as usize / 64] |= 1 << (port % 64);
    }

    /// Whether a candidate or known server may be at the port.
    #[inline]
    pub fn watches(&self, port: u16) -> bool {
        self.watched[port as usize / 64] >> (port % 64) & 1 == 1
    }

    /// The number of the server at an endpoint for a protocol.
    #[inline]
    pub fn find(&self, endpoint: Endpoint, id: Id) -> Option<u32> {
        if !self.watches(endpoint.port()) {
            return None;
        }
        self.index_of(endpoint, id).filter(|&at| self.list[at as usize].confirmed)
    }

    /// The endpoint of the server with that number.
    #[inline]
    pub fn endpoint(&self, index: u32) -> Option<Endpoint> {
        self.list.get(index as usize).map(|server| server.endpoint)
    }

    /// The protocols of the servers at an endpoint, one bit each.
    pub fn protocols_at(&self, endpoint: Endpoint) -> u32 {
        if !self.watches(endpoint.port()) {
            return 0;
        }
        let same_hash = self.by_endpoint.iter_hash(hash_one(&self.hasher, endpoint));
        let servers = same_hash
            .filter_map(|&at| self.list.get(at as usize))
            .filter(|s| s.endpoint == endpoint && s.confirmed);
        servers.fold(0, |protocols, s| protocols | 1 << s.id as u32)
    }

    /// The number of a server, confirmed or not.
    #[inline(always)]
    fn index_of(&self, endpoint: Endpoint, id: Id) -> Option<u32> {
        let matches = |s: &Server| s.endpoint == endpoint && s.id == id;
        let hash = hash_one(&self.hasher, endpoint);
        self.by_endpoint.find(hash, |&at| self.list.get(at as usize).is_some_and(matches)).copied()
    }

    /// Adds a confirmed server, or confirms it again, and returns its number; `None` when the table is full.
    pub fn add(&mut self, endpoint: Endpoint, id: Id) -> Option<u32> {
        self.watch(endpoint.port());
        if let Some(index) = self.index_of(endpoint, id) {
            self.list[index as usize].confirmed = true;
            return Some(index);
        }
        if self.list.len() >= self.most {
            self.refused += 1;
            return None;
        }
        let index = self.list.len() as u32;
        self.list.push(Server { endpoint, id, confirmed: true, unsolicited: 0, reported: 0 });
        self.with_requests.grow(self.list.len());
        let (list, hasher) = (&self.list, &self.hasher);
        let hash = |at: &u32| hash_one(hasher, list[*at as usize].endpoint);
        self.by_endpoint.insert_unique(hash(&index), index, hash);
        Some(index)
    }

    /// Resets the table for files that do not continue the earlier ones: servers must be confirmed again, and
    /// once-per-server findings are reported again. Servers keep their numbers.
    pub fn reset(&mut self) {
        self.with_requests.clear();
        for server in &mut self.list {
            (server.confirmed, server.unsolicited, server.reported) = (false, 0, 0);
        }
    }

    /// Notes a request to the server.
    #[inline(always)]
    pub fn note_request(&mut self, index: u32) {
        self.with_requests.set(index as usize);
    }

    /// Counts an unsolicited answer of the server. Returns whether the requests to it are probably missing from the
    /// capture.
    #[cold]
    pub fn note_unsolicited(&mut self, index: u32) -> bool {
        let Some(server) = self.list.get_mut(index as usize) else { return false };
        server.unsolicited = server.unsolicited.saturating_add(1);
        server.unsolicited >= ONE_SIDED && !self.with_requests.has(index as usize)
    }

    /// Servers of which only answers were captured.
    pub fn one_sided(&self) -> impl Iterator<Item = (Endpoint, Id)> {
        let one_sided =
            |(at, server): &(usize, &Server)| server.unsolicited >= ONE_SIDED && !self.with_requests.has(*at);
        self.list.iter().enumerate().filter(one_sided).map(|(_, server)| (server.endpoint, server.id))
    }

    /// Number of conversations for whose server there was no room.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// Whether a broken rule of a protocol need not be reported, because it is a once-per-server rule and was reported
    /// for this server.
    #[inline]
    pub fn has_reported(&self, index: u32, id: Id, rule: &'static Rule) -> bool {
        let is_once_per_server = rule.per_server && !rule.needs_past;
        is_once_per_server
            && self.list.get(index as usize).is_some_and(|s| s.reported & self.bit(id, rule) != 0)
    }

    /// Marks a once-per-server rule of a protocol as reported for this server. Returns whether this is the first time.
    pub fn mark_reported(&mut self, index: u32, id: Id, rule: &'static Rule) -> bool {
        let bit = self.bit(id, rule);
        let Some(server) = self.list.get_mut(index as usize) else { return true };
        let is_first = server.reported & bit == 0;
        server.reported |= bit;
        is_first
    }

    /// The bit of a once-per-server rule of a protocol; 0 for rules beyond the 64th, which are reported every time.
    #[inline]
    fn bit(&self, id: Id, rule: &'static Rule) -> u64 {
        let at = self.once_per_server[id as usize].iter().position(|other| std::ptr::eq(*other, rule));
        at.and_then(|at| 1_u64.checked_shl(at as u32)).unwrap_or(0)
    }
}

/// The once-per-server rules of a protocol.
fn once_per_server_rules(id: Id) -> Vec<&'static Rule> {
    id.rules().chain(RULES.iter().copied()).filter(|rule| rule.per_server).collect()
}
