//! The page in `web/` in a real browser: its engine gives the records of the program, its numbers agree with the records, and it
//! requests only its own files. Without Chromium or before `web/build.sh` was run, the tests say so and pass.

mod server;

use crate::browser::driver::Browser;
use crate::kit::captures::{CLICKED, own};
use crate::kit::frames::{Kept, pcap};
use crate::kit::run::qdissect;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use server::Server;
use sha2::{Digest, Sha256};
use std::borrow::Cow;
use std::fs;
use std::path::Path;
use tempfile::tempdir;

/// The functions that the tests call inside the page.
const LOOK: &str = include_str!("web/look.js");

/// The page, open in a browser.
struct Open {
    browser: Browser,
    server: Server,
}

impl Open {
    /// Opens the page. If something is missing, prints that and returns `None`.
    fn page() -> Option<Open> {
        if !Path::new("web/dist/index.html").is_file() {
            println!("web/build.sh has not been run: the page is not tried in a browser");
            return None;
        }
        let (mut browser, server) = (Browser::start()?, Server::start("web/dist"));
        browser.resize(1_440, 900);
        browser.go(&server.url);
        Some(Open { browser, server })
    }

    #[track_caller]
    fn look(&mut self, what: &str) -> Value {
        self.browser.value(&format!("({LOOK}).{what}"))
    }

    /// Chooses a capture and waits until it was read.
    fn choose(&mut self, capture: &str) {
        self.browser.choose_file("document.querySelector('#file')", Path::new(capture));
        assert_eq!(self.look("read()"), "", "{capture}");
    }

    /// Checks that the console is empty and that only the page's own files were requested.
    #[track_caller]
    fn is_quiet(&mut self, what: &str) {
        let own = self.server.url.clone();
        let right = |request: &Value| {
            let url = request["request"]["url"].as_str().unwrap_or_default();
            url.starts_with(&own) || url.starts_with("blob:") || url.starts_with("data:")
        };
        assert_eq!(self.browser.complaints_but(&right), Vec::<String>::new(), "{what}");
        let files = ["/", "/app.js", "/engine.js", "/list.js", "/packet.js", "/style.css"];
        assert_eq!(self.server.asked(), files, "{what}");
    }
}

/// The records of the program for a capture.
fn records(capture: &str) -> String {
    let output = qdissect().args(["dump", "--all", "-T", "ndjson", capture]).output().expect("it runs");
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// The records of one type as values.
fn values(records: &str, kind: &str) -> Vec<Value> {
    let all = records.lines().map(|line| line.parse::<Value>().expect("JSON"));
    all.filter(|record| record["type"] == kind).collect()
}

#[test]
fn the_page_gives_the_records_of_the_program() {
    let Some(mut page) = Open::page() else { return };
    for capture in own() {
        let name = capture.to_str().expect("a name");
        let bytes = STANDARD.encode(fs::read(&capture).expect("a capture"));
        let result = page.look(&format!("records({}, '{bytes}')", json!(name)));
        let result: Vec<_> = result.as_str().expect("lines").lines().map(without_facts).collect();
        assert!(result.iter().eq(records(name).lines()), "{name}");
    }
    page.is_quiet("records");
}

/// The record of a packet without the facts that only the page gets: they stand at its end.
fn without_facts(line: &str) -> Cow<'_, str> {
    match line.rfind(",\"facts\":{") {
        Some(at) => format!("{}}}", &line[..at]).into(),
        None => line.into(),
    }
}

#[test]
fn lists_name_servers_and_players_as_the_table_of_servers_does() {
    let Some(mut page) = Open::page() else { return };
    page.choose("captures/demo.pcapng");
    let shown = page.browser.value("packets.items.map(({ src, name, players }) => [src, name, players])");
    let output =
        qdissect().args(["summary", "-T", "ndjson", "captures/demo.pcapng"]).output().expect("it runs");
    let servers = values(&String::from_utf8(output.stdout).expect("UTF-8"), "server");
    assert!(servers.iter().filter(|server| server["players"].is_u64()).count() >= 4, "{servers:?}");
    for server in servers {
        let of_server = shown.as_array().expect("rows").iter().filter(|row| row[0] == server["server"]);
        let last =
            |at: usize| of_server.clone().rfind(|row| row[at] != "").map_or(&Value::Null, |row| &row[at]);
        assert_eq!(*last(1), server["server_name"], "{server}");
        let players = server["players"].as_u64().map(|now| format!("{now}/{}", server["max_players"]));
        assert_eq!(*last(2), json!(players), "{server}");
    }
}

#[test]
fn the_page_gives_the_report_of_the_program() {
    let Some(mut page) = Open::page() else { return };
    for capture in CLICKED {
        let output = qdissect().args(["report", "-q", capture]).output().expect("it runs");
        let bytes = STANDARD.encode(fs::read(capture).expect("a capture"));
        let result = page.look(&format!("report({}, '{bytes}')", json!(capture)));
        let report = String::from_utf8(output.stdout).expect("UTF-8");
        assert!(result == report.as_str(), "{capture}");
        let script =
            report.rsplit_once("<script>").expect("a script").1.split_once("</script>").expect("its end").0;
        let hash = format!("'sha256-{}'", STANDARD.encode(Sha256::digest(script)));
        let frame = fs::read_to_string("web/dist/index.html").expect("the page");
        assert!(frame.contains(&hash), "the report's script may not run in the page: {hash}");
    }
}

/// A capture of `count` datagrams of no known protocol, 300 bytes each.
fn datagrams(count: u32) -> Vec<u8> {
    let mut bytes = vec![0x45, 0, 1, 72, 0, 0, 0, 0, 64, 17, 0, 0, 192, 0, 2, 1, 198, 51, 100, 7];
    bytes.extend([0x23, 0x28, 0x23, 0x29, 1, 52, 0, 0]);
    bytes.resize(328, 0x5a);
    let frame = |n| Kept { time: i64::from(n) * 1_000_000, link: 101, wire_len: 328, bytes: bytes.clone() };
    pcap(&(1..=count).map(frame).collect::<Vec<_>>())
}

#[test]
fn further_packets_are_loaded_by_clicks_and_a_changed_file_is_reported() {
    let Some(mut page) = Open::page() else { return };
    let folder = tempdir().expect("a folder");
    let capture = folder.path().join("many.pcap");
    fs::write(&capture, datagrams(60_010)).expect("room");
    page.choose(capture.to_str().expect("a name"));
    assert_eq!(page.look("later()"), json!([20_000, 20_001, "Packets 20001 to 40000 of 60010"]));
    fs::write(&capture, "gone").expect("room");
    let message = page.look("complaint()");
    assert!(message.as_str().expect("a text").contains("the browser cannot read the file"), "{message}");
    page.look("again()");
    page.choose("captures/demo.pcapng");
    page.is_quiet("a file that changed");
}

#[test]
fn only_one_of_several_captures_is_read_with_a_note() {
    let Some(mut page) = Open::page() else { return };
    let message = page.look("drop(['a.pcap', 'b.pcap'])");
    assert_eq!(message, "Only a.pcap is read: the page takes one capture at a time.");
}

#[test]
fn every_view_shows_the_records_and_nothing_is_asked_for() {
    let Some(mut page) = Open::page() else { return };
    for capture in CLICKED {
        page.browser.go(&page.server.url.clone());
        page.choose(capture);
        let records = records(capture);
        let summary = &values(&records, "summary")[0];
        let tiles = page.look("tiles()");
        for (number, shown) in tiles.as_object().expect("tiles") {
            let of =
                if summary[number].is_u64() { &summary[number] } else { &summary["finding_counts"][number] };
            assert_eq!(of, shown, "{capture}: {number}");
        }
        let packets = values(&records, "packet");
        assert_eq!(page.look("length('packet-list')"), packets.len(), "{capture}");
        let with = packets
            .iter()
            .chain(&values(&records, "exchange"))
            .map(|r| r["findings"].as_array().map_or(0, Vec::len))
            .sum::<usize>();
        assert_eq!(page.look("length('finding-list')"), with, "{capture}");
        for at in (0..packets.len()).step_by(1 + packets.len() / 20) {
            let found = page.look(&format!("packet({at})"));
            let wanted = packets[at]["findings"].as_array().map_or(0, Vec::len);
            assert_eq!(found["findings"], wanted, "{capture}: {at}");
            let title = format!("Frame {}: ", packets[at]["frame"]);
            assert!(found["title"].as_str().expect("a title").starts_with(&title), "{capture}: {found}");
        }
        page.look("press()");
        for width in [1_440, 390] {
            page.browser.resize(width, 900);
            for view in ["packets", "findings", "report"] {
                assert_eq!(page.look(&format!("overflow('{view}')")), 0, "{capture}: {view} at {width}");
            }
        }
        let strange = "document.body.querySelectorAll('img, object, embed, b, i').length";
        assert_eq!(page.browser.value(strange), 0, "{capture}");
        page.is_quiet(capture);
    }
}

#[test]
fn a_field_shows_its_bytes_and_a_byte_its_field() {
    let Some(mut page) = Open::page() else { return };
    page.choose("captures/demo.pcapng");
    let packets = values(&records("captures/demo.pcapng"), "packet");
    let at = packets.iter().position(|p| p["frame"] == 4).expect("a packet");
    page.look(&format!("packet({at})"));
    assert_eq!(page.look("hover('token')"), "95 bd 44 7e");
    assert_eq!(page.look("byte(2)"), "token2512209022");
    assert_eq!(page.look("key('bytes', 'ArrowLeft')"), "token2512209022");
    assert_eq!(page.look("key('tree', 'ArrowUp')"), "type0 (challenge)");
    page.is_quiet("the demo");
}

#[test]
fn pasted_bytes_are_dissected_and_errors_explained() {
    let Some(mut page) = Open::page() else { return };
    assert_eq!(page.look("paste('00 00 00 00 00\\n00 95 bb 44 7e')"), "");
    assert_eq!(page.look("length('packet-list')"), 2);
    assert_eq!(page.look("tiles()")["exchanges"], 1);
    page.look("again()");
    let message = page.look("paste('nothing of that kind')");
    assert!(
        message.as_str().expect("a text").contains("There are no bytes in this text. Expected is hex"),
        "{message}"
    );
    page.look("again()");
    page.browser.choose_file("document.querySelector('#file')", Path::new("Cargo.toml"));
    let message = page.look("read()");
    assert!(message.as_str().expect("a text").contains("pcap"), "{message}");
    page.is_quiet("pasted");
}

#[test]
fn neither_the_page_nor_its_worker_may_connect() {
    let Some(mut page) = Open::page() else { return };
    for place in ["page", "worker"] {
        for way in ["fetch", "socket", "import"] {
            assert_eq!(
                page.look(&format!("connects('{place}', '{way}')")),
                "refused",
                "{way} in the {place}"
            );
        }
    }
    assert!(!page.server.asked().contains(&"/away".to_owned()));
}

#[test]
fn pictures_of_the_page() {
    if std::env::var_os("UPDATE_PICTURES").is_none() {
        return;
    }
    let mut page = Open::page().expect("pictures need Chromium and the page");
    for scheme in ["light", "dark"] {
        page.browser.prefer(scheme);
        page.browser.resize(1_280, 860);
        page.browser.go(&page.server.url);
        page.choose("captures/demo.pcapng");
        page.look("posed()");
        let picture = STANDARD.decode(page.browser.picture()).expect("Base64");
        fs::write(format!("docs/pictures/web-{scheme}.png"), picture).expect("room");
    }
}
