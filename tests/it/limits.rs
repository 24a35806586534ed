//! The behaviour when a table is full; and every limit must be documented with a test that reaches it.

mod a2s;
mod causes;
mod documented;
mod gqp;
mod reading;
mod reports;

use crate::kit::play;
use crate::kit::play::{
    Addr, CLIENTS, Collected, PORT, RawFrame, S, SERVER, SERVER_ADDR, SQP_CHALLENGE, START, everything,
    foreign, numbered_frame, report, udp_frame,
};
use qdissect::capture::CaptureInfo;
use qdissect::check::Policy;
use qdissect::contract::Budget;
use qdissect::decode::{Compared, FieldSink, Index, Listener, MAX_VIOLATIONS, Notes, Span, Violation};
use qdissect::pipeline::{Options, Pipeline};
use qdissect::report::Totals;
use qdissect::rule::{Severity, hex};
use qdissect::verdict::{Check, Entry};

/// Plays frames with the minimum memory, so that limits that depend on it are reached early.
fn totals(raw_frames: &[RawFrame]) -> (Collected<false>, Totals) {
    with_memory(1, raw_frames)
}

fn with_memory(mib: u32, raw_frames: &[RawFrame]) -> (Collected<false>, Totals) {
    let options = Options { budget: Budget::mib(mib), ..everything() };
    report(options, Collected::<false>::default(), raw_frames)
}

/// The value of a limit with the minimum memory.
fn at_minimum_memory(bound: u32) -> u32 {
    Budget::mib(1).of(bound as usize) as u32
}

/// A Satisfactory poll with this cookie.
fn poll(cookie: u32) -> Vec<u8> {
    [&hex("d5f6 00 01")[..], &u64::from(cookie).to_le_bytes(), &[1]].concat()
}

/// The answer to the poll with this cookie.
fn state(cookie: u32) -> Vec<u8> {
    let rest = "03 7a960500 0000000000000000 04 001100 010100 030500 020100 0300 466162 01";
    [&hex("d5f6 01 01")[..], &u64::from(cookie).to_le_bytes(), &hex(rest)].concat()
}

/// The frame with an IP identification of its own, so that equal ones at one time are no copies.
fn identified(n: u32, mut frame: RawFrame) -> RawFrame {
    frame.bytes[18..20].copy_from_slice(&(n as u16).to_be_bytes());
    frame
}

/// A different address for each number.
fn host(n: u32) -> [u8; 4] {
    [10, (n >> 16) as u8, (n >> 8) as u8, n as u8]
}

/// A poll to each of `servers` servers, and its answer.
fn answered_by(servers: u32) -> Vec<RawFrame> {
    let pair = |n| {
        let server = (host(n), PORT);
        [udp_frame(START, CLIENTS[0], server, &poll(n)), udp_frame(START, server, CLIENTS[0], &state(n))]
    };
    (0..servers).flat_map(pair).collect()
}

#[test]
fn servers_beyond_the_limit_are_counted_and_paired() {
    let (limit, extra) = (at_minimum_memory(16_384), 100);
    let (_, totals) = totals(&answered_by(limit + extra));
    assert_eq!(totals.servers_refused, u64::from(extra));
    assert_eq!(totals.answered, u64::from(limit + extra));
}

#[test]
fn the_oldest_of_too_many_requests_closes_and_is_counted() {
    let (limit, extra) = (at_minimum_memory(524_288), 40);
    let mut raw_frames: Vec<_> =
        (0..limit + extra).map(|n| udp_frame(START, CLIENTS[0], SERVER_ADDR, &poll(n))).collect();
    raw_frames.push(foreign(START + 60 * S));
    let (collected, totals) = totals(&raw_frames);
    assert_eq!((totals.exchanges, totals.evicted), (u64::from(limit + extra), u64::from(extra)));
    assert_eq!(collected.exchanges.len(), (limit + extra) as usize, "each is told of once");
}

/// A challenge, its answer, a query and its answer for each of 812 servers in turn, 6,250 datagrams a second for five seconds,
/// SQP's late window: a sixteenth of a monitor that asks 13,000 servers.
fn monitored(sockets: u32) -> Vec<RawFrame> {
    let round = |n: u32| {
        let (client, server) = ((host((1 << 16) | (n % sockets)), 9), (host(n % 812), PORT));
        let token = (n + 1).to_be_bytes();
        let time = START + i64::from(n) * 640_000;
        let with = |head: &str, tail: &str| [&hex(head)[..], &token, &hex(tail)].concat();
        [
            udp_frame(time, client, server, &hex("00 00000000")),
            udp_frame(time, server, client, &with("00", "")),
            udp_frame(time, client, server, &with("01", "0001 01")),
            udp_frame(
                time,
                server,
                client,
                &with("01", "0001 00 00 0012 0000000e 0001000801410162016301641e61"),
            ),
        ]
    };
    (0..8_000).flat_map(round).collect()
}

#[test]
fn a_monitor_of_thirteen_thousand_servers_fits_into_memory() {
    // With one socket for all exchanges, and with one for each.
    for sockets in [1, 8_000] {
        let raw_frames = monitored(sockets);
        let forgotten = |mib| {
            let totals = with_memory(mib, &raw_frames).1;
            assert_eq!((totals.exchanges, totals.answered), (16_000, 16_000));
            totals.evicted + totals.servers_refused + totals.memory_forgotten
        };
        assert_eq!(forgotten(4), 0, "a sixteenth of 64 MiB");
        assert!(forgotten(1) > 0, "bounds grow with the memory");
    }
}

#[test]
fn cookies_that_are_forgotten_are_counted() {
    let (limit, extra) = (at_minimum_memory(131_072), 25);
    let raw_frames: Vec<_> =
        (0..limit + extra).map(|n| udp_frame(START, (host(n), 9), SERVER_ADDR, &poll(n))).collect();
    let (_, totals) = totals(&raw_frames);
    assert_eq!(totals.memory_forgotten, u64::from(extra));
}

#[test]
fn handshakes_that_are_forgotten_are_counted() {
    let (limit, extra) = (at_minimum_memory(16_384), 25);
    let (ask, answer) = (hex("fefd09 01020304"), hex("09 01020304 '7' 00"));
    let both = |n: u32| {
        [
            udp_frame(START, (host(n), 9), SERVER_ADDR, &ask),
            udp_frame(START, SERVER_ADDR, (host(n), 9), &answer),
        ]
    };
    let raw_frames: Vec<_> = (0..limit + extra).flat_map(both).collect();
    assert_eq!(totals(&raw_frames).1.memory_forgotten, u64::from(extra));
}

#[test]
fn requests_for_a_state_that_are_forgotten_are_counted() {
    let (limit, extra) = (at_minimum_memory(65_536), 25);
    let ask = hex("fefd00 01020304 ffffff01");
    let mut raw_frames: Vec<_> =
        (0..limit + extra).map(|n| udp_frame(START, (host(n), 9), SERVER_ADDR, &ask)).collect();
    assert_eq!(totals(&raw_frames).1.memory_forgotten, 0, "none of them is sought");
    let answer = hex("00 01020304 'hostname' 00 'x' 00 00 00 0000");
    raw_frames.extend((0..limit + extra).map(|n| udp_frame(START + 1, SERVER_ADDR, (host(n), 9), &answer)));
    assert_eq!(totals(&raw_frames).1.memory_forgotten, u64::from(extra));
}

#[test]
fn refused_passwords_that_are_forgotten_are_counted() {
    let (limit, extra) = (at_minimum_memory(4_096), 25);
    let ask = hex("'SAMP' c000020a 611e 'x' 0100 'a' 0300 'cmd'");
    let refusal = hex("'SAMP' c000020a 611e 'x' 1600 'Invalid RCON password.'");
    let both = |n: u32| {
        [
            udp_frame(START, (host(n), 9), SERVER_ADDR, &ask),
            udp_frame(START, SERVER_ADDR, (host(n), 9), &refusal),
        ]
    };
    let raw_frames: Vec<_> = (0..limit + extra).flat_map(both).collect();
    assert_eq!(totals(&raw_frames).1.memory_forgotten, u64::from(extra));
}

#[test]
fn first_steps_that_are_forgotten_are_counted() {
    let (limit, extra) = (at_minimum_memory(4_096), 25);
    let begin = hex("'TS3INIT1' 0065 0000 88 0dd05766 00 5f5916e0 ade76b61 00*8");
    let raw_frames: Vec<_> =
        (0..limit + extra).map(|n| udp_frame(START, (host(n), 9), SERVER_ADDR, &begin)).collect();
    assert_eq!(totals(&raw_frames).1.memory_forgotten, u64::from(extra));
}

#[test]
fn clients_with_tokens_that_are_forgotten_are_counted() {
    let (limit, extra) = (at_minimum_memory(4_096), 25);
    let (ask, token) = (hex("040000 ffffffff 05 1a2b3c4d 00*508"), hex("040000 1a2b3c4d 05 55667788"));
    let both = |n: u32| {
        [
            udp_frame(START, (host(n), 9), SERVER_ADDR, &ask),
            udp_frame(START, SERVER_ADDR, (host(n), 9), &token),
        ]
    };
    let raw_frames: Vec<_> = (0..limit + extra).flat_map(both).collect();
    assert_eq!(totals(&raw_frames).1.memory_forgotten, u64::from(extra));
}

#[test]
fn challenges_of_masters_that_are_forgotten_are_counted() {
    let (limit, extra) = (at_minimum_memory(4_096), 25);
    let both = |n: u32| {
        [
            udp_frame(START, (host(n), 9), SERVER_ADDR, b"q"),
            udp_frame(START, SERVER_ADDR, (host(n), 9), &hex("ffffffff 73 0a 01020304")),
        ]
    };
    let raw_frames: Vec<_> = (0..limit + extra).flat_map(both).collect();
    assert_eq!(totals(&raw_frames).1.memory_forgotten, u64::from(extra));
}

#[test]
fn clients_of_servers_with_a_limit_that_are_forgotten_are_counted() {
    let (limit, extra) = (at_minimum_memory(16_384), 25);
    let raw_frames: Vec<_> =
        (0..limit + extra).map(|n| udp_frame(START, (host(n), 9), SERVER_ADDR, b"s")).collect();
    assert_eq!(totals(&raw_frames).1.memory_forgotten, u64::from(extra));
}

#[test]
fn long_polling_evicts_nothing_that_is_needed() {
    // Polls a minute apart, with the datagrams of their answers; `others` makes each come from another address.
    let forgotten = |bound: u32, others: bool, request: &[u8], answer: &[&[u8]]| {
        let polls = at_minimum_memory(bound) + 100;
        let poll = |n: u32| {
            let (client, time) =
                (if others { (host(n), 9) } else { CLIENTS[0] }, START + i64::from(n) * 60 * S);
            let parts = answer.iter().map(move |part| udp_frame(time + 1, SERVER_ADDR, client, part));
            [udp_frame(time, client, SERVER_ADDR, request)].into_iter().chain(parts)
        };
        let (_, totals) = totals(&(0..polls).flat_map(poll).collect::<Vec<_>>());
        assert_eq!(totals.exchanges, u64::from(polls));
        totals.memory_forgotten + totals.evicted
    };
    let info = "ffffffff 49 11 'A' 00 'b' 00 'c' 00 'd' 00 f000 01 08 00 'dl' 00 01 '1' 00 00";
    let a2s = forgotten(16_384, false, &hex("ffffffff 54 'Source Engine Query' 00"), &[&hex(info)]);
    let parts: [&[u8]; 3] = [
        br"\hostname\Lab\gamever\1\queryid\7.1",
        br"\player_0\Ann\queryid\7.2",
        br"\player_1\Bob\final\\queryid\7.3",
    ];
    let gamespy1 = forgotten(65_536 / 3, false, br"\status\", &parts);
    let ase = forgotten(16_384, true, b"s", &[]);
    let status = r"ffffffff 'statusResponse' 0a '\sv_hostname\Lab\mapname\q3dm17\sv_maxclients\8' 0a";
    let quake3 = forgotten(16_384, true, &hex("ffffffff 'getstatus'"), &[&hex(status)]);
    assert_eq!([a2s, gamespy1, ase, quake3], [0; 4]);
}

#[test]
fn hosts_beyond_the_limit_are_paired_and_counted() {
    let (limit, extra) = (256, 5);
    let magic = "0000000000000001 00ffff00fefefefefdfdfdfd12345678";
    let ping = hex(&format!("01 {magic} 0000000000000002"));
    let pong = hex("1c 0000000000000001 0000000000000007 00ffff00fefefefefdfdfdfd12345678");
    let mut raw_frames = vec![udp_frame(START, (host(9), 9), ([192, 0, 2, 255], 19132), &ping)];
    raw_frames
        .extend((10..10 + limit + extra).map(|n| udp_frame(START, (host(n), 19132), (host(9), 9), &pong)));
    let (collected, totals) = totals(&raw_frames);
    assert_eq!(collected.exchanges[0].0.response_frames().len(), limit as usize);
    assert_eq!(totals.evicted, u64::from(extra));
}

#[test]
fn clients_of_quake_servers_that_are_forgotten_are_counted() {
    let (limit, extra) = (at_minimum_memory(16_384), 25);
    let ask = hex("ffffffff 'getstatus'");
    let raw_frames: Vec<_> =
        (0..limit + extra).map(|n| udp_frame(START, (host(n), 9), SERVER_ADDR, &ask)).collect();
    assert_eq!(totals(&raw_frames).1.memory_forgotten, u64::from(extra));
}

#[test]
fn clients_that_share_a_cookie_and_are_forgotten_are_counted() {
    let (limit, extra) = (at_minimum_memory(8_192), 25);
    // The last poll has the same address.
    let raw_frames: Vec<_> =
        (0..=limit + extra).map(|n| udp_frame(START, (host(n), 9), SERVER_ADDR, &poll(0))).collect();
    assert_eq!(totals(&raw_frames).1.memory_forgotten, u64::from(extra));
}

#[test]
fn shared_cookies_that_are_forgotten_are_counted() {
    let (limit, extra) = (at_minimum_memory(1_024), 25);
    let both = |n: u32| [0, 1].map(|client| udp_frame(START, (host(client), 9), SERVER_ADDR, &poll(n)));
    let raw_frames: Vec<_> = (0..limit + extra).flat_map(both).collect();
    assert_eq!(totals(&raw_frames).1.memory_forgotten, u64::from(extra));
}

#[test]
fn states_that_are_forgotten_are_counted() {
    let (limit, extra) = (at_minimum_memory(16_384), 25);
    let (_, totals) = totals(&answered_by(limit + extra));
    assert_eq!(totals.memory_forgotten, u64::from(extra));
}

#[test]
fn tokens_that_are_forgotten_are_counted() {
    let (limit, extra) = (at_minimum_memory(131_072), 25);
    let raw_frames: Vec<_> = (0..limit + extra)
        .flat_map(|n: u32| {
            let client = (host(n), 9);
            let token = [&[0][..], &(n + 1).to_be_bytes()].concat();
            [
                udp_frame(START, client, SERVER_ADDR, &hex("00 00000000")),
                udp_frame(START, SERVER_ADDR, client, &token),
            ]
        })
        .collect();
    let (_, totals) = totals(&raw_frames);
    // Nobody has used them, either.
    assert_eq!(totals.memory_forgotten, 2 * u64::from(extra));
}

#[test]
fn unknown_tokens_up_to_the_limit_are_compared_with_the_clients_own() {
    let limit: u32 = 16_384;
    for (before, rule) in [(limit - 1, "SQP-TXN-001"), (limit, "SQP-TXN-002")] {
        let to = |time, client, text: &str| udp_frame(time, client, SERVER_ADDR, &hex(text));
        let client = CLIENTS[0];
        let mut raw_frames = vec![
            to(START, client, "00 00000000"),
            udp_frame(START, SERVER_ADDR, client, &hex("00 80902348")),
            to(START, client, "01 80902348 0001 01"),
        ];
        let later = START + 90 * S;
        raw_frames.extend((0..before).map(|n| to(later, (host(n), 9), "01 11111111 0001 01")));
        raw_frames.push(to(later, client, "01 22222222 0001 01"));
        let (collected, _) = totals(&raw_frames);
        let last = collected.packets.iter().max_by_key(|p| p.frame).expect("there is one");
        assert_eq!((last.frame, last.rules()), (raw_frames.len() as u64, vec![rule]));
    }
}

#[test]
fn copies_of_second_answers_that_are_forgotten_count_as_others() {
    let limit = at_minimum_memory(65_536);
    for (answers, copies, forgotten) in [(limit, 1, 0), (limit + 1, 0, 2)] {
        let name =
            |n: u32| format!("01 80902348 0001 00 00 0015 00000011 0001 0008 04 {n:08x} 0162 0163 0164 1e61");
        let asked = ["00 00000000", "01 80902348 0001 01"]
            .map(|text| udp_frame(START, CLIENTS[0], SERVER_ADDR, &hex(text)));
        let [challenge, query] = asked;
        let mut raw_frames =
            vec![challenge, udp_frame(START, SERVER_ADDR, CLIENTS[0], &hex("00 80902348")), query];
        // The first answer, the others, and a copy of the first of these.
        raw_frames.extend(
            (0..=answers).chain([1]).map(|n| udp_frame(START + 1, SERVER_ADDR, CLIENTS[0], &hex(&name(n)))),
        );
        let (collected, totals) = totals(&raw_frames);
        let copy = |p: &&play::ReportedPacket| p.rules().contains(&"SQP-TXN-013");
        assert_eq!(collected.packets.iter().filter(copy).count(), copies, "{answers} others");
        assert_eq!(totals.memory_forgotten, forgotten);
    }
}

#[test]
fn pending_datagrams_beyond_the_number_are_counted() {
    let (bound, extra) = (16_384, 30);
    for (mib, limit) in [(1, at_minimum_memory(bound)), (64, bound)] {
        // Five zero bytes, which only answers could confirm, all at the same time.
        let raw_frames: Vec<_> = (0..limit + extra)
            .map(|n| udp_frame(START, (host(n), 9), SERVER_ADDR, &hex("00 00000000")))
            .collect();
        let (collected, totals) = with_memory(mib, &raw_frames);
        assert_eq!(totals.waiting_overflow, u64::from(extra));
        assert_eq!(collected.packets.len(), (limit + extra) as usize, "each is told of all the same");
    }
}

#[test]
fn only_the_latest_requests_of_a_conversation_are_searched() {
    // A repeated request is searched among the latest ones.
    let back = 64;
    for (steps, requests) in [(back, 100), (back + 1, 101)] {
        let mut raw_frames: Vec<_> =
            (0..100).map(|n| udp_frame(START, CLIENTS[0], SERVER_ADDR, &poll(n))).collect();
        raw_frames.push(udp_frame(START + 1, CLIENTS[0], SERVER_ADDR, &poll(100 - steps)));
        assert_eq!(totals(&raw_frames).1.exchanges, requests, "{steps} back");
    }
}

#[test]
fn an_answer_is_paired_far_back_but_not_judged_beyond_the_searched_requests() {
    let status =
        "93000000 06000000 302e31312e32 01000000 0a000000 01 00 00 00000000 02000000 02000000 00 00 01";
    let (far, requests) = (1_024, 1_030);
    for (steps, within) in [(far, true), (far + 1, false)] {
        let polls = (0..requests).map(poll).chain([state(requests - steps)]);
        // Without a key the oldest is answered.
        let in_order = (0..steps).map(|_| hex("feffffff")).chain([hex(status)]);
        for (datagrams, keyed) in [(polls.collect::<Vec<_>>(), true), (in_order.collect(), false)] {
            let (answer, asked) = datagrams.split_last().expect("there are some");
            let mut raw_frames: Vec<_> =
                asked.iter().map(|p| udp_frame(START, CLIENTS[0], SERVER_ADDR, p)).collect();
            raw_frames = (0..).zip(raw_frames).map(|(n, frame)| identified(n, frame)).collect();
            raw_frames.push(udp_frame(START + 1, SERVER_ADDR, CLIENTS[0], answer));
            let (collected, totals) = with_memory(64, &raw_frames);
            assert_eq!(totals.evicted, u64::from(!within), "{steps} back, keyed: {keyed}");
            assert_eq!(totals.answered, u64::from(within || !keyed));
            let wrong = |p: &&play::ReportedPacket| p.findings.iter().any(|f| f.severity == Severity::Error);
            assert_eq!(collected.packets.iter().filter(wrong).count(), 0, "no error where nobody looked");
        }
    }
}

#[test]
fn findings_beyond_those_kept_are_counted() {
    // Each client asks once and gets no answer, which is one finding each, and no finding of the next one.
    let (limit, extra) = (50_000u32, 70);
    let mut raw_frames: Vec<_> =
        (0..limit + extra).map(|n| udp_frame(START, (host(n), 9), SERVER_ADDR, &poll(n))).collect();
    raw_frames.push(udp_frame(START, (host(0), 9), (SERVER, PORT + 1), &poll(0)));
    raw_frames.push(udp_frame(START, (SERVER, PORT + 1), (host(0), 9), &state(0)));
    raw_frames.push(foreign(START + 60 * S));
    let counted = raw_frames.len() as u64;
    let mut judged = 0;
    let judge = |_: &mut Entry, _: &str| {
        judged += 1;
        Ok(())
    };
    let (check, totals) = report(everything(), Check::new(Policy::default(), judge), &raw_frames);
    let verdict = check.verdict(totals).unwrap();
    let all = verdict.findings.len() as u64 + verdict.more_findings;
    assert!(
        verdict.findings.len() == limit as usize && verdict.more_findings > 0,
        "{} of {all}",
        verdict.findings.len()
    );
    assert!(all >= u64::from(limit + extra) && all < 2 * counted, "{all}");
    assert!(judged > limit, "whoever listens hears of all: {judged}");
}

#[test]
fn captures_beyond_the_limit_share_one_place() {
    let limit = 4_096;
    let mut check = Check::new(Policy::default(), |_: &mut Entry, _: &str| Ok(()));
    let mut pipeline = Pipeline::new(everything(), &mut check);
    for n in 0..limit + 3 {
        // A poll with an extra byte, and its answer, each in a separate capture.
        let raw_frames = [udp_frame(START, CLIENTS[0], SERVER_ADDR, &[&poll(n)[..], &[0xff]].concat())];
        let frames = raw_frames.iter().map(|raw_frame| numbered_frame(raw_frame, u64::from(n) + 1, 0));
        pipeline.read_frames(&format!("{n}.pcap"), &CaptureInfo::default(), frames).unwrap();
    }
    let totals = pipeline.finish(true).unwrap();
    let verdict = check.verdict(totals).unwrap();
    let names: Vec<_> = verdict.files.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!((names.len(), names[4_095], names[4_096]), (4_097, "4095.pcap", "(further captures)"));
    let rule = |e: &&Entry| e.finding.span.is_some() && e.finding.severity == Severity::Error;
    let errors: Vec<_> = verdict.findings.iter().filter(rule).collect();
    assert_eq!(errors.len(), limit as usize + 3, "each of them is there");
    for (n, e) in errors.iter().enumerate() {
        assert_eq!((e.file, e.frame), (n.min(4_096), 1), "{n}");
    }
}

#[test]
fn thirty_two_bytes_of_a_finding_are_kept() {
    let (poll, state) = (poll(1), state(1));
    let raw_frames =
        [udp_frame(START, CLIENTS[0], SERVER_ADDR, &poll), udp_frame(START, SERVER_ADDR, CLIENTS[0], &state)];
    let check = Check::new(Policy::default(), |_: &mut Entry, _: &str| Ok(()));
    let (check, totals) = report(everything(), check, &raw_frames);
    let verdict = check.verdict(totals).unwrap();
    // The answer as a whole is larger than its request.
    let whole = verdict.findings.iter().find(|e| e.rule().id == "GEN-007").unwrap();
    assert_eq!(whole.finding.span.unwrap().of(&state), &state[..]);
    assert!(state.len() > 32 && whole.marked[..] == state[..32]);
    let cookie = Check::new(Policy::default(), |_: &mut Entry, _: &str| Ok(()));
    let (check, totals) =
        report(everything(), cookie, &[udp_frame(START, CLIENTS[0], SERVER_ADDR, &self::poll(0))]);
    let verdict = check.verdict(totals).unwrap();
    let zero = verdict.findings.iter().find(|e| e.rule().id == "SFQ-REQ-004").unwrap();
    assert_eq!(zero.marked[..], self::poll(0)[4..12]);
}

#[test]
fn only_the_latest_requests_of_all_clients_are_searched() {
    // The answer comes from another address than that of the request.
    for (between, answered) in [(255, 1), (256, 0)] {
        let mut raw_frames = vec![udp_frame(START, CLIENTS[0], SERVER_ADDR, &poll(7))];
        raw_frames
            .extend((0..between).map(|n| udp_frame(START, (host(n), 9), SERVER_ADDR, &poll(n + 1_000))));
        raw_frames.push(udp_frame(START + 1, (CLIENTS[1].0, PORT), CLIENTS[0], &state(7)));
        assert_eq!(totals(&raw_frames).1.answered, answered, "{between} between them");
    }
}

#[test]
fn pending_datagrams_beyond_the_bytes_are_counted() {
    let ends: [Addr; 2] = [([192, 0, 2, 200], 53_124), ([192, 0, 2, 53], 53)];
    for (mib, long, early) in [(1, 4, false), (1, 5, true), (64, 69, false), (64, 70, true)] {
        // Five zero bytes are pending, and with them everything after them that is reported in order.
        let mut raw_frames = vec![udp_frame(START, CLIENTS[0], SERVER_ADDR, &hex("00 00000000"))];
        raw_frames.extend((0..long).map(|_| udp_frame(START, ends[0], ends[1], &[0xee; 60_000])));
        let options = Options { budget: Budget::mib(mib), ..everything() };
        let (collected, totals) = report(options, Collected::<true>::default(), &raw_frames);
        assert_eq!(totals.waiting_overflow > 0, early);
        assert_eq!(
            (collected.packets.len(), collected.unclaimed.len()),
            (1, long),
            "each is told of all the same"
        );
        assert!(collected.packets[0].frame == 1 && collected.unclaimed.is_sorted());
    }
}

#[test]
fn repetitions_are_counted_up_to_sixteen_bits() {
    for extra in [0, 1, 10] {
        let ask = udp_frame(START, CLIENTS[0], SERVER_ADDR, &poll(1));
        let mut raw_frames: Vec<_> = (0..65_536 + extra).map(|n| identified(n, ask.clone())).collect();
        raw_frames.push(foreign(START + 60 * S));
        let (collected, totals) = totals(&raw_frames);
        assert_eq!(
            (collected.exchanges.len(), totals.retransmissions, totals.evicted),
            (1, 65_535, 0),
            "{extra}"
        );
    }
}

/// The file has the length of the limit, not its content.
#[test]
fn a_configuration_and_a_baseline_that_are_too_long_are_declined() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("long");
    for (option, len, words) in [("--config", 1 << 20, "1048576"), ("--baseline", 64 << 20, "67108864")] {
        std::fs::File::create(&path).unwrap().set_len(len + 1).unwrap();
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_qdissect"));
        let output = command.args(["check", option]).arg(&path).arg("captures/demo.pcapng").output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains(words), "{option}: {stderr}");
    }
}

/// For an unclaimed datagram.
#[test]
fn sixteen_bytes_and_the_length_of_unclaimed_datagrams_are_shown() {
    for (bytes, ellipsis) in [(16, ""), (17, "…")] {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_qdissect"));
        let output = command.args(["hex", "--color", "never", &"ff".repeat(bytes)]).output().unwrap();
        let stdout = String::from_utf8(output.stdout).unwrap();
        assert!(stdout.contains(&format!("\n    {}{ellipsis} (", "ff".repeat(16))), "{stdout}");
        assert!(stdout.contains(&format!(" {bytes} -\n")), "{stdout}");
    }
}

#[test]
fn queries_without_a_token_that_are_forgotten_are_counted() {
    let (limit, extra) = (at_minimum_memory(4_096), 25);
    // The server issues other tokens than those that the clients use, and the clients' tokens are not older than the capture.
    let mut raw_frames = vec![
        udp_frame(START, CLIENTS[0], SERVER_ADDR, &hex("00 00000000")),
        udp_frame(START, SERVER_ADDR, CLIENTS[0], &hex("00 80902348")),
    ];
    let query = |n: u32| [&[1][..], &(n + 1).to_be_bytes(), &hex("0001 01")].concat();
    raw_frames
        .extend((0..limit + extra).map(|n| udp_frame(START + 20 * S, (host(n), 9), SERVER_ADDR, &query(n))));
    assert_eq!(totals(&raw_frames).1.memory_forgotten, 0, "none of them is answered");
    let rest = hex("0001 00 00 0012 0000000e 0001 0008 01 41 01 62 01 63 01 64 1e61");
    let answer = |n: u32| [&[1][..], &(n + 1).to_be_bytes(), &rest].concat();
    raw_frames.extend(
        (0..limit + extra).map(|n| udp_frame(START + 20 * S + 1, SERVER_ADDR, (host(n), 9), &answer(n))),
    );
    let (collected, totals) = totals(&raw_frames);
    let unproven = collected.findings().filter(|finding| finding.rule.id == "SQP-SEC-001").count();
    assert_eq!((totals.memory_forgotten, unproven), (u64::from(extra), limit as usize));
}

#[test]
fn forgotten_tokens_without_a_captured_issue_are_counted() {
    let (limit, extra) = (at_minimum_memory(131_072), 25);
    let query = |n: u32| [&[1][..], &(n + 1).to_be_bytes(), &hex("0001 01")].concat();
    let asked = |n| {
        [hex(SQP_CHALLENGE), query(n)].map(|payload| udp_frame(START, (host(n), 9), SERVER_ADDR, &payload))
    };
    let raw_frames: Vec<_> = (0..limit + extra).flat_map(asked).collect();
    assert_eq!(totals(&raw_frames).1.memory_forgotten, u64::from(extra));
}

#[test]
fn broken_rules_beyond_those_kept_are_counted() {
    let rule = qdissect::protocols::rules().next().unwrap();
    let at = Span { start: 0, end: 1 };
    let mut notes = Notes::default();
    for round in 0..2 {
        notes.begin();
        (0..MAX_VIOLATIONS + 8).for_each(|_| {
            notes.violation(Violation {
                rule,
                at,
                field: None,
                index: Index::default(),
                needs: 0,
                minor: false,
                values: Compared::NOTHING,
            })
        });
        assert_eq!((notes.violations().len(), notes.more()), (32, 8), "{round}");
    }
}

#[test]
fn a_rule_broken_for_the_first_time_is_kept_in_a_full_list() {
    let violation = |rule| Violation {
        rule,
        at: Span { start: 0, end: 1 },
        field: None,
        index: Index::default(),
        needs: 0,
        minor: false,
        values: Compared::NOTHING,
    };
    let rules: Vec<_> = qdissect::protocols::rules().take(MAX_VIOLATIONS + 1).collect();
    let mut notes = Notes::default();
    notes.begin();
    // The first rule fills all places, and loses one to each of the others, but keeps the last.
    (0..MAX_VIOLATIONS).for_each(|_| notes.violation(violation(rules[0])));
    rules.iter().for_each(|rule| notes.violation(violation(rule)));
    assert_eq!(notes.more(), 33);
    let collected: Vec<_> = notes.violations().iter().map(|v| v.rule.id).collect();
    let expected: Vec<_> = rules[..MAX_VIOLATIONS].iter().map(|rule| rule.id).collect();
    assert_eq!(collected, expected);
}

#[test]
fn keys_as_they_are_shown_that_are_forgotten_are_counted() {
    let ask = |n: u32| {
        let ping = format!("'SAMP' c000020a 611e 'p' {n:08x}");
        udp_frame(START, (host(n), 9), SERVER_ADDR, &hex(&ping))
    };
    for (clients, forgotten) in [(at_minimum_memory(16_384), 0), (at_minimum_memory(16_384) + 1, 1)] {
        let mut frames: Vec<_> = (0..clients).map(ask).collect();
        frames.push(foreign(START + 60 * S));
        let (collected, totals) = totals(&frames);
        let unknown = collected.exchanges.iter().filter(|(e, _)| e.shown_key.is_none()).count() as u64;
        assert_eq!((totals.memory_forgotten, unknown), (forgotten, forgotten));
    }
}

#[test]
fn a_shown_key_has_128_bytes_at_most() {
    let ask = |length: usize| hex(&format!("ffffffff 'getinfo ' 61*{length}"));
    for (length, shown) in [(128, 128), (129, 128)] {
        let frames = [udp_frame(START, (host(1), 9), SERVER_ADDR, &ask(length)), foreign(START + 60 * S)];
        let key = totals(&frames).0.exchanges[0].0.shown_key.clone();
        assert_eq!(key.map(|key| key.len()), Some(shown));
    }
}

#[test]
fn servers_that_answer_without_issuing_and_are_forgotten_are_counted() {
    // A challenge that is not answered, and a query that is, with a token that nobody has seen.
    let without = |n: u32| {
        let (client, server, start) = ((host(n), 9), (host(1 << 20 | n), PORT), START + 60 * S);
        let query = format!("01 {:08x} 0001 01", n + 1);
        let answer = format!("01 {:08x} 0001 00 00 0012 0000000e 0001 0008 0141 0162 0163 0164 1e61", n + 1);
        [
            udp_frame(start, client, server, &hex(SQP_CHALLENGE)),
            udp_frame(start + 1, client, server, &hex(&query)),
            udp_frame(start + 2, server, client, &hex(&answer)),
        ]
    };
    for (servers, forgotten) in [(at_minimum_memory(4_096), 0), (at_minimum_memory(4_096) + 1, 1)] {
        let mut frames = vec![foreign(START)];
        frames.extend((0..servers).flat_map(without));
        frames.push(foreign(START + 120 * S));
        assert_eq!(totals(&frames).1.memory_forgotten, forgotten);
    }
}
