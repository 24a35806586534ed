//! Read-only queries about the requests of a conversation.

use super::queue::{Request, State};
use super::table::Table;
use crate::classify::OpenRequests;
use crate::conversation::Slot;
use crate::net::Datagram;
use crate::protocols::Id;

impl Table {
    /// Whether an exchange is among the latest that were withdrawn.
    #[cold]
    pub fn is_withdrawn(&self, exchange: u64) -> bool {
        self.withdrawn.contains(&exchange)
    }

    /// The exchange that the datagram in a frame opened.
    #[cold]
    pub fn exchange_opened_in(&self, slot: Slot, frame: u64) -> Option<u64> {
        let is_opened = |r: &Request| r.frame == frame && matches!(r.state, State::Open | State::Answered);
        self.chain(slot).find(|(_, r)| is_opened(r)).map(|(_, r)| r.id)
    }

    /// Whether an exchange among the latest of the conversation waits for its answer, or for further parts of it.
    #[cold]
    pub fn waits(&self, slot: Slot, exchange: u64) -> bool {
        let waits = |r: &Request| matches!(r.state, State::Open | State::Answering);
        self.chain(slot).any(|(_, r)| r.id == exchange && waits(r))
    }

    /// The longest time that an answer may take, in nanoseconds.
    pub fn late_window(&self, id: Id) -> i64 {
        self.windows.late(id)
    }

    /// Whether a request of the conversation is open, of that step or of any.
    #[inline]
    pub fn has_open(&self, slot: Slot, step: Option<u8>) -> bool {
        self.chain(slot).any(|(_, r)| r.state == State::Open && step.is_none_or(|step| step == r.step))
    }

    /// Whether a request of the conversation may still be answered.
    #[cold]
    pub fn awaits_answer(&self, slot: Slot) -> bool {
        self.chain(slot).any(|(_, r)| matches!(r.state, State::Open | State::Unreadable))
    }

    /// Whether a request from before a frame is open.
    #[cold]
    pub fn has_open_before(&self, slot: Slot, frame: u64) -> bool {
        self.chain(slot).any(|(_, r)| r.frame < frame && r.state == State::Open)
    }

    /// A summary of the open requests of a conversation, for a datagram that may answer one of them.
    pub fn open_requests(&self, slot: Slot, d: &Datagram<'_>) -> OpenRequests {
        let Some(c) = self.conversations.get(slot) else { return OpenRequests::default() };
        let steps = c.id.info().steps;
        let (mut requests, mut hash) = (OpenRequests::default(), None);
        for (index, (_, r)) in self.chain(slot).enumerate() {
            if let Some(key) = requests.keys.get_mut(index) {
                *key = r.key();
            }
            let is_open = matches!(r.state, State::Open | State::Unreadable)
                || r.state == State::Answered
                    && r.answer_hash == *hash.get_or_insert_with(|| self.fingerprint(d));
            requests.open |= is_open || r.state == State::Answering;
            if is_open {
                requests.steps |= 1u32.checked_shl(r.step.into()).unwrap_or(0);
            }
            if r.state == State::Open {
                let carried = steps[usize::from(r.step)].issues.then_some(r.request_state);
                requests.issued = requests.issued.or(carried);
            }
        }
        requests.issued = requests.issued.or_else(|| c.issued().map(|issued| issued.value));
        requests
    }
}
