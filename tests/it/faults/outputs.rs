//! Outputs that cannot be written, or not completely.

use super::*;
use tempfile::tempdir;

const NO_ROOM: &str =
    "error: The result cannot be written to standard output: No space left on device (os error 28).\n";

#[test]
fn every_subcommand_and_format_reports_a_full_disk() {
    let mut lines: Vec<Vec<&str>> = vec![
        vec!["dump", "-V", DEMO],
        vec!["dump", "-x", DEMO],
        vec!["dump", "--explain", DEMO],
        vec!["dump", "-l", DEMO],
        vec!["stats", "--only", "losses", "-T", "csv", DEMO],
        vec!["dump", "-q", "-w", "-", DEMO],
        vec!["hex", "0000000000"],
        vec!["rule", "list"],
        vec!["rule", "show", "SQP-STR-002"],
        vec!["protocol", "list", "-T", "json"],
        vec!["generate", "man"],
        vec!["generate", "schema"],
        vec!["generate", "completions", "bash"],
        vec!["--help"],
        vec!["--version"],
    ];
    for format in ["text", "json", "ndjson", "csv", "tsv"] {
        lines.push(vec!["dump", "-T", format, DEMO]);
    }
    for format in ["table", "json", "ndjson", "csv"] {
        lines.push(vec!["summary", "-T", format, DEMO]);
        lines.push(vec!["exchanges", "-T", format, DEMO]);
    }
    for format in ["table", "json", "ndjson"] {
        lines.push(vec!["stats", "-T", format, DEMO]);
    }
    for format in ["table", "concise", "json", "ndjson", "sarif", "junit", "github", "gitlab", "markdown"] {
        lines.push(vec!["check", "-T", format, DEMO]);
    }
    for line in lines {
        let (code, words) = ended(qdissect(&line).stdout(full()).stderr(Stdio::piped()));
        let expected =
            if line.contains(&"-w") { NO_ROOM.replace("result", "capture") } else { NO_ROOM.into() };
        let words: String =
            words.lines().filter(|l| !l.contains(" packets, ")).map(|l| format!("{l}\n")).collect();
        assert_eq!((code, words), (Some(2), expected), "{line:?}");
    }
}

/// The arguments of a check that writes all kinds of outputs to a directory.
fn everything(folder: &Path) -> Vec<String> {
    let mut args = vec!["check".into(), DEMO.into()];
    for format in ["json", "sarif", "junit", "ndjson"] {
        args.extend(["--report".into(), format!("{format}={}", folder.join(format).display())]);
    }
    args.extend(["-w".into(), folder.join("w.pcapng").display().to_string(), "--annotate".into()]);
    args
}

#[test]
fn reports_and_captures_are_written_if_standard_output_is_full() {
    let (whole, lost) = (tempdir().unwrap(), tempdir().unwrap());
    assert_eq!(ended(qdissect(everything(whole.path())).stdout(Stdio::null())).0, Some(1));
    // Findings are printed while reading, and the table at the end.
    for format in ["ndjson", "table"] {
        let mut command = qdissect(everything(lost.path()));
        let done = ended(command.args(["-T", format]).stdout(full()));
        assert_eq!(done, (Some(2), NO_ROOM.to_owned()), "{format}");
        assert_eq!(names(lost.path()), ["json", "junit", "ndjson", "sarif", "w.pcapng"]);
        for name in names(lost.path()) {
            let (a, b) =
                (fs::read(whole.path().join(&name)).unwrap(), fs::read(lost.path().join(&name)).unwrap());
            assert!(a == b && !a.is_empty(), "{name}");
            fs::remove_file(lost.path().join(name)).unwrap();
        }
    }
    // Other subcommands write the capture.
    for command in ["dump", "summary", "exchanges", "stats"] {
        let path = lost.path().join("w.pcapng");
        let done = ended(qdissect([command, "-w", text(&path), DEMO]).stdout(full()));
        assert_eq!(done, (Some(2), NO_ROOM.to_owned()), "{command}");
        assert!(fs::metadata(&path).unwrap().len() > 9000, "{command}");
        fs::remove_file(path).unwrap();
    }
}

#[test]
fn other_reports_are_written_if_one_fails() {
    let folder = tempdir().unwrap();
    let place = folder.path().join("good");
    let (bad, good) = ("sarif=/dev/full".to_owned(), format!("json={}", place.display()));
    let (code, words) =
        ended(qdissect(["check", "-q", "--report", &bad, "--report", &good, DEMO]).stdout(Stdio::null()));
    let expected =
        "error: The report cannot be written to \"/dev/full\": No space left on device (os error 28).\n";
    assert_eq!((code, words.as_str()), (Some(2), expected));
    let report: serde_json::Value = serde_json::from_slice(&fs::read(place).unwrap()).unwrap();
    assert!(report.as_array().unwrap().len() > 30);
}

/// The largest file may have 1 or 2 KiB, as shells count in blocks: less than any of the files below.
#[test]
fn a_file_size_limit_is_an_error_and_the_old_file_is_kept() {
    let folder = tempdir().unwrap();
    let file = folder.path().join("out");
    let name = text(&file);
    let (report, by_name) = (format!("sarif={name}"), format!("\"{name}\""));
    let baseline = format!("{name}: The baseline was not written: file too large.");
    for (args, words) in [
        (
            &["dump", "-T", "ndjson", "--output", name][..],
            format!("The result cannot be written to {by_name}: "),
        ),
        (&["check", "--report", &report], format!("The report cannot be written to {by_name}: ")),
        (&["dump", "-w", name], format!("The capture cannot be written to {by_name}: ")),
        (&["check", "--baseline", name, "--update-baseline"], baseline),
    ] {
        let old =
            if args.contains(&"--baseline") { r#"{"version":1,"findings":[]}"# } else { "of yesterday" };
        fs::write(&file, old).unwrap();
        let (code, stderr) = ended(after("ulimit -f 2", &[args, &[DEMO]].concat()).stdout(Stdio::null()));
        assert_eq!(code, Some(2), "{args:?}: {stderr}");
        assert!(stderr.contains(&words) && stderr.contains("file too large"), "{args:?}: {stderr}");
        assert_eq!(fs::read_to_string(&file).unwrap(), old, "{args:?}");
        assert_eq!(names(folder.path()), ["out"], "nothing is left aside: {args:?}");
    }
}

/// With a small file system, if the test may mount one.
#[test]
fn a_full_small_file_system_is_an_error() {
    let folder = tempdir().unwrap();
    let disk = folder.path().join("disk");
    fs::create_dir(&disk).unwrap();
    let script = format!(
        "mount -t tmpfs -o size=8k none '{0}' 2>/dev/null || exit 77; \"$0\" check -T json \
         --report junit='{0}/small' --report sarif='{0}/large' {DEMO} >/dev/null; code=$?; \
         ls -A '{0}'; umount '{0}'; exit $code",
        disk.display()
    );
    // In a separate namespace, so that the file system is removed with the shell.
    let mut command = Command::new("unshare");
    command.args(["-m", "/bin/sh", "-c", &script, env!("CARGO_BIN_EXE_qdissect")]);
    let Ok(output) = command.stdin(Stdio::null()).output() else {
        return eprintln!("not tested: there is no unshare");
    };
    if output.status.code() == Some(77) || stderr_text(&output).contains("unshare") {
        return eprintln!("not tested: no disk may be mounted here");
    }
    let words = stderr_text(&output);
    assert_eq!(output.status.code(), Some(2), "{words}");
    assert!(words.contains("/large\": ") && words.contains("storage"), "{words}");
    assert!(!str::from_utf8(&output.stdout).unwrap().contains("large"), "half of it is not there");
}

#[test]
fn streams_may_be_closed() {
    let folder = tempdir().unwrap();
    let report = folder.path().join("report");
    let option = format!("json={}", report.display());
    let whole = qdissect(["check", "-T", "json", DEMO]).output().unwrap().stdout;
    for closed in [">&-", "2>&-", "<&- >&- 2>&-"] {
        // Files that are opened must not get the descriptor of a closed stream.
        let mut command =
            after(&format!("exec {closed}"), &["check", "--report", &option, DEMO, "missing.pcap"]);
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(2), "a file is missing: {closed}");
        let report = fs::read_to_string(&report).unwrap();
        let whole = str::from_utf8(&whole).unwrap();
        let findings = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap()[0].clone();
        assert_eq!(findings(&report), findings(whole), "{closed}");
        assert!(!report.contains("qdissect: "), "{closed}");
    }
    let output = after("exec <&-", &["summary", "-"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr_text(&output).contains("error: -: it is empty"), "{}", stderr_text(&output));
}

#[test]
fn a_closed_pipe_does_not_change_the_verdict_in_any_format() {
    let formats = ["table", "concise", "json", "ndjson", "sarif", "junit", "github", "gitlab", "markdown"];
    for format in formats {
        let (_, pipe) = std::io::pipe().unwrap();
        let ended = ended(qdissect(["check", "-T", format, DEMO]).stdout(pipe));
        assert_eq!(ended, (Some(1), String::new()), "{format}");
    }
}

#[test]
fn a_dash_is_standard_output_and_no_file() {
    let folder = tempdir().unwrap();
    let demo = std::fs::canonicalize(DEMO).unwrap();
    let demo = demo.to_str().unwrap();
    let stderr = |args: &[&str]| {
        let mut command = qdissect(args);
        let output = command.current_dir(&folder).output().unwrap();
        (output.status.code(), output.stdout, String::from_utf8(output.stderr).unwrap())
    };
    for args in [&["dump", "-c", "9", demo][..], &["hex", "00000000"]] {
        let named = [args, &["--output", "-"]].concat();
        assert_eq!(stderr(&named), stderr(args));
    }
    let (code, _, words) = stderr(&["check", "--report", "json=-", demo]);
    assert!(code == Some(2) && words.contains("A report is a file;"), "{words}");
    let (code, _, words) = stderr(&["dump", "-w", "-", "--output", "-", demo]);
    assert!(code == Some(2) && words.contains("With -w -, standard output is the capture"), "{words}");
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
}
