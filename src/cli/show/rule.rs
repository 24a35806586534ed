//! Text output of rules: one line each, or a page with the dissected examples.

use super::page::{BOLD, Page, style};
use crate::check::Finding;
use crate::exchange::{Exchange, Pairing};
use crate::protocols::{Id, Level};
use crate::report::{count, duration};
use crate::rule::{Example, Rule, Severity, Side};
use crate::schema::example::{self, Dissected, Dissection, ExampleDatagram, Other};
use crate::text::escape::to_hex_head;

/// Marks the findings of the rule itself.
const MARK: &str = ">>";
/// Maximum number of bytes shown of a datagram that no protocol claims.
const MAX_BYTES: usize = 16;
/// Maximum number of similar datagrams or exchanges shown in a row.
const MAX_ALIKE: usize = 4;

/// Writes one line per rule.
pub fn list(page: &mut Page, rules: &[&Rule]) {
    for rule in rules {
        let severity = page.paint(style(rule.severity), &format!("{:<7}", rule.severity.name()));
        let head = format!("{:<11}  {severity}  ", rule.id);
        page.wrapped_at(&head, 22, rule.title);
    }
}

/// Writes a page for each rule.
pub fn show(page: &mut Page, rules: &[&Rule]) {
    rules.iter().for_each(|rule| write_rule(page, rule));
}

fn write_rule(page: &mut Page, rule: &Rule) {
    page.gap();
    let head = format!("{}: {}", rule.id, rule.title);
    page.line(&page.paint(BOLD, &head));
    let name = |level: Severity| page.paint(style(level), level.name());
    let mut severity = format!("  severity  {}", name(rule.severity));
    for (profile, level) in [("strict", rule.strict), ("lenient", rule.lenient)] {
        if let Some(level) = level {
            severity.push_str(&format!("; {} in the {profile} profile", name(level)));
        }
    }
    page.line(&severity);
    page.line(&format!("  at fault  {}", fault(rule)));
    page.line(&format!("  name      {}", rule.slug()));
    if rule.per_server {
        page.line("  reported  once for each server");
    }
    page.wrapped("  source    ", &format!("{}, {}", rule.cite.doc, rule.cite.section));
    if !rule.cite.url.is_empty() {
        page.line(&format!("            {}", rule.cite.url));
    }
    page.gap();
    page.wrapped("  ", rule.why);
    let many = rule.examples.len();
    for (i, example) in rule.examples.iter().enumerate() {
        let number = if many == 1 { String::new() } else { format!(" {} of {many}", i + 1) };
        write_example(page, rule, example, &number);
    }
}

/// Describes who breaks a rule.
fn fault(rule: &Rule) -> &'static str {
    let silence = Id::ALL.iter().any(|id| id.info().is_missing_answer(rule));
    match rule.side {
        Side::Sender if silence => "the server, which does not answer",
        Side::Sender => "whoever sent the datagram",
        Side::Client => "the client",
        Side::Server => "the server",
        Side::Path => "the path between them: loss, copies, delay",
        Side::Capture => "whoever made the capture",
    }
}

fn write_example(page: &mut Page, rule: &Rule, example: &Example, number: &str) {
    let mut head = format!("  Example{number}");
    if let Some(port) = example.server_port {
        head.push_str(&format!(", server on UDP port {port}"));
    }
    if example.at_start {
        head.push_str(", at the start of a capture");
    }
    page.gap();
    page.line(&page.paint(BOLD, &head));
    let Dissected { datagrams, exchanges, others } = example::dissect(example);
    let mut others = others.iter().peekable();
    for group in datagrams.chunk_by(is_same_message) {
        while let Some(other) = others.next_if(|o| group.first().is_some_and(|d| o.frame < d.frame)) {
            write_other(page, other);
        }
        let shown = if group.len() > MAX_ALIKE { 1 } else { group.len() };
        group.iter().take(shown).for_each(|d| write_datagram(page, rule, d));
        if let ([next, ..], Some(last)) = (&group[shown..], group.last()) {
            page.line(&format!("    frames {} to {}: the same message again", next.frame, last.frame));
        }
    }
    others.for_each(|other| write_other(page, other));
    write_exchanges(page, rule, &exchanges);
}

/// Writes a frame without a UDP datagram.
fn write_other(page: &mut Page, other: &Other) {
    let what = other.reason.name().replace('_', " ");
    page.line(&format!(
        "    frame {}, {} ms: no UDP datagram: {what}",
        other.frame,
        milliseconds(other.time)
    ));
}

/// Converts nanoseconds to milliseconds.
fn milliseconds(nanos: i64) -> i64 {
    nanos / 1_000_000
}

/// Whether two datagrams are the same message between the same endpoints, without findings.
fn is_same_message(a: &ExampleDatagram, b: &ExampleDatagram) -> bool {
    let message_key = |d: &ExampleDatagram| {
        d.dissection.as_ref().filter(|s| s.findings.is_empty()).map(|s| (s.protocol, s.message))
    };
    message_key(a).is_some() && message_key(a) == message_key(b) && (&a.from, &a.to) == (&b.from, &b.to)
}

/// Writes the exchanges that break a rule as a whole.
fn write_exchanges(page: &mut Page, rule: &Rule, exchanges: &[(Exchange, Vec<Finding>)]) {
    let broken: Vec<_> = exchanges.iter().filter(|(_, findings)| !findings.is_empty()).collect();
    for (e, findings) in broken.iter().take(MAX_ALIKE) {
        let info = e.protocol.info();
        let step = info.steps.get(e.step as usize).map_or("-", |step| step.name);
        let (frame, outcome) = (e.request_frame, e.outcome.name());
        page.line(&format!("    exchange: {} {step}, asked in frame {frame}: {outcome}", info.name));
        findings.iter().for_each(|f| page.finding(mark(rule, f), f));
    }
    if broken.len() > MAX_ALIKE {
        let more = (broken.len() - MAX_ALIKE) as u64;
        page.line(&format!("    {} alike", count(more, "further exchange")));
    }
}

fn write_datagram(page: &mut Page, rule: &Rule, d: &ExampleDatagram) {
    let (from, to) = (&d.from, &d.to);
    let at = milliseconds(d.time);
    let what = d.dissection.as_ref().map_or("not recognised".to_owned(), message);
    let cut = if d.cut > 0 { format!(", {} more not captured", d.cut) } else { String::new() };
    let size = count(d.payload.len() as u64, "byte") + &cut;
    let head = page.paint(BOLD, &what);
    page.line(&format!("    frame {}, {at} ms: {from} → {to}: {head} ({size})", d.frame));
    let Some(dissection) = &d.dissection else {
        return page.line(&format!("      {}", to_hex_head(&d.payload, MAX_BYTES)));
    };
    page.tree(&dissection.tree, &d.bytes);
    dissection.findings.iter().for_each(|f| page.finding(mark(rule, f), f));
}

/// The mark in front of a finding.
fn mark(rule: &Rule, f: &Finding) -> &'static str {
    if f.rule == rule { MARK } else { "" }
}

/// The name of a message, and its role in the exchange.
fn message(dissection: &Dissection) -> String {
    let mut text = format!("{} {}", dissection.protocol.info().name, dissection.message);
    match dissection.pairing {
        Pairing::Answered(a) => {
            let time = a.response_time.map(|t| format!(" in {}", duration(t))).unwrap_or_default();
            text.push_str(&format!(", answer to {}{time}", a.request_frame));
        }
        Pairing::DuplicateResponse { of, .. } | Pairing::DuplicateFrame { of, .. } => {
            text.push_str(&format!(", copy of {of}"))
        }
        Pairing::Retransmission { part: false, .. } => text.push_str(", retransmission"),
        Pairing::Unsolicited { .. } => text.push_str(", not asked for"),
        _ => {}
    }
    if dissection.level < Level::High {
        text.push_str(&format!(", {} confidence", dissection.level.name()));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::page::written as text;
    use super::*;
    use crate::rule::Step;
    use crate::text::escape::is_hostile;

    #[test]
    fn every_rule_has_one_line_with_number_severity_and_title() {
        let all: Vec<_> = crate::protocols::rules().collect();
        let text = text(|page| list(page, &all));
        assert_eq!(text.lines().count(), all.len());
        for (line, rule) in text.lines().zip(all) {
            let mut words = line.split_whitespace();
            assert_eq!(words.next(), Some(rule.id));
            assert_eq!(words.next(), Some(rule.severity.name()));
            assert!(line.ends_with(rule.title), "{line}");
        }
    }

    #[test]
    fn every_example_shows_a_finding_of_its_rule() {
        for rule in crate::protocols::rules() {
            for (i, example) in rule.examples.iter().enumerate() {
                let text = text(|page| write_example(page, rule, example, ""));
                let broken = format!("[{}]", rule.id);
                let marked = |line: &str| line.trim_start().starts_with(MARK) && line.contains(&broken);
                assert!(text.lines().any(marked), "{} {}:\n{text}", rule.id, i + 1);
                assert!(
                    !text.lines().any(|line| line.contains('^') && line.contains(&broken) && !marked(line))
                );
            }
        }
    }

    #[test]
    fn pages_contain_no_characters_that_harm_terminals() {
        let all: Vec<_> = crate::protocols::rules().collect();
        let text = text(|page| show(page, &all));
        assert_eq!(text.chars().find(|&c| c != '\n' && is_hostile(c)), None);
        assert!(text.lines().all(|line| !line.trim_start().starts_with("::")));
    }

    #[test]
    fn repeated_messages_and_exchanges_are_counted() {
        let rule = crate::protocols::rules().find(|r| r.id == "SFQ-TXN-009").expect("there is such a rule");
        let text = text(|page| write_rule(page, rule));
        assert!(text.contains("frames 2 to 20: the same message again\n    frame 21,"), "{text}");
        assert!(text.contains("17 further exchanges alike"), "{text}");
    }

    /// An example with these steps.
    fn example(steps: Vec<Step>) -> Example {
        Example::of(steps.leak())
    }

    #[test]
    fn sixteen_bytes_of_unclaimed_datagrams_are_shown() {
        let rule = crate::protocols::rules().next().expect("there are rules");
        for (bytes, shown) in
            [(16, "\n      ".to_owned() + &"ff".repeat(16) + "\n"), (17, "ff…\n".to_owned())]
        {
            let text = text(|page| {
                write_example(page, rule, &example(vec![Step::C("ff".repeat(bytes).leak())]), "")
            });
            assert!(text.contains(&shown) && text.contains(&format!("({bytes} bytes)")), "{text}");
        }
    }

    #[test]
    fn four_similar_datagrams_are_shown_and_of_five_one() {
        let rule = Id::Satisfactory.info().steps[0].rules.unanswered.expect("it has one");
        for (polls, shown) in [(4, 4), (5, 1)] {
            let poll = |n: u8| Step::C(format!("d5f6 00 01 {:02x}00000000000000 01", n + 1).leak());
            let text = text(|page| write_example(page, rule, &example((0..polls).map(poll).collect()), ""));
            assert_eq!(text.matches(" satisfactory poll (").count(), shown, "{text}");
            assert_eq!(text.contains(": the same message again\n"), shown == 1, "{text}");
            assert_eq!(text.matches("exchange: satisfactory status, asked in frame").count(), 4, "{text}");
            assert_eq!(text.contains("1 further exchange alike\n"), polls > 4, "{text}");
        }
    }

    #[test]
    fn fields_are_shown_with_bytes_and_passwords_masked() {
        let page = |id: &str| {
            let rule = crate::protocols::rules().find(|r| r.id == id).expect("there is such a rule");
            text(|page| write_rule(page, rule))
        };
        let silence = page("SQP-TXN-009");
        assert!(silence.contains("0..1    00                 type: 0\n"), "{silence}");
        assert!(silence.contains("exchange: sqp challenge, asked in frame 1: unanswered"), "{silence}");
        assert!(silence.contains("the server, which does not answer"), "{silence}");
        assert!(!silence.contains("\n\n\n") && !silence.ends_with("\n\n"), "{silence:?}");
        assert!(page("SKY-SEC-002").contains("8..13                      password: ********\n"));
    }
}
