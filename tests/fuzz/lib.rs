//! Everything that the fuzz targets share: what is done with an input, and the promises that are held.
#![allow(missing_docs)]

/// What the tests share with the targets.
#[path = "../it/kit"]
pub mod kit {
    pub mod ci;
    pub mod format;
    pub mod hold;
    pub mod play;
    pub mod records;
}

#[path = "bodies/mod.rs"]
pub mod bodies;
