//! What a user writes: `qdissect.toml` with reasons, and a baseline. Both are read by `qdissect check` itself.
//!
//! ```text
//! the configuration │ a zero byte │ a baseline, if there is one; it is to be updated if it begins with a blank
//! ```

use crate::kit::play::{START, frame, shots};
use qdissect::capture::{CaptureInfo, Writer};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::{fs, process};

/// Runs `qdissect` with arguments, the program's name first, and gives its exit code.
pub type Call<'a> = &'a dyn Fn(Vec<OsString>) -> u8;

/// A folder of this process with a capture to check.
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
    let all = examples.filter_map(|r| r.examples.first()).flat_map(shots);
    for (i, mut shot) in all.enumerate() {
        shot.time = START + i as i64 * 300_000_000;
        let shown = frame(&shot, i as u64 + 1, 0);
        writer.frame(0, &CaptureInfo::default(), &shown, &[""; 0]).expect("memory takes everything");
    }
    writer.finish().expect("memory takes everything")
}

fn check(call: Call<'_>, folder: &Path, config: &Path, more: &[OsString]) -> u8 {
    // What a target gives up in its own process, the next input would miss.
    let first = ["qdissect", "check", "-T", "ndjson", "--no-sandbox", "--config"];
    let mut args: Vec<OsString> = first.map(Into::into).to_vec();
    args.push(config.into());
    args.extend_from_slice(more);
    args.extend(["--output".into(), folder.join("out").into(), folder.join("a.pcapng").into()]);
    let code = call(args);
    assert!(code <= 3, "the exit code is {code}");
    code
}

/// Whatever the files say, the check ends with a code of its own; and a baseline that was updated knows everything.
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
