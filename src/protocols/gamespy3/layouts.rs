//! How the messages are built, and the mistakes that servers and clients make with them.

use super::{CHALLENGE_RESPONSE, FULL_REQUEST, FULL_RESPONSE, SHAKE, STAT};
use crate::layout::Known::{Key, Nothing};
use crate::layout::Order::Big;
use crate::layout::Part::{Const, Custom, Token};
use crate::layout::common::*;
use crate::layout::{Encoding, Form, Layout, Reader, Says, Variation};

const SAYS: [Says; 3] = [
    ("the challenge is a number in the request and a text in the answer", "Challenge token"),
    ("texts end with a zero byte", "Full stat"),
    ("a message has the type, the session ID and its fields", "Query"),
];
/// How the list of players begins, behind the zero that ends the keys.
const PLAYERS: &[u8] = b"\x01player_\0\0";

pub(super) static LAYOUTS: &[Layout] = &[CHALLENGE, FULL, ASK];

const CHALLENGE: Layout = Layout {
    step: Some(SHAKE),
    variations: &[&[
        Variation::custom("number_for_text", "{} is a number instead of a text").at("challenge"),
        TOKEN_SWAPPED,
        TOKEN_REPLACED,
    ]],
    ..Layout::of(
        CHALLENGE_RESPONSE,
        SAYS,
        &[Const("type", &[9]), Token("session_id", 4, Big, Key), Custom(decimal)],
    )
};
const FULL: Layout = Layout {
    step: Some(STAT),
    form: Form::Nul,
    encoding: Encoding::Bytes,
    plausible: |r| r.number("host").is_some() && r.number("players").is_some(),
    variations: &[&[
        Variation::missing("splitnum"),
        TOKEN_SWAPPED,
        TOKEN_REPLACED,
        TEXTS_U8,
        TEXTS_U16_BE,
        TEXTS_U16_LE,
        NUL_TWICE,
    ]],
    ..Layout::of(
        FULL_RESPONSE,
        SAYS,
        &[
            Const("type", &[0]),
            Token("session_id", 4, Big, Key),
            Const("splitnum", b"splitnum\0\x80\0"),
            Custom(keys),
            Custom(names),
        ],
    )
};
const ASK: Layout = Layout {
    answer: false,
    needs_issued: true,
    variations: &[&[
        TOKEN_SWAPPED,
        Variation::custom("text_for_number", "{} is a text instead of a number").at("challenge"),
    ]],
    ..Layout::of(
        FULL_REQUEST,
        SAYS,
        &[
            Const("magic", b"\xfe\xfd"),
            Const("type", &[0]),
            Token("session_id", 4, Big, Nothing),
            Custom(challenge),
        ],
    )
};

/// The challenge: a decimal number with a zero byte.
fn decimal(r: &mut Reader<'_>) -> Option<()> {
    if r.varies("number_for_text", "challenge") {
        let bytes: [u8; 4] = r.take(4)?.try_into().ok()?;
        let zero = r.rest().is_empty() || r.byte()? == 0;
        let like_text = bytes.iter().filter(|b| matches!(b, b'-' | b'0'..=b'9' | 0)).count();
        if !zero || like_text > 2 {
            return None;
        }
        r.write(i32::from_be_bytes(bytes).to_string().as_bytes());
        r.write(&[0]);
        return Some(());
    }
    let end = r.rest().iter().position(|&b| b == 0)?;
    let text = std::str::from_utf8(r.copy(end)?).ok()?;
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_number = (1..=10).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit());
    if !is_number || text.parse::<i32>().is_err() {
        return None;
    }
    r.copy(1).map(drop)
}

fn keys(r: &mut Reader<'_>) -> Option<()> {
    loop {
        let rest = r.rest();
        let ends = rest.first() == Some(&0) && (!r.has_other_form() || rest.get(1..9) == PLAYERS.get(..8));
        if ends {
            return r.copy(1).map(drop);
        }
        r.text("key")?;
        let is_host = r.last_text() == "hostname";
        let is_count = r.last_text() == "numplayers";
        r.text("value")?;
        if is_host {
            r.keep("host", 1);
        }
        if is_count {
            let n = r.last_text().parse().ok()?;
            r.keep("players", n);
        }
    }
}

fn names(r: &mut Reader<'_>) -> Option<()> {
    (r.copy(PLAYERS.len())? == PLAYERS).then_some(())?;
    let mut n = 0i64;
    while let Some(&first) = r.rest().first()
        && (first != 0 || r.has_other_form() && r.rest().len() > 2)
    {
        r.text("player")?;
        n = n.saturating_add(1);
    }
    if r.number("players") != Some(n) || !matches!(r.rest(), [0] | [0, 0]) {
        return None;
    }
    r.take(r.rest().len())?;
    r.write(&[0, 0]);
    Some(())
}

/// The challenge that the server issued.
fn challenge(r: &mut Reader<'_>) -> Option<()> {
    let issued = r.expected.issued?;
    let text = (issued as i32).to_string();
    let as_text = r.may_vary("text_for_number", "challenge");
    if as_text && r.rest().starts_with(text.as_bytes()) {
        r.take(text.len())?;
        r.varies("text_for_number", "challenge");
    } else {
        let mut bytes: [u8; 4] = r.take(4)?.try_into().ok()?;
        if r.varies("token_swapped", "") {
            bytes.reverse();
        }
        (bytes == issued.to_be_bytes()).then_some(())?;
    }
    r.write(&issued.to_be_bytes());
    let tail = r.copy(r.rest().len())?;
    let is_tail = matches!(tail.len(), 0 | 4) && !(as_text && tail.iter().any(|&b| b != 0));
    is_tail.then_some(())
}
