//! Help beyond the options themselves: groups of options, and examples.

use clap::Command;

/// Groups of options by their clap ids, the same in every subcommand.
const HEADINGS: [(&str, &str); 7] = [
    ("Capture", "interface list_interfaces filter snaplen buffer autostop summary tui"),
    ("Input", "read input_format port count threads memory follow per_file allow_truncated no_sandbox"),
    (
        "Selection",
        "display_filter protocol all decode_as timeout min_confidence interval watch prefix servers ignore_fields volatile rule frame keep",
    ),
    ("Server", "listen fault list from name map game game_version players max_players loss delay"),
    ("Rules", "profile select ignore level config no_config"),
    (
        "Verdict",
        "check probe slow fail_on require require_coverage allow_empty baseline update_baseline sarif_style junit_style",
    ),
    (
        "Output",
        "format metrics to tables report rows fields layout tree only hex explain when show top sort color output dir write key \
         annotate quiet line_buffered records numeric show_secrets",
    ),
];

/// Examples by subcommand: the name of the subcommand, and below it the command lines, each with its purpose above it. Files are
/// called `capture.pcapng`, and directories `captures`.
const EXAMPLES: &str = include_str!("examples.txt");

/// The names of subcommands, and their examples as lines.
fn examples() -> impl Iterator<Item = (&'static str, &'static str)> {
    EXAMPLES.trim_end().split("\n\n").filter_map(|section| section.split_once('\n'))
}

/// The examples of a subcommand, given by its full name: command lines and their purposes.
pub fn examples_of(name: &str) -> Vec<(&'static str, &'static str)> {
    let section = examples().find(|(of, _)| *of == name).map_or("", |(_, lines)| lines);
    let lines: Vec<_> = section.lines().map(|line| line.trim_start().trim_start_matches("# ")).collect();
    lines.as_chunks().0.iter().map(|[what, line]| (*line, *what)).collect()
}

/// Puts options into groups, and adds examples to the long help.
pub fn arranged(command: Command) -> Command {
    examples().fold(grouped(command), |command, (name, lines)| {
        let section = format!("EXAMPLES:\n{lines}");
        match name.split(' ').skip(1).collect::<Vec<_>>().as_slice() {
            // The short help of the program itself shows the examples as well.
            [] => command.after_help(section),
            path => with_examples(command, path, section),
        }
    })
}

fn grouped(command: Command) -> Command {
    command
        .mut_args(|arg| {
            let id = arg.get_id().to_string();
            let heading = HEADINGS.iter().find(|(_, ids)| ids.split(' ').any(|known| known == id));
            match heading.filter(|_| !arg.is_positional()) {
                Some((heading, _)) => arg.help_heading(*heading),
                None => arg,
            }
        })
        .mut_subcommands(grouped)
}

fn with_examples(command: Command, path: &[&str], section: String) -> Command {
    match path {
        [] => command.after_long_help(section),
        [name, rest @ ..] if command.find_subcommand(name).is_some() => {
            command.mut_subcommand(name, |sub| with_examples(sub, rest, section))
        }
        _ => command, // not available on this system
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::command_line::with_subcommand;
    use crate::cli::command_line::{command, parse};

    fn options(command: &Command) -> Vec<(String, Option<String>)> {
        let options = command.get_arguments().filter(|a| !a.is_positional());
        options
            .filter(|a| !a.is_hide_set() && !["help", "version"].contains(&a.get_id().as_str()))
            .map(|a| (a.get_id().to_string(), a.get_help_heading().map(str::to_owned)))
            .collect()
    }

    #[test]
    fn every_option_is_in_a_group() {
        let command = command();
        let mut checked = 0;
        for sub in command.get_subcommands() {
            for (id, heading) in options(sub).into_iter().chain(sub.get_subcommands().flat_map(options)) {
                assert!(heading.is_some(), "{} {id}", sub.get_name());
                checked += 1;
            }
        }
        assert!(checked > 100, "{checked}");
        let subs = command.get_subcommands();
        let known: Vec<_> =
            subs.flat_map(|sub| [sub].into_iter().chain(sub.get_subcommands()).flat_map(options)).collect();
        let here = HEADINGS.iter().filter(|(heading, _)| cfg!(unix) || *heading != "Capture");
        for id in here.flat_map(|(_, ids)| ids.split(' ')) {
            let there = known.iter().any(|(known, _)| known == id);
            assert!(there, "{id} is no option of any subcommand");
        }
    }

    #[test]
    fn every_subcommand_has_examples_that_parse() {
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
            let examples = examples_of(&[vec!["qdissect".to_owned()], path.clone()].concat().join(" "));
            assert!((3..=6).contains(&examples.len()), "{path:?}");
            for (line, _) in examples {
                let command = &line[line.find("qdissect").unwrap()..];
                let args = words(command).into_iter().map(Into::into).collect();
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
