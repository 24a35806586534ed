//! Everything that the fuzz targets share: what is done with an input, and the promises that are held.
#![allow(missing_docs)]

#[path = "../ci_formats/hold.rs"]
pub mod ci;
/// The program's own command line.
#[allow(dead_code)]
#[path = "../../src/cli/mod.rs"]
pub mod cli;
#[path = "../pasted/format.rs"]
pub mod format;
#[path = "../house/hold.rs"]
pub mod hold;
#[path = "../house/play.rs"]
pub mod play;
#[path = "../house/records.rs"]
pub mod records;

#[path = "bodies/mod.rs"]
pub mod bodies;
