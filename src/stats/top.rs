//! What servers do at the moment: rates, losses and response times of the latest seconds, for screens that refresh.

use super::traffic::{Ranked, Weighed};
use crate::capture::{SECOND, Time};
use crate::check::{Finding, Packet};
use crate::exchange::{Exchange, Outcome};
use crate::net::Endpoint;
use crate::protocols::{Direction, Id};
use crate::report::Report;
use crate::report::grid::{Column, Fit, Grid, LEAST_ADDRESS, LEAST_NAME, brief};
use crate::report::screen::{MAX_CELL, Screen, Sort};
use crate::report::server_text::{ServerText, update_text};
use crate::rule::general::GEN_008;
use crate::text::digits::grouped;
use crate::text::escape::{escaped, truncated};
use crate::text::timestamps::stamp;
use std::cmp::Reverse;
use std::collections::VecDeque;
use std::io::{self, Write};

/// Number of whole seconds that are shown.
pub const WINDOW: i64 = 10;
/// Number of seconds that are kept: an exchange ends some seconds after its request.
const KEPT: usize = 16;
/// Most servers that always stay; at most twice as many are kept. Those asked last stay.
pub const MAX_TOP: usize = 2_048;
/// Most response times of a server that are kept, the latest ones.
const TIMES: usize = 64;

/// The number of a second since 1970; `None` for an unknown time.
fn second(time: Time) -> Option<i64> {
    time.nanos().map(|nanos| nanos.div_euclid(SECOND))
}

/// What a server did in a second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    /// The second; others have had its place before.
    second: i64,
    /// Requests in it, with those that were sent again.
    requests: u32,
    /// How many of its exchanges were answered in time.
    answered: u32,
    /// How many were not.
    lost: u32,
}

/// What a server did lately.
#[derive(Debug, Default)]
struct Recent {
    /// The latest second in which it was asked or answered.
    latest: i64,
    seconds: [Counts; KEPT],
    /// The latest response times in nanoseconds, each with the second of its request.
    times: VecDeque<(i64, i64)>,
    name: Option<ServerText>,
    players: Option<(u32, u32)>,
}

impl Weighed for Recent {
    fn weight(&self) -> u64 {
        self.latest.max(0).unsigned_abs()
    }

    fn absorb(&mut self, _: Recent) {}
}

impl Recent {
    /// The counts of a second; `None` if it is too long ago.
    fn at(&mut self, second: i64) -> Option<&mut Counts> {
        self.latest = self.latest.max(second);
        let counts = &mut self.seconds[second.rem_euclid(KEPT as i64) as usize];
        if counts.second < second {
            *counts = Counts { second, ..Counts::default() };
        }
        (counts.second == second).then_some(counts)
    }

    fn count_exchange(&mut self, e: &Exchange) {
        let Some(second) = second(e.request_time) else { return };
        let Some(counts) = self.at(second) else { return };
        match e.outcome {
            Outcome::Answered => counts.answered += 1,
            Outcome::Late | Outcome::Unanswered | Outcome::Refused => counts.lost += 1,
            Outcome::Undecided => {}
        }
        if let Some(time) = e.response_time {
            if self.times.len() >= TIMES {
                self.times.pop_front();
            }
            self.times.push_back((second, time));
        }
    }
}

/// What servers do at the moment. Its memory is bounded by [`MAX_TOP`].
#[derive(Debug)]
pub struct Top {
    servers: Ranked<(Endpoint, Id), Recent>,
    /// The latest time stamp.
    pub latest: Time,
}

impl Default for Top {
    fn default() -> Self {
        Top { servers: Ranked::new(MAX_TOP), latest: Time::UNKNOWN }
    }
}

impl Report for Top {
    fn packet(&mut self, p: &Packet<'_>) -> io::Result<()> {
        self.latest = self.latest.max(p.datagram.time);
        let Some(second) = second(p.datagram.time).filter(|_| !p.raised.has(&GEN_008)) else {
            return Ok(()); // the datagram was on the wire once
        };
        let recent = self.servers.entry((p.server(), p.id));
        match (p.direction, p.facts()) {
            (Direction::C2s, _) => recent.at(second).into_iter().for_each(|counts| counts.requests += 1),
            (Direction::S2c, Some(facts)) => {
                update_text(&mut recent.name, facts.server_name);
                recent.players = facts.player_counts().or(recent.players);
            }
            (Direction::S2c, None) => {}
        }
        Ok(())
    }

    fn exchange(&mut self, e: &Exchange, _: &[Finding]) -> io::Result<()> {
        self.servers.entry((e.server, e.protocol)).count_exchange(e);
        Ok(())
    }
}

/// A server in the seconds that are shown.
struct Row<'a> {
    server: Endpoint,
    id: Id,
    recent: &'a Recent,
    /// Requests in the latest second.
    now: u32,
    requests: u32,
    answered: u32,
    lost: u32,
    /// Response times in nanoseconds, the shortest first.
    times: Vec<i64>,
}

impl Row<'_> {
    fn of(server: Endpoint, id: Id, recent: &Recent, last: i64) -> Row<'_> {
        let shown = last - WINDOW + 1..=last;
        let mut row = Row { server, id, recent, now: 0, requests: 0, answered: 0, lost: 0, times: vec![] };
        for counts in recent.seconds.iter().filter(|counts| shown.contains(&counts.second)) {
            row.requests += counts.requests;
            row.answered += counts.answered;
            row.lost += counts.lost;
            row.now += if counts.second == last { counts.requests } else { 0 };
        }
        let times = recent.times.iter().filter(|(second, _)| shown.contains(second));
        row.times = times.map(|(_, time)| *time).collect();
        row.times.sort_unstable();
        row
    }

    fn median(&self) -> Option<i64> {
        self.times.get(self.times.len().saturating_sub(1) / 2).copied()
    }

    /// Losses among the exchanges that have ended, in percent.
    fn loss(&self) -> Option<u32> {
        (100 * self.lost).checked_div(self.lost + self.answered)
    }

    fn cells(&self) -> [String; 9] {
        let time = |time: Option<i64>| time.map_or_else(|| "-".to_owned(), brief);
        let name = self.recent.name.as_ref().map(|name| truncated(&escaped(&name.text()), MAX_CELL));
        [
            self.server.to_string(),
            self.id.info().name.to_owned(),
            name.filter(|name| !name.is_empty()).unwrap_or_else(|| "-".to_owned()),
            self.recent.players.map_or_else(|| "-".to_owned(), |(now, most)| format!("{now}/{most}")),
            grouped(self.now.into()),
            format!("{:.1}", f64::from(self.requests) / WINDOW as f64),
            self.loss().map_or_else(|| "-".to_owned(), |percent| format!("{percent} %")),
            time(self.median()),
            time(self.times.last().copied()),
        ]
    }
}

/// Columns of the table.
const COLUMNS: [Column; 9] = [
    Column::text("server", Fit::Address(LEAST_ADDRESS)),
    Column::text("protocol", Fit::Whole),
    Column::text("name", Fit::Cut(LEAST_NAME)),
    Column::number("players", Fit::Spare),
    Column::number("now", Fit::Whole),
    Column::number("per s", Fit::Whole),
    Column::number("lost", Fit::Whole),
    Column::number("median", Fit::Whole),
    Column::number("longest", Fit::Spare),
];

impl Top {
    /// The servers that were asked or answered in the whole seconds before `now`.
    fn rows(&self, now: Time, sort: Sort) -> Vec<Row<'_>> {
        let Some(last) = second(now).map(|second| second - 1) else { return vec![] };
        let rows = self.servers.sorted().into_iter();
        let mut rows: Vec<Row<'_>> = rows
            .map(|((server, id), recent)| Row::of(server, id, recent, last))
            .filter(|row| row.requests + row.answered + row.lost > 0)
            .collect();
        rows.sort_by_key(|row| (row.server, row.id));
        match sort {
            Sort::Findings | Sort::Count => rows.sort_by_key(|row| Reverse((row.requests, row.now))),
            Sort::Time => rows.sort_by_key(|row| Reverse(row.median())),
            Sort::Loss => rows.sort_by_key(|row| Reverse((row.loss(), row.lost))),
            Sort::Name => rows.sort_by_cached_key(|row| {
                row.recent.name.as_ref().map(ServerText::text).unwrap_or_default().into_owned()
            }),
        }
        rows
    }

    /// Writes a line about everything, and a table of the servers.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&self, out: &mut dyn Write, screen: Screen, now: Time) -> io::Result<()> {
        let rows = self.rows(now, screen.sort);
        writeln!(out, "{}", heading(&rows, now))?;
        if rows.is_empty() {
            return Ok(());
        }
        table(&rows, screen).write(out, screen)?;
        match rows.len().saturating_sub(screen.rows()) {
            0 => Ok(()),
            more => writeln!(out, "and {} more", grouped(more as u64)),
        }
    }

    /// Writes a line for each server, which begins with the time.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write_lines(&self, out: &mut dyn Write, screen: Screen, now: Time) -> io::Result<()> {
        let time = clock(now);
        for row in self.rows(now, screen.sort).iter().take(screen.rows()) {
            let [server, protocol, name, players, now, mean, lost, median, longest] = row.cells();
            writeln!(
                out,
                "{time} {server} {protocol} {now}/s, {mean}/s in {WINDOW} s, {lost} lost, median {median}, longest \
                 {longest}, players {players}, {name}"
            )?;
        }
        Ok(())
    }

    /// The heading of the table, and the endpoint and the line of each server.
    #[cfg(feature = "tui")]
    pub fn lines(&self, screen: Screen, now: Time) -> (String, Vec<(Endpoint, String)>) {
        let rows = self.rows(now, screen.sort);
        let mut lines = table(&rows, screen).lines(screen).into_iter();
        let head = lines.next().unwrap_or_default();
        (head, rows.iter().map(|row| row.server).zip(lines).collect())
    }
}

fn table(rows: &[Row<'_>], screen: Screen) -> Grid {
    let mut table = Grid::new(COLUMNS.to_vec());
    rows.iter().take(screen.rows()).for_each(|row| table.add_plain(row.cells()));
    table
}

/// The time of day to the second, in UTC.
fn clock(time: Time) -> String {
    stamp(time).get(11..19).unwrap_or("-").to_owned()
}

fn heading(rows: &[Row<'_>], now: Time) -> String {
    let sum = |of: fn(&Row<'_>) -> u32| rows.iter().map(|row| u64::from(of(row))).sum::<u64>();
    let lost = (100 * sum(|row| row.lost)).checked_div(sum(|row| row.lost + row.answered));
    let lost = lost.map_or(String::new(), |percent| format!(", {percent} % lost"));
    format!(
        "{} UTC: {}, {} in the last second, {:.1} per second in the last {WINDOW}{lost}",
        clock(now),
        crate::report::grouped_count(rows.len() as u64, "server"),
        crate::report::grouped_count(sum(|row| row.now), "request"),
        sum(|row| row.requests) as f64 / WINDOW as f64
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Noon of a day, in seconds since 1970.
    const NOON: i64 = 1_795_176_000;

    fn at(second: i64) -> Time {
        Time::from_nanos(second * SECOND)
    }

    fn server(n: u16) -> Endpoint {
        Endpoint::v4([192, 0, 2, 1], n)
    }

    /// An exchange with a server, whose request is of that second; `time` is its response time in milliseconds.
    fn exchange(n: u16, second: i64, time: Option<i64>) -> Exchange {
        let client = Endpoint::v4([198, 51, 100, 7], 50_000);
        let exchange = Exchange::unanswered(1, Id::Sqp, [client, server(n)]);
        let outcome = if time.is_some() { Outcome::Answered } else { Outcome::Unanswered };
        Exchange {
            request_time: at(second),
            outcome,
            response_time: time.map(|ms| ms * 1_000_000),
            ..exchange
        }
    }

    fn top(exchanges: &[Exchange]) -> Top {
        let mut top = Top::default();
        exchanges.iter().for_each(|e| top.exchange(e, &[]).unwrap());
        top
    }

    fn servers(top: &Top, now: i64, sort: Sort) -> Vec<u16> {
        top.rows(at(now), sort).iter().map(|row| row.server.port()).collect()
    }

    #[test]
    fn only_the_whole_seconds_before_now_count() {
        let top = top(&[exchange(1, NOON, Some(5)), exchange(2, NOON + 9, None)]);
        assert!(servers(&top, NOON, Sort::Name).is_empty(), "the second has not ended");
        assert_eq!(servers(&top, NOON + 1, Sort::Name), [1]);
        assert_eq!(servers(&top, NOON + 10, Sort::Name), [1, 2]);
        assert_eq!(servers(&top, NOON + 11, Sort::Name), [2]);
        assert!(servers(&top, NOON + 20, Sort::Name).is_empty());
        assert_eq!(top.rows(Time::UNKNOWN, Sort::Name).len(), 0);
    }

    #[test]
    fn a_second_takes_the_place_of_one_long_ago_but_not_of_a_later_one() {
        let later = NOON + KEPT as i64;
        let top = top(&[exchange(1, later, Some(1)), exchange(1, NOON, None)]);
        let row = &top.rows(at(later + 1), Sort::Name)[0];
        assert_eq!((row.answered, row.lost), (1, 0));
    }

    #[test]
    fn servers_are_sorted_by_losses_and_times() {
        let top = top(&[
            exchange(1, NOON, Some(5)),
            exchange(2, NOON, Some(9)),
            exchange(2, NOON, None),
            exchange(3, NOON, None),
        ]);
        assert_eq!(servers(&top, NOON + 1, Sort::Loss), [3, 2, 1]);
        assert_eq!(servers(&top, NOON + 1, Sort::Time), [2, 1, 3]);
    }

    #[test]
    fn a_server_is_a_line() {
        let times = [3, 1, 2].map(|ms| exchange(1, NOON, Some(ms)));
        let top = top(&[&times[..], &[exchange(1, NOON + 1, None)]].concat());
        let mut lines = vec![];
        top.write_lines(&mut lines, Screen::default(), at(NOON + 2)).unwrap();
        assert_eq!(
            String::from_utf8(lines).unwrap(),
            "12:00:02 192.0.2.1:1 sqp 0/s, 0.0/s in 10 s, 25 % lost, median 2.00 ms, longest 3.00 ms, players -, -\n"
        );
        let mut table = vec![];
        top.write(&mut table, Screen { width: 80, ..Screen::default() }, at(NOON + 2)).unwrap();
        let table = String::from_utf8(table).unwrap();
        assert!(
            table.starts_with("12:00:02 UTC: 1 server, 0 requests in the last second, 0.0 per second"),
            "{table}"
        );
    }

    #[test]
    fn the_number_of_servers_and_times_is_bounded() {
        let mut top = Top::default();
        for n in 0..2 * MAX_TOP as u16 + 9 {
            top.exchange(&exchange(n, NOON + i64::from(n / 1_000), None), &[]).unwrap();
        }
        assert!(top.servers.values().count() <= 2 * MAX_TOP);
        let many: Vec<_> = (0..200).map(|ms| exchange(1, NOON, Some(ms))).collect();
        assert_eq!(self::top(&many).rows(at(NOON + 1), Sort::Name)[0].times.len(), TIMES);
    }
}
