//! `anonymise`: laws on all captures, and what the command says.

use crate::kit::captures::own;
use crate::kit::run::{assert_refused, run};
use qdissect::anonymise::{Counts, Key, anonymised};
use qdissect::capture::{Source, Time};
use qdissect::check::{Finding, Packet};
use qdissect::decode::{AnyListener, Fact, Tree};
use qdissect::exchange::Exchange;
use qdissect::net::Endpoint;
use qdissect::pipeline::{Options, Pipeline};
use qdissect::protocols::Id;
use qdissect::report::{Report, SilentServer, Wants};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::IpAddr;
use std::path::Path;

/// A finding: the rule, its severity, the field and the bytes.
type Judgement = (&'static str, String, String, String);

/// What is said of a datagram: when and between which ports it came, how long it is, what it is, and what is wrong with it.
#[derive(Debug, PartialEq)]
struct Said {
    time: Time,
    ports: [u16; 2],
    length: usize,
    message: (Id, u8),
    findings: Vec<Judgement>,
}

/// What is said of a capture.
#[derive(Default)]
struct Judged {
    said: Vec<Said>,
    /// Indices in `said`, by frame.
    frames: BTreeMap<u64, usize>,
    /// Findings about exchanges and servers, by the frame of the request.
    others: Vec<(u64, Judgement)>,
    /// Texts of names and passwords.
    texts: BTreeSet<Vec<u8>>,
    /// Texts that are words of the protocols.
    words: BTreeSet<Vec<u8>>,
    addresses: BTreeSet<IpAddr>,
}

fn judgement(finding: &Finding) -> Judgement {
    let field = finding.field.map_or(String::new(), |field| field.name.to_owned());
    (
        finding.rule.id,
        format!("{:?}", finding.severity),
        field,
        format!("{:?} {:?}", finding.span, finding.index),
    )
}

impl Report for Judged {
    fn wants(&self) -> Wants {
        Wants { silent_servers: true, ordered: true, ..Wants::default() }
    }

    fn listener(&self) -> AnyListener {
        AnyListener::Tree(Tree::default())
    }

    fn packet(&mut self, p: &Packet<'_>) -> io::Result<()> {
        let d = p.datagram;
        self.frames.insert(d.frame, self.said.len());
        self.said.push(Said {
            time: d.time,
            ports: [d.src.port(), d.dst.port()],
            length: d.wire_len(),
            message: (p.id, p.message),
            findings: p.findings.iter().map(judgement).collect(),
        });
        self.addresses.extend([d.src, d.dst].map(Endpoint::ip));
        let personal = ["name", "server_name", "clan", "password", "rcon_password"];
        for node in p.tree().expect("a tree was asked for").nodes() {
            let is_text = node.value(p.bytes).is_some_and(|value| value.text().is_some());
            let text = node.value_span().of(p.bytes).to_vec();
            if node.derived || !is_text || text.len() < 6 {
                continue;
            }
            if node.field.public {
                self.words.insert(text);
            } else if node.field.fact == Some(Fact::ServerName) || personal.contains(&node.field.key) {
                self.texts.insert(text);
            }
        }
        Ok(())
    }

    fn exchange(&mut self, e: &Exchange, findings: &[Finding]) -> io::Result<()> {
        self.others.extend(findings.iter().map(|finding| (e.request_frame, judgement(finding))));
        Ok(())
    }

    fn silent_servers(&mut self, servers: &[SilentServer]) -> io::Result<()> {
        self.others.extend(servers.iter().map(|silent| (silent.frame, judgement(&silent.finding))));
        Ok(())
    }
}

impl Judged {
    /// The findings about exchanges, by the index of the request.
    fn others(&self) -> Vec<(Option<usize>, &Judgement)> {
        let mut all: Vec<_> =
            self.others.iter().map(|(frame, finding)| (self.frames.get(frame).copied(), finding)).collect();
        all.sort();
        all
    }
}

/// What is said of a capture; `None` where it cannot be read to its end.
fn judged(capture: &[u8]) -> Option<Judged> {
    let mut judged = Judged::default();
    let options = Options { secrets: true, ..Options::default() };
    let mut source = Source::in_memory("capture", capture.to_vec()).ok()?;
    let mut pipeline = Pipeline::new(options, &mut judged);
    pipeline.read(&mut source, "capture").ok()?;
    pipeline.finish(true).expect("nothing is written");
    Some(judged)
}

fn anonymised_with_key(capture: &[u8], key: &str) -> (Vec<u8>, Counts) {
    anonymised(capture.to_vec(), Options::default(), Key::of(key), "test").expect("memory takes everything")
}

/// Calls `check` for each capture that can be read, with what was said of it before and after.
fn for_each(mut check: impl FnMut(&Path, (&Judged, &Judged), &[u8], &Counts)) -> usize {
    let mut all = own();
    all.sort();
    let mut number = 0;
    for path in all {
        let capture = std::fs::read(&path).expect("it is there");
        let Some(before) = judged(&capture).filter(|before| !before.said.is_empty()) else { continue };
        let (result, counts) = anonymised_with_key(&capture, "test");
        let after = judged(&result).expect("it was written whole");
        check(&path, (&before, &after), &result, &counts);
        number += 1;
    }
    number
}

/// All that is judged stays, in the same places. Compressed messages are left out, and what follows from that.
#[test]
fn findings_lengths_and_times_stay() {
    let (mut compressed, mut findings) = (0, 0);
    let captures = for_each(|path, (before, after), _, counts| {
        let at = path.display();
        assert_eq!(counts.unreplaced, 0, "{at}");
        findings += before.said.iter().map(|said| said.findings.len()).sum::<usize>();
        if counts.compressed > 0 {
            compressed += 1;
            let mut left = before.said.iter();
            let same = |said: &Said, other: &Said| {
                (said.time, said.ports, said.message) == (other.time, other.ports, other.message)
            };
            for said in &after.said {
                assert!(left.any(|other| same(said, other)), "{at}: {said:?}");
            }
            return;
        }
        assert_eq!(before.said.len(), after.said.len(), "{at}");
        for (number, (before, after)) in before.said.iter().zip(&after.said).enumerate() {
            assert_eq!(before, after, "{at}: datagram {number}");
        }
        assert_eq!(before.others(), after.others(), "{at}");
    });
    assert!(captures > 140 && compressed > 1 && findings > 2_000, "{captures} {compressed} {findings}");
}

/// No name or password of six bytes or more is left, and no address, in bytes or as text.
#[test]
fn names_passwords_and_addresses_are_gone() {
    let (mut texts, mut addresses) = (0, 0);
    for_each(|path, (before, _), result, _| {
        let holds = |part: &[u8]| memchr::memmem::find(result, part).is_some();
        for text in before.texts.difference(&before.words) {
            // Signs and single letters over and over are no name.
            let letters: BTreeSet<u8> =
                text.iter().copied().filter(|byte| byte.is_ascii_alphabetic() || !byte.is_ascii()).collect();
            let is_kept = letters.len() < 4;
            assert!(is_kept || !holds(text), "{}: {:?}", path.display(), String::from_utf8_lossy(text));
            texts += usize::from(!is_kept);
        }
        for ip in &before.addresses {
            let is_everywhere = match ip {
                IpAddr::V4(v4) => [0, 127, 255].contains(&v4.octets()[0]) || v4.is_multicast(),
                IpAddr::V6(v6) => v6.is_unspecified() || v6.is_loopback() || v6.is_multicast(),
            };
            let bytes = match ip {
                IpAddr::V4(v4) => v4.octets().to_vec(),
                IpAddr::V6(v6) => v6.octets().to_vec(),
            };
            let is_left = holds(&bytes) || holds(ip.to_string().as_bytes());
            assert!(is_everywhere || !is_left, "{}: {ip}", path.display());
            addresses += usize::from(!is_everywhere);
        }
    });
    assert!(texts > 300 && addresses > 500, "{texts} {addresses}");
}

#[test]
fn the_same_key_makes_the_same_capture_and_another_one_another() {
    let demo = std::fs::read("captures/demo.pcapng").expect("it is there");
    let first = anonymised_with_key(&demo, "one").0;
    assert_eq!(first, anonymised_with_key(&demo, "one").0);
    assert_ne!(first, anonymised_with_key(&demo, "two").0);
    // What has been anonymised can be anonymised again.
    let again = judged(&anonymised_with_key(&first, "one").0).expect("it was written whole");
    assert_eq!(again.said, judged(&first).expect("it was written whole").said);
}

#[test]
fn comments_other_traffic_and_names_of_interfaces_are_left_out() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str| folder.path().join(name).to_str().expect("text").to_owned();
    let (annotated, shared) = (file("annotated.pcapng"), file("shared.pcapng"));
    assert_eq!(run(["dump", "-q", "-w", &annotated, "--annotate", "captures/demo.pcapng"]).0, Some(0));
    let (code, _, err) = run(["anonymise", "--key", "a", "-w", &shared, &annotated]);
    assert_eq!(code, Some(0), "{err}");
    assert!(err.contains("frames written, with other addresses and texts"), "{err}");
    let bytes = |path: &str| std::fs::read(path).expect("it was written");
    for part in ["SQP-STR-002", "mirror port", "eth0"] {
        let holds = |path: &str| memchr::memmem::find(&bytes(path), part.as_bytes()).is_some();
        assert!(holds(&annotated) && !holds(&shared), "{part}");
    }
    // A query of DNS comes first in this one; nothing but its time is left.
    let mixed = bytes("captures/gqp/fragments.pcap");
    let (result, counts) = anonymised_with_key(&mixed, "a");
    let said = judged(&mixed).expect("it can be read").said;
    assert_eq!(counts.written, said.len() as u64);
    let mut source = Source::in_memory("result", result).expect("a capture");
    let first = source.next().expect("it is whole").expect("a frame");
    assert_eq!((first.bytes.len(), first.time < said[0].time), (20, true));
}

#[test]
fn a_reduced_capture_is_anonymised_unless_it_is_kept() {
    let folder = tempfile::tempdir().expect("a folder");
    let to = folder.path().join("small.pcapng");
    let to = to.to_str().expect("text");
    let demo = "captures/demo.pcapng";
    let (code, _, err) = run(["reduce", "--rule", "SQP-STR-002", "-w", to, demo]);
    assert_eq!(code, Some(0), "{err}");
    assert!(err.contains("2 of 108 frames left, with other addresses and texts: `qdissect check"), "{err}");
    let small = std::fs::read(to).expect("it was written");
    assert!(memchr::memmem::find(&small, b" Nord").is_none());
    let said = judged(&small).expect("it was written whole").said;
    let rules: Vec<_> = said.iter().flat_map(|said| &said.findings).map(|(rule, ..)| *rule).collect();
    assert!(rules.contains(&"SQP-STR-002"), "{rules:?}");
}

#[test]
fn what_cannot_be_anonymised_is_an_error() {
    let demo = "captures/demo.pcapng";
    let folder = tempfile::tempdir().expect("a folder");
    let to = folder.path().join("shared.pcapng");
    let to = to.to_str().expect("text");
    assert_refused(
        "anonymise",
        &[
            (&[demo], "name its file with -w"),
            (&["-w", to, "--annotate", demo], "leave --annotate out"),
            (&["-w", to, "--key", "", demo], "An empty --key hides nothing"),
            (&["-w", demo, demo], "would overwrite the input"),
            (&["-w", to, "missing.pcap"], "missing.pcap"),
        ],
    );
    assert!(!Path::new(to).exists());
}
