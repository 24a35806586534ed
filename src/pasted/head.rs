//! What stands before the bytes: who sent them, when, and between which ends.
//!
//! ```text
//!  10:32:00.614506 IP 198.51.100.21.56417 > 192.0.2.10.7777: UDP, length 5     tcpdump
//!  192.0.2.10:7777 UDP(40000)-->                                               gamedig
//!  2026-11-20T10:32:02.380Z sent: d5 f6 …                                      logs
//!  > d5 f6 …     <- d5 f6 …     C: d5 f6 …     # server response               by hand
//! ```

use super::stamps::time;
use super::{Head, Mark, indent};
use crate::net::Endpoint;
use std::net::{IpAddr, SocketAddr};

/// Arrows, the longest first.
const ARROWS: &[(&str, Mark)] = &[
    ("-->", Mark::ToServer),
    ("<--", Mark::FromServer),
    ("->", Mark::ToServer),
    ("<-", Mark::FromServer),
    ("=>", Mark::ToServer),
    ("<=", Mark::FromServer),
    ("→", Mark::ToServer),
    ("←", Mark::FromServer),
    (">", Mark::ToServer),
    ("<", Mark::FromServer),
];

/// Words that say it, in small letters. The short ones only before a colon or alone.
const WORDS: &[(&str, Mark)] = &[
    ("client", Mark::ToServer),
    ("request", Mark::ToServer),
    ("req", Mark::ToServer),
    ("c2s", Mark::ToServer),
    ("server", Mark::FromServer),
    ("response", Mark::FromServer),
    ("resp", Mark::FromServer),
    ("reply", Mark::FromServer),
    ("answer", Mark::FromServer),
    ("s2c", Mark::FromServer),
    ("sent", Mark::Sent),
    ("send", Mark::Sent),
    ("sending", Mark::Sent),
    ("tx", Mark::Sent),
    ("outgoing", Mark::Sent),
    ("received", Mark::Received),
    ("receive", Mark::Received),
    ("receiving", Mark::Received),
    ("recv", Mark::Received),
    ("rx", Mark::Received),
    ("incoming", Mark::Received),
];
const SHORT_WORDS: &[(&str, Mark)] = &[
    ("c", Mark::ToServer),
    ("s", Mark::FromServer),
    ("out", Mark::Sent),
    ("in", Mark::Received),
    ("query", Mark::ToServer),
];

/// Words that say what it is: they count more than those that say where it comes from.
const KINDS: &[&str] = &["request", "query", "response", "reply", "answer"];

/// Words that may stand before the bytes of a line, besides those above.
const LABELS: &[&str] = &[
    "data",
    "payload",
    "hex",
    "bytes",
    "raw",
    "packet",
    "message",
    "datagram",
    "base64",
    "udp.payload",
    "data.data",
];

impl Head {
    /// Adds what another line says; the later word counts.
    pub(super) fn take(&mut self, other: Head) {
        self.mark = other.mark.or(self.mark);
        self.time = other.time.or(self.time);
        self.src = other.src.or(self.src);
        self.dst = other.dst.or(self.dst);
    }
}

/// Takes time stamps, arrows, words and ends off the beginning of a line: what they say, and where the rest begins.
pub fn strip(line: &str) -> (Head, usize) {
    let mut head = Head::default();
    let mut at = 0usize;
    loop {
        let rest = line.get(at..).unwrap_or_default();
        let body = rest.trim_start();
        let begin = at.saturating_add(indent(rest));
        let Some((said, len)) = leading(body) else {
            head.mark = line.get(..at).and_then(way).or(head.mark);
            return (head, if at == 0 { 0 } else { begin });
        };
        let first = head.mark;
        head.take(said);
        // "client -> server" is who speaks first, "server response" what it says.
        let kind =
            KINDS.iter().any(|kind| body.get(..kind.len()).is_some_and(|w| w.eq_ignore_ascii_case(kind)));
        head.mark = first.filter(|_| !kind).or(head.mark);
        at = begin.saturating_add(len);
    }
}

/// One thing at the beginning of a text, and how long it is.
fn leading(text: &str) -> Option<(Head, usize)> {
    if let Some((time, len)) = time(text) {
        return Some((Head { time: Some(time), ..Head::default() }, len));
    }
    if text.starts_with("<Buffer") || text.starts_with(">>>") {
        return None;
    }
    let mark = |mark: Mark| Head { mark: Some(mark), ..Head::default() };
    if let Some((arrow, said)) = ARROWS.iter().find(|(arrow, _)| text.starts_with(arrow)) {
        return Some((mark(*said), arrow.len()));
    }
    let word = text.split(|c: char| c.is_whitespace() || c == ':' || c == '=').next()?;
    let after = text.get(word.len()..)?;
    let colon = after.trim_start().starts_with([':', '=']);
    let words = WORDS.iter().chain(SHORT_WORDS.iter().filter(|_| colon));
    let lower = word.to_ascii_lowercase();
    let lower = lower.trim_matches(['[', ']', '(', ')']);
    let said = words.clone().find(|(name, _)| *name == lower).map(|(_, said)| mark(*said));
    let label = colon && LABELS.contains(&lower);
    let said = said.or_else(|| label.then(Head::default))?;
    let len = if colon { word.len().saturating_add(indent(after)).saturating_add(1) } else { word.len() };
    Some((said, len))
}

/// Where bytes may begin behind what a log has before them: behind a known word and a colon, as in `DEBUG sent 13 bytes:`, or
/// behind a tag, as in `[DEBUG]`.
pub fn labels(line: &str) -> impl Iterator<Item = usize> {
    let tag = line.find(']').filter(|_| line.starts_with('['));
    let colons = line.match_indices([':', '=']).map(|(at, _)| at).filter(|at| {
        let before = line.get(..*at).unwrap_or_default().trim_end_matches([')', ']', ' ']);
        let word = before.rsplit(|c: char| !(c.is_alphanumeric() || c == '.')).next().unwrap_or_default();
        let word = word.to_ascii_lowercase();
        LABELS.contains(&word.as_str()) || WORDS.iter().any(|(known, _)| *known == word)
    });
    tag.into_iter().chain(colons).map(|at| at.saturating_add(1))
}

/// What a line without bytes says of those that follow.
pub fn words(line: &str) -> Head {
    let text = line.trim_start_matches([' ', '\t', '#', '/', '*', ';', '-', '=', '"']).trim_end();
    // `--> 192.0.2.1:7777` loses its dashes above, but not its meaning.
    let text = if line.trim_start().starts_with("->")
        || line.trim_start().starts_with("--") && text.starts_with('>')
    {
        text.get(text.find('>').unwrap_or(0)..).unwrap_or(text)
    } else {
        text
    };
    let (mut head, at) = strip(text);
    let rest = text.get(at..).unwrap_or_default();
    head.take(ends(rest));
    head.mark = way(text).or(head.mark);
    if head.mark.is_none() && head.src.is_none() {
        head.mark = direction(rest);
    }
    head
}

/// What a word or an arrow says where two of them, or three, say which way it went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// The client or the server, by the mark of what it sends.
    End(Mark),
    Right,
    Left,
    To,
    From,
    Got,
    Other,
}

/// Who sent it, where a short text names an end and the way: `server -> client`, `to server`, `client received`.
fn way(text: &str) -> Option<Mark> {
    const MOST: usize = 6;
    let (mut steps, mut rest) = (vec![], text);
    while let Some(first) = rest.chars().next() {
        let word = rest.find(|c: char| !c.is_alphanumeric()).unwrap_or(rest.len());
        let arrow = ARROWS.iter().find(|(arrow, _)| rest.starts_with(arrow));
        let len = match arrow {
            Some((arrow, mark)) => {
                steps.push(if *mark == Mark::ToServer { Step::Right } else { Step::Left });
                arrow.len()
            }
            None if word > 0 => {
                steps.extend(step(&rest.get(..word)?.to_ascii_lowercase()));
                word
            }
            None => first.len_utf8(),
        };
        if steps.len() > MOST {
            return None; // it tells a story
        }
        rest = rest.get(len..)?;
    }
    let three = steps.windows(3).find_map(|three| match *three {
        [Step::End(by), Step::Right | Step::To, Step::End(_)] | [Step::End(_), Step::Left, Step::End(by)] => {
            Some(by)
        }
        _ => None,
    });
    let two = |two: &[Step]| match *two {
        [Step::From, Step::End(by)] => Some(by),
        [Step::To, Step::End(to)] | [Step::End(to), Step::Got] => Some(match to {
            Mark::ToServer => Mark::FromServer,
            _ => Mark::ToServer,
        }),
        _ => None,
    };
    three.or_else(|| steps.windows(2).find_map(two))
}

/// What a word of such a text is; none for what may stand anywhere.
fn step(word: &str) -> Option<Step> {
    Some(match word {
        "client" | "c" => Step::End(Mark::ToServer),
        "server" | "s" => Step::End(Mark::FromServer),
        "to" => Step::To,
        "from" => Step::From,
        "received" | "receives" | "receive" | "got" | "gets" => Step::Got,
        "the" | "a" => return None,
        number if number.bytes().all(|b| b.is_ascii_digit()) => return None,
        _ => Step::Other,
    })
}

/// Who sent it, by the words of a short line: the first two that are not numbers decide.
fn direction(text: &str) -> Option<Mark> {
    let all = text.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty());
    let words: Vec<String> =
        all.filter(|w| !w.bytes().all(|b| b.is_ascii_digit())).map(str::to_ascii_lowercase).take(2).collect();
    let is = |known: &(&str, Mark)| words.iter().any(|w| w == known.0);
    let alone = words.len() == 1;
    // "server response", "client request", but also "server query" is what it is by its second word.
    let last = words.last().and_then(|w| WORDS.iter().chain(SHORT_WORDS).find(|(name, _)| name == w));
    let first = WORDS.iter().find(|known| is(known));
    let short = SHORT_WORDS.iter().filter(|_| alone).find(|known| is(known));
    let kind = last.filter(|(name, _)| KINDS.contains(name));
    kind.or(first).or(short).map(|(_, mark)| *mark)
}

/// Who sent it, by the name of the variable that a literal is assigned to, or the call that it stands in.
pub fn name(before: &str) -> Option<Mark> {
    let words = before.rsplit(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty()).take(8);
    let mut words = words.map(str::to_ascii_lowercase);
    words.find_map(|word| match word.as_str() {
        // Wireshark's names for the two ends, whoever spoke first.
        "peer0" => Some(Mark::ToServer),
        "peer1" => Some(Mark::FromServer),
        word => WORDS.iter().find(|(known, _)| *known == word).map(|(_, mark)| *mark),
    })
}

/// The ends that a line names: `A > B`, or one end and an arrow that shows where it stands.
fn ends(text: &str) -> Head {
    let mut head = Head::default();
    let mut arrow = None;
    for word in text.split_whitespace().take(16) {
        if let Some(end) = endpoint(word) {
            match (arrow, head.src) {
                (Some(Mark::FromServer), Some(src)) => {
                    (head.dst, head.src) = (Some(src), Some(end));
                }
                (Some(_), Some(_)) => head.dst = Some(end),
                _ => head.src = Some(end),
            }
            if head.dst.is_some() {
                return head;
            }
        } else if let Some((_, mark)) = ARROWS.iter().find(|(arrow, _)| word == *arrow) {
            arrow = Some(*mark);
        } else if word.starts_with("<--UDP") {
            head.mark = Some(Mark::FromServer);
        } else if word.starts_with("UDP") && word.ends_with("-->") {
            head.mark = Some(Mark::ToServer);
            (head.src, head.dst) = (None, head.src);
        }
    }
    // One end alone is where it comes from only if something says so.
    if head.mark.is_none() {
        head = Head::default();
    }
    head
}

/// `192.0.2.1:7777`, `[2001:db8::1]:7777`, `192.0.2.1.7777`, `2001:db8::1.7777`; commas and colons may follow.
fn endpoint(word: &str) -> Option<Endpoint> {
    let word = word.trim_end_matches([':', ',', ';']).trim_matches(['(', ')', '"', '\'']);
    let address: SocketAddr = word.parse().ok().or_else(|| {
        let (ip, port) = word.rsplit_once('.')?;
        let ip: IpAddr = ip.parse().ok()?;
        Some(SocketAddr::new(ip, port.parse().ok()?))
    })?;
    Some(match address.ip() {
        IpAddr::V4(ip) => Endpoint::v4(ip.octets(), address.port()),
        IpAddr::V6(ip) => Endpoint::v6(ip.octets(), address.port()),
    })
}

#[cfg(test)]
#[allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::arithmetic_side_effects)]
mod tests {
    use super::*;
    use crate::capture::Time;

    fn mark(line: &str) -> Option<Mark> {
        words(line).mark
    }

    #[test]
    fn marks_before_bytes_are_taken_off() {
        for (line, mark, rest) in [
            ("> d5 f6", Mark::ToServer, "d5 f6"),
            ("<- d5f6", Mark::FromServer, "d5f6"),
            ("→ d5f6", Mark::ToServer, "d5f6"),
            ("C: d5 f6", Mark::ToServer, "d5 f6"),
            ("server: d5 f6", Mark::FromServer, "d5 f6"),
            ("[10:32:00.5] TX d5 f6", Mark::Sent, "d5 f6"),
            ("request = b'x'", Mark::ToServer, "b'x'"),
            ("in: d5", Mark::Received, "d5"),
            ("> server response: d5", Mark::FromServer, "d5"),
            ("client <- server: d5", Mark::FromServer, "d5"),
            ("received from server: d5", Mark::Received, "from server: d5"),
        ] {
            let (head, at) = strip(line);
            assert_eq!((head.mark, line.get(at..)), (Some(mark), Some(rest)), "{line}");
        }
        for line in ["<Buffer d5>", "d5 f6", "c2 5f", "in d5", "00:00:00:00:00"] {
            assert_eq!(strip(line), (Head::default(), 0), "{line}");
        }
        assert_eq!(strip("Data: d5"), (Head::default(), 6));
    }

    #[test]
    fn lines_of_words_give_directions() {
        for (line, expected) in [
            ("Request (13 bytes):", Some(Mark::ToServer)),
            ("# server response", Some(Mark::FromServer)),
            ("// client -> server", Some(Mark::ToServer)),
            ("Received 52 bytes:", Some(Mark::Received)),
            ("--- sent ---", Some(Mark::Sent)),
            ("response", Some(Mark::FromServer)),
            ("server query:", Some(Mark::ToServer)),
            ("This is what I get from the server:", None),
            ("->", Some(Mark::ToServer)),
            ("server->client", Some(Mark::FromServer)),
            ("server <- client:", Some(Mark::ToServer)),
            ("S -> C", Some(Mark::FromServer)),
            ("C->S", Some(Mark::ToServer)),
            ("13 bytes to server", Some(Mark::ToServer)),
            ("Sent to the client:", Some(Mark::FromServer)),
            ("received from the client", Some(Mark::ToServer)),
            ("client received", Some(Mark::FromServer)),
            ("When I connect to the server, this is what comes:", None),
        ] {
            assert_eq!(mark(line), expected, "{line}");
        }
        assert_eq!(name("char peer1_0[] = "), Some(Mark::FromServer));
        assert_eq!(name("unsigned char request[13] = "), Some(Mark::ToServer));
        assert_eq!(name("let x = "), None);
    }

    #[test]
    fn ends_are_read_with_their_order() {
        let (a, b) = (Endpoint::v4([198, 51, 100, 21], 56417), Endpoint::v4([192, 0, 2, 10], 7777));
        let head = words("10:32:00.614506 IP 198.51.100.21.56417 > 192.0.2.10.7777: UDP, length 5");
        assert_eq!((head.src, head.dst), (Some(a), Some(b)));
        assert_eq!(head.time, Some(Time::from_nanos(37_920_614_506_000)));
        let head = words("192.0.2.10:7777 <- 198.51.100.21:56417");
        assert_eq!((head.src, head.dst), (Some(a), Some(b)));
        let head = words("Q#0 192.0.2.10:7777 UDP(40000)-->");
        assert_eq!((head.mark, head.src, head.dst), (Some(Mark::ToServer), None, Some(b)));
        let head = words("192.0.2.10:7777 <--UDP(40000)");
        assert_eq!((head.mark, head.src, head.dst), (Some(Mark::FromServer), Some(b), None));
        let v6 = words("[2001:db8::1]:9 → [2001:db8::2]:10");
        assert_eq!(v6.dst.map(|e| e.to_string()).as_deref(), Some("[2001:db8::2]:10"));
    }
}
