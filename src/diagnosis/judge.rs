//! The judge: the ordinary decoder finds nothing in the message as it should have been.

use super::Reason;
use crate::contract::Context;
use crate::decode::{Json, Listener, Notes};
use crate::protocols::{Decoded, Id};
use crate::rule::{Rule, Severity};

/// Whether a broken rule is a reason to look for a cause. Rules about exchanges, sizes and security are none.
pub fn is_reason(id: Id, rule: &'static Rule, minor: bool) -> bool {
    let info = id.info();
    if info.suspicious.contains(&rule) {
        return true;
    }
    let may_be = rule.severity >= Severity::Warning && !minor && !rule.ratio && !rule.unproven;
    let is_about_bytes = || info.rules.iter().any(|rules| rules.contains(&rule));
    may_be && !info.unsuspicious.contains(&rule) && is_about_bytes()
}

/// Whether the decoder accepts a message.
pub fn accepts(id: Id, bytes: &[u8], context: &Context, notes: &mut Notes) -> bool {
    notes.begin();
    let mut decoded = Decoded::default();
    id.dissect_to(bytes, context, notes, &mut decoded);
    notes.end();
    let is_bad = notes.violations().iter().any(|v| is_reason(id, v.rule, v.minor));
    decoded.fault.is_none() && !is_bad
}

/// The fields of a message as JSON.
pub fn fields(id: Id, bytes: &[u8], context: &Context) -> Vec<u8> {
    let mut json = Json::default();
    json.begin();
    let _ = id.dissect(bytes, context, &mut json);
    json.end();
    json.object().to_vec()
}

/// The first broken rule that is a reason, or that the message is unknown.
pub fn reason(id: Id, message: u8, broken: impl Iterator<Item = (&'static Rule, bool)>) -> Option<Reason> {
    let mut broken = broken;
    let rule = broken.find(|(rule, minor)| is_reason(id, rule, *minor)).map(|(rule, _)| rule);
    let is_unknown = rule.is_none() && message == id.info().unknown();
    (rule.is_some() || is_unknown).then_some(Reason { rule })
}
