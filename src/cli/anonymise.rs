//! `qdissect anonymise`: its arguments and its execution.

use super::common_args::Common;
use super::diagnostics::{Done, FAILED, OK, note};
use super::inputs::open;
use super::job::{Job, ReadsCaptures};
use super::output::{Target, is_stdout};
use super::read::read_with;
use super::save::{APPLICATION, BUFFER, report_unwritable};
use super::system::display_name;
use crate::anonymise::{Anonymiser, Counts, Key, needed};
use crate::capture::Writer;
use crate::report::count;
use clap::Args;
use std::io::{self, BufWriter, ErrorKind};

/// Most fields that are named because their texts stayed.
const MAX_NAMED: usize = 8;

/// `qdissect anonymise`
///
/// Writes the datagrams of the protocols with other addresses, names, tokens and passwords, and leaves everything else
/// out: other traffic, comments, hardware addresses, tunnels. Ports, lengths, times, numbers and findings stay.
#[derive(Debug, Args)]
pub struct AnonymiseArgs {
    /// The same key gives the same replacements; without it, each run differs
    #[arg(long, value_name = "TEXT")]
    pub key: Option<String>,
    #[command(flatten)]
    pub common: Common,
}

impl ReadsCaptures for AnonymiseArgs {
    fn common(&self) -> &Common {
        &self.common
    }

    fn common_mut(&mut self) -> &mut Common {
        &mut self.common
    }

    fn result_is_capture(&self) -> bool {
        true
    }

    fn prepare(&self) -> Result<(), String> {
        if self.common.write.is_none() {
            return Err("The result is a capture: name its file with -w.".to_owned());
        }
        if self.common.annotate.is_some() {
            return Err(
                "Comments would show what is replaced: leave --annotate out, and annotate the result."
                    .to_owned(),
            );
        }
        if self.key.as_ref().is_some_and(String::is_empty) {
            return Err("An empty --key hides nothing: give it a long text, or leave it out.".to_owned());
        }
        Ok(())
    }

    fn run(&self, _: &mut Target, job: Job) -> io::Result<Done> {
        let Some(path) = self.common.write.as_deref() else { return Ok((FAILED, 0)) };
        let to = Some(path).filter(|path| !is_stdout(path));
        let failed = |e: &io::Error| {
            if to.is_none() && e.kind() == ErrorKind::BrokenPipe {
                return Ok((OK, 0)); // the reader of the capture went away
            }
            report_unwritable(path, e);
            Ok((FAILED, 0))
        };
        let target = match Target::open(to) {
            Ok(target) => target,
            Err(e) => return failed(&e),
        };
        let key = self.key.as_deref().map_or_else(Key::random, Key::of);
        let writer = Writer::new(BufWriter::with_capacity(BUFFER, target), APPLICATION);
        let mut anonymiser = match writer {
            Ok(writer) => Anonymiser::new(writer, key),
            Err(e) => return failed(&e),
        };
        let read = read_with(&self.common, needed(job.options), job.inputs, &mut anonymiser, &mut open);
        let done = read.and_then(|(totals, code)| {
            let (buffer, counts) = anonymiser.finish()?;
            buffer.into_inner()?.complete(totals.files > 0)?;
            Ok((totals, code, counts))
        });
        match done {
            Err(e) => failed(&e),
            Ok((totals, code, counts)) => {
                if totals.files > 0 {
                    self.tell(&counts, totals.packets);
                }
                Ok((code, totals.files))
            }
        }
    }
}

impl AnonymiseArgs {
    /// Says what was written, and what was left out or stayed.
    fn tell(&self, counts: &Counts, all: u64) {
        let datagrams = |n: u64| count(n, "datagram");
        if !self.common.quiet {
            note(&format_args!(
                "{} of {} written, with other addresses and texts.",
                counts.written,
                count(all, "frame")
            ));
        }
        if counts.compressed > 0 {
            note(&format_args!("{} left out: their messages are compressed.", datagrams(counts.compressed)));
        }
        if counts.unreplaced > 0 {
            note(&format_args!(
                "{} left out: with other texts, other rules would be broken.",
                datagrams(counts.unreplaced)
            ));
        }
        if !counts.stayed.is_empty() {
            let named =
                counts.stayed.iter().take(MAX_NAMED).map(|(field, times)| format!("{field} ({times})"));
            let named = named.collect::<Vec<_>>().join(", ");
            let more = counts.stayed.len().saturating_sub(MAX_NAMED);
            let more = if more > 0 { format!(", and {more} more fields") } else { String::new() };
            note(&format_args!("Words that rules read stayed, look at them: {named}{more}."));
        }
        let path = self.common.write.as_deref().filter(|path| !self.common.quiet && !is_stdout(path));
        if let Some(name) = path.map(display_name) {
            note(&format_args!("`qdissect dump -V {name}` shows everything that is left."));
        }
    }
}
