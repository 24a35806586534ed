//! Every recogniser and the decoder of one protocol, without slow checks: many thousand inputs per second.
//!
//! ```text
//! protocol u8 │ message u8 │ flags u8 │ payload
//! 01 from the server   02 a request is open   04 1 byte was not captured   08 1000 were not   10 another asked
//! ```

use super::input::Input;
use crate::kit::invariants::{DIRECTIONS, check_probe, declared, missing};
use qdissect::decode::{Listener, Notes, Skip};
use qdissect::protocols::{Context, Id, Known, Level};

/// Checks that a recognised payload has a message and a step and is in the table of first bytes, and that the results of a
/// decoder are within the payload and the same for every listener.
pub fn lean(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let id = Id::ALL[usize::from(input.byte()) % Id::ALL.len()];
    let (chosen, flags) = (input.byte(), input.byte());
    let payload = input.rest();
    let direction = DIRECTIONS[usize::from(flags & 1)];
    let missing = missing(flags);
    let wire_len = payload.len() + missing;
    Id::ALL.iter().for_each(|other| check_probe(payload, wire_len, [7777, 50_000], *other));
    let known = Known { open: flags & 2 != 0, ..Known::of(direction, Level::High) };
    if let Some(probe) = id.probe_known(payload, wire_len, known) {
        declared(id, &probe);
        decode(id, payload, Context { missing, ..Context::of(probe.message, direction) });
    }
    let message = chosen % id.info().messages.len() as u8;
    let asked = (flags & 0x10 != 0).then_some(u32::from(chosen) << 24 | u32::from(flags));
    decode(id, payload, Context { missing, asked, ..Context::of(message, direction) });
}

fn decode(id: Id, payload: &[u8], cx: Context) {
    let mut notes = Notes::default();
    notes.begin();
    let decoded = id.dissect(payload, &cx, &mut notes);
    assert_eq!(id.dissect(payload, &cx, &mut Skip), decoded, "listeners differ");
    for violation in notes.violations() {
        assert!(
            usize::from(violation.at.end) <= payload.len(),
            "{} is behind the payload",
            violation.rule.id
        );
    }
}

/// The input for a payload.
pub fn seed(id: Id, message: u8, from_server: bool, payload: &[u8]) -> Vec<u8> {
    [&[id as u8, message, u8::from(from_server) | 2][..], payload].concat()
}
