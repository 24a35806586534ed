//! The lines of a packet's tree, each with what it is about: for `dump -V`, and for whoever shows them one by one.

use super::layers::INDENT;
use crate::decode::{Field, Span};
use crate::filter::Filter;
use crate::protocols::Id;
use crate::rule::Severity;

/// The lines of a packet, layers before their fields.
pub type Outline = Vec<OutlineLine>;

/// One line of the tree of a packet. All text from the network in it is escaped.
#[derive(Clone, Debug, PartialEq)]
pub struct OutlineLine {
    /// How far it is indented; 0 for a layer.
    pub level: usize,
    /// The line without its indentation.
    pub text: String,
    /// The bytes of the message that it is about.
    pub span: Option<Span>,
    /// The severity, where it is a finding.
    pub severity: Option<Severity>,
    /// The field that it shows.
    pub field: Option<&'static Field>,
    /// The value of the field, as filters read it.
    pub value: Option<String>,
}

/// One byte of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByteCell {
    /// Its value; `None` for a byte of a password that may not be shown.
    pub value: Option<u8>,
    /// The worst severity of the findings about it.
    pub severity: Option<Severity>,
}

impl OutlineLine {
    /// A line that is about no field.
    pub(super) fn plain(level: usize, text: String) -> OutlineLine {
        OutlineLine { level, text, span: None, severity: None, field: None, value: None }
    }

    /// The same line, indented further.
    pub(super) fn below(self, level: usize) -> OutlineLine {
        OutlineLine { level: self.level + level, ..self }
    }

    /// The line in three parts, which together are the line: the name of its field, its value, and its place and bytes. A line
    /// about no field is a value.
    pub fn parts(&self) -> [&str; 3] {
        let text = self.text.as_str();
        let Some(field) = self.field else { return ["", text, ""] };
        let name = usize::from(text.starts_with('[')) + field.key.len();
        let Some((name, rest)) = text.split_at_checked(name) else { return ["", text, ""] };
        let place = self.span.and_then(|at| rest.rfind(&format!(" [{}..{}]", at.start, at.end)));
        let (value, place) = rest.split_at(place.unwrap_or(rest.len()));
        [name, value, place]
    }

    /// A filter for the field that the line shows: its value, or that it is there.
    pub fn filter(&self, protocol: Id) -> Option<String> {
        let name = format!("{}.{}", protocol.info().name, self.field?.name.replace("[]", ""));
        let with_value = self.value.as_ref().map(|value| format!("{name} == {value}"));
        with_value.into_iter().chain([name]).find(|filter| Filter::parse(filter).is_ok())
    }

    /// The line, indented by four blanks per level.
    pub fn indented(&self) -> String {
        format!("{}{}", INDENT.repeat(self.level), self.text)
    }
}

/// Appends a line that is about no field.
pub(super) fn push(out: &mut Outline, level: usize, text: String) {
    out.push(OutlineLine::plain(level, text));
}

/// The lines as text.
pub(super) fn text(outline: &[OutlineLine]) -> String {
    outline.iter().map(|line| line.indented() + "\n").collect()
}
