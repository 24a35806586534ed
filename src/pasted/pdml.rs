//! Reads packets as Wireshark and tshark write them in PDML: of the fields of a packet, only the payload is bytes, and
//! its two attributes `show` and `value` are one field.

use super::{Metadata, digits, metadata, pattern};
use regex::Regex;
use std::net::{IpAddr, SocketAddr};
use std::sync::LazyLock;

/// The beginning of a packet, or a field with its attributes.
static TAG: LazyLock<Regex> = LazyLock::new(|| pattern(r"<(?:packet>|field\s(?<attributes>[^<>]*)>)"));
static ATTRIBUTE: LazyLock<Regex> =
    LazyLock::new(|| pattern(r#"(?<name>[a-z]+)\s*=\s*(?:"(?<double>[^"]*)"|'(?<single>[^']*)')"#));

/// What the fields of the current packet say.
#[derive(Debug, Default)]
pub struct Packet {
    ips: [Option<IpAddr>; 2],
    ports: [Option<u16>; 2],
    metadata: Metadata,
    /// The payload that has been read; dissectors repeat it as `data`.
    payload: Vec<u8>,
}

/// A payload, the text of it, and facts about it.
pub type Payload<'a> = (Vec<u8>, &'a str, Metadata);

/// Whether a line is PDML.
pub fn is_pdml(line: &str) -> bool {
    let line = line.trim_start();
    ["<field ", "</field", "<proto ", "</proto", "<packet>", "</packet", "<pdml ", "</pdml", "<?xml"]
        .iter()
        .any(|tag| line.starts_with(tag))
}

impl Packet {
    /// Reads the fields of a line, and returns the payloads among them.
    pub fn read<'a>(&mut self, line: &'a str) -> Vec<Payload<'a>> {
        let tags = TAG.captures_iter(line);
        tags.filter_map(|tag| match tag.name("attributes") {
            Some(attributes) => self.field(attributes.as_str()),
            None => {
                *self = Packet::default();
                None
            }
        })
        .collect()
    }

    fn field<'a>(&mut self, attributes: &'a str) -> Option<Payload<'a>> {
        let [mut name, mut show, mut value] = [""; 3];
        for parts in ATTRIBUTE.captures_iter(attributes) {
            let text = parts.name("double").or(parts.name("single")).map_or("", |text| text.as_str());
            match parts.name("name")?.as_str() {
                "name" => name = text,
                "show" => show = text,
                "value" => value = text,
                _ => {}
            }
        }
        let [from, to] = &mut self.ips;
        let [from_port, to_port] = &mut self.ports;
        match name {
            "timestamp" => self.metadata.time = metadata::time(value).map(|(time, _)| time),
            "ip.src" | "ipv6.src" => *from = show.parse().ok(),
            "ip.dst" | "ipv6.dst" => *to = show.parse().ok(),
            "udp.srcport" => *from_port = show.parse().ok(),
            "udp.dstport" => *to_port = show.parse().ok(),
            "data" | "data.data" => {}
            _ if name.ends_with("payload") => {}
            _ => return None,
        }
        let is_bytes = name.starts_with("data") || name.ends_with("payload");
        let text = if value.is_empty() { show } else { value };
        let parsed = digits::read(text).filter(|parsed| is_bytes && parsed.complaints.list.is_empty())?;
        if parsed.bytes == self.payload {
            return None;
        }
        let end = |i: usize| Some(SocketAddr::new((*self.ips.get(i)?)?, (*self.ports.get(i)?)?).into());
        let metadata = Metadata { src: end(0), dst: end(1), ..self.metadata };
        self.payload.clone_from(&parsed.bytes);
        Some((parsed.bytes, text, metadata))
    }
}
