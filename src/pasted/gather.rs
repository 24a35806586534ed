//! Joins lines to datagrams.

use super::dump::{self, Place};
use super::literal::{self, Literal};
use super::plain::{self, Plain};
use super::rows::{self, Row};
use super::sheet::{Open, Sheet, Way};
use super::{Form, Head, MAX_TEXT, Pasted, Wrong, base64, head, strings};

/// Characters of a line of base64 that others may follow.
const BASE64_LINE: usize = 60;
/// The fewest bytes that are taken for a datagram behind words.
const FEWEST: usize = 4;
/// Bytes of a full row of Wireshark's "Follow UDP stream".
const FULL_ROW: usize = 16;

/// Reads a text. With a `form`, everything is taken for that; otherwise each line is looked at.
///
/// Of a longer text than [`MAX_TEXT`], the beginning is read.
pub fn read(text: &str, form: Option<Form>) -> Pasted {
    let mut gatherer = Gatherer { form, sheet: Sheet::default() };
    let mut limit = text.len().min(MAX_TEXT);
    while !text.is_char_boundary(limit) {
        limit = limit.saturating_sub(1);
    }
    let whole = text.get(..limit).unwrap_or_default();
    let mut at = 0usize;
    while at < whole.len() {
        let rest = whole.get(at..).unwrap_or_default();
        let end = rest.find('\n').map_or(whole.len(), |i| at.saturating_add(i));
        gatherer.sheet.number = gatherer.sheet.number.saturating_add(1);
        let read_to = gatherer.line(whole, at, end).max(end);
        let skipped = whole.get(end..read_to).unwrap_or_default().matches('\n').count();
        gatherer.sheet.number = gatherer.sheet.number.saturating_add(skipped);
        let rest = whole.get(read_to..).unwrap_or_default();
        at = rest.find('\n').map_or(whole.len(), |i| read_to.saturating_add(i).saturating_add(1));
    }
    gatherer.sheet.flush();
    if limit < text.len() {
        let what = format!("The text is longer than {MAX_TEXT} bytes; what follows is not read.");
        gatherer.sheet.complain(0, what);
    }
    gatherer.sheet.pasted
}

#[derive(Debug, Default)]
struct Gatherer {
    form: Option<Form>,
    sheet: Sheet,
}

impl Gatherer {
    /// Reads the line `text[at..end]`; gives where reading ended, which is behind the line if a literal is.
    fn line(&mut self, text: &str, at: usize, end: usize) -> usize {
        let line = text.get(at..end).unwrap_or_default().trim_end_matches('\r');
        if self.gamedig(line) {
            return end;
        }
        if line.trim().is_empty() {
            self.sheet.flush();
            return end;
        }
        if self.row(line, 0, Head::default()) || self.star_or_end(line) || self.more_base64(line) {
            return end;
        }
        let (mut said, mut from) = head::strip(line);
        if self.form == Some(Form::Base64) && said == Head::default() {
            from = 0; // a label could be a word of base64
        }
        if said.time.is_some() && self.is_no_time(text, line) {
            (said, from) = (Head::default(), 0);
        }
        let rest = line.get(from..).unwrap_or_default();
        if rest.trim().is_empty() || is_comment(rest) {
            self.words(line);
        } else if from > 0 && (self.row(rest, from, said) || self.star_or_end(rest)) {
            // a row of a dump that is quoted, or marked in every line
        } else if self.digits(rest, from, said) {
            // read
        } else if let Some(literal) = self.literal(text, at.saturating_add(from), end) {
            let before = text.get(at.saturating_add(from)..literal.at).unwrap_or_default();
            said.mark = said.mark.or_else(|| head::name(before));
            return self.literals(text, (at, end), literal, said);
        } else if !self.last_resort(rest, from, said) {
            self.words(line);
        }
        end
    }

    /// Whether `10:00:00` is three bytes and no time of day: where it is all there is, and where bytes are to go on.
    fn is_no_time(&self, text: &str, line: &str) -> bool {
        let goes_on = matches!(&self.sheet.open, Some(Open { way: Way::Lines { goes_on: true, .. }, .. }));
        let three = || plain::read(line).is_some_and(|plain| plain.bytes.len() == 3);
        (goes_on || text.trim() == line.trim()) && three()
    }

    fn is(&self, form: Form) -> bool {
        self.form.is_none_or(|forced| forced == form)
    }

    /// A row of a dump.
    fn row(&mut self, line: &str, column: usize, said: Head) -> bool {
        let Some(row) = rows::row(line).filter(|_| self.is(Form::Dump)) else { return false };
        let place = self.place(&row, said);
        let base = match place {
            Some(Place::New) | None => {
                let in_dump = self.form.is_some() || self.sheet.follow || place.is_some();
                let Some(dump) = dump::begin(&row, in_dump) else { return false };
                let base = dump.base();
                self.sheet.begin(Form::Dump, Way::Dump(dump), said);
                if self.sheet.follow { 0 } else { base }
            }
            Some(place) => {
                self.go_on(place, column);
                0
            }
        };
        if base > 0 {
            let what = format!(
                "The dump begins at offset {base:#x}; offset 0 was expected. The bytes before it are taken as not there."
            );
            self.sheet.complain(column, what);
        }
        self.add_row(row, column);
        true
    }

    /// What a row is to the dump under way; `None` if none is.
    fn place(&mut self, row: &Row<'_>, said: Head) -> Option<Place> {
        let Open { piece, way: Way::Dump(dump), .. } = self.sheet.open.as_mut()? else { return None };
        let read = piece.bytes.len().saturating_add(piece.missing as usize);
        let other_side = row.indented != dump.indented && row.offset.len() == 8 && !row.certain;
        if other_side {
            self.sheet.follow = true;
        }
        let place = dump.place(row.offset, row.certain, read);
        let short = read.saturating_sub(dump.last_row()) < FULL_ROW;
        let another_mark = said.mark.is_some() && said.mark != piece.head.mark;
        let next = self.sheet.follow && (other_side || short) || another_mark;
        Some(if next { Place::New } else { place })
    }

    /// Brings the datagram under way to where the next row begins.
    fn go_on(&mut self, place: Place, column: usize) {
        let (mut gap, mut repeated) = (0, vec![]);
        if let Some(Open { piece, way: Way::Dump(dump), .. }) = &mut self.sheet.open {
            match place {
                Place::Shorter(len) => piece.bytes.truncate(len),
                Place::Repeated(len) => {
                    let row = piece.bytes.get(dump.last_row()..).unwrap_or_default().to_vec();
                    repeated = row.into_iter().cycle().take(len).collect();
                }
                Place::Gap(len) => {
                    gap = len;
                    dump.broken = true;
                    piece.missing = piece.missing.saturating_add(u32::try_from(len).unwrap_or(u32::MAX));
                }
                Place::Next | Place::New => {}
            }
        }
        self.sheet.add(&repeated);
        if gap > 0 {
            let bytes = crate::report::count(gap, "byte");
            let what = format!(
                "{bytes} are missing before this offset. What follows is taken as not captured, up to the end of the dump."
            );
            self.sheet.complain(column, what);
        }
    }

    /// Adds the bytes of a row whose place is found.
    fn add_row(&mut self, row: Row<'_>, column: usize) {
        let Row { mut bytes, wrong, .. } = row;
        let mut broken = false;
        if let Some(Open { piece, way: Way::Dump(dump), .. }) = &mut self.sheet.open {
            let most = dump.row(piece.bytes.len().saturating_add(piece.missing as usize));
            bytes.truncate(most);
            broken = dump.broken;
            if broken {
                piece.missing = piece.missing.saturating_add(u32::try_from(bytes.len()).unwrap_or(u32::MAX));
            }
        }
        if !broken {
            self.sheet.add(&bytes);
        }
        if let Some(wrong) = wrong {
            self.sheet.complain_at(column, wrong);
        }
    }

    /// A `*`, which stands for rows like the one above, or the offset below the last row.
    fn star_or_end(&mut self, line: &str) -> bool {
        let Some(Open { piece, way: Way::Dump(dump), .. }) = &mut self.sheet.open else { return false };
        if line.trim() == "*" {
            dump.repeat();
            return true;
        }
        let Some(offset) = rows::end(line) else { return false };
        let read = piece.bytes.len().saturating_add(piece.missing as usize);
        match dump.place(offset, false, read) {
            Place::New => return false,
            place => self.go_on(place, 0),
        }
        self.sheet.flush();
        true
    }

    /// A line of digits.
    fn digits(&mut self, line: &str, column: usize, said: Head) -> bool {
        if !self.is(Form::Hex) {
            return false;
        }
        let whole = plain::read(line);
        let Some(plain) = whole.or_else(|| plain::read(without_comment(line)?)) else { return false };
        self.add_line(plain, column, said);
        true
    }

    fn add_line(&mut self, plain: Plain, column: usize, said: Head) {
        let len = plain.bytes.len();
        match &mut self.sheet.open {
            Some(Open { way: Way::Lines { first, last, goes_on }, .. })
                if said == Head::default() && (*goes_on || is_wrapped(*first, *last, len)) =>
            {
                *last = if plain.wrong.is_empty() { len } else { *first };
                *goes_on = plain.goes_on;
            }
            _ => {
                let way = Way::Lines { first: len, last: len, goes_on: plain.goes_on };
                self.sheet.begin(Form::Hex, way, said);
            }
        }
        self.sheet.add(&plain.bytes);
        plain.wrong.into_iter().for_each(|wrong| self.sheet.complain_at(column, wrong));
    }

    /// The first literal of a line, if there is one of the form asked for.
    fn literal(&self, text: &str, from: usize, end: usize) -> Option<Literal> {
        literal::find(text, from, end).filter(|l| self.is(l.form) || self.form == Some(Form::String))
    }

    /// Literals, each a datagram, until the line ends at which the last one does.
    fn literals(&mut self, text: &str, (line_at, end): (usize, usize), first: Literal, said: Head) -> usize {
        let (mut next, mut said, mut end) = (Some(first), said, end);
        let mut read_to = end;
        while let Some(literal) = next {
            let way = Way::Lines { first: 0, last: 0, goes_on: false };
            self.sheet.begin(literal.form, way, std::mem::take(&mut said));
            self.sheet.add(&literal.bytes);
            if let Some(open) = &mut self.sheet.open {
                open.piece.missing = literal.missing;
            }
            for (at, what) in literal.wrong {
                self.sheet.complain_in(text, line_at, at, what);
            }
            self.sheet.flush();
            read_to = literal.end;
            if read_to > end {
                let rest = text.get(read_to..).unwrap_or_default();
                end = rest.find('\n').map_or(text.len(), |i| read_to.saturating_add(i));
            }
            next = self.literal(text, read_to, end);
        }
        read_to
    }

    /// What is tried last: escapes without quotes, base64, and lines that were meant as digits.
    fn last_resort(&mut self, line: &str, column: usize, said: Head) -> bool {
        let way = || Way::Lines { first: 0, last: 0, goes_on: false };
        if let Some((bytes, form, wrong)) = strings::bare(line).filter(|_| self.is(Form::String)) {
            self.sheet.begin(form, way(), said);
            self.sheet.add(&bytes);
            wrong
                .into_iter()
                .for_each(|(at, what)| self.sheet.complain_at(column, Wrong::at(line, at, what)));
            return true;
        }
        if self.labelled(line, column, said) {
            return true;
        }
        let word = line.trim();
        let forced = self.form == Some(Form::Base64);
        if self.is(Form::Base64)
            && (forced || base64::is_likely(word))
            && let Some(bytes) = base64::decode(word)
        {
            self.sheet.begin(Form::Base64, Way::Base64(word.len()), said);
            self.sheet.add(&bytes);
            return true;
        }
        let Some(plain) = plain::damaged(line).filter(|_| self.is(Form::Hex)) else {
            if self.form.is_some_and(|form| form != Form::Gamedig) {
                self.sheet.complain(column, format!("This line is not {}.", expected(self.form)));
            }
            return false;
        };
        self.add_line(plain, column, said);
        true
    }

    /// A line of a log that ends in digits.
    fn labelled(&mut self, line: &str, column: usize, mut said: Head) -> bool {
        if !self.is(Form::Hex) {
            return false;
        }
        let line = line.trim_end();
        let digits = |at: &usize| {
            let plain = plain::read(line.get(*at..)?)?;
            Some((*at, plain)).filter(|(_, plain)| plain.wrong.is_empty() && plain.bytes.len() >= FEWEST)
        };
        let found = head::labels(line).find_map(|at| digits(&at));
        let Some((at, plain)) = found else { return false };
        said.take(head::words(line.get(..at).unwrap_or_default()));
        self.sheet.flush();
        self.add_line(plain, column, said);
        true
    }

    /// A further line of base64.
    fn more_base64(&mut self, line: &str) -> bool {
        let Some(Open { way: Way::Base64(last), .. }) = &mut self.sheet.open else { return false };
        let word = line.trim();
        if *last < BASE64_LINE || !last.is_multiple_of(4) || word.len() > *last {
            return false;
        }
        let Some(bytes) = base64::decode(word) else { return false };
        *last = if word.ends_with('=') { 0 } else { word.len() };
        self.sheet.add(&bytes);
        true
    }

    /// A row of digits below gamedig's "Buffer length", or of characters, which say nothing new.
    fn gamedig(&mut self, line: &str) -> bool {
        let Some(Open { way: Way::Gamedig(left), .. }) = &mut self.sheet.open else { return false };
        if *left == 0 {
            // Below the last row of digits stands one of characters, which may be blank.
            let characters = line.chars().skip(1).step_by(3).all(|c| c == ' ') && line.len() <= 64;
            self.sheet.flush();
            return characters;
        }
        let bytes = line.split_whitespace().map(|word| super::pairs(word).filter(|b| b.len() == 1));
        let bytes: Option<Vec<u8>> = bytes.collect::<Option<Vec<_>>>().map(|all| all.concat());
        match bytes.filter(|b| !b.is_empty()) {
            Some(bytes) => {
                *left = left.saturating_sub(bytes.len());
                self.sheet.add(&bytes);
                true
            }
            None if line.chars().skip(1).step_by(3).all(|c| c == ' ') => true,
            None => {
                self.sheet.flush();
                false
            }
        }
    }

    /// A line without bytes: it ends a datagram, and may speak of the next one.
    fn words(&mut self, line: &str) {
        self.sheet.flush();
        self.sheet.head.take(head::words(line));
        self.sheet.follow |= line.trim_start().starts_with("Follow: udp");
        let length = line.trim().strip_prefix("Buffer length: ").and_then(|l| l.strip_suffix(" bytes"));
        if let Some(length) = length.and_then(|l| l.parse().ok()).filter(|_| self.is(Form::Gamedig)) {
            self.sheet.begin(Form::Gamedig, Way::Gamedig(length), Head::default());
        }
    }
}

/// What lines should have been.
fn expected(form: Option<Form>) -> &'static str {
    match form {
        Some(Form::Dump) => "a row of a dump, such as \"00000000: d5f6 0001\"",
        Some(Form::Array) => "a list of numbers, such as {0xd5, 0xf6}",
        Some(Form::String) => "a text with escapes, such as \"\\xd5\\xf6\"",
        Some(Form::Base64) => "base64",
        _ => "a line of hex digits",
    }
}

/// Whether a line of so many bytes goes on with the lines above: those are full, and of a length that lines are
/// wrapped at. `xxd -p` has 30 bytes a line; 72, 76 and 78 characters are other habits.
fn is_wrapped(first: usize, last: usize, len: usize) -> bool {
    let usual =
        first >= 8 && (first.is_multiple_of(8) || first.is_multiple_of(10) || [36, 38, 39].contains(&first));
    usual && last == first && len <= first
}

fn is_comment(text: &str) -> bool {
    let text = text.trim_start();
    ["#", "//", "/*", ";", "--"].iter().any(|mark| text.starts_with(mark))
}

/// What stands before a comment; `None` if there is none.
fn without_comment(line: &str) -> Option<&str> {
    let at = ["#", "//", "/*", ";"].iter().filter_map(|mark| line.find(mark)).min()?;
    line.get(..at).filter(|before| before.ends_with([' ', '\t']))
}
