//! Explains in plain sentences why a datagram was recognised as it was, and what happened in an exchange.
//!
//! All of this is worked out again from the payload and from what reports are told, for the few users who ask.

use super::duration;
use crate::bounded::Bounded;
use crate::budget::{Budget, Forgets as _};
use crate::classify::{Choice, candidates_by_first_byte};
use crate::exchange::{Exchange, Outcome, Pairing, Windows};
use crate::net::{Datagram, Endpoint};
use crate::packet::Packet;
use crate::protocols::{Id, Level, Probe};

/// Most pairs of client and server whose latest challenge is remembered.
const MAX_ISSUED: usize = 16_384;

/// The settings that explanations need.
#[derive(Clone, Debug)]
pub struct Explain {
    /// Which protocols were looked for, and which ports were pinned to a protocol.
    pub choice: Choice,
    /// How long the pipeline waited for answers.
    pub windows: Windows,
}

/// Explains packets and exchanges, and remembers the challenges that this needs.
#[derive(Debug)]
pub(super) struct Teller {
    explain: Explain,
    /// The value that a server issued last to a client, and the frame that it stands in.
    issued: Bounded<(Endpoint, Endpoint, Id), (u64, u64), MAX_ISSUED>,
}

/// Names a frame, with its file where that is another one than the current file.
pub(super) type Name<'a> = &'a dyn Fn(u64) -> String;

impl Teller {
    pub fn new(explain: Explain) -> Teller {
        Teller { explain, issued: Budget::default().into() }
    }

    /// Remembers a value that is issued, for the exchanges that follow from it.
    pub fn see(&mut self, p: &Packet<'_>) {
        let issues = p.id.info().steps.get(usize::from(p.step)).is_some_and(|step| step.issues);
        if issues
            && matches!(p.pairing, Pairing::Answered(_))
            && let Some(g) = look(p.id, p.datagram)
        {
            let [client, server] = p.direction.order([p.datagram.src, p.datagram.dst]);
            self.issued.insert((client, server, p.id), (g.request_state.into(), p.datagram.frame));
        }
    }

    /// Why a packet was recognised as its protocol, and not as another one.
    pub fn packet(&self, p: &Packet<'_>, name: Name<'_>) -> Vec<String> {
        let own = p.id.info();
        let mut out = vec![self.recognised(p)];
        let others: Vec<_> = Id::ALL.iter().filter(|id| **id != p.id).collect();
        out.extend(
            self.lost(&others, p.datagram, Some((own.name, p.level))).map(|why| format!("Not {why}.")),
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
            _ => {}
        }
        out
    }

    fn recognised(&self, p: &Packet<'_>) -> String {
        let (own, d) = (p.id.info().name, p.datagram);
        let pin = self.explain.choice.pins.iter().find(|(port, id)| *id == p.id && ports(d).contains(port));
        let by = match pin {
            Some((port, _)) => format!("UDP port {port} is pinned to it"),
            None => "its conversation or its server speaks it".into(),
        };
        let Some(g) = look(p.id, d) else {
            return format!("Recognised as {own}, for {by}; the bytes alone do not show it.");
        };
        let mut text = format!("Recognised as {own}: the bytes alone say {}", looks_like(p.id, &g));
        let raised = match (p.level.name(), g.level.name()) {
            (told, seen) if told == seen => None,
            (told, _) if p.level > g.level && pin.is_some() => Some(format!("{by}, which makes that {told}")),
            (told, _) if p.level > g.level => Some(format!("its conversation makes that {told}")),
            (told, _) => Some(format!("what is damaged in it leaves {told}")),
        };
        raised.into_iter().for_each(|raised| text += &format!("; {raised}"));
        if g.message != p.message {
            text += &format!("; after what went before, it is {}", p.message_name());
        }
        text + "."
    }

    /// Why no protocol claims a datagram.
    pub fn unclaimed(&self, d: &Datagram<'_>) -> Vec<String> {
        let all: Vec<_> = Id::ALL.iter().collect();
        self.lost(&all, d, None).map(|why| format!("Not recognised: not {why}.")).into_iter().collect()
    }

    /// Why a datagram belongs to none of these protocols. `winner` is the protocol that claims it, with its confidence.
    fn lost(&self, ids: &[&Id], d: &Datagram<'_>, winner: Option<(&str, Level)>) -> Option<String> {
        let (mut silent, mut misfits, mut foreign, mut out) = (vec![], vec![], vec![], vec![]);
        for &&id in ids {
            let name = id.info().name;
            let speaks = self.explain.choice.protocols >> id as u32 & 1 == 1;
            let begins = candidates_by_first_byte(d.payload.first()).any(|candidate| candidate == id);
            match look(id, d) {
                _ if !speaks => silent.push(name),
                Some(g) => out.push(format!(
                    "{name} (the bytes alone say {}, {})",
                    looks_like(id, &g),
                    beaten(&g, winner)
                )),
                None if begins => misfits.push(name),
                None => foreign.push(name),
            }
        }
        let begin = match d.payload.first() {
            Some(byte) => format!("none of its messages begins with {byte:#04x}"),
            None => "the payload is empty".into(),
        };
        for (names, why) in [
            (misfits, "the first byte fits, the rest does not"),
            (foreign, begin.as_str()),
            (silent, "left out with --protocol"),
        ] {
            if !names.is_empty() {
                out.push(format!("{} ({why})", names.join(", ")));
            }
        }
        (!out.is_empty()).then(|| out.join("; not "))
    }

    /// What happened in an exchange.
    pub fn exchange(&self, e: &Exchange, name: Name<'_>) -> String {
        let info = e.protocol.info();
        let step = info.steps.get(usize::from(e.step));
        let window = duration(self.explain.windows.answer(e.protocol));
        let mut told = vec![];
        let issued = self.issued.get(&(e.client, e.server, e.protocol));
        let follows = info.steps.iter().any(|s| s.issues) && step.is_some_and(|s| !s.issues);
        match (issued, e.key) {
            _ if !follows => {}
            // The exchange closed only after that; what was issued before it was asked is no longer known.
            (Some(&(_, frame)), _) if frame > e.request_frame => {}
            (Some(&(value, frame)), Some(key)) if value == key => {
                told.push(format!("challenged in frame {}", name(frame)));
                told.push("asked with the value issued there".into());
            }
            (Some(&(_, frame)), Some(_)) => {
                told.push(format!("asked with another value than the one issued in frame {}", name(frame)));
            }
            _ if self.issued.forgotten() > 0 => {
                told.push(
                    "asked without a challenge that is remembered, for the oldest were forgotten".into(),
                );
            }
            _ => told.push("asked without a challenge in the capture".into()),
        }
        match e.retransmissions {
            0 => {}
            1 => told.push("repeated once".into()),
            n => told.push(format!("repeated {n} times")),
        }
        told.push(self.outcome(e, &window, name));
        let step = step.map_or("-", |step| step.name);
        format!(
            "Exchange {}, {} {step} asked in frame {}: {}.",
            e.id,
            info.name,
            name(e.request_frame),
            told.join("; ")
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

/// What a protocol recognises from the bytes alone.
fn look(id: Id, d: &Datagram<'_>) -> Option<Probe> {
    id.probe(d.payload, d.wire_len(), ports(d))
}

/// A message, and how sure its bytes are.
fn looks_like(id: Id, g: &Probe) -> String {
    let message = id.info().message_name(g.message);
    match g.level {
        Level::Hint => format!("{message} (no more than a hint)"),
        level => format!("{message} ({} confidence)", level.name()),
    }
}

/// Why a protocol does not claim the datagram, although it recognises it.
fn beaten(g: &Probe, winner: Option<(&str, Level)>) -> String {
    match winner {
        None => "but nothing confirms that, or less surely than --min-confidence asks".into(),
        Some((name, level)) if level > g.level => format!("less surely than {name}"),
        Some((name, _)) => format!("but no more surely than {name}, which comes first"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A client's query with that token, which was not answered.
    fn exchange(client: Endpoint, server: Endpoint, token: u64) -> Exchange {
        let step = Id::Sqp.info().steps.iter().position(|step| !step.issues).expect("queries");
        Exchange { step: step as u8, key: Some(token), ..Exchange::unanswered(1, Id::Sqp, [client, server]) }
    }

    #[test]
    fn the_oldest_challenges_are_forgotten_and_that_is_said() {
        let server = Endpoint::v4([192, 0, 2, 1], 7777);
        let client = |n: u64| Endpoint::v4([10, 0, (n >> 8) as u8, n as u8], 9);
        let explain = Explain { choice: Choice::default(), windows: Windows::new(None) };
        let mut teller = Teller::new(explain);
        let told =
            |teller: &Teller, n| teller.exchange(&exchange(client(n), server, n), &|frame| frame.to_string());
        let nobody = MAX_ISSUED as u64 + 1;
        let issue = |teller: &mut Teller, n| {
            teller.issued.insert((client(n), server, Id::Sqp), (n, n));
        };
        (0..MAX_ISSUED as u64).for_each(|n| issue(&mut teller, n));
        assert!(told(&teller, 0).contains("challenged in frame 0; asked with the value issued there"));
        assert!(told(&teller, nobody).contains("asked without a challenge in the capture"));
        // What is issued after a query has nothing to do with it.
        assert!(!told(&teller, 5).contains("challenge"), "{}", told(&teller, 5));
        issue(&mut teller, MAX_ISSUED as u64);
        assert!(told(&teller, 1).contains("challenged in frame 1; asked with the value issued there"));
        for n in [0, nobody] {
            let told = told(&teller, n);
            assert!(
                told.contains("without a challenge that is remembered, for the oldest were forgotten"),
                "{told}"
            );
        }
    }
}
