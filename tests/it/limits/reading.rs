//! Limits of reading ahead, and which files continue the previous one.

use super::{S, SERVER_ADDR, poll, state};
use crate::kit::frames::{self, Kept};
use crate::kit::play::{
    Addr, CLIENTS, Collected, RawFrame, SQP_CHALLENGE, SQP_CHALLENGE_REPLY, SQP_QUERY, SQP_QUERY_REPLY,
    START, everything, foreign, udp_frame,
};
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

fn pcap(raw_frames: &[RawFrame]) -> Vec<u8> {
    let kept = |RawFrame { time, link, wire_len, bytes }: RawFrame| Kept { time, link, wire_len, bytes };
    frames::pcap(&raw_frames.iter().cloned().map(kept).collect::<Vec<_>>())
}

/// Reads files one after the other.
fn read(files: &[&[RawFrame]]) -> (Collected<true>, Totals) {
    read_as(everything(), Collected::default(), files)
}

fn read_as<R: Report>(options: Options, mut report: R, files: &[&[RawFrame]]) -> (R, Totals) {
    let mut pipeline = Pipeline::new(options, &mut report);
    for raw_frames in files {
        let mut source =
            Source::from_reader("file", Box::new(Cursor::new(pcap(raw_frames)))).expect("a capture");
        pipeline.read(&mut source, "file").expect("it can be read");
    }
    let totals = pipeline.finish(true).expect("nothing is written");
    (report, totals)
}

#[test]
fn a_file_continues_the_previous_one_if_it_overlaps_by_at_most_a_tenth_of_a_second() {
    let last = START + 10 * S;
    let first = [foreign(START), udp_frame(last, CLIENTS[0], SERVER_ADDR, &poll(1))];
    for (back, answered) in [(0, 1), (100 * MS, 1), (100 * MS + NS, 0)] {
        let second = [foreign(last - back), udp_frame(last + MS, SERVER_ADDR, CLIENTS[0], &state(1))];
        let (collected, totals) = read(&[&first, &second]);
        assert_eq!((totals.answered, totals.undecided), (answered, 1 - answered), "{back} ns");
        assert_eq!(collected.packets.len(), 2, "both are told of in any case");
    }
}

/// Captures of the same time, from a sensor near the client and one near the server.
#[test]
fn captures_that_mostly_overlap_are_separate() {
    let talk = |times: [i64; 4]| -> Vec<RawFrame> {
        let ways = [[CLIENTS[0], SERVER_ADDR], [SERVER_ADDR, CLIENTS[0]]].into_iter().cycle();
        let sent =
            times.into_iter().zip(ways).zip([SQP_CHALLENGE, SQP_CHALLENGE_REPLY, SQP_QUERY, SQP_QUERY_REPLY]);
        sent.map(|((ms, [from, to]), text)| udp_frame(START + ms * MS, from, to, &hex(text))).collect()
    };
    let (client, server) = (talk([0, 20, 21, 41]), talk([8, 12, 29, 33]));
    let (collected, totals) = read(&[&client, &server]);
    let alone = [&client, &server].map(|file| read(&[file]).0);
    let rules = |collected: &Collected<true>| collected.packets.iter().map(|p| p.rules()).collect::<Vec<_>>();
    assert_eq!(rules(&collected), alone.each_ref().map(rules).concat());
    assert_eq!((totals.answered, totals.retransmissions), (4, 0));
    // A file that begins after the end continues it.
    let later: Vec<_> = talk([41, 60, 61, 80]).split_off(2);
    assert_eq!(read(&[&client[..3], &later]).1.retransmissions, 1);
}

/// A challenge and a query with their answers.
fn queried(time: i64) -> [RawFrame; 5] {
    let asks = |ms, text| udp_frame(time + ms * MS, CLIENTS[0], SERVER_ADDR, &hex(text));
    let tells = |ms, text| udp_frame(time + ms * MS, SERVER_ADDR, CLIENTS[0], &hex(text));
    [
        foreign(time - 10 * S),
        asks(0, SQP_CHALLENGE),
        tells(1, SQP_CHALLENGE_REPLY),
        asks(2, SQP_QUERY),
        tells(3, SQP_QUERY_REPLY),
    ]
}

#[test]
fn rules_forget_their_state_between_separate_files() {
    let (first, second) = (queried(START), queried(START + 20 * S));
    for (per_file, again) in [(false, 1), (true, 0)] {
        let options = Options { per_file, ..everything() };
        let (collected, _) = read_as(options, Collected::<true>::default(), &[&first, &second]);
        let found = collected.packets.iter().filter(|p| p.rules().contains(&"SQP-TXN-015")).count();
        assert_eq!(found, again, "each for itself: {per_file}");
    }
}

#[test]
fn servers_with_a_missing_direction_are_known_for_each_separate_file() {
    let later = START + 200 * S;
    let answers = (1..=5).map(|n| {
        udp_frame(
            later,
            SERVER_ADDR,
            ([10, 0, 0, n], 9),
            &hex(&SQP_QUERY_REPLY.replace("80902348", &format!("8090234{n}"))),
        )
    });
    let answers: Vec<_> = [foreign(later - 10 * S)].into_iter().chain(answers).collect();
    let whole = [queried(START), queried(START + 400 * S)];
    let files: [&[RawFrame]; 3] = [&whole[0], &answers, &whole[1]];
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
fn captures_of_one_direction_each_get_a_hint_to_merge_them() {
    let talk = |n: u8| {
        let (client, time) = (([10, 0, 0, n], 9), START + i64::from(n) * S);
        [
            udp_frame(time, client, SERVER_ADDR, &poll(n.into())),
            udp_frame(time + MS, SERVER_ADDR, client, &state(n.into())),
        ]
    };
    let (requests, answers): (Vec<_>, Vec<_>) = (1..=10).map(talk).map(<[_; 2]>::into).unzip();
    let joined: Vec<_> = (1..=10).flat_map(talk).collect();
    let later = [foreign(START + 60 * S)];
    let advises_mergecap = |per_file, files: &[&[RawFrame]]| {
        let (_, totals) = read_as(Options { per_file, ..everything() }, Collected::<true>::default(), files);
        limits(&totals)
            .iter()
            .any(|sentence| sentence.contains("`mergecap -w BOTH.pcapng FILE...` joins them"))
    };
    assert!(
        advises_mergecap(false, &[&requests, &answers]) && advises_mergecap(false, &[&answers, &requests])
    );
    assert!(!advises_mergecap(true, &[&requests, &answers]), "that was wanted");
    assert!(
        !advises_mergecap(false, &[&joined, &joined])
            && !advises_mergecap(false, &[&requests])
            && !advises_mergecap(false, &[&answers])
    );
    assert!(!advises_mergecap(false, &[&requests, &later]) && !advises_mergecap(false, &[&answers, &later]));
}

#[test]
fn a_file_after_a_gap_of_more_than_half_a_minute_may_begin_with_answers_to_missing_requests() {
    let last = START + 10 * S;
    // The server has both directions, so that an unsolicited answer is reported.
    let first = [
        foreign(START),
        udp_frame(last - S, CLIENTS[0], SERVER_ADDR, &poll(1)),
        udp_frame(last, SERVER_ADDR, CLIENTS[0], &state(1)),
    ];
    for (gap, older) in [(S, false), (30 * S, false), (30 * S + NS, true)] {
        let second = [foreign(last + gap), udp_frame(last + gap + MS, SERVER_ADDR, CLIENTS[1], &state(2))];
        let (collected, _) = read(&[&first, &second]);
        let rules = collected.frame(5).rules();
        assert!(rules.contains(&"SFQ-TXN-001"), "{rules:?}");
        assert_eq!(rules.contains(&"GEN-005"), older, "{gap} ns: {rules:?}");
    }
}

/// Size of one read into the buffer.
const BUFFER: u64 = 256 << 10;
/// Maximum number of blocks that are read but not processed: one in the loop, two in the channel, and in the reader one that is
/// sent next and the beginning of another.
const BLOCKS: u64 = 5;

/// A reader that counts the bytes read.
struct Counted(Cursor<Vec<u8>>, Arc<AtomicU64>);

impl Read for Counted {
    fn read(&mut self, space: &mut [u8]) -> io::Result<usize> {
        let got = self.0.read(space)?;
        self.1.fetch_add(got as u64, SeqCst);
        Ok(got)
    }
}

/// Waits at the first datagram until the reader has reached its limit.
struct Waits {
    given: Arc<AtomicU64>,
    waited: bool,
    /// Maximum distance of the reader from a datagram.
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
            // A reader without a limit reads on now.
            thread::sleep(Duration::from_millis(50));
        }
        self.most = self.most.max(self.given.load(SeqCst).saturating_sub(d.at));
        Ok(())
    }
}

#[test]
fn the_reader_waits_when_it_is_too_many_blocks_ahead() {
    let ends: [Addr; 2] = [([192, 0, 2, 200], 53_124), ([192, 0, 2, 53], 53)];
    let raw_frames: Vec<_> =
        (0..2_500).map(|n| udp_frame(START + n * MS, ends[0], ends[1], &[0xee; 1_400])).collect();
    let (file, given) = (pcap(&raw_frames), Arc::new(AtomicU64::new(0)));
    assert!(file.len() as u64 > 12 * BUFFER);
    let reader = Counted(Cursor::new(file), given.clone());
    let mut source = Source::from_reader("file", Box::new(reader)).expect("a capture");
    let mut report = Waits { given, waited: false, most: 0 };
    let mut pipeline = Pipeline::new(Options { all: true, ..Options::default() }, &mut report);
    pipeline.read_ahead(&mut source, "file").expect("it can be read");
    let totals = pipeline.finish(true).expect("nothing is written");
    assert_eq!(totals.unclaimed, 2_500);
    // A block begins with the rest of a frame of the previous block.
    let frame = 16 + 14 + 20 + 8 + 1_400;
    assert!(report.most <= BLOCKS * BUFFER + frame, "{} bytes ahead", report.most);
}
