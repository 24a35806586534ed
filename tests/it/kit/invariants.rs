//! Invariants of decoding for any bytes, in any protocol, as any message.

use qdissect::decode::{FieldSink, Json, Listener, MAX_VIOLATIONS, Notes, Skip, Tree, Violation};
use qdissect::protocols::{Context, Direction, Id, Probe};
use std::collections::HashSet;

/// Both directions of a datagram.
pub const DIRECTIONS: [Direction; 2] = [Direction::C2s, Direction::S2c];

/// Checks the decoding of one datagram: nothing panics, all listeners get the same results, the leaves of the tree tile the
/// payload, the tree can be rendered, and the JSON is valid, repeats no key and equals the tree.
pub fn check_decoding(bytes: &[u8], id: Id, cx: &Context) {
    let (mut notes, mut json, mut tree) = (Notes::default(), Json::default(), Tree::default());
    let full = id.dissect(bytes, cx, &mut tree);
    assert_eq!(id.dissect(bytes, cx, &mut Skip), full, "Skip and Tree differ");
    notes.begin();
    assert_eq!(id.dissect(bytes, cx, &mut notes), full, "Notes and Tree differ");
    json.begin();
    assert_eq!(id.dissect(bytes, cx, &mut json), full, "Json and Tree differ");
    json.end();
    same_violations(&notes, tree.violations());
    same_violations(json.notes(), tree.violations());
    tiled(bytes, &tree);
    assert_eq!(tree.render(bytes).lines().count(), tree.nodes().len() + tree.violations().len());
    sound_json(json.object());
    replayed(bytes, &tree, &json);
}

/// Checks that a recognised payload is a candidate by the tables of first bytes and lengths, and has a message and a step.
pub fn check_probe(bytes: &[u8], wire_len: usize, ports: [u16; 2], id: Id) {
    let Some(probe) = id.probe(bytes, wire_len, ports) else { return };
    let candidates = qdissect::classify::candidates(bytes, wire_len);
    let name = id.info().name;
    assert!(
        candidates >> id as u32 & 1 == 1,
        "neither a form of {name} nor its `Info::first` says that it may begin so: {bytes:02x?}"
    );
    declared(id, &probe);
}

/// Checks that the message and the step of a probe are declared.
pub fn declared(id: Id, probe: &Probe) {
    let info = id.info();
    assert!(usize::from(probe.message) < info.messages.len(), "no message {}", probe.message);
    assert!(usize::from(probe.step) < info.steps.len(), "no step {}", probe.step);
}

/// The number of bytes that were not captured, from the flags of an input: 4 for one byte, 8 for a thousand.
pub fn missing(flags: u8) -> usize {
    usize::from(flags >> 2 & 1) + 1000 * usize::from(flags >> 3 & 1)
}

/// Checks the decoding as every message of a protocol.
pub fn check_as_any_message(id: Id, bytes: &[u8], direction: Direction, asked: Option<u32>, missing: usize) {
    for message in 0..id.info().messages.len() as u8 {
        for (continues, secrets) in [(false, false), (true, true)] {
            check_decoding(
                bytes,
                id,
                &Context { message, direction, asked, missing, continues, layout: None, secrets },
            );
        }
    }
}

fn same_violations(notes: &Notes, all: &[Violation]) {
    let kept = all.len().min(MAX_VIOLATIONS);
    let mut again = Notes::default();
    all.iter().for_each(|v| again.violation(*v));
    assert_eq!(notes.violations(), again.violations(), "the listeners heard different broken rules");
    assert_eq!(notes.violations().len(), kept, "room was left");
    assert_eq!(notes.more() as usize, all.len() - kept, "the listeners counted differently");
}

/// Checks that the leaves tile the payload, and that everything else is inside it.
fn tiled(bytes: &[u8], tree: &Tree) {
    let mut at = 0;
    for node in tree.nodes().iter().filter(|n| n.is_value() && !n.derived) {
        assert_eq!(node.at.start, at, "gap or overlap at {node:?}\n{}", tree.render(bytes));
        assert!(node.at.end >= at, "{node:?} ends before it starts");
        at = node.at.end;
    }
    assert_eq!(at as usize, bytes.len(), "bytes behind the last leaf\n{}", tree.render(bytes));
    let spans = tree.nodes().iter().map(|n| n.at).chain(tree.violations().iter().map(|v| v.at));
    for span in spans {
        assert!(
            span.start <= span.end && span.end as usize <= bytes.len(),
            "{span:?} is outside the payload"
        );
    }
}

/// Checks that the JSON is valid and repeats no key.
pub fn sound_json(object: &[u8]) {
    let text = std::str::from_utf8(object).expect("JSON is UTF-8");
    if let Err(e) = serde_json::from_str::<serde_json::Value>(text) {
        panic!("{e}: {text}");
    }
    assert_eq!(repeated_key(text), None, "a key is repeated in {text}");
}

/// Finds a key that occurs twice in one object of valid JSON without whitespace.
fn repeated_key(json: &str) -> Option<String> {
    let mut keys: Vec<HashSet<&str>> = vec![];
    let mut rest = json;
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        match c {
            '{' | '[' => keys.push(HashSet::new()),
            '}' | ']' => drop(keys.pop()),
            '"' => {
                let text = &rest[..string_end(rest)];
                rest = &rest[text.len() + 1..];
                if rest.starts_with(':') && !keys.last_mut().is_some_and(|known| known.insert(text)) {
                    return Some(text.to_owned());
                }
            }
            _ => {}
        }
    }
    None
}

/// The end of the string whose opening quote precedes `text`.
fn string_end(text: &str) -> usize {
    let mut escaped = false;
    let end = text.bytes().position(|b| {
        let closes = b == b'"' && !escaped;
        escaped = b == b'\\' && !escaped;
        closes
    });
    end.expect("sound JSON closes its strings")
}

fn replayed(bytes: &[u8], tree: &Tree, direct: &Json) {
    let mut again = Json::default();
    again.begin();
    tree.replay(bytes, &mut again);
    again.end();
    let text = |json: &Json| String::from_utf8_lossy(json.object()).into_owned();
    assert_eq!(text(&again), text(direct), "the tree tells another story\n{}", tree.render(bytes));
    assert_eq!(again.notes().violations(), direct.notes().violations());
}

#[test]
fn repeated_keys_are_found_at_any_depth_within_one_object() {
    assert_eq!(repeated_key(r#"{"a":{"b":1,"b":2}}"#), Some("b".into()));
    assert_eq!(repeated_key(r#"[{"a":1,"x":"a\":"},{"a":"b","b":["a","a"]}]"#), None);
    assert_eq!(repeated_key(r#"{"a":[{"b":1}],"a":2}"#), Some("a".into()));
}
