//! Messages of the capture program: collected while it runs, and turned into advice when it fails.

use super::program::{Kind, Program};
use crate::cli::system::display_devices;
use crate::text::escape::escaped;
use crate::text::similar::similar;
use std::io;
use std::process::ExitStatus;

/// Maximum number of lines kept.
const MAX_LINES: usize = 64;
/// Maximum length of a line in bytes; longer lines are cut.
const MAX_LINE: usize = 1000;

/// The messages of the program.
#[derive(Clone, Debug, Default)]
pub struct Messages {
    /// Lines about errors, at most 64.
    pub lines: Vec<String>,
    /// Number of packets that the kernel or the program dropped, if the program reported it.
    pub dropped: Option<u64>,
}

/// Takes what the program writes to its standard error.
#[derive(Debug, Default)]
pub struct Listener {
    messages: Messages,
    /// A line whose end has not come.
    line: Vec<u8>,
}

impl Listener {
    /// Takes further bytes. Counters overwrite each other with carriage returns.
    pub fn hear(&mut self, bytes: &[u8]) {
        for byte in bytes {
            if !matches!(byte, b'\n' | b'\r') {
                self.line.push(*byte);
            }
            if matches!(byte, b'\n' | b'\r') || self.line.len() >= MAX_LINE {
                self.end_line();
            }
        }
    }

    fn end_line(&mut self) {
        self.messages.add(String::from_utf8_lossy(&self.line).trim());
        self.line.clear();
    }

    /// The messages, once there are no more.
    pub fn finish(&mut self) -> Messages {
        self.end_line();
        self.messages.clone()
    }
}

impl Messages {
    fn add(&mut self, line: &str) {
        if let Some(dropped) = dropped(line) {
            self.dropped = Some(self.dropped.unwrap_or(0).saturating_add(dropped));
        } else if !(line.is_empty() || is_progress(line)) {
            if self.lines.len() >= MAX_LINES {
                self.lines.pop(); // the last line is the most important one
            }
            self.lines.push(line.to_owned());
        }
    }
}

/// The number of dropped packets that a line reports.
fn dropped(line: &str) -> Option<u64> {
    if let Some(rest) = line.strip_prefix("Packets received/dropped on interface ") {
        // 'eth0': 100/3 (pcap:...); the numbers follow the name's end, whatever the name contains
        let (_, numbers) = rest.rsplit_once("': ")?;
        let (_, dropped) = numbers.split_once('/')?;
        return dropped.split(' ').next()?.parse().ok();
    }
    let (number, what) = line.split_once(' ')?;
    let what = what.strip_prefix("packets ").or_else(|| what.strip_prefix("packet "))?;
    ["dropped by kernel", "dropped by interface"].contains(&what).then(|| number.parse().ok())?
}

/// Whether a line only reports progress.
fn is_progress(line: &str) -> bool {
    let beginnings = [
        "Capturing on ",
        "File: ",
        "Packets: ",
        "Packets captured: ",
        "tcpdump: listening on ",
        "tcpdump: data link type ",
        "tcpdump: verbose output suppressed",
        "dropped privs to ",
    ];
    let counts = [" captured", " received by filter"];
    let count =
        line.starts_with(|c: char| c.is_ascii_digit()) && counts.iter().any(|end| line.ends_with(end));
    count || beginnings.iter().any(|beginning| line.starts_with(beginning))
}

/// Advice for capturing on another machine or as another user.
const REMOTE: &str = "`ssh HOST tcpdump -U -w - | qdissect dump -` shows what another machine captures";

/// Neither capture program is installed.
pub fn nothing_installed() -> String {
    format!(
        "Neither dumpcap nor tcpdump is installed, and one of them must do the capturing. Debian, Ubuntu: \
         `sudo apt install tcpdump`; Fedora: `sudo dnf install tcpdump`; macOS has tcpdump, and `brew install wireshark` \
         brings dumpcap; Windows: `winget install WiresharkFoundation.Wireshark` brings dumpcap, which needs Npcap. {REMOTE}."
    )
}

/// The capture program cannot be started.
pub fn not_started(program: &Program, e: &io::Error) -> String {
    let name = escaped(&program.path.to_string_lossy()).into_owned();
    match e.kind() {
        io::ErrorKind::PermissionDenied => {
            format!("There is no permission to run {name}. {}", permission(program.kind))
        }
        _ => format!("The capture program {name} cannot be run: {e}."),
    }
}

/// The capture program lists no interfaces.
pub fn no_interfaces(program: &Program, lines: &[String]) -> String {
    let name = program.kind.name();
    match lines.last() {
        Some(_) if is_permission(lines) => permission_missing(program.kind),
        Some(last) => format!("{name} lists no interfaces: {}", sentence(last)),
        None => format!("{name} lists no interface on which to capture. {}", permission(program.kind)),
    }
}

/// The error message if the program ended by itself: what it printed, how it ended, and the existing interfaces if the requested
/// one does not exist.
pub fn unexpected_end(
    program: &Program,
    lines: &[String],
    status: Option<ExitStatus>,
    requested: &[String],
    interfaces: impl FnOnce() -> Vec<String>,
) -> String {
    let name = program.kind.name();
    let all_lines = lines.join("\n");
    if is_permission(lines) {
        return permission_missing(program.kind);
    }
    if ["No such device", "There is no device named", "Invalid adapter index", "Invalid interface index"]
        .iter()
        .any(|text| all_lines.contains(text))
    {
        let interfaces = interfaces();
        let known = match interfaces.is_empty() {
            true => "`qdissect live -D` lists them.".to_owned(),
            false => {
                let listed = interfaces.join("; ");
                format!("{}There are: {}.", suggestion(requested, &interfaces), display_devices(&listed))
            }
        };
        return format!("There is no such interface: {} {known}", sentence(&main_line(lines)));
    }
    if all_lines.contains("filter expression") || all_lines.contains("Invalid capture filter") {
        return format!(
            "The capture filter is not understood: {} `man pcap-filter` describes the language.",
            sentence(&main_line(lines))
        );
    }
    let ending = status.map_or("ended".to_owned(), |status| exit_description(&status));
    match lines.last() {
        Some(_) => format!("The capture program {name} {ending}. It said: {}", sentence(&main_line(lines))),
        None => format!("The capture program {name} {ending}, and did not say why."),
    }
}

/// The question whether another interface was meant, if a requested name is similar to one of the existing names. `lines` is the
/// list of interfaces: number, name and more.
fn suggestion(requested: &[String], lines: &[String]) -> String {
    let names: Vec<_> = lines.iter().filter_map(|line| line.split_whitespace().nth(1)).collect();
    let wrong = requested.iter().find(|name| !names.contains(&name.as_str()));
    let suggestion = wrong.and_then(|name| similar(name, names.iter().copied()));
    suggestion.map_or(String::new(), |name| format!("Did you mean {}? ", escaped(name)))
}

fn is_permission(lines: &[String]) -> bool {
    let texts = ["permission", "Operation not permitted", "Permission denied"];
    lines.iter().any(|line| texts.iter().any(|text| line.contains(text)))
}

fn permission_missing(kind: Kind) -> String {
    format!("{} has no permission to capture. {}", kind.name(), permission(kind))
}

/// Advice for missing rights. Only the capture program needs them.
fn permission(kind: Kind) -> String {
    if cfg!(windows) {
        return format!(
            "dumpcap captures through Npcap, which Wireshark's installer offers; where Npcap is for administrators only, \
             start the terminal as administrator. {REMOTE}."
        );
    }
    let program_advice = match kind {
        Kind::Dumpcap => {
            "Debian, Ubuntu: `sudo dpkg-reconfigure wireshark-common`, answer Yes, then `sudo usermod -a -G wireshark $USER` \
             and log in anew; elsewhere: `sudo setcap cap_net_raw,cap_net_admin=ep \"$(command -v dumpcap)\"`"
        }
        Kind::Tcpdump => {
            "Give them to it with `sudo setcap cap_net_raw,cap_net_admin=ep \"$(command -v tcpdump)\"`"
        }
    };
    format!(
        "{program_advice}. Or let only the capturing have them: `sudo tcpdump -i IFACE -U -w - udp | qdissect dump -l -`; \
         qdissect itself needs no rights. {REMOTE}."
    )
}

/// Describes how a process ended.
fn exit_description(status: &ExitStatus) -> String {
    #[cfg(unix)]
    let signal = std::os::unix::process::ExitStatusExt::signal(status);
    #[cfg(windows)]
    let signal: Option<i32> = None;
    match (status.code(), signal) {
        (Some(code), _) => format!("ended with exit status {code}"),
        (None, Some(signal)) => format!("was ended by signal {signal}"),
        (None, None) => "ended".to_owned(),
    }
}

/// The most informative line of a message: the last but one if dumpcap gives the reason in brackets on a line of its own, or if
/// tcpdump repeats its own message; otherwise the last one.
fn main_line(lines: &[String]) -> String {
    let is_own = |line: &&String| line.starts_with("dumpcap: ") || line.starts_with("tcpdump: ");
    let reason = lines.iter().find(|line| line.contains("valid capture filter ("));
    reason.or_else(|| lines.iter().rev().find(is_own)).or(lines.last()).cloned().unwrap_or_default()
}

/// A line of the program's output as a sentence: without the program's name, harmless to terminals, and with a full stop.
fn sentence(line: &str) -> String {
    let line = line.trim();
    let line = ["dumpcap: ", "tcpdump: "].iter().find_map(|name| line.strip_prefix(name)).unwrap_or(line);
    let line = escaped(line).into_owned();
    if line.ends_with(['.', '!', '?']) { line } else { line + "." }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Messages {
        let mut listener = Listener::default();
        bytes.chunks(7).for_each(|piece| listener.hear(piece));
        listener.finish()
    }

    #[test]
    fn drops_are_added_up_and_progress_lines_are_left_out() {
        let dumpcap = read(
            &b"Capturing on 'Loopback: lo' and 'a/b': 7/7 (x'\nFile: -\nPackets: 3 \rPackets captured: 9\n\
              Packets received/dropped on interface 'a/b': 7/7 (x': 9/2 (pcap:2/dumpcap:0/flushed:0/ps_ifdrop:0) (81.8%)\n\
              Packets received/dropped on interface 'lo': 5/1 (pcap:1/dumpcap:0/flushed:0/ps_ifdrop:0) (83.3%)\n"[..],
        );
        assert_eq!((dumpcap.dropped, dumpcap.lines), (Some(3), vec![]));
        let tcpdump = read(
            &b"tcpdump: listening on lo, link-type EN10MB (Ethernet), snapshot length 262144 bytes\n3 packets captured\n\
              6 packets received by filter\n1 packet dropped by kernel\n4 packets dropped by interface"[..],
        );
        assert_eq!((tcpdump.dropped, tcpdump.lines), (Some(5), vec![]));
        let wrong = read(&b"tcpdump: nope: No such device exists\r\n\n(No such device exists)\n"[..]);
        assert_eq!(wrong.lines, ["tcpdump: nope: No such device exists", "(No such device exists)"]);
        assert_eq!(wrong.dropped, None);
    }

    #[test]
    fn messages_are_limited_and_keep_the_last_line() {
        let long = "x".repeat(5_000) + "\n";
        let messages = read((long.repeat(100) + "last\n").as_bytes());
        assert_eq!(messages.lines.len(), MAX_LINES);
        assert!(messages.lines.iter().all(|line| line.len() <= 1000));
        assert_eq!(messages.lines.last().unwrap(), "last");
    }

    fn lines_of(text: &str) -> Vec<String> {
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn a_misspelt_interface_is_recognised() {
        let lines = ["1. eth0 (wired)", "2. wlan0", "3. lo (loopback)"].map(str::to_owned);
        let suggestion_for = |name: &str| suggestion(&[name.to_owned()], &lines);
        assert_eq!(suggestion_for("etho"), "Did you mean eth0? ");
        assert_eq!(suggestion_for("wlan1"), "Did you mean wlan0? ");
        assert_eq!((suggestion_for("tun7"), suggestion_for("eth0")), (String::new(), String::new()));
    }

    #[test]
    fn messages_of_the_programs_are_classified() {
        assert!(is_permission(&lines_of(
            "tcpdump: lo: You don't have permission to perform this capture on that device"
        )));
        assert!(is_permission(&lines_of("x\n(socket: Operation not permitted)")));
        let filter = "dumpcap: Invalid capture filter \"udp prt 3\" for interface 'lo'.\n\
                      That string isn't a valid capture filter (can't parse filter expression: syntax error).\n\
                      See the User's Guide for a description of the capture filter syntax.";
        assert!(main_line(&lines_of(filter)).contains("syntax error"));
        let device = lines_of("tcpdump: nope: No such device exists\n(No such device exists)");
        assert_eq!(main_line(&device), "tcpdump: nope: No such device exists");
        assert_eq!(main_line(&lines_of("first\nlast")), "last");
        assert_eq!(sentence("tcpdump: nope: No such device"), "nope: No such device.");
        assert_eq!(sentence(" a\u{1b}[2J "), "a\\x1b[2J.");
    }
}
