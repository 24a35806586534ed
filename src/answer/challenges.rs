//! The challenges that were issued.

use crate::bounded::{Bounded, Budget};
use std::hash::{BuildHasher, RandomState};
use std::net::SocketAddr;

/// Maximum number of clients whose challenges are remembered; the oldest is forgotten, and must ask again.
const MAX_CHALLENGED: usize = 4_096;
/// How many challenges of a client are valid.
const VALID: usize = 4;

/// The challenges of all clients, each a new one.
#[derive(Debug)]
pub struct Challenges {
    secret: RandomState,
    serial: u64,
    issued: Bounded<SocketAddr, [u32; VALID], MAX_CHALLENGED>,
}

impl Default for Challenges {
    fn default() -> Challenges {
        Challenges { secret: RandomState::new(), serial: 0, issued: Budget::default().into() }
    }
}

impl Challenges {
    /// A new challenge for a client, which nobody else can guess: 31 bits, for some protocols write it as a number with a sign,
    /// and never 0.
    pub fn issue(&mut self, to: SocketAddr) -> u32 {
        self.serial = self.serial.wrapping_add(1);
        let challenge = ((self.secret.hash_one((to, self.serial)) >> 33) as u32).max(1);
        let issued = self.issued.get_or_insert(to, [0; VALID]);
        issued.rotate_right(1);
        if let Some(latest) = issued.first_mut() {
            *latest = challenge;
        }
        challenge
    }

    /// Whether the client has got this challenge lately.
    pub fn has(&self, client: SocketAddr, challenge: u32) -> bool {
        challenge != 0 && self.issued.get(&client).is_some_and(|issued| issued.contains(&challenge))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(n: u32) -> SocketAddr {
        SocketAddr::from((n.to_be_bytes(), 9))
    }

    #[test]
    fn a_challenge_is_valid_for_its_client_until_some_others_were_issued() {
        let mut challenges = Challenges::default();
        let first = challenges.issue(client(1));
        assert!(challenges.has(client(1), first) && !challenges.has(client(2), first));
        assert!(!challenges.has(client(1), 0) && !challenges.has(client(2), 0));
        let further: Vec<_> = (0..VALID).map(|_| challenges.issue(client(1))).collect();
        assert!(!further.contains(&first) && further.iter().all(|value| challenges.has(client(1), *value)));
        assert!(!challenges.has(client(1), first));
    }

    #[test]
    fn challenged_clients_are_bounded() {
        let mut challenges = Challenges::default();
        let first = challenges.issue(client(0));
        (1..MAX_CHALLENGED as u32).for_each(|n| _ = challenges.issue(client(n)));
        assert!(challenges.has(client(0), first));
        challenges.issue(client(u32::MAX));
        assert!(!challenges.has(client(0), first));
    }
}
