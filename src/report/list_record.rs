//! Keeps one packet as a list shows it: a line of cells.

use super::{Files, Report, StandIns, Wants};
use crate::capture::{CaptureInfo, Time};
use crate::check::Packet;
use crate::classify::looks_like::looks_like;
use crate::decode::{Facts, Value};
use crate::net::{Datagram, Endpoint};
use crate::text::escape::escaped;
use crate::text::timestamps::stamp;
use serde::Serialize;
use std::io;

/// A packet in a list. All text from the network in it is escaped.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ListRecord {
    /// The number of its frame in its capture.
    pub frame: u64,
    /// The time of day in UTC, to the millisecond; empty if it is unknown or made up.
    pub time: String,
    /// The endpoint that sent it, or a word for one that is made up.
    pub src: String,
    /// The endpoint that it is sent to.
    pub dst: String,
    /// Its protocol by name, if one claims it.
    pub protocol: Option<&'static str>,
    /// Its message, or what it looks like.
    pub message: String,
    /// The name of the server, if it states one.
    pub name: String,
    /// The players, with their maximum where that is known.
    pub players: String,
    /// The severity of the worst finding.
    pub worst: Option<&'static str>,
    /// Number of findings.
    pub findings: usize,
}

/// A report of one packet, which keeps what a list shows of it.
#[derive(Debug)]
pub struct Listed<'s> {
    files: Files,
    stand_ins: &'s StandIns,
    /// The packet.
    pub record: Option<ListRecord>,
}

impl Listed<'_> {
    /// An empty report. `stand_ins` are what is made up of frames.
    pub fn new(stand_ins: &StandIns) -> Listed<'_> {
        Listed { files: Files::default(), stand_ins, record: None }
    }

    /// What is known of every datagram.
    fn datagram(&self, d: &Datagram<'_>) -> ListRecord {
        let stand_in = self.stand_ins.of(d.frame);
        let end = |word: Option<&str>, end: Endpoint| word.map_or_else(|| end.to_string(), str::to_owned);
        let [from, to] = stand_in.ends;
        ListRecord {
            frame: self.files.place(d.frame).frame,
            time: if stand_in.time { String::new() } else { time_of_day(d.time) },
            src: end(from, d.src),
            dst: end(to, d.dst),
            ..ListRecord::default()
        }
    }
}

/// The time of day in UTC, to the millisecond.
fn time_of_day(time: Time) -> String {
    stamp(time).get(11..23).unwrap_or_default().to_owned()
}

/// The players that a message states, with their maximum.
fn players(facts: &Facts<'_>) -> String {
    match (facts.player_counts(), facts.players) {
        (Some((now, most)), _) => format!("{now}/{most}"),
        (None, Some(now)) => now.to_string(),
        (None, None) => String::new(),
    }
}

impl Report for Listed<'_> {
    fn wants(&self) -> Wants {
        Wants { ordered: true, ..Wants::default() }
    }

    fn packet(&mut self, p: &Packet<'_>) -> io::Result<()> {
        let facts = p.facts().copied().unwrap_or_default();
        let name = facts.server_name.and_then(Value::text);
        self.record = Some(ListRecord {
            protocol: Some(p.id.info().name),
            message: p.message_name().to_owned(),
            name: name.map_or(String::new(), |name| escaped(&name).into_owned()),
            players: players(&facts),
            worst: p.findings.iter().map(|f| f.severity).max().map(|severity| severity.name()),
            findings: p.findings.len(),
            ..self.datagram(p.datagram)
        });
        Ok(())
    }

    fn unclaimed(&mut self, d: &Datagram<'_>) -> io::Result<()> {
        let looks = looks_like(d.payload, [d.src.port(), d.dst.port()]);
        let message = looks.map_or(String::new(), |name| format!("looks like {name}"));
        self.record = Some(ListRecord { message, ..self.datagram(d) });
        Ok(())
    }

    fn file(&mut self, _: &str, _: &CaptureInfo, before: u64) -> io::Result<()> {
        self.files.begin(before);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn players_and_times_are_shown_as_far_as_they_are_known() {
        let facts = |players, max_players| Facts { players, max_players, ..Facts::default() };
        assert_eq!(players(&facts(Some(3), Some(8))), "3/8");
        assert_eq!(players(&facts(Some(3), None)), "3");
        assert_eq!(players(&facts(None, Some(8))), "");
        assert_eq!(time_of_day(Time::from_nanos(1_234_567_890)), "00:00:01.234");
        assert_eq!(time_of_day(Time::UNKNOWN), "");
    }
}
