//! Joins lines into datagrams.

use super::dump::{self, Dump, Row};
use super::list::{self, Literal};
use super::{
    Complaint, Complaints, Form, MAX_PAYLOAD, MAX_PIECE, MAX_PIECES, MAX_TEXT, Mark, Metadata, Parsed,
    Pasted, Piece, digits, frames, is_hex, lines, metadata, string,
};
use crate::net::link;
use nom::Offset;
use std::borrow::Cow;

/// Minimum number of characters in a base64 line that the next line may continue.
const BASE64_LINE: usize = 60;
/// Minimum number of bytes that, before other bytes of the same line, are more likely a datagram than a number.
const MIN_DATAGRAM: usize = 12;
/// Minimum number of bytes after words that count as a datagram.
const MIN_AFTER_WORDS: usize = 4;

/// Reads a text. With a `form`, the whole text is read in that form; otherwise every form is tried on each line.
///
/// Only the first [`MAX_TEXT`] bytes are read.
pub fn read(text: &str, form: Option<Form>) -> Pasted {
    let text = &*unquoted(text);
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

/// Removes the quotation marker `>` before every line, including blank lines. A blank replaces each marker, so that
/// positions do not change.
fn unquoted(text: &str) -> Cow<'_, str> {
    let is_quoted = |line: &str| line.trim_end() == ">" || line.starts_with("> ");
    let has_blank = text.lines().any(|line| line.trim_end() == ">");
    if !has_blank || !text.lines().all(|line| is_quoted(line) || line.trim().is_empty()) {
        return Cow::Borrowed(text);
    }
    let lines =
        text.split_inclusive('\n').map(|line| line.strip_prefix('>').map_or(["", line], |rest| [" ", rest]));
    Cow::Owned(lines.flatten().collect())
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
        if line.trim().is_empty() {
            self.flush();
            self.is_skipping = false;
        }
        if line.trim().is_empty()
            || self.is_skipping
            || dump::is_column_header(line, below)
            || self.read_row(line, Metadata::default())
            || self.read_continuation(line)
        {
            return below;
        }
        let mut rest = metadata::after_prefix(line);
        if self.form == Some(Form::Base64) || rest.len() < line.len() && self.is_bytes_not_time(line) {
            rest = line; // a label could be a word of base64
        }
        let line_metadata = metadata::before_bytes(line.get(..line.offset(rest)).unwrap_or_default());
        if rest.trim().is_empty() || digits::is_comment(rest) && !self.is_base64(rest.trim()) {
            self.read_words(line);
        } else if rest.len() < line.len()
            && (self.read_row(rest, line_metadata) || self.read_continuation(rest))
        {
            // a row of a dump that is quoted or has a mark in every line
        } else if !self.read_digits(rest, line_metadata) {
            if let Some(literal) = self.find_literal(rest, text.get(text.offset(rest)..).unwrap_or_default())
            {
                return self.read_literals(literal, line_metadata, rest);
            }
            if !self.read_other_forms(rest, line_metadata) {
                self.read_words(line);
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
            None => string::is_prefixed(word) && string::is_base64(word),
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

    /// Reads a row of a dump. Returns `false` if the line is not one.
    fn read_row(&mut self, line: &'a str, line_metadata: Metadata) -> bool {
        let Some(row) = dump::row(line).filter(|_| self.accepts(Form::Dump)) else { return false };
        if row.is_other_base {
            let message = "Words in octal, decimal or binary are not read: print the bytes with `xxd`, `hexdump -C` or `od -t x1`.";
            self.skip(row.offset, message);
            return true;
        }
        let continues = self.continues_dump(&row, line_metadata);
        if continues != Some(true) {
            let is_forced = self.form.is_some() || self.is_stream || continues.is_some();
            let Some(dump) = Dump::begin(&row, is_forced) else { return false };
            self.begin(Continuation::Dump(dump), line_metadata, line);
        }
        if let Some(Open { piece, continuation: Continuation::Dump(dump), is_full: false, .. }) =
            &mut self.open
        {
            dump.add(row.offset, piece.bytes.len());
        }
        self.add(row.parsed, line);
        true
    }

    /// Whether a row continues the current dump or begins another one; `None` if there is no current dump.
    fn continues_dump(&mut self, row: &Row<'_>, line_metadata: Metadata) -> Option<bool> {
        let Open { piece, continuation: Continuation::Dump(dump), .. } = self.open.as_ref()? else {
            return None;
        };
        let is_other_side = row.is_indented != dump.is_indented && row.offset.len() == 8 && !row.is_certain;
        self.is_stream |= is_other_side;
        let has_other_mark = line_metadata.mark.is_some() && line_metadata.mark != piece.metadata.mark;
        let is_ended = self.is_stream && (is_other_side || dump.is_short(piece.bytes.len()));
        Some(dump.is_behind(row.offset) && !has_other_mark && !is_ended)
    }

    /// Reads a line that can only continue the current datagram: a `*`, which repeats the last row, the offset after
    /// the last row, or a further line of base64.
    fn read_continuation(&mut self, line: &'a str) -> bool {
        let Some(Open { piece, continuation, .. }) = &mut self.open else { return false };
        let word = line.trim();
        match continuation {
            Continuation::Dump(dump) if word == "*" => dump.repeat(),
            // The markers of `qdissect dump -x` below a row.
            Continuation::Dump(_) if word.starts_with("^^") => {}
            Continuation::Lines { .. } if word == "*" => {
                let message = "A `*` stands for lines like the one above, and without offsets it is unknown how many: \
                            print all with `-v`.";
                self.complaints.add(line, message);
            }
            Continuation::Dump(dump) => {
                let Some(offset) = dump::end_offset(line).filter(|offset| dump.is_behind(offset)) else {
                    return false;
                };
                dump.add(offset, piece.bytes.len());
                self.flush();
            }
            Continuation::Base64(last)
                if *last >= BASE64_LINE && last.is_multiple_of(4) && word.len() <= *last =>
            {
                let Some(parsed) = string::base64(word) else { return false };
                *last = if word.ends_with('=') { 0 } else { word.len() };
                self.add(parsed, line);
            }
            _ => return false,
        }
        true
    }

    /// Reads a line of digits. Returns `false` if the line is not one.
    fn read_digits(&mut self, line: &'a str, line_metadata: Metadata) -> bool {
        let Some(parsed) = digits::read_commented(line).filter(|_| self.accepts(Form::Hex)) else {
            return false;
        };
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

    /// Finds the first literal of a line, if it has an accepted form.
    fn find_literal(&self, line: &'a str, text: &'a str) -> Option<Literal<'a>> {
        list::find(line, text).filter(|literal| self.accepts(literal.form) || self.form == Some(Form::String))
    }

    /// Reads literals, each as a datagram, up to the end of the line on which the last one ends. Returns the text after
    /// that line. `line` is the line on which the first literal begins, or a part of it that contains the literal.
    fn read_literals(&mut self, first: Literal<'a>, line_metadata: Metadata, mut line: &'a str) -> &'a str {
        let (mut next, mut line_metadata) = (Some(first), line_metadata);
        let mut after = "";
        while let Some(Literal { parsed, before, after: rest, .. }) = next {
            let mut line_metadata = std::mem::take(&mut line_metadata);
            line_metadata.mark = line_metadata.mark.or_else(|| metadata::before_bytes(before).mark);
            self.begin(Continuation::Complete, line_metadata, before);
            self.add(parsed, before);
            after = rest;
            // Search for the end of the line again only if the literal ended on a later line.
            let same = line.get(line.offset(after)..);
            line = same.unwrap_or_else(|| after.split('\n').next().unwrap_or_default());
            next = self.find_literal(line, after);
        }
        self.flush();
        after.split_once('\n').map_or("", |(_, below)| below)
    }

    /// Tries the remaining forms: log lines that end in digits, escapes without quotes, base64, and damaged lines of
    /// digits.
    fn read_other_forms(&mut self, line: &'a str, mut line_metadata: Metadata) -> bool {
        let word = line.trim();
        if let Some((rest, parsed)) = labelled_digits(line).filter(|_| self.accepts(Form::Hex)) {
            let before = line.get(..line.offset(rest)).unwrap_or_default();
            line_metadata.merge(metadata::before_bytes(before));
            self.flush();
            // Most likely another datagram, because no number in a log is that long.
            let other_digits = |word: &&str| word.len() >= 2 * MIN_DATAGRAM && is_hex(word);
            if let Some(other_digits) = before.split(|c: char| !c.is_alphanumeric()).find(other_digits) {
                let message =
                    "These digits are not read, for others follow them: write each datagram in a line.";
                self.complaints.add(other_digits, message);
            }
            self.add_line(Form::Hex, parsed, line_metadata, line);
            return true;
        }
        let is_base64 = self.form == Some(Form::Base64) || self.form.is_none() && string::is_base64(word);
        let escapes = string::read_unquoted(line)
            .filter(|_| self.accepts(Form::String))
            .map(|parsed| (Form::String, parsed));
        let base64 = || Some((Form::Base64, string::base64(word).filter(|_| is_base64)?));
        let damaged = || Some((Form::Hex, digits::read_damaged(line).filter(|_| self.accepts(Form::Hex))?));
        let parsed = escapes.or_else(base64).or_else(damaged);
        if let (None, Some(form)) = (&parsed, self.form) {
            self.complaints.add(line, format!("This line is not {}.", expected_form(form)));
        }
        parsed.map(|(form, parsed)| self.add_line(form, parsed, line_metadata, line)).is_some()
    }

    /// Reads a line without bytes. It ends the current datagram and may contain facts about the next one.
    fn read_words(&mut self, line: &'a str) {
        self.flush();
        self.metadata.merge(metadata::above_bytes(line));
        self.is_stream |= line.trim_start().starts_with("Follow: udp");
        let length = line.trim().strip_prefix("Buffer length: ").and_then(|rest| rest.strip_suffix(" bytes"));
        if length.is_some_and(|length| length.parse::<u32>().is_ok()) {
            self.skip(
                line,
                "What gamedig's `debug` option prints is not read: paste the bytes alone, a datagram a line.",
            );
        }
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

/// The digits at the end of a log line, and the text that begins with them.
fn labelled_digits(line: &str) -> Option<(&str, Parsed<'_>)> {
    metadata::after_labels(line).find_map(|rest| {
        let parsed = digits::read(rest.trim_end().trim_end_matches([' ', ']', '}', ')']))?;
        (parsed.complaints.list.is_empty() && parsed.bytes.len() >= MIN_AFTER_WORDS).then_some((rest, parsed))
    })
}

fn too_long<'a>(complaints: &mut Complaints<'a>, text: &'a str) {
    let message = "A UDP datagram over IPv4 holds at most";
    complaints.add(text, format!("{message} {MAX_PAYLOAD} bytes; what is more is left out."));
}

/// A description of the form, for complaints about other lines.
fn expected_form(form: Form) -> &'static str {
    match form {
        Form::Hex => "a line of hex digits",
        Form::Dump => "a row of a dump, such as \"00000000: d5f6 0001\"",
        Form::Array => "a list of numbers, such as {0xd5, 0xf6}",
        Form::String => "a text with escapes, such as \"\\xd5\\xf6\"",
        Form::Base64 => "base64",
    }
}
