//! Plays the example of a rule as a capture through the real pipeline, so that a user who asks about a rule sees how it is
//! broken.

use super::packet::Packet;
use crate::capture::Time;
use crate::check::Finding;
use crate::decode::{AnyListener, Tree};
use crate::exchange::{Exchange, Pairing};
use crate::net::{Datagram, DropReason, Endpoint, OwnedFrame, parse};
use crate::pipeline::{Options, Pipeline};
use crate::protocols::{Direction, Id, Level};
use crate::report::{Report, SilentServer, Wants};
use crate::rule::{Example, Step, hex};
use std::io;

/// The action of a [`Step`], the same for clients and server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// A datagram is sent.
    Send {
        /// Direction of travel.
        direction: Direction,
        /// Index of the client that sends or receives it: 0 is the first client, 1 the second.
        client: usize,
        /// Its payload in spaced hex.
        payload: &'static str,
    },
    /// See [`Step::Frame`].
    Frame(u16, u32, &'static str),
    /// See [`Step::Wait`].
    Wait(u32),
    /// See [`Step::Copy`].
    Copy,
}

impl Act {
    /// The action of a step.
    pub fn of(step: &Step) -> Act {
        let (direction, client, payload) = match *step {
            Step::C(payload) => (Direction::C2s, 0, payload),
            Step::S(payload) => (Direction::S2c, 0, payload),
            Step::C2(payload) => (Direction::C2s, 1, payload),
            Step::S2(payload) => (Direction::S2c, 1, payload),
            Step::Wait(ms) => return Act::Wait(ms),
            Step::Copy => return Act::Copy,
            Step::Frame(link, wire_len, text) => return Act::Frame(link, wire_len, text),
        };
        Act::Send { direction, client, payload }
    }
}

/// Address of the server in every example (TEST-NET-1).
const SERVER: [u8; 4] = [192, 0, 2, 10];
/// UDP port of the server where the example names none.
const PORT: u16 = 27_100;
/// The clients (TEST-NET-2 and TEST-NET-3) and their UDP ports.
const CLIENTS: [([u8; 4], u16); 2] = [([198, 51, 100, 7], 40_001), ([203, 0, 113, 9], 40_002)];

const MS: i64 = 1_000_000;
/// Time of the first step in nanoseconds since 1970: 2026-01-01.
const START: i64 = 1_767_225_600_000 * MS;
/// Time between two steps, in nanoseconds.
const STEP: i64 = 10 * MS;
/// Time from the start of the capture to the first step, and from the last step to the end of the capture, in nanoseconds:
/// more than what counts as the edge of a capture, and more than every answer window.
const BEFORE: i64 = 30_000 * MS;
const AFTER: i64 = 120_000 * MS;

/// What an end is called in an example; ends that only whole frames name are called by their address.
fn name_of(end: Endpoint, example: &Example) -> String {
    let [first, second] = CLIENTS.map(|(ip, port)| Endpoint::v4(ip, port));
    match end {
        _ if end == first => "client".to_owned(),
        _ if end == second => "second client".to_owned(),
        _ if end == Endpoint::v4(SERVER, port(example)) => "server".to_owned(),
        other => other.to_string(),
    }
}

fn port(example: &Example) -> u16 {
    example.server_port.unwrap_or(PORT)
}

/// The frames of an example, numbered from 1. An empty frame with number 0 stands before them, unless the example plays at
/// the start of the capture, and another empty frame after them.
fn shots(example: &Example) -> Vec<(u64, OwnedFrame)> {
    let server = Endpoint::v4(SERVER, port(example));
    let empty = |time| OwnedFrame::empty(Time::from_nanos(time));
    let mut shots = if example.at_start { vec![] } else { vec![(0, empty(START - BEFORE))] };
    let (mut time, mut number) = (START, 1);
    for step in example.steps {
        let at = Time::from_nanos(time);
        let shot = match Act::of(step) {
            Act::Send { direction, client, payload } => {
                let (ip, port) = CLIENTS[client];
                let [from, to] = direction.order([Endpoint::v4(ip, port), server]);
                OwnedFrame::udp(at, from, to, &hex(payload), 0)
            }
            Act::Frame(link, wire_len, text) => OwnedFrame { time: at, link, wire_len, bytes: hex(text) },
            Act::Wait(ms) => {
                time += i64::from(ms) * MS;
                continue;
            }
            Act::Copy => {
                if let Some((_, last)) = shots.last().cloned() {
                    shots.push((number, OwnedFrame { time: last.time.plus(MS / 10), ..last }));
                    number += 1;
                }
                continue;
            }
        };
        shots.push((number, shot));
        number += 1;
        time += STEP;
    }
    shots.push((number, empty(time + AFTER)));
    shots
}

/// Plays an example through the pipeline. Its frames count from 1, its steps are 10 ms apart, and the capture
/// is long enough for every answer window to pass.
///
/// # Errors
/// When the report cannot be written.
pub fn play(example: &Example, options: Options, report: &mut dyn Report) -> io::Result<()> {
    let mut pipeline = Pipeline::new(options, report);
    for (number, shot) in shots(example) {
        pipeline.frame(&shot.frame(number))?;
    }
    pipeline.finish(true).map(drop)
}

/// An example as the pipeline sees it.
#[derive(Debug, Default)]
pub struct Dissected {
    /// Its datagrams in order.
    pub datagrams: Vec<ExampleDatagram>,
    /// Its exchanges in the order they closed, each with the findings about it as a whole.
    pub exchanges: Vec<(Exchange, Vec<Finding>)>,
    /// Its frames that hold no UDP datagram.
    pub others: Vec<Other>,
}

/// A frame of an example that holds no UDP datagram.
#[derive(Clone, Copy, Debug)]
pub struct Other {
    /// Number of the frame, from 1.
    pub frame: u64,
    /// Nanoseconds since the first step.
    pub time: i64,
    /// Why the frame holds no datagram.
    pub what: DropReason,
}

/// A datagram of an example.
#[derive(Debug)]
pub struct ExampleDatagram {
    /// Number of its frame, from 1.
    pub frame: u64,
    /// Nanoseconds since the first step.
    pub time: i64,
    /// Its sender.
    pub from: String,
    /// Its receiver.
    pub to: String,
    /// The payload as captured.
    pub payload: Vec<u8>,
    /// The bytes of its message: the payload, or the message that was joined from it and other parts.
    pub bytes: Vec<u8>,
    /// Bytes of the payload that the capture left out.
    pub cut: u32,
    /// Its dissection; `None` where no protocol claims it.
    pub said: Option<Dissection>,
}

/// What the pipeline reports about a datagram.
#[derive(Debug)]
pub struct Dissection {
    /// Protocol.
    pub protocol: Id,
    /// Name of the message.
    pub message: &'static str,
    /// Which way it travels.
    pub direction: Direction,
    /// How sure the recognition is.
    pub level: Level,
    /// How it relates to its exchange.
    pub pairing: Pairing,
    /// Its fields.
    pub tree: Tree,
    /// The rules that it breaks.
    pub findings: Vec<Finding>,
}

/// Plays an example and keeps everything that the pipeline reports about it; passwords are masked.
pub fn dissect(example: &Example) -> Dissected {
    let options = Options { min_confidence: Level::Low, all: true, ..Options::default() };
    let mut stage = Stage { example: *example, heard: Dissected::default() };
    // The report only stores in memory, which cannot fail.
    let _ = play(example, options, &mut stage);
    let mut dissected = stage.heard;
    // A datagram that was reassembled from fragments is reported with the frame that completed it, or with the first one.
    let told = |other: &Other| dissected.datagrams.iter().any(|d| d.frame == other.frame);
    let others = others(example).into_iter().filter(|other| !told(other)).collect();
    dissected.others = others;
    dissected.datagrams.sort_by_key(|d| d.frame);
    dissected
}

fn others(example: &Example) -> Vec<Other> {
    let shots = shots(example);
    let own = shots.iter().filter(|(_, shot)| !shot.bytes.is_empty());
    let other = |(number, shot): &(u64, OwnedFrame)| {
        let what = parse(&shot.frame(*number)).err()?;
        Some(Other { frame: *number, time: since_start(shot.time), what })
    };
    own.filter_map(other).collect()
}

/// Nanoseconds since the first step.
fn since_start(time: Time) -> i64 {
    time.since(Time::from_nanos(START)).unwrap_or_default()
}

/// A report that stores everything that it is told.
struct Stage {
    example: Example,
    heard: Dissected,
}

impl Stage {
    fn keep(&mut self, d: &Datagram<'_>, bytes: &[u8], said: Option<Dissection>) {
        self.heard.datagrams.push(ExampleDatagram {
            frame: d.frame,
            time: since_start(d.time),
            from: name_of(d.src, &self.example),
            to: name_of(d.dst, &self.example),
            payload: d.payload.to_vec(),
            bytes: bytes.to_vec(),
            cut: d.cut,
            said,
        });
    }
}

impl Report for Stage {
    fn listener(&self) -> AnyListener {
        AnyListener::Tree(Tree::default())
    }

    fn wants(&self) -> Wants {
        Wants { ordered: true, silent_servers: true, ..Wants::default() }
    }

    fn packet(&mut self, p: &Packet<'_>) -> io::Result<()> {
        let mut tree = Tree::default();
        p.tree().into_iter().for_each(|heard| heard.replay(p.bytes, &mut tree));
        let said = Dissection {
            protocol: p.id,
            message: p.message_name(),
            direction: p.direction,
            level: p.level,
            pairing: *p.pairing,
            tree,
            findings: p.findings.to_vec(),
        };
        self.keep(p.datagram, p.bytes, Some(said));
        Ok(())
    }

    fn unclaimed(&mut self, d: &Datagram<'_>) -> io::Result<()> {
        self.keep(d, d.payload, None);
        Ok(())
    }

    fn exchange(&mut self, e: &Exchange, findings: &[Finding]) -> io::Result<()> {
        self.heard.exchanges.push((e.clone(), findings.to_vec()));
        Ok(())
    }

    fn silent_servers(&mut self, servers: &[SilentServer]) -> io::Result<()> {
        for SilentServer { exchange, finding, .. } in servers {
            let told = self.heard.exchanges.iter_mut().find(|(e, _)| e.id == exchange.id);
            told.into_iter().for_each(|(_, findings)| findings.push(*finding));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::{Rule, Severity, Step};

    fn findings(example: &Example) -> Vec<Finding> {
        let Dissected { datagrams, exchanges, .. } = dissect(example);
        let said = datagrams.into_iter().filter_map(|d| d.said).flat_map(|said| said.findings);
        said.chain(exchanges.into_iter().flat_map(|(_, findings)| findings)).collect()
    }

    fn sent(example: &Example) -> impl Iterator<Item = &Step> {
        example.steps.iter().filter(|s| !matches!(s, Step::Wait(_)))
    }

    #[test]
    fn every_example_shows_its_rule_with_the_severity_it_has() {
        let broken = |rule: &Rule, example| {
            findings(example).iter().any(|f| f.rule == rule && f.severity == rule.severity)
        };
        for rule in crate::protocols::rules() {
            for (i, example) in rule.examples.iter().enumerate() {
                assert!(broken(rule, example), "{} {}: {:?}", rule.id, i + 1, dissect(example));
            }
        }
    }

    #[test]
    fn every_step_is_there_with_its_own_ends_and_bytes() {
        for example in crate::protocols::rules().flat_map(|rule| rule.examples) {
            let Dissected { datagrams, others, .. } = dissect(example);
            for (i, step) in sent(example).enumerate() {
                let seen = datagrams.iter().find(|d| d.frame == i as u64 + 1);
                let (from, to, text) = match *step {
                    Step::C(text) => ("client", "server", text),
                    Step::S(text) => ("server", "client", text),
                    Step::C2(text) => ("second client", "server", text),
                    Step::S2(text) => ("server", "second client", text),
                    _ => {
                        let is_other = others.iter().any(|o| o.frame == i as u64 + 1);
                        assert!(seen.is_some() != is_other, "{example:?}");
                        continue;
                    }
                };
                let seen = seen.expect("every datagram is seen");
                assert_eq!((&*seen.from, &*seen.to), (from, to), "{example:?}");
                assert_eq!(seen.payload, hex(text), "{example:?}");
            }
            assert_eq!(datagrams.len() + others.len(), sent(example).count(), "{example:?}");
        }
    }

    #[test]
    fn a_frame_without_a_datagram_says_what_it_is() {
        let steps =
            &[Step::C("00 00000000"), Step::Frame(101, 20, "4500001400000000 40060000 c000020a c6336407")];
        let others = dissect(&Example::of(steps)).others;
        assert_eq!(
            others.iter().map(|o| (o.frame, o.time, o.what.name())).collect::<Vec<_>>(),
            [(2, 10 * MS, "tcp")]
        );
    }

    #[test]
    fn time_runs_in_steps_and_pauses_and_an_example_at_the_start_has_nothing_before() {
        let steps = &[Step::C("00 00000000"), Step::Wait(1500), Step::S("00 80902348")];
        let seen = dissect(&Example::of(steps)).datagrams;
        assert_eq!(seen.iter().map(|d| d.time).collect::<Vec<_>>(), [0, 1510 * MS]);
        let answer = &[Step::S("01 80902348 0001 00 00 0012 0000000e 0001000801410162016301641e61")];
        let unasked =
            |example| findings(&example).into_iter().find(|f| f.rule.needs_past).map(|f| f.severity);
        assert_eq!(unasked(Example::of(answer)), Some(Severity::Error));
        assert_eq!(unasked(Example::at_start(answer)), Some(Severity::Note));
    }
}
