//! A report of one's own: for each server, how many requests it answered, the slowest answer, and the rules that it broke.
//!
//! ```sh
//! cargo run --example own_report -- captures/demo.pcapng 'sqp or satisfactory'
//! ```

use qdissect::capture::Source;
use qdissect::filter::Filter;
use qdissect::net::Endpoint;
use qdissect::pipeline::{Options, Pipeline};
use qdissect::report::{Exchange, Filtered, Finding, Packet, Report, Severity};
use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::io;
use std::path::Path;

#[derive(Default)]
struct Server {
    requests: u32,
    answered: u32,
    /// In nanoseconds.
    slowest: i64,
    broken: BTreeSet<&'static str>,
}

impl Server {
    /// Notes the rules that are worth a line: symptoms of another finding are left out.
    fn note(&mut self, findings: &[Finding]) {
        let counted = findings.iter().filter(|f| f.caused_by.is_none() && f.severity >= Severity::Warning);
        self.broken.extend(counted.map(|finding| finding.rule.id));
    }
}

#[derive(Default)]
struct Servers(BTreeMap<Endpoint, Server>);

impl Report for Servers {
    fn packet(&mut self, packet: &Packet<'_>) -> io::Result<()> {
        let [_client, server] = packet.ends();
        self.0.entry(server).or_default().note(packet.findings);
        Ok(())
    }

    fn exchange(&mut self, exchange: &Exchange, findings: &[Finding]) -> io::Result<()> {
        let server = self.0.entry(exchange.server).or_default();
        server.requests += 1;
        server.answered += u32::from(exchange.response_time.is_some());
        server.slowest = server.slowest.max(exchange.response_time.unwrap_or(0));
        server.note(findings);
        Ok(())
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().ok_or("Usage: own_report FILE [FILTER]")?;
    let filter = arguments.next().unwrap_or_default();

    let mut servers = Servers::default();
    // A filter stands before a report, and passes on only what it accepts.
    let mut filtered;
    let report: &mut dyn Report = if filter.is_empty() {
        &mut servers
    } else {
        filtered = Filtered::new(Filter::parse(&filter)?, false, &mut servers);
        &mut filtered
    };
    let mut pipeline = Pipeline::new(Options::default(), report);
    pipeline.read(&mut Source::open(Path::new(&file))?, &file)?;
    pipeline.finish(true)?;

    for (endpoint, server) in &servers.0 {
        let broken = server.broken.iter().copied().collect::<Vec<_>>().join(" ");
        let slowest = server.slowest as f64 / 1e6;
        println!(
            "{endpoint:<22} {:>3}/{:<3} slowest {slowest:>8.3} ms  {broken}",
            server.answered, server.requests
        );
    }
    Ok(())
}
