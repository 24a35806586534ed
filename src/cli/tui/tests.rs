//! Screens of every size as text, and what keys do to them.

use super::app::{App, Mode, Next};
use super::draw::draw;
use super::keys::{Action, KEYS};
use super::packets::Pane;
use super::reading::Plan;
use super::theme::Theme;
use crate::capture::Source;
use crate::cli::common_args::Common;
use crate::pipeline::Options;
use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// A program on a terminal in memory.
pub struct Screen {
    pub app: App,
    pub terminal: Terminal<TestBackend>,
}

impl Screen {
    pub fn open(path: &Path, (width, height): (u16, u16)) -> Screen {
        Screen::with(Common { files: vec![path.to_owned()], ..Common::default() }, (width, height))
    }

    fn with(common: Common, (width, height): (u16, u16)) -> Screen {
        let spool = Some(tempfile::tempfile().unwrap());
        let plan = Plan { common, options: Options::default(), pipes: vec![], spool, rows: 1 << 20 };
        let app = App::new(plan, Theme { colour: true }, String::new(), false);
        let mut screen = Screen { app, terminal: Terminal::new(TestBackend::new(width, height)).unwrap() };
        screen.settle();
        screen
    }

    /// Draws until nothing is going on any more.
    pub fn settle(&mut self) {
        let started = Instant::now();
        self.draw();
        while self.app.tick() {
            assert!(started.elapsed() < Duration::from_secs(60), "it does not come to an end");
            sleep(Duration::from_millis(5));
            self.draw();
        }
        self.draw();
    }

    fn draw(&mut self) {
        self.terminal.draw(|frame| draw(&mut self.app, frame)).unwrap();
    }

    fn resize(&mut self, (width, height): (u16, u16)) {
        self.terminal.backend_mut().resize(width, height);
        self.terminal.autoresize().unwrap();
        self.draw();
    }

    fn handle(&mut self, event: &Event) -> Next {
        let next = self.app.handle(event);
        self.draw();
        next
    }

    /// Presses a key by its name in the table, or types a character.
    pub fn press(&mut self, name: &str) -> Next {
        self.handle(&Event::Key(key(name)))
    }

    /// Presses keys one after the other.
    pub fn keys(&mut self, names: &[&str]) {
        for name in names {
            self.press(name);
        }
        self.settle();
    }

    /// Types a text.
    pub fn type_text(&mut self, text: &str) {
        for c in text.chars() {
            self.press(&c.to_string());
        }
    }

    /// The lines on the screen.
    pub fn lines(&self) -> Vec<String> {
        lines(self.terminal.backend().buffer())
    }

    fn text(&self) -> String {
        self.lines().join("\n")
    }
}

fn lines(buffer: &Buffer) -> Vec<String> {
    let area = buffer.area;
    let line = |y| (0..area.width).map(|x| buffer[(x, y)].symbol()).collect::<String>().trim_end().to_owned();
    (0..area.height).map(line).collect()
}

/// The key of this name.
fn key(name: &str) -> KeyEvent {
    let (name, modifiers) = match name.strip_prefix("Ctrl-") {
        Some(letter) => (letter.to_lowercase(), KeyModifiers::CONTROL),
        None => (name.to_owned(), KeyModifiers::NONE),
    };
    let code = match name.as_str() {
        "Space" => KeyCode::Char(' '),
        "Tab" => KeyCode::Tab,
        "Shift-Tab" => KeyCode::BackTab,
        "Up" => KeyCode::Up,
        "Down" => KeyCode::Down,
        "PageUp" => KeyCode::PageUp,
        "PageDown" => KeyCode::PageDown,
        "Home" => KeyCode::Home,
        "End" => KeyCode::End,
        "Left" => KeyCode::Left,
        "Right" => KeyCode::Right,
        "Enter" => KeyCode::Enter,
        "Esc" => KeyCode::Esc,
        "F1" => KeyCode::F(1),
        "Backspace" => KeyCode::Backspace,
        c => KeyCode::Char(c.chars().next().unwrap()),
    };
    KeyEvent::new(code, modifiers)
}

const DEMO: &str = "captures/demo.pcapng";

fn demo(size: (u16, u16)) -> Screen {
    Screen::open(Path::new(DEMO), size)
}

/// Writes a capture of so many servers, each asked once with A2S: pcap, little-endian, of raw IP packets.
fn many_servers(path: &Path, number: u32) {
    let header = [0xa1b2_c3d4, 0x0004_0002, 0, 0, 65_535, 101];
    let mut capture: Vec<u8> = header.iter().flat_map(|word: &u32| word.to_le_bytes()).collect();
    let client = [192, 0, 2, 1];
    for n in 0..number {
        let server = [10, 1, (n >> 8) as u8, n as u8];
        let request = b"\xff\xff\xff\xffTSource Engine Query\0".to_vec();
        let name = format!("\x11Server {n}\0de_lab\0lab\0Lab\0");
        let answer = [b"\xff\xff\xff\xffI", name.as_bytes(), b"\x0a\0\x03\x10\0dl\0\x011.0\0\0"].concat();
        for (ends, ports, payload) in
            [([client, server], [40_000, 27_015], request), ([server, client], [27_015, 40_000], answer)]
        {
            let packet = etherparse::PacketBuilder::ipv4(ends[0], ends[1], 64).udp(ports[0], ports[1]);
            let mut bytes = vec![];
            packet.write(&mut bytes, &payload).unwrap();
            let (length, late) = (bytes.len() as u32, u32::from(ends[0] != client));
            let record = [1_700_000_000 + n / 1_000, n % 1_000 * 1_000 + late * 300, length, length];
            capture.extend(record.iter().flat_map(|word| word.to_le_bytes()));
            capture.extend(bytes);
        }
    }
    std::fs::write(path, capture).unwrap();
}

#[test]
fn every_screen_fits_every_size() {
    let folder = tempfile::tempdir().unwrap();
    let many = folder.path().join("many.pcapng");
    many_servers(&many, 13_000);
    let captures = [
        ("demo", PathBuf::from(DEMO)),
        ("hostile", "captures/hostile/sqp_names.pcap".into()),
        ("empty", "captures/containers/empty_capture.pcap".into()),
        ("many", many),
    ];
    for (name, path) in captures {
        let mut screen = Screen::open(&path, (80, 24));
        if name == "many" {
            screen.keys(&["2"]);
            let number = screen.app.listings[0].lines.len();
            assert_eq!((number, screen.app.length), (13_000, 26_000));
        }
        for size in [(80, 24), (120, 40), (200, 60)] {
            screen.resize(size);
            let mut shown = vec![];
            for number in ["1", "2", "3", "4", "5", "6", "7"] {
                screen.keys(&[number]);
                assert!(!screen.text().contains('\u{1b}'), "{name}");
                shown.push(screen.text());
            }
            // The larger ones are looked at as pictures.
            if size == (80, 24) || name == "demo" {
                let title = format!("{name}_{}x{}", size.0, size.1);
                insta::with_settings!({ snapshot_path => "../../../tests/it/snapshots", prepend_module_to_snapshot => false }, {
                    insta::assert_snapshot!(format!("tui_{title}"), shown.join("\n=====\n"));
                });
            }
        }
    }
}

#[test]
fn keys_do_what_the_table_says_wherever_they_are_pressed() {
    let mut screen = demo((100, 30));
    let mut runner =
        TestRunner::new_with_rng(Config::default(), TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let names: Vec<&str> = KEYS
        .iter()
        .filter(|key| !matches!(key.action, Action::Quit | Action::Suspend))
        .flat_map(|key| key.names)
        .copied()
        .chain(["s", "q", "p", "0", "x", "=", "Backspace"])
        .collect();
    let walk = proptest::collection::vec(0..names.len(), 10_000);
    let walk = walk.new_tree(&mut runner).unwrap().current();
    for (at, name) in walk.iter().map(|at| names[*at]).enumerate() {
        if name == "q" && matches!(screen.app.mode, Mode::Screen) {
            continue;
        }
        assert_ne!(screen.press(name), Next::Quit, "{name}");
        if at % 97 == 0 {
            screen.resize((1 + (at % 211) as u16, 1 + (at % 67) as u16));
        }
    }
    screen.settle();
    for _ in 0..6 {
        screen.press("Esc");
    }
    assert!(matches!(screen.app.mode, Mode::Screen), "{:?}", screen.app.mode);
    assert_eq!((screen.app.screen, screen.app.packets.pane), (0, Pane::List), "Escape leads home");
}

#[test]
fn a_filter_is_completed_checked_and_applied_to_every_screen() {
    let mut screen = demo((100, 30));
    screen.press("f");
    screen.type_text("sqp.to");
    screen.press("Tab");
    assert!(screen.lines()[1].contains("Filter: sqp.token"), "{}", screen.text());
    screen.type_text(" = 1");
    assert!(screen.text().contains("A single \"=\" compares nothing"), "{}", screen.text());
    screen.press("Enter");
    assert!(matches!(screen.app.mode, Mode::Filter(..)), "a wrong filter is not applied");
    screen.keys(&["Esc", "f"]);
    screen.type_text("skycoop");
    screen.keys(&["Enter"]);
    let of_skycoop = screen.app.length;
    assert!((1..101).contains(&of_skycoop));
    screen.keys(&["2"]);
    let servers = screen.lines().iter().filter(|line| line.contains("skycoop ")).count();
    assert!(servers > 0 && !screen.text().contains("satisfactory"), "{}", screen.text());
    screen.press("f");
    for _ in 0..9 {
        screen.press("Backspace");
    }
    screen.keys(&["Enter"]);
    assert_eq!(screen.app.length, 101);
}

#[test]
fn a_field_and_its_bytes_select_each_other() {
    let mut screen = demo((100, 40));
    screen.keys(&["Down", "Down", "Down", "Enter", "Down", "Down"]);
    let name =
        |screen: &Screen| screen.app.packets.line().and_then(|line| line.field).map(|field| field.name);
    assert_eq!(name(&screen), Some("token"), "{}", screen.text());
    assert_eq!(screen.app.packets.marked_bytes(), 1..5);
    screen.keys(&["Enter", "End"]);
    assert_eq!(name(&screen), Some("server_info.port"), "{}", screen.text());
    screen.keys(&["Home", "Left", "Right"]);
    assert_eq!((name(&screen), screen.app.packets.byte), (Some("token"), 1));
    screen.press("b");
    assert_eq!(screen.app.clipboard.take().as_deref(), Some("95bd447e"));
    screen.press("y");
    assert_eq!(screen.app.clipboard.take().as_deref(), Some("2512209022"));
    screen.press("B");
    assert_eq!(screen.app.clipboard.take().as_deref(), Some("sqp.token == 2512209022"));
    screen.keys(&["F", "Enter"]);
    assert_eq!(screen.app.filter, "sqp.token == 2512209022");
    assert!(screen.app.length < 10 && screen.app.length > 1);
}

#[test]
fn an_answer_without_its_request_is_judged_as_dump_does() {
    let mut screen = Screen::open(Path::new("captures/server/one_direction.pcapng"), (140, 40));
    screen.keys(&["e"]);
    let mut faults = vec![];
    for _ in 0..screen.app.length {
        let lines = screen.app.packets.packet().unwrap().outline.iter();
        faults.extend(lines.filter(|line| line.text.contains("A2S-TXN-001")).map(|line| line.text.clone()));
        screen.keys(&["Down"]);
    }
    assert!(
        !faults.is_empty() && faults.iter().all(|fault| fault.contains("at fault: capture")),
        "{faults:?}"
    );
}

#[test]
fn layers_are_folded_until_somebody_looks() {
    let mut screen = demo((100, 40));
    assert!(screen.text().contains("+ Internet Protocol") && !screen.text().contains("Time to Live"));
    screen.keys(&["Enter", "Home", "Down", "Down", "Right"]);
    assert!(screen.text().contains("Time to Live: 57"), "{}", screen.text());
    screen.keys(&["Down", "Left", "Left"]);
    assert!(!screen.text().contains("Time to Live"), "{}", screen.text());
}

#[test]
fn marked_packets_are_saved_and_only_they() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out.pcapng");
    let common = Common { files: vec![DEMO.into()], write: Some(out.clone()), ..Common::default() };
    let mut screen = Screen::with(common, (100, 30));
    screen.keys(&["m", "Down", "m", "m", "Up", "m", "w"]);
    assert!(screen.text().contains("Saved 2 frames (marked)"), "{}", screen.text());
    let frames = |path: &Path| {
        let mut source = Source::open(path).unwrap();
        let mut frames = vec![];
        while let Some(frame) = source.next().unwrap() {
            frames.push(frame.bytes.to_vec());
        }
        frames
    };
    let all = frames(Path::new(DEMO));
    assert_eq!(frames(&out), [all[2].clone(), all[4].clone()]);
    let mut screen = demo((100, 30));
    screen.keys(&["w"]);
    assert!(screen.text().contains("There is no file to save to: -w FILE"), "{}", screen.text());
}

#[test]
fn text_bytes_and_findings_are_found_both_ways() {
    let mut screen = demo((100, 40));
    screen.press("/");
    screen.type_text("us south");
    screen.keys(&["Enter"]);
    assert!(screen.text().contains("Nothing was found up to the end"), "{}", screen.text());
    screen.press("/");
    screen.type_text("eu west 2");
    screen.keys(&["Enter"]);
    let first = screen.app.packets.cursor.at;
    assert!(first > 0);
    screen.keys(&["n"]);
    assert!(screen.app.packets.cursor.at > first);
    screen.keys(&["N"]);
    assert_eq!(screen.app.packets.cursor.at, first);
    screen.press("/");
    screen.type_text("0xd5f6");
    screen.keys(&["Enter"]);
    assert!(screen.app.packets.cursor.at > first, "behind the selected packet");
    screen.keys(&["Home", "e"]);
    let finding = screen.app.packets.cursor.at;
    assert!(screen.app.packets.packet().unwrap().outline.iter().any(|line| line.severity.is_some()));
    screen.keys(&["End", "E"]);
    assert!(screen.app.packets.cursor.at > finding);
}

#[test]
fn a_server_a_finding_and_an_exchange_open() {
    let mut screen = demo((120, 40));
    screen.keys(&["2", "Enter"]);
    assert!(screen.text().contains("Server 192.0.2.70:7787"), "{}", screen.text());
    screen.keys(&["Esc", "4", "Down", "Enter"]);
    assert_eq!(screen.app.screen, 0);
    assert!(screen.text().contains("SFQ-ENV-005"), "{}", screen.text());
    screen.keys(&["3", "Enter"]);
    let at = screen.app.packets.cursor.at;
    screen.keys(&["r"]);
    assert_ne!(screen.app.packets.cursor.at, at, "from the request to its answer");
    screen.keys(&["r"]);
    assert_eq!(screen.app.packets.cursor.at, at, "and back");
}

#[test]
fn the_ladder_of_a_server_has_a_rung_for_each_request_and_answer() {
    let mut screen = demo((120, 40));
    screen.keys(&["2", "L"]);
    assert!(screen.text().contains("Exchanges with 192.0.2.70:7787"), "{}", screen.text());
    screen.keys(&["Esc", "3", "L"]);
    let ladder = if let Mode::Overlay(ladder) = &screen.app.mode { Some(ladder) } else { None };
    let ladder = ladder.unwrap();
    assert!(ladder.title.starts_with("Exchanges of "), "{}", ladder.title);
    let (requests, answers): (Vec<_>, Vec<_>) = ladder.lines.iter().partition(|line| line.contains('>'));
    assert!(!requests.is_empty() && answers.iter().all(|line| line.contains('<')), "{:?}", ladder.lines);
    let lost = requests.iter().filter(|line| line.ends_with("no answer")).count();
    assert_eq!(answers.len() + lost, requests.len(), "{:?}", ladder.lines);
    screen.keys(&["Esc", "1", "L"]);
    assert!(matches!(screen.app.mode, Mode::Overlay(_)), "{}", screen.text());
    screen.keys(&["Esc", "5", "L"]);
    assert!(screen.text().contains("Select a server or an exchange first."), "{}", screen.text());
}

#[test]
fn columns_are_made_wider_and_copied_for_the_configuration() {
    let mut screen = demo((120, 40));
    screen.keys(&["c", "Space", "Down", "Down", "Left", "y"]);
    let narrower = screen.app.packets.widths[2].unwrap();
    let copied = screen.app.clipboard.take().unwrap();
    let expected =
        format!("[tui]\ncolumns = [\"time\", \"source:{narrower}\", \"destination\", \"protocol\", ");
    assert!(copied.starts_with(&expected), "{copied}");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("qdissect.toml");
    std::fs::write(&path, copied).unwrap();
    let columns = crate::cli::config::Config::load(&path).unwrap().list_columns.unwrap();
    let mut other = demo((120, 40));
    other.app.packets.choose_columns(&columns);
    screen.keys(&["Enter"]);
    other.settle();
    assert_eq!(other.lines()[2..10], screen.lines()[2..10]);
}

#[test]
fn columns_are_chosen_and_the_list_grows() {
    let mut screen = demo((120, 40));
    assert!(screen.lines()[2].contains("destination"));
    screen.keys(&["c", "Down", "Down", "Down", "Space", "Enter"]);
    assert!(!screen.lines()[2].contains("destination"), "{}", screen.text());
    let height = screen.app.packets.cursor.height;
    screen.keys(&["+", "+"]);
    assert!(screen.app.packets.cursor.height > height);
    screen.keys(&["-", "-"]);
    assert_eq!(screen.app.packets.cursor.height, height);
}

#[test]
fn the_mouse_chooses_screens_lines_and_bytes() {
    let mut screen = demo((100, 40));
    let click = |screen: &mut Screen, column, row| {
        let kind = MouseEventKind::Down(MouseButton::Left);
        screen.handle(&Event::Mouse(MouseEvent { kind, column, row, modifiers: KeyModifiers::NONE }));
        screen.settle();
    };
    click(&mut screen, 14, 0);
    assert_eq!(screen.app.screen, 1, "{}", screen.text());
    click(&mut screen, 2, 0);
    let list = screen.app.areas.list;
    click(&mut screen, 10, list.y + 3);
    assert_eq!((screen.app.screen, screen.app.packets.cursor.at), (0, 3));
    let bytes = screen.app.areas.bytes;
    click(&mut screen, bytes.x + 6 + 3 * 2, bytes.y);
    assert_eq!((screen.app.packets.pane, screen.app.packets.byte), (Pane::Bytes, 2));
    let at = screen.app.packets.cursor.at;
    let wheel = MouseEvent {
        kind: MouseEventKind::ScrollDown,
        column: 5,
        row: list.y,
        modifiers: KeyModifiers::NONE,
    };
    screen.handle(&Event::Mouse(wheel));
    assert_eq!(screen.app.packets.cursor.at, at + 3);
}

#[test]
fn without_colours_severities_have_a_sign_and_nothing_is_coloured() {
    let mut screen = demo((100, 30));
    screen.app.theme = Theme { colour: false };
    screen.settle();
    let buffer = screen.terminal.backend().buffer();
    assert!(buffer.content.iter().all(|cell| cell.fg == ratatui::style::Color::Reset));
    assert!(screen.lines().iter().any(|line| line.starts_with(" W")), "{}", screen.text());
}
