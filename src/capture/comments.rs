//! Comments on packets (`opt_comment` of packet blocks; draft-ietf-opsawg-pcapng, section 3.5.1).
//!
//! Few packets have any, and whoever reads the frames pays nothing for them: the walk puts aside what it meets where
//! it must look closer anyway, and a report asks for the comments of a frame when it tells of its datagram.

use crate::bounded::ByFrame;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Comments kept of one packet; further ones are passed over.
pub const MAX_OF_PACKET: usize = 64;
/// Frames whose comments are remembered, and bytes of those; the oldest go first. More than are read ahead.
const MAX_FRAMES: usize = 65_536;
const MAX_BYTES: usize = 8 << 20;

/// What a packet says, as text: comments in their order, at most 64 of 4,096 bytes each.
pub type Said = Arc<[Box<str>]>;

/// Where the comments on recent frames are kept; a clone is the same place.
#[derive(Clone, Debug, Default)]
pub struct Comments {
    any: Arc<AtomicBool>,
    kept: Arc<Mutex<Kept>>,
}

#[derive(Debug, Default)]
struct Kept {
    frames: ByFrame<Said>,
    bytes: usize,
}

impl Comments {
    /// The comments on a frame, by its number as the source counts; `None` where it has none, or they are forgotten.
    pub fn of(&self, frame: u64) -> Option<Said> {
        // Nearly always nothing has any.
        if !self.any.load(Ordering::Relaxed) {
            return None;
        }
        self.kept().frames.get(frame).cloned()
    }

    /// Remembers the comments on a frame behind the last one.
    pub(super) fn add(&self, frame: u64, said: Vec<Box<str>>) {
        if said.is_empty() {
            return;
        }
        let mut kept = self.kept();
        kept.bytes = kept.bytes.saturating_add(size(&said));
        kept.frames.push(frame, said.into());
        while kept.frames.len() > MAX_FRAMES || kept.bytes > MAX_BYTES {
            let Some(oldest) = kept.frames.pop() else { break };
            kept.bytes = kept.bytes.saturating_sub(size(&oldest));
        }
        self.any.store(true, Ordering::Relaxed);
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn size(said: &[Box<str>]) -> usize {
    said.iter().map(|text| text.len()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_comments_are_forgotten_by_number_and_by_size() {
        let comments = Comments::default();
        assert!(comments.of(1).is_none());
        let same = comments.clone();
        (1..=MAX_FRAMES as u64 + 1).for_each(|frame| same.add(frame, vec!["x".into()]));
        assert!(comments.of(1).is_none());
        assert_eq!(comments.of(2).as_deref(), Some(&["x".into()][..]));
        let long: Box<str> = "y".repeat(MAX_BYTES / 2).into();
        (20_000..20_003).for_each(|frame| comments.add(frame, vec![long.clone()]));
        assert!(comments.of(2).is_none() && comments.of(20_000).is_none());
        assert!(comments.of(20_001).is_some() && comments.of(20_002).is_some());
        comments.add(20_003, vec![]);
        assert!(comments.of(20_003).is_none());
    }
}
