//! The protocols that a payload may belong to, by its first bytes and its length.

use super::Id;
use crate::bounded::packed::ones;
use crate::contract::{Info, LONG, Lengths, Level};

/// For each of the first five bytes of a payload and each of its values, the protocols that a probe may recognise,
/// one bit each: built at compile time. Few payloads of other traffic pass all five.
static CANDIDATES: [[u32; 256]; 5] = [of_byte(0), of_byte(1), of_byte(2), of_byte(3), of_byte(4)];

/// For each value of the byte at an offset, the protocols that a probe may recognise, one bit each.
const fn of_byte(at: usize) -> [u32; 256] {
    let (mut table, mut protocols) = ([0; 256], Id::ALL);
    while let [id, others @ ..] = protocols {
        id.info().mark(at, 1 << *id as u32, &mut table);
        protocols = others;
    }
    table
}

/// For each length on the wire, and the upper two bits of the first byte, the protocols that a probe may recognise.
static LENGTHS: Lengths = {
    let (mut table, mut protocols) = ([[0; LONG]; 4], Id::ALL);
    while let [id, others @ ..] = protocols {
        id.info().mark_lengths(1 << *id as u32, &mut table);
        protocols = others;
    }
    table
};

/// The protocols whose payloads begin with their own length.
const BEGIN_WITH_LENGTH: u32 = {
    let (mut bits, mut protocols) = (0, Id::ALL);
    while let [id, others @ ..] = protocols {
        bits |= (id.info().begins_with_length as u32) << *id as u32;
        protocols = others;
    }
    bits
};

/// The protocols that a probe may recognise in a payload, one bit each. `wire_len` is its length on the wire in bytes.
#[inline(always)]
pub fn candidates(payload: &[u8], wire_len: usize) -> u32 {
    let [of_first, of_second, of_third, of_fourth, of_fifth] = &CANDIDATES;
    let Some(&first) = payload.first() else { return 0 };
    let of_length = LENGTHS.get(usize::from(first >> 6)).and_then(|table| table.get(wire_len.min(LONG - 1)));
    let is_length = usize::from(first) == wire_len & 0xff;
    let of_length = of_length.copied().unwrap_or(0) & if is_length { u32::MAX } else { !BEGIN_WITH_LENGTH };
    let bits = entry(of_first, first) & of_length;
    match *payload {
        [_, second, third, fourth, fifth, ..] => {
            bits & entry(of_second, second)
                & entry(of_third, third)
                & entry(of_fourth, fourth)
                & entry(of_fifth, fifth)
        }
        _ => bits,
    }
}

#[inline(always)]
fn entry(table: &[u32; 256], byte: u8) -> u32 {
    table.get(usize::from(byte)).copied().unwrap_or(0)
}

/// The protocols whose payloads may begin with that byte; none for an empty payload.
pub fn candidates_by_first_byte(byte: Option<&u8>) -> impl Iterator<Item = Id> {
    let [of_first, ..] = &CANDIDATES;
    protocols_of(byte.map_or(0, |byte| entry(of_first, *byte)))
}

/// The protocols whose bits are set, in registry order.
pub fn protocols_of(bits: u32) -> impl Iterator<Item = Id> {
    ones(bits).filter_map(|at| Id::ALL.get(at).copied())
}

/// The protocols that have messages of the form of a payload, with at least this confidence by its bytes alone, but for one that
/// is not asked about.
pub(crate) fn resembled(payload: &[u8], least: Level, except: Option<&Info>) -> impl Iterator<Item = Id> {
    let is_asked = move |id: &Id| except.is_none_or(|own| id.info().name != own.name);
    let possible = protocols_of(candidates(payload, payload.len())).filter(is_asked);
    possible.filter(move |id| id.resembles(payload) >= Some(least))
}
