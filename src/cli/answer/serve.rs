//! The socket of the server: datagrams come in, and answers go out when they are due.

use super::AnswerArgs;
use crate::answer::Server;
use crate::cli::ask::link::random_number;
use crate::cli::ask::to_duration;
use crate::cli::interrupt;
use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

/// Longest wait before checking for a signal.
const SIGNAL_CHECK: Duration = Duration::from_millis(250);
/// Maximum number of answers that wait, and of their bytes: what comes beyond them is lost.
const MAX_WAITING: usize = 4_096;
const MAX_WAITING_BYTES: usize = 16 << 20;

/// What was received and sent.
#[derive(Clone, Copy, Debug, Default)]
pub struct Served {
    pub received: u64,
    pub sent: u64,
}

/// Answers until a signal comes, or as many datagrams as were asked for.
///
/// # Errors
/// When the network fails.
pub fn run(socket: &UdpSocket, mut server: Server, args: &AnswerArgs) -> io::Result<Served> {
    let (mut served, mut waiting) = (Served::default(), Waiting::default());
    let delay = args.delay.map(to_duration).unwrap_or_default();
    let mut buffer = vec![0; 65_535];
    let is_open = |served: &Served| args.count.is_none_or(|most| served.received < most);
    while interrupt::caught().is_none() && (is_open(&served) || !waiting.answers.is_empty()) {
        served.sent += waiting.send(socket);
        let wait = waiting.next().map_or(SIGNAL_CHECK, |due| due.saturating_duration_since(Instant::now()));
        socket.set_read_timeout(Some(wait.clamp(Duration::from_millis(1), SIGNAL_CHECK)))?;
        let (length, from) = match socket.recv_from(&mut buffer) {
            Ok(received) => received,
            Err(e) if is_passing(&e) => continue,
            Err(e) => return Err(e),
        };
        if !is_open(&served) {
            continue;
        }
        served.received += 1;
        let now = Instant::now();
        for reply in server.answer(from, &buffer[..length]) {
            let is_lost = random_number() % 100 < args.loss.into();
            if !is_lost {
                let after = Duration::from_millis(reply.after.into());
                waiting.add(now + delay + after, from, reply.payload);
            }
        }
    }
    Ok(served)
}

/// Whether receiving may go on: nothing came in time, or an earlier answer was refused.
fn is_passing(e: &io::Error) -> bool {
    use ErrorKind::{ConnectionRefused, ConnectionReset, Interrupted, TimedOut, WouldBlock};
    matches!(e.kind(), WouldBlock | TimedOut | Interrupted | ConnectionRefused | ConnectionReset)
}

/// Answers that are not due yet, in the order of their times.
#[derive(Debug, Default)]
struct Waiting {
    answers: BTreeMap<(Instant, u64), (SocketAddr, Vec<u8>)>,
    bytes: usize,
    number: u64,
}

impl Waiting {
    fn add(&mut self, due: Instant, to: SocketAddr, payload: Vec<u8>) {
        if self.answers.len() < MAX_WAITING && self.bytes + payload.len() <= MAX_WAITING_BYTES {
            self.bytes += payload.len();
            self.number += 1;
            self.answers.insert((due, self.number), (to, payload));
        }
    }

    /// When the next one is due.
    fn next(&self) -> Option<Instant> {
        self.answers.first_key_value().map(|((due, _), _)| *due)
    }

    /// Sends those that are due, and returns their number. What the network refuses is lost.
    fn send(&mut self, socket: &UdpSocket) -> u64 {
        let mut sent = 0;
        while let Some(first) = self.answers.first_entry()
            && first.key().0 <= Instant::now()
        {
            let (to, payload) = first.remove();
            self.bytes -= payload.len();
            sent += u64::from(socket.send_to(&payload, to).is_ok());
        }
        sent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_is_bounded() {
        let (now, to) = (Instant::now(), SocketAddr::from(([127, 0, 0, 1], 9)));
        let mut waiting = Waiting::default();
        (0..=MAX_WAITING).for_each(|_| waiting.add(now, to, vec![0]));
        assert_eq!((waiting.answers.len(), waiting.bytes), (MAX_WAITING, MAX_WAITING));
        let mut waiting = Waiting::default();
        (0..300).for_each(|_| waiting.add(now, to, vec![0; 65_507]));
        assert_eq!(waiting.answers.len(), MAX_WAITING_BYTES / 65_507);
    }

    #[test]
    fn answers_are_sent_when_they_are_due_in_order() {
        let [server, client] = [(); 2].map(|()| UdpSocket::bind("127.0.0.1:0").expect("a socket"));
        let to = client.local_addr().expect("an address");
        let (mut waiting, now) = (Waiting::default(), Instant::now());
        waiting.add(now + Duration::from_secs(60), to, b"later".to_vec());
        waiting.add(now, to, b"one".to_vec());
        waiting.add(now, to, b"two".to_vec());
        assert_eq!(waiting.send(&server), 2);
        assert_eq!((waiting.answers.len(), waiting.bytes), (1, 5));
        let mut buffer = [0; 9];
        for expected in [b"one", b"two"] {
            let length = client.recv(&mut buffer).expect("it was sent");
            assert_eq!(&buffer[..length], expected);
        }
    }
}
