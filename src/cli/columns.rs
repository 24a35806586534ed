//! `-T fields`, `csv` and `tsv`: which columns are written, and how.

use super::choices::Format;
use super::clock::local_zone;
use super::common_args::Common;
use super::diagnostics::Done;
use super::output::Target;
use super::read::warn_missed;
use super::text::unknown_name;
use crate::filter::Columns;
use crate::report::{Fields, Layout, Occurrence, Report, Style};
use crate::text::escape::quoted;
use crate::text::similar::similar;
use clap::Args;
use std::io;

/// The columns of CSV and TSV if the user names none.
const USUAL: &[&str] = &[
    "file",
    "frame.number",
    "frame.time_epoch",
    "ip.src",
    "ipv6.src",
    "udp.srcport",
    "ip.dst",
    "ipv6.dst",
    "udp.dstport",
    "protocol",
    "message",
    "direction",
    "confidence",
    "udp.length",
    "exchange",
    "response_time",
    "rule",
];

/// The options of this file.
#[derive(Debug, Default, Args)]
pub struct ColumnArgs {
    /// A column of -T fields, csv or tsv, by the names that filters use; may be repeated
    #[arg(short = 'e', value_name = "FIELD")]
    pub fields: Vec<String>,
    /// How columns are written: header=y|n, separator=/t|/s|CHAR, quote=d|s|n, occurrence=f|l|a, aggregator=,|/s|CHAR,
    /// bom=y|n; may be repeated
    #[arg(short = 'E', value_name = "OPT=VAL", value_parser = choice)]
    pub layout: Vec<String>,
}

/// Checks an argument of `-E`, and returns it.
fn choice(text: &str) -> Result<String, String> {
    const KEYS: [&str; 6] = ["bom", "header", "separator", "quote", "occurrence", "aggregator"];
    let known = "known are header=y|n, separator=/t|/s|CHAR, quote=d|s|n, occurrence=f|l|a, \
                 aggregator=,|/s|CHAR and bom=y|n";
    match text.split_once('=') {
        Some(_) if apply(text, &mut Layout::of(Style::Plain)).is_some() => Ok(text.to_owned()),
        Some((key, _)) if !KEYS.contains(&key) && similar(key, KEYS).is_some() => {
            Err(unknown_name("option of columns", key, &KEYS))
        }
        _ => Err(format!("{} says nothing about columns; {known}.", quoted(text))),
    }
}

/// Applies an argument of `-E` to a layout; `None` if it says nothing about columns.
fn apply(text: &str, layout: &mut Layout) -> Option<()> {
    let (key, value) = text.split_once('=')?;
    let yes = || match value.to_ascii_lowercase().as_str() {
        "y" => Some(true),
        "n" => Some(false),
        _ => None,
    };
    match key {
        "bom" => layout.mark = yes()?,
        "header" => layout.header = yes()?,
        "separator" => layout.separator = character(value)?,
        "aggregator" => layout.aggregator = character(value)?,
        "quote" => {
            layout.quote = match value {
                "d" => Some('"'),
                "s" => Some('\''),
                "n" => None,
                _ => return None,
            }
        }
        "occurrence" => {
            layout.occurrence = match value {
                "f" => Occurrence::First,
                "l" => Occurrence::Last,
                "a" => Occurrence::All,
                _ => return None,
            }
        }
        _ => return None,
    }
    Some(())
}

/// Parses a character: the character itself, or the name of one that is hard to type.
fn character(value: &str) -> Option<char> {
    match value {
        "/t" => Some('\t'),
        "/s" => Some(' '),
        _ => {
            let mut chars = value.chars();
            chars.next().filter(|_| chars.next().is_none())
        }
    }
}

impl ColumnArgs {
    /// Returns the columns and their layout, or `None` if the format has no columns.
    ///
    /// # Errors
    /// A sentence, if columns and format do not go together or a name is unknown.
    pub fn columns_and_layout(&self, format: Format) -> Result<Option<(Columns, Layout)>, String> {
        let Format::Rows(style) = format else {
            let given = !(self.fields.is_empty() && self.layout.is_empty());
            let what = "-e and -E are for columns; name a format that has some: -T fields, csv or tsv.";
            return if given { Err(what.into()) } else { Ok(None) };
        };
        let columns = match self.fields.as_slice() {
            [] if style == Style::Plain => {
                return Err("-T fields needs columns; name each with -e, for example -e frame.number.".into());
            }
            [] => Columns::parse(USUAL)?,
            named => Columns::parse(named)?,
        };
        let columns = if columns.show_local_time() { columns.in_zone(local_zone()?) } else { columns };
        let mut layout = Layout::of(style);
        for choice in &self.layout {
            let _ = apply(choice, &mut layout); // it was checked when it was parsed
        }
        Ok(Some((columns, layout)))
    }
}

/// Writes the rows of what `read` reads to `to`, each at once (`flush`) or in large pieces. Warns about headers and values
/// that the columns could not take into account.
pub fn write(
    to: &mut Target,
    (columns, layout): (Columns, Layout),
    common: &Common,
    flush: bool,
    read: impl FnOnce(&mut dyn Report) -> io::Result<Done>,
) -> io::Result<Done> {
    let mut rows = Fields::new(to, columns, layout, [flush, common.quiet, common.show_secrets]);
    let done = read(&mut rows)?;
    warn_missed("The columns", rows.missed());
    Ok(done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn column_options_have_the_meaning_of_tshark() {
        let usual = Layout { quote: Some('"'), ..Layout::of(Style::Plain) };
        let named = Layout { header: true, ..usual };
        for (text, before, after) in [
            ("header=y", usual, named),
            ("header=N", named, usual),
            ("bom=y", usual, Layout { mark: true, ..usual }),
            ("separator=/t", Layout { separator: ';', ..usual }, Layout { separator: '\t', ..usual }),
            ("separator=/s", usual, Layout { separator: ' ', ..usual }),
            ("separator==", usual, Layout { separator: '=', ..usual }),
            ("aggregator=;", usual, Layout { aggregator: ';', ..usual }),
            ("quote=s", usual, Layout { quote: Some('\''), ..usual }),
            ("quote=n", usual, Layout { quote: None, ..usual }),
            ("occurrence=l", usual, Layout { occurrence: Occurrence::Last, ..usual }),
        ] {
            assert_eq!(choice(text).as_deref(), Ok(text));
            let mut layout = before;
            assert_eq!(apply(text, &mut layout), Some(()));
            assert_eq!(format!("{layout:?}"), format!("{after:?}"), "{text}");
        }
        for text in ["header", "header=", "separator=", "separator=ab", "quote=x", "occurrence=z", "foo=1"] {
            assert!(choice(text).unwrap_err().contains("separator=/t|/s|CHAR"), "{text}");
        }
    }
}
