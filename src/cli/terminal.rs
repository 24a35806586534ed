//! Properties of the terminal: its width and whether it supports colours. Also makes text harmless for it.

use super::choices::Colour;
use super::common_args::Common;
use super::wrap::Wrap;
use crate::escape::shown;
use crate::report::screen::{Screen, Sort};
use std::io::{self, IsTerminal, Write};
use std::path::Path;

/// Width if there is no terminal.
const WIDTH: u16 = 100;
/// Maximum number of table rows on a terminal.
const TOP: usize = 20;
/// Minimum width for tables.
const NARROWEST: u16 = 60;

/// A file name as text that is harmless for terminals.
pub fn name(path: &Path) -> String {
    shown(&path.to_string_lossy()).into_owned()
}

/// Whether the result goes to a terminal.
pub fn is_result_shown(common: &Common) -> bool {
    common.output.is_none() && io::stdout().is_terminal()
}

/// The screen's width and whether it supports colours.
pub fn screen(colour: Colour, common: &Common) -> Screen {
    let terminal = is_result_shown(common);
    let top = terminal.then_some(TOP);
    Screen {
        width: width(terminal),
        colour: coloured(colour, terminal),
        ascii: !utf8(),
        top,
        sort: Sort::default(),
    }
}

/// Whether the locale supports characters beyond ASCII, which is assumed if none is set.
fn utf8() -> bool {
    let set = |name: &&str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(set);
    locale.is_none_or(|locale| locale.to_ascii_uppercase().replace('-', "").contains("UTF8"))
}

/// The screen that lines are to fit, on a terminal or if colours are asked for. Otherwise lines keep their length, so that
/// programs find the same columns in all of them.
pub fn lines(colour: Colour, common: &Common) -> Option<Screen> {
    let terminal = is_result_shown(common);
    let width = if terminal { self::width(true) } else { u16::MAX };
    let screen = Screen { width, ..screen(colour, common) };
    (terminal || screen.colour).then_some(screen)
}

/// Wraps a result: on a terminal, long lines are broken between words.
pub fn wrap<'a, W: Write>(to: &'a mut W, common: &Common) -> Wrap<&'a mut W> {
    let terminal = is_result_shown(common);
    Wrap::new(to, if terminal { width(true) } else { u16::MAX })
}

/// The width in columns: that of the terminal, or for a file or pipe what the user sets in `COLUMNS`.
pub fn width(terminal: bool) -> u16 {
    let width = terminal_size::terminal_size().filter(|_| terminal).map(|(w, _)| w.0);
    let columns = || std::env::var("COLUMNS").ok()?.parse().ok();
    width.or_else(columns).unwrap_or(WIDTH).max(NARROWEST)
}

/// Whether to use colours: by the option, or else by `NO_COLOR` (no-color.org), `CLICOLOR_FORCE` and `CLICOLOR`
/// (bixense.com/clicolors), and whether there is a terminal that supports them.
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
