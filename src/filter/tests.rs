#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic, clippy::arithmetic_side_effects)]

use super::*;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

/// Valid expressions, one for every form of the language.
const VALID: &[&str] = &[
    "",
    "sqp",
    "sqp.server_info",
    "!udp.port == 7777 and not (ip.src == 10.0.0.0/8 || ipv6.dst == 2001:db8::/32)",
    "any udp.port != 53 or all udp.port > 1023",
    "udp.port in {53, 7000..8000, 0x1e61} && frame.len not in {60}",
    "sqp.server_info.server_name contains \"West\" and sqp.server_info.map matches r\"^high\\w+\"",
    "udp.payload[0:2] == 01:02 or udp.payload[1-3,-2:] != \"a\\x00b\"",
    "satisfactory.sub_states[2].version > 5",
    "sqp.player_info.records[3][0][0:2] == \"An\"",
    "len(skycoop.server_name) >= 10 and count(gqp.commands.args) == 2",
    "upper(sqp.server_info.game_type) == \"TDM\" and string(exchange) matches \"7$\"",
    "satisfactory.server_flags & 1 == 1",
    "severity >= warning and rule in {\"SQP-STR-002\", SQP-TXN-004} or finding == \"SQP-STR\"",
    "exchange.outcome == late and response_time > 0.25 and frame.time_epoch < 1.8e9",
    "retransmission or duplicate == true or confidence < high or direction == s2c",
    "udp.srcport < udp.dstport < 60000 and 'a' == 1 or frame.number == 'a'",
    "ip.src in {10.0.0.1..10.0.0.9, 192.0.2.0/24} and eth.addr[0:3] == 02:00:5e",
    "udp.payload[3-3] == 1 and udp.payload[-2--2] == 1",
    "udp.port == 0 or udp.port == 65535",
];

/// Groups of equivalent expressions.
const EQUIVALENT: &[&[&str]] = &[
    &["sqp and not gqp or udp", "sqp && !gqp || udp", "((sqp) and (not (gqp))) or udp"],
    &["sqp and gqp and udp", " sqp\tand\ngqp and udp "],
    &["udp.port == 53", "udp.port eq 0x35", "udp.port any_eq 065", "any udp.port == 0b110101"],
    &["udp.port === 53", "udp.port all_eq 53", "all udp.port == 53"],
    &["udp.port != 53", "udp.port ne 53", "udp.port all_ne 53"],
    &["udp.port !== 53", "udp.port any_ne 53", "udp.port ~= 53", "any udp.port != 53"],
    &["udp.port < 53", "udp.port lt 53"],
    &["udp.port <= 53", "udp.port le 53"],
    &["udp.port > 53", "udp.port gt 53"],
    &["udp.port >= 53", "udp.port ge 53"],
    &["udp.payload matches r\"\\d\"", "udp.payload ~ \"\\\\d\""],
    &["udp.payload == \"a\\x42\"", "udp.payload == \"\\141B\"", "udp.payload == 61:42"],
    &["udp.port in {53, 7000..8000}", "udp.port in { 53,7000 .. 8000 }"],
    &["udp.port not in {53}", "not udp.port in {53}"],
    &["udp.payload[2] == 1", "udp.payload[ 2:1 ] == 01"],
];

#[test]
fn valid_expressions_compile_and_equivalent_ones_to_the_same_plan() {
    let plan = |text: &str| match Filter::parse(text) {
        Ok(filter) => format!("{:?}", filter.plan),
        Err(e) => format!("{e}\n{}", e.caret(text)),
    };
    for text in VALID.iter().filter(|text| !text.contains("'a' == 1")) {
        assert!(Filter::parse(text).is_ok(), "{}", plan(text));
    }
    for same in EQUIVALENT {
        for other in &same[1..] {
            assert_eq!(plan(same[0]), plan(other), "{} and {other}", same[0]);
        }
    }
}

/// Invalid expressions, with the marked part and the message.
const INVALID: &[(&str, &str, &str)] = &[
    ("udp.prot == 5", "udp.prot", "There is no field \"udp.prot\"; did you mean udp.port?"),
    (
        "sqp and game_type == \"x\"",
        "game_type",
        "There is no field \"game_type\"; did you mean sqp.server_info.game_type?",
    ),
    ("SQP.token == 1", "SQP.token", "There is no field \"SQP.token\"; did you mean sqp.token?"),
    (
        "sqp.server_name == \"x\"",
        "sqp.server_name",
        "There is no field \"sqp.server_name\"; did you mean sqp.server_info.server_name?",
    ),
    (
        "a2s.server_name",
        "a2s.server_name",
        "There is no field \"a2s.server_name\"; `qdissect protocol show a2s` lists those of a2s.",
    ),
    (
        "udp port 7777",
        "port",
        "This is a filter of libpcap; here it says udp.port == 7777 or ip.addr == 192.0.2.10.",
    ),
    (
        "qwertyuiop",
        "qwertyuiop",
        "There is no field \"qwertyuiop\"; `qdissect protocol show NAME` lists those of a protocol.",
    ),
    (
        "sqp.server_info.server_name == 5",
        "5",
        "sqp.server_info.server_name is a text, which stands in quotes: \"5\".",
    ),
    (
        "ip.src == \"192.0.2.1\"",
        "\"192.0.2.1\"",
        "ip.src is an IPv4 address, and \"192.0.2.1\" is none; write a value such as 192.0.2.10 or 192.0.2.0/24.",
    ),
    (
        "ip.src == 2001:db8::1",
        "2001:db8::1",
        "\"2001:db8::1\" is an IPv6 address; compare it with ipv6.addr.",
    ),
    ("ip.src == 10.0.0.0/33", "10.0.0.0/33", "A network has at most 32 bits and \"10.0.0.0/33\" has /33."),
    ("udp.port == 70000", "70000", "70000 is outside of 0 to 65535."),
    ("udp.port in {1, -1}", "-1", "-1 is outside of 0 to 65535."),
    (
        "frame.len == 1.5",
        "1.5",
        "frame.len is a whole number from 0 to 4294967295, and 1.5 is none; write a value such as 7777 or 0x1e61.",
    ),
    ("frame.len = 5", "=", "A single \"=\" compares nothing; write \"==\"."),
    ("5 == frame.len", "5", "A field must stand here, and 5 is a value; write the field first."),
    (
        "udp.port contains 7",
        "udp.port",
        "udp.port is a whole number from 0 to 65535, which \"contains\" says nothing about; compare string(udp.port).",
    ),
    (
        "sqp.server_info == 1",
        "sqp.server_info",
        "sqp.server_info is a group or a layer, which is there or not and has no value; name a field in it.",
    ),
    (
        "udp.payload matches abc",
        "abc",
        "A regular expression stands in double quotes, best raw: matches r\"^eu-\\d+\".",
    ),
    ("udp.payload matches \"(a\"", "\"(a\"", "The regular expression cannot be read: unclosed group."),
    (
        "udp.payload matches \"\\d\"",
        "\\d",
        "\"\\\\d\" is no escape; write a backslash twice, or the text raw: r\"...\".",
    ),
    ("sqp and \"abc", "\"abc", "The text that begins here has no closing quote; put \" at its end."),
    ("(udp and (sqp)", "(", "This bracket is never closed; close it."),
    ("udp)", ")", "This bracket closes none; open one before it."),
    ("udp sqp", "sqp", "Here stands \"sqp\" where \"and\", \"or\" or the end should stand."),
    ("udp and", "", "The filter ends where a field or a value should follow."),
    ("udp.port in 5", "5", "Here stands \"5\" where a set such as {1, 5..9} should stand."),
    ("udp.port in {}", "}", "Here stands \"}\" where a field or a value should stand."),
    ("udp.payload[2:0] == 00", "[2:0]", "The slice [2:0] ends before it begins; write [2] for one byte."),
    (
        "udp.port[0] == 1",
        "udp.port[0]",
        "udp.port is a whole number from 0 to 65535, of which no part can be cut; leave the slice out.",
    ),
    ("severity >= warn", "warn", "There is no severity \"warn\"; did you mean warning?"),
    (
        "exchange.outcome == lost",
        "lost",
        "There is no outcome \"lost\"; known are answered, late, unanswered, undecided, refused.",
    ),
    ("direction == client", "client", "There is no direction \"client\"; known are c2s, s2c."),
    ("direction in {c2s, server}", "server", "There is no direction \"server\"; known are c2s, s2c."),
    (
        "frame.time >= 1795170720",
        "1795170720",
        "frame.time is a time, and 1795170720 is none; write a value such as \"2026-11-20 10:32:00.5\".",
    ),
    (
        "frame.time == \"2026-11-31\"",
        "\"2026-11-31\"",
        "frame.time is a time, and \"2026-11-31\" is none; write a value such as \"2026-11-20 10:32:00.5\".",
    ),
    (
        "server == \"192.0.2.10\"",
        "\"192.0.2.10\"",
        "server is an address with a port, and \"192.0.2.10\" is none; write a value such as \"192.0.2.10:7777\" or \"[2001:db8::30]:9010\".",
    ),
    ("udp.checksum.status == 9", "9", "9 is outside of 0 to 3."),
    (
        "udp.port in {1, 9000..8000}",
        "9000..8000",
        "The range holds nothing, for it begins above its end; write the lesser value first.",
    ),
    (
        "rule == \"SQP-STR-0O2\"",
        "\"SQP-STR-0O2\"",
        "There is no rule \"SQP-STR-0O2\"; did you mean SQP-STR-002?",
    ),
    (
        "rule == \"SQP-STR\"",
        "\"SQP-STR\"",
        "\"SQP-STR\" is the beginning of several rules; write finding == \"SQP-STR\".",
    ),
    (
        "length(udp.payload) > 5",
        "length(udp.payload)",
        "There is no function \"length\"; known are len, count, upper, lower and string.",
    ),
    ("len(udp.payload)", "len(udp.payload)", "len() by itself is no test; compare it with a value."),
    (
        "udp.port == ip.src",
        "ip.src",
        "udp.port is a whole number from 0 to 65535 and ip.src is an IPv4 address, which cannot be compared; compare fields of one type.",
    ),
    (
        "quake3.mode contains udp.port",
        "udp.port",
        "quake3.mode is a value of a type that the message announces and udp.port is a whole number from 0 to 65535, which cannot be compared; compare fields of one type.",
    ),
    ("udp.port == 5 € 6", "€", "The character \"€\" means nothing here; texts stand in double quotes."),
    ("\u{1b}", "\u{1b}", "The character \"\\x1b\" means nothing here; texts stand in double quotes."),
    (
        "all sqp.token",
        "all sqp.token",
        "\"any\" and \"all\" need a comparison; write one after the field, or leave the word out.",
    ),
];

#[test]
fn errors_name_the_problem_and_mark_its_position() {
    for (text, marked, what) in INVALID {
        let error = Filter::parse(text).expect_err(text);
        assert_eq!(error.what, *what, "{text}");
        assert_eq!(text.get(error.at.clone()), Some(*marked), "{text}: {error:?}");
        assert_eq!(error.to_string(), format!("At byte {} of the filter: {what}", error.at.start + 1));
    }
}

#[test]
fn rejects_expressions_beyond_every_limit() {
    let what = |text: &str| Filter::parse(text).expect_err("it is beyond a bound").what;
    assert_eq!(what(&"x".repeat(MAX_LENGTH + 1)), "The filter has 16385 bytes; 16384 are the most.");
    for (open, close) in [("(", ")"), ("!", ""), ("not ", ""), ("len(", ")")] {
        let nested = |n: usize| format!("{}sqp{}", open.repeat(n), close.repeat(n));
        assert_eq!(
            what(&nested(MAX_DEPTH + 1)),
            "The filter is nested deeper than 64 levels; leave out brackets.",
            "{open}"
        );
        if open != "len(" {
            assert!(Filter::parse(&nested(MAX_DEPTH)).is_ok(), "{open}");
        }
    }
    let masks = format!("exchange{} == 1", " & 1".repeat(MAX_DEPTH + 1));
    assert!(what(&masks).contains("nested deeper"));
    let set = |n: usize| format!("udp.port in {{{}1}}", "1,".repeat(n - 2));
    assert!(Filter::parse(&set(MAX_NODES)).is_ok());
    assert!(what(&set(MAX_NODES + 1)).starts_with("The filter has more than 2048 operands;"));
    let long = |n: usize| vec!["sqp"; n].join(" and ");
    assert!(Filter::parse(&long(MAX_NODES)).is_ok(), "a long chain is not deep");
    let patterns = |n: usize| vec!["sqp matches \"a\""; n].join(" or ");
    assert!(Filter::parse(&patterns(MAX_PATTERNS)).is_ok());
    assert!(
        what(&patterns(MAX_PATTERNS + 1)).starts_with("The filter has more than 32 regular expressions;")
    );
    assert!(
        what("sqp matches \"(a{1000}){1000}\"")
            .starts_with("The regular expression takes more than 1048576 bytes;")
    );
    assert!(
        what(&format!("sqp matches \"{}\"", "(".repeat(100)))
            .starts_with("The regular expression cannot be read")
    );
}

#[test]
fn a_compiled_filter_lists_the_parts_it_needs() {
    let needs = |text: &str| Filter::parse(text).unwrap().needs();
    assert_eq!(needs("udp.port == 7777 and not ip.src == 10.0.0.0/8"), Needs::default());
    let (datagram, packet) = (Needs::DATAGRAM, Needs::PACKET);
    assert_eq!(needs("frame.len > 100"), Needs::FACTS.and(datagram));
    assert_eq!(needs("frame contains \"x\""), Needs::RAW.and(Needs::BYTES).and(datagram));
    assert_eq!(needs("message == poll"), packet.and(datagram));
    assert_eq!(needs("severity == error"), packet.and(Needs::FINDINGS));
    assert_eq!(needs("exchange.outcome == late"), packet.and(Needs::OUTCOME));
    let fields = packet.and(Needs::FIELDS).and(datagram);
    assert_eq!(needs("udp.port == sqp.server_info.port"), fields);
    assert_eq!(needs("sqp.token in {1, 2} or not (udp and sqp.metrics)"), Needs::RAW.and(fields));
}

#[test]
fn every_name_compiles_as_a_test_of_presence() {
    let all = names();
    assert!(all.len() > 150, "{}", all.len());
    for name in all {
        assert!(Filter::parse(&name).is_ok(), "{name}");
    }
}

/// An expression with a few bytes changed, left out or doubled, or cut off.
fn mutated() -> impl Strategy<Value = String> {
    let slip = (0u8..5, any::<Index>(), any::<char>(), select(VALID.to_vec()));
    (select(VALID.to_vec()), vec(slip, 1..5)).prop_map(|(text, slips)| {
        let mut chars: Vec<char> = text.chars().collect();
        for (kind, at, with, other) in slips {
            let at = at.index(chars.len() + 1);
            match kind {
                0 => chars.truncate(at),
                1 => chars.insert(at, with),
                2 => chars.insert(at, char::from(b"()[]{}\"'\\.:-!&|=<>,x0 "[with as usize % 22])),
                3 if at < chars.len() => drop(chars.remove(at)),
                _ => chars.extend(other.chars()),
            }
        }
        chars.into_iter().collect()
    })
}

/// Checks that compiling ends, and that its result or error can be shown.
fn survives(text: &str) {
    match Filter::parse(text) {
        Ok(filter) => {
            filter.matches(&View::default());
        }
        Err(e) => {
            assert!(text.len() >= e.at.end && e.at.start <= e.at.end, "{text:?}: {e:?}");
            assert!(e.what.ends_with(['.', '?']), "{text:?}: {e}");
            let caret = e.caret(text);
            assert!(
                !caret.replace('\n', "").chars().any(crate::text::escape::is_hostile),
                "{text:?}: {caret:?}"
            );
            assert!(!e.what.chars().any(crate::text::escape::is_hostile), "{text:?}: {e:?}");
        }
    }
}

proptest! {
    #[test]
    fn arbitrary_text_never_panics(text in any::<String>()) {
        survives(&text);
    }

    #[test]
    fn mutated_expressions_never_panic(text in mutated()) {
        survives(&text);
    }
}
