//! Broken SQP servers on loopback, each found by one command of docs/ci.md, and a healthy one that passes.

use crate::kit;
use crate::kit::run::qdissect;
use std::collections::HashSet;

/// What is wrong with a server.
#[derive(Clone, Copy, PartialEq)]
enum Fault {
    None,
    ChallengeOnly,
    LittleEndian,
    /// Strings with a length of 16 bits.
    LongLengths,
    /// Numbers and lengths as .NET's `BinaryWriter` has them.
    BinaryWriter,
    Utf16,
    IgnoresTokens,
}

fn string(fault: Fault, text: &str) -> Vec<u8> {
    let len = text.len() as u8;
    match fault {
        Fault::LongLengths => [&[0, len], text.as_bytes()].concat(),
        Fault::Utf16 => {
            let wide: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
            [&[wide.len() as u8], &wide[..]].concat()
        }
        _ => [&[len], text.as_bytes()].concat(),
    }
}

fn answer(fault: Fault, token: &[u8]) -> Vec<u8> {
    let little = matches!(fault, Fault::LittleEndian | Fault::BinaryWriter);
    let short = |n: u16| if little { n.to_le_bytes() } else { n.to_be_bytes() };
    let texts = ["Harbour night", "TDM", "1.0.3", "Pier"].map(|text| string(fault, text)).concat();
    let body = [&short(5)[..], &short(32), &texts, &short(7777)].concat();
    let long = if little { (body.len() as u32).to_le_bytes() } else { (body.len() as u32).to_be_bytes() };
    let chunk = [&long[..], &body].concat();
    [&[1][..], token, &short(1), &[0, 0], &short(chunk.len() as u16), &chunk].concat()
}

/// Starts a server with a fault; returns its address.
fn serve(fault: Fault) -> String {
    let (mut next, mut issued) = (0x5bd1_e995_u32, HashSet::new());
    kit::serve::serve(move |request, from| match request {
        [0, 0, 0, 0, 0] => {
            next = next.wrapping_mul(0x9e37_79b1).wrapping_add(0x7f4a_7c15);
            issued.insert((from, next.to_be_bytes().to_vec()));
            vec![[&[0][..], &next.to_be_bytes()].concat()]
        }
        [1, token @ .., _, _, chunks] if token.len() == 4 && chunks & 1 == 1 => {
            let known = issued.contains(&(from, token.to_vec())) || fault == Fault::IgnoresTokens;
            let answers = known && fault != Fault::ChallengeOnly;
            if answers { vec![answer(fault, token)] } else { vec![] }
        }
        _ => vec![],
    })
}

/// Exit code, and the first ten lines of the result.
fn checked(fault: Fault, further: &[&str]) -> (Option<i32>, String) {
    let args = ["ask", "sqp", &serve(fault), "--check", "--timeout", "150ms"];
    let output = qdissect().args(args).args(further).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    (output.status.code(), text.lines().take(10).map(|line| format!("{line}\n")).collect())
}

#[test]
fn a_healthy_server_passes() {
    let (code, head) = checked(Fault::None, &[]);
    assert!(code == Some(0) && head.contains("Harbour night") && head.contains("5/32"), "{code:?} {head}");
    let (code, head) = checked(Fault::None, &["--probe"]);
    assert!(code == Some(0) && head.contains("probe: 21 tests, 21 passed"), "{code:?} {head}");
}

#[test]
fn watching_a_server_prints_a_line_each_time() {
    let watch = |fault| {
        let args = ["ask", "sqp", &serve(fault), "--watch", "100ms", "-c", "3", "--timeout", "100ms"];
        let output = qdissect().args(args).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        (output.status.code(), text.lines().map(str::to_owned).collect::<Vec<_>>())
    };
    let (code, lines) = watch(Fault::None);
    assert!(code == Some(0) && lines.len() == 3, "{code:?} {lines:?}");
    assert!(lines.iter().all(|line| line.starts_with("20") && line.contains("Harbour night")), "{lines:?}");
    let (code, lines) = watch(Fault::ChallengeOnly);
    assert!(code == Some(3) && lines.len() == 3, "{code:?} {lines:?}");
    assert!(lines.iter().all(|line| line.contains("did not answer everything")), "{lines:?}");
}

#[test]
fn broken_servers_fail_and_the_cause_is_named() {
    for (fault, word) in
        [(Fault::LittleEndian, "numbers are little-endian"), (Fault::BinaryWriter, "little-endian")]
    {
        let (code, head) = checked(fault, &[]);
        assert!(code == Some(1) && head.contains(word), "{} {code:?} {head}", fault as u8);
    }
}

/// They read as an empty name and shifted texts, which is legal: only notes.
#[test]
fn long_lengths_are_worth_a_note_and_named() {
    let (code, head) = checked(Fault::LongLengths, &["--fail-on", "note"]);
    assert!(code == Some(1) && head.contains("texts have 16-bit lengths"), "{code:?} {head}");
}

#[test]
fn a_server_that_answers_only_challenges_fails() {
    let (code, head) = checked(Fault::ChallengeOnly, &[]);
    assert!(code == Some(1) && head.contains("gives challenges and answers nothing"), "{code:?} {head}");
}

#[test]
fn a_server_that_ignores_tokens_is_found_by_the_probe() {
    let (code, head) = checked(Fault::IgnoresTokens, &["--probe"]);
    assert!(code == Some(1) && head.contains("[sqp-3 SQP-SEC-001] query with token + 1"), "{code:?} {head}");
}

#[test]
fn wide_texts_are_worth_a_warning_and_named() {
    let (code, head) = checked(Fault::Utf16, &["--fail-on", "warning"]);
    assert!(code == Some(1) && head.contains("texts are UTF-16"), "{code:?} {head}");
}
