//! Collects metrics beside another report of the same input.

use super::{Exposition, Metrics};
use crate::capture::CaptureInfo;
use crate::check::{Finding, Packet};
use crate::decode::AnyListener;
use crate::exchange::Exchange;
use crate::net::{Datagram, Endpoint};
use crate::protocols::Id;
use crate::report::{Report, SilentServer, Wants};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Metrics that are read while they are collected.
#[derive(Clone, Debug, Default)]
pub struct SharedMetrics(Arc<Mutex<Metrics>>);

impl SharedMetrics {
    /// The metrics of the moment. Whoever collects them waits meanwhile.
    pub fn exposition(&self) -> Exposition {
        self.lock().exposition()
    }

    fn lock(&self) -> MutexGuard<'_, Metrics> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A report, and metrics of what it receives. What is judged at the end of the input only if the report wants that is in them.
pub struct Beside<'r> {
    report: &'r mut dyn Report,
    metrics: SharedMetrics,
}

impl<'r> Beside<'r> {
    /// Passes everything on to `report`.
    pub fn new(report: &'r mut dyn Report, metrics: SharedMetrics) -> Self {
        Beside { report, metrics }
    }
}

impl Report for Beside<'_> {
    fn listener(&self) -> AnyListener {
        self.report.listener()
    }

    fn wants(&self) -> Wants {
        Wants { count_unclaimed: true, ..self.report.wants() }
    }

    fn needs_frames(&self) -> bool {
        self.report.needs_frames()
    }

    fn inner(&mut self) -> Option<&mut dyn Report> {
        Some(self.report)
    }

    fn packet(&mut self, p: &Packet<'_>) -> io::Result<()> {
        self.metrics.lock().packet(p)?;
        self.report.packet(p)
    }

    fn unclaimed(&mut self, d: &Datagram<'_>) -> io::Result<()> {
        self.metrics.lock().unclaimed(d)?;
        self.report.unclaimed(d)
    }

    fn count_unclaimed(&mut self, d: &Datagram<'_>) {
        self.metrics.lock().count_unclaimed(d);
        self.report.count_unclaimed(d);
    }

    fn exchange(&mut self, e: &Exchange, findings: &[Finding]) -> io::Result<()> {
        self.metrics.lock().exchange(e, findings)?;
        self.report.exchange(e, findings)
    }

    fn file(&mut self, name: &str, facts: &CaptureInfo, before: u64) -> io::Result<()> {
        self.metrics.lock().file(name, facts, before)?;
        self.report.file(name, facts, before)
    }

    fn silent_servers(&mut self, servers: &[SilentServer]) -> io::Result<()> {
        self.metrics.lock().silent_servers(servers)?;
        self.report.silent_servers(servers)
    }

    fn one_sided(&mut self, servers: &[(Endpoint, Id)]) -> io::Result<()> {
        self.metrics.lock().one_sided(servers)?;
        self.report.one_sided(servers)
    }
}
