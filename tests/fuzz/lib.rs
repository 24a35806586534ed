//! Code that the fuzz targets share: the body of each target, and the invariants that they check.
#![allow(missing_docs)]

/// Modules that the tests and the targets share.
#[path = "../it/kit"]
pub mod kit {
    pub mod ci;
    pub mod format;
    pub mod invariants;
    pub mod play;
    pub mod records;
}

#[path = "bodies/mod.rs"]
pub mod bodies;
