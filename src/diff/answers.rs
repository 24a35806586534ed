//! The report that remembers, beside what the case of a server needs, its latest answers and its response times.

use crate::case::{Gathered, Target};
use crate::check::{Finding, Packet};
use crate::contract::Whole;
use crate::decode::{AnyListener, FieldKind, Node, Tree};
use crate::exchange::Exchange;
use crate::net::Endpoint;
use crate::protocols::{Direction, Id};
use crate::report::times::Times;
use crate::report::{Report, Wants};
use crate::rule::general::GEN_008;
use hashbrown::HashMap;
use std::io;

/// Most servers whose answers and response times are kept.
pub const MAX_COMPARED: usize = 1_024;
/// Most bytes kept of answers, of all servers together.
pub const MAX_ANSWER_BYTES: usize = 64 << 20;
/// Response times in quantiles are multiples of a microsecond.
pub const UNIT: i64 = 1_000;

/// State of a request, where it is known.
type Asked = Option<u32>;

/// An answer with the fields in it.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// Its bytes, to which the fields refer.
    pub bytes: Vec<u8>,
    /// Its fields, groups before their contents.
    pub nodes: Vec<Node>,
    /// The capture has not all of its bytes.
    pub is_cut: bool,
    /// What its request asked for.
    pub asked: Asked,
}

/// The latest answer of a message.
#[derive(Clone, Debug, Default)]
pub struct Latest {
    /// The latest one, a whole one if there is any.
    pub last: Answer,
    /// Groups and lists of earlier answers that the latest one does not have: the latest of each.
    pub parts: HashMap<&'static str, Answer>,
    /// Number of such answers.
    pub count: u64,
}

/// What is compared of a server in one protocol.
#[derive(Debug, Default)]
pub struct Compared {
    /// The latest answers by message.
    pub messages: HashMap<u8, Latest>,
    /// Response times by step: of steps with the same name, the first.
    pub times: HashMap<u8, Times<UNIT>>,
    /// Requests by step, likewise.
    pub requests: HashMap<u8, u64>,
    /// Datagrams of the server and its clients.
    pub packets: u64,
}

/// The servers of a capture.
#[derive(Debug)]
pub struct Seen {
    pub(super) case: Gathered,
    pub(super) servers: HashMap<(Endpoint, Id), Compared>,
    bytes: usize,
    /// Number of datagrams that were not compared for want of room.
    pub(super) left_out: u64,
}

impl Seen {
    /// Nothing yet, about that server or all.
    pub fn new(target: Target) -> Seen {
        Seen { case: Gathered::new(target), servers: HashMap::new(), bytes: 0, left_out: 0 }
    }

    fn server(&mut self, end: Endpoint, id: Id) -> Option<&mut Compared> {
        if !self.case.is_wanted(end) {
            return None;
        }
        let is_full = self.servers.len() >= MAX_COMPARED && !self.servers.contains_key(&(end, id));
        (!is_full).then(|| self.servers.entry((end, id)).or_default())
    }

    fn answer(&mut self, p: &Packet<'_>, server: Endpoint) {
        let Some(tree) = p.tree() else { return };
        let is_cut = p.whole().map_or(p.datagram.cut as usize, Whole::missing) > 0;
        let room = MAX_ANSWER_BYTES.saturating_sub(self.bytes);
        let size = size_of(p.bytes, tree.nodes());
        let (message, asked) = (p.message, p.pairing.asked());
        let Some(compared) = self.server(server, p.id) else { return };
        let latest = compared.messages.entry(message).or_default();
        latest.count = latest.count.saturating_add(1);
        if is_cut && latest.count > 1 && !latest.last.is_cut {
            return;
        }
        if size > room {
            self.left_out = self.left_out.saturating_add(1);
            return;
        }
        let before = latest.size();
        // Only some messages have what their requests ask for.
        let asked = asked.filter(|_| is_chosen(p.id, message));
        latest.take(p.bytes, tree.nodes(), asked);
        latest.last.is_cut = is_cut;
        let after = latest.size();
        self.bytes = self.bytes.saturating_add(after).saturating_sub(before);
    }
}

impl Latest {
    /// Makes these bytes with these fields the latest answer. Of one before it whose request asked for something else, the parts are
    /// kept that it has not.
    fn take(&mut self, bytes: &[u8], nodes: &[Node], asked: Asked) {
        let parts =
            |nodes: &[Node]| nodes.iter().filter(|node| is_part(node)).map(|node| node.field.name).collect();
        let (has, had): (Vec<_>, Vec<_>) = (parts(nodes), parts(&self.last.nodes));
        self.parts.retain(|name, _| !has.contains(name));
        if self.last.asked != asked {
            for name in had.into_iter().filter(|name| !has.contains(name)) {
                self.parts.insert(name, self.last.clone());
            }
        }
        // The memory of the earlier answer is used again.
        let Answer { bytes: kept, nodes: kept_nodes, .. } = &mut self.last;
        kept.clear();
        kept.extend_from_slice(bytes);
        kept_nodes.clear();
        kept_nodes.extend_from_slice(nodes);
        self.last.asked = asked;
    }

    fn size(&self) -> usize {
        let answers = std::iter::once(&self.last).chain(self.parts.values());
        answers.map(|answer| size_of(&answer.bytes, &answer.nodes)).fold(0, usize::saturating_add)
    }
}

/// Whether the request of a message chooses which groups and lists it has.
pub fn is_chosen(id: Id, message: u8) -> bool {
    id.info().messages.get(usize::from(message)).is_some_and(|message| message.by_request)
}

/// Whether a message may have it or not, as its request says: SQP's chunks.
fn is_part(node: &Node) -> bool {
    node.depth == 0 && matches!(node.field.kind, FieldKind::Group | FieldKind::List)
}

fn size_of(bytes: &[u8], nodes: &[Node]) -> usize {
    bytes.len().saturating_add(std::mem::size_of_val(nodes))
}

impl Report for Seen {
    fn inner(&mut self) -> Option<&mut dyn Report> {
        Some(&mut self.case)
    }

    fn listener(&self) -> AnyListener {
        AnyListener::Tree(Tree::default())
    }

    fn wants(&self) -> Wants {
        Wants { diagnosis: false, ..self.case.wants() }
    }

    fn packet(&mut self, p: &Packet<'_>) -> io::Result<()> {
        if p.raised.has(&GEN_008) {
            return Ok(()); // the datagram was on the wire once
        }
        let [_, server] = p.ends();
        if let Some(compared) = self.server(server, p.id) {
            compared.packets = compared.packets.saturating_add(1);
        } else if self.case.is_wanted(server) {
            self.left_out = self.left_out.saturating_add(1);
        }
        let is_part_of_message = p.piece.is_some() && p.whole().is_none();
        if p.direction == Direction::S2c && !is_part_of_message {
            self.answer(p, server);
        }
        self.case.packet(p)
    }

    fn exchange(&mut self, e: &Exchange, findings: &[Finding]) -> io::Result<()> {
        if let Some(compared) = self.server(e.server, e.protocol) {
            let step = e.protocol.info().first_step_of_name(e.step);
            let requests = compared.requests.entry(step).or_default();
            *requests = requests.saturating_add(1);
            if let Some(time) = e.response_time {
                compared.times.entry(step).or_default().add(time, true);
            }
        }
        self.case.exchange(e, findings)
    }
}

#[cfg(test)]
#[allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::arithmetic_side_effects)]
mod tests {
    use super::*;
    use crate::capture::Time;
    use crate::net::OwnedFrame;
    use crate::pipeline::{Options, Pipeline};

    /// Answers of so many servers, to requests of one client.
    fn seen(servers: u16, mut seen: Seen) -> Seen {
        let client = Endpoint::v4([198, 51, 100, 7], 40_000);
        let mut pipeline = Pipeline::new(Options::default(), &mut seen);
        for n in 0..servers {
            let [high, low] = n.to_be_bytes();
            let server = Endpoint::v4([10, 0, high, low], 27_015);
            let info = b"\xff\xff\xff\xff\x49\x11A\0b\0c\0d\0\xf0\0\x05\x20\0dl\0\x011\0";
            let sent = [
                (client, server, &b"\xff\xff\xff\xff\x54Source Engine Query\0"[..]),
                (server, client, &info[..]),
            ];
            for (at, (from, to, payload)) in sent.into_iter().enumerate() {
                let time = Time::from_nanos(i64::from(n) * 2_000_000 + at as i64 * 1_000_000);
                let frame = OwnedFrame::udp(time, from, to, payload, 0);
                pipeline.frame(&frame.frame(u64::from(n) * 2 + at as u64 + 1)).unwrap();
            }
        }
        pipeline.finish(true).unwrap();
        seen
    }

    #[test]
    fn servers_and_answers_without_room_are_counted() {
        let all = seen(MAX_COMPARED as u16, Seen::new(Target::Any));
        assert_eq!((all.servers.len(), all.left_out), (MAX_COMPARED, 0));
        assert!(all.bytes > 0 && all.bytes < MAX_ANSWER_BYTES);
        // Of the last one neither request nor answer.
        let more = seen(MAX_COMPARED as u16 + 1, Seen::new(Target::Any));
        assert_eq!((more.servers.len(), more.left_out), (MAX_COMPARED, 2));
        let full = seen(2, Seen { bytes: MAX_ANSWER_BYTES, ..Seen::new(Target::Any) });
        assert_eq!((full.servers.len(), full.left_out), (2, 2));
    }
}
