//! The frames of datagrams that were put together from fragments.

use crate::bounded::Bounded;
use crate::net::Datagram;

/// Datagrams whose frames are remembered until they are told of; the oldest go first.
const MAX_JOINED: usize = 4_096;

/// Frames by the number of the one that a datagram is told of.
#[derive(Debug)]
pub(super) struct Joined(Bounded<u64, Box<[u64]>>);

impl Default for Joined {
    fn default() -> Self {
        Joined(Bounded::new(MAX_JOINED))
    }
}

impl Joined {
    /// The datagram of a frame was put together from those.
    pub fn note(&mut self, frame: u64, pieces: &[u64]) {
        self.0.insert(frame, pieces.into());
    }

    /// The frames of a datagram; none where it came in one.
    pub fn of(&self, d: &Datagram<'_>) -> &[u64] {
        match self.0.get(&d.frame) {
            Some(pieces) if d.at >= Datagram::NOWHERE => pieces,
            _ => &[],
        }
    }
}
