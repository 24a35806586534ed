//! The command line from outside: transcripts, and tests that a transcript cannot express.

use crate::kit::run::slashes;
use std::ffi::OsStr;
use std::fs;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use tempfile::{TempDir, tempdir};

const DEMO: &str = "captures/demo.pcapng";

/// Every ```` ```console ```` block is run and compared. `TRYCMD=overwrite cargo test --test it transcripts` updates the blocks.
#[test]
fn transcripts() {
    let cases = trycmd::TestCases::new();
    cases.env("COLUMNS", "100").env("NO_COLOR", "1").env("LC_ALL", "C.UTF-8");
    for glob in ["README*.md", "docs/**/*.md", "tests/cli/*.md"] {
        cases.case(glob);
    }
    if cfg!(windows) {
        // They contain error texts of the system, /dev/null, and `live`.
        for name in ["choice", "detail", "inputs", "report", "usage"] {
            cases.skip(format!("tests/cli/{name}.md"));
        }
    }
}

fn qdissect() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_qdissect"));
    command.env("COLUMNS", "100").env_remove("NO_COLOR").stdin(Stdio::null());
    command
}

fn run<A: AsRef<OsStr>>(args: impl IntoIterator<Item = A>) -> Output {
    qdissect().args(args).output().unwrap()
}

fn out(output: &Output) -> &str {
    str::from_utf8(&output.stdout).unwrap()
}

fn err(output: &Output) -> &str {
    str::from_utf8(&output.stderr).unwrap()
}

/// The records of a run that must have ended with `code`.
#[track_caller]
fn records(output: &Output, code: i32) -> Vec<serde_json::Value> {
    assert_eq!(output.status.code(), Some(code), "{}", err(output));
    out(output).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Runs a command with `input` on standard input.
fn run_with_input(mut command: Command, input: &[u8]) -> Output {
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // The records of the demo fit into a pipe, so neither side blocks.
    child.stdin.take().unwrap().write_all(input).unwrap();
    child.wait_with_output().unwrap()
}

/// The file names in a directory.
fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// The path of a file in the directory, as messages show it.
fn in_folder(folder: &TempDir, name: &str) -> String {
    slashes(&folder.path().join(name))
}

#[test]
fn a_capture_named_twice_counts_once() {
    let once = run(["dump", DEMO]);
    let again = "captures/../captures/demo.pcapng";
    let twice = run(["dump", DEMO, again, "-r", DEMO]);
    assert_eq!(once.status.code(), Some(0));
    assert_eq!(once.stdout, twice.stdout);
    let summary = records(&run(["-T", "ndjson", "-r", again, DEMO]), 0).pop().unwrap();
    assert_eq!((&summary["files"], &summary["packets"]), (&1.into(), &108.into()));
}

#[test]
fn a_dash_reads_standard_input() {
    let capture = fs::read(DEMO).unwrap();
    let mut command = qdissect();
    command.args(["dump", "-"]);
    let output = run_with_input(command, &capture);
    assert_eq!((output.status.code(), err(&output)), (Some(0), ""));
    assert_eq!(output.stdout, run(["dump", DEMO]).stdout);
    let mut command = qdissect();
    command.args(["-T", "ndjson", "-", "-"]);
    let read = records(&run_with_input(command, &capture), 0);
    assert_eq!(read[0]["file"], "-");
    assert_eq!(read.last().unwrap()["packets"], 108);
}

#[test]
fn standard_input_that_is_no_capture_is_an_error() {
    for (input, expected) in [(&b""[..], "it is empty"), (b"no capture at all", "it is text")] {
        let mut command = qdissect();
        command.args(["dump", "-"]);
        let output = run_with_input(command, input);
        assert_eq!((output.status.code(), out(&output)), (Some(2), ""));
        assert!(err(&output).contains(expected), "{}", err(&output));
    }
}

#[test]
fn nothing_from_the_network_reaches_the_terminal_raw() {
    for capture in ["sqp_names.pcap", "sat_names.pcap", "ng_hostile_text.pcapng"] {
        let capture = format!("captures/hostile/{capture}");
        for args in [&["summary"][..], &["dump", "--all"], &["dump", "-T", "ndjson"], &["exchanges"]] {
            let output = run(args.iter().copied().chain([capture.as_str()]));
            assert_eq!(output.status.code(), Some(0), "{capture} {args:?}");
            let raw = out(&output).chars().find(|&c| c != '\n' && qdissect::text::escape::is_hostile(c));
            assert_eq!(raw, None, "{capture} {args:?}");
        }
    }
}

#[test]
fn no_line_of_hostile_text_is_a_command_of_a_continuous_integration_service() {
    let output = run(["dump", "captures/hostile/sqp_names.pcap"]);
    assert!(out(&output).contains("\"::error::x\""));
    let is_harmless = |text: &str| text.lines().all(|line| !line.trim_start().starts_with("::"));
    assert!(is_harmless(out(&output)));
    // Nor is a file name at the start of a line.
    let folder = tempdir().unwrap();
    for name in ["::error::x.pcapng", "  ::error::x.pcapng"] {
        fs::copy(DEMO, folder.path().join(name)).unwrap();
        for command in [&["summary"][..], &["stats"], &["dump"], &["check"], &["check", "-T", "concise"]] {
            let output = qdissect().current_dir(&folder).args(command).arg(name).output().unwrap();
            assert!(is_harmless(out(&output)) && is_harmless(err(&output)), "{command:?}: {}", out(&output));
        }
    }
}

#[test]
fn every_hostile_or_damaged_capture_ends_with_0_or_2_and_words() {
    let folders = ["captures/hostile", "captures/containers", "captures/noise"];
    let captures =
        folders.iter().flat_map(|folder| names(folder.as_ref()).into_iter().map(move |n| (folder, n)));
    for (folder, name) in captures {
        let output = run(["dump", "-T", "ndjson", "--min-confidence", "low", &format!("{folder}/{name}")]);
        let code = output.status.code();
        assert!(code == Some(0) || code == Some(2), "{name}: {code:?}");
        assert_eq!(code == Some(2), err(&output).starts_with("error: captures/"), "{name}: {}", err(&output));
        let summary = records(&output, code.unwrap()).pop().unwrap();
        assert_eq!(summary["type"], "summary", "{name}");
        assert_eq!(summary["complete"], code == Some(0), "{name}");
    }
}

#[test]
fn no_option_changes_what_is_found() {
    let capture = "captures/hostile/stress_pairing.pcapng";
    let mut summaries = vec![];
    for args in [
        &["dump", "-T", "ndjson"][..],
        &["dump", "-q", "-T", "ndjson"],
        &["exchanges", "-T", "ndjson"],
        &["summary", "-T", "ndjson"],
        &["dump", "-l", "--all", "-T", "ndjson"],
    ] {
        let output = run(args.iter().copied().chain([capture]));
        summaries.push(records(&output, 0).pop().unwrap());
    }
    let output = run(["dump", "-T", "json", capture]);
    let array: Vec<serde_json::Value> = serde_json::from_slice(&output.stdout).unwrap();
    summaries.extend(array.into_iter().next_back());
    assert_eq!(summaries.len(), 6);
    assert!(summaries.iter().all(|s| *s == summaries[0]), "{summaries:#?}");
}

#[test]
fn packets_are_counted_over_all_captures() {
    let output = run(["dump", "-q", "-T", "ndjson", "-c", "15", "captures/sqp/real_cli_sample.pcapng", DEMO]);
    let read = records(&output, 0);
    assert_eq!((read.len(), &read[2]["files"], &read[2]["packets"]), (3, &2.into(), &15.into()));
}

#[test]
fn output_goes_only_to_the_file() {
    let folder = tempdir().unwrap();
    let file = in_folder(&folder, "result.txt");
    for (args, expected) in
        [(&["dump"][..], "query_response"), (&["exchanges"], "answered"), (&[], "EU West 1")]
    {
        let output = run(args.iter().copied().chain([DEMO, "--output", &file]));
        assert_eq!((output.status.code(), out(&output), err(&output)), (Some(0), "", ""));
        assert!(fs::read_to_string(&file).unwrap().contains(expected));
        let printed = run(args.iter().copied().chain([DEMO]));
        assert_eq!(fs::read(&file).unwrap(), printed.stdout);
    }
    assert_eq!(names(folder.path()), ["result.txt"], "nothing is left aside");
}

#[test]
fn output_of_a_cut_capture_is_written_and_the_exit_code_says_so() {
    let folder = tempdir().unwrap();
    let file = in_folder(&folder, "result.ndjson");
    let output = run(["dump", "-T", "ndjson", "--output", &file, "captures/containers/cut_mid_record.pcap"]);
    assert_eq!(output.status.code(), Some(2));
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.lines().last().unwrap().contains("\"complete\":false"));
}

#[test]
fn output_is_not_touched_when_no_capture_can_be_read() {
    let folder = tempdir().unwrap();
    let file = in_folder(&folder, "result.txt");
    for input in ["missing.pcap", "Cargo.toml", "src", "captures/containers/zero_bytes.pcap"] {
        for subcommand in ["summary", "dump", "exchanges"] {
            let output = run([subcommand, "--output", &file, input]);
            assert_eq!(output.status.code(), Some(2));
            assert!(names(folder.path()).is_empty(), "{subcommand} {input}");
        }
    }
    fs::write(&file, "a result of yesterday").unwrap();
    assert_eq!(run(["dump", "--output", &file, "missing.pcap"]).status.code(), Some(2));
    assert_eq!(fs::read_to_string(&file).unwrap(), "a result of yesterday");
    assert_eq!(names(folder.path()), ["result.txt"]);
}

#[test]
fn output_that_cannot_be_written_is_an_error() {
    let folder = tempdir().unwrap();
    fs::create_dir(folder.path().join("folder")).unwrap();
    for file in ["nowhere/result.txt", "folder"] {
        let file = in_folder(&folder, file);
        let output = run(["dump", "--output", &file, DEMO]);
        assert_eq!((output.status.code(), out(&output)), (Some(2), ""));
        let expected = format!("error: The result cannot be written to \"{file}\": ");
        assert!(err(&output).starts_with(&expected), "{}", err(&output));
        assert_eq!(names(folder.path()), ["folder"]);
    }
}

#[test]
fn colours_are_there_when_asked_for() {
    let coloured = |args: &[&str], no_color: Option<&str>| {
        let mut command = qdissect();
        command.args(args).arg(DEMO);
        no_color.map(|value| command.env("NO_COLOR", value));
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(0));
        out(&output).contains('\x1b')
    };
    assert!(coloured(&["--color", "always"], None));
    assert!(coloured(&["--color", "always"], Some("1")), "what is said beats what is set");
    assert!(!coloured(&["--color", "never"], None));
    assert!(!coloured(&[], None), "it is no terminal");
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let long = "captures/hostile/sqp_truncate_docsample.pcap";
    for args in [
        &["dump", "-l"][..],
        &["dump", "-T", "ndjson"],
        &["dump", "-T", "json"],
        &["exchanges"],
        &["summary"],
    ] {
        let mut command = qdissect();
        command.args(args).arg(long).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        drop(child.stdout.take());
        let mut stderr = String::new();
        child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        assert_eq!((child.wait().unwrap().code(), stderr.as_str()), (Some(0), ""), "{args:?}");
    }
    let mut command = qdissect();
    let mut child = command.arg("--help").stdout(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

/// A pipe whose reading end is closed.
#[cfg(unix)]
fn closed_pipe() -> std::io::PipeWriter {
    std::io::pipe().unwrap().1
}

#[cfg(unix)]
mod unix {
    use super::*;
    use std::thread;

    #[test]
    fn a_closed_standard_error_is_no_problem() {
        for args in
            [&[][..], &["missing.pcap"], &["dump"], &["--no-such-option"], &["dump", "--output", "/", DEMO]]
        {
            let mut command = qdissect();
            let status = command.args(args).stdout(Stdio::null()).stderr(closed_pipe()).status().unwrap();
            assert_eq!(status.code(), Some(2), "{args:?}");
        }
    }

    #[test]
    fn a_fifo_is_read_as_it_fills() {
        let folder = tempdir().unwrap();
        let fifo = in_folder(&folder, "fifo");
        assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
        let capture = fs::read(DEMO).unwrap();
        let writer = thread::spawn({
            let fifo = fifo.clone();
            move || {
                let mut to = fs::File::options().write(true).open(fifo).unwrap();
                capture.chunks(1000).for_each(|piece| to.write_all(piece).unwrap());
            }
        });
        let output = run(["dump", &fifo]);
        assert_eq!((output.status.code(), err(&output)), (Some(0), ""));
        assert_eq!(output.stdout, run(["dump", DEMO]).stdout);
        // Opened only now, because the writer blocks until the other end is open.
        writer.join().unwrap();
    }

    #[test]
    fn an_open_file_has_a_name_too() {
        // A pipe, and a file.
        let mut command = qdissect();
        command.args(["dump", "/dev/fd/0"]);
        let piped = run_with_input(command, &fs::read(DEMO).unwrap());
        let file =
            qdissect().args(["dump", "/dev/fd/0"]).stdin(fs::File::open(DEMO).unwrap()).output().unwrap();
        let expected = run(["dump", DEMO]).stdout;
        for output in [piped, file] {
            assert_eq!((output.status.code(), err(&output)), (Some(0), ""));
            assert_eq!(output.stdout, expected);
        }
    }

    #[test]
    fn an_open_file_is_written_to_and_not_replaced() {
        let folder = tempdir().unwrap();
        let (path, other) = (folder.path().join("result"), in_folder(&folder, "other"));
        for (options, begins) in [
            (["--output", "/dev/fd/1", "-w", &other], &b"108 packets"[..]),
            (["-w", "/dev/fd/1", "--output", &other], &b"\x0a\x0d\x0d\x0a"[..]),
        ] {
            let mut command = qdissect();
            command.args(["dump", "-q", DEMO]).args(options).stdout(fs::File::create(&path).unwrap());
            let output = command.stderr(std::process::Stdio::piped()).output().unwrap();
            assert_eq!(output.status.code(), Some(0), "{}", err(&output));
            assert!(fs::read(&path).unwrap().starts_with(begins), "{options:?}");
        }
    }

    #[test]
    fn line_buffered_output_is_flushed_at_once() {
        let capture = fs::read("captures/sqp/real_cli_sample.pcapng").unwrap();
        let mut command = qdissect();
        command.args(["dump", "-l", "-T", "ndjson", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (mut to, mut from) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        // All but the last bytes, so that the input stays open: what is known by then must be printed.
        let (most, rest) = capture.split_at(capture.len() - 8);
        to.write_all(most).unwrap();
        to.flush().unwrap();
        let mut seen = String::new();
        while !seen.contains("\"frame\":4,") {
            let mut piece = [0; 4096];
            let n = from.read(&mut piece).unwrap();
            assert_ne!(n, 0, "the output ended early: {seen}");
            seen.push_str(str::from_utf8(&piece[..n]).unwrap());
        }
        to.write_all(rest).unwrap();
        drop(to);
        from.read_to_string(&mut seen).unwrap();
        assert!(seen.contains("\"type\":\"summary\""));
        assert_eq!(child.wait().unwrap().code(), Some(0));
    }

    // The file systems of macOS do not allow such names.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_file_name_need_not_be_utf_8_or_harmless() {
        use std::os::unix::ffi::OsStrExt;
        let folder = tempdir().unwrap();
        for (name, shown) in
            [(&b"caf\xe9.pcap"[..], "caf\u{fffd}.pcap"), (b"\x1b[2J\n.pcap", "\\x1b[2J\\n.pcap")]
        {
            let path = folder.path().join(OsStr::from_bytes(name));
            fs::copy("captures/sqp/real_cli_sample.pcapng", &path).unwrap();
            let summary = run([path.as_os_str()]);
            assert_eq!(summary.status.code(), Some(0), "{}", err(&summary));
            let first = out(&summary).lines().next().unwrap().to_owned();
            assert!(first.contains(shown) && !first.contains('\x1b'), "{first}");
            let read = records(&run([OsStr::new("dump"), OsStr::new("-Tndjson"), path.as_os_str()]), 0);
            assert_eq!(read.last().unwrap()["packets"], 12);
            fs::remove_file(&path).unwrap();
            let missing = run([path.as_os_str()]);
            assert_eq!(missing.status.code(), Some(2));
            assert!(err(&missing).contains(shown) && !err(&missing).contains('\x1b'), "{}", err(&missing));
        }
    }

    #[test]
    fn a_result_has_the_rights_of_the_file_before_it_or_of_any_new_file() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempdir().unwrap();
        let program = env!("CARGO_BIN_EXE_qdissect");
        for (mask, made) in [("022", 0o644), ("077", 0o600), ("002", 0o664)] {
            let file = in_folder(&folder, mask);
            let written = || {
                let line = format!("umask {mask}; exec '{program}' dump --output '{file}' {DEMO}");
                let status = Command::new("sh").args(["-c", &line]).status().unwrap();
                assert_eq!(status.code(), Some(0), "{line}");
                fs::metadata(&file).unwrap().permissions().mode() & 0o777
            };
            assert_eq!(written(), made, "umask {mask}");
            fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
            assert_eq!(written(), 0o640, "umask {mask}");
        }
    }
}
