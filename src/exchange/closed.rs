//! The exchanges that have closed and are not reported yet, in the order in which they closed.

use super::Exchange;

/// Nearly always, each exchange is reported before the next one closes. So it is not moved out but left at its place, which
/// is then free for the next one, and most likely in the cache.
#[derive(Debug, Default)]
pub(super) struct Closed {
    exchanges: Vec<Exchange>,
    /// The first of them that is not reported yet.
    first: usize,
}

impl Closed {
    #[inline(always)]
    pub fn push(&mut self, e: Exchange) {
        self.exchanges.push(e);
    }

    #[inline(always)]
    pub fn front(&self) -> Option<&Exchange> {
        self.exchanges.get(self.first)
    }

    #[inline(always)]
    pub fn front_mut(&mut self) -> Option<&mut Exchange> {
        self.exchanges.get_mut(self.first)
    }

    /// The exchange of that number, if it is among them.
    pub fn find_mut(&mut self, exchange: u64) -> Option<&mut Exchange> {
        self.exchanges.iter_mut().skip(self.first).rfind(|e| e.id == exchange)
    }

    /// Removes the first one.
    #[inline(always)]
    pub fn drop_front(&mut self) {
        self.first += 1;
        if self.first >= self.exchanges.len() {
            self.exchanges.clear();
            self.first = 0;
        }
    }

    /// Removes the first one, and returns it.
    pub fn take_front(&mut self) -> Option<Exchange> {
        let e = self.front_mut()?;
        let (response_parts, shown_key) = (std::mem::take(&mut e.response_parts), e.shown_key.take());
        let taken = Exchange { response_parts, shown_key, ..*e };
        self.drop_front();
        Some(taken)
    }

    /// Removes the exchange of that number. Returns whether it was among them.
    pub fn remove(&mut self, exchange: u64) -> bool {
        let Some(at) = self.exchanges.iter().skip(self.first).rposition(|e| e.id == exchange) else {
            return false;
        };
        self.exchanges.remove(self.first + at);
        if self.first >= self.exchanges.len() {
            self.exchanges.clear();
            self.first = 0;
        }
        true
    }
}
