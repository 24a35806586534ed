//! Capture programs with invalid output, and captures that cannot be shown or saved.

use super::*;
use live_kit::{BASE, Fake, run_to_end};
use tempfile::tempdir;

fn saved(fake: &Fake) -> Vec<u8> {
    fs::read(fake.path("saved")).unwrap_or_default()
}

#[test]
fn captured_packets_are_saved_when_standard_output_is_closed() {
    let base = fs::read(BASE).unwrap();
    let fake = Fake::new("tcpdump", &format!("cat {}; exec sleep 60", Fake::here(BASE)));
    for (format, full_disk) in [("text", false), ("ndjson", true), ("tree", false)] {
        let _ = fs::remove_file(fake.path("saved"));
        let pipe = std::io::pipe().unwrap().1; // nobody reads
        let stdout = if full_disk { full() } else { pipe.into() };
        let mut command = fake.live(["-i", "lo", "-T", format, "-w"]);
        let (code, words) = ended(command.arg(fake.path("saved")).stdout(stdout).stderr(Stdio::piped()));
        assert_eq!(code, Some(if full_disk { 2 } else { 0 }), "{format}: {words}");
        assert_eq!(words.contains("The result cannot be written"), full_disk, "{words}");
        assert_eq!(saved(&fake), base, "{format}");
    }
}

#[test]
fn output_of_the_capture_program_that_is_no_capture_is_reported() {
    let rubbish = "head -c 100000 /dev/zero | tr '\\0' x";
    let base = Fake::here(BASE);
    let cases = [
        (format!("{rubbish}; exec sleep 60"), "error: lo: it is text and not a capture", 0),
        (
            format!("cat {base}; head -c 1000 /dev/zero | tr '\\0' '\\377'; exec sleep 60"),
            "error: lo: the capture is damaged: ",
            16,
        ),
        (format!("cat {base}; {rubbish}"), "error: lo: the capture is damaged: ", 16),
    ];
    for (script, words, packets) in cases {
        let fake = Fake::new("tcpdump", &script);
        let live = run_to_end(fake.live(["-i", "lo", "-T", "ndjson", "-w"]).arg(fake.path("saved")));
        assert_eq!(live.code, Some(2), "{}", live.err);
        assert!(live.err.contains(words), "{script}: {}", live.err);
        assert_eq!(
            (&live.summary()["packets"], &live.summary()["complete"]),
            (&packets.into(), &false.into())
        );
        // Complete records, and nothing else.
        let expected = if packets > 0 { fs::read(BASE).unwrap() } else { vec![] };
        assert_eq!(saved(&fake), expected, "{script}");
    }
}

#[test]
fn a_full_disk_ends_the_capture_but_not_the_result() {
    let fake = Fake::new("tcpdump", &format!("cat {}; exec sleep 60", Fake::here(BASE)));
    let file = fake.path("saved");
    for (limit, place, words) in
        [("ulimit -f 1", text(&file), "File too large"), (":", "/dev/full", "No space left on device")]
    {
        let mut command = after(limit, &["live", "-i", "lo", "-T", "ndjson", "-w", place]);
        let live = run_to_end(command.env("PATH", fake.path("bin")));
        assert_eq!(live.code, Some(2), "{}", live.err);
        let error_line = format!("error: The capture cannot be saved to \"{place}\": {words}");
        assert!(live.err.contains(&error_line), "{}", live.err);
        assert_eq!((&live.summary()["packets"], &live.summary()["complete"]), (&16.into(), &false.into()));
    }
    assert_eq!(saved(&fake), b"", "no half of a record");
}

#[test]
fn live_does_not_start_if_the_result_cannot_be_written() {
    let folder = tempdir().unwrap();
    let fake = Fake::new("tcpdump", &format!("touch '{}/started'", folder.path().display()));
    let live = run_to_end(&mut fake.live(["-i", "lo", "--output", "/nonexistent/out"]));
    assert_eq!(live.code, Some(2));
    assert!(live.err.contains("The result cannot be written to \"/nonexistent/out\""), "{}", live.err);
    assert_eq!(names(folder.path()), [""; 0]);
}

/// More than a pipe holds, before the first packet, between two packets, and behind the last one.
#[test]
fn a_capture_program_that_says_much_does_not_wait_for_ever() {
    let (base, words) = (Fake::here(BASE), "yes hello | head -c 300000 >&2");
    for script in [
        format!("{words}; cat {base}"),
        format!("head -c 500 {base}; {words}; tail -c +501 {base}"),
        format!("cat {base}; exec 1>&-; {words}; {words}"),
    ] {
        let fake = Fake::new("dumpcap", &script);
        let live = run_to_end(&mut fake.live(["-i", "lo", "-T", "ndjson"]));
        assert_eq!((live.code, &live.summary()["packets"]), (Some(0), &16.into()), "{script}: {}", live.err);
    }
}
