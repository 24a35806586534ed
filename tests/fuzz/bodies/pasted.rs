//! Bytes as people paste them. The first byte says how: 0 as it is, 1 to 5 in a given form, from 6 on the bytes behind it
//! written as a tool would.

use crate::kit::play::{Shot, everything};
use crate::kit::{format::FORMATTERS, records};
use qdissect::escape::is_hostile;
use qdissect::pasted::{
    AssumedEndpoints, Form, MAX_COMPLAINTS, MAX_PAYLOAD, MAX_PIECES, Pasted, frames, read,
};

/// The forms that can be asked for.
const FORMS: [Option<Form>; 6] =
    [None, Some(Form::Hex), Some(Form::Dump), Some(Form::Array), Some(Form::String), Some(Form::Base64)];
/// Most bytes that are written in every form: reading them back takes time.
const MOST: usize = 400;

/// Reads a text: what comes of it has a place in it, keeps to the bounds, and goes through the pipeline.
pub fn pasted(bytes: &[u8]) {
    let Some((how, rest)) = bytes.split_first() else { return };
    if let Some(form) = FORMS.get(usize::from(*how)) {
        let text = String::from_utf8_lossy(rest);
        played(&held(&text, read(&text, *form)));
        return;
    }
    let rest = &rest[..rest.len().min(MOST)];
    if rest.is_empty() {
        return;
    }
    let (name, format) = FORMATTERS[usize::from(*how) % FORMATTERS.len()];
    let text = format(rest);
    let pasted = held(&text, read(&text, None));
    if name == "colons" && is_time_of_day(&text) || text.contains(['"', '\'']) && is_digits(rest) {
        return;
    }
    let pieces: Vec<&[u8]> = pasted.pieces.iter().map(|p| &*p.bytes).collect();
    assert_eq!(pieces, [rest], "{name}: {text}");
    assert_eq!(pasted.complaints, [], "{name}: {text}");
}

/// Three bytes with colons, such as 00:28:03, may be the time at the beginning of a line of a log: taken for that.
fn is_time_of_day(text: &str) -> bool {
    let parts: Vec<Option<u8>> = text.trim().split(':').map(|part| part.parse().ok()).collect();
    matches!(parts[..], [Some(0..=23), Some(0..=59), Some(0..=60)])
}

/// Hex digits in quotes, such as b'39393939', are what `hexlify` prints: taken for the bytes that they stand for.
fn is_digits(bytes: &[u8]) -> bool {
    bytes.iter().all(|b| b.is_ascii_hexdigit() || b" \t,;:-|".contains(b))
}

fn held(text: &str, pasted: Pasted) -> Pasted {
    assert!(pasted.pieces.len() <= MAX_PIECES && pasted.complaints.len() <= MAX_COMPLAINTS);
    for piece in &pasted.pieces {
        let most = if piece.packet.is_some() { MAX_PAYLOAD + 512 } else { MAX_PAYLOAD };
        assert!((1..=most).contains(&piece.bytes.len()), "{} bytes: {text:?}", piece.bytes.len());
    }
    for complaint in &pasted.complaints {
        let line = text.split('\n').nth(complaint.line.wrapping_sub(1));
        let width = line.unwrap_or_else(|| panic!("{complaint:?} of {text:?}")).chars().count();
        assert!((1..=width + 1).contains(&complaint.column), "{complaint:?} of {text:?}");
        assert!(complaint.what.ends_with(['.', '?']), "{complaint:?}");
        assert!(!complaint.what.chars().any(is_hostile), "{complaint:?}");
    }
    pasted
}

fn played(pasted: &Pasted) {
    let frames = frames(&pasted.pieces, AssumedEndpoints::default());
    assert_eq!(frames.len(), pasted.pieces.len());
    let shots: Vec<Shot> = frames
        .into_iter()
        .take(64)
        .map(|s| Shot {
            time: s.time.nanos().unwrap_or(0),
            link: s.link,
            wire_len: s.wire_len,
            bytes: s.bytes,
        })
        .collect();
    records::hold(everything(), &shots, false);
}
