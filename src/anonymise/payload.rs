//! Replaces what a message says of people and hosts, and nothing that its rules look at.
//!
//! ```text
//! fields of the message ──> what is replaced ──> the other message ──> decoded again: the same fields, the same broken rules?
//!                               ▲                                                │ no
//!                               └──────── less is replaced, until they are ──────┘
//! ```

use super::addresses::Addresses;
use super::places::{Finder, How, Place, is_personal};
use super::texts::{Strength, Texts, WAYS};
use super::tokens::Tokens;
use crate::check::Packet;
use crate::contract::{Known, Level, Part, Probe, Role};
use crate::decode::{Node, Tree, Violation};
use std::collections::BTreeMap;
use std::net::IpAddr;

/// Most times that a message is decoded until enough of it is replaced.
pub const MAX_TRIALS: usize = 1024;

/// A packet as it was captured, and what others in its place are held against.
struct Original<'a> {
    p: &'a Packet<'a>,
    before: &'a Tree,
    recognised: [Recognised; 2],
}

/// Replaces messages.
pub struct Payloads {
    /// Replaces addresses, in messages and elsewhere.
    pub addresses: Addresses,
    texts: Texts,
    tokens: Tokens,
    /// Fields whose text stayed because a rule reads it, each with the number of times.
    pub stayed: BTreeMap<&'static str, u64>,
    finder: Finder,
    tree: Tree,
    /// Number of times that the message has been decoded, and the most.
    trials: usize,
    pub(super) most_trials: usize,
}

impl Payloads {
    /// Replaces with these.
    pub fn new(addresses: Addresses, texts: Texts, tokens: Tokens) -> Payloads {
        Payloads {
            addresses,
            texts,
            tokens,
            stayed: BTreeMap::new(),
            finder: Finder::new(),
            tree: Tree::default(),
            trials: 0,
            most_trials: MAX_TRIALS,
        }
    }

    /// The bytes in the place of those of a packet, whose fields are in `before`; `None` if what a rule reads cannot be replaced.
    pub fn replace(&mut self, p: &Packet<'_>, before: &Tree) -> Option<Vec<u8>> {
        let places = self.finder.find(p, before);
        let mut bytes = p.bytes.to_vec();
        self.trials = 0;
        let original = Original { p, before, recognised: recognised(p, p.bytes) };
        (places.is_empty() || self.replace_some(&original, &places, &mut bytes)).then_some(bytes)
    }

    /// The bytes in the place of a part of a message, the last so many of which belong to the message.
    pub fn part(&self, payload: &[u8], body: usize) -> Vec<u8> {
        let (header, body) = payload.split_at_checked(payload.len().saturating_sub(body)).unwrap_or_default();
        [header, &self.texts.opaque(Strength::Everything(0), body)].concat()
    }

    /// Replaces as many of some places as the rules allow. Returns whether enough are replaced.
    fn replace_some(&mut self, original: &Original<'_>, places: &[Place], bytes: &mut [u8]) -> bool {
        let ways = if places.len() == 1 { WAYS } else { 1 };
        let full = (0..ways).map(Strength::Everything);
        for strength in full.chain((ways > 1).then_some(Strength::Letters)) {
            places.iter().for_each(|place| self.put(place, strength, original.p.bytes, bytes));
            if self.is_equal(original, bytes) {
                return true;
            }
            places.iter().for_each(|place| place.copy(original.p.bytes, bytes));
            if self.trials > self.most_trials {
                return false;
            }
        }
        if let [place] = places {
            let words = place.words(original.p.bytes);
            if words.len() > 1 {
                return self.replace_some(original, &words, bytes);
            }
            if is_personal(place.field) {
                return false;
            }
            let times = self.stayed.entry(place.field.name).or_default();
            *times = times.saturating_add(1);
            return true;
        }
        let (first, second) = places.split_at(places.len() / 2);
        self.replace_some(original, first, bytes) && self.replace_some(original, second, bytes)
    }

    /// Whether a packet with other bytes is recognised and decoded as before, and breaks the same rules in the same places.
    fn is_equal(
        &mut self,
        Original { p, before, recognised: as_before }: &Original<'_>,
        bytes: &[u8],
    ) -> bool {
        self.trials = self.trials.saturating_add(1);
        if p.whole().is_none() && recognised(p, bytes) != *as_before {
            return false;
        }
        p.decode_instead(bytes, true, &mut self.tree);
        let same_node = |(a, b): (&Node, &Node)| {
            (a.field, a.at, a.depth, a.derived) == (b.field, b.at, b.depth, b.derived)
        };
        let same_rule = |(a, b): (&Violation, &Violation)| {
            (a.rule.id, a.at, a.field, a.index, a.minor) == (b.rule.id, b.at, b.field, b.index, b.minor)
        };
        let (nodes, violations) = (self.tree.nodes(), self.tree.violations());
        (nodes.len(), violations.len()) == (before.nodes().len(), before.violations().len())
            && nodes.iter().zip(before.nodes()).all(same_node)
            && violations.iter().zip(before.violations()).all(same_rule)
    }

    fn put(&mut self, place: &Place, strength: Strength, from: &[u8], to: &mut [u8]) {
        let original = place.at.of(from);
        let other = match place.how {
            How::Text => self.texts.bytes(strength, original),
            How::Bytes => self.bytes(strength, original),
            How::Utf16 => self.texts.utf16(strength, original),
            How::Latin1 => self.texts.latin1(strength, original),
            How::Address(ip) => self.address(ip, original),
            How::Token => {
                let mut token = original.to_vec();
                // The last bytes of some numbers say of what kind they are.
                let part = if strength == Strength::Letters { token.len() / 2 } else { token.len() };
                self.tokens.replace(token.get_mut(..part).unwrap_or_default());
                self.tokens.remember(original, &token);
                token
            }
            How::Number(number) => {
                let became = self.tokens.number(number);
                // As digits it may be sent back in four bytes.
                if let (Ok(from), Ok(to)) = (i32::try_from(number), i32::try_from(became)) {
                    self.tokens.remember(&from.to_be_bytes(), &to.to_be_bytes());
                }
                renumbered(original, number, became)
            }
        };
        if let Some(to) = place.of(to).filter(|to| to.len() == other.len()) {
            to.copy_from_slice(&other);
        }
    }

    /// Bytes in which there may be text, or a token.
    fn bytes(&self, strength: Strength, original: &[u8]) -> Vec<u8> {
        let mut other = self.texts.opaque(strength, original);
        self.tokens.replace_within(original, &mut other);
        other
    }

    /// The bytes of an address, in either order, among others.
    fn address(&self, ip: IpAddr, original: &[u8]) -> Vec<u8> {
        let mut other = original.to_vec();
        let octets = |ip: IpAddr| match ip {
            IpAddr::V4(v4) => v4.octets().to_vec(),
            IpAddr::V6(v6) => v6.octets().to_vec(),
        };
        let reversed = |octets: &[u8]| octets.iter().rev().copied().collect::<Vec<_>>();
        let (from, to) = (octets(ip), octets(self.addresses.ip(ip)));
        for (from, to) in [(from.clone(), to.clone()), (reversed(&from), reversed(&to))] {
            if let Some(at) = memchr::memmem::find(original, &from) {
                other.splice(at..at.saturating_add(to.len()), to);
                break;
            }
        }
        other
    }
}

/// The bytes that a number becomes that is in bytes of either order, or in digits.
fn renumbered(original: &[u8], number: i128, became: i128) -> Vec<u8> {
    let bytes = |number: i128| {
        let big = number.to_be_bytes();
        big.get(big.len().saturating_sub(original.len())..).unwrap_or_default().to_vec()
    };
    let reversed = |mut bytes: Vec<u8>| {
        bytes.reverse();
        bytes
    };
    if original == bytes(number) {
        return bytes(became);
    }
    if original == reversed(bytes(number)) {
        return reversed(bytes(became));
    }
    let digits = became.unsigned_abs().to_string();
    let mut digits = digits.bytes();
    let digit = |byte: &u8| if byte.is_ascii_digit() { digits.next().unwrap_or(*byte) } else { *byte };
    original.iter().map(digit).collect()
}

/// What tells one message from another.
type Recognised = Option<(u8, Role, u8, Level, Option<Part>)>;

/// How the bytes of a packet are recognised: by themselves, or else in its conversation, and in the place of an answer.
fn recognised(p: &Packet<'_>, bytes: &[u8]) -> [Recognised; 2] {
    let length = p.datagram.wire_len();
    let told = |probe: Option<Probe>| {
        probe.map(|probe| (probe.message, probe.role, probe.step, probe.level, probe.part))
    };
    let ports = [p.datagram.src.port(), p.datagram.dst.port()];
    let by_itself = told(p.id.probe(bytes, length, ports));
    if by_itself.is_some() {
        return [by_itself, None];
    }
    let known = Known::of(p.direction, Level::High);
    let awaited = Known { open: true, commanded: true, awaited: 1u32.unbounded_shl(p.step.into()), ..known };
    [known, awaited].map(|known| told(p.id.probe_known(bytes, length, known)))
}
