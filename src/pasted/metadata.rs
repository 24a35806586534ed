//! Parses the text before or above the bytes: sender, time and endpoints.
//!
//! ```text
//!  10:32:00.614506 IP 198.51.100.21.56417 > 192.0.2.10.7777: UDP, length 5     tcpdump
//!  2026-11-20T10:32:02.380Z sent: d5 f6 …                                      logs
//!  > d5 f6 …     <- d5 f6 …     C: d5 f6 …     # server response               by hand
//! ```

use super::{Mark, Metadata, escaped, pattern};
use crate::capture::Time;
use crate::net::Endpoint;
use jiff::Timestamp;
use regex::Regex;
use std::net::SocketAddr;
use std::sync::LazyLock;

/// Patterns of arrows.
const RIGHT: &str = "[-=~]*>+|→|⇒|➡|⟶|»|▶";
const LEFT: &str = "<+[-=~]*|←|⇐|⬅|⟵|«|◀";
/// Words and arrows that indicate the sender, in lower case. Each class of them has a sign.
const SIGNS: &[(u8, &str)] = &[
    (b'>', RIGHT),
    (b'<', LEFT),
    // The endpoints. Wireshark numbers peers, beginning with the one that spoke first.
    (b'C', "client|c2s|peer0"),
    (b'S', "server|s2c|peer1"),
    // Kinds of message: from the client, from the server.
    (b'Q', "request|req|query"),
    (b'A', "response|resp|reply|answer"),
    // From the point of view of the author.
    (b'T', "sent|send|sendto|sending|tx|outgoing"),
    (b'R', "received|recvfrom|receives|receive|receiving|recv|got|rx|incoming"),
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
/// Maximum number of words that are searched for endpoints.
const MAX_WORDS: usize = 32;
/// Number of final signs that count in a longer text before the bytes. A longer text above the bytes is prose and is
/// ignored.
const NEAR: usize = 6;

/// An arrow or a word.
static SIGN: LazyLock<Regex> = LazyLock::new(|| pattern(&format!(r"{}|[^\W_]+", alternatives("<>"))));
/// An endpoint as Python and strace print it: `('192.0.2.10', 27015)`, `htons(27015), …inet_addr("192.0.2.10")`.
static CALL: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r#"\(\s*["'](?<ip>[0-9a-fA-F.:]{2,45})["']\s*,\s*(?<port>[0-9]{1,5})\)"#,
        r#"|htons\((?<service>[0-9]{1,5})\), (?:sin_addr=inet_addr\(|inet_pton\(AF_INET6, )"(?<host>[0-9a-fA-F.:]{2,45})""#,
    ))
});
static ARROW: LazyLock<Regex> = LazyLock::new(|| pattern(&format!("{RIGHT}|{LEFT}")));
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
    let endpoint = r"(?:[0-9]{1,3}(?:\.[0-9]{1,3}){3}|\[[0-9a-f:.]{2,45}\]):[0-9]{1,5}";
    let phrases = format!(
        r"c\s*(?:{arrows})\s*s|s\s*(?:{arrows})\s*c|(?:to|from)\s+(?:(?:the\s+)?(?:client|server)|(?:{endpoint}))"
    );
    pattern(&format!(
        r"^(?i:udp(?:\([0-9]{{1,5}}\))?\s*(?:{arrows})|(?:{arrows})\s*udp(?:\([0-9]{{1,5}}\))?(?:\s|$)|{arrows}|{endpoint}:?(?:\s|$)|udp(?:\([0-9]{{1,5}}\))?(?:\s|$)|#?[0-9]{{1,5}}[.)]\s|#[0-9]{{1,5}}:?\s|[*•]\s|!!binary\s|[\[(]?(?:{words}|{phrases})[\])]?(?:\s*(?:[(\[][0-9]+(?: bytes?)?[)\]])?\s*[:=]|\s|$|[<>]\s)|[\[(]?(?:{ambiguous}|{LABELS})[\])]?\s*[:=]|[(\[][0-9]+(?: bytes?)?[)\]][:=]?\s|(?:packet|frame|datagram|message)\s+#?[0-9]{{1,5}}(?:\s+\([0-9]+ bytes?\))?:)"
    ))
});
/// The number of a datagram before its direction.
static NUMBER: LazyLock<Regex> = LazyLock::new(|| pattern(r"^(?:[0-9]{1,5}:|\[[0-9]{1,5}\])\s+"));
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
        self.peer = other.peer.or(self.peer);
        self.local_port = other.local_port.or(self.local_port);
    }
}

/// The text after leading time stamps, arrows and known words.
pub fn after_prefix(line: &str) -> &str {
    let mut rest = line.trim_start();
    while !(rest.starts_with("<Buffer") || is_prompt(rest) || is_erlang(rest) || escaped::is_tag(rest)) {
        let after_time = time(rest).map(|(_, rest)| rest);
        let after_sign = || rest.get(LEADING.find(rest)?.end()..);
        // `1: -> d5 f6` is numbered, and `1: d5 f6` may have an offset.
        let after_number = || {
            let numbered = rest.get(NUMBER.find(rest)?.end()..)?;
            LEADING.is_match(numbered).then_some(numbered)
        };
        match after_time.or_else(after_sign).or_else(after_number) {
            Some(after) => rest = after.trim_start(),
            None => break,
        }
    }
    if rest.len() == line.trim_start().len() { line } else { rest }
}

/// Whether a text begins with the prompt of Python, and not with an arrow before digits.
fn is_prompt(text: &str) -> bool {
    let rest = text.strip_prefix(">>>").map(str::trim_start);
    rest.is_some_and(|rest| {
        !rest.get(..8).is_some_and(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit() || b == b' '))
    })
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

/// The facts in the text after the bytes of a line: endpoints, and `to the server`.
pub fn after_bytes(text: &str) -> Metadata {
    let metadata = endpoints(text);
    let words: Vec<_> = SIGN.find_iter(text).take(MAX_WORDS).filter_map(|word| sign(word.as_str())).collect();
    let mark = words.windows(2).find_map(|two| match *two {
        [b't' | b'>', b'S'] | [b'f' | b'<', b'C'] => Some(Mark::ToServer),
        [b't' | b'>', b'C'] | [b'f' | b'<', b'S'] => Some(Mark::FromServer),
        _ => None,
    });
    Metadata { mark, ..metadata }
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
    let names_both = metadata.src.is_some() && metadata.dst.is_some();
    if !names_both && !text.starts_with(">>>") {
        let signs: Vec<_> = SIGN.find_iter(text).filter_map(|word| sign(word.as_str())).collect();
        metadata.mark = direction(&signs);
    }
    metadata
}

/// The sign of a word or an arrow; `None` for articles and numbers, which are ignored.
fn sign(word: &str) -> Option<u8> {
    let lower = word.to_ascii_lowercase();
    if ["the", "a", "udp", "packet", "datagram"].contains(&&*lower)
        || lower.bytes().all(|b| b.is_ascii_digit())
    {
        return None;
    }
    if !lower.starts_with(char::is_alphanumeric) {
        return Some(if lower.starts_with(['<', '←', '⇐', '⬅', '⟵', '«', '◀']) {
            b'<'
        } else {
            b'>'
        });
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

/// The endpoints that a text names: two with an arrow between them, `A > B`, `B <- A`; one after `to` or `from`; or one
/// of which the direction tells whether it is the sender. gamedig names its own port, too: `A UDP(40000)-->`.
fn endpoints(text: &str) -> Metadata {
    let words: Vec<_> = text.split_whitespace().flat_map(around_arrow).take(MAX_WORDS).collect();
    let arrow_and_ends = words.windows(3).find_map(|three| match *three {
        [left, arrow, right] => Some((sign(arrow)?, endpoint(left)?, endpoint(right)?)),
        _ => None,
    });
    let mut metadata = Metadata::default();
    match arrow_and_ends {
        Some((b'>', left, right)) => (metadata.src, metadata.dst) = (Some(left), Some(right)),
        Some((b'<', left, right)) => (metadata.src, metadata.dst) = (Some(right), Some(left)),
        _ => {
            let before = std::iter::once("").chain(words.iter().copied());
            for (before, word) in before.zip(&words) {
                let Some(end) = endpoint(word) else { continue };
                match before.to_ascii_lowercase().as_str() {
                    "to" | "dst" | "dest" | "destination:" => metadata.dst = Some(end),
                    "from" | "src" | "source:" => metadata.src = Some(end),
                    _ if word.starts_with("dst=") || word.starts_with("to=") => metadata.dst = Some(end),
                    _ if word.starts_with("src=") || word.starts_with("from=") => metadata.src = Some(end),
                    _ => metadata.peer = metadata.peer.or(Some(end)),
                }
            }
        }
    }
    if metadata.peer.is_none() && metadata.src.is_none() && metadata.dst.is_none() {
        metadata.peer = CALL.captures(text).and_then(|parts| {
            let ip = parts.name("ip").or(parts.name("host"))?.as_str().parse().ok()?;
            let port = parts.name("port").or(parts.name("service"))?.as_str().parse().ok()?;
            Some(SocketAddr::new(ip, port).into())
        });
    }
    let own_port = |word: &&str| word.strip_prefix("UDP(")?.strip_suffix(')')?.parse().ok();
    metadata.local_port = words.iter().find_map(own_port).filter(|_| metadata.peer.is_some());
    metadata
}

/// The parts of a word before, in and after an arrow: `A-->B`.
fn around_arrow(word: &str) -> impl Iterator<Item = &str> {
    let arrow = ARROW.find(word).map_or(0..0, |arrow| arrow.range());
    let parts = [word.get(..arrow.start), word.get(arrow.clone()), word.get(arrow.end..)];
    parts.into_iter().flatten().filter(|part| !part.is_empty())
}

/// Parses `192.0.2.1:7777`, `[2001:db8::1]:7777`, `192.0.2.1.7777` or `2001:db8::1.7777`. Commas and colons may follow.
fn endpoint(word: &str) -> Option<Endpoint> {
    let word = word.rsplit_once('=').map_or(word, |(_, value)| value);
    let word = word.trim_end_matches([':', ',', ';', '.']).trim_matches(['(', ')', '"', '\'']);
    let word = word.strip_prefix("udp://").unwrap_or(word);
    let word = word.strip_suffix("/udp").unwrap_or(word);
    let dotted = || {
        let (ip, port) = word.rsplit_once('.')?;
        Some(SocketAddr::new(ip.parse().ok()?, port.parse().ok()?))
    };
    let address: SocketAddr = word.parse().ok().or_else(dotted)?;
    Some(address.into())
}

/// A leading time stamp and the text after it. The date defaults to 1970-01-01, the zone to UTC.
pub fn time(text: &str) -> Option<(Time, &str)> {
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
