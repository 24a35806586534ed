//! tshark finds the same UDP datagrams. Runs if tshark is installed, over the captures of this repository and those named in
//! `QDISSECT_CAPTURES`: files and directories, separated as in `PATH`.

use crate::kit::captures::{further, own};
use crate::kit::tshark::{by_tshark, by_us, have_tshark};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::thread;

/// Frames that the two interpret differently, each with the reason.
const APART: &[(&str, &[u64], &str)] = &[
    (
        "captures/hostile/header_lengths.pcap",
        &[43, 44, 45, 46, 47, 48, 49, 50],
        "the IPv4 total length is beyond the frame, and the datagram, too: cut by a mirror port to us",
    ),
    (
        "captures/hostile/header_lengths.pcap",
        &[51],
        "the IPv6 payload length is 0, as offload leaves it: whole to us",
    ),
    (
        "captures/hostile/tunnel_ports.pcap",
        &[7, 26, 44, 53],
        "a tunnel's header that contradicts itself: a datagram to us",
    ),
    ("captures/hostile/tunnel_tower.pcap", &[4, 5, 6], "more tunnels in each other than we follow"),
    ("captures/hostile/vlan_tower.pcap", &[6, 7], "more tags than we follow"),
];

/// Captures of link types and tunnels whose frames are only counted here.
const UNREAD: &[&str] = &["captures/containers/radiotap.pcap", "captures/containers/teredo.pcap"];

/// Captures whose time stamps tshark computes wrongly, each with the reason.
const CLOCKS: &[(&str, &str)] = &[
    ("captures/hostile/clock_jumps.pcap", "a fraction of more than a second is a negative one there"),
    ("captures/hostile/ng_strange_clock.pcapng", "units below a nanosecond, and powers of two"),
];

/// The number of compared datagrams of these captures, and the differences.
fn compare(paths: &[PathBuf]) -> (usize, Vec<String>) {
    let (mut compared, mut apart) = (0, vec![]);
    for path in paths {
        let Some(theirs) = by_tshark(path) else { continue };
        let ours = by_us(path);
        compared += theirs.len();
        let frames: BTreeSet<_> = theirs.keys().chain(ours.keys()).collect();
        for frame in frames {
            let (mut a, mut b) = (theirs.get(frame).copied(), ours.get(frame).copied());
            if CLOCKS.iter().any(|(name, _)| path.ends_with(name)) {
                a.iter_mut().chain(&mut b).for_each(|datagram| datagram.time = None);
            }
            let known = APART.iter().any(|(name, n, _)| path.ends_with(name) && n.contains(frame));
            let unread = b.is_none() && UNREAD.iter().any(|name| path.ends_with(name));
            if a != b && !known && !unread {
                apart.push(format!("{}, frame {frame}: tshark {a:?}, we {b:?}", path.display()));
            }
        }
    }
    (compared, apart)
}

#[test]
fn tshark_sees_the_same_datagrams() {
    if !have_tshark() {
        eprintln!("skipped: tshark is not installed");
        return;
    }
    let all = [own(), further()].concat();
    let share = all.len().div_ceil(thread::available_parallelism().map_or(1, usize::from));
    // Each thread mostly waits for a process.
    let results: Vec<_> = thread::scope(|scope| {
        let shares: Vec<_> = all.chunks(share).map(|paths| scope.spawn(|| compare(paths))).collect();
        shares.into_iter().map(|share| share.join().expect("a thread ends")).collect()
    });
    let compared: usize = results.iter().map(|(compared, _)| compared).sum();
    let apart: Vec<_> = results.into_iter().flat_map(|(_, apart)| apart).collect();
    assert!(compared > 5_000, "{compared} datagrams are too few to say anything");
    assert!(
        apart.is_empty(),
        "{} of {compared} differ:\n{}",
        apart.len(),
        apart[..apart.len().min(40)].join("\n")
    );
}
