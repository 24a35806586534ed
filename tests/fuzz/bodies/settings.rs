//! Files written by users: `qdissect.toml` with reasons, and a baseline. Both are read by `qdissect check`.
//!
//! ```text
//! the configuration │ a zero byte │ a baseline, if there is one; it is to be updated if it begins with a blank
//! ```

use crate::kit::play::{START, example_frames, numbered_frame};
use qdissect::capture::{CaptureInfo, Writer};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::{fs, process};

/// Runs `qdissect` with arguments, of which the first is the program's name, and returns its exit code.
pub type Call<'a> = &'a dyn Fn(Vec<OsString>) -> u8;

/// A directory for this process with a capture to check.
static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| {
    let folder = std::env::temp_dir().join(format!("qdissect-config-{}", process::id()));
    fs::create_dir_all(&folder).expect("there is room for a folder");
    fs::write(folder.join("a.pcapng"), capture()).expect("there is room for a capture");
    folder
});

/// A capture with findings of some rules.
fn capture() -> Vec<u8> {
    let mut writer = Writer::new(vec![], "fuzz").expect("memory takes everything");
    let examples = qdissect::protocols::rules()
        .filter(|r| ["SQP-STR-002", "SQP-TXN-004", "GQP-CHR-002"].contains(&r.id));
    let all = examples.filter_map(|r| r.examples.first()).flat_map(example_frames);
    for (i, mut raw_frame) in all.enumerate() {
        raw_frame.time = START + i as i64 * 300_000_000;
        let shown = numbered_frame(&raw_frame, i as u64 + 1, 0);
        writer.frame(0, &CaptureInfo::default(), &shown, &[""; 0]).expect("memory takes everything");
    }
    writer.finish().expect("memory takes everything")
}

fn check(call: Call<'_>, folder: &Path, config: &Path, more: &[OsString]) -> u8 {
    // Rights that are given up for one input would be missing for the next one in the same process.
    let first = ["qdissect", "check", "-T", "ndjson", "--no-sandbox", "--config"];
    let mut args: Vec<OsString> = first.map(Into::into).to_vec();
    args.push(config.into());
    args.extend_from_slice(more);
    args.extend(["--output".into(), folder.join("out").into(), folder.join("a.pcapng").into()]);
    let code = call(args);
    assert!(code <= 3, "the exit code is {code}");
    code
}

/// Checks that the exit code is one of `check` for any files, and that an updated baseline contains all findings.
pub fn config(bytes: &[u8], call: Call<'_>) {
    let folder = &*FOLDER;
    let (config, baseline) = (folder.join("q.toml"), folder.join("known.json"));
    let mut parts = bytes.splitn(2, |byte| *byte == 0);
    fs::write(&config, parts.next().unwrap_or_default()).expect("there is room for a file");
    let Some(known) = parts.next() else {
        check(call, folder, &config, &[]);
        return;
    };
    fs::write(&baseline, known).expect("there is room for a file");
    let named = ["--baseline".into(), baseline.clone().into_os_string()];
    if known.first() != Some(&b' ') {
        check(call, folder, &config, &named);
        return;
    }
    let updated = check(call, folder, &config, &[&named[..], &["--update-baseline".into()]].concat());
    if updated == 0 {
        let again = check(call, folder, &config, &named);
        let text = fs::read_to_string(&baseline).unwrap_or_default();
        assert_eq!(again, 0, "the updated baseline does not know everything: {text}");
    }
}
