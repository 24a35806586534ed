//! Explains the recognition of datagrams and the course of exchanges in plain sentences.
//!
//! Only few users request explanations, so they are derived again from the payload and from the input of reports.

use super::duration;
use crate::bounded::{Bounded, Budget, Forgets as _};
use crate::check::Packet;
use crate::classify::{Choice, candidates_by_first_byte};
use crate::exchange::{Exchange, Outcome, Pairing, Windows};
use crate::net::{Datagram, Endpoint};
use crate::protocols::{Id, Level, Probe};

/// Maximum number of pairs of client and server whose latest challenge is remembered.
const MAX_ISSUED: usize = 16_384;

/// The settings that explanations need.
#[derive(Clone, Debug)]
pub struct Explain {
    /// The enabled protocols, and the ports pinned to a protocol.
    pub choice: Choice,
    /// The answer windows of the pipeline.
    pub windows: Windows,
}

/// Explains packets and exchanges, and remembers challenges for that purpose.
#[derive(Debug)]
pub(super) struct Explainer {
    explain: Explain,
    /// The latest value that a server issued to a client, and its frame, by client, server and protocol.
    issued: Bounded<(Endpoint, Endpoint, Id), (u64, u64), MAX_ISSUED>,
}

/// Names a frame, and its file if it is not the current one.
pub(super) type Name<'a> = &'a dyn Fn(u64) -> String;

impl Explainer {
    pub fn new(explain: Explain) -> Explainer {
        Explainer { explain, issued: Budget::default().into() }
    }

    /// Remembers an issued value, to explain the exchanges that use it.
    pub fn remember(&mut self, p: &Packet<'_>) {
        let issues = p.id.info().steps.get(usize::from(p.step)).is_some_and(|step| step.issues);
        if issues
            && matches!(p.pairing, Pairing::Answered(_))
            && let Some(probed) = probe(p.id, p.datagram)
        {
            let [client, server] = p.ends();
            self.issued.insert((client, server, p.id), (probed.request_state.into(), p.datagram.frame));
        }
    }

    /// Explains why a packet was recognised as its protocol and not as another one.
    pub fn packet(&self, p: &Packet<'_>, name: Name<'_>) -> Vec<String> {
        let info = p.id.info();
        let mut out = vec![self.recognised(p)];
        let others: Vec<_> = Id::ALL.iter().filter(|id| **id != p.id).collect();
        out.extend(
            self.rejections(&others, p.datagram, Some((info.name, p.level))).map(|why| format!("Not {why}.")),
        );
        match p.pairing {
            Pairing::DuplicateResponse { of, .. } => {
                out.push(format!(
                    "It repeats the answer in frame {}, and so answers nothing itself.",
                    name(*of)
                ));
            }
            Pairing::DuplicateFrame { of, .. } => {
                out.push(format!("The capture holds it twice: it is the datagram of frame {}.", name(*of)));
            }
            Pairing::Unsolicited { open: true, .. } => {
                out.push("Requests are open, but none that it answers.".into());
            }
            Pairing::Unsolicited { .. } => out.push("No request is open that it could answer.".into()),
            Pairing::Answered(answer) if p.message == info.unknown() => out.push(format!(
                "It is no message, but came while only the request in frame {} waited for an answer.",
                name(answer.request_frame)
            )),
            _ => {}
        }
        out
    }

    fn recognised(&self, p: &Packet<'_>) -> String {
        let (name, d) = (p.id.info().name, p.datagram);
        let pin = self.explain.choice.pins.iter().find(|(port, id)| *id == p.id && ports(d).contains(port));
        let reason = match pin {
            Some((port, _)) => format!("UDP port {port} is pinned to it"),
            None => "its conversation or its server speaks it".into(),
        };
        let Some(probed) = probe(p.id, d) else {
            return format!("Recognised as {name}, for {reason}; the bytes alone do not show it.");
        };
        let mut text = format!("Recognised as {name}: the bytes alone say {}", message_text(p.id, &probed));
        let level_note = match (p.level.name(), probed.level.name()) {
            (level_name, probed_level) if level_name == probed_level => None,
            (level_name, _) if p.level > probed.level && pin.is_some() => {
                Some(format!("{reason}, which makes that {level_name}"))
            }
            (level_name, _) if p.level > probed.level => {
                Some(format!("its conversation makes that {level_name}"))
            }
            (level_name, _) => Some(format!("what is damaged in it leaves {level_name}")),
        };
        level_note.into_iter().for_each(|level_note| text += &format!("; {level_note}"));
        if probed.message != p.message {
            text += &format!("; after what went before, it is {}", p.message_name());
        }
        text + "."
    }

    /// Explains why no protocol claims a datagram.
    pub fn unclaimed(&self, d: &Datagram<'_>) -> Vec<String> {
        let all: Vec<_> = Id::ALL.iter().collect();
        self.rejections(&all, d, None).map(|why| format!("Not recognised: not {why}.")).into_iter().collect()
    }

    /// Explains why none of these protocols claims a datagram. `winner` is the protocol that does, with its confidence.
    fn rejections(&self, ids: &[&Id], d: &Datagram<'_>, winner: Option<(&str, Level)>) -> Option<String> {
        let (mut left_out, mut only_first_byte, mut other_first_byte, mut rejections) =
            (vec![], vec![], vec![], vec![]);
        for &&id in ids {
            let name = id.info().name;
            let is_enabled = self.explain.choice.protocols >> id as u32 & 1 == 1;
            let matches_first_byte =
                candidates_by_first_byte(d.payload.first()).any(|candidate| candidate == id);
            match probe(id, d) {
                _ if !is_enabled => left_out.push(name),
                Some(probed) => rejections.push(format!(
                    "{name} (the bytes alone say {}, {})",
                    message_text(id, &probed),
                    reason_not_claimed(&probed, winner)
                )),
                None if matches_first_byte => only_first_byte.push(name),
                None => other_first_byte.push(name),
            }
        }
        let first_byte_text = match d.payload.first() {
            Some(byte) => format!("none of its messages begins with {byte:#04x}"),
            None => "the payload is empty".into(),
        };
        for (names, reason) in [
            (only_first_byte, "the first byte fits, the rest does not"),
            (other_first_byte, first_byte_text.as_str()),
            (left_out, "left out with --protocol"),
        ] {
            if !names.is_empty() {
                rejections.push(format!("{} ({reason})", names.join(", ")));
            }
        }
        (!rejections.is_empty()).then(|| rejections.join("; not "))
    }

    /// Describes the course of an exchange.
    pub fn exchange(&self, e: &Exchange, name: Name<'_>) -> String {
        let info = e.protocol.info();
        let step = info.steps.get(usize::from(e.step));
        let window = duration(self.explain.windows.answer(e.protocol));
        let mut clauses = vec![];
        let challenge = self.issued.get(&(e.client, e.server, e.protocol));
        let needs_challenge = info.steps.iter().any(|s| s.issues) && step.is_some_and(|s| !s.issues);
        match (challenge, e.key) {
            _ if !needs_challenge => {}
            // The value was issued before the exchange closed, but after its request. Any earlier value is forgotten.
            (Some(&(_, frame)), _) if frame > e.request_frame => {}
            (Some(&(value, frame)), Some(key)) if value == key => {
                clauses.push(format!("challenged in frame {}", name(frame)));
                clauses.push("asked with the value issued there".into());
            }
            (Some(&(_, frame)), Some(_)) => {
                clauses
                    .push(format!("asked with another value than the one issued in frame {}", name(frame)));
            }
            _ if self.issued.forgotten() > 0 => {
                clauses.push(
                    "asked without a challenge that is remembered, for the oldest were forgotten".into(),
                );
            }
            _ => clauses.push("asked without a challenge in the capture".into()),
        }
        match e.retransmissions {
            0 => {}
            1 => clauses.push("repeated once".into()),
            n => clauses.push(format!("repeated {n} times")),
        }
        clauses.push(self.outcome(e, &window, name));
        let step = step.map_or("-", |step| step.name);
        format!(
            "Exchange {}, {} {step} asked in frame {}: {}.",
            e.id,
            info.name,
            name(e.request_frame),
            clauses.join("; ")
        )
    }

    fn outcome(&self, e: &Exchange, window: &str, name: Name<'_>) -> String {
        let after = e.response_time.map(|t| format!(" after {}", duration(t))).unwrap_or_default();
        let frames = match e.response_frames() {
            [] => String::new(),
            [one] => format!(" in frame {}", name(*one)),
            [first, .., last] => format!(" in frames {} to {}", name(*first), name(*last)),
        };
        match e.outcome {
            Outcome::Answered => format!("answered{frames}{after}"),
            Outcome::Late => format!("answered late{frames}{after}, when the window of {window} had passed"),
            Outcome::Unanswered => format!("the server was silent for {window}, the whole window"),
            Outcome::Undecided => format!("the capture ended before the window of {window} had passed"),
            Outcome::Refused => format!("refused: {}", e.reason.unwrap_or("an ICMP error says so")),
        }
    }
}

fn ports(d: &Datagram<'_>) -> [u16; 2] {
    [d.src.port(), d.dst.port()]
}

/// Probes the bytes of a datagram for a protocol, without context.
fn probe(id: Id, d: &Datagram<'_>) -> Option<Probe> {
    id.probe(d.payload, d.wire_len(), ports(d))
}

/// The message and the confidence of a probe.
fn message_text(id: Id, probed: &Probe) -> String {
    let message = id.info().message_name(probed.message);
    match probed.level {
        Level::Hint => format!("{message} (no more than a hint)"),
        level => format!("{message} ({} confidence)", level.name()),
    }
}

/// The reason why a protocol does not claim a datagram that it recognises.
fn reason_not_claimed(probed: &Probe, winner: Option<(&str, Level)>) -> String {
    match winner {
        None => "but nothing confirms that, or less surely than --min-confidence asks".into(),
        Some((name, level)) if level > probed.level => format!("less surely than {name}"),
        Some((name, _)) => format!("but no more surely than {name}, which comes first"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An unanswered query of a client with this token.
    fn exchange(client: Endpoint, server: Endpoint, token: u64) -> Exchange {
        let step = Id::Sqp.info().steps.iter().position(|step| !step.issues).expect("queries");
        Exchange { step: step as u8, key: Some(token), ..Exchange::unanswered(1, Id::Sqp, [client, server]) }
    }

    #[test]
    fn forgets_the_oldest_challenges_and_says_so() {
        let server = Endpoint::v4([192, 0, 2, 1], 7777);
        let client = |n: u64| Endpoint::v4([10, 0, (n >> 8) as u8, n as u8], 9);
        let explain = Explain { choice: Choice::default(), windows: Windows::new(None) };
        let mut explainer = Explainer::new(explain);
        let explanation = |explainer: &Explainer, n| {
            explainer.exchange(&exchange(client(n), server, n), &|frame| frame.to_string())
        };
        let stranger = MAX_ISSUED as u64 + 1;
        let issue_challenge = |explainer: &mut Explainer, n| {
            explainer.issued.insert((client(n), server, Id::Sqp), (n, n));
        };
        (0..MAX_ISSUED as u64).for_each(|n| issue_challenge(&mut explainer, n));
        assert!(
            explanation(&explainer, 0).contains("challenged in frame 0; asked with the value issued there")
        );
        assert!(explanation(&explainer, stranger).contains("asked without a challenge in the capture"));
        // A challenge issued after a query is unrelated to it.
        assert!(!explanation(&explainer, 5).contains("challenge"), "{}", explanation(&explainer, 5));
        issue_challenge(&mut explainer, MAX_ISSUED as u64);
        assert!(
            explanation(&explainer, 1).contains("challenged in frame 1; asked with the value issued there")
        );
        for n in [0, stranger] {
            let explanation = explanation(&explainer, n);
            assert!(
                explanation.contains("without a challenge that is remembered, for the oldest were forgotten"),
                "{explanation}"
            );
        }
    }
}
