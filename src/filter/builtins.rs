//! The built-in fields of frames, headers, messages and exchanges, which no protocol declares.

use super::Needs;
use super::kinds::{Kind, UINT, UINT8, UINT16, UINT64, Words};
use super::value::Datum;
use super::view::{Ip, View};
use crate::decode::{Facts, Value, Version};
use crate::net::{Datagram, Endpoint};
use crate::protocols::Level;
use crate::text::timestamps::stamp;
use std::borrow::Cow;
use std::fmt;
use std::net::IpAddr;

/// A visitor of values; it returns `true` to stop.
pub(super) type Visit<'v> = dyn FnMut(Datum<'_>) -> bool + 'v;

/// A built-in field.
pub(super) struct Builtin {
    pub name: &'static str,
    pub kind: Kind,
    /// The parts of a view that its values need.
    pub needs: Needs,
    values: Values,
}

/// A function that reads the values of a field from a view.
enum Values {
    /// At most one value.
    One(for<'v> fn(&View<'v>) -> Option<Datum<'v>>),
    /// Any number of values, visited as in [`Builtin::each`].
    Several(fn(&View<'_>, &mut Visit<'_>) -> bool),
}

impl fmt::Debug for Builtin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl Builtin {
    /// Visits the values until the visitor returns `true`.
    pub fn each(&self, view: &View<'_>, visit: &mut Visit<'_>) -> bool {
        match self.values {
            Values::One(value) => value(view).is_some_and(visit),
            Values::Several(each) => each(view, visit),
        }
    }
}

const fn one(
    name: &'static str,
    kind: Kind,
    needs: Needs,
    value: for<'v> fn(&View<'v>) -> Option<Datum<'v>>,
) -> Builtin {
    Builtin { name, kind, needs, values: Values::One(value) }
}

const fn several(
    name: &'static str,
    kind: Kind,
    needs: Needs,
    each: fn(&View<'_>, &mut Visit<'_>) -> bool,
) -> Builtin {
    Builtin { name, kind, needs, values: Values::Several(each) }
}

/// Addresses and ports, which datagrams and exchanges have.
const ENDPOINTS: Needs = Needs::NOTHING;
/// Properties of every datagram.
const DATAGRAM: Needs = Needs::DATAGRAM;
const FACTS: Needs = Needs::FACTS.and(DATAGRAM);
const COMMENTS: Needs = Needs::COMMENTS.and(DATAGRAM);
const RAW: Needs = Needs::RAW.and(DATAGRAM);
const UNCLAIMED: Needs = RAW.and(PACKET);
/// Results of the pipeline about a packet or an exchange.
const PACKET: Needs = Needs::PACKET;
const FINDINGS: Needs = Needs::FINDINGS.and(PACKET);
const OUTCOME: Needs = Needs::OUTCOME.and(PACKET);
/// Results that only a packet has.
const MESSAGE: Needs = PACKET.and(DATAGRAM);

/// The built-in fields.
pub(super) static BUILTINS: &[Builtin] = &[
    one("file", Kind::Text, DATAGRAM, |v| v.file.map(text)),
    one("frame", Kind::Bytes, Needs::BYTES.and(RAW), |v| match v.bytes {
        [] => present(v.facts.is_some() || v.datagram.is_some()),
        bytes => Some(Datum::Bytes(Cow::Borrowed(bytes))),
    }),
    one("frame.number", UINT64, DATAGRAM, |v| int(v.facts.map(|f| f.number).or(v.datagram.map(|d| d.frame)))),
    one("frame.len", UINT, FACTS, |v| int(v.facts.map(|f| f.wire_len))),
    one("frame.cap_len", UINT, FACTS, |v| int(v.facts.map(|f| f.cap_len))),
    one("frame.time_epoch", Kind::Seconds, DATAGRAM, |v| v.time()?.nanos().map(Datum::Nanos)),
    one("frame.time", Kind::Stamp, DATAGRAM, |v| {
        Some(stamp(v.time()?)).filter(|stamp| !stamp.is_empty()).map(owned)
    }),
    one("frame.time_utc", Kind::Stamp, DATAGRAM, |v| {
        Some(stamp(v.time()?)).filter(|stamp| !stamp.is_empty()).map(owned)
    }),
    one("frame.time_relative", Kind::Seconds, FACTS, |v| v.time()?.since(v.facts?.first).map(Datum::Nanos)),
    one("frame.time_delta", Kind::Seconds, FACTS, |v| v.time()?.since(v.facts?.before).map(Datum::Nanos)),
    one("frame.interface_id", UINT, FACTS, |v| int(v.facts.map(|f| f.interface))),
    one("frame.interface_name", Kind::Text, FACTS, |v| v.facts?.interface_name.as_deref().map(text)),
    one("frame.protocols", Kind::Text, FACTS.and(MESSAGE), |v| {
        Some(owned(v.facts?.protocols(v.protocol.map(|id| id.info().name))))
    }),
    several("frame.comment", Kind::Text, COMMENTS, |v, visit| {
        v.comments.iter().any(|comment| visit(text(comment)))
    }),
    one("eth", Kind::Presence, FACTS, |v| present(v.facts?.ethernet.is_some())),
    one("eth.src", Kind::Mac, FACTS, |v| mac(v, 1)),
    one("eth.dst", Kind::Mac, FACTS, |v| mac(v, 0)),
    // In the order of the header.
    several("eth.addr", Kind::Mac, FACTS, |v, visit| src_and_dst(v, mac, visit)),
    one("eth.type", UINT16, FACTS, |v| int(v.facts?.ethernet?.kind)),
    one("vlan", Kind::Presence, FACTS, |v| present(!v.facts?.vlans.is_empty())),
    several("vlan.id", UINT16, FACTS, |v, visit| {
        v.facts.is_some_and(|facts| facts.vlans.iter().any(|id| visit(Datum::Int(i128::from(*id)))))
    }),
    one("ip", Kind::Presence, ENDPOINTS, |v| present(v4(v, 0).is_some())),
    one("ip.src", Kind::V4, ENDPOINTS, |v| v4(v, 0)),
    one("ip.dst", Kind::V4, ENDPOINTS, |v| v4(v, 1)),
    several("ip.addr", Kind::V4, ENDPOINTS, |v, visit| src_and_dst(v, v4, visit)),
    several("ip.host", Kind::Text, ENDPOINTS, |v, visit| {
        src_and_dst(v, |v, at| v4(v, at)?.string(&[]).map(owned), visit)
    }),
    one("ip.src_host", Kind::Text, ENDPOINTS, |v| v4(v, 0)?.string(&[]).map(owned)),
    one("ip.dst_host", Kind::Text, ENDPOINTS, |v| v4(v, 1)?.string(&[]).map(owned)),
    one("ip.version", UINT8, DATAGRAM, |v| {
        int(endpoint(v, 0).map(|endpoint| if endpoint.octets().is_some() { 4 } else { 6 }))
    }),
    one("ip.len", UINT16, FACTS, |v| int(header(v, 4).map(|ip| ip.len))),
    one("ip.id", UINT16, FACTS, |v| int(header(v, 4).map(|ip| ip.id))),
    one("ip.ttl", UINT8, FACTS, |v| int(header(v, 4).map(|ip| ip.ttl))),
    one("ip.proto", UINT8, FACTS, |v| int(header(v, 4).map(|ip| ip.proto))),
    one("ipv6", Kind::Presence, ENDPOINTS, |v| present(v6(v, 0).is_some())),
    one("ipv6.src", Kind::V6, ENDPOINTS, |v| v6(v, 0)),
    one("ipv6.dst", Kind::V6, ENDPOINTS, |v| v6(v, 1)),
    several("ipv6.addr", Kind::V6, ENDPOINTS, |v, visit| src_and_dst(v, v6, visit)),
    one("ipv6.plen", UINT16, FACTS, |v| int(header(v, 6).map(|ip| ip.len))),
    one("ipv6.nxt", UINT8, FACTS, |v| int(header(v, 6).map(|ip| ip.proto))),
    one("ipv6.hlim", UINT8, FACTS, |v| int(header(v, 6).map(|ip| ip.ttl))),
    one("udp", Kind::Bytes, RAW, |v| Some(Datum::Bytes(Cow::Owned(v.datagram?.segment())))),
    one("udp.srcport", UINT16, ENDPOINTS, |v| port(v, 0)),
    one("udp.dstport", UINT16, ENDPOINTS, |v| port(v, 1)),
    several("udp.port", UINT16, ENDPOINTS, |v, visit| src_and_dst(v, port, visit)),
    one("udp.length", UINT16, DATAGRAM, |v| {
        Some(Datum::Int((v.datagram?.wire_len() as i128).saturating_add(8)))
    }),
    one("udp.checksum", UINT16, DATAGRAM, |v| int(v.datagram.map(|d| d.checksum))),
    one("udp.checksum.status", Kind::Int(0, 3), DATAGRAM, |v| int(v.datagram.map(checksum_status))),
    one("udp.stream", UINT, FACTS, |v| int(v.facts?.stream.map(|stream| stream.number))),
    one("udp.time_relative", Kind::Seconds, FACTS, |v| {
        v.time()?.since(v.facts?.stream?.first).map(Datum::Nanos)
    }),
    one("udp.time_delta", Kind::Seconds, FACTS, |v| {
        v.time()?.since(v.facts?.stream?.before).map(Datum::Nanos)
    }),
    // A payload without bytes is absent, as in tshark.
    one("udp.payload", Kind::Bytes, RAW, payload),
    // A payload that no protocol claims.
    one("data", Kind::Presence, UNCLAIMED, |v| present(unclaimed(v).is_some())),
    one("data.data", Kind::Bytes, UNCLAIMED, unclaimed),
    one("data.len", UINT16, UNCLAIMED, |v| match unclaimed(v)? {
        Datum::Bytes(bytes) => Some(Datum::Int(bytes.len() as i128)),
        _ => None,
    }),
    one("server", Kind::Endpoint, PACKET, |v| v.roles().map(|[_, server]| owned(server.to_string()))),
    one("client", Kind::Endpoint, PACKET, |v| v.roles().map(|[client, _]| owned(client.to_string()))),
    // Facts that a message states about its server, under names common to all protocols.
    one("server_name", Kind::Text, MESSAGE, |v| server_text(v, |facts| facts.server_name)),
    one("game", Kind::Text, MESSAGE, |v| server_text(v, |facts| facts.game)),
    one("map", Kind::Text, MESSAGE, |v| server_text(v, |facts| facts.map)),
    one("version", Kind::Dynamic, MESSAGE, |v| match v.server_facts?.version? {
        Version::Text(version) => version.text().map(|text| owned(text.into_owned())),
        Version::Number(version) => int(Some(version)),
    }),
    one("players", UINT, MESSAGE, |v| int(v.server_facts?.player_counts().map(|(now, _)| now))),
    one("max_players", UINT, MESSAGE, |v| int(v.server_facts?.player_counts().map(|(_, most)| most))),
    one("protocol", Kind::Word(Words::Protocols), PACKET, |v| v.protocol.map(|id| text(id.info().name))),
    one("message", Kind::Word(Words::Messages), MESSAGE, |v| v.message.map(text)),
    one("direction", Kind::Word(Words::Directions), MESSAGE, |v| {
        v.direction.map(|direction| text(direction.name()))
    }),
    one("confidence", Kind::Rank(Words::Confidence), PACKET, |v| {
        Some(Datum::Rank(match v.confidence? {
            Level::Hint | Level::Low => 0,
            Level::Medium => 1,
            Level::High => 2,
        }))
    }),
    several("finding", Kind::Finding, FINDINGS, |v, visit| {
        v.new_findings().any(|f| visit(Datum::Finding(f.rule.id)))
    }),
    several("rule", Kind::Rule, FINDINGS, |v, visit| v.new_findings().any(|f| visit(text(f.rule.id)))),
    several("severity", Kind::Rank(Words::Severities), FINDINGS, |v, visit| {
        v.new_findings().any(|f| visit(Datum::Rank(f.severity as u8)))
    }),
    one("exchange", UINT64, PACKET, |v| int(v.exchange)),
    one("exchange.outcome", Kind::Word(Words::Outcomes), OUTCOME, |v| {
        v.outcome.map(|outcome| text(outcome.name()))
    }),
    // Of closed exchanges, as their records have them.
    one("exchange.step", Kind::Text, OUTCOME, |v| v.closed.map(|e| text(e.step_name()))),
    one("exchange.key", Kind::Text, OUTCOME, |v| v.closed?.key_text().map(owned)),
    one("exchange.answer", Kind::Text, OUTCOME, |v| {
        let e = v.closed?;
        e.answer_name(e.protocol.info().has_several_answers(e.step)).map(text)
    }),
    one("exchange.reason", Kind::Text, OUTCOME, |v| v.closed?.reason.map(text)),
    one("exchange.request_time", Kind::Stamp, OUTCOME, |v| {
        Some(stamp(v.closed?.request_time)).filter(|stamp| !stamp.is_empty()).map(owned)
    }),
    one("exchange.request_bytes", UINT64, OUTCOME, |v| int(v.closed.map(|e| e.request_bytes))),
    one("exchange.response_bytes", UINT64, OUTCOME, |v| int(v.closed.map(|e| e.response_bytes))),
    one("exchange.retransmissions", UINT, OUTCOME, |v| int(v.closed.map(|e| e.retransmissions))),
    one("response_time", Kind::Seconds, PACKET, |v| v.response_time.map(Datum::Nanos)),
    one("retransmission", Kind::Flag, PACKET, |v| v.protocol.map(|_| Datum::Bool(v.retransmission))),
    one("duplicate", Kind::Flag, MESSAGE, |v| v.protocol.map(|_| Datum::Bool(v.duplicate))),
];

/// An integer value, if present.
fn int(value: Option<impl Into<i128>>) -> Option<Datum<'static>> {
    value.map(|v| Datum::Int(v.into()))
}

fn text(text: &str) -> Datum<'_> {
    Datum::Text(Cow::Borrowed(text.as_bytes()))
}

fn owned(text: String) -> Datum<'static> {
    Datum::Text(Cow::Owned(text.into_bytes()))
}

fn present(is_present: bool) -> Option<Datum<'static>> {
    is_present.then_some(Datum::Present)
}

/// Visits the values of a field that both source and destination have.
fn src_and_dst(
    view: &View<'_>,
    value: fn(&View<'_>, usize) -> Option<Datum<'static>>,
    visit: &mut Visit<'_>,
) -> bool {
    [0, 1].iter().any(|at| value(view, *at).is_some_and(&mut *visit))
}

/// The destination (0) or the source (1) of the Ethernet header.
fn mac(view: &View<'_>, at: usize) -> Option<Datum<'static>> {
    let ethernet = view.facts?.ethernet?;
    let address = if at == 0 { ethernet.dst } else { ethernet.src };
    Some(Datum::Bytes(Cow::Owned(address.to_vec())))
}

/// The source (0) or the destination (1).
fn endpoint(view: &View<'_>, at: usize) -> Option<Endpoint> {
    view.endpoints?.get(at).copied()
}

fn port(view: &View<'_>, at: usize) -> Option<Datum<'static>> {
    int(endpoint(view, at).map(Endpoint::port))
}

fn v4(view: &View<'_>, at: usize) -> Option<Datum<'static>> {
    endpoint(view, at).map(Endpoint::ip).filter(IpAddr::is_ipv4).map(Datum::Ip)
}

fn v6(view: &View<'_>, at: usize) -> Option<Datum<'static>> {
    endpoint(view, at).map(Endpoint::ip).filter(IpAddr::is_ipv6).map(Datum::Ip)
}

fn payload<'v>(view: &View<'v>) -> Option<Datum<'v>> {
    let payload = view.datagram?.payload;
    (!payload.is_empty()).then_some(Datum::Bytes(Cow::Borrowed(payload)))
}

fn unclaimed<'v>(view: &View<'v>) -> Option<Datum<'v>> {
    if view.protocol.is_some() { None } else { payload(view) }
}

/// The IP header, if it is of this version.
fn header(view: &View<'_>, version: u8) -> Option<Ip> {
    view.facts?.ip.filter(|ip| ip.version == version)
}

fn server_text<'v>(view: &View<'v>, fact: fn(&Facts<'v>) -> Option<Value<'v>>) -> Option<Datum<'v>> {
    fact(view.server_facts?)?.text().map(|text| owned(text.into_owned()))
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
