//! Completion scripts for shells. The scripts that clap generates are amended, because clap does not know that files, options
//! and filters may take the place of a subcommand, and leaves out values of positional arguments and interfaces.

use crate::cli::choices::CheckFormat;
use crate::cli::value_parsers::EVERY_RULE;
use crate::filter;
use clap::{Arg, Command, ValueEnum};
use clap_complete::Shell;

/// Arguments and pipe that print the names of the interfaces, one per line.
const INTERFACES: &str = r"live -D 2>/dev/null | sed -n 's/^[0-9]*\. \([^ ]*\).*/\1/p'";

/// The Bash code that completes the first word.
const FIRST_WORD: &str = r#"            if [[ ${cur} != -* && ${COMP_CWORD} -eq 1 ]] ; then
                compopt -o filenames 2>/dev/null
                COMPREPLY=( $(compgen -W "COMMANDS help" -- "${cur}") )
                local IFS=$'\n'
                COMPREPLY+=( $(compgen -f -- "${cur}") )
                return 0
            fi
"#;

/// The completion script for a shell.
pub fn script(shell: Shell, command: &Command) -> String {
    let mut script = vec![];
    let mut with_options = with_default_form(command.clone());
    clap_complete::generate(shell, &mut with_options, command.get_name(), &mut script);
    let script = String::from_utf8_lossy(&script);
    match shell {
        Shell::Bash => bash(&script, command),
        Shell::Zsh => zsh(&script),
        Shell::Fish => fish(&script, command),
        _ => script.into_owned(),
    }
}

/// Adds the options that may be given without a subcommand.
fn with_default_form(command: Command) -> Command {
    let options = |name| command.find_subcommand(name).into_iter().flat_map(Command::get_arguments);
    let options: Vec<Arg> = options("dump").filter(|arg| !arg.is_positional()).cloned().collect();
    command.args(options)
}

/// The names of all subcommands, separated by spaces.
fn commands(command: &Command) -> String {
    let names: Vec<_> = command.get_subcommands().map(Command::get_name).collect();
    names.join(" ")
}

/// Completes files as well as subcommands in first place, and as well as options after subcommands that read files.
fn bash(script: &str, command: &Command) -> String {
    let (mut amended, mut reads, mut first, mut interface) = (String::new(), false, true, false);
    for line in script.lines() {
        if line.trim_start().starts_with("opts=\"") && line.len() > 20 {
            reads = line.contains("--read-file");
        }
        if reads && line.trim_start().starts_with("if [[ ${cur} == -* || ${COMP_CWORD}") {
            if std::mem::take(&mut first) {
                amended.push_str(&FIRST_WORD.replace("COMMANDS", &commands(command)));
            }
            amended.push_str("            if [[ ${cur} == -* ]] ; then\n");
            continue;
        }
        let files = "COMPREPLY=($(compgen -f \"${cur}\"))";
        match std::mem::replace(&mut interface, ["--interface)", "-i)"].contains(&line.trim())) {
            true => {
                let names = format!("COMPREPLY=($(compgen -W \"$(\"$1\" {INTERFACES})\" -- \"${{cur}}\"))");
                amended.push_str(&line.replace(files, &names));
            }
            false => amended.push_str(line),
        }
        amended.push('\n');
    }
    amended
}

/// Completes files as well as subcommands. After a file in first place, it completes the arguments of `dump`.
fn zsh(script: &str) -> String {
    let commands = "    _describe -t commands 'qdissect commands' commands \"$@\"\n";
    let script = script.replacen(commands, &format!("{commands}    _files\n"), 1);
    // Inside single quotes, single quotes are written '\''.
    let names = INTERFACES.replace('\'', "'\\''");
    let names =
        format!(":IFACE:{{ local -a names; names=(${{(f)\"$(qdissect {names})\"}}); compadd -a names }}'");
    let script = script.replace(":IFACE:_default'", &names);
    let arm = script.split_once("\n(dump)\n").and_then(|(_, rest)| rest.split_once("\n;;\n"));
    let Some(arm) = arm.map(|(arm, _)| format!("(*)\n{arm}\n;;\n")) else { return script };
    let end = "        esac\n    ;;\nesac\n}\n";
    script.replacen(end, &format!("{arm}{end}"), 1)
}

/// Treats a first word that is not a subcommand as a file, and completes values of positional arguments.
fn fish(script: &str, command: &Command) -> String {
    let commands = commands(command);
    let mut amended = String::new();
    let is_command = format!("if contains -- \"$argv[1]\" {commands} help\n");
    // Without this, an option that still lacks its value would count as a subcommand's.
    let script = script.replacen("    or return\n", "    or return 0\n", 1);
    for line in script.replacen("if set -q argv[1]\n", &is_command, 1).lines() {
        let is_first = line.contains("\"__fish_qdissect_needs_command\"");
        if is_first && line.contains(" -f -a \"") {
            let line = line.replacen("needs_command\"", "needs_command; and __fish_use_subcommand\"", 1);
            amended.push_str(&line.replacen(" -f -a \"", " -a \"", 1));
        } else {
            amended.push_str(line);
        }
        if line.contains("-l interface ") {
            amended.push_str(&format!(" -f -a \"(qdissect {INTERFACES})\""));
        }
        if let Some((_, function)) = FISH_VALUES.iter().find(|(option, _)| line.contains(option)) {
            amended.push_str(&format!(" -f -a \"({function})\""));
        }
        amended.push('\n');
    }
    fish_functions() + &amended + &fish_positionals(command)
}

/// Options whose values clap does not complete, and the functions that print these values.
const FISH_VALUES: [(&str, &str); 4] = [
    (" -s e ", "__fish_qdissect_fields"),
    (" -l display-filter ", "__fish_qdissect_fields"),
    (" -l level ", "__fish_qdissect_levels"),
    (" -l report ", "__fish_qdissect_reports"),
];

/// The functions that print the names of fields, and the beginnings of values that end in a severity or a path.
fn fish_functions() -> String {
    let formats = CheckFormat::value_variants().iter().filter_map(CheckFormat::to_possible_value);
    let reports = formats.map(|format| format!("{}=", format.get_name())).collect();
    let levels = EVERY_RULE.words().into_iter().map(|rule| format!("{rule}=")).collect();
    let functions: [(&str, Vec<String>); 3] = [
        ("__fish_qdissect_fields", filter::names()),
        ("__fish_qdissect_levels", levels),
        ("__fish_qdissect_reports", reports),
    ];
    let function = |(name, words): (&str, Vec<String>)| {
        format!("function {name}\n    printf '%s\\n' {}\nend\n", words.join(" "))
    };
    functions.into_iter().map(function).collect()
}

/// Completes values of positional arguments, which clap leaves out for Fish.
fn fish_positionals(command: &Command) -> String {
    let mut lines = String::new();
    for command in command.get_subcommands() {
        for sub in command.get_subcommands() {
            let values = sub.get_positionals().flat_map(Arg::get_possible_values);
            let values: Vec<_> = values.map(|value| value.get_name().to_owned()).collect();
            if !values.is_empty() {
                let (name, values) = (command.get_name(), values.join(" "));
                // `rule ID` is short for `rule show ID`.
                let condition = match sub.get_name() {
                    "show" => "not __fish_seen_subcommand_from list help".to_owned(),
                    sub => format!("__fish_seen_subcommand_from {sub}"),
                };
                lines.push_str(&format!(
                    "complete -c qdissect -n \"__fish_qdissect_using_subcommand {name}; and {condition}\" -f -a \"{values}\"\n"
                ));
            }
        }
    }
    lines
}
