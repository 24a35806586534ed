//! `qdissect live` on the loopback interface with the installed capture programs: everything that was sent is saved or reported
//! as dropped, and the output is that of `dump` for the saved file.
#![cfg(target_os = "linux")]

use crate::kit::live::{Fake, Running, qdissect};
use std::net::UdpSocket;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// So few that no capture program loses one, and so many that one may.
const EXCHANGES: [u64; 2] = [100, 20_000];
/// The answer to [`poll`] after its cookie.
const STATE: [u8; 31] =
    *b"\x03\x7a\x96\x05\0\0\0\0\0\0\0\0\0\x04\0\x11\0\x01\x01\0\x03\x05\0\x02\x01\0\x03\0Fab";

fn poll(cookie: u64) -> Vec<u8> {
    [&b"\xd5\xf6\0\x01"[..], &cookie.to_le_bytes(), b"\x01"].concat()
}

/// A server that answers until it receives an empty datagram.
fn serve(socket: &UdpSocket) {
    let mut space = [0; 64];
    while let Ok((len, from)) = socket.recv_from(&mut space) {
        if len == 0 {
            return;
        }
        let answer = [&b"\xd5\xf6\x01\x01"[..], &space[4..12], &STATE, b"\x01"].concat();
        socket.send_to(&answer, from).unwrap();
    }
}

/// Exchanges datagrams with the server; returns the number sent by both sides.
fn exchange(socket: &UdpSocket, server: u16, exchanges: u64) -> u64 {
    socket.connect(("127.0.0.1", server)).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let (mut sent, mut space) = (0, [0; 64]);
    for cookie in 1..=exchanges {
        socket.send(&poll(cookie)).unwrap();
        sent += 1 + u64::from(socket.recv(&mut space).is_ok());
    }
    sent
}

/// The path of a program, if it is installed.
fn installed(name: &str) -> Option<std::path::PathBuf> {
    let folders = ["/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin"];
    folders.map(|folder| Path::new(folder).join(name)).into_iter().find(|path| path.is_file())
}

/// Waits until the capture has begun; false if it is not permitted.
fn has_begun(live: &Running) -> bool {
    let started = Instant::now();
    while started.elapsed() < Duration::from_secs(30) {
        if live.stderr_text().contains("Capturing on") {
            return true;
        }
        if live.stderr_text().contains("permission") {
            return false;
        }
        thread::sleep(Duration::from_millis(20));
    }
    panic!("the capture does not begin: {}", live.stderr_text());
}

/// Waits until a file has stopped growing, because a capture program that is stopped does not read what the kernel still buffers.
fn has_settled(saved: &Path) {
    let size = || std::fs::metadata(saved).map_or(0, |file| file.len());
    let (mut last, mut since) = (size(), Instant::now());
    while since.elapsed() < Duration::from_secs(2) {
        thread::sleep(Duration::from_millis(100));
        if size() != last {
            (last, since) = (size(), Instant::now());
        }
    }
}

fn nothing_is_lost(name: &str, exchanges: u64) {
    let Some(program) = installed(name) else {
        eprintln!("Skipped: {name} is not installed.");
        return;
    };
    let fake = Fake::new("unused", "");
    symlink(program, fake.path("bin").join(name)).unwrap();
    let (server, client) = (UdpSocket::bind("127.0.0.1:0").unwrap(), UdpSocket::bind("127.0.0.1:0").unwrap());
    let port = server.local_addr().unwrap().port();
    let mut command = qdissect();
    command.args(["live", "-i", "lo", "-T", "ndjson", "-f", &format!("udp port {port}"), "-w"]);
    command.arg(fake.path("saved")).env("PATH", fake.path("bin"));
    let live = Running::new(command);
    if !has_begun(&live) {
        eprintln!("Skipped: {name} is not permitted to capture here.");
        return;
    }
    let serving = thread::spawn(move || serve(&server));
    let sent = exchange(&client, port, exchanges);
    has_settled(&fake.path("saved"));
    live.signal("INT");
    let ended = live.end();
    client.send(&[]).unwrap();
    serving.join().unwrap();
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    let dropped = ended.err.rsplit_once("dropped ").expect("drops are told").1.trim_end_matches(".\n");
    let dropped: u64 = dropped.parse().unwrap();
    let dump = Fake::dump(&fake.path("saved"));
    let saved = dump.summary()["packets"].as_u64().unwrap();
    assert_eq!(saved, ended.summary()["packets"].as_u64().unwrap());
    // The kernel counts each loopback packet twice, and the program shows it once.
    let missing = sent.checked_sub(saved).expect("no more is saved than was sent");
    assert!(missing <= dropped, "{missing} are missing: {}", ended.err);
    if missing == 0 {
        let name = format!("\"file\":\"{}\"", fake.shown("saved"));
        // The program says at its end how many packets it dropped; a pcap file has no place for it.
        let (said, unsaid) = (format!("\"dropped\":{dropped}"), "\"dropped\":null");
        let dumped =
            dump.out.lines().map(|line| line.replace(&name, "\"file\":\"lo\"").replace(unsaid, &said));
        let different = dumped.zip(ended.out.lines()).skip(1).find(|(of_file, live)| of_file != live);
        assert_eq!(different, None, "the first records that differ, of the file and of the live capture");
        assert_eq!(dump.out.lines().count(), ended.out.lines().count());
    }
}

#[test]
fn dumpcap_and_qdissect_lose_nothing() {
    EXCHANGES.into_iter().for_each(|exchanges| nothing_is_lost("dumpcap", exchanges));
}

#[test]
fn tcpdump_and_qdissect_lose_nothing() {
    EXCHANGES.into_iter().for_each(|exchanges| nothing_is_lost("tcpdump", exchanges));
}
