//! The table of servers: endpoints whose protocol has been confirmed.

use crate::contract::Budget;
use crate::fold::hash_one;
use crate::general::RULES;
use crate::net::Endpoint;
use crate::packed::Bits;
use crate::protocols::Id;
use crate::rule::Rule;
use hashbrown::{DefaultHashBuilder, HashTable};

/// Most servers remembered with 64 MiB; further ones are counted, and their conversations are judged without the
/// table.
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
    once: Box<[Vec<&'static Rule>]>,
    /// Servers that were sent a request.
    asked: Bits,
    /// One bit per UDP port: a candidate or known server may be there.
    watched: Box<[u64; 1024]>,
    refused: u64,
    most: usize,
}

#[derive(Clone, Debug)]
struct Server {
    endpoint: Endpoint,
    id: Id,
    /// It was confirmed in the current files; servers of earlier files, which these do not continue, keep their numbers.
    confirmed: bool,
    /// Number of unsolicited answers.
    unasked: u32,
    /// The once-per-server rules that were reported for it, a bit for each.
    said: u64,
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
            once: Id::ALL.iter().map(|id| once(*id)).collect(),
            by_endpoint: HashTable::new(),
            hasher: DefaultHashBuilder::default(),
            list: vec![],
            asked: Bits::default(),
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
        self.known(endpoint, id).filter(|&at| self.list[at as usize].confirmed)
    }

    /// The protocols of the servers at an endpoint, one bit each.
    pub fn at(&self, endpoint: Endpoint) -> u32 {
        if !self.watches(endpoint.port()) {
            return 0;
        }
        let same = self.by_endpoint.iter_hash(hash_one(&self.hasher, endpoint));
        let servers = same
            .filter_map(|&at| self.list.get(at as usize))
            .filter(|s| s.endpoint == endpoint && s.confirmed);
        servers.fold(0, |protocols, s| protocols | 1 << s.id as u32)
    }

    /// The number of a server, confirmed or not.
    #[inline(always)]
    fn known(&self, endpoint: Endpoint, id: Id) -> Option<u32> {
        let is = |s: &Server| s.endpoint == endpoint && s.id == id;
        let hash = hash_one(&self.hasher, endpoint);
        self.by_endpoint.find(hash, |&at| self.list.get(at as usize).is_some_and(is)).copied()
    }

    /// Remembers a server; `None` when the table is full.
    pub fn add(&mut self, endpoint: Endpoint, id: Id) -> Option<u32> {
        self.watch(endpoint.port());
        if let Some(index) = self.known(endpoint, id) {
            self.list[index as usize].confirmed = true;
            return Some(index);
        }
        if self.list.len() >= self.most {
            self.refused += 1;
            return None;
        }
        let index = self.list.len() as u32;
        self.list.push(Server { endpoint, id, confirmed: true, unasked: 0, said: 0 });
        self.asked.grow(self.list.len());
        let (list, hasher) = (&self.list, &self.hasher);
        let hash = |at: &u32| hash_one(hasher, list[*at as usize].endpoint);
        self.by_endpoint.insert_unique(hash(&index), index, hash);
        Some(index)
    }

    /// Begins anew for files that do not continue the earlier ones: servers must be confirmed again, and
    /// once-per-server findings are reported again. Servers keep their numbers.
    pub fn begin_anew(&mut self) {
        self.asked.clear();
        for server in &mut self.list {
            (server.confirmed, server.unasked, server.said) = (false, 0, 0);
        }
    }

    /// Notes that the server was sent a request.
    #[inline(always)]
    pub fn asked(&mut self, index: u32) {
        self.asked.set(index as usize);
    }

    /// Counts an unsolicited answer of the server. Returns whether the requests to it are probably missing from the
    /// capture.
    #[cold]
    pub fn unasked(&mut self, index: u32) -> bool {
        let Some(server) = self.list.get_mut(index as usize) else { return false };
        server.unasked = server.unasked.saturating_add(1);
        server.unasked >= ONE_SIDED && !self.asked.has(index as usize)
    }

    /// Servers of which only answers were seen.
    pub fn one_sided(&self) -> impl Iterator<Item = (Endpoint, Id)> {
        let one_sided = |(at, server): &(usize, &Server)| server.unasked >= ONE_SIDED && !self.asked.has(*at);
        self.list.iter().enumerate().filter(one_sided).map(|(_, server)| (server.endpoint, server.id))
    }

    /// How often there was no room for the server of a conversation.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// Whether a broken rule of a protocol need not be reported: it is a once-per-server rule, and was reported for
    /// this server.
    #[inline]
    pub fn knows(&self, index: u32, id: Id, rule: &'static Rule) -> bool {
        let once = rule.per_server && !rule.needs_past;
        once && self.list.get(index as usize).is_some_and(|s| s.said & self.bit(id, rule) != 0)
    }

    /// Whether a once-per-server rule of a protocol is reported for this server for the first time; marks it as
    /// reported.
    pub fn first_time(&mut self, index: u32, id: Id, rule: &'static Rule) -> bool {
        let bit = self.bit(id, rule);
        let Some(server) = self.list.get_mut(index as usize) else { return true };
        let first = server.said & bit == 0;
        server.said |= bit;
        first
    }

    /// The bit of a once-per-server rule of a protocol; 0 for rules beyond the 64th, which are reported every time.
    #[inline]
    fn bit(&self, id: Id, rule: &'static Rule) -> u64 {
        let at = self.once[id as usize].iter().position(|once| std::ptr::eq(*once, rule));
        at.and_then(|at| 1_u64.checked_shl(at as u32)).unwrap_or(0)
    }
}

/// The once-per-server rules of a protocol.
fn once(id: Id) -> Vec<&'static Rule> {
    id.rules().chain(RULES.iter().copied()).filter(|rule| rule.per_server).collect()
}
