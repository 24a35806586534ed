//! The decoder of one protocol: decodes any bytes as any of its messages.
//!
//! ```text
//! flags u8 │ what was asked, if flags say so: 4 bytes that say nothing, u32 big-endian │ payload
//! 01 from the server   02 it is known what was asked   04 1 byte was not captured   08 1000 were not
//! ```

use super::input::Input;
use crate::kit::invariants::{DIRECTIONS, check_decoding, check_probe, missing};
use qdissect::protocols::{Context, Id};

const ASKED: u8 = 2;

/// Checks the invariants of a payload: see `kit::invariants`.
pub fn decoder(id: Id, bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let flags = input.byte();
    let direction = DIRECTIONS[usize::from(flags & 1)];
    let asked = (flags & ASKED != 0).then(|| (0..4).fold(0, |all, _| all << 16 | u32::from(input.word())));
    let missing = missing(flags);
    let payload = input.rest();
    for message in 0..id.info().messages.len() as u8 {
        for (continues, secrets) in [(false, false), (true, true)] {
            check_decoding(
                payload,
                id,
                &Context { message, direction, asked, missing, continues, layout: None, secrets },
            );
        }
    }
    check_probe(payload, payload.len() + missing, [7777; 2], id);
}

/// The input for a payload.
pub fn seed(from_server: bool, asked: Option<u32>, payload: &[u8]) -> Vec<u8> {
    let mut seed = vec![u8::from(from_server) | if asked.is_some() { ASKED } else { 0 }];
    seed.extend(asked.iter().flat_map(|asked| u64::from(*asked).to_be_bytes()));
    seed.extend(payload);
    seed
}
