//! Challenge and query packets up to the chunks, and the rules about them.

use super::chunks;
use super::exchange::TXN_010;
use super::samples::*;
use super::{CHALLENGE_REQUEST, CHALLENGE_RESPONSE, QUERY_REQUEST, QUERY_RESPONSE};
use crate::decode::wire::*;
use crate::decode::{Cursor, Ends, Fault, FieldSink, Labels, Span, fields};
use crate::protocols::Context;
use crate::rule::{Cite, Example, Step::*, rules};

/// Names of the bits of RequestedChunks, lowest first.
pub(super) static CHUNK_NAMES: &[&str] =
    &["server_info", "server_rules", "player_info", "team_info", "metrics", "bit_5", "bit_6", "bit_7"];

/// The largest answer that the known clients read, in bytes of UDP payload.
const CLIENT_BUFFER: usize = 1472;

fields! {
    /// Packet type: 0 challenge, 1 query, in both directions.
    TYPE = "type": Uint, Labels::FromZero(&["challenge", "query"]);
    /// Challenge token: 0 in a challenge request, the server's random number afterwards.
    TOKEN = "token": Uint;
    /// Version of the protocol: 0, 1 or 2.
    VERSION = "version": Uint;
    /// Chunks asked for: bit 0 ServerInfo, 1 ServerRules, 2 PlayerInfo, 3 TeamInfo, 4 Metrics.
    REQUESTED_CHUNKS = "requested_chunks": Uint, Labels::Bits(CHUNK_NAMES);
    /// The same by name.
    REQUESTED_CHUNK_NAMES = "requested_chunk_names": Names;
    /// Number of this packet; splitting is not supported, so 0.
    CURRENT_PACKET = "current_packet": Uint;
    /// Number of the last packet, 0.
    LAST_PACKET = "last_packet": Uint;
    /// Bytes after this field.
    PACKET_LENGTH = "packet_length": Uint;
    /// Body of a packet that cannot be read by itself: a later part of a split answer, or chunks
    /// whose request is unknown.
    PACKET_PAYLOAD = "packet_payload": Bytes;
    /// Bytes behind the last chunk, inside the packet length.
    PACKET_SURPLUS = "packet_surplus": Bytes;
    /// Bytes behind the end of the message.
    SURPLUS = "surplus": Bytes;
    /// Body of a packet of unknown type.
    PAYLOAD = "payload": Bytes;
}

rules! {
    /// Every packet starts with the type and the challenge token, five bytes. The Unreal SDK drops anything
    /// shorter; Go servers pad their receive buffer with zeros and answer it all the same.
    HDR_001 = "SQP-HDR-001" Error "datagram is shorter than the 5-byte header" {
        cite: unity("Headers"),
        examples: [
            Example::of(&[H1, H2, C("00 000000")]),
            Example::of(&[H1, H2, C("01")]),
        ],
    }
    /// Only challenge (0) and query (1) packets exist. It is said only in a conversation that is known to
    /// be SQP.
    HDR_002 = "SQP-HDR-002" Error "packet type is neither 0 nor 1" {
        cite: unity("Packet types"),
        examples: [Example::of(&[H1, H2, C("0200000000")])],
    }
    /// The published sample is five zero bytes, the text is silent. Go servers answer nothing else; the
    /// Unreal SDK, USQP and FPSSample ignore the token.
    REQ_001 = "SQP-REQ-001" Warning "challenge request carries a token" {
        cite: unity("Challenge packets"),
        examples: [Example::of(&[C("00 12345678"), H2, QI])],
    }
    /// A challenge packet is a header without payload. All known servers ignore the excess.
    REQ_002 = "SQP-REQ-002" Warning "challenge request is longer than 5 bytes" {
        cite: unity("Challenge packets"),
        examples: [Example::of(&[C("00 00000000 00"), H2, QI])],
    }
    /// The request ends inside its version or before the byte that names the chunks. Go servers read it
    /// with zeros behind it, so it may even be answered, with nothing in it.
    REQ_003 = "SQP-REQ-003" Error "query request is shorter than 8 bytes" {
        cite: unity("Query packets, request format"),
        examples: [
            Example::of(&[H1, H2, C("01 80902348")]),
            Example::of(&[H1, H2, C("01 80902348 00")]),
            Example::of(&[H1, H2, C("01 80902348 0001")]),
        ],
    }
    /// The usual cause is a version written with 32 bits, as the PHP client of Clansuite does.
    REQ_004 = "SQP-REQ-004" Warning "query request is longer than 8 bytes" {
        cite: unity("Query packets, request format"),
        examples: [Example::of(&[H1, H2, C("01 80902348 0001 01 ff")])],
    }
    /// The sample server of go-svrquery takes only 1, the game server hosting SDK refuses more than 2; the
    /// Unreal SDK echoes anything.
    REQ_005 = "SQP-REQ-005" Error "request version is above 2" {
        cite: go_svrquery("lib/svrsample"),
        examples: [Example::of(&[H1, H2, C("01 80902348 0003 01")])],
    }
    /// The value is 0x0100 or 0x0200: a 1 or 2 with its bytes swapped. All numbers are big-endian.
    REQ_006 = "SQP-REQ-006" Error "request version is written little-endian" {
        cite: unity("Data types"),
        examples: [Example::of(&[H1, H2, C("01 80902348 0100 01")])],
    }
    /// No document names version 0, but the clients of FPSSample and USQP never set the field. The sample
    /// server of go-svrquery refuses it.
    REQ_007 = "SQP-REQ-007" Note "request version is 0" {
        cite: USQP,
        per_server: true,
        strict: Warning,
        examples: [Example::of(&[H1, H2, C("01 80902348 0000 01")])],
    }
    /// Go servers reply with an empty body, USQP and FPSSample stay silent.
    REQ_008 = "SQP-REQ-008" Warning "request asks for no chunk" {
        cite: unity("Chunk types"),
        examples: [Example::of(&[H1, H2, C("01 80902348 0001 00")])],
    }
    /// Bits 5 to 7 name no chunk in any document or implementation.
    REQ_009 = "SQP-REQ-009" Warning "request asks for undefined chunks" {
        cite: unity("Chunk types"),
        examples: [Example::of(&[H1, H2, C("01 80902348 0001 21")])],
    }
    /// Only ServerInfo must be answered. A server may leave the others out, and most do.
    REQ_010 = "SQP-REQ-010" Note "request asks for optional chunks" {
        cite: unity("Chunk types"),
        per_server: true,
        examples: [Example::of(&[H1, H2, C("01 80902348 0001 02")])],
    }
    /// The document allows it, but chunks in the answer carry no tag, and USQP, FPSSample and the C#
    /// toolkit compare the byte for equality and stay silent.
    REQ_011 = "SQP-REQ-011" Note "request asks for more than one chunk" {
        cite: unity("Chunk types, note"),
        per_server: true,
        examples: [Example::of(&[H1, H2, C("01 80902348 0001 03")])],
    }
    /// The game server hosting SDK sends metrics only from version 2 on; go-svrquery asks for them with
    /// version 1 and its sample server answers.
    REQ_012 = "SQP-REQ-012" Note "metrics are requested with a version below 2" {
        cite: Cite { doc: "Unity game server hosting SDK for Go", section: "server/proto/sqp/sqp.go", url: "https://github.com/Unity-Technologies/unity-gaming-services-go-sdk" },
        per_server: true,
        examples: [Example::of(&[H1, H2, C("01 80902348 0001 10")])],
    }
    /// go-svrquery reads datagrams as one stream of bytes: the excess becomes the start of the next
    /// message, and the query fails.
    RSP_001 = "SQP-RSP-001" Error "challenge response is longer than 5 bytes" {
        cite: unity("Challenge packets"),
        examples: [Example::of(&[H1, S("00 80902348 00")])],
    }
    /// The token is to be random. With 0 the response is byte-identical to the request; the Unreal SDK can
    /// draw it.
    RSP_002 = "SQP-RSP-002" Warning "challenge token is 0" {
        cite: unity("Challenge numbers"),
        examples: [Example::of(&[H1, S("00 00000000")])],
    }
    /// It ends inside the version, the packet numbers or the packet length.
    RSP_003 = "SQP-RSP-003" Error "query response is shorter than its 11-byte header" {
        cite: unity("Standard response format"),
        examples: [
            Example::of(&[H1, H2, QI, S("01 80902348 00")]),
            Example::of(&[H1, H2, QI, S("01 80902348 0001 00")]),
            Example::of(&[H1, H2, QI, S("01 80902348 0001 00 00 00")]),
        ],
    }
    /// No server sends it. 0x0100 or 0x0200 hints at little-endian numbers.
    RSP_004 = "SQP-RSP-004" Error "response version is above 2" {
        cite: unity("Standard response format"),
        examples: [Example::of(&[H1, H2, QI, S("01 80902348 0003 00 00 0012 0000000e 0001000801410162016301641e61")])],
    }
    /// go-svrquery rejects such an answer as malformed.
    RSP_005 = "SQP-RSP-005" Error "packet number is greater than the last packet number" {
        cite: go_svrquery("lib/svrquery/protocol/sqp/query.go"),
        examples: [Example::of(&[H1, H2, QI, S("01 80902348 0001 01 00 0012 0000000e 0001000801410162016301641e61")])],
    }
    /// Both packet numbers should always be 0: splitting is not supported, and no implementation puts the
    /// parts together.
    RSP_006 = "SQP-RSP-006" Warning "response is split over several packets" {
        cite: unity("Standard response format"),
        examples: [Example::of(&[H1, H2, QI, S("01 80902348 0001 00 01 0012 0000000e 0001000801410162016301641e61")])],
    }
    /// It announces more bytes than follow it. Clients wait for the rest until their time is up. A value
    /// that equals the whole datagram counts the header in by mistake.
    RSP_007 = "SQP-RSP-007" Error "packet length exceeds the datagram" {
        cite: unity("Standard response format"),
        examples: [Example::of(&[H1, H2, QI, S("01 80902348 0001 00 00 001d 0000000e 0001000801410162016301641e61")])],
    }
    /// With a client that reads the socket as a stream, such as go-svrquery, they spoil the next exchange.
    RSP_008 = "SQP-RSP-008" Warning "bytes follow the announced body" {
        cite: unity("Standard response format"),
        examples: [Example::of(&[H1, H2, QI, S("01 80902348 0001 00 00 0012 0000000e 0001000801410162016301641e61ee")])],
    }
    /// go-svrquery and USQP read at most 1472 bytes; the rest of the datagram is lost to them.
    RSP_009 = "SQP-RSP-009" Warning "response is larger than 1472 bytes" {
        cite: go_svrquery("lib/svrquery/protocol/sqp/consts.go"),
        examples: [Example::of(&[H1, H2, C("01 80902348 0001 02"), S("01 80902348 0001 00 00 0616 00000612 026b3004fe 78*254 026b3104fe 78*254 026b3204fe 78*254 026b3304fe 78*254 026b3404fe 78*254 026b3504fe 78*254")])],
    }
}

pub(super) static HEADER: Ends = Ends::new(&HDR_001, &RSP_001, &SURPLUS);
static CHALLENGE: Ends = Ends::new(&HDR_001, &REQ_002, &SURPLUS);
static REQUEST: Ends = Ends::new(&REQ_003, &REQ_004, &SURPLUS);
static RESPONSE: Ends = Ends::new(&RSP_003, &RSP_008, &SURPLUS);

#[inline(always)]
pub(super) fn decode<S: FieldSink>(c: &mut Cursor<'_, '_, S>, cx: Context) -> Result<(), Fault> {
    let kind = c.field(&TYPE, byte)?;
    c.require(&HDR_002, kind <= 1)?;
    let token = c.field(&TOKEN, be_u32)?;
    match cx.message {
        CHALLENGE_REQUEST if kind == 0 => {
            c.ends(&CHALLENGE);
            c.check(&REQ_001, || token == 0);
            Ok(())
        }
        CHALLENGE_RESPONSE if kind == 0 => {
            c.check(&RSP_002, || token != 0);
            Ok(())
        }
        QUERY_REQUEST if kind == 1 => query_request(c),
        QUERY_RESPONSE if kind == 1 => query_response(c, cx),
        _ => c.field(&PAYLOAD, bytes(c.rest().len())).map(drop),
    }
}

#[inline(always)]
fn query_request<S: FieldSink>(c: &mut Cursor<'_, '_, S>) -> Result<(), Fault> {
    c.ends(&REQUEST);
    let version = c.field(&VERSION, be_u16)?;
    let swapped = version == 0x0100 || version == 0x0200;
    c.check(&REQ_006, || !swapped);
    c.check(&REQ_005, || version <= 2 || swapped);
    c.check(&REQ_007, || version != 0);
    let chunks = c.field(&REQUESTED_CHUNKS, byte)?;
    c.derived(&REQUESTED_CHUNK_NAMES, crate::decode::Value::Names(CHUNK_NAMES, chunks.into()));
    c.check(&REQ_008, || chunks != 0);
    c.check(&REQ_009, || chunks & 0xe0 == 0);
    c.check(&REQ_010, || chunks & 0x1e == 0);
    c.check(&REQ_011, || (chunks & chunks::KNOWN).count_ones() < 2);
    c.check(&REQ_012, || chunks & chunks::METRICS == 0 || version >= 2);
    Ok(())
}

#[inline(always)]
fn query_response<S: FieldSink>(c: &mut Cursor<'_, '_, S>, cx: Context) -> Result<(), Fault> {
    c.ends(&RESPONSE);
    let wire_len = c.wire_len();
    c.check_whole(&RSP_009, || wire_len <= CLIENT_BUFFER);
    let version = c.field(&VERSION, be_u16)?;
    c.check(&RSP_004, || version <= 2);
    // Nor is it compared with a request to which the answer does not belong.
    let asked = cx.asked.filter(|a| a >> 24 == 1).map(|a| (a >> 8) as u16);
    c.check(&TXN_010, || asked.is_none_or(|a| a == version));
    let current_packet = c.field(&CURRENT_PACKET, byte)?;
    c.check(&RSP_006, || current_packet == 0);
    let last_packet = c.field(&LAST_PACKET, byte)?;
    c.check(&RSP_005, || current_packet <= last_packet);
    c.check(&RSP_006, || last_packet == 0 || current_packet != 0);
    let length = c.field(&PACKET_LENGTH, be_u16)?;
    let end = c.offset().saturating_add(length);
    let body = c.sized(length as usize, &RSP_007, &chunks::BODY, |c| {
        if current_packet != 0 {
            return opaque(c);
        }
        chunks::decode(c, cx.asked)
    });
    if body.is_err() {
        c.apart(|c| behind_body(c, end));
    }
    body
}

/// A body that cannot be read to its end hides no bytes behind it: where it ends, PacketLength has said.
#[cold]
#[inline(never)]
fn behind_body<S: FieldSink>(c: &mut Cursor<'_, '_, S>, end: u16) {
    let at = Span { start: end, ..c.whole() };
    c.about(Some(&SURPLUS));
    c.check_at(&RSP_008, at, || at.start >= at.end);
}

/// A body shown as bytes.
pub(super) fn opaque<S: FieldSink>(c: &mut Cursor<'_, '_, S>) -> Result<(), Fault> {
    c.field(&PACKET_PAYLOAD, bytes(c.rest().len())).map(drop)
}
