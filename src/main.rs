//! `qdissect`: see `qdissect --help`. The command line is in [`cli`]; all the rest is in the library.
#![forbid(unsafe_code)]

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(cli::main(std::env::args_os().collect()))
}
