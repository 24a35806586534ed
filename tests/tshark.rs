//! tshark sees the same UDP datagrams. Runs where tshark is installed, over the captures of this repository and
//! over those named in `QDISSECT_CAPTURES`: files and directories, separated as in `PATH`.
#![cfg(feature = "cli")]

#[path = "inputs/run.rs"]
mod run;

use run::{parsed, qdissect};
use std::collections::BTreeMap;
use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Frames that the two take for different things, each with its reason.
const APART: &[(&str, &[u64], &str)] = &[
    (
        "captures/hostile/header_lengths.pcap",
        &[10],
        "the IPv4 total length is beyond the frame: damage to us",
    ),
    (
        "captures/hostile/header_lengths.pcap",
        &[51],
        "the IPv6 payload length is 0, as offload leaves it: whole to us",
    ),
    (
        "captures/hostile/header_lengths.pcap",
        &[54],
        "the IPv6 payload length is beyond the frame: damage to us",
    ),
    (
        "captures/hostile/tunnel_ports.pcap",
        &[7, 26, 44, 53],
        "a tunnel's header that contradicts itself: a datagram to us",
    ),
    ("captures/hostile/tunnel_tower.pcap", &[4, 5, 6], "more tunnels in each other than we follow"),
    ("captures/hostile/vlan_tower.pcap", &[6, 7], "more tags than we follow"),
    ("captures/containers/rare_links.pcapng", &[4, 13, 16], "link types that tshark does not know"),
];

fn have_tshark() -> bool {
    Command::new("tshark")
        .arg("-v")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|s| s.success())
}

/// Length of the payload of the innermost UDP datagram of each frame. What ICMP quotes is none, nor is one whose
/// length contradicts the packet.
fn by_tshark(path: &Path) -> Option<BTreeMap<u64, u64>> {
    let filter = "udp && !icmp && !icmpv6 && !udp.length.bad && !tcp";
    let mut command = Command::new("tshark");
    // Linux's old port of VXLAN, which tshark has forgotten.
    command.args([
        "-d",
        "udp.port==8472,vxlan",
        "-n",
        "-Y",
        filter,
        "-T",
        "fields",
        "-e",
        "frame.number",
        "-e",
        "udp.length",
    ]);
    command.args(["-E", "occurrence=l", "-r"]).arg(path);
    let output = command.stdin(Stdio::null()).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    // Nothing at all and an error: tshark does not read such a file.
    if text.is_empty() && !output.status.success() {
        return None;
    }
    let pair = |line: &str| {
        let (frame, length) = line.split_once('\t')?;
        Some((frame.parse().ok()?, length.parse::<u64>().ok()?.saturating_sub(8)))
    };
    Some(text.lines().filter_map(pair).collect())
}

/// The same, as we see it. What could not be put together from its fragments is none.
fn by_us(path: &Path) -> BTreeMap<u64, u64> {
    let mut command = qdissect();
    command.args(["dump", "--no-config", "--all", "--min-confidence", "low", "-T", "ndjson"]).arg(path);
    let output = command.output().unwrap();
    let code = output.status.code().unwrap();
    assert!(code == 0 || code == 2, "{}: {code}", path.display());
    let records = parsed(&output, code);
    let broken = |r: &serde_json::Value| r["findings"].to_string().contains("GEN-002");
    let packets = records.iter().filter(|r| r["type"] == "packet" && !broken(r));
    packets.map(|r| (r["frame"].as_u64().unwrap(), r["payload_length"].as_u64().unwrap())).collect()
}

/// Captures in a directory and those below it, or the file itself.
fn captures(at: &Path, found: &mut Vec<PathBuf>) {
    if at.is_dir() {
        let mut entries: Vec<_> = std::fs::read_dir(at).unwrap().map(|e| e.unwrap().path()).collect();
        entries.sort();
        entries.iter().for_each(|entry| captures(entry, found));
    } else if at.to_string_lossy().contains(".pcap") {
        found.push(at.to_owned());
    }
}

#[test]
fn tshark_sees_the_same_datagrams() {
    if !have_tshark() {
        eprintln!("skipped: tshark is not installed");
        return;
    }
    let mut found = vec![];
    captures(Path::new("captures"), &mut found);
    assert!(found.len() > 100, "the captures of the repository");
    let further = env::var_os("QDISSECT_CAPTURES").unwrap_or_default();
    env::split_paths(&further).for_each(|path| captures(&path, &mut found));
    let (mut compared, mut apart) = (0, vec![]);
    for path in &found {
        let Some(theirs) = by_tshark(path) else { continue };
        let ours = by_us(path);
        compared += theirs.len();
        let frames: std::collections::BTreeSet<_> = theirs.keys().chain(ours.keys()).collect();
        for frame in frames {
            let (a, b) = (theirs.get(frame), ours.get(frame));
            let known = APART.iter().any(|(name, n, _)| path.ends_with(name) && n.contains(frame));
            if a != b && !known {
                apart.push(format!("{}, frame {frame}: tshark {a:?}, we {b:?}", path.display()));
            }
        }
    }
    assert!(compared > 5_000, "{compared} datagrams are too few to say anything");
    assert!(
        apart.is_empty(),
        "{} of {compared} differ:\n{}",
        apart.len(),
        apart[..apart.len().min(40)].join("\n")
    );
}
