//! The values of named fields as text: the columns of `-T fields`, `csv` and `tsv`.

use super::compile::source;
use super::kinds::Kind;
use super::names::{lookup, unknown_field};
use super::pick::{Pick, Wanted};
use super::plan::Source;
use super::value::Datum;
use super::view::View;
use super::{MAX_NODES, Needs};
use crate::decode::{SECRET, Span};
use crate::net::UDP_HEADER;
use crate::text::escape::to_hex;
use jiff::Timestamp;
use jiff::tz::TimeZone;

/// Maximum number of columns, the same as of operands in a filter.
pub const MAX_COLUMNS: usize = MAX_NODES;

/// The field whose column shows local time; filters compare it in UTC.
const LOCAL_TIME: &str = "frame.time";

/// Columns, each a field with its name, in the order given.
#[derive(Clone, Debug)]
pub struct Columns {
    columns: Vec<Column>,
    wanted: Vec<Wanted>,
    needs: Needs,
    zone: TimeZone,
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
    /// The value as text: numbers in decimal, times in seconds with nine decimals, bytes as hex digits, booleans as 1
    /// and 0. Texts are as sent, with U+FFFD for bytes that are not UTF-8, and therefore not safe to print.
    pub text: String,
    /// Whether the value is text, which may contain any characters, or a word from a list.
    pub is_free_text: bool,
}

impl Columns {
    /// Looks up field names, which are the same as in filters.
    ///
    /// # Errors
    /// A sentence about the first unknown name, or about more than [`MAX_COLUMNS`] names.
    pub fn parse<S: AsRef<str>>(names: &[S]) -> Result<Columns, String> {
        if names.len() > MAX_COLUMNS {
            return Err(format!("{} columns are named; {MAX_COLUMNS} are the most.", names.len()));
        }
        let (mut columns, mut wanted, mut needs) = (vec![], vec![], Needs::default());
        for name in names.iter().map(AsRef::as_ref) {
            let (named, kind) = lookup(name).ok_or_else(|| unknown_field(name))?;
            let source = source(named, &mut wanted);
            needs.add(source);
            columns.push(Column { name: name.to_owned(), kind, source });
        }
        Ok(Columns { columns, wanted, needs, zone: TimeZone::UTC })
    }

    /// Whether a column shows local time, as `frame.time` does.
    pub fn show_local_time(&self) -> bool {
        self.columns.iter().any(|column| column.name == LOCAL_TIME)
    }

    /// The same, with local time of that zone instead of UTC.
    pub fn in_zone(self, zone: TimeZone) -> Columns {
        Columns { zone, ..self }
    }

    /// The parts of a [`View`] that the columns need.
    pub fn needs(&self) -> Needs {
        self.needs
    }

    /// A [`Pick`] of the declared fields among the columns.
    pub fn pick(&self) -> Pick {
        Pick::of(self.wanted.clone())
    }

    /// The names, in the order given.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().map(|column| column.name.as_str())
    }

    /// The values of every column, in order, empty for a column without a value. The `secrets` are spans of the payload
    /// that must not be shown.
    pub fn values(&self, view: &View<'_>, secrets: &[Span]) -> impl Iterator<Item = Vec<Printed>> {
        self.columns.iter().map(|column| {
            let mut values = vec![];
            column.source.each(view, &mut |value| {
                values.extend(column.printed(&value, secrets, &self.zone));
                false
            });
            values
        })
    }
}

impl Column {
    fn printed(&self, value: &Datum<'_>, secrets: &[Span], zone: &TimeZone) -> Option<Printed> {
        let is_free_text = matches!(value, Datum::Text(_) | Datum::Named(_, Some(_)) | Datum::Hidden);
        let text = match (value, self.name.as_str()) {
            (Datum::Int(v), "eth.type" | "ip.id" | "udp.checksum") => format!("0x{v:04x}"),
            // The values of a list are printed, not the list.
            (Datum::Present, _)
                if matches!(self.source, Source::Picked(..)) && self.kind != Kind::Presence =>
            {
                return None;
            }
            (Datum::Present, _) => "1".into(),
            (Datum::Bool(v), _) => u8::from(*v).to_string(),
            (Datum::Hidden, _) => SECRET.into(),
            (Datum::Finding(rule), _) => (*rule).into(),
            (Datum::Text(stamp), LOCAL_TIME) => local_time(stamp, zone)?,
            (Datum::Bytes(bytes), "udp.payload") => masked(bytes, secrets, 0),
            (Datum::Bytes(bytes), "udp") => masked(bytes, secrets, UDP_HEADER),
            // The offset of the payload in the frame is unknown here, and so are the frames of a reassembled datagram.
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

/// A time stamp as tshark prints it: `Nov 20, 2026 11:32:00.614506310 CET`.
fn local_time(stamp: &[u8], zone: &TimeZone) -> Option<String> {
    let time: Timestamp = str::from_utf8(stamp).ok()?.parse().ok()?;
    Some(time.to_zoned(zone.clone()).strftime("%b %e, %Y %H:%M:%S%.9f %Z").to_string())
}

/// Hex digits, with `**` for each byte that must not be shown. The payload begins at offset `from`.
pub(crate) fn masked(bytes: &[u8], secrets: &[Span], from: usize) -> String {
    let is_secret = |i: usize| {
        let contains = |s: &Span| (usize::from(s.start)..usize::from(s.end)).contains(&i);
        secrets.iter().any(contains)
    };
    let digits = |(i, byte): (usize, &u8)| match i.checked_sub(from) {
        Some(at) if is_secret(at) => "**".to_owned(),
        _ => to_hex(&[*byte]),
    };
    if secrets.is_empty() { to_hex(bytes) } else { bytes.iter().enumerate().map(digits).collect() }
}

#[cfg(test)]
#[allow(clippy::indexing_slicing, clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::capture::Time;
    use crate::net::{Datagram, Endpoint};

    #[test]
    fn prints_values_like_tshark() {
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
            ttl: 64,
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
        let absent_columns = Columns::parse(&["ipv6.src", "sqp.token", "frame.len", "protocol"]).unwrap();
        assert!(absent_columns.values(&view, &[]).all(|values| values.is_empty()));
        assert!(absent_columns.needs().any(Needs::FACTS) && absent_columns.needs().any(Needs::FIELDS));
    }

    #[test]
    fn an_error_about_an_unknown_name_suggests_a_similar_one() {
        let error = |name: &str| Columns::parse(&[name]).unwrap_err();
        assert_eq!(error("udp.prot"), "There is no field \"udp.prot\"; did you mean udp.port?");
        assert_eq!(
            error("game_type"),
            "There is no field \"game_type\"; did you mean sqp.server_info.game_type?"
        );
        assert!(error("\u{1b}[2J").starts_with("There is no field \"\\x1b[2J\""));
    }

    #[test]
    fn rejects_more_columns_than_the_limit() {
        let columns = Columns::parse(&vec!["udp"; MAX_COLUMNS]).unwrap();
        assert_eq!(columns.names().count(), MAX_COLUMNS);
        let error = Columns::parse(&vec!["udp"; MAX_COLUMNS + 1]).unwrap_err();
        assert_eq!(error, "2049 columns are named; 2048 are the most.");
    }
}
