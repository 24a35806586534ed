//! Holds back the summary's findings about servers that have answered nothing so far: they may turn out to be symptoms of
//! that.

use super::server::{Broken, Server};
use super::summary::Summary;
use super::{Place, Silent};
use crate::check::Finding;
use crate::exchange::Exchange;

impl Server {
    /// Whether it has answered a request since findings were last released.
    fn answers(&self) -> bool {
        self.answered_itself() > self.before
    }

    /// Number of exchanges that it has answered, and no other endpoint.
    fn answered_itself(&self) -> u64 {
        self.answered + self.late - self.elsewhere
    }

    #[cold]
    fn hold(&mut self, findings: &[Finding], first: Place) {
        for f in findings.iter().filter(|f| f.counts()) {
            let known = self.held.iter_mut().find(|b| std::ptr::eq(b.rule, f.rule));
            match known {
                Some(held) => held.counts.add(f.severity),
                None => drop(self.held.try_push(Broken::once(f, first))),
            }
        }
    }
}

impl Summary {
    /// Takes the findings of an exchange with a server that has a place in the table.
    #[cold]
    pub(super) fn found(&mut self, e: &Exchange, findings: &[Finding]) {
        let first = self.files.places.place(e.request_frame);
        let Some(server) = self.server(e.server_index) else { return };
        if !server.answers() {
            return server.hold(findings, first);
        }
        findings.iter().for_each(|f| server.findings.see(f));
        self.count(findings, e.request_frame);
    }

    /// Counts the findings that were held back and that no silent server explains.
    fn release(&mut self) {
        self.settle_all();
        for server in self.servers.iter_mut().flatten() {
            server.before = server.answered_itself();
            for held in server.held.drain(..) {
                server.findings.merge(&held.counts);
                let known = self.broken.iter_mut().find(|b| std::ptr::eq(b.rule, held.rule));
                match known {
                    Some(broken) => {
                        broken.counts.merge(&held.counts);
                        broken.first = broken.first.min(held.first);
                    }
                    None => self.broken.push(held),
                }
            }
        }
    }

    /// No further file continues what has been read so far, in which these servers answered nothing.
    pub(super) fn tell_silent(&mut self, servers: &[Silent]) {
        for Silent { frame, exchange: e, finding } in servers {
            self.count(&[*finding], *frame);
            self.one_way |= finding.silence.is_some_and(|silence| silence.is_one_way());
            self.begin(e.server_index, || (e.server, e.protocol));
            if let Some(server) = self.server(e.server_index) {
                server.held.clear();
                server.findings.see(finding);
            }
        }
        self.release();
    }
}
