//! Hash functions that run for nearly every datagram.

use hashbrown::DefaultHashBuilder;
use std::hash::{BuildHasher, Hash, Hasher};

/// The XOR of both halves of the product.
#[inline(always)]
pub(crate) fn folded_product(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

/// As [`BuildHasher::hash_one`], but always inlined, because nearly all of its code depends on the type.
#[inline(always)]
#[allow(clippy::manual_hash_one)]
pub(crate) fn hash_one(hasher: &DefaultHashBuilder, value: impl Hash) -> u64 {
    let mut state = hasher.build_hasher();
    value.hash(&mut state);
    state.finish()
}
