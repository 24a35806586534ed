//! What the capture program says on its standard error: gathered while it runs, and read at the end.

use std::io::{BufRead, BufReader, Read};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Most lines kept.
const MAX_LINES: usize = 64;
/// Longest line kept, in bytes; what is longer is cut.
const MAX_LINE: u64 = 1000;

/// What has been said so far.
#[derive(Clone, Debug, Default)]
pub struct Said {
    /// Lines that tell what went wrong, at most 64 of them.
    pub lines: Vec<String>,
    /// Packets that the kernel or the program dropped, as far as it has told.
    pub dropped: Option<u64>,
}

/// Listens in a thread of its own, so that the program never waits to be heard.
#[derive(Debug)]
pub struct Listening {
    said: Arc<Mutex<Said>>,
    over: Receiver<()>,
}

impl Listening {
    /// Begins to listen.
    pub fn new(input: impl Read + Send + 'static) -> Listening {
        let said = Arc::new(Mutex::new(Said::default()));
        let (ends, over) = channel();
        let heard = said.clone();
        std::thread::spawn(move || {
            listen(BufReader::new(input), &heard);
            let _ = ends.send(());
        });
        Listening { said, over }
    }

    /// Everything that was said, at the latest after `most`.
    pub fn finish(&self, most: Duration) -> Said {
        let _ = self.over.recv_timeout(most);
        self.said.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn listen(mut input: impl BufRead, said: &Mutex<Said>) {
    let mut line = vec![];
    loop {
        line.clear();
        match input.by_ref().take(MAX_LINE).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
        // Counts are written over each other with carriage returns.
        String::from_utf8_lossy(&line).split(['\n', '\r']).for_each(|line| said.hear(line.trim()));
    }
}

impl Said {
    fn hear(&mut self, line: &str) {
        if let Some(dropped) = dropped(line) {
            self.dropped = Some(self.dropped.unwrap_or(0).saturating_add(dropped));
        } else if !(line.is_empty() || is_chatter(line)) {
            if self.lines.len() >= MAX_LINES {
                self.lines.pop(); // the last line is the one that counts
            }
            self.lines.push(line.to_owned());
        }
    }
}

/// The number of packets that a line says were dropped.
fn dropped(line: &str) -> Option<u64> {
    if let Some(rest) = line.strip_prefix("Packets received/dropped on interface ") {
        // 'eth0': 100/3 (pcap:...); whatever the name is, the numbers are behind its end
        let (_, numbers) = rest.rsplit_once("': ")?;
        let (_, dropped) = numbers.split_once('/')?;
        return dropped.split(' ').next()?.parse().ok();
    }
    let (number, what) = line.split_once(' ')?;
    let what = what.strip_prefix("packets ").or_else(|| what.strip_prefix("packet "))?;
    ["dropped by kernel", "dropped by interface"].contains(&what).then(|| number.parse().ok())?
}

/// Whether a line is only about what goes on.
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

    fn hear(text: &[u8]) -> Said {
        let said = Mutex::default();
        listen(text, &said);
        said.into_inner().unwrap()
    }

    #[test]
    fn drops_are_added_up_and_chatter_is_left_out() {
        let dumpcap = hear(
            b"Capturing on 'Loopback: lo' and 'a/b': 7/7 (x'\nFile: -\nPackets: 3 \rPackets captured: 9\n\
              Packets received/dropped on interface 'a/b': 7/7 (x': 9/2 (pcap:2/dumpcap:0/flushed:0/ps_ifdrop:0) (81.8%)\n\
              Packets received/dropped on interface 'lo': 5/1 (pcap:1/dumpcap:0/flushed:0/ps_ifdrop:0) (83.3%)\n",
        );
        assert_eq!((dumpcap.dropped, dumpcap.lines), (Some(3), vec![]));
        let tcpdump = hear(
            b"tcpdump: listening on lo, link-type EN10MB (Ethernet), snapshot length 262144 bytes\n3 packets captured\n\
              6 packets received by filter\n1 packet dropped by kernel\n4 packets dropped by interface",
        );
        assert_eq!((tcpdump.dropped, tcpdump.lines), (Some(5), vec![]));
        let wrong = hear(b"tcpdump: nope: No such device exists\r\n\n(No such device exists)\n");
        assert_eq!(wrong.lines, ["tcpdump: nope: No such device exists", "(No such device exists)"]);
        assert_eq!(wrong.dropped, None);
    }

    #[test]
    fn what_is_kept_is_bounded_and_has_the_last_line() {
        let long = "x".repeat(5_000) + "\n";
        let said = hear((long.repeat(100) + "last\n").as_bytes());
        assert_eq!(said.lines.len(), MAX_LINES);
        assert!(said.lines.iter().all(|line| line.len() <= 1000));
        assert_eq!(said.lines.last().unwrap(), "last");
    }
}
