//! The decisions of the benchmark's gate.

use crate::bench::judge::{Compiler, Figure, GROWTH, Limits, Unit, Verdict, WIDE_MARGIN};

const COMMITTED: &str = include_str!("../bench/limits.json");
const ANSWER: &str = "rustc 1.95.0 (59807616e 2026-04-14)\nbinary: rustc\nhost: x86_64-unknown-linux-gnu\n\
                      release: 1.95.0\nLLVM version: 22.1.2\n";
const LIMITS: &str = r#"[
  { "release": "1.95.0", "llvm": "22.1.2", "target": "x86_64-unknown-linux-gnu", "figures": { "a": 1000 } },
  { "release": "1.100.0", "llvm": "23.1.0", "target": "x86_64-unknown-linux-gnu", "figures": { "a": 500 } },
  { "release": "1.101.0", "llvm": "23.1.0", "target": "aarch64-unknown-linux-gnu", "figures": { "a": 7 } }
]"#;

fn compiler(release: &str, target: &str) -> Compiler {
    Compiler { release: release.into(), llvm: "22.1.2".into(), target: target.into() }
}

fn known() -> Compiler {
    Compiler::parse(ANSWER).expect("rustc says what it is")
}

fn limits() -> Limits {
    Limits::parse(LIMITS).expect("limits")
}

fn figure(unit: Unit, value: f64) -> Figure {
    Figure { name: "a".into(), unit, value }
}

/// The verdict on a number of instructions with a limit of 1,000.
fn instructions(value: f64) -> Verdict {
    limits().judge(&known(), &[figure(Unit::Instructions, value)])
}

#[test]
fn four_percent_too_much_fails_and_says_by_how_much_and_what_to_do() {
    let verdict = instructions(1_040.0);
    assert_eq!(verdict.failures, 1);
    assert_eq!(
        verdict.text,
        "FAILED: a: 1040, limit 1000 (+4.0 %): more than 3 % too much. Find out why; if it is worth it: cargo test \
         --bench qdissect_bench -- gate --update.\n"
    );
}

#[test]
fn two_percent_more_or_less_passes() {
    for value in [980.0, 1_000.0, 1_020.0] {
        let verdict = instructions(value);
        assert_eq!(verdict.failures, 0, "{}", verdict.text);
        assert!(!verdict.text.contains("--update"), "{}", verdict.text);
    }
}

#[test]
fn four_percent_better_passes_and_suggests_a_lower_limit() {
    let verdict = instructions(960.0);
    assert_eq!(verdict.failures, 0);
    assert!(
        verdict.text.contains("(-4.0 %): better by more than 3 %. Lower the limit: "),
        "{}",
        verdict.text
    );
}

#[test]
fn memory_has_the_wider_margin() {
    let verdict = |value| limits().judge(&known(), &[figure(Unit::Memory, value)]);
    assert_eq!(verdict(1_000.0 * (1.0 + WIDE_MARGIN) - 1.0).failures, 0);
    assert_eq!(verdict(1_000.0 * (1.0 + WIDE_MARGIN) + 1.0).failures, 1);
}

#[test]
fn misses_have_the_widest_margins_and_twice_those_for_an_unknown_compiler() {
    let failures = |unit, release, value| {
        let of = compiler(release, "x86_64-unknown-linux-gnu");
        limits().judge(&of, &[figure(unit, value)]).failures
    };
    for (unit, most, most_of_another) in [(Unit::Misses, 1_150.0, 650.0), (Unit::CodeMisses, 1_300.0, 800.0)]
    {
        assert_eq!([-1.0, 1.0].map(|more| failures(unit, "1.95.0", most + more)), [0, 1]);
        assert_eq!([-1.0, 1.0].map(|more| failures(unit, "1.97.0", most_of_another + more)), [0, 1]);
    }
}

#[test]
fn an_eighth_of_a_miss_more_fails_if_there_are_few() {
    let mut file = limits();
    file.set(&known(), &[figure(Unit::Misses, 0.4)]);
    let failures = |value| file.judge(&known(), &[figure(Unit::Misses, value)]).failures;
    assert_eq!([0.51, 0.53].map(failures), [0, 1]);
}

#[test]
fn hundredths_of_a_miss_are_kept_and_shown() {
    let mut file = limits();
    file.set(&known(), &[figure(Unit::Misses, 1.447)]);
    let back = Limits::parse(&file.text()).expect("limits");
    assert_eq!(back, file);
    let verdict = back.judge(&known(), &[figure(Unit::Misses, 1.4)]);
    assert_eq!(verdict.text, "a: 1.40, limit 1.45 (-3.4 %).\n");
}

#[test]
fn an_unknown_compiler_is_compared_with_the_newest_of_its_target_with_the_wider_margin() {
    // 1.100 is newer than 1.95, and 1.101 is for another target.
    let other = compiler("1.97.0", "x86_64-unknown-linux-gnu");
    let verdict = limits().judge(&other, &[figure(Unit::Instructions, 540.0)]);
    assert_eq!(verdict.failures, 0);
    assert!(
        verdict.text.starts_with("There are no limits for rustc 1.97.0 with LLVM 22.1.2"),
        "{}",
        verdict.text
    );
    assert!(verdict.text.contains("those for rustc 1.100.0 with LLVM 23.1.0"), "{}", verdict.text);
    let verdict = limits().judge(&other, &[figure(Unit::Instructions, 560.0)]);
    assert_eq!(verdict.failures, 1);
    // The improvement may be due to the compiler.
    let verdict = limits().judge(&other, &[figure(Unit::Instructions, 400.0)]);
    assert!(verdict.failures == 0 && !verdict.text.contains("Lower"), "{}", verdict.text);
}

#[test]
fn an_unknown_target_is_not_compared() {
    let verdict =
        limits().judge(&compiler("1.95.0", "riscv64gc-unknown-linux-gnu"), &[figure(Unit::Memory, 9e9)]);
    assert_eq!(verdict.failures, 0);
    assert_eq!(verdict.text, "There are no limits for riscv64gc-unknown-linux-gnu: nothing is compared.\n");
}

#[test]
fn a_figure_without_a_limit_fails_and_a_limit_without_a_figure_is_reported() {
    let new = Figure { name: "b".into(), unit: Unit::Instructions, value: 12.0 };
    let verdict = limits().judge(&known(), &[new]);
    assert_eq!(verdict.failures, 1);
    assert!(verdict.text.contains("FAILED: b: 12, and there is no limit."), "{}", verdict.text);
    assert!(verdict.text.contains("a: not measured here."), "{}", verdict.text);
}

#[test]
fn memory_that_grows_with_the_capture_fails() {
    let mut verdict = Verdict::default();
    verdict.compare_growth("m", [100.0, 100.0 * (1.0 + GROWTH)]);
    assert_eq!(verdict.failures, 0, "{}", verdict.text);
    verdict.compare_growth("m", [100.0, 101.0 * (1.0 + GROWTH)]);
    assert_eq!(verdict.failures, 1, "{}", verdict.text);
}

#[test]
fn new_limits_replace_those_of_the_same_compiler_only_and_are_read_back() {
    let mut file = limits();
    file.set(&known(), &[figure(Unit::Instructions, 899.6)]);
    let other = compiler("1.96.0", "x86_64-unknown-linux-gnu");
    file.set(&other, &[figure(Unit::Instructions, 800.0)]);
    let back = Limits::parse(&file.text()).expect("limits");
    assert_eq!(back, file);
    let line = |compiler: &Compiler| back.judge(compiler, &[figure(Unit::Instructions, 900.0)]).text;
    assert_eq!(line(&known()), "a: 900, limit 900 (+0.0 %).\n");
    assert!(line(&other).contains("limit 800"));
    assert!(line(&compiler("1.95.0", "aarch64-unknown-linux-gnu")).contains("limit 7 "));
}

#[test]
fn the_committed_limits_can_be_read_and_written_unchanged() {
    let file = Limits::parse(COMMITTED).expect("limits");
    assert_eq!(file.text(), COMMITTED);
    assert!(Limits::parse("[{}]").is_none());
}
