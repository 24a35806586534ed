//! The lines of a packet's tree, each with what it is about: for `dump -V`, and for whoever shows them one by one.

use super::layers::INDENT;
use crate::decode::{Field, Span};
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
