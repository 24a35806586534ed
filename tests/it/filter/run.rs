//! Runs many filters over a capture in one pass of the real pipeline.

use qdissect::capture::Source;
use qdissect::exchange::Exchange;
use qdissect::filter::{Filter, FrameFacts, Pick, View};
use qdissect::net::Datagram;
use qdissect::pipeline::{Options, Pipeline};
use qdissect::protocols::Level;
use qdissect::report::{Packet, Report, Wants};
use std::collections::HashMap;
use std::io;
use std::path::Path;

/// The frames and exchanges that passed a filter.
#[derive(Debug)]
pub struct Passed {
    filter: Filter,
    pick: Pick,
    /// Frames of the datagrams.
    pub frames: Vec<u64>,
    /// Numbers of the exchanges.
    pub exchanges: Vec<u64>,
}

impl Passed {
    fn judge(&mut self, frame: u64, view: &View<'_>) {
        if self.filter.matches(view) {
            self.frames.push(frame);
        }
    }
}

struct Judge {
    frames: HashMap<u64, (FrameFacts, Vec<u8>)>,
    passed: Vec<Passed>,
}

impl Judge {
    /// The facts about the frame of a datagram; `None` if it contains headers of a tunnel or of several packets.
    fn known(&self, d: &Datagram<'_>) -> Option<(FrameFacts, Vec<u8>)> {
        let plain = d.tunnel == 0 && d.at < Datagram::NOT_IN_FILE;
        self.frames.get(&d.frame).filter(|_| plain).cloned()
    }
}

impl Report for Judge {
    fn wants(&self) -> Wants {
        Wants { ordered: true, ..Wants::default() }
    }

    fn packet(&mut self, p: &Packet<'_>) -> io::Result<()> {
        let Some((facts, bytes)) = self.known(p.datagram) else { return Ok(()) };
        for passed in &mut self.passed {
            passed.pick.packet(p, false);
            let pick = std::mem::take(&mut passed.pick);
            let view = View { facts: Some(&facts), bytes: &bytes, picked: Some(&pick), ..View::of_packet(p) };
            passed.judge(p.datagram.frame, &view);
            passed.pick = pick;
        }
        Ok(())
    }
    fn unclaimed(&mut self, d: &Datagram<'_>) -> io::Result<()> {
        let Some((facts, bytes)) = self.known(d) else { return Ok(()) };
        let view = View { facts: Some(&facts), bytes: &bytes, ..View::of_datagram(d) };
        self.passed.iter_mut().for_each(|passed| passed.judge(d.frame, &view));
        Ok(())
    }
    fn exchange(&mut self, e: &Exchange, findings: &[qdissect::check::Finding]) -> io::Result<()> {
        for passed in &mut self.passed {
            if passed.filter.matches(&View::of_exchange(e, findings)) {
                passed.exchanges.push(e.id);
            }
        }
        Ok(())
    }
}

/// What passes each of the expressions; `None` if the file is no capture. Frames before damage count.
pub fn passed(path: &Path, expressions: &[&str]) -> Option<Vec<Passed>> {
    let mut frames = HashMap::new();
    let mut source = Source::open(path).ok()?;
    while let Ok(Some(frame)) = source.next() {
        frames.insert(frame.number, (FrameFacts::of(&frame), frame.bytes.to_vec()));
    }
    let compiled = |text: &&str| {
        let filter = Filter::parse(text).unwrap_or_else(|e| panic!("{e}\n{}", e.caret(text)));
        let pick = Pick::new(&filter);
        Passed { filter, pick, frames: vec![], exchanges: vec![] }
    };
    let mut judge = Judge { frames, passed: expressions.iter().map(compiled).collect() };
    let options = Options { all: true, min_confidence: Level::Low, ..Options::default() };
    let mut pipeline = Pipeline::new(options, &mut judge);
    let _ = pipeline.read(&mut Source::open(path).ok()?, "capture");
    pipeline.finish(true).expect("nothing is written");
    Some(judge.passed)
}
