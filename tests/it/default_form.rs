//! Command lines without a subcommand: no arguments, a pipe instead of a file, a filter as the last word, options of other
//! subcommands.

use std::fs;
use std::io::Write;
use std::process::{Command, Output, Stdio};

const QDISSECT: &str = env!("CARGO_BIN_EXE_qdissect");
const DEMO: &str = "captures/demo.pcapng";

fn run(args: &[&str]) -> Output {
    Command::new(QDISSECT).args(args).env("COLUMNS", "100").stdin(Stdio::null()).output().unwrap()
}

/// Runs the program with a pipe that contains `input`.
fn piped(args: &[&str], input: &[u8]) -> Output {
    let mut command = Command::new(QDISSECT);
    command
        .args(args)
        .env("COLUMNS", "100")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    child.wait_with_output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    str::from_utf8(bytes).unwrap()
}

/// Checks that two command lines print the same and end with the same code.
#[track_caller]
fn same(one: &[&str], other: &[&str]) {
    let (one_output, other_output) = (run(one), run(other));
    assert!(!other_output.stdout.is_empty(), "{other:?}: {}", text(&other_output.stderr));
    assert_eq!(one_output, other_output, "{one:?} {other:?}");
}

#[test]
fn no_arguments_print_help_and_are_an_error() {
    let output = run(&[]);
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(2), ""));
    let stderr = text(&output.stderr);
    assert!(stderr.contains("Usage: qdissect [OPTIONS] [FILE|DIR|-]... [FILTER]\n"), "{stderr}");
    assert_eq!(stderr, text(&run(&["-h"]).stdout));
}

#[test]
fn a_pipe_is_read_if_no_capture_is_named() {
    let capture = fs::read(DEMO).unwrap();
    for (args, named) in [
        (&[][..], &["-"][..]),
        (&["-V"], &["-V", "-"]),
        (&["dump"], &["dump", "-"]),
        (&["check", "-q"], &["check", "-q", "-"]),
        (&["exchanges"], &["exchanges", "-"]),
        (&["stats"], &["stats", "-"]),
        (&["dump", "sqp"], &["dump", "-", "-Y", "sqp"]),
        (&["sqp"], &["-", "-Y", "sqp"]),
    ] {
        let (piped, named) = (piped(args, &capture), piped(named, &capture));
        assert!(!piped.stdout.is_empty(), "{args:?}: {}", text(&piped.stderr));
        assert_eq!(piped, named, "{args:?}");
    }
    let mistyped = piped(&["exchange"], &capture);
    assert!(text(&mistyped.stderr).contains("'exchanges'"), "{}", text(&mistyped.stderr));
    let none = piped(&["dump"], b"");
    assert_eq!(none.status.code(), Some(2));
    assert!(text(&none.stderr).contains("- is standard input"), "{}", text(&none.stderr));
}

#[test]
fn options_of_packets_show_packets() {
    same(&["-V", DEMO], &["dump", "-V", DEMO]);
    same(&[DEMO, "-xc", "9"], &["dump", DEMO, "-xc", "9"]);
    same(
        &["-T", "fields", "-e", "frame.number", DEMO],
        &["dump", "-T", "fields", "-e", "frame.number", DEMO],
    );
    same(&["-T", "csv", DEMO], &["summary", "-T", "csv", DEMO]);
}

#[test]
fn the_last_pin_of_a_port_takes_effect() {
    let [other, meant] = ["udp.port==7777,gqp", "udp.port==7777,sqp"];
    same(&["dump", "-d", other, "-d", meant, DEMO], &["dump", "-d", meant, DEMO]);
}

#[test]
fn the_last_argument_is_the_filter_if_it_is_no_file() {
    for command in ["summary", "dump", "check", "exchanges", "stats"] {
        same(&[command, DEMO, "sqp && finding"], &[command, "-Y", "sqp && finding", DEMO]);
        same(&[command, "-r", DEMO, "gqp"], &[command, "-Y", "gqp", DEMO]);
    }
    same(&[DEMO, "sqp"], &["summary", "-Y", "sqp", DEMO]);
    for (args, expected) in [
        (&["dump", DEMO, "sqp.server_inf"][..], "did you mean sqp.server_info?\nsqp.server_inf\n^^^^"),
        (&["dump", DEMO, "udp.prot == 1"], "did you mean udp.port?\n"),
        (&["dump", "-Y", "sqp", DEMO, "finding"], "error: There are two filters, that of -Y and \"finding\""),
        (&["dump", DEMO, "sqp.pcap"], "error: sqp.pcap: the capture cannot be opened"),
        (&["dump", DEMO, "../sqp"], "error: ../sqp: the capture cannot be opened"),
        (&["dump", "of today/a b.pcap"], "error: of today/a b.pcap: the capture cannot be opened"),
        (&["dump", DEMO, "/a folder/sqp"], "error: /a folder/sqp: the capture cannot be opened"),
        (&["dump", DEMO, "(sqp && fnding)"], "did you mean finding?"),
        (&["dump", "sqp"], "error: sqp: the capture cannot be opened"),
        (&["dump", "sqp && finding"], "error: No capture is named."),
    ] {
        let output = run(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(text(&output.stderr).contains(expected), "{args:?}: {}", text(&output.stderr));
    }
}

#[test]
fn a_file_named_like_a_filter_is_a_file() {
    let folder = tempfile::tempdir().unwrap();
    fs::copy(DEMO, folder.path().join("sqp")).unwrap();
    fs::copy(DEMO, folder.path().join("a.pcap")).unwrap();
    let output = Command::new(QDISSECT).args(["a.pcap", "sqp"]).current_dir(&folder).output().unwrap();
    assert!(text(&output.stdout).starts_with("2 captures"), "{}", text(&output.stdout));
}

#[test]
fn rules_and_protocols_are_shown_by_their_names_alone() {
    same(&["rule", "SQP-STR-002"], &["rule", "show", "SQP-STR-002"]);
    same(&["rule", "-T", "json", "GEN"], &["rule", "show", "-T", "json", "GEN"]);
    same(&["protocol", "sqp"], &["protocol", "show", "sqp"]);
}
