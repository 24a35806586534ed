//! Findings in Wireshark: the plugin and the extcap program, tried with tshark. Without it these tests say so and pass.
#![cfg(unix)]

use crate::kit::captures::own;
use crate::kit::play::{CLIENTS, SERVER_ADDR, START, numbered_frame, udp_frame};
use crate::kit::run::{parsed, qdissect};
use crate::kit::tshark::have_tshark;
use qdissect::capture::{CaptureInfo, Writer};
use qdissect::rule::hex;
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::{TempDir, tempdir};

fn is_there() -> bool {
    let is_there = have_tshark();
    if !is_there {
        println!("there is no tshark: nothing is tested");
    }
    is_there
}

/// A folder with the plugin.
fn plugin() -> TempDir {
    let folder = tempdir().unwrap();
    fs::write(folder.path().join("findings.lua"), generated("wireshark")).unwrap();
    folder
}

fn generated(what: &str) -> Vec<u8> {
    let output = qdissect().args(["generate", what]).output().unwrap();
    assert!(output.status.success());
    output.stdout
}

/// Writes a capture with comments; returns its path, and the records of what is in them: packets and findings.
fn annotated(folder: &Path, capture: &Path) -> (PathBuf, Vec<Value>, Vec<Value>) {
    let to = folder.join("annotated.pcapng");
    let mut dump = qdissect();
    dump.args(["dump", "--no-config", "--allow-truncated", "-T", "ndjson", "--annotate=fields", "-w"])
        .arg(&to)
        .arg(capture);
    let output = dump.output().unwrap();
    let records = parsed(&output, output.status.code().unwrap());
    let findings = records.iter().filter_map(|record| record["findings"].as_array()).flatten();
    let packets = records.iter().filter(|record| record["type"] == "packet");
    (to, packets.cloned().collect(), findings.cloned().collect())
}

fn tshark(folder: &Path, capture: &Path, args: &[&str]) -> Output {
    let script = format!("lua_script:{}", folder.join("findings.lua").display());
    Command::new("tshark").args(["-X", &script, "-r"]).arg(capture).args(args).output().unwrap()
}

/// What tshark prints; it complains about nothing but root.
#[track_caller]
fn printed(output: Output) -> String {
    let said = String::from_utf8(output.stderr).unwrap();
    let said: Vec<_> = said.lines().filter(|line| !line.starts_with("Running as user")).collect();
    assert!(output.status.success() && said.is_empty(), "{said:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Columns with unit separators between the values of one packet.
fn columns(folder: &Path, capture: &Path, names: &[&str]) -> Vec<Vec<String>> {
    let mut args = vec!["-Y", "qdissect", "-T", "fields", "-E", "aggregator=\x1f", "-E", "separator=\x1e"];
    names.iter().for_each(|name| args.extend(["-e", name]));
    let text = printed(tshark(folder, capture, &args));
    text.lines().map(|line| line.split('\x1e').map(str::to_owned).collect()).collect()
}

#[test]
fn every_message_and_finding_of_every_capture_has_fields() {
    if !is_there() {
        return;
    }
    let folder = plugin();
    let mut seen = 0;
    for capture in own() {
        let (annotated, packets, findings) = annotated(folder.path(), &capture);
        if packets.is_empty() || !annotated.exists() {
            continue;
        }
        let names = ["rule", "severity", "field", "protocol", "kind"].map(|name| format!("qdissect.{name}"));
        let rows = columns(folder.path(), &annotated, &names.each_ref().map(String::as_str));
        let all = |at: usize| {
            let values = rows.iter().flat_map(|row| row[at].split('\x1f')).filter(|value| !value.is_empty());
            let mut values: Vec<_> = values.map(str::to_owned).collect();
            values.sort();
            values
        };
        let expected = |records: &[Value], key: &str| {
            let mut values: Vec<_> =
                records.iter().filter_map(|record| Some(record[key].as_str()?.to_owned())).collect();
            values.sort();
            values
        };
        let wanted = [
            (&findings, "rule"),
            (&findings, "severity"),
            (&findings, "field"),
            (&packets, "protocol"),
            (&packets, "message"),
        ];
        for (at, (records, key)) in wanted.into_iter().enumerate() {
            assert_eq!(all(at), expected(records, key), "{}: {key}", capture.display());
        }
        seen += findings.len();
    }
    assert!(seen > 1_000, "{seen}");
}

#[test]
fn findings_are_expert_information_and_bytes_are_marked() {
    if !is_there() {
        return;
    }
    let folder = plugin();
    let (capture, _, findings) = annotated(folder.path(), Path::new("captures/demo.pcapng"));
    let experts = printed(tshark(folder.path(), &capture, &["-q", "-z", "expert"]));
    for finding in &findings {
        let [severity, rule, message] =
            ["severity", "rule", "message"].map(|key| finding[key].as_str().unwrap());
        let line = format!("QDISSECT  {severity} {rule}: {message}");
        assert!(experts.lines().any(|shown| shown.trim_end().ends_with(&line)), "{line}\n{experts}");
    }
    let rows =
        columns(folder.path(), &capture, &["frame.number", "qdissect.bytes", "data.data", "qdissect.field"]);
    let marked = rows.iter().find(|row| row[3] == "server_info.server_name").expect("there is one");
    assert_eq!(marked[1], "e9");
    let by_rule = columns(folder.path(), &capture, &["qdissect.rule"]);
    let args = ["-Y", "qdissect.rule == \"GEN-007\"", "-T", "fields", "-e", "frame.number"];
    let filtered = printed(tshark(folder.path(), &capture, &args)).lines().count();
    assert_eq!(filtered, by_rule.iter().filter(|row| row[0].contains("GEN-007")).count());
    assert!(filtered > 0);
    // The line of a field marks the bytes that it names, wherever they stand in the frame.
    let shown = printed(tshark(folder.path(), &capture, &["-Y", "frame.number == 49", "-T", "pdml"]));
    let pdml = roxmltree::Document::parse(&shown).unwrap();
    let field = |name: &str| {
        pdml.descendants().filter(|node| node.attribute("name") == Some(name)).collect::<Vec<_>>()
    };
    let start = field("udp.payload")[0].attribute("pos").unwrap().parse::<usize>().unwrap();
    let map = field("qdissect.value")
        .into_iter()
        .find(|it| it.attribute("show") == Some("map: \"Fjord\" [45..51]"));
    let map = map.expect("it is there");
    assert_eq!((map.attribute("pos"), map.attribute("size")), (Some(&*(start + 45).to_string()), Some("6")));
}

#[test]
fn comments_of_others_are_no_findings_and_do_no_harm() {
    if !is_there() {
        return;
    }
    let folder = plugin();
    let none = [
        "",
        "a word",
        "error",
        "error SQP-STR-002",
        "Error SQP-STR-002 server: a",
        "error sqp server: a",
        "fatal SQP-STR-002 server: a",
    ];
    let strange = [
        "error SQP-STR-002 server: a (payload bytes 7..5)",
        "error SQP-STR-002 server: a (payload bytes 0..99999999999999999999999999)",
        "error SQP-STR-002 server: %s%n ((((, payload bytes 1..2)",
        "error SQP-STR-002 server: (a, payload bytes 0..1) (b)",
        "error SQP-STR-002 server: ; caused by",
        "error SQP-STR-002 server: ",
    ];
    let frame = udp_frame(START, CLIENTS[0], SERVER_ADDR, &hex("00 00000000"));
    let mut writer = Writer::new(vec![], "test").unwrap();
    for (number, comments) in [(1, &none[..]), (2, &strange)] {
        writer.frame(0, &CaptureInfo::default(), &numbered_frame(&frame, number, 0), comments).unwrap();
    }
    let capture = folder.path().join("comments.pcapng");
    fs::write(&capture, writer.finish().unwrap()).unwrap();
    let rows = columns(folder.path(), &capture, &["frame.number", "qdissect.rule", "qdissect.bytes"]);
    let rules = ["SQP-STR-002"; 6].join("\x1f");
    assert_eq!(rows, [["2", &rules, "0000000000"]]);
}

/// A folder of extcap programs, and this build on a search path.
fn installed(folder: &Path) -> PathBuf {
    let program = folder.join("qdissect-extcap");
    fs::write(&program, generated("extcap")).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    program
}

fn search_path() -> std::ffi::OsString {
    let built = Path::new(env!("CARGO_BIN_EXE_qdissect")).parent().unwrap().to_owned();
    let found = std::env::var_os("PATH").unwrap_or_default();
    std::env::join_paths([built].into_iter().chain(std::env::split_paths(&found))).unwrap()
}

fn extcap(program: &Path, args: &[&str]) -> Output {
    Command::new(program).args(args).env("PATH", search_path()).output().unwrap()
}

#[test]
fn the_extcap_program_describes_itself() {
    let folder = tempdir().unwrap();
    let program = installed(folder.path());
    let text = |args: &[&str]| {
        let output = extcap(&program, args);
        assert!(output.status.success() && output.stderr.is_empty(), "{args:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let interfaces = text(&["--extcap-interfaces", "--extcap-version=4.0"]);
    let names: Vec<_> = interfaces
        .lines()
        .filter_map(|line| line.strip_prefix("interface {value=")?.split('}').next())
        .collect();
    assert_eq!(names, ["qdissect-ask", "qdissect-file"]);
    for name in names {
        assert!(text(&["--extcap-interface", name, "--extcap-dlts"]).starts_with("dlt {number="));
        let options = text(&["--extcap-interface", name, "--extcap-config"]);
        assert!(
            options.lines().all(|line| line.starts_with("arg {") || line.starts_with("value {")),
            "{options}"
        );
        // A value ends at the next brace.
        assert!(
            options.lines().all(|line| line.matches('{').count() == line.matches('}').count()),
            "{options}"
        );
    }
    let options = text(&["--extcap-interface", "qdissect-ask", "--extcap-config"]);
    assert!(options.contains("value {arg=1}{value=sqp}"), "{options}");
    assert_eq!(extcap(&program, &[]).status.code(), Some(2));
    assert_eq!(extcap(&program, &["--fifo"]).status.code(), Some(2));
}

#[test]
fn the_extcap_program_writes_annotated_captures() {
    let folder = tempdir().unwrap();
    let program = installed(folder.path());
    let written = folder.path().join("out.pcapng");
    let capture = |args: &[&str]| {
        let out = ["--capture", "--fifo", written.to_str().unwrap(), "--extcap-interface"];
        let output = extcap(&program, &[&out[..], args].concat());
        assert!(output.stdout.is_empty(), "{args:?}");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let records =
            qdissect().args(["dump", "-T", "ndjson", "--no-config"]).arg(&written).output().unwrap();
        parsed(&records, 0)
    };
    let demo = format!("{}/captures/demo.pcapng", env!("CARGO_MANIFEST_DIR"));
    let records = capture(&["qdissect-file", "--file", &demo]);
    assert!(records.iter().any(|record| record["comment"].to_string().contains("SQP-STR-002")));
    let server = crate::kit::serve::serve(|ping, _| {
        vec![[&[0, 1, 4, 0], &ping[4..], &[0, 0, 0, 9, 0, 0, 0, 3, 0, 1, 0, 0]].concat()]
    });
    let asked = [
        "qdissect-ask",
        "--server",
        &server,
        "--protocol",
        "mumble",
        "--count",
        "2",
        "--extcap-capture-filter",
        "",
    ];
    let records = capture(&asked);
    assert_eq!(records.last().unwrap()["answered"], 2);
    // A server that does not answer is no failure of the capture.
    let records = capture(&["qdissect-ask", "--server", "127.0.0.1:9", "--protocol", "mumble"]);
    assert!(records.last().unwrap()["packets"].as_u64() > Some(0));
}
