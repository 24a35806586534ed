//! The command lines that the pages show: all are read as on the command line, also those that no test runs.

#[path = "../../tests/documents/pages.rs"]
mod pages;
#[path = "../../tests/documents/shell.rs"]
mod shell;

use super::{parse, with_subcommand};
use clap::error::ErrorKind;
use std::ffi::OsString;

/// The arguments after each `qdissect` of a shell text; none where another command has the word as an argument.
fn typed(text: &str) -> Vec<Vec<String>> {
    let named = |command: &Vec<String>| command[0] == "qdissect" && command.len() > 1;
    shell::commands(text).into_iter().filter(named).collect()
}

/// What the argument parser says against a command line; being asked for help is no mistake.
fn refused(command: &[String]) -> Option<String> {
    let args: Vec<OsString> = command.iter().map(OsString::from).collect();
    let error = parse(with_subcommand(args)).err()?;
    let told = [ErrorKind::DisplayHelp, ErrorKind::DisplayVersion].contains(&error.kind());
    (!told).then(|| error.to_string())
}

#[test]
fn every_command_line_in_a_block_of_shell_is_understood() {
    let (mut wrong, mut marked) = (vec![], 0);
    for (path, text) in pages::pages() {
        for block in pages::blocks(&text).iter().filter(|block| block.language == "sh") {
            for command in typed(&block.text) {
                marked += usize::from(block.not_run().is_some());
                let place = format!("{}:{}", path.display(), block.line);
                wrong.extend(refused(&command).map(|e| format!("{place}: {}\n{e}", command.join(" "))));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(marked > 8, "those that are not run are found: {marked}");
}

#[test]
fn a_command_line_that_is_wrong_is_noticed() {
    let script = "sudo tcpdump -w - | qdissect dump -l -\nqdissect live -i eth0 -f 'udp port 1' --sumary # x\nls qdissect\n";
    let found = typed(script);
    assert_eq!(
        found,
        [
            &["qdissect", "dump", "-l", "-"][..],
            &["qdissect", "live", "-i", "eth0", "-f", "udp port 1", "--sumary"]
        ]
    );
    assert_eq!(refused(&found[0]), None);
    assert!(refused(&found[1]).is_some_and(|said| said.contains("--sumary")));
    let command = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    assert!(refused(&command("qdissect live -b files:x -i eth0")).is_some());
    assert_eq!(refused(&command("qdissect dump --help")), None);
    assert_eq!(refused(&command("qdissect a.pcap")), None, "the summary needs no name");
}
