//! What a subcommand that reads captures says of itself, and the job that it is given.

use super::common_args::Common;
use super::config::Config;
use super::diagnostics::Done;
use super::inputs::Inputs;
use super::output::Target;
#[cfg(target_os = "linux")]
use super::sandbox::Allowed;
use crate::filter::Columns;
use crate::pipeline::Options;
use crate::report::Layout;
use crate::verdict::Probed;
use std::io;
use std::path::Path;

/// The job of a subcommand, once all arguments have been checked.
pub struct Job {
    /// The configuration.
    pub config: Config,
    /// Columns that the user chose, and their layout.
    pub columns: Option<(Columns, Layout)>,
    /// Options for the pipeline.
    pub options: Options,
    /// The inputs to read.
    pub inputs: Inputs,
    /// What stands above the result.
    pub heading: Option<String>,
    /// The results of the tests that `ask --probe` has sent.
    pub probed: Vec<Probed>,
}

/// A subcommand that reads captures. A new one implements this in its file, and has a line in `args.rs`.
pub trait ReadsCaptures {
    /// The options that all these subcommands have in common.
    fn common(&self) -> &Common;

    /// Mutable access to the common options.
    fn common_mut(&mut self) -> &mut Common;

    /// Whether it captures packets itself instead of reading captures.
    fn is_live(&self) -> bool {
        false
    }

    /// Whether the result is the capture that -w names.
    fn result_is_capture(&self) -> bool {
        false
    }

    /// Whether datagrams that no protocol claims are to be shown.
    fn all(&self) -> bool {
        false
    }

    /// Whether results are printed while inputs are still being read.
    fn prints_meanwhile(&self) -> bool {
        false
    }

    /// Whether the result is one record a line, so that [`Common::records`] may choose among them.
    fn writes_ndjson(&self) -> bool {
        false
    }

    /// Fills in what the configuration says beyond the common options. `is_given` tells whether an option was given on the
    /// command line.
    fn configure(&mut self, _config: &Config, _is_given: &dyn Fn(&str) -> bool) {}

    /// The columns that the user asks for, if the output has any.
    ///
    /// # Errors
    /// Which arguments contradict each other.
    fn columns(&self) -> Result<Option<(Columns, Layout)>, String> {
        Ok(None)
    }

    /// Prepares the places where results go, after all arguments have been checked and before the process restricts itself.
    ///
    /// # Errors
    /// A sentence that says what is wrong.
    fn prepare(&self) -> Result<(), String> {
        Ok(())
    }

    /// The files that it writes beyond those of the common options, each with the option that names it.
    fn output_files(&self) -> Vec<(&'static str, &Path)> {
        vec![]
    }

    /// What the process may read and write beyond the inputs and the files of the common options.
    #[cfg(target_os = "linux")]
    fn allowed(&self) -> Allowed {
        Allowed::default()
    }

    /// Reads the inputs and writes the result to `to`.
    ///
    /// # Errors
    /// When the result cannot be written.
    fn run(&self, to: &mut Target, job: Job) -> io::Result<Done>;
}
