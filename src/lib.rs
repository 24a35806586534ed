//! Dissects, pairs and judges the traffic of game-server query protocols.
//!
//! ```text
//!  Source ──Frame──> net::parse ──Datagram──> glance ─> settle ──Verdict──> Table::pair ──Pairing──┐
//!  capture/          net/                    classify.rs                   exchange/              │
//!                                                                                                 ▼
//!  Report <──Packet, Finding── check <──Violation── Id::dissect::<S: FieldSink> <───────Context───┘
//!  report/                     check/               protocols/ on decode/
//! ```
//!
//! [`pipeline`] is the one place where the stages meet; no stage knows the next one. Everything about
//! one protocol is in its own file or folder under [`protocols`].
#![forbid(unsafe_code)]

mod bounded;
pub mod capture;
pub mod check;
pub mod classify;
pub mod contract;
pub mod conversation;
pub mod decode;
pub mod docs;
pub mod example;
pub mod exchange;
pub mod filter;
pub mod general;
mod lines;
pub mod net;
mod packed;
pub mod pasted;
pub mod pipeline;
mod places;
pub mod protocols;
pub mod report;
pub mod rule;
#[cfg(feature = "cli")]
pub mod schema;
pub mod servers;
pub mod similar;
#[cfg(feature = "cli")]
pub mod stats;
pub mod verdict;
