//! `qdissect reduce`: its arguments and its execution.

use super::common_args::Common;
use super::diagnostics::{Done, FAILED, OK, error, note, refuse, warning};
use super::interrupt;
use super::job::{Job, ReadsCaptures};
use super::output::{Target, folder, is_device, is_stdout};
use super::read::read_with;
use super::save::{APPLICATION, HAS_CHANGED, OpenedInputs, report_unwritable};
use super::system::display_name;
use super::value_parsers::{self, unknown_rule};
use crate::anonymise::{Key, anonymised};
use crate::capture::{CaptureInfo, Comments};
use crate::check::rules_named;
use crate::reduce::{Candidates, MAX_BYTES, Minimised, Search};
use crate::report::{Recorder, Remarks, count};
use crate::rule::Rule;
use clap::Args;
use std::io::{self, Write};
use std::path::Path;

/// Most rules that are named where the one that is looked for is not broken.
const MAX_NAMED: usize = 12;

/// `qdissect reduce`
///
/// Drops whole conversations, then datagrams, as long as the finding stays, and writes what is left with other addresses, names
/// and tokens, or with --keep as it was captured. Neither a conversation nor a frame of the result can be left out alone.
#[derive(Debug, Args)]
pub struct ReduceArgs {
    /// The rule whose finding stays, by number: SQP-STR-002
    #[arg(long, value_name = "ID", value_parser = value_parsers::EVERY_RULE, hide_possible_values = true)]
    pub rule: String,
    /// The finding at this frame; else the smallest capture for any finding of the rule
    #[arg(long, value_name = "N", value_parser = value_parsers::packets)]
    pub frame: Option<u64>,
    /// Keep addresses, names and tokens as they are, instead of replacing them as `anonymise` does
    #[arg(long)]
    pub keep: bool,
    #[command(flatten)]
    pub common: Common,
}

impl ReadsCaptures for ReduceArgs {
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
        self.sought()?;
        if self.common.write.is_none() {
            return Err("The result is a capture: name its file with -w.".to_owned());
        }
        if self.common.annotate.is_some() || self.common.follow {
            return Err("reduce reads captures to their ends, and keeps frames as they are: leave --annotate and --follow out.".to_owned());
        }
        Ok(())
    }

    fn run(&self, _: &mut Target, job: Job) -> io::Result<Done> {
        let (Ok(rule), Some(path)) = (self.sought(), self.common.write.as_deref()) else {
            return Ok((FAILED, 0));
        };
        let options = job.options;
        if options.policy.severity(rule).is_none() {
            return Ok(refuse(&format_args!(
                "{} is switched off by the configuration, --select, --ignore or --level.",
                rule.id
            )));
        }
        // Copies of pipes are made beside the result.
        let is_file = !is_stdout(path) && !is_device(path);
        let folder = if is_file { folder(path).to_owned() } else { std::env::temp_dir() };
        let mut opened = OpenedInputs::new(folder);
        let mut search = Search::new(rule, self.frame);
        let mut recorder = Recorder::new(&mut search, Remarks::None);
        let read = read_with(&self.common, options.clone(), job.inputs, &mut recorder, &mut |path| {
            opened.open(path)
        });
        let (totals, code) = read?;
        let (recording, _) = recorder.into_parts();
        if totals.files == 0 {
            return Ok((code, 0)); // nothing was read, and that has been reported
        }
        let Some(found) = search.best() else {
            error(&self.not_found(rule, &search));
            return Ok((FAILED, totals.files));
        };
        let place = search.place(found.frame);
        let infos: Vec<CaptureInfo> =
            recording.captures.iter().map(|capture| capture.facts.clone()).collect();
        let mut candidates = Candidates::new((found, self.frame.is_some()), options, infos, APPLICATION);
        for (input, ((path, reopening), capture)) in opened.again().zip(&recording.captures).enumerate() {
            let Some(mut source) = reopening.open(&path) else {
                return Ok(refuse(&format_args!("\"{}\" {HAS_CHANGED}.", display_name(&path))));
            };
            let comments = Comments::default();
            source.comment_into(&comments);
            // What cannot be read has been reported.
            while let Ok(Some(frame)) = source.next() {
                let is_target = (input, frame.number) == (place.file, place.frame);
                let marks = [capture.frames.has(frame.number), is_target];
                let texts = comments.of(frame.number);
                let texts =
                    texts.iter().flat_map(|texts| texts.iter()).map(|text| text.to_string()).collect();
                if !candidates.add((input, &frame), marks, texts) {
                    return Ok(refuse(&format_args!(
                        "The conversation has more than the {} MiB of frames that are held in memory: reduce a part of the \
                         capture, or choose other findings with -Y or --frame.",
                        MAX_BYTES >> 20
                    )));
                }
                if interrupt::caught().is_some() {
                    break;
                }
            }
        }
        if let Some((_, last)) = totals.all().span {
            candidates.end_at(last);
        }
        if candidates.left_out() {
            note(&format_args!("Frames of other conversations are left out at once, for want of room."));
        }
        let minimised = candidates.minimised(|| interrupt::caught().is_some())?;
        let Some(minimised) = minimised else {
            return Ok(refuse(&format_args!(
                "The frames of its protocol alone do not show {}: other traffic takes part in it. Nothing was written.",
                rule.id
            )));
        };
        let code = interrupt::caught().unwrap_or(code);
        Ok((self.write(path, rule, &candidates, &minimised, totals.packets).unwrap_or(code), totals.files))
    }
}

impl ReduceArgs {
    /// The rule that is looked for.
    ///
    /// # Errors
    /// A sentence, if there is no such rule, or several.
    fn sought(&self) -> Result<&'static Rule, String> {
        let rules = rules_named(&self.rule).map_err(|unknown| unknown_rule(&unknown.name))?;
        match rules.as_slice() {
            [rule] => Ok(rule),
            several => Err(format!(
                "{} are {} rules, and one finding is looked for: `qdissect rule show {}` shows them.",
                self.rule,
                several.len(),
                self.rule
            )),
        }
    }

    /// What the captures break instead of the rule.
    fn not_found(&self, rule: &Rule, search: &Search) -> String {
        let at = self.frame.map_or(String::new(), |frame| format!(" at frame {frame}"));
        let times = |n: u64| if n == 1 { String::new() } else { format!(" ({n} times)") };
        let mut broken: Vec<_> = search.rules.iter().map(|(id, n)| format!("{id}{}", times(*n))).collect();
        let more = broken.len().saturating_sub(MAX_NAMED);
        broken.truncate(MAX_NAMED);
        let more = if more > 0 { format!(", and {more} more") } else { String::new() };
        let instead = match broken.as_slice() {
            [] => "No rule is broken in it.".to_owned(),
            _ => format!("Broken are {}{more}.", broken.join(", ")),
        };
        let frames: Vec<_> = search.others.iter().map(u64::to_string).collect();
        let instead = match frames.as_slice() {
            [] => instead,
            [one] => format!("It is broken at frame {one}."),
            several => format!("It is broken at frames {}.", several.join(", ")),
        };
        format!("There is no finding of {}{at}. {instead}", rule.id)
    }

    /// Writes the result, once it has been checked again. Returns the exit code if that fails.
    fn write(
        &self,
        path: &Path,
        rule: &Rule,
        candidates: &Candidates,
        Minimised { kept, is_minimal, trials }: &Minimised,
        all: u64,
    ) -> Option<u8> {
        // Frames that nothing is said about have gone from an anonymised capture, so frames have other numbers.
        let place = if self.keep { candidates.place_of_target(kept)? } else { None };
        let capture = candidates.capture(kept).and_then(|capture| match self.keep {
            true => Ok(capture),
            false => Ok(anonymised(capture, candidates.options().clone(), Key::random(), APPLICATION)?.0),
        });
        let capture = match capture {
            Ok(capture) => capture,
            Err(e) => {
                report_unwritable(path, &e);
                return Some(FAILED);
            }
        };
        if !candidates.is_shown_by(capture.clone(), place).unwrap_or(false) {
            let how = if self.keep { "" } else { " with other addresses and texts; --keep keeps them" };
            return Some(
                refuse(&format_args!("The result does not show {}{how}. Nothing was written.", rule.id)).0,
            );
        }
        let written = Target::open(Some(path).filter(|path| !is_stdout(path)))
            .and_then(|mut target| target.write_all(&capture).and_then(|()| target.complete(true)));
        match written {
            Err(e) if is_stdout(path) && e.kind() == io::ErrorKind::BrokenPipe => return Some(OK),
            Err(e) => {
                report_unwritable(path, &e);
                return Some(FAILED);
            }
            Ok(()) => {}
        }
        if !is_minimal {
            warning(&format_args!(
                "The search ended after {trials} trials: a smaller capture may show it, too."
            ));
        }
        if !self.common.quiet {
            let name = display_name(path);
            let then = match is_stdout(path) {
                true => String::new(),
                false => {
                    format!(": `qdissect check --select {} --show note {name}` shows the finding", rule.id)
                }
            };
            note(&format_args!(
                "{} of {} left{}{then}.",
                candidates.captured(kept),
                count(all, "frame"),
                if self.keep { "" } else { ", with other addresses and texts" }
            ));
        }
        None
    }
}
