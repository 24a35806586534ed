//! Queries about the requests of a conversation; they change nothing.

use super::queue::{Request, State};
use super::table::Table;
use crate::classify::OpenRequests;
use crate::conversation::Slot;
use crate::net::Datagram;
use crate::protocols::Id;

impl Table {
    /// Whether an exchange was withdrawn, as far as is remembered.
    #[cold]
    pub fn withdrew(&self, exchange: u64) -> bool {
        self.withdrawn.contains(&exchange)
    }

    /// The exchange that was opened by the datagram in a frame.
    #[cold]
    pub fn asked_in(&self, slot: Slot, frame: u64) -> Option<u64> {
        let asks = |r: &Request| r.frame == frame && matches!(r.state, State::Open | State::Answered);
        self.chain(slot).find(|(_, r)| asks(r)).map(|(_, r)| r.id)
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

    /// Whether a request from before a frame is open.
    #[cold]
    pub fn asked_before(&self, slot: Slot, frame: u64) -> bool {
        self.chain(slot).any(|(_, r)| r.frame < frame && r.state == State::Open)
    }

    /// A summary of the open requests of a conversation, for a datagram that may answer one of them.
    pub fn waiting(&self, slot: Slot, d: &Datagram<'_>) -> OpenRequests {
        let Some(c) = self.conversations.get(slot) else { return OpenRequests::default() };
        let declared = c.id.info().steps;
        let (mut waiting, mut hash) = (OpenRequests::default(), None);
        for (at, (_, r)) in self.chain(slot).enumerate() {
            if let Some(key) = waiting.keys.get_mut(at) {
                *key = r.key();
            }
            let waits = r.state == State::Open
                || r.state == State::Answered
                    && r.answer_hash == *hash.get_or_insert_with(|| self.fingerprint(d));
            waiting.open |= waits || r.state == State::Answering;
            if waits {
                waiting.steps |= 1u32.checked_shl(r.step.into()).unwrap_or(0);
            }
            if r.state == State::Open {
                let carried = declared[usize::from(r.step)].issues.then_some(r.request_state);
                waiting.issued = waiting.issued.or(carried);
            }
        }
        waiting.issued = waiting.issued.or_else(|| c.issued().map(|issued| issued.value));
        waiting
    }
}
