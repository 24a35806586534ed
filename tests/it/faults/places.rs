//! Paths that cannot be written, or that are inputs or other outputs.

use super::*;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use tempfile::tempdir;

#[test]
fn unwritable_outputs_are_reported() {
    let folder = tempdir().unwrap();
    let inside = folder.path().join("file/out");
    fs::write(folder.path().join("file"), "").unwrap();
    // Nobody can create files in /proc.
    for place in ["/proc/out", "/nonexistent/out", text(folder.path()), text(&inside)] {
        let report = format!("json={place}");
        for (args, words) in [
            (&["check", "--output", place][..], "The result cannot be written to"),
            (&["check", "--report", &report], "The report cannot be written to"),
            (&["summary", "-w", place], "The capture cannot be written to"),
        ] {
            let (code, stderr) = ended(qdissect([args, &[DEMO]].concat()).stdout(Stdio::null()));
            assert_eq!(code, Some(2), "{args:?}");
            assert!(stderr.starts_with(&format!("error: {words} \"{place}\": ")), "{args:?}: {stderr}");
            assert_eq!(stderr.contains("is a directory"), place == text(folder.path()), "{args:?}: {stderr}");
        }
    }
    assert_eq!(names(folder.path()), ["file"]);
}

#[test]
fn a_folder_may_be_read_only() {
    let folder = tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o555)).unwrap();
    if fs::write(folder.path().join("x"), "").is_ok() {
        return eprintln!("not tested: permissions do not bind this user");
    }
    let place = folder.path().join("out");
    let (code, stderr) = ended(&mut qdissect(["check", "--output", text(&place), DEMO]));
    assert_eq!(code, Some(2));
    assert!(stderr.contains("Permission denied"), "{stderr}");
}

#[test]
fn no_output_overwrites_an_input_or_another_output() {
    let folder = tempdir().unwrap();
    let place = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (input, linked, hard, other) = (place("in.pcapng"), place("link"), place("hard"), place("other"));
    fs::copy(DEMO, &input).unwrap();
    symlink(&input, &linked).unwrap();
    fs::hard_link(&input, &hard).unwrap();
    for place in [&input, &linked, &hard] {
        let report = format!("sarif={place}");
        for (option, line) in [
            ("--output", &["dump", "--output", place][..]),
            ("--output", &["check", "--output", place]),
            ("--report", &["check", "--report", &report]),
            ("--baseline", &["check", "--update-baseline", "--baseline", place]),
            ("-w", &["stats", "-w", place]),
        ] {
            let done = ended(qdissect([line, &[&input]].concat()).stdout(Stdio::null()));
            let expected =
                format!("error: {option} would overwrite the input \"{input}\": name another file.\n");
            assert_eq!(done, (Some(2), expected), "{line:?}");
        }
    }
    for option in ["--output", "-w"] {
        let done = ended(qdissect(["dump", option, &input]).stdin(fs::File::open(&linked).unwrap()));
        let expected = format!("error: {option} would overwrite the input \"-\": name another file.\n");
        assert_eq!(done, (Some(2), expected));
    }
    let (one, two) = (format!("sarif={other}"), format!("json={other}"));
    for (options, line) in [
        ("--output and that of --report", &["check", "--output", &other, "--report", &one][..]),
        ("--report and that of --report", &["check", "--report", &one, "--report", &two]),
        ("-w and that of --output", &["dump", "--output", &other, "-w", &other]),
    ] {
        let (code, stderr) = ended(&mut qdissect([line, &[DEMO]].concat()));
        assert_eq!(code, Some(2), "{stderr}");
        assert!(
            stderr.contains(&format!("to hold two things, that of {options}: name two files.")),
            "{stderr}"
        );
    }
    let done = ended(&mut qdissect(["ask", "sqp", "127.0.0.1:9", "-w", "-"]));
    assert_eq!(done, (Some(2), "error: -w needs a file; standard output is for the result.\n".into()));
    // The shell has created the file for standard output.
    for (option, line) in [
        ("--report", &["check", "--report", &one][..]),
        ("--report", &["check", "--report", "json=/dev/stdout"]),
        ("-w", &["dump", "-w", &other]),
    ] {
        let (code, stderr) =
            ended(qdissect([line, &[DEMO]].concat()).stdout(fs::File::create(&other).unwrap()));
        assert_eq!(code, Some(2), "{stderr}");
        let expected = format!("to hold two things, that of {option} and standard output: name two files.");
        assert!(stderr.contains(&expected), "{stderr}");
    }
    fs::remove_file(&other).unwrap();
    assert_eq!(fs::read(&input).unwrap(), fs::read(DEMO).unwrap());
    assert_eq!(names(folder.path()), ["hard", "in.pcapng", "link"]);
    // A device can be used several times.
    let null = ["check", "--output", "/dev/null", "--report", "json=/dev/null", "-w", "/dev/null", DEMO];
    assert_eq!(ended(&mut qdissect(null)), (Some(1), String::new()));
}

#[test]
fn no_output_overwrites_pasted_input_or_the_configuration() {
    let folder = tempdir().unwrap();
    let place = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (hex, config) = (place("hex.txt"), place("own.toml"));
    fs::write(&hex, "00 00000000").unwrap();
    fs::write(&config, "profile = \"strict\"").unwrap();
    let (report, demo) = (format!("json={config}"), DEMO);
    for (option, what, line) in [
        ("--output", "input", &["hex", "--output", &hex, &hex][..]),
        ("--output", "configuration", &["hex", "--output", &config, &hex]),
        ("--output", "configuration", &["summary", "--output", &config, demo]),
        ("--report", "configuration", &["check", "--report", &report, demo]),
        ("-w", "configuration", &["dump", "-w", &config, demo]),
        ("-w", "configuration", &["ask", "sqp", "127.0.0.1:9", "-w", &config]),
    ] {
        let done = ended(qdissect([line, &["--config", &config]].concat()).stdout(Stdio::null()));
        let file = if what == "input" { &hex } else { &config };
        let expected = format!("error: {option} would overwrite the {what} \"{file}\": name another file.\n");
        assert!(done.0 == Some(2) && done.1.ends_with(&expected), "{line:?}: {done:?}");
    }
    let done = ended(qdissect(["hex", "--output", &hex]).stdin(fs::File::open(&hex).unwrap()));
    assert_eq!(
        done,
        (Some(2), "error: --output would overwrite the input \"-\": name another file.\n".into())
    );
    assert_eq!(fs::read_to_string(&hex).unwrap(), "00 00000000");
    assert_eq!(fs::read_to_string(&config).unwrap(), "profile = \"strict\"");
    assert_eq!(names(folder.path()), ["hex.txt", "own.toml"]);
}

#[test]
fn links_are_kept_and_their_target_is_replaced() {
    let folder = tempdir().unwrap();
    let (real, link) = (folder.path().join("real"), folder.path().join("link"));
    fs::write(&real, "of yesterday").unwrap();
    symlink("real", &link).unwrap();
    let expected = qdissect(["summary", DEMO]).output().unwrap().stdout;
    // First the file exists, then it is created.
    for _ in 0..2 {
        assert_eq!(
            ended(&mut qdissect(["summary", "--output", text(&link), DEMO])),
            (Some(0), String::new())
        );
        assert!(link.is_symlink());
        assert_eq!(fs::read(&real).unwrap(), expected);
        assert_eq!(names(folder.path()), ["link", "real"]);
        fs::remove_file(&real).unwrap();
    }
    let line = ["summary", "--output", text(&link), "-w", text(&real), DEMO];
    let (code, stderr) = ended(&mut qdissect(line));
    assert!(code == Some(2) && stderr.contains("is to hold two things"), "{stderr}");
    assert_eq!(names(folder.path()), ["link"]);
    // A circle of links has no target, and one of the links is replaced.
    symlink("link", &real).unwrap();
    assert_eq!(ended(&mut qdissect(["summary", "--output", text(&link), DEMO])), (Some(0), String::new()));
    assert_eq!((fs::read(&link).unwrap(), fs::read(&real).unwrap()), (expected.clone(), expected.clone()));
    // An open deleted file still has a name in /proc.
    let file = fs::File::options()
        .read(true)
        .write(true)
        .create(true)
        .truncate(true)
        .open(folder.path().join("gone"));
    let mut file = file.unwrap();
    fs::remove_file(folder.path().join("gone")).unwrap();
    let mut command = qdissect(["summary", "--output", "/proc/self/fd/0", DEMO]);
    assert_eq!(ended(command.stdin(file.try_clone().unwrap())), (Some(0), String::new()));
    let mut written = vec![];
    std::io::Seek::rewind(&mut file).unwrap();
    std::io::Read::read_to_end(&mut file, &mut written).unwrap();
    assert_eq!(written, expected);
}

#[test]
fn if_nothing_is_read_reports_say_so_and_the_old_capture_is_kept() {
    let folder = tempdir().unwrap();
    let place = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let mut args = vec!["check".to_owned(), "missing.pcap".into(), "--output".into(), place("output")];
    args.extend(["-w".into(), place("w")]);
    for format in ["table", "json", "ndjson", "sarif", "junit", "github", "gitlab", "markdown"] {
        args.extend(["--report".into(), format!("{format}={}", place(format))]);
        fs::write(place(format), "of yesterday").unwrap();
    }
    fs::write(place("output"), "of yesterday").unwrap();
    fs::write(place("w"), "of yesterday").unwrap();
    let (code, stderr) = ended(&mut qdissect(args));
    assert_eq!(code, Some(2), "{stderr}");
    let left = names(folder.path());
    assert_eq!(left.len(), 10, "{left:?}");
    for name in left {
        let text = fs::read_to_string(place(&name)).unwrap();
        match name.as_str() {
            "w" => assert_eq!(text, "of yesterday"),
            "gitlab" => assert_eq!(text, "[]\n", "it has no place for what is no finding"),
            _ => assert!(text.contains("missing.pcap"), "{name}: {text}"),
        }
    }
}

#[test]
fn a_copy_of_standard_input_needs_a_writable_directory() {
    let mut command = qdissect(["dump", "-q", "-w", "-", "-"]);
    command.env("TMPDIR", "/nonexistent").stdin(fs::File::open(DEMO).unwrap());
    let (code, stderr) = ended(&mut command);
    assert_eq!(code, Some(2));
    let words = "the copy that -w needs cannot be made in \"/nonexistent\": ";
    assert!(stderr.contains(words) && stderr.contains("TMPDIR names another folder"), "{stderr}");
    // If the capture has a directory, the copy is created there.
    let folder = tempdir().unwrap();
    let file = folder.path().join("w.pcapng");
    let mut command = qdissect(["dump", "-q", "-w", text(&file), "-"]);
    command.env("TMPDIR", "/nonexistent").stdin(fs::File::open(DEMO).unwrap());
    assert_eq!(ended(&mut command).0, Some(0));
    assert_eq!(names(folder.path()), ["w.pcapng"]);
}

#[test]
fn names_of_outputs_need_not_be_utf_8() {
    let folder = tempdir().unwrap();
    let place = |name: &[u8]| folder.path().join(OsStr::from_bytes(name));
    let mut command = qdissect(["check", "-w"]);
    command.arg(place(b"w\xff")).arg("--output").arg(place(b"o\xff\x1b[2J")).arg(DEMO);
    assert_eq!(ended(&mut command), (Some(1), String::new()));
    assert!(fs::metadata(place(b"w\xff")).unwrap().len() > 9000);
    assert!(fs::metadata(place(b"o\xff\x1b[2J")).unwrap().len() > 1000);
}
