//! The table of servers: endpoints that have shown what they speak.

use crate::net::Endpoint;
use crate::protocols::Id;
use crate::rule::Rule;
use hashbrown::HashMap;

/// Most servers remembered; further ones are counted, and their conversations speak for themselves.
pub const MAX_SERVERS: usize = 16_384;

/// So many answers to nothing, and no request to the server at all: the capture holds only one side of its
/// traffic.
pub const ONE_SIDED: u32 = 3;

/// Servers by endpoint and protocol, numbered in the order they were recognised.
#[derive(Debug)]
pub struct Servers {
    by_endpoint: HashMap<(Endpoint, Id), u32>,
    /// Those of earlier files, where nothing goes on from one to the next: they keep their numbers, and must show anew what
    /// they are.
    former: HashMap<(Endpoint, Id), u32>,
    list: Vec<Server>,
    /// One bit per UDP port: a candidate or known server may be there.
    watched: Box<[u64; 1024]>,
    refused: u64,
}

#[derive(Clone, Debug)]
struct Server {
    endpoint: Endpoint,
    id: Id,
    /// Once-per-server rules that were reported: at most as many as the protocol has.
    said: Vec<&'static Rule>,
    /// Somebody asked it something.
    asked: bool,
    /// Answers to nothing that was asked.
    unasked: u32,
}

impl Server {
    fn has_said(&self, rule: &'static Rule) -> bool {
        self.said.iter().any(|said| std::ptr::eq(*said, rule))
    }

    fn one_sided(&self) -> bool {
        !self.asked && self.unasked >= ONE_SIDED
    }
}

impl Default for Servers {
    fn default() -> Self {
        let (by_endpoint, former) = Default::default();
        Servers { by_endpoint, former, list: vec![], watched: Box::new([0; 1024]), refused: 0 }
    }
}

impl Servers {
    /// From now on a datagram with this port is worth a look at what is known.
    #[inline]
    pub fn watch(&mut self, port: u16) {
        self.watched[port as usize / 64] |= 1 << (port % 64);
    }

    /// Whether the port is worth that look.
    #[inline]
    pub fn watches(&self, port: u16) -> bool {
        self.watched[port as usize / 64] >> (port % 64) & 1 == 1
    }

    /// Number of the server of a protocol at an endpoint.
    #[inline]
    pub fn find(&self, endpoint: Endpoint, id: Id) -> Option<u32> {
        if !self.watches(endpoint.port()) {
            return None;
        }
        self.by_endpoint.get(&(endpoint, id)).copied()
    }

    /// Remembers a server; `None` when the table is full.
    pub fn add(&mut self, endpoint: Endpoint, id: Id) -> Option<u32> {
        self.watch(endpoint.port());
        if let Some(&index) = self.by_endpoint.get(&(endpoint, id)) {
            return Some(index);
        }
        let former = self.former.remove(&(endpoint, id));
        if former.is_none() && self.list.len() >= MAX_SERVERS {
            self.refused += 1;
            return None;
        }
        let index = former.unwrap_or_else(|| {
            self.list.push(Server { endpoint, id, said: vec![], asked: false, unasked: 0 });
            self.list.len() as u32 - 1
        });
        self.by_endpoint.insert((endpoint, id), index);
        Some(index)
    }

    /// Who has shown so far what it is has to show it again, and what was said of it is said again. Servers keep their
    /// numbers.
    pub fn begin_anew(&mut self) {
        self.former.extend(self.by_endpoint.drain());
        for server in &mut self.list {
            server.said.clear();
            (server.asked, server.unasked) = (false, 0);
        }
    }

    /// Endpoint and protocol of a server.
    pub fn get(&self, index: u32) -> Option<(Endpoint, Id)> {
        self.list.get(index as usize).map(|s| (s.endpoint, s.id))
    }

    /// The server was asked something.
    pub fn asked(&mut self, index: u32) {
        if let Some(server) = self.list.get_mut(index as usize) {
            server.asked = true;
        }
    }

    /// The server answered what nobody asked. Whether its requests are probably missing from the capture.
    #[cold]
    pub fn unasked(&mut self, index: u32) -> bool {
        let Some(server) = self.list.get_mut(index as usize) else { return false };
        server.unasked = server.unasked.saturating_add(1);
        server.one_sided()
    }

    /// Servers of which only answers were seen.
    pub fn one_sided(&self) -> impl Iterator<Item = (Endpoint, Id)> {
        self.list.iter().filter(|server| server.one_sided()).map(|server| (server.endpoint, server.id))
    }

    /// How often a conversation's server found no place.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// Whether nothing is left to say about a broken rule: it is said once of each server, and was said of this one.
    #[inline]
    pub fn knows(&self, index: u32, rule: &'static Rule) -> bool {
        let once = rule.per_server && !rule.needs_past;
        once && self.list.get(index as usize).is_some_and(|server| server.has_said(rule))
    }

    /// Whether a once-per-server rule is said of this server for the first time.
    pub fn first_time(&mut self, index: u32, rule: &'static Rule) -> bool {
        let Some(server) = self.list.get_mut(index as usize) else { return true };
        let first = !server.has_said(rule);
        if first {
            server.said.push(rule);
        }
        first
    }
}
