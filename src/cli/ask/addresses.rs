//! The addresses of the server that is asked.

use crate::net::Endpoint;
use crate::protocols::Id;
use crate::text::escape::{escaped, quoted};
use std::net::{SocketAddr, ToSocketAddrs};

/// Maximum number of addresses of a name that are asked in turn.
const MAX_ADDRESSES: usize = 8;

/// Splits a server's name into host and port.
pub fn parted(text: &str) -> (&str, Option<&str>) {
    match text.rsplit_once(':') {
        // More than one colon outside of brackets: an IPv6 address without a port.
        Some((host, _)) if host.contains(':') && !host.ends_with(']') => (text, None),
        Some((host, port)) => (host, Some(port)),
        None => (text, None),
    }
}

/// The number of a port in `text`.
///
/// # Errors
/// That it is none.
pub fn numbered(port: &str, text: &str) -> Result<u16, String> {
    port.parse().map_err(|_| {
        format!("{} in {} is no UDP port: write a number from 1 to 65535.", quoted(port), quoted(text))
    })
}

/// Resolves a server's name to its addresses. Without a port, `usual` is used, or the protocol's default port.
///
/// # Errors
/// What is wrong with the name or its port.
pub fn addresses(text: &str, id: Id, usual: Option<u16>) -> Result<Vec<SocketAddr>, String> {
    let (host, port) = parted(text);
    let port = match (port, id.info().ports) {
        (Some(port), _) => numbered(port, text)?,
        (None, [port, ..]) => usual.unwrap_or(*port),
        (None, []) => {
            let name = id.info().name;
            let is_port = text.parse::<u16>().is_ok();
            let host = if is_port { "127.0.0.1".into() } else { escaped(text) };
            let port = if is_port { text } else { "9000" };
            return Err(format!(
                "{name} has no port of its own: name one, as in `qdissect ask {name} {host}:{port}`."
            ));
        }
    };
    resolved(host, port)
}

/// The addresses of a host, with that port.
///
/// # Errors
/// That the host is not known, or that many hosts may answer there.
pub fn resolved(host: &str, port: u16) -> Result<Vec<SocketAddr>, String> {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    if port == 0 {
        return Err("Nobody listens on port 0: write a number from 1 to 65535.".to_owned());
    }
    let known = (host, port).to_socket_addrs();
    let known = known.map_err(|e| format!("The host {} is not known: {e}.", quoted(host)))?;
    let known: Vec<_> = known.take(MAX_ADDRESSES).collect();
    if let Some(address) = known.iter().find(|address| Endpoint::from(**address).is_group()) {
        let kind = if address.ip().is_multicast() { "a multicast" } else { "a broadcast" };
        return Err(format!(
            "{} is {kind} address, which many hosts may answer: name one server.",
            address.ip()
        ));
    }
    Ok(known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_without_a_port_get_the_default_of_the_protocol() {
        let found = |text, id| addresses(text, id, None).map(|all| all[0].to_string());
        assert_eq!(found("127.0.0.1:9000", Id::Sqp), Ok("127.0.0.1:9000".into()));
        assert_eq!(found("127.0.0.1", Id::Satisfactory), Ok("127.0.0.1:7777".into()));
        assert_eq!(found("[::1]:9000", Id::Sqp), Ok("[::1]:9000".into()));
        assert_eq!(found("::1", Id::Satisfactory), Ok("[::1]:7777".into()));
        assert_eq!(found("[::1]", Id::Satisfactory), Ok("[::1]:7777".into()));
        let message = found("127.0.0.1", Id::Sqp).unwrap_err();
        assert!(
            message.contains("sqp has no port of its own") && message.contains("127.0.0.1:9000"),
            "{message}"
        );
        for text in ["127.0.0.1:x", "127.0.0.1:70000", "127.0.0.1:0"] {
            assert!(found(text, Id::Sqp).unwrap_err().contains("from 1 to 65535"), "{text}");
        }
        assert!(found("no such host:1", Id::Sqp).unwrap_err().contains("is not known"));
        for (text, kind) in [
            ("224.0.0.251:9", "multicast"),
            ("239.255.255.250", "multicast"),
            ("[ff02::1]:9000", "multicast"),
            ("255.255.255.255:1", "broadcast"),
            ("192.0.2.255", "broadcast"),
        ] {
            assert!(found(text, Id::Satisfactory).unwrap_err().contains(kind), "{text}");
        }
    }
}
