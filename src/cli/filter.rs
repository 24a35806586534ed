//! `-Y`: the display filter, and the warnings about it.

use super::common_args::Common;
use super::diagnostics::warning;
use super::value_parsers::Expression;
use crate::decode::Listener;
use crate::filter::Filter;
use crate::report::{Filtered, Missed, Report, Totals, count};
use std::io;

/// The display filter, if the user gave one.
fn wanted(common: &Common) -> Option<&Filter> {
    common.display_filter.as_ref().and_then(Expression::filter)
}

/// Reads into a report through the display filter, if there is one, and warns about headers, values and exchanges that it could
/// not take into account. The totals count only what passes the filter.
pub fn through<S: Listener>(
    common: &Common,
    secrets: bool,
    report: &mut dyn Report<Sink = S>,
    read: impl FnOnce(&mut dyn Report<Sink = S>) -> io::Result<(Totals, u8)>,
) -> io::Result<(Totals, u8)> {
    let Some(filter) = wanted(common) else { return read(report) };
    let mut filtered = Filtered::new(filter.clone(), secrets, report);
    let (totals, code) = read(&mut filtered)?;
    remark("The filter", filtered.missed());
    Ok((filtered.narrow(&totals), code))
}

/// Prints warnings about headers, values and exchanges that the filter or the columns (`who`) could not take into account.
pub fn remark(who: &str, missed: Missed) {
    missed_sentences(who, missed).iter().for_each(|sentence| warning(sentence));
}

fn missed_sentences(who: &str, Missed { frames, values, exchanges }: Missed) -> Vec<String> {
    let datagrams = |n| count(n, "datagram");
    let all = [
        (
            frames,
            format!("{who} had no headers of {}: too many other frames stood in between.", datagrams(frames)),
        ),
        (
            values,
            format!(
                "{who} had not all values of {}: they hold more than are picked of one.",
                datagrams(values)
            ),
        ),
        (
            exchanges,
            format!(
                "Whether a packet passed was forgotten of {}, for want of room: they were judged by themselves.",
                count(exchanges, "exchange")
            ),
        ),
    ];
    all.into_iter().filter(|(n, _)| *n > 0).map(|(_, sentence)| sentence).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_missed_is_said_each_in_a_sentence() {
        assert!(missed_sentences("The filter", Missed::default()).is_empty());
        let said = missed_sentences("The columns", Missed { frames: 1, values: 2, exchanges: 3 });
        assert!(said[0].starts_with("The columns had no headers of 1 datagram: "), "{said:?}");
        assert!(said[1].starts_with("The columns had not all values of 2 datagrams: "), "{said:?}");
        assert!(said[2].starts_with("Whether a packet passed was forgotten of 3 exchanges, "), "{said:?}");
    }
}
