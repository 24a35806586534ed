//! Writes a comparison for people: the servers, and a table of what differs.

use super::compare::{Comparison, Difference, Half, Pair, What};
use crate::net::Endpoint;
use crate::protocols::Id;
use crate::report::grid::{Cell, Column, Fit, Grid, LEAST_NAME, brief};
use crate::report::grouped_count;
use crate::report::screen::{BOLD, MAX_CELL, Screen};
use crate::text::digits::grouped;
use crate::text::escape::{escaped, quoted, truncated};
use serde_json::Value;
use std::io::{self, Write};

/// Columns of the table of differences.
const COLUMNS: [Column; 4] = [
    Column::text("of", Fit::Whole),
    Column::text("what", Fit::Cut(MAX_CELL / 2)),
    Column::text("A", Fit::Cut(LEAST_NAME)),
    Column::text("B", Fit::Cut(LEAST_NAME)),
];
/// What stands in a cell for which there is nothing.
const NOTHING: &str = "-";

/// Writes the comparison.
///
/// # Errors
/// When it cannot be written.
pub fn write(out: &mut dyn Write, screen: Screen, comparison: &Comparison) -> io::Result<()> {
    for pair in &comparison.pairs {
        head(out, screen, pair)?;
        let servers = pair.servers.map(Some);
        table(out, screen, comparison, |difference| difference.servers == servers)?;
    }
    let is_alone = |difference: &Difference| difference.what == What::Server;
    if comparison.differences.iter().any(is_alone) {
        writeln!(out, "{}", screen.paint(BOLD, "servers of one capture only"))?;
        table(out, screen, comparison, is_alone)?;
    }
    match comparison.count() {
        0 => writeln!(out, "no difference"),
        n => writeln!(out, "{}", grouped_count(n, "difference")),
    }
}

/// Writes which server it is, and what is told as information only.
fn head(out: &mut dyn Write, screen: Screen, pair: &Pair) -> io::Result<()> {
    let ([(a, id), (b, _)], [of_a, of_b]) = (pair.servers, &pair.sides);
    writeln!(out, "{}", screen.paint(BOLD, id.info().name))?;
    for (letter, end, side) in [("A", a, of_a), ("B", b, of_b)] {
        writeln!(out, "  {letter}: {}", counts(end, side))?;
        let cut = side.cut.iter().map(|message| name(id, *message)).collect();
        for (names, what) in [(&side.not_asked, "not asked for"), (&cut, "cut by the capture")] {
            if !names.is_empty() {
                writeln!(out, "     {what}, and not compared: {}", names.join(", "))?;
            }
        }
    }
    Ok(())
}

fn counts(end: Endpoint, side: &Half) -> String {
    let name =
        side.name.as_ref().map_or(String::new(), |name| format!(" {}", quoted(&truncated(name, MAX_CELL))));
    let requests = grouped_count(side.requests, "request");
    let packets = grouped_count(side.packets, "datagram");
    format!("{end}{name}, {requests}, {} answered, {packets}", grouped(side.answered))
}

/// Writes the differences that are chosen.
fn table(
    out: &mut dyn Write,
    screen: Screen,
    comparison: &Comparison,
    is_chosen: impl Fn(&Difference) -> bool,
) -> io::Result<()> {
    let chosen: Vec<_> = comparison.differences.iter().filter(|difference| is_chosen(difference)).collect();
    let mut grid = Grid::new(COLUMNS.to_vec());
    chosen.iter().take(screen.rows()).for_each(|difference| grid.add(row(difference)));
    if !chosen.is_empty() {
        grid.write(out, screen)?;
    }
    let more = chosen.len().saturating_sub(screen.rows());
    if more > 0 {
        let all = chosen.len();
        writeln!(out, "and {} more; --top {all} shows all", grouped_count(more as u64, "difference"))?;
    }
    writeln!(out)
}

fn row(difference: &Difference) -> Vec<Cell> {
    let id = difference.id;
    let (of, what, [a, b]) = match &difference.what {
        What::Server => {
            let ends = difference.servers.map(|key| key.map(|(end, _)| end.to_string()));
            let cells = ends.map(|end| end.unwrap_or_else(|| NOTHING.to_owned()));
            ("server".to_owned(), id.info().name.to_owned(), cells)
        }
        What::Message(message, counts) => {
            ("answer".to_owned(), name(id, *message), counts.map(|count| grouped_count(count, "answer")))
        }
        What::Field(message, _, path, values) => (
            name(id, *message),
            escaped(&truncated(path, MAX_CELL)).into_owned(),
            values.each_ref().map(shown),
        ),
        What::Rule(rule, severity, counts) => {
            let times = |n: u64| if n == 0 { NOTHING.to_owned() } else { grouped_count(n, "time") };
            let [a, b] = counts.map(times);
            let of = ("rule".to_owned(), Some(*severity));
            return vec![of, (format!("{} {}", rule.id, rule.title), None), (a, None), (b, None)];
        }
        What::Time(step, medians) => {
            let what = format!("median of {}", id.info().step_name(*step).unwrap_or_default());
            ("time".to_owned(), what, medians.map(brief))
        }
    };
    [of, what, a, b].into_iter().map(|text| (text, None)).collect()
}

fn name(id: Id, message: u8) -> String {
    id.info().message_name(message).to_owned()
}

/// A value in a cell.
fn shown(value: &Option<Value>) -> String {
    match value {
        None => NOTHING.to_owned(),
        Some(Value::String(text)) => quoted(&truncated(text, MAX_CELL)),
        Some(other) => escaped(&truncated(&other.to_string(), MAX_CELL)).into_owned(),
    }
}
