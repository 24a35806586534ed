//! Pasted bytes. The first byte selects the form: 0 is text as it is, 1 to 5 text in a given form, and from 6 on the following
//! bytes are formatted as by a tool.

use crate::kit::play::{RawFrame, everything};
use crate::kit::{format::FORMATTERS, records};
use qdissect::pasted::{
    AssumedEndpoints, Form, MAX_COMPLAINTS, MAX_PAYLOAD, MAX_PIECES, Pasted, frames, read,
};
use qdissect::text::escape::is_hostile;

/// The forms that can be selected.
const FORMS: [Option<Form>; 6] =
    [None, Some(Form::Hex), Some(Form::Dump), Some(Form::Array), Some(Form::String), Some(Form::Base64)];
/// Maximum number of bytes that are formatted, because reading them back takes time.
const MOST: usize = 400;

/// Reads a text and checks that the result refers to places in it, respects the limits and passes through the pipeline.
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

/// Whether the text looks like a time at the start of a log line: three bytes with colons, such as 00:28:03.
fn is_time_of_day(text: &str) -> bool {
    let parts: Vec<Option<u8>> = text.trim().split(':').map(|part| part.parse().ok()).collect();
    matches!(parts[..], [Some(0..=23), Some(0..=59), Some(0..=60)])
}

/// Whether the bytes are hex digits. In quotes, such as b'39393939', they are taken for output of `hexlify`.
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
    let raw_frames: Vec<RawFrame> = frames
        .into_iter()
        .take(64)
        .map(|s| RawFrame {
            time: s.time.nanos().unwrap_or(0),
            link: s.link,
            wire_len: s.wire_len,
            bytes: s.bytes,
        })
        .collect();
    records::check_records(everything(), &raw_frames, false);
}
