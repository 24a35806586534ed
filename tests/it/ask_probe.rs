//! `ask --probe` against servers on loopback: right ones pass every test, wrong ones fail the one that is about their fault.

use crate::kit;
use crate::kit::run::qdissect;
use qdissect::rule::hex;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::thread;

/// Answers a datagram with at most one; the server remembers a value for each address.
type Server = fn(&mut HashMap<SocketAddr, [u8; 4]>, SocketAddr, &[u8]) -> Option<Vec<u8>>;

fn serve(server: Server) -> String {
    let mut memory = HashMap::new();
    kit::serve::serve(move |request, from| server(&mut memory, from, request).into_iter().collect())
}

/// The exit code, the failed tests as `error[sqp-3 ...]` with their texts, and the first lines of errors.
fn probed(protocol: &str, server: Server) -> (Option<i32>, Vec<String>) {
    let args = ["ask", protocol, &serve(server), "--probe", "--timeout", "100ms"];
    let output = qdissect().args(args).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.lines().any(|line| line.starts_with("probe: ")), "{protocol} passed: {text}");
    let is_wrong = |line: &&str| line.contains("; right is ") || line.starts_with("error[");
    (output.status.code(), text.lines().filter(is_wrong).map(str::to_owned).collect())
}

fn satisfactory(_: &mut HashMap<SocketAddr, [u8; 4]>, _: SocketAddr, request: &[u8]) -> Option<Vec<u8>> {
    let cookie = request.strip_prefix(&[0xd5, 0xf6, 0, 1])?.strip_suffix(&[1])?;
    let state = hex("03 7a960500 0000000000000000 04 001100 010100 030500 020100 0300 'Fab' 01");
    (cookie.len() == 8).then(|| [&[0xd5, 0xf6, 1, 1], cookie, &state[..]].concat())
}

fn skycoop(_: &mut HashMap<SocketAddr, [u8; 4]>, _: SocketAddr, request: &[u8]) -> Option<Vec<u8>> {
    let reply =
        "93000000 06000000 302e31312e32 01000000 0a000000 01 00 00 00000000 02000000 02000000 00 00 01";
    request.starts_with(&[0xfe, 0xff, 0xff, 0xff]).then(|| hex(reply))
}

fn gqp(_: &mut HashMap<SocketAddr, [u8; 4]>, _: SocketAddr, request: &[u8]) -> Option<Vec<u8>> {
    let end = request.iter().position(|byte| *byte == 4)?;
    let text = &request[..end];
    if text.starts_with(&[1]) {
        return Some(b"40identify\x1e\x06\x04".to_vec());
    }
    let reply = |command: &[u8]| {
        let (name, arguments) = match command.iter().position(|byte| *byte == 0x1e) {
            Some(at) => (&command[..at], Some(&command[at + 1..])),
            None => (command, None),
        };
        match (name, arguments) {
            (b"identify", None) => {
                b"10identify\x1e\x12gamename\x1fq\x1e\x12gamever\x1f1\x1e\x12netver\x1f1".to_vec()
            }
            (b"identify", Some(_)) => b"22identify\x1e\x06".to_vec(),
            (b"echo", None) => b"10echo\x1e\x06".to_vec(),
            (b"echo", Some(arguments)) => {
                let records: Vec<_> =
                    arguments.split(|byte| *byte == 0x1f).map(|text| [&[0x11], text].concat()).collect();
                [&b"10echo\x1e"[..], &records.join(&0x1e)].concat()
            }
            // A separator too early ends the name, too.
            (name, _) => {
                let name = name.split(|byte| *byte == 0x1f).next().unwrap();
                [b"20", name, b"\x1e\x06"].concat()
            }
        }
    };
    let replies: Vec<_> = text.split(|byte| *byte == 0x1d).map(reply).collect();
    Some([replies.join(&0x1d), vec![4]].concat())
}

/// Challenges every request that does not carry the challenge of its address.
fn a2s(memory: &mut HashMap<SocketAddr, [u8; 4]>, from: SocketAddr, request: &[u8]) -> Option<Vec<u8>> {
    let next = (memory.len() as u32).wrapping_mul(0x9e37_79b1).wrapping_add(0x1234_5678).to_be_bytes();
    let host = SocketAddr::new(from.ip(), 0);
    let issued = *memory.entry(host).or_insert(next);
    let challenge = [&b"\xff\xff\xff\xffA"[..], &issued].concat();
    let (kind, rest) = request.strip_prefix(&[0xff; 4])?.split_first()?;
    match (kind, rest) {
        (b'T', rest) => {
            let given = rest.strip_prefix(b"Source Engine Query\0")?;
            let info =
                hex("ffffffff 49 11 'Harbour' 00 'b' 00 'c' 00 'd' 00 f000 05 20 00 'd' 'l' 00 01 '1' 00 00");
            Some(if given == issued { info } else { challenge })
        }
        (b'U', given) => Some(if given == issued { hex("ffffffff 44 00") } else { challenge }),
        (b'V', given) => {
            Some(if given == issued { hex("ffffffff 45 0100 'a' 00 'b' 00") } else { challenge })
        }
        _ => None,
    }
}

#[test]
fn right_servers_pass_every_test() {
    let servers: [(&str, Server); 4] =
        [("satisfactory", satisfactory), ("skycoop", skycoop), ("gqp", gqp), ("a2s", a2s)];
    let tried = servers.map(|(name, server)| (name, thread::spawn(move || probed(name, server))));
    for (name, tried) in tried {
        assert_eq!(tried.join().unwrap(), (Some(0), vec![]), "{name}");
    }
}

#[test]
fn wrong_servers_fail_the_test_about_their_fault() {
    let faults: [(&str, Server, &str); 5] = [
        // It always sends the same cookie.
        (
            "satisfactory",
            |memory, from, request| {
                let mut answer = satisfactory(memory, from, request)?;
                answer[4] = 7;
                Some(answer)
            },
            "error[sfq-2 SFQ-TXN-002]",
        ),
        // It answers whatever comes.
        ("skycoop", |memory, from, _| skycoop(memory, from, &[0xfe, 0xff, 0xff, 0xff]), "error[sky-4]"),
        // It calls everything OK.
        (
            "gqp",
            |memory, from, request| {
                let mut answer = gqp(memory, from, request)?;
                answer[..2].copy_from_slice(b"10");
                Some(answer)
            },
            "error[gqp-4]",
        ),
        // It asks for a challenge, and takes any.
        (
            "a2s",
            |memory, from, request| {
                let issued = memory.get(&SocketAddr::new(from.ip(), 0)).copied();
                let mut request = request.to_vec();
                let carries = [9, 29].contains(&request.len()) && !request.ends_with(&[0xff; 4]);
                if let (true, Some(issued), Some(given)) = (carries, issued, request.last_chunk_mut()) {
                    *given = issued;
                }
                a2s(memory, from, &request)
            },
            "warning[a2s-3 A2S-SEC-002]",
        ),
        // An empty datagram ends it.
        (
            "satisfactory",
            |memory, from, request| {
                if request.is_empty() {
                    memory.insert(from, [0; 4]);
                }
                if memory.is_empty() { satisfactory(memory, from, request) } else { None }
            },
            "error[sfq-10 PRB-ALIVE]",
        ),
    ];
    let tried = faults.map(|(name, server, text)| (name, text, thread::spawn(move || probed(name, server))));
    for (name, text, tried) in tried {
        let (code, failed) = tried.join().unwrap();
        assert!(failed.iter().any(|line| line.starts_with(text)), "{name}, {text}: {failed:#?}");
        assert_eq!(code, Some(i32::from(text.starts_with("error"))), "{name}: {failed:#?}");
    }
}
