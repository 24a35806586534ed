//! Compares generated files with the command line, and has the programs that read them check them.
#![allow(clippy::panic)] // tests fail by panicking

use super::*;
use crate::cli::command_line::command;
use crate::protocols::Id;
use clap::{Arg, Command};
use clap_complete::Shell;
use std::fs;
use std::path::Path;
use std::process;

const SHELLS: [Shell; 5] = [Shell::Bash, Shell::Zsh, Shell::Fish, Shell::PowerShell, Shell::Elvish];

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).expect("it is UTF-8")
}

fn command_line() -> Command {
    shown(&command())
}

/// The script for a shell.
fn script_for(shell: Shell) -> String {
    completions::script(shell, &command_line())
}

/// Every subcommand with its full name; the program itself comes first.
fn all_commands() -> Vec<Command> {
    fn below(command: &Command, found: &mut Vec<Command>) {
        found.push(command.clone());
        let visible = command.get_subcommands().filter(|sub| !sub.is_hide_set() && sub.get_name() != "help");
        visible.for_each(|sub| below(sub, found));
    }
    let mut command = command_line();
    command.build();
    let mut found = vec![];
    below(&command, &mut found);
    assert!(found.len() > 15, "{}", found.len());
    found
}

/// The options of a subcommand that are shown.
fn options(command: &Command) -> impl Iterator<Item = &Arg> {
    command.get_arguments().filter(|arg| !arg.is_hide_set() && !arg.is_positional())
}

/// Runs a program on a file and returns its complaints, or `None` if the program is not installed.
fn complaints(program: &str, args: &[&str], file: &Path) -> Option<String> {
    let Ok(output) = process::Command::new(program).args(args).arg(file).output() else {
        eprintln!("skipped: {program} is not installed");
        return None;
    };
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    Some(if output.status.success() { stderr } else { format!("{}: {stderr}", output.status) })
}

/// Asserts that programs do not complain about a text.
#[track_caller]
fn assert_accepted(text: &str, readers: &[(&str, &[&str])]) {
    let file = tempfile::NamedTempFile::new().expect("there is room");
    fs::write(file.path(), text).expect("it can be written");
    for (program, args) in readers {
        if let Some(output) = complaints(program, args, file.path()) {
            assert_eq!(output, "", "{program}");
        }
    }
}

#[test]
fn every_subcommand_and_option_is_completed_in_every_shell() {
    for shell in SHELLS {
        let script = script_for(shell);
        for command in all_commands() {
            assert!(script.contains(command.get_name()), "{shell:?}: {}", command.get_name());
            for option in options(&command) {
                let long = option.get_long().is_none_or(|long| match shell {
                    Shell::Fish => script.contains(&format!("-l {long}")),
                    _ => script.contains(&format!("--{long}")),
                });
                let short = option.get_short().is_none_or(|short| match shell {
                    Shell::Fish => script.contains(&format!("-s {short}")),
                    _ => script.contains(&format!("-{short}")),
                });
                assert!(long && short, "{shell:?}: {} {}", command.get_name(), option.get_id());
            }
        }
    }
}

#[test]
fn hidden_options_are_not_completed() {
    let (mut all, mut offered) = (command(), command_line());
    all.build();
    offered.build();
    let hidden = |command: &Command| {
        let live = command.find_subcommand("live")?;
        Some(live.get_arguments().filter(|arg| arg.is_hide_set()).count())
    };
    if cfg!(unix) {
        assert!(hidden(&all).is_some_and(|hidden| hidden > 3));
        assert_eq!(hidden(&offered), Some(0));
        let script = script_for(Shell::Bash);
        let opts = script.lines().find(|line| line.contains("opts=") && line.contains("--autostop"));
        assert!(opts.is_some_and(|opts| !opts.contains("--follow") && opts.contains("--write")), "{opts:?}");
    }
}

#[test]
fn values_are_completed() {
    let script = script_for(Shell::Bash);
    let protocols = Id::ALL.iter().map(|id| id.info().name).collect::<Vec<_>>().join(" ");
    for words in [&protocols, "text tree json ndjson ek fields csv tsv", "strict default lenient"] {
        assert!(script.contains(&format!("compgen -W \"{words}\"")), "{words}");
    }
    assert!(script.contains(" SQP SQP-CHK "), "rules by their beginnings");
    let groups = script.lines().filter(|line| line.contains(" SQP-STR ")).count();
    let full = script.lines().filter(|line| line.contains(" SQP-TXN-004 ")).count();
    assert!(full > 0 && groups > full, "every rule where one is meant, groups elsewhere");
}

#[test]
fn bash_completes_words() {
    let script = script_for(Shell::Bash);
    assert_accepted(&script, &[("bash", &["-n"]), ("bash", &[])]);
    let cases = [
        ("qdissect", "stat", "stats"),
        ("qdissect", "captures/dem", "captures/demo.pcapng"),
        ("qdissect a.pcap", "--disp", "--display-filter"),
        ("qdissect a.pcap --protocol", "sat", "satisfactory"),
        ("qdissect dump", "--proto", "--protocol"),
        ("qdissect dump --protocol", "sat", "satisfactory"),
        ("qdissect check -T", "sar", "sarif"),
        ("qdissect check --select", "SQP-T", "SQP-TXN"),
        ("qdissect rule show", "SQP-TXN-00", "SQP-TXN-001"),
        ("qdissect generate schema", "pac", "packet"),
        ("qdissect generate", "man", "man"),
    ];
    for (before, begun, expected) in cases {
        let words: Vec<_> = before.split(' ').collect();
        let last = words.last().expect("there is a word");
        let ask = format!(
            "{script}\nCOMP_WORDS=({before} {begun}); COMP_CWORD={}; _qdissect qdissect {begun} {last}; \
             printf '%s\\n' \"${{COMPREPLY[@]}}\"\n",
            words.len()
        );
        let file = tempfile::NamedTempFile::new().expect("there is room");
        fs::write(file.path(), ask).expect("it can be written");
        let Ok(output) = process::Command::new("bash").arg(file.path()).output() else {
            eprintln!("skipped: bash is not installed");
            return;
        };
        let found = text(output.stdout);
        assert!(found.lines().any(|word| word == expected), "{before} {begun}: {found}");
    }
}

#[test]
fn zsh_and_fish_accept_their_scripts() {
    assert_accepted(&script_for(Shell::Zsh), &[("zsh", &["-n"])]);
    assert_accepted(&script_for(Shell::Fish), &[("fish", &["--no-execute"])]);
}

#[test]
fn fish_completes_values_that_clap_leaves_out() {
    let script = script_for(Shell::Fish);
    let line = |has: &[&str]| script.lines().any(|line| has.iter().all(|part| line.contains(part)));
    assert!(line(&["using_subcommand rule; and not", " -a \"", " GEN GEN-001 "]));
    assert!(line(&["using_subcommand protocol; and not", " -a \"sqp "]));
    assert!(line(&["seen_subcommand_from schema", " -a \"capture "]));
    assert!(line(&["-l interface", "qdissect live -D"]) || cfg!(not(unix)));
    assert!(line(&["needs_command\"", " -l display-filter"]), "options need no command");
    for (option, function, word) in [
        (" -s e ", "fields", " sqp.server_info.map "),
        (" -l display-filter ", "fields", " udp.port "),
        (" -l level ", "levels", " SQP-TXN-008= "),
        (" -l report ", "reports", " sarif= "),
    ] {
        let function = format!("__fish_qdissect_{function}");
        assert!(line(&[option, &format!("-f -a \"({function})\"")]), "{option}");
        let (_, body) = script.split_once(&format!("function {function}\n")).expect("it is declared");
        assert!(body.lines().next().is_some_and(|line| line.contains(word)), "{option}");
    }
    assert!(!line(&["needs_command", " -f -a \"dump\""]), "files stand beside the commands");
}

#[test]
fn the_page_has_every_option_under_its_subcommand() {
    let page = text(man::page(command_line()));
    let plain = page.replace("\\-", "-");
    let parts: Vec<_> = plain.split("\n.SH ").collect();
    for command in all_commands().iter().filter(|command| !command.has_subcommands()) {
        let name = command.get_bin_name().expect("it is built").to_uppercase();
        let part = parts.iter().find(|part| part.starts_with(&format!("\"{name}\"\n")));
        let part = part.unwrap_or_else(|| panic!("no section {name}"));
        assert_names_options(command, part);
    }
    assert_accepted(
        &page,
        &[("groff", &["-man", "-ww", "-z", "-Tutf8"]), ("mandoc", &["-T", "lint", "-W", "error"])],
    );
}

#[test]
fn the_page_has_exit_codes_and_examples_that_can_be_copied() {
    let page = text(man::page(command_line()));
    assert!(page.contains(".SH \"EXIT STATUS\"\n"));
    let file = tempfile::NamedTempFile::new().expect("there is room");
    fs::write(file.path(), page).expect("it can be written");
    let groff =
        process::Command::new("groff").args(["-man", "-Tutf8", "-rLL=200n"]).arg(file.path()).output();
    let Ok(groff) = groff else {
        eprintln!("skipped: groff is not installed");
        return;
    };
    let read = text(groff.stdout);
    let of = [
        "qdissect",
        "qdissect dump",
        "qdissect check",
        "qdissect rule show",
        "qdissect generate completions",
    ];
    for (line, _) in of.into_iter().flat_map(crate::cli::help::examples_of) {
        assert!(read.lines().any(|read| read.trim() == line), "{line} in {read}");
    }
}

/// Asserts that a text in roff names every option of a command.
fn assert_names_options(command: &Command, plain: &str) {
    for option in options(command) {
        let long = option.get_long().is_none_or(|long| plain.contains(&format!("--{long}")));
        let short = option.get_short().is_none_or(|short| plain.contains(&format!("\\fB-{short}\\fR")));
        assert!(long && short, "{}: {}: {plain}", command.get_name(), option.get_id());
    }
}

#[test]
fn each_subcommand_gets_a_page_of_its_own() {
    let folder = tempfile::tempdir().expect("there is room");
    let dir = folder.path().join("share/man1");
    let pages = |dir: &Path| run(&GenerateCommand::Man { dir: Some(dir.to_owned()) }, &command());
    assert_eq!(pages(&dir), Ok(OK));
    let all_commands = all_commands();
    assert_eq!(fs::read_dir(&dir).expect("it is there").count(), all_commands.len());
    for command in &all_commands {
        let name = command.get_bin_name().unwrap_or(command.get_name()).replace(' ', "-");
        let path = dir.join(format!("{name}.1"));
        let page = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_names_options(command, &page.replace("\\-", "-"));
        if let Some(output) = complaints("groff", &["-man", "-ww", "-z", "-Tutf8"], &path) {
            assert_eq!(output, "", "{name}");
        }
    }
    let file = folder.path().join("file");
    fs::write(&file, "").expect("it can be written");
    assert!(pages(&file.join("man")).is_err(), "a file is no directory");
}

#[test]
fn output_is_deterministic_and_contains_no_local_paths() {
    let here = env!("CARGO_MANIFEST_DIR");
    for shell in SHELLS {
        let script = script_for(shell);
        assert_eq!(script, script_for(shell));
        assert!(!script.contains(here));
    }
    let page = text(man::page(command_line()));
    assert_eq!(page, text(man::page(command_line())));
    assert!(!page.contains(here));
}
