//! Who asks how much: the requests of each client address, or of each network of clients.

use super::sheet::{CLIENTS, Cell, Rows, Sheet};
use super::traffic::{Ranked, Traffic, Weighed};
use crate::bounded::hashing::hash_one;
use crate::bounded::rate::Rate;
use crate::capture::{SECOND, Time};
use crate::check::Packet;
use crate::exchange::{Exchange, Pairing};
use crate::net::Endpoint;
use crate::protocols::Direction;
use crate::report::count;
use hashbrown::{DefaultHashBuilder, HashSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Number of clients that always stay in the table; at most twice as many are in it.
pub const MAX_ASKING: usize = 16_384;
/// Most ports counted of a client, and most servers.
pub const MAX_DISTINCT: usize = 1_024;
/// Most ports and servers counted of all clients.
pub const MAX_DISTINCT_OF_ALL: usize = 524_288;

/// Lengths of the prefixes of addresses that count as one client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefix {
    /// Of IPv4 addresses: at most 32.
    pub v4: u8,
    /// Of IPv6 addresses: at most 128.
    pub v6: u8,
}

impl Prefix {
    /// Whole addresses.
    pub const NONE: Prefix = Prefix { v4: 32, v6: 128 };

    /// The address with all bits after its prefix 0, without a port.
    fn of(self, client: Endpoint) -> Endpoint {
        if self == Prefix::NONE {
            return client.host();
        }
        let masked = match client.ip() {
            IpAddr::V4(ip) => {
                let mask = u32::MAX.checked_shl(32 - u32::from(self.v4.min(32))).unwrap_or(0);
                IpAddr::V4(Ipv4Addr::from(u32::from(ip) & mask))
            }
            IpAddr::V6(ip) => {
                let mask = u128::MAX.checked_shl(128 - u32::from(self.v6.min(128))).unwrap_or(0);
                IpAddr::V6(Ipv6Addr::from(u128::from(ip) & mask))
            }
        };
        Endpoint::of(masked, 0)
    }

    /// The address, with the length of the prefix unless it is whole.
    fn text(self, client: Endpoint) -> String {
        let (ip, length) = (client.ip(), if client.octets().is_some() { self.v4 } else { self.v6 });
        if self == Prefix::NONE { ip.to_string() } else { format!("{ip}/{length}") }
    }
}

/// Distinct things of a client, by their hashes. Most clients have one port and ask one server.
#[derive(Debug, Default)]
struct Distinct {
    first: Option<u64>,
    others: Option<Box<HashSet<u64>>>,
    more: bool,
}

impl Distinct {
    /// Counts one thing; `room` is what all clients have left.
    fn add(&mut self, hash: u64, room: &mut usize) {
        let is_other = || self.others.as_ref().is_some_and(|others| others.contains(&hash));
        if self.first == Some(hash) || is_other() {
            return;
        }
        if self.len() >= MAX_DISTINCT || *room == 0 {
            self.more = true;
            return;
        }
        if self.first.is_none() {
            self.first = Some(hash);
        } else {
            self.others.get_or_insert_default().insert(hash);
        }
        *room -= 1;
    }

    fn len(&self) -> usize {
        usize::from(self.first.is_some()) + self.others.as_ref().map_or(0, |others| others.len())
    }

    fn cell(&self) -> Cell {
        Cell::AtLeast(self.len() as u64, self.more)
    }
}

/// What one client asked and got.
#[derive(Debug, Default)]
struct Client {
    requests: u64,
    traffic: Traffic,
    /// Times of its first and last request.
    span: Option<(Time, Time)>,
    /// From the second request on.
    rate: Option<Box<Rate>>,
    ports: Distinct,
    servers: Distinct,
    /// It has returned a challenge that was issued to it.
    proven: bool,
}

impl Weighed for Client {
    fn weight(&self) -> u64 {
        self.requests
    }

    /// Rates, ports and servers of different clients are not added up.
    fn absorb(&mut self, other: Client) {
        self.requests += other.requests;
        self.traffic.absorb(other.traffic);
        let ends = self.span.into_iter().chain(other.span);
        self.span = ends.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
    }
}

impl Client {
    fn ask(&mut self, time: Time) {
        self.requests += 1;
        let Some(nanos) = time.nanos() else { return };
        let Some((first, last)) = self.span else {
            self.span = Some((time, time));
            return;
        };
        self.span = Some((first.min(time), last.max(time)));
        let rate = self.rate.get_or_insert_with(|| {
            let mut rate = Box::<Rate>::default();
            first.nanos().into_iter().for_each(|nanos| rate.add(nanos));
            rate
        });
        rate.add(nanos);
    }

    /// The most requests within a second, if any has a time.
    fn peak(&self) -> Option<u32> {
        self.span.map(|_| self.rate.as_ref().map_or(1, |rate| rate.peak()))
    }

    /// Requests in a second on average, where there are several; less than a second counts as one.
    fn mean_rate(&self) -> Cell {
        let span = self.span.and_then(|(first, last)| last.since(first));
        match span.filter(|_| self.requests > 1) {
            Some(span) => Cell::Number(self.requests as f64 * SECOND as f64 / span.max(SECOND) as f64),
            None => Cell::Nothing,
        }
    }
}

/// The clients of all servers.
#[derive(Debug)]
pub struct Clients {
    prefix: Prefix,
    table: Ranked<Endpoint, Client>,
    hasher: DefaultHashBuilder,
    /// How many ports and servers may still be counted.
    room: usize,
    requests: u64,
}

impl Clients {
    /// An empty table of networks with such prefixes.
    pub fn new(prefix: Prefix) -> Clients {
        let (table, hasher) = (Ranked::new(MAX_ASKING), DefaultHashBuilder::default());
        Clients { prefix, table, hasher, room: MAX_DISTINCT_OF_ALL, requests: 0 }
    }

    /// Counts a datagram from a client or to it.
    pub fn packet(&mut self, p: &Packet<'_>) {
        let ([end, server], d) = (p.ends(), p.datagram);
        let client = self.table.entry(self.prefix.of(end));
        if p.direction == Direction::S2c {
            return client.traffic.received.add(d);
        }
        client.traffic.sent.add(d);
        let [port, server] = [hash_one(&self.hasher, end), hash_one(&self.hasher, server)];
        client.ports.add(port, &mut self.room);
        client.servers.add(server, &mut self.room);
        if matches!(p.pairing, Pairing::Asked { .. } | Pairing::Retransmission { part: false, .. }) {
            client.ask(d.time);
            self.requests += 1;
        }
    }

    /// Notes whether the request of an exchange returns a challenge.
    pub fn exchange(&mut self, e: &Exchange) {
        if e.returns {
            self.table.entry(self.prefix.of(e.client)).proven = true;
        }
    }

    /// The table of those that asked, the busiest first.
    pub fn sheet(&self) -> Sheet<'_> {
        let asked = self.table.sorted().into_iter().filter(|(_, client)| client.requests > 0);
        let mut clients: Vec<_> = asked.map(|(end, client)| (Some(end), client)).collect();
        let mut notes = vec![];
        if self.table.left_out > 0 {
            clients.push((None, &self.table.rest));
            let clients = count(self.table.left_out, "client");
            notes.push(format!("the last row adds up {clients} with the fewest requests, for want of room"));
        }
        let rows = Rows::of(clients, |&(end, client)| match end {
            Some(end) => {
                let distinct = [client.servers.cell(), client.ports.cell()];
                let (name, proven) = (Cell::Text(self.prefix.text(end)), Cell::Flag(client.proven));
                self.row(name, client, distinct, proven, Cell::Nothing)
            }
            None => {
                let left_out = Cell::Count(self.table.left_out);
                self.row(Cell::Nothing, client, [const { Cell::Nothing }; 2], Cell::Nothing, left_out)
            }
        });
        let title = if self.prefix == Prefix::NONE { "Clients" } else { "Networks of clients" };
        Sheet { notes, ..Sheet::new(&CLIENTS, title, rows) }
    }

    fn row(
        &self,
        name: Cell,
        client: &Client,
        [servers, ports]: [Cell; 2],
        proven: Cell,
        left_out: Cell,
    ) -> Vec<Cell> {
        let Traffic { sent, received } = client.traffic;
        let time = |time: Option<Time>| time.map_or(Cell::Nothing, Cell::Time);
        let rate = client.peak().map_or(Cell::Nothing, |peak| Cell::Count(peak.into()));
        vec![
            name,
            servers,
            Cell::Count(client.requests),
            Cell::percent(client.requests, self.requests),
            time(client.span.map(|(first, _)| first)),
            time(client.span.map(|(_, last)| last)),
            client.mean_rate(),
            rate,
            ports,
            Cell::Count(sent.bytes),
            Cell::Count(received.bytes),
            Cell::ratio(received.wire, sent.wire),
            proven,
            left_out,
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_with_the_same_prefix_are_one_client() {
        let prefix = Prefix { v4: 24, v6: 56 };
        let of = |text: &str| prefix.text(prefix.of(Endpoint::of(text.parse().unwrap(), 9)));
        assert_eq!(of("203.0.113.250"), "203.0.113.0/24");
        assert_eq!(of("2001:db8:1:2ff::7"), "2001:db8:1:200::/56");
        let none = Prefix { v4: 0, v6: 0 };
        assert_eq!(none.text(none.of(Endpoint::v4([1, 2, 3, 4], 5))), "0.0.0.0/0");
        assert_eq!(Prefix::NONE.text(Prefix::NONE.of(Endpoint::v4([1, 2, 3, 4], 5))), "1.2.3.4");
    }

    #[test]
    fn ports_beyond_the_limit_are_marked() {
        let (mut ports, mut room) = (Distinct::default(), MAX_DISTINCT_OF_ALL);
        (0..MAX_DISTINCT as u64).for_each(|port| ports.add(port, &mut room));
        ports.add(5, &mut room);
        assert!(!ports.more);
        ports.add(9_999, &mut room);
        assert!(ports.more && ports.len() == MAX_DISTINCT);
        let (mut others, mut room) = (Distinct::default(), 1);
        [1, 2].iter().for_each(|port| others.add(*port, &mut room));
        assert!(others.more && others.len() == 1, "the room of all clients is used up");
    }

    #[test]
    fn rates_are_those_of_a_second() {
        let mut client = Client::default();
        let start = 1_700_000_000 * SECOND;
        (0..100).for_each(|n| client.ask(Time::from_nanos(start + n * 5_000_000)));
        assert_eq!(client.peak().unwrap(), 100);
        assert!(matches!(client.mean_rate(), Cell::Number(100.0)), "half a second counts as one");
        client.ask(Time::from_nanos(start + 100 * SECOND));
        assert!(matches!(client.mean_rate(), Cell::Number(rate) if rate == 1.01));
    }
}
