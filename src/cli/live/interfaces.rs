//! The list of interfaces, as reported by the capture program.

use super::messages;
use super::program::{Kind, Program};

/// The interfaces that the program lists, one per line: `1. eth0 (Up)`.
///
/// # Errors
/// When the program lists none.
pub fn list(program: &Program) -> Result<Vec<String>, String> {
    let mut command = program.command();
    command.args(if program.kind == Kind::Dumpcap { &["-D", "-M"][..] } else { &["-D"] });
    let output = command.output().map_err(|e| messages::not_started(program, &e))?;
    let stdout = String::from_utf8_lossy(&output.stdout);
    let lines: Vec<_> = stdout.lines().filter_map(|line| interface(program.kind, line)).collect();
    if !output.status.success() || lines.is_empty() {
        let stderr = String::from_utf8_lossy(&output.stderr).lines().map(str::to_owned).collect::<Vec<_>>();
        return Err(messages::no_interfaces(program, &stderr));
    }
    Ok(lines)
}

/// Converts a line of the program's list to our format.
fn interface(kind: Kind, line: &str) -> Option<String> {
    let (number, rest) = line.split_once('.')?;
    number.parse::<u32>().ok()?;
    let rest = rest.trim_start();
    let (name, more) = match kind {
        // name, description, given name, type, addresses, loopback or network
        Kind::Dumpcap => {
            let columns: Vec<_> = rest.split('\t').collect();
            let column = |at| columns.get(at).copied().unwrap_or_default();
            (column(0), [column(2).to_owned(), column(1).to_owned(), column(4).replace(',', ", ")])
        }
        // name (description) [flags]
        Kind::Tcpdump => {
            let (name, rest) = rest.split_once(' ').unwrap_or((rest, ""));
            let (description, flags) = rest.rsplit_once('[').unwrap_or((rest, ""));
            let description = description.trim().trim_start_matches('(').trim_end_matches(')');
            (name, [description.to_owned(), flags.trim_end_matches(']').to_owned(), String::new()])
        }
    };
    let more: Vec<_> = more.into_iter().filter(|text| !text.is_empty() && text != "none").collect();
    let more = if more.is_empty() { String::new() } else { format!(" ({})", more.join(", ")) };
    Some(format!("{number}. {name}{more}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_interfaces_have_one_form() {
        for (kind, line, wanted) in [
            (Kind::Tcpdump, "1.eth0 [Up, Running, Connected]", Some("1. eth0 (Up, Running, Connected)")),
            (Kind::Tcpdump, "2.any (All (of them) [Up]", Some("2. any (All (of them, Up)")),
            (Kind::Tcpdump, "4.ifb0 [none]", Some("4. ifb0")),
            (Kind::Tcpdump, "5.old", Some("5. old")),
            (
                Kind::Dumpcap,
                "3. lo\t\tLoopback\t0\t127.0.0.1,::1\tloopback\t",
                Some("3. lo (Loopback, 127.0.0.1, ::1)"),
            ),
            (Kind::Dumpcap, "4. ifb0\t\t\t0\t\tnetwork\t", Some("4. ifb0")),
            (Kind::Dumpcap, "no list", None),
        ] {
            assert_eq!(interface(kind, line).as_deref(), wanted, "{line}");
        }
    }
}
