//! Sends the requests of a client and records all datagrams in both directions.

use super::AskArgs;
use crate::cli::clock::now;
use crate::cli::hex::play;
use crate::cli::interrupt;
use qdissect::capture::Time;
use qdissect::net::{Endpoint, OwnedFrame};
use qdissect::pipeline::Options;
use qdissect::protocols::{Ask, Level};
use qdissect::report::Totals;
use qdissect::report::summary::Summary;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, UdpSocket};
use std::thread;
use std::time::{Duration, Instant};

/// How often a request is sent at most if no answer comes.
const TRIES: usize = 3;
/// Shortest time between two requests. Ten requests per second are no burden for any server.
const PAUSE: Duration = Duration::from_millis(100);
/// How long to wait for further datagrams of an answer.
const REST: Duration = Duration::from_millis(50);
/// Maximum number of datagrams taken for one answer, or waited through for it.
const MAX_PARTS: usize = 64;
/// Longest wait before checking for a signal.
const LOOK: Duration = Duration::from_millis(250);

/// The recorded conversation.
#[derive(Debug)]
pub struct Talk {
    pub frames: Vec<OwnedFrame>,
    /// Number of datagrams sent; the others were received.
    pub sent: usize,
    /// Number of requests that were answered.
    pub answered: usize,
    /// Number of datagrams that are none of the protocol's.
    pub unclaimed: u64,
    /// Whether an ICMP error reported that nothing listens on the port.
    pub refused: bool,
    /// When the waiting ended.
    pub end: Time,
}

/// Asks as often as planned, one request at a time. `options` are those that the conversation is dissected with.
///
/// # Errors
/// When the network refuses to send.
pub fn talk(args: &AskArgs, server: SocketAddr, options: &Options) -> io::Result<Talk> {
    let any: SocketAddr = match server {
        SocketAddr::V4(_) => ([0, 0, 0, 0], 0).into(),
        SocketAddr::V6(_) => ([0u16; 8], 0).into(),
    };
    // A connected socket sends to and receives from that address only.
    let socket = UdpSocket::bind(any)?;
    socket.connect(server)?;
    let ends = [socket.local_addr()?, server].map(Endpoint::from);
    let talk = Talk { frames: vec![], sent: 0, answered: 0, unclaimed: 0, refused: false, end: now() };
    let options = Options { min_confidence: Level::Low, ..options.clone() };
    let mut client =
        Client { socket, ends, timeout: nanos(args.timeout), options, begin: 0, last: None, talk };
    let mut next = Instant::now();
    for _ in 0..args.count {
        sleep_until(next);
        next = Instant::now() + nanos(args.interval);
        client.ask_all(args, server)?;
        if interrupt::caught().is_some() {
            break;
        }
    }
    client.wait_for_parts()?;
    let unclaimed = client.totals(0, None)?.unclaimed;
    Ok(Talk { end: now(), unclaimed, ..client.talk })
}

/// A socket, and the conversation over it.
struct Client {
    socket: UdpSocket,
    /// The local and the server's endpoint.
    ends: [Endpoint; 2],
    timeout: Duration,
    options: Options,
    /// Number of frames before the requests that belong together.
    begin: usize,
    /// When the last request was sent.
    last: Option<Instant>,
    talk: Talk,
}

impl Client {
    /// Sends one request after another, each once the previous one has been answered.
    fn ask_all(&mut self, args: &AskArgs, server: SocketAddr) -> io::Result<()> {
        let random = RandomState::new().build_hasher().finish();
        let (mut answered, mut first, mut latest) = (0, vec![], vec![]);
        let server = match server {
            SocketAddr::V4(server) => Some(server),
            SocketAddr::V6(_) => None,
        };
        let all = args.all;
        self.begin = self.talk.frames.len();
        loop {
            let so_far = Ask { answered, silences: 0, all, random, server, first: &first, latest: &latest };
            let payload = |silences| args.proto.ask(&Ask { silences, ..so_far });
            let Some(answer) = self.request(payload)? else { break };
            if answered == 0 {
                first.clone_from(&answer);
            }
            latest = answer;
            answered += 1;
        }
        self.talk.answered += answered;
        Ok(())
    }

    /// Returns the answer to a request. The request is sent again if no answer comes: a copy of an earlier answer is none, nor
    /// is what cannot be read.
    fn request(&mut self, payload: impl Fn(usize) -> Option<Vec<u8>>) -> io::Result<Option<Vec<u8>>> {
        let before = self.answered()?;
        for payload in (0..TRIES).map_while(payload) {
            self.send(&payload)?;
            let until = Instant::now() + self.timeout;
            for left in (0..MAX_PARTS).rev() {
                let Some(answer) = self.receive(until)? else { break };
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

    /// Receives further datagrams of an answer. If the request was sent twice and both are answered now, the later answer
    /// counts: its token is the one that the server issued last. With the answer comes how many requests were answered so far.
    fn latest_answer(
        &mut self,
        (mut answer, mut answered): (Vec<u8>, u64),
        most: usize,
    ) -> io::Result<Vec<u8>> {
        for _ in 0..most {
            let Some(next) = self.receive(Instant::now() + REST)? else { break };
            let now = self.answered()?;
            if now > answered {
                (answer, answered) = (next, now);
            }
        }
        Ok(answer)
    }

    /// Goes on receiving if an answer lacks parts, until those count as lost.
    fn wait_for_parts(&mut self) -> io::Result<()> {
        let until = Instant::now() + self.timeout + REST;
        let later = now().plus(self.options.timeout.unwrap_or_default().saturating_mul(2));
        while self.totals(0, Some(now()))?.findings != self.totals(0, Some(later))?.findings
            && self.receive(until)?.is_some()
        {}
        Ok(())
    }

    /// How many of the requests that belong together were answered.
    fn answered(&self) -> io::Result<u64> {
        let totals = self.totals(self.begin, None)?;
        Ok(totals.answered + totals.late)
    }

    /// What the frames from that one on amount to, if nothing more comes until `watched`.
    fn totals(&self, begin: usize, watched: Option<Time>) -> io::Result<Totals> {
        let frames = self.talk.frames.get(begin..).unwrap_or_default();
        let options = Options { watched, ..self.options.clone() };
        play(("", frames, true), options, &mut Summary::default())
    }

    fn send(&mut self, payload: &[u8]) -> io::Result<()> {
        if let Some(last) = self.last {
            sleep_until(last + PAUSE);
        }
        self.last = Some(Instant::now());
        let time = now();
        // The first call may only report the fate of an earlier datagram.
        match self.socket.send(payload) {
            Err(e) if is_refusal(&e) => {
                self.talk.refused = true;
                self.socket.send(payload)?;
            }
            sent => _ = sent?,
        }
        let [here, server] = self.ends;
        self.talk.frames.push(OwnedFrame::udp(time, here, server, payload, 0));
        self.talk.sent += 1;
        Ok(())
    }

    /// Returns the next datagram, or `None` if none comes in time or a signal arrives.
    fn receive(&mut self, until: Instant) -> io::Result<Option<Vec<u8>>> {
        let mut space = vec![0; 65_535];
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() || interrupt::caught().is_some() {
                return Ok(None);
            }
            self.socket.set_read_timeout(Some(left.clamp(Duration::from_millis(1), LOOK)))?;
            match self.socket.recv(&mut space) {
                Ok(length) => {
                    let ([here, server], payload) = (self.ends, space.get(..length).unwrap_or_default());
                    self.talk.frames.push(OwnedFrame::udp(now(), server, here, payload, 0));
                    return Ok(Some(payload.to_vec()));
                }
                Err(e) if is_refusal(&e) => self.talk.refused = true,
                Err(e)
                    if matches!(
                        e.kind(),
                        ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
                    ) => {}
                Err(e) => return Err(e),
            }
        }
    }
}

/// Whether ICMP says that nothing listens on the port. Windows says so as of a connection that was reset.
fn is_refusal(e: &io::Error) -> bool {
    matches!(e.kind(), ErrorKind::ConnectionRefused | ErrorKind::ConnectionReset)
}

fn nanos(nanos: i64) -> Duration {
    Duration::from_nanos(nanos.unsigned_abs())
}

/// Sleeps until `time`, or until a signal arrives.
fn sleep_until(time: Instant) {
    while interrupt::caught().is_none() {
        let left = time.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        thread::sleep(left.min(LOOK));
    }
}
