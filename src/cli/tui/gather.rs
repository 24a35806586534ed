//! The report that fills the screens: an index of the packets, and a board of everything else, which are drawn while they grow.

use super::exchanges::Exchanges;
use crate::browse::{Index, Indexer};
use crate::capture::{CaptureInfo, Comments, Frame, Time};
use crate::check::{Finding, Packet};
use crate::contract::Flood;
use crate::exchange::Exchange;
use crate::net::{Datagram, DropReason, Endpoint, Tunnel};
use crate::protocols::Id;
use crate::report::summary::Summary;
use crate::report::{Report, SilentServer, Totals, Wants};
use crate::stats::{Prefix, Stats, Top};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What the screens other than the list of packets show.
#[derive(Debug)]
pub struct Board {
    /// Servers, rules and unclaimed endpoints.
    pub summary: Summary,
    /// Statistics.
    pub stats: Stats,
    /// What servers do at the moment.
    pub top: Top,
    /// Exchanges in the order in which they closed.
    pub exchanges: Exchanges,
    /// Findings about exchanges, each with the frame of the request.
    pub findings: Vec<(u64, Finding)>,
    /// The totals, once everything has been read.
    pub totals: Option<Totals>,
    /// Number of changes so far.
    pub version: u64,
}

impl Default for Board {
    fn default() -> Self {
        Board {
            summary: Summary::default(),
            stats: Stats::new(None).with_clients(Prefix::NONE),
            top: Top::default(),
            exchanges: Exchanges::default(),
            findings: vec![],
            totals: None,
            version: 0,
        }
    }
}

/// Locks what a panic of another thread cannot have left half done.
pub fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Fills an index and a board.
pub struct Gatherer {
    indexer: Indexer,
    board: Arc<Mutex<Board>>,
    /// Nobody looks at them any more.
    cancelled: Arc<AtomicBool>,
}

impl Gatherer {
    /// A report that fills `index` and `board` until it is cancelled.
    pub fn new(indexer: Indexer, board: Arc<Mutex<Board>>, cancelled: Arc<AtomicBool>) -> Gatherer {
        Gatherer { indexer, board, cancelled }
    }

    fn board(&self) -> MutexGuard<'_, Board> {
        let mut board = lock(&self.board);
        board.version += 1;
        board
    }

    fn go_on(&self) -> io::Result<()> {
        match self.cancelled.load(Ordering::Relaxed) {
            true => Err(io::ErrorKind::Interrupted.into()),
            false => Ok(()),
        }
    }
}

impl Report for Gatherer {
    fn wants(&self) -> Wants {
        let own = self.indexer.wants();
        // The trees are those of `dump`.
        Wants { count_unclaimed: true, silent_servers: true, judged_early: true, shown_keys: true, ..own }
    }

    fn comments(&mut self, comments: &Comments) {
        self.indexer.comments(comments);
    }

    fn frame(&mut self, frame: &Frame<'_>, parsed: &Result<Datagram<'_>, DropReason>) {
        self.indexer.frame(frame, parsed);
    }

    fn packet(&mut self, p: &Packet<'_>) -> io::Result<()> {
        self.go_on()?;
        let mut board = self.board();
        board.summary.packet(p)?;
        board.stats.packet(p)?;
        board.top.packet(p)?;
        drop(board);
        self.indexer.packet(p)
    }

    fn unclaimed(&mut self, d: &Datagram<'_>) -> io::Result<()> {
        self.go_on()?;
        self.board().summary.count_unclaimed(d);
        self.indexer.unclaimed(d)
    }

    fn count_unclaimed(&mut self, d: &Datagram<'_>) {
        self.board().summary.count_unclaimed(d);
    }

    fn exchange(&mut self, e: &Exchange, findings: &[Finding]) -> io::Result<()> {
        let mut board = self.board();
        board.summary.exchange(e, findings)?;
        board.stats.exchange(e, findings)?;
        board.top.exchange(e, findings)?;
        if board.exchanges.add(e) {
            board.findings.extend(findings.iter().map(|finding| (e.request_frame, *finding)));
        }
        Ok(())
    }

    fn file(&mut self, name: &str, facts: &CaptureInfo, before: u64) -> io::Result<()> {
        let mut board = self.board();
        board.summary.file(name, facts, before)?;
        board.stats.file(name, facts, before)?;
        drop(board);
        self.indexer.file(name, facts, before)
    }

    fn tunnels(&mut self, number: u16, path: &[Tunnel]) {
        self.indexer.tunnels(number, path);
    }

    fn translated(&mut self, outer: Endpoint, inner: Endpoint) {
        self.board().summary.translated(outer, inner);
    }

    fn reassembled(&mut self, frame: u64, pieces: &[u64]) {
        self.indexer.reassembled(frame, pieces);
    }

    fn first_frame(&mut self, time: Time) {
        self.indexer.first_frame(time);
    }

    fn file_read(&mut self, facts: &CaptureInfo, totals: &Totals) {
        self.indexer.file_read(facts, totals);
    }

    fn one_sided(&mut self, servers: &[(Endpoint, Id)]) -> io::Result<()> {
        self.board().summary.one_sided(servers)
    }

    fn floods(&mut self, floods: &[(u64, Flood)]) -> io::Result<()> {
        self.board().summary.floods(floods)
    }

    fn silent_servers(&mut self, servers: &[SilentServer]) -> io::Result<()> {
        let mut board = self.board();
        board.findings.extend(servers.iter().map(|silent| (silent.frame, silent.finding)));
        board.summary.silent_servers(servers)
    }

    fn finish(&mut self, totals: &Totals) -> io::Result<()> {
        let mut board = self.board();
        board.summary.finish(totals)?;
        board.stats.finish(totals)
    }
}

/// The index of a run and its board, shared between the thread that reads and the one that draws.
#[derive(Clone, Debug)]
pub struct Shared {
    /// The packets.
    pub index: Arc<Mutex<Index>>,
    /// Everything else.
    pub board: Arc<Mutex<Board>>,
    /// Errors, warnings and notes about the captures.
    pub messages: Arc<Mutex<Vec<String>>>,
    /// Everything has been read.
    pub done: Arc<AtomicBool>,
}

impl Shared {
    /// Nothing yet, and room for so many packets.
    pub fn new(rows: usize) -> Shared {
        Shared {
            index: Arc::new(Mutex::new(Index::new(rows))),
            board: Arc::default(),
            messages: Arc::default(),
            done: Arc::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::exchanges::MAX_EXCHANGES;
    use super::*;

    #[test]
    fn exchanges_without_room_are_counted() {
        let shared = Shared::new(1);
        let indexer = Indexer::new(shared.index.clone());
        let mut gatherer = Gatherer::new(indexer, shared.board.clone(), Arc::default());
        let ends = [1, 2].map(|n| Endpoint::v4([192, 0, 2, n], 7));
        let exchange = Exchange::unanswered(1, Id::Sqp, ends);
        (0..MAX_EXCHANGES + 3).for_each(|_| gatherer.exchange(&exchange, &[]).unwrap());
        let board = lock(&shared.board);
        assert_eq!((board.exchanges.iter().count(), board.exchanges.more), (MAX_EXCHANGES, 3));
    }
}
