//! The counters of a server that nearly every exchange changes, apart from those that few exchanges change: they take one
//! cache line for each server.

use super::server::{Server, UNIT};
use super::times::Times;
use crate::decode::{Facts, Value, Version};
use crate::exchange::{Exchange, Outcome};
use crate::packed::Bits;
use hashbrown::DefaultHashBuilder;
use std::hash::{BuildHasher, Hasher};

/// Most servers whose response times are kept; the memory for them grows to some 10 KiB each.
pub const MAX_TIMED: usize = 1_024;
/// Response times of a server that wait to be put into its histogram together.
const WAITING: usize = 7;

/// Counters of all servers, by the pipeline's server index; the counters of a server are [moved](Hot::move_to) to it before
/// it is shown.
#[derive(Debug, Default)]
pub(super) struct Hot {
    lines: Vec<Line>,
    /// Servers that have a place.
    begun: Bits,
    waiting: Vec<Waiting>,
    hasher: DefaultHashBuilder,
}

/// The counters of one server.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Line {
    requests: u64,
    answered: u64,
    /// Response times: their number, their sum, the shortest and the longest.
    count: u64,
    sum: i64,
    ends: (i64, i64),
    /// A hash of what the server said last.
    said: u64,
    /// Index of its response times in [`Hot::waiting`], plus one; 0 where it has none.
    timed: u16,
}

const _: () = assert!(size_of::<Line>() == 64);

impl Default for Line {
    fn default() -> Self {
        let (requests, answered, count, sum, said, timed) = (0, 0, 0, 0, 0, 0);
        Line { requests, answered, count, sum, ends: (i64::MAX, i64::MIN), said, timed }
    }
}

/// Response times of one server that wait, in units.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(32))]
struct Waiting {
    units: [u32; WAITING],
    len: u32,
}

impl Hot {
    /// Whether a server has a place.
    #[inline(always)]
    pub fn has(&self, index: u32) -> bool {
        self.begun.has(index as usize)
    }

    /// Gives a server a place.
    pub fn begin(&mut self, at: usize) {
        if at >= self.lines.len() {
            self.lines.resize_with(at + 1, Line::default);
            self.begun.grow(at + 1);
        }
        self.begun.set(at);
    }

    /// Whether a server has said something else than last time.
    #[inline(always)]
    pub fn is_news(&mut self, index: u32, facts: &Facts<'_>) -> bool {
        let hash = self.hash(facts);
        let Some(line) = self.lines.get_mut(index as usize) else { return false };
        std::mem::replace(&mut line.said, hash) != hash
    }

    /// Counts an exchange with a server; `false` where the server has no place. The server itself is looked at only where
    /// its response times are to be moved.
    #[inline(always)]
    pub fn count(&mut self, e: &Exchange, servers: &mut [Option<Server>]) -> bool {
        let at = e.server_index as usize;
        let Some(line) = self.lines.get_mut(at).filter(|_| self.begun.has(at)) else { return false };
        line.requests += 1;
        line.answered += u64::from(e.outcome == Outcome::Answered);
        let Some(time) = e.response_time else { return true };
        if line.timed == 0 && self.waiting.len() < MAX_TIMED {
            self.waiting.push(Waiting::default());
            line.timed = self.waiting.len() as u16;
        }
        match line.sum.checked_add(time) {
            Some(sum) => line.sum = sum,
            None => {
                if let Some(Some(server)) = servers.get_mut(at) {
                    server.times.take_in(line.count, line.sum, line.ends);
                }
                (line.count, line.sum) = (0, time);
            }
        }
        line.count += 1;
        line.ends = (line.ends.0.min(time), line.ends.1.max(time));
        if let Some(waiting) = self.waiting.get_mut(usize::from(line.timed).wrapping_sub(1)) {
            waiting.units[waiting.len as usize] = Times::<UNIT>::units(time);
            waiting.len += 1;
            if waiting.len as usize == WAITING {
                waiting.len = 0;
                if let Some(Some(server)) = servers.get_mut(at) {
                    server.times.keep(&waiting.units);
                }
            }
        }
        true
    }

    /// Moves the counters of a server to the server.
    pub fn move_to(&mut self, at: usize, server: &mut Server) {
        let Some(line) = self.lines.get_mut(at) else { return };
        let Line { said, timed, .. } = *line;
        let counted = std::mem::replace(line, Line { said, timed, ..Line::default() });
        server.requests += counted.requests;
        server.answered += counted.answered;
        server.times.take_in(counted.count, counted.sum, counted.ends);
        if let Some(waiting) = self.waiting.get_mut(usize::from(timed).wrapping_sub(1)) {
            server.times.keep(&waiting.units[..waiting.len as usize]);
            waiting.len = 0;
        }
    }

    /// A hash of what a server says; never 0.
    #[inline]
    fn hash(&self, facts: &Facts<'_>) -> u64 {
        let mut hasher = self.hasher.build_hasher();
        hash_text(&mut hasher, facts.server_name);
        hash_text(&mut hasher, facts.game);
        hash_text(&mut hasher, facts.map);
        match facts.version {
            Some(Version::Text(version)) => hash_text(&mut hasher, Some(version)),
            Some(Version::Number(n)) => hasher.write_u64(n),
            None => hasher.write_u64(u64::MAX),
        }
        let (now, most) = facts.places().unwrap_or((u32::MAX, u32::MAX));
        hasher.write_u64(u64::from(now) << 32 | u64::from(most));
        hasher.write_usize(facts.state.map_or(0, |state| state.as_ptr() as usize));
        hasher.finish() | 1
    }
}

fn hash_text(hasher: &mut impl Hasher, text: Option<Value<'_>>) {
    let (kind, bytes) = match text {
        Some(Value::Text(bytes)) => (1, bytes),
        Some(Value::Utf16(bytes)) => (2, bytes),
        Some(Value::Latin1(bytes)) => (3, bytes),
        Some(Value::Dotted(ref bytes)) => (5, &bytes[..]),
        Some(_) => (4, &[][..]),
        None => (0, &[][..]),
    };
    hasher.write_u64((bytes.len() as u64) << 8 | kind);
    hasher.write(bytes);
}
