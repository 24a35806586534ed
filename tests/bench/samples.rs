//! The input of the stage benchmarks: generated captures in memory, and the packets that the pipeline reports of them. Each stage
//! is compared with its floor: the minimum work for the same task on the same input.

use crate::generate::{Kind, Plan, generate};
use qdissect::capture::{Frame, Source};
use qdissect::conversation::NONE;
use qdissect::decode::{Json, Listener};
use qdissect::exchange::Pairing;
use qdissect::net::{Datagram, parse};
use qdissect::pipeline::{Options, Pipeline};
use qdissect::protocols::{Context, Direction, Id, Level};
use qdissect::report::{Packet, Report, Wants};
use std::io;

/// Packets of a sample: enough for kinds to be shuffled and tables to fill, few enough for the caches.
const PACKETS: u64 = 20_000;

/// Query traffic as a pcap file.
pub fn pcap() -> &'static [u8] {
    file(&Plan::new(Kind::Query, PACKETS))
}

/// Query traffic as a pcapng file.
pub fn pcapng() -> &'static [u8] {
    let mut plan = Plan::new(Kind::Query, PACKETS);
    plan.format.pcapng = true;
    file(&plan)
}

/// Query traffic with an 802.1Q tag on each frame.
pub fn tagged() -> &'static [u8] {
    file(&Plan { vlan: true, ..Plan::new(Kind::Query, PACKETS) })
}

/// Generates a capture that is never freed.
fn file(plan: &Plan) -> &'static [u8] {
    let mut file = Vec::new();
    // Writing to memory does not fail.
    let _ = generate(&mut file, plan);
    file.leak()
}

/// An open capture in memory.
pub fn open(file: &'static [u8]) -> Source {
    match Source::from_reader("sample", Box::new(file)) {
        Ok(source) => source,
        Err(error) => unreachable!("the generator writes captures: {error}"),
    }
}

/// The frames of a capture.
pub fn frames(file: &'static [u8]) -> Vec<Frame<'static>> {
    let mut source = open(file);
    let mut frames = Vec::new();
    while let Ok(Some(frame)) = source.next() {
        let bytes = frame.bytes.to_vec().leak();
        frames.push(Frame { bytes, ..frame });
    }
    assert_eq!(frames.len() as u64, PACKETS, "frames of the sample");
    frames
}

/// The datagrams of query traffic.
pub fn datagrams() -> Vec<Datagram<'static>> {
    let datagrams: Vec<_> = frames(pcap()).iter().filter_map(|frame| parse(frame).ok()).collect();
    assert_eq!(datagrams.len() as u64, PACKETS, "datagrams of the sample");
    datagrams
}

/// A datagram as the pipeline reports it.
pub struct SampleDatagram {
    /// The datagram.
    pub datagram: Datagram<'static>,
    /// Its protocol.
    pub id: Id,
    /// Name of the message.
    pub name: &'static str,
    /// Index into the protocol's steps.
    pub step: u8,
    /// Confidence of the recognition.
    pub level: Level,
    /// Its role in its exchange.
    pub pairing: Pairing,
    /// The context for its decoder.
    pub context: Context,
}

/// A report that keeps everything.
#[derive(Default)]
struct KeepDatagrams(Vec<SampleDatagram>);

impl Report for KeepDatagrams {
    fn wants(&self) -> Wants {
        Wants { ordered: true, ..Wants::default() }
    }

    fn packet(&mut self, packet: &Packet<'_>) -> io::Result<()> {
        let Packet { datagram, id, message, step, direction, level, pairing, .. } = *packet;
        let payload = datagram.payload.to_vec().leak();
        let context = Context {
            message,
            direction,
            asked: pairing.asked(),
            missing: datagram.cut as usize,
            continues: pairing.continues(),
            layout: None,
            secrets: false,
        };
        let datagram = Datagram { payload, ..*datagram };
        let name = packet.message_name();
        self.0.push(SampleDatagram { datagram, id, name, step, level, pairing: *pairing, context });
        Ok(())
    }
}

/// The reported datagrams of query traffic.
pub fn sample_datagrams() -> Vec<SampleDatagram> {
    let mut keep = KeepDatagrams::default();
    let mut pipeline = Pipeline::new(Options::default(), &mut keep);
    let read = pipeline.read(&mut open(pcap()), "sample");
    let (Ok(()), Ok(_)) = (read, pipeline.finish(true)) else {
        unreachable!("the sample is whole, and nothing here is written");
    };
    assert!(keep.0.len() as u64 > PACKETS / 2, "{} datagrams recognised", keep.0.len());
    keep.0
}

impl SampleDatagram {
    /// Decodes the datagram for JSON records.
    pub fn decoded(&self) -> Json {
        let mut json = Json::default();
        json.begin();
        // A damaged message is part of the sample.
        let _ = self.id.dissect(self.datagram.payload, &self.context, &mut json);
        json.end();
        json
    }

    /// Protocol, direction and message, for people.
    pub fn title(&self) -> String {
        let way = if self.context.direction == Direction::C2s { "to server" } else { "to client" };
        format!("{} {} {way}", self.id.info().name, self.name)
    }

    /// The server's number is not known here.
    pub const SERVER: u32 = NONE;
}
