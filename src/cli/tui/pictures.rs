//! Draws the screens of the manual as SVG, dark and light: `UPDATE_PICTURES=1 cargo test tui::pictures`.

use super::tests::Screen;
use crate::text::escape::escaped;
use ratatui::buffer::{Buffer, Cell};
use ratatui::style::{Color, Modifier};
use std::fmt::Write;
use std::path::Path;

/// The size of a character.
const CELL: (f64, f64) = (8.4, 17.0);

/// The colours of a terminal.
struct Palette {
    back: &'static str,
    text: &'static str,
    red: &'static str,
    yellow: &'static str,
    blue: &'static str,
    cyan: &'static str,
}

const DARK: Palette = Palette {
    back: "#1c1f26",
    text: "#d8dbe2",
    red: "#ff7b72",
    yellow: "#e3b341",
    blue: "#79c0ff",
    cyan: "#56d4dd",
};
const LIGHT: Palette = Palette {
    back: "#ffffff",
    text: "#1f2328",
    red: "#cf222e",
    yellow: "#8a5a00",
    blue: "#0969da",
    cyan: "#1b7c83",
};

impl Palette {
    fn of(&self, colour: Color) -> &'static str {
        match colour {
            Color::Red => self.red,
            Color::Yellow => self.yellow,
            Color::Blue => self.blue,
            Color::Cyan => self.cyan,
            _ => self.text,
        }
    }
}

/// A picture of a screen.
fn picture(buffer: &Buffer, palette: &Palette, what: &str) -> String {
    let (width, height) = (f64::from(buffer.area.width) * CELL.0, f64::from(buffer.area.height) * CELL.1);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\" aria-label=\"{what}\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"{}\"/>\n\
         <g font-family=\"ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace\" font-size=\"14\">\n",
        palette.back
    );
    for y in 0..buffer.area.height {
        let mut x = 0;
        while x < buffer.area.width {
            let style = buffer[(x, y)].style();
            let start = x;
            let mut text = String::new();
            while x < buffer.area.width && buffer[(x, y)].style() == style {
                text.push_str(buffer[(x, y)].symbol());
                x += 1;
            }
            run(&mut out, &buffer[(start, y)], (start, y, x - start), &text, palette);
        }
    }
    out + "</g>\n</svg>\n"
}

/// A run of characters of one style.
fn run(out: &mut String, cell: &Cell, (x, y, length): (u16, u16, u16), text: &str, palette: &Palette) {
    let is_reversed = cell.modifier.contains(Modifier::REVERSED);
    let (left, top) = (f64::from(x) * CELL.0, f64::from(y) * CELL.1);
    let width = f64::from(length) * CELL.0;
    let colour = palette.of(cell.fg);
    if is_reversed {
        let _ = writeln!(
            out,
            "<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{}\" fill=\"{colour}\"/>",
            CELL.1
        );
    }
    let trimmed = text.trim_end();
    if trimmed.trim().is_empty() {
        return;
    }
    let mut style = String::new();
    let attributes = [
        (Modifier::BOLD, " font-weight=\"bold\""),
        (Modifier::UNDERLINED, " text-decoration=\"underline\""),
        (Modifier::DIM, " opacity=\"0.65\""),
    ];
    attributes
        .iter()
        .filter(|(of, _)| cell.modifier.contains(*of))
        .for_each(|(_, text)| style.push_str(text));
    let fill = if is_reversed { palette.back } else { colour };
    let columns = trimmed.chars().count() as f64 * CELL.0;
    // Not every browser keeps other blanks.
    let text = escaped(trimmed).replace(' ', "\u{a0}");
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let baseline = top + 13.0;
    let _ = writeln!(
        out,
        "<text x=\"{left:.1}\" y=\"{baseline:.1}\" textLength=\"{columns:.1}\" lengthAdjust=\"spacingAndGlyphs\" fill=\"{fill}\"{style}>{text}</text>"
    );
}

#[test]
fn pictures_of_the_manual() {
    let demo = Path::new("captures/demo.pcapng");
    let views: [(&str, &str, &[&str]); 5] = [
        (
            "packets",
            "Packets, the fields of one, and its bytes",
            &["e", "e", "Enter", "Down", "Down", "Down"],
        ),
        ("servers", "Servers", &["2"]),
        ("server", "What there is about a server", &["2", "Down", "Down", "Enter"]),
        ("findings", "Findings", &["4"]),
        ("ladder", "The exchanges of a client with a server", &["3", "L"]),
    ];
    for (name, what, keys) in views {
        let mut screen = Screen::open(demo, (110, 34));
        screen.keys(keys);
        for (scheme, palette) in [("dark", &DARK), ("light", &LIGHT)] {
            let picture = picture(screen.terminal.backend().buffer(), palette, what);
            let path = format!("docs/pictures/tui-{name}-{scheme}.svg");
            if std::env::var_os("UPDATE_PICTURES").is_some() {
                std::fs::write(&path, &picture).unwrap();
            }
            let kept = std::fs::read_to_string(&path).unwrap_or_default();
            assert!(
                kept == picture,
                "{path} shows what the program no longer does: UPDATE_PICTURES=1 makes it anew"
            );
        }
    }
}
