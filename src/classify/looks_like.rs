//! Guesses the protocol of a datagram that no protocol claims. The guess is a name for people to read, and never a
//! claim.
//!
//! Each signature checks a few fixed bytes and lengths; the first signature that fits gives the name, and where none does,
//! the forms of the protocols' messages. The strongest
//! signatures come first, and signatures of a few bits last; where only a few bits are fixed, a known port must match,
//! too.

use crate::contract::Level;
use crate::protocols::Id;
use crate::protocols::candidates::resembled;
use crate::protocols::raknet::MAGIC;

/// A name, and whether a datagram fits it.
type Signature = (&'static str, fn(&Payload<'_>) -> bool);

/// All signatures, in the order in which they are tried.
const SIGNATURES: [Signature; 23] = [
    ("ssdp", |d| d.is_ssdp()),
    ("stun", |d| d.is_stun()),
    ("dhcp", |d| d.has(236, b"\x63\x82\x53\x63") && matches!(d.byte(0), 1 | 2)),
    ("source", |d| d.is_source()),
    ("steam", |d| d.has(0, b"\xff\xff\xff\xff\x21\x4c\x5f\xa0") || d.has(0, b"VS01")),
    ("quake", |d| d.is_quake()),
    ("samp", |d| d.has(0, b"SAMP") && d.len() >= 11),
    ("ase", |d| d.has(0, b"EYE") && d.is_kind(3, b'1'..=b'3') || d.payload == b"s"),
    ("minecraft", |d| d.is_minecraft()),
    ("raknet", |d| d.is_raknet()),
    ("gamespy", |d| d.is_gamespy()),
    ("unreal2", |d| matches!(d.byte(0), 0x78 | 0x79 | 0x80) && d.has(1, &[0; 3]) && d.is_kind(4, 0..=3)),
    ("teamspeak", |d| d.has(0, b"TS3INIT1") || d.has(0, b"\xf4\xbe\x03\x00")),
    ("wireguard", |d| d.is_wireguard()),
    ("dtls", |d| d.is_dtls()),
    ("quic", |d| d.is_quic()),
    ("mdns", |d| d.port(5353) && !d.port(53) && d.is_dns()),
    ("dns", |d| d.is_dns()),
    ("ntp", |d| d.is_ntp()),
    ("mumble", |d| d.port(64738) && matches!(d.len(), 12 | 24)),
    ("openvpn", |d| d.is_openvpn()),
    ("rtcp", |d| d.is_rtcp()),
    ("rtp", |d| d.is_rtp()),
];

/// The name of the protocol that a payload between two ports looks like, if any signature fits.
pub fn looks_like(payload: &[u8], ports: [u16; 2]) -> Option<&'static str> {
    let payload = Payload { payload, ports };
    let signature = SIGNATURES.iter().find(|(_, fits)| fits(&payload)).map(|(name, _)| *name);
    signature.or_else(|| resembled(payload.payload, Level::Medium, None).next().map(name_of))
}

/// The name for datagrams that have the form of a protocol's messages.
fn name_of(id: Id) -> &'static str {
    match id {
        Id::A2s => "source",
        Id::Quake3 => "quake",
        Id::Gamespy1 | Id::Gamespy2 | Id::Gamespy3 => "gamespy",
        Id::Teamspeak3 => "teamspeak",
        other => other.info().name,
    }
}

/// All names that [`looks_like`] can give.
pub fn names() -> impl Iterator<Item = &'static str> {
    let signatures = SIGNATURES.iter().map(|(name, _)| *name);
    let has_signature = |name: &&'static str| SIGNATURES.iter().any(|(signature, _)| signature == name);
    signatures.chain(Id::ALL.iter().map(|id| name_of(*id)).filter(move |name| !has_signature(name)))
}

/// The payload and the ports that signatures check.
struct Payload<'a> {
    payload: &'a [u8],
    ports: [u16; 2],
}

impl Payload<'_> {
    fn len(&self) -> usize {
        self.payload.len()
    }

    /// The byte at an offset; 0 beyond the end.
    fn byte(&self, at: usize) -> u8 {
        self.payload.get(at).copied().unwrap_or(0)
    }

    /// Whether there is a byte at an offset, and it is one of these.
    fn is_kind(&self, at: usize, kinds: std::ops::RangeInclusive<u8>) -> bool {
        self.payload.get(at).is_some_and(|b| kinds.contains(b))
    }

    /// A big-endian number of 16 bits.
    fn short(&self, at: usize) -> usize {
        usize::from(self.byte(at)) << 8 | usize::from(self.byte(at + 1))
    }

    fn has(&self, at: usize, bytes: &[u8]) -> bool {
        self.payload.get(at..).is_some_and(|rest| rest.starts_with(bytes))
    }

    fn port(&self, port: u16) -> bool {
        self.ports.contains(&port)
    }

    /// UPnP's discovery: HTTP over UDP.
    fn is_ssdp(&self) -> bool {
        let answer = self.has(0, b"HTTP/1.1 ") && self.port(1900);
        answer || self.has(0, b"M-SEARCH * HTTP/1.") || self.has(0, b"NOTIFY * HTTP/1.")
    }

    /// STUN (RFC 8489): the magic cookie, and a length that matches.
    fn is_stun(&self) -> bool {
        self.byte(0) < 0x40 && self.has(4, b"\x21\x12\xa4\x42") && self.short(2) + 20 == self.len()
    }

    /// Valve's server queries and its master servers' answers: all that begins as they do and is not Quake's.
    fn is_source(&self) -> bool {
        let is_connectionless = self.has(0, b"\xff\xff\xff\xff") && self.byte(4).is_ascii_alphabetic();
        (is_connectionless || self.has(0, b"\xfe\xff\xff\xff")) && !self.is_quake()
    }

    /// Quake II and later: the messages of its queries, and others that begin with a word. Quake: packets of its control
    /// protocol.
    fn is_quake(&self) -> bool {
        const WORDS: [&[u8]; 6] =
            [b"getservers", b"getchallenge", b"challengeResponse", b"connect ", b"print\n", b"disconnect"];
        let words = self.has(0, b"\xff\xff\xff\xff") && WORDS.iter().any(|word| self.has(4, word));
        let control =
            self.byte(0) == 0x80 && self.byte(1) == 0 && self.short(2) == self.len() && self.len() > 4;
        let queries = self.byte(0) == 0xff && Id::Quake3.resembles(self.payload) >= Some(Level::Medium);
        queries || words || control && (self.has(5, b"QUAKE\0") || self.is_kind(4, 0x81..=0x85))
    }

    /// The pong of the Bedrock edition, or any RakNet message on its ports; the query protocol of the Java edition on
    /// its port.
    fn is_minecraft(&self) -> bool {
        let bedrock = self.is_raknet() && (self.has(35, b"MCPE;") || self.port(19132) || self.port(19133));
        bedrock || self.port(25565) && self.has(0, b"\xfe\xfd") && matches!(self.byte(2), 0 | 9)
    }

    /// RakNet: messages outside a connection, which contain its magic bytes.
    fn is_raknet(&self) -> bool {
        let start = self.payload.get(..self.len().min(40)).unwrap_or_default();
        matches!(self.byte(0), 0x01..=0x1c) && start.windows(MAGIC.len()).any(|window| window == MAGIC)
    }

    /// The first GameSpy protocol (`\status\`), and the header of the later ones.
    fn is_gamespy(&self) -> bool {
        let rest = self.payload.get(1..).unwrap_or_default();
        let word = rest.iter().position(|b| *b == b'\\').unwrap_or(0);
        let text = self.byte(0) == b'\\'
            && rest.iter().take(word).all(u8::is_ascii_lowercase)
            && (2..32).contains(&word);
        text || self.has(0, b"\xfe\xfd") && matches!(self.byte(2), 0 | 1 | 2 | 9) && self.len() >= 7
    }

    fn is_wireguard(&self) -> bool {
        let length = match self.byte(0) {
            1 => self.len() == 148,
            2 => self.len() == 92,
            3 => self.len() == 64,
            4 => self.len() >= 32 && self.len().is_multiple_of(16),
            _ => false,
        };
        length && self.has(1, &[0; 3])
    }

    /// A record of DTLS 1.0 to 1.2; the handshake of DTLS 1.3 gives version 1.2.
    fn is_dtls(&self) -> bool {
        let version = self.has(1, b"\xfe\xff") || self.has(1, b"\xfe\xfd");
        self.is_kind(0, 20..=25) && version && self.len() > 13 && self.short(11) + 13 <= self.len()
    }

    /// QUIC: a long header with a version that exists, and two connection IDs that fit.
    fn is_quic(&self) -> bool {
        let version = self.payload.get(1..5).unwrap_or_default();
        let known = matches!(
            version,
            [0, 0, 0, 0 | 1] | [0x6b, 0x33, 0x43, 0xcf] | [0xff, 0, 0, _] | [b'Q', b'0', ..]
        );
        let negotiates = version == [0; 4];
        let first = usize::from(self.byte(5));
        let second = usize::from(self.byte(6 + first));
        let fits = first <= 20 && second <= 20 && 7 + first + second < self.len();
        let enough = self.len() >= if negotiates { 15 } else { 64 };
        (self.byte(0) & 0xc0 == 0xc0 || negotiates && self.byte(0) >= 0x80) && known && fits && enough
    }

    /// DNS: a header without contradictions, then a question or a record that begins with a name, a type and a class.
    fn is_dns(&self) -> bool {
        let counts = [4, 6, 8, 10].map(|at| self.short(at));
        let opcode = self.byte(2) >> 3 & 15;
        let any: usize = counts.iter().sum();
        if self.len() < 17 || opcode > 6 || self.byte(3) & 0x40 != 0 || any == 0 || any > 256 {
            return false;
        }
        let mut at = 12;
        loop {
            match self.payload.get(at).copied() {
                Some(0) => break at += 1,
                Some(n @ 1..=63) => at += 1 + usize::from(n),
                Some(0xc0..) => break at += 2,
                _ => return false,
            }
        }
        let (kind, class) = (self.short(at), self.short(at + 2) & 0x7fff);
        // Type 41 (EDNS) has a size in the place of the class.
        at + 4 <= self.len() && (kind == 41 || kind > 0 && matches!(class, 1 | 3 | 4 | 254 | 255))
    }

    /// NTP: fields in their ranges, and either its port, or the length that most packets have and narrower ranges.
    fn is_ntp(&self) -> bool {
        let (version, mode) = (self.byte(0) >> 3 & 7, self.byte(0) & 7);
        let fields = (1..=4).contains(&version) && (1..=5).contains(&mode) && self.byte(1) <= 16;
        let exact =
            self.len() == 48 && version >= 3 && mode >= 3 && self.byte(2) <= 17 && self.byte(3) >= 0xc0;
        self.len() >= 48 && fields && (self.port(123) || exact)
    }

    /// OpenVPN: a hard reset with a session ID and nothing acknowledged; on its port, anything with an opcode that
    /// exists.
    fn is_openvpn(&self) -> bool {
        let reset = matches!(self.byte(0), 0x38 | 0x40 | 0x50);
        let begins = self.len() == 14 && self.has(9, &[0; 5]);
        let opcode = matches!(self.byte(0) >> 3, 1..=11);
        reset && begins || self.port(1194) && opcode && self.len() >= 14
    }

    fn is_rtcp(&self) -> bool {
        let words = 4 * (self.short(2) + 1);
        self.byte(0) >> 6 == 2 && self.is_kind(1, 200..=207) && words >= 8 && words <= self.len()
    }

    /// RTP: version 2 without padding and contributing sources, a payload type that is in use, a source that is not 0,
    /// and no port below 1024. This is the weakest of all signatures.
    fn is_rtp(&self) -> bool {
        let kind = matches!(self.byte(1) & 0x7f, 0..=18 | 25..=34 | 96..=127);
        let registered = self.ports.iter().all(|port| *port >= 1024);
        self.byte(0) & 0xef == 0x80 && kind && self.len() > 12 && !self.has(8, &[0; 4]) && registered
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::hex;

    const PORTS: [u16; 2] = [40_000, 7_777];

    fn name(bytes: &str, ports: [u16; 2]) -> Option<&'static str> {
        looks_like(&hex(bytes), ports)
    }

    #[test]
    fn names_known_messages() {
        let text = |text: &str| looks_like(text.as_bytes(), PORTS);
        assert_eq!(text("M-SEARCH * HTTP/1.1\r\nHOST: 239.255.255.250:1900\r\n"), Some("ssdp"));
        assert_eq!(text("SAMP....pp1......"), Some("samp"));
        assert_eq!(text("\\status\\"), Some("gamespy"));
        assert_eq!(text("TS3INIT1\0e"), Some("teamspeak"));
        assert_eq!(text("EYE1\u{4}mta"), Some("ase"));
        let dns = "1a2b 0100 0001 0000 0000 0000 07 6578616d706c65 03 636f6d 00 0001 0001";
        assert_eq!(name(dns, PORTS), Some("dns"));
        assert_eq!([name(dns, [5353, 5353]), name(dns, [5353, 53])], [Some("mdns"), Some("dns")]);
        for (bytes, expected) in [
            ("ffffffff 54 536f7572636520456e67696e6520517565727900", "source"),
            ("ffffffff 41 11223344", "source"),
            ("ffffffff 676574737461747573", "quake"),
            ("ffffffff 214c5fa0 01000000", "steam"),
            ("8000 000c 02 5155414b4500 03", "quake"),
            ("01 0000000000000001 00ffff00fefefefefdfdfdfd12345678 0000000000000002", "raknet"),
            (
                "1c 0000000000000001 0000000000000002 00ffff00fefefefefdfdfdfd12345678 0005 4d4350453b",
                "minecraft",
            ),
            ("fefd 09 00000001", "gamespy"),
            ("7900000000", "unreal2"),
            ("0001 0000 2112a442 000102030405060708090a0b", "stun"),
            ("16 feff 0000 000000000000 0002 0100", "dtls"),
            ("38 0102030405060708 00 00000000", "openvpn"),
            ("80c9 0001 11223344", "rtcp"),
            ("8060 0001 00000001 11223344 55", "rtp"),
        ] {
            assert_eq!(name(bytes, PORTS), Some(expected), "{bytes}");
        }
        let long = |head: &str, len: usize| {
            let mut bytes = hex(head);
            bytes.resize(len, 0x5a);
            bytes
        };
        for (head, len, expected) in [
            ("01000000", 148, "wireguard"),
            ("c0 00000001 08 0102030405060708 00", 1200, "quic"),
            ("23 02 06 ec", 48, "ntp"),
        ] {
            assert_eq!(looks_like(&long(head, len), PORTS), Some(expected));
        }
        let mut dhcp = vec![1; 300];
        dhcp[236..240].copy_from_slice(&hex("63825363"));
        assert_eq!(looks_like(&dhcp, [68, 67]), Some("dhcp"));
        assert_eq!(name("fefd 09 00000001", [40_000, 25_565]), Some("minecraft"));
        assert_eq!(name("00000000 0102030405060708", [40_000, 64_738]), Some("mumble"));
    }

    #[test]
    fn gives_no_name_without_a_signature() {
        for bytes in ["", "00", "ff", "00000000000000", "ffffffff", "c0", "1a2b0100", "48656c6c6f"] {
            assert_eq!(name(bytes, PORTS), None, "{bytes}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_have_a_listed_name_or_none(bytes in proptest::collection::vec(0u8.., 0..80)) {
            proptest::prop_assert!(looks_like(&bytes, PORTS).is_none_or(|name| names().any(|listed| listed == name)));
        }
    }
}
