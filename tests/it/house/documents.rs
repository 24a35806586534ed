//! Writes `docs/rules.md`, `docs/fields.md` and `docs/protocols/README.md` from the declarations.

use qdissect::check::Counts;
use qdissect::decode::{Field, SHARED_FIELDS};
use qdissect::decode::{KINDS, kind_names};
use qdissect::protocols::{Id, Info, StepInfo};
use qdissect::rule::{Cite, Rule, Step};
use qdissect::text::markdown::{escaped, paragraph};
use std::fmt::Write;

/// `docs/rules.md`: every rule with its reason, source and examples.
pub fn rules_md() -> String {
    let mut out = String::from(
        "# Rules\n\n\
         Generated from the declarations in `src/`; `UPDATE_DOCS=1 cargo test --test it house::` writes it anew.\n\n\
         A rule is an **error** where a peer rejects or misreads the message, a **warning** where it breaks the\n\
         text or works only with some peers, a **note** where it is legal or harmless but worth knowing. The\n\
         examples are payloads in hex, where `78*3` stands for `78 78 78`; each reports its rule.\n",
    );
    section(&mut out, "Shared", qdissect::rule::general::RULES.iter().copied());
    for id in Id::ALL {
        section(&mut out, id.info().title, id.rules());
    }
    out
}

fn section(out: &mut String, title: &str, rules: impl Iterator<Item = &'static Rule>) {
    let _ = writeln!(out, "\n## {}", escaped(title));
    rules.for_each(|rule| write_rule(out, rule));
}

fn write_rule(out: &mut String, rule: &Rule) {
    let Rule { id, severity, title, cite, .. } = rule;
    let _ = writeln!(out, "\n### {id}\n\n**{}**: {}\n", severity.name(), escaped(title));
    let _ = writeln!(out, "{}\n", paragraph(rule.why));
    let _ = write!(out, "Source: {}.", source(cite));
    if rule.per_server {
        out.push_str(" Reported once for each server.");
    }
    out.push('\n');
    for example in rule.examples {
        out.push_str("\n```text\n");
        if let Some(port) = example.server_port {
            let _ = writeln!(out, "server on UDP port {port}");
        }
        if example.at_start {
            out.push_str("at the start of the capture\n");
        }
        example.steps.iter().for_each(|step| write_step(out, step));
        out.push_str("```\n");
    }
}

fn write_step(out: &mut String, step: &Step) {
    let (who, hex) = match step {
        Step::C(hex) => ("client", hex),
        Step::S(hex) => ("server", hex),
        Step::C2(hex) => ("second client", hex),
        Step::S2(hex) => ("server to second client", hex),
        Step::Wait(ms) => {
            let _ = writeln!(out, "{ms} ms later");
            return;
        }
        Step::Copy => {
            let _ = writeln!(out, "the same frame again, 0.1 ms later");
            return;
        }
        Step::Frame(link, wire_len, hex) => {
            let _ = write!(out, "frame of link type {link}, {wire_len} bytes on the wire, captured ");
            ("", hex)
        }
    };
    let _ = writeln!(out, "{who}{}→ {hex}", if who.is_empty() { "" } else { " " });
}

fn source(cite: &Cite) -> String {
    let doc = escaped(cite.doc);
    let linked = if cite.url.is_empty() { doc } else { format!("[{doc}]({})", cite.url) };
    format!("{linked}, {}", escaped(cite.section))
}

/// `docs/fields.md`: every field by its path, with type and meaning.
pub fn fields_md() -> String {
    let mut out = String::from(
        "# Fields\n\n\
         Generated from the declarations in `src/`; `UPDATE_DOCS=1 cargo test --test it house::` writes it anew.\n\n\
         The names are the keys of `fields` in records; `[]` stands for the index in a list. In a filter the\n\
         name of the protocol stands before them. The values of a volatile field belong to one request or one moment:\n\
         [diff](sharing.md) does not compare them unless it is asked to.\n\n\
         | type | in JSON |\n|---|---|\n",
    );
    for (_, name, json) in KINDS {
        let _ = writeln!(out, "| {name} | {json} |");
    }
    out.push_str("\n## Every protocol\n");
    table(&mut out, &[SHARED_FIELDS]);
    for id in Id::ALL {
        let info = id.info();
        let _ = writeln!(out, "\n## {} (`{}`)", escaped(info.title), info.name);
        table(&mut out, info.fields);
    }
    out
}

/// `docs/protocols/README.md`: a table with a row for every protocol.
pub fn protocols_md() -> String {
    let mut out = String::from(
        "# Protocols\n\n\
         Generated from the declarations in `src/protocols/`; `UPDATE_DOCS=1 cargo test --test it house::` writes it anew.\n\n\
         All are recognised by content, whatever the port: by the bytes that a payload begins with, by what follows them, and by\n\
         what its conversation has shown. An answer is paired with its request by the key that both carry, else by order.\n\n\
         The column *address* tells whether a client must prove that it receives what is sent to its address: *proven* where it must,\n\
         or where the answer is the short one by which it does; *with a challenge* where only some requests carry one. Where nothing\n\
         is proven, a server answers whoever is named as the sender, and can be abused as a [reflector](../reflector.md).\n\n\
         | protocol | ports | begins with, in hex | messages | paired | address | rules | in the field |\n\
         |---|---|---|---|---|---|---|---|\n",
    );
    for id in Id::ALL {
        let info = id.info();
        let name = info.name;
        let ports: Vec<_> = info.ports.iter().map(u16::to_string).collect();
        let known = info.messages.iter().filter(|message| message.name != "unknown");
        let messages: Vec<_> = known.map(|message| format!("`{}`", message.name)).collect();
        let _ = writeln!(
            out,
            "| [{}]({name}.md) | {} | {} | {} | {} | {} | [{}](../rules.md#{}) | [notes]({name}.md#what-deployed-software-does) |",
            escaped(info.title),
            if ports.is_empty() { "any".to_owned() } else { ports.join(", ") },
            beginnings(info),
            messages.join(", "),
            steps(info, |step| if step.key_digits == 0 { "order" } else { "key" }),
            steps(info, address),
            severities(id.rules()),
            anchor(info.title),
        );
    }
    out
}

/// The first bytes of a protocol's messages, as ranges in hex.
fn beginnings(info: &Info) -> String {
    let mut ranges: Vec<[u8; 2]> = vec![];
    for byte in info.first_bytes() {
        match ranges.last_mut() {
            Some([_, last]) if last.checked_add(1) == Some(byte) => *last = byte,
            _ => ranges.push([byte; 2]),
        }
    }
    let range = |[from, to]: [u8; 2]| {
        if from == to { format!("{from:02x}") } else { format!("{from:02x}–{to:02x}") }
    };
    ranges.into_iter().map(range).collect::<Vec<_>>().join(", ")
}

/// A property of the steps: given once if it is the same for all of them, otherwise for each step by name.
fn steps(info: &Info, what: impl Fn(&StepInfo) -> &'static str) -> String {
    let step_values: Vec<_> = info.steps.iter().map(|step| (step.name, what(step))).collect();
    match step_values.split_first() {
        None => "-".to_owned(),
        Some(((_, first), rest)) if rest.iter().all(|(_, other)| other == first) => (*first).to_owned(),
        Some(_) => {
            step_values.iter().map(|(name, what)| format!("`{name}`: {what}")).collect::<Vec<_>>().join(", ")
        }
    }
}

fn address(step: &StepInfo) -> &'static str {
    match step {
        StepInfo { validated: true, .. } => "proven",
        StepInfo { carries: 0, .. } => "not proven",
        _ => "with a challenge",
    }
}

fn severities(rules: impl Iterator<Item = &'static Rule>) -> String {
    let counts: Counts = rules.map(|rule| rule.severity).collect();
    format!("{}: {} E, {} W, {} N", counts.total(), counts.error, counts.warning, counts.note)
}

/// The anchor that GitHub gives to a heading with this title.
fn anchor(title: &str) -> String {
    let kept = title.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}

fn table(out: &mut String, fields: &[&[&Field]]) {
    out.push_str("\n| name | type | meaning |\n|---|---|---|\n");
    for field in fields.iter().copied().flatten() {
        let (kind, _) = kind_names(field.kind);
        let volatile = if field.volatile { ", volatile" } else { "" };
        let _ =
            writeln!(out, "| `{}` | {kind}{volatile} | {} |", field.name, escaped(&paragraph(field.about)));
    }
}

#[test]
fn rules_are_listed_by_id_with_source_and_example() {
    let md = rules_md();
    let rule = &qdissect::rule::general::GEN_001;
    assert!(md.contains(&format!("\n### {}\n\n**note**: {}\n", rule.id, rule.title)));
    assert!(md.contains(&format!("[{}]({})", rule.cite.doc, rule.cite.url)));
    assert!(md.contains("client → 00 00000000\n"));
}
