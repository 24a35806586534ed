//! The inverse writer: right messages are written as wrong servers write them, and each mistake is found again.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic, clippy::arithmetic_side_effects)]

use super::memory::{MAX_FRUITLESS, MAX_SEARCHED_BYTES, MAX_SEARCHES, MAX_SEARCHES_EACH};
use super::{Case, Diagnoses, Examined, MAX_BYTES, Reason};
use crate::contract::{Context, Direction};
use crate::layout::{Change, Expected, Form, Layout, Part, Reader, Variation, common};
use crate::protocols::Id;
use crate::rule::hex;

/// The token of the request.
const TOKEN: u32 = 0x5bd1_e995;

/// A right message: its protocol, its layout by the name of the message, what is known of its request, and its bytes.
struct Right {
    id: Id,
    message: &'static str,
    expected: Expected,
    bytes: Vec<u8>,
}

impl Right {
    fn layout(&self) -> &'static Layout {
        let is = |layout: &&Layout| self.id.info().message_name(layout.message) == self.message;
        self.id.info().layouts.iter().find(is).expect("there is a layout")
    }

    fn case<'a>(&self, bytes: &'a [u8]) -> Case<'a> {
        let layout = self.layout();
        let direction = if layout.answer { Direction::S2c } else { Direction::C2s };
        let context = Context { asked: self.expected.asked, ..Context::of(layout.message, direction) };
        Case { id: self.id, bytes, context, expected: self.expected, step: layout.step }
    }

    /// The names of the variations that make a message fit, if what is then read is this message.
    fn found(&self, wrong: &[u8]) -> Option<Vec<String>> {
        let (attempt, bytes) = self.case(wrong).search(true)?;
        (bytes == self.bytes).then(|| attempt.names())
    }
}

fn right(id: Id, message: &'static str, expected: Expected, text: &str) -> Right {
    Right { id, message, expected, bytes: hex(text) }
}

fn messages() -> Vec<Right> {
    let key = |key: u64| Expected { key: Some(key), ..Expected::default() };
    let sqp = Expected { asked: Some(1), ..key(TOKEN.into()) };
    let samp = |opcode: u8| key(0x00c0_0002_0a61_1e00 | u64::from(opcode));
    let wide = |text: &str| text.chars().map(|c| format!("{:02x}00", c as u32)).collect::<String>();
    let (name, config) =
        (wide("Northern lights"), wide("{'players':['Ann'],'experience':'Stalker','pvp':'True'}"));
    let sky = format!("93000000 1e000000 {name} 05000000 '0.1.2' 01000000 08000000 6e000000 {config}");
    vec![
        right(
            Id::Sqp,
            "query_response",
            sqp,
            "01 5bd1e995 0001 00 00 002d 00000029 0005 0020 0d 'Harbour night' 09 'Free roam' 05 '1.0.3' 04 'Pier' 1e61",
        ),
        right(
            Id::Satisfactory,
            "state_response",
            key(0x1122_3344_5566_7788),
            "d5f6 01 01 8877665544332211 03 7a960500 0000000000000000 01 00 1100 0c00 'My factory 1' 01",
        ),
        right(Id::Skycoop, "status_response", Expected::default(), &sky),
        right(
            Id::A2s,
            "info_response",
            Expected::default(),
            "ffffffff 49 11 'Harbour night' 00 'harbour' 00 'game' 00 'Free roam' 00 d200 05 20 00 'dl' 00 01 '1.0' 00 \
             b1 8769 0200000000400101 'tags' 00 d200000000000000",
        ),
        right(
            Id::A2s,
            "players_response",
            Expected::default(),
            "ffffffff 44 02 00 'Antonia' 00 05000000 00d07042 00 'Bernhard' 00 07000000 00e07044",
        ),
        right(
            Id::A2s,
            "rules_response",
            Expected::default(),
            "ffffffff 45 0200 'sv_gravity' 00 '800' 00 'mp_limit' 00 '30' 00",
        ),
        right(
            Id::Samp,
            "info_response",
            samp(b'i'),
            "'SAMP' c000020a 611e 'i' 00 0500 3200 0d000000 'Harbour night' 09000000 'Free roam' 07000000 'English'",
        ),
        right(
            Id::Samp,
            "rules_response",
            samp(b'r'),
            "'SAMP' c000020a 611e 'r' 0200 07 'version' 05 '0.3.7' 07 'mapname' 04 'Pier'",
        ),
        right(
            Id::Raknet,
            "unconnected_pong",
            key(1),
            "1c 0000000000000001 1122334455667788 00ffff00fefefefefdfdfdfd12345678 0020 'MCPE;Harbour night;649;1.20;1;8;'",
        ),
    ]
}

#[test]
fn right_messages_are_written_as_they_are_and_have_no_diagnosis() {
    for right in messages() {
        let (layout, name) = (right.layout(), right.message);
        let mut reader = Reader::new(&right.bytes, layout, &[], right.expected);
        assert!(reader.read().is_some() && (layout.plausible)(&reader), "{name} is not read");
        assert!(reader.out == right.bytes, "{name} is written as {:02x?}", reader.out);
        assert!(right.case(&right.bytes).search(false).is_none(), "{name} has a diagnosis");
    }
}

/// The layout of somebody who writes messages with that variation of order, texts or encoding, and what he would call a
/// mistake in a right message; `None` if no layout can say that.
fn inverse(layout: &'static Layout, variation: &Variation) -> Option<(Layout, Variation)> {
    let swapped = layout.order.swapped();
    let has_own_form = layout.parts.iter().any(|part| matches!(part, Part::TextAs(..)));
    let (order, form, encoding, change) = match variation.change {
        Change::Swap if variation.field.is_empty() => {
            (swapped, layout.form.swapped(), layout.encoding, Change::Swap)
        }
        Change::Texts(form @ (Form::Length(..) | Form::Nul)) if form != layout.form && !has_own_form => {
            (layout.order, form, layout.encoding, Change::Texts(layout.form))
        }
        Change::Encoding(encoding) if encoding != layout.encoding => {
            (layout.order, layout.form, encoding, Change::Encoding(layout.encoding))
        }
        _ => return None,
    };
    let written = Layout { order, form, encoding, ..*layout };
    Some((written, Variation::of("inverse", "", change)))
}

/// Where a constant is a number, another order cannot be declared; where a zero ends texts, or they are bytes, UTF-16 cannot.
const UNWRITTEN: [&str; 5] = [
    "big_endian of state_response",
    "big_endian of status_response",
    "utf16_le of info_response",
    "utf16_le of players_response",
    "utf16_le of rules_response",
];

#[test]
fn every_order_form_and_encoding_is_found_again() {
    let (mut tried, mut lost, mut unwritten) = (0, vec![], vec![]);
    for right in messages() {
        let layout = right.layout();
        for variation in layout.variations.iter().copied().flatten() {
            let Some((written, back)) = inverse(layout, variation) else { continue };
            let (written, back): (&'static Layout, &'static Variation) =
                (Box::leak(Box::new(written)), Box::leak(Box::new(back)));
            let set = [back];
            let mut reader = Reader::new(&right.bytes, written, &set, right.expected);
            let is_written = reader.read().is_some();
            let what = format!("{} of {}", variation, right.message);
            if !is_written || reader.out == right.bytes {
                unwritten.push(what);
                continue;
            }
            tried += 1;
            let found = right.found(&reader.out);
            if found != Some(vec![variation.to_string()]) {
                lost.push(format!("{what} is read with {found:?}: {:02x?}", reader.out));
            }
        }
    }
    assert!(tried > 40 && lost.is_empty(), "{tried} tried, lost: {lost:#?}");
    assert_eq!(unwritten, UNWRITTEN);
}

/// The fields of an answer of SQP as a wrong server may write them; lengths count what is there.
#[derive(Clone)]
struct Fields {
    head: Vec<u8>,
    token: Vec<u8>,
    version: Vec<u8>,
    packets: Vec<u8>,
    counts: Vec<u8>,
    texts: Vec<u8>,
    port: Vec<u8>,
    lengths: fn(usize) -> (Vec<u8>, Vec<u8>),
    tail: usize,
}

impl Fields {
    fn right() -> Fields {
        let texts = ["Harbour night", "Free roam", "1.0.3", "Pier"];
        let text = |text: &&str| [&[text.len() as u8], text.as_bytes()].concat();
        Fields {
            head: vec![1],
            token: TOKEN.to_be_bytes().to_vec(),
            version: vec![0, 1],
            packets: vec![0, 0],
            counts: vec![0, 5, 0, 32],
            texts: texts.iter().flat_map(text).collect(),
            port: vec![0x1e, 0x61],
            lengths: |n| ((n as u16 + 4).to_be_bytes().to_vec(), (n as u32).to_be_bytes().to_vec()),
            tail: 0,
        }
    }

    fn bytes(&self) -> Vec<u8> {
        let body = [&self.counts[..], &self.texts, &self.port].concat();
        let (packet, chunk) = (self.lengths)(body.len());
        let head = [&self.head[..], &self.token, &self.version, &self.packets, &packet, &chunk].concat();
        [head, body, vec![0; self.tail]].concat()
    }
}

/// What a server does to the fields.
type Mistake = fn(&mut Fields);

/// The mistakes that no layout of another form can write, each with its name. A version that is left out is not among them:
/// the same bytes have version 0 and no packet numbers.
const MISTAKES: &[(&str, Mistake)] = &[
    ("trailing_zeros", |f| f.tail = 40),
    ("wrong_type", |f| f.head = vec![2]),
    ("token_swapped", |f| f.token.reverse()),
    ("token_zero", |f| f.token = vec![0; 4]),
    ("packet_numbers_from_one", |f| f.packets = vec![1, 1]),
    ("last_packet_is_count", |f| f.packets = vec![0, 1]),
    ("missing_field@packet_numbers", |f| f.packets = vec![]),
    ("missing_field@port", |f| f.port = vec![]),
    ("width_32@version", |f| f.version = vec![0, 0, 0, 1]),
    ("width_32@players", |f| f.counts = vec![0, 0, 0, 5, 0, 0, 0, 32]),
    ("width_8@players", |f| f.counts = vec![5, 32]),
    ("width_32@port", |f| f.port = vec![0, 0, 0x1e, 0x61]),
    ("length_counts_header@packet_length", |f| {
        f.lengths = |n| ((n as u16 + 15).to_be_bytes().to_vec(), (n as u32).to_be_bytes().to_vec());
    }),
    ("length_counts_itself@packet_length", |f| {
        f.lengths = |n| ((n as u16 + 6).to_be_bytes().to_vec(), (n as u32).to_be_bytes().to_vec());
    }),
    ("length_excludes_chunk_lengths@packet_length", |f| {
        f.lengths = |n| ((n as u16).to_be_bytes().to_vec(), (n as u32).to_be_bytes().to_vec());
    }),
    ("length_zero@packet_length", |f| f.lengths = |n| (vec![0; 2], (n as u32).to_be_bytes().to_vec())),
    ("length_counts_itself@chunk_length", |f| {
        f.lengths = |n| ((n as u16 + 4).to_be_bytes().to_vec(), (n as u32 + 4).to_be_bytes().to_vec());
    }),
    ("length_zero@chunk_length", |f| f.lengths = |n| ((n as u16 + 4).to_be_bytes().to_vec(), vec![0; 4])),
    ("little_endian@packet_length", |f| {
        f.lengths = |n| ((n as u16 + 4).to_le_bytes().to_vec(), (n as u32).to_be_bytes().to_vec());
    }),
    ("little_endian@chunk_length", |f| {
        f.lengths = |n| ((n as u16 + 4).to_be_bytes().to_vec(), (n as u32).to_le_bytes().to_vec());
    }),
    ("missing_field@packet_length", |f| f.lengths = |n| (vec![], (n as u32).to_be_bytes().to_vec())),
    ("width_16@chunk_length", |f| {
        f.lengths = |n| ((n as u16 + 2).to_be_bytes().to_vec(), (n as u16).to_be_bytes().to_vec());
    }),
    ("width_32@packet_length", |f| {
        f.lengths = |n| ((n as u32 + 4).to_be_bytes().to_vec(), (n as u32).to_be_bytes().to_vec());
    }),
];

#[test]
fn mistakes_with_lengths_widths_and_tokens_are_found_again() {
    let all = messages();
    let right = &all[0];
    assert_eq!(Fields::right().bytes(), right.bytes, "both are the same message");
    let mut lost = vec![];
    for (name, mistake) in MISTAKES {
        let mut fields = Fields::right();
        mistake(&mut fields);
        let wrong = fields.bytes();
        let case = right.case(&wrong);
        let found = case.search(true).map(|(attempt, _)| attempt.names());
        if found != Some(vec![(*name).to_owned()]) {
            lost.push(format!("{name} is read with {found:?}: {wrong:02x?}"));
        }
    }
    assert!(lost.is_empty(), "{lost:#?}");
}

#[test]
fn every_byte_that_is_lost_or_flipped_is_no_habit() {
    let all = messages();
    let right = &all[0];
    let (mut damaged, mut explained) = (0, 0);
    for at in 0..right.bytes.len() {
        for bit in 0..8 {
            let mut bytes = right.bytes.clone();
            bytes[at] ^= 1 << bit;
            damaged += 1;
            explained += u32::from(right.case(&bytes).search(true).is_some());
        }
        let cut = &right.bytes[..at];
        damaged += 1;
        explained += u32::from(right.case(cut).search(true).is_some());
    }
    // Some are, byte for byte, what a wrong server sends: another type, a length of two more, numbers of packets.
    assert!(explained <= 6, "{explained} of {damaged}");
}

fn examined(diagnoses: &mut Diagnoses, server: u32, case: &Case<'_>) -> Examined {
    examined_for(diagnoses, server, case, 0)
}

/// Examines a message that breaks the n-th rule first.
fn examined_for(diagnoses: &mut Diagnoses, server: u32, case: &Case<'_>, n: usize) -> Examined {
    diagnoses.examine(server, case, Reason { rule: crate::protocols::rules().nth(n) })
}

/// An answer in little-endian, and one that nothing explains.
fn broken() -> (Right, Vec<u8>, Vec<u8>) {
    let right = messages().swap_remove(0);
    let (written, back) = inverse(right.layout(), &common::LITTLE_ENDIAN).expect("it has an inverse");
    let (written, back): (&'static Layout, &'static Variation) =
        (Box::leak(Box::new(written)), Box::leak(Box::new(back)));
    let little = {
        let set = [back];
        let mut reader = Reader::new(&right.bytes, written, &set, right.expected);
        reader.read().expect("it is written");
        reader.out
    };
    let lost = [&right.bytes[..20], &[0xee; 20]].concat();
    (right, little, lost)
}

#[test]
fn a_server_is_searched_three_times_and_then_read_as_before() {
    let (right, little, lost) = broken();
    let mut diagnoses = Diagnoses::default();
    for _ in 0..20 {
        let found = examined(&mut diagnoses, 1, &right.case(&little));
        assert_eq!(found.diagnosis().map(|d| d.variations.clone()), Some(vec!["little_endian".to_owned()]));
        assert!(matches!(
            examined(&mut diagnoses, 2, &right.case(&lost)),
            Examined::Unexplained | Examined::Untried
        ));
    }
    assert_eq!(diagnoses.counts(), (2 * MAX_SEARCHES_EACH, 17));
}

#[test]
fn what_explains_no_server_is_searched_no_more() {
    let (right, little, lost) = broken();
    let mut diagnoses = Diagnoses::default();
    let mut is_untried = |server, bytes: &[u8], rule| {
        matches!(examined_for(&mut diagnoses, server, &right.case(bytes), rule), Examined::Untried)
    };
    assert!((0..MAX_FRUITLESS).all(|server| !is_untried(server, &lost, 0)));
    assert!(is_untried(MAX_FRUITLESS, &lost, 0));
    assert!(!is_untried(MAX_FRUITLESS, &little, 1), "it breaks another rule first");
    // What is explained begins the count anew.
    assert!((0..3).all(|server| !is_untried(server, &lost, 1)));
    assert!(!is_untried(3, &little, 1) && !is_untried(4, &lost, 1));
}

#[test]
fn a_flood_of_broken_messages_has_a_budget_of_searches() {
    let (right, little, _) = broken();
    let mut diagnoses = Diagnoses::default();
    for server in 0..MAX_SEARCHES + 100 {
        let found = examined(&mut diagnoses, server, &right.case(&little));
        assert_eq!(found.diagnosis().is_some(), server < MAX_SEARCHES, "server {server}");
    }
    assert_eq!(diagnoses.counts(), (MAX_SEARCHES, 100));
}

#[test]
fn long_messages_have_a_budget_of_bytes_and_longer_ones_are_not_searched() {
    let (right, ..) = broken();
    let mut diagnoses = Diagnoses::default();
    let long = vec![1; MAX_BYTES];
    let servers = (MAX_SEARCHED_BYTES / MAX_BYTES) as u32;
    (0..servers + 5).for_each(|server| {
        drop(examined_for(&mut diagnoses, server, &right.case(&long), server as usize));
    });
    assert_eq!(diagnoses.counts(), (servers, 5));
    drop(examined(&mut Diagnoses::default(), 0, &right.case(&long)));
    let mut diagnoses = Diagnoses::default();
    drop(examined(&mut diagnoses, 0, &right.case(&vec![1; MAX_BYTES + 1])));
    assert_eq!(diagnoses.counts(), (0, 1));
}
