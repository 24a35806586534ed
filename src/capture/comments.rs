//! Comments on packets (`opt_comment` of packet blocks; draft-ietf-opsawg-pcapng, section 3.5.1).
//!
//! Few packets have comments, and reading frames without comments costs nothing extra: the walk stores comments
//! where it must look closer anyway, and a report asks for the comments of a frame when it shows the frame's
//! datagram.

use crate::by_frame::ByFrame;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Comments kept per packet; further ones are ignored.
pub const MAX_OF_PACKET: usize = 64;
/// Frames whose comments are remembered, and bytes of these comments; the oldest are dropped first.
const MAX_FRAMES: usize = 65_536;
const MAX_BYTES: usize = 8 << 20;
/// The store holds this many times those limits, because a thread that reads ahead may have met the comments of four
/// buffers and one more packet: at most 52,437 frames of 40 bytes each, where each comment of 8 bytes takes 60.
const TIMES: usize = 3;
/// Memory that a text takes besides its bytes.
const EACH: usize = 48;

/// The comments on a packet as text, in their order: at most 64 of 4,096 bytes each.
pub type PacketComments = Arc<[Box<str>]>;

/// The comments on recent frames; a clone shares the same store.
#[derive(Clone, Debug, Default)]
pub struct Comments {
    any: Arc<AtomicBool>,
    /// The frame that the loop has reached; reports of earlier frames may have waited for it.
    reached: Arc<AtomicU64>,
    kept: Arc<Mutex<Kept>>,
}

#[derive(Debug, Default)]
struct Kept {
    frames: ByFrame<Entry>,
    bytes: usize,
}

/// The comments on a frame, and the totals up to it: frames with comments, and the bytes of their comments.
#[derive(Debug)]
struct Entry {
    said: PacketComments,
    seen: u64,
    seen_bytes: u64,
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
        let kept = self.kept();
        let own = kept.frames.get(frame)?;
        let last = kept.frames.up_to(frame.max(self.reached.load(Ordering::Relaxed)))?;
        let (later, bytes) =
            (last.seen.saturating_sub(own.seen), last.seen_bytes.saturating_sub(own.seen_bytes));
        let here =
            later < MAX_FRAMES as u64 && bytes.saturating_add(size(&own.said) as u64) <= MAX_BYTES as u64;
        here.then(|| own.said.clone())
    }

    /// The loop has reached this frame: reports from now on may be about earlier frames that waited for it.
    #[inline]
    pub(crate) fn reached(&self, frame: u64) {
        self.reached.store(frame, Ordering::Relaxed);
    }

    /// Adds the comments on a frame, which must come after the last one added.
    pub(super) fn add(&self, frame: u64, said: Vec<Box<str>>) {
        if said.is_empty() {
            return;
        }
        let mut kept = self.kept();
        let bytes = size(&said);
        kept.bytes = kept.bytes.saturating_add(bytes);
        let (seen, seen_bytes) =
            kept.frames.up_to(u64::MAX).map_or((0, 0), |last| (last.seen, last.seen_bytes));
        let (seen, seen_bytes) = (seen.saturating_add(1), seen_bytes.saturating_add(bytes as u64));
        kept.frames.push(frame, Entry { said: said.into(), seen, seen_bytes });
        while kept.frames.len() > TIMES * MAX_FRAMES || kept.bytes > TIMES * MAX_BYTES {
            let Some(oldest) = kept.frames.pop() else { break };
            kept.bytes = kept.bytes.saturating_sub(size(&oldest.said));
        }
        self.any.store(true, Ordering::Relaxed);
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Bytes of the texts, and for each its place in the list and the overhead of its allocation: texts may be short.
fn size(said: &[Box<str>]) -> usize {
    said.iter().map(|text| text.len().saturating_add(EACH)).sum()
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_comments_are_forgotten_by_number_and_by_size() {
        let comments = Comments::default();
        assert!(comments.of(1).is_none());
        let same = comments.clone();
        (1..=MAX_FRAMES as u64 + 1).for_each(|frame| same.add(frame, vec!["x".into()]));
        comments.reached(MAX_FRAMES as u64 + 1);
        assert!(comments.of(1).is_none());
        assert_eq!(comments.of(2).as_deref(), Some(&["x".into()][..]));
        let long: Box<str> = "y".repeat(MAX_BYTES / 2 - EACH).into();
        (100_000..100_003).for_each(|frame| comments.add(frame, vec![long.clone()]));
        comments.reached(100_002);
        assert!(comments.of(2).is_none() && comments.of(100_000).is_none());
        assert!(comments.of(100_001).is_some() && comments.of(100_002).is_some());
        comments.add(100_003, vec![]);
        assert!(comments.of(100_003).is_none());
    }

    #[test]
    fn what_is_read_ahead_drives_nothing_out() {
        let comments = Comments::default();
        let last = (TIMES * MAX_FRAMES) as u64;
        (1..=last).for_each(|frame| comments.add(frame, vec!["x".into()]));
        for (reached, oldest) in [(0, 1), (MAX_FRAMES as u64, 1), (MAX_FRAMES as u64 + 7, 8)] {
            comments.reached(reached);
            assert!(comments.of(oldest).is_some() && comments.of(oldest - 1).is_none(), "{reached}");
        }
        comments.add(last + 1, vec!["x".into()]);
        comments.reached(0);
        assert!(comments.of(1).is_none() && comments.of(2).is_some(), "there is an end to it");
    }

    #[test]
    fn of_short_comments_what_leads_to_them_counts() {
        let comments = Comments::default();
        (1..=10_000).for_each(|frame| comments.add(frame, vec!["".into(); MAX_OF_PACKET]));
        comments.reached(10_000);
        let most = (MAX_BYTES / (MAX_OF_PACKET * EACH)) as u64;
        assert!(
            most < 10_000 && comments.of(10_000 - most).is_none() && comments.of(10_001 - most).is_some()
        );
    }
}
