//! Use of the library without files: the caller passes frames, datagrams and ticks.

use crate::kit::captures::own;
use qdissect::capture::{CaptureInfo, Source, Time};
use qdissect::check::Finding;
use qdissect::exchange::{Exchange, Outcome};
use qdissect::net::{Datagram, Endpoint};
use qdissect::pipeline::{Options, Pipeline};
use qdissect::report::{Form, Output, Records, Report};
use std::io;
use std::ops::Range;
use std::path::Path;

/// The records of a capture whose frames are passed by `feed`.
fn records(feed: impl FnOnce(&mut Pipeline<'_>)) -> String {
    let mut out = vec![];
    let mut records = Records::new(Output::new(&mut out, Form::Ndjson, false), true, false);
    let mut pipeline = Pipeline::new(Options::default(), &mut records);
    feed(&mut pipeline);
    pipeline.finish(true).expect("nothing fails in memory");
    String::from_utf8(out).expect("records are text")
}

#[test]
fn single_frames_give_the_same_records_as_a_capture() {
    let mut compared = 0;
    for path in own() {
        let open = || Source::open(&path);
        if open().is_err() {
            continue; // it ends within its file header
        }
        let open = || open().expect("a capture");
        let name = path.to_string_lossy();
        let read = records(|pipeline| {
            let _ = pipeline.read(&mut open(), &name); // some are damaged at their end
        });
        let handed_in = records(|pipeline| {
            let mut source = open();
            let first = source.next_time();
            pipeline.begin_file(&name, source.info(), first).expect("nothing fails in memory");
            while let Ok(Some(frame)) = source.next() {
                pipeline.frame(&frame).expect("nothing fails in memory");
            }
            pipeline.end_file(source.info());
        });
        // Comments on packets are passed on only from files.
        if !read.contains("\"comment\":[") {
            assert_eq!(read, handed_in, "{name}");
            compared += 1;
        }
    }
    assert!(compared > 10, "{compared}");
}

#[test]
fn records_of_some_packets_are_the_same_as_among_all() {
    let path = Path::new("captures/demo.pcapng");
    let lines_of = |range: Range<u64>| {
        let mut out = vec![];
        let records = Records::new(Output::new(&mut out, Form::Ndjson, false), true, false);
        let mut records = records.with_range(range);
        let mut pipeline = Pipeline::new(Options { all: true, ..Options::default() }, &mut records);
        pipeline.read(&mut Source::open(path).expect("a capture"), "demo").expect("it is sound");
        pipeline.finish(true).expect("nothing fails in memory");
        String::from_utf8(out).expect("records are text").lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let is = |kind: &str| format!("{{\"type\":\"{kind}\"");
    let of = |lines: &[String], kind: &str| {
        let own = lines.iter().filter(|line| line.starts_with(&is(kind)));
        own.cloned().collect::<Vec<_>>()
    };
    let all = lines_of(0..u64::MAX);
    let packets = of(&all, "packet");
    for range in [0..20, 20..40, 90..1_000, 500..600] {
        let some = lines_of(range.clone());
        let last = packets.len().min(range.end as usize);
        assert_eq!(of(&some, "packet"), packets[last.min(range.start as usize)..last], "{range:?}");
        assert_eq!(some.last(), all.last(), "the summary is of all");
        assert!(some.iter().all(|line| all.contains(line)), "{range:?}");
    }
    let halves = [lines_of(0..50), lines_of(50..1_000)].map(|lines| of(&lines, "exchange"));
    assert!(of(&all, "exchange").iter().all(|line| halves.iter().any(|half| half.contains(line))));
}

/// The outcomes of the exchanges reported so far.
#[derive(Default)]
struct Outcomes(Vec<Outcome>);

impl Report for Outcomes {
    fn exchange(&mut self, exchange: &Exchange, _: &[Finding]) -> io::Result<()> {
        self.0.push(exchange.outcome);
        Ok(())
    }
}

#[test]
fn ticks_close_exchanges_that_waited_too_long() {
    let (client, server) = (Endpoint::v4([192, 0, 2, 1], 40_000), Endpoint::v4([192, 0, 2, 2], 9_000));
    let seconds = |n: i64| Time::from_nanos(n * 1_000_000_000);
    let outcomes_after = |ticks: &[i64]| {
        let mut outcomes = Outcomes::default();
        let mut pipeline = Pipeline::new(Options::default(), &mut outcomes);
        pipeline.begin_file("socket", &CaptureInfo::default(), seconds(1)).expect("no report fails");
        let sent: [(_, _, &[u8]); 3] = [
            (client, server, &[0, 0, 0, 0, 0]),
            (server, client, &[0, 0x5b, 0x6f, 0x2a, 0x91]),
            (client, server, &[1, 0x5b, 0x6f, 0x2a, 0x91, 0, 1, 1]),
        ];
        for (frame, (src, dst, payload)) in (1..).zip(sent) {
            let datagram = Datagram { frame, time: seconds(1), ..Datagram::between(src, dst, payload) };
            pipeline.datagram(&datagram).expect("no report fails");
        }
        ticks.iter().try_for_each(|&n| pipeline.tick(seconds(n))).expect("no report fails");
        drop(pipeline);
        outcomes.0
    };
    assert_eq!(outcomes_after(&[]), [Outcome::Answered]);
    assert_eq!(outcomes_after(&[2]), [Outcome::Answered], "an answer may still come late");
    assert_eq!(outcomes_after(&[60]), [Outcome::Answered, Outcome::Unanswered]);
    assert_eq!(
        outcomes_after(&[60, 61, 5]),
        [Outcome::Answered, Outcome::Unanswered],
        "once, and time never goes back"
    );
}
