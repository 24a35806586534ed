//! Generates capture files: deterministic, streaming, in constant memory. Time is divided into slots of one packet. A slot takes
//! the datagram that is due, or begins a conversation, so that many conversations run at once and their datagrams are mixed.

use crate::capture::{Capture, Format};
use crate::datagrams::{Conversation, Next, PROTOCOLS, Server};
use crate::foreign::{Foreign, documentation};
use crate::frames::{self, Envelope, Transport};
use crate::hostile;
use crate::random::Random;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{self, Write};
use std::net::{Ipv4Addr, SocketAddr};

/// 1 January 2026, in nanoseconds.
const START: u64 = 1_767_225_600_000_000_000;
const SECOND: u64 = 1_000_000_000;
/// Time between two polls of a client.
const POLL: u64 = SECOND / 4;
/// After this time without an answer a client asks again.
const RETRY: u64 = SECOND / 4;
/// Number of client addresses and ports: nearly every conversation has a different flow.
const CLIENTS: u32 = 1 << 20;
const CLIENT_PORTS: u32 = 40_000;
const FIRST_CLIENT_PORT: u16 = 20_000;
/// Maximum number of conversations at once; above it, datagrams are sent before they are due.
const MAX_OPEN: usize = 1 << 16;
/// 198.18.0.0/15, which RFC 2544 sets aside for benchmarks: the addresses of the servers.
const BENCHMARK_NET: u32 = 0xc612_0000;
/// Number of servers that fit into the address range.
pub const MAX_SERVERS: u32 = 4 << 17;
/// Percentage of foreign packets in a mixed capture.
const FOREIGN_PERCENT: u32 = 70;
/// Percentage of game packets in the capture of a game.
const GAME_PERCENT: u32 = 90;

/// The traffic of a capture.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Query traffic only.
    Query,
    /// 30 % query traffic, the rest foreign.
    Mixed,
    /// 10 % query traffic, the rest between the servers and their players, on the ports of the queries.
    Game,
    /// Every packet is an unanswered request of a different client, as in spoofed traffic.
    Clients,
    /// Every conversation has a different server.
    Servers,
}

/// The properties of a capture.
#[derive(Clone, Copy)]
pub struct Plan {
    /// The traffic of the capture.
    pub kind: Kind,
    /// Number of packets.
    pub packets: u64,
    /// How the file is written.
    pub format: Format,
    /// Whether each frame has an 802.1Q tag.
    pub vlan: bool,
    /// Share of lost datagrams, in parts per million.
    pub loss: u32,
    /// Share of retransmitted requests among those whose answer is lost, in parts per million.
    pub retries: u32,
    /// Packets per second of capture time, at least 1.
    pub rate: u64,
    /// Number of query servers, at least 1.
    pub servers: u32,
    /// Seed of the random numbers.
    pub seed: u64,
}

impl Plan {
    /// The capture that the benchmark measures.
    pub fn new(kind: Kind, packets: u64) -> Self {
        let format = Format { pcapng: false, big_endian: false, nanoseconds: false, snap_len: 262_144 };
        Self {
            kind,
            packets,
            format,
            vlan: false,
            loss: 10_000,
            retries: 0,
            rate: 20_000,
            servers: 200,
            seed: 1,
        }
    }
}

/// The state of the query traffic.
struct Traffic {
    servers: Vec<Server>,
    /// Scheduled datagrams, ordered by time and then by the order of scheduling.
    due: BinaryHeap<Reverse<(u64, u64, Conversation)>>,
    scheduled: u64,
    payload: Vec<u8>,
    plan: Plan,
}

/// Writes the capture; returns the sum of the captured lengths.
pub fn generate(out: impl Write, plan: &Plan) -> io::Result<u64> {
    let mut random = Random::new(plan.seed);
    let mut traffic = Traffic::new(plan, &mut random);
    let mut foreign = Foreign::new(plan.vlan, &mut random);
    let mut capture = Capture::new(out, plan.format)?;
    let mut hostile = hostile::Flood::new();
    let mut frame = Vec::new();
    let mut captured = 0;
    for packet in 0..plan.packets {
        let within = random.below(SECOND as u32);
        let passed = (u128::from(packet) * u128::from(SECOND) + u128::from(within)) / u128::from(plan.rate);
        let time = START + passed as u64;
        match plan.kind {
            Kind::Mixed if random.below(100) < FOREIGN_PERCENT => foreign.frame(&mut random, &mut frame),
            Kind::Game if random.below(100) < GAME_PERCENT => {
                foreign.game(&traffic.servers, &mut random, &mut frame);
            }
            Kind::Query | Kind::Mixed | Kind::Game => traffic.frame(time, &mut random, &mut frame),
            Kind::Clients => hostile.client(&traffic.servers, plan.vlan, &mut random, &mut frame),
            Kind::Servers => hostile.server(plan.vlan, &mut random, &mut frame),
        }
        captured += capture.packet(time, &frame)? as u64;
    }
    capture.finish()?;
    Ok(captured)
}

impl Traffic {
    fn new(plan: &Plan, random: &mut Random) -> Self {
        let servers = (0..plan.servers).map(|number| server(number, random)).collect();
        Self { servers, due: BinaryHeap::new(), scheduled: 0, payload: Vec::new(), plan: *plan }
    }

    /// Replaces `out` by the frame of this slot.
    fn frame(&mut self, time: u64, random: &mut Random, out: &mut Vec<u8>) {
        let mut conversation = self.take_due(time).unwrap_or_else(|| {
            let port = FIRST_CLIENT_PORT + random.below(CLIENT_PORTS) as u16;
            Conversation::new(random.below(CLIENTS), port, random.below(self.servers.len() as u32))
        });
        let server = &mut self.servers[conversation.server as usize];
        server.play(time, random);
        let client = client(&conversation, server);
        let is_request = conversation.step.is_multiple_of(2);
        self.payload.clear();
        let next = PROTOCOLS[server.protocol](&mut conversation, server, random, &mut self.payload);
        conversation.is_retransmission = false;
        let (source, target) = if is_request { (client, server.at) } else { (server.at, client) };
        let vlan = self.plan.vlan;
        let envelope = Envelope { source, target, transport: Transport::Udp, received: is_request, vlan };
        frames::write(out, &envelope, &self.payload);
        conversation.step += 1;
        self.schedule(time, next, conversation, random);
    }

    fn take_due(&mut self, time: u64) -> Option<Conversation> {
        let Reverse((due, ..)) = self.due.peek()?;
        if *due > time && self.due.len() < MAX_OPEN {
            return None;
        }
        self.due.pop().map(|Reverse((_, _, conversation))| conversation)
    }

    /// Schedules the next datagram. A lost datagram ends its conversation, unless it is an answer and the client retransmits its
    /// request.
    fn schedule(&mut self, time: u64, next: Next, mut conversation: Conversation, random: &mut Random) {
        let wait = match next {
            Next::Reply => random.response_time(),
            Next::Poll => POLL,
            Next::End => return,
        };
        if !random.chance(self.plan.loss) {
            self.push(time + wait, conversation);
        } else if self.plan.retries > 0
            && !conversation.step.is_multiple_of(2)
            && random.chance(self.plan.retries)
        {
            conversation.step -= 1;
            conversation.is_retransmission = true;
            self.push(time + RETRY, conversation);
        }
    }

    fn push(&mut self, due: u64, conversation: Conversation) {
        self.scheduled += 1;
        self.due.push(Reverse((due, self.scheduled, conversation)));
    }
}

/// Four servers share an address; every tenth group is IPv6.
fn server(number: u32, random: &mut Random) -> Server {
    let port = 1_024 + (random.below(64_000) & !3 | number & 3) as u16;
    let host = number / 4;
    let at = if host % 10 == 4 {
        SocketAddr::from((documentation(1 << 24 | host), port))
    } else {
        SocketAddr::from((Ipv4Addr::from_bits(BENCHMARK_NET + host), port))
    };
    Server::new(at, number as usize % PROTOCOLS.len(), random)
}

fn client(conversation: &Conversation, server: &Server) -> SocketAddr {
    if server.at.is_ipv6() {
        SocketAddr::from((documentation(2 << 24 | conversation.client), conversation.port))
    } else {
        SocketAddr::from((Ipv4Addr::from_bits(0x0a00_0000 + conversation.client), conversation.port))
    }
}
