//! The exchanges of a run, for a list: most of them take 96 bytes.

use crate::capture::Time;
use crate::conversation::{NONE, Slot};
use crate::exchange::{Exchange, Outcome};
use crate::net::Endpoint;
use crate::protocols::{Id, Level};

/// Most exchanges kept.
pub const MAX_EXCHANGES: usize = 100_000;

/// No response time.
const NO_TIME: u32 = u32::MAX;

/// An exchange as most of them are: answered by one datagram within four seconds, or not at all.
#[derive(Debug)]
struct Usual {
    client: Endpoint,
    server: Endpoint,
    request_frame: u64,
    request_time: Time,
    key: u64,
    id: u32,
    /// Number of frames from the request to the answer, 0 if there is none.
    frames: u32,
    /// `NO_TIME` for none.
    response_time: u32,
    request_bytes: u16,
    response_bytes: u16,
    retransmissions: u8,
    protocol: Id,
    step: u8,
    level: Level,
    answer: Option<u8>,
    outcome: Outcome,
    has_key: bool,
}

impl Usual {
    /// Numbers that do not fit are cut: then it is not given back as it was.
    fn of(e: &Exchange) -> Usual {
        Usual {
            client: e.client,
            server: e.server,
            request_frame: e.request_frame,
            request_time: e.request_time,
            key: e.key.unwrap_or(0),
            id: e.id as u32,
            frames: e.response_frame.map_or(0, |frame| frame.wrapping_sub(e.request_frame) as u32),
            response_time: e.response_time.map_or(NO_TIME, |nanos| nanos as u32),
            request_bytes: e.request_bytes as u16,
            response_bytes: e.response_bytes as u16,
            retransmissions: e.retransmissions as u8,
            protocol: e.protocol,
            step: e.step,
            level: e.level,
            answer: e.answer,
            outcome: e.outcome,
            has_key: e.key.is_some(),
        }
    }

    fn exchange(&self) -> Exchange {
        Exchange {
            id: self.id.into(),
            protocol: self.protocol,
            step: self.step,
            level: self.level,
            conversation: Slot::default(),
            client: self.client,
            server: self.server,
            server_index: NONE,
            key: self.has_key.then_some(self.key),
            shown_key: None,
            request_frame: self.request_frame,
            request_time: self.request_time,
            response_frame: (self.frames > 0).then(|| self.request_frame.saturating_add(self.frames.into())),
            answer: self.answer,
            response_parts: vec![],
            outcome: self.outcome,
            response_time: (self.response_time != NO_TIME).then_some(self.response_time.into()),
            request_bytes: self.request_bytes.into(),
            response_bytes: self.response_bytes.into(),
            retransmissions: self.retransmissions.into(),
            reason: None,
            incomplete: None,
            contradicted: None,
            elsewhere: false,
            unreadable: false,
            returns: false,
            hidden: false,
            assumed: false,
        }
    }
}

#[derive(Debug)]
enum Kept {
    Usual(Usual),
    Odd(Box<Exchange>),
}

/// Exchanges in the order in which they closed.
#[derive(Debug, Default)]
pub struct Exchanges {
    kept: Vec<Kept>,
    /// How many there was no room for.
    pub more: u64,
}

impl Exchanges {
    /// Keeps one, if there is room. Returns whether there is.
    pub fn add(&mut self, e: &Exchange) -> bool {
        if self.kept.len() >= MAX_EXCHANGES {
            self.more = self.more.saturating_add(1);
            return false;
        }
        let usual = Usual::of(e);
        // Its conversation and the table of servers are no longer looked up.
        let odd = Exchange { conversation: Slot::default(), server_index: NONE, ..e.clone() };
        self.kept.push(if usual.exchange() == odd { Kept::Usual(usual) } else { Kept::Odd(Box::new(odd)) });
        true
    }

    /// The exchanges kept.
    pub fn iter(&self) -> impl Iterator<Item = Exchange> {
        self.kept.iter().map(|kept| match kept {
            Kept::Usual(usual) => usual.exchange(),
            Kept::Odd(odd) => (**odd).clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_usual_exchange_takes_little_and_every_one_is_given_back() {
        assert!(size_of::<Kept>() <= 96, "{}", size_of::<Kept>());
        let ends = [1, 2].map(|n| Endpoint::v4([192, 0, 2, n], 7));
        let plain = Exchange {
            conversation: Slot::default(),
            server_index: NONE,
            ..Exchange::unanswered(1, Id::Sqp, ends)
        };
        let answered =
            Exchange { response_frame: Some(2), response_time: Some(5), key: Some(0), ..plain.clone() };
        let odd = Exchange { response_parts: vec![2, 3], ..answered.clone() };
        let slow = Exchange { response_time: Some(5_000_000_000), ..answered.clone() };
        let refused = Exchange { reason: Some("port unreachable"), ..plain.clone() };
        let all = [plain, answered, odd, slow, refused];
        let mut kept = Exchanges::default();
        assert!(all.iter().all(|e| kept.add(e)));
        assert_eq!(kept.iter().collect::<Vec<_>>(), all);
        assert_eq!(kept.kept.iter().filter(|kept| matches!(kept, Kept::Usual(_))).count(), 2);
    }
}
