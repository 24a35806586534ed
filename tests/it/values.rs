//! Findings say what is there and what should be, or their rule is known to compare nothing.

use crate::kit::feed::examples;
use crate::kit::play::{example_frames, play};
use std::collections::{BTreeMap, BTreeSet};

/// Rules that compare nothing, with the reason.
const WITHOUT_VALUES: &[(&str, &[&str])] = &[
    (
        "It says that something is missing.",
        &[
            "A2S-PLY-003",
            "A2S-SPL-002",
            "ASE-RUL-001",
            "D3-DIC-001",
            "D3-PLR-001",
            "GQP-FRM-001",
            "GQP-FRM-003",
            "GQP-REC-001",
            "GQP-RSP-003",
            "GS1-REQ-002",
            "GS1-RSP-001",
            "GS1-RSP-002",
            "GS1-TXN-005",
            "GS1-TXN-006",
            "GS2-KEY-001",
            "GS2-TAB-001",
            "GS3-COL-001",
            "GS3-KEY-001",
            "GS3-KEY-005",
            "GS3-SPL-001",
            "GS3-SPL-002",
            "MST-HBT-001",
            "MST-REQ-001",
            "MST-RSP-002",
            "TTF-RSP-002",
            "TW-PRT-001",
            "TW-RSP-001",
            "UN2-STR-002",
            "UN2-TXN-005",
            "Q3-INF-002",
            "Q3-RSP-001",
            "Q3-RSP-002",
            "Q3-TXN-006",
        ],
    ),
    (
        "It is about a form as a whole.",
        &[
            "A2S-FLQ-001",
            "A2S-INF-006",
            "A2S-REQ-004",
            "A2S-RUL-003",
            "A2S-RUL-004",
            "A2S-SPL-001",
            "A2S-SPL-005",
            "A2S-SPL-006",
            "A2S-SPL-007",
            "GQP-ENC-002",
            "GQP-ENC-003",
            "GS3-KEY-006",
            "RAK-MOT-006",
            "RAK-MOT-007",
            "RAK-PON-004",
            "SFQ-LEG-001",
            "SFQ-RSP-008",
            "SKY-JSN-001",
            "SKY-JSN-002",
            "SKY-JSN-006",
            "SQP-CHK-006",
            "SQP-CHK-007",
        ],
    ),
    (
        "It is about a secret that is sent, which no report repeats, or a proof that is missing.",
        &[
            "A2S-SEC-001",
            "A2S-SEC-002",
            "A2S-SEC-005",
            "D3-SEC-002",
            "GQP-SEC-001",
            "GS3-SEC-001",
            "Q3-SEC-003",
            "SAMP-SEC-002",
            "SAMP-SEC-003",
            "SKY-SEC-002",
            "SQP-SEC-001",
        ],
    ),
    (
        "It is about an answer without a request, or the other way round.",
        &[
            "A2S-TXN-001",
            "A2S-TXN-002",
            "A2S-TXN-003",
            "A2S-TXN-007",
            "ARM-TXN-001",
            "ARM-TXN-002",
            "ASE-HDR-001",
            "ASE-TXN-001",
            "ASE-TXN-002",
            "D3-TXN-001",
            "D3-TXN-002",
            "GQP-TXN-001",
            "GQP-TXN-005",
            "GQP-TXN-008",
            "GS1-TXN-001",
            "GS1-TXN-002",
            "GS2-TXN-001",
            "GS2-TXN-002",
            "GS3-TXN-001",
            "GS3-TXN-002",
            "MDT-TXN-001",
            "MDT-TXN-002",
            "MST-TXN-001",
            "MST-TXN-002",
            "MUM-TXN-001",
            "MUM-TXN-002",
            "OTTD-TXN-001",
            "OTTD-TXN-002",
            "Q3-TXN-001",
            "Q3-TXN-002",
            "Q3-TXN-007",
            "Q3-TXN-009",
            "RAK-TXN-001",
            "RAK-TXN-003",
            "SAMP-TXN-001",
            "SAMP-TXN-003",
            "SFQ-TXN-001",
            "SFQ-TXN-003",
            "SKY-TXN-001",
            "SKY-TXN-002",
            "SQP-TXN-003",
            "SQP-TXN-005",
            "SQP-TXN-009",
            "TTF-TXN-001",
            "TTF-TXN-002",
            "TW-TXN-001",
            "TW-TXN-002",
            "UN2-TXN-001",
            "UN2-TXN-002",
        ],
    ),
    (
        "It is about two datagrams that are the same or differ as a whole.",
        &[
            "A2S-CHL-004",
            "A2S-SPL-003",
            "A2S-SPL-004",
            "A2S-TXN-005",
            "A2S-TXN-006",
            "ARM-TXN-004",
            "ASE-TXN-004",
            "D3-TXN-004",
            "GQP-TXN-009",
            "GS1-TXN-004",
            "GS2-TXN-004",
            "GS3-SPL-003",
            "GS3-TXN-004",
            "MDT-TXN-004",
            "MST-TXN-004",
            "MUM-TXN-004",
            "OTTD-TXN-004",
            "Q3-TXN-004",
            "RAK-TXN-005",
            "RAK-TXN-006",
            "SAMP-TXN-005",
            "SFQ-TXN-004",
            "SFQ-TXN-005",
            "SKY-TXN-003",
            "SKY-TXN-004",
            "SQP-TXN-008",
            "SQP-TXN-013",
            "SQP-TXN-014",
            "SQP-TXN-018",
            "TTF-TXN-004",
            "TW-TXN-004",
            "UN2-TXN-004",
        ],
    ),
    ("Pairing keeps a text as a number that is not what was sent.", &["Q3-TXN-005"]),
    (
        "It counts over time; its message has the numbers, if any.",
        &["ASE-TXN-005", "GEN-009", "GEN-011", "GEN-012", "GEN-014", "Q3-SEC-002", "Q3-TXN-008"],
    ),
    (
        "It is about the capture, or about who sent what to whom.",
        &["GEN-002", "GEN-004", "GEN-005", "GEN-006", "GEN-008", "GEN-010"],
    ),
];

#[test]
fn every_finding_has_both_values_unless_its_rule_compares_nothing() {
    let mut seen: BTreeMap<&str, Option<String>> = BTreeMap::new();
    for (rule, number, example) in examples() {
        let (collected, _) = play(&example_frames(example));
        for finding in collected.findings().filter(|f| f.rule.id == rule.id) {
            let lacking = seen.entry(rule.id).or_default();
            if finding.found().is_none() || finding.expected().is_none() {
                *lacking = Some(format!("{} ({number}): {finding}", rule.id));
            }
        }
    }
    let excepted: BTreeSet<&str> =
        WITHOUT_VALUES.iter().flat_map(|(_, rules)| rules.iter().copied()).collect();
    let lacking: Vec<_> = seen
        .iter()
        .filter(|(id, _)| !excepted.contains(*id))
        .filter_map(|(_, lacking)| lacking.as_ref())
        .collect();
    assert!(lacking.is_empty(), "without both values: {lacking:#?}");
    let needless: Vec<_> = excepted.iter().filter(|id| seen.get(*id).is_none_or(Option::is_none)).collect();
    assert!(needless.is_empty(), "excepted, but unknown or with values: {needless:#?}");
}
