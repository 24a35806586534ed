//! `qdissect diff`: its arguments and its execution.

use super::choices::{Colour, Format, SERVER_FORMATS, positive};
use super::common_args::Common;
use super::diagnostics::{Done, FAILED, OK, error, unless_closed, warning};
use super::inputs::{Inputs, open};
use super::job::{Job, ReadsCaptures};
use super::output::{Target, is_stdout};
use super::read::read_with;
#[cfg(target_os = "linux")]
use super::sandbox::Allowed;
use super::system::display_name;
use super::terminal::{self, wrap};
use super::text::unknown_name;
use crate::case;
use crate::diff::{self, Comparison, Ignored, Seen, Unmatched};
use crate::pipeline::Options;
use crate::protocols::Id;
use crate::report::Output;
use clap::Args;
use std::io;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

/// Exit code: the captures differ.
const DIFFERENT: u8 = 1;
/// The error message for any number of captures but two.
const TWO: &str = "Two captures are compared: name A and B, files or directories.";

/// `qdissect diff`
///
/// Compares the latest answer of each message, and of SQP and the like each part of it, how often rules are broken, and response
/// times. The server may have another address where each capture has one server; else servers are compared by endpoint.
/// A rule counts as the same if it is broken in the same share of the datagrams. A median counts as the same unless it is twice
/// as long as the other one and at least 10 ms longer. Fields that belong to one request or one moment are not compared: tokens,
/// cookies, round trips, times of play, marked `volatile` in the list of fields.
#[derive(Debug, Args)]
pub struct DiffArgs {
    /// Only this server: an address, with a port if it is about one, or its name. Given twice, the first is the one in A, the second
    /// that in B
    #[arg(long = "server", value_name = "ADDR[:PORT]")]
    pub servers: Vec<String>,
    /// Not these fields, by name or its beginning, separated by commas: players,server_info.map
    #[arg(long, value_name = "FIELDS", value_delimiter = ',')]
    pub ignore_fields: Vec<String>,
    /// Also fields that belong to one request or one moment
    #[arg(long)]
    pub volatile: bool,
    /// Output format
    #[arg(short = 'T', long, value_parser = SERVER_FORMATS, default_value = "table", value_name = "FMT")]
    pub format: Format,
    /// Only the first N differences of each server [default: 200]
    #[arg(long, value_name = "N", value_parser = positive, allow_negative_numbers = true)]
    pub top: Option<NonZeroUsize>,
    /// When to use colours
    #[arg(long, value_enum, default_value_t = Colour::Auto, value_name = "WHEN")]
    pub color: Colour,
    #[command(flatten)]
    pub common: Common,
}

impl DiffArgs {
    /// The captures A and B.
    fn captures(&self) -> Option<[&Path; 2]> {
        let named: Vec<_> = self.common.files.iter().chain(&self.common.read).map(PathBuf::as_path).collect();
        named.try_into().ok()
    }

    /// The server that is compared, in A or in B.
    fn target(&self, at: usize) -> case::Target {
        let named = self.servers.get(at).or_else(|| self.servers.first());
        named.map_or(case::Target::Any, |name| case::Target::parse(name))
    }

    /// Reads one of the captures. Returns the exit code and the number of files read, too.
    fn read(&self, path: &Path, at: usize, options: Options) -> io::Result<(Seen, Done)> {
        let mut inputs = Inputs::find(std::iter::once(&path.to_owned()), false);
        inputs.order(true);
        let mut seen = Seen::new(self.target(at));
        let (totals, code) = read_with(&self.common, options, inputs, &mut seen, &mut open)?;
        Ok((seen, (code, totals.files)))
    }

    /// Says why nothing can be compared.
    fn unmatched(&self, captures: [&Path; 2], Unmatched(empty): Unmatched) -> Done {
        for (at, (path, _)) in captures.into_iter().zip(empty).enumerate().filter(|(_, (_, empty))| *empty) {
            let name = display_name(path);
            match self.servers.get(at).or_else(|| self.servers.first()) {
                None => error(&format_args!(
                    "{name}: There is no server of a known protocol in it, so nothing can be compared."
                )),
                Some(server) => error(&format_args!(
                    "{name}: There is no server {server} in it; `qdissect {name}` lists its servers."
                )),
            }
        }
        (FAILED, 0)
    }

    /// Writes the result.
    fn write(&self, to: &mut Target, comparison: &Comparison) -> io::Result<()> {
        let Format::Records(form) = self.format else {
            let screen = terminal::screen(self.color, &self.common);
            let screen = crate::report::screen::Screen { top: self.top.map(NonZeroUsize::get), ..screen };
            return diff::write(&mut wrap(to, &self.common), screen, comparison);
        };
        let mut out = Output::new(to, form, false);
        let (pairs, differences) = comparison.records();
        for pair in pairs {
            out.value(&pair)?;
        }
        for difference in differences {
            out.value(&difference)?;
        }
        out.finish()
    }
}

impl ReadsCaptures for DiffArgs {
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
        let Some(captures) = self.captures() else { return Err(TWO.to_owned()) };
        if captures.iter().all(|path| is_stdout(path)) {
            return Err("Standard input can be read once: name a file for A or B.".to_owned());
        }
        if self.common.follow || self.common.write.is_some() {
            return Err("diff reads two captures to their ends, and writes none: leave --follow and -w out."
                .to_owned());
        }
        if self.servers.len() > 2 {
            return Err("--server can be given twice at most: the server in A, and in B.".to_owned());
        }
        self.ignore_fields.iter().try_for_each(|name| known_field(name))
    }

    #[cfg(target_os = "linux")]
    fn allowed(&self) -> Allowed {
        // Directories are looked into for each capture.
        let read = self.common.files.iter().chain(&self.common.read).cloned().collect();
        Allowed { read, ..Allowed::default() }
    }

    fn run(&self, to: &mut Target, Job { options, inputs, .. }: Job) -> io::Result<Done> {
        let Some(captures) = self.captures().filter(|_| inputs.unread.is_empty()) else {
            return Ok((FAILED, 0));
        };
        let [a, b] = captures;
        let (seen_a, (code_a, files_a)) = self.read(a, 0, options.clone())?;
        let (seen_b, (code_b, files_b)) = self.read(b, 1, options)?;
        let code = code_a.max(code_b);
        if files_a == 0 || files_b == 0 {
            return Ok((code, 0)); // nothing was read of one of them, and that has been reported
        }
        let ignored = Ignored { fields: self.ignore_fields.clone(), volatile: self.volatile };
        let comparison = match Comparison::of(&seen_a, &seen_b, &ignored) {
            Ok(comparison) => comparison,
            Err(unmatched) => return Ok(self.unmatched(captures, unmatched)),
        };
        unless_closed(self.write(to, &comparison))?;
        if comparison.more > 0 {
            warning(&format_args!(
                "Only the first {} differences are listed, of {}.",
                comparison.differences.len(),
                comparison.count()
            ));
        }
        if comparison.left_out > 0 {
            warning(&format_args!("For want of room, datagrams were not compared: {}.", comparison.left_out));
        }
        let code = if code == OK && comparison.differs() { DIFFERENT } else { code };
        Ok((code, files_a + files_b))
    }
}

/// Checks that a name is that of a field or begins one; what stands in brackets may be any element.
///
/// # Errors
/// A sentence with a suggestion.
fn known_field(name: &str) -> Result<(), String> {
    let plain = |text: &str| {
        let mut depth = 0_usize;
        let kept = text.chars().filter(|c| {
            let before = depth;
            match c {
                '[' => depth += 1,
                ']' => depth = depth.saturating_sub(1),
                _ => {}
            }
            before == 0 && depth == 0
        });
        kept.collect::<String>()
    };
    let wanted = plain(name);
    let fields: Vec<_> =
        Id::ALL.iter().flat_map(|id| id.info().fields).copied().flatten().map(|field| field.name).collect();
    let is_known = fields.iter().map(|field| plain(field)).any(|field| {
        field.strip_prefix(&wanted).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    });
    if is_known { Ok(()) } else { Err(unknown_name("field", name, &fields)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_to_ignore_are_known_or_suggested() {
        for name in [
            "server_info",
            "server_info.map",
            "players",
            "rules[sv_cheats]",
            "rules[sv_cheats].value",
            "players[0]",
        ] {
            assert_eq!(known_field(name), Ok(()), "{name}");
        }
        assert!(known_field("server_info.mapp").unwrap_err().contains("server_info.map"));
    }
}
