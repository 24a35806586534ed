//! A client that asks the server within the process, as `ask` does over a network, and what `check` says about it.

use super::Server;
use crate::capture::Time;
use crate::check::Policy;
use crate::classify::Choice;
use crate::net::{Endpoint, OwnedFrame};
use crate::pipeline::{Options, Pipeline};
use crate::protocols::{Ask, Level};
use crate::report::server::ServerFacts;
use crate::report::summary::Summary;
use crate::report::{Report, Totals};
use crate::verdict::{Check, Entry, Verdict};
use std::io;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};

/// The client that asks, and another one.
const CLIENT: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 40_001);
const OTHER: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(127, 0, 0, 2), 40_002);
const SERVER: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 10);
const MS: i64 = 1_000_000;
/// When the conversation begins: 2026-01-01, in nanoseconds since 1970.
const START: i64 = 1_767_225_600_000 * MS;
/// Time from one request to the next, how long an answer is on its way, and how long it is waited for.
const PAUSE: i64 = 300 * MS;
const TRAVEL: i64 = 10 * MS;
const TIMEOUT: i64 = 1_000 * MS;
/// How long nothing follows.
const AFTER: i64 = 120_000 * MS;
/// What the client takes for random, with the time added.
const RANDOM: u64 = 0x9e37_79b9_7f4a_7c15;
/// How often a request is sent.
const TRIES: usize = 3;

/// A conversation between one client and the server.
#[derive(Debug)]
pub struct Talk<'a> {
    server: &'a mut Server,
    address: SocketAddrV4,
    now: i64,
    /// In the order of their times.
    frames: Vec<(i64, OwnedFrame)>,
    /// The frame with which the present requests begin.
    begin: usize,
}

impl<'a> Talk<'a> {
    /// A conversation that has not begun, with a server on that port.
    pub fn with(server: &'a mut Server, port: u16) -> Talk<'a> {
        Talk { server, address: SocketAddrV4::new(SERVER, port), now: START, frames: vec![], begin: 0 }
    }

    /// Asks everything once, each request after the answer to the one before it.
    ///
    /// # Errors
    /// Never: nothing is written.
    pub fn ask(&mut self, all: bool) -> io::Result<()> {
        let random = RANDOM.wrapping_add(self.now.unsigned_abs());
        let (mut answered, mut first, mut latest) = (0_usize, vec![], vec![]);
        self.begin = self.frames.len();
        while answered < 64 {
            let next = Ask {
                answered,
                silences: 0,
                all,
                random,
                server: Some(self.address),
                first: &first,
                latest: &latest,
            };
            let id = self.server.id;
            let payloads = (0..TRIES).map_while(|silences| id.ask(&Ask { silences, ..next }));
            let payloads: Vec<_> = payloads.collect();
            let Some(answer) = self.request(&payloads)? else { break };
            if answered == 0 {
                first.clone_from(&answer);
            }
            latest = answer;
            answered = answered.saturating_add(1);
        }
        Ok(())
    }

    /// Sends a datagram of the first client, or of the other one, and takes the answers to it.
    pub fn send(&mut self, other: bool, payload: &[u8]) -> Vec<Vec<u8>> {
        let client = if other { OTHER } else { CLIENT };
        let sent = self.now;
        self.add(sent, client, self.address, payload);
        let replies = self.server.answer(SocketAddr::V4(client), payload);
        for (reply, order) in replies.iter().zip(1..) {
            let delay =
                i64::from(reply.after).saturating_mul(MS).saturating_add(TRAVEL).saturating_add(order);
            self.add(sent.saturating_add(delay), self.address, client, &reply.payload);
        }
        self.now = sent.saturating_add(PAUSE);
        replies.into_iter().map(|reply| reply.payload).collect()
    }

    /// The frames in order.
    #[cfg(test)]
    pub fn frames(self) -> Vec<OwnedFrame> {
        self.frames.into_iter().map(|(_, frame)| frame).collect()
    }

    /// Returns the last answer to a request, which is sent again where no answer comes in time.
    fn request(&mut self, payloads: &[Vec<u8>]) -> io::Result<Option<Vec<u8>>> {
        let before = self.answered()?;
        for payload in payloads {
            let sent = self.now;
            let replies = self.send(false, payload);
            if self.answered()? > before {
                return Ok(replies.into_iter().next_back());
            }
            self.now = sent.saturating_add(TIMEOUT);
        }
        Ok(None)
    }

    /// How many of the present requests have been answered by now.
    fn answered(&self) -> io::Result<u64> {
        let frames = self.frames.iter().skip(self.begin).filter(|(time, _)| *time <= self.now);
        let frames = frames.map(|(_, frame)| frame);
        let totals = self.play(frames, &mut Summary::default())?;
        Ok((totals.answered.saturating_add(totals.late)).saturating_sub(totals.unreadable))
    }

    fn add(&mut self, time: i64, from: SocketAddrV4, to: SocketAddrV4, payload: &[u8]) {
        let [from, to] = [from, to].map(|end| Endpoint::from(SocketAddr::V4(end)));
        let frame = OwnedFrame::udp(Time::from_nanos(time), from, to, payload, 0);
        let at = self.frames.partition_point(|(other, _)| *other <= time);
        self.frames.insert(at, (time, frame));
    }

    /// The options with which the frames are read: those of `ask --check`.
    fn options(&self) -> Options {
        let choice = Choice { pins: vec![(self.address.port(), self.server.id)], ..Choice::default() };
        let mut policy = Policy::default();
        policy.asked_server = Some(SocketAddr::V4(self.address).into());
        Options { choice, policy, min_confidence: Level::Low, ..Options::default() }
    }

    fn play<'f>(
        &self,
        frames: impl Iterator<Item = &'f OwnedFrame>,
        report: &mut dyn Report,
    ) -> io::Result<Totals> {
        let mut pipeline = Pipeline::new(self.options(), report);
        for (number, frame) in (1..).zip(frames) {
            pipeline.frame(&frame.frame(number))?;
        }
        pipeline.finish(true)
    }

    /// What `check` says.
    ///
    /// # Errors
    /// Never: nothing is written.
    pub fn verdict(&self) -> io::Result<Verdict> {
        let mut check = Check::new(self.options().policy, |_: &mut Entry, _: &str| Ok(()));
        let end = self.frames.last().map(|(_, last)| OwnedFrame::empty(last.time.plus(AFTER)));
        let totals = self.play(self.frames.iter().map(|(_, frame)| frame).chain(&end), &mut check)?;
        check.verdict(totals)
    }

    /// What the server says of itself.
    ///
    /// # Errors
    /// Never: nothing is written.
    pub fn facts(&self) -> io::Result<ServerFacts> {
        let mut summary = Summary::default();
        self.play(self.frames.iter().map(|(_, frame)| frame), &mut summary)?;
        Ok(summary.servers().next().map(|server| server.facts.clone()).unwrap_or_default())
    }
}
