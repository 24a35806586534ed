//! Metrics of servers for Prometheus and what reads the same text.
//!
//! ```text
//!  pipeline ──> Metrics: the summary, and response times in steps
//!                  └──> Exposition: the numbers of each server, and of all others together ──> text
//! ```
//! All numbers but those of the steps are the summary's, so that they equal its records.

mod beside;
mod exposition;
mod steps;
mod text;

pub use beside::{Beside, SharedMetrics};
pub use exposition::{Exposition, MAX_SERIES, MAX_SERVERS};
pub use text::{FAMILIES, Family, Kind, MAX_LABEL, Syntax};

use super::summary::Summary;
use super::{Report, Wants};
use crate::check::{Finding, Packet};
use crate::exchange::Exchange;
use crate::net::Datagram;
use crate::protocols::Id;
use exposition::Numbers;
use std::collections::BTreeMap;
use std::io;
use steps::Steps;

/// Collects metrics.
#[derive(Debug)]
pub struct Metrics {
    summary: Summary,
    /// Response times of the servers with series of their own, by the pipeline's server index.
    times: Vec<Steps>,
    /// Exchanges with all others.
    rest: BTreeMap<Id, Numbers>,
    unclaimed: u64,
}

impl Default for Metrics {
    fn default() -> Self {
        let summary = Summary::with_rules_of(MAX_SERVERS);
        Metrics { summary, times: vec![], rest: BTreeMap::new(), unclaimed: 0 }
    }
}

impl Metrics {
    /// The metrics so far.
    pub fn exposition(&mut self) -> Exposition {
        self.summary.flush();
        Exposition::of(&self.summary, &self.times, self.rest.clone(), self.unclaimed)
    }

    fn count(&mut self, e: &Exchange) {
        let at = e.server_index as usize;
        if at >= MAX_SERVERS {
            return self.rest.entry(e.protocol).or_default().count(e);
        }
        if at >= self.times.len() {
            self.times.resize_with(at + 1, Steps::default);
        }
        if let (Some(times), Some(time)) = (self.times.get_mut(at), e.response_time) {
            times.count(time);
        }
    }
}

impl Report for Metrics {
    fn wants(&self) -> Wants {
        Wants { diagnosis: false, ..self.summary.wants() }
    }

    fn inner(&mut self) -> Option<&mut dyn Report> {
        Some(&mut self.summary)
    }

    fn packet(&mut self, p: &Packet<'_>) -> io::Result<()> {
        self.summary.packet(p)
    }

    fn unclaimed(&mut self, _: &Datagram<'_>) -> io::Result<()> {
        self.unclaimed += 1;
        Ok(())
    }

    /// The summary's table of endpoints is not needed.
    fn count_unclaimed(&mut self, _: &Datagram<'_>) {
        self.unclaimed += 1;
    }

    fn exchange(&mut self, e: &Exchange, findings: &[Finding]) -> io::Result<()> {
        self.count(e);
        self.summary.exchange(e, findings)
    }
}
