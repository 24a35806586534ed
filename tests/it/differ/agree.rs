//! The subcommands agree: what `dump`, `exchanges`, `summary`, `check` and `stats` count of one capture.

use super::cases::each;
use crate::kit::said::{How, records, run};
use qdissect::check::Policy;
use qdissect::protocols::Level;
use qdissect::report::summary::{self, Summary};
use qdissect::report::{Exchanges, Form, Lister, Output, Records};
use qdissect::stats::{self, Section, Stats};
use qdissect::verdict::{Check, Entry, Verdict};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Records as they are written.
type Written = Vec<Value>;
/// Numbers by what they count.
type Counts = BTreeMap<String, u64>;

const OUTCOMES: [&str; 5] = ["answered", "late", "unanswered", "undecided", "refused"];
const SEVERITIES: [&str; 3] = ["error", "warning", "note"];
/// What may differ where a report lets datagrams pass those that wait, what is compared by itself, and what only those
/// gather that judge servers at the end.
const APART: [&str; 3] = ["waiting_overflow", "finding_counts", "candidates"];
/// The rule of a message that never reaches its end: it waits for more, and its answer may pass it.
const NO_END: &str = "GQP-FRM-001";

/// What every subcommand says of one capture.
struct Said {
    dump: Written,
    exchanges: Written,
    summary: Written,
    stats: Written,
    verdict: Verdict,
    /// Lines of text that `dump` and `exchanges` write of packets and exchanges.
    lines: [u64; 2],
}

fn parsed(out: &[u8]) -> Written {
    let lines = out.split(|b| *b == b'\n').filter(|line| !line.is_empty());
    lines.map(|line| serde_json::from_slice(line).expect("records are JSON")).collect()
}

impl Said {
    fn of(bytes: &[u8], least: Level) -> Said {
        let (input, how) = (&[bytes.to_vec()], How { least, ..How::PLAIN });
        let (mut exchanges, mut summary, mut stats) = (vec![], vec![], vec![]);
        run(input, how, Records::new(Output::new(&mut exchanges, Form::Ndjson, false), false, false));
        let (found, totals, _) = run(input, how, Summary::default());
        summary::records(&mut Output::new(&mut summary, Form::Ndjson, false), &found, &totals)
            .expect("memory");
        let (found, totals, _) = run(input, how, Stats::new(None));
        let mut out = Output::new(&mut stats, Form::Ndjson, false);
        stats::records(&mut out, &found, &totals, Section::ALL).expect("memory");
        drop(out);
        let (check, totals, _) =
            run(input, how, Check::new(Policy::default(), |_: &mut Entry, _: &str| Ok(())));
        let (mut packets, mut rows) = (vec![], vec![]);
        run(input, how, Lister::new(&mut packets, false, false, false));
        run(input, how, Exchanges::new(&mut rows, false, false, false));
        let [exchanges, summary, stats] = [exchanges, summary, stats].map(|out| parsed(&out));
        Said {
            dump: parsed(records(input, how).0.as_bytes()),
            exchanges,
            summary,
            stats,
            verdict: check.verdict(totals).expect("nothing is written"),
            lines: [packets, rows].map(|out| out.iter().filter(|b| **b == b'\n').count() as u64),
        }
    }

    /// The last record: totals, without what is compared by itself.
    fn totals(records: &[Value]) -> Value {
        bare(records.last().expect("a summary comes last"))
    }

    /// Findings that `dump` writes of packets and exchanges, and that count.
    fn findings(&self) -> impl Iterator<Item = &Value> {
        let all = self.dump.iter().filter_map(|r| r.get("findings")?.as_array()).flatten();
        all.filter(|f| f.get("caused_by").is_none())
    }

    /// Findings of a datagram that were only counted.
    fn more(&self) -> u64 {
        self.dump.iter().filter_map(|r| r.get("more_findings")?.as_u64()).sum()
    }

    /// Symptoms of a message that waited for its end: who lets answers pass has judged them before, for themselves.
    fn passing(&self) -> impl Iterator<Item = &Value> {
        let broken =
            |r: &&Value| r["findings"].as_array().is_some_and(|all| all.iter().any(|f| f["rule"] == NO_END));
        let waited: Vec<_> = self.dump.iter().filter(broken).map(|r| &r["frame"]).collect();
        let all = self.dump.iter().filter_map(|r| Some((&r["frame"], r.get("findings")?.as_array()?)));
        all.flat_map(|(frame, findings)| findings.iter().map(move |f| (frame, f)))
            .filter(move |(frame, f)| {
                *frame != &f["caused_by"]["frame"] && waited.contains(&&f["caused_by"]["frame"])
            })
            .map(|(_, f)| f)
    }
}

fn bare(totals: &Value) -> Value {
    let mut totals = totals.clone();
    let record = totals.as_object_mut().expect("records are objects");
    APART.iter().for_each(|key| drop(record.remove(*key)));
    totals
}

fn of<'a>(records: &'a [Value], kind: &str) -> impl Iterator<Item = &'a Value> {
    records.iter().filter(move |r| r["type"] == kind)
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no count"))
}

fn word(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("{value} is no text")).to_owned()
}

fn counted(keys: impl Iterator<Item = String>) -> Counts {
    let mut counts = Counts::new();
    keys.for_each(|key| *counts.entry(key).or_default() += 1);
    counts
}

/// `dump` and `exchanges` write the same exchanges, and all have the same totals.
fn same_records(said: &Said) {
    let listed: Vec<_> = of(&said.dump, "exchange").collect();
    assert_eq!(of(&said.exchanges, "exchange").collect::<Vec<_>>(), listed);
    let totals = Said::totals(&said.dump);
    for other in [&said.exchanges, &said.summary, &said.stats] {
        assert_eq!(Said::totals(other), totals);
    }
    assert_eq!(bare(&json!(said.verdict.totals.record())), totals);
    let packets = of(&said.dump, "packet").count() as u64;
    assert_eq!((packets, listed.len() as u64), (number(&totals["udp"]), number(&totals["exchanges"])));
}

/// Outcomes by server are those of the exchanges.
fn same_outcomes(said: &Said) {
    let known: Vec<String> =
        of(&said.summary, "server").map(|s| format!("{} {}", s["server"], s["protocol"])).collect();
    let exchanges = of(&said.dump, "exchange");
    let by_server = exchanges
        .map(|e| (format!("{} {}", e["server"], e["protocol"]), e["outcome"].as_str().expect("a word")));
    let written = counted(
        by_server
            .filter(|(server, _)| known.contains(server))
            .map(|(server, outcome)| format!("{server} {outcome}")),
    );
    let told = |records: &[Value], kind: &str| {
        let mut counts = Counts::new();
        for s in of(records, kind).filter(|s| !s["server"].is_null()) {
            for outcome in OUTCOMES {
                let n = number(&s[outcome]);
                let key = format!("{} {} {outcome}", s["server"], s["protocol"]);
                if n > 0 && known.contains(&format!("{} {}", s["server"], s["protocol"])) {
                    counts.insert(key, n);
                }
            }
        }
        counts
    };
    assert_eq!(told(&said.summary, "server"), written, "by the summary");
    assert_eq!(told(&said.stats, "loss"), written, "by the statistics");
    let totals = Said::totals(&said.dump);
    for all in of(&said.stats, "loss").filter(|s| s["server"].is_null() && s["protocol"].is_null()) {
        OUTCOMES.iter().for_each(|outcome| assert_eq!(all[outcome], totals[outcome], "{all}"));
    }
}

/// Numbers that are those expected, or more by what is excused.
fn hold(found: &Counts, expected: &Counts, excused: &Counts, what: &str) {
    for key in found.keys().chain(expected.keys()) {
        let [found, expected, excused] =
            [found, expected, excused].map(|counts| counts.get(key).copied().unwrap_or(0));
        assert!(
            (expected..=expected + excused).contains(&found),
            "{what}, {key}: {found}, and {expected} for dump"
        );
    }
}

/// Findings by rule and by severity are the same for `dump`, `summary`, `stats` and `check`.
fn same_findings(said: &Said) {
    if said.more() > 0 {
        return; // not all of them are written
    }
    let by = |key: &'static str| counted(said.findings().map(|f| word(&f[key])));
    let (rules, severities) = (by("rule"), by("severity"));
    let passing = |key: &'static str| counted(said.passing().map(|f| word(&f[key])));
    let none = Counts::new();
    let summed = of(&said.summary, "rule").map(|r| (word(&r["id"]), number(&r["count"]))).collect();
    hold(&summed, &rules, &passing("rule"), "rules of the summary");
    for (records, excused) in
        [(&said.exchanges, &none), (&said.summary, &passing("severity")), (&said.stats, &passing("severity"))]
    {
        let last = &records.last().expect("a summary comes last")["finding_counts"];
        let counts = SEVERITIES.iter().map(|s| ((*s).to_owned(), number(&last[s]))).filter(|(_, n)| *n > 0);
        hold(&counts.collect(), &severities, excused, "severities of the totals");
    }
    let verdict = &said.verdict;
    let kept = || verdict.findings.iter().filter(|e| e.counts());
    let judged = counted(kept().map(|e| e.rule().id.to_owned()));
    assert_eq!(verdict.counts.total(), judged.values().sum::<u64>(), "findings and counts of check");
    hold(&judged, &rules, &none, "rules of check");
    // With both sides in the capture, nothing is made less of.
    if verdict.totals.one_sided.is_empty() {
        let judged = counted(kept().map(|e| e.finding.severity.name().to_owned()));
        hold(&judged, &severities, &none, "severities of check");
    }
}

/// What goes through the statistics adds up.
fn same_traffic(said: &Said) {
    let totals = Said::totals(&said.dump);
    let roots: u64 =
        of(&said.stats, "hierarchy").filter(|h| h["path"] == "frame").map(|h| number(&h["frames"])).sum();
    assert_eq!(roots, number(&totals["packets"]), "frames of the hierarchy");
    let claimed: u64 =
        counted(of(&said.dump, "packet").filter_map(|p| p["protocol"].as_str().map(str::to_owned)))
            .values()
            .sum();
    assert_eq!(claimed, number(&totals["recognised"]), "datagrams with a protocol");
    let [packets, rows] = said.lines;
    assert!(
        packets >= number(&totals["recognised"]) && rows >= number(&totals["exchanges"]),
        "lines of text"
    );
}

#[test]
fn the_subcommands_agree_on_a_mutated_capture() {
    each(150, |_, mutant, random| {
        // Not high: an exchange that waits for its conversation leaves the room later where a report wants order, and
        // may be surer by then.
        let least = random.pick(&[Level::Low, Level::Medium]);
        let said = Said::of(&mutant.bytes, least);
        if said.dump.is_empty() {
            return; // no capture
        }
        same_records(&said);
        same_traffic(&said);
        // A server that has not shown what it is has no row, and remarks about it are repeated.
        if least > Level::Low {
            same_outcomes(&said);
            same_findings(&said);
        }
    });
}
