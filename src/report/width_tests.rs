//! Columns hold whatever a server calls itself.

use super::screen::{MAX_CELL, Screen, arrange};
use super::{short, shown};
use unicode_width::UnicodeWidthStr;

#[test]
fn wide_characters_and_marks_break_no_column() {
    let names = [
        "サーバー",
        "e\u{301}cole",
        "👨\u{200d}👩\u{200d}👧 family",
        "plain",
        "한국어 서버 한국어 서버 한국어 서버",
    ];
    for width in [60, 80, 100, 140] {
        let screen = Screen { width, colour: false };
        let mut table = screen.table(true);
        table.set_header(["server\nname", "protocol", "requests"]);
        for name in names {
            let name = short(&shown(name), MAX_CELL);
            table.add_row([format!("192.0.2.1:7777\n{name}"), name, "17".to_owned()]);
        }
        arrange(screen, &mut table, 2, 14);
        let text = table.to_string();
        let widths: Vec<_> = text.lines().map(|line| line.width()).collect();
        assert!(widths.iter().all(|w| *w == widths[0] && *w <= usize::from(width)), "{width}:\n{text}");
        assert!(names[0].chars().all(|c| text.contains(c)), "{text}");
    }
}
