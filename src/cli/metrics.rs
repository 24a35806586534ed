//! Serves metrics over HTTP to whoever asks for them: one request at a time, within limits of time and size.

use super::diagnostics::note;
use crate::report::metrics::Syntax;
use crate::text::escape::quoted;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

/// How long a client may take, from its connection to the end of the answer.
const MAX_TIME: Duration = Duration::from_secs(5);
/// Longest head of a request in bytes, and most bytes of it that are read after a refusal.
const MAX_HEAD: usize = 64 * 1024;
/// Pause after a connection that could not be accepted, for example for want of file descriptors.
const PAUSE: Duration = Duration::from_millis(100);

/// Parses the address that metrics are served at.
pub fn address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| {
        let port = text.rsplit_once(':').map_or(text, |(_, port)| port).parse::<u16>();
        let example = SocketAddr::from(([127, 0, 0, 1], port.unwrap_or(9400)));
        format!(
            "{} is no IP address with a port, for example {example}; names are not resolved.",
            quoted(text)
        )
    })
}

/// A socket that waits for clients. Those that come before it is served wait, too.
pub struct Endpoint {
    listener: TcpListener,
    address: SocketAddr,
}

impl Endpoint {
    /// Binds the address.
    ///
    /// # Errors
    /// A sentence that says why it cannot be bound.
    pub fn bind(address: SocketAddr) -> Result<Endpoint, String> {
        let bound = TcpListener::bind(address).and_then(|listener| Ok((listener.local_addr()?, listener)));
        let (address, listener) = bound.map_err(|e| {
            format!("Metrics cannot be served at {address}: {e}. Name another address with --metrics.")
        })?;
        Ok(Endpoint { listener, address })
    }

    /// Serves it from now on, in a thread that ends with the process; says where unless it is to be `quiet`. `text` gives the
    /// metrics of the moment.
    ///
    /// # Errors
    /// When the system has no thread.
    pub fn serve(self, quiet: bool, text: impl Fn(Syntax) -> String + Send + 'static) -> io::Result<()> {
        let Endpoint { listener, address } = self;
        let serve = move || {
            for client in listener.incoming() {
                match client {
                    // What goes wrong with one client is that client's.
                    Ok(client) => drop(answer(client, &text)),
                    Err(_) => thread::sleep(PAUSE),
                }
            }
        };
        thread::Builder::new().name("metrics".to_owned()).spawn(serve)?;
        if !quiet {
            note(&format_args!("Metrics are at http://{address}/metrics."));
        }
        Ok(())
    }
}

/// A client whose time is limited.
struct Client {
    stream: TcpStream,
    deadline: Instant,
}

impl Client {
    /// What is left of its time.
    fn left(&self) -> io::Result<Option<Duration>> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(ErrorKind::TimedOut.into()) } else { Ok(Some(left)) }
    }
}

impl Read for Client {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(self.left()?)?;
        self.stream.read(buffer)
    }
}

impl Write for Client {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(self.left()?)?;
        self.stream.write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

/// Reads one request and answers it.
fn answer(stream: TcpStream, text: &dyn Fn(Syntax) -> String) -> io::Result<()> {
    let mut client = Client { stream, deadline: Instant::now() + MAX_TIME };
    let head = read_head(&mut client)?;
    let (status, kind, body) = response(head.as_deref(), text);
    let allow = if status.starts_with("405") { "Allow: GET\r\n" } else { "" };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n{allow}Cache-Control: no-store\r\n\
         X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n",
        body.len()
    );
    client.write_all(head.as_bytes())?;
    client.write_all(body.as_bytes())?;
    client.stream.shutdown(Shutdown::Write)?;
    // A connection that is closed while bytes have not been read is reset, and the client may not see the refusal.
    if !status.starts_with("200") {
        io::copy(&mut client.take(MAX_HEAD as u64), &mut io::sink())?;
    }
    Ok(())
}

/// The head of a request, with the bytes that came with its end; `None` if it is too long.
fn read_head(client: &mut Client) -> io::Result<Option<Vec<u8>>> {
    let (mut head, mut buffer) = (vec![], [0; 4096]);
    loop {
        let length = match client.read(&mut buffer) {
            Err(e) if e.kind() == ErrorKind::Interrupted => continue,
            length => length?,
        };
        if length == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        let searched = head.len().saturating_sub(3);
        head.extend_from_slice(buffer.get(..length).unwrap_or_default());
        if head.get(searched..).unwrap_or_default().windows(4).any(|four| four == b"\r\n\r\n") {
            return Ok(Some(head));
        }
        if head.len() > MAX_HEAD {
            return Ok(None);
        }
    }
}

const PLAIN: &str = "text/plain; charset=utf-8";

/// Status, type and body of the answer to a request, of which the head is given unless it was too long.
fn response(head: Option<&[u8]>, text: &dyn Fn(Syntax) -> String) -> (&'static str, &'static str, String) {
    let plain = |status, body: &str| (status, PLAIN, format!("{body}\n"));
    let Some(head) = head else {
        return plain("431 Request Header Fields Too Large", "The head of a request may have 64 KiB.");
    };
    let head = String::from_utf8_lossy(head);
    let words: Vec<_> = head.lines().next().unwrap_or_default().split(' ').collect();
    let &[method, target, version] = words.as_slice() else {
        return plain("400 Bad Request", "This is no request of HTTP.");
    };
    let path = target.split('?').next().unwrap_or_default();
    match (version.starts_with("HTTP/1."), method, path) {
        (false, ..) => plain("505 HTTP Version Not Supported", "HTTP/1.1 is understood."),
        (true, "GET", "/metrics") => match takes_open_metrics(&head) {
            true => (
                "200 OK",
                "application/openmetrics-text; version=1.0.0; charset=utf-8",
                text(Syntax::OpenMetrics),
            ),
            false => ("200 OK", "text/plain; version=0.0.4; charset=utf-8", text(Syntax::Prometheus)),
        },
        (true, "GET", _) => plain("404 Not Found", "Metrics are at /metrics."),
        _ => plain("405 Method Not Allowed", "Only GET is answered."),
    }
}

/// Whether a client takes OpenMetrics.
fn takes_open_metrics(head: &str) -> bool {
    let fields = head.lines().filter_map(|line| line.split_once(':'));
    let mut accepted = fields.filter(|(name, _)| name.eq_ignore_ascii_case("accept"));
    accepted.any(|(_, value)| value.to_ascii_lowercase().contains("application/openmetrics-text"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(head: &str) -> (&'static str, String) {
        let (status, kind, body) = response(Some(head.as_bytes()), &|syntax| format!("{syntax:?}"));
        assert_eq!(kind == PLAIN, !status.starts_with("200"), "{kind}");
        (status.split(' ').next().unwrap_or_default(), body)
    }

    #[test]
    fn only_gets_of_metrics_are_answered() {
        let get = |more: &str| format!("GET /metrics HTTP/1.1\r\nHost: a\r\n{more}\r\n");
        assert_eq!(status(&get("")), ("200", "Prometheus".to_owned()));
        let accept = "accept: text/html, Application/OpenMetrics-Text; version=1.0.0;q=0.5\r\n";
        assert_eq!(status(&get(accept)), ("200", "OpenMetrics".to_owned()));
        assert_eq!(status("GET /metrics?x HTTP/1.0\r\n\r\n").0, "200");
        for (head, expected) in [
            ("GET / HTTP/1.1", "404"),
            ("GET http://a/metrics HTTP/1.1", "404"),
            ("POST /metrics HTTP/1.1", "405"),
            ("HEAD /metrics HTTP/1.1", "405"),
            ("get /metrics HTTP/1.1", "405"),
            ("GET /metrics HTTP/2", "505"),
            ("GET /metrics", "400"),
            ("", "400"),
            ("\u{fffd} \u{1} \0 x", "400"),
        ] {
            assert_eq!(status(&format!("{head}\r\n\r\n")).0, expected, "{head}");
        }
        assert!(response(None, &|_| String::new()).0.starts_with("431"));
    }

    #[test]
    fn addresses_are_numbers() {
        assert_eq!(address("[::1]:9400"), Ok(SocketAddr::from(([0, 0, 0, 0, 0, 0, 0, 1], 9400))));
        for (text, example) in [
            ("localhost:77", "127.0.0.1:77"),
            ("9401", "127.0.0.1:9401"),
            ("::1", "127.0.0.1:1"),
            ("", "127.0.0.1:9400"),
        ] {
            let message = address(text).unwrap_err();
            assert!(message.contains(example) && message.starts_with('"'), "{message}");
        }
    }
}
