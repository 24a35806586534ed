//! Reads literals of programming languages, each as a datagram.

use super::{Continuation, Reader};
use crate::pasted::expression::{self, Above};
use crate::pasted::list::{self, Literal};
use crate::pasted::{Form, Metadata, Parsed, metadata};
use nom::Offset;

/// Maximum length in bytes of the text after a literal that is searched for endpoints.
const MAX_AFTER: usize = 200;

impl<'a> Reader<'a> {
    /// Finds the first literal of a line, if it has an accepted form.
    pub(super) fn find_literal(&self, line: &'a str, text: &'a str, above: Above) -> Option<Literal<'a>> {
        list::find(line, text, above)
            .filter(|literal| self.accepts(literal.form) || self.form == Some(Form::String))
    }

    /// Reads literals, each as a datagram, up to the end of the line on which the last one ends. Returns the text after
    /// that line. `line` is the line on which the first literal begins, or a part of it that contains the literal.
    pub(super) fn read_literals(
        &mut self,
        first: Literal<'a>,
        line_metadata: Metadata,
        mut line: &'a str,
        above: Above,
    ) -> &'a str {
        let (mut next, mut line_metadata) = (Some(first), line_metadata);
        let mut after = "";
        while let Some(Literal { parsed, before, after: rest, .. }) = next {
            let mut line_metadata = std::mem::take(&mut line_metadata);
            let own = metadata::before_bytes(before);
            line_metadata.mark = line_metadata.mark.or(own.mark);
            let near = (0..4).find_map(|back| rest.get(..rest.len().min(MAX_AFTER).saturating_sub(back)));
            let names =
                metadata::after_bytes(near.unwrap_or_default().split('\n').next().unwrap_or_default());
            for named in [own, names] {
                line_metadata.peer = line_metadata.peer.or(named.peer);
                line_metadata.src = line_metadata.src.or(named.src);
                line_metadata.dst = line_metadata.dst.or(named.dst);
            }
            if !self.is_repeated_field(&parsed, before) {
                self.begin(Continuation::Complete, line_metadata, before);
                self.add(parsed, before);
            }
            after = rest;
            // Search for the end of the line again only if the literal ended on a later line.
            let same = line.get(line.offset(after)..);
            line = same.unwrap_or_else(|| after.split('\n').next().unwrap_or_default());
            next = self.find_literal(line, after, above);
        }
        self.flush();
        self.open_expression(line);
        after.split_once('\n').map_or("", |(_, below)| below)
    }

    /// Whether a literal is the field `data.data` of tshark's JSON, which repeats the payload.
    fn is_repeated_field(&mut self, parsed: &Parsed<'a>, before: &str) -> bool {
        let key = before.trim_end().trim_end_matches([':', ' ', '[', '"']);
        if !(key.ends_with("data.data") || key.ends_with("data_data") || key.ends_with("data.data_raw")) {
            return false;
        }
        self.flush();
        self.pieces.last().is_some_and(|last| last.bytes == parsed.bytes)
    }

    /// Notes whether a line leaves an expression open, which strings on the next line continue.
    pub(super) fn open_expression(&mut self, line: &str) {
        let code = line.split("//").next().unwrap_or_default().trim_end();
        let is_open =
            code.ends_with(['(', '[', '{', '=', '+', '\\']) || code.ends_with(" .") || code.ends_with("..");
        self.above = Above { is_open, joins: expression::joins(code) };
    }
}
