//! One protocol's decoder: any bytes, as any of its messages.
//!
//! ```text
//! flags u8 │ what was asked, if flags say so: 4 bytes that say nothing, u32 big-endian │ payload
//! 01 from the server   02 it is known what was asked   04 1 byte was not captured   08 1000 were not
//! ```

use super::input::Input;
use crate::kit::hold::{DIRECTIONS, hold};
use qdissect::protocols::{Context, Id};

const ASKED: u8 = 2;

/// Holds the promises of the house for a payload: see ``kit::hold``.
pub fn decoder(id: Id, bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let flags = input.byte();
    let direction = DIRECTIONS[usize::from(flags & 1)];
    let asked = (flags & ASKED != 0).then(|| (0..4).fold(0, |all, _| all << 16 | u32::from(input.word())));
    let missing = usize::from(flags >> 2 & 1) + 1000 * usize::from(flags >> 3 & 1);
    let payload = input.rest();
    for message in 0..id.info().messages.len() as u8 {
        for (continues, secrets) in [(false, false), (true, true)] {
            hold(
                payload,
                id,
                &Context { message, direction, asked, missing, continues, layout: None, secrets },
            );
        }
    }
    let wire_len = payload.len() + missing;
    if let Some(glance) = id.glance(payload, wire_len, [7777; 2]) {
        let info = id.info();
        let candidates = qdissect::classify::candidates(payload, wire_len);
        assert!(candidates >> id as u32 & 1 == 1, "neither a form nor Info::first says that it may begin so");
        assert!(usize::from(glance.message) < info.messages.len(), "no message {}", glance.message);
        assert!(usize::from(glance.step) < info.steps.len(), "no step {}", glance.step);
    }
}

/// The input that makes a payload of it.
pub fn seed(from_server: bool, asked: Option<u32>, payload: &[u8]) -> Vec<u8> {
    let mut seed = vec![u8::from(from_server) | if asked.is_some() { ASKED } else { 0 }];
    seed.extend(asked.iter().flat_map(|asked| u64::from(*asked).to_be_bytes()));
    seed.extend(payload);
    seed
}
