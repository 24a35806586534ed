//! Creates the seeds of every target, and the dictionary. Seeds are the captures of the repository and the samples and examples
//! of every protocol and rule, each once, in the form that the target reads. The dictionary contains the names in the registry
//! and the magic numbers of file formats.

use crate::bodies::{answering, capture::MAGICS, decoder, diagnosis, lean, talk, walk, work, writers};
use crate::kit::format::FORMATTERS;
use crate::kit::play::{example_frames, numbered_frame};
use qdissect::capture::Source;
use qdissect::filter;
use qdissect::net::parse;
use qdissect::protocols::Id;
use qdissect::rule::{Example, hex};
use qdissect::schema::example::Act;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// Maximum length of a seed in bytes; longer ones are slow and repetitive.
const LONGEST: usize = 4096;

/// Seeds by target, without duplicates.
#[derive(Default)]
pub struct Seeds(pub BTreeMap<&'static str, BTreeSet<Vec<u8>>>);

impl Seeds {
    /// All seeds.
    pub fn all() -> Seeds {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut seeds = Seeds::default();
        for id in Id::ALL {
            id.info().samples.iter().for_each(|sample| seeds.example(sample));
        }
        qdissect::protocols::rules().flat_map(|r| r.examples).for_each(|example| seeds.example(example));
        files(&root.join("captures")).iter().for_each(|path| seeds.capture(path));
        pairings(&mut seeds);
        texts(&mut seeds, root);
        settings(&mut seeds);
        answering::seeds().into_iter().for_each(|seed| seeds.add("answering", seed));
        seeds
    }

    /// Writes them into folders by target.
    pub fn write(&self, to: &Path) -> io::Result<()> {
        for (target, all) in &self.0 {
            let folder = to.join(target);
            fs::create_dir_all(&folder)?;
            for (i, seed) in all.iter().enumerate() {
                fs::write(folder.join(format!("seed-{i:04}")), seed)?;
            }
        }
        Ok(())
    }

    fn add(&mut self, target: &'static str, seed: Vec<u8>) {
        if seed.len() <= LONGEST {
            self.0.entry(target).or_default().insert(seed);
        }
    }

    /// Adds a payload for the decoder of its protocol and as pasted text.
    fn payload(&mut self, id: Id, from_server: bool, asked: Option<u32>, bytes: &[u8]) {
        self.add(id.info().name, decoder::seed(from_server, asked, bytes));
        let probe = id.probe(bytes, bytes.len(), [7777; 2]);
        let message = probe.map_or(0, |probe| probe.message);
        self.add("lean", lean::seed(id, message, from_server, bytes));
        let layouts = Id::ALL.iter().filter(|id| !id.info().layouts.is_empty());
        if let Some(number) = layouts.enumerate().find(|(_, known)| **known == id).map(|(number, _)| number) {
            self.add("diagnosis", diagnosis::seed(number as u8, message, from_server, bytes));
        }
        // A piece of it is repeated, with what may separate it from the next one.
        let (head, tail) = bytes.split_at(bytes.len() / 2);
        let unit = tail.get(..tail.len().min(4)).unwrap_or_default();
        self.add("work", work::seed(id, message, from_server, [head, unit, tail], 1_000));
    }

    fn example(&mut self, example: &'static Example) {
        let mut asked: BTreeMap<Id, u32> = BTreeMap::new();
        let mut all = vec![0];
        for step in example.steps {
            let Act::Send { direction, client, payload } = Act::of(step) else { continue };
            let (bytes, answers) = (hex(payload), direction == qdissect::protocols::Direction::S2c);
            for id in Id::ALL {
                let known = asked.get(id).copied().filter(|_| answers);
                let probe = id.probe(&bytes, bytes.len(), [27_100; 2]);
                if probe.is_some() || known.is_some() {
                    self.payload(*id, answers, known, &bytes);
                }
                if let Some(probe) = probe.filter(|_| !answers) {
                    asked.insert(*id, probe.request_state);
                }
            }
            all.extend(talk::seed(answers, client as u8, 1, &bytes));
        }
        let format = self.0.get("writers").map_or(0, BTreeSet::len) as u8;
        self.add("writers", writers::seed(format, "a|b<c>\x1b[2J`@d.pcap", &all));
        self.add("classifier", all);
        let frames: Vec<u8> = example_frames(example)
            .iter()
            .filter_map(|s| walk::seed(&numbered_frame(s, 1, 24)))
            .flatten()
            .collect();
        self.add("walk", frames);
    }

    fn capture(&mut self, path: &Path) {
        let bytes = fs::read(path).expect("it can be read");
        for (kind, magic) in MAGICS.iter().enumerate() {
            if let Some(rest) = bytes.strip_prefix(*magic) {
                self.add("unpack", [&[kind as u8], rest].concat());
            }
        }
        if bytes.starts_with(b"\x0a\x0d\x0d\x0a") {
            let big = bytes.get(8) == Some(&0x1a);
            let head = bytes.get(if big { 7 } else { 4 }).copied().unwrap_or(28);
            self.add("pcapng", [&[u8::from(big)], &bytes[usize::from(head).min(bytes.len())..]].concat());
        }
        self.frames(path);
        self.add("file", bytes);
    }

    fn frames(&mut self, path: &Path) {
        let Ok(mut source) = Source::open(path) else { return };
        let mut all = vec![];
        while let Ok(Some(frame)) = source.next() {
            if all.len() < LONGEST / 2 {
                all.extend(walk::seed(&frame).unwrap_or_default());
            }
            let Ok(d) = parse(&frame) else { continue };
            for id in Id::ALL.iter().filter(|id| id.probe(d.payload, d.wire_len(), [7777; 2]).is_some()) {
                self.payload(*id, d.src.port() < d.dst.port(), None, d.payload);
            }
        }
        self.add("walk", all);
    }
}

/// The files in a folder and the folders in it.
fn files(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return vec![] };
    let paths = entries.filter_map(Result::ok).map(|e| e.path());
    paths.flat_map(|p| if p.is_dir() { files(&p) } else { vec![p] }).collect()
}

/// Requests and answers of every kind, in and out of order.
fn pairings(seeds: &mut Seeds) {
    for what in 0..6u8 {
        for pause in 0..6u8 {
            let other = what ^ 1;
            seeds.add("pairing", vec![what & !1, 8, 0, what | 1, 8, pause]);
            seeds.add(
                "pairing",
                vec![what, 0, 0, other, 0, pause, what, 0, 0, other, 0x20, pause, other, 0x44, 1],
            );
        }
    }
}

/// Text as written by users: expressions, dumps, configurations.
fn texts(seeds: &mut Seeds, root: &Path) {
    for name in filter::names() {
        for end in ["", " == 1", " contains \"a\"", "[0:2] == 01:02", " in {1..5, 7}"] {
            seeds.add("filter", format!("{name}{end}").into_bytes());
        }
    }
    for text in [
        "!udp.port == 7777 and not (ip.src == 10.0.0.0/8 || ipv6.dst == 2001:db8::/32)",
        "any udp.port != 53 or all udp.port > 1023 and len(udp.payload) >= 10",
        "severity >= warning and rule in {\"SQP-STR-002\", SQP-TXN-004} or exchange.outcome == late",
        "upper(sqp.server_info.game_type) matches r\"^high\\w+\" and satisfactory.server_flags & 1 == 1",
    ] {
        seeds.add("filter", text.into());
    }
    for path in files(&root.join("tests/data/pasted")) {
        seeds.add("pasted", [&[0], &*fs::read(path).unwrap_or_default()].concat());
    }
    for (how, (_, format)) in FORMATTERS.iter().enumerate() {
        seeds.add(
            "pasted",
            [&[how as u8 % 6], format(b"\xd5\xf6\0\x01\xef\xcd\xab\x89gE#\x01\x01").as_bytes()].concat(),
        );
        seeds.add("pasted", vec![6 + how as u8, 1, 2, b'a', 0xff]);
    }
}

/// Configurations and baselines.
fn settings(seeds: &mut Seeds) {
    for r in qdissect::protocols::rules() {
        let level = format!("profile = \"strict\"\n[rules]\n{} = \"off\"\n[ports]\n7779 = \"sqp\"\n", r.id);
        seeds.add("config", level.into_bytes());
    }
    let known = "{\"version\": 1, \"findings\": [{\"fingerprint\": \"00a1b2c3d4e5f607:1\", \"rule\": \"SQP-STR-002\", \
                 \"severity\": \"error\", \"message\": \"m\", \"reason\": \"known\"}]}";
    let list = "fail-on = \"note\"\ntimeout = \"1s 500ms\"\nselect = [\"SQP\"]\nignore = [\"SQP-TXN\"]\n";
    let reasons = "[ignore]\nSQP = \"lab\"\n\"SQP-STR-002\" = \"old host\"\n";
    for (config, known) in [("", known), (list, known), (reasons, &format!(" {known}")), ("", " {}")] {
        seeds.add("config", format!("{config}\0{known}").into_bytes());
    }
}

/// Magic numbers of file formats and headers.
const MARKS: &[&[u8]] = &[
    b"\xd4\xc3\xb2\xa1",
    b"\xa1\xb2\xc3\xd4",
    b"\x4d\x3c\xb2\xa1",
    b"\x34\xcd\xb2\xa1",
    b"\x0a\x0d\x0d\x0a",
    b"\x08\x00\x45\x00",
    b"\x86\xdd\x60",
    b"\x81\x00",
    b"\x88\xa8",
    b"\x88\x47",
    b"\x88\x64",
    b"\x20\x00",
    b"\x12\xb5",
    b"\x17\xc1",
    b"\x08\x68",
];
/// Words of filters, configurations and baselines.
const WORDS: &str = "== != < <= contains matches in and or not any all { } .. len count upper lower string true false late \
                     answered unanswered error warning note off strict default lenient [ignore] [rules] [ports] reason \
                     fingerprint rule version findings severity message";
/// Characteristic strings in the output of tools.
const TOOLS: &[&str] = &[
    "<Buffer ",
    "unsigned char x[] = {",
    "b'",
    "0x",
    "\\x",
    "Follow: udp",
    "Buffer length: ",
    "-->",
    "IP (tos",
];

/// First bytes of payloads, and the words in them.
fn in_payloads(examples: impl Iterator<Item = &'static Example>, words: &mut BTreeSet<Vec<u8>>) {
    for act in examples.flat_map(|e| e.steps).map(Act::of) {
        let Act::Send { payload, .. } = act else { continue };
        let bytes = hex(payload);
        words.extend((2..=4).filter_map(|n| bytes.get(..n).map(<[u8]>::to_vec)));
        let texts = bytes.split(|b| !b.is_ascii_graphic()).filter(|word| word.len() >= 3);
        words.extend(texts.map(|word| word[..word.len().min(32)].to_vec()));
    }
}

/// The dictionary in libFuzzer's format: byte strings that are hard to guess.
pub fn dictionary() -> String {
    let mut words: BTreeSet<Vec<u8>> = filter::names().into_iter().map(String::into_bytes).collect();
    for id in Id::ALL {
        let info = id.info();
        let names = info.messages.iter().map(|m| m.name).chain(info.steps.iter().map(|s| s.name));
        words.extend(names.chain([info.name]).map(|name| name.as_bytes().to_vec()));
        in_payloads(info.samples.iter().chain(id.rules().flat_map(|r| r.examples)), &mut words);
    }
    words.extend(qdissect::protocols::rules().map(|r| r.id.into()));
    words.extend(MAGICS.iter().chain(MARKS).map(|mark| mark.to_vec()));
    words.extend(WORDS.split(' ').chain(TOOLS.iter().copied()).map(Into::into));
    let mut out = String::from("# Made by seeds.rs from the registry; not to be changed by hand.\n");
    for word in words {
        out.push('"');
        for byte in word {
            let _ = match byte {
                b'"' | b'\\' => write!(out, "\\{}", byte as char),
                b' '..=b'~' => write!(out, "{}", byte as char),
                _ => write!(out, "\\x{byte:02x}"),
            };
        }
        out.push_str("\"\n");
    }
    out
}
