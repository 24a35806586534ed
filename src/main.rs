//! `qdissect`: see `qdissect --help`.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(qdissect::cli::main(std::env::args_os().collect()))
}
