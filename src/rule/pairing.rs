//! The rules about pairing that most protocols have in the same words. A protocol gives them their number, explanation, source
//! and examples, and names them in [`StepRules`](crate::contract::StepRules).

use super::{Rule, Severity, Side};

/// An answer that belongs to no open request.
pub const UNSOLICITED: Rule =
    Rule { severity: Severity::Error, title: "answer without a request", needs_past: true, ..Rule::PLAIN };

/// No answer within the answer window.
pub const UNANSWERED: Rule = Rule { severity: Severity::Warning, title: "no answer in time", ..Rule::PLAIN };

/// An answer after the answer window, within the late window.
pub const LATE: Rule =
    Rule { severity: Severity::Note, title: "answer came after the time-out", ..Rule::PLAIN };

/// A copy of an answer.
pub const COPY: Rule =
    Rule { severity: Severity::Note, title: "answer arrived twice", side: Side::Path, ..Rule::PLAIN };
