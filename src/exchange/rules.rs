//! What a datagram breaks by its pairing alone: the same for every protocol, each under its own numbers.

use super::{Pairing, Seen};
use crate::contract::{Raised, StepInfo};
use crate::general::{GEN_006, GEN_007};
use crate::rule::Rule;

/// Raises the rules of the step, and those that every protocol shares.
#[inline]
pub fn observe(step: &StepInfo, seen: &Seen<'_>, raised: &mut Raised) {
    let rules = &step.rules;
    match *seen.pairing {
        Pairing::Asked { alone: false, .. } => add(raised, rules.overlapping),
        Pairing::Again { part: false, .. } => add(raised, rules.repeated),
        Pairing::Copy { .. } => add(raised, rules.copy),
        Pairing::Unasked { open, elsewhere, .. } => {
            match (rules.other_key.filter(|_| open && seen.glance.key.is_some()), rules.key_at) {
                (Some(rule), Some(at)) => raised.add_at(rule, at),
                (rule, _) => add(raised, rule.or(rules.unasked)),
            }
            if elsewhere {
                raised.add(&GEN_006);
            }
        }
        Pairing::Answered(answer) => {
            if answer.late {
                add(raised, rules.late);
            }
            if answer.foreign_key
                && let (Some(rule), Some(at)) = (rules.other_key, rules.key_at)
            {
                raised.add_at(rule, at);
            }
            if answer.elsewhere {
                raised.add(&GEN_006);
            }
            let request = answer.request_bytes as usize;
            if let Some((times, rule)) = rules.larger
                && answer.exceeds(times.saturating_mul(request), seen.datagram)
            {
                raised.add(rule);
            }
            if !step.validated && answer.exceeds(request, seen.datagram) {
                raised.add(&GEN_007);
            }
        }
        _ => {}
    }
}

fn add(raised: &mut Raised, rule: Option<&'static Rule>) {
    if let Some(rule) = rule {
        raised.add(rule);
    }
}
