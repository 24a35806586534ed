//! Variations of a message as a whole: what it was before somebody wrapped or mangled it.

use super::Order;
use super::numbers::value;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// A variation of a message as a whole.
#[derive(Debug)]
pub struct Whole {
    /// Its name in records.
    pub id: &'static str,
    /// What it says to people: it follows `everything fits if`.
    pub words: &'static str,
    /// The message without it; `None` if it is not there.
    pub undo: fn(&[u8]) -> Option<Vec<u8>>,
}

impl Whole {
    /// A variation.
    pub const fn of(id: &'static str, words: &'static str, undo: fn(&[u8]) -> Option<Vec<u8>>) -> Whole {
        Whole { id, words, undo }
    }
}

/// Those of every protocol of bytes, as a layout lists them.
pub const SHARED: &[&[&Whole]] = &[ALL];
/// Those of every protocol of bytes.
pub const ALL: &[&Whole] = &[&HEX, &BASE64, &MANGLED, &SHORT_BIG, &SHORT_LITTLE, &LONG_BIG, &LONG_LITTLE];

static HEX: Whole = Whole::of("hex_text", "the bytes are written as hex text", |data| {
    let digit = |b: &u8| (*b as char).to_digit(16);
    let pair = |pair: &[u8]| match pair {
        [high, low] => Some((digit(high)? << 4 | digit(low)?) as u8),
        _ => None,
    };
    (data.len() >= 10).then(|| data.chunks(2).map(pair).collect())?
});
static BASE64: Whole = Whole::of("base64_text", "the bytes are written as Base64", |data| {
    (data.len() >= 12).then(|| STANDARD.decode(data).ok())?
});
static MANGLED: Whole =
    Whole::of("utf8_mangled", "the bytes went through a text, which made UTF-8 of them", |data| {
        let text = std::str::from_utf8(data).ok().filter(|text| !text.is_ascii())?;
        text.chars().map(|c| u8::try_from(u32::from(c)).ok()).collect()
    });

const PREFIXED: &str = "the length before the message is left out";
static SHORT_BIG: Whole = Whole::of("length_prefix", PREFIXED, |data| after_length(data, 2, Order::Big));
static SHORT_LITTLE: Whole =
    Whole::of("length_prefix", PREFIXED, |data| after_length(data, 2, Order::Little));
static LONG_BIG: Whole = Whole::of("length_prefix", PREFIXED, |data| after_length(data, 4, Order::Big));
static LONG_LITTLE: Whole = Whole::of("length_prefix", PREFIXED, |data| after_length(data, 4, Order::Little));

/// The message behind a length of so many bytes.
fn after_length(data: &[u8], width: usize, order: Order) -> Option<Vec<u8>> {
    let (length, rest) = data.split_at_checked(width)?;
    let n = value(length, order);
    let fits = rest.len() > 4 && (n == data.len() as u64 || n == rest.len() as u64);
    fits.then(|| rest.to_vec())
}
