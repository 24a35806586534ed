//! Writes the statistics for people.

use super::sheet::{Cell, Column, HISTOGRAM, Sheet};
use super::{Bucket, Section, Stats};
use crate::capture::Time;
use crate::report::screen::{BOLD, MAX_CELL, Screen, write_head};
use crate::report::{Totals, count, limits};
use crate::text::escape::{escaped, truncated};
use crate::text::timestamps::stamp;
use comfy_table::{CellAlignment, ColumnConstraint, Table};
use std::io::{self, Write};

/// Longest bar in characters.
const BAR: usize = 30;
/// Longest bar in a table of several columns, in characters.
const NARROW_BAR: usize = 16;

/// Columns between two columns of a table.
const GAP: u16 = 2;
/// From this width on, the numbers of a row fit in one line, even if its other cells do not.
const FULL: u16 = 80;

/// Writes sections as tables.
///
/// # Errors
/// When they cannot be written.
pub fn write(
    out: &mut dyn Write,
    screen: Screen,
    stats: &Stats,
    totals: &Totals,
    sections: &[Section],
) -> io::Result<()> {
    write_head(out, screen, &stats.captures, totals)?;
    for section in sections {
        for sheet in stats.tables(*section).iter().filter(|sheet| !sheet.rows.is_empty()) {
            write!(out, "\n{}", screen.paint(BOLD, &sheet.title))?;
            table(out, screen, sheet)?;
            histograms(out, screen, sheet)?;
        }
    }
    limits(totals).iter().try_for_each(|remark| writeln!(out, "{remark}"))
}

fn table(out: &mut dyn Write, screen: Screen, sheet: &Sheet) -> io::Result<()> {
    let mut columns: Vec<_> = sheet.table.columns.iter().enumerate().collect();
    columns.retain(|(_, column)| !column.head.is_empty() && !sheet.hidden.contains(&column.key));
    let mut table = lay_out(screen, sheet, &columns);
    if !has_room(screen, &table) {
        columns.retain(|(_, column)| !column.spare);
        table = lay_out(screen, sheet, &columns);
    }
    // A row that fits stays in one line. Otherwise, names and addresses are wrapped first, and numbers last.
    let fits = has_room(screen, &table);
    for (column, &(at, _)) in table.column_iter_mut().zip(&columns) {
        let number = sheet.rows.iter().any(|row| is_number(&row[at]));
        column.set_padding((1, 0));
        if number {
            column.set_cell_alignment(CellAlignment::Right);
        }
        if fits || number && screen.width >= FULL {
            column.set_constraint(ColumnConstraint::ContentWidth);
        }
    }
    screen.print(out, &table)?;
    if sheet.rows.len() > screen.rows() {
        writeln!(out, "and {}", count((sheet.rows.len() - screen.rows()) as u64, "more row"))?;
    }
    sheet.notes.iter().try_for_each(|note| writeln!(out, "{note}"))
}

fn lay_out(screen: Screen, sheet: &Sheet, columns: &[(usize, &Column)]) -> Table {
    let mut table = screen.table(false);
    table.set_header(columns.iter().map(|(_, column)| column.head));
    for row in sheet.rows.iter().take(screen.rows()) {
        table.add_row(columns.iter().map(|&(at, _)| match &row[at] {
            Cell::Bar(share) => bar(screen, *share, NARROW_BAR),
            other => cell(other),
        }));
    }
    table
}

fn has_room(screen: Screen, table: &Table) -> bool {
    let widths = table.column_max_content_widths();
    let sum = widths.iter().fold(0, |sum: u16, width| sum.saturating_add(width.saturating_add(GAP)));
    sum <= screen.width + 1 // no gap follows the last column
}

fn is_number(cell: &Cell) -> bool {
    matches!(cell, Cell::Count(_) | Cell::AtLeast(..) | Cell::Duration(_) | Cell::Number(_))
}

fn cell(cell: &Cell) -> String {
    match cell {
        Cell::Nothing => "-".to_owned(),
        Cell::All => "all".to_owned(),
        Cell::Text(text) => escaped(text).into_owned(),
        Cell::Name(name) => truncated(&escaped(&name.text()), MAX_CELL),
        Cell::Nested(depth, name) => format!("{:indent$}{name}", "", indent = depth * 2),
        Cell::Count(n) | Cell::AtLeast(n, false) => n.to_string(),
        Cell::AtLeast(n, true) => format!("{n}+"),
        Cell::Flag(true) => "yes".to_owned(),
        Cell::Flag(false) => "no".to_owned(),
        Cell::Duration(nanos) => brief(*nanos),
        Cell::Time(time) => moment(*time),
        Cell::Number(x) => format!("{x:.1}"),
        Cell::Histogram(_) | Cell::Bar(_) => String::new(),
    }
}

/// A duration in three digits: `2.55 ms`, `17.1 ms`, `115 ms`.
fn brief(nanos: i64) -> String {
    let size = nanos.unsigned_abs() as f64;
    let (unit, name) = match size {
        ..1e6 => (1e3, "µs"),
        ..1e9 => (1e6, "ms"),
        _ => (1e9, "s"),
    };
    let decimals = match size / unit {
        ..10.0 => 2,
        ..100.0 => 1,
        _ => 0,
    };
    format!("{:.decimals$} {name}", nanos as f64 / unit)
}

/// A time stamp without trailing zeros.
fn moment(time: Time) -> String {
    let text = stamp(time).replace('T', " ");
    text.trim_end_matches('Z').trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A bar, in eighths of a character except in ASCII; it is only empty if the share is 0.
fn bar(screen: Screen, share: f64, most: usize) -> String {
    if screen.ascii {
        return "#".repeat((share * most as f64).ceil() as usize);
    }
    let eighths = (share * most as f64 * 8.0).ceil() as usize;
    let rest = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"].get(eighths % 8).copied().unwrap_or_default();
    "█".repeat(eighths / 8) + rest
}

/// Writes the histograms of a table.
fn histograms(out: &mut dyn Write, screen: Screen, sheet: &Sheet) -> io::Result<()> {
    let Some(at) = sheet.table.columns.iter().position(|c| c.key == HISTOGRAM) else { return Ok(()) };
    for row in &sheet.rows {
        if let [protocol, step, ..] = row.as_slice()
            && let Some(Cell::Histogram(buckets)) = row.get(at)
        {
            histogram(out, screen, &format!("{} {}", cell(protocol), cell(step)), buckets)?;
        }
    }
    Ok(())
}

fn histogram(out: &mut dyn Write, screen: Screen, name: &str, buckets: &[Bucket]) -> io::Result<()> {
    writeln!(out, "\n{name}")?;
    let most = buckets.iter().map(|b| b.count).max().unwrap_or(0).max(1);
    let max_len = usize::from(screen.width).saturating_sub(40).min(BAR);
    for b in buckets {
        let range = match (b.from.map(short_time), b.to.map(short_time)) {
            (Some(from), Some(to)) => format!("{from} to {to}"),
            (Some(from), None) => format!("from {from}"),
            (None, to) => format!("below {}", to.unwrap_or_default()),
        };
        let bar = bar(screen, b.count as f64 / most as f64, max_len);
        writeln!(out, "{}", format!("{range:>18}  {:>8}  {bar}", b.count).trim_end())?;
    }
    Ok(())
}

/// The edge of a bucket: `500 µs`, `2 ms`, `10 s`.
fn short_time(nanos: i64) -> String {
    match nanos {
        0 => "0".to_owned(),
        1..1_000_000 => format!("{} µs", nanos / 1_000),
        1_000_000..1_000_000_000 => format!("{} ms", nanos / 1_000_000),
        _ => format!("{} s", nanos / 1_000_000_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_three_digits_and_stamps_no_trailing_zeros() {
        for (nanos, text) in [
            (999, "1.00 µs"),
            (2_547_100, "2.55 ms"),
            (17_101_737, "17.1 ms"),
            (-115_616_830, "-116 ms"),
            (1_412_600_000, "1.41 s"),
        ] {
            assert_eq!(brief(nanos), text);
        }
        assert_eq!(moment(Time::from_nanos(1_795_171_120_000_000_000)), "2026-11-20 10:38:40");
        assert_eq!(moment(Time::from_nanos(1_795_171_120_250_000_000)), "2026-11-20 10:38:40.25");
        assert_eq!(moment(Time::UNKNOWN), "");
    }

    #[test]
    fn the_smallest_share_has_a_bar() {
        let ascii = Screen { ascii: true, ..Screen::default() };
        let [none, least, all] = [0.0, 0.001, 1.0].map(|share| bar(ascii, share, 30).len());
        assert_eq!((none, least, all), (0, 1, 30));
        let blocks = [0.0, 0.001, 0.5, 1.0].map(|share| bar(Screen::default(), share, 3));
        assert_eq!(blocks, ["", "▏", "█▌", "███"]);
    }
}
