//! Rules that depend on pairing alone and that several protocols share, each with its own rule numbers.

use super::{Observation, Pairing};
use crate::contract::{Answer, Proof, Raised, ShownKey, StepInfo};
use crate::decode::{Compared, ComparedValue, Span};
use crate::rule::Rule;
use crate::rule::general::{GEN_006, GEN_007, GEN_013};

/// The further answer to a request that makes them too many: its tenth answer.
const MOST_FURTHER: u8 = 9;

/// Raises the rules of the step that a datagram breaks.
#[inline(always)]
pub fn observe(step: &StepInfo, observation: &Observation<'_>, raised: &mut Raised) {
    let rules = &step.rules;
    match *observation.pairing {
        Pairing::Retransmission { part: false, .. } => add(raised, rules.repeated),
        // One report of a copy is enough.
        Pairing::DuplicateResponse { first: true, .. } => add(raised, rules.copy),
        Pairing::Unsolicited { open, asked, key, .. } => {
            let only_open = rules.other_than_only.filter(|_| asked.is_some());
            match (only_open.or(rules.other_key.filter(|_| open)), rules.key_at) {
                // Without a complete key, it is unknown to which request the answer belongs.
                (Some(_), _) if observation.probe.key.is_none() => {}
                (Some(rule), at) => raised.add_values(rule, at, keys(step, observation, key)),
                (None, _) => add(raised, rules.unsolicited),
            }
        }
        Pairing::Answered(ref answer) => {
            if answer.late {
                late(step, answer, raised);
            }
            if answer.contradicts {
                add(raised, rules.contradicting);
            }
            if answer.foreign_key
                && let (Some(rule), Some(at)) = (rules.other_key, rules.key_at)
            {
                raised.add_values(rule, Some(at), keys(step, observation, answer.asked_key));
            }
            if let Some((times, rule)) = rules.larger
                && answer.asked & step.carries == 0
                && answer.exceeds(times.saturating_mul(answer.request_bytes as usize), observation.datagram)
            {
                let most = times.saturating_mul(answer.request_bytes as usize);
                raised.add_values(
                    rule,
                    None,
                    Compared::new(ComparedValue::Nothing, ComparedValue::AtMost(most as i64)),
                );
            }
        }
        _ => {}
    }
}

/// Raises the rules that every protocol shares.
#[inline(always)]
pub fn observe_shared(step: &StepInfo, observation: &Observation<'_>, raised: &mut Raised) {
    match *observation.pairing {
        Pairing::Unsolicited { elsewhere: true, .. } => raised.add(&GEN_006),
        Pairing::DuplicateResponse { further: MOST_FURTHER, .. } => too_many(raised),
        Pairing::Answered(ref answer) => {
            if answer.elsewhere {
                raised.add(&GEN_006);
            }
            if answer.further == MOST_FURTHER {
                too_many(raised);
            }
            let proves = step.proves(answer.asked);
            if (!proves || raised.proof == Proof::Wrong)
                && answer.exceeds(answer.request_bytes as usize, observation.datagram)
            {
                raised.unproven = !answer.second;
                if !proves {
                    let most = ComparedValue::AtMost(answer.request_bytes.into());
                    raised.add_values(&GEN_007, None, Compared::new(ComparedValue::Nothing, most));
                }
            }
        }
        _ => {}
    }
}

#[cold]
fn too_many(raised: &mut Raised) {
    let answers = ComparedValue::Number(i64::from(MOST_FURTHER).saturating_add(1));
    raised.add_values(&GEN_013, None, Compared::new(answers, ComparedValue::AtMost(MOST_FURTHER.into())));
}

#[cold]
fn late(step: &StepInfo, answer: &Answer, raised: &mut Raised) {
    let Some(rule) = step.rules.late else { return };
    let time = answer.response_time.map_or(ComparedValue::Nothing, ComparedValue::Nanos);
    raised.add_values(rule, None, Compared::new(time, "within the answer window"));
}

/// The key of an answer, and that of the request, or what is known of it. The number of a text is not what is sent.
#[cold]
fn keys(step: &StepInfo, observation: &Observation<'_>, expected: Option<u64>) -> Compared {
    if !matches!(step.shown_key, ShownKey::Number) {
        let bytes = |at: Span| observation.bytes().get(at.start.into()..at.end.into());
        let found = step.rules.key_at.and_then(bytes);
        return found.map_or(Compared::NOTHING, |found| {
            Compared::new(ComparedValue::raw(found), "that of the request")
        });
    }
    let found = observation.probe.key;
    let hex = |key| ComparedValue::Hex(key, step.key_digits as u8);
    let expected = expected.map_or(ComparedValue::Words("the key of a request"), hex);
    Compared::new(found.map_or(ComparedValue::Nothing, hex), expected)
}

fn add(raised: &mut Raised, rule: Option<&'static Rule>) {
    if let Some(rule) = rule {
        raised.add(rule);
    }
}
