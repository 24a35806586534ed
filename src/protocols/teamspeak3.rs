//! The beginning of TeamSpeak 3's voice connection. Its messages are named but not paired. Big-endian throughout.
//!
//! ```text
//! client    'TS3INIT1' │ packet_id u16 │ client_id u16 │ packet_type u8 │ client_version u32 │ step u8 │ step data
//! server    'TS3INIT1' │ packet_id u16 │ packet_type u8 │ step u8 │ step data
//! ```
//!
//! Oddities: only the position of the packet type 88 tells the direction of a datagram. After the handshake everything is
//! encrypted. The server's query uses TCP.

use super::prelude::*;
use crate::net::Endpoint;

const MAGIC: &[u8] = b"TS3INIT1";
/// Packet type of the unencrypted handshake, and its offsets.
const INIT: &[u8] = &[0x88];
/// The same type without the flag for unencrypted packets: some clients leave it out, and servers do not require it.
const BARE_INIT: &[u8] = &[0x08];
const SERVER_TYPE_AT: usize = 10;
const CLIENT_TYPE_AT: usize = 12;
/// The packet id in all messages of the handshake.
const PACKET_ID: u16 = 101;
/// Maximum number of clients whose first step is remembered.
const MAX_CLIENTS: usize = 4096;

const SPEC: &str = "https://github.com/ReSpeak/tsdeclarations";
const fn handshake(section: &'static str) -> Cite {
    Cite { doc: "ReSpeak, ts3protocol.md", section, url: SPEC }
}

const BEGIN: rule::Step = C("'TS3INIT1' 0065 0000 88 0dd05766 00 5f5916e0 ade76b61 0000000000000000");
const COOKIE: rule::Step = S("'TS3INIT1' 0065 88 01 000102030405060708090a0b0c0d0e0f 10111213");

fields! {
    /// Eight letters that mark the handshake.
    INIT_MAGIC = "magic": Text public;
    /// Number of the packet: 101 throughout the handshake.
    PACKET_NUMBER = "packet_id": Uint;
    /// Number of the client, 0 as long as it has none.
    CLIENT_ID = "client_id": Uint;
    /// Kind of the packet and its flags: 136, handshake and not encrypted, or 8, without that flag.
    PACKET_TYPE = "packet_type": Uint;
    /// Time when the client was built, in seconds since 2010.
    CLIENT_VERSION = "client_version": Uint;
    /// Step of the handshake: 0, 2 and 4 from the client, 1, 3 and 127 from the server.
    STEP = "step": Uint;
    /// Random numbers, cookies and the puzzle of the step.
    STEP_DATA = "step_data": Bytes volatile;
}

rules! {
    /// The step stands at the end of the header: 18 bytes from the client, 12 from the server.
    INI_001 = "TS3-INI-001" Error "handshake ends before its step" {
        cite: handshake("2, Low-level initiation"),
        examples: [Example::of(&[BEGIN, COOKIE, C("'TS3INIT1' 0065 0000 88 0d")])],
    }
    /// All known clients and servers send 101, and nobody counts it.
    INI_002 = "TS3-INI-002" Note "packet id of the handshake is not 101" {
        cite: handshake("2.1, Packet 0"),
        examples: [Example::of(&[
            C("'TS3INIT1' 0066 0000 88 0dd05766 00 5f5916e0 ade76b61 0000000000000000"),
        ])],
    }
}

rules! {
    list EXCHANGE_RULES;
    /// The first step is padded to 34 bytes so that its answer of 32 is shorter: nothing proves the client's address by then.
    SEC_001 = "TS3-SEC-001" Warning "answer to the first step is longer than that" {
        cite: handshake("2.2, Packet 1"),
        examples: [Example::of(&[
            BEGIN,
            S("'TS3INIT1' 0065 88 01 000102030405060708090a0b0c0d0e0f 10111213 00*40"),
        ])],
    }
}

static ENDS: Ends = Ends::new(&INI_001, &INI_001, &STEP_DATA);

messages! {
    // The answer comes first: a request has only zeros before its type, but an answer may have anything at the offset of a
    // request's type.
    RESPONSE = Message::label("init_response", Direction::S2c, &[Form::of(MAGIC).and(SERVER_TYPE_AT, INIT)]);
    INIT_REQUEST = Message::label("init_request", Direction::C2s, &[
        Form::of(MAGIC).and(CLIENT_TYPE_AT, INIT),
        Form::of(MAGIC).and(CLIENT_TYPE_AT, BARE_INIT),
    ]);
    UNKNOWN = Message::named("unknown").formed(&[Form::of(MAGIC)]);
}

/// TeamSpeak 3's handshake.
#[derive(Debug)]
pub struct Teamspeak3;

impl Protocol for Teamspeak3 {
    /// The length of the first step of clients, in bytes.
    type Memory = Bounded<(Endpoint, Endpoint), usize, MAX_CLIENTS>;

    const INFO: Info = Info {
        known_as: &[("teamspeak", 0), ("ts3", 0)],
        ports: &[9987],
        messages: MESSAGES,
        steps: &[StepInfo::ordered("init", StepRules::NONE)],
        fields: &[FIELDS],
        rules: &[RULES],
        exchange_rules: EXCHANGE_RULES,
        samples: &[Example::of(&[
            BEGIN,
            COOKIE,
            C("'TS3INIT1' 0065 0000 88 0dd05766 02 000102030405060708090a0b0c0d0e0f 10111213"),
            S("'TS3INIT1' 0065 88 03 01*64 02*64 00002710 03*100"),
        ])],
        ..Info::of("teamspeak3", "TeamSpeak 3 handshake", SPEC, &ENDS)
    };

    fn decode<S: FieldSink>(c: &mut Cursor<'_, '_, S>, cx: Context) -> Result<(), Fault> {
        c.field(&INIT_MAGIC, text(MAGIC.len()))?;
        let id = c.field(&PACKET_NUMBER, be_u16)?;
        c.compare(&INI_002, || id == PACKET_ID, || Compared::new(id, PACKET_ID));
        let answers = cx.message == RESPONSE || cx.message == UNKNOWN && cx.direction == Direction::S2c;
        if !answers {
            c.field(&CLIENT_ID, be_u16)?;
        }
        c.field(&PACKET_TYPE, byte)?;
        if !answers {
            c.field(&CLIENT_VERSION, be_u32)?;
        }
        c.field(&STEP, byte)?;
        c.ignored(&STEP_DATA)
    }

    fn observe(first_steps: &mut Self::Memory, seen: &Observation<'_>, raised: &mut Raised) {
        let (ends, d) = ((seen.client, seen.server), seen.datagram);
        match (seen.probe.message, step(d.payload, seen.probe.message)) {
            (RESPONSE, Some(1)) => {
                if let Some(asked) = first_steps.get(&ends).filter(|asked| d.wire_len() > **asked) {
                    let values = Compared::new(d.wire_len(), ComparedValue::AtMost(*asked as i64));
                    raised.add_values(&SEC_001, None, values);
                }
            }
            (message, Some(0)) if message != RESPONSE => {
                first_steps.insert(ends, d.wire_len());
            }
            _ => {}
        }
    }
}

/// The step of a message. It follows the type, and in a request also the version.
fn step(p: &[u8], message: u8) -> Option<u8> {
    let at =
        if message == RESPONSE { SERVER_TYPE_AT.saturating_add(1) } else { CLIENT_TYPE_AT.saturating_add(5) };
    p.get(at).copied()
}
