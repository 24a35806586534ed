//! Prepares text that many records have in common.

use crate::exchange::Exchange;
use crate::protocols::{Direction, Id, Level};
use crate::text::line::Line;

/// Prepared text of records, by file, message and step.
#[derive(Debug)]
pub(super) struct Prebuilt {
    files: Vec<File>,
    /// By protocol.
    protocols: Vec<Protocol>,
}

#[derive(Debug)]
struct File {
    /// The name as JSON.
    name: Box<[u8]>,
    /// The beginning of a packet's record, up to the frame number.
    packet: Box<[u8]>,
}

#[derive(Debug)]
struct Protocol {
    /// The text from the protocol of a packet to its confidence, by message and direction.
    messages: Vec<[Box<str>; 2]>,
    /// The text from the protocol of an exchange to its client, and whether several messages may answer, by step.
    steps: Vec<(Box<str>, bool)>,
}

impl Default for Prebuilt {
    fn default() -> Prebuilt {
        let protocols = Id::ALL.iter().map(|id| {
            let info = id.info();
            let message = |name: &str| {
                let prefix = format!(r#","protocol":"{}","message":"{name}","direction""#, info.name);
                let text = |direction: Direction| {
                    format!(r#"{prefix}:"{}","confidence":""#, direction.name()).into()
                };
                [text(Direction::C2s), text(Direction::S2c)]
            };
            let step_text =
                |name| format!(r#","protocol":"{}","step":"{name}","client":""#, info.name).into();
            let steps = info.steps.iter().zip(0..);
            Protocol {
                messages: info.messages.iter().map(|m| message(m.name)).collect(),
                steps: steps.map(|(step, n)| (step_text(step.name), info.has_several_answers(n))).collect(),
            }
        });
        Prebuilt { files: vec![], protocols: protocols.collect() }
    }
}

impl Prebuilt {
    /// Begins a file; `name` is JSON.
    pub fn begin_file(&mut self, name: &[u8]) {
        let packet = [b"{\"type\":\"packet\",\"file\":", name, b",\"frame\":"].concat().into();
        self.files.push(File { name: name.into(), packet });
    }

    /// Appends the name of a file.
    pub fn push_name(&self, line: &mut Line, file: usize) {
        line.extend_from_slice(self.files.get(file).map_or(b"null", |file| &file.name));
    }

    /// Appends the beginning of a packet's record, up to the frame number.
    pub fn push_packet(&self, line: &mut Line, file: usize) {
        const NOWHERE: &[u8] = b"{\"type\":\"packet\",\"file\":null,\"frame\":";
        line.extend_from_slice(self.files.get(file).map_or(NOWHERE, |file| &file.packet));
    }

    /// Appends the text between the destination of a packet and the length of its payload.
    pub fn push_message(&self, line: &mut Line, id: Id, message: u8, direction: Direction, level: Level) {
        let messages = &self.protocols[id as usize].messages;
        let texts_of_message = messages.get(usize::from(message)).or(messages.last()); // `unknown`
        line.extend_from_slice(texts_of_message.map_or(b"", |texts| texts[direction as usize].as_bytes()));
        line.add_few(level.name().as_bytes());
        line.add(b"\",\"payload_length\":");
    }

    /// Appends the text between the file of an exchange and its client.
    pub fn push_step(&self, line: &mut Line, e: &Exchange) {
        line.extend_from_slice(self.step(e).0.as_bytes());
    }

    /// Whether several messages may answer the request of an exchange.
    pub fn has_several_answers(&self, e: &Exchange) -> bool {
        self.step(e).1
    }

    fn step(&self, e: &Exchange) -> &(Box<str>, bool) {
        &self.protocols[e.protocol as usize].steps[usize::from(e.step)]
    }
}
