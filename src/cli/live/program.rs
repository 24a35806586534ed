//! The capture program, dumpcap or tcpdump. It runs in a process of its own, which has the rights to capture but does not parse
//! packets. Its output comes through a pipe.

use super::args::LiveArgs;
use std::env::consts::EXE_SUFFIX;
use std::io;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Directories that are missing in the search path of ordinary users: of administration programs, and of Wireshark.
#[cfg(unix)]
const EXTRA_FOLDERS: &[&str] =
    &["/usr/sbin", "/usr/local/sbin", "/Applications/Wireshark.app/Contents/MacOS"];
#[cfg(windows)]
const EXTRA_FOLDERS: &[&str] = &[r"C:\Program Files\Wireshark"];

/// Default buffer size of tcpdump in KiB.
const TCPDUMP_BUFFER: u32 = 128 * 1024;
/// Default snap length of tcpdump. In immediate mode every packet takes as much of the kernel's buffer as the longest one
/// could, which is 64 KiB on the loopback interface, so that packets are lost. No network has longer frames than this.
const TCPDUMP_SNAPLEN: u32 = 9216;
/// Default buffer size of dumpcap in MiB.
const DUMPCAP_BUFFER: u32 = 64;

/// The error message if tcpdump is to capture on several interfaces.
const ONE_INTERFACE: &str =
    "tcpdump captures on one interface: name one -i, or `-i any`, or install dumpcap, which takes several.";

/// The capture program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Wireshark's program; it writes pcapng.
    Dumpcap,
    /// Writes pcap, and captures on a single interface.
    Tcpdump,
}

/// A pipe of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pipe {
    /// Standard output.
    Packets,
    /// Standard error.
    Messages,
}

/// An installed capture program.
#[derive(Clone, Debug)]
pub struct Program {
    pub kind: Kind,
    /// Path of the executable.
    pub path: PathBuf,
}

impl Kind {
    /// The name of the command.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Dumpcap => "dumpcap",
            Kind::Tcpdump => "tcpdump",
        }
    }
}

impl Program {
    /// Finds dumpcap, or else tcpdump.
    pub fn find() -> Option<Program> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        // An empty entry means the working directory, where anybody may have put a program.
        let folders = std::env::split_paths(&path).filter(|folder| folder.is_absolute());
        let folders: Vec<_> = folders.chain(EXTRA_FOLDERS.iter().map(PathBuf::from)).collect();
        let find = |kind: Kind| {
            let file = format!("{}{EXE_SUFFIX}", kind.name());
            let path = folders.iter().map(|folder| folder.join(&file)).find(|path| path.is_file())?;
            Some(Program { kind, path })
        };
        find(Kind::Dumpcap).or_else(|| find(Kind::Tcpdump))
    }

    /// How long the program may delay a packet. dumpcap reads the kernel's buffer every quarter of a second.
    pub fn delay(&self) -> Duration {
        match self.kind {
            Kind::Dumpcap => Duration::from_millis(250),
            Kind::Tcpdump => Duration::ZERO,
        }
    }

    /// The command that captures to standard output.
    ///
    /// # Errors
    /// When the program does not support what the user wants.
    pub fn capture(&self, args: &LiveArgs) -> Result<Command, String> {
        let mut command = self.command();
        let filter = args.filter.as_deref().unwrap_or_default();
        let snaplen = match self.kind {
            Kind::Dumpcap => args.snaplen,
            Kind::Tcpdump => args.snaplen.or(Some(TCPDUMP_SNAPLEN)),
        };
        for (option, value) in [("-s", snaplen.map(u64::from)), ("-c", args.common.count)] {
            value.iter().for_each(|value| _ = command.args([option, &value.to_string()]));
        }
        match (self.kind, args.interface.as_slice()) {
            (Kind::Dumpcap, interfaces) => {
                command.args(["-q", "-B", &args.buffer.unwrap_or(DUMPCAP_BUFFER).to_string()]);
                if !filter.is_empty() {
                    command.args(["-f", filter]);
                }
                interfaces.iter().for_each(|name| _ = command.args(["-i", name]));
                command.args(["-w", "-"]);
            }
            (Kind::Tcpdump, [interface]) => {
                let buffer = args.buffer.map_or(TCPDUMP_BUFFER, |mebibytes| mebibytes.saturating_mul(1024));
                command.args(["-n", "-U", "--immediate-mode", "-B", &buffer.to_string()]);
                command.args(["-i", interface, "-w", "-"]);
                if !filter.is_empty() {
                    command.args(["--", filter]);
                }
            }
            (Kind::Tcpdump, _) => return Err(ONE_INTERFACE.into()),
        }
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        Ok(command)
    }

    /// The program without arguments. Its messages do not depend on the user's language.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.path);
        command.stdin(Stdio::null()).env("LC_ALL", "C");
        command
    }
}

/// Starts a program. Where there are process groups, it has one of its own: Ctrl-C does not reach it, and it can send everything
/// before it is stopped. On Windows Ctrl-C reaches it, too, and it ends by itself.
///
/// # Errors
/// When the program cannot be started.
pub fn start(mut command: Command) -> io::Result<Child> {
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    command.spawn()
}

/// A way to stop a program.
#[derive(Clone, Copy, Debug)]
pub enum Stop {
    /// It may send what it has.
    Politely,
    /// What it has not sent is lost.
    AtOnce,
}

impl Stop {
    /// Stops a program that has not been waited for, so that its process id is still its own, and its children. It is no error if it
    /// has ended already.
    #[cfg(unix)]
    pub fn send(self, child: &mut Child) {
        use rustix::process::{Pid, Signal, kill_process_group};
        let signal = match self {
            Stop::Politely => Signal::INT,
            Stop::AtOnce => Signal::KILL,
        };
        if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
            let _ = kill_process_group(group, signal);
        }
    }

    /// Stops a program. Windows has no signal for a single process; what was captured is in the pipe already.
    #[cfg(windows)]
    pub fn send(self, child: &mut Child) {
        match self {
            Stop::Politely | Stop::AtOnce => _ = child.kill(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::args::{Cli, Command as CliCommand, Reading};
    use clap::Parser;

    fn arguments(kind: Kind, line: &[&str]) -> Result<String, String> {
        let cli = Cli::try_parse_from(["qdissect", "live"].iter().chain(line)).unwrap();
        let CliCommand::Read(reading) = cli.command else { unreachable!("it is a reading") };
        let Reading::Live(args) = *reading else { unreachable!("it is live") };
        let program = Program { kind, path: kind.name().into() };
        let words =
            |command: Command| command.get_args().map(|a| a.to_str().unwrap().to_owned()).collect::<Vec<_>>();
        program.capture(&args).map(|command| words(command).join(" "))
    }

    #[test]
    fn each_program_gets_its_own_arguments() {
        let wish = ["-i", "lo", "-f", "udp port 7777", "-s", "200", "-c", "9"];
        let dumpcap = "-s 200 -c 9 -q -B 64 -f udp port 7777 -i lo -w -";
        assert_eq!(arguments(Kind::Dumpcap, &wish).unwrap(), dumpcap);
        let tcpdump = "-s 200 -c 9 -n -U --immediate-mode -B 131072 -i lo -w - -- udp port 7777";
        assert_eq!(arguments(Kind::Tcpdump, &wish).unwrap(), tcpdump);
        assert!(arguments(Kind::Tcpdump, &["-i", "lo"]).unwrap().starts_with("-s 9216 -n"));
        let two = ["-i", "lo", "-i", "eth0", "-B", "2"];
        assert_eq!(arguments(Kind::Dumpcap, &two).unwrap(), "-q -B 2 -i lo -i eth0 -w -");
        assert!(arguments(Kind::Tcpdump, &two).unwrap_err().contains("one interface"));
    }
}
