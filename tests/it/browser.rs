//! The page of `report` in a real browser: it shows the numbers of the records, prints nothing on the console, requests nothing,
//! and is readable in both colour schemes and at both widths. Without Chromium the tests say so and pass. `UPDATE_PICTURES=1`
//! updates the pictures in `docs/pictures`.

pub mod driver;

use crate::kit::captures::CLICKED;
use crate::kit::frames::{Kept, pcap};
use crate::kit::play::{RawFrame, S, START, udp_frame};
use crate::kit::run::qdissect;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use driver::Browser;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::{TempDir, tempdir};

/// The functions that the tests call inside a page.
const LOOK: &str = include_str!("browser/look.js");

fn look(browser: &mut Browser, what: &str) -> Value {
    browser.value(&format!("({LOOK}).{what}"))
}

/// Writes the page of a capture to a directory.
fn report(folder: &TempDir, capture: &str) -> PathBuf {
    let page = folder.path().join("report.html");
    let output =
        qdissect().args(["report", "-q", "--allow-truncated", capture, "--output"]).arg(&page).output();
    assert_eq!(output.expect("it runs").status.code(), Some(0), "{capture}");
    page
}

/// The data of a page.
fn data(page: &Path) -> Value {
    let text = fs::read_to_string(page).expect("the page");
    let json = text.split_once("id=\"data\">").expect("data").1;
    json.split_once("</script>").expect("an end").0.parse().expect("JSON")
}

#[test]
fn every_view_shows_the_records_and_asks_for_nothing() {
    let Some(mut browser) = Browser::start() else { return };
    let folder = tempdir().expect("a folder");
    for capture in CLICKED {
        let page = report(&folder, capture);
        let data = data(&page);
        browser.open(&page, 1_440, false);
        let bare = look(&mut browser, "tables()");
        browser.open(&page, 1_440, true);
        assert_eq!(look(&mut browser, "tables()"), bare, "{capture}: the script changes what stands there");
        for (number, value) in tiles(&mut browser) {
            let of = if data["summary"][&number].is_u64() {
                &data["summary"]
            } else {
                &data["summary"]["finding_counts"]
            };
            if number != "servers" {
                assert_eq!(of[&number], value, "{capture}: {number}");
            }
        }
        let pressed = look(&mut browser, "press()").as_u64().expect("a count");
        assert!(pressed >= 10, "{capture}: {pressed}");
        for width in [1_440, 390] {
            browser.resize(width, 900);
            assert_eq!(look(&mut browser, "overflow()"), 0, "{capture} at {width}");
            assert_eq!(
                look(&mut browser, "shrunk()"),
                Value::from(Vec::<Value>::new()),
                "{capture} at {width}"
            );
        }
        assert_eq!(look(&mut browser, "nameless()"), Value::from(Vec::<Value>::new()), "{capture}");
        let strange = "[...document.body.querySelectorAll('img, iframe, object, embed, b, i, script:not(#data)')].length";
        assert_eq!(browser.value(strange), 1, "{capture}: the page's own script");
        assert_eq!(browser.complaints(), Vec::<String>::new(), "{capture}");
    }
}

/// The numbers at the top of a page.
fn tiles(browser: &mut Browser) -> Vec<(String, Value)> {
    let numbers = "[...document.querySelectorAll('.tile')].map((t) => [t.dataset.number, Number(t.querySelector('dd').textContent)])";
    let tiles = browser.value(numbers);
    let tiles = tiles.as_array().expect("tiles").iter();
    tiles.map(|tile| (tile[0].as_str().expect("a name").to_owned(), tile[1].clone())).collect()
}

#[test]
fn text_has_contrast_in_dark_light_and_print_styles() {
    let Some(mut browser) = Browser::start() else { return };
    let folder = tempdir().expect("a folder");
    let page = report(&folder, "captures/demo.pcapng");
    for scheme in ["dark", "light"] {
        browser.prefer(scheme);
        browser.open(&page, 1_440, true);
        look(&mut browser, "press()");
        look(&mut browser, "filter('exchange', 'nothing')");
        assert_eq!(look(&mut browser, "faint()"), Value::from(Vec::<Value>::new()), "{scheme}");
    }
    // On paper, with any colour scheme: A4 landscape without margins.
    browser.call("Emulation.setEmulatedMedia", serde_json::json!({ "media": "print" }));
    browser.resize(1_030, 700);
    assert_eq!(look(&mut browser, "overflow()"), 0);
    let paper = "getComputedStyle(document.body).backgroundColor";
    assert_eq!(browser.value(paper), "rgb(255, 255, 255)");
    let heads = "getComputedStyle(document.querySelector('th button')).display";
    assert_eq!(browser.value(heads), "contents", "a table goes on with its heads");
}

#[test]
fn injected_markup_does_not_run() {
    let Some(mut browser) = Browser::start() else { return };
    let folder = tempdir().expect("a folder");
    let page = report(&folder, "captures/demo.pcapng");
    browser.open(&page, 1_440, true);
    for markup in [
        "const e = document.createElement('script'); e.textContent = 'window.ran = 1'; document.body.append(e)",
        "const e = document.createElement('p'); e.setAttribute('onclick', 'window.ran = 1'); document.body.append(e); e.click()",
        "document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"window.ran = 1\">')",
        "location.href = 'javascript:window.ran = 1'",
    ] {
        browser.value(&format!("(() => {{ {markup} }})()"));
    }
    let ran = "new Promise((done) => setTimeout(() => done(String(window.ran)), 100))";
    assert_eq!(browser.value(ran), "undefined");
    assert!(!browser.complaints().is_empty(), "the policy speaks of it");
}

/// Whether a record passes.
type Passes = fn(&Value) -> bool;

#[test]
fn filters_select_rows_and_explain_errors() {
    let Some(mut browser) = Browser::start() else { return };
    let folder = tempdir().expect("a folder");
    let page = report(&folder, "captures/demo.pcapng");
    let data = data(&page);
    browser.open(&page, 1_440, true);
    let exchanges: [(&str, Passes); 9] = [
        ("outcome == unanswered", |e| e["outcome"] == "unanswered"),
        ("outcome != answered", |e| e["outcome"] != "answered"),
        ("response_time > 10ms", |e| e["response_time"].as_f64().is_some_and(|t| t > 0.01)),
        ("not response_time", |e| e["response_time"].as_f64().is_none()),
        ("protocol in {sqp, gqp} and request_bytes eq 5", |e| {
            ["sqp", "gqp"].contains(&e["protocol"].as_str().unwrap()) && e["request_bytes"] == 5
        }),
        ("server contains \"2001:db8\" || step == status", |e| {
            e["server"].as_str().unwrap().contains("2001:db8") || e["step"] == "status"
        }),
        ("!(id < 10) && id <= 20", |e| (10..=20).contains(&e["id"].as_u64().unwrap())),
        ("response_frames == 4", |e| e["response_frames"][0] == 4),
        ("", |_| true),
    ];
    for (filter, passes) in exchanges {
        let expected = data["exchange"].as_array().unwrap().iter().filter(|e| passes(e)).count();
        let typed = look(&mut browser, &format!("filter('exchange', {})", Value::from(filter)));
        assert_eq!(typed, serde_json::json!([expected, ""]), "{filter}");
    }
    let severe = |f: &&Value| f["severity"] != "note";
    let expected = data["finding"].as_array().unwrap().iter().filter(severe).count();
    let typed = look(&mut browser, "filter('finding', 'severity >= warning')");
    assert_eq!(typed, serde_json::json!([expected, ""]));
    for (table, filter, complaint_text) in [
        ("server", "playrs > 3", "There is no field \"playrs\" here; did you mean players?"),
        ("server", "median > 3", "There is no field \"median\" here; did you mean response_time.median?"),
        ("server", "players > many", "\"many\" is no number, and players holds numbers."),
        ("server", "players >", "The filter ends where a value is expected."),
        ("server", "players > 3 players", "\"players\" stands where \"and\", \"or\" or the end is expected."),
        ("server", "(players", "The filter ends where a closing bracket is expected."),
        ("server", "players contains 3", "players holds no text, so \"contains\" says nothing of it."),
        ("finding", "severity > bad", "\"bad\" is no severity: there are note, warning, error."),
        ("finding", "constructor", "There is no field \"constructor\" here"),
    ] {
        let typed = look(&mut browser, &format!("filter('{table}', {})", Value::from(filter)));
        let alert = typed[1].as_str().expect("a text");
        assert!(alert.starts_with(complaint_text), "{filter}: {alert}");
    }
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn servers_link_to_exchanges_and_findings_to_bytes() {
    let Some(mut browser) = Browser::start() else { return };
    let folder = tempdir().expect("a folder");
    let page = report(&folder, "captures/demo.pcapng");
    browser.open(&page, 1_440, true);
    browser.value("document.querySelector('table[data-table=server] td button').click()");
    let server = browser.value("document.querySelector('table[data-table=server] td').textContent");
    let servers = browser.value("[...document.querySelectorAll('table[data-table=exchange] tbody tr')].map((tr) => tr.cells[3].textContent)");
    let servers = servers.as_array().expect("rows");
    assert!(servers.len() > 3 && servers.iter().all(|it| *it == server), "{servers:?}");
    assert_eq!(browser.value("document.querySelectorAll('#ladder svg g').length"), servers.len());
    look(&mut browser, "filter('finding', 'rule == \"SQP-STR-002\"')");
    browser.value("document.querySelector('table[data-table=finding] td button').click()");
    let marked = browser.value(
        "[...document.querySelectorAll('tr.detail .hex mark')].map((mark) => mark.textContent).join(' ')",
    );
    assert_eq!(marked, "e9 .");
    let links = browser.value("[...document.querySelectorAll('tr.detail a')].map((a) => a.href)");
    assert!(links[0].as_str().expect("a link").ends_with("report.html#rule-SQP-STR-002"), "{links}");
    browser.value("document.querySelector('table[data-table=finding] td button').click()");
    assert_eq!(browser.value("document.querySelectorAll('tr.detail').length"), 0, "it closes again");
}

/// Polls and answers of many servers.
fn servers(count: u32) -> Vec<Kept> {
    let name = |n: u32| format!("Server {n} שרת عربي <b>").into_bytes();
    let answer = |n: u32| {
        let head =
            [0xd5, 0xf6, 1, 1].into_iter().chain(u64::from(n).to_le_bytes()).chain([3, 0x7a, 0x96, 5, 0]);
        let tail = [0; 8]
            .into_iter()
            .chain([0])
            .chain((name(n).len() as u16).to_le_bytes())
            .chain(name(n))
            .chain([1]);
        head.chain(tail).collect::<Vec<u8>>()
    };
    let pair = |n: u32| {
        let server = ([10, 0, (n >> 8) as u8, n as u8], 7_777);
        let client = ([198, 51, 100, 7], 40_001);
        let poll: Vec<u8> =
            [0xd5, 0xf6, 0, 1].into_iter().chain(u64::from(n).to_le_bytes()).chain([1]).collect();
        let time = START + i64::from(n) * S / 100;
        [udp_frame(time, client, server, &poll), udp_frame(time + S / 200, server, client, &answer(n))]
    };
    let kept = |it: RawFrame| Kept { time: it.time, link: it.link, wire_len: it.wire_len, bytes: it.bytes };
    (0..count).flat_map(pair).map(kept).collect()
}

#[test]
fn more_servers_are_shown_on_demand() {
    let Some(mut browser) = Browser::start() else { return };
    let folder = tempdir().expect("a folder");
    let capture = folder.path().join("many.pcap");
    fs::write(&capture, pcap(&servers(450))).expect("room");
    let page = report(&folder, capture.to_str().expect("a name"));
    browser.open(&page, 1_440, true);
    let rows = "document.querySelectorAll('table[data-table=server] tbody tr').length";
    let more = "document.querySelector('#servers .more button').click()";
    assert_eq!(browser.value(rows), 200);
    browser.value(more);
    assert_eq!(browser.value(rows), 400);
    assert_eq!(browser.value("document.querySelector('#servers .more button').textContent"), "Show 50 more");
    browser.value(more);
    assert_eq!(browser.value(rows), 450);
    let typed = look(&mut browser, "filter('server', 'server_name contains \"Server 44\"')");
    assert_eq!(typed, serde_json::json!([11, ""]));
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn pictures_of_the_pages() {
    if std::env::var_os("UPDATE_PICTURES").is_none() {
        return;
    }
    let mut browser = Browser::start().expect("pictures need Chromium");
    let folder = tempdir().expect("a folder");
    let page = report(&folder, "captures/demo.pcapng");
    fs::create_dir_all("docs/pictures").expect("a folder");
    for scheme in ["light", "dark"] {
        browser.prefer(scheme);
        browser.open(&page, 1_340, true);
        browser.resize(1_340, 1_210);
        let picture = STANDARD.decode(browser.picture()).expect("Base64");
        fs::write(format!("docs/pictures/report-{scheme}.png"), picture).expect("room");
    }
}
