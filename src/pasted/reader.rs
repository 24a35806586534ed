//! Joins lines into datagrams.

mod debug_output;
mod literals;
mod other_forms;
mod rows;

use super::clean::clean;
use super::dump::{self, Dump};
use super::expression::Above;
use super::{
    Complaint, Complaints, Form, MAX_PAYLOAD, MAX_PIECE, MAX_PIECES, MAX_TEXT, Mark, Metadata, Parsed,
    Pasted, Piece, decimal, digits, frames, lines, metadata, pdml, prose, string,
};
use crate::net::link;
use nom::Offset;

/// Reads a text. With a `form`, the whole text is read in that form; otherwise every form is tried on each line.
///
/// Only the first [`MAX_TEXT`] bytes are read.
pub fn read(text: &str, form: Option<Form>) -> Pasted {
    let text = &*clean(text);
    let cut = |back| text.get(..text.len().min(MAX_TEXT).saturating_sub(back));
    let whole = (0..4).find_map(cut).unwrap_or_default(); // a character has at most four bytes
    let mut reader = Reader { form, whole, ..Reader::default() };
    let mut rest = whole;
    while !rest.is_empty() {
        rest = reader.read_line(rest);
    }
    reader.flush();
    if whole.len() < text.len() {
        let message = format!("The text is longer than {MAX_TEXT} bytes; what follows is not read.");
        reader.complaints.add(whole.get(whole.len()..).unwrap_or_default(), message);
    }
    reader.finish()
}

/// The form of the current datagram, which decides how the next lines may continue it.
#[derive(Debug)]
enum Continuation<'a> {
    /// Rows with offsets.
    Dump(Dump<'a>),
    /// Lines of digits: the number of bytes in the last line, and whether its end shows that another line follows.
    Lines { last: usize, is_continued: bool },
    /// Lines of base64: the number of characters in the last line.
    Base64(usize),
    /// The datagram is complete.
    Complete,
}

/// The current datagram.
#[derive(Debug)]
struct Open<'a> {
    piece: Piece,
    /// The text from the beginning of the datagram.
    text: &'a str,
    continuation: Continuation<'a>,
    /// The datagram exceeds the maximum length, and a complaint says so.
    is_full: bool,
}

#[derive(Debug, Default)]
struct Reader<'a> {
    whole: &'a str,
    form: Option<Form>,
    /// Facts about the next datagram from the lines above it.
    metadata: Metadata,
    open: Option<Open<'a>>,
    /// How the lines above continue in the strings of this line.
    above: Above,
    /// The current lines of bytes are decimal.
    is_decimal: bool,
    /// The head of the current table names a column of offsets.
    has_offsets: bool,
    /// The line above describes a packet, as tcpdump does.
    is_below_header: bool,
    /// The current packet of PDML.
    pdml: pdml::Packet,
    /// The text is from Wireshark's "Follow UDP stream", where the offsets of a side continue across datagrams.
    is_stream: bool,
    /// Lines are skipped up to the next blank line because their form is not supported.
    is_skipping: bool,
    /// End of the block of lines of digits that was examined last.
    block_end: usize,
    /// Number of bytes in a full line of that block, if its lines are wrapped.
    wrap_width: Option<usize>,
    /// The number of datagrams exceeds the limit, and a complaint says so.
    is_full: bool,
    pieces: Vec<Piece>,
    complaints: Complaints<'a>,
}

impl<'a> Reader<'a> {
    /// Reads the first line of `text`, or the literal that begins in it. Returns the text after it.
    fn read_line(&mut self, text: &'a str) -> &'a str {
        let (line, below) = text.split_once('\n').unwrap_or((text, ""));
        let line = line.trim_end_matches('\r');
        let above = std::mem::take(&mut self.above);
        if line.trim().is_empty() {
            self.flush();
            self.is_skipping = false;
        }
        if line.trim().is_empty()
            || self.is_skipping
            || self.read_ascii_dump(line)
            || self.read_pdml(line)
            || dump::is_column_header(line, below)
            || self.read_table(line)
            || self.read_rows(line, below, Metadata::default())
            || self.read_continuation(line)
        {
            return below;
        }
        let mut rest = metadata::after_prefix(line);
        if self.form == Some(Form::Base64) || rest.len() < line.len() && self.is_bytes_not_time(line) {
            rest = line; // a label could be a word of base64
        }
        let prefix = line.get(..line.offset(rest)).unwrap_or_default();
        let mut line_metadata = metadata::before_bytes(prefix);
        if prefix.trim_start().starts_with(">>>") {
            line_metadata.mark = Some(Mark::ToServer);
        }
        if rest.trim().is_empty() || digits::is_comment(rest) && !self.is_base64(rest.trim()) {
            self.read_words(line);
        } else if rest.len() < line.len()
            && (self.read_rows(rest, below, line_metadata) || self.read_continuation(rest))
        {
            // a row of a dump that is quoted or has a mark in every line
        } else if !self.read_digits(rest, line_metadata) {
            let text = text.get(text.offset(rest)..).unwrap_or_default();
            if let Some(literal) = self.find_literal(rest, text, above) {
                return self.read_literals(literal, line_metadata, rest, above);
            }
            if !self.read_other_forms(rest, line_metadata) {
                self.read_words(line);
                self.open_expression(line);
                return self.read_buffer(line, below);
            }
        }
        below
    }

    /// Whether a line such as `10:00:00` is three bytes and not a time of day: if it is the whole text, or if more
    /// bytes are expected.
    fn is_bytes_not_time(&self, line: &str) -> bool {
        let is_continued = matches!(
            &self.open,
            Some(Open { continuation: Continuation::Lines { is_continued: true, .. }, .. })
        );
        let is_three_bytes = || digits::read(line).is_some_and(|parsed| parsed.bytes.len() == 3);
        (is_continued || self.whole.trim() == line.trim()) && is_three_bytes()
    }

    /// Whether a word that begins with a comment marker is base64.
    fn is_base64(&self, word: &str) -> bool {
        match self.form {
            Some(Form::Base64) => string::base64(word).is_some(),
            Some(_) => false,
            None => {
                string::is_prefixed(word) && (string::is_base64(word) || string::cut_base64(word).is_some())
            }
        }
    }

    fn accepts(&self, form: Form) -> bool {
        self.form.is_none_or(|forced| forced == form)
    }

    /// Begins a datagram.
    fn begin(&mut self, continuation: Continuation<'a>, line_metadata: Metadata, text: &'a str) {
        self.flush();
        let mut metadata = std::mem::take(&mut self.metadata);
        metadata.merge(line_metadata);
        let piece = Piece { bytes: vec![], missing: 0, metadata, packet: None };
        self.open = Some(Open { piece, text, continuation, is_full: false });
    }

    /// Adds bytes to the current datagram, up to its maximum length.
    fn add(&mut self, parsed: Parsed<'a>, text: &'a str) {
        self.complaints.append(parsed.complaints);
        let Some(open) = &mut self.open else { return };
        let room = MAX_PIECE.saturating_sub(open.piece.bytes.len());
        open.piece.bytes.extend(parsed.bytes.iter().take(room));
        open.piece.missing = open.piece.missing.saturating_add(parsed.missing);
        if room < parsed.bytes.len() && !std::mem::replace(&mut open.is_full, true) {
            too_long(&mut self.complaints, text);
        }
    }

    /// Reads a line of digits. Returns `false` if the line is not one.
    fn read_digits(&mut self, line: &'a str, line_metadata: Metadata) -> bool {
        let is_decimal = self.is_decimal
            && matches!(&self.open, Some(Open { continuation: Continuation::Lines { .. }, .. }));
        let decimal = decimal::read(line, is_decimal).filter(|_| self.accepts(Form::Array));
        self.is_decimal = decimal.is_some();
        let digits = || digits::read_commented(line).filter(|_| self.accepts(Form::Hex));
        let Some(parsed) = decimal.or_else(digits) else { return false };
        self.add_line(Form::Hex, parsed, line_metadata, line);
        true
    }

    /// Adds a line of bytes to the current datagram if the line continues it, otherwise begins another datagram.
    fn add_line(&mut self, form: Form, parsed: Parsed<'a>, line_metadata: Metadata, line: &'a str) {
        let (len, announces_more) = (parsed.bytes.len(), digits::is_continued(line));
        match &mut self.open {
            Some(Open { continuation: Continuation::Lines { last, is_continued }, .. })
                if form == Form::Hex
                    && line_metadata == Metadata::default()
                    && (*is_continued || self.wrap_width == Some(*last)) =>
            {
                *last = if parsed.complaints.list.is_empty() { len } else { *last };
                *is_continued = announces_more;
            }
            _ => {
                let at = self.whole.offset(line);
                if at >= self.block_end {
                    let (length, wrap_width) = lines::block(self.whole.get(at..).unwrap_or_default());
                    (self.block_end, self.wrap_width) = (at.saturating_add(length), wrap_width);
                }
                let continuation = match form {
                    Form::Hex => Continuation::Lines { last: len, is_continued: announces_more },
                    Form::Base64 => Continuation::Base64(line.trim().len()),
                    _ => Continuation::Complete,
                };
                self.begin(continuation, line_metadata, line);
            }
        }
        self.add(parsed, line);
    }

    /// Reads a line without bytes. It ends the current datagram and may contain facts about the next one.
    fn read_words(&mut self, line: &'a str) {
        self.flush();
        if let Some(damaged) = prose::damaged_byte(line).filter(|_| self.form.is_none()) {
            let message = "Two hex digits were expected after \"0x\". The line is left out.";
            self.complaints.add(damaged, message);
        }
        let header = metadata::above_bytes(line);
        self.metadata.merge(header);
        self.is_stream |= line.trim_start().starts_with("Follow: udp");
        self.is_below_header = header.src.is_some() && header.dst.is_some() && line.contains("length ");
    }

    /// Skips the text up to the next blank line.
    fn skip(&mut self, text: &'a str, message: &str) {
        self.flush();
        self.is_skipping = true;
        self.complaints.add(text, format!("{message} All up to the next blank line is left out."));
    }

    /// Ends the current datagram.
    fn flush(&mut self) {
        let Some(Open { mut piece, text, continuation, is_full }) = self.open.take() else { return };
        let mut shows_packets = false;
        if let Continuation::Dump(dump) = &continuation {
            let (bytes, missing) = dump.assemble(&piece.bytes, self.is_stream, &mut self.complaints);
            (piece.bytes, piece.missing) = (bytes, u32::try_from(missing).unwrap_or(u32::MAX));
            shows_packets = dump.shows_packets;
            if self.is_stream && piece.metadata.mark.is_none() {
                // The side that spoke first is not indented.
                piece.metadata.mark = Some(if dump.is_indented { Mark::FromServer } else { Mark::ToServer });
            }
        }
        if piece.bytes.is_empty() {
            self.metadata.merge(piece.metadata);
            return;
        }
        if self.pieces.len() >= MAX_PIECES {
            if !std::mem::replace(&mut self.is_full, true) {
                let message =
                    format!("There are more than {MAX_PIECES} datagrams; what follows is not read.");
                self.complaints.add(text, message);
            }
            return;
        }
        piece.packet = frames::detect_headers(&piece.bytes, shows_packets);
        if piece.packet.is_none() && shows_packets && piece.metadata.time.is_some() {
            // tcpdump prints no bare payloads, so this is a packet, but not IP.
            piece.packet = u32::try_from(piece.bytes.len()).ok().map(|len| (link::RAW, len));
        }
        if piece.packet.is_none() && piece.bytes.len() > MAX_PAYLOAD {
            piece.bytes.truncate(MAX_PAYLOAD);
            if !is_full {
                too_long(&mut self.complaints, text);
            }
        }
        let room = MAX_PAYLOAD.saturating_sub(piece.bytes.len());
        piece.missing = piece.missing.min(u32::try_from(room).unwrap_or(0));
        self.pieces.push(piece);
    }

    /// Converts complaints to line and column, and returns the result.
    fn finish(mut self) -> Pasted {
        self.complaints.list.sort_by_key(|(text, _)| self.whole.offset(text));
        let complaints = self.complaints.list.into_iter().map(|(text, message)| {
            let before = self.whole.get(..self.whole.offset(text)).unwrap_or_default();
            let column = before.rsplit('\n').next().map_or(0, |line| line.chars().count()).saturating_add(1);
            Complaint { line: before.matches('\n').count().saturating_add(1), column, what: message }
        });
        Pasted {
            complaints: complaints.collect(),
            pieces: self.pieces,
            more_complaints: self.complaints.more,
        }
    }
}

fn too_long<'a>(complaints: &mut Complaints<'a>, text: &'a str) {
    let message = "A UDP datagram over IPv4 holds at most";
    complaints.add(text, format!("{message} {MAX_PAYLOAD} bytes; what is more is left out."));
}
