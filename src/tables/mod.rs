//! The results of a run over captures as Arrow tables, for DuckDB, Polars, pandas and Spark.
//!
//! ```text
//!  Report ──> report.rs ──rows──> rows.rs ──batches──> the `Take` function: Parquet files, a stream for Python
//!                                 columns.rs declares the columns
//!  frames ──frames.rs──> batches, and back, for shards of captures
//! ```

mod columns;
pub mod frames;
mod report;
mod rows;

pub use columns::{Column, Kind, Table};
pub use report::{Tables, Take, file_id};

/// Version of the columns: later ones only add columns that may be null.
pub const SCHEMA: &str = "qdissect/1";

/// Rows that are gathered before they are handed on as a batch.
pub const BATCH: usize = 8_192;
