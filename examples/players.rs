//! Players over time: a line of CSV whenever the number of players of a server changes.
//!
//! ```sh
//! cargo run --example players -- captures/demo.pcapng
//! ```

use qdissect::capture::{Source, Time};
use qdissect::net::Endpoint;
use qdissect::pipeline::{Options, Pipeline};
use qdissect::report::{Packet, Report};
use std::collections::BTreeMap;
use std::error::Error;
use std::io::{self, StdoutLock, Write};
use std::path::Path;

/// Writes changes as they come; it knows the last number of each server only.
struct Players<'a> {
    last: BTreeMap<Endpoint, u32>,
    start: Option<Time>,
    out: StdoutLock<'a>,
}

impl Report for Players<'_> {
    fn packet(&mut self, packet: &Packet<'_>) -> io::Result<()> {
        let time = packet.datagram.time;
        let start = *self.start.get_or_insert(time);
        let Some(players) = packet.facts().and_then(|facts| facts.players) else { return Ok(()) };
        let [_client, server] = packet.ends();
        if self.last.insert(server, players) == Some(players) {
            return Ok(());
        }
        let seconds = time.since(start).unwrap_or(0) as f64 / 1e9;
        writeln!(self.out, "{seconds:.3},{server},{players}")
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut players = Players { last: BTreeMap::new(), start: None, out: io::stdout().lock() };
    writeln!(players.out, "seconds,server,players")?;
    let mut pipeline = Pipeline::new(Options::default(), &mut players);
    for file in std::env::args().skip(1) {
        pipeline.read(&mut Source::open(Path::new(&file))?, &file)?;
    }
    pipeline.finish(true)?;
    Ok(())
}
