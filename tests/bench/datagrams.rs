//! Generates the datagrams of clients and servers of the query protocols. A new protocol needs a row in [`PROTOCOLS`] and a
//! function.

use crate::random::Random;
use std::net::SocketAddr;

/// Share of damaged answers, in parts per million.
const DAMAGED_PARTS_PER_MILLION: u32 = 8_000;

const ADJECTIVES: [&str; 10] =
    ["Old", "Crimson", "Frozen", "EU #1", "Quiet", "Märchen", "24/7", "Hardcore", "The ★", "Northern"];
const NOUNS: [&str; 10] =
    ["Harbour", "Outpost", "Dune Sea", "Foundry", "Valley", "Fort Ash", "Glacier", "Mill", "Krater", "工場"];
const GAMES: [&str; 6] = ["Deathmatch", "CTF", "Survival", "Co-op", "Conquest Large", "Arena"];
const MAPS: [&str; 8] =
    ["highrise", "de_canal", "Lakeside", "Rocky Desert", "m04", "Arctic_v2", "dam", "Oasis"];
/// How long a match lasts, in nanoseconds. Answers repeat most texts of the server's last answer, as those of real servers do.
const MATCH: u64 = 600_000_000_000;
const PLAYERS: [&str; 8] = ["ana", "Bob", "xX_kai_Xx", "Dr. Lund", "zoë", "mira", "player1", "T-800"];

/// A server and the values that it reports.
pub struct Server {
    /// Address and query port.
    pub at: SocketAddr,
    /// Row of [`PROTOCOLS`].
    pub protocol: usize,
    name: String,
    game: &'static str,
    build: String,
    game_port: u16,
    max_players: u16,
    map: &'static str,
    /// When its match ends, in nanoseconds since 1970.
    match_end: u64,
}

impl Server {
    /// A server with a random name, build and size.
    pub fn new(at: SocketAddr, protocol: usize, random: &mut Random) -> Self {
        let number = random.below(1_000);
        let build = [String::new(), format!("1.{}.{}", random.below(10), random.below(400))];
        Self {
            at,
            protocol,
            name: format!("{} {} {number}", random.pick(&ADJECTIVES), random.pick(&NOUNS)),
            game: random.pick(&GAMES),
            build: build[usize::from(random.below(4) > 0)].clone(),
            game_port: 7_000 + random.below(3_000) as u16,
            max_players: 4 << random.below(5),
            map: random.pick(&MAPS),
            match_end: 0,
        }
    }

    /// Begins the next match on another map if the last one has ended. The first match that is seen may be near its end.
    pub fn play(&mut self, time: u64, random: &mut Random) {
        if time < self.match_end {
            return;
        }
        let is_first = self.match_end == 0;
        self.match_end = time + if is_first { random.bits() % MATCH } else { MATCH };
        self.map = random.pick(&MAPS);
    }
}

/// A conversation: the client sends at even steps, the server at odd ones.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Conversation {
    /// Number of the client's address.
    pub client: u32,
    /// The client's port.
    pub port: u16,
    /// Number of the server.
    pub server: u32,
    /// Counts the datagrams of the conversation.
    pub step: u32,
    /// Token or cookie.
    key: u64,
    /// What the client asks for.
    requested: u8,
    /// Whether the request is sent again because its answer was lost.
    pub is_retransmission: bool,
}

impl Conversation {
    /// A conversation before its first datagram.
    pub fn new(client: u32, port: u16, server: u32) -> Self {
        Self { client, port, server, step: 0, key: 0, requested: 0, is_retransmission: false }
    }
}

/// When the next datagram of the conversation is sent.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// After a response time.
    Reply,
    /// After a polling interval.
    Poll,
    /// Not at all.
    End,
}

/// Appends the payload of this step and returns when the next datagram is sent.
pub type WriteDatagram = fn(&mut Conversation, &Server, &mut Random, &mut Vec<u8>) -> Next;

/// The protocols, each with the same number of servers; conversations choose their server evenly.
pub const PROTOCOLS: [WriteDatagram; 2] = [sqp, satisfactory];

/// SQP, big-endian:
///
/// ```text
/// challenge (both ways)  | 0 | token 4 |
/// request                | 1 | token 4 | version 2 | chunks 1 |
/// response               | 1 | token 4 | version 2 | 0 | 0 | length 2 | chunks, each with its length 4 |
/// ```
fn sqp(conversation: &mut Conversation, server: &Server, random: &mut Random, out: &mut Vec<u8>) -> Next {
    match conversation.step {
        0 => out.extend_from_slice(&[0; 5]),
        1 => {
            conversation.key = random.bits() >> 32;
            out.push(0);
            out.extend_from_slice(&(conversation.key as u32).to_be_bytes());
        }
        2 => {
            if !conversation.is_retransmission {
                conversation.requested =
                    if random.below(6) > 0 { 1 } else { random.pick(&[3, 5, 7, 9, 15, 17, 31]) };
            }
            sqp_query(conversation, out);
            out.push(conversation.requested);
        }
        _ => {
            sqp_query(conversation, out);
            out.extend_from_slice(&[0, 0, 0, 0]);
            let start = out.len();
            sqp_chunks(conversation.requested, server, random, out);
            let length = (out.len() - start) as u16;
            out[start - 2..start].copy_from_slice(&length.to_be_bytes());
            if random.chance(DAMAGED_PARTS_PER_MILLION) {
                out.pop();
            }
            return Next::End;
        }
    }
    Next::Reply
}

/// Type, token and version; metrics need version 2.
fn sqp_query(conversation: &Conversation, out: &mut Vec<u8>) {
    out.push(1);
    out.extend_from_slice(&(conversation.key as u32).to_be_bytes());
    out.extend_from_slice(&[0, if conversation.requested & 16 == 0 { 1 } else { 2 }]);
}

fn sqp_chunks(requested: u8, server: &Server, random: &mut Random, out: &mut Vec<u8>) {
    let players = random.below(u32::from(server.max_players) + 1) as u16;
    for bit in 0..5 {
        if requested >> bit & 1 == 1 {
            let start = out.len();
            out.extend_from_slice(&[0; 4]);
            match bit {
                0 => sqp_info(server, players, out),
                1 => sqp_rules(random, out),
                2 => sqp_scores(players.min(8), &PLAYERS, random, out),
                3 => sqp_scores(2, &["red", "blue"], random, out),
                _ => sqp_metrics(random, out),
            }
            let length = (out.len() - start - 4) as u32;
            out[start..start + 4].copy_from_slice(&length.to_be_bytes());
        }
    }
}

/// `| players 2 | maximum 2 | name | game type | build | map | port 2 |`
fn sqp_info(server: &Server, players: u16, out: &mut Vec<u8>) {
    out.extend_from_slice(&players.to_be_bytes());
    out.extend_from_slice(&server.max_players.to_be_bytes());
    for text in [server.name.as_str(), server.game, &server.build, server.map] {
        sqp_string(text, out);
    }
    out.extend_from_slice(&server.game_port.to_be_bytes());
}

/// `| key | type 1 | value |` until the chunk ends
fn sqp_rules(random: &mut Random, out: &mut Vec<u8>) {
    sqp_string("friendlyfire", out);
    out.extend_from_slice(&[0, random.below(2) as u8]);
    sqp_string("timelimit", out);
    out.extend_from_slice(&[1, 0, 10 + random.below(50) as u8]);
    sqp_string("region", out);
    out.push(4);
    sqp_string(random.pick(&["eu-west", "us-east", "ap-south"]), out);
}

/// `| records 2 | fields 1 | column names and types | values |`
fn sqp_scores(records: u16, names: &[&str], random: &mut Random, out: &mut Vec<u8>) {
    out.extend_from_slice(&records.to_be_bytes());
    out.push(2);
    sqp_string("name", out);
    out.push(4);
    sqp_string("score", out);
    out.push(2);
    for record in 0..usize::from(records) {
        sqp_string(names[record % names.len()], out);
        out.extend_from_slice(&random.below(5_000).to_be_bytes());
    }
}

/// `| count 1 | count times float32 |`
fn sqp_metrics(random: &mut Random, out: &mut Vec<u8>) {
    out.push(4);
    for _ in 0..4 {
        out.extend_from_slice(&(random.below(1_000) as f32 / 8.0).to_be_bytes());
    }
}

/// `| length 1 | UTF-8 |`; every text here is shorter than 256 bytes
fn sqp_string(text: &str, out: &mut Vec<u8>) {
    out.push(text.len() as u8);
    out.extend_from_slice(text.as_bytes());
}

/// Satisfactory Lightweight Query, little-endian:
///
/// ```text
/// poll   | D5 F6 | 0 | 1 | cookie 8 | 1 |
/// state  | D5 F6 | 1 | 1 | cookie 8 | state 1 | net CL 4 | flags 8 | n 1 | n times (id 1, version 2) |
///        | length 2 | name | 1 |
/// ```
fn satisfactory(
    conversation: &mut Conversation,
    server: &Server,
    random: &mut Random,
    out: &mut Vec<u8>,
) -> Next {
    let answer = conversation.step % 2 == 1;
    if !answer && !conversation.is_retransmission {
        conversation.key = random.bits();
    }
    out.extend_from_slice(&[0xd5, 0xf6, u8::from(answer), 1]);
    out.extend_from_slice(&conversation.key.to_le_bytes());
    if !answer {
        out.push(1);
        return Next::Reply;
    }
    out.push(1 + random.below(3) as u8);
    out.extend_from_slice(&(366_202 + u32::from(server.game_port)).to_le_bytes());
    out.extend_from_slice(&u64::from(server.max_players > 32).to_le_bytes());
    out.push(4);
    for state in [0, 1, 3, 2] {
        // Versions grow when a server changes; most stay the same during a capture.
        out.extend_from_slice(&[state, server.game_port as u8, 0]);
    }
    out.extend_from_slice(&(server.name.len() as u16).to_le_bytes());
    out.extend_from_slice(server.name.as_bytes());
    out.push(u8::from(!random.chance(DAMAGED_PARTS_PER_MILLION)));
    if random.below(8) == 0 { Next::Poll } else { Next::End }
}
