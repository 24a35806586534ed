//! What a right server answers.

use super::{CHALLENGE_REQUEST, QUERY_REQUEST};
use crate::contract::answering::{Reply, Slot, Slot::*, be16, be32, be32_at, short, sized};

pub static REPLIES: &[Reply] = &[
    Reply::to(CHALLENGE_REQUEST, &[Hex("00"), Challenge(be32)]),
    Reply::to(QUERY_REQUEST, &[Hex("01"), Asked(1, 5), Hex("0001 00 00"), Within(packet, CHUNKS)])
        .when(is_whole)
        .returning(be32_at::<1>),
];

/// The chunks, in the order of their bits.
const CHUNKS: &[Slot] = &[
    If(asks::<0x01>, &[Within(chunk, SERVER_INFO)]),
    If(asks::<0x02>, &[Within(chunk, &[Hex("04 'mode' 04 04 'none'")])]),
    If(asks::<0x04>, &[Within(chunk, PLAYER_INFO)]),
    If(asks::<0x08>, &[Within(chunk, &[Hex("0002 01 05 'score' 01 0003 0001")])]),
    If(asks::<0x10>, &[Within(chunk, &[Hex("02 42700000 3e800000")])]),
];
const SERVER_INFO: &[Slot] =
    &[Players(be16), MaxPlayers(be16), Name(short), Game(short), Version(short), Map(short), Port(be16)];
const PLAYER_INFO: &[Slot] =
    &[Players(be16), Hex("02 04 'name' 04 05 'score' 02"), Each(&[Player(short), Index(be32)])];

/// Whether a query has its type, token, version and chunks; a shorter one gets no answer.
fn is_whole(p: &[u8]) -> bool {
    p.len() >= 8
}
fn asks<const BIT: u8>(p: &[u8]) -> bool {
    p.get(7).is_some_and(|bits| bits & BIT != 0)
}
fn packet(chunks: &[u8]) -> Vec<u8> {
    sized(be16, chunks)
}
fn chunk(fields: &[u8]) -> Vec<u8> {
    sized(be32, fields)
}
