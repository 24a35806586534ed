//! Writes the table of unclaimed traffic: the busiest endpoints, and those of one port on many hosts as one.

use super::grid::{Column, Fit, Grid, LEAST_ADDRESS, LEAST_NAME, write_rest};
use super::summary::Summary;
use super::terminal::Screen;
use super::unclaimed::UnclaimedEndpoint;
use crate::text::digits::grouped;
use hashbrown::HashMap;
use std::cmp::Reverse;
use std::io::{self, Write};

/// The number of senders of an unclaimed endpoint from which on the table shows senders and rates.
const MIN_SENDERS: u64 = 10;
/// The number of hosts from which on their endpoints of one port share a row.
const MIN_HOSTS: usize = 3;
/// The maximum number of names of what endpoints look like in a row.
const MAX_LOOKS: usize = 2;

/// Columns without and with those for floods, and that for endpoints which share a row.
const COLUMNS: [Column; 8] = [
    Column::text("unclaimed", Fit::Address(LEAST_ADDRESS)),
    Column::number("hosts", Fit::Whole),
    Column::text("looks like", Fit::Cut(LEAST_NAME)),
    Column::text("first bytes", Fit::Whole),
    Column::number("datagrams", Fit::Whole),
    Column::number("bytes", Fit::Whole),
    Column::number("senders", Fit::Whole),
    Column::number("peak/s", Fit::Whole),
];

/// Writes the busiest endpoints of unclaimed traffic.
pub(super) fn write(out: &mut dyn Write, screen: Screen, summary: &Summary) -> io::Result<()> {
    let (table, rows) = table(screen, summary);
    if rows == 0 {
        return Ok(());
    }
    writeln!(out)?;
    table.write(out, screen)?;
    write_rest(out, screen, rows, "unclaimed endpoint")
}

/// The lines of the table: its heading, and a line for each row.
#[cfg(feature = "tui")]
pub(crate) fn lines(screen: Screen, summary: &Summary) -> Vec<String> {
    match table(screen, summary) {
        (_, 0) => vec![],
        (table, _) => table.lines(screen),
    }
}

/// The table with as many rows as the screen has, and how many there would be.
fn table(screen: Screen, summary: &Summary) -> (Grid, usize) {
    let rows = joined(&summary.unclaimed.busiest());
    let is_flood = |row: &[&UnclaimedEndpoint]| row.iter().any(|one| one.senders().0 >= MIN_SENDERS);
    let (has_floods, has_hosts) =
        (rows.iter().any(|row| is_flood(row)), rows.iter().any(|row| row.len() >= MIN_HOSTS));
    let shown = |at: &usize| match at {
        1 => has_hosts,
        6.. => has_floods,
        _ => true,
    };
    let chosen = (0..COLUMNS.len()).filter(shown);
    let mut table = Grid::new(chosen.clone().map(|at| COLUMNS[at]).collect());
    for row in rows.iter().take(screen.rows()) {
        let cells = cells(row);
        table.add_plain(chosen.clone().map(|at| cells[at].clone()));
    }
    (table, rows.len())
}

/// The endpoints with the most datagrams first, each alone, or all with its port if there are many of them.
fn joined<'a>(busiest: &[&'a UnclaimedEndpoint]) -> Vec<Vec<&'a UnclaimedEndpoint>> {
    let mut hosts: HashMap<u16, usize> = HashMap::new();
    busiest.iter().for_each(|one| *hosts.entry(one.endpoint.port()).or_default() += 1);
    let mut row_of_port: HashMap<u16, usize> = HashMap::new();
    let mut rows: Vec<Vec<&UnclaimedEndpoint>> = vec![];
    for one in busiest {
        let port = one.endpoint.port();
        match row_of_port.get(&port) {
            Some(&at) => rows[at].push(one),
            None => {
                if hosts.get(&port).is_some_and(|hosts| *hosts >= MIN_HOSTS) {
                    row_of_port.insert(port, rows.len());
                }
                rows.push(vec![one]);
            }
        }
    }
    rows.sort_by_key(|row| Reverse(row.iter().map(|one| one.datagrams).sum::<u64>()));
    rows
}

/// A cell for each column.
fn cells(row: &[&UnclaimedEndpoint]) -> [String; COLUMNS.len()] {
    let sum = |of: fn(&UnclaimedEndpoint) -> u64| grouped(row.iter().map(|one| of(one)).sum());
    let (datagrams, bytes) = (sum(|one| one.datagrams), sum(|one| one.bytes));
    let mut looks: Vec<_> = row.iter().map(|one| one.looks_like.unwrap_or("-")).collect();
    looks.sort_unstable_by_key(|name| (*name == "-", *name));
    looks.dedup();
    if looks.len() > MAX_LOOKS {
        looks.truncate(MAX_LOOKS);
        looks.push("…");
    }
    let looks = looks.join(", ");
    let dash = || "-".to_owned();
    match row {
        [one] => {
            let (senders, more) = one.senders();
            let senders = format!("{}{}", grouped(senders), if more { "+" } else { "" });
            let peak = grouped(one.peak_rate);
            [one.endpoint.to_string(), dash(), looks, one.first_hex(), datagrams, bytes, senders, peak]
        }
        all => {
            let port = all.first().map_or(0, |one| one.endpoint.port());
            [format!("*:{port}"), grouped(all.len() as u64), looks, dash(), datagrams, bytes, dash(), dash()]
        }
    }
}
