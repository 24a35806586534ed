//! What a terminal can show: how wide it is, whether it takes colours, and text that does it no harm.

use super::choices::Colour;
use super::common_args::Common;
use super::wrap::Wrap;
use crate::report::screen::{Screen, Sort};
use crate::report::shown;
use std::io::{self, IsTerminal, Write};
use std::path::Path;

/// Width of the screen when it is none.
const WIDTH: u16 = 100;
/// Most rows of a table on a terminal.
const TOP: usize = 20;
/// Narrowest width that a table is made for.
const NARROWEST: u16 = 60;

/// A file's name as text that a terminal can bear.
pub fn name(path: &Path) -> String {
    shown(&path.to_string_lossy()).into_owned()
}

/// The screen: its width, and whether it takes colours.
pub fn screen(colour: Colour, common: &Common) -> Screen {
    let terminal = common.output.is_none() && io::stdout().is_terminal();
    let top = terminal.then_some(TOP);
    Screen {
        width: width(terminal),
        colour: coloured(colour, terminal),
        ascii: !utf8(),
        top,
        sort: Sort::default(),
    }
}

/// Whether the locale takes other characters than those of ASCII; one that nobody has set does.
fn utf8() -> bool {
    let set = |name: &&str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(set);
    locale.is_none_or(|locale| locale.to_ascii_uppercase().replace('-', "").contains("UTF8"))
}

/// The screen that lines are to fit, on a terminal or where colours are asked for; elsewhere they are as long as they
/// are, and programs find the same columns in all of them.
pub fn lines(colour: Colour, common: &Common) -> Option<Screen> {
    let terminal = common.output.is_none() && io::stdout().is_terminal();
    let width = if terminal { self::width(true) } else { u16::MAX };
    let screen = Screen { width, ..screen(colour, common) };
    (terminal || screen.colour).then_some(screen)
}

/// A result for people: on a terminal, long lines are broken between words.
pub fn wrap<'a, W: Write>(to: &'a mut W, common: &Common) -> Wrap<&'a mut W> {
    let terminal = common.output.is_none() && io::stdout().is_terminal();
    Wrap::new(to, if terminal { width(true) } else { u16::MAX })
}

/// Columns to write for: those of the terminal, or what the user says of a file or pipe.
pub fn width(terminal: bool) -> u16 {
    let width = terminal_size::terminal_size().filter(|_| terminal).map(|(w, _)| w.0);
    let columns = || std::env::var("COLUMNS").ok()?.parse().ok();
    width.or_else(columns).unwrap_or(WIDTH).max(NARROWEST)
}

/// Whether colours are welcome: by the option, or else by `NO_COLOR` (no-color.org), `CLICOLOR_FORCE` and `CLICOLOR`
/// (bixense.com/clicolors), and whether there is a terminal that knows them.
pub fn coloured(colour: Colour, terminal: bool) -> bool {
    match colour {
        Colour::Always => true,
        Colour::Never => false,
        Colour::Auto => {
            let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
            let forced = set("CLICOLOR_FORCE").is_some_and(|value| value != "0");
            let able = set("TERM").is_none_or(|term| term != "dumb");
            let wanted = set("CLICOLOR").is_none_or(|value| value != "0");
            set("NO_COLOR").is_none() && (forced || terminal && able && wanted)
        }
    }
}
