//! Runs the example of a rule as a capture through the real pipeline, so that a user who asks about a rule sees how it is
//! broken.

use crate::capture::Time;
use crate::check::Finding;
use crate::check::Packet;
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

/// What the server of an example is called.
pub const SERVER_NAME: &str = "server";
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
/// Time from the start of the capture to the first step, and from the last step to the end of the capture, in nanoseconds.
/// The first exceeds what counts as the edge of a capture, the second every answer window.
const BEFORE: i64 = 30_000 * MS;
const AFTER: i64 = 120_000 * MS;

/// The name of an endpoint in an example: its role, or its address if only whole frames name it.
fn name_of(end: Endpoint, example: &Example) -> String {
    let [first, second] = CLIENTS.map(|(ip, port)| Endpoint::v4(ip, port));
    match end {
        _ if end == first => "client".to_owned(),
        _ if end == second => "second client".to_owned(),
        _ if end == Endpoint::v4(SERVER, server_port(example)) => SERVER_NAME.to_owned(),
        other => other.to_string(),
    }
}

/// The UDP port of the server of an example.
pub fn server_port(example: &Example) -> u16 {
    example.server_port.unwrap_or(PORT)
}

/// The frames of an example, numbered from 1. They stand between two empty frames; the first one has the number 0, and is
/// left out if the example is at the start of the capture.
pub fn frames_of(example: &Example) -> Vec<(u64, OwnedFrame)> {
    let server = Endpoint::v4(SERVER, server_port(example));
    let empty = |time| OwnedFrame::empty(Time::from_nanos(time));
    let mut frames = if example.at_start { vec![] } else { vec![(0, empty(START - BEFORE))] };
    let (mut time, mut number) = (START, 1);
    for step in example.steps {
        let at = Time::from_nanos(time);
        let frame = match Act::of(step) {
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
                if let Some((_, last)) = frames.last().cloned() {
                    frames.push((number, OwnedFrame { time: last.time.plus(MS / 10), ..last }));
                    number += 1;
                }
                continue;
            }
        };
        frames.push((number, frame));
        number += 1;
        time += STEP;
    }
    frames.push((number, empty(time + AFTER)));
    frames
}

/// Runs an example through the pipeline. Its frames count from 1, its steps are 10 ms apart, and the capture is long enough
/// for every answer window to pass.
///
/// # Errors
/// When the report cannot be written.
pub fn run(example: &Example, options: Options, report: &mut dyn Report) -> io::Result<()> {
    let mut pipeline = Pipeline::new(options, report);
    for (number, frame) in frames_of(example) {
        pipeline.frame(&frame.frame(number))?;
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
    pub reason: DropReason,
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
    /// The bytes of its message: the payload, or the message that was joined from this part and others.
    pub bytes: Vec<u8>,
    /// Bytes of the payload that the capture left out.
    pub cut: u32,
    /// Its dissection; `None` where no protocol claims it.
    pub dissection: Option<Dissection>,
}

/// What the pipeline reports about a datagram.
#[derive(Debug)]
pub struct Dissection {
    /// Protocol.
    pub protocol: Id,
    /// Name of the message.
    pub message: &'static str,
    /// How sure the recognition is.
    pub level: Level,
    /// How it relates to its exchange.
    pub pairing: Pairing,
    /// Its fields.
    pub tree: Tree,
    /// The rules that it breaks.
    pub findings: Vec<Finding>,
}

/// Runs an example and keeps everything that the pipeline reports about it; passwords are masked.
pub fn dissect(example: &Example) -> Dissected {
    dissect_with(example, Options { min_confidence: Level::Low, all: true, ..Options::default() })
}

/// The same with these options.
pub fn dissect_with(example: &Example, options: Options) -> Dissected {
    let mut collector = Collector { example: *example, dissected: Dissected::default() };
    // The report only stores in memory, which cannot fail.
    let _ = run(example, options, &mut collector);
    let mut dissected = collector.dissected;
    // A datagram reassembled from fragments is reported with the frame that completed it, or with the first fragment.
    let is_reported = |other: &Other| dissected.datagrams.iter().any(|d| d.frame == other.frame);
    dissected.others = others(example).into_iter().filter(|other| !is_reported(other)).collect();
    dissected.datagrams.sort_by_key(|d| d.frame);
    dissected
}

fn others(example: &Example) -> Vec<Other> {
    let frames = frames_of(example);
    let sent = frames.iter().filter(|(_, frame)| !frame.bytes.is_empty());
    let other = |(number, frame): &(u64, OwnedFrame)| {
        let reason = parse(&frame.frame(*number)).err()?;
        Some(Other { frame: *number, time: since_start(frame.time), reason })
    };
    sent.filter_map(other).collect()
}

/// Nanoseconds since the first step.
fn since_start(time: Time) -> i64 {
    time.since(Time::from_nanos(START)).unwrap_or_default()
}

/// A report that stores everything it receives.
struct Collector {
    example: Example,
    dissected: Dissected,
}

impl Collector {
    fn push(&mut self, d: &Datagram<'_>, bytes: &[u8], dissection: Option<Dissection>) {
        self.dissected.datagrams.push(ExampleDatagram {
            frame: d.frame,
            time: since_start(d.time),
            from: name_of(d.src, &self.example),
            to: name_of(d.dst, &self.example),
            payload: d.payload.to_vec(),
            bytes: bytes.to_vec(),
            cut: d.cut,
            dissection,
        });
    }
}

impl Report for Collector {
    fn listener(&self) -> AnyListener {
        AnyListener::Tree(Tree::default())
    }

    fn wants(&self) -> Wants {
        Wants { ordered: true, silent_servers: true, ..Wants::default() }
    }

    fn packet(&mut self, p: &Packet<'_>) -> io::Result<()> {
        let mut tree = Tree::default();
        p.tree().into_iter().for_each(|recorded| recorded.replay(p.bytes, &mut tree));
        let dissection = Dissection {
            protocol: p.id,
            message: p.message_name(),
            level: p.level,
            pairing: *p.pairing,
            tree,
            findings: p.findings.to_vec(),
        };
        self.push(p.datagram, p.bytes, Some(dissection));
        Ok(())
    }

    fn unclaimed(&mut self, d: &Datagram<'_>) -> io::Result<()> {
        self.push(d, d.payload, None);
        Ok(())
    }

    fn exchange(&mut self, e: &Exchange, findings: &[Finding]) -> io::Result<()> {
        self.dissected.exchanges.push((e.clone(), findings.to_vec()));
        Ok(())
    }

    fn silent_servers(&mut self, servers: &[SilentServer]) -> io::Result<()> {
        for SilentServer { exchange, finding, .. } in servers {
            let reported = self.dissected.exchanges.iter_mut().find(|(e, _)| e.id == exchange.id);
            reported.into_iter().for_each(|(_, findings)| findings.push(*finding));
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
        let dissections = datagrams.into_iter().filter_map(|d| d.dissection);
        let of_exchanges = exchanges.into_iter().flat_map(|(_, findings)| findings);
        dissections.flat_map(|dissection| dissection.findings).chain(of_exchanges).collect()
    }

    fn sent(example: &Example) -> impl Iterator<Item = &Step> {
        example.steps.iter().filter(|s| !matches!(s, Step::Wait(_)))
    }

    #[test]
    fn every_example_breaks_its_rule_with_its_severity() {
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
    fn every_step_is_reported_with_its_endpoints_and_payload() {
        for example in crate::protocols::rules().flat_map(|rule| rule.examples) {
            let Dissected { datagrams, others, .. } = dissect(example);
            for (i, step) in sent(example).enumerate() {
                let datagram = datagrams.iter().find(|d| d.frame == i as u64 + 1);
                let (from, to, text) = match *step {
                    Step::C(text) => ("client", "server", text),
                    Step::S(text) => ("server", "client", text),
                    Step::C2(text) => ("second client", "server", text),
                    Step::S2(text) => ("server", "second client", text),
                    _ => {
                        let is_other = others.iter().any(|o| o.frame == i as u64 + 1);
                        assert!(datagram.is_some() != is_other, "{example:?}");
                        continue;
                    }
                };
                let datagram = datagram.expect("every datagram is seen");
                assert_eq!((&*datagram.from, &*datagram.to), (from, to), "{example:?}");
                assert_eq!(datagram.payload, hex(text), "{example:?}");
            }
            assert_eq!(datagrams.len() + others.len(), sent(example).count(), "{example:?}");
        }
    }

    #[test]
    fn a_frame_without_a_datagram_has_a_reason() {
        let steps =
            &[Step::C("00 00000000"), Step::Frame(101, 20, "4500001400000000 40060000 c000020a c6336407")];
        let others = dissect(&Example::of(steps)).others;
        assert_eq!(
            others.iter().map(|o| (o.frame, o.time, o.reason.name())).collect::<Vec<_>>(),
            [(2, 10 * MS, "tcp")]
        );
    }

    #[test]
    fn steps_are_10_ms_apart_and_no_frame_precedes_an_example_at_the_start() {
        let steps = &[Step::C("00 00000000"), Step::Wait(1500), Step::S("00 80902348")];
        let datagrams = dissect(&Example::of(steps)).datagrams;
        assert_eq!(datagrams.iter().map(|d| d.time).collect::<Vec<_>>(), [0, 1510 * MS]);
        let answer = &[Step::S("01 80902348 0001 00 00 0012 0000000e 0001000801410162016301641e61")];
        let unsolicited =
            |example| findings(&example).into_iter().find(|f| f.rule.needs_past).map(|f| f.severity);
        assert_eq!(unsolicited(Example::of(answer)), Some(Severity::Error));
        assert_eq!(unsolicited(Example::at_start(answer)), Some(Severity::Note));
    }
}
