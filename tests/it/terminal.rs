//! Output on a terminal: progress of long runs, and tables that fit. Needs `script` of util-linux, which provides a terminal.
#![cfg(target_os = "linux")]

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;
use tempfile::tempdir;

const QDISSECT: &str = env!("CARGO_BIN_EXE_qdissect");
const DEMO: &str = "captures/demo.pcapng";

/// Whether `script` is installed; prints a message if not.
fn have_terminal() -> bool {
    let there =
        Command::new("script").arg("--version").stdout(Stdio::null()).status().is_ok_and(|s| s.success());
    if !there {
        eprintln!("skipped: `script` of util-linux is not installed");
    }
    there
}

/// Runs a command on a terminal with this number of columns.
fn on_terminal(columns: u16, command: &str) -> Child {
    let line = format!("stty cols {columns} rows 24; {command}");
    let mut script = Command::new("script");
    script.args(["-qec", &line, "/dev/null"]).env("TERM", "xterm").env("SHELL", "/bin/sh");
    script.env_remove("NO_COLOR").env_remove("COLUMNS").stdin(Stdio::piped()).stdout(Stdio::piped());
    script.spawn().unwrap()
}

/// The final content of the terminal, and the exit code.
fn shown(columns: u16, command: &str) -> (String, Option<i32>) {
    let output = on_terminal(columns, command).wait_with_output().unwrap();
    (String::from_utf8(output.stdout).unwrap(), output.status.code())
}

fn fifo(folder: &Path) -> String {
    let path = folder.join("fifo").to_str().unwrap().to_owned();
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    path
}

/// A header and a packet of a pcap file.
fn pcap() -> (Vec<u8>, Vec<u8>) {
    let words = |words: &[u32]| words.iter().flat_map(|w| w.to_le_bytes()).collect::<Vec<_>>();
    let head = words(&[0xa1b2_c3d4, 0x0004_0002, 0, 0, 65535, 101]);
    let record = [words(&[1_795_000_000, 0, 4, 4]), vec![0; 4]].concat();
    (head, record)
}

/// Runs a command on a capture that is written in pieces until the terminal shows `wanted`, or until the command ends. Returns
/// everything that was shown.
fn until_shown(command: &str, fifo: &str, wanted: &str) -> String {
    let mut child = on_terminal(80, command);
    let mut from = child.stdout.take().unwrap();
    let done = AtomicBool::new(false);
    let (head, record) = pcap();
    let mut terminal_output = String::new();
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut to = File::options().write(true).open(fifo).unwrap();
            to.write_all(&head).unwrap();
            while !done.load(Ordering::SeqCst) {
                to.write_all(&record).unwrap();
                thread::sleep(Duration::from_millis(20));
            }
        });
        let mut piece = [0; 4096];
        loop {
            let n = from.read(&mut piece).unwrap_or(0);
            terminal_output.push_str(&String::from_utf8_lossy(&piece[..n]));
            if n == 0 || terminal_output.contains(wanted) {
                break;
            }
        }
        done.store(true, Ordering::SeqCst);
    });
    let mut rest = vec![];
    from.read_to_end(&mut rest).unwrap();
    terminal_output.push_str(&String::from_utf8_lossy(&rest));
    assert_eq!(child.wait().unwrap().code(), Some(0), "{terminal_output}");
    terminal_output
}

#[test]
fn progress_is_shown_if_lines_go_to_a_file() {
    if !have_terminal() {
        return;
    }
    let folder = tempdir().unwrap();
    let fifo = fifo(folder.path());
    let result = folder.path().join("result").to_str().unwrap().to_owned();
    let terminal_output =
        until_shown(&format!("{QDISSECT} dump --all --per-file {fifo} {DEMO} > {result}"), &fifo, " fifo ");
    assert!(terminal_output.contains("packets/s"), "{terminal_output}");
    assert_eq!(visible_lines(&terminal_output), [""], "it is gone");
    assert!(fs::read_to_string(&result).unwrap().contains("state_response"));
}

/// The visible lines: of each line, the text after the last carriage return.
fn visible_lines(terminal_output: &str) -> Vec<String> {
    let erased =
        |line: &str| line.rsplit("\x1b[2K").next().unwrap_or_default().trim_start_matches('\r').to_owned();
    terminal_output.split("\r\n").map(erased).collect()
}

#[test]
fn a_long_run_shows_progress_and_erases_it() {
    if !have_terminal() {
        return;
    }
    let folder = tempdir().unwrap();
    let fifo = fifo(folder.path());
    // The second file is read at once, but by then the delay before progress is shown has passed.
    let command = format!("{QDISSECT} summary --per-file {fifo} {DEMO}");
    let terminal_output = until_shown(&command, &fifo, " fifo ");
    assert!(terminal_output.contains(" packets/s"), "{terminal_output}");
    assert!(
        terminal_output.contains("demo.pcapng ["),
        "a file has an end: {:?}",
        &terminal_output[..terminal_output.len().min(4000)]
    );
    assert!(terminal_output.contains(" MB, "), "{terminal_output}");
    let visible_lines = visible_lines(&terminal_output);
    assert!(visible_lines.iter().all(|line| !line.contains("packets/s")), "{visible_lines:#?}");
    assert!(visible_lines[0].contains("2 captures"), "{visible_lines:#?}");
}

#[test]
fn messages_during_progress_have_their_own_line() {
    if !have_terminal() {
        return;
    }
    let folder = tempdir().unwrap();
    let fifo = fifo(folder.path());
    let command = format!("{QDISSECT} summary {fifo} missing.pcap; true");
    let terminal_output = until_shown(&command, &fifo, " fifo ");
    let visible_lines = visible_lines(&terminal_output);
    assert!(
        visible_lines[0].starts_with("\x1b[1m\x1b[31merror:\x1b[0m missing.pcap: "),
        "{visible_lines:#?}"
    );
}

#[test]
fn no_progress_between_lines_or_if_it_is_not_wanted() {
    if !have_terminal() {
        return;
    }
    for (before, args, behind) in
        [("", "dump", ""), ("", "dump", "| cat"), ("", "summary -q", ""), ("TERM=dumb", "summary", "")]
    {
        let folder = tempdir().unwrap();
        let fifo = fifo(folder.path());
        // The error is printed at the end of the FIFO, some time after progress would be shown.
        let command = format!("{before} {QDISSECT} {args} {fifo} missing.pcap {behind}; true");
        let (head, record) = pcap();
        let child = on_terminal(80, &command);
        let mut to = File::options().write(true).open(&fifo).unwrap();
        to.write_all(&head).unwrap();
        for _ in 0..30 {
            to.write_all(&record).unwrap();
            thread::sleep(Duration::from_millis(50));
        }
        drop(to);
        let terminal_output = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
        assert!(terminal_output.contains("missing.pcap"), "{args}: {terminal_output}");
        assert!(
            !terminal_output.contains("packets/s") && !terminal_output.contains("\x1b[2K"),
            "{args}: {terminal_output}"
        );
    }
}

#[test]
fn no_table_is_wider_than_the_terminal() {
    if !have_terminal() {
        return;
    }
    let wide = "captures/hostile/sqp_names.pcap";
    for columns in [80, 100, 132] {
        for args in [
            format!("summary {DEMO}"),
            format!("summary {wide}"),
            format!("stats {DEMO}"),
            "rule list".into(),
        ] {
            let (terminal_output, code) = shown(columns, &format!("{QDISSECT} {args} --color never"));
            assert_eq!(code, Some(0));
            for line in terminal_output.lines() {
                let width = unicode_width::UnicodeWidthStr::width(line);
                assert!(width <= usize::from(columns), "{args}: {width} > {columns}: {line}");
            }
            assert!(terminal_output.lines().count() > 3, "{args}: {terminal_output}");
        }
    }
}

/// Columns of a line without its escape sequences.
fn columns(line: &str) -> usize {
    let mut parts = line.split("\x1b[");
    let first = parts.next().unwrap_or_default().to_owned();
    let rest =
        parts.map(|part| part.split_once(|c: char| c.is_ascii_alphabetic()).map_or("", |(_, text)| text));
    unicode_width::UnicodeWidthStr::width(rest.fold(first, |line, part| line + part).as_str())
}

#[test]
fn no_line_is_wider_than_the_terminal_and_findings_have_their_colours() {
    if !have_terminal() {
        return;
    }
    for (columns_there, args) in [80, 100, 160].into_iter().flat_map(|columns| {
        ["dump", "dump --all", "exchanges", "summary", "stats", "check"].map(|args| (columns, args))
    }) {
        for input in [DEMO, "captures/hostile/sqp_names.pcap", "captures/skycoop"] {
            let (terminal_output, _) = shown(columns_there, &format!("{QDISSECT} {args} {input}"));
            assert!(terminal_output.lines().count() > 3, "{args} {input}: {terminal_output}");
            let longest = terminal_output.lines().max_by_key(|line| columns(line));
            let longest = longest.unwrap_or_default();
            assert!(columns(longest) <= columns_there.into(), "{args} {input}, {columns_there}: {longest}");
            let coloured =
                ["\x1b[1m\x1b[31m", "\x1b[1m\x1b[33m"].iter().any(|colour| terminal_output.contains(colour));
            assert!(
                coloured || ["exchanges", "stats"].contains(&args) || input != DEMO,
                "{args}: {terminal_output}"
            );
        }
    }
}

#[test]
fn at_80_columns_a_server_is_a_line_and_a_packet_keeps_ports_and_protocol() {
    if !have_terminal() {
        return;
    }
    let (summary, _) = shown(80, &format!("{QDISSECT} {DEMO} --color never"));
    let servers: Vec<_> = summary.lines().filter(|line| line.contains(" % ")).collect();
    assert_eq!(servers.len(), 7, "{summary}");
    let has_all = |line: &&str| line.contains("192.0.2.20:9000") && line.contains("EU West 2");
    assert!(servers.iter().any(has_all) && !summary.contains('═'), "{summary}");
    let packets = |command: &str| shown(80, &format!("{QDISSECT} {command} {DEMO} --color never")).0;
    let columns = |text: &str| {
        let places = text.lines().map(|line| line.split(" sqp ").next().unwrap().chars().count());
        places
            .zip(text.lines())
            .filter(|(_, line)| line.contains(" sqp "))
            .map(|(at, _)| at)
            .collect::<Vec<_>>()
    };
    for command in ["dump", "dump -l", "dump -t ad"] {
        let lines = packets(command);
        let expected =
            [("7 ", " satisfactory ", ":7777 "), ("9 ", " skycoop ", ":26950 "), ("33 ", " sqp ", ":9010 ")];
        for (line, protocol, port) in expected {
            let line = lines.lines().find(|l| l.trim_start().starts_with(line)).unwrap();
            assert!(line.contains(protocol) && line.contains(port), "{command}: {line}");
        }
    }
    // Lines that are shown as they come have the same columns from the first on.
    let steady = columns(&packets("dump -l -c 30"));
    assert!(steady.len() > 8 && steady.iter().all(|at| *at == steady[0]), "{steady:?}");
    for command in ["-V", "rule GEN-009", "hex 0080902348"] {
        let file = if command == "-V" { DEMO } else { "" };
        let (text, _) = shown(80, &format!("{QDISSECT} {command} {file} --color never"));
        let long = text.lines().find(|line| {
            unicode_width::UnicodeWidthStr::width(*line) > 80 && line.trim_start().contains(' ')
        });
        assert_eq!(long, None, "{command}");
    }
}

#[test]
fn tables_end_after_some_rows_and_can_be_ordered() {
    let summary = |args: &[&str]| {
        let output = Command::new(QDISSECT).args(["summary", DEMO]).args(args).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let first = |text: &str| {
        let table = text.split("\nserver ").nth(1)?;
        table.lines().nth(1).map(|row| row.split(' ').next().unwrap().to_owned())
    };
    let all = summary(&["--show", "note"]);
    assert!(!all.contains(" more; ") && all.contains("SQP-TXN-016"), "{all}");
    let some = summary(&["--top", "2", "--show", "note"]);
    assert!(some.contains("and 5 servers more; --top 7 shows all\n"), "{some}");
    assert!(some.contains("and 17 rules more; --top 19 shows all\n"), "{some}");
    for (key, server) in
        [("findings", "192.0.2.70:7787"), ("count", "192.0.2.10:7777"), ("time", "192.0.2.50:26950")]
    {
        assert_eq!(first(&summary(&["--sort", key])).as_deref(), Some(server), "{key}");
    }
    assert!(summary(&["--sort", "name", "--show", "note"]).contains(" in frame\nGEN-007 "));
}

#[test]
fn colours_are_used_on_a_terminal_or_on_request() {
    if !have_terminal() {
        return;
    }
    let coloured = |before: &str, args: &str| {
        let (terminal_output, code) = shown(80, &format!("{before} {QDISSECT} {args} {DEMO}"));
        assert_eq!(code, Some(0), "{terminal_output}");
        terminal_output.contains("\x1b[")
    };
    assert!(coloured("", "summary"));
    assert!(!coloured("NO_COLOR=1", "summary"));
    assert!(coloured("NO_COLOR=", "summary"), "an empty one is none");
    assert!(!coloured("TERM=dumb", "summary"));
    assert!(!coloured("CLICOLOR=0", "summary"));
    assert!(!coloured("", "summary --color never"));
    let elsewhere =
        |before: &str| shown(80, &format!("{before} {QDISSECT} {DEMO} | cat")).0.contains("\x1b[");
    assert!(!elsewhere(""));
    assert!(elsewhere("CLICOLOR_FORCE=1"));
    assert!(!elsewhere("NO_COLOR=1 CLICOLOR_FORCE=1"));
    assert!(coloured("NO_COLOR=1", "summary --color always"), "what is said beats what is set");
}

#[test]
fn without_a_terminal_there_is_no_progress() {
    let folder = tempdir().unwrap();
    let fifo = fifo(folder.path());
    let child = Command::new(QDISSECT)
        .args(["summary", &fifo])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let (head, record) = pcap();
    let mut to = File::options().write(true).open(&fifo).unwrap();
    to.write_all(&head).unwrap();
    for _ in 0..30 {
        to.write_all(&record).unwrap();
        thread::sleep(Duration::from_millis(50));
    }
    drop(to);
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr), (Some(0), vec![]));
    assert!(!output.stdout.contains(&0x1b));
    assert!(fs::exists(&fifo).unwrap());
}

#[test]
fn view_opens_the_page_in_a_session_and_always_prints_its_path() {
    if !have_terminal() {
        return;
    }
    use std::os::unix::fs::PermissionsExt;
    let folder = tempdir().unwrap();
    let (program, opened) = (folder.path().join("xdg-open"), folder.path().join("opened"));
    fs::write(&program, format!("#!/bin/sh\necho \"$1\" >{}\n", opened.display())).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let own = folder.path().display();
    let view = format!("PATH={own}:$PATH TMPDIR={own} {QDISSECT} view {DEMO}");
    let none = "unset DISPLAY WAYLAND_DISPLAY BROWSER;";
    let (screen, code) = shown(200, &format!("{none} {view}"));
    assert!(screen.contains("No browser was opened: there is no graphical session."), "{screen}");
    assert!(screen.contains("report.html") && !opened.exists() && code == Some(0), "{screen}");
    let (screen, code) = shown(200, &format!("{none} DISPLAY=:0 {view}"));
    let page = fs::read_to_string(&opened).unwrap();
    assert!(screen.contains(page.trim()) && Path::new(page.trim()).is_file() && code == Some(0), "{screen}");
    fs::write(&program, "#!/bin/sh\nexit 3\n").unwrap();
    let (screen, _) = shown(200, &format!("{none} DISPLAY=:0 {view}"));
    assert!(
        screen.contains("xdg-open could not open the page.") && screen.contains("report.html"),
        "{screen}"
    );
}
