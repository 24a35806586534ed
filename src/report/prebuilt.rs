//! Prepares the parts of records that are the same in many records.

use crate::exchange::Exchange;
use crate::line::Line;
use crate::protocols::{Direction, Id, Level};

/// Text of records by file, message and step.
#[derive(Debug)]
pub(super) struct Ready {
    files: Vec<File>,
    /// By protocol.
    protocols: Vec<Protocol>,
}

#[derive(Debug)]
struct File {
    /// Its name as JSON.
    name: Box<[u8]>,
    /// The beginning of a packet's record, up to the number of the frame.
    packet: Box<[u8]>,
}

#[derive(Debug)]
struct Protocol {
    /// The text from the protocol of a packet to its direction.
    messages: Vec<Box<str>>,
    /// The text from the protocol of an exchange to its client.
    steps: Vec<Box<str>>,
}

impl Default for Ready {
    fn default() -> Ready {
        let protocols = Id::ALL.iter().map(|id| {
            let info = id.info();
            let message = |name: &str| {
                format!(r#","protocol":"{}","message":"{name}","direction":""#, info.name).into()
            };
            let step = |name| format!(r#","protocol":"{}","step":"{name}","client":""#, info.name).into();
            Protocol {
                messages: info.messages.iter().map(|m| message(m.name)).collect(),
                steps: info.steps.iter().map(|it| step(it.name)).collect(),
            }
        });
        Ready { files: vec![], protocols: protocols.collect() }
    }
}

impl Ready {
    /// A file begins; its name is JSON.
    pub fn file(&mut self, name: &[u8]) {
        let packet = [b"{\"type\":\"packet\",\"file\":", name, b",\"frame\":"].concat().into();
        self.files.push(File { name: name.into(), packet });
    }

    /// Appends the name of a file.
    pub fn push_name(&self, line: &mut Line, file: usize) {
        line.extend_from_slice(self.files.get(file).map_or(b"null", |file| &file.name));
    }

    /// Appends the beginning of the record of a packet in a file, up to the number of the frame.
    pub fn push_packet(&self, line: &mut Line, file: usize) {
        const NOWHERE: &[u8] = b"{\"type\":\"packet\",\"file\":null,\"frame\":";
        line.extend_from_slice(self.files.get(file).map_or(NOWHERE, |file| &file.packet));
    }

    /// Appends the text between the destination of a packet and the length of its payload.
    pub fn push_message(&self, line: &mut Line, id: Id, message: u8, direction: Direction, level: Level) {
        let messages = &self.protocols[id as usize].messages;
        let known = messages.get(usize::from(message)).or(messages.last()); // `unknown`
        line.extend_from_slice(known.map_or(b"", |text| text.as_bytes()));
        line.extend_from_slice(direction.name().as_bytes());
        line.add(b"\",\"confidence\":\"");
        // Each of these names has an arm of its own, so that it is a copy of fixed length.
        match level.name() {
            "high" => line.add(b"high"),
            "medium" => line.add(b"medium"),
            other => line.extend_from_slice(other.as_bytes()),
        }
        line.add(b"\",\"payload_length\":");
    }

    /// Appends the text between the file of an exchange and its client.
    pub fn push_step(&self, line: &mut Line, e: &Exchange) {
        line.extend_from_slice(self.protocols[e.protocol as usize].steps[usize::from(e.step)].as_bytes());
    }
}
