//! Which servers masters have listed, and which have told a master of themselves.

use crate::capture::Time;
use crate::check::Packet;
use crate::net::Endpoint;
use crate::protocols::Id;
use hashbrown::HashMap;
use hashbrown::hash_map::Entry;

/// Most pairs of a server and a master that are remembered; further ones are counted.
pub const MAX_LISTINGS: usize = 65_536;

/// What passed between a game server and a master.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listing {
    /// The game server.
    pub server: Endpoint,
    /// The master.
    pub master: Endpoint,
    /// The master's protocol.
    pub id: Id,
    /// How often the master has listed the server.
    pub lists: u64,
    /// How often the server has told the master of itself.
    pub heartbeats: u64,
    /// Time of the first of both.
    pub first: Time,
    /// Time of the last one.
    pub last: Time,
}

/// Who has listed whom. The servers in a list count as no traffic of theirs.
#[derive(Debug, Default)]
pub struct Listings {
    all: HashMap<(Endpoint, Endpoint, Id), Listing>,
    /// Pairs for which there was no room, as often as they came.
    pub left_out: u64,
}

impl Listings {
    /// Notes what a packet says of game servers.
    #[inline]
    pub fn packet(&mut self, p: &Packet<'_>) {
        if p.listing().is_some() {
            self.note(p);
        }
    }

    #[cold]
    #[inline(never)]
    fn note(&mut self, p: &Packet<'_>) {
        let (time, [_, master]) = (p.datagram.time, p.ends());
        if let Some(server) = p.told_server() {
            self.add((server, master, p.id), time).into_iter().for_each(|listing| listing.heartbeats += 1);
        }
        for server in p.listed_servers() {
            self.add((server, master, p.id), time).into_iter().for_each(|listing| listing.lists += 1);
        }
    }

    /// The entry of a pair, if there is room.
    fn add(&mut self, pair: (Endpoint, Endpoint, Id), time: Time) -> Option<&mut Listing> {
        let has_room = self.all.len() < MAX_LISTINGS;
        let (server, master, id) = pair;
        match self.all.entry(pair) {
            Entry::Occupied(known) => {
                let known = known.into_mut();
                (known.first, known.last) = (known.first.min(time), known.last.max(time));
                Some(known)
            }
            Entry::Vacant(new) if has_room => {
                let (lists, heartbeats, first, last) = (0, 0, time, time);
                Some(new.insert(Listing { server, master, id, lists, heartbeats, first, last }))
            }
            Entry::Vacant(_) => {
                self.left_out += 1;
                None
            }
        }
    }

    /// Whether nothing was said of any server.
    #[cfg(feature = "cli")]
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// All pairs, by server and master.
    pub fn sorted(&self) -> Vec<Listing> {
        let mut all: Vec<_> = self.all.values().copied().collect();
        all.sort_unstable_by_key(|listing| (listing.server, listing.master, listing.id));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_beyond_the_limit_are_counted() {
        let mut listings = Listings::default();
        let master = Endpoint::v4([192, 0, 2, 50], 27950);
        let pair = |n: usize| (Endpoint::v4((n as u32).to_be_bytes(), 27960), master, Id::Masters);
        (0..MAX_LISTINGS).for_each(|n| assert!(listings.add(pair(n), Time::from_nanos(1)).is_some()));
        assert!(listings.add(pair(MAX_LISTINGS), Time::from_nanos(2)).is_none());
        let known = listings.add(pair(7), Time::from_nanos(3)).map(|known| (known.first, known.last));
        assert_eq!(known, Some((Time::from_nanos(1), Time::from_nanos(3))));
        assert_eq!((listings.all.len(), listings.left_out), (MAX_LISTINGS, 1));
    }
}
