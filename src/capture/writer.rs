//! Writes captures: pcapng, little-endian, time stamps in nanoseconds.
//!
//! ```text
//!  Section Header          the program; once, but for captures of more than 65,536 interfaces
//!  Interface Description   before the first packet of an interface: link type, snap length, name,
//!                          description, if_tsresol 9
//!  Enhanced Packet         a frame as it was captured, and comments
//!  Simple Packet           a frame without a time stamp, where the block says the same
//!  Interface Statistics    what an interface received and lost
//! ```
//! The blocks are shown in `pcapng.rs` and `blocks.rs`. Time stamps are unsigned counts, so frames from before 1970
//! get a separate interface, with an `if_tsoffset` earlier than all of them.
//!
//! A frame without a time stamp becomes a Simple Packet Block. Such a block names no interface, holds as many bytes
//! as the snap length of the first interface allows, and has no comments. Where this does not fit, the frame becomes
//! an Enhanced Packet Block at the start of 1970, with a comment that says so.

use super::blocks::{BYTE_ORDER, ENHANCED, INTERFACE, MAX_INTERFACES, SECTION, SIMPLE, STATISTICS};
use super::{CaptureInfo, Frame, Interface, SECOND};
use hashbrown::HashMap;
use std::io::{self, Write};

/// Longest text of an option in bytes: the length field has 16 bits.
pub const MAX_TEXT: usize = 65_535;

/// `if_tsresol`: 10^-9 seconds.
const NANOSECONDS: u8 = 9;
/// `if_tsoffset` for frames from before 1970, in seconds: earlier than any [`Time`](super::Time).
const BEFORE_1970: i64 = i64::MIN / SECOND - 1;
/// Comment on a frame without a time stamp in a block that must have one.
const NO_TIME: &str = "qdissect: this packet had no time stamp";

/// An interface of an input: number of the input, number of the interface in it, and whether it is for frames from
/// before 1970.
type Key = (usize, u32, bool);

/// A capture being written. Every block is written in one piece; use a buffered `W`.
#[derive(Debug)]
pub struct Writer<W: Write> {
    out: W,
    application: String,
    block: Vec<u8>,
    /// Numbers of the interfaces described in this section.
    numbers: HashMap<Key, u32>,
    /// Snap length of the first interface, 0 for none.
    snaplen: u32,
    /// The highest time stamp so far, in nanoseconds since 1970.
    latest: i64,
}

impl<W: Write> Writer<W> {
    /// Begins a capture; `application` is the program that writes it.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn new(out: W, application: &str) -> io::Result<Writer<W>> {
        let (application, block, numbers) = (application.to_owned(), vec![], HashMap::new());
        let mut writer = Writer { out, application, block, numbers, snaplen: 0, latest: 0 };
        writer.begin_section()?;
        Ok(writer)
    }

    /// Writes a frame as it was captured, with comments. `input` is a number for its capture, so that the interfaces
    /// of several captures are kept apart; `info` is the information about it. Comments longer than 65,535 bytes
    /// are cut and end with a note that says so.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn frame<T: AsRef<str>>(
        &mut self,
        input: usize,
        info: &CaptureInfo,
        frame: &Frame<'_>,
        comments: &[T],
    ) -> io::Result<()> {
        let nanos = frame.time.nanos();
        let before_1970 = nanos.is_some_and(|nanos| nanos < 0);
        let interface = self.interface_number((input, frame.interface, before_1970), info, frame.link)?;
        if nanos.is_none() && comments.is_empty() && interface == 0 && self.is_simple(frame) {
            self.begin_block(SIMPLE);
            self.word(frame.wire_len);
            self.bytes(frame.bytes);
            return self.end_block();
        }
        self.latest = self.latest.max(nanos.unwrap_or(0));
        self.begin_block(ENHANCED);
        self.word(interface);
        self.time(nanos.unwrap_or(0), before_1970);
        self.word(u32::try_from(frame.bytes.len()).unwrap_or(u32::MAX));
        self.word(frame.wire_len);
        self.bytes(frame.bytes);
        self.pad();
        let untimed = nanos.is_none().then_some(NO_TIME);
        for comment in untimed.into_iter().chain(comments.iter().map(AsRef::as_ref)) {
            self.text(1, comment);
        }
        if untimed.is_some() || !comments.is_empty() {
            self.option(0, &[]);
        }
        self.end_block()
    }

    /// Writes how many packets the interfaces of an input received and lost, as far as the input says and frames of
    /// these interfaces were written. To be called after the last frame of the input.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn statistics(&mut self, input: usize, info: &CaptureInfo) -> io::Result<()> {
        for (number, original) in (0u32..).zip(&info.interfaces) {
            let Some(&interface) = self.numbers.get(&(input, number, false)) else { continue };
            if original.received.is_none() && original.dropped().is_none() {
                continue;
            }
            self.begin_block(STATISTICS);
            self.word(interface);
            self.time(self.latest, false);
            for (code, count) in [(4, original.received), (5, original.dropped())] {
                if let Some(count) = count {
                    self.option(code, &count.to_le_bytes());
                }
            }
            self.option(0, &[]);
            self.end_block()?;
        }
        Ok(())
    }

    /// Ends the capture and returns the output.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }

    /// Begins a section; its interfaces are counted from 0.
    fn begin_section(&mut self) -> io::Result<()> {
        self.numbers.clear();
        self.begin_block(SECTION);
        self.word(BYTE_ORDER);
        self.bytes(&[1, 0, 0, 0]); // version 1.0
        self.bytes(&(-1i64).to_le_bytes()); // its length is not known
        let application = std::mem::take(&mut self.application);
        self.text(4, &application);
        self.application = application;
        self.option(0, &[]);
        self.end_block()
    }

    /// Describes an interface of an input without a name, before the first frame of any.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn interface(&mut self, input: usize, interface: u32, link: u16) -> io::Result<()> {
        self.interface_number((input, interface, false), &CaptureInfo::default(), link).map(|_| ())
    }

    /// The number of an interface in this section; before the first frame of an input, all its interfaces are described that
    /// the information lists. Copies of a datagram on several interfaces are found from the beginning only if these are known
    /// there.
    fn interface_number(&mut self, key: Key, info: &CaptureInfo, link: u16) -> io::Result<u32> {
        if let Some(&number) = self.numbers.get(&key) {
            return Ok(number);
        }
        let (input, own, _) = key;
        // A frame is never written to an interface of another link type.
        let fits = |number: u32, listed: &Interface| number != own || listed.link == link;
        for (number, listed) in (0..).zip(&info.interfaces).filter(|(number, listed)| fits(*number, listed)) {
            let key = (input, number, false);
            if !self.numbers.contains_key(&key) {
                self.describe(key, info, listed.link)?;
            }
        }
        self.numbers.get(&key).copied().map_or_else(|| self.describe(key, info, link), Ok)
    }

    /// Describes an interface, and returns its number in this section.
    fn describe(&mut self, key: Key, info: &CaptureInfo, link: u16) -> io::Result<u32> {
        if self.numbers.len() >= MAX_INTERFACES {
            self.begin_section()?;
        }
        let number = u32::try_from(self.numbers.len()).unwrap_or(u32::MAX);
        let (_, source, before_1970) = key;
        let original = info.interfaces.get(source as usize).filter(|original| original.link == link);
        let snaplen = original.and_then(|original| original.snaplen).unwrap_or(0);
        self.begin_block(INTERFACE);
        self.bytes(&link.to_le_bytes());
        self.bytes(&[0, 0]);
        self.word(snaplen);
        if let Some(Interface { name, description, comment, .. }) = original {
            for (code, text) in [(1, comment), (2, name), (3, description)] {
                if let Some(text) = text {
                    self.text(code, text);
                }
            }
        }
        self.option(9, &[NANOSECONDS]);
        if before_1970 {
            self.option(14, &BEFORE_1970.to_le_bytes());
        }
        self.option(0, &[]);
        self.end_block()?;
        if number == 0 {
            self.snaplen = snaplen;
        }
        self.numbers.insert(key, number);
        Ok(number)
    }

    /// Whether a Simple Packet Block of the first interface would hold exactly the bytes of the frame.
    fn is_simple(&self, frame: &Frame<'_>) -> bool {
        let limit = if self.snaplen == 0 { u32::MAX } else { self.snaplen };
        frame.wire_len.min(limit) as usize == frame.bytes.len()
    }

    /// Writes a time stamp, given in nanoseconds since 1970.
    fn time(&mut self, nanos: i64, before_1970: bool) {
        let offset = if before_1970 { i128::from(BEFORE_1970).saturating_mul(SECOND.into()) } else { 0 };
        let count = u64::try_from(i128::from(nanos).saturating_sub(offset)).unwrap_or(0);
        self.word((count >> 32) as u32);
        self.word(count as u32);
    }

    fn begin_block(&mut self, kind: u32) {
        self.block.clear();
        self.word(kind);
        self.word(0);
    }

    /// Writes the block out, with its length at both ends.
    fn end_block(&mut self) -> io::Result<()> {
        self.pad();
        let total = self.block.len().saturating_add(4);
        let total = u32::try_from(total).map_err(|_| io::Error::other("a block of 4 GiB or more"))?;
        if let Some(place) = self.block.get_mut(4..8) {
            place.copy_from_slice(&total.to_le_bytes());
        }
        self.word(total);
        self.out.write_all(&self.block)
    }

    fn option(&mut self, code: u16, value: &[u8]) {
        let value = value.get(..MAX_TEXT).unwrap_or(value);
        self.bytes(&code.to_le_bytes());
        self.bytes(&u16::try_from(value.len()).unwrap_or(u16::MAX).to_le_bytes());
        self.bytes(value);
        self.pad();
    }

    /// Writes a text option; a text that is too long is cut between two characters.
    fn text(&mut self, code: u16, text: &str) {
        if text.len() <= MAX_TEXT {
            return self.option(code, text.as_bytes());
        }
        // Leaves room for the note after it, however large the number.
        let most = MAX_TEXT.saturating_sub(64);
        let kept = (0..=most).rev().find_map(|end| text.get(..end)).unwrap_or_default();
        let more = text.len().saturating_sub(kept.len());
        self.option(code, format!("{kept} … and {more} more bytes").as_bytes());
    }

    fn word(&mut self, word: u32) {
        self.bytes(&word.to_le_bytes());
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.block.extend_from_slice(bytes);
    }

    fn pad(&mut self) {
        self.block.resize(self.block.len().next_multiple_of(4), 0);
    }
}
