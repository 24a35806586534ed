//! Removes what is not part of a pasted text: colours of terminals, a byte order mark, the carriage returns of Windows,
//! and marks of quotation.

use super::pattern;
use regex::Regex;
use std::borrow::Cow;
use std::sync::LazyLock;

/// Sequences that set colours, erase lines or name windows (ECMA-48).
static CONTROL: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\))"));

/// The text without them. Positions are those on the screen.
pub fn clean(text: &str) -> Cow<'_, str> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if !text.contains(['\x1b', '\r']) {
        return unquoted(text);
    }
    let text = CONTROL.replace_all(text, "").replace("\r\n", "\n");
    Cow::Owned(unquoted(&text).into_owned())
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
