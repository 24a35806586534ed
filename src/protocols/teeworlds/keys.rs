//! The words, tokens and parts by which messages are recognised and paired.

use super::{BODY_AT, SEVEN, WORD_AT};
use crate::contract::{Part, Share};
use crate::decode::Str;
use crate::decode::wire::packed;

const WORDS: &[&[u8]] = &[
    b"gie3", b"inf3", b"iext", b"iex+", b"fstd", b"dtsf", b"gie2", b"inf2", b"gief", b"info", b"req2",
    b"reqt", b"lis2", b"list", b"cou2", b"coun", b"siz2", b"size", b"bea2", b"beat", b"fw??", b"fw!!",
    b"fwok", b"fwer", b"chal",
];
pub(super) fn is_word(body: Option<&[u8]>) -> bool {
    body.and_then(|body| body.get(..4)).is_some_and(|letters| WORDS.contains(&letters))
}

/// The token of a request; of an extended one the low byte, by which any server's answer can be found.
pub(super) fn asked_token(p: &[u8]) -> Option<u64> {
    if p.first() == Some(&SEVEN) {
        return seven_token(p);
    }
    p.get(BODY_AT).map(|token| u64::from(*token))
}
/// The token of an answer; of an extended one the low byte.
pub(super) fn answered_token(p: &[u8]) -> Option<u64> {
    if p.first() == Some(&SEVEN) {
        return seven_token(p);
    }
    let token = text_at(p, 0)?.decimal()? as u32;
    let is_extended = p.get(WORD_AT..).is_some_and(|word| word.starts_with(b"iex"));
    Some(u64::from(if is_extended { token & 0xff } else { token }))
}
fn seven_token(p: &[u8]) -> Option<u64> {
    packed(p.get(17..)?).ok().map(|(_, token)| u64::from(token as u32))
}
/// All 24 bits of the token in extended requests and answers, and one more, for 0 is no state.
pub(super) fn extended_token(p: &[u8]) -> u32 {
    let token = match p {
        [b'x', b'e', high, low, ..] => {
            p.get(BODY_AT).map(|token| u32::from_be_bytes([0, *high, *low, *token]))
        }
        _ if p.get(WORD_AT..).is_some_and(|word| word.starts_with(b"iex")) => {
            text_at(p, 0).and_then(Str::count).map(|token| token & 0xff_ffff)
        }
        _ => None,
    };
    token.map_or(0, |token| token.saturating_add(1))
}
/// A request with a token of the server comes from where it says.
pub(super) fn is_proven(p: &[u8]) -> u32 {
    u32::from(p.first() == Some(&SEVEN))
}

/// The texts of an answer before 0.7, and the empty one behind the last zero.
fn texts(p: &[u8]) -> impl Iterator<Item = &[u8]> {
    p.get(BODY_AT..).unwrap_or_default().split(|byte| *byte == 0)
}
/// The text at that place, if its zero is there: without one, the capture may have cut it.
fn text_at(p: &[u8], n: usize) -> Option<Str<'_>> {
    let mut texts = texts(p).skip(n);
    let text = texts.next();
    texts.next().and(text).map(Str)
}
/// What a part lists: players of `each` texts behind `before` texts, of which that at `of` is the number of clients.
fn share(p: &[u8], before: usize, each: usize, of: Option<usize>) -> Option<Share> {
    let players = texts(p).count().checked_sub(before.saturating_add(1))?.checked_div(each)?;
    let of = match of {
        Some(at) => Some(u16::try_from(text_at(p, at)?.count()?).ok()?),
        None => None,
    };
    Some(Share { listed: u16::try_from(players).ok()?, of })
}
/// The first part of an extended answer, unless it lists all or nobody, or cannot be read.
pub(super) fn first_part(p: &[u8]) -> Option<Part> {
    let is_extended = p.get(WORD_AT..BODY_AT) == Some(b"iext");
    let share = if is_extended { share(p, 13, 6, Some(10)) } else { None };
    unfinished(0, share?)
}
pub(super) fn part_of_64(p: &[u8]) -> Option<Part> {
    let offset = text_at(p, 10)?.count()?;
    unfinished(u8::try_from(offset).ok()?, share(p, 11, 5, Some(8))?)
}
fn unfinished(number: u8, share: Share) -> Option<Part> {
    let of = share.of.filter(|of| share.listed > 0 && share.listed < *of);
    of.map(|_| Part { number, total: None, makes: None, share: Some(share) })
}
pub(super) fn further_part(p: &[u8]) -> Option<Part> {
    let number = u8::try_from(text_at(p, 1)?.count()?).ok().filter(|number| (1..=64).contains(number))?;
    Some(Part { number, total: None, makes: None, share: share(p, 3, 6, None) })
}
