//! Traffic of other protocols: TCP, QUIC-like, DNS, RTP-like and game packets.

use crate::datagrams::Server;
use crate::frames::{self, Envelope, Transport};
use crate::random::Random;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

/// Number of connections per protocol; each packet belongs to a random one.
const CONNECTIONS: usize = 2_048;
/// Number of random bytes that payloads are taken from.
const NOISE: usize = 1 << 16;
const MAX_PAYLOAD: usize = 1_460;

struct Connection {
    client: SocketAddr,
    server: SocketAddr,
    /// Next sequence number of the client and of the server; also used for RTP.
    sequence: [u32; 2],
}

/// State of the foreign traffic; its size does not depend on the number of packets.
pub struct Foreign {
    tcp: Vec<Connection>,
    quic: Vec<Connection>,
    rtp: Vec<Connection>,
    /// Number of packets so far from each player, and from the server to it.
    players: Vec<[u32; 2]>,
    resolver: SocketAddr,
    /// The unanswered DNS request: client and identifier.
    pending_request: Option<(SocketAddr, u16)>,
    noise: Vec<u8>,
    payload: Vec<u8>,
    vlan: bool,
}

impl Foreign {
    /// Makes the connections.
    pub fn new(vlan: bool, random: &mut Random) -> Self {
        let noise = (0..NOISE).map(|_| random.bits() as u8).collect();
        Self {
            tcp: connections(&[443, 80, 22, 25_565], random),
            quic: connections(&[443], random),
            rtp: connections(&[5_004, 16_384, 30_000], random),
            players: vec![[0; 2]; CONNECTIONS],
            resolver: SocketAddr::from((Ipv4Addr::new(192, 0, 2, 53), 53)),
            pending_request: None,
            noise,
            payload: Vec::new(),
            vlan,
        }
    }

    /// Replaces `out` by the next frame.
    pub fn frame(&mut self, random: &mut Random, out: &mut Vec<u8>) {
        self.payload.clear();
        match random.below(100) {
            0..45 => self.tcp(random, out),
            45..70 => self.quic(random, out),
            70..85 => self.rtp(random, out),
            _ => self.dns(random, out),
        }
    }

    fn tcp(&mut self, random: &mut Random, out: &mut Vec<u8>) {
        let length = match random.below(100) {
            0..36 => MAX_PAYLOAD as u32,
            36..53 => 1 + random.below(MAX_PAYLOAD as u32),
            _ => 0,
        };
        self.noise(length, random);
        let connection = &mut self.tcp[random.below(CONNECTIONS as u32) as usize];
        // A v6 header takes 20 bytes more of the same MTU.
        let room = if connection.client.is_ipv6() { MAX_PAYLOAD - 20 } else { MAX_PAYLOAD };
        self.payload.truncate(room);
        let received = random.below(2) == 0;
        let [from, to] = if received { [0, 1] } else { [1, 0] };
        let transport = Transport::Tcp { seq: connection.sequence[from], ack: connection.sequence[to] };
        connection.sequence[from] = connection.sequence[from].wrapping_add(self.payload.len() as u32);
        frames::write(out, &envelope(connection, transport, received, self.vlan), &self.payload);
    }

    /// A short header packet: fixed bit, connection identifier, protected bytes.
    fn quic(&mut self, random: &mut Random, out: &mut Vec<u8>) {
        let length = if random.below(100) < 32 { 1_242 } else { 16 + random.below(80) };
        let number = random.below(CONNECTIONS as u32);
        self.payload.push(0x40 | random.below(0x40) as u8);
        self.payload.extend_from_slice(&(u64::from(number) << 32 | 0x5eed).to_be_bytes());
        self.noise(length, random);
        let received = random.below(2) == 0;
        let connection = &self.quic[number as usize];
        frames::write(out, &envelope(connection, Transport::Udp, received, self.vlan), &self.payload);
    }

    /// Version 2, payload type 0 (PCMU), 20 ms of 8 kHz sound.
    fn rtp(&mut self, random: &mut Random, out: &mut Vec<u8>) {
        let number = random.below(CONNECTIONS as u32);
        let received = random.below(2) == 0;
        let sequence = &mut self.rtp[number as usize].sequence[usize::from(received)];
        *sequence = sequence.wrapping_add(1);
        self.payload.extend_from_slice(&[0x80, 0]);
        self.payload.extend_from_slice(&(*sequence as u16).to_be_bytes());
        self.payload.extend_from_slice(&sequence.wrapping_mul(160).to_be_bytes());
        self.payload.extend_from_slice(&number.to_be_bytes());
        self.noise(160, random);
        let connection = &self.rtp[number as usize];
        frames::write(out, &envelope(connection, Transport::Udp, received, self.vlan), &self.payload);
    }

    /// A DNS request for an address, and at the next call its answer.
    fn dns(&mut self, random: &mut Random, out: &mut Vec<u8>) {
        let answer = self.pending_request.take();
        let (client, id) = answer.unwrap_or_else(|| {
            let address = Ipv4Addr::from_bits(0x0a80_0000 | random.below(256));
            (SocketAddr::from((address, 32_768 + random.below(128) as u16)), random.bits() as u16)
        });
        let name: &[u8] = if id & 1 == 0 { b"\x04play\x07example\x03com\0" } else { b"\x07example\x03net\0" };
        let counts = [0, 1, 0, u8::from(answer.is_some()), 0, 0, 0, 0];
        self.payload.extend_from_slice(&id.to_be_bytes());
        self.payload.extend_from_slice(if answer.is_some() { &[0x81, 0x80] } else { &[0x01, 0x00] });
        self.payload.extend_from_slice(&counts);
        self.payload.extend_from_slice(name);
        self.payload.extend_from_slice(&[0, 1, 0, 1]);
        if answer.is_some() {
            // The name above, type A, class IN, 300 s, four bytes of address.
            self.payload.extend_from_slice(&[0xc0, 12, 0, 1, 0, 1, 0, 0, 1, 44, 0, 4, 192, 0, 2, id as u8]);
        } else {
            self.pending_request = Some((client, id));
        }
        let connection = Connection { client, server: self.resolver, sequence: [0; 2] };
        let envelope = envelope(&connection, Transport::Udp, answer.is_none(), self.vlan);
        frames::write(out, &envelope, &self.payload);
    }

    /// Replaces `out` by a game packet in the format of Source between one of `servers` and a player: sequence number, last
    /// received number, flags, and random bytes.
    pub fn game(&mut self, servers: &[Server], random: &mut Random, out: &mut Vec<u8>) {
        let number = random.below(CONNECTIONS as u32);
        let server = servers[number as usize % servers.len()].at;
        let port = 30_000 + number as u16;
        let client = match server.is_ipv6() {
            true => SocketAddr::from((documentation(4 << 24 | number), port)),
            false => SocketAddr::from((Ipv4Addr::from_bits(0x0aa0_0000 | number), port)),
        };
        let sequence = &mut self.players[number as usize];
        let received = random.below(2) == 0;
        let [from, to] = if received { [0, 1] } else { [1, 0] };
        sequence[from] += 1;
        self.payload.clear();
        self.payload.extend_from_slice(&sequence[from].to_le_bytes());
        self.payload.extend_from_slice(&sequence[to].to_le_bytes());
        self.payload.push(0x20);
        self.noise(if received { 60 } else { 40 + random.below(400) }, random);
        let connection = Connection { client, server, sequence: [0; 2] };
        frames::write(out, &envelope(&connection, Transport::Udp, received, self.vlan), &self.payload);
    }

    fn noise(&mut self, length: u32, random: &mut Random) {
        let start = random.below(NOISE as u32 - length) as usize;
        self.payload.extend_from_slice(&self.noise[start..start + length as usize]);
    }
}

fn envelope(connection: &Connection, transport: Transport, received: bool, vlan: bool) -> Envelope {
    let Connection { client, server, .. } = *connection;
    let (source, target) = if received { (client, server) } else { (server, client) };
    Envelope { source, target, transport, received, vlan }
}

/// Every tenth connection is IPv6.
fn connections(ports: &[u16], random: &mut Random) -> Vec<Connection> {
    let connection = |number: usize| {
        let [client, server] = [random.below(1 << 16), random.below(1 << 8)];
        let port = 32_768 + random.below(28_000) as u16;
        let server_port = random.pick(ports);
        let sequence = [random.bits() as u32, random.bits() as u32];
        let (client, server) = if number % 10 == 9 {
            let [client, server] = [client | 2 << 16, server | 3 << 16].map(documentation);
            (SocketAddr::from((client, port)), SocketAddr::from((server, server_port)))
        } else {
            let [client, server] = [0x0a40_0000 | client, 0xc633_6400 | server].map(Ipv4Addr::from_bits);
            (SocketAddr::from((client, port)), SocketAddr::from((server, server_port)))
        };
        Connection { client, server, sequence }
    };
    (0..CONNECTIONS).map(connection).collect()
}

/// An address of 2001:db8::/32, which RFC 3849 sets aside for examples.
pub fn documentation(number: u32) -> Ipv6Addr {
    Ipv6Addr::from_bits(0x2001_0db8_u128 << 96 | u128::from(number))
}
