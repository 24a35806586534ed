//! Counts frames and bytes by protocol, layer by layer.

use crate::capture::{Frame, link_name};
use crate::net::{Datagram, DropReason};
use crate::protocols::Id;
use hashbrown::HashMap;
use std::collections::VecDeque;

/// Most link types counted separately; further link types are counted together.
const MAX_LINKS: usize = 64;
/// Stands for all further link types.
const OTHER_LINKS: u16 = u16::MAX;
/// Most frames remembered whose datagram is not reported at once: more than wait in the pipeline. The oldest tunnel or
/// fragment goes first, and counts as a tunnel or fragment.
const MAX_PENDING: usize = 4_096;

/// Frames and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Number of frames.
    pub frames: u64,
    /// Their length on the wire, with the link header.
    pub bytes: u64,
}

impl Count {
    fn add(&mut self, other: Count) {
        self.frames += other.frames;
        self.bytes += other.bytes;
    }
}

/// The innermost content of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Leaf {
    /// A UDP datagram over IPv4 or IPv6: a message of a protocol, or a datagram that no protocol claims.
    Udp { v6: bool, unclaimed: bool, message: Option<(Id, u8)> },
    /// No datagram.
    Dropped(DropReason),
}

/// A frame whose datagram has not been reported.
#[derive(Clone, Copy, Debug)]
pub struct Pending {
    number: u64,
    link: u16,
    bytes: u64,
    /// How the frame counts if no datagram of it is reported: as a tunnel, or as a fragment.
    fallback: Option<DropReason>,
}

/// Counts of frames and bytes by link type and content.
#[derive(Debug, Default)]
pub struct Hierarchy {
    leaves: HashMap<(u16, Leaf), Count>,
    links: Vec<u16>,
    /// Frames whose datagram will be reported, in the order of their numbers.
    datagrams: VecDeque<Pending>,
    /// Tunnels and fragments, in the order of their numbers.
    fallbacks: VecDeque<Pending>,
}

/// A line of the table: a layer, and its counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layer {
    /// Names from `frame` down to this layer.
    pub path: Vec<String>,
    /// Frames of this layer and the layers below.
    pub count: Count,
}

impl Hierarchy {
    fn link(&mut self, link: u16) -> u16 {
        if self.links.contains(&link) {
            return link;
        }
        if self.links.len() >= MAX_LINKS {
            return OTHER_LINKS;
        }
        self.links.push(link);
        link
    }

    /// Counts a frame that has been read, or keeps it until its datagram is reported.
    pub fn frame(&mut self, frame: &Frame<'_>, parsed: &Result<Datagram<'_>, DropReason>) {
        let (number, link, bytes) = (frame.number, self.link(frame.link), u64::from(frame.wire_len));
        let fallback = match parsed {
            Ok(_) => None,
            Err(why @ (DropReason::Tunnel | DropReason::Fragment)) => Some(*why),
            Err(why) => return self.count(link, Leaf::Dropped(*why), bytes),
        };
        self.add_pending(Pending { number, link, bytes, fallback });
    }

    fn add_pending(&mut self, frame: Pending) {
        if self.datagrams.len() + self.fallbacks.len() >= MAX_PENDING {
            // A pending datagram will be reported; the content of a tunnel or a fragment may never be.
            match self.fallbacks.pop_front() {
                Some(oldest) => self.count_fallback(&oldest),
                None => _ = self.datagrams.pop_front(),
            }
        }
        let queue = if frame.fallback.is_some() { &mut self.fallbacks } else { &mut self.datagrams };
        queue.push_back(frame);
    }

    /// Counts a tunnel or fragment as such.
    fn count_fallback(&mut self, frame: &Pending) {
        if let Pending { link, bytes, fallback: Some(why), .. } = *frame {
            self.count(link, Leaf::Dropped(why), bytes);
        }
    }

    /// Counts the tunnels and fragments of which no datagram was reported, unless a filter is set: frames without a datagram
    /// do not pass it.
    pub fn finish(&mut self, filtered: bool) {
        if filtered {
            self.datagrams.clear();
            self.fallbacks.clear();
            return self.leaves.retain(|(_, leaf), _| matches!(leaf, Leaf::Udp { .. }));
        }
        std::mem::take(&mut self.fallbacks).iter().for_each(|frame| self.count_fallback(frame));
    }

    /// Removes a pending frame whose datagram is counted, or will not be reported and does not count.
    pub fn remove_pending(&mut self, frame: u64) -> Option<Pending> {
        [&mut self.datagrams, &mut self.fallbacks].into_iter().find_map(|queue| {
            // Nearly always, this is the last frame; the datagrams of other frames were pending.
            let at = match queue.back() {
                Some(last) if last.number == frame => queue.len() - 1,
                _ => queue.binary_search_by_key(&frame, |p| p.number).ok()?,
            };
            queue.remove(at)
        })
    }

    /// Counts a datagram that is reported: a message of a protocol, or a datagram that no protocol claims.
    pub fn datagram(&mut self, d: &Datagram<'_>, message: Option<(Id, u8)>) {
        if let Some(Pending { link, bytes, .. }) = self.remove_pending(d.frame) {
            let (v6, unclaimed) = (d.src.octets().is_none(), message.is_none());
            self.count(link, Leaf::Udp { v6, unclaimed, message }, bytes);
        }
    }

    fn count(&mut self, link: u16, leaf: Leaf, bytes: u64) {
        self.leaves.entry((link, leaf)).or_default().add(Count { frames: 1, bytes });
    }

    /// The layers from the outermost inwards, each before the layers in it.
    pub fn layers(&self) -> Vec<Layer> {
        let mut layers: Vec<Layer> = vec![];
        let mut leaves: Vec<_> = self.leaves.iter().collect();
        leaves.sort_unstable_by_key(|(leaf, _)| **leaf);
        for (&(link, leaf), count) in leaves {
            let path = names(link, leaf);
            for depth in 1..=path.len() {
                let path = path.get(..depth).unwrap_or_default();
                // Leaves are sorted, so an existing layer is near the end.
                match layers.iter_mut().rev().find(|layer| layer.path == path) {
                    Some(layer) => layer.count.add(*count),
                    None => {
                        // Several link types can have one name.
                        let parent_path = path.get(..depth - 1).unwrap_or_default();
                        let last = layers.iter().rposition(|layer| layer.path.starts_with(parent_path));
                        let at = last.map_or(0, |last| last + 1);
                        layers.insert(at, Layer { path: path.to_vec(), count: *count });
                    }
                }
            }
        }
        layers
    }
}

/// The names of the layers of a frame.
fn names(link: u16, leaf: Leaf) -> Vec<String> {
    let link = if link == OTHER_LINKS { "other_links".into() } else { link_name(link) };
    let mut names = vec!["frame".to_owned(), link.into_owned()];
    match leaf {
        Leaf::Dropped(why) => names.push(why.name().to_owned()),
        Leaf::Udp { v6, message, .. } => {
            names.extend([if v6 { "ipv6" } else { "ipv4" }.to_owned(), "udp".to_owned()]);
            match message {
                None => names.push("unclaimed".to_owned()),
                Some((id, message)) => {
                    let message = id.info().message_name(message);
                    names.extend([id.info().name.to_owned(), message.to_owned()]);
                }
            }
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::Time;
    use crate::net::Endpoint;

    fn datagram(frame: u64, src: Endpoint) -> Datagram<'static> {
        Datagram { frame, ..Datagram::between(src, src, &[]) }
    }

    fn frame(number: u64, link: u16, wire_len: u32) -> Frame<'static> {
        Frame { number, time: Time::UNKNOWN, link, interface: 0, at: 0, wire_len, bytes: &[] }
    }

    fn text(h: &Hierarchy) -> Vec<String> {
        let line = |l: &Layer| format!("{} {} {}", l.path.join(":"), l.count.frames, l.count.bytes);
        h.layers().iter().map(line).collect()
    }

    #[test]
    fn a_datagram_that_is_reported_later_counts_with_its_frame() {
        let (v4, v6) = (Endpoint::v4([192, 0, 2, 1], 1), Endpoint::v6([1; 16], 1));
        let mut h = Hierarchy::default();
        h.frame(&frame(1, 1, 60), &Ok(datagram(1, v4)));
        h.frame(&frame(2, 101, 90), &Ok(datagram(2, v6)));
        h.frame(&frame(3, 1, 70), &Err(DropReason::Tcp));
        h.datagram(&datagram(2, v6), None);
        h.datagram(&datagram(1, v4), Some((Id::Sqp, 0)));
        assert_eq!(
            text(&h),
            [
                "frame 3 220",
                "frame:ethernet 2 130",
                "frame:ethernet:ipv4 1 60",
                "frame:ethernet:ipv4:udp 1 60",
                "frame:ethernet:ipv4:udp:sqp 1 60",
                "frame:ethernet:ipv4:udp:sqp:challenge_request 1 60",
                "frame:ethernet:tcp 1 70",
                "frame:raw 1 90",
                "frame:raw:ipv6 1 90",
                "frame:raw:ipv6:udp 1 90",
                "frame:raw:ipv6:udp:unclaimed 1 90",
            ]
        );
    }

    #[test]
    fn link_types_of_one_name_are_one_layer() {
        let mut h = Hierarchy::default();
        for (link, why) in
            [(12, DropReason::Tcp), (50, DropReason::Icmp), (101, DropReason::Tcp), (101, DropReason::Icmp)]
        {
            h.frame(&frame(1, link, 10), &Err(why));
        }
        assert_eq!(
            text(&h),
            [
                "frame 4 40",
                "frame:raw 3 30",
                "frame:raw:tcp 2 20",
                "frame:raw:icmp 1 10",
                "frame:ppp_hdlc 1 10",
                "frame:ppp_hdlc:icmp 1 10",
            ]
        );
    }

    #[test]
    fn many_fragments_stay_within_the_limit_and_lose_no_frame() {
        let end = Endpoint::v4([192, 0, 2, 1], 1);
        let mut h = Hierarchy::default();
        h.frame(&frame(1, 1, 10), &Ok(datagram(1, end)));
        let fragment = |h: &mut Hierarchy, number| h.frame(&frame(number, 1, 1), &Err(DropReason::Fragment));
        (2..=MAX_PENDING as u64).for_each(|number| fragment(&mut h, number));
        assert!(h.layers().is_empty(), "nothing is known of any of them");
        fragment(&mut h, 9_000);
        assert_eq!(text(&h).last().unwrap(), "frame:ethernet:ip_fragment 1 1", "the oldest of them");
        // The pending datagram is reported, and so are the latest ones; the oldest fragment is counted already.
        [1, 2, 3, 9_000].into_iter().for_each(|number| h.datagram(&datagram(number, end), None));
        h.finish(false);
        let layers = text(&h);
        assert!(layers.contains(&"frame:ethernet:ipv4:udp:unclaimed 3 12".into()), "{layers:?}");
        assert_eq!(layers.first().unwrap(), &format!("frame {} {}", MAX_PENDING + 1, MAX_PENDING + 10));
    }

    #[test]
    fn many_link_types_stay_within_the_limit() {
        let mut h = Hierarchy::default();
        for link in 1_000..u16::MAX {
            h.frame(&frame(1, link, 1), &Err(DropReason::UnknownLink));
        }
        let layers = h.layers();
        assert_eq!(layers.len(), 1 + 2 * (MAX_LINKS + 1));
        assert_eq!(layers[0].count.frames, 64_535);
        assert_eq!(
            layers.iter().find(|l| l.path.ends_with(&["other_links".into()])).unwrap().count.frames,
            64_471
        );
    }
}
