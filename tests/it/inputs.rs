//! The same frames give the same records in any kind of input.

mod tunnels;

use crate::kit::frames::{Kept, pcap, read};
use crate::kit::normalised::{LastFrames, dump, normalised};
use crate::kit::packed;
use crate::kit::run::{parsed, qdissect, slashes};
use std::fs;
use std::path::Path;
use std::process::Stdio;
use tempfile::tempdir;

const DEMO: &str = "captures/demo.pcapng";
/// For frames in one file, whose numbers are those of the run.
const ONE: LastFrames = LastFrames(&[]);

/// The records of the demo capture, and its frames.
fn demo() -> (Vec<serde_json::Value>, Vec<Kept>) {
    let frames = read(Path::new(DEMO));
    let records = normalised(&dump(&[DEMO], 0), &ONE);
    assert!(records.len() > 100 && frames.len() > 100, "the demonstration has more to show");
    (records, frames)
}

#[test]
fn pcap_gives_the_same_records_as_pcapng() {
    let (want, frames) = demo();
    let folder = tempdir().unwrap();
    let path = folder.path().join("a.pcap");
    fs::write(&path, pcap(&frames)).unwrap();
    assert_eq!(normalised(&dump(&[path.to_str().unwrap()], 0), &ONE), want);
}

#[test]
fn a_pipe_gives_the_same_records_as_a_file() {
    let (want, _) = demo();
    let file = Stdio::from(fs::File::open(DEMO).unwrap());
    let output = qdissect().args(["dump", "--no-config", "-T", "ndjson", "-"]).stdin(file).output().unwrap();
    assert_eq!(normalised(&parsed(&output, 0), &ONE), want);
}

#[test]
fn compressed_captures_give_the_same_records() {
    let (want, _) = demo();
    let folder = tempdir().unwrap();
    for (ending, bytes) in packed::all(&fs::read(DEMO).unwrap()) {
        let path = folder.path().join(format!("a.pcapng.{ending}"));
        fs::write(&path, bytes).unwrap();
        let got = dump(&[path.to_str().unwrap()], 0);
        assert!(got[0]["compression"].is_string(), "{}", got[0]);
        assert_eq!(normalised(&got, &ONE), want, "{ending}");
        let piped = Stdio::from(fs::File::open(&path).unwrap());
        let output =
            qdissect().args(["dump", "--no-config", "-T", "ndjson", "-"]).stdin(piped).output().unwrap();
        assert_eq!(normalised(&parsed(&output, 0), &ONE), want, "{ending} through a pipe");
    }
}

#[test]
fn packets_in_a_tunnel_give_the_same_records() {
    let (want, frames) = demo();
    let folder = tempdir().unwrap();
    let path = folder.path().join("a.pcap");
    for (name, wrap) in tunnels::ALL {
        fs::write(&path, pcap(&tunnels::wrapped(&frames, wrap))).unwrap();
        let mut got = normalised(&dump(&[path.to_str().unwrap()], 0), &ONE);
        let mut inside = 0;
        for record in got.iter_mut().filter(|r| r["type"] == "packet") {
            if let Some(way) = record.as_object_mut().unwrap().remove("encapsulation") {
                let known = if name == "ip" { vec!["ipip", "6in4"] } else { vec![name] };
                assert!(
                    known.contains(&way[0].as_str().unwrap()) && way.as_array().unwrap().len() == 1,
                    "{way}"
                );
                inside += 1;
            }
        }
        assert!(inside > 10, "{inside} datagrams came through {name}");
        assert_eq!(got, want, "{name}");
    }
}

/// Writes the frames to ten files as a ring buffer would, and returns the number of the last frame in each.
fn rotated(folder: &Path, frames: &[Kept]) -> Vec<u64> {
    let (mut last_frames, size) = (vec![], frames.len().div_ceil(10));
    for (i, part) in frames.chunks(size).enumerate() {
        // The names are in another order than the times.
        let name = format!("ring_{}.pcap", (i * 7) % 10);
        fs::write(folder.join(name), pcap(part)).unwrap();
        last_frames.push(last_frames.last().unwrap_or(&0) + part.len() as u64);
    }
    last_frames
}

#[test]
fn ten_rotated_files_give_the_same_records_as_one() {
    let (want, frames) = demo();
    let folder = tempdir().unwrap();
    let last_frames = rotated(folder.path(), &frames);
    let name = folder.path().to_str().unwrap();
    let got = dump(&[name], 0);
    let files: Vec<_> = got.iter().filter(|r| r["type"] == "capture").map(|r| &r["file"]).collect();
    assert_eq!(files.len(), 10);
    let across = got.iter().filter(|r| !r["request_file"].is_null()).count();
    assert!(across > 0, "no exchange spans two files");
    // The files are numbered by the order of their records.
    assert_eq!(normalised(&got, &LastFrames(&last_frames)), want);

    // Named one by one, in any order, one of them twice.
    let mut named: Vec<_> = fs::read_dir(&folder).unwrap().map(|e| e.unwrap().path()).collect();
    named.push(named[3].clone());
    let named: Vec<_> = named.iter().map(|p| p.to_str().unwrap()).collect();
    assert_eq!(normalised(&dump(&named, 0), &LastFrames(&last_frames)), want);

    // With --per-file, requests of the previous file stay unanswered.
    let apart = dump(&["--per-file", name], 0);
    assert!(apart.iter().all(|r| r["request_file"].is_null()));
    let open = |records: &[serde_json::Value]| records.iter().filter(|r| r["outcome"] == "undecided").count();
    assert!(open(&apart) > open(&got), "{} and {}", open(&apart), open(&got));
}

/// The findings in captures without their numbers, sorted as text.
fn found(captures: &[&str]) -> Vec<String> {
    let columns = "frame.number frame.time_epoch ip.src udp.srcport protocol message direction confidence rule severity response_time";
    let mut command = qdissect();
    command.args(["dump", "--no-config", "--all", "--per-file", "-T", "fields"]);
    for column in columns.split(' ') {
        command.args(["-e", column]);
    }
    let output = command.args(captures).output().unwrap();
    let mut rows: Vec<_> = String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect();
    rows.sort();
    rows
}

/// The number of errors of `check` for each capture separately.
fn errors(captures: &[&str]) -> u64 {
    let args = ["check", "--no-config", "--per-file", "--fail-on", "never", "--allow-empty", "-T", "ndjson"];
    let output = qdissect().args(args).args(captures).output().unwrap();
    let last = String::from_utf8(output.stdout).unwrap().lines().last().map(str::to_owned);
    let summary: serde_json::Value = serde_json::from_str(&last.unwrap()).unwrap();
    summary["finding_counts"]["error"].as_u64().unwrap()
}

#[test]
fn per_file_gives_the_findings_of_each_file_alone() {
    // The same servers, with both directions in one capture and one direction in another.
    let folders =
        ["captures/sqp", "captures/satisfactory", "captures/skycoop", "captures/gqp", "captures/hostile"];
    let all: Vec<_> = folders
        .iter()
        .flat_map(|folder| fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()))
        .filter(|path| path.extension().is_some_and(|e| e == "pcap" || e == "pcapng"))
        .collect();
    let all: Vec<_> = all.iter().map(|path| path.to_str().unwrap()).collect();
    let mut alone: Vec<_> = all.iter().flat_map(|path| found(&[path])).collect();
    alone.sort();
    let together = found(&all);
    let first = together.iter().zip(&alone).find(|(a, b)| a != b);
    assert!(alone.len() > 1_000 && together == alone, "{} rows, {}: {first:?}", together.len(), alone.len());
    let each: u64 = all.iter().map(|path| errors(&[path])).sum();
    assert!(each > 100 && errors(&all) == each, "{} errors, {each} alone", errors(&all));
}

#[test]
fn a_capture_that_begins_before_the_end_of_another_has_conversations_of_its_own() {
    let frames = read(Path::new(DEMO));
    let folder = tempdir().unwrap();
    let (a, b) = (folder.path().join("a.pcap"), folder.path().join("b.pcap"));
    let later =
        |by: i64| frames.iter().map(move |f| Kept { time: f.time + by, ..f.clone() }).collect::<Vec<_>>();
    fs::write(&a, pcap(&frames)).unwrap();
    fs::write(&b, pcap(&later(5_000_000_000))).unwrap();
    let got = dump(&[a.to_str().unwrap(), b.to_str().unwrap()], 0);
    let of =
        |file: &Path| got.iter().filter(|r| r["type"] == "exchange" && r["file"] == slashes(file)).count();
    assert_eq!(of(&a), of(&b));
    assert!(of(&a) > 30 && got.iter().all(|r| r["request_file"].is_null()));
}

#[test]
fn directories_are_searched_and_empty_ones_are_an_error() {
    let folder = tempdir().unwrap();
    let below = folder.path().join("x/y");
    fs::create_dir_all(&below).unwrap();
    fs::copy(DEMO, below.join("a.pcapng")).unwrap();
    fs::write(folder.path().join("notes.txt"), "no capture").unwrap();
    let name = folder.path().to_str().unwrap();
    let (want, _) = demo();
    assert_eq!(normalised(&dump(&[name], 0), &ONE), want);
    assert_eq!(normalised(&dump(&[name, below.to_str().unwrap()], 0), &ONE), want, "each file counts once");
    fs::create_dir(folder.path().join("empty")).unwrap();
    let empty = folder.path().join("empty");
    let output = qdissect().args(["dump", "--no-config"]).arg(&empty).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0));
    assert!(stderr.contains("empty: there is no capture in the directory: "), "{stderr}");
    // The others are read all the same.
    let got = dump(&[empty.to_str().unwrap(), DEMO], 2);
    assert_eq!(
        got.iter().filter(|r| r["type"] == "packet").count(),
        want.iter().filter(|r| r["type"] == "packet").count()
    );
}

#[test]
fn a_capture_of_answers_only_has_no_errors() {
    let folder = tempdir().unwrap();
    let frames = read(Path::new("captures/sqp/real_cli_sample.pcapng"));
    let server = frames.iter().find(|f| f.bytes.len() > 42).map(|f| f.bytes[36..38].to_vec()).unwrap();
    let check = |name: &str, frames: &[Kept], code: i32| {
        let path = folder.path().join(name);
        fs::write(&path, pcap(frames)).unwrap();
        let output = qdissect().args(["check", "--no-config", "-T", "ndjson"]).arg(path).output().unwrap();
        parsed(&output, code)
    };
    // Another frame long before them, so that they are not at the start of the capture.
    let before = Kept { time: frames[0].time - 60_000_000_000, bytes: vec![0; 60], ..frames[0].clone() };
    let both: Vec<_> = [before.clone()].into_iter().chain(frames.iter().cloned()).collect();
    assert!(check("both.pcap", &both, 0).iter().all(|r| r["rule"] != "GEN-005"));
    let answers = frames.iter().filter(|f| f.bytes[34..36] == server).cloned();
    let answers: Vec<_> = [before].into_iter().chain(answers).collect();
    assert!(answers.len() > 3 && answers.len() < both.len());
    let got = check("answers.pcap", &answers, 0);
    let errors: Vec<_> =
        got.iter().filter(|r| r["severity"] == "error" || r["severity"] == "warning").collect();
    assert!(errors.is_empty(), "{errors:#?}");
    let summary = got.last().unwrap();
    assert_eq!(summary["one_sided_servers"], 1);
    let path = folder.path().join("answers.pcap");
    let stderr = qdissect().args(["check", "--no-config"]).arg(path).output().unwrap();
    let stderr = String::from_utf8(stderr.stderr).unwrap();
    assert!(stderr.contains("it lacks the requests, or nobody here sent any: 1"), "{stderr}");
    assert!(got.iter().any(|r| r["fault"] == "capture" && r["rule"] == "SQP-TXN-003"), "{got:#?}");
    // A server that is asked afterwards has both directions, so its earlier answers are unsolicited.
    let later = frames.iter().map(|f| Kept { time: f.time + 120_000_000_000, ..f.clone() });
    let forged: Vec<_> = answers.iter().cloned().chain(later).collect();
    let got = check("forged.pcap", &forged, 1);
    let found: Vec<_> = got.iter().filter(|r| r["rule"] == "SQP-TXN-003").collect();
    assert!(found.len() >= 3 && found.iter().all(|r| r["severity"] == "error"), "{found:#?}");
}

#[test]
fn files_of_other_formats_are_named_in_the_error() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let stderr = |args: &[&str]| {
        let output = qdissect().args(args).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    // A member's name, and at offset 257 the magic of every archive.
    let mut tar = vec![0; 1024];
    tar[..6].copy_from_slice(b"a.pcap");
    tar[257..262].copy_from_slice(b"ustar");
    let packed = crate::kit::packed::all(&tar);
    let packed = packed.iter().map(|(packing, bytes)| at(&format!("a.{packing}"), bytes));
    for name in packed.chain([at("a", &tar)]) {
        let stderr = stderr(&["summary", &name]);
        assert!(
            stderr.contains("it is a tar archive, which is not read: ") && stderr.contains("`tar -xf FILE`"),
            "{stderr}"
        );
    }
    let text = at("pasted", b"0000  00 00 00 00 00\n");
    assert!(stderr(&["summary", &text]).contains("`qdissect hex FILE`"));
    let capture = fs::read("captures/sqp/fake_badutf8.pcap").unwrap();
    let hex: String = capture.iter().map(|byte| format!("{byte:02x}")).collect();
    let words = stderr(&["hex", &at("dump", hex.as_bytes())]);
    assert!(words.contains("These are the bytes of a capture (pcap)") && words.contains("xxd -r"), "{words}");
}

#[test]
#[cfg(unix)]
fn file_names_that_are_not_utf_8_keep_their_bytes_in_sarif() {
    use std::os::unix::ffi::OsStrExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(std::ffi::OsStr::from_bytes(b"a\xff b.pcap"));
    fs::copy("captures/sqp/fake_badutf8.pcap", &path).unwrap();
    let output = qdissect().args(["check", "--no-config", "-T", "sarif"]).arg(&path).output().unwrap();
    let log: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let uri = &log["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"];
    let uri = uri.as_str().unwrap();
    assert!(uri.starts_with("file:///") && uri.ends_with("/a%FF%20b.pcap"), "{uri}");
}
