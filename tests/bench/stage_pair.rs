//! Classifying and pairing. The floor is a table from both endpoints to the open request, to which a request adds an entry and from
//! which its answer removes it.

use crate::samples::datagrams;
use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use hashbrown::HashMap;
use qdissect::classify::{Choice, Classifier, Verdict, probe};
use qdissect::contract::Budget;
use qdissect::conversation::NONE;
use qdissect::exchange::{Table, Windows};
use qdissect::net::Datagram;
use qdissect::protocols::{Id, Level, Probe};

/// A datagram and its probe.
type Probed = (Datagram<'static>, Id, Probe);

fn probed() -> Vec<Probed> {
    let probed = |d: Datagram<'static>| probe(&d, u32::MAX).map(|(id, probe)| (d, id, probe));
    datagrams().into_iter().filter_map(probed).collect()
}

#[divan::bench]
fn pair_floor(bencher: Bencher<'_, '_>) {
    let probed = probed();
    bencher.counter(ItemsCount::new(probed.len())).bench(|| {
        let (mut open, mut answered) = (HashMap::new(), 0);
        for (d, ..) in &probed {
            if open.remove(&(d.dst, d.src)).is_some() {
                answered += 1;
            } else {
                open.insert((d.src, d.dst), d.frame);
            }
        }
        black_box((answered, open.len()))
    });
}

#[divan::bench]
fn pair_table(bencher: Bencher<'_, '_>) {
    let probed = probed();
    assert!(closed(&probed) > probed.len() / 4, "exchanges of the sample");
    bencher.counter(ItemsCount::new(probed.len())).bench(|| closed(black_box(&probed)));
}

/// Classifies and pairs all datagrams as the pipeline does; returns the number of closed exchanges.
fn closed(probed: &[Probed]) -> usize {
    let mut classifier = Classifier::new(Choice::default(), Budget::default());
    let mut table = Table::new(Windows::new(None), Budget::default());
    let mut closed = 0;
    for (d, id, probe) in probed {
        table.advance(d.time);
        let slot = table.conversations.find(d.src, d.dst, *id);
        let known = slot.and_then(|slot| Some((slot, table.conversations.get(slot)?)));
        let open = |step| slot.is_some_and(|slot| table.has_open(slot, step));
        let mut verdict = Verdict::by_bytes(*id, *probe);
        if !classifier.classify(d, &mut verdict, known, open) {
            continue;
        }
        let slot = table.enter(d, &verdict);
        let pairing = table.pair(slot, d, &verdict);
        black_box(pairing);
        if let Some(c) = table.conversations.get_mut(slot)
            && c.server_index() == NONE
            && c.level >= Level::Medium
            && c.decided()
        {
            c.set_server_index(classifier.servers.add(c.server(), c.id).unwrap_or(NONE));
        }
        while table.front_closed().is_some() {
            table.drop_closed();
            closed += 1;
        }
    }
    closed
}
