//! The search for what would make a message fit: any bytes as any message of the protocols with layouts.
//!
//! ```text
//! protocol u8 │ message u8 │ flags u8 │ key 8 │ payload
//! 01 from the server   02 the key is known   04 a value was issued   08 it has a rule
//! ```

use super::input::Input;
use crate::kit::invariants::DIRECTIONS;
use qdissect::diagnosis::{Case, MAX_BYTES};
use qdissect::layout::Expected;
use qdissect::protocols::{Context, Id};

/// Checks that a search ends, and that what it finds is another message than the one it was given.
pub fn diagnosis(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let with_layouts: Vec<Id> = Id::ALL.iter().copied().filter(|id| !id.info().layouts.is_empty()).collect();
    let id = with_layouts[usize::from(input.byte()) % with_layouts.len()];
    let message = input.byte() % id.info().messages.len() as u8;
    let flags = input.byte();
    let key = (0..4).fold(0u64, |all, _| all << 16 | u64::from(input.word()));
    let rest = input.rest();
    let payload = &rest[..rest.len().min(MAX_BYTES)];
    let expected = Expected {
        key: (flags & 2 != 0).then_some(key),
        issued: (flags & 4 != 0).then_some(key as u32),
        asked: (flags & 16 != 0).then_some(key as u32 & 31),
        ..Expected::default()
    };
    let context =
        Context { asked: expected.asked, ..Context::of(message, DIRECTIONS[usize::from(flags & 1)]) };
    let case = Case { id, bytes: payload, context, expected, step: None };
    if let Some((attempt, rewritten)) = case.search(flags & 8 != 0) {
        assert_ne!(rewritten, payload, "nothing was changed");
        let diagnosis = case.diagnosis(&attempt, &rewritten);
        assert!(!diagnosis.variations.is_empty() && diagnosis.variations.is_sorted());
        serde_json::from_slice::<serde_json::Value>(&diagnosis.reading).expect("the reading is JSON");
    }
}

/// The input for a payload.
pub fn seed(number: u8, message: u8, from_server: bool, payload: &[u8]) -> Vec<u8> {
    [&[number, message, u8::from(from_server) | 8][..], &[0; 8], payload].concat()
}
