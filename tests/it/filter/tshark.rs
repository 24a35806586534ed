//! The frames that tshark shows.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Expressions that both support with the same documented meaning.
pub const SHARED: &[&str] = &[
    "ipv6 and udp.length > 20",
    "vlan",
    "!vlan && eth",
    "frame.number in {1, 3..5, 0x10}",
    "frame.number == 017 or frame.number == 0b1001",
    "frame.number <= 3 or frame.number >= 90 and frame.number < 95",
    "not frame.number == 3 and frame.number < 10",
    "frame.cap_len < frame.len",
    "frame.len != 60",
    "frame.time_epoch < 1800000000",
    "frame.time_epoch >= 1795170722.000950036 and frame.time_epoch < 1795170725.25",
    "eth.type == 0x8100 or vlan.id == 100",
    "count(vlan.id) == 1 or vlan.id not in {3} and vlan.id != 4",
    "eth.addr == 02-00-5e-00-53-10",
    "eth.src[0:3] == 02:00:5e",
    "eth.addr contains 53:10",
    "ip.dst == 198.51.100.0/24",
    "ip.addr != 192.0.2.10",
    "ip.addr !== 192.0.2.10",
    "all ip.addr == 127.0.0.0/8",
    "ip.addr in {192.0.2.0/24, 127.0.0.1}",
    "ip.src in {192.0.2.10..192.0.2.20}",
    "ip.src < ip.dst",
    "ip.src[0:2] == c0:00",
    "ip.ttl in {1..63} and ip.proto == 17",
    "ip.len > 60",
    "ip.id == 0 or ip.id > 0x1000",
    "ipv6.src == 2001:db8::/32",
    "ipv6.dst != 2001:db8::30",
    "ipv6.plen < 20 && ipv6.nxt == 17",
    "udp.srcport == 7777 or udp.dstport == 9000",
    "udp.port ne 7777 and udp.port gt 1023",
    "udp.srcport < udp.dstport",
    "udp.dstport < 30000 || udp.srcport eq 26950",
    "udp.port in {53, 7000..8000}",
    "all udp.port in {1024..65535}",
    "udp.port & 0xff == 0x61",
    "udp.checksum == 0",
    "udp.payload[0:2] == 00:00",
    "udp.payload[1-3] == 00:00:00",
    "udp.payload[-1] == 01",
    "udp.payload[0,1,3:2] == 00:00:00:00",
    "udp.payload[60:]",
    "udp.payload[500] != 00",
    "udp.payload contains 61:62",
    "udp.payload matches r\"west|caf.\"",
    "len(udp.payload) == 5",
    "udp contains \"Caf\"",
    "frame contains \"Café\"",
    "frame[12:2] == 08:00",
    "string(udp.port) matches \"^77\"",
    "not (udp.port == 7777 or udp.port == 9000) && ! (ip.src == 192.0.2.40)",
];

/// Whether tshark and mergecap are installed.
pub fn is_there() -> bool {
    let runs =
        |name: &&str| Command::new(name).arg("--version").output().is_ok_and(|out| out.status.success());
    ["tshark", "mergecap"].iter().all(runs)
}

/// Concatenates the captures into one file, without those that mergecap finds damaged. Returns the number of captures.
pub fn merge(captures: &[PathBuf], to: &Path) -> usize {
    let merges = |captures: &[PathBuf]| {
        let mut command = Command::new("mergecap");
        command.args(["-a", "-w"]).arg(to).args(captures);
        command.output().expect("mergecap runs").status.success()
    };
    let sound: Vec<PathBuf> =
        captures.iter().filter(|path| merges(std::slice::from_ref(path))).cloned().collect();
    assert!(merges(&sound), "they could be merged one by one");
    sound.len()
}

/// The frames of a capture that pass.
pub fn frames(path: &Path, expression: &str) -> Vec<u64> {
    let mut command = Command::new("tshark");
    command.args(["-n", "-Y", expression, "-T", "fields", "-e", "frame.number", "-r"]).arg(path);
    let out = command.output().expect("tshark runs");
    let stderr = String::from_utf8_lossy(&out.stderr);
    assert!(!stderr.contains(expression), "tshark does not understand {expression}: {stderr}");
    String::from_utf8_lossy(&out.stdout).lines().map(|n| n.parse().expect("a number")).collect()
}
