//! Parses the text before or above the bytes: sender, time and endpoints.
//!
//! ```text
//!  10:32:00.614506 IP 198.51.100.21.56417 > 192.0.2.10.7777: UDP, length 5     tcpdump
//!  2026-11-20T10:32:02.380Z sent: d5 f6 …                                      logs
//!  > d5 f6 …     <- d5 f6 …     C: d5 f6 …     # server response               by hand
//! ```

use super::{Mark, Metadata, pattern};
use crate::capture::Time;
use crate::net::Endpoint;
use jiff::Timestamp;
use regex::Regex;
use std::net::SocketAddr;
use std::sync::LazyLock;

/// Words and arrows that indicate the sender, in lower case. Each class of them has a sign.
const SIGNS: &[(u8, &str)] = &[
    (b'>', "-->|->|=>|→|>"),
    (b'<', "<--|<-|<=|←|<"),
    // The endpoints. Wireshark numbers peers, beginning with the one that spoke first.
    (b'C', "client|c2s|peer0"),
    (b'S', "server|s2c|peer1"),
    // Kinds of message: from the client, from the server.
    (b'Q', "request|req|query"),
    (b'A', "response|resp|reply|answer"),
    // From the point of view of the author.
    (b'T', "sent|send|sending|tx|outgoing"),
    (b'R', "received|receives|receive|receiving|recv|got|rx|incoming"),
    // Ambiguous words, which count only alone, before a colon, or next to an arrow.
    (b'c', "c"),
    (b's', "s"),
    (b'o', "out"),
    (b'i', "in"),
    (b't', "to"),
    (b'f', "from"),
];
/// Sign of any other word.
const OTHER: u8 = b'.';
/// Further words that may precede the bytes of a line.
const LABELS: &str = r"udp\.payload|data\.data|data|payload|hex|bytes|raw|packet|message|datagram|base64";
/// Number of final signs that count in a longer text before the bytes. A longer text above the bytes is prose and is
/// ignored.
const NEAR: usize = 6;

/// An arrow or a word.
static SIGN: LazyLock<Regex> = LazyLock::new(|| pattern(&format!(r"{}|[^\W_]+", alternatives("<>"))));
/// A leading time stamp: date, time of day, fraction and zone, or seconds since 1970 with a fraction.
static TIME: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r"^[\[(]?(?:(?:(?<date>[0-9]{4}[-/][0-9]{2}[-/][0-9]{2})[T ])?(?<time>[0-9]{2}:[0-9]{2}:[0-9]{2})",
        r"(?:[.,](?<part>[0-9]+))?(?<zone>Z|[+-][0-9]{2}:?[0-9]{2})?|(?<epoch>[0-9]{10})[.,](?<rest>[0-9]+))",
        r"[\])]?(?:\s|$)"
    ))
});
/// A leading arrow, a word or phrase with or without a colon, or an ambiguous word or label with a colon.
static LEADING: LazyLock<Regex> = LazyLock::new(|| {
    let (arrows, words, ambiguous) = (alternatives("<>"), alternatives("CSQATR"), alternatives("csoi"));
    let phrases =
        format!(r"c\s*(?:{arrows})\s*s|s\s*(?:{arrows})\s*c|(?:to|from)\s+(?:the\s+)?(?:client|server)");
    pattern(&format!(
        r"^(?i:{arrows}|[\[(]?(?:{words}|{phrases})[\])]?(?:\s*[:=]|\s|$)|[\[(]?(?:{ambiguous}|{LABELS})[\])]?\s*[:=]|\([0-9]+(?: bytes?)?\)[:=]?\s)"
    ))
});
/// Text that may precede the bytes in a log line: a tag, or a known word with a colon.
static LABEL: LazyLock<Regex> = LazyLock::new(|| {
    pattern(&format!(
        r"^\[[^\]]*\]|(?i:(?-u:\b)(?:{}|{LABELS}))[)\] ]*(?:[(\[][0-9]+[)\]])?[:=]",
        alternatives("CSQATR")
    ))
});

/// A pattern that matches the words of some signs. Longer words come first.
fn alternatives(signs: &str) -> String {
    let words = SIGNS.iter().filter(|(sign, _)| signs.as_bytes().contains(sign)).map(|(_, words)| *words);
    let mut words: Vec<_> = words.flat_map(|words| words.split('|')).collect();
    words.sort_by_key(|word| std::cmp::Reverse(word.len()));
    words.join("|")
}

impl Metadata {
    /// Merges the facts from another part of the text, which take precedence.
    pub(super) fn merge(&mut self, other: Metadata) {
        self.mark = other.mark.or(self.mark);
        self.time = other.time.or(self.time);
        self.src = other.src.or(self.src);
        self.dst = other.dst.or(self.dst);
    }
}

/// The text after leading time stamps, arrows and known words.
pub fn after_prefix(line: &str) -> &str {
    let mut rest = line.trim_start();
    while !(rest.starts_with("<Buffer") || rest.starts_with(">>>") || is_erlang(rest)) {
        let after_time = time(rest).map(|(_, rest)| rest);
        let after_sign = || rest.get(LEADING.find(rest)?.end()..);
        match after_time.or_else(after_sign) {
            Some(after) => rest = after.trim_start(),
            None => break,
        }
    }
    if rest.len() == line.trim_start().len() { line } else { rest }
}

/// Whether a text begins with bytes as printed by Erlang and Elixir: `<<213, 246>>`.
fn is_erlang(text: &str) -> bool {
    text.strip_prefix("<<")
        .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()) && rest.contains(">>"))
}

/// The parts of a log line after each label, which may begin with bytes.
pub fn after_labels(line: &str) -> impl Iterator<Item = &str> {
    LABEL.find_iter(line).filter_map(move |label| line.get(label.end()..))
}

/// The facts in the text before the bytes of a line. Only the last words count.
pub fn before_bytes(text: &str) -> Metadata {
    parse(text, |signs| {
        let last_signs = signs.get(signs.len().saturating_sub(NEAR)..).unwrap_or_default();
        direction(last_signs, last_signs)
    })
}

/// The facts in a line without bytes about the bytes below it, from its first two words or, in a short line, all words.
pub fn above_bytes(line: &str) -> Metadata {
    parse(line, |signs| {
        let words: Vec<_> = signs.iter().filter(|sign| !b"<>tf".contains(sign)).take(2).copied().collect();
        direction(if signs.len() > NEAR { &[] } else { signs }, &words)
    })
}

/// The time, endpoints and direction that a text names. `direction` derives the direction from the signs.
fn parse(text: &str, direction: impl Fn(&[u8]) -> Option<Mark>) -> Metadata {
    let text = text.trim_start();
    let (time, text) = time(text).map_or((None, text), |(time, rest)| (Some(time), rest.trim_start()));
    let mut metadata = Metadata { time, ..endpoints(text) };
    if metadata.src.is_none() && !text.starts_with(">>>") {
        let signs: Vec<_> = SIGN.find_iter(text).filter_map(|word| sign(word.as_str())).collect();
        metadata.mark = direction(&signs);
    }
    metadata
}

/// The sign of a word or an arrow; `None` for articles and numbers, which are ignored.
fn sign(word: &str) -> Option<u8> {
    let lower = word.to_ascii_lowercase();
    if ["the", "a"].contains(&&*lower) || lower.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let entry = SIGNS.iter().find(|(_, words)| words.split('|').any(|candidate| candidate == lower));
    Some(entry.map_or(OTHER, |(sign, _)| *sign))
}

/// The direction. `server -> client` takes precedence, then the kind of message, then `to server`, then a single word.
fn direction(signs: &[u8], words: &[u8]) -> Option<Mark> {
    let between_endpoints = || {
        signs.windows(3).find_map(|three| match *three {
            [from, b'>' | b't', to] | [to, b'<', from]
                if b"CScs".contains(&from) && b"CScs".contains(&to) =>
            {
                sign_mark(from)
            }
            _ => None,
        })
    };
    let message_kind = || words.iter().rfind(|sign| b"QA".contains(sign));
    let to_or_from = || {
        signs.windows(2).find_map(|two| match *two {
            [b'f' | b'<', from @ (b'C' | b'S')] => sign_mark(from),
            [b't' | b'>', b'C'] | [b'C', b'R'] => Some(Mark::FromServer),
            [b't' | b'>', b'S'] | [b'S', b'R'] => Some(Mark::ToServer),
            _ => None,
        })
    };
    let endpoint_word = || words.iter().find(|sign| b"CS".contains(sign));
    let first_sign =
        || signs.first().filter(|sign| b"<>".contains(sign) || signs.len() == 1 && b"csoi".contains(sign));
    let author_word = || words.iter().find(|sign| b"TR".contains(sign));
    between_endpoints()
        .or_else(|| sign_mark(*message_kind()?))
        .or_else(to_or_from)
        .or_else(|| sign_mark(*endpoint_word().or_else(first_sign).or_else(author_word)?))
}

/// The direction that a single sign indicates.
fn sign_mark(sign: u8) -> Option<Mark> {
    match sign {
        b'>' | b'C' | b'Q' | b'c' => Some(Mark::ToServer),
        b'<' | b'S' | b'A' | b's' => Some(Mark::FromServer),
        b'T' | b'o' => Some(Mark::Sent),
        b'R' | b'i' => Some(Mark::Received),
        _ => None,
    }
}

/// The endpoints that a text names with an arrow between them: `A > B`, `B <- A`.
fn endpoints(text: &str) -> Metadata {
    let words: Vec<_> = text.split_whitespace().take(32).collect();
    let arrow_and_ends = words.windows(3).find_map(|three| match *three {
        [left, arrow, right] => Some((sign(arrow)?, endpoint(left)?, endpoint(right)?)),
        _ => None,
    });
    let (src, dst) = match arrow_and_ends {
        Some((b'>', left, right)) => (Some(left), Some(right)),
        Some((b'<', left, right)) => (Some(right), Some(left)),
        _ => (None, None),
    };
    Metadata { src, dst, ..Metadata::default() }
}

/// Parses `192.0.2.1:7777`, `[2001:db8::1]:7777`, `192.0.2.1.7777` or `2001:db8::1.7777`. Commas and colons may follow.
fn endpoint(word: &str) -> Option<Endpoint> {
    let word = word.trim_end_matches([':', ',', ';']).trim_matches(['(', ')', '"', '\'']);
    let dotted = || {
        let (ip, port) = word.rsplit_once('.')?;
        Some(SocketAddr::new(ip.parse().ok()?, port.parse().ok()?))
    };
    let address: SocketAddr = word.parse().ok().or_else(dotted)?;
    Some(address.into())
}

/// A leading time stamp and the text after it. The date defaults to 1970-01-01, the zone to UTC.
fn time(text: &str) -> Option<(Time, &str)> {
    let captures = TIME.captures(text)?;
    let part = |name| captures.name(name).map(|part| part.as_str());
    let digits = part("part").or(part("rest")).unwrap_or_default();
    let nanos: String = digits.chars().chain("000000000".chars()).take(9).collect();
    let time = match (part("epoch"), part("time")) {
        (Some(seconds), _) => {
            seconds.parse::<i128>().ok()?.checked_mul(1_000_000_000)?.checked_add(nanos.parse().ok()?)?
        }
        (None, time) => {
            let date = part("date").unwrap_or("1970-01-01").replace('/', "-");
            let stamp = format!("{date}T{}.{nanos}{}", time?, part("zone").unwrap_or("Z"));
            stamp.parse::<Timestamp>().ok()?.as_nanosecond()
        }
    };
    Some((Time::from_wide(time), text.get(captures.get(0)?.end()..)?))
}
