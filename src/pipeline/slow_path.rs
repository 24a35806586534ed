//! Processes frames whose packet contains another packet, or a part of one: tunnels, fragments, ICMP errors.

use super::Pipeline;
use crate::capture::{Frame, Time};
use crate::conversation::Slot;
use crate::net::{Content, Datagram, Decapsulated, DropReason, Quote};
use crate::protocols::Id;
use std::io;

impl Pipeline<'_> {
    /// Processes a frame whose packet contains another one.
    #[cold]
    #[inline(never)]
    pub(super) fn decapsulate(&mut self, frame: Frame<'_>) -> io::Result<()> {
        // The reassembled bytes borrow the decapsulator while they are processed, so it is taken out of the pipeline.
        let mut decapsulator = std::mem::take(&mut self.decapsulator);
        decapsulator.advance(self.table.clock());
        let result = match decapsulator.decapsulate(&frame) {
            Ok(inner) => self.process_decapsulated(&inner),
            Err(reason) => {
                self.totals.not_datagrams.add(reason);
                Ok(())
            }
        };
        self.decapsulator = decapsulator;
        result
    }

    /// Processes datagrams of which fragments are missing: those whose time is up, or `all`.
    #[cold]
    #[inline(never)]
    pub(super) fn release_incomplete(&mut self, clock: Time, all: bool) -> io::Result<()> {
        let mut decapsulator = std::mem::take(&mut self.decapsulator);
        let mut result = Ok(());
        while result.is_ok()
            && let Some(inner) = decapsulator.next_expired(clock, all)
        {
            // The first fragment was counted as a fragment, and now counts as the datagram.
            self.totals.not_datagrams.take_back(DropReason::Fragment);
            result = self.process_decapsulated(&inner);
        }
        self.decapsulator = decapsulator;
        result
    }

    fn process_decapsulated(&mut self, inner: &Decapsulated<'_>) -> io::Result<()> {
        self.comments.reached(self.frame);
        match &inner.content {
            Content::Datagram(d) => {
                for index in self.reported_tunnels..d.tunnel {
                    let number = index + 1; // each path is reported once
                    self.report.tunnels(number, inner.tunnels.path(number));
                }
                self.reported_tunnels = self.reported_tunnels.max(d.tunnel);
                if !inner.fragments.is_empty() {
                    self.report.reassembled(d.frame, inner.fragments);
                }
                return self.process_datagram(d);
            }
            Content::Icmp(quote) => {
                self.totals.not_datagrams.add(DropReason::Icmp);
                if let Some(quote) = quote {
                    self.refuse_quoted(quote);
                }
            }
        }
        Ok(())
    }

    /// Closes the exchange whose request an ICMP error quotes.
    fn refuse_quoted(&mut self, quote: &Quote<'_>) {
        let request = &quote.datagram;
        let Datagram { src, dst, .. } = *request;
        // A copy of the error would refuse another request, so copies are ignored. To tell errors from datagrams, the
        // ends are exchanged and `cut` has a value that no datagram has.
        let error = Datagram { src: dst, dst: src, cut: u16::MAX.into(), ..*request };
        if self.dedup.copy_of(&error, Some(Slot::default())).is_some() {
            return;
        }
        self.dedup.note_latest(&error, Slot::default(), error.payload_sum());
        let ports = [src.port(), dst.port()];
        let probe = |id: Id| id.probe(request.payload, request.wire_len(), ports);
        // The quoted bytes may be too few for any probe.
        let is_recognised = Id::ALL.iter().any(|&id| probe(id).is_some());
        let mut is_known = false;
        for &id in Id::ALL {
            let Some(slot) = self.table.conversations.find(src, dst, id) else { continue };
            let sent_by_client = self.table.conversations.get(slot).is_some_and(|c| c.client() == src);
            let quoted = probe(id);
            if sent_by_client && quoted.is_some() == is_recognised {
                self.table.refuse(slot, quoted.as_ref(), quote.reason);
                is_known = true;
            }
        }
        if is_known {
            self.report.refused(quote);
        }
    }
}
