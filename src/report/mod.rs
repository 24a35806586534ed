//! Reports, which receive packets, exchanges, findings and totals from the pipeline. Each output format has a file.

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
pub(crate) mod format;
#[cfg(feature = "page")]
pub(crate) mod grid;
#[cfg(feature = "page")]
mod layers;
mod line_buffer;
#[cfg(feature = "page")]
mod list_record;
#[cfg(feature = "page")]
pub(crate) mod listings;
#[cfg(feature = "page")]
pub mod metrics;
#[cfg(feature = "page")]
mod opened;
#[cfg(feature = "page")]
mod outline;
mod output;
#[cfg(feature = "page")]
mod payload;
#[cfg(feature = "page")]
mod picked;
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
mod stand_ins;
#[cfg(feature = "page")]
pub mod summary;
#[cfg(feature = "page")]
mod terminal;
pub mod terms;
mod text;
mod time_column;
#[cfg(feature = "page")]
pub mod times;
mod totals;
mod totals_record;
#[cfg(feature = "page")]
mod unclaimed;
#[cfg(feature = "page")]
mod unclaimed_screen;

// What reports receive, and what programs name that write one.
pub use crate::check::{Cause, Finding, Packet};
pub use crate::decode::{AnyListener, Coverage, Facts, Json, Notes, Tree};
pub use crate::exchange::{Exchange, Outcome, Pairing};
pub use crate::rule::{Cite, Rule, Severity, Side};
pub use exchange_lines::Exchanges;
pub use exchange_rows::ExchangeRows;
pub use files::{CaptureRecord, Captures, Files, Place};
pub use filtered::Filtered;
pub use format::duration;
#[cfg(feature = "tables")]
pub(crate) use format::push_ip;
pub use output::{Form, Output};
#[cfg(feature = "page")]
pub(crate) use recent_frames::FragmentFrames;
pub use recent_frames::{MAX_RECENT, MAX_RECENT_BYTES, Missed};
pub use recorder::{Capture, Frames, Recorder, Recording, Remarks};
pub use records::Records;
#[cfg(feature = "page")]
pub(crate) use records::lines_of;
#[cfg(feature = "cli")]
pub(crate) use records::records_of;
pub use rows::{Fields, Layout, Occurrence, Style};
pub use stand_ins::{StandIn, StandIns};
pub use text::Lister;
pub use time_column::{TIME_FORMATS, TimeFormat};
pub use totals::{Candidate, MAX_LISTED, MAX_UNREAD, MORE_MEMORY, ONE_WAY, Totals, Unread};
pub use totals_record::TotalsRecord;
#[cfg(feature = "tui")]
pub(crate) use unclaimed_screen::lines as unclaimed_lines;
#[cfg(feature = "page")]
pub use {
    detail::{Detail, Details, Shown},
    explain::Explain,
    footer::limits,
    layers::MAX_FRAME_HEADERS,
    list_record::{ListRecord, Listed},
    opened::Opened,
    outline::{ByteCell, Outline, OutlineLine},
    payload::{FieldStyle, fields, finding_line},
    picked::Picked,
    server_record::{BrokenRecord, ServerRecord, server_rows},
    unclaimed::{UnclaimedEndpoint, UnclaimedRecord, UnclaimedTraffic},
};
#[cfg(feature = "page")]
pub(crate) use {footer::remarks, screen::other_traffic};

use crate::capture::{self, Comments, Frame, Time};
use crate::contract::Flood;
use crate::net::{Datagram, DropReason, Endpoint, Quote, Tunnel};
use crate::protocols::Id;
use crate::text::digits::grouped;
use std::io;

/// The input that a report requests from the pipeline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wants {
    /// Datagrams in frame order: a pending datagram holds up all that follow it.
    pub ordered: bool,
    /// Each exchange after all its datagrams, which `ordered` implies.
    pub packets_first: bool,
    /// Every remark, even those otherwise made once per server.
    pub repeat_remarks: bool,
    /// At the end, the servers that answered nothing, or nothing but challenges. Then the servers captured in one
    /// direction only are determined at the end, too.
    pub silent_servers: bool,
    /// With `silent_servers`: findings are judged as without it, when they are found, even if it turns out only later which
    /// servers are captured in one direction.
    pub judged_early: bool,
    /// Possibly every frame.
    pub frames: bool,
    /// [`Exchange::shown_key`] of exchanges.
    pub shown_keys: bool,
    /// Datagrams that no protocol claims, for [counting](Report::count_unclaimed) even if they are not shown.
    pub count_unclaimed: bool,
    /// The diagnosis of broken messages.
    pub diagnosis: bool,
}

impl Wants {
    /// Whether a finding that needs the past is judged when it is found.
    pub(crate) fn judges_early(&self) -> bool {
        self.judged_early || !self.silent_servers
    }
}

/// A server that answered nothing, or nothing but challenges.
#[derive(Clone, Debug)]
pub struct SilentServer {
    /// Frame of the last request to the server.
    pub frame: u64,
    /// Time of that frame.
    pub time: Time,
    /// The exchange of that request, which has already been reported.
    pub exchange: Exchange,
    /// The finding about the server.
    pub finding: Finding,
}

/// Receives the results of the pipeline. The default methods forward to the inner report, if there is one.
pub trait Report {
    /// A new listener for the decoders. Called once, before anything else.
    fn listener(&self) -> AnyListener {
        AnyListener::Notes(Notes::default())
    }

    /// The input that the report requests. Called once, before anything else.
    fn wants(&self) -> Wants {
        Wants::default()
    }

    /// Whether the report currently needs frames; a filter may depend on messages only. It may receive frames even if
    /// it does not need them.
    fn needs_frames(&self) -> bool {
        self.wants().frames
    }

    /// The report behind this one.
    fn inner(&mut self) -> Option<&mut dyn Report> {
        None
    }

    /// A frame and the result of parsing it, if the report [wants](Wants::frames) frames. Its datagram is reported
    /// later, possibly after other frames.
    fn frame(&mut self, frame: &Frame<'_>, parsed: &Result<Datagram<'_>, DropReason>) {
        self.inner().into_iter().for_each(|inner| inner.frame(frame, parsed));
    }
    /// A datagram of one of the protocols.
    ///
    /// # Errors
    /// When it cannot be written. The same applies to the other methods.
    fn packet(&mut self, packet: &Packet<'_>) -> io::Result<()> {
        self.inner().map_or(Ok(()), |inner| inner.packet(packet))
    }
    /// A datagram that no protocol claims, if the user wants to see such datagrams.
    fn unclaimed(&mut self, datagram: &Datagram<'_>) -> io::Result<()> {
        self.inner().map_or(Ok(()), |inner| inner.unclaimed(datagram))
    }
    /// A datagram that no protocol claims, if the user does not want to see such datagrams, but the report
    /// [wants](Wants::count_unclaimed) them. They come out of order.
    fn count_unclaimed(&mut self, datagram: &Datagram<'_>) {
        self.inner().into_iter().for_each(|inner| inner.count_unclaimed(datagram));
    }
    /// A filter has left out the datagram of a frame that this report has received.
    fn frame_left_out(&mut self, frame: u64) {
        self.inner().into_iter().for_each(|inner| inner.frame_left_out(frame));
    }
    /// A filter has left out this packet.
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
    /// A file begins. `name` is its name as text, and `before` the number of frames in earlier files, because frames
    /// are numbered across all files (see [`Files`]). Pending datagrams may still belong to earlier files.
    fn file(&mut self, name: &str, facts: &capture::CaptureInfo, before: u64) -> io::Result<()> {
        self.inner().map_or(Ok(()), |inner| inner.file(name, facts, before))
    }
    /// The tunnels denoted by a number in [`Datagram::tunnel`], the outermost first. Called before the first datagram
    /// with this number. Numbers count from 1.
    fn tunnels(&mut self, number: u16, path: &[Tunnel]) {
        self.inner().into_iter().for_each(|inner| inner.tunnels(number, path));
    }
    /// The capture shows that `outer` is the address of a server whose host translates it to `inner`. Called once for each
    /// client and pair, before the datagrams that show it.
    fn translated(&mut self, outer: Endpoint, inner: Endpoint) {
        self.inner().into_iter().for_each(|report| report.translated(outer, inner));
    }
    /// The datagram that will be reported with this frame was reassembled from fragments in the frames `pieces`, as far
    /// as these are remembered.
    fn reassembled(&mut self, frame: u64, pieces: &[u64]) {
        self.inner().into_iter().for_each(|inner| inner.reassembled(frame, pieces));
    }
    /// An ICMP error quotes a datagram of a conversation, which was not delivered. It comes before datagrams that are still pending.
    fn refused(&mut self, quote: &Quote<'_>) {
        self.inner().into_iter().for_each(|inner| inner.refused(quote));
    }
    /// The store of comments on frames, by frame number in the run. Called before anything else; comments are added
    /// when their frames are read.
    fn comments(&mut self, comments: &Comments) {
        self.inner().into_iter().for_each(|inner| inner.comments(comments));
    }
    /// The time stamp of the first frame of the file.
    fn first_frame(&mut self, time: Time) {
        self.inner().into_iter().for_each(|inner| inner.first_frame(time));
    }
    /// A file has been read, to its end or as far as possible. `facts` is now complete, and `totals` covers all files
    /// so far.
    fn file_read(&mut self, facts: &capture::CaptureInfo, totals: &Totals) {
        self.inner().into_iter().for_each(|inner| inner.file_read(facts, totals));
    }
    /// Servers of which only answers were seen, in a file read on its own or in all files together. Nothing else will
    /// be reported about these files.
    fn one_sided(&mut self, servers: &[(Endpoint, Id)]) -> io::Result<()> {
        self.inner().map_or(Ok(()), |inner| inner.one_sided(servers))
    }
    /// The final numbers of the floods in the files read so far, by the frame of the finding about each. No further file
    /// continues these files.
    fn floods(&mut self, floods: &[(u64, Flood)]) -> io::Result<()> {
        self.inner().map_or(Ok(()), |inner| inner.floods(floods))
    }
    /// Servers that answered nothing, or nothing but challenges, in the files read so far, which no further file continues, in the order of the
    /// last requests to them. Called if the report [wants](Wants::silent_servers) that, even if there are no such
    /// servers.
    fn silent_servers(&mut self, servers: &[SilentServer]) -> io::Result<()> {
        self.inner().map_or(Ok(()), |inner| inner.silent_servers(servers))
    }
    /// The listener at the end of each file, when nearly all of the file has been decoded.
    fn file_decoded(&mut self, listener: &mut AnyListener) {
        self.inner().into_iter().for_each(|inner| inner.file_decoded(listener));
    }
    /// Everything has been read.
    fn finish(&mut self, totals: &Totals) -> io::Result<()> {
        self.inner().map_or(Ok(()), |inner| inner.finish(totals))
    }
}

/// A remark on packets dropped by captures; `None` if none were dropped or the captures do not report drops.
pub fn dropped_remark(totals: &Totals) -> Option<String> {
    let dropped = totals.dropped.filter(|&n| n > 0)?;
    let capture = if totals.files == 1 { "The capture" } else { "The captures" };
    Some(format!(
        "{capture} dropped {}: a request without an answer may have been answered.",
        count(dropped, "packet")
    ))
}

/// A count with its noun: `1 packet`, `2000 packets`.
pub fn count(n: u64, what: &str) -> String {
    let s = if n == 1 { "" } else { "s" };
    format!("{n} {what}{s}")
}

/// A count with its noun as screens and pages show it: `1 packet`, `2,000 packets`. What programs read has no commas.
pub fn grouped_count(n: u64, what: &str) -> String {
    let s = if n == 1 { "" } else { "s" };
    format!("{} {what}{s}", grouped(n))
}
