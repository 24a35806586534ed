//! Invariants of all protocols and rules, checked without naming any of them.

mod declared;
mod documents;
mod one_way;

use crate::kit::feed;
use crate::kit::feed::{
    PAYLOADS, REQUEST_STATES, any_bytes, asked, conversations, damaged, direction, examples, missing,
    orderly, protocol, samples, wild,
};
use crate::kit::invariants::{DIRECTIONS, check_as_any_message, check_probe};
use crate::kit::play::{Collected, everything, example_frames, lines, play, report};
use crate::kit::records;
use documents::{fields_md, protocols_md, rules_md};
use proptest::prelude::*;
use qdissect::capture::Source;
use qdissect::check::Finding;
use qdissect::contract::Whole;
use qdissect::decode::{AnyListener, Coverage, Field, FieldKind, Notes, Tree};
use qdissect::exchange::Outcome;
use qdissect::pipeline::{Options, Pipeline};
use qdissect::protocols::{Context, Id, Level};
use qdissect::report::{Packet, Report, Totals};
use qdissect::rule::{Severity, Step, hex};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

#[test]
fn every_example_reports_its_rule_and_a_reviewed_set_of_others() {
    let (mut lines, mut silent) = (vec![], vec![]);
    for (rule, number, example) in examples() {
        let (collected, _) = play(&example_frames(example));
        let mut set: Vec<String> = vec![];
        for Finding { rule, severity, .. } in collected.findings() {
            let text = format!("{} {}", rule.id, severity.name());
            if !set.contains(&text) {
                set.push(text);
            }
        }
        if !set.contains(&format!("{} {}", rule.id, rule.severity.name())) {
            silent.push(format!("{} {number}: {set:?}", rule.id));
        }
        let name = if rule.examples.len() == 1 { rule.id.into() } else { format!("{} ({number})", rule.id) };
        lines.push(format!("{name}: {}", set.join(", ")));
    }
    assert!(silent.is_empty(), "not reported by their own examples: {silent:#?}");
    insta::assert_snapshot!("examples", lines.join("\n"));
}

#[test]
fn no_sample_breaks_a_rule_but_remarks_about_security() {
    for (id, sample) in samples() {
        let (collected, _) = play(&example_frames(sample));
        let loud = |f: &&Finding| f.severity > Severity::Note && !f.rule.id.contains("-SEC-");
        let loud: Vec<&str> = collected.findings().filter(loud).map(|f| f.rule.id).collect();
        assert!(loud.is_empty(), "{}: {loud:?} in {sample:?}", id.info().name);
    }
}

#[test]
fn every_datagram_of_a_sample_is_claimed_and_every_request_answered() {
    for (id, sample) in samples() {
        let (collected, totals) = play(&example_frames(sample));
        let sent = sample.steps.iter().filter(|s| !matches!(s, Step::Wait(_))).count();
        assert_eq!(collected.packets.len(), sent, "{sample:?}: {collected:#?}");
        for packet in &collected.packets {
            assert_eq!(packet.id, id, "{sample:?}");
            assert!(packet.level >= Level::Medium, "{sample:?}: {packet:?}");
            assert!(packet.is_decoded, "{sample:?}: {packet:?}");
        }
        let asks = id.info().steps.iter().any(|step| step.rules.unanswered.is_some());
        assert_eq!(totals.exchanges > 0, asks, "{sample:?} asks nothing, or what only names messages asks");
        assert_eq!(totals.answered, totals.exchanges, "{sample:?}: {:#?}", collected.exchanges);
        assert!(
            collected
                .exchanges
                .iter()
                .all(|(e, _)| e.outcome == Outcome::Answered && e.level >= Level::Medium)
        );
    }
}

#[test]
fn rule_ids_are_unique_well_formed_and_every_rule_is_documented() {
    let (mut seen, mut short) = (HashSet::new(), vec![]);
    for r in qdissect::protocols::rules() {
        let id = r.id;
        assert!(seen.insert(id), "{id} is declared twice");
        let parts: Vec<&str> = id.split('-').collect();
        let (number, names) = parts.split_last().expect("split gives one part at least");
        // What only the tests of `ask --probe` find has a name.
        let is_number = number.len() == 3 && number.bytes().all(|b| b.is_ascii_digit());
        assert!(is_number || r.active && number.bytes().all(|b| b.is_ascii_uppercase()), "{id}");
        assert!((1..=2).contains(&names.len()), "{id}");
        let named = |n: &&str| {
            (2..=4).contains(&n.len()) && n.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit())
        };
        assert!(names.iter().all(named), "{id}");
        short.extend((r.why.trim().len() <= 40).then_some(id));
        assert!(!r.why.contains('<') && !r.why.contains('|'), "{id}: markup that is none in {:?}", r.why);
        assert!(!r.title.is_empty() && !r.title.ends_with('.'), "{id}: {:?}", r.title);
        assert!(!r.cite.section.is_empty(), "{id} cites no section");
        assert!(!r.cite.doc.is_empty() || r.severity < Severity::Error, "{id} cites nothing");
        assert!(r.cite.url.is_empty() || r.cite.url.starts_with("https://"), "{id}: {}", r.cite.url);
        assert_eq!(r.examples.is_empty(), r.active, "{id}: examples");
    }
    assert!(short.is_empty(), "explained in no more than 40 letters: {short:?}");
}

#[test]
fn every_hex_parses() {
    for example in conversations() {
        for step in example.steps {
            if let Step::C(text) | Step::S(text) | Step::C2(text) | Step::S2(text) | Step::Frame(_, _, text) =
                step
            {
                hex(text); // panics where it does not
            }
        }
        assert!(!example.steps.is_empty());
    }
}

/// Path of the object that contains a field.
fn parent(field: &Field) -> &str {
    field.name.strip_suffix(field.key).unwrap_or(field.name)
}

#[test]
fn field_names_are_unique_and_so_are_the_keys_of_an_object() {
    for id in Id::ALL {
        let fields = || id.info().fields.iter().copied().flatten();
        let (mut names, mut keys) = (HashSet::new(), HashSet::new());
        for field in fields() {
            assert!(names.insert(field.name), "{:?} is declared twice", field.name);
            assert!(field.about.trim().len() > 3, "{:?} is not explained", field.name);
            let snake = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
            assert!(field.key.chars().all(snake), "{:?}", field.name);
            if !field.name.ends_with("[]") {
                assert!(keys.insert((parent(field), field.key.to_owned())), "{:?}: key twice", field.name);
            }
        }
        let may_be_damaged =
            |f: &&&Field| matches!(f.kind, FieldKind::Text | FieldKind::Dynamic | FieldKind::List);
        for field in fields().filter(may_be_damaged) {
            let twin = (parent(field), format!("{}_hex", field.key));
            assert!(!keys.contains(&twin), "the hex of {:?} has the key of another field", field.name);
        }
    }
}

/// Flips the bits of every payload.
struct Turned;

impl Report for Turned {
    fn listener(&self) -> AnyListener {
        AnyListener::Tree(Tree::default())
    }

    fn packet(&mut self, p: &Packet<'_>) -> std::io::Result<()> {
        let (message, direction, asked, continues) =
            (p.message, p.direction, p.pairing.asked(), p.pairing.continues());
        let layout = p.piece.map(|piece| piece.split.layout);
        let cx = Context { message, direction, asked, continues, missing: 0, layout, secrets: true };
        declared::every_bit_counts(p.id, p.bytes, &cx);
        Ok(())
    }
}

#[test]
fn every_flipped_bit_of_a_sample_changes_the_result() {
    samples().for_each(|(_, sample)| drop(report(everything(), Turned, &example_frames(sample))));
}

/// Checks every tree against the declarations.
struct Declared;

impl Report for Declared {
    fn listener(&self) -> AnyListener {
        AnyListener::Tree(Tree::default())
    }

    fn packet(&mut self, p: &Packet<'_>) -> std::io::Result<()> {
        declared::check(p.id, p.message, p.bytes, p.tree().expect("trees were asked for"));
        Ok(())
    }
}

#[test]
fn every_field_is_declared_with_its_type_where_it_stands() {
    for example in conversations() {
        report(everything(), Declared, &example_frames(example));
    }
    for path in captures(Path::new(env!("CARGO_MANIFEST_DIR")).join("captures")) {
        let Ok(mut source) = Source::open(&path) else { continue };
        let mut report = Declared;
        let mut pipeline = Pipeline::new(everything(), &mut report);
        let _ = pipeline.read(&mut source, "capture"); // what was read before an error counts
        let _ = pipeline.finish(true);
    }
}

/// The rules that messages break, and those that they break for any request.
#[derive(Default)]
struct Broken {
    decoding: HashSet<&'static str>,
    alone: HashSet<&'static str>,
}

impl Report for Broken {
    fn listener(&self) -> AnyListener {
        AnyListener::Tree(Tree::default())
    }

    fn packet(&mut self, p: &Packet<'_>) -> std::io::Result<()> {
        let Packet { message, direction, .. } = *p;
        let cx = Context {
            message,
            direction,
            asked: None,
            missing: p.whole().map_or(p.datagram.cut as usize, Whole::missing),
            continues: p.pairing.continues(),
            layout: p.piece.map(|piece| piece.split.layout),
            secrets: false,
        };
        let mut notes = Notes::default();
        let _ = p.id.dissect(p.bytes, &cx, &mut notes);
        self.alone.extend(notes.violations().iter().map(|violation| violation.rule.id));
        self.decoding.extend(p.listener.notes().violations().iter().map(|violation| violation.rule.id));
        Ok(())
    }
}

/// In `check`, rules about exchanges count as checked if there was an exchange, other rules if their check was made.
#[test]
fn a_rule_is_declared_as_one_of_exchanges_if_a_message_alone_cannot_break_it() {
    let mut broken = Broken::default();
    for example in conversations() {
        broken = report(everything(), broken, &example_frames(example)).0;
    }
    for id in Id::ALL {
        for rule in id.info().rules.iter().copied().flatten() {
            let id = rule.id;
            assert!(
                broken.decoding.contains(id),
                "no message of an example breaks {id}: its decoder does not check it, or it is one of `exchange_rules`"
            );
        }
        for rule in id.info().exchange_rules {
            let id = rule.id;
            assert!(
                !broken.alone.contains(id),
                "a message alone breaks {id}, which is none of `exchange_rules`"
            );
        }
    }
}

/// The rules that were checked in conversations that do not break them.
#[derive(Default)]
struct Kept {
    broken: HashSet<&'static str>,
    kept: HashSet<&'static str>,
}

impl Report for Kept {
    fn listener(&self) -> AnyListener {
        AnyListener::Coverage(Coverage::default())
    }

    fn packet(&mut self, p: &Packet<'_>) -> std::io::Result<()> {
        self.broken.extend(p.findings.iter().map(|finding| finding.rule.id));
        Ok(())
    }

    fn file_decoded(&mut self, listener: &mut AnyListener) {
        let AnyListener::Coverage(coverage) = listener else { return };
        let broken = std::mem::take(&mut self.broken);
        self.kept.extend(coverage.marks.take().into_iter().filter(|id| !broken.contains(id)));
    }
}

/// A rule that never counts as kept in `check` would be listed as not exercised in every capture that keeps it.
#[test]
fn rules_of_messages_are_marked_as_kept_by_valid_messages() {
    let mut kept = Kept::default();
    for example in conversations() {
        kept = report(everything(), kept, &example_frames(example)).0;
    }
    let rules = Id::ALL.iter().flat_map(|id| id.info().rules.iter().copied().flatten());
    let never: Vec<_> = rules.map(|rule| rule.id).filter(|id| !kept.kept.contains(id)).collect();
    assert!(never.is_empty(), "no sample and no example keeps {never:?}, or decoders do not note it");
}

/// The files in a directory and its subdirectories.
fn captures(folder: PathBuf) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return vec![] };
    let paths = entries.filter_map(Result::ok).map(|e| e.path());
    paths.flat_map(|p| if p.is_dir() { captures(p) } else { vec![p] }).collect()
}

#[test]
fn docs_are_up_to_date() {
    for (name, text) in
        [("rules.md", rules_md()), ("fields.md", fields_md()), ("protocols/README.md", protocols_md())]
    {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs").join(name);
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(&path, &text).expect("docs/ can be written");
        }
        let found = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(found == text, "docs/{name} is out of date: run UPDATE_DOCS=1 cargo test --test it house::");
    }
}

/// The protocols that a payload is decoded as: those that recognise it, and one other protocol in turn. All protocols would take
/// minutes.
fn decoders(turn: usize, bytes: &[u8]) -> impl Iterator<Item = Id> {
    let candidates = qdissect::classify::candidates(bytes, bytes.len());
    let other = Id::ALL[turn % Id::ALL.len()];
    Id::ALL.iter().copied().filter(move |id| candidates >> *id as u32 & 1 == 1 || *id == other)
}

#[test]
fn samples_and_examples_decode_as_any_message() {
    for (turn, (_, bytes)) in PAYLOADS.iter().enumerate() {
        for (id, direction) in
            decoders(turn, bytes).flat_map(|id| DIRECTIONS.map(|direction| (id, direction)))
        {
            let missing = [0, 1, 1000];
            for missing in missing {
                check_as_any_message(id, bytes, direction, None, missing);
            }
            for &(_, request_state) in
                REQUEST_STATES.iter().filter(|(of, _)| *of == id).skip(turn % 4).step_by(4)
            {
                check_as_any_message(id, bytes, direction, Some(request_state), missing[turn % 3]);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(3000) })]

    #[test]
    fn any_bytes_decode_as_any_message(
        bytes in any_bytes(), id in protocol(), direction in direction(), asked in asked(), missing in missing(),
    ) {
        check_as_any_message(id, &bytes, direction, asked, missing);
    }

    #[test]
    fn damaged_messages_decode_as_any_message(
        bytes in damaged(), id in protocol(), direction in direction(), asked in asked(), missing in missing(),
    ) {
        check_as_any_message(id, &bytes, direction, asked, missing);
    }

    #[test]
    fn what_a_probe_recognises_has_a_message_and_a_step(bytes in prop_oneof![any_bytes(), damaged()], ports: [u16; 2]) {
        Id::ALL.iter().for_each(|id| check_probe(&bytes, bytes.len(), ports, *id));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn records_of_any_capture_are_sound_and_add_up(moves in wild()) {
        let frames = feed::move_frames(&moves);
        records::check_records(everything(), &frames, false);
        let picky = |min_confidence| Options { min_confidence, ..Options::default() };
        records::check_records(picky(Level::Medium), &frames, false);
        records::check_records(picky(Level::High), &frames, false);
        report(everything(), Declared, &frames);
    }

    #[test]
    fn records_name_frames_and_exchanges_that_are_there(moves in orderly()) {
        records::check_records(everything(), &feed::move_frames(&moves), true);
    }

    #[test]
    fn two_runs_do_not_differ(moves in wild()) {
        let frames = feed::move_frames(&moves);
        let first = lines(everything(), &frames);
        for _ in 0..2 {
            prop_assert_eq!(&lines(everything(), &frames), &first);
        }
    }

    #[test]
    fn waiting_for_the_order_changes_no_count(moves in orderly()) {
        let frames = feed::move_frames(&moves);
        let summarised = |collected: &[&Finding]| {
            // A remark that is made once for each server may be made before the server is known, and the cause may be another of
            // two earlier findings, depending on which was judged first.
            let mut rules: Vec<_> = collected
                .iter()
                .filter(|f| !f.rule.per_server)
                .map(|f| (f.rule.id, f.severity))
                .collect();
            rules.sort();
            rules
        };
        let counts = |totals: Totals| {
            let mut record = serde_json::json!(totals.record());
            record["finding_counts"] = 0.into();
            record
        };
        let (ordered, totals) = report(Options::default(), Collected::<true>::default(), &frames);
        let (at_once, other) = report(Options::default(), Collected::<false>::default(), &frames);
        prop_assert_eq!(counts(totals), counts(other));
        let both = [ordered.findings().collect::<Vec<_>>(), at_once.findings().collect()];
        prop_assert_eq!(summarised(&both[0]), summarised(&both[1]));
    }
}

#[test]
fn a_violation_names_a_declared_field() {
    for (_, bytes) in PAYLOADS.iter() {
        for &id in Id::ALL {
            for message in 0..id.info().messages.len() as u8 {
                for direction in DIRECTIONS {
                    let mut tree = Tree::default();
                    let cx = Context { secrets: true, ..Context::of(message, direction) };
                    let _ = id.dissect(bytes, &cx, &mut tree);
                    let named = tree.violations().iter().filter_map(|v| v.field);
                    for field in named {
                        let mut declared = id.info().fields.iter().copied().flatten();
                        assert!(declared.any(|f| *f == field), "{:?}", field.name);
                    }
                }
            }
        }
    }
}
