//! `-T fields`, `csv` and `tsv`.

use crate::kit::run::qdissect;
use std::process::{Command, Stdio};

/// The output of a run that must succeed.
#[track_caller]
fn text(args: &[&str]) -> String {
    let output = qdissect().args(args).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Parses CSV by RFC 4180.
fn csv(text: &str) -> Vec<Vec<String>> {
    let (mut rows, mut cell, mut quoted) = (vec![vec![]], String::new(), false);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => cell.extend(chars.next()),
            '"' => quoted = !quoted,
            ',' if !quoted => rows.last_mut().unwrap().push(std::mem::take(&mut cell)),
            '\r' if !quoted => {
                assert_eq!(chars.next(), Some('\n'), "lines end as RFC 4180 says");
                rows.last_mut().unwrap().push(std::mem::take(&mut cell));
                rows.push(vec![]);
            }
            c => cell.push(c),
        }
    }
    assert_eq!((rows.pop(), quoted), (Some(vec![]), false), "the last line ends, too");
    rows
}

#[test]
fn passwords_in_columns_of_bytes_are_masked_for_every_protocol() {
    let path = "captures/skycoop/rcon.pcap";
    let columns = ["-T", "fields", "-e", "udp.payload", "-e", "udp", "-e", "frame", "-e", "skycoop.password"];
    let password = "Wolf-1942";
    let hex: String = password.bytes().map(|b| format!("{b:02x}")).collect();
    let rows = |more: &[&str]| text(&[&["dump", "--all"][..], more, &columns, &[path]].concat());
    let shown = rows(&["--show-secrets"]);
    assert!(shown.matches(&hex).count() == 3 && shown.contains(password), "{shown}");
    // The datagram is unclaimed: its protocol is left out, or the confidence is too low.
    for more in [&[][..], &["--protocol", "sqp"], &["--min-confidence", "high"]] {
        let masked = rows(more);
        assert!(!masked.contains(&hex) && !masked.contains(password), "{masked}");
        // All other bytes are unchanged: those of the payload, and those after the UDP header.
        assert_eq!(masked.matches(&"**".repeat(password.len())).count(), 2, "{masked}");
        assert_eq!(masked.lines().count(), shown.lines().count());
        let same = masked.lines().zip(shown.lines()).filter(|(a, b)| a == b);
        assert!(same.count() >= shown.lines().count() - 3, "{masked}");
    }
}

#[test]
fn no_text_from_the_network_leaves_its_cell_or_becomes_a_formula() {
    let names =
        ["sqp.server_info.server_name", "sqp.server_info.game_type", "skycoop.server_name", "frame.number"];
    for file in
        ["captures/hostile/sqp_names.pcap", "captures/hostile/ng_hostile_text.pcapng", "captures/demo.pcapng"]
    {
        for (format, separator) in [("csv", ','), ("tsv", '\t')] {
            let mut args = vec!["dump", "--no-config", "--all", "-T", format, file];
            names.iter().for_each(|name| args.extend(["-e", name]));
            let text = text(&args);
            let hostile =
                text.chars().find(|&c| !"\r\n\t".contains(c) && qdissect::text::escape::is_hostile(c));
            assert_eq!(hostile, None, "{file} {format}");
            let rows = match separator {
                ',' => csv(&text),
                _ => text.lines().map(|l| l.split('\t').map(str::to_owned).collect()).collect(),
            };
            assert_eq!(rows[0], names);
            assert!(rows.len() > 3, "{file}");
            for row in &rows {
                assert_eq!(row.len(), names.len(), "{file} {row:?}");
                let formula = row.iter().find(|cell| cell.starts_with(['=', '+', '-', '@', '\t', '\r']));
                assert_eq!(formula, None, "{file}");
            }
        }
    }
}

#[test]
fn only_the_values_of_a_list_are_written() {
    let column = |filter: &str, name: &str| {
        text(&["dump", "--no-config", "-T", "fields", "-Y", filter, "-e", name, "captures/demo.pcapng"])
    };
    assert_eq!(column("sqp.metrics", "sqp.metrics"), "59.75,12.5,0.25\n");
    assert_eq!(column("frame.number == 26", "gqp.commands.args"), "this text,more text\n");
    assert_eq!(column("frame.number == 26", "sqp.metrics"), "\n");
    // A group is only present or absent.
    assert_eq!(column("sqp.metrics", "sqp.player_info"), "1\n");
}

#[test]
fn findings_have_rows_too() {
    let rows =
        csv(&text(&["check", "--no-config", "-T", "csv", "--fail-on", "never", "captures/demo.pcapng"]));
    let at = |name: &str| rows[0].iter().position(|column| column == name).unwrap();
    assert!(rows.iter().all(|row| row.len() == rows[0].len()));
    let broken = rows.iter().find(|row| row[at("rule")] == "SQP-STR-002").unwrap();
    let cells = ["file", "frame", "severity", "field", "start", "end"].map(|name| broken[at(name)].as_str());
    assert_eq!(cells, ["captures/demo.pcapng", "56", "error", "server_info.server_name", "23", "24"]);
}

#[test]
fn columns_agree_with_records() {
    let names = [
        "file",
        "frame.number",
        "frame.time_relative",
        "udp.stream",
        "ip.version",
        "server",
        "server_name",
        "version",
        "players",
        "map",
    ];
    let columns: Vec<_> = names.iter().flat_map(|name| ["-e", name]).collect();
    let args = [&["dump", "--no-config", "-T", "fields"][..], &columns, &["captures/demo.pcapng"]].concat();
    let text = text(&args);
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split('\t').collect()).collect();
    let row = |frame: &str| rows.iter().find(|row| row[1] == frame).unwrap().clone();
    let demo = "captures/demo.pcapng";
    assert_eq!(
        row("6"),
        [demo, "6", "0.505174351", "0", "4", "192.0.2.10:7777", "EU West 1", "2026.11.1", "11", "Highrise"]
    );
    assert_eq!(
        row("8"),
        [demo, "8", "2.018051773", "1", "4", "192.0.2.40:7777", "Lab Factory", "385279", "", ""]
    );
    assert_eq!(row("10")[6..], ["Волчья гора", "0.13.2", "2", ""]);
}

#[test]
fn exchanges_and_servers_have_rows_too() {
    for format in ["csv", "tsv"] {
        for (command, first, least) in [("exchanges", "file", 40), ("summary", "file", 5)] {
            let text = text(&[command, "--no-config", "-T", format, "captures/demo.pcapng"]);
            let rows = match format {
                "csv" => csv(&text),
                _ => text.lines().map(|l| l.split('\t').map(str::to_owned).collect()).collect(),
            };
            assert_eq!(rows[0][0], first);
            assert!(
                rows.len() > least && rows.iter().all(|row| row.len() == rows[0].len()),
                "{command} {format}"
            );
        }
    }
    let passed = text(&["exchanges", "-T", "csv", "-Y", "exchange.outcome == late", "captures/demo.pcapng"]);
    let passed = csv(&passed);
    assert_eq!((passed.len(), passed[1][16].as_str()), (2, "late"));
}

#[test]
fn times_and_unclaimed_bytes_have_the_names_and_forms_of_tshark() {
    let names =
        ["frame.time", "frame.time_utc", "udp.time_relative", "udp.time_delta", "data.len", "data.data"];
    let columns: Vec<_> = names.iter().flat_map(|name| ["-e", name]).collect();
    let rows = |zone: &str, filter: &str, file: &str| {
        let args = [&["dump", "--all", "--no-config", "-T", "fields", "-Y", filter][..], &columns, &[file]];
        let output = qdissect().args(args.concat()).env("TZ", zone).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines().map(|line| line.split('\t').map(str::to_owned).collect()).collect::<Vec<Vec<_>>>()
    };
    let demo = "captures/demo.pcapng";
    let utc = "2026-11-20T10:32:00.619711661Z";
    for (zone, local) in [
        ("UTC", "Nov 20, 2026 10:32:00.619711661 UTC"),
        ("Europe/Berlin", "Nov 20, 2026 11:32:00.619711661 CET"),
        ("America/St_Johns", "Nov 20, 2026 07:02:00.619711661 NST"),
    ] {
        let row = &rows(zone, "frame.number == 6", demo)[0];
        assert_eq!(row[..4], [local, utc, "0.005205351", "0.003212437"].map(String::from), "{zone}");
        assert_eq!(row[4..], ["", ""], "a protocol claims the bytes");
    }
    let unclaimed = rows("UTC", "data", demo);
    assert!(!unclaimed.is_empty());
    for row in unclaimed {
        assert_eq!(row[5].len(), 2 * row[4].parse::<usize>().unwrap());
    }
    // Filters compare in UTC.
    assert_eq!(rows("Europe/Berlin", "frame.time == \"2026-11-20 10:32:00.619711661\"", demo).len(), 1);
}

const FIELDS: &[&str] = &[
    "frame.number",
    "frame.time_epoch",
    "frame.time",
    "frame.len",
    "frame.cap_len",
    "eth.src",
    "eth.addr",
    "eth.type",
    "vlan.id",
    "ip.src",
    "ip.addr",
    "ip.id",
    "ip.ttl",
    "ip.proto",
    "ip.len",
    "ipv6.dst",
    "ipv6.plen",
    "ipv6.nxt",
    "ipv6.hlim",
    "udp.port",
    "udp.srcport",
    "udp.length",
    "udp.time_relative",
    "udp.time_delta",
    "udp.checksum",
    "udp.payload",
];

/// Captures of Ethernet: plain, with tags, with options, and with truncated and short frames.
const CAPTURES: &[&str] = &[
    "demo.pcapng",
    "sqp/real_cli_sample.pcapng",
    "sqp/real_ipv6.pcap",
    "containers/vlan.pcap",
    "containers/qinq.pcap",
    "containers/snap96.pcap",
    "containers/padded60.pcap",
    "containers/ipopts.pcap",
    "containers/nano.pcap",
    "containers/csum0.pcap",
    "containers/v6_hopbyhop.pcap",
];

#[test]
fn fields_are_printed_as_tshark_prints_them() {
    let there = Command::new("tshark").arg("-v").stdout(Stdio::null()).stderr(Stdio::null()).status();
    if !there.is_ok_and(|status| status.success()) {
        eprintln!("skipped: tshark is not installed");
        return;
    }
    let columns: Vec<&str> = FIELDS.iter().flat_map(|name| ["-e", *name]).collect();
    for capture in CAPTURES {
        let path = format!("captures/{capture}");
        for options in [
            &[][..],
            &["-E", "header=y", "-E", "quote=d", "-E", "separator=;", "-E", "aggregator=/s"],
            &["-E", "occurrence=f"],
            &["-E", "occurrence=l", "-E", "quote=s", "-E", "separator=/s"],
        ] {
            let theirs = Command::new("tshark")
                .args(["-n", "-Y", "udp", "-T", "fields", "-r", &path])
                .args(&columns)
                .args(options)
                .output()
                .unwrap();
            let theirs = String::from_utf8(theirs.stdout).unwrap();
            let mut args = vec!["dump", "--no-config", "--all", "-Y", "udp", "-T", "fields", path.as_str()];
            args.extend(columns.iter().chain(options));
            let ours = text(&args);
            assert!(ours.lines().count() > 2, "{capture}");
            let differs = ours.lines().zip(theirs.lines()).find(|(a, b)| a != b);
            assert_eq!(
                (differs, ours.lines().count()),
                (None, theirs.lines().count()),
                "{capture} {options:?}"
            );
        }
    }
}
