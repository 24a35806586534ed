//! `qdissect server`: its arguments and its execution.

use super::choices::{Colour, Format, SERVER_FORMATS};
use super::common_args::Common;
use super::diagnostics::{Done, OK, unless_closed};
use super::job::{Job, ReadsCaptures};
use super::output::Target;
use super::save::read_all;
use super::system::{self, display_name, stdin_may_be_capture};
use super::terminal::{self, wrap};
use crate::case::{self, Case, CaseRecord, Gathered};
use crate::report::Output;
use crate::text::escape::escaped;
use clap::Args;
use std::io;
use std::path::Path;

/// Exit code: nothing of the server is in the captures.
const ABSENT: u8 = 3;

/// `qdissect server`
#[derive(Debug, Args)]
pub struct ServerArgs {
    /// The server: an address, with a port if it is about one, or the name that it gives itself
    #[arg(value_name = "ADDR[:PORT]")]
    pub server: String,
    /// Output format
    #[arg(short = 'T', long, value_parser = SERVER_FORMATS, default_value = "table", value_name = "FMT")]
    pub format: Format,
    /// When to use colours
    #[arg(long, value_enum, default_value_t = Colour::Auto, value_name = "WHEN")]
    pub color: Colour,
    #[command(flatten)]
    pub common: Common,
}

impl ServerArgs {
    /// The captures as commands name them.
    fn files(&self) -> String {
        match self.common.files.iter().chain(&self.common.read).collect::<Vec<_>>().as_slice() {
            [only] => shell_word(&display_name(only).to_string()),
            _ => "FILE...".to_owned(),
        }
    }
}

/// A word as shells read it: in quotes, unless it needs none.
fn shell_word(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./,:@%+=".contains(c);
    if word.chars().all(is_plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', "'\\''")) }
}

impl ReadsCaptures for ServerArgs {
    fn common(&self) -> &Common {
        &self.common
    }

    fn common_mut(&mut self) -> &mut Common {
        &mut self.common
    }

    fn writes_ndjson(&self) -> bool {
        self.format.is_ndjson()
    }

    fn prepare(&self) -> Result<(), String> {
        let first = self.common.files.first().and_then(|path| path.to_str());
        let is_address = |text: &str| matches!(case::Target::parse(text), case::Target::Address(..));
        let is_swapped = first.map_or(self.common.read.is_empty() && !stdin_may_be_capture(), is_address);
        if is_swapped && system::metadata(Path::new(&self.server)).is_ok() {
            let (file, server) = (escaped(&self.server), first.unwrap_or("ADDR"));
            return Err(format!(
                "{file} is a file, and the server comes first: `qdissect server {server} {file}`."
            ));
        }
        Ok(())
    }

    fn run(&self, to: &mut Target, Job { options, inputs, .. }: Job) -> io::Result<Done> {
        let mut gathered = Gathered::new(case::Target::parse(&self.server));
        let (totals, code) = read_all(&self.common, options, inputs, &mut gathered)?;
        if totals.files == 0 {
            return Ok((code, 0)); // nothing was read, and that has been reported
        }
        let case = Case::of(&gathered, &totals, &self.files());
        unless_closed(match self.format {
            Format::Records(form) => {
                let mut out = Output::new(to, form, false);
                out.value(&CaseRecord::new(&case, &gathered.captures)).and_then(|()| out.finish())
            }
            _ => {
                let screen = terminal::screen(self.color, &self.common);
                case::write(&mut wrap(to, &self.common), screen, &case, &gathered.captures)
            }
        })?;
        let code = if code == OK && case.is_absent() { ABSENT } else { code };
        Ok((code, totals.files))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_for_shells_are_quoted_where_they_need_it() {
        assert_eq!(shell_word("captures/demo.pcapng"), "captures/demo.pcapng");
        assert_eq!(shell_word("my capture.pcap"), "'my capture.pcap'");
        assert_eq!(shell_word("it's"), "'it'\\''s'");
    }
}
