//! Tests that every command line in the documentation parses, also those that no test runs.

#[path = "../../tests/it/documents/pages.rs"]
mod pages;
#[path = "../../tests/it/documents/shell.rs"]
mod shell;

use super::command_line::parse;
use super::command_line::with_subcommand;
use clap::error::ErrorKind;
use pulldown_cmark::{Event, Parser};
use std::ffi::OsString;
use std::ops::Range;

/// The command lines of `qdissect` in a shell script, without those that only have `qdissect` as an argument of another command.
fn qdissect_commands(text: &str) -> Vec<Vec<String>> {
    let named = |command: &Vec<String>| command[0] == "qdissect" && command.len() > 1;
    shell::commands(text).into_iter().filter(named).collect()
}

/// The parser's error for a command line, if any; a request for help is no error. `FILE` is replaced by the name of an existing
/// file.
fn parse_error(command: &[String]) -> Option<String> {
    let args = command.iter().map(|arg| if arg == "FILE" { "README.md" } else { arg });
    let args: Vec<OsString> = args.map(OsString::from).collect();
    let error = parse(with_subcommand(args)).err()?;
    let is_help = [ErrorKind::DisplayHelp, ErrorKind::DisplayVersion].contains(&error.kind());
    (!is_help).then(|| error.to_string())
}

#[test]
fn every_command_line_in_a_shell_block_parses() {
    let (mut wrong, mut marked) = (vec![], 0);
    for (path, text) in pages::pages() {
        for block in pages::blocks(&text).iter().filter(|block| block.language == "sh") {
            for command in qdissect_commands(&block.text) {
                marked += usize::from(block.not_run().is_some());
                let place = format!("{}:{}", path.display(), block.line);
                wrong.extend(parse_error(&command).map(|e| format!("{place}: {}\n{e}", command.join(" "))));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(marked > 8, "those that are not run are found: {marked}");
}

/// Inline code that begins with `qdissect ` and is part of a sentence or a table, with line numbers.
fn inline_commands(page: &str) -> Vec<(usize, String)> {
    let events = Parser::new_ext(page, pages::dialect()).into_offset_iter();
    let code = |(event, at): (Event, Range<usize>)| match event {
        Event::Code(code) if code.starts_with("qdissect ") => {
            Some((pages::line_of(page, at.start), code.into_string()))
        }
        _ => None,
    };
    events.filter_map(code).collect()
}

#[test]
fn every_command_line_in_inline_code_parses() {
    let (mut wrong, mut checked) = (vec![], 0);
    for (path, text) in pages::pages() {
        for (line, code) in inline_commands(&text) {
            // A synopsis or the mere name of a subcommand is not a command line.
            let named =
                |command: &[String]| command.len() == 2 && command[1].chars().all(|c| c.is_ascii_lowercase());
            for command in qdissect_commands(&code).into_iter().filter(|c| !named(c) && !code.contains('[')) {
                checked += 1;
                wrong
                    .extend(parse_error(&command).map(|e| format!("{}:{line}: {code}\n{e}", path.display())));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(checked > 30, "command lines are found: {checked}");
}

#[test]
fn wrong_command_lines_are_noticed() {
    let script = "sudo tcpdump -w - | qdissect dump -l -\nqdissect live -i eth0 -f 'udp port 1' --sumary # x\nls qdissect\n";
    let found = qdissect_commands(script);
    assert_eq!(
        found,
        [
            &["qdissect", "dump", "-l", "-"][..],
            &["qdissect", "live", "-i", "eth0", "-f", "udp port 1", "--sumary"]
        ]
    );
    assert_eq!(parse_error(&found[0]), None);
    assert!(parse_error(&found[1]).is_some_and(|error| error.contains("--sumary")));
    let command = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    assert!(parse_error(&command("qdissect live -a duration:x -i eth0")).is_some());
    assert_eq!(parse_error(&command("qdissect dump --help")), None);
    assert_eq!(parse_error(&command("qdissect a.pcap")), None, "the summary needs no name");
    let found =
        inline_commands("A `qdissect dump -Z FILE` and `qdissect`.\n\n| a |\n|---|\n| `qdissect -v` |\n");
    assert_eq!(found, [(1, "qdissect dump -Z FILE".to_owned()), (5, "qdissect -v".to_owned())]);
    assert!(parse_error(&qdissect_commands(&found[0].1)[0]).is_some());
}
