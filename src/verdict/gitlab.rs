//! The verdict as a code quality report of GitLab.
//!
//! GitLab looks up a finding by a line, but a capture has no lines: the number of the frame takes the place of the line,
//! and the description says so.

use super::sarif::sentence;
use super::{Entry, Verdict, path};
use crate::escape::harmless;
use crate::rule::Severity;
use hashbrown::HashSet;
use serde_json::json;
use sha2::{Digest, Sha256};
use std::io::{self, Write};

/// Writes the findings that count, as one array.
///
/// # Errors
/// When it cannot be written.
pub fn gitlab(out: &mut dyn Write, verdict: &Verdict) -> io::Result<()> {
    let base = std::env::current_dir().ok();
    let mut seen = HashSet::new();
    for (i, e) in verdict.listed().filter(|e| e.counts()).enumerate() {
        let path = path::relative(verdict.file(e), base.as_deref());
        let record = json!({
            "description": format!("{} in {}", e.rule().id, sentence(e, None)),
            "check_name": e.rule().id,
            "fingerprint": fingerprint(&path, e, &mut seen),
            "severity": severity(e.finding.severity),
            "location": { "path": path, "lines": { "begin": e.frame } },
        });
        write!(out, "{}{}", if i == 0 { "[" } else { ",\n" }, harmless(&record))?;
    }
    writeln!(out, "{}", if seen.is_empty() { "[]" } else { "]" })
}

/// One of the five severities of GitLab. `critical` and `blocker` are not used: they are for what stops a merge, which the
/// exit code decides.
const fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "major",
        Severity::Warning => "minor",
        Severity::Note => "info",
    }
}

/// The fingerprint for GitLab, which merges the reports of all jobs and shows findings of equal fingerprints as one
/// finding. So the path is part of it, and a number where the path is not enough.
fn fingerprint(path: &str, e: &Entry, seen: &mut HashSet<String>) -> String {
    let of = |number: u32| {
        let mut hash = Sha256::new();
        hash.update(path.as_bytes());
        hash.update([0]);
        hash.update(e.fingerprint.to_string().as_bytes());
        if number > 0 {
            hash.update(number.to_be_bytes());
        }
        let digits: [u8; 16] = hash.finalize().first_chunk().copied().unwrap_or_default();
        format!("{:032x}", u128::from_be_bytes(digits))
    };
    let mut number = 0;
    loop {
        let fingerprint = of(number);
        if seen.insert(fingerprint.clone()) {
            return fingerprint;
        }
        number += 1;
    }
}
