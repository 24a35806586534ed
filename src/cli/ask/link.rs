//! A socket that sends to one server, and receives from it only.

use crate::cli::clock::now;
use crate::cli::interrupt;
use crate::net::{Endpoint, OwnedFrame};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, UdpSocket};
use std::thread;
use std::time::{Duration, Instant};

/// Longest wait before checking for a signal.
const SIGNAL_CHECK: Duration = Duration::from_millis(250);

/// A connected socket.
pub struct Link {
    socket: UdpSocket,
    local: Endpoint,
    server: Endpoint,
    /// Whether an ICMP error reported that nothing listens on the port.
    pub refused: bool,
}

impl Link {
    /// Connects a new socket.
    ///
    /// # Errors
    /// When the system has no socket, or no way to the server.
    pub fn to(server: SocketAddr) -> io::Result<Link> {
        let unspecified: SocketAddr = match server {
            SocketAddr::V4(_) => ([0, 0, 0, 0], 0).into(),
            SocketAddr::V6(_) => ([0u16; 8], 0).into(),
        };
        let socket = UdpSocket::bind(unspecified)?;
        socket.connect(server)?;
        let local = socket.local_addr()?.into();
        Ok(Link { socket, local, server: server.into(), refused: false })
    }

    /// Sends a datagram, and returns it as a frame.
    ///
    /// # Errors
    /// When the network refuses to send.
    pub fn send(&mut self, payload: &[u8]) -> io::Result<OwnedFrame> {
        let time = now();
        // The first call may only report the fate of an earlier datagram.
        match self.socket.send(payload) {
            Err(e) if is_refusal(&e) => {
                self.refused = true;
                self.socket.send(payload)?;
            }
            sent => _ = sent?,
        }
        Ok(OwnedFrame::udp(time, self.local, self.server, payload, 0))
    }

    /// The next datagram, as a frame and as its payload; `None` if none comes in time or a signal arrives.
    ///
    /// # Errors
    /// When the network fails.
    pub fn receive(&mut self, deadline: Instant) -> io::Result<Option<(OwnedFrame, Vec<u8>)>> {
        let mut buffer = vec![0; 65_535];
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() || interrupt::caught().is_some() {
                return Ok(None);
            }
            self.socket.set_read_timeout(Some(left.clamp(Duration::from_millis(1), SIGNAL_CHECK)))?;
            match self.socket.recv(&mut buffer) {
                Ok(length) => {
                    buffer.truncate(length);
                    return Ok(Some((OwnedFrame::udp(now(), self.server, self.local, &buffer, 0), buffer)));
                }
                Err(e) if is_refusal(&e) => self.refused = true,
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

/// Whether ICMP says that nothing listens on the port. Windows reports this as a reset connection.
fn is_refusal(e: &io::Error) -> bool {
    matches!(e.kind(), ErrorKind::ConnectionRefused | ErrorKind::ConnectionReset)
}

/// A random number.
pub fn random_number() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// Sleeps until `time`, or until a signal arrives.
pub fn sleep_until(time: Instant) {
    while interrupt::caught().is_none() {
        let left = time.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        thread::sleep(left.min(SIGNAL_CHECK));
    }
}
