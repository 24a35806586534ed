//! `answer`: it is right unless it is told otherwise, breaks the rule that it is told to break, and cannot be used against others.

use crate::kit;
use crate::kit::run::qdissect;
use hashbrown::{HashMap, HashSet};
use qdissect::answer::talk::Talk;
use qdissect::answer::{Rounds, Server, Settings, faults, has_challenge, is_own};
use qdissect::classify::Choice;
use qdissect::contract::{Direction, Level};
use qdissect::pipeline::Options;
use qdissect::protocols::{Ask, Id};
use qdissect::rule::{Rule, Severity, Side, hex};
use qdissect::schema::example::{Act, Dissected, dissect_with, server_port};
use qdissect::verdict::Entry;
use std::io::{BufRead, BufReader};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// The protocols that can be asked.
fn asked() -> impl Iterator<Item = Id> {
    let first =
        Ask { answered: 0, silences: 0, all: false, random: 0, server: None, first: &[], latest: &[] };
    Id::ALL.iter().copied().filter(move |id| id.ask(&first).is_some())
}

fn settings(players: u32) -> Settings {
    Settings {
        name: "Lab 1".into(),
        map: "dm1".into(),
        players,
        max_players: 16,
        port: 27_100,
        ..Settings::default()
    }
}

fn right(id: Id) -> Server {
    Server::new(id, settings(2), is_own)
}

/// What a client does.
#[derive(Clone, Copy, Debug)]
struct Client {
    all: bool,
    times: usize,
}

const CLIENTS: [Client; 4] = [
    Client { all: false, times: 1 },
    Client { all: false, times: 3 },
    Client { all: true, times: 1 },
    Client { all: true, times: 3 },
];

fn conversation(server: &mut Server, client: Client) -> Talk<'_> {
    let mut talk = Talk::with(server, 27_100);
    (0..client.times).for_each(|_| talk.ask(client.all).unwrap());
    talk
}

/// Whether a rule is about how large answers are, which is the protocol's affair.
fn is_of_size(rule: &Rule) -> bool {
    rule.ratio || rule.unproven
}

/// The rules that the server breaks in a conversation, but for symptoms.
fn broken(talk: &Talk<'_>) -> HashSet<&'static str> {
    let verdict = talk.verdict().unwrap();
    let is_fault =
        |entry: &&Entry| entry.counts() && !is_of_size(entry.rule()) && entry.finding.fault != Side::Client;
    verdict.findings.iter().filter(is_fault).map(|entry| entry.rule().id).collect()
}

#[test]
fn every_protocol_that_can_be_asked_is_answered() {
    for id in asked() {
        assert!(!id.info().replies.is_empty(), "{}", id.info().name);
    }
}

#[test]
fn right_answers_are_right_and_say_what_the_server_is_told() {
    for id in asked() {
        for (client, players) in CLIENTS.into_iter().flat_map(|client| [0, 1, 2, 16].map(|n| (client, n))) {
            let what = format!("{} {client:?} {players} players", id.info().name);
            let mut server = Server::new(id, settings(players), is_own);
            let talk = conversation(&mut server, client);
            let verdict = talk.verdict().unwrap();
            let wrong = |entry: &&Entry| entry.finding.severity > Severity::Note && !is_of_size(entry.rule());
            assert_eq!(
                verdict.findings.iter().find(wrong).map(|entry| (entry.rule().id, entry.text())),
                None,
                "{what}"
            );
            assert_eq!(verdict.totals.unanswered, 0, "{what}");
            assert!(verdict.totals.answered >= client.times as u64, "{what}");
            let facts = talk.facts().unwrap();
            let told = settings(players);
            if let Some(name) = facts.server_name {
                assert_eq!(name.text(), told.name, "{what}");
            }
            if let Some(map) = facts.map {
                assert_eq!(map.text(), told.map, "{what}");
            }
            if let Some(seen) = facts.players {
                assert_eq!(seen, (players, told.max_players), "{what}");
            }
        }
    }
}

/// The rules that the examples of a rule break, but for symptoms.
fn broken_by_examples(id: Id, rule: &Rule) -> HashSet<&'static str> {
    let mut all = HashSet::new();
    for example in rule.examples {
        let choice = Choice { pins: vec![(server_port(example), id)], ..Choice::default() };
        let options = Options { choice, min_confidence: Level::Low, all: true, ..Options::default() };
        let Dissected { datagrams, exchanges, .. } = dissect_with(example, options);
        let of_datagrams = datagrams.iter().filter_map(|d| d.dissection.as_ref()).flat_map(|d| &d.findings);
        let findings = of_datagrams.chain(exchanges.iter().flat_map(|(_, findings)| findings));
        all.extend(findings.filter(|finding| finding.counts()).map(|finding| finding.rule.id));
    }
    all
}

/// Plays the client's side of the rule's examples, with the challenges that the server issues.
fn as_its_example(id: Id, rule: &Rule) -> Vec<HashSet<&'static str>> {
    let mut all = vec![];
    for example in rule.examples {
        let mut server = right(id).playing(Rounds::breaking(id, rule).unwrap());
        let mut talk = Talk::with(&mut server, server_port(example));
        let mut issued: HashMap<Vec<u8>, Vec<u8>> = HashMap::new();
        let mut received = vec![].into_iter();
        for step in example.steps {
            match Act::of(step) {
                Act::Send { direction: Direction::C2s, payload, client } => {
                    received = talk.send(client > 0, &with_issued(hex(payload), &issued)).into_iter();
                }
                Act::Send { direction: Direction::S2c, payload, .. } => {
                    if let Some(got) = received.next() {
                        note_issued(&hex(payload), &got, &mut issued);
                    }
                }
                _ => {}
            }
        }
        all.push(broken(&talk));
    }
    all
}

/// Notes where an answer differs from that of the example: there stands a challenge, as a number or in digits.
fn note_issued(example: &[u8], got: &[u8], issued: &mut HashMap<Vec<u8>, Vec<u8>>) {
    let same = example.iter().zip(got).take_while(|(a, b)| a == b).count();
    let digits = |bytes: &[u8]| {
        let start = same - bytes[..same].iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
        let text: Vec<u8> = bytes[start..].iter().copied().take_while(u8::is_ascii_digit).collect();
        String::from_utf8(text).ok()?.parse::<u32>().ok()
    };
    if let (Some(old), Some(new)) = (digits(example), digits(got)) {
        issued.insert(old.to_be_bytes().to_vec(), new.to_be_bytes().to_vec());
    } else if let (true, Some(at)) = (example.len() == got.len(), got.len().checked_sub(4)) {
        issued.insert(example[at..].to_vec(), got[at..].to_vec());
    }
}

fn with_issued(mut payload: Vec<u8>, issued: &HashMap<Vec<u8>, Vec<u8>>) -> Vec<u8> {
    for (old, new) in issued {
        if let Some(at) = payload.windows(old.len()).position(|window| window == *old) {
            payload.splice(at..at + old.len(), new.iter().copied());
        }
    }
    payload
}

#[test]
fn each_fault_raises_its_rule_and_what_its_example_raises() {
    let (mut wrong, mut played) = (vec![], 0);
    for id in asked() {
        let plain: Vec<_> =
            CLIENTS.iter().map(|client| broken(&conversation(&mut right(id), *client))).collect();
        for rule in faults(id) {
            played += 1;
            let allowed = broken_by_examples(id, rule);
            let by_asking = CLIENTS.iter().zip(&plain).map(|(client, plain)| {
                let mut server = right(id).playing(Rounds::breaking(id, rule).unwrap());
                let broken = broken(&conversation(&mut server, *client));
                broken.difference(plain).copied().collect::<HashSet<_>>()
            });
            let by_example = as_its_example(id, rule).into_iter();
            let clients = by_asking.chain(by_example);
            // What a rule of no protocol says is about the conversation: a server whose answers cannot be read has answered nothing.
            let others = |broken: &HashSet<&'static str>| {
                let mut others = broken.clone();
                others.retain(|other| {
                    *other != rule.id && !allowed.contains(other) && !other.starts_with("GEN-")
                });
                others
            };
            let mut seen = vec![];
            let is_exact = |broken: &HashSet<_>| broken.contains(rule.id) && others(broken).is_empty();
            for broken in clients {
                seen.push(broken);
                if seen.last().is_some_and(is_exact) {
                    break;
                }
            }
            if !seen.last().is_some_and(is_exact) {
                wrong.push(format!("{}: {seen:?}", rule.id));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {played}:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn every_rule_about_what_a_server_sends_can_be_played() {
    for id in asked() {
        let played: HashSet<_> = faults(id).iter().map(|rule| rule.id).collect();
        for rule in id.rules().filter(|rule| !rule.active) {
            let is_excluded = is_of_size(rule)
                || id.info().floods == Some(rule)
                || matches!(rule.side, Side::Client | Side::Capture);
            let steps = || rule.examples.iter().flat_map(|example| example.steps).map(Act::of);
            let is_played_by_datagrams = steps().all(|act| !matches!(act, Act::Frame(..) | Act::Copy));
            let is_of_server = !is_excluded && is_raised_by_server(id, rule) && is_played_by_datagrams;
            assert_eq!(is_of_server, played.contains(rule.id), "{}", rule.id);
        }
    }
}

/// Whether an example of the rule raises it on a datagram from the server.
fn is_raised_by_server(id: Id, rule: &Rule) -> bool {
    rule.examples.iter().any(|example| {
        let choice = Choice { pins: vec![(server_port(example), id)], ..Choice::default() };
        let options = Options { choice, min_confidence: Level::Low, all: true, ..Options::default() };
        let Dissected { datagrams, exchanges, .. } = dissect_with(example, options);
        let raises =
            |findings: &[qdissect::report::Finding]| findings.iter().any(|finding| finding.rule == rule);
        let of_server = datagrams.iter().filter(|datagram| datagram.from == "server");
        of_server.filter_map(|d| d.dissection.as_ref()).any(|d| raises(&d.findings))
            || exchanges.iter().any(|(_, findings)| raises(findings))
    })
}

// --- Strangers

/// Of this machine's addresses, only the first one counts as its own in these tests.
fn only_the_first(ip: IpAddr) -> bool {
    ip == Ipv4Addr::LOCALHOST
}

const STRANGERS: [[u8; 4]; 3] = [[127, 0, 0, 2], [127, 0, 0, 3], [127, 9, 9, 9]];

/// Requests that clients of the protocol may send: those of its examples.
fn requests(id: Id) -> Vec<Vec<u8>> {
    let examples = id.info().samples.iter().chain(id.rules().flat_map(|rule| rule.examples));
    let sent = |act| match act {
        Act::Send { direction: Direction::C2s, payload, .. } => Some(hex(payload)),
        _ => None,
    };
    examples.flat_map(|example| example.steps).map(Act::of).filter_map(sent).collect()
}

#[test]
fn strangers_get_no_more_bytes_than_they_sent() {
    for id in asked() {
        let guarded = || Server::new(id, settings(16), only_the_first);
        let servers =
            faults(id).into_iter().filter_map(|rule| Some(guarded().playing(Rounds::breaking(id, rule)?)));
        for mut server in servers.chain([guarded()]) {
            let mut sums: HashMap<IpAddr, [usize; 2]> = HashMap::new();
            for (n, request) in requests(id).iter().cycle().take(300).enumerate() {
                let ip = IpAddr::from(STRANGERS[n % 3]);
                let from = SocketAddr::new(ip, 40_000 + (n % 7) as u16);
                let replies = server.answer(from, request);
                let [received, sent] = sums.entry(ip).or_default();
                *received += request.len();
                *sent += replies.iter().map(|reply| reply.payload.len()).sum::<usize>();
                assert!(sent <= received, "{}: {sent} of {received}", id.info().name);
                assert!(*sent == 0 || has_challenge(id), "{}", id.info().name);
            }
        }
    }
}

#[test]
fn a_stranger_that_returns_its_challenge_gets_everything_and_others_do_not() {
    let mut proven = 0;
    for id in asked().filter(|id| has_challenge(*id)) {
        let mut server = Server::new(id, settings(16), only_the_first);
        let address = kit::serve::serve(move |request, from| {
            server.answer(from, request).into_iter().map(|reply| reply.payload).collect()
        });
        // The second one sends what the first one has learnt.
        let [honest, thief] = STRANGERS[..2] else { unreachable!() };
        let [honest, thief] = [honest, thief].map(|ip| {
            let socket = UdpSocket::bind(SocketAddr::from((ip, 0))).unwrap();
            socket.connect(&address).unwrap();
            socket.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
            socket
        });
        let (mut answered, mut silences, mut first, mut latest) = (0, 0, vec![], vec![]);
        let (mut sent, mut received, mut stolen) = (0, 0, [0; 2]);
        let mut space = [0; 65_535];
        loop {
            let ask = Ask {
                answered,
                silences,
                all: true,
                random: 0x0102_0304_0506_0708,
                server: None,
                first: &first,
                latest: &latest,
            };
            let Some(request) = id.ask(&ask).filter(|_| silences < 6) else { break };
            honest.send(&request).unwrap();
            sent += request.len();
            match honest.recv(&mut space) {
                Err(_) => silences += 1,
                Ok(length) => {
                    received += length;
                    latest = space[..length].to_vec();
                    if answered == 0 {
                        first.clone_from(&latest);
                    }
                    (answered, silences) = (answered + 1, 0);
                }
            }
            thief.send(&request).unwrap();
            stolen[0] += request.len();
            stolen[1] += thief.recv(&mut space).unwrap_or(0);
            assert!(stolen[1] <= stolen[0], "{}: {stolen:?}", id.info().name);
        }
        proven += usize::from(received > sent);
        assert!(answered >= 2, "{}: {answered}", id.info().name);
    }
    assert!(proven >= 2, "{proven}");
}

// --- The program

/// A server that runs until the test ends.
struct Running {
    child: Child,
    address: SocketAddr,
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn answer(args: &[&str]) -> Running {
    let mut child = qdissect()
        .args(["answer", "--listen", "127.0.0.1:0"])
        .args(args)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let line = lines.find_map(|line| line.ok().filter(|line| line.contains("answers in"))).unwrap();
    let address = line.split_whitespace().find_map(|word| word.parse().ok()).unwrap();
    Running { child, address }
}

fn ask(id: Id, address: SocketAddr, args: &[&str]) -> std::process::Output {
    qdissect()
        .args(["ask", id.info().name, &address.to_string(), "--timeout", "300ms"])
        .args(args)
        .output()
        .unwrap()
}

#[test]
fn what_ask_hears_is_right_for_every_protocol() {
    for id in asked() {
        let server = answer(&[id.info().name, "--name", "Lab 1", "--players", "2"]);
        for all in [&["--check"][..], &["--check", "--all"]] {
            let output = ask(id, server.address, all);
            let text = String::from_utf8_lossy(&output.stdout);
            assert_eq!(output.status.code(), Some(0), "{}: {text}", id.info().name);
        }
    }
}

#[test]
fn a_right_server_passes_the_tests_of_servers() {
    let tested = asked().filter(|id| !id.info().probes.is_empty());
    let threads: Vec<_> = tested
        .map(|id| {
            std::thread::spawn(move || {
                let server = answer(&[id.info().name]);
                let output = ask(id, server.address, &["--probe", "--check"]);
                let text = String::from_utf8_lossy(&output.stdout).into_owned();
                // Of what a server may do, notes say what it does.
                let failed: Vec<_> = text
                    .lines()
                    .filter(|line| {
                        line.split_once('[').is_some_and(|(word, test)| {
                            ["error", "warning"].contains(&word)
                                && test.starts_with(|c: char| c.is_lowercase())
                        })
                    })
                    .map(str::to_owned)
                    .collect();
                assert!(text.contains("probe: "), "{}: {text}", id.info().name);
                (id.info().name, failed)
            })
        })
        .collect();
    let failed: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
    assert!(failed.len() >= 5 && failed.iter().all(|(_, failed)| failed.is_empty()), "{failed:#?}");
}

#[test]
fn a_fault_is_seen_by_ask() {
    let rule = faults(Id::Sqp).into_iter().find(|rule| rule.severity == Severity::Error).unwrap();
    let server = answer(&["sqp", "--fault", rule.id]);
    let output = ask(Id::Sqp, server.address, &["--check"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stdout).contains(rule.id));
}

#[test]
fn the_answers_of_a_capture_are_given_again() {
    let server = answer(&["sqp", "--from", "captures/demo.pcapng"]);
    let output = ask(Id::Sqp, server.address, &["-T", "json"]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("query_response"), "{text}");
}

#[test]
fn answers_are_lost_and_delayed_as_asked_for() {
    let server = answer(&["mumble", "--loss", "100%"]);
    assert_eq!(ask(Id::Mumble, server.address, &[]).status.code(), Some(3));
    let server = answer(&["mumble", "--delay", "150ms"]);
    let output = ask(Id::Mumble, server.address, &["-T", "json"]);
    let text = String::from_utf8_lossy(&output.stdout);
    let time = text.split("\"response_time\":").nth(1).unwrap().split([',', '}']).next().unwrap();
    assert!(time.parse::<f64>().unwrap() >= 0.15, "{time}");
}

#[test]
fn what_it_cannot_do_is_said_with_the_way_out() {
    let failed = |args: &[&str]| {
        let output = qdissect().arg("answer").args(args).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(failed(&["auto"]).contains("There is no protocol \"auto\""));
    assert!(failed(&["teamspeak3"]).contains("cannot be asked"));
    assert!(failed(&["sqp", "--fault", "SQP-STR-00"]).contains("SQP-STR-00"));
    assert!(failed(&["sqp", "--fault", "A2S-CHL-004"]).contains("a rule of a2s"));
    assert!(failed(&["sqp", "--fault", "GEN-009"]).contains("--list"));
    assert!(failed(&["quake3", "--name", "a\\b", "--listen", "127.0.0.1:0"]).contains("quake3 cannot say"));
    assert!(failed(&["a2s", "--players", "300", "--listen", "127.0.0.1:0"]).contains("a2s cannot say"));
    assert!(failed(&["sqp", "--listen", "example.org:1"]).contains("no address"));
    assert!(failed(&["sqp", "--loss", "101%"]).contains("percentage"));
}

#[test]
fn strangers_are_told_about_when_it_starts() {
    let greeting = |args: &[&str]| {
        let mut child = qdissect().arg("answer").args(args).stderr(Stdio::piped()).spawn().unwrap();
        let lines: Vec<_> = BufReader::new(child.stderr.take().unwrap()).lines().take(2).collect();
        child.kill().unwrap();
        child.wait().unwrap();
        lines.into_iter().map(Result::unwrap).collect::<Vec<_>>().join("\n")
    };
    assert!(greeting(&["satisfactory", "--listen", "0.0.0.0:0"]).contains("get no answer"));
    assert!(greeting(&["sqp", "--listen", "0.0.0.0:0"]).contains("no more bytes"));
}

// --- Examples as captures

#[test]
fn the_example_of_a_rule_is_written_as_a_capture_in_which_check_finds_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("example.pcapng");
    for rule in qdissect::protocols::rules().filter(|rule| !rule.active) {
        let output = qdissect().args(["rule", "show", rule.id, "-w"]).arg(&file).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}: {output:?}", rule.id);
        let needs_low = String::from_utf8_lossy(&output.stderr).contains("--min-confidence low");
        let confidence = if needs_low { "low" } else { "medium" };
        let check: Vec<u8> = check(&file, confidence);
        let text = String::from_utf8(check).unwrap();
        assert!(text.contains(&format!("\"rule\":\"{}\"", rule.id)), "{} {needs_low}: {text}", rule.id);
    }
}

fn check(file: &std::path::Path, confidence: &str) -> Vec<u8> {
    let mut command: Command = qdissect();
    command.args(["check", "-T", "ndjson", "--show", "note", "--min-confidence", confidence]).arg(file);
    command.output().unwrap().stdout
}
