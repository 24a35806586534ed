//! Help beyond the options themselves: groups of options, and examples.

use clap::Command;

/// Groups of options by their clap ids, the same in every subcommand.
const HEADINGS: [(&str, &[&str]); 6] = [
    ("Capture", &["interface", "list_interfaces", "filter", "snaplen", "buffer", "autostop", "summary"]),
    (
        "Input",
        &[
            "read",
            "input_format",
            "port",
            "count",
            "threads",
            "memory",
            "follow",
            "per_file",
            "allow_truncated",
            "no_sandbox",
        ],
    ),
    (
        "Selection",
        &["display_filter", "protocol", "all", "decode_as", "timeout", "min_confidence", "interval"],
    ),
    ("Rules", &["profile", "select", "ignore", "level", "config", "no_config"]),
    (
        "Verdict",
        &[
            "check",
            "fail_on",
            "require",
            "require_coverage",
            "allow_empty",
            "baseline",
            "update_baseline",
            "sarif_style",
            "junit_style",
        ],
    ),
    (
        "Output",
        &[
            "format",
            "to",
            "tables",
            "report",
            "fields",
            "layout",
            "tree",
            "only",
            "hex",
            "explain",
            "when",
            "show",
            "top",
            "sort",
            "color",
            "output",
            "dir",
            "write",
            "annotate",
            "quiet",
            "line_buffered",
            "numeric",
            "show_secrets",
        ],
    ),
];

/// A command line and its purpose.
pub type Example = (&'static str, &'static str);

/// Examples by subcommand. Files are called `capture.pcapng`, and directories `captures`.
const EXAMPLES: [(&[&str], &[Example]); 19] = [
    (
        &[],
        &[
            ("qdissect capture.pcapng", "what is in a capture"),
            ("qdissect check capture.pcapng", "does everybody keep to the protocol?"),
            ("qdissect dump -V -Y 'sqp && finding' capture.pcapng", "packets with findings, field by field"),
            ("tcpdump -i any -U -w - udp | qdissect dump -l -", "as it comes"),
        ],
    ),
    (
        &["summary"],
        &[
            ("qdissect capture.pcapng", "the word summary may be left out"),
            ("qdissect summary captures", "every capture in a directory, together"),
            ("qdissect summary -T csv capture.pcapng", "servers for a spreadsheet"),
            ("qdissect summary -Y 'udp.port == 7777' capture.pcapng", "one port"),
            (
                "zstd -dc capture.pcapng.zst | qdissect summary -",
                "from a pipe; compressed files are read as well",
            ),
        ],
    ),
    (
        &["dump"],
        &[
            ("qdissect dump capture.pcapng", "one line a packet"),
            (
                "qdissect dump -t ad -Y 'response_time > 0.01' capture.pcapng",
                "slow answers, by the clock on the wall",
            ),
            ("qdissect dump -V -x -c 10 capture.pcapng", "fields and bytes of the first ten frames"),
            ("qdissect dump -T ndjson capture.pcapng", "one record a line, for other programs"),
            ("qdissect dump -T tsv -e frame.number -e message capture.pcapng", "columns of your choice"),
            (
                "qdissect dump -q -w findings.pcapng --annotate -Y finding capture.pcapng",
                "a capture for Wireshark, with comments",
            ),
        ],
    ),
    (
        &["check"],
        &[
            ("qdissect check capture.pcapng", "exit code 1 where there are errors"),
            ("qdissect check --fail-on warning --profile strict captures", "stricter"),
            ("qdissect check --ignore SQP-REQ --level SQP-TXN-010=off capture.pcapng", "without some rules"),
            ("qdissect check --report junit=junit.xml --report sarif=a.sarif captures", "reports for CI"),
            ("qdissect check --require sqp,gqp capture.pcapng", "exit code 3 where one of them is missing"),
            (
                "qdissect check --baseline known.json --update-baseline capture.pcapng",
                "fail for new findings only, from now on",
            ),
        ],
    ),
    (
        &["exchanges"],
        &[
            ("qdissect exchanges capture.pcapng", "requests and their answers"),
            (
                "qdissect exchanges -Y 'exchange.outcome == \"unanswered\"' capture.pcapng",
                "requests without an answer",
            ),
            ("qdissect exchanges -T csv --output exchanges.csv capture.pcapng", "for a spreadsheet"),
        ],
    ),
    (
        &["live"],
        &[
            ("qdissect live -D", "which interfaces there are"),
            ("qdissect live -i eth0 -f 'udp port 7777'", "packets as they come"),
            ("qdissect live -i eth0 -a duration:60 --summary", "a minute, then the summary"),
            ("qdissect live -i eth0 -q -w all.pcapng", "save what is captured"),
        ],
    ),
    (
        &["export"],
        &[
            ("qdissect export --to tables captures", "all tables of all captures in a directory"),
            (
                "qdissect export --to tables --tables exchanges -Y sqp capture.pcapng",
                "the exchanges of one protocol",
            ),
            ("qdissect export --to tables --fields capture.pcapng", "with all fields of each message"),
        ],
    ),
    (
        &["stats"],
        &[
            ("qdissect stats capture.pcapng", "everything"),
            ("qdissect stats --only times,amplification capture.pcapng", "some sections"),
            (
                "qdissect stats --only series --interval 1s -T csv capture.pcapng",
                "what a plotting program reads",
            ),
        ],
    ),
    (
        &["report"],
        &[
            (
                "qdissect report capture.pcapng --output report.html",
                "everything in one file, to send or to keep",
            ),
            (
                "qdissect report -Y 'udp.port == 7777' captures --output report.html",
                "one port of several captures",
            ),
            ("tcpdump -c 1000 -w - udp | qdissect report - --output report.html", "from a pipe"),
        ],
    ),
    (
        &["view"],
        &[
            ("qdissect view capture.pcapng", "in the browser"),
            ("qdissect view --protocol sqp captures", "one protocol of several captures"),
            ("qdissect view --output kept.html capture.pcapng", "and keep it"),
        ],
    ),
    (
        &["hex"],
        &[
            ("qdissect hex 00 00000000", "bytes as arguments"),
            (
                "qdissect hex --protocol satisfactory d5f60001efcdab896745230101",
                "it is known which protocol it is",
            ),
            ("xxd packet.bin | qdissect hex", "from another program"),
        ],
    ),
    (
        &["ask"],
        &[
            ("qdissect ask satisfactory 127.0.0.1", "what does this server say?"),
            ("qdissect ask sqp --all 127.0.0.1:9000", "everything that it can be asked"),
            ("qdissect ask sqp 127.0.0.1:9000 --check --report junit=junit.xml", "a test for CI"),
            ("qdissect ask gqp 127.0.0.1:7787 -c 10 -w asked.pcapng", "ten times, and keep it"),
        ],
    ),
    (
        &["rule", "list"],
        &[
            ("qdissect rule list", "all of them"),
            ("qdissect rule list --protocol sqp", "those of one protocol"),
            ("qdissect rule list -T json", "for other programs"),
        ],
    ),
    (
        &["rule", "show"],
        &[
            ("qdissect rule show SQP-TXN-004", "why, by whose word, and an example"),
            ("qdissect rule show sqp-txn", "a group"),
            ("qdissect rule show -T ndjson GEN", "for other programs"),
        ],
    ),
    (
        &["protocol", "list"],
        &[
            ("qdissect protocol list", "names, ports and rules"),
            ("qdissect protocol list --color never", "without colours"),
            ("qdissect protocol list -T ndjson", "for other programs"),
        ],
    ),
    (
        &["protocol", "show"],
        &[
            ("qdissect protocol show gqp", "messages, fields, sources"),
            ("qdissect protocol show sqp skycoop", "two of them"),
            ("qdissect protocol show -T json satisfactory", "for other programs"),
        ],
    ),
    (
        &["generate", "completions"],
        &[
            (
                "qdissect generate completions bash > ~/.local/share/bash-completion/completions/qdissect",
                "Bash",
            ),
            ("qdissect generate completions zsh > ~/.zfunc/_qdissect", "Zsh, with ~/.zfunc in fpath"),
            ("qdissect generate completions fish > ~/.config/fish/completions/qdissect.fish", "Fish"),
        ],
    ),
    (
        &["generate", "man"],
        &[
            ("qdissect generate man | man -l -", "everything in one page"),
            ("qdissect generate man > qdissect.1", "the same to install"),
            ("qdissect generate man --dir man1", "a page for each subcommand"),
        ],
    ),
    (
        &["generate", "schema"],
        &[
            ("qdissect generate schema > qdissect.schema.json", "any record"),
            ("qdissect generate schema packet", "one kind of record, and what it needs"),
            ("qdissect generate schema array", "what -T json writes"),
        ],
    ),
];

/// The examples of a subcommand, given by its path of names.
pub fn examples(path: &[&str]) -> &'static [Example] {
    EXAMPLES.iter().find(|(of, _)| *of == path).map_or(&[], |(_, examples)| examples)
}

/// Puts options into groups, and adds examples to the long help.
pub fn arranged(command: Command) -> Command {
    EXAMPLES.iter().fold(grouped(command), |command, (path, examples)| match path {
        // The short help of the program itself shows the examples as well.
        [] => command.after_help(section(examples)),
        path => with_examples(command, path, examples),
    })
}

fn grouped(command: Command) -> Command {
    command
        .mut_args(|arg| {
            let id = arg.get_id().to_string();
            let heading = HEADINGS.iter().find(|(_, ids)| ids.contains(&id.as_str()));
            match heading.filter(|_| !arg.is_positional()) {
                Some((heading, _)) => arg.help_heading(*heading),
                None => arg,
            }
        })
        .mut_subcommands(grouped)
}

fn with_examples(command: Command, path: &[&str], examples: &[Example]) -> Command {
    match path {
        [] => command.after_long_help(section(examples)),
        [name, rest @ ..] if command.find_subcommand(name).is_some() => {
            command.mut_subcommand(*name, |sub| with_examples(sub, rest, examples))
        }
        _ => command, // not available on this system
    }
}

/// The section with the examples, each below its purpose.
fn section(examples: &[Example]) -> String {
    let lines: Vec<_> = examples.iter().map(|(line, what)| format!("  # {what}\n  {line}")).collect();
    format!("EXAMPLES:\n{}", lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::command_line::{command, parse};
    use crate::cli::implied_command::with_subcommand;

    fn options(command: &Command) -> Vec<(String, Option<String>)> {
        let own = command.get_arguments().filter(|a| !a.is_positional());
        own.filter(|a| !a.is_hide_set() && !["help", "version"].contains(&a.get_id().as_str()))
            .map(|a| (a.get_id().to_string(), a.get_help_heading().map(str::to_owned)))
            .collect()
    }

    #[test]
    fn every_option_is_in_a_group() {
        let command = command();
        let mut seen = 0;
        for sub in command.get_subcommands() {
            for (id, heading) in options(sub).into_iter().chain(sub.get_subcommands().flat_map(options)) {
                assert!(heading.is_some(), "{} {id}", sub.get_name());
                seen += 1;
            }
        }
        assert!(seen > 100, "{seen}");
        let subs = command.get_subcommands();
        let known: Vec<_> =
            subs.flat_map(|sub| [sub].into_iter().chain(sub.get_subcommands()).flat_map(options)).collect();
        for id in HEADINGS.iter().flat_map(|(_, ids)| *ids) {
            let there = known.iter().any(|(known, _)| known == id);
            assert!(there, "{id} is no option of any subcommand");
        }
    }

    #[test]
    fn every_subcommand_has_examples_and_clap_understands_them() {
        let mut leaves = vec![vec![]];
        for sub in command().get_subcommands().filter(|s| s.get_name() != "help") {
            let name = sub.get_name().to_owned();
            let below: Vec<_> = sub
                .get_subcommands()
                .filter(|s| s.get_name() != "help")
                .map(|s| vec![name.clone(), s.get_name().to_owned()])
                .collect();
            leaves.extend(if below.is_empty() { vec![vec![name]] } else { below });
        }
        for path in leaves {
            let examples = EXAMPLES.iter().find(|(of, _)| *of == path.as_slice());
            assert!(examples.is_some(), "{path:?}");
            let (_, examples) = examples.unwrap();
            assert!((3..=6).contains(&examples.len()), "{path:?}");
            for (line, _) in *examples {
                let own = &line[line.find("qdissect").unwrap()..];
                let args = words(own).into_iter().map(Into::into).collect();
                let parsed = parse(with_subcommand(args));
                assert!(parsed.is_ok(), "{line}: {}", parsed.unwrap_err());
            }
        }
    }

    /// Splits a line into words as a shell does, up to a pipe or a redirection. Only single quotes are supported.
    fn words(line: &str) -> Vec<String> {
        let mut words = vec![String::new()];
        let mut inside = false;
        for c in line.chars() {
            match c {
                '\'' => inside = !inside,
                '|' | '>' if !inside => break,
                ' ' if !inside => words.push(String::new()),
                c => words.last_mut().unwrap().push(c),
            }
        }
        words.retain(|word| !word.is_empty());
        words
    }
}
