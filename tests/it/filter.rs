//! Display filters over the captures, compared with the records of the packets and with tshark.

mod picked;
mod run;
mod table;
mod tshark;

use crate::kit::play;
use crate::kit::run::qdissect;
use qdissect::filter::{Filter, names};
use qdissect::protocols::Id;
use run::passed;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

fn captures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("captures")
}

/// The captures in a directory and its subdirectories.
fn files(folder: PathBuf) -> Vec<PathBuf> {
    let mut found = vec![];
    for entry in std::fs::read_dir(folder).expect("it is there").filter_map(Result::ok) {
        let path = entry.path();
        match path.extension().and_then(|e| e.to_str()) {
            _ if path.is_dir() => found.extend(files(path)),
            Some("pcap" | "pcapng") => found.push(path),
            _ => {}
        }
    }
    found.sort();
    found
}

#[test]
fn every_expression_passes_exactly_these_frames() {
    for capture in table::EXPECTED.iter().map(|(capture, ..)| *capture).collect::<HashSet<_>>() {
        let rows: Vec<_> = table::EXPECTED.iter().filter(|(of, ..)| *of == capture).collect();
        let expressions: Vec<&str> = rows.iter().map(|(_, expression, _)| *expression).collect();
        let passed = passed(&captures().join(capture), &expressions).expect("it is a capture");
        for ((_, expression, expected), passed) in rows.iter().zip(passed) {
            assert_eq!(passed.frames, *expected, "{capture}: {expression}");
        }
    }
}

/// Expressions, and the exchanges of the demo capture that pass.
const EXCHANGES: &[(&str, &[u64])] = &[
    ("exchange.outcome == unanswered", &[14, 28]),
    ("exchange.outcome == late and response_time > 1", &[45]),
    ("exchange in {14..16} and skycoop", &[14]),
    ("udp.dstport == 7787 and ip.src == 198.51.100.0/24", &[9, 10, 32, 33, 47]),
    ("finding and protocol == sqp", &[28]),
    ("frame.number or udp.payload or sqp.token or message", &[]),
];

/// Times relative to other frames, and numbers of conversations, count frames that the filter hides.
#[test]
fn a_column_does_not_depend_on_other_packets() {
    let columns = ["number", "time_relative", "time_delta", "interface_id", "interface_name", "protocols"]
        .map(|name| ["-e".to_owned(), format!("frame.{name}")]);
    let rows = |filter: &[&str]| {
        let mut command = qdissect();
        command.args(["dump", "-T", "fields", "-e", "udp.stream", "-e", "eth.dst", "-e", "ip.host"]);
        command.args(["-e", "udp.checksum.status"]).args(columns.as_flattened()).args(filter);
        let output = command.arg(captures().join("demo.pcapng")).output().expect("it runs");
        let text = String::from_utf8(output.stdout).expect("it is UTF-8");
        text.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let (all, last) = (rows(&[]), rows(&["-Y", "frame.number > 100"]));
    assert!(last.len() > 2 && all.ends_with(&last), "{last:#?}");
    let first = "0\t02:00:5e:00:53:10\t198.51.100.21,192.0.2.10\t1\t3\t0.499969000\t0.499774000\t0\teth0\teth:ethertype:ip:udp:sqp";
    assert_eq!(all[0], first, "as tshark has it, but for the protocol");
}

#[test]
fn exchanges_pass_too() {
    let expressions: Vec<&str> = EXCHANGES.iter().map(|(expression, _)| *expression).collect();
    let all = passed(&captures().join("demo.pcapng"), &expressions).expect("it is a capture");
    for ((expression, expected), mut passed) in EXCHANGES.iter().zip(all) {
        passed.exchanges.sort();
        assert_eq!(passed.exchanges, *expected, "{expression}");
    }
}

#[test]
fn picked_values_are_those_of_the_tree() {
    let mut against = picked::Against::all();
    let samples = Id::ALL.iter().flat_map(|id| id.info().samples);
    for example in samples.chain(qdissect::protocols::rules().flat_map(|rule| rule.examples)) {
        (against, _) = play::report(play::everything(), against, &play::example_frames(example));
    }
    assert!(against.values > 2000, "{} values", against.values);
    for name in ["sqp.player_info.records", "satisfactory.sub_states.version", "gqp.commands.records.values"]
    {
        assert!(against.seen.iter().any(|seen| seen == name), "{name} is in no sample: {:#?}", against.seen);
    }
}

#[test]
fn the_documentation_names_every_field_and_its_examples_compile() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/filter.md");
    let text = std::fs::read_to_string(path).expect("it is there");
    let (_, text) = text.split_once("## Examples").expect("there is such a chapter");
    let (head, rest) = text.split_once("## Fields").expect("there is such a chapter");
    let examples: Vec<&str> =
        head.lines().filter_map(|l| l.strip_prefix("| `")?.split("` |").next()).collect();
    assert!(examples.len() >= 15, "{examples:?}");
    for example in examples {
        Filter::parse(example).unwrap_or_else(|e| panic!("{e}\n{}", e.caret(example)));
    }
    let declared = |name: &str| Id::by_name(name.split('.').next().unwrap_or_default()).is_some();
    for name in names().iter().filter(|name| !declared(name)) {
        assert!(rest.contains(&format!("`{name}`")), "{name} is not explained");
    }
}

#[test]
fn tshark_passes_the_same_frames() {
    if !tshark::is_there() {
        eprintln!("tshark or mergecap is not installed: filters are not compared with tshark");
        return;
    }
    // All captures in one file, because each run of tshark takes a while.
    let merged = Path::new(env!("CARGO_TARGET_TMPDIR")).join("all.pcapng");
    let count = tshark::merge(&files(captures()), &merged);
    assert!(count > 100, "{count} captures could be merged");
    // tshark subtracts seconds as 32-bit numbers, so that times after 2038 wrap around.
    let expressions = [&["udp and frame.time_epoch < 2147483648"], tshark::SHARED].concat();
    let mut ours = passed(&merged, &expressions).expect("it is a capture");
    let datagrams = ours.remove(0).frames;
    // Differences in parsing (tunnels, fragments, damage) are no matter of filters, so only frames in which both find exactly one
    // datagram are compared.
    let single = tshark::frames(
        &merged,
        "count(udp.srcport) == 1 and count(ip) < 2 and not icmp and not icmpv6 and not pktap and not teredo",
    );
    let both: HashSet<u64> = datagrams.iter().copied().filter(|f| single.contains(f)).collect();
    assert!(both.len() > 3000, "{} of {}", both.len(), datagrams.len());
    let of_both =
        |frames: &[u64]| frames.iter().copied().filter(|f| both.contains(f)).collect::<HashSet<_>>();
    let rows: Vec<_> = tshark::SHARED.iter().zip(&ours).collect();
    let compare = |rows: &[(&&str, &run::Passed)]| {
        let differ = |(expression, ours): &(&&str, &run::Passed)| {
            let (ours, theirs) = (of_both(&ours.frames), of_both(&tshark::frames(&merged, expression)));
            let only = |of: &HashSet<u64>, not: &HashSet<u64>| {
                of.difference(not).take(8).copied().collect::<Vec<_>>()
            };
            let same = ours == theirs;
            (!same).then(|| {
                format!(
                    "{expression}: only ours {:?}, only theirs {:?}",
                    only(&ours, &theirs),
                    only(&theirs, &ours)
                )
            })
        };
        rows.iter().filter_map(differ).collect::<Vec<_>>()
    };
    let (first, second) = rows.split_at(rows.len() / 2);
    let differences = std::thread::scope(|scope| {
        let first = scope.spawn(|| compare(first));
        let second = compare(second);
        [first.join().expect("tshark runs"), second].concat()
    });
    assert!(differences.is_empty(), "{differences:#?}");
    let telling = |passed: &&run::Passed| (1..both.len()).contains(&of_both(&passed.frames).len());
    let telling = ours.iter().filter(telling).count();
    assert!(telling > 40, "only {telling} expressions tell frames apart");
}
