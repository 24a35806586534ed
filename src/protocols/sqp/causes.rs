//! Cause before symptom: which broken rules make others break.

use super::chunks::{CHK_001, CHK_002, CHK_005, INF_001, INF_002, STR_001, STR_002};
use super::exchange::{TXN_001, TXN_002, TXN_004, TXN_006, TXN_008, TXN_009, TXN_011, TXN_012, TXN_014};
use super::header::{
    HDR_002, REQ_001, REQ_007, REQ_008, REQ_010, RSP_001, RSP_003, RSP_004, RSP_005, RSP_006, RSP_007,
    RSP_008,
};
use super::server_rules::{DYN_001, DYN_003, RUL_001};
use super::tables::{MET_001, MET_002, TAB_001, TAB_002, TAB_003};
use crate::contract::{Causation, Relation::*};
use crate::rule::Rule;

/// What ends the decoding of a body, or shifts what follows.
static BREAKS: &[&Rule] = &[
    &CHK_001, &CHK_002, &CHK_005, &STR_001, &INF_001, &INF_002, &RUL_001, &DYN_001, &DYN_003, &TAB_001,
    &TAB_003, &MET_001,
];
/// Errors in a body that do not.
static STAYS: &[&Rule] = &[&STR_002, &TAB_002, &MET_002];
static MISSING: &[&Rule] = &[&TXN_011, &TXN_012];
static HEADER: &[&Rule] = &[&RSP_001, &RSP_003, &RSP_004, &RSP_005, &RSP_007, &RSP_008];
/// An answer that is not whole.
static CUT: &[&Rule] = &[&RSP_006, &RSP_007];

pub(super) static CAUSES: &[Causation] = &[
    (Same, CUT, BREAKS),
    (Same, CUT, STAYS),
    (Same, CUT, MISSING),
    (Same, &[&RSP_006], &[&TXN_014]),
    (Same, BREAKS, BREAKS),
    (Same, BREAKS, MISSING),
    (Request, &[&REQ_001, &REQ_007, &REQ_008, &REQ_010, &TXN_002, &TXN_006, &TXN_008], &[&TXN_009]),
    (Instead, &[&HDR_002, &TXN_004], &[&TXN_009]),
    // The reference client reads on where a broken answer left it, and takes what it finds for a token: that may be what stands
    // behind the answer.
    (Earlier, HEADER, &[&TXN_001]),
    (Earlier, BREAKS, &[&TXN_001]),
    (Earlier, STAYS, &[&TXN_001]),
];
