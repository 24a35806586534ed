//! The frames that may be needed, in memory, and the captures made of some of them.

use super::minimise::{Minimised, Trials, minimised};
use super::search::{Found, Search};
use crate::capture::{CaptureInfo, Frame, Source, Time, Writer};
use crate::net::{self, DropReason, Endpoint, OwnedFrame};
use crate::pipeline::{Options, Pipeline};
use hashbrown::HashMap;
use std::io;

/// The interface of the frame at the end: none of a capture has this number.
const END: u32 = u32::MAX;

/// Most bytes of frames in memory.
pub const MAX_BYTES: usize = 64 << 20;
/// Memory for a frame beside its bytes.
const PER_FRAME: usize = size_of::<Candidate>();

/// The only frame at which a finding will do.
pub type AtFrame = Option<u64>;

/// How much a frame has to do with the finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Closeness {
    /// It belongs to a protocol.
    Other,
    /// It is of the same server, or no datagram by itself: a fragment, a tunnel, an error of ICMP.
    Server,
    /// It is of the same client and server.
    Conversation,
}

/// A frame that may be needed.
#[derive(Debug)]
struct Candidate {
    input: usize,
    interface: u32,
    frame: OwnedFrame,
    comments: Vec<String>,
    closeness: Closeness,
    /// The finding is about it.
    is_target: bool,
    /// Its conversation: both ends, the lower one first; none where it is no datagram by itself.
    ends: Option<[Endpoint; 2]>,
}

/// The frames that may be needed for a finding, in order.
#[derive(Debug)]
pub struct Candidates {
    found: Found,
    /// The finding must be about its own frame, not about any.
    is_fixed: bool,
    options: Options,
    infos: Vec<CaptureInfo>,
    frames: Vec<Candidate>,
    bytes: usize,
    most: usize,
    /// Frames less close than this had no room.
    least: Closeness,
    application: String,
}

impl Candidates {
    /// No frames yet, for that finding in captures with these facts. `application` is written as the program that made the result.
    /// Where it `is_fixed`, no finding of the rule about another frame will do.
    pub fn new(
        (found, is_fixed): (Found, bool),
        options: Options,
        infos: Vec<CaptureInfo>,
        application: &str,
    ) -> Candidates {
        // A trial is read to its end, with the rules of the run.
        let options = Options { count: None, ..options };
        let least = Closeness::Other;
        let application = application.to_owned();
        Candidates {
            found,
            is_fixed,
            options,
            infos,
            frames: vec![],
            bytes: 0,
            most: MAX_BYTES,
            least,
            application,
        }
    }

    /// Whether frames of other servers or conversations had no room.
    pub fn left_out(&self) -> bool {
        self.least > Closeness::Other
    }

    /// Adds a frame of a capture with its comments, unless it cannot matter. `recognised` says whether a protocol claims it, and
    /// `is_target` whether the finding is about it. Returns whether there was room for what matters most.
    pub fn add(
        &mut self,
        (input, frame): (usize, &Frame<'_>),
        [recognised, is_target]: [bool; 2],
        comments: Vec<String>,
    ) -> bool {
        let parsed = net::parse(frame).map(|d| [d.src.min(d.dst), d.src.max(d.dst)]);
        let closeness = match parsed {
            _ if is_target => Closeness::Conversation,
            Ok(ends) if self.is_conversation(ends) => Closeness::Conversation,
            Ok(ends) if recognised && ends.iter().any(|end| end.host() == self.found.ends[1].host()) => {
                Closeness::Server
            }
            Err(DropReason::Icmp | DropReason::Fragment) => Closeness::Server,
            Err(DropReason::Tunnel) if recognised => Closeness::Server,
            Ok(_) | Err(_) if recognised => Closeness::Other,
            Ok(_) | Err(_) => return true,
        };
        if closeness < self.least {
            return true;
        }
        let owned = OwnedFrame {
            time: frame.time,
            link: frame.link,
            wire_len: frame.wire_len,
            bytes: frame.bytes.to_vec(),
        };
        let (interface, ends) = (frame.interface, parsed.ok());
        let candidate = Candidate { input, interface, frame: owned, comments, closeness, is_target, ends };
        self.bytes = self.bytes.saturating_add(size(&candidate));
        self.frames.push(candidate);
        while self.bytes > self.most {
            self.least = match self.least {
                Closeness::Other => Closeness::Server,
                Closeness::Server => Closeness::Conversation,
                Closeness::Conversation => return false,
            };
            self.frames.retain(|candidate| candidate.closeness >= self.least);
            self.bytes = self.frames.iter().map(size).fold(0, usize::saturating_add);
        }
        true
    }

    /// Adds an empty frame of the time at which the captures end: a request without an answer is judged by the time until then.
    pub fn end_at(&mut self, time: Time) {
        let (input, frame) = (self.infos.len().saturating_sub(1), OwnedFrame::placeholder(time));
        let (closeness, comments) = (Closeness::Conversation, vec![]);
        self.frames.push(Candidate {
            input,
            interface: END,
            frame,
            comments,
            closeness,
            is_target: false,
            ends: None,
        });
    }

    /// How many of these frames are of the captures.
    pub fn captured(&self, frames: &[usize]) -> usize {
        let is_captured = |candidate: &&Candidate| candidate.interface != END;
        frames.iter().filter_map(|at| self.frames.get(*at)).filter(is_captured).count()
    }

    /// Whether these are the hosts of the client and the server.
    fn is_conversation(&self, ends: [Endpoint; 2]) -> bool {
        let hosts = |ends: [Endpoint; 2]| ends.map(|end| end.host());
        let [client, server] = hosts(self.found.ends);
        [[client, server], [server, client]].contains(&hosts(ends))
    }

    /// Drops frames as long as the finding stays. `None` if the frames do not show it even together. `is_interrupted` ends the search.
    ///
    /// # Errors
    /// When a trial cannot be read, which would be a defect.
    pub fn minimised(&self, is_interrupted: impl Fn() -> bool) -> io::Result<Option<Minimised>> {
        let all: Vec<usize> = (0..self.frames.len()).collect();
        if !self.shows(&all)? {
            return Ok(None);
        }
        let (mut trials, mut failed) = (Trials::default(), None);
        let found = minimised(self.groups(), &mut trials, |frames, trials| {
            if is_interrupted() || failed.is_some() {
                trials.give_up();
            }
            trials.begin(frames.len())
                && self.shows(frames).unwrap_or_else(|e| {
                    failed = Some(e);
                    false
                })
        });
        failed.map_or(Ok(Some(found)), Err)
    }

    /// The conversations, that of the finding first.
    fn groups(&self) -> Vec<Vec<usize>> {
        let (mut groups, mut known): (Vec<Vec<usize>>, HashMap<_, usize>) = (vec![], HashMap::new());
        for (at, candidate) in self.frames.iter().enumerate() {
            let group = *known.entry(candidate.ends).or_insert(groups.len());
            match groups.get_mut(group) {
                Some(group) => group.push(at),
                None => groups.push(vec![at]),
            }
        }
        let is_close = |group: &Vec<usize>| {
            group
                .first()
                .and_then(|at| self.frames.get(*at))
                .map_or(Closeness::Other, |first| first.closeness)
        };
        groups.sort_by_key(|group| std::cmp::Reverse(is_close(group)));
        groups
    }

    /// Whether a capture of these frames shows the finding.
    ///
    /// # Errors
    /// When it cannot be read, which would be a defect.
    pub fn shows(&self, frames: &[usize]) -> io::Result<bool> {
        match self.place_of_target(frames) {
            None => Ok(false),
            Some(frame) => self.is_shown_by(self.capture(frames)?, frame),
        }
    }

    /// Where in a capture of these frames the finding must be; `None` if its frame is not among them.
    pub fn place_of_target(&self, frames: &[usize]) -> Option<AtFrame> {
        if !self.is_fixed {
            return Some(None);
        }
        let mut targets =
            frames.iter().map(|at| self.frames.get(*at).is_some_and(|candidate| candidate.is_target));
        targets.position(|is_target| is_target).map(|at| Some(at.saturating_add(1) as u64))
    }

    /// The options with which the finding was found.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Whether a capture shows the finding, at that frame if there is one.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn is_shown_by(&self, capture: Vec<u8>, frame: AtFrame) -> io::Result<bool> {
        let mut search = Search::new(self.found.rule, frame);
        let mut pipeline = Pipeline::new(self.options.clone(), &mut search);
        let name = "reduced.pcapng";
        let mut source = Source::in_memory(name, capture).map_err(io::Error::other)?;
        pipeline.read(&mut source, name).map_err(io::Error::other)?;
        pipeline.finish(true)?;
        Ok(search.shows(&self.found))
    }

    /// A capture of these frames, in order.
    ///
    /// # Errors
    /// When a frame has 4 GiB or more.
    pub fn capture(&self, frames: &[usize]) -> io::Result<Vec<u8>> {
        let mut writer = Writer::new(vec![], &self.application)?;
        let unknown = CaptureInfo::default();
        for candidate in frames.iter().filter_map(|at| self.frames.get(*at)) {
            let Candidate { input, interface, frame, comments, .. } = candidate;
            let frame = Frame { interface: *interface, ..frame.frame(1) };
            writer.frame(*input, self.infos.get(*input).unwrap_or(&unknown), &frame, comments)?;
        }
        writer.finish()
    }
}

fn size(candidate: &Candidate) -> usize {
    let comments = candidate.comments.iter().map(String::len).fold(0, usize::saturating_add);
    candidate.frame.bytes.len().saturating_add(PER_FRAME).saturating_add(comments)
}

#[cfg(test)]
#[allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::arithmetic_side_effects)]
mod tests {
    use super::*;
    use crate::capture::Time;
    use crate::check::Finding;
    use crate::protocols::Id;
    use crate::rule::general::GEN_009;

    const CLIENT: Endpoint = Endpoint::v4([192, 0, 2, 1], 40_000);
    const SERVER: Endpoint = Endpoint::v4([192, 0, 2, 2], 7777);
    const ANOTHER: Endpoint = Endpoint::v4([192, 0, 2, 3], 40_001);

    fn candidates(most: usize) -> Candidates {
        let finding = Finding::of_exchange(&GEN_009);
        let found = Found::of(&finding, 1, [CLIENT, SERVER], Id::Sqp);
        let new = Candidates::new((found, false), Options::default(), vec![], "test");
        Candidates { most, ..new }
    }

    fn add(candidates: &mut Candidates, from: Endpoint, to: Endpoint) -> bool {
        let owned = OwnedFrame::udp(Time::from_nanos(1), from, to, &[0; 100], 0);
        candidates.add((0, &owned.frame(1)), [true, false], vec![])
    }

    #[test]
    fn frames_of_others_are_left_out_for_want_of_room() {
        let one = PER_FRAME + 128;
        let mut all = candidates(one * 3);
        let other = [ANOTHER, Endpoint::v4([192, 0, 2, 4], 7777)];
        for (from, to, kept, is_left_out) in [
            (other[0], other[1], 1, false),
            (ANOTHER, SERVER, 2, false),
            (CLIENT, SERVER, 3, false),
            (SERVER, CLIENT, 3, true), // without the one of others
            (CLIENT, SERVER, 3, true), // without the one of the same server
            (ANOTHER, SERVER, 3, true),
        ] {
            assert!(add(&mut all, from, to));
            assert_eq!((all.frames.len(), all.left_out()), (kept, is_left_out));
        }
        assert!(!add(&mut all, SERVER, CLIENT), "there is no room for the conversation");
    }
}
