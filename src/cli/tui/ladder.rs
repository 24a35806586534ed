//! The ladder: requests and answers of a server or a conversation as arrows, in the order of their frames.

use super::listing::frame_text;
use crate::browse::Index;
use crate::capture::Time;
use crate::exchange::{Exchange, Outcome};
use crate::net::Endpoint;
use crate::report::{count, duration};
use std::borrow::Borrow;
use unicode_width::UnicodeWidthStr;

/// Most rungs; further ones are counted.
pub const MAX_RUNGS: usize = 10_000;
/// Width of an arrow, and of the longest name that stands in it.
const ARROW: usize = 28;

/// A request or an answer.
struct Rung {
    frame: u64,
    time: Time,
    client: Endpoint,
    arrow: String,
    remark: String,
}

/// An arrow to the right or to the left, with a name in it.
fn arrow(name: &str, to_server: bool) -> String {
    let dashes = ARROW.saturating_sub(name.width() + 3).max(2);
    let (before, after) = ("─".repeat(dashes / 2), "─".repeat(dashes - dashes / 2));
    match to_server {
        true => format!("{before} {name} {after}>"),
        false => format!("<{before} {name} {after}"),
    }
}

fn request(e: &Exchange) -> Rung {
    let mut remarks = vec![];
    if e.retransmissions > 0 {
        remarks.push(format!("sent {} more", count(e.retransmissions.into(), "time")));
    }
    match e.outcome {
        Outcome::Answered | Outcome::Late => {}
        Outcome::Unanswered => remarks.push("no answer".to_owned()),
        Outcome::Undecided => remarks.push("the capture ends before an answer is due".to_owned()),
        Outcome::Refused => remarks.push(format!("refused: {}", e.reason.unwrap_or("by ICMP"))),
    }
    Rung {
        frame: e.request_frame,
        time: e.request_time,
        client: e.client,
        arrow: arrow(e.step_name(), true),
        remark: remarks.join(", "),
    }
}

fn answer(e: &Exchange) -> Option<Rung> {
    let time = e.response_time?;
    let name = e.answer.map_or("answer", |answer| e.protocol.info().message_name(answer));
    let mut remarks = vec![format!("after {}", duration(time))];
    if e.response_parts.len() > 1 {
        remarks.push(format!("{} parts", e.response_parts.len()));
    }
    if e.outcome == Outcome::Late {
        remarks.push("too late".to_owned());
    }
    if e.incomplete.is_some() {
        remarks.push("incomplete".to_owned());
    }
    Some(Rung {
        frame: e.response_frame?,
        time: e.request_time.plus(time),
        client: e.client,
        arrow: arrow(name, false),
        remark: remarks.join(", "),
    })
}

/// The lines of a ladder of these exchanges, with times since the first of them. Clients are named where there are several.
pub fn ladder(index: &Index, exchanges: impl Iterator<Item = impl Borrow<Exchange>>) -> Vec<String> {
    let mut rungs = vec![];
    let mut more = 0;
    for e in exchanges {
        match rungs.len() < MAX_RUNGS {
            true => rungs.extend(std::iter::once(request(e.borrow())).chain(answer(e.borrow()))),
            false => more += 1,
        }
    }
    rungs.sort_by_key(|rung| rung.frame);
    let Some(first) = rungs.first() else { return vec!["There are no exchanges.".to_owned()] };
    let (begin, client) = (first.time, first.client);
    let has_clients = rungs.iter().any(|rung| rung.client != client);
    let widest = |of: &dyn Fn(&Rung) -> String| rungs.iter().map(|rung| of(rung).width()).max().unwrap_or(0);
    let time = |rung: &Rung| {
        let nanos = rung.time.since(begin).unwrap_or(0);
        format!("{:.6}", nanos as f64 / 1e9)
    };
    let frame = |rung: &Rung| frame_text(index, rung.frame);
    let [time_width, frame_width, client_width] =
        [widest(&time), widest(&frame), widest(&|rung| rung.client.to_string())];
    let line = |rung: &Rung| {
        let client = match has_clients {
            true => format!("{:client_width$}  ", rung.client.to_string()),
            false => String::new(),
        };
        let blanks = " ".repeat((ARROW + 2).saturating_sub(rung.arrow.width()));
        let line = format!(
            "{:>frame_width$}  {:>time_width$} s  {client}{}{blanks}{}",
            frame(rung),
            time(rung),
            rung.arrow,
            rung.remark
        );
        line.trim_end().to_owned()
    };
    let rest = (more > 0).then(|| format!("and {more} more exchanges"));
    rungs.iter().map(line).chain(rest).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocols::Id;

    fn exchange(frame: u64, client: u16, time: Option<i64>) -> Exchange {
        let ends = [Endpoint::v4([198, 51, 100, 7], client), Endpoint::v4([192, 0, 2, 1], 7777)];
        let outcome = if time.is_some() { Outcome::Answered } else { Outcome::Unanswered };
        Exchange {
            request_time: Time::from_nanos(frame as i64 * 1_000_000),
            response_frame: time.map(|_| frame + 2),
            response_time: time,
            outcome,
            ..Exchange::unanswered(frame, Id::Sqp, ends)
        }
    }

    #[test]
    fn rungs_are_in_the_order_of_frames() {
        let index = Index::new(1);
        let exchanges = [exchange(1, 5, Some(2_500_000)), exchange(2, 6, None)];
        let lines = ladder(&index, exchanges.iter());
        let step = exchanges[0].step_name();
        assert_eq!(lines.len(), 3);
        let first = "1  0.000000 s  198.51.100.7:5  ";
        assert!(lines[0].starts_with(first) && lines[0].contains(step), "{}", lines[0]);
        assert!(lines[1].starts_with("2  0.001000 s  198.51.100.7:6") && lines[1].ends_with("no answer"));
        assert!(
            lines[2].starts_with("3  0.002500 s") && lines[2].ends_with("after 2.500 ms"),
            "{}",
            lines[2]
        );
        let alone = ladder(&index, exchanges[..1].iter());
        assert!(!alone[0].contains("198.51.100.7"), "{}", alone[0]);
    }

    #[test]
    fn rungs_are_bounded() {
        let index = Index::new(1);
        let many: Vec<_> = (0..MAX_RUNGS as u64 + 7).map(|n| exchange(n + 1, 5, None)).collect();
        let lines = ladder(&index, many.iter());
        assert_eq!(lines.len(), MAX_RUNGS + 1);
        assert_eq!(lines.last().unwrap(), "and 7 more exchanges");
    }
}
