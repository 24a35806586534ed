//! Writes the example of a rule as a capture.

use crate::capture::{CaptureInfo, Writer};
use crate::cli::diagnostics::{error_text, note};
use crate::cli::output::{self, is_stdout};
use crate::cli::run::NEEDS_FILE;
use crate::cli::save::APPLICATION;
use crate::cli::system::display_name;
use crate::pipeline::Options;
use crate::protocols::Level;
use crate::rule::{Example, Rule};
use crate::schema::example::{Dissected, dissect_with, frames_of};
use std::io;
use std::path::Path;

/// Writes the first example of the rule, and says how to check the file where that takes an option.
///
/// # Errors
/// A sentence that says why there is no file.
pub fn example(rules: &[&'static Rule], path: &Path) -> Result<(), String> {
    let [rule] = rules else {
        return Err(format!("-w writes the example of one rule, and {} match: name one.", rules.len()));
    };
    let Some(example) = rule.examples.first() else {
        return Err(format!("{} has no example: only `ask --probe` finds it.", rule.id));
    };
    if is_stdout(path) {
        return Err(NEEDS_FILE.to_owned());
    }
    let name = display_name(path);
    let written = capture(example).and_then(|capture| output::write(path, &capture));
    written.map_err(|e| format!("The capture cannot be written to \"{name}\": {}.", error_text(&e)))?;
    if !is_found(rule, example, Level::Medium) {
        note(&format_args!("`qdissect check --min-confidence low` finds {} in it.", rule.id));
    }
    Ok(())
}

/// Whether the rule is reported in the example at that confidence.
fn is_found(rule: &Rule, example: &Example, min_confidence: Level) -> bool {
    let options = Options { min_confidence, all: true, ..Options::default() };
    let Dissected { datagrams, exchanges, .. } = dissect_with(example, options);
    let of_datagrams = datagrams.iter().filter_map(|d| d.dissection.as_ref()).flat_map(|d| &d.findings);
    of_datagrams.chain(exchanges.iter().flat_map(|(_, findings)| findings)).any(|f| f.rule == rule)
}

/// The frames of an example as a capture file.
fn capture(example: &Example) -> io::Result<Vec<u8>> {
    let mut writer = Writer::new(vec![], APPLICATION)?;
    for (number, frame) in frames_of(example) {
        writer.frame::<&str>(0, &CaptureInfo::default(), &frame.frame(number), &[])?;
    }
    writer.finish()
}
