//! The names that a filter may use: built-in fields, fields of frames and headers, and declared fields.

use super::kinds::{INT, Kind, UINT, UINT8, UINT16, UINT64, Words};
use crate::decode::{Field, FieldKind, SHARED_FIELDS};
use crate::protocols::Id;
use crate::similar::similar;

/// A built-in field, which no protocol declares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // the table below says what each one is
pub(super) enum Builtin {
    File,
    Frame,
    FrameNumber,
    FrameLen,
    FrameCapLen,
    FrameTime,
    FrameTimeText,
    FrameTimeRelative,
    FrameTimeDelta,
    FrameInterface,
    FrameInterfaceName,
    FrameProtocols,
    FrameComment,
    Eth,
    EthSrc,
    EthDst,
    EthAddr,
    EthType,
    Vlan,
    VlanId,
    Ip,
    IpSrc,
    IpDst,
    IpAddr,
    IpHost,
    IpVersion,
    IpLen,
    IpId,
    IpTtl,
    IpProto,
    V6,
    V6Src,
    V6Dst,
    V6Addr,
    V6Len,
    V6Next,
    V6Hops,
    Udp,
    UdpSrc,
    UdpDst,
    UdpPort,
    UdpLength,
    UdpChecksum,
    UdpChecksumStatus,
    UdpStream,
    UdpPayload,
    Server,
    Client,
    ServerName,
    Game,
    Map,
    Version,
    Players,
    MaxPlayers,
    Protocol,
    Message,
    Direction,
    Confidence,
    Finding,
    Rule,
    Severity,
    Exchange,
    Outcome,
    ResponseTime,
    Retransmission,
    Duplicate,
}

impl Builtin {
    /// Whether exchanges have this field too.
    pub fn is_of_exchanges(self) -> bool {
        use Builtin::*;
        match self {
            Ip | IpSrc | IpDst | IpAddr | IpHost | V6 | V6Src | V6Dst | V6Addr | UdpSrc | UdpDst
            | UdpPort => true,
            Protocol | Confidence | Finding | Rule | Severity | Server | Client => true,
            Exchange | Outcome | ResponseTime | Retransmission => true,
            File | Frame | FrameNumber | FrameLen | FrameCapLen | FrameTime | FrameTimeText => false,
            FrameTimeRelative | FrameTimeDelta | FrameInterface | FrameInterfaceName | FrameProtocols => {
                false
            }
            FrameComment | ServerName | Game | Map | Version | Players | MaxPlayers | IpVersion => false,
            Eth | EthSrc | EthDst | EthAddr | EthType | Vlan | VlanId => false,
            IpLen | IpId | IpTtl | IpProto | V6Len | V6Next | V6Hops => false,
            Udp | UdpLength | UdpChecksum | UdpChecksumStatus | UdpStream | UdpPayload | Message
            | Direction | Duplicate => false,
        }
    }
}

/// The built-in fields with their names and types.
pub(super) const BUILTINS: &[(&str, Kind, Builtin)] = &[
    ("file", Kind::Text, Builtin::File),
    ("frame", Kind::Bytes, Builtin::Frame),
    ("frame.number", UINT64, Builtin::FrameNumber),
    ("frame.len", UINT, Builtin::FrameLen),
    ("frame.cap_len", UINT, Builtin::FrameCapLen),
    ("frame.time_epoch", Kind::Seconds, Builtin::FrameTime),
    ("frame.time", Kind::Stamp, Builtin::FrameTimeText),
    ("frame.time_relative", Kind::Seconds, Builtin::FrameTimeRelative),
    ("frame.time_delta", Kind::Seconds, Builtin::FrameTimeDelta),
    ("frame.interface_id", UINT, Builtin::FrameInterface),
    ("frame.interface_name", Kind::Text, Builtin::FrameInterfaceName),
    ("frame.protocols", Kind::Text, Builtin::FrameProtocols),
    ("frame.comment", Kind::Text, Builtin::FrameComment),
    ("eth", Kind::Presence, Builtin::Eth),
    ("eth.src", Kind::Mac, Builtin::EthSrc),
    ("eth.dst", Kind::Mac, Builtin::EthDst),
    ("eth.addr", Kind::Mac, Builtin::EthAddr),
    ("eth.type", UINT16, Builtin::EthType),
    ("vlan", Kind::Presence, Builtin::Vlan),
    ("vlan.id", UINT16, Builtin::VlanId),
    ("ip", Kind::Presence, Builtin::Ip),
    ("ip.src", Kind::V4, Builtin::IpSrc),
    ("ip.dst", Kind::V4, Builtin::IpDst),
    ("ip.addr", Kind::V4, Builtin::IpAddr),
    ("ip.host", Kind::Text, Builtin::IpHost),
    ("ip.version", UINT8, Builtin::IpVersion),
    ("ip.len", UINT16, Builtin::IpLen),
    ("ip.id", UINT16, Builtin::IpId),
    ("ip.ttl", UINT8, Builtin::IpTtl),
    ("ip.proto", UINT8, Builtin::IpProto),
    ("ipv6", Kind::Presence, Builtin::V6),
    ("ipv6.src", Kind::V6, Builtin::V6Src),
    ("ipv6.dst", Kind::V6, Builtin::V6Dst),
    ("ipv6.addr", Kind::V6, Builtin::V6Addr),
    ("ipv6.plen", UINT16, Builtin::V6Len),
    ("ipv6.nxt", UINT8, Builtin::V6Next),
    ("ipv6.hlim", UINT8, Builtin::V6Hops),
    ("udp", Kind::Bytes, Builtin::Udp),
    ("udp.srcport", UINT16, Builtin::UdpSrc),
    ("udp.dstport", UINT16, Builtin::UdpDst),
    ("udp.port", UINT16, Builtin::UdpPort),
    ("udp.length", UINT16, Builtin::UdpLength),
    ("udp.checksum", UINT16, Builtin::UdpChecksum),
    ("udp.checksum.status", Kind::Int(0, 3), Builtin::UdpChecksumStatus),
    ("udp.stream", UINT, Builtin::UdpStream),
    ("udp.payload", Kind::Bytes, Builtin::UdpPayload),
    ("server", Kind::End, Builtin::Server),
    ("client", Kind::End, Builtin::Client),
    ("server_name", Kind::Text, Builtin::ServerName),
    ("game", Kind::Text, Builtin::Game),
    ("map", Kind::Text, Builtin::Map),
    ("version", Kind::Dynamic, Builtin::Version),
    ("players", UINT, Builtin::Players),
    ("max_players", UINT, Builtin::MaxPlayers),
    ("protocol", Kind::Word(Words::Protocol), Builtin::Protocol),
    ("message", Kind::Word(Words::Message), Builtin::Message),
    ("direction", Kind::Word(Words::Direction), Builtin::Direction),
    ("confidence", Kind::Rank(Words::Confidence), Builtin::Confidence),
    ("finding", Kind::Finding, Builtin::Finding),
    ("rule", Kind::Rule, Builtin::Rule),
    ("severity", Kind::Rank(Words::Severity), Builtin::Severity),
    ("exchange", UINT64, Builtin::Exchange),
    ("exchange.outcome", Kind::Word(Words::Outcome), Builtin::Outcome),
    ("response_time", Kind::Seconds, Builtin::ResponseTime),
    ("retransmission", Kind::Flag, Builtin::Retransmission),
    ("duplicate", Kind::Flag, Builtin::Duplicate),
];

/// Indices in the lists on the path to a field; `None` means any.
pub(super) type Indices = [Option<u16>; 3];

/// The declared fields that one name in a filter stands for: `player_info.records` is the list, each record in it,
/// and every value of the records.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Wanted {
    /// Their protocol.
    pub id: Id,
    /// The declarations.
    pub fields: Vec<&'static Field>,
    /// Indices in the lists on the path.
    pub index: Indices,
}

/// The meaning of a name.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Named {
    Builtin(Builtin),
    Protocol(Id),
    Declared(Wanted),
}

/// Looks a name up.
pub(super) fn lookup(name: &str) -> Option<(Named, Kind)> {
    if let Some(&(_, kind, builtin)) = BUILTINS.iter().find(|(known, ..)| *known == name) {
        return Some((Named::Builtin(builtin), kind));
    }
    if let Some(id) = Id::by_name(name) {
        return Some((Named::Protocol(id), Kind::Bytes));
    }
    let (protocol, path) = name.split_once('.')?;
    let id = Id::by_name(protocol)?;
    let mut index = Indices::default();
    let fields: Vec<_> = declared(id).filter(|field| is_at(field.name, path, &mut index)).collect();
    let kind = kind_of(&fields)?;
    Some((Named::Declared(Wanted { id, fields, index }), kind))
}

/// The fields of a protocol, and the fields that all protocols share.
fn declared(id: Id) -> impl Iterator<Item = &'static Field> {
    id.info().fields.iter().copied().flatten().copied().chain(SHARED_FIELDS.iter().copied())
}

/// Whether a written name (`a.b.c`, `a.b[2].c`) stands for a declared one (`a.b[].c`); sets the indices.
fn is_at(declared: &str, written: &str, index: &mut Indices) -> bool {
    let mut found = Indices::default();
    let mut level = 0usize;
    let (mut parts, mut given) = (declared.split('.'), written.split('.'));
    loop {
        match (parts.next(), given.next()) {
            (None, None) => break,
            (Some(part), Some(written)) => {
                let lists = part.matches("[]").count();
                let mut pieces = written.split('[');
                if pieces.next() != part.split('[').next() {
                    return false;
                }
                for (i, piece) in pieces.enumerate() {
                    let number = piece.strip_suffix(']').and_then(|n| n.parse().ok());
                    let Some(slot) = found.get_mut(level.saturating_add(i)).filter(|_| i < lists) else {
                        return false;
                    };
                    let Some(number) = number else { return false };
                    *slot = Some(number);
                }
                level = level.saturating_add(lists);
            }
            _ => return false,
        }
    }
    *index = found;
    true
}

/// The type of the values of all declarations with one name; `None` where there are no declarations.
fn kind_of(fields: &[&Field]) -> Option<Kind> {
    let mut kinds: Vec<Kind> = fields.iter().map(|field| kind(field.kind)).collect();
    kinds.dedup();
    let values: Vec<Kind> = kinds.iter().copied().filter(|kind| *kind != Kind::Presence).collect();
    match (values.as_slice(), kinds.as_slice()) {
        ([one], _) => Some(*one),
        ([_, ..], _) => Some(Kind::Dynamic),
        ([], [_, ..]) => Some(Kind::Presence),
        ([], []) => None,
    }
}

fn kind(declared: FieldKind) -> Kind {
    match declared {
        FieldKind::Uint => UINT,
        FieldKind::Uint64 => UINT64,
        FieldKind::Int => INT,
        FieldKind::Bool => Kind::Bool,
        FieldKind::Float32 => Kind::Float,
        FieldKind::Text | FieldKind::Names => Kind::Text,
        FieldKind::Named => Kind::Named,
        FieldKind::Bytes => Kind::Bytes,
        FieldKind::Dynamic => Kind::Dynamic,
        FieldKind::Group | FieldKind::List => Kind::Presence,
    }
}

/// Every name that a filter may use, without indices, each once.
pub fn names() -> Vec<String> {
    let builtins = BUILTINS.iter().map(|(name, ..)| *name);
    let mut all: Vec<String> = builtins.map(str::to_owned).collect();
    for &id in Id::ALL {
        let protocol = id.info().name;
        all.push(protocol.to_owned());
        for field in declared(id) {
            let name = format!("{protocol}.{}", field.name.replace("[]", ""));
            if !all.contains(&name) {
                all.push(name);
            }
        }
    }
    all
}

/// The known name that an unknown one was probably meant to be.
pub(super) fn meant(name: &str) -> Option<String> {
    let all = names();
    let plain: String =
        name.split('[').map(|part| part.split_once(']').map_or(part, |(_, rest)| rest)).collect();
    let last = format!(".{}", plain.to_ascii_lowercase());
    let whole = all.iter().find(|known| known.eq_ignore_ascii_case(&plain));
    let shortened = all.iter().find(|known| known.ends_with(&last));
    whole
        .or(shortened)
        .cloned()
        .or_else(|| similar(&plain, all.iter().map(String::as_str)).map(str::to_owned))
}
