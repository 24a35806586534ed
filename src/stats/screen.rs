//! Writes the statistics for people.

use super::sheet::{Cell, CellType, HISTOGRAM, Sheet};
use super::{Bucket, Section, Stats};
use crate::capture::Time;
use crate::report::grid::{self, Fit, Grid, LEAST_ADDRESS, LEAST_NAME, brief};
use crate::report::screen::{MAX_CELL, Screen, write_head};
use crate::report::{Totals, grouped_count, limits};
use crate::text::digits::grouped;
use crate::text::escape::{escaped, truncated};
use crate::text::timestamps::stamp;
use std::io::{self, Write};

/// Longest bar in characters.
const BAR: usize = 30;
/// Longest bar in a table of several columns, in characters.
const NARROW_BAR: usize = 16;

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
    write_head(out, &stats.captures, totals)?;
    write_tables(out, screen, stats, sections)?;
    limits(totals).iter().try_for_each(|remark| writeln!(out, "{remark}"))
}

/// Writes the tables of sections, an empty line before each.
///
/// # Errors
/// When they cannot be written.
pub fn write_tables(
    out: &mut dyn Write,
    screen: Screen,
    stats: &Stats,
    sections: &[Section],
) -> io::Result<()> {
    for section in sections {
        for sheet in stats.tables(*section).iter().filter(|sheet| sheet.rows.len() > 0) {
            writeln!(out, "\n{}", sheet.title)?;
            table(out, screen, sheet)?;
            histograms(out, screen, sheet)?;
        }
    }
    Ok(())
}

fn table(out: &mut dyn Write, screen: Screen, sheet: &Sheet<'_>) -> io::Result<()> {
    let mut shown: Vec<_> = sheet.table.columns.iter().enumerate().collect();
    shown.retain(|(_, column)| !column.head.is_empty() && !sheet.hidden.contains(&column.key));
    let numbers = number_columns(sheet, &shown.iter().map(|&(at, _)| at).collect::<Vec<_>>());
    let columns = shown.iter().zip(numbers).map(|(&(_, column), is_number)| {
        let fit = match column.cell_type {
            _ if column.spare => Fit::Spare,
            CellType::Server | CellType::Endpoint => Fit::Address(LEAST_ADDRESS),
            CellType::Name | CellType::Text => Fit::Cut(LEAST_NAME),
            _ => Fit::Whole,
        };
        grid::Column { head: column.head, is_number, fit }
    });
    let mut table = Grid::new(columns.collect());
    for row in sheet.rows.iter().take(screen.rows()) {
        table.add_plain(shown.iter().map(|&(at, _)| match &row[at] {
            Cell::Bar(share) => bar(screen, *share, NARROW_BAR),
            other => cell(other),
        }));
    }
    table.write(out, screen)?;
    if sheet.rows.len() > screen.rows() {
        writeln!(out, "and {}", grouped_count((sheet.rows.len() - screen.rows()) as u64, "more row"))?;
    }
    sheet.notes.iter().try_for_each(|note| writeln!(out, "{note}"))
}

/// Which of these columns hold numbers. All cells of a column are of one type, so the first that is not empty tells; most
/// columns have it in their first row.
fn number_columns(sheet: &Sheet<'_>, columns: &[usize]) -> Vec<bool> {
    let mut found = vec![None; columns.len()];
    for row in sheet.rows.iter() {
        for (found, at) in found.iter_mut().zip(columns) {
            let cell = row.get(*at).filter(|cell| !matches!(cell, Cell::Nothing | Cell::All));
            *found = found.or(cell.map(is_number));
        }
        if found.iter().all(Option::is_some) {
            break;
        }
    }
    found.into_iter().map(|is_number| is_number == Some(true)).collect()
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
        Cell::Count(n) | Cell::AtLeast(n, false) => grouped(*n),
        Cell::AtLeast(n, true) => format!("{}+", grouped(*n)),
        Cell::Flag(true) => "yes".to_owned(),
        Cell::Flag(false) => "no".to_owned(),
        Cell::Duration(nanos) => brief(*nanos),
        Cell::Time(time) => moment(*time),
        Cell::Number(x) => format!("{x:.1}"),
        Cell::Histogram(_) | Cell::Bar(_) => String::new(),
    }
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
fn histograms(out: &mut dyn Write, screen: Screen, sheet: &Sheet<'_>) -> io::Result<()> {
    let mut columns = sheet.table.columns.iter();
    let Some(at) = columns.position(|c| c.key == HISTOGRAM && !sheet.hidden.contains(&c.key)) else {
        return Ok(());
    };
    for row in sheet.rows.iter() {
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
        writeln!(out, "{}", format!("{range:>18}  {:>8}  {bar}", grouped(b.count)).trim_end())?;
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
    fn stamps_have_no_trailing_zeros() {
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
