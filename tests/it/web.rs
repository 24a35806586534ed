//! The page in `web/` in a real browser: its trees are those of the program, its numbers agree with the records, and it requests
//! only its own files. Without Chromium or before `web/build.sh` was run, the tests say so and pass.

mod server;

use crate::browser::driver::Browser;
use crate::kit::captures::{CLICKED, own};
use crate::kit::frames::datagrams;
use crate::kit::run::qdissect;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use server::Server;
use sha2::{Digest, Sha256};
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
        let files = ["/", "/app.js", "/engine.js", "/filter.js", "/list.js", "/packet.js", "/style.css"];
        assert_eq!(self.server.asked(), files, "{what}");
    }
}

/// What the program prints with these arguments.
fn printed(arguments: &[&str]) -> String {
    let output = qdissect().args(arguments).output().expect("it runs");
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// The records of the program for a capture.
fn records(capture: &str) -> String {
    printed(&["dump", "--all", "-T", "ndjson", capture])
}

/// The records of one type as values.
fn values(records: &str, kind: &str) -> Vec<Value> {
    let all = records.lines().map(|line| line.parse::<Value>().expect("JSON"));
    all.filter(|record| record["type"] == kind).collect()
}

/// The trees that `dump -V -x --all` prints of a capture.
fn trees(capture: &str) -> Vec<String> {
    let text = printed(&["dump", "-V", "-x", "--all", "--allow-truncated", capture]);
    let mut trees = vec![];
    let mut is_tree = false;
    for line in text.lines() {
        is_tree |= line.starts_with("Frame ");
        if line.starts_with("Frame ") {
            trees.push(String::new());
        }
        is_tree &= !line.is_empty();
        if is_tree {
            trees.last_mut().expect("a packet").push_str(&format!("{line}\n"));
        }
    }
    trees
}

#[test]
fn the_page_shows_the_trees_that_dump_prints() {
    let Some(mut page) = Open::page() else { return };
    let mut shown = 0;
    for capture in own() {
        let name = capture.to_str().expect("a name");
        let bytes = STANDARD.encode(fs::read(&capture).expect("a capture"));
        let told = page.look(&format!("trees({}, '{bytes}')", json!(name)));
        let told: Vec<_> = told.as_array().expect("trees").iter().filter_map(Value::as_str).collect();
        let wanted = trees(name);
        assert_eq!(told.len(), wanted.len(), "{name}");
        for (at, (told, wanted)) in told.iter().zip(&wanted).enumerate() {
            assert_eq!(told, wanted, "{name}: {at}");
        }
        shown += told.len();
    }
    assert!(shown > 1_000, "{shown}");
    page.is_quiet("trees");
}

#[test]
fn lists_name_servers_and_players_as_the_table_of_servers_does() {
    let Some(mut page) = Open::page() else { return };
    page.choose("captures/demo.pcapng");
    let shown = page.look("rows()");
    let servers = values(&printed(&["summary", "-T", "ndjson", "captures/demo.pcapng"]), "server");
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
    let with_filters =
        CLICKED.map(|capture| (capture, "")).into_iter().chain([(CLICKED[0], "sqp and players > 1")]);
    for (capture, filter) in with_filters {
        let arguments = ["report", "-q", capture, "-Y", filter];
        let report = printed(if filter.is_empty() { &arguments[..3] } else { &arguments });
        let bytes = STANDARD.encode(fs::read(capture).expect("a capture"));
        let result = page.look(&format!("report({}, '{bytes}', {})", json!(capture), json!(filter)));
        assert!(result == report.as_str(), "{capture}: {filter}");
        let script =
            report.rsplit_once("<script>").expect("a script").1.split_once("</script>").expect("its end").0;
        let hash = format!("'sha256-{}'", STANDARD.encode(Sha256::digest(script)));
        let frame = fs::read_to_string("web/dist/index.html").expect("the page");
        assert!(frame.contains(&hash), "the report's script may not run in the page: {hash}");
    }
}

#[test]
fn further_packets_are_shown_by_clicks_and_a_changed_file_is_reported() {
    let Some(mut page) = Open::page() else { return };
    let folder = tempdir().expect("a folder");
    let capture = folder.path().join("many.pcap");
    fs::write(&capture, datagrams(250_010, 4)).expect("room");
    page.choose(capture.to_str().expect("a name"));
    assert_eq!(
        page.look("turned('behind')"),
        json!([100_000, 100_001, "Packets 100,001 to 200,000 of 250,010"])
    );
    assert_eq!(
        page.look("turned('behind')"),
        json!([50_010, 200_001, "Packets 200,001 to 250,010 of 250,010"])
    );
    assert!(page.look("packet(50009)")["title"].as_str().expect("a title").starts_with("Frame 250010: "));
    fs::write(&capture, "gone").expect("room");
    assert_eq!(page.look("turned('before')")[2], "Packets 100,001 to 200,000 of 250,010");
    let message = page.look("complaint()");
    assert!(message.as_str().expect("a text").contains("the browser cannot read the file"), "{message}");
    page.look("again()");
    page.choose("captures/demo.pcapng");
    page.is_quiet("a file that changed");
}

/// The frames of the packets that pass a filter.
fn passing(filter: &str) -> Vec<Value> {
    let text = printed(&["dump", "--all", "-T", "ndjson", "-Y", filter, "captures/demo.pcapng"]);
    values(&text, "packet").iter().map(|packet| packet["frame"].clone()).collect()
}

#[test]
fn a_filter_shows_what_passes_it_in_every_view() {
    let Some(mut page) = Open::page() else { return };
    page.choose("captures/demo.pcapng");
    let all = page.look("frames()");
    for filter in
        ["sqp", "players > 8", "severity >= warning", "exchange.outcome == unanswered", "udp.port == 1"]
    {
        page.look(&format!("filter({})", json!(filter)));
        assert_eq!(page.look("frames()"), json!(passing(filter)), "{filter}");
        let count = |name: &str| page.browser.value(&format!("run.result.summary.{name}"));
        let (mut page_count, arguments) =
            (count, ["summary", "-T", "ndjson", "-Y", filter, "captures/demo.pcapng"]);
        let summary = values(&printed(&arguments), "summary").remove(0);
        for name in ["recognised", "exchanges", "answered"] {
            assert_eq!(page_count(name), summary[name], "{filter}: {name}");
        }
    }
    page.look("press_all()");
    assert_eq!(page.look("frames()"), all);
    page.is_quiet("filters");
}

#[test]
fn a_filter_is_completed_and_its_faults_are_underlined() {
    let Some(mut page) = Open::page() else { return };
    page.choose("captures/demo.pcapng");
    let frames = page.look("frames()");
    assert_eq!(
        page.look("typed('sqp.tok')"),
        json!(["There is no field \"sqp.tok\"; did you mean sqp.token?", "sqp.tok", ["sqp.token"]])
    );
    assert_eq!(page.look("tab()"), json!(["sqp.token", true]), "Tab completes");
    assert_eq!(page.look("tab()"), json!(["sqp.token", false]), "and then goes on");
    let typed = page.look("typed('sqp && playrs > 3')");
    assert_eq!(typed[1], "playrs", "{typed}");
    // The places are units of UTF-16.
    assert_eq!(page.look("typed('frame contains \"\u{1f600}é\" and playrs')")[1], "playrs");
    assert_eq!(page.look("typed('players >')")[1], " ", "at the end");
    page.look("submit()");
    assert_eq!(page.look("frames()"), frames, "a wrong filter is not applied");
    assert_eq!(page.look("arrows()"), json!(["udp.srcport", "true", "false"]));
    assert_eq!(page.look("typed('sqp')")[0], Value::Null);
    page.is_quiet("typing");
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
    assert_eq!(page.look("byte(2)"), "token: 2512209022");
    assert_eq!(page.look("key('bytes', 'ArrowLeft')"), "token: 2512209022");
    assert_eq!(page.look("key('tree', 'ArrowUp')"), "type: 0 (challenge)");
    page.look("byte(2)");
    assert_eq!(page.look("by_field()"), "sqp.token == 2512209022");
    assert_eq!(page.look("frames()"), json!(passing("sqp.token == 2512209022")));
    page.is_quiet("the demo");
}

#[test]
fn layers_fold_and_unfold_by_keys_and_clicks() {
    let Some(mut page) = Open::page() else { return };
    page.choose("captures/demo.pcapng");
    page.look("packet(3)");
    let lines = page.look("lines()");
    let lines: Vec<_> = lines.as_array().expect("lines").iter().filter_map(Value::as_str).collect();
    assert!(lines[0].starts_with("Frame ") && lines[1].starts_with("Ethernet"), "{lines:?}");
    assert!(lines[2].starts_with("Internet") && lines[3].starts_with("User Datagram"), "{lines:?}");
    page.look("key('tree', 'ArrowDown')");
    assert_eq!(page.look("key('tree', 'ArrowDown')"), lines[1]);
    page.look("key('tree', 'ArrowRight')");
    let unfolded = page.look("lines()");
    assert!(unfolded[2].as_str().expect("a line").starts_with("Type: "), "{unfolded}");
    page.look("key('tree', 'ArrowDown')");
    assert_eq!(page.look("key('tree', 'ArrowLeft')"), lines[1], "to the line above");
    page.look("key('tree', 'ArrowLeft')");
    assert_eq!(page.look("lines()"), json!(lines));
    page.look("unfold(2)");
    assert_ne!(page.look("lines()"), json!(lines));
    // It stays so in the next packet.
    page.look("packet(4)");
    let next = page.look("lines()");
    assert!(next[3].as_str().expect("a line").starts_with("Total Length: "), "{next}");
    page.is_quiet("the tree");
}

#[test]
fn pasted_bytes_are_dissected_and_errors_explained() {
    let Some(mut page) = Open::page() else { return };
    assert_eq!(page.look("paste('00 00 00 00 00\\n00 95 bb 44 7e')"), "");
    assert_eq!(page.look("length('packet-list')"), 2);
    assert_eq!(page.look("tiles()")["exchanges"], 1);
    assert_eq!(page.look("rows()")[0][0], "client", "nobody has named an address");
    page.look("packet(0)");
    assert_eq!(page.look("lines()")[0], "Datagram 1: 5 bytes, client → server");
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
