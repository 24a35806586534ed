//! What is known of a server: what it did, and what it said of itself.

use super::Place;
use super::times::Times;
use crate::check::{Counts, Finding};
use crate::decode::{self, Value as Text, Version, utf16};
use crate::net::Endpoint;
use crate::protocols::Id;
use crate::rule::Rule;
use arrayvec::ArrayVec;

/// Resolution of the quantiles of response times, in nanoseconds.
pub const UNIT: i64 = 1_000;

/// Longest name, game or version kept of a server, in bytes.
const MAX_TEXT: usize = 256;

/// What one server did.
#[derive(Debug)]
pub struct Server {
    /// Its address.
    pub endpoint: Endpoint,
    /// The protocol that it speaks.
    pub id: Id,
    /// Requests it got.
    pub requests: u64,
    /// Requests answered in time.
    pub answered: u64,
    /// Requests answered after the window.
    pub late: u64,
    /// Requests not answered.
    pub unanswered: u64,
    /// Requests open when the capture ended.
    pub undecided: u64,
    /// Requests refused by ICMP errors.
    pub refused: u64,
    /// Response times; without quantiles beyond the first 1,024 servers.
    pub times: Times<UNIT>,
    /// Findings in its conversations.
    pub findings: Counts,
    /// Findings about requests without an answer, while it has answered none: at the end they may turn out to be symptoms
    /// of a silent server. No protocol has more than two rules about such requests.
    pub(super) held: ArrayVec<Broken, 2>,
    /// How many requests it had answered when findings were last released.
    pub(super) before: u64,
    /// What it says about itself: the latest answer counts.
    pub said: ServerFacts,
}

impl Server {
    /// A server of which nothing has been seen yet.
    pub(super) fn new(endpoint: Endpoint, id: Id) -> Server {
        Server {
            endpoint,
            id,
            requests: 0,
            answered: 0,
            late: 0,
            unanswered: 0,
            undecided: 0,
            refused: 0,
            times: Times::default(),
            findings: Counts::default(),
            held: ArrayVec::new(),
            before: 0,
            said: ServerFacts::default(),
        }
    }
}

/// What a server said about itself, bounded.
#[derive(Debug, Default)]
pub struct ServerFacts {
    /// Name.
    pub server_name: Option<Vec<u8>>,
    /// Game.
    pub game: Option<Vec<u8>>,
    /// Map.
    pub map: Option<Vec<u8>>,
    /// Version, as text.
    pub version: Option<Vec<u8>>,
    /// Version, as a number.
    pub build: Option<u64>,
    /// Players now and at most.
    pub players: Option<(u32, u32)>,
    /// State.
    pub state: Option<&'static str>,
}

impl ServerFacts {
    /// A function of its own, so that only a pointer to the facts is handed on.
    #[inline(never)]
    pub(super) fn hear(&mut self, facts: &decode::Facts<'_>) {
        keep(&mut self.server_name, facts.server_name);
        keep(&mut self.game, facts.game);
        keep(&mut self.map, facts.map);
        match facts.version {
            Some(Version::Text(text)) => keep(&mut self.version, Some(text)),
            Some(Version::Number(n)) => self.build = Some(n),
            None => {}
        }
        self.players = facts.places().or(self.players);
        self.state = facts.state.or(self.state);
    }
}

/// The first bytes of a text, at most [`MAX_TEXT`], cut between two characters.
pub(crate) fn bounded(text: &[u8]) -> &[u8] {
    let within = |at: &usize| text.get(*at).is_none_or(|b| b & 0xc0 != 0x80);
    match text.len() {
        0..=MAX_TEXT => text,
        _ => &text[..(MAX_TEXT - 3..=MAX_TEXT).rev().find(within).unwrap_or(MAX_TEXT)],
    }
}

/// Keeps a text if it is new; the memory of the old one is used again.
#[inline(always)]
pub(crate) fn keep(kept: &mut Option<Vec<u8>>, new: Option<Text<'_>>) {
    let Some(new) = new else { return };
    // Nearly always a server says what it said before.
    if let (Text::Text(bytes), Some(kept)) = (new, &kept)
        && kept == bytes
    {
        return;
    }
    keep_new(kept.get_or_insert_default(), new);
}

#[inline(never)]
fn keep_new(kept: &mut Vec<u8>, new: Text<'_>) {
    match new {
        Text::Text(bytes) => {
            kept.clear();
            kept.extend_from_slice(bounded(bytes));
        }
        Text::Utf16(bytes) => {
            keep_chars(kept, utf16(bytes).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)));
        }
        Text::Latin1(bytes) => keep_chars(kept, bytes.iter().map(|&b| b as char)),
        other => keep_chars(kept, other.text().unwrap_or_default().chars()),
    }
}

/// Keeps a text that is not UTF-8 on the wire, converted to UTF-8.
fn keep_chars(kept: &mut Vec<u8>, chars: impl Iterator<Item = char>) {
    kept.clear();
    for c in chars {
        let mut utf8 = [0; 4];
        let c = c.encode_utf8(&mut utf8);
        if kept.len() + c.len() > MAX_TEXT {
            break;
        }
        kept.extend_from_slice(c.as_bytes());
    }
}

/// How often a rule was broken.
#[derive(Debug)]
pub struct Broken {
    /// The rule.
    pub rule: &'static Rule,
    /// Findings by severity, for a finding may be milder than its rule.
    pub counts: Counts,
    /// Where it was broken first.
    pub first: Place,
}

impl Broken {
    pub(super) fn once(finding: &Finding, first: Place) -> Broken {
        let mut counts = Counts::default();
        counts.add(finding.severity);
        Broken { rule: finding.rule, counts, first }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is kept of a text, in bytes.
    fn kept(new: Text<'_>) -> String {
        let mut kept = None;
        keep(&mut kept, Some(new));
        String::from_utf8(kept.expect("there is a text")).expect("no character is cut in two")
    }

    #[test]
    fn texts_of_servers_are_cut_between_characters() {
        let long = "a".repeat(MAX_TEXT);
        assert_eq!(kept(Text::Text(long.as_bytes())), long);
        assert_eq!(kept(Text::Text(format!("{long}b").as_bytes())), long);
        let most = "a".repeat(MAX_TEXT - 1);
        let utf16: Vec<u8> = format!("{most}\u{e9}").encode_utf16().flat_map(u16::to_le_bytes).collect();
        let latin1 = [most.as_bytes(), &[0xe9]].concat();
        let utf8 = format!("{most}\u{e9}");
        for text in [Text::Text(utf8.as_bytes()), Text::Utf16(&utf16), Text::Latin1(&latin1)] {
            assert_eq!(kept(text), most, "the last character has two bytes, and room for one");
        }
        let utf16: Vec<u8> = long.encode_utf16().flat_map(u16::to_le_bytes).collect();
        for text in [Text::Utf16(&utf16), Text::Latin1(long.as_bytes())] {
            assert_eq!(kept(text), long);
        }
    }
}
