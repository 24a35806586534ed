//! Reads lines of logs, escapes without quotes, base64, and damaged lines.

use super::Reader;
use crate::pasted::prose::{self, Run};
use crate::pasted::{Form, Metadata, Parsed, decimal, digits, escaped, is_hex, metadata, string};
use nom::Offset;

/// Minimum number of bytes that, before other bytes of the same line, are more likely a datagram than a number.
const MIN_DATAGRAM: usize = 12;
/// Minimum number of bytes after words that count as a datagram.
const MIN_AFTER_WORDS: usize = 4;

impl<'a> Reader<'a> {
    /// Tries the remaining forms: log lines that end in digits, escapes without quotes, base64, and damaged lines of
    /// digits.
    pub(super) fn read_other_forms(&mut self, line: &'a str, mut line_metadata: Metadata) -> bool {
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
        if let Some(run) = self.find_run(line, line_metadata) {
            line_metadata.merge(metadata::before_bytes(run.before));
            let after = metadata::after_bytes(run.after);
            line_metadata.merge(Metadata { mark: line_metadata.mark.or(after.mark), ..after });
            self.flush();
            self.add_line(Form::Hex, run.parsed, line_metadata, line);
            return true;
        }
        let is_base64 = self.form == Some(Form::Base64) || self.form.is_none() && string::is_base64(word);
        let escapes = escaped::read(line).map(|(_, parsed)| parsed);
        let escapes = string::read_unquoted(line)
            .or(escapes)
            .filter(|_| self.accepts(Form::String))
            .map(|parsed| (Form::String, parsed));
        let base64 = || Some((Form::Base64, string::base64(word).filter(|_| is_base64)?));
        let damaged = || Some((Form::Hex, digits::read_damaged(line).filter(|_| self.accepts(Form::Hex))?));
        let numbers = || Some((Form::Array, decimal::find(line).filter(|_| self.accepts(Form::Array))?.1));
        let cut = || Some((Form::Base64, string::cut_base64(word).filter(|_| self.accepts(Form::Base64))?));
        let parsed = escapes.or_else(base64).or_else(damaged).or_else(numbers).or_else(cut);
        if let (None, Some(form)) = (&parsed, self.form) {
            self.complaints.add(line, format!("This line is not {}.", expected_form(form)));
        }
        parsed.map(|(form, parsed)| self.add_line(form, parsed, line_metadata, line)).is_some()
    }

    /// Finds bytes among words.
    fn find_run(&self, line: &'a str, line_metadata: Metadata) -> Option<Run<'a>> {
        let is_hinted = line_metadata.mark.is_some();
        // A text with escapes goes on where its first bytes end: `\xff\xff\xff\xff\x49\x11Harbour\x00`.
        let is_whole = |run: &Run<'_>| !(run.before.is_empty() && run.after.starts_with('\\'));
        prose::find(line, is_hinted).filter(|run| self.accepts(Form::Hex) && is_whole(run))
    }
}

/// The digits at the end of a log line, and the text that begins with them.
fn labelled_digits(line: &str) -> Option<(&str, Parsed<'_>)> {
    metadata::after_labels(line).find_map(|rest| {
        let parsed = digits::read(rest.trim_end().trim_end_matches([' ', ']', '}', ')']))?;
        (parsed.complaints.list.is_empty() && parsed.bytes.len() >= MIN_AFTER_WORDS).then_some((rest, parsed))
    })
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
