//! The keys, declared once: for the program, for its help, and for the manual.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// What a key does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    Quit,
    Suspend,
    Redraw,
    Help,
    NextScreen,
    PreviousScreen,
    Screen(usize),
    Up,
    Down,
    PageUp,
    PageDown,
    Home,
    End,
    Left,
    Right,
    Enter,
    Back,
    OtherPane,
    Filter,
    FilterByField,
    Search,
    SearchNext,
    SearchPrevious,
    NextFinding,
    PreviousFinding,
    Answer,
    Ladder,
    All,
    Mark,
    Save,
    CopyValue,
    CopyField,
    CopyHex,
    CopyFilter,
    Columns,
    Taller,
    Smaller,
}

/// A group of keys, as the help shows them.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// Names of the keys that do it.
    pub names: &'static [&'static str],
    /// What they do.
    pub action: Action,
    /// The same for people.
    pub about: &'static str,
}

const fn key(names: &'static [&'static str], action: Action, about: &'static str) -> Key {
    Key { names, action, about }
}

/// Every key.
pub static KEYS: &[Key] = &[
    key(&["1"], Action::Screen(0), "packets"),
    key(&["2"], Action::Screen(1), "servers"),
    key(&["3"], Action::Screen(2), "exchanges"),
    key(&["4"], Action::Screen(3), "findings"),
    key(&["5"], Action::Screen(4), "statistics"),
    key(&["6"], Action::Screen(5), "unclaimed traffic"),
    key(&["7"], Action::Screen(6), "top: the servers of the last ten seconds, once a second"),
    key(&["Tab"], Action::NextScreen, "next screen"),
    key(&["Shift-Tab"], Action::PreviousScreen, "previous screen"),
    key(&["Up", "k"], Action::Up, "one line up"),
    key(&["Down", "j"], Action::Down, "one line down"),
    key(&["PageUp", "Ctrl-B", "Ctrl-U"], Action::PageUp, "one page up"),
    key(&["PageDown", "Ctrl-F", "Ctrl-D", "Space"], Action::PageDown, "one page down"),
    key(&["Home", "g"], Action::Home, "to the first line; the list no longer follows new packets"),
    key(&["End", "G"], Action::End, "to the last line; the list follows new packets"),
    key(&["Left", "h"], Action::Left, "fold the fields below; scroll to the left; one byte back"),
    key(&["Right", "l"], Action::Right, "unfold the fields below; scroll to the right; one byte on"),
    key(
        &["Enter"],
        Action::Enter,
        "open: the tree of a packet, the screen of a server, the packet of a finding",
    ),
    key(&["Esc"], Action::Back, "back, at last to the list of packets"),
    key(&["o"], Action::OtherPane, "the other pane: list, tree, bytes"),
    key(&["+"], Action::Taller, "more lines for the list"),
    key(&["-"], Action::Smaller, "fewer lines for the list"),
    key(
        &["c"],
        Action::Columns,
        "choose the columns of the list: Space shows or hides, Left and Right change the width, `y` copies them for qdissect.toml",
    ),
    key(&["f"], Action::Filter, "filter: only packets that pass an expression"),
    key(&["F"], Action::FilterByField, "filter by the field that is selected in the tree"),
    key(&["/"], Action::Search, "search in fields, text and, as 0x..., bytes"),
    key(&["n"], Action::SearchNext, "next place that is found"),
    key(&["N"], Action::SearchPrevious, "previous place that is found"),
    key(&["e"], Action::NextFinding, "next packet with a finding"),
    key(&["E"], Action::PreviousFinding, "previous packet with a finding"),
    key(&["r"], Action::Answer, "from a request to its answer, and back"),
    key(&["L"], Action::Ladder, "the ladder of a server, or of the two hosts of an exchange"),
    key(&["a"], Action::All, "with or without datagrams that no protocol claims"),
    key(&["m"], Action::Mark, "mark the packet, or take its mark away"),
    key(&["w"], Action::Save, "save what is marked, or else all that is listed, to the file of -w"),
    key(&["y"], Action::CopyValue, "copy the value of the field that is selected"),
    key(&["Y"], Action::CopyField, "copy the line that is selected"),
    key(&["b"], Action::CopyHex, "copy the bytes of the field that is selected, as hex"),
    key(&["B"], Action::CopyFilter, "copy a filter for the field that is selected"),
    key(&["Ctrl-L"], Action::Redraw, "draw the screen again"),
    key(&["Ctrl-Z"], Action::Suspend, "stop; the shell's `fg` goes on"),
    key(&["?", "F1"], Action::Help, "this help"),
    key(&["q", "Ctrl-C"], Action::Quit, "quit"),
];

/// The name of a key as the table has it; `None` for a key without one.
pub fn name(event: &KeyEvent) -> Option<String> {
    let control = event.modifiers.contains(KeyModifiers::CONTROL);
    Some(match event.code {
        KeyCode::Char(' ') => "Space".to_owned(),
        KeyCode::Char(c) if control => format!("Ctrl-{}", c.to_ascii_uppercase()),
        KeyCode::Char(c) => c.to_string(),
        KeyCode::BackTab => "Shift-Tab".to_owned(),
        KeyCode::F(n) => format!("F{n}"),
        KeyCode::Tab => "Tab".to_owned(),
        KeyCode::Up => "Up".to_owned(),
        KeyCode::Down => "Down".to_owned(),
        KeyCode::PageUp => "PageUp".to_owned(),
        KeyCode::PageDown => "PageDown".to_owned(),
        KeyCode::Home => "Home".to_owned(),
        KeyCode::End => "End".to_owned(),
        KeyCode::Left => "Left".to_owned(),
        KeyCode::Right => "Right".to_owned(),
        KeyCode::Enter => "Enter".to_owned(),
        KeyCode::Esc => "Esc".to_owned(),
        _ => return None,
    })
}

/// What a key does; `None` where it does nothing.
pub fn action(event: &KeyEvent) -> Option<Action> {
    let name = name(event)?;
    KEYS.iter().find(|key| key.names.contains(&name.as_str())).map(|key| key.action)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn no_key_does_two_things() {
        let mut seen = HashSet::new();
        let names = KEYS.iter().flat_map(|key| key.names);
        names.for_each(|name| assert!(seen.insert(name), "{name} is declared twice"));
    }

    #[test]
    fn the_manual_lists_every_key() {
        let names =
            |key: &Key| key.names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        let rows: String = KEYS.iter().map(|key| format!("| {} | {} |\n", names(key), key.about)).collect();
        let path = "docs/tui.md";
        let text = std::fs::read_to_string(path).unwrap();
        let head = "| keys | what they do |\n|---|---|\n";
        let (before, after) = text.split_once(head).unwrap();
        let end = after.find("\n\n").map_or(after.len(), |end| end + 1);
        let right = format!("{before}{head}{rows}{}", &after[end..]);
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(path, &right).unwrap();
        } else {
            assert_eq!(text, right, "UPDATE_DOCS=1 writes the table anew");
        }
    }

    #[test]
    fn keys_are_found_by_their_names() {
        let of = |code, modifiers| action(&KeyEvent::new(code, modifiers));
        assert_eq!(of(KeyCode::Char('j'), KeyModifiers::NONE), Some(Action::Down));
        assert_eq!(of(KeyCode::Char('G'), KeyModifiers::SHIFT), Some(Action::End));
        assert_eq!(of(KeyCode::Char('c'), KeyModifiers::CONTROL), Some(Action::Quit));
        assert_eq!(of(KeyCode::Char('$'), KeyModifiers::NONE), None);
        assert_eq!(of(KeyCode::BackTab, KeyModifiers::SHIFT), Some(Action::PreviousScreen));
    }
}
