//! Words that stand for what is made up of a frame. Pasted bytes need addresses and times to go through the pipeline;
//! where the text names none, people see who sent the datagram, and no time.

use crate::net::Datagram;

/// What is made up of a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StandIn {
    /// The words for source and destination, where they are made up.
    pub ends: [Option<&'static str>; 2],
    /// The time is made up.
    pub time: bool,
}

/// What is made up of each frame, by frame number from 1. Nothing is made up of other frames.
#[derive(Clone, Debug, Default)]
pub struct StandIns(pub Vec<StandIn>);

impl StandIns {
    /// What is made up of a frame.
    pub fn of(&self, frame: u64) -> StandIn {
        let index = usize::try_from(frame).ok().and_then(|frame| frame.checked_sub(1));
        index.and_then(|index| self.0.get(index)).copied().unwrap_or_default()
    }

    /// Whether all times and endpoints are made up.
    pub fn is_everything(&self) -> bool {
        !self.0.is_empty() && self.0.iter().all(|it| it.time && it.ends.iter().all(Option::is_some))
    }

    /// Source and destination of a datagram, if one of them is made up.
    pub fn ends(&self, d: &Datagram<'_>) -> Option<String> {
        let StandIn { ends: [from, to], .. } = self.of(d.frame);
        (from.is_some() || to.is_some()).then(|| {
            let name = |word: Option<&str>, end: crate::net::Endpoint| {
                word.map_or_else(|| end.to_string(), str::to_owned)
            };
            format!("{} → {}", name(from, d.src), name(to, d.dst))
        })
    }
}
