//! Judges captures in shards: several runs that share nothing, each with the frames of its servers, find what a single run
//! would find.
//!
//! ```text
//!  each file ─────────Scan──> who asks whom, and how many frames there are ──all files──> Shards, and the frames before each file
//!  each file, Shards ───of──> the shard of each frame, or none
//!  a shard's frames, file by file ──Judge──> what one run says of them
//! ```
//!
//! All that is decided about a conversation depends on frames to, from or about the host of its server, and on time. Frames
//! are therefore dealt by that host; hosts that ask each other, the servers that answer one broadcast, and the ends of a
//! tunnel with the servers in it share a shard. A shard is also told the time: the highest time stamp before each frame,
//! and the first and the last time stamp of each file. Frames keep the numbers that they have in a single run.
//!
//! Three things in a single run belong to no server, and may differ: which wrong UDP checksums mean something, where the
//! checksums of an interface are wrong for some servers and right for others; what is forgotten, where a table is full; and
//! numbers that count through a run, such as those of exchanges.

use super::packet::Packet;
use crate::bounded::Numbered;
use crate::budget::Budget;
use crate::capture::{CaptureInfo, Frame, Source, Time};
use crate::net::{self, Datagram, DropReason, Endpoint, OwnedFrame, PacketHosts};
use crate::pipeline::{Options, Pipeline};
use crate::protocols::Level;
use crate::report::{Report, Totals, Wants};
use hashbrown::{HashMap, HashSet};
use std::io;
use std::net::IpAddr;

/// Most pairs of hosts that a scan remembers; further pairs are counted.
pub const MAX_PAIRS: usize = 1 << 20;
/// Most frames remembered whose packets hold packets, until their datagrams are reported; the oldest go first.
const MAX_AROUND: usize = 65_536;

/// The pairs of hosts in a file that belong together, and the number of its frames.
#[derive(Debug)]
pub struct Scan {
    /// Hosts of servers, each paired with the host of a client.
    pub asked: HashSet<[IpAddr; 2]>,
    /// Hosts of servers, each paired with another host that its frames name: the end of a tunnel.
    pub around: HashSet<[IpAddr; 2]>,
    /// Number of pairs beyond [`MAX_PAIRS`]: where there are any, a shard may lack frames.
    pub forgotten: u64,
    /// Number of frames in the file.
    pub frames: u64,
    /// Endpoints of recent frames whose packet holds another packet, or a part of one.
    ends: Numbered<PacketHosts, MAX_AROUND>,
}

impl Scan {
    fn new() -> Scan {
        let (asked, around, ends) = (HashSet::new(), HashSet::new(), Numbered::from(Budget::default()));
        Scan { asked, around, forgotten: 0, frames: 0, ends }
    }

    /// Scans a capture, to its end or as far as it goes. `options` are those of the run.
    ///
    /// # Errors
    /// None: the scan covers what can be read, and reading the capture once more gives the error.
    pub fn of(source: &mut Source, options: &Options) -> Scan {
        let mut scan = Scan::new();
        // A message that is not recognised with confidence in one file may be in the run.
        let options = Options { min_confidence: Level::Low, ..options.clone() };
        let mut pipeline = Pipeline::new(options, &mut scan);
        let _ = pipeline.read(source, "");
        let _ = pipeline.finish(true); // nothing is written
        scan.frames = source.frames();
        scan
    }

    fn pair(&mut self, around: bool, pair: [IpAddr; 2]) {
        let pairs = if around { &mut self.around } else { &mut self.asked };
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

    fn packet(&mut self, p: &Packet<'_>) -> io::Result<()> {
        let [client, server] = p.ends().map(Endpoint::ip);
        self.pair(false, [server, client]);
        let around = self.ends.get(p.datagram.frame).cloned().unwrap_or_default();
        let around = around.into_iter().flatten().map(Endpoint::ip);
        around.filter(|end| ![client, server].contains(end)).for_each(|end| self.pair(true, [server, end]));
        Ok(())
    }
}

/// Assigns the frames of each host to a shard.
#[derive(Clone, Debug)]
pub struct Shards {
    of: HashMap<IpAddr, u32>,
    count: u32,
}

impl Shards {
    /// Deals the hosts that [scans](Scan) found among so many shards; the order of the pairs does not matter.
    pub fn new(
        asked: impl IntoIterator<Item = [IpAddr; 2]>,
        around: impl IntoIterator<Item = [IpAddr; 2]>,
        shards: u32,
    ) -> Shards {
        let asked: Vec<_> = asked.into_iter().collect();
        let mut groups = Groups::default();
        for [server, _] in &asked {
            groups.find(*server);
        }
        // A broadcast is answered by servers that its address does not name: all hosts that its client asks share a shard.
        let everybody = asked.iter().filter(|[server, _]| Endpoint::of(*server, 0).is_group());
        everybody.for_each(|[all, client]| groups.join(*all, *client));
        for [server, client] in &asked {
            if groups.has(*client) {
                groups.join(*server, *client);
            }
        }
        around.into_iter().for_each(|[server, end]| groups.join(server, end));
        groups.deal(shards.max(1))
    }

    /// Shards from hosts that were dealt among `count` shards before.
    pub fn dealt(hosts: impl IntoIterator<Item = (IpAddr, u32)>, count: u32) -> Shards {
        Shards { of: hosts.into_iter().collect(), count }
    }

    /// How many shards there are.
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
        self.of.get(&host).copied()
    }

    /// Every host with its shard.
    pub fn hosts(&self) -> impl Iterator<Item = (IpAddr, u32)> {
        self.of.iter().map(|(host, shard)| (*host, *shard))
    }
}

/// Groups of hosts: each host leads to another host of its group, up to the host that leads to itself and stands for the
/// group.
#[derive(Default)]
struct Groups(HashMap<IpAddr, IpAddr>);

impl Groups {
    fn has(&self, host: IpAddr) -> bool {
        self.0.contains_key(&host)
    }

    /// The host that stands for the group of `host`; `host` remembers it.
    fn find(&mut self, host: IpAddr) -> IpAddr {
        let next = *self.0.entry(host).or_insert(host);
        if next == host {
            return host;
        }
        let mut first = next;
        while let Some(&before) = self.0.get(&first)
            && before != first
        {
            first = before;
        }
        self.0.insert(host, first);
        first
    }

    /// Makes two groups one; the lowest address stands for it.
    fn join(&mut self, a: IpAddr, b: IpAddr) {
        let (a, b) = (self.find(a), self.find(b));
        self.0.insert(a.max(b), a.min(b));
    }

    /// Deals the groups in turn, in the order of addresses.
    fn deal(mut self, shards: u32) -> Shards {
        let mut hosts: Vec<_> = self.0.keys().copied().collect();
        hosts.sort_unstable();
        let mut next = (0..shards).cycle();
        let mut dealt = HashMap::new();
        for host in hosts {
            let first = self.find(host);
            let shard = dealt.get(&first).copied().or_else(|| next.next()).unwrap_or(0);
            dealt.insert(first, shard);
            dealt.insert(host, shard);
        }
        Shards { of: dealt, count: shards }
    }
}

/// A run over the frames of one shard.
pub struct Judge<'r>(Pipeline<'r>);

impl<'r> Judge<'r> {
    /// A run that reports to `report`, which must not count packets: time is told with empty frames.
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
        self.time(before + 1, first)
    }

    /// Judges a frame, numbered through all files; capture time had come to `clock` before it.
    ///
    /// # Errors
    /// See [`begin`](Self::begin).
    pub fn frame(&mut self, frame: &Frame<'_>, clock: Time) -> io::Result<()> {
        self.0.tick(clock)?;
        self.0.frame(frame)
    }

    /// PacketHosts the file with the frame of number `last`; `clock` is its highest time stamp.
    ///
    /// # Errors
    /// See [`begin`](Self::begin).
    pub fn end(&mut self, facts: &CaptureInfo, last: u64, clock: Time) -> io::Result<()> {
        self.time(last, clock)?;
        self.0.end_file(facts);
        Ok(())
    }

    /// PacketHosts the run, after all files have been judged.
    ///
    /// # Errors
    /// See [`begin`](Self::begin).
    pub fn finish(self) -> io::Result<Totals> {
        self.0.finish(true)
    }

    /// Passes on the time of a frame of another shard.
    fn time(&mut self, number: u64, time: Time) -> io::Result<()> {
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
        around: [[u32; 2]; B],
        of: u32,
    ) -> Vec<Option<u32>> {
        let pairs = |pair: [u32; 2]| pair.map(ip);
        let shards = Shards::new(asked.map(pairs), around.map(pairs), of);
        (1..=6).map(|last| shards.host(ip(last))).collect()
    }

    #[test]
    fn servers_are_dealt_in_turn_and_clients_are_not() {
        assert_eq!(shards([[1, 9], [2, 9], [3, 9]], [], 2), [Some(0), Some(1), Some(0), None, None, None]);
        assert_eq!(shards([[3, 9], [1, 9], [2, 9]], [], 2), shards([[1, 9], [2, 9], [3, 9]], [], 2));
    }

    #[test]
    fn servers_that_ask_each_other_share_a_shard() {
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
    fn further_pairs_are_counted() {
        let mut scan = Scan::new();
        let most = MAX_PAIRS as u32;
        (0..most + 3).for_each(|client| scan.pair(false, [ip(1), ip(client)]));
        scan.pair(false, [ip(1), ip(0)]);
        assert_eq!((scan.asked.len(), scan.forgotten), (MAX_PAIRS, 3));
    }
}
