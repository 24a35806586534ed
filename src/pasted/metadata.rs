//! The text before or above the bytes: who sent them, when, and between which endpoints.
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

/// Words and arrows that tell who sent the bytes, in lower case, each kind with a sign.
const SIGNS: &[(u8, &str)] = &[
    (b'>', "-->|->|=>|→|>"),
    (b'<', "<--|<-|<=|←|<"),
    // The endpoints; Wireshark names them by which one spoke first.
    (b'C', "client|c2s|peer0"),
    (b'S', "server|s2c|peer1"),
    // Kinds of message: from the client, from the server.
    (b'Q', "request|req|query"),
    (b'A', "response|resp|reply|answer"),
    // From the view of the author of the text.
    (b'T', "sent|send|sending|tx|outgoing"),
    (b'R', "received|receives|receive|receiving|recv|got|rx|incoming"),
    // Ambiguous words: they count only alone, before a colon, or beside an arrow.
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
/// Number of signs that count in a longer text before the bytes: the last ones. A longer text above the bytes is
/// prose and tells nothing.
const NEAR: usize = 6;

/// An arrow or a word.
static SIGN: LazyLock<Regex> = LazyLock::new(|| pattern(&format!(r"{}|[^\W_]+", known("<>"))));
/// A time stamp at the beginning: date, time of day, fraction, zone; or seconds since 1970 with their fraction.
static TIME: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r"^[\[(]?(?:(?:(?<date>[0-9]{4}[-/][0-9]{2}[-/][0-9]{2})[T ])?(?<time>[0-9]{2}:[0-9]{2}:[0-9]{2})",
        r"(?:[.,](?<part>[0-9]+))?(?<zone>Z|[+-][0-9]{2}:?[0-9]{2})?|(?<epoch>[0-9]{10})[.,](?<rest>[0-9]+))",
        r"[\])]?(?:\s|$)"
    ))
});
/// At the beginning: an arrow; a word or a phrase, with or without a colon; or an ambiguous word or a label with a colon.
static LEADING: LazyLock<Regex> = LazyLock::new(|| {
    let (arrows, words, short) = (known("<>"), known("CSQATR"), known("csoi"));
    let ways =
        format!(r"c\s*(?:{arrows})\s*s|s\s*(?:{arrows})\s*c|(?:to|from)\s+(?:the\s+)?(?:client|server)");
    pattern(&format!(
        r"^(?i:{arrows}|[\[(]?(?:{words}|{ways})[\])]?(?:\s*[:=]|\s|$)|[\[(]?(?:{short}|{LABELS})[\])]?\s*[:=]|\([0-9]+(?: bytes?)?\)[:=]?\s)"
    ))
});
/// Text after which bytes may begin in a log line: a tag, or a known word and a colon.
static LABEL: LazyLock<Regex> = LazyLock::new(|| {
    pattern(&format!(
        r"^\[[^\]]*\]|(?i:(?-u:\b)(?:{}|{LABELS}))[)\] ]*(?:[(\[][0-9]+[)\]])?[:=]",
        known("CSQATR")
    ))
});

/// The words of some signs, as alternatives of a pattern; longer words come first.
fn known(signs: &str) -> String {
    let words = SIGNS.iter().filter(|(sign, _)| signs.as_bytes().contains(sign)).map(|(_, words)| *words);
    let mut words: Vec<_> = words.flat_map(|words| words.split('|')).collect();
    words.sort_by_key(|word| std::cmp::Reverse(word.len()));
    words.join("|")
}

impl Metadata {
    /// Adds the facts from another part of the text, which take precedence.
    pub(super) fn take(&mut self, other: Metadata) {
        self.mark = other.mark.or(self.mark);
        self.time = other.time.or(self.time);
        self.src = other.src.or(self.src);
        self.dst = other.dst.or(self.dst);
    }
}

/// The text after time stamps, arrows and known words at the beginning of a line.
pub fn behind(line: &str) -> &str {
    let mut rest = line.trim_start();
    while !(rest.starts_with("<Buffer") || rest.starts_with(">>>") || is_erlang(rest)) {
        let stamp = time(rest).map(|(_, behind)| behind);
        let sign = || rest.get(LEADING.find(rest)?.end()..);
        match stamp.or_else(sign) {
            Some(behind) => rest = behind.trim_start(),
            None => break,
        }
    }
    if rest.len() == line.trim_start().len() { line } else { rest }
}

/// Whether a text begins as Erlang and Elixir print bytes: `<<213, 246>>`.
fn is_erlang(text: &str) -> bool {
    text.strip_prefix("<<")
        .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()) && rest.contains(">>"))
}

/// The ends of a log line that may begin with bytes: after each label.
pub fn labels(line: &str) -> impl Iterator<Item = &str> {
    LABEL.find_iter(line).filter_map(move |label| line.get(label.end()..))
}

/// The facts in the text before the bytes of a line; the nearest words count.
pub fn before(text: &str) -> Metadata {
    said(text, |signs| {
        let near = signs.get(signs.len().saturating_sub(NEAR)..).unwrap_or_default();
        direction(near, near)
    })
}

/// The facts in a line without bytes about the bytes below it: from its first two words, or from all of a short
/// line.
pub fn above(line: &str) -> Metadata {
    said(line, |signs| {
        let words: Vec<_> = signs.iter().filter(|sign| !b"<>tf".contains(sign)).take(2).copied().collect();
        direction(if signs.len() > NEAR { &[] } else { signs }, &words)
    })
}

/// The time, the endpoints and the direction that a text names; `direction` derives the direction from the signs.
fn said(text: &str, direction: impl Fn(&[u8]) -> Option<Mark>) -> Metadata {
    let text = text.trim_start();
    let (time, text) = time(text).map_or((None, text), |(time, behind)| (Some(time), behind.trim_start()));
    let mut metadata = Metadata { time, ..ends(text) };
    if metadata.src.is_none() && !text.starts_with(">>>") {
        let signs: Vec<_> = SIGN.find_iter(text).filter_map(|found| sign(found.as_str())).collect();
        metadata.mark = direction(&signs);
    }
    metadata
}

/// The sign of a word or an arrow; `None` for words that tell nothing: articles and numbers.
fn sign(word: &str) -> Option<u8> {
    let lower = word.to_ascii_lowercase();
    if ["the", "a"].contains(&&*lower) || lower.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let found = SIGNS.iter().find(|(_, words)| words.split('|').any(|known| known == lower));
    Some(found.map_or(OTHER, |(sign, _)| *sign))
}

/// The direction: `server -> client` has precedence, then the kind of message, then `to server`, then a single word.
fn direction(signs: &[u8], words: &[u8]) -> Option<Mark> {
    let three = || {
        signs.windows(3).find_map(|three| match *three {
            [from, b'>' | b't', to] | [to, b'<', from]
                if b"CScs".contains(&from) && b"CScs".contains(&to) =>
            {
                mark(from)
            }
            _ => None,
        })
    };
    let kind = || words.iter().rfind(|sign| b"QA".contains(sign));
    let two = || {
        signs.windows(2).find_map(|two| match *two {
            [b'f' | b'<', from @ (b'C' | b'S')] => mark(from),
            [b't' | b'>', b'C'] | [b'C', b'R'] => Some(Mark::FromServer),
            [b't' | b'>', b'S'] | [b'S', b'R'] => Some(Mark::ToServer),
            _ => None,
        })
    };
    let end = || words.iter().find(|sign| b"CS".contains(sign));
    let first =
        || signs.first().filter(|sign| b"<>".contains(sign) || signs.len() == 1 && b"csoi".contains(sign));
    let own = || words.iter().find(|sign| b"TR".contains(sign));
    three().or_else(|| mark(*kind()?)).or_else(two).or_else(|| mark(*end().or_else(first).or_else(own)?))
}

/// The direction that a single sign means.
fn mark(sign: u8) -> Option<Mark> {
    match sign {
        b'>' | b'C' | b'Q' | b'c' => Some(Mark::ToServer),
        b'<' | b'S' | b'A' | b's' => Some(Mark::FromServer),
        b'T' | b'o' => Some(Mark::Sent),
        b'R' | b'i' => Some(Mark::Received),
        _ => None,
    }
}

/// The endpoints that a text names with an arrow between them: `A > B`, `B <- A`.
fn ends(text: &str) -> Metadata {
    let words: Vec<_> = text.split_whitespace().take(32).collect();
    let found = words.windows(3).find_map(|three| match *three {
        [left, arrow, right] => Some((sign(arrow)?, endpoint(left)?, endpoint(right)?)),
        _ => None,
    });
    let (src, dst) = match found {
        Some((b'>', left, right)) => (Some(left), Some(right)),
        Some((b'<', left, right)) => (Some(right), Some(left)),
        _ => (None, None),
    };
    Metadata { src, dst, ..Metadata::default() }
}

/// `192.0.2.1:7777`, `[2001:db8::1]:7777`, `192.0.2.1.7777`, `2001:db8::1.7777`; commas and colons may follow.
fn endpoint(word: &str) -> Option<Endpoint> {
    let word = word.trim_end_matches([':', ',', ';']).trim_matches(['(', ')', '"', '\'']);
    let dotted = || {
        let (ip, port) = word.rsplit_once('.')?;
        Some(SocketAddr::new(ip.parse().ok()?, port.parse().ok()?))
    };
    let address = word.parse().ok().or_else(dotted)?;
    Some(Endpoint::of(address.ip(), address.port()))
}

/// A time stamp at the beginning of a text, and the text after it. Without a date it is on 1970-01-01, without a
/// zone in UTC.
fn time(text: &str) -> Option<(Time, &str)> {
    let found = TIME.captures(text)?;
    let part = |name| found.name(name).map(|part| part.as_str());
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
    Some((Time::from_wide(time), text.get(found.get(0)?.end()..)?))
}
