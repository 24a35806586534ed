//! Tests that columns hold any name that a server gives itself.

use super::Totals;
use super::screen::{MAX_CELL, Screen, arrange};
use super::server::{Server, ServerFacts};
use super::summary::Summary;
use crate::capture::{CaptureInfo, Interface};
use crate::escape::{short, shown};
use crate::net::Endpoint;
use crate::protocols::Id;
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
        let screen = Screen { width, colour: false, ..Screen::default() };
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

/// The summary of a capture with these interfaces, a server of this name and address, in two lines and a table.
fn screen(interfaces: usize, name: &str, endpoint: Endpoint) -> String {
    let mut summary = Summary::default();
    let interface = |n| {
        let mut interface = Interface::default();
        interface.name = Some(format!("if{n}"));
        interface
    };
    let facts =
        CaptureInfo { interfaces: (0..interfaces).map(interface).collect(), ..CaptureInfo::default() };
    summary.files.begin("a", &facts, 0);
    let said = ServerFacts { server_name: Some(name.as_bytes().into()), ..ServerFacts::default() };
    summary.servers.push(Some(Server { said, ..Server::new(endpoint, Id::Sqp) }));
    let mut out = vec![];
    let how = Screen { width: 300, colour: false, ..Screen::default() };
    super::screen::write(&mut out, how, &summary, &Totals::default()).expect("memory takes everything");
    String::from_utf8(out).expect("UTF-8")
}

#[test]
fn names_of_interfaces_and_servers_are_cut_and_say_so() {
    let end = Endpoint::v4([192, 0, 2, 1], 7777);
    let all = screen(8, "a", end);
    assert!(all.contains("captured on \"if0\", ") && all.contains(", \"if7\"\n"), "{all}");
    let more = screen(9, "a", end);
    assert!(more.contains(", \"if7\" and others\n"), "{more}");
    let name = "n".repeat(MAX_CELL);
    assert!(screen(0, &name, end).contains(&format!(" {name} ")));
    let cut = screen(0, &(name.clone() + "n"), end);
    assert!(!cut.contains(&name) && cut.contains("nnn… "), "{cut}");
}

#[test]
fn an_address_is_in_one_line_up_to_twenty_four_characters() {
    let lines = |address: &str| {
        let mut table = Screen { width: 80, colour: false, ..Screen::default() }.table(true);
        table.set_header(["server\nname", "protocol\ngame, map, version", "players"]);
        let wide = "w ".repeat(60);
        table.add_row([format!("{address}\n{wide}"), wide.clone(), "17".to_owned()]);
        arrange(Screen { width: 80, colour: false, ..Screen::default() }, &mut table, 2, address.len());
        table.to_string().contains(address)
    };
    assert!(lines("[2001:db8:1:2::34]:27100"), "24 characters");
    assert!(!lines("[2001:db8:1234:5678:9abc:def0:1234:5678]:27100"));
}
