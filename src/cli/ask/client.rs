//! Sends the requests of a client and records all datagrams in both directions.

use super::args::AskArgs;
use super::link::{Link, random_number, sleep_until};
use crate::capture::Time;
use crate::cli::clock::now;
use crate::cli::hex::play;
use crate::cli::interrupt;
use crate::net::OwnedFrame;
use crate::pipeline::Options;
use crate::protocols::{Ask, Id, Level};
use crate::report::Totals;
use crate::report::summary::Summary;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Maximum number of times that a request is sent if no answer comes.
const TRIES: usize = 3;
/// Shortest time between two requests. Ten requests per second are no burden for any server.
const PAUSE: Duration = Duration::from_millis(100);
/// How long to wait for further datagrams of an answer.
const PART_WAIT: Duration = Duration::from_millis(50);
/// Maximum number of datagrams received while waiting for one answer or for its parts.
const MAX_PARTS: usize = 64;
/// Maximum number of datagrams kept of a conversation, and of their bytes: a server may answer without end.
const MAX_KEPT: usize = 16_384;
const MAX_KEPT_BYTES: usize = 16 << 20;
/// Maximum number of datagrams of a conversation that are received while parts of its last answer are missing.
const MAX_LAST: usize = 64;

/// How a server is asked.
#[derive(Clone, Copy, Debug)]
pub struct Pace<'a> {
    /// Ask for everything there is.
    pub all: bool,
    /// How often all of it is asked.
    pub count: u16,
    /// From one time to the next.
    pub interval: Duration,
    /// How long an answer is waited for.
    pub timeout: Duration,
    /// How often a request is sent at most.
    pub tries: usize,
    /// How many datagrams may still be sent, by all conversations that share it.
    pub left: Option<&'a AtomicUsize>,
}

impl Pace<'_> {
    /// The pace that the user asks for.
    pub fn of(args: &AskArgs) -> Pace<'static> {
        let [interval, timeout] = [args.interval, args.timeout].map(to_duration);
        Pace { all: args.all, count: args.count, interval, timeout, tries: TRIES, left: None }
    }

    /// Takes one datagram from those that may still be sent; `false` where none is left.
    fn may_send(&self) -> bool {
        let take = |left: &AtomicUsize| left.fetch_update(Relaxed, Relaxed, |n| n.checked_sub(1)).is_ok();
        self.left.is_none_or(take)
    }
}

/// The recorded conversation with a server.
#[derive(Debug)]
pub struct Conversation {
    pub frames: Vec<OwnedFrame>,
    /// Number of datagrams sent; the others were received.
    pub sent: usize,
    /// Number of requests that were answered.
    pub answered: usize,
    /// Number of datagrams that were received and not kept, for want of room.
    pub left_out: u64,
    /// A request that every client sends was not answered.
    pub lacks_answer: bool,
    /// Number of datagrams that are none of the protocol's.
    pub unclaimed: u64,
    /// Whether an ICMP error reported that nothing listens on the port.
    pub refused: bool,
    /// When the waiting ended.
    pub end: Time,
}

impl Conversation {
    /// A conversation without datagrams.
    pub fn new() -> Conversation {
        Conversation {
            frames: vec![],
            sent: 0,
            answered: 0,
            left_out: 0,
            lacks_answer: false,
            unclaimed: 0,
            refused: false,
            end: now(),
        }
    }
}

/// Sends all requests, one at a time, and records the conversation. `options` are those with which it is dissected.
///
/// # Errors
/// When the network refuses to send.
pub fn ask_server(
    id: Id,
    pace: &Pace<'_>,
    server: SocketAddr,
    options: &Options,
) -> io::Result<Conversation> {
    let options = Options { min_confidence: Level::Low, ..options.clone() };
    let mut client = Client::new(Link::to(server)?, id, *pace, options);
    let mut next = Instant::now();
    for _ in 0..pace.count {
        sleep_until(next);
        next = Instant::now() + pace.interval;
        client.ask_all(server)?;
        if interrupt::caught().is_some() || client.is_full() {
            break;
        }
    }
    client.wait_for_parts()?;
    let unclaimed = client.totals(0, None)?.unclaimed;
    Ok(Conversation { end: now(), unclaimed, refused: client.link.refused, ..client.conversation })
}

/// A connected socket, and the conversation over it.
struct Client<'a> {
    link: Link,
    id: Id,
    pace: Pace<'a>,
    options: Options,
    /// Number of frames before the requests that belong together.
    batch_start: usize,
    /// Bytes of the datagrams that were received and kept.
    bytes: usize,
    /// When the last request was sent.
    last_sent: Option<Instant>,
    conversation: Conversation,
}

impl<'a> Client<'a> {
    fn new(link: Link, id: Id, pace: Pace<'a>, options: Options) -> Client<'a> {
        let conversation = Conversation::new();
        Client { link, id, pace, options, batch_start: 0, bytes: 0, last_sent: None, conversation }
    }

    /// Sends one request after another, each once the previous one has been answered.
    fn ask_all(&mut self, server: SocketAddr) -> io::Result<()> {
        let random = random_number();
        let (mut answered, mut first, mut latest) = (0, vec![], vec![]);
        let server = match server {
            SocketAddr::V4(server) => Some(server),
            SocketAddr::V6(_) => None,
        };
        let (id, all) = (self.id, self.pace.all);
        self.batch_start = self.conversation.frames.len();
        loop {
            let so_far = Ask { answered, silences: 0, all, random, server, first: &first, latest: &latest };
            let payload = |silences| id.ask(&Ask { silences, ..so_far });
            let is_asked = payload(0).is_some();
            let Some(answer) = self.request(payload)? else {
                // What is asked for with --all is optional; a challenge alone is no answer.
                let only_challenge = answered == 1 && id.info().challenge.is_some();
                self.conversation.lacks_answer |= is_asked && (!all || only_challenge);
                break;
            };
            if answered == 0 {
                first.clone_from(&answer);
            }
            latest = answer;
            answered += 1;
        }
        self.conversation.answered += answered;
        Ok(())
    }

    /// Returns the answer to a request. The request is sent again if no answer comes. Copies of earlier answers and datagrams
    /// that cannot be decoded do not count as answers.
    fn request(&mut self, payload: impl Fn(usize) -> Option<Vec<u8>>) -> io::Result<Option<Vec<u8>>> {
        let before = self.answered()?;
        for payload in (0..self.pace.tries).map_while(payload) {
            if !self.pace.may_send() {
                break;
            }
            self.send(&payload)?;
            let deadline = Instant::now() + self.pace.timeout;
            for left in (0..MAX_PARTS).rev() {
                let Some(answer) = self.receive(deadline)? else { break };
                let answered = self.answered()?;
                if answered > before {
                    return self.latest_answer((answer, answered), left).map(Some);
                }
            }
            if interrupt::caught().is_some() {
                break;
            }
        }
        Ok(None)
    }

    /// Receives further datagrams of an answer and returns the last answer: if the request was sent twice and both are answered,
    /// only the token of the later answer is still valid. The first parameter is the first answer, and how many requests were
    /// answered so far.
    fn latest_answer(
        &mut self,
        (mut answer, mut answered): (Vec<u8>, u64),
        max_parts: usize,
    ) -> io::Result<Vec<u8>> {
        for _ in 0..max_parts {
            let Some(next) = self.receive(Instant::now() + PART_WAIT)? else { break };
            let now = self.answered()?;
            if now > answered {
                (answer, answered) = (next, now);
            }
        }
        Ok(answer)
    }

    /// Goes on receiving if parts of an answer are missing, until they count as lost.
    fn wait_for_parts(&mut self) -> io::Result<()> {
        let deadline = Instant::now() + self.pace.timeout + PART_WAIT;
        let later = now().plus(self.options.timeout.unwrap_or_default().saturating_mul(2));
        for _ in 0..MAX_LAST {
            let is_complete = self.totals(0, Some(now()))?.findings == self.totals(0, Some(later))?.findings;
            if is_complete || self.receive(deadline)?.is_none() {
                break;
            }
        }
        Ok(())
    }

    /// How many of the requests that belong together were answered.
    fn answered(&self) -> io::Result<u64> {
        let totals = self.totals(self.batch_start, None)?;
        Ok(totals.answered + totals.late - totals.unreadable)
    }

    /// The totals of the frames from `batch_start` on, if nothing more arrives until `watched`.
    fn totals(&self, batch_start: usize, watched: Option<Time>) -> io::Result<Totals> {
        let frames = self.conversation.frames.get(batch_start..).unwrap_or_default();
        let options = Options { watched, ..self.options.clone() };
        play(("", frames, true), options, &mut Summary::default())
    }

    fn send(&mut self, payload: &[u8]) -> io::Result<()> {
        if let Some(last_sent) = self.last_sent {
            sleep_until(last_sent + PAUSE);
        }
        self.last_sent = Some(Instant::now());
        let frame = self.link.send(payload)?;
        self.conversation.frames.push(frame);
        self.conversation.sent += 1;
        Ok(())
    }

    /// Whether there is no room for another datagram.
    fn is_full(&self) -> bool {
        self.conversation.frames.len() >= MAX_KEPT || self.bytes >= MAX_KEPT_BYTES
    }

    /// Keeps a datagram that was received, or counts it.
    fn keep(&mut self, frame: OwnedFrame, length: usize) {
        if self.is_full() {
            self.conversation.left_out += 1;
            return;
        }
        self.bytes += length;
        self.conversation.frames.push(frame);
    }

    /// Returns the next datagram, or `None` if none comes in time or a signal arrives.
    fn receive(&mut self, deadline: Instant) -> io::Result<Option<Vec<u8>>> {
        let Some((frame, payload)) = self.link.receive(deadline)? else { return Ok(None) };
        self.keep(frame, payload.len());
        Ok(Some(payload))
    }
}

/// A duration from nanoseconds.
pub fn to_duration(nanos: i64) -> Duration {
    Duration::from_nanos(nanos.unsigned_abs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::Endpoint;

    fn client() -> Client<'static> {
        let pace = Pace {
            all: false,
            count: 1,
            interval: Duration::ZERO,
            timeout: Duration::ZERO,
            tries: 1,
            left: None,
        };
        Client::new(Link::to(([127, 0, 0, 1], 9).into()).unwrap(), Id::Sqp, pace, Options::default())
    }

    #[test]
    fn a_flood_of_answers_is_kept_up_to_the_limits_and_counted() {
        for (length, most) in [(1, MAX_KEPT), (65_507, MAX_KEPT_BYTES.div_ceil(65_507))] {
            let mut client = client();
            let end = Endpoint::v4([127, 0, 0, 1], 9);
            (0..most + 3).for_each(|_| client.keep(OwnedFrame::udp(now(), end, end, b"a", 0), length));
            assert_eq!(
                (client.conversation.frames.len(), client.conversation.left_out),
                (most, 3),
                "{length}"
            );
            assert!(client.is_full());
        }
    }
}
