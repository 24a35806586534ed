//! Display filters and columns: any text as an expression.

use crate::kit::play::{everything, example_frames, report};
use qdissect::check::Finding;
use qdissect::exchange::Exchange;
use qdissect::filter::{Columns, Filter, FilterError, Pick, View};
use qdissect::protocols::Id;
use qdissect::report::{Packet, Report};
use qdissect::text::escape::is_hostile;
use std::io;
use std::sync::LazyLock;

/// A conversation of every protocol.
static SHOTS: LazyLock<Vec<crate::kit::play::RawFrame>> = LazyLock::new(|| {
    Id::ALL.iter().filter_map(|id| id.info().samples.first()).flat_map(example_frames).collect()
});

/// Applies filters to every packet and exchange.
struct Asked<'t> {
    text: &'t str,
    /// The filter, and its negation if there is one.
    filters: Vec<Filter>,
    columns: Option<Columns>,
}

impl Asked<'_> {
    fn ask(&self, answers: &[bool], about: &str) {
        if let [filter, opposite] = answers {
            assert_ne!(filter, opposite, "{} and its opposite agree: {about}", self.text);
        }
    }
}

impl Report for Asked<'_> {
    fn packet(&mut self, packet: &Packet<'_>) -> io::Result<()> {
        let holds = |filter: &Filter| {
            let mut pick = Pick::new(filter);
            pick.packet(packet, false);
            filter.matches(&View { picked: Some(&pick), ..View::of_packet(packet) })
        };
        let answers: Vec<bool> = self.filters.iter().map(holds).collect();
        self.ask(&answers, &format!("frame {}", packet.datagram.frame));
        if let Some(columns) = &self.columns {
            let mut pick = columns.pick();
            pick.packet(packet, false);
            let view = View { picked: Some(&pick), ..View::of_packet(packet) };
            assert_eq!(columns.values(&view, &[]).count(), columns.names().count());
        }
        Ok(())
    }

    fn exchange(&mut self, e: &Exchange, findings: &[Finding]) -> io::Result<()> {
        let view = View::of_exchange(e, findings);
        let answers: Vec<bool> = self.filters.iter().map(|f| f.matches(&view)).collect();
        self.ask(&answers, &format!("exchange {}", e.id));
        Ok(())
    }
}

/// Checks that an error is a sentence about a place in the text.
fn complained(text: &str, e: &FilterError) {
    assert!(text.get(e.at.clone()).is_some(), "{:?} is no place in {text:?}", e.at);
    assert!(e.what.ends_with(['.', '?']), "{:?} of {text:?}", e.what);
    let shown = format!("{e}\n{}", e.caret(text));
    assert!(!shown.chars().any(|c| c != '\n' && is_hostile(c)), "{shown:?}");
}

/// Checks that a filter and its negation never agree, and uses the text as names of columns.
pub fn filter(bytes: &[u8]) {
    let text = &*String::from_utf8_lossy(bytes);
    let mut filters = vec![];
    match Filter::parse(text) {
        Ok(filter) => {
            let opposite = Filter::parse(&format!("!({text})")).ok().filter(|_| !text.trim().is_empty());
            filters.extend([filter].into_iter().chain(opposite));
        }
        Err(e) => complained(text, &e),
    }
    let asked = Asked { text, filters, columns: columns(text) };
    if !asked.filters.is_empty() || asked.columns.is_some() {
        report(everything(), asked, &SHOTS);
    }
}

/// Uses the text as names of columns, if it could contain some.
fn columns(text: &str) -> Option<Columns> {
    if !text.chars().all(|c| c.is_alphanumeric() || "._,-".contains(c)) {
        return None;
    }
    let columns = Columns::parse(&text.split(',').collect::<Vec<_>>());
    if let Err(e) = &columns {
        assert!(!e.chars().any(is_hostile), "{e:?}");
    }
    columns.ok()
}
