//! Text for people: what is hostile in it is escaped, and times, names and lines are written.

pub(crate) mod digits;
pub mod escape;
pub mod line;
pub mod markdown;
pub mod similar;
pub mod timestamps;
pub mod variables;
