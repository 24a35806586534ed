//! The measured programs: this program as a child process, and other programs.

use crate::measure::{self, Figures};
use crate::sets::BenchCapture;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Time between two samples of the memory of another tool.
const SAMPLE_INTERVAL: Duration = Duration::from_millis(2);

/// A program and what it does with a capture.
#[derive(Clone, Copy)]
pub enum Work {
    /// A subcommand of this program.
    Own(&'static str),
    /// Another program and its arguments, in which the words `FILE` and `SCRIPT` are filled in.
    Tool(&'static str, &'static str),
}

impl Work {
    /// The walk, which all others are compared with.
    pub const FLOOR: Self = Self::Own("walk");
    /// The summary.
    pub const SUMMARY: Self = Self::Own("summary");
    /// The verdict.
    pub const CHECK: Self = Self::Own("verdict");
    /// The summary and [`Self::OTHERS`] with a second thread.
    pub const AHEAD: [Self; 6] = [
        Self::Own("summary-2"),
        Self::Own("verdict-2"),
        Self::Own("ndjson-2"),
        Self::Own("text-2"),
        Self::Own("exchanges-2"),
        Self::Own("stats-2"),
    ];
    /// The other subcommands of this program.
    pub const OTHERS: [Self; 5] =
        [Self::CHECK, Self::Own("ndjson"), Self::Own("text"), Self::Own("exchanges"), Self::Own("stats")];
    /// Programs that do not dissect: one selects and copies packets, one counts them.
    pub const READERS: [Self; 2] =
        [Self::Tool("tcpdump", "-nr FILE udp -w /dev/null"), Self::Tool("capinfos", "-c FILE")];
    /// Programs that dissect. tshark dissects only with a tap or a filter; the protocol hierarchy is a tap. With the script it
    /// knows SQP and tries it first, because some servers use ports of other protocols.
    pub const DISSECTORS: [Self; 3] = [
        Self::Tool("tshark", "-q -z io,phs -r FILE"),
        Self::Tool(
            "tshark",
            "-n -o udp.try_heuristic_first:TRUE -X SCRIPT -Y sqp -T fields -e frame.number -e sqp.token \
             -e sqp.server_name -e sqp.players -r FILE",
        ),
        Self::Tool("tshark", "-n -o udp.try_heuristic_first:TRUE -X SCRIPT -Y sqp -T json -r FILE"),
    ];

    /// A program that the user names, with its arguments. It lives as long as this process.
    pub fn named(command: &str) -> Self {
        let (tool, arguments) = command.split_once(' ').unwrap_or((command, "FILE"));
        Self::Tool(tool.to_owned().leak(), arguments.to_owned().leak())
    }

    /// The program.
    pub fn name(self) -> &'static str {
        match self {
            Self::Own(name) | Self::Tool(name, _) => name,
        }
    }

    /// The title in tables.
    pub fn title(self) -> String {
        match self {
            Self::Own(name) => name.to_owned(),
            Self::Tool(tool, arguments) => format!("`{tool} {arguments}`"),
        }
    }

    /// The row that this one is compared with: the same work with one thread, or the summary for the verdict.
    pub fn compared_with(self) -> Option<&'static str> {
        let Self::Own(name) = self else { return None };
        name.strip_suffix("-2").or_else(|| (name == Self::CHECK.name()).then_some(Self::SUMMARY.name()))
    }

    /// Whether the program is installed.
    pub fn is_installed(self) -> bool {
        let Self::Tool(tool, arguments) = self else { return true };
        let Ok(output) = Command::new(tool).arg("--version").output() else { return false };
        let lua = String::from_utf8_lossy(&output.stdout).contains("with Lua");
        output.status.success() && (lua || !arguments.contains("SCRIPT"))
    }

    /// Runs it once.
    pub fn run(self, set: &BenchCapture) -> io::Result<Figures> {
        match self {
            Self::Own(subcommand) => run_self(subcommand, set).map(|(figures, _)| figures),
            Self::Tool(tool, arguments) => run_tool(Path::new(tool), arguments, set),
        }
    }
}

/// Runs this program as a child process, which measures itself without its start-up. Returns the figures and the line that
/// contains them.
pub fn run_self(subcommand: &str, set: &BenchCapture) -> io::Result<(Figures, String)> {
    let output = Command::new(std::env::current_exe()?).arg(subcommand).arg(&set.path).output()?;
    if !output.status.success() {
        return Err(io::Error::other(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
    }
    let line = String::from_utf8_lossy(&output.stdout).into_owned();
    let figures: Figures = line.parse()?;
    if figures.packets != set.packets {
        return Err(io::Error::other(format!("{} packets instead of {}", figures.packets, set.packets)));
    }
    Ok((figures, line))
}

/// Runs another program and measures it from outside, including its start-up.
pub fn run_tool(tool: &Path, arguments: &str, set: &BenchCapture) -> io::Result<Figures> {
    let mut command = Command::new(tool);
    for argument in arguments.split_whitespace() {
        match argument {
            "FILE" => command.arg(&set.path),
            "SCRIPT" => command.arg(format!("lua_script:{}", script().display())),
            _ => command.arg(argument),
        };
    }
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let cpu = measure::children();
    let start = Instant::now();
    let mut child = command.spawn()?;
    let process = child.id().to_string();
    let ended = AtomicBool::new(false);
    let (status, wall_ns, peak_kib) = std::thread::scope(|scope| {
        let watch = scope.spawn(|| watch(&process, &ended));
        let status = child.wait();
        let wall_ns = start.elapsed().as_nanos() as u64;
        ended.store(true, Ordering::Relaxed);
        (status, wall_ns, watch.join().unwrap_or(0))
    });
    let status = status?;
    if !status.success() {
        return Err(io::Error::other(format!("{} ended with {status}", tool.display())));
    }
    let cpu_ns = measure::children() - cpu;
    Ok(Figures { packets: set.packets, bytes: set.bytes, wall_ns, cpu_ns, peak_kib })
}

/// The SQP dissector for tshark.
fn script() -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "tests", "bench", "sqp.lua"].iter().collect()
}

/// Samples the resident set of another process until it has ended. Returns the largest one in KiB.
fn watch(process: &str, ended: &AtomicBool) -> u64 {
    let mut peak = 0;
    while !ended.load(Ordering::Relaxed) {
        peak = peak.max(measure::peak(process));
        std::thread::sleep(SAMPLE_INTERVAL);
    }
    peak
}
