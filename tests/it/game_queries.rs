//! What is said of healthy, cut and damaged conversations in the queries of GameSpy and of Quake.

use crate::kit::play::{Collected, MS, S, START, Shot, c, foreign, play, s};

const HS: &str = "fefd09 01020304";
const HR: &str = "09 01020304 '9513307' 00";
const FS: &str = "fefd00 01020304 0091295b ffffff01";
const FR: &str = "00 01020304 'splitnum' 00 80 00 'hostname' 00 'Lab' 00 'numplayers' 00 '1' 00 'maxplayers' 00 '8' 00 00 \
                  01 'player_' 00 00 'Ann' 00 00 00 02 00";
const BS: &str = "fefd00 01020304 0091295b";
const BR: &str = "00 01020304 'Lab' 00 'SMP' 00 'world' 00 '1' 00 '20' 00 dd63 '127.0.0.1' 00";

/// Plays requests and answers in turn, a millisecond apart, long after the start of the capture.
fn talk(turns: &[[&str; 2]]) -> Collected<true> {
    let turn = |(at, [ask, answer]): (i64, &[&str; 2])| [c(at * MS, ask), s(at * MS + MS / 2, answer)];
    hear(&(1..).zip(turns).flat_map(turn).collect::<Vec<_>>())
}

/// Plays them long after the start of the capture, with two minutes of silence behind.
fn hear(shots: &[Shot]) -> Collected<true> {
    play(&[&[foreign(START - 30 * S)], shots, &[foreign(START + 120 * S)]].concat()).0
}

/// Message and broken rules of each datagram that was claimed.
fn told(heard: &Collected<true>) -> Vec<(&'static str, Vec<&'static str>)> {
    heard.packets.iter().map(|p| (p.message, p.rules())).collect()
}

/// The rules that datagrams and exchanges break.
fn rules(heard: &Collected<true>) -> Vec<&'static str> {
    heard.findings().map(|f| f.rule.id).collect()
}

#[test]
fn gamespy_3_proves_the_address_with_the_challenge_it_carries() {
    // The challenge itself is larger than what asks for it; what it brings is not open to abuse.
    for stat in [[FS, FR], [BS, BR]] {
        let heard = talk(&[[HS, HR], stat]);
        assert_eq!((heard.frame(3).rules(), rules(&heard)), (vec!["GEN-007"], vec!["GEN-007"]), "{stat:?}");
    }
    // The challenge was issued before the capture.
    assert_eq!(rules(&talk(&[[FS, &FR.replace("'Lab'", "'Lab' 21*120")]])), [""; 0]);
    // Without one, or with another, nothing is proven.
    assert_eq!(rules(&talk(&[["fefd00 01020304 ffffff01", FR]])), ["GEN-007"]);
    let wrong = talk(&[[HS, HR], ["fefd00 01020304 00000007 ffffff01", FR]]);
    assert_eq!(rules(&wrong), ["GEN-007", "GS3-TXN-005", "GS3-SEC-001"]);
}

#[test]
fn gamespy_3_takes_a_challenge_for_what_it_is_even_if_it_looks_like_a_selector() {
    let issued = "09 01020304 '-200' 00";
    let heard = talk(&[[HS, issued], ["fefd00 01020304 ffffff38", BR]]);
    assert_eq!(rules(&heard), ["GEN-007"]);
    // Another selector is none, and the server should not have answered.
    let heard = talk(&[[HS, issued], ["fefd00 01020304 ffffff01", FR]]);
    assert_eq!(rules(&heard), ["GEN-007", "GS3-SEC-001"]);
}
