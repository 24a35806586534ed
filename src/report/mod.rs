//! Reports: they take packets, exchanges, findings and totals from the pipeline. Each output format has a file.

#[cfg(feature = "page")]
mod detail;
mod exchange_lines;
mod exchange_rows;
#[cfg(feature = "page")]
mod explain;
mod files;
mod filtered;
#[cfg(feature = "page")]
mod footer;
mod format;
#[cfg(feature = "page")]
mod layers;
mod line_buffer;
mod output;
#[cfg(feature = "page")]
mod payload;
mod prebuilt;
mod recent_frames;
mod recorder;
mod records;
mod rows;
#[cfg(feature = "page")]
pub mod screen;
pub(crate) mod secrets;
#[cfg(feature = "page")]
pub(crate) mod server;
#[cfg(feature = "page")]
mod server_counters;
#[cfg(feature = "page")]
mod server_record;
#[cfg(feature = "page")]
pub(crate) mod server_text;
#[cfg(feature = "page")]
pub mod summary;
#[cfg(feature = "page")]
mod terminal;
mod text;
mod time_column;
#[cfg(feature = "page")]
pub mod times;
mod totals;
mod totals_record;
#[cfg(feature = "page")]
mod unclaimed;

pub use crate::packet::Packet;
pub use exchange_lines::Exchanges;
pub use exchange_rows::ExchangeRows;
pub use files::{CaptureRecord, Captures, Files, Place};
pub use filtered::Filtered;
pub use format::duration;
#[cfg(feature = "tables")]
pub(crate) use format::{push_ip, push_key};
pub use output::{Form, Output};
pub use recent_frames::{MAX_RECENT, MAX_RECENT_BYTES, Missed};
pub use recorder::{Capture, Frames, Recorder, Recording};
pub use records::Records;
#[cfg(feature = "page")]
pub(crate) use records::records_of;
pub use rows::{Fields, Layout, Occurrence, Style};
pub use text::Lister;
pub use time_column::{TIME_FORMATS, TimeFormat};
pub use totals::{Candidate, MAX_LISTED, MAX_UNREAD, MORE_MEMORY, ONE_WAY, Totals, Unread};
pub use totals_record::TotalsRecord;
#[cfg(feature = "page")]
pub use {
    detail::{Detail, Details, Shown},
    explain::Explain,
    footer::limits,
    layers::MAX_HEADS,
    payload::{FieldStyle, Picked, fields, finding_line},
    server_record::{BrokenRecord, ServerRecord, server_rows},
    unclaimed::{UnclaimedEndpoint, UnclaimedRecord, UnclaimedTraffic},
};
#[cfg(feature = "page")]
pub(crate) use {footer::remarks, screen::other_traffic};

use crate::capture::{self, Comments, Frame, Time};
use crate::check::Finding;
use crate::decode::{AnyListener, Notes};
use crate::exchange::Exchange;
use crate::net::{Datagram, DropReason, Endpoint, Tunnel};
use crate::protocols::Id;
use std::io;

/// What a report needs of the pipeline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wants {
    /// Datagrams in frame order: a datagram that waits holds up all that follow it.
    pub ordered: bool,
    /// Each exchange after all its datagrams. What is ordered is so in any case.
    pub packets_first: bool,
    /// Remarks that are otherwise made once for each server are made every time, because the report judges at the end; only
    /// then is it decided which servers were captured with one side only.
    pub repeat_remarks: bool,
    /// The report is told at the end which servers answered nothing.
    pub silent_servers: bool,
    /// The report may need every frame.
    pub frames: bool,
    /// Datagrams that no protocol claims are [counted](Report::count_unclaimed), although they are not shown.
    pub count_unclaimed: bool,
}

/// A server that answered nothing.
#[derive(Clone, Debug)]
pub struct SilentServer {
    /// Frame of the last datagram that asked it.
    pub frame: u64,
    /// The exchange of that datagram, which was reported before.
    pub exchange: Exchange,
    /// The finding about the server.
    pub finding: Finding,
}

/// Takes what the pipeline finds. What a report does not take itself it passes on to the report that it stands before, if
/// there is one.
pub trait Report {
    /// A new listener, which the decoders call; asked once, before anything else.
    fn listener(&self) -> AnyListener {
        AnyListener::Notes(Notes::default())
    }

    /// What it needs of the pipeline; asked once, before anything else.
    fn wants(&self) -> Wants {
        Wants::default()
    }

    /// Whether it needs frames at present: a filter may look at messages only. Where it does not, it may still be told of
    /// frames.
    fn needs_frames(&self) -> bool {
        self.wants().frames
    }

    /// The report that this one stands before.
    fn inner(&mut self) -> Option<&mut dyn Report> {
        None
    }

    /// A frame, and the result of parsing it; only where the report [wants](Wants::frames) frames. Its datagram is reported
    /// later, perhaps after other frames.
    fn frame(&mut self, frame: &Frame<'_>, parsed: &Result<Datagram<'_>, DropReason>) {
        self.inner().into_iter().for_each(|inner| inner.frame(frame, parsed));
    }
    /// A datagram of one of the protocols.
    ///
    /// # Errors
    /// When it cannot be written; the same for the other methods.
    fn packet(&mut self, packet: &Packet<'_>) -> io::Result<()> {
        self.inner().map_or(Ok(()), |inner| inner.packet(packet))
    }
    /// A datagram that no protocol claims; only where the user wants to see such datagrams.
    fn unclaimed(&mut self, datagram: &Datagram<'_>) -> io::Result<()> {
        self.inner().map_or(Ok(()), |inner| inner.unclaimed(datagram))
    }
    /// A datagram that no protocol claims, where the user does not want to see such datagrams. These come out of order, and
    /// only where the report [wants](Wants::count_unclaimed) them.
    fn count_unclaimed(&mut self, datagram: &Datagram<'_>) {
        self.inner().into_iter().for_each(|inner| inner.count_unclaimed(datagram));
    }
    /// A filter has left out the datagram of a frame that this report was told of.
    fn frame_left_out(&mut self, frame: u64) {
        self.inner().into_iter().for_each(|inner| inner.frame_left_out(frame));
    }
    /// A filter has left out this datagram of one of the protocols.
    fn packet_left_out(&mut self, packet: &Packet<'_>) {
        match self.inner() {
            Some(inner) => inner.packet_left_out(packet),
            None => self.frame_left_out(packet.datagram.frame),
        }
    }
    /// An exchange has closed.
    fn exchange(&mut self, exchange: &Exchange, findings: &[Finding]) -> io::Result<()> {
        self.inner().map_or(Ok(()), |inner| inner.exchange(exchange, findings))
    }
    /// A file begins; `name` is its name as text, and `before` the number of frames in the files before it: frames are
    /// numbered through all files, see [`Files`]. Datagrams that still wait may belong to earlier files.
    fn file(&mut self, name: &str, facts: &capture::CaptureInfo, before: u64) -> io::Result<()> {
        self.inner().map_or(Ok(()), |inner| inner.file(name, facts, before))
    }
    /// The meaning of a [`Datagram::tunnel`], told before the first datagram that has this number: the tunnels that the
    /// datagram came through, the outermost first. Numbers count from 1.
    fn tunnels(&mut self, number: u16, path: &[Tunnel]) {
        self.inner().into_iter().for_each(|inner| inner.tunnels(number, path));
    }
    /// The datagram that will be reported with this frame was reassembled from all of `pieces`, or from as many as are
    /// remembered.
    fn reassembled(&mut self, frame: u64, pieces: &[u64]) {
        self.inner().into_iter().for_each(|inner| inner.reassembled(frame, pieces));
    }
    /// Called before anything else: hands over the store in which the comments on frames will be found, by the number of
    /// the frame in the run, as soon as the frames have been read.
    fn comments(&mut self, comments: &Comments) {
        self.inner().into_iter().for_each(|inner| inner.comments(comments));
    }
    /// The first frame of the file, with its time stamp.
    fn first_frame(&mut self, time: Time) {
        self.inner().into_iter().for_each(|inner| inner.first_frame(time));
    }
    /// A file has been read, to its end or as far as possible: the facts that it gives about itself are known now, and the
    /// totals of all files so far.
    fn file_read(&mut self, facts: &capture::CaptureInfo, totals: &Totals) {
        self.inner().into_iter().for_each(|inner| inner.file_read(facts, totals));
    }
    /// Only answers of these servers were seen, in a file that stands for itself or in all files together. Nothing else
    /// will be reported about these files.
    fn one_sided(&mut self, servers: &[(Endpoint, Id)]) -> io::Result<()> {
        self.inner().map_or(Ok(()), |inner| inner.one_sided(servers))
    }
    /// No further file continues what has been read so far, in which these servers answered nothing; they come in the order
    /// of the last requests to them. Called only where the report [wants](Wants::silent_servers) that, and there always.
    fn silent_servers(&mut self, servers: &[SilentServer]) -> io::Result<()> {
        self.inner().map_or(Ok(()), |inner| inner.silent_servers(servers))
    }
    /// Gives the listener, at the end of every file, when nearly everything in it has been decoded.
    fn file_decoded(&mut self, listener: &mut AnyListener) {
        self.inner().into_iter().for_each(|inner| inner.file_decoded(listener));
    }
    /// Everything has been read.
    fn finish(&mut self, totals: &Totals) -> io::Result<()> {
        self.inner().map_or(Ok(()), |inner| inner.finish(totals))
    }
}

/// A remark on the packets that captures dropped; `None` when they dropped none, or do not say.
pub fn dropped_remark(totals: &Totals) -> Option<String> {
    let dropped = totals.dropped.filter(|&n| n > 0)?;
    let capture = if totals.files == 1 { "The capture" } else { "The captures" };
    Some(format!(
        "{capture} dropped {}: a request without an answer may have been answered.",
        count(dropped, "packet")
    ))
}

/// A count with its noun: `1 packet`, `2 packets`.
pub fn count(n: u64, what: &str) -> String {
    let s = if n == 1 { "" } else { "s" };
    format!("{n} {what}{s}")
}
