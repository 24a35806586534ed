//! Sequences of datagrams through the whole pipeline.
//!
//! ```text
//! options u8 │ datagrams: ends u8 │ time u8 │ length u8 │ payload
//! ends    01 from the server   06 client   08 server   10 its end was not captured   20 as a copy of the one before
//! time    times 1/100 s; above 200 back in time or far ahead
//! length  above 250: 1200 bytes
//! ```

use super::input::Input;
use crate::kit::play::{Addr, RawFrame, START, everything, lines, udp_frame};
use crate::kit::records::check_records;
use qdissect::pipeline::Options;
use qdissect::protocols::{Id, Level};

const MS: i64 = 1_000_000;
/// Maximum number of datagrams of an input.
const MOST: usize = 96;
const CLIENTS: [Addr; 4] = [
    ([198, 51, 100, 1], 40_001),
    ([198, 51, 100, 2], 7777),
    ([198, 51, 100, 2], 40_003),
    // A client and a server on the same machine.
    ([192, 0, 2, 10], 27_100),
];
const SERVERS: [Addr; 2] = [([192, 0, 2, 10], 27_100), ([192, 0, 2, 11], 7777)];

/// The options that the first byte selects.
pub fn options(byte: u8) -> Options {
    let mut options = match byte & 3 {
        0 | 1 => everything(),
        2 => Options::default(),
        _ => Options { min_confidence: Level::High, ..Options::default() },
    };
    options.secrets = byte & 4 != 0;
    options.timeout = (byte & 8 != 0).then_some(50 * MS);
    if byte & 0x10 != 0 {
        options.choice.pins = vec![(7777, Id::ALL[usize::from(byte >> 5) % Id::ALL.len()])];
    }
    options
}

/// The frames of an input.
pub fn input_frames(input: &mut Input<'_>) -> Vec<RawFrame> {
    let (mut time, mut frames) = (START, vec![]);
    while !input.is_empty() && frames.len() < MOST {
        let (ends, step, length) = (input.byte(), input.byte(), input.byte());
        time += match step {
            0..=200 => i64::from(step) * 10 * MS,
            201..=220 => -i64::from(step - 200) * 100 * MS,
            _ => i64::from(step - 220) * 1000 * MS,
        };
        let length = if length > 250 { 1200 } else { usize::from(length) };
        let payload = input.take(length);
        let (client, server) = (CLIENTS[usize::from(ends >> 1 & 3)], SERVERS[usize::from(ends >> 3 & 1)]);
        let (from, to) = if ends & 1 == 0 { (client, server) } else { (server, client) };
        let mut one = udp_frame(time, from, to, payload);
        if ends & 0x10 != 0 {
            one.bytes.truncate(42 + payload.len() / 2);
        }
        if let Some(before) = frames.last().filter(|_| ends & 0x20 != 0) {
            let before: &RawFrame = before;
            one = RawFrame { time, ..before.clone() };
        }
        frames.push(one);
    }
    frames
}

/// The input for one datagram, for `writers` and `classifier`; longer payloads are cut.
pub fn seed(from_server: bool, client: u8, time: u8, payload: &[u8]) -> Vec<u8> {
    let length = if payload.len() > 250 { 1200 } else { payload.len() };
    let mut seed = vec![u8::from(from_server) | client << 1, time, length.min(255) as u8];
    seed.extend(&payload[..payload.len().min(length)]);
    if length == 1200 {
        seed.resize(3 + length, 0);
    }
    seed
}

/// Checks that the records are consistent, refer to existing frames and exchanges, and are the same in every run.
pub fn classifier(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let options = options(input.byte());
    let frames = input_frames(&mut input);
    check_records(options.clone(), &frames, false);
    assert_eq!(lines(options.clone(), &frames), lines(options, &frames), "two runs differ");
}
