//! `-T fields`, `csv` and `tsv`: which columns are written, and how.

use super::choices::Format;
use super::common_args::Common;
use super::filter;
use super::text::perhaps;
use crate::escape::quoted;
use crate::filter::Columns;
use crate::report::{Fields, Layout, Occurrence, Style};
use crate::similar::similar;
use clap::Args;
use std::io::Write;

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
#[derive(Debug, Args)]
pub struct ColumnArgs {
    /// A column of -T fields, csv or tsv, by the names that filters use; may be repeated
    #[arg(short = 'e', value_name = "FIELD")]
    pub fields: Vec<String>,
    /// How columns are written: header=y|n, separator=/t|/s|CHAR, quote=d|s|n, occurrence=f|l|a, aggregator=,|/s|CHAR,
    /// bom=y|n; may be repeated
    #[arg(short = 'E', value_name = "OPT=VAL", value_parser = choice)]
    pub layout: Vec<Choice>,
}

/// One argument of `-E`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    Mark(bool),
    Header(bool),
    Separator(char),
    Quote(Option<char>),
    Occurrence(Occurrence),
    Aggregator(char),
}

fn choice(text: &str) -> Result<Choice, String> {
    const KEYS: [&str; 6] = ["bom", "header", "separator", "quote", "occurrence", "aggregator"];
    let known = "known are header=y|n, separator=/t|/s|CHAR, quote=d|s|n, occurrence=f|l|a, \
                 aggregator=,|/s|CHAR and bom=y|n";
    let wrong = || format!("{} says nothing about columns; {known}.", quoted(text));
    let (key, value) = text.split_once('=').ok_or_else(wrong)?;
    let yes = || match value.to_ascii_lowercase().as_str() {
        "y" => Ok(true),
        "n" => Ok(false),
        _ => Err(wrong()),
    };
    Ok(match key {
        "bom" => Choice::Mark(yes()?),
        "header" => Choice::Header(yes()?),
        "separator" => Choice::Separator(character(value).ok_or_else(wrong)?),
        "aggregator" => Choice::Aggregator(character(value).ok_or_else(wrong)?),
        "quote" => Choice::Quote(match value {
            "d" => Some('"'),
            "s" => Some('\''),
            "n" => None,
            _ => return Err(wrong()),
        }),
        "occurrence" => Choice::Occurrence(match value {
            "f" => Occurrence::First,
            "l" => Occurrence::Last,
            "a" => Occurrence::All,
            _ => return Err(wrong()),
        }),
        _ if similar(key, KEYS).is_some() => {
            return Err(format!("There is no option of columns {}{}", quoted(key), perhaps(key, &KEYS)));
        }
        _ => return Err(wrong()),
    })
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
    pub fn chosen(&self, format: Format) -> Result<Option<(Columns, Layout)>, String> {
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
        let mut layout = Layout::of(style);
        for choice in &self.layout {
            match *choice {
                Choice::Mark(mark) => layout.mark = mark,
                Choice::Header(header) => layout.header = header,
                Choice::Separator(separator) => layout.separator = separator,
                Choice::Quote(quote) => layout.quote = quote,
                Choice::Occurrence(occurrence) => layout.occurrence = occurrence,
                Choice::Aggregator(aggregator) => layout.aggregator = aggregator,
            }
        }
        Ok(Some((columns, layout)))
    }
}

/// Creates the report that writes rows to `to`; `flush` makes it flush after each row.
pub fn fields<W: Write>(to: W, chosen: (Columns, Layout), common: &Common, flush: bool) -> Fields<W> {
    let (columns, layout) = chosen;
    Fields::new(to, columns, layout, [flush, common.quiet, common.show_secrets])
}

/// Prints warnings about headers, values and exchanges that the columns could not take into account.
pub fn remark<W: Write>(rows: &Fields<W>) {
    filter::remark("The columns", rows.missed());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_columns_are_read_as_tshark_reads_them() {
        for (text, read) in [
            ("header=y", Choice::Header(true)),
            ("header=N", Choice::Header(false)),
            ("bom=y", Choice::Mark(true)),
            ("separator=/t", Choice::Separator('\t')),
            ("separator=/s", Choice::Separator(' ')),
            ("separator==", Choice::Separator('=')),
            ("aggregator=,", Choice::Aggregator(',')),
            ("quote=s", Choice::Quote(Some('\''))),
            ("quote=n", Choice::Quote(None)),
            ("occurrence=l", Choice::Occurrence(Occurrence::Last)),
        ] {
            assert_eq!(choice(text), Ok(read), "{text}");
        }
        for text in ["header", "header=", "separator=", "separator=ab", "quote=x", "occurrence=z", "foo=1"] {
            assert!(choice(text).unwrap_err().contains("separator=/t|/s|CHAR"), "{text}");
        }
    }
}
