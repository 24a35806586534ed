//! Mixes words into a hash, for hashes that are made for nearly every datagram.

/// The XOR of both halves of the product.
#[inline(always)]
pub(crate) fn folded(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}
