//! Datagrams from a socket: asks a server for its challenge, as a client of SQP does, and prints a record for each datagram.
//! Without an address it starts a server of its own, which answers once.
//!
//! ```sh
//! cargo run --example socket -- 203.0.113.5:9000
//! ```

use qdissect::capture::{CaptureInfo, Time};
use qdissect::net::{Datagram, Endpoint};
use qdissect::pipeline::{Options, Pipeline};
use qdissect::report::{Form, Output, Records};
use std::error::Error;
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The request for a challenge: its type, and a token that is zero so far.
const CHALLENGE: [u8; 5] = [0; 5];

/// A server that answers one request with a challenge.
fn server_of_our_own() -> io::Result<SocketAddr> {
    let socket = UdpSocket::bind("127.0.0.1:0")?;
    let address = socket.local_addr()?;
    thread::spawn(move || -> io::Result<()> {
        let (_, client) = socket.recv_from(&mut [0; 64])?;
        socket.send_to(&[0, 0x5b, 0x6f, 0x2a, 0x91], client)?;
        Ok(())
    });
    Ok(address)
}

fn now() -> Result<Time, Box<dyn Error>> {
    Ok(Time::from_nanos(i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH)?.as_nanos())?))
}

fn main() -> Result<(), Box<dyn Error>> {
    let server = match std::env::args().nth(1) {
        Some(address) => address.parse()?,
        None => server_of_our_own()?,
    };
    let socket = UdpSocket::bind(if server.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" })?;
    socket.connect(server)?;
    socket.set_read_timeout(Some(Duration::from_secs(1)))?;
    let (client, server) = (Endpoint::from(socket.local_addr()?), Endpoint::from(server));

    let mut records = Records::new(Output::new(io::stdout().lock(), Form::Ndjson, false), true, false);
    let mut pipeline = Pipeline::new(Options::default(), &mut records);
    pipeline.begin_file("socket", &CaptureInfo::default(), Time::UNKNOWN)?;
    // Datagrams are numbered from 1, as frames of a capture are.
    let mut frame = 0;
    let mut pass = |pipeline: &mut Pipeline<'_>, src, dst, payload: &[u8]| -> Result<(), Box<dyn Error>> {
        frame += 1;
        let datagram = Datagram { frame, time: now()?, ..Datagram::between(src, dst, payload) };
        Ok(pipeline.datagram(&datagram)?)
    };

    socket.send(&CHALLENGE)?;
    pass(&mut pipeline, client, server, &CHALLENGE)?;
    let mut answer = [0; 2_048];
    match socket.recv(&mut answer) {
        Ok(length) => pass(&mut pipeline, server, client, answer.get(..length).unwrap_or_default())?,
        // An exchange is unanswered once capture time has passed its window.
        Err(_) => pipeline.tick(now()?)?,
    }
    pipeline.end_file(&CaptureInfo::default());
    pipeline.finish(true)?;
    Ok(())
}
