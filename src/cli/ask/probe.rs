//! `qdissect ask --probe`: sends what a careless or hostile client sends, one test after the other.

use super::args::{AskArgs, ProbeMode};
use super::client::{Conversation, to_duration};
use super::link::{Link, random_number, sleep_until};
use crate::check::Policy;
use crate::cli::clock::now;
use crate::cli::diagnostics::note;
use crate::cli::interrupt;
use crate::contract::probing::{Copied, Expect, Part, ProbeRow, Shot};
use crate::protocols::{Id, rules};
use crate::rule::general::{GEN_009, GEN_011, PRB_ALIVE};
use crate::rule::{Rule, Severity};
use crate::verdict::Probed;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

/// Maximum number of datagrams and bytes that are sent, and of bytes that may come back.
const MAX_SENT: usize = 400;
const MAX_SENT_BYTES: usize = 64 << 10;
const MAX_RECEIVED_BYTES: usize = 256 << 10;
/// Longest datagram that is sent.
const MAX_DATAGRAM: usize = 1_400;
/// When it stops.
const MAX_TIME: Duration = Duration::from_secs(180);
/// From one datagram to the next on average, and between tests.
const AVERAGE: Duration = Duration::from_millis(100);
const BETWEEN: Duration = Duration::from_millis(250);
/// How long a server that stopped answering is left alone before the last try.
const RECOVERY: Duration = Duration::from_secs(5);
/// How often the plain query is sent, and how often silence is tried.
const TRIES: usize = 3;
const SILENCES: usize = 2;
/// How long it waits for one client before it looks at the next one.
const TURN: Duration = Duration::from_millis(2);
/// Clients of one test.
const SOCKETS: usize = 8;

/// Prints the tests of a protocol.
///
/// # Errors
/// That it has none.
pub fn list(id: Id) -> Result<String, String> {
    let line = |row: &ProbeRow| {
        let (right, severity, rule) = (right(row.right), row.severity.name(), row.rule);
        let line =
            format!("{:<7} {:<52} {right:<18} {severity:<8} {rule:<12} {}", row.id, row.sends, row.source);
        format!("{}\n", line.trim_end())
    };
    Ok(rows(id)?.iter().map(line).collect())
}

fn rows(id: Id) -> Result<&'static [ProbeRow], String> {
    let name = id.info().name;
    match id.info().probes {
        [] => Err(format!(
            "There are no tests for {name} yet: --check judges what it answers to ordinary requests."
        )),
        rows => Ok(rows),
    }
}

fn right(expect: Expect) -> &'static str {
    match expect {
        Expect::Silence => "silence",
        Expect::Answer(_) => "answer",
        Expect::Each(..) => "an answer to each",
        Expect::Either(_) => "answer or silence",
        Expect::Not(_) => "no such answer",
        Expect::Open => "it goes on",
        Expect::Distinct => "different values",
    }
}

/// The server that is tested.
///
/// # Errors
/// That there are no tests, or that the address is public and nothing allows that.
pub fn fit(mode: ProbeMode, id: Id, servers: &[SocketAddr]) -> Result<SocketAddr, String> {
    rows(id)?;
    let Some(server) = servers.first().filter(|server| !server.ip().is_unspecified()) else {
        return Err("--probe needs the address of one server.".to_owned());
    };
    if mode != ProbeMode::Public && !is_near(server.ip()) {
        return Err(format!("{server} is a public address: --probe=public tests it, if it is yours."));
    }
    Ok(*server)
}

/// Switches off the rules about missing answers, because a row alone judges silence.
///
/// # Errors
/// The name of a rule that is not known.
pub fn leave_silence_to_rows(policy: &mut Policy, id: Id) -> Result<(), String> {
    let is_silence = |rule: &&Rule| [&GEN_009, &GEN_011].contains(rule) || id.info().is_missing_answer(rule);
    rules()
        .filter(is_silence)
        .try_for_each(|rule| policy.set_severity(rule.id, None).map_err(|unknown| unknown.name))
}

/// Whether an address is a loopback, private or link-local one.
fn is_near(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => ip.is_loopback() || ip.is_private() || ip.is_link_local(),
        IpAddr::V6(ip) => ip.is_loopback() || ip.is_unique_local() || ip.is_unicast_link_local(),
    }
}

/// What was sent and received, and the result of each test that ran.
pub struct Tested {
    /// The tests judge for themselves what was not answered.
    pub conversation: Conversation,
    pub rows: Vec<Probed>,
}

/// Tests a server.
///
/// # Errors
/// When the network refuses to send.
pub fn run(args: &AskArgs, id: Id, server: SocketAddr) -> io::Result<Tested> {
    let has_time = |row: &&ProbeRow| args.slow || !row.is_slow();
    let rows: Vec<&'static ProbeRow> = id.info().probes.iter().filter(has_time).collect();
    let shots: usize = rows.iter().map(|row| row.shots.len() * SILENCES + 2).sum();
    note(&format_args!(
        "{server} is sent about {shots} datagrams in {} tests; never more than {MAX_SENT}, {MAX_SENT_BYTES} bytes and {} s.",
        rows.len(),
        MAX_TIME.as_secs()
    ));
    let tested = Tested { conversation: Conversation::new(), rows: vec![] };
    let mut tester =
        Tester { server, timeout: to_duration(args.timeout), begin: Instant::now(), bytes: [0; 2], tested };
    let [plain, others @ ..] = rows.as_slice() else { return Ok(tester.tested) };
    let first = tester.judge(plain)?;
    let answers = first.failed.is_none();
    tester.tested.rows.push(first);
    for row in others {
        if !answers || tester.is_over() {
            break;
        }
        sleep_until(Instant::now() + BETWEEN);
        let result = tester.judge(row)?;
        tester.tested.rows.push(result);
        if !tester.is_over() && tester.judge(plain)?.failed.is_some() {
            let what = format!("server stopped answering after {}", row.id);
            let failed = Some((Severity::Error, what));
            tester.tested.rows.push(Probed { id: row.id, rule: PRB_ALIVE.id, sends: row.sends, failed });
            sleep_until(Instant::now() + RECOVERY);
            if tester.judge(plain)?.failed.is_some() {
                break;
            }
        }
    }
    tester.tested.conversation.end = now();
    Ok(tester.tested)
}

/// The state of a run.
struct Tester {
    server: SocketAddr,
    timeout: Duration,
    begin: Instant,
    /// Bytes sent and received.
    bytes: [usize; 2],
    tested: Tested,
}

/// A client of a test: its socket, and the value that it has got.
struct Client {
    link: Link,
    value: Vec<u8>,
    /// Number of its datagrams that are judged.
    judged: usize,
}

/// What came of the datagrams of a row.
struct Sent {
    /// Those that are judged.
    judged: Vec<Vec<u8>>,
    /// The answers to these.
    answers: Vec<Vec<u8>>,
    /// Why they could not be sent, if a datagram that was to get a value got none.
    lacks: Option<Lack>,
    /// The values that the clients have got.
    values: Vec<Vec<u8>>,
}

/// Why there is no value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lack {
    /// Nothing came, or something else.
    Unanswered,
    /// The server needs none.
    Needless,
}

impl Tester {
    /// Whether a limit is reached, or a signal has come.
    fn is_over(&self) -> bool {
        let [sent, received] = self.bytes;
        self.tested.conversation.sent >= MAX_SENT
            || sent >= MAX_SENT_BYTES
            || received >= MAX_RECEIVED_BYTES
            || self.begin.elapsed() >= MAX_TIME
            || interrupt::caught().is_some()
    }

    /// Runs a test, as often as its judgement needs.
    fn judge(&mut self, row: &'static ProbeRow) -> io::Result<Probed> {
        let tries = match row.right {
            Expect::Answer(_) | Expect::Each(..) => TRIES,
            _ => SILENCES,
        };
        let mut failed = None;
        for _ in 0..tries {
            let sent = self.send_row(row)?;
            let wrong = wrong_in(&sent, row.right);
            // Loss may explain a missing answer, and silence must last.
            let again = match row.right {
                Expect::Answer(_) | Expect::Each(..) => wrong.is_some(),
                Expect::Silence | Expect::Either(_) => wrong.is_none() && sent.answers.is_empty(),
                Expect::Distinct => sent.lacks.is_some(),
                Expect::Not(_) | Expect::Open => false,
            };
            failed = wrong
                .map(|what| (row.severity, format!("{}: {what}; right is {}", row.sends, right(row.right))));
            if sent.lacks == Some(Lack::Needless) || !again || self.is_over() {
                break;
            }
        }
        Ok(Probed { id: row.id, rule: row.rule, sends: row.sends, failed })
    }

    /// Sends the datagrams of a row.
    fn send_row(&mut self, row: &ProbeRow) -> io::Result<Sent> {
        let most = row.shots.iter().map(|shot| shot.socket + 1).max().unwrap_or(0).min(SOCKETS);
        let mut clients = vec![];
        for _ in 0..most {
            clients.push(Client { link: Link::to(self.server)?, value: vec![], judged: 0 });
        }
        let mut sent = Sent { judged: vec![], answers: vec![], lacks: None, values: vec![] };
        for shot in row.shots {
            let due = self.due(shot);
            self.collect(&mut clients, due, usize::MAX, &mut sent.answers)?;
            sleep_until(due);
            let payload = payload(shot, &clients);
            let Some(client) = clients.get_mut(shot.socket) else { continue };
            if self.is_over() {
                break;
            }
            self.send(&mut client.link, &payload)?;
            let Some(taken) = shot.takes else {
                sent.judged.push(payload);
                client.judged += 1;
                continue;
            };
            let answers = self.receive(&mut client.link, 1, Instant::now() + self.timeout)?;
            let value = |answer: &Vec<u8>| Some(answer.strip_prefix(taken.head)?.get(..taken.len)?.to_vec());
            if let Some(value) = answers.iter().find_map(value) {
                client.value = value;
                continue;
            }
            let needs_none =
                |answer: &Vec<u8>| !taken.instead.is_empty() && answer.starts_with(taken.instead);
            sent.lacks = Some(if answers.iter().any(needs_none) { Lack::Needless } else { Lack::Unanswered });
            return Ok(sent);
        }
        // Silence needs the whole window. Where anything may come, everything is taken.
        let most = if row.right == Expect::Open { usize::MAX } else { sent.judged.len() };
        self.collect(&mut clients, Instant::now() + self.timeout, most, &mut sent.answers)?;
        sent.values = clients.into_iter().map(|client| client.value).collect();
        Ok(sent)
    }

    /// When a datagram may be sent.
    fn due(&self, shot: &Shot) -> Instant {
        let average = self.begin + AVERAGE * u32::try_from(self.tested.conversation.sent).unwrap_or(u32::MAX);
        average.max(Instant::now() + Duration::from_millis(shot.wait_ms))
    }

    fn send(&mut self, link: &mut Link, payload: &[u8]) -> io::Result<()> {
        self.tested.conversation.frames.push(link.send(payload)?);
        self.tested.conversation.sent += 1;
        self.bytes[0] += payload.len();
        Ok(())
    }

    /// Receives what comes for datagrams that are judged, from all clients in turn, until the deadline or until there are
    /// `most` answers.
    fn collect(
        &mut self,
        clients: &mut [Client],
        deadline: Instant,
        most: usize,
        answers: &mut Vec<Vec<u8>>,
    ) -> io::Result<()> {
        while clients.iter().any(|client| client.judged > 0)
            && answers.len() < most
            && self.bytes[1] < MAX_RECEIVED_BYTES
            && Instant::now() < deadline
            && interrupt::caught().is_none()
        {
            for client in clients.iter_mut().filter(|client| client.judged > 0) {
                let turn = deadline.min(Instant::now() + TURN);
                answers.extend(self.receive(&mut client.link, 1, turn)?);
            }
        }
        Ok(())
    }

    /// Receives at most so many datagrams until the deadline.
    fn receive(&mut self, link: &mut Link, most: usize, deadline: Instant) -> io::Result<Vec<Vec<u8>>> {
        let mut got = vec![];
        while got.len() < most
            && self.bytes[1] < MAX_RECEIVED_BYTES
            && let Some((frame, payload)) = link.receive(deadline)?
        {
            self.tested.conversation.frames.push(frame);
            self.tested.conversation.answered += 1;
            self.bytes[1] += payload.len();
            got.push(payload);
        }
        Ok(got)
    }
}

/// What is wrong with the answers to a row.
fn wrong_in(sent: &Sent, right: Expect) -> Option<&'static str> {
    let answers = &sent.answers;
    match (right, sent.lacks) {
        (_, Some(Lack::Needless)) | (Expect::Silence | Expect::Open, Some(_)) => None,
        (_, Some(Lack::Unanswered)) => Some("its challenge is not answered"),
        (Expect::Silence, None) => (!answers.is_empty()).then_some("it is answered"),
        (Expect::Answer(head), None) => {
            (!answers.iter().any(|answer| answer.starts_with(head))).then_some("it is not answered")
        }
        (Expect::Each(head, copied), None) => each_is_answered(sent, head, copied),
        (Expect::Either(heads), None) => {
            let is_strange = |answer: &Vec<u8>| !heads.iter().any(|head| answer.starts_with(head));
            answers.iter().any(is_strange).then_some("the answer is of another kind")
        }
        (Expect::Not(head), None) => {
            answers.iter().any(|answer| answer.starts_with(head)).then_some("it is answered")
        }
        (Expect::Distinct, None) => (!are_distinct(&sent.values)).then_some("the values are equal, or zero"),
        (Expect::Open, None) => None,
    }
}

/// What is wrong where each datagram needs an answer of its own.
fn each_is_answered(sent: &Sent, head: &[u8], copied: Copied) -> Option<&'static str> {
    let Copied { from, to, len } = copied;
    let mut left: Vec<&Vec<u8>> = sent.answers.iter().filter(|answer| answer.starts_with(head)).collect();
    if left.len() < sent.judged.len() {
        return Some("not every datagram is answered");
    }
    for datagram in &sent.judged {
        let repeats = |answer: &&Vec<u8>| {
            len == 0
                || answer.get(to..to + len).is_some_and(|part| datagram.get(from..from + len) == Some(part))
        };
        let Some(own) = left.iter().position(repeats) else {
            return Some("an answer repeats something else than its datagram");
        };
        left.swap_remove(own);
    }
    None
}

fn payload(shot: &Shot, clients: &[Client]) -> Vec<u8> {
    let value = |of: usize| clients.get(of).map_or(&[][..], |client| &client.value);
    let mut bytes = vec![];
    for part in shot.parts {
        match *part {
            Part::Bytes(more) => bytes.extend(more),
            Part::Zeros(n) => bytes.extend(std::iter::repeat_n(0, n)),
            Part::Random(n) => {
                let random = std::iter::repeat_with(|| random_number().to_ne_bytes());
                bytes.extend(random.flatten().take(n));
            }
            Part::Value(of) => bytes.extend(value(of)),
            Part::Next(of) => {
                let mut next = value(of).to_vec();
                let carry = |byte: &mut u8| std::mem::replace(byte, byte.wrapping_add(1)) != u8::MAX;
                let _ = next.iter_mut().rev().any(carry);
                bytes.extend(next);
            }
            Part::Reversed(of) => bytes.extend(value(of).iter().rev()),
        }
    }
    bytes.truncate(MAX_DATAGRAM);
    bytes
}

/// Whether no two values are equal, and none is zero.
fn are_distinct(values: &[Vec<u8>]) -> bool {
    let repeated = |(at, value): (usize, &Vec<u8>)| values.iter().skip(at + 1).any(|other| other == value);
    !values.iter().enumerate().any(repeated)
        && !values.iter().any(|value| value.iter().all(|byte| *byte == 0))
}

/// The results in lines: what failed, the worst first, and how many passed.
pub fn lines(rows: &[Probed]) -> String {
    let mut failed: Vec<_> = rows.iter().filter_map(|row| Some((row, row.failed.as_ref()?))).collect();
    failed.sort_by_key(|(_, (severity, _))| std::cmp::Reverse(*severity));
    let mut text: String = failed
        .iter()
        .map(|(row, (severity, what))| {
            let rule = if row.rule.is_empty() { "" } else { " " };
            format!("{}[{}{rule}{}] {what}\n", severity.name(), row.id, row.rule)
        })
        .collect();
    text.push_str(&format!("probe: {} tests, {} passed", rows.len(), rows.len() - failed.len()));
    text
}
