//! Captures that fill tables: endpoints that never appear again.

use crate::datagrams::{Conversation, Next, PROTOCOLS, Server};
use crate::frames::{self, Envelope, Transport};
use crate::random::Random;
use std::net::{Ipv4Addr, SocketAddr};

/// 10.0.0.0/8: the addresses of the clients, each used once before any is used again.
const CLIENT_NET: u32 = 0x0a00_0000;
const MAX_CLIENTS: u32 = 1 << 24;
/// 100.64.0.0/10, the shared address space of RFC 6598: the addresses of the servers.
const SERVER_NET: u32 = 0x6440_0000;
const MAX_HOSTS: u32 = 1 << 22;
const SERVER_PORT: u16 = 7_777;
const CLIENT_PORT: u16 = 40_000;

/// The state of the flood. No number is used twice.
pub struct Flood {
    clients: u32,
    servers: u32,
    /// The current conversation, which is with the latest server.
    conversation: Option<(Conversation, Server)>,
    payload: Vec<u8>,
}

impl Flood {
    /// Before its first packet.
    pub fn new() -> Self {
        Self { clients: 0, servers: 0, conversation: None, payload: Vec::new() }
    }

    /// Replaces `out` by the first request of a further client to one of `servers`.
    pub fn client(&mut self, servers: &[Server], vlan: bool, random: &mut Random, out: &mut Vec<u8>) {
        // Only IPv4 servers, because clients have IPv4 addresses.
        let server = loop {
            let server = &servers[random.below(servers.len() as u32) as usize];
            if server.at.is_ipv4() {
                break server;
            }
        };
        // An odd factor visits every address once, in mixed order.
        let address = CLIENT_NET + self.clients.wrapping_mul(0x9e37_79b1) % MAX_CLIENTS;
        self.clients = self.clients.wrapping_add(1);
        let client = SocketAddr::from((Ipv4Addr::from_bits(address), CLIENT_PORT));
        let mut conversation = Conversation::new(0, CLIENT_PORT, 0);
        self.payload.clear();
        PROTOCOLS[server.protocol](&mut conversation, server, random, &mut self.payload);
        write(out, [client, server.at], true, vlan, &self.payload);
    }

    /// Replaces `out` by the next datagram of the conversation, or begins one with a further server.
    pub fn server(&mut self, vlan: bool, random: &mut Random, out: &mut Vec<u8>) {
        let (mut conversation, server) = self.conversation.take().unwrap_or_else(|| {
            let number = self.servers;
            self.servers = self.servers.wrapping_add(1);
            let address = Ipv4Addr::from_bits(SERVER_NET + number % MAX_HOSTS);
            let port = SERVER_PORT + (number / MAX_HOSTS) as u16;
            let at = SocketAddr::from((address, port));
            let server = Server::new(at, number as usize % PROTOCOLS.len(), random);
            (Conversation::new(0, CLIENT_PORT, number), server)
        });
        let client = SocketAddr::from((Ipv4Addr::from_bits(CLIENT_NET + 1), CLIENT_PORT));
        let asks = conversation.step.is_multiple_of(2);
        self.payload.clear();
        let next = PROTOCOLS[server.protocol](&mut conversation, &server, random, &mut self.payload);
        write(out, [client, server.at], asks, vlan, &self.payload);
        conversation.step += 1;
        self.conversation = (next == Next::Reply).then_some((conversation, server));
    }
}

/// Writes a datagram: a request from the first endpoint to the second, an answer the other way.
fn write(out: &mut Vec<u8>, ends: [SocketAddr; 2], asks: bool, vlan: bool, payload: &[u8]) {
    let [source, target] = if asks { ends } else { [ends[1], ends[0]] };
    let envelope = Envelope { source, target, transport: Transport::Udp, received: asks, vlan };
    frames::write(out, &envelope, payload);
}
