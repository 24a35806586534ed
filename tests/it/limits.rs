//! What happens where a table is full, told in datagrams; and that every bound stands in the table of the pages, with
//! a test that reaches it.

mod a2s;
mod causes;
mod documented;
mod gqp;
mod reading;
mod reports;

use crate::kit::play;
use crate::kit::play::{
    CLIENTS, Collected, END, End, H1, PORT, S, SERVER, START, Shot, everything, foreign, frame, report, shot,
};
use qdissect::capture::CaptureInfo;
use qdissect::check::Policy;
use qdissect::contract::Budget;
use qdissect::decode::{FieldSink, Index, Listener, MAX_VIOLATIONS, Notes, Span, Violation};
use qdissect::pipeline::{Options, Pipeline};
use qdissect::report::Totals;
use qdissect::rule::{Severity, hex};
use qdissect::verdict::{Check, Entry};

/// With the least memory, so that bounds which grow with it are near.
fn totals(shots: &[Shot]) -> (Collected<false>, Totals) {
    with_memory(1, shots)
}

fn with_memory(mib: u32, shots: &[Shot]) -> (Collected<false>, Totals) {
    let options = Options { budget: Budget::mib(mib), ..everything() };
    report(options, Collected::<false>::default(), shots)
}

/// What is left of a bound with the least memory.
fn least(bound: u32) -> u32 {
    Budget::mib(1).of(bound as usize) as u32
}

/// A Satisfactory poll with that cookie.
fn poll(cookie: u32) -> Vec<u8> {
    [&hex("d5f6 00 01")[..], &u64::from(cookie).to_le_bytes(), &[1]].concat()
}

/// Its answer.
fn state(cookie: u32) -> Vec<u8> {
    let rest = "03 7a960500 0000000000000000 04 001100 010100 030500 020100 0300 466162 01";
    [&hex("d5f6 01 01")[..], &u64::from(cookie).to_le_bytes(), &hex(rest)].concat()
}

/// An address of its own for each number.
fn host(n: u32) -> [u8; 4] {
    [10, (n >> 16) as u8, (n >> 8) as u8, n as u8]
}

/// A poll and its answer of so many servers.
fn answered_by(servers: u32) -> Vec<Shot> {
    let pair = |n| {
        let server = (host(n), PORT);
        [shot(START, CLIENTS[0], server, &poll(n)), shot(START, server, CLIENTS[0], &state(n))]
    };
    (0..servers).flat_map(pair).collect()
}

#[test]
fn further_servers_are_counted_and_paired_all_the_same() {
    let (most, more) = (least(16_384), 100);
    let (_, totals) = totals(&answered_by(most + more));
    assert_eq!(totals.servers_refused, u64::from(more));
    assert_eq!(totals.answered, u64::from(most + more));
}

#[test]
fn the_oldest_of_too_many_requests_closes_and_is_counted() {
    let (most, more) = (least(524_288), 40);
    let mut shots: Vec<_> = (0..most + more).map(|n| shot(START, CLIENTS[0], END, &poll(n))).collect();
    shots.push(foreign(START + 60 * S));
    let (heard, totals) = totals(&shots);
    assert_eq!((totals.exchanges, totals.evicted), (u64::from(most + more), u64::from(more)));
    assert_eq!(heard.exchanges.len(), (most + more) as usize, "each is told of once");
}

/// A challenge, its answer, a query and its answer of each of 812 servers in turn, 6,250 datagrams a second for five seconds, SQP's late window: a
/// sixteenth of a monitor that asks 13,000 servers.
fn monitored(sockets: u32) -> Vec<Shot> {
    let round = |n: u32| {
        let (client, server) = ((host((1 << 16) | (n % sockets)), 9), (host(n % 812), PORT));
        let token = (n + 1).to_be_bytes();
        let time = START + i64::from(n) * 640_000;
        let with = |head: &str, tail: &str| [&hex(head)[..], &token, &hex(tail)].concat();
        [
            shot(time, client, server, &hex("00 00000000")),
            shot(time, server, client, &with("00", "")),
            shot(time, client, server, &with("01", "0001 01")),
            shot(time, server, client, &with("01", "0001 00 00 0012 0000000e 0001000801410162016301641e61")),
        ]
    };
    (0..8_000).flat_map(round).collect()
}

#[test]
fn who_asks_thirteen_thousand_servers_needs_no_more_memory_than_there_is() {
    // With one socket, and with one for each exchange.
    for sockets in [1, 8_000] {
        let shots = monitored(sockets);
        let forgotten = |mib| {
            let totals = with_memory(mib, &shots).1;
            assert_eq!((totals.exchanges, totals.answered), (16_000, 16_000));
            totals.evicted + totals.servers_refused + totals.memory_forgotten
        };
        assert_eq!(forgotten(4), 0, "a sixteenth of 64 MiB");
        assert!(forgotten(1) > 0, "bounds grow with the memory");
    }
}

#[test]
fn cookies_that_are_forgotten_are_counted() {
    let (most, more) = (least(131_072), 25);
    let shots: Vec<_> = (0..most + more).map(|n| shot(START, (host(n), 9), END, &poll(n))).collect();
    let (_, totals) = totals(&shots);
    assert_eq!(totals.memory_forgotten, u64::from(more));
}

#[test]
fn handshakes_that_are_forgotten_are_counted() {
    let (most, more) = (least(16_384), 25);
    let (ask, answer) = (hex("fefd09 01020304"), hex("09 01020304 '7' 00"));
    let both = |n: u32| [shot(START, (host(n), 9), END, &ask), shot(START, END, (host(n), 9), &answer)];
    let shots: Vec<_> = (0..most + more).flat_map(both).collect();
    assert_eq!(totals(&shots).1.memory_forgotten, u64::from(more));
}

#[test]
fn requests_for_a_state_that_are_forgotten_are_counted() {
    let (most, more) = (least(65_536), 25);
    let ask = hex("fefd00 01020304 ffffff01");
    let mut shots: Vec<_> = (0..most + more).map(|n| shot(START, (host(n), 9), END, &ask)).collect();
    assert_eq!(totals(&shots).1.memory_forgotten, 0, "none of them is sought");
    let answer = hex("00 01020304 'hostname' 00 'x' 00 00 00 0000");
    shots.extend((0..most + more).map(|n| shot(START + 1, END, (host(n), 9), &answer)));
    assert_eq!(totals(&shots).1.memory_forgotten, u64::from(more));
}

#[test]
fn refused_passwords_that_are_forgotten_are_counted() {
    let (most, more) = (least(4_096), 25);
    let ask = hex("'SAMP' c000020a 611e 'x' 0100 'a' 0300 'cmd'");
    let refusal = hex("'SAMP' c000020a 611e 'x' 1600 'Invalid RCON password.'");
    let both = |n: u32| [shot(START, (host(n), 9), END, &ask), shot(START, END, (host(n), 9), &refusal)];
    let shots: Vec<_> = (0..most + more).flat_map(both).collect();
    assert_eq!(totals(&shots).1.memory_forgotten, u64::from(more));
}

#[test]
fn first_steps_that_are_forgotten_are_counted() {
    let (most, more) = (least(4_096), 25);
    let begin = hex("'TS3INIT1' 0065 0000 88 0dd05766 00 5f5916e0 ade76b61 00*8");
    let shots: Vec<_> = (0..most + more).map(|n| shot(START, (host(n), 9), END, &begin)).collect();
    assert_eq!(totals(&shots).1.memory_forgotten, u64::from(more));
}

#[test]
fn clients_of_servers_with_a_limit_that_are_forgotten_are_counted() {
    let (most, more) = (least(16_384), 25);
    let shots: Vec<_> = (0..most + more).map(|n| shot(START, (host(n), 9), END, b"s")).collect();
    assert_eq!(totals(&shots).1.memory_forgotten, u64::from(more));
}

#[test]
fn who_polls_for_long_forgets_nothing_that_is_needed() {
    // Polls a minute apart, with the datagrams of their answers; `others` makes each come from another address.
    let forgotten = |bound: u32, others: bool, request: &[u8], answer: &[&[u8]]| {
        let polls = least(bound) + 100;
        let poll = |n: u32| {
            let (client, time) =
                (if others { (host(n), 9) } else { CLIENTS[0] }, START + i64::from(n) * 60 * S);
            let parts = answer.iter().map(move |part| shot(time + 1, END, client, part));
            [shot(time, client, END, request)].into_iter().chain(parts)
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
fn hosts_beyond_those_listed_are_paired_and_counted() {
    let (most, more) = (256, 5);
    let magic = "0000000000000001 00ffff00fefefefefdfdfdfd12345678";
    let ping = hex(&format!("01 {magic} 0000000000000002"));
    let pong = hex("1c 0000000000000001 0000000000000007 00ffff00fefefefefdfdfdfd12345678");
    let mut shots = vec![shot(START, (host(9), 9), ([192, 0, 2, 255], 19132), &ping)];
    shots.extend((10..10 + most + more).map(|n| shot(START, (host(n), 19132), (host(9), 9), &pong)));
    let (heard, totals) = totals(&shots);
    assert_eq!(heard.exchanges[0].0.response_frames().len(), most as usize);
    assert_eq!(totals.evicted, u64::from(more));
}

#[test]
fn clients_of_quake_servers_that_are_forgotten_are_counted() {
    let (most, more) = (least(16_384), 25);
    let ask = hex("ffffffff 'getstatus'");
    let shots: Vec<_> = (0..most + more).map(|n| shot(START, (host(n), 9), END, &ask)).collect();
    assert_eq!(totals(&shots).1.memory_forgotten, u64::from(more));
}

#[test]
fn clients_that_share_a_cookie_and_are_forgotten_are_counted() {
    let (most, more) = (least(8_192), 25);
    // The last one is no other.
    let shots: Vec<_> = (0..=most + more).map(|n| shot(START, (host(n), 9), END, &poll(0))).collect();
    assert_eq!(totals(&shots).1.memory_forgotten, u64::from(more));
}

#[test]
fn shared_cookies_that_are_forgotten_are_counted() {
    let (most, more) = (least(1_024), 25);
    let both = |n: u32| [0, 1].map(|client| shot(START, (host(client), 9), END, &poll(n)));
    let shots: Vec<_> = (0..most + more).flat_map(both).collect();
    assert_eq!(totals(&shots).1.memory_forgotten, u64::from(more));
}

#[test]
fn states_that_are_forgotten_are_counted() {
    let (most, more) = (least(16_384), 25);
    let (_, totals) = totals(&answered_by(most + more));
    assert_eq!(totals.memory_forgotten, u64::from(more));
}

#[test]
fn tokens_that_are_forgotten_are_counted() {
    let (most, more) = (least(131_072), 25);
    let shots: Vec<_> = (0..most + more)
        .flat_map(|n: u32| {
            let client = (host(n), 9);
            let token = [&[0][..], &(n + 1).to_be_bytes()].concat();
            [shot(START, client, END, &hex("00 00000000")), shot(START, END, client, &token)]
        })
        .collect();
    let (_, totals) = totals(&shots);
    // Nobody has used them, either.
    assert_eq!(totals.memory_forgotten, 2 * u64::from(more));
}

#[test]
fn of_so_many_unknown_tokens_it_is_asked_whether_their_client_had_another() {
    let most: u32 = 16_384;
    for (before, rule) in [(most - 1, "SQP-TXN-001"), (most, "SQP-TXN-002")] {
        let to = |time, client, text: &str| shot(time, client, END, &hex(text));
        let client = CLIENTS[0];
        let mut shots = vec![
            to(START, client, "00 00000000"),
            shot(START, END, client, &hex("00 80902348")),
            to(START, client, "01 80902348 0001 01"),
        ];
        let later = START + 90 * S;
        shots.extend((0..before).map(|n| to(later, (host(n), 9), "01 11111111 0001 01")));
        shots.push(to(later, client, "01 22222222 0001 01"));
        let (heard, _) = totals(&shots);
        let last = heard.packets.iter().max_by_key(|p| p.frame).expect("there is one");
        assert_eq!((last.frame, last.rules()), (shots.len() as u64, vec![rule]));
    }
}

#[test]
fn copies_of_second_answers_that_are_forgotten_count_as_others() {
    let most = least(65_536);
    for (answers, copies, forgotten) in [(most, 1, 0), (most + 1, 0, 2)] {
        let name =
            |n: u32| format!("01 80902348 0001 00 00 0015 00000011 0001 0008 04 {n:08x} 0162 0163 0164 1e61");
        let asked =
            ["00 00000000", "01 80902348 0001 01"].map(|text| shot(START, CLIENTS[0], END, &hex(text)));
        let [challenge, query] = asked;
        let mut shots = vec![challenge, shot(START, END, CLIENTS[0], &hex("00 80902348")), query];
        // The first answer, the others, and a copy of the first of these.
        shots.extend((0..=answers).chain([1]).map(|n| shot(START + 1, END, CLIENTS[0], &hex(&name(n)))));
        let (heard, totals) = totals(&shots);
        let copy = |p: &&play::Seen| p.rules().contains(&"SQP-TXN-013");
        assert_eq!(heard.packets.iter().filter(copy).count(), copies, "{answers} others");
        assert_eq!(totals.memory_forgotten, forgotten);
    }
}

#[test]
fn who_leaves_the_waiting_room_for_want_of_room_is_counted() {
    let (bound, more) = (16_384, 30);
    for (mib, most) in [(1, least(bound)), (64, bound)] {
        // Five zero bytes, which only their answers could confirm, all in one moment.
        let shots: Vec<_> =
            (0..most + more).map(|n| shot(START, (host(n), 9), END, &hex("00 00000000"))).collect();
        let (heard, totals) = with_memory(mib, &shots);
        assert_eq!(totals.waiting_overflow, u64::from(more));
        assert_eq!(heard.packets.len(), (most + more) as usize, "each is told of all the same");
    }
}

#[test]
fn of_the_requests_of_a_conversation_the_latest_are_looked_at() {
    // A request that is repeated is looked for among the latest.
    let back = 64;
    for (steps, requests) in [(back, 100), (back + 1, 101)] {
        let mut shots: Vec<_> = (0..100).map(|n| shot(START, CLIENTS[0], END, &poll(n))).collect();
        shots.push(shot(START + 1, CLIENTS[0], END, &poll(100 - steps)));
        assert_eq!(totals(&shots).1.exchanges, requests, "{steps} back");
    }
}

#[test]
fn an_answer_is_paired_far_back_and_not_judged_where_nobody_looked() {
    let status =
        "93000000 06000000 302e31312e32 01000000 0a000000 01 00 00 00000000 02000000 02000000 00 00 01";
    let (far, requests) = (1_024, 1_030);
    for (steps, within) in [(far, true), (far + 1, false)] {
        let polls = (0..requests).map(poll).chain([state(requests - steps)]);
        // Without a key the oldest is answered.
        let in_order = (0..steps).map(|_| hex("feffffff")).chain([hex(status)]);
        for (datagrams, keyed) in [(polls.collect::<Vec<_>>(), true), (in_order.collect(), false)] {
            let (answer, asked) = datagrams.split_last().expect("there are some");
            let mut shots: Vec<_> = asked.iter().map(|p| shot(START, CLIENTS[0], END, p)).collect();
            shots.push(shot(START + 1, END, CLIENTS[0], answer));
            let (heard, totals) = with_memory(64, &shots);
            assert_eq!(totals.evicted, u64::from(!within), "{steps} back, keyed: {keyed}");
            assert_eq!(totals.answered, u64::from(within || !keyed));
            let wrong = |p: &&play::Seen| p.findings.iter().any(|f| f.severity == Severity::Error);
            assert_eq!(heard.packets.iter().filter(wrong).count(), 0, "no error where nobody looked");
        }
    }
}

#[test]
fn findings_beyond_those_kept_are_counted() {
    // Each asks once and gets no answer, which is one finding each, and none of the next.
    let (most, more) = (50_000u32, 70);
    let mut shots: Vec<_> = (0..most + more).map(|n| shot(START, (host(n), 9), END, &poll(n))).collect();
    shots.push(shot(START, (host(0), 9), (SERVER, PORT + 1), &poll(0)));
    shots.push(shot(START, (SERVER, PORT + 1), (host(0), 9), &state(0)));
    shots.push(foreign(START + 60 * S));
    let counted = shots.len() as u64;
    let mut judged = 0;
    let judge = |_: &mut Entry, _: &str| {
        judged += 1;
        Ok(())
    };
    let (check, totals) = report(everything(), Check::new(Policy::default(), judge), &shots);
    let verdict = check.verdict(totals).unwrap();
    let all = verdict.findings.len() as u64 + verdict.more_findings;
    assert!(
        verdict.findings.len() == most as usize && verdict.more_findings > 0,
        "{} of {all}",
        verdict.findings.len()
    );
    assert!(all >= u64::from(most + more) && all < 2 * counted, "{all}");
    assert!(judged > most, "whoever listens hears of all: {judged}");
}

#[test]
fn captures_beyond_those_kept_share_a_place_that_says_so() {
    let most = 4_096;
    let mut check = Check::new(Policy::default(), |_: &mut Entry, _: &str| Ok(()));
    let mut pipeline = Pipeline::new(everything(), &mut check);
    for n in 0..most + 3 {
        // A poll with a byte too many, and its answer: each in a capture of its own.
        let shots = [shot(START, CLIENTS[0], END, &[&poll(n)[..], &[0xff]].concat())];
        let frames = shots.iter().map(|shot| frame(shot, u64::from(n) + 1, 0));
        pipeline.read_frames(&format!("{n}.pcap"), &CaptureInfo::default(), frames).unwrap();
    }
    let totals = pipeline.finish(true).unwrap();
    let verdict = check.verdict(totals).unwrap();
    let names: Vec<_> = verdict.files.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!((names.len(), names[4_095], names[4_096]), (4_097, "4095.pcap", "(further captures)"));
    let rule = |e: &&Entry| e.finding.span.is_some() && e.finding.severity == Severity::Error;
    let errors: Vec<_> = verdict.findings.iter().filter(rule).collect();
    assert_eq!(errors.len(), most as usize + 3, "each of them is there");
    for (n, e) in errors.iter().enumerate() {
        assert_eq!((e.file, e.frame), (n.min(4_096), 1), "{n}");
    }
}

#[test]
fn thirty_two_bytes_of_a_place_are_kept() {
    let (poll, state) = (poll(1), state(1));
    let shots = [shot(START, CLIENTS[0], END, &poll), shot(START, END, CLIENTS[0], &state)];
    let check = Check::new(Policy::default(), |_: &mut Entry, _: &str| Ok(()));
    let (check, totals) = report(everything(), check, &shots);
    let verdict = check.verdict(totals).unwrap();
    // The answer as a whole is larger than its request.
    let whole = verdict.findings.iter().find(|e| e.rule().id == "GEN-007").unwrap();
    assert_eq!(whole.finding.span.unwrap().of(&state), &state[..]);
    assert!(state.len() > 32 && whole.marked[..] == state[..32]);
    let cookie = Check::new(Policy::default(), |_: &mut Entry, _: &str| Ok(()));
    let (check, totals) = report(everything(), cookie, &[shot(START, CLIENTS[0], END, &self::poll(0))]);
    let verdict = check.verdict(totals).unwrap();
    let zero = verdict.findings.iter().find(|e| e.rule().id == "SFQ-REQ-004").unwrap();
    assert_eq!(zero.marked[..], self::poll(0)[4..12]);
}

#[test]
fn of_the_requests_of_all_clients_the_latest_are_looked_at() {
    // The answer comes from another address than was asked.
    for (between, answered) in [(255, 1), (256, 0)] {
        let mut shots = vec![shot(START, CLIENTS[0], END, &poll(7))];
        shots.extend((0..between).map(|n| shot(START, (host(n), 9), END, &poll(n + 1_000))));
        shots.push(shot(START + 1, (CLIENTS[1].0, PORT), CLIENTS[0], &state(7)));
        assert_eq!(totals(&shots).1.answered, answered, "{between} between them");
    }
}

#[test]
fn who_leaves_the_waiting_room_for_want_of_bytes_is_counted() {
    let ends: [End; 2] = [([192, 0, 2, 200], 53_124), ([192, 0, 2, 53], 53)];
    for (mib, long, early) in [(1, 4, false), (1, 5, true), (64, 69, false), (64, 70, true)] {
        // Five zero bytes wait for an answer, and behind them all that is to be told in its order.
        let mut shots = vec![shot(START, CLIENTS[0], END, &hex("00 00000000"))];
        shots.extend((0..long).map(|_| shot(START, ends[0], ends[1], &[0xee; 60_000])));
        let options = Options { budget: Budget::mib(mib), ..everything() };
        let (heard, totals) = report(options, Collected::<true>::default(), &shots);
        assert_eq!(totals.waiting_overflow > 0, early);
        assert_eq!((heard.packets.len(), heard.unclaimed.len()), (1, long), "each is told of all the same");
        assert!(heard.packets[0].frame == 1 && heard.unclaimed.is_sorted());
    }
}

#[test]
fn repetitions_are_counted_up_to_sixteen_bits() {
    for more in [0, 1, 10] {
        let mut shots = vec![shot(START, CLIENTS[0], END, &poll(1)); 65_536 + more];
        shots.push(foreign(START + 60 * S));
        let (heard, totals) = totals(&shots);
        assert_eq!((heard.exchanges.len(), totals.retransmissions, totals.evicted), (1, 65_535, 0), "{more}");
    }
}

/// Lengths are a file's own, so that no file is as large as it says.
#[test]
fn a_configuration_and_a_baseline_that_are_too_long_are_declined() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("long");
    for (option, len, words) in [("--config", 1 << 20, "1048576"), ("--baseline", 64 << 20, "67108864")] {
        std::fs::File::create(&path).unwrap().set_len(len + 1).unwrap();
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_qdissect"));
        let output = command.args(["check", option]).arg(&path).arg("captures/demo.pcapng").output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(words), "{option}: {said}");
    }
}

/// Of a datagram that nobody claims.
#[test]
fn sixteen_bytes_are_shown_of_what_nobody_claims_and_how_many_there_are() {
    for (bytes, more) in [(16, ""), (17, "…")] {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_qdissect"));
        let output = command.args(["hex", "--color", "never", &"ff".repeat(bytes)]).output().unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        assert!(said.contains(&format!("\n    {}{more} (", "ff".repeat(16))), "{said}");
        assert!(said.contains(&format!(" {bytes} -\n")), "{said}");
    }
}

#[test]
fn queries_without_a_token_that_are_forgotten_are_counted() {
    let (most, more) = (least(4_096), 25);
    // The server issues tokens, and none of theirs; theirs are not older than the capture.
    let mut shots = vec![
        shot(START, CLIENTS[0], END, &hex("00 00000000")),
        shot(START, END, CLIENTS[0], &hex("00 80902348")),
    ];
    let query = |n: u32| [&[1][..], &(n + 1).to_be_bytes(), &hex("0001 01")].concat();
    shots.extend((0..most + more).map(|n| shot(START + 20 * S, (host(n), 9), END, &query(n))));
    assert_eq!(totals(&shots).1.memory_forgotten, 0, "none of them is answered");
    let rest = hex("0001 00 00 0012 0000000e 0001 0008 01 41 01 62 01 63 01 64 1e61");
    let answer = |n: u32| [&[1][..], &(n + 1).to_be_bytes(), &rest].concat();
    shots.extend((0..most + more).map(|n| shot(START + 20 * S + 1, END, (host(n), 9), &answer(n))));
    let (heard, totals) = totals(&shots);
    let unproven = heard.findings().filter(|finding| finding.rule.id == "SQP-SEC-001").count();
    assert_eq!((totals.memory_forgotten, unproven), (u64::from(more), most as usize));
}

#[test]
fn tokens_that_nobody_saw_issued_and_that_are_forgotten_are_counted() {
    let (most, more) = (least(131_072), 25);
    let query = |n: u32| [&[1][..], &(n + 1).to_be_bytes(), &hex("0001 01")].concat();
    let asked = |n| [hex(H1), query(n)].map(|payload| shot(START, (host(n), 9), END, &payload));
    let shots: Vec<_> = (0..most + more).flat_map(asked).collect();
    assert_eq!(totals(&shots).1.memory_forgotten, u64::from(more));
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
            })
        });
        assert_eq!((notes.violations().len(), notes.more()), (32, 8), "{round}");
    }
}

#[test]
fn a_rule_not_heard_yet_finds_a_place_among_those_kept() {
    let violation = |rule| Violation {
        rule,
        at: Span { start: 0, end: 1 },
        field: None,
        index: Index::default(),
        needs: 0,
        minor: false,
    };
    let rules: Vec<_> = qdissect::protocols::rules().take(MAX_VIOLATIONS + 1).collect();
    let mut notes = Notes::default();
    notes.begin();
    // The first rule fills all places, and gives up one for each of the others, but not the last.
    (0..MAX_VIOLATIONS).for_each(|_| notes.violation(violation(rules[0])));
    rules.iter().for_each(|rule| notes.violation(violation(rule)));
    assert_eq!(notes.more(), 33);
    let heard: Vec<_> = notes.violations().iter().map(|v| v.rule.id).collect();
    let expected: Vec<_> = rules[..MAX_VIOLATIONS].iter().map(|rule| rule.id).collect();
    assert_eq!(heard, expected);
}
