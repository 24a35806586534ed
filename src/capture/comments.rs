//! Comments on packets (`opt_comment` of packet blocks; draft-ietf-opsawg-pcapng, section 3.5.1).
//!
//! Few packets have comments, and reading frames without comments costs nothing extra: the source stores comments on
//! the slow path, which it takes for such packets anyway, and a report asks for the comments of a frame when it shows
//! the frame's datagram.

use crate::bounded::ByFrame;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Comments kept per packet; further ones are ignored.
pub const MAX_PACKET_COMMENTS: usize = 64;
/// Frames whose comments are remembered, and bytes of these comments; the oldest are dropped first.
const MAX_FRAMES: usize = 65_536;
const MAX_BYTES: usize = 8 << 20;
/// The store holds this many times those limits, because a thread that reads ahead may have read the comments of four
/// buffers and one more packet: at most 52,437 frames of 40 bytes each, where each comment of 8 bytes takes 60.
const STORE_FACTOR: usize = 3;
/// Memory of a text besides its bytes, in bytes.
const TEXT_OVERHEAD: usize = 48;

/// The comments on a packet as text, in their order: at most 64 of 4,096 bytes each.
pub type PacketComments = Arc<[Box<str>]>;

/// The comments on recent frames; a clone shares the same store.
#[derive(Clone, Debug, Default)]
pub struct Comments {
    /// Whether any frame had comments.
    any: Arc<AtomicBool>,
    /// The frame that the loop has reached; reports of earlier frames may have waited for it.
    reached: Arc<AtomicU64>,
    store: Arc<Mutex<Store>>,
}

#[derive(Debug, Default)]
struct Store {
    frames: ByFrame<Entry>,
    bytes: usize,
}

/// The comments on a frame, and the totals up to it: frames with comments, and the bytes of their comments.
#[derive(Debug)]
struct Entry {
    comments: PacketComments,
    total: u64,
    total_bytes: u64,
}

impl Comments {
    /// The comments on a frame, by the frame number of the source; `None` where it has none or they have been
    /// dropped. What is dropped depends on the frame that the loop has reached, not on how far reading is ahead of
    /// it.
    pub fn of(&self, frame: u64) -> Option<PacketComments> {
        // Captures with comments are rare.
        if !self.any.load(Ordering::Relaxed) {
            return None;
        }
        let store = self.store();
        let entry = store.frames.get(frame)?;
        let last = store.frames.up_to(frame.max(self.reached.load(Ordering::Relaxed)))?;
        let later_frames = last.total.saturating_sub(entry.total);
        let later_bytes = last.total_bytes.saturating_sub(entry.total_bytes);
        let bytes = later_bytes.saturating_add(size(&entry.comments) as u64);
        let is_kept = later_frames < MAX_FRAMES as u64 && bytes <= MAX_BYTES as u64;
        is_kept.then(|| entry.comments.clone())
    }

    /// The loop has reached this frame: reports from now on may be about earlier frames that waited for it.
    #[inline]
    pub(crate) fn reached(&self, frame: u64) {
        self.reached.store(frame, Ordering::Relaxed);
    }

    /// The comments on a single frame.
    #[cfg(feature = "page")]
    pub(crate) fn of_frame(frame: u64, comments: Option<PacketComments>) -> Comments {
        let store = Comments::default();
        store.add(frame, comments.iter().flat_map(|comments| comments.iter().cloned()).collect());
        store
    }

    /// Adds the comments on a frame, which must come after the last one added.
    pub(super) fn add(&self, frame: u64, comments: Vec<Box<str>>) {
        if comments.is_empty() {
            return;
        }
        let mut store = self.store();
        let bytes = size(&comments);
        store.bytes = store.bytes.saturating_add(bytes);
        let last = store.frames.up_to(u64::MAX);
        let (total, total_bytes) = last.map_or((0, 0), |last| (last.total, last.total_bytes));
        let (total, total_bytes) = (total.saturating_add(1), total_bytes.saturating_add(bytes as u64));
        store.frames.push(frame, Entry { comments: comments.into(), total, total_bytes });
        while store.frames.len() > STORE_FACTOR * MAX_FRAMES || store.bytes > STORE_FACTOR * MAX_BYTES {
            let Some(oldest) = store.frames.pop() else { break };
            store.bytes = store.bytes.saturating_sub(size(&oldest.comments));
        }
        self.any.store(true, Ordering::Relaxed);
    }

    fn store(&self) -> MutexGuard<'_, Store> {
        self.store.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Memory of the comments in bytes. Each text counts with its place in the list and the overhead of its allocation,
/// because texts may be short.
fn size(comments: &[Box<str>]) -> usize {
    comments.iter().map(|text| text.len().saturating_add(TEXT_OVERHEAD)).sum()
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects)]
mod tests {
    use super::*;

    #[test]
    fn oldest_comments_are_forgotten_by_number_and_by_size() {
        let comments = Comments::default();
        assert!(comments.of(1).is_none());
        let clone = comments.clone();
        (1..=MAX_FRAMES as u64 + 1).for_each(|frame| clone.add(frame, vec!["x".into()]));
        comments.reached(MAX_FRAMES as u64 + 1);
        assert!(comments.of(1).is_none());
        assert_eq!(comments.of(2).as_deref(), Some(&["x".into()][..]));
        let long: Box<str> = "y".repeat(MAX_BYTES / 2 - TEXT_OVERHEAD).into();
        (100_000..100_003).for_each(|frame| comments.add(frame, vec![long.clone()]));
        comments.reached(100_002);
        assert!(comments.of(2).is_none() && comments.of(100_000).is_none());
        assert!(comments.of(100_001).is_some() && comments.of(100_002).is_some());
        comments.add(100_003, vec![]);
        assert!(comments.of(100_003).is_none());
    }

    #[test]
    fn reading_ahead_evicts_no_comments() {
        let comments = Comments::default();
        let last = (STORE_FACTOR * MAX_FRAMES) as u64;
        (1..=last).for_each(|frame| comments.add(frame, vec!["x".into()]));
        for (reached, oldest) in [(0, 1), (MAX_FRAMES as u64, 1), (MAX_FRAMES as u64 + 7, 8)] {
            comments.reached(reached);
            assert!(comments.of(oldest).is_some() && comments.of(oldest - 1).is_none(), "{reached}");
        }
        comments.add(last + 1, vec!["x".into()]);
        comments.reached(0);
        assert!(comments.of(1).is_none() && comments.of(2).is_some(), "the store is bounded, too");
    }

    #[test]
    fn the_overhead_of_short_comments_counts() {
        let comments = Comments::default();
        (1..=10_000).for_each(|frame| comments.add(frame, vec!["".into(); MAX_PACKET_COMMENTS]));
        comments.reached(10_000);
        let most = (MAX_BYTES / (MAX_PACKET_COMMENTS * TEXT_OVERHEAD)) as u64;
        assert!(
            most < 10_000 && comments.of(10_000 - most).is_none() && comments.of(10_001 - most).is_some()
        );
    }
}
