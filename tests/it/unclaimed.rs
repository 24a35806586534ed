//! Unclaimed datagrams: their endpoints, first bytes, and what they look like.

use crate::kit::frames;
use crate::kit::run::{parsed, qdissect};
use qdissect::capture::Time;
use qdissect::net::{Endpoint, OwnedFrame};
use qdissect::rule::hex;
use serde_json::Value;
use tempfile::tempdir;

const DNS: &str = "1a2b 0100 0001 0000 0000 0000 07 6578616d706c65 03 636f6d 00 0001 0001";

/// The output of a command for datagrams of a client to these ports, a second apart.
fn run(args: &[&str], datagrams: &[(u16, Vec<u8>)]) -> std::process::Output {
    let folder = tempdir().unwrap();
    let path = folder.path().join("a.pcap");
    let raw_frames = datagrams.iter().zip(1..).map(|((port, payload), n)| {
        let time = n * 1_000_000_000;
        let ends = [([10, 0, 0, 1], 50_000), ([10, 0, 0, 2], *port)].map(|(ip, port)| Endpoint::v4(ip, port));
        let OwnedFrame { link, wire_len, bytes, .. } =
            OwnedFrame::udp(Time::from_nanos(time), ends[0], ends[1], payload, 0);
        frames::Kept { time, link, wire_len, bytes }
    });
    std::fs::write(&path, frames::pcap(&raw_frames.collect::<Vec<_>>())).unwrap();
    qdissect().args(args).args(["--no-config", path.to_str().unwrap()]).output().unwrap()
}

fn records(args: &[&str], datagrams: &[(u16, Vec<u8>)], kind: &str) -> Vec<Value> {
    let all = parsed(&run(&[args, &["-T", "ndjson"]].concat(), datagrams), 0);
    all.into_iter().filter(|record| record["type"] == kind).collect()
}

/// The payloads that `-x` adds to the records of a capture, by frame.
fn payloads(path: &str, secrets: &[&str]) -> Vec<(u64, String)> {
    let output =
        qdissect().args(["dump", "-x", "--all", "-T", "ndjson", path]).args(secrets).output().unwrap();
    let packets = parsed(&output, 0).into_iter().filter(|record| record["type"] == "packet");
    packets.map(|r| (r["frame"].as_u64().unwrap(), r["payload"].as_str().unwrap().to_owned())).collect()
}

#[test]
fn records_with_bytes_show_each_payload_and_no_password() {
    let path = "captures/skycoop/rcon.pcap";
    let column = ["dump", "--all", "-T", "fields", "-e", "frame.number", "-e", "udp.payload", path];
    let output = qdissect().args(column).output().unwrap();
    let lines = String::from_utf8(output.stdout).unwrap();
    let columns: Vec<_> = lines.lines().filter_map(|line| line.split_once('\t')).collect();
    let masked = payloads(path, &[]);
    let same = masked.iter().map(|(frame, payload)| (frame.to_string(), payload.as_str()));
    assert!(same.eq(columns.iter().map(|(frame, payload)| ((*frame).to_owned(), *payload))));
    let shown = payloads(path, &["--show-secrets"]);
    assert_eq!(shown.len(), masked.len());
    let hidden = masked.iter().filter(|(_, payload)| payload.contains("**")).count();
    assert!(hidden > 0 && shown.iter().all(|(_, payload)| !payload.contains('*') && payload.len() % 2 == 0));
    // Also for unclaimed datagrams beyond their first bytes.
    let long = records(&["dump", "--all", "-x"], &[(9, vec![0x41; 100])], "packet");
    assert_eq!(long[0]["payload"], "41".repeat(100));
}

#[test]
fn bulk_records_are_the_same_with_an_index_line_before_each() {
    let output = |format| {
        let args = ["dump", "-x", "-T", format, "captures/skycoop/rcon.pcap"];
        String::from_utf8(qdissect().args(args).output().unwrap().stdout).unwrap()
    };
    let expected: String = output("ndjson").lines().map(|line| format!("{INDEX}\n{line}\n")).collect();
    assert_eq!(output("ek"), expected);
}

const INDEX: &str = r#"{"create":{"_index":"qdissect"}}"#;

#[test]
fn unclaimed_datagrams_show_their_first_bytes() {
    let long = vec![0x41; 100];
    let all = records(&["dump", "--all"], &[(53, hex(DNS)), (9, long)], "packet");
    let shown: Vec<_> = all.iter().map(|r| (r["payload"].as_str().unwrap(), &r["looks_like"])).collect();
    assert_eq!(shown[0], ("1a2b01000001000000000000076578616d706c6503636f6d0000010001", &"dns".into()));
    assert_eq!(shown[1], ("41".repeat(64).as_str(), &Value::Null));
    let lines = String::from_utf8(run(&["dump", "--all"], &[(53, hex(DNS))]).stdout).unwrap();
    assert!(lines.contains(" looks like dns"), "{lines}");
    let pasted = qdissect().args(["hex", "--no-config", DNS]).output().unwrap();
    let pasted = String::from_utf8(pasted.stdout).unwrap();
    assert!(pasted.contains("(no protocol is recognised; it looks like dns)"), "{pasted}");
}

#[test]
fn captured_lengths_of_unclaimed_datagrams_are_shown() {
    let lengths = |args: &[&str]| {
        let path = ["-T", "ndjson", "captures/containers/snap96.pcap"];
        let all = parsed(&qdissect().args(args).args(path).output().unwrap(), 0).into_iter();
        let packets = all.filter(|record| record["type"] == "packet");
        packets.map(|packet| packet["captured_length"].as_u64()).collect::<Vec<_>>()
    };
    let claimed = lengths(&["dump", "--all"]);
    assert!(claimed.contains(&Some(54)), "{claimed:?}");
    assert_eq!(lengths(&["dump", "--all", "--protocol", "mumble"]), claimed);
}

#[test]
fn passwords_in_unclaimed_datagrams_are_masked() {
    let rcon = std::fs::read_to_string("docs/protocols/skycoop.md").unwrap();
    assert!(rcon.contains("RCON"));
    let rule = qdissect::protocols::rules().find(|rule| rule.id == "SKY-SEC-002").unwrap();
    let example = rule.examples.iter().flat_map(|example| example.steps).find_map(|step| match step {
        qdissect::rule::Step::C(text) => Some(hex(text)),
        _ => None,
    });
    let payload = example.expect("a request with a password");
    let whole: String = payload.iter().take(64).map(|b| format!("{b:02x}")).collect();
    let shown = |args: &[&str]| {
        let args = [&["dump", "--all", "--protocol", "gqp"], args].concat();
        records(&args, &[(26_950, payload.clone())], "packet")[0]["payload"].as_str().unwrap().to_owned()
    };
    assert_eq!(shown(&["--show-secrets"]), whole);
    let masked = shown(&[]);
    assert!(masked.len() < whole.len() && whole.starts_with(&masked), "{masked} of {whole}");
}

#[test]
fn the_busiest_unclaimed_endpoints_are_listed() {
    let mut datagrams: Vec<_> = (0..300).map(|n| (2_000 + n, vec![1, 2, 3])).collect();
    datagrams.extend((0..7).map(|_| (53, hex(DNS))));
    let rows = records(&["summary"], &datagrams, "unclaimed");
    assert_eq!(rows.len(), 200);
    let first = serde_json::json!({
        "type": "unclaimed", "endpoint": "10.0.0.2:53", "datagrams": 7, "bytes": 203, "senders": 1,
        "more_senders": false, "peak_rate": 1, "first_bytes": "1a2b010000010000", "looks_like": "dns",
    });
    assert_eq!((&rows[0], &rows[1]["datagrams"]), (&first, &1.into()));
    let screen = String::from_utf8(run(&[], &datagrams).stdout).unwrap();
    let row = screen.lines().find(|line| line.contains("10.0.0.2:53 ")).expect("a row");
    assert_eq!(
        row.split_whitespace().collect::<Vec<_>>(),
        ["10.0.0.2:53", "dns", "1a2b010000010000", "7", "203"]
    );
    assert!(screen.contains("\nand 101 unclaimed endpoints more; --top 301 shows all\n"), "{screen}");
    // Only for datagrams that pass a filter.
    assert_eq!(records(&["summary", "-Y", "udp.port == 53"], &datagrams, "unclaimed"), rows[..1]);
}

#[test]
fn endpoints_of_one_port_on_many_hosts_share_a_row() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("a.pcap");
    let kept = |n: u8| {
        let ends = [([10, 0, 0, 1], 50_000 + u16::from(n)), ([10, 0, 1, n], 443)];
        let [from, to] = ends.map(|(ip, port)| Endpoint::v4(ip, port));
        let time = i64::from(n) * 1_000_000_000;
        let OwnedFrame { link, wire_len, bytes, .. } =
            OwnedFrame::udp(Time::from_nanos(time), from, to, &[0x41; 100], 0);
        frames::Kept { time, link, wire_len, bytes }
    };
    std::fs::write(&path, frames::pcap(&(1..=20).map(kept).collect::<Vec<_>>())).unwrap();
    let output = qdissect().args(["--no-config", path.to_str().unwrap()]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let rows: Vec<_> = text.lines().filter(|line| line.contains(":443")).collect();
    let [row] = rows.as_slice() else { panic!("{text}") };
    assert_eq!(row.split_whitespace().collect::<Vec<_>>(), ["*:443", "20", "-", "-", "20", "2,000"]);
}
