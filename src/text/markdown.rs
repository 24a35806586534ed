//! Markdown, and the addresses of rules, as the documents have them.

use crate::rule::Rule;

#[doc = include_str!("../../docs/rules.md")]
pub mod rules {}

/// The address of a rule on docs.rs: its anchor on the page of [`rules`].
pub fn page_of(rule: &Rule) -> String {
    let (name, version) = (env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"));
    format!("https://docs.rs/{name}/{version}/{name}/docs/rules/index.html#{}", rule.id.to_lowercase())
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
