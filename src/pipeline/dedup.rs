//! Finds datagrams that the capture holds twice.
//!
//! A capture of several interfaces, of Linux's "any", or of a mirrored port shows one datagram more than once.
//! Undetected, a copy would look like a retransmission or like a second answer.
//!
//! ```text
//!  signature: both ends, length, UDP checksum, first and last 8 bytes of the payload
//!      │ 10 bits of it: the row      the rest must agree too
//!      ▼
//!  [ signature │ frame │ time │ origins │ IP identification ]   the latest originals with these 10 bits
//!  [ ...                                                    ]
//! ```
//!
//! Equal bytes alone are no evidence, because clients do repeat requests. A datagram is a copy if it looks like the
//! original, comes within [`WINDOW`] of it, has the same IP identification, and in addition
//!
//! * that identification is not 0: a sender that sets it counts it up or draws a new one for each datagram; or
//! * it has another origin (interface, or packet type of Linux's "any"), at which the original was not captured:
//!   a retransmission is captured again at the same origins.
//!
//! A copy is as well what directly follows its original within [`REPEAT_WINDOW`], with nothing but its copies between, and
//! agrees in its IP packet: no client asks again as fast. That finds the copies of a bridge and its ports on one
//! interface, where there is no identification. A packet is captured [`MOST_TIMES`] times at most, so that a flood of equal
//! datagrams still shows.
//!
//! On a host that translates addresses, the capture may show an answer with a receiver that sent no request: a bridge
//! translates one of the addresses before the datagram is captured, and the other one later. So where there are several
//! origins, an unsolicited answer is a copy, too, if its sender sent the same bytes to another receiver within
//! [`WINDOW`], with the same identification, or without one and at another origin.
//!
//! **Reliability.** If more datagrams share a row than it has places, or two origins share a bit, a copy may be missed: it
//! then counts as an original. A datagram with other bytes is mistaken for a copy only if it agrees in everything above:
//! ends, length, 16 bytes, a checksum of 16 bits over the rest, identification or origin, and time. Of the datagrams that
//! agree in everything else, one in 2^16 has the same checksum by chance. Where network cards compute the checksums after
//! the capture, the checksums do not depend on the payload, and datagrams that differ only in the middle are mistaken for
//! copies. Collisions of the hash add one in 2^64. The constants of the hash are not secret: a sender that forges
//! datagrams can make two of them look alike, but only hides the second of its own. RFC 6864 allows a sender to give all
//! datagrams that must not be fragmented the same identification: if that is not 0, and the sender repeats a datagram
//! within a millisecond, the second one is taken for a copy.

use crate::bounded::hashing::folded_product;
use crate::capture::Time;
use crate::contract::at_translation;
use crate::conversation::Slot;
use crate::net::{Datagram, Endpoint};

/// The largest distance of copies in capture time, in nanoseconds. A datagram passes through a host in
/// microseconds, whereas a client that asks again waits at least as long as an answer takes.
const WINDOW: u64 = 1_000_000;

/// The largest distance in nanoseconds of copies that follow each other directly, without identification or origin.
const REPEAT_WINDOW: u64 = 50_000;
/// The most times that such a datagram is captured, the original included.
const MOST_TIMES: u8 = 4;

/// Rows of originals, and places in each. With 25 datagrams between an original and its copy (100,000 a second, and a
/// quarter of a millisecond between the two), two of them fall into the row of the original once in 3,500 cases.
const ROWS: usize = 1024;
const PLACES: usize = 2;

/// Answers remembered to recognise them with the address of another receiver, microseconds later.
const LATEST: usize = 16;

/// Factors of the signature: digits of pi.
const FACTORS: [u64; 5] = [
    0x243f_6a88_85a3_08d3,
    0x1319_8a2e_0370_7344,
    0xa409_3822_299f_31d0,
    0x082e_fa98_ec4e_6c89,
    0x4528_21e6_38d0_1377,
];

#[derive(Clone, Copy, Debug)]
struct Original {
    signature: u64,
    frame: u64,
    time: Time,
    /// The origins where it was captured, a bit for each; some origins share one.
    origins: u32,
    ip_id: u16,
}

impl Original {
    const NONE: Original = Original { signature: 0, frame: 0, time: Time::UNKNOWN, origins: 0, ip_id: 0 };

    /// Whether a datagram of that signature is a copy of it.
    #[inline(always)]
    fn has_copy(&self, d: &Datagram<'_>, signature: u64) -> bool {
        self.signature == signature
            && self.ip_id == d.ip_id
            && (d.ip_id != 0 || self.origins & origin(d) == 0)
            && d.time.since(self.time).is_some_and(|distance| distance.unsigned_abs() <= WINDOW)
    }
}

/// The latest datagram that is no copy, in as few words as tell it from others of its conversation: it is noted for every
/// datagram.
#[derive(Clone, Copy, Debug, Default)]
struct Latest {
    frame: u64,
    time: Time,
    slot: Slot,
    /// See [`sender`].
    sender: u64,
    /// Number of captured bytes of its payload, identification and time to live; see [`header_of`].
    header: u64,
    /// [Sum](Datagram::payload_sum) of its payload.
    sum: u64,
    /// Number of copies that have followed it.
    copies: u8,
}

impl Latest {
    /// Whether a datagram of the same conversation is its next copy.
    #[cold]
    #[inline(never)]
    fn is_repeated_by(&self, d: &Datagram<'_>, slot: Option<Slot>) -> bool {
        self.copies.checked_add(1).is_some_and(|times| {
            times < MOST_TIMES
                && d.frame == self.frame.wrapping_add(u64::from(times))
                && slot == Some(self.slot)
        }) && d.time != Time::UNKNOWN
            && (self.sender, self.header) == (sender(d), header_of(d))
            && self.sum == d.payload_sum()
    }
}

/// Tells the two ends of a conversation apart.
#[inline(always)]
fn sender(d: &Datagram<'_>) -> u64 {
    let (low, port, _) = d.src.order();
    low.wrapping_add(port)
}

/// The captured bytes of its payload, the identification and the time to live of a datagram.
#[inline(always)]
fn header_of(d: &Datagram<'_>) -> u64 {
    (d.payload.len() as u64) << 32 | u64::from(d.ip_id) << 8 | u64::from(d.ttl)
}

/// An answer, without its receiver.
#[derive(Clone, Copy, Debug)]
struct Sent {
    src: Endpoint,
    length: usize,
    ends: [u64; 2],
    ip_id: u16,
    origin: u32,
    frame: u64,
    time: Time,
}

impl Sent {
    fn new(d: &Datagram<'_>) -> Sent {
        let &Datagram { src, payload, ip_id, origin, frame, time, .. } = d;
        Sent { src, length: payload.len(), ends: ends(payload), ip_id, origin, frame, time }
    }

    /// Whether it is the same datagram as a later one.
    fn is_same_as(&self, later: &Sent) -> bool {
        let identity = |sent: &Sent| (sent.src, sent.length, sent.ends, sent.ip_id);
        identity(self) == identity(later)
            && (self.ip_id != 0 || self.origin != later.origin)
            && at_translation(later.time, self.time)
    }
}

/// The latest datagrams, for detecting copies of them.
#[derive(Debug)]
pub struct Dedup {
    rows: Box<[[Original; PLACES]; ROWS]>,
    latest: Latest,
    answers: [Option<Sent>; LATEST],
    /// Index of the oldest answer, which the next one replaces.
    oldest: usize,
    /// The origin of the file's last datagram, `u32::MAX` before the first one.
    last_origin: u32,
    /// The datagrams of the file had several origins.
    several_origins: bool,
    /// All frames of the file have the same origin: only IP identifications reveal copies.
    one_origin: bool,
}

impl Default for Dedup {
    fn default() -> Self {
        Dedup {
            rows: Box::new([[Original::NONE; PLACES]; ROWS]),
            latest: Latest::default(),
            answers: [None; LATEST],
            oldest: 0,
            last_origin: u32::MAX,
            several_origins: false,
            one_origin: false,
        }
    }
}

impl Dedup {
    /// The frame of the original if a datagram is a copy; otherwise the datagram is remembered as an original. `slot` is its
    /// conversation, if that is known.
    ///
    /// A datagram without a time stamp is never taken for a copy.
    #[inline(always)]
    pub fn copy_of(&mut self, d: &Datagram<'_>, slot: Option<Slot>) -> Option<u64> {
        // In most cases, the length alone tells.
        if d.payload.len() as u64 == self.latest.header >> 32
            && d.time.is_within(self.latest.time, REPEAT_WINDOW)
            && self.latest.is_repeated_by(d, slot)
        {
            return Some(self.repeated(d));
        }
        if d.ip_id == 0 && self.one_origin || d.time == Time::UNKNOWN {
            return None;
        }
        if self.last_origin != d.origin {
            // A direction has a counterpart.
            self.several_origins |= self.last_origin != u32::MAX || d.origin & 0xff != 0;
            self.last_origin = d.origin;
        }
        let signature = signature(d);
        let row = &mut self.rows[signature as usize % ROWS];
        if let Some(original) = row.iter_mut().find(|original| original.has_copy(d, signature)) {
            original.origins |= origin(d);
            return Some(original.frame);
        }
        let latest = Original { signature, frame: d.frame, time: d.time, origins: origin(d), ip_id: d.ip_id };
        row.iter_mut().min_by_key(|original| original.frame).into_iter().for_each(|oldest| *oldest = latest);
        None
    }

    /// Notes a datagram that is no copy, in its conversation and with the [sum](Datagram::payload_sum) of its payload, for
    /// copies that follow it directly.
    #[inline(always)]
    pub fn note_latest(&mut self, d: &Datagram<'_>, slot: Slot, sum: u64) {
        let latest = &mut self.latest;
        latest.frame = d.frame;
        latest.time = d.time;
        latest.slot = slot;
        latest.sender = sender(d);
        latest.header = header_of(d);
        latest.sum = sum;
        latest.copies = 0;
    }

    /// Counts a copy of the latest datagram, and returns the frame of that.
    #[cold]
    #[inline(never)]
    fn repeated(&mut self, d: &Datagram<'_>) -> u64 {
        self.latest.copies += 1;
        let frame = self.latest.frame;
        // It has been captured at this origin, too.
        let signature = signature(d);
        let row = &mut self.rows[signature as usize % ROWS];
        let original = row.iter_mut().find(|original| original.frame == frame);
        original.into_iter().for_each(|original| original.origins |= origin(d));
        frame
    }

    /// The frame of the original if a datagram is a copy of one that is remembered; it is not remembered itself. `slots` are
    /// the conversations of its two ends.
    #[cold]
    pub fn original_of(&self, d: &Datagram<'_>, mut slots: impl Iterator<Item = Slot>) -> Option<u64> {
        let latest = &self.latest;
        if d.time.is_within(latest.time, REPEAT_WINDOW)
            && slots.any(|slot| latest.is_repeated_by(d, Some(slot)))
        {
            return Some(latest.frame);
        }
        let signature = signature(d);
        let row = &self.rows[signature as usize % ROWS];
        row.iter().find(|original| original.has_copy(d, signature)).map(|original| original.frame)
    }

    /// Whether the datagrams of the file so far had several origins, so that an answer may be one to
    /// [another receiver](Self::translation_of).
    #[inline(always)]
    pub fn has_several_origins(&self) -> bool {
        self.several_origins
    }

    /// The frame that shows an unsolicited answer on its way to another receiver; otherwise the answer is remembered.
    /// `asked` says whether the receiver has sent a request.
    #[cold]
    pub fn translation_of(&mut self, d: &Datagram<'_>, asked: bool) -> Option<u64> {
        let sent = Sent::new(d);
        let same = self.answers.iter().flatten().find(|other| other.is_same_as(&sent));
        if let (false, Some(other)) = (asked, same) {
            return Some(other.frame);
        }
        self.answers[self.oldest] = Some(sent);
        self.oldest = (self.oldest + 1) % LATEST;
        None
    }

    /// Begins a file; `one_origin` says whether all its frames have the same origin, and `several_origins`, whether they have
    /// different ones in all likelihood.
    pub fn begin(&mut self, one_origin: bool, several_origins: bool) {
        (self.one_origin, self.last_origin, self.several_origins) = (one_origin, u32::MAX, several_origins);
    }

    /// Forgets everything, because another capture with its own time begins.
    pub fn clear(&mut self) {
        self.rows.fill([Original::NONE; PLACES]);
        self.answers = [None; LATEST];
        self.latest = Latest::default();
    }
}

/// The bit of a datagram's origin.
#[inline(always)]
fn origin(d: &Datagram<'_>) -> u32 {
    1 << (d.origin.wrapping_mul(0x9e37_79b1) >> 27)
}

/// A hash of everything that copies have in common. It is not seeded, because every run must assign datagrams to the
/// same rows.
#[inline]
fn signature(d: &Datagram<'_>) -> u64 {
    let [first, last] = ends(d.payload);
    let (low, port, high) = d.src.order();
    let (to_low, to_port, to_high) = d.dst.order();
    // The captured length and the number of bytes cut off have 16 bits each.
    let lengths_and_checksum =
        (d.payload.len() as u64) << 32 | u64::from(d.cut) << 16 | u64::from(d.checksum);
    let pairs = [(low, to_low), (high, to_high), (port << 32 | to_port, lengths_and_checksum), (first, last)];
    let mut hash = 0;
    for ((a, b), factors) in pairs.into_iter().zip(FACTORS.windows(2)) {
        hash ^= folded_product(a ^ factors[0], b ^ factors[1]);
    }
    folded_product(hash, FACTORS[0])
}

/// The first and the last 8 bytes. Shorter payloads are padded with zeros; their length distinguishes them.
#[inline]
fn ends(payload: &[u8]) -> [u64; 2] {
    match (payload.first_chunk(), payload.last_chunk()) {
        (Some(first), Some(last)) => [u64::from_ne_bytes(*first), u64::from_ne_bytes(*last)],
        _ => [payload.iter().fold(0, |word, byte| word << 8 | u64::from(*byte)), 0],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const CLIENT: Endpoint = Endpoint::v4([192, 0, 2, 1], 40_000);
    const SERVER: Endpoint = Endpoint::v4([198, 51, 100, 2], 7777);

    /// A datagram whose checksum is a sum of its bytes.
    fn datagram(frame: u64, nanos: i64, payload: &[u8]) -> Datagram<'_> {
        let checksum =
            payload.iter().fold(1, |sum: u16, byte| sum.wrapping_mul(31).wrapping_add((*byte).into()));
        let time = Time::from_nanos(nanos);
        Datagram { frame, time, at: frame * 100, checksum, ..Datagram::between(CLIENT, SERVER, payload) }
    }

    fn copy_of(dedup: &mut Dedup, d: &Datagram<'_>, ip_id: u16, origin: u32) -> Option<u64> {
        dedup.copy_of(&Datagram { ip_id, origin, ..*d }, None)
    }

    /// The originals of datagrams of equal bytes, given as microseconds, IP identification and origin.
    fn originals_of<const N: usize>(datagrams: [(i64, u16, u32); N]) -> [Option<u64>; N] {
        let mut dedup = Dedup::default();
        let mut frame = 0;
        datagrams.map(|(micros, ip_id, origin)| {
            frame += 1;
            copy_of(&mut dedup, &datagram(frame, micros * 1000, b"the same bytes"), ip_id, origin)
        })
    }

    #[test]
    fn an_original_takes_half_a_cache_line() {
        assert_eq!(size_of::<Original>(), 32);
    }

    #[test]
    fn the_same_ip_identification_is_evidence_of_a_copy() {
        assert_eq!(originals_of([(0, 7, 0), (5, 7, 0)]), [None, Some(1)]);
        assert_eq!(originals_of([(0, 7, 0), (5, 7, 1), (9, 7, 0)]), [None, Some(1), Some(1)]);
        assert_eq!(
            originals_of([(0, 7, 0), (5, 8, 1)]),
            [None, None],
            "another one is evidence to the contrary"
        );
        assert_eq!(
            originals_of([(0, 7, 0), (5, 0, 1), (6, 7, 0)]),
            [None, None, Some(1)],
            "beside one without any"
        );
    }

    #[test]
    fn another_origin_is_evidence_of_a_copy() {
        assert_eq!(originals_of([(0, 0, 0), (5, 0, 1)]), [None, Some(1)]);
        assert_eq!(
            originals_of([(0, 0, 4), (5, 0, 0x104), (9, 0, 0x200)]),
            [None, Some(1), Some(1)],
            "three copies"
        );
        assert_eq!(originals_of([(0, 0, 3), (5, 0, 3)]), [None, None], "sent again");
    }

    #[test]
    fn a_retransmission_seen_at_the_same_origins_is_no_copy() {
        let same_order = originals_of([(0, 0, 1), (5, 0, 2), (300, 0, 1), (305, 0, 2)]);
        assert_eq!(same_order, [None, Some(1), None, Some(3)]);
        let other_order = originals_of([(0, 0, 1), (5, 0, 2), (300, 0, 2), (305, 0, 1)]);
        assert_eq!(other_order, [None, Some(1), None, Some(3)]);
    }

    #[test]
    fn copies_are_at_most_a_millisecond_apart() {
        assert_eq!(originals_of([(0, 7, 0), (1000, 7, 0)]), [None, Some(1)]);
        assert_eq!(originals_of([(0, 7, 0), (1001, 7, 0)]), [None, None]);
        assert_eq!(
            originals_of([(1000, 7, 0), (0, 7, 0)]),
            [None, Some(1)],
            "stamps of two interfaces out of order"
        );
        assert_eq!(originals_of([(1001, 0, 0), (0, 0, 1)]), [None, None]);
        // Each copy is compared with the original, so there is no chain.
        assert_eq!(originals_of([(0, 7, 0), (900, 7, 0), (1800, 7, 0)]), [None, Some(1), None]);
    }

    #[test]
    fn an_original_in_a_full_row_replaces_the_oldest() {
        let payloads: Vec<_> = (0..20_000_u32).map(u32::to_be_bytes).collect();
        let row = |payload: &[u8]| signature(&datagram(1, 0, payload)) as usize % ROWS;
        let (first, later) = payloads.split_first().expect("there is one");
        let same_row = |other: &&[u8; 4]| row(&other[..]) == row(first);
        let (same, others): (Vec<&[u8; 4]>, Vec<&[u8; 4]>) = later.iter().partition(same_row);
        let mut dedup = Dedup::default();
        assert_eq!(copy_of(&mut dedup, &datagram(1, 0, first), 7, 0), None);
        for other in others.iter().take(5_000).copied().chain(same[..PLACES - 1].iter().copied()) {
            assert_eq!(copy_of(&mut dedup, &datagram(2, 0, other), 7, 0), None);
        }
        assert_eq!(copy_of(&mut dedup, &datagram(3, 0, first), 7, 0), Some(1), "in spite of 5,000 others");
        assert_eq!(copy_of(&mut dedup, &datagram(4, 0, same[PLACES - 1]), 7, 0), None);
        assert_eq!(copy_of(&mut dedup, &datagram(5, 0, first), 7, 0), None, "now it is an original again");
    }

    #[test]
    fn a_datagram_without_a_time_stamp_is_no_copy() {
        let mut dedup = Dedup::default();
        let timeless = |frame| Datagram { time: Time::UNKNOWN, ..datagram(frame, 0, b"question") };
        assert_eq!(copy_of(&mut dedup, &timeless(1), 7, 0), None);
        assert_eq!(copy_of(&mut dedup, &timeless(2), 7, 1), None);
        assert_eq!(copy_of(&mut dedup, &datagram(3, 0, b"question"), 7, 0), None);
        assert_eq!(copy_of(&mut dedup, &timeless(4), 7, 1), None);
        assert_eq!(copy_of(&mut dedup, &datagram(5, 0, b"question"), 7, 1), Some(3));
    }

    #[test]
    fn a_datagram_with_any_difference_is_no_copy() {
        let one = datagram(1, 0, b"a question");
        let others = [
            Datagram { src: Endpoint::v4([192, 0, 2, 1], 40_001), ..one },
            Datagram { src: Endpoint::v4([192, 0, 2, 2], 40_000), ..one },
            Datagram {
                src: Endpoint::v6([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 0, 2, 1], 40_000),
                ..one
            },
            Datagram { dst: CLIENT, ..one },
            Datagram { src: SERVER, dst: CLIENT, ..one },
            Datagram { checksum: one.checksum ^ 1, ..one },
            Datagram { cut: 1, ..one },
            Datagram { payload: b"a questioN", ..one },
            Datagram { payload: b"A question", ..one },
            Datagram { payload: b"a question?", ..one },
            Datagram { payload: b"a", ..one },
            Datagram { payload: b"", ..one },
        ];
        for other in others {
            let mut dedup = Dedup::default();
            assert_eq!(copy_of(&mut dedup, &one, 7, 0), None);
            assert_eq!(copy_of(&mut dedup, &other, 7, 0), None, "{other:?}");
        }
    }

    #[test]
    fn recognises_an_answer_with_the_address_of_another_receiver() {
        let answer = |frame: u64, micros: i64, ip_id, origin, payload: &'static [u8], to| {
            let d = datagram(frame, micros * 1000, payload);
            Datagram { src: SERVER, dst: Endpoint::v4([192, 0, 2, to], 40_000), ip_id, origin, ..d }
        };
        let translation = |first: Datagram<'_>, second: Datagram<'_>| {
            let mut dedup = Dedup::default();
            assert_eq!(dedup.translation_of(&first, true), None);
            assert_eq!(dedup.translation_of(&second, true), None, "where it was asked for");
            let mut dedup = Dedup::default();
            assert_eq!(dedup.translation_of(&first, false), None);
            dedup.translation_of(&second, false)
        };
        let first = answer(1, 0, 7, 0, b"state", 1);
        assert_eq!(translation(first, answer(2, 1000, 7, 0, b"state", 2)), Some(1));
        assert_eq!(translation(first, answer(2, 1001, 7, 0, b"state", 2)), None, "too late");
        assert_eq!(translation(first, answer(2, 9, 8, 0, b"state", 2)), None, "another datagram");
        assert_eq!(translation(first, answer(2, 9, 7, 0, b"stage", 2)), None, "other bytes");
        assert_eq!(
            translation(first, Datagram { src: CLIENT, ..answer(2, 9, 7, 0, b"state", 2) }),
            None,
            "another sender"
        );
        let first = answer(1, 0, 0, 1, b"state", 1);
        assert_eq!(translation(first, answer(2, 9, 0, 2, b"state", 2)), Some(1));
        assert_eq!(
            translation(first, answer(2, 9, 0, 1, b"state", 2)),
            None,
            "nothing tells it from another answer"
        );
    }

    #[test]
    fn notices_several_origins() {
        let mut dedup = Dedup::default();
        for (origin, several) in [(0x500, false), (0x500, false), (0x700, true), (0x700, true)] {
            copy_of(&mut dedup, &datagram(1, 0, b"request"), 7, origin);
            assert_eq!(dedup.has_several_origins(), several, "{origin}");
        }
    }

    #[test]
    fn remembers_the_latest_answers() {
        let last = LATEST as u64;
        for (distance, expected) in [(0, Some(1)), (last - 1, Some(1)), (last, None)] {
            let mut dedup = Dedup::default();
            for frame in 1..=distance + 1 {
                let ip_id = frame as u16;
                assert_eq!(
                    dedup.translation_of(&Datagram { ip_id, ..datagram(frame, 0, b"state") }, true),
                    None
                );
            }
            let again = Datagram { ip_id: 1, ..datagram(99, 0, b"state") };
            assert_eq!(dedup.translation_of(&again, false), expected, "{distance}");
        }
    }

    #[test]
    fn nothing_is_remembered_from_another_file() {
        let mut dedup = Dedup::default();
        assert_eq!(copy_of(&mut dedup, &datagram(1, 0, b"question"), 7, 0), None);
        dedup.clear();
        assert_eq!(copy_of(&mut dedup, &datagram(1, 0, b"question"), 7, 0), None);
        dedup.clear();
        dedup.begin(false, false);
        assert_eq!(copy_of(&mut dedup, &datagram(1, 0, b"question"), 7, 0x100), None);
        assert!(!dedup.has_several_origins(), "each has one");
    }

    proptest! {
        /// Whatever the traffic, only copies are taken for copies.
        #[test]
        fn no_copy_is_invented(
            datagrams in prop::collection::vec((0_u8..4, 0_usize..20, 0_i64..3_000_000, 0_u16..3, 0_u32..40), 1..200),
        ) {
            let mut dedup = Dedup::default();
            let payloads: Vec<Vec<u8>> = datagrams.iter().map(|(fill, length, ..)| vec![*fill; *length]).collect();
            // For each frame, the index of its original.
            let mut originals: Vec<usize> = vec![];
            for (index, (payload, &(_, _, nanos, ip_id, origin))) in payloads.iter().zip(&datagrams).enumerate() {
                let Some(frame) = copy_of(&mut dedup, &datagram(index as u64, nanos, payload), ip_id, origin) else {
                    originals.push(index);
                    continue;
                };
                let original = frame as usize;
                prop_assert_eq!(originals[original], original, "an original, and no copy itself");
                prop_assert_eq!(&payloads[original], payload);
                prop_assert_eq!(datagrams[original].3, ip_id);
                prop_assert!(datagrams[original].2.abs_diff(nanos) <= WINDOW);
                let mut same = originals.iter().zip(&datagrams).filter(|(of, _)| **of == original);
                prop_assert!(ip_id != 0 || same.all(|(_, earlier)| earlier.4 != origin));
                originals.push(original);
            }
        }

        /// Copies of any datagram are found, whatever came long before.
        #[test]
        fn copies_are_found(
            earlier in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..20), 0..50),
            payload in prop::collection::vec(any::<u8>(), 0..1400),
            (ip_id, origin) in (1_u16.., any::<u32>()),
            distance in -(WINDOW as i64)..=WINDOW as i64,
        ) {
            let mut dedup = Dedup::default();
            for earlier in &earlier {
                copy_of(&mut dedup, &datagram(1, 0, earlier), ip_id, origin);
            }
            prop_assert_eq!(copy_of(&mut dedup, &datagram(2, 10_000_000, &payload), ip_id, origin), None);
            let copy = datagram(3, 10_000_000 + distance, &payload);
            prop_assert_eq!(copy_of(&mut dedup, &copy, ip_id, origin), Some(2));
            prop_assert_eq!(copy_of(&mut dedup, &copy, ip_id, origin ^ 1), Some(2));
        }
    }

    #[test]
    fn answers_of_an_earlier_capture_are_forgotten() {
        let mut dedup = Dedup::default();
        let answer = Datagram { ip_id: 7, ..datagram(1, 0, b"an answer") };
        let translated = Datagram { frame: 2, dst: CLIENT, ..answer };
        assert_eq!(dedup.translation_of(&answer, false), None);
        assert_eq!(dedup.translation_of(&translated, false), Some(1));
        dedup.clear();
        assert_eq!(dedup.translation_of(&translated, false), None);
    }
}
