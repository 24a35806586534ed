//! Joins lines into datagrams.

use super::dump::{self, Dump, Row};
use super::list::{self, Literal};
use super::{
    Complaint, Form, Found, MAX_PAYLOAD, MAX_PIECE, MAX_PIECES, MAX_TEXT, Mark, Metadata, Pasted, Piece,
    Unread, digits, frames, is_hex, lines, metadata, string,
};
use crate::net::link;
use nom::Offset;
use std::borrow::Cow;

/// Fewest characters of a base64 line that further lines may continue.
const BASE64_LINE: usize = 60;
/// Fewest bytes before other bytes of the same line that are more likely a datagram than a number.
const LONG: usize = 12;
/// The fewest bytes after words that count as a datagram.
const FEWEST: usize = 4;

/// Reads a text. With a `form`, all of it is read in that form; otherwise each line is tried in every form.
///
/// Of a text longer than [`MAX_TEXT`], only the beginning is read.
pub fn read(text: &str, form: Option<Form>) -> Pasted {
    let text = &*unquoted(text);
    let cut = |back| text.get(..text.len().min(MAX_TEXT).saturating_sub(back));
    let whole = (0..4).find_map(cut).unwrap_or_default(); // a character has at most four bytes
    let mut reader = Reader { form, whole, ..Reader::default() };
    let mut rest = whole;
    while !rest.is_empty() {
        rest = reader.line(rest);
    }
    reader.flush();
    if whole.len() < text.len() {
        let what = format!("The text is longer than {MAX_TEXT} bytes; what follows is not read.");
        reader.unread.add(whole.get(whole.len()..).unwrap_or_default(), what);
    }
    reader.finish()
}

/// The text without the `>` of a quotation before every line, blank lines included. A blank stands for each, so that places
/// stay the same.
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

/// The way the current datagram is written, which decides how the next lines may continue it.
#[derive(Debug)]
enum Way<'a> {
    /// Rows with offsets.
    Dump(Dump<'a>),
    /// Lines of digits: number of bytes in the last line, and whether it announced another.
    Lines { last: usize, goes_on: bool },
    /// Lines of base64; number of characters of the last line.
    Base64(usize),
    /// It is complete.
    Whole,
}

/// The current datagram.
#[derive(Debug)]
struct Open<'a> {
    piece: Piece,
    /// The text from where it begins.
    here: &'a str,
    way: Way<'a>,
    /// It has more bytes than fit, and a complaint says so.
    full: bool,
}

#[derive(Debug, Default)]
struct Reader<'a> {
    whole: &'a str,
    form: Option<Form>,
    /// The facts about the next datagram from lines above it.
    metadata: Metadata,
    open: Option<Open<'a>>,
    /// The text is from Wireshark's "Follow UDP stream": offsets of one side continue from datagram to datagram.
    is_stream: bool,
    /// Lines are skipped up to the next blank line, because their form is not supported.
    skips: bool,
    /// Where the lines of digits end that were looked at together.
    looked: usize,
    /// Number of bytes in a full one of them, where they are wrapped.
    width: Option<usize>,
    /// There are more datagrams than are kept, and a complaint says so.
    full: bool,
    pieces: Vec<Piece>,
    unread: Unread<'a>,
}

impl<'a> Reader<'a> {
    /// Reads the first line of `text`, or the literal that begins in it; returns the text after it.
    fn line(&mut self, text: &'a str) -> &'a str {
        let (line, below) = text.split_once('\n').unwrap_or((text, ""));
        let line = line.trim_end_matches('\r');
        if line.trim().is_empty() {
            self.flush();
            self.skips = false;
        }
        if line.trim().is_empty()
            || self.skips
            || dump::is_ruler(line, below)
            || self.row(line, Metadata::default())
            || self.more(line)
        {
            return below;
        }
        let mut rest = metadata::behind(line);
        if self.form == Some(Form::Base64) || rest.len() < line.len() && self.is_no_time(line) {
            rest = line; // a label could be a word of base64
        }
        let said = metadata::before(line.get(..line.offset(rest)).unwrap_or_default());
        if rest.trim().is_empty() || digits::is_comment(rest) && !self.is_base64(rest.trim()) {
            self.words(line);
        } else if rest.len() < line.len() && (self.row(rest, said) || self.more(rest)) {
            // a row of a dump that is quoted, or marked in every line
        } else if !self.digits(rest, said) {
            if let Some(literal) = self.literal(rest, text.get(text.offset(rest)..).unwrap_or_default()) {
                return self.literals(literal, said, rest);
            }
            if !self.last_resort(rest, said) {
                self.words(line);
            }
        }
        below
    }

    /// Whether `10:00:00` is three bytes and not a time of day: where it is the whole text, and where more bytes are
    /// expected.
    fn is_no_time(&self, line: &str) -> bool {
        let goes_on = matches!(&self.open, Some(Open { way: Way::Lines { goes_on: true, .. }, .. }));
        let three = || digits::read(line).is_some_and(|found| found.bytes.len() == 3);
        (goes_on || self.whole.trim() == line.trim()) && three()
    }

    /// Whether a word that begins with a mark of comments is base64 all the same.
    fn is_base64(&self, word: &str) -> bool {
        match self.form {
            Some(Form::Base64) => string::base64(word).is_some(),
            Some(_) => false,
            None => string::is_prefixed(word) && string::is_base64(word),
        }
    }

    fn is(&self, form: Form) -> bool {
        self.form.is_none_or(|forced| forced == form)
    }

    /// Begins a datagram.
    fn begin(&mut self, way: Way<'a>, said: Metadata, here: &'a str) {
        self.flush();
        let mut metadata = std::mem::take(&mut self.metadata);
        metadata.take(said);
        let piece = Piece { bytes: vec![], missing: 0, metadata, packet: None };
        self.open = Some(Open { piece, here, way, full: false });
    }

    /// Adds bytes to the current datagram, as many as fit.
    fn add(&mut self, found: Found<'a>, here: &'a str) {
        self.unread.append(found.unread);
        let Some(open) = &mut self.open else { return };
        let room = MAX_PIECE.saturating_sub(open.piece.bytes.len());
        open.piece.bytes.extend(found.bytes.iter().take(room));
        open.piece.missing = open.piece.missing.saturating_add(found.missing);
        if room < found.bytes.len() && !std::mem::replace(&mut open.full, true) {
            too_long(&mut self.unread, here);
        }
    }

    /// Reads a row of a dump; `false` if the line is not one.
    fn row(&mut self, line: &'a str, said: Metadata) -> bool {
        let Some(row) = dump::row(line).filter(|_| self.is(Form::Dump)) else { return false };
        if row.is_other_base {
            let what = "Words in octal, decimal or binary are not read: print the bytes with `xxd`, `hexdump -C` or `od -t x1`.";
            self.skip(row.offset, what);
            return true;
        }
        let place = self.goes_on(&row, said);
        if place != Some(true) {
            let forced = self.form.is_some() || self.is_stream || place.is_some();
            let Some(dump) = Dump::begin(&row, forced) else { return false };
            self.begin(Way::Dump(dump), said, line);
        }
        if let Some(Open { piece, way: Way::Dump(dump), full: false, .. }) = &mut self.open {
            dump.add(row.offset, piece.bytes.len());
        }
        self.add(row.found, line);
        true
    }

    /// Whether a row continues the current dump or begins another one; `None` if there is no current dump.
    fn goes_on(&mut self, row: &Row<'_>, said: Metadata) -> Option<bool> {
        let Open { piece, way: Way::Dump(dump), .. } = self.open.as_ref()? else { return None };
        let other_side = row.indented != dump.indented && row.offset.len() == 8 && !row.certain;
        self.is_stream |= other_side;
        let other_mark = said.mark.is_some() && said.mark != piece.metadata.mark;
        let ended = self.is_stream && (other_side || dump.is_short(piece.bytes.len()));
        Some(dump.is_behind(row.offset) && !other_mark && !ended)
    }

    /// Reads a line that can only continue the current datagram: a `*`, which stands for rows like the last one, the
    /// offset after the last row, or a further line of base64.
    fn more(&mut self, line: &'a str) -> bool {
        let Some(Open { piece, way, .. }) = &mut self.open else { return false };
        let word = line.trim();
        match way {
            Way::Dump(dump) if word == "*" => dump.repeat(),
            // The marks of `qdissect dump -x` below a row.
            Way::Dump(_) if word.starts_with("^^") => {}
            Way::Lines { .. } if word == "*" => {
                let what = "A `*` stands for lines like the one above, and without offsets it is unknown how many: \
                            print all with `-v`.";
                self.unread.add(line, what);
            }
            Way::Dump(dump) => {
                let Some(offset) = dump::end(line).filter(|offset| dump.is_behind(offset)) else {
                    return false;
                };
                dump.add(offset, piece.bytes.len());
                self.flush();
            }
            Way::Base64(last) if *last >= BASE64_LINE && last.is_multiple_of(4) && word.len() <= *last => {
                let Some(found) = string::base64(word) else { return false };
                *last = if word.ends_with('=') { 0 } else { word.len() };
                self.add(found, line);
            }
            _ => return false,
        }
        true
    }

    /// Reads a line of digits; `false` if the line is not one.
    fn digits(&mut self, line: &'a str, said: Metadata) -> bool {
        let Some(found) = digits::commented(line).filter(|_| self.is(Form::Hex)) else { return false };
        self.put(Form::Hex, found, said, line);
        true
    }

    /// Adds a line of bytes to the current datagram if the line continues it, else begins another datagram.
    fn put(&mut self, form: Form, found: Found<'a>, said: Metadata, line: &'a str) {
        let (len, says) = (found.bytes.len(), digits::goes_on(line));
        match &mut self.open {
            Some(Open { way: Way::Lines { last, goes_on }, .. })
                if form == Form::Hex
                    && said == Metadata::default()
                    && (*goes_on || self.width == Some(*last)) =>
            {
                *last = if found.unread.kept.is_empty() { len } else { *last };
                *goes_on = says;
            }
            _ => {
                let at = self.whole.offset(line);
                if at >= self.looked {
                    let (length, width) = lines::block(self.whole.get(at..).unwrap_or_default());
                    (self.looked, self.width) = (at.saturating_add(length), width);
                }
                let way = match form {
                    Form::Hex => Way::Lines { last: len, goes_on: says },
                    Form::Base64 => Way::Base64(line.trim().len()),
                    _ => Way::Whole,
                };
                self.begin(way, said, line);
            }
        }
        self.add(found, line);
    }

    /// The first literal of a line, if it is of the requested form.
    fn literal(&self, line: &'a str, text: &'a str) -> Option<Literal<'a>> {
        list::find(line, text).filter(|literal| self.is(literal.form) || self.form == Some(Form::String))
    }

    /// Reads literals, each as a datagram, up to the end of the line on which the last one ends; returns the text
    /// after that line. `line` is the line on which the first one begins, at most from there on.
    fn literals(&mut self, first: Literal<'a>, said: Metadata, mut line: &'a str) -> &'a str {
        let (mut next, mut said) = (Some(first), said);
        let mut behind = "";
        while let Some(Literal { found, before, behind: rest, .. }) = next {
            let mut said = std::mem::take(&mut said);
            said.mark = said.mark.or_else(|| metadata::before(before).mark);
            self.begin(Way::Whole, said, before);
            self.add(found, before);
            behind = rest;
            // A literal may have ended on a later line. Only then is the end of the line looked for again.
            let same = line.get(line.offset(behind)..);
            line = same.unwrap_or_else(|| behind.split('\n').next().unwrap_or_default());
            next = self.literal(line, behind);
        }
        self.flush();
        behind.split_once('\n').map_or("", |(_, below)| below)
    }

    /// Tries the remaining forms: log lines that end in digits, escapes without quotes, base64, and lines that were
    /// meant as digits.
    fn last_resort(&mut self, line: &'a str, mut said: Metadata) -> bool {
        let word = line.trim();
        if let Some((rest, found)) = labelled(line).filter(|_| self.is(Form::Hex)) {
            let before = line.get(..line.offset(rest)).unwrap_or_default();
            said.take(metadata::before(before));
            self.flush();
            // Most likely another datagram: no number in a log is as long.
            let other = |word: &&str| word.len() >= 2 * LONG && is_hex(word);
            if let Some(other) = before.split(|c: char| !c.is_alphanumeric()).find(other) {
                let what =
                    "These digits are not read, for others follow them: write each datagram in a line.";
                self.unread.add(other, what);
            }
            self.put(Form::Hex, found, said, line);
            return true;
        }
        let is_base64 = self.form == Some(Form::Base64) || self.form.is_none() && string::is_base64(word);
        let escapes = string::bare(line).filter(|_| self.is(Form::String)).map(|found| (Form::String, found));
        let base64 = || Some((Form::Base64, string::base64(word).filter(|_| is_base64)?));
        let damaged = || Some((Form::Hex, digits::damaged(line).filter(|_| self.is(Form::Hex))?));
        let found = escapes.or_else(base64).or_else(damaged);
        if let (None, Some(form)) = (&found, self.form) {
            self.unread.add(line, format!("This line is not {}.", expected(form)));
        }
        found.map(|(form, found)| self.put(form, found, said, line)).is_some()
    }

    /// Reads a line without bytes: it ends the current datagram, and may contain facts about the next one.
    fn words(&mut self, line: &'a str) {
        self.flush();
        self.metadata.take(metadata::above(line));
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
    fn skip(&mut self, here: &'a str, what: &str) {
        self.flush();
        self.skips = true;
        self.unread.add(here, format!("{what} All up to the next blank line is left out."));
    }

    /// Ends the current datagram.
    fn flush(&mut self) {
        let Some(Open { mut piece, here, way, full }) = self.open.take() else { return };
        let mut shows_packets = false;
        if let Way::Dump(dump) = &way {
            let (bytes, missing) = dump.assemble(&piece.bytes, self.is_stream, &mut self.unread);
            (piece.bytes, piece.missing) = (bytes, u32::try_from(missing).unwrap_or(u32::MAX));
            shows_packets = dump.packets;
            if self.is_stream && piece.metadata.mark.is_none() {
                // The side that spoke first is not indented.
                piece.metadata.mark = Some(if dump.indented { Mark::FromServer } else { Mark::ToServer });
            }
        }
        if piece.bytes.is_empty() {
            self.metadata.take(piece.metadata);
            return;
        }
        if self.pieces.len() >= MAX_PIECES {
            if !std::mem::replace(&mut self.full, true) {
                let what = format!("There are more than {MAX_PIECES} datagrams; what follows is not read.");
                self.unread.add(here, what);
            }
            return;
        }
        piece.packet = frames::headers(&piece.bytes, shows_packets);
        if piece.packet.is_none() && shows_packets && piece.metadata.time.is_some() {
            // From tcpdump but not IP: it cannot be a payload.
            piece.packet = u32::try_from(piece.bytes.len()).ok().map(|len| (link::RAW, len));
        }
        if piece.packet.is_none() && piece.bytes.len() > MAX_PAYLOAD {
            piece.bytes.truncate(MAX_PAYLOAD);
            if !full {
                too_long(&mut self.unread, here);
            }
        }
        let room = MAX_PAYLOAD.saturating_sub(piece.bytes.len());
        piece.missing = piece.missing.min(u32::try_from(room).unwrap_or(0));
        self.pieces.push(piece);
    }

    /// Finds line and column of every complaint.
    fn finish(mut self) -> Pasted {
        self.unread.kept.sort_by_key(|(here, _)| self.whole.offset(here));
        let complaints = self.unread.kept.into_iter().map(|(here, what)| {
            let before = self.whole.get(..self.whole.offset(here)).unwrap_or_default();
            let column = before.rsplit('\n').next().map_or(0, |line| line.chars().count()).saturating_add(1);
            Complaint { line: before.matches('\n').count().saturating_add(1), column, what }
        });
        Pasted { complaints: complaints.collect(), pieces: self.pieces, more_complaints: self.unread.more }
    }
}

/// The digits at the end of a log line, and the text from where they begin.
fn labelled(line: &str) -> Option<(&str, Found<'_>)> {
    metadata::labels(line).find_map(|rest| {
        let found = digits::read(rest.trim_end().trim_end_matches([' ', ']', '}', ')']))?;
        (found.unread.kept.is_empty() && found.bytes.len() >= FEWEST).then_some((rest, found))
    })
}

fn too_long<'a>(unread: &mut Unread<'a>, here: &'a str) {
    let what = "A UDP datagram over IPv4 holds at most";
    unread.add(here, format!("{what} {MAX_PAYLOAD} bytes; what is more is left out."));
}

/// The form in words, for complaints about lines that are not of it.
fn expected(form: Form) -> &'static str {
    match form {
        Form::Hex => "a line of hex digits",
        Form::Dump => "a row of a dump, such as \"00000000: d5f6 0001\"",
        Form::Array => "a list of numbers, such as {0xd5, 0xf6}",
        Form::String => "a text with escapes, such as \"\\xd5\\xf6\"",
        Form::Base64 => "base64",
    }
}
