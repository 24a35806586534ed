//! The windows in which answers are expected.

use super::MS;
use crate::protocols::Id;

/// A request without a key is given up when its client asks again this much later, in nanoseconds.
pub(super) const GIVE_UP: i64 = 250 * MS;
/// An answer may come this long before its request, in nanoseconds …
pub const EARLY: i64 = 10 * MS;
/// … and this many frames.
pub const EARLY_FRAMES: u64 = 64;

/// Answer windows of all protocols.
#[derive(Clone, Debug)]
pub struct Windows(Vec<i64>);

impl Windows {
    /// The protocols' own windows, or `override_ns` nanoseconds for all of them.
    pub fn new(override_ns: Option<i64>) -> Self {
        let window = |id: &Id| override_ns.unwrap_or(i64::from(id.info().window_ms) * MS);
        Windows(Id::ALL.iter().map(window).collect())
    }
    /// Answer window in nanoseconds.
    pub fn answer(&self, id: Id) -> i64 {
        self.0[id as usize]
    }
    /// Late window in nanoseconds: five times the answer window, at least 5 s.
    #[inline]
    pub fn late(&self, id: Id) -> i64 {
        self.answer(id).saturating_mul(5).max(5_000 * MS)
    }
}
