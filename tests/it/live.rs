//! `qdissect live` with capture programs that are short shell scripts, and with a real one.
#![cfg(unix)]

use crate::kit::live::{BASE, Fake, NG, end, head, run_to_end};
use std::fs;
use std::time::{Duration, Instant};

#[test]
fn captured_packets_are_shown_and_saved() {
    for (kind, capture) in [("dumpcap", NG), ("tcpdump", BASE)] {
        let fake = Fake::new(kind, &format!("cat {}", Fake::here(capture)));
        let live = run_to_end(fake.live(["-i", "lo", "-T", "ndjson", "-w"]).arg(fake.path("saved")));
        assert_eq!(live.code, Some(0), "{}", live.err);
        assert_eq!(fs::read(fake.path("saved")).unwrap(), fs::read(capture).unwrap());
        assert!(live.err.contains(&format!("Capturing on lo with {kind}")), "{}", live.err);
        let dump = Fake::dump(&fake.path("saved"));
        assert_eq!(live.records(), dump.records());
        assert!(live.records().len() > 3);
    }
}

#[test]
fn dumpcap_comes_first_and_gets_the_arguments() {
    let fake = Fake::new("tcpdump", "exit 9");
    fake.install(
        "dumpcap",
        &format!("printf '<%s>' \"$@\" > {}; cat {}", fake.shown("args"), Fake::here(NG)),
    );
    let line = ["-i", "lo", "-i", "eth0", "-f", "udp port 7777", "-s", "96", "-c", "2"];
    assert_eq!(run_to_end(&mut fake.live(line)).code, Some(0));
    let args = fs::read_to_string(fake.path("args")).unwrap();
    assert_eq!(args, "<-s><96><-c><2><-q><-B><64><-f><udp port 7777><-i><lo><-i><eth0><-w><->");
}

#[test]
fn a_number_of_packets_ends_live_even_if_the_program_goes_on() {
    let fake = Fake::new("dumpcap", &format!("cat {}; sleep 60", Fake::here(NG)));
    let started = Instant::now();
    let live = run_to_end(fake.live(["-i", "lo", "-T", "ndjson", "-c", "2", "-w"]).arg(fake.path("saved")));
    assert!(started.elapsed() < Duration::from_secs(30), "it did not wait for the program");
    assert_eq!((live.code, live.summary()["packets"].as_u64()), (Some(0), Some(2)), "{}", live.err);
    assert_eq!(Fake::dump(&fake.path("saved")).records(), live.records());
}

#[test]
fn signals_end_live_and_the_result_is_finished() {
    for (signal, code) in [("INT", 0), ("TERM", 143)] {
        // The program stops and prints a last message.
        let last = "3 packets dropped by kernel";
        let script = format!(
            "trap 'echo \"{last}\" >&2; exit 0' INT; cat {}; while :; do sleep 0.05; done",
            Fake::here(BASE)
        );
        let fake = Fake::new("tcpdump", &script);
        let mut live = fake.start(["-i", "lo", "-T", "json", "-w", &fake.shown("saved")]);
        live.await_line("\"outcome\"");
        live.signal(signal);
        let ended = live.end();
        assert_eq!(ended.code, Some(code), "{}", ended.err);
        let records: Vec<serde_json::Value> = serde_json::from_str(&ended.out).unwrap();
        assert_eq!(records.last().unwrap()["complete"], true);
        assert_eq!(records.last().unwrap()["dropped"], 3);
        assert!(ended.err.contains("dropped 3"), "{}", ended.err);
        assert_eq!(fs::read(fake.path("saved")).unwrap(), fs::read(BASE).unwrap());
    }
}

#[test]
fn a_program_that_ignores_sigint_is_killed() {
    let fake =
        Fake::new("tcpdump", &format!("trap '' INT; cat {}; while :; do sleep 1; done", Fake::here(BASE)));
    let mut live = fake.start(["-i", "lo", "-T", "ndjson"]);
    live.await_line("\"outcome\"");
    live.signal("INT");
    let ended = live.end();
    assert_eq!((ended.code, &ended.summary()["complete"]), (Some(0), &true.into()), "{}", ended.err);
}

#[test]
fn a_duration_ends_live_without_traffic() {
    let fake = Fake::new("tcpdump", &format!("head -c 24 {}; exec sleep 60", Fake::here(BASE)));
    let live = run_to_end(&mut fake.live(["-i", "lo", "--summary", "-T", "ndjson", "-a", "duration:0.3"]));
    assert_eq!((live.code, live.summary()["packets"].as_u64()), (Some(0), Some(0)), "{}", live.err);
}

#[test]
fn complete_records_are_saved_if_the_program_dies_within_one() {
    for (kind, capture) in [("dumpcap", NG), ("tcpdump", BASE)] {
        let whole = fs::read(capture).unwrap();
        let script = format!("head -c {} {}; kill -9 $$", whole.len() - 7, Fake::here(capture));
        let fake = Fake::new(kind, &script);
        let live = run_to_end(fake.live(["-i", "lo", "-T", "ndjson", "-w"]).arg(fake.path("saved")));
        assert_eq!((live.code, &live.summary()["complete"]), (Some(2), &false.into()));
        assert!(live.err.contains("was ended by signal 9"), "{}", live.err);
        assert!(live.err.contains("not whole were left out"), "{}", live.err);
        let saved = fs::read(fake.path("saved")).unwrap();
        assert!(saved.len() < whole.len() && whole.starts_with(&saved));
        let dump = Fake::dump(&fake.path("saved"));
        assert_eq!((dump.code, dump.records()), (Some(0), live.records()), "{}", dump.err);
    }
}

#[test]
fn complete_records_are_saved_if_qdissect_is_killed() {
    let fake = Fake::new("tcpdump", &format!("cat {}; exec sleep 60", Fake::here(BASE)));
    let mut live = fake.start(["-i", "lo", "-T", "ndjson", "-w", &fake.shown("saved")]);
    live.await_line("\"outcome\"");
    fake.await_bytes("saved", fs::metadata(BASE).unwrap().len());
    live.signal("KILL");
    live.end();
    assert_eq!(fs::read(fake.path("saved")).unwrap(), fs::read(BASE).unwrap());
}

#[test]
fn a_pending_candidate_is_shown_without_further_traffic() {
    // SQP's challenge request, which only its answer could confirm, and nothing after it.
    let capture = Fake::here("captures/sqp/fake_noanswer.pcap");
    let fake = Fake::new("tcpdump", &format!("cat {capture}; exec sleep 60"));
    let mut live = fake.start(["-i", "lo", "--min-confidence", "low"]);
    live.await_line("challenge_request");
    live.signal("INT");
    assert_eq!(live.end().code, Some(0));
}

#[test]
fn an_exchange_times_out_without_further_traffic() {
    let capture = fs::read("captures/satisfactory/playing.pcap").unwrap();
    let fake = Fake::new("tcpdump", "");
    fs::write(fake.path("poll"), head(&capture, 1)).unwrap();
    fake.install("tcpdump", &format!("cat {}; exec sleep 60", fake.shown("poll")));
    let mut live = fake.start(["-i", "lo", "-T", "ndjson", "--timeout", "100ms"]);
    live.await_line("\"outcome\":\"unanswered\"");
    live.signal("INT");
    assert_eq!(live.end().code, Some(0));
}

#[test]
fn the_busiest_servers_are_lines_once_a_second() {
    // The capture is of one moment, which is the present while nothing else comes.
    let capture = Fake::here("captures/a2s/a2s_all_clients.pcap");
    let fake = Fake::new("tcpdump", &format!("cat {capture}; exec sleep 60"));
    let mut live = fake.start(["-i", "lo", "--top"]);
    live.await_line(" lost, median ");
    live.signal("INT");
    let ended = live.end();
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    let line = ended.out.lines().next().unwrap();
    let mut words = line.split(' ');
    let time = words.next().unwrap();
    assert!(time.len() == 8 && time.bytes().all(|b| b.is_ascii_digit() || b == b':'), "{line}");
    assert!(words.next().unwrap().contains(':') && words.next() == Some("a2s"), "{line}");
    let refused = run_to_end(&mut fake.live(["-i", "lo", "--top", "-T", "ndjson"]));
    assert_eq!(refused.code, Some(2));
    assert!(refused.err.contains("--summary"), "{}", refused.err);
}

#[test]
fn errors_of_the_capture_program_are_explained() {
    let device = "echo 'tcpdump: nope: No such device exists' >&2; exit 1";
    let list = "if [ \"$1\" = -D ]; then printf '1.e\\033th7 [Up, Running]\\n'; exit 0; fi;";
    let cases = [
        (format!("{list} {device}"), "There is no such interface: nope: No such device exists. There are: 1. e\\x1bth7 (Up, Running)."),
        ("echo \"tcpdump: lo: You don't have permission to perform this capture on that device\" >&2; exit 1".into(), "setcap"),
        ("echo \"tcpdump: can't parse filter expression: syntax error\" >&2; exit 1".into(), "The capture filter is not understood: can't parse filter expression: syntax error."),
        ("printf 'odd\\033[2J\\n' >&2; exit 3".into(), "tcpdump ended with exit status 3. It said: odd\\x1b[2J."),
        ("exit 4".into(), "tcpdump ended with exit status 4, and did not say why."),
    ];
    for (script, expected) in cases {
        let fake = Fake::new("tcpdump", &script);
        fs::write(fake.path("old"), "precious").unwrap();
        let live = run_to_end(fake.live(["-i", "lo", "-w"]).arg(fake.path("old")));
        assert_eq!(live.code, Some(2), "{}", live.err);
        assert!(live.err.contains(expected) && !live.err.contains('\u{1b}'), "{}", live.err);
        assert_eq!(fs::read(fake.path("old")).unwrap(), b"precious", "there was nothing to save");
    }
}

#[test]
fn options_that_do_not_apply_to_live_are_refused() {
    let fake = Fake::new("tcpdump", "exit 0");
    for (line, expected) in [
        (&["-i", "lo", "a.pcap"][..], "reads no file"),
        (&["-i", "lo", "-r", "a.pcap"], "reads no file"),
        (&["-i", "lo", "--allow-truncated"], "about files"),
        (&["-i", "lo", "-i", "eth0"], "one interface"),
        (&["-i", "-"], "qdissect dump -"),
        (&["-i", "lo", "-c", "0"], "write one from 1"),
        (&["-i", "lo", "-w", "-"], "-w needs a file"),
        (&["-i", "lo", "-w", "/nonexistent/a.pcap"], "cannot be saved to \"/nonexistent/a.pcap\""),
        (
            &["-i", "lo", "-b", "filesize:9"],
            "run `dumpcap -i IFACE -b filesize:KB -b files:N -w DIR/NAME.pcapng`",
        ),
        (&["-i", "lo", "-w", "a", "-b", "files:9", "-b", "filesize:9"], "`qdissect dump --follow DIR`"),
        (&["-f", "udp"], "--interface"),
    ] {
        let live = run_to_end(&mut fake.live(line.iter().copied()));
        assert_eq!((live.code, live.out.as_str()), (Some(2), ""), "{line:?}");
        assert!(live.err.contains(expected), "{line:?}: {}", live.err);
    }
}

#[test]
fn the_interfaces_are_listed() {
    let fake = Fake::new("tcpdump", "[ \"$1\" = -D ] && printf '1.eth0 [Up, Running]\\n2.a\\033b [none]\\n'");
    let live = run_to_end(&mut fake.live(["-D"]));
    assert_eq!(
        (live.code, live.out.as_str()),
        (Some(0), "1. eth0 (Up, Running)\n2. a\\x1bb\n"),
        "{}",
        live.err
    );
}

#[test]
fn a_signal_ends_the_reading_of_a_quiet_pipe() {
    for (signal, code) in [("INT", 130), ("TERM", 143)] {
        let mut dump = end(&["dump", "-l", "-T", "ndjson", "-"]);
        dump.feed(&fs::read(BASE).unwrap());
        dump.await_line("\"outcome\"");
        dump.signal(signal);
        let ended = dump.end();
        assert_eq!((ended.code, &ended.summary()["complete"]), (Some(code), &false.into()), "{}", ended.err);
        assert!(ended.err.contains("interrupted"), "{}", ended.err);
    }
}
