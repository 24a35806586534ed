//! Cause before symptom: which broken rules make others break.

use super::exchange::{TXN_001, TXN_002, TXN_004, TXN_006, TXN_008, TXN_009, TXN_011, TXN_012, TXN_014};
use super::header::{HDR_002, REQ_001, REQ_007, REQ_008, REQ_010, RSP_006, RSP_007, RSP_008};
use crate::protocols::Relation;
use crate::rule::{Rule, Severity};

/// Parts of the body.
const BODY: [&str; 7] = ["SQP-CHK-", "SQP-STR-", "SQP-INF-", "SQP-RUL-", "SQP-DYN-", "SQP-TAB-", "SQP-MET-"];

/// What ends the decoding of a body, or shifts what follows.
const BREAKS: [&str; 12] = [
    "SQP-CHK-001",
    "SQP-CHK-002",
    "SQP-CHK-005",
    "SQP-STR-001",
    "SQP-INF-001",
    "SQP-INF-002",
    "SQP-RUL-001",
    "SQP-DYN-001",
    "SQP-DYN-003",
    "SQP-TAB-001",
    "SQP-TAB-003",
    "SQP-MET-001",
];

pub(super) fn causes(cause: &Rule, symptom: &Rule, relation: Relation) -> bool {
    let is = |rule: &Rule, all: &[&Rule]| all.contains(&rule);
    let in_body = |rule: &Rule| BODY.iter().any(|part| rule.id.starts_with(part));
    let missing = is(symptom, &[&TXN_011, &TXN_012]);
    match relation {
        Relation::Same if is(cause, &[&RSP_007]) => in_body(symptom) && error(symptom) || missing,
        // It is one part of an answer.
        Relation::Same if is(cause, &[&RSP_006]) => {
            in_body(symptom) && error(symptom) || missing || is(symptom, &[&TXN_014])
        }
        Relation::Same => breaks(cause) && error(cause) && (breaks(symptom) && error(symptom) || missing),
        Relation::Request => {
            let silent = [&REQ_001, &REQ_007, &REQ_008, &REQ_010, &TXN_002, &TXN_006, &TXN_008];
            symptom == &TXN_009 && is(cause, &silent)
        }
        Relation::Instead => symptom == &TXN_009 && is(cause, &[&HDR_002, &TXN_004]),
        // The reference client reads on where a broken answer left it, and takes what it finds for a token: that may be
        // what stands behind the answer.
        Relation::Earlier => {
            let answer = cause.id.starts_with("SQP-RSP-") || in_body(cause);
            (symptom == &TXN_001 || symptom == cause) && answer && (error(cause) || is(cause, &[&RSP_008]))
        }
        Relation::Asked => false,
    }
}

fn breaks(rule: &Rule) -> bool {
    BREAKS.contains(&rule.id)
}

fn error(rule: &Rule) -> bool {
    rule.severity == Severity::Error
}
