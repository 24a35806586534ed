//! How far is read ahead, and which files go on with the one before.

use super::{END, S, poll, state};
use crate::kit::frames::{self, Kept};
use crate::kit::play::{CLIENTS, Collected, End, H1, H2, OK, QI, START, Shot, everything, foreign, shot};
use qdissect::capture::Source;
use qdissect::check::Policy;
use qdissect::net::Datagram;
use qdissect::pipeline::{Options, Pipeline};
use qdissect::report::{Report, Totals, limits};
use qdissect::rule::hex;
use qdissect::verdict::{Check, Entry};
use std::io::{self, Cursor, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};

const NS: i64 = 1;
const MS: i64 = 1_000_000;

fn pcap(shots: &[Shot]) -> Vec<u8> {
    let kept = |Shot { time, link, wire_len, bytes }: Shot| Kept { time, link, wire_len, bytes };
    frames::pcap(&shots.iter().cloned().map(kept).collect::<Vec<_>>())
}

/// Reads files one after the other.
fn read(files: &[&[Shot]]) -> (Collected<true>, Totals) {
    read_as(everything(), Collected::default(), files)
}

fn read_as<R: Report>(options: Options, mut report: R, files: &[&[Shot]]) -> (R, Totals) {
    let mut pipeline = Pipeline::new(options, &mut report);
    for shots in files {
        let mut source = Source::from_reader("file", Box::new(Cursor::new(pcap(shots)))).expect("a capture");
        pipeline.read(&mut source, "file").expect("it can be read");
    }
    let totals = pipeline.finish(true).expect("nothing is written");
    (report, totals)
}

#[test]
fn a_file_goes_on_with_the_one_before_if_it_reaches_back_no_further_than_a_tenth_of_a_second() {
    let last = START + 10 * S;
    let first = [foreign(START), shot(last, CLIENTS[0], END, &poll(1))];
    for (back, answered) in [(0, 1), (100 * MS, 1), (100 * MS + NS, 0)] {
        let second = [foreign(last - back), shot(last + MS, END, CLIENTS[0], &state(1))];
        let (heard, totals) = read(&[&first, &second]);
        assert_eq!((totals.answered, totals.undecided), (answered, 1 - answered), "{back} ns");
        assert_eq!(heard.packets.len(), 2, "both are told of in any case");
    }
}

/// Of the same moment, by a sensor near the client and one near the server.
#[test]
fn captures_that_overlap_for_most_of_their_time_are_each_for_itself() {
    let talk = |times: [i64; 4]| -> Vec<Shot> {
        let ways = [[CLIENTS[0], END], [END, CLIENTS[0]]].into_iter().cycle();
        let sent = times.into_iter().zip(ways).zip([H1, H2, QI, OK]);
        sent.map(|((ms, [from, to]), text)| shot(START + ms * MS, from, to, &hex(text))).collect()
    };
    let (client, server) = (talk([0, 20, 21, 41]), talk([8, 12, 29, 33]));
    let (heard, totals) = read(&[&client, &server]);
    let alone = [&client, &server].map(|file| read(&[file]).0);
    let rules = |heard: &Collected<true>| heard.packets.iter().map(|p| p.rules()).collect::<Vec<_>>();
    assert_eq!(rules(&heard), alone.each_ref().map(rules).concat());
    assert_eq!((totals.answered, totals.retransmissions), (4, 0));
    // What begins behind the end goes on with it.
    let later: Vec<_> = talk([41, 60, 61, 80]).split_off(2);
    assert_eq!(read(&[&client[..3], &later]).1.retransmissions, 1);
}

/// A challenge and a query with their answers.
fn queried(time: i64) -> [Shot; 5] {
    let asks = |ms, text| shot(time + ms * MS, CLIENTS[0], END, &hex(text));
    let tells = |ms, text| shot(time + ms * MS, END, CLIENTS[0], &hex(text));
    [foreign(time - 10 * S), asks(0, H1), tells(1, H2), asks(2, QI), tells(3, OK)]
}

#[test]
fn what_rules_remember_of_one_file_says_nothing_of_the_next_where_each_is_for_itself() {
    let (first, second) = (queried(START), queried(START + 20 * S));
    for (per_file, again) in [(false, 1), (true, 0)] {
        let options = Options { per_file, ..everything() };
        let (heard, _) = read_as(options, Collected::<true>::default(), &[&first, &second]);
        let found = heard.packets.iter().filter(|p| p.rules().contains(&"SQP-TXN-015")).count();
        assert_eq!(found, again, "each for itself: {per_file}");
    }
}

#[test]
fn of_which_servers_one_side_is_missing_is_known_of_each_file_that_is_for_itself() {
    let later = START + 200 * S;
    let answers = (1..=5)
        .map(|n| shot(later, END, ([10, 0, 0, n], 9), &hex(&OK.replace("80902348", &format!("8090234{n}")))));
    let answers: Vec<_> = [foreign(later - 10 * S)].into_iter().chain(answers).collect();
    let whole = [queried(START), queried(START + 400 * S)];
    let files: [&[Shot]; 3] = [&whole[0], &answers, &whole[1]];
    for (per_file, files, errors) in [(true, &files[..], 0), (true, &files[1..2], 0), (false, &files[..], 5)]
    {
        let judge = |_: &mut Entry, _: &str| Ok(());
        let check = Check::new(Policy::default(), judge);
        let (check, totals) = read_as(Options { per_file, ..Options::default() }, check, files);
        let one_sided = totals.one_sided.len() as u32;
        let verdict = check.verdict(totals).expect("nothing is written");
        assert_eq!((verdict.counts.error, one_sided), (errors, u32::from(per_file)), "{} files", files.len());
    }
}

#[test]
fn who_names_captures_of_one_direction_each_is_told_to_join_them() {
    let talk = |n: u8| {
        let (client, time) = (([10, 0, 0, n], 9), START + i64::from(n) * S);
        [shot(time, client, END, &poll(n.into())), shot(time + MS, END, client, &state(n.into()))]
    };
    let (requests, answers): (Vec<_>, Vec<_>) = (1..=10).map(talk).map(<[_; 2]>::into).unzip();
    let joined: Vec<_> = (1..=10).flat_map(talk).collect();
    let later = [foreign(START + 60 * S)];
    let told = |per_file, files: &[&[Shot]]| {
        let (_, totals) = read_as(Options { per_file, ..everything() }, Collected::<true>::default(), files);
        limits(&totals).iter().any(|said| said.contains("`mergecap -w BOTH.pcapng FILE...` joins them"))
    };
    assert!(told(false, &[&requests, &answers]) && told(false, &[&answers, &requests]));
    assert!(!told(true, &[&requests, &answers]), "that was wanted");
    assert!(!told(false, &[&joined, &joined]) && !told(false, &[&requests]) && !told(false, &[&answers]));
    assert!(!told(false, &[&requests, &later]) && !told(false, &[&answers, &later]));
}

#[test]
fn behind_a_gap_of_more_than_half_a_minute_a_file_may_begin_with_something_older() {
    let last = START + 10 * S;
    // The server is there with both sides, so that an answer to nothing is one.
    let first =
        [foreign(START), shot(last - S, CLIENTS[0], END, &poll(1)), shot(last, END, CLIENTS[0], &state(1))];
    for (gap, older) in [(S, false), (30 * S, false), (30 * S + NS, true)] {
        let second = [foreign(last + gap), shot(last + gap + MS, END, CLIENTS[1], &state(2))];
        let (heard, _) = read(&[&first, &second]);
        let rules = heard.frame(5).rules();
        assert!(rules.contains(&"SFQ-TXN-001"), "{rules:?}");
        assert_eq!(rules.contains(&"GEN-005"), older, "{gap} ns: {rules:?}");
    }
}

/// Bytes of one read into the buffer.
const BUFFER: u64 = 256 << 10;
/// Blocks that have been read and not been worked on to their end: one in the hands of the loop, two that wait, and in
/// the hands of the reader one that is to wait next, and the beginning of another.
const BLOCKS: u64 = 5;

/// Counts what has been read.
struct Counted(Cursor<Vec<u8>>, Arc<AtomicU64>);

impl Read for Counted {
    fn read(&mut self, space: &mut [u8]) -> io::Result<usize> {
        let got = self.0.read(space)?;
        self.1.fetch_add(got as u64, SeqCst);
        Ok(got)
    }
}

/// Waits at the first datagram until the reader has come as far as it may.
struct Waits {
    given: Arc<AtomicU64>,
    waited: bool,
    /// How far the reader was ahead of a datagram at the most.
    most: u64,
}

impl Report for Waits {
    fn unclaimed(&mut self, d: &Datagram<'_>) -> io::Result<()> {
        if !std::mem::replace(&mut self.waited, true) {
            let began = Instant::now();
            while self.given.load(SeqCst) < BLOCKS * BUFFER {
                assert!(began.elapsed() < Duration::from_secs(60), "the reader reads ahead");
                thread::yield_now();
            }
            // One that reads on does it now.
            thread::sleep(Duration::from_millis(50));
        }
        self.most = self.most.max(self.given.load(SeqCst).saturating_sub(d.at));
        Ok(())
    }
}

#[test]
fn the_reader_waits_when_it_is_so_many_blocks_ahead() {
    let ends: [End; 2] = [([192, 0, 2, 200], 53_124), ([192, 0, 2, 53], 53)];
    let shots: Vec<_> = (0..2_500).map(|n| shot(START + n * MS, ends[0], ends[1], &[0xee; 1_400])).collect();
    let (file, given) = (pcap(&shots), Arc::new(AtomicU64::new(0)));
    assert!(file.len() as u64 > 12 * BUFFER);
    let reader = Counted(Cursor::new(file), given.clone());
    let mut source = Source::from_reader("file", Box::new(reader)).expect("a capture");
    let mut report = Waits { given, waited: false, most: 0 };
    let mut pipeline = Pipeline::new(Options { all: true, ..Options::default() }, &mut report);
    pipeline.read_ahead(&mut source, "file").expect("it can be read");
    let totals = pipeline.finish(true).expect("nothing is written");
    assert_eq!(totals.unclaimed, 2_500);
    // A block begins with what the one before has left of a frame.
    let frame = 16 + 14 + 20 + 8 + 1_400;
    assert!(report.most <= BLOCKS * BUFFER + frame, "{} bytes ahead", report.most);
}
