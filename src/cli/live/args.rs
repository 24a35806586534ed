//! The arguments of `qdissect live`.

use crate::cli::choices::{DUMP_FORMATS, Format, OrderArgs};
use crate::cli::columns::ColumnArgs;
use crate::cli::common_args::Common;
use crate::cli::detail::DetailArgs;
use crate::cli::metrics::address;

use crate::text::escape::escaped;
use crate::text::similar::similar;
use clap::Args;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::time::Duration;

/// The largest snap length that the capture programs accept, in bytes.
const MAX_SNAPLEN: i64 = 262_144;

/// `qdissect live`
#[derive(Debug, Args)]
pub struct LiveArgs {
    /// Interface to capture on, by name or number (see -D); may be repeated where dumpcap is installed
    #[arg(short = 'i', long, value_name = "IFACE", required_unless_present = "list_interfaces")]
    pub interface: Vec<String>,
    /// List the interfaces
    #[arg(short = 'D', long)]
    pub list_interfaces: bool,
    /// Capture filter in libpcap's language, such as "udp port 7777"; without one everything is captured
    #[arg(short = 'f', value_name = "BPF")]
    pub filter: Option<String>,
    /// Capture at most N bytes of each packet; 0 for all of it
    #[arg(short = 's', long = "snapshot-length", value_name = "N", value_parser = clap::value_parser!(u32).range(0..=MAX_SNAPLEN))]
    pub snaplen: Option<u32>,
    /// Size of the kernel's buffer in MiB
    #[arg(short = 'B', long = "buffer-size", value_name = "MIB", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub buffer: Option<u32>,
    /// When to stop: duration:SECONDS
    #[arg(short = 'a', long = "autostop", value_name = "duration:N", value_parser = duration)]
    pub autostop: Option<Duration>,
    /// A ring of files, which dumpcap has
    #[arg(short = 'b', long = "ring-buffer", value_name = "KEY:N", hide = true)]
    pub ring: Vec<String>,
    /// Print the summary at the end in place of packets
    #[arg(long, conflicts_with_all = ["tree", "only", "hex", "explain"])]
    pub summary: bool,
    /// Serve metrics for Prometheus over HTTP at this IP address and port, e.g. 127.0.0.1:9400
    #[arg(long, value_name = "ADDR", value_parser = address)]
    pub metrics: Option<SocketAddr>,
    /// Walk through the packets as they come, with the screens of `qdissect tui`
    #[cfg(feature = "tui")]
    #[arg(long, conflicts_with_all = ["tree", "only", "hex", "explain", "summary", "format", "output", "top", "metrics"])]
    pub tui: bool,
    /// Output format
    #[arg(short = 'T', long, value_parser = DUMP_FORMATS, default_value = "text", value_name = "FMT")]
    pub format: Format,
    #[command(flatten)]
    pub columns: ColumnArgs,
    /// Also the datagrams that no protocol claims
    #[arg(long)]
    pub all: bool,
    /// The busiest servers of the last ten seconds, once a second; elsewhere than on a terminal, a line for each. With
    /// --summary, or with N: at most N rows
    #[arg(long, value_name = "N", num_args = 0..=1, conflicts_with_all = ["tree", "only", "hex", "explain"])]
    pub top: Option<Option<NonZeroUsize>>,
    #[command(flatten)]
    pub order: OrderArgs,
    #[command(flatten)]
    pub detail: DetailArgs,
    #[command(flatten)]
    pub common: Common,
}

fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || {
        let misspelt = text.split_once(':').filter(|(key, _)| similar(key, ["duration"]).is_some());
        let meant = misspelt.filter(|(key, _)| *key != "duration");
        let meant = meant.map_or(String::new(), |(_, n)| format!(" Did you mean duration:{}?", escaped(n)));
        format!("\"{text}\" is not of the form duration:SECONDS, for example duration:60.{meant}")
    };
    let seconds: f64 = text.strip_prefix("duration:").ok_or_else(wrong)?.parse().map_err(|_| wrong())?;
    let duration = Duration::try_from_secs_f64(seconds).map_err(|_| wrong())?;
    // 136 years are longer than any run, and such points in time can still be computed.
    if duration.is_zero() || duration > Duration::from_secs(u32::MAX.into()) {
        return Err(format!("\"{text}\": the duration must be more than nothing and less than 136 years."));
    }
    Ok(duration)
}

impl LiveArgs {
    /// Whether the busiest servers are shown.
    pub fn shows_top(&self) -> bool {
        self.top.is_some() && !self.summary
    }

    /// Checks for options that make no sense for a capture.
    pub fn check(&self) -> Result<(), String> {
        let Common { files, read, allow_truncated, per_file, follow, annotate, .. } = &self.common;
        if let Some(file) = files.first() {
            let file = crate::text::escape::quoted(&file.to_string_lossy());
            return Err(format!(
                "`live` captures and reads no file, and {file} would be one: `qdissect dump` reads files, and a \
                 capture filter follows -f."
            ));
        }
        let wrong = [
            (
                self.shows_top() && self.format != Format::Text,
                "--top shows servers as lines for people: leave -T out, or add --summary for one table at the end.",
            ),
            (!read.is_empty(), "`live` captures and reads no file: use `qdissect dump` in place of -r."),
            (*allow_truncated, "--allow-truncated is about files; `live` captures."),
            (
                self.interface.iter().any(|name| name == "-" || name.is_empty()),
                "-i needs an interface; `qdissect dump -` reads a capture from standard input.",
            ),
            (*per_file || *follow, "--per-file and --follow are about files; `live` captures."),
            (
                annotate.is_some(),
                "--annotate needs a capture that was read: use it with `qdissect dump` on the file that -w saves.",
            ),
            (
                !self.ring.is_empty(),
                "`live` saves to one file, without -b. For a ring of files run `dumpcap -i IFACE -b filesize:KB \
                 -b files:N -w DIR/NAME.pcapng`, and beside it `qdissect dump --follow DIR`, which shows what it \
                 captures.",
            ),
        ];
        wrong.iter().find(|(given, _)| *given).map_or(Ok(()), |(_, why)| Err((*why).to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stop_conditions_are_parsed_and_errors_explain_the_form() {
        assert_eq!(duration("duration:0.5"), Ok(Duration::from_millis(500)));
        for text in
            ["duration:0", "duration:-1", "duration:1e300", "duration:nan", "duration:", "packets:3", "5"]
        {
            assert!(duration(text).unwrap_err().starts_with(&format!("\"{text}\"")), "{text}");
        }
        assert!(duration("duraton:4").unwrap_err().ends_with("Did you mean duration:4?"));
    }

    #[test]
    fn numbers_out_of_range_are_rejected() {
        use clap::Parser;
        let takes = |option: &str, value: &str| {
            let args = ["qdissect", "live", "-i", "lo", "-w", "a", option, value];
            crate::cli::args::Cli::try_parse_from(args).map(drop).map_err(|e| e.to_string())
        };
        for (option, highest, beyond) in [
            ("-s", "262144", "262145"),
            ("-B", "4096", "4097"),
            ("-a", "duration:4294967295", "duration:4294967296"),
        ] {
            assert_eq!(takes(option, highest), Ok(()), "{option} {highest}");
            let declined = takes(option, beyond).unwrap_err();
            assert!(declined.contains(beyond), "{declined}");
        }
        assert!(takes("-B", "0").is_err() && takes("-s", "0").is_ok());
    }
}
