//! Values of frames, by frame number.

use std::collections::VecDeque;

/// Values of the latest frames, in rising order of frame number. The owner bounds the size.
#[derive(Debug)]
pub struct ByFrame<T>(VecDeque<(u64, T)>);

impl<T> Default for ByFrame<T> {
    fn default() -> Self {
        ByFrame(VecDeque::new())
    }
}

impl<T> ByFrame<T> {
    /// Remembers the value of a frame, which must come after the last one.
    pub fn push(&mut self, frame: u64, value: T) {
        self.0.push_back((frame, value));
    }

    /// Forgets the oldest frame, and returns its value.
    pub fn pop(&mut self) -> Option<T> {
        self.0.pop_front().map(|(_, value)| value)
    }

    /// Number of frames remembered.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The value of a frame; `None` where it has none, or is forgotten.
    pub fn get(&self, frame: u64) -> Option<&T> {
        // Nearly always the last frame is asked for; other frames hold datagrams that were pending.
        let at = match self.0.back() {
            Some((last, _)) if *last == frame => self.0.len().checked_sub(1)?,
            _ => self.0.binary_search_by_key(&frame, |(number, _)| *number).ok()?,
        };
        self.0.get(at).map(|(_, value)| value)
    }

    /// The value of the last frame up to that one; `None` where there is none, or it is forgotten.
    pub fn up_to(&self, frame: u64) -> Option<&T> {
        let count = self.0.partition_point(|(number, _)| *number <= frame);
        self.0.get(count.checked_sub(1)?).map(|(_, value)| value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_found_by_number_until_they_are_forgotten() {
        let mut values = ByFrame::default();
        [(3, 'a'), (7, 'b'), (9, 'c')].into_iter().for_each(|(frame, value)| values.push(frame, value));
        assert_eq!(
            [3, 4, 7, 9, 10].map(|frame| values.get(frame).copied()),
            [Some('a'), None, Some('b'), Some('c'), None]
        );
        assert_eq!(
            [2, 3, 6, 7, 10].map(|frame| values.up_to(frame).copied()),
            [None, Some('a'), Some('a'), Some('b'), Some('c')]
        );
        assert_eq!(
            (values.pop(), values.len(), values.get(3), values.get(7)),
            (Some('a'), 2, None, Some(&'b'))
        );
    }
}
