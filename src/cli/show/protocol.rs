//! Text output of protocols: one line each, or a page.

use super::page::{BOLD, Page};
use crate::check::Counts;
use crate::decode::{Field, SHARED_FIELDS, kind_names};
use crate::exchange::Windows;
use crate::protocols::{Id, Info, StepInfo};
use crate::report::count;
use crate::schema::declared::messages;
use crate::text::timestamps::seconds;

/// Writes one line per protocol below a header line.
pub fn list(page: &mut Page) {
    let head = ["name", "title", "ports", "rules"].map(str::to_owned);
    let row = |id: &Id| {
        let info = id.info();
        // The protocol's page lists all of them.
        let ports = match info.ports {
            [first, second, _, ..] => format!("{first}, {second}, …"),
            _ => ports(info),
        };
        [info.name.to_owned(), info.title.to_owned(), ports, id.rules().count().to_string()]
    };
    let rows: Vec<_> = std::iter::once(head).chain(Id::ALL.iter().map(row)).collect();
    let width = |at: usize| rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0);
    let [name, title, ports, rules] = [0, 1, 2, 3].map(width);
    for (n, [a, b, c, d]) in rows.iter().enumerate() {
        let line = format!("{a:<name$}  {b:<title$}  {c:<ports$}  {d:>rules$}");
        page.line(&if n == 0 { page.paint(BOLD, &line) } else { line });
    }
}

/// The default ports of the protocol's servers.
fn ports(info: &Info) -> String {
    match info.ports {
        [] => "any".to_owned(),
        ports => ports.iter().map(u16::to_string).collect::<Vec<_>>().join(", "),
    }
}

/// Writes a page for each protocol.
pub fn show(page: &mut Page, ids: &[Id]) {
    for &id in ids {
        page.gap();
        head(page, id);
        section(page, "Steps");
        id.info().named_steps().for_each(|step| write_step(page, id, step));
        section(page, "Messages");
        page.wrapped("    ", &messages(id).join(", "));
        fields(page, id);
    }
}

fn head(page: &mut Page, id: Id) {
    let info = id.info();
    page.line(&page.paint(BOLD, &format!("{}: {}", info.name, info.title)));
    page.line(&format!("  specification  {}", info.spec));
    page.line(&format!("  server ports   {}", ports(info)));
    let names: Vec<_> = info.known_as.iter().map(|(name, _)| *name).collect();
    if !names.is_empty() {
        page.line(&format!("  ask knows it as {}", names.join(", ")));
    }
    let first: Vec<_> = info.first_bytes().collect();
    page.wrapped(
        "  recognised     ",
        &format!("by content: {}; what follows, and the conversation, decide how sure", first_byte(&first)),
    );
    let counts: Counts = id.rules().map(|rule| rule.severity).collect();
    let by_severity = [(counts.error, "error"), (counts.warning, "warning"), (counts.note, "note")];
    let by_severity = by_severity.map(|(n, severity)| count(n, severity)).join(", ");
    page.line(&format!("  rules          {}: {by_severity}", counts.total()));
    page.line(&format!("                 `qdissect rule list --protocol {}` lists them", info.name));
}

/// What the first byte of a payload may be, as a clause.
fn first_byte(bytes: &[u8]) -> String {
    match bytes {
        [one] => format!("the first byte is {}", byte(*one)),
        _ if bytes.len() > usize::from(u8::MAX) => "any first byte".to_owned(),
        _ => {
            let bytes: Vec<_> = bytes.iter().copied().map(byte).collect();
            format!("the first byte is one of {}", bytes.join(", "))
        }
    }
}

/// A byte as an ASCII character, or in hex if it is not printable.
fn byte(b: u8) -> String {
    if b.is_ascii_graphic() { format!("'{}'", b as char) } else { format!("{b:02x}") }
}

fn section(page: &mut Page, title: &str) {
    page.gap();
    page.line(&page.paint(BOLD, &format!("  {title}")));
}

fn write_step(page: &mut Page, id: Id, step: &StepInfo) {
    let windows = Windows::new(None);
    let [answer, late] = [windows.answer(id), windows.late(id)].map(seconds);
    let paired = match step.key_digits {
        0 => "paired by order".to_owned(),
        digits => format!("paired by a key of {digits} hex digits"),
    };
    let open = match step {
        StepInfo { validated: true, .. } => "",
        StepInfo { carries: 0, .. } => "; nothing proves that the client's address is its own",
        _ => "; only a challenge in the request proves that the client's address is its own",
    };
    page.wrapped(
        &format!("    {:<10} ", step.name),
        &format!("{paired}; an answer is in time within {answer} s, late within {late} s{open}"),
    );
}

/// Writes every field with type and meaning, in columns of the required width.
fn fields(page: &mut Page, id: Id) {
    section(page, "Fields");
    let all: Vec<&Field> = id.info().fields.iter().copied().flatten().chain(SHARED_FIELDS).copied().collect();
    let width = all.iter().map(|f| f.name.len()).max().unwrap_or(0);
    for field in all {
        let (kind, _) = kind_names(field.kind);
        page.wrapped(&format!("    {:<width$}  {kind:<7}  ", field.name), field.about);
    }
}

#[cfg(test)]
mod tests {
    use super::super::page::written as text;
    use super::*;

    #[test]
    fn all_rows_have_the_same_width() {
        let text = text(list);
        assert_eq!(text.lines().count(), Id::ALL.len() + 1);
        let width = text.lines().map(|l| l.chars().count()).max();
        assert!(text.lines().all(|l| Some(l.chars().count()) == width), "{text}");
    }

    #[test]
    fn a_page_has_every_field_and_message() {
        for &id in Id::ALL {
            let text = text(|page| show(page, &[id]));
            let info = id.info();
            for f in info.fields.iter().copied().flatten() {
                assert!(text.lines().any(|l| l.trim_start().starts_with(f.name)), "{}: {text}", f.name);
            }
            for what in info.messages.iter().map(|m| m.name).chain([info.spec, info.title]) {
                assert!(text.contains(what), "{what}: {text}");
            }
            assert!(text.lines().all(|l| l.chars().count() <= 100), "{text}");
        }
    }

    #[test]
    fn printable_bytes_are_shown_as_characters() {
        assert_eq!([0, b'i', 0xfe].map(byte), ["00", "'i'", "fe"]);
    }
    #[test]
    fn a_form_without_a_fixed_first_byte_is_no_list_of_all_bytes() {
        let every: Vec<u8> = (0..=u8::MAX).collect();
        assert_eq!(first_byte(&every), "any first byte");
        assert_eq!(first_byte(&[0xff]), "the first byte is ff");
        assert_eq!(first_byte(&[0x00, b'T']), "the first byte is one of 00, 'T'");
        assert!(first_byte(&every[1..]).ends_with("fe, ff"), "of all but one, each is named");
    }
}
