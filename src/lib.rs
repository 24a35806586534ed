//! Dissects, pairs and judges the traffic of game-server query protocols.
//!
//! ```text
//!  Source ──Frame──> net::parse ─Datagram──> probe ─> classify ──Verdict─> Table::pair ──Pairing──┐
//!  capture/          net/                    classify.rs                   exchange/              │
//!                                                                                                 ▼
//!  Report <──Packet, Finding── check <──Violation── Id::dissect::<S: FieldSink> <───────Context───┘
//!  report/                     check/               protocols/ on decode/
//! ```
//!
//! [`pipeline`] is the only place where the stages meet; no stage knows the next one. Everything about one protocol is
//! in its own file or folder under [`protocols`].
//!
//! Callers can also pass datagrams from another source:
//!
//! ```
//! use qdissect::capture::{CaptureInfo, Time};
//! use qdissect::net::{Datagram, Endpoint};
//! use qdissect::pipeline::{Options, Pipeline};
//! use qdissect::report::{Form, Output, Records};
//!
//! let (client, server) = (Endpoint::v4([192, 0, 2, 1], 40_000), Endpoint::v4([192, 0, 2, 2], 9_000));
//! let sent = [(client, server, &[0, 0, 0, 0, 0]), (server, client, &[0, 0x5b, 0x6f, 0x2a, 0x91])];
//!
//! let mut out = vec![];
//! let mut records = Records::new(Output::new(&mut out, Form::Ndjson, false), true, false);
//! let mut pipeline = Pipeline::new(Options::default(), &mut records);
//! pipeline.begin_file("socket", &CaptureInfo::default(), Time::UNKNOWN)?;
//! for (number, (src, dst, payload)) in (1..).zip(sent) {
//!     let time = Time::from_nanos(number * 1_000_000);
//!     let datagram = Datagram { frame: number as u64, time, ..Datagram::between(src, dst, payload) };
//!     pipeline.datagram(&datagram)?;
//! }
//! pipeline.end_file(&CaptureInfo::default());
//! let totals = pipeline.finish(true)?;
//! assert_eq!((totals.packets, totals.recognised, totals.answered), (2, 2, 1));
//! assert!(String::from_utf8(out)?.contains(r#""response_time":0.001"#));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod bounded;
mod buckets;
mod budget;
mod by_frame;
pub mod capture;
pub mod check;
pub mod classify;
pub mod contract;
pub mod conversation;
#[cfg(feature = "page")]
pub mod declared;
pub mod decode;
pub mod docs;
pub mod escape;
pub mod example;
pub mod exchange;
pub mod filter;
mod fold;
pub mod general;
pub mod line;
pub mod looks_like;
pub mod net;
mod packed;
mod packet;
#[cfg(feature = "page")]
pub mod page;
pub mod pasted;
pub mod pipeline;
pub mod protocols;
pub mod report;
pub mod rule;
#[cfg(feature = "page")]
pub mod schema;
pub mod servers;
#[cfg(feature = "tables")]
pub mod shards;
pub mod similar;
#[cfg(feature = "page")]
pub mod stats;
#[cfg(feature = "tables")]
pub mod tables;
pub mod terms;
pub mod timestamps;
pub mod verdict;
