//! The answers of a capture, by request.

use super::Reply;
use super::request::Request;
use super::rounds::{Planned, Round, Rounds};
use crate::check::Packet;
use crate::contract::Direction;
use crate::net::Endpoint;
use crate::protocols::Id;
use crate::report::{Report, Wants};
use std::collections::HashMap;
use std::io;

/// Maximum number of requests taken from a capture, and of bytes of their answers.
const MAX_ROUNDS: usize = 4_096;
const MAX_BYTES: usize = 16 << 20;

/// Takes the conversations of one server from a capture: of the first that answers in the protocol.
#[derive(Debug)]
pub struct Replay {
    id: Id,
    /// The server, once one has answered.
    server: Option<Endpoint>,
    /// Requests by frame, until they are answered.
    rounds: Vec<(u64, Endpoint, Round)>,
    /// Place of a request among them, by frame.
    places: HashMap<u64, usize>,
    bytes: usize,
    /// Number of requests and answers for which there was no room.
    pub left_out: u64,
}

impl Replay {
    /// An empty one.
    pub fn of(id: Id) -> Replay {
        Replay { id, server: None, rounds: vec![], places: HashMap::new(), bytes: 0, left_out: 0 }
    }

    /// The server, and its conversations.
    pub fn finish(self) -> Option<(Endpoint, Rounds)> {
        let server = self.server?;
        let of_server = |(_, asked, round): (u64, Endpoint, Round)| {
            (asked == server && !round.replies.is_empty()).then_some(round)
        };
        let rounds: Vec<_> = self.rounds.into_iter().filter_map(of_server).collect();
        (!rounds.is_empty()).then(|| (server, Rounds::new(self.id, rounds, vec![])))
    }

    fn ask(&mut self, p: &Packet<'_>) {
        let Some(request) = Request::of(self.id, p.datagram.payload) else { return };
        if self.rounds.len() >= MAX_ROUNDS {
            self.left_out = self.left_out.saturating_add(1);
            return;
        }
        self.places.insert(p.datagram.frame, self.rounds.len());
        self.rounds.push((p.datagram.frame, p.datagram.dst, Round { request, replies: vec![] }));
    }

    fn answer(&mut self, p: &Packet<'_>) {
        let asked = p.pairing.request_frame(p.datagram.frame).and_then(|frame| self.places.get(&frame));
        let Some((_, server, round)) = asked.and_then(|at| self.rounds.get_mut(*at)) else { return };
        let payload = p.datagram.payload.to_vec();
        self.bytes = self.bytes.saturating_add(payload.len());
        if self.bytes > MAX_BYTES {
            self.left_out = self.left_out.saturating_add(1);
            return;
        }
        self.server.get_or_insert(*server);
        round.replies.push(Planned { reply: Reply { after: 0, payload }, as_recorded: false });
    }
}

impl Report for Replay {
    fn wants(&self) -> Wants {
        Wants { ordered: true, ..Wants::default() }
    }

    fn packet(&mut self, p: &Packet<'_>) -> io::Result<()> {
        if p.id == self.id && p.datagram.cut == 0 {
            match p.direction {
                Direction::C2s => self.ask(p),
                Direction::S2c => self.answer(p),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::{Server, Settings, is_own, talk::Talk};
    use crate::net::OwnedFrame;
    use crate::pipeline::{Options, Pipeline};

    /// The conversation of a client that asks so often.
    fn asked(times: usize) -> Replay {
        let mut server = Server::new(Id::Mumble, Settings::default(), is_own);
        let mut talk = Talk::with(&mut server, 64_738);
        (0..times).for_each(|n| drop(talk.send(false, &[&[0; 4][..], &(n as u64).to_be_bytes()].concat())));
        read(&talk.frames(), Replay::of(Id::Mumble))
    }

    fn read(frames: &[OwnedFrame], mut replay: Replay) -> Replay {
        let mut pipeline = Pipeline::new(Options::default(), &mut replay);
        for (number, frame) in (1..).zip(frames) {
            pipeline.frame(&frame.frame(number)).expect("nothing is written");
        }
        pipeline.finish(true).expect("nothing is written");
        replay
    }

    /// The bytes of the answers have a limit, too.
    #[test]
    fn answers_without_room_are_left_out() {
        let mut server = Server::new(Id::Mumble, Settings::default(), is_own);
        let mut talk = Talk::with(&mut server, 64_738);
        talk.send(false, &[0; 12]);
        let frames = talk.frames();
        for (before, answers) in [(MAX_BYTES - 24, 1), (MAX_BYTES - 23, 0)] {
            let replay = read(&frames, Replay { bytes: before, ..Replay::of(Id::Mumble) });
            assert_eq!((replay.left_out, replay.finish().is_some()), (1 - answers, answers == 1));
        }
    }

    #[test]
    fn what_is_taken_from_a_capture_is_bounded() {
        for (times, left_out) in [(MAX_ROUNDS, 0), (MAX_ROUNDS + 2, 2)] {
            let replay = asked(times);
            assert_eq!(replay.left_out, left_out);
            assert_eq!(replay.finish().expect("a server").1.count(), MAX_ROUNDS);
        }
    }
}
