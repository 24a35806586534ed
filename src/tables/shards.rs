//! Judges captures in shards: several runs that share nothing, each with the frames of its servers, find what a single run
//! would find.
//!
//! ```text
//!  each file ─────────Scan──> who asks whom, and how many frames there are ──all files──> Shards, and the frames before each file
//!  each file, Shards ───of──> the shard of each frame, or none
//!  a shard's frames, file by file ──Judge──> the results of a run over them
//! ```
//!
//! The result for a conversation depends only on frames to, from or about the host of its server, and on time. Frames are
//! therefore dealt by that host; hosts that query each other, the servers that answer one broadcast, and the ends of a
//! tunnel with the servers in it share a shard. A shard also gets the time: the highest time stamp before each frame, and
//! the first and the last time stamp of each file. Frames keep the numbers that they have in a single run.
//!
//! Five things in a single run belong to no single server, and may differ: which wrong UDP checksums are significant, if the
//! checksums of an interface are wrong for some servers and right for others; which entries a full table forgets;
//! numbers that count through a run, such as those of exchanges; and whether the captures hold no answer of anybody, which
//! the finding about a silent server (GEN-009) says only in a single run; and answers of a host to the requests of another,
//! also where addresses are translated, because their hosts may be in different shards.

use crate::bounded::{Budget, Numbered};
use crate::capture::{CaptureInfo, Frame, Source, Time};
use crate::check::Packet;
use crate::net::{self, Datagram, DropReason, Endpoint, OwnedFrame, PacketHosts};
use crate::pipeline::{Options, Pipeline};
use crate::protocols::Level;
use crate::report::{Report, Totals, Wants};
use hashbrown::{HashMap, HashSet};
use std::io;
use std::net::IpAddr;

/// Most pairs of hosts that a scan remembers; further pairs are counted.
pub const MAX_PAIRS: usize = 1 << 20;
/// Most frames with tunnels or fragments that are remembered until their datagrams are reported; the oldest go first.
const MAX_ENDS: usize = 65_536;

/// The pairs of hosts in a file that belong together, and the number of its frames.
#[derive(Debug)]
pub struct Scan {
    /// Hosts of servers, each paired with the host of a client.
    pub asked: HashSet<[IpAddr; 2]>,
    /// Hosts of servers, each paired with another host that its frames name: the end of a tunnel.
    pub tunnel_ends: HashSet<[IpAddr; 2]>,
    /// Number of pairs beyond [`MAX_PAIRS`]: if there are any, a shard may lack frames.
    pub forgotten: u64,
    /// Number of frames in the file.
    pub frames: u64,
    /// Endpoints of recent frames whose packet holds another packet, or a part of one.
    ends: Numbered<PacketHosts, MAX_ENDS>,
}

impl Scan {
    fn new() -> Scan {
        let (asked, tunnel_ends, ends) = (HashSet::new(), HashSet::new(), Numbered::from(Budget::default()));
        Scan { asked, tunnel_ends, forgotten: 0, frames: 0, ends }
    }

    /// Scans a capture, to its end or as far as it goes. `options` are those of the run.
    ///
    /// # Errors
    /// None: the scan covers what can be read, and reading the capture once more gives the error.
    pub fn of(source: &mut Source, options: &Options) -> Scan {
        let mut scan = Scan::new();
        // A message that is recognised with low confidence in its file may be confirmed in the run.
        let options = Options { min_confidence: Level::Low, ..options.clone() };
        let mut pipeline = Pipeline::new(options, &mut scan);
        let _ = pipeline.read(source, "");
        let _ = pipeline.finish(true); // nothing is written
        scan.frames = source.frames();
        scan
    }

    fn add_pair(&mut self, is_tunnel_end: bool, pair: [IpAddr; 2]) {
        let pairs = if is_tunnel_end { &mut self.tunnel_ends } else { &mut self.asked };
        if pairs.len() < MAX_PAIRS {
            pairs.insert(pair);
        } else if !pairs.contains(&pair) {
            self.forgotten += 1;
        }
    }
}

impl Report for Scan {
    fn wants(&self) -> Wants {
        Wants { frames: true, ..Wants::default() }
    }

    fn frame(&mut self, frame: &Frame<'_>, parsed: &Result<Datagram<'_>, DropReason>) {
        if let Err(DropReason::Tunnel | DropReason::Fragment) = parsed {
            self.ends.insert(frame.number, net::packet_hosts(frame));
        }
    }

    fn translated(&mut self, outer: Endpoint, inner: Endpoint) {
        self.add_pair(true, [outer.ip(), inner.ip()]);
    }

    fn packet(&mut self, p: &Packet<'_>) -> io::Result<()> {
        let [client, server] = p.ends().map(Endpoint::ip);
        self.add_pair(false, [server, client]);
        let ends = self.ends.get(p.datagram.frame).cloned().unwrap_or_default();
        let hosts = ends.into_iter().flatten().map(Endpoint::ip);
        hosts
            .filter(|host| ![client, server].contains(host))
            .for_each(|host| self.add_pair(true, [server, host]));
        Ok(())
    }
}

/// Assigns the frames of each host to a shard.
#[derive(Clone, Debug)]
pub struct Shards {
    by_host: HashMap<IpAddr, u32>,
    count: u32,
}

impl Shards {
    /// Deals the hosts that [scans](Scan) found among `shards` shards; the order of the pairs does not matter.
    pub fn new(
        asked: impl IntoIterator<Item = [IpAddr; 2]>,
        tunnel_ends: impl IntoIterator<Item = [IpAddr; 2]>,
        shards: u32,
    ) -> Shards {
        let asked: Vec<_> = asked.into_iter().collect();
        let mut groups = Groups::default();
        for [server, _] in &asked {
            groups.find(*server);
        }
        // The address of a broadcast does not name the servers that answer it: all hosts that its client asks share a shard.
        let broadcasts = asked.iter().filter(|[server, _]| Endpoint::of(*server, 0).is_group());
        broadcasts.for_each(|[group, client]| groups.merge(*group, *client));
        for [server, client] in &asked {
            if groups.contains(*client) {
                groups.merge(*server, *client);
            }
        }
        tunnel_ends.into_iter().for_each(|[server, end]| groups.merge(server, end));
        groups.deal(shards.max(1))
    }

    /// Shards from hosts that were dealt among `count` shards before.
    pub fn dealt(hosts: impl IntoIterator<Item = (IpAddr, u32)>, count: u32) -> Shards {
        Shards { by_host: hosts.into_iter().collect(), count }
    }

    /// Number of shards.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// The shard that gets a frame, if any.
    pub fn of(&self, frame: &Frame<'_>) -> Option<u32> {
        let shard = |end: Endpoint| self.host(end.ip());
        match net::parse(frame) {
            Ok(d) => [d.src, d.dst].into_iter().filter_map(shard).min(),
            Err(DropReason::Tunnel | DropReason::Fragment | DropReason::Icmp) => {
                net::packet_hosts(frame).into_iter().flatten().filter_map(shard).min()
            }
            Err(_) => None,
        }
    }

    /// The shard that gets the frames of a host, if any.
    pub fn host(&self, host: IpAddr) -> Option<u32> {
        self.by_host.get(&host).copied()
    }

    /// Every host with its shard.
    pub fn hosts(&self) -> impl Iterator<Item = (IpAddr, u32)> {
        self.by_host.iter().map(|(host, shard)| (*host, *shard))
    }
}

/// Disjoint groups of hosts, by the parent of each host. The root of a group is its own parent, and stands for the group.
#[derive(Default)]
struct Groups(HashMap<IpAddr, IpAddr>);

impl Groups {
    fn contains(&self, host: IpAddr) -> bool {
        self.0.contains_key(&host)
    }

    /// The root of the group of `host`, which becomes the parent of `host`. A new host is a group of its own.
    fn find(&mut self, host: IpAddr) -> IpAddr {
        let parent = *self.0.entry(host).or_insert(host);
        if parent == host {
            return host;
        }
        let mut root = parent;
        while let Some(&next) = self.0.get(&root)
            && next != root
        {
            root = next;
        }
        self.0.insert(host, root);
        root
    }

    /// Merges two groups; the lowest address becomes the root.
    fn merge(&mut self, a: IpAddr, b: IpAddr) {
        let (a, b) = (self.find(a), self.find(b));
        self.0.insert(a.max(b), a.min(b));
    }

    /// Deals the groups in turn, in the order of addresses.
    fn deal(mut self, shards: u32) -> Shards {
        let mut hosts: Vec<_> = self.0.keys().copied().collect();
        hosts.sort_unstable();
        let mut next = (0..shards).cycle();
        let mut by_host = HashMap::new();
        for host in hosts {
            let root = self.find(host);
            let shard = by_host.get(&root).copied().or_else(|| next.next()).unwrap_or(0);
            by_host.insert(root, shard);
            by_host.insert(host, shard);
        }
        Shards { by_host, count: shards }
    }
}

/// A run over the frames of one shard.
pub struct Judge<'r>(Pipeline<'r>);

impl<'r> Judge<'r> {
    /// A run that reports to `report`, which must not count packets: empty frames stand for the time of other shards.
    pub fn new(options: Options, report: &'r mut dyn Report) -> Self {
        Judge(Pipeline::new(options, report))
    }

    /// Begins a file, after `before` frames of all shards; `first` is the time stamp of its first frame. `facts` are those
    /// known at its beginning.
    ///
    /// # Errors
    /// When the report cannot be written; the same for the other methods.
    pub fn begin(&mut self, name: &str, facts: &CaptureInfo, before: u64, first: Time) -> io::Result<()> {
        self.0.skip_to(before);
        self.0.begin_file(name, facts, first)?;
        self.advance(before + 1, first)
    }

    /// Judges a frame, numbered through all files; `clock` is the capture time before it.
    ///
    /// # Errors
    /// See [`begin`](Self::begin).
    pub fn frame(&mut self, frame: &Frame<'_>, clock: Time) -> io::Result<()> {
        self.0.tick(clock)?;
        self.0.frame(frame)
    }

    /// Ends the file with the frame of number `last`; `clock` is its highest time stamp.
    ///
    /// # Errors
    /// See [`begin`](Self::begin).
    pub fn end(&mut self, facts: &CaptureInfo, last: u64, clock: Time) -> io::Result<()> {
        self.advance(last, clock)?;
        self.0.end_file(facts);
        Ok(())
    }

    /// Ends the run, after all files have been judged.
    ///
    /// # Errors
    /// See [`begin`](Self::begin).
    pub fn finish(self) -> io::Result<Totals> {
        self.0.finish(true)
    }

    /// Advances to the time of a frame of another shard.
    fn advance(&mut self, number: u64, time: Time) -> io::Result<()> {
        self.0.frame(&OwnedFrame::empty(time).frame(number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(last: u32) -> IpAddr {
        std::net::Ipv4Addr::from_bits(0x0a00_0000 | last).into()
    }

    fn shards<const A: usize, const B: usize>(
        asked: [[u32; 2]; A],
        tunnel_ends: [[u32; 2]; B],
        count: u32,
    ) -> Vec<Option<u32>> {
        let pairs = |pair: [u32; 2]| pair.map(ip);
        let shards = Shards::new(asked.map(pairs), tunnel_ends.map(pairs), count);
        (1..=6).map(|last| shards.host(ip(last))).collect()
    }

    #[test]
    fn servers_are_dealt_in_turn_and_clients_are_not() {
        assert_eq!(shards([[1, 9], [2, 9], [3, 9]], [], 2), [Some(0), Some(1), Some(0), None, None, None]);
        assert_eq!(shards([[3, 9], [1, 9], [2, 9]], [], 2), shards([[1, 9], [2, 9], [3, 9]], [], 2));
    }

    #[test]
    fn servers_that_query_each_other_share_a_shard() {
        let all = shards([[1, 9], [2, 9], [3, 2], [4, 3], [5, 9]], [], 16);
        assert_eq!(all, [Some(0), Some(1), Some(1), Some(1), Some(2), None]);
    }

    #[test]
    fn servers_that_answer_one_broadcast_share_a_shard() {
        let all = shards([[255, 9], [1, 9], [2, 9], [3, 8]], [], 16);
        assert_eq!(all[0], all[1]);
        assert_ne!(all[0], all[2]);
        let of_two = shards([[255, 9], [511, 9], [1, 9], [511, 8], [2, 8], [3, 7]], [], 16);
        assert_eq!(of_two[0], of_two[1]);
        assert_ne!(of_two[0], of_two[2]);
    }

    #[test]
    fn the_ends_of_a_tunnel_share_the_shard_of_the_server_in_it() {
        let all = shards([[1, 9], [2, 9], [3, 8]], [[2, 5], [2, 6], [3, 5]], 16);
        assert_eq!(all, [Some(0), Some(1), Some(1), None, Some(1), Some(1)]);
    }

    #[test]
    fn pairs_beyond_the_limit_are_counted() {
        let mut scan = Scan::new();
        let most = MAX_PAIRS as u32;
        (0..most + 3).for_each(|client| scan.add_pair(false, [ip(1), ip(client)]));
        scan.add_pair(false, [ip(1), ip(0)]);
        assert_eq!((scan.asked.len(), scan.forgotten), (MAX_PAIRS, 3));
    }
}
