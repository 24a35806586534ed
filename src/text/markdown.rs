//! Markdown, and the addresses of rules, as the documents have them.

use crate::rule::Rule;

/// The place of a rule in the documents of this program: its heading in `docs/rules.md`.
pub fn page_of(rule: &Rule) -> String {
    format!("docs/rules.md#{}", rule.id.to_lowercase())
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
