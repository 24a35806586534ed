//! Evaluates a plan: whether a packet passes.

use super::frame_facts::{FrameFacts, Ip};
use super::names::Builtin;
use super::plan::{Member, Plan, Relation, Side, Source, Step, Term};
use super::syntax::Quantifier;
use super::value::{Constant, Datum, contains, cut};
use super::view::View;
use crate::decode::Version;
use crate::net::{Datagram, Endpoint};
use crate::protocols::Level;
use crate::timestamps::stamp;
use std::borrow::Cow;
use std::cmp::Ordering;

/// A visitor that gets one value after the other; `true` ends the visit.
type Visit<'v> = dyn FnMut(Datum<'_>) -> bool + 'v;

impl Plan {
    /// Whether the packet in the view fulfils the plan.
    pub fn holds(&self, view: &View<'_>) -> bool {
        match self {
            Plan::Any(parts) => parts.iter().any(|part| part.holds(view)),
            Plan::All(parts) => parts.iter().all(|part| part.holds(view)),
            Plan::Not(inner) => !inner.holds(view),
            Plan::Exists(term) => term.exists(view),
            Plan::Compare(quantifier, term, relation, side) => match side {
                Side::Constant(constant) => {
                    term.fulfils(*quantifier, view, &mut |value| relation.holds(&value, constant))
                }
                Side::Term(other) => {
                    let inner = &mut |value: Datum<'_>| {
                        other.fulfils(*quantifier, view, &mut |right| relation.holds_between(&value, &right))
                    };
                    term.fulfils(*quantifier, view, inner)
                }
            },
            Plan::In(quantifier, term, set) => term.fulfils(*quantifier, view, &mut |value| {
                set.iter().any(|member| match member {
                    Member::One(Side::Constant(one)) => Relation::Eq.holds(&value, one),
                    Member::One(Side::Term(other)) => {
                        other.each(view, &mut |right| Relation::Eq.holds_between(&value, &right))
                    }
                    Member::Range(from, to) => {
                        Relation::Ge.holds(&value, from) && Relation::Le.holds(&value, to)
                    }
                })
            }),
        }
    }
}

impl Relation {
    fn orders(self, order: Option<Ordering>) -> bool {
        match self {
            Relation::Eq => order == Some(Ordering::Equal),
            Relation::Ne => order != Some(Ordering::Equal),
            Relation::Lt => order == Some(Ordering::Less),
            Relation::Le => order.is_some_and(Ordering::is_le),
            Relation::Gt => order == Some(Ordering::Greater),
            Relation::Ge => order.is_some_and(Ordering::is_ge),
            Relation::Contains | Relation::Matches => false,
        }
    }

    fn holds(self, value: &Datum<'_>, constant: &Constant) -> bool {
        match (self, constant) {
            (Relation::Contains, Constant::Bytes(part)) => {
                value.text().is_some_and(|whole| contains(whole, part))
            }
            (Relation::Matches, Constant::Pattern(pattern)) => {
                value.text().is_some_and(|text| pattern.is_match(text))
            }
            _ => self.orders(value.compare(constant)),
        }
    }

    fn holds_between(self, left: &Datum<'_>, right: &Datum<'_>) -> bool {
        match (self, left.text(), right.text()) {
            (Relation::Contains, Some(whole), Some(part)) => contains(whole, part),
            _ => self.orders(left.compare_with(right)),
        }
    }
}

impl Term {
    /// Whether any value fulfils a test, or all values do and there is at least one.
    fn fulfils(&self, quantifier: Quantifier, view: &View<'_>, test: &mut Visit<'_>) -> bool {
        match quantifier {
            Quantifier::Any => self.each(view, test),
            Quantifier::All => {
                let mut seen = false;
                let failed = self.each(view, &mut |value| {
                    seen = true;
                    !test(value)
                });
                seen && !failed
            }
        }
    }

    /// Whether the term is present. An empty slice, a mask that leaves 0, and a flag that is off count as absent.
    fn exists(&self, view: &View<'_>) -> bool {
        if !self.steps.is_empty() {
            return self.each(view, &mut |value| match value {
                Datum::Int(v) => v != 0,
                value => value.bytes().is_none_or(|bytes| !bytes.is_empty()),
            });
        }
        match self.source {
            Source::Builtin(Builtin::Retransmission) => view.retransmission,
            Source::Builtin(Builtin::Duplicate) => view.duplicate,
            source => source.each(view, &mut |_| true),
        }
    }

    /// Visits the values, each after all steps of the expression.
    fn each(&self, view: &View<'_>, visit: &mut Visit<'_>) -> bool {
        match self.steps.split_first() {
            None => self.source.each(view, &mut |value| {
                let comparable = !matches!(value, Datum::Present | Datum::Hidden);
                comparable && visit(value)
            }),
            Some((Step::Count, rest)) => {
                let count = self.count(view);
                count > 0 && done(Datum::Int(count), rest).is_some_and(visit)
            }
            Some(_) => self.source.each(view, &mut |value| done(value, &self.steps).is_some_and(&mut *visit)),
        }
    }

    /// Number of occurrences. Of a list, the values are counted; where there are none, the groups and lists.
    fn count(&self, view: &View<'_>) -> i128 {
        let (mut values, mut groups) = (0i128, 0i128);
        self.source.each(view, &mut |value| {
            let counter = if matches!(value, Datum::Present) { &mut groups } else { &mut values };
            *counter = counter.saturating_add(1);
            false
        });
        if values > 0 { values } else { groups }
    }
}

/// A value after all steps; `None` where a step does not apply to it.
fn done<'a>(value: Datum<'a>, steps: &[Step]) -> Option<Datum<'a>> {
    let folded = |text: &Datum<'_>, fold: fn(&str) -> String| {
        let text = fold(&String::from_utf8_lossy(text.text()?));
        Some(Datum::Text(Cow::Owned(text.into_bytes())))
    };
    steps.iter().try_fold(value, |value, step| match step {
        Step::Count => None, // it is the first step, or there is none
        Step::Slice(cuts) => Some(Datum::Bytes(Cow::Owned(cut(&value.bytes()?, cuts)))),
        Step::Len => Some(Datum::Int(value.bytes()?.len() as i128)),
        Step::Upper => folded(&value, str::to_uppercase),
        Step::Lower => folded(&value, str::to_lowercase),
        Step::String(words) => {
            let words = words.map(|words| words.all()).unwrap_or_default();
            Some(Datum::Text(Cow::Owned(value.string(&words)?.into_bytes())))
        }
        Step::Mask(mask) => match value {
            Datum::Int(v) => Some(Datum::Int(v & mask)),
            _ => None,
        },
    })
}

impl Source {
    /// Visits the values of a field until the visitor returns `true`.
    pub fn each(self, view: &View<'_>, visit: &mut Visit<'_>) -> bool {
        match self {
            Source::Builtin(builtin) => builtin.each(view, visit),
            Source::Protocol(id) => {
                let payload = view.datagram.map(|d| Datum::Bytes(Cow::Borrowed(d.payload)));
                view.protocol == Some(id) && visit(payload.unwrap_or(Datum::Present))
            }
            Source::Picked(id, slot) => {
                view.protocol == Some(id) && view.picked.is_some_and(|pick| pick.each(slot, visit))
            }
        }
    }
}

/// A number, if there is one.
fn int(value: Option<impl Into<i128>>) -> Option<Datum<'static>> {
    value.map(|v| Datum::Int(v.into()))
}

impl Builtin {
    fn each(self, view: &View<'_>, visit: &mut Visit<'_>) -> bool {
        use Builtin::*;
        match self {
            // In the order of the header.
            EthAddr => [EthDst, EthSrc].iter().any(|field| field.each(view, visit)),
            IpAddr => [IpSrc, IpDst].iter().any(|field| field.each(view, visit)),
            IpHost => [IpSrc, IpDst].iter().any(|field| {
                field.each(view, &mut |address| {
                    address.string(&[]).is_some_and(|text| visit(Datum::Text(Cow::Owned(text.into_bytes()))))
                })
            }),
            V6Addr => [V6Src, V6Dst].iter().any(|field| field.each(view, visit)),
            UdpPort => [UdpSrc, UdpDst].iter().any(|field| field.each(view, visit)),
            VlanId => {
                let vlans = view.facts.map(|facts| facts.vlans.as_slice()).unwrap_or_default();
                vlans.iter().any(|id| visit(Datum::Int(i128::from(*id))))
            }
            FrameComment => {
                view.comments.iter().any(|text| visit(Datum::Text(Cow::Borrowed(text.as_bytes()))))
            }
            Finding => view.findings.iter().any(|f| visit(Datum::Finding(f.rule.id))),
            Rule => view.findings.iter().any(|f| visit(Datum::Text(Cow::Borrowed(f.rule.id.as_bytes())))),
            Severity => view.findings.iter().any(|f| visit(Datum::Rank(f.severity as u8))),
            // A payload without bytes is absent, as in tshark.
            UdpPayload => view
                .datagram
                .is_some_and(|d| !d.payload.is_empty() && visit(Datum::Bytes(Cow::Borrowed(d.payload)))),
            Frame => match view.bytes {
                [] => (view.facts.is_some() || view.datagram.is_some()) && visit(Datum::Present),
                bytes => visit(Datum::Bytes(Cow::Borrowed(bytes))),
            },
            Udp => view.datagram.is_some_and(|d| visit(Datum::Bytes(Cow::Owned(d.segment())))),
            one => one.value(view).is_some_and(visit),
        }
    }

    /// The value of a field that occurs once.
    fn value(self, view: &View<'_>) -> Option<Datum<'static>> {
        self.of_frame(view).or_else(|| self.of_headers(view)).or_else(|| self.of_packet(view))
    }

    fn of_frame(self, view: &View<'_>) -> Option<Datum<'static>> {
        let (facts, datagram) = (view.facts, view.datagram);
        let number = facts.map(|f| f.number).or(datagram.map(|d| d.frame));
        let time = facts.map(|f| f.time).or(datagram.map(|d| d.time));
        match self {
            Builtin::FrameNumber => int(number),
            Builtin::FrameTime => time?.nanos().map(Datum::Nanos),
            Builtin::FrameLen => int(facts.map(|f| f.wire_len)),
            Builtin::FrameCapLen => int(facts.map(|f| f.cap_len)),
            Builtin::FrameInterface => int(facts.map(|f| f.interface)),
            Builtin::File => view.file.map(text),
            Builtin::FrameTimeText => Some(stamp(time?)).filter(|stamp| !stamp.is_empty()).map(text),
            Builtin::FrameTimeRelative => time?.since(facts?.first).map(Datum::Nanos),
            Builtin::FrameTimeDelta => time?.since(facts?.before).map(Datum::Nanos),
            Builtin::FrameInterfaceName => facts?.interface_name.as_deref().map(text),
            Builtin::FrameProtocols => Some(text(facts?.protocols(view.protocol.map(|id| id.info().name)))),
            _ => None,
        }
    }

    fn of_headers(self, view: &View<'_>) -> Option<Datum<'static>> {
        let ethernet = view.facts.and_then(|facts| facts.ethernet);
        let mac = |address: Option<[u8; 6]>| address.map(|a| Datum::Bytes(Cow::Owned(a.to_vec())));
        let present = |there: bool| there.then_some(Datum::Present);
        let end = |which: fn(&[Endpoint; 2]) -> Endpoint| view.ends.as_ref().map(which);
        let (src, dst) = (end(|[src, _]| *src), end(|[_, dst]| *dst));
        let header = |version| {
            view.facts.and_then(|facts: &FrameFacts| facts.ip.filter(|ip: &Ip| ip.version == version))
        };
        let (four, six) = (|| header(4), || header(6));
        match self {
            Builtin::Eth => present(ethernet.is_some()),
            Builtin::EthSrc => mac(ethernet.map(|e| e.src)),
            Builtin::EthDst => mac(ethernet.map(|e| e.dst)),
            Builtin::EthType => int(ethernet.and_then(|e| e.kind)),
            Builtin::Vlan => present(view.facts.is_some_and(|facts| !facts.vlans.is_empty())),
            Builtin::Ip => present(v4(src).is_some()),
            Builtin::IpSrc => v4(src),
            Builtin::IpDst => v4(dst),
            Builtin::IpLen => int(four().map(|ip| ip.len)),
            Builtin::IpId => int(four().map(|ip| ip.id)),
            Builtin::IpTtl => int(four().map(|ip| ip.ttl)),
            Builtin::IpProto => int(four().map(|ip| ip.proto)),
            Builtin::V6 => present(v6(src).is_some()),
            Builtin::V6Src => v6(src),
            Builtin::V6Dst => v6(dst),
            Builtin::V6Len => int(six().map(|ip| ip.len)),
            Builtin::V6Next => int(six().map(|ip| ip.proto)),
            Builtin::V6Hops => int(six().map(|ip| ip.ttl)),
            Builtin::UdpSrc => int(src.map(Endpoint::port)),
            Builtin::UdpDst => int(dst.map(Endpoint::port)),
            Builtin::UdpLength => view.datagram.map(|d| Datum::Int((d.wire_len() as i128).saturating_add(8))),
            Builtin::UdpChecksum => int(view.datagram.map(|d| d.checksum)),
            Builtin::UdpChecksumStatus => int(view.datagram.map(checksum_status)),
            Builtin::UdpStream => int(view.facts.and_then(|facts| facts.stream)),
            Builtin::IpVersion => int(src.map(|end| if end.octets().is_some() { 4 } else { 6 })),
            _ => None,
        }
    }

    fn of_packet(self, view: &View<'_>) -> Option<Datum<'static>> {
        let word = |word: Option<&'static str>| word.map(|word| Datum::Text(Cow::Borrowed(word.as_bytes())));
        match self {
            Builtin::Protocol => word(view.protocol.map(|id| id.info().name)),
            Builtin::Message => word(view.message),
            Builtin::Direction => word(view.direction.map(|direction| direction.name())),
            Builtin::Confidence => view.confidence.map(|level| {
                Datum::Rank(match level {
                    Level::Hint | Level::Low => 0,
                    Level::Medium => 1,
                    Level::High => 2,
                })
            }),
            Builtin::Exchange => int(view.exchange),
            Builtin::Outcome => word(view.outcome.map(|outcome| outcome.name())),
            Builtin::ResponseTime => view.response_time.map(Datum::Nanos),
            Builtin::Retransmission => view.protocol.map(|_| Datum::Bool(view.retransmission)),
            Builtin::Duplicate => view.protocol.map(|_| Datum::Bool(view.duplicate)),
            Builtin::Server => view.server().map(|end| text(end.to_string())),
            Builtin::Client => view.client().map(|end| text(end.to_string())),
            _ => self.said(view),
        }
    }

    /// Facts that a message states about its server, whatever its protocol calls them.
    fn said(self, view: &View<'_>) -> Option<Datum<'static>> {
        let (said, players) = (view.said?, view.said?.places());
        match self {
            Builtin::ServerName => said.server_name?.text().map(text),
            Builtin::Game => said.game?.text().map(text),
            Builtin::Map => said.map?.text().map(text),
            Builtin::Version => match said.version? {
                Version::Text(version) => version.text().map(text),
                Version::Number(version) => int(Some(version)),
            },
            Builtin::Players => int(players.map(|(now, _)| now)),
            Builtin::MaxPlayers => int(players.map(|(_, most)| most)),
            _ => None,
        }
    }
}

fn text(text: impl AsRef<str>) -> Datum<'static> {
    Datum::Text(Cow::Owned(text.as_ref().as_bytes().to_vec()))
}

/// The checksum status as Wireshark numbers it: 0 wrong, 1 right, 2 unknown, 3 absent.
fn checksum_status(d: &Datagram<'_>) -> u8 {
    match d.checksum_holds() {
        _ if d.checksum == 0 => 3,
        Some(false) => 0,
        Some(true) => 1,
        None => 2,
    }
}

fn v4(end: Option<Endpoint>) -> Option<Datum<'static>> {
    end?.octets().map(|octets| Datum::V4(u32::from_be_bytes(octets)))
}

fn v6(end: Option<Endpoint>) -> Option<Datum<'static>> {
    match end?.socket_addr().ip() {
        std::net::IpAddr::V6(address) => Some(Datum::V6(u128::from(address))),
        std::net::IpAddr::V4(_) => None,
    }
}
