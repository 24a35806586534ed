//! The addresses of rules, the names of the kinds of fields, and Markdown, as the documents have them.

use crate::decode::FieldKind;
use crate::rule::Rule;

#[doc = include_str!("../docs/rules.md")]
pub mod rules {}

/// The place of a rule in the documents of this program: its heading in `docs/rules.md`.
pub fn page_of(rule: &Rule) -> String {
    format!("docs/rules.md#{}", rule.id.to_lowercase())
}

/// Every kind of field, plain ones first: its name, and its form in JSON.
pub const KINDS: [(FieldKind, &str, &str); 12] = [
    (FieldKind::Uint, "uint", "number"),
    (FieldKind::Uint64, "uint64", "string of decimal digits, for a double cannot hold it"),
    (FieldKind::Int, "int", "number"),
    (FieldKind::Bool, "bool", "true or false"),
    (FieldKind::Float32, "float32", "number, or \"NaN\", \"Infinity\", \"-Infinity\""),
    (FieldKind::Text, "text", "string"),
    (FieldKind::Named, "name", "string; the number where it has no name"),
    (FieldKind::Names, "names", "list of strings"),
    (FieldKind::Bytes, "bytes", "string of hex digits"),
    (FieldKind::Dynamic, "dynamic", "as the type that the message announces"),
    (FieldKind::Group, "group", "object"),
    (FieldKind::List, "list", "list"),
];

/// Name of a kind of field, and its form in JSON.
pub fn kind_names(kind: FieldKind) -> (&'static str, &'static str) {
    KINDS.iter().find(|(known, ..)| *known == kind).map_or(("", ""), |(_, name, json)| (name, json))
}

/// The lines of a doc comment as one paragraph.
pub fn paragraph(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Plain text as Markdown, also inside a table.
pub fn escaped(text: &str) -> String {
    with_backslashes(text, "\\`*_[]<>|~")
}

/// The text with a backslash before each of these characters.
pub(crate) fn with_backslashes(text: &str, before: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if before.contains(c) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_in_plain_text_is_escaped() {
        assert_eq!(escaped("a|b *c* <d> e_f"), "a\\|b \\*c\\* \\<d\\> e\\_f");
        assert_eq!(paragraph(" two\n lines\n"), "two lines");
    }
}
