//! Remembers the frames of datagrams that were reassembled from fragments.

use crate::bounded::Bounded;
use crate::net::Datagram;

/// Most datagrams whose frames are remembered until they are reported; the oldest go first.
const MAX_JOINED: usize = 4_096;

/// The frames of each datagram, by the number of the frame with which it is reported.
#[derive(Debug)]
pub(super) struct Joined(Bounded<u64, Box<[u64]>>);

impl Default for Joined {
    fn default() -> Self {
        Joined(Bounded::new(MAX_JOINED))
    }
}

impl Joined {
    /// Remembers that the datagram of a frame was reassembled from these frames.
    pub fn note(&mut self, frame: u64, pieces: &[u64]) {
        self.0.insert(frame, pieces.into());
    }

    /// The frames of a datagram; none where it came in one frame.
    pub fn of(&self, d: &Datagram<'_>) -> &[u64] {
        match self.0.get(&d.frame) {
            Some(pieces) if d.at >= Datagram::NOWHERE => pieces,
            _ => &[],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::Endpoint;

    #[test]
    fn the_oldest_are_forgotten_and_what_came_in_one_frame_has_no_others() {
        let end = Endpoint::v4([192, 0, 2, 1], 1);
        let datagram = |frame, at| Datagram { frame, at, ..Datagram::between(end, end, &[]) };
        let mut joined = Joined::default();
        let last = 2 * MAX_JOINED as u64;
        (1..=MAX_JOINED as u64).for_each(|n| joined.note(2 * n, &[2 * n - 1, 2 * n]));
        assert_eq!(joined.of(&datagram(2, Datagram::NOWHERE)), [1, 2]);
        joined.note(last + 2, &[last + 1, last + 2]);
        assert!(joined.of(&datagram(2, Datagram::NOWHERE)).is_empty());
        assert_eq!(joined.of(&datagram(4, Datagram::NOWHERE)), [3, 4]);
        assert_eq!(joined.of(&datagram(last + 2, Datagram::NOWHERE)), [last + 1, last + 2]);
        assert!(joined.of(&datagram(4, 100)).is_empty(), "it stands in the file as one piece");
    }
}
