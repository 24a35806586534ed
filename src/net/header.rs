//! Packet headers: their sizes and protocol numbers, and how they are split off a frame.

use super::{DropReason, Endpoint};
use crate::capture::Frame;

/// Bytes of an IPv4 header without options.
pub(super) const V4_HEADER: usize = 20;
/// Bytes of an IPv6 header.
pub(super) const V6_HEADER: usize = 40;
/// More-fragments flag and fragment offset: not 0 in every fragment, 0 in unfragmented packets.
pub(super) const V4_FRAGMENT: u16 = 0x3fff;

// Protocol numbers (IANA, "Assigned Internet Protocol Numbers").
pub(super) const ICMP: u8 = 1;
pub(super) const IPV4: u8 = 4;
pub(super) const TCP: u8 = 6;
pub(super) const UDP: u8 = 17;
pub(super) const IPV6: u8 = 41;
pub(super) const GRE: u8 = 47;
pub(super) const ICMPV6: u8 = 58;

/// An IP packet and all bytes after it in the frame; the variant is the version that the link header announces.
#[derive(Clone, Copy, Debug)]
pub(super) enum Packet<'a> {
    /// Announced as IPv4.
    V4(&'a [u8]),
    /// Announced as IPv6.
    V6(&'a [u8]),
}

/// Number of bytes on the wire from the start of `rest`, the captured end of the frame.
///
/// Never less than the captured bytes, whatever the capture file says.
#[inline(always)]
pub(super) fn on_wire(frame: &Frame<'_>, rest: &[u8]) -> usize {
    let wire = usize::try_from(frame.wire_len).unwrap_or(usize::MAX);
    rest.len().saturating_add(wire.saturating_sub(frame.bytes.len()))
}

/// Splits off a link header of `N` bytes; `rest` is the captured end of the frame.
#[inline(always)]
pub(super) fn header<'a, const N: usize>(
    frame: &Frame<'a>,
    rest: &'a [u8],
) -> Result<(&'a [u8; N], &'a [u8]), DropReason> {
    split(frame, rest, DropReason::BadLink)
}

/// Splits off any header of `N` bytes. Where it is missing and the snap length has not cut it, the reason is
/// `damage`.
#[inline(always)]
pub(super) fn split<'a, const N: usize>(
    frame: &Frame<'a>,
    rest: &'a [u8],
    damage: DropReason,
) -> Result<(&'a [u8; N], &'a [u8]), DropReason> {
    match rest.split_first_chunk::<N>() {
        Some(split) => Ok(split),
        None => Err(missing(*frame, rest, N, damage)),
    }
}

/// Skips a header of `length` bytes, with the same reasons.
pub(super) fn skip<'a>(
    frame: &Frame<'a>,
    rest: &'a [u8],
    length: usize,
    damage: DropReason,
) -> Result<&'a [u8], DropReason> {
    rest.get(length..).ok_or_else(|| missing(*frame, rest, length, damage))
}

/// Why `rest` is shorter than a header of `need` bytes: [`DropReason::HeadersCut`] where the snap length cut it,
/// else `damage`.
#[cold]
#[inline(never)]
pub(super) fn missing(frame: Frame<'_>, rest: &[u8], need: usize, damage: DropReason) -> DropReason {
    if on_wire(&frame, rest) < need { damage } else { DropReason::HeadersCut }
}

/// Source and destination of an IPv4 header.
#[inline(always)]
pub(super) fn v4_addresses(head: &[u8; V4_HEADER]) -> ([u8; 4], [u8; 4]) {
    let [.., s0, s1, s2, s3, d0, d1, d2, d3] = *head;
    ([s0, s1, s2, s3], [d0, d1, d2, d3])
}

/// The same as endpoints without ports.
pub(super) fn v4_hosts(head: &[u8; V4_HEADER]) -> [Endpoint; 2] {
    let (src, dst) = v4_addresses(head);
    [src, dst].map(|ip| Endpoint::v4(ip, 0))
}

/// Source and destination of an IPv6 header.
#[inline(always)]
pub(super) fn v6_addresses(head: &[u8; V6_HEADER]) -> ([u8; 16], [u8; 16]) {
    let [_, _, _, _, _, _, _, _, both @ ..] = head;
    let address = |chunk: Option<&[u8; 16]>| chunk.copied().unwrap_or_default();
    (address(both.first_chunk()), address(both.last_chunk()))
}
