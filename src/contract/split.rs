//! Messages that were split into datagrams and are joined again: the header of a part, and the joined message.

use super::Info;
use crate::decode::{FieldSink, Shape, Span, Value, fields};
use crate::net::Datagram;
use crate::rule::Rule;

fields! {
    /// What a part of a message says of itself; where the message is whole, what its last part said and how it was joined.
    SPLIT = "split": Group;
    /// Number of the message, the same in all its parts.
    SPLIT_ID = "split.id": Uint volatile;
    /// Layout of the part's header.
    SPLIT_LAYOUT = "split.layout": Named;
    /// How many parts there are.
    SPLIT_TOTAL = "split.total": Uint;
    /// Number of the part, from 0.
    SPLIT_NUMBER = "split.number": Uint;
    /// Both in one byte: the number in its upper half, the total in its lower one.
    SPLIT_NUMBERS = "split.numbers": Uint;
    /// Bytes of the message that a part holds, but for the last one.
    SPLIT_SIZE = "split.size": Uint;
    /// Bytes of the message when it is expanded.
    DECOMPRESSED_SIZE = "split.decompressed_size": Uint;
    /// CRC-32 of those.
    CRC32 = "split.crc32": Uint;
    /// The first of those bytes in a part that is not the first: they end texts that may have begun before it. Masked
    /// unless --show-secrets is given, for they may be a password.
    SPLIT_CONTINUED = "split.continued": Bytes;
    /// Bytes of the message that the part holds, as they are sent.
    SPLIT_DATA = "split.data": Bytes;
    /// Frames of the parts, in the order of their numbers.
    PARTS = "split.parts": List;
    /// A frame of the same file.
    PART = "split.parts[]": Uint volatile;
    /// Bytes of the whole message.
    LENGTH = "split.length": Uint;
}

/// The header of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Split {
    /// Number of the message.
    pub id: u32,
    /// Index into [`Joining::layouts`].
    pub layout: u8,
    /// How many parts there are.
    pub total: u8,
    /// Number of the part, from 0.
    pub number: u8,
    /// Message bytes in each part but the last one, where the layout has that field.
    pub size: Option<u16>,
    /// Size and CRC-32 of the message, where it is compressed with bzip2.
    pub packed: Option<[u32; 2]>,
    /// Offset of its message bytes in the payload.
    pub body: u16,
}

/// Knowledge of the layout of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Nothing.
    Unknown,
    /// The layout that the server used before, or that the first parts of the message seem to have.
    Used(u8),
    /// The layout that another part of the message proves.
    Certain(u8),
}

/// How a protocol splits its messages.
#[derive(Debug)]
pub struct Joining {
    /// Names of the layouts.
    pub layouts: &'static [&'static str],
    /// Reads the header of a part from its captured bytes and its length on the wire; `None` where it has none.
    pub read: fn(&[u8], usize, Layout) -> Option<Split>,
    /// Whether the bytes of a part prove the layout in which its header was read.
    pub proves: fn(&[u8], &Split) -> bool,
    /// The messages that may be split: indices into [`Info::messages`](super::Info::messages).
    pub makes: &'static [u8],
    /// The rule that is broken if the joined bytes are none of these messages.
    pub foreign: &'static Rule,
    /// The rule that is broken if the joined bytes cannot be decompressed to the announced size and checksum.
    pub damaged: &'static Rule,
}

/// A message of which all parts have arrived.
#[derive(Clone, Debug)]
pub struct Whole {
    /// Index into [`Info::messages`](super::Info::messages).
    pub message: u8,
    /// Its bytes, up to the most that can be decoded.
    pub bytes: Vec<u8>,
    /// Length of the whole message in bytes.
    pub length: u32,
    /// Frames of its parts in their file, in the order of their numbers.
    pub parts: Vec<u64>,
}

/// A datagram that is a part of a message, and the message if the datagram completes it.
#[derive(Clone, Debug)]
pub struct Piece {
    /// Its header.
    pub split: Split,
    /// The message that it completes.
    pub whole: Option<Whole>,
    /// The rule that the completed message breaks, if it cannot be read.
    pub broken: Option<&'static Rule>,
    /// Frame of the first part of the message that contradicts others.
    pub contradicted: Option<u64>,
}

impl Whole {
    /// Number of bytes beyond those that can be decoded.
    pub fn missing(&self) -> usize {
        (self.length as usize).saturating_sub(self.bytes.len())
    }
}

impl Piece {
    /// Number of bytes of the message that it completes, or 0.
    pub fn joined_bytes(&self) -> usize {
        self.whole.as_ref().map_or(0, |whole| whole.bytes.len())
    }

    /// The bytes that fields and findings refer to: the payload of the datagram, or the message that it completes.
    pub fn bytes<'a>(&'a self, d: &Datagram<'a>) -> &'a [u8] {
        self.whole.as_ref().map_or(d.payload, |whole| &whole.bytes)
    }

    /// Reports to the sink how a joined message was assembled. None of this is in the message itself.
    #[cold]
    pub fn report_joining<S: FieldSink>(&self, info: &Info, sink: &mut S) {
        let (Split { id, layout, total, number, size, packed, .. }, at) = (self.split, Span::default());
        let Some(whole) = &self.whole else { return };
        let name = info.joining.and_then(|joining| joining.layouts.get(usize::from(layout)));
        let name = Value::Named(layout.into(), name.copied());
        sink.open(&SPLIT, 0, Shape::Group);
        sink.derived(&SPLIT_ID, at, Value::Uint(id));
        sink.derived(&SPLIT_LAYOUT, at, name);
        sink.derived(&SPLIT_TOTAL, at, Value::Uint(total.into()));
        sink.derived(&SPLIT_NUMBER, at, Value::Uint(number.into()));
        size.into_iter().for_each(|size| sink.derived(&SPLIT_SIZE, at, Value::Uint(size.into())));
        if let Some([size, crc]) = packed {
            sink.derived(&DECOMPRESSED_SIZE, at, Value::Uint(size));
            sink.derived(&CRC32, at, Value::Uint(crc));
        }
        sink.open(&PARTS, 0, Shape::List);
        for frame in &whole.parts {
            sink.derived(&PART, at, Value::Uint(u32::try_from(*frame).unwrap_or(u32::MAX)));
        }
        sink.close(0);
        sink.derived(&LENGTH, at, Value::Uint(whole.length));
        sink.close(0);
    }
}
