//! Standard error of the capture program: collected while it runs, and evaluated at the end.

use std::io::{BufRead, BufReader, Read};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// Maximum number of lines kept.
const MAX_LINES: usize = 64;
/// Maximum length of a line in bytes; longer lines are cut.
const MAX_LINE: u64 = 1000;

/// The messages of the program.
#[derive(Clone, Debug, Default)]
pub struct Messages {
    /// Lines about errors, at most 64.
    pub lines: Vec<String>,
    /// Number of packets that the kernel or the program dropped, if the program reported it.
    pub dropped: Option<u64>,
}

/// Reads standard error in a thread of its own, so that the program never blocks on it.
#[derive(Debug)]
pub struct Stderr(Receiver<Messages>);

impl Stderr {
    /// Starts reading.
    pub fn listen(input: impl Read + Send + 'static) -> Stderr {
        let (sender, messages) = channel();
        std::thread::spawn(move || sender.send(read(BufReader::new(input))));
        Stderr(messages)
    }

    /// Returns all messages, or none if standard error does not end within `most`.
    pub fn finish(&self, most: Duration) -> Messages {
        self.0.recv_timeout(most).unwrap_or_default()
    }
}

fn read(mut input: impl BufRead) -> Messages {
    let (mut messages, mut line) = (Messages::default(), vec![]);
    while let Ok(1..) = input.by_ref().take(MAX_LINE).read_until(b'\n', &mut line) {
        // Counters overwrite each other with carriage returns.
        String::from_utf8_lossy(&line).split(['\n', '\r']).for_each(|line| messages.add(line.trim()));
        line.clear();
    }
    messages
}

impl Messages {
    fn add(&mut self, line: &str) {
        if let Some(dropped) = dropped(line) {
            self.dropped = Some(self.dropped.unwrap_or(0).saturating_add(dropped));
        } else if !(line.is_empty() || is_chatter(line)) {
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
fn is_chatter(line: &str) -> bool {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drops_are_added_up_and_chatter_is_left_out() {
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
    fn what_is_kept_is_bounded_and_has_the_last_line() {
        let long = "x".repeat(5_000) + "\n";
        let messages = read((long.repeat(100) + "last\n").as_bytes());
        assert_eq!(messages.lines.len(), MAX_LINES);
        assert!(messages.lines.iter().all(|line| line.len() <= 1000));
        assert_eq!(messages.lines.last().unwrap(), "last");
    }
}
