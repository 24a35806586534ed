//! The progress line on a terminal, shown when reading takes longer than a moment.
//!
//! ```text
//!  file or pipe ──> Metered ──> capture::Source        the line is updated before a read of 256 KiB
//!                      ^             │
//!                      └── packets ──┘ the source updates the counter before it refills its buffer
//! ```

use super::common_args::Common;
use super::system::{self, FileId, display_name};
use crate::text::escape::truncated;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::fs::Metadata;
use std::io::{self, IsTerminal, Read};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Shorter runs show no progress.
const PATIENCE: Duration = Duration::from_secs(1);
/// Shortest time between two updates of the line.
const PAUSE: Duration = Duration::from_millis(100);
/// Maximum width of a file name in the line, in columns.
const MAX_NAME: usize = 30;

/// The line, or `None` if no progress is to be shown.
static LINE: Mutex<Option<Line>> = Mutex::new(None);

struct Line {
    /// When the run began, and when the line was last drawn.
    began: Instant,
    drawn: Instant,
    bar: Option<ProgressBar>,
}

/// Calls a function with the line, if progress is shown.
fn with_line<T>(with: impl FnOnce(&mut Line) -> T) -> Option<T> {
    LINE.lock().unwrap_or_else(PoisonError::into_inner).as_mut().map(with)
}

/// Starts showing progress, if that is possible and wanted. `prints_meanwhile` says whether results are printed meanwhile.
pub fn begin(common: &Common, prints_meanwhile: bool) {
    let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    if is_wanted(common, prints_meanwhile, stdout_is_file()) && io::stderr().is_terminal() && !dumb {
        let now = Instant::now();
        let line = Line { began: now, drawn: now, bar: None };
        *LINE.lock().unwrap_or_else(PoisonError::into_inner) = Some(line);
    }
}

/// Whether standard output is a file. A pipe does not count, because it may lead to a pager, which uses the terminal.
fn stdout_is_file() -> bool {
    system::file(&io::stdout()).is_ok_and(|out| FileId::of(&out).is_some())
}

/// Whether to show the line. It would disturb if results are printed meanwhile (`prints_meanwhile`) and not to a file
/// (`to_file`).
fn is_wanted(common: &Common, prints_meanwhile: bool, to_file: bool) -> bool {
    let Common { quiet, follow, output, .. } = common;
    !(*quiet || *follow || prints_meanwhile && !to_file && output.is_none())
}

/// Erases the line before other output; it may be drawn again later.
pub fn hide() {
    with_line(|line| line.bar.take().map(|bar| bar.finish_and_clear()));
}

/// The counters of an input.
#[derive(Debug)]
pub struct Meter {
    name: String,
    /// Size of the file in bytes, if known.
    total: Option<u64>,
    /// Number of the last frame read.
    frames: Arc<AtomicU64>,
}

impl Meter {
    /// Creates the meter of an input, or returns `None` if no progress is shown.
    pub fn new(path: &Path) -> Option<Meter> {
        with_line(|_| ())?;
        Some(Meter::of(path))
    }

    fn of(path: &Path) -> Meter {
        let (file, total) = match path.file_name() {
            Some(dash) if dash == path && dash == "-" => ("standard input".to_owned(), None),
            file => {
                let file = file.map_or_else(|| display_name(path), |file| display_name(Path::new(file)));
                (file, system::metadata(path).ok().filter(Metadata::is_file).map(|data| data.len()))
            }
        };
        Meter { name: truncated(&file, MAX_NAME), total, frames: Arc::default() }
    }

    /// The counter for the number of the last frame read.
    pub fn frames(&self) -> Arc<AtomicU64> {
        self.frames.clone()
    }
}

/// An input that counts its bytes.
pub struct Metered {
    input: Box<dyn Read + Send>,
    meter: Meter,
    read: u64,
    /// When reading began, and how many frames had been read before.
    began: Option<(Instant, u64)>,
}

impl Metered {
    /// Counts the bytes read from `input`.
    pub fn new(input: Box<dyn Read + Send>, meter: Meter) -> Metered {
        Metered { input, meter, read: 0, began: None }
    }

    fn show(&mut self) {
        let now = Instant::now();
        let packets = self.meter.frames.load(Ordering::Relaxed);
        let (began, before) = *self.began.get_or_insert((now, packets));
        let packets = packets.saturating_sub(before);
        let (read, total, time) = (self.read, self.meter.total, now.duration_since(began));
        with_line(|line| {
            if now.duration_since(line.began) >= PATIENCE
                && (line.bar.is_none() || now.duration_since(line.drawn) >= PAUSE)
            {
                line.drawn = now;
                line.draw(&self.meter.name, read, total, progress_text(read, total, packets, time));
            }
        });
    }
}

impl Read for Metered {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.show();
        let result = self.input.read(buffer);
        match result {
            Ok(0) => hide(),
            Ok(n) => self.read = self.read.saturating_add(n as u64),
            Err(ref e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => hide(),
        }
        result
    }
}

impl Drop for Metered {
    /// Reading may stop before the end of the input.
    fn drop(&mut self) {
        hide();
    }
}

impl Line {
    fn draw(&mut self, name: &str, read: u64, total: Option<u64>, text: String) {
        let bar = self.bar.get_or_insert_with(|| {
            let style = match total {
                Some(_) => "{prefix} [{bar:20}] {percent}% {wide_msg}",
                None => "{spinner} {prefix} {wide_msg}",
            };
            let style = ProgressStyle::with_template(style).unwrap_or_else(|_| ProgressStyle::default_bar());
            ProgressBar::with_draw_target(total, ProgressDrawTarget::stderr())
                .with_style(style.progress_chars("=> "))
                .with_prefix(name.to_owned())
        });
        bar.update(|state| state.set_pos(read));
        bar.set_message(text);
    }
}

/// The progress of one input: `12.3 of 45.0 MB, 8.2 MB/s, 61.0 k packets/s, 4 s left`
fn progress_text(read: u64, total: Option<u64>, packets: u64, time: Duration) -> String {
    let seconds = time.as_secs_f64().max(1e-3);
    let (speed, packets) = (read as f64 / seconds, packets as f64 / seconds);
    let megabytes = |bytes: u64| bytes as f64 / 1e6;
    let done = match total {
        Some(total) => format!("{:.1} of {:.1} MB", megabytes(read), megabytes(total)),
        None => format!("{:.1} MB", megabytes(read)),
    };
    let remaining = match total {
        Some(total) if speed > 0.0 => {
            let remaining = total.saturating_sub(read) as f64 / speed;
            format!(", {} left", duration_text(remaining))
        }
        _ => String::new(),
    };
    format!("{done}, {:.1} MB/s, {} packets/s{remaining}", speed / 1e6, scaled(packets))
}

/// Formats a number with three or four digits.
fn scaled(x: f64) -> String {
    match x {
        ..1e3 => format!("{x:.0}"),
        ..1e6 => format!("{:.1} k", x / 1e3),
        _ => format!("{:.1} M", x / 1e6),
    }
}

/// Formats a duration in seconds, minutes or hours.
fn duration_text(seconds: f64) -> String {
    match seconds {
        ..60.0 => format!("{:.0} s", seconds.ceil()),
        ..3600.0 => format!("{}:{:02} min", seconds as u64 / 60, seconds as u64 % 60),
        _ => format!("{:.1} h", seconds / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::super::args::{Cli, Command};
    use super::*;
    use clap::Parser;

    #[test]
    fn the_line_has_progress_speed_and_remaining_time() {
        let time = Duration::from_secs(10);
        let (read, total) = (50_000_000, Some(150_000_000));
        assert_eq!(
            progress_text(read, total, 4_000_000, time),
            "50.0 of 150.0 MB, 5.0 MB/s, 400.0 k packets/s, 20 s left"
        );
        assert_eq!(progress_text(read, None, 20, time), "50.0 MB, 5.0 MB/s, 2 packets/s");
        assert_eq!(progress_text(0, total, 0, Duration::ZERO), "0.0 of 150.0 MB, 0.0 MB/s, 0 packets/s");
        // The file has grown meanwhile.
        assert!(progress_text(read, Some(1), 4_000_000, time).ends_with(", 0 s left"));
        assert_eq!(
            [duration_text(59.5), duration_text(61.0), duration_text(7200.0)],
            ["60 s", "1:01 min", "2.0 h"]
        );
        assert_eq!([scaled(999.0), scaled(2.5e6)], ["999", "2.5 M"]);
    }

    #[test]
    fn a_long_name_is_cut() {
        let called = |file: &str| Meter::of(&Path::new("/nowhere").join(file)).name;
        let (fits, wide) = ("a".repeat(30), "\u{4e2d}".repeat(15));
        assert_eq!([called(&fits), called(&wide)], [fits.clone(), wide.clone()]);
        for long in [fits + "b", wide + "b"] {
            let cut = called(&long);
            assert!(cut.ends_with('…') && unicode_width::UnicodeWidthStr::width(&*cut) <= 30, "{cut}");
        }
        assert_eq!(Meter::of(Path::new("-")).name, "standard input");
    }

    fn wanted(args: &[&str], to_file: bool) -> bool {
        let args = ["qdissect"].iter().chain(args).chain(&["a.pcap"]);
        let Command::Read(reading) = Cli::parse_from(args).command else { unreachable!("it reads") };
        let reading = reading.subcommand();
        is_wanted(reading.common(), reading.prints_meanwhile(), to_file)
    }

    #[test]
    fn progress_is_not_shown_between_lines_of_results() {
        for args in [&["summary"][..], &["stats"], &["check"], &["dump", "--output", "a"]] {
            assert!(wanted(args, true) && wanted(args, false), "{args:?}");
        }
        for args in [&["dump"][..], &["exchanges"], &["check", "-T", "ndjson"]] {
            assert!(!wanted(args, false) && wanted(args, true), "{args:?}");
        }
        for args in [&["summary", "-q"][..], &["dump", "--follow"]] {
            assert!(!wanted(args, true) && !wanted(args, false), "{args:?}");
        }
    }
}
