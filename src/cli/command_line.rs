//! The command line as users see it, the parsing of arguments, and the subcommand that they imply.

use super::args::Cli;
use super::help;
use super::system::stdin_may_be_capture;
use crate::filter::Filter;
use crate::text::escape::{escaped, is_hostile};
use crate::text::similar::similar;
use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command, CommandFactory, Error, FromArgMatches};
use std::borrow::Cow;
use std::ffi::OsString;
use std::path::Path;

/// Subcommands that read captures.
const READERS: [&str; 7] = ["summary", "dump", "check", "exchanges", "stats", "report", "view"];

/// The command line. `live` hides the options that concern files, and an explanation is printed if they are used.
pub fn command() -> Command {
    let command = with_results(with_usage(help::arranged(Cli::command())));
    if cfg!(not(unix)) {
        return command;
    }
    command.mut_subcommand("live", |live| {
        let save = "Save what is captured, as the capture program sends it";
        ["files", "read", "allow_truncated", "per_file", "follow", "annotate"]
            .into_iter()
            .fold(live, |live, id| live.mut_arg(id, |a| a.hide(true)))
            .mut_arg("write", |a| a.help(save))
    })
}

/// Says of the commands whose result is a capture that -w names it, and hides what they do not take.
fn with_results(command: Command) -> Command {
    const REFUSED: [(&str, &[&str]); 3] = [
        ("anonymise", &["annotate", "follow"]),
        ("reduce", &["annotate", "follow"]),
        ("diff", &["annotate", "follow", "write"]),
    ];
    let result = "The result, a pcapng file; - is standard output";
    REFUSED.iter().fold(command, |command, (name, refused)| {
        command.mut_subcommand(*name, |sub| {
            let sub = sub.mut_arg("write", |write| write.help(result));
            refused.iter().fold(sub, |sub, id| sub.mut_arg(*id, |arg| arg.hide(true)))
        })
    })
}

/// Adds usage lines that clap cannot derive: the form without a subcommand comes first, and a filter comes last.
fn with_usage(command: Command) -> Command {
    const INPUTS: &str = "[OPTIONS] [FILE|DIR|-]... [FILTER]";
    let command =
        command.override_usage(format!("qdissect {INPUTS}\n       qdissect <COMMAND> [OPTIONS] ..."));
    let command = READERS.iter().fold(command, |command, name| {
        command.mut_subcommand(*name, |sub| sub.override_usage(format!("qdissect {name} {INPUTS}")))
    });
    let usages = [
        ("anonymise", "[OPTIONS] -w OUT [FILE|DIR|-]... [FILTER]"),
        ("reduce", "[OPTIONS] --rule ID -w OUT [FILE|DIR|-]... [FILTER]"),
        ("diff", "[OPTIONS] A B [FILTER]"),
        ("server", "[OPTIONS] <ADDR[:PORT]> [FILE|DIR|-]... [FILTER]"),
    ];
    let command = usages.iter().fold(command, |command, (name, usage)| {
        command.mut_subcommand(*name, |sub| sub.override_usage(format!("qdissect {name} {usage}")))
    });
    // Only `--probe=list` goes without a server.
    let usage = "qdissect ask [OPTIONS] <PROTO> <HOST[:PORT]>";
    let command = command.mut_subcommand("ask", |ask| ask.override_usage(usage));
    [("rule", "ID"), ("protocol", "NAME")].iter().fold(command, |command, (name, what)| {
        let usage = format!("qdissect {name} [OPTIONS] {what}...\n       qdissect {name} <COMMAND>");
        command.mut_subcommand(*name, |sub| sub.override_usage(usage))
    })
}

/// Parses the arguments, and returns where each of them came from.
///
/// # Errors
/// What is wrong with the arguments, and which subcommand an unknown option belongs to.
pub fn parse(args: Vec<OsString>) -> Result<(Cli, ArgMatches), Error> {
    let matches = command().try_get_matches_from(args).map_err(|e| advise(e, &command()))?;
    let cli = Cli::from_arg_matches(&matches).map_err(|e| e.format(&mut command()))?;
    Ok((cli, matches))
}

/// An error about arguments with hostile characters, which clap quotes as they are: the error about the same arguments, escaped.
pub fn harmless(e: Error, args: &[OsString]) -> Error {
    let texts = || args.iter().map(|arg| arg.to_string_lossy());
    let is_harmless = |text: &str| !text.chars().any(is_hostile);
    if !e.use_stderr() || texts().all(|text| is_harmless(&text)) {
        return e;
    }
    let quote =
        |text: Cow<'_, str>| if is_harmless(&text) { text.into_owned() } else { escaped(&text).into_owned() };
    match parse(texts().map(|text| quote(text).into()).collect()) {
        Err(e) if e.use_stderr() => e,
        _ => command().error(e.kind(), escaped(&e.to_string())),
    }
}

/// Whether an option of the subcommand was given on the command line. A configuration does not override it then.
pub fn is_given(matches: &ArgMatches, option: &str) -> bool {
    let source = matches.subcommand().and_then(|(_, source)| source.value_source(option));
    source == Some(ValueSource::CommandLine)
}

/// Options, by clap's ids, that ask for packets if no subcommand is given.
const PACKETS: [&str; 4] = ["tree", "only", "hex", "fields"];
/// Formats that ask for packets if no subcommand is given.
const PACKET_FORMATS: [&str; 4] = ["text", "tree", "fields", "tsv"];
/// Formats that ask for packets where `-r` names the capture, as in tshark.
const READ_FORMATS: [&str; 2] = ["json", "ek"];

/// Inserts the implied subcommand if the arguments do not begin with one, and `show` before the name of a rule or protocol.
///
/// A word that could be a mistyped subcommand is left to clap, which suggests a similar one. A filter for a capture that comes
/// through a pipe is not treated as a mistyped subcommand.
pub fn with_subcommand(mut args: Vec<OsString>) -> Vec<OsString> {
    let cli = Cli::command();
    // The word of rustc.
    if let Some(explain) = args.get_mut(1).filter(|word| *word == "explain") {
        *explain = "rule".into();
    }
    let is_builtin = |word: &str| ["-h", "--help", "-v", "--version", "help"].contains(&word);
    let Some(first) = args.get(1).and_then(|a| a.to_str()) else {
        args.insert(1, "summary".into());
        return args;
    };
    if let Some(command) = cli.find_subcommand(first) {
        let has_show = command.has_subcommands() && command.get_name() != "generate";
        let is_name = |word: &str| !is_builtin(word) && similar(word, ["list", "show"]).is_none();
        if has_show && args.get(2).is_some_and(|word| is_name(&word.to_string_lossy())) {
            args.insert(2, "show".into());
        }
        return args;
    }
    let is_plain_word = first.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
    let commands = || cli.get_subcommands().map(Command::get_name);
    let filter = || {
        args.len() == 2
            && stdin_may_be_capture()
            && Filter::parse(first).is_ok()
            && similar(first, commands()).is_none()
    };
    let is_mistyped = is_plain_word && !first.starts_with('-') && !Path::new(first).exists() && !filter();
    if !(is_builtin(first) || is_mistyped) {
        let packets = cli.find_subcommand("dump").is_some_and(|dump| ask_for_packets(dump, &args[1..]));
        args.insert(1, if packets { "dump" } else { "summary" }.into());
    }
    args
}

/// Whether the arguments ask for output that only `dump` has.
fn ask_for_packets(dump: &Command, args: &[OsString]) -> bool {
    let is_read = args.iter().filter_map(|arg| arg.to_str()).any(|word| {
        let is_short = word.starts_with("-r") && !word.starts_with("--");
        is_short || word == "--read" || word.starts_with("--read=")
    });
    let asks = |option: &Arg, value: Option<&str>| {
        let id = option.get_id().as_str();
        let is_format = |value| PACKET_FORMATS.contains(&value) || is_read && READ_FORMATS.contains(&value);
        PACKETS.contains(&id) || id == "when" && is_read || id == "format" && value.is_some_and(is_format)
    };
    let mut words = args.iter().map(|arg| arg.to_str().unwrap_or_default());
    while let Some(word) = words.next().filter(|word| *word != "--") {
        if let Some(long) = word.strip_prefix("--") {
            let (name, value) =
                long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
            let Some(option) = dump.get_arguments().find(|a| a.get_long() == Some(name)) else { continue };
            if asks(option, value.or_else(|| takes_value(option).then(|| words.next()).flatten())) {
                return true;
            }
            continue;
        }
        let mut rest = word.strip_prefix('-').unwrap_or_default();
        while let Some(short) = rest.chars().next() {
            rest = rest.get(short.len_utf8()..).unwrap_or_default();
            let Some(option) = dump.get_arguments().find(|a| a.get_short() == Some(short)) else { continue };
            // In a cluster of short options, everything after an option that takes a value is its value.
            let value = match std::mem::take(&mut rest) {
                flags if !takes_value(option) => {
                    rest = flags;
                    None
                }
                "" => words.next(),
                value => Some(value.strip_prefix('=').unwrap_or(value)),
            };
            if asks(option, value) {
                return true;
            }
        }
    }
    false
}

fn takes_value(option: &Arg) -> bool {
    option.get_action().takes_values()
}

/// Adds to an error about an option or format which subcommand of `command` it belongs to.
pub fn advise(mut e: Error, command: &Command) -> Error {
    let text = |kind| match e.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        _ => None,
    };
    let (option, value) = (text(ContextKind::InvalidArg), text(ContextKind::InvalidValue));
    let (name, owners) = match (e.kind(), option, value) {
        (ErrorKind::UnknownArgument, Some(option), _) => {
            let owners = owners(command, |arg| is_called(arg, &option));
            if owners.is_empty() {
                // The hint that it could be the name of a file does not help.
                e.remove(ContextKind::Suggested);
                if let Some(meant) = option_with_value(command, option.trim_start_matches('-')) {
                    e.remove(ContextKind::SuggestedArg);
                    suggest(&mut e, format!("{meant} exists"));
                }
            }
            (option, owners)
        }
        (ErrorKind::InvalidValue, Some(option), Some(value)) if option.contains("--format") => {
            let accepts =
                |arg: &Arg| arg.get_possible_values().iter().any(|known| known.matches(&value, false));
            let owners = owners(command, |arg| arg.get_id() == "format" && accepts(arg));
            (format!("-T {value}"), owners)
        }
        _ => return e,
    };
    if !owners.is_empty() {
        let owners: Vec<_> = owners.iter().map(|owner| format!("`qdissect {owner}`")).collect();
        let owners = match owners.as_slice() {
            [all @ .., last] if !all.is_empty() => format!("{} and {last}", all.join(", ")),
            owners => owners.join(""),
        };
        e.remove(ContextKind::SuggestedArg);
        suggest(&mut e, format!("{name} belongs to {owners}"));
    } else if let Some((_, tip)) = ALTERNATIVES.iter().find(|(other, _)| *other == name) {
        e.remove(ContextKind::SuggestedValue);
        suggest(&mut e, (*tip).to_owned());
    }
    e
}

/// What to use instead of options and formats of tshark that do not exist here.
const ALTERNATIVES: &[(&str, &str)] = &[
    ("-2", ONE_PASS),
    ("-R", ONE_PASS),
    ("-F", "-w writes pcapng, which `editcap -F` converts"),
    ("-G", "`qdissect protocol list` and `qdissect protocol show NAME` list protocols and their fields"),
    ("-T pdml", ALL_FIELDS),
    ("-T psml", "`qdissect dump -T csv` writes a row for each packet"),
    ("-T jsonraw", ALL_FIELDS),
    ("-b", "`dumpcap -b` writes a ring of files, which `qdissect dump --follow DIR` reads"),
    ("-o", "there are no preferences; -d udp.port==N,PROTO pins a protocol on a port"),
    (
        "-z",
        "`qdissect stats` and `qdissect exchanges` have its statistics; for follow, `exchanges -Y 'udp.stream == 0'` \
         has one conversation, and `server ADDR` one server",
    ),
];
const ONE_PASS: &str = "there is one pass, which -Y filters";
const ALL_FIELDS: &str = "`qdissect dump -x -T json` writes all fields and bytes";

fn suggest(e: &mut Error, tip: String) {
    e.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![StyledStr::from(tip)]));
}

/// The option with this value, if only one option of all subcommands has it: `--profile strict`.
fn option_with_value(command: &Command, value: &str) -> Option<String> {
    let has = |arg: &&Arg| arg.get_possible_values().iter().any(|known| known.get_name() == value);
    let all = command.get_subcommands().flat_map(|sub| sub.get_arguments().filter(has));
    let mut options: Vec<_> = all.filter_map(Arg::get_long).collect();
    options.sort_unstable();
    options.dedup();
    match options.as_slice() {
        [only] => Some(format!("--{only} {value}")),
        _ => None,
    }
}

fn is_called(arg: &Arg, name: &str) -> bool {
    match name.strip_prefix("--") {
        Some(long) => arg.get_long() == Some(long),
        None => name.strip_prefix('-').is_some_and(|short| arg.get_short() == short.chars().next()),
    }
}

/// The names of the subcommands with a visible argument for which `has` is true.
fn owners(command: &Command, has: impl Fn(&Arg) -> bool) -> Vec<String> {
    let mut found = vec![];
    for command in command.get_subcommands() {
        let below =
            command.get_subcommands().map(|sub| (format!("{} {}", command.get_name(), sub.get_name()), sub));
        for (name, sub) in [(command.get_name().to_owned(), command)].into_iter().chain(below) {
            if sub.get_arguments().any(|arg| !arg.is_hide_set() && has(arg)) {
                found.push(name);
            }
        }
    }
    // `ask` and `hex` have many options of other subcommands; they are named only if no other subcommand has the option.
    let borrows = |name: &String| name == "ask" || name == "hex";
    if !found.iter().all(borrows) {
        found.retain(|name| !borrows(name));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn completed(args: &[&str]) -> Vec<String> {
        let args = args.iter().map(OsString::from).collect();
        with_subcommand(args).iter().map(|arg| arg.to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn summary_is_the_default_subcommand() {
        for (args, first) in [
            (&["qdissect"][..], "summary"),
            (&["qdissect", "a.pcap"], "summary"),
            (&["qdissect", "-q", "a.pcap"], "summary"),
            (&["qdissect", "-"], "summary"),
            (&["qdissect", "./dump"], "summary"),
            (&["qdissect", "dump", "a.pcap"], "dump"),
            (&["qdissect", "dumb"], "dumb"),
            (&["qdissect", "--help"], "--help"),
        ] {
            assert_eq!(completed(args)[1], first, "{args:?}");
        }
    }

    #[test]
    fn options_that_only_dump_has_imply_dump() {
        for (args, first) in [
            ("-V a.pcap", "dump"),
            ("-qx a.pcap", "dump"),
            ("a.pcap -O sqp", "dump"),
            ("-T fields -e frame.number a.pcap", "dump"),
            ("-Ttree a.pcap", "dump"),
            ("a.pcap --format=tsv", "dump"),
            ("--format text a.pcap", "dump"),
            ("-T csv a.pcap", "summary"),
            ("-Y -V a.pcap", "summary"),
            ("-c3 -T json a.pcap", "summary"),
            ("-YV a.pcap", "summary"),
            ("a.pcap -- -V", "summary"),
        ] {
            let args: Vec<_> = ["qdissect"].into_iter().chain(args.split(' ')).collect();
            assert_eq!(completed(&args)[1], first, "{args:?}");
        }
    }

    #[test]
    fn rules_and_protocols_are_shown_by_name() {
        assert_eq!(completed(&["qdissect", "rule", "SQP-TXN-004"])[2], "show");
        assert_eq!(completed(&["qdissect", "protocol", "-T", "json", "sqp"])[2], "show");
        assert_eq!(completed(&["qdissect", "rule", "list"]).len(), 3);
        assert_eq!(completed(&["qdissect", "rule", "--help"]).len(), 3);
        assert_eq!(completed(&["qdissect", "rule"]).len(), 2);
        assert_eq!(completed(&["qdissect", "generate", "man"]).len(), 3);
    }

    #[test]
    fn errors_name_the_subcommand_that_has_the_option() {
        let error_of = |line: &str| {
            let args = line.split(' ').map(OsString::from).collect();
            super::super::command_line::parse(with_subcommand(args)).unwrap_err().to_string()
        };
        let check = error_of("qdissect --fail-on error a.pcap");
        assert!(check.contains("--fail-on belongs to `qdissect check`\n"), "{check}");
        let live = if cfg!(unix) { " and `qdissect live`" } else { "" };
        let owners = format!("-x belongs to `qdissect dump`{live}\n");
        assert!(error_of("qdissect stats -x a.pcap").contains(&owners));
        assert!(error_of("qdissect dump -T sarif a.pcap").contains("-T sarif belongs to `qdissect check`"));
        assert!(!error_of("qdissect dump --qwertyuiop a.pcap").contains("tip:"));
        assert!(error_of("qdissect check a.pcap --strict").contains("tip: --profile strict exists\n"));
        assert!(error_of("qdissect check a.pcap --json").contains("tip: --format json exists\n"));
        for (of_tshark, tip) in [
            ("-2 -R sqp a.pcap", "-Y"),
            ("-qz io,phs a.pcap", "qdissect stats"),
            ("dump -b filesize:1000 a.pcap", "--follow"),
            ("-T pdml a.pcap", "-T json"),
        ] {
            let message = error_of(&format!("qdissect {of_tshark}"));
            assert!(message.contains("tip: ") && message.contains(tip), "{message}");
        }
        for of_unix in ["live -i 4", "live -D", "-D", "-i 4"].iter().filter(|_| cfg!(windows)) {
            let message = error_of(&format!("qdissect {of_unix}"));
            assert!(message.contains("tip: on Windows, `dumpcap -D` lists the interfaces"), "{message}");
        }
        for surplus in ["rule list SQP", "generate completions bash zsh", "generate man twice"] {
            let message = error_of(&format!("qdissect {surplus}"));
            assert!(message.contains("unexpected argument") && !message.contains("tip:"), "{message}");
        }
    }
}
