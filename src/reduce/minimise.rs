//! Delta debugging: drops halves, quarters and ever smaller parts as long as the finding stays, until nothing can be dropped alone.

/// Most trials of one search.
pub const MAX_TRIALS: u64 = 10_000;
/// Most frames read in all trials together.
pub const MAX_FRAMES_READ: u64 = 50_000_000;

/// The trials that have been made.
#[derive(Debug, Default)]
pub struct Trials {
    /// Number of trials so far.
    pub made: u64,
    frames: u64,
    /// The search ended before everything was tried.
    pub gave_up: bool,
}

impl Trials {
    /// Counts a trial of so many frames. Returns whether it may be made.
    pub fn begin(&mut self, frames: usize) -> bool {
        self.frames = self.frames.saturating_add(frames as u64);
        self.gave_up |= self.made >= MAX_TRIALS || self.frames > MAX_FRAMES_READ;
        self.made = self.made.saturating_add(1);
        !self.gave_up
    }

    /// Ends the search early.
    pub fn give_up(&mut self) {
        self.gave_up = true;
    }
}

/// What is left of the frames, and whether nothing more can be dropped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Minimised {
    /// The places of the frames, in order.
    pub kept: Vec<usize>,
    /// No frame and no conversation of it can be left out.
    pub is_minimal: bool,
    /// Number of trials.
    pub trials: u64,
}

/// Drops whole groups of frames, then frames, until neither can be dropped alone. `shows` tells whether frames show the finding; all
/// of them do.
pub fn minimised(
    groups: Vec<Vec<usize>>,
    trials: &mut Trials,
    mut shows: impl FnMut(&[usize], &mut Trials) -> bool,
) -> Minimised {
    let mut kept = flat(&groups);
    let mut group_of = vec![0; kept.last().map_or(0, |last| last.saturating_add(1))];
    for (at, frame) in
        groups.iter().enumerate().flat_map(|(at, group)| group.iter().map(move |frame| (at, frame)))
    {
        if let Some(group) = group_of.get_mut(*frame) {
            *group = at;
        }
    }
    let count = groups.len();
    let mut groups = groups;
    loop {
        let before = kept.len();
        kept = flat(&minimal(groups, |groups| shows(&flat(groups), trials)));
        kept = minimal(kept, |frames| shows(frames, trials));
        if kept.len() == before || trials.gave_up {
            return Minimised { kept, is_minimal: !trials.gave_up, trials: trials.made };
        }
        groups = vec![vec![]; count];
        for frame in &kept {
            if let Some(group) = group_of.get(*frame).and_then(|at| groups.get_mut(*at)) {
                group.push(*frame);
            }
        }
        groups.retain(|group| !group.is_empty());
    }
}

/// The frames of all groups, in order.
fn flat(groups: &[Vec<usize>]) -> Vec<usize> {
    let mut frames: Vec<_> = groups.iter().flatten().copied().collect();
    frames.sort_unstable();
    frames
}

/// As few items as still pass: none of them can be left out alone.
fn minimal<T: Clone>(mut items: Vec<T>, mut passes: impl FnMut(&[T]) -> bool) -> Vec<T> {
    let mut size = items.len().div_ceil(2);
    while size > 0 && items.len() > 1 {
        let before = items.len();
        let mut from = 0;
        while from < items.len() {
            let after = items.get(from.saturating_add(size)..).unwrap_or_default();
            let rest: Vec<T> = items.iter().take(from).chain(after).cloned().collect();
            match !rest.is_empty() && passes(&rest) {
                true => items = rest,
                false => from = from.saturating_add(size),
            }
        }
        // With single items, until none of them can be left out any more.
        if size > 1 {
            size = size.div_ceil(2);
        } else if items.len() == before {
            break;
        }
    }
    items
}

#[cfg(test)]
#[allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::arithmetic_side_effects)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// What is left passes, and nothing of it can be left out alone, whatever is needed.
        #[test]
        fn nothing_that_is_left_can_be_left_out(
            needed in proptest::collection::vec(proptest::collection::btree_set(0usize..40, 1..6), 1..4),
        ) {
            let shows = |frames: &[usize]| needed.iter().any(|set| set.iter().all(|n| frames.contains(n)));
            let groups: Vec<Vec<usize>> = (0..8).map(|group| (0..5).map(|n| n * 8 + group).collect()).collect();
            let mut trials = Trials::default();
            let found = minimised(groups.clone(), &mut trials, |frames, trials| trials.begin(frames.len()) && shows(frames));
            prop_assert!(found.is_minimal && shows(&found.kept));
            for frame in &found.kept {
                let rest: Vec<_> = found.kept.iter().copied().filter(|n| n != frame).collect();
                prop_assert!(!shows(&rest), "{frame} of {:?}", found.kept);
            }
            prop_assert!(needed.iter().any(|set| set.iter().copied().eq(found.kept.iter().copied())));
        }
    }

    #[test]
    fn whole_groups_are_dropped_first() {
        let groups: Vec<Vec<usize>> = (0..100).map(|group| (group * 10..group * 10 + 10).collect()).collect();
        let mut sizes = vec![];
        let mut trials = Trials::default();
        let found = minimised(groups, &mut trials, |frames, _| {
            sizes.push(frames.len());
            frames.contains(&555)
        });
        assert_eq!(found.kept, [555]);
        let in_a_group = sizes.iter().position(|size| size % 10 != 0).expect("frames are dropped, too");
        assert!(sizes[..in_a_group].contains(&10), "{sizes:?}");
        assert!(sizes.len() < 60, "{sizes:?}");
    }

    #[test]
    fn a_search_ends_after_so_many_trials_and_frames() {
        for (n, is_minimal) in [(400, true), (4_500, false), (20_000, false)] {
            let mut trials = Trials::default();
            // Every second frame is needed: nothing but single frames can be dropped.
            let needed =
                |frames: &[usize]| (0..n).step_by(2).all(|frame| frames.binary_search(&frame).is_ok());
            let groups = vec![(0..n).collect::<Vec<_>>()];
            let found =
                minimised(groups, &mut trials, |frames, trials| trials.begin(frames.len()) && needed(frames));
            assert_eq!(found.is_minimal, is_minimal, "{n}");
            assert!(needed(&found.kept));
            assert_eq!(trials.gave_up, !is_minimal);
            let by_frames = trials.frames > MAX_FRAMES_READ;
            assert_eq!(by_frames, n == 20_000, "{} trials, {} frames", trials.made, trials.frames);
        }
    }
}
