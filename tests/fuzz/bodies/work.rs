//! The work of every decoder, for payloads that repeat something: it stays in proportion to the length of the payload.
//!
//! ```text
//! protocol u8 │ message u8 │ flags u8 │ head u8 │ unit u8 │ times u16 big-endian │ head │ unit │ tail
//! 01 from the server   02 a request is open   04 1 byte was not captured   08 1000 were not   10 another asked
//! ```

use super::input::Input;
use crate::kit::invariants::{DIRECTIONS, missing};
use qdissect::decode::{Listener, Notes, work};
use qdissect::protocols::{Context, Id, Known, Level};

/// The most steps and bytes looked at for each byte of a payload; a payload of a few bytes counts as one of [`SHORT`]. Most
/// decoders take less than 10. Trials of several layouts take more, and so do keys that are compared with 64 others.
pub const FACTOR: u64 = 100;
const SHORT: u64 = 256;
/// Most bytes of a payload.
const MOST: usize = 65_507;

/// The work for a payload as a message, for each of its bytes; `None` in builds that do not count it.
pub fn for_each_byte(id: Id, payload: &[u8], cx: &Context) -> Option<u64> {
    let mut notes = Notes::default();
    notes.begin();
    work::take();
    let _ = id.dissect(payload, cx, &mut notes);
    Some(work::take()? / (payload.len() as u64).max(SHORT))
}

/// The payload with `unit` repeated behind `head`.
pub fn repeated(head: &[u8], unit: &[u8], times: usize, tail: &[u8]) -> Vec<u8> {
    let room = MOST.saturating_sub(head.len() + tail.len());
    let times = room.checked_div(unit.len()).map_or(0, |most| times.min(most));
    [head, &unit.repeat(times), tail].concat()
}

/// Checks the work for a payload as the message that it is recognised as, and as another one.
pub fn work(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let id = Id::ALL[usize::from(input.byte()) % Id::ALL.len()];
    let (chosen, flags) = (input.byte(), input.byte());
    let (head, unit, times) = (input.byte(), input.byte(), input.word());
    let (head, unit) = (input.take(head.into()), input.take(unit.into()));
    let payload = repeated(head, unit, times.into(), input.rest());
    let (direction, missing) = (DIRECTIONS[usize::from(flags & 1)], missing(flags));
    let known = Known { open: flags & 2 != 0, ..Known::of(direction, Level::High) };
    let probed = id.probe_known(&payload, payload.len() + missing, known).map(|probe| probe.message);
    let asked = (flags & 0x10 != 0).then_some(u32::from(chosen) << 24 | u32::from(flags));
    let message = chosen % id.info().messages.len() as u8;
    for message in probed.into_iter().chain([message]) {
        let cx = Context { missing, asked, ..Context::of(message, direction) };
        let steps = for_each_byte(id, &payload, &cx).unwrap_or(0);
        assert!(steps <= FACTOR, "{}: {steps} steps for each byte of message {message}", id.info().name);
    }
}

/// The input for a payload in which a unit is repeated.
pub fn seed(id: Id, message: u8, from_server: bool, [head, unit, tail]: [&[u8]; 3], times: u16) -> Vec<u8> {
    let number = Id::ALL.iter().position(|other| *other == id).unwrap_or(0) as u8;
    let flags = 2 | u8::from(from_server);
    let head = &head[..head.len().min(255)];
    let lengths = [head.len() as u8, unit.len() as u8];
    [&[number, message, flags], &lengths[..], &times.to_be_bytes(), head, unit, tail].concat()
}
