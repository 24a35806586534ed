//! Time, processor time and memory of a run, from Linux's `/proc`.

use std::fs;
use std::io;
use std::path::Path;
use std::str::FromStr;
use std::time::{Duration, Instant};

/// `utime` and the like in `/proc/PID/stat` count in hundredths of a second on every Linux.
const TICK: u64 = 10_000_000;

/// The figures of one run.
#[derive(Clone, Copy)]
pub struct Figures {
    /// Packets read.
    pub packets: u64,
    /// Size of the file.
    pub bytes: u64,
    /// Wall-clock time in nanoseconds.
    pub wall_ns: u64,
    /// Processor time in user and system mode, in nanoseconds; 0 when unknown.
    pub cpu_ns: u64,
    /// Largest resident set of the process, in KiB; 0 when unknown.
    pub peak_kib: u64,
}

impl std::fmt::Display for Figures {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { packets, bytes, wall_ns, cpu_ns, peak_kib } = self;
        write!(f, "packets={packets} bytes={bytes} wall_ns={wall_ns} cpu_ns={cpu_ns} peak_kib={peak_kib}")
    }
}

impl FromStr for Figures {
    type Err = io::Error;

    fn from_str(line: &str) -> Result<Self, Self::Err> {
        let field = |name: &str| {
            let value = line.split_whitespace().find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
            value
                .and_then(|value| value.parse().ok())
                .ok_or_else(|| io::Error::other(format!("no {name}: {line}")))
        };
        Ok(Self {
            packets: field("packets")?,
            bytes: field("bytes")?,
            wall_ns: field("wall_ns")?,
            cpu_ns: field("cpu_ns")?,
            peak_kib: field("peak_kib")?,
        })
    }
}

/// Runs `work` on the file in this process; `work` returns the number of packets.
pub fn measure(path: &Path, work: impl FnOnce(&Path) -> io::Result<u64>) -> io::Result<Figures> {
    let bytes = fs::metadata(path)?.len();
    let before = Processor::now();
    let start = Instant::now();
    let packets = work(path)?;
    let wall_ns = start.elapsed().as_nanos() as u64;
    let cpu_ns = before.passed();
    Ok(Figures { packets, bytes, wall_ns, cpu_ns, peak_kib: peak("self") })
}

/// Largest resident set of a process so far, in KiB; 0 when unknown.
pub fn peak(process: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().strip_suffix(" kB")?.parse().ok()).unwrap_or(0)
}

/// Processor time of the children of this process that have ended, in nanoseconds, in steps of [`TICK`].
pub fn children() -> u64 {
    ticks(15)
}

struct Processor {
    thread: u64,
    process: u64,
}

impl Processor {
    fn now() -> Self {
        let process = ticks(13);
        Self { process, thread: thread_time() }
    }

    /// The time of this thread is exact. That of the whole process is coarse, and used only if other threads worked as well.
    fn passed(&self) -> u64 {
        let thread = thread_time() - self.thread;
        let process = ticks(13) - self.process;
        if process > thread + 2 * TICK { process } else { thread }
    }
}

/// Processor time of this thread, in nanoseconds.
pub fn thread_time() -> u64 {
    // The kernel updates it when the thread leaves the processor.
    std::thread::sleep(Duration::from_micros(20));
    let schedule = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    schedule.split(' ').next().and_then(|time| time.parse().ok()).unwrap_or(0)
}

/// Two neighbouring fields of `/proc/self/stat` from `field` on (0 is the process number), added, in
/// nanoseconds.
fn ticks(field: usize) -> u64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name of the program is in parentheses and may hold anything; the state, field 2, follows it.
    let after = stat.rsplit_once(')').map_or("", |(_, after)| after);
    let fields = after.split_whitespace().skip(field - 2).take(2);
    fields.filter_map(|ticks| ticks.parse::<u64>().ok()).sum::<u64>() * TICK
}
