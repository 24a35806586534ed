//! Captures that can be shared: what is said of people and hosts is replaced, everything that is judged stays.
//!
//! ```text
//! pipeline ──Packet──> Anonymiser ──> Payloads        texts, addresses and tokens in the message; payload.rs
//!                          │             └──> decoded again, until it breaks the same rules in the same places
//!                          │
//!                          ├──> Held                  parts of a message, until all have come; held.rs
//!                          └──> a new frame ──> Writer
//! ```
//! Nothing is copied but the messages: each frame is built anew, so that nothing around them is left.

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic, clippy::arithmetic_side_effects)]

mod addresses;
mod held;
mod key;
mod pairs;
mod payload;
mod places;
mod texts;
mod tokens;

pub use key::Key;

use crate::capture::{CaptureInfo, Frame, Source, Time, Writer};
use crate::check::Packet;
use crate::decode::{AnyListener, Tree};
use crate::net::{self, Datagram, DropReason, Endpoint, OwnedFrame, Quote, link};
use crate::pipeline::{Options, Pipeline};
use crate::report::{Report, Wants};
use addresses::Addresses;
use held::{Held, Queue};
use pairs::{First, Pairs};
use payload::Payloads;
use std::collections::{BTreeMap, VecDeque};
use std::io::{self, Write};
use texts::Texts;
use tokens::Tokens;

/// Most ICMP errors that wait for the datagrams before them; then the oldest one is left out.
pub const MAX_ERRORS: usize = 65_536;

/// What was written and what was not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Datagrams written.
    pub written: u64,
    /// Datagrams left out, because their messages came compressed.
    pub compressed: u64,
    /// Datagrams left out, because what a rule reads in them could not be replaced.
    pub unreplaced: u64,
    /// Fields whose text stayed because a rule reads it, each with the number of times.
    pub stayed: BTreeMap<&'static str, u64>,
}

/// A report that writes the datagrams of the protocols to another capture, anonymised.
pub struct Anonymiser<W: Write> {
    writer: Writer<W>,
    payloads: Payloads,
    queue: Queue,
    counts: Counts,
    /// Number of captures so far, and of the frames before the last one.
    captures: (usize, u64),
    /// ICMP errors about datagrams, each with its number, until those before it are written.
    errors: VecDeque<(u64, OwnedFrame)>,
    /// Ends between which datagrams of the protocols came.
    pairs: Pairs,
    /// Number and time of the first frame and of the latest one.
    ends: Option<[(u64, Time); 2]>,
    /// Number of the latest frame that was written.
    written: u64,
}

impl<W: Write> Anonymiser<W> {
    /// Writes to a capture; everything follows from the key.
    pub fn new(writer: Writer<W>, key: Key) -> Anonymiser<W> {
        let payloads = Payloads::new(Addresses::new(key), Texts::new(key), Tokens::new(key));
        Anonymiser {
            writer,
            payloads,
            queue: Queue::default(),
            counts: Counts::default(),
            captures: (0, 0),
            errors: VecDeque::new(),
            pairs: Pairs::default(),
            ends: None,
            written: 0,
        }
    }

    /// Writes what waits for others, and returns what `W` has become.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn finish(mut self) -> io::Result<(W, Counts)> {
        while let Some(held) = self.queue.pop() {
            self.write(&held)?;
        }
        self.write_errors(u64::MAX)?;
        // What was asked just before the end is judged by the time until then.
        if let Some([_, (last, time)]) = self.ends.filter(|[_, (last, _)]| *last > self.written) {
            self.write_frame(self.captures.0, (last, 0), &OwnedFrame::placeholder(time))?;
        }
        self.counts.stayed = self.payloads.stayed;
        Ok((self.writer.finish()?, self.counts))
    }

    fn write(&mut self, held: &Held) -> io::Result<()> {
        if held.is_compressed {
            self.counts.compressed = self.counts.compressed.saturating_add(1);
            return Ok(());
        }
        self.counts.written = self.counts.written.saturating_add(u64::from(!held.is_meaningless));
        let d = Datagram { payload: &held.payload, ..held.datagram };
        let d = Datagram { checksum: held.checksum.of(&d), ..d };
        self.write_errors(d.frame)?;
        // Interfaces are told apart as the pipeline does, and have no names.
        self.write_frame(held.capture, (d.frame, d.origin), &OwnedFrame::of(&d))
    }

    fn write_ready(&mut self) -> io::Result<()> {
        if let Some([_, (latest, _)]) = self.ends {
            self.queue.drop_waiting(latest);
        }
        while let Some(held) = self.queue.pop_ready() {
            self.write(&held)?;
        }
        Ok(())
    }

    /// Writes the ICMP errors before a frame.
    fn write_errors(&mut self, before: u64) -> io::Result<()> {
        while self.errors.front().is_some_and(|(number, _)| *number < before) {
            let Some((number, frame)) = self.errors.pop_front() else { break };
            self.write_frame(self.captures.0, (number, 0), &frame)?;
        }
        Ok(())
    }

    /// Writes a frame with its number and interface.
    fn write_frame(
        &mut self,
        capture: usize,
        (number, interface): (u64, u32),
        frame: &OwnedFrame,
    ) -> io::Result<()> {
        if let Some([(first, time), _]) =
            self.ends.filter(|[(first, _), _]| self.written == 0 && *first < number)
        {
            self.written = first;
            self.write_frame(capture, (first, interface), &OwnedFrame::placeholder(time))?;
        }
        self.written = self.written.max(number);
        let frame = Frame { interface, ..frame.frame(number) };
        self.writer.frame(capture, &CaptureInfo::default(), &frame, &[""; 0])
    }

    /// The datagram between the ends that stand for its own.
    fn between(&mut self, d: &Datagram<'_>) -> Datagram<'static> {
        let mut other = |end: Endpoint| self.payloads.addresses.endpoint(end);
        Datagram { src: other(d.src), dst: other(d.dst), payload: &[], ..*d }
    }
}

/// The options that an [`Anonymiser`] needs: texts that are hidden elsewhere are replaced like all others, and datagrams that no
/// protocol claims are reported.
pub fn needed(options: Options) -> Options {
    Options { secrets: true, all: true, ..options }
}

/// A capture in memory, anonymised. `application` is the program that writes it.
///
/// # Errors
/// When it is no capture, or cannot be read to its end.
pub fn anonymised(
    capture: Vec<u8>,
    options: Options,
    key: Key,
    application: &str,
) -> io::Result<(Vec<u8>, Counts)> {
    let name = "capture";
    let mut anonymiser = Anonymiser::new(Writer::new(vec![], application)?, key);
    let mut pipeline = Pipeline::new(needed(options), &mut anonymiser);
    let mut source = Source::in_memory(name, capture).map_err(io::Error::other)?;
    pipeline.read(&mut source, name).map_err(io::Error::other)?;
    pipeline.finish(true)?;
    anonymiser.finish()
}

impl<W: Write> Report for Anonymiser<W> {
    fn listener(&self) -> AnyListener {
        AnyListener::Tree(Tree::default())
    }

    fn wants(&self) -> Wants {
        Wants { ordered: true, frames: true, ..Wants::default() }
    }

    fn frame(&mut self, frame: &Frame<'_>, _: &Result<Datagram<'_>, DropReason>) {
        let this = (frame.number, frame.time);
        self.ends = Some(self.ends.map_or([this; 2], |[first, _]| [first, this]));
    }

    fn refused(&mut self, quote: &Quote<'_>) {
        if self.errors.len() >= MAX_ERRORS {
            self.errors.pop_front();
        }
        let error = OwnedFrame::error(quote.kind, &self.between(&quote.datagram));
        self.errors.push_back((quote.datagram.frame, error));
    }

    fn file(&mut self, _: &str, facts: &CaptureInfo, before: u64) -> io::Result<()> {
        self.captures = (self.captures.0.saturating_add(1), before);
        // Copies and translations are looked for where a capture begins with several interfaces.
        if facts.interfaces.len() > 1 || facts.links.iter().any(|link| net::has_direction(*link)) {
            for origin in [0, 1 << 8] {
                self.writer.interface(self.captures.0, origin, link::RAW)?;
            }
        }
        Ok(())
    }

    fn packet(&mut self, p: &Packet<'_>) -> io::Result<()> {
        let Some(bytes) = p.tree().and_then(|tree| self.payloads.replace(p, tree)) else {
            self.counts.unreplaced = self.counts.unreplaced.saturating_add(1);
            return Ok(());
        };
        if let Some(pair) = self.pairs.note(p.datagram) {
            let addresses = &mut self.payloads.addresses;
            let ways = self.queue.release_between(pair, &mut |end| addresses.endpoint(end));
            self.pairs.note_others(pair, ways);
        }
        let datagram = self.between(p.datagram);
        let held = Held::new(p.datagram, datagram, self.captures.0);
        self.queue.add(held, (p, bytes), self.captures.1, &self.payloads);
        self.write_ready()
    }

    /// Where two ends exchange other datagrams, too, one of those is no broken answer. So the first one each way is in the capture,
    /// without what is in it.
    fn unclaimed(&mut self, d: &Datagram<'_>) -> io::Result<()> {
        match self.pairs.first_other(d) {
            Some(First::BetweenNoted) => {
                let datagram = self.between(d);
                self.queue.push(Held::meaningless(d, datagram, self.captures.0));
            }
            Some(First::BetweenUnknown(way)) => self.queue.push(Held::waiting(d, self.captures.0, way)),
            None => {}
        }
        self.write_ready()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::payload::MAX_TRIALS;
    use super::*;
    use std::path::Path;

    #[test]
    fn errors_beyond_the_limit_are_left_out() {
        let mut anonymiser = Anonymiser::new(Writer::new(io::sink(), "test").unwrap(), Key::of("test"));
        let [a, b] = [1, 2].map(|last| Endpoint::v4([192, 0, 2, last], 7));
        for frame in 0..=MAX_ERRORS as u64 {
            let datagram = Datagram { frame, ..Datagram::between(a, b, b"") };
            anonymiser.refused(&Quote { datagram, reason: "", kind: [3, 3] });
        }
        assert_eq!(
            (anonymiser.errors.len(), anonymiser.errors.front().map(|(first, _)| *first)),
            (MAX_ERRORS, Some(1))
        );
    }

    fn counts(most_trials: usize) -> Counts {
        let writer = Writer::new(io::sink(), "test").unwrap();
        let mut anonymiser = Anonymiser::new(writer, Key::of("test"));
        anonymiser.payloads.most_trials = most_trials;
        let mut pipeline = Pipeline::new(Options::default(), &mut anonymiser);
        pipeline.read(&mut Source::open(Path::new("captures/demo.pcapng")).unwrap(), "demo").unwrap();
        pipeline.finish(true).unwrap();
        anonymiser.finish().unwrap().1
    }

    #[test]
    fn a_message_that_needs_too_many_trials_is_left_out() {
        let (few, many) = (counts(0), counts(MAX_TRIALS));
        assert!(few.unreplaced > 0 && many.unreplaced == 0, "{few:?} {many:?}");
        assert_eq!(few.written + few.unreplaced, many.written);
    }
}
