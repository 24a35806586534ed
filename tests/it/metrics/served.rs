//! Metrics over HTTP: of `live` and of `ask --watch`.

use crate::kit;
use crate::kit::exposition::{Exposed, exposed};
use crate::kit::live::{BASE, Fake, Running, qdissect};
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};

/// Waits for the note about the address, and returns it.
fn address(run: &Running) -> String {
    run.await_words("Metrics are at http://");
    let said = run.stderr_text();
    let (_, behind) = said.split_once("Metrics are at http://").unwrap();
    behind.split_once("/metrics.").unwrap().0.to_owned()
}

/// Sends bytes, and reads until the server closes.
fn sent(address: &str, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    // It may refuse before it has everything.
    let _ = stream.write_all(bytes);
    read(&mut stream)
}

fn read(stream: &mut TcpStream) -> String {
    let mut answer = vec![];
    match stream.read_to_end(&mut answer) {
        Err(e) if e.kind() != ErrorKind::ConnectionReset => panic!("{e}"),
        _ => String::from_utf8(answer).unwrap(),
    }
}

fn get(address: &str, more: &str) -> (String, String) {
    let answer = sent(address, format!("GET /metrics HTTP/1.1\r\nHost: {address}\r\n{more}\r\n").as_bytes());
    let (head, body) = answer.split_once("\r\n\r\n").expect("an answer");
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
    let length = format!("Content-Length: {}\r\n", body.len());
    assert!(head.contains(&length), "{head}");
    (head.to_owned(), body.to_owned())
}

/// Asks until the metrics are as they are wanted.
#[track_caller]
fn await_metrics(address: &str, wanted: impl Fn(&Exposed) -> bool) -> Exposed {
    let started = Instant::now();
    loop {
        let (_, text) = get(address, "");
        let exposed = exposed(&text);
        if wanted(&exposed) {
            return exposed;
        }
        assert!(started.elapsed() < Duration::from_secs(60), "{text}");
        thread::sleep(Duration::from_millis(50));
    }
}

/// A Mumble server; returns its address, and how many datagrams it has got.
fn mumble() -> (String, Arc<AtomicUsize>) {
    let got = Arc::new(AtomicUsize::new(0));
    let counted = got.clone();
    let address = kit::serve::serve(move |ping, _| {
        counted.fetch_add(1, SeqCst);
        vec![[&[0, 1, 4, 0], &ping[4..], &[0, 0, 0, 3, 0, 0, 0, 9, 0, 1, 0, 0]].concat()]
    });
    (address, got)
}

fn watch(servers: &[&str], more: &[&str]) -> Running {
    let mut command = qdissect();
    command.args(["ask", "mumble", "--watch", "100ms", "--timeout", "100ms", "--metrics", "127.0.0.1:0"]);
    Running::new({
        command.args(more).args(servers);
        command
    })
}

#[test]
fn several_servers_are_watched_and_counted_apart() {
    let ((one, _), (two, _)) = (mumble(), mumble());
    let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
    let mute = silent.local_addr().unwrap().to_string();
    let run = watch(&[&one, &mute, &two, &one], &[]);
    let at = address(&run);
    let count = |exposed: &Exposed, server: &str, outcome: &str| {
        exposed.sum("qdissect_requests_total", &[("server", server), ("outcome", outcome)])
    };
    let metrics = await_metrics(&at, |exposed| {
        [&one, &two].iter().all(|server| count(exposed, server, "answered") >= 3)
            && count(exposed, &mute, "unanswered") >= 3
    });
    assert_eq!(metrics.values("server").len(), 3, "{:?}", metrics.values("server"));
    assert_eq!(metrics.values("protocol").into_iter().collect::<Vec<_>>(), ["mumble"]);
    for server in [&one, &two] {
        let labels = [("server", server.as_str())];
        assert_eq!(metrics.sum("qdissect_players", &labels), 3);
        assert_eq!(metrics.sum("qdissect_max_players", &labels), 9);
        let times = metrics.sum("qdissect_response_seconds_count", &labels);
        assert_eq!(times, count(&metrics, server, "answered") + count(&metrics, server, "late"));
    }
    assert_eq!(metrics.of("qdissect_players", &[("server", &mute)]).count(), 0);
    assert!(metrics.sum("qdissect_findings_total", &[("server", &mute), ("severity", "error")]) > 0);
    run.signal("INT");
    let ended = run.end();
    assert_eq!(ended.code, Some(130));
    for server in [&one, &two, &mute] {
        assert!(
            ended.out.lines().filter(|line| line.contains(server.as_str())).count() >= 1,
            "{}",
            ended.out
        );
    }
}

#[test]
fn a_server_that_stops_answering_has_no_players_any_more() {
    let answers = Arc::new(AtomicUsize::new(2));
    let left = answers.clone();
    let server = kit::serve::serve(move |ping, _| match left.load(SeqCst) {
        0 => vec![],
        n => {
            left.store(n - 1, SeqCst);
            vec![[&[0, 1, 4, 0], &ping[4..], &[0, 0, 0, 3, 0, 0, 0, 9, 0, 1, 0, 0]].concat()]
        }
    });
    let run = watch(&[&server], &[]);
    let at = address(&run);
    let metrics =
        await_metrics(&at, |it| it.sum("qdissect_requests_total", &[("outcome", "unanswered")]) > 0);
    assert_eq!(metrics.sum("qdissect_requests_total", &[("outcome", "answered")]), 2);
    assert_eq!(metrics.of("qdissect_players", &[]).count(), 0);
    answers.store(usize::MAX, SeqCst);
    await_metrics(&at, |it| it.sum("qdissect_players", &[]) == 3);
    run.signal("TERM");
    assert_eq!(run.end().code, Some(143));
}

#[test]
fn nobody_can_have_it_ask_a_server() {
    let ((watched, _), (other, got)) = (mumble(), mumble());
    let run = watch(&[&watched], &[]);
    let at = address(&run);
    for target in [
        format!("/metrics?target={other}"),
        format!("http://{other}/metrics"),
        format!("/probe?target={other}"),
    ] {
        sent(&at, format!("GET {target} HTTP/1.1\r\nHost: {other}\r\n\r\n").as_bytes());
    }
    sent(&at, format!("POST /metrics HTTP/1.1\r\nContent-Length: 22\r\n\r\n{other}").as_bytes());
    await_metrics(&at, |it| it.sum("qdissect_requests_total", &[("outcome", "answered")]) >= 2);
    assert_eq!(got.load(SeqCst), 0);
    run.signal("INT");
    run.end();
}

#[test]
fn only_gets_are_answered_one_client_after_the_other() {
    let (server, _) = mumble();
    let run = watch(&[&server], &[]);
    let at = address(&run);
    for method in ["POST", "HEAD", "PUT", "OPTIONS"] {
        let answer = sent(
            &at,
            format!("{method} /metrics HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nabcd").as_bytes(),
        );
        assert!(answer.starts_with("HTTP/1.1 405 ") && answer.contains("\r\nAllow: GET\r\n"), "{answer}");
    }
    assert!(sent(&at, b"GET / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404 "));
    assert!(sent(&at, b"\x16\x03\x01\x02\0\x01\r\n\r\n").starts_with("HTTP/1.1 400 "));
    // Both connect before either asks.
    let mut clients = [(); 2].map(|()| TcpStream::connect(&at).unwrap());
    for client in &mut clients {
        client.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").unwrap();
    }
    for client in &mut clients {
        assert!(read(client).ends_with("# EOF\n"));
    }
    let (head, body) = get(&at, "Accept: application/openmetrics-text;version=1.0.0,text/plain;q=0.5\r\n");
    assert!(
        head.contains("Content-Type: application/openmetrics-text; version=1.0.0; charset=utf-8\r\n"),
        "{head}"
    );
    assert_eq!(exposed(&body).types.get("qdissect_requests").map(String::as_str), Some("counter"));
    let (head, body) = get(&at, "Accept: text/plain\r\n");
    assert!(head.contains("Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n"), "{head}");
    assert_eq!(exposed(&body).types.get("qdissect_requests_total").map(String::as_str), Some("counter"));
    run.signal("INT");
    run.end();
}

#[test]
fn a_slow_client_is_cut_off() {
    let (server, _) = mumble();
    let run = watch(&[&server], &[]);
    let at = address(&run);
    let mut slow = TcpStream::connect(&at).unwrap();
    slow.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let begin = Instant::now();
    let mut drip = slow.try_clone().unwrap();
    // Something comes all the time, and never the end.
    thread::spawn(move || {
        while drip.write_all(b"G").is_ok() {
            thread::sleep(Duration::from_millis(100));
        }
    });
    // The next client waits, and is answered then.
    let (_, text) = get(&at, "");
    let waited = begin.elapsed();
    assert!(waited > Duration::from_secs(4) && waited < Duration::from_secs(30), "{waited:?}");
    exposed(&text);
    assert_eq!(read(&mut slow), "");
    run.signal("INT");
    run.end();
}

#[test]
fn a_long_head_is_refused() {
    let (server, _) = mumble();
    let run = watch(&[&server], &[]);
    let at = address(&run);
    let head = |length: usize| {
        let begin = b"GET /metrics HTTP/1.1\r\nX: ";
        [&begin[..], &vec![b'a'; length - begin.len() - 4], b"\r\n\r\n"].concat()
    };
    assert!(sent(&at, &head(64 * 1024)).starts_with("HTTP/1.1 200 "));
    let refused = sent(&at, &head(80 * 1024));
    assert!(refused.starts_with("HTTP/1.1 431 "), "{refused}");
    // A flood without end: it is cut off, and the next client is answered.
    let mut flood = TcpStream::connect(&at).unwrap();
    let begin = Instant::now();
    while flood.write_all(&[b'a'; 4096]).is_ok() {
        assert!(begin.elapsed() < Duration::from_secs(30));
    }
    get(&at, "");
    run.signal("INT");
    run.end();
}

#[test]
fn more_servers_than_can_be_watched_are_refused() {
    let many: Vec<_> = (0..101).map(|n| format!("127.0.0.1:{}", 20_000 + n)).collect();
    let refusal = |args: &[&str]| {
        let ended = kit::live::run_to_end(qdissect().args(["ask", "mumble"]).args(args));
        assert_eq!(ended.code, Some(2), "{}", ended.out);
        ended.err
    };
    let names: Vec<_> = many.iter().map(String::as_str).collect();
    assert!(
        refusal(&[&["--watch", "1s"], &names[..]].concat()).contains("up to 100 servers, and these are 101")
    );
    assert!(refusal(&names[..2]).contains("Only --watch asks several servers"));
    assert!(refusal(&[names[0], "--metrics", "127.0.0.1:0"]).contains("--watch"));
    assert!(refusal(&[names[0], "--watch", "1s", "--metrics", "localhost:9400"]).contains("127.0.0.1:9400"));
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let at = taken.local_addr().unwrap().to_string();
    let said = refusal(&[names[0], "--watch", "1s", "--metrics", &at]);
    assert!(said.contains(&format!("Metrics cannot be served at {at}")), "{said}");
}

/// The capture that a fake program passes on before it waits.
fn program() -> Fake {
    Fake::new("tcpdump", &format!("cat {}; exec sleep 60", Fake::here(BASE)))
}

#[test]
fn live_serves_what_it_has_seen() {
    let fake = program();
    for more in [&["-q"][..], &["--summary"], &["-T", "ndjson", "-V"][..2]] {
        let args = [&["-i", "lo", "--metrics", "127.0.0.1:0"], more].concat();
        let command = fake.live(args);
        let mut file = qdissect();
        file.args(["summary", "-T", "openmetrics", BASE]);
        let expected = exposed(&kit::live::run_to_end(&mut file).out);
        let answered = [("outcome", "answered")];
        let wanted = expected.sum("qdissect_requests_total", &answered);
        assert!(wanted > 0);
        // With -q there is no note.
        if more == ["-q"] {
            continue;
        }
        let live = Running::new(command);
        let at = address(&live);
        let metrics = await_metrics(&at, |it| it.sum("qdissect_requests_total", &answered) == wanted);
        for name in ["qdissect_players", "qdissect_server_info", "qdissect_response_seconds_count"] {
            let of = |exposed: &Exposed| exposed.of(name, &[]).cloned().collect::<Vec<_>>();
            assert_eq!(of(&metrics), of(&expected), "{name}");
        }
        live.signal("INT");
        assert_eq!(live.end().code, Some(0));
    }
}

#[test]
fn an_address_in_use_ends_live_before_it_begins() {
    let fake = program();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let at = taken.local_addr().unwrap().to_string();
    let ended = kit::live::run_to_end(&mut fake.live(["-i", "lo", "--metrics", &at]));
    assert_eq!(ended.code, Some(2));
    assert!(ended.err.contains(&format!("Metrics cannot be served at {at}")), "{}", ended.err);
    assert!(!ended.err.contains("Capturing"), "{}", ended.err);
}

/// Only what it is bound to can be used.
#[cfg(target_os = "linux")]
#[test]
fn the_listener_of_live_has_no_more_rights_than_the_rest() {
    let fake = program();
    let mut command = fake.live(["-i", "lo", "-T", "ndjson", "--metrics", "127.0.0.1:0"]);
    command.env_remove("SUDO_UID").env_remove("SUDO_GID");
    let mut live = Running::new(command);
    let at = address(&live);
    live.await_line("\"outcome\"");
    get(&at, "");
    assert!(live.rights("Threads").len() >= 2, "there is a thread for it");
    for name in ["NoNewPrivs", "Uid", "Gid", "Groups", "CapEff", "CapPrm", "Seccomp"] {
        let rights = live.rights(name);
        assert!(rights.iter().all(|right| *right == rights[0]), "{name}: {rights:?}");
    }
    assert_eq!(live.rights("NoNewPrivs")[0], "1");
    live.signal("INT");
    assert_eq!(live.end().code, Some(0));
}
