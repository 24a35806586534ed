//! The values of named fields as text: the columns of `-T fields`, `csv` and `tsv`.

use super::compile::source;
use super::kinds::Kind;
use super::names::{lookup, unknown};
use super::pick::{Pick, Wanted};
use super::plan::Source;
use super::value::Datum;
use super::view::View;
use super::{MAX_NODES, Needs};
use crate::decode::{SECRET, Span};
use crate::escape::to_hex;
use crate::net::UDP_HEADER;

/// Most columns: as many as a filter may have operands.
pub const MAX_COLUMNS: usize = MAX_NODES;

/// The columns: fields by name, in the order named.
#[derive(Clone, Debug, Default)]
pub struct Columns {
    columns: Vec<Column>,
    wanted: Vec<Wanted>,
    needs: Needs,
}

#[derive(Clone, Debug)]
struct Column {
    name: String,
    kind: Kind,
    source: Source,
}

/// A value of a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Printed {
    /// The value as text: numbers in decimal, times in seconds with nine decimals, bytes as hex digits, yes and no
    /// as 1 and 0. Texts are as sent, with U+FFFD for bytes that are not UTF-8: not safe to print.
    pub text: String,
    /// Whether it is text, which may contain any characters, or a word from a list.
    pub is_free_text: bool,
}

impl Columns {
    /// Looks up the names, which are the same as in filters.
    ///
    /// # Errors
    /// A sentence about the first name that is unknown, or when there are more than [`MAX_COLUMNS`].
    pub fn parse<S: AsRef<str>>(names: &[S]) -> Result<Columns, String> {
        if names.len() > MAX_COLUMNS {
            return Err(format!("{} columns are named; {MAX_COLUMNS} are the most.", names.len()));
        }
        let Columns { mut columns, mut wanted, mut needs } = Columns::default();
        for name in names.iter().map(AsRef::as_ref) {
            let (named, kind) = lookup(name).ok_or_else(|| unknown(name))?;
            let source = source(named, &mut wanted);
            needs.add(source);
            columns.push(Column { name: name.to_owned(), kind, source });
        }
        Ok(Columns { columns, wanted, needs })
    }

    /// The parts of a [`View`] that all values need.
    pub fn needs(&self) -> Needs {
        self.needs
    }

    /// A listener that picks the declared fields of the columns.
    pub fn pick(&self) -> Pick {
        Pick::of(self.wanted.clone())
    }

    /// The names, in the order given.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().map(|column| column.name.as_str())
    }

    /// The values of every column, in order; empty for a column without a value in the packet. `secrets` are spans
    /// of the payload that must not be shown.
    pub fn values(&self, view: &View<'_>, secrets: &[Span]) -> impl Iterator<Item = Vec<Printed>> {
        self.columns.iter().map(|column| {
            let mut values = vec![];
            column.source.each(view, &mut |value| {
                values.extend(column.printed(&value, secrets));
                false
            });
            values
        })
    }
}

impl Column {
    fn printed(&self, value: &Datum<'_>, secrets: &[Span]) -> Option<Printed> {
        let is_free_text = matches!(value, Datum::Text(_) | Datum::Named(_, Some(_)) | Datum::Hidden);
        let text = match (value, self.name.as_str()) {
            (Datum::Int(v), "eth.type" | "ip.id" | "udp.checksum") => format!("0x{v:04x}"),
            // For a list, its values are printed.
            (Datum::Present, _)
                if matches!(self.source, Source::Picked(..)) && self.kind != Kind::Presence =>
            {
                return None;
            }
            (Datum::Present, _) => "1".into(),
            (Datum::Bool(v), _) => u8::from(*v).to_string(),
            (Datum::Hidden, _) => SECRET.into(),
            (Datum::Finding(rule), _) => (*rule).into(),
            (Datum::Bytes(bytes), "udp.payload") => masked(bytes, secrets, 0),
            (Datum::Bytes(bytes), "udp") => masked(bytes, secrets, UDP_HEADER),
            // Unknown here: where the payload begins in the frame, or of how many frames it was reassembled.
            (Datum::Bytes(_), "frame") if !secrets.is_empty() => SECRET.into(),
            (Datum::Bytes(bytes), _) if self.kind != Kind::Mac => to_hex(bytes),
            (Datum::Rank(_), _) => match self.kind {
                Kind::Rank(words) => value.string(&words.all())?,
                _ => return None,
            },
            _ => value.string(&[])?,
        };
        Some(Printed { text, is_free_text })
    }
}

/// Hex digits, with `**` for each byte that must not be shown; the payload begins at `from`.
pub(crate) fn masked(bytes: &[u8], secrets: &[Span], from: usize) -> String {
    let secret = |i: usize| {
        let within = |s: &Span| (usize::from(s.start)..usize::from(s.end)).contains(&i);
        secrets.iter().any(within)
    };
    let one = |(i, byte): (usize, &u8)| match i.checked_sub(from) {
        Some(at) if secret(at) => "**".to_owned(),
        _ => to_hex(&[*byte]),
    };
    if secrets.is_empty() { to_hex(bytes) } else { bytes.iter().enumerate().map(one).collect() }
}

#[cfg(test)]
#[allow(clippy::indexing_slicing, clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::capture::Time;
    use crate::net::{Datagram, Endpoint};

    #[test]
    fn values_are_printed_as_tshark_prints_them() {
        let datagram = Datagram {
            frame: 7,
            time: Time::from_nanos(1_795_170_722_000_950_036),
            src: Endpoint::v4([192, 0, 2, 1], 7777),
            dst: Endpoint::v4([192, 0, 2, 2], 40000),
            at: 0,
            cut: 0,
            origin: 0,
            partial: false,
            checksum: 0x1a,
            ip_id: 0,
            tunnel: 0,
            payload: &[0, 0xd5, 0xf6],
        };
        let names =
            ["frame.number", "frame.time_epoch", "ip.addr", "udp.port", "udp.checksum", "udp.payload"];
        let columns = Columns::parse(&names).unwrap();
        let view = View::of_datagram(&datagram);
        let cells: Vec<String> = columns
            .values(&view, &[])
            .map(|values| values.iter().map(|v| v.text.as_str()).collect::<Vec<_>>().join(","))
            .collect();
        let ports = "7777,40000";
        let expected =
            ["7", "1795170722.000950036", "192.0.2.1,192.0.2.2", ports, "0x001a", "00d5f6"].map(String::from);
        assert_eq!(cells, expected);
        assert_eq!(columns.names().collect::<Vec<_>>(), names);
        let absent = Columns::parse(&["ipv6.src", "sqp.token", "frame.len", "protocol"]).unwrap();
        assert!(absent.values(&view, &[]).all(|values| values.is_empty()));
        assert!(absent.needs().any(Needs::FACTS) && absent.needs().any(Needs::FIELDS));
    }

    #[test]
    fn an_unknown_name_is_refused_with_the_one_that_was_meant() {
        let refused = |name: &str| Columns::parse(&[name]).unwrap_err();
        assert_eq!(refused("udp.prot"), "There is no field \"udp.prot\"; did you mean udp.port?");
        assert_eq!(
            refused("game_type"),
            "There is no field \"game_type\"; did you mean sqp.server_info.game_type?"
        );
        assert!(refused("\u{1b}[2J").starts_with("There is no field \"\\x1b[2J\""));
    }

    #[test]
    fn so_many_columns_are_taken_and_one_more_is_declined() {
        let most = Columns::parse(&vec!["udp"; MAX_COLUMNS]).unwrap();
        assert_eq!(most.names().count(), MAX_COLUMNS);
        let refused = Columns::parse(&vec!["udp"; MAX_COLUMNS + 1]).unwrap_err();
        assert_eq!(refused, "2049 columns are named; 2048 are the most.");
    }
}
