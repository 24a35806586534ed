//! Followed files that are rewritten or replaced by other content.

use super::*;
use live_kit::{BASE, Running, head};
use tempfile::tempdir;

fn follow(path: &Path) -> Running {
    Running::new(qdissect(["dump", "--no-config", "--follow", "-T", "ndjson", text(path)]))
}

/// As when tcpdump is restarted with the same file name, or a program copies and truncates the file.
#[test]
fn a_rewritten_file_is_read_from_its_beginning() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("a.pcap");
    let capture = fs::read(BASE).unwrap();
    let at = |records| head(&capture, records).len();
    // The new content is shorter or longer than what was read.
    for (records, last) in [(12, "\"frame\":4,"), (16, "\"payload_length\":222,")] {
        fs::write(&path, head(&capture, 8)).unwrap();
        let mut run = follow(&path);
        run.await_line("\"frame\":8,");
        fs::write(&path, [&capture[..24], &capture[at(8)..at(records)]].concat()).unwrap();
        run.await_line(last);
        run.signal("INT");
        let ended = run.end();
        let packets = ended.summary()["packets"].as_u64();
        assert_eq!((ended.code, packets), (Some(130), Some(records as u64)), "{}", ended.err);
        // If the file was rewritten quickly, there is no record at the offset that was reached.
        let words = ["it was begun anew, and is read from its beginning.", "the capture is damaged: "];
        assert!(words.iter().any(|words| ended.err.contains(words)), "{}", ended.err);
    }
}

#[test]
fn a_file_that_is_no_longer_a_capture_is_reported_and_the_next_is_read() {
    let folder = tempdir().unwrap();
    let (path, new) = (folder.path().join("a.pcap"), folder.path().join("new"));
    let capture = fs::read(BASE).unwrap();
    let half = head(&capture, 8);
    fs::write(&path, half).unwrap();
    let mut run = follow(&path);
    run.await_line("\"frame\":8,");
    fs::write(&new, "this is no capture\n".repeat(20)).unwrap();
    fs::rename(&new, &path).unwrap();
    run.await_words("a.pcap: it is text and not a capture");
    fs::write(&new, [&capture[..24], &capture[half.len()..]].concat()).unwrap();
    fs::rename(&new, &path).unwrap();
    run.await_line("\"payload_length\":222,");
    run.signal("TERM");
    let ended = run.end();
    assert_eq!((ended.code, ended.summary()["packets"].as_u64()), (Some(143), Some(16)), "{}", ended.err);
}
