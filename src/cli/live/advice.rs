//! Error messages for captures that fail, with advice what to do.

use super::program::{Kind, Program};
use crate::escape::shown;
use crate::similar::similar;
use std::io;
use std::process::ExitStatus;

/// Advice for capturing on another machine, or on this one with the rights of another user.
const REMOTE: &str = "`ssh HOST tcpdump -U -w - | qdissect dump -` shows what another machine captures";

/// Neither capture program is installed.
pub fn nothing_installed() -> String {
    format!(
        "Neither dumpcap nor tcpdump is installed, and one of them must do the capturing. Debian, Ubuntu: \
         `sudo apt install tcpdump`; Fedora: `sudo dnf install tcpdump`; macOS has tcpdump, and `brew install wireshark` \
         brings dumpcap. {REMOTE}."
    )
}

/// The capture program cannot be started.
pub fn not_started(program: &Program, e: &io::Error) -> String {
    let name = shown(&program.path().to_string_lossy()).into_owned();
    match e.kind() {
        io::ErrorKind::PermissionDenied => {
            format!("There is no permission to run {name}. {}", permission(program.kind))
        }
        _ => format!("The capture program {name} cannot be run: {e}."),
    }
}

/// The capture program lists no interfaces.
pub fn no_interfaces(program: &Program, said: &[String]) -> String {
    let name = program.kind.name();
    match said.last() {
        Some(_) if is_permission(said) => permission_missing(program.kind),
        Some(last) => format!("{name} lists no interfaces: {}", sentence(last)),
        None => format!("{name} lists no interface on which to capture. {}", permission(program.kind)),
    }
}

/// The program ended by itself. The message consists of what it said, how it ended, and the existing interfaces.
pub fn died(
    program: &Program,
    said: &[String],
    status: Option<ExitStatus>,
    asked: &[String],
    interfaces: impl FnOnce() -> Vec<String>,
) -> String {
    let name = program.kind.name();
    let all = said.join("\n");
    if is_permission(said) {
        return permission_missing(program.kind);
    }
    if ["No such device", "There is no device named", "Invalid adapter index", "Invalid interface index"]
        .iter()
        .any(|text| all.contains(text))
    {
        let interfaces = interfaces();
        let known = match interfaces.is_empty() {
            true => "`qdissect live -D` lists them.".to_owned(),
            false => {
                let listed = interfaces.join("; ");
                format!("{}There are: {}.", meant(asked, &interfaces), shown(&listed))
            }
        };
        return format!("There is no such interface: {} {known}", sentence(&heart(said)));
    }
    if all.contains("filter expression") || all.contains("Invalid capture filter") {
        return format!(
            "The capture filter is not understood: {} `man pcap-filter` describes the language.",
            sentence(&heart(said))
        );
    }
    let how = status.map_or("ended".to_owned(), |status| how(&status));
    match said.last() {
        Some(_) => format!("The capture program {name} {how}. It said: {}", sentence(&heart(said))),
        None => format!("The capture program {name} {how}, and did not say why."),
    }
}

/// A question whether another name was meant, if the name of an interface is misspelt. `lines` is the list of interfaces:
/// number, name and more.
fn meant(asked: &[String], lines: &[String]) -> String {
    let names: Vec<_> = lines.iter().filter_map(|line| line.split_whitespace().nth(1)).collect();
    let wrong = asked.iter().find(|name| !names.contains(&name.as_str()));
    let meant = wrong.and_then(|name| similar(name, names.iter().copied()));
    meant.map_or(String::new(), |name| format!("Did you mean {}? ", shown(name)))
}

fn is_permission(said: &[String]) -> bool {
    let texts = ["permission", "Operation not permitted", "Permission denied"];
    said.iter().any(|line| texts.iter().any(|text| line.contains(text)))
}

fn permission_missing(kind: Kind) -> String {
    format!("{} has no permission to capture. {}", kind.name(), permission(kind))
}

/// Advice for missing rights. Only the capture program needs them.
fn permission(kind: Kind) -> String {
    let own = match kind {
        Kind::Dumpcap => {
            "Debian, Ubuntu: `sudo dpkg-reconfigure wireshark-common`, answer Yes, then `sudo usermod -a -G wireshark $USER` \
             and log in anew; elsewhere: `sudo setcap cap_net_raw,cap_net_admin=ep \"$(command -v dumpcap)\"`"
        }
        Kind::Tcpdump => {
            "Give them to it with `sudo setcap cap_net_raw,cap_net_admin=ep \"$(command -v tcpdump)\"`"
        }
    };
    format!(
        "{own}. Or let only the capturing have them: `sudo tcpdump -i IFACE -U -w - udp | qdissect dump -l -`; \
         qdissect itself needs no rights. {REMOTE}."
    )
}

/// Describes how a process ended.
fn how(status: &ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt;
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("ended with exit status {code}"),
        (None, Some(signal)) => format!("was ended by signal {signal}"),
        (None, None) => "ended".to_owned(),
    }
}

/// The most informative line of a message: the last but one if dumpcap gives the reason in brackets on a line of its own, or if
/// tcpdump repeats its own message; otherwise the last one.
fn heart(said: &[String]) -> String {
    let own = |line: &&String| line.starts_with("dumpcap: ") || line.starts_with("tcpdump: ");
    let reason = said.iter().find(|line| line.contains("valid capture filter ("));
    reason.or_else(|| said.iter().rev().find(own)).or(said.last()).cloned().unwrap_or_default()
}

/// A line of the program's output as a sentence: without the program's name, harmless to terminals, and with a full stop.
fn sentence(line: &str) -> String {
    let line = line.trim();
    let line = ["dumpcap: ", "tcpdump: "].iter().find_map(|name| line.strip_prefix(name)).unwrap_or(line);
    let line = shown(line).into_owned();
    if line.ends_with(['.', '!', '?']) { line } else { line + "." }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str) -> Vec<String> {
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn a_misspelt_interface_is_recognised() {
        let lines = ["1. eth0 (wired)", "2. wlan0", "3. lo (loopback)"].map(str::to_owned);
        let said = |name: &str| meant(&[name.to_owned()], &lines);
        assert_eq!(said("etho"), "Did you mean eth0? ");
        assert_eq!(said("wlan1"), "Did you mean wlan0? ");
        assert_eq!((said("tun7"), said("eth0")), (String::new(), String::new()));
    }

    #[test]
    fn what_the_programs_say_is_understood() {
        assert!(is_permission(&said(
            "tcpdump: lo: You don't have permission to perform this capture on that device"
        )));
        assert!(is_permission(&said("x\n(socket: Operation not permitted)")));
        let filter = "dumpcap: Invalid capture filter \"udp prt 3\" for interface 'lo'.\n\
                      That string isn't a valid capture filter (can't parse filter expression: syntax error).\n\
                      See the User's Guide for a description of the capture filter syntax.";
        assert!(heart(&said(filter)).contains("syntax error"));
        let device = said("tcpdump: nope: No such device exists\n(No such device exists)");
        assert_eq!(heart(&device), "tcpdump: nope: No such device exists");
        assert_eq!(heart(&said("first\nlast")), "last");
        assert_eq!(sentence("tcpdump: nope: No such device"), "nope: No such device.");
        assert_eq!(sentence(" a\u{1b}[2J "), "a\\x1b[2J.");
    }
}
