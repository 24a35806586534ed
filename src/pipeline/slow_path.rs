//! Takes frames whose packet contains another packet, or a part of one: tunnels, fragments, ICMP errors.

use super::Pipeline;
use crate::capture::{Frame, Time};
use crate::net::{Content, Datagram, Decapsulated, DropReason, Quote};
use crate::protocols::Id;
use std::io;

impl Pipeline<'_> {
    /// Takes a frame whose packet contains another one.
    #[cold]
    #[inline(never)]
    pub(super) fn decapsulate(&mut self, frame: Frame<'_>) -> io::Result<()> {
        // The decapsulator holds reassembled bytes while they are processed, so it is taken out of the pipeline.
        let mut deep = std::mem::take(&mut self.decapsulator);
        deep.advance(self.table.clock());
        let done = match deep.decapsulate(&frame) {
            Ok(opened) => self.opened(&opened),
            Err(reason) => {
                self.totals.not_datagrams.add(reason);
                Ok(())
            }
        };
        self.decapsulator = deep;
        done
    }

    /// Takes datagrams of which fragments are missing: those whose time is up, or all.
    #[cold]
    #[inline(never)]
    pub(super) fn give_up(&mut self, clock: Time, all: bool) -> io::Result<()> {
        let mut deep = std::mem::take(&mut self.decapsulator);
        let mut done = Ok(());
        while done.is_ok()
            && let Some(opened) = deep.next_expired(clock, all)
        {
            // Its first fragment was counted as a fragment; now it stands for the datagram.
            self.totals.not_datagrams.take_back(DropReason::Fragment);
            done = self.opened(&opened);
        }
        self.decapsulator = deep;
        done
    }

    fn opened(&mut self, opened: &Decapsulated<'_>) -> io::Result<()> {
        self.comments.reached(self.frame);
        match &opened.content {
            Content::Datagram(d) => {
                for number in self.told..d.tunnel {
                    let number = number + 1; // each path is reported once
                    self.report.tunnels(number, opened.tunnels.path(number));
                }
                self.told = self.told.max(d.tunnel);
                if !opened.fragments.is_empty() {
                    self.report.pieces(d.frame, opened.fragments);
                }
                return self.take(d);
            }
            Content::Icmp(quote) => {
                self.totals.not_datagrams.add(DropReason::Icmp);
                if let Some(quote) = quote {
                    self.refused(quote);
                }
            }
        }
        Ok(())
    }

    /// An ICMP error closes the exchange whose request it quotes.
    fn refused(&mut self, quote: &Quote<'_>) {
        let request = &quote.datagram;
        let Datagram { src, dst, .. } = *request;
        // A copy of the error would refuse another request. It goes back, and is cut as no datagram is.
        let error = Datagram { src: dst, dst: src, cut: u16::MAX.into(), ..*request };
        if self.dedup.copy_of(&error).is_some() {
            return;
        }
        let ports = [src.port(), dst.port()];
        let probe = |id: Id| id.probe(request.payload, request.wire_len(), ports);
        // What is quoted may be too short to tell its protocol.
        let told = Id::ALL.iter().any(|&id| probe(id).is_some());
        for &id in Id::ALL {
            let Some(slot) = self.table.conversations.find(src, dst, id) else { continue };
            let asked = self.table.conversations.get(slot).is_some_and(|c| c.client() == src);
            let quoted = probe(id);
            if asked && quoted.is_some() == told {
                self.table.refuse(slot, quoted.as_ref(), quote.reason);
            }
        }
    }
}
