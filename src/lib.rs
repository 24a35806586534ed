//! Dissects, pairs and judges the traffic of game-server query protocols.
//!
//! ```text
//!  Source ──Frame──> net::parse ─Datagram──> probe ─> classify ──Verdict─> Table::pair ──Pairing──┐
//!  capture/          net/                    classify/                     exchange/              │
//!                                                                                                 ▼
//!  Report <──Packet, Finding── check <──Violation── Id::dissect::<S: FieldSink> <───────Context───┘
//!  report/                     check/               protocols/ on decode/
//! ```
//!
//! [`pipeline`] is the only place where the stages meet; no stage knows the next one. Everything about one protocol is
//! in its own file or folder under [`protocols`].
//!
//! A program asks for `qdissect` without its default features, which are those of the command line; `page` adds what people
//! read (trees, tables, the report in HTML), and `tables` results in Arrow's form.
//!
//! | what | by |
//! |---|---|
//! | captures in: files, pipes, compressed ones | [`capture::Source`], [`Pipeline::read`](pipeline::Pipeline::read) |
//! | frames or datagrams of another source in | [`Pipeline::frame`](pipeline::Pipeline::frame), [`datagram`](pipeline::Pipeline::datagram) |
//! | packets, exchanges, findings and totals out | a [`Report`](report::Report) of one's own |
//! | records of JSON out, as `docs/output.md` lists them | [`report::Records`] |
//! | only what a display filter accepts | [`report::Filtered`] before any report |
//! | one payload, without a conversation | [`Id::probe`](protocols::Id::probe), [`Id::dissect`](protocols::Id::dissect) |
//!
//! Whole programs are in `examples/`, for `cargo run --example`:
//!
//! | example | shows |
//! |---|---|
//! | `players` | players over time, as CSV |
//! | `own_report` | a report of one's own behind a filter: answered requests, slowest answers and broken rules of each server |
//! | `socket` | datagrams from a socket, written as records |
//!
//! A report takes what it needs. This one follows how many play, server by server:
//!
//! ```
//! use qdissect::capture::{Source, Time};
//! use qdissect::filter::Filter;
//! use qdissect::net::Endpoint;
//! use qdissect::pipeline::{Options, Pipeline};
//! use qdissect::report::{Filtered, Packet, Report};
//! use std::{collections::BTreeMap, io, path::Path};
//!
//! #[derive(Default)]
//! struct Players(BTreeMap<Endpoint, Vec<(Time, u32)>>);
//!
//! impl Report for Players {
//!     fn packet(&mut self, packet: &Packet<'_>) -> io::Result<()> {
//!         let [_client, server] = packet.ends();
//!         if let Some(players) = packet.facts().and_then(|facts| facts.players) {
//!             self.0.entry(server).or_default().push((packet.datagram.time, players));
//!         }
//!         Ok(())
//!     }
//! }
//!
//! let mut players = Players::default();
//! let mut filtered = Filtered::new(Filter::parse("sqp or skycoop")?, false, &mut players);
//! let mut pipeline = Pipeline::new(Options::default(), &mut filtered);
//! pipeline.read(&mut Source::open(Path::new("captures/demo.pcapng"))?, "demo")?;
//! pipeline.finish(true)?;
//! let now: Vec<_> = players.0.iter().map(|(server, seen)| (server.to_string(), seen.last().unwrap().1)).collect();
//! assert_eq!(now[0], ("192.0.2.10:7777".to_owned(), 14));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
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

#[cfg(feature = "page")]
pub mod browse;
pub mod capture;
pub mod classify;
#[cfg(feature = "cli")]
pub mod cli;
pub mod filter;
pub mod net;
#[cfg(feature = "page")]
pub mod page;
pub mod pasted;
pub mod pipeline;
pub mod protocols;
pub mod report;
#[cfg(feature = "tables")]
pub mod tables;
pub mod verdict;

// The rest is open to the tests, benchmarks and fuzz targets of this repository only.
#[cfg(all(feature = "cli", not(feature = "internals")))]
mod anonymise;
#[cfg(all(feature = "cli", feature = "internals"))]
pub mod anonymise;
#[cfg(all(feature = "cli", not(feature = "internals")))]
mod answer;
#[cfg(all(feature = "cli", feature = "internals"))]
pub mod answer;
#[cfg(not(feature = "internals"))]
mod bounded;
#[cfg(feature = "internals")]
pub mod bounded;
#[cfg(all(feature = "cli", not(feature = "internals")))]
mod case;
#[cfg(all(feature = "cli", feature = "internals"))]
pub mod case;
#[cfg(not(feature = "internals"))]
mod check;
#[cfg(feature = "internals")]
pub mod check;
#[cfg(not(feature = "internals"))]
mod contract;
#[cfg(feature = "internals")]
pub mod contract;
#[cfg(not(feature = "internals"))]
mod conversation;
#[cfg(feature = "internals")]
pub mod conversation;
#[cfg(not(feature = "internals"))]
mod decode;
#[cfg(feature = "internals")]
pub mod decode;
#[cfg(not(feature = "internals"))]
mod diagnosis;
#[cfg(feature = "internals")]
pub mod diagnosis;
#[cfg(all(feature = "cli", not(feature = "internals")))]
mod diff;
#[cfg(all(feature = "cli", feature = "internals"))]
pub mod diff;
#[cfg(not(feature = "internals"))]
mod exchange;
#[cfg(feature = "internals")]
pub mod exchange;
#[cfg(not(feature = "internals"))]
mod layout;
#[cfg(feature = "internals")]
pub mod layout;
#[cfg(all(feature = "cli", not(feature = "internals")))]
mod reduce;
#[cfg(all(feature = "cli", feature = "internals"))]
pub mod reduce;
#[cfg(not(feature = "internals"))]
mod rule;
#[cfg(feature = "internals")]
pub mod rule;
#[cfg(all(feature = "cli", not(feature = "internals")))]
mod schema;
#[cfg(all(feature = "cli", feature = "internals"))]
pub mod schema;
#[cfg(all(feature = "page", not(feature = "internals")))]
#[cfg_attr(not(feature = "cli"), allow(dead_code, unused_imports))] // the page shows only some of them
mod stats;
#[cfg(all(feature = "page", feature = "internals"))]
pub mod stats;
#[cfg(not(feature = "internals"))]
mod text;
#[cfg(feature = "internals")]
pub mod text;
